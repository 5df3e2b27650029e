"""How far a stream has been read: nothing, a bar, or a line for each pass."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING

from skatter._checks import check_choice
from skatter._formatting import duration
from skatter.pieces._chunks import Chunk

if TYPE_CHECKING:
    from rich.progress import Progress


class Display:
    def __init__(self, n_passes: int, *, bars: Progress | None = None, lines: bool = False) -> None:
        self._n_passes, self._number = n_passes, 0
        self._bars, self._lines = bars, lines

    def follow(
        self, chunks: Iterable[Chunk], name: str, n_rows: int | None = None
    ) -> Iterator[Chunk]:
        self._number += 1
        title = f"pass {self._number} of {self._n_passes}, {name}"
        bar = None if self._bars is None else self._bars.add_task(title, total=n_rows, rate="")
        start, done, rate = perf_counter(), 0, "0 rows/s"
        for chunk in chunks:
            yield chunk
            done += chunk.n_rows
            rate = f"{done / max(perf_counter() - start, 1e-9):,.0f} rows/s"
            if self._bars is not None and bar is not None:
                self._bars.update(bar, completed=done, rate=rate)
        if self._bars is not None and bar is not None:
            self._bars.update(bar, total=done)
        elif self._lines:
            seconds = duration(perf_counter() - start)
            print(f"{title}: {done:,} rows in {seconds} ({rate})", file=sys.stderr, flush=True)


@contextmanager
def show(progress: bool | None, n_passes: int) -> Iterator[Display]:
    check_choice("progress", progress, (None, True, False))
    terminal = sys.stderr.isatty()
    if not (terminal if progress is None else progress):
        yield Display(n_passes)
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
    except ImportError:
        terminal = False
    if not terminal:
        yield Display(n_passes, lines=True)
        return
    said = ("{task.description}", "{task.completed:,.0f} rows", "{task.fields[rate]}")
    title, *figures = map(TextColumn, said)
    columns = (title, BarColumn(), *figures, TimeRemainingColumn())
    with Progress(*columns, console=Console(file=sys.stderr)) as bars:
        yield Display(n_passes, bars=bars)
