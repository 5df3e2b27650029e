"""Columns that are carried and not parsed: the cells of a table as they were, and new ones beside.

Parsing loses what a model does not need and people do: leading zeros, ``TRUE``, ``NA`` that is a
name, whole numbers of sixteen digits beside a gap. So what is written is not what was parsed. Cells
of CSV are copied as text, and columns of Parquet with their types.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO

from skatter.files import write_atomically
from skatter.tables.errors import load
from skatter.tables.opening import Data, opened
from skatter.tables.parquet import read_columns_of
from skatter.tables.reading import kind_of, read_data
from skatter.tables.text import DELIMITERS, find_layout, read_cells
from skatter.tables.writing import (
    WRITTEN,
    check_target,
    open_packed,
    table_kind,
    write_table,
)

if TYPE_CHECKING:
    from pandas import DataFrame

TEXT = ("csv", "tsv")


@dataclass(frozen=True, eq=False)
class OpenTable:
    """A table that was read, and the bytes it came from.

    Attributes
    ----------
    frame : DataFrame
        The table, parsed.
    data : Data
        Its bytes.
    kind : str
        What they are.
    """

    frame: DataFrame
    data: Data
    kind: str

    def write_with(self, added: DataFrame, target: str | Path, *, force: bool = False) -> None:
        """Write all columns as they were in the file, and others behind them.

        Parameters
        ----------
        added : DataFrame
            New columns, with a row for each of the table's.
        target : str or Path
            As in :func:`write_table`.
        force : bool
            Replace a file that is there.
        """
        kind = table_kind(target)
        text = kind.partition(".")[0]
        if text in TEXT and self.kind in TEXT:
            write = partial(self._write_text, added, kind)
        elif kind == "parquet" and self.kind == "parquet":
            write = partial(self._write_parquet, added)
        else:
            import pandas

            own = self.frame
            if self.kind == "parquet":
                own = own.assign(**_exact_cells(self.data))
            write_table(pandas.concat([own, added], axis=1), target, force=force)
            return
        if str(target) == "-":
            write(sys.stdout.buffer)
            sys.stdout.buffer.flush()
        else:
            write_atomically(check_target(target, force=force), write)

    def _write_text(self, added: DataFrame, kind: str, target: IO[bytes] | Path) -> None:
        layout = find_layout(self.data, ("\t",) if self.kind == "tsv" else DELIMITERS)
        text = kind.partition(".")[0]
        # A file of semicolons stays one, unless another kind is asked for.
        delimiter = WRITTEN[text] if text != self.kind else layout.delimiter
        decimal = layout.decimal if delimiter != layout.decimal else "."
        cells = io.StringIO(added.to_csv(index=False, decimal=decimal, lineterminator="\n"))
        with open_packed(target, kind) as file:
            writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
            quoting = csv.writer(
                file, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL
            )
            for old, new in zip(
                read_cells(self.data, layout.delimiter), csv.reader(cells), strict=True
            ):
                row = [*old, *new]
                (quoting if any("\r" in cell for cell in row) else writer).writerow(row)

    def _write_parquet(self, added: DataFrame, target: IO[bytes] | Path) -> None:
        pyarrow = load("pyarrow", "Parquet files")
        parquet = load("pyarrow.parquet", "Parquet files")
        table = read_columns_of(self.data).replace_schema_metadata(None)
        new = pyarrow.Table.from_pandas(added, preserve_index=False)
        for field, column in zip(new.schema, new.columns, strict=True):
            table = table.append_column(field.with_metadata(None), column)
        parquet.write_table(table, target)


@contextmanager
def open_table(source: str | Path | BinaryIO) -> Iterator[OpenTable]:
    """Read a table, and keep its bytes at hand as long as it is used; takes a path or "-"."""
    with opened(source) as data:
        kind = kind_of(data)
        yield OpenTable(read_data(data, kind), data, kind)


def _exact_cells(data: Data) -> dict[str, Any]:
    """Return columns of Parquet that floats cannot hold, as text or as whole numbers with gaps."""
    pyarrow = load("pyarrow", "Parquet files")
    pandas = load("pandas", "Tables")
    found: dict[str, Any] = {}
    table = read_columns_of(data)
    for field, column in zip(table.schema, table.columns, strict=True):
        if pyarrow.types.is_decimal(field.type):
            found[field.name] = column.cast("string").to_pandas()
        elif pyarrow.types.is_integer(field.type) and column.null_count:
            kind = "UInt64" if pyarrow.types.is_unsigned_integer(field.type) else "Int64"
            found[field.name] = pandas.array(column.to_pylist(), dtype=kind)
    return found
