"""Labels that are numbers: a table in, predictions with intervals out."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from skatter import HedgedRegressor, adapt, ask
from skatter.adaptation._plan import MethodError
from skatter.tables import TableError, read_columns
from skatter.tables._task import read_task

pytestmark = pytest.mark.usefixtures("few_trees")


@pytest.fixture(scope="module")
def truth():
    rng = np.random.default_rng(0)
    n = 160
    site = np.repeat(["here", "there"], n // 2)
    X = rng.normal(size=(n, 3))
    dose = 5 + 2 * X[:, 0] - X[:, 1] + 0.2 * rng.normal(size=n)
    X[site == "there"] += 0.5
    return pd.DataFrame(X, columns=["a", "b", "c"]).assign(site=site, dose=dose)


@pytest.fixture(scope="module")
def frame(truth):
    return truth.assign(dose=truth["dose"].where(truth["site"] == "here"))


@pytest.fixture(scope="module")
def result(frame):
    return adapt(frame, label="dose", domain="site")


def test_predictions_are_those_of_the_hedged_regressor(frame, result):
    X = frame[["a", "b", "c"]].to_numpy()
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    hedge = HedgedRegressor().fit(scaled, frame["dose"].to_numpy(), sample_domain=frame["site"])
    there = frame["site"] == "there"
    interval = hedge.predict_interval(scaled[there], sample_domain=frame["site"][there])
    found = result.predictions[there]
    np.testing.assert_allclose(found["adapted_dose"], interval.mean(axis=1), rtol=1e-6)
    np.testing.assert_allclose(found[["adapted_low", "adapted_high"]], interval, rtol=1e-6)


def test_rows_with_a_label_stay_empty_and_the_shipped_model_comes_first(frame, result):
    added = list(result.predictions.columns[frame.shape[1] :])
    assert added[:4] == ["predicted_dose", "low", "high", "model"]
    here = frame["site"] == "here"
    assert result.predictions.loc[here, added].isna().all(axis=None)
    shipped = result.predictions.loc[~here]
    assert (shipped["predicted_dose"] == shipped[f"{result.ship}_dose"]).all()


def test_intervals_of_the_plain_model_hold_those_of_the_hedge(frame, result):
    answers = result.model.answers(frame)
    ours, theirs = answers["adapted"].interval, answers["plain"].interval
    assert (theirs[:, 0] <= ours[:, 0] + 1e-12).all()
    assert (theirs[:, 1] >= ours[:, 1] - 1e-12).all()
    np.testing.assert_allclose(theirs.mean(axis=1), answers["plain"].label)


def test_words_say_what_cannot_be_seen(result):
    words = " ".join(result.words)
    assert "root mean squared error" in words
    assert "cannot be seen without labels" in words
    assert result.model.task == "numbers"


def test_checked_rows_judge_and_show_a_shift_of_the_mean(truth, frame):
    moved = truth["dose"] + 4 * (truth["site"] == "there")
    sheet = ask(frame, label="dose", domain="site", n_labels=20).sheet
    sheet["dose"] = moved.to_numpy()[sheet["row"] - 1]
    result = adapt(frame, label="dose", domain="site", checked=sheet)
    assert result.by_labels.n_answered == 20
    rows = sheet["row"].to_numpy() - 1
    checked = result.predictions.iloc[rows]
    np.testing.assert_allclose(checked["predicted_dose"], moved.iloc[rows])
    np.testing.assert_allclose(checked["low"], checked["high"])
    assert set(checked["model"]) == {"checked"}
    left = (truth["site"] == "there").to_numpy() & ~np.isin(np.arange(len(truth)), rows)
    error = result.predictions["predicted_dose"][left] - moved[left]
    assert abs(error.mean()) < 1.0  # it was 4 before anybody looked


@pytest.mark.parametrize(
    ("labels", "task"),
    [
        (["a", "b"] * 2, "classes"),
        ([1, 2] * 2, "classes"),
        ([0.5, 1.25, 3.5], "numbers"),
        (list(range(60)), "numbers"),
        (["1.5", "2.5"] * 3 + [f"{v / 7:.3f}" for v in range(40)], "numbers"),
    ],
    ids=["text", "few whole numbers", "fractions", "many whole numbers", "numbers as text"],
)
def test_labels_tell_what_they_are(labels, task):
    frame = pd.DataFrame({"x": range(len(labels) + 1), "y": [*labels, None]})
    samples, found = read_task(read_columns(frame, label="y", domain=None), None)
    assert found == task
    if task == "numbers":
        assert samples.y[:-1].tolist() == [float(v) for v in labels]


@pytest.mark.parametrize(
    ("labels", "given", "words"),
    [
        ([2.5] * 30, None, "a single value, 2.5"),
        ([1.5, 2.5] * 20, None, "classes or numbers"),
        (list(range(30)) * 3, None, "30 different whole numbers, from 0 to 29: classes or numbers"),
        ([0, 1] * 20, "numbers", "two values, 0 and 1: these are classes"),
        ([0.1 * v for v in range(60)], "classes", "too many for classes"),
        ([*(f"{v / 7:.3f}" for v in range(40)), "n/a?"], None, "'n/a\\?' in row 41"),
        (["low", "high"] * 20, "numbers", "'low' in row 1"),
        ([*np.linspace(0, 1, 30), np.inf], None, "row 31 is infinite"),
        (list(np.linspace(0, 1, 5)), None, "10 are the least"),
    ],
)
def test_labels_that_are_neither_are_refused_in_one_line(labels, given, words):
    n = len(labels)
    frame = pd.DataFrame({"x": np.arange(n + 5.0), "y": pd.Series([*labels, *[None] * 5])})
    with pytest.raises(TableError, match=words) as caught:
        adapt(frame, label="y", task=given)
    assert "\n" not in str(caught.value)


def test_two_fractions_are_classes_where_the_user_says_so():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(60) < 0.5, 1.5, 2.5)
    frame = pd.DataFrame(
        {"x": y + 0.1 * rng.normal(size=60), "y": np.where(np.arange(60) < 40, y, np.nan)}
    )
    result = adapt(frame, label="y", task="classes")
    assert set(result.predictions["predicted_y"].dropna()) <= {"1.5", "2.5"}


def test_what_is_for_classes_is_refused(frame):
    with pytest.raises(MethodError, match="is for classes"):
        adapt(frame, label="dose", domain="site", method="sca")
    with pytest.raises(TableError, match="metric: is for classes"):
        adapt(frame, label="dose", domain="site", metric="balanced accuracy")
    with pytest.raises(TypeError, match="champion must be a regressor"):
        adapt(frame, label="dose", domain="site", plain=LogisticRegression())


@pytest.mark.parametrize(
    ("write", "unit", "said"),
    [
        ("{:.2f}%".format, "%", "dose and its errors are in %: 45 means 45 %."),
        ("${:,.2f}".format, "$", "dose and its errors are in $."),
        (lambda x: f"{x:.2f}".replace(".", ",") + " €", "€", "dose and its errors are in €."),
    ],
    ids=["percent", "dollars", "euros"],
)
def test_labels_with_a_unit_are_the_same_numbers_and_the_unit_is_said(frame, write, unit, said):
    rounded = frame.assign(dose=frame["dose"].round(2))
    written = frame.assign(dose=[None if np.isnan(x) else write(x) for x in frame["dose"]])
    result = adapt(written, label="dose", domain="site")
    plain = adapt(rounded, label="dose", domain="site")
    np.testing.assert_array_equal(
        result.predictions["predicted_dose"], plain.predictions["predicted_dose"]
    )
    assert said in result.words
    assert result.model.heading == f"dose ({unit})"
    assert f"dose ({unit})" in result._repr_html_()
    assert result.to_dict()["settings"]["unit"] == unit
    assert "errors are in" not in str(plain)


def test_a_sheet_may_be_answered_with_the_unit_of_the_labels(truth, frame):
    priced = frame.assign(dose=[None if np.isnan(x) else f"${x:,.2f}" for x in frame["dose"]])
    sheet = ask(priced, label="dose", domain="site", n_labels=12).sheet
    sheet["dose"] = [f"${truth['dose'][row - 1]:,.2f}" for row in sheet["row"]]
    result = adapt(priced, label="dose", domain="site", checked=sheet)
    assert result.by_labels.n_answered == 12
