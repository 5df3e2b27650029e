"""Every type of scikit-learn on the list keeps every bit, and the page of the docs has them all."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KernelCenterer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, SVR, LinearSVC

from skatter import SCA
from skatter.saving import load_model, save_model
from skatter.saving._schemas import SCIKIT_LEARN, name_of

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 4))
THREE, TWO, NUMBERS = np.arange(40) % 3, np.arange(40) % 2, X[:, 0]
TEXT = np.column_stack([RNG.choice(list(letters), 40) for letters in ("abc", "xy")]).astype(object)
GAPS = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
BRUTE = {"algorithm": "brute"}

CASES = [
    *((step, X, None) for step in (StandardScaler(), MinMaxScaler(), MaxAbsScaler())),
    *((step, X, None) for step in (RobustScaler(), Normalizer(), PCA(2), PCA(whiten=True))),
    *((step, X, None) for step in (RBFSampler(), Nystroem(n_components=5))),
    *((step, GAPS, None) for step in (StandardScaler(with_mean=False), SimpleImputer())),
    (SimpleImputer(strategy="most_frequent"), TEXT, None),
    (KernelCenterer(), X @ X.T, None),
    (FrozenEstimator(StandardScaler().fit(X)), X, None),
    (StandardScaler().set_output(transform="default"), X, None),
    *((OneHotEncoder(**way), TEXT, None) for way in ({}, {"drop": "first"}, {"drop": "if_binary"})),
    (OneHotEncoder(max_categories=2, handle_unknown="infrequent_if_exist"), TEXT, None),
    (OneHotEncoder(), THREE[:, None], None),
    (OneHotEncoder(), np.array([[1.0], [np.nan], [2.0]]), None),
    (make_column_transformer((StandardScaler(), [0, 1]), ("drop", [2])), X, None),
    (make_column_transformer((StandardScaler(), [0]), remainder="passthrough"), X, None),
    (make_pipeline("passthrough", StandardScaler(), LogisticRegression(n_jobs=2)), X, THREE),
    *(
        (model, X, y)
        for y in (THREE, TWO, THREE.astype(str))
        for model in (
            *(LogisticRegression(), LogisticRegression(fit_intercept=False), GaussianNB()),
            *(SVC(), SVC(kernel="poly", decision_function_shape="ovo"), LinearSVC()),
            *(LinearDiscriminantAnalysis(), LinearSVC(fit_intercept=False)),
            *(KNeighborsClassifier(**BRUTE), KNeighborsClassifier(p=3, **BRUTE)),
            KNeighborsClassifier(weights="distance", metric="cosine", **BRUTE),
        )
    ),
    *((model, X, NUMBERS) for model in (Ridge(), LinearRegression(), SVR(), RidgeCV())),
    *((model, X, X[:, :2]) for model in (Ridge(), KNeighborsRegressor(**BRUTE))),
    (SCA(kernel="precomputed"), X @ X.T, THREE),
    (SCA(random_state=np.random.RandomState(3)), X.astype(np.float32), THREE),
    (SCA(feature_map=make_pipeline(StandardScaler(), Nystroem(n_components=6))), X, THREE),
]


@pytest.mark.parametrize(("model", "given", "y"), CASES, ids=lambda value: type(value).__name__)
def test_a_saved_model_gives_the_same_bits_and_type(tmp_path, model, given, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(given, y)
    again = load_model(save_model(model, tmp_path / "m"))
    for name in ("transform", "predict", "predict_proba", "decision_function"):
        if hasattr(model, name):
            # A copy: scikit-learn computes otherwise with the very array that it was fitted on.
            here, there = (getattr(each, name)(given.copy()) for each in (model, again))
            here, there = (x.toarray() if hasattr(x, "toarray") else x for x in (here, there))
            assert here.dtype == there.dtype
            np.testing.assert_array_equal(here, there)


def test_every_type_on_the_list_is_tested_and_named_in_the_docs():
    inside = {"sklearn.preprocessing.FunctionTransformer"}  # of a column that is passed through
    tested = {name_of(type(model)) for model, _, _ in CASES} | inside
    assert tested >= set(SCIKIT_LEARN)
    page = (Path(__file__).parents[2] / "docs" / "saving.md").read_text(encoding="utf-8")
    public = {name.rpartition(".")[2] for name in set(SCIKIT_LEARN) - inside}
    assert not [name for name in sorted(public) if f"`{name}`" not in page]
