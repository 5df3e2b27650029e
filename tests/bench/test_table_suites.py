"""Suites of everyday tables follow the rule that they state, and every one of them runs."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold

from skatter.datasets import Dataset, load_everyday_table
from skatter.datasets._everyday_tables import EVERYDAY_TABLES
from skatter_bench.cells import cells, run_cell
from skatter_bench.protocols import split
from skatter_bench.results import Outcome, outcomes, plan
from skatter_bench.runner import run
from skatter_bench.store import Store
from skatter_bench.suites import SUITES, TABLE_SUITES
from skatter_bench.tasks import Problem, Task, load_problem, prepare_table
from skatter_bench.views import AVERAGE, MANY_GROUPS, MEAN_RANK, accuracy_table, table_of

HOME = str(Path(__file__).parents[2] / "benchmarks" / "data")
FREE = [table for table in EVERYDAY_TABLES.values() if table.in_repository]


def tasks_of(suite: str, table: str) -> list[Task]:
    return [task for task in SUITES[suite].tasks if task.group == table]


def drawn_pairs(table: str) -> list[tuple[str, str, set, set]]:
    """The pairs of a table, and their rows, by one generator from the first to the last."""
    data = load_everyday_table(table, data_home=HOME)
    names = np.array(list(EVERYDAY_TABLES[table].domains))
    code = np.array([names.tolist().index(name) for name in data.domain])
    rng = np.random.default_rng(0)
    large, counts = np.unique(code, return_counts=True)
    ring = rng.permutation(large[counts >= 50])
    found = []
    for i, source in enumerate(ring):
        target = ring[(i + 1) % len(ring)]
        S = rng.permutation(np.flatnonzero(code == source))[:800]
        T = rng.permutation(np.flatnonzero(code == target))[:800]
        if data.class_names:
            classes, n = np.unique(data.y[S], return_counts=True)
            kept = classes[n >= 5]
            S, T_kept = S[np.isin(data.y[S], kept)], T[np.isin(data.y[T], kept)]
            two = len(kept) >= 2 and len(np.unique(data.y[T_kept])) >= 2
            if not two or len(T_kept) < 0.9 * len(T):
                continue
            T = T_kept
        found.append((names[source], names[target], set(S), set(T)))
    return found[:4]


@pytest.mark.parametrize("table", FREE, ids=lambda table: table.name)
def test_pairs_and_their_rows_are_those_of_the_rule(table):
    suite = "tables" if table.class_names else "tables-numbers"
    data = load_everyday_table(table.name, data_home=HOME)
    expected = drawn_pairs(table.name)
    tasks = tasks_of(suite, table.name)
    assert [(*task.sources, *task.targets) for task in tasks] == [pair[:2] for pair in expected]
    for task, (source, target, S, T) in zip(tasks, expected, strict=True):
        rows = [np.flatnonzero(data.domain == name) for name in (source, target)]
        learnt, tested = task.sample.draw(*rows, data.y)
        assert (set(learnt), set(tested)) == (S, T)


@pytest.mark.parametrize("suite", TABLE_SUITES, ids=lambda suite: suite.name)
def test_tasks_are_few_for_each_table_and_their_problems_small(suite):
    most_sources, most_tasks = (800, 4) if suite.name in ("tables", "tables-numbers") else (1500, 3)
    for table in FREE:
        tasks = tasks_of(suite.name, table.name)
        assert len(tasks) <= most_tasks
        for task in tasks[:1]:
            problem = load_problem(task, HOME)
            assert len(problem.labelled) <= most_sources
            assert len(problem.test) <= 800
            assert np.isfinite(problem.X).all()
            assert set(problem.domain[problem.labelled]) <= set(task.sources)
            assert set(problem.domain[problem.test]) == set(task.targets)


def test_every_class_of_a_problem_has_five_source_rows():
    for table in FREE:
        for task in tasks_of("tables-unseen", table.name):
            problem = load_problem(task, HOME)
            classes, counts = np.unique(problem.y[problem.labelled], return_counts=True)
            assert counts.min() >= 5
            assert set(problem.y[problem.test]) <= set(classes)


# --- preparation ----------------------------------------------------------------------------------


def table_of_columns(*columns: list[float], categorical: tuple[int, ...] = ()) -> Dataset:
    X = np.column_stack(columns)
    n = len(X)
    return Dataset("t", X, np.zeros(n), np.zeros(n), (), "", "", categorical=categorical)


def prepared(data: Dataset, n_learn: int | None = None) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return prepare_table(data).fit(data.X[:n_learn]).transform(data.X)


def test_gaps_of_numbers_become_the_median_and_numbers_are_standardised():
    X = prepared(table_of_columns([1.0, 2.0, 9.0, np.nan]))
    filled = np.array([1.0, 2.0, 9.0, 2.0])
    np.testing.assert_allclose(X[:, 0], (filled - filled.mean()) / filled.std())


def test_constant_and_empty_columns_vanish_without_a_warning():
    data = table_of_columns([0.1] * 4, [np.nan] * 4, [3.0] * 4, [1.0, 2.0, 3.0, 4.0])
    assert prepared(data).shape == (4, 1)
    assert prepared(replace(data, categorical=(2,))).shape == (4, 1)


def test_rare_categories_are_pooled_and_a_missing_one_is_a_category():
    codes = [float(code) for code in range(25) for _ in range(2 if code < 19 else 1)]
    assert prepared(table_of_columns(codes, categorical=(0,))).shape[1] == 20
    X = prepared(table_of_columns([0.0, 1.0, np.nan, 1.0], categorical=(0,)))
    np.testing.assert_array_equal(X, [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 0]])


def test_a_table_is_prepared_by_what_is_learnt_from_alone():
    task = tasks_of("tables-unseen", "adult_age")[0]
    problem = load_problem(task, HOME)
    assert len(problem.learn) == len(problem.labelled)
    learnt = problem.X[problem.learn]
    assert not np.isin(learnt, (0, 1)).all(axis=0).all()
    numbers = ~np.isin(learnt, (0, 1)).all(axis=0)
    np.testing.assert_allclose(learnt[:, numbers].mean(axis=0), 0, atol=1e-10)
    assert np.abs(problem.X[problem.test][:, numbers].mean(axis=0)).max() > 0.05


# --- numbers --------------------------------------------------------------------------------------


def test_folds_of_numbers_are_plain_and_hide_the_held_out_ones():
    problem = load_problem(tasks_of("tables-numbers", "auto_mpg_origin")[0], HOME)
    _, known, held = split(problem, "source-2", seed=0)
    expected = list(KFold(5, shuffle=True, random_state=0).split(problem.labelled))[2]
    np.testing.assert_array_equal(known, problem.labelled[expected[0]])
    np.testing.assert_array_equal(held, problem.labelled[expected[1]])


def score(task: Task, suite: str, label: str, fold: str = "target") -> dict:
    row = next(row for row in SUITES[suite].contestants("defaults") if row.label == label)
    return run_cell(cells(task, row, fold, 0)[0], HOME)[0]


def test_numbers_are_scored_by_r2():
    task = tasks_of("tables-numbers", "auto_mpg_origin")[0]
    problem: Problem = load_problem(task, HOME)
    S, T = problem.labelled, problem.test
    expected = r2_score(problem.y[T], Ridge().fit(problem.X[S], problem.y[S]).predict(problem.X[T]))
    found = score(task, "tables-numbers", "raw + ridge regression")
    assert found["r2"] == pytest.approx(expected)
    assert "correct" not in found


def test_numbers_of_the_target_choose_nothing(monkeypatch):
    suite = SUITES["tables-numbers"]
    task = tasks_of(suite.name, "auto_mpg_origin")[0]
    row = next(row for row in suite.contestants("source-cv") if row.name == "sca")
    cell = cells(task, row, "source-0", 0)[0]
    before = [each["r2"] for each in run_cell(cell, HOME)]
    problem = load_problem(task, HOME)
    y = problem.y.copy()
    y[problem.test] = -y[problem.test]
    monkeypatch.setattr("skatter_bench.cells.load_problem", lambda *_: replace(problem, y=y))
    assert [each["r2"] for each in run_cell(cell, HOME)] == before


# --- all together ---------------------------------------------------------------------------------

SMALL = {
    "tables": ("penguins_sex", "raw,sca"),
    "tables-sources": ("penguins_sex", "raw,coral"),
    "tables-unseen": ("penguins_sex", "raw,domain-generalizer"),
    "tables-numbers": ("auto_mpg_origin", "raw,sca"),
}


@pytest.mark.parametrize("name", SMALL)
def test_a_suite_runs_from_the_files_of_the_repository_to_its_table(name, tmp_path):
    table, methods = SMALL[name]
    suite = replace(SUITES[name], tasks=tuple(tasks_of(name, table)[:1]))
    store = Store(tmp_path / "store")
    rows = suite.contestants("defaults", names=methods.split(","))
    summary = run(plan(suite, rows, ["defaults"]), store, run_here, n_jobs=1)
    assert summary.n_failed == 0
    found = outcomes(suite, rows, "defaults", store)
    assert len(found) == len(rows)
    assert all(-500 < each.accuracy <= 100 for each in found)
    assert ("R²" in table_of(suite, found).title) == (name == "tables-numbers")


def run_here(cell):
    return run_cell(cell, HOME)


def outcome(group: str, task: str, method: str, accuracy: float) -> Outcome:
    names = (method, "1nn", f"{method} + 1NN")
    costs = ({}, None, 1.0, 1.0, None)
    return Outcome("tables", task, group, *names, "defaults", 0, 0, accuracy, 9, *costs)


def test_of_many_groups_each_counts_once():
    groups = [f"set {i}" for i in range(MANY_GROUPS + 1)]
    found = [outcome(group, "a->b", "raw", 50.0) for group in groups]
    found += [outcome(group, "a->b", "sca", 60.0) for group in groups]
    found += [outcome(groups[0], f"{i}->b", "raw", 90.0) for i in range(3)]
    found += [outcome(groups[0], f"{i}->b", "sca", 20.0) for i in range(3)]
    table = accuracy_table(found)
    n = len(groups)
    average = table.column(AVERAGE)
    assert average["raw + 1NN"].value == pytest.approx((50 * (n - 1) + 80) / n)
    assert average["sca + 1NN"].value == pytest.approx((60 * (n - 1) + 30) / n)
    assert table.column(MEAN_RANK)["sca + 1NN"].value == pytest.approx((n - 1 + 2) / n)
    assert [column.name for column in table.columns] == [AVERAGE, *groups, MEAN_RANK]


def test_a_key_does_not_know_of_samples_where_there_is_none():
    plain = Task("source->target", "figure1", ("source",), ("target",), "adaptation", 3, "toy")
    drawn = replace(plain, sample=SUITES["tables"].tasks[0].sample)
    row = SUITES["figure1"].contestants("target-oracle", names=["raw"])[0]
    without, with_sample = (cells(task, row, "target", 0)[0] for task in (plain, drawn))
    assert without.key != with_sample.key
    assert without.spec()["task"]["sample"] is None
