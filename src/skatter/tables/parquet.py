"""Tables from Parquet files: flat columns, looked at before they are read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from skatter.formatting import quoted
from skatter.tables.errors import TableError, load
from skatter.tables.naming import check_names
from skatter.tables.opening import Data

if TYPE_CHECKING:
    from pandas import DataFrame

BATCH = 16_384
"""Rows that are read at a time."""

INDEX = re.compile(r"__index_level_\d+__")
"""How pandas calls an index without a name, which is no column of the table."""


def read_parquet(data: Data) -> DataFrame:
    """Read a Parquet file; dictionary columns become categories, decimals become numbers."""
    parquet = load("pyarrow.parquet", "Parquet files")
    with parquet.ParquetFile(data.file) as file:
        _check_size(file.metadata, data)
        schema = file.schema_arrow
        check_names(schema.names, data.name)
        types = {field.name: _flat_type(field, data.name) for field in schema}
        kept = [name for name in schema.names if not INDEX.fullmatch(name)]
        table = _read(file, kept, data)
    table.validate(full=True)  # text that is not UTF-8 would stay hidden until it is looked at
    for place, name in enumerate(kept):
        if types[name] is not None:
            table = table.set_column(place, name, table.column(place).cast(types[name]))
    # Metadata of pandas would turn columns into an index, and types into others.
    frame = table.to_pandas(ignore_metadata=True, date_as_object=False)
    return frame.reset_index(drop=True)


def read_columns_of(data: Data) -> Any:
    """Return the columns of a Parquet file as they are, with their types."""
    parquet = load("pyarrow.parquet", "Parquet files")
    data.file.seek(0)
    with parquet.ParquetFile(data.file) as file:
        kept = [name for name in file.schema_arrow.names if not INDEX.fullmatch(name)]
        return _read(file, kept, data)


def _read(file: Any, columns: list[str], data: Data) -> Any:
    """Read piece by piece: a repeated text takes a few bytes in the file, and all of them here."""
    pyarrow, compute = (load(name, "Parquet files") for name in ("pyarrow", "pyarrow.compute"))
    schema = file.schema_arrow  # built anew each time it is asked for
    fields = [schema.field(name) for name in columns]
    if not any(_is_text(field.type) for field in fields):
        return file.read(columns=columns)  # rows and columns say how large numbers are
    pieces, unpacked = [], 0
    for piece in file.iter_batches(BATCH, columns=columns):
        unpacked += piece.nbytes
        data.budget.check_bytes(unpacked, data.size)
        data.budget.check_time(unpacked)
        for name, column in zip(columns, piece.columns, strict=True):
            if _is_text(column.type):
                longest = compute.max(compute.binary_length(column)).as_py()
                data.budget.check_cell(longest or 0, f"column {quoted(name)}")
        pieces.append(piece)
    return pyarrow.Table.from_batches(pieces, schema=pyarrow.schema(fields))


def _is_text(kind: Any) -> bool:
    types = load("pyarrow", "Parquet files").types
    return bool(types.is_string(kind) or types.is_large_string(kind))


def _check_size(metadata: Any, data: Data) -> None:
    """Rows and bytes as the file declares them: runs of one value pack a million to one."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    data.budget.check_bytes(sum(group.total_byte_size for group in groups), data.size)
    data.budget.check_cells(metadata.num_rows, max(metadata.num_columns, 1))


def _flat_type(field: Any, file: str) -> Any:
    """Return the type to cast a column to, or None; refuse columns whose cells hold no value."""
    types = load("pyarrow", "Parquet files").types
    kind = getattr(field.type, "storage_type", field.type)
    kind = kind.value_type if types.is_dictionary(kind) else kind
    if types.is_nested(kind):
        raise TableError(
            f"{file}: column {quoted(field.name)} is nested ({kind}); give one value per cell."
        )
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind):
        raise TableError(f"{file}: column {quoted(field.name)} holds bytes; save text or numbers.")
    if types.is_time(kind):
        raise TableError(
            f"{file}: column {quoted(field.name)} holds times of day; save them as text or numbers."
        )
    return "float64" if types.is_decimal(kind) else None
