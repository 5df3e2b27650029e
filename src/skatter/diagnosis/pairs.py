"""Which domains differ: two tests of every pair, corrected together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from skatter.diagnosis.discrepancy import enough_permutations, pairwise_mmd
from skatter.diagnosis.recognition import recognise
from skatter.diagnosis.samples import Samples
from skatter.diagnosis.significance import FAMILIES, holm


@dataclass(frozen=True)
class PairShift:
    """How far two domains differ.

    Attributes
    ----------
    first, second : str
        The domains.
    mmd : float
        Squared maximum mean discrepancy, the one without bias: about 0 where they are alike.
    mmd_p_value, mmd_p_corrected : float
        Its permutation p-value, and the same corrected for all tests of all pairs.
    auc, accuracy : float
        Of a classifier of domains on samples it has not seen; chance is 0.5.
    auc_p_value, auc_p_corrected : float
        Mann-Whitney test of it.
    differ : bool
        Whether one of the corrected p-values is at or below the level.
    """

    first: str
    second: str
    mmd: float
    mmd_p_value: float
    mmd_p_corrected: float
    auc: float
    accuracy: float
    auc_p_value: float
    auc_p_corrected: float
    differ: bool


def compare_pairs(
    samples: Samples,
    names: tuple[str, ...],
    *,
    n_permutations: int,
    level: float,
    seed: int,
    announce: Callable[[str], None],
) -> tuple[tuple[PairShift, ...], int, float]:
    """Test every pair by its discrepancy and by a classifier of domains.

    Return also the number of permutations, and the smallest corrected p-value that they can give.
    """
    domain = samples.domains.domain
    pairs = list(combinations(names, 2))
    n_tests = FAMILIES * 2 * len(pairs)
    n_permutations = enough_permutations(n_permutations, n_tests, level)
    announce(f"maximum mean discrepancy of {len(pairs):,} pair(s), {n_permutations:,} permutations")
    rng = np.random.default_rng(seed)
    mmd, mmd_p = pairwise_mmd(samples.X, domain, n_permutations=n_permutations, rng=rng)
    announce("classifier of domains")
    auc, accuracy, auc_p = recognise(samples.X, domain, seed=seed)
    corrected = holm(np.concatenate([mmd_p, auc_p]), families=FAMILIES)
    mmd_c, auc_c = np.split(corrected, 2)
    shifts = tuple(
        PairShift(
            first,
            second,
            mmd=float(mmd[i]),
            mmd_p_value=float(mmd_p[i]),
            mmd_p_corrected=float(mmd_c[i]),
            auc=float(auc[i]),
            accuracy=float(accuracy[i]),
            auc_p_value=float(auc_p[i]),
            auc_p_corrected=float(auc_c[i]),
            differ=bool(min(mmd_c[i], auc_c[i]) <= level),
        )
        for i, (first, second) in enumerate(pairs)
    )
    floor = 1 / (n_permutations + 1)
    return shifts, n_permutations, min(n_tests * floor, 1.0)
