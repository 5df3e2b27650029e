"""Do labels shift too, where they are numbers? Mean and spread of every labelled domain.

The test is the one of a feature (:mod:`skatter.diagnosis.features`): ranks of place and spread.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skatter.diagnosis.features import largest_distances, rank_test
from skatter.diagnosis.samples import MIN_SAMPLES
from skatter.domains import Codes
from skatter.tensors import Array


@dataclass(frozen=True)
class NumberShift:
    """Labels by domain, and whether they differ between labelled domains.

    Attributes
    ----------
    domains : tuple of str
        The domains.
    counts : tuple of int
        Labelled samples of each.
    means, spreads : tuple of float
        Mean and standard deviation of the labels of each; NaN where it has none.
    p_value : float or None
        Rank test of "place and spread are the same in all labelled domains"; None where nothing
        can be tested.
    why_not : str
        Why nothing can be tested; empty otherwise.
    distance : float or None
        Kolmogorov-Smirnov distance of the two domains that differ most, 0 to 1.
    first, second : str or None
        These two.
    shifted : bool or None
        Whether the p-value is at or below the level; None where it cannot be told.
    """

    domains: tuple[str, ...]
    counts: tuple[int, ...]
    means: tuple[float, ...]
    spreads: tuple[float, ...]
    p_value: float | None = None
    why_not: str = ""
    distance: float | None = None
    first: str | None = None
    second: str | None = None
    shifted: bool | None = None


def compare_numbers(
    numbers: Array, domain: Codes, names: tuple[str, ...], *, level: float
) -> NumberShift | None:
    """Compare the labels of domains that have enough; None where nothing is labelled."""
    known = ~np.isnan(numbers)
    if not known.any():
        return None
    own = [numbers[known & (domain == d)] for d in range(len(names))]
    counts = tuple(len(each) for each in own)
    means, spreads = (
        tuple(float(figure(each)) if len(each) else np.nan for each in own)
        for figure in (np.mean, np.std)
    )
    told = [d for d, n in enumerate(counts) if n >= MIN_SAMPLES]
    if len(told) < 2:
        why = f"fewer than two domains have {MIN_SAMPLES} labels or more"
        return NumberShift(names, counts, means, spreads, why_not=why)
    y = np.concatenate([own[d] for d in told])[:, None]
    of = np.repeat(np.arange(len(told)), [counts[d] for d in told])
    p_value = float(rank_test(y, of, len(told))[0])
    distance, first, second = (each[0] for each in largest_distances(y, of, len(told)))
    return NumberShift(
        names,
        counts,
        means,
        spreads,
        p_value,
        distance=float(distance),
        first=names[told[first]],
        second=names[told[second]],
        shifted=p_value <= level,
    )
