"""HFA: the saddle point of the published problem, without the published rounds."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.linalg import block_diag, sqrtm
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from sklearn.svm import SVC

from skatter.kernels import median_distance
from skatter.methods._hfa import HFA


@pytest.fixture
def problem():
    """Two classes in a source and a target, whose features mean different things; mixed rows."""
    rng = np.random.default_rng(0)
    site = np.repeat([1, -2], [22, 12])
    y = np.arange(34) % 2
    direction = np.where(site[:, None] > 0, [1.2, 0.0, 0.4], [-0.3, 1.2, 0.0])
    X = rng.normal(size=(34, 3)) + direction * (2 * y - 1)[:, None]
    mixed = rng.permutation(34)
    return X[mixed], y[mixed], site[mixed]


def fit(model, problem):
    X, y, site = problem
    return model.fit(X, y, sample_domain=site)


def in_order(problem):
    """Samples, signs and sizes with the source first, as the block-diagonal kernel has them."""
    X, y, site = problem
    order = np.argsort(site < 0, kind="stable")
    return X[order], 2.0 * y[order] - 1, np.sum(site > 0)


def block_kernel(problem, gamma):
    X, _, n_source = in_order(problem)
    return block_diag(rbf_kernel(X[:n_source], gamma=gamma), rbf_kernel(X[n_source:], gamma=gamma))


def machine(K, signs, costs, tol=1e-9):
    """α∘y, intercept and dual objective of a support vector machine."""
    svc = SVC(kernel="precomputed", C=1, tol=tol).fit(K, signs, sample_weight=costs)
    ay = np.zeros(len(signs))
    ay[svc.support_] = svc.dual_coef_[0]
    return ay, svc.intercept_[0], np.abs(ay).sum() - ay @ K @ ay / 2


def published(K, signs, costs, lam, *, rounds, steps=200):
    """The authors' cutting planes: l1 multiple kernel learning over h hᵀ, one more h each round."""
    root = np.real(sqrtm(K))
    assert_allclose(root @ root, K, atol=1e-7)
    n = len(K)
    H = np.full((n, 1), np.sqrt(lam / n))
    objectives = []
    for _ in range(rounds):
        d = np.full(H.shape[1], 1 / H.shape[1])
        for _ in range(steps):
            weighted = root @ (H * np.sqrt(d))
            ay, b, objective = machine(K + weighted @ weighted.T, signs, costs)
            lengths = d * np.abs(H.T @ root @ ay)
            d = lengths / lengths.sum()
            assert_allclose(d.sum(), 1)
        objectives.append(objective)
        v = root @ ay
        H_used, H = H, np.column_stack([H, np.sqrt(lam) * v / np.linalg.norm(v)])
    return objectives, root, ay, b, (H_used * d) @ H_used.T


def coefficients(model):
    """α∘y of the problem with the kernel (1 + λ) K, source first."""
    return np.r_[model.source_coef_, model.target_coef_][:, 0] / (1 + model.lam)


def test_the_published_rounds_descend_to_the_closed_form(problem):
    lam, gamma = 1.0, 0.3
    _, signs, _ = in_order(problem)
    K, costs = block_kernel(problem, gamma), np.ones(34)
    objectives, _, ay, _, H = published(K, signs, costs, lam, rounds=12, steps=60)
    model = fit(HFA(lam=lam, gamma=gamma, tol=1e-8), problem)
    best = coefficients(model)
    exact = np.abs(best).sum() - (1 + lam) / 2 * best @ K @ best
    assert np.trace(H) == pytest.approx(lam)
    assert (np.diff(objectives) < 1e-6).all()
    assert objectives[0] > 1.01 * exact
    assert objectives[-1] == pytest.approx(exact, rel=2e-3)
    assert objectives[-1] > exact - 1e-6
    assert_allclose(ay, best, atol=0.1)


@pytest.mark.parametrize("lam", [0.5, 100.0])
def test_the_solution_is_a_saddle_point_of_the_published_problem(problem, lam):
    """α is best for H = λ v vᵀ/‖v‖², and no other H is better for α."""
    rng = np.random.default_rng(1)
    _, signs, _ = in_order(problem)
    K = block_kernel(problem, 0.3)
    root = np.real(sqrtm(K))
    model = fit(HFA(lam=lam, gamma=0.3, tol=1e-8), problem)
    ay = coefficients(model)
    v = root @ ay
    H = lam * np.outer(v, v) / (v @ v)
    kernel = root @ (H + np.eye(34)) @ root
    value = np.abs(ay).sum() - ay @ kernel @ ay / 2
    best_ay, b, best = machine(kernel, signs, np.ones(34))
    assert value == pytest.approx(best, rel=1e-6)
    assert b == pytest.approx(model.intercept_[0], abs=1e-4)
    assert_allclose(kernel @ best_ay, (1 + lam) * K @ ay, atol=1e-4)
    for _ in range(20):
        A = rng.normal(size=(34, rng.integers(1, 34)))
        other = lam * A @ A.T / np.trace(A @ A.T)
        assert v @ other @ v <= v @ H @ v + 1e-9


