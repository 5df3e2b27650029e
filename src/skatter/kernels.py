"""Kernels: from samples to a Gram matrix.

All kernels of :mod:`sklearn.metrics.pairwise`, callables and precomputed matrices; the median
heuristic for those that are built on a distance; centring; and a memory check that speaks before
anything large is allocated. Samples may be torch tensors, for the kernels that these have.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.metrics.pairwise import (
    additive_chi2_kernel,
    euclidean_distances,
    kernel_metrics,
    manhattan_distances,
    pairwise_kernels,
)
from sklearn.utils import gen_batches
from sklearn.utils.extmath import row_norms

from skatter import _tensors as tensors
from skatter._checks import seeded
from skatter._parameters import (
    POSITIVE,
    Declared,
    declared,
    optional,
    parameter,
    random_state,
    real,
)
from skatter._threads import in_brief_threads

__all__ = ["Kernel", "centre", "gram", "median_distance", "resolve_kernel"]

MEDIAN_SAMPLE = 1000
"""Above this many samples, the median heuristic looks at a subsample of this size."""
DIAGONAL_BATCH = 256  # samples whose kernel with one another is computed for the diagonal alone
GRAM_TILE = 192  # rows and columns of the tiles in which a Gram matrix is computed
_DEGREE, _COEF0 = real(1), real()

_DISTANCES: Mapping[str, Callable[[Any], tensors.Array]] = {
    "rbf": lambda X: euclidean_distances(X, squared=True),
    "laplacian": manhattan_distances,
    "chi2": lambda X: -additive_chi2_kernel(X),
}
"""The distance d in kernels of the form exp(-gamma d)."""


@dataclass(frozen=True)
class Kernel:
    """A kernel with all its parameters resolved; call it on one or two sets of samples.

    Build it with :func:`resolve_kernel`.

    Examples
    --------
    >>> import numpy as np
    >>> kernel = resolve_kernel(np.array([[0.0], [2.0]]), "rbf")
    >>> kernel.params["gamma"]
    0.25
    >>> kernel(np.array([[0.0]]), np.array([[2.0]])).round(4)
    array([[0.3679]])
    """

    metric: str | Callable[..., tensors.Tall]
    params: Mapping[str, Any] = field(default_factory=dict)
    origin: tensors.Tall | None = None
    """Subtracted from samples where only differences count, so that no digits are lost."""

    @property
    def precomputed(self) -> bool:
        """Whether samples are given as rows of a Gram matrix."""
        return self.metric == "precomputed"

    @property
    def linear(self) -> bool:
        """Whether the feature space is the input space."""
        return self.metric == "linear"

    def __call__(self, X: Any, Y: Any = None) -> tensors.Tall:
        """Return the kernel between rows of ``X`` and ``Y``, in the floating type of ``X``.

        Where ``X`` is a tensor, so is the kernel, on the same device.
        """
        if self.precomputed:
            return X if tensors.is_tensor(X) else np.asarray(X)
        if callable(self.metric):
            return self._call_user(X, X if Y is None else Y)
        if self.origin is not None:
            # Samples that were dense in the fit may come sparse: shifted, they are dense again.
            X, Y = (W.toarray() if issparse(W) else W for W in (X, Y))
            X, Y = (W if W is None else W - tensors.like(self.origin, W) for W in (X, Y))
        if tensors.is_tensor(X):
            Y = None if Y is None else tensors.like(Y, X)
            return tensors.kernel_matrix(self.metric, self.params, X, Y)
        if self.metric == "rbf" and Y is None and tensors.is_double(X):
            return _rbf_gram(X, self.params.get("gamma"))
        K = pairwise_kernels(X, Y, metric=self.metric, filter_params=True, **self.params)
        return np.asarray(K, dtype=X.dtype)

    def diagonal(self, X: Any, *, batch: int = DIAGONAL_BATCH) -> tensors.Array:
        """Return the kernel of every sample with itself, on the host, ``batch`` rows at a time."""
        if self.precomputed:
            return tensors.host(X.diagonal())
        parts = [tensors.host(self(X[rows]).diagonal()) for rows in gen_batches(X.shape[0], batch)]
        return np.concatenate(parts)

    def _call_user(self, X: Any, Y: Any) -> tensors.Tall:
        assert callable(self.metric)
        if tensors.is_tensor(X):
            with tensors.full_precision():
                K = self.metric(X, Y, **self.params)
            if not tensors.is_tensor(K):
                raise TypeError(
                    f"The callable kernel returned {type(K).__name__} for tensors. It must take "
                    "two tensors of samples and return the tensor of their kernel values; for one "
                    "that knows NumPy alone, pass X.numpy(force=True)."
                )
            K = tensors.like(K, X)
        else:
            K = np.asarray(self.metric(X, Y, **self.params), dtype=X.dtype)
        if K.shape != (X.shape[0], Y.shape[0]):
            raise ValueError(
                f"The callable kernel returned shape {tuple(K.shape)} for {X.shape[0]} and "
                f"{Y.shape[0]} samples. It must take two arrays of samples and return the matrix "
                "of their kernel values, as in sklearn.svm.SVC; wrap a function of two vectors in "
                "sklearn.metrics.pairwise.pairwise_kernels."
            )
        return K


def resolve_kernel(
    X: Any,
    kernel: str | Callable[..., tensors.Tall] = "rbf",
    *,
    gamma: float | str | None = "median",
    degree: float = 3,
    coef0: float = 1,
    kernel_params: Mapping[str, Any] | None = None,
    random_state: Any = None,
) -> Kernel:
    """Check a kernel's name and parameters, and set its bandwidth from the samples.

    Parameters
    ----------
    X : array or Tensor of shape (n_samples, n_features)
        Samples that the median heuristic looks at.
    kernel : str or callable
        A name known to scikit-learn's ``pairwise_kernels``, ``"precomputed"``, or a function of
        two arrays of samples that returns the matrix of kernel values. Tensors have cosine,
        laplacian, linear, polynomial, rbf and sigmoid.
    gamma : "median", "printed", float or None
        ``"median"``: 1 / median distance of distinct pairs, for ``rbf`` (squared Euclidean),
        ``laplacian`` (city block) and ``chi2``; scikit-learn's own default for the rest.
        ``"printed"``: 1 / median², the rule as printed in the paper, which depends on the units
        of the features. None: scikit-learn's default.
    degree, coef0 : float
        For the polynomial and sigmoid kernels.
    kernel_params : mapping or None
        Extra arguments of a callable kernel.
    random_state : int, RandomState instance or None
        Chooses the subsample when there are more than ``MEDIAN_SAMPLE`` samples. None is a fixed
        seed: the same samples give the same kernel.
    """
    if callable(kernel):
        return Kernel(kernel, dict(kernel_params or {}))
    _check_name("kernel", kernel)
    if tensors.is_tensor(X) and kernel != "precomputed":
        tensors.check_kernel(kernel)
    if kernel_params:
        raise ValueError(
            f"kernel_params are for callable kernels; the {kernel} kernel takes gamma, degree and "
            "coef0."
        )
    bandwidth = _resolve_gamma(X, kernel, gamma, random_state)
    return Kernel(
        kernel,
        {"gamma": bandwidth, "degree": _DEGREE("degree", degree), "coef0": _COEF0("coef0", coef0)},
        X.mean(axis=0) if kernel == "rbf" and not issparse(X) else None,
    )


def kernel_of(estimator: Any, X: Any) -> Kernel:
    """Resolve the kernel that an estimator's parameters name, with its bandwidth set from ``X``."""
    given = {name: getattr(estimator, name) for name in KERNEL_PARAMETERS}
    return resolve_kernel(X, **given, random_state=getattr(estimator, "random_state", None))


