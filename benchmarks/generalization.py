"""Every method that needs no target, where no target is seen: how good, and how fast.

    SKATTER_DATA=FOLDER python benchmarks/generalization.py accuracy [--out FOLDER] [--only NAME ..]
    SKATTER_DATA=FOLDER python benchmarks/generalization.py speed [--out FOLDER] [--only NAME ..]

*accuracy*: one domain after the other is left out and predicted by what the others taught, every
method with its defaults and nothing tuned. Features are judged by the nearest source neighbour;
classifiers speak for themselves. Samples have unit length, pixels are as they are; nothing is
computed from the domain that is left out, its mean and its deviations included.

*speed*: seconds and memory of a fit on the three sources of PACS without its art paintings, all in
one process with one BLAS thread; medians of three fits where one takes less than 20 seconds. Memory
is the growth of the process's peak during the fit.
"""

from __future__ import annotations

import argparse
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits

from problems import forget_peak, machine, peak_bytes
from skatter import SCA, LeaveOneDomainOut, make_domain_pipeline
from skatter.datasets import Dataset, load_office_caltech, load_pacs, load_rotated_mnist
from skatter.methods import METHODS, MTAE


@dataclass(frozen=True)
class Case:
    """A data set, and what is done to its samples, learnt from the sources alone.

    ``paired``: whether the i-th samples of all domains are views of one object.
    """

    load: Callable[[], Dataset]
    steps: tuple[Any, ...] = field(default_factory=lambda: (Normalizer(),))
    paired: bool = False


CASES = {
    "rotated MNIST": Case(load_rotated_mnist, steps=(), paired=True),
    "Office+Caltech SURF": Case(
        lambda: load_office_caltech("surf", preprocess=False),
        (Normalizer("l1"), StandardScaler(), Normalizer()),
    ),
    "Office+Caltech EfficientNet": Case(lambda: load_office_caltech("effnet", preprocess=False)),
    "PACS EfficientNet": Case(lambda: load_pacs(preprocess=False)),
}

TARGET = {"one target", "target labels"}
"""A method that needs one of these has nothing to learn from here."""


class Autoencoder(MTAE):
    """The same network for the pooled sources: every sample redraws itself alone."""

    def fit(self, X: Any, y: Any, *, sample_domain: Any = None, labelled: Any = None) -> Any:
        """Learn from all samples as from one domain."""
        return super().fit(X, y, sample_domain=np.zeros(len(X), dtype=int), labelled=labelled)


def contenders(case: Case) -> dict[str, list[Any]]:
    """Return the steps after the samples are prepared, by the name of the row."""
    rows: dict[str, list[Any]] = {
        "raw, 1NN": [KNeighborsClassifier(1)],
        "raw, linear SVM": [SVC(kernel="linear")],
    }
    for name, method in METHODS.items():
        if not TARGET & set(method.needs):
            judge = [KNeighborsClassifier(1)] if method.kind == "features" else []
            rows[name] = [method.estimator(), *judge]
    rows["sca, beta = 1"] = [SCA(beta=1), KNeighborsClassifier(1)]
    svm = make_pipeline(StandardScaler(), LinearSVC(random_state=0))
    rows["mtae, linear SVM"] = [MTAE(), svm]
    if case.paired:
        paired = MTAE(pairs="order")
        rows["mtae, given pairs, linear SVM"] = [paired, svm]
        # As many samples in a step, and as many steps: five views make an object.
        plain = Autoencoder(batch_size=5 * paired.batch_size)
        rows["plain autoencoder, linear SVM"] = [plain, svm]
    return rows


# --- accuracy -------------------------------------------------------------------------------------


def accuracies(case: Case, data: Dataset, steps: list[Any]) -> list[float]:
    """Percent of the samples that are predicted right, domain by domain left out."""
    scores = []
    for learn, predict in LeaveOneDomainOut().split(data.X, data.y, data.domain):
        model = make_domain_pipeline(*case.steps, *steps)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(data.X[learn], data.y[learn], sample_domain=data.domain[learn])
        found = model.predict(data.X[predict])
        scores.append(100 * float(np.mean(found == data.y[predict])))
    return scores


Rows = dict[tuple[str, str], str]
"""Rows of a table by data set and method."""


def read_rows(path: Path | None) -> Rows:
    """Return what an earlier run, or another one at the same time, has found."""
    if path is None or not path.exists():
        return {}
    parts = re.split(r"^## (.*?);", path.read_text(), flags=re.MULTILINE)
    return {
        (name, row[1]): row[0]
        for name, text in zip(parts[1::2], parts[2::2], strict=True)
        for row in re.finditer(r"^\| ([^|]+) \| \d.*\|$", text, re.MULTILINE)
    }


def run(only: list[str] | None, cases: list[str]) -> Rows:
    """Measure, and print rows as they come."""
    found = {}
    for name in cases:
        case = CASES[name]
        data = case.load()
        for row, steps in contenders(case).items():
            if only is None or row in only:
                start = perf_counter()
                scores = accuracies(case, data, steps)
                cells = [f"{np.mean(scores):.2f}", *(f"{score:.2f}" for score in scores)]
                seconds = f"{perf_counter() - start:.0f}"
                found[name, row] = f"| {row} | {' | '.join(cells)} | {seconds} |"
                print(name, found[name, row], flush=True)
    return found


