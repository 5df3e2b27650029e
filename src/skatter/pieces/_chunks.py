"""Sources of chunks: samples read piece by piece, and again from the start as often as needed.

A source is anything that yields :class:`Chunk` each time it is iterated. :class:`ArrayChunks` cuts
arrays, memory maps and ``.npy`` files; :class:`~skatter.pieces.TableChunks` reads tables.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

import numpy as np
from scipy import sparse

from skatter._checks import check_integer, n_rows
from skatter._out_of_core import Place
from skatter._tensors import Array

CHUNK_VALUES = 2**22  # numbers in a chunk where no size is asked for: 32 MiB in double precision
CHUNK_ROWS = 2**16  # rows of such a chunk at most: labels and domains take memory as well
NPY = ".npy"
GIVEN = ("y", "sample_domain", "labelled")  # what a chunk may hold beside its samples


class Chunk(NamedTuple):
    """Some samples of a stream, one after the other.

    Attributes
    ----------
    X : array-like or sparse matrix of shape (n_rows, n_features)
        Samples; whoever reads the stream gets an array or a CSR matrix.
    y, sample_domain, labelled : array-like of shape (n_rows,) or None
        Labels, domains, and which labels to use, as in ``SCA.fit``; each in all chunks or in none.
    number, first_row : int
        Of the chunk and its first row in the stream, from 0; whoever reads the stream sets them.

    Examples
    --------
    >>> import numpy as np
    >>> Chunk(np.zeros((3, 2)), y=[0, 1, -1]).n_rows
    3
    """

    X: Any
    y: Any = None
    sample_domain: Any = None
    labelled: Any = None
    number: int = 0
    first_row: int = 0

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return n_rows(self.X)

    @property
    def place(self) -> Place:
        """Where it lies in its stream."""
        return Place("Chunk", self.number, self.first_row, self.n_rows)


class ArrayChunks:
    """Rows of arrays, memory maps or ``.npy`` files, some at a time.

    A file is opened anew for every chunk, so that no more of it is held than one chunk.

    Parameters
    ----------
    X : array-like, CSR matrix or path of shape (n_samples, n_features)
        Samples, or a ``.npy`` file of them. Whatever has a shape and gives rows by a slice will do.
    y, labelled : array-like or path of shape (n_samples,), or None
        As in ``SCA.fit``.
    sample_domain : array-like or path of shape (n_samples,), a string, an integer, or None
        As in ``SCA.fit``; a single string or integer is the domain of all samples.
    rows : int or None
        Rows of a chunk. None: as many as make four million numbers, 65,536 at most.

    Attributes
    ----------
    n_rows, n_features : int
        Size of ``X``.
    rows : int
        Rows of a chunk; the last one may have fewer.

    Examples
    --------
    >>> import numpy as np
    >>> chunks = ArrayChunks(np.arange(10.0).reshape(5, 2), sample_domain="here", rows=2)
    >>> [(chunk.number, chunk.first_row, chunk.n_rows) for chunk in chunks]
    [(0, 0, 2), (1, 2, 2), (2, 4, 1)]
    """

    def __init__(
        self,
        X: Any,
        y: Any = None,
        sample_domain: Any = None,
        labelled: Any = None,
        *,
        rows: int | None = None,
    ) -> None:
        self._X = _samples(X)
        self.n_rows, self.n_features = (int(size) for size in self._X.shape)
        is_sparse = sparse.issparse(self._X)
        width = self._X.nnz / max(self.n_rows, 1) if is_sparse else self.n_features
        self.rows = chunk_rows(rows, width)
        given = zip(GIVEN, (y, sample_domain, labelled), strict=True)
        self._columns = [self._column(name, values) for name, values in given]

    def __iter__(self) -> Iterator[Chunk]:
        return numbered(self._cut())

    def __len__(self) -> int:
        return -(-self.n_rows // self.rows)

    def _cut(self) -> Iterator[Chunk]:
        for start in range(0, self.n_rows, self.rows):
            rows = slice(start, min(start + self.rows, self.n_rows))
            y, domain, labelled = (None if each is None else each[rows] for each in self._columns)
            yield Chunk(self._X[rows], y, domain, labelled)

    def _column(self, name: str, values: Any) -> Any:
        if values is None:
            return None
        if _is_path(values):
            values = _NpyFile.of(values)
        elif name == "sample_domain" and isinstance(values, str | int | np.integer | np.str_):
            values = np.broadcast_to(np.asarray(values), self.n_rows)
        else:
            # NumPy alone would turn a list such as ["a", nan] into two strings.
            values = np.asarray(values, dtype=None if hasattr(values, "dtype") else object)
            if name == "labelled" and values.dtype == object:
                all_bool = all(isinstance(value, bool | np.bool_) for value in values)
                values = values.astype(bool) if all_bool else values
        if values.shape != (self.n_rows,):
            raise ValueError(
                f"{name} must hold one value for each of the {self.n_rows:,} rows of X, found "
                f"shape {values.shape}."
            )
        return values


def chunk_rows(rows: int | None, n_values: float) -> int:
    if rows is not None:
        return check_integer("rows", rows, low=1)
    return min(max(int(CHUNK_VALUES // max(n_values, 1)), 1), CHUNK_ROWS)


def numbered(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """Yield chunks with their numbers; those without a row are left out."""
    number = first_row = 0
    for chunk in chunks:
        if not isinstance(chunk, Chunk):
            raise TypeError(
                f"chunks must yield skatter.pieces.Chunk(X, y, sample_domain), got "
                f"{type(chunk).__name__}; ArrayChunks and TableChunks do so."
            )
        chunk = chunk._replace(X=_as_rows(chunk.X), number=number, first_row=first_row)
        if chunk.n_rows:
            yield chunk
            number, first_row = number + 1, first_row + chunk.n_rows


@dataclass(frozen=True)
class _NpyFile:
    """An array in a file; what is read of it is let go with the rows that were asked for."""

    path: Path
    shape: tuple[int, ...]
    dtype: Any

    @classmethod
    def of(cls, path: Any) -> _NpyFile:
        values = _memory_map(Path(path))
        return cls(Path(path), values.shape, values.dtype)

    def __getitem__(self, rows: slice) -> Array:
        return np.asarray(_memory_map(self.path)[rows])


def _memory_map(path: Path) -> Array:
    try:
        values = np.load(path, mmap_mode="r", allow_pickle=False)
    except (EOFError, ValueError) as error:
        raise ValueError(
            f"{path} cannot be read as a {NPY} file ({error}); write it with numpy.save."
        ) from error
    if not isinstance(values, np.ndarray):
        values.close()
        raise ValueError(f"{path} holds several arrays; write each to a {NPY} file of its own.")
    return values


def _is_path(values: Any) -> TypeGuard[str | os.PathLike[str]]:
    return isinstance(values, os.PathLike) or (isinstance(values, str) and values.endswith(NPY))


def _samples(X: Any) -> Any:
    if isinstance(X, str | os.PathLike):
        if not _is_path(X) or Path(X).suffix != NPY:
            raise ValueError(
                f"X is the path {os.fspath(X)!r}; ArrayChunks reads {NPY} files, TableChunks CSV "
                "and Parquet."
            )
        X = _NpyFile.of(X)
    return _as_rows(X)


def _as_rows(X: Any) -> Any:
    if sparse.issparse(X):
        X = X.tocsr()
    elif not hasattr(X, "shape") or hasattr(X, "columns"):
        X = np.asarray(X)
    if len(X.shape) != 2:
        raise ValueError(
            f"X must have two dimensions, samples and features; got shape {tuple(X.shape)}."
        )
    return X
