"""SCA and its family: exact, equal to what the paper says, and true to every promise made."""

import pickle
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.linalg import eigh, helmert, subspace_angles
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.decomposition import KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.metrics.pairwise import pairwise_kernels, rbf_kernel
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import check_estimator

from skatter import KPCA, SCA, SCACV, USCA, KernelFisher
from skatter import _components as components
from skatter._solve.padded import JITTER
from skatter._spaces import SCALES
from skatter.scatter import (
    between_class_scatter,
    conditional_domain_scatter,
    domain_scatter,
    total_scatter,
    within_class_scatter,
)
from skatter.selection._folds import FoldSolver

some = settings(deadline=None, max_examples=25)

FAMILY = (SCA, USCA, KernelFisher, KPCA)
BETAS, DELTAS = (0.0, 0.1, 0.5, 1.0), (0.0, 1.0, 100.0)


# --- problems and the slow, obviously right computation -----------------------------------------


def problem(seed=0, n_domains=3, n_classes=3, n=60, p=5):
    """Shifted domains; the last has no label, or some where ``seed`` is odd."""
    rng = np.random.default_rng(seed)
    domain = np.r_[np.arange(n_domains), rng.integers(n_domains, size=n - n_domains)]
    truth = np.r_[np.arange(n_classes), rng.integers(n_classes, size=n - n_classes)]
    X = rng.normal(size=(n, p))
    X += (
        1.5 * rng.normal(size=(n_classes, p))[truth] + 0.7 * rng.normal(size=(n_domains, p))[domain]
    )
    known = domain < max(n_domains - 1, 1)
    known[:n_classes] = True
    if seed % 2:
        known |= rng.uniform(size=n) < 0.2
    # Non-negative and negative ids: the last domain is a target whether it has labels or not.
    site = np.where(domain == n_domains - 1, -1 - domain, domain)
    return SimpleNamespace(
        X=X, y=np.where(known, truth, -1), site=site, truth=truth, new=rng.normal(size=(9, p))
    )


@pytest.fixture
def data():
    return problem(1)


def fit(model, case, X=None):
    return model.fit(case.X if X is None else X, case.y, sample_domain=case.site)


def nuggeted(metric):
    """A positive definite kernel: k(a, b) + 0.05 where a and b are the same sample."""

    def kernel(A, B):
        same = (A[:, None] == B[None]).all(axis=2)
        return pairwise_kernels(A, B, metric=metric) + 0.05 * same

    return kernel


def dense(y, site):
    """H, R, S and L from their definitions."""
    y, site = np.asarray(y), np.asarray(site)
    n, known = len(y), y >= 0
    E = np.column_stack([(site == a) / np.sum(site == a) for a in np.unique(site)])
    E -= E.mean(axis=1, keepdims=True)
    R, S = np.zeros((n, n)), np.zeros((n, n))
    for k in np.unique(y[known]):
        own = y == k
        v = own / own.sum() - known / known.sum()
        R += own.sum() * np.outer(v, v)
        S += np.diag(own.astype(float)) - np.outer(own, own) / own.sum()
    return np.eye(n) - 1 / n, R, S, E @ E.T / E.shape[1]


def dense_conditional(y, site):
    """L_c: for each class the scatter of its means over the domains, averaged over classes."""
    classes = np.unique(y[y >= 0])
    L = np.zeros((len(y), len(y)))
    for k in classes:
        own = [(y == k) & (site == a) for a in np.unique(site[y == k])]
        E = np.column_stack([rows / rows.sum() for rows in own])
        E -= E.mean(axis=1, keepdims=True)
        L += E @ E.T / E.shape[1]
    return L / len(classes)


def reference(
    K0, y, site, beta, delta, *, conditional=0.0, normalize=True, ridge=None, classes=True
):
    """All eigenpairs of A b = λ C b on the complement of the constant vector, largest first."""
    H, R, S, L = dense(y, site)
    n, n_labelled = len(y), max(np.sum(np.asarray(y) >= 0), 1)
    K = H @ K0 @ H
    if normalize:
        R, S = R / n_labelled, S / n_labelled
        rho = (1e-3 if ridge is None else ridge) * np.trace(K) / n
    else:
        rho = 1.0 if ridge is None else ridge
    if not classes:
        beta, S = 0, 0 * S
    A = K @ ((1 - beta) * H / n + beta * R) @ K
    C = rho * K + K @ (S + delta * L) @ K
    if conditional:
        C += conditional * K @ dense_conditional(y, site) @ K
    Q = helmert(n).T
    left, right = Q.T @ A @ Q, Q.T @ C @ Q
    eigenvalues, W = eigh((left + left.T) / 2, (right + right.T) / 2)
    B = Q @ W[:, ::-1]
    return SimpleNamespace(K=K, A=A, C=C, eigenvalues=eigenvalues[::-1], B=B, Z=K @ B)


def aligned(Z, like):
    """Z with the signs of another matrix of components."""
    return Z * np.where(np.sum(Z * like, axis=0) < 0, -1, 1)


def assert_same_components(Z, expected, rtol=1e-6):
    """Equal up to the sign of each column, relative to the size of that column."""
    assert Z.shape == expected.shape
    size = np.abs(expected).max(axis=0)
    assert_allclose(aligned(Z, expected) / size, expected / size, atol=rtol)


