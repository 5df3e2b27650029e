"""Tables whose files are not shared run as soon as they are provided; the files here are tiny."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.io import savemat

from skatter.datasets import _ixmas as ixmas
from skatter.datasets import _vlcs as vlcs
from skatter.datasets._office_caltech import FEATURES
from skatter_bench.cells import run_cell
from skatter_bench.results import outcomes, plan
from skatter_bench.store import Store
from skatter_bench.suites import SUITES
from skatter_bench.tasks import load_problem
from skatter_bench.views import table_of
from skatter_bench.workers import attempt

N_FEATURES = 6


def samples(n_classes, seed):
    """Ten samples of each class; the seed says how far they are shifted, too."""
    y = np.tile(np.arange(1, n_classes + 1), 10)
    noise = np.random.default_rng(seed).normal(size=(len(y), N_FEATURES))
    return 4 * np.cos(np.outer(y, np.arange(1, N_FEATURES + 1))) + seed / 9 + noise, y


@pytest.fixture
def provided(tmp_path, monkeypatch):
    """Write a small file for each domain, in the form of the real ones."""

    def write(source, n_classes, variables):
        folder = tmp_path / source.folder
        folder.mkdir()
        files = {}
        for seed, (domain, file) in enumerate(source.files.items()):
            X, y = samples(n_classes, seed)
            shape = (len(X), N_FEATURES)
            files[domain] = replace(file, shape=shape, size=None, sha256=None)
            savemat(folder / file.name, variables(X, y))
        return replace(source, files=files)

    def one_table(X, y):
        return {"data": np.column_stack([X, y])}

    decaf = FEATURES["decaf6"]
    monkeypatch.setattr(vlcs, "SOURCE", write(vlcs.SOURCE, 5, one_table))
    monkeypatch.setattr(ixmas, "SOURCE", write(ixmas.SOURCE, 5, one_table))
    source = write(decaf.source, 10, lambda X, y: {"feas": X, "labels": y[:, None]})
    monkeypatch.setitem(FEATURES, "decaf6", replace(decaf, source=source))
    load_problem.cache_clear()
    yield str(tmp_path)
    load_problem.cache_clear()


@pytest.mark.parametrize(
    ("name", "protocol", "methods"),
    [
        ("table3", "source-cv", ("raw", "kpca", "sa", "sca-printed")),
        ("table6", "defaults", ("raw",)),
        ("table7", "defaults", ("raw", "undo-bias", "dica", "sca-printed")),
        ("table8", "defaults", ("raw", "lre-svm", "sca-printed")),
        ("table9", "source-cv", ("raw", "dica", "sca-printed")),
        ("table10", "timed", ("kpca", "dica", "sca")),
    ],
)
def test_a_table_runs_on_files_that_are_provided(provided, tmp_path, name, protocol, methods):
    suite = SUITES[name]
    suite = replace(suite, tasks=suite.tasks[:2] if suite.kind == "accuracy" else suite.tasks)
    rows = suite.contestants(protocol, names=methods)
    store = Store(tmp_path / "store")
    for cell in plan(suite, rows, [protocol]):
        record = attempt(partial(run_cell, data_home=provided), cell)
        store.put(cell.key, {"cell": cell.spec(), **record})
    found = outcomes(suite, rows, protocol, store)
    assert [each.error for each in found] == [""] * len(suite.tasks) * len(rows)
    assert all(math.isfinite(each.accuracy) for each in found)
    printed = [entry.published for row in table_of(suite, found).rows for entry in row.entries]
    assert any(value is not None for value in printed)
