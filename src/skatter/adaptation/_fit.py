"""The models: the hedge, which judges, the adapted one as planned, and the plain one beside it.

Settings of a method are tuned without a label of the target. SCA has a search of its own, which
prices hundreds of settings like a few fits. Every other method is fitted for each setting of its
grid, and that is taken whose predictions for the target are expected to be right most often.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone

from skatter.adaptation._model import Ship, TableModel
from skatter.adaptation._plan import Plan
from skatter.adaptation._roles import Prepared, Roles, keep_roles
from skatter.domains import Codes
from skatter.hedging import HedgedClassifier, HedgedRegressor
from skatter.maps import LandmarkMap
from skatter.pipeline import DomainPipeline
from skatter.selection import SCACV
from skatter.selection.criteria import choose
from skatter.tables import ColumnPlan, Samples, units_in

Hedge = HedgedClassifier | HedgedRegressor
Progress = Callable[[str], None]
MODELS = {"classes": "classifiers", "numbers": "regressors"}  # what they are called
N_MEASURED = 2_000  # rows on which the error of an explicit map is measured
MAX_SETTINGS = 30  # settings that are fitted one by one; of a larger grid as many are drawn
MAX_TUNED = 2_000  # rows that settings are tried on; of more as many are drawn


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
