"""Where the records of finished cells are kept: one JSON file a cell, whole or not there.

A store is a folder::

    cells/3f/3f9a....json      the record of a cell
    cells/3f/3f9a....lock      the cell is claimed, while a process holds a lock on this file

A record is written atomically, so that a process that is killed leaves the whole record or none,
and carries a checksum of its content. The lock belongs to the operating system and dies with the
process. :func:`pack` makes one small file of a store, which :class:`PackedStore` reads.
"""

from __future__ import annotations

import errno
import hashlib
import json
import lzma
import os
import re
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, nullcontext, suppress
from pathlib import Path
from typing import Any

from skatter._files import read_regular, remove_stale, sync_folder, write_atomically

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]  # Windows: cells are not shared between runs

Record = dict[str, Any]  # what is kept of a cell
Claim = ExitStack  # a cell that this process alone works on, until it is closed or the process ends
CHECKSUM = "sha256"
MAX_RECORD = 2**24  # bytes of a record, which take many times as much memory
MAX_PACKED = 2**25  # bytes that a packed store unpacks to
MAX_DICTIONARY = 2**28  # bytes of memory that unpacking may take
LOCKS_UNKNOWN = {errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK}
"""What a file system answers that knows no locks."""


class StoreError(OSError):
    """The store cannot be used; the message says which file, why, and what to do."""


class Store:
    """Records of cells in a folder, which is made on the first write.

    Several processes may use one folder at the same time, each with a store of its own. One store
    is for one thread.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder).expanduser()
        self._claimed: set[str] = set()
        if os.path.exists(self.folder) and not os.path.isdir(self.folder):
            raise StoreError(f"{self.folder} exists and is not a folder; choose another path.")

    def __repr__(self) -> str:
        return f"Store({str(self.folder)!r})"

    def get(self, key: str) -> Record | None:
        """Return the record of a cell, or None where there is none.

        A file that does not hold a record of this cell counts as none, with a warning that names
        it: the cell can always be done again, and one damaged file must not stop a run of
        thousands of cells.
        """
        path = self._path(key, ".json")
        try:
            record = json.loads(read_regular(path, MAX_RECORD))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise StoreError(f"cannot read {path}: {error.strerror}. Make it readable.") from error
        except (ValueError, RecursionError):
            record = None
        if _is_record(record, key):
            del record[CHECKSUM]
            return record
        warnings.warn(
            f"{path} does not hold the record of its cell and counts as missing. The next run does "
            "the cell again and replaces the file; or put the right file back.",
            stacklevel=2,
        )
        return None

    def __contains__(self, key: str) -> bool:
        return self.get(key) is not None

    def __iter__(self) -> Iterator[Record]:
        """Return the records, in the order of their keys; damaged ones are left out."""
        for path in sorted(self.folder.glob("cells/??/*.json")):
            if _is_key(path.stem) and (record := self.get(path.stem)) is not None:
                yield record

    def prepare(self) -> None:
        """Make the folder, and see that files can be written there, before any work is done.

        Removes what killed processes left behind, and nothing that a living one uses.
        """
        try:
            self._cells.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self._cells) as probe:
                probe.write(b"probe")
        except OSError as error:
            raise StoreError(
                f"cannot write to the folder {self.folder}: {error.strerror}. Choose another "
                "folder, or make this one writable."
            ) from error
        for path in self._cells.glob("??/*.lock"):
            if _is_key(path.stem) and (claim := self.claim(path.stem)) is not None:
                claim.close()
        for folder in self._cells.glob("??"):
            remove_stale(folder)

    def put(self, key: str, record: Record) -> None:
        """Keep the record of a cell, in place of the one that is there.

        Where another process holds a claim on the cell, this waits for its end.
        """
        record = {"key": key, **record}
        record[CHECKSUM] = _checksum(record)
        if not _is_record(record, key):
            raise ValueError(f"record must have status, scores, error and seconds, got {record!r}.")
        text, path = json.dumps(record, indent=1, allow_nan=False), self._path(key, ".json")
        own = None if key in self._claimed else self.claim(key, wait=True)
        with own or nullcontext():
            try:
                write_atomically(path, lambda part: part.write_bytes(text.encode()))
            except OSError as error:
                raise _cannot_write(path, error) from error

    def claim(self, key: str, *, wait: bool = False) -> Claim | None:
        """Claim a cell for this store; return None, or wait, where it is claimed already.

        A claim keeps two runs on one folder from doing the same cell twice. It is no more than
        an agreement between runs: reading needs none. On systems without ``fcntl``, and on file
        systems without locks, every claim is granted.
        """
        path = self._path(key, ".lock")
        try:
            if not path.parent.is_dir():
                path.parent.mkdir(parents=True, exist_ok=True)
                sync_folder(path.parent.parent)
            lock = _lock_file(path, wait=wait) if fcntl else None
        except BlockingIOError:
            return None
        except OSError as error:
            raise _cannot_write(path, error) from error
        self._claimed.add(key)
        claim = Claim()
        if lock is not None:
            claim.callback(os.close, lock)
            # Removed while the lock is held: see _lock_file for those who wait for it.
            claim.callback(path.unlink, missing_ok=True)
        claim.callback(self._claimed.discard, key)
        return claim

    @property
    def _cells(self) -> Path:
        return self.folder / "cells"

    def _path(self, key: str, suffix: str) -> Path:
        if not _is_key(key):
            raise ValueError(f"key must be 64 hexadecimal digits, got {key!r}.")
        return self._cells / key[:2] / f"{key}{suffix}"


class PackedStore:
    """The records of a store in one compressed file that is read and never written to."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.folder = Path(path).expanduser()
        try:
            unpacker = lzma.LZMADecompressor(memlimit=MAX_DICTIONARY)
            text = unpacker.decompress(read_regular(self.folder, MAX_PACKED), max_length=MAX_PACKED)
            if not unpacker.eof:
                raise ValueError(f"it breaks off, or unpacks to more than {MAX_PACKED:,} bytes")
            records = [json.loads(line) for line in text.decode().split("\n") if line]
        except (OSError, ValueError, RecursionError, lzma.LZMAError) as error:
            raise StoreError(f"{self.folder} is not a packed store: {error}") from error
        for record in records:
            key = record.get("key") if isinstance(record, dict) else None
            if not isinstance(key, str) or not _is_record(record, key):
                raise StoreError(f"{self.folder} is damaged: the record {key} is not whole.")
            del record[CHECKSUM]
        self._records = {record["key"]: record for record in records}

    def get(self, key: str) -> Record | None:
        """Return the record of a cell, or None where there is none."""
        return self._records.get(key)

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records.values())


