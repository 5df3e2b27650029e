"""Ranks and tests agree with the worked example that made them popular, and with slow counting."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from skatter.diagnosis._significance import holm
from skatter_bench.ranks import critical_difference, duels, mean_ranks, rank

# J. Demšar, JMLR 7, 2006, table 6: AUC of C4.5 with no, with m, with cf, and with both tuned. Two
# entries of the last row but one are printed alike and ranked 2 and 3: a digit keeps them apart.
TREES = ("C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf")
AUC = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.975],
        [0.957, 0.978, 0.946, 0.970],
    ]
)


def count_ranks(row):
    """One more than the number of better methods, plus half of the equal ones."""
    return [1 + sum(b > a for b in row) + (sum(b == a for b in row) - 1) / 2 for a in row]


# --- ranks --------------------------------------------------------------------------------------


def test_mean_ranks_are_those_of_the_published_example():
    np.testing.assert_allclose(mean_ranks(AUC), [3.143, 2.000, 2.893, 1.964], atol=5e-4)


def test_mean_ranks_count_how_many_are_better():
    table = np.random.default_rng(0).integers(0, 5, size=(9, 6)) * 10.0
    expected = np.mean([count_ranks(row) for row in table], axis=0)
    np.testing.assert_allclose(mean_ranks(table), expected)
    assert mean_ranks(table).mean() == pytest.approx(3.5)


def test_rounding_errors_do_not_break_ties():
    assert mean_ranks([[0.1 + 0.2, 0.3]]).tolist() == [1.5, 1.5]


def test_a_ranking_is_sorted_and_does_not_depend_on_the_order_of_rows_and_columns():
    ranking = rank(AUC, TREES)
    assert ranking.methods == ("C4.5+m+cf", "C4.5+m", "C4.5+cf", "C4.5")
    assert list(ranking.mean_ranks) == sorted(ranking.mean_ranks)
    rng = np.random.default_rng(0)
    columns = rng.permutation(4)
    shuffled = AUC[rng.permutation(14)][:, columns]
    assert rank(shuffled, [TREES[j] for j in columns]) == ranking


def test_methods_with_a_gap_are_left_out_and_named():
    table = np.column_stack([AUC, AUC[:, 0]])
    table[3, 4] = np.nan
    ranking = rank(table, [*TREES, "broken"])
    assert ranking.left_out == ("broken",)
    assert ranking.mean_ranks == rank(AUC, TREES).mean_ranks
    with pytest.raises(ValueError, match="left out: a, b"):
        rank([[np.nan, 1.0, np.nan]], ["a", "c", "b"])


# --- Friedman and Nemenyi -----------------------------------------------------------------------


def test_friedman_is_the_published_statistic_corrected_for_ties():
    ranking = rank(AUC, TREES)
    n, k = AUC.shape
    spread = sum(r**2 for r in ranking.mean_ranks) - k * (k + 1) ** 2 / 4
    uncorrected = 12 * n / (k * (k + 1)) * spread
    assert uncorrected == pytest.approx(9.28, abs=5e-3)
    sizes = [np.unique(row, return_counts=True)[1] for row in AUC]
    ties = sum(int((size**3 - size).sum()) for size in sizes)
    corrected = uncorrected / (1 - ties / (n * (k**3 - k)))
    assert ranking.friedman == pytest.approx(corrected)
    assert ranking.p_value == pytest.approx(stats.chi2.sf(corrected, k - 1))


@pytest.mark.parametrize(
    ("alpha", "values"),
    [
        (0.05, (1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164)),
        (0.10, (1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920)),
    ],
)
def test_critical_values_are_those_of_the_published_table(alpha, values):
    ours = [critical_difference(k, 6, alpha) / math.sqrt(k * (k + 1) / 36) for k in range(2, 11)]
    np.testing.assert_allclose(ours, values, atol=1.1e-3)


def test_the_critical_difference_is_that_of_the_published_example():
    assert critical_difference(4, 14, 0.05) == pytest.approx(1.25, abs=5e-3)
    assert critical_difference(4, 14, 0.10) == pytest.approx(1.12, abs=5e-3)
    # At 0.10 the worst differs from the best two: 3.143 - 1.964 = 1.18, 3.143 - 2.000 = 1.14.
    assert rank(AUC, TREES, alpha=0.10).cliques == (
        ("C4.5+m+cf", "C4.5+m", "C4.5+cf"),
        ("C4.5+cf", "C4.5"),
    )
    assert rank(AUC, TREES, alpha=0.05).cliques == (("C4.5+m+cf", "C4.5+m", "C4.5+cf", "C4.5"),)


def test_cliques_are_the_largest_sets_within_the_critical_difference():
    rng = np.random.default_rng(3)
    table = rng.normal(size=(40, 7)) + 0.4 * np.arange(7)
    ranking = rank(table, list("abcdefg"))
    places = dict(zip(ranking.methods, ranking.mean_ranks, strict=True))
    close = [
        set(group)
        for size in range(2, 8)
        for group in itertools.combinations(places, size)
        if max(map(places.get, group)) - min(map(places.get, group)) <= ranking.critical_difference
    ]
    largest = [group for group in close if not any(group < other for other in close)]
    assert len(largest) > 1
    assert sorted(map(sorted, ranking.cliques)) == sorted(map(sorted, largest))


def test_nothing_is_tested_where_there_is_nothing_to_test():
    assert math.isnan(rank([[1.0, 2.0], [3.0, 4.0]], ["a", "b"]).p_value)
    same = rank(np.ones((5, 3)), ["a", "b", "c"])
    assert math.isnan(same.friedman)
    assert same.mean_ranks == (2.0, 2.0, 2.0)


# --- duels --------------------------------------------------------------------------------------


def exact_wilcoxon(gaps):
    """Two-sided p-value by trying all signs; zeros are ranked and count on neither side."""
    ranks = stats.rankdata(np.abs(gaps))
    observed = abs(np.dot(np.sign(gaps), ranks))
    signs = itertools.product((-1, 1), repeat=int(np.count_nonzero(gaps)))
    tried = [abs(np.dot(sign, ranks[gaps != 0])) >= observed - 1e-9 for sign in signs]
    return np.mean(tried)


@pytest.mark.parametrize(
    "gaps",
    [
        [1.0, -2.0, 3.0, 4.0, 5.0],
        [1.0, 1.0, -1.0, 2.0, 2.0, -2.0, 2.0],
        [0.0, 0.0, 1.0, 1.0, -2.0, 3.0, 3.0, 3.0],
        [0.0, -5.0],
        [2.0],
    ],
    ids=["plain", "ties", "zeros", "one-sign", "one-task"],
)
def test_ties_and_zeros_leave_p_values_exact(gaps):
    table = np.column_stack([gaps, np.zeros(len(gaps))])
    (duel,) = duels(table, ["a", "b"], reference="a")
    assert duel.p_value == pytest.approx(exact_wilcoxon(np.array(gaps)))


def test_without_ties_and_zeros_p_values_are_those_of_scipy():
    table = np.random.default_rng(2).normal(size=(30, 2)) + np.array([0.0, 0.3])
    (duel,) = duels(table, ["a", "b"])
    expected = stats.wilcoxon(table[:, 0] - table[:, 1], method="exact").pvalue
    assert duel.p_value == pytest.approx(expected)


def test_p_values_of_duels_are_those_of_all_signs_tried():
    table = np.random.default_rng(1).normal(size=(9, 3)) + np.array([0.0, 0.8, 1.5])
    fought = duels(table, ["a", "b", "c"], reference="c")
    assert [duel.method for duel in fought] == ["a", "b"]
    for j, duel in enumerate(fought):
        gaps = table[:, 2] - table[:, j]
        assert duel.p_value == pytest.approx(exact_wilcoxon(gaps))
        assert duel.difference == pytest.approx(gaps.mean())
        assert (duel.wins, duel.ties, duel.losses) == ((gaps > 0).sum(), 0, (gaps < 0).sum())


def test_the_published_duel_is_won():
    # T = min(R+, R-) = 12 with 14 data sets: below 21, the critical value at 0.05.
    (duel,) = duels(AUC[:, :2], TREES[:2])
    assert (duel.method, duel.reference) == ("C4.5", "C4.5+m")
    assert (duel.wins, duel.ties, duel.losses) == (10, 2, 2)
    gaps = np.round(AUC[:, 1] - AUC[:, 0], 6)
    assert duel.p_value == pytest.approx(exact_wilcoxon(gaps))
    assert duel.p_value < 0.05


def test_the_best_mean_rank_is_the_reference_unless_one_is_named():
    assert {duel.reference for duel in duels(AUC, TREES)} == {"C4.5+m+cf"}
    assert {duel.reference for duel in duels(AUC, TREES, "C4.5")} == {"C4.5"}
    with pytest.raises(ValueError, match=r"reference must be one of C4\.5, .*got 'SVM'"):
        duels(AUC, TREES, "SVM")


def test_equal_methods_have_a_p_value_of_one():
    (duel,) = duels(np.ones((4, 2)), ["a", "b"])
    assert (duel.p_value, duel.ties) == (1.0, 4)


def test_holm_multiplies_by_the_number_of_hypotheses_left_and_never_decreases():
    p = [0.04, 0.001, 0.03, 0.5, 0.011]
    expected = {}
    running = 0.0
    for i, value in enumerate(sorted(p)):
        running = max(running, min(1.0, (len(p) - i) * value))
        expected[value] = running
    assert holm(np.array(p)).tolist() == pytest.approx([expected[value] for value in p])
    assert holm(np.array([0.9, 0.8])).tolist() == [1.0, 1.0]
    assert holm(np.array([])).tolist() == []


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: mean_ranks([1.0, 2.0]), "one row per task"),
        (lambda: mean_ranks([[1.0, np.nan]]), "missing values"),
        (lambda: rank(AUC, TREES[:3]), "must name the 4 columns"),
        (lambda: rank(AUC[:, :2], ["a", "a"]), "each differently"),
        (lambda: critical_difference(1, 5), "two methods"),
        (lambda: critical_difference(4, 5, alpha=2), "alpha"),
    ],
    ids=["vector", "nan", "names", "twice", "alone", "alpha"],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()
