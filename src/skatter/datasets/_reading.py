"""What is read from data files: arrays of numbers, and of text where a loader asks for it.

Nothing is ever unpickled. A file that holds something else is refused with a message that names
the file, what is wrong with it, and what is there instead.
"""

from __future__ import annotations

import csv
import gzip
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.io import loadmat, whosmat

from skatter._tensors import Array
from skatter.datasets._home import Home, Source
from skatter.datasets._record import Dataset, Facts, choose_domains

AGAIN = "Get the file again, or put the right one in its place."


def read_arrays(
    path: Path, names: tuple[str, ...], *, text: tuple[str, ...] = (), dense: bool = True
) -> tuple[Any, ...]:
    """Return arrays of a MATLAB (version 5) or ``.npz`` file: numbers, or text where asked."""
    read = {".mat": _read_mat, ".npz": _read_npz}[path.suffix]
    try:
        arrays, there = read(path, names)
    except Exception as error:  # parsers of foreign bytes raise whatever they stumble over
        raise ValueError(f"{path} cannot be read as a {path.suffix} file: {error}. {AGAIN}") from (
            error
        )
    missing = [name for name in names if name not in arrays]
    if missing:
        held = ", ".join(there) or "nothing"
        raise ValueError(f"{path} holds no variable {', '.join(missing)}. It holds {held}. {AGAIN}")
    return tuple(_plain(path, name, arrays[name], name in text, dense) for name in names)


def _plain(path: Path, name: str, value: Any, is_text: bool, dense: bool) -> Array:
    if not dense and sparse.issparse(value):
        value = value.toarray()
    if isinstance(value, np.ndarray) and value.dtype.kind in ("U" if is_text else "biuf"):
        return value
    if is_text:
        raise ValueError(
            f"{name} in {path} must be an array of text; numbers, structs, cells, objects and "
            f"sparse matrices are not read. {AGAIN}"
        )
    kind = "a dense array" if dense else "an array"
    other = " and sparse matrices" if dense else ""
    raise ValueError(
        f"{name} in {path} must be {kind} of real numbers; structs, cells, text, objects{other} "
        f"are not read. {AGAIN}"
    )


def _read_mat(path: Path, names: tuple[str, ...]) -> tuple[dict[str, Any], list[str]]:
    there = [name for name, _, _ in whosmat(path)]
    with warnings.catch_warnings():
        # Matrices or arrays, sparse ones are filled up; older versions cannot be told which.
        warnings.filterwarnings("ignore", "The default value for `spmatrix`", DeprecationWarning)
        return dict(loadmat(path, variable_names=names)), there


def _read_npz(path: Path, names: tuple[str, ...]) -> tuple[dict[str, Any], list[str]]:
    arrays: dict[str, Any] = {}
    with np.load(path, allow_pickle=False) as archive:
        for name in set(names).intersection(archive.files):
            arrays[name] = None
            with suppress(ValueError):  # NumPy would have to unpickle it
                arrays[name] = archive[name]
        return arrays, list(archive.files)


def read_columns(path: Path, needed: tuple[str, ...]) -> dict[str, Array]:
    """Return columns of text by their names in the first line of a file with commas."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    missing = [name for name in needed if name not in header]
    if missing or any(len(row) != len(header) for row in rows):
        what = f"holds no column {', '.join(missing)}" if missing else "has rows of other lengths"
        raise ValueError(f"{path} {what}. Its columns are {', '.join(header)}. {AGAIN}")
    return dict(zip(header, np.array(rows).T, strict=True))


def as_numbers(path: Path, columns: list[Array]) -> NDArray[np.float64]:
    try:
        return np.column_stack(columns).astype(np.float64)
    except ValueError as error:
        raise ValueError(f"{path} is no table of numbers: {error}. {AGAIN}") from error


def check_labelled(
    path: Path,
    X: Array,
    labels: Array,
    *,
    n_classes: int,
    first: int = 1,
    shape: tuple[int | None, int] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return samples as float64 and classes counted from 0, or say what is wrong with them."""
    if X.ndim != 2 or labels.size != len(X):
        raise ValueError(
            f"{path} must hold one row and one label per sample, found samples of shape {X.shape} "
            f"and labels of shape {labels.shape}. {AGAIN}"
        )
    known = shape or (None, None)
    for what, found, expected in zip(("samples", "features"), X.shape, known, strict=True):
        if expected is not None and found != expected:
            raise ValueError(f"{path} must hold {expected} {what}, found {found}. {AGAIN}")
    X = X.astype(np.float64, order="C")
    if not np.isfinite(X).all():
        raise ValueError(f"{path} holds samples with values that are not finite. {AGAIN}")
    classes = labels.ravel().astype(np.float64) - first
    if not np.isin(classes, np.arange(n_classes)).all():
        raise ValueError(
            f"{path} must hold labels {first} to {first + n_classes - 1}, found "
            f"{np.unique(labels)[:10].tolist()}. {AGAIN}"
        )
    return X, classes.astype(np.int64)


def read_table(
    path: Path, name: str, *, n_classes: int, shape: tuple[int | None, int] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return samples and classes of one matrix with a sample per row, its label at the end."""
    (table,) = read_arrays(path, (name,), dense=False)
    if shape is not None and table.shape[1:] != (shape[1] + 1,):
        raise ValueError(
            f"{name} in {path} must have {shape[1] + 1} columns, {shape[1]} features and the "
            f"label, found shape {table.shape}. {AGAIN}"
        )
    return check_labelled(path, table[:, :-1], table[:, -1], n_classes=n_classes, shape=shape)


@dataclass(frozen=True)
class ArrayFiles:
    """Files of a data set, what their arrays are called, and what is usually done to the samples.

    There is one file for each domain, or a single one where ``domains`` names the array with the
    domain of each row; ``renamed`` are names in it that are others here. Without ``labels`` these
    are the last column of the samples. ``prepare`` is done to the samples of each domain.
    """

    source: Source
    facts: Facts
    samples: str = "X"
    labels: str = "y"
    prepare: Callable[[Array], Array] | None = None
    domains: str | None = None
    renamed: Mapping[str, str] = field(default_factory=dict)
    first: int = 1

    def load(
        self, home: Home, domains: Iterable[str] | None = None, *, preprocess: bool = True
    ) -> Dataset:
        wanted = choose_domains(domains, tuple(self.facts.domains))
        keys = [key for key in self.source.files if key in wanted or self.domains]
        parts = [self._read(key, home) for key in keys]
        X, y, domain = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        if preprocess and self.prepare is not None:
            for name in np.unique(domain):
                X[domain == name] = self.prepare(X[domain == name])
        data = self.facts.dataset(X, y, domain, preprocess=preprocess)
        return data if domains is None else data.take(np.isin(domain, wanted))

    def _read(self, key: str, home: Home) -> tuple[Array, Array, Array]:
        path = self.source.find(key, home)
        shape = self.source.files[key].shape
        known: dict[str, Any] = {"n_classes": self.facts.n_classes, "shape": shape}
        if not self.labels:
            X, y = read_table(path, self.samples, **known)
            return X, y, np.repeat(key, len(X))
        text = () if self.domains is None else (self.domains,)
        X, y, *named = read_arrays(path, (self.samples, self.labels, *text), text=text)
        X, y = check_labelled(path, X, y, first=self.first, **known)
        called = named[0].tolist() if named else [key] * len(X)
        return X, y, np.array([self.renamed.get(each, each) for each in called])
