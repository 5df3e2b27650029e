"""Labels that are numbers: the hedge against the champion on everyday tables.

    python benchmarks/hedged_numbers.py run --work FOLDER   # one file a task, resumable
    python benchmarks/hedged_numbers.py pack --work FOLDER  # into results/hedged_numbers.npz
    python benchmarks/hedged_numbers.py fit                 # numbers of skatter.hedging._error
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
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_limits

from skatter import SCA, HedgedRegressor
from skatter.datasets._everyday_tables import EVERYDAY_TABLES
from skatter.hedging._error import shrunken_shift, widening
from skatter.hedging._members import Scaling, Views
from skatter.hedging._number_champion import ALPHAS, HeldOut, read_labelled_numbers
from skatter.hedging._number_weights import POOLED_POWER, SCALED_POWER, distances, number_weights
from skatter.methods import CORAL
from skatter.pipeline import make_domain_pipeline
from skatter_bench.suites import get_suite
from skatter_bench.tasks import Sample, Task, load_problem
from studies import pack_tasks, set_means, unpack_tasks
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


TRIALS: dict[str, tuple[Scaling, ...]] = {
    "PLS": ("pooled", "domain"),
    "CORAL + ridge": ("pooled",),  # scaling in each domain leaves it little to align
    "SCA + ridge": ("pooled", "domain"),
}
"""Regressors that are no members, and the scalings under which they might be."""

MOST_LATENT = (1, 2, 3, 5, 8, 12, 16, 20)
"""Components of PLS, chosen by folds."""


class BehindMap(RegressorMixin, BaseEstimator):
    """Ridge regression behind a map that learns from the target's samples too."""

    def __init__(self, step: Any, target: Array) -> None:
        self.step = step
        self.target = target
        self.side = 0

    def fit(self, X: Array, y: Array) -> BehindMap:
        """Learn from labelled samples of the source, and from the target."""
        sides = np.repeat([0, 1], [len(X), len(self.target)])
        known = np.concatenate([y, np.full(len(self.target), np.nan)])
        self.model_ = make_domain_pipeline(clone(self.step), RidgeCV(ALPHAS))
        self.model_.fit(np.concatenate([X, self.target]), known, sample_domain=sides)
        return self

    def predict(self, X: Array) -> Array:
        """Predict samples of the source, or of the target where ``side`` is 1."""
        return self.model_.predict(X, sample_domain=np.full(len(X), self.side))


def make_trial(name: str, n_known: int, target: Array) -> Any:
    if name == "PLS":
        most = min(target.shape[1], n_known // 2)
        sizes = [size for size in MOST_LATENT if size <= most]
        return GridSearchCV(
            PLSRegression(scale=False), {"n_components": sizes}, scoring="neg_mean_squared_error"
        )
    return BehindMap(CORAL() if name.startswith("CORAL") else SCA(label_splines=8), target)


def try_others(
    model: HedgedRegressor, problem: Any, y: Array, known: Array
) -> tuple[list[list[Any]], Array]:
    """Return the name, scaling and R² of each trial, and what it predicts for the target."""
    numbers, domains = read_labelled_numbers(model, y, problem.domain, known, len(y))
    held_out = HeldOut(numbers, domains, 0)
    views = Views(
        model.champion_.scaler_.transform(problem.X), model.domain_scaler_, problem.domain
    )
    found, said = [], []
    for name, scalings in TRIALS.items():
        for scaling in scalings:
            X = views.of(scaling)
            fitted, score = held_out.fit(make_trial(name, int(known.sum()), X[~known]), X)
            fitted.side = 1
            found.append([name, scaling, 0.0, score])
            said.append(np.clip(fitted.predict(X[problem.test]), *model.range_))
    return found, np.stack(said)


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
        trials, tried = try_others(model, problem, y, known)
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
        "trials": trials,
    }

    def in_units(values: Array) -> Array:
        return ((values - record["mean"]) / scale).astype(np.float16)

    np.savez_compressed(
        path,
        record=json.dumps(record),
        members=in_units(members),
        trials=in_units(tried),
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
    trials: Array
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


PARTS = ("members", "trials", "plain", "truth")


def pack(work: Path) -> None:
    pack_tasks(work, STORE, PARTS)


def outcomes() -> tuple[list[Outcome], str]:
    records, parts, machine = unpack_tasks(STORE, PARTS)
    found = [
        Outcome(r, *(p.astype(float) for p in own)) for r, own in zip(records, parts, strict=True)
    ]
    return found, machine


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
    ours = np.median(set_means(tasks, lambda t: relative(t, hedge(t))))
    theirs = np.median(set_means(tasks, lambda t: relative(t, t.plain)))
    each = set_means(tasks, lambda t: t.error(hedge(t)) / t.error(t.plain))
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
    for doubted in (0.7, 0.9, 1.1, np.inf)
]
"""Power of pooled members' errors, use of the distance, and where doubt begins: the choice."""


