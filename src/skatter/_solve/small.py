"""Leading eigenpairs of a small dense symmetric problem."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cholesky, eigh, solve_triangular

from skatter._tensors import (
    Array,
    Tall,
    device_of,
    generalised_on_card,
    host,
    leading_on_card,
    on_card,
    reduced_on_card,
    to_device,
)


def column_signs(W: Tall) -> Array:
    """Return the sign of the entry of largest magnitude of every column, on the host.

    Times these signs, components are the same in every run and on every machine.
    """
    columns = to_device(np.arange(W.shape[1]), device_of(W))
    return np.where(host(W[abs(W).argmax(0), columns]) < 0, -1, 1)


def pad_rows(first: Array, rows: int) -> Array:
    """Append rows of zeros: coordinates in a space are coordinates in a larger one."""
    out = np.zeros((rows, first.shape[1]), dtype=first.dtype, order="F")
    out[: len(first)] = first
    return out


def leading(T: Array, k: int, device: Any = None) -> tuple[Array, Array]:
    """Return the largest ``k`` eigenpairs of a symmetric matrix, largest first.

    Where ``device`` is a graphics card, it finds them.
    """
    size = len(T)
    k = min(k, size)
    if not k:
        return np.empty(0, dtype=T.dtype), np.empty((size, 0), dtype=T.dtype)
    if on_card(device):
        values, vectors = leading_on_card(T, k, device)
        return values, np.asfortranarray(vectors)
    try:
        values, vectors = eigh(T, subset_by_index=[size - k, size - 1], check_finite=False)
    except np.linalg.LinAlgError:
        values = np.empty(0)
    if len(values) < k:
        # LAPACK's subset driver may lose members of a wide cluster; divide and conquer does not.
        values, vectors = eigh(T, driver="evd", check_finite=False)
        values, vectors = values[size - k :], vectors[:, size - k :]
    return values[::-1], np.asfortranarray(vectors[:, ::-1])


def leading_generalised(A: Array, C: Array, k: int, device: Any = None) -> tuple[Array, Array]:
    """Return the largest ``k`` eigenpairs of A w = λ C w with WᵀCW = I, C positive definite.

    Where ``device`` is a graphics card, it finds them.
    """
    if on_card(device):
        return generalised_on_card(A, C, k, device)
    L, T = reduced(A, C)
    values, V = leading(T, k)
    return values, solve_triangular(L, V, lower=True, trans="T", check_finite=False)


def reduced(A: Array, C: Array, device: Any = None) -> tuple[Array, Array]:
    """Return L of C = L Lᵀ, and L⁻¹ A L⁻ᵀ made symmetric; found by ``device`` if it is a card."""
    if on_card(device):
        return reduced_on_card(A, C, device)
    L = cholesky(C, lower=True, check_finite=False)
    half = solve_triangular(L, A, lower=True, check_finite=False)
    T = solve_triangular(L, half.T, lower=True, check_finite=False)
    return L, (T + T.T) / 2
