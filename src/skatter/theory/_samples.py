"""Reading what the user gives: samples, pairs of samples, and the constants of a bound."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils import check_array

from skatter._checks import check_alike, check_real
from skatter._parameters import POSITIVE
from skatter._tensors import Array
from skatter.kernels import Kernel, gram, resolve_kernel


@dataclass(frozen=True, eq=False)
class Pair:
    samples: Array
    n_source: int
    kernel: Kernel

    @cached_property
    def K(self) -> Array:
        """Raw Gram matrix of both samples."""
        return gram(self.samples, self.kernel)

    @property
    def n_target(self) -> int:
        return len(self.samples) - self.n_source

    @property
    def weights(self) -> Array:
        """Signed weights: 1/n_s on the first sample, −1/n_t on the second."""
        return np.repeat([1 / self.n_source, -1 / self.n_target], [self.n_source, self.n_target])


def check_table(X: Any, name: str, *, least: int = 1) -> Array:
    """Dense finite float64 samples: bounds are differences of means, which float32 would blur."""
    try:
        checked: Array = check_array(X, dtype=np.float64, ensure_min_samples=least, input_name=name)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"{name} must be a dense table of numbers with at least {least} sample(s), one per "
            f"row: {error}"
        ) from error
    return checked


def single_gram(X: Array, kernel: Any, gamma: Any) -> tuple[Kernel, Array]:
    resolved = resolve_kernel(X, kernel, gamma=gamma)
    return resolved, gram(X, resolved)


def read_pair(
    X: Any, Y: Any, kernel: Any, gamma: Any, *, names: tuple[str, str] = ("X", "Y"), least: int = 1
) -> Pair:
    X, Y = check_table(X, names[0], least=least), check_table(Y, names[1], least=least)
    check_alike(**{names[0]: X, names[1]: Y})
    both = np.vstack([X, Y])
    resolved = resolve_kernel(both, kernel, gamma=gamma)
    if resolved.precomputed and both.shape[0] != both.shape[1]:
        raise ValueError(
            f"{names[0]} and {names[1]} must be the rows of one square Gram matrix of both "
            f"samples when kernel='precomputed'; together they have shape {both.shape}. Rows of "
            "features need another kernel."
        )
    return Pair(both, len(X), resolved)


def kernel_bound(K: Array, bound: float | None) -> float:
    """B0 = sup k(x, x): given, or the largest in the sample."""
    largest = float(np.diagonal(K).max())
    if bound is None:
        return max(largest, 0.0)
    bound = float(POSITIVE("bound", bound))
    # A diagonal of ones may come out as 1 + eps.
    if largest > bound * (1 + 1e-12):
        raise ValueError(
            f"bound must be at least the largest k(x, x) of the samples, {largest:g}, got "
            f"{bound:g}. Give the supremum over all samples that can occur, or None."
        )
    return bound


def root(values: Any, scale: float) -> Array:
    """Square root of values that are non-negative but for rounding; ``scale`` is their size."""
    values = np.asarray(values)
    if np.any(values < -np.sqrt(np.finfo(np.float64).eps) * scale):
        raise ValueError(
            "kernel is not positive semi-definite on these samples, so it has no feature space. "
            "Use another kernel, such as 'rbf' or 'linear'."
        )
    return np.asarray(np.sqrt(np.maximum(values, 0.0)))


def check_alpha(alpha: Any) -> float:
    alpha = check_real("alpha", alpha)
    if not 0 < alpha < 1:
        raise ValueError(
            f"alpha must lie in (0, 1), got {alpha!r}. It is the probability that the bound "
            "fails: 0.05 for 95 % confidence."
        )
    return alpha
