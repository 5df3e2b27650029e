"""What a scatter needs of a feature space, and all five scatters at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.extmath import row_norms

from skatter.domains import Domains
from skatter.scatter.factors import (
    class_factor,
    class_indicators,
    conditional_factor,
    domain_factor,
)

Array = NDArray[Any]


class Scatters(NamedTuple):
    """The five scatters of one labelled, multi-domain sample, each a mean."""

    total: float
    domain: float
    between_class: float
    within_class: float
    conditional_domain: float


@dataclass(frozen=True)
class Geometry:
    """What a scatter needs of a feature space: squared norms, and wᵀ K w for few columns w.

    Attributes
    ----------
    squared_norms : ndarray of shape (n_samples,)
        The diagonal of K.
    energies : callable
        W -> wᵀ K w for each column of W.
    """

    squared_norms: Array
    energies: Callable[[Array], Array]

    @classmethod
    def of_features(cls, Z: Any) -> Geometry:
        """Feature space given explicitly, one row per sample."""
        if isinstance(Z, np.ndarray):
            # Scatters ignore a shift; without one, means far from zero would cost digits.
            Z = Z - Z.mean(axis=0, dtype=np.float64)
        return cls(
            row_norms(Z, squared=True).astype(np.float64),
            lambda W: np.sum(np.square(Z.T @ W), axis=0),
        )

    @classmethod
    def of_gram(cls, K: Array) -> Geometry:
        """Feature space of a Gram matrix, centred or not."""
        return cls(
            np.diagonal(K).astype(np.float64),
            lambda W: np.sum(W * (K @ W.astype(K.dtype)), axis=0),
        )

    def energy(self, W: Array) -> float:
        """Return tr(Wᵀ K W)."""
        return float(np.sum(self.energies(W)))


def measure(geometry: Geometry, domains: Domains) -> Scatters:
    """Return all five scatters of a sample in one feature space."""
    n_labelled = max(domains.n_labelled, 1)
    norms = geometry.squared_norms
    factors = {
        "pooled": np.full((len(norms), 1), 1 / len(norms)),
        "domain": domain_factor(domains),
        "between": class_factor(domains),
        "classes": class_indicators(domains),
        "conditional": conditional_factor(domains),
    }
    # One pass over the Gram matrix serves all factors.
    energies = geometry.energies(np.hstack(list(factors.values())))
    ends = np.cumsum([factor.shape[1] for factor in factors.values()])[:-1]
    energy = {
        name: float(part.sum())
        for name, part in zip(factors, np.split(energies, ends), strict=True)
    }
    within = float(norms[domains.labelled].sum()) - energy["classes"]
    return Scatters(
        total=max(float(norms.mean()) - energy["pooled"], 0.0),
        domain=energy["domain"],
        between_class=energy["between"] / n_labelled,
        within_class=max(within, 0.0) / n_labelled,
        conditional_domain=energy["conditional"],
    )
