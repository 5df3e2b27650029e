"""Landmarks: the printed steps, each against a slow computation of its own."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.linalg import subspace_angles
from scipy.optimize import LinearConstraint, minimize
from sklearn.decomposition import PCA
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from skatter.methods._landmarks import (
    Landmarks,
    aligned_weights,
    choose_landmarks,
    discrepancy,
    match_means,
)


@pytest.fixture
def problem():
    """Two classes; part of the source lies where the target is. Rows in no order."""
    rng = np.random.default_rng(0)
    site = np.repeat([1, -2], [60, 36])
    y = np.arange(96) % 3
    X = rng.normal(size=(96, 6)) @ np.diag([2, 1.5, 1, 1, 0.5, 0.5])
    X[:, :3] += 2 * np.eye(3)[y]
    X[:30, 4] += 3
    mixed = rng.permutation(96)
    return X[mixed], np.where(site > 0, y, -1)[mixed], site[mixed]


def fit(model, problem):
    X, y, site = problem
    return model.fit(X, y, sample_domain=site)


def squared_distances(A, B):
    return np.array([[np.sum((a - b) ** 2) for b in B] for a in A])


def three_distances(Xs, Xt):
    return squared_distances(Xs, Xs), squared_distances(Xs, Xt), squared_distances(Xt, Xt)


def small(seed=0, n=18, m=12):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)), rng.normal(1, 0.7, size=(m, 2)), np.arange(n) % 3


def flow_metric(A, B, d, steps=2001):
    """G of the geodesic flow between two samples, by quadrature over explicit subspaces."""
    P, Q = (PCA(d).fit(S).components_.T for S in (A, B))
    U, cosine, Vt = np.linalg.svd(P.T @ Q)
    theta = np.arccos(np.clip(cosine, -1, 1))
    across = Q @ Vt.T - P @ U * cosine
    across /= np.where(np.sin(theta) > 1e-9, np.sin(theta), np.inf)
    G = np.zeros((A.shape[1],) * 2)
    for t, weight in zip(np.linspace(0, 1, steps), trapezoid(steps), strict=True):
        point = P @ U * np.cos(t * theta) + across * np.sin(t * theta)
        G += weight * point @ point.T
    return G


def trapezoid(steps):
    weights = np.full(steps, 1 / (steps - 1))
    weights[[0, -1]] /= 2
    return weights


# --- matching the means ---------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [2.0**-6, 1.0, 2.0**6])
def test_the_objective_is_the_squared_distance_of_the_means(scale):
    Xs, Xt, _ = small()
    delta = discrepancy(*three_distances(Xs, Xt), scale)
    K, Kst, Ktt = (rbf_kernel(A, B, gamma=scale) for A, B in ((Xs, Xs), (Xs, Xt), (Xt, Xt)))
    n, m = Kst.shape
    for beta in (np.full(n, 1 / n), np.random.default_rng(1).dirichlet(np.ones(n))):
        printed = beta @ K @ beta - 2 / m * beta @ Kst.sum(axis=1)
        assert_allclose(beta @ delta @ beta, printed + Ktt.mean(), atol=1e-14)


def test_no_digits_are_lost_at_a_small_scale():
    """To first order in r, the squared distance of the means is 2r times that of the samples'."""
    Xs, Xt, _ = small()
    scale = 1e-9
    delta = discrepancy(*three_distances(Xs, Xt), scale)
    uniform = np.full(len(Xs), 1 / len(Xs))
    expected = 2 * scale * np.sum((Xs.mean(axis=0) - Xt.mean(axis=0)) ** 2)
    assert uniform @ delta @ uniform == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("balance", ["half", "exact"])
@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_the_weights_solve_the_printed_problem_as_scipys_general_solver_does(balance, scale):
    Xs, Xt, label = small()
    n = len(Xs)
    delta = discrepancy(*three_distances(Xs, Xt), scale)
    members = (label == np.arange(3)[:, None]).astype(float)
    shares = members.sum(axis=1) / n
    if balance == "half":
        low, high = shares / 2, np.ones(3)
        sums = [LinearConstraint(members, low, high), LinearConstraint(np.ones(n), 1, 1)]
    else:
        low, high = shares, shares
        sums = [LinearConstraint(members, low, high)]
    expected = minimize(
        lambda b: 1e3 * b @ delta @ b,
        np.full(n, 1 / n),
        jac=lambda b: 2e3 * delta @ b,
        bounds=[(0, 1)] * n,
        constraints=sums,
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 1000},
    )
    beta, _ = match_means(delta, label, balance=balance)
    assert_allclose(beta @ delta @ beta, expected.fun / 1e3, rtol=1e-3, atol=1e-8)
    assert beta @ delta @ beta < expected.fun / 1e3 + 1e-9
    assert beta.sum() == pytest.approx(1)
    assert (members @ beta > low - 1e-9).all()
    assert (members @ beta < high + 1e-9).all()
    assert (beta >= 0).all()


