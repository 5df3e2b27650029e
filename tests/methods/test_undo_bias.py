"""Undo-Bias: the optimum of the printed problem, its limits, and the two ways to score it."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import linprog, minimize
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from skatter.methods import UndoBias, set_accuracy
from skatter.methods._hinge_dual import best_intercepts

EXACT = {"tol": 1e-6}


def problem(seed=0, n_classes=3, n_sources=3, n=30, p=4, noise=1.0):
    """Classes at the same places everywhere, and a drift of their own in each source."""
    rng = np.random.default_rng(seed)
    site = np.repeat(np.arange(1, n_sources + 1), n)
    y = rng.integers(n_classes, size=len(site))
    centres = 1.5 * rng.normal(size=(n_classes, p))
    drifts = 0.8 * rng.normal(size=(n_sources, n_classes, p))
    X = noise * rng.normal(size=(len(site), p)) + centres[y] + drifts[site - 1, y]
    return X, y, site


def fit(model, case):
    X, y, site = case
    return model.fit(X, y, sample_domain=site)


def signs_of(y):
    """One against the rest, class by class; one column for two classes."""
    classes = np.unique(y)
    columns = classes if len(classes) > 2 else classes[1:]
    return np.column_stack([np.where(y == k, 1.0, -1.0) for k in columns])


def in_columns(values):
    return values[:, None] if values.ndim == 1 else values


def hinge(margin):
    return np.maximum(0, 1 - margin)


def printed(w, b, D, intercepts, case, signs, C1, C2, lam):
    """The objective as the paper prints it, with one row of D for each source."""
    X, _, site = case
    number = np.unique(site, return_inverse=True)[1]
    shared = X @ w + b
    own = shared + np.einsum("ij,ij->i", X, D[number]) + intercepts[number]
    norms = w @ w / 2 + lam / 2 * np.square(D).sum()
    return norms + C1 * hinge(signs * shared).sum() + C2 * hinge(signs * own).sum()


def objectives(model, case):
    """The printed objective of each machine of a fitted model."""
    return [
        printed(
            model.coef_[k],
            model.intercept_[k],
            model.domain_coef_[:, k],
            model.domain_intercept_[:, k],
            case,
            signs,
            model.C_shared,
            model.C_domain,
            model.bias_weight,
        )
        for k, signs in enumerate(signs_of(case[1]).T)
    ]


def augmented(case, lam):
    """Every sample twice: (x, 0 ..) and (x, 0 .., x/√λ, .. 0), with columns for the intercepts."""
    X, _, site = case
    of = (site[:, None] == np.unique(site)).astype(float)
    own = (of[:, :, None] * X[:, None, :]).reshape(len(X), -1) / np.sqrt(lam)
    Z = np.vstack([np.hstack([X, np.zeros_like(own)]), np.hstack([X, own])])
    E = np.hstack([np.ones((2 * len(X), 1)), np.vstack([np.zeros_like(of), of])])
    return Z, E


def by_quadratic_programming(A, p, y, cost):
    """The smallest ½ ‖v_1 .. v_p‖² + Σ cost h(y A v), by a solver that knows no dual."""
    n, q = A.shape
    found = minimize(
        lambda v: v[:p] @ v[:p] / 2 + cost @ v[q:],
        np.concatenate([np.zeros(q), np.ones(n)]),
        jac=lambda v: np.concatenate([v[:p], np.zeros(q - p), cost]),
        method="SLSQP",
        constraints={
            "type": "ineq",
            "fun": lambda v: y * (A @ v[:q]) - 1 + v[q:],
            "jac": lambda v: np.hstack([y[:, None] * A, np.eye(n)]),
        },
        bounds=[(None, None)] * q + [(0, None)] * n,
        options={"ftol": 1e-12, "maxiter": 1000},
    )
    v = found.x[:q]
    return v[:p] @ v[:p] / 2 + cost @ hinge(y * (A @ v))


# --- the optimum ----------------------------------------------------------------------------------


@pytest.mark.parametrize("lam", [0.01, 1.0, 30.0])
def test_the_printed_objective_is_that_of_one_machine_in_an_augmented_space(lam):
    case = problem(1)
    rng = np.random.default_rng(0)
    w, D = rng.normal(size=4), rng.normal(size=(3, 4))
    b, own, signs = rng.normal(), rng.normal(size=3), signs_of(case[1])[:, 0]
    Z, E = augmented(case, lam)
    v = np.concatenate([w, np.sqrt(lam) * D.ravel()])
    margin = np.concatenate([signs, signs]) * (Z @ v + E @ [b, *own])
    expected = v @ v / 2 + np.repeat([0.7, 2.0], len(signs)) @ hinge(margin)
    actual = printed(w, b, D, own, case, signs, 0.7, 2.0, lam)
    assert_allclose(actual, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("C1", "C2", "lam"), [(1.0, 1.0, 1.0), (0.05, 3.0, 0.1), (5.0, 0.2, 10.0), (20.0, 20.0, 1.0)]
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_general_solver_finds_nothing_better(C1, C2, lam, n_classes):
    case = problem(2, n_classes=n_classes, n=12, p=3)
    model = fit(UndoBias(C1, C2, lam, **EXACT), case)
    assert_allclose(model.objective_, objectives(model, case), rtol=1e-8)
    Z, E = augmented(case, lam)
    cost = np.repeat([C1, C2], len(case[0]))
    for value, signs in zip(model.objective_, signs_of(case[1]).T, strict=True):
        best = by_quadratic_programming(np.hstack([Z, E]), Z.shape[1], np.tile(signs, 2), cost)
        assert_allclose(value, best, rtol=1e-3)  # the other solver has not stopped halfway
        assert value <= best * (1 + 1e-6)


@pytest.mark.parametrize(("p", "n"), [(4, 30), (200, 20)])
def test_no_small_change_of_the_machine_is_an_improvement(p, n):
    """The objective is convex: what is best nearby is best."""
    case = problem(3, p=p, n=n)
    model = fit(UndoBias(0.5, 2.0, 0.3, **EXACT), case)
    rng = np.random.default_rng(0)
    best = model.objective_[0]
    for scale in np.repeat([1e-1, 1e-2, 1e-3], 30):
        value = printed(
            model.coef_[0] + scale * rng.normal(size=p),
            model.intercept_[0] + scale * rng.normal(),
            model.domain_coef_[:, 0] + scale * rng.normal(size=(3, p)),
            model.domain_intercept_[:, 0] + scale * rng.normal(size=3),
            case,
            signs_of(case[1])[:, 0],
            0.5,
            2.0,
            0.3,
        )
        assert value > best * (1 - 1e-9)


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_coefficients_obey_the_conditions_of_optimality(C):
    """w = Σ (β + γ) x and λ D_d = Σ γ x; beyond the margin β and γ are 0, short of it C."""
    X, y, site = case = problem(4)
    lam = 0.5
    model = fit(UndoBias(C, 2 * C, lam, **EXACT), case)
    full = np.zeros((len(X), 4, 3))
    full[model.support_] = model.dual_coef_
    own = np.array([full[i, site[i]] for i in range(len(X))])
    shared = full[:, 0] - lam * own
    assert_allclose(np.einsum("ip,ick->ckp", X, full)[0], model.coef_, atol=1e-6)
    assert_allclose(np.einsum("ip,ick->ckp", X, full)[1:], model.domain_coef_, atol=1e-6)
    values = {
        "shared": (shared, model.decision_function(X), C),
        "own": (lam * own, model.decision_function(X, sample_domain=site), 2 * C),
    }
    for name, (coef, f, cost) in values.items():
        a, margin = coef * signs_of(y), signs_of(y) * f
        assert_allclose(a[margin > 1 + 1e-4], 0, atol=1e-4 * cost, err_msg=name)
        assert_allclose(a[margin < 1 - 1e-4], cost, rtol=1e-4, err_msg=name)
    assert_allclose(shared.sum(axis=0), 0, atol=1e-6)
    for s in (1, 2, 3):
        assert_allclose(own[site == s].sum(axis=0), 0, atol=1e-6)


def test_the_default_tolerance_gives_decision_values_to_three_digits():
    for seed in range(2):
        X, _, site = case = problem(seed, n=60, p=6)
        rough, exact = fit(UndoBias(), case), fit(UndoBias(tol=1e-7), case)
        assert_allclose(rough.decision_function(X), exact.decision_function(X), atol=1e-3)
        own = [model.decision_function(X, sample_domain=site) for model in (rough, exact)]
        assert_allclose(*own, atol=1e-3)


def test_the_best_intercepts_are_those_of_a_linear_program():
    rng = np.random.default_rng(0)
    for positive in (0.1, 0.5, 0.8):
        y, f = np.where(rng.uniform(size=25) < positive, 1.0, -1.0), rng.normal(size=25)
        low, high = best_intercepts(y, f)
        found = linprog(
            np.r_[0, np.ones(25)],
            A_ub=-np.column_stack([y, np.eye(25)]),
            b_ub=y * f - 1,
            bounds=[(None, None)] + [(0, None)] * 25,
        )
        for b in (low, high, (low + high) / 2):
            assert_allclose(hinge(y * (f + b)).sum(), found.fun, rtol=1e-9)
        for b in (low - 0.01, high + 0.01):
            assert hinge(y * (f + b)).sum() > found.fun + 1e-3


# --- limits ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [4, 120])
def test_without_the_second_loss_it_is_a_plain_machine_on_the_pooled_sources(p):
    X, y, site = case = problem(5, p=p)
    model = fit(UndoBias(0.7, 0.0, **EXACT), case)
    assert not model.domain_coef_.any()
    assert not model.domain_intercept_.any()
    for k in range(3):
        plain = SVC(kernel="linear", C=0.7, tol=1e-5).fit(X, y == k)
        assert_allclose(model.decision_function(X)[:, k], plain.decision_function(X), atol=1e-4)
    assert_array_equal(model.decision_function(X, sample_domain=site), model.decision_function(X))


def test_under_a_large_weight_no_domain_departs_but_in_its_intercept():
    case = problem(6)
    sizes = []
    for lam in (1e2, 1e4, 1e6):
        model = fit(UndoBias(1.0, 1.0, lam, **EXACT), case)
        sizes.append(np.abs(model.domain_coef_).max() * lam)
    assert np.abs(model.domain_coef_).max() < 1e-4
    assert_allclose(sizes[1:], sizes[2], rtol=0.2)  # λ D_d = Σ γ x is bounded
    X, y, site = case
    of = (site[:, None] == np.unique(site)).astype(float)
    n, p = X.shape
    A = np.vstack([np.hstack([X, np.ones((n, 1)), 0 * of]), np.hstack([X, np.zeros((n, 1)), of])])
    one = by_quadratic_programming(A, p, np.tile(signs_of(y)[:, 0], 2), np.ones(2 * n))
    assert_allclose(model.objective_[0], one, rtol=1e-4)


def test_under_a_small_weight_each_domain_has_a_machine_of_its_own():
    """λ ‖D_d‖² / 2 is what a domain pays, so that λ → 0 leaves C₂/λ as its cost."""
    X, y, site = case = problem(7, noise=1.5)
    lam, C2 = 1e-3, 1e-3
    model = fit(UndoBias(1.0, C2, lam, **EXACT), case)
    far = fit(UndoBias(1.0, C2, 1e3, **EXACT), case)
    for s in (1, 2, 3):
        own = site == s
        f = model.decision_function(X[own], sample_domain=site[own])
        g = far.decision_function(X[own], sample_domain=site[own])
        for k in range(3):
            alone = SVC(kernel="linear", C=C2 / lam, tol=1e-5).fit(X[own], y[own] == k)
            sign = np.where(y[own] == k, 1, -1)
            best = hinge(sign * alone.decision_function(X[own])).mean()
            assert hinge(sign * f[:, k]).mean() < best + 0.05
            assert hinge(sign * f[:, k]).mean() < hinge(sign * g[:, k]).mean() + 1e-6


# --- domains --------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_seen_domain_is_judged_by_its_own_machine_and_all_others_by_the_shared_one(n_classes):
    X, y, site = problem(9, n_classes=n_classes)
    names = np.array(["kyiv", "lagos", "milan"])
    model = fit(UndoBias(0.5, 2.0, 0.1), (X, y, names[site - 1]))
    assert model.source_ids_.tolist() == names.tolist()
    shared = X @ model.coef_.T + model.intercept_
    assert_allclose(in_columns(model.decision_function(X)), shared, rtol=1e-10, atol=1e-10)
    asked = np.resize(["milan", "oslo", "kyiv"], len(X))
    values = in_columns(model.decision_function(X, sample_domain=asked))
    assert_allclose(values[1::3], shared[1::3], rtol=1e-10, atol=1e-10)
    for first, number in ((0, 2), (2, 0)):
        bent = X @ model.domain_coef_[number].T + model.domain_intercept_[number]
        assert np.abs(bent).max() > 0.1
        expected = (shared + bent)[first::3]
        assert_allclose(values[first::3], expected, rtol=1e-10, atol=1e-10)
    predicted = model.predict(X, sample_domain=asked)
    codes = values.argmax(axis=1) if n_classes > 2 else (values[:, 0] > 0).astype(int)
    assert_array_equal(predicted, codes)
    assert (predicted != model.predict(X)).any()


def test_a_source_without_a_class_does_not_bend_that_class_and_keeps_beyond_its_margin():
    X, y, site = problem(10)
    y[(site == 2) & (y == 2)] = 0
    model = fit(UndoBias(1.0, 1.0, 0.1, **EXACT), (X, y, site))
    assert not model.domain_coef_[1, 2].any()
    assert model.domain_coef_[1, 0].any()
    own = model.decision_function(X[site == 2], sample_domain=site[site == 2])[:, 2]
    assert own.max() <= -1 + 1e-9
    assert model.domain_intercept_[1, 2] <= 0
    # No further than needed: either not at all, or just to the margin.
    assert model.domain_intercept_[1, 2] == 0 or abs(own.max() + 1) < 1e-9
    assert_allclose(model.objective_, objectives(model, (X, y, site)), rtol=1e-8)


def test_where_the_origin_is_does_not_matter():
    X, y, site = case = problem(11)
    expected = fit(UndoBias(**EXACT), case)
    moved = fit(UndoBias(**EXACT), (X + 50, y, site))
    assert_allclose(moved.coef_, expected.coef_, atol=1e-4)
    actual = moved.decision_function(X + 50, sample_domain=site)
    assert_allclose(actual, expected.decision_function(X, sample_domain=site), atol=1e-4)


def test_sources_that_contradict_each_other_in_a_feature_are_best_left_without_it():
    rng = np.random.default_rng(12)
    y, site = np.tile([0, 1], 300), np.repeat([1, 2, 3], 200)
    X = rng.normal(size=(600, 3))
    X[:, 0] += 1.5 * y
    X[:, 1] += np.array([6, 1, -4])[site - 1] * y
    seen = site < 3
    case = X[seen], y[seen], site[seen]
    plain = fit(UndoBias(1.0, 0.0), case).score(X[~seen], y[~seen])
    bent = fit(UndoBias(0.01, 1.0, 0.01), case).score(X[~seen], y[~seen])
    assert bent > plain


# --- kernels and containers -----------------------------------------------------------------------


@pytest.mark.parametrize("p", [4, 150])
@pytest.mark.parametrize("C", [0.05, 1.0, 30.0])
def test_the_kernel_form_of_the_linear_kernel_is_the_linear_machine(C, p):
    X, _, site = case = problem(13, p=p)
    linear = fit(UndoBias(C, 2 * C, 0.3, **EXACT), case)
    kernel = fit(UndoBias(C, 2 * C, 0.3, kernel=lambda A, B: A @ B.T, **EXACT), case)
    assert_allclose(kernel.objective_, linear.objective_, rtol=1e-6)
    for asked in (None, site):
        actual = kernel.decision_function(X, sample_domain=asked)
        expected = linear.decision_function(X, sample_domain=asked)
        assert_allclose(actual, expected, atol=1e-3)
    assert not hasattr(kernel, "coef_")
    assert not hasattr(kernel, "domain_coef_")


def test_a_kernel_machine_is_the_machine_of_the_kernel_of_copies():
    """k~ = k (1 + [second copies of one domain]/λ), all intercepts free: the dual conditions."""
    X, y, site = case = problem(14, n_classes=2, n=25)
    lam, C1, C2 = 0.4, 0.8, 1.7
    model = fit(UndoBias(C1, C2, lam, kernel="rbf", gamma=0.1, **EXACT), case)
    K = rbf_kernel(X, gamma=0.1)
    second = np.repeat([False, True], len(X))
    both = np.concatenate([site, site])
    same = (second[:, None] & second) & (both[:, None] == both)
    tilde = np.tile(K, (2, 2)) * (1 + same / lam)
    full = np.zeros((len(X), 4))
    full[model.support_] = model.dual_coef_[..., 0]
    gamma = lam * full[np.arange(len(X)), site]
    coef = np.concatenate([full[:, 0] - gamma, gamma])
    f = tilde @ coef
    f += model.intercept_[0]
    f[len(X) :] += model.domain_intercept_[site - 1, 0]
    expected = [model.decision_function(X), model.decision_function(X, sample_domain=site)]
    assert_allclose(f, np.concatenate(expected), atol=1e-8)
    signs = np.tile(signs_of(y)[:, 0], 2)
    cost = np.repeat([C1, C2], len(X))
    primal = coef @ tilde @ coef / 2 + cost @ hinge(signs * f)
    dual = (signs * coef).sum() - coef @ tilde @ coef / 2
    assert_allclose(model.objective_[0], primal, rtol=1e-8)
    assert_allclose(primal, dual, rtol=1e-6)


def test_a_gram_matrix_and_a_function_stand_for_a_kernel():
    X, y, site = case = problem(15)
    new = np.random.default_rng(0).normal(size=(6, X.shape[1]))
    asked = [1, 2, 3, 9, 1, 2]
    expected = fit(UndoBias(kernel="rbf", gamma=0.2), case)
    expected = expected.decision_function(new, sample_domain=asked)
    given = UndoBias(kernel="precomputed").fit(rbf_kernel(X, gamma=0.2), y, sample_domain=site)
    actual = given.decision_function(rbf_kernel(new, X, gamma=0.2), sample_domain=asked)
    assert_allclose(actual, expected, atol=1e-3)
    function = fit(UndoBias(kernel=rbf_kernel, kernel_params={"gamma": 0.2}), case)
    assert_allclose(function.decision_function(new, sample_domain=asked), expected, atol=1e-3)


@pytest.mark.parametrize("p", [4, 100])
def test_sparse_samples_give_the_same_machine(p):
    X, y, site = problem(16, p=p)
    X = np.where(np.abs(X) > 1, X, 0)
    dense = fit(UndoBias(**EXACT), (X, y, site))
    thin = fit(UndoBias(**EXACT), (sparse.csr_array(X), y, site))
    assert_allclose(thin.coef_, dense.coef_, atol=1e-4)
    actual = thin.decision_function(sparse.csr_array(X), sample_domain=site)
    assert_allclose(actual, dense.decision_function(X, sample_domain=site), atol=1e-4)


def test_the_order_of_the_samples_does_not_matter_to_decision_values():
    X, y, site = case = problem(17)
    mixed = np.random.default_rng(0).permutation(len(X))
    expected = fit(UndoBias(), case).decision_function(X)
    other = fit(UndoBias(), (X[mixed], y[mixed], site[mixed]))
    assert_array_equal(other.decision_function(X), expected)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("scale", [1e-6, 30.0])
@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0])
def test_no_setting_of_scale_and_cost_is_out_of_reach(kernel, scale, C):
    X, y, site = problem(18)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = fit(UndoBias(C, C, kernel=kernel), (scale * X, y, site))
    assert np.isfinite(model.decision_function(scale * X, sample_domain=site)).all()


def test_another_kernel_in_a_second_fit_leaves_no_weights_behind():
    case = problem(19)
    model = fit(UndoBias(), case)
    assert model.coef_.shape == (3, 4)
    assert model.domain_coef_.shape == (3, 3, 4)
    fit(model.set_params(kernel="rbf"), case)
    with pytest.raises(AttributeError, match="kernel='linear'"):
        _ = model.coef_


# --- sets of classes ------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_set_has_all_classes_whose_machine_is_positive(n_classes):
    X, _, site = case = problem(20, n_classes=n_classes)
    model = fit(UndoBias(), case)
    for asked in (None, site):
        sets = model.predict_set(X, sample_domain=asked)
        values = model.decision_function(X, sample_domain=asked)
        assert sets.dtype == bool
        assert sets.shape == (len(X), n_classes)
        if n_classes == 2:
            assert_array_equal(sets, np.column_stack([values < 0, values > 0]))
        else:
            assert_array_equal(sets, values > 0)


def test_the_share_of_sets_with_the_true_class_is_at_least_that_of_right_and_positive_answers():
    X, y, _ = case = problem(21, noise=2.0)
    model = fit(UndoBias(1.0, 1.0, 1.0), case)
    values, predicted = model.decision_function(X), model.predict(X)
    positive = values.max(axis=1) > 0
    assert 0 < positive.sum() < len(X)
    sets = model.predict_set(X)
    assert (sets.sum(axis=1) > 1).any()
    right = (predicted == y)[positive].mean()
    assert set_accuracy(y[positive], sets[positive], model.classes_) >= right
    assert set_accuracy(y[~positive], sets[~positive], model.classes_) == 0


def test_the_share_of_sets_with_the_true_class_is_counted_one_by_one():
    rng = np.random.default_rng(22)
    classes = np.array(["ant", "bee", "cow"])
    y, sets = rng.choice(classes, size=40), rng.uniform(size=(40, 3)) > 0.4
    expected = sum(bool(s[classes.tolist().index(k)]) for k, s in zip(y, sets, strict=True)) / 40
    assert_allclose(set_accuracy(y, sets, classes), expected)
    assert set_accuracy(y, np.ones((40, 3), dtype=bool), classes) == 1


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"C_shared": 0}, ValueError, r"C_shared must lie in \(0, inf\), got 0"),
        ({"C_domain": -1.0}, ValueError, r"C_domain must lie in \[0, inf\)"),
        ({"bias_weight": 0.0}, ValueError, r"bias_weight must lie in \(0, inf\)"),
        ({"bias_weight": "much"}, TypeError, "bias_weight must be a number, got 'much'"),
        ({"tol": 0.0}, ValueError, r"tol must lie in \(0, inf\)"),
        ({"kernel": "sigmoid", "coef0": -5.0}, ValueError, "not positive semi-definite"),
    ],
)
def test_an_impossible_setting_is_named(parameters, error, message):
    with pytest.raises(error, match=message):
        fit(UndoBias(**parameters), problem())


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (([0, 1], [[1, 0], [0, 1]], [0, 1]), TypeError, "sets must be a boolean array"),
        (([0, 1], [[True, False]], [0, 1]), ValueError, r"each of 2 samples .* shape \(1, 2\)"),
        (([0], [[True, False]], [0, 1, 2]), ValueError, r"each of 3 classes, got shape \(1, 2\)"),
        (([0, 7], np.ones((2, 2), bool), [0, 1]), ValueError, "classes does not name: .*7"),
        (([], np.ones((0, 2), bool), [0, 1]), ValueError, "y_true not empty"),
        (([[0]], np.ones((1, 2), bool), [0, 1]), ValueError, "must be one-dimensional"),
    ],
)
def test_sets_that_do_not_fit_their_samples_are_named(given, error, message):
    with pytest.raises(error, match=message):
        set_accuracy(*given)
