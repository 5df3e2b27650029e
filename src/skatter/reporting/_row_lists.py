"""Which rows to look at: predicted classes, how sure the model is, where the models disagree."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skatter._formatting import count, percent, shorten
from skatter._tensors import Array
from skatter.domains import UNLABELLED, Codes
from skatter.reporting._predictions import Predictions
from skatter.reporting._samples import Samples

N_LISTED = 10
"""Rows of a list."""
MOST_CLASSES = 30
"""Classes that are counted one by one."""
BANDS = (0.0, 0.5, 0.7, 0.9, 1.0)
"""Edges of the bands of confidence."""


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
        if self.n_disagree is not None:
            apart = percent(self.n_disagree / self.n)
            said += (
                f" The model and {self.other_by} disagree on {count(self.n_disagree, 'row')} "
                f"({apart}): look at those first."
                if self.n_disagree
                else f" The model and {self.other_by} agree on all of them."
            )
        if self.bands and (unsure := self.bands[0][1]):
            said += f" The model is less than half sure of {count(unsure, 'row')}."
        return said


def pick_rows(samples: Samples, found: Predictions) -> RowLists | None:
    """Count and list the rows without a label in the fit; all that are predicted where none is."""
    new = ~samples.domains.labelled[found.rows]
    asked = np.flatnonzero(new) if new.any() else np.arange(len(new))
    if not len(asked):
        return None
    sure = None if found.confidence is None else found.confidence[asked]
    order = np.arange(len(asked)) if sure is None else np.argsort(sure, kind="stable")
    lists, n_disagree = [], None
    if found.other is not None:
        apart = found.other[asked] != found.predicted[asked]
        n_disagree = int(apart.sum())
        lists.append(("The models disagree", order[apart[order]]))
    if sure is not None:
        lists.append(("The model is least sure", order))
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
    means = None if sure is None else np.bincount(place, weights=sure) / counts
    return [
        (
            shorten(samples.class_names[codes[i]]),
            int(counts[i]),
            float(counts[i] / len(predicted)),
            None if means is None or np.isnan(means[i]) else float(means[i]),
        )
        for i in np.argsort(-counts, kind="stable")[:MOST_CLASSES]
    ]


def _bands(sure: Array) -> list[tuple[str, int, float]]:
    counts = np.histogram(sure[~np.isnan(sure)], BANDS)[0].tolist()
    edges = zip(BANDS[:-1], BANDS[1:], counts, strict=True)
    return (
        [(f"{low:g} to {high:g}", n, n / len(sure)) for low, high, n in edges]
        if any(counts)
        else []
    )


def _rows(samples: Samples, found: Predictions, places: Codes) -> list[Row]:
    rows, names = found.rows[places], samples.class_names
    sure = np.full(len(places), np.nan)
    if found.confidence is not None:
        sure = found.confidence[places]
    other = found.predicted[places] if found.other is None else found.other[places]
    truth = np.where(samples.hidden[rows], samples.truth[rows], UNLABELLED)
    return [
        Row(
            int(row) + 1,
            samples.domain_names[samples.domains.domain[row]],
            shorten(names[mine]),
            None if np.isnan(c) else float(c),
            "·" if theirs == UNLABELLED else shorten(names[theirs]),
            "·" if true == UNLABELLED else shorten(names[true]),
        )
        for row, mine, c, theirs, true in zip(
            rows, found.predicted[places], sure, other, truth, strict=True
        )
    ]
