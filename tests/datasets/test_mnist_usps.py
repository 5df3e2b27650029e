"""The loader turns columns into samples; the file here is a tiny one of its format."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from tiny_files import put_file

from skatter.datasets import _mnist_usps as mnist_usps
from skatter.datasets import load_mnist_usps

MNIST = np.array([[0.0, 0.25], [0.5, 1.0], [0.125, 0.75]])  # three pixels of two digits
USPS = np.array([[1.0, 0.0, 0.5], [0.0, 0.5, 1.0], [0.25, 0.25, 0.25]])
CONTENT = {
    "X_src": MNIST,
    "Y_src": np.array([[10], [1]], dtype=np.uint8),
    "X_tar": USPS,
    "Y_tar": np.array([[3], [4], [3]], dtype=np.uint8),
}


@pytest.fixture
def put(tmp_path, monkeypatch):
    return partial(put_file, tmp_path, monkeypatch)


def test_columns_become_samples(put):
    data = load_mnist_usps(data_home=put(mnist_usps, CONTENT))
    expected = [[0, 0.5, 0.125], [0.25, 1, 0.75], [1, 0, 0.25], [0, 0.5, 0.25], [0.5, 1, 0.25]]
    np.testing.assert_array_equal(data.X, expected)
    assert data.X.dtype == np.float64
    assert data.X.flags.c_contiguous


def test_classes_are_the_digits_themselves(put):
    data = load_mnist_usps(data_home=put(mnist_usps, CONTENT))
    assert data.y.tolist() == [9, 0, 2, 3, 2]
    assert data.y.dtype == np.int64
    assert data.class_names == tuple("0123456789")


def test_domains_and_origin_are_named(put):
    data = load_mnist_usps(data_home=put(mnist_usps, CONTENT))
    assert data.domain.tolist() == ["mnist", "mnist", "usps", "usps", "usps"]
    assert data.name == "mnist_usps"
    assert [name in data.citation for name in ("Long", "LeCun", "Hull")] == [True] * 3


def test_the_environment_names_the_data_home(put, monkeypatch):
    monkeypatch.setenv("SKATTER_DATA", str(put(mnist_usps, CONTENT)))
    assert load_mnist_usps().X.shape == (5, 3)


def test_a_missing_file_says_where_it_belongs_and_comes_from(tmp_path):
    with pytest.raises(FileNotFoundError, match="MK-MMCD-MEDA") as caught:
        load_mnist_usps(data_home=tmp_path)
    assert f"Put it at {tmp_path / 'mnist_usps_long' / 'MNIST_vs_USPS.mat'}" in str(caught.value)


def test_a_changed_file_is_refused(put):
    home = put(mnist_usps, CONTENT)
    path = home / mnist_usps.SOURCE.folder / next(iter(mnist_usps.SOURCE.files.values())).name
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(ValueError, match=r"MNIST_vs_USPS\.mat is not the file .* size in bytes"):
        load_mnist_usps(data_home=home)


def test_a_missing_variable_is_named(put):
    home = put(mnist_usps, {name: value for name, value in CONTENT.items() if name != "Y_tar"})
    with pytest.raises(ValueError, match="holds no variable Y_tar"):
        load_mnist_usps(data_home=home)
