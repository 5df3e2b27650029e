"""Scatter, checked against its definition: mean squared distances, summed in slow loops."""

import itertools
import math

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import f_oneway
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from skatter import kernels
from skatter._objective import Coefficients
from skatter.domains import Domains, read_domains
from skatter.kernels import centre, gram, resolve_kernel
from skatter.scatter import (
    Geometry,
    Scatters,
    between_class_scatter,
    class_factor,
    conditional_domain_scatter,
    conditional_factor,
    domain_factor,
    domain_scatter,
    indicator_means,
    measure,
    mmd,
    scatter,
    total_scatter,
    within_class_scatter,
)

some = settings(deadline=None, max_examples=20)

# --- the definitions, in slow loops -------------------------------------------------------------

KERNELS = {
    "linear": lambda a, b: sum(s * t for s, t in zip(a, b, strict=True)),
    "rbf": lambda a, b: math.exp(-0.4 * sum((s - t) ** 2 for s, t in zip(a, b, strict=True))),
    "laplacian": lambda a, b: math.exp(-0.4 * sum(abs(s - t) for s, t in zip(a, b, strict=True))),
    "poly": lambda a, b: (0.4 * sum(s * t for s, t in zip(a, b, strict=True)) + 1) ** 3,
}


def squared_length(kernel, X, c):
    """‖Σ c_i φ(x_i)‖² by a double loop over the samples."""
    rows = np.asarray(X).tolist()
    return sum(
        c[i] * c[j] * kernel(rows[i], rows[j])
        for i in range(len(rows))
        for j in range(len(rows))
        if c[i] and c[j]
    )


def scatter_of(kernel, X, points, weights=None):
    """Weighted mean squared distance of points Σ c_i φ(x_i) from their weighted mean."""
    points = np.asarray(points, float)
    weights = np.full(len(points), 1 / len(points)) if weights is None else np.asarray(weights)
    middle = weights @ points
    lengths = [squared_length(kernel, X, point - middle) for point in points]
    return float(weights @ lengths)


def mean_of(members):
    """Coefficients of the mean of these samples."""
    members = np.asarray(members, float)
    return members / members.sum()


def slow_scatters(kernel, X, y, ids):
    """All five scatters from their definitions; None is no label."""
    n = len(X)
    y, ids = list(y), list(ids)
    classes = sorted({v for v in y if v is not None})
    places = sorted(set(ids))
    labelled = [i for i in range(n) if y[i] is not None]
    samples = np.eye(n)
    class_mean = {k: mean_of([v == k for v in y]) for k in classes}
    per_class = []
    for k in classes:
        inside = [[v == k and i == d for v, i in zip(y, ids, strict=True)] for d in places]
        per_class.append(scatter_of(kernel, X, [mean_of(m) for m in inside if any(m)]))
    return Scatters(
        total=scatter_of(kernel, X, samples),
        domain=scatter_of(kernel, X, [mean_of([i == d for i in ids]) for d in places]),
        between_class=scatter_of(kernel, X, [class_mean[y[i]] for i in labelled]),
        within_class=sum(squared_length(kernel, X, samples[i] - class_mean[y[i]]) for i in labelled)
        / len(labelled),
        conditional_domain=sum(per_class) / len(classes),
    )


# A small sample with everything in it: classes and domains of unequal sizes, unlabelled samples
# in two domains, and a class that is in one domain only.
Y = ["a", "a", "b", "a", "c", "b", None, "a", "b", None, None, "b", "c"]
SITE = ["s", "s", "s", "t", "t", "t", "t", "u", "u", "u", "u", "s", "t"]
N = len(Y)


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(N, 3)) + np.arange(N)[:, None] % 3


@pytest.fixture
def view():
    return read_domains(Y, SITE)


def blocks(sizes):
    return np.repeat(np.arange(len(sizes)), sizes)


def random_view(rng, n=20, n_classes=3, n_domains=3):
    """Every class and every domain at least once, about a quarter unlabelled."""
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)])
    ids = np.concatenate([np.arange(n_domains), rng.integers(0, n_domains, n - n_domains)])
    mask = np.concatenate([np.ones(n_classes, bool), rng.random(n - n_classes) < 0.75])
    return y, ids, mask


def rotation(rng, p):
    return np.linalg.qr(rng.normal(size=(p, p)))[0]


# --- the coefficients ---------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(3, 5), (2, 7, 4), (1, 6, 3, 8)])
def test_domain_coefficients_express_the_scatter_of_the_domain_means(sizes):
    """A13.1: tr(Bᵀ K L K B) is the scatter of the domain means of Z = K B."""
    rng = np.random.default_rng(len(sizes))
    ids = rng.permutation(blocks(sizes))
    A, B = rng.normal(size=(len(ids), 5)), rng.normal(size=(len(ids), 3))
    K = A @ A.T
    centre(K)
    U = domain_factor(read_domains(None, ids))
    Z = K @ B
    means = np.array([Z[ids == d].mean(axis=0) for d in range(len(sizes))])
    direct = np.mean(np.sum((means - means.mean(axis=0)) ** 2, axis=1))
    assert np.trace(B.T @ K @ U @ U.T @ K @ B) == pytest.approx(direct, rel=1e-12)


