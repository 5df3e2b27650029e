"""How far a stream has been read: nothing, a bar, or a line for each pass."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING

from skatter.checks import check_choice
from skatter.formatting import duration
from skatter.pieces.chunks import Chunk

if TYPE_CHECKING:
    from rich.progress import Progress


class Silent:
    """Shows nothing."""

    def __init__(self, n_passes: int) -> None:
        self._n_passes = n_passes
        self._number = 0

    def follow(
        self, chunks: Iterable[Chunk], name: str, n_rows: int | None = None
    ) -> Iterator[Chunk]:
        """Yield chunks, and show how far the pass has come."""
        self._number += 1
        yield from self._watched(chunks, f"pass {self._number} of {self._n_passes}, {name}", n_rows)

    def _watched(self, chunks: Iterable[Chunk], title: str, n_rows: int | None) -> Iterator[Chunk]:
        yield from chunks


class Lines(Silent):
    """Writes a line at the end of each pass."""

    def _watched(self, chunks: Iterable[Chunk], title: str, n_rows: int | None) -> Iterator[Chunk]:
        start, done = perf_counter(), 0
        for chunk in chunks:
            yield chunk
            done += chunk.n_rows
        seconds = perf_counter() - start
        rate = done / max(seconds, 1e-9)
        print(
            f"{title}: {done:,} rows in {duration(seconds)} ({rate:,.0f} rows/s)",
            file=sys.stderr,
            flush=True,
        )


class Bars(Silent):
    """Draws a bar for each pass: rows done, rate and time left."""

    def __init__(self, n_passes: int, progress: Progress) -> None:
        super().__init__(n_passes)
        self._progress = progress

    def _watched(self, chunks: Iterable[Chunk], title: str, n_rows: int | None) -> Iterator[Chunk]:
        task, start, done = self._progress.add_task(title, total=n_rows, rate=""), perf_counter(), 0
        for chunk in chunks:
            yield chunk
            done += chunk.n_rows
            rate = done / max(perf_counter() - start, 1e-9)
            self._progress.update(task, completed=done, rate=f"{rate:,.0f} rows/s")
        self._progress.update(task, total=done)


@contextmanager
def show(progress: bool | None, n_passes: int) -> Iterator[Silent]:
    """Choose a display."""
    check_choice("progress", progress, (None, True, False))
    terminal = sys.stderr.isatty()
    if not (terminal if progress is None else progress):
        yield Silent(n_passes)
        return
    bars = _bars() if terminal else None
    if bars is None:
        yield Lines(n_passes)
        return
    with bars:
        yield Bars(n_passes, bars)


def _bars() -> Progress | None:
    """Return the bars of rich, where it is installed."""
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
    except ImportError:
        return None
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} rows"),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        console=Console(file=sys.stderr),
    )
