"""A fitted model taken apart: what comes before the components, the components, what they saw.

Every model has a place where domains are dealt with. The samples as they come there are "before",
what is made of them is "after". Some models have no such place, or make no features there: then
there is nothing to show "after", and the report says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from skatter._components import ScatterComponents
from skatter._tensors import Array
from skatter.hedging import HedgedClassifier
from skatter.kernels import Kernel
from skatter.maps import explicit_features
from skatter.methods._registry import METHODS
from skatter.pipeline import call_step
from skatter.scatter import Geometry
from skatter.self_training import Candidate, SCAClassifier


class Space(NamedTuple):
    rows: Any
    kernel: Kernel | None

    def take(self, rows: Any) -> Space:
        return Space(self.rows[rows], self.kernel)

    def geometry(self) -> Geometry:
        if self.kernel is None:
            return Geometry.of_features(self.rows)
        return Geometry.of_gram(self.kernel(self.rows))


@dataclass(frozen=True, eq=False)
class ModelParts:
    model: Any
    head: tuple[Any, ...]
    learner: Any
    hedge: HedgedClassifier | None = None

    @property
    def name(self) -> str:
        shown = self.hedge or self.learner
        return type(self.model if shown is None else shown).__name__

    @property
    def components(self) -> ScatterComponents | None:
        if isinstance(self.learner, ScatterComponents):
            return self.learner
        return None if self._path is None else self._path.components

    @property
    def candidate(self) -> Candidate | None:
        """Of several that were trained, the one that is shown: it weighs most."""
        return None if self._path is None else self.learner.candidates_[self.learner.leading]

    @property
    def precomputed(self) -> bool:
        own = getattr(self.learner, "kernel", None)
        return isinstance(own, str) and own == "precomputed"

    @property
    def citation(self) -> str:
        """Where the method comes from; empty for a stranger."""
        shown = self.hedge or self.learner
        known = [each for each in METHODS.values() if type(shown) is each.estimator]
        return known[0].citation if known else ""

    def prepare(self, X: Any, sample_domain: Any) -> Any:
        """Return the samples as they reach the step that deals with domains."""
        for step in self.head:
            X = call_step(step.transform, X, sample_domain)
        return X

    def space(self, prepared: Any, sample_domain: Any) -> Space:
        """Return prepared samples, as an array, in the feature space that the components know."""
        if self._path is not None:
            prepared = self._path.samples(prepared, sample_domain)
        family = self.components
        if family is None or family.feature_map_ is None:
            kernel = None if family is None or family.kernel_.linear else family.kernel_
            return Space(prepared, kernel)
        return Space(explicit_features(family.feature_map_, prepared), None)

    def transform(self, prepared: Any, sample_domain: Any) -> Array | None:
        """Return what the model makes of prepared samples; None where it makes no features."""
        if self._path is not None:
            return np.asarray(self._path.embedding(prepared, sample_domain))
        if not hasattr(self.learner, "transform"):
            return None
        Z = call_step(self.learner.transform, prepared, sample_domain)
        return np.asarray(Z.toarray() if hasattr(Z, "toarray") else Z, dtype=np.float64)

    @cached_property
    def _path(self) -> Any:
        if not isinstance(self.learner, SCAClassifier):
            return None
        return self.learner.paths_[self.learner.leading]


def take_apart(model: Any) -> ModelParts:
    """Find the step of a fitted model that deals with domains."""
    check_is_fitted(model)
    steps = list(_steps_of(model))
    places = range(len(steps))
    ours = [i for i in places if isinstance(steps[i], ScatterComponents | SCAClassifier)]
    learners = [i for i in places if hasattr(steps[i], "fit")]
    found = ours or [i for i in learners if has_fit_parameter(steps[i], "sample_domain")]
    if not found:
        return ModelParts(model, tuple(steps[:-1]), None)
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    hedged = isinstance(last, HedgedClassifier) and last.self_trained_ is not None
    head, learner = tuple(steps[: found[-1]]), steps[found[-1]]
    return ModelParts(model, head, learner, last if hedged else None)


def _steps_of(model: Any) -> Iterator[Any]:
    """Yield the steps of pipelines inside pipelines, and the best of every search.

    Of a hedge it is the member that trains itself on the target, behind the scaling of all.
    """
    model = getattr(model, "best_estimator_", model)
    if isinstance(model, HedgedClassifier) and model.self_trained_ is not None:
        yield from _steps_of(model.champion_.scaler_)
        yield model.self_trained_
    elif isinstance(model, Pipeline):
        for _, step in model.steps:
            if step is not None and not isinstance(step, str):
                yield from _steps_of(step)
    else:
        yield model