@pytest.mark.parametrize("sizes", [(3, 5), (2, 7, 4), (1, 6, 3, 8)])
def test_domain_coefficients_are_those_printed_in_the_paper(sizes):
    ids, m = blocks(sizes), len(sizes)
    U = domain_factor(read_domains(None, ids))
    printed = [
        [
            (m - 1) / (m**2 * sizes[a] ** 2) if a == b else -1 / (m**2 * sizes[a] * sizes[b])
            for b in ids
        ]
        for a in ids
    ]
    np.testing.assert_allclose(U @ U.T, printed, atol=1e-15)
    assert U.shape == (sum(sizes), m - 1)
    assert np.linalg.matrix_rank(U) == m - 1
    np.testing.assert_allclose(U.T @ np.ones(len(ids)), 0, atol=1e-15)


def test_two_domains_have_one_column_of_coefficients_half_the_difference_of_their_means():
    ids = np.array([0, 1, 1, 0, 0])
    e = (ids == 0) / 3 - (ids == 1) / 2
    U = domain_factor(read_domains(None, ids))
    np.testing.assert_allclose(U @ U.T, np.outer(e, e) / 4, atol=1e-15)


def class_projections(view: Domains):
    """R and S as dense matrices, the first from its formula and the second block by block."""
    n, lab = view.n_samples, view.labelled
    R, S = np.zeros((n, n)), np.zeros((n, n))
    for k in range(len(view.classes)):
        own = view.label == k
        if own.any():
            v = own / own.sum() - lab / lab.sum()
            R += own.sum() * np.outer(v, v)
            S[np.ix_(own, own)] = np.eye(own.sum()) - 1 / own.sum()
    return R, S


@some
@given(st.integers(0, 2**32 - 1), st.integers(1, 5))
def test_class_coefficients_are_the_projections_of_the_methods_text(seed, n_classes):
    rng = np.random.default_rng(seed)
    y, ids, mask = random_view(rng, n_classes=n_classes)
    view = read_domains(y, ids, labelled=mask)
    F = class_factor(view)
    R, S = F @ F.T, Coefficients(view).centre_classes(np.eye(20))
    slow_R, slow_S = class_projections(view)
    np.testing.assert_allclose(R, slow_R, atol=1e-14)
    np.testing.assert_allclose(S, slow_S, atol=1e-14)
    np.testing.assert_allclose(F.T @ F, np.eye(n_classes - 1), atol=1e-14)
    for P, rank in ((R, n_classes - 1), (S, mask.sum() - n_classes)):
        np.testing.assert_allclose(P @ P, P, atol=1e-13)
        np.testing.assert_allclose(P, P.T, atol=1e-14)
        np.testing.assert_allclose(P @ np.ones(20), 0, atol=1e-13)
        assert np.linalg.matrix_rank(P, tol=1e-8) == rank
    np.testing.assert_allclose(R @ S, 0, atol=1e-14)
    np.testing.assert_allclose(
        R + S, np.diag(mask.astype(float)) - np.outer(mask, mask) / mask.sum(), atol=1e-14
    )


def test_class_coefficients_express_the_fisher_sums_of_projections(X, view):
    Z, F = X[:, :2], class_factor(view)
    lab = view.labelled
    between = within = 0.0
    for k in range(3):
        own = Z[view.label == k]
        between += len(own) * np.sum((own.mean(axis=0) - Z[lab].mean(axis=0)) ** 2)
        within += np.sum((own - own.mean(axis=0)) ** 2)
    assert np.sum((F.T @ Z) ** 2) == pytest.approx(between)
    assert np.sum(Z * Coefficients(view).centre_classes(Z)) == pytest.approx(within)


def test_centring_classes_subtracts_class_means_and_forgets_the_unlabelled(X, view):
    expected = np.zeros_like(X)
    for i in range(N):
        if Y[i] is not None:
            expected[i] = X[i] - X[[j for j in range(N) if Y[j] == Y[i]]].mean(axis=0)
    before = X.tobytes()
    np.testing.assert_allclose(Coefficients(view).centre_classes(X), expected, atol=1e-14)
    assert X.tobytes() == before
    assert Coefficients(view, np.float32).centre_classes(X.astype(np.float32)).dtype == np.float32


def test_indicator_means_average_groups_and_leave_out_minus_one():
    E = indicator_means(np.array([0, 2, -1, 2]), 4)
    expected = [[1, 0, 0, 0], [0, 0, 0.5, 0], [0, 0, 0, 0], [0, 0, 0.5, 0]]
    np.testing.assert_array_equal(E, expected)


def test_conditional_coefficients_are_averaged_domain_coefficients_of_each_class(view):
    U = conditional_factor(view)
    expected = np.zeros((N, N))
    for k in ("a", "b", "c"):
        rows = [i for i in range(N) if Y[i] == k]
        part = domain_factor(read_domains(None, [SITE[i] for i in rows]))
        expected[np.ix_(rows, rows)] += part @ part.T / 3
    np.testing.assert_allclose(U @ U.T, expected, atol=1e-15)
    np.testing.assert_allclose(U.T @ np.ones(N), 0, atol=1e-15)


