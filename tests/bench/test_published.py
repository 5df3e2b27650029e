"""The paper's numbers are those that it prints, and belong to the right contestants."""

from __future__ import annotations

import math

import numpy as np
import pytest

from skatter_bench.contestants import contestants
from skatter_bench.published import NAMES, published
from skatter_bench.suites import SUITES

TABLES = [f"table{i}" for i in range(1, 11)]


# Checksums: a slip of one digit anywhere in the file changes one of them.
@pytest.mark.parametrize(
    ("key", "n_methods", "n_tasks", "total"),
    [
        ("table1", 10, 4, 1818.74),
        ("table2", 10, 12, 4855.73),
        ("table3", 10, 12, 9786.45),
        ("table4", 3, 3, 482.1),
        ("table5", 6, 3, 6798.33),
        ("table6", 1, 16, 983.47),
        ("table7", 9, 7, 3824.07),
        ("table8", 9, 4, 2932.96),
        ("table9", 9, 3, 1752.59),
        ("table10", 6, 3, 8495.17),
        ("figure1", 5, 1, 213.0),
    ],
)
def test_no_number_of_a_table_has_changed(key, n_methods, n_tasks, total):
    table = published(key)
    values = [table.value(method, task) for method in table.methods for task in table.tasks]
    assert len(table.methods) == n_methods
    assert len(table.tasks) == n_tasks
    assert math.fsum(values) == pytest.approx(total, abs=1e-6)


@pytest.mark.parametrize(
    ("key", "average"),
    [
        ("table1", 48.70),
        ("table2", 44.29),
        ("table3", 85.88),
        ("table7", 64.06),
        ("table8", 85.12),
        ("table9", 78.69),
    ],
)
def test_the_headline_averages_of_sca_are_the_means_of_their_rows(key, average):
    table = published(key)
    row = [table.value("SCA", task) for task in table.tasks]
    assert table.average("SCA") == np.mean(row)
    assert round(table.average("SCA"), 2) == pytest.approx(average)
    assert table.averages["SCA"] == average


def test_averages_that_disagree_with_their_rows_are_known():
    wrong = {(key, name) for key in TABLES for name in published(key).misprinted_averages()}
    assert wrong == {
        ("table1", "KPCA"),
        ("table2", "TCA"),
        ("table2", "SSTCA"),
        ("table2", "SA"),
        ("table2", "TJM"),
        ("table3", "GFK"),
        ("table3", "TSC"),
        ("table7", "KPCA"),
        ("table8", "1NN"),
        ("table8", "KPCA"),
        ("table9", "L-SVM"),
    }
    assert published("table9").misprinted_averages()["L-SVM"] == (
        72.59,
        pytest.approx(74.7867, abs=1e-4),
    )


def test_marks_are_the_printed_ones_even_where_the_paper_slipped():
    table = published("table2")
    # SA has 31.17 there and TJM 30.72.
    assert table.mark("TJM", "D->C") == "second"
    assert table.mark("SA", "D->C") == ""
    assert table.mark("SCA", "D->C") == "best"
    assert [name for name in table.methods if table.mark(name, "W->D") == "second"] == [
        "KPCA",
        "uSCA",
    ]


def test_percentages_are_percentages_and_test_sets_have_sizes():
    for key in [*TABLES, "figure1"]:
        table = published(key)
        values = [value for row in table.values.values() for value in row.values()]
        assert all(tuple(row) == table.tasks for row in table.values.values())
        if table.unit == "percent":
            assert all(0 < value <= 100 for value in values)
        assert set(table.n_test) <= set(table.tasks)
        assert set(table.averages) <= set(table.methods)


def test_raw_samples_are_named_differently_for_adaptation_and_generalization():
    assert published("table2").name_of("raw", "1nn") == "Raw"
    assert published("table4").name_of("raw", "1nn") == "1-NN"
    assert published("table7").name_of("raw", "1nn") == "1NN"
    assert published("table7").name_of("raw", "svm") == "L-SVM"
    assert published("table2").name_of("raw", "svm") is None
    assert published("table2").name_of("sca", "1nn") == "SCA"
    assert published("table2").name_of("sca-printed", "1nn") == "SCA"
    assert published("table2").name_of("sca", "svm") is None
    assert published("table2").name_of("jda", "1nn") is None


@pytest.mark.parametrize("key", [*TABLES, "figure1"])
def test_every_method_of_a_table_has_a_contestant(key):
    table = published(key)
    rows = contestants(table.setting, classifiers=("1nn", "dam"))
    ours = {table.name_of(row.name, row.classifier) for row in rows}
    assert set(table.methods) <= ours


def test_no_contestant_is_named_that_does_not_exist():
    rows = [
        *contestants("adaptation", classifiers=("1nn", "dam")),
        *contestants("generalization", classifiers=("1nn", "sets")),
    ]
    assert set(NAMES) <= {(row.name, row.classifier) for row in rows}


@pytest.mark.parametrize(
    "name", [name for name, suite in SUITES.items() if suite.published and name != "table1-draws"]
)
def test_tasks_or_groups_of_a_suite_are_those_of_its_table(name):
    suite = SUITES[name]
    table = published(suite.published)
    tasks, groups = ({getattr(task, at) for task in suite.tasks} for at in ("name", "group"))
    assert set(table.tasks) in (tasks, groups)


def test_an_unknown_table_is_answered_by_the_known_ones():
    with pytest.raises(ValueError, match=r"table1, table2, .*figure1, .*got 'table11'"):
        published("table11")
    assert published("table2").value("JDA", "A->W") is None
    assert published("table2").value("SCA", "B->W") is None


def test_every_row_of_skada_bench_is_for_columns_of_our_suite():
    columns = {task.group for task in SUITES["skada-bench"].tasks}
    for key, n_values, total in (("skada-bench", 150, 9752), ("skada-bench-oracle", 150, 10365)):
        table = published(key)
        assert set(table.tasks) == columns
        rows = [value for row in table.values.values() for value in row.values()]
        assert (len(rows), math.fsum(rows)) == (n_values, pytest.approx(total))
        assert "2407.11676" in table.citation
    assert published("skada-bench").value("Train Src", "Digits") == 52
    assert published("skada-bench").value("DASVM", "Digits") is None