# --- exact --------------------------------------------------------------------------------------


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("beta", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("conditional", [0.1, 100.0])
def test_conditional_domain_scatter_enters_the_dense_generalised_eigenproblem(
    conditional, beta, normalize
):
    case = problem(1, 3, 4)
    K0 = nuggeted("rbf")(case.X, case.X)
    options = {"normalize": normalize, "conditional": conditional}
    truth = reference(K0, case.y, case.site, beta, 1.0, **options)
    model = SCA(
        3,
        beta=beta,
        conditional_delta=conditional,
        kernel=nuggeted("rbf"),
        normalize=normalize,
        scale="denominator",
    )
    Z = model.fit_transform(case.X, case.y, sample_domain=case.site)
    assert_allclose(model.eigenvalues_, truth.eigenvalues[:3], rtol=1e-7)
    assert subspace_angles(Z, truth.Z[:, :3]).max() < 1e-5
    plain = reference(K0, case.y, case.site, beta, 1.0, normalize=normalize)
    assert abs(plain.eigenvalues[0] - truth.eigenvalues[0]) > 1e-6 * truth.eigenvalues[0]


def test_where_no_class_is_in_two_domains_conditional_domain_scatter_says_nothing(data):
    y = np.where(data.site < 0, -1, data.y)
    one = np.where(data.site == data.site[0], y, -1)
    plain = SCA(3).fit(data.X, one, sample_domain=data.site)
    weighted = SCA(3, conditional_delta=10.0).fit(data.X, one, sample_domain=data.site)
    assert_allclose(weighted.eigenvalues_, plain.eigenvalues_, rtol=1e-9)


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize(
    ("seed", "n_domains", "n_classes", "metric"),
    [(0, 2, 2, "rbf"), (1, 3, 4, "poly"), (2, 6, 12, "laplacian"), (3, 4, 7, "rbf")],
)
def test_sca_solves_the_dense_generalised_eigenproblem(
    seed, n_domains, n_classes, metric, beta, delta, normalize
):
    case = problem(seed, n_domains, n_classes)
    truth = reference(
        nuggeted(metric)(case.X, case.X), case.y, case.site, beta, delta, normalize=normalize
    )
    k = n_classes - 1 if beta == 1 else 6
    model = SCA(
        k,
        beta=beta,
        delta=delta,
        kernel=nuggeted(metric),
        normalize=normalize,
        scale="denominator",
    )
    Z = model.fit_transform(case.X, case.y, sample_domain=case.site)
    B = model.dual_coef_
    assert_allclose(model.eigenvalues_, truth.eigenvalues[:k], rtol=1e-7)
    assert subspace_angles(Z, truth.Z[:, :k]).max() < 1e-5
    assert_allclose(B.T @ truth.C @ B, np.eye(k), atol=1e-7)
    assert_allclose(truth.K @ B, Z, atol=1e-9 * np.abs(Z).max())
    assert_allclose(B.sum(axis=0), 0, atol=1e-9 * np.abs(B).max())
    residual = truth.A @ B - truth.C @ B * model.eigenvalues_
    residual = np.linalg.norm(residual, axis=0) / np.linalg.norm(truth.A @ B, axis=0)
    assert_allclose(model.residuals_, residual, atol=1e-6)
    assert model.residuals_.max() < 1e-6


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("delta", DELTAS)
def test_unsupervised_sca_solves_the_dense_generalised_eigenproblem(delta, normalize):
    case = problem(2, 4)
    K0 = nuggeted("rbf")(case.X, case.X)
    truth = reference(K0, case.y, case.site, 0, delta, normalize=normalize, classes=False)
    model = USCA(6, delta=delta, kernel=nuggeted("rbf"), normalize=normalize, scale="denominator")
    Z = model.fit(case.X, sample_domain=case.site).transform(case.X)
    assert_allclose(model.eigenvalues_, truth.eigenvalues[:6], rtol=1e-7)
    assert_same_components(Z, truth.Z[:, :6])


@some
@given(
    seed=st.integers(0, 10**6),
    n_domains=st.integers(2, 6),
    n_classes=st.integers(2, 12),
    beta=st.sampled_from(BETAS),
    delta=st.sampled_from(DELTAS),
    metric=st.sampled_from(["rbf", "linear", "poly", "cosine", "laplacian"]),
)
def test_lanczos_and_dense_agree_on_any_problem(seed, n_domains, n_classes, beta, delta, metric):
    case = problem(seed, n_domains, n_classes, n=45)
    k = min(n_classes - 1, 4) if beta == 1 else 4
    models = [
        fit(SCA(k, beta=beta, delta=delta, kernel=metric, solver=solver, tol=1e-9), case)
        for solver in ("lanczos", "dense")
    ]
    assert_allclose(models[0].eigenvalues_, models[1].eigenvalues_, rtol=1e-7)
    for model in models:
        assert model.residuals_.max() < 1e-6


@pytest.mark.parametrize(
    "metric",
    ["rbf", "laplacian", "poly", "polynomial", "linear", "cosine", "chi2", "additive_chi2"],
)
def test_every_kernel_of_scikit_learn_is_solved_exactly(metric):
    # Without a nugget: an independent problem on the range of K, Φ = U s^½
    case = problem(1)
    X = np.abs(case.X)
    params = {} if metric in ("linear", "cosine", "additive_chi2") else {"gamma": 0.2}
    H, R, S, L = dense(case.y, case.site)
    K = H @ pairwise_kernels(X, metric=metric, **params) @ H
    s, U = np.linalg.eigh(K)
    keep = s > 1e-9 * s[-1]
    phi = U[:, keep] * np.sqrt(s[keep])
    n, n_labelled = len(X), np.sum(case.y >= 0)
    A = phi.T @ (0.9 * H / n + 0.1 * R / n_labelled) @ phi
    C = 1e-3 * np.trace(K) / n * np.eye(keep.sum()) + phi.T @ (S / n_labelled + L) @ phi
    eigenvalues, W = eigh(A, C)
    model = fit(SCA(4, kernel=metric, gamma=0.2, scale="denominator"), case, X)
    assert_allclose(model.eigenvalues_, eigenvalues[::-1][:4], rtol=1e-7)
    assert_same_components(model.transform(X), phi @ W[:, ::-1][:, :4], rtol=1e-5)


def test_a_large_sample_is_solved_by_lanczos_to_the_tolerance():
    case = problem(1, 3, 5, n=600, p=30)
    quick, exact = (fit(SCA(15, solver=solver), case) for solver in ("auto", "dense"))
    assert_allclose(quick.eigenvalues_, exact.eigenvalues_, rtol=1e-9)
    assert 1e-12 < quick.residuals_.max() < 1e-4
    assert_same_components(quick.transform(case.X), exact.transform(case.X), rtol=1e-4)


def test_an_rbf_kernel_that_makes_all_samples_orthogonal_keeps_all_components():
    X = np.random.default_rng(0).normal(size=(200, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k in (3, 30):
            model = KPCA(k, gamma=1e6).fit(X)
            assert_allclose(model.eigenvalues_, np.full(k, 1 / 200), rtol=1e-9)


# --- special cases: what must be equal to what --------------------------------------------------


@pytest.mark.parametrize("solver", ["dense", "lanczos"])
@pytest.mark.parametrize("metric", ["rbf", "poly", "linear", "cosine"])
def test_kpca_is_scikit_learns_kernel_pca(data, metric, solver):
    theirs = KernelPCA(4, kernel=metric, gamma=0.2, degree=3, coef0=1).fit(data.X)
    ours = KPCA(4, kernel=metric, gamma=0.2, solver=solver, tol=1e-10).fit(data.X)
    assert_allclose(ours.eigenvalues_ * len(data.X), theirs.eigenvalues_, rtol=1e-9)
    assert_same_components(ours.transform(data.X), theirs.transform(data.X), rtol=1e-8)
    both = np.vstack([data.X, data.new])
    expected = theirs.transform(both)
    assert_same_components(ours.transform(both), expected, rtol=1e-8)


def test_unsupervised_sca_without_domain_term_is_kernel_pca(data):
    options = {"normalize": False, "scale": "denominator", "gamma": 0.2}
    expected = KPCA(4, gamma=0.2).fit_transform(data.X)
    Z = USCA(4, delta=0, **options).fit_transform(data.X, sample_domain=data.site)
    assert_same_components(Z, expected, rtol=1e-9)
    one_domain = USCA(4, delta=100, **options).fit_transform(data.X)
    assert_same_components(one_domain, expected, rtol=1e-9)


def test_the_printed_scale_whitens_kernel_pca(data):
    Z = USCA(4, delta=0, normalize=False, scale="numerator").fit_transform(data.X)
    assert_allclose(Z.T @ Z / len(Z), np.eye(4), atol=1e-9)


def test_sca_without_class_weight_still_uses_the_within_class_term(data):
    # beta = 0 is not uSCA: the denominator knows the classes.
    ours = fit(SCA(3, beta=0.0, delta=1.0), data).eigenvalues_
    theirs = fit(USCA(3, delta=1.0), data).eigenvalues_
    assert np.abs(ours / theirs - 1).min() > 0.1


def test_kernel_fisher_is_sca_with_beta_one_and_delta_zero(data):
    assert np.array_equal(
        fit(KernelFisher(2), data).transform(data.new),
        fit(SCA(2, beta=1.0, delta=0.0), data).transform(data.new),
    )


@pytest.mark.parametrize("solver", ["primal", "dense", "lanczos"])
def test_kernel_fisher_with_the_linear_kernel_is_primal_lda_with_a_ridge(solver):
    # S_B w = λ (S_W + I) w with sum scatters
    X, y = load_iris(return_X_y=True)
    means = np.array([X[y == k].mean(axis=0) for k in range(3)])
    S_W = sum((X[y == k] - means[k]).T @ (X[y == k] - means[k]) for k in range(3))
    S_B = 50 * (means - X.mean(axis=0)).T @ (means - X.mean(axis=0))
    eigenvalues, W = eigh(S_B, S_W + np.eye(4))
    model = KernelFisher(kernel="linear", normalize=False, solver=solver, scale="denominator")
    Z = model.fit_transform(X, y)
    assert_allclose(model.eigenvalues_, eigenvalues[::-1][:2], rtol=1e-8)
    assert_same_components(Z, (X - X.mean(axis=0)) @ W[:, ::-1][:, :2], rtol=1e-8)


def test_kernel_fisher_of_iris_has_the_published_eigenvalues():
    # Canonical discriminant analysis of Fisher's iris data: 32.1919 and 0.2854
    X, y = load_iris(return_X_y=True)
    model = KernelFisher(kernel="linear", ridge=1e-10).fit(X, y)
    assert_allclose(model.eigenvalues_, [32.1919, 0.2854], atol=5e-5)


def test_linear_discriminant_analysis_is_the_limit_of_no_ridge():
    X, y = load_iris(return_X_y=True)
    lda = LinearDiscriminantAnalysis(solver="eigen").fit_transform(X, y)
    errors = []
    for ridge in (1e-4, 1e-5, 1e-6):
        model = KernelFisher(kernel="linear", ridge=ridge).fit(X, y)
        errors.append(np.abs(model.eigenvalues_ - [32.191929198, 0.285391043]).max())
        Z = model.transform(X)
    assert_allclose(errors[1] / errors[0], 0.1, rtol=0.1)
    assert_allclose(errors[2] / errors[1], 0.1, rtol=0.1)
    for j in range(2):
        assert abs(np.corrcoef(Z[:, j], lda[:, j])[0, 1]) > 1 - 1e-6


def test_udica_eigenvalues_are_n_times_those_of_usca(data):
    # released form: K K b = λ' (K L K + K) b, delta = 1
    K0 = nuggeted("rbf")(data.X, data.X)
    H, _, _, L = dense(data.y, data.site)
    K, Q = H @ K0 @ H, helmert(len(H)).T
    right = Q.T @ (K @ L @ K + K) @ Q
    eigenvalues = eigh(Q.T @ K @ K @ Q, (right + right.T) / 2, eigvals_only=True)[::-1]
    model = USCA(5, delta=1.0, kernel=nuggeted("rbf"), normalize=False)
    model.fit(data.X, sample_domain=data.site)
    assert_allclose(model.eigenvalues_ * len(K), eigenvalues[:5], rtol=1e-8)


def test_tca_is_usca_with_the_linear_kernel_on_rows_of_the_gram_matrix():
    # T5: K K w = λ_TCA (K e eᵀ K + μ I) w, μ = 4 ε/δ, λ_TCA = (n δ/4) λ
    case = problem(0, 2)
    n, delta, eps = len(case.X), 2.0, 0.3
    H = np.eye(n) - 1 / n
    K = H @ rbf_kernel(case.X, gamma=0.2) @ H
    e = np.where(case.site < 0, -1 / np.sum(case.site < 0), 1 / np.sum(case.site >= 0))
    eigenvalues, W = eigh(K @ K, np.outer(K @ e, K @ e) + 4 * eps / delta * np.eye(n))
    model = USCA(4, delta=delta, ridge=eps, kernel="linear", normalize=False, solver="primal")
    Z = model.fit_transform(K, sample_domain=case.site)
    assert_allclose(model.eigenvalues_ * n * delta / 4, eigenvalues[::-1][:4], rtol=1e-8)
    tca = K @ W[:, ::-1][:, :4]
    unit = Z / np.linalg.norm(Z, axis=0)
    assert_same_components(unit, tca / np.linalg.norm(tca, axis=0), rtol=1e-6)


def test_one_domain_or_no_weight_switches_the_domain_term_off(data):
    expected = fit(SCA(3, delta=0.0), data).transform(data.new)
    alone = SCA(3, delta=50.0).fit(
        data.X, data.y, sample_domain=np.zeros(60, int), labelled=data.y >= 0
    )
    assert_same_components(alone.transform(data.new), expected, rtol=1e-8)


def test_the_synthetic_figure_has_the_published_accuracies():
    # methods.md C5: oracle 1NN accuracy on two components, over bandwidths, β' and δ
    rng = np.random.default_rng(0)
    source = np.array([(1, -2), (-0.8, 3.6), (1.2, 0.7)])
    means = np.vstack([source, source + np.array([-3.5, -3.6])])
    X = np.vstack([mean + 0.5 * rng.normal(size=(50, 2)) for mean in means])
    truth, site = np.tile(np.repeat([0, 1, 2], 50), 2), np.repeat([1, -2], 150)
    y = np.where(site < 0, -1, truth)
    gammas = 1 / (np.median(pdist(X, "sqeuclidean")) * np.array([0.25, 0.5, 1, 2, 4]))

    def accuracy(Z):
        judge = KNeighborsClassifier(1).fit(Z[:150], truth[:150])
        return 100 * judge.score(Z[150:], truth[150:])

    def best(model, grid):
        settings = [{"gamma": g, **point} for g in gammas for point in grid]
        return max(
            accuracy(model.set_params(**s).fit_transform(X, y, sample_domain=site))
            for s in settings
        )

    printed = {"normalize": False, "scale": "denominator"}
    shares = [share / (share + 150 * (1 - share)) for share in (0, 0.5, 0.9)]
    assert round(accuracy(X), 1) == 58.7
    assert round(best(KPCA(2), [{}]), 1) == 66.7
    assert round(best(USCA(2, **printed), [{"delta": d} for d in (10, 1e3)]), 1) == 67.3
    grid = [{"beta": b, "delta": d} for b in shares for d in (1, 1e2, 1e4)]
    assert round(best(SCA(2, **printed), grid), 1) == 89.3


# --- primal, dual, sparse, explicit maps --------------------------------------------------------


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("beta", BETAS)
def test_primal_equals_dual_for_the_linear_kernel(data, beta, normalize):
    options = {"kernel": "linear", "beta": beta, "delta": 3.0, "normalize": normalize}
    k = 2 if beta == 1 else 4
    primal = fit(SCA(k, solver="primal", **options), data)
    assert primal.components_.shape == (k, 5)
    assert not hasattr(primal, "dual_coef_")
    for solver in ("dense", "lanczos"):
        dual = fit(SCA(k, solver=solver, tol=1e-10, **options), data)
        assert_allclose(primal.eigenvalues_, dual.eigenvalues_, rtol=1e-8)
        assert_same_components(primal.transform(data.new), dual.transform(data.new), rtol=1e-7)


@pytest.mark.parametrize("n_features", [12, 200])
@pytest.mark.parametrize("make", [Nystroem, RBFSampler])
def test_an_explicit_map_is_the_linear_kernel_of_its_features(data, make, n_features):
    n_features = min(n_features, 40) if make is Nystroem else n_features
    feature_map = make(n_components=n_features, random_state=0)
    features = feature_map.fit_transform(data.X)
    K0 = features @ features.T
    expected = fit(SCA(4, kernel="precomputed"), data, K0)
    mapped = feature_map.transform(data.new) @ features.T
    for solver in ("auto", "primal", "dense", "lanczos"):
        model = fit(SCA(4, feature_map=feature_map, solver=solver, tol=1e-10), data)
        assert_allclose(model.eigenvalues_, expected.eigenvalues_, rtol=1e-7)
        assert_same_components(model.transform(data.new), expected.transform(mapped), rtol=1e-5)


def test_the_explicit_map_of_the_user_is_cloned_not_fitted(data):
    feature_map = Nystroem(n_components=10, random_state=0)
    model = fit(SCA(2, feature_map=feature_map), data)
    assert not hasattr(feature_map, "components_")
    assert model.feature_map_ is not feature_map


def test_auto_takes_the_primal_route_where_features_are_fewer_than_samples(data):
    assert hasattr(fit(SCA(2, kernel="linear"), data), "components_")
    assert hasattr(fit(SCA(2, kernel="rbf"), data), "dual_coef_")
    wide = np.random.default_rng(0).normal(size=(60, 61))
    assert hasattr(fit(SCA(2, kernel="linear"), data, wide), "dual_coef_")
    many = RBFSampler(n_components=100, random_state=0)
    assert hasattr(fit(SCA(2, feature_map=many), data), "dual_coef_")
    few = RBFSampler(n_components=20, random_state=0)
    assert hasattr(fit(SCA(2, feature_map=few), data), "components_")


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize(
    "options",
    [{"kernel": "rbf"}, {"kernel": "linear"}, {"kernel": "linear", "solver": "dense"}],
    ids=str,
)
def test_sparse_equals_dense(data, form, options):
    X = np.where(np.abs(data.X) > 0.8, data.X, 0)
    new = np.where(np.abs(data.new) > 0.8, data.new, 0)
    full, thin = fit(SCA(3, **options), data, X), fit(SCA(3, **options), data, form(X))
    assert_allclose(thin.eigenvalues_, full.eigenvalues_, rtol=1e-8)
    Z = thin.transform(form(new))
    assert isinstance(Z, np.ndarray)
    assert_same_components(Z, full.transform(new), rtol=1e-7)
    assert_allclose(thin.transform(new), Z, atol=1e-9 * np.abs(Z).max())


def test_sparse_features_of_a_map_are_accepted(data):
    class Sparse(Nystroem):
        def transform(self, X):
            return sparse.csr_array(super().transform(X))

    full = fit(SCA(3, feature_map=Nystroem(n_components=15, random_state=0)), data)
    thin = fit(SCA(3, feature_map=Sparse(n_components=15, random_state=0)), data)
    assert_same_components(thin.transform(data.new), full.transform(data.new), rtol=1e-6)


def test_precomputed_is_the_kernel_it_was_computed_with(data):
    K0, K_new = rbf_kernel(data.X, gamma=0.3), rbf_kernel(data.new, data.X, gamma=0.3)
    expected = fit(SCA(3, gamma=0.3), data)
    model = fit(SCA(3, kernel="precomputed"), data, K0)
    assert_allclose(model.eigenvalues_, expected.eigenvalues_, rtol=1e-10)
    assert_same_components(model.transform(K_new), expected.transform(data.new), rtol=1e-8)


def test_a_callable_kernel_gets_its_parameters(data):
    def kernel(A, B, *, width):
        return rbf_kernel(A, B, gamma=1 / width)

    model = fit(SCA(3, kernel=kernel, kernel_params={"width": 4.0}), data)
    expected = fit(SCA(3, gamma=0.25), data)
    assert_same_components(model.transform(data.new), expected.transform(data.new), rtol=1e-8)


def test_what_a_callable_kernel_returned_is_left_alone(data):
    kept = {}

    def remembering(A, B):
        key = (A.tobytes(), B.tobytes())
        return kept.setdefault(key, A @ B.T)

    expected = fit(SCA(3, kernel="linear", solver="dense"), data).transform(data.X)
    for _ in range(2):
        model = fit(SCA(3, kernel=remembering), data)
        assert_same_components(model.transform(data.X), expected, rtol=1e-6)
    assert all(
        np.allclose(K, np.frombuffer(a).reshape(-1, 5) @ np.frombuffer(b).reshape(-1, 5).T)
        for (a, b), K in kept.items()
    )


def test_a_callable_kernel_may_return_a_read_only_matrix(data):
    def kernel(A, B):
        K = A @ B.T
        K.flags.writeable = False
        return K

    model = fit(SCA(3, kernel=kernel), data)
    expected = fit(SCA(3, kernel="linear"), data)
    assert_same_components(model.transform(data.new), expected.transform(data.new), rtol=1e-6)


# --- the two scalings ---------------------------------------------------------------------------


@pytest.mark.parametrize("beta", [0.0, 0.3, 1.0])
def test_without_normalisation_eigenvalues_are_those_of_the_printed_problem(data, beta):
    # A = (1-β)/n KK + β P and C = δ KLK + Q + K with P and Q entry by entry, eqs. (13) and (14)
    K0 = nuggeted("rbf")(data.X, data.X)
    H, _, _, L = dense(data.y, data.site)
    K, n = H @ K0 @ H, len(H)
    overall = K[:, data.y >= 0].mean(axis=1)
    P, Q = np.zeros((n, n)), np.zeros((n, n))
    for k in range(3):
        columns = K[:, data.y == k]
        mean = columns.mean(axis=1)
        P += columns.shape[1] * np.outer(mean - overall, mean - overall)
        Q += (columns - mean[:, None]) @ (columns - mean[:, None]).T
    A = (1 - beta) / n * K @ K + beta * P
    C = 7.0 * K @ L @ K + Q + K
    basis = helmert(n).T
    expected = eigh(basis.T @ A @ basis, basis.T @ C @ basis, eigvals_only=True)[::-1]
    k = 2 if beta == 1 else 5
    model = SCA(k, beta=beta, delta=7.0, kernel=nuggeted("rbf"), normalize=False)
    assert_allclose(fit(model, data).eigenvalues_, expected[:k], rtol=1e-7)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 1.0])
def test_both_scalings_find_the_same_components_in_their_own_units(data, share):
    # beta = β'/(β' + n_l (1-β')), delta = n_l δ', and 1 = n_l · ridge · total scatter
    n_labelled = np.sum(data.y >= 0)
    total = total_scatter(data.X, kernel="rbf", gamma=0.2)
    beta = share / (share + n_labelled * (1 - share))
    k = 2 if share == 1 else 4
    options = {"gamma": 0.2, "scale": "denominator"}
    paper = fit(SCA(k, beta=beta, delta=30.0, normalize=False, **options), data)
    mean = SCA(k, beta=share, delta=30.0 / n_labelled, ridge=1 / (n_labelled * total), **options)
    fit(mean, data)
    assert_allclose(paper.eigenvalues_, mean.eigenvalues_ * beta / share, rtol=1e-8)
    Z = paper.transform(data.new)
    assert_same_components(Z * np.sqrt(n_labelled), mean.transform(data.new), rtol=1e-6)


@pytest.mark.parametrize("ridge", [0.01, 1.0, 40.0])
def test_a_ridge_weight_is_a_kernel_divided_by_it(data, ridge):
    K0 = rbf_kernel(data.X, gamma=0.2)
    options = {"kernel": "precomputed", "normalize": False, "delta": 5.0}
    left = fit(SCA(4, ridge=ridge, **options), data, K0)
    right = fit(SCA(4, **options), data, K0 / ridge)
    assert_allclose(left.eigenvalues_, right.eigenvalues_, rtol=1e-8)
    assert_same_components(left.transform(K0), right.transform(K0 / ridge), rtol=1e-7)


@pytest.mark.parametrize("solver", ["dense", "lanczos"])
@pytest.mark.parametrize("times", [1e-7, 1e-5, 1e-3, 1e3])
def test_in_the_papers_scaling_weak_and_strong_kernels_are_solved_exactly(data, times, solver):
    # The ridge of one dwarfs a weak kernel and is small beside a strong one.
    options = {"kernel": "linear", "normalize": False, "tol": 1e-9}
    primal = fit(SCA(3, solver="primal", **options), data, times * data.X)
    model = fit(SCA(3, solver=solver, **options), data, times * data.X)
    assert_allclose(model.eigenvalues_, primal.eigenvalues_, rtol=1e-7)
    assert model.residuals_.max() < 1e-6


@pytest.mark.parametrize("scale", ["eigenvalue", "denominator", "numerator"])
@pytest.mark.parametrize("times", [1e-3, 50.0])
def test_the_size_of_a_kernel_does_not_matter(data, scale, times):
    K0 = rbf_kernel(data.X, gamma=0.2)
    one = fit(SCA(3, kernel="precomputed", scale=scale), data, K0)
    other = fit(SCA(3, kernel="precomputed", scale=scale), data, times * K0)
    assert_allclose(one.eigenvalues_, other.eigenvalues_, rtol=1e-9)
    assert_same_components(other.transform(times * K0), one.transform(K0), rtol=1e-7)


@pytest.mark.parametrize("model", [SCA(3), USCA(3), KernelFisher(2)], ids=str)
@pytest.mark.parametrize("times", [1e-4, 300.0])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_units_of_the_features_do_not_matter(data, model, times, kernel):
    one = fit(clone(model).set_params(kernel=kernel), data)
    other = fit(clone(model).set_params(kernel=kernel), data, times * data.X)
    assert_allclose(one.eigenvalues_, other.eigenvalues_, rtol=1e-7)
    assert_same_components(other.transform(times * data.new), one.transform(data.new), rtol=1e-6)


def test_normalised_components_do_not_depend_on_how_often_the_sample_is_repeated(data):
    one = fit(SCA(3, gamma=0.2), data)
    five = SCA(3, gamma=0.2).fit(
        np.tile(data.X, (5, 1)), np.tile(data.y, 5), sample_domain=np.tile(data.site, 5)
    )
    assert_allclose(one.eigenvalues_, five.eigenvalues_, rtol=1e-8)
    assert_same_components(five.transform(data.new), one.transform(data.new), rtol=1e-6)
    paper = fit(SCA(3, gamma=0.2, normalize=False), data)
    more = SCA(3, gamma=0.2, normalize=False).fit(
        np.tile(data.X, (5, 1)), np.tile(data.y, 5), sample_domain=np.tile(data.site, 5)
    )
    assert np.abs(paper.eigenvalues_ / more.eigenvalues_ - 1).min() > 0.01


# --- the length of components -------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [nuggeted("rbf"), "linear"])
@pytest.mark.parametrize("beta", [0.3, 1.0])
def test_scale_is_what_its_name_says(data, beta, kernel):
    options = {"beta": beta, "kernel": kernel, "delta": 5.0}
    k = 2 if beta == 1 else 4
    fitted = {scale: fit(SCA(k, scale=scale, **options), data) for scale in components.SCALES}
    Z = {scale: model.transform(data.X) for scale, model in fitted.items()}
    eigenvalues = fitted["denominator"].eigenvalues_
    # A b and C b through z = K b alone: bᵀA b = zᵀ N z
    H, R, _, _ = dense(data.y, data.site)
    N = (1 - beta) * H / len(H) + beta * R / np.sum(data.y >= 0)
    assert_allclose(Z["denominator"].T @ N @ Z["denominator"], np.diag(eigenvalues), atol=1e-7)
    assert_allclose(Z["numerator"].T @ N @ Z["numerator"], np.eye(k), atol=1e-7)
    assert_allclose(Z["eigenvalue"], Z["denominator"] * np.sqrt(eigenvalues), rtol=1e-9)
    if kernel != "linear":
        unit = fitted["coefficients"].dual_coef_ * np.sqrt(eigenvalues)
        assert_allclose(np.linalg.norm(unit, axis=0), 1, rtol=1e-7)


@pytest.mark.parametrize("solver", ["primal", "dense", "lanczos"])
def test_unit_coefficients_mean_the_same_on_every_route(data, solver):
    options = {"kernel": "linear", "scale": "coefficients", "tol": 1e-10}
    expected = fit(SCA(3, solver="dense", **options), data).transform(data.new)
    model = fit(SCA(3, solver=solver, **options), data)
    assert_same_components(model.transform(data.new), expected, rtol=1e-6)


def test_unit_coefficients_of_kernel_pca_are_ordinary_scores_up_to_a_constant(data):
    # λ^-½ K u = λ^-½ n λ u with ‖u‖ = 1: sqrt(n) times the scores sqrt(n λ) u
    Z = USCA(3, delta=0, normalize=False, scale="coefficients").fit_transform(data.X)
    expected = np.sqrt(len(data.X)) * KPCA(3).fit_transform(data.X)
    assert_same_components(Z, expected, rtol=1e-8)


@pytest.mark.parametrize("model", [SCA(3), USCA(3), KernelFisher(2), KPCA(3)], ids=str)
def test_the_largest_entry_of_a_component_is_positive(data, model):
    Z = fit(model, data).transform(data.X)
    assert (Z[np.abs(Z).argmax(axis=0), np.arange(Z.shape[1])] > 0).all()


# --- Algorithm 1, to the letter -----------------------------------------------------------------


def algorithm_1(K0, y, site, beta, delta):
    """Eigenvalues, B with BᵀCB = I, and K: P and Q from the kernel as it is, centred afterwards."""
    H, _, _, L = dense(y, site)
    n, known = len(K0), np.flatnonzero(y >= 0)
    P, Q = np.zeros((n, n)), np.zeros((n, n))
    mean = K0[known].mean(axis=1)
    for k in np.unique(y[known]):
        K_k = K0[np.ix_(known, np.flatnonzero(y == k))]
        n_k = K_k.shape[1]
        away = K_k.mean(axis=1) - mean
        P[np.ix_(known, known)] += n_k * np.outer(away, away)
        Q[np.ix_(known, known)] += K_k @ (np.eye(n_k) - 1 / n_k) @ K_k.T
    K = H @ K0 @ H
    epsilon = JITTER * np.trace(K + Q) / n
    A = (1 - beta) / n * K @ K + beta * P
    eigenvalues, B = eigh(A, delta * K @ L @ K + Q + K + epsilon * np.eye(n))
    return eigenvalues[::-1], B[:, ::-1], K


def lengths(scale, eigenvalues, B):
    return {
        "denominator": np.ones_like(eigenvalues),
        "eigenvalue": np.sqrt(eigenvalues),
        "numerator": 1 / np.sqrt(eigenvalues),
        "coefficients": 1 / np.sqrt(eigenvalues) / np.linalg.norm(B, axis=0),
    }[scale]


PRINTED = {"reading": "printed", "normalize": False}


@pytest.mark.parametrize("beta", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("scale", SCALES)
def test_the_printed_reading_is_algorithm_1_written_out(data, beta, scale):
    K0 = nuggeted("rbf")(data.X, data.X)
    eigenvalues, B, K = algorithm_1(K0, data.y, data.site, beta, 5.0)
    k = 2 if beta == 1 else 4
    eigenvalues, B = eigenvalues[:k], B[:, :k]
    model = SCA(k, beta=beta, delta=5.0, kernel=nuggeted("rbf"), scale=scale, **PRINTED)
    Z = model.fit_transform(data.X, data.y, sample_domain=data.site)
    assert_allclose(model.eigenvalues_, eigenvalues, rtol=1e-7)
    assert_same_components(Z, K @ B * lengths(scale, eigenvalues, B), rtol=1e-6)
    assert_same_components(model.transform(data.X), Z, rtol=1e-8)
    assert model.residuals_.max() < 1e-8


@pytest.fixture(scope="module")
def digits():
    """Digits, half of them fading from left to right: too many samples for the whole space."""
    X, y = load_digits(return_X_y=True)
    X, y, site = X[:700] / 16, y[:700], np.repeat([0, -1], 350)
    X[site < 0] *= np.linspace(0.4, 1, X.shape[1])
    return SimpleNamespace(X=X, y=np.where(site < 0, -1, y), site=site)


MANY = [(0.0, 1.0), (1e-3, 1.0), (0.5, 10.0), (1.0, 1.0)]


def test_one_krylov_space_gives_algorithm_1_for_every_setting(digits):
    """Eigenvalues to 1e-6, and no principal angle between the projections above 1e-6."""
    template = SCA(kernel="rbf", tol=1e-9, scale="denominator", **PRINTED)
    X, domains = template.read(digits.X, digits.y, digits.site, None)
    space = template.space(X, domains)
    K0 = space.problem.kernel(X)
    weights = [
        template.set_params(beta=beta, delta=delta).objective(domains, space.scatters.total)
        for beta, delta in MANY
    ]
    for (beta, delta), solved in zip(MANY, space.solve(weights, 8), strict=True):
        values, B, K = algorithm_1(K0, digits.y, digits.site, beta, delta)
        assert_allclose(solved.eigenvalues, values[:8], rtol=1e-6)
        assert subspace_angles(solved.projections, K @ B[:, :8]).max() < 1e-6
        assert solved.residuals.max() < 1e-6


def test_the_printed_reading_is_searched_as_it_is_fitted(data):
    """SCACV's projections of a setting are those of a fit, all from one factorisation."""
    template = SCA(scale="coefficients", kernel=nuggeted("rbf"), **PRINTED)
    X, domains = template.read(data.X, data.y, data.site, None)
    settings = [(0.0, 1.0), (0.3, 5.0), (1.0, 0.0)]
    projected = FoldSolver(template, X, domains).solve(domains, settings, 2)
    for (beta, delta), (Z, _) in zip(settings, projected, strict=True):
        fitted = clone(template).set_params(n_components=2, beta=beta, delta=delta)
        assert_same_components(Z, fit(fitted, data).transform(data.X), rtol=1e-6)
    search = fit(SCACV(template, n_components=[2], betas=[0.0, 0.3], deltas=[1.0]), data)
    assert search.best_estimator_.reading == "printed"


def test_printed_class_terms_are_another_problem(data):
    options = {"delta": 5.0, "kernel": nuggeted("rbf"), "normalize": False}
    printed = fit(SCA(3, reading="printed", **options), data)
    full = fit(SCA(3, **options), data)
    assert np.abs(printed.eigenvalues_ / full.eigenvalues_ - 1).max() > 0.01
    # Nothing is padded where all is labelled; what is left is the order of centring.
    data.y = data.truth
    H = np.eye(len(data.X)) - 1 / len(data.X)
    options |= {"kernel": "precomputed"}
    K = H @ nuggeted("rbf")(data.X, data.X) @ H
    printed = fit(SCA(3, reading="printed", **options), data, K)
    full = fit(SCA(3, **options), data, K)
    assert_allclose(printed.eigenvalues_, full.eigenvalues_, rtol=1e-3)


def test_unsupervised_sca_as_printed_needs_no_reading(data):
    """Without class terms Algorithm 1 has neither rows to pad nor means to choose."""
    K0 = nuggeted("rbf")(data.X, data.X)
    H, _, _, L = dense(data.y, data.site)
    K, n = H @ K0 @ H, len(K0)
    Q = helmert(n).T
    A, C = K @ K / n, 5.0 * K @ L @ K + K
    values, B = eigh(Q.T @ A @ Q, Q.T @ C @ Q)
    values, B = values[::-1][:3], (Q @ B)[:, ::-1][:, :3]
    model = USCA(3, delta=5.0, kernel=nuggeted("rbf"), normalize=False, scale="numerator")
    Z = model.fit_transform(data.X, sample_domain=data.site)
    assert_allclose(model.eigenvalues_, values, rtol=1e-7)
    assert_same_components(Z, K @ B / np.sqrt(values), rtol=1e-6)


# --- promises: what fit leaves alone ------------------------------------------------------------

ROUTES = {
    "dual": {},
    "lanczos": {"solver": "lanczos", "tol": 1e-10},
    "primal": {"kernel": "linear"},
    "linear dual": {"kernel": "linear", "solver": "dense"},
    "beta 1": {"beta": 1.0},
    "map": {"feature_map": Nystroem(n_components=15, random_state=0)},
    "wide map": {"feature_map": RBFSampler(n_components=80, random_state=0)},
    "printed": {"reading": "printed"},
}
routes = pytest.mark.parametrize("route", ROUTES)


def on_route(route, k=2, **more):
    return SCA(k, **{**ROUTES[route], **more})


@routes
def test_fit_leaves_arrays_untouched_to_the_bit(data, route):
    before = (data.X.tobytes(), data.y.tobytes(), data.site.tobytes())
    fit(on_route(route), data)
    on_route(route).fit_transform(data.X, data.y, sample_domain=data.site)
    assert before == (data.X.tobytes(), data.y.tobytes(), data.site.tobytes())


@routes
def test_read_only_arrays_are_enough(data, route):
    expected = fit(on_route(route), data).transform(data.new)
    for array in (data.X, data.y, data.site, data.new):
        array.flags.writeable = False
    assert np.array_equal(fit(on_route(route), data).transform(data.new), expected)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_fit_leaves_sparse_matrices_untouched_to_the_bit(data, kernel):
    X = sparse.csr_array(np.where(data.X > 0, data.X, 0))
    before = [part.tobytes() for part in (X.data, X.indices, X.indptr)]
    model = fit(SCA(2, kernel=kernel), data, X)
    model.transform(X)
    assert before == [part.tobytes() for part in (X.data, X.indices, X.indptr)]


def test_fit_leaves_data_frames_untouched(data):
    frame, y, site = pd.DataFrame(data.X), pd.Series(data.y), pd.Series(data.site)
    copies = frame.copy(), y.copy(), site.copy()
    model = SCA(2).fit(frame, y, sample_domain=site)
    model.transform(frame)
    for now, before in zip((frame, y, site), copies, strict=True):
        assert now.equals(before)


def test_fit_leaves_a_precomputed_kernel_untouched(data):
    K0 = rbf_kernel(data.X)
    before = K0.tobytes()
    fit(SCA(2, kernel="precomputed"), data, K0).transform(K0)
    assert before == K0.tobytes()


def test_a_fitted_model_does_not_change_with_the_array_it_was_fitted_on(data):
    model = fit(SCA(2), data)
    expected = model.transform(data.new)
    data.X[:] = 0
    assert np.array_equal(model.transform(data.new), expected)


# --- promises: samples, order and batches -------------------------------------------------------


@some
@given(seed=st.integers(0, 10**6), route=st.sampled_from(sorted(ROUTES)))
def test_shuffled_rows_give_shuffled_results(seed, route):
    if route in ("map", "wide map"):
        route = "dual"  # the maps themselves choose rows
    case = problem(seed % 1000, n=40)
    rows = np.random.default_rng(seed).permutation(40)
    Z = on_route(route).fit_transform(case.X, case.y, sample_domain=case.site)
    shuffled = on_route(route).fit_transform(
        case.X[rows], case.y[rows], sample_domain=case.site[rows]
    )
    assert_same_components(shuffled, Z[rows], rtol=1e-5)


@routes
def test_transform_of_the_training_samples_is_fit_transform(data, route):
    model = on_route(route)
    Z = model.fit_transform(data.X, data.y, sample_domain=data.site)
    assert_allclose(model.transform(data.X), Z, atol=1e-9 * np.abs(Z).max())


@routes
def test_fit_then_transform_is_fit_transform(data, route):
    Z = on_route(route).fit_transform(data.X, data.y, sample_domain=data.site)
    again = fit(on_route(route), data).transform(data.X)
    assert_allclose(again, Z, atol=1e-9 * np.abs(Z).max())


@routes
def test_the_image_of_a_sample_does_not_depend_on_its_batch(data, route, monkeypatch):
    model = fit(on_route(route), data)
    together = model.transform(data.new)
    alone = np.vstack([model.transform(data.new[i : i + 1]) for i in range(len(data.new))])
    assert_allclose(alone, together, atol=1e-11 * np.abs(together).max())
    assert_allclose(
        model.transform(data.new[::-1])[::-1], together, atol=1e-11 * np.abs(together).max()
    )
    monkeypatch.setattr(components, "BATCH", 4)
    assert_allclose(model.transform(data.new), together, atol=1e-11 * np.abs(together).max())


@routes
def test_components_are_the_same_for_samples_of_any_domain(data, route):
    model = fit(on_route(route), data)
    elsewhere = model.transform(data.new, sample_domain=np.full(len(data.new), "nowhere"))
    assert np.array_equal(elsewhere, model.transform(data.new))


@routes
def test_two_runs_give_identical_bits(data, route):
    first, second = (fit(on_route(route), data) for _ in range(2))
    assert np.array_equal(first.transform(data.new), second.transform(data.new))
    assert np.array_equal(first.eigenvalues_, second.eigenvalues_)
    assert np.array_equal(first.residuals_, second.residuals_)


def test_a_seed_changes_the_path_of_lanczos_and_not_its_end():
    case = problem(1, n=520, p=20)
    models = [fit(SCA(5, random_state=seed, tol=1e-9), case) for seed in (None, 0, 7)]
    assert np.array_equal(models[0].transform(case.new), models[1].transform(case.new))
    assert_same_components(models[2].transform(case.new), models[0].transform(case.new))


@routes
def test_single_precision_in_single_precision_out(data, route):
    X, new = data.X.astype(np.float32), data.new.astype(np.float32)
    model = on_route(route)
    Z = model.fit_transform(X, data.y, sample_domain=data.site)
    double = fit(on_route(route), data)
    assert Z.dtype == model.transform(new).dtype == np.float32
    assert double.transform(data.new).dtype == np.float64
    assert_allclose(model.eigenvalues_, double.eigenvalues_, rtol=1e-3)
    assert_same_components(model.transform(new), double.transform(data.new), rtol=1e-2)


@pytest.mark.parametrize("model", [USCA(2), KernelFisher(2), KPCA(2)], ids=str)
def test_the_whole_family_keeps_single_precision(data, model):
    X = data.X.astype(np.float32)
    assert fit(model, data, X).transform(X).dtype == np.float32
    sparse_model = fit(clone(model).set_params(kernel="linear"), data, sparse.csr_array(X))
    assert sparse_model.transform(sparse.csr_array(X)).dtype == np.float32


# --- promises: names and labels -----------------------------------------------------------------


@some
@given(seed=st.integers(0, 10**6), beta=st.sampled_from(BETAS))
def test_renaming_classes_and_domains_changes_nothing(seed, beta):
    case = problem(seed % 1000, n_domains=4, n_classes=4, n=40)
    rng = np.random.default_rng(seed)
    expected = fit(SCA(2, beta=beta), case).transform(case.new)
    classes = np.array(["w", "x", "y", "z"], dtype=object)[rng.permutation(4)]
    y = np.where(case.y < 0, None, classes[case.y])
    names = dict(zip(np.unique(case.site), rng.permutation(["n", "e", "s", "w"]), strict=True))
    site = [names[a] for a in case.site]
    renamed = SCA(2, beta=beta).fit(case.X, y, sample_domain=site)
    assert_same_components(renamed.transform(case.new), expected, rtol=1e-6)


def test_labels_minus_and_plus_one_are_labels():
    case = problem(0, 2, 2)
    y = np.where(case.truth == 0, -1, 1)
    source = case.site >= 0
    expected = SCA(2).fit(
        case.X, np.where(source, case.truth, -1), sample_domain=case.site, labelled=source
    )
    masked = SCA(2).fit(case.X, y, sample_domain=case.site, labelled=source)
    assert masked.classes_.tolist() == [-1, 1]
    assert_same_components(masked.transform(case.new), expected.transform(case.new), 1e-9)
    with pytest.raises(ValueError, match="Pass labelled="):
        SCA(2).fit(case.X, np.where(source, y, -1), sample_domain=case.site)
    everything = SCA(2).fit(case.X, y)
    plain = SCA(2).fit(case.X, case.truth)
    assert_same_components(everything.transform(case.new), plain.transform(case.new), 1e-9)


def containers(case):
    """The same samples, labels and domains in the containers that people bring."""
    names = np.array(["cat", "dog", "eel"], dtype=object)
    text = [None if k < 0 else names[k] for k in case.y]
    gaps = np.where(case.y < 0, np.nan, case.y)
    site = case.site
    frame = pd.DataFrame(case.X, columns=list("abcde"))
    return {
        "floats with nan": (case.X, gaps, site),
        "lists": (case.X.tolist(), text, site.tolist()),
        "objects": (case.X, np.array(text, dtype=object), site),
        "pandas": (frame, pd.Series(text), pd.Series(site)),
        "pandas categories": (frame, pd.Series(text, dtype="category"), pd.Series(site)),
        "pandas nullable": (frame, pd.Series(gaps).astype("Int64"), pd.Series(site)),
        "shuffled index": (
            frame.set_index(np.arange(60)[::-1]),
            pd.Series(text, index=range(100, 160)),
            site,
        ),
        "polars": (
            pl.DataFrame(case.X, schema=list("abcde")),
            pl.Series(text),
            pl.Series(site),
        ),
        "string domains": (case.X, text, [f"site {a}" for a in site]),
    }


@pytest.mark.parametrize("name", containers(problem(1)))
def test_all_containers_say_the_same(data, name):
    X, y, site = containers(data)[name]
    expected = fit(SCA(3), data)
    model = SCA(3).fit(X, y, sample_domain=site)
    Z = model.transform(X)
    assert isinstance(Z, np.ndarray)
    assert_allclose(model.eigenvalues_, expected.eigenvalues_, rtol=1e-10)
    assert_same_components(Z, expected.transform(data.X), rtol=1e-8)


@some
@given(seed=st.integers(0, 10**6))
def test_values_of_y_on_unlabelled_rows_do_not_matter(seed):
    case = problem(1)
    rng = np.random.default_rng(seed)
    labelled = case.y >= 0
    noise = np.where(labelled, case.y, rng.integers(-5, 9, size=60))
    expected = fit(SCA(3), case).transform(case.new)
    model = SCA(3).fit(case.X, noise, sample_domain=case.site, labelled=labelled)
    assert np.array_equal(model.transform(case.new), expected)


def test_some_target_labels_take_part():
    case = problem(1)
    known = case.y >= 0
    assert (known & (case.site < 0)).any()
    assert (~known & (case.site < 0)).any()
    without = np.where(case.site < 0, -1, case.y)
    K0 = nuggeted("rbf")(case.X, case.X)
    for y in (case.y, without):
        truth = reference(K0, y, case.site, 0.3, 2.0)
        model = SCA(4, beta=0.3, delta=2.0, kernel=nuggeted("rbf"))
        model.fit(case.X, y, sample_domain=case.site)
        assert_allclose(model.eigenvalues_, truth.eigenvalues[:4], rtol=1e-7)


def test_without_domains_labelled_and_unlabelled_samples_are_two(data):
    site = np.where(data.y >= 0, "here", "there")
    expected = SCA(3).fit(data.X, data.y, sample_domain=site).transform(data.new)
    model = SCA(3).fit(data.X, data.y)
    assert_same_components(model.transform(data.new), expected, rtol=1e-9)
    assert model.domain_ids_.tolist() == ["labelled", "unlabelled"]


def test_unsupervised_methods_do_not_look_at_the_values_of_labels(data):
    rng = np.random.default_rng(0)
    for model in (USCA(3), KPCA(3)):
        expected = model.fit(data.X, sample_domain=data.site).transform(data.new)
        noise = rng.integers(3, size=60)
        again = model.fit(data.X, noise, sample_domain=data.site).transform(data.new)
        assert_same_components(again, expected, rtol=1e-9)


@some
@given(seed=st.integers(0, 10**6), kernel=st.sampled_from(["rbf", "linear"]))
def test_a_rigid_motion_of_the_inputs_changes_nothing(seed, kernel):
    case = problem(seed % 1000, n=40)
    rng = np.random.default_rng(seed)
    turn, shift = np.linalg.qr(rng.normal(size=(5, 5)))[0], 10 * rng.normal(size=5)
    still = fit(SCA(2, kernel=kernel), case)
    moved = fit(SCA(2, kernel=kernel), case, case.X @ turn + shift)
    assert_allclose(moved.eigenvalues_, still.eigenvalues_, rtol=1e-8)
    assert_same_components(moved.transform(case.new @ turn + shift), still.transform(case.new))


# --- what a fit leaves behind -------------------------------------------------------------------


def test_refitting_forgets_the_earlier_route(data):
    sequence = [
        {"kernel": "rbf"},
        {"kernel": "linear"},
        {"kernel": "rbf", "feature_map": Nystroem(n_components=10, random_state=0)},
        {"kernel": "linear", "feature_map": None, "solver": "dense"},
        {"kernel": "rbf", "solver": "auto", "reading": "printed"},
        {"kernel": "linear", "reading": "full"},
    ]
    model = SCA(3)
    for change in sequence:
        fit(model.set_params(**change), data)
        fresh = fit(clone(model), data)
        assert sorted(vars(model)) == sorted(vars(fresh)), change
        assert np.array_equal(model.transform(data.new), fresh.transform(data.new)), change


def test_refitting_forgets_names_and_kernels(data):
    frame = pd.DataFrame(data.X, columns=list("abcde"))
    model = SCA(2).fit(frame, data.y, sample_domain=data.site)
    assert model.feature_names_in_.tolist() == list("abcde")
    fit(model, data, data.X[:, :4])
    assert not hasattr(model, "feature_names_in_")
    assert model.transform(data.new[:, :4]).shape == (9, 2)
    K0 = rbf_kernel(data.X)
    fit(model.set_params(kernel="precomputed"), data, K0)
    assert model.transform(K0).shape == (60, 2)


def test_a_default_number_of_components_is_chosen_and_told(data):
    assert fit(SCA(), data).n_components_ == 10  # 2 (C - 1) is fewer
    labels = np.arange(60) % 8
    assert SCA().fit(data.X, labels, sample_domain=data.site).n_components_ == 14  # 2 (C - 1)
    assert fit(SCA(beta=1.0), data).n_components_ == 2  # C - 1
    assert fit(KernelFisher(), data).n_components_ == 2
    assert fit(USCA(), data).n_components_ == 20
    assert KPCA().fit(data.X).n_components_ == 20
    assert KPCA().fit(data.X[:8]).n_components_ == 7
    assert KPCA(kernel="linear").fit(data.X).n_components_ == 5
    one_class = SCA().fit(data.X, np.zeros(60, int), sample_domain=data.site)
    assert one_class.n_components_ == 10
    hidden = np.where(data.truth == 2, -1, data.truth)
    two = SCA(beta=1.0).fit(data.X, hidden, sample_domain=data.site, labelled=hidden >= 0)
    assert two.n_components_ == 1  # classes without a label do not count


def test_the_default_number_of_components_never_warns(data):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for model in (SCA(), SCA(beta=1.0), KernelFisher(), USCA(kernel="linear"), KPCA()):
            Z = fit(model, data).transform(data.X)
            assert Z.shape == (60, model.n_components_)


@pytest.mark.parametrize("model", [SCA(3), USCA(3), KernelFisher(2)], ids=str)
def test_scatter_tells_what_the_measures_say(data, model):
    fit(model.set_params(kernel="rbf", gamma=0.3), data)
    for when, X, how in (
        ("before", data.X, {"kernel": "rbf", "gamma": 0.3}),
        ("after", model.transform(data.X), {}),
    ):
        told = model.scatter_[when]
        known = data.y >= 0
        assert_allclose(told.total, total_scatter(X, **how), rtol=1e-9)
        assert_allclose(told.domain, domain_scatter(X, data.site, **how), rtol=1e-7)
        assert_allclose(told.between_class, between_class_scatter(X[known], data.y[known], **how))
        assert_allclose(told.within_class, within_class_scatter(X[known], data.y[known], **how))
        assert_allclose(
            told.conditional_domain,
            conditional_domain_scatter(X, data.y, data.site, **how),
            rtol=1e-7,
        )


@pytest.mark.parametrize("scale", ["denominator", "numerator"])
def test_scatter_after_the_projection_adds_up_to_the_constraint(data, scale):
    # Σ over components of the numerator is Σ λ, or k where each was scaled to one
    beta = 0.3
    model = fit(SCA(4, beta=beta, scale=scale), data)
    after = model.scatter_["after"]
    expected = model.eigenvalues_.sum() if scale == "denominator" else 4
    assert_allclose((1 - beta) * after.total + beta * after.between_class, expected, rtol=1e-9)


def test_domain_scatter_falls_as_its_weight_rises(data):
    shares = []
    for delta in (0.0, 1.0, 100.0):
        after = fit(USCA(3, delta=delta), data).scatter_["after"]
        shares.append(after.domain / after.total)
    assert shares[0] > 2 * shares[1] > 4 * shares[2]


@pytest.mark.parametrize("scale", ["eigenvalue", "denominator"])
def test_eigenvalues_come_largest_first(data, scale):
    model = fit(SCA(6, scale=scale), data)
    assert (np.diff(model.eigenvalues_) < 0).all()
    assert model.eigenvalues_.shape == model.residuals_.shape == (6,)


# --- at home in scikit-learn --------------------------------------------------------------------


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize("make", FAMILY)
def test_scikit_learn_finds_nothing_to_object_to(make, routing):
    with sklearn.config_context(enable_metadata_routing=routing), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(make(), on_fail=None, on_skip=None)
    objections = {r["check_name"]: r["exception"] for r in results if r["status"] != "passed"}
    assert set(objections) <= {"check_array_api_input"}, objections
    assert len(results) > 40


@pytest.mark.parametrize("make", FAMILY)
def test_output_can_be_pandas_with_names(data, make):
    frame = pd.DataFrame(data.X, columns=list("abcde"), index=range(100, 160))
    model = make(2).set_output(transform="pandas")
    Z = model.fit(frame, data.y, sample_domain=data.site).transform(frame)
    names = [f"{make.__name__.lower()}{j}" for j in range(2)]
    assert model.get_feature_names_out().tolist() == names
    assert Z.columns.tolist() == names
    assert Z.index.equals(frame.index)
    both = (
        make(2).set_output(transform="pandas").fit_transform(frame, data.y, sample_domain=data.site)
    )
    assert_allclose(both.to_numpy(), Z.to_numpy(), atol=1e-9 * np.abs(Z.to_numpy()).max())


@routes
def test_a_fitted_model_survives_pickling(data, route):
    model = fit(on_route(route), data)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.transform(data.new), model.transform(data.new))


@pytest.mark.parametrize("make", FAMILY)
def test_an_unfitted_model_says_so(data, make):
    with pytest.raises(NotFittedError, match=make.__name__):
        make().transform(data.X)


@pytest.mark.parametrize("make", FAMILY)
def test_parameters_are_stored_as_given_and_cloned(make):
    model = make(n_components=np.int64(3), kernel="poly", gamma=2)
    assert clone(model).get_params() == model.get_params()
    assert model.get_params()["gamma"] == 2
    assert model.set_params(tol=0.1).tol == 0.1


def test_domains_are_routed_by_default():
    with sklearn.config_context(enable_metadata_routing=True):
        for make in FAMILY:
            requests = make().get_metadata_routing()
            assert requests.fit.requests == {"sample_domain": True, "labelled": True}
            assert requests.transform.requests == {"sample_domain": True}


# --- bad input: a clear error before heavy work -------------------------------------------------


def never(A, B):
    """A kernel that must not be reached."""
    raise AssertionError("heavy work was begun")


def with_value(case, value):
    X = case.X.copy()
    X[3, 2] = value
    return X


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("make", FAMILY)
def test_values_that_are_not_finite_are_refused(data, make, value):
    with pytest.raises(ValueError, match=r"X contains (NaN|infinity)"):
        fit(make(kernel=never), data, with_value(data, value))
    model = fit(make(), data)
    with pytest.raises(ValueError, match=r"X contains (NaN|infinity)"):
        model.transform(with_value(data, value))


@pytest.mark.parametrize("make", FAMILY)
def test_lengths_that_differ_are_refused_by_name(data, make):
    with pytest.raises(ValueError, match="Lengths differ: X has 60, y has 59"):
        make(kernel=never).fit(data.X, data.y[1:], sample_domain=data.site)
    with pytest.raises(ValueError, match=r"Lengths differ: X has 60, .*sample_domain has 58"):
        make(kernel=never).fit(data.X, data.y, sample_domain=data.site[2:])
    with pytest.raises(ValueError, match=r"labelled has 3"):
        make(kernel=never).fit(data.X, data.y, labelled=[True] * 3)


@pytest.mark.parametrize("make", [SCA, KernelFisher])
@pytest.mark.parametrize(
    "y",
    [None, np.full(60, -1), np.full(60, np.nan), [None] * 60],
    ids=["no y", "-1", "nan", "None"],
)
def test_labels_are_required_where_they_are_used(data, make, y):
    with pytest.raises(ValueError, match=r"no labelled sample.*USCA"):
        make(kernel=never).fit(data.X, y, sample_domain=data.site)


@pytest.mark.parametrize("make", FAMILY)
@pytest.mark.parametrize("kernel", ["gaussian", 3, None])
def test_an_unknown_kernel_is_refused_with_the_known_ones(data, make, kernel):
    with pytest.raises(ValueError, match=r"kernel must be one of .*rbf.*precomputed"):
        fit(make(kernel=kernel), data)


@pytest.mark.parametrize("make", FAMILY)
@pytest.mark.parametrize(
    ("value", "error"),
    [(0, ValueError), (-3, ValueError), (2.0, TypeError), (True, TypeError), ("2", TypeError)],
)
def test_n_components_must_be_a_positive_integer(data, make, value, error):
    with pytest.raises(error, match="n_components must be"):
        fit(make(n_components=value, kernel=never), data)


@pytest.mark.parametrize("beta", [-0.1, 1.5, np.nan, np.inf, "0.5", True])
def test_beta_must_lie_between_zero_and_one(data, beta):
    with pytest.raises((TypeError, ValueError), match="beta must"):
        fit(SCA(beta=beta, kernel=never), data)


@pytest.mark.parametrize("make", [SCA, USCA])
@pytest.mark.parametrize("delta", [-1, np.nan, np.inf, "1", None])
def test_delta_must_not_be_negative(data, make, delta):
    with pytest.raises((TypeError, ValueError), match="delta must"):
        fit(make(delta=delta, kernel=never), data)


@pytest.mark.parametrize("make", [SCA, USCA, KernelFisher])
@pytest.mark.parametrize("ridge", [0, -1e-3, np.nan, "small"])
def test_ridge_must_be_positive(data, make, ridge):
    with pytest.raises((TypeError, ValueError), match="ridge must"):
        fit(make(ridge=ridge, kernel=never), data)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("scale", "paper"),
        ("scale", None),
        ("solver", "arpack"),
        ("reading", "some"),
        ("normalize", "yes"),
        ("normalize", 1),
        ("tol", 0),
        ("tol", -1e-6),
    ],
)
def test_other_parameters_are_checked_by_name(data, name, value):
    with pytest.raises((TypeError, ValueError), match=f"{name} must"):
        fit(SCA(kernel=never).set_params(**{name: value}), data)


