"""1NN on features as they are gives the published figures: data and yardstick are the papers'."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.preprocessing import normalize

SURF = {
    ("amazon", "webcam"): 29.83,
    ("amazon", "dslr"): 25.48,
    ("amazon", "caltech"): 26.00,
    ("webcam", "amazon"): 22.96,
    ("webcam", "dslr"): 59.24,
    ("webcam", "caltech"): 19.86,
    ("dslr", "amazon"): 28.50,
    ("dslr", "webcam"): 63.39,
    ("dslr", "caltech"): 26.27,
    ("caltech", "amazon"): 23.70,
    ("caltech", "webcam"): 25.76,
    ("caltech", "dslr"): 25.48,
}
"""Ghifary et al., TPAMI 2017, row "Raw"."""

DIGITS = {("usps", "mnist"): 44.70, ("mnist", "usps"): 65.94}
"""Long et al., CVPR 2014, row "NN"."""


@pytest.mark.parametrize("pair", SURF, ids=" to ".join)
def test_surf_gives_the_published_accuracy_on_every_pair(surf, nearest_accuracy, pair):
    source, target = (surf.domain == name for name in pair)
    found = nearest_accuracy(surf.X[source], surf.y[source], surf.X[target], surf.y[target])
    assert found == SURF[pair]


@pytest.mark.parametrize("pair", DIGITS, ids=" to ".join)
def test_digits_of_unit_length_give_the_published_accuracy(mnist_usps, nearest_accuracy, pair):
    X, y = normalize(mnist_usps.X), mnist_usps.y
    source, target = (mnist_usps.domain == name for name in pair)
    assert nearest_accuracy(X[source], y[source], X[target], y[target]) == DIGITS[pair]


def test_surf_has_the_known_sizes(surf):
    assert surf.X.shape == (2533, 800)
    assert [np.sum(surf.domain == name) for name in ("amazon", "caltech", "dslr", "webcam")] == [
        958,
        1123,
        157,
        295,
    ]
    per_class = np.bincount(surf.y[surf.domain == "dslr"]).tolist()
    assert per_class == [12, 21, 12, 13, 10, 24, 22, 12, 8, 23]


def test_digits_have_the_known_sizes(mnist_usps):
    assert mnist_usps.X.shape == (3800, 256)
    per_class = np.bincount(mnist_usps.y[mnist_usps.domain == "usps"]).tolist()
    assert per_class == [352, 241, 165, 166, 166, 126, 139, 172, 129, 144]
    assert mnist_usps.X.min() == 0
    assert 0.99 < mnist_usps.X.max() <= 1


def test_of_equally_near_samples_the_first_counts(nearest_accuracy):
    found = nearest_accuracy([[1.0], [-1.0], [1.0]], [7, 8, 9], [[0.0], [1.0], [-1.0]], [7, 9, 8])
    assert found == 66.67
