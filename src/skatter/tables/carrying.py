"""Columns that are carried and not parsed: the cells of a table as they were, and new ones beside.

Parsing loses what a model does not need and people do: leading zeros, ``TRUE``, ``NA`` that is a
name, whole numbers of sixteen digits beside a gap. So what is written is not what was parsed. Cells
of CSV are copied as text, into Parquet and NPZ as well, columns of Parquet with their types, and
arrays of NPZ as they are.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO

from skatter.files import write_atomically
from skatter.tables.arrays import array_of, read_arrays, write_arrays
from skatter.tables.errors import load
from skatter.tables.opening import Data
from skatter.tables.parquet import BATCH, read_columns_of
from skatter.tables.reading import mark_missing, read_data, recognised
from skatter.tables.text import DELIMITERS, Layout, find_layout, read_cells
from skatter.tables.writing import (
    WRITTEN,
    check_target,
    find_formula,
    open_packed,
    table_kind,
    warn_of_formula,
    write_table,
)

if TYPE_CHECKING:
    from pandas import DataFrame

TEXT = ("csv", "tsv")


@dataclass(frozen=True, eq=False)
class OpenTable:
    """A table that was read, the bytes it came from, and what they are."""

    frame: DataFrame
    data: Data
    kind: str

    def write_with(self, added: DataFrame, target: str | Path, *, force: bool = False) -> None:
        """Write all columns as they were in the file, and others behind them.

        Takes new columns with a row for each of the table's, and a target as of
        :func:`write_table`. A text that a spreadsheet would run as a formula stays as it is, with
        a warning.
        """
        kind = table_kind(target)
        self.data.budget.restart()
        if kind.partition(".")[0] in TEXT and self.kind in TEXT:
            write = partial(self._write_text, added, kind)
        elif kind == "parquet" and self.kind in (*TEXT, "parquet"):
            write = partial(self._write_parquet, added)
        elif kind == self.kind == "npz":
            write = partial(self._write_npz, added)
        else:
            import pandas

            own = self.frame
            if self.kind == "parquet":
                own = own.assign(**_exact_cells(self.data))
            elif self.kind in TEXT:
                own = self._text_columns().to_pandas()
            write_table(pandas.concat([own, added], axis=1), target, force=force)
            return
        if str(target) == "-":
            write(sys.stdout.buffer)
            sys.stdout.buffer.flush()
        else:
            write_atomically(check_target(target, force=force), write)

    def _layout(self) -> Layout:
        return find_layout(self.data, ("\t",) if self.kind == "tsv" else DELIMITERS)

    def _write_text(self, added: DataFrame, kind: str, target: IO[bytes] | Path) -> None:
        layout, text = self._layout(), kind.partition(".")[0]
        # A file of semicolons stays one, unless another kind is asked for.
        delimiter = WRITTEN[text] if text != self.kind else layout.delimiter
        decimal = layout.decimal if delimiter != layout.decimal else "."
        cells = io.StringIO(added.to_csv(index=False, decimal=decimal, lineterminator="\n"))
        rows = zip(read_cells(self.data, layout.delimiter), csv.reader(cells), strict=True)
        formula = None
        with open_packed(target, kind) as file:
            form: dict[str, Any] = {"delimiter": delimiter, "lineterminator": "\n"}
            writer = csv.writer(file, **form)
            quoting = csv.writer(file, quoting=csv.QUOTE_ALL, **form)
            for old, new in rows:
                row = old + new
                (quoting if "\r" in "".join(row) else writer).writerow(row)
                formula = formula or find_formula(row)
        warn_of_formula(formula)

    def _write_parquet(self, added: DataFrame, target: IO[bytes] | Path) -> None:
        pyarrow = load("pyarrow", "Parquet files")
        own = read_columns_of(self.data) if self.kind == "parquet" else self._text_columns()
        table = own.replace_schema_metadata(None)
        new = pyarrow.Table.from_pandas(added, preserve_index=False)
        for field, column in zip(new.schema, new.columns, strict=True):
            table = table.append_column(field.with_metadata(None), column)
        load("pyarrow.parquet", "Parquet files").write_table(table, target)

    def _write_npz(self, added: DataFrame, target: IO[bytes] | Path) -> None:
        new = {str(name): array_of(added[name]) for name in added}
        write_arrays(read_arrays(self.data) | new, target)

    def _text_columns(self) -> Any:
        """Return the cells of CSV as columns of text; an empty cell is null."""
        pyarrow = load("pyarrow", "Parquet files")
        rows = read_cells(self.data, self._layout().delimiter)
        names, pieces = next(rows), []
        while some := list(islice(rows, BATCH)):
            columns = ([cell or None for cell in column] for column in zip(*some, strict=True))
            arrays = [pyarrow.array(column, "string") for column in columns]
            pieces.append(pyarrow.RecordBatch.from_arrays(arrays, names))
        return pyarrow.Table.from_batches(pieces)


@contextmanager
def open_table(
    source: str | Path | BinaryIO, *, na_values: Collection[str] = ()
) -> Iterator[OpenTable]:
    """Read a table as :func:`read_table` does, and keep its bytes at hand as long as it is used."""
    with recognised(source) as (data, kind):
        yield OpenTable(mark_missing(read_data(data, kind), na_values), data, kind)


def _exact_cells(data: Data) -> dict[str, Any]:
    """Return columns of Parquet that floats cannot hold, as text or as whole numbers with gaps."""
    pyarrow, pandas = load("pyarrow", "Parquet files"), load("pandas", "Tables")
    found: dict[str, Any] = {}
    table = read_columns_of(data)
    for field, column in zip(table.schema, table.columns, strict=True):
        if pyarrow.types.is_decimal(field.type):
            found[field.name] = column.cast("string").to_pandas()
        elif pyarrow.types.is_integer(field.type) and column.null_count:
            kind = "UInt64" if pyarrow.types.is_unsigned_integer(field.type) else "Int64"
            found[field.name] = pandas.array(column.to_pylist(), dtype=kind)
    return found
