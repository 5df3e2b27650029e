"""Which of two models is better? Labels drawn where they disagree, beside labels drawn at random.

    python benchmarks/asking.py [--out FOLDER] [--repetitions 20]

The models are those of ``skatter adapt``, the champion and the hedge, on the everyday tables of
``benchmarks/trust.py``: what they predict and the truth are in ``benchmarks/results/trust.npz``.

Each repetition draws rows by :func:`skatter.selection._asking.pick_rows_to_label`, looks up their
labels, and asks :func:`skatter.selection._asking.judge_answers`. The right model is the one that is
more accurate on all rows of the target; a tie counts a half. Labels drawn at random name the model
that is right more often.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from problems import machine
from skatter.selection._asking import LabelSheet, LabelVerdict, judge_answers, pick_rows_to_label
from trust import TABLES, Outcome, outcomes

N_LABELS = 40
AT_RANDOM = (40, 60, 80, 100, 120, 160, 200, 240, 320)
CLEARLY = 0.05
"""Difference in accuracy from which a task has a right answer that matters."""

Array = Any
Drawn = tuple[LabelSheet, Any]
"""Rows to label, and the answers."""


@dataclass(frozen=True)
class Task:
    """What two models predict for the target's rows, how sure the hedge is, and the truth."""

    name: str
    y: Array
    predictions: dict[str, Array]
    confidence: Array

    @classmethod
    def of(cls, found: Outcome) -> Task:
        """Take the champion's classes, and the hedge's with its probabilities."""
        predictions = {"champion": found.plain, "hedge": found.hedge}
        name = f"{found.record['set']}, {found.record['task']}"
        return cls(name, found.truth, predictions, found.pooled.max(axis=1))

    @cached_property
    def whole(self) -> LabelSheet:
        """All rows."""
        return pick_rows_to_label(self.predictions, len(self.y), confidence=self.confidence)

    @cached_property
    def accuracy(self) -> dict[str, float]:
        """True accuracy of each model."""
        return {name: float(np.mean(each == self.y)) for name, each in self.predictions.items()}

    @property
    def gain(self) -> float:
        """Accuracy of the hedge minus that of the champion."""
        return self.accuracy["hedge"] - self.accuracy["champion"]

    @property
    def is_clear(self) -> bool:
        """Whether one model is clearly better."""
        return abs(self.gain) >= CLEARLY - 1e-9


# --- one repetition -------------------------------------------------------------------------------


def asked(task: Task, seed: int) -> Drawn:
    """Return the rows that the library asks for, and their labels."""
    sheet = pick_rows_to_label(
        task.predictions, N_LABELS, confidence=task.confidence, random_state=seed
    )
    return sheet, task.y[sheet.rows]


def at_random(task: Task, seed: int) -> Drawn:
    """Return a sheet of all rows, and the labels of a few drawn at random."""
    rows = np.random.default_rng(seed).permutation(len(task.y))[:N_LABELS]
    return task.whole, {int(row): task.y[row] for row in rows}


def outcome(task: Task, verdict: LabelVerdict) -> dict[str, float]:
    """Compare a verdict with the truth."""
    truth = task.accuracy
    gap = truth[verdict.best] - truth[verdict.runner_up]
    right = 0.5 if abs(verdict.difference.value) < 1e-12 else float(gap > 0)
    decided = verdict.verdict == "decided"
    spans = [verdict.accuracy[name] for name in truth]
    return {
        "named": right,
        "decided": float(decided),
        "decided wrongly": float(decided and gap < -1e-12),
        "accuracy covered": np.mean([inside(verdict.accuracy[k], truth[k]) for k in truth]),
        "accuracy width": np.mean([each.high - each.low for each in spans]),
        "difference covered": inside(verdict.difference, gap),
        "difference width": verdict.difference.high - verdict.difference.low,
        "further labels": verdict.n_more,
    }


def inside(estimate: Any, truth: float) -> float:
    return float(estimate.low - 1e-9 <= truth <= estimate.high + 1e-9)


def judged(task: Task, draw: Callable[[Task, int], Drawn], n: int) -> dict[str, float]:
    """Return the mean outcome over repetitions."""
    found = [outcome(task, judge_answers(*draw(task, seed))) for seed in range(n)]
    return {key: float(np.mean([each[key] for each in found])) for key in found[0]}


