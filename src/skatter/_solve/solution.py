"""What every route returns."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from skatter._tensors import Array, Tall, column_norms


class Found(Protocol):
    """What a solver found: a :class:`Solution`, or one that is computed as it is asked for."""

    @property
    def eigenvalues(self) -> Array:
        """λ, largest first."""

    @property
    def coefficients(self) -> Tall:
        """B."""

    @property
    def projections(self) -> Tall:
        """Z = K B."""

    @property
    def residuals(self) -> Array:
        """‖A b − λ C b‖ / ‖A b‖."""


class Solution(NamedTuple):
    """Leading eigenpairs of A b = λ C b, largest first, normalised to BᵀCB = I; Z = K B.

    ``residuals`` are ‖A b − λ C b‖ / ‖A b‖.
    """

    eigenvalues: Array
    coefficients: Tall
    projections: Tall
    residuals: Array


def rank_cutoff(dtype: Any) -> float:
    """Share of the largest eigenvalue below which another one is taken for rounding."""
    return 1e-10 if dtype == np.float64 else 1e-5


def numerical_rank(eigenvalues: Array) -> int:
    """Count the eigenvalues, sorted from the largest, that rounding cannot have made."""
    if not eigenvalues.size or eigenvalues[0] <= 0:
        return 0
    return int(np.sum(eigenvalues > rank_cutoff(eigenvalues.dtype) * eigenvalues[0]))


def relative_residuals(left: Tall, right: Tall) -> Array:
    """Column norms of left − right over those of left; zero where both vanish."""
    size = column_norms(left)
    return column_norms(left - right) / np.where(size > 0, size, 1)
