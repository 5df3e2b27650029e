"""Low-rank exemplar classifiers: the two steps, their descent, limits, and who has a say."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import KernelPCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVR, LinearSVC

from skatter.methods import DAM, LRESVM, LRESVMAdaptation
from skatter.methods._exemplars import Exemplars
from skatter.methods._lre_svm import (
    Frame,
    best_average,
    distances_to_target,
    shares,
    shrink,
)
from skatter.methods._subspaces import in_span

EXACT = {"tol": 1e-9, "max_iter": 200}


def problem(seed=0, n_classes=3, n=24, p=4, n_sources=2):
    rng = np.random.default_rng(seed)
    site = np.repeat(np.arange(n_sources), n)
    y = np.arange(len(site)) % n_classes
    X = rng.normal(size=(len(site), p)) + 2 * rng.normal(size=(n_classes, p))[y]
    X += 2 * rng.normal(size=(n_sources, p))[site]
    return X, y, site


def with_target(seed=0, n_classes=3, n=24, p=4):
    """Sources 0 and 1, and the unlabelled target -9, which lies near source 1."""
    X, y, site = problem(seed, n_classes, n, p, n_sources=3)
    X[site == 1] = X[site == 2] + 0.3 * np.random.default_rng(seed + 1).normal(size=(n, p))
    return X, np.where(site == 2, -1, y), np.where(site == 2, -9, site), y


def normalized(X):
    """Centred, with unit total scatter, and a constant 1 beside it."""
    X = X - X.mean(axis=0)
    X = X / np.sqrt((X**2).sum() / len(X))
    return np.column_stack([X, np.ones(len(X))])


def likelihoods(model, X, code):
    own = model.exemplar_class_ == code
    return 1 / (1 + np.exp(-(X @ model.exemplar_coef_[own].T + model.exemplar_intercept_[own])))


def objective_of_independent(X, y, C_positive, C_negative):
    """Sum of the optimal exemplar objectives, by scikit-learn, one exemplar at a time."""
    Z, total = normalized(X), 0.0
    for i in range(len(Z)):
        rows = np.concatenate([[i], np.flatnonzero(y != y[i])])
        cost = np.full(len(rows), C_negative)
        cost[0] = C_positive
        first = np.arange(len(rows)) == 0
        model = LogisticRegression(C=0.5, fit_intercept=False, tol=1e-10, max_iter=10_000)
        w = model.fit(Z[rows], first, sample_weight=cost).coef_[0]
        margins = np.where(first, 1, -1) * (Z[rows] @ w)
        total += w @ w + cost @ np.log1p(np.exp(-margins))
    return total


# --- singular values ------------------------------------------------------------------------------


@pytest.mark.parametrize("threshold", [1e-9, 0.01, 0.5, 2.0])
@pytest.mark.parametrize("rank", [3, 20])
def test_shrunk_singular_values_solve_the_proximal_problem(rank, threshold):
    """G − F is t times a subgradient of the nuclear norm at F: UVᵀ + Z, UᵀZ = ZV = 0, ‖Z‖ ≤ 1."""
    rng = np.random.default_rng(0)
    G = rng.uniform(size=(20, rank)) @ rng.uniform(size=(rank, 20)) / rank
    F, nuclear_norm, found = shrink(G, threshold)
    U, sigma, Vt = np.linalg.svd(F)
    assert found == np.sum(sigma > 1e-10)
    assert_allclose(nuclear_norm, sigma.sum(), rtol=1e-6)
    subgradient = (G - F) / threshold
    loose = max(1e-9, 1e-13 / threshold)
    assert_allclose(U[:, :found].T @ subgradient @ Vt[:found].T, np.eye(found), atol=loose)
    assert np.linalg.norm(subgradient, 2) <= 1 + loose


def test_a_threshold_of_zero_changes_nothing_and_a_large_one_leaves_nothing():
    G = np.random.default_rng(1).uniform(size=(6, 6))
    F, nuclear_norm, rank = shrink(G, 0.0)
    assert_array_equal(F, G)
    assert_allclose(nuclear_norm, np.linalg.svd(G, compute_uv=False).sum())
    assert rank == 6
    for threshold in (10.0, np.inf):
        F, nuclear_norm, rank = shrink(G, threshold)
        assert_array_equal(F, 0)
        assert (nuclear_norm, rank) == (0, 0)


@pytest.mark.parametrize("case", [np.zeros((4, 4)), np.full((1, 1), 0.5), np.full((5, 5), 0.3)])
def test_degenerate_likelihoods_are_shrunk_as_well(case):
    sigma = np.linalg.svd(case, compute_uv=False)
    for threshold in (0.0, 0.1, 1.0):
        F, nuclear_norm, _ = shrink(case, threshold)
        assert_allclose(nuclear_norm, np.maximum(sigma - threshold, 0).sum(), atol=1e-12)
        assert_allclose(np.linalg.norm(F), np.linalg.norm(np.maximum(sigma - threshold, 0)))


# --- the alternation ------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [(1.0, 1.0), (10.0, 10.0), (0.1, 5.0), (50.0, 20.0)])
def test_the_objective_never_rises(weights):
    X, y, site = problem()
    model = LRESVM(rank_weight=weights[0], tie_weight=weights[1], tol=0, max_iter=15)
    objective = np.array(model.fit(X, y, sample_domain=site).objective_)
    assert len(objective) == model.n_iter_ == 15
    assert (np.diff(objective) <= 1e-12 * objective[:-1]).all()
    assert objective[-1] < objective[0]


def test_the_objective_is_that_of_the_printed_problem():
    """Of the last round: with the F that belongs to the exemplars of the round before."""
    X, y, _ = problem(n=12)
    costs = {"C_positive": 5.0, "C_negative": 0.3, "rank_weight": 2.0, "tie_weight": 3.0}
    short, long = (LRESVM(**costs, tol=0, max_iter=m).fit(X, y) for m in (3, 4))
    expected = 0.0
    for k in range(3):
        Z = normalized(X)[long.exemplars_[long.exemplar_class_ == k]]
        before, after = (
            likelihoods(m, X[m.exemplars_[m.exemplar_class_ == k]], k).T for m in (short, long)
        )
        U, sigma, Vt = np.linalg.svd(before)
        sigma = np.maximum(sigma - 2.0 / (2 * 3.0), 0)
        expected += 2.0 * sigma.sum() + 3.0 * ((U * sigma @ Vt - after) ** 2).sum()
        own = long.exemplar_class_ == k
        scale = np.sqrt(((X - X.mean(axis=0)) ** 2).sum() / len(X))
        coef = long.exemplar_coef_[own]
        intercept = long.exemplar_intercept_[own] + coef @ X.mean(axis=0)
        W = np.column_stack([coef * scale, intercept])
        negatives = normalized(X)[y != k]
        expected += (W**2).sum() + 5.0 * np.log1p(np.exp(-(W * Z).sum(axis=1))).sum()
        expected += 0.3 * np.log1p(np.exp(W @ negatives.T)).sum()
    assert_allclose(long.objective_[-1], expected, rtol=1e-9)


@pytest.mark.parametrize(("rank_weight", "tie_weight"), [(0.0, 3.0), (4.0, 0.0), (0.0, 0.0)])
def test_without_a_tie_or_a_cost_of_rank_exemplars_are_logistic_regressions(
    rank_weight, tie_weight
):
    """F = G where rank costs nothing, so that the tie costs nothing either."""
    X, y, _ = problem(n=15)
    model = LRESVM(
        C_positive=4.0, C_negative=0.3, rank_weight=rank_weight, tie_weight=tie_weight
    ).fit(X, y)
    expected = objective_of_independent(X, y, 4.0, 0.3)
    assert_allclose(model.objective_[-1], expected, rtol=2e-5)
    full = [np.sum(y == k) for k in range(3)]
    assert_array_equal(model.ranks_, full if rank_weight == 0 else 0)


def test_the_classifier_of_an_exemplar_is_the_logistic_regression_of_its_sample():
    X, y, _ = problem(n=15)
    model = LRESVM(C_positive=4.0, C_negative=0.3, tie_weight=0.0).fit(X, y)
    Z = normalized(X)
    for e in (0, 11, 29):
        i = model.exemplars_[e]
        assert model.classes_[model.exemplar_class_[e]] == y[i]
        rows = np.concatenate([[i], np.flatnonzero(y != y[i])])
        cost = np.where(np.arange(len(rows)) == 0, 4.0, 0.3)
        reference = LogisticRegression(C=0.5, fit_intercept=False, tol=1e-10, max_iter=10_000)
        reference.fit(Z[rows], cost > 1, sample_weight=cost)
        actual = X @ model.exemplar_coef_[e] + model.exemplar_intercept_[e]
        assert_allclose(actual, reference.decision_function(Z), atol=0.02)


def test_the_rank_falls_as_its_cost_grows():
    X, y, _ = problem(n=60)
    ranks = [
        LRESVM(rank_weight=cost, tie_weight=1.0).fit(X, y).ranks_.sum()
        for cost in (0.0, 0.1, 1.0, 10.0, 1000.0)
    ]
    assert ranks[0] == len(y)
    assert (np.diff(ranks) < 0).all()
    assert ranks[-1] == 0


def test_the_tie_brings_likelihoods_nearer_to_low_rank():
    """What lies beyond the two largest singular values has a smaller share."""

    def rest(tie_weight):
        X, y, _ = problem(n=60)
        model = LRESVM(rank_weight=tie_weight, tie_weight=tie_weight).fit(X, y)
        G = likelihoods(model, X[model.exemplars_[model.exemplar_class_ == 0]], 0)
        sigma = np.linalg.svd(G, compute_uv=False)
        return sigma[2:].sum() / sigma.sum()

    assert rest(10.0) < 0.9 * rest(0.0)


# --- prediction -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n_best", [1, 3, 5, 1000])
def test_the_score_of_a_class_is_the_mean_of_its_largest_likelihoods(n_best):
    X, y, site = problem()
    model = LRESVM(n_best=n_best).fit(X, y, sample_domain=site)
    new = np.random.default_rng(1).normal(size=(7, X.shape[1]))
    expected = np.zeros((7, 3))
    for k in range(3):
        for i, row in enumerate(likelihoods(model, new, k)):
            expected[i, k] = np.mean(sorted(row)[-n_best:])
    assert_allclose(model.decision_function(new), expected, rtol=1e-10)
    assert_array_equal(model.predict(new), expected.argmax(axis=1))


def test_of_two_classes_the_second_has_the_difference_of_the_scores():
    X, y, site = problem(n_classes=2)
    model = LRESVM().fit(X, y, sample_domain=site)
    scores = [np.sort(likelihoods(model, X, k), axis=1)[:, -5:].mean(axis=1) for k in range(2)]
    assert_allclose(model.decision_function(X), scores[1] - scores[0], atol=1e-12)
    assert_array_equal(np.bincount(model.exemplar_class_), np.bincount(y))


def test_weighted_best_averages_are_those_of_a_loop():
    rng = np.random.default_rng(2)
    p, v = rng.uniform(size=(6, 9)), rng.uniform(0.1, 1, size=9)
    for n_best in (1, 4, 9, 20):
        expected = []
        for row in p:
            best = sorted(range(9), key=lambda i, row=row: v[i] * row[i])[-n_best:]
            expected.append(sum(v[i] * row[i] for i in best) / sum(v[i] for i in best))
        assert_allclose(best_average(p, v, n_best), expected, rtol=1e-12)


def test_a_class_with_a_single_sample_has_a_single_exemplar():
    X, y, _ = problem(n=20)
    first = np.flatnonzero(y == 2)[0]
    keep = (y != 2) | (np.arange(len(y)) == first)
    model = LRESVM().fit(X[keep], y[keep])
    assert_array_equal(np.bincount(model.exemplar_class_), [*np.bincount(y[keep])])
    assert_allclose(model.decision_function(X)[:, 2], likelihoods(model, X, 2)[:, 0], rtol=1e-10)


def test_domains_are_not_looked_at():
    X, y, site = problem()
    expected = LRESVM().fit(X, y, sample_domain=site).decision_function(X)
    assert_array_equal(LRESVM().fit(X, y).decision_function(X), expected)


def test_latent_domains_are_learnt_where_one_linear_classifier_must_fail():
    """In one place the class lies left, in the other right: exemplars know their place."""
    rng = np.random.default_rng(3)
    y, place = np.tile([0, 1], 100), np.repeat([-1, 1], 100)
    X = rng.normal(scale=0.4, size=(200, 2))
    X[:, 0] += 2 * place * (2 * y - 1)
    X[:, 1] += 4 * place
    train, test = np.arange(200) % 4 < 2, np.arange(200) % 4 >= 2
    assert LinearSVC().fit(X[train], y[train]).score(X[test], y[test]) < 0.8
    assert LRESVM().fit(X[train], y[train]).score(X[test], y[test]) > 0.98


# --- origin, units and coordinates ----------------------------------------------------------------


def test_origin_unit_and_rotation_of_the_features_do_not_matter():
    X, y, _ = problem()
    expected = LRESVM(**EXACT).fit(X, y).decision_function(X)
    Q, _ = np.linalg.qr(np.random.default_rng(4).normal(size=(4, 4)))
    moved = 300 * X @ Q + 5000
    assert_allclose(LRESVM(**EXACT).fit(moved, y).decision_function(moved), expected, atol=1e-3)


def test_without_normalization_samples_are_taken_as_they_are():
    X, y, _ = problem()
    Z = normalized(X)[:, :-1]
    expected = LRESVM().fit(X, y).decision_function(X)
    actual = LRESVM(normalize=False).fit(Z, y).decision_function(Z)
    assert_allclose(actual, expected, atol=1e-6)
    assert np.abs(LRESVM(normalize=False).fit(X, y).decision_function(X) - expected).max() > 0.05


def test_features_beyond_the_span_of_the_samples_change_nothing():
    """Samples in a few directions of a large space are what they are in these directions."""
    X, y, _ = problem(n=10)
    Q, _ = np.linalg.qr(np.random.default_rng(5).normal(size=(200, 4)))
    expected = LRESVM(**EXACT).fit(X, y)
    wide = LRESVM(**EXACT).fit(X @ Q.T, y)
    assert_allclose(wide.decision_function(X @ Q.T), expected.decision_function(X), atol=1e-3)
    inside, order = wide.exemplar_coef_ @ Q, np.argsort(expected.exemplars_)
    assert_allclose(inside @ Q.T, wide.exemplar_coef_, atol=1e-10)
    assert_allclose(inside[np.argsort(wide.exemplars_)], expected.exemplar_coef_[order], atol=5e-3)


def test_coordinates_keep_inner_products():
    Z = np.random.default_rng(6).normal(size=(5, 9))
    inner, basis = in_span(Z)
    assert inner.shape == (5, 5)
    assert_allclose(inner @ inner.T, Z @ Z.T)
    assert_allclose(basis.T @ basis, np.eye(5), atol=1e-12)
    assert in_span(Z.T) == (pytest.approx(Z.T), None)


def test_a_frame_undoes_what_it_does():
    rng = np.random.default_rng(7)
    X, W = rng.normal(3, 2, size=(8, 4)), rng.normal(size=(3, 5))
    frame = Frame.of(X)
    assert_allclose(frame(X), normalized(X), atol=1e-12)
    coef, intercept = frame.undo(W)
    assert_allclose(X @ coef.T + intercept, frame(X) @ W.T)


def test_all_components_of_a_kernel_make_it_a_kernel_method():
    """A ring around a blob: no linear exemplar of the ring can tell, those of a kernel can."""
    rng = np.random.default_rng(8)
    y = np.arange(120) % 2
    angle = rng.uniform(0, 2 * np.pi, size=120)
    radius = np.where(y == 1, 0.3, 2.0) * rng.uniform(0.5, 1, size=120)
    X = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    model = make_pipeline(KernelPCA(kernel="rbf", gamma=1.0), LRESVM())
    assert model.fit(X[:80], y[:80]).score(X[80:], y[80:]) == 1


# --- adaptation -----------------------------------------------------------------------------------


def test_exemplars_near_the_target_have_more_weight():
    X, known, site, _ = with_target()
    model = LRESVMAdaptation(beta=5.0, n_neighbors=3).fit(X, known, sample_domain=site)
    weights, where = model.exemplar_weights_, site[model.exemplars_]
    for k in range(3):
        own = model.exemplar_class_ == k
        assert weights[own].max() == 1
        assert weights[own & (where == 1)].mean() > 2 * weights[own & (where == 0)].mean()


def test_weights_fall_with_the_distance_between_source_and_target_about_an_exemplar():
    X, known, site, _ = with_target(1)
    model = LRESVMAdaptation(beta=2.0, n_neighbors=4).fit(X, known, sample_domain=site)
    source, target = X[site >= 0], X[site < 0]
    scatter = ((source - source.mean(axis=0)) ** 2).sum() / len(source)
    expected = []
    for row in model.exemplars_:
        near, there = (
            samples[np.argsort(((samples - X[row]) ** 2).sum(axis=1))[:4]].mean(axis=0)
            for samples in (source, target)
        )
        gap = near - there
        expected.append(np.exp(-2.0 * gap @ gap / scatter))
    for k in range(3):
        own = model.exemplar_class_ == k
        largest = np.max(np.array(expected)[own])
        assert_allclose(model.exemplar_weights_[own], np.array(expected)[own] / largest)


def test_all_exemplars_weigh_the_same_where_beta_is_zero():
    X, known, site, _ = with_target()
    model = LRESVMAdaptation(beta=0.0).fit(X, known, sample_domain=site)
    assert_array_equal(model.exemplar_weights_, 1)


def test_more_neighbours_than_source_samples_are_all_of_them():
    X = np.random.default_rng(9).normal(size=(6, 2))
    expected = ((X.mean(axis=0) - X[:2].mean(axis=0)) ** 2).sum()
    assert_allclose(distances_to_target(X[3:], X, X[:2], 100), expected)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_trusting_regressor_repeats_what_the_exemplars_say_of_the_target(n_classes):
    """As many features as target samples, no tolerance: it goes through every virtual label."""
    X, known, site, _ = with_target(2, n_classes=n_classes, n=18, p=30)
    model = LRESVMAdaptation(C=1e4, theta=1e6, epsilon=0.0).fit(X, known, sample_domain=site)
    new = X[site < 0]
    scores = np.column_stack(
        [
            best_average(
                likelihoods(model, new, k), model.exemplar_weights_[model.exemplar_class_ == k], 5
            )
            for k in range(n_classes)
        ]
    )
    expected = 2 * scores / scores.sum(axis=1, keepdims=True) - 1
    actual = model.decision_function(new)
    assert_allclose(actual, expected[:, 1] if n_classes == 2 else expected, atol=5e-3)


def test_labels_of_the_target_take_the_place_of_opinions():
    X, known, site, y = with_target(3, n=18, p=30)
    known = known.copy()
    few = np.flatnonzero(site < 0)[:5]
    known[few] = (y[few] + 1) % 3
    model = LRESVMAdaptation(C=1e4, theta=1e6, epsilon=0.0).fit(X, known, sample_domain=site)
    signs = np.where(known[few, None] == np.arange(3), 1, -1)
    assert_allclose(model.decision_function(X[few]), signs, atol=5e-3)


def test_the_regression_is_that_of_a_support_vector_regressor():
    X, known, site, _ = with_target(4)
    model = LRESVMAdaptation(0.7, theta=2.0, epsilon=0.05, normalize=False, kernel="linear")
    model.fit(X, known, sample_domain=site)
    new, scores = X[site < 0], []
    for k in range(3):
        weights = model.exemplar_weights_[model.exemplar_class_ == k]
        scores.append(best_average(likelihoods(model, new, k), weights, 5))
    wanted = 2 * shares(np.column_stack(scores)) - 1
    K = new @ new.T
    for k in range(3):
        machine = SVR(kernel="precomputed", C=0.7, epsilon=0.05, tol=1e-6)
        machine.fit(K + np.eye(len(K)) / 2.0, wanted[:, k])
        expected = K[:, machine.support_] @ machine.dual_coef_[0] + machine.intercept_
        assert_allclose(model.decision_function(new)[:, k], expected, atol=2e-3)


def test_regressors_are_made_of_target_samples_and_exemplars_of_source_samples():
    X, known, site, _ = with_target()
    model = LRESVMAdaptation(epsilon=0.0).fit(X, known, sample_domain=site)
    assert (site[model.support_] < 0).all()
    assert_array_equal(np.sort(model.exemplars_), np.flatnonzero(site >= 0))


def test_exemplars_of_both_variants_are_the_same():
    X, known, site, _ = with_target()
    one, other = (m().fit(X, known, sample_domain=site) for m in (LRESVM, LRESVMAdaptation))
    a, b = np.argsort(one.exemplars_), np.argsort(other.exemplars_)
    assert_array_equal(one.exemplars_[a], other.exemplars_[b])
    assert_allclose(one.exemplar_coef_[a], other.exemplar_coef_[b], atol=1e-8)
    assert_allclose(one.objective_, other.objective_)


def test_a_class_that_only_the_target_has_is_learnt_from_its_labels():
    X, known, site, y = with_target(5, n=30)
    y, known = y.copy(), known.copy()
    here = np.flatnonzero(site < 0)
    y[here[::5]] = 3
    X[y == 3] += 8
    known[here] = y[here]
    model = LRESVMAdaptation(C=10.0).fit(X, known, sample_domain=site)
    assert_array_equal(model.predict(X[y == 3]), 3)
    assert model.score(X[here], y[here]) > 0.8


def test_sources_that_contradict_each_other_are_told_apart_by_the_target():
    """In one place the class lies left, in the other right; the target is near one of them."""
    rng = np.random.default_rng(12)
    y, place = np.tile([0, 1], 90), np.repeat([0, 1, -2], 60)
    X = rng.normal(scale=0.3, size=(180, 2))
    X[:, 0] += np.where(place == 0, -1, 1) * (2 * y - 1)
    X[:, 1] += np.select([place == 0, place < 0], [2.0, 0.7])
    here = place < 0
    given = {"y": np.where(here, -1, y), "sample_domain": place}
    blind, near = (
        LRESVMAdaptation(beta=beta).fit(X, **given).score(X[here], y[here]) for beta in (0.0, 50.0)
    )
    assert near > 0.95
    assert near > blind + 0.1
    both = DAM(source_weights="uniform").fit(X, **given)
    assert near > both.score(X[here], y[here]) + 0.1


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"C_positive": 0}, ValueError, r"C_positive must lie in \(0, inf\), got 0"),
        ({"C_negative": -1.0}, ValueError, r"C_negative must lie in \(0, inf\)"),
        ({"rank_weight": -0.1}, ValueError, r"rank_weight must lie in \[0, inf\)"),
        ({"tie_weight": np.inf}, ValueError, r"tie_weight must lie in \[0, inf\)"),
        ({"n_best": 0}, ValueError, "n_best must be at least 1, got 0"),
        ({"n_best": 2.5}, TypeError, "n_best must be an integer"),
        ({"normalize": "yes"}, ValueError, "normalize must be one of True, False"),
    ],
)
@pytest.mark.parametrize("estimator", [LRESVM, LRESVMAdaptation])
def test_an_impossible_setting_is_named(estimator, parameters, error, message):
    X, known, site, _ = with_target()
    with pytest.raises(error, match=message):
        estimator(**parameters).fit(X, known, sample_domain=site)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": 0}, r"C must lie in \(0, inf\)"),
        ({"theta": 0}, r"theta must lie in \(0, inf\)"),
        ({"epsilon": -1}, r"epsilon must lie in \[0, inf\)"),
        ({"beta": -1}, r"beta must lie in \[0, inf\)"),
        ({"n_neighbors": 0}, "n_neighbors must be at least 1"),
        ({"kernel": "precomputed"}, "needs features.* kernel must not be 'precomputed'"),
        ({"kernel": "magic"}, "kernel must be one of .* 'magic'"),
    ],
)
def test_an_impossible_setting_of_the_adaptation_is_named(parameters, message):
    X, known, site, _ = with_target()
    with pytest.raises(ValueError, match=message):
        LRESVMAdaptation(**parameters).fit(X, known, sample_domain=site)


def test_a_source_of_one_class_is_refused_though_the_target_has_another():
    X, _, site, _ = with_target()
    y = np.where(site < 0, 1, 0)
    with pytest.raises(ValueError, match=r"source samples of at least two classes, got 1 class"):
        LRESVMAdaptation().fit(X, y, sample_domain=site)


def test_too_few_rounds_are_reported():
    X, y, site = problem()
    with pytest.warns(ConvergenceWarning, match="LRESVM did not converge in max_iter=2"):
        LRESVM(max_iter=2, tol=1e-12).fit(X, y, sample_domain=site)


def test_likelihoods_are_those_of_the_logistic_function():
    case = Exemplars(np.array([[1.0], [-2.0], [9.0]]), 2, 1.0, 1.0)
    W = np.array([[0.0], [np.log(3)]])
    assert_allclose(case.likelihoods(W), [[0.5, 0.5], [0.75, 0.1]])