@pytest.mark.parametrize(("name", "value"), [("gamma", "auto"), ("gamma", 0), ("gamma", -1.0)])
def test_gamma_is_checked_by_name(data, name, value):
    with pytest.raises(ValueError, match="gamma must"):
        fit(SCA(gamma=value), data)


@pytest.mark.parametrize(
    "X",
    [np.ones((4, 2)) + 1j, np.array([["a", "b"]] * 4, dtype=object), [["x", 1.0]] * 4],
    ids=["complex", "objects", "text"],
)
@pytest.mark.parametrize("make", FAMILY)
def test_features_that_are_no_real_numbers_are_refused(make, X):
    with pytest.raises(
        (TypeError, ValueError), match=r"Complex data not supported|X holds a value"
    ):
        make(kernel=never).fit(X, [0, 1, 0, 1])


def test_objects_that_are_numbers_are_numbers(data):
    expected = fit(SCA(2), data).transform(data.new)
    assert_allclose(fit(SCA(2), data, data.X.astype(object)).transform(data.new), expected)


def test_an_empty_domain_name_is_refused(data):
    with pytest.raises(ValueError, match="sample_domain has no id at row 59"):
        SCA(kernel=never).fit(data.X, data.y, sample_domain=["a"] * 59 + [""])
    with pytest.raises(ValueError, match="sample_domain has no id at row 59"):
        SCA(kernel=never).fit(data.X, data.y, sample_domain=["a"] * 59 + [None])


