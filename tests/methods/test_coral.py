"""CORAL against roots of full covariance matrices, with and without enough samples."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from skatter.methods._coral import CORAL, FullPower, ThinPower

SHAPES = [(60, 70, 8), (9, 70, 12), (70, 9, 12), (9, 11, 40)]
"""Samples of the source and of the target, features; the last three have singular covariances."""


def problem(n_source, n_target, p):
    rng = np.random.default_rng(0)
    mix = rng.normal(size=(p, p)) / np.sqrt(p)
    source = rng.normal(size=(n_source, p)) * np.linspace(0.5, 2, p) + 3
    target = rng.normal(size=(n_target, p)) @ mix - 2
    return np.vstack([source, target]), np.repeat([1, -2], [n_source, n_target])


def power(C, exponent):
    """Symmetric power; zero where the eigenvalue is."""
    values, U = np.linalg.eigh(C)
    there = values > 1e-10 * values.max()
    return (U[:, there] * values[there] ** exponent) @ U[:, there].T


def covariances(X, domain, ridge):
    return (np.cov(X[domain == d].T) + ridge * np.eye(X.shape[1]) for d in (1, -2))


def learnt_map(coral, p):
    """A, read off what happens to the unit vectors of a source."""
    here = np.ones(p, dtype=int)
    zero = coral.transform(np.zeros((p, p)), sample_domain=here)
    return coral.transform(np.eye(p), sample_domain=here) - zero


@pytest.mark.parametrize("ridge", [1.0, 0.01, 100.0])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_map_is_the_product_of_the_symmetric_roots(shape, ridge):
    X, domain = problem(*shape)
    C_source, C_target = covariances(X, domain, ridge)
    A = learnt_map(CORAL(ridge).fit(X, sample_domain=domain), shape[2])
    np.testing.assert_allclose(A, power(C_source, -0.5) @ power(C_target, 0.5), atol=1e-11)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_map_turns_the_covariance_of_the_source_into_that_of_the_target(shape):
    X, domain = problem(*shape)
    C_source, C_target = covariances(X, domain, 1.0)
    A = learnt_map(CORAL().fit(X, sample_domain=domain), shape[2])
    np.testing.assert_allclose(A.T @ C_source @ A, C_target, atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_without_a_ridge_the_inverse_is_the_pseudo_inverse(shape):
    X, domain = problem(*shape)
    C_source, C_target = covariances(X, domain, 0.0)
    A = learnt_map(CORAL(0).fit(X, sample_domain=domain), shape[2])
    np.testing.assert_allclose(A, power(C_source, -0.5) @ power(C_target, 0.5), atol=1e-11)


def test_without_a_ridge_features_have_the_covariance_of_the_target():
    X, domain = problem(60, 70, 8)
    Z = CORAL(0).fit_transform(X, sample_domain=domain)
    np.testing.assert_allclose(np.cov(Z[:60].T), np.cov(X[60:].T), atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_target_stays_as_it_is(shape):
    X, domain = problem(*shape)
    coral = CORAL().fit(X, sample_domain=domain)
    np.testing.assert_array_equal(coral.transform(X), X)
    Z = coral.transform(X, sample_domain=domain)
    np.testing.assert_array_equal(Z[domain == -2], X[domain == -2])
    assert not np.allclose(Z[domain == 1], X[domain == 1], atol=0.1)


@pytest.mark.parametrize("align_means", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_mean_of_the_source_stays_or_goes_to_the_target(shape, align_means):
    X, domain = problem(*shape)
    Z = CORAL(align_means=align_means).fit_transform(X, sample_domain=domain)
    expected = X[domain == (-2 if align_means else 1)].mean(axis=0)
    np.testing.assert_allclose(Z[domain == 1].mean(axis=0), expected, atol=1e-12)


def test_the_means_do_not_change_the_rest_of_the_map():
    X, domain = problem(60, 70, 8)
    Z, moved = (
        CORAL(align_means=align).fit_transform(X, sample_domain=domain) for align in (False, True)
    )
    shift = X[60:].mean(axis=0) - X[:60].mean(axis=0)
    np.testing.assert_allclose(moved[:60] - Z[:60], np.tile(shift, (60, 1)), atol=1e-12)


def test_domains_of_mean_zero_are_mapped_as_published():
    X, domain = problem(60, 70, 8)
    for side in (X[:60], X[60:]):
        side -= side.mean(axis=0)
    C_source, C_target = covariances(X, domain, 1.0)
    Z = CORAL().fit_transform(X, sample_domain=domain)
    expected = X[:60] @ power(C_source, -0.5) @ power(C_target, 0.5)
    np.testing.assert_allclose(Z[:60], expected, atol=1e-12)


@pytest.mark.parametrize("p", [8, 90])
@pytest.mark.parametrize("ridge", [0.01, 1.0])
def test_equal_covariances_are_left_alone(ridge, p):
    source = np.random.default_rng(0).normal(size=(60, p))
    X = np.vstack([source, source + 5])
    Z = CORAL(ridge).fit_transform(X, sample_domain=np.repeat([1, -2], 60))
    np.testing.assert_allclose(Z, X, atol=1e-11)


def test_a_large_ridge_changes_nothing():
    X, domain = problem(60, 70, 8)
    np.testing.assert_allclose(CORAL(1e9).fit_transform(X, sample_domain=domain), X, atol=1e-7)


def test_a_turn_of_the_features_turns_the_answer():
    X, domain = problem(60, 70, 8)
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(8, 8)))[0]
    straight = CORAL().fit_transform(X, sample_domain=domain)
    turned = CORAL().fit_transform(X @ turn, sample_domain=domain)
    np.testing.assert_allclose(turned, straight @ turn, atol=1e-11)


@pytest.mark.parametrize("ridge", [0, 1e-6, 1.0])
def test_both_forms_of_the_roots_agree_where_both_can_be_had(ridge):
    """One more repetition of every sample has the same covariance, and more samples than p."""
    X, domain = problem(9, 11, 12)
    often = np.repeat(X, 5, axis=0)
    # The divisor n - 1 grows with repetition; the samples shrink to make up for it.
    size = {d: np.sum(domain == d) for d in (1, -2)}
    scale = {d: np.sqrt((5 * n - 1) / (5 * (n - 1))) for d, n in size.items()}
    for d in (1, -2):
        rows = np.repeat(domain == d, 5)
        mean = often[rows].mean(axis=0)
        often[rows] = mean + (often[rows] - mean) * scale[d]
    thin = CORAL(ridge).fit(X, sample_domain=domain)
    full = CORAL(ridge).fit(often, sample_domain=np.repeat(domain, 5))
    assert isinstance(thin.whitening_, ThinPower)
    assert isinstance(full.whitening_, FullPower)
    np.testing.assert_allclose(learnt_map(thin, 12), learnt_map(full, 12), rtol=1e-6, atol=1e-7)


def test_no_matrix_of_all_features_is_formed_where_there_are_few_samples():
    p = 100_000  # p × p would take 75 GiB
    X = sparse.csr_array(np.random.default_rng(0).normal(size=(40, p)) > 3.9, dtype=float) * 5
    domain = np.repeat([1, -2], 20)
    Z = CORAL().fit_transform(X, sample_domain=domain)
    used = np.unique(X.indices)
    assert len(used) < 300
    # What no sample has is left out of the covariances without loss.
    few = X[:, used].toarray()
    C_source, C_target = covariances(few, domain, 1.0)
    mean = few[:20].mean(axis=0)
    expected = (few[:20] - mean) @ power(C_source, -0.5) @ power(C_target, 0.5) + mean
    np.testing.assert_allclose(Z[:20, used], expected, atol=1e-11)
    assert np.count_nonzero(np.delete(Z, used, axis=1)) == 0
    np.testing.assert_array_equal(Z[20:], X[20:].toarray())


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("ridge", [0.01, 1.0])
def test_sparse_samples_give_what_dense_ones_give(shape, ridge):
    X, domain = problem(*shape)
    X = np.where(np.abs(X) > 1, X, 0)
    thin = CORAL(ridge).fit(sparse.csr_array(X), sample_domain=domain)
    dense = CORAL(ridge).fit(X, sample_domain=domain)
    actual = thin.transform(sparse.csr_array(X), sample_domain=domain)
    assert isinstance(actual, np.ndarray)
    np.testing.assert_allclose(actual, dense.transform(X, sample_domain=domain), atol=1e-10)


def test_features_of_any_scale_keep_their_digits():
    """An eigenvalue far below the largest one and above the ridge is not taken for rounding."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(130, 3)) * [1e4, 1.0, 1e-2]
    X[60:, 2] *= 5
    domain = np.repeat([1, -2], [60, 70])
    Z = CORAL(1e-12).fit_transform(X, sample_domain=domain)
    np.testing.assert_allclose(Z[:60, 2].std(ddof=1), X[60:, 2].std(ddof=1), rtol=1e-3)


def test_several_sources_are_pooled():
    X, domain = problem(60, 70, 8)
    split = np.where(np.arange(130) < 20, 7, domain)
    together, apart = (CORAL().fit_transform(X, sample_domain=d) for d in (domain, split))
    np.testing.assert_array_equal(together, apart)


def test_a_source_of_one_sample_stays_where_it_is():
    X, domain = problem(1, 70, 8)
    Z = CORAL().fit_transform(X, sample_domain=domain)
    np.testing.assert_allclose(Z, X, atol=1e-12)


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"ridge": -1.0}, ValueError, r"ridge must lie in \[0, inf\), got -1.0"),
        ({"ridge": "small"}, TypeError, "ridge must be a number, got 'small'"),
        ({"align_means": 1}, ValueError, "align_means must be one of False, True, got 1"),
    ],
)
def test_parameters_out_of_range_are_refused(params, error, message):
    X, domain = problem(60, 70, 8)
    with pytest.raises(error, match=message):
        CORAL(**params).fit(X, sample_domain=domain)
