"""Domain adaptation machine: the optimum of the printed problem, its weights and its limits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import minimize
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, SVR

from skatter import SCA, make_domain_pipeline
from skatter.methods._dam import DAM
from skatter.scatter import mmd, total_scatter

EXACT = {"kernel": "rbf", "gamma": 0.2, "normalize": False, "tol": 1e-8}
"""Kernel values as they are; with this kernel the solver reaches its tolerance."""


def problem(seed=0, n_sources=2, n_classes=3, n=24, n_known=0, p=4):
    """Sources 1, 2 .. at growing distances from the target -9; its first labels may be known."""
    rng = np.random.default_rng(seed)
    site = np.repeat([*range(1, n_sources + 1), -9], n)
    y = rng.integers(n_classes, size=len(site))
    X = rng.normal(size=(len(site), p)) + 2 * rng.normal(size=(n_classes, p))[y]
    X[:, 0] += np.where(site > 0, 0.4 * site, 0)
    known = (site > 0) | (np.cumsum(site < 0) <= n_known)
    return X, np.where(known, y, -1), site


def fit(model, case):
    X, y, site = case
    return model.fit(X, y, sample_domain=site)


def signs_of(y, n_classes):
    columns = range(n_classes) if n_classes > 2 else [1]
    return np.column_stack([np.where(y == k, 1.0, -1.0) for k in columns])


def in_columns(values):
    return values[:, None] if values.ndim == 1 else values


def source_values(case, X_new, gamma=0.2, C=1.0):
    """Decision values of scikit-learn's machines: sources, samples, machines."""
    X, y, site = case
    n_classes = len(np.unique(y[y >= 0]))
    return np.array(
        [
            np.column_stack(
                [
                    SVC(gamma=gamma, C=C, tol=1e-8)
                    .fit(X[site == s], column)
                    .decision_function(X_new)
                    for column in signs_of(y[site == s], n_classes).T
                ]
            )
            for s in np.unique(site[site > 0])
        ]
    )


# --- the optimum ----------------------------------------------------------------------------------


class Printed:
    """The printed problem for the linear kernel, by a solver that knows no dual.

    ``y`` holds +1 and -1, and 0 where a sample is unlabelled; ``Fs`` has a row for each source.
    """

    def __init__(self, X, Fs, y, weights, C, theta, epsilon):
        self.X, self.Fs, self.y, self.weights = X, Fs, y, weights
        self.C, self.theta, self.epsilon = C, theta, epsilon

    def trust(self, f):
        """What values f of the samples cost."""
        known = self.y != 0
        distance = np.where(known, (f - self.y) ** 2, self.weights @ (f - self.Fs) ** 2)
        return self.theta / 2 * distance

    def objective(self, w, b):
        """At the best f, which is where one of the two terms is smallest or their slopes meet."""
        fitted = self.X @ w + b
        middle = np.where(self.y != 0, self.y, self.weights @ self.Fs)
        reach = self.C / self.theta
        candidates = (
            middle,
            middle + reach,
            middle - reach,
            fitted + self.epsilon,
            fitted - self.epsilon,
        )
        costs = [
            self.trust(f) + self.C * np.maximum(0, np.abs(fitted - f) - self.epsilon)
            for f in candidates
        ]
        return w @ w / 2 + np.min(costs, axis=0).sum()

    def solve(self):
        """Minimise over w, b, f, ξ and ξ*."""
        n, p = self.X.shape
        one, zero, ones = np.eye(n), np.zeros((n, n)), np.ones((n, 1))
        A = np.vstack(
            [
                np.hstack([self.X, ones, -one, one, zero]),
                np.hstack([-self.X, -ones, one, zero, one]),
            ]
        )

        def objective(v):
            w, f, slack = v[:p], v[p + 1 : p + 1 + n], v[p + 1 + n :]
            return w @ w / 2 + self.trust(f).sum() + self.C * slack.sum()

        found = minimize(
            objective,
            np.concatenate([np.zeros(p + 1 + n), np.zeros(2 * n)]),
            method="SLSQP",
            constraints={
                "type": "ineq",
                "fun": lambda v: A @ v + self.epsilon,
                "jac": lambda v: A,
            },
            bounds=[(None, None)] * (p + 1 + n) + [(0, None)] * (2 * n),
            options={"ftol": 1e-15, "maxiter": 2000},
        )
        return found.x[:p], found.x[p]


