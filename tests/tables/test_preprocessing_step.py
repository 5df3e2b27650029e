"""The step between a table and numbers: said in words, and true to them."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from skatter.saving import load_model, save_model
from skatter.tables import TableError, align_columns, describe_columns, make_preprocessor


@pytest.fixture(scope="module", autouse=True)
def pandas(require):
    return require("pandas", "table")


@pytest.fixture
def X(pandas):
    rng = np.random.default_rng(0)
    n = 60
    return pandas.DataFrame(
        {
            "dose": np.where(np.arange(n) % 7 == 0, np.nan, rng.normal(size=n)),
            "ward": pandas.Series(rng.choice(["a", "b", np.nan], n).astype(object)).replace(
                "nan", np.nan
            ),
            "smokes": rng.random(n) < 0.5,
            "count": rng.integers(0, 50, n),
            "row": np.arange(n) + 1000,
            "unit": "mg",
            "day": pandas.date_range("2020-01-01", periods=n),
            "id": [f"patient {row}" for row in range(n)],
            "void": np.nan,
            "written": [f"{value:.2f}" for value in rng.normal(size=n)],
        }
    )


def plans_of(X):
    return {plan.name: plan for plan in describe_columns(X)}


def transform(step, X):
    return step.transform(align_columns(X, step))


def fitted(X):
    step = make_preprocessor(X)
    return step.fit(align_columns(X, step))


def test_each_column_is_told_by_what_it_holds(X):
    kinds = {name: plan.kind for name, plan in plans_of(X).items()}
    assert kinds == {
        "dose": "number",
        "ward": "category",
        "smokes": "boolean",
        "count": "number",
        "row": "counter",
        "unit": "constant",
        "day": "date",
        "id": "text",
        "void": "empty",
        "written": "number",
    }
    assert {plan.n_missing for plan in plans_of(X[["dose"]]).values()} == {9}


def test_numbers_get_the_median_and_are_standardised_by_hand(X):
    dose = X["dose"].to_numpy()
    filled = np.where(np.isnan(dose), np.median(dose[~np.isnan(dose)]), dose)
    written = X["written"].to_numpy(dtype=float)
    step = fitted(X)
    Z = transform(step, X)
    for name, values in (("dose", filled), ("count", X["count"]), ("written", written)):
        place = list(step.get_feature_names_out()).index(name)
        np.testing.assert_allclose(Z[:, place], (values - np.mean(values)) / np.std(values))


def test_categories_get_a_feature_each_and_missing_is_one(X):
    step = fitted(X)
    names, Z = list(step.get_feature_names_out()), transform(step, X)
    for category in ("a", "b", "missing"):
        told = X["ward"].fillna("missing") == category
        assert (Z[:, names.index(f"ward_{category}")] == told).all()
    assert (Z[:, names.index("smokes")] == X["smokes"]).all()


def test_rare_categories_share_a_feature(pandas):
    ward = np.repeat([f"w{place:02}" for place in range(40)], np.arange(1, 41))
    step = fitted(pandas.DataFrame({"ward": ward}))
    names = step.get_feature_names_out()
    assert len(names) == 20
    assert sum(name.startswith("ward_w") for name in names) == 19
    rare = transform(step, pandas.DataFrame({"ward": ["w00", "w39"]}))
    assert rare[:, -1].tolist() == [1, 0]


def test_order_and_company_of_columns_do_not_matter(X):
    step = fitted(X)
    other = X[list(X)[::-1]].drop(columns=["id", "unit"]).assign(more="x")
    assert (transform(step, other) == transform(step, X)).all()
    assert (step.transform(other) == step.transform(X)).all()


def test_a_missing_column_is_refused_by_name(X):
    with pytest.raises(TableError, match="there is no column 'ward'"):
        transform(fitted(X), X.drop(columns="ward"))
    with pytest.raises(ValueError, match="ward"):
        fitted(X).transform(X.drop(columns="ward"))


def test_a_category_that_was_never_seen_is_none_of_them(X):
    step = fitted(X)
    row = X.iloc[[0]].assign(ward="z")
    names = [name.startswith("ward") for name in step.get_feature_names_out()]
    assert transform(step, row)[0, names].sum() == 0


def test_categories_that_look_like_numbers_in_another_file_are_the_same(pandas):
    step = fitted(pandas.DataFrame({"code": ["1", "2", "x", "1"]}))
    as_text = transform(step, pandas.DataFrame({"code": ["2", "1", None]}))
    as_integers = transform(step, pandas.DataFrame({"code": [2, 1, None]}))  # float64
    assert (as_text == as_integers).all()
    assert as_text.sum() == 2


def test_text_where_a_number_should_be_is_refused_by_row(X, pandas):
    step = fitted(X)
    bad = X.astype({"count": object})
    bad.loc[3, "count"] = "many"
    for rows in (bad, bad.iloc[2:]):  # a part of the table keeps the numbers of its rows
        with pytest.raises(TableError, match="column 'count': 'many' in row 4 is no number"):
            transform(step, rows)


def test_infinite_numbers_are_refused_by_row(X):
    step = fitted(X)
    bad = X.assign(dose=np.where(np.arange(len(X)) == 5, -np.inf, 1.0))
    for use in (describe_columns, lambda frame: transform(step, frame)):
        with pytest.raises(TableError, match="column 'dose': -inf in row 6"):
            use(bad)


def test_numbers_but_for_a_few_cells_are_not_guessed(pandas):
    column = [f"{value / 7:.3f}" for value in range(99)] + ["?"]
    with pytest.raises(
        TableError, match="numbers but for 1 of 100 cells, the first '\\?' in row 100"
    ):
        describe_columns(pandas.DataFrame({"dose": column}))
    half = pandas.DataFrame({"dose": column[:50] + ["x"] * 50})
    assert plans_of(half)["dose"].kind == "category" or not plans_of(half)["dose"].used


def test_no_usable_column_is_said_with_a_reason(X):
    with pytest.raises(
        TableError, match=r"no column can be used; the first, 'unit'.*'mg' in every"
    ):
        make_preprocessor(X[["unit", "void"]])


def test_names_of_features_never_collide(pandas):
    frame = pandas.DataFrame({"a": ["x", "y", "x"], "a_x": [1.0, 2.0, 4.0]})
    names = fitted(frame).get_feature_names_out()
    assert len(set(names)) == len(names) == 3


def test_a_saved_step_does_the_same(X, tmp_path):
    step = fitted(X)
    loaded = load_model(save_model(step, tmp_path / "step"))
    assert (transform(loaded, X) == transform(step, X)).all()


def test_the_step_is_a_transformer_as_any_other(X):
    X = X.drop(columns="day")  # days are counted by align_columns
    step = make_preprocessor(X)
    assert (clone(step).fit_transform(X) == fitted(X).transform(X)).all()


def test_describing_leaves_the_table_as_it_is(X):
    before = X.copy()
    align_columns(X, make_preprocessor(X))
    assert X.equals(before)


def test_ten_thousand_columns_take_seconds(pandas):
    rng = np.random.default_rng(0)
    X = pandas.DataFrame(rng.normal(size=(30, 10_000)))
    X.columns = [f"x{place}" for place in range(10_000)]
    X.insert(17, "unit", "mg")
    start = time.process_time()
    step = fitted(X)
    Z = transform(step, X[list(X)[::-1]])
    assert time.process_time() - start < 20
    values = X.drop(columns="unit").to_numpy()
    np.testing.assert_allclose(Z, (values - values.mean(axis=0)) / values.std(axis=0))


CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=4),
    st.dates(),
    st.binary(max_size=3),
    st.lists(st.integers(), max_size=2),
)


@settings(max_examples=80, deadline=None)
@given(st.lists(CELLS, min_size=1, max_size=8))
def test_any_cells_end_in_finite_numbers_or_in_one_line(cells):
    import pandas as pd

    frame = pd.DataFrame({"x": pd.Series(cells, dtype=object), "y": range(len(cells))})
    try:
        Z = transform(fitted(frame), frame[["y", "x"]])
    except TableError as error:
        assert str(error).isprintable()  # noqa: PT017
    else:
        assert np.isfinite(Z).all()
