"""Labels that are numbers: the hedge against the champion on everyday tables.

    python benchmarks/hedged_numbers.py run --work FOLDER   # one file a task, resumable
    python benchmarks/hedged_numbers.py pack --work FOLDER  # into results/hedged_numbers.npz
    python benchmarks/hedged_numbers.py fit                 # numbers of skatter.hedging.error
    python benchmarks/hedged_numbers.py report              # results/hedged_numbers.md

Only ``run`` needs data. Tasks are those of the suite ``tables-numbers``, one source and one target,
and one task from all other domains for each table with three or more. Choices were made on the
tables that :data:`KEPT_APART` does not name, and those were scored at the end.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from skatter import HedgedRegressor
from skatter.datasets.everyday_tables import EVERYDAY_TABLES
from skatter.hedging.error import shrunken_shift, widening
from skatter_bench.suites import get_suite
from skatter_bench.tasks import Sample, Task, load_problem
from studies import pack_tasks, unpack_tasks
from trust import RESULTS, put_between, table

Array = NDArray[Any]
NUMBERS = Path(__file__).parents[1] / "src/skatter/hedging/error.json"
STORE = RESULTS / "hedged_numbers.npz"

KEPT_APART = frozenset(
    {"auto_mpg_origin", "gas_turbine_nox", "hsb_math_sector", "pc_prices_time", "school_ilea_139"}
)
"""A quarter of the tables, drawn before anything was looked at:
``np.random.default_rng(18).permutation(sorted(names))[:5]``."""

COVERAGES = (0.5, 0.8, 0.9, 0.95)
PAIR, SOURCES = "one source", "several sources"
WORSE = 1.05
"""Error of the hedge, in units of the champion's, above which it counts as worse."""

N_LABELS = 10
"""Labels of the target, where some are given."""


# --- run ------------------------------------------------------------------------------------------


def all_tasks() -> Iterator[tuple[str, Task]]:
    """Yield the tasks, those with one source first."""
    for task in get_suite("tables-numbers").tasks:
        yield PAIR, task
    for each in EVERYDAY_TABLES.values():
        names = tuple(each.domains)
        if each.task == "regression" and len(names) > 2:
            # The largest domain but the first is the target: it is there, and large enough.
            target = max(names[1:], key=lambda name: each.domains[name])
            others = tuple(name for name in names if name != target)
            yield (
                SOURCES,
                Task(f"others->{target}", each.name, others, (target,), "adaptation", 0, each.name,
                     "table", sample=Sample(1500, 800)),
            )  # fmt: skip


def run_task(kind: str, task: Task, path: Path) -> str:
    """Fit the hedge on one task, and keep what its members and the champion predict."""
    problem = load_problem(task)
    y = np.asarray(problem.y, dtype=float)
    known = np.isin(np.arange(len(y)), problem.labelled)
    model = HedgedRegressor()
    with threadpool_limits(1):
        model.fit(problem.X, y, sample_domain=problem.domain, labelled=known)
        X, domain = problem.X[problem.test], problem.domain[problem.test]
        members = model.member_predictions(X, sample_domain=domain)
        plain = model.champion_.predict(X)
    scale, truth = float(y[known].std()), y[problem.test]
    record = {
        "kind": kind,
        "set": task.dataset,
        "task": task.name,
        "champion": model.champion_.champion_,
        "mean": float(y[known].mean()),
        "scale": scale,
        "source_error": model.source_error_ / scale,
        "widening": model.widening_ / widening(1.0, by_source=model.by_source_),
        "by_source": model.by_source_,
        "signs": [model.contradiction_, model.separation_],
        "doubt": model.doubt_,
        "members": [[m.name, m.scaling, m.weight, m.source_score] for m in model.members_],
    }

    def in_units(values: Array) -> Array:
        return ((values - record["mean"]) / scale).astype(np.float16)

    np.savez_compressed(
        path,
        record=json.dumps(record),
        members=in_units(members),
        plain=in_units(plain),
        truth=in_units(truth),
    )
    hedge = model.predict(X, sample_domain=domain)
    ours, theirs = (np.sqrt(np.mean((each - truth) ** 2)) / truth.std() for each in (hedge, plain))
    return f"{task.dataset} {task.name}: hedge {ours:.3f}, champion {theirs:.3f}"


