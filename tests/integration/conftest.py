"""Real data sets, for whoever has them, and the yardstick that papers use on them."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from skatter.datasets import (
    Dataset,
    load_mnist_usps,
    load_office_caltech,
    load_pacs,
    load_rotated_mnist,
)


@pytest.fixture(scope="session")
def surf() -> Dataset:
    """Office + Caltech10, SURF: rows divided by their sum, then z-scores inside each domain."""
    return load_or_skip(load_office_caltech)


@pytest.fixture(scope="session")
def mnist_usps() -> Dataset:
    """MNIST and USPS of Long et al., raw pixels."""
    return load_or_skip(load_mnist_usps)


@pytest.fixture(scope="session")
def office_effnet() -> Dataset:
    """Office + Caltech10, features of EfficientNet-Lite0 as they are in the file."""
    return load_or_skip(lambda: load_office_caltech("effnet", preprocess=False))


@pytest.fixture(scope="session")
def rotated_mnist() -> Dataset:
    """MNIST digits at six angles, raw pixels."""
    return load_or_skip(load_rotated_mnist)


@pytest.fixture(scope="session")
def pacs() -> Dataset:
    """PACS, features of EfficientNet-Lite0 as they are in the file."""
    return load_or_skip(lambda: load_pacs(preprocess=False))


@pytest.fixture(scope="session")
def nearest_accuracy() -> Callable[..., float]:
    """Percent of target samples, to two decimals, whose nearest source sample has their class.

    Distances are computed from differences, so that none is lost to rounding; of source samples
    equally far away the first counts.
    """

    def accuracy(Z_source, y_source, Z_target, y_target) -> float:
        nearest = cdist(Z_target, Z_source, "sqeuclidean").argmin(axis=1)
        hits = np.asarray(y_source)[nearest] == np.asarray(y_target)
        return round(100 * float(np.mean(hits)), 2)

    return accuracy


def load_or_skip(load: Callable[[], Dataset]) -> Dataset:
    """Load; skip where a file is missing, but fail in CI with data. No test can write into it."""
    try:
        data = load()
    except FileNotFoundError as error:
        reason = f"set SKATTER_DATA to the folder that holds the data sets: {error}"
        if {"CI", "SKATTER_DATA"} <= os.environ.keys():
            pytest.fail(f"CI must not skip a test: {reason}")
        pytest.skip(reason)
    for array in (data.X, data.y, data.domain):
        array.flags.writeable = False
    return data