def test_weights_are_zero_or_clearly_not():
    Xs, Xt, label = small(n=60, m=40)
    for scale in (2.0**-6, 0.25, 4.0):
        delta = discrepancy(*three_distances(Xs, Xt), scale)
        beta, _ = match_means(delta, label[:60], balance="half")
        counts = [np.sum(beta > least) for least in (1e-9, 1e-8, 1e-7, 1e-6)]
        assert max(counts) - min(counts) <= 1
        assert 2 < counts[0] < 60


def test_samples_with_weight_have_the_smallest_slope_of_their_class():
    """The conditions of optimality, by which classes are given more landmarks."""
    Xs, Xt, label = small(n=60, m=40)
    delta = discrepancy(*three_distances(Xs, Xt), 1.0)
    weights, slopes = match_means(delta, label, balance="exact")
    for code in range(3):
        slope, weight = slopes[label == code], weights[label == code]
        assert_allclose(slope[weight > 1e-6], slope.min(), atol=1e-8)


@pytest.mark.parametrize("scale", [2.0**-6, 1.0])
def test_a_source_like_the_target_has_uniform_weights(scale):
    X, _, label = small(n=30)
    delta = discrepancy(*three_distances(X, X), scale)
    weights, slope = match_means(delta, label, balance="half")
    assert_allclose(weights, 1 / 30, rtol=1e-6)
    assert choose_landmarks(weights, slope, label) is None


# --- choosing landmarks ---------------------------------------------------------------------------


def test_a_scale_at_which_more_than_two_thirds_have_weight_chooses_none():
    label, slope = np.zeros(9, dtype=int), np.arange(9.0)
    few, many = np.r_[np.full(6, 1 / 6), np.zeros(3)], np.r_[np.full(7, 1 / 7), np.zeros(2)]
    np.testing.assert_array_equal(choose_landmarks(few, slope, label), np.arange(9) < 6)
    assert choose_landmarks(many, slope, label) is None


