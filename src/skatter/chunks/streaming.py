"""Fit and predict by chunks: data may be larger than memory, the result is that of one fit.

SCA on explicit features needs their moments alone, which add up over chunks
(:mod:`skatter.moments`). A stream is read once to see what labels and domains it holds, and to draw
the sample on which a feature map is fitted; then once for each step that learns. The model changes
when all is done, or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from inspect import signature
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from skatter.chunks.progress import Silent, show
from skatter.chunks.sources import Chunk, naming, not_finite, numbered
from skatter.chunks.survey import CHANGED, Survey, look_at
from skatter.components import ScatterComponents
from skatter.distributed.learn import SAMPLE_ROWS, adopt
from skatter.domains import Domains
from skatter.moments import Moments, merge_moments
from skatter.pipeline import DomainPipeline, call_step, learns_from_labels

Array = NDArray[Any]
Model = TypeVar("Model")


def fit_chunks(
    model: Model, chunks: Iterable[Chunk], *, classes: Any = None, progress: bool | None = None
) -> Model:
    """Fit a model to a stream of chunks; the result is that of one ``fit`` on all rows.

    Memory does not grow with the number of rows. A feature map that is not fitted yet is fitted on
    at most 20,000 rows, drawn at random under the estimator's ``random_state``; give it as
    :class:`sklearn.frozen.FrozenEstimator` to keep it as it is.

    Parameters
    ----------
    model : SCA, USCA, KernelFisher, KPCA or DomainPipeline
        An estimator of the family with ``feature_map=...`` or ``kernel="linear"``; or a pipeline
        with one. Its other steps must learn in pieces (``partial_fit``, as StandardScaler,
        SGDClassifier and GaussianNB do), need no fit, or come fitted in a ``FrozenEstimator``.
    chunks : iterable of Chunk
        Such as :class:`ArrayChunks` or :class:`TableChunks`. It is iterated once, and then once
        for each step that learns.
    classes : array-like or None
        All classes of the stream; -1 is a label only where it is among them. None: what ``fit``
        would take for a label.
    progress : bool or None
        Whether to show how far it has come, on the standard error stream; None: on a terminal.

    Returns
    -------
    model
        The same object, fitted.

    Raises
    ------
    TypeError
        Before any row is read, where a step cannot learn from a stream.
    ValueError
        Where a chunk cannot be used; the error names it. The model is then as it was before.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.kernel_approximation import RBFSampler
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skatter import SCA, make_domain_pipeline
    >>> from skatter.chunks import ArrayChunks, fit_chunks, predict_chunks
    >>> rng = np.random.default_rng(0)
    >>> y = np.tile([0, 1], 500)
    >>> site = np.repeat(["here", "there"], 500)
    >>> X = rng.normal(size=(1000, 3)) + 4 * y[:, None] + (site == "there")[:, None]
    >>> chunks = ArrayChunks(X, np.where(site == "here", y, -1), site, rows=300)
    >>> sca = SCA(feature_map=RBFSampler(gamma=0.1, n_components=50, random_state=0))
    >>> model = fit_chunks(make_domain_pipeline(StandardScaler(), sca, GaussianNB()), chunks)
    >>> predicted = np.concatenate(list(predict_chunks(model, chunks)))
    >>> bool(np.mean(predicted == y) > 0.95)
    True
    """
    steps = _plan(model)
    _check_again(chunks)
    n_passes = 1 + sum(step.learn is not _keep for step in steps)
    n_sample = SAMPLE_ROWS if any(_has_map_to_fit(step.fresh) for step in steps) else 2
    with show(progress, n_passes) as display:
        survey = partial(look_at, n_sample=n_sample, random_state=_random_state(steps))
        stream = _Stream.begin(chunks, display, classes, survey)
        for step in steps:
            step.check(stream.survey.domains)
        before: list[Any] = []
        for step in steps:
            step.learn(step, stream, before)
            before.append(step.fresh)
    for step in steps:
        adopt(step.model, step.fresh)
    return model


def predict_chunks(model: Any, chunks: Iterable[Chunk], method: str = "predict") -> Iterator[Array]:
    """Predict chunk by chunk.

    Parameters
    ----------
    model : estimator
        A fitted pipeline, classifier or transformer.
    chunks : iterable of Chunk
        Samples; it is iterated once. Labels are not looked at.
    method : str
        What to call: ``"predict"``, ``"predict_proba"``, ``"decision_function"``, ``"transform"``
        and so on.

    Returns
    -------
    iterator of ndarray
        What the method returns, one array for each chunk.

    Raises
    ------
    ValueError
        At once where the model has no such method or is not fitted; later where a chunk cannot be
        used, and the error names it.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter import USCA
    >>> from skatter.chunks import ArrayChunks, fit_chunks, predict_chunks
    >>> chunks = ArrayChunks(np.random.default_rng(0).normal(size=(100, 3)), rows=40)
    >>> usca = fit_chunks(USCA(2, kernel="linear"), chunks)
    >>> [part.shape for part in predict_chunks(usca, chunks, "transform")]
    [(40, 2), (40, 2), (20, 2)]
    """
    if not callable(getattr(model, method, None)):
        raise ValueError(
            f"{type(model).__name__} has no method {method!r}; a classifier has 'predict', a "
            "transformer 'transform'."
        )
    check_is_fitted(model)
    return _predictions(getattr(model, method), chunks)


def moments_of_chunks(
    estimator: Any,
    chunks: Iterable[Chunk],
    *,
    classes: Any = None,
    progress: bool | None = None,
) -> Moments:
    """Collect the moments of a stream, for sites that exchange moments and no samples.

    Parameters
    ----------
    estimator : SCA, USCA, KernelFisher or KPCA
        With ``kernel="linear"``, or a fitted map that all sites share,
        ``feature_map=FrozenEstimator(...)``. It is not changed.
    chunks : iterable of Chunk
        Samples of one site; it is iterated twice.
    classes, progress
        As in :func:`fit_chunks`; but since a site sees its own labels alone, -1 always marks an
        unlabelled sample, unless ``classes`` names it.

    Returns
    -------
    Moments
        To be saved (``Moments.save``), merged (:func:`skatter.moments.merge_moments`) and learnt
        from (``SCA.fit_moments``).

    Raises
    ------
    TypeError
        Where the estimator has no explicit features, or a feature map of its own to fit.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter import SCA
    >>> from skatter.chunks import ArrayChunks, moments_of_chunks
    >>> from skatter.moments import merge_moments
    >>> rng = np.random.default_rng(0)
    >>> sca = SCA(2, kernel="linear")
    >>> north = ArrayChunks(rng.normal(size=(50, 3)), rng.integers(2, size=50), "north")
    >>> south = ArrayChunks(rng.normal(size=(40, 3)), np.full(40, -1), "south")
    >>> both = merge_moments([moments_of_chunks(sca, site) for site in (north, south)])
    >>> sca.fit_moments(both).components_.shape
    (2, 3)
    """
    (step,) = _plan(estimator)
    if step.learn is not _learn_moments:
        raise TypeError(
            f"moments_of_chunks takes an estimator of the SCA family, got {_class(estimator)}."
        )
    if _has_map_to_fit(step.fresh):
        raise TypeError(
            f"Moments of different sites add up under one map alone: fit {_class(step.fresh)}'s "
            "feature_map once and give it to all as feature_map=FrozenEstimator(...)."
        )
    _check_again(chunks)
    with show(progress, 2) as display:
        stream = _Stream.begin(chunks, display, classes, partial(look_at, part=True))
        return _moments(step, stream, [])


# --- reading ------------------------------------------------------------------------------------


class _Stream(NamedTuple):
    """A stream that was looked at, to be read again for each step that learns."""

    chunks: Iterable[Chunk]
    display: Silent
    survey: Survey
    classes: Any

    @classmethod
    def begin(
        cls,
        chunks: Iterable[Chunk],
        display: Silent,
        classes: Any,
        look: Callable[..., Survey],
    ) -> _Stream:
        """Take the first look."""
        n_rows = getattr(chunks, "n_rows", None)
        first = display.follow(numbered(chunks), "labels and domains", n_rows)
        return cls(chunks, display, look(first, classes=classes), classes)

    def read(self, name: str) -> Iterator[tuple[Chunk, Domains]]:
        """Yield every chunk with its labels and domains."""
        left, known = self.survey.counts.copy(), self.survey.domains
        for chunk in self.display.follow(numbered(self.chunks), name, self.survey.n_rows):
            with naming(chunk):
                pairs = self.survey.pairs_of(chunk)
            yield chunk, known.take(pairs)
            left -= np.bincount(pairs, minlength=len(left))
        if left.any():
            raise ValueError(CHANGED[0].upper() + CHANGED[1:])

    @contextmanager
    def sample(self, before: list[Any]) -> Iterator[Any]:
        """Give the sample behind some steps; an error says which chunk a bad row came from."""
        sample = self.survey.sample
        X = _through(before, sample.X, sample.sample_domain)
        try:
            yield X
        except ValueError as error:
            bad = not_finite(X)
            if not len(bad):
                raise
            number, row = self.survey.chunk_of(int(bad[0]))
            raise ValueError(f"Chunk {number}, row {row:,} (counted from 0): {error}") from error


def _check_again(chunks: Any) -> None:
    """Raise where chunks can be read only once."""
    if not isinstance(chunks, Iterable):
        raise TypeError(
            f"chunks must be an iterable of Chunk, such as ArrayChunks(X, y), got {_class(chunks)}."
        )
    if isinstance(chunks, Iterator):
        raise TypeError(
            f"chunks is read more than once, and {_class(chunks)} can be read once only; give "
            "ArrayChunks, TableChunks or a class whose __iter__ starts again."
        )


def _through(before: list[Any], X: Any, sample_domain: Any) -> Any:
    """Send samples through the steps before; the result may be written to."""
    # A step with copy=False would write into rows that are read again for the next one.
    X = X.copy()
    for step in before:
        X = call_step(step.transform, X, sample_domain)
    return X


def _predictions(call: Callable[..., Any], chunks: Iterable[Chunk]) -> Iterator[Array]:
    for chunk in numbered(chunks):
        with naming(chunk):
            found = call_step(call, chunk.X, chunk.sample_domain)
        yield found


# --- what each step does ------------------------------------------------------------------------


class _Step(NamedTuple):
    """A step of the user's model, a fresh copy of it that learns, and how that learns."""

    name: str
    model: Any
    fresh: Any
    learn: Callable[[_Step, _Stream, list[Any]], None]

    def check(self, domains: Domains) -> None:
        """Raise where these labels and domains will not do, before any heavy work."""
        if self.learn is _learn_moments:
            self.fresh.check_domains(domains)
        if self.learn is _learn_labels and not domains.labelled.any():
            raise ValueError(
                f"Step {self.name!r} learns from labels, and no sample of the stream has one; "
                "mark only unknown labels as -1, NaN or None."
            )


