"""Finding what a picture needs in what a user has: an estimator, a search, a pipeline."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from skatter._components import ScatterComponents
from skatter.selection import SCACV
from skatter.self_training import SCAClassifier


def components_of(model: Any) -> ScatterComponents:
    found = _inside(model, (ScatterComponents, SCACV), "an estimator of the family of SCA")
    if isinstance(found, SCACV):
        check_is_fitted(found, "best_params_")
        if not hasattr(found, "best_estimator_"):
            raise ValueError("The SCACV has no best estimator: fit it with refit=True.")
        found = found.best_estimator_
    check_is_fitted(found, "eigenvalues_")
    return found


def classifier_of(model: Any) -> SCAClassifier:
    found = _inside(model, (SCAClassifier,), "an SCAClassifier")
    check_is_fitted(found, "candidates_")
    return found


def _inside(model: Any, kinds: tuple[type, ...], words: str) -> Any:
    name = type(model).__name__
    steps = dict(model.steps) if isinstance(model, Pipeline) else {name: model}
    fitting = {name: step for name, step in steps.items() if isinstance(step, kinds)}
    if not fitting:
        what = f"{name} with {', '.join(steps)}" if len(steps) > 1 else name
        raise TypeError(f"model must be {words}, or a pipeline that holds one; got a {what}.")
    first, *others = fitting
    if others:
        raise ValueError(
            f"model holds {len(fitting)} steps to draw ({', '.join(fitting)}); give one of them, "
            f"such as model[{first!r}]."
        )
    return fitting[first]
