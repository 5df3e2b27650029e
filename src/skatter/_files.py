"""Files: written whole or not at all, and read only if they are regular files of a bounded size."""

from __future__ import annotations

import io
import math
import os
import secrets
import signal
import stat
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from numpy.typing import NDArray

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]  # Windows

_PLAINLY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""Neither through a link nor waiting for a pipe."""
PREFIX, SUFFIX = ".skatter-", ".part"
"""Of temporary files, which lie beside the file that they become."""
EMPTY = 2**20  # length of an array without values, in any direction
CODED = 0x61  # flags of zip members that are encrypted or patches
STALE = 60.0
"""Seconds after which an empty one has been left: a process is about to lock it until then."""


def write_atomically(path: str | os.PathLike[str], write: Callable[[Path], object]) -> None:
    """Write beside ``path`` and rename: no reader ever sees half a file, nor does a power cut.

    The temporary file is made exclusively under a name that nobody can know, so that neither
    threads nor processes meet in it and no link planted there is followed. It is removed if
    writing fails and on SIGTERM; those that killed processes left are removed by the next write.
    ``write`` puts all of the content into the file that it is given.
    """
    place = Path(os.path.realpath(path))
    part = place.with_name(f"{PREFIX}{secrets.token_hex(8)}{SUFFIX}")
    try:
        with _exits_on_sigterm(), _made(part):
            write(part)
            with open(part, "rb+") as file:
                os.fsync(file.fileno())
            os.replace(part, place)
            sync_folder(place.parent)
    except OSError as error:
        if error.strerror is None:  # not the system's: it says what it has to say
            raise
        failure = OSError(f"{path} cannot be written: {error.strerror}.")
        failure.errno = error.errno
        raise failure from error
    remove_stale(place.parent)


def remove_stale(folder: Path) -> None:
    """Remove the temporary files that killed processes left, and none that is being written."""
    for path in folder.glob(f"{PREFIX}*{SUFFIX}"):
        with suppress(OSError):
            handle = os.open(path, os.O_RDONLY | _PLAINLY)
            try:
                found = os.fstat(handle)
                old = found.st_size > 0 or time.time() - found.st_mtime > STALE
                if old and stat.S_ISREG(found.st_mode) and _lock(handle):
                    path.unlink()
            finally:
                os.close(handle)


def read_regular(path: str | os.PathLike[str], limit: int) -> bytes:
    """Read a regular file of at most ``limit`` bytes, or raise an OSError or a ValueError."""
    # A pipe that nobody writes to would wait for ever, were it opened as other files.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(path, flags), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise OSError(0, "it is no regular file")
        if found.st_size > limit:
            raise ValueError(f"it is larger than {limit:,} bytes")
        return file.read(found.st_size)


def open_archive(data: bytes, *, times: int = 1) -> zipfile.ZipFile:
    """Open a zip archive that unpacks into no more than some times its size, or raise a ValueError.

    Its members are compressed only where that is more than once.
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, OSError, NotImplementedError) as error:
        raise ValueError(str(error)) from error
    members = archive.infolist()
    known = (zipfile.ZIP_STORED,) if times == 1 else (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    if any(each.compress_type not in known or each.flag_bits & CODED for each in members):
        raise ValueError("its members are compressed or encrypted in a way that is not known")
    if len({each.filename for each in members}) < len(members):
        raise ValueError("two of its members have one name")
    # No more is unpacked of a member than it says here.
    if sum(each.file_size for each in members) > times * len(data):
        raise ValueError("its members are compressed too far, or larger than the file")
    return archive


def read_npy(data: bytes) -> NDArray[Any]:
    """Read an array of numbers, bools or text as large as it says, or raise a ValueError."""
    file = io.BytesIO(data)
    try:
        if np.lib.format.read_magic(file) != (1, 0):
            raise ValueError("its version is not known")
        shape, in_columns, dtype = np.lib.format.read_array_header_1_0(file)
    # NumPy reads headers with Python's parser, which fails on foreign text in many ways.
    except Exception as error:
        raise ValueError(f"an array has a bad header ({type(error).__name__})") from error
    size = dtype.itemsize
    wide = size > 8 and dtype.kind != "U"
    if dtype.kind not in "biufU" or not dtype.isnative or dtype.subdtype or wide or not size:
        raise ValueError(f"an array is of {str(dtype)[:50]}")
    empty = 0 in shape and max(shape) > EMPTY
    if min(shape, default=0) < 0 or empty or math.prod(shape) * size != len(data) - file.tell():
        raise ValueError("an array has another size than it says")
    found = np.frombuffer(data, dtype, offset=file.tell())
    if dtype.kind == "b" and found.view(np.uint8).max(initial=0) > 1:
        raise ValueError("an array holds what is neither true nor false")
    if dtype.kind == "U" and found.size:
        codes = found.view(np.uint32)
        if codes.max() > 0x10FFFF or ((codes >= 0xD800) & (codes <= 0xDFFF)).any():
            raise ValueError("an array holds characters that there are not")
    return found.reshape(shape[::-1]).T.copy("F") if in_columns else found.reshape(shape).copy()


@contextmanager
def _made(part: Path) -> Iterator[None]:
    """Make a temporary file, lock it as long as it is used, and see that it is gone at the end."""
    handle = os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
    try:
        _lock(handle)
        yield
    finally:
        os.close(handle)
        part.unlink(missing_ok=True)


def _lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (AttributeError, OSError):
        return False
    return True


def sync_folder(folder: Path) -> None:
    """Have the names in a folder written to the disk; Windows cannot, and need not."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def _exits_on_sigterm() -> Iterator[None]:
    """Leave by an exception on SIGTERM, where the program has no way of its own."""
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return

    def leave(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
