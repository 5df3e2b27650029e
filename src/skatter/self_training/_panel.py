"""A panel of candidates that were trained apart, and what they agree on.

Which scaling and which ridge suit a target cannot be read off its samples. But candidates that are
right agree with one another, while those that are wrong are wrong in different ways. So each
candidate c is weighed by its agreement with the others,

    w_c = (mean share of the other candidates that predict the same) ^ p,

and the weighted mean q of their votes decides. On real data this agreement says more about the
accuracy on a target than any criterion that looks at one candidate alone.

What the candidates agree on is better than what any of them believed. So they go on together: in
every further round each learns from q, with V_c(q) the votes that candidate c then has,

    q ← Σ_c w_c V_c(q).

Where classes are far from equally frequent, such rounds can drift. So the mean of q before and
after them is what is believed in the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from skatter._tensors import Array
from skatter.domains import Codes
from skatter.selection.criteria import is_collapsed
from skatter.self_training._rounds import Beliefs, Round, Trainer, has_settled, side_by_side

SHARPNESS = 4  # p: how much more the word of a candidate counts that the others confirm


def agreement(predictions: Sequence[Codes]) -> Array:
    """Return the mean share of the other candidates that predict the same, for each candidate."""
    if len(predictions) == 1:
        return np.ones(1)
    return np.asarray((pairwise_agreement(predictions).sum(axis=1) - 1) / (len(predictions) - 1))


def pairwise_agreement(predictions: Sequence[Codes]) -> Array:
    """Return the share of samples on which each pair predicts the same."""
    return np.array([[np.mean(a == b) for b in predictions] for a in predictions])


def weigh(predictions: Sequence[Codes], collapsed: Sequence[bool]) -> tuple[Array, Array]:
    """Return the agreement and the weight of each candidate; weights sum to one.

    A candidate whose predictions collapsed into one class has no weight, unless all did.
    """
    found = agreement(predictions)
    out = np.asarray(collapsed, dtype=bool)
    weights = np.where(out & ~out.all(), 0.0, found**SHARPNESS)
    if not weights.any():
        weights = np.ones(len(weights))
    return found, weights / weights.sum()


def consensus(found: Sequence[Beliefs]) -> tuple[Beliefs, Array, Array]:
    """Return what candidates believe together, the agreement of each, and its weight."""
    domains = found[0].domains
    given, unlabelled = domains.label[domains.labelled], ~domains.labelled
    predicted = [each.predicted[unlabelled] for each in found]
    agreements, weights = weigh(predicted, [is_collapsed(label, given) for label in predicted])
    shares = np.average([each.shares for each in found], axis=0, weights=weights)
    return replace(found[0], shares=shares), agreements, weights


def train_together(
    trainers: Sequence[Trainer], beliefs: Beliefs, n_rounds: int
) -> tuple[Beliefs, list[Round]]:
    """Let trainers go on from what all believe.

    Return the mean of what was believed before and after, and what happened in each round.
    """
    apart, history = beliefs, list[Round]()
    for number in range(1, n_rounds + 1):
        before = beliefs
        pieces = [partial(trainer.next, before) for trainer in trainers]
        found = side_by_side(pieces, trainers[0].features)
        beliefs, *_ = consensus(found)
        history.append(beliefs.after(number, before, trainers[0].trust(beliefs)))
        if has_settled(history):
            break
    return consensus([apart, beliefs])[0], history
