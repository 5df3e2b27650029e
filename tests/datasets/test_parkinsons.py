"""The loader picks its columns by name; the file here is a tiny one of its format."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from tiny_files import put_file

from skatter.datasets import _parkinsons as parkinsons
from skatter.datasets import load_parkinsons

HEADER = ["subject#", "age", "sex", "test_time", "motor_UPDRS", "total_UPDRS", *parkinsons.VOICE]
ROWS = np.random.default_rng(0).random((4, 22)).round(5)
ROWS[:, 0] = [1, 1, 2, 42]


@pytest.fixture
def put(tmp_path, monkeypatch):
    return partial(put_file, tmp_path, monkeypatch)


def text(header=HEADER, rows=ROWS):
    numbers = [",".join(f"{value:g}" for value in row) for row in rows]
    return "\n".join([",".join(header), *numbers]) + "\n"


def test_features_are_the_measures_of_the_voice(put):
    data = load_parkinsons(data_home=put(parkinsons, text()))
    np.testing.assert_allclose(data.X, ROWS[:, 6:], rtol=1e-6)
    assert data.X.shape == (4, 16)
    assert data.X.flags.c_contiguous


@pytest.mark.parametrize(("target", "column"), [("motor", 4), ("total", 5)])
def test_the_score_is_the_one_asked_for(put, target, column):
    data = load_parkinsons(target, data_home=put(parkinsons, text()))
    np.testing.assert_allclose(data.y, ROWS[:, column], rtol=1e-6)
    assert data.y.dtype == np.float64
    assert data.class_names == ()


def test_patients_are_the_domains(put):
    data = load_parkinsons(data_home=put(parkinsons, text()))
    assert data.domain.tolist() == ["1", "1", "2", "42"]
    assert data.name == "parkinsons"
    assert "Tsanas" in data.citation


def test_columns_are_found_in_any_order(put):
    content = text(HEADER[::-1], ROWS[:, ::-1])
    data = load_parkinsons(data_home=put(parkinsons, content))
    np.testing.assert_allclose(data.X, ROWS[:, 6:], rtol=1e-6)


def test_a_missing_column_is_named(put):
    with pytest.raises(
        ValueError, match=r"updrs\.data holds no column PPE\. Its columns are subject#, age"
    ):
        load_parkinsons(data_home=put(parkinsons, text(HEADER[:-1], ROWS[:, :-1])))


@pytest.mark.parametrize(
    ("end", "words"),
    [("1,2,3\n", "has rows of other lengths"), ("x" + ",1" * 21, "is no table of numbers")],
    ids=["short", "text"],
)
def test_what_is_no_table_of_numbers_is_refused(put, end, words):
    with pytest.raises(ValueError, match=rf"updrs\.data {words}"):
        load_parkinsons(data_home=put(parkinsons, text() + end))


def test_an_unknown_score_is_refused_before_any_file_is_looked_for(tmp_path):
    with pytest.raises(ValueError, match="target must be one of 'motor', 'total', got 'both'"):
        load_parkinsons("both", data_home=tmp_path)


def test_a_missing_file_says_that_it_can_be_downloaded(tmp_path):
    with pytest.raises(FileNotFoundError, match="download_if_missing=True downloads it from https"):
        load_parkinsons(data_home=tmp_path)
    assert list(tmp_path.iterdir()) == []
