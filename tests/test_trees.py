"""Trees as arrays predict what scikit-learn's trees predict, and forged arrays are refused."""

from __future__ import annotations

import copy
import dataclasses
from functools import cache
from importlib.metadata import version

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.utils.estimator_checks import check_estimator
from threadpoolctl import threadpool_limits

from skatter import trees
from skatter.saving import ModelFileError, load_model, save_model
from skatter.trees import (
    BoostingClassifier,
    BoostingRegressor,
    ForestClassifier,
    ForestRegressor,
    TreeEnsemble,
)

FOREST, BOOSTING = ForestClassifier(20), BoostingClassifier(20)


@pytest.fixture(autouse=True)
def one_thread():
    with threadpool_limits(1, user_api="openmp"):
        yield


def problem(n_classes, n=300):
    X, y = make_classification(
        n, 12, n_informative=6, n_classes=n_classes, flip_y=0.2, random_state=n_classes
    )
    return X, np.array(["ant", "bee", "cat", "dog"])[y]


def with_gaps(X):
    return np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)


def scikit_forest(**settings):
    return RandomForestClassifier(20, random_state=0, **settings)


def scikit_boosting(**settings):
    return HistGradientBoostingClassifier(
        max_iter=20, max_leaf_nodes=15, early_stopping=False, random_state=0, **settings
    )


PAIRS = pytest.mark.parametrize(
    ("ours", "theirs"),
    [(FOREST, scikit_forest), (BOOSTING, scikit_boosting)],
    ids=["forest", "boosting"],
)


def assert_same(ours, theirs, X):
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=0, atol=1e-12)
    assert (ours.predict(X) == theirs.predict(X)).all()


# --- the same predictions as scikit-learn ---------------------------------------------------------


@PAIRS
@pytest.mark.parametrize("n_classes", [2, 4])
def test_predictions_are_those_of_scikit_learn(ours, theirs, n_classes):
    X, y = problem(n_classes)
    fitted = clone(ours).fit(X[:200], y[:200])
    assert_same(fitted, theirs().fit(X[:200], y[:200]), X)
    assert list(fitted.classes_) == sorted(set(y))


@PAIRS
@pytest.mark.parametrize("gaps_in_training", [True, False])
def test_missing_values_go_where_scikit_learn_sends_them(ours, theirs, gaps_in_training):
    X, y = problem(4)
    seen = with_gaps(X) if gaps_in_training else X
    assert_same(clone(ours).fit(seen, y), theirs().fit(seen, y), with_gaps(X))


@PAIRS
def test_a_column_where_only_missingness_tells_the_classes_apart(ours, theirs):
    y = np.arange(80) % 2
    X = np.where(y, np.nan, 1.0)[:, None]
    fitted = clone(ours).fit(X, y)
    assert_same(fitted, theirs().fit(X, y), X)
    # Before 1.8, forests of scikit-learn took such a column for a constant one.
    if SCIKIT_LEARN >= (1, 8) or isinstance(fitted, BoostingClassifier):
        assert (fitted.predict(X) == y).all()


@PAIRS
def test_weights_of_samples_and_classes_are_those_of_scikit_learn(ours, theirs):
    X, y = problem(4)
    weights = np.random.default_rng(0).uniform(0.1, 3, len(y))
    fitted = clone(ours).set_params(class_weight="balanced").fit(X, y, weights)
    assert_same(fitted, theirs(class_weight="balanced").fit(X, y, weights), X)
    assert (fitted.predict_proba(X) != clone(ours).fit(X, y).predict_proba(X)).any()


def test_a_forest_takes_sparse_samples_and_boosting_refuses_them():
    X, y = problem(2)
    X = sparse.csr_matrix(np.where(np.abs(X) < 1, 0, X))
    fitted = clone(FOREST).fit(X, y)
    assert_same(fitted, scikit_forest().fit(X, y), X)
    assert (fitted.predict_proba(X) == fitted.predict_proba(X.toarray())).all()
    with pytest.raises(TypeError, match="dense data is required"):
        clone(BOOSTING).fit(X, y)