def _resolve_gamma(
    X: Any, kernel: str, gamma: float | str | None, random_state: Any
) -> float | None:
    _check_gamma("gamma", gamma)
    if gamma is None:
        return 1.0 if kernel == "chi2" else None
    if not isinstance(gamma, str):
        return float(gamma)
    if kernel not in _DISTANCES:
        return None
    median = median_distance(X, kernel, random_state=random_state)
    return 1 / median if gamma == "median" else 1 / median**2


def _check_name(name: str, value: Any) -> None:
    known = sorted(kernel_metrics())
    if not callable(value) and not (isinstance(value, str) and value in (*known, "precomputed")):
        raise ValueError(
            f"{name} must be one of {', '.join(known)}, precomputed, or a callable; got {value!r}."
        )


def _check_gamma(name: str, value: Any) -> None:
    if not isinstance(value, str):
        optional(POSITIVE)(name, value)
    elif value not in ("median", "printed"):
        raise ValueError(f"{name} must be 'median', 'printed', a number or None, got {value!r}.")


def _check_mapping(name: str, value: Any) -> None:
    if not isinstance(value, Mapping):
        raise TypeError(f"{name} must be a mapping or None, got {value!r}.")


@declared
class WithKernel(Declared):
    """Parameters of estimators that work with a kernel; see :func:`kernel_of`.

    Parameters
    ----------
    kernel : str or callable
        Any kernel of :mod:`sklearn.metrics.pairwise`, ``"precomputed"``, or a function of two
        arrays that returns the matrix of kernel values.
    gamma : "median", "printed", float or None
        Bandwidth; see :func:`skatter.kernels.resolve_kernel`.
    degree, coef0 : float
        For the polynomial and sigmoid kernels.
    kernel_params : dict or None
        Extra arguments of a callable kernel.
    random_state : int, RandomState instance or None
        For large samples, seeds the median heuristic. None is a fixed seed.
    """

    kernel: Any = parameter(_check_name, default="rbf")
    gamma: Any = parameter(_check_gamma, default="median")
    degree: float = parameter(_DEGREE, default=3)
    coef0: float = parameter(_COEF0, default=1)
    kernel_params: dict[str, Any] | None = parameter(optional(_check_mapping), default=None)
    random_state: Any = parameter(random_state, default=None)


