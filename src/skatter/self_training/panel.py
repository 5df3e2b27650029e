"""A panel of candidates that were trained apart, and what they agree on.

Which scaling and which ridge suit a target cannot be read off its samples. But candidates that are
right agree with one another, while those that are wrong are wrong in different ways. So each
candidate c is weighed by its agreement with the others,

    w_c = (mean share of the other candidates that predict the same) ^ p,

and the weighted mean of their votes decides. On real data this agreement says more about the
accuracy on a target than any criterion that looks at one candidate alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from skatter.domains import Codes
from skatter.tensors import Array

SHARPNESS = 4
"""p: how much more the word of a candidate counts that the others confirm."""


def agreement(predictions: Sequence[Codes]) -> Array:
    """Return the mean share of the other candidates that predict the same, for each candidate."""
    table = np.stack(predictions)
    if len(table) == 1:
        return np.ones(1)
    same = np.array([[np.mean(a == b) for b in table] for a in table])
    return np.asarray((same.sum(axis=1) - 1) / (len(table) - 1))


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
