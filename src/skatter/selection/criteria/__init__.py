"""Criteria that judge a model for an unlabelled target, and use no label of it.

Pure functions of arrays (:mod:`~skatter.selection.criteria._predictions`,
:mod:`~skatter.selection.criteria._weights`, :mod:`~skatter.selection.criteria._scatters`), and on
top of them :func:`judge` and :func:`choose`, which make the fits that criteria need and share them.
Every criterion is larger for the better.
"""

from skatter.selection.criteria._judging import Choice, choose, judge
from skatter.selection.criteria._predictions import (
    is_collapsed,
    mutual_information,
    nearest_class_probabilities,
    prediction_entropy,
    soft_neighbourhood_density,
)
from skatter.selection.criteria._registry import BEST, CRITERIA, Criterion, register_criterion
from skatter.selection.criteria._scatters import (
    ClassScatter,
    ScatterJudge,
    class_scatter,
    scatter_criterion,
)
from skatter.selection.criteria._weights import (
    deep_embedded_validation,
    effective_sample_size,
    importance_weighted_accuracy,
    importance_weights,
)

__all__ = [
    "BEST",
    "CRITERIA",
    "Choice",
    "ClassScatter",
    "Criterion",
    "ScatterJudge",
    "choose",
    "class_scatter",
    "deep_embedded_validation",
    "effective_sample_size",
    "importance_weighted_accuracy",
    "importance_weights",
    "is_collapsed",
    "judge",
    "mutual_information",
    "nearest_class_probabilities",
    "prediction_entropy",
    "register_criterion",
    "scatter_criterion",
    "soft_neighbourhood_density",
]