@pytest.mark.parametrize("shape", [(60, 5), (60, 61)])
def test_a_precomputed_kernel_must_be_square(data, shape):
    with pytest.raises(ValueError, match="square Gram matrix"):
        fit(SCA(kernel="precomputed"), data, np.ones(shape))


def test_a_precomputed_kernel_must_be_symmetric_and_dense(data):
    K0 = rbf_kernel(data.X)
    K0[3, 4] += 0.1
    with pytest.raises(ValueError, match=r"symmetric Gram matrix.*transpose"):
        fit(SCA(kernel="precomputed"), data, K0)
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        fit(SCA(kernel="precomputed"), data, sparse.csr_array(K0))


@pytest.mark.parametrize("make", [SCA, USCA, KernelFisher, KPCA])
def test_a_kernel_that_is_not_positive_semidefinite_is_refused_with_a_remedy(data, make):
    K0 = -rbf_kernel(data.X)
    with pytest.raises(ValueError, match=r"not positive semi-definite.*Choose another kernel"):
        fit(make(2, kernel="precomputed"), data, K0)


def test_a_gram_matrix_that_cannot_fit_is_refused_with_its_size_and_remedies(data, monkeypatch):
    monkeypatch.setattr("skatter.kernels.available_memory", lambda: 2 * 60 * 60 * 8 - 1)
    for make in FAMILY:
        with pytest.raises(MemoryError, match=r"60 samples takes .* GiB.*feature_map=.*float32"):
            fit(make(kernel=never), data)
    with pytest.raises(MemoryError, match="60 samples"):
        fit(SCA(kernel="precomputed"), data, rbf_kernel(data.X))
    # The remedies are remedies.
    for remedy in (SCA(2, kernel="linear"), SCA(2, feature_map=Nystroem(n_components=9))):
        assert fit(remedy, data).transform(data.X).shape == (60, 2)
    assert fit(SCA(2), data, data.X.astype(np.float32)).n_components_ == 2
    monkeypatch.setattr("skatter.kernels.available_memory", lambda: 2 * 60 * 60 * 8)
    assert fit(SCA(2), data).n_components_ == 2


