"""Labels: what the values of y and sample_domain mean, when no one sees all of them.

The rules of :func:`skatter.domains.read_domains` ask which values there are in which domain, never
how often: -1 is a class beside a single other one, a domain is a target where it has no label. So
the distinct rows of (y, sample_domain, labelled), a table of a few lines, are read in place of all
rows, and every block looks its own rows up in what came out. No block need hold all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skatter.checks import n_rows
from skatter.distributed.blocks import Blocks, Columns, Place
from skatter.domains import Codes, Domains, is_unlabelled, read_domains, read_part

Array = NDArray[Any]

_NO_MARK = np.empty(0, dtype=str)
"""Classes beside which nothing but a missing value is unlabelled."""


class Table(NamedTuple):
    """Distinct rows of some columns.

    Attributes
    ----------
    columns : dict of ndarray
        Those that were given; there may be none.
    n_rows : int
        Number of distinct rows; without columns, all rows are the same.
    """

    columns: dict[str, Array]
    n_rows: int

    def rows(self) -> list[tuple[Any, ...]]:
        """Return each row as something that can be looked up; missing values are all the same."""
        if not self.columns:
            return [()] * self.n_rows
        return list(zip(*map(_hashable, self.columns.values()), strict=True))


class Survey(NamedTuple):
    """What some blocks say of themselves: their sizes, and the distinct rows of their columns."""

    sizes: list[int]
    table: Table


@dataclass(frozen=True, eq=False)
class Labels:
    """The distinct rows of labels and domains, and what each means.

    Build it with :func:`survey`.

    Attributes
    ----------
    view : Domains
        One row for each distinct row.
    number : dict
        From a distinct row to its number.
    """

    view: Domains
    number: dict[tuple[Any, ...], int]

    @classmethod
    def of(cls, table: Table) -> Labels:
        """Read the distinct rows as if they were all rows."""
        columns = dict(table.columns)
        if "y" not in columns and "sample_domain" not in columns:
            columns["sample_domain"] = np.zeros(table.n_rows, dtype=int)
        view = read_domains(**columns, n_samples=table.n_rows)
        return cls(view, {row: number for number, row in enumerate(table.rows())})

    def read(self, columns: Columns, size: int) -> Domains:
        """Return the view of the rows of a block.

        Raises
        ------
        ValueError
            Where the block holds what was not there when it was surveyed.
        """
        table, rows = distinct_rows(_plain(columns), size)
        try:
            found = [self.number[row] for row in table.rows()]
        except KeyError:
            raise ValueError(
                "y or sample_domain is no longer what it was a moment ago; persist() what is "
                "random or may change on disk."
            ) from None
        return self.view.take(np.array(found, dtype=np.intp)[rows])


def survey(blocks: Blocks) -> tuple[Blocks, Labels]:
    """Ask all blocks for their sizes and distinct labels, on the workers.

    Samples are read only where nothing else tells the size of a block.

    Parameters
    ----------
    blocks : Blocks
        With those of y, sample_domain and labelled that were given as columns.

    Returns
    -------
    blocks : Blocks
        The same, with all sizes known.
    labels : Labels
        What the columns mean.

    Raises
    ------
    ValueError, TypeError
        Where a value is not allowed; what is wrong inside a block names the block.
    """
    told = blocks.columns or all(place.size is not None for place in blocks.places)
    asked = blocks.without_samples() if told else blocks
    sizes, table = asked.joined(survey_block, join_surveys)
    if not table.n_rows:
        raise ValueError("X has no samples: all its blocks are empty.")
    return blocks.placed(sizes), Labels.of(table)


def survey_block(place: Place, X: Any, columns: Columns, before: Any) -> Survey:
    """Return the survey of one block, and refuse what no block may hold."""
    with place.named():
        plain = _plain(columns)
        known = [place.size, *map(len, plain.values())]
        size = next((size for size in known if size is not None), None)
        size = n_rows(X) if size is None else size
        if any(known):
            read_part(**plain, n_samples=size)
        return Survey([size], distinct_rows(plain, size)[0])


def join_surveys(parts: list[Survey]) -> Survey:
    """Return the survey of several blocks together."""
    sizes = [size for part in parts for size in part.sizes]
    tables = [part.table for part in parts if part.table.n_rows]
    if not tables:
        return Survey(sizes, parts[0].table)
    columns = {
        name: _concatenated([table.columns[name] for table in tables]) for name in tables[0].columns
    }
    return Survey(sizes, distinct_rows(columns, sum(table.n_rows for table in tables))[0])


def distinct_rows(columns: dict[str, Array], size: int) -> tuple[Table, Codes]:
    """Return the distinct rows of columns, and which of them each row is.

    Examples
    --------
    >>> columns = {"y": np.array([1, 1, 2, 1]), "sample_domain": np.array(["a", "b", "b", "a"])}
    >>> table, rows = distinct_rows(columns, 4)
    >>> table.rows()
    [(1, 'a'), (1, 'b'), (2, 'b')]
    >>> rows.tolist()
    [0, 1, 2, 0]
    """
    codes = np.zeros(size, dtype=np.intp)
    for values in columns.values():
        own = _codes(values)
        codes = np.unique(codes * (own.max(initial=0) + 1) + own, return_inverse=True)[1]
    _, first, codes = np.unique(codes, return_index=True, return_inverse=True)
    table = Table({name: values[first] for name, values in columns.items()}, len(first))
    return table, codes.astype(np.intp)


def _plain(columns: Columns) -> dict[str, Array]:
    """Return columns as NumPy arrays; what is not of a type of NumPy's own becomes objects.

    Among objects None stands for all that is missing: NA of pandas cannot be compared.
    """
    plain = {name: np.asarray(values) for name, values in columns.items()}
    for name, values in plain.items():
        if values.dtype.kind not in "biufcUS":
            plain[name] = values.astype(object)
            plain[name][is_unlabelled(values, _NO_MARK)] = None
    return plain


def _concatenated(parts: list[Array]) -> Array:
    """Join columns; NumPy alone would turn numbers into text beside text."""
    if len({part.dtype.kind for part in parts}) > 1:
        parts = [part.astype(object) for part in parts]
    return np.concatenate(parts)


def _codes(values: Array) -> Codes:
    """Return a number for each value of a column, the same for the same values."""
    if values.dtype.kind != "O":
        return np.unique(values, return_inverse=True)[1].astype(np.intp)
    number: dict[Any, int] = {}
    return np.array([number.setdefault(key, len(number)) for key in _hashable(values)], np.intp)


def _hashable(values: Array) -> list[Any]:
    """Return values of Python that compare as they should: a missing one is None."""
    missing = is_unlabelled(values, _NO_MARK)
    return [None if gone else value for value, gone in zip(values.tolist(), missing, strict=True)]
