"""From a table to a job: it is read and prepared, and says what its models are."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from skatter._checks import check_integer
from skatter._formatting import listed, quoted
from skatter.adaptation._fit import Hedge, Job, Progress
from skatter.adaptation._plan import AUTO, MethodError, make_plan
from skatter.adaptation._roles import Prepared, assign_roles
from skatter.hedging import HedgedClassifier, HedgedRegressor
from skatter.hedging._champion import Metric
from skatter.labels import Task
from skatter.tables import (
    ColumnPlan,
    Samples,
    TableError,
    align_columns,
    as_text,
    describe_columns,
    leave_out_unseen,
    make_preprocessor,
)
from skatter.tables._errors import alike_but_for_case
from skatter.tables._plans import CATEGORY, gives_label_away
from skatter.tables._task import missing_marks, read_task

if TYPE_CHECKING:
    import pandas as pd

ROWS_A_VALUE = 5  # labelled rows that a value needs, on average, before it can tell the label


def take_job(
    samples: Samples,
    *,
    task: Task | None,
    plain: Any,
    metric: Metric,
    class_frequencies: Mapping[Any, float] | None,
    categorical: Collection[str],
    random_state: int,
    say: Progress,
    method: str = AUTO,
    tune: bool = False,
) -> Job:
    seed = check_integer("random_state", random_state, low=0)
    samples, task = read_task(samples, task)
    if task == "classes" and (marks := missing_marks(samples)):
        warnings.warn(
            f"{listed(marks)} in column {quoted(samples.label)} is taken for a class: if it stands "
            "for a missing label, name it (na_values, --na-values).",
            stacklevel=3,
        )
    roles = assign_roles(samples, task)
    plan = make_plan(method, roles, random_state=seed)
    if tune and plan.hedges:
        raise MethodError("the method auto has nothing to tune: leave tune out, or name a method.")
    say("preparing the columns")
    columns = _describe(samples, categorical)
    # Where none is used, the preprocessing says why.
    used = [plan for plan in columns if plan.used] or columns
    X = samples.X[[plan.name for plan in used]]
    prepare = make_preprocessor(X, used)
    prepared = prepare.fit_transform(align_columns(X, prepare))
    hedge = _hedge(task, plain, metric, class_frequencies, seed)
    table = Prepared.of(prepared, samples, roles)
    return Job(samples, roles, tuple(columns), prepare, table, plan, tune, hedge, seed)


def _hedge(task: Task, plain: Any, metric: Metric, class_frequencies: Any, seed: int) -> Hedge:
    if task == "classes":
        return HedgedClassifier(
            plain, metric=metric, class_frequencies=class_frequencies, random_state=seed
        )
    for name, given in (("metric", metric != "accuracy"), ("class_frequencies", class_frequencies)):
        if given:
            raise TableError(f"{name}: is for classes, and the label is a number; leave it out.")
    return HedgedRegressor(plain, random_state=seed)


def _describe(samples: Samples, categorical: Collection[str]) -> list[ColumnPlan]:
    planned = describe_columns(samples.X, categorical=categorical)
    plans = leave_out_unseen(planned, samples.X, samples.y, samples.labelled)
    for before, plan in zip(planned, plans, strict=True):
        if before.used and not plan.used:
            warnings.warn(f"column {quoted(plan.name)} is left out: {plan.why}.", stacklevel=4)
        if plan.used and plan.kind == CATEGORY:
            for sentence in _doubts(as_text(samples.X[plan.name]), samples):
                warnings.warn(f"column {quoted(plan.name)}{sentence}", stacklevel=4)
    return plans


def _doubts(text: pd.Series, samples: Samples) -> Iterator[str]:
    if alike := alike_but_for_case(text.dropna().unique()):
        yield (
            f": {listed(alike)} differ in their case alone, and are taken for different "
            "categories; write them alike if they mean the same."
        )
    text, labels = text[samples.labelled].fillna(""), np.asarray(samples.y)[samples.labelled]
    if text.nunique() * ROWS_A_VALUE < len(text) and gives_label_away(text, labels):
        yield (
            " gives the label away in every row that has one; leave it out (ignore, --ignore) if "
            "it is known only after the label."
        )