def run(work: Path) -> None:
    work.mkdir(parents=True, exist_ok=True)
    for place, (kind, task) in enumerate(all_tasks()):
        path = work / f"{place:03d}.npz"
        if not path.exists():
            print(run_task(kind, task, path), flush=True)


# --- the record -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Outcome:
    """One task, numbers in units of the source labels' standard deviation."""

    record: dict[str, Any]
    members: Array
    plain: Array
    truth: Array

    @property
    def name(self) -> str:
        """Of the table."""
        return self.record["set"]

    @property
    def kept_apart(self) -> bool:
        """Whether nothing was chosen on it."""
        return self.name in KEPT_APART

    @property
    def weights(self) -> Array:
        """Of the members."""
        return np.array([each[2] for each in self.record["members"]])

    @property
    def hedge(self) -> Array:
        """What the hedge predicts."""
        return self.weights @ self.members

    @property
    def spread(self) -> Array:
        """How far members disagree on each sample."""
        return np.sqrt(self.weights @ (self.members - self.hedge) ** 2)

    def error(self, predicted: Array) -> float:
        """Root mean squared error."""
        return float(np.sqrt(np.mean((predicted - self.truth) ** 2)))

    @property
    def ratio(self) -> float:
        """Error of the hedge in units of the champion's."""
        return self.error(self.hedge) / self.error(self.plain)

    @property
    def blind(self) -> float:
        """σ √S, by which the error is estimated."""
        return self.record["source_error"] * self.record["widening"]

    @property
    def scores(self) -> Array:
        """Errors in units of what intervals are wide by."""
        unit = np.sqrt(self.record["source_error"] ** 2 + self.spread**2) * self.record["widening"]
        return np.abs(self.truth - self.hedge) / unit

    def narrowed(self, factor: float) -> Outcome:
        """Return the same with narrower intervals, where whole sources were held out."""
        wide = self.record["widening"] * (factor if self.record["by_source"] else 1)
        return replace(self, record={**self.record, "widening": wide})

    @property
    def apart(self) -> float:
        """Mean squared difference of hedge and champion."""
        return float(np.mean((self.plain - self.hedge) ** 2))

    @property
    def gain(self) -> float:
        """Share of the champion's error that the hedge saves."""
        return 1 - self.ratio


PARTS = ("members", "plain", "truth")


def pack(work: Path) -> None:
    pack_tasks(work, STORE, PARTS)


def outcomes() -> tuple[list[Outcome], str]:
    records, parts, machine = unpack_tasks(STORE, PARTS)
    found = [
        Outcome(r, *(p.astype(float) for p in own)) for r, own in zip(records, parts, strict=True)
    ]
    return found, machine


def by_set(tasks: list[Outcome], value: Callable[[Outcome], float]) -> Array:
    """Return the mean over the tasks of each set."""
    found: dict[str, list[float]] = {}
    for each in tasks:
        found.setdefault(each.name, []).append(value(each))
    return np.array([np.mean(values) for values in found.values()])


def set_weights(tasks: list[Outcome]) -> Array:
    """Return weights by which every set counts the same."""
    count = Counter(each.name for each in tasks)
    return np.array([1 / count[each.name] for each in tasks])


def quantile(values: Array, weights: Array, share: float) -> float:
    order = np.argsort(values)
    below = np.cumsum(weights[order])
    return float(values[order][min(np.searchsorted(below, share * below[-1]), len(order) - 1)])


# --- fit ------------------------------------------------------------------------------------------


def fit_numbers(tasks: list[Outcome]) -> dict[str, dict[str, float]]:
    """Fit all numbers; every set counts the same."""
    weight = set_weights(tasks)
    rows, share = rows_of(tasks)
    off = np.log([t.error(t.hedge) / t.blind for t in tasks])
    factor = float(np.exp(np.average(off, weights=weight)))
    distance = fit_distance(tasks, factor, weight)
    gain = np.array([t.gain for t in tasks])
    expected = np.array([expected_gain(t, factor, distance) for t in tasks])
    scaled = (gain - expected) / gain_scale(tasks, factor)
    numbers: dict[str, dict[str, float]] = {
        "error": {
            "factor": factor,
            "low": float(np.exp(quantile(off, weight, 0.05))) / factor,
            "high": float(np.exp(quantile(off, weight, 0.95))) / factor,
        },
        "half_width": {str(level): quantile(rows, share, level) for level in COVERAGES},
        "gain": {
            "distance": distance,
            "low": quantile(scaled, weight, 0.05),
            "high": quantile(scaled, weight, 0.95),
            "adapt_above": threshold(expected, gain > 0),
            "plain_below": 0.0,
        },
    }
    return {part: {k: round(v, 4) for k, v in values.items()} for part, values in numbers.items()}


