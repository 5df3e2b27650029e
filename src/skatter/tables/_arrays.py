"""Tables from named arrays: NPZ files, and what a table of arrays is."""

from __future__ import annotations

import os
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import numpy as np
from numpy.lib import format as npy

from skatter._formatting import listed, quoted
from skatter._tensors import Array
from skatter.tables._budget import Budget
from skatter.tables._errors import TableError, check_names, load
from skatter.tables._opening import Data

if TYPE_CHECKING:
    from pandas import DataFrame, Series

MAX_ARRAYS = 10_000
MAX_COLUMNS = 1_000_000
MAX_TEXT = 2**28  # characters of a column of text that is written
ENCRYPTED = 1  # bit of the flags of a zip member
FLAT = "biufUSM"  # kinds of dtype that are cells of a table: booleans, numbers, text and dates


def read_arrays(data: Data) -> dict[str, Array]:
    """Read the arrays of an NPZ file; every size and type is looked at before it is unpacked."""
    with ZipFile(data.file) as archive:
        members = _check_members(archive.infolist(), data)
        for name, member in members.items():
            with archive.open(member) as file:
                _check_array(file, member, f"{data.name}: array {quoted(name)}", data.budget)
        arrays = {}
        for name, member in members.items():
            with archive.open(member) as file:
                arrays[name] = npy.read_array(file, allow_pickle=False)
    return arrays


def write_arrays(arrays: Mapping[str, Array], target: IO[bytes] | Path) -> None:
    """Write an NPZ file; the same arrays give the same bytes."""
    for name in arrays:
        if _is_path(name):
            raise TableError(f"{quoted(name)} cannot name an array; write .csv or .parquet.")
    with ZipFile(target, "w") as archive:
        for name, array in arrays.items():
            with archive.open(ZipInfo(f"{name}.npy"), "w", force_zip64=True) as file:
                npy.write_array(file, array, allow_pickle=False)


def array_of(column: Series) -> Array:
    """Return the cells of a column; where NPZ has no way to say that one is missing, as text."""
    gaps = column.isna().to_numpy()
    # Whole numbers of pandas become floats beside a gap, and lose digits.
    kept = isinstance(column.dtype, np.dtype) or not gaps.any()
    array = column.to_numpy() if kept else column.to_numpy(dtype=object)
    if array.dtype.kind in FLAT:
        return array
    cells = ["" if gap else str(cell) for cell, gap in zip(array, gaps, strict=True)]
    if len(cells) * max(map(len, cells), default=0) > MAX_TEXT:
        raise TableError(
            f"column {quoted(str(column.name))} is too long for NPZ, where every cell takes as "
            "much room as the longest; write .csv or .parquet."
        )
    return np.array(cells, dtype=str)


def _is_path(name: str) -> bool:
    return any(mark in name for mark in ("/", "\\", "..", ":")) or os.path.isabs(name)


def _check_members(members: list[ZipInfo], data: Data) -> dict[str, ZipInfo]:
    """Return the members by the name of their array; refuse what NumPy would not have written."""
    if not members:
        raise TableError(f"{data.name}: holds no array.")
    if len(members) > MAX_ARRAYS:
        raise TableError(f"{data.name}: holds more than {MAX_ARRAYS:,} arrays.")
    for member in members:
        name = member.filename
        called = f"{data.name}: member {quoted(name)}"
        if _is_path(name):
            raise TableError(f"{called} has a path for a name; arrays have plain names.")
        if not name.endswith(".npy"):
            raise TableError(f"{called} is no array; save arrays alone, by numpy.savez.")
        if member.flag_bits & ENCRYPTED or member.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise TableError(f"{called} is packed as NumPy never does; save it by numpy.savez.")
    data.budget.check_bytes(sum(member.file_size for member in members), data.size)
    names = [member.filename.removesuffix(".npy") for member in members]
    check_names(names, data.name)
    return dict(zip(names, members, strict=True))


def _check_array(file: IO[bytes], member: ZipInfo, called: str, budget: Budget) -> None:
    """Read the header alone: the type must be that of cells, and the size that of the member."""
    version = npy.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise TableError(f"{called} has a header of version {version}, which no plain array has.")
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read(file)
    check_dtype(dtype, called)
    n_cells = prod(shape)
    if not dtype.itemsize or n_cells > budget.n_cells:
        raise TableError(f"{called} claims {n_cells:,} cells of {dtype}, which no table holds.")
    if dtype.kind in "SU":
        budget.check_cell(dtype.itemsize // np.dtype(f"{dtype.kind}1").itemsize, "an array")
    n_bytes = dtype.itemsize * n_cells
    left = member.file_size - file.tell()
    if n_bytes != left or min(shape, default=0) < 0:
        raise TableError(
            f"{called} should hold {n_bytes:,} bytes for shape {shape}, and holds {left:,}; the "
            "file is damaged."
        )


def check_dtype(dtype: np.dtype[Any], called: str) -> None:
    if dtype.kind == "O":
        raise TableError(
            f"{called} holds Python objects, which may run code when read; save numbers or text "
            "(array.astype(str))."
        )
    if dtype.kind not in FLAT:
        raise TableError(f"{called} holds {dtype}; save numbers, booleans, text or dates.")


def frame_of_arrays(arrays: Mapping[str, Array], file: str) -> DataFrame:
    pandas = load("pandas", "Tables")
    for name, array in arrays.items():
        if array.ndim not in (1, 2):
            raise TableError(
                f"{file}: array {quoted(name)} has shape {array.shape}; give one row per sample, "
                "one or two dimensions."
            )
    if len({len(array) for array in arrays.values()}) > 1:
        some = listed([f"{name} {array.shape}" for name, array in arrays.items()])
        raise TableError(
            f"{file}: arrays differ in their number of rows: {some}; save arrays with one row per "
            "sample."
        )
    parts = [array if array.ndim == 2 else array[:, None] for array in arrays.values()]
    if sum(part.shape[1] for part in parts) > MAX_COLUMNS:
        raise TableError(f"{file}: has more than {MAX_COLUMNS:,} columns; are they the samples?")
    names: list[str] = []
    for name, part in zip(arrays, parts, strict=True):
        width = part.shape[1]
        names += [name] if width == 1 else [f"{name}{place}" for place in range(width)]
    check_names(names, file)
    frame = pandas.concat([pandas.DataFrame(_plain_items(part)) for part in parts], axis=1)
    frame.columns = names
    return frame


def _plain_items(array: Array) -> Array:
    """Return items as pandas knows them: native numbers of 64 bits at most, and Python's text."""
    kind = array.dtype.kind
    if kind == "S":
        return np.char.decode(array, "utf-8").astype(object)
    if kind == "U":
        return array.astype(object)
    if kind == "f" and array.dtype.itemsize not in (4, 8):
        return array.astype(np.float64)
    return array.astype(array.dtype.newbyteorder("="), copy=False)
