"""Block Lanczos: an orthonormal basis and the operator on it, checked against dense matrices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from skatter._solve.lanczos import Krylov, lanczos

some = settings(deadline=None, max_examples=25)


def orthonormal(rng, n, k):
    return np.asfortranarray(np.linalg.qr(rng.normal(size=(n, k)))[0])


def symmetric(rng, n):
    G = rng.normal(size=(n, n))
    return G + G.T


def grow(G, start, blocks, *, outside=None, seed=0):
    """Run Lanczos for so many blocks; also return how often it was asked whether to stop."""
    n = len(G)
    rng = np.random.default_rng(seed)
    outside = np.zeros((n, 0), order="F") if outside is None else np.asfortranarray(outside)
    sizes = []

    def enough(krylov):
        sizes.append(len(krylov.matrix))
        return len(sizes) == blocks

    def draw(count):
        return np.asfortranarray(rng.normal(size=(n, count)).astype(start.dtype))

    def apply(W):
        return np.asfortranarray(G @ W)

    return lanczos(apply, np.asfortranarray(start), enough, draw, outside), sizes


def parts(krylov):
    q = len(krylov.matrix)
    return krylov.basis[:, :q], krylov.basis[:, q:], krylov.coupling.shape[1]


def assert_lanczos_relation(G, krylov, tol=1e-12):
    """G V = V J + V_next · coupling · E_lastᵀ, J symmetric, [V V_next] orthonormal."""
    V, V_next, last = parts(krylov)
    size = max(np.linalg.norm(G, 2), 1e-300)
    right = V @ krylov.matrix
    right[:, right.shape[1] - last :] += V_next @ krylov.coupling
    assert_allclose((G @ V - right) / size, 0, atol=tol)
    assert_allclose((krylov.matrix - krylov.matrix.T) / size, 0, atol=tol)
    gram = krylov.basis.T @ krylov.basis
    assert_allclose(gram, np.eye(len(gram)), atol=tol)


# --- the relation -------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1, 3, 8])
@pytest.mark.parametrize("blocks", [1, 2, 5, 12])
def test_the_relation_holds_after_every_number_of_blocks(width, blocks):
    rng = np.random.default_rng(0)
    G, start = symmetric(rng, 120), orthonormal(rng, 120, width)
    krylov, sizes = grow(G, start, blocks)
    assert_lanczos_relation(G, krylov)
    assert sizes == [width * (i + 1) for i in range(blocks)]
    assert_allclose(krylov.basis[:, :width], start)


def test_it_stops_when_told_and_not_before():
    rng = np.random.default_rng(1)
    _, sizes = grow(symmetric(rng, 80), orthonormal(rng, 80, 4), blocks=7)
    assert sizes == [4, 8, 12, 16, 20, 24, 28]


@some
@given(seed=st.integers(0, 10**6), n=st.integers(2, 40), width=st.integers(1, 6))
def test_run_to_the_end_it_spans_the_whole_space(seed, n, width):
    rng = np.random.default_rng(seed)
    G = symmetric(rng, n)
    krylov, _ = grow(G, orthonormal(rng, n, min(width, n)), blocks=10**6)
    assert_lanczos_relation(G, krylov)
    assert krylov.matrix.shape == (n, n)
    assert_allclose(np.linalg.eigvalsh(krylov.matrix), np.linalg.eigvalsh(G), atol=1e-10)


def test_the_space_is_the_krylov_space_of_the_start():
    rng = np.random.default_rng(2)
    G, start = symmetric(rng, 60), orthonormal(rng, 60, 2)
    krylov, _ = grow(G, start, blocks=4)
    V, _, _ = parts(krylov)
    powers = np.hstack([start, G @ start, G @ G @ start, G @ G @ G @ start])
    outside = powers - V @ (V.T @ powers)
    assert_allclose(outside / np.linalg.norm(powers, axis=0), 0, atol=1e-11)


def test_leading_ritz_values_become_the_eigenvalues():
    rng = np.random.default_rng(3)
    Q = orthonormal(rng, 200, 200)
    G = (Q * 0.8 ** np.arange(200)) @ Q.T
    krylov, _ = grow(G, orthonormal(rng, 200, 8), blocks=6)
    ritz = np.linalg.eigvalsh(krylov.matrix)[::-1]
    assert_allclose(ritz[:10], 0.8 ** np.arange(10), rtol=1e-8)


# --- what a Krylov space answers ----------------------------------------------------------------


def test_image_lift_and_residuals_equal_their_dense_forms():
    rng = np.random.default_rng(4)
    G = symmetric(rng, 90)
    krylov, _ = grow(G, orthonormal(rng, 90, 5), blocks=4)
    V, _, _ = parts(krylov)
    Y = np.asfortranarray(rng.normal(size=(20, 3)))
    assert_allclose(krylov.lift(Y), V @ Y, atol=1e-12)
    assert_allclose(krylov.image(Y), G @ V @ Y, atol=1e-11)
    expected = np.linalg.norm(G @ V @ Y - V @ krylov.matrix @ Y, axis=0)
    assert expected.min() > 1
    assert_allclose(krylov.residual_norms(Y), expected, rtol=1e-11)


def test_a_whole_space_leaves_no_residual():
    whole = Krylov(np.eye(4), np.diag([4.0, 3.0, 2.0, 1.0]), np.zeros((0, 4)))
    Y = np.asfortranarray(np.arange(8.0).reshape(4, 2))
    assert_allclose(whole.residual_norms(Y), 0)
    assert_allclose(whole.image(Y), whole.matrix @ Y)


# --- spaces that run dry ------------------------------------------------------------------------


@pytest.mark.parametrize("rank", [0, 1, 3, 5])
@pytest.mark.parametrize("blocks", [1, 2, 3, 6, 100])
def test_an_operator_of_low_rank_is_filled_up_with_fresh_directions(rank, blocks):
    rng = np.random.default_rng(5)
    half = rng.normal(size=(50, rank))
    G = half @ half.T
    krylov, _ = grow(G, orthonormal(rng, 50, 4), blocks)
    assert_lanczos_relation(G, krylov)
    assert len(krylov.matrix) == min(4 * blocks, 50)


@pytest.mark.parametrize("blocks", [1, 3, 9])
def test_an_invariant_start_does_not_stop_the_search(blocks):
    rng = np.random.default_rng(6)
    Q = orthonormal(rng, 40, 40)
    G = (Q * np.arange(1.0, 41.0)) @ Q.T
    krylov, _ = grow(G, Q[:, :4], blocks)
    assert_lanczos_relation(G, krylov)
    assert_allclose(krylov.matrix[:4, :4], np.diag(np.arange(1.0, 5.0)), atol=1e-12)
    if blocks > 1:
        assert np.linalg.eigvalsh(krylov.matrix)[-1] > 5


@pytest.mark.parametrize("multiple", [1.0, 1e-8, 1e8])
def test_a_multiple_of_the_identity_gives_as_many_copies_as_wanted(multiple):
    rng = np.random.default_rng(7)
    G = multiple * np.eye(60)
    krylov, _ = grow(G, orthonormal(rng, 60, 5), blocks=6)
    assert_lanczos_relation(G, krylov)
    assert_allclose(np.linalg.eigvalsh(krylov.matrix), multiple, rtol=1e-12)


def test_a_start_without_energy_still_finds_the_range():
    rng = np.random.default_rng(8)
    Q = orthonormal(rng, 50, 50)
    G = (Q[:, 4:7] * [3.0, 2.0, 1.0]) @ Q[:, 4:7].T
    krylov, _ = grow(G, Q[:, :4], blocks=100)
    assert_lanczos_relation(G, krylov)
    assert_allclose(np.linalg.eigvalsh(krylov.matrix)[-3:], [1, 2, 3], rtol=1e-10)


def test_an_indefinite_operator_without_a_diagonal_keeps_the_basis_orthonormal():
    # Two blocks that only see each other: the diagonal of J is zero and gives no sense of scale.
    rng = np.random.default_rng(9)
    half = rng.normal(size=(30, 3)) @ rng.normal(size=(3, 30))
    G = np.block([[np.zeros((30, 30)), half], [half.T, np.zeros((30, 30))]])
    start = np.vstack([orthonormal(rng, 30, 4), np.zeros((30, 4))])
    krylov, _ = grow(G, start, blocks=4)
    assert_lanczos_relation(G, krylov)


@pytest.mark.parametrize("decay", [0.5, 0.9])
def test_a_spectrum_that_falls_below_rounding_keeps_the_basis_orthonormal(decay):
    rng = np.random.default_rng(10)
    Q = orthonormal(rng, 150, 150)
    G = (Q * decay ** np.arange(150)) @ Q.T
    krylov, _ = grow(G, orthonormal(rng, 150, 6), blocks=20)
    assert_lanczos_relation(G, krylov)


# --- directions outside -------------------------------------------------------------------------


@some
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(6, 40),
    removed=st.integers(1, 3),
    rank=st.integers(0, 40),
)
def test_outside_directions_never_enter(seed, n, removed, rank):
    rng = np.random.default_rng(seed)
    outside = orthonormal(rng, n, removed)
    off = np.eye(n) - outside @ outside.T
    half = off @ rng.normal(size=(n, rank))
    G = half @ half.T
    start = np.linalg.qr(off @ rng.normal(size=(n, 2)))[0]
    krylov, _ = grow(G, start, blocks=10**6, outside=outside)
    assert_lanczos_relation(G, krylov)
    assert_allclose(outside.T @ krylov.basis, 0, atol=1e-12)
    assert len(krylov.matrix) == n - removed


def test_single_precision_stays_single():
    rng = np.random.default_rng(11)
    G = symmetric(rng, 60).astype(np.float32)
    start = orthonormal(rng, 60, 4).astype(np.float32)
    krylov, _ = grow(G, start, blocks=5, outside=np.zeros((60, 0), np.float32))
    assert {krylov.basis.dtype, krylov.matrix.dtype, krylov.coupling.dtype} == {np.dtype("f4")}
    assert_lanczos_relation(G, krylov, tol=1e-5)


@pytest.mark.parametrize("rank", [0, 3, 60])
@pytest.mark.parametrize("blocks", [1, 4, 100])
def test_on_tensors_the_relation_holds_and_the_small_matrices_are_on_the_host(
    require, rank, blocks
):
    torch = require("torch", "torch")
    rng = np.random.default_rng(14)
    removed = orthonormal(rng, 60, 1)
    off = np.eye(60) - removed @ removed.T
    half = off @ rng.normal(size=(60, rank))
    G, start = half @ half.T, np.linalg.qr(off @ rng.normal(size=(60, 4)))[0]
    left = [blocks]

    def enough(krylov):
        left[0] -= 1
        return left[0] == 0

    krylov = lanczos(
        lambda W: torch.from_numpy(G) @ W,
        torch.from_numpy(start),
        enough,
        lambda count: torch.from_numpy(rng.normal(size=(60, count))),
        torch.from_numpy(removed),
    )
    assert isinstance(krylov.basis, torch.Tensor)
    assert type(krylov.matrix) is type(krylov.coupling) is np.ndarray
    there = Krylov(krylov.basis.numpy(), krylov.matrix, krylov.coupling)
    assert_lanczos_relation(G, there)
    assert_allclose(removed.T @ there.basis, 0, atol=1e-12)
    assert len(krylov.matrix) == min(4 * blocks, 59)
    Y = np.asfortranarray(rng.normal(size=(len(krylov.matrix), 3)))
    assert_allclose(krylov.lift(Y).numpy(), there.lift(Y), atol=1e-12)
    assert_allclose(krylov.image(Y).numpy(), there.image(Y), atol=1e-11)


def test_the_same_draws_give_the_same_bits():
    rng = np.random.default_rng(12)
    half = rng.normal(size=(50, 7))
    start = orthonormal(rng, 50, 4)
    first, _ = grow(half @ half.T, start, blocks=6)
    second, _ = grow(half @ half.T, start, blocks=6)
    assert np.array_equal(first.basis, second.basis)
    assert np.array_equal(first.matrix, second.matrix)


def test_the_start_is_not_written_to():
    rng = np.random.default_rng(13)
    start = orthonormal(rng, 40, 3)
    before = start.copy()
    krylov, _ = grow(symmetric(rng, 40), start, blocks=4)
    assert np.array_equal(start, before)
    assert not np.shares_memory(krylov.basis, start)
