"""The synthetic picture of the paper's figure 1: our published accuracies, to the decimal.

The set is that of ``make_figure1``: three classes, two domains, the target shifted. Each method
keeps two components and reports its best 1NN accuracy on the target over a grid (the paper, too,
chose by test accuracy here). What reproduces the numbers:

- σ² in {¼, ½, 1, 2, 4} times the median squared distance of the pooled sample, γ = 1/σ²;
- δ as printed (``normalize=False``, where class scatters are sums and the ridge is 1);
- β from the unit-consistent β' by β = β' / (β' + n_s (1 - β'));
- ``scale="denominator"``: Z = K B with BᵀCB = I and no factor of the eigenvalues.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.linalg import eigh, helmert
from scipy.spatial.distance import cdist

from skatter import KPCA, SCA, USCA
from skatter.datasets import make_figure1

MULTIPLES = (0.25, 0.5, 1.0, 2.0, 4.0)
SHARES = (0.0, 0.5, 0.9)
PUBLISHED = {"raw": 58.7, "kpca": 66.7, "usca": 67.3, "sca": 89.3}


class Figure:
    """The set, and the accuracy of a map of it."""

    def __init__(self):
        data = make_figure1()
        self.X, self.y, self.domain = data.X, data.y, data.domain
        self.source = data.domain == "source"
        self.known = np.where(self.source, data.y, -1)
        squared = cdist(data.X, data.X, "sqeuclidean")
        self.squared = squared
        self.median = np.median(squared[np.triu_indices(len(squared), 1)])

    def accuracy(self, Z):
        """Percent of target samples whose nearest source sample has their class."""
        nearest = cdist(Z[~self.source], Z[self.source]).argmin(axis=1)
        return 100 * np.mean(self.y[self.source][nearest] == self.y[~self.source])

    def gamma(self, multiple):
        return 1 / (multiple * self.median)

    def beta(self, share):
        """From the weight of means to the weight of sums over the labelled samples."""
        n_labelled = self.source.sum()
        return share / (share + n_labelled * (1 - share))

    def project(self, model):
        return model.fit_transform(self.X, self.known, sample_domain=self.domain)


def candidates(figure, scale):
    """Every setting of the grid, by method."""
    as_printed = {"normalize": False, "scale": scale}
    gammas = [figure.gamma(multiple) for multiple in MULTIPLES]
    return {
        "kpca": [KPCA(2, gamma=gamma) for gamma in gammas],
        "usca": [
            USCA(2, delta=delta, gamma=gamma, **as_printed)
            for gamma, delta in product(gammas, (10.0, 1e3))
        ],
        "sca": [
            SCA(2, beta=figure.beta(share), delta=delta, gamma=gamma, **as_printed)
            for gamma, share, delta in product(gammas, SHARES, (1.0, 1e2, 1e4))
        ],
    }


@pytest.fixture(scope="module")
def figure():
    return Figure()


def best_accuracies(figure, scale):
    best = {"raw": figure.accuracy(figure.X)}
    for name, models in candidates(figure, scale).items():
        best[name] = max(figure.accuracy(figure.project(model)) for model in models)
    return best


@pytest.fixture(scope="module")
def published_setting(figure):
    return best_accuracies(figure, "denominator")


@pytest.mark.parametrize("name", PUBLISHED)
def test_our_published_accuracies_to_the_decimal(published_setting, name):
    assert round(published_setting[name], 1) == PUBLISHED[name]


def test_raw_is_worst_and_sca_is_best(published_setting):
    ranked = [published_setting[name] for name in ("raw", "kpca", "usca", "sca")]
    assert ranked == sorted(ranked)
    assert len(set(ranked)) == 4


def test_the_order_holds_for_the_default_scale_too_and_sca_gains(figure, published_setting):
    best = best_accuracies(figure, SCA().scale)
    assert best["raw"] < best["kpca"] < best["usca"] < best["sca"]
    assert best["sca"] > published_setting["sca"]


def test_the_best_setting_agrees_with_a_dense_generalised_eigenproblem(figure):
    multiple, share, delta = 4.0, 0.5, 1e2
    Z = dense_sca(figure, multiple, figure.beta(share), delta)
    model = SCA(
        2,
        beta=figure.beta(share),
        delta=delta,
        gamma=figure.gamma(multiple),
        normalize=False,
        scale="denominator",
    )
    actual = figure.project(model)
    np.testing.assert_allclose(np.abs(actual), np.abs(Z), atol=1e-5 * np.abs(Z).max())
    assert round(figure.accuracy(Z), 1) == PUBLISHED["sca"]


def dense_sca(figure, multiple, beta, delta):
    """Eq. (19) of the paper, built in full: A b = λ C b, and Z = K b."""
    n, source = len(figure.X), figure.source
    K = np.exp(-figure.squared * figure.gamma(multiple))
    K = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    mean_labelled = source / source.sum()
    between, within = np.zeros((n, n)), np.zeros((n, n))
    for label in range(3):
        members = np.where(source & (figure.y == label), 1.0, 0.0)
        count = members.sum()
        towards = members / count - mean_labelled
        between += count * np.outer(towards, towards)
        within += np.diag(members) - np.outer(members, members) / count
    apart = source / source.sum() - ~source / (~source).sum()
    domain = np.outer(apart, apart) / 4
    A = K @ ((1 - beta) / n * np.eye(n) + beta * between) @ K
    C = K + K @ (within + delta * domain) @ K
    # K is numerically of low rank: look for b among its leading eigenvectors, which C sees
    values, vectors = eigh(helmert(n) @ K @ helmert(n).T)
    basis = helmert(n).T @ vectors[:, values > 1e-9 * values[-1]]
    _, coefficients = eigh(basis.T @ A @ basis, basis.T @ C @ basis)
    return K @ basis @ coefficients[:, :-3:-1]
