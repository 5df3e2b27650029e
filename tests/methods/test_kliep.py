"""KLIEP: weights that are optimal by the conditions of Karush, Kuhn and Tucker."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel

from skatter.methods import KLIEP
from skatter.methods._iteration import Iterations
from skatter.methods._kliep import mixture_proportions


@pytest.fixture(scope="module")
def shifted():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(80, 2)), rng.normal(size=(50, 2)) * 0.7 + 1])
    y = (X[:, 0] > 0.3).astype(int)
    return X, np.where(np.arange(130) < 80, y, -1), np.repeat([1, -2], [80, 50])


def fitted(shifted, **parameters):
    X, y, domain = shifted
    return KLIEP(**parameters).fit(X, y, sample_domain=domain)


def test_weights_of_the_source_have_a_mean_of_one(shifted):
    model = fitted(shifted)
    assert model.weights_[:80].mean() == pytest.approx(1)
    assert (model.weights_[80:] == 0).all()


def test_weights_meet_the_conditions_of_optimality(shifted):
    X, _, _ = shifted
    model = fitted(shifted, gamma=0.8, tol=1e-12, max_iter=100_000)
    here, there = rbf_kernel(X[:80], X[80:], gamma=0.8), rbf_kernel(X[80:], X[80:], gamma=0.8)
    b = here.mean(axis=0)
    # Weights are sums of the kernel; their values at the target follow from those at the source.
    alpha = np.linalg.lstsq(here, model.weights_[:80], rcond=None)[0]
    slope = (there / (there @ alpha)[:, None]).mean(axis=0) / b
    assert slope.max() < 1 + 1e-3
    assert alpha @ (b * slope) == pytest.approx(1, abs=1e-6)


def test_the_likelihood_never_falls(shifted):
    objective = fitted(shifted, tol=0, max_iter=50).objective_
    assert (np.diff(objective) >= -1e-12).all()


def test_proportions_beat_any_others_in_their_neighbourhood():
    rng = np.random.default_rng(1)
    ratios = rng.uniform(0.1, 2, size=(40, 5))
    search = Iterations("mixture", max_iter=10_000, tol=1e-13)
    beta = mixture_proportions(ratios, search)
    best = np.log(ratios @ beta).mean()
    for _ in range(50):
        other = np.abs(beta + 0.01 * rng.normal(size=5))
        assert np.log(ratios @ (other / other.sum())).mean() <= best + 1e-9


def test_a_density_ratio_that_is_known_is_recovered():
    rng = np.random.default_rng(0)
    source, target = rng.normal(size=(2000, 1)), rng.normal(size=(2000, 1)) + 0.5
    X = np.vstack([source, target])
    y = np.where(np.arange(4000) < 2000, X[:, 0] > 0, -1)
    model = KLIEP(gamma=0.5).fit(X, y, sample_domain=np.repeat([1, -2], 2000))
    ratio = np.exp(0.5 * source[:, 0] - 0.125)
    near = np.abs(source[:, 0]) < 1.5
    assert np.corrcoef(model.weights_[:2000][near], ratio[near])[0, 1] > 0.97


def test_the_classifier_is_trained_with_the_weights(shifted):
    X, y, _ = shifted
    model = fitted(shifted, estimator=LogisticRegression())
    expected = LogisticRegression().fit(X[:80], y[:80], sample_weight=model.weights_[:80])
    assert_allclose(model.estimator_.coef_, expected.coef_)


def test_a_kernel_with_negative_values_is_refused(shifted):
    with pytest.raises(ValueError, match="kernel must have no negative values"):
        fitted(shifted, kernel="linear")


def test_a_kernel_to_which_nothing_is_near_the_target_is_refused(shifted):
    with pytest.raises(
        ValueError, match=r"All labelled source samples have a weight of zero.*gamma"
    ):
        fitted(shifted, gamma=1e9)


def test_a_gram_matrix_is_refused_since_the_classifier_needs_samples(shifted):
    X, y, domain = shifted
    with pytest.raises(ValueError, match="kernel must be a name or a callable, got 'precomputed'"):
        fitted((X @ X.T, y, domain), kernel="precomputed")
