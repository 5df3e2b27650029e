"""P-values of many tests, and how to say them."""

from __future__ import annotations

import numpy as np

from skatter._tensors import Array

FAMILIES = 2  # pairs of domains and features are two families of tests; either can raise the alarm


def holm(p_values: Array, *, families: int = 1) -> Array:
    """Correct p-values for many tests by Holm's method.

    Where those at or below a level are called significant, the chance of any false alarm among all
    tests is at most this level, however they depend on one another.
    """
    corrected = np.full(len(p_values), np.nan)
    tested = np.flatnonzero(~np.isnan(p_values))
    order = tested[np.argsort(p_values[tested], kind="stable")]
    factors = families * np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(factors * p_values[order]), 1.0)
    return corrected


def say_p(p_value: float | None, floor: float = 0.0) -> str:
    """Say a p-value briefly; at its floor, the smallest that permutations can give, as a bound."""
    if p_value is None:
        return "-"
    if floor and p_value <= floor * (1 + 1e-9):
        return f"≤ {p_value:.2g}"
    if p_value < 0.001:
        return "< 0.001"
    return f"{p_value:.2f}" if p_value >= 0.1 else f"{p_value:.3f}"
