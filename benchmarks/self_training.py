"""Measure what self-training costs beside one fit of SCA, in CPU seconds of one process.

    SKATTER_DATA=FOLDER python benchmarks/self_training.py [--out FOLDER]

MNIST and USPS of Long et al., 3,800 samples. Fits take turns, so that a slow moment of the machine
hits all alike; the median of each is shown.
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
from skatter_bench.tasks import load_problem

TURNS = 3


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
        rounds = sum(len(each.rounds) for each in getattr(model, "candidates_", ()))
        lines.append(f"| {name} | {rounds} | {took:.2f} | {took / one:.1f} |")
    print("\n".join(lines))
    if options.out is not None:
        (options.out / "self_training.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