def test_no_pair_of_maps_to_a_common_space_does_better(problem):
    """Primal: over P and Q with ‖P‖² + ‖Q‖² ≤ λ, the machine on augmented features costs most
    for none, and least for the rank-one maps of the closed form."""
    rng = np.random.default_rng(2)
    lam = 3.0
    X, signs, n_source = in_order(problem)
    costs = np.ones(34)
    Xs, Xt = X[:n_source], X[n_source:]

    def cost(P, Q):
        """Optimum of the machine on (P x, x, 0) and (Q t, 0, t), by strong duality."""
        zeros = np.zeros_like
        augmented = np.vstack([np.c_[Xs @ P.T, Xs, zeros(Xs)], np.c_[Xt @ Q.T, zeros(Xt), Xt]])
        return machine(augmented @ augmented.T, signs, costs)[2]

    model = fit(HFA(lam=lam, kernel="linear", tol=1e-8), problem)
    w_source, w_target = Xs.T @ model.source_coef_[:, 0], Xt.T @ model.target_coef_[:, 0]
    size = np.sqrt(lam / (w_source @ w_source + w_target @ w_target))
    learnt = cost(size * w_source[None], size * w_target[None])
    hinge = np.maximum(0, 1 - signs * (np.r_[Xs @ w_source, Xt @ w_target] + model.intercept_))
    primal = (w_source @ w_source + w_target @ w_target) / (2 * (1 + lam)) + hinge.sum()
    assert learnt == pytest.approx(primal, rel=1e-5)
    assert learnt < cost(np.zeros((1, 3)), np.zeros((1, 3)))
    for k in (1, 2, 3, 3, 3):
        both = rng.normal(size=(k, 6))
        both *= np.sqrt(lam) / np.linalg.norm(both)
        assert cost(both[:, :3], both[:, 3:]) > learnt - 1e-9


def test_the_decision_is_that_of_the_published_formula(problem):
    """f(t) = k_tᵀ Lᵀ H K^½(α∘y) + k_tᵀ(α∘y)_target + b with L = [0; K_t^-½]."""
    lam, gamma = 10.0, 0.5
    X, _, n_source = in_order(problem)
    K = block_kernel(problem, gamma)
    root = np.real(sqrtm(K))
    model = fit(HFA(lam=lam, gamma=gamma), problem)
    ay = coefficients(model)
    v = root @ ay
    H = lam * np.outer(v, v) / (v @ v)
    new = np.random.default_rng(3).normal(size=(8, 3))
    k = rbf_kernel(new, X[n_source:], gamma=gamma)
    inverse_root = np.linalg.inv(root[n_source:, n_source:])
    L = np.vstack([np.zeros((n_source, len(X) - n_source)), inverse_root])
    expected = k @ L.T @ H @ v + k @ ay[n_source:] + model.intercept_[0]
    assert_allclose(model.decision_function(new), expected, atol=1e-6)


def test_without_a_map_it_is_the_machine_of_the_block_diagonal_kernel(problem):
    X, signs, n_source = in_order(problem)
    costs = np.where(np.arange(34) < n_source, 0.7, 2.0)
    K = block_kernel(problem, 0.3)
    ay, b, _ = machine(K, signs, costs)
    model = fit(HFA(lam=0, C_source=0.7, C_target=2.0, gamma=0.3, tol=1e-8), problem)
    assert_allclose(coefficients(model), ay, atol=1e-5)
    site = np.where(np.arange(34) < n_source, 1, -2)
    assert_allclose(model.decision_function(X, sample_domain=site), K @ ay + b, atol=1e-5)


def test_lam_multiplies_the_costs(problem):
    X = problem[0]
    with_map = fit(HFA(lam=9.0, C_source=0.2, C_target=0.3), problem)
    without = fit(HFA(lam=0.0, C_source=2.0, C_target=3.0), problem)
    assert_allclose(with_map.decision_function(X), without.decision_function(X), atol=1e-3)


def test_a_source_that_costs_nothing_leaves_the_machine_of_the_target(problem):
    X, signs, n_source = in_order(problem)
    Kt = rbf_kernel(X[n_source:], gamma=0.3)
    ay, b, _ = machine(Kt, signs[n_source:], np.full(len(Kt), 2.0))
    model = fit(HFA(lam=1.0, C_source=1e-7, gamma=0.3, tol=1e-8), problem)
    new = np.random.default_rng(0).normal(size=(9, 3))
    expected = rbf_kernel(new, X[n_source:], gamma=0.3) @ ay + b
    assert_allclose(model.decision_function(new), expected, atol=1e-4)


def test_the_source_moves_the_decision_about_the_target_by_its_intercept(problem):
    model = fit(HFA(C_target=0.005), problem)
    without = fit(HFA(C_target=0.005, C_source=1e-9), problem)
    assert abs(model.intercept_[0] - without.intercept_[0]) > 0.05


