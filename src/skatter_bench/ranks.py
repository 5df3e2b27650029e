"""Which differences between methods are more than luck? Ranks over many tasks.

After J. Demšar, Statistical Comparisons of Classifiers over Multiple Data Sets, JMLR 7:1-30, 2006:
rank the methods on every task, ask Friedman's test whether mean ranks differ at all, and Nemenyi's
critical difference which pairs do. Wilcoxon's signed-rank test, with Holm's correction, compares
one method with each of the others.

Tasks are taken as independent. The twelve pairs of four domains are not quite, so that p-values
of such a table are on the small side.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from skatter._checks import check_real
from skatter.diagnosis._significance import holm

Floats = NDArray[np.float64]
_DECIMALS = 9  # accuracies that differ by less come from equal counts, and tie


@dataclass(frozen=True)
class Ranking:
    """Mean ranks of methods over the same tasks, best first.

    ``cliques`` are the largest groups of methods whose mean ranks lie within the critical
    difference of Nemenyi's test at level ``alpha``; ``left_out`` lack an accuracy on some task.
    Friedman's statistic and its p-value are nan with fewer than three methods or two tasks.
    """

    methods: tuple[str, ...]
    mean_ranks: tuple[float, ...]
    n_tasks: int
    friedman: float
    p_value: float
    critical_difference: float
    alpha: float
    cliques: tuple[tuple[str, ...], ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class Duel:
    """One method against the reference.

    Wins are tasks on which the reference is better, ``difference`` is its mean accuracy minus that
    of the method. The p-value is Wilcoxon's, exact and two-sided; ``adjusted`` is after Holm.
    """

    method: str
    reference: str
    wins: int
    ties: int
    losses: int
    difference: float
    p_value: float
    adjusted: float


def mean_ranks(accuracy: Any) -> Floats:
    """Return the mean rank of every method; the highest accuracy of a task has rank 1.

    Equal accuracies share the mean of their ranks.
    """
    table = _check_table(accuracy)
    if np.isnan(table).any():
        raise ValueError("accuracy has missing values; leave those methods out, as rank() does.")
    ranks: Floats = stats.rankdata(-table, axis=1).mean(axis=0)
    return ranks


def critical_difference(n_methods: int, n_tasks: int, alpha: float = 0.05) -> float:
    r"""Return Nemenyi's critical difference of mean ranks.

    .. math:: CD = q_\alpha \sqrt{\frac{k (k + 1)}{6 N}}

    for k methods on N tasks; :math:`q_\alpha` is the upper quantile of the studentised range of k
    normal variables, divided by :math:`\sqrt 2`.
    """
    level = check_real("alpha", alpha, low=0.0, high=1.0)
    if n_methods < 2 or n_tasks < 1:
        raise ValueError(
            f"a critical difference needs two methods and one task, got {n_methods} and {n_tasks}."
        )
    q = stats.studentized_range.ppf(1 - level, n_methods, math.inf) / math.sqrt(2)
    return float(q * math.sqrt(n_methods * (n_methods + 1) / (6 * n_tasks)))


def rank(accuracy: Any, methods: Sequence[str], alpha: float = 0.05) -> Ranking:
    r"""Rank methods over tasks and say which ranks differ by more than luck.

    Friedman's statistic, for mean ranks :math:`R_j` of k methods on N tasks and without ties, is

    .. math:: \chi^2_F = \frac{12 N}{k (k + 1)} \Big( \sum_j R_j^2 - \frac{k (k + 1)^2}{4} \Big)

    and follows a chi-square distribution with k - 1 degrees of freedom if all methods are equal.
    A method without an accuracy on every task (nan) is left out and named.
    """
    table, names, left_out = _complete(accuracy, methods)
    if len(names) < 2:
        raise ValueError(
            f"ranks need two methods with a result on every task; left out: {', '.join(left_out)}."
        )
    ranks = mean_ranks(table)
    order = np.argsort(ranks, kind="stable")
    best_first = tuple(names[i] for i in order)
    difference = critical_difference(len(names), len(table), alpha)
    cliques = tuple(best_first[a:b] for a, b in _cliques(ranks[order], difference))
    found = (len(table), *_friedman(table), difference, alpha)
    return Ranking(best_first, tuple(ranks[order].tolist()), *found, cliques, left_out)


def duels(accuracy: Any, methods: Sequence[str], reference: str | None = None) -> list[Duel]:
    r"""Compare one method with each of the others by Wilcoxon's signed-rank test.

    Holm's correction takes the m p-values from the smallest to the largest and replaces the i-th
    by :math:`\max_{j \le i} \min(1, (m - j + 1)\, p_{(j)})`. Without a reference the best mean rank
    is taken. Having been picked by the same numbers, the best looks better than it is: name one in
    advance where you can.
    """
    table, names, _ = _complete(accuracy, methods)
    if not names:
        raise ValueError("no method has a result on every task.")
    if reference is None:
        reference = names[int(np.argmin(mean_ranks(table)))]
    elif reference not in names:
        raise ValueError(f"reference must be one of {', '.join(names)}, got {reference!r}.")
    others = [name for name in names if name != reference]
    best = table[:, names.index(reference)]
    gaps = [np.round(best - table[:, names.index(name)], _DECIMALS) for name in others]
    p_values = [_wilcoxon(gap) for gap in gaps]
    adjusted = holm(np.array(p_values)).tolist()
    found = []
    for name, gap, p_value, corrected in zip(others, gaps, p_values, adjusted, strict=True):
        wins, ties, losses = (int(np.sum(np.sign(gap) == sign)) for sign in (1, 0, -1))
        difference = float(gap.mean())
        found.append(Duel(name, reference, wins, ties, losses, difference, p_value, corrected))
    return found


def _check_table(accuracy: Any) -> Floats:
    table = np.asarray(accuracy, dtype=np.float64)
    if table.ndim != 2 or 0 in table.shape:
        raise ValueError(
            f"accuracy must have one row per task and one column per method, got {table.shape}."
        )
    return np.round(table, _DECIMALS)


def _complete(accuracy: Any, methods: Sequence[str]) -> tuple[Floats, list[str], tuple[str, ...]]:
    table = _check_table(accuracy)
    if len(methods) != table.shape[1] or len(set(methods)) != len(methods):
        raise ValueError(
            f"methods must name the {table.shape[1]} columns of accuracy, each differently; "
            f"got {', '.join(methods)}."
        )
    whole = ~np.isnan(table).any(axis=0)
    names, left_out = (np.asarray(methods)[own].tolist() for own in (whole, ~whole))
    return table[:, whole], names, tuple(left_out)


def _friedman(table: Floats) -> tuple[float, float]:
    n_tasks, n_methods = table.shape
    if n_methods < 3 or n_tasks < 2 or bool((table == table[:, :1]).all()):
        return math.nan, math.nan
    test = stats.friedmanchisquare(*table.T)
    return float(test.statistic), float(test.pvalue)


def _cliques(ranks: Floats, difference: float) -> list[tuple[int, int]]:
    """Return half-open ranges of sorted ranks that span the difference at most, none in another."""
    cliques: list[tuple[int, int]] = []
    for start, end in enumerate(np.searchsorted(ranks, ranks + difference, side="right").tolist()):
        if end - start > 1 and (not cliques or end > cliques[-1][1]):
            cliques.append((start, end))
    return cliques


def _wilcoxon(gap: Floats) -> float:
    """Return the exact two-sided p-value: the share of all signs that are at least as uneven.

    Tables have few tasks, many ties and some zeros. There SciPy's test is a normal approximation
    or exact, depending on its version; counting is exact always. A zero takes part in the ranks
    and stands on neither side, which splits its rank evenly.
    """
    doubled = np.rint(2 * stats.rankdata(np.abs(gap))).astype(int)  # whole numbers despite ties
    total = int(doubled[gap != 0].sum())
    share = np.ones(1)  # of the signs whose positive ranks add up to 0, 1, ..., total
    for step in doubled[gap != 0]:
        share = (np.pad(share, (0, step)) + np.pad(share, (step, 0))) / 2
    uneven = np.abs(2 * np.arange(total + 1) - total)
    observed = abs(2 * int(doubled[gap > 0].sum()) - total)
    return float(min(1.0, share[uneven >= observed].sum()))
