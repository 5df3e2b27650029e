"""Finding what a picture needs in what a user has: an estimator, a search, a pipeline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from skatter.components import ScatterComponents
from skatter.selection import SCACV
from skatter.self_training import SCAClassifier

Found = TypeVar("Found")


def components_of(model: Any) -> ScatterComponents:
    """Return the fitted estimator with components: ``model`` itself, or one inside it."""
    found = _inside(model, _with_components, "an estimator of the family of SCA")
    check_is_fitted(found, "eigenvalues_")
    return found


def classifier_of(model: Any) -> SCAClassifier:
    """Return the fitted SCAClassifier: ``model`` itself, or the one inside a pipeline."""
    found: SCAClassifier = _inside(model, _self_trained, "an SCAClassifier")
    check_is_fitted(found, "candidates_")
    return found


def _with_components(step: Any) -> ScatterComponents | None:
    if isinstance(step, SCACV):
        check_is_fitted(step, "best_params_")
        if not hasattr(step, "best_estimator_"):
            raise ValueError("The SCACV has no best estimator: fit it with refit=True.")
        step = step.best_estimator_
    return step if isinstance(step, ScatterComponents) else None


def _self_trained(step: Any) -> SCAClassifier | None:
    return step if isinstance(step, SCAClassifier) else None


def _inside(model: Any, wanted: Callable[[Any], Found | None], words: str) -> Found:
    """Return what is wanted: the model, or the one step of a pipeline that is it."""
    if not isinstance(model, Pipeline):
        found = {type(model).__name__: wanted(model)}
    else:
        found = {name: wanted(step) for name, step in model.steps}
    fitting = {name: step for name, step in found.items() if step is not None}
    if not fitting:
        what = " with ".join([type(model).__name__, ", ".join(found)][: 1 + len(found) // 2])
        raise TypeError(f"model must be {words}, or a pipeline that holds one; got a {what}.")
    if len(fitting) > 1:
        first, *_ = fitting
        raise ValueError(
            f"model holds {len(fitting)} steps to draw ({', '.join(fitting)}); give one of them, "
            f"such as model[{first!r}]."
        )
    return next(iter(fitting.values()))