KERNEL_PARAMETERS = ("kernel", "gamma", "degree", "coef0", "kernel_params")
"""Of :class:`WithKernel`: what says which kernel it is."""


def median_distance(X: Any, kernel: str = "rbf", *, random_state: Any = None) -> float:
    """Median distance of distinct pairs, zeros dropped, in the distance of ``kernel``.

    Above ``MEDIAN_SAMPLE`` samples, a subsample is drawn by rank of the distance to the centroid,
    so that neither the order of the rows nor a rigid motion of the inputs changes the result.

    Examples
    --------
    >>> import numpy as np
    >>> median_distance(np.array([[0.0], [0.0], [1.0], [3.0]]))
    4.0
    """
    if X.shape[0] > MEDIAN_SAMPLE:
        X = tensors.take(X, _representative_rows(X, random_state))
    if tensors.is_tensor(X) and kernel == "rbf":
        found = tensors.median_squared_distance(X)
        return 1.0 if found is None else found
    X = tensors.host(X) if tensors.is_tensor(X) else X
    if kernel == "rbf" and isinstance(X, np.ndarray):
        X = X - np.median(X, axis=0)  # which no outlier can move far
    distances = _DISTANCES[kernel](X)
    slack = 0.0
    if kernel == "rbf":
        # Squared distances that rounding alone gives to a pair of equal samples.
        norms = row_norms(X, squared=True).astype(np.float64)
        slack = np.finfo(np.float64).eps * X.shape[1] * (norms[:, None] + norms)
    distinct = distances[np.triu(distances > slack, k=1)]
    return float(np.median(distinct)) if distinct.size else 1.0


def _representative_rows(X: Any, random_state: Any) -> tensors.Array:
    """One row from each of ``MEDIAN_SAMPLE`` equal strata of the distance to the centroid."""
    if tensors.is_tensor(X):
        distances = tensors.squared_distances_to_mean(X)
    else:
        centroid = np.asarray(X.mean(axis=0)).reshape(1, -1)
        distances = euclidean_distances(X, centroid, squared=True).ravel()
    ranks = tensors.ascending(distances)
    rng = seeded(random_state)
    strata = (np.arange(MEDIAN_SAMPLE) + rng.uniform(size=MEDIAN_SAMPLE)) / MEDIAN_SAMPLE
    return ranks[(strata * X.shape[0]).astype(np.intp)]


def gram(X: Any, kernel: Kernel) -> tensors.Tall:
    """Return a fresh Gram matrix of the rows of ``X``, after checking that it fits in memory.

    That of a tensor is symmetric to the bit; a precomputed one is checked.
    """
    require_memory(X.shape[0], tensors.host_dtype(X).itemsize, tensors.device_of(X))
    K = check_gram(X) if kernel.precomputed else kernel(X)
    # What a user's function returned may be its own, cached or read-only.
    return tensors.copied_rows(K) if kernel.precomputed or callable(kernel.metric) else K


