"""When a Krylov space is large enough, and when it is worth another look."""

from __future__ import annotations

from collections.abc import Callable
from math import log
from typing import TypeVar

import numpy as np

from skatter._solve.lanczos import BLOCK
from skatter._solve.solution import rank_cutoff
from skatter._tensors import Array

Found = TypeVar("Found")


def excess(eigenvalues: Array, residuals: Array, tol: float) -> float:
    """Largest residual over what ``tol``, relative to each one's own eigenvalue, allows.

    Eigenvalues below the numerical rank must be known to be there; and rounding is relative to
    the largest one, so that small ones cannot do better.
    """
    largest = max(float(eigenvalues[0]), 0.0) if len(eigenvalues) else 0.0
    size = np.maximum(eigenvalues, rank_cutoff(eigenvalues.dtype) * largest)
    rounding = 100 * np.finfo(size.dtype).eps * largest
    allowed = np.maximum(np.maximum(tol * size, rounding), np.finfo(size.dtype).tiny)
    return float(np.max(residuals / allowed, initial=0.0))


def widest_cluster(eigenvalues: Array, gap: float) -> int:
    """Count the eigenvalues in the longest run whose relative gaps are below ``gap``."""
    apart = np.flatnonzero(-np.diff(eigenvalues) > gap * eigenvalues[:-1])
    ends = np.concatenate([[-1], apart, [len(eigenvalues) - 1]])
    return int(np.diff(ends).max())


def with_enough_directions(
    find: Callable[[int], tuple[Found, int, bool]], n_random: int, most: int
) -> Found:
    """Search with more and more random directions until they are enough.

    A space grown from r random directions holds at most r vectors of one eigenspace. Where r or
    more of the wanted eigenvalues are equal there may be others, and r is too small. ``find`` says
    what it found, the width of its widest cluster of eigenvalues, and whether its space was whole.
    """
    while True:
        found, widest, whole = find(min(n_random, most))
        if whole or widest < n_random:
            return found
        n_random = widest + BLOCK


class Pace:
    """Which blocks to look at: looking costs a small eigenproblem, growing on costs a product.

    While the rate of convergence is not known, every ``patience``-th one.
    """

    def __init__(self, first_look: int, patience: int = 3) -> None:
        self.blocks, self._patience = 0, patience
        self._next_look = first_look
        self._last_look: tuple[int, float] | None = None

    def step(self) -> bool:
        self.blocks += 1
        return self.blocks >= self._next_look

    def restart(self) -> None:
        """Forget the rate seen so far: the next look is at something else."""
        self._last_look = None

    def plan(self, excess: float) -> None:
        """Skip blocks that, at the rate seen last, will not do."""
        blocks = self._patience
        if self._last_look is not None:
            earlier, previous = self._last_look
            rate = log(previous / excess) / (self.blocks - earlier)
            if rate > 0:
                # Convergence speeds up: go half of the way that is left.
                blocks = min(max(1, round(log(excess) / rate / 2)), 8)
        self._last_look = (self.blocks, excess)
        self._next_look = self.blocks + blocks
