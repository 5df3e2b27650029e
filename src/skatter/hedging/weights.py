"""How much each member of a hedge counts, from what can be seen without a label of the target.

Members that are right agree with one another, while those that are wrong are wrong in different
ways; and what is poor on held-out labels of the sources will not be good elsewhere. So member m
counts

    w_m ∝ v_m (mean share of the other members that predict the same)² exp(−10 (s − s_m)),

s_m its accuracy on held-out source labels, s the best of them (a member without one has s). The
voices v are 1 but for two kinds. Members that are scaled in each domain have half a voice: they
share one assumption, that classes are as frequent in every domain. The member that trains itself on
the target has one for each class beyond the first: the more classes there are, the more there is to
learn from how they lie. The weights change little as long as all members are sensible. What they
cannot see is a shift that misleads all plain members, each in its own way. Then these contradict
one another although each was sure of the sources, and their consistency,

    c = max(agreement among pooled, agreement among scaled in each domain) / accuracy on held-out
    source labels,

falls. Below :data:`CONSISTENT` weight moves to the member that trains itself on the target, and at
:data:`CONTRADICTORY` it has all.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

SHARPNESS = 2
"""Power of the agreement."""

MOST_VOICES = 10
"""Of the member that trains itself."""

DOMAIN_VOICE = 0.5
"""Of a member that is scaled in each domain."""

SOURCE_SHARPNESS = 10
"""How much less a member counts that is less accurate on the sources."""

CONSISTENT = 0.74
"""Consistency of the plain members from which on they are taken at their word."""

CONTRADICTORY = 0.64
"""Consistency up to which nothing is given for their word."""


def pairwise_agreement(labels: Array) -> Array:
    """Return the share of samples on which each pair of members predicts the same.

    Parameters
    ----------
    labels : ndarray of int of shape (n_members, n_samples)
        Predicted classes.

    Examples
    --------
    >>> import numpy as np
    >>> pairwise_agreement(np.array([[0, 1], [0, 0]])).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    return np.array([[np.mean(a == b) for b in labels] for a in labels])


def member_weights(agreement: Array, voices: Array, source_scores: Array) -> Array:
    """Return the weights of the members; they sum to one.

    Parameters
    ----------
    agreement : ndarray of shape (n_members, n_members)
        Of :func:`pairwise_agreement`.
    voices : ndarray of shape (n_members,)
        What each counts before anything is seen.
    source_scores : ndarray of shape (n_members,)
        Accuracy on held-out source labels; NaN where it was not measured.

    Examples
    --------
    >>> import numpy as np
    >>> agreement = np.array([[1, 0.8, 0.4], [0.8, 1, 0.4], [0.4, 0.4, 1]])
    >>> member_weights(agreement, np.ones(3), np.array([0.9, 0.9, np.nan])).round(2)
    array([0.41, 0.41, 0.18])
    >>> member_weights(agreement, np.ones(3), np.array([0.9, 0.7, np.nan])).round(2)
    array([0.63, 0.09, 0.28])
    """
    others = max(len(agreement) - 1, 1)
    best = np.nanmax(source_scores)
    behind = best - np.where(np.isnan(source_scores), best, source_scores)
    sound = voices * np.exp(-SOURCE_SHARPNESS * behind)
    weights = sound * ((agreement.sum(axis=1) - 1) / others) ** SHARPNESS
    # Where no two agree on anything, agreement says nothing.
    weights = weights if weights.any() else sound
    return np.asarray(weights / weights.sum())


def self_trained_voices(n_classes: int) -> float:
    """Return the voices of the member that trains itself on the target.

    Examples
    --------
    >>> self_trained_voices(2), self_trained_voices(6), self_trained_voices(100)
    (1.0, 5.0, 10.0)
    """
    return float(min(n_classes - 1, MOST_VOICES))


def consistency(agreement: Array, groups: Sequence[Sequence[int]], source_score: float) -> float:
    """Return how far plain members confirm one another, in units of their source accuracy.

    Parameters
    ----------
    agreement : ndarray of shape (n_members, n_members)
        Of :func:`pairwise_agreement`.
    groups : sequence of sequence of int
        Plain members with pooled scaling, and those scaled in each domain.
    source_score : float
        Their mean accuracy on held-out source labels.
    """
    means = [
        np.mean([agreement[a, b] for a, b in combinations(group, 2)])
        for group in groups
        if len(group) > 1
    ]
    return float(max(means) / max(source_score, 1e-9)) if means else 1.0


def doubt(consistent: float) -> float:
    """Return how far the plain members' word is doubted, from 0 to 1.

    Examples
    --------
    >>> doubt(1.0), doubt(0.5)
    (0.0, 1.0)
    """
    return float(np.clip((CONSISTENT - consistent) / (CONSISTENT - CONTRADICTORY), 0, 1))


def shift_weight(weights: Array, doubted: float, self_trained: int) -> Array:
    """Move weight to the member that trains itself, as far as plain members are doubted.

    Examples
    --------
    >>> import numpy as np
    >>> shift_weight(np.array([0.5, 0.5]), 0.0, 1), shift_weight(np.array([0.5, 0.5]), 1.0, 1)
    (array([0.5, 0.5]), array([0., 1.]))
    """
    out = (1 - doubted) * weights
    out[self_trained] += doubted
    return out
