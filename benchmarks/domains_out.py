"""Leave one domain out after the other, and see whether anything beats a linear classifier.

    SKATTER_DATA=FOLDER python benchmarks/domains_out.py [--data NAME ..] [--out FOLDER]
                               [--docs PAGE] [--quick]

Every row of the table is chosen in the same way, by :class:`skatter.selection.DomainGeneralizer`:
each source is left out in turn, and what does best there is fitted on all sources and predicts the
target. Nothing is computed from the target. The rows differ in what there is to choose from: costs
of one plain classifier, settings of SCA before a classifier, or the portfolio of the library.
Plain logistic regression is judged on all samples, since its best cost changes with their number,
linear SVMs and the portfolio on at most 3,000, and all others on 1,000.

Results are kept task by task in ``domains_out.json``, so that a run can be stopped and taken up
again; ``domains_out.md`` is written from it.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from criteria import insert
from problems import machine
from skatter import SCA, make_domain_pipeline
from skatter.bench.suites import REVIEWS, get_suite
from skatter.bench.tasks import Problem, Task, load_problem
from skatter.files import write_atomically
from skatter.selection.generalize import DomainGeneralizer, generalization_candidates

HERE = Path(__file__).parent / "results"

REVIEW_TASKS = tuple(
    Task(
        f"{','.join(name for name in REVIEWS if name != held)}->{held}",
        "amazon_400",
        tuple(domain for name, domain in REVIEWS.items() if name != held),
        (REVIEWS[held],),
        "generalization",
        2,
        "Amazon reviews",
    )
    for held in REVIEWS
)

Tasks = Mapping[str, tuple[Task, ...]]

DATA: Tasks = {
    "Office+Caltech SURF": get_suite("dg-office-surf").tasks,
    "Office+Caltech EfficientNet": get_suite("dg-office-effnet").tasks,
    "PACS EfficientNet": get_suite("dg-pacs").tasks,
    "rotated MNIST": get_suite("dg-rotated-mnist").tasks,
    "Amazon reviews": REVIEW_TASKS,
}

SCALERS = {"as they are": (), "standardised": (StandardScaler(),)}
SAMPLES, SVM_SAMPLES, QUICK_SAMPLES = 1000, 3000, 200
"""Most samples that a candidate is judged on: of most rows, of a linear SVM, in a hurry."""

Candidates = list[tuple[str, Any]]


def plain(classifiers: Mapping[str, list[Any]]) -> Candidates:
    """Put a classifier with several costs behind each way to scale the samples."""
    return [
        (f"{model}, {scaled}", make_domain_pipeline(*SCALERS[scaled], model))
        for scaled, models in classifiers.items()
        for model in models
    ]


def behind_sca(judge: Any) -> Candidates:
    """Put SCA, with both kernels, with and without domain terms, before a classifier."""
    settings = product(SCALERS.items(), ("linear", "rbf"), ((0, 0), (1, 1)))
    return [
        (
            f"{kernel}, delta {delta}, conditional delta {conditional}, {scaled}",
            make_domain_pipeline(
                *steps,
                SCA(60, kernel=kernel, delta=delta, conditional_delta=conditional),
                judge,
            ),
        )
        for (scaled, steps), kernel, (delta, conditional) in settings
    ]


def logistic(C: float) -> LogisticRegression:
    return LogisticRegression(C=C, max_iter=500)


LOGISTIC, SVM, CHOICE = "raw + logistic regression", "raw + linear SVM", "DomainGeneralizer"


def contenders(*, quick: bool = False) -> dict[str, DomainGeneralizer]:
    """Return the rows of the table: what there is to choose from."""
    logistics = {
        "as they are": [logistic(C) for C in (1, 10, 100, 1000)],
        "standardised": [logistic(C) for C in (1e-4, 0.001, 0.01, 0.1)],
    }
    machines = {
        "as they are": [SVC(kernel="linear", C=C) for C in (0.1, 1, 10, 100)],
        "standardised": [SVC(kernel="linear", C=C) for C in (1e-4, 0.001, 0.01)],
    }
    nearest = KNeighborsClassifier(1)
    rows = {
        "raw + 1NN": plain({scaled: [nearest] for scaled in SCALERS}),
        LOGISTIC: plain(logistics),
        SVM: plain(machines),
        "SCA + 1NN": behind_sca(nearest),
        "SCA + logistic regression": behind_sca(logistic(0.1)),
    }
    # The best cost changes with the number of samples, so that a small draw would be unfair.
    most = {LOGISTIC: None, SVM: SVM_SAMPLES}
    models = {
        name: DomainGeneralizer(
            candidates, standard_errors=0, vote=False, max_samples=most.get(name, SAMPLES)
        )
        for name, candidates in rows.items()
    }
    models[CHOICE] = DomainGeneralizer()
    if quick:
        for model in models.values():
            model.set_params(max_samples=QUICK_SAMPLES)
    return models


# --- measuring ------------------------------------------------------------------------------------

Scores = dict[str, dict[str, dict[str, Any]]]
"""Of one data set: what a row reached on a task, and how."""

Found = dict[str, Scores]
"""By data set."""


def measure(model: DomainGeneralizer, problem: Problem) -> dict[str, Any]:
    """Return the accuracy on the target, what was chosen, and seconds of the processor."""
    start = process_time()
    rows = problem.labelled
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(problem.X[rows], problem.y[rows], sample_domain=problem.domain[rows])
    right = model.predict(problem.X[problem.test]) == problem.y[problem.test]
    return {
        "accuracy": round(100 * float(np.mean(right)), 3),
        "on sources": round(100 * model.best_score_, 3),
        "chosen": model.voters_,
        "seconds": round(process_time() - start, 1),
    }


def run(tasks: Tasks, found: Found, *, quick: bool) -> Iterator[Found]:
    """Measure what is not there yet, and hand on all results after every task."""
    for name, own in tasks.items():
        scores = found.setdefault(name, {})
        for task in own:
            done = scores.setdefault(task.name, {})
            missing = {k: m for k, m in contenders(quick=quick).items() if k not in done}
            for row, model in missing.items():
                done[row] = measure(model, load_problem(task))
                print(name, task.name, row, done[row], flush=True)
            yield found


# --- telling --------------------------------------------------------------------------------------


def mean(scores: Scores, row: str) -> float:
    return float(np.mean([task[row]["accuracy"] for task in scores.values()]))


def summary(found: Found) -> Iterator[str]:
    rows = list(contenders())
    yield f"| | {' | '.join(found)} | mean |"
    yield f"| --- | {'---: | ' * len(found)}---: |"
    table = {row: [mean(scores, row) for scores in found.values()] for row in rows}
    for row, means in table.items():
        cells = " | ".join(f"{value:.2f}" for value in (*means, np.mean(means)))
        yield f"| {row} | {cells} |"
    for bar in (LOGISTIC, SVM):
        gains = np.subtract(table[CHOICE], table[bar])
        cells = " | ".join(f"{value:+.2f}" for value in (*gains, gains.mean()))
        yield f"| {CHOICE} less {bar} | {cells} |"


def verdict(found: Found) -> Iterator[str]:
    """Say where the portfolio loses, and what one easy data set does to the mean."""
    for bar in (LOGISTIC, SVM):
        gains = {name: mean(scores, CHOICE) - mean(scores, bar) for name, scores in found.items()}
        best, worst = max(gains, key=gains.__getitem__), min(gains, key=gains.__getitem__)
        others = [gain for name, gain in gains.items() if name != best]
        yield (
            f"\nAgainst {bar}: {np.mean(list(gains.values())):+.2f} on average, and "
            f"{np.mean(others or [0.0]):+.2f} without {best}; at worst {gains[worst]:+.2f}, on "
            f"{worst}."
        )


def voters(names: list[str]) -> str:
    """Return the places of voters in the portfolio, counted from one."""
    places = {name: place for place, (name, _) in enumerate(generalization_candidates(), 1)}
    return ", ".join(str(places[name]) for name in names)


def report(found: Found, where: str) -> Iterator[str]:
    yield "# Domains left out: is there more than a plain linear classifier?\n"
    yield (
        "Made by `benchmarks/domains_out.py`: percent of the samples of unseen domains that are "
        "predicted right. All rows are chosen by leaving the sources out one at a time, and then "
        "fitted on all sources; they differ in what there is to choose from. Linear classifiers "
        "have four costs on samples as they are, and on standardised ones four (SVM: three). SCA "
        "has both kernels, with and without domain and conditional domain scatter, on both kinds "
        "of samples. `DomainGeneralizer` is the portfolio of the library, untouched. Plain "
        "logistic regression is judged on all samples, since its best cost changes with their "
        f"number, linear SVMs and the portfolio on at most {SVM_SAMPLES:,}, and all others on "
        f"{SAMPLES:,}. "
        "Seconds are those of the processor, one BLAS thread, for choice, fit and predictions. "
        f"{where}.\n"
    )
    yield from summary(found)
    yield from verdict(found)
    yield (
        "\nThe rule and the portfolio were settled with these data sets in sight, so that the last "
        "row is no measure of new ones."
    )
    yield "\nThe portfolio:\n"
    yield from (f"{n}. {name}" for n, (name, _) in enumerate(generalization_candidates(), 1))
    for name, scores in found.items():
        rows = list(contenders())
        yield f"\n## {name}\n"
        yield f"| task | {' | '.join(rows)} | voters of {CHOICE} |"
        yield f"| --- | {'---: | ' * len(rows)}--- |"
        for task, cells in scores.items():
            values = " | ".join(f"{cells[row]['accuracy']:.2f}" for row in rows)
            yield f"| {task} | {values} | {voters(cells[CHOICE]['chosen'])} |"
        seconds = " | ".join(
            f"{sum(t[row]['seconds'] for t in scores.values()):.0f}" for row in rows
        )
        yield f"| seconds | {seconds} | |"


def finished(found: Found, tasks: Tasks) -> Found:
    """Return the data sets all of whose tasks have all rows, in the order of the table."""
    rows = set(contenders())
    return {
        name: {task.name: found[name][task.name] for task in own}
        for name, own in tasks.items()
        if all(rows <= set(found.get(name, {}).get(task.name, {})) for task in own)
    }


def write(path: Path, text: str) -> None:
    """Write in one step, so that a run that is stopped leaves a whole file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, lambda part: part.write_text(text))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", choices=list(DATA), default=list(DATA))
    parser.add_argument("--out", type=Path, default=HERE, help="folder of domains_out.json and .md")
    parser.add_argument("--docs", type=Path, help="page that holds the summary")
    parser.add_argument("--again", action="store_true", help="forget what is there of these data")
    parser.add_argument(
        "--quick", action="store_true", help="first tasks on few samples; write nothing"
    )
    arguments = parser.parse_args()
    kept = arguments.out / "domains_out.json"
    found: Found = {}
    tasks = {name: DATA[name][: 1 if arguments.quick else None] for name in arguments.data}
    if kept.exists() and not arguments.quick:
        found = json.loads(kept.read_text())["accuracy"]
    if arguments.again:
        found = {name: scores for name, scores in found.items() if name not in tasks}
    where = machine()
    with threadpool_limits(1):
        for state in run(tasks, found, quick=arguments.quick):
            if not arguments.quick:
                write(kept, json.dumps({"machine": where, "accuracy": state}, indent=1) + "\n")
    done = finished(found, tasks if arguments.quick else DATA)
    lines = list(report(done, where))
    print("\n".join(lines))
    if not arguments.quick:
        write(arguments.out / "domains_out.md", "\n".join(lines) + "\n")
        if arguments.docs is not None:
            insert(arguments.docs, "domains out", [*summary(done), *verdict(done)], "domains_out")


if __name__ == "__main__":
    main()
