"""The Gram matrix in tiles: computed when it is needed, never stored.

Where n samples are too many for a matrix of n² numbers, a product with it is still within reach:
the kernel of some samples with some others is computed, multiplied and forgotten,

    (K W)_i = Σ_j k(X_i, X_j) W_j

A tile off the diagonal serves twice: K_ij for the rows i, its transpose for the rows j. What the
kernel costs does not depend on the number of columns of W, so that one product with many columns
is much cheaper than many products with one.

Centring needs no matrix either: H K H W is K times the centred W, centred again.
"""

from __future__ import annotations

from functools import cached_property
from itertools import combinations_with_replacement
from math import isqrt
from typing import Any

import numpy as np
from sklearn.utils import gen_batches

from skatter import _tensors as tensors
from skatter._checks import check_integer
from skatter._tensors import Array
from skatter.kernels import DIAGONAL_BATCH, Kernel
from skatter.scatter import Geometry

HOST_TILE_BYTES = 2**25  # bytes of a tile in the memory of the host
DEVICE_TILE_BYTES = 2**31  # bytes of a tile in the memory of a graphics card, at most


class TiledGram:
    """Products with the centred Gram matrix of samples, in memory that one tile bounds.

    A precomputed Gram matrix may be a memory map. ``products`` counts how often the kernel of all
    pairs was computed.
    """

    def __init__(self, X: Any, kernel: Kernel, *, tile: int | None = None) -> None:
        self.X, self.kernel = X, kernel
        self.tile = _default_tile(X) if tile is None else check_integer("tile", tile, low=1)
        self.products = 0
        self._means: Array | None = None

    @property
    def n(self) -> int:
        return int(self.X.shape[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        return tensors.host_dtype(self.X)

    def product(self, W: tensors.Tall) -> tensors.Tall:
        """Return H K H W for a tall W of any number of columns, in the floating type of X."""
        out = self._multiply(W - W.mean(axis=0))
        out -= out.mean(axis=0)
        return out

    @property
    def means(self) -> Array:
        """Column means of K on the host, gathered on the way of the first product."""
        if self._means is None:
            self._multiply(self._zeros(0))
        assert self._means is not None
        return self._means

    @cached_property
    def diagonal(self) -> Array:
        """Kernel of each sample with itself, before centring, in float64 on the host."""
        batch = min(self.tile, DIAGONAL_BATCH)
        return self.kernel.diagonal(self.X, batch=batch).astype(np.float64)

    @property
    def trace(self) -> float:
        """Trace of H K H, n times the total scatter; zero where it is nothing but rounding."""
        size = float(np.abs(self.diagonal).sum())
        trace = float(self.diagonal.sum()) - float(self.means.sum(dtype=np.float64))
        return trace if abs(trace) > 100 * np.finfo(self.dtype).eps * size else 0.0

    @property
    def geometry(self) -> Geometry:
        """What :func:`skatter.scatter.measure` needs: one product gives all five scatters."""
        return Geometry(self.diagonal, self._energies, tensors.device_of(self.X))

    def columns(self, rows: Array) -> tensors.Tall:
        """Return the columns of K that belong to some samples, before centring."""
        out = tensors.empty_columns(self.n, len(rows), self.X)
        picked = None if self.kernel.precomputed else tensors.take(self.X, rows)
        for part in gen_batches(self.n, self.tile):
            out[part] = (
                tensors.take(self.X[part].T, rows).T
                if picked is None
                else self.kernel(self.X[part], picked)
            )
        return out

    def _energies(self, W: tensors.Tall) -> Array:
        """Return wᵀ K w for the columns of an array."""
        return tensors.column_dots(
            tensors.to_device(W, tensors.device_of(self.X)), self._multiply(tensors.like(W, self.X))
        )

    def _multiply(self, W: tensors.Tall) -> tensors.Tall:
        """Return K W; the first time the column means are gathered beside it."""
        if self._means is not None:
            return self._sum_of_tiles(W)
        out = self._sum_of_tiles(tensors.hstack([W, tensors.like(np.ones((self.n, 1)), self.X)]))
        self._means = tensors.host(out[:, -1]) / self.dtype.type(self.n)
        return out[:, :-1]

    def _sum_of_tiles(self, W: tensors.Tall) -> tensors.Tall:
        out = self._zeros(W.shape[1])
        for rows, columns in combinations_with_replacement(gen_batches(self.n, self.tile), 2):
            K = self._tile(rows, columns)
            out[rows] += tensors.multiply(K, W[columns])
            if rows != columns:
                out[columns] += tensors.multiply(K.T, W[rows])
        self.products += 1
        return out

    def _tile(self, rows: slice, columns: slice) -> tensors.Tall:
        if self.kernel.precomputed:
            return self.X[rows, columns]
        # Of samples with themselves: a kernel may then make the diagonal exact.
        return self.kernel(self.X[rows], None if rows == columns else self.X[columns])

    def _zeros(self, columns: int) -> tensors.Tall:
        out = tensors.empty_columns(self.n, columns, self.X)
        out[...] = 0
        return out


def _default_tile(X: Any) -> int:
    """Rows of a square tile: larger on a card, which is busy with a large product alone."""
    free = tensors.free_memory(tensors.device_of(X))
    most = HOST_TILE_BYTES if free is None else min(DEVICE_TILE_BYTES, free // 8)
    rows = isqrt(most // tensors.host_dtype(X).itemsize)
    return max(rows if free is None else rows // tensors.ALIGNED * tensors.ALIGNED, 1)
