"""Tables from files: CSV, TSV, XLSX, Parquet, NPZ and MAT, or from standard input."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from skatter.tables._arrays import frame_of_arrays, read_arrays
from skatter.tables._errors import TableError, blaming, load
from skatter.tables._mat import read_mat
from skatter.tables._opening import Data, opened
from skatter.tables._parquet import as_frame, read_columns_of
from skatter.tables._text import read_csv
from skatter.tables._workbook import WORKBOOK, is_workbook, stack_cells

if TYPE_CHECKING:
    from pandas import DataFrame, Series

KINDS: dict[str, tuple[str, Callable[[Data], Any]]] = {
    "csv": ("CSV", read_csv),
    "tsv": ("TSV", partial(read_csv, delimiters=("\t",))),
    "parquet": ("Parquet", lambda data: as_frame(read_columns_of(data))),
    "npz": ("NPZ", lambda data: frame_of_arrays(read_arrays(data), data.name)),
    "mat": ("MAT", read_mat),
}
"""What can be read: how messages call it, and what reads it."""

SUFFIXES = {f".{kind}": kind for kind in (*KINDS, WORKBOOK)} | {".tab": "tsv", ".pq": "parquet"}
MAGIC = {b"PAR1": "parquet", b"PK\x03\x04": "npz", b"MATLAB": "mat", b"\x89HDF": "mat"}
"""First bytes, where a kind has any; what has none is text."""

REMEDIES = {
    **dict.fromkeys((".xls", ".ods"), "save the sheet as .xlsx or CSV"),
    **dict.fromkeys((".pkl", ".pickle"), "pickles can run code; save the table as Parquet"),
    **dict.fromkeys((".feather", ".h5"), "save the table as Parquet"),
    ".npy": "save it by numpy.savez",
    ".json": "save the table as CSV or Parquet",
}
"""What to do with files that are often tables, and that we do not read."""


def read_table(
    source: str | Path | BinaryIO, *, kind: str | None = None, na_values: Collection[str] = ()
) -> DataFrame:
    r"""Read a table from a file, whatever is in it.

    Parameters
    ----------
    source : str, Path or binary file
        The file; ``"-"`` is standard input. Files packed by gzip, bzip2 or xz are unpacked.
    kind : {"csv", "tsv", "xlsx", "parquet", "npz", "mat"} or None
        None: by the ending of the name, or by the first bytes where the name says nothing.
    na_values : collection of str
        More texts and numbers that stand for missing, such as ``["?", "-99"]``.

    Returns
    -------
    DataFrame
        Rows in the order of the file, numbered from 0; names of columns are text, each once.

    Raises
    ------
    TableError
        If there is no such file, or it holds no table: one line that says what and where.

    Notes
    -----
    CSV is UTF-8 with one line of names; commas, semicolons, tabs or bars between the cells, and
    decimal commas where cells are not divided by commas. Empty cells, what pandas takes for missing
    (``NA``, ``nan``, ``null`` and the like) and errors of spreadsheets (``#DIV/0!``) are missing.

    XLSX is read as the CSV of its first sheet, formulas as the values saved with them.

    NPZ and MAT hold arrays with a row per sample. An array with one column gives the column of its
    name; array ``A`` with more gives ``A0``, ``A1`` and so on. Nothing is ever unpickled.

    Examples
    --------
    >>> from io import BytesIO
    >>> from skatter.tables import read_table
    >>> read_table(BytesIO(b"site;dose\nbasel;1,5\ncairo;\n"))
        site  dose
    0  basel   1.5
    1  cairo   NaN
    """
    if kind is not None and kind not in (known := (*KINDS, WORKBOOK)):
        raise ValueError(f"kind must be one of {', '.join(known)} or None, got {kind!r}.")
    with recognised(source, kind) as (data, found):
        return mark_missing(read_data(data, found), na_values)


@contextmanager
def recognised(
    source: str | Path | BinaryIO, kind: str | None = None
) -> Iterator[tuple[Data, str]]:
    """Open a table and tell its kind; a workbook is opened as the CSV of its sheet."""
    load("pandas", "Tables")
    with opened(source) as data:
        kind = kind or kind_of(data)
        if kind != WORKBOOK:
            yield data, kind
            return
        with blaming(data.name, "a workbook"):
            cells = stack_cells(data)
        with cells as file, opened(file, data.name) as text:
            yield text, "csv"


def mark_missing(frame: DataFrame, na_values: Collection[str]) -> DataFrame:
    """Return a table in which cells of these texts or numbers are empty.

    Parameters
    ----------
    frame : DataFrame
        The table; it is left as it is.
    na_values : collection of str
        What stands for missing, but for blanks; a column that is left with numbers is of numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> from skatter.tables import mark_missing
    >>> frame = pd.DataFrame({"dose": ["1.5", "?", "2"], "age": [31, -99, 40]})
    >>> mark_missing(frame, ["?", "-99"]).to_numpy().tolist()
    [[1.5, 31.0], [nan, nan], [2.0, 40.0]]
    """
    if isinstance(na_values, str):
        raise TypeError(f"na_values must be a collection of texts, got the text {na_values!r}.")
    texts = {str(value).strip() for value in na_values}
    if not texts:
        return frame
    return frame.assign(**{name: _without(frame[name], texts) for name in frame})


def _without(column: Series, texts: set[str]) -> Series:
    pandas = load("pandas", "Tables")
    kinds = pandas.api.types
    if kinds.is_numeric_dtype(column.dtype) and not kinds.is_bool_dtype(column.dtype):
        numbers = pandas.to_numeric(pandas.Series(list(texts), dtype=object), errors="coerce")
        return column.mask(column.isin(numbers.dropna().tolist()))
    named = column.map(lambda cell: isinstance(cell, str) and cell.strip() in texts).astype(bool)
    if not named.any():
        return column
    left = column.mask(named)
    numbers = pandas.to_numeric(left, errors="coerce")
    return numbers if numbers.notna().equals(left.notna()) else left


def read_data(data: Data, kind: str) -> DataFrame:
    called, read = KINDS[kind]
    with warnings.catch_warnings(), blaming(data.name, called):
        warnings.simplefilter("ignore")
        frame: DataFrame = read(data)
    if not frame.size:
        n_rows, n_columns = frame.shape
        raise TableError(f"{data.name}: is empty: {n_columns:,} columns and {n_rows:,} rows.")
    return frame


def kind_of(data: Data) -> str:
    named = SUFFIXES.get(data.suffix)
    if named is None and data.suffix in REMEDIES:
        raise TableError(f"{data.name}: {data.suffix} files are not read; {REMEDIES[data.suffix]}.")
    start = data.head(8)
    found = next((kind for magic, kind in MAGIC.items() if start.startswith(magic)), None)
    if found == "npz" and is_workbook(data):
        found = WORKBOOK
    if named in ("csv", "tsv") and found is not None:
        called = "a workbook" if found == WORKBOOK else KINDS[found][0]
        raise TableError(f"{data.name}: is called {data.suffix}, but holds {called}; rename it.")
    return named or found or "csv"
