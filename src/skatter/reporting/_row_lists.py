"""Which rows to look at: predicted classes, how sure the model is, where the models disagree."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from skatter._formatting import count, percent, shorten
from skatter._tensors import Array
from skatter.domains import UNLABELLED, Codes
from skatter.reporting._predictions import Predictions
from skatter.reporting._samples import Samples

N_LISTED = 10  # rows of a list
MOST_CLASSES = 30  # classes that are counted one by one
BANDS = (0.0, 0.5, 0.7, 0.9, 1.0)  # edges of the bands of confidence


class Row(NamedTuple):
    number: int
    domain: str
    predicted: str
    confidence: float | None
    other: str
    truth: str


class RowLists(NamedTuple):
    """What the section on rows shows; lists hold a title and rows."""

    n: int
    classes: list[tuple[str, int, float, float | None]]
    bands: list[tuple[str, int, float]]
    lists: list[tuple[str, list[Row]]]
    n_disagree: int | None
    other_by: str
    hidden: bool

    @property
    def answer(self) -> str:
        name, _, share, _ = self.classes[0]
        verb = "was" if self.n == 1 else "were"
        said = f"{count(self.n, 'row')} {verb} predicted, {percent(share)} of them {name}."
        if self.n_disagree:
            apart = f"{count(self.n_disagree, 'row')} ({percent(self.n_disagree / self.n)})"
            said += f" The model and {self.other_by} disagree on {apart}: look at those first."
        elif self.n_disagree == 0:
            said += f" The model and {self.other_by} agree on all of them."
        if self.bands and (unsure := self.bands[0][1]):
            said += f" The model is less than half sure of {count(unsure, 'row')}."
        return said


def pick_rows(samples: Samples, found: Predictions) -> RowLists | None:
    """Count and list the rows without a label in the fit; all that are predicted where none is."""
    new = ~samples.domains.labelled[found.rows]
    asked = np.flatnonzero(new) if new.any() else np.arange(len(new))
    if not len(asked):
        return None
    sure, order = None, np.arange(len(asked))
    lists, n_disagree = [], None
    if found.confidence is not None:
        sure = found.confidence[asked]
        order = np.argsort(sure, kind="stable")
        lists.append(("The model is least sure", order))
    if found.other is not None:
        apart = found.other[asked] != found.predicted[asked]
        n_disagree = int(apart.sum())
        lists.insert(0, ("The models disagree", order[apart[order]]))
    return RowLists(
        len(asked),
        _classes(samples, found.predicted[asked], sure),
        [] if sure is None else _bands(sure),
        [(title, _rows(samples, found, asked[own[:N_LISTED]])) for title, own in lists if len(own)],
        n_disagree,
        found.other_by,
        bool(samples.hidden[found.rows[asked]].any()),
    )


def _classes(
    samples: Samples, predicted: Codes, sure: Array | None
) -> list[tuple[str, int, float, float | None]]:
    codes, place, counts = np.unique(predicted, return_inverse=True, return_counts=True)
    means = np.full(len(codes), np.nan)
    if sure is not None:
        means = np.bincount(place, weights=sure) / counts
    found = []
    for i in np.argsort(-counts, kind="stable")[:MOST_CLASSES]:
        name, n = shorten(samples.class_names[codes[i]]), int(counts[i])
        found.append((name, n, n / len(predicted), _known(means[i])))
    return found


def _known(share: float) -> float | None:
    return None if np.isnan(share) else float(share)


def _bands(sure: Array) -> list[tuple[str, int, float]]:
    counts = np.histogram(sure[~np.isnan(sure)], BANDS)[0].tolist()
    bands = zip(pairwise(BANDS), counts, strict=True)
    found = [(f"{low:g} to {high:g}", n, n / len(sure)) for (low, high), n in bands]
    return found if any(counts) else []


def _rows(samples: Samples, found: Predictions, places: Codes) -> list[Row]:
    other = found.predicted if found.other is None else found.other

    def name(code: int) -> str:
        return "·" if code == UNLABELLED else shorten(samples.class_names[code])

    listed = []
    for place in places:
        row = found.rows[place]
        domain = samples.domain_names[samples.domains.domain[row]]
        sure = None if found.confidence is None else _known(found.confidence[place])
        truth = samples.truth[row] if samples.hidden[row] else UNLABELLED
        mine = shorten(samples.class_names[found.predicted[place]])
        listed.append(Row(int(row) + 1, domain, mine, sure, name(other[place]), name(truth)))
    return listed
