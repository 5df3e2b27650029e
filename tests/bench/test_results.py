"""From records to outcomes: the protocol's choice, and what the store holds of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from skatter_bench.cells import run_cell
from skatter_bench.contestants import contestants
from skatter_bench.results import outcomes, plan, stamps, tidy
from skatter_bench.runner import run
from skatter_bench.store import Store
from skatter_bench.suites import Suite
from skatter_bench.tasks import Task

TASK = Task("source->target", "figure1", ("source",), ("target",), "adaptation", 3, "toy")
SUITE = Suite("toy", "A toy", (TASK,))
BOTH = ("source-cv", "target-oracle")


def rows():
    return contestants("adaptation", names=["raw", "kpca", "sca"])


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Store:
    store = Store(tmp_path_factory.mktemp("store"))
    summary = run(plan(SUITE, rows(), BOTH), store, run_cell, n_jobs=1)
    assert summary.n_failed == 0
    return store


def records(store, row, fold):
    keys = [cell.key for cell in plan(SUITE, [row], BOTH) if cell.fold == fold]
    return [score for key in keys for score in store.get(key)["scores"]]


def accuracies(store, row, fold):
    settings = row.settings(TASK)
    found = records(store, row, fold)
    return [
        next(s["correct"] / s["total"] for s in found if s["setting"] == values)
        for values in settings
    ]


def test_protocols_share_their_cells():
    alone = sum(len(plan(SUITE, rows(), [protocol])) for protocol in BOTH)
    assert len(plan(SUITE, rows(), BOTH)) < alone


def test_source_cv_reports_the_target_accuracy_of_the_best_mean_on_source_folds(store):
    for row in rows()[1:]:
        mean = np.mean([accuracies(store, row, f"source-{i}") for i in range(5)], axis=0)
        best = int(np.argmax(np.round(mean, 12)))
        outcome = outcomes(SUITE, [row], "source-cv", store)[0]
        assert outcome.setting == row.settings(TASK)[best]
        assert outcome.selection_score == pytest.approx(100 * mean[best])
        assert outcome.accuracy == pytest.approx(100 * accuracies(store, row, "target")[best])
        assert outcome.n_test == 150
        assert outcome.error == ""


def test_a_contestant_with_one_setting_needs_no_folds_to_choose_it(store):
    nearest = rows()[0]
    assert [cell.fold for cell in plan(SUITE, [nearest], BOTH)] == ["target"]
    outcome = outcomes(SUITE, [nearest], "source-cv", store)[0]
    assert outcome.accuracy == pytest.approx(100 * accuracies(store, nearest, "target")[0])
    assert outcome.selection_score is None


def test_the_oracle_reports_the_best_accuracy_on_the_target(store):
    for row in rows():
        outcome = outcomes(SUITE, [row], "target-oracle", store)[0]
        assert outcome.accuracy == pytest.approx(100 * max(accuracies(store, row, "target")))


def test_no_protocol_is_above_the_oracle(store):
    chosen = outcomes(SUITE, rows(), "source-cv", store)
    best = outcomes(SUITE, rows(), "target-oracle", store)
    assert all(a.accuracy <= b.accuracy for a, b in zip(chosen, best, strict=True))


def test_what_has_not_been_run_is_left_out(store):
    more = contestants("adaptation", names=["raw", "sa"])
    labels = [outcome.label for outcome in outcomes(SUITE, more, "source-cv", store)]
    assert labels == ["raw + 1NN", "raw + linear SVM", "raw + logistic regression"]


def test_seconds_are_those_of_all_folds_and_settings(store):
    row = rows()[-1]
    seconds = sum(store.get(cell.key)["cpu_seconds"] for cell in plan(SUITE, [row], ["source-cv"]))
    outcome = outcomes(SUITE, [row], "source-cv", store)[0]
    assert outcome.seconds == pytest.approx(seconds)
    assert 0 < outcome.fit_seconds < outcome.seconds


def test_a_failed_cell_is_an_outcome_with_its_error(tmp_path):
    broken = replace(rows()[-1], fixed={"kernel": "no such kernel"}, shares_gram=False)
    store = Store(tmp_path / "store")
    run(plan(SUITE, [broken], ["target-oracle"]), store, run_cell, n_jobs=1)
    outcome = outcomes(SUITE, [broken], "target-oracle", store)[0]
    assert np.isnan(outcome.accuracy)
    assert "no such kernel" in outcome.error


def test_the_tidy_table_has_one_row_for_every_score(store):
    table = tidy(store)
    every = plan(SUITE, rows(), BOTH)
    assert len(table) == sum(len(cell.settings) for cell in every)
    row = next(row for row in table if row["method"] == "sca")
    assert {"setting.n_components", "setting.beta", "accuracy", "seed", "version.numpy"} <= set(row)
    assert row["accuracy"] == row["correct"] / row["total"]


def test_the_stamp_says_where_and_when(store):
    stamp = stamps(store)
    assert stamp.versions["numpy"] == np.__version__
    assert stamp.finished > "2020"
    assert stamp.machine
