"""Which table and which figures show a suite."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from skatter_bench.contestants import RAW, Contestant
from skatter_bench.protocols import TARGET, TARGET_ORACLE, split
from skatter_bench.ranks import duels
from skatter_bench.results import Outcome
from skatter_bench.scoring import seen_labels
from skatter_bench.suite import Suite
from skatter_bench.tables import (
    Table,
    accuracy_matrix,
    accuracy_table,
    is_collection,
    matrix_table,
    runtime_table,
)
from skatter_bench.tasks import Problem, load_problem

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from skatter_bench.figures import Panel


ALPHA = 0.05
"""A difference is called one where luck alone would make it more rarely."""

LEAST_TASKS = 6
"""With fewer, no difference between two methods can be told from luck at 0.05."""


def table_of(suite: Suite, outcomes: Sequence[Outcome]) -> Table:
    """Return the table of a suite, for outcomes of one protocol; its notes hold a test."""
    if suite.kind == "runtime":
        return runtime_table(outcomes, published=suite.published, title=suite.title)
    if suite.kind == "matrix":
        nearest = [outcome for outcome in outcomes if outcome.classifier == "1nn"]
        return matrix_table(nearest, published=suite.published, title=suite.title)
    table = accuracy_table(outcomes, published=suite.published, title=suite.title)
    return replace(table, notes=(*table.notes, *_test(outcomes)))


def _test(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Compare everybody with the best by Wilcoxon's signed ranks; not what is an upper bound."""
    several = len({outcome.group for outcome in outcomes}) > 1 and not is_collection(outcomes)
    if several or any(outcome.protocol == TARGET_ORACLE for outcome in outcomes):
        return
    accuracy, labels = accuracy_matrix(outcomes)
    n_complete = np.sum(~np.isnan(accuracy).any(axis=0))
    if len(accuracy) < LEAST_TASKS or n_complete < 2:
        return
    found = duels(accuracy, labels)
    alike = ", ".join(duel.method for duel in found if duel.adjusted >= ALPHA)
    verdict = f"no difference at {ALPHA} to {alike}" if alike else f"all others differ at {ALPHA}"
    yield (
        f"Wilcoxon's signed-rank test against the best mean rank, {found[0].reference}, corrected "
        f"after Holm: {verdict}."
    )


def costs_of(outcomes: Iterable[Outcome]) -> str:
    """Say what each contestant took, in CPU seconds over all tasks, folds and settings."""
    seconds: dict[str, float] = defaultdict(float)
    for outcome in outcomes:
        seconds[outcome.label] += outcome.seconds
    words = ", ".join(f"{label} {total:,.0f}" for label, total in seconds.items())
    total = f"{sum(seconds.values()):,.0f}"
    return f"CPU seconds, all tasks, folds and settings: {words}; together {total}."


def panels_of(
    suite: Suite, outcomes: Sequence[Outcome], rows: Sequence[Contestant], data_home: str | None
) -> Iterator[Panel]:
    """Fit every contestant of a synthetic suite once more, with its chosen setting, to draw it."""
    from skatter_bench.figures import Panel

    problem = load_problem(suite.tasks[0], data_home)
    known = {row.label: row for row in rows}
    order = suite.methods or tuple(row.name for row in rows)
    for outcome in sorted(outcomes, key=lambda each: order.index(each.contestant)):
        if outcome.classifier == "1nn" and not outcome.error:
            Z = _features(problem, known[outcome.label], outcome)
            yield Panel(_shown(outcome), Z, problem.y, problem.domain, outcome.accuracy)


def _features(problem: Problem, row: Contestant, outcome: Outcome) -> np.ndarray:
    if row.name == RAW:
        return np.asarray(problem.X)
    learn = split(problem, TARGET, outcome.seed)
    model = row.build(outcome.setting, outcome.seed)
    y = seen_labels(problem, learn)
    return np.asarray(model.fit_transform(problem.X, y, sample_domain=problem.domain))


def _shown(outcome: Outcome) -> str:
    return "Raw" if outcome.contestant == RAW else outcome.contestant.upper()


def figures_of(
    suite: Suite, outcomes: Sequence[Outcome], rows: Sequence[Contestant], data_home: str | None
) -> dict[str, Figure]:
    """Return the figures of a suite by name, for outcomes of one protocol; none where too few."""
    from skatter_bench.figures import draw_figure1
    from skatter_bench.pictures import drawings_of

    if suite.kind == "synthetic":
        panels = list(panels_of(suite, outcomes, rows, data_home))
        return {"panels": draw_figure1(panels)} if panels else {}
    return {drawing.name: drawing.figure for drawing in drawings_of(suite, outcomes)}
