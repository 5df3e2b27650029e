"""Can the domain of a sample be told? A classifier of domains, judged on samples it has not seen.

A forest of random trees is grown on half of the samples and judges the other half, and the other
way round. For two domains, AUC is the chance that it finds out which of two samples, one of each,
belongs to which: 0.5 where it cannot tell. Where domains are alike, the scores of unseen samples
are alike, so the Mann-Whitney test of each half is valid whatever the forest learnt; the smaller of
the two p-values is doubled. Out-of-bag scores would use all samples at once, but depend on one
another: with several domains, or with small ones given the weight of large ones, their test raises
twice as many false alarms as it should.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.stats import mannwhitneyu
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import StratifiedKFold

from skatter.domains import Codes
from skatter.tensors import Array

N_TREES = 100


def recognise(X: Array, domain: Codes, *, seed: int) -> tuple[Array, Array, Array]:
    """Return AUC, accuracy and p-value of every pair of domains, in the order of combinations.

    Accuracy is the mean over both domains, so that chance is 0.5 whatever their sizes.
    """
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
    """Rows of AUC, accuracy and p-value, a column for each pair."""
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