def test_training_samples_meet_the_conditions_of_optimality(problem):
    X, y, site = problem
    model = fit(HFA(lam=1.0, tol=1e-8), problem)
    margins = (2 * y - 1) * model.decision_function(X, sample_domain=site)
    alpha = np.empty(34)
    alpha[site > 0] = np.abs(model.source_coef_[:, 0])
    alpha[site < 0] = np.abs(model.target_coef_[:, 0])
    cost = 2.0
    assert (margins[alpha < 1e-9] > 1 - 1e-6).all()
    assert_allclose(margins[(alpha > 1e-6) & (alpha < cost - 1e-6)], 1, atol=1e-6)
    assert (margins[alpha > cost - 1e-9] < 1 + 1e-6).all()
    assert len(set(np.round(alpha, 9))) > 3


def test_source_and_target_have_bandwidths_of_their_own(problem):
    X, y, site = problem
    X = np.where(site[:, None] > 0, X, 100 * X)
    model = HFA().fit(X, y, sample_domain=site)
    gammas = [1 / median_distance(X[part]) for part in (site > 0, site < 0)]
    assert gammas[0] > 1000 * gammas[1]
    expected = rbf_kernel(X, X[site < 0], gamma=gammas[1]) @ model.target_coef_
    assert_allclose(model.decision_function(X), expected[:, 0] + model.intercept_[0], atol=1e-9)


def test_the_space_of_the_source_need_not_be_that_of_the_target():
    """Four features here and two there, as columns of zeros or as a Gram matrix."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    here = rng.normal(size=(25, 4)) + 2 * y[:25, None]
    there = rng.normal(size=(15, 2)) - 2 * y[25:, None]
    site = np.repeat([1, -2], [25, 15])
    padded = block_diag(here, there)
    model = HFA(kernel="linear").fit(padded, y, sample_domain=site)
    between = rng.normal(size=(25, 15))
    gram = np.block([[linear_kernel(here), between], [between.T, linear_kernel(there)]])
    given = HFA(kernel="precomputed").fit(gram, y, sample_domain=site)
    new = rng.normal(size=(6, 2))
    expected = model.decision_function(np.c_[np.zeros((6, 4)), new])
    rows = np.c_[rng.normal(size=(6, 25)), new @ there.T]
    assert_allclose(given.decision_function(rows), expected, atol=1e-9)


def test_three_classes_are_told_apart_one_against_the_rest(problem):
    X, y, site = problem
    y = np.where(X[:, 2] > 0.5, 2, y)
    model = HFA(gamma=0.3).fit(X, y, sample_domain=site)
    values = model.decision_function(X)
    for code in range(3):
        alone = HFA(gamma=0.3).fit(X, (y == code).astype(int), sample_domain=site)
        assert_allclose(values[:, code], alone.decision_function(X), atol=1e-9)
    np.testing.assert_array_equal(model.predict(X), values.argmax(axis=1))


def test_unlabelled_samples_serve_the_bandwidth_alone(problem):
    X, y, site = problem
    hidden = np.arange(34) % 5 == 0
    known = np.where(hidden, None, y)
    model = HFA(gamma=0.4).fit(X, known, sample_domain=site)
    fewer = HFA(gamma=0.4).fit(X[~hidden], y[~hidden], sample_domain=site[~hidden])
    assert_allclose(model.decision_function(X), fewer.decision_function(X), atol=1e-12)
    median = HFA().fit(X, known, sample_domain=site).decision_function(X)
    assert not np.allclose(median, model.decision_function(X))


def test_sources_are_pooled(problem):
    X, y, site = problem
    split = np.where((site > 0) & (X[:, 0] > 0), 5, site)
    model = HFA().fit(X, y, sample_domain=split)
    np.testing.assert_array_equal(model.predict(X), fit(HFA(), problem).predict(X))
    here = model.decision_function(X[:3], sample_domain=[5, 5, 5])
    np.testing.assert_array_equal(here, model.decision_function(X[:3], sample_domain=[1, 1, 1]))
    assert not np.allclose(here, model.decision_function(X[:3]))


def test_sparse_samples_give_what_dense_ones_give(problem):
    X, y, site = problem
    X = np.where(np.abs(X) > 0.4, X, 0)
    model = HFA(tol=1e-8).fit(sparse.csr_array(X), y, sample_domain=site)
    expected = HFA(tol=1e-8).fit(X, y, sample_domain=site).decision_function(X)
    assert_allclose(model.decision_function(sparse.csr_array(X)), expected, atol=1e-5)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"lam": -1.0}, "lam must lie in"),
        ({"C_source": 0.0}, "C_source must lie in"),
        ({"C_target": -2.0}, "C_target must lie in"),
        ({"tol": 0.0}, "tol must lie in"),
        ({"kernel": "magic"}, "kernel must be one of"),
    ],
)
def test_parameters_out_of_range_are_refused(problem, params, message):
    with pytest.raises(ValueError, match=message):
        fit(HFA(**params), problem)


def test_a_gram_matrix_that_is_not_symmetric_is_refused(problem):
    _, y, site = problem
    K = np.random.default_rng(0).normal(size=(34, 34))
    with pytest.raises(ValueError, match="symmetric Gram matrix"):
        HFA(kernel="precomputed").fit(K, y, sample_domain=site)
