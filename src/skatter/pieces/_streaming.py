"""Fit and predict by chunks: data may be larger than memory, the result is that of one fit.

A stream is read once to see what labels and domains it holds, and to draw the sample on which a
feature map is fitted; then once for each step that learns.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from skatter._checks import seeded
from skatter._out_of_core import Place, not_finite
from skatter._tensors import Array
from skatter.moments import Moments
from skatter.pieces._chunks import GIVEN, Chunk, numbered
from skatter.pieces._learning import Plan, collect
from skatter.pieces._progress import Display, show
from skatter.pieces._survey import Call, Labels, Piece, Survey, join_surveys, stacked, survey_piece
from skatter.pipeline import call_step

Model = TypeVar("Model")
SAMPLE_VALUES = 2**24  # numbers in the rows of a sample, at most: 128 MiB in double precision
CHANGED = "the stream is not what it was when it was first read; it must yield the same rows again."


def fit_chunks(
    model: Model, chunks: Iterable[Chunk], *, classes: Any = None, progress: bool | None = None
) -> Model:
    """Fit a model to a stream of chunks; the result is that of one ``fit`` on all rows.

    Memory does not grow with the number of rows. A feature map is fitted on at most 20,000 rows,
    drawn under the estimator's ``random_state``, unless it is a
    :class:`sklearn.frozen.FrozenEstimator`. An error names the chunk; the model stays as it was.

    Parameters
    ----------
    model : SCA, USCA, KernelFisher, KPCA or DomainPipeline
        An estimator of the family with ``feature_map=...`` or ``kernel="linear"``; or a pipeline
        with one. Its other steps must learn in pieces (``partial_fit``, as StandardScaler,
        SGDClassifier and GaussianNB do), need no fit, or come fitted in a ``FrozenEstimator``.
    chunks : iterable of Chunk
        Such as :class:`ArrayChunks` or :class:`TableChunks`; iterated once, and once a step.
    classes : array-like or None
        All classes of the stream, -1 only if it is among them. None: what ``fit`` takes for labels.
    progress : bool or None
        Whether to show how far it has come, on the standard error stream; None: on a terminal.

    Returns
    -------
    model
        The same object, fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.kernel_approximation import RBFSampler
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skatter import SCA, make_domain_pipeline
    >>> from skatter.pieces import ArrayChunks, fit_chunks, predict_chunks
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
    plan = Plan.of(model)
    _check_again(chunks)
    with show(progress, 1 + sum(step.reads for step in plan.steps)) as display:
        plan.fit(Stream.of(chunks, display, classes=classes, sampling=plan.sampling()))
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
        What to call: ``"predict"``, ``"predict_proba"``, ``"transform"`` and so on.

    Returns
    -------
    iterator of ndarray
        What the method returns, one array for each chunk.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter import USCA
    >>> from skatter.pieces import ArrayChunks, fit_chunks, predict_chunks
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
    estimator: Any, chunks: Iterable[Chunk], *, classes: Any = None, progress: bool | None = None
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
        As in :func:`fit_chunks`; but -1 always means unlabelled, unless ``classes`` names it.

    Returns
    -------
    Moments
        For ``Moments.save``, :func:`skatter.moments.merge_moments` and ``SCA.fit_moments``.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter import SCA
    >>> from skatter.pieces import ArrayChunks, moments_of_chunks
    >>> from skatter.moments import merge_moments
    >>> rng = np.random.default_rng(0)
    >>> sca = SCA(2, kernel="linear")
    >>> north = ArrayChunks(rng.normal(size=(50, 3)), rng.integers(2, size=50), "north")
    >>> south = ArrayChunks(rng.normal(size=(40, 3)), np.full(40, -1), "south")
    >>> both = merge_moments([moments_of_chunks(sca, site) for site in (north, south)])
    >>> sca.fit_moments(both).components_.shape
    (2, 3)
    """
    step = Plan.of(estimator).steps[0]
    if step.model is not estimator:
        raise TypeError(
            "moments_of_chunks takes an estimator of the SCA family, got "
            f"{type(estimator).__name__}."
        )
    if step.has_map_to_fit:
        raise TypeError(
            "Moments of different sites add up under one map alone: fit the feature_map of "
            f"{type(estimator).__name__} once and give it to all as "
            "feature_map=FrozenEstimator(...)."
        )
    _check_again(chunks)
    with show(progress, 2) as display:
        stream = Stream.of(chunks, display, classes=classes, part=True)
        return collect(step, clone(estimator), stream.behind(None, step.name))


def _predictions(call: Call, chunks: Iterable[Chunk]) -> Iterator[Array]:
    for chunk in numbered(chunks):
        with chunk.place.named(chunk.X):
            found = call_step(call, chunk.X, chunk.sample_domain)
        yield found


def _check_again(chunks: Any) -> None:
    kind = type(chunks).__name__
    if not isinstance(chunks, Iterable):
        raise TypeError(
            f"chunks must be an iterable of Chunk, such as ArrayChunks(X, y), got {kind}."
        )
    if isinstance(chunks, Iterator):
        raise TypeError(
            f"chunks is read more than once, and {kind} can be read once only; give ArrayChunks, "
            "TableChunks or a class whose __iter__ starts again."
        )


@dataclass(frozen=True, eq=False)
class Stream:
    chunks: Iterable[Chunk]
    display: Display
    labels: Labels
    drawn: Sample
    starts: list[int]
    before: Any = None
    name: str = ""

    @classmethod
    def of(
        cls,
        chunks: Iterable[Chunk],
        display: Display,
        *,
        classes: Any = None,
        part: bool = False,
        sampling: tuple[int, Any] = (1, None),
    ) -> Stream:
        """Read a stream once; ``part`` says that it belongs to a longer one."""
        reservoir = Reservoir(*sampling)
        first: Chunk | None = None
        found: Survey | None = None
        n_rows = getattr(chunks, "n_rows", None)
        for chunk in display.follow(numbered(chunks), "labels and domains", n_rows):
            with chunk.place.named(chunk.X):
                first = chunk if first is None else first
                _check_alike(chunk, first)
                own = survey_piece(_piece(chunk), classes)
                found = own if found is None else join_surveys([found, own])
            reservoir.add(chunk)
        if found is None:
            raise ValueError("X holds 0 samples; a minimum of 2 is required.")
        starts = np.cumsum([0, *found.sizes[:-1]]).tolist()
        labels = Labels.of(found, CHANGED, classes, part=part)
        return cls(chunks, display, labels, reservoir.drawn(), starts)

    @property
    def n_rows(self) -> int:
        return int(self.labels.survey.counts.sum())

    @property
    def n_pieces(self) -> int:
        return len(self.starts)

    def behind(self, model: Any, name: str) -> Stream:
        return replace(self, before=model, name=name)

    def sample(self, n_wanted: int, random_state: Any, accept: Call) -> Any:
        """Return rows that the survey drew; one that is not accepted names its chunk."""
        drawn = self.drawn.take(np.arange(min(n_wanted, len(self.drawn.rows))))
        columns = {} if drawn.sample_domain is None else {"sample_domain": drawn.sample_domain}
        try:
            X = Piece(self._place_of(0), drawn.X, columns, self.before).samples()
            accept(X)
        except ValueError as error:
            bad = drawn.rows[not_finite(drawn.X)]
            if not len(bad):
                raise
            raise self._place_of(bad[0]).blamed(error, bad[0]) from error
        return X

    def joined(self, call: Call, join: Call, *shared: Any) -> Any:
        found = None
        for piece in self._read():
            with piece.place.named(piece.X):
                part = call(piece, *shared)
                found = part if found is None else join([found, part])
        return found

    def in_turn(self, call: Call, state: Any, *shared: Any) -> Any:
        for piece in self._read():
            with piece.place.named(piece.X):
                state = call(piece, state, *shared)
        return state

    def _read(self) -> Iterator[Piece]:
        """Yield every chunk with its labels and domains, and check that none has changed."""
        view, left = self.labels.view, self.labels.survey.counts.copy()
        for chunk in self.display.follow(numbered(self.chunks), self.name, self.n_rows):
            piece = _piece(chunk)
            with chunk.place.named(chunk.X):
                numbers = self.labels.numbers_of(piece.columns, chunk.n_rows)
            yield replace(piece, before=self.before, domains=view.take(numbers))
            left -= np.bincount(numbers, minlength=len(left))
        if left.any():
            raise ValueError(CHANGED[0].upper() + CHANGED[1:])

    def _place_of(self, row: int) -> Place:
        number = bisect_right(self.starts, row) - 1
        start, end = [*self.starts, self.n_rows][number : number + 2]
        return Place("Chunk", number, start, end - start)


def _piece(chunk: Chunk) -> Piece:
    columns = {name: getattr(chunk, name) for name in GIVEN}
    given = {name: values for name, values in columns.items() if values is not None}
    return Piece(chunk.place, chunk.X, given)


def _check_alike(chunk: Chunk, first: Chunk) -> None:
    if chunk.X.shape[1] != first.X.shape[1]:
        raise ValueError(
            f"X has {chunk.X.shape[1]} features, the first chunk has {first.X.shape[1]}."
        )
    for name in GIVEN:
        here, before = (getattr(one, name) is not None for one in (chunk, first))
        if here != before:
            raise ValueError(
                f"{name} is {'given' if here else 'None'} here, unlike in the first chunk; "
                "give it in all chunks or in none."
            )


class Sample(NamedTuple):
    X: Any
    sample_domain: Any
    rows: Any
    keys: Any

    def take(self, places: Array) -> Sample:
        return Sample(*(None if column is None else column[places] for column in self))


def _joined(samples: list[Sample]) -> Sample:
    columns = zip(*samples, strict=True)
    return Sample(*(None if parts[0] is None else stacked(parts) for parts in columns))


class Reservoir:
    """A uniform sample of the rows of a stream, without replacement, in their order.

    Every row draws a number, and the rows with the smallest numbers stay, however the stream is
    cut; fewer than ``size`` where they would hold over ``SAMPLE_VALUES`` numbers.
    """

    def __init__(self, size: int, random_state: Any = None) -> None:
        self._size = size
        self._rng = seeded(random_state)
        self._limit = np.inf
        self._kept: list[Sample] = []

    def add(self, chunk: Chunk) -> None:
        size = min(self._size, max(SAMPLE_VALUES // max(chunk.X.shape[1], 1), 2))
        keys = self._rng.random_sample(chunk.n_rows)
        low = _smallest(keys, size)
        low = low[keys[low] < self._limit]
        domain = None if chunk.sample_domain is None else np.asarray(chunk.sample_domain)[low]
        self._kept.append(Sample(chunk.X[low], domain, chunk.first_row + low, keys[low]))
        if sum(len(part.rows) for part in self._kept) > size:
            together = _joined(self._kept)
            smallest = together.take(_smallest(together.keys, size))
            self._limit, self._kept = smallest.keys.max(), [smallest]

    def drawn(self) -> Sample:
        return _joined(self._kept)


def _smallest(keys: Array, size: int) -> Array:
    if len(keys) <= size:
        return np.arange(len(keys))
    return np.sort(np.argpartition(keys, size - 1)[:size])
