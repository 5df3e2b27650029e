"""Tables from MATLAB files: matrices of numbers, text, and cells of text."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.io import loadmat, whosmat
from scipy.io.matlab import matfile_version

from skatter.formatting import quoted
from skatter.tables.arrays import MAX_ARRAYS, check_dtype, frame_of_arrays
from skatter.tables.errors import TableError
from skatter.tables.mat5 import read_variables
from skatter.tables.opening import Data

if TYPE_CHECKING:
    from pandas import DataFrame

Array = NDArray[Any]

HDF5 = (b"MATLAB 7.3", b"\x89HDF")


def read_mat(data: Data) -> DataFrame:
    """Read a MATLAB file of version 4, 6 or 7."""
    if data.head(10).startswith(HDF5):
        raise TableError(
            f"{data.name}: is a MATLAB 7.3 (HDF5) file; save it again with -v7, or as CSV."
        )
    major, _ = matfile_version(data.file)
    arrays = read_variables(data) if major == 1 else _read_old(data)
    if not arrays:
        raise TableError(f"{data.name}: holds no variable.")
    if len(arrays) > MAX_ARRAYS:
        raise TableError(f"{data.name}: holds more than {MAX_ARRAYS:,} variables.")
    return frame_of_arrays(_in_rows(arrays), data.name)


def _read_old(data: Data) -> dict[str, Array]:
    """Read version 4, after a look at the shapes that it claims; an item takes a byte or more."""
    data.file.seek(0)
    for name, shape, _ in whosmat(data.file):
        if min(shape, default=0) < 0 or prod(map(int, shape)) > data.size:
            raise TableError(
                f"{data.name}: variable {quoted(name)} claims shape {shape}; the file is damaged."
            )
    data.file.seek(0)
    found = loadmat(data.file)
    arrays = {name: value for name, value in found.items() if not name.startswith("__")}
    for name, value in arrays.items():
        if not isinstance(value, np.ndarray):
            raise TableError(f"{data.name}: variable {quoted(name)} is sparse; save full(X).")
        check_dtype(value.dtype, f"{data.name}: variable {quoted(name)}")
    return arrays


def _in_rows(arrays: dict[str, Array]) -> dict[str, Array]:
    """Stand vectors upright that lie, and have as many items as the others have rows."""
    shapes = {array.shape for array in arrays.values()}
    n_rows = max(shape[0] if shape else 0 for shape in shapes)
    if n_rows == 1 and len(shapes) == 1:
        n_rows = max(shapes.pop())  # all lie
    return {
        name: array.T if array.shape == (1, n_rows) else array for name, array in arrays.items()
    }