def test_coefficients_vanish_where_there_is_nothing_to_compare():
    one_domain = read_domains(["a", "b", "a"])
    assert domain_factor(one_domain).shape == (3, 0)
    assert conditional_factor(one_domain).shape == (3, 0)
    assert class_factor(read_domains(["a", "a", None], ["s", "t", "t"])).shape == (3, 0)
    nothing = read_domains([-1, -1, -1])
    assert class_factor(nothing).shape == conditional_factor(nothing).shape == (3, 0)


def test_coefficients_after_hiding_or_taking_are_those_of_a_fresh_view(view):
    rows = np.array([i for i in range(N) if SITE[i] != "u"])
    fresh = read_domains([Y[i] for i in rows], [SITE[i] for i in rows])
    hidden_y = [None if v == "c" else v for v in Y]
    hidden, fresh_hidden = view.hide(view.label == 2), read_domains(hidden_y, SITE)
    for one, other in ((view.take(rows), fresh), (hidden, fresh_hidden)):
        for factor in (domain_factor, class_factor, conditional_factor):
            U, V = factor(one), factor(other)
            np.testing.assert_allclose(U @ U.T, V @ V.T, atol=1e-15)


# --- the measures against their definitions -----------------------------------------------------


@pytest.mark.parametrize("kernel", sorted(KERNELS))
def test_every_scatter_is_its_definition(kernel, X):
    slow = slow_scatters(KERNELS[kernel], X, Y, SITE)
    options = {"kernel": kernel, "gamma": 0.4}
    fast = Scatters(
        total_scatter(X, **options),
        domain_scatter(X, SITE, **options),
        between_class_scatter(X, Y, **options),
        within_class_scatter(X, Y, **options),
        conditional_domain_scatter(X, Y, SITE, **options),
    )
    np.testing.assert_allclose(fast, slow, rtol=1e-9)
    assert scatter(X, **options) == pytest.approx(slow.total)


@pytest.mark.parametrize("kernel", sorted(KERNELS))
@pytest.mark.parametrize("centred", [False, True])
def test_all_scatters_are_measured_at_once_from_a_gram_matrix_centred_or_not(
    kernel, centred, X, view
):
    K = gram(X, resolve_kernel(X, kernel, gamma=0.4))
    if centred:
        centre(K)
    slow = slow_scatters(KERNELS[kernel], X, Y, SITE)
    np.testing.assert_allclose(measure(Geometry.of_gram(K), view), slow, rtol=1e-8)


def test_all_scatters_are_measured_at_once_from_features(X, view):
    slow = slow_scatters(KERNELS["linear"], X, Y, SITE)
    for features in (X, sp.csr_matrix(X), sp.csr_array(X)):
        np.testing.assert_allclose(measure(Geometry.of_features(features), view), slow, rtol=1e-9)


def test_a_precomputed_gram_matrix_measures_in_its_feature_space(X):
    K = gram(X, resolve_kernel(X, "rbf", gamma=0.4))
    before = K.tobytes()
    slow = slow_scatters(KERNELS["rbf"], X, Y, SITE)
    options = {"kernel": "precomputed"}
    assert scatter(K, **options) == pytest.approx(slow.total)
    assert domain_scatter(K, SITE, **options) == pytest.approx(slow.domain)
    assert within_class_scatter(K, Y, **options) == pytest.approx(slow.within_class)
    assert K.tobytes() == before


def test_the_default_bandwidth_is_the_median_heuristic(X):
    squared = [np.sum((a - b) ** 2) for a, b in itertools.combinations(X, 2)]
    gamma = 1 / np.median(squared)
    assert scatter(X, kernel="rbf") == pytest.approx(scatter(X, kernel="rbf", gamma=gamma))
    assert scatter(X, kernel="rbf", gamma="printed") == pytest.approx(
        scatter(X, kernel="rbf", gamma=gamma**2)
    )


def test_a_callable_kernel_measures_like_its_name(X):
    def quadratic(A, B):
        return (0.4 * A @ B.T + 1) ** 3

    assert domain_scatter(X, SITE, kernel=quadratic) == pytest.approx(
        slow_scatters(KERNELS["poly"], X, Y, SITE).domain
    )


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_every_scatter_after_a_projection_is_that_of_the_projected_samples(kernel, X):
    B = np.random.default_rng(1).normal(size=(3, 2))
    slow = slow_scatters(KERNELS[kernel], np.tanh(X @ B), Y, SITE)
    options = {"kernel": kernel, "gamma": 0.4, "projection": lambda A: np.tanh(A @ B)}
    fast = Scatters(
        total_scatter(X, **options),
        domain_scatter(X, SITE, **options),
        between_class_scatter(X, Y, **options),
        within_class_scatter(X, Y, **options),
        conditional_domain_scatter(X, Y, SITE, **options),
    )
    np.testing.assert_allclose(fast, slow, rtol=1e-9)
    assert scatter(X, **options) == pytest.approx(slow.total)


def test_scatter_after_kernel_pca_on_all_components_is_scatter_in_feature_space(X):
    K = gram(X, resolve_kernel(X, "rbf", gamma=0.4))
    centre(K)
    values, vectors = scipy.linalg.eigh(K)
    scores = vectors * np.sqrt(np.clip(values, 0, None))
    slow = slow_scatters(KERNELS["rbf"], X, Y, SITE)
    assert scatter(X, projection=lambda _: scores) == pytest.approx(slow.total)
    assert domain_scatter(X, SITE, projection=lambda _: scores) == pytest.approx(slow.domain)


