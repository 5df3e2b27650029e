"""Tables from files: CSV, TSV, Parquet, NPZ and MAT, or from standard input."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from skatter.tables.arrays import read_npz
from skatter.tables.errors import TableError, blaming, load
from skatter.tables.mat import read_mat
from skatter.tables.opening import Data, opened
from skatter.tables.parquet import read_parquet
from skatter.tables.text import read_csv, read_tsv

if TYPE_CHECKING:
    from pandas import DataFrame

KINDS: dict[str, tuple[str, Callable[[Data], Any]]] = {
    "csv": ("CSV", read_csv),
    "tsv": ("TSV", read_tsv),
    "parquet": ("Parquet", read_parquet),
    "npz": ("NPZ", read_npz),
    "mat": ("MAT", read_mat),
}
"""What can be read: how messages call it, and what reads it."""

SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".npz": "npz",
    ".mat": "mat",
}

MAGIC = {b"PAR1": "parquet", b"PK\x03\x04": "npz", b"MATLAB": "mat", b"\x89HDF": "mat"}
"""First bytes, where a kind has any; what has none is text."""

REMEDIES = {
    ".xlsx": "save the sheet as CSV",
    ".xls": "save the sheet as CSV",
    ".ods": "save the sheet as CSV",
    ".npy": "save it by numpy.savez",
    ".pkl": "pickles can run code; save the table as Parquet",
    ".pickle": "pickles can run code; save the table as Parquet",
    ".json": "save the table as CSV or Parquet",
    ".feather": "save the table as Parquet",
    ".h5": "save the table as Parquet",
}
"""What to do with files that are often tables, and that we do not read."""


def read_table(source: str | Path | BinaryIO, *, kind: str | None = None) -> DataFrame:
    r"""Read a table from a file, whatever is in it.

    Parameters
    ----------
    source : str, Path or binary file
        The file; ``"-"`` is standard input. Files packed by gzip, bzip2 or xz are unpacked.
    kind : {"csv", "tsv", "parquet", "npz", "mat"} or None
        None: by the ending of the name, or by the first bytes where the name says nothing.

    Returns
    -------
    DataFrame
        Rows in the order of the file, numbered from 0; column names are strings, not empty, and
        no two the same.

    Raises
    ------
    TableError
        If there is no such file, or it holds no table: one line that says what and where.

    Notes
    -----
    CSV is UTF-8 with one line of names; commas, semicolons, tabs or bars between the cells, and
    decimal commas where cells are not divided by commas. Empty cells, and what pandas takes for
    missing (``NA``, ``nan``, ``null`` and the like), are missing.

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
    if kind is not None and kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)} or None, got {kind!r}.")
    with recognised(source, kind) as (data, found):
        return read_data(data, found)


@contextmanager
def recognised(
    source: str | Path | BinaryIO, kind: str | None = None
) -> Iterator[tuple[Data, str]]:
    """Open a table and tell its kind."""
    load("pandas", "Tables")
    with opened(source) as data:
        yield data, kind or kind_of(data)


def read_data(data: Data, kind: str) -> DataFrame:
    """Read a table of a known kind from its bytes."""
    called, read = KINDS[kind]
    with warnings.catch_warnings(), blaming(data.name, called):
        warnings.simplefilter("ignore")
        frame: DataFrame = read(data)
    if not frame.size:
        n_rows, n_columns = frame.shape
        raise TableError(f"{data.name}: is empty: {n_columns:,} columns and {n_rows:,} rows.")
    return frame


def kind_of(data: Data) -> str:
    """Tell the kind of a file by the ending of its name, or by its first bytes."""
    named = SUFFIXES.get(data.suffix)
    if named is None and data.suffix in REMEDIES:
        raise TableError(f"{data.name}: {data.suffix} files are not read; {REMEDIES[data.suffix]}.")
    start = data.head(8)
    found = next((kind for magic, kind in MAGIC.items() if start.startswith(magic)), None)
    if named in ("csv", "tsv") and found is not None:
        raise TableError(
            f"{data.name}: is called {data.suffix}, but holds {KINDS[found][0]}; rename it."
        )
    return named or found or "csv"
