"""GFK against quadrature over the subspaces, and its dimension against angles taken one by one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import subspace_angles
from scipy.spatial.distance import cdist
from sklearn.cross_decomposition import PLSRegression

from skatter.methods._gfk import GFK, subspace_disagreement

DOMAIN = np.repeat([1, -2], [50, 60])


@pytest.fixture(scope="module")
def shifted():
    """Samples of two domains that vary along different directions, and classes."""
    rng = np.random.default_rng(0)
    spread = 1 / np.arange(1, 13)
    turn = np.linalg.qr(np.eye(12) + 0.3 * rng.normal(size=(12, 12)))[0]
    y = rng.integers(3, size=110)
    X = rng.normal(size=(110, 12)) * spread + np.eye(12)[y]
    X[50:] = X[50:] @ turn + 3
    return X, y


def axes(X, d):
    """Principal axes by a plain singular value decomposition."""
    return np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][:d].T


def metric_by_quadrature(P, Q):
    """Average of the projections along the path, built with a full orthogonal complement."""
    p, d = P.shape
    complement = np.linalg.qr(np.hstack([P, np.eye(p)]))[0][:, d:]
    U, cosine, Vt = np.linalg.svd(P.T @ Q)
    angles = np.arccos(np.clip(cosine, 0, 1))
    leave = complement @ (complement.T @ Q @ Vt.T) / np.sin(angles)
    nodes, weights = np.polynomial.legendre.leggauss(30)
    G = np.zeros((p, p))
    for t, w in zip((nodes + 1) / 2, weights / 2, strict=True):
        point = P @ U * np.cos(t * angles) + leave * np.sin(t * angles)
        G += w * point @ point.T
    return G


@pytest.mark.parametrize("d", [1, 3, 5])
def test_the_metric_is_the_average_over_the_subspaces_on_the_way(shifted, d):
    X, _ = shifted
    gfk = GFK(d).fit(X, sample_domain=DOMAIN)
    expected = metric_by_quadrature(axes(X[:50], d), axes(X[50:], d))
    np.testing.assert_allclose(gfk.metric(), expected, atol=1e-12)


@pytest.mark.parametrize("d", [1, 3, 8, 12])
def test_distances_and_inner_products_of_the_features_are_those_of_the_metric(shifted, d):
    X, _ = shifted
    gfk = GFK(d).fit(X, sample_domain=DOMAIN)
    Z = gfk.transform(X)
    centred = X - X.mean(axis=0)
    np.testing.assert_allclose(Z @ Z.T, centred @ gfk.metric() @ centred.T, atol=1e-11)
    expected = [[(a - b) @ gfk.metric() @ (a - b) for b in X[:5]] for a in X[-5:]]
    np.testing.assert_allclose(cdist(Z[-5:], Z[:5]) ** 2, expected, atol=1e-11)


@pytest.mark.parametrize(("d", "columns"), [(1, 2), (5, 10), (6, 12), (7, 12), (12, 12)])
def test_there_are_two_features_per_dimension_and_no_more_than_inputs(shifted, d, columns):
    X, _ = shifted
    gfk = GFK(d).fit(X, sample_domain=DOMAIN)
    assert gfk.dimension_ == len(gfk.angles_) == d
    assert gfk.n_components_ == columns
    assert gfk.transform(X).shape == (110, columns)
    assert len(gfk.get_feature_names_out()) == columns
    assert np.trace(gfk.metric()) == pytest.approx(d, abs=1e-10)


def test_features_are_centred_uncorrelated_and_sorted_by_variance(shifted):
    X, _ = shifted
    Z = GFK(4).fit(X, sample_domain=DOMAIN).transform(X)
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-12)
    variances = Z.var(axis=0)
    np.testing.assert_allclose(np.cov(Z.T, bias=True), np.diag(variances), atol=1e-12)
    assert (np.diff(variances) < 0).all()


def test_without_a_shift_the_metric_projects_on_the_principal_axes(shifted):
    X, _ = shifted
    with pytest.warns(UserWarning, match="sees no target"):
        gfk = GFK(3).fit(X)
    P = axes(X, 3)
    np.testing.assert_allclose(gfk.metric(), P @ P.T, atol=1e-10)
    np.testing.assert_allclose(gfk.transform(X)[:, 3:], 0, atol=1e-9)


def test_with_all_dimensions_distances_are_euclidean(shifted):
    X, _ = shifted
    gfk = GFK(12).fit(X, sample_domain=DOMAIN)
    np.testing.assert_allclose(gfk.metric(), np.eye(12), atol=1e-12)


def test_source_and_target_may_be_exchanged(shifted):
    X, _ = shifted
    there, back = GFK(4).fit(X, sample_domain=DOMAIN), GFK(4).fit(X, sample_domain=-DOMAIN)
    np.testing.assert_allclose(there.metric(), back.metric(), atol=1e-12)


def test_a_shift_of_a_domain_does_not_change_the_metric(shifted):
    X, _ = shifted
    moved = X + np.where(DOMAIN == 1, 100.0, 0)[:, None]
    metrics = [GFK(4).fit(data, sample_domain=DOMAIN).metric() for data in (X, moved)]
    np.testing.assert_allclose(*metrics, atol=1e-10)


def test_the_metric_turns_with_the_features(shifted):
    X, _ = shifted
    turn = np.linalg.qr(np.random.default_rng(3).normal(size=(12, 12)))[0]
    straight = GFK(4).fit(X, sample_domain=DOMAIN).metric()
    turned = GFK(4).fit(X @ turn, sample_domain=DOMAIN).metric()
    np.testing.assert_allclose(turned, turn.T @ straight @ turn, atol=1e-11)


def test_several_sources_are_pooled(shifted):
    X, _ = shifted
    split = np.where(np.arange(110) < 20, 7, DOMAIN)
    together, apart = (GFK(3).fit(X, sample_domain=d) for d in (DOMAIN, split))
    np.testing.assert_array_equal(together.metric_factor_, apart.metric_factor_)


def test_sparse_samples_far_wider_than_long_are_taken_as_they_are():
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.random((60, 5000)) * (rng.random((60, 5000)) < 0.01))
    domain = np.repeat([1, -2], 30)
    gfk = GFK(5).fit(X, sample_domain=domain)
    dense = GFK(5).fit(X.toarray(), sample_domain=domain)
    np.testing.assert_allclose(gfk.transform(X), dense.transform(X.toarray()), atol=1e-8)


# --- the dimension --------------------------------------------------------------------------------


def disagreement_one_by_one(source, target, d):
    pooled = axes(np.vstack([source, target]), d)
    sines = [np.sin(subspace_angles(axes(X, d), pooled)[0]) for X in (source, target)]
    return sum(sines) / 2


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_the_disagreement_is_the_mean_sine_of_the_largest_principal_angles(shifted, make):
    X, _ = shifted
    expected = [disagreement_one_by_one(X[:50], X[50:], d) for d in range(1, 9)]
    actual = subspace_disagreement(make(X[:50]), make(X[50:]), 8)
    np.testing.assert_allclose(actual, expected, atol=1e-7)


def test_axes_in_another_order_agree():
    """The diagonal of the inner products would call the exchanged axes orthogonal."""
    source = np.diag([3.0, 2, 1, 0.1])
    target = np.diag([2.0, 3, 1, 0.1])
    source, target = np.vstack([source, -source]), np.vstack([target, -target])
    disagreement = subspace_disagreement(source, target, 3)
    assert disagreement[0] > 0.4
    np.testing.assert_allclose(disagreement[1:], 0, atol=1e-7)


def test_the_disagreement_ends_where_the_smaller_rank_does(shifted):
    X, _ = shifted
    assert len(subspace_disagreement(X[:4], X[50:], 10)) == 3
    with pytest.raises(ValueError, match="max_dimension must be at least 1, got 0"):
        subspace_disagreement(X[:50], X[50:], 0)


def domains_that_part_at(d, p=200, n=300):
    """Axes before the d-th are shared; the d-th ones of source, target and both together differ."""
    shared, of_source, of_target, of_both = np.full((4, p), 1e-3)
    shared[: d - 1] = np.linspace(3, 2, d - 1)
    of_source[d], of_target[d + 1], of_both[d + 2] = 1.0, 1.0, 0.9
    rng = np.random.default_rng(0)
    domains = []
    for own in (of_source, of_target):
        X = rng.normal(size=(n, p))
        # Exactly uncorrelated, so that the principal axes are the features.
        uncorrelated = np.linalg.qr(X - X.mean(axis=0))[0] * np.sqrt(n)
        domains.append(uncorrelated * np.maximum(shared, np.maximum(own, of_both)))
    return np.vstack(domains), np.repeat([1, -2], n)


@pytest.mark.parametrize("d", [1, 2, 7, 31, 32, 33, 64, 90])
def test_by_default_the_dimension_is_the_first_at_which_the_subspaces_disagree(d):
    X, domain = domains_that_part_at(d)
    disagreement = subspace_disagreement(X[domain == 1], X[domain == -2], d)
    np.testing.assert_allclose(disagreement, np.eye(d)[-1], atol=1e-6)
    assert GFK().fit(X, sample_domain=domain).dimension_ == d


def test_where_subspaces_never_disagree_the_dimension_is_half_the_features(shifted):
    X, _ = shifted
    assert subspace_disagreement(X[:50], X[:50], 6).max() < 1e-6
    twice = np.vstack([X[:50], X[:50]])
    assert GFK().fit(twice, sample_domain=np.repeat([1, -2], 50)).dimension_ == 6


def test_the_dimension_is_capped_by_the_smaller_rank():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 50)) * np.linspace(5, 1, 50)
    gfk = GFK().fit(np.vstack([X[:4], X]), sample_domain=np.repeat([1, -2], [4, 24]))
    assert gfk.dimension_ <= 3


def test_a_dimension_beyond_the_rank_is_refused_with_the_largest_one(shifted):
    X, _ = shifted
    with pytest.raises(ValueError, match=r"n_components=13 exceeds .* at most 12 here"):
        GFK(13).fit(X, sample_domain=DOMAIN)
    doubled = np.hstack([X[:, :4], X[:, :4]])
    with pytest.raises(ValueError, match=r"n_components=5 exceeds .* at most 4 here"):
        GFK(5).fit(doubled, sample_domain=DOMAIN)


def test_a_domain_of_coinciding_samples_is_refused(shifted):
    X = shifted[0].copy()
    X[50:] = X[50]
    with pytest.raises(ValueError, match="all coincide"):
        GFK().fit(X, sample_domain=DOMAIN)


# --- the source's basis by partial least squares --------------------------------------------------


def test_partial_least_squares_gives_the_subspace_of_the_source(shifted):
    X, y = shifted
    known = np.where(DOMAIN == 1, y, -1)
    gfk = GFK(3, source_basis="pls").fit(X, known, sample_domain=DOMAIN)
    pls = PLSRegression(3, scale=False).fit(X[:50], np.eye(3)[y[:50]])
    basis = np.linalg.qr(pls.x_rotations_)[0]
    expected = metric_by_quadrature(basis, axes(X[50:], 3))
    np.testing.assert_allclose(gfk.metric(), expected, atol=1e-10)
    assert not np.allclose(gfk.metric(), GFK(3).fit(X, sample_domain=DOMAIN).metric(), atol=1e-3)


def test_only_labelled_source_samples_enter_partial_least_squares(shifted):
    X, y = shifted
    some = np.where((DOMAIN == 1) & (np.arange(110) < 30), y, -1)
    target_too = np.where(DOMAIN == -2, y, some)
    gfk, other = (
        GFK(2, source_basis="pls").fit(X, known, sample_domain=DOMAIN)
        for known in (some, target_too)
    )
    np.testing.assert_allclose(gfk.metric(), other.metric(), atol=1e-12)
    pls = PLSRegression(2, scale=False).fit(X[:30], np.eye(3)[y[:30]])
    expected = metric_by_quadrature(np.linalg.qr(pls.x_weights_)[0], axes(X[50:], 2))
    np.testing.assert_allclose(gfk.metric(), expected, atol=1e-10)


@pytest.mark.parametrize("known", [None, np.zeros(110, dtype=int)])
def test_partial_least_squares_without_two_classes_is_refused(shifted, known):
    with pytest.raises(ValueError, match=r"source_basis='pls' needs labels of at least two"):
        GFK(2, source_basis="pls").fit(shifted[0], known, sample_domain=DOMAIN)


def test_partial_least_squares_of_sparse_samples_is_refused(shifted):
    X, y = shifted
    with pytest.raises(TypeError, match=r"source_basis='pls' takes no sparse samples"):
        GFK(2, source_basis="pls").fit(sparse.csr_array(X), y, sample_domain=DOMAIN)


def test_more_directions_than_the_labelled_samples_have_are_refused(shifted):
    X, y = shifted
    few = np.where(np.arange(110) < 5, y, -1)
    with pytest.raises(ValueError, match=r"source_basis='pls': 6 directions .* at most 4 here"):
        GFK(6, source_basis="pls").fit(X, few, sample_domain=DOMAIN)
    repeated = X.copy()
    repeated[:9] = np.tile(X[:3], (3, 1))
    nine = np.where(np.arange(110) < 9, np.arange(110) % 3, -1)
    with pytest.raises(ValueError, match=r"source_basis='pls': 4 directions .* at most 2 here"):
        GFK(4, source_basis="pls").fit(repeated, nine, sample_domain=DOMAIN)


def test_labels_are_not_needed_and_not_used_with_principal_axes(shifted):
    X, y = shifted
    with_labels = GFK(3).fit(X, np.where(DOMAIN == 1, y, -1), sample_domain=DOMAIN)
    without = GFK(3).fit(X, sample_domain=DOMAIN)
    np.testing.assert_array_equal(with_labels.metric_factor_, without.metric_factor_)
