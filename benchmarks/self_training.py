"""Measure what self-training costs beside one fit of SCA, in CPU seconds, and how good it is.

    SKATTER_DATA=FOLDER python benchmarks/self_training.py [--out FOLDER]

MNIST and USPS of Long et al., 3,800 samples. Fits take turns, so that a slow moment of the machine
hits all alike; the median of each is shown. Accuracies are those of the defaults on four suites.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from problems import machine
from skatter import SCA, SCAClassifier
from skatter_bench.suites import get_suite
from skatter_bench.tasks import Task, load_problem

TURNS = 3
SUITES = ("table1", "table2", "office-effnet", "amazon-400")
ALONE = "table1"
"""The suite whose tasks are shown one by one; of others, the mean."""


def n_solved(model: SCAClassifier) -> int:
    """Count the rounds of all candidates, apart and together."""
    apart = sum(len(each.rounds) for each in model.candidates_)
    return apart + len(model.rounds_together_) * len({each.scaling for each in model.candidates_})


def accuracy(task: Task) -> float:
    """Percent of the target's samples predicted right, nothing tuned."""
    problem = load_problem(task)
    known = np.isin(np.arange(len(problem.y)), problem.labelled)
    model = SCAClassifier().fit(problem.X, problem.y, sample_domain=problem.domain, labelled=known)
    X, domain = problem.X[problem.test], problem.domain[problem.test]
    return 100 * float(model.score(X, problem.y[problem.test], sample_domain=domain))


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
    lines += ["", "# How good it is", "", "| suite | task | % right |", "| :--- | :--- | ---: |"]
    for suite in SUITES:
        scores = {task.name: accuracy(task) for task in get_suite(suite).tasks}
        mean = {f"mean of {len(scores)}": float(np.mean(list(scores.values())))}
        shown = scores if suite == ALONE else mean
        lines += [f"| {suite} | {name} | {score:.2f} |" for name, score in shown.items()]
    print("\n".join(lines))
    if options.out is not None:
        (options.out / "self_training.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
