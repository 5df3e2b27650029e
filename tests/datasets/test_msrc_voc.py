"""The loader reads sparse matrices; the file here is a tiny one of its format."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy import sparse
from tiny_files import put_file

from skatter.datasets import _msrc_voc as msrc_voc
from skatter.datasets import load_msrc_voc

MSRC = np.array([[3.0, 4, 0], [0, 0, 2]])
VOC = np.array([[0.0, 1, 0], [2, 2, 1], [0, 6, 8]])
CONTENT = {
    "X_src": sparse.csc_matrix(MSRC),
    "Y_src": sparse.csc_matrix(np.array([[6.0], [1]])),
    "X_tar": sparse.csc_matrix(VOC),
    "Y_tar": sparse.csc_matrix(np.array([[2.0], [3], [2]])),
}


@pytest.fixture
def put(tmp_path, monkeypatch):
    return partial(put_file, tmp_path, monkeypatch)


def test_rows_get_unit_length(put):
    data = load_msrc_voc(data_home=put(msrc_voc, CONTENT))
    expected = [[0.6, 0.8, 0], [0, 0, 1], [0, 1, 0], [2 / 3, 2 / 3, 1 / 3], [0, 0.6, 0.8]]
    np.testing.assert_allclose(data.X, expected, atol=1e-15)
    assert type(data.X) is np.ndarray
    assert "Euclidean norm" in data.preprocessing


def test_raw_counts_are_those_of_the_file(put):
    data = load_msrc_voc(preprocess=False, data_home=put(msrc_voc, CONTENT))
    np.testing.assert_array_equal(data.X, np.vstack([MSRC, VOC]))
    assert data.X.flags.c_contiguous
    assert data.preprocessing == "None."


def test_classes_and_domains_are_those_of_the_file(put):
    data = load_msrc_voc(data_home=put(msrc_voc, CONTENT))
    assert data.y.tolist() == [5, 0, 1, 2, 1]
    assert data.y.dtype == np.int64
    assert data.domain.tolist() == ["msrc", "msrc", "voc", "voc", "voc"]
    assert len(data.class_names) == 6
    assert data.name == "msrc_voc"
    assert "Long" in data.citation


def test_a_missing_file_says_where_it_belongs_and_comes_from(tmp_path):
    with pytest.raises(FileNotFoundError, match="LeiTian-qj/CMMS") as caught:
        load_msrc_voc(data_home=tmp_path)
    assert f"Put it at {tmp_path / 'msrc_voc' / 'MSRC_vs_VOC.mat'}" in str(caught.value)


@pytest.mark.parametrize("name", CONTENT)
def test_a_missing_variable_is_named(put, name):
    content = {other: value for other, value in CONTENT.items() if other != name}
    with pytest.raises(ValueError, match=f"holds no variable {name}"):
        load_msrc_voc(data_home=put(msrc_voc, content))
