"""Cells: nothing is lost between them, and their keys know what matters."""

from __future__ import annotations

import importlib.metadata
from dataclasses import replace

import pytest

from skatter_bench import cells as module
from skatter_bench.cells import FITS, cells, run_cell
from skatter_bench.contestants import Contestant, contestants
from skatter_bench.suites import SUITES
from skatter_bench.tasks import Task

TASK = Task("source->target", "figure1", ("source",), ("target",), "adaptation", 3, "toy")


def settings_of(found) -> list[tuple]:
    return sorted(tuple(values.items()) for cell in found for values in cell.settings)


@pytest.mark.parametrize("grid", ["coarse", "full"])
def test_the_cells_of_a_fold_hold_every_setting_once(grid):
    for row in contestants("adaptation", grid=grid, classifiers=("1nn", "svm")):
        expected = sorted(tuple(values.items()) for values in row.settings(TASK))
        assert settings_of(cells(TASK, row, "target", 0)) == expected


def test_a_cell_holds_few_fits():
    slow = Contestant("slow", "own", "m:C", "classifier", grid={"C": tuple(range(20))})
    assert [len(cell.settings) for cell in cells(TASK, slow, "target", 0)] == [FITS, FITS, 4]


def test_settings_that_share_a_fit_stay_together():
    tca = contestants("adaptation", names=["tca"], grid="full")
    row = next(each for each in tca if each.name == "tca")
    for cell in cells(TASK, row, "target", 0):
        assert len({values["mu"] for values in cell.settings}) <= FITS
        ks = {values["n_components"] for values in cell.settings}
        assert len(cell.settings) == len(ks) * len({values["mu"] for values in cell.settings})


def test_the_key_does_not_change_with_what_people_read():
    row = contestants("adaptation", names=["kpca"])[0]
    cell = cells(TASK, row, "target", 0)[0]
    renamed = replace(cell, task=replace(TASK, name="elsewhere", group="another"))
    assert renamed.key == cell.key


@pytest.mark.parametrize(
    "change",
    [
        {"fold": "source-1"},
        {"seed": 1},
        {"settings": ({"n_components": 3},)},
        {"task": replace(TASK, draw=1)},
        {"task": replace(TASK, prepare="unit rows")},
        {"contestant": Contestant("kpca", "svm", "skatter.sca:KPCA")},
        {"contestant": Contestant("kpca", "1nn", "skatter.sca:KPCA", fixed={"gamma": 1.0})},
    ],
    ids=["fold", "seed", "settings", "draw", "prepare", "classifier", "fixed"],
)
def test_the_key_changes_with_what_decides_the_result(change):
    row = Contestant("kpca", "1nn", "skatter.sca:KPCA", grid={"n_components": (2,)})
    cell = cells(TASK, row, "target", 0)[0]
    assert replace(cell, **change).key != cell.key


def test_the_key_stays_from_one_build_to_the_next_and_changes_with_the_edition(monkeypatch):
    row = Contestant("kpca", "1nn", "skatter.sca:KPCA", grid={"n_components": (2,)})
    key = cells(TASK, row, "target", 0)[0].key
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "9.9.9")
    assert cells(TASK, row, "target", 0)[0].key == key
    monkeypatch.setattr(module, "EDITION", module.EDITION + 1)
    assert cells(TASK, row, "target", 0)[0].key != key


@pytest.mark.parametrize("setting", ["adaptation", "generalization"])
def test_the_key_outlasts_the_names_of_internal_modules(setting):
    rows = [row for row in contestants(setting) if row.estimator]
    assert len(rows) > 10
    assert [row.estimator for row in rows if "._" in row.estimator] == []


def test_keys_are_unique_over_all_suites():
    for name in ("table1", "dg-rotated-mnist"):
        suite = SUITES[name]
        rows = contestants(suite.setting)
        every = [
            cell
            for task in suite.tasks
            for row in rows
            for fold in ("source-0", "target")
            for cell in cells(task, row, fold, 0)
        ]
        assert len({cell.key for cell in every}) == len(every)


def test_a_cell_gives_the_same_scores_every_time():
    row = next(each for each in contestants("adaptation", names=["sca"]) if each.name == "sca")
    cell = cells(TASK, row, "source-0", 0)[0]
    first, again = run_cell(cell), run_cell(cell)
    assert [score["correct"] for score in first] == [score["correct"] for score in again]
    assert len(first) == len(cell.settings)
