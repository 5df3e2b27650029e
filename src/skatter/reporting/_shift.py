"""Is there a shift, and where? A diagnosis of the rows, as both reports show it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from skatter._formatting import printable, shorten
from skatter._tensors import Array
from skatter.diagnosis import Diagnosis, diagnose
from skatter.diagnosis._samples import MIN_SAMPLES
from skatter.domains import Domains
from skatter.labels import Task

SOURCES, TARGET = "sources", "target"
MAX_ROWS, MAX_NUMBERS = 1_500, 4_000_000  # rows, and rows × columns, that are compared
N_LISTED = 10  # columns that are listed


class Shift(NamedTuple):
    words: list[str]
    columns: list[tuple[Any, ...]]

    @property
    def answer(self) -> str:
        where = [line for line in self.words[1:] if " feature" in line and "carries" in line]
        return " ".join([*self.words[:1], *(where or self.words[1:2])])


def find_shift(
    numbers: Array, names: list[str], y: Any, domains: Domains, task: Task, given: Any
) -> Shift:
    """Compare sources and target, or the domains where none is a target."""
    found = _diagnose(numbers, names, y, domains, task)
    said = given or found
    words = [] if said is None else [printable(line) for line in said.words.split("\n")]
    columns = [
        (shorten(f.name), f.distance, f.mean_difference, f.spread_ratio, f.moved)
        for f in (() if found is None else found.features[:N_LISTED])
    ]
    # The report itself says what comes next.
    return Shift([line for line in words if not line.startswith("Next: ")], columns)


def _diagnose(
    numbers: Array, names: list[str], y: Any, domains: Domains, task: Task
) -> Diagnosis | None:
    """Diagnose a draw of the rows; None where they are too few."""
    sides = sides_of(domains)
    groups = [np.flatnonzero(sides == side) for side in np.unique(sides)]
    if sum(len(own) >= MIN_SAMPLES for own in groups) < 2:
        return None
    most = max(min(MAX_ROWS, MAX_NUMBERS // numbers.shape[1]) // len(groups), MIN_SAMPLES)
    rng = check_random_state(0)
    rows = np.concatenate([np.sort(rng.permutation(own)[:most]) for own in groups])
    known = None if y is None else np.asarray(y)[rows]
    return diagnose(
        numbers[rows],
        known,
        sample_domain=sides[rows],
        labelled=None if y is None else domains.labelled[rows],
        task=task,
        feature_names=names,
        random_state=0,
    )


def sides_of(domains: Domains) -> Array:
    """Return "sources" or "target" for each row; the domain itself where there is no such side."""
    there = domains.target if domains.target.any() else ~domains.labelled
    if there.all() or not there.any():
        return np.asarray(domains.domain_ids)[domains.domain].astype(str)
    return np.where(there, TARGET, SOURCES)
