"""Measure what a whole search costs, in single fits.

    python benchmarks/tuning.py [--out FOLDER]

SCACV over 7 β × 5 δ × 20 k × 5 folds, 3,500 settings and 17,500 scored models, beside one fit of
SCA with the largest k. The fit is timed before and after the search; medians of five.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from time import perf_counter

import numpy as np
from threadpoolctl import threadpool_limits

from problems import Problem, digits, gaussian, machine
from skatter import SCA, SCACV
from skatter.selection import BETAS, DELTAS

COMPONENTS = list(range(3, 61, 3))


def fit_seconds(problem: Problem, rounds: int) -> list[float]:
    times = []
    for _ in range(rounds):
        start = perf_counter()
        SCA(max(COMPONENTS), beta=0.5).fit(problem.X, problem.y, sample_domain=problem.domain)
        times.append(perf_counter() - start)
    return times


def search_in_fits(problem: Problem) -> tuple[float, float]:
    before = fit_seconds(problem, 3)
    start = perf_counter()
    SCACV(n_components=COMPONENTS, betas=BETAS, deltas=DELTAS, cv=5).fit(
        problem.X, problem.y, sample_domain=problem.domain
    )
    search = perf_counter() - start
    return search, float(np.median(before + fit_seconds(problem, 2)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="folder for tuning.md")
    out = parser.parse_args().out
    lines = [
        "# Cost of a search\n",
        "Made by `benchmarks/tuning.py`: `SCACV` over 7 beta x 5 delta x 20 k x 5 folds, its "
        f"final fit included, beside one fit of `SCA` with k = 60. {machine()}.\n",
        "| problem | BLAS threads | search, s | one fit, s | search in fits |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    print("\n".join(lines), flush=True)
    for problem in (gaussian(1800, 2000, 256, 10), digits(2000)):
        for n_threads in (1, 2):
            with threadpool_limits(n_threads):
                search, fit = search_in_fits(problem)
            row = (
                f"| {problem.name} | {n_threads} | {search:.1f} | {fit:.2f} | {search / fit:.1f} |"
            )
            print(row, flush=True)
            lines.append(row)
    if out:
        out.mkdir(parents=True, exist_ok=True)
        (out / "tuning.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
