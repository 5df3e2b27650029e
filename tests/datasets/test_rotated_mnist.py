"""The loader names domains by their angles; the file here is a tiny one of its format."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from tiny_files import put_file

from skatter.datasets import _rotated_mnist as rotated_mnist
from skatter.datasets import load_rotated_mnist

CONTENT = {
    "X": np.array([[0, 0.1], [0.5, 1], [0.25, 0.75], [1, 0]], dtype=np.float32),
    "y": np.array([7, 0, 7, 0], dtype=np.uint8),
    "angle": np.array([0, 0, 75, 75], dtype=np.uint8),
}


@pytest.fixture
def put(tmp_path, monkeypatch):
    return partial(put_file, tmp_path, monkeypatch)


def test_pixels_are_those_of_the_file_in_its_order(put):
    data = load_rotated_mnist(data_home=put(rotated_mnist, CONTENT))
    assert data.X.dtype == np.float64
    assert data.X.flags.c_contiguous
    np.testing.assert_array_equal(data.X, CONTENT["X"])
    assert data.X[0, 1] != 0.1  # the nearest number in single precision, nothing finer is known


def test_angles_name_the_domains(put):
    data = load_rotated_mnist(data_home=put(rotated_mnist, CONTENT))
    assert data.domain.tolist() == ["0", "0", "75", "75"]
    assert data.domain.dtype.kind == "U"


def test_classes_are_the_digits_themselves(put):
    data = load_rotated_mnist(data_home=put(rotated_mnist, CONTENT))
    assert data.y.tolist() == [7, 0, 7, 0]
    assert data.y.dtype == np.int64
    assert data.class_names == tuple("0123456789")


def test_name_and_origin_are_told(put):
    data = load_rotated_mnist(data_home=put(rotated_mnist, CONTENT))
    assert data.name == "rotated_mnist"
    assert [name in data.citation for name in ("Ghifary", "LeCun")] == [True] * 2


def test_the_environment_names_the_data_home(put, monkeypatch):
    monkeypatch.setenv("SKATTER_DATA", str(put(rotated_mnist, CONTENT)))
    np.testing.assert_array_equal(load_rotated_mnist().y, load_rotated_mnist(data_home=None).y)
    assert len(load_rotated_mnist().y) == len(CONTENT["y"])


def test_a_missing_file_says_where_it_belongs_and_comes_from(tmp_path):
    with pytest.raises(FileNotFoundError, match="ghif/mtae") as caught:
        load_rotated_mnist(data_home=tmp_path)
    assert f"Put it at {tmp_path / rotated_mnist.SOURCE.folder / 'mnist_6rot.npz'}" in str(
        caught.value
    )


def test_a_changed_file_is_refused(put):
    home = put(rotated_mnist, CONTENT)
    path = home / rotated_mnist.SOURCE.folder / next(iter(rotated_mnist.SOURCE.files.values())).name
    path.write_bytes(path.read_bytes()[:-1] + b"\xff")
    with pytest.raises(ValueError, match=r"mnist_6rot\.npz is not the file .* SHA-256"):
        load_rotated_mnist(data_home=home)


@pytest.mark.parametrize("name", CONTENT)
def test_a_missing_variable_is_named(put, name):
    home = put(rotated_mnist, {other: value for other, value in CONTENT.items() if other != name})
    with pytest.raises(ValueError, match=f"holds no variable {name}"):
        load_rotated_mnist(data_home=home)