def expected_gain(task: Outcome, factor: float, distance: float) -> float:
    expected = (factor * task.blind) ** 2
    return float(1 - np.sqrt(expected / (expected + distance * task.apart)))


def gain_scale(tasks: list[Outcome], factor: float) -> Array:
    return np.sqrt([t.apart / (t.apart + (factor * t.blind) ** 2) for t in tasks])


def fit_distance(tasks: list[Outcome], factor: float, weight: Array) -> float:
    """Return k by the least absolute error of the expected gain."""
    grid = np.linspace(0, 1, 41)
    gain = np.array([t.gain for t in tasks])
    off = [
        np.average(np.abs(gain - [expected_gain(t, factor, k) for t in tasks]), weights=weight)
        for k in grid
    ]
    return float(grid[int(np.argmin(off))])


RIGHT = 0.9
"""Share of the tasks that are told to adapt for which it must help."""


def threshold(expected: Array, helps: Array) -> float:
    """Return the least expected gain above which adapting helped often enough."""
    order = np.argsort(-expected)
    share = np.cumsum(helps[order]) / np.arange(1, len(order) + 1)
    too_few = np.flatnonzero(share < RIGHT)
    n = too_few[0] if len(too_few) else len(order)
    return float(expected[order][n - 1]) if n else 1.0


def rows_of(tasks: list[Outcome]) -> tuple[Array, Array]:
    """Return the scores of all samples, and weights by which every set counts the same."""
    weight = set_weights(tasks)
    share = [np.full(len(t.truth), w / len(t.truth)) for t, w in zip(tasks, weight, strict=True)]
    return np.concatenate([t.scores for t in tasks]), np.concatenate(share)


def fit() -> None:
    found, _ = outcomes()
    pairs, several = (
        [t for t in found if t.record.get("by_source", False) == whole and not t.kept_apart]
        for whole in (False, True)
    )
    pairs = [t for t in pairs if t.record["kind"] == PAIR]
    numbers = fit_numbers(pairs)
    narrower = quantile(*rows_of(several), 0.9) / numbers["half_width"]["0.9"]
    text = json.dumps({"several_sources": round(narrower, 4), **numbers}, indent=2)
    NUMBERS.write_text(text + "\n", encoding="utf-8")
    print(NUMBERS.read_text(encoding="utf-8"))


# --- report ---------------------------------------------------------------------------------------


def relative(task: Outcome, predicted: Array) -> float:
    """Return the error in units of the standard deviation of the target's labels."""
    return task.error(predicted) / float(task.truth.std())


def hedge_row(tasks: list[Outcome], hedge: Callable[[Outcome], Array]) -> list[str]:
    ratios = np.array([t.error(hedge(t)) / t.error(t.plain) for t in tasks])
    ours = np.median(by_set(tasks, lambda t: relative(t, hedge(t))))
    theirs = np.median(by_set(tasks, lambda t: relative(t, t.plain)))
    each = by_set(tasks, lambda t: t.error(hedge(t)) / t.error(t.plain))
    return [
        f"{ours:.3f}",
        f"{theirs:.3f}",
        f"{ours / theirs:.3f}",
        f"{np.median(each):.3f}",
        f"{100 * np.mean(ratios > WORSE):.0f} %",
        f"{ratios.max():.2f}",
    ]


RULES = [
    (errors, distance, doubted)
    for errors in (1.0, 2.0, 4.0, 6.0, 8.0)
    for distance in (0.0, 1.0)
    for doubted in (0.9, 1.1, 1.3, np.inf)
]
"""Power of pooled members' errors, use of the distance, and where doubt begins: the choice."""


