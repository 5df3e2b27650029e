"""From a path, standard input or an open file to bytes that can be read twice.

Compressed bytes are unpacked, and bytes that come once are kept, in a temporary file; both with a
limit, so that no file of some kilobytes fills the memory or the disk.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, Any, BinaryIO

from skatter.tables.errors import TableError, blaming

MAX_BYTES = 4 << 30
"""Most bytes of a table, unpacked."""

MAX_CELLS = MAX_BYTES // 8
"""Most cells of a table: each takes eight bytes or more."""

MAX_RATIO = 200
"""Most bytes that a packed byte may unpack to; counted from :data:`SMALL_BYTES` on."""

SMALL_BYTES = 256 << 20
"""Bytes that any file may unpack to: a table of zeros packs well, and is not an attack."""

BLOCK = 1 << 20
IN_MEMORY = 64 << 20

PACKED: dict[bytes, tuple[str, Callable[..., Any]]] = {
    b"\x1f\x8b": ("gzip", gzip.open),
    b"BZh": ("bzip2", bz2.open),
    b"\xfd7zXZ\x00": ("xz", lzma.open),
}
"""First bytes of a packed file, and what opens it."""


@dataclass(frozen=True)
class Data:
    """Bytes of a table: a seekable file at its beginning, and what messages call it.

    Attributes
    ----------
    file : binary file
        The unpacked bytes.
    name : str
        The path, or "standard input".
    suffix : str
        Ending of the name without that of a packed file, in lower case; "" where there is none.
    size : int
        Number of bytes.
    """

    file: IO[bytes]
    name: str
    suffix: str
    size: int

    def head(self, n_bytes: int) -> bytes:
        """Return the first bytes, and go back to the beginning."""
        self.file.seek(0)
        start = self.file.read(n_bytes)
        self.file.seek(0)
        return start


@contextmanager
def opened(source: str | Path | BinaryIO) -> Iterator[Data]:
    """Open a table for reading; "-" is standard input."""
    if isinstance(source, str | os.PathLike):
        if str(source) == "-":
            with _twice(sys.stdin.buffer, "standard input", "") as data:
                yield data
            return
        path = Path(source)
        with _open(path) as file, _twice(file, str(path), _suffix(path)) as data:
            yield data
        return
    name = getattr(source, "name", None)
    called = name if isinstance(name, str) else "the file"
    with _twice(source, called, _suffix(Path(called))) as data:
        yield data


def check_unpacked(name: str, unpacked: int, packed: int) -> None:
    """Refuse a file that unpacks to more than a table holds."""
    if unpacked > MAX_BYTES:
        raise TableError(
            f"{name}: holds more than {MAX_BYTES >> 30} GiB unpacked; give a smaller table."
        )
    if unpacked > SMALL_BYTES and unpacked > MAX_RATIO * packed:
        raise TableError(
            f"{name}: unpacks to more than {MAX_RATIO} times its {packed:,} bytes, which no usual "
            "table does; if you trust it, save it without compression."
        )


def _open(path: Path) -> BinaryIO:
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode):  # to open a pipe would wait for a writer
            return open(path, "rb")
    except FileNotFoundError as error:
        raise TableError(f"{path}: there is no such file; check its name and folder.") from error
    except IsADirectoryError as error:
        raise TableError(f"{path}: is a folder; give a file.") from error
    except OSError as error:
        raise TableError(f"{path}: cannot be opened: {error.strerror}.") from error
    except ValueError as error:  # a NUL character in the name
        raise TableError(f"{path}: is no name of a file: {error}.") from error
    raise TableError(f"{path}: is a device or a pipe; give a file, or - to read a pipe.")


def _suffix(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in (".gz", ".bz2", ".xz"):
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


@contextmanager
def _twice(file: IO[bytes], name: str, suffix: str) -> Iterator[Data]:
    """Yield bytes that can be read more than once, unpacked where they are packed."""
    with SpooledTemporaryFile(IN_MEMORY) as kept, SpooledTemporaryFile(IN_MEMORY) as plain:
        if not file.seekable():
            with blaming(name, "a table"):
                _copy(file, kept, name, packed=None)
            file = kept
        whole = file.seek(0, os.SEEK_END)
        file.seek(0)
        start = file.read(6)
        file.seek(0)
        for magic, (kind, unpack) in PACKED.items():
            if start.startswith(magic):
                with blaming(name, kind):
                    _copy(unpack(file), plain, name, packed=whole)
                file = plain
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        yield Data(file, name, suffix, size)


def _copy(source: IO[bytes], target: IO[bytes], name: str, *, packed: int | None) -> None:
    """Copy block by block, and stop where it becomes too much."""
    total = 0
    while block := source.read(BLOCK):
        total += len(block)
        check_unpacked(name, total, total if packed is None else packed)
        target.write(block)
    target.seek(0)