def test_every_class_is_given_a_third_of_its_samples_by_what_weight_would_cost():
    label = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2])
    weights = np.array([0.5, 0.5, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    slope = np.array([0, 0, 1, 1, 9, 4, 7, 3, 8, 5, 6.0])
    chosen = choose_landmarks(weights, slope, label)
    np.testing.assert_array_equal(np.flatnonzero(chosen), [0, 1, 5, 7, 10])


def test_landmarks_are_where_the_target_is():
    rng = np.random.default_rng(0)
    y = np.arange(150) % 2
    X = rng.normal(size=(150, 4)) + 3 * y[:, None] * [1, 1, 0, 0]
    X[:50, 3] += 6
    site = np.repeat([1, -2], [100, 50])
    model = Landmarks(n_components=3).fit(X, np.where(site > 0, y, -1), sample_domain=site)
    away, near = model.landmarks_[:50].mean(axis=0), model.landmarks_[50:100].mean(axis=0)
    assert (near > away + 0.2).all()
    assert not model.landmarks_[100:].any()


def test_wider_kernels_choose_fewer_landmarks(problem):
    counts = fit(Landmarks(), problem).landmarks_.sum(axis=0)
    assert counts[0] < counts[-1]


# --- the kernels and their weights ----------------------------------------------------------------


def by_hand(model, problem, d):
    """Centred samples, training rows, and metrics of the tasks, their kernels of trace one."""
    X, _, site = problem
    Xc = X - X.mean(axis=0)
    train = np.flatnonzero(model.landmarks_.any(axis=1))
    metrics = []
    for chosen in model.landmarks_.T:
        G = flow_metric(X[(site > 0) & ~chosen], X[(site < 0) | chosen], d)
        metrics.append(G / np.trace(Xc[train] @ G @ Xc[train].T))
    return Xc, train, metrics


@pytest.mark.parametrize("mixing", ["alignment", "uniform"])
def test_the_decision_is_that_of_machines_with_the_kernels_of_the_auxiliary_tasks(problem, mixing):
    _, y, _ = problem
    model = fit(Landmarks(n_components=2, mixing=mixing), problem)
    Xc, train, metrics = by_hand(model, problem, 2)
    G = sum(w * metric for w, metric in zip(model.kernel_weights_, metrics, strict=True))
    K = Xc[train] @ G @ Xc[train].T
    values = model.decision_function(problem[0])
    for code in range(3):
        machine = SVC(kernel="precomputed", C=2**10).fit(K, y[train] == code)
        expected = machine.decision_function(Xc @ G @ Xc[train].T)
        assert_allclose(values[:, code], expected, atol=5e-3 * np.abs(expected).max())


def test_uniform_kernels_have_traces_that_sum_to_one(problem):
    model = fit(Landmarks(n_components=2, mixing="uniform"), problem)
    assert_allclose(model.kernel_weights_, 1 / len(model.scales_))
    Xc, train, metrics = by_hand(model, problem, 2)
    assert_allclose([np.trace(Xc[train] @ G @ Xc[train].T) for G in metrics], 1)


def test_the_weights_of_the_kernels_are_best_aligned_with_the_classes():
    rng = np.random.default_rng(0)
    label = np.arange(30) % 3
    features = [rng.normal(size=(30, 2)), rng.normal(size=(30, 4))]
    features += [Z + 2 * np.eye(3)[label][:, : Z.shape[1]] for Z in (rng.normal(size=(30, 2)),)]
    H = np.eye(30) - 1 / 30
    kernels = [H @ Z @ Z.T @ H for Z in features]
    same = H @ (label[:, None] == label).astype(float) @ H

    def alignment(w):
        K = sum(v * kernel for v, kernel in zip(w, kernels, strict=True))
        return np.sum(K * same) / np.linalg.norm(K) / np.linalg.norm(same)

    w = aligned_weights(features, label)
    assert (w >= 0).all()
    assert w.sum() == pytest.approx(1)
    assert w.argmax() == 2
    for other in rng.dirichlet(np.ones(3), size=200):
        assert alignment(other) <= alignment(w) + 1e-12


def test_equal_kernels_share_a_weight_that_does_not_matter():
    Z = np.random.default_rng(0).normal(size=(12, 3))
    assert aligned_weights([Z, Z, Z], np.arange(12) % 2).sum() == pytest.approx(1)


def test_kernels_that_say_nothing_of_the_classes_have_equal_weights():
    Z = np.array([[1.0], [-1], [1], [-1]])
    assert_allclose(aligned_weights([Z, 2 * Z], np.array([0, 0, 1, 1])), 0.5)


# --- the classifier -------------------------------------------------------------------------------


def test_labels_that_are_told_apart_among_landmarks_are_told_apart_in_the_target():
    """The rest of the source has its labels the wrong way round, and misleads all else."""
    rng = np.random.default_rng(0)
    y = np.arange(240) % 2
    X = rng.normal(size=(240, 5)) + 1.5 * np.array([1, 1, 0, 0, 0]) * (2 * y - 1)[:, None]
    away = np.arange(240) < 90
    X[away, 4] += 5
    wrong = np.where(away, 1 - y, y)
    site = np.repeat([1, -2], [160, 80])
    known = np.where(site > 0, wrong, -1)
    model = Landmarks(scales=[0.25, 0.5]).fit(X, known, sample_domain=site)
    plain = SVC(kernel="linear").fit(X[:160], wrong[:160])
    assert model.score(X[160:], y[160:]) > 0.9
    assert model.score(X[160:], y[160:]) > plain.score(X[160:], y[160:])


def test_where_no_scale_tells_landmarks_all_are_and_a_warning_says_so(problem):
    X, y, site = problem
    with pytest.warns(UserWarning, match="No scale tells landmarks from the other source samples"):
        model = fit(Landmarks(n_components=2, scales=[1e3]), problem)
    assert model.scales_.tolist() == [np.inf]
    np.testing.assert_array_equal(model.landmarks_[:, 0], site > 0)
    Xc = X - X.mean(axis=0)
    G = flow_metric(X[site > 0], X[site < 0], 2)
    K = Xc[site > 0] @ G @ Xc[site > 0].T
    machine = SVC(kernel="precomputed", C=2**10 / np.trace(K)).fit(K, y[site > 0] == 0)
    expected = machine.decision_function(Xc @ G @ Xc[site > 0].T)
    assert_allclose(model.decision_function(X)[:, 0], expected, atol=5e-3 * np.abs(expected).max())


def test_nothing_is_warned_of_on_ordinary_data(problem):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit(Landmarks(), problem)


def test_a_rigid_motion_of_the_samples_changes_nothing(problem):
    X, y, site = problem
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(6, 6)))[0]
    moved = Landmarks(n_components=3).fit(X @ rotation + 7, y, sample_domain=site)
    model = fit(Landmarks(n_components=3), problem)
    np.testing.assert_array_equal(moved.landmarks_, model.landmarks_)
    assert_allclose(
        moved.decision_function(X @ rotation + 7), model.decision_function(X), atol=1e-3
    )


def test_units_do_not_matter(problem):
    X, y, site = problem
    model = fit(Landmarks(n_components=3), problem)
    scaled = Landmarks(n_components=3).fit(1e4 * X, y, sample_domain=site)
    np.testing.assert_array_equal(scaled.landmarks_, model.landmarks_)
    assert_allclose(scaled.decision_function(1e4 * X), model.decision_function(X), atol=1e-3)


