"""Suites hold what the paper's tables hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from skatter.datasets import DATASETS
from skatter_bench.contestants import contestants
from skatter_bench.protocols import PROTOCOLS
from skatter_bench.published import published
from skatter_bench.suites import BASES, SUITES, get_suite
from skatter_bench.tasks import PREPARATIONS, load_problem


@pytest.mark.parametrize("name", ["table1", "table2", "table3", "table7", "table8", "table9"])
def test_tasks_are_those_of_the_paper_in_its_order(name):
    assert tuple(task.name for task in SUITES[name].tasks) == published(name).tasks


@pytest.mark.parametrize("suite", SUITES.values(), ids=lambda suite: suite.name)
def test_a_suite_is_made_of_what_is_known(suite):
    assert set(suite.protocols) <= set(PROTOCOLS)
    assert len({(task.name, task.draw, task.group) for task in suite.tasks}) == len(suite.tasks)
    for task in suite.tasks:
        info = DATASETS[task.dataset]
        assert {*task.sources, *task.targets} <= set(info.domains)
        assert task.n_classes == info.n_classes
        assert task.prepare in PREPARATIONS
        assert task.setting == suite.setting


@pytest.mark.parametrize("suite", SUITES.values(), ids=lambda suite: suite.name)
def test_sources_are_not_targets_but_where_a_table_asks_for_it(suite):
    for task in suite.tasks:
        if suite.kind != "matrix":
            assert not set(task.sources) & set(task.targets)


@pytest.mark.parametrize("suite", SUITES.values(), ids=lambda suite: suite.name)
def test_plain_classifiers_on_raw_samples_are_rows_of_every_table(suite):
    rows = contestants(suite.setting, classifiers=suite.classifiers, names=suite.methods)
    labels = {row.label for row in rows}
    assert {"raw + 1NN", "raw + linear SVM", "raw + logistic regression"} <= labels
    assert len(labels) == len(rows)


def test_the_papers_contestants_are_in_its_tables():
    for name, setting in (("table2", "adaptation"), ("table7", "generalization")):
        paper = published(name)
        rows = contestants(setting)
        named = {paper.name_of(row.name, row.classifier) for row in rows}
        assert set(paper.methods) <= named


@pytest.mark.parametrize("name", ["table7", "table8", "table9"])
def test_tables_of_generalization_tune_what_the_paper_tunes_and_score_undo_bias_as_it_does(name):
    rows = {row.label: row for row in SUITES[name].contestants("source-cv")}
    tuned = {label: len(row.grid) for label, row in rows.items()}
    assert (tuned["undo-bias"], tuned["lre-svm"], tuned["dica + 1NN"]) == (3, 4, 3)
    assert rows["undo-bias + sets"].grid == rows["undo-bias"].grid
    assert not any(label.startswith("raw + sets") for label in rows)


def test_a_typo_gets_the_nearest_name():
    with pytest.raises(ValueError, match="Did you mean 'table2'"):
        get_suite("tabel2")


def test_adaptation_sees_the_target_and_none_of_its_labels():
    task = SUITES["figure1"].tasks[0]
    problem = load_problem(task)
    assert set(problem.domain[problem.labelled]) == {"source"}
    assert set(problem.domain[problem.learn]) == {"source", "target"}
    assert set(problem.domain[problem.test]) == {"target"}


def test_generalization_sees_the_sources_alone():
    task = replace(SUITES["figure1"].tasks[0], setting="generalization")
    problem = load_problem(task)
    assert set(problem.domain[problem.learn]) == {"source"}
    assert set(problem.domain[problem.test]) == {"target"}


def test_samples_are_prepared_by_what_is_learnt_from_the_sources_where_no_target_is_seen():
    task = SUITES["figure1"].tasks[0]
    blind = replace(task, setting="generalization", prepare="shares, z-scores, unit rows")
    raw = load_problem(replace(task, setting="generalization"))
    shares = raw.X / np.abs(raw.X).sum(axis=1, keepdims=True)
    learnt = shares[raw.domain == "source"]
    z = (shares - learnt.mean(axis=0)) / learnt.std(axis=0)
    expected = z / np.linalg.norm(z, axis=1, keepdims=True)
    np.testing.assert_allclose(load_problem(blind).X, expected)


def test_every_column_of_skada_bench_has_five_seeds_and_a_classifier():
    tasks = SUITES["skada-bench"].tasks
    assert set(BASES) == {task.group for task in tasks}
    for column in BASES:
        own = [task for task in tasks if task.group == column]
        names = {task.name for task in own}
        assert {(task.name, task.draw) for task in own} == {(n, i) for n in names for i in range(5)}