def _plan(model: Any) -> list[_Step]:
    """Say how each step will learn, or raise where one cannot."""
    if isinstance(model, DomainPipeline):
        named = [(name, step) for name, step in model.steps if hasattr(step, "fit")]
        if not named:
            raise ValueError("The pipeline has no step that does anything; give it one.")
    elif isinstance(model, ScatterComponents):
        named = [(_class(model), model)]
    else:
        raise TypeError(
            f"model must be an SCA, USCA, KernelFisher, KPCA or DomainPipeline, got "
            f"{_class(model)}; chain steps with make_domain_pipeline."
        )
    return [_Step(name, step, clone(step), _way_to_learn(name, step)) for name, step in named]


def _way_to_learn(name: str, step: Any) -> Callable[[_Step, _Stream, list[Any]], None]:
    if isinstance(step, FrozenEstimator) or not get_tags(step).requires_fit:
        return _keep
    if isinstance(step, ScatterComponents):
        reason = step.why_not_moments()
        if reason:
            raise TypeError(f"Step {name!r}: {reason}")
        step.check_parameters()
        return _learn_moments
    if not hasattr(step, "partial_fit"):
        raise TypeError(
            f"Step {name!r}, {_class(step)}, cannot learn from a stream: it has no partial_fit. "
            f"Fit it on some samples and give FrozenEstimator({_class(step)}(...).fit(X)), or "
            "take one that has: StandardScaler, IncrementalPCA, GaussianNB, SGDClassifier, "
            "skatter.NearestNeighbour."
        )
    return _learn_labels if learns_from_labels(step) else _learn_samples


