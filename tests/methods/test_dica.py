"""DICA and UDICA: their equations written out, and what they have in common with SCA."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import eig, eigh
from sklearn.metrics.pairwise import rbf_kernel

from skatter import SCA, USCA
from skatter._components import ScatterComponents
from skatter._objective import Objective
from skatter.domains import read_domains
from skatter.methods import DICA, UDICA
from skatter.methods._dica import central_factor
from skatter.scatter import domain_scatter

GAMMA = 0.05


@pytest.fixture(scope="module")
def problem():
    """Three domains and three classes, none of them equally frequent."""
    rng = np.random.default_rng(0)
    y = np.r_[rng.choice(3, size=60, p=[0.6, 0.3, 0.1]), 0, 1, 2]
    site = np.r_[rng.choice(3, size=60, p=[0.5, 0.3, 0.2]), 0, 1, 2]
    X = rng.normal(size=(63, 4)) + 2 * np.eye(3, 4)[y] + site[:, None]
    return X, y, site


@pytest.fixture(scope="module")
def balanced(make_problem):
    data = make_problem(3, n=8)
    return data.X, data.y, data.domain


def centring(n):
    return np.eye(n) - 1 / n


def gram(X):
    H = centring(len(X))
    return H @ rbf_kernel(X, gamma=GAMMA) @ H


def domain_coefficients(site):
    """L entry by entry, as printed."""
    _, site, sizes = np.unique(site, return_inverse=True, return_counts=True)
    m = len(sizes)
    L = np.empty((len(site), len(site)))
    for i, a in enumerate(site):
        for j, b in enumerate(site):
            own = (m - 1) / (m**2 * sizes[a] ** 2)
            L[i, j] = own if a == b else -1 / (m**2 * sizes[a] * sizes[b])
    return L


def central_subspace(y, epsilon):
    """Ω = K_y (K_y + n ε I)⁻¹ with the centred kernel of equal labels."""
    n, H = len(y), centring(len(y))
    Ky = H @ (y[:, None] == y).astype(float) @ H
    return Ky @ np.linalg.inv(Ky + n * epsilon * np.eye(n))


def slow_eigenvalues(A, C, k):
    """Of A b = λ C b on the complement of constants, where C is positive definite."""
    Q = np.linalg.svd(np.ones((1, len(A))))[2][1:].T
    return eigh(Q.T @ A @ Q, Q.T @ C @ Q, eigvals_only=True)[::-1][:k]


def residual(left, right):
    return np.linalg.norm(left - right, axis=0) / np.linalg.norm(left, axis=0)


# --- the equations --------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [1e-3, 1.0])
def test_the_factor_is_that_of_the_central_subspace(problem, epsilon):
    _, y, site = problem
    U = central_factor(read_domains(y, site), epsilon)
    assert U.shape == (63, 2)
    assert_allclose(U @ U.T, central_subspace(y, epsilon), atol=1e-12)


@pytest.mark.parametrize("nugget", [0.0, 0.3])
def test_dica_solves_its_equation(problem, nugget):
    X, y, site = problem
    model = DICA(epsilon=0.1, ridge=0.7, nugget=nugget, gamma=GAMMA, scale="denominator")
    model.fit(X, y, sample_domain=site)
    K, B = gram(X), model.dual_coef_
    A = K @ central_subspace(y, 0.1) @ K
    C = 0.7 * K + K @ domain_coefficients(site) @ K + nugget * np.eye(len(K))
    assert_allclose(B.T @ C @ B, np.eye(2), atol=1e-9)
    assert residual(A @ B, C @ B * model.eigenvalues_).max() < 1e-8
    assert model.residuals_.max() < 1e-8
    if nugget:
        assert_allclose(model.eigenvalues_, slow_eigenvalues(A, C, 2), rtol=1e-9)


@pytest.mark.parametrize("nugget", [0.0, 0.3])
def test_udica_solves_its_equation(problem, nugget):
    X, _, site = problem
    model = UDICA(5, ridge=0.7, nugget=nugget, gamma=GAMMA, scale="denominator", tol=1e-10)
    model.fit(X, sample_domain=site)
    K, B = gram(X), model.dual_coef_
    C = 0.7 * K + K @ domain_coefficients(site) @ K + nugget * np.eye(len(K))
    assert_allclose(B.T @ C @ B, np.eye(5), atol=1e-8)
    assert residual(K @ K @ B, C @ B * model.eigenvalues_).max() < 1e-7
    if nugget:
        assert_allclose(model.eigenvalues_, slow_eigenvalues(K @ K, C, 5), rtol=1e-9)


def test_the_released_form_solves_the_problem_that_is_not_symmetric(problem):
    X, y, site = problem
    model = DICA(form="released", epsilon=0.1, nugget=0.3, gamma=GAMMA, scale="denominator")
    Z = model.fit_transform(X, y, sample_domain=site)
    K, B = gram(X), model.dual_coef_
    A = central_subspace(y, 0.1) @ K @ K
    C = K + K @ domain_coefficients(site) @ K + 0.3 * np.eye(len(K))
    values, vectors = eig(np.linalg.solve(C, A))
    order = np.argsort(-values.real)[:2]
    assert_allclose(model.eigenvalues_, values.real[order], rtol=1e-8)
    for own, theirs in zip(Z.T, (K @ vectors.real[:, order]).T, strict=True):
        assert abs(np.corrcoef(own, theirs)[0, 1]) > 1 - 1e-10
    assert_allclose(np.diag(B.T @ C @ B), 1, rtol=1e-9)
    assert model.residuals_.max() < 1e-8


def test_many_samples_with_a_nugget_go_by_lanczos_to_the_same_end(make_problem):
    data = make_problem(3, n=80)
    given = {"nugget": 0.5, "gamma": GAMMA, "scale": "denominator", "tol": 1e-9}
    model = UDICA(4, **given).fit(data.X, sample_domain=data.domain)
    K = gram(data.X)
    C = K + K @ domain_coefficients(data.domain) @ K + 0.5 * np.eye(len(K))
    assert_allclose(model.eigenvalues_, slow_eigenvalues(K @ K, C, 4), rtol=1e-9)
    assert model.residuals_.max() < 1e-8


# --- relatives ------------------------------------------------------------------------------------


def test_udica_has_n_times_the_eigenvalues_of_usca_and_its_components(problem):
    X, _, site = problem
    given = {"gamma": GAMMA, "scale": "denominator", "tol": 1e-12}
    udica = UDICA(6, **given)
    usca = USCA(6, delta=1.0, normalize=False, **given)
    Z, Z_usca = (model.fit_transform(X, sample_domain=site) for model in (udica, usca))
    assert_allclose(udica.eigenvalues_, len(X) * usca.eigenvalues_, rtol=1e-10)
    assert_allclose(Z, Z_usca, atol=1e-8)


class NoWithin(ScatterComponents):
    """SCA in the paper's scaling with β = 1 and δ = 1, and without within-class scatter."""

    def __init__(self):
        self.n_components, self.solver, self.tol, self.random_state = None, "auto", 1e-10, None
        self.kernel, self.gamma, self.degree, self.coef0 = "rbf", GAMMA, 3, 1
        self.kernel_params = None

    def objective(self, domains, total):
        return Objective(total=0.0, between_class=float(domains.n_labelled), domain=1.0, ridge=1.0)

    def _default_n_components(self, domains):
        return len(domains.classes) - 1


