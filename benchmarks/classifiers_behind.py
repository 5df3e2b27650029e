"""Classifiers behind SCA, and what has to stand between for them to do well.

    SKATTER_DATA=FOLDER python benchmarks/classifiers_behind.py [--cache FOLDER]

SCA with its defaults, then nothing, scikit-learn's StandardScaler or Normalizer, or ClassSpan; then
a classifier with its defaults. "cross-fitted": the classifier learns from projections of labelled
samples whose own labels were hidden (five folds, one Gram matrix), turned onto the full solution by
orthogonal Procrustes over the samples outside the fold. Accuracies on the target, in percent;
ClassSpan was devised on digits, MSRC, SURF and EfficientNet; GoogLeNet features and reviews were
kept apart, and looked at once. Writes benchmarks/results/classifiers_behind.md.
"""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import orthogonal_procrustes
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.preprocessing import Normalizer, StandardScaler
from sklearn.svm import SVC

from skatter import SCA
from skatter.class_span import ClassSpan
from skatter.domains import read_domains
from skatter.selection._folds import FoldSolver
from skatter_bench.suites import SUITES
from skatter_bench.tasks import Task, load_problem

Array = NDArray[Any]
Scores = dict[tuple[str, str, str], float]
"""Accuracy by projections, step between and classifier."""

RESULTS = Path(__file__).parent / "results" / "classifiers_behind.md"
N_FOLDS = 5
BETWEEN: dict[str, Callable[[], Any] | None] = {
    "nothing": None,
    "StandardScaler": StandardScaler,
    "Normalizer": Normalizer,
    "ClassSpan": ClassSpan,
}
CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "nearest neighbour": lambda: KNeighborsClassifier(1),
    "nearest class mean": NearestCentroid,
    "logistic regression": lambda: LogisticRegression(max_iter=300),
    "SVC": SVC,
    'SVC(gamma="auto")': lambda: SVC(gamma="auto"),
}
GROUPS = {
    "dig": "digits",
    "msrc": "MSRC, VOC",
    "surf": "SURF",
    "eff": "EfficientNet",
    "google": "GoogLeNet",
    "reviews": "reviews",
}
KEPT_APART = ("google", "reviews")
PAIRS = ("A->W", "C->A", "W->C", "D->A")
GOOGLENET = ("A->W", "W->A", "A->D", "D->A")
REVIEWS = ("B->D", "D->E", "E->K", "K->B")


def tasks() -> Iterator[tuple[str, Task]]:
    """Yield the tasks with their group."""
    first = SUITES["table1"].tasks
    yield from (("dig", task) for task in first[:2])
    yield from (("msrc", task) for task in first[2:])
    yield from (("surf", task) for task in SUITES["table2"].tasks)
    for group, suite, names in (
        ("eff", "office-effnet", PAIRS),
        ("google", "office-googlenet", GOOGLENET),
        ("reviews", "amazon-400", REVIEWS),
    ):
        yield from ((group, task) for task in SUITES[suite].tasks if task.name in names)


def projections(task: Task) -> dict[str, Array]:
    """Return labels, and projections by the full solution and by that of each fold."""
    problem = load_problem(task)
    X, y = np.asarray(problem.X[problem.learn]), problem.y[problem.learn]
    lab = np.isin(problem.learn, problem.labelled)
    domains = read_domains(np.where(lab, y, -1), problem.domain[problem.learn], labelled=lab)
    rows, fold = np.flatnonzero(lab), np.full(len(y), -1)
    splitter = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    for number, (_, held) in enumerate(splitter.split(rows, y[rows])):
        fold[rows[held]] = number
    solver, k = FoldSolver(SCA(), X, domains), max(2 * (len(domains.classes) - 1), 10)
    out = {"y": y, "lab": lab, "fold": fold}
    out["full0.001"] = next(solver.solve(domains, [(0.1, 1.0)], k))[0]
    for number in range(N_FOLDS):
        hidden = domains.hide(fold == number)
        out[f"f0.001_{number}"] = next(solver.solve(hidden, [(0.1, 1.0)], k))[0]
    return out


def cached(group: str, task: Task, folder: Path | None) -> dict[str, Array]:
    """Return the projections of a task, kept in a folder between runs."""
    if folder is None:
        return projections(task)
    file = folder / f"{group}_{task.name.replace('->', '2')}.npz"
    if not file.exists():
        np.savez(file, **projections(task))
    with np.load(file) as kept:
        return dict(kept)


def cross_fitted(found: dict[str, Array]) -> Array:
    """Return projections in which no labelled sample has seen its own label."""
    full, fold = found["full0.001"], found["fold"]
    out = full.copy()
    for number in range(N_FOLDS):
        of_fold, held = found[f"f0.001_{number}"], fold == number
        turn = orthogonal_procrustes(of_fold[~held], full[~held])[0]
        out[held] = of_fold[held] @ turn
    return out


def accuracies(found: dict[str, Array]) -> Scores:
    """Return the accuracy by projections, step between and classifier."""
    y, lab, out = found["y"], found["lab"], {}
    for name, Z in {"full": found["full0.001"], "cross-fitted": cross_fitted(found)}.items():
        for between, step in BETWEEN.items():
            if step is None:
                features = Z
            elif step is ClassSpan:
                features = step().fit(found["full0.001"], y, labelled=lab).transform(Z)
            else:
                features = step().fit(Z).transform(Z)
            for classifier, make in CLASSIFIERS.items():
                predicted = make().fit(features[lab], y[lab]).predict(features[~lab])
                out[name, between, classifier] = 100 * float(np.mean(predicted == y[~lab]))
    return out


def table(scores: dict[str, list[Scores]]) -> list[str]:
    """Return the lines of the table: means over the tasks of a group, then over groups."""
    counts = ", ".join(f"{GROUPS[group]} {len(of)}" for group, of in scores.items())
    apart = " and ".join(GROUPS[group] for group in KEPT_APART)
    heads = " | ".join(GROUPS[group] for group in scores)
    lines = [
        "# Classifiers behind SCA",
        "",
        f"Accuracy on the target in percent, everything at its defaults. Tasks: {counts}. Means "
        f"are over groups: those that ClassSpan was devised on, and those kept apart ({apart}). "
        "Made by `benchmarks/classifiers_behind.py`; "
        f"{platform.machine()}, {os.cpu_count()} cores.",
        "",
        f"| classifier | between | learns from | {heads} | mean | mean, kept apart |",
        "| :--- | :--- | :--- |" + " ---: |" * (len(scores) + 2),
    ]
    for classifier in CLASSIFIERS:
        for between in BETWEEN:
            for name in ("full", "cross-fitted"):
                cells = " | ".join(row(scores, (name, between, classifier)))
                lines.append(f"| {classifier} | {between} | {name} | {cells} |")
    return lines


def row(scores: dict[str, list[Scores]], key: tuple[str, str, str]) -> Iterator[str]:
    """Yield the cells of one row."""
    means = {group: float(np.mean([each[key] for each in of])) for group, of in scores.items()}
    apart = [mean for group, mean in means.items() if group in KEPT_APART]
    others = [mean for group, mean in means.items() if group not in KEPT_APART]
    for number in (*means.values(), np.mean(others), np.mean(apart)):
        yield f"{number:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=Path, help="folder that keeps projections")
    folder = parser.parse_args().cache
    scores: dict[str, list[Scores]] = {}
    for group, task in tasks():
        scores.setdefault(group, []).append(accuracies(cached(group, task, folder)))
        print(group, task.name, flush=True)
    lines = table(scores)
    RESULTS.write_text("\n".join([*lines, ""]))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