def majority(task: Task, n_labels: int, n: int) -> float:
    """Return how often the right model is right more often among labels drawn at random."""
    right = {name: each == task.y for name, each in task.predictions.items()}
    gain = (right["hedge"].astype(int) - right["champion"]) * np.sign(task.gain)
    drawn = [np.random.default_rng(s).permutation(gain)[:n_labels].sum() for s in range(n)]
    return float(np.mean(np.sign(drawn) + 1) / 2)


def study(task: Task, n: int) -> dict[str, Any]:
    table = np.array(list(task.predictions.values()))
    return {
        "rows": len(task.y),
        "disagree": float(np.mean(table[0] != table[1])),
        "gain": task.gain,
        "clear": task.is_clear,
        "left over": bool(np.sum(table[0] != table[1]) > np.sum(asked(task, 0)[0].stratum == 0)),
        "asked": judged(task, asked, n),
        "random": judged(task, at_random, n),
        "majority": {str(m): majority(task, m, n) for m in AT_RANDOM} if task.is_clear else {},
    }


# --- the tables -----------------------------------------------------------------------------------


def mean(tasks: list[dict[str, Any]], draw: str, key: str) -> float:
    return float(np.mean([task[draw][key] for task in tasks]))


def as_good(clear: list[dict[str, Any]]) -> str:
    """Say how many labels at random name the right model as often."""
    asked = mean(clear, "asked", "named")
    enough = [m for m in AT_RANDOM if mean(clear, "majority", str(m)) >= asked]
    how_many = f"{enough[0]}" if enough else f"more than {AT_RANDOM[-1]}"
    return f"At random it takes {how_many} labels to name it as often."


def naming(tasks: list[dict[str, Any]]) -> list[str]:
    """Return the table of how often the right model is named."""
    clear = [task for task in tasks if task["clear"]]
    rows = [f"| {N_LABELS}, asked for | {mean(clear, 'asked', 'named'):.1%} |"]
    rows += [f"| {m}, at random | {mean(clear, 'majority', str(m)):.1%} |" for m in AT_RANDOM]
    return [
        f"{len(clear)} of {len(tasks)} tasks, in which accuracies differ by "
        f"{100 * CLEARLY:.0f} points or more:",
        "",
        "| labels | the right model is named |",
        "| ---: | ---: |",
        *rows,
        "",
        as_good(clear),
    ]


def intervals(tasks: list[dict[str, Any]]) -> list[str]:
    """Return the table of coverage, width and decisions, by how far accuracies differ."""
    groups = {
        "all tasks": tasks,
        "5 points or more": [task for task in tasks if task["clear"]],
        "2 to 5 points": [t for t in tasks if abs(t["gain"]) >= 0.02 and not t["clear"]],
        "less than 2 points": [task for task in tasks if abs(task["gain"]) < 0.02],
        "any, with rows in dispute left over": [t for t in tasks if t["left over"]],
    }
    keys = ("named", "decided", "decided wrongly", "accuracy covered", "accuracy width")
    keys += ("difference covered", "difference width")
    lines = [
        f"| tasks that differ by | {N_LABELS} labels | {' | '.join(keys)} |",
        "| :--- | :--- |" + " ---: |" * len(keys),
    ]
    for name, group in groups.items():
        for draw in ("asked", "random") if group else ():
            cells = " | ".join(f"{mean(group, draw, key):.1%}" for key in keys)
            lines.append(f"| {name} ({len(group)}) | {draw} | {cells} |")
    return ["Verdicts at a probability of 95 %, and intervals of 90 %:", "", *lines]


def write(folder: Path, results: dict[str, Any], n: int) -> None:
    tasks = list(results.values())
    lines = ["# A few labels settle it", "", f"{n} repetitions of each task. {machine()}.", ""]
    lines += [*naming(tasks), "", *intervals(tasks)]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "asking.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "asking.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print("\n".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    results = Path(__file__).parent / "results"
    parser.add_argument("--out", type=Path, default=results, help="folder for the results")
    parser.add_argument("--repetitions", type=int, default=20)
    options = parser.parse_args()
    found, _ = outcomes()
    chosen = [t for t in found if t.record["suite"] == TABLES and t.metric == "accuracy"]
    studies = {task.name: study(task, options.repetitions) for task in map(Task.of, chosen)}
    write(options.out, studies, options.repetitions)


if __name__ == "__main__":
    main()
