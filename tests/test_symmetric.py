"""Leading eigenpairs by products alone, against dense solvers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.linalg import eigh
from sklearn.decomposition import PCA

from skatter._solve import (
    CholeskyRoot,
    DiagonalPlusThin,
    leading_pairs,
    principal_axes,
    solve_pencil,
    solve_squared,
    symmetric,
)

RNG = np.random.default_rng(0)
SIZES = pytest.mark.parametrize("size", [40, 700], ids=["whole space", "lanczos"])


def spectrum_matrix(values, seed=0):
    """A symmetric matrix with these eigenvalues."""
    Q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(values),) * 2))
    return (Q * values) @ Q.T


# --- leading pairs --------------------------------------------------------------------------------


@SIZES
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_leading_pairs_are_those_of_the_matrix(size, dtype):
    values = np.sort(RNG.uniform(size=size) ** 4)[::-1]
    T = spectrum_matrix(values).astype(dtype)
    pairs = leading_pairs(lambda W: T @ W, size, 8, tol=1e-8, dtype=dtype)
    slack = 1e-10 if dtype == np.float64 else 1e-5
    np.testing.assert_allclose(pairs.values, values[:8], rtol=0, atol=slack)
    assert pairs.vectors.dtype == dtype
    np.testing.assert_allclose(pairs.vectors.T @ pairs.vectors, np.eye(8), atol=10 * slack)
    np.testing.assert_allclose(T @ pairs.vectors, pairs.vectors * pairs.values, atol=10 * slack)


@SIZES
def test_no_pair_is_invented_beyond_the_rank(size):
    values = np.zeros(size)
    values[:5] = [5, 4, 3, 2, 1]
    T = spectrum_matrix(values)
    pairs = leading_pairs(lambda W: T @ W, size, 9, tol=1e-8)
    np.testing.assert_allclose(pairs.values, [5, 4, 3, 2, 1])


@SIZES
def test_nothing_has_no_pairs(size):
    pairs = leading_pairs(np.zeros_like, size, 3, tol=1e-8)
    assert pairs.vectors.shape == (size, 0)


def test_copies_of_an_eigenvalue_are_all_found():
    """More of them than the first block has directions."""
    values = np.concatenate([np.full(30, 2.0), np.linspace(1, 0.1, 670)])
    T = spectrum_matrix(values)
    pairs = leading_pairs(lambda W: T @ W, 700, 35, tol=1e-8)
    np.testing.assert_allclose(pairs.values, values[:35], rtol=1e-8)


def test_residuals_are_what_they_say():
    T = spectrum_matrix(np.linspace(1, 0, 700) ** 3)
    pairs = leading_pairs(lambda W: T @ W, 700, 6, tol=1e-3)
    actual = np.linalg.norm(T @ pairs.vectors - pairs.vectors * pairs.values, axis=0)
    np.testing.assert_allclose(pairs.residuals, actual / pairs.values, atol=1e-10)
    assert (pairs.residuals <= 1e-3).all()
    assert pairs.residuals.max() > 1e-9


def test_the_search_is_deterministic_and_its_seed_does_not_matter():
    T = spectrum_matrix(np.linspace(1, 0, 700) ** 3)
    first, again, other = (
        leading_pairs(lambda W: T @ W, 700, 6, tol=1e-10, random_state=seed).values
        for seed in (None, None, 7)
    )
    np.testing.assert_array_equal(first, again)
    np.testing.assert_allclose(other, first, rtol=1e-9)


# --- pencils --------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(n=st.integers(2, 12), r=st.integers(0, 4), seed=st.integers(0, 10**6), tiny=st.booleans())
def test_the_root_of_a_diagonal_plus_thin_matrix_is_one(n, r, seed, tiny):
    rng = np.random.default_rng(seed)
    g, U = rng.uniform(0.1, 3, size=n), rng.normal(size=(n, r)) * (1e-9 if tiny else 3)
    root = DiagonalPlusThin(g, U)
    R = root.times(np.eye(n, order="F"))
    np.testing.assert_allclose(R @ R.T @ (np.diag(g) + U @ U.T), np.eye(n), atol=1e-10)
    np.testing.assert_allclose(root.transposed_times(np.eye(n, order="F")), R.T, atol=1e-12)


def test_equal_columns_do_not_upset_the_root():
    U = np.repeat(RNG.normal(size=(9, 1)), 3, axis=1)
    R = DiagonalPlusThin(np.ones(9), U).times(np.eye(9, order="F"))
    np.testing.assert_allclose(R @ R.T @ (np.eye(9) + U @ U.T), np.eye(9), atol=1e-12)


@SIZES
@pytest.mark.parametrize("route", ["thin", "cholesky"])
def test_a_pencil_is_solved_as_the_dense_solver_does(size, route):
    rng = np.random.default_rng(1)
    K = spectrum_matrix(np.exp(-np.linspace(0, 9, size)))
    g, U = rng.uniform(0.5, 2, size=size), rng.normal(size=(size, 3))
    C = np.diag(g) + U @ U.T
    root = DiagonalPlusThin(g, U) if route == "thin" else CholeskyRoot(np.asfortranarray(C.copy()))
    pairs = solve_pencil(lambda W: K @ (K @ W), root, size, 6, tol=1e-10)
    values = eigh(K @ K, C, eigvals_only=True)[::-1][:6]
    np.testing.assert_allclose(pairs.values, values, rtol=1e-9)
    np.testing.assert_allclose(pairs.vectors.T @ C @ pairs.vectors, np.eye(6), atol=1e-9)
    np.testing.assert_allclose(
        K @ K @ pairs.vectors, C @ pairs.vectors * pairs.values, atol=1e-9 * values[0]
    )


@SIZES
def test_a_pencil_of_tensors_has_the_pairs_of_arrays(require, size):
    torch = require("torch", "torch")
    rng = np.random.default_rng(1)
    K = spectrum_matrix(np.exp(-np.linspace(0, 9, size)))
    g, U = rng.uniform(0.5, 2, size=size), rng.normal(size=(size, 3))
    expected = solve_pencil(lambda W: K @ W, DiagonalPlusThin(g, U), size, 6, tol=1e-10)
    there, root = torch.from_numpy(K), DiagonalPlusThin(g, torch.from_numpy(U))
    found = solve_pencil(lambda W: there @ W, root, size, 6, tol=1e-10, device=there.device)
    assert torch.is_tensor(found.vectors)
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-9)
    overlaps = found.vectors.numpy().T @ (np.diag(g) + U @ U.T) @ expected.vectors
    np.testing.assert_allclose(np.abs(overlaps), np.eye(6), atol=1e-7)


def test_a_matrix_that_is_not_positive_definite_has_no_cholesky_root():
    with pytest.raises(np.linalg.LinAlgError):
        CholeskyRoot(np.asfortranarray(np.diag([1.0, -1.0])))


# --- squares --------------------------------------------------------------------------------------


@pytest.mark.parametrize("spectrum", ["falling", "flat", "of low rank"])
@pytest.mark.parametrize(("size", "columns"), [(40, 1), (700, 1), (700, 6), (620, 0)])
def test_a_squared_pencil_is_solved_as_the_dense_solver_does(size, columns, spectrum):
    values = {
        "falling": np.exp(-np.linspace(0, 9, size)),
        "flat": np.linspace(2, 1, size),
        "of low rank": np.concatenate([np.linspace(2, 1, 20), np.zeros(size - 20)]),
    }[spectrum]
    K = spectrum_matrix(values)
    E, mu = np.random.default_rng(2).normal(size=(size, columns)), 0.3
    C = mu * np.eye(size) + K @ E @ E.T @ K
    h = np.full((size, 1), (2 * size) ** -0.5)
    A = K @ K - K @ h @ h.T @ K
    pairs = solve_squared(lambda W: K @ W, h, E, mu, 7, tol=1e-9)
    expected = eigh(A, C, eigvals_only=True)[::-1][:7]
    np.testing.assert_allclose(pairs.values, expected, rtol=1e-8)
    np.testing.assert_allclose(pairs.vectors.T @ C @ pairs.vectors, np.eye(7), atol=1e-9)
    residuals = np.linalg.norm(A @ pairs.vectors - C @ pairs.vectors * pairs.values, axis=0)
    assert (residuals <= 1e-7 * expected).all()


def test_copies_of_an_eigenvalue_of_a_square_are_all_found():
    K = spectrum_matrix(np.concatenate([np.full(30, 2.0), np.linspace(1, 0.1, 670)]))
    pairs = solve_squared(lambda W: K @ W, *np.zeros((2, 700, 1)), 1.0, 29, tol=1e-8)
    np.testing.assert_allclose(pairs.values, np.full(29, 4.0), rtol=1e-8)


def test_a_square_without_scatter_has_no_pairs():
    h, nothing = np.full((700, 1), 700**-0.5), np.zeros((700, 1))
    pairs = solve_squared(lambda W: np.ones((700, 700)) @ W, h, nothing, 1.0, 3, tol=1e-8)
    assert pairs.vectors.shape == (700, 0)


# --- principal axes -------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(60, 12), (12, 60), (700, 520), (520, 700)])
@pytest.mark.parametrize("kind", ["small Gram matrix", "Gram matrix", "dense", "sparse"])
def test_principal_axes_are_those_of_pca(shape, kind, monkeypatch):
    if kind in ("Gram matrix", "dense"):
        monkeypatch.setattr(symmetric, "SMALL_GRAM", 0)
    if kind == "dense":
        monkeypatch.setattr(symmetric, "LARGE_GRAM", 0)
    X = RNG.normal(size=shape) * np.linspace(3, 0.1, shape[1]) + 5
    X = np.where(np.abs(X) > 4, X, 0)
    pca = PCA(5, svd_solver="full").fit(X)
    axes = principal_axes(sparse.csr_array(X) if kind == "sparse" else X, 5)
    np.testing.assert_allclose(axes.mean, pca.mean_, atol=1e-12)
    np.testing.assert_allclose(
        axes.variances, pca.explained_variance_ * (shape[0] - 1) / shape[0], rtol=1e-8
    )
    cosines = np.abs(np.sum(axes.directions * pca.components_.T, axis=0))
    np.testing.assert_allclose(cosines, 1, atol=1e-7)
    np.testing.assert_allclose(axes.directions.T @ axes.directions, np.eye(5), atol=1e-8)


def test_the_signs_of_axes_are_fixed():
    X = RNG.normal(size=(50, 4))
    for axes in (principal_axes(X, 4), principal_axes(-X, 4)):
        largest = np.abs(axes.directions).argmax(axis=0)
        assert (axes.directions[largest, np.arange(4)] > 0).all()


@pytest.mark.parametrize("shape", [(30, 90), (90, 30)])
def test_axes_of_tiny_variance_are_orthonormal_too(shape):
    X = RNG.normal(size=shape) * np.logspace(0, -4, shape[1])
    directions = principal_axes(X, 29).directions
    np.testing.assert_allclose(directions.T @ directions, np.eye(29), atol=1e-13)


def test_there_are_no_axes_beyond_the_rank():
    X = RNG.normal(size=(30, 2)) @ RNG.normal(size=(2, 7))
    assert principal_axes(X, 6).directions.shape == (7, 2)


def test_samples_are_not_written_to():
    X = np.asfortranarray(RNG.normal(size=(40, 6)))
    before = X.copy()
    principal_axes(X, 3)
    np.testing.assert_array_equal(X, before)


# --- principal axes to a loose tolerance ----------------------------------------------------------


def with_spectrum(shape, kind, seed=0):
    """Samples away from the origin."""
    rng = np.random.default_rng(seed)
    scale = {
        "falling": np.exp(-np.arange(shape[1]) / 20),
        "flat": np.concatenate([np.full(3, 12.0), np.ones(shape[1] - 3)]),
        "falling below single precision": np.exp(-np.arange(shape[1]) / 3),
        "of copies": np.concatenate([np.full(30, 3.0), np.linspace(1, 0.5, shape[1] - 30)]),
    }[kind]
    X = rng.normal(size=shape)
    if kind == "of copies":
        X = np.linalg.qr(X - X.mean(axis=0))[0]
    return X * scale @ np.linalg.qr(rng.normal(size=(shape[1],) * 2))[0] + 3


def residuals_of(axes, X):
    """‖C v − λ v‖/λ, straight from the covariance."""
    C = np.cov(X.T, bias=True)
    beside = C @ axes.directions - axes.directions * axes.variances
    return np.linalg.norm(beside, axis=0) / axes.variances


@pytest.fixture
def products_alone(monkeypatch):
    monkeypatch.setattr(symmetric, "SMALL_GRAM", 0)


@pytest.mark.usefixtures("products_alone")
@pytest.mark.parametrize("shape", [(900, 620), (620, 900)])
@pytest.mark.parametrize("kind", ["falling", "flat", "falling below single precision"])
@pytest.mark.parametrize("tol", [0.01, 1e-3])
def test_axes_keep_their_tolerance(shape, kind, tol):
    X = with_spectrum(shape, kind)
    expected = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)[:25] ** 2 / shape[0]
    axes = principal_axes(X, 25, tol=tol)
    assert (residuals_of(axes, X) <= tol).all()
    np.testing.assert_allclose(axes.variances, expected, rtol=tol)
    # No Rayleigh quotient is above the eigenvalue, but for rounding.
    assert (axes.variances <= expected + 1e-12 * expected[0]).all()
    np.testing.assert_allclose(axes.directions.T @ axes.directions, np.eye(25), atol=1e-12)


@pytest.mark.usefixtures("products_alone")
def test_a_loose_tolerance_finds_separate_axes_of_the_dense_solver():
    X = with_spectrum((900, 620), "falling")
    V = np.linalg.svd(X - X.mean(axis=0))[2][:10].T
    directions = principal_axes(X, 10, tol=0.01).directions
    np.testing.assert_allclose(np.abs(np.sum(V * directions, axis=0)), 1, atol=1e-4)


@pytest.mark.usefixtures("products_alone")
def test_single_precision_is_used_where_it_will_do_and_only_there(monkeypatch):
    seen = []

    def watched(apply, size, k, **options):
        seen.append(np.dtype(options["dtype"]))
        return leading_pairs(apply, size, k, **options)

    monkeypatch.setattr(symmetric, "leading_pairs", watched)
    single, double = np.dtype(np.float32), np.dtype(np.float64)
    flat, steep = (
        with_spectrum((900, 620), kind) for kind in ("flat", "falling below single precision")
    )
    principal_axes(flat, 25, tol=0.01)
    assert seen == [single]
    principal_axes(steep, 25, tol=0.01)
    assert seen == [single, single, double]
    principal_axes(flat, 25)
    assert seen == [single, single, double, double]


@pytest.mark.usefixtures("products_alone")
@pytest.mark.parametrize("tol", [0.01, 1e-9])
def test_copies_of_a_variance_are_all_found(tol):
    X = with_spectrum((900, 620), "of copies")
    axes = principal_axes(X, 33, tol=tol)
    np.testing.assert_allclose(axes.variances[:30], 9 / 900, rtol=1e-4)
    np.testing.assert_allclose(axes.variances[30:], 1 / 900, rtol=0.02)


@pytest.mark.usefixtures("products_alone")
def test_axes_to_a_tolerance_are_the_same_in_every_run_with_fixed_signs_and_in_any_unit():
    X = with_spectrum((900, 620), "flat")
    first, again = (principal_axes(X, 25, tol=0.01).directions for _ in range(2))
    np.testing.assert_array_equal(first, again)
    largest = np.abs(first).argmax(axis=0)
    assert (first[largest, np.arange(25)] > 0).all()
    for unit in (2.0**90, 2.0**-90):  # whose squares are beyond single precision
        scaled = principal_axes(X * unit, 25, tol=0.01)
        np.testing.assert_allclose(scaled.directions, first, atol=1e-9)


@pytest.mark.usefixtures("products_alone")
def test_no_axis_is_invented_beyond_the_rank_to_a_tolerance():
    X = RNG.normal(size=(700, 2)) @ RNG.normal(size=(2, 600))
    assert principal_axes(X, 6, tol=0.01).directions.shape == (600, 2)
    assert principal_axes(np.ones((700, 600)), 6, tol=0.01).directions.shape == (600, 0)


@pytest.mark.usefixtures("products_alone")
@pytest.mark.parametrize("order", ["C", "F"])
def test_samples_of_any_order_are_read_and_not_written_to(order):
    X = with_spectrum((900, 620), "flat")
    given = np.array(X, order=order)
    axes = principal_axes(given, 25, tol=0.01)
    np.testing.assert_array_equal(given, X)
    assert (residuals_of(axes, X) <= 0.01).all()
