"""CIDG and MDA: the scatters of their papers, computed sample by sample, and their equations."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import rbf_kernel

from skatter import SCA, KernelFisher
from skatter.domains import read_domains
from skatter.methods import CIDG, MDA
from skatter.methods._mda import between_factor, discrepancy_factor, nuisance_factor
from skatter.scatter import balanced_domain_factor, conditional_domain_scatter, domain_factor

GAMMA = 0.05


@pytest.fixture(scope="module")
def problem():
    """Three domains of different size and three classes of different frequency."""
    rng = np.random.default_rng(0)
    y = np.r_[rng.choice(3, size=60, p=[0.5, 0.3, 0.2]), np.tile([0, 1, 2], 3)]
    site = np.r_[rng.choice(3, size=60, p=[0.6, 0.3, 0.1]), np.repeat([0, 1, 2], 3)]
    X = rng.normal(size=(69, 4)) + 2 * np.eye(3, 4)[y] + site[:, None]
    return X, y, site


@pytest.fixture(scope="module")
def absent(problem):
    """The same without class 2 in domain 1."""
    X, y, site = problem
    rows = ~((y == 2) & (site == 1))
    return X[rows], y[rows], site[rows]


def squared(z):
    return float(np.sum(np.square(z)))


def class_mean(Z, y, site, k, s):
    return Z[(y == k) & (site == s)].mean(axis=0)


def conditional(Z, y, site):
    """CIDG's scatter of class-conditional distributions."""
    found = []
    for k in np.unique(y):
        means = np.array([class_mean(Z, y, site, k, s) for s in np.unique(site[y == k])])
        found.append(np.mean([squared(mean - means.mean(axis=0)) for mean in means]))
    return np.mean(found)


def prior(Z, y, site):
    """CIDG's scatter of domain means once every class has the same prior."""
    means = []
    for s in np.unique(site):
        present = np.unique(y[site == s])
        means.append(np.mean([class_mean(Z, y, site, k, s) for k in present], axis=0))
    return np.mean([squared(mean - np.mean(means, axis=0)) for mean in means])


def balanced_class_means(Z, y, site):
    """MDA's u_j and ū: every domain has the weight of one."""
    sites, shares, means = np.unique(site), [], []
    for k in np.unique(y):
        part = np.array([np.mean(y[site == s] == k) for s in sites])
        own = [class_mean(Z, y, site, k, s) for s, p in zip(sites, part, strict=True) if p]
        means.append(part[part > 0] @ np.array(own) / part.sum())
        shares.append(part.sum() / len(sites))
    return np.array(means), np.array(shares) @ np.array(means)


def mda_measures(Z, y, site):
    """F, P, G and Q of the MDA paper."""
    u, overall = balanced_class_means(Z, y, site)
    counts = np.bincount(y)
    F = np.mean([squared(a - b) for a, b in combinations(u, 2)])
    P = sum(n * squared(mean - overall) for n, mean in zip(counts, u, strict=True)) / len(y)
    Q = sum(squared(z - u[k]) for z, k in zip(Z, y, strict=True)) / len(y)
    per_class = []
    for k in np.unique(y):
        sites = np.unique(site[y == k])
        pairs = combinations([class_mean(Z, y, site, k, s) for s in sites], 2)
        per_class.append(np.mean([squared(a - b) for a, b in pairs]))
    return F, P, np.mean(per_class), Q


def size(factor, Z):
    return squared(factor.T @ Z)


def norms(model):
    """‖W‖² of each component: bᵀ K b with the centred Gram matrix."""
    H = np.eye(len(model.X_fit_)) - 1 / len(model.X_fit_)
    K = H @ rbf_kernel(model.X_fit_, gamma=GAMMA) @ H
    return np.sum(model.dual_coef_ * (K @ model.dual_coef_), axis=0)


