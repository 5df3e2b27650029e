"""The geodesic between two subspaces against quadrature, matrix logarithms and its symmetries."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.linalg import expm, subspace_angles

from skatter.methods._geodesic import geodesic

TILTS = [1.0, 1e-2, 1e-5, 1e-8, 1e-11, 1e-15, 0.0]
"""How far the second basis is from the first: angles from large to none."""

SHAPES = [(20, 3), (40, 12), (7, 5), (6, 6), (1, 1)]
"""Features and dimension; the third pair must share directions, the fourth shares all."""


def basis(p, d, seed):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(p, d)))[0]


def pair(p, d, tilt=1.0):
    P = basis(p, d, seed=0)
    return P, np.linalg.qr(P + tilt * np.random.default_rng(1).normal(size=(p, d)))[0]


def projection(P):
    return P @ P.T


def average_of_projections(path):
    """Gauss-Legendre quadrature, exact to rounding for so smooth a function."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    return sum(
        w / 2 * projection(path.point((t + 1) / 2)) for t, w in zip(nodes, weights, strict=True)
    )


@pytest.mark.parametrize("tilt", TILTS)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_path_runs_from_the_first_subspace_to_the_second(shape, tilt):
    P, Q = pair(*shape, tilt)
    path = geodesic(P, Q)
    np.testing.assert_allclose(projection(path.point(0)), projection(P), atol=1e-14)
    np.testing.assert_allclose(projection(path.point(1)), projection(Q), atol=1e-13)
    np.testing.assert_allclose(path.point(0) @ path.rotation.T, P, atol=1e-14)


@pytest.mark.parametrize("tilt", TILTS)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_point_of_the_path_is_an_orthonormal_basis(shape, tilt):
    path = geodesic(*pair(*shape, tilt))
    for t in (0, 0.3, 0.5, 1):
        np.testing.assert_allclose(path.point(t).T @ path.point(t), np.eye(shape[1]), atol=1e-13)


@pytest.mark.parametrize("tilt", [1.0, 1e-2, 1e-5])
def test_the_angles_are_the_principal_angles(tilt):
    P, Q = pair(20, 4, tilt)
    expected = subspace_angles(P, Q)[::-1]
    np.testing.assert_allclose(geodesic(P, Q).angles, expected, rtol=1e-9)


def test_the_path_is_a_geodesic_of_constant_speed():
    """One rotation, exp of a fixed generator, moves the projections along."""
    P, Q = pair(9, 3)
    path = geodesic(P, Q)
    A, B = path.A, path.Bq
    generator = B * path.angles @ A.T - A * path.angles @ B.T
    for t in (0.25, 0.5, 1.0):
        turn = expm(t * generator)
        np.testing.assert_allclose(
            turn @ projection(P) @ turn.T, projection(path.point(t)), atol=1e-13
        )


def test_the_directions_across_are_the_velocity_of_the_path():
    path = geodesic(*pair(9, 3))
    step = 1e-6
    velocity = (path.point(0.4 + step) - path.point(0.4 - step)) / (2 * step)
    np.testing.assert_allclose(path.across(0.4) * path.angles, velocity, atol=1e-9)


@pytest.mark.parametrize("tilt", TILTS)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_factor_gives_the_average_of_all_projections_on_the_path(shape, tilt):
    path = geodesic(*pair(*shape, tilt))
    R = path.factor()
    assert R.shape == (shape[0], 2 * shape[1])
    np.testing.assert_allclose(R @ R.T, average_of_projections(path), atol=1e-14)


@pytest.mark.parametrize("tilt", [1.0, 1e-2])
def test_the_factor_is_the_published_form_with_three_blocks(tilt):
    path = geodesic(*pair(20, 4, tilt))
    A, B, angle = path.A, path.Bq, path.angles
    D1 = (1 + np.sin(2 * angle) / (2 * angle)) / 2
    D2 = (1 - np.cos(2 * angle)) / (4 * angle)
    D3 = (1 - np.sin(2 * angle) / (2 * angle)) / 2
    cross = A * D2 @ B.T
    expected = A * D1 @ A.T + cross + cross.T + B * D3 @ B.T
    np.testing.assert_allclose(path.factor() @ path.factor().T, expected, atol=1e-13)