def test_unlabelled_source_samples_are_in_the_flows_but_are_no_landmarks(problem):
    X, y, site = problem
    hidden = (site > 0) & (np.arange(96) % 4 == 0)
    known = np.where(hidden, -1, y)
    model = Landmarks(n_components=2).fit(X, known, sample_domain=site)
    assert not model.landmarks_[hidden].any()
    kept = ~hidden
    without = Landmarks(n_components=2).fit(X[kept], known[kept], sample_domain=site[kept])
    assert not np.allclose(without.decision_function(X), model.decision_function(X))


def test_classes_are_those_of_the_source_even_where_the_target_has_others(problem):
    X, y, site = problem
    y = y.copy()
    y[np.flatnonzero(site < 0)[0]] = 7
    model = Landmarks().fit(X, y, sample_domain=site)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.decision_function(X).shape == (96, 3)
    with pytest.raises(ValueError, match=r"source samples of at least two classes.*\(1\)"):
        Landmarks().fit(X, np.where(site > 0, 1, 0), sample_domain=site)


def test_two_classes_have_one_machine(problem):
    X, y, site = problem
    model = Landmarks().fit(X, np.where(y == 2, 1, y), sample_domain=site)
    assert model.coef_.shape == (1, 6)
    assert model.decision_function(X).shape == (96,)


def test_sources_are_pooled(problem):
    X, y, site = problem
    split = np.where((site > 0) & (X[:, 0] > 0), 5, site)
    model = Landmarks().fit(X, y, sample_domain=split)
    np.testing.assert_array_equal(model.landmarks_, fit(Landmarks(), problem).landmarks_)


def test_the_dimension_is_that_of_the_subspaces_and_capped_in_smaller_tasks(problem):
    X, y, site = problem
    assert fit(Landmarks(), problem).dimension_ == 6
    assert fit(Landmarks(n_components=3), problem).dimension_ == 3
    wide = np.random.default_rng(0).normal(size=(96, 60))
    wide[:, :6] += 3 * X
    model = Landmarks(n_components=35, scales=[2.0**-6]).fit(wide, y, sample_domain=site)
    rest = (site > 0) & ~model.landmarks_[:, 0]
    assert rest.sum() - 1 < 59
    assert model.dimension_ == 35


def test_sparse_samples_give_what_dense_ones_give(problem):
    X, y, site = problem
    X = np.where(np.abs(X) > 0.4, X, 0)
    dense = Landmarks(n_components=3).fit(X, y, sample_domain=site)
    model = Landmarks(n_components=3).fit(sparse.csr_array(X), y, sample_domain=site)
    np.testing.assert_array_equal(model.landmarks_, dense.landmarks_)
    actual = model.decision_function(sparse.csr_array(X))
    assert_allclose(actual, dense.decision_function(X), atol=1e-3)


def test_a_source_without_variation_left_drops_the_scale():
    """Landmarks take all but samples that coincide, which span no subspace."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(8, 3)), np.full((4, 3), 50.0), rng.normal(size=(20, 3))])
    y = np.r_[np.arange(12) % 2, np.full(20, -1)]
    site = np.repeat([1, -2], [12, 20])
    with pytest.warns(UserWarning, match="No scale tells"):
        model = Landmarks(n_components=2, scales=[64.0]).fit(X, y, sample_domain=site)
    assert model.scales_.tolist() == [np.inf]


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"C": 0.0}, ValueError, "C must lie in"),
        ({"scales": [1.0, -2.0]}, ValueError, "scales must lie in"),
        ({"scales": ["wide"]}, TypeError, "scales must be a number"),
        ({"scales": []}, ValueError, "scales must name one scale at least"),
        ({"balance": "none"}, ValueError, "balance must be one of 'half', 'exact'"),
        ({"mixing": "mkl"}, ValueError, "mixing must be one of 'alignment', 'uniform'"),
        ({"n_components": 7}, ValueError, "n_components=7 exceeds .* at most 6 here"),
    ],
)
def test_parameters_out_of_range_are_refused(problem, params, error, message):
    with pytest.raises(error, match=message):
        fit(Landmarks(**params), problem)


def test_the_metric_by_quadrature_is_one():
    """The slow computation of this file: trace d, and both subspaces for equal samples."""
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(40, 6)), rng.normal(size=(40, 6))
    G = flow_metric(A, B, 2)
    assert np.trace(G) == pytest.approx(2)
    same = flow_metric(A, A, 2)
    values, vectors = np.linalg.eigh(same)
    assert_allclose(values[-2:], 1)
    assert subspace_angles(vectors[:, -2:], PCA(2).fit(A).components_.T).max() < 1e-6
