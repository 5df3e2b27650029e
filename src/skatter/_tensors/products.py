"""Products of tall arrays, in the precision of their type."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from scipy.sparse import csr_array

from skatter._tensors.places import (
    Array,
    Tall,
    host,
    host_dtype,
    is_tensor,
    on_card,
    strips,
    to_device,
    torch,
)

SQUARED_ROWS = 2**17  # rows whose products are added up in their own floating type

SUMMED = 8  # rows of a matrix to a cell, at least, for sums over cells instead of a product

NARROW_QR = 64  # columns up to which a card does a QR by inner products

INDEPENDENT = 1e-5
"""Share of a column that lies beside those before it, at least, for a QR by inner products."""


@contextmanager
def full_precision() -> Iterator[None]:
    """Compute float32 products of tensors in float32, and record no gradient.

    What the user allows the matrix units is as it was afterwards.
    """
    with torch.no_grad():
        if hasattr(torch.backends.cuda.matmul, "fp32_precision"):
            # Whoever has used these names must not be asked by the older one, which raises.
            modes = (torch.backends.cuda.matmul, torch.backends.mkldnn.matmul)
            allowed = [mode.fp32_precision for mode in modes]
            try:
                for mode in modes:
                    mode.fp32_precision = "ieee"
                yield
            finally:
                for mode, before in zip(modes, allowed, strict=True):
                    mode.fp32_precision = before
        else:
            precision = torch.get_float32_matmul_precision()
            try:
                torch.set_float32_matmul_precision("highest")
                yield
            finally:
                torch.set_float32_matmul_precision(precision)


def multiply(A: Tall, B: Tall) -> Tall:
    """Return A B for arrays of one kind."""
    if not is_tensor(A):
        return A @ B
    with full_precision():
        return A @ B


def multiply_by_cell(K: Array, table: Array, cell: Array) -> Array:
    """Return K W in Fortran order, for symmetric K and W with rows from a table, one for each cell.

    Sums of the rows of K over the cells take one pass over it, in the order in which it lies.
    """
    if not (K.flags.c_contiguous and SUMMED * len(table) <= len(K)):
        return np.asfortranarray(K @ table[cell])
    n = len(K)
    members = csr_array((np.ones(n), (cell, np.arange(n))), shape=(len(table), n))
    return np.asfortranarray((members @ K).T @ table)


def second_moment(X: Tall) -> Array:
    """Return XᵀX on the host; many rows of a tensor add up in float64."""
    if not is_tensor(X):
        return X.T @ X
    with full_precision():
        parts = [part.T @ part for part in torch.split(X, SQUARED_ROWS)]
    return host(sum(part.double() for part in parts))


def subtract_product(C: torch.Tensor, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
    """Return C - A B for tensors, overwriting ``C``."""
    with full_precision():
        return C.addmm_(A, B, alpha=-1)


def projections_on(X: torch.Tensor, direction: Array) -> torch.Tensor:
    """Return the product of every row with a vector, in float64."""
    there = to_device(direction, X.device)
    with full_precision():
        parts = [X[rows].double() @ there for rows in strips(len(X), 8 * X.shape[1])]
    return torch.cat(parts)


def orthonormalised(W: torch.Tensor) -> tuple[torch.Tensor, Array]:
    """Return Q and R of W = Q R: Q tall with orthonormal columns, R small."""
    with full_precision():
        narrow = on_card(W.device) and W.shape[1] <= NARROW_QR
        found = _by_inner_products(W) if narrow else None
        if found is not None:
            return found
        Q, R = torch.linalg.qr(W)
    return Q, host(R)


def _by_inner_products(W: torch.Tensor) -> tuple[torch.Tensor, Array] | None:
    """Return Q and R from two Cholesky factors of inner products, which on a card is quicker.

    None where columns depend on each other too much for it (G. Stathopoulos, K. Wu, 2002).
    """
    Q, R = W.double(), np.eye(W.shape[1])
    for _ in range(2):
        G = host(Q.T @ Q)
        lengths = np.sqrt(np.diagonal(G))
        if not lengths.all():
            return None
        try:
            L = np.linalg.cholesky(G / lengths / lengths[:, None])
        except np.linalg.LinAlgError:
            return None
        if not np.diagonal(L).min() > INDEPENDENT:
            return None
        own = L.T * lengths
        Q, R = Q @ to_device(np.linalg.inv(own), W.device), own @ R
        if np.diagonal(L).min() > 0.1:
            break
    return Q.to(W.dtype), R.astype(host_dtype(W))