def test_a_float_beside_the_threshold_falls_on_the_same_side():
    X, y = problem(2)
    theirs = scikit_forest().fit(X, y)
    cuts = np.concatenate([each.tree_.threshold for each in theirs.estimators_]).astype(np.float32)
    near = np.concatenate([np.nextafter(cuts, np.float32(way)) for way in (-np.inf, np.inf)])
    X_new = np.tile(np.concatenate([cuts, near])[:, None], (1, X.shape[1]))
    assert_same(clone(FOREST).fit(X, y), theirs, X_new)


def test_blocks_of_rows_and_of_trees_change_no_bit(monkeypatch):
    X, y = problem(4)
    for model in (clone(FOREST).fit(X, y), clone(BOOSTING).fit(X, y)):
        whole = model.predict_proba(X)
        assert (np.vstack([model.predict_proba(row[None]) for row in X[:20]]) == whole[:20]).all()
        with monkeypatch.context() as patch:
            patch.setattr(trees, "ROWS", 7)
            patch.setattr(trees, "WALKERS", 21)
            assert (model.predict_proba(X) == whole).all()


def test_trees_with_categories_are_refused():
    X = np.arange(200)[:, None] % 4
    model = HistGradientBoostingClassifier(categorical_features=[0], max_iter=1)
    with pytest.raises(ValueError, match="categorical splits"):
        TreeEnsemble.from_boosting(model.fit(X, X[:, 0] % 2))


def numbers():
    X, _ = problem(4)
    return X, X[:, 0] - 2 * np.abs(X[:, 1]) + np.random.default_rng(0).normal(size=len(X))


@pytest.mark.parametrize("gaps", [False, True])
def test_regressors_predict_what_those_of_scikit_learn_predict(gaps):
    X, y = numbers()
    X, weight = with_gaps(X) if gaps else X, np.linspace(0, 1, len(y))
    forest = RandomForestRegressor(20, max_features=0.3, oob_score=True, random_state=0)
    boosting = HistGradientBoostingRegressor(
        max_iter=20, max_leaf_nodes=15, early_stopping=False, random_state=0
    )
    ours = ForestRegressor(20, max_features=0.3)
    held_out = ours.fit_with_oob(X, y, weight)
    np.testing.assert_allclose(held_out, forest.fit(X, y, weight).oob_prediction_, atol=1e-12)
    for model, theirs in ((ours, forest), (BoostingRegressor(20).fit(X, y, weight), boosting)):
        expected = theirs.fit(X, y, weight).predict(X)
        np.testing.assert_allclose(model.predict(X), expected, rtol=0, atol=1e-12)


# --- out of bag -----------------------------------------------------------------------------------


def test_out_of_bag_probabilities_are_those_of_scikit_learn():
    X, y = problem(4)
    found = ForestClassifier(60).fit_with_oob(X, y)
    theirs = RandomForestClassifier(60, random_state=0, oob_score=True).fit(X, y)
    np.testing.assert_allclose(found, theirs.oob_decision_function_, rtol=0, atol=1e-12)


@pytest.mark.filterwarnings("error")
def test_rows_never_out_of_bag_get_the_class_frequencies():
    X, y = problem(2)
    model = ForestClassifier(1)
    found = model.fit_with_oob(X, y)
    frequencies = [np.mean(y == name) for name in model.classes_]
    assert 100 < (found == frequencies).all(axis=1).sum() < 250
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert (model.predict_proba(X) == clone(model).fit(X, y).predict_proba(X)).all()


def test_max_rows_bounds_the_trees_and_may_exceed_the_samples():
    X, y = problem(2)
    few, all_of_them = (ForestClassifier(20, max_rows=most).fit(X, y) for most in (30, 10**6))
    assert len(few.trees_.feature) < len(all_of_them.trees_.feature) / 3
    assert_same(few, scikit_forest(max_samples=30).fit(X, y), X)
    assert_same(all_of_them, scikit_forest().fit(X, y), X)


# --- scikit-learn's contract ----------------------------------------------------------------------

DRAWN = "a bootstrap draws other rows: scikit-learn's own forest fails it as well"
HEAVY_LEAVES = (
    "before 1.9 it needs min_weight_fraction_leaf, which the check gives to scikit-learn's"
)
SCIKIT_LEARN = tuple(int(part) for part in version("scikit-learn").split(".")[:2])