@pytest.mark.parametrize("kernel", ["rbf", "precomputed", never])
def test_the_primal_solver_needs_explicit_features(data, kernel):
    with pytest.raises(ValueError, match="solver='primal' needs kernel='linear' or a feature_map"):
        fit(SCA(solver="primal", kernel=kernel), data)


@pytest.mark.parametrize(
    "options", [{"feature_map": Nystroem()}, {"solver": "lanczos"}, {"solver": "dense"}], ids=str
)
def test_the_printed_reading_is_for_plain_kernels_only(data, options):
    with pytest.raises(ValueError, match="reading='printed' needs"):
        fit(SCA(reading="printed", kernel=never, **options), data)


@pytest.mark.parametrize(
    "model",
    [SCA(beta=1.0, kernel=never), KernelFisher(kernel=never)],
    ids=lambda model: type(model).__name__,
)
def test_one_class_has_no_between_class_scatter_to_maximise(data, model):
    with pytest.raises(ValueError, match="needs labelled samples of two classes or more"):
        model.fit(data.X, np.zeros(60, int), sample_domain=data.site)


def test_continuous_targets_are_refused(data):
    with pytest.raises(ValueError, match="y must hold classes"):
        SCA(kernel=never).fit(data.X, data.X[:, 0], sample_domain=data.site)


