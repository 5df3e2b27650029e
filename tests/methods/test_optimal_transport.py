"""Optimal transport: marginals, another library's plans, and what the penalties do."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import null_space
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from skatter.methods import LinearTransport, OptimalTransport, _optimal_transport
from skatter.methods._optimal_transport import BLOCKS, MARGINAL, SWEEPS, log_transport, relaxation


@pytest.fixture(scope="module")
def problem(make_problem):
    return make_problem(2, n=10, seed=2)


def fitted(model, problem, **changes):
    given = {"y": problem.known, "sample_domain": problem.domain, **changes}
    return model.fit(problem.X, **given)


def mean_cost(problem):
    cost = cdist(problem.X[~problem.unlabelled], problem.X[problem.unlabelled], "sqeuclidean")
    return cost / cost.mean()


def test_every_source_sample_sends_what_it_has_and_every_target_sample_is_filled(problem):
    plan = fitted(OptimalTransport(entropy=0.1), problem).plan_
    assert_allclose(plan.sum(axis=0), 1 / plan.shape[1], atol=1e-10)
    assert_allclose(plan.sum(axis=1), 1 / plan.shape[0], atol=1e-7)


def test_the_plan_without_classes_is_that_of_another_library(problem, require):
    ot = require("ot")
    plan = fitted(OptimalTransport(entropy=0.2, class_weight=0.0), problem).plan_
    cost = mean_cost(problem)
    weights = np.full(30, 1 / 30)
    expected = ot.sinkhorn(weights, weights, cost, 0.2, method="sinkhorn_log", stopThr=1e-12)
    assert_allclose(plan, expected, atol=1e-8)


def test_the_plan_is_the_fixed_point_of_its_classes(problem):
    model = fitted(
        OptimalTransport(entropy=0.2, class_weight=0.3, tol=1e-12, max_iter=200), problem
    )
    source = problem.y[~problem.unlabelled]
    penalty = np.zeros((30, 30))
    for c in range(3):
        own = source == c
        penalty[own] = 0.5 / np.sqrt(30 * model.plan_[own].sum(axis=0) + 1e-3)
    again = np.exp(log_transport(mean_cost(problem) + 0.3 * penalty, 0.2)[0])
    assert_allclose(again, model.plan_, atol=1e-6)


def test_the_objective_never_rises(problem):
    objective = fitted(OptimalTransport(class_weight=1.0, tol=0, max_iter=8), problem).objective_
    assert (np.diff(objective) <= 1e-7).all()


def test_little_entropy_is_the_cheapest_assignment():
    cost = np.random.default_rng(0).uniform(size=(6, 6))
    plan = np.exp(log_transport(cost, 5e-3)[0])
    rows, columns = linear_sum_assignment(cost)
    assert_allclose(plan[rows, columns], 1 / 6, rtol=0.05)


def plain(cost, entropy, sweeps):
    """Sinkhorn in logarithms, one row and one column at a time."""
    log_kernel, (n, m) = -cost / entropy, cost.shape
    g = np.zeros(m)
    for _ in range(sweeps):
        f = -np.log(n) - np.logaddexp.reduce(log_kernel + g, axis=1)
        g = -np.log(m) - np.logaddexp.reduce(log_kernel + f[:, None], axis=0)
    return np.exp(log_kernel + f[:, None] + g)


@pytest.fixture(scope="module")
def apart():
    """Two clusters of unequal shares, between which mass moves slowly."""
    here, there = (np.repeat([0.0, 1.0], sizes) for sizes in ([6, 4], [5, 5]))
    noise = np.random.default_rng(0).uniform(size=(10, 10))
    return np.subtract.outer(here, there) ** 2 + 0.1 * noise


@pytest.mark.parametrize("entropy", [0.3, 0.1, 0.06, 0.04])
def test_the_plan_is_that_of_many_plain_sweeps(apart, entropy):
    actual = np.exp(log_transport(apart, entropy)[0])
    assert_allclose(actual, plain(apart, entropy, 20_000), atol=3e-8)


def test_relaxed_sweeps_reach_what_as_many_plain_ones_do_not():
    line = np.linspace(0, 1, 12)
    cost = np.subtract.outer(line, line**2) ** 2
    slow, fast = plain(cost, 3e-3, BLOCKS * SWEEPS), np.exp(log_transport(cost, 3e-3)[0])
    assert np.abs(slow.sum(axis=1) - 1 / 12).sum() > 100 * MARGINAL
    assert np.abs(fast.sum(axis=1) - 1 / 12).sum() < MARGINAL


def test_sweeps_that_lead_astray_are_taken_back(apart, monkeypatch):
    expected = np.exp(log_transport(apart, 0.3)[0])
    taken = []

    def too_far(omega, share):
        taken.append(2.5 if share > 0 else 1.0)
        return taken[-1]

    monkeypatch.setattr(_optimal_transport, "relaxation", too_far)
    assert_allclose(np.exp(log_transport(apart, 0.3)[0]), expected, atol=1e-7)
    assert 2.5 in taken


@pytest.mark.parametrize("omega", [1.0, 1.3, 1.5])
def test_the_relaxation_is_the_best_for_what_sweeps_leave(omega):
    theta = 0.95

    def share(omega):  # of over-relaxed Gauss-Seidel for two unknowns with this correlation
        sweep = np.array([[1 - omega, omega * theta], [0, 1]])
        sweep = np.array([[1, 0], [omega * theta, 1 - omega]]) @ sweep
        return np.abs(np.linalg.eigvals(sweep)).max()

    tried = np.linspace(1, 1.99, 991)
    best = tried[np.argmin([share(each) for each in tried])]
    assert relaxation(omega, share(omega)) == pytest.approx(best, abs=2e-3)


def test_classes_share_fewer_target_samples_the_more_it_costs(problem):
    def shared(weight):
        plan = fitted(OptimalTransport(entropy=0.3, class_weight=weight), problem).plan_
        source = problem.y[~problem.unlabelled]
        shares = np.array([plan[source == c].sum(axis=0) for c in range(3)])
        return float(np.mean(1 - shares.max(axis=0) / shares.sum(axis=0)))

    assert shared(0.0) > shared(0.1) > shared(1.0)


def test_target_samples_stay_and_source_samples_go_to_means_of_target_samples(problem):
    model = fitted(OptimalTransport(), problem)
    Z = model.transform(problem.X, sample_domain=problem.domain)
    there = problem.unlabelled
    assert_allclose(Z[there], problem.X[there], rtol=0, atol=0)
    expected = 30 * model.plan_ @ problem.X[there]
    assert_allclose(Z[~there], expected, atol=1e-5)


def test_the_linear_map_is_that_of_another_library(problem, require):
    ot = require("ot")
    model = fitted(LinearTransport(ridge=0.0), problem)
    source, target = problem.X[~problem.unlabelled], problem.X[problem.unlabelled]
    A, b = ot.gaussian.bures_wasserstein_mapping(
        source.mean(axis=0), target.mean(axis=0), np.cov(source.T), np.cov(target.T)
    )
    assert_allclose(model.map_, A, atol=1e-8)
    moved = model.transform(source, sample_domain=np.full(30, "amsterdam"))
    assert_allclose(moved, source @ A + b, atol=1e-8)


def test_the_linear_map_matches_mean_and_covariance(problem):
    Z = LinearTransport(ridge=0.0).fit_transform(
        problem.X, problem.known, sample_domain=problem.domain
    )
    here, there = Z[~problem.unlabelled], Z[problem.unlabelled]
    assert_allclose(here.mean(axis=0), there.mean(axis=0), atol=1e-10)
    assert_allclose(np.cov(here.T), np.cov(there.T), atol=1e-8)


@pytest.fixture(scope="module")
def wide():
    """12 source and 8 target samples of 30 features."""
    X = np.random.default_rng(0).normal(size=(20, 30)) * np.linspace(2, 0.5, 30)
    return X, np.repeat([1, -2], [12, 8])


def power(C, exponent):
    """Symmetric power; zero where the eigenvalue is."""
    values, U = np.linalg.eigh(C)
    there = values > 1e-10 * values.max()
    return (U[:, there] * values[there] ** exponent) @ U[:, there].T


def ridged(X, ridge):
    C = np.cov(X.T)
    return C + ridge * np.trace(C) / len(C) * np.eye(len(C))


@pytest.mark.parametrize("ridge", [0.0, 0.01, 0.1, 1.0])
def test_the_linear_map_of_few_samples_is_that_of_full_covariances(wide, ridge):
    X, domain = wide
    model = LinearTransport(ridge=ridge).fit(X, sample_domain=domain)
    source, target = (ridged(X[domain == d], ridge) for d in (1, -2))
    root, inverse = power(source, 0.5), power(source, -0.5)
    A = inverse @ power(root @ target @ root, 0.5) @ inverse
    assert_allclose(model.map_, A, atol=1e-8)
    new = np.random.default_rng(1).normal(size=(5, 30))  # outside the span of the samples
    moved = model.transform(new, sample_domain=np.ones(5))
    means = X[domain == 1].mean(axis=0), X[domain == -2].mean(axis=0)
    assert_allclose(moved, (new - means[0]) @ A + means[1], atol=1e-8)


@pytest.mark.parametrize("ridge", [1e-8, 1e-4, 1e-3])
def test_the_linear_map_of_few_samples_has_full_rank_and_matches_ridged_covariances(wide, ridge):
    X, domain = wide
    A = LinearTransport(ridge=ridge).fit(X, sample_domain=domain).map_
    source, target = (ridged(X[domain == d], ridge) for d in (1, -2))
    assert_allclose(A, A.T, atol=1e-10 * np.abs(A).max())
    assert np.linalg.eigvalsh(A)[0] > 0
    assert_allclose(A @ source @ A, target, atol=1e-8)


def test_outside_the_span_of_the_samples_the_linear_map_is_a_multiple_of_the_identity(wide):
    X, domain = wide
    A = LinearTransport(ridge=1e-3).fit(X, sample_domain=domain).map_
    outside = null_space(np.vstack([X[domain == d] - X[domain == d].mean(axis=0) for d in (1, -2)]))
    variances = [np.trace(np.cov(X[domain == d].T)) for d in (1, -2)]
    assert_allclose(A @ outside, np.sqrt(variances[1] / variances[0]) * outside, atol=1e-10)