@pytest.mark.parametrize("kind", [ForestClassifier, ForestRegressor])
def test_the_forest_passes_the_checks_of_scikit_learn(kind):
    names = ("equivalence_on_dense_data", "equivalence_on_sparse_data")
    expected = {f"check_sample_weight_{name}": DRAWN for name in names}
    if SCIKIT_LEARN < (1, 9):
        expected["check_class_weight_classifiers"] = HEAVY_LEAVES
    check_estimator(kind(5), expected_failed_checks=expected, on_skip=None)


@pytest.mark.parametrize("kind", [BoostingClassifier, BoostingRegressor])
def test_boosting_passes_the_checks_of_scikit_learn(kind):
    check_estimator(kind(5), on_skip=None)


@pytest.mark.parametrize(
    ("model", "error", "words"),
    [
        (ForestClassifier(0), ValueError, "n_trees must be at least 1"),
        (ForestClassifier(2.0), TypeError, "n_trees must be an integer"),
        (ForestClassifier(max_rows=0), ValueError, "max_rows must be at least 1"),
        (BoostingClassifier(0), ValueError, "n_rounds must be at least 1"),
        (BoostingClassifier(max_leaf_nodes=1), ValueError, "max_leaf_nodes"),
    ],
)
def test_wrong_parameters_are_named(model, error, words):
    with pytest.raises(error, match=words):
        model.fit([[0.0], [1.0]], [0, 1])


# --- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [FOREST, BOOSTING], ids=["forest", "boosting"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_saved_model_predicts_the_same_bits(tmp_path, model, n_classes):
    X, y = problem(n_classes)
    model = clone(model).fit(X, y)
    again = load_model(save_model(model, tmp_path / "model.skatter"))
    assert (again.predict_proba(X) == model.predict_proba(X)).all()
    assert (again.predict(X) == model.predict(X)).all()


@pytest.mark.parametrize("model", [ForestRegressor(20), BoostingRegressor(20)])
def test_a_saved_regressor_predicts_the_same_bits(tmp_path, model):
    X, y = numbers()
    model = clone(model).fit(X, y)
    again = load_model(save_model(model, tmp_path / "model.skatter"))
    assert (again.predict(X) == model.predict(X)).all()


def test_a_forest_of_150_trees_is_a_small_file(tmp_path):
    model = ForestClassifier().fit(*problem(4, n=800))
    assert save_model(model, tmp_path / "model.skatter").stat().st_size < 1e6


def test_forged_trees_are_neither_saved_nor_walked(tmp_path):
    X, y = problem(2)
    model = clone(FOREST).fit(X, y)
    # A frozen object whose state is set behind its back, as a loader sets it.
    vars(model.trees_)["left"] = np.zeros_like(model.trees_.left)
    with pytest.raises(ModelFileError, match="leads back"):
        save_model(model, tmp_path / "model.skatter")
    with pytest.raises(ValueError, match="leads back"):
        model.predict(X)


# --- forged arrays --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ensemble():
    return clone(FOREST).fit(*problem(2)).trees_


def put(name, place, number):
    def change(state):
        array = state[name].copy()
        array[place] = number
        state[name] = array

    return change


def replace(name, make):
    return lambda state: state.update({name: make(state[name])})


FORGERIES = {
    "cycle": (put("left", 5, 3), "left .* leads back"),
    "itself": (put("right", 5, 5), "right .* leads back"),
    "child beyond the end": (put("right", 0, 10**8), "right .* outside"),
    "leaf beyond the end": (put("left", 0, -(10**8)), "left .* outside"),
    "smallest number": (put("left", 0, -(2**31)), "left .* outside"),
    "root beyond the end": (put("roots", 0, 10**8), "roots .* outside"),
    "feature beyond the end": (put("feature", 0, 12), "feature .* outside"),
    "negative feature": (put("feature", 0, -1), "feature .* outside"),
    "NaN threshold": (put("threshold", 0, np.nan), "threshold .* not finite"),
    "infinite value": (put("value", (0, 0), np.inf), "value .* not finite"),
    "NaN baseline": (put("baseline", 0, np.nan), "baseline .* not finite"),
    "output beyond the end": (put("output", 0, 1), "output .* outside"),
    "short": (replace("left", lambda array: array[:-1]), "equal length"),
    "more roots than outputs": (replace("roots", lambda array: array[:-1]), "equal length"),
    "no leaves": (replace("value", lambda array: array[:0]), "outside"),
    "wide leaves": (replace("value", lambda array: np.tile(array, 2)), "column for each output"),
    "empty leaves": (replace("value", lambda array: array[:, :0]), "column for each output"),
    "two dimensions": (replace("feature", lambda array: array[:, None]), "1-d array of int32"),
    "one dimension": (replace("value", np.ravel), "2-d array of float64"),
    "other integers": (replace("left", lambda array: array.astype(np.int64)), "int32"),
    "other byte order": (replace("left", lambda array: array.astype(">i4")), "int32"),
    "objects": (replace("threshold", lambda array: array.astype(object)), "float32 or float64"),
    "masked": (replace("left", np.ma.masked_array), "int32"),
    "a list": (replace("left", list), "int32"),
    "nothing": (lambda state: state.pop("value"), "value of the trees must be"),
    "no outputs": (replace("baseline", lambda array: array[:0]), "baseline .* empty"),
    "no features": (replace("n_features", lambda _: 0), "n_features"),
    "features as text": (replace("n_features", lambda _: "12"), "n_features"),
}


