"""Forged models: some hundred here, as many as ``SKATTER_FUZZ`` says by ``make fuzz``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from skatter import (
    SCA,
    DomainGeneralizer,
    HedgedClassifier,
    HedgedRegressor,
    LandmarkMap,
    NearestNeighbour,
    SCAClassifier,
    adapt,
    make_domain_pipeline,
)
from skatter.methods import HFA, JDA, METHODS, TSC, EasyAdaptSVM, MarginalKernelSVM, UndoBias
from skatter.saving import save_model

CASES = int(os.environ.get("SKATTER_FUZZ", "400"))
SEED = int(os.environ.get("SKATTER_SEED", "0"))

nearest = KNeighborsClassifier(3, algorithm="brute")
MODELS = {
    "hedged": HedgedClassifier(),
    "sca": make_domain_pipeline(StandardScaler(), SCA(), nearest),
    "map": make_domain_pipeline(SCA(feature_map=LandmarkMap(20)), LogisticRegression()),
    "self-trained": SCAClassifier(),
    "nearest": make_domain_pipeline(SCA(), NearestNeighbour()),
    "machine": make_domain_pipeline(SCA(), SVC(probability=False)),
    "jda": make_domain_pipeline(JDA(), nearest),
    "tsc": make_domain_pipeline(TSC(), nearest),
    "copies": EasyAdaptSVM(),
    "marginal": MarginalKernelSVM(),
    "undo-bias": UndoBias(),
    "side-by-side": HFA(),
    "unseen": DomainGeneralizer(),
}
if CASES > 1000:
    MODELS |= {name: method.estimator() for name, method in METHODS.items()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, require):
    pandas = require("pandas", "table")
    folder = tmp_path_factory.mktemp("models")
    rng = np.random.default_rng(0)
    ids, y = np.repeat([1, 2, -3], 24), np.tile(np.arange(24) % 3, 3)
    X = rng.normal(size=(72, 4)) + 2 * np.eye(3, 4)[y] + 0.3 * ids[:, None]
    known = np.where((ids < 0) & (rng.random(72) < 0.7), -1, y)
    frame = pandas.DataFrame(X, columns=list("abcd"))
    frame["ward"] = rng.choice(["u", "v", "w"], 72)
    frame["site"] = np.where(ids < 0, "there", "here")
    frame["kind"] = np.where(known < 0, None, np.array(["ash", "elm", "oak"])[known])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, model in MODELS.items():
            if not hasattr(model, "predict"):
                model = make_domain_pipeline(model, nearest)
            model.fit(X, known, sample_domain=ids)
            save_model(model, folder / f"{name}.skatter")
        numbers = np.where(known < 0, np.nan, X @ [1, 2, 3, 4])
        model = HedgedRegressor().fit(X, numbers, sample_domain=ids)
        save_model(model, folder / "numbers.skatter")
        table = adapt(frame, label="kind", domain="site", method="sca").model
    save_model(table, folder / "table.skatter")
    columns = {name: frame[name].to_numpy() for name in "abcd"}
    text = {name: frame[name].to_numpy().astype(str) for name in ("ward", "site")}
    names = np.array([*columns, *text])
    np.savez(folder / "samples.npz", X=X, ids=ids, names=names, **columns, **text)
    return folder


def test_forged_models_neither_call_nor_crash_nor_hang_nor_mislead(folder):
    script = Path(__file__).with_name("forgeries.py")
    command = [sys.executable, str(script), str(folder), str(SEED), str(CASES)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    outcomes = json.loads(done.stdout)
    assert sum(outcomes.values()) == CASES
    assert outcomes["refused"] > CASES / 2
    failed = sum(times for what, times in outcomes.items() if what.startswith("predict: "))
    # A pipeline that lost a step is a sound file, and fails as such a pipeline would.
    assert failed <= CASES / 250
