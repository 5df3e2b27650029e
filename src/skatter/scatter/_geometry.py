"""What a scatter needs of a feature space, and all five scatters at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.extmath import row_norms

from skatter import _tensors as tensors
from skatter._tensors import Array
from skatter.domains import Codes, Domains
from skatter.scatter._factors import (
    class_factor,
    conditional_factor,
    domain_factor,
)


class Scatters(NamedTuple):
    """The five scatters of one labelled, multi-domain sample, each a mean."""

    total: float
    domain: float
    between_class: float
    within_class: float
    conditional_domain: float

    def share(self, name: str) -> float:
        """Return a scatter as a share of the total one; 0 where there is no scatter at all.

        Examples
        --------
        >>> Scatters(4.0, 1.0, 2.0, 1.0, 0.0).share("domain"), Scatters(*[0.0] * 5).share("domain")
        (0.25, 0.0)
        """
        return float(getattr(self, name) / self.total) if self.total > 0 else 0.0


@dataclass(frozen=True)
class Geometry:
    """What a scatter needs of a feature space: squared norms, and wᵀ K w for few columns w.

    Columns may be on the host, or on the ``device`` of the samples.
    """

    squared_norms: Array
    energies: Callable[[tensors.Tall], Array]
    device: Any = None
    gram: Array | None = None
    """K, where sums of its rows come sooner than a product with it."""

    @classmethod
    def of_features(cls, Z: Any) -> Geometry:
        """Feature space given explicitly, one row per sample."""
        if tensors.is_tensor(Z):
            distances = tensors.host(tensors.squared_distances_to_mean(Z))
            return cls(distances, lambda W: _energies_of_rows(Z, W), Z.device)
        if isinstance(Z, np.ndarray):
            # Scatters ignore a shift; without one, means far from zero would cost digits.
            Z = Z - Z.mean(axis=0, dtype=np.float64)
        return cls(
            row_norms(Z, squared=True).astype(np.float64),
            lambda W: np.sum(np.square(Z.T @ W), axis=0),
        )

    @classmethod
    def of_gram(cls, K: tensors.Tall) -> Geometry:
        """Feature space of a Gram matrix, centred or not."""
        device = tensors.device_of(K)

        def energies(W: tensors.Tall) -> Array:
            product = tensors.multiply(K, tensors.like(W, K))
            return tensors.column_dots(tensors.to_device(W, device), product)

        quick = K if tensors.is_double(K) else None
        return cls(tensors.host(K.diagonal()).astype(np.float64), energies, device, quick)

    def energy(self, W: Array) -> float:
        """Return tr(Wᵀ K W)."""
        return float(np.sum(self.energies(W)))

    def energies_by_cell(self, table: Array, cell: Codes) -> Array:
        """Return wᵀ K w for columns that are the same on all samples of a cell: rows of a table."""
        if self.gram is None:
            return self.energies(tensors.take(tensors.to_device(table, self.device), cell))
        return tensors.column_dots(table[cell], tensors.multiply_by_cell(self.gram, table, cell))


def _energies_of_rows(Z: tensors.Tall, W: tensors.Tall) -> Array:
    """Centre a tensor a strip of rows at a time, in float64."""
    W, mean = tensors.to_device(W, tensors.device_of(Z)), tensors.column_means(Z)
    parts = (
        tensors.multiply((Z[rows] - mean).T, W[rows])
        for rows in tensors.strips(len(Z), 8 * Z.shape[1])
    )
    return np.sum(np.square(tensors.host(sum(parts))), axis=0)


def measure(geometry: Geometry, domains: Domains) -> Scatters:
    """Return all five scatters of a sample in one feature space."""
    n_labelled = max(domains.n_labelled, 1)
    norms = geometry.squared_norms
    cells, cell = domains.cells()
    labelled = np.where(cells.labelled, cells.counts, 0)[:, None]
    factors = [
        cells.counts[:, None] / len(norms),
        domain_factor(cells),
        labelled / np.sqrt(n_labelled),
        class_factor(cells),
        conditional_factor(cells),
    ]
    # Samples of one domain and class have the same coefficients, and one pass over the Gram matrix
    # serves all factors.
    of_sample = np.hstack(factors) / cells.counts[:, None]
    energies = geometry.energies_by_cell(of_sample, cell)
    ends = np.cumsum([factor.shape[1] for factor in factors])[:-1]
    pooled, domain, labelled_mean, between, conditional = (
        float(part.sum()) for part in np.split(energies, ends)
    )
    # Class means are the labelled mean and how they differ from it, at right angles.
    classes = labelled_mean + between
    return Scatters(
        total=max(float(norms.mean()) - pooled, 0.0),
        domain=domain,
        between_class=between / n_labelled,
        within_class=max(float(norms[domains.labelled].sum()) - classes, 0.0) / n_labelled,
        conditional_domain=conditional,
    )
