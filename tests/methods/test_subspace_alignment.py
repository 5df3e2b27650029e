"""Subspace alignment against its definition by least squares, and the bound on its dimension."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from skatter._solve import symmetric
from skatter.methods._subspace_alignment import SubspaceAlignment, max_dimension_by_bound

DOMAIN = np.repeat([1, -2], [50, 60])


@pytest.fixture(scope="module")
def X():
    """Samples of two domains that vary along different directions, each with mean zero."""
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(np.eye(9) + 0.3 * rng.normal(size=(9, 9)))[0]
    X = rng.normal(size=(110, 9)) / np.arange(1, 10)
    X[50:] = X[50:] @ turn
    for side in (X[:50], X[50:]):
        side -= side.mean(axis=0)
    return X


def axes(X, d):
    """Principal axes by a plain singular value decomposition."""
    return np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][:d].T


def by_definition(X, d):
    """Least squares for M, then the published maps of centred domains; signs are free."""
    P, Q = axes(X[:50], d), axes(X[50:], d)
    M = np.linalg.lstsq(P, Q, rcond=None)[0]
    return np.vstack([X[:50] @ P @ M, X[50:] @ Q])


def same_up_to_signs(actual, expected):
    signs = np.sign(np.sum(actual * expected, axis=0))
    np.testing.assert_allclose(actual * signs, expected, atol=1e-9)


@pytest.mark.parametrize("d", [1, 3, 7, 9])
def test_the_map_is_the_published_one_where_domains_are_centred(X, d):
    sa = SubspaceAlignment(d).fit(X, sample_domain=DOMAIN)
    same_up_to_signs(sa.transform(X, sample_domain=DOMAIN), by_definition(X, d))


def test_axes_of_many_samples_and_features_are_ones_to_a_fiftieth_of_their_variance(monkeypatch):
    monkeypatch.setattr(symmetric, "SMALL_GRAM", 0)  # many, for the solver
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1400, 600)) * np.where(np.arange(600) < 3, 9, 1)
    domain = np.repeat([1, -2], 700)
    found = SubspaceAlignment(20).fit(X, sample_domain=domain).target_map_
    C = np.cov(X[700:].T)
    variances = np.sum(found * (C @ found), axis=0)
    residuals = np.linalg.norm(C @ found - found * variances, axis=0) / variances
    assert 1e-6 < residuals.max() <= 0.02
    np.testing.assert_allclose(variances, np.linalg.eigvalsh(C)[:-21:-1], rtol=1e-3)


def test_each_domain_is_centred_at_its_own_mean(X):
    moved = X + np.where(DOMAIN == 1, 5.0, -3.0)[:, None]
    sa = SubspaceAlignment(4).fit(moved, sample_domain=DOMAIN)
    Z = sa.transform(moved, sample_domain=DOMAIN)
    same_up_to_signs(Z, by_definition(X, 4))
    np.testing.assert_allclose([Z[:50].mean(axis=0), Z[50:].mean(axis=0)], 0, atol=1e-12)


def test_no_other_matrix_brings_the_bases_closer(X):
    sa = SubspaceAlignment(3).fit(X, sample_domain=DOMAIN)
    P, Q = axes(X[:50], 3), sa.target_map_
    best = np.linalg.norm(sa.source_map_ - Q)
    rng = np.random.default_rng(1)
    for scale in (1e-3, 1e-1, 1):
        M = P.T @ sa.source_map_ + scale * rng.normal(size=(3, 3))
        assert np.linalg.norm(P @ M - Q) > best


def test_similarities_between_domains_are_those_of_the_published_matrix(X):
    sa = SubspaceAlignment(4).fit(X, sample_domain=DOMAIN)
    Z = sa.transform(X, sample_domain=DOMAIN)
    P, Q = axes(X[:50], 4), axes(X[50:], 4)
    expected = X[:50] @ P @ P.T @ Q @ Q.T @ X[50:].T
    np.testing.assert_allclose(Z[:50] @ Z[50:].T, expected, atol=1e-10)


def test_between_identical_domains_nothing_is_turned(X):
    twice = np.vstack([X[:50], X[:50]])
    domain = np.repeat([1, -2], 50)
    sa = SubspaceAlignment(4).fit(twice, sample_domain=domain)
    np.testing.assert_allclose(sa.alignment_, np.eye(4), atol=1e-9)
    Z = sa.transform(twice, sample_domain=domain)
    np.testing.assert_allclose(Z[:50], Z[50:], atol=1e-9)


def test_with_all_dimensions_similarities_and_distances_are_the_plain_ones(X):
    Z = SubspaceAlignment(9).fit_transform(X, sample_domain=DOMAIN)
    np.testing.assert_allclose(Z[:50] @ Z[50:].T, X[:50] @ X[50:].T, atol=1e-12)
    np.testing.assert_allclose(cdist(Z[50:], Z[:50]), cdist(X[50:], X[:50]), atol=1e-10)


def test_new_samples_take_the_map_of_their_domain(X):
    sa = SubspaceAlignment(3).fit(X, sample_domain=DOMAIN)
    as_source = sa.transform(X[:5], sample_domain=np.ones(5, dtype=int))
    as_target = sa.transform(X[:5], sample_domain=np.full(5, -2))
    np.testing.assert_allclose(as_source, X[:5] @ sa.source_map_, atol=1e-12)
    np.testing.assert_allclose(as_target, X[:5] @ sa.target_map_, atol=1e-12)
    np.testing.assert_array_equal(sa.transform(X[:5]), as_target)
    np.testing.assert_array_equal(sa.transform(X[:5], sample_domain=np.full(5, 99)), as_target)
    assert not np.allclose(as_source, as_target, atol=1e-2)


def test_several_sources_are_pooled(X):
    split = np.where(np.arange(110) < 20, 7, DOMAIN)
    together, apart = (SubspaceAlignment(3).fit(X, sample_domain=d) for d in (DOMAIN, split))
    np.testing.assert_array_equal(together.source_map_, apart.source_map_)
    np.testing.assert_array_equal(
        apart.transform(X[:5], sample_domain=np.full(5, 7)),
        together.transform(X[:5], sample_domain=np.full(5, 1)),
    )


def test_by_default_there_are_20_components_or_what_the_rank_allows(X):
    assert SubspaceAlignment().fit(X, sample_domain=DOMAIN).n_components_ == 9
    wide = np.random.default_rng(0).normal(size=(110, 30))
    assert SubspaceAlignment().fit(wide, sample_domain=DOMAIN).n_components_ == 20
    with pytest.raises(ValueError, match=r"n_components=10 exceeds .* at most 9 here"):
        SubspaceAlignment(10).fit(X, sample_domain=DOMAIN)


def test_sparse_samples_far_wider_than_long_are_taken_as_they_are():
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.random((60, 5000)) * (rng.random((60, 5000)) < 0.01))
    domain = np.repeat([1, -2], 30)
    thin = SubspaceAlignment(5).fit_transform(X, sample_domain=domain)
    dense = SubspaceAlignment(5).fit_transform(X.toarray(), sample_domain=domain)
    np.testing.assert_allclose(thin, dense, atol=1e-9)


# --- the bound on the dimension -------------------------------------------------------------------


def bound_one_by_one(source, target, gamma, alpha):
    spectra = [np.linalg.eigvalsh(np.cov(X.T, bias=True))[::-1] for X in (source, target)]
    B = max(np.sum((X - X.mean(axis=0)) ** 2, axis=1).max() for X in (source, target))
    best = 0
    for d in range(1, source.shape[1]):
        gap = min(values[d - 1] - values[d] for values in spectra)
        needed = (1 + np.sqrt(np.log(2 / alpha) / 2)) * 16 * d**1.5 * B
        if gap >= needed / (gamma * np.sqrt(min(len(source), len(target)))):
            best = d
    return best


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("alpha", [0.05, 0.5])
@pytest.mark.parametrize("gamma", [1e2, 1e3, 3e3])
def test_the_bound_is_the_last_dimension_with_a_wide_enough_gap(gamma, alpha, make):
    rng = np.random.default_rng(0)
    spread = np.array([9, 7, 5.5, 4, 3, 2, 1.5, 1, 1, 1, 1, 1])
    source, target = rng.normal(size=(100, 12)) * spread + 2, rng.normal(size=(80, 12)) * spread
    expected = bound_one_by_one(source, target, gamma, alpha)
    assert 0 <= expected < 10
    actual = max_dimension_by_bound(make(source), make(target), gamma=gamma, alpha=alpha)
    assert actual == expected


def test_a_larger_tolerance_never_gives_fewer_dimensions(X):
    bounds = [max_dimension_by_bound(X[:50], X[50:], gamma=g) for g in (1, 1e2, 1e3, 1e4, 1e8)]
    assert bounds == sorted(bounds)
    assert bounds[0] == 0
    assert bounds[-1] == 9


@pytest.mark.parametrize("bad", [{"gamma": 0}, {"alpha": 0}, {"alpha": 1.5}])
def test_a_bound_that_means_nothing_is_refused(X, bad):
    (name,) = bad
    with pytest.raises(ValueError, match=f"{name} must lie in"):
        max_dimension_by_bound(X[:50], X[50:], **bad)