@pytest.mark.parametrize("epsilon", [0.0, 0.01, 5.0])
def test_with_balanced_classes_dica_is_sca_without_within_class_scatter(balanced, epsilon):
    X, y, site = balanced
    dica = DICA(epsilon=epsilon, gamma=GAMMA, scale="denominator").fit(X, y, sample_domain=site)
    sca = NoWithin().fit(X, y, sample_domain=site)
    assert_allclose(dica.eigenvalues_, sca.eigenvalues_ / (1 + 3 * epsilon), rtol=1e-10)
    ours, theirs = dica.transform(X), sca.transform(X)
    assert_allclose(ours, theirs, atol=1e-9 * np.abs(theirs).max())


def test_without_a_penalty_on_rare_classes_sca_differs_by_within_class_scatter_alone(problem):
    X, y, site = problem
    dica = DICA(epsilon=0.0, gamma=GAMMA).fit(X, y, sample_domain=site)
    sca = SCA(beta=1, normalize=False, gamma=GAMMA).fit(X, y, sample_domain=site)
    assert np.all(dica.eigenvalues_ > sca.eigenvalues_)


def test_epsilon_shrinks_the_rare_class(problem):
    _, y, site = problem
    view = read_domains(y, site)
    weights = [np.linalg.norm(central_factor(view, e)[y == 2].sum(axis=0)) for e in (1e-3, 1, 100)]
    shares = np.array(weights) / [
        np.linalg.norm(central_factor(view, e)[y == 0].sum(axis=0)) for e in (1e-3, 1, 100)
    ]
    assert shares[0] > shares[1] > shares[2]