def test_new_samples_must_have_the_features_of_the_old_ones(data):
    model = fit(SCA(2), data)
    with pytest.raises(ValueError, match="4 features, but SCA is expecting 5"):
        model.transform(data.new[:, :4])


# --- degenerate input that must work ------------------------------------------------------------

VARIETY = {
    "sca": SCA(2),
    "sca beta 1": SCA(2, beta=1.0),
    "sca linear": SCA(2, kernel="linear"),
    "sca lanczos": SCA(2, solver="lanczos"),
    "sca paper": SCA(2, normalize=False),
    "usca": USCA(2),
    "fisher": KernelFisher(2),
    "kpca": KPCA(2),
}
variety = pytest.mark.parametrize("name", VARIETY)


def assert_works(model, X, y, site=None):
    """Finite components whose equation holds, and the same image for training samples."""
    Z = clone(model).fit_transform(X, y, sample_domain=site)
    fitted = clone(model).fit(X, y, sample_domain=site)
    assert np.isfinite(Z).all()
    assert (fitted.eigenvalues_ > 0).all()
    assert fitted.residuals_.max() < 1e-5
    assert_allclose(fitted.transform(X), Z, atol=1e-6 * np.abs(Z).max())
    return fitted


@variety
def test_duplicated_samples_work(data, name):
    rows = np.r_[np.arange(30), np.arange(30)]
    model = assert_works(VARIETY[name], data.X[rows], data.truth[rows], data.site[rows])
    Z = model.transform(data.X[rows])
    assert_allclose(Z[:30], Z[30:], atol=1e-10 * np.abs(Z).max())


