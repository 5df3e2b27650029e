"""The two models: the adapted one as planned, and the plain one beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from skatter.adaptation.draw import Table
from skatter.adaptation.plan import Plan, plain_classifier
from skatter.adaptation.tune import Tuned, tune
from skatter.maps import LandmarkMap
from skatter.pipeline import DomainPipeline

N_MEASURED = 2_000
"""Rows on which the error of an explicit map is measured."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """Both models, fitted on prepared samples.

    Attributes
    ----------
    plan : Plan
        Which method, and why.
    tuned : Tuned or None
        What was chosen for it; None where nothing was tuned.
    adapted, plain : DomainPipeline
        The models.
    outside : float or None
        Share of a row that lies outside the span of the landmarks; None without landmarks.
    """

    plan: Plan
    tuned: Tuned | None
    adapted: DomainPipeline
    plain: DomainPipeline
    outside: float | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """Method, parameters and what was tuned, ready for JSON."""
        name, estimator = self.plan.steps[0]
        tuned = None if self.tuned is None else self.tuned.to_dict()
        return {
            "method": name,
            "why": self.plan.why,
            "parameters": _plain(estimator.get_params(deep=False)),
            "classifier": _words(self.plan.steps[1][1]) if len(self.plan.steps) > 1 else None,
            "plain": _words(self.plain.steps[-1][1]),
            "tuned": tuned,
        }


def fit_models(
    plan: Plan, table: Table, *, random_state: int, tuned: bool, say: Callable[[str], None]
) -> Fitted:
    """Fit the adapted and the plain model.

    Parameters
    ----------
    plan : Plan
        The method.
    table : Table
        Prepared samples.
    random_state : int
        For the tuning.
    tuned : bool
        Whether to choose the settings of the method first.
    say : callable
        Told the name of each step before it starts.
    """
    found = None
    if tuned:
        say(f"tuning {plan.method.name}")
        plan, found = tune(plan, table, random_state=random_state)
    say(f"adapting with {plan.method.name}")
    adapted = plan.model.fit(table.X, **table.given)
    say("fitting the plain model")
    plain = DomainPipeline([("logistic", plain_classifier())]).fit(table.X, **table.given)
    return Fitted(plan, found, adapted, plain, _outside(adapted, table))


def _outside(adapted: DomainPipeline, table: Table) -> float | None:
    """Measure what the landmarks lose of a row; the squared norm of a whole one is 1."""
    feature_map = getattr(adapted.steps[0][1], "feature_map_", None)
    if not isinstance(feature_map, LandmarkMap):
        return None
    every = max(1, len(table.X) // N_MEASURED)
    features = feature_map.transform(table.X[::every])
    return float(1 - np.mean(np.sum(np.square(features), axis=1)))


def _plain(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return parameters as JSON has them; estimators as they print themselves."""
    simple = (bool, int, float, str, type(None))
    return {
        name: value if isinstance(value, simple) else _words(value)
        for name, value in parameters.items()
    }


def _words(value: Any) -> str:
    return " ".join(str(value).split())
