"""The tests behind a diagnosis, each against a slow computation, and on data without a shift."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import binomtest, chi2_contingency, kruskal, ks_2samp, mannwhitneyu
from sklearn.ensemble import ExtraTreesClassifier

from skatter.diagnosis import _pairs as pairs
from skatter.diagnosis import _transfer as transfer
from skatter.diagnosis._features import compare_features, largest_distances, rank_test
from skatter.diagnosis._labels import compare_labels, compare_numbers
from skatter.diagnosis._pairs import (
    draw_splits,
    enough_permutations,
    pairwise_mmd,
    recognise,
)
from skatter.diagnosis._samples import Samples, standardise
from skatter.diagnosis._significance import holm, say_p
from skatter.diagnosis._transfer import compare_transfer
from skatter.diagnosis._variance import share_variance
from skatter.domains import read_domains
from skatter.scatter import mmd
from skatter.scatter._mmd import mmd_of_splits


def samples_of(X, y, domain):
    Z = standardise(np.asarray(X))[0]
    return Samples(Z, read_domains(y, domain), np.arange(len(Z)))


def near_level(false_alarms, n, level=0.05):
    """Whether a count of false alarms could well come from a test of this level, or a safer one."""
    return binomtest(false_alarms, n, level, alternative="greater").pvalue > 0.01


# --- correction ---------------------------------------------------------------------------------


def test_holm_is_the_step_down_rule_written_out():
    p = np.random.default_rng(0).uniform(size=30) ** 3
    for level in (0.01, 0.05, 0.2):
        # Reject the smallest while it is at most level over the number of those left.
        rejected = []
        for rank, i in enumerate(np.argsort(p)):
            if p[i] > level / (len(p) - rank):
                break
            rejected.append(i)
        assert sorted(rejected) == np.flatnonzero(holm(p) <= level).tolist()


def test_holm_leaves_out_what_was_not_tested():
    corrected = holm(np.array([0.01, np.nan, 0.02]))
    assert corrected[0] == pytest.approx(0.02)
    assert np.isnan(corrected[1])


def test_two_families_share_the_level():
    p = np.array([0.001, 0.2, 0.01])
    np.testing.assert_allclose(holm(p, families=2), np.minimum(2 * holm(p), 1))


@pytest.mark.parametrize(
    ("p", "floor", "said"),
    [(0.25, 0, "0.25"), (0.0049, 0, "0.005"), (1e-5, 0, "< 0.001"), (1 / 201, 1 / 201, "≤ 0.005")],
)
def test_p_values_are_said_as_bounds_where_they_are(p, floor, said):
    assert say_p(p, floor) == said


# --- maximum mean discrepancy -------------------------------------------------------------------


def test_every_pair_has_the_discrepancy_of_the_two_samples_alone():
    rng = np.random.default_rng(1)
    X, domain = rng.normal(size=(70, 3)), np.repeat([0, 1, 2], [10, 25, 35])
    X[domain == 2] += 0.5
    values, _ = pairwise_mmd(X, domain, n_permutations=19, rng=rng)
    squared = cdist(X, X, "sqeuclidean")
    gamma = 1 / np.median(squared[np.triu_indices(70, 1)])
    for (a, b), value in zip(combinations(range(3), 2), values, strict=True):
        direct = mmd(X[domain == a], X[domain == b], gamma=gamma, unbiased=True).value
        assert value == pytest.approx(direct, abs=1e-6)


def test_splits_are_computed_as_the_definition_says():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2))
    K = np.exp(-cdist(X, X, "sqeuclidean"))
    member = draw_splits(5, 7, 6, rng)
    assert member.sum(axis=1).tolist() == [5.0] * 7
    for row, value in zip(member, mmd_of_splits(K, member), strict=True):
        a, b = np.flatnonzero(row), np.flatnonzero(1 - row)
        inside = [np.mean([K[i, j] for i in group for j in group if i != j]) for group in (a, b)]
        assert value == pytest.approx(sum(inside) - 2 * K[np.ix_(a, b)].mean(), abs=1e-6)


def test_discrepancy_raises_false_alarms_at_its_level_whatever_the_sizes():
    alarms = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        X, domain = rng.normal(size=(75, 4)), np.repeat([0, 1], [15, 60])
        alarms.append(pairwise_mmd(X, domain, n_permutations=99, rng=rng)[1][0] <= 0.05)
    assert near_level(sum(alarms), 200)
    assert sum(alarms) >= 3  # neither does it sleep


def test_many_pairs_get_permutations_enough_for_a_corrected_p_value():
    for n_domains in (2, 4, 12, 30):
        n_tests = 4 * n_domains * (n_domains - 1) // 2
        assert n_tests / (enough_permutations(200, n_tests, 0.05) + 1) <= 0.05
    assert enough_permutations(500, 4, 0.05) == 500


def test_samples_that_are_all_equal_do_not_differ():
    _, p_values = pairwise_mmd(
        np.ones((20, 2)), np.repeat([0, 1], 10), n_permutations=99, rng=np.random.default_rng(0)
    )
    assert p_values.tolist() == [1.0]


# --- classifier of domains ------------------------------------------------------------------------


def test_recognition_is_that_of_two_forests_which_judge_what_they_have_not_seen(monkeypatch):
    """Domains of pure noise in many columns: a forest that saw its judges would know them all."""
    monkeypatch.setattr(pairs, "N_TREES", 30)
    rng = np.random.default_rng(0)
    X, domain = rng.normal(size=(120, 40)), np.repeat([0, 1], 60)
    auc, accuracy, _ = recognise(X, domain, seed=0)
    seen = ExtraTreesClassifier(30, random_state=0).fit(X, domain).score(X, domain)
    assert seen == 1.0
    assert 0.35 < auc[0] < 0.65
    assert 0.35 < accuracy[0] < 0.65


def test_recognition_raises_false_alarms_at_its_level_with_a_small_domain(monkeypatch):
    """Domains of 20 and 150 samples, where scores out of the bag raise twice as many."""
    monkeypatch.setattr(pairs, "N_TREES", 12)
    alarms = 0
    for seed in range(50):
        X = np.random.default_rng(seed).normal(size=(170, 10))
        alarms += recognise(X, np.repeat([0, 1], [20, 150]), seed=seed)[2][0] <= 0.05
    assert near_level(alarms, 50)


def test_recognition_finds_the_domain_that_differs_and_no_other():
    rng = np.random.default_rng(3)
    X, domain = rng.normal(size=(150, 3)), np.repeat([0, 1, 2], 50)
    X[domain == 1] += 3
    auc, accuracy, p = recognise(X, domain, seed=0)
    assert (auc[[0, 2]] > 0.95).all()
    assert (accuracy[[0, 2]] > 0.9).all()
    assert auc[1] < 0.7
    assert (p[[0, 2]] < 1e-6).all()
    assert p[1] > 0.01


def test_accuracy_counts_both_domains_the_same(monkeypatch):
    """One feature with three values; only the middle one is shared, by half of each domain."""
    X = np.repeat([0.0, 1.0, 1.0, 2.0], [20, 20, 200, 200])[:, None]
    domain = np.repeat([0, 0, 1, 1], [20, 20, 200, 200])
    auc, accuracy, _ = recognise(X, domain, seed=0)
    # A pair is told apart but where both samples have the value that is shared.
    assert auc[0] == pytest.approx(1 - 0.5 * 0.5 / 2, abs=0.03)
    assert accuracy[0] == pytest.approx(0.75, abs=0.03)


def test_the_smaller_p_value_of_both_halves_is_doubled(monkeypatch):
    halves = iter([[[0.7], [0.6], [0.03]], [[0.5], [0.8], [0.4]]])
    monkeypatch.setattr(pairs, "_judge_pairs", lambda *given: np.array(next(halves)))
    X = np.random.default_rng(0).normal(size=(20, 1))
    auc, accuracy, p = recognise(X, np.repeat([0, 1], 10), seed=0)
    np.testing.assert_allclose([auc[0], accuracy[0], p[0]], [0.6, 0.7, 0.06])


def test_a_half_is_judged_by_the_test_of_mann_and_whitney():
    rng = np.random.default_rng(0)
    votes, domain = rng.uniform(size=(80, 3)), np.repeat([0, 1, 2, 0], 20)
    score = votes[:, 2] / (votes[:, 0] + votes[:, 2])
    of_0, of_2 = score[domain == 0], score[domain == 2]
    auc, _, p = pairs._judge(votes, domain, 0, 2)
    assert p == pytest.approx(mannwhitneyu(of_2, of_0, alternative="greater").pvalue)
    assert auc == pytest.approx(np.mean(of_2[:, None] > of_0))


# --- features -------------------------------------------------------------------------------------


def lepage(x, domain):
    """The statistic by inverting the covariance of both scores, and its p-value by permutations."""
    place = np.argsort(np.argsort(x)) + 1 - (len(x) + 1) / 2
    scores = np.column_stack([place, np.abs(place) - np.abs(place).mean()])
    T = np.cov(scores.T)
    H = 0.0
    for d in np.unique(domain):
        mean = scores[domain == d].mean(axis=0)
        H += np.sum(domain == d) * mean @ np.linalg.solve(T, mean)
    return H


def test_rank_test_agrees_with_permutations_of_lepages_statistic():
    rng = np.random.default_rng(5)
    domain = np.repeat([0, 1, 2], [12, 20, 28])
    for shift, scale in ((0.0, 1.0), (0.5, 1.0), (0.0, 1.7)):
        x = rng.normal(size=60)
        x[domain == 2] = x[domain == 2] * scale + shift
        observed = lepage(x, domain)
        shuffled = [lepage(x, rng.permutation(domain)) for _ in range(600)]
        p = np.mean(np.array(shuffled) >= observed)
        assert rank_test(x[:, None], domain, 3)[0] == pytest.approx(p, abs=0.05)


def test_a_feature_of_two_values_gets_the_test_of_kruskal_and_wallis():
    rng = np.random.default_rng(0)
    domain = np.repeat([0, 1, 2], 40)
    x = (rng.uniform(size=120) < 0.2 + 0.15 * domain).astype(float)
    groups = [x[domain == d] for d in range(3)]
    assert rank_test(x[:, None], domain, 3)[0] == pytest.approx(kruskal(*groups).pvalue, rel=1e-9)


@pytest.mark.parametrize("sizes", [(50, 50), (8, 100), (10, 20, 30, 40)])
@pytest.mark.parametrize("kind", ["normal", "heavy tails", "few values"])
def test_rank_test_raises_false_alarms_at_its_level(sizes, kind):
    rng = np.random.default_rng(0)
    X = rng.standard_cauchy(size=(sum(sizes), 3000))
    if kind == "normal":
        X = rng.normal(size=X.shape)
    if kind == "few values":
        X = rng.poisson(0.7, size=X.shape).astype(float)
    domain = np.repeat(np.arange(len(sizes)), sizes)
    rate = np.mean(rank_test(X, domain, len(sizes)) <= 0.05)
    assert 0.03 < rate < 0.065


def test_the_far_tail_of_the_rank_test_is_safe():
    """Corrected p-values of many features live on it."""
    X = np.random.default_rng(1).normal(size=(40, 60_000))
    p = rank_test(X, np.repeat([0, 1], [15, 25]), 2)
    assert np.sum(p <= 1e-4) <= 12  # six are expected


def test_distances_are_those_of_kolmogorov_and_smirnov():
    rng = np.random.default_rng(2)
    domain = np.repeat([0, 1, 2], [9, 14, 20])
    X = np.column_stack([rng.normal(size=43), rng.integers(0, 4, 43), rng.normal(size=43).round(1)])
    distance, first, second = largest_distances(X.astype(float), domain, 3)
    for j in range(X.shape[1]):
        direct = {
            (a, b): ks_2samp(X[domain == a, j], X[domain == b, j]).statistic
            for a, b in combinations(range(3), 2)
        }
        assert distance[j] == pytest.approx(max(direct.values()))
        assert direct[first[j], second[j]] == pytest.approx(max(direct.values()))


def test_batches_change_nothing(monkeypatch):
    rng = np.random.default_rng(2)
    X, domain = rng.normal(size=(40, 23)), np.repeat([0, 1], 20)
    whole = [*largest_distances(X, domain, 2), rank_test(X, domain, 2)]
    monkeypatch.setattr("skatter.diagnosis._features.BATCH", 300)
    for one, other in zip(
        whole, [*largest_distances(X, domain, 2), rank_test(X, domain, 2)], strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_figures_of_a_feature_are_those_of_its_two_domains():
    rng = np.random.default_rng(0)
    domain = np.repeat([0, 1, 2], 50)
    x = rng.normal(size=(150, 2))
    x[domain == 2, 0] = 3 + 2 * x[domain == 2, 0]
    shift = compare_features(samples_of(x, None, domain), ("u", "v"), ("a", "b", "c"), level=0.05)[
        0
    ]
    assert shift.name == "u"
    assert shift.moved
    assert shift.second == "c"
    first = {"a": 0, "b": 1}[shift.first]
    one, other = x[domain == first, 0], x[domain == 2, 0]
    assert shift.mean_difference == pytest.approx((other.mean() - one.mean()) / x[:, 0].std())
    assert shift.spread_ratio == pytest.approx(other.std() / one.std())
    of_means = [
        np.var([x[domain == d, j].mean() / x[:, j].std() for d in range(3)]) for j in range(2)
    ]
    assert shift.scatter_share == pytest.approx(of_means[0] / sum(of_means))


def test_columns_of_one_name_are_one_feature():
    rng = np.random.default_rng(0)
    domain = np.repeat([0, 1], 60)
    ward = np.where(domain == 0, rng.integers(0, 3, 120), rng.integers(1, 3, 120))
    X = np.column_stack([rng.normal(size=120), np.eye(3)[ward]])
    found = compare_features(
        samples_of(X, None, domain), ("age", "ward", "ward", "ward"), ("a", "b"), level=0.05
    )
    assert [shift.name for shift in found] == ["ward", "age"]
    gaps = [
        abs(np.mean(ward[domain == 0] == k) - np.mean(ward[domain == 1] == k)) for k in range(3)
    ]
    assert found[0].distance == pytest.approx(max(gaps))
    assert sum(shift.scatter_share for shift in found) == pytest.approx(1.0)


# --- labels ---------------------------------------------------------------------------------------


def balance(y, domain, **options):
    view = read_domains(y, domain)
    names = tuple(str(name) for name in view.domain_ids)
    options = {"n_permutations": 999, "level": 0.05, "seed": 0, **options}
    return compare_labels(view, names, **options)


def test_class_balance_is_tested_as_scipy_does_where_counts_are_large():
    y = np.repeat(["ill", "well", "ill", "well"], [40, 60, 25, 75])
    domain = np.repeat(["a", "b"], 100)
    found = balance(y, domain)
    assert found.counts == ((40, 60), (25, 75))
    assert found.test == "chi-square"
    direct = chi2_contingency([[40, 60], [25, 75]], correction=False)
    assert found.p_value == pytest.approx(direct.pvalue)
    assert found.strength == pytest.approx(np.sqrt(direct.statistic / 200))
    assert found.gap == pytest.approx(0.15)
    assert found.shifted


def test_small_counts_are_tested_by_permutations_of_the_labels():
    rng = np.random.default_rng(0)
    y, domain = np.array([0] * 9 + [1] * 2 + [0] * 3 + [1] * 6), np.repeat(["a", "b"], [11, 9])
    found = balance(y, domain)
    assert found.test == "permutation"

    def statistic(labels):
        table = np.array([[np.sum((domain == d) & (labels == k)) for k in (0, 1)] for d in "ab"])
        return chi2_contingency(table, correction=False).statistic

    shuffled = np.array([statistic(rng.permutation(y)) for _ in range(1000)])
    assert found.p_value == pytest.approx(np.mean(shuffled >= statistic(y) - 1e-9), abs=0.04)


def test_class_balance_raises_false_alarms_at_its_level():
    for n in (25, 150):
        alarms = 0
        for seed in range(200):
            rng = np.random.default_rng(seed)
            y, domain = rng.integers(0, 3, 2 * n), np.repeat(["a", "b"], n)
            alarms += balance(y, domain, n_permutations=99, seed=seed).shifted
        assert near_level(alarms, 200)


def test_an_unlabelled_domain_is_not_guessed():
    found = balance([0, 1, 0, 1, -1, -1], ["a"] * 4 + ["b"] * 2)
    assert found.unlabelled == (0, 2)
    assert (found.p_value, found.shifted, found.strength) == (None, None, None)
    assert found.test == "only one domain is labelled"


def test_numbers_are_compared_by_mean_spread_and_ranks():
    rng = np.random.default_rng(0)
    a, b = rng.normal(5, 1, 40), rng.normal(5, 3, 60)
    y, domain = np.concatenate([a, b, [np.nan] * 9, [1.0]]), np.repeat(range(4), [40, 60, 9, 1])
    found = compare_numbers(y, domain, ("a", "b", "open", "one"), level=0.05)
    assert found.counts == (40, 60, 0, 1)
    np.testing.assert_allclose(found.means, [a.mean(), b.mean(), np.nan, 1.0])
    np.testing.assert_allclose(found.spreads, [a.std(), b.std(), np.nan, 0.0])
    assert found.distance == pytest.approx(ks_2samp(a, b).statistic)
    assert (found.first, found.second, found.shifted) == ("a", "b", True)
    same = compare_numbers(np.exp(y), domain, ("a", "b", "open", "one"), level=0.05)
    assert same.p_value == found.p_value  # ranks alone decide


def test_where_one_domain_alone_has_numbers_nothing_is_tested():
    y, domain = np.append(np.arange(9.0), [np.nan] * 9), np.repeat([0, 1], 9)
    found = compare_numbers(y, domain, ("a", "b"), level=0.05)
    assert (found.p_value, found.shifted) == (None, None)
    assert "fewer than two domains" in found.why_not


# --- trained here, tested there -------------------------------------------------------------------


def two_tasks(seed, *, turned=False, moved=0.0, rare=0.5):
    """Two domains, a class along the first feature: turned around, moved or rarer in the second."""
    rng = np.random.default_rng(seed)
    domain = np.repeat([0, 1], 120)
    y = (rng.uniform(size=240) < np.where(domain == 1, rare, 0.5)).astype(int)
    X = rng.normal(size=(240, 3))
    sign = np.where((domain == 1) & turned, -1, 1)
    X[:, 0] += 3 * sign * (y - 0.5)
    X[domain == 1] += moved
    return samples_of(X, y, domain)


def test_a_relation_that_is_turned_around_loses_in_both_directions_and_stays_lost():
    pairs = compare_transfer(two_tasks(0, turned=True), ("a", "b"), seed=0).pairs
    assert [(pair.trained, pair.tested) for pair in pairs] == [("a", "b"), ("b", "a")]
    for pair in pairs:
        assert pair.within > 0.85
        assert max(pair.across, pair.across_standardised) < 0.2
        assert max(pair.p_corrected, pair.p_standardised) < 1e-6


def test_features_that_only_moved_lose_nothing_once_domains_are_standardised():
    for pair in compare_transfer(two_tasks(0, moved=4.0), ("a", "b"), seed=0).pairs:
        assert pair.p_corrected < 1e-6
        assert pair.across < 0.7
        assert pair.p_standardised > 0.05
        assert pair.across_standardised > 0.85


def test_class_balance_alone_is_no_loss():
    for seed in range(5):
        for pair in compare_transfer(two_tasks(seed, rare=0.15), ("a", "b"), seed=0).pairs:
            assert pair.p_corrected > 0.05


def test_a_loss_is_tested_as_random_signs_would_have_it():
    rng = np.random.default_rng(0)
    label = np.repeat([0, 1], [70, 30])
    within, across = rng.uniform(size=100) < 0.8, rng.uniform(size=100) < 0.7
    loss = np.array([within[label == k].mean() - across[label == k].mean() for k in (0, 1)]).sum()
    weight = (within.astype(float) - across) / np.where(label == 0, 70, 30)
    flipped = (rng.choice([-1, 1], size=(20_000, 100)) * weight).sum(axis=1)
    assert transfer._test((within, across), label) == pytest.approx(
        np.mean(flipped >= loss), abs=0.02
    )


def test_transfer_raises_few_false_alarms():
    alarms = 0
    for seed in range(60):
        pairs = compare_transfer(two_tasks(seed), ("a", "b"), seed=seed).pairs
        alarms += min(pair.p_corrected for pair in pairs) <= 0.05
    assert near_level(alarms, 60)


def test_a_classifier_is_not_tested_on_what_it_was_trained_on():
    """Labels by chance and more features than samples: whoever saw the samples knows them all."""
    rng = np.random.default_rng(0)
    X, y, domain = rng.normal(size=(80, 100)), np.tile([0, 1], 40), np.repeat([0, 1], 40)
    for pair in compare_transfer(samples_of(X, y, domain), ("a", "b"), seed=0).pairs:
        assert 0.25 < pair.within < 0.75
        assert pair.chance == 0.5


def test_transfer_says_why_it_cannot_tell():
    rng = np.random.default_rng(0)
    domain = np.repeat([0, 1], 30)
    none = compare_transfer(
        samples_of(rng.normal(size=(60, 2)), np.where(domain == 0, domain, 1), domain),
        ("a", "b"),
        seed=0,
    )
    assert none.pairs == ()
    assert "two classes" in none.why_not


# --- variance -------------------------------------------------------------------------------------


def test_shares_are_those_of_an_analysis_of_variance():
    rng = np.random.default_rng(0)
    domain, y = np.repeat([0, 1, 2], [20, 30, 50]), rng.integers(0, 2, 100)
    X = rng.normal(size=(100, 4)) + domain[:, None] + 2 * y[:, None]
    samples = samples_of(X, y, domain)
    found, Z = share_variance(samples), samples.X
    means = np.array([Z[domain == d].mean(axis=0) for d in range(3)])
    between = np.mean(np.sum((means - means.mean(axis=0)) ** 2, axis=1))
    inside = np.mean([Z[domain == d].var(axis=0).sum() for d in range(3)])
    assert found.domain_share == pytest.approx(between / (between + inside))
    of_class = sum(np.mean(y == k) * np.sum(Z[y == k].mean(axis=0) ** 2) for k in range(2))
    assert found.class_share == pytest.approx(of_class / Z.var(axis=0).sum())


def test_chance_is_the_mean_over_random_assignments():
    rng = np.random.default_rng(0)
    X, domain, y = rng.normal(size=(40, 3)), np.repeat([0, 1], [8, 32]), np.repeat([0, 1, 2, 3], 10)
    shuffled = [
        share_variance(samples_of(X, rng.permutation(y), rng.permutation(domain)))
        for _ in range(400)
    ]
    assert np.mean([s.domain for s in shuffled]) / shuffled[0].total == pytest.approx(
        shuffled[0].domain_chance, rel=0.15
    )
    assert np.mean([s.class_share for s in shuffled]) == pytest.approx(
        shuffled[0].class_chance, rel=0.1
    )