@variety
def test_constant_features_work(data, name):
    X = np.column_stack([data.X, np.full(60, 7.0), np.zeros(60)])
    model = assert_works(VARIETY[name], X, data.y, data.site)
    expected = fit(clone(VARIETY[name]), data)
    assert_same_components(model.transform(X), expected.transform(data.X), rtol=1e-5)


@variety
def test_more_features_than_samples_work(data, name):
    X = np.random.default_rng(0).normal(size=(60, 300))
    assert assert_works(VARIETY[name], X, data.y, data.site).n_components_ == 2


@variety
def test_one_domain_works(data, name):
    model = assert_works(VARIETY[name], data.X, data.truth, np.zeros(60, int))
    assert model.n_components_ == 2
    assert model.scatter_["before"].domain == 0


@pytest.mark.parametrize("name", ["sca", "sca linear", "sca lanczos", "sca paper", "usca", "kpca"])
def test_one_class_works(data, name):
    y = np.full(60, "only")
    assert assert_works(VARIETY[name], data.X, y, data.site).n_components_ == 2


@variety
def test_a_class_seen_once_works(data, name):
    y = np.where(np.arange(60) == 5, 9, np.where(data.truth == 2, 1, data.truth))
    model = assert_works(VARIETY[name], data.X, y, data.site)
    assert model.classes_.tolist() == [0, 1, 9]


