"""SGF against subspaces built one by one, and its limit, the metric of GFK."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import subspace_angles
from scipy.spatial.distance import pdist
from sklearn.cross_decomposition import PLSRegression

from skatter.methods._gfk import GFK
from skatter.methods._sgf import SGF

DOMAIN = np.repeat([1, -2], [50, 60])


@pytest.fixture(scope="module")
def shifted():
    """Samples of two domains that vary along different directions, and what is known of them."""
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(np.eye(12) + 0.3 * rng.normal(size=(12, 12)))[0]
    y = rng.integers(3, size=110)
    X = rng.normal(size=(110, 12)) / np.arange(1, 13) + np.eye(12)[y]
    X[50:] = X[50:] @ turn + 3
    return X, np.where(DOMAIN == 1, y, -1)


def axes(X, d):
    """Principal axes by a plain singular value decomposition, largest entry positive."""
    P = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][:d].T
    return P * np.sign(P[np.abs(P).argmax(axis=0), np.arange(d)])


def subspace_at(P, Q, t):
    """The subspace at t, by the exponential of the tangent at P that leads to Q."""
    tangent = (Q - P @ P.T @ Q) @ np.linalg.inv(P.T @ Q)
    U, tan, Vt = np.linalg.svd(tangent, full_matrices=False)
    angles = t * np.arctan(tan)
    return P @ (Vt.T * np.cos(angles)) @ Vt + (U * np.sin(angles)) @ Vt


@pytest.mark.parametrize("d", [1, 3, 5])
@pytest.mark.parametrize("n_subspaces", [2, 7])
def test_the_features_are_projections_on_subspaces_at_equal_distances(shifted, d, n_subspaces):
    X, _ = shifted
    sgf = SGF(d, n_subspaces=n_subspaces).fit(X, sample_domain=DOMAIN)
    P, Q = axes(X[:50], d), axes(X[50:], d)
    centred = X - X.mean(axis=0)
    times = np.arange(n_subspaces) / (n_subspaces - 1)
    expected = np.hstack([centred @ subspace_at(P, Q, t) for t in times])
    np.testing.assert_allclose(sgf.transform(X), expected, atol=1e-9)
    assert sgf.n_components_ == n_subspaces * d == len(sgf.get_feature_names_out())


def test_the_path_starts_at_the_source_and_ends_in_the_target(shifted):
    X, _ = shifted
    sgf = SGF(4, n_subspaces=3).fit(X, sample_domain=DOMAIN)
    bases = np.split(sgf.basis_ @ sgf.coefficients_, 3, axis=1)
    np.testing.assert_allclose(bases[0], axes(X[:50], 4), atol=1e-9)
    assert subspace_angles(bases[2], axes(X[50:], 4)).max() < 1e-7


def test_with_trapezoid_weights_the_metric_tends_to_that_of_gfk_at_second_order(shifted):
    X, _ = shifted
    G = GFK(4).fit(X, sample_domain=DOMAIN).metric()
    errors = []
    for n_subspaces in (11, 21):
        sgf = SGF(4, n_subspaces=n_subspaces).fit(X, sample_domain=DOMAIN)
        bases = np.split(sgf.basis_ @ sgf.coefficients_, n_subspaces, axis=1)
        weights = np.full(n_subspaces, 1.0)
        weights[[0, -1]] = 0.5
        sampled = sum(w * P @ P.T for w, P in zip(weights, bases, strict=True))
        errors.append(np.abs(sampled / (n_subspaces - 1) - G).max())
    assert errors[1] < 1e-3
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.05)


def test_distances_tend_to_those_of_gfk(shifted):
    X, _ = shifted
    expected = pdist(GFK(4).fit(X, sample_domain=DOMAIN).transform(X))
    sampled = pdist(SGF(4, n_subspaces=300).fit(X, sample_domain=DOMAIN).transform(X))
    np.testing.assert_allclose(sampled / np.sqrt(300), expected, rtol=1e-2)


def test_aligned_subspaces_are_no_trouble(shifted):
    X, _ = shifted
    twice = np.vstack([X[:50], X[:50] + 1])
    sgf = SGF(3, n_subspaces=4).fit(twice, sample_domain=np.repeat([1, -2], 50))
    expected = np.tile((X[:50] - X[:50].mean(axis=0) - 0.5) @ axes(X[:50], 3), 4)
    np.testing.assert_allclose(sgf.transform(twice)[:50], expected, atol=1e-7)


def test_subspaces_that_share_directions_give_what_does_not_depend_on_the_order(shifted):
    """With d > p/2 there are equal angles, in whose planes a decomposition may turn freely."""
    X, _ = shifted
    mixed = np.random.default_rng(0).permutation(110)
    one = SGF(11).fit(X, sample_domain=DOMAIN).transform(X)
    other = SGF(11).fit(X[mixed], sample_domain=DOMAIN[mixed]).transform(X)
    np.testing.assert_allclose(other, one, atol=1e-9)


def test_by_default_there_are_20_dimensions_or_what_the_rank_allows(shifted):
    X, _ = shifted
    assert SGF().fit(X, sample_domain=DOMAIN).dimension_ == 12
    wide = np.random.default_rng(0).normal(size=(110, 40))
    assert SGF().fit(wide, sample_domain=DOMAIN).dimension_ == 20
    with pytest.raises(ValueError, match=r"n_components=13 exceeds .* at most 12 here"):
        SGF(13).fit(X, sample_domain=DOMAIN)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_subspaces": 1}, "n_subspaces must be at least 2, got 1"),
        ({"pls_components": 0}, "pls_components must be at least 1, got 0"),
    ],
)
def test_parameters_out_of_range_are_refused(shifted, params, message):
    with pytest.raises(ValueError, match=message):
        SGF(**params).fit(shifted[0], sample_domain=DOMAIN)


# --- partial least squares ------------------------------------------------------------------------


def test_the_reduction_is_partial_least_squares_of_all_the_features(shifted):
    X, known = shifted
    everything = SGF(4, n_subspaces=6).fit(X, sample_domain=DOMAIN)
    reduced = SGF(4, n_subspaces=6, pls_components=5).fit(X, known, sample_domain=DOMAIN)
    Y = np.eye(3)[known[:50]]
    pls = PLSRegression(5, scale=False).fit(everything.transform(X[:50]), Y)
    expected = pls.transform(everything.transform(X))
    actual = reduced.transform(X)
    assert actual.shape == (110, 5)
    # Its own scores are centred at the labelled samples, and have signs of their own.
    expected *= np.sign(np.sum(actual * expected, axis=0))
    np.testing.assert_allclose(actual - actual[:50].mean(axis=0), expected, atol=1e-8)


def test_the_order_of_the_samples_does_not_matter_to_the_reduction(shifted):
    X, known = shifted
    mixed = np.random.default_rng(0).permutation(110)
    sgf = SGF(11, pls_components=4)
    one = sgf.fit(X, known, sample_domain=DOMAIN).transform(X)
    other = sgf.fit(X[mixed], known[mixed], sample_domain=DOMAIN[mixed]).transform(X)
    np.testing.assert_allclose(other, one, atol=1e-8)


def test_the_reduction_learns_from_labelled_source_samples_alone(shifted):
    X, known = shifted
    target_too = np.where(DOMAIN == 1, known, np.arange(110) % 3)
    one, other = (
        SGF(4, pls_components=3).fit(X, y, sample_domain=DOMAIN).transform(X)
        for y in (known, target_too)
    )
    np.testing.assert_array_equal(one, other)


def test_sparse_samples_may_be_reduced(shifted):
    X, known = shifted
    sharp = np.where(np.abs(X) > 0.3, X, 0)
    dense = SGF(4, pls_components=3).fit(sharp, known, sample_domain=DOMAIN)
    thin = SGF(4, pls_components=3).fit(sparse.csr_array(sharp), known, sample_domain=DOMAIN)
    np.testing.assert_allclose(
        thin.transform(sparse.csr_array(sharp)), dense.transform(sharp), atol=1e-8
    )


def test_a_reduction_without_labels_is_refused(shifted):
    with pytest.raises(ValueError, match=r"pls_components needs labels of at least two classes"):
        SGF(4, pls_components=3).fit(shifted[0], sample_domain=DOMAIN)


def test_a_reduction_to_more_than_twice_the_dimension_is_refused(shifted):
    X, known = shifted
    with pytest.raises(ValueError, match=r"pls_components: 9 directions .* at most 8 here"):
        SGF(4, pls_components=9).fit(X, known, sample_domain=DOMAIN)


def test_refitting_without_a_reduction_forgets_it(shifted):
    X, known = shifted
    sgf = SGF(4, pls_components=3).fit(X, known, sample_domain=DOMAIN)
    sgf.set_params(pls_components=None).fit(X, known, sample_domain=DOMAIN)
    assert sgf.transform(X).shape == (110, 40)