def by_rule(task: Outcome, rule: tuple[float, float, float]) -> Array:
    """Return what the hedge would predict under other weights."""
    power, use, doubted = rule
    contradiction, separation = task.record["signs"]
    doubt = float(np.clip((contradiction * separation - doubted) / 0.4, 0, 1))
    return average(task, power=power, use=use, doubt=doubt)


def average(
    task: Outcome,
    *,
    power: float = POOLED_POWER,
    use: float = 1.0,
    doubt: float | None = None,
    others: Iterable[str] = (),
) -> Array:
    """Return what the hedge would predict under other weights, or with other members too."""
    more = [place for place, each in enumerate(task.record["trials"]) if each[0] in others]
    members = task.record["members"] + [task.record["trials"][place] for place in more]
    said = np.concatenate([task.members, task.trials[more]])
    doubt = task.record["doubt"] if doubt is None else doubt
    found = np.zeros(len(task.truth))
    for scaling, part, a in (("pooled", 1 - doubt, power), ("domain", doubt, SCALED_POWER)):
        own = [place for place, each in enumerate(members) if each[1] == scaling]
        if own and part:
            error = np.sqrt([max(1 - members[place][3], 1e-6) for place in own])
            far = np.sqrt(use) * distances(said[own], error)
            found += part * number_weights(far, error, a) @ said[own]
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
        np.mean(set_means(tasks, lambda t, q=str(q): covers(t, numbers[t.name], q)))
        for q in COVERAGES
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

        rows.append([label, f"{np.nanmedian(set_means(tasks, value)):.3f}"])
    return rows


def trial_rows(parts: list[list[Outcome]]) -> list[list[str]]:
    """Return what each trial would change: alone, and in the hedge's geometric mean ratios."""
    rows = []
    for label, others in {
        "none: the hedge as it is": (),
        **{name: (name,) for name in TRIALS},
        "all of them": tuple(TRIALS),
    }.items():
        alone = []
        if len(others) == 1:
            for scaling in TRIALS[label]:
                place = [each[:2] for each in parts[0][0].record["trials"]].index([label, scaling])
                error = np.median(set_means(parts[0], lambda t, p=place: relative(t, t.trials[p])))
                alone.append(f"{error:.2f}")
        cells = []
        for tasks in parts:
            ratios = {id(t): t.error(average(t, others=others)) / t.error(t.plain) for t in tasks}
            mean = np.exp(np.mean(set_means(tasks, lambda t, r=ratios: float(np.log(r[id(t)])))))
            worse = np.mean(np.array(list(ratios.values())) > WORSE)
            cells += [f"{mean:.3f}", f"{100 * worse:.0f} %", f"{max(ratios.values()):.2f}"]
        rows.append([label, " / ".join(alone), *cells])
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
    trial_heads = ["also a member", "alone"]
    for part in ("used", "kept apart", "several sources"):
        trial_heads += [part, "> 5 % worse", "worst"]
    lines = [
        "<!-- made by benchmarks/hedged_numbers.py -->", "", f"Machine: {machine}.", "", *summary,
        "**One source, table by table**", "", *table(set_heads, set_rows(pairs)),
        "**Members, one source, tables used for choices**", "",
        *table(["member", "error, median over tables"], member_rows(used)),
        "**What other members would change**", "",
        "Error alone (pooled / scaled in each domain, median over the tables used), and error of "
        "the hedge with it in units of the champion's: geometric mean over tables, tasks that are "
        "more than 5 % worse, and the worst.", "",
        *table(trial_heads, trial_rows([used, apart, several])),
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