# --- what scatter is ----------------------------------------------------------------------------


def test_scatter_with_the_linear_kernel_is_the_trace_of_the_covariance(X):
    assert scatter(X) == pytest.approx(np.trace(np.cov(X.T, bias=True)), rel=1e-12)
    weights = np.random.default_rng(0).random(N)
    weighted = np.cov(X.T, aweights=weights, ddof=0)
    assert scatter(X, sample_weight=weights) == pytest.approx(np.trace(weighted), rel=1e-12)


def test_scatter_is_half_the_mean_squared_distance_of_two_samples(X):
    pairs = [np.sum((a - b) ** 2) for a in X for b in X]
    assert scatter(X) == pytest.approx(np.mean(pairs) / 2)


def test_scatter_of_a_single_point_is_zero():
    for kernel in ("linear", "rbf"):
        assert scatter([[1.0, 2.0]], kernel=kernel) == 0
        assert scatter(np.full((5, 2), 0.1), kernel=kernel) == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize("kernel", sorted(KERNELS))
def test_weighted_scatter_is_its_definition(kernel, X):
    weights = np.random.default_rng(0).random(N)
    slow = scatter_of(KERNELS[kernel], X, np.eye(N), weights / weights.sum())
    for scale in (1.0, 7.0):
        fast = scatter(X, sample_weight=scale * weights, kernel=kernel, gamma=0.4)
        assert fast == pytest.approx(slow)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_whole_weight_is_a_number_of_copies(kernel, X):
    counts = np.arange(N) % 4
    options = {"kernel": kernel, "gamma": 0.4}
    copies = scatter(np.repeat(X, counts, axis=0), **options)
    assert scatter(X, sample_weight=counts, **options) == pytest.approx(copies)
    assert scatter(X, sample_weight=counts.tolist(), **options) == pytest.approx(copies)


def test_a_sample_of_no_weight_does_not_count_however_far_it_is(X):
    with_outlier = np.vstack([X, np.full((1, 3), 1e8)])
    weights = np.append(np.ones(N), 0.0)
    assert scatter(with_outlier, sample_weight=weights) == pytest.approx(scatter(X), rel=1e-9)


# --- identities between scatters ----------------------------------------------------------------


@pytest.mark.parametrize("kernel", sorted(KERNELS))
def test_total_is_between_plus_within_where_all_are_labelled(kernel, X):
    y = ["a" if v is None else v for v in Y]
    options = {"kernel": kernel, "gamma": 0.4}
    parts = between_class_scatter(X, y, **options) + within_class_scatter(X, y, **options)
    assert total_scatter(X, **options) == pytest.approx(parts)


def test_between_plus_within_is_the_scatter_of_the_labelled_samples(X):
    lab = np.array([v is not None for v in Y])
    parts = between_class_scatter(X, Y) + within_class_scatter(X, Y)
    assert scatter(X[lab]) == pytest.approx(parts)
    assert scatter(X[lab]) != pytest.approx(scatter(X), rel=1e-3)


@pytest.mark.parametrize("kernel", sorted(KERNELS))
def test_total_of_equal_domains_is_mean_scatter_inside_plus_scatter_of_their_means(kernel, X):
    options = {"kernel": kernel, "gamma": 0.4}
    ids = np.array(SITE)
    inside = np.mean([scatter(X[ids == d], **options) for d in "stu"])
    total = total_scatter(X, SITE, **options)
    assert total == pytest.approx(inside + domain_scatter(X, SITE, **options))


def test_total_of_domains_of_one_size_is_the_pooled_total(X):
    ids = np.arange(12) % 3
    assert total_scatter(X[:12], ids) == pytest.approx(total_scatter(X[:12]))


@pytest.mark.parametrize("kernel", sorted(KERNELS))
def test_two_domain_scatter_is_a_quarter_of_mmd_squared(kernel, X):
    A, B = X[:5], X[5:]
    quarter = domain_scatter(X, [0] * 5 + [1] * (N - 5), kernel=kernel, gamma=0.4)
    difference = mean_of([1] * 5 + [0] * (N - 5)) - mean_of([0] * 5 + [1] * (N - 5))
    slow = squared_length(KERNELS[kernel], X, difference)
    assert 4 * quarter == pytest.approx(slow)
    assert mmd(A, B, kernel=kernel, gamma=0.4).value == pytest.approx(slow)


def test_mmd_takes_the_median_over_both_samples(X):
    A, B = X[:5], X[5:]
    quarter = domain_scatter(X, [0] * 5 + [1] * (N - 5), kernel="rbf")
    assert mmd(A, B).value == pytest.approx(4 * quarter)


@pytest.mark.parametrize("kernel", sorted(KERNELS))
def test_domain_scatter_is_the_mean_squared_mmd_of_all_pairs_of_domains(kernel, X):
    options = {"kernel": kernel, "gamma": 0.4}
    ids = np.array(SITE)
    pairs = [mmd(X[ids == a], X[ids == b], **options).value for a in "stu" for b in "stu"]
    assert domain_scatter(X, SITE, **options) == pytest.approx(np.mean(pairs) / 2)


