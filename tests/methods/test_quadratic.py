"""The quadratic programs: the minimum, feasible on the way, with a bound that holds."""

import warnings
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import LinearConstraint, linprog
from scipy.optimize import minimize as scipy_minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from skatter.methods import _quadratic as quadratic
from skatter.methods._iteration import Iterations
from skatter.methods._quadratic import Region, minimise

some = settings(deadline=None, max_examples=25)


def solve(Q, q, region, start, *, tol=1e-10, max_iter=100):
    iterations = Iterations("search", max_iter=max_iter, tol=tol)
    x = minimise(Q, q, region, start, iterations)
    return x, iterations.objective


def value(Q, q, x):
    return x @ Q @ x / 2 - q @ x


def random_program(seed, n=5, rank=None):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, rank or n))
    return A @ A.T, rng.normal(scale=3, size=n)


def best_face(Q, q, region):
    """Minimum by brute force: of all faces, the best stationary point that is feasible."""
    n, m = len(q), len(region.low)
    best, at = np.inf, None
    for sides in product((0, 1, None), repeat=n):
        x = np.array([0.0 if s is None else (0.0, region.upper[i])[s]
                      for i, s in enumerate(sides)])  # fmt: skip
        free = np.array([s is None for s in sides])
        for tight in product((0, 1, None), repeat=m):
            rows = [g for g, t in zip(region.G, tight, strict=True) if t is not None]
            ends = [(lo, hi)[t] for lo, hi, t in zip(region.low, region.high, tight, strict=True)
                    if t is not None]  # fmt: skip
            A = np.array([*rows, *region.E]).reshape(-1, n)
            e = np.array([*ends, *(region.E @ region_start(region))])
            k, f = len(A), free.sum()
            system = np.block([[Q[np.ix_(free, free)], A[:, free].T],
                               [A[:, free], np.zeros((k, k))]])  # fmt: skip
            fixed = np.where(free, 0, x)
            rhs = np.r_[(q - Q @ fixed)[free], e - A @ fixed]
            candidate = fixed.copy()
            candidate[free] = np.linalg.lstsq(system, rhs, rcond=1e-12)[0][:f]
            if (region.slacks(candidate) > -1e-9).all() and np.allclose(A @ candidate, e):
                got = value(Q, q, candidate)
                if got < best - 1e-12:
                    best, at = got, candidate
    return best, at


def region_start(region):
    return region.upper / 2


@some
@given(seed=st.integers(0, 10_000), wide=st.booleans())
def test_the_minimum_is_that_of_the_best_face(seed, wide):
    Q, q = random_program(seed, n=4)
    side = 2.0 if wide else 0.5
    region = Region(np.full(4, side), G=np.ones((1, 4)), low=[side], high=[2.5 * side])
    x, objective = solve(Q, q, region, region_start(region))
    best, at = best_face(Q, q, region)
    assert objective[-1] == pytest.approx(best, abs=1e-7)
    assert_allclose(x, at, atol=1e-3)


@some
@given(seed=st.integers(0, 10_000))
def test_constant_sums_stay_what_they_are_and_the_minimum_is_that_of_the_best_face(seed):
    Q, q = random_program(seed, n=5)
    E = np.array([[1.0, 1, 0, 0, 0], [0, 0, 1, 1, 1]])
    region = Region(np.ones(5), E=E)
    start = region_start(region)
    x, objective = solve(Q, q, region, start)
    assert_allclose(E @ x, E @ start, rtol=1e-12)
    assert objective[-1] == pytest.approx(best_face(Q, q, region)[0], abs=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_the_minimum_is_that_of_scipys_general_solver(seed):
    rng = np.random.default_rng(seed)
    n = 25
    Q = rbf_kernel(rng.normal(size=(n, 2)), gamma=0.5)
    q = n * rng.uniform(size=n)
    groups = np.zeros((2, n))
    groups[0, :10] = groups[1, 10:] = 1
    region = Region(np.full(n, 5.0), G=groups, low=[2, 5], high=[12, 20], E=np.ones((1, n)))
    start = np.where(groups[0] == 1, 0.5, 0.6)
    expected = scipy_minimize(
        lambda x: value(Q, q, x),
        start,
        jac=lambda x: Q @ x - q,
        bounds=[(0, 5)] * n,
        constraints=[
            LinearConstraint(groups, region.low, region.high),
            LinearConstraint(np.ones(n), start.sum(), start.sum()),
        ],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-12},
    )
    x, objective = solve(Q, q, region, start)
    assert objective[-1] <= expected.fun + 1e-6
    assert objective[-1] == pytest.approx(expected.fun, rel=1e-5)
    assert_allclose(value(Q, q, x), objective[-1], rtol=1e-12)


