"""Which domains differ: two tests of every pair, corrected together.

The first is of the maximum mean discrepancy. For domains a and b with n_a and n_b samples, its
square without the diagonal is ::

    MMD² = Σ_aa k / n_a(n_a-1)  -  2 Σ_ab k / n_a n_b  +  Σ_bb k / n_b(n_b-1)

zero on average where both are alike, whatever their sizes, so that small domains do not look far.
If a and b are alike, every way to split their samples into n_a and n_b is as likely as the one
observed: the p-value is the share of splits with an MMD² at least as large, the observed one
counted among them. All splits of a pair are one matrix product.

The second is of a classifier of domains, judged on samples it has not seen. A forest of random
trees is grown on half of the samples and judges the other half, and the other way round. For two
domains, AUC is the chance that it finds out which of two samples, one of each, belongs to which:
0.5 where it cannot tell. Where domains are alike, the scores of unseen samples are alike, so the
Mann-Whitney test of each half is valid whatever the forest learnt; the smaller of the two p-values
is doubled. Out-of-bag scores would use all samples at once, but depend on one another: with several
domains, or small ones of the weight of large ones, they raise twice as many false alarms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from itertools import combinations

import numpy as np
from scipy.stats import mannwhitneyu
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import StratifiedKFold

from skatter._tensors import Array
from skatter.diagnosis._samples import Samples
from skatter.diagnosis._significance import FAMILIES, holm
from skatter.domains import Codes
from skatter.kernels import gram, resolve_kernel
from skatter.scatter._mmd import mmd_of_splits

N_TREES = 100
MAX_PERMUTATIONS = 35_000  # for 30 domains: 435 corrected p-values can still fall below 0.05
FIRST, PLAIN = 200, 0.1
"""A pair whose p-value is at least this after the first splits needs no more of them.

P-values below it come from all splits, so they mean what they say.
"""

TIE = 1e-6  # splits this near to the observed one tie with it, up to rounding in single precision


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
    """Test every pair; return also how many permutations there were, and their least p-value."""
    domain = samples.domains.domain
    pairs = list(combinations(names, 2))
    n_tests = FAMILIES * 2 * len(pairs)
    n_permutations = enough_permutations(n_permutations, n_tests, level)
    announce(f"maximum mean discrepancy of {len(pairs):,} pair(s), {n_permutations:,} permutations")
    rng = np.random.default_rng(seed)
    mmd, mmd_p = pairwise_mmd(samples.X, domain, n_permutations=n_permutations, rng=rng)
    announce("classifier of domains")
    auc, accuracy, auc_p = recognise(samples.X, domain, seed=seed)
    mmd_c, auc_c = np.split(holm(np.concatenate([mmd_p, auc_p]), families=FAMILIES), 2)
    differ = np.minimum(mmd_c, auc_c) <= level
    columns = (mmd, mmd_p, mmd_c, auc, accuracy, auc_p, auc_c, differ)
    shifts = tuple(map(PairShift, *zip(*pairs, strict=True), *(each.tolist() for each in columns)))
    return shifts, n_permutations, min(n_tests * (1 / (n_permutations + 1)), 1.0)


def pairwise_mmd(
    X: Array, domain: Codes, *, n_permutations: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    K = np.asarray(gram(X, resolve_kernel(X, "rbf")))
    groups = [np.flatnonzero(domain == d) for d in range(domain.max() + 1)]

    @cache
    def splits(n_a: int, n_b: int, n: int) -> Array:
        return draw_splits(n_a, n_b, n, rng)

    tests = []
    for a, b in combinations(groups, 2):
        both = np.concatenate([a, b])
        draws = partial(splits, len(a), len(b))
        tests.append(_test_splits(K[np.ix_(both, both)], draws, n_permutations))
    values, p_values = np.array(tests).T
    return values, p_values


def _test_splits(
    K: Array, draws: Callable[[int], Array], n_permutations: int
) -> tuple[float, float]:
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


def recognise(X: Array, domain: Codes, *, seed: int) -> tuple[Array, Array, Array]:
    """Return AUC, accuracy (0.5 by chance, whatever the sizes) and p-value of every pair."""
    halves = StratifiedKFold(2, shuffle=True, random_state=seed).split(X, domain)
    figures = []
    for i, (grown, judged) in enumerate(halves):
        # Samples of all domains weigh the same together, so that scores do not favour large ones.
        forest = ExtraTreesClassifier(N_TREES, class_weight="balanced", random_state=seed + i)
        votes = forest.fit(X[grown], domain[grown]).predict_proba(X[judged])
        figures.append(_judge_pairs(votes, domain[judged]))
    auc, accuracy, p_value = np.swapaxes(figures, 0, 1)
    return auc.mean(axis=0), accuracy.mean(axis=0), np.minimum(2 * p_value.min(axis=0), 1.0)


def _judge_pairs(votes: Array, domain: Codes) -> Array:
    pairs = combinations(range(votes.shape[1]), 2)
    return np.array([_judge(votes, domain, a, b) for a, b in pairs]).T


def _judge(votes: Array, domain: Codes, a: int, b: int) -> tuple[float, float, float]:
    for_a, for_b = votes[:, a], votes[:, b]
    both = for_a + for_b
    # A sample that gets no vote for either domain speaks for none.
    score = np.divide(for_b, both, out=np.full(len(both), 0.5), where=both > 0)
    of_a, of_b = score[domain == a], score[domain == b]
    test = mannwhitneyu(of_b, of_a, alternative="greater")
    right = np.mean(of_a < 0.5) + np.mean(of_b > 0.5)
    tied = np.mean(of_a == 0.5) + np.mean(of_b == 0.5)
    auc = test.statistic / (len(of_a) * len(of_b))
    return float(auc), float(right + tied / 2) / 2, float(test.pvalue)