def test_dica_brings_domains_together(problem):
    X, y, site = problem
    Z = DICA(scale="denominator", ridge=1e-3).fit_transform(X, y, sample_domain=site)
    assert domain_scatter(Z, site) / Z.var(axis=0).sum() < 0.2 * (
        domain_scatter(X, site) / X.var(axis=0).sum()
    )


@pytest.mark.parametrize("model", [DICA, UDICA])
def test_a_linear_kernel_gives_the_same_by_features_and_by_gram_matrix(problem, model):
    X, y, site = problem
    primal, dual = model(2, kernel="linear"), model(2, kernel="linear", solver="dense")
    Z, Z_dual = (m.fit_transform(X, y, sample_domain=site) for m in (primal, dual))
    assert hasattr(primal, "components_")
    assert hasattr(dual, "dual_coef_")
    assert_allclose(Z, Z_dual, atol=1e-8 * np.abs(Z).max())


def test_with_a_nugget_a_linear_kernel_goes_by_its_gram_matrix(problem):
    X, y, site = problem
    model = DICA(kernel="linear", nugget=0.1).fit(X, y, sample_domain=site)
    assert hasattr(model, "dual_coef_")


def test_unlabelled_samples_count_in_domain_scatter_alone(problem):
    X, y, site = problem
    known = np.where(site == 2, -1, y)
    model = DICA(epsilon=0.1, gamma=GAMMA, scale="denominator").fit(X, known, sample_domain=site)
    lab = np.flatnonzero(known >= 0)
    Om = np.zeros((len(y), len(y)))
    Om[np.ix_(lab, lab)] = central_subspace(y[lab], 0.1)
    K, B = gram(X), model.dual_coef_
    C = K + K @ domain_coefficients(site) @ K
    assert residual(K @ Om @ K @ B, C @ B * model.eigenvalues_).max() < 1e-8


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epsilon": -1.0}, "epsilon must lie in .*-1.0"),
        ({"ridge": 0.0}, "ridge must lie in .*0.0"),
        ({"nugget": -0.5}, "nugget must lie in .*-0.5"),
        ({"form": "released"}, "form='released' needs nugget > 0, such as 1e-3"),
        ({"nugget": 1.0, "solver": "lanczos"}, "nugget > 0 needs solver='auto'"),
    ],
)
def test_parameters_are_checked(problem, changes, message):
    X, y, site = problem
    with pytest.raises(ValueError, match=message):
        DICA(**changes).fit(X, y, sample_domain=site)


def test_a_single_class_is_refused_with_a_remedy(problem):
    X, y, site = problem
    with pytest.raises(ValueError, match=r"DICA needs labelled samples of two classes.*use UDICA"):
        DICA().fit(X, np.zeros_like(y), sample_domain=site)
