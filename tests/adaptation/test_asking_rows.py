"""Rows to label and back: a sheet that says nothing of the models, and labels that decide."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from skatter import adapt, ask
from skatter.adaptation import _compare as compare
from skatter.adaptation._compare import CHECKED_ROWS, Comparison
from skatter.adaptation._job import Job
from skatter.adaptation._roles import assign_roles, keep_roles
from skatter.adaptation._sheet import class_code, make_sheet, read_sheet, row_numbers
from skatter.selection import LabelSheet, judge_answers, pick_rows_to_label
from skatter.tables import TableError, read_columns

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.usefixtures("few_trees"),
]

N_LABELS = 12


@pytest.fixture(scope="module")
def truth(two_domains):
    return np.array(["ash", "elm", "oak"])[two_domains.y]


@pytest.fixture(scope="module")
def frame(two_domains, truth):
    frame = pd.DataFrame(two_domains.X, columns=[f"x{place}" for place in range(5)])
    frame.insert(0, "town", two_domains.domain)
    frame["tree"] = np.where(two_domains.unlabelled, None, truth)
    return frame


@pytest.fixture(scope="module")
def questions(frame):
    return ask(frame, label="tree", domain="town", n_labels=N_LABELS)


@pytest.fixture(scope="module")
def plain_result(frame):
    return adapt(frame, label="tree", domain="town")


@pytest.fixture(scope="module")
def checked_result(frame, questions, truth):
    return adapt(frame, label="tree", domain="town", checked=filled(questions.sheet, truth))


def filled(sheet, truth):
    return sheet.assign(tree=truth[sheet["row"] - 1])


def without_fitting(monkeypatch):
    monkeypatch.setattr(Job, "fit", lambda *args: pytest.fail("worked"))


# --- the sheet ------------------------------------------------------------------------------------


def test_a_sheet_has_rows_without_a_label_and_their_cells(questions, frame):
    sheet = questions.sheet
    assert list(sheet.columns[:4]) == ["row", "tree", "stratum", "weight"]
    assert len(sheet) == N_LABELS
    there = frame.iloc[sheet["row"] - 1].reset_index(drop=True)
    assert there["tree"].isna().all()
    pd.testing.assert_frame_equal(sheet.iloc[:, 4:], there.drop(columns="tree"))


def test_a_sheet_does_not_say_what_the_models_predict(questions, frame):
    assert set(questions.sheet.columns) - set(frame.columns) == {"row", "stratum", "weight"}
    assert questions.sheet["tree"].isna().all()


def test_weights_of_a_stratum_add_up_to_its_rows(questions, frame):
    totals = questions.sheet.groupby("stratum")["weight"].sum()
    assert totals.to_dict() == pytest.approx(dict(questions.strata))
    assert sum(questions.strata.values()) == frame["tree"].isna().sum()


def test_rows_in_dispute_are_those_on_which_the_models_of_adapt_differ(
    questions, plain_result, frame
):
    found = plain_result.predictions.iloc[questions.sheet["row"] - 1]
    differ = (found["adapted_tree"] != found["plain_tree"]).to_numpy()
    assert (questions.sheet["stratum"] == "models disagree").tolist() == differ.tolist()


def test_the_same_seed_asks_for_the_same_rows_and_for_more_after_them(questions, frame):
    longer = ask(frame, label="tree", domain="town", n_labels=2 * N_LABELS).sheet
    assert longer["row"][:N_LABELS].tolist() == questions.sheet["row"].tolist()
    assert len(set(longer["row"])) == 2 * N_LABELS


def test_words_say_in_which_order_and_that_hard_rows_count(questions):
    said = str(questions)
    assert f"{N_LABELS} rows to label, of " in said
    assert "from the top down" in said
    assert "Skip no row because it is hard" in said


def test_own_columns_of_a_sheet_make_way_for_those_of_the_table(frame, truth):
    named = frame.rename(columns={"x0": "weight", "x1": "row", "tree": "stratum"})
    sheet = a_sheet(named, "stratum")
    assert list(sheet.columns[:4]) == ["row_2", "stratum", "stratum_2", "weight_2"]
    sheet["stratum"] = truth[sheet["row_2"] - 1]
    samples = read_columns(named, label="stratum", domain="town")
    found = read_sheet(sheet, named, samples, assign_roles(samples))
    assert (found.rows + 1).tolist() == sheet["row_2"].tolist()


def test_rows_of_a_part_are_numbered_as_in_the_whole(frame):
    assert row_numbers(frame.iloc[50:]).tolist() == list(range(51, len(frame) + 1))
    assert row_numbers(frame.iloc[:2].set_index("x0")).tolist() == [1, 2]


def test_a_table_with_too_few_rows_is_refused_before_any_work(frame, monkeypatch):
    without_fitting(monkeypatch)
    n = int(frame["tree"].isna().sum())
    with pytest.raises(TableError, match=rf"{n - 1} labels .* {n} rows have no tree"):
        ask(frame, label="tree", domain="town", n_labels=n - 1)
    with pytest.raises(ValueError, match="n_labels"):
        ask(frame, label="tree", domain="town", n_labels=2)


# --- and back -------------------------------------------------------------------------------------


def test_checked_rows_judge_models_that_have_not_seen_them(
    checked_result, plain_result, questions, truth
):
    sheet = questions.sheet
    rows = sheet["row"] - 1
    unseen = plain_result.predictions.iloc[rows]
    for name in ("adapted", "plain"):
        right = (unseen[f"{name}_tree"].astype(str) == truth[rows]).to_numpy()
        # The stratified mean, by hand
        expected = np.sum(right * sheet["weight"]) / np.sum(sheet["weight"])
        assert checked_result.by_labels.accuracy[name].value == pytest.approx(expected)
    assert checked_result.by_labels.n_answered == N_LABELS
    assert checked_result.judgement == plain_result.judgement


def test_checked_rows_keep_their_empty_cell_and_are_their_own_prediction(
    checked_result, questions, frame, truth
):
    found = checked_result.predictions
    pd.testing.assert_frame_equal(found[list(frame.columns)], frame)
    rows = questions.sheet["row"] - 1
    there = found.iloc[rows]
    assert there["predicted_tree"].tolist() == truth[rows].tolist()
    assert set(there["confidence"]) == {1.0}
    assert set(there["model"]) == {"checked"}
    assert there.filter(regex="^(adapted|plain)_").isna().all(axis=None)
    others = found["tree"].isna() & (found["model"] != "checked")
    assert set(found.loc[others, "model"]) == {checked_result.ship}
    assert len(checked_result.answer.label) == others.sum() == len(truth) / 2 - N_LABELS


def test_shipped_models_have_learnt_from_checked_rows(
    checked_result, frame, questions, truth, monkeypatch
):
    monkeypatch.setattr(compare, "judge_by_labels", lambda *args, **kwargs: None)  # which is slow
    told = frame.copy()
    rows = questions.sheet["row"] - 1
    told.loc[rows, "tree"] = truth[rows]
    by_hand = adapt(told, label="tree", domain="town").model.answers(told)
    found = checked_result.model.answers(frame)
    for name, answer in by_hand.items():
        assert found[name].label.tolist() == answer.label.tolist()
        np.testing.assert_allclose(found[name].confidence, answer.confidence)
    assert checked_result.settings["n_checked"] == N_LABELS


def test_words_say_what_checked_rows_decide(checked_result):
    said = str(checked_result)
    labels = checked_result.by_labels
    told = {"decided": "Decided by", "undecided": "Undecided by", "equal": "equally good by"}
    assert f"{told[labels.verdict]} {N_LABELS} checked rows" in said
    assert "fitted again" in said


def test_some_answers_are_enough_and_the_other_rows_are_predicted(frame, questions, truth):
    sheet = filled(questions.sheet, truth)
    sheet.loc[5:, "tree"] = None
    result = adapt(frame, label="tree", domain="town", checked=sheet)
    assert result.by_labels.n_answered == 5
    assert (result.predictions["model"] == "checked").sum() == 5


def test_without_a_domain_checked_rows_stay_in_the_target(frame, truth):
    table = frame.drop(columns="town")
    sheet = filled(ask(table, label="tree", n_labels=N_LABELS).sheet, truth)
    result = adapt(table, label="tree", checked=sheet)
    hidden = result.predictions["model"].isin(["adapted", "plain"])
    assert np.mean(result.predictions["predicted_tree"][hidden] == truth[hidden]) > 0.5
    assert result.by_labels.n_answered == N_LABELS


@pytest.mark.parametrize("domain", ["town", None])
def test_a_target_stays_a_target_though_most_of_its_rows_are_checked(frame, truth, domain):
    samples = read_columns(frame, label="tree", domain=domain)
    roles = assign_roles(samples)
    most = np.flatnonzero(~samples.labelled)[:-2]
    samples.y[most], samples.labelled[most] = truth[most], True
    kept = keep_roles(samples, roles)
    assert kept.domains.target.tolist() == roles.domains.target.tolist()
    assert (kept.sources, kept.targets) == (roles.sources, roles.targets)
    assert kept.domains.labelled.sum() == len(frame) - 2


# --- reading a sheet: no model is needed ----------------------------------------------------------


def a_sheet(frame, label="tree", n_labels=N_LABELS):
    """A sheet of two models that differ on every third row."""
    rows = np.flatnonzero(frame[label].isna())
    one = np.arange(len(rows)) % 2
    drawn = pick_rows_to_label(
        {"plain": one, "adapted": np.where(np.arange(len(rows)) % 3 == 0, 1 - one, one)}, n_labels
    )
    return make_sheet(frame, label, rows, drawn)


def read_back(sheet, frame):
    samples = read_columns(frame, label="tree", domain="town")
    return read_sheet(sheet, frame, samples, assign_roles(samples))


def test_a_sheet_goes_through_csv_and_parquet_unchanged(frame, truth, tmp_path, require):
    require("pyarrow", "table")
    table = frame.assign(
        day=pd.date_range("2024-01-01", periods=len(frame), freq="7h"),
        flag=np.arange(len(frame)) % 2 == 0,
        note=np.where(np.arange(len(frame)) % 2, "a, b", None),
    )
    sheet = filled(a_sheet(table), truth)
    whole = read_back(sheet, table)
    sheet.to_csv(tmp_path / "sheet.csv", index=False)
    sheet.to_parquet(tmp_path / "sheet.parquet")
    for again in (pd.read_csv(tmp_path / "sheet.csv"), pd.read_parquet(tmp_path / "sheet.parquet")):
        found = read_back(again, table)
        assert found.sizes == whole.sizes
        for name in ("rows", "labels", "stratum"):
            np.testing.assert_array_equal(getattr(found, name), getattr(whole, name))


def test_rows_of_a_sheet_may_come_in_any_order_with_columns_and_blank_lines_left_out(frame, truth):
    sheet = filled(a_sheet(frame), truth)
    less = pd.concat([sheet.drop(columns="x3")[::-1], sheet[:1].map(lambda cell: None)])
    found = read_back(less, frame)
    assert found.rows.tolist() == (sheet["row"][::-1] - 1).tolist()


def test_numbers_are_classes_however_they_are_written(two_domains, frame, truth):
    numbers = frame.assign(tree=np.where(two_domains.unlabelled, np.nan, 3.0 * two_domains.y - 1))
    sheet = a_sheet(numbers)
    whole = 3 * two_domains.y[sheet["row"] - 1] - 1
    # -1 is a class here, and no mark of an unlabelled row.
    for written in (whole, whole.astype(float), whole.astype(str)):
        found = read_back(sheet.assign(tree=written), numbers)
        assert found.answers.tolist() == whole.tolist()


WRONG = {
    "no column": (lambda sheet: sheet.drop(columns="weight"), "there is no column 'weight'"),
    "no label": (lambda sheet: sheet.drop(columns="tree"), "there is no column 'tree'"),
    "no such row": (lambda sheet: with_cell(sheet, "row", 9999), "no row '9999'.*another table"),
    "no number": (lambda sheet: with_cell(sheet, "row", "first"), "no row 'first'"),
    "row twice": (lambda sheet: pd.concat([sheet, sheet[:1]]), "on the sheet twice"),
    "labelled row": (lambda sheet: labelled_row(sheet), "has a tree in the table already"),
    "other cells": (lambda sheet: sheet.assign(x1=sheet["x1"] + 1), "'x1'.*another table"),
    "other text": (lambda sheet: sheet.assign(town="bern"), "'bern' in column 'town'"),
    "stratum": (lambda sheet: with_cell(sheet, "stratum", "all"), "no stratum 'all'"),
    "weight": (lambda sheet: with_cell(sheet, "weight", "much"), "weights are numbers"),
    "row left out": (lambda sheet: sheet[1:], "Keep all rows of the sheet"),
    "class": (
        lambda sheet: with_cell(sheet, "tree", "elmm"),
        "no class 'elmm'; did you mean 'elm'",
    ),
    "nothing": (lambda sheet: sheet.assign(tree=None), "label some rows first"),
}


def with_cell(sheet, name, value):
    sheet = sheet.astype({name: object})
    sheet.loc[0, name] = value
    return sheet


def labelled_row(sheet):
    sheet = with_cell(sheet, "row", 72)  # the last of the table
    return sheet[["row", "tree", "stratum", "weight"]]


@pytest.mark.parametrize("wrong", WRONG)
def test_a_sheet_that_does_not_fit_is_refused_in_one_line_before_any_work(
    frame, truth, wrong, monkeypatch
):
    without_fitting(monkeypatch)
    change, words = WRONG[wrong]
    sheet = change(filled(a_sheet(frame), truth))
    with pytest.raises(TableError, match=words) as refused:
        adapt(frame, label="tree", domain="town", checked=sheet)
    assert str(refused.value).startswith("checked: ")
    assert "\n" not in str(refused.value)


def test_a_sheet_that_leaves_nothing_to_predict_is_refused(frame, truth):
    n = int(frame["tree"].isna().sum())
    with pytest.raises(TableError, match="no more than 1 of the rows"):
        read_back(filled(a_sheet(frame, n_labels=n - 1), truth), frame)


def test_a_sheet_is_a_data_frame(frame, monkeypatch):
    without_fitting(monkeypatch)
    with pytest.raises(TypeError, match="checked must be a pandas DataFrame, got str"):
        adapt(frame, label="tree", domain="town", checked="sheet.csv")


def test_a_class_that_is_written_as_it_is_wins_over_the_same_number():
    assert class_code("01", np.array(["01", "1"]), "row 1") == 0
    with pytest.raises(TableError, match=r"row 1: there is no class '1\.0'"):
        class_code("1.0", np.array(["01", "1"]), "row 1")


# --- what is decided ------------------------------------------------------------------------------


def test_labels_that_are_one_stratum_can_leave_it_undecided():
    adapted, plain = np.array([0, 1] * 10), np.array([0, 1] * 5 + [1, 0] * 5)
    sheet = LabelSheet(
        rows=np.arange(20),
        stratum=np.zeros(20, dtype=np.intp),
        strata=("labelled rows of the target",),
        sizes=(100,),
        predictions={"adapted": adapted, "plain": plain},
        classes=np.arange(2),
    )
    verdict = judge_answers(sheet, [0, 1] * 5 + [0, 1, 1, 0] * 2 + [0, 1])
    assert verdict.verdict == "undecided"
    assert 0 < verdict.n_more <= 80


def test_checked_rows_win_over_the_judgement_without_labels(plain_result, checked_result):
    for best in ("adapted", "plain"):
        sheet = pick_rows_to_label({"adapted": [0] * 50, "plain": [1] * 50}, 20)
        labels = judge_answers(sheet, [0 if best == "adapted" else 1] * 20)
        assert labels.verdict == "decided"
        found = Comparison(plain_result.judgement, labels, True, CHECKED_ROWS)
        assert found.ship == best