def test_conditional_scatter_ignores_class_shares_and_domain_scatter_does_not():
    X = np.array([[0.0], [0.0], [0.0], [5.0], [0.0], [5.0], [5.0], [5.0]])
    y, site = ["a", "a", "a", "b", "a", "b", "b", "b"], ["s"] * 4 + ["t"] * 4
    assert conditional_domain_scatter(X, y, site) == pytest.approx(0, abs=1e-15)
    assert domain_scatter(X, site) == pytest.approx(((3.75 - 1.25) / 2) ** 2)


def test_conditional_scatter_with_one_class_is_domain_scatter(X):
    assert conditional_domain_scatter(X, ["k"] * N, SITE) == pytest.approx(domain_scatter(X, SITE))


def test_between_over_within_of_a_direction_is_fishers_criterion():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(12, 3)), rng.normal([2, 0, 1], size=(20, 3))])
    y = np.repeat([0, 1], [12, 20])
    w = rng.normal(size=(3, 1))
    z = (X @ w).ravel()
    a, b = z[y == 0], z[y == 1]
    sums = np.sum((a - a.mean()) ** 2) + np.sum((b - b.mean()) ** 2)
    fisher = (a.mean() - b.mean()) ** 2 / sums
    between = between_class_scatter(X, y, projection=lambda A: A @ w)
    within = within_class_scatter(X, y, projection=lambda A: A @ w)
    # Class means weighted by their sizes carry the factor n_a n_b / n.
    assert between / within == pytest.approx(fisher * 12 * 20 / 32)


def test_the_discriminant_direction_has_the_largest_between_over_within():
    X, y = load_iris(return_X_y=True)

    def ratio(w):
        options = {"projection": lambda A: A @ w.reshape(-1, 1)}
        return between_class_scatter(X, y, **options) / within_class_scatter(X, y, **options)

    means = np.array([X[y == k].mean(axis=0) for k in range(3)])
    S_within = sum((X[y == k] - means[k]).T @ (X[y == k] - means[k]) for k in range(3))
    S_between = 50 * (means - X.mean(axis=0)).T @ (means - X.mean(axis=0))
    largest = scipy.linalg.eigh(S_between, S_within, eigvals_only=True)[-1]
    best = LinearDiscriminantAnalysis(solver="eigen").fit(X, y).scalings_[:, 0]
    assert ratio(best) == pytest.approx(largest)
    # First discriminant of Fisher's iris data: eigenvalue 32.19, in every textbook.
    assert ratio(best) == pytest.approx(32.19, abs=0.005)
    rng = np.random.default_rng(0)
    assert all(ratio(rng.normal(size=4)) <= largest for _ in range(20))


@pytest.mark.parametrize(
    ("feature", "published"), [(0, 119.26), (1, 49.16), (2, 1180.16), (3, 960.01)]
)
def test_between_over_within_gives_the_published_f_ratios_of_the_iris_data(feature, published):
    X, y = load_iris(return_X_y=True)
    column = X[:, [feature]]
    ratio = (between_class_scatter(column, y) / 2) / (within_class_scatter(column, y) / 147)
    assert ratio == pytest.approx(published, abs=0.01)
    assert ratio == pytest.approx(f_oneway(*(column[y == k, 0] for k in range(3))).statistic)


# --- invariances --------------------------------------------------------------------------------


def five(X, y, ids, mask, kernel="linear", gamma="median"):
    y = [v if known else None for v, known in zip(y, mask, strict=True)]
    options = {"kernel": kernel, "gamma": gamma}
    return np.array(
        [
            total_scatter(X, **options),
            total_scatter(X, ids, **options),
            domain_scatter(X, ids, **options),
            between_class_scatter(X, y, **options),
            within_class_scatter(X, y, **options),
            conditional_domain_scatter(X, y, ids, **options),
        ]
    )


seeds = st.integers(0, 2**32 - 1)


@some
@given(seeds, st.sampled_from(["linear", "rbf", "laplacian"]))
def test_scatters_ignore_the_order_of_the_samples(seed, kernel):
    rng = np.random.default_rng(seed)
    X, (y, ids, mask) = rng.normal(size=(20, 3)), random_view(rng)
    p = rng.permutation(20)
    np.testing.assert_allclose(
        five(X[p], y[p], ids[p], mask[p], kernel), five(X, y, ids, mask, kernel), rtol=1e-8
    )


@some
@given(seeds, st.sampled_from(["linear", "rbf"]))
def test_scatters_ignore_rotations_and_shifts(seed, kernel):
    rng = np.random.default_rng(seed)
    X, labels = rng.normal(size=(20, 3)), random_view(rng)
    moved = X @ rotation(rng, 3) + rng.normal(size=3)
    np.testing.assert_allclose(five(moved, *labels, kernel), five(X, *labels, kernel), rtol=1e-8)


