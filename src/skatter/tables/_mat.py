"""Tables from MATLAB files: matrices of numbers, text, and cells of text.

A file of version 6 or 7 is a row of elements, each a tag (type, bytes) and its bytes; an element
may be compressed. An array is an element made of parts: flags, shape, name, values.
``scipy.io.loadmat`` trusts types and sizes: of 1,500 damaged files it crashed the interpreter on 19
(version 1.17). So numbers, text, and cells of one of them are read part by part, sizes checked.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from struct import unpack, unpack_from
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.io import loadmat, whosmat
from scipy.io.matlab import matfile_version

from skatter._formatting import quoted
from skatter._tensors import Array
from skatter.tables._arrays import MAX_ARRAYS, check_dtype, frame_of_arrays
from skatter.tables._budget import BLOCK, Budget
from skatter.tables._errors import TableError
from skatter.tables._opening import Data

if TYPE_CHECKING:
    from pandas import DataFrame

HDF5 = (b"MATLAB 7.3", b"\x89HDF")
HEADER = 128
TAG = 8
MATRIX, COMPRESSED = 14, 15  # types of elements: an array, and one that is compressed
INT8, INT32, UINT32 = 1, 5, 6
NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8"}
NUMBERS |= {12: "i8", 13: "u8"}
"""Types of numbers in a part, as NumPy calls them."""

TEXTS = {1: "utf-8", 2: "utf-8", 16: "utf-8", 4: "utf-16", 17: "utf-16", 18: "utf-32"}
"""Types of text in a part, as Python calls them."""
CELL, CHARACTERS, NUMERIC = 1, 4, range(6, 16)  # classes of arrays that are read

REFUSED = {
    2: "a struct; save its fields as variables of their own (save -struct)",
    3: "an object; save its values as matrices",
    5: "sparse; save full(X)",
    16: "a function; leave it out",
    17: "a table, a string or an object; turn it into matrices and cells of text",
}
"""Classes of arrays that are not, and what to do."""

LOGICAL, COMPLEX = 0x200, 0x800  # bits of the flags


def read_mat(data: Data) -> DataFrame:
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


class Part(NamedTuple):
    kind: int
    content: bytes
    end: int


def read_variables(data: Data) -> dict[str, Array]:
    order = "<" if data.head(HEADER)[126:128] == b"IM" else ">"
    variables: dict[str, Array] = {}
    for element in _elements(data, order):
        reader = Reader(element, order, data.budget)
        name = reader.name
        if name in variables:
            raise TableError(f"{data.name}: variable {quoted(name)} is there twice; rename one.")
        variables[name] = reader.array(f"{data.name}: variable {quoted(name)}")
        data.budget.check_time(data.size)
    return variables


def _elements(data: Data, order: str) -> Iterator[bytes]:
    data.file.seek(HEADER)
    total = 0
    while len(tag := data.file.read(TAG)) == TAG:
        kind, n_bytes = unpack(f"{order}II", tag)
        body = data.file.read(min(n_bytes, data.size))
        if len(body) < n_bytes:
            raise TableError(f"{data.name}: ends within a variable; it is cut off or damaged.")
        if kind != COMPRESSED:
            yield tag + body
            continue
        unpacker, rest = zlib.decompressobj(), body
        while rest and not unpacker.eof:  # counted before anything is kept
            total += len(unpacker.decompress(rest, BLOCK))
            data.budget.check_bytes(total, data.size)
            rest = unpacker.unconsumed_tail
        yield zlib.decompressobj().decompress(body)


@dataclass(frozen=True)
class Reader:
    """Reads the one array that an element, given with its tag, holds."""

    buffer: bytes
    order: str
    budget: Budget

    @property
    def name(self) -> str:
        return self._header(0)[2]

    def array(self, called: str) -> Array:
        """Return the values; text as strings, one for each row of a matrix of characters."""
        flags, shape, _, at = self._header(0)
        if flags & 0xFF != CELL:
            return self._values(flags, shape, at, called)
        if prod(shape) * TAG > len(self.buffer):
            raise self._damaged()
        cells = []
        for place in range(prod(shape)):
            part = self._part(at)
            cells.append(self._cell(part, at, f"{called}: cell {place + 1:,}"))
            at = part.end
        if len({isinstance(value, str) for value in cells}) > 1:
            raise TableError(f"{called} has cells of text and cells of numbers; give one kind.")
        dtype = object if any(isinstance(value, str) for value in cells) else float
        return np.array(cells, dtype=dtype).reshape(shape, order="F")

    def _cell(self, part: Part, at: int, called: str) -> Any:
        if part.kind != MATRIX:
            raise self._damaged()
        if not part.content:
            return ""
        flags, shape, _, values = self._header(at)
        if flags & 0xFF == CELL:
            raise TableError(f"{called} holds cells; give one text or number.")
        found = self._values(flags, shape, values, called)
        if found.size > 1:
            raise TableError(f"{called} holds shape {shape}; give one text or number.")
        return found.item() if found.size else ""

    def _values(self, flags: int, shape: tuple[int, ...], at: int, called: str) -> Array:
        kind = flags & 0xFF
        if kind in REFUSED:
            raise TableError(f"{called} is {REFUSED[kind]}.")
        part = self._part(at)
        if kind == CHARACTERS and part.kind in TEXTS:
            return self._characters(part, shape)
        if kind not in NUMERIC or part.kind not in NUMBERS:
            raise self._damaged()
        if flags & COMPLEX:
            raise TableError(f"{called} holds complex numbers; save others.")
        values = np.frombuffer(part.content, self.order + NUMBERS[part.kind])
        if values.size != prod(shape):
            raise self._damaged()
        values = values.astype(bool) if flags & LOGICAL else values
        return values.reshape(shape, order="F")

    def _characters(self, part: Part, shape: tuple[int, ...]) -> Array:
        coding = TEXTS[part.kind]
        ending = "" if coding == "utf-8" else "-le" if self.order == "<" else "-be"
        text = part.content.decode(coding + ending)
        if len(text) != prod(shape) or len(shape) != 2:
            raise self._damaged()
        n_rows = shape[0] if text else 0
        self.budget.check_cell(shape[1], "a variable")
        return np.array([text[row::n_rows].rstrip() for row in range(n_rows)], dtype=object)

    def _header(self, at: int) -> tuple[int, tuple[int, ...], str, int]:
        """Return flags, shape and name of the array whose tag is at ``at``, and where they end."""
        if self._tag(at)[0] != MATRIX:
            raise self._damaged()
        flags = self._part(at + TAG)
        shape = self._part(flags.end)
        name = self._part(shape.end)
        if (flags.kind, shape.kind, name.kind) != (UINT32, INT32, INT8) or len(flags.content) != 8:
            raise self._damaged()
        lengths = tuple(np.frombuffer(shape.content, f"{self.order}i4").tolist())
        if len(lengths) < 2 or min(lengths) < 0:
            raise self._damaged()
        bits, _ = unpack(f"{self.order}II", flags.content)
        return bits, lengths, name.content.decode("latin-1"), name.end

    def _part(self, at: int) -> Part:
        """Return the part at ``at``; small ones are in their tag, others filled up to eights."""
        (kind, n_bytes), start = self._tag(at), at + TAG
        if kind >> 16:
            kind, n_bytes, start, end = kind & 0xFFFF, kind >> 16, at + 4, at + TAG
        else:
            end = start + -(-n_bytes // TAG) * TAG
        stop = start + n_bytes
        if stop > len(self.buffer) or stop > end:
            raise self._damaged()
        return Part(kind, self.buffer[start:stop], end)

    def _tag(self, at: int) -> tuple[int, int]:
        if at + TAG > len(self.buffer):
            raise self._damaged()
        kind, n_bytes = unpack_from(f"{self.order}II", self.buffer, at)
        return kind, n_bytes

    def _damaged(self) -> TableError:
        return TableError(f"{self.budget.name}: a variable is damaged; save the file again.")
