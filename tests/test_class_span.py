"""The span of class means, in the target's unit."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import euclidean_distances

from skatter import SCA, make_domain_pipeline
from skatter.class_span import ClassSpan


@pytest.fixture
def case():
    """Three classes in six columns; the target is more spread than the source."""
    rng = np.random.default_rng(0)
    y, site = np.arange(120) % 3, np.repeat(["here", "there"], 60)
    X = rng.normal(size=(120, 6)) + 3 * np.eye(3, 6)[y]
    X[60:] *= 5
    return X, y, np.where(site == "here", y, -1), site


def class_means(X, known):
    return np.stack([X[known == c].mean(axis=0) for c in range(3)])


def test_the_nearest_class_mean_does_not_notice(case):
    X, _, known, site = case
    model = ClassSpan().fit(X, known, sample_domain=site)
    before = euclidean_distances(X, class_means(X, known), squared=True)
    Z = model.transform(X)
    after = euclidean_distances(Z, class_means(Z, known), squared=True) * model.unit_**2
    assert Z.shape == (120, 2)
    assert_allclose(after - after[:, :1], before - before[:, :1], atol=1e-9)


def test_the_target_has_unit_variance_on_average_over_the_axes(case):
    X, _, known, site = case
    Z = ClassSpan().fit_transform(X, known, sample_domain=site)
    assert np.var(Z[60:], axis=0).mean() == pytest.approx(1)
    assert_allclose(Z.mean(axis=0), 0, atol=1e-12)


def test_without_a_target_the_unit_is_that_of_all_samples(case):
    X, y, _, site = case
    Z = ClassSpan().fit_transform(X, y, sample_domain=site)
    assert np.var(Z, axis=0).mean() == pytest.approx(1)


def test_order_origin_unit_and_rotation_of_the_samples_do_not_matter(case):
    X, _, known, site = case
    Z = ClassSpan().fit_transform(X, known, sample_domain=site)
    order = np.random.default_rng(1).permutation(120)
    moved = ClassSpan().fit(X[order], known[order], sample_domain=site[order])
    assert_allclose(moved.transform(X), Z, atol=1e-9)
    Q = np.linalg.qr(np.random.default_rng(2).normal(size=(6, 6)))[0]
    turned = ClassSpan().fit_transform(7 * X @ Q + 3, known, sample_domain=site)
    assert_allclose(np.abs(turned), np.abs(Z), atol=1e-9)


def test_axes_are_those_along_which_class_means_differ_largest_first(case):
    X, _, known, site = case
    model = ClassSpan().fit(X, known, sample_domain=site)
    assert_allclose(model.components_ @ model.components_.T, np.eye(2), atol=1e-12)
    centred = class_means(X, known) - class_means(X, known).mean(axis=0)
    assert_allclose(centred @ model.components_.T @ model.components_, centred, atol=1e-9)
    spread = np.var(centred @ model.components_.T, axis=0)
    assert spread[0] >= spread[1]


def test_means_that_coincide_leave_one_axis_and_no_infinity():
    Z = ClassSpan().fit_transform(np.ones((6, 4)), [0, 1, 2, 0, 1, 2])
    assert_array_equal(Z, np.zeros((6, 1)))


def test_it_says_what_it_needs(case):
    X, _, known, _ = case
    with pytest.raises(ValueError, match="requires y"):
        ClassSpan().fit(X)
    with pytest.raises(ValueError, match="two classes"):
        ClassSpan().fit(X, np.where(known == 0, "a", None))


def test_it_stands_between_sca_and_a_classifier(case):
    X, y, known, site = case
    model = make_domain_pipeline(SCA(), ClassSpan(), LogisticRegression())
    model.fit(X, known, sample_domain=site)
    assert_array_equal(model["classspan"].get_feature_names_out(), ["classspan0", "classspan1"])
    assert model.score(X[60:], y[60:]) > 0.5