@some
@given(seeds, st.floats(0.01, 100))
def test_linear_scatters_grow_with_the_square_of_the_units_and_median_ones_not(seed, units):
    rng = np.random.default_rng(seed)
    X, labels = rng.normal(size=(20, 3)), random_view(rng)
    np.testing.assert_allclose(five(units * X, *labels), units**2 * five(X, *labels), rtol=1e-8)
    np.testing.assert_allclose(five(units * X, *labels, "rbf"), five(X, *labels, "rbf"), rtol=1e-8)


@some
@given(seeds, st.permutations([7, 3, 5]), st.permutations(["q", "p", "r"]))
def test_scatters_ignore_the_names_of_classes_and_domains(seed, class_names, domain_names):
    rng = np.random.default_rng(seed)
    X, (y, ids, mask) = rng.normal(size=(20, 3)), random_view(rng)
    renamed = np.array(class_names)[y], np.array(domain_names)[ids], mask
    np.testing.assert_allclose(five(X, *renamed), five(X, y, ids, mask), rtol=1e-10)


@some
@given(seeds)
def test_class_scatters_ignore_the_unlabelled_samples(seed):
    rng = np.random.default_rng(seed)
    X, (y, ids, mask) = rng.normal(size=(20, 3)), random_view(rng)
    other = np.where(mask[:, None], X, rng.normal(5, 3, size=(20, 3)))
    before, after = five(X, y, ids, mask), five(other, y, ids, mask)
    np.testing.assert_allclose(after[3:], before[3:], rtol=1e-9)


@some
@given(seeds)
def test_copying_every_sample_changes_no_scatter(seed):
    rng = np.random.default_rng(seed)
    X, labels = rng.normal(size=(20, 3)), random_view(rng)
    twice = [np.concatenate([a, a]) for a in (X, *labels)]
    np.testing.assert_allclose(five(*twice, "rbf", 0.4), five(X, *labels, "rbf", 0.4), rtol=1e-8)


# --- numbers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_means_far_from_zero_lose_no_digits(kernel, X):
    labels = np.arange(N) % 3, np.arange(N) % 4, np.ones(N, bool)
    # Numbers that 1e6 + x represents exactly, so that only the computation may lose digits.
    X = np.round(X * 1024) / 1024
    near, far = five(X, *labels, kernel), five(X + 1e6, *labels, kernel)
    np.testing.assert_allclose(far, near, rtol=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("unbiased", [False, True])
def test_mmd_of_means_far_from_zero_loses_no_digits(kernel, unbiased, X):
    A, B = np.round(X[:5] * 1024) / 1024, np.round(X[5:] * 1024) / 1024
    near, far = (mmd(A + c, B + c, kernel=kernel, unbiased=unbiased).value for c in (0, 1e6))
    assert far == pytest.approx(near, rel=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "laplacian"])
