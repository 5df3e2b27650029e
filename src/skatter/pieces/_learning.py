"""Learning from pieces: which step of a model learns how; all of them, or none.

SCA and the presets like it need one pass: the moments of each piece, D × D numbers whatever its
size, which add up. Another step learns by its ``partial_fit``, piece after piece. Learning happens
on clones, whose state the model takes over at the very end: an error leaves it as it was.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from skatter import pipeline
from skatter._checks import check_samples
from skatter._components import ScatterComponents
from skatter.domains import Domains
from skatter.moments import Moments, merge_moments
from skatter.pieces._survey import Call, Labels, Piece

SAMPLE_ROWS = 20_000  # rows, at most, that a feature map is fitted on


class Pieces(Protocol):
    """All pieces, after the survey; a call on one of them is ``call(piece, *shared)``.

    ``behind`` has the same pieces behind a fitted model, for the step of this name. ``sample``
    gathers some rows at most; ``accept`` raises where one of them cannot be used. ``joined`` is
    what a call makes of all pieces, joined, and ``in_turn`` is the ``state`` after
    ``state = call(piece, state, *shared)`` on piece after piece.
    """

    @property
    def labels(self) -> Labels: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def n_pieces(self) -> int: ...
    def behind(self, model: Any, name: str) -> Pieces: ...
    def sample(self, n_wanted: int, random_state: Any, accept: Call) -> Any: ...
    def joined(self, call: Call, join: Call, *shared: Any) -> Any: ...
    def in_turn(self, call: Call, state: Any, *shared: Any) -> Any: ...


class Step(NamedTuple):
    """A step of a model, and how it learns: a function from step and pieces to a fitted clone."""

    number: int
    name: str
    model: Any
    learn: Callable[[Step, Pieces], Any]

    @property
    def has_map_to_fit(self) -> bool:
        feature_map = getattr(self.model, "feature_map", None)
        return feature_map is not None and not isinstance(feature_map, FrozenEstimator)

    @property
    def reads(self) -> bool:
        return self.learn not in (keep, see)

    def check(self, domains: Domains) -> None:
        if self.learn is learn_moments:
            self.model.check_domains(domains)
        labelled_only = self.learn is learn_pieces and pipeline.sees_labelled_only(self.model)
        if labelled_only and not domains.labelled.any():
            raise ValueError(
                f"Step {self.name!r} learns from labels, and no sample has one; mark only unknown "
                "labels as -1, NaN or None."
            )


class Plan(NamedTuple):
    model: Any
    steps: list[Step]

    @classmethod
    def of(cls, model: Any) -> Plan:
        """Say how each step will learn, or raise before any sample is read."""
        if isinstance(model, pipeline.DomainPipeline):
            model.check_steps()
            named = [(name, step) for name, step in model.steps]
        elif isinstance(model, ScatterComponents):
            named = [(type(model).__name__, model)]
        else:
            raise TypeError(
                f"model must be an SCA, USCA, KernelFisher, KPCA or DomainPipeline, got "
                f"{type(model).__name__}; chain steps with make_domain_pipeline."
            )
        steps = [
            Step(number, name, step, _way_to_learn(name, step))
            for number, (name, step) in enumerate(named)
            if not pipeline.passes_through(step)
        ]
        if not steps:
            raise ValueError("The pipeline has no step that does anything; give it one.")
        if isinstance(model, pipeline.DomainPipeline) and pipeline.labels_are_numbers(model):
            raise TypeError(
                "Labels of samples in pieces are read as classes, and the last step is a "
                "regressor: fit it on a part that fits in memory; predictions may be in pieces."
            )
        return cls(model, steps)

    def sampling(self) -> tuple[int, Any]:
        """Return how many rows :meth:`fit` samples, and the seed of the first map to fit."""
        seeds = [step.model.random_state for step in self.steps if step.has_map_to_fit]
        return (SAMPLE_ROWS, seeds[0]) if seeds else (1, None)

    def fit(self, pieces: Pieces) -> None:
        if pieces.n_rows < 2:
            raise ValueError(f"X holds {pieces.n_rows} samples; a minimum of 2 is required.")
        for step in self.steps:
            step.check(pieces.labels.view)
        fitted: list[tuple[str, Any]] = []
        for step in self.steps:
            before = snapshot(pipeline.DomainPipeline(fitted)) if fitted else None
            own = pieces.behind(before, step.name)
            learnt = pipeline.timed(self.model, step.number, step.learn, step, own)
            fitted.append((step.name, learnt))
        for step, (_, learnt) in zip(self.steps, fitted, strict=True):
            _adopt(step.model, learnt)


def _way_to_learn(name: str, step: Any) -> Callable[[Step, Pieces], Any]:
    if isinstance(step, FrozenEstimator):
        check_is_fitted(step)
        return keep
    if isinstance(step, ScatterComponents):
        reason = step.why_not_moments()
        if reason:
            raise TypeError(f"Step {name!r}: {reason}")
        step.check_parameters()
        return learn_moments
    if not get_tags(step).requires_fit:
        return see
    if hasattr(step, "partial_fit") and not has_fit_parameter(step, "sample_domain"):
        return learn_pieces
    instead = (
        "SGDClassifier, GaussianNB or skatter.NearestNeighbour"
        if pipeline.sees_labelled_only(step)
        else "StandardScaler or IncrementalPCA"
    )
    raise TypeError(
        f"Step {name!r}: {type(step).__name__} learns from all samples at once, and these come in "
        f"pieces. Take a step with partial_fit, such as {instead}, or fit it on a part that fits "
        "in memory and put it here as sklearn.frozen.FrozenEstimator(...)."
    )


def _adopt(model: Any, fitted: Any) -> None:
    """Give a model what its fitted clone has learnt; its parameters stay the same objects."""
    if fitted is model:
        return
    parameters = model.get_params(deep=False)
    for name in set(vars(model)) - set(parameters):
        delattr(model, name)
    learnt = {name: value for name, value in vars(fitted).items() if name not in parameters}
    vars(model).update(learnt)


def snapshot(model: Any) -> Any:
    """Return a copy of a fitted model that later fits do not touch, without what it needs no more.

    Components that follow from moments are solved for here, once, and not for every piece.
    """
    for part in _parts(model):
        if "moments_" in vars(part):
            check_is_fitted(part, "components_")
    taken = copy.deepcopy(model)
    for part in _parts(taken):
        vars(part).pop("moments_", None)
    return taken


def _parts(model: Any) -> list[Any]:
    inside = model.get_params(deep=True).values()
    return [model, *(part for part in inside if isinstance(part, BaseEstimator))]


def keep(step: Step, pieces: Pieces) -> Any:
    return step.model


def see(step: Step, pieces: Pieces) -> Any:
    return clone(step.model).fit(pieces.sample(1, None, clone(step.model).fit))


def learn_pieces(step: Step, pieces: Pieces) -> Any:
    classes = pieces.labels.view.classes if pipeline.sees_labelled_only(step.model) else None
    return pieces.in_turn(learn_piece, clone(step.model), classes)


def learn_piece(piece: Piece, model: Any, classes: Any) -> Any:
    """Return a model after one more piece; without ``classes`` it learns from samples alone."""
    assert piece.domains is not None
    if classes is None:
        return model.partial_fit(piece.samples()) if piece.n_rows else model
    rows = np.flatnonzero(piece.domains.labelled)
    if not len(rows):
        return model
    known = {"classes": classes} if "classes" in signature(model.partial_fit).parameters else {}
    return model.partial_fit(piece.samples(rows), piece.domains.names(), **known)


def learn_moments(step: Step, pieces: Pieces) -> Any:
    fitted = clone(step.model)
    return fitted.learn_moments(collect(step, fitted, pieces), pieces.n_pieces)


def collect(step: Step, fresh: Any, pieces: Pieces) -> Moments:
    n_wanted = SAMPLE_ROWS if step.has_map_to_fit else 1
    accept = partial(_accept, clone(step.model))
    random_state = step.model.random_state
    fresh.begin_stream(pieces.sample(n_wanted, random_state, accept), pieces.labels.classes)
    return pieces.joined(moments_of_piece, join_moments, fresh)


def _accept(model: Any, X: Any) -> None:
    check_samples(copy.copy(model), X, reset=True, least=1)


def moments_of_piece(piece: Piece, model: Any) -> Moments | None:
    return model.moments_of(piece.samples(), piece.domains) if piece.n_rows else None


def join_moments(parts: list[Moments | None]) -> Moments | None:
    found = [part for part in parts if part is not None]
    return merge_moments(found) if found else None