def _keep(step: _Step, stream: _Stream, before: list[Any]) -> None:
    """Let a step be that is fitted, or needs no more than to see how many features there are."""
    with stream.sample(before) as X:
        step.fresh.fit(X, None)


def _learn_samples(step: _Step, stream: _Stream, before: list[Any]) -> None:
    """Learn from all samples, without labels."""
    for chunk, _ in stream.read(step.name):
        with naming(chunk):
            step.fresh.partial_fit(_through(before, chunk.X, chunk.sample_domain))


def _learn_labels(step: _Step, stream: _Stream, before: list[Any]) -> None:
    """Learn from the labelled samples."""
    takes_classes = "classes" in signature(step.fresh.partial_fit).parameters
    known = {"classes": stream.survey.domains.classes} if takes_classes else {}
    for chunk, domains in stream.read(step.name):
        rows = np.flatnonzero(domains.labelled)
        if not len(rows):
            continue
        with naming(chunk):
            where = None if chunk.sample_domain is None else np.asarray(chunk.sample_domain)[rows]
            X = _through(before, chunk.X[rows], where)
            step.fresh.partial_fit(X, domains.names(), **known)


def _learn_moments(step: _Step, stream: _Stream, before: list[Any]) -> None:
    """Learn components from the moments of their features."""
    moments = _moments(step, stream, before)
    step.fresh.learn_moments(moments, stream.survey.n_chunks)


def _moments(step: _Step, stream: _Stream, before: list[Any]) -> Moments:
    with stream.sample(before) as X:
        step.fresh.begin_stream(X, stream.classes)
    found = None
    for chunk, domains in stream.read(step.name):
        with naming(chunk):
            X = _through(before, chunk.X, chunk.sample_domain)
            part = step.fresh.moments_of(X, domains)
            found = part if found is None else merge_moments([found, part])
    assert found is not None
    return found


def _has_map_to_fit(estimator: Any) -> bool:
    feature_map = getattr(estimator, "feature_map", None)
    return feature_map is not None and not isinstance(feature_map, FrozenEstimator)


def _random_state(steps: list[_Step]) -> Any:
    """Return what draws the sample: the random_state of the first estimator with a map to fit."""
    found = (step.model.random_state for step in steps if _has_map_to_fit(step.fresh))
    return next(found, None)


def _class(thing: Any) -> str:
    return type(thing).__name__