def assert_best(model, X, ratio):
    """λ is the ratio of numerator and denominator of each component, and none has a larger one."""
    Z = model.transform(X)
    for number, value in enumerate(model.eigenvalues_):
        assert_allclose(ratio(Z[:, [number]], norms(model)[number]), value, rtol=1e-7)
    rng = np.random.default_rng(0)
    H = np.eye(len(X)) - 1 / len(X)
    K = H @ rbf_kernel(X, gamma=GAMMA) @ H
    first = model.dual_coef_[:, 0]
    for step in (1e-3, 1e-1, 1.0):
        for _ in range(20):
            noise = H @ rng.normal(size=len(X))
            b = first + step * np.linalg.norm(first) / np.linalg.norm(noise) * noise
            assert ratio(K @ b[:, None], b @ K @ b) <= model.eigenvalues_[0] * (1 + 1e-9)


# --- thin factors ---------------------------------------------------------------------------------


@pytest.mark.parametrize("data", ["problem", "absent"])
def test_factors_express_the_measures_of_the_papers(data, request):
    X, y, site = request.getfixturevalue(data)
    view = read_domains(y, site)
    F, P, G, Q = mda_measures(X, y, site)
    n = len(y)
    assert_allclose(size(balanced_domain_factor(view), X), prior(X, y, site))
    assert_allclose(size(between_factor(view, 1.0), X), n * F)
    assert_allclose(size(between_factor(view, 0.0), X), n * P)
    assert_allclose(size(between_factor(view, 0.3), X), n * (0.3 * F + 0.7 * P))
    assert_allclose(size(discrepancy_factor(view), X), G)
    within = sum(squared(X[y == k] - X[y == k].mean(axis=0)) for k in range(3)) / n
    assert_allclose(size(nuisance_factor(view, gamma=0.0, alpha=1.0), X), Q - within)
    assert_allclose(size(nuisance_factor(view, gamma=2.0, alpha=0.5), X), 2 * G + (Q - within) / 2)


def test_conditional_domain_scatter_is_that_of_the_paper(problem):
    X, y, site = problem
    assert_allclose(conditional_domain_scatter(X, y, site), conditional(X, y, site))


def test_prior_scatter_does_not_see_how_frequent_classes_are():
    Z = np.array([[0.0], [0.0], [0.0], [6.0], [0.0], [6.0], [6.0], [6.0]])
    y, site = (Z[:, 0] > 0).astype(int), np.repeat([0, 1], 4)
    view = read_domains(y, site)
    assert_allclose(size(balanced_domain_factor(view), Z), 0, atol=1e-12)
    assert size(domain_factor(view), Z) > 1


# --- equations ------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", ["problem", "absent"])
def test_cidg_maximises_its_objective(data, request):
    X, y, site = request.getfixturevalue(data)
    weights = {"within_weight": 0.5, "conditional_weight": 3.0, "prior_weight": 2.0}
    model = CIDG(gamma=GAMMA, ridge=0.2, normalize=False, scale="denominator", **weights)
    model.fit(X, y, sample_domain=site)

    def ratio(Z, norm):
        Z = Z - Z.mean(axis=0)
        means = np.array([Z[y == k].mean(axis=0) for k in range(3)])
        between = squared(means[y]) / len(y)
        within = squared(Z - means[y]) / len(y)
        nuisance = 3 * conditional(Z, y, site) + 2 * prior(Z, y, site)
        return between / (0.5 * within + nuisance + 0.2 * norm)

    assert model.n_components_ == 2
    assert_best(model, X, ratio)


def test_cidg_takes_total_scatter_beside_between_class_scatter(problem):
    X, y, site = problem
    model = CIDG(4, beta=0.4, gamma=GAMMA, ridge=0.2, normalize=False, scale="denominator")
    model.fit(X, y, sample_domain=site)

    def ratio(Z, norm):
        Z = Z - Z.mean(axis=0)
        means = np.array([Z[y == k].mean(axis=0) for k in range(3)])
        numerator = 0.6 * squared(Z) / len(y) + 0.4 * squared(means[y]) / len(y)
        within = squared(Z - means[y]) / len(y)
        return numerator / (within + conditional(Z, y, site) + prior(Z, y, site) + 0.2 * norm)

    assert_best(model, X, ratio)


