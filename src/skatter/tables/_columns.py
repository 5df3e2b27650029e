"""From the columns of a table to samples: features, labels and domains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from skatter._formatting import listed, quoted
from skatter._tensors import Array
from skatter.domains import UNLABELLED, Mask
from skatter.tables._errors import TableError, alike_but_for_case, check_names, load, missing_column
from skatter.tables._plans import row_numbers

if TYPE_CHECKING:
    from pandas import DataFrame, Series

MAX_NAME = 500  # characters of a class or a domain: arrays of text are as wide as the longest
FEW_DOMAINS = 10  # domains that a table of as many rows may have; an id of each row is none


@dataclass(frozen=True, eq=False)
class Samples:
    """The samples of a table.

    Attributes
    ----------
    X : DataFrame
        The columns that are features, rows as in the table.
    y : ndarray of shape (n_samples,) or None
        Labels: whole numbers, numbers or text; None without a label column. It holds -1, NaN or
        None where ``labelled`` is False; a cell with -1 in it is a label.
    labelled : ndarray of bool of shape (n_samples,)
        True where the cell of the label is not empty.
    sample_domain : ndarray of shape (n_samples,) or None
        Domains, whole numbers or text; None without a domain column.
    label, domain : str or None
        Names of the two columns.
    unit : str
        What labels that are numbers were written with, such as ``"%"`` or ``"$"``.
    """

    X: DataFrame
    y: Array | None
    labelled: Mask
    sample_domain: Array | None
    label: str | None
    domain: str | None
    unit: str = ""


def read_columns(
    frame: DataFrame,
    *,
    label: str | None,
    domain: str | None,
    features: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
) -> Samples:
    """Divide the columns of a table into features, labels and domains.

    Parameters
    ----------
    frame : DataFrame
        The table, as of :func:`read_table`.
    label : str or None
        Column of the labels, empty or blank where unknown; blanks around a label do not count.
    domain : str or None
        Column that says where each sample came from. No cell may be empty.
    features : sequence of str or None
        Columns to learn from, in this order; None: all others.
    ignore : sequence of str
        Columns that are no features.

    Returns
    -------
    Samples
        The columns, apart.

    Raises
    ------
    TableError
        If a column is missing or named twice, a domain is missing, or no feature is left.

    Examples
    --------
    >>> import pandas as pd
    >>> from skatter.tables import read_columns
    >>> frame = pd.DataFrame({"dose": [1.5, 2], "site": ["basel", "cairo"], "ill": ["yes", " "]})
    >>> samples = read_columns(frame, label="ill", domain="site")
    >>> list(samples.X), samples.y.tolist(), samples.labelled.tolist()
    (['dose'], ['yes', None], [True, False])
    >>> read_columns(frame, label="Ill", domain="site")
    Traceback (most recent call last):
        ...
    skatter.tables._errors.TableError: label: there is no column 'Ill'; did you mean 'ill'?
    """
    if not hasattr(frame, "columns"):
        raise TypeError(
            f"frame must be a pandas DataFrame, got {type(frame).__name__}: read a file by "
            "skatter.tables.read_table."
        )
    names = list(frame.columns)
    check_names(names, "the table")
    if not len(frame):
        raise TableError("the table has no rows.")
    chosen = _features(names, label, domain, features, ignore)
    y, labelled, sample_domain = None, np.zeros(len(frame), dtype=bool), None
    if label is not None:
        y, labelled = read_labels(frame[label])
        _check_spelling(y[labelled], "label", label)
    if domain is not None:
        sample_domain = read_domain_names(frame[domain])
        _check_spelling(sample_domain, "domain", domain)
    return Samples(frame[chosen], y, labelled, sample_domain, label, domain)


def _features(
    names: list[str],
    label: str | None,
    domain: str | None,
    features: Sequence[str] | None,
    ignore: Sequence[str],
) -> list[str]:
    """Return the names of the features; every name that is given must be there."""
    roles = {"label": [label], "domain": [domain], "features": features, "ignore": ignore}
    there = {*names, None}
    for role, given in roles.items():
        if isinstance(given, str):
            raise TypeError(f"{role} must be a sequence of names, got the text {given!r}.")
        for name in given or ():
            if name not in there:
                raise TableError(f"{role}: {missing_column(str(name), names)}")
    if label is not None and label == domain:
        raise TableError(f"label and domain: both are column {quoted(label)}; give two columns.")
    own: dict[str | None, str] = {label: "label", domain: "domain"}
    own |= dict.fromkeys(ignore, "ignore")
    for name in features or ():
        if name in own:
            raise TableError(f"features: column {quoted(name)} is given as {own[name]} too.")
    chosen = list(features) if features is not None else [n for n in names if n not in own]
    check_names(chosen, "features")
    if not chosen:
        raise TableError("features: no column is left to learn from.")
    return chosen


def read_labels(column: Series) -> tuple[Array, Mask]:
    """Return labels and where they are; whole numbers stay whole beside gaps."""
    kinds = load("pandas", "Tables").api.types
    known = column.notna().to_numpy(dtype=bool)
    if kinds.is_numeric_dtype(column.dtype) and not kinds.is_bool_dtype(column.dtype):
        return _numbers(column, known)
    text = np.full(len(column), None, dtype=object)
    text[known] = [str(value).strip() or None for value in column[known]]
    written = np.array([value is not None for value in text], dtype=bool)
    longest = max((len(value) for value in text[written]), default=0)
    if longest > MAX_NAME:
        raise TableError(
            f"column {quoted(column.name)} holds a text of {longest:,} characters, and names of "
            f"classes and domains have {MAX_NAME:,} at most."
        )
    return text, written


def _check_spelling(values: Array, role: str, name: str) -> None:
    alike = alike_but_for_case(set(values.tolist()) if values.dtype.kind == "O" else ())
    if alike:
        raise TableError(
            f"{role}: {listed(alike)} of column {quoted(name)} differ in their case alone; "
            "write them alike."
        )


def _numbers(column: Series, known: Mask) -> tuple[Array, Mask]:
    """Return whole numbers as such: an empty cell alone turned them into fractions."""
    if column.dtype.kind == "c":
        raise TableError(f"column {quoted(column.name)} holds complex numbers; save others.")
    values = column.to_numpy(dtype=float, na_value=np.nan)
    infinite = np.flatnonzero(np.isinf(values))
    if len(infinite):
        row = row_numbers(column)[infinite[0]]
        raise TableError(f"column {quoted(column.name)}: row {row:,} is infinite; mend it.")
    there = values[known]
    if not ((np.floor(there) == there) & (abs(there) < np.iinfo(np.int64).max)).all():
        return values, known
    whole = np.full(len(values), UNLABELLED, dtype=np.int64)
    whole[known] = column[known].to_numpy(dtype=np.int64)
    return whole, known


def read_domain_names(column: Series) -> Array:
    """Return where each sample came from; every cell must say it."""
    name, (values, known) = column.name, read_labels(column)
    if not known.all():
        row = row_numbers(column)[np.flatnonzero(~known)[0]]
        raise TableError(
            f"domain: column {quoted(name)} is empty in {np.sum(~known):,} of {len(known):,} rows, "
            f"first in row {row:,}; say where each sample came from (NA and "
            "null are read as empty)."
        )
    if values.dtype.kind == "f":
        raise TableError(
            f"domain: column {quoted(name)} holds numbers with fractions; give whole numbers or "
            "text."
        )
    n_domains = len(set(values.tolist()))
    if n_domains > max(FEW_DOMAINS, len(values) // 2):
        raise TableError(
            f"domain: column {quoted(name)} has {n_domains:,} different values in {len(values):,} "
            "rows; give a column that says where samples came from."
        )
    return values