@variety
def test_every_class_seen_once_works(data, name):
    y = np.where(np.arange(60) < 3, np.arange(60), -1)
    assert_works(VARIETY[name], data.X, y, np.where(np.arange(60) < 30, 1, -2))


@variety
def test_a_domain_of_one_sample_works(data, name):
    site = np.where(np.arange(60) == 0, "alone", "crowd")
    model = assert_works(VARIETY[name], data.X, data.truth, site)
    assert model.domain_ids_.tolist() == ["alone", "crowd"]


@pytest.mark.parametrize("name", sorted(set(VARIETY) - {"usca", "kpca"}))
def test_two_samples_work(name):
    model = clone(VARIETY[name]).set_params(n_components=1)
    X = np.array([[0.0, 1.0], [2.0, 5.0]])
    fitted = assert_works(model, X, [0, 1])
    Z = fitted.transform(X)
    assert_allclose(Z[0], -Z[1])
    assert np.abs(Z).min() > 0


def test_two_samples_work_without_labels():
    X = np.array([[0.0, 1.0], [2.0, 5.0]])
    assert_allclose(np.abs(KPCA(kernel="linear").fit_transform(X)), np.sqrt(5) * np.ones((2, 1)))
    model = USCA().fit(X, sample_domain=["a", "b"])
    assert model.n_components_ == 1


def test_one_sample_is_too_few():
    with pytest.raises(ValueError, match="minimum of 2"):
        SCA().fit([[1.0, 2.0]], [0])


SAME = {
    "zeros": np.zeros((10, 3)),
    "tenths": np.full((10, 3), 0.1),
    "thirds": np.tile([0.1, 1 / 3, 7.7], (11, 1)),
    "large": np.tile([1e6 + 0.1, -3e5], (24, 1)),
}


@pytest.mark.parametrize("same", SAME)
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "laplacian"])
@pytest.mark.parametrize("make", FAMILY)
def test_identical_samples_give_one_component_of_zeros_and_a_warning(make, kernel, same):
    X = SAME[same]
    with pytest.warns(UserWarning, match="No direction has any scatter"):
        model = make(kernel=kernel).fit(X, np.arange(len(X)) % 2)
    assert model.n_components_ == 1
    assert_allclose(model.eigenvalues_, 0)
    assert_allclose(model.transform(X), np.zeros((len(X), 1)), atol=1e-300)


@pytest.mark.parametrize("solver", ["primal", "dense", "lanczos"])
def test_coinciding_class_means_give_one_component_of_zeros_with_beta_one(solver):
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    with pytest.warns(UserWarning, match="No direction has any scatter"):
        model = SCA(beta=1.0, kernel="linear", solver=solver).fit(X, [0, 0, 1, 1])
    assert_allclose(model.transform(X), np.zeros((4, 1)), atol=1e-300)


@pytest.mark.parametrize("solver", ["primal", "dense", "lanczos"])
def test_more_components_than_the_rank_are_refused_softly(data, solver):
    with pytest.warns(UserWarning, match="n_components=12 exceeds the rank.*5 components"):
        model = fit(SCA(12, kernel="linear", solver=solver), data)
    assert model.n_components_ == 5
    assert model.transform(data.new).shape == (9, 5)
    assert model.get_feature_names_out().shape == (5,)


@pytest.mark.parametrize("make", [SCA, KernelFisher])
@pytest.mark.parametrize("solver", ["dense", "lanczos"])
def test_with_beta_one_there_are_one_fewer_components_than_classes(data, make, solver):
    model = make(10, solver=solver)
    if make is SCA:
        model.set_params(beta=1.0)
    with pytest.warns(UserWarning, match="exceeds the rank.*2 components"):
        fit(model, data)
    assert model.n_components_ == 2


@pytest.mark.parametrize("make", [SCA, USCA, KPCA])
def test_more_components_than_samples_are_refused_softly(data, make):
    with pytest.warns(UserWarning, match="n_components=500 exceeds the rank.*59 components"):
        model = fit(make(500, kernel=nuggeted("rbf")), data)
    assert model.n_components_ == 59


def test_as_many_components_as_the_rank_do_not_warn(data):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fit(SCA(5, kernel="linear"), data).n_components_ == 5
        assert fit(KernelFisher(2), data).n_components_ == 2


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_features_far_from_the_origin_lose_no_digits_in_the_dual_route(kernel):
    rng = np.random.default_rng(0)
    y, site = rng.integers(3, size=60), rng.integers(2, size=60)
    X = rng.normal(size=(60, 80)) + y[:, None]
    near = SCA(3, kernel=kernel).fit(X, y, sample_domain=site)
    far = SCA(3, kernel=kernel).fit(X + 1e6, y, sample_domain=site)
    assert_allclose(far.eigenvalues_, near.eigenvalues_, rtol=1e-8)
    assert_allclose(far.transform(X + 1e6), near.transform(X), rtol=0, atol=1e-6)


# --- precision ----------------------------------------------------------------------------------


def test_a_warning_says_when_single_precision_is_not_enough():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 4)), rng.integers(0, 3, 300)
    with pytest.warns(UserWarning, match=r"float32 is not enough for \d+ of 20 .* in float64"):
        poor = SCA(20, gamma=1e-4).fit(X.astype(np.float32), y)
    exact = SCA(20, gamma=1e-4).fit(X, y)
    assert exact.residuals_.max() < 1e-3
    # What it warns of is true: the last eigenvalues are wrong, the first ones are not.
    error = np.abs(poor.eigenvalues_ / exact.eigenvalues_[: poor.n_components_] - 1)
    assert error[:3].max() < 1e-3 < error[4:].max()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SCA(3).fit(X.astype(np.float32), y)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_samples_that_were_dense_in_the_fit_may_come_sparse(kernel):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)) + 3, rng.integers(0, 3, 60)
    model = SCA(2, kernel=kernel, solver="dense").fit(X, y)
    for form in (sparse.csr_matrix, sparse.csr_array):
        assert_allclose(model.transform(form(X[:5])), model.transform(X[:5]), atol=1e-10)
