"""Reverse validation: what the target, labelled by the hedge, teaches about the sources.

A forest learns the classes that the hedge predicts for the target, and predicts the samples of the
sources: where the hedge is wrong, the errors come back. Both ways the columns are scaled in each
domain, as only few tables allow a way back without.

References
----------
E. Zhong, W. Fan, Q. Yang, O. Verscheure, J. Ren: Cross Validation Framework to Choose Amongst
Models and Datasets for Transfer Learning. ECML PKDD 2010.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from skatter.domains import Codes
from skatter.hedging._champion import (
    MAX_ROWS,
    Metric,
    draw_rows,
    probabilities,
    score_of,
    standard_classifiers,
)


def reverse_score(
    target: Any, predicted: Codes, source: Any, label: Codes, metric: Metric, seed: int
) -> float:
    """Return how well a forest taught by the target, as predicted, predicts the sources' labels.

    Of many rows, some are drawn on each side.
    """
    n_classes = 1 + int(max(predicted.max(), label.max()))
    learn = draw_rows(predicted, MAX_ROWS, seed)
    test = draw_rows(label, MAX_ROWS, seed)
    if len(np.unique(predicted)) == 1:
        said = np.eye(n_classes)[np.full(len(test), predicted[0])]
    else:
        forest = standard_classifiers(target, n_classes, metric=metric, random_state=seed)["forest"]
        said = probabilities(forest.fit(target[learn], predicted[learn]), source[test], n_classes)
    return score_of(metric, label[test], said)
