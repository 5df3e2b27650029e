"""Cells: the independent pieces of work that a benchmark is made of."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import chain
from typing import Any

from skatter_bench.contestants import Contestant
from skatter_bench.protocols import split
from skatter_bench.scoring import Score, fit_of, score_settings
from skatter_bench.tasks import Task, load_problem

EDITION = 1
"""Of the methods' results: records of another edition do not count. Raise it where they change."""
FITS = 8  # most fits in one cell, so that none runs for long


@dataclass(frozen=True, eq=False)
class Cell:
    """One task, contestant, fold and batch of settings; the seed is of folds and of the method."""

    task: Task
    contestant: Contestant
    settings: tuple[Mapping[str, Any], ...]
    fold: str
    seed: int

    @property
    def label(self) -> str:
        """Short text for people who watch."""
        return f"{self.task.dataset} {self.task.name}, {self.contestant.label}, {self.fold}"

    def spec(self) -> dict[str, Any]:
        """Return everything about this cell as plain values."""
        who = {name: getattr(self.contestant, name) for name in ("name", "classifier", "estimator")}
        return {
            "task": asdict(self.task),
            "contestant": {**who, "fixed": dict(self.contestant.fixed)},
            "settings": [dict(values) for values in self.settings],
            "fold": self.fold,
            "seed": self.seed,
        }

    @cached_property
    def key(self) -> str:
        """SHA-256 of what decides the result: names that people read do not count."""
        spec = self.spec()
        for shown in ("name", "group", "n_classes"):
            del spec["task"][shown]
        del spec["contestant"]["name"]
        text = json.dumps({**spec, "edition": EDITION}, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def cells(task: Task, contestant: Contestant, fold: str, seed: int) -> list[Cell]:
    """Return the cells that score all settings of a contestant on one fold of a task."""
    batches: list[dict[tuple[Any, ...], list[Mapping[str, Any]]]] = [{}]
    for values in contestant.settings(task):
        fit = fit_of(contestant, values)
        batch = next((each for each in batches if fit in each), batches[-1])
        if fit not in batch and len(batch) == FITS:
            batch = {}
            batches.append(batch)
        batch.setdefault(fit, []).append(values)
    return [Cell(task, contestant, tuple(chain(*batch.values())), fold, seed) for batch in batches]


def run_cell(cell: Cell, data_home: str | None = None) -> list[Score]:
    """Compute a cell."""
    problem = load_problem(cell.task, data_home)
    rows = split(problem, cell.fold, cell.seed)
    return score_settings(cell.contestant, cell.settings, problem, rows, cell.seed)
