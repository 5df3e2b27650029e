"""Samples out of core: how an error names a part of them, and who works on a collection of parts.

Estimators read arrays. A collection that is not in memory, such as one of Dask, goes to the backend
that registered for its package: :mod:`skatter.pieces`, which is built on the estimators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skatter._tensors import host, is_tensor


class Backend(NamedTuple):
    """What is called for a collection of one package in place of an estimator's own code.

    ``fit(model, X, y, sample_domain=..., labelled=...)`` works in place, ``apply(model, method, X,
    sample_domain=...)`` lazily; ``total(call, model, X, **columns)`` sums
    ``call(model, part_of_X, **parts_of_columns)``, a tuple of numbers, over all parts.
    """

    fit: Callable[..., Any]
    apply: Callable[..., Any]
    total: Callable[..., Any]


_BACKENDS: dict[str, Backend] = {}


def register_backend(package: str, backend: Backend) -> None:
    """Hand collections whose type is defined in a package to a backend."""
    _BACKENDS[package] = backend


def backend_of(X: Any) -> Backend | None:
    """Return who works on a collection; None where samples are in memory."""
    return _BACKENDS.get(type(X).__module__.partition(".")[0])


@dataclass(frozen=True)
class Place:
    """Where a part lies among all rows, as far as that is known: its first row and its size."""

    kind: str
    number: int
    start: int | None
    size: int | None

    def __str__(self) -> str:
        if self.start is None or not self.size:
            return f"{self.kind} {self.number}"
        last = self.start + self.size - 1
        return f"{self.kind} {self.number} (rows {self.start:,} to {last:,}, counted from 0)"

    @contextmanager
    def named(self, X: Any = None) -> Iterator[None]:
        """Let an error say which part it is about, and in which row of ``X`` NaN or infinity is."""
        try:
            yield
        except (TypeError, ValueError) as error:
            row = None
            if self.start is not None and ("NaN" in str(error) or "infinity" in str(error)):
                row = next((self.start + int(bad) for bad in not_finite(X)), None)
            raise self.blamed(error, row) from error

    def blamed(self, error: TypeError | ValueError, row: int | None = None) -> Exception:
        """Return an error of the same kind that names this part; it travels between processes."""
        where = str(self) if row is None else f"{self}, row {row:,}"
        kind = TypeError if isinstance(error, TypeError) else ValueError
        return kind(f"{where}: {error}")


def not_finite(X: Any) -> NDArray[np.intp]:
    """Return the rows of dense samples that hold NaN or infinity."""
    values = np.empty(0) if sparse.issparse(X) else host(X) if is_tensor(X) else np.asarray(X)
    if values.ndim != 2 or values.dtype.kind != "f":
        return np.empty(0, dtype=np.intp)
    return np.flatnonzero(~np.isfinite(values).all(axis=1))