@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csr_array, sp.csc_matrix])
def test_scatters_of_sparse_samples_are_those_of_dense_ones(kernel, make, X):
    dense = np.where(np.abs(X) < 0.7, 0.0, X)
    labels = np.arange(N) % 3, np.arange(N) % 4, np.ones(N, bool)
    fast, slow = five(make(dense), *labels, kernel), five(dense, *labels, kernel)
    np.testing.assert_allclose(fast, slow, rtol=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("unbiased", [False, True])
def test_mmd_of_sparse_samples_is_that_of_dense_ones(kernel, unbiased, X):
    dense = np.where(np.abs(X) < 0.7, 0.0, X)
    options = {"kernel": kernel, "unbiased": unbiased, "n_permutations": 19, "random_state": 0}
    A, B = dense[:5], dense[5:]
    sparse = mmd(sp.csr_matrix(A), sp.csr_matrix(B), **options)
    np.testing.assert_allclose(sparse, mmd(A, B, **options), rtol=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_scatters_in_float32_agree_with_float64(kernel, X):
    labels = np.arange(N) % 3, np.arange(N) % 4, np.ones(N, bool)
    np.testing.assert_allclose(
        five(X.astype(np.float32), *labels, kernel), five(X, *labels, kernel), rtol=1e-4
    )


def test_measuring_leaves_the_samples_untouched_to_the_bit(X):
    before = X.tobytes()
    labels = np.arange(N) % 3, np.arange(N) % 4, np.ones(N, bool)
    five(X, *labels), five(X, *labels, "rbf")
    mmd(X[:5], X[5:], n_permutations=3, random_state=0)
    assert X.tobytes() == before


def test_linear_scatters_need_no_gram_matrix(monkeypatch, X):
    monkeypatch.setattr(kernels, "available_memory", lambda: 1)
    expected = np.trace(np.cov(X.T, bias=True))
    assert scatter(X) == pytest.approx(expected)
    with pytest.raises(MemoryError, match="Gram matrix of 13 samples"):
        scatter(X, kernel="rbf")


def test_the_same_call_gives_the_same_scatter_on_a_large_sample():
    X = np.random.default_rng(0).normal(size=(kernels.MEDIAN_SAMPLE + 300, 2))
    ids = np.arange(len(X)) % 2
    assert domain_scatter(X, ids, kernel="rbf") == domain_scatter(X, ids, kernel="rbf")


def test_the_same_seed_gives_the_same_mmd_on_large_samples():
    X = np.random.default_rng(0).normal(size=(kernels.MEDIAN_SAMPLE, 2))
    first, again = (mmd(X, X[:300] + 0.1, n_permutations=9, random_state=0) for _ in range(2))
    assert first == again


# --- maximum mean discrepancy -------------------------------------------------------------------


def slow_mmd(kernel, A, B, unbiased):
    """The U- or the V-statistic, summed pair by pair."""
    A, B = np.asarray(A).tolist(), np.asarray(B).tolist()

    def inside(S):
        pairs = itertools.permutations(S, 2) if unbiased else itertools.product(S, S)
        return np.mean([kernel(a, b) for a, b in pairs])

    return inside(A) + inside(B) - 2 * np.mean([kernel(a, b) for a in A for b in B])


@pytest.mark.parametrize("kernel", sorted(KERNELS))
@pytest.mark.parametrize("unbiased", [False, True])
def test_mmd_is_its_definition(kernel, unbiased, X):
    A, B = X[:5], X[5:]
    slow = slow_mmd(KERNELS[kernel], A, B, unbiased)
    result = mmd(A, B, kernel=kernel, gamma=0.4, unbiased=unbiased)
    assert result.value == pytest.approx(slow, rel=1e-9)
    assert result.p_value is None
    assert mmd(B, A, kernel=kernel, gamma=0.4, unbiased=unbiased).value == pytest.approx(slow)


def test_linear_mmd_is_the_squared_distance_of_the_means(X):
    A, B = X[:5], X[5:]
    expected = np.sum((A.mean(axis=0) - B.mean(axis=0)) ** 2)
    assert mmd(A, B, kernel="linear").value == pytest.approx(expected)


def test_unbiased_mmd_is_unbiased_and_the_other_is_not():
    rng = np.random.default_rng(0)
    draws = [(rng.normal(size=(6, 2)), rng.normal(size=(8, 2))) for _ in range(400)]
    fair = np.array([mmd(A, B, gamma=0.5, unbiased=True).value for A, B in draws])
    raw = np.array([mmd(A, B, gamma=0.5).value for A, B in draws])
    error = fair.std() / np.sqrt(len(draws))
    assert abs(fair.mean()) < 3 * error
    assert raw.mean() > 10 * error


def test_mmd_after_a_projection_is_that_of_the_projected_samples(X):
    W = np.random.default_rng(1).normal(size=(3, 2))
    A, B = X[:5], X[5:]
    for options in ({"kernel": "rbf"}, {"kernel": "linear", "unbiased": True}):
        projected = mmd(A, B, projection=lambda S: S @ W, **options)
        assert projected.value == pytest.approx(mmd(A @ W, B @ W, **options).value)


def test_mmd_after_a_projection_to_whole_numbers_is_that_of_those_numbers(X):
    A, B = X[:5], X[5:]
    counts = mmd(A, B, projection=lambda S: (S > 0.5).astype(int), gamma=0.4).value
    slow = slow_mmd(KERNELS["rbf"], (A > 0.5).astype(int), (B > 0.5).astype(int), unbiased=False)
    assert counts == pytest.approx(slow)


@pytest.mark.parametrize("unbiased", [False, True])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_p_value_is_the_share_of_all_splits_that_differ_as_much(unbiased, kernel, seed):
    rng = np.random.default_rng(seed)
    both = np.vstack([rng.normal(size=(3, 2)), rng.normal(size=(4, 2)) + 0.7])
    values = []
    for first in itertools.combinations(range(7), 3):
        rest = [i for i in range(7) if i not in first]
        values.append(slow_mmd(KERNELS[kernel], both[list(first)], both[rest], unbiased))
    exact = np.mean(np.array(values) >= values[0] - 1e-9)
    draws = 5000
    result = mmd(
        both[:3],
        both[3:],
        kernel=kernel,
        gamma=0.4,
        unbiased=unbiased,
        n_permutations=draws,
        random_state=seed,
    )
    assert result.value == pytest.approx(values[0])
    assert result.p_value == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / draws))


@pytest.mark.parametrize("kernel", ["linear", "rbf", "laplacian"])
def test_splits_that_tie_with_the_observed_one_count(kernel):
    # The same sample twice: no split can differ less, so all of them count.
    A, B = np.array([[0.1], [0.7], [0.3]]), np.array([[0.7], [0.3], [0.1]])
    result = mmd(A, B, kernel=kernel, n_permutations=199, random_state=0)
    assert result.value == pytest.approx(0, abs=1e-14)
    assert result.p_value == 1.0


@pytest.mark.parametrize("unbiased", [False, True])
def test_p_values_are_uniform_where_both_samples_come_from_one_distribution(unbiased):
    rng = np.random.default_rng(0)
    repeats = 300
    p_values = np.array(
        [
            mmd(
                rng.normal(size=(8, 2)),
                rng.normal(size=(12, 2)),
                unbiased=unbiased,
                n_permutations=39,
                random_state=i,
            ).p_value
            for i in range(repeats)
        ]
    )
    assert p_values.min() >= 1 / 40
    for level in (0.05, 0.1, 0.25, 0.5, 0.75):
        share = np.mean(p_values <= level + 1e-9)
        assert share == pytest.approx(level, abs=4 * np.sqrt(level * (1 - level) / repeats))


