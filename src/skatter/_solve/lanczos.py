"""Block Lanczos with full reorthogonalisation.

From a symmetric operator G and a first block V_0 it grows an orthonormal basis V of the Krylov
space and the small matrix J = Vᵀ G V, with

    G V = V J + V_next · coupling · E_lastᵀ                                                     (*)

so that the residual of any Ritz vector is known without another product. Whoever calls decides
when the space is large enough.

The basis is tall and lives where the operator does; J and the coupling are small and on the host.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from skatter._solve.blas import (
    combine,
    dot,
    inner,
    pivoted_qr,
    plain_qr,
    project_off,
    subtract_combination,
)
from skatter._tensors import (
    Array,
    Tall,
    column_norms,
    empty_columns,
    fortran,
    host_dtype,
    hstack,
    like,
)

Operator = Callable[[Tall], Tall]

BLOCK = 16  # columns of a block: enough to keep the processor busy, few enough to converge deep

ROOM = 640  # columns that a basis has room for before it grows

DENSE = 500  # up to this many rows the whole space is used as the basis


@dataclass(frozen=True)
class Krylov:
    """An orthonormal basis V, with V_next behind it, and what the operator is on V; see eq. (*).

    ``coupling`` is the part of G V_last outside V, in the basis V_next.
    """

    basis: Tall
    matrix: Array
    coupling: Array

    def residual_norms(self, Y: Array) -> Array:
        """Norms of G V Y − V J Y, column by column."""
        return np.linalg.norm(self._outside(Y), axis=0)

    def image(self, Y: Array) -> Tall:
        """Return G V Y exactly, without applying G again."""
        return combine(self.basis, np.vstack([dot(self.matrix, Y), self._outside(Y)]))

    def lift(self, Y: Array) -> Tall:
        return combine(self.basis[:, : len(self.matrix)], Y)

    def _outside(self, Y: Array) -> Array:
        last = self.coupling.shape[1]
        return dot(self.coupling, Y[len(Y) - last :])


def lanczos(
    apply: Operator,
    start: Tall,
    enough: Callable[[Krylov], bool],
    draw: Callable[[int], Tall],
    outside: Tall,
) -> Krylov:
    """Grow a Krylov space of ``apply`` from an orthonormal block until it is ``enough``.

    Directions that run dry are replaced by random ones (``draw``); the space stays off orthonormal
    directions that the operator removes (``outside``).
    """
    store = _Store(start)
    while True:
        W = apply(store.last)
        # G is symmetric: its image of a block has parts in the last two blocks alone. A second
        # pass, against all of the basis, removes what rounding left ("twice is enough").
        projected = inner(store.recent, W)
        store.write(projected)
        W = subtract_combination(W, store.recent, projected)
        W = project_off(project_off(W, store.basis), outside)
        room = len(start) - outside.shape[1] - store.size
        block, coupling = _next_block(W, store, draw, outside, room)
        krylov = store.lay(block, coupling)
        if room <= 0 or enough(krylov):
            return krylov
        store.accept(block.shape[1])


def orthonormal(W: Tall) -> Tall:
    """Orthonormal basis of the columns of W, in order, dependent ones dropped."""
    if not W.shape[1]:
        return fortran(W)
    limits = np.finfo(host_dtype(W))
    Q, R, _ = pivoted_qr(W / like(np.maximum(column_norms(W), limits.tiny), W))
    rank = int(np.sum(np.abs(np.diagonal(R)) > 1e3 * limits.eps))
    return fortran(Q[:, :rank])


class _Store:
    def __init__(self, start: Tall) -> None:
        n, self.size = start.shape
        self.norm = 0.0  # size of the operator as seen so far
        self._first_of_recent = self._first_of_last = 0
        # Memory that is not written to yet costs nothing, and a copy of the basis does.
        capacity = max(8 * self.size, ROOM)
        self._basis = empty_columns(n, capacity, start)
        self._basis[:, : self.size] = start
        self._matrix = np.zeros((capacity,) * 2, dtype=host_dtype(start))

    @property
    def basis(self) -> Tall:
        return self._basis[:, : self.size]

    @property
    def last(self) -> Tall:
        return self._basis[:, self._first_of_last : self.size]

    @property
    def recent(self) -> Tall:
        return self._basis[:, self._first_of_recent : self.size]

    def write(self, projected: Array) -> None:
        """Store the columns of J that belong to the last block."""
        rows = slice(self._first_of_recent, self.size)
        own = slice(self._first_of_last, self.size)
        inside = projected[self._first_of_last - self._first_of_recent :]
        inside[:] = (inside + inside.T) / 2
        self.see(projected)
        self._matrix[rows, own] = projected
        self._matrix[own, rows] = projected.T

    def see(self, part: Array) -> None:
        """Learn the size of the operator from a part of the image of the last block."""
        self.norm = max(self.norm, float(np.linalg.norm(part, axis=0).max(initial=0)))

    def accept(self, width: int) -> None:
        """Make the block that was laid behind the basis its last one."""
        self._first_of_recent, self._first_of_last = self._first_of_last, self.size
        self.size += width

    def _grow(self, capacity: int) -> None:
        basis = empty_columns(len(self._basis), capacity, self._basis)
        matrix = np.zeros((capacity, capacity), dtype=self._matrix.dtype)
        basis[:, : self.size] = self.basis
        matrix[: self.size, : self.size] = self._matrix[: self.size, : self.size]
        self._basis, self._matrix = basis, matrix

    def lay(self, block: Tall, coupling: Array) -> Krylov:
        """Lay the next block behind the basis, and return the space as it is."""
        size = self.size + block.shape[1]
        if size > self._basis.shape[1]:
            self._grow(2 * size)
        self._basis[:, self.size : size] = block
        return Krylov(self._basis[:, :size], self._matrix[: self.size, : self.size], coupling)


def _next_block(
    W: Tall, store: _Store, draw: Callable[[int], Tall], outside: Tall, room: int
) -> tuple[Tall, Array]:
    """Orthonormalise W; columns that ran dry are replaced by fresh random directions."""
    width = W.shape[1]
    Q, R, pivots = pivoted_qr(W)
    store.see(R)
    eps = np.finfo(R.dtype).eps
    dry = np.abs(np.diagonal(R)) <= 10 * eps * np.sqrt(len(W)) * store.norm
    rank = min(int(np.argmax(dry)) if dry.any() else width, max(room, 0))
    coupling = np.empty_like(R[:rank])
    coupling[:, pivots] = R[:rank]
    block = fortran(Q[:, :rank])
    if rank and np.abs(R[rank - 1, rank - 1]) < 1e-4 * store.norm:
        # Scaling up a short column scales up what rounding left in it of other directions.
        block, again = _clean(block, outside, store.basis)
        coupling = dot(again, coupling)
    fresh = min(width, max(room, 0)) - rank
    if fresh <= 0:
        return block, coupling
    new = draw(fresh)
    for _ in range(2):
        new, _ = _clean(new, outside, store.basis, block)
    coupling = np.vstack([coupling, np.zeros((fresh, width), dtype=R.dtype)])
    return fortran(hstack([block, new])), coupling


def _clean(W: Tall, *known: Tall) -> tuple[Tall, Array]:
    for basis in known:
        if basis.shape[1]:
            W = project_off(W, basis)
    Q, R = plain_qr(W)
    return fortran(Q), R