def _rbf_gram(X: tensors.Array, gamma: float | None) -> tensors.Array:
    """Return exp(−γ ‖x − y‖²), half of it computed, tile by tile in the cache of the processor.

    With a column for the squared norm and one of ones, a product of rows is the whole exponent.
    """
    gamma = 1 / X.shape[1] if gamma is None else gamma
    norms, ones = gamma * row_norms(X, squared=True)[:, None], np.ones((len(X), 1))
    left = np.hstack([2 * gamma * X, -norms, ones])
    right = np.hstack([X, ones, -norms])
    K = np.empty((len(X), len(X)))

    def fill(rows: slice) -> None:
        for columns in gen_batches(rows.stop, GRAM_TILE):
            tile = left[rows] @ right[columns].T
            if rows == columns:
                tile = np.tril(tile) + np.tril(tile, -1).T
            np.minimum(tile, 0, out=tile)
            K[rows, columns] = np.exp(tile, out=tile)
            K[columns, rows] = tile.T

    # Many small products: the cores take a strip each, for two on one product wait for each other.
    # The last strips are the longest.
    strips = reversed(list(gen_batches(len(X), GRAM_TILE)))
    in_brief_threads(partial(fill, rows) for rows in strips)
    np.fill_diagonal(K, 1)
    return K


def check_gram(K: tensors.Tall) -> tensors.Tall:
    """Check that a precomputed Gram matrix is square and symmetric."""
    if not (isinstance(K, np.ndarray) or tensors.is_tensor(K)):
        raise TypeError("X must be a dense Gram matrix when kernel='precomputed'.")
    if K.shape[0] != K.shape[1]:
        raise ValueError(
            f"X must be a square Gram matrix when kernel='precomputed', got shape "
            f"{tuple(K.shape)}. Rows of features need another kernel."
        )
    if not _is_symmetric(K):
        raise ValueError(
            "X must be a symmetric Gram matrix when kernel='precomputed'; "
            "average it with its transpose if it differs by rounding only."
        )
    return K


def _is_symmetric(K: tensors.Tall) -> bool:
    """Whether K differs from its transpose by rounding only."""
    slack = np.sqrt(np.finfo(tensors.host_dtype(K)).eps)
    if tensors.is_tensor(K):
        difference, size = tensors.asymmetry(K)
        return difference <= slack * size
    slack *= np.abs(K).max(initial=0.0)
    return all(np.abs(K[rows] - K[:, rows].T).max() <= slack for rows in gen_batches(len(K), 512))


def centre(K: tensors.Tall) -> tensors.Tall:
    """Centre a Gram matrix in place, K <- H K H, and return the column means it had.

    Where all samples coincide, the rounding that is left becomes zero.

    Examples
    --------
    >>> import numpy as np
    >>> K = np.array([[2.0, 0.0], [0.0, 4.0]])
    >>> centre(K)
    array([1., 2.])
    >>> K
    array([[ 1.5, -1.5],
           [-1.5,  1.5]])
    """
    if tensors.is_tensor(K):
        return tensors.centre_gram(K)
    size = float(np.abs(np.diagonal(K)).sum(dtype=np.float64))
    means = K.mean(axis=0, dtype=np.float64)
    grand = means.mean()
    means = means.astype(K.dtype)
    K -= (means - grand).astype(K.dtype)
    K -= means[:, None]
    if abs(float(np.trace(K))) <= 100 * np.finfo(K.dtype).eps * size:
        K[...] = 0
    return means


def require_memory(n_samples: int, itemsize: int, device: Any = None) -> None:
    """Raise MemoryError where a Gram matrix, with the factor beside it, cannot fit."""
    one = n_samples**2 * itemsize
    on_card = tensors.free_memory(device)
    free = available_memory() if on_card is None else on_card
    if free is not None and 2 * one > free:
        place = "" if on_card is None else f" on {device}"
        raise MemoryError(
            f"The Gram matrix of {n_samples:,} samples takes {one / 2**30:,.1f} GiB, twice that "
            f"with its factorisation; {free / 2**30:,.1f} GiB are free{place}. Use "
            "solver='iterative', which stores none, or an explicit map such as "
            "feature_map=skatter.LandmarkMap(1000), or "
            "kernel='linear' with fewer features than samples, or fewer samples"
            + (", or float32." if itemsize > 4 else ".")
        )


def available_memory() -> int | None:
    """Bytes of memory this process may still take, or None where the system does not say."""
    limits = []
    with suppress(OSError):
        found = re.search(r"MemAvailable: *(\d+)", Path("/proc/meminfo").read_text())
        limits += [int(found[1]) * 1024] if found else []
    with suppress(OSError, ValueError):  # no container, or one without a limit (cgroup v2)
        most, used = (Path(f"/sys/fs/cgroup/memory.{name}") for name in ("max", "current"))
        limits.append(int(most.read_text()) - int(used.read_text()))
    if not limits:
        with suppress(OSError, ValueError, AttributeError):
            limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return min(limits, default=None)
