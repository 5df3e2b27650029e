"""Small problems of two places that several test files share."""

from __future__ import annotations

import numpy as np


def two_places(n=60, n_classes=2, n_columns=4, shift=1.0, gap=2.0, seed=0):
    """Classes that overlap, in two places; labels are known in the first one."""
    rng = np.random.default_rng(seed)
    y, site = np.tile(np.arange(n), 2) % n_classes, np.repeat(["here", "there"], n)
    X = rng.normal(size=(2 * n, n_columns)) + gap * np.eye(n_classes, n_columns)[y]
    X[site == "there", -1] += shift
    X[site == "there", 0] += shift / 2
    return X, np.where(site == "here", y, -1), site, y
