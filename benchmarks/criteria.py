"""Measure how well criteria rank models for a target whose labels they do not see.

    SKATTER_DATA=FOLDER python benchmarks/criteria.py [--out FOLDER] [--docs PAGE] [--only SUITE ..]

For each task, 26 models: SCA with 2 ridges x 3 betas x 2 deltas x 2 k and the nearest neighbour,
the nearest neighbour on the samples, and logistic regression on the samples (standardised on the
source, as is usual). Every criterion ranks them. Target labels then say how well: Spearman's
correlation with the true accuracy, and the regret, points of accuracy between the best model and
the chosen one. At most 400 samples of each domain are drawn.

*Everyday tables*: the first task of every table that was not kept apart in ``trust.py``.

Models share projections (``FoldSolver``), so that all tasks take minutes.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations, product
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from scipy.stats import rankdata, spearmanr
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from problems import machine
from skatter import SCA
from skatter.domains import UNLABELLED, Domains, read_domains
from skatter.selection._folds import FoldSolver, nearest_labels
from skatter.selection.criteria import (
    BEST,
    CRITERIA,
    importance_weights,
    is_collapsed,
    nearest_class_probabilities,
)
from skatter.selection.criteria._evidence import HeldOut
from skatter_bench.suites import ANGLES, OFFICE, PACS, get_suite
from skatter_bench.tasks import Task, load_problem
from trust import KEPT_APART

LIMIT = 400
RIDGES, BETAS, DELTAS = (1e-3, 1e-1), (0.0, 0.1, 0.9), (0.0, 1.0)
SETTINGS = list(product(BETAS, DELTAS))

ASKED = tuple(name for name in CRITERIA if name != "leave one domain out")
"""With a single source there is no domain to leave out."""

NAME = " + ".join(BEST)

COMBINED = {
    NAME: BEST,
    "scatter + circular": ("scatter", "circular"),
    "scatter + source accuracy": ("scatter", "source accuracy"),
    "circular + source accuracy": ("circular", "source accuracy"),
    "scatter + circular + source accuracy": ("scatter", "circular", "source accuracy"),
    "all criteria": ASKED,
}
"""Mean ranks of several."""


def pairs(dataset: str, names: dict[str, str], n_classes: int, group: str) -> list[Task]:
    return [
        Task(f"{s}->{t}", dataset, (names[s],), (names[t],), "adaptation", n_classes, group)
        for s, t in permutations(names, 2)
    ]


def suites() -> dict[str, tuple[str, list[Task]]]:
    """Name to title and tasks.

    The data sets marked * were not looked at before the criterion of our own was fixed.
    """
    digits, msrc = get_suite("table1").tasks[:2], get_suite("table1").tasks[2:]
    three = {name: OFFICE[name] for name in "AWD"}
    googlenet = pairs("office_googlenet", three, 10, "GoogLeNet")
    angles = {name: ANGLES[name] for name in ("0", "30", "60")}
    return {
        "surf": ("Office+Caltech SURF", list(get_suite("table2").tasks)),
        "effnet": ("Office+Caltech EfficientNet", list(get_suite("office-effnet").tasks)),
        "mnist_usps": ("MNIST, USPS", list(digits)),
        "msrc_voc": ("MSRC, VOC", list(msrc)),
        "digits": ("UCI, MNIST digits", list(get_suite("digits").tasks)),
        "amazon": ("Amazon reviews (400)", list(get_suite("amazon-400").tasks)),
        "googlenet": (
            "Office GoogLeNet *",
            [replace(task, prepare="unit rows") for task in googlenet],
        ),
        "pacs": ("PACS EfficientNet *", pairs("pacs", PACS, 7, "PACS")),
        "tables": ("Everyday tables", first_of_each_table()),
        "rotated": ("Rotated MNIST *", pairs("rotated_mnist", angles, 10, "Rotated MNIST")),
    }


def first_of_each_table() -> list[Task]:
    tasks = [task for task in get_suite("tables").tasks if task.dataset not in KEPT_APART]
    return [next(task for task in tasks if task.dataset == name) for name in table_names(tasks)]


def table_names(tasks: list[Task]) -> list[str]:
    return list(dict.fromkeys(task.dataset for task in tasks))


@dataclass(frozen=True, eq=False)
class Samples:
    """What a task shows of its samples, the source first, and the truth for scoring."""

    X: Any
    domains: Domains
    truth: Any

    @cached_property
    def judges(self) -> dict[Any, Any]:
        """Judges of predictions, made so far."""
        return {}

    @cached_property
    def source(self) -> Any:
        """Rows whose label is known."""
        return np.flatnonzero(self.domains.labelled)

    @cached_property
    def target(self) -> Any:
        """Rows to be predicted."""
        return np.flatnonzero(self.domains.target)

    @cached_property
    def label(self) -> Any:
        """Known labels."""
        return self.domains.label[self.source]

    @cached_property
    def folds(self) -> list[Any]:
        """Known labels to hide, fold by fold."""
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        return [held for _, held in folds.split(self.source, self.label)]


def draw(task: Task) -> Samples:
    """Draw samples of both domains, blind to their labels."""
    problem = load_problem(task)
    rng = np.random.default_rng(0)
    target = np.setdiff1d(np.union1d(problem.learn, problem.test), problem.labelled)
    parts = [np.sort(rng.permutation(rows)[:LIMIT]) for rows in (problem.labelled, target)]
    rows = np.concatenate(parts)
    known = np.arange(len(rows)) < len(parts[0])
    domains = read_domains(problem.y[rows], np.where(known, "source", "target"), labelled=known)
    truth = np.searchsorted(domains.classes, problem.y[rows][~known])
    return Samples(np.asarray(problem.X[rows], dtype=float), domains, truth)


@dataclass(frozen=True, eq=False)
class Shared:
    """What the criteria ask of :class:`~skatter.selection.criteria._evidence.Evidence`."""

    samples: Samples
    features: Any
    predicted: Any
    held_out: HeldOut
    circular: float
    own_probabilities: Any = None

    @cached_property
    def probabilities(self) -> Any:
        """Class probabilities of the target."""
        if self.own_probabilities is not None:
            return self.own_probabilities
        s, Z = self.samples, self.features
        return nearest_class_probabilities(
            Z[s.source], s.label, Z[s.target], len(s.domains.classes)
        )

    @cached_property
    def collapsed(self) -> bool:
        """Whether the target is all but one class."""
        return is_collapsed(self.predicted, self.samples.label)

    def score_by(self, make_judge: Any) -> float:
        """Score the predictions; judges serve all models of a task."""
        s = self.samples
        if make_judge not in s.judges:
            s.judges[make_judge] = make_judge(s.X, s.domains, 0)
        return float(s.judges[make_judge](self.predicted))


def nearest(train: Any, label: Any, new: Any) -> Any:
    return next(nearest_labels(train, label, new, [train.shape[1]]))


def regression(train: Any, label: Any) -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)).fit(train, label)


def held_out(samples: Samples, features: Sequence[Any], guess: Any) -> HeldOut:
    """Predict each fold from the others, in the features that were learnt without its labels."""
    correct, weights = np.zeros(len(samples.source), bool), np.zeros(len(samples.source))
    for fold, Z in zip(samples.folds, features, strict=True):
        rest = np.setdiff1d(np.arange(len(samples.source)), fold)
        here, held = Z[samples.source[rest]], Z[samples.source[fold]]
        correct[fold] = guess(here, samples.label[rest], held) == samples.label[fold]
        weights[fold] = importance_weights(here, Z[samples.target], at=held)
    return HeldOut(correct, weights)


def projected(samples: Samples) -> Iterator[tuple[str, Shared]]:
    """Yield SCA and the nearest neighbour, setting by setting."""
    s = samples
    ks = (max(len(s.domains.classes) - 1, 2), 30)
    for ridge in RIDGES:
        solver = FoldSolver(SCA(ridge=ridge), s.X, s.domains)
        full = [Z for Z, _ in solver.solve(s.domains, SETTINGS, max(ks))]
        hidden = [s.domains.hide(s.source[fold]) for fold in s.folds]
        folds = [[Z for Z, _ in solver.solve(view, SETTINGS, max(ks))] for view in hidden]
        for i, (beta, delta) in enumerate(SETTINGS):
            for k in ks:
                Z = full[i][:, :k]
                predicted = nearest(Z[s.source], s.label, Z[s.target])
                held = held_out(s, [fold[i][:, :k] for fold in folds], nearest)
                back = circular(s, solver, (beta, delta), k, predicted)
                name = f"SCA, beta {beta:g}, delta {delta:g}, ridge {ridge:g}, k {k}"
                yield name, Shared(s, Z, predicted, held, back)


def circular(s: Samples, solver: FoldSolver, setting: Any, k: int, predicted: Any) -> float:
    if len(np.unique(predicted)) == 1:
        return float(np.mean(s.label == predicted[0]))
    label = np.full_like(s.domains.label, UNLABELLED)
    label[s.target] = predicted
    view = replace(s.domains, label=label, is_target=~s.domains.is_target)
    Z = next(iter(solver.solve(view, [setting], k)))[0]
    return float(np.mean(nearest(Z[s.target], predicted, Z[s.source]) == s.label))


def plain(s: Samples) -> Iterator[tuple[str, Shared]]:
    """Yield classifiers on the samples as they are."""
    X, same = s.X, [s.X] * len(s.folds)
    predicted = nearest(X[s.source], s.label, X[s.target])
    back = np.mean(nearest(X[s.target], predicted, X[s.source]) == s.label)
    yield "nearest neighbour", Shared(s, X, predicted, held_out(s, same, nearest), float(back))
    model = regression(X[s.source], s.label)
    P = np.zeros((len(s.target), len(s.domains.classes)))
    P[:, model.classes_] = model.predict_proba(X[s.target])
    predicted = P.argmax(axis=1)
    one = len(np.unique(predicted)) == 1
    again = predicted[0] if one else regression(X[s.target], predicted).predict(X[s.source])
    held = held_out(s, same, lambda train, label, new: regression(train, label).predict(new))
    yield (
        "logistic regression",
        Shared(s, X, predicted, held, float(np.mean(again == s.label)), P),
    )


def study(task: Task) -> dict[str, Any]:
    """Judge all models of a task by all criteria, then look at the truth."""
    samples = draw(task)
    names, scores, accuracy, votes = [], [], [], []
    for name, evidence in (*projected(samples), *plain(samples)):
        names.append(name)
        scores.append(
            [-np.inf if evidence.collapsed else CRITERIA[c].score(evidence) for c in ASKED]
        )
        accuracy.append(float(np.mean(evidence.predicted == samples.truth)))
        votes.append(evidence.predicted)
    table = dict(zip(ASKED, np.array(scores).T, strict=True))
    table |= {
        name: np.mean([rankdata(table[c]) for c in parts], axis=0)
        for name, parts in COMBINED.items()
    }
    truth = np.array(accuracy)
    return {
        "task": task.name,
        "models": names,
        "accuracy": accuracy,
        "criteria": {name: judged(values, truth) for name, values in table.items()},
        "by chance": float(100 * (truth.max() - truth.mean())),
    }


def judged(values: Any, truth: Any) -> dict[str, Any]:
    """Rank correlation with the truth, and what the choice costs; a tie goes to the first."""
    finite = np.where(np.isneginf(values), np.min(values[np.isfinite(values)]) - 1, values)
    flat = np.ptp(finite) == 0
    chosen = int(np.argmax(finite))
    return {
        "rho": 0.0 if flat else float(spearmanr(finite, truth).statistic),
        "regret": float(100 * (truth.max() - truth[chosen])),
        "gain": float(100 * (truth[chosen] - truth[-2])),
        "chosen": chosen,
    }


def table_of_criteria(results: dict[str, Any]) -> list[str]:
    titles = {name: entry["title"] for name, entry in results.items()}
    lines = [
        f"| criterion | all | worst regret | {' | '.join(titles.values())} |",
        f"| --- | ---: | ---: | {' | '.join('---:' for _ in titles)} |",
    ]
    every = [task for entry in results.values() for task in entry["tasks"]]

    def cell(tasks: list[Any], name: str) -> str:
        rho, regret = (
            np.mean([t["criteria"][name][what] for t in tasks]) for what in ("rho", "regret")
        )
        return f"{rho:.2f} · {regret:.1f}"

    def order(name: str) -> float:
        return float(np.mean([t["criteria"][name]["regret"] for t in every]))

    for name in sorted((*ASKED, *COMBINED), key=order):
        worst = max(t["criteria"][name]["regret"] for t in every)
        cells = [cell(entry["tasks"], name) for entry in results.values()]
        lines.append(f"| {name} | {cell(every, name)} | {worst:.1f} | {' | '.join(cells)} |")
    chance = [np.mean([t["by chance"] for t in e["tasks"]]) for e in results.values()]
    cells = [f"0.00 · {value:.1f}" for value in chance]
    mean = np.mean([t["by chance"] for t in every])
    lines.append(f"| a model at random | 0.00 · {mean:.1f} | | {' | '.join(cells)} |")
    return lines


def insert(page: Path, name: str, lines: list[str], script: str = "criteria") -> None:
    """Put a table between its marks on a page of the docs."""
    text = page.read_text()
    begin, end = f"<!-- {name}: made by benchmarks/{script}.py -->", f"<!-- end of {name} -->"
    head, rest = text.split(begin)
    tail = rest.split(end)[1]
    page.write_text(f"{head}{begin}\n\n" + "\n".join(lines) + f"\n\n{end}{tail}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="folder for criteria.md and criteria.json")
    parser.add_argument("--docs", type=Path, help="page that shows the tables")
    parser.add_argument(
        "--only",
        nargs="+",
        choices=list(suites()),
        help="these data sets alone; results of others in --out are kept",
    )
    arguments = parser.parse_args()
    kept = read_results(arguments.out) if arguments.only else {}
    results: dict[str, Any] = {}
    start = perf_counter()
    for name, (title, tasks) in suites().items():
        if arguments.only and name not in arguments.only:
            results |= {name: kept[name]} if name in kept else {}
            continue
        results[name] = {"title": title, "tasks": []}
        began = perf_counter()
        for task in tasks:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                results[name]["tasks"].append(study(task))
            done = results[name]["tasks"][-1]
            best = done["criteria"][NAME]
            print(
                f"{title}, {task.name}: {NAME} rho {best['rho']:.2f}, regret "
                f"{best['regret']:.1f}; {perf_counter() - start:.0f} s",
                flush=True,
            )
        results[name]["seconds"] = round(perf_counter() - began, 1)
    criteria = table_of_criteria(results)
    print("\n".join(criteria))
    if arguments.out:
        write(arguments.out, results, criteria)
    if arguments.docs:
        insert(arguments.docs, "criteria", criteria)


def read_results(folder: Path | None) -> dict[str, Any]:
    """Results of an earlier run, by data set."""
    path = folder and folder / "criteria.json"
    return json.loads(path.read_text())["suites"] if path and path.exists() else {}


def write(folder: Path, results: Any, criteria: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    seconds = sum(entry["seconds"] for entry in results.values())
    n_tasks = sum(len(entry["tasks"]) for entry in results.values())
    lines = [
        "# How well criteria rank models without target labels\n",
        f"Made by `benchmarks/criteria.py` in {seconds:.0f} s: {n_tasks} tasks, 26 models each, at "
        f"most {LIMIT} samples of each domain. {machine()}.\n",
        "Spearman's correlation with the true accuracy on the target · regret of the chosen model "
        "in points of accuracy. Criteria joined by + are mean ranks. Data sets marked * were not "
        "looked at before the criterion *scatter* was fixed.\n",
        *criteria,
    ]
    (folder / "criteria.md").write_text("\n".join(lines) + "\n")
    made = {"machine": machine(), "limit": LIMIT, "suites": results}
    (folder / "criteria.json").write_text(json.dumps(made, indent=1) + "\n")


if __name__ == "__main__":
    main()
