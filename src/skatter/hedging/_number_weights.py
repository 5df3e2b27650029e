"""How much each member of a hedge counts where labels are numbers, without a label of the target.

Predictions are clipped to the range of the labels, with a margin. Among members under one scaling,
member m counts

    w_m ∝ 1 / (σ_m^a (1 + d_m²)),

σ_m its error on held-out source labels and d_m the root mean squared distance of its predictions
for the target from the median member's, in units of σ_m. So a line that leaves all others behind
loses its voice. Pooled members have a = 6: where nothing has changed, the best of them has almost
all the weight. Members scaled in each domain have a = 1: when they count, errors on the sources say
little.

Scaling each domain assumes that labels are distributed alike in all of them, which most tables
contradict: so pooled members have all the weight. Another instrument is the exception: its samples
can be told from the sources' at a glance, and pooled members contradict one another on them. The
weight of the members scaled in each domain is the doubt

    (κ s − 0.9) / 0.4,    between 0 and 1,

where κ is the disagreement of the pooled members on the target in units of that on held-out source
samples, divided by the same of the members scaled in each domain, and s is how much larger the
probability of a sample to be the target's is for the target's samples than for others (a
cross-fitted logistic regression). Where whole sources were held out, the errors of both kinds say
more, and the larger of the two doubts counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from skatter._tensors import Array
from skatter.domains import Mask

POOLED_POWER, SCALED_POWER = 6.0, 1.0  # powers of the error on held-out source labels

MARGIN = 0.05  # share of the range of labels that predictions may exceed it by
DOUBTED, DISTRUSTED = 0.9, 1.3  # contradiction × separation from which pooled members are doubted
BETTER = 0.25  # share by which errors on whole sources left out must differ for all weight to move
PENALTY = 0.1  # C of the logistic regression that tells domains apart


def disagreement(predictions: Array) -> float:
    pairs = [np.mean((a - b) ** 2) for a, b in combinations(predictions, 2)]
    return float(np.sqrt(np.mean(pairs))) if pairs else 0.0


def distances(predictions: Array, errors: Array) -> Array:
    """Return how far each member is from the median member, in units of its own error."""
    off = predictions - np.median(predictions, axis=0)
    return np.asarray(np.sqrt(np.mean(off**2, axis=1)) / errors)


def number_weights(distance: Array, errors: Array, power: float) -> Array:
    """Return the weights of members under one scaling; they sum to one."""
    weights = (errors.min() / errors) ** power / (1 + distance**2)
    return np.asarray(weights / weights.sum())


def contradiction(target: Sequence[Array], held_out: Sequence[Array]) -> float:
    """Return how much more pooled members contradict one another than those scaled by domain."""
    pooled, scaled = (
        disagreement(there) / max(disagreement(here), 1e-300)
        for there, here in zip(target, held_out, strict=True)
    )
    return float(pooled / max(scaled, 1e-300))


def separation(X: Any, is_target: Mask, seed: int) -> float:
    """Return how well a line tells the target's samples from others: 0 not at all, 1 always."""
    n_folds = min(5, int(is_target.sum()), int((~is_target).sum()))
    if n_folds < 2:
        return 0.0
    model = LogisticRegression(C=PENALTY, max_iter=500)
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    share = cross_val_predict(model, X, is_target, cv=folds, method="predict_proba")[:, 1]
    return max(float(share[is_target].mean() - share[~is_target].mean()), 0.0)


def doubt_in_pooled(contradicted: float, separated: float) -> float:
    """Return the weight of the members that are scaled in each domain."""
    return float(np.clip((contradicted * separated - DOUBTED) / (DISTRUSTED - DOUBTED), 0, 1))


def doubt_by_transfer(pooled: float, scaled: float) -> float:
    """Return the same from the errors of both kinds on whole sources that were left out."""
    return float(np.clip((pooled / max(scaled, 1e-300) - 1) / BETTER, 0, 1))
