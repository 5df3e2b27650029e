"""Nearest neighbours of a few thousand points among as many, exactly.

Products in single precision, of which groups of points keep the largest, bound how far the k
nearest can be, with room for rounding. That leaves hardly more than k points to each, whose
distances in the precision of the points decide. It takes half the time of a search that compares
all distances in double precision. A device compares all points.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from skatter._tensors import Array, Tall, is_tensor, nearest_neighbours
from skatter.domains import Codes

ROWS = 256  # points compared at a time with all others, so that the products stay in the cache
GROUPS = 16  # of points, to each neighbour: two of the nearest seldom fall into one
MOST = 100  # candidates to a point, on average, beyond which the usual search is sooner done


def nearest_points(A: Tall, B: Tall, k: int, *, apart: bool = False) -> tuple[Tall, Any]:
    """Return squared distances and places in B of the k nearest to each point of A.

    ``apart`` says that A is B, and that none of its points is a neighbour of its own.
    """
    k = min(k, len(B) - apart)
    if is_tensor(A):
        return nearest_neighbours(A, B, k, apart=apart)
    # Around their mean, products lose no digits.
    origin = B.mean(axis=0)
    near_A, near_B = A - origin, B - origin
    found = _candidates(near_A, near_B, k, apart)
    if found is None:
        model = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(near_B)
        index = model.kneighbors(None if apart else near_A, return_distance=False)
        return _squared(A, B, np.arange(len(A))[:, None], index), index
    row, index = found
    counts = np.bincount(row, minlength=len(A))
    place = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    squared = np.full((len(A), counts.max()), np.inf)
    squared[row, place] = _squared(A, B, row, index)
    candidates = np.empty(squared.shape, dtype=np.intp)
    candidates[row, place] = index
    # Stable: of points that coincide the first is taken.
    order = squared.argsort(axis=1, kind="stable")[:, :k]
    return np.take_along_axis(squared, order, 1), np.take_along_axis(candidates, order, 1)


def symmetric_graph(weight: Array, index: Codes) -> Any:
    """Return the graph of neighbours by row, weighed, with every edge both ways."""
    n, k = index.shape
    near = sparse.csr_array((weight.ravel(), index.ravel(), np.arange(0, n * k + 1, k)), (n, n))
    return near.maximum(near.T)


def _candidates(A: Array, B: Array, k: int, apart: bool) -> tuple[Codes, Codes] | None:
    """Return pairs among which the k nearest to each point of A are; None where they are many."""
    n, m = len(A), len(B)
    # Of all b the nearest has the largest a·b − ‖b‖²/2.
    half = np.einsum("ij,ij->i", B, B) / 2
    size = np.sqrt(2 * half.max()) * (np.linalg.norm(A, axis=1).max() + np.sqrt(half.max()))
    slack = 4 * (A.shape[1] + 2) * np.finfo(np.float32).eps * size
    left = np.hstack([A, np.full((n, 1), -1.0)]).astype(np.float32)
    right = np.vstack([B.T, half]).astype(np.float32)
    closeness, hits, n_hits = np.empty((ROWS, m), dtype=np.float32), [], 0
    for start in range(0, n, ROWS):
        rows = np.arange(start, min(start + ROWS, n))
        own = np.matmul(left[rows], right, out=closeness[: len(rows)])
        if apart:
            own[rows - start, rows] = -np.inf
        found = np.flatnonzero(own >= _kth_of_groups(own, k)[:, None] - np.float32(slack))
        n_hits += len(found)
        if n_hits > MOST * (start + len(rows)):
            return None
        hits.append(found + start * m)
    row, index = np.divmod(np.concatenate(hits), m)
    return row, index


def _kth_of_groups(closeness: Array, k: int) -> Array:
    """Return a number in each row that its kth largest is not below: that of largest in groups."""
    n, m = closeness.shape
    n_groups = min(GROUPS * k, m)
    size = m // n_groups
    largest = closeness[:, : size * n_groups].reshape(n, size, n_groups).max(axis=1)
    return np.partition(largest, n_groups - k, axis=1)[:, n_groups - k]


def _squared(A: Array, B: Array, row: Codes, index: Codes) -> Array:
    difference = A[row] - B[index]
    return np.asarray(np.einsum("...j,...j->...", difference, difference))