@pytest.mark.parametrize("unbiased", [False, True])
def test_the_p_value_is_as_small_as_it_can_be_under_a_shift(unbiased):
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(30, 3)), rng.normal(size=(25, 3)) + 2
    result = mmd(A, B, unbiased=unbiased, n_permutations=99, random_state=0)
    assert result.p_value == 1 / 100


def test_the_p_value_sees_a_change_of_spread_that_the_means_do_not_show():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(60, 2))
    B = 3 * rng.normal(size=(60, 2))
    A, B = A - A.mean(axis=0), B - B.mean(axis=0)
    options = {"n_permutations": 99, "random_state": 0}
    assert mmd(A, B, kernel="rbf", **options).p_value == 0.01
    assert mmd(A, B, kernel="linear", **options).p_value > 0.5


def test_permutations_are_seeded(X):
    options = {"n_permutations": 50}
    A, B = X[:5], X[5:]
    p_values = [mmd(A, B, random_state=seed, **options).p_value for seed in (0, 0, 1, 2, 3)]
    assert p_values[0] == p_values[1]
    assert len(set(p_values)) > 1


# --- errors -------------------------------------------------------------------------------------

GOOD = np.arange(12.0).reshape(4, 3)
FOUR = [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        # samples
        (lambda: scatter([1.0, 2.0]), ValueError, "Expected 2D array"),
        (lambda: scatter(np.full((3, 2), np.nan)), ValueError, "X contains NaN"),
        (lambda: scatter(np.full((3, 2), np.inf)), ValueError, "X contains infinity"),
        (lambda: mmd(GOOD, GOOD * np.nan), ValueError, "Y contains NaN"),
        (lambda: mmd(GOOD, GOOD[:, :2]), ValueError, "X has 3 features and Y has 2"),
        (
            lambda: scatter(GOOD, projection=lambda A: A * np.nan),
            ValueError,
            "projection of X contains NaN",
        ),
        (lambda: mmd(GOOD, GOOD, projection=lambda A: A * np.nan), ValueError, "projection"),
        # one value per sample
        (lambda: domain_scatter(GOOD, [0, 1]), ValueError, "X has 4, sample_domain has 2"),
        (lambda: total_scatter(GOOD, [0, 1]), ValueError, "X has 4, sample_domain has 2"),
        (lambda: between_class_scatter(GOOD, [0, 1]), ValueError, "X has 4, y has 2"),
        (lambda: within_class_scatter(GOOD, [0, 1]), ValueError, "X has 4, y has 2"),
        (lambda: conditional_domain_scatter(GOOD, [0], FOUR), ValueError, "y has 1"),
        # labels and domains
        (lambda: between_class_scatter(GOOD, [-1] * 4), ValueError, r"\by has no labelled sample"),
        (lambda: within_class_scatter(GOOD, [None] * 4), ValueError, r"\by has no labelled"),
        (lambda: domain_scatter(GOOD, ["a", None, "b", "b"]), ValueError, "sample_domain"),
        # weights
        (lambda: scatter(GOOD, sample_weight=[1, 2]), ValueError, r"sample_weight .*\(4\).*\(2,\)"),
        (lambda: scatter(GOOD, sample_weight=np.ones((4, 1))), ValueError, "sample_weight"),
        (lambda: scatter(GOOD, sample_weight=[1, 1, 1, -1]), ValueError, "sample_weight .*negativ"),
        (lambda: scatter(GOOD, sample_weight=[0] * 4), ValueError, "sample_weight .*zero"),
        (lambda: scatter(GOOD, sample_weight=[1, 1, 1, np.nan]), ValueError, "sample_weight"),
        (lambda: scatter(GOOD, sample_weight=[1, 1, 1, np.inf]), ValueError, "sample_weight"),
        (lambda: scatter(GOOD, sample_weight=list("abcd")), (TypeError, ValueError), "sample_wei"),
        # kernels
        (lambda: scatter(GOOD, kernel="gaussian"), ValueError, "kernel must be one of .*rbf"),
        (lambda: scatter(GOOD, kernel="rbf", gamma=-1), ValueError, "gamma must lie in"),
        (lambda: scatter(-GOOD, kernel="chi2"), ValueError, "X contains negative values"),
        (lambda: scatter(GOOD, kernel="precomputed"), ValueError, "square Gram matrix"),
        (
            lambda: scatter(np.triu(np.ones((3, 3))), kernel="precomputed"),
            ValueError,
            "symmetric Gram matrix",
        ),
        (
            lambda: scatter(sp.csr_matrix(np.eye(3)), kernel="precomputed"),
            (TypeError, ValueError),
            "precomputed|dense",
        ),
        (lambda: mmd(GOOD, GOOD, kernel="precomputed"), ValueError, "precomputed"),
        # the permutation test
        (lambda: mmd(GOOD, GOOD[:1], unbiased=True), ValueError, "unbiased=True needs at least"),
        (lambda: mmd(GOOD, GOOD, n_permutations=-1), ValueError, "n_permutations must be at least"),
        (lambda: mmd(GOOD, GOOD, n_permutations=9.5), TypeError, "n_permutations must be an int"),
    ],
)
def test_what_cannot_be_measured_is_refused_with_the_name_of_its_argument(call, error, message):
    with pytest.raises(error, match=message):
        call()
