"""The loader reads PACS as its docstring says; the file here is a tiny one of its format."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from tiny_files import put_file

from skatter.datasets import _pacs as pacs
from skatter.datasets import load_pacs

CONTENT = {
    "X": np.array([[3, 4], [0, 0.5], [0, 0], [8, 6]], dtype=np.float16),
    "y": np.array([1, 7, 2, 7], dtype=np.uint8),
    "domain": np.array(["art_painting", "sketch", "photo", "cartoon"]),
}


@pytest.fixture
def put(tmp_path, monkeypatch):
    return partial(put_file, tmp_path, monkeypatch)


def test_rows_get_unit_length(put):
    data = load_pacs(data_home=put(pacs, CONTENT))
    np.testing.assert_allclose(data.X, [[0.6, 0.8], [0, 1], [0, 0], [0.8, 0.6]], atol=1e-15)
    assert data.X.dtype == np.float64
    assert data.X.flags.c_contiguous
    assert "Euclidean norm" in data.preprocessing


def test_raw_features_are_those_of_the_file(put):
    data = load_pacs(preprocess=False, data_home=put(pacs, CONTENT))
    np.testing.assert_array_equal(data.X, CONTENT["X"])
    assert data.X.dtype == np.float64
    assert data.preprocessing == "None."


def test_classes_are_counted_from_zero_and_have_names(put):
    data = load_pacs(data_home=put(pacs, CONTENT))
    assert data.y.tolist() == [0, 6, 1, 6]
    assert data.y.dtype == np.int64
    assert (data.class_names[0], data.class_names[6], len(data.class_names)) == ("dog", "person", 7)


def test_domains_are_those_of_the_file(put):
    data = load_pacs(data_home=put(pacs, CONTENT))
    assert data.domain.tolist() == ["art_painting", "sketch", "photo", "cartoon"]


def test_name_and_origin_are_told(put):
    data = load_pacs(data_home=put(pacs, CONTENT))
    assert data.name == "pacs"
    assert [name in data.citation for name in ("Hospedales", "EfficientNet")] == [True] * 2


def test_the_environment_names_the_data_home(put, monkeypatch):
    monkeypatch.setenv("SKATTER_DATA", str(put(pacs, CONTENT)))
    np.testing.assert_array_equal(load_pacs().y, load_pacs(data_home=None).y)
    assert len(load_pacs().y) == len(CONTENT["y"])


def test_a_missing_file_says_where_it_belongs_and_comes_from(tmp_path):
    with pytest.raises(FileNotFoundError, match="Homework3-PACS") as caught:
        load_pacs(data_home=tmp_path)
    assert f"Put it at {tmp_path / pacs.SOURCE.folder / 'pacs_effnetlite0.npz'}" in str(
        caught.value
    )


def test_a_changed_file_is_refused(put):
    home = put(pacs, CONTENT)
    path = home / pacs.SOURCE.folder / next(iter(pacs.SOURCE.files.values())).name
    path.write_bytes(path.read_bytes()[:-1] + b"\xff")
    with pytest.raises(ValueError, match=r"pacs_effnetlite0\.npz is not the file .* SHA-256"):
        load_pacs(data_home=home)


@pytest.mark.parametrize("name", CONTENT)
def test_a_missing_variable_is_named(put, name):
    home = put(pacs, {other: value for other, value in CONTENT.items() if other != name})
    with pytest.raises(ValueError, match=f"holds no variable {name}"):
        load_pacs(data_home=home)
