"""The files and the folder that a command writes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import typer

from skatter._files import write_atomically
from skatter._formatting import percent
from skatter.adaptation._words import Counts, count_added, join_counts
from skatter.tables import TableError, check_target, table_kind

if TYPE_CHECKING:
    import pandas as pd

STANDARD = "-"  # standard input or output

Job = tuple[Path, Callable[[Path], object]]


def prepare_folder(path: Path) -> Path:
    if path.exists() and not path.is_dir():
        raise _bad_out(f"{path} exists and is not a folder; choose another path.")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _bad_out(f"cannot create the folder {path}: {error.strerror}.") from error
    if not os.access(path, os.W_OK):
        raise _bad_out(f"the folder {path} is not writable; choose another path.")
    return path


def _bad_out(reason: str) -> typer.BadParameter:
    return typer.BadParameter(reason, param_hint="--out")


def check_outputs(targets: dict[str, Any], *, force: bool) -> dict[str, Path]:
    """Check that all files can be written, before any work; return those that are asked for."""
    paths: dict[str, Path] = {}
    for name, target in targets.items():
        if target is None or str(target) == STANDARD:
            continue
        path = check_target(target, force=force, name=name)
        if any(path.resolve() == other.resolve() for other in paths.values()):
            raise TableError(f"{name}: {path} is named twice; give each output its own file.")
        paths[name] = path
    if "--out" in paths:
        table_kind(paths["--out"])
    return paths


def write_together(jobs: Sequence[Job], last: Callable[[], object]) -> None:
    """Write several files: all of them are complete before the first one gets its name."""
    if not jobs:
        last()
        return
    (path, write), *others = jobs

    def write_this_then_others(part: Path) -> None:
        write(part)
        write_together(others, last)

    write_atomically(path, write_this_then_others)


class PieceByPiece:
    """Makes new columns for each piece of a large table; says how far it is, and counts classes."""

    def __init__(
        self, add: Callable[[pd.DataFrame], pd.DataFrame], n_rows: int, say: Callable[[str], None]
    ) -> None:
        self._add, self._n_rows, self._say = add, n_rows, say
        self._counts: list[Counts] = []
        self._start = perf_counter()

    def __call__(self, piece: pd.DataFrame) -> pd.DataFrame:
        self._say(f"predicting all rows: {percent(piece.index[0] / self._n_rows)} done")
        added = self._add(piece)
        self._counts.append(count_added(added))
        return added

    @property
    def counts(self) -> Counts | None:
        return join_counts(self._counts) or None

    @property
    def seconds(self) -> float:
        return perf_counter() - self._start
