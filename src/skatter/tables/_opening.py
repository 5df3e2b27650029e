"""From a path, standard input or an open file to bytes that can be read twice.

Compressed bytes are unpacked, and bytes that come once are kept, in a temporary file.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, Any, BinaryIO

from skatter.tables._budget import BLOCK, Budget, Metered
from skatter.tables._errors import TableError, blaming

IN_MEMORY = 64 << 20

PACKED: dict[bytes, tuple[str, Callable[..., Any]]] = {
    b"\x1f\x8b": ("gzip", gzip.open),
    b"BZh": ("bzip2", bz2.open),
    b"\xfd7zXZ\x00": ("xz", lzma.open),
}
"""First bytes of a packed file, and what opens it."""


@dataclass(frozen=True)
class Data:
    file: IO[bytes]
    name: str
    suffix: str
    size: int
    budget: Budget

    def head(self, n_bytes: int) -> bytes:
        self.file.seek(0)
        start = self.file.read(n_bytes)
        self.file.seek(0)
        return start


@contextmanager
def opened(source: str | Path | BinaryIO, called: str | None = None) -> Iterator[Data]:
    """Open a table, which can be read more than once and is not packed; "-" is standard input."""
    own: AbstractContextManager[IO[bytes]]
    if not isinstance(source, str | os.PathLike):
        own, name = nullcontext(source), getattr(source, "name", None)
        called = called or (name if isinstance(name, str) else "the file")
    elif str(source) == "-":
        own, called = nullcontext(sys.stdin.buffer), "standard input"
    else:
        own, called = _open(Path(source)), str(Path(source))
    budget = Budget(called)
    with (
        own as file,
        SpooledTemporaryFile(IN_MEMORY) as kept,
        SpooledTemporaryFile(IN_MEMORY) as plain,
    ):
        if not file.seekable():
            with blaming(called, "a table"):
                _copy(file, kept, budget, packed=None)
            file = kept
        whole, start = _size(file), file.read(6)
        file.seek(0)
        for magic, (kind, unpack) in PACKED.items():
            if start.startswith(magic):
                with blaming(called, kind):
                    _copy(unpack(file), plain, budget, packed=whole)
                file = plain
        size = _size(file)
        metered = BufferedReader(Metered(file, budget, size), BLOCK)
        yield Data(metered, called, _suffix(Path(called)), size, budget)


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


def _size(file: IO[bytes]) -> int:
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    return size


def _copy(source: IO[bytes], target: IO[bytes], budget: Budget, *, packed: int | None) -> None:
    total = 0
    while block := source.read(BLOCK):
        total += len(block)
        budget.check_bytes(total, total if packed is None else packed)
        budget.check_time(total)
        target.write(block)
    target.seek(0)