Records = Store | PackedStore  # where records are read from


def pack(stores: Iterable[Iterable[Record]], path: str | os.PathLike[str]) -> int:
    """Write the records of stores into one file, and return their number.

    Of two records of a cell the later store's counts. The name of the host is left out, and the
    same records give the same bytes.
    """
    found = {record["key"]: record for store in stores for record in store}
    lines = []
    for _, record in sorted(found.items()):
        own = {name: value for name, value in record.items() if name != "host"}
        lines.append(f"{json.dumps({**own, CHECKSUM: _checksum(own)}, separators=(',', ':'))}\n")
    text = lzma.compress("".join(lines).encode(), preset=9)
    write_atomically(Path(path), lambda part: part.write_bytes(text))
    return len(lines)


def open_store(path: str | os.PathLike[str]) -> Records:
    """Open a folder of records, or the file that they were packed into, to read them."""
    return PackedStore(path) if os.path.isfile(path) else Store(path)


def _is_key(text: str) -> bool:
    return re.fullmatch("[0-9a-f]{64}", text) is not None


def _is_record(found: Any, key: str) -> bool:
    return (
        isinstance(found, dict)
        and found.get("key") == key
        and found.get(CHECKSUM) == _checksum(found)
        and found.get("status") in ("done", "failed")
        and isinstance(found.get("scores"), list)
        and all(_is_score(score) for score in found["scores"])
        and isinstance(found.get("seconds"), float)
        and all(fits(found[name]) for name, fits in _FIELDS.items() if name in found)
        and _is_error(found.get("error"), found["status"])
    )


def _is_error(found: Any, status: str) -> bool:
    if status == "done":
        return found is None
    return isinstance(found, dict) and _is_text(found.get("type"), found.get("message"))


def _is_score(found: Any) -> bool:
    if not isinstance(found, dict) or not isinstance(found.get("setting"), dict):
        return False
    if any(isinstance(value, dict | list) for value in found["setting"].values()):
        return False
    if "error" in found:
        return isinstance(found["error"], str)
    known = [found[name] for name in ("correct", "total", "r2", "seconds") if name in found]
    return all(map(_is_number, known)) and found.get("total", 1) >= 1


def _is_number(found: Any) -> bool:
    """Tell a number of JSON that is also one of the machine's."""
    return isinstance(found, int | float) and not isinstance(found, bool) and abs(found) < 1e300


def _is_text(*found: Any) -> bool:
    return all(isinstance(each, str) for each in found)


_FIELDS: dict[str, Callable[[Any], bool]] = {
    "cell": lambda found: isinstance(found, dict),
    "seconds": _is_number,
    "cpu_seconds": _is_number,
    "peak_bytes": lambda found: found is None or _is_number(found),
    "warnings": lambda found: isinstance(found, list) and _is_text(*found),
    "versions": lambda found: isinstance(found, dict) and _is_text(*found.values()),
    "finished": _is_text,
    "machine": _is_text,
}
"""What the fields of a record hold, where they are there."""


def _checksum(record: Record) -> str:
    """SHA-256 of a record without its checksum; it guards against damage, not against malice."""
    content = {name: value for name, value in record.items() if name != CHECKSUM}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _lock_file(path: Path, *, wait: bool) -> int | None:
    """Lock a file, made if missing, and return its descriptor; None where nothing can be locked.

    Whoever holds the lock removes the file before letting go. A process that opened the file just
    before then gets the lock on a file that is not there any more, which locks nobody out, and
    has to open the new one.
    """
    while True:
        lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(lock), path.stat()):
                    return lock
        except BaseException as error:
            os.close(lock)
            if isinstance(error, OSError) and error.errno in LOCKS_UNKNOWN:
                path.unlink(missing_ok=True)
                warnings.warn(
                    f"the file system of {path.parents[2]} knows no locks: two runs on this folder "
                    "at the same time would do the same cells twice. Start one at a time.",
                    stacklevel=2,
                )
                return None
            raise
        os.close(lock)


def _cannot_write(path: Path, error: OSError) -> StoreError:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    remedy = "Make room on the disk" if full else "See that the folder can be written"
    reason = os.strerror(error.errno or errno.EIO)
    return StoreError(
        f"cannot write {path}: {reason}. {remedy} and run again: the records that are there are "
        "whole, and their cells are not done again."
    )