def by_rule(task: Outcome, rule: tuple[float, float, float]) -> Array:
    """Return what the hedge would predict under other weights."""
    power, use, doubted = rule
    members, found = task.record["members"], np.zeros(len(task.truth))
    doubt = float(
        np.clip((task.record["signs"][0] * task.record["signs"][1] - doubted) / 0.4, 0, 1)
    )
    for scaling, part, a in (("pooled", 1 - doubt, power), ("domain", doubt, 1.0)):
        own = [place for place, each in enumerate(members) if each[1] == scaling]
        if own and part:
            error = np.sqrt([max(1 - members[place][3], 1e-6) for place in own])
            off = task.members[own] - np.median(task.members[own], axis=0)
            far = np.mean(off**2, axis=1) / error**2
            weight = 1 / (error**a * (1 + use * far))
            found += part * (weight / weight.sum()) @ task.members[own]
    return found


def left_out_rules(tasks: list[Outcome]) -> dict[str, tuple[float, float, float]]:
    """Return for each set the rule that was best on all others."""
    logs = np.array([[np.log(t.error(by_rule(t, r)) / t.error(t.plain)) for r in RULES]
                     for t in tasks])  # fmt: skip
    names = np.array([t.name for t in tasks])
    weight = set_weights(tasks)
    return {
        name: RULES[int(np.argmin(weight[names != name] @ logs[names != name]))]
        for name in np.unique(names)
    }


def left_out_numbers(tasks: list[Outcome]) -> dict[str, dict[str, Any]]:
    """Return for each set the numbers fitted on all others."""
    return {
        name: fit_numbers([t for t in tasks if t.name != name]) for name in {t.name for t in tasks}
    }


def covers(task: Outcome, numbers: dict[str, Any], level: str = "0.9") -> float:
    """Return the share of labels in their interval."""
    return float(np.mean(task.scores <= numbers["half_width"][level]))


def judgement_row(tasks: list[Outcome], numbers: dict[str, dict[str, Any]]) -> list[str]:
    covered = [
        np.mean(by_set(tasks, lambda t, q=str(q): covers(t, numbers[t.name], q))) for q in COVERAGES
    ]
    off, inside, gains, given, right = [], [], [], [], []
    for t in tasks:
        fitted = numbers[t.name]
        error, gain = fitted["error"], fitted["gain"]
        expected = error["factor"] * t.blind
        actual = t.error(t.hedge) / expected
        off.append(abs(np.log(actual)))
        inside.append(error["low"] <= actual <= error["high"])
        saving = expected_gain(t, error["factor"], gain["distance"])
        scaled = (t.gain - saving) / gain_scale([t], error["factor"])[0]
        gains.append(gain["low"] <= scaled <= gain["high"])
        given.append(saving > gain["adapt_above"])
        right.append(t.gain > 0)
    return [
        *(f"{100 * share:.0f} %" for share in covered),
        f"{100 * (np.exp(np.median(off)) - 1):.0f} %",
        f"{100 * np.mean(inside):.0f} %",
        f"{100 * np.mean(gains):.0f} %",
        f"{100 * np.mean(given):.0f} %",
        f"{100 * np.mean(np.array(right)[given]):.0f} %" if any(given) else "",
    ]


def with_labels(task: Outcome) -> float:
    """Return the error on all other samples after a few labels corrected the shift."""
    rows = np.random.default_rng(0).permutation(len(task.truth))
    asked, rest = rows[:N_LABELS], rows[N_LABELS:]
    shift, _ = shrunken_shift((task.truth - task.hedge)[asked])
    return float(np.sqrt(np.mean((task.truth - task.hedge - shift)[rest] ** 2)) / task.truth.std())


def set_rows(tasks: list[Outcome]) -> list[list[str]]:
    rows = []
    for name in dict.fromkeys(t.name for t in tasks):
        some = [t for t in tasks if t.name == name]
        rows.append(
            [
                f"{name}{' (kept apart)' if name in KEPT_APART else ''}, {len(some)}",
                *(
                    f"{np.mean([value(t) for t in some]):.2f}"
                    for value in (
                        lambda t: relative(t, t.hedge),
                        lambda t: relative(t, t.plain),
                        with_labels,
                        lambda t: np.mean(t.scores <= HALF_WIDTHS["0.9"]),
                        lambda t: t.record["doubt"],
                    )
                ),
            ]
        )
    return rows


