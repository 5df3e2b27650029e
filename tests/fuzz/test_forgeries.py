"""Forged models: some hundred here, as many as ``SKATTER_FUZZ`` says by ``make fuzz``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
import zipfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.preprocessing import (
    FunctionTransformer,
    KernelCenterer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, SVR, LinearSVC

from skatter import (
    SCA,
    SCACV,
    ClassSpan,
    HedgedRegressor,
    LandmarkMap,
    NearestNeighbour,
    adapt,
    make_domain_pipeline,
)
from skatter._principal import PrincipalMap
from skatter.methods import HFA, METHODS, TCA, UndoBias
from skatter.saving import save_model
from skatter.saving._schemas import known_types
from skatter.trees import BoostingClassifier, BoostingRegressor, ForestClassifier, ForestRegressor

CASES = int(os.environ.get("SKATTER_FUZZ", "400"))
SEED = int(os.environ.get("SKATTER_SEED", "0"))
KEY = b"a key of the test's"

nearest = KNeighborsClassifier(3, algorithm="brute")
CLASSIFIERS = {
    "sca scaled": (StandardScaler(), SCA(), nearest),
    "landmarks of a map": (SCA(feature_map=LandmarkMap(20)), LogisticRegression()),
    "random features": (SCA(feature_map=RBFSampler(n_components=30)), LogisticRegression()),
    "nystroem": (RobustScaler(), PCA(3), Nystroem(n_components=20), GaussianNB()),
    "centred": (MinMaxScaler(), Nystroem(n_components=72), KernelCenterer(), nearest),
    "linear": (MaxAbsScaler(), Normalizer(), FunctionTransformer(), LinearSVC()),
    "discriminant": (SCA(4), LinearDiscriminantAnalysis()),
    "discriminated": (LinearDiscriminantAnalysis(), ForestClassifier(5)),
    "tuned": (SCACV(n_components=[1, 2]), NearestNeighbour()),
    "mapped": (SCA(feature_map=PrincipalMap(20)), nearest),
    "span": (SCA(), ClassSpan(), BoostingClassifier(n_rounds=3)),
    "machine": (SCA(), SVC(probability=False)),
    "thin": (Nystroem(n_components=60), METHODS["coral"].estimator(), nearest),
}
OF_A_GRAM_MATRIX = {
    "gram sca": (SCA(kernel="precomputed"), nearest),
    "gram tca": (TCA(kernel="precomputed"), nearest),
    "gram hfa": (HFA(kernel="precomputed"),),
    "gram undo bias": (UndoBias(kernel="precomputed"),),
}
REGRESSORS = {
    "machine of numbers": (StandardScaler(), SVR()),
    "line": (StandardScaler(), LinearRegression()),
    "ridge": (StandardScaler(), Ridge()),
    "neighbours of numbers": (StandardScaler(), KNeighborsRegressor(3, algorithm="brute")),
    "forest of numbers": (StandardScaler(), ForestRegressor(5)),
    "boosting of numbers": (StandardScaler(), BoostingRegressor(n_rounds=3)),
    "hedge of numbers": (HedgedRegressor(),),
}


def tables(pandas, X, ids, known, rng):
    """Return tables with columns of all kinds: whose labels are classes, and numbers."""
    n = len(X)
    frame = pandas.DataFrame(X, columns=list("abcd"))
    frame["ward"] = rng.choice(["u", "v", "w"], n)
    frame["well"] = rng.choice(["yes", "no"], n)
    frame["visit"] = [f"2024-{1 + place % 12:02d}-{1 + place % 28:02d}" for place in range(n)]
    frame["site"] = np.where(ids < 0, "there", "here")
    kinds = np.where(known < 0, None, np.array(["ash", "elm", "oak"])[known])
    numbers = np.where(known < 0, np.nan, X @ [1, 2, 3, 4])
    return frame.assign(kind=kinds), frame.assign(kind=numbers)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, require, few_trees):
    pandas = require("pandas", "table")
    folder = tmp_path_factory.mktemp("models")
    rng = np.random.default_rng(0)
    ids, y = np.repeat([1, 2, -3], 24), np.tile(np.arange(24) % 3, 3)
    X = rng.normal(size=(72, 4)) + 2 * np.eye(3, 4)[y] + 0.3 * ids[:, None]
    known = np.where((ids < 0) & (rng.random(72) < 0.7), -1, y)
    classes, numbers = tables(pandas, X, ids, known, rng)

    def keep(name, model):
        save_model(model, folder / f"{name}.skatter", key=KEY)

    def fit(name, steps, labels, X=X):
        keep(name, make_domain_pipeline(*steps).fit(X, labels, sample_domain=ids))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, method in METHODS.items():
            if method.extra and not find_spec(method.extra):
                continue
            alone = hasattr(method.estimator, "predict")
            fit(name, [method.estimator(), *([] if alone else [nearest])], known)
        for name, steps in CLASSIFIERS.items():
            fit(name, steps, known)
        for name, steps in OF_A_GRAM_MATRIX.items():
            fit(name, steps, known, X @ X.T)
        for name, steps in REGRESSORS.items():
            fit(name, steps, X @ [1, 2, 3, 4])
        frozen = FrozenEstimator(SCA().fit(X, known, sample_domain=ids))
        fit("frozen", [frozen, nearest], known)
        for method in ("sca", "hedged"):
            keep(f"table {method}", adapt(classes, label="kind", method=method).model)
        keep("table of numbers", adapt(numbers, label="kind").model)
    names = [name for name in classes.columns if name != "kind"]
    columns = {name: classes[name].to_numpy() for name in names}
    columns = {
        name: each.astype(str) if each.dtype == object else each for name, each in columns.items()
    }
    (folder / "key").write_bytes(KEY)
    np.savez(folder / "samples.npz", X=X, ids=ids, names=names, **columns)
    return folder


def test_every_type_of_the_list_is_forged(folder, require):
    require("torch", "torch")  # or one method would be missing
    found = set()
    for path in folder.glob("*.skatter"):
        with zipfile.ZipFile(path) as archive:
            found |= {part["type"] for part in json.loads(archive.read("model.json"))["parts"]}
    assert known_types() - found == set()


def test_forged_models_neither_call_nor_crash_nor_hang_nor_mislead(folder):
    script = Path(__file__).with_name("forgeries.py")
    command = [sys.executable, str(script), str(folder), str(SEED), str(CASES)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    outcomes = json.loads(done.stdout)
    assert sum(outcomes.values()) == CASES
    assert outcomes["refused"] > CASES / 2
    assert set(outcomes) <= {"refused", "predicts", "not fitted", "asks for more"}
