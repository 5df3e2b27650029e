"""A few labels settle it: which rows are asked for, and what their labels say."""

from __future__ import annotations

import json
from itertools import combinations, product

import numpy as np
import pytest

from skatter.selection._asking import (
    DISAGREE,
    LESS_SURE,
    SURER,
    LabelSheet,
    judge_answers,
    pick_rows_to_label,
)


def problem(n=600, first=0.3, second=0.1, n_classes=2, seed=0):
    """Return true classes, and two models that are wrong in these shares of rows."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    wrong = (y + rng.integers(1, n_classes, size=n)) % n_classes
    return y, {
        "first": np.where(rng.random(n) < first, wrong, y),
        "second": np.where(rng.random(n) < second, wrong, y),
    }


def accuracies(y, models):
    return {name: np.mean(predicted == y) for name, predicted in models.items()}


def test_each_row_of_a_stratum_is_drawn_equally_often():
    _, models = problem(n=30)
    disagree = models["first"] != models["second"]
    sheets = [pick_rows_to_label(models, 8, random_state=seed) for seed in range(3000)]
    counts = np.bincount(np.concatenate([sheet.rows for sheet in sheets]), minlength=30)
    for stratum in (disagree, ~disagree):
        share = counts[stratum] / 3000
        assert share == pytest.approx(np.full(stratum.sum(), share.mean()), abs=0.05)


def test_weights_are_inverse_inclusion_probabilities_and_sum_to_the_number_of_rows():
    _, models = problem()
    sheet = pick_rows_to_label(models)
    for code, size in enumerate(sheet.sizes):
        here = sheet.stratum == code
        assert np.all(sheet.weights[here] == size / here.sum())
    assert sheet.weights.sum() == pytest.approx(600)


def test_the_estimates_are_unbiased_over_all_samples():
    y = np.array([0, 1, 0, 1, 1, 0, 1])
    models = {"first": np.array([0, 1, 1, 1, 0, 1, 0]), "second": np.array([0, 1, 0, 0, 1, 1, 0])}
    whole = pick_rows_to_label(models, 7)
    groups = [whole.rows[whole.stratum == code] for code in range(2)]
    found = []
    for chosen in product(*(combinations(group, 2) for group in groups)):
        rows = np.concatenate(chosen)
        verdict = judge_answers(whole, {int(row): y[row] for row in rows})
        found.append([verdict.accuracy[name].value for name in models])
    assert np.mean(found, axis=0) == pytest.approx(list(accuracies(y, models).values()))


def test_most_labels_go_where_models_disagree_and_all_strata_have_two():
    _, models = problem(n=5000, first=0.04, second=0.03)
    sheet = pick_rows_to_label(models, 40, confidence=np.linspace(0.5, 1, 5000))
    assert sheet.strata == (DISAGREE, LESS_SURE, SURER)
    asked = np.bincount(sheet.stratum)
    assert asked.min() >= 2
    assert asked[0] / 40 > 4 * sheet.sizes[0] / 5000


def test_focus_is_the_least_share_of_rows_in_dispute():
    _, models = problem()
    share = [
        np.mean(pick_rows_to_label(models, focus=focus).stratum == 0) for focus in (0, 0.6, 0.9, 1)
    ]
    assert share[0] < 0.5
    assert share[1:] == [24 / 40, 36 / 40, 38 / 40]


def test_without_focus_labels_are_allocated_with_the_least_variance():
    _, models = problem(n=120)
    sheet = pick_rows_to_label(models, 12, focus=0)
    sizes, variances = np.array(sheet.sizes), np.array([0.25, 0.8 * 0.2])

    def variance(n):
        return np.sum(sizes**2 * variances / np.array([n, 12 - n]))

    assert np.sum(sheet.stratum == 0) == min(range(2, 11), key=variance)


def test_a_longer_sheet_begins_with_the_shorter_one():
    _, models = problem()
    short, long = (pick_rows_to_label(models, n, random_state=3) for n in (20, 90))
    assert long.rows[:20].tolist() == short.rows.tolist()
    assert len(set(long.rows.tolist())) == 90


def test_same_seed_same_rows_and_another_seed_other_rows():
    _, models = problem()
    first, again, other = (pick_rows_to_label(models, random_state=s).rows for s in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_new_labels_after_an_earlier_sheet_can_go_to_rows_in_dispute_alone():
    y, models = problem()
    earlier = pick_rows_to_label(models, 20)
    sheet = pick_rows_to_label(models, 15, focus=1.0, after=earlier, random_state=5)
    assert sheet.rows[:20].tolist() == earlier.rows.tolist()
    assert np.all(sheet.stratum[20:] == 0)
    assert len(set(sheet.rows.tolist())) == 35
    assert judge_answers(sheet, y[sheet.rows]).n_answered == 35


def test_names_and_order_of_classes_do_not_matter():
    y, models = problem(n_classes=3)
    names = np.array(["x", "c", "b"])
    renamed = {name: names[predicted] for name, predicted in models.items()}
    sheet, other = pick_rows_to_label(models), pick_rows_to_label(renamed)
    assert np.array_equal(sheet.rows, other.rows)
    numbers = judge_answers(sheet, y[sheet.rows])
    assert str(judge_answers(other, names[y[other.rows]])) == str(numbers)


def test_swapping_the_models_swaps_nothing_but_their_order():
    y, models = problem(n=300)
    swapped = dict(reversed(models.items()))
    verdicts = [
        judge_answers(sheet, y[sheet.rows])
        for sheet in (pick_rows_to_label(models), pick_rows_to_label(swapped))
    ]
    assert verdicts[0].best == verdicts[1].best == "second"
    assert verdicts[0].difference.value == pytest.approx(verdicts[1].difference.value)
    assert verdicts[0].difference.low == pytest.approx(verdicts[1].difference.low, abs=0.01)


def test_all_rows_labelled_leave_no_doubt():
    y, models = problem(n=50)
    sheet = pick_rows_to_label(models, 1000, confidence=np.linspace(0, 1, 50))
    verdict = judge_answers(sheet, y[sheet.rows])
    for name, truth in accuracies(y, models).items():
        estimate = verdict.accuracy[name]
        assert [estimate.value, estimate.low, estimate.high] == pytest.approx([truth] * 3)
    assert (verdict.verdict, verdict.best, verdict.probability) == ("decided", "second", 1.0)


def test_rows_in_dispute_that_are_all_labelled_decide_it():
    y, models = problem(n=400, first=0.03, second=0.0)
    sheet = pick_rows_to_label(models, 40)
    verdict = judge_answers(sheet, y[sheet.rows])
    assert verdict.probability == 1.0
    assert verdict.difference.low == pytest.approx(verdict.difference.high)


def test_models_that_agree_everywhere_are_equal():
    y, models = problem(n_classes=3)
    twins = {"first": models["first"], "twin": models["first"]}
    sheet = pick_rows_to_label(twins, 30)
    verdict = judge_answers(sheet, y[sheet.rows])
    assert (verdict.verdict, verdict.probability, verdict.n_more) == ("equal", 0.5, 0)
    assert "equally accurate" in verdict.summary


def test_intervals_cover_as_often_as_they_say():
    covered = []
    for seed in range(150):
        y, models = problem(n=400, first=0.25, second=0.15, n_classes=3, seed=seed)
        truth = accuracies(y, models)
        sheet = pick_rows_to_label(models, 40, random_state=seed)
        verdict = judge_answers(sheet, y[sheet.rows])
        pairs = [(verdict.accuracy[name], truth[name]) for name in models]
        pairs.append((verdict.difference, truth[verdict.best] - truth[verdict.runner_up]))
        covered.append([each.low <= value <= each.high for each, value in pairs])
    assert np.all(np.mean(covered, axis=0) > 0.83)
    assert np.all(np.mean(covered, axis=0) < 0.97)


def test_the_posterior_is_beta_binomial_where_two_classes_are_in_dispute():
    # All rows in dispute and two classes: one is right where the other is wrong.
    models = {"first": np.zeros(200, int), "second": np.ones(200, int)}
    sheet = pick_rows_to_label(models, 20)
    verdict = judge_answers(sheet, [1] * 13 + [0] * 7)
    rng = np.random.default_rng(9)
    rest = rng.binomial(180, rng.beta(13.5, 7.5, size=200_000))
    accuracy = (13 + rest) / 200
    assert verdict.accuracy["second"].low == pytest.approx(np.quantile(accuracy, 0.05), abs=0.01)
    assert verdict.accuracy["second"].high == pytest.approx(np.quantile(accuracy, 0.95), abs=0.01)
    assert verdict.probability == pytest.approx(
        np.mean(accuracy > 0.5) + np.mean(accuracy == 0.5) / 2, abs=0.01
    )


def test_further_labels_decide_when_the_difference_stays_as_it_is():
    models = {"first": np.zeros(2000, int), "second": np.ones(2000, int)}
    sheet = pick_rows_to_label(models, 40)
    verdict = judge_answers(sheet, [1] * 23 + [0] * 17)
    assert verdict.verdict == "undecided"
    assert f"About {verdict.n_more} more labels" in verdict.summary
    n = 40 + verdict.n_more
    longer = pick_rows_to_label(models, n)
    ones = round(n * 23 / 40)
    later = judge_answers(longer, [1] * ones + [0] * (n - ones))
    assert later.probability == pytest.approx(0.95, abs=0.015)


def test_no_more_labels_are_asked_for_than_there_are_rows():
    models = {"first": np.zeros(60, int), "second": np.ones(60, int)}
    verdict = judge_answers(pick_rows_to_label(models, 40), [0, 1] * 20)
    assert (verdict.verdict, verdict.n_more) == ("undecided", 20)


def test_a_prior_gain_is_combined_with_the_labels():
    models = {"first": np.zeros(500, int), "second": np.ones(500, int)}
    sheet, answers = pick_rows_to_label(models, 40), [1] * 22 + [0] * 18
    plain = judge_answers(sheet, answers)
    for_first = judge_answers(sheet, answers, prior_gain=(-0.3, 0.1))
    vague = judge_answers(sheet, answers, prior_gain=(0.0, 50.0))
    assert (plain.best, for_first.best) == ("second", "first")
    assert vague.probability == pytest.approx(plain.probability, abs=0.01)
    # Two normal estimates, 0.1 ± 0.15 and -0.3 ± 0.1, weighted by precision.
    assert for_first.difference.value == pytest.approx(0.18, abs=0.03)


def test_rows_left_unanswered_are_left_out_and_empty_strata_are_named():
    y, models = problem()
    sheet = pick_rows_to_label(models)
    answers = np.where(sheet.stratum == 0, y[sheet.rows].astype(object), None)
    verdict = judge_answers(sheet, answers)
    assert verdict.n_answered == np.sum(sheet.stratum == 0)
    assert verdict.unanswered == ("models agree",)
    assert "No label at all where: models agree." in verdict.summary
    assert verdict.best == "second"
    by_row = {int(row): int(y[row]) for row in sheet.rows[sheet.stratum == 0]}
    assert str(judge_answers(sheet, by_row)) == str(verdict)


def test_of_three_models_the_best_is_named():
    y, models = problem(n=800, first=0.4, second=0.25)
    models["third"] = np.where(np.arange(800) % 20 == 0, 1 - y, y)
    sheet = pick_rows_to_label(models, 60)
    verdict = judge_answers(sheet, y[sheet.rows])
    assert (verdict.best, verdict.verdict) == ("third", "decided")
    assert list(verdict.accuracy) == ["first", "second", "third"]


@pytest.mark.parametrize("names", [np.array([0, 1, 2]), np.array(["a", "b", "c"])])
def test_a_sheet_survives_json(names):
    y, models = problem(n_classes=3)
    sheet = pick_rows_to_label(
        {name: names[each] for name, each in models.items()}, confidence=np.full(600, 0.7)
    )
    again = LabelSheet.from_dict(json.loads(json.dumps(sheet.to_dict())))
    assert again.to_dict() == sheet.to_dict()
    answers = names[y[sheet.rows]]
    assert judge_answers(again, answers) == judge_answers(sheet, answers)


def test_an_answer_that_no_model_predicts_is_wrong_for_all():
    models = {"first": [0] * 20, "second": [1] * 20}
    verdict = judge_answers(pick_rows_to_label(models, 10), [7] * 10)
    assert [estimate.value for estimate in verdict.accuracy.values()] == [0.0, 0.0]


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"predictions": {"one": [0, 1]}}, ValueError, "two models"),
        ({"predictions": {"a": [0, 1], "b": [0]}}, ValueError, "one class for each row"),
        ({"predictions": {"a": [0, 1], "b": ["0", "1"]}}, TypeError, "mix numbers and text"),
        ({"predictions": {"a": [], "b": []}}, ValueError, "no row"),
        ({"n_labels": 0}, ValueError, "n_labels"),
        ({"n_labels": 1}, ValueError, "one for each stratum"),
        ({"focus": 2}, ValueError, "focus"),
        ({"confidence": [0.5]}, ValueError, "one number for each"),
        ({"confidence": {"a": [0.5, 0.7, 3.0]}}, ValueError, "probabilities"),
    ],
)
def test_what_cannot_be_drawn_is_refused(change, error, words):
    given = {"predictions": {"a": [0, 1, 1], "b": [0, 1, 0]}, "n_labels": 3, **change}
    with pytest.raises(error, match=words):
        pick_rows_to_label(**given)


def test_an_earlier_sheet_of_other_predictions_is_refused():
    earlier = pick_rows_to_label(problem(seed=1)[1])
    with pytest.raises(ValueError, match="other predictions"):
        pick_rows_to_label(problem(seed=2)[1], after=earlier)


@pytest.mark.parametrize(
    ("answers", "options", "error", "words"),
    [
        ([None] * 4, {}, ValueError, "no label"),
        ([0, 1], {}, ValueError, "one entry for each"),
        (["0", "1", "0", "1"], {}, TypeError, "here numbers"),
        ({99: 0}, {}, ValueError, "not on the sheet"),
        ([0] * 4, {"level": 0.2}, ValueError, "level"),
        ([0] * 4, {"prior_gain": (0.0, 0.0)}, ValueError, "prior_gain"),
    ],
)
def test_answers_that_cannot_be_judged_are_refused(answers, options, error, words):
    sheet = pick_rows_to_label({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]}, 4)
    with pytest.raises(error, match=words):
        judge_answers(sheet, answers, **options)


def test_prior_gain_is_for_two_models():
    sheet = pick_rows_to_label({"a": [0, 1], "b": [1, 1], "c": [0, 0]}, 2)
    with pytest.raises(ValueError, match="two models"):
        judge_answers(sheet, [0, 1], prior_gain=(0.0, 0.1))
