"""List the tasks on which a method with its defaults is beaten by plain samples.

    SUITES="table1 table2 office-effnet office-googlenet amazon-400 digits"
    skatter bench run $SUITES --methods raw,sca,sca-classifier --protocol defaults --store FOLDER
    python benchmarks/below_raw.py FOLDER [--docs PAGE]

Nothing is tuned on either side. SCA with the nearest neighbour stands beside the nearest neighbour
on plain samples; SCAClassifier beside that and beside the best of the nearest neighbour, a linear
SVM and logistic regression on plain samples, which nobody can know without target labels.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from criteria import insert
from skatter_bench.results import Outcome, outcomes
from skatter_bench.store import Store
from skatter_bench.suites import SUITES

NAMES = ("table1", "table2", "office-effnet", "office-googlenet", "amazon-400", "digits")
SAME = 1.0
"""Points that are not called a loss."""
NEAREST = "raw + 1NN"
N_ROWS = 5
"""Three plain classifiers and the two of ours: what a finished task has."""

Scores = dict[str, float]
"""Accuracy by row of the table."""


def read(store: Store) -> dict[tuple[str, str], Scores]:
    """Return what is finished, by group and task."""
    found: dict[tuple[str, str], Scores] = {}
    for name in NAMES:
        suite = SUITES[name]
        rows = suite.contestants("defaults", names=["raw", "sca", "sca-classifier"])
        for each in outcomes(suite, rows, "defaults", store):
            found.setdefault(_place(suite.title, each), {})[each.label] = each.accuracy
    return {place: scores for place, scores in found.items() if len(scores) == N_ROWS}


def _place(title: str, outcome: Outcome) -> tuple[str, str]:
    return title.partition(": ")[2] or title, outcome.task


def rival(scores: Scores, *, best: bool) -> str:
    """Return the plain classifier to compare with: the best of three, or the nearest neighbour."""
    plain = {row: score for row, score in scores.items() if row.startswith("raw")}
    return max(plain, key=plain.__getitem__) if best else NEAREST


def compared(found: dict[tuple[str, str], Scores], ours: str, *, best: bool) -> list[str]:
    """Return what one of ours gains, and a line for each task on which it loses."""
    gains, below = [], []
    for (group, task), scores in found.items():
        row = rival(scores, best=best)
        gains.append(scores[ours] - scores[row])
        if gains[-1] < -SAME:
            cells = (group, task, f"{scores[ours]:.2f}", row, f"{scores[row]:.2f}")
            below.append(f"| {' | '.join(cells)} | {gains[-1]:+.2f} |")
    who = "the best of three plain classifiers" if best else "the plain nearest neighbour"
    heading = [
        "| suite | task | ours | plain | its accuracy | difference |",
        "| :--- | :--- | ---: | :--- | ---: | ---: |",
    ]
    return [
        f"**{ours} beside {who}**: {np.mean(gains):+.2f} points on average; more than a point "
        f"below on {len(below)} of {len(found)} tasks.",
        "",
        *(heading if below else ()),
        *below,
        "",
    ]


def table(found: dict[tuple[str, str], Scores]) -> list[str]:
    return [
        f"{len(found)} tasks; defaults on both sides, nothing tuned.",
        "",
        *compared(found, "sca + 1NN", best=False),
        *compared(found, "sca-classifier", best=False),
        *compared(found, "sca-classifier", best=True),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", type=Path, help="folder of finished results")
    parser.add_argument("--docs", type=Path, help="page that holds the list")
    options = parser.parse_args()
    lines = table(read(Store(options.store)))
    print("\n".join(lines))
    if options.docs is not None:
        insert(options.docs, "below raw", lines, "below_raw")


if __name__ == "__main__":
    main()