def test_the_trace_of_the_metric_is_the_dimension_and_its_rank_twice_that():
    R = geodesic(*pair(30, 5)).factor()
    values = np.linalg.eigvalsh(R @ R.T)
    assert np.trace(R @ R.T) == pytest.approx(5, abs=1e-12)
    assert values.min() > -1e-14
    assert np.sum(values > 1e-10) == 10


def test_the_columns_of_the_factor_are_eigenvectors_of_the_metric():
    R = geodesic(*pair(30, 5)).factor()
    lengths = np.sum(R**2, axis=0)
    np.testing.assert_allclose(R.T @ R, np.diag(lengths), atol=1e-14)
    np.testing.assert_allclose(R @ R.T @ R, R * lengths, atol=1e-14)


def test_there_and_back_is_the_same_metric():
    P, Q = pair(12, 4)
    there, back = geodesic(P, Q).factor(), geodesic(Q, P).factor()
    np.testing.assert_allclose(there @ there.T, back @ back.T, atol=1e-14)


def test_the_metric_depends_on_the_subspaces_and_not_on_their_bases():
    P, Q = pair(12, 4)
    turned = geodesic(P @ basis(4, 4, 5), Q @ basis(4, 4, 6)).factor()
    straight = geodesic(P, Q).factor()
    np.testing.assert_allclose(turned @ turned.T, straight @ straight.T, atol=1e-14)


@pytest.mark.parametrize("shape", SHAPES)
def test_between_equal_subspaces_the_metric_is_their_projection(shape):
    P = basis(*shape, seed=0)
    path = geodesic(P, P @ basis(shape[1], shape[1], seed=3))
    np.testing.assert_allclose(path.factor() @ path.factor().T, projection(P), atol=1e-14)
    np.testing.assert_array_equal(path.angles, 0)
    np.testing.assert_array_equal(path.Bq, 0)


def test_orthogonal_subspaces_meet_half_way():
    path = geodesic(np.eye(6)[:, :2], np.eye(6)[:, 2:4])
    np.testing.assert_allclose(path.angles, np.pi / 2)
    G = path.factor() @ path.factor().T
    np.testing.assert_allclose(np.diagonal(G), [0.5, 0.5, 0.5, 0.5, 0, 0], atol=1e-15)
    assert np.linalg.eigvalsh(G)[-1] == pytest.approx(0.5 + 1 / np.pi)


def test_subspaces_that_share_a_direction_keep_it():
    e = np.eye(5)
    path = geodesic(e[:, [0, 1]], e[:, [0, 2]])
    np.testing.assert_allclose(path.angles, [0, np.pi / 2], atol=1e-15)
    G = path.factor() @ path.factor().T
    np.testing.assert_allclose(G[0], e[0], atol=1e-15)


@pytest.mark.parametrize("angle", [1e-12, 1e-7, 1e-3, 0.0199, 0.0201, 0.5, np.pi / 2])
def test_the_weight_across_the_path_has_all_its_digits(angle):
    line = np.array([[1.0], [0.0]])
    path = geodesic(line, np.array([[np.cos(angle)], [np.sin(angle)]]))
    series = [-((-1) ** k) * angle ** (2 * k) / math.factorial(2 * k + 1) for k in range(1, 20)]
    assert path.weights[1][0] == pytest.approx(math.fsum(series) / 2, rel=1e-11)


def test_single_precision_bases_are_computed_with_in_double():
    P, Q = (side.astype(np.float32) for side in pair(20, 3))
    assert geodesic(P, Q).factor().dtype == np.float64
