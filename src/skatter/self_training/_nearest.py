"""Nearest neighbours of points that move a little from one search to the next.

The neighbours found last time are near still: the farthest of them bounds how far the k nearest
can be. One product in single precision, cut off at that bound with room for its rounding, leaves a
few candidates to each point, and their distances in double precision decide. A device compares all
points each time, which it does sooner than that.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from skatter._tensors import Array, Tall, is_tensor, nearest_neighbours
from skatter.domains import Codes

ROWS = 256  # points compared at a time with all others, so that the products stay in the cache
MOST = 100  # candidates to a point, on average, beyond which a search from scratch is sooner done
WIDEST = 1000  # the same for a single point


class Nearest:
    """Find the k nearest points again and again; the first search starts from nothing.

    ``apart`` says that points are looked for among themselves, and none is a neighbour of its own.
    """

    def __init__(self, k: int, *, apart: bool = False) -> None:
        self._k, self._apart = k, apart
        self._last: Codes | None = None

    def __call__(self, A: Tall, B: Tall) -> tuple[Tall, Any]:
        """Return squared distances and places in B of the nearest to each point of A."""
        k = min(self._k, len(B) - self._apart)
        if is_tensor(A):
            return nearest_neighbours(A, B, k, apart=self._apart)
        found = None
        if self._last is not None and self._last.shape == (len(A), k):
            found = _within(A, B, self._last, self._apart)
        if found is None:
            model = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(B)
            index = model.kneighbors(None if self._apart else A, return_distance=False)
            found = _squared(A, B, np.arange(len(A))[:, None], index), index
        self._last = found[1]
        return found


def _within(A: Array, B: Array, known: Codes, apart: bool) -> tuple[Array, Codes] | None:
    """Return the k nearest, given k points that are near; None where they are not near enough."""
    n, k = known.shape
    # Of all b the nearest has the largest a·b − ‖b‖²/2.
    half = np.einsum("ij,ij->i", B, B) / 2
    bound = (np.einsum("ij,ikj->ik", A, B[known]) - half[known]).min(axis=1)
    size = np.sqrt(2 * half.max()) * (np.linalg.norm(A, axis=1).max() + np.sqrt(half.max()))
    bound -= 4 * (A.shape[1] + 2) * np.finfo(np.float32).eps * size
    left = np.hstack([A, np.full((n, 1), -1.0)]).astype(np.float32)
    right = np.vstack([B.T, half]).astype(np.float32)
    bound = bound.astype(np.float32)[:, None]
    hits, n_hits = [], 0
    for start in range(0, n, ROWS):
        rows = slice(start, start + ROWS)
        own = np.flatnonzero(left[rows] @ right >= bound[rows])
        n_hits += len(own)
        if n_hits > MOST * min(n, start + ROWS):
            return None
        hits.append(own + start * len(B))
    row, index = np.divmod(np.concatenate(hits), len(B))
    if apart:
        row, index = row[row != index], index[row != index]
    counts = np.bincount(row, minlength=n)
    if counts.max() > WIDEST:
        return None
    place = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    squared = np.full((n, counts.max()), np.inf)
    squared[row, place] = _squared(A, B, row, index)
    candidates = np.empty(squared.shape, dtype=np.intp)
    candidates[row, place] = index
    # Stable: of points that coincide the first is taken.
    nearest = squared.argsort(axis=1, kind="stable")[:, :k]
    return np.take_along_axis(squared, nearest, 1), np.take_along_axis(candidates, nearest, 1)


def _squared(A: Array, B: Array, row: Codes, index: Codes) -> Array:
    difference = A[row] - B[index]
    return np.asarray(np.einsum("...j,...j->...", difference, difference))
