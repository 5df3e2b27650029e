"""How a setting is chosen: folds to score it on, and which score counts.

Every contestant is scored with every setting on some folds. A fold hides labels of the sources
(``source-0`` ...), leaves a source out (``without-webcam``), or is the task itself (``target``).
Where time matters the task itself is a fold of its own (``timed``), run with nothing beside it. A
protocol says which folds choose. Labels of the target choose under ``target-oracle`` alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from skatter._tensors import Array
from skatter.domains import Codes
from skatter_bench.tasks import Problem, Task

N_FOLDS = 5  # of cross-validation on source labels, as in the paper
TARGET = "target"  # the fold that is the task itself
SOURCE_CV = "source-cv"
LEAVE_ONE_DOMAIN_OUT = "leave-one-domain-out"
TARGET_ORACLE = "target-oracle"
DEFAULTS = "defaults"
TIMED = "timed"
PROTOCOLS: Mapping[str, str] = {
    SOURCE_CV: "settings chosen by 5-fold cross-validation on source labels",
    LEAVE_ONE_DOMAIN_OUT: "settings chosen by leaving out one source domain after the other",
    TARGET_ORACLE: "settings chosen by target labels: an upper bound, not a result",
    DEFAULTS: "defaults, nothing chosen",
    TIMED: "defaults, nothing chosen, one fit after the other, to measure seconds",
}
"""Protocols by name, and what they do."""


def say_protocol(name: str) -> str:
    """Say in a sentence what a protocol does; nothing of one that is not known."""
    what = PROTOCOLS.get(name, "")
    return f"{what[:1].upper()}{what[1:]}." if what else ""


UNTUNED = (DEFAULTS, TIMED)  # those under which every method has one setting


class Split(NamedTuple):
    """What a fold learns from and what it is scored on, as rows of a problem."""

    learn: Codes
    labelled: Codes
    score: Codes


def choosing_folds(protocol: str, task: Task) -> tuple[str, ...]:
    """Return the folds whose scores choose the setting."""
    if protocol == SOURCE_CV:
        return tuple(f"source-{i}" for i in range(N_FOLDS))
    if protocol == LEAVE_ONE_DOMAIN_OUT:
        return tuple(f"without-{name}" for name in task.sources)
    return (TARGET,) if protocol == TARGET_ORACLE else ()


def final_fold(protocol: str) -> str:
    """Return the fold that is the task itself; its seconds count only where it is timed."""
    return TIMED if protocol == TIMED else TARGET


def folds(protocol: str, task: Task) -> tuple[str, ...]:
    """Return all folds that a protocol needs; the task itself comes last."""
    choosing = (fold for fold in choosing_folds(protocol, task) if fold != TARGET)
    return (*choosing, final_fold(protocol))


def split(problem: Problem, fold: str, seed: int) -> Split:
    """Return the rows of one fold.

    Held-out samples of ``source-i`` stay among those learnt from, in their domain, and lose their
    label; a domain left out is not learnt from at all, as a domain nobody has seen.
    """
    learn, labelled = problem.learn, problem.labelled
    kind, _, which = fold.partition("-")
    if kind == "without":
        stays = problem.domain != which
        known = stays[labelled]
        return Split(learn[stays[learn]], labelled[known], labelled[~known])
    if kind == "source":
        make_folds = StratifiedKFold if problem.has_classes else KFold
        parts = make_folds(N_FOLDS, shuffle=True, random_state=seed)
        known, held = list(parts.split(labelled, problem.y[labelled]))[int(which)]
        return Split(learn, labelled[known], labelled[held])
    return Split(learn, labelled, problem.test)


def choose(scores: Mapping[str, Sequence[float]]) -> int:
    """Return the best setting by the mean over :func:`choosing_folds`, the first of equal ones."""
    mean = mean_scores(scores)
    if np.isnan(mean).all():
        raise ValueError("no setting could be scored on every fold.")
    return int(np.nanargmax(np.round(mean, 12)))  # equal counts may differ in the last bit


def mean_scores(scores: Mapping[str, Sequence[float]]) -> Array:
    """Return the mean over folds of each setting; nan where a fold has none."""
    return np.mean([np.asarray(row, dtype=float) for row in scores.values()], axis=0)