@pytest.mark.parametrize("theta", [0.3, 5.0])
@pytest.mark.parametrize("C", [0.2, 10.0])
def test_regression_on_virtual_labels_solves_the_printed_problem(C, theta):
    """Values f free and unequal weights of two sources, some target labels known."""
    X, y, site = case = problem(1, n_classes=2, n=12, n_known=4, p=2)
    given = {"kernel": "linear", "normalize": False, "tol": 1e-8, "source_weights": [1, 3]}
    model = fit(DAM(C, theta=theta, epsilon=0.15, **given), case)
    target = site < 0
    Fs = np.array(
        [
            SVC(kernel="linear", tol=1e-6)
            .fit(X[site == s], y[site == s])
            .decision_function(X[target])
            for s in (1, 2)
        ]
    )
    labels = np.where(y[target] < 0, 0, 2.0 * y[target] - 1)
    printed = Printed(X[target], Fs, labels, np.array([0.25, 0.75]), C, theta, 0.15)
    w, b = printed.solve()
    assert_allclose(model.decision_function(X), X @ w + b, atol=2e-5)
    ours = model.decision_function(np.vstack([np.eye(2), np.zeros((1, 2))]))
    assert_allclose(
        printed.objective(ours[:2] - ours[2], ours[2]), printed.objective(w, b), rtol=1e-8
    )


def test_the_machine_is_support_vector_regression_with_a_ridge_on_the_kernel():
    X, y, site = case = problem(2, n_known=5)
    model = fit(DAM(2.0, theta=0.7, epsilon=0.05, source_weights="uniform", **EXACT), case)
    target = site < 0
    virtual = source_values(case, X[target]).mean(axis=0)
    known = y[target] >= 0
    virtual[known] = signs_of(y[target], 3)[known]
    K = rbf_kernel(X[target], gamma=0.2)
    for k, wanted in enumerate(virtual.T):
        machine = SVR(kernel="precomputed", C=2.0, epsilon=0.05, tol=1e-8)
        machine.fit(K + np.eye(len(K)) / 0.7, wanted)
        new = rbf_kernel(X, X[target], gamma=0.2)  # the original kernel, without a ridge
        assert_allclose(model.decision_function(X)[:, k], machine.predict(new), atol=1e-6)
    assert target[model.support_].all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_with_all_trust_in_one_source_its_values_are_reproduced_on_the_target(n_classes):
    X, _, site = case = problem(3, n_sources=1, n_classes=n_classes)
    model = fit(DAM(1e6, theta=1e8, epsilon=0.0, **EXACT), case)
    expected = source_values(case, X[site < 0])[0]
    assert_allclose(in_columns(model.decision_function(X[site < 0])), expected, atol=1e-5)


def test_with_all_trust_in_labels_they_are_reproduced():
    X, y, site = case = problem(4, n_known=24)
    model = fit(DAM(1e6, theta=1e8, epsilon=0.0, **EXACT), case)
    expected = signs_of(y[site < 0], 3)
    assert_allclose(model.decision_function(X[site < 0]), expected, atol=1e-5)


def test_without_trust_nothing_but_a_constant_is_learnt():
    X, *_ = case = problem(5)
    values = fit(DAM(theta=1e-9, **EXACT), case).decision_function(X)
    assert_allclose(np.ptp(values, axis=0), 0, atol=1e-6)


