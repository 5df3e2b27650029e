"""Tables: reading and writing files, columns to samples, and the visible preprocessing step."""

from skatter.tables._carrying import OpenTable, open_table
from skatter.tables._columns import Samples, read_columns, read_labels
from skatter.tables._errors import TableError
from skatter.tables._plans import ColumnPlan, as_text, describe_columns, leave_out_unseen
from skatter.tables._preprocessing import (
    align_columns,
    columns_by_kind,
    make_preprocessor,
    to_numbers,
    units_in,
)
from skatter.tables._reading import mark_missing, read_table
from skatter.tables._writing import check_target, table_kind, write_table

__all__ = [
    "ColumnPlan",
    "OpenTable",
    "Samples",
    "TableError",
    "align_columns",
    "as_text",
    "check_target",
    "columns_by_kind",
    "describe_columns",
    "leave_out_unseen",
    "make_preprocessor",
    "mark_missing",
    "open_table",
    "read_columns",
    "read_labels",
    "read_table",
    "table_kind",
    "to_numbers",
    "units_in",
    "write_table",
]
