"""Columns that are carried and not parsed: the cells of a table as they were, and new ones beside.

Parsing loses what a model does not need and people do: leading zeros, ``TRUE``, ``NA`` that is a
name, whole numbers of sixteen digits beside a gap. So what is written is not what was parsed: cells
of CSV are copied as text, columns of Parquet with their types, and arrays of NPZ as they are.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from skatter.tables._arrays import array_of, read_arrays, write_arrays
from skatter.tables._errors import load
from skatter.tables._opening import Data
from skatter.tables._parquet import PIECE_ROWS, as_frame, look_at, read_columns_of, read_pieces_of
from skatter.tables._plans import ROW
from skatter.tables._reading import mark_missing, read_data, recognised
from skatter.tables._text import DELIMITERS, Layout, find_layout, read_cells
from skatter.tables._writing import (
    WRITTEN,
    find_formula,
    open_packed,
    table_kind,
    warn_of_formula,
    write_table,
    write_to,
)

if TYPE_CHECKING:
    from pandas import DataFrame

Add = Callable[["DataFrame"], "DataFrame"]  # makes new columns for a piece of a table


@dataclass(frozen=True, eq=False)
class OpenTable:
    """A table that is read whole or piece by piece, the bytes it comes from, and what they are."""

    data: Data
    kind: str
    na_values: Collection[str] = ()

    @cached_property
    def frame(self) -> DataFrame:
        """The whole table."""
        self.data.budget.restart()
        return mark_missing(read_data(self.data, self.kind), self.na_values)

    @property
    def n_rows(self) -> int:
        """Number of rows; a Parquet file says it before they are read."""
        return self._header[0]

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return self._header[1]

    @cached_property
    def _header(self) -> tuple[int, list[str]]:
        if self.kind == "parquet":
            return look_at(self.data)
        return len(self.frame), list(self.frame.columns)

    def pieces(self, columns: Sequence[str] | None = None) -> Iterator[DataFrame]:
        """Yield all or some columns of the table a piece at a time, rows numbered as in the whole.

        Of Parquet no more than one piece is in memory; other files are read whole.
        """
        self.data.budget.restart()
        if self.kind == "parquet":
            yield from (read for _, read in self._parsed(columns))
        else:
            yield from self._cells(columns)

    def take(self, rows: NDArray[np.intp]) -> DataFrame:
        """Return some rows, given by their numbers in ascending order, as the whole table has them.

        The index says which they are.
        """
        import pandas

        self.data.budget.restart()
        first, taken = 0, []
        for cells in self._cells():
            own = rows[slice(*np.searchsorted(rows, [first, first + len(cells)]))]
            if len(own):
                some = cells.take(own - first)
                taken.append(as_frame(some) if self.kind == "parquet" else some)
            first += len(cells)
        # What is missing is marked in the end: a column in which all others are numbers is one.
        frame = mark_missing(pandas.concat(taken), self.na_values)
        return frame.set_index(rows).rename_axis(ROW)

    def _cells(self, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """Yield pieces of a Parquet file as they are in it, and of another as they were read."""
        if self.kind == "parquet":
            yield from read_pieces_of(self.data, columns)
            return
        frame = self.frame if columns is None else self.frame[list(columns)]
        for start in range(0, len(frame), PIECE_ROWS):
            yield frame.iloc[start : start + PIECE_ROWS]

    def _parsed(self, columns: Sequence[str] | None = None) -> Iterator[tuple[Any, DataFrame]]:
        import pandas

        first = 0
        for cells in self._cells(columns):
            frame = mark_missing(as_frame(cells), self.na_values)
            yield cells, frame.set_index(pandas.RangeIndex(first, first + len(frame)))
            first += len(frame)

    def write_with(
        self, added: DataFrame | Add, target: str | Path, *, force: bool = False
    ) -> None:
        """Write all columns as they were in the file, and others behind them.

        Takes new columns for all rows, or a function that makes them for a piece, and a target as
        of :func:`write_table`. A text that a spreadsheet would run stays as it is, with a warning.
        """
        kind, add = table_kind(target), added if callable(added) else self._given(added)
        self.data.budget.restart()
        if kind.partition(".")[0] in WRITTEN and self.kind in WRITTEN:
            write = partial(self._write_text, add, kind)
        elif kind == "parquet" and self.kind in (*WRITTEN, "parquet"):
            write = partial(self._write_parquet, add)
        elif kind == self.kind == "npz":
            write = partial(self._write_npz, add)
        else:
            import pandas

            own = self.frame
            if self.kind == "parquet":
                own = own.assign(**_exact_cells(self.data))
            elif self.kind in WRITTEN:
                texts = [cells.to_pandas() for cells in self._text()]
                own = pandas.concat(texts, ignore_index=True)
            write_table(pandas.concat([own, add(self.frame)], axis=1), target, force=force)
            return
        write_to(target, write, force=force)

    def _given(self, added: DataFrame) -> Add:
        if len(added) != self.n_rows:
            raise ValueError(
                f"added has {len(added):,} rows, and the table {self.n_rows:,}; give one for each."
            )
        return lambda piece: added.iloc[np.asarray(piece.index)]

    def _layout(self) -> Layout:
        return find_layout(self.data, ("\t",) if self.kind == "tsv" else DELIMITERS)

    def _write_text(self, add: Add, kind: str, target: IO[bytes] | Path) -> None:
        layout, text = self._layout(), kind.partition(".")[0]
        # A file of semicolons stays one, unless another kind is asked for.
        delimiter = WRITTEN[text] if text != self.kind else layout.delimiter
        decimal = layout.decimal if delimiter != layout.decimal else "."
        own, new = read_cells(self.data, layout.delimiter), self._new_cells(add, decimal)
        formula = None
        form: dict[str, Any] = {"delimiter": delimiter, "lineterminator": "\n"}
        with open_packed(target, kind) as file:
            writer, quoting = (
                csv.writer(file, **form),
                csv.writer(file, quoting=csv.QUOTE_ALL, **form),
            )
            for cells in zip(own, new, strict=True):
                row = cells[0] + cells[1]
                (quoting if "\r" in "".join(row) else writer).writerow(row)
                formula = formula or find_formula(row)
        warn_of_formula(formula)

    def _new_cells(self, add: Add, decimal: str) -> Iterator[list[str]]:
        for number, piece in enumerate(self._cells()):
            with self.data.budget.paused():
                new = add(piece)
            text = new.to_csv(index=False, header=not number, decimal=decimal, lineterminator="\n")
            yield from csv.reader(StringIO(text))

    def _write_parquet(self, add: Add, target: IO[bytes] | Path) -> None:
        pyarrow, parquet = (load(name, "Parquet files") for name in ("pyarrow", "pyarrow.parquet"))
        schema, writer = None, None
        texts = self.kind in WRITTEN
        pieces = zip(self._text(), self._cells(), strict=True) if texts else self._parsed()
        try:
            for own, read in pieces:
                table = pyarrow.Table.from_batches([own]).replace_schema_metadata(None)
                # All pieces have the types of the first.
                added = pyarrow.Table.from_pandas(add(read), schema, preserve_index=False)
                schema = added.schema
                for field, column in zip(schema, added.columns, strict=True):
                    table = table.append_column(field.with_metadata(None), column)
                writer = writer or parquet.ParquetWriter(target, table.schema)
                writer.write_table(table)
        finally:
            if writer is not None:
                writer.close()

    def _write_npz(self, add: Add, target: IO[bytes] | Path) -> None:
        added = add(self.frame)
        new = {str(name): array_of(added[name]) for name in added}
        write_arrays(read_arrays(self.data) | new, target)

    def _text(self) -> Iterator[Any]:
        """Yield the cells of CSV as columns of text, a piece at a time; an empty cell is null."""
        pyarrow = load("pyarrow", "Parquet files")
        rows = read_cells(self.data, self._layout().delimiter)
        names = next(rows)
        while some := list(islice(rows, PIECE_ROWS)):
            columns = ([cell or None for cell in column] for column in zip(*some, strict=True))
            arrays = [pyarrow.array(column, "string") for column in columns]
            with self.data.budget.paused():
                yield pyarrow.RecordBatch.from_arrays(arrays, names)


@contextmanager
def open_table(
    source: str | Path | BinaryIO, *, na_values: Collection[str] = ()
) -> Iterator[OpenTable]:
    """Open a table, to be read as :func:`read_table` does, or piece by piece."""
    with recognised(source) as (data, kind):
        yield OpenTable(data, kind, na_values)


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
