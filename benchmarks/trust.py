"""Can it be trusted? The hedge against the champion on everyday tables and on image features.

    python benchmarks/trust.py run --work FOLDER [--suites tables ...]  # one file a task, resumable
    python benchmarks/trust.py pack --work FOLDER       # into benchmarks/results/trust.npz
    python benchmarks/trust.py reverse                  # adds the way back, after weights changed
    python benchmarks/trust.py fit                      # numbers of skatter.hedging._expectation
    python benchmarks/trust.py report                   # benchmarks/results/trust.md

Only ``run`` and ``reverse`` need data. The first keeps what every member says of the target, so
that weights, estimates and verdicts are computed again by ``fit`` and ``report``, without fitting
anything. All numbers that judge a table are fitted on tables of other collections.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import sparse
from sklearn.linear_model import QuantileRegressor
from threadpoolctl import threadpool_limits

from skatter import HedgedClassifier, SCAClassifier
from skatter.domains import read_domains
from skatter.hedging._champion import make_scaler, score_with
from skatter.hedging._classifier import SELF_TRAINING
from skatter.hedging._expectation import (
    SPREAD,
    SURE,
    Signs,
    calibration_power,
    expected_accuracy,
    sharpened,
    votes_of,
)
from skatter.hedging._members import Member, Views, scale_domains
from skatter.hedging._reverse import reverse_score
from skatter.hedging._transfer import Transfer
from skatter.hedging._weights import Vote, correct, hold_vote, pool
from skatter.selection._asking import Estimate
from skatter_bench.suites import get_suite
from skatter_bench.tasks import Task, load_problem
from studies import over_sets, pack_tasks, save_tasks, unpack_tasks

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
"""A quarter of the tables, drawn before anything was looked at; they were read twice since."""


# --- run ------------------------------------------------------------------------------------------


def run_task(suite: str, task: Task, metric: str, path: Path) -> str:
    """Fit the hedge on one task, and keep what its members predict."""
    problem = load_problem(task)
    known = np.isin(np.arange(len(problem.y)), problem.labelled)
    given = {"sample_domain": problem.domain, "labelled": known}
    model = HedgedClassifier(metric=metric, standardize=suite not in IMAGES)
    with threadpool_limits(1):
        model.fit(problem.X, problem.y, **given)
        X, domain = problem.X[problem.test], problem.domain[problem.test]
        shares = model.member_probabilities(X, sample_domain=domain)
        truth = np.searchsorted(model.classes_, problem.y[problem.test])
        hedge = np.searchsorted(model.classes_, model.predict(X, sample_domain=domain))
        plain = np.searchsorted(model.classes_, model.champion_.predict(X))
        scores = {"hedge": score(metric, truth, hedge), "champion": score(metric, truth, plain)}
        if suite in IMAGES:
            # As it is a member of the hedge.
            own = SCAClassifier(**SELF_TRAINING)
            own.fit(problem.X, problem.y, **given)
            scores["SCAClassifier"] = own.score(X, problem.y[problem.test], sample_domain=domain)
    transfer = model.transfer_
    record = {
        "suite": suite,
        "set": task.dataset,
        "task": task.name,
        "metric": metric,
        "champion": model.champion_.champion_,
        "prior": model.prior_.tolist(),
        "members": [[each.name, each.scaling, each.source_score] for each in model.members_],
        "transfer": transfer and [transfer.scores.tolist(), transfer.pooled, transfer.scaled],
        "residual": model.residual_scatter_,
        "recall": model.champion_.contender(model.champion_.champion_).recall.tolist(),
        "scores": scores,
    }
    # Of images, the accuracies are all that is shown.
    parts = (
        {} if suite in IMAGES else {"shares": quantised(shares), "truth": truth.astype(np.uint8)}
    )
    np.savez_compressed(path, record=json.dumps(record), **parts)
    return f"{suite} {task.dataset} {task.name} {metric}: {scores}"


def quantised(shares: Array) -> Array:
    """Return shares as bytes, without the last class: rows sum to one."""
    return np.round(255 * shares[:, :, :-1]).astype(np.uint8)


def restored(parts: Array) -> Array:
    shares = parts / 255
    last = np.maximum(1 - shares.sum(axis=2, keepdims=True), 0)
    shares = np.concatenate([shares, last], axis=2)
    return shares / shares.sum(axis=2, keepdims=True)


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
    parts: Array
    truth: Array

    @property
    def metric(self) -> str:
        """What counts."""
        return self.record["metric"]

    @cached_property
    def members(self) -> list[Member]:
        """Members as the hedge weighs them."""
        return [
            Member(name, scaling, source_score is None, None, source_score)
            for name, scaling, source_score in self.record["members"]
        ]

    @cached_property
    def shares(self) -> Array:
        """What members say."""
        return restored(self.parts)

    @cached_property
    def transfer(self) -> Transfer | None:
        """How the rehearsal on sources left out went."""
        found = self.record["transfer"]
        return found and Transfer(np.array(found[0]), found[1], found[2])

    @cached_property
    def vote(self) -> Vote:
        """How members vote."""
        return hold_vote(
            self.members,
            self.shares,
            self.record["champion"],
            np.array(self.record["prior"]),
            self.metric,
            transfer=self.transfer,
            residual=self.record["residual"],
        )

    @cached_property
    def pooled(self) -> Array:
        """Shares of the hedge, before they are calibrated."""
        return pool(self.vote.weights, self.shares, self.vote.odds)

    @cached_property
    def hedge(self) -> Array:
        """Codes that the hedge predicts."""
        return self.pooled.argmax(axis=1)

    @cached_property
    def best(self) -> int:
        """Place of the champion among the members."""
        return [each.name for each in self.members].index(self.record["champion"])

    @property
    def plain(self) -> Array:
        """Codes that the champion predicts."""
        return self.shares[self.best].argmax(axis=1)

    @cached_property
    def accuracy(self) -> float:
        """Of the hedge."""
        return score(self.metric, self.truth, self.hedge)

    @cached_property
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
        """Whether it was kept apart at first."""
        return self.record["set"] in KEPT_APART

    @property
    def agreement(self) -> float:
        """Of the members on the target."""
        return float(self.vote.agreement.mean())

    @property
    def source_score(self) -> float:
        """Of the champion, for the class frequencies of the target."""
        own, recall = self.members[self.best].source_score, self.record["recall"]
        return score_with(self.vote.frequencies, own, recall, self.metric)

    @property
    def transfer_score(self) -> float:
        """Of sources left out, or of the way back from the target to the source."""
        return self.record["reverse"] if self.transfer is None else self.transfer.scores.mean()

    @property
    def signs(self) -> Signs:
        """What the estimate goes by."""
        return Signs(
            self.source_score, self.agreement, self.transfer_score, self.record["residual"]
        )

    @property
    def differ(self) -> float:
        """Share of samples for which hedge and champion differ."""
        return float(np.mean(self.hedge != self.plain))

    @property
    def support(self) -> float:
        """Share of the members that predict as the hedge does, less that of the champion."""
        votes, every = votes_of(correct(self.shares, self.vote.odds)), np.arange(len(self.truth))
        return float(np.mean(votes[every, self.hedge] - votes[every, self.plain]))

    def calibrated(self, accuracy: float) -> Array:
        """Return the shares with a mean confidence that is the accuracy to expect."""
        return sharpened(self.pooled, calibration_power(self.pooled, accuracy))


PARTS = ("shares", "truth")


STORE = RESULTS / "trust.npz"


def pack(work: Path) -> None:
    pack_tasks(work, STORE, PARTS)


def outcomes() -> tuple[list[Outcome], str]:
    records, parts, machine = unpack_tasks(STORE, PARTS)
    return [Outcome(r, *p) for r, p in zip(records, parts, strict=True)], machine


# --- the way back ---------------------------------------------------------------------------------


def way_back(task: Task, predicted: Array, metric: str) -> float:
    """Return how well the target, as the hedge predicts it, teaches the labels of the sources."""
    problem = load_problem(task)
    known = np.isin(np.arange(len(problem.y)), problem.labelled)
    domains = read_domains(problem.y, problem.domain, labelled=known)
    pooled = make_scaler(sparse.issparse(problem.X), True).fit_transform(problem.X)
    ids = domains.domain_ids[domains.domain]
    X = Views(pooled, scale_domains(pooled, domains), ids).of("domain")
    source, label = X[problem.labelled], domains.label[problem.labelled]
    with threadpool_limits(1):
        return reverse_score(X[problem.test], predicted, source, label, metric, 0)


def reverse(workers: int) -> None:
    found, machine = outcomes()
    shown = [t for t in found if t.record["suite"] not in IMAGES]
    tasks = {
        (suite, task.dataset, task.name): task
        for suite in {t.record["suite"] for t in shown}
        for task in get_suite(suite).tasks
    }
    jobs = (
        delayed(way_back)(
            tasks[t.record["suite"], t.record["set"], t.record["task"]], t.hedge, t.metric
        )
        for t in shown
    )
    for task, score in zip(shown, Parallel(n_jobs=workers)(jobs), strict=True):
        task.record["reverse"] = score
    parts = [(t.parts, t.truth) for t in found]
    save_tasks(STORE, [t.record for t in found], parts, PARTS, machine)


# --- fit ------------------------------------------------------------------------------------------


TOLD = {"accuracy": (0.22, 0.30), "balanced accuracy": (0.40, 0.12)}
"""Shares of the tasks that are told to adapt, and not to; the others are in doubt."""

FLOOR = 0.02
"""Added to the share on which models differ before its root scales the interval of the gain."""

RIGHT = 0.01
"""Gain below which "do not adapt" is right."""


class Study:
    """Tasks of one metric, each judged by numbers that were fitted on other collections."""

    def __init__(self, tasks: list[Outcome]) -> None:
        self.metric = tasks[0].metric
        self.collection = np.array([t.collection for t in tasks])
        self.signs = np.array([t.signs.terms for t in tasks])
        self.accuracy = np.array([t.accuracy for t in tasks])
        self.gain = np.array([t.gain for t in tasks])
        self.spread = SPREAD - np.array([t.agreement for t in tasks])
        self.scale = np.sqrt(np.array([t.differ for t in tasks]) + FLOOR)
        self.support = np.array([t.support for t in tasks])
        least = np.array([1 / t.shares.shape[2] for t in tasks])
        self.estimate = np.clip(self._left_out(), least, SURE)
        self.confidence, self.expected = np.empty(len(tasks)), np.empty(len(tasks))
        for place, (task, value) in enumerate(zip(tasks, self.estimate, strict=True)):
            shares, every = task.calibrated(value), np.arange(len(task.truth))
            self.confidence[place] = shares.max(axis=1).mean()
            own = shares[every, task.hedge] - shares[every, task.plain]
            self.expected[place] = own.mean()

    def line(self, rows: Array) -> QuantileRegressor:
        """Fit the accuracy in the target, with the least mean absolute error."""
        return QuantileRegressor(alpha=0).fit(self.signs[rows], self.accuracy[rows])

    def _left_out(self) -> Array:
        out = np.empty(len(self.accuracy))
        for name in np.unique(self.collection):
            own = self.collection == name
            out[own] = self.line(~own).predict(self.signs[own])
        return out

    def numbers(self, rows: Array) -> dict[str, dict[str, float]]:
        """Fit all numbers on some tasks; intervals and thresholds by collections left out."""
        line = self.line(rows)
        off = np.abs(self.accuracy - self.estimate) / self.spread
        scaled = ((self.gain - self.expected) / self.scale)[rows]
        support, (adapt, plain) = self.support[rows], TOLD[self.metric]
        found = {
            "accuracy": {
                "intercept": line.intercept_,
                "slope": line.coef_[0],
                "apart": line.coef_[1],
                "half_width": np.quantile(off[rows], 0.9),
            },
            "gain": {
                "floor": FLOOR,
                "low": np.quantile(scaled, 0.05),
                "high": np.quantile(scaled, 0.95),
                "adapt_above": np.quantile(support, 1 - adapt),
                "plain_below": np.quantile(support, plain),
            },
        }
        return {
            part: {name: round(float(value), 4) for name, value in values.items()}
            for part, values in found.items()
        }

    def judged(self) -> dict[str, Array]:
        """Say of each task whether intervals cover, and a verdict is given and right."""
        out = {name: np.zeros(len(self.gain), dtype=bool) for name in JUDGED}
        off = self.gain - self.expected
        for name in np.unique(self.collection):
            own = self.collection == name
            part = self.numbers(~own)
            adapt = self.support > part["gain"]["adapt_above"]
            plain = self.support < part["gain"]["plain_below"]
            out["given"][own] = (adapt | plain)[own]
            out["right"][own] = np.where(adapt, self.gain > 0, self.gain < RIGHT)[own]
            wide = part["accuracy"]["half_width"] * self.spread
            out["covers"][own] = (np.abs(self.accuracy - self.estimate) <= wide)[own]
            low, high = (part["gain"][end] * self.scale for end in ("low", "high"))
            out["gain covers"][own] = ((off >= low) & (off <= high))[own]
        return out


JUDGED = ("covers", "given", "right", "gain covers")


def fit() -> None:
    found, _ = outcomes()
    numbers = {}
    for metric in METRICS:
        tasks = [t for t in found if t.record["suite"] == TABLES and t.metric == metric]
        numbers[metric] = Study(tasks).numbers(np.ones(len(tasks), dtype=bool))
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


HEADS = ["tables", "hedge", "champion", "gain", "more than 2 below", "worst"]


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
    for metric in METRICS:
        tasks = [t for t in found if t.record["suite"] == TABLES and t.metric == metric]
        rows = []
        for name, some in parted(tasks).items():
            n_sets = len({tasks[i].record["set"] for i in some})
            label = f"{name}: {n_sets} tables, {len(some)} tasks"
            rows.append([label, *hedge_lines([tasks[i] for i in some])])
        lines += [f"**{metric.capitalize()}, one source, one target, mean over tables**", ""]
        lines += table(HEADS, rows) + judgement_lines(tasks)
        if metric == "accuracy":
            lines += member_lines(tasks) + loss_lines(tasks)
    lines += source_lines(found) + image_lines(found)
    text = "\n".join(lines) + "\n"
    (RESULTS / "trust.md").write_text("# Can it be trusted?\n\n" + text, encoding="utf-8")
    if docs is not None:
        put_between(docs, "trust", text)
    print(text)


def parted(tasks: list[Outcome]) -> dict[str, list[int]]:
    """Return the places of all tasks, and of those once kept apart and not."""
    apart = [i for i, t in enumerate(tasks) if t.kept_apart]
    used = [i for i, t in enumerate(tasks) if not t.kept_apart]
    return {"all": list(range(len(tasks))), "used for choices": used, "once kept apart": apart}


def judgement_lines(tasks: list[Outcome]) -> list[str]:
    study = Study(tasks)
    verdicts = study.judged()
    heads = [
        "judgement", "mean error of the estimate", "its interval covers", "verdict given",
        "verdict right", "interval of the gain covers", "confidence / accuracy",
    ]  # fmt: skip
    rows = []
    for name, some in parted(tasks).items():
        given = verdicts["given"][some]
        rows.append(
            [
                name,
                f"{100 * np.mean(np.abs(study.accuracy - study.estimate)[some]):.1f}",
                f"{100 * np.mean(verdicts['covers'][some]):.0f} %",
                f"{100 * np.mean(given):.0f} %",
                f"{100 * np.mean(verdicts['right'][some][given]):.0f} %",
                f"{100 * np.mean(verdicts['gain covers'][some]):.0f} %",
                f"{study.confidence[some].mean():.3f} / {study.accuracy[some].mean():.3f}",
            ]
        )
    return table(heads, rows)


def member_lines(tasks: list[Outcome]) -> list[str]:
    found: dict[str, list[tuple[Outcome, int]]] = {}
    for task in tasks:
        for place, each in enumerate(task.members):
            found.setdefault(f"{each.name}, {each.scaling}", []).append((task, place))
    rows = []
    for name, there in found.items():
        places = {id(task): place for task, place in there}
        some = [task for task, _ in there]

        def alone(task: Outcome, places: dict[int, int] = places) -> float:
            codes = task.shares[places[id(task)]].argmax(axis=1)
            return score(task.metric, task.truth, codes)

        weight = np.mean([task.vote.weights[place] for task, place in there])
        rows.append(
            [
                name,
                str(len(some)),
                f"{100 * over_sets(some, alone):.1f}",
                f"{100 * over_sets(some, lambda t: t.champion):.1f}",
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
    """Show what the rehearsal between sources is worth, to the vote and to the estimate."""
    tasks = [t for t in found if t.record["suite"] == "tables-sources"]
    if not tasks:
        return []
    without = [replace_transfer(t) for t in tasks]
    n_sets = len({t.record["set"] for t in tasks})
    rows = [
        [f"{name}: {n_sets} tables, {len(tasks)} tasks", *hedge_lines(some)]
        for name, some in (("rehearsed", tasks), ("not rehearsed", without))
    ]
    lines = ["**Accuracy, all other domains are sources**", "", *table(HEADS, rows)]
    errors = []
    for name, some in (("rehearsal", tasks), ("the way back", without)):
        estimates = [expected(t) for t in some]
        truth = np.array([t.accuracy for t in some])
        off = np.abs(truth - [each.value for each in estimates])
        inside = [e.low <= a <= e.high for e, a in zip(estimates, truth, strict=True)]
        errors.append([name, f"{100 * off.mean():.1f}", f"{100 * np.mean(inside):.0f} %"])
    heads = ["test of transfer", "mean error of the estimate", "its interval covers"]
    return lines + table(heads, errors)


def replace_transfer(task: Outcome) -> Outcome:
    """Return a task as it would be without the rehearsal."""
    return Outcome({**task.record, "transfer": None}, task.parts, task.truth)


def expected(task: Outcome) -> Estimate:
    """Return the accuracy to expect, by the numbers of one source."""
    return expected_accuracy(task.signs, task.shares.shape[2], task.metric)


def image_lines(found: list[Outcome]) -> list[str]:
    tasks = [t.record for t in found if t.record["suite"] in IMAGES]
    methods = ("hedge", "SCAClassifier", "champion")
    rows = []
    for name in dict.fromkeys(each["set"] for each in tasks):
        some = [each["scores"] for each in tasks if each["set"] == name]
        means = (f"{100 * np.mean([each[method] for each in some]):.1f}" for method in methods)
        rows.append([f"{name}, {len(some)} tasks", *means])
    heads = ["images and text", *methods]
    return ["**Images and text, columns in one unit**", "", *table(heads, rows)] if rows else []


def put_between(path: Path, name: str, text: str, *, script: str = "trust") -> None:
    """Replace what stands between two marks of a page."""
    page = path.read_text(encoding="utf-8")
    start, end = f"<!-- {name}: made by benchmarks/{script}.py -->", f"<!-- end of {name} -->"
    before, rest = page.split(start)
    path.write_text(f"{before}{start}\n\n{text}\n{end}{rest.split(end)[1]}", encoding="utf-8")


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("step", choices=("run", "pack", "reverse", "fit", "report"))
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
    elif given.step == "reverse":
        reverse(given.workers)
    elif given.step == "fit":
        fit()
    else:
        report(given.docs)


if __name__ == "__main__":
    main(sys.argv[1:])
