"""A first look at a whole stream: its labels and domains, its size, and a sample of its rows.

Which values of ``y`` are labels depends on all of them: -1 marks an unlabelled sample, or is one of
two classes. A chunk cannot know. So the distinct pairs of label and domain of all chunks are
gathered first. They make a small table, which :func:`~skatter.domains.read_domains` reads as it
reads whole data; a sample is then what its pair is. The same look draws the sample that an explicit
feature map is fitted on.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from skatter.chunks.sources import Chunk, naming
from skatter.domains import (
    Codes,
    Domains,
    concatenate_domains,
    is_unlabelled,
    read_domains,
    read_part,
)

Array = NDArray[Any]

SAMPLE_VALUES = 2**24
"""Numbers in these rows, at most: 128 MiB in double precision."""
_NO_CLASSES = np.empty(0, dtype=str)
GIVEN = ("y", "sample_domain", "labelled")


class Sample(NamedTuple):
    """Some rows of a stream.

    Attributes
    ----------
    X : ndarray or CSR matrix
        The rows.
    sample_domain : ndarray or None
        Their domains.
    rows : ndarray
        Their numbers in the stream.
    keys : ndarray
        The random numbers that they drew.
    """

    X: Any
    sample_domain: Any
    rows: Array
    keys: Array

    def take(self, places: Array) -> Sample:
        """Return some of them, in this order."""
        domain = None if self.sample_domain is None else self.sample_domain[places]
        return Sample(self.X[places], domain, self.rows[places], self.keys[places])


def _joined(samples: list[Sample]) -> Sample:
    X, domain, rows, keys = zip(*samples, strict=True)
    return Sample(
        sparse.vstack(X, format="csr") if sparse.issparse(X[0]) else np.vstack(X),
        None if domain[0] is None else np.concatenate(domain),
        np.concatenate(rows),
        np.concatenate(keys),
    )


class Reservoir:
    """A uniform sample of the rows of a stream, without replacement, in their order.

    Every row draws a number, and the rows with the smallest numbers stay. The sample is the same
    however the stream is cut; it is the whole stream where that is short enough.

    Parameters
    ----------
    size : int
        Rows to keep; fewer where they are so wide that all would hold over ``SAMPLE_VALUES``
        numbers.
    random_state : int, RandomState instance or None
        None is a fixed seed.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter.chunks import ArrayChunks
    >>> reservoir = Reservoir(3)
    >>> for chunk in ArrayChunks(np.arange(50.0)[:, None], rows=20):
    ...     reservoir.add(chunk)
    >>> reservoir.drawn().rows.tolist()
    [16, 34, 43]
    """

    def __init__(self, size: int, random_state: Any = None) -> None:
        self._size = size
        self._rng = check_random_state(0 if random_state is None else random_state)
        self._limit = np.inf
        self._kept: list[Sample] = []

    def add(self, chunk: Chunk) -> None:
        """Show the next chunk."""
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
        """Return the sample."""
        return _joined(self._kept)


def _smallest(keys: Array, size: int) -> Array:
    """Return where the smallest keys are, first places first."""
    if len(keys) <= size:
        return np.arange(len(keys))
    return np.sort(np.argpartition(keys, size - 1)[:size])


class _Rules(NamedTuple):
    """How chunks are read: what they hold, which classes the user named, and if there are more."""

    given: tuple[bool, ...]
    classes: Any
    part: bool

    @property
    def settled(self) -> bool:
        """Whether chunks themselves tell who is labelled."""
        return self.part or self.classes is not None or self.given[GIVEN.index("labelled")]

    def read(self, chunk: Chunk) -> Domains:
        """Return the labels and domains of a chunk; every value in ``y`` counts as a label."""
        for name, here, before in zip(GIVEN, _given(chunk), self.given, strict=True):
            if here != before:
                raise ValueError(
                    f"{name} is {'given' if here else 'None'} here, unlike in the first chunk; "
                    "give it in all chunks or in none."
                )
        y, domain, labelled, n = chunk.y, chunk.sample_domain, chunk.labelled, chunk.n_rows
        if y is None and domain is None and not self.part:
            domain = np.zeros(n, dtype=int)
        if self.part or self.classes is not None:
            return read_part(y, domain, labelled=labelled, classes=self.classes, n_samples=n)
        if y is not None and labelled is None:
            labelled = ~is_unlabelled(y, _NO_CLASSES)
        return read_domains(y, domain, labelled=labelled, n_samples=n)

    def decide(self, pairs: Domains) -> Domains:
        """Return who is labelled among all pairs of label and domain, as one fit would say."""
        has_y, has_domain, _ = self.given
        y = np.array([name for name, _ in _names(pairs)], dtype=object) if has_y else None
        domain = pairs.domain_ids[pairs.domain] if has_domain or not has_y else None
        labelled = pairs.labelled if self.settled and has_y else None
        found = read_domains(y, domain, labelled=labelled)
        return replace(found, classes=found.classes.astype(pairs.classes.dtype))


def _given(chunk: Chunk) -> tuple[bool, ...]:
    return tuple(getattr(chunk, name) is not None for name in GIVEN)


def _names(pairs: Domains) -> list[tuple[Any, Any]]:
    """Return label and domain of each pair under the user's names; None: no label."""
    labels, ids = [*pairs.classes.tolist(), None], pairs.domain_ids.tolist()
    codes = zip(pairs.label.tolist(), pairs.domain.tolist(), strict=True)
    return [(labels[label], ids[domain]) for label, domain in codes]