@pytest.mark.parametrize(("forge", "words"), FORGERIES.values(), ids=FORGERIES)
def test_forged_arrays_are_refused_in_one_line(ensemble, forge, words):
    state = dict(vars(ensemble))
    forge(state)
    loaded = TreeEnsemble.__new__(TreeEnsemble)
    vars(loaded).update(state)
    with pytest.raises(ValueError, match=words) as caught:
        loaded.predict(np.zeros((3, 12)))
    assert "\n" not in str(caught.value)
    if len(state) == len(dataclasses.fields(TreeEnsemble)):
        with pytest.raises(ValueError, match=words):
            TreeEnsemble(**state)


def test_samples_of_another_width_and_forged_classifiers_are_refused(ensemble):
    with pytest.raises(ValueError, match="12 columns"):
        ensemble.predict(np.zeros((3, 11)))
    X, y = problem(2)
    model = clone(FOREST).fit(X, y)
    model.classes_ = np.array(["ant"])
    with pytest.raises(ValueError, match="predict 2 classes"):
        model.predict(X)
    model.trees_ = "trees"
    with pytest.raises(ValueError, match="must be a TreeEnsemble"):
        model.predict(X)


ARRAYS = [field.name for field in dataclasses.fields(TreeEnsemble) if field.name != "n_features"]
NUMBERS = st.one_of(
    st.integers(-40, 40), st.integers(-(2**31), 2**31 - 1), st.floats(), st.floats(-1e3, 1e3)
)
SMALL_X, SMALL_Y = problem(4, n=60)


@cache
def small(kind):
    return {"forest": ForestClassifier, "boosting": BoostingClassifier}[kind](3).fit(
        SMALL_X, SMALL_Y
    )


def mutated(array, places, number, cut):
    """Return a copy with another number in some places, and perhaps without its end."""
    array = array.copy()
    with np.errstate(all="ignore"):
        changed = np.array(number).astype(array.dtype)
    for place in places:
        array.flat[place % array.size] = changed
    return array[: len(array) - cut]


def forged(model, **arrays):
    """Return the model with other arrays in its trees, set without a check as a loader does."""
    model, loaded = copy.copy(model), TreeEnsemble.__new__(TreeEnsemble)
    vars(loaded).update(vars(model.trees_), **arrays)
    model.trees_ = loaded
    return model


@pytest.mark.filterwarnings("ignore:overflow")
@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(["forest", "boosting"]),
    st.sampled_from(ARRAYS),
    st.lists(st.integers(0, 10**6), max_size=3),
    NUMBERS,
    st.integers(0, 1),
)
def test_any_mutation_predicts_finite_numbers_or_is_refused(kind, name, places, number, cut):
    model = small(kind)
    array = mutated(getattr(model.trees_, name), places, number, cut)
    refusal = ""
    try:
        found = forged(model, **{name: array}).predict_proba(SMALL_X)
    except ValueError as error:
        found, refusal = np.zeros(0), str(error)
    assert np.isfinite(found).all()
    assert "\n" not in refusal


def test_sums_that_overflow_are_refused():
    large = np.full_like(small("forest").trees_.value, 1.5e308)
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="add up to"):
        forged(small("forest"), value=large).predict(SMALL_X)
