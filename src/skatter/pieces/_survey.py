"""The survey: what the values of y and sample_domain mean, when no piece holds all of them.

The rules of :func:`skatter.domains.read_domains` ask which values there are in which domain, never
how often: -1 is a class beside a single other one, a domain is a target where it has no label. So
the distinct rows of (y, sample_domain, labelled), a table of a few lines, are read in place of all
rows, and every piece looks its own rows up in what came out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skatter._checks import n_rows, take_rows
from skatter._out_of_core import Place
from skatter._tensors import Array
from skatter.domains import Codes, Domains, is_missing, plain_column, read_domains, read_part

Call = Callable[..., Any]  # what is done with a piece, or with the results of several
Columns = Mapping[str, Any]  # what is given of the rows of a piece: y, sample_domain, labelled


def stacked(parts: Sequence[Any]) -> Any:
    """Return rows below one another, in whatever holds them."""
    if hasattr(parts[0], "iloc"):
        import pandas

        return pandas.concat(parts)
    is_sparse = sparse.issparse(parts[0])
    return sparse.vstack(parts, format="csr") if is_sparse else np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class Piece:
    """Some rows of the samples, what is known of them, and where they lie.

    ``X`` is None where nobody asks for the rows; they pass the ``transform`` of ``before`` first;
    ``domains`` is what the columns mean, after the survey.
    """

    place: Place
    X: Any
    columns: Columns
    before: Any = None
    domains: Domains | None = None

    @property
    def n_rows(self) -> int:
        return n_rows(self.X)

    def samples(self, rows: Codes | None = None) -> Any:
        """Return a copy of all or some rows, behind the steps before: these may work in place."""
        X, where = self.X, self.columns.get("sample_domain")
        if rows is None:
            X = X.copy()
        else:
            X, where = take_rows(X, rows), None if where is None else take_rows(where, rows)
        return X if self.before is None else self.before.transform(X, sample_domain=where)

    def read(self, labels: Labels) -> Piece:
        """Return the piece with its domains, or raise where it is not what was surveyed."""
        if self.n_rows != self.place.size:
            raise ValueError(
                f"Lengths differ: X has {self.n_rows} rows here, where {self.place.size} were "
                "expected. Give one value of y and sample_domain per row of X, in the same blocks."
            )
        return replace(self, domains=labels.view.take(labels.numbers_of(self.columns, self.n_rows)))


class Survey(NamedTuple):
    """Sizes of pieces, the distinct rows of their columns (one without any), and their counts."""

    sizes: list[int]
    columns: dict[str, Array]
    counts: Codes

    def rows(self) -> list[tuple[Any, ...]]:
        if not self.columns:
            return [()] * len(self.counts)
        return list(zip(*map(_hashable, self.columns.values()), strict=True))


@dataclass(frozen=True, eq=False)
class Labels:
    """The distinct rows of labels and domains, and what each means; from :meth:`of`.

    ``view`` has one row for each, ``changed`` is said of a piece that holds something else, and
    ``classes`` are those that the user named.
    """

    view: Domains
    survey: Survey
    numbers: dict[tuple[Any, ...], int]
    changed: str
    classes: Any

    @classmethod
    def of(cls, survey: Survey, changed: str, classes: Any = None, *, part: bool = False) -> Labels:
        """Read the distinct rows as if they were all rows; ``part`` says that others will come."""
        columns, size = dict(survey.columns), len(survey.counts)
        if "y" not in columns and "sample_domain" not in columns and not part:
            columns["sample_domain"] = np.zeros(size, dtype=int)
        if part or classes is not None:
            view = read_part(**columns, classes=classes, n_samples=size)
        else:
            view = read_domains(**columns, n_samples=size)
        numbers = {row: number for number, row in enumerate(survey.rows())}
        return cls(view, survey, numbers, changed, classes)

    def numbers_of(self, columns: Columns, size: int) -> Codes:
        own, codes = distinct_rows(_plain(columns), size)
        try:
            found = [self.numbers[row] for row in own.rows()]
        except KeyError:
            raise ValueError(self.changed) from None
        return np.array(found, dtype=np.intp)[codes]


def survey_piece(piece: Piece, classes: Any = None) -> Survey:
    columns = _plain(piece.columns)
    known = [piece.place.size, *map(len, columns.values())]
    size = next((size for size in known if size is not None), None)
    size = piece.n_rows if size is None else size
    if any(known):
        read_part(**columns, classes=classes, n_samples=size)
    return distinct_rows(columns, size)[0]


def join_surveys(parts: list[Survey]) -> Survey:
    """Return the survey of several pieces together, and refuse what does not go together."""
    sizes = [size for part in parts for size in part.sizes]
    parts = [part for part in parts if len(part.counts)] or parts[:1]
    names = parts[0].columns
    columns = _plain({name: _joined([part.columns[name] for part in parts]) for name in names})
    counts = np.concatenate([part.counts for part in parts])
    joined, codes = distinct_rows(columns, len(counts))
    together = np.zeros(len(joined.counts), dtype=np.intp)
    np.add.at(together, codes, counts)
    if columns and len(together):
        read_part(**joined.columns, n_samples=len(together))
    return Survey(sizes, joined.columns, together)


def distinct_rows(columns: dict[str, Array], size: int) -> tuple[Survey, Codes]:
    codes = np.zeros(size, dtype=np.intp)
    for values in columns.values():
        own = _codes(values)
        codes = np.unique(codes * (own.max(initial=0) + 1) + own, return_inverse=True)[1]
    _, first, codes, counts = np.unique(
        codes, return_index=True, return_inverse=True, return_counts=True
    )
    distinct = {name: values[first] for name, values in columns.items()}
    return Survey([size], distinct, counts), codes.astype(np.intp)


def _plain(columns: Columns) -> dict[str, Array]:
    """Return columns as NumPy arrays in which all missing values are alike."""
    plain: dict[str, Array] = {}
    for name, given in columns.items():
        values = np.asarray(given) if name == "labelled" else plain_column(given)
        if values.dtype.kind in "OUS" and (missing := is_missing(values)).any():
            values = values.copy()
            values[missing] = None if values.dtype.kind == "O" else values.dtype.type()
        plain[name] = values
    return plain


def _joined(parts: list[Array]) -> Array:
    """Join columns; NumPy alone would turn numbers into text beside text."""
    if len({part.dtype.kind for part in parts}) > 1:
        parts = [part.astype(object) for part in parts]
    return np.concatenate(parts)


def _codes(values: Array) -> Codes:
    if values.dtype.kind != "O":
        return np.unique(values, return_inverse=True)[1].astype(np.intp)
    number: dict[Any, int] = {}
    return np.array([number.setdefault(key, len(number)) for key in values.tolist()], np.intp)


def _hashable(values: Array) -> list[Any]:
    missing = is_missing(values)
    return [None if gone else value for value, gone in zip(values.tolist(), missing, strict=True)]