@dataclass(frozen=True)
class Survey:
    """What a first look at a stream told.

    Attributes
    ----------
    domains : Domains
        One row for each pair of label and domain, read by the rules for whole data.
    counts : ndarray
        Samples of each pair.
    sample : Sample
        Some of its rows.
    """

    domains: Domains
    counts: Codes
    sample: Sample
    _starts: list[int]
    _rules: _Rules
    _places: dict[tuple[Any, Any], int]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.counts.sum())

    @property
    def n_chunks(self) -> int:
        """Number of chunks."""
        return len(self._starts)

    def pairs_of(self, chunk: Chunk) -> Codes:
        """Return which row of ``domains`` each row of a chunk is.

        Raises
        ------
        ValueError
            Where the chunk holds a pair that the stream did not hold when it was looked at.
        """
        cells, cell = self._rules.read(chunk).cells()
        places = [self._places.get(name, -1) for name in _names(cells)]
        if -1 in places:
            raise ValueError(CHANGED)
        return np.array(places, dtype=np.intp)[cell]

    def chunk_of(self, place: int) -> tuple[int, int]:
        """Return the number of the chunk, and of the row, of a row of the sample."""
        row = int(self.sample.rows[place])
        return bisect_right(self._starts, row) - 1, row


CHANGED = "the stream is not what it was when it was first read; it must yield the same rows again."


def look_at(
    chunks: Iterable[Chunk],
    *,
    n_sample: int = 2,
    random_state: Any = None,
    classes: Any = None,
    part: bool = False,
) -> Survey:
    """Read a stream once, and tell what it holds.

    Parameters
    ----------
    chunks : iterable of Chunk
        One pass over the stream, numbered.
    n_sample : int
        Rows of the sample.
    random_state : int, RandomState instance or None
        Draws the sample; None is a fixed seed.
    classes : array-like or None
        All classes of the stream; -1 is a label only where it is among them. None: the rules of
        :func:`~skatter.domains.read_domains`.
    part : bool
        Whether the stream is part of a longer one, whose labels are not known here; then the rules
        are those of :func:`~skatter.domains.read_part`.

    Returns
    -------
    Survey
        What the stream holds.

    Raises
    ------
    ValueError
        Where a chunk does not fit the others, or there are too few rows.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter.chunks import ArrayChunks
    >>> chunks = ArrayChunks(np.zeros((4, 1)), [-1, -1, 1, 1], rows=2)
    >>> look_at(chunks).domains.classes.tolist()
    [-1, 1]
    """
    reservoir = Reservoir(n_sample, random_state)
    rules, pairs, width = None, None, 0
    starts: list[int] = []
    for chunk in chunks:
        with naming(chunk):
            if rules is None:
                rules, width = _Rules(_given(chunk), classes, part), chunk.X.shape[1]
            if chunk.X.shape[1] != width:
                raise ValueError(f"X has {chunk.X.shape[1]} features, the first chunk has {width}.")
            cells, _ = rules.read(chunk).cells()
            pairs = cells if pairs is None else concatenate_domains([pairs, cells]).cells()[0]
        reservoir.add(chunk)
        starts.append(chunk.first_row)
    n_rows = 0 if pairs is None else pairs.n_samples
    if rules is None or pairs is None or (n_rows < 2 and not part):
        raise ValueError(f"chunks holds {n_rows} samples; a fit needs two at least.")
    places = {name: place for place, name in enumerate(_names(pairs))}
    return Survey(rules.decide(pairs), pairs.counts, reservoir.drawn(), starts, rules, places)
