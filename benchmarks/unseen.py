"""A domain that nobody has seen: the vote of ``DomainGeneralizer`` against the champion.

    python benchmarks/unseen.py run --work FOLDER [--suites tables-unseen ..] [--every N]
    python benchmarks/unseen.py pack --work FOLDER      # into benchmarks/results/unseen.npz
    python benchmarks/unseen.py fit                     # src/skatter/hedging/unseen.json
    python benchmarks/unseen.py report [--docs PAGE]    # benchmarks/results/unseen.md

Only ``run`` needs data; it keeps one file a task, and can be stopped and taken up again. The rule
and its numbers were chosen on tables that ``trust.KEPT_APART`` does not name; how sharply members
are weighed is also chosen anew for each collection, on the others.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from criteria import insert
from skatter import ChampionClassifier, DomainGeneralizer, LeaveOneDomainOut
from skatter.hedging import _generalizer as generalizer
from skatter.hedging._champion import probabilities
from skatter.hedging._transfer import N_FOLDS
from skatter_bench.suites import get_suite
from skatter_bench.tasks import Task, load_problem
from studies import over_sets, pack_tasks, unpack_tasks
from trust import COLLECTIONS, KEPT_APART, table

Array = NDArray[Any]
RESULTS = Path(__file__).parent / "results"
NUMBERS = Path(generalizer.__file__).with_name("unseen.json")

TABLES = "tables-unseen"
IMAGES = {"dg-office-surf": "SURF", "dg-office-effnet": "EfficientNet", "dg-pacs": "PACS"}
"""Suites whose columns share one unit: they are not standardised."""

MOST, MOST_IMAGES = 1500, 1000
"""Rows of the sources."""

SHARPNESS = (5.0, 10.0, 20.0, 30.0, 45.0, 70.0)
"""Values that are compared."""


# --- run ------------------------------------------------------------------------------------------


def run_task(suite: str, task: Task, path: Path) -> str:
    """Fit the vote and its opponents on one task, and keep what all members say."""
    problem = load_problem(task)
    standardize = suite not in IMAGES
    most = MOST if standardize else MOST_IMAGES
    rows = np.sort(np.random.default_rng(0).permutation(problem.labelled)[:most])
    X, y, domain = problem.X[rows], problem.y[rows], problem.domain[rows]
    new, batch = problem.X[problem.test], problem.domain[problem.test]
    start = process_time()
    model = DomainGeneralizer(standardize=standardize).fit(X, y, sample_domain=domain)
    seconds = process_time() - start
    arrays: dict[str, Any] = {
        "members": model.member_probabilities(new, sample_domain=batch),
        "truth": np.searchsorted(model.classes_, problem.y[problem.test]).astype(np.uint8),
        "loss": np.stack([model.losses_[name(each)] for each in model.members_]),
    }
    arrays["members"] = np.round(255 * arrays["members"]).astype(np.uint8)
    record = {
        "suite": suite,
        "set": task.dataset,
        "task": task.name,
        "names": [name(each) for each in model.members_],
        "vote": {kind: each.tolist() for kind, each in model.held_out_scores_.items()},
        "seconds": round(seconds, 2),
        "rows": len(rows),
        "columns": X.shape[1],
    }
    if standardize:
        champion = ChampionClassifier().fit(X, y)
        record["champion"] = champion.champion_
        said = [
            probabilities(each.estimator, champion.scaler_.transform(new), len(model.classes_))
            for each in champion.contenders_
        ]
        arrays["plain"] = np.round(255 * np.stack(said)).astype(np.uint8)
        record["plain"] = [each.name for each in champion.contenders_]
        record["left_out"] = best_left_out(champion, X, y, domain)
    else:
        record["tuned"] = tuned_logistic(X, y, domain).score(new, problem.y[problem.test])
    np.savez_compressed(path, record=json.dumps(record), **arrays)
    return f"{suite} {task.dataset} {task.name}: {seconds:.1f} s"


def name(member: Any) -> str:
    return member.name if member.scaling == "pooled" else f"{member.name}, scaled in each domain"


def best_left_out(champion: ChampionClassifier, X: Any, y: Array, domain: Array) -> str:
    """Return the standard classifier that is best on sources left out, with no part of ours."""
    folds = GroupKFold(min(len(np.unique(domain)), N_FOLDS))
    scores = {}
    for each in champion.contenders_:
        model = make_pipeline(StandardScaler(), clone(each.estimator))
        said = cross_val_predict(model, X, y, cv=folds, groups=domain)
        scores[each.name] = np.mean([np.mean((said == y)[domain == d]) for d in np.unique(domain)])
    return max(scores, key=lambda name: scores[name])


def tuned_logistic(X: Any, y: Array, domain: Array) -> GridSearchCV:
    """Choose the cost and the scaling of a logistic regression by leaving domains out."""
    pipeline = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    cost = "logisticregression__C"
    grid = [
        {cost: [1e-4, 0.001, 0.01, 0.1]},
        {cost: [1, 10, 100, 1000], "standardscaler": ["passthrough"]},
    ]
    return GridSearchCV(pipeline, grid, cv=LeaveOneDomainOut()).fit(X, y, groups=domain)


def run(work: Path, suites: list[str], every: int) -> None:
    """Run the first task of every set, then the second of each, and so on."""
    work.mkdir(parents=True, exist_ok=True)
    generalizer.LEAST_WEIGHT = 0.0  # all members are fitted, so that rules can be compared
    jobs = [(s, n, t) for s in suites for n, t in enumerate(get_suite(s).tasks)]
    for suite, place, task in sorted(jobs, key=lambda job: (job[1] % every, job[1])):
        path = work / f"{suite}-{place:03d}.npz"
        if not path.exists():
            with threadpool_limits(1), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                print(run_task(suite, task, path), flush=True)


# --- the record -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Outcome:
    """One task: how members did on sources left out, and what they say of the unseen domain."""

    record: dict[str, Any]
    members: Array
    truth: Array
    loss: Array
    plain: Array

    @property
    def alone(self) -> Array:
        """Which members can vote on a single sample."""
        return np.array(["scaled" not in name for name in self.record["names"]])

    @property
    def collection(self) -> str:
        """Tables of one collection are left out together."""
        name = self.record["set"]
        return next((each for each in COLLECTIONS if name.startswith(each)), name)

    @property
    def kept_apart(self) -> bool:
        """Whether nothing was chosen on it."""
        return self.record["set"] in KEPT_APART

    def vote(self, kind: str, sharpness: float = generalizer.SHARPNESS) -> float:
        """Return the accuracy of the vote on single samples or on a batch."""
        weights = generalizer.member_weights(
            self.loss, self.alone, self.members.shape[2], sharpness=sharpness
        )
        weights = weights * self.alone if kind == "alone" else weights
        return self.right(np.tensordot(weights, self.members.astype(float), axes=1))

    def left_out_champion(self) -> float:
        """Return the accuracy of the standard classifier that is best on sources left out."""
        return self.right(self.plain[self.record["plain"].index(self.record["left_out"])])

    def fold_champion(self) -> float:
        """Return the accuracy of the standard classifier that is best on source folds."""
        return self.right(self.plain[self.record["plain"].index(self.record["champion"])])

    def mean_of_two(self) -> float:
        """Return the accuracy of the mean of logistic regression and forest."""
        said = dict(zip(self.record["plain"], self.plain.astype(float), strict=True))
        return self.right(said["logistic"] + said["forest"])

    def right(self, shares: Array) -> float:
        """Return the accuracy of the most probable classes."""
        return float(np.mean(shares.argmax(axis=1) == self.truth))


PARTS = ("members", "truth", "loss", "plain")


def pack(work: Path) -> None:
    pack_tasks(work, RESULTS / "unseen.npz", PARTS)


def outcomes() -> tuple[list[Outcome], str]:
    records, parts, machine = unpack_tasks(RESULTS / "unseen.npz", PARTS)
    return [Outcome(r, *p) for r, p in zip(records, parts, strict=True)], machine


def sharpness_left_out(tasks: list[Outcome], kind: str) -> dict[str, float]:
    """Return for each collection the sharpness that does best on the others."""
    votes = {s: {id(t): t.vote(kind, s) for t in tasks} for s in SHARPNESS}
    chosen = {}
    for name in {t.collection for t in tasks}:
        some = [t for t in tasks if t.collection != name and not t.kept_apart]
        means = {s: over_sets(some, lambda t, own=votes[s]: own[id(t)]) for s in SHARPNESS}
        chosen[name] = max(SHARPNESS, key=lambda s, means=means: means[s])
    return chosen


# --- what to expect -------------------------------------------------------------------------------


def fit_numbers(tasks: list[Outcome]) -> dict[str, float]:
    """Fit optimism and spread by moments, and the shortest intervals that cover 90 %."""
    kinds = ("batch", "alone")
    left_out = [np.array(t.record["vote"][kind]) for t in tasks for kind in kinds]
    truth = np.array([t.vote(kind) for t in tasks for kind in kinds])
    optimism = float(np.mean([s.mean() for s in left_out] - truth))
    spread = float(np.sqrt(np.mean([s.var(ddof=1) for s in left_out])))
    found: list[tuple[float, dict[str, float]]] = []
    for worth in (1.0, 2.0, 4.0, 8.0, 16.0):
        numbers = {"optimism": optimism, "spread": spread, "worth": worth, "half_width": 1.0}
        units = np.array([half_width(s, numbers) for s in left_out])
        off = np.abs([s.mean() - optimism for s in left_out] - truth)
        numbers["half_width"] = float(np.quantile(off / units, 0.9))
        found.append((numbers["half_width"] * float(units.mean()), numbers))
    best = min(found, key=lambda each: each[0])[1]
    return {name: round(value, 4) for name, value in best.items()}


def half_width(scores: Array, numbers: dict[str, float]) -> float:
    """Return half the width of the interval, as ``expect_unseen`` does."""
    squares = float(np.sum((scores - scores.mean()) ** 2))
    worth, m = numbers["worth"], len(scores)
    variance = (worth * numbers["spread"] ** 2 + squares) / (worth + m - 1)
    return numbers["half_width"] * float(np.sqrt((1 + 1 / m) * variance))


def fit() -> None:
    tasks = [t for t in outcomes()[0] if t.record["suite"] == TABLES and not t.kept_apart]
    NUMBERS.write_text(json.dumps(fit_numbers(tasks), indent=2) + "\n", encoding="utf-8")
    print(NUMBERS.read_text(encoding="utf-8"))


def expected_line(name: str, tasks: list[Outcome], numbers: list[dict[str, float]]) -> list[str]:
    """Return how far off the expected accuracy was, and how often its interval covered."""
    cells = []
    for kind in ("batch", "alone"):
        off, inside = [], []
        for task, own in zip(tasks, numbers, strict=True):
            scores = np.array(task.record["vote"][kind])
            off.append(abs(scores.mean() - own["optimism"] - task.vote(kind)))
            inside.append(off[-1] <= half_width(scores, own))
        cells += [f"{100 * np.mean(off):.1f}", f"{100 * np.mean(inside):.0f} %"]
    return [name, *cells]


# --- report ---------------------------------------------------------------------------------------


def lines_of(tasks: list[Outcome], sharp: dict[str, dict[str, float]]) -> list[str]:
    """Return the table of accuracies of some tasks."""
    rows: dict[str, Callable[[Outcome], float]] = {
        "champion, by source folds": Outcome.fold_champion,
        "champion, by domains left out": Outcome.left_out_champion,
        "mean of logistic regression and forest": Outcome.mean_of_two,
    }
    for kind, words in (("batch", "in batches"), ("alone", "samples alone")):
        rows[f"DomainGeneralizer, {words}"] = lambda t, kind=kind: t.vote(kind)
        rows[f"the same, η chosen on other collections ({words})"] = lambda t, kind=kind: t.vote(
            kind, sharp[kind][t.collection]
        )
    out = []
    for name, value in rows.items():
        cells = [name, f"{100 * over_sets(tasks, value):.1f}"]
        for opponent in (Outcome.fold_champion, Outcome.left_out_champion):
            gains = {id(t): value(t) - opponent(t) for t in tasks}
            every = np.array(list(gains.values()))
            mean = over_sets(tasks, lambda t, own=gains: own[id(t)])
            below = f"{100 * np.mean(every < -0.02):.0f} %"
            cells += [f"{100 * mean:+.1f}", below, f"{100 * every.min():+.1f}"]
        out.append(cells)
    heads = ["", "accuracy", *("gain over champion (folds)", "more than 2 below", "worst"),
             *("gain over champion (left out)", "more than 2 below", "worst")]  # fmt: skip
    return table(heads, out)


def expectation_lines(tasks: list[Outcome]) -> list[str]:
    used = [t for t in tasks if not t.kept_apart]
    apart = [t for t in tasks if t.kept_apart]
    own = {
        name: fit_numbers([t for t in used if t.collection != name])
        for name in {t.collection for t in used}
    }
    stored = json.loads(NUMBERS.read_text(encoding="utf-8"))
    rows = [expected_line("other collections left out", used, [own[t.collection] for t in used])]
    rows.append(expected_line("tables kept apart", apart, [stored] * len(apart)))
    heads = ["expected accuracy", "mean error, batches", "interval covers", "mean error, alone",
             "interval covers"]  # fmt: skip
    return table(heads, rows)


def member_lines(tasks: list[Outcome]) -> list[str]:
    names = dict.fromkeys(n for t in tasks for n in t.record["names"])
    rows = []
    for name in names:
        there = [t for t in tasks if name in t.record["names"]]
        own = over_sets(there, lambda t, n=name: t.right(t.members[t.record["names"].index(n)]))
        champion = over_sets(there, Outcome.fold_champion)
        rows.append([name, str(len(there)), f"{100 * own:.1f}", f"{100 * champion:.1f}"])
    return table(["member alone", "tasks", "accuracy", "champion there"], rows)


def image_lines(tasks: list[Outcome]) -> list[str]:
    rows = []
    for suite, name in IMAGES.items():
        some = [t for t in tasks if t.record["suite"] == suite]
        if some:
            tuned = np.array([t.record["tuned"] for t in some])
            cells = [f"{name}, {len(some)} tasks", f"{100 * tuned.mean():.1f}"]
            for kind in ("batch", "alone"):
                gains = [t.vote(kind) for t in some] - tuned
                cells += [f"{100 * gains.mean():+.1f}", f"{100 * gains.min():+.1f}"]
            rows.append(cells)
    heads = [f"features in one unit, {MOST_IMAGES:,} rows", "tuned logistic regression",
             "vote in batches", "worst task", "vote on samples alone", "worst task"]  # fmt: skip
    return table(heads, rows) if rows else []


def report(docs: Path | None) -> None:
    found, machine = outcomes()
    tables = [t for t in found if t.record["suite"] == TABLES]
    large = [t for t in tables if t.record["rows"] >= 0.9 * MOST and t.loss.shape[1] == 3]
    seconds = np.median([t.record["seconds"] for t in large])
    lines = [
        f"Accuracy in percent, mean over tables; at most {MOST:,} rows of the sources. With three "
        f"sources of so many rows a fit of all members takes {seconds:.1f} s of the processor "
        f"(median; {machine}, one thread, a busy machine).",
        "",
    ]
    sharp = {kind: sharpness_left_out(tables, kind) for kind in ("batch", "alone")}
    for name, apart in (("Tables used for choices", False), ("Tables kept apart", True)):
        some = [t for t in tables if t.kept_apart == apart]
        n_sets = len({t.record["set"] for t in some})
        lines += [f"**{name}: {n_sets} tables, {len(some)} tasks**", "", *lines_of(some, sharp)]
    lines += [*expectation_lines(tables), *image_lines(found)]
    text = "\n".join(lines)
    worst = sorted(tables, key=lambda t: t.vote("batch") - t.fold_champion())[:8]
    rows = [
        [f"{t.record['set']}, {t.record['task']}", f"{100 * t.vote('batch'):.1f}",
         f"{100 * t.vote('alone'):.1f}", f"{100 * t.fold_champion():.1f}"]
        for t in worst
    ]  # fmt: skip
    losses = table(["where it loses most", "batch", "alone", "champion"], rows)
    head = "# A domain that nobody has seen\n\nMade by `benchmarks/unseen.py`. "
    page = "\n".join([head + text, *member_lines(tables), *losses])
    (RESULTS / "unseen.md").write_text(page + "\n", encoding="utf-8")
    if docs is not None:
        insert(docs, "unseen", lines, "unseen")
    print(page)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("step", choices=("run", "pack", "fit", "report"))
    parser.add_argument("--work", type=Path, default=Path("unseen-work"))
    parser.add_argument("--suites", nargs="+", default=[TABLES])
    parser.add_argument("--every", type=int, default=3, help="tasks of a set, run in turn")
    parser.add_argument("--docs", type=Path)
    given = parser.parse_args(arguments)
    if given.step == "run":
        run(given.work, given.suites, given.every)
    elif given.step == "pack":
        pack(given.work)
    elif given.step == "fit":
        fit()
    else:
        report(given.docs)


if __name__ == "__main__":
    main(sys.argv[1:])
