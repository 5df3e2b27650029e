"""The paper's figures from the benchmark itself, on the real data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from skatter_bench.cells import run_cell
from skatter_bench.contestants import contestants
from skatter_bench.published import published
from skatter_bench.results import outcomes, plan
from skatter_bench.runner import run
from skatter_bench.store import PackedStore, Store
from skatter_bench.suites import SUITES, Suite

STORE = Path(__file__).parents[2] / "benchmarks/results/bench_store.xz"


@pytest.fixture
def found(surf, tmp_path):
    """A function that runs some tasks of a suite, and returns accuracies by contestant."""

    def accuracies(suite: Suite, name: str, protocol: str) -> dict[str, float]:
        rows = [
            row
            for row in contestants(suite.setting, names=[name])
            if row.classifier == "1nn" and row.name == name
        ]
        store = Store(tmp_path / "store")
        summary = run(plan(suite, rows, [protocol]), store, run_cell, n_jobs=1)
        assert summary.n_failed == 0
        return {each.task: each.accuracy for each in outcomes(suite, rows, protocol, store)}

    return accuracies


@pytest.mark.parametrize(
    ("name", "tasks"),
    [
        ("table1", ["msrc->voc"]),
        ("table2", published("table2").tasks),
        ("table3", ["W->D", "D->W"]),
    ],
)
def test_raw_samples_give_the_published_accuracies(found, name, tasks):
    suite = SUITES[name]
    some = tuple(task for task in suite.tasks if task.name in tasks)
    ours = found(Suite(suite.name, suite.title, some), "raw", "source-cv")
    paper = published(name)
    assert set(ours) == set(tasks)
    for task in tasks:
        assert ours[task] == pytest.approx(paper.value("Raw", task), abs=0.01)


def test_algorithm_1_without_its_last_factor_is_near_the_published_table(found):
    """Zero padding and Z = KᵀB: less than two points from the printed row, task by task.

    Two tasks are run, and must give what the packed store has; the others are taken from it.
    """
    suite, name, protocol = SUITES["table2"], "sca-printed-unscaled", "source-cv"
    rows = [row for row in contestants(suite.setting, names=[name]) if row.classifier == "1nn"]
    kept = outcomes(suite, rows, protocol, PackedStore(STORE))
    stored = {each.task: each.accuracy for each in kept}
    small = tuple(task for task in suite.tasks if task.name in ("W->D", "D->W"))
    again = found(Suite(suite.name, suite.title, small), name, protocol)
    assert again == pytest.approx({task: stored[task] for task in ("W->D", "D->W")}, abs=0.01)
    paper = published("table2")
    away = [abs(accuracy - paper.value("SCA", task)) for task, accuracy in stored.items()]
    assert len(away) == 12
    assert np.mean(away) < 2
