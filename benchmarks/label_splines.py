"""What ``SCA(label_splines=...)`` should be by default, and what it gains over classes of bins.

    SKATTER_DATA=FOLDER python benchmarks/label_splines.py [--out FOLDER]

All tasks of the suite *tables-numbers*, at most 300 rows a side. Columns are standardised over both
domains (*pooled*) or in each (*domain*); ridge regression (alpha = 1) learns the source's labels
from the components. Error: root mean squared error on the target, in standard deviations of its
labels, 5 at most. Rows of the table are geometric means over tasks, then over tables.

*left out*: for each table, the best setting of all others. No target label of a table touches its
own choice. ``--out`` gets label_splines.md.
"""

from __future__ import annotations

import argparse
import warnings
from collections import defaultdict
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from problems import machine
from skatter import SCA, DomainScaler
from skatter.labels import bin_labels
from skatter_bench.suites import TABLE_SUITES
from skatter_bench.tasks import load_problem

ROWS = 300
WORST = 5.0
SCALERS = {"pooled": StandardScaler, "domain": DomainScaler}
CONSTANT, RAW = "mean of the source's labels", "no SCA"
BEFORE = "10 bins, beta=0.1, ridge=0.001"
CANDIDATES: dict[str, dict[str, Any]] = {
    f"{n} splines, beta={beta}, ridge={ridge}": {"label_splines": n, "beta": beta, "ridge": ridge}
    for n, beta, ridge in product((3, 5, 8, 12), (0.1, 0.9, 1.0), (0.001, 0.01, 0.1))
    if n in (5, 8) or (beta, ridge) == (1.0, 0.01)
}
"""Among which tables that are not left out choose."""
BESIDE: dict[str, dict[str, Any]] = {
    BEFORE: {"beta": 0.1, "ridge": 0.001},
    "10 bins, beta=1.0, ridge=0.01": {"beta": 1.0, "ridge": 0.01},
    "8 splines, beta=1.0, ridge=0.01, delta=0": {"label_splines": 8, "delta": 0.0},
    **{
        f"8 splines, beta=1.0, ridge={ridge}, linear kernel": {
            "label_splines": 8,
            "ridge": ridge,
            "kernel": "linear",
        }
        for ridge in (0.0001, 0.001, 0.01)
    },
}


def errors(task: Any) -> dict[tuple[str, str], float]:
    """Return the error of every contender, by scaling and name."""
    problem, rng = load_problem(task), np.random.default_rng(0)
    rows = np.concatenate(
        [rng.permutation(part)[:ROWS] for part in (problem.labelled, problem.test)]
    )
    X, y, domain = problem.X[rows], problem.y[rows], problem.domain[rows]
    seen = np.isin(rows, problem.labelled)
    known = np.where(seen, y, np.nan)
    found = {}
    for scaling, make in SCALERS.items():
        given = {"sample_domain": domain} if make is DomainScaler else {}
        features = make().fit_transform(X, np.where(seen, 0.0, np.nan), **given)
        for name, options in {CONSTANT: {}, RAW: {}, **CANDIDATES, **BESIDE}.items():
            Z = features if name == RAW else np.zeros((len(y), 1))
            if options:
                labels = known if "label_splines" in options else bin_labels(known, 10)
                Z = SCA(**options).fit_transform(features, labels, sample_domain=domain)
            guess = Ridge().fit(Z[seen], y[seen]).predict(Z[~seen])
            error = np.sqrt(np.mean((guess - y[~seen]) ** 2)) / np.std(y[~seen])
            found[scaling, name] = min(float(error), WORST)
    return found


def measure() -> dict[tuple[str, str], dict[str, float]]:
    """Return errors by scaling and contender, of each table."""
    suite = next(suite for suite in TABLE_SUITES if suite.name == "tables-numbers")
    logs: dict[Any, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for task in suite.tasks:
        print(task.group, task.name, flush=True)
        for key, error in errors(task).items():
            logs[key][task.group].append(np.log(error))
    return {
        key: {table: float(np.exp(np.mean(own))) for table, own in tables.items()}
        for key, tables in logs.items()
    }


def left_out(found: dict[str, dict[str, float]]) -> dict[str, float]:
    """Return the error on each table of the candidate that is best on all others."""
    chosen = {}
    for table in found[BEFORE]:
        others = {
            name: np.mean([np.log(e) for t, e in found[name].items() if t != table])
            for name in CANDIDATES
        }
        chosen[table] = found[min(others, key=lambda name: others[name])][table]
    return chosen


def report(measured: dict[tuple[str, str], dict[str, float]]) -> str:
    found = {
        s: {name: tables for (scaling, name), tables in measured.items() if scaling == s}
        for s in SCALERS
    }
    for own in found.values():
        own["left out"] = left_out(own)
    names = [CONSTANT, RAW, *BESIDE, *CANDIDATES, "left out"]
    lines = ["# Splines of labels: which, and what for\n", f"{__doc__}\n", f"{machine()}.\n"]
    heads = [f"{s}: {what}" for s in SCALERS for what in ("mean", "median", "corn moisture")]
    lines += [f"| | {' | '.join(heads)} |", f"| :--- {'| ---: ' * len(heads)}|"]
    for name in names:
        cells = []
        for s in SCALERS:
            values = np.array(list(found[s][name].values()))
            cells += [np.exp(np.log(values).mean()), np.median(values)]
            cells.append(found[s][name]["nir_corn_moisture"])
        lines.append(f"| {name} | {' | '.join(f'{cell:.3f}' for cell in cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="folder for label_splines.md")
    arguments = parser.parse_args()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text = report(measure())
    print(text)
    if arguments.out:
        (arguments.out / "label_splines.md").write_text(text)


if __name__ == "__main__":
    main()
