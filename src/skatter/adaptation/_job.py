"""A job: a table that was read and prepared, and the models that are fitted to it.

These are the hedge, which judges, the adapted one as planned, and the plain one beside it. Settings
of a method are tuned without a label of the target. SCA has a search of its own, which prices
hundreds of settings like a few fits. Every other method is fitted for each setting of its grid, and
that is taken whose predictions for the target are expected to be right most often.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from skatter._checks import check_integer
from skatter._formatting import listed, quoted
from skatter.adaptation._model import Ship, TableModel
from skatter.adaptation._plan import AUTO, MethodError, Plan, make_plan
from skatter.adaptation._roles import Prepared, Roles, assign_roles, keep_roles
from skatter.domains import Codes
from skatter.hedging import HedgedClassifier, HedgedRegressor
from skatter.hedging._champion import Metric
from skatter.labels import Task
from skatter.maps import LandmarkMap
from skatter.pipeline import DomainPipeline
from skatter.selection import SCACV
from skatter.selection.criteria import choose
from skatter.tables import (
    ColumnPlan,
    Samples,
    TableError,
    align_columns,
    as_text,
    describe_columns,
    leave_out_unseen,
    make_preprocessor,
    units_in,
)
from skatter.tables._errors import alike_but_for_case
from skatter.tables._plans import CATEGORY, gives_label_away
from skatter.tables._task import missing_marks, read_task

if TYPE_CHECKING:
    import pandas as pd

Hedge = HedgedClassifier | HedgedRegressor
Progress = Callable[[str], None]
MODELS = {"classes": "classifiers", "numbers": "regressors"}  # what they are called
N_MEASURED = 2_000  # rows on which the error of an explicit map is measured
MAX_SETTINGS = 30  # settings that are fitted one by one; of a larger grid as many are drawn
MAX_TUNED = 2_000  # rows that settings are tried on; of more as many are drawn
ROWS_A_VALUE = 5  # labelled rows that a value needs, on average, before it can tell the label


@dataclass(frozen=True)
class Tuned:
    params: dict[str, Any]
    n_tried: int
    n_settings: int
    n_rows: int


@dataclass(frozen=True, eq=False)
class Fitted:
    plan: Plan
    hedge: Hedge
    tuned: Tuned | None
    adapted: DomainPipeline
    plain: DomainPipeline
    outside: float | None = None

    @property
    def settings(self) -> dict[str, Any]:
        name, estimator = self.plan.steps[0]
        champion = self.hedge.champion_
        return {
            "method": name,
            "why": self.plan.why,
            "parameters": _plain(estimator.get_params(deep=False)),
            "tuned": None if self.tuned is None else asdict(self.tuned),
            "metric": getattr(self.hedge, "metric", "root mean squared error"),
            "champion": champion.champion_,
            "champion_scores": {k: round(v, 4) for k, v in champion.scores_.items()},
            "members": [
                {
                    "name": each.name,
                    "scaling": each.scaling,
                    "weight": round(each.weight, 4),
                    "agreement": round(each.agreement, 4),
                    "source_score": each.source_score and round(each.source_score, 4),
                }
                for each in self.hedge.members_
            ],
        }


def quiet(step: str) -> None:
    """Say nothing."""


@dataclass(frozen=True, eq=False)
class Job:
    samples: Samples
    roles: Roles
    columns: tuple[ColumnPlan, ...]
    prepare: Any
    table: Prepared
    plan: Plan
    tune: bool
    hedge: Hedge
    random_state: int

    @property
    def unlabelled(self) -> Codes:
        return np.flatnonzero(~self.samples.labelled)

    @property
    def units(self) -> dict[str, set[str]]:
        return units_in(self.samples.X, self.prepare)

    def fit(self, table: Prepared, say: Progress = quiet) -> Fitted:
        """Fit all models, on the table of the job or on one that hides some of its labels."""
        say(f"fitting plain and adapted {MODELS[table.task]}")
        plan, hedge = self.plan, clone(self.hedge).fit(table.X, **table.given)
        plain = DomainPipeline([("champion", hedge.champion_)])
        if plan.hedges:
            return Fitted(plan, hedge, None, DomainPipeline([(plan.method.name, hedge)]), plain)
        tuned = None
        if self.tune:
            say(f"tuning {plan.method.name}")
            plan, tuned = _tune(plan, table, self.random_state)
        say(f"adapting with {plan.method.name}")
        adapted = plan.model.fit(table.X, **table.given)
        return Fitted(plan, hedge, tuned, adapted, plain, _outside(adapted, table))

    def model(self, fitted: Fitted, ship: Ship, settings: Mapping[str, Any]) -> TableModel:
        adapted, plain = (
            DomainPipeline([("prepare", self.prepare), *model.steps])
            for model in (fitted.adapted, fitted.plain)
        )
        label, numbers = str(self.samples.label), dict(self.roles.numbers)
        return TableModel(adapted, plain, ship, label, self.samples.domain, numbers, settings)

    def with_labels(self, rows: Codes, labels: Any) -> Job:
        y, labelled = np.array(self.samples.y), self.samples.labelled.copy()
        y[rows], labelled[rows] = labels, True
        samples = replace(self.samples, y=y, labelled=labelled)
        roles = keep_roles(samples, self.roles)
        table = Prepared.of(self.table.X, samples, roles)
        return replace(self, samples=samples, roles=roles, table=table)


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


def _tune(plan: Plan, table: Prepared, random_state: int) -> tuple[Plan, Tuned]:
    some = table.draw(MAX_TUNED, random_state)
    (name, estimator), *behind = plan.steps
    if name == "sca":
        search = SCACV(estimator, criterion="expected accuracy", refit=False)
        settings = tried = search.fit(some.X, **some.given).cv_results_["params"]
        best = dict(search.best_params_)
    else:
        grid = plan.method.grid
        settings = tried = [dict(zip(grid, each, strict=True)) for each in product(*grid.values())]
        if len(settings) > MAX_SETTINGS:
            drawn = np.random.default_rng(random_state).permutation(len(settings))[:MAX_SETTINGS]
            tried = [settings[place] for place in np.sort(drawn)]
        models = {
            str(place): DomainPipeline([(name, clone(estimator).set_params(**params)), *behind])
            for place, params in enumerate(tried)
        }
        best = tried[int(choose(models, some.X, **some.given, random_state=random_state).best)]
    steps = ((name, clone(estimator).set_params(**best)), *behind)
    return replace(plan, steps=steps), Tuned(best, len(tried), len(settings), len(some.X))


def _outside(adapted: DomainPipeline, table: Prepared) -> float | None:
    """Measure what the landmarks lose of a row; the squared norm of a whole one is 1."""
    feature_map = getattr(adapted.steps[0][1], "feature_map_", None)
    if not isinstance(feature_map, LandmarkMap):
        return None
    features = feature_map.transform(table.X[:: max(1, len(table.X) // N_MEASURED)])
    return float(1 - np.mean(np.sum(np.square(features), axis=1)))


def _plain(parameters: dict[str, Any]) -> dict[str, Any]:
    simple = (bool, int, float, str, type(None))
    return {
        name: value if isinstance(value, simple) else " ".join(str(value).split())
        for name, value in parameters.items()
    }
