"""TCA, SSTCA, TJM and JDA against the problems that define them, solved the dense way."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.linalg import eigh
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel
from sklearn.neighbors import KNeighborsClassifier

from skatter.methods import BDA, JDA, SSTCA, TCA, TJM

GAMMA = 0.05


@pytest.fixture(scope="module", params=[1, 6], ids=["dense", "lanczos"])
def problem(request, make_problem):
    """A small problem, and one that is large enough for Lanczos."""
    return make_problem(3, n=12 * request.param, seed=3)


@pytest.fixture(scope="module")
def large(make_problem):
    return make_problem(2, n=90, seed=4)


def matrices(problem):
    """K, H, and e by their definitions."""
    n, source = len(problem.X), ~problem.unlabelled
    K = rbf_kernel(problem.X, gamma=GAMMA)
    e = np.where(source, 1 / source.sum(), -1 / (~source).sum())
    return K, np.eye(n) - 1 / n, e


def dense(A, C, k):
    """Leading pairs of A w = λ C w, largest first, with WᵀCW = I."""
    values, W = eigh((A + A.T) / 2, (C + C.T) / 2)
    return values[::-1][:k], W[:, ::-1][:, :k]


def fitted(model, problem):
    return model.fit(problem.X, problem.known, sample_domain=problem.domain)


def align(actual, expected):
    """Columns with the signs of the expected ones."""
    return actual * np.sign(np.sum(actual * expected, axis=0))


def assert_columns(actual, expected, tolerance=1e-6):
    scale = np.abs(expected).max()
    np.testing.assert_allclose(align(actual, expected), expected, rtol=0, atol=tolerance * scale)


# --- TCA ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mu", [1e-3, 1.0, 100.0])
def test_tca_solves_its_eigenproblem(problem, mu):
    K, H, e = matrices(problem)
    values, W = dense(K @ H @ K, K @ np.outer(e, e) @ K + mu * np.eye(len(K)), 6)
    tca = fitted(TCA(6, mu=mu, gamma=GAMMA, tol=1e-10), problem)
    np.testing.assert_allclose(tca.eigenvalues_, values, rtol=1e-8)
    assert_columns(tca.dual_coef_, W / np.linalg.norm(W, axis=0))


def test_tca_at_the_scale_of_its_constraint_has_unit_scatter_and_a_diagonal_objective(problem):
    mu = 0.1
    K, H, e = matrices(problem)
    tca = fitted(TCA(5, mu=mu, gamma=GAMMA, scale="constraint", tol=1e-10), problem)
    W = tca.dual_coef_
    np.testing.assert_allclose(W.T @ K @ H @ K @ W, np.eye(5), atol=1e-8)
    objective = W.T @ K @ np.outer(e, e) @ K @ W + mu * W.T @ W
    np.testing.assert_allclose(objective, np.diag(1 / tca.eigenvalues_), atol=1e-8)


def test_the_objective_of_tca_holds_the_distance_of_the_projected_means(problem):
    K, _, e = matrices(problem)
    tca = fitted(TCA(4, gamma=GAMMA), problem)
    Z = tca.transform(problem.X)
    gap = Z[~problem.unlabelled].mean(axis=0) - Z[problem.unlabelled].mean(axis=0)
    expected = tca.dual_coef_.T @ K @ np.outer(e, e) @ K @ tca.dual_coef_
    np.testing.assert_allclose(np.outer(gap, gap), expected, atol=1e-10)


def test_a_small_mu_brings_the_means_together(problem):
    gaps = []
    for mu in (1e3, 1e-4):
        Z = fitted(TCA(3, mu=mu, gamma=GAMMA), problem).transform(problem.X)
        gap = Z[~problem.unlabelled].mean(axis=0) - Z[problem.unlabelled].mean(axis=0)
        gaps.append(np.linalg.norm(gap) / Z.std())
    assert gaps[1] < 0.1 * gaps[0]


def test_a_normalised_mmd_is_another_mu(problem):
    _, _, e = matrices(problem)
    plain = fitted(TCA(3, mu=0.5 * (e @ e), gamma=GAMMA), problem)
    normalised = fitted(TCA(3, mu=0.5, gamma=GAMMA, normalize_mmd=True), problem)
    assert_columns(normalised.dual_coef_, plain.dual_coef_)


def test_new_samples_are_projected_by_their_kernel_with_the_training_samples(problem):
    tca = fitted(TCA(3, gamma=GAMMA), problem)
    expected = rbf_kernel(problem.X_new, problem.X, gamma=GAMMA) @ tca.dual_coef_
    np.testing.assert_allclose(tca.transform(problem.X_new), expected, atol=1e-10)


@pytest.mark.parametrize("Method", [TCA, SSTCA, TJM, JDA])
def test_a_precomputed_gram_matrix_is_a_kernel(Method, problem):
    K, K_new = (rbf_kernel(X, problem.X, gamma=GAMMA) for X in (problem.X, problem.X_new))
    given = {"sample_domain": problem.domain}
    own = Method(3, kernel="rbf", gamma=GAMMA).fit(problem.X, problem.known, **given)
    if Method is SSTCA:  # distances of the graph are those in feature space, here for both
        own.set_params(kernel=lambda A, B: rbf_kernel(A, B, gamma=GAMMA), smoothness=0.0)
        own.fit(problem.X, problem.known, **given)
        model = Method(3, kernel="precomputed", smoothness=0.0)
    else:
        model = Method(3, kernel="precomputed")
    before = K.copy()
    model.fit(K, problem.known, **given)
    np.testing.assert_array_equal(K, before)
    assert_columns(model.transform(K_new), own.transform(problem.X_new))


@pytest.mark.parametrize("Method", [TCA, TJM, JDA])
def test_the_linear_kernel_needs_no_gram_matrix(Method, large):
    """There are many more samples than features, so products go through the features."""
    thin = Method(3, kernel="linear").fit(large.X, large.known, sample_domain=large.domain)
    wide = Method(3, kernel="precomputed").fit(
        large.X @ large.X.T, large.known, sample_domain=large.domain
    )
    np.testing.assert_allclose(thin.eigenvalues_, wide.eigenvalues_, rtol=1e-6)
    assert_columns(thin.transform(large.X_new), wide.transform(large.X_new @ large.X.T), 1e-5)
    np.testing.assert_allclose(thin.components_.T, large.X.T @ thin.dual_coef_, atol=1e-12)


def test_jda_guesses_the_same_from_few_distances_at_a_time(problem):
    whole = fitted(JDA(3), problem)
    with config_context(enable_cython_pairwise_dist=False, working_memory=0.005):
        assert (fitted(JDA(3), problem).pseudo_labels_ == whole.pseudo_labels_).all()


def test_sources_are_pooled(problem):
    names = np.where(problem.unlabelled, "there", "here")
    pooled = TCA(3, gamma=GAMMA).fit(problem.X, problem.known, sample_domain=names)
    assert_columns(fitted(TCA(3, gamma=GAMMA), problem).dual_coef_, pooled.dual_coef_)


def test_labels_do_not_matter_to_tca_and_tjm(problem):
    ids = np.where(problem.unlabelled, -1, 1)
    for Method in (TCA, TJM):
        with_labels = Method(3).fit(problem.X, problem.known, sample_domain=ids)
        without = Method(3).fit(problem.X, sample_domain=ids)
        np.testing.assert_array_equal(with_labels.dual_coef_, without.dual_coef_)


def test_more_components_than_the_rank_are_not_invented(problem):
    with pytest.warns(UserWarning, match=r"n_components=9 exceeds the rank.*; 5 components"):
        model = fitted(TCA(9, kernel="linear"), problem)
    assert model.transform(problem.X).shape[1] == model.n_components_ == 5


def test_samples_that_coincide_give_a_component_of_zeros():
    with pytest.warns(UserWarning, match="all samples coincide"):
        Z = TCA().fit_transform(np.ones((6, 2)), [0, 1, 0, -1, -1, -1])
    np.testing.assert_array_equal(Z, np.zeros((6, 1)))


# --- SSTCA ----------------------------------------------------------------------------------------


def laplacian_by_hand(X, n_neighbors, width):
    """D − W of the symmetric nearest-neighbour graph, pair by pair."""
    D = euclidean_distances(X)
    n = len(X)
    near = np.zeros((n, n), dtype=bool)
    for i in range(n):
        order = [j for j in np.argsort(D[i], kind="stable") if j != i]
        near[i, order[:n_neighbors]] = True
    s = D[near].mean() if width is None else width
    W = np.where(near | near.T, np.exp(-(D**2) / (2 * s**2)), 0)
    return np.diag(W.sum(axis=1)) - W


@pytest.mark.parametrize(
    ("dependence", "smoothness", "mean", "width"),
    [(0.1, 1.0, True, None), (0.5, 10.0, False, None), (1.0, 0.0, True, None), (0.9, 2.0, True, 1)],
)
def test_sstca_solves_its_eigenproblem(problem, dependence, smoothness, mean, width):
    K, H, e = matrices(problem)
    n, mu = len(K), 0.3
    label = problem.known
    same = (label[:, None] == label) & (label[:, None] >= 0)
    Y = dependence * same + (1 - dependence) * np.eye(n)
    weight = smoothness / n**2 if mean else smoothness
    P = np.outer(e, e) + weight * laplacian_by_hand(problem.X, 4, width)
    k = 2 if dependence == 1 else 5
    values, W = dense(K @ H @ Y @ H @ K, K @ P @ K + mu * np.eye(n), k)
    model = SSTCA(
        k,
        mu=mu,
        dependence=dependence,
        smoothness=smoothness,
        mean_smoothness=mean,
        n_neighbors=4,
        width=width,
        gamma=GAMMA,
        scale="constraint",
        tol=1e-10,
    )
    fitted(model, problem)
    np.testing.assert_allclose(model.eigenvalues_, values, rtol=1e-7)
    assert_columns(model.dual_coef_, W / np.sqrt(values))


def test_sstca_without_labels_and_graph_is_tca(problem):
    """By another route: TCA squares K, SSTCA applies it twice."""
    shared = {"mu": 0.2, "gamma": GAMMA, "tol": 1e-10}
    tca = fitted(TCA(5, **shared), problem)
    sstca = fitted(SSTCA(5, dependence=0.0, smoothness=0.0, **shared), problem)
    np.testing.assert_allclose(sstca.eigenvalues_, tca.eigenvalues_, rtol=1e-10)
    assert_columns(sstca.dual_coef_, tca.dual_coef_, 1e-8)


def test_a_vanishing_graph_is_no_graph(problem):
    """The factorised route meets the one without a factorisation."""
    without = fitted(SSTCA(4, smoothness=0.0, gamma=GAMMA), problem)
    almost = fitted(SSTCA(4, smoothness=1e-9, gamma=GAMMA), problem)
    assert_columns(almost.dual_coef_, without.dual_coef_)


def test_smoothness_brings_neighbours_together(problem):
    graph = laplacian_by_hand(problem.X, 5, None)
    roughness = []
    for smoothness in (0.0, 100.0):
        model = SSTCA(3, smoothness=smoothness, mean_smoothness=False, gamma=GAMMA)
        Z = fitted(model, problem).transform(problem.X)
        roughness.append(np.trace(Z.T @ graph @ Z) / np.square(Z - Z.mean(axis=0)).sum())
    assert roughness[1] < 0.8 * roughness[0]


# --- TJM ------------------------------------------------------------------------------------------


def tjm_by_hand(problem, K, n_iter, k, penalty, source_weight, unit):
    _, H, e = matrices(problem)
    source = ~problem.unlabelled
    L = np.outer(e, e) / (e @ e)
    weights = np.ones(len(K))
    for _ in range(n_iter):
        values, A = dense(K @ H @ K, K @ L @ K + penalty * np.diag(weights), k)
        A = A / np.linalg.norm(A, axis=0) if unit else A / np.sqrt(values)
        size = np.sqrt(np.square(A).sum(axis=1) + np.finfo(float).eps)
        weights = np.where(source, source_weight / size, 1.0)
    return A


@pytest.mark.parametrize("scale", ["unit", "constraint"])
def test_tjm_reweights_as_its_definition_says(problem, scale):
    K, _, _ = matrices(problem)
    expected = tjm_by_hand(problem, K, 3, 4, 0.5, 0.5, scale == "unit")
    model = TJM(
        4, penalty=0.5, source_weight=0.5, kernel="rbf", gamma=GAMMA, scale=scale, max_iter=3, tol=0
    )
    fitted(model, problem)
    assert_columns(model.dual_coef_, expected, 1e-5)
    np.testing.assert_allclose(model.row_norms_, np.linalg.norm(model.dual_coef_, axis=1))


def test_tjm_with_one_iteration_is_tca(problem):
    tjm = fitted(TJM(4, penalty=0.7, kernel="rbf", gamma=GAMMA, max_iter=1, tol=0), problem)
    tca = fitted(TCA(4, mu=0.7, gamma=GAMMA, normalize_mmd=True, tol=1e-8), problem)
    assert_columns(tjm.dual_coef_, tca.dual_coef_)


def test_more_iterations_of_tjm_do_something(problem):
    one, ten = (fitted(TJM(3, max_iter=m, tol=0), problem) for m in (1, 10))
    assert np.abs(align(ten.dual_coef_, one.dual_coef_) - one.dual_coef_).max() > 1e-3
    assert ten.n_iter_ == 10


def test_the_objective_of_tjm_never_rises_at_the_scale_of_its_constraint(problem):
    model = TJM(
        3,
        kernel="rbf",
        gamma=GAMMA,
        scale="constraint",
        source_weight=0.5,
        penalty=0.1,
        max_iter=15,
        tol=0,
    )
    objective = fitted(model, problem).objective_
    assert (np.diff(objective) <= 1e-9 * objective[:-1]).all()
    assert objective[-1] < objective[0]


def test_the_objective_of_tjm_is_the_one_that_is_written_down(problem):
    K, _, e = matrices(problem)
    model = TJM(
        3, kernel="rbf", gamma=GAMMA, scale="constraint", source_weight=0.5, max_iter=4, tol=0
    )
    A = fitted(model, problem).dual_coef_
    rows = np.linalg.norm(A, axis=1)
    gap = e @ K @ A / np.linalg.norm(e)
    expected = (
        gap @ gap + rows[~problem.unlabelled].sum() + np.square(rows)[problem.unlabelled].sum()
    )
    assert model.objective_[-1] == pytest.approx(expected, rel=1e-8)


def test_tjm_weighs_down_source_samples_unlike_the_target():
    rng = np.random.default_rng(0)
    near, far = rng.normal(size=(40, 3)), rng.normal([9.0, 0, 0], size=(20, 3))
    target = rng.normal(size=(40, 3))
    X = np.vstack([near, far, target])
    model = TJM(3, kernel="rbf", penalty=1.0, tol=1e-4)
    model.fit(X, sample_domain=np.repeat([1, -2], [60, 40]))
    assert model.row_norms_[40:60].mean() < 0.5 * model.row_norms_[:40].mean()


# --- JDA ------------------------------------------------------------------------------------------


def jda_by_hand(problem, K, n_iter, k, penalty, marginal):
    n, source = len(K), ~problem.unlabelled
    _, H, e = matrices(problem)
    guess = None
    for _ in range(n_iter):
        M = marginal * np.outer(e, e)
        for c in range(3) if guess is not None else ():
            e_c = np.zeros(n)
            own, taken = source & (problem.known == c), problem.unlabelled & (guess == c)
            if own.any():
                e_c[own] = 1 / own.sum()
            if taken.any():
                e_c[taken] = -1 / taken.sum()
            M += np.outer(e_c, e_c)
        M /= np.linalg.norm(M)
        _, A = dense(K @ H @ K, K @ M @ K + penalty * np.eye(n), k)
        Z = K @ (A / np.linalg.norm(A, axis=0))
        Z /= np.linalg.norm(Z, axis=1, keepdims=True)
        nearest = KNeighborsClassifier(1).fit(Z[source], problem.known[source])
        guess = np.where(source, problem.known, nearest.predict(Z))
    return Z, guess


@pytest.mark.parametrize(("n_iter", "marginal"), [(1, None), (4, None), (4, 0.5)])
def test_jda_does_what_its_definition_says(problem, n_iter, marginal):
    K, _, _ = matrices(problem)
    weight = 3 if marginal is None else marginal
    Z, guess = jda_by_hand(problem, K, n_iter, 4, 0.5, weight)
    model = JDA(
        4,
        penalty=0.5,
        marginal_weight=marginal,
        kernel="rbf",
        gamma=GAMMA,
        max_iter=n_iter,
        tol=0,
    )
    fitted(model, problem)
    assert_columns(model.transform(problem.X), Z)
    np.testing.assert_array_equal(model.pseudo_labels_, guess[problem.unlabelled])


def test_jda_with_one_round_is_tca(problem):
    jda = JDA(4, penalty=0.5, kernel="rbf", gamma=GAMMA, unit_samples=False, max_iter=1, tol=0)
    tca = TCA(4, mu=0.5, gamma=GAMMA, normalize_mmd=True, tol=1e-8)
    fitted(jda, problem)
    assert_columns(jda.dual_coef_, fitted(tca, problem).dual_coef_)


def test_jda_keeps_the_labels_of_target_samples(problem):
    ids = np.where(problem.unlabelled, -1, 1)
    rows = np.flatnonzero(problem.unlabelled)
    known = problem.known.copy()
    known[rows[:5]] = (problem.y[rows[:5]] + 1) % 3
    model = JDA(3).fit(problem.X, known, sample_domain=ids)
    np.testing.assert_array_equal(model.pseudo_labels_[:5], known[rows[:5]])


def test_jda_names_its_guesses(problem):
    names = np.array(["cat", "dog", "eel"])
    known = np.where(problem.unlabelled, None, names[problem.y])
    model = JDA(3).fit(problem.X, known, sample_domain=problem.domain)
    assert set(model.pseudo_labels_) <= set(names)
    assert np.mean(model.pseudo_labels_ == names[problem.y[problem.unlabelled]]) > 0.9


def test_jda_stops_when_guesses_settle(problem):
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = fitted(JDA(3), problem)
    assert 1 < model.n_iter_ < 50


def test_the_objective_of_jda_is_the_one_that_is_written_down(problem):
    """Σ 1/λ is the value at the scale of the constraint, where the two traces meet."""
    K, _, e = matrices(problem)
    model = JDA(3, kernel="rbf", gamma=GAMMA, scale="constraint", penalty=0.5, max_iter=1, tol=0)
    A = fitted(model, problem).dual_coef_
    gap = e @ K @ A / np.linalg.norm(e)
    expected = gap @ gap + 0.5 * np.square(A).sum()
    assert model.objective_[-1] == pytest.approx(expected, rel=1e-8)


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (TCA(mu=0.0), r"mu must lie in \(0, inf\)"),
        (TCA(mu="one"), "mu must be a number"),
        (TCA(tol=0.0), "tol must lie"),
        (TCA(normalize_mmd=1), "normalize_mmd must be one of True, False"),
        (SSTCA(dependence=1.5), r"dependence must lie in \[0, 1\]"),
        (SSTCA(smoothness=-1.0), "smoothness must lie"),
        (SSTCA(n_neighbors=0), "n_neighbors must be at least 1"),
        (SSTCA(width=0.0), "width must lie"),
        (TJM(penalty=-1.0), "penalty must lie"),
        (TJM(source_weight=0.0), "source_weight must lie"),
        (JDA(marginal_weight=-1.0), "marginal_weight must lie"),
        (JDA(unit_samples="yes"), "unit_samples must be one of"),
    ],
)
def test_parameters_out_of_range_are_named(model, message, two_domains):
    with pytest.raises((ValueError, TypeError), match=message):
        fitted(model, two_domains)


def test_a_gram_matrix_that_is_not_symmetric_is_refused(two_domains):
    K = rbf_kernel(two_domains.X)
    K[0, 1] += 1
    with pytest.raises(ValueError, match="symmetric Gram matrix"):
        TCA(kernel="precomputed").fit(K, two_domains.known)


# --- tensors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        TCA(4, gamma=GAMMA),
        TCA(4, kernel="linear", scale="constraint"),
        TJM(4, max_iter=4, tol=0),
        TJM(4, kernel="rbf", gamma=GAMMA, scale="constraint", max_iter=3, tol=0),
        JDA(4, max_iter=4, tol=0),
        JDA(4, kernel="rbf", gamma=GAMMA, unit_samples=False, max_iter=3, tol=0),
        BDA(4, mu=0.3, max_iter=3, tol=0),
    ],
    ids=str,
)
def test_tensors_have_the_components_of_arrays(require, problem, model):
    torch = require("torch", "torch")
    X, new = torch.from_numpy(np.array(problem.X)), torch.from_numpy(np.array(problem.X_new))
    expected = fitted(clone(model), problem)
    found = clone(model).fit(X, problem.known, sample_domain=problem.domain)
    np.testing.assert_allclose(found.eigenvalues_, expected.eigenvalues_, rtol=1e-6)
    assert_columns(found.transform(X).numpy(), expected.transform(problem.X))
    assert_columns(found.transform(new).numpy(), expected.transform(problem.X_new))
    assert_columns(found.to("numpy").transform(problem.X_new), expected.transform(problem.X_new))
    if isinstance(model, TJM):
        np.testing.assert_allclose(found.row_norms_, expected.row_norms_, rtol=1e-7)
        np.testing.assert_allclose(found.objective_, expected.objective_, rtol=1e-9)
    if isinstance(model, (JDA, BDA)):
        assert list(found.pseudo_labels_) == list(expected.pseudo_labels_)
    with pytest.raises(TypeError, match="NumPy array"):
        found.transform(problem.X_new)


@pytest.mark.parametrize("model", [TCA(), TJM()], ids=str)
def test_tensors_that_coincide_give_a_component_of_zeros(require, model):
    X = require("torch", "torch").ones((6, 2))
    with pytest.warns(UserWarning, match="all samples coincide"):
        Z = model.fit_transform(X, [0, 1, 0, -1, -1, -1])
    np.testing.assert_array_equal(Z.numpy(), np.zeros((6, 1)))


def test_those_that_know_no_tensors_say_so(require, problem):
    torch = require("torch", "torch")
    with pytest.raises(TypeError, match=r"SSTCA works on NumPy arrays: pass X\.numpy"):
        SSTCA(2).fit(torch.from_numpy(np.array(problem.X)), problem.known)
