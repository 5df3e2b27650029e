"""Can it be trusted? The hedge against the champion on everyday tables and on image features.

    python benchmarks/trust.py run --work FOLDER [--suites tables ...]  # one file a task, resumable
    python benchmarks/trust.py pack --work FOLDER       # into benchmarks/results/trust.npz
    python benchmarks/trust.py fit                      # numbers of skatter.hedging.expectation
    python benchmarks/trust.py report                   # benchmarks/results/trust.md

Only ``run`` needs data. Choices were made on the tables that :func:`is_kept_apart` does not name;
figures of those are leave-one-collection-out, and the tables kept apart were scored at the end.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.linear_model import LinearRegression
from threadpoolctl import threadpool_limits

from skatter import HedgedClassifier, SCAClassifier
from skatter.hedging.expectation import SPREAD, calibration_power, sharpened
from skatter_bench.suites import get_suite
from skatter_bench.tasks import Task, load_problem
from studies import over_sets, pack_tasks, unpack_tasks

Array = NDArray[Any]
RESULTS = Path(__file__).parent / "results"
NUMBERS = Path(__file__).parents[1] / "src/skatter/hedging/expectation.json"

TABLES = "tables"
IMAGES = ("table1", "table2", "office-effnet", "amazon-400")
"""Suites whose columns share one unit: they are not standardised."""

METRICS = ("accuracy", "balanced accuracy")

COLLECTIONS = (
    "adult", "bearing", "flights", "microbiome_crohn", "noaa", "occupancy", "student",
    "vowels_deterding", "vowels",
)  # fmt: skip
"""Tables whose names begin alike are of one collection, and are left out together."""

KEPT_APART = frozenset(
    {
        "bikes_washington_seasons", "chile_vote_regions", "diabetes130_readmission",
        "diabetes_virginia", "eeg_confusion", "facies_wells", "gene_breast_er", "oj_stores",
        "singlecell_pancreas_species", "taxi_payment_borough", "vowels_hillenbrand",
        "vowels_peterson_barney", "wvs_poverty",
    }
)  # fmt: skip
"""A quarter of the tables, drawn before anything was looked at; nothing was chosen on them."""


# --- run ------------------------------------------------------------------------------------------


def run_task(suite: str, task: Task, metric: str, path: Path) -> str:
    """Fit the hedge on one task, and keep what it and the champion predict."""
    problem = load_problem(task)
    known = np.isin(np.arange(len(problem.y)), problem.labelled)
    given = {"sample_domain": problem.domain, "labelled": known}
    model = HedgedClassifier(metric=metric, standardize=suite not in IMAGES)
    with threadpool_limits(1):
        model.fit(problem.X, problem.y, **given)
        X, domain = problem.X[problem.test], problem.domain[problem.test]
        shares = model.predict_proba(X, sample_domain=domain)
        members = model.member_probabilities(X, sample_domain=domain).argmax(axis=2)
        plain = np.searchsorted(model.classes_, model.champion_.predict(X))
        truth = np.searchsorted(model.classes_, problem.y[problem.test])
        record = {
            "suite": suite,
            "set": task.dataset,
            "task": task.name,
            "metric": metric,
            "champion": model.champion_.champion_,
            "champion_source": model.champion_.scores_[model.champion_.champion_],
            "consistency": model.consistency_,
            "agreement": model.agreement_,
            "members": {
                f"{each.name}, {each.scaling}": [
                    each.weight,
                    score(metric, truth, codes),
                ]
                for each, codes in zip(model.members_, members, strict=True)
            },
        }
        if suite in IMAGES:
            own = SCAClassifier().fit(problem.X, problem.y, **given)
            record["sca_classifier"] = own.score(X, problem.y[problem.test], sample_domain=domain)
    np.savez_compressed(
        path,
        record=json.dumps(record),
        shares=np.round(255 * shares).astype(np.uint8),
        plain=plain.astype(np.uint8),
        truth=truth.astype(np.uint8),
    )
    hedge = shares.argmax(axis=1)
    return (
        f"{suite} {task.dataset} {task.name} {metric}: hedge {score(metric, truth, hedge):.3f}, "
        f"champion {score(metric, truth, plain):.3f}"
    )


def score(metric: str, truth: Array, predicted: Array) -> float:
    """Return the metric; classes that the target lacks do not count."""
    if metric == "accuracy":
        return float(np.mean(truth == predicted))
    present = np.unique(truth)
    return float(np.mean([np.mean(predicted[truth == code] == code) for code in present]))


def run(work: Path, suites: list[str], metrics: list[str], workers: int) -> None:
    work.mkdir(parents=True, exist_ok=True)
    jobs = []
    for metric in metrics:
        for suite in suites:
            for place, task in enumerate(get_suite(suite).tasks):
                path = work / f"{suite}-{place:03d}-{metric.split()[0]}.npz"
                if not path.exists():
                    jobs.append((suite, task, metric, path))
    with Parallel(n_jobs=workers, return_as="generator_unordered") as parallel:
        for line in parallel(delayed(run_task)(*job) for job in jobs):
            print(line, flush=True)


# --- the record -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Outcome:
    """One task: what was seen without labels, and what came out."""

    record: dict[str, Any]
    shares: Array
    plain: Array
    truth: Array

    @property
    def metric(self) -> str:
        """What counts."""
        return self.record["metric"]

    @property
    def hedge(self) -> Array:
        """Codes that the hedge predicts."""
        return self.shares.argmax(axis=1)

    @property
    def accuracy(self) -> float:
        """Of the hedge."""
        return score(self.metric, self.truth, self.hedge)

    @property
    def champion(self) -> float:
        """The metric of the champion."""
        return score(self.metric, self.truth, self.plain)

    @property
    def gain(self) -> float:
        """What the hedge has more."""
        return self.accuracy - self.champion

    @property
    def collection(self) -> str:
        """Tables of one collection are left out together."""
        name = self.record["set"]
        return next((each for each in COLLECTIONS if name.startswith(each)), name)

    @property
    def kept_apart(self) -> bool:
        """Whether nothing was chosen on it."""
        return self.record["set"] in KEPT_APART

    @property
    def agreement(self) -> float:
        """Of the members on the target."""
        return self.record["agreement"]

    @property
    def signs(self) -> list[float]:
        """What the accuracy is estimated by."""
        source_score = self.record["champion_source"]
        return [source_score, source_score * self.agreement]

    @property
    def differ(self) -> float:
        """Share of samples for which hedge and champion differ."""
        return float(np.mean(self.hedge != self.plain))

    def calibrated(self, accuracy: float) -> Array:
        """Return the shares with a mean confidence that is the accuracy to expect."""
        shares = (self.shares.astype(float) + 0.5) / (255 + 0.5 * self.shares.shape[1])
        expected = float(np.clip(accuracy, 1 / shares.shape[1], 0.995))
        return sharpened(shares, calibration_power(shares, expected))

    def expected_gain(self, accuracy: float) -> float:
        """Return what calibrated shares say the hedge has more than the champion."""
        shares, every = self.calibrated(accuracy), np.arange(len(self.truth))
        return float(np.mean(shares[every, self.hedge] - shares[every, self.plain]))


PARTS = ("shares", "plain", "truth")


def pack(work: Path) -> None:
    pack_tasks(work, RESULTS / "trust.npz", PARTS)


def outcomes() -> tuple[list[Outcome], str]:
    records, parts, machine = unpack_tasks(RESULTS / "trust.npz", PARTS)
    return [Outcome(r, *p) for r, p in zip(records, parts, strict=True)], machine


# --- fit ------------------------------------------------------------------------------------------


def fit_accuracy(tasks: list[Outcome]) -> tuple[float, Array]:
    """Fit the accuracy in the target by least squares."""
    signs = np.array([each.signs for each in tasks])
    model = LinearRegression().fit(signs, [each.accuracy for each in tasks])
    return float(model.intercept_), model.coef_


def left_out(tasks: list[Outcome]) -> Array:
    """Estimate the accuracy of every task by numbers fitted on other collections."""
    names = np.array([each.collection for each in tasks])
    signs = np.array([each.signs for each in tasks])
    out = np.zeros(len(tasks))
    for name in np.unique(names):
        own = names == name
        intercept, slopes = fit_accuracy([t for t, o in zip(tasks, own, strict=True) if not o])
        out[own] = intercept + signs[own] @ slopes
    return np.clip(out, 0, 0.995)


ADAPT, PLAIN = 0.20, 0.31
"""Shares of the tasks that are told to adapt, and not to; the others are in doubt."""

FLOOR = 0.02
"""Added to the share on which models differ before its root scales the interval of the gain."""


def fit_numbers(tasks: list[Outcome]) -> dict[str, dict[str, float]]:
    """Fit all numbers of one metric; intervals and thresholds by collections left out."""
    intercept, slopes = fit_accuracy(tasks)
    estimate = left_out(tasks)
    truth = np.array([each.accuracy for each in tasks])
    spread = SPREAD - np.array([each.agreement for each in tasks])
    gain = np.array([t.expected_gain(e) for t, e in zip(tasks, estimate, strict=True)])
    off = np.array([t.gain for t in tasks]) - gain
    scale = np.sqrt(np.array([t.differ for t in tasks]) + FLOOR)
    scaled = off / scale
    numbers = {
        "accuracy": {
            "intercept": intercept,
            "source_score": float(slopes[0]),
            "agreement": float(slopes[1]),
            "half_width": float(np.quantile(np.abs(truth - estimate) / spread, 0.9)),
        },
        "gain": {
            "floor": FLOOR,
            "low": float(np.quantile(scaled, 0.05)),
            "high": float(np.quantile(scaled, 0.95)),
            "adapt_above": float(np.quantile(gain / scale, 1 - ADAPT)),
            "plain_below": float(np.quantile(gain / scale, PLAIN)),
        },
    }
    return {part: {k: round(v, 4) for k, v in values.items()} for part, values in numbers.items()}


def fit() -> None:
    found, _ = outcomes()
    tasks = [t for t in found if t.record["suite"] == TABLES and t.metric == "accuracy"]
    fitted = fit_numbers([t for t in tasks if not t.kept_apart])
    # Numbers of its own, fitted on as many tasks, made worse verdicts of balanced accuracy.
    numbers = dict.fromkeys(METRICS, fitted)
    NUMBERS.write_text(json.dumps(numbers, indent=2) + "\n", encoding="utf-8")
    print(NUMBERS.read_text(encoding="utf-8"))


# --- report ---------------------------------------------------------------------------------------


def hedge_lines(tasks: list[Outcome]) -> list[str]:
    gains = np.array([t.gain for t in tasks])
    return [
        f"{100 * over_sets(tasks, lambda t: t.accuracy):.1f}",
        f"{100 * over_sets(tasks, lambda t: t.champion):.1f}",
        f"{100 * over_sets(tasks, lambda t: t.gain):+.1f}",
        f"{100 * np.mean(gains < -0.02):.0f} %",
        f"{100 * gains.min():.1f}",
    ]


@dataclass(frozen=True)
class Judged:
    """How good the judgement was on some tasks."""

    error: float
    covered: float
    given: float
    right: float
    gain_covered: float
    confidence: float
    accuracy: float


def judged(tasks: list[Outcome], estimate: Array, numbers: dict[str, Any]) -> Judged:
    truth = np.array([t.accuracy for t in tasks])
    gains = np.array([t.gain for t in tasks])
    half = numbers["accuracy"]["half_width"] * (SPREAD - np.array([t.agreement for t in tasks]))
    expected = np.array([t.expected_gain(e) for t, e in zip(tasks, estimate, strict=True)])
    scale = np.sqrt(np.array([t.differ for t in tasks]) + FLOOR)
    part = numbers["gain"]
    adapt, plain = expected / scale > part["adapt_above"], expected / scale < part["plain_below"]
    right = np.where(adapt, gains > 0, gains < 0.01)[adapt | plain]
    inside = (gains >= expected + part["low"] * scale) & (gains <= expected + part["high"] * scale)
    shares = [t.calibrated(e).max(axis=1) for t, e in zip(tasks, estimate, strict=True)]
    return Judged(
        float(np.mean(np.abs(truth - estimate))),
        float(np.mean(np.abs(truth - estimate) <= half)),
        float(np.mean(adapt | plain)),
        float(np.mean(right)),
        float(np.mean(inside)),
        float(np.mean([each.mean() for each in shares])),
        float(np.mean([np.mean(t.hedge == t.truth) for t in tasks])),
    )


def judgement_line(name: str, found: Judged) -> str:
    return (
        f"| {name} | {100 * found.error:.1f} | {100 * found.covered:.0f} % | "
        f"{100 * found.given:.0f} % | {100 * found.right:.0f} % | {100 * found.gain_covered:.0f} % "
        f"| {found.confidence:.3f} / {found.accuracy:.3f} |"
    )


def table(heads: list[str], rows: list[list[str]]) -> list[str]:
    return [
        "| " + " | ".join(heads) + " |",
        "| :--- |" + " ---: |" * (len(heads) - 1),
        *("| " + " | ".join(row) + " |" for row in rows),
        "",
    ]


def report(docs: Path | None) -> None:
    found, machine = outcomes()
    lines = ["<!-- made by benchmarks/trust.py -->", "", f"Machine: {machine}.", ""]
    parts = {"used for choices": False, "kept apart": True}
    heads = ["tables", "hedge", "champion", "gain", "more than 2 below", "worst"]
    for metric in METRICS:
        tasks = [t for t in found if t.record["suite"] == TABLES and t.metric == metric]
        if not tasks:
            continue
        rows = []
        for name, apart in parts.items():
            some = [t for t in tasks if t.kept_apart == apart]
            if not some:
                continue
            n_sets = len({t.record["set"] for t in some})
            rows.append([f"{name}: {n_sets} tables, {len(some)} tasks", *hedge_lines(some)])
        rows.append([f"all: {len(tasks)} tasks", *hedge_lines(tasks)])
        lines += [f"**{metric.capitalize()}, one source, one target, mean over tables**", ""]
        lines += table(heads, rows)
        lines += judgement_lines(tasks, json.loads(NUMBERS.read_text())[metric])
        if metric == "accuracy":
            lines += member_lines(tasks) + loss_lines(tasks)
    lines += source_lines(found) + image_lines(found)
    text = "\n".join(lines) + "\n"
    (RESULTS / "trust.md").write_text("# Can it be trusted?\n\n" + text, encoding="utf-8")
    if docs is not None:
        put_between(docs, "trust", text)
    print(text)


def judgement_lines(tasks: list[Outcome], numbers: dict[str, Any]) -> list[str]:
    used = [t for t in tasks if not t.kept_apart]
    apart = [t for t in tasks if t.kept_apart]
    fitted = numbers["accuracy"]
    signs = np.array([t.signs for t in apart])
    estimate = fitted["intercept"] + signs @ [fitted["source_score"], fitted["agreement"]]
    return [
        "| judgement | mean error of the estimate | its interval covers | verdict given | verdict "
        "right | interval of the gain covers | confidence / accuracy |",
        "| :--- | ---: | ---: | ---: | ---: | ---: | ---: |",
        judgement_line("other collections left out", judged(used, left_out(used), numbers)),
        judgement_line("tables kept apart", judged(apart, np.clip(estimate, 0, 0.995), numbers)),
        "",
    ]


def _alone(task: Outcome, name: str) -> float:
    return task.record["members"][name][1]


def member_lines(tasks: list[Outcome]) -> list[str]:
    names = dict.fromkeys(name for t in tasks for name in t.record["members"])
    rows = []
    for name in names:
        there = [t for t in tasks if name in t.record["members"]]
        accuracy = over_sets(there, partial(_alone, name=name))
        champion = over_sets(there, lambda t: t.champion)
        weight = np.mean([t.record["members"][name][0] for t in there])
        rows.append(
            [
                name,
                str(len(there)),
                f"{100 * accuracy:.1f}",
                f"{100 * champion:.1f}",
                f"{weight:.2f}",
            ]
        )
    heads = ["member", "tasks", "accuracy", "champion there", "mean weight"]
    return ["**What each member would do alone**", "", *table(heads, rows)]


def loss_lines(tasks: list[Outcome], n: int = 10) -> list[str]:
    worst = sorted(tasks, key=lambda t: t.gain)[:n]
    rows = [
        [
            f"{t.record['set']}, {t.record['task']}{' (kept apart)' if t.kept_apart else ''}",
            f"{100 * t.accuracy:.1f}",
            f"{100 * t.champion:.1f}",
            f"{100 * t.gain:+.1f}",
        ]
        for t in worst
    ]
    return ["**Where it loses most**", "", *table(["task", "hedge", "champion", "gain"], rows)]


def source_lines(found: list[Outcome]) -> list[str]:
    tasks = [t for t in found if t.record["suite"] == "tables-sources"]
    if not tasks:
        return []
    heads = ["tables", "hedge", "champion", "gain", "more than 2 below", "worst"]
    rows = [[f"all: {len(tasks)} tasks", *hedge_lines(tasks)]]
    return ["**Accuracy, all other domains are sources**", "", *table(heads, rows)]


def image_lines(found: list[Outcome]) -> list[str]:
    rows = []
    for suite in IMAGES:
        tasks = [t for t in found if t.record["suite"] == suite]
        for name in dict.fromkeys(t.record["set"] for t in tasks):
            some = [t for t in tasks if t.record["set"] == name]
            rows.append(
                [
                    f"{name}, {len(some)} tasks",
                    *(
                        f"{100 * np.mean(values):.1f}"
                        for values in (
                            [t.accuracy for t in some],
                            [t.record["sca_classifier"] for t in some],
                            [t.champion for t in some],
                        )
                    ),
                ]
            )
    heads = ["images and text", "hedge", "SCAClassifier", "champion"]
    return ["**Images and text, columns in one unit**", "", *table(heads, rows)] if rows else []


def put_between(path: Path, name: str, text: str, *, script: str = "trust") -> None:
    """Replace what stands between two marks of a page."""
    page = path.read_text(encoding="utf-8")
    start, end = f"<!-- {name}: made by benchmarks/{script}.py -->", f"<!-- end of {name} -->"
    before, rest = page.split(start)
    path.write_text(f"{before}{start}\n\n{text}\n{end}{rest.split(end)[1]}", encoding="utf-8")


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("step", choices=("run", "pack", "fit", "report"))
    parser.add_argument("--work", type=Path, default=Path("trust-work"))
    parser.add_argument("--suites", nargs="+", default=[TABLES])
    parser.add_argument("--metrics", nargs="+", default=["accuracy"])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--docs", type=Path)
    given = parser.parse_args(arguments)
    if given.step == "run":
        run(given.work, given.suites, given.metrics, given.workers)
    elif given.step == "pack":
        pack(given.work)
    elif given.step == "fit":
        fit()
    else:
        report(given.docs)


if __name__ == "__main__":
    main(sys.argv[1:])