def test_errors_below_epsilon_need_no_support():
    X, *_ = case = problem(5)
    model = fit(DAM(epsilon=100.0, **EXACT), case)
    assert not model.dual_coef_.any()
    assert_allclose(np.ptp(model.decision_function(X), axis=0), 0, atol=1e-12)


# --- weights of the sources -----------------------------------------------------------------------


def test_weights_fall_with_the_discrepancy_of_source_and_target():
    X, _, site = case = problem(6, n_sources=3)
    model = fit(DAM(beta=7.0, rho=1.5, **EXACT), case)
    distance = [
        np.sqrt(mmd(X[site == s], X[site < 0], kernel="rbf", gamma=0.2).value) for s in (1, 2, 3)
    ]
    assert_allclose(model.mmd_, distance, rtol=1e-10)
    weights = np.exp(-7 * np.array(distance) ** 1.5)
    assert_allclose(model.source_weights_, weights / weights.sum(), rtol=1e-10)


def test_weights_too_small_to_be_numbers_still_sum_to_one():
    case = problem(6, n_sources=3)
    model = fit(DAM(beta=1e7), case)
    assert (np.exp(-1e7 * model.mmd_**2) == 0).all()
    assert_array_equal(model.source_weights_, [1, 0, 0])


def test_the_nearest_source_that_knows_a_class_decides_about_it():
    """With winner-takes-all weights, one source for most classes and another for the last."""
    X, y, site = problem(7)
    y[(site == 1) & (y == 2)] = -1
    settings = {"theta": 1e8, "C": 1e6, "epsilon": 0.0, **EXACT}
    actual = fit(DAM(beta=1e7, **settings), (X, y, site)).decision_function(X[site < 0])
    second = np.isin(site, (2, -9))
    alone = fit(DAM(**settings), (X[second], y[second], site[second]))
    assert_allclose(actual[:, 2], alone.decision_function(X[site < 0])[:, 2], atol=1e-5)
    own = (site == 1) & (y >= 0)
    near = SVC(gamma=0.2, tol=1e-8).fit(X[own], y[own]).decision_function(X[site < 0])
    assert_allclose(actual[:, 1], near, atol=1e-5)
    assert_allclose(actual[:, 0], -near, atol=1e-5)


def test_where_no_source_can_tell_each_says_what_it_sees():
    X = np.random.default_rng(0).normal(size=(14, 2))
    y = np.repeat([0, 1, -1], [5, 5, 4])
    site = np.repeat([1, 2, -3], [5, 5, 4])
    model = DAM(source_weights=[1, 3]).fit(X, y, sample_domain=site)
    assert_allclose(model.decision_function(X), 0.5, atol=1e-9)


def test_equal_weights_are_those_that_are_given_as_equal():
    X, *_ = case = problem(8)
    uniform = fit(DAM(source_weights="uniform"), case)
    assert_allclose(uniform.source_weights_, [0.5, 0.5])
    given = fit(DAM(source_weights=[2, 2]), case)
    assert_array_equal(given.decision_function(X), uniform.decision_function(X))
    other = fit(DAM(source_weights=[1, 3]), case)
    assert_allclose(other.source_weights_, [0.25, 0.75])
    assert not np.array_equal(other.decision_function(X), uniform.decision_function(X))


# --- units and containers -------------------------------------------------------------------------


def test_normalised_parameters_are_in_units_of_the_scatter():
    X, *_ = case = problem(9)
    unit = total_scatter(X, kernel="linear")
    shared = {"kernel": "linear", "tol": 1e-5}
    actual = fit(DAM(2.0, theta=3.0, C_source=0.5, beta=4.0, **shared), case)
    plain = {"C": 2.0 / unit, "theta": 3.0 / unit, "C_source": 0.5 / unit, "beta": 4.0 / unit}
    expected = fit(DAM(**plain, normalize=False, **shared), case)
    assert_allclose(actual.source_weights_, expected.source_weights_, rtol=1e-9)
    assert_allclose(actual.decision_function(X), expected.decision_function(X), atol=1e-3)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_units_of_the_features_do_not_matter(scale):
    X, y, site = case = problem(10)
    expected = fit(DAM(), case).decision_function(X)
    actual = fit(DAM(), (scale * X, y, site)).decision_function(scale * X)
    assert_allclose(actual, expected, atol=5e-3)


