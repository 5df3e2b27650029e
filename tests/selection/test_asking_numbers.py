"""Labels of some rows say which of two regressors is better, and how large its error is."""

import numpy as np
import pytest

from skatter.selection import judge_number_answers, pick_numbers_to_label


@pytest.fixture
def models():
    rng = np.random.default_rng(0)
    y = rng.normal(size=400)
    close, far = y + 0.5 * rng.normal(size=400), y + rng.normal(size=400)
    return y, {"plain": far, "adapted": close}


def test_errors_of_all_rows_are_estimated_without_bias(models):
    y, predictions = models
    found = [
        judge_number_answers(sheet, y[sheet.rows])
        for sheet in (pick_numbers_to_label(predictions, 40, random_state=s) for s in range(60))
    ]
    for name, predicted in predictions.items():
        true = np.mean((predicted - y) ** 2)
        estimates = np.array([verdict.error[name].value ** 2 for verdict in found])
        assert abs(estimates.mean() - true) < 3 * estimates.std() / np.sqrt(len(found))
        ends = np.array([(v.error[name].low ** 2, v.error[name].high ** 2) for v in found])
        assert np.mean((ends[:, 0] <= true) & (true <= ends[:, 1])) > 0.75
    assert np.mean([verdict.best == "adapted" for verdict in found]) > 0.9


def test_all_labels_leave_no_doubt(models):
    y, predictions = models
    sheet = pick_numbers_to_label(predictions, 400)
    verdict = judge_number_answers(sheet, y[sheet.rows])
    assert (verdict.verdict, verdict.best, verdict.n_more) == ("decided", "adapted", 0)
    error = verdict.error["adapted"]
    assert error.low == error.value == error.high
    expected = np.sqrt(np.mean((predictions["adapted"] - y) ** 2))
    np.testing.assert_allclose(error.value, expected)


def test_rows_that_are_far_apart_are_asked_for_more_often(models):
    _, predictions = models
    sheet = pick_numbers_to_label(predictions, 40)
    share = np.mean(sheet.stratum == sheet.strata.index("models disagree"))
    assert share >= 0.6 > sheet.sizes[0] / 400


def test_equal_models_and_few_labels_decide_nothing(models):
    y, predictions = models
    same = {"plain": predictions["plain"], "adapted": predictions["plain"]}
    sheet = pick_numbers_to_label(same, 10)
    assert judge_number_answers(sheet, y[sheet.rows]).verdict == "equal"
    sheet = pick_numbers_to_label(predictions, 10)
    answers = np.full(10, np.nan)
    answers[:3] = y[sheet.rows[:3]]
    verdict = judge_number_answers(sheet, answers)
    assert (verdict.verdict, verdict.n_answered) == ("undecided", 3)
    assert verdict.n_more >= 1
    with pytest.raises(ValueError, match="label some rows"):
        judge_number_answers(sheet, np.full(10, np.nan))
