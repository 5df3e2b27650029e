"""Maximum mean discrepancy of all pairs of domains from one Gram matrix.

For domains a and b with n_a and n_b samples, the squared discrepancy without the diagonal is ::

    MMD² = Σ_aa k / n_a(n_a-1)  -  2 Σ_ab k / n_a n_b  +  Σ_bb k / n_b(n_b-1)

zero on average where both are alike, whatever their sizes, so that small domains do not look far.
If a and b are alike, every way to split their samples into n_a and n_b is as likely as the one
observed: the p-value is the share of splits with an MMD² at least as large, the observed one
counted among them. All splits of a pair are one matrix product.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from itertools import combinations

import numpy as np

from skatter.domains import Codes
from skatter.kernels import gram, resolve_kernel
from skatter.scatter.mmd import mmd_of_splits
from skatter.tensors import Array

MAX_PERMUTATIONS = 35_000
"""Enough for 30 domains: the smallest p-value of 435 pairs, corrected, is then below 0.05."""

FIRST, PLAIN = 200, 0.1
"""A pair whose p-value is at least this after the first splits needs no more of them.

P-values below it come from all splits, so they mean what they say.
"""

TIE = 1e-6
"""Splits this near to the observed one tie with it, up to rounding in single precision."""


def pairwise_mmd(
    X: Array, domain: Codes, *, n_permutations: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Return MMD² and permutation p-value of each pair of domains, in the order of combinations."""
    K = np.asarray(gram(X, resolve_kernel(X, "rbf")))
    groups = [np.flatnonzero(domain == d) for d in range(domain.max() + 1)]

    @cache
    def splits(n_a: int, n_b: int, n: int) -> Array:
        return draw_splits(n_a, n_b, n, rng)

    tests = []
    for a, b in combinations(groups, 2):
        both = np.concatenate([a, b])
        draws = partial(splits, len(a), len(b))
        tests.append(_test(K[np.ix_(both, both)], draws, n_permutations))
    values, p_values = np.array(tests).T
    return values, p_values


def _test(K: Array, draws: Callable[[int], Array], n_permutations: int) -> tuple[float, float]:
    """MMD² and p-value of one pair, whose random splits are drawn as they are needed."""
    n_first = min(FIRST, n_permutations)
    of_splits = mmd_of_splits(K, draws(n_first))
    observed = of_splits[0]
    p_value = np.mean(of_splits >= observed - TIE)
    if p_value < PLAIN and n_permutations > n_first:
        more = mmd_of_splits(K, draws(n_permutations - n_first))[1:]
        p_value = np.mean(np.concatenate([of_splits, more]) >= observed - TIE)
    return float(observed), float(p_value)


def enough_permutations(n_permutations: int, n_tests: int, level: float) -> int:
    """Return how many permutations let a corrected p-value fall below half the level."""
    needed = int(np.ceil(2 * n_tests / max(level, 1e-6)))
    return max(n_permutations, min(needed, MAX_PERMUTATIONS))


def draw_splits(n_a: int, n_b: int, n_permutations: int, rng: np.random.Generator) -> Array:
    """Return members of the first sample, 0 or 1, for the observed split and random ones."""
    observed = np.repeat(np.array([1.0, 0.0], dtype=np.float32), [n_a, n_b])
    shuffled = np.broadcast_to(observed, (n_permutations, n_a + n_b))
    return np.vstack([observed, rng.permuted(shuffled, axis=1)])
