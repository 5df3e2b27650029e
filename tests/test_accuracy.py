"""One rule for every score: a sample without a label is neither right nor wrong."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score

from skatter import NearestNeighbour
from skatter._accuracy import share, tally

NAN = float("nan")
NUMBERS, WORDS = np.array([0, 1]), np.array(["ant", "bee"])


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        ([0, -1, 0], NUMBERS),
        ([0.0, NAN, 0.0], NUMBERS),
        ([0, None, 0], NUMBERS),
        (pd.Series([0, None, 0], dtype="Int64"), NUMBERS),
        (pl.Series([0, None, 0]), NUMBERS),
        (np.array([[0], [-1], [0]]), NUMBERS),
        (["ant", "", "ant"], WORDS),
        (["ant", None, "ant"], WORDS),
        (pd.Series(["ant", None, "ant"], dtype="category"), WORDS),
        (np.array(["ant", " ", "ant"]), WORDS),
    ],
)
def test_a_sample_without_a_label_does_not_count(y, classes):
    assert tally(classes[[0, 0, 1]], y, classes) == (1, 2, 2)
    assert tally(classes[[0, 0, 1]], y, classes, [3, 5, 1]) == (3, 4, 2)


def test_minus_one_counts_where_it_is_a_class():
    assert tally([-1, 1, 1], [-1, -1, 1], np.array([-1, 1])) == (2, 3, 3)


def test_a_label_that_was_never_learnt_is_wrong():
    assert tally([0, 1], [0, 5], NUMBERS) == (1, 2, 2)
    assert tally(["ant", "bee"], ["ants", "bee"], WORDS) == (1, 2, 2)


@settings(deadline=None, max_examples=25)
@given(st.lists(st.tuples(*[st.integers(0, 2)] * 2), min_size=1, max_size=9), st.integers(0, 9))
def test_tallies_of_parts_add_up_to_the_accuracy(pairs, cut):
    predicted, y = np.array(pairs).T
    parts = [tally(predicted[rows], y[rows], np.arange(3)) for rows in (np.s_[:cut], np.s_[cut:])]
    together = tuple(np.sum(parts, axis=0))
    assert share(together) == pytest.approx(accuracy_score(y, predicted))


@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        (["ant", "bee"], TypeError, "'ant'.* 0; give labels as in fit"),
        ([0.5, 1.0], ValueError, "fractions"),
        ([0, 1, 1], ValueError, "inconsistent numbers of samples"),
        ([[0, 1], [1, 0]], ValueError, "1d array"),
    ],
)
def test_labels_that_cannot_be_those_of_the_model_are_refused(y, error, message):
    with pytest.raises(error, match=message):
        tally([0, 1], y, NUMBERS)


def test_the_nearest_neighbour_is_scored_by_the_same_rule():
    model = NearestNeighbour().fit([[0.0], [4.0]], [0, 1])
    assert model.score([[1.0], [1.0], [3.0]], [0, 1, -1]) == 0.5
    assert model.score([[1.0], [1.0], [3.0]], [0, 1, -1], sample_weight=[3, 1, 1]) == 0.75
    with pytest.raises(ValueError, match="no labelled sample to score"):
        model.score([[1.0]], [-1])