def accuracy(rows: Rows) -> Iterator[str]:
    yield "# Domain generalization: accuracy, defaults, nothing tuned\n"
    yield (
        "Made by `benchmarks/generalization.py accuracy`: percent of the samples of a domain that "
        "are predicted right by what the other domains taught. Features are judged by the nearest "
        "source neighbour, unless the row says otherwise. Seconds are those of all fits and "
        f"predictions, one BLAS thread, on a machine that did other things as well. {machine()}."
    )
    for name, case in CASES.items():
        data = case.load()
        domains = np.unique(data.domain)
        chance = 100 / len(data.class_names)
        yield f"\n## {name}; n = {len(data.y):,}, p = {data.X.shape[1]:,}, chance {chance:.0f} %\n"
        yield f"| method | mean | {' | '.join(domains)} | seconds |"
        yield f"| --- | ---: | {' | '.join('---:' for _ in domains)} | ---: |"
        yield from (rows[name, row] for row in contenders(case) if (name, row) in rows)


# --- speed ----------------------------------------------------------------------------------------

YARDSTICK = "sca, beta = 1"
"""The paper's setting for domain generalization."""

PAPER = {"kpca": 201.99, "undo-bias": 1925.54, "dica": 336.92, "uml": 1652.67, "lre-svm": 2161.60}
PAPER_SCA = 300.94
"""Seconds on VLCS in table 10 of the SCA paper: about as many samples of 4,096 features."""


ROUNDS, ENOUGH = 3, 20.0
"""Fits of a model, unless the first took this many seconds."""


def measured(model: Any, X: Any, y: Any, domain: Any) -> tuple[float, float]:
    """Return median seconds and the growth of the peak memory, in MiB, of a fit."""
    times: list[float] = []
    memory = 0
    while len(times) < ROUNDS and sum(times) < ENOUGH:
        forget_peak()
        before = peak_bytes()
        start = perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y, sample_domain=domain)
        times.append(perf_counter() - start)
        memory = max(memory, peak_bytes() - before)
    return float(np.median(times)), memory / 2**20


def speed(only: list[str] | None) -> Iterator[str]:
    data = load_pacs()
    rows = np.flatnonzero(data.domain != "art_painting")
    X, y, domain = data.X[rows], data.y[rows], data.domain[rows]
    yield "# Domain generalization: seconds and memory of a fit\n"
    yield (
        "Made by `benchmarks/generalization.py speed`: PACS without its art paintings, "
        f"n = {len(y):,}, p = {X.shape[1]:,}, 7 classes, 3 sources; samples of unit length, "
        "defaults, one process, one BLAS thread; medians of three fits, or one fit where it takes "
        f"longer than {ENOUGH:.0f} seconds. A Gram matrix takes "
        f"{len(y) ** 2 * 8 / 2**20:.0f} MiB. {machine()}.\n"
    )
    yield (
        "The column *paper* is the same ratio in table 10 of the SCA paper, on VLCS: other data of "
        "about this size, other programs.\n"
    )
    yield f"| method | seconds | x {YARDSTICK} | paper | peak memory, MiB |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    models = {YARDSTICK: SCA(beta=1), "sca, linear kernel": SCA(kernel="linear")}
    for name, method in METHODS.items():
        if not TARGET & set(method.needs):
            models[name] = method.estimator()
    few = np.random.default_rng(0).permutation(len(y))[:200]
    yardstick = None
    for name, model in models.items():
        if only is not None and name not in (YARDSTICK, *only):
            continue
        measured(model, X[few], y[few], domain[few])  # loads every library that the fit will load
        seconds, memory = measured(model, X, y, domain)
        yardstick = yardstick or seconds
        paper = f"{PAPER[name] / PAPER_SCA:.1f}" if name in PAPER else ""
        yield f"| {name} | {seconds:.1f} | {seconds / yardstick:.1f} | {paper} | {memory:.0f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["accuracy", "speed"])
    parser.add_argument("--out", type=Path, help="folder for generalization_accuracy.md or _speed")
    parser.add_argument("--only", nargs="+", help="these rows alone; accuracy keeps the others")
    parser.add_argument("--data", nargs="+", choices=list(CASES), default=list(CASES))
    arguments = parser.parse_args()
    path = arguments.out and arguments.out / f"generalization_{arguments.what}.md"
    with threadpool_limits(1):
        if arguments.what == "speed":
            lines = list(said(speed(arguments.only)))
        else:
            found = run(arguments.only, arguments.data)
            lines = list(accuracy(read_rows(path) | found))
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n")


def said(lines: Iterator[str]) -> Iterator[str]:
    """Print lines as they come."""
    for line in lines:
        print(line, flush=True)
        yield line


if __name__ == "__main__":
    main()
