"""The criteria by name: what each asks of a model, and how it is scored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np

from skatter.selection.criteria._evidence import N_FOLDS, Evidence, MakeJudge
from skatter.selection.criteria._predictions import (
    mutual_information,
    prediction_entropy,
    soft_neighbourhood_density,
)
from skatter.selection.criteria._scatters import judge_by_scatter
from skatter.selection.criteria._weights import (
    deep_embedded_validation,
    importance_weighted_accuracy,
)

Fits = Literal["one", "two", "folds", "domains"]


@dataclass(frozen=True)
class Criterion:
    """A way to judge a model for an unlabelled target; larger is better.

    Attributes
    ----------
    name : str
        As users type it.
    summary : str
        What it measures, in one line.
    measure : callable
        :class:`~skatter.selection.criteria._evidence.Evidence` to a number; or
    make_judge : callable
        where it looks at the predictions alone: samples, domains and a seed to a function that
        scores any predictions of the unlabelled target.
    fits : "one", "two", "folds" or "domains"
        Fits that it needs: one on all samples; a second one back from the target; one for each
        fold; one for each source domain. All criteria share the first.
    probabilities : bool
        Whether it looks at class probabilities.
    features : bool
        Whether it looks at the features of the model.
    """

    name: str
    summary: str
    measure: Callable[[Evidence], float] | None = None
    make_judge: MakeJudge | None = None
    fits: Fits = "one"
    probabilities: bool = False
    features: bool = False

    def score(self, evidence: Evidence) -> float:
        """Judge a model."""
        if self.make_judge is not None:
            return evidence.score_by(self.make_judge)
        return float(self.measure(evidence)) if self.measure is not None else np.nan


_CRITERIA = (
    Criterion(
        "scatter",
        "class scatter of the target's predictions that the sources share",
        make_judge=judge_by_scatter,
    ),
    Criterion(
        "entropy",
        "minus the mean entropy of the target's predictions",
        lambda evidence: prediction_entropy(evidence.probabilities),
        probabilities=True,
    ),
    Criterion(
        "mutual information",
        "sure predictions that name many classes",
        lambda evidence: mutual_information(evidence.probabilities),
        probabilities=True,
    ),
    Criterion(
        "neighbourhood density",
        "soft neighbourhood density of the target's predictions",
        lambda evidence: soft_neighbourhood_density(evidence.probabilities),
        probabilities=True,
    ),
    Criterion(
        "circular",
        "accuracy on the sources of a model that learns from the target's predictions",
        lambda evidence: evidence.circular,
        fits="two",
    ),
    Criterion(
        "source accuracy",
        f"accuracy on held-out source labels, {N_FOLDS} folds",
        lambda evidence: float(evidence.held_out.correct.mean()),
        fits="folds",
    ),
    Criterion(
        "importance weighted",
        "the same, with source samples weighted as if they came from the target",
        lambda evidence: importance_weighted_accuracy(*evidence.held_out),
        fits="folds",
        features=True,
    ),
    Criterion(
        "deep embedded",
        "minus the importance-weighted error, with a control variate",
        lambda evidence: deep_embedded_validation(
            ~evidence.held_out.correct, evidence.held_out.weights
        ),
        fits="folds",
        features=True,
    ),
    Criterion(
        "leave one domain out",
        "accuracy on each source domain, learnt from the others; for two sources or more",
        lambda evidence: float(np.mean(evidence.left_out)),
        fits="domains",
    ),
)

_BY_NAME = {criterion.name: criterion for criterion in _CRITERIA}
CRITERIA: Mapping[str, Criterion] = MappingProxyType(_BY_NAME)  # criteria by name
BEST = ("expected accuracy", "scatter")
"""The criteria whose mean rank is best in our study; docs/choosing.md has the figures."""


def register_criterion(criterion: Criterion) -> None:
    """Add a criterion, so that users can ask for it by its name."""
    _BY_NAME[criterion.name] = criterion
