"""How much each member of a hedge counts, from what can be seen without a label of the target.

Members that are right agree with one another, while those that are wrong are wrong in different
ways; and what is poor on held-out labels of the sources will not be good elsewhere: member m counts

    w_m ∝ v_m (mean share of the other members that predict the same)⁵ exp(−10 (s − s_m)),

s_m its accuracy on held-out source labels, s the best of them (a member without one has s). The
voices v are 1 but for three kinds. The member that trains itself on the target has C − 1 among C
classes, the champion 1 + 2 / (C − 1). Members that are scaled in each domain share one assumption,
that classes are as frequent in every domain, and have 0.6 or, where several sources rehearsed
(:mod:`skatter.hedging._transfer`),

    0.6 exp(40 (t_scaled − t_pooled) (m − 1) / (m + 3)),

t the accuracies of members under either scaling on m sources that were left out.

Where scaling each domain leaves a share ρ of the total scatter between sources and target
(:func:`residual_scatter`), the voices of members that are scaled in each domain, and of the one
that trains itself, are divided by exp(100 ρ), and what the champion has more than others is
multiplied by it. Beyond ρ = 0.02 nothing changes any more.

What weights cannot see is a shift that misleads all plain members, each in its own way. Then these
contradict one another although each was sure of the sources, and their consistency,

    c = max(agreement among pooled, agreement among scaled in each domain) / accuracy on held-out
    source labels,

falls. Below :data:`CONSISTENT` weight moves to the member that trains itself on the target, and at
:data:`CONTRADICTORY` it has all.

What a member says is multiplied by odds of the classes before the weighted mean is taken: their
frequencies in the target, as the mean of all members has them, over those in the sources, to the
power 1/2 (1 where they are given).

Where balanced accuracy counts, one that finds most of the target in one class is more likely misled
than right, so the odds are its own frequencies there to the power −0.6. Scaling in each domain
evens classes as well, which is now no fault: those members have a whole voice whatever ρ is, and
the one that trains itself (C − 1) / 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from skatter._tensors import Array
from skatter.hedging._expectation import FEWEST, sharpened
from skatter.hedging._members import SCALINGS, Member
from skatter.hedging._transfer import Transfer
from skatter.kernels import gram, resolve_kernel
from skatter.scatter import mmd, scatter
from skatter.self_training._panel import pairwise_agreement

SHARPNESS = 5  # power of the agreement
CHAMPION_VOICES = 2.0  # more than others, of the champion of two classes; of more it has less
MOST_VOICES = 10  # of the member that trains itself
DOMAIN_VOICE = 0.6  # of a member that is scaled in each domain
RESIDUAL_SHARPNESS = 100  # how fast voices move to the champion with the scatter that is left
MOST_RESIDUAL = 0.02  # share of the total scatter beyond which no more of them move
TRANSFER_SHARPNESS = 40  # how much more scaled members count if left-out sources suit them better
SOURCE_SHARPNESS = 10  # how much less a member counts that is less accurate on the sources
CONSISTENT = 0.74  # consistency of the plain members from which on they are taken at their word
CONTRADICTORY = 0.64  # consistency up to which nothing is given for their word
TRUST_IN_FREQUENCIES = 0.5  # power of the odds from estimated class frequencies; given ones have 1
EVENING = 0.6  # power of a member's own class frequencies, its divisor for balanced accuracy
SMALL = 0.005  # added to frequencies: a class that nobody predicts is rare, not absent

SELF_TRAINED = "SCAClassifier"
ALIKE = ("logistic", "svm", "forest")  # under both scalings; boosting takes too long twice


@dataclass(frozen=True, eq=False)
class Vote:
    """How members vote on the target.

    ``odds``, of shape (n_members, n_classes), correct what members say; ``frequencies`` are those
    of the target's classes, given or estimated; ``pairs`` say how often two members agree.
    """

    weights: Array
    odds: Array
    frequencies: Array
    pairs: Array
    consistency: float

    @property
    def agreement(self) -> Array:
        """Mean share of the other members that predict as each does."""
        return np.asarray((self.pairs.sum(axis=1) - 1) / (len(self.pairs) - 1))


def hold_vote(
    members: Sequence[Member],
    shares: Array,
    champion: str,
    prior: Array,
    metric: str,
    *,
    frequencies: Array | None = None,
    transfer: Transfer | None = None,
    residual: float = 0.0,
) -> Vote:
    """Weigh members by what they say of the target, an array (n_members, n_samples, n_classes).

    ``prior`` holds the class frequencies of the sources, ``frequencies`` those of the target where
    they are known; ``residual`` is the scatter that scaling leaves between sources and target.
    """
    pairs = pairwise_agreement(shares.argmax(axis=2))
    own = [each.name for each in members].index(SELF_TRAINED)
    voices = _voices(members, champion, len(prior), metric, transfer, residual)
    scores = np.array([np.nan if m.source_score is None else m.source_score for m in members])
    groups = [
        [place for place, m in enumerate(members) if m.name in ALIKE and m.scaling == scaling]
        for scaling in SCALINGS
    ]
    consistent = consistency(pairs, groups, float(np.mean(scores[groups[0]])))
    weights = shift_weight(member_weights(pairs, voices, scores), doubt(consistent), own)
    estimated = np.tensordot(weights, shares, axes=1).mean(axis=0)
    found = estimated if frequencies is None else frequencies
    if metric == "accuracy":
        # The member that trains itself has its own way with class frequencies.
        power = TRUST_IN_FREQUENCIES * (1 - doubt(consistent)) if frequencies is None else 1.0
        odds = np.tile(((found + SMALL) / (prior + SMALL)) ** power, (len(members), 1))
    else:
        odds = (shares.mean(axis=1) + SMALL) ** -EVENING
    return Vote(weights, odds, found, pairs, consistent)


def correct(shares: Array, odds: Array) -> Array:
    """Multiply what each member says by its odds of the classes.

    Examples
    --------
    >>> import numpy as np
    >>> shares = np.array([[[0.8, 0.2]], [[0.4, 0.6]]])  # two members, one sample
    >>> correct(shares, np.array([[1, 4], [1, 1]])).tolist()
    [[[0.5, 0.5]], [[0.4, 0.6]]]
    """
    corrected = shares * odds[:, None, :]
    return np.asarray(corrected / corrected.sum(axis=2, keepdims=True))


def pool(weights: Array, shares: Array, odds: Array, power: float = 1.0) -> Array:
    """Return the weighted mean of what members say, each corrected by its odds, sharpened."""
    return sharpened(np.tensordot(weights, correct(shares, odds), axes=1), power)


def _voices(
    members: Sequence[Member],
    champion: str,
    n_classes: int,
    metric: str,
    transfer: Transfer | None,
    residual: float,
) -> Array:
    """Return what each member counts before its predictions are seen."""
    balanced = metric != "accuracy"
    apart = 0.0 if balanced else float(np.clip(residual, 0, MOST_RESIDUAL))
    caution = float(np.exp(RESIDUAL_SHARPNESS * apart))
    scaled = (1.0 if balanced else DOMAIN_VOICE) / caution
    if transfer is not None:
        m = len(transfer.scores)
        lead = (transfer.scaled - transfer.pooled) * (m - 1) / (m + 3)
        scaled *= float(np.exp(TRANSFER_SHARPNESS * lead))
    voices = np.array([scaled if each.scaling == "domain" else 1.0 for each in members])
    names = [each.name for each in members]
    voices[names.index(champion)] += CHAMPION_VOICES * caution / max(n_classes - 1, 1)
    voices[names.index(SELF_TRAINED)] = self_trained_voices(n_classes) / (1 + balanced) / caution
    return voices


def residual_scatter(source: Array, target: Array) -> float:
    """Return the share of the total scatter that lies between samples of the two sides.

    It is measured in the feature space of an RBF kernel, without bias, so that it may be negative.
    """
    n = len(source)
    if min(n, len(target)) < FEWEST:
        return 0.0
    both = np.concatenate([source, target])
    K = gram(both, resolve_kernel(both))
    total = scatter(K, kernel="precomputed")
    between = mmd(K[:n], K[n:], kernel="precomputed", unbiased=True).value / 4
    return between / total if total else 0.0


def member_weights(agreement: Array, voices: Array, source_scores: Array) -> Array:
    """Return the weights of the members; a source score is NaN where it was not measured."""
    others = max(len(agreement) - 1, 1)
    best = np.nanmax(source_scores)
    behind = best - np.where(np.isnan(source_scores), best, source_scores)
    sound = voices * np.exp(-SOURCE_SHARPNESS * behind)
    weights = sound * ((agreement.sum(axis=1) - 1) / others) ** SHARPNESS
    # Where no two agree on anything, agreement says nothing.
    weights = weights if weights.any() else sound
    return np.asarray(weights / weights.sum())


def self_trained_voices(n_classes: int) -> float:
    return float(min(n_classes - 1, MOST_VOICES))


def consistency(agreement: Array, groups: Sequence[Sequence[int]], source_score: float) -> float:
    """Return how far plain members confirm one another, in units of their source accuracy.

    ``groups`` are the places of those with pooled scaling, and of those scaled in each domain.
    """
    means = [
        np.mean([agreement[a, b] for a, b in combinations(group, 2)])
        for group in groups
        if len(group) > 1
    ]
    return float(max(means) / max(source_score, 1e-9)) if means else 1.0


def doubt(consistent: float) -> float:
    """Return how far the plain members' word is doubted, from 0 to 1."""
    return float(np.clip((CONSISTENT - consistent) / (CONSISTENT - CONTRADICTORY), 0, 1))


def shift_weight(weights: Array, doubted: float, self_trained: int) -> Array:
    """Move weight to the member that trains itself, as far as plain members are doubted."""
    out = (1 - doubted) * weights
    out[self_trained] += doubted
    return out
