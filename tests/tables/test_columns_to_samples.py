"""Columns become features, labels and domains; nothing is guessed."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skatter.domains import read_domains
from skatter.tables import TableError, read_columns, read_table


@pytest.fixture(scope="module", autouse=True)
def pandas(require):
    return require("pandas", "table")


@pytest.fixture
def frame(pandas):
    return pandas.DataFrame(
        {
            "site": ["basel", "cairo", "basel"],
            "dose": [1.0, 2.0, 3.0],
            "age": [4, 5, 6],
            "ill": ["yes", None, "no"],
        }
    )


def labels_of(text):
    frame = read_table(io.BytesIO(f"x,ill\n{text}".encode()))
    samples = read_columns(frame, label="ill", domain=None)
    return samples.y.tolist(), samples.labelled.tolist()


def test_features_are_all_columns_with_no_other_role(frame):
    samples = read_columns(frame, label="ill", domain="site")
    assert list(samples.X) == ["dose", "age"]
    assert samples.y.tolist() == ["yes", None, "no"]
    assert samples.labelled.tolist() == [True, False, True]
    assert samples.sample_domain.tolist() == ["basel", "cairo", "basel"]
    assert list(read_columns(frame, label=None, domain=None, ignore=["site"]).X) == [
        "dose",
        "age",
        "ill",
    ]


def test_features_that_are_named_come_in_the_order_of_the_names(frame):
    samples = read_columns(frame, label="ill", domain=None, features=["age", "dose"])
    assert list(samples.X) == ["age", "dose"]
    assert samples.sample_domain is None


def test_an_empty_or_blank_cell_is_unlabelled_and_minus_one_is_a_label():
    assert labels_of("1,-1\n2,\n3,1\n") == ([-1, -1, 1], [True, False, True])
    assert labels_of('1,a\n2," "\n3,""\n4,b\n')[1] == [True, False, False, True]
    assert labels_of("1,0.5\n2,1\n3,\n")[0][:2] == [0.5, 1.0]


def test_whole_numbers_stay_whole_beside_empty_cells():
    y, labelled = labels_of("1,3\n2,\n3,7\n")
    assert (y, labelled) == ([3, -1, 7], [True, False, True])
    assert all(isinstance(value, int) for value in y)


def test_booleans_beside_empty_cells_are_text():
    assert labels_of("1,True\n2,\n3,False\n") == (["True", None, "False"], [True, False, True])


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.one_of(st.none(), st.sampled_from(["cat", "dog", "-1", "nan?", "é"])),
        min_size=2,
        max_size=9,
    )
)
def test_the_library_sees_the_labels_of_the_table(labels):
    import pandas as pd

    frame = pd.DataFrame({"x": np.arange(len(labels)), "animal": pd.Series(labels, dtype=object)})
    samples = read_columns(frame, label="animal", domain=None)
    view = read_domains(samples.y, np.zeros(len(labels), int), labelled=samples.labelled)
    assert [view.classes[code] if code >= 0 else None for code in view.label] == labels


@pytest.mark.parametrize(
    ("roles", "said"),
    [
        ({"label": "Ill"}, "label: there is no column 'Ill'; did you mean 'ill'?"),
        ({"domain": "sites"}, "domain: there is no column 'sites'; did you mean 'site'?"),
        ({"features": ["dosis"]}, "features: there is no column 'dosis'; did you mean 'dose'?"),
        ({"ignore": ["zzz"]}, "ignore: there is no column 'zzz'; there are 'site', 'dose'"),
        ({"label": "ill", "domain": "ill"}, "label and domain: both are column 'ill'"),
        ({"label": "ill", "features": ["ill"]}, "column 'ill' is given as label too"),
        ({"features": ["age", "age"]}, "come twice: 'age'"),
        ({"ignore": ["site", "dose", "age", "ill"]}, "no column is left"),
        ({"domain": "ill"}, "empty in 1 of 3 rows, first in row 2"),
    ],
)
def test_an_error_names_role_column_and_remedy(frame, roles, said):
    with pytest.raises(TableError) as caught:
        read_columns(frame, **{"label": None, "domain": None, **roles})
    assert said in str(caught.value)


def test_an_id_of_each_row_or_a_measurement_is_no_domain(pandas):
    frame = pandas.DataFrame({"id": np.arange(40), "x": np.linspace(0, 1, 40)})
    for column, said in (("id", "40 different values in 40 rows"), ("x", "fractions")):
        with pytest.raises(TableError, match=said):
            read_columns(frame, label=None, domain=column)


def test_the_table_is_left_as_it_is(frame):
    before = frame.copy()
    samples = read_columns(frame, label="ill", domain="site")
    samples.y[:] = "changed"
    assert frame.equals(before)


def test_what_is_no_table_is_refused_with_a_remedy():
    with pytest.raises(TypeError, match=r"frame must be a pandas DataFrame, got str: read a file"):
        read_columns("visits.csv", label=None, domain=None)
