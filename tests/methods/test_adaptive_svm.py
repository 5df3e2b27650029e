"""Adaptive support vector machine: the optimum of the printed problem, and who has a say in it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from skatter.methods._adaptive_svm import AdaptiveSVM, correction_dual
from skatter.methods._machines import support_vector_machines

PLAIN = {"kernel": "linear", "tol": 1e-6}
EXACT = {"gamma": 0.2, "tol": 1e-6}


def problem(seed=0, n_sources=2, n_classes=3, n=30, n_known=9, p=4):
    """Sources 1, 2 .. and the target -9, of whose samples the first few have a label."""
    rng = np.random.default_rng(seed)
    site = np.repeat([*range(1, n_sources + 1), -9], n)
    y = rng.integers(n_classes, size=len(site))
    X = rng.normal(size=(len(site), p)) + 1.5 * rng.normal(size=(n_classes, p))[y]
    X[site < 0] += 0.8 * rng.normal(size=p)
    known = (site > 0) | (np.cumsum(site < 0) <= n_known)
    return X, np.where(known, y, -1), site


def fit(model, case):
    X, y, site = case
    return model.fit(X, y, sample_domain=site)


def signs_of(y, n_classes):
    """One against the rest, class by class; one column for two classes."""
    columns = range(n_classes) if n_classes > 2 else [1]
    return np.column_stack([np.where(y == k, 1.0, -1.0) for k in columns])


def auxiliary(case, X_new, weights=None, kernel="linear", C=1.0):
    """Averaged decision values of scikit-learn's machines, one for each source and class."""
    X, y, site = case
    n_classes = len(np.unique(y[y >= 0]))
    sources = np.unique(site[site > 0])
    weights = np.full(len(sources), 1 / len(sources)) if weights is None else weights
    total = 0
    for s, weight in zip(sources, weights, strict=True):
        own = (site == s) & (y >= 0)
        values = [
            SVC(kernel=kernel, C=C, tol=1e-6).fit(X[own], column).decision_function(X_new)
            for column in signs_of(y[own], n_classes).T
        ]
        total = total + weight * np.column_stack(values)
    return total


def target_labels(case):
    X, y, site = case
    here = (site < 0) & (y >= 0)
    return X[here], signs_of(y[here], len(np.unique(y[y >= 0])))


def in_columns(values):
    return values[:, None] if values.ndim == 1 else values


# --- the optimum ----------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_correction_solves_the_primal_problem(n_classes):
    """½ ‖w‖² + C Σ ξ subject to y (f^a + wᵀx) ≥ 1 − ξ, by a solver that knows no dual."""
    case, C = problem(1, n_classes=n_classes), 0.3
    X, signs = target_labels(case)
    model, average = (fit(AdaptiveSVM(cost, **PLAIN), case) for cost in (C, 1e-15))
    # The difference is linear and without an intercept: at the unit vectors it is w.
    unit, origin = np.eye(X.shape[1]), np.zeros((1, X.shape[1]))
    difference = in_columns(model.decision_function(unit) - average.decision_function(unit))
    at_zero = model.decision_function(origin) - average.decision_function(origin)
    assert_allclose(at_zero, 0, atol=1e-12)
    n, p = X.shape
    for w, y, f in zip(
        difference.T, signs.T, in_columns(average.decision_function(X)).T, strict=True
    ):
        found = minimize(
            lambda v: v[:p] @ v[:p] / 2 + C * v[p:].sum(),
            np.concatenate([np.zeros(p), np.maximum(0, 1 - y * f)]),
            method="SLSQP",
            constraints={
                "type": "ineq",
                "fun": lambda v, y=y, f=f: y * (f + X @ v[:p]) - 1 + v[p:],
            },
            bounds=[(None, None)] * p + [(0, None)] * n,
            options={"ftol": 1e-15, "maxiter": 1000},
        )
        loss = w @ w / 2 + C * np.maximum(0, 1 - y * (f + X @ w)).sum()
        assert_allclose(loss, found.fun, rtol=1e-8, atol=1e-10)
        assert_allclose(w, found.x[:p], atol=1e-5)


