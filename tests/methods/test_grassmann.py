"""Conjugate gradient over subspaces: the geometry is exact, and a minimum is found and kept."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import expm, null_space, subspace_angles
from sklearn.exceptions import ConvergenceWarning

from skatter.methods._geodesic import Geodesic
from skatter.methods._grassmann import CURVATURE, DECREASE, Point, line_search, minimise, reach
from skatter.methods._iteration import Iterations

SHAPES = [(6, 2), (5, 4), (3, 1), (9, 6)]


def basis(rng, p, d):
    return np.linalg.qr(rng.normal(size=(p, d)))[0]


def tangent(rng, W):
    D = rng.normal(size=W.shape)
    return D - W @ (W.T @ D)


def iterations(max_iter=500, tol=1e-15):
    return Iterations("test", max_iter=max_iter, tol=tol)


def variance(A):
    """tr(WᵀAW) of a symmetric A, with its derivatives."""
    return lambda W: (float(np.trace(W.T @ A @ W)), 2 * A @ W)


def symmetric(rng, p):
    A = rng.normal(size=(p, p))
    return A + A.T


# --- geometry -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("p", "d"), SHAPES)
def test_a_geodesic_is_the_exponential_of_a_rotation(p, d):
    rng = np.random.default_rng(p)
    W = basis(rng, p, d)
    D = tangent(rng, W)
    rest = null_space(W.T)
    B = rest.T @ D
    generator = np.block([[np.zeros((d, d)), -B.T], [B, np.zeros((p - d, p - d))]])
    for step in (0.0, 0.3, 1.7):
        expected = np.hstack([W, rest]) @ expm(step * generator)[:, :d]
        assert_allclose(Geodesic.along(W, D).at(step), expected, atol=1e-12)


@pytest.mark.parametrize(("p", "d"), SHAPES)
def test_the_velocity_is_the_derivative_of_the_geodesic(p, d):
    rng = np.random.default_rng(p)
    W = basis(rng, p, d)
    geodesic = Geodesic.along(W, tangent(rng, W))
    slope = (geodesic.at(0.4 + 1e-6) - geodesic.at(0.4 - 1e-6)) / 2e-6
    assert_allclose(geodesic.velocity(0.4), slope, atol=1e-8)


@pytest.mark.parametrize(("p", "d"), SHAPES)
def test_transport_keeps_inner_products_and_ends_in_the_tangent_space(p, d):
    rng = np.random.default_rng(p)
    W = basis(rng, p, d)
    D, E, F = (tangent(rng, W) for _ in range(3))
    geodesic = Geodesic.along(W, D)
    moved = [geodesic.transport(tangent, 0.7) for tangent in (D, E, F)]
    for there in moved:
        assert_allclose(geodesic.at(0.7).T @ there, 0, atol=1e-12)
    assert_allclose(np.vdot(moved[1], moved[2]), np.vdot(E, F), rtol=1e-10)
    assert_allclose(moved[0], geodesic.velocity(0.7), atol=1e-12)


def test_a_direction_of_low_rank_moves_only_what_it_names():
    W, D = np.eye(5, 3), np.zeros((5, 3))
    D[4, 0] = 2.0
    moved = Geodesic.along(W, D).at(0.25)
    expected = W.copy()
    expected[:, 0] = [np.cos(0.5), 0, 0, 0, np.sin(0.5)]
    assert_allclose(moved, expected, atol=1e-14)


# --- line search --------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [1e-4, 0.05, 0.3, 10.0])
@pytest.mark.parametrize("seed", range(4))
def test_a_step_meets_the_wolfe_conditions_or_is_as_long_as_it_may_be(seed, first):
    rng = np.random.default_rng(seed)
    A, W = symmetric(rng, 7), basis(rng, 7, 3)
    value, partial = variance(A)(W)
    gradient = partial - W @ (W.T @ partial)
    geodesic = Geodesic.along(W, -gradient)
    start = Point(0.0, value, -float(np.vdot(gradient, gradient)), W, gradient)
    found = line_search(variance(A), geodesic, start, first)
    assert found.value <= start.value + DECREASE * found.step * start.slope
    flat = abs(found.slope) <= CURVATURE * abs(start.slope)
    assert flat or found.step == reach(geodesic)
    assert_allclose(found.W, geodesic.at(found.step))
    assert_allclose(found.value, variance(A)(found.W)[0])


def test_an_overshoot_is_corrected_by_two_more_trials():
    # Along the circle tr(WᵀAW) is a cosine, lowest after the angle that the start is away.
    angle, trials = 0.1, []

    def cosine(W):
        trials.append(W)
        return variance(np.diag([1.0, 0.0]))(W)

    W = np.array([[np.sin(angle)], [np.cos(angle)]])
    value, partial = cosine(W)
    gradient = partial - W @ (W.T @ partial)
    start = Point(0.0, value, -float(np.vdot(gradient, gradient)), W, gradient)
    geodesic = Geodesic.along(W, -gradient)
    found = line_search(cosine, geodesic, start, reach(geodesic))
    assert abs(found.W[0, 0]) < 0.01
    assert len(trials) <= 3


def test_no_step_is_taken_where_none_lowers_the_value():
    rng = np.random.default_rng(0)
    W = basis(rng, 5, 2)
    D = tangent(rng, W)
    start = Point(0.0, 1.0, -1.0, W, -D)
    found = line_search(
        lambda V: (1.0 + np.linalg.norm(V - W), -D), Geodesic.along(W, D), start, 0.1
    )
    assert found is start


# --- minimum ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("p", "d"), SHAPES)
def test_the_subspace_of_least_variance_is_the_last_eigenvectors(p, d):
    rng = np.random.default_rng(p)
    A = symmetric(rng, p)
    W = minimise(variance(A), basis(rng, p, d), iterations())
    values, vectors = np.linalg.eigh(A)
    assert subspace_angles(W, vectors[:, :d]).max() < 1e-6
    assert_allclose(variance(A)(W)[0], values[:d].sum(), rtol=1e-12)


def test_the_nearest_plane_to_a_given_one_is_itself():
    rng = np.random.default_rng(1)
    goal, start = basis(rng, 8, 3), basis(rng, 8, 3)
    P = goal @ goal.T

    def distance(W):
        inside = P @ W
        overlap = float(np.vdot(W, inside))
        return np.exp(3 - overlap) - 1, -2 * np.exp(3 - overlap) * inside

    W = minimise(distance, start, iterations(tol=1e-14))
    assert subspace_angles(W, goal).max() < 1e-5


def test_the_value_never_rises_and_the_basis_stays_orthonormal():
    rng = np.random.default_rng(2)
    A, counted = symmetric(rng, 30), iterations(max_iter=300, tol=0)
    W = minimise(variance(A), basis(rng, 30, 8), counted)
    assert len(counted.objective) == 300
    assert np.diff(counted.objective).max() <= 0
    assert_allclose(W.T @ W, np.eye(8), atol=1e-13)
    assert_allclose(variance(A)(W)[0], counted.objective[-1])


def test_the_choice_of_the_basis_to_start_from_does_not_matter():
    rng = np.random.default_rng(3)
    A, start = symmetric(rng, 9), basis(rng, 9, 4)
    one, other = iterations(max_iter=6, tol=0), iterations(max_iter=6, tol=0)
    W = minimise(variance(A), start, one)
    V = minimise(variance(A), start @ basis(rng, 4, 4), other)
    assert_allclose(other.objective, one.objective, rtol=1e-10)
    assert_allclose(V @ V.T, W @ W.T, atol=1e-10)


def test_conjugate_directions_need_far_fewer_steps_than_steepest_descent():
    A = np.diag(np.linspace(1, 100, 40))
    start = basis(np.random.default_rng(4), 40, 1)
    counted = iterations(tol=1e-12)
    minimise(variance(A), start, counted)
    w, steps, value = start, 0, np.inf
    while (now := variance(A)(w)[0]) < value - 1e-12 * variance(A)(start)[0]:
        value, steps = now, steps + 1
        g = variance(A)(w)[1]
        g -= w * (w.T @ g)
        # The best step of all: the lesser eigenvector of A on the plane of w and g.
        plane = np.linalg.qr(np.hstack([w, g]))[0]
        w = plane @ np.linalg.eigh(plane.T @ A @ plane)[1][:, :1]
    assert len(counted.objective) < steps / 3


def test_a_search_without_a_gradient_is_over_at_once():
    W = np.eye(4, 2)
    counted = iterations(tol=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = minimise(lambda W: (0.0, np.zeros_like(W)), W, counted)
    assert_array_equal(found, W)
    assert counted.objective == [0.0]


def test_a_gradient_of_mere_rounding_moves_nothing():
    rng = np.random.default_rng(5)
    W = basis(rng, 6, 2)
    noise = 1e-17 * rng.normal(size=(6, 2))
    counted = iterations(max_iter=5, tol=0)
    found = minimise(lambda V: (float(np.vdot(V, noise)), noise), W, counted)
    assert_array_equal(found, W)
    assert len(counted.objective) == 5


def test_a_plateau_is_crossed():
    # Flat around the start: a step as long as allowed gains less than the tolerance.
    P = np.diag([1.0, 0.0])

    def steep(W):
        high = float(np.vdot(W, P @ W))
        return high**0.25, 0.5 * high**-0.75 * P @ W

    angle = 0.05
    start = np.array([[np.cos(angle)], [np.sin(angle)]])
    counted = iterations(max_iter=50, tol=0.1)
    found = minimise(steep, start, counted)
    assert counted.objective[0] > 0.9 * steep(start)[0]
    assert steep(found)[0] < 0.5


def test_a_search_that_is_cut_short_says_so():
    rng = np.random.default_rng(6)
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        minimise(variance(symmetric(rng, 20)), basis(rng, 20, 5), iterations(2, tol=1e-12))
