"""The data sets of SKADA-Bench that can be had: two tables, four drawn shifts, and digits.

Each comes parted 80 to 20 percent by seed, class by class in each domain, as in that benchmark: the
target's training part is seen without labels, and its test part is scored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split

from skatter._checks import check_choice
from skatter._extras import need
from skatter._tensors import Array
from skatter.datasets._home import Home
from skatter.datasets._mnist_usps import load_mnist_usps
from skatter.datasets._reading import AGAIN, as_numbers, read_columns
from skatter.datasets._record import FACTS, SOURCES, Dataset

MUSHROOMS = SOURCES["mushrooms"]
PHISHING = SOURCES["phishing"]
STALKS = {"e": "enlarging", "t": "tapering"}
ADDRESSES = {"-1": "no_ip", "1": "ip"}
TEST_SIZE = 0.2
FIRST = {"mushrooms": "enlarging", "phishing": "no_ip"}  # domains that come first

SHIFTS = {
    "covariate_shift": (100, 0.6),
    "target_shift": (100, 0.8),
    "conditional_shift": (100, 0.8),
    "subspace": (300, 0.4),
}
"""Samples in a cluster, and noise, of each drawn shift."""

CENTRE = (-0.4, 3)  # of the covariate shift; scikit-adaptation's ``center_cov_shift``


def draw_parts(y: Array, domain: Array, *, random_state: int = 0) -> Array:
    part = np.full(len(y), "train", dtype="<U5")
    for name in np.unique(domain):
        rows = np.flatnonzero(domain == name)
        cut = {"test_size": TEST_SIZE, "random_state": random_state}
        part[train_test_split(rows, stratify=y[rows], **cut)[1]] = "test"
    return part


def load_mushrooms(*, random_state: int = 0, data_home: Home = None) -> Dataset:
    """Load 8,124 mushrooms, edible or poisonous; the shape of the stalk is the domain.

    All 22 columns are one-hot, that of the stalk's shape among them, as in SKADA-Bench. The file is
    not part of skatter and is not downloaded.
    """
    path = MUSHROOMS.find("all", data_home)
    columns = read_columns(path, ("target", "stalk-shape"))
    features = [column for name, column in columns.items() if name != "target"]
    # A column of zeros and ones for each value of each column, values sorted.
    X = np.column_stack([column[:, None] == np.unique(column) for column in features])
    y = _coded(path, columns["target"], ("e", "p"))
    domain = _named(path, columns["stalk-shape"], STALKS)
    return _parted(FACTS["mushrooms"].dataset(X.astype(np.float64), y, domain), random_state)


def load_phishing(*, random_state: int = 0, data_home: Home = None) -> Dataset:
    """Load 11,055 web sites, phishing or not; whether the address is an IP number is the domain.

    All 30 columns are features, the one that tells the domain among them, as in SKADA-Bench. The
    file is not part of skatter and is not downloaded.
    """
    path = PHISHING.find("all", data_home)
    columns = read_columns(path, ("f0", "label"))
    X = as_numbers(path, [column for name, column in columns.items() if name != "label"])
    y = _coded(path, columns["label"], ("-1", "1"))
    domain = _named(path, columns["f0"], ADDRESSES)
    return _parted(FACTS["phishing"].dataset(X, y, domain), random_state)


def load_digits_parts(*, random_state: int = 0, data_home: Home = None) -> Dataset:
    """Load the digits of :func:`~skatter.datasets.load_mnist_usps`, parted 80 to 20 percent.

    SKADA-Bench has 3,000 digits of each collection and reduces them to 50 whitened principal
    components, which were learnt from street numbers as well. These are the pixels.
    """
    data = load_mnist_usps(data_home=data_home)
    return _parted(replace(data, name="mnist_usps_parts"), random_state)


def make_shift(shift: str, *, random_state: int = 0) -> Dataset:
    """Draw two classes in the plane, the target shifted in one of the ways of SKADA-Bench.

    Samples come from scikit-adaptation's ``make_shifted_datasets``, with the parameters of that
    benchmark. Importing that package switches on scikit-learn's metadata routing.
    """
    n, noise = SHIFTS[check_choice("shift", shift, tuple(SHIFTS))]
    words = "The shifts of SKADA-Bench are drawn by scikit-adaptation, which is not installed: "
    draw = need("skada.datasets", f"{words}pip install skada").make_shifted_datasets
    sizes = {"n_samples_source": n, "n_samples_target": n, "noise": noise}
    centre = {"label": "binary", "center_cov_shift": CENTRE}
    X, y, domain = draw(shift=shift, **sizes, **centre, random_state=random_state)
    data = FACTS["subspace_shift" if shift == "subspace" else shift].dataset(
        np.asarray(X, dtype=np.float64),
        np.asarray(y, dtype=np.int64),
        np.where(np.asarray(domain) > 0, "source", "target"),
    )
    return _parted(data, random_state)


def _parted(data: Dataset, random_state: int) -> Dataset:
    first = data.domain == FIRST.get(data.name, data.domain[0])
    data = data.take(np.concatenate([np.flatnonzero(first), np.flatnonzero(~first)]))
    return replace(data, part=draw_parts(data.y, data.domain, random_state=random_state))


def _coded(path: Path, column: Array, values: tuple[str, ...]) -> Array:
    """Give each text its place among the known values."""
    codes: Array = np.searchsorted(values, column).clip(max=len(values) - 1).astype(np.int64)
    if (np.array(values)[codes] != column).any():
        raise ValueError(f"{path} holds a label other than {', '.join(values)}. {AGAIN}")
    return codes


def _named(path: Path, column: Array, names: Mapping[str, str]) -> Array:
    return np.array(list(names.values()))[_coded(path, column, tuple(names))]
