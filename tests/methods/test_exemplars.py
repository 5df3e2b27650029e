"""Exemplar classifiers: derivatives, and the optimum of each against a solver of one at a time."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime, minimize
from sklearn.linear_model import LogisticRegression

from skatter.methods import _exemplars as exemplars
from skatter.methods._exemplars import Exemplars, common_start, solve

SETTINGS = {
    "independent": {"C_positive": 3.0, "C_negative": 0.2, "tie": 0.0},
    "tied": {"C_positive": 3.0, "C_negative": 0.2, "tie": 2.0},
    "hardly a positive": {"C_positive": 0.05, "C_negative": 2.0, "tie": 0.5},
    "heavy": {"C_positive": 200.0, "C_negative": 5.0, "tie": 0.0},
}


def problem(P=9, n=40, p=5, seed=0, **costs):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    X[:P] += 1.2
    X[:, -1] = 1
    costs = costs or SETTINGS["tied"]
    return Exemplars(X, P, **costs), rng.uniform(size=(P, P))


def objective(case, F, i, w):
    """One exemplar, word by word."""
    X, P = case.X, case.n_positives
    likelihood = 1 / (1 + np.exp(-X[:P] @ w))
    return (
        w @ w
        + case.C_positive * np.log1p(np.exp(-w @ X[i]))
        + case.C_negative * sum(np.log1p(np.exp(w @ x)) for x in X[P:])
        + case.tie * sum((likelihood[m] - F[i, m]) ** 2 for m in range(P))
    )


def values_and_gradient(case, F, W):
    own = np.arange(len(W))
    A = W @ case.X.T
    values = (W**2).sum(axis=1) + case.losses(A, own, F)
    return values, 2 * W + case.slopes(A, own, F) @ case.X


def start(case):
    return np.tile(common_start(case), (case.n_positives, 1))


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_objective_of_all_exemplars_is_that_of_each(setting):
    case, F = problem(**SETTINGS[setting])
    W = np.random.default_rng(1).normal(size=(9, 5))
    expected = [objective(case, F, i, w) for i, w in enumerate(W)]
    assert_allclose(values_and_gradient(case, F, W)[0], expected, rtol=1e-12)


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_gradient_of_all_exemplars_is_that_of_finite_differences(setting):
    case, F = problem(**SETTINGS[setting])
    W = np.random.default_rng(2).normal(size=(9, 5))
    _, gradient = values_and_gradient(case, F, W)
    for i, w in enumerate(W):
        expected = approx_fprime(w, lambda v, i=i: objective(case, F, i, v), 1e-7)
        assert_allclose(gradient[i], expected, rtol=1e-4, atol=1e-4)


def test_the_curvature_is_the_mean_second_derivative_of_the_losses_of_negatives():
    case, _ = problem()
    P = case.n_positives
    A, h = np.random.default_rng(3).normal(size=(9, 40)), 1e-5
    own, F = np.arange(9), 1 / (1 + np.exp(-A[:, :P]))  # no residual: Gauss and Newton are exact
    second = (case.slopes(A + h, own, F) - case.slopes(A - h, own, F)) / (2 * h)
    s = F[own, own]
    second[own, own] -= case.C_positive * s * (1 - s)  # the share of an exemplar's own sample
    assert_allclose(case.curvature(A), second.mean(axis=0), rtol=1e-6)


@pytest.mark.parametrize("setting", SETTINGS)
def test_all_exemplars_at_once_are_those_of_one_search_for_each(setting):
    case, F = problem(**SETTINGS[setting])
    W0 = start(case)
    W, values = solve(case, W0, F, tol=1e-15, max_iter=200)
    for i in range(case.n_positives):
        found = minimize(
            lambda w, i=i: objective(case, F, i, w),
            W0[i],
            jac=lambda w, i=i: values_and_gradient(case, F, np.tile(w, (9, 1)))[1][i],
            method="L-BFGS-B",
            options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 1000},
        )
        assert_allclose(values[i], found.fun, rtol=1e-9)
        assert_allclose(W[i], found.x, atol=1e-5)


@pytest.mark.parametrize("tie", [0.0, 1.0, 50.0])
def test_the_gradient_vanishes_where_the_search_ends(tie):
    """Also with a tie so strong that the objective is far from convex."""
    case, F = problem(P=30, n=200, p=12, C_positive=10.0, C_negative=0.5, tie=tie)
    W, _ = solve(case, start(case), F, tol=1e-14, max_iter=500)
    assert_allclose(values_and_gradient(case, F, W)[1], 0, atol=1e-4)


def test_no_exemplar_is_ever_worse_than_at_its_start():
    case, F = problem(C_positive=10.0, C_negative=1.0, tie=30.0)
    for seed in range(5):
        W0 = 5 * np.random.default_rng(seed).normal(size=(9, 5))
        before = values_and_gradient(case, F, W0)[0]
        for max_iter in (1, 2, 5):
            W, values = solve(case, W0, F, tol=0.0, max_iter=max_iter)
            assert (values <= before).all()
            assert_allclose(values, values_and_gradient(case, F, W)[0], rtol=1e-12)
            before = values


@pytest.mark.parametrize("tie", [0.0, 1.0])
def test_a_few_iterations_are_enough_for_all_exemplars(tie):
    """One metric serves them all, with the tie and without."""
    case, F = problem(P=60, n=400, p=100, C_positive=10.0, C_negative=0.1, tie=0.0)
    W0 = start(case)
    if tie:
        W0, _ = solve(case, W0, F, tol=1e-8, max_iter=50)
        F = np.round(case.likelihoods(W0), 1)
        case = replace(case, tie=tie)
    best = solve(case, W0, F, tol=1e-12, max_iter=300)[1]
    assert_allclose(solve(case, W0, F, tol=1e-12, max_iter=8)[1], best, rtol=1e-6)


def test_exemplars_without_a_tie_are_logistic_regressions():
    """The intercept is an entry of w, so it is among the features of the regression."""
    case, F = problem(C_positive=4.0, C_negative=0.3, tie=0.0)
    W, _ = solve(case, start(case), F, tol=1e-15, max_iter=200)
    negatives = case.X[case.n_positives :]
    for i, w in enumerate(W):
        X = np.vstack([case.X[i], negatives])
        y = np.arange(len(X)) == 0
        cost = np.where(y, 4.0, 0.3)
        model = LogisticRegression(C=0.5, fit_intercept=False, tol=1e-10, max_iter=10_000)
        assert_allclose(w, model.fit(X, y, sample_weight=cost).coef_[0], atol=1e-5)


def test_blocks_of_exemplars_give_what_all_at_once_give(monkeypatch):
    case, F = problem()
    expected = solve(case, start(case), F, tol=1e-14, max_iter=200)
    monkeypatch.setattr(exemplars, "BLOCK", 4)
    for actual, wanted in zip(
        solve(case, start(case), F, tol=1e-14, max_iter=200), expected, strict=True
    ):
        assert_allclose(actual, wanted, atol=1e-6)


def test_the_common_start_is_the_regression_with_shared_positives():
    case, _ = problem(C_positive=4.0, C_negative=0.3, tie=0.0)
    y = np.arange(len(case.X)) < case.n_positives
    cost = np.where(y, 4.0 / case.n_positives, 0.3)
    model = LogisticRegression(C=0.5, fit_intercept=False, tol=1e-10, max_iter=10_000)
    expected = model.fit(case.X, y, sample_weight=cost).coef_[0]
    assert_allclose(common_start(case), expected, atol=1e-3)


def test_margins_beyond_the_range_of_the_exponential_are_fine():
    case, F = problem()
    W0 = np.full((9, 5), 1e3)
    with np.errstate(over="raise", invalid="raise"):
        W, values = solve(case, W0, F, tol=1e-14, max_iter=500)
    assert np.isfinite(W).all()
    assert (values < 100).all()
