"""The graph of nearest neighbours, and where a new sample would have its place in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import gen_batches

from skatter._tensors import Array

BATCH = 2**22  # distances between new and training samples that are held at once


class Neighbourhood:
    """Who is whose neighbour, among the training samples and beyond.

    Samples at the same distance are neighbours alike, so that no order of them matters.
    """

    def __init__(self, X: Any, k: int) -> None:
        # Distances are lost to rounding far from zero; only dense samples can be moved cheaply.
        self._origin = 0.0 if sparse.issparse(X) else X.mean(axis=0)
        self._samples = X.copy() if sparse.issparse(X) else X - self._origin
        self._k = min(k, X.shape[0] - 1)
        self.reach = np.zeros(X.shape[0])

    def graph(self, X: Any) -> Any:
        """Return the adjacency of the training samples ``X``, and learn their reach."""
        found = []
        for rows in self.batches(X.shape[0]):
            distances = self._distances(X[rows])
            distances[np.arange(len(distances)), np.arange(rows.start, rows.stop)] = np.inf
            self.reach[rows] = _smallest(distances, self._k)
            found.append(_within(distances, self.reach[rows, None]))
        joined = sparse.vstack(found, format="csr")
        return joined.maximum(joined.T)

    def edges(self, X: Any) -> Any:
        """Return the edges of new samples: to k + 1 nearest ones, and to whose neighbour they are.

        A sample that was trained on then has its k neighbours and itself, which pulls it nowhere.
        """
        distances = self._distances(X)
        own = _smallest(distances, self._k + 1)
        return _within(distances, np.maximum(own[:, None], self.reach))

    def batches(self, n_samples: int) -> Iterator[slice]:
        """Split samples so that the distances of one part can be held at once."""
        return gen_batches(n_samples, max(BATCH // self._samples.shape[0], 1))

    def _distances(self, X: Any) -> Array:
        X = X if sparse.issparse(X) else X - self._origin
        return euclidean_distances(X, self._samples, squared=True)


def _smallest(distances: Array, k: int) -> Array:
    return np.partition(distances, k - 1, axis=1)[:, k - 1]


def _within(distances: Array, reach: Array) -> Any:
    """Return which are within reach, ties included whatever their rounding."""
    return sparse.csr_array(distances <= reach * (1 + 1e-9), dtype=np.float64)