@some
@given(seed=st.integers(0, 10_000))
def test_the_bound_is_that_of_the_best_linear_program_or_weaker(seed):
    """f(x) − min f ≤ max gᵀ(x − x'), which is what the multipliers can prove at best."""
    Q, q = random_program(seed, n=6, rank=2)
    region = Region(np.ones(6), G=np.ones((1, 6)), low=[1], high=[4])
    x, objective = solve(Q, q, region, np.full(6, 0.5))
    for steps in (1, 2, 4):
        with pytest.warns(ConvergenceWarning):
            rough, values = solve(Q, q, region, np.full(6, 0.5), max_iter=steps, tol=1e-15)
        point = quadratic.Point(rough, region.slacks(rough), np.ones((2, 7)), np.empty(0))
        gradient = Q @ rough - q
        bound = quadratic._duality_gap(region, point, gradient)
        linear = linprog(gradient, [np.ones(6), -np.ones(6)], [4, -1], bounds=[(0, 1)] * 6)
        assert bound >= gradient @ rough - linear.fun - 1e-9
        assert bound >= values[-1] - objective[-1] - 1e-9
    gradient = Q @ x - q
    linear = linprog(gradient, [np.ones(6), -np.ones(6)], [4, -1], bounds=[(0, 1)] * 6)
    assert gradient @ x - linear.fun < 1e-6


def test_a_nearly_singular_gram_matrix_takes_a_dozen_or_two_of_iterations():
    rng = np.random.default_rng(0)
    Q = rbf_kernel(rng.normal(size=(200, 1)), gamma=0.5)
    assert np.linalg.cond(Q) > 1e15
    q = 200 * rbf_kernel(rng.normal(size=(200, 1)), rng.normal(1, 0.5, size=(90, 1))).mean(axis=1)
    region = Region(np.full(200, 200.0))
    _, objective = solve(Q, q, region, np.ones(200), tol=1e-9)
    assert len(objective) < 30


def test_every_iterate_is_feasible():
    Q, q = random_program(3, n=8)
    region = Region(np.ones(8), G=np.ones((1, 8)), low=[3], high=[5])
    for steps in range(1, 8):
        with pytest.warns(ConvergenceWarning):
            x, _ = solve(Q, q, region, np.full(8, 0.5), max_iter=steps, tol=1e-16)
        assert (region.slacks(x) >= 0).all()


def test_a_start_that_is_the_minimum_is_returned_as_it_is():
    Q = rbf_kernel(np.random.default_rng(0).normal(size=(30, 2)))
    start = np.ones(30)
    x, objective = solve(Q, Q @ start, Region(np.full(30, 9.0)), start)
    np.testing.assert_array_equal(x, start)
    assert len(objective) == 1


def test_more_iterations_than_needed_do_no_harm():
    Q, q = random_program(5, n=6)
    region = Region(np.ones(6), G=np.ones((1, 6)), low=[1], high=[4])
    best, _ = solve(Q, q, region, np.full(6, 0.5))
    x, objective = solve(Q, q, region, np.full(6, 0.5), tol=0, max_iter=200)
    assert len(objective) == 200
    assert_allclose(x, best, atol=1e-6)


def test_neither_matrix_nor_start_is_written_to():
    Q, q = random_program(1, n=6)
    Q, start = np.asfortranarray(Q), np.full(6, 0.5)
    before = Q.tobytes(), q.tobytes(), start.tobytes()
    solve(Q, q, Region(np.ones(6)), start)
    assert (Q.tobytes(), q.tobytes(), start.tobytes()) == before


def test_an_indefinite_matrix_is_refused():
    with pytest.raises(np.linalg.LinAlgError):
        solve(-np.eye(3), np.zeros(3), Region(np.full(3, 1e6)), np.ones(3))


def test_a_sum_at_its_bound_does_not_drown_a_nearly_singular_matrix():
    """With the curvature of the bound in the matrix that is factored, this one is not positive."""
    rng = np.random.default_rng(1)
    X, label, T = rng.normal(size=(200, 3)), rng.integers(3, size=200), rng.normal(size=(200, 3))
    Q = rbf_kernel(X, gamma=1e-3)
    T[:, 0] += 2
    q = rbf_kernel(X, T, gamma=1e-3).mean(axis=1)
    members = (label == np.arange(3)[:, None]).astype(float)
    low, high = members.sum(axis=1) / 400, np.full(3, 2.0)
    region = Region(np.full(200, 2.0), G=members, low=low, high=high, E=np.ones((1, 200)))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        x, _ = solve(Q, q, region, np.full(200, 1 / 200), tol=1e-12)
    assert x.sum() == pytest.approx(1, abs=1e-9)
    assert (members @ x >= low - 1e-9).all()
    assert (members @ x).min() == pytest.approx(low[(members @ x).argmin()], abs=1e-6)
