"""The numbers that the SCA paper prints, and what it calls our contestants.

They stand in ``published.json`` as printed: tables 1 to 10 and the accuracies of figure 1. Averages
are recomputed from the rows wherever they are shown, because some printed ones disagree with
their own row. ``published_skada.json`` holds those of SKADA-Bench in the same format.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Literal

import numpy as np

Unit = Literal["percent", "seconds"]
Mark = Literal["best", "second", ""]
FILES = ("published.json", "published_skada.json")
ROUNDING = 0.01
"""How far a printed average may lie from the mean of its row: half a unit of the last printed
digit for the average itself, and as much for the values that it was taken of."""
NAMES: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("raw", "1nn"): ("Raw", "1NN", "1-NN"),
    ("raw", "svm"): ("L-SVM",),
    ("raw", "dam"): ("DAM",),
    ("dam", "own"): ("DAM",),
    **{
        (name, "1nn"): (name.upper(),)
        for name in ("kpca", "tca", "sstca", "gfk", "tsc", "sa", "tjm", "uml", "dica")
    },
    **{(f"usca{variant}", "1nn"): ("uSCA",) for variant in ("", "-printed", "-printed-unscaled")},
    **{
        (f"sca{v}", "1nn"): ("SCA",) for v in ("", "-printed", "-printed-unit", "-printed-unscaled")
    },
    ("undo-bias", "own"): ("Undo-Bias",),
    ("undo-bias", "sets"): ("Undo-Bias",),
    ("lre-svm", "own"): ("LRE-SVM",),
}
"""What tables of the paper call a contestant (method and classifier); names differ by table."""


@dataclass(frozen=True)
class Published:
    """One table of the paper, or the accuracies of one of its figures.

    ``values`` are as printed, by method and task (tables 4, 5 and 10: groups of tasks), as are
    ``averages``, ``marks`` (best and second by task) and ``summary``, the margins of table 6.
    ``n_test`` has test samples by task.
    """

    key: str
    caption: str
    unit: Unit
    setting: str
    tuned_on_target: bool
    values: Mapping[str, Mapping[str, float]]
    citation: str
    averages: Mapping[str, float] = field(default_factory=dict)
    marks: Mapping[str, Mapping[str, list[str]]] = field(default_factory=dict)
    n_test: Mapping[str, int] = field(default_factory=dict)
    summary: Mapping[str, Mapping[str, float | str]] = field(default_factory=dict)

    @property
    def methods(self) -> tuple[str, ...]:
        """Methods in the order of the table."""
        return tuple(self.values)

    @property
    def tasks(self) -> tuple[str, ...]:
        """Tasks, or groups of tasks, in the order of the table."""
        return tuple(next(iter(self.values.values())))

    def value(self, method: str, task: str) -> float | None:
        """Return the printed number; None where the table has no such method or task."""
        return self.values.get(method, {}).get(task)

    def mark(self, method: str, task: str) -> Mark:
        """Return how the paper marks a number, which is not always how it should."""
        marked = self.marks.get(task, {})
        if method in marked.get("best", []):
            return "best"
        return "second" if method in marked.get("second", []) else ""

    def average(self, method: str) -> float:
        """Return the mean of a method's row."""
        return float(np.mean(list(self.values[method].values())))

    def misprinted_averages(self) -> dict[str, tuple[float, float]]:
        """Return printed average and mean of the row where they differ by more than rounding."""
        pairs = {name: (printed, self.average(name)) for name, printed in self.averages.items()}
        return {name: pair for name, pair in pairs.items() if abs(pair[0] - pair[1]) > ROUNDING}

    def name_of(self, contestant: str, classifier: str) -> str | None:
        """Return what this table calls a contestant; None where it has no such row."""
        names = NAMES.get((contestant, classifier), ())
        return next((name for name in names if name in self.values), None)


def published(key: str) -> Published:
    """Return one table of the paper, or of SKADA-Bench."""
    tables = _read()
    if key not in tables:
        raise ValueError(f"published must be one of {', '.join(tables)}, got {key!r}.")
    return tables[key]


@cache
def _read() -> dict[str, Published]:
    found = {}
    for name in FILES:
        content = json.loads(files("skatter_bench").joinpath(name).read_text(encoding="utf-8"))
        for key, table in content["tables"].items():
            found[key] = Published(key=key, citation=content["citation"], **table)
    return found
