"""A Cholesky factorisation in place, tile by tile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from skatter._tensors.halves import halves, products_of_halves_pay, scale_of_halves
from skatter._tensors.places import host, on_card, torch
from skatter._tensors.products import full_precision

CHOLESKY_TILE = 1024  # rows of a tile of :class:`TiledCholesky` as it is made

SOLVE_TILE = 4096  # rows of its tiles once it is done: the fewer, the fewer steps a solve takes

UPDATE_ROWS = 1024
"""Rows up to which a triangle that :class:`TiledCholesky` updates is taken for a square."""

ALIGNED = 32  # what the rows of parts of a matrix are a multiple of: matrix units like that


@dataclass(frozen=True, eq=False)
class TiledCholesky:
    """L of A = L Lᵀ, in tiles that overwrite the lower triangle of A.

    A tile on the diagonal holds the inverse of its part of L, so that a solve with few right-hand
    sides is nothing but products, which read the factor once forward and once backward.
    """

    factor: torch.Tensor
    tile: int
    rough: bool = False
    """Whether its products were of halves, which cut off a little of every sum."""

    @classmethod
    def of(cls, A: torch.Tensor) -> TiledCholesky:
        """Factorise ``A`` in place, reading its lower triangle.

        The next column of tiles is factorised while products update what is right of it. Nothing
        is asked of the device before the end: a pivot that is not positive spoils what comes after
        it, and is found then.
        """
        rough, tile = products_of_halves_pay(A), CHOLESKY_TILE
        # What is not a product takes its time: wider panels where products take more.
        width = tile if rough else 2 * tile
        scale = scale_of_halves(A.diagonal().max().sqrt()) if rough else 1.0
        beside, infos = _Beside(A.device), list[torch.Tensor]()
        with full_precision():
            for start in range(0, len(A), width):
                own, below = _own_and_below(A, start, width)
                if not start:
                    infos += _factorise_panel(A, own, tile)
                P = A[below, own]
                left, right = halves(P, scale) if rough else (P, P)
                ahead, rest = _own_and_below(A, own.stop, width)
                if ahead.start < ahead.stop:
                    _subtract_product(A[below, ahead], left, right[:width], scale)
                    infos += beside.run(partial(_factorise_panel, A, ahead, tile))
                    _subtract_outer(A[rest, rest], left[width:], right[width:], scale)
                beside.join()
        failed = host(torch.stack(infos)) if infos else np.zeros(0, int)
        if failed.any():
            first = int(np.flatnonzero(failed)[0])
            minor = first * tile + int(failed[first])
            raise np.linalg.LinAlgError(f"leading minor {minor} is not positive")
        with full_precision():
            return cls(A, _merged(A, tile), rough)

    def solve(self, B: torch.Tensor) -> torch.Tensor:
        """Solve A X = B, overwriting ``B``."""
        L = self.factor
        starts = range(0, len(L), self.tile)
        with full_precision():
            for start in starts:
                own, below = _own_and_below(L, start, self.tile)
                B[own] = L[own, own] @ B[own]
                B[below].addmm_(L[below, own], B[own], alpha=-1)
            for start in reversed(starts):
                own, _ = _own_and_below(L, start, self.tile)
                B[own] = L[own, own].mT @ B[own]
                B[:start].addmm_(L[own, :start].mT, B[own], alpha=-1)
        return B


def _own_and_below(A: torch.Tensor, start: int, tile: int) -> tuple[slice, slice]:
    stop = min(start + tile, len(A))
    return slice(start, stop), slice(stop, len(A))


def _factorise_panel(A: torch.Tensor, panel: slice, tile: int) -> list[torch.Tensor]:
    """Factorise some columns of tiles, one after the other; return what LAPACK says of each."""
    infos = []
    for start in range(panel.start, panel.stop, tile):
        own, below = _own_and_below(A, start, tile)
        infos.append(_factorise_column(A, own, below))
        right = slice(own.stop, panel.stop)
        if right.start < right.stop:
            A[below, right].addmm_(A[below, own], A[right, own].mT, alpha=-1)
    return infos


def _factorise_column(A: torch.Tensor, own: slice, below: slice) -> torch.Tensor:
    """Factorise a tile on the diagonal and those below it; return what LAPACK says of it."""
    L, info = torch.linalg.cholesky_ex(A[own, own])
    identity = torch.eye(len(L), dtype=A.dtype, device=A.device)
    inverse = torch.linalg.solve_triangular(L, identity, upper=False)
    A[own, own] = inverse
    # Half of the inverse is zeros: from the last columns on, each needs those before it.
    step = max(len(L) // 2, 1)
    for begin in reversed(range(0, len(L), step)):
        end = min(begin + step, len(L))
        before = A[below, own.start : own.start + end]
        A[below, own.start + begin : own.start + end] = before @ inverse[begin:end, :end].mT
    return info


def _merged(A: torch.Tensor, tile: int) -> int:
    """Join tiles of inverses on the diagonal, two and two, up to ``SOLVE_TILE`` rows."""
    while tile < min(SOLVE_TILE, len(A)):
        for start in range(0, len(A) - tile, 2 * tile):
            first, _ = _own_and_below(A, start, tile)
            second, _ = _own_and_below(A, start + tile, tile)
            A[second, first] = -(A[second, second] @ (A[second, first] @ A[first, first]))
            A[first, second] = 0
        tile *= 2
    return tile


def _subtract_outer(C: torch.Tensor, left: torch.Tensor, right: torch.Tensor, scale: float) -> None:
    """Subtract P Qᵀ from the lower triangle of a square matrix, in squares as large as fit."""
    if len(C) <= UPDATE_ROWS:
        _subtract_product(C, left, right, scale)
        return
    half = len(C) // 2 // ALIGNED * ALIGNED
    _subtract_outer(C[:half, :half], left[:half], right[:half], scale)
    _subtract_product(C[half:, :half], left[half:], right[:half], scale)
    _subtract_outer(C[half:, half:], left[half:], right[half:], scale)


def _subtract_product(
    C: torch.Tensor, left: torch.Tensor, right: torch.Tensor, scale: float
) -> None:
    """Subtract P Qᵀ from ``C``, P and Q as they are or as scaled halves."""
    if left.dtype == C.dtype:
        C.addmm_(left, right.mT, alpha=-1)
    else:
        torch.addmm(C, left, right.mT, out_dtype=C.dtype, alpha=-(scale**-2), out=C)


class _Beside:
    """Work beside what a card is busy with; on a processor, work that is done at once."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._stream = torch.cuda.Stream(device, priority=-1) if on_card(device) else None

    def run(self, work: Callable[[], list[torch.Tensor]]) -> list[torch.Tensor]:
        """Start once all that was asked for is done."""
        if self._stream is None:
            return work()
        self._stream.wait_stream(torch.cuda.current_stream(self._device))
        with torch.cuda.stream(self._stream):
            return work()

    def join(self) -> None:
        if self._stream is not None:
            torch.cuda.current_stream(self._device).wait_stream(self._stream)
