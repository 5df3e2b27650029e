"""Measure what self-training costs beside one fit of SCA, in CPU seconds, and how good it is.

    SKATTER_DATA=FOLDER python benchmarks/self_training.py [--out FOLDER]

MNIST and USPS of Long et al., 3,800 samples. Fits take turns, so that a slow moment of the machine
hits all alike; the median of each is shown. Accuracies are those of the defaults, and of the
defaults without the structured classifier where it was asked.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from problems import machine
from skatter import SCA, SCAClassifier
from skatter_bench.suites import get_suite
from skatter_bench.tasks import Task, load_problem

TURNS = 3
SUITES = ("table1", "table1-draws", "digits", "table2", "office-effnet", "amazon-400", "tables")
ALONE = "table1"
"""The suite whose tasks are shown one by one; of others, the mean."""


def n_solved(model: SCAClassifier) -> int:
    """Count the rounds of all candidates, apart and together."""
    apart = sum(len(each.rounds) for each in model.candidates_)
    return apart + len(model.rounds_together_) * len({each.scaling for each in model.candidates_})


@dataclass(frozen=True)
class Outcome:
    """Percent of the target's samples predicted right, nothing tuned."""

    right: float
    without: float
    asked: bool


def outcome(task: Task) -> Outcome:
    problem = load_problem(task)
    known = np.isin(np.arange(len(problem.y)), problem.labelled)
    X, domain = problem.X[problem.test], problem.domain[problem.test]

    def fitted(**options: Any) -> tuple[SCAClassifier, float]:
        model = SCAClassifier(**options)
        model.fit(problem.X, problem.y, sample_domain=problem.domain, labelled=known)
        return model, 100 * float(model.score(X, problem.y[problem.test], sample_domain=domain))

    model, right = fitted()
    return Outcome(
        right, fitted(structured=False)[1] if model.structured_ else right, model.structured_
    )


def rows_of(suite: str) -> Iterator[str]:
    """Yield a row for each task that is shown alone, or one for the suite."""
    found = {task: outcome(task) for task in get_suite(suite).tasks}
    if suite == ALONE:
        for task, each in found.items():
            yield f"| {suite} | {task.name} | {each.right:.2f} | {each.without:.2f} | |"
        return
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for task, each in found.items():
        groups[task.group].append(each)
    means = [
        np.mean([np.mean([getattr(each, name) for each in own]) for own in groups.values()])
        for name in ("right", "without")
    ]
    gains = [each.right - each.without for each in found.values() if each.asked]
    words = f"{len(gains)}: {min(gains):+.1f} to {max(gains):+.1f}" if gains else "0"
    name = f"mean of {len(found)}" + (f", {len(groups)} tables alike" if len(groups) > 1 else "")
    yield f"| {suite} | {name} | {means[0]:.2f} | {means[1]:.2f} | {words} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="folder of self_training.md")
    options = parser.parse_args()
    problem = load_problem(get_suite("table1").tasks[1])
    labelled = np.zeros(len(problem.y), dtype=bool)
    labelled[problem.labelled] = True
    models: dict[str, Any] = {
        "SCA": SCA(),
        "one candidate": SCAClassifier(ridges=[1e-3], scalings=["none"]),
        "SCAClassifier": SCAClassifier(),
    }
    seconds: dict[str, list[float]] = {name: [] for name in models}
    for _ in range(TURNS):
        for name, model in models.items():
            start = process_time()
            model.fit(problem.X, problem.y, sample_domain=problem.domain, labelled=labelled)
            seconds[name].append(process_time() - start)
    lines = [
        "# What self-training costs",
        "",
        f"Made by `benchmarks/self_training.py`. {machine()}; one BLAS thread; "
        f"{len(problem.y):,} samples, CPU seconds of a fit, median of {TURNS}.",
        "",
        "| fit | rounds | seconds | times one fit of SCA |",
        "| :--- | ---: | ---: | ---: |",
    ]
    one = float(np.median(seconds["SCA"]))
    for name, model in models.items():
        took = float(np.median(seconds[name]))
        rounds = n_solved(model) if isinstance(model, SCAClassifier) else 0
        lines.append(f"| {name} | {rounds} | {took:.2f} | {took / one:.1f} |")
    lines += [
        "",
        "# How good it is",
        "",
        "Percent right, also without the structured classifier; of the tasks on which that was "
        "asked, the number, and the smallest and the largest gain.",
        "",
        "| suite | task | % right | without | asked |",
        "| :--- | :--- | ---: | ---: | ---: |",
    ]
    for suite in SUITES:
        lines += rows_of(suite)
    print("\n".join(lines))
    if options.out is not None:
        (options.out / "self_training.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