GRAMS = {
    "few dimensions": lambda X: X[:, :2] @ X[:, :2].T,
    "as many as samples": lambda X: rbf_kernel(X, gamma=0.3),
    "every sample twice": lambda X: rbf_kernel(np.vstack([X[: len(X) // 2]] * 2)),
    "far from the origin": lambda X: (X + 30) @ (X + 30).T,
    "tiny": lambda X: 1e-12 * X @ X.T,
    "nothing": lambda X: np.zeros((len(X), len(X))),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("C", [1e-6, 0.1, 1.0, 100.0])
@pytest.mark.parametrize("gram", GRAMS)
def test_primal_and_dual_meet_whatever_the_kernel(gram, C):
    """No primal value is below a dual one: that they are equal proves both to be optimal."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 5))
    y = np.where(X[:, 0] + rng.normal(size=60) > 0, 1.0, -1.0)
    average = 0.5 * y + rng.normal(size=60)
    K = GRAMS[gram](X)
    a = correction_dual(K, y, average, C, 1e-4)
    assert a.min() >= 0
    assert a.max() <= C
    Ka = K @ (a * y)
    primal = (a * y) @ Ka / 2 + C * np.maximum(0, 1 - y * (average + Ka)).sum()
    dual = a @ (1 - y * average) - (a * y) @ Ka / 2
    assert abs(primal - dual) <= 1.1e-8 * C * 60


def test_a_thousand_labelled_target_samples_are_solved_as_well():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1000, 3))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=1000) > 0, 1.0, -1.0)
    average, K = 0.3 * y + rng.normal(size=1000), X @ X.T
    a = correction_dual(K, y, average, 1.0, 1e-5)
    w = X.T @ (a * y)
    primal = w @ w / 2 + np.maximum(0, 1 - y * (average + X @ w)).sum()
    assert_allclose(a @ (1 - y * average) - w @ w / 2, primal, rtol=1e-8)


def test_labelled_target_samples_obey_the_conditions_of_optimality():
    """Beyond the margin, a sample does not count; short of it, it counts C."""
    case, C = problem(4, n_known=25), 0.5
    X, signs = target_labels(case)
    model = fit(AdaptiveSVM(C, gamma=0.2, tol=1e-6), case)
    rows = np.flatnonzero((case[2] < 0) & (case[1] >= 0))
    coef = np.zeros((len(case[0]), 3))
    coef[model.support_] = model.dual_coef_
    a, margin = coef[rows] * signs, signs * model.decision_function(X)
    for inside in (margin > 1 + 1e-5, margin < 1 - 1e-5, np.abs(margin - 1) < 1e-5):
        assert inside.any()
    assert_allclose(a[margin > 1 + 1e-5], 0, atol=1e-5)
    assert_allclose(a[margin < 1 - 1e-5], C, atol=1e-5)


def test_a_vanishing_cost_returns_the_average_of_the_source_classifiers():
    case = problem(5)
    actual = fit(AdaptiveSVM(1e-9, **PLAIN), case).decision_function(case[0])
    assert_allclose(actual, auxiliary(case, case[0]), atol=1e-5)


def test_nothing_is_corrected_where_the_sources_are_right_by_a_margin():
    X = np.array([[-1.0], [1.0], [-5.0], [5.0]])
    model = AdaptiveSVM(10.0, C_source=10.0, **PLAIN)
    model.fit(X, [0, 1, 0, 1], sample_domain=[1, 1, -2, -2])
    assert_allclose(model.decision_function(X), X[:, 0], atol=1e-8)


def test_a_few_labels_repair_sources_that_are_wrong():
    rng = np.random.default_rng(6)
    y = np.tile([0, 1], 100)
    site = np.repeat([1, -2], 100)
    X = rng.normal(size=(200, 2)) + 4 * y[:, None] + 3 * (site < 0)[:, None]
    known = np.where((site > 0) | (np.arange(200) >= 190), y, -1)
    before, after = (
        AdaptiveSVM(C).fit(X, known, sample_domain=site).score(X[site < 0], y[site < 0])
        for C in (1e-6, 10.0)
    )
    assert before < 0.7
    assert after > 0.85


def test_unlabelled_target_samples_do_not_matter():
    X, y, site = case = problem(7)
    expected = fit(AdaptiveSVM(**EXACT), case).decision_function(X)
    moved = np.where((y < 0)[:, None], 100.0, X)
    actual = fit(AdaptiveSVM(**EXACT), (moved, y, site)).decision_function(X)
    assert_allclose(actual, expected, atol=1e-5)
    without = (X[y >= 0], y[y >= 0], site[y >= 0])
    actual = fit(AdaptiveSVM(**EXACT), without).decision_function(X)
    assert_allclose(actual, expected, atol=1e-5)


# --- several sources ------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [(3.0, 1.0), [0.75, 0.25], np.array([30, 10])])
def test_given_weights_are_shares_of_the_sources(weights):
    case = problem(8)
    model = fit(AdaptiveSVM(1e-9, source_weights=weights, **PLAIN), case)
    assert_allclose(model.source_weights_, [0.75, 0.25], rtol=1e-12)
    expected = auxiliary(case, case[0], weights=(0.75, 0.25))
    assert_allclose(model.decision_function(case[0]), expected, atol=1e-5)


def test_sources_count_the_same_by_default_however_many_samples_they_have():
    X, y, site = problem(8)
    fewer = np.flatnonzero((site != 2) | (np.cumsum(site == 2) <= 12))
    case = X[fewer], y[fewer], site[fewer]
    model = fit(AdaptiveSVM(1e-9, **PLAIN), case)
    assert_allclose(model.source_weights_, [0.5, 0.5])
    assert_allclose(model.decision_function(X), auxiliary(case, X), atol=1e-5)


def test_a_source_that_has_not_seen_a_class_has_no_say_about_it():
    X, y, site = problem(9)
    y[(site == 2) & (y == 2)] = -1
    actual = fit(AdaptiveSVM(1e-9, **PLAIN), (X, y, site)).decision_function(X)
    first = auxiliary((X[site != 2], y[site != 2], site[site != 2]), X)
    own = (site == 2) & (y >= 0)
    second = SVC(kernel="linear", tol=1e-6).fit(X[own], y[own]).decision_function(X)  # 1 against 0
    assert_allclose(actual[:, 0], (first[:, 0] - second) / 2, atol=1e-5)
    assert_allclose(actual[:, 1], (first[:, 1] + second) / 2, atol=1e-5)
    assert_allclose(actual[:, 2], first[:, 2], atol=1e-5)


def test_a_source_without_labels_has_no_say_at_all():
    X, y, site = problem(10)
    y[site == 2] = -1
    actual = fit(AdaptiveSVM(1e-9, **PLAIN), (X, y, site)).decision_function(X)
    first = (X[site != 2], y[site != 2], site[site != 2])
    assert_allclose(actual, auxiliary(first, X), atol=1e-5)


def test_where_no_source_can_tell_a_class_each_says_what_it_sees():
    """Class 0 in one source and class 1 in the other: half of -1 and half of +1."""
    X = np.random.default_rng(0).normal(size=(14, 2))
    y = np.repeat([0, 1, 0, 1], [5, 5, 2, 2])
    site = np.repeat([1, 2, -3], [5, 5, 4])
    model = fit(AdaptiveSVM(1e-12), (X, y, site))
    assert_allclose(model.decision_function(X), 0, atol=1e-9)
    model = fit(AdaptiveSVM(1e-12, source_weights=[1, 3]), (X, y, site))
    assert_allclose(model.decision_function(X), 0.5, atol=1e-9)


def test_a_class_that_only_the_target_has_is_learnt_from_the_target():
    X, y, site = problem(11, n_known=20)
    y[(site > 0) & (y == 2)] = -1
    X[y == 2] += 10
    model = fit(AdaptiveSVM(100.0), (X, y, site))
    assert_array_equal(model.predict(X[y == 2]), 2)
    assert_array_equal(model.predict(X[y >= 0]) == 2, y[y >= 0] == 2)


# --- machines one against the rest ----------------------------------------------------------------


def test_machines_are_those_of_scikit_learn_wherever_the_origin_is():
    rng = np.random.default_rng(12)
    y = rng.integers(3, size=40)
    X = rng.normal(size=(40, 3)) + 2 * np.eye(3)[y]
    weight = rng.uniform(0.2, 2, size=40)
    far = X + 50
    coef, intercept = support_vector_machines(
        far @ far.T, signs_of(y, 3), C=0.7, tol=1e-5, sample_weight=weight
    )
    for k in range(3):
        reference = SVC(kernel="linear", C=0.7, tol=1e-5).fit(X, y == k, sample_weight=weight)
        expected = reference.decision_function(X)
        assert_allclose(far @ (far.T @ coef[:, k]) + intercept[k], expected, atol=1e-4)


def test_a_tolerance_out_of_reach_ends_with_a_warning():
    """In single precision, two coefficients at a time, this one is never reached."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 1))
    signs = np.where(rng.integers(3, size=(30, 1)) == 0, 1.0, -1.0)
    with pytest.warns(ConvergenceWarning, match="terminated early"):
        support_vector_machines(X @ X.T, signs, C=100.0, tol=1e-9)


# --- kernels and containers -----------------------------------------------------------------------


def test_a_gram_matrix_and_a_function_stand_for_a_kernel():
    X, y, site = case = problem(13)
    new = np.random.default_rng(0).normal(size=(6, X.shape[1]))
    expected = fit(AdaptiveSVM(**EXACT), case).decision_function(new)
    given = AdaptiveSVM(kernel="precomputed", tol=1e-6).fit(
        rbf_kernel(X, gamma=0.2), y, sample_domain=site
    )
    actual = given.decision_function(rbf_kernel(new, X, gamma=0.2))
    assert_allclose(actual, expected, atol=1e-5)
    function = AdaptiveSVM(kernel=rbf_kernel, kernel_params={"gamma": 0.2}, tol=1e-6)
    assert_allclose(fit(function, case).decision_function(new), expected, atol=1e-5)


def test_sparse_samples_give_the_same_decision_values():
    X, y, site = problem(14)
    X = np.where(np.abs(X) > 1, X, 0)
    expected = fit(AdaptiveSVM(**EXACT), (X, y, site)).decision_function(X)
    actual = fit(AdaptiveSVM(**EXACT), (sparse.csr_array(X), y, site)).decision_function(X)
    assert_allclose(actual, expected, atol=1e-5)


def test_the_order_of_the_samples_does_not_matter_to_decision_values():
    X, y, site = case = problem(15)
    mixed = np.random.default_rng(0).permutation(len(X))
    expected = fit(AdaptiveSVM(), case).decision_function(X)
    other = fit(AdaptiveSVM(), (X[mixed], y[mixed], site[mixed]))
    assert_array_equal(other.decision_function(X), expected)


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"C": 0}, ValueError, r"C must lie in \(0, inf\), got 0"),
        ({"C_source": -1.0}, ValueError, r"C_source must lie in \(0, inf\)"),
        ({"tol": 0.0}, ValueError, r"tol must lie in \(0, inf\)"),
        ({"source_weights": "mmd"}, ValueError, "source_weights must be one of 'uniform'"),
        ({"source_weights": [1, 0]}, ValueError, r"must be positive and finite, got \[1, 0\]"),
        ({"source_weights": [1, np.nan]}, ValueError, "must be positive and finite"),
        ({"source_weights": ["a", "b"]}, TypeError, "one number for each source"),
        ({"source_weights": 1.0}, TypeError, "one number for each source"),
        ({"source_weights": [1, 2, 3]}, ValueError, r"3 values for 2 sources \(1, 2\)"),
        ({"kernel": "sigmoid", "coef0": -5.0}, ValueError, "not positive semi-definite"),
    ],
)
def test_an_impossible_setting_is_named(parameters, error, message):
    with pytest.raises(error, match=message):
        fit(AdaptiveSVM(**parameters), problem(n_known=20))
