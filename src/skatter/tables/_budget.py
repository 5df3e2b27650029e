"""What reading a table may cost: bytes, cells, characters of a cell, seconds."""

from __future__ import annotations

import io
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, Any

from skatter.tables._errors import TableError

BLOCK = 1 << 20  # bytes that are read at a time; the clock is looked at in between


@dataclass
class Budget:
    """Limits of one reading, each checked before or while the bytes are read.

    Seconds are the processor's, of the reading thread: a busy machine and a slow pipe cost none.
    They grow with the bytes, so that a small file ends soon and a large one in its time.
    """

    name: str
    n_bytes: int = 4 << 30
    n_cells: int = 1 << 29  # each takes eight bytes or more
    longest_cell: int = 1 << 21  # characters; csv takes 1 << 17 within quotes
    ratio: int = 200
    small: int = 256 << 20  # any file may unpack to that: a table of zeros packs well
    seconds: float = 5.0
    seconds_per_block: float = 1.0
    start: float = field(default_factory=time.thread_time)

    def restart(self) -> None:
        self.start = time.thread_time()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop the clock: whoever works on a piece of the table does not read."""
        before = time.thread_time()
        yield
        self.start += time.thread_time() - before

    def check_bytes(self, unpacked: int, packed: int) -> None:
        if unpacked > self.n_bytes:
            self._refuse(f"holds more than {self.n_bytes >> 30} GiB unpacked")
        if unpacked > self.small and unpacked > self.ratio * packed:
            raise TableError(
                f"{self.name}: unpacks to more than {self.ratio} times its {packed:,} bytes, which "
                "no usual table does; if you trust it, save it without compression."
            )

    def check_cells(self, n_rows: int, n_columns: int) -> None:
        if n_rows * n_columns > self.n_cells:
            size = f"{n_rows:,} rows of {n_columns:,} columns"
            self._refuse(f"{size} hold more than {self.n_cells:,} cells")

    def check_cell(self, n_characters: int, where: str) -> None:
        if n_characters > self.longest_cell:
            self._refuse(f"{where} has a cell of more than {self.longest_cell:,} characters")

    def check_time(self, done: int) -> None:
        allowed = self.seconds + self.seconds_per_block * done / BLOCK
        if time.thread_time() - self.start > allowed:
            self._refuse(f"takes more than {allowed:.0f} s to read")

    def _refuse(self, what: str) -> None:
        raise TableError(f"{self.name}: {what}; give a smaller table.")


class Metered(io.RawIOBase):
    """A file that looks at the clock whenever it is read."""

    def __init__(self, file: IO[bytes], budget: Budget, size: int) -> None:
        self._file, self._budget, self._size = file, budget, size

    def readinto(self, buffer: Any) -> int:
        self._budget.check_time(self._size)
        found = self._file.read(len(buffer))
        buffer[: len(found)] = found
        return len(found)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True
