"""Settings of a method, chosen without a label of the target.

SCA has a search of its own, which prices hundreds of settings like a few fits. Every other method
is fitted once for each setting of its grid, and the setting is taken whose predictions for the
target are expected to be right most often.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone

from skatter.adaptation.plan import Plan
from skatter.adaptation.prepared import Prepared
from skatter.pipeline import DomainPipeline
from skatter.selection import SCACV
from skatter.selection.criteria import choose

MAX_SETTINGS = 30
"""Settings that are fitted one by one; of a larger grid as many are drawn."""

MAX_ROWS = 2_000
"""Rows that settings are tried on; of more as many are drawn."""


@dataclass(frozen=True)
class Tuned:
    """What was chosen, and out of how much."""

    params: dict[str, Any]
    n_tried: int
    n_settings: int
    n_rows: int


def tune(plan: Plan, table: Prepared, *, random_state: int) -> tuple[Plan, Tuned]:
    """Return the plan with the settings that are expected to do best, and what they are."""
    some = table.draw(MAX_ROWS, random_state)
    (name, estimator), *behind = plan.steps
    tuned = _search(estimator, some) if name == "sca" else _try_each(plan, some, random_state)
    best = clone(estimator).set_params(**tuned.params)
    return replace(plan, steps=((name, best), *behind)), tuned


def _search(estimator: Any, table: Prepared) -> Tuned:
    search = SCACV(estimator, criterion="expected accuracy", refit=False).fit(
        table.X, **table.given
    )
    n_settings = len(search.cv_results_["params"])
    return Tuned(dict(search.best_params_), n_settings, n_settings, len(table.X))


def _try_each(plan: Plan, table: Prepared, random_state: int) -> Tuned:
    (name, estimator), *behind = plan.steps
    grid = plan.method.grid
    settings = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    tried = settings
    if len(settings) > MAX_SETTINGS:
        drawn = np.random.default_rng(random_state).permutation(len(settings))[:MAX_SETTINGS]
        tried = [settings[place] for place in np.sort(drawn)]
    models = {
        str(place): DomainPipeline([(name, clone(estimator).set_params(**params)), *behind])
        for place, params in enumerate(tried)
    }
    choice = choose(models, table.X, **table.given, random_state=random_state)
    return Tuned(tried[int(choice.best)], len(tried), len(settings), len(table.X))
