"""What every route returns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skatter.tensors import Tall, column_norms

Array = NDArray[Any]


class Solution(NamedTuple):
    """Leading eigenpairs of A b = λ C b, largest first, normalised to BᵀCB = I.

    Attributes
    ----------
    eigenvalues : ndarray of shape (k,)
        λ, positive.
    coefficients : tall array of shape (n_samples, k), or ndarray of shape (n_features, k)
        B in the dual route, W in the primal route.
    projections : tall array of shape (n_samples, k)
        Z = K B, or Φ W.
    residuals : ndarray of shape (k,)
        ‖A b − λ C b‖ / ‖A b‖.
    norms : ndarray of shape (k,) or None
        ‖b‖, where the equation leaves no other b with the same projections.
    """

    eigenvalues: Array
    coefficients: Tall
    projections: Tall
    residuals: Array
    norms: Array | None = None


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
