"""Accuracy of every method with its defaults on Office+Caltech SURF, nothing tuned.

    SKATTER_DATA=FOLDER python benchmarks/surf.py [--out FOLDER] [--only NAME ..]

Twelve tasks: one of four domains is the source, another the target, whose labels serve for
scoring alone. Features are judged by the nearest source neighbour; classifiers speak for
themselves. Each method sees z-scores (the preprocessing of the published tables) and z-scores
scaled to unit length. Methods that are of use with target labels alone are left out, and so are
those that learn nothing from a target; for them see ``generalization.py``.
"""

from __future__ import annotations

import argparse
import re
import warnings
from itertools import permutations
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import normalize
from sklearn.svm import SVC

from problems import machine
from skatter import KPCA, SCA, USCA, KernelFisher, make_domain_pipeline
from skatter.datasets import Dataset, load_office_caltech
from skatter.methods import METHODS

PUBLISHED = {
    "raw, 1NN": 31.37,
    "kpca": 42.12,
    "tca": 35.30,
    "sstca": 38.71,
    "gfk": 42.91,
    "tsc": 40.80,
    "sa": 43.17,
    "tjm": 43.69,
    "usca": 42.28,
    "sca": 44.29,
}
"""Means of the columns of table 2 of the SCA paper, tuned on source labels."""


TASKS = list(permutations(("amazon", "caltech", "dslr", "webcam"), 2))


def contenders() -> dict[str, Any]:
    rows: dict[str, Any] = {
        "raw, 1NN": make_domain_pipeline(KNeighborsClassifier(1)),
        "raw, linear SVM": make_domain_pipeline(SVC(kernel="linear")),
    }
    for name, method in METHODS.items():
        is_family = method.estimator in (SCA, USCA, KernelFisher, KPCA)
        adapts = is_family or "one target" in (*method.needs, *method.wants)
        if adapts and "target labels" not in (*method.needs, *method.wants):
            last = [KNeighborsClassifier(1)] if method.kind == "features" else []
            rows[name] = make_domain_pipeline(method.estimator(), *last)
    return rows


def accuracies(model: Any, data: Dataset, X: Any) -> list[float]:
    """Percent of the target samples that are predicted right, task by task."""
    scores = []
    for source, target in TASKS:
        rows = np.flatnonzero(np.isin(data.domain, [source, target]))
        known = np.where(data.domain[rows] == source, data.y[rows], -1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X[rows], known, sample_domain=data.domain[rows])
        there = np.flatnonzero(data.domain == target)
        scores.append(100 * float(np.mean(model.predict(X[there]) == data.y[there])))
    return scores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="folder for surf.md")
    parser.add_argument("--only", nargs="+", help="these rows alone; others are kept")
    arguments = parser.parse_args()
    path = arguments.out and arguments.out / "surf.md"
    kept = read_rows(path) if arguments.only else {}
    data = load_office_caltech("surf")
    samples = {"z-scores": data.X, "unit length": normalize(data.X)}
    names = [f"{s[0].upper()}→{t[0].upper()}" for s, t in TASKS]
    lines = [
        "# Office+Caltech SURF, defaults, nothing tuned\n",
        "Made by `benchmarks/surf.py`: percent of target samples predicted right. The column "
        "*paper* is the mean over the same tasks in table 2 of the SCA paper, where each method "
        f"was tuned on source labels. {machine()}.\n",
        f"| method | samples | mean | paper | {' | '.join(names)} | seconds |",
        f"| --- | --- | ---: | ---: | {' | '.join('---:' for _ in names)} | ---: |",
    ]
    print("\n".join(lines), flush=True)
    for name, model in contenders().items():
        for kind, X in samples.items():
            if arguments.only and name not in arguments.only:
                lines += kept.get((name, kind), [])
                continue
            start = perf_counter()
            scores = accuracies(model, data, X)
            cells = [f"{np.mean(scores):.2f}", f"{PUBLISHED.get(name, '')}"]
            cells += [f"{score:.2f}" for score in scores] + [f"{perf_counter() - start:.0f}"]
            lines.append(f"| {name} | {kind} | {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n")


def read_rows(path: Path | None) -> dict[tuple[str, str], list[str]]:
    """Rows of an earlier run, by method and samples."""
    if path is None or not path.exists():
        return {}
    rows = re.finditer(r"^\| ([^|]+) \| ([^|]+) \| \d.*\|$", path.read_text(), re.MULTILINE)
    return {(row[1], row[2]): [row[0]] for row in rows}


if __name__ == "__main__":
    main()