HALF_WIDTHS = json.loads(NUMBERS.read_text(encoding="utf-8"))["half_width"]


def member_rows(tasks: list[Outcome]) -> list[list[str]]:
    """Return the median over sets of each member, where all tasks have it."""
    names = [f"{each[0]}, {each[1]}" for each in tasks[0].record["members"]]
    rows = []
    for label in names:

        def value(t: Outcome, label: str = label) -> float:
            found = [f"{each[0]}, {each[1]}" for each in t.record["members"]]
            return relative(t, t.members[found.index(label)]) if label in found else np.nan

        rows.append([label, f"{np.nanmedian(by_set(tasks, value)):.3f}"])
    return rows


def report(docs: Path | None) -> None:
    found, machine = outcomes()
    pairs = [t for t in found if t.record["kind"] == PAIR]
    used, apart = ([t for t in pairs if t.kept_apart == kept] for kept in (False, True))
    narrower = json.loads(NUMBERS.read_text(encoding="utf-8"))["several_sources"]
    several = [t.narrowed(narrower) for t in found if t.record["kind"] == SOURCES]
    rules, numbers = left_out_rules(used), left_out_numbers(used)
    final = dict.fromkeys({t.name for t in found}, json.loads(NUMBERS.read_text(encoding="utf-8")))
    heads = ["tables", "hedge", "champion", "hedge / champion", "median of the ratio",
             "more than 5 % worse", "worst"]  # fmt: skip
    as_is = [
        (f"used for choices: {len(used)} tasks", used, lambda t: t.hedge),
        ("the same, weights chosen on all other tables", used, lambda t: by_rule(t, rules[t.name])),
        (f"kept apart: {len(apart)} tasks", apart, lambda t: t.hedge),
        (f"all: {len(pairs)} tasks", pairs, lambda t: t.hedge),
        (f"several sources: {len(several)} tasks", several, lambda t: t.hedge),
    ]
    summary = [
        "**Root mean squared error in units of the target labels' standard deviation, median over "
        "tables**",
        "",
        *table(heads, [[name, *hedge_row(tasks, hedge)] for name, tasks, hedge in as_is if tasks]),
    ]
    trust_heads = ["tables", *(f"{100 * q:.0f} % interval covers" for q in COVERAGES),
                   "error, typically off by", "its interval covers", "saving's interval covers",
                   "told to adapt", "and right"]  # fmt: skip
    trusted = [
        ["used for choices, numbers of all other tables", *judgement_row(used, numbers)],
        ["kept apart", *judgement_row(apart, final)],
        *([["several sources", *judgement_row(several, final)]] if several else []),
    ]
    summary += ["**Intervals, and what was expected**", "", *table(trust_heads, trusted)]
    set_heads = ["table, tasks", "hedge", "champion", f"with {N_LABELS} labels",
                 "90 % interval covers", "doubt"]  # fmt: skip
    lines = [
        "<!-- made by benchmarks/hedged_numbers.py -->", "", f"Machine: {machine}.", "", *summary,
        "**One source, table by table**", "", *table(set_heads, set_rows(pairs)),
        "**Members, one source, tables used for choices**", "",
        *table(["member", "error, median over tables"], member_rows(used)),
    ]  # fmt: skip
    text = "\n".join(lines)
    (RESULTS / "hedged_numbers.md").write_text(
        "# Numbers as labels, hedged\n\n" + text, encoding="utf-8"
    )
    print(text)
    if docs is not None:
        put_between(docs, "results", "\n".join(summary), script="hedged_numbers")


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("step", choices=("run", "pack", "fit", "report"))
    parser.add_argument("--work", type=Path, default=Path("hedged-numbers-work"))
    parser.add_argument("--docs", type=Path)
    given = parser.parse_args(arguments)
    if given.step in ("run", "pack"):
        {"run": run, "pack": pack}[given.step](given.work)
    elif given.step == "fit":
        fit()
    else:
        report(given.docs)


if __name__ == "__main__":
    main(sys.argv[1:])
