"""Tables from Parquet files: flat columns, looked at before they are read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from skatter._formatting import quoted
from skatter.tables._budget import BLOCK
from skatter.tables._errors import TableError, blaming, check_names, load
from skatter.tables._opening import Data

if TYPE_CHECKING:
    from pandas import DataFrame

PIECE_ROWS, PIECE_CELLS = 16_384, 1 << 22  # read at a time; few, for repeated texts unpack
INDEX = re.compile(r"__index_level_\d+__")  # as pandas calls an index without a name


def read_columns_of(data: Data) -> Any:
    pyarrow = load("pyarrow", "Parquet files")
    with _opened(data) as (file, schema):
        if any(_is_text(field.type) for field in schema):
            return pyarrow.Table.from_batches(_batches(file, data, schema.names), schema=schema)
        table = file.read(columns=schema.names)  # rows and columns say how large numbers are
        table.validate(full=True)
        return table


def read_pieces_of(data: Data, columns: Sequence[str] | None = None) -> Iterator[Any]:
    """Yield the rows of a Parquet file some at a time: all columns as they are, or some of them."""
    with blaming(data.name, "Parquet"), _opened(data) as (file, schema):
        for batch in _batches(file, data, list(columns or schema.names)):
            with data.budget.paused():
                yield batch


def look_at(data: Data) -> tuple[int, list[str]]:
    with blaming(data.name, "Parquet"), _opened(data) as (file, schema):
        return file.metadata.num_rows, schema.names


def as_frame(cells: Any) -> DataFrame:
    """Return a table or a batch of Arrow as a data frame; dictionaries become categories."""
    pyarrow = load("pyarrow", "Parquet files")
    table = pyarrow.Table.from_batches([cells]) if isinstance(cells, pyarrow.RecordBatch) else cells
    for place, field in enumerate(table.schema):
        if pyarrow.types.is_decimal(_plain_type(field)):
            table = table.set_column(place, field.name, table.column(place).cast("float64"))
    # Metadata of pandas would turn columns into an index, and types into others.
    frame: DataFrame = table.to_pandas(ignore_metadata=True, date_as_object=False)
    return frame.reset_index(drop=True)


@contextmanager
def _opened(data: Data) -> Iterator[tuple[Any, Any]]:
    """Open a file that claims no more than a table holds; yield the schema of its columns too."""
    pyarrow, parquet = (load(name, "Parquet files") for name in ("pyarrow", "pyarrow.parquet"))
    data.file.seek(0)
    # Otherwise whole row groups are fetched, and all that were stay in memory until the end.
    with parquet.ParquetFile(data.file, buffer_size=BLOCK, pre_buffer=False) as file:
        # As the file declares them: runs of one value pack a million to one.
        groups = [file.metadata.row_group(place) for place in range(file.metadata.num_row_groups)]
        data.budget.check_bytes(sum(group.total_byte_size for group in groups), data.size)
        data.budget.check_cells(file.metadata.num_rows, max(file.metadata.num_columns, 1))
        schema = file.schema_arrow  # built anew each time it is asked for
        check_names(schema.names, data.name)
        for field in schema:
            _check_flat(field, data.name)
        yield file, pyarrow.schema([field for field in schema if not INDEX.fullmatch(field.name)])


def _batches(file: Any, data: Data, columns: list[str]) -> Iterator[Any]:
    """Yield piece by piece: a repeated text takes a few bytes in the file, and all of them here."""
    compute = load("pyarrow.compute", "Parquet files")
    rows, unpacked = max(1, min(PIECE_ROWS, PIECE_CELLS // max(len(columns), 1))), 0
    for piece in file.iter_batches(rows, columns=columns):
        unpacked += piece.nbytes
        data.budget.check_bytes(unpacked, data.size)
        data.budget.check_time(unpacked)
        for field, column in zip(piece.schema, piece.columns, strict=True):
            if _is_text(field.type):
                longest = compute.max(compute.binary_length(column)).as_py()
                data.budget.check_cell(longest or 0, f"column {quoted(field.name)}")
        piece.validate(full=True)  # text that is not UTF-8 would stay hidden until it is looked at
        yield piece


def _is_text(kind: Any) -> bool:
    types = load("pyarrow", "Parquet files").types
    return bool(types.is_string(kind) or types.is_large_string(kind))


def _plain_type(field: Any) -> Any:
    kind = getattr(field.type, "storage_type", field.type)
    return kind.value_type if load("pyarrow", "Parquet files").types.is_dictionary(kind) else kind


def _check_flat(field: Any, file: str) -> None:
    types, kind = load("pyarrow", "Parquet files").types, _plain_type(field)
    if types.is_nested(kind):
        what = f"is nested ({kind}); give one value per cell"
    elif types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind):
        what = "holds bytes; save text or numbers"
    elif types.is_time(kind):
        what = "holds times of day; save them as text or numbers"
    else:
        return
    raise TableError(f"{file}: column {quoted(field.name)} {what}.")