def test_a_shift_of_all_samples_does_not_matter():
    X, y, site = case = problem(10)
    expected = fit(DAM(), case).decision_function(X)
    actual = fit(DAM(), (X + 1e6, y, site)).decision_function(X + 1e6)
    assert_allclose(actual, expected, atol=5e-3)


def test_the_order_of_the_samples_does_not_matter_to_the_last_bit():
    X, y, site = case = problem(11, n_known=3)
    mixed = np.random.default_rng(0).permutation(len(X))
    for model in (DAM(), DAM(kernel="rbf")):
        expected = fit(model, case).decision_function(X)
        other = fit(model, (X[mixed], y[mixed], site[mixed]))
        assert_array_equal(other.decision_function(X), expected)
        assert_array_equal(np.sort(mixed[other.support_]), np.sort(fit(model, case).support_))


def test_a_gram_matrix_stands_for_a_kernel():
    X, y, site = case = problem(12, n_known=3)
    new = np.random.default_rng(0).normal(size=(6, X.shape[1]))
    expected = fit(DAM(**EXACT), case).decision_function(new)
    given = DAM(**{**EXACT, "kernel": "precomputed"})
    given.fit(rbf_kernel(X, gamma=0.2), y, sample_domain=site)
    actual = given.decision_function(rbf_kernel(new, X, gamma=0.2))
    assert_allclose(actual, expected, atol=1e-6)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_sparse_samples_give_the_same_decision_values(kernel):
    X, y, site = problem(13)
    X = np.where(np.abs(X) > 1, X, 0)
    model = DAM(kernel=kernel, tol=1e-5)
    expected = fit(model, (X, y, site)).decision_function(X)
    actual = fit(model, (sparse.csr_array(X), y, site)).decision_function(sparse.csr_array(X))
    assert_allclose(actual, expected, atol=1e-3)


# --- in a pipeline --------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_it_follows_any_features_in_a_pipeline(three_domains, kernel):
    data = three_domains
    piped = make_domain_pipeline(SCA(), DAM(kernel=kernel))
    piped.fit(data.X, data.known, sample_domain=data.domain)
    features = SCA()
    Z = features.fit_transform(data.X, data.known, sample_domain=data.domain)
    alone = DAM(kernel=kernel).fit(Z, data.known, sample_domain=data.domain)
    expected = alone.decision_function(features.transform(data.X_new))
    assert_array_equal(piped.decision_function(data.X_new), expected)
    target = data.unlabelled
    assert piped.score(data.X[target], data.y[target]) == 1


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"C": 0}, ValueError, r"C must lie in \(0, inf\), got 0"),
        ({"theta": 0.0}, ValueError, r"theta must lie in \(0, inf\)"),
        ({"epsilon": -0.1}, ValueError, r"epsilon must lie in \[0, inf\)"),
        ({"C_source": "big"}, TypeError, "C_source must be a number"),
        ({"beta": -1}, ValueError, r"beta must lie in \[0, inf\)"),
        ({"rho": -1}, ValueError, r"rho must lie in \[0, inf\)"),
        ({"normalize": 1}, ValueError, "normalize must be one of True, False"),
        ({"source_weights": "far"}, ValueError, "must be one of 'mmd', 'uniform', got 'far'"),
        ({"source_weights": [1, -1]}, ValueError, "must be positive and finite"),
        ({"source_weights": [1]}, ValueError, r"1 values for 2 sources \(1, 2\)"),
    ],
)
def test_an_impossible_setting_is_named(parameters, error, message):
    with pytest.raises(error, match=message):
        fit(DAM(**parameters), problem())