@pytest.mark.parametrize("data", ["problem", "absent"])
@pytest.mark.parametrize("beta", [0.0, 0.3, 1.0])
def test_mda_maximises_its_objective(data, beta, request):
    X, y, site = request.getfixturevalue(data)
    weights = {"beta": beta, "domain_weight": 3.0, "within_weight": 0.5}
    model = MDA(gamma=GAMMA, ridge=0.2, normalize=False, scale="denominator", **weights)
    model.fit(X, y, sample_domain=site)

    def ratio(Z, norm):
        F, P, G, Q = mda_measures(Z, y, site)
        return (beta * F + (1 - beta) * P) / (3 * G + 0.5 * Q + 0.2 * norm)

    assert model.n_components_ == 2
    assert_best(model, X, ratio)


def test_without_domain_terms_cidg_is_the_kernel_fisher_discriminant(problem):
    X, y, site = problem
    cidg = CIDG(conditional_weight=0, prior_weight=0).fit(X, y, sample_domain=site)
    fisher = KernelFisher().fit(X, y, sample_domain=site)
    assert_allclose(cidg.eigenvalues_, fisher.eigenvalues_, rtol=1e-9)
    assert_allclose(cidg.transform(X), fisher.transform(X), atol=1e-9)


def test_where_all_domains_have_the_same_classes_prior_scatter_is_domain_scatter(make_problem):
    data = make_problem(3)
    cidg = CIDG(conditional_weight=0, prior_weight=2.0).fit(
        data.X, data.y, sample_domain=data.domain
    )
    sca = SCA(beta=1, delta=2.0).fit(data.X, data.y, sample_domain=data.domain)
    assert_allclose(cidg.eigenvalues_, sca.eigenvalues_, rtol=1e-9)
    assert_allclose(cidg.transform(data.X), sca.transform(data.X), atol=1e-8)


def test_with_one_domain_of_equal_classes_mda_is_the_kernel_fisher_discriminant(make_problem):
    """Then F is 2C/(C-1) times P, and the means of classes are theirs."""
    data = make_problem(1)
    alone = np.full(len(data.y), "here")
    fisher = KernelFisher().fit(data.X, data.y, sample_domain=alone)
    for beta in (0.0, 0.5, 1.0):
        mda = MDA(beta=beta).fit(data.X, data.y, sample_domain=alone)
        factor = beta * 2 * 3 / 2 + 1 - beta
        assert_allclose(mda.eigenvalues_, factor * fisher.eigenvalues_, rtol=1e-9)


@pytest.mark.parametrize("method", [CIDG, MDA])
def test_weights_on_domains_bring_classes_together_over_the_domains(method, problem):
    X, y, site = problem
    name = "conditional_weight" if method is CIDG else "domain_weight"
    shares = []
    for weight in (0.0, 1.0, 100.0):
        Z = method(**{name: weight}).fit_transform(X, y, sample_domain=site)
        shares.append(conditional(Z, y, site) / Z.var(axis=0).sum())
    assert shares[0] > shares[1] > shares[2]


@pytest.mark.parametrize("method", [CIDG, MDA])
def test_a_linear_kernel_gives_the_same_by_features_and_by_gram_matrix(method, problem):
    X, y, site = problem
    primal = method(2, kernel="linear").fit(X, y, sample_domain=site)
    dual = method(2, kernel="linear", solver="dense").fit(X, y, sample_domain=site)
    assert hasattr(primal, "components_")
    assert_allclose(primal.transform(X), dual.transform(X), atol=1e-8)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (CIDG(beta=1.5), "beta must lie in .*1.5"),
        (CIDG(prior_weight=-1.0), "prior_weight must lie in .*-1.0"),
        (CIDG(ridge=0.0), "ridge must lie in .*0.0"),
        (MDA(beta=-0.5), "beta must lie in .*-0.5"),
        (MDA(domain_weight=-1.0), "domain_weight must lie in .*-1.0"),
        (MDA(within_weight=-1.0), "within_weight must lie in .*-1.0"),
    ],
)
def test_parameters_are_checked(problem, model, message):
    X, y, site = problem
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, sample_domain=site)


@pytest.mark.parametrize("model", [CIDG(), MDA()])
def test_a_single_class_is_refused(problem, model):
    X, y, site = problem
    with pytest.raises(ValueError, match="needs labelled samples of two classes or more"):
        model.fit(X, np.zeros_like(y), sample_domain=site)
