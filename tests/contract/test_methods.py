"""What every registered method promises; a new one is covered by being registered."""

from __future__ import annotations

import pickle
import re
import tracemalloc
import warnings
from dataclasses import replace
from inspect import getdoc
from typing import get_args

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator, estimator_checks_generator
from sklearn.utils.metadata_routing import get_routing_for_object

import skatter
from skatter import SCACV
from skatter._parameters import rules_of
from skatter.methods import METHODS, Method, get_method
from skatter.methods._base import Rival
from skatter.methods._generalization import Generalizer
from skatter.methods._record import Kind, Need

pytestmark = pytest.mark.usefixtures("few_trees")

ANSWERS = {"features": "transform", "classifier": "predict", "weights": "predict"}
"""The method of an estimator that says what it learnt, by kind."""

DOMAINS = {"one target", "target labels", "several sources"}
"""A method that needs none of these works with a single domain."""

TOLERANCE = 1e-7
"""Relative to the largest value: what the default tolerance of an iterative solver leaves."""


@pytest.fixture(params=sorted(METHODS))
def method(request, require) -> Method:
    chosen = METHODS[request.param]
    if chosen.extra:
        require(chosen.extra, extra=chosen.extra)
    return chosen


@pytest.fixture
def data(method, three_domains):
    """A problem that has all that the method needs, and no more."""
    return fit_for(method, three_domains)


@pytest.fixture(scope="module")
def fits():
    return {}


@pytest.fixture
def fitted(method, data, fits):
    """The method fitted on the data as they are: once for all tests, none of which changes it."""
    if method.name not in fits:
        fits[method.name] = fit(method, data)
    return fits[method.name]


@pytest.fixture(scope="module")
def many(make_problem):
    """Enough samples for a solver to go iterative; partly labelled, so that no need is missed."""
    return partly_labelled(make_problem(3, n=60, seed=1))


@pytest.fixture
def fitted_to_many(method, many, fits):
    """The same for many samples."""
    name = f"{method.name}, many"
    if name not in fits:
        fits[name] = fit(method, many)
    return fits[name]


def fit_for(method, problem):
    return partly_labelled(problem) if "target labels" in method.needs else problem


def partly_labelled(problem):
    """Some labels in the target, whose id has a sign, since it would count as a source else."""
    return replace(signed(problem), known=with_some_target_labels(problem))


def signed(problem):
    """Domains as integers, the unlabelled one negative."""
    _, numbers = np.unique(problem.domain, return_inverse=True)
    target = np.isin(numbers, numbers[problem.unlabelled])
    return replace(problem, domain=np.where(target, -1 - numbers, numbers))


def with_some_target_labels(data):
    some = data.unlabelled & (np.cumsum(data.unlabelled) <= 9)
    return np.where(some, data.y, data.known)


def fit(method, problem, **changes):
    """A new estimator of the method, fitted on a problem of which some parts may be changed."""
    given = {"X": problem.X, "y": problem.known, "sample_domain": problem.domain, **changes}
    return method.estimator().fit(given.pop("X"), given.pop("y"), **given)


def answer(method, model, X, **metadata):
    """The answer as an array; features of sparse samples may be sparse."""
    out = getattr(model, ANSWERS[method.kind])(X, **metadata)
    return out.toarray() if sparse.issparse(out) else out


def answers(method, model, X):
    """What the answer is read off: features, or how much speaks for each class."""
    known = ("decision_function", "predict_proba", ANSWERS[method.kind])
    return getattr(model, next(ask for ask in known if hasattr(model, ask)))(X)


def assert_same(actual, expected, tolerance=TOLERANCE):
    """Equal classes, or numbers equal up to a share of the largest one."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape
    if expected.dtype.kind != "f":
        np.testing.assert_array_equal(actual, expected)
        return
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * np.abs(expected).max())


def assert_same_bits(actual, expected):
    assert actual.dtype == expected.dtype
    np.testing.assert_array_equal(actual, expected)


# --- scikit-learn's own contract ------------------------------------------------------------------


CALLS = {
    "check_dict_unchanged",
    "check_estimator_cloneable",
    "check_estimators_fit_returns_self",
    "check_estimators_overwrite_params",
    "check_estimators_pickle",
    "check_estimators_unfitted",
    "check_fit_check_is_fitted",
    "check_fit_score_takes_y",
    "check_get_params_invariance",
    "check_methods_sample_order_invariance",
    "check_parameters_default_constructible",
    "check_pipeline_consistency",
    "check_set_params",
    "check_valid_tag_types",
}
CALLS_OF = {
    "features": {"check_transformer_general", "check_transformers_unfitted"},
    "classifier": {"check_decision_proba_consistency", "check_requires_y_none"},
    "weights": {"check_decision_proba_consistency", "check_requires_y_none"},
}
"""Checks of how an estimator is made, asked and copied, all that routing could change; the others
are about samples and labels, and none of scikit-learn's checks looks at routing itself."""


@pytest.mark.parametrize("routing", [False, True], ids=["routing off", "routing on"])
def test_scikit_learn_finds_no_fault(method, routing):
    # That routing leaves the answers as they are, to the bit, is shown below.
    if routing:
        assert_no_fault_in_calls(method)
    else:
        assert_no_fault(method.estimator())


@pytest.mark.parametrize("routing", [False, True], ids=["routing off", "routing on"])
def test_scikit_learn_finds_no_fault_in_the_search(routing):
    with sklearn.config_context(enable_metadata_routing=routing):
        assert_no_fault(SCACV(n_components=[1, 2], betas=[0.0, 1.0], deltas=[1.0], cv=2))


def assert_no_fault(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks' own data are degenerate on purpose
        results = check_estimator(model, on_fail=None, on_skip=None)
    faults = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    skipped = {r["check_name"] for r in results if r["status"] == "skipped"}
    assert faults == {}
    assert skipped <= {"check_array_api_input"}
    assert sum(r["status"] == "passed" for r in results) > 40


def assert_no_fault_in_calls(method):
    calls, checked = CALLS | CALLS_OF[method.kind], set()
    with sklearn.config_context(enable_metadata_routing=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for estimator, check in estimator_checks_generator(method.estimator()):
            if check.func.__name__ in calls:
                check(estimator)
                checked.add(check.func.__name__)
    assert checked == calls


def test_fit_asks_for_the_domains_where_metadata_are_routed(method):
    with sklearn.config_context(enable_metadata_routing=True):
        routing = get_routing_for_object(method.estimator())
        assert routing.consumes("fit", ["sample_domain"]) == {"sample_domain"}


def test_a_scikit_learn_pipeline_hands_on_the_domains_where_metadata_are_routed(method, data):
    with sklearn.config_context(enable_metadata_routing=True):
        piped = make_pipeline(StandardScaler(), method.estimator())
        piped.fit(data.X, data.known, sample_domain=data.domain)
        actual = answer(method, piped, data.X_new)
    scaler = StandardScaler().fit(data.X)
    expected = fit(method, data, X=scaler.transform(data.X))
    assert_same_bits(actual, answer(method, expected, scaler.transform(data.X_new)))


def predicts(method):
    return ANSWERS[method.kind] == "predict"


def test_score_is_the_accuracy_over_the_samples_that_have_a_label(method, data, fitted):
    if not predicts(method):
        return
    right = fitted.predict(data.X, sample_domain=data.domain) == data.y
    known, weight = data.known >= 0, np.linspace(0.5, 1.5, len(data.X))
    marked = {
        "-1": data.known,
        "NaN": np.where(known, data.y, np.nan),
        "None": np.where(known, data.y, None),
        "blank": np.where(known, data.y.astype(object), ""),
    }
    assert 0 < known.sum() < len(known)
    for y in marked.values():
        score = fitted.score(data.X, y, sample_domain=data.domain)
        assert score == pytest.approx(right[known].mean())
        score = fitted.score(data.X, y, weight, sample_domain=data.domain)
        assert score == pytest.approx(np.average(right[known], weights=weight[known]))
    plain = fitted.predict(data.X) == data.y
    assert fitted.score(data.X, data.y) == pytest.approx(plain.mean())


def test_score_without_any_label_is_an_error(method, data, fitted):
    if not predicts(method):
        return
    for y in (np.full(len(data.X), -1), np.full(len(data.X), np.nan), [None] * len(data.X)):
        with pytest.raises(ValueError, match="y has no labelled sample to score"):
            fitted.score(data.X, y, sample_domain=data.domain)


def test_score_asks_for_the_domains_where_metadata_are_routed(method):
    if not predicts(method):
        return
    with sklearn.config_context(enable_metadata_routing=True):
        routing = get_routing_for_object(method.estimator())
        assert routing.consumes("score", ["sample_domain"]) == {"sample_domain"}


def test_a_clone_is_unfitted_and_has_the_same_parameters(method, data, fitted):
    copy = clone(fitted)
    assert copy.get_params(deep=False) == fitted.get_params(deep=False)
    with pytest.raises(NotFittedError):
        answer(method, copy, data.X)


def test_a_clone_learns_the_same_to_the_bit(method, data, fitted):
    copy = clone(fitted).fit(data.X, data.known, sample_domain=data.domain)
    assert_same_bits(answer(method, copy, data.X_new), answer(method, fitted, data.X_new))


def test_pickling_keeps_what_was_learnt_to_the_bit(method, data, fitted):
    copy = pickle.loads(pickle.dumps(fitted))
    assert_same_bits(answer(method, copy, data.X_new), answer(method, fitted, data.X_new))


def test_parameters_round_trip(method):
    params = method.estimator().get_params()
    assert method.estimator().set_params(**params).get_params() == params


# --- domains and labels ---------------------------------------------------------------------------


def test_new_samples_of_new_domains_have_an_answer(method, data, fitted):
    seen, new = answer(method, fitted, data.X), answer(method, fitted, data.X_new)
    unheard = np.full(len(data.X_new), "zagreb")
    placed = answer(method, fitted, data.X_new, sample_domain=unheard)
    assert new.shape == placed.shape == (len(data.X_new), *seen.shape[1:])
    assert np.isfinite(new.astype(float)).all()
    assert np.isfinite(placed.astype(float)).all()


def test_fit_transform_is_fit_and_then_transform(method, data, fitted):
    if method.kind != "features":
        assert not hasattr(method.estimator(), "fit_transform")
        return
    at_once = method.estimator().fit_transform(data.X, data.known, sample_domain=data.domain)
    assert_same(fitted.transform(data.X, sample_domain=data.domain), at_once)


def test_names_and_numbers_of_domains_and_classes_mean_the_same(method, data, fitted):
    expected = answer(method, fitted, data.X_new)
    names = np.array(["ant", "bee", "cow"])  # sorted as the numbers are
    known = np.where(data.known < 0, None, names[data.known])
    numbers = signed(data).domain
    named = answer(method, fit(method, data, y=known, sample_domain=numbers), data.X_new)
    assert_same(named, expected if method.kind == "features" else names[expected])


def test_renaming_classes_and_domains_changes_nothing(method, data, fitted):
    expected = answer(method, fitted, data.X_new)
    names = np.array(["zebra", "cow", "horse"])
    known = np.where(data.known < 0, None, names[data.known])
    if data.domain.dtype.kind == "U":
        renamed = np.char.replace(np.char.replace(data.domain, "amsterdam", "zurich"), "b", "x")
    else:
        renamed = np.where(data.domain < 0, data.domain, 7 - data.domain)
    actual = answer(method, fit(method, data, y=known, sample_domain=renamed), data.X_new)
    assert_same(actual, expected if method.kind == "features" else names[expected])


def test_one_domain_is_enough_unless_the_method_says_otherwise(method, data):
    alone = {"y": data.y, "sample_domain": np.full(len(data.y), "here")}
    if DOMAINS & set(method.needs):
        with pytest.raises(ValueError, match="domain"):
            fit(method, data, **alone)
        return
    one = answer(method, fit(method, data, **alone), data.X_new)
    assert len(one) == len(data.X_new)
    absent = answer(method, fit(method, data, **(alone | {"sample_domain": None})), data.X_new)
    assert_same_bits(absent, one)


def test_a_method_that_needs_labels_says_so(method, data):
    required = get_tags(method.estimator()).target_tags.required
    assert required == ("source labels" in method.needs)
    if not required:
        assert answer(method, fit(method, signed(data), y=None), data.X_new).size
        return
    for nothing in (None, np.full(len(data.y), -1)):
        with pytest.raises(ValueError, match=r"requires y .* no labelled sample"):
            fit(method, data, y=nothing)


def test_a_partly_labelled_target_may_mark_what_is_missing_in_any_way(method, three_domains):
    data = partly_labelled(three_domains)
    known = data.known
    expected = answer(method, fit(method, data, y=known), data.X_new)
    marks = {
        "NaN": {"y": np.where(known < 0, np.nan, known)},
        "None": {"y": np.where(known < 0, None, known)},
        "a list": {"y": [None if value < 0 else int(value) for value in known]},
        "a mask": {"y": data.y, "labelled": known >= 0},
    }
    for name, given in marks.items():
        actual = answer(method, fit(method, data, **given), data.X_new)
        np.testing.assert_array_equal(actual, expected, err_msg=name)


def test_labels_of_a_target_are_used_where_the_method_says_so(method, data):
    data = signed(data) if data.domain.dtype.kind == "U" else data
    without = answers(method, fit(method, data), data.X_new)
    wrong = np.where(data.unlabelled, (data.y + 1) % 3, data.y)
    with_labels = answers(method, fit(method, data, y=wrong), data.X_new)
    if "target labels" in method.needs + method.uses:
        assert not np.array_equal(with_labels, without)
    else:
        assert_same(with_labels, without)


def test_hidden_target_labels_are_never_looked_at(method, data, fitted):
    expected = answer(method, fitted, data.X_new)
    lies = np.where(data.unlabelled, 99, data.y)
    actual = answer(method, fit(method, data, y=lies, labelled=~data.unlabelled), data.X_new)
    assert_same_bits(actual, expected)


# --- containers and types -------------------------------------------------------------------------


def test_pandas_frames_and_columns_are_samples_labels_and_domains(method, data, fitted, require):
    pd = require("pandas")
    columns = [f"sensor {i}" for i in range(data.X.shape[1])]
    index = np.arange(len(data.X))[::-1]  # an index that is not 0, 1, 2 ... must not be read
    model = fit(
        method,
        data,
        X=pd.DataFrame(data.X, columns=columns, index=index),
        y=pd.Series(data.known, index=index),
        sample_domain=pd.Series(data.domain, index=index),
    )
    assert model.feature_names_in_.tolist() == columns
    new = pd.DataFrame(data.X_new, columns=columns)
    expected = answer(method, fitted, data.X_new)
    assert_same(answer(method, model, new), expected, 1e-9)
    with pytest.raises(ValueError, match="feature names"):
        answer(method, model, new.rename(columns={"sensor 0": "thermometer"}))


def test_pandas_missing_values_and_categories_are_labels(method, data, fitted, require):
    pd = require("pandas")
    expected = answer(method, fitted, data.X_new)
    marked = pd.Series(data.known).where(data.known >= 0)
    for column in (marked.astype("Int64"), marked.astype("category")):
        model = fit(method, data, y=column, sample_domain=pd.Categorical(data.domain))
        assert_same_bits(answer(method, model, data.X_new), expected)


def test_polars_frames_and_columns_are_samples_labels_and_domains(method, data, fitted, require):
    pl = require("polars")
    model = fit(
        method,
        data,
        X=pl.DataFrame(data.X, schema=[f"x{i}" for i in range(data.X.shape[1])]),
        y=pl.Series([None if value < 0 else int(value) for value in data.known]),
        sample_domain=pl.Series(data.domain.tolist()),
    )
    new = pl.DataFrame(data.X_new, schema=[f"x{i}" for i in range(data.X.shape[1])])
    expected = answer(method, fitted, data.X_new)
    assert_same(answer(method, model, new), expected, 1e-9)


def test_lists_are_samples_labels_and_domains(method, data, fitted):
    given = {"X": data.X.tolist(), "y": data.known.tolist(), "sample_domain": data.domain.tolist()}
    model = fit(method, data, **given)
    expected = answer(method, fitted, data.X_new)
    assert_same_bits(answer(method, model, data.X_new.tolist()), expected)


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array])
def test_sparse_samples_give_what_dense_ones_give(method, data, make):
    X, X_new = (np.where(np.abs(values) > 0.5, values, 0) for values in (data.X, data.X_new))
    if not get_tags(method.estimator()).input_tags.sparse:
        with pytest.raises(TypeError, match=r"[Ss]parse"):
            fit(method, data, X=make(X))
        return
    model, dense = fit(method, data, X=make(X)), fit(method, data, X=X)
    assert_same(answer(method, model, make(X_new)), answer(method, dense, X_new))
    assert_same(answer(method, model, X_new), answer(method, dense, X_new))


def test_float32_stays_float32(method, data, fitted):
    single = fit(method, data, X=data.X.astype(np.float32))
    actual = answer(method, single, data.X_new.astype(np.float32))
    expected = answer(method, fitted, data.X_new)
    if method.kind == "features":
        assert actual.dtype == np.float32
        assert expected.dtype == np.float64
        actual, expected = actual[:, :2], expected[:, :2]
    assert_same(actual, expected, 1e-3)


@pytest.mark.parametrize(("dtype", "size"), [(np.float64, 1e300), (np.float32, 1e30)])
def test_numbers_too_large_to_square_are_refused_and_give_no_nan(method, data, dtype, size):
    if method.kind != "features":
        pytest.skip("classifiers have checks of their own")
    X = np.array(data.X, dtype=dtype)
    model = fit(method, data, X=X)
    X[0, 0] = -size
    with pytest.raises(ValueError, match=r"X holds a number of size .* power of ten"):
        model.transform(X)
    with pytest.raises(ValueError, match="X holds a number of size"):
        fit(method, data, X=X)


def test_whole_numbers_are_samples(method, data):
    whole = np.round(10 * data.X).astype(int)
    actual = answer(method, fit(method, data, X=whole), whole[:5])
    expected = answer(method, fit(method, data, X=whole.astype(float)), whole[:5].astype(float))
    assert_same_bits(actual, expected)


def test_components_have_names_and_come_as_a_frame_when_asked(method, data, require):
    if method.kind != "features":
        assert not hasattr(method.estimator(), "get_feature_names_out")
        return
    pd = require("pandas")
    model = fit(method, data)
    names = model.get_feature_names_out().tolist()
    assert names == [f"{type(model).__name__.lower()}{i}" for i in range(len(names))]
    frame = model.set_output(transform="pandas").transform(data.X_new)
    assert isinstance(frame, pd.DataFrame)
    assert frame.columns.tolist() == names


def test_fewer_components_are_the_first_of_more_where_the_method_says_so(method, data):
    if not method.nested:
        return
    few, more = (
        method.estimator(n_components=k).fit(data.X, data.known, sample_domain=data.domain)
        for k in (1, 2)
    )
    assert_same(
        answer(method, few, data.X_new), answer(method, more, data.X_new)[:, :1], tolerance=1e-5
    )


def test_a_fit_holds_no_matrix_of_samples_by_samples_where_the_method_says_so(method, make_problem):
    if not method.linear:
        return
    few, problem = (fit_for(method, make_problem(2, n=size)) for size in (10, 200))
    fit(method, few)  # libraries that are loaded now are not counted
    n = len(problem.X)
    model = method.estimator()
    if "max_rows" in model.get_params():
        model.set_params(max_rows=n // 12)  # up to so many samples it is quadratic
    tracemalloc.start()
    try:
        model.fit(problem.X, problem.known, sample_domain=problem.domain)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * n * n / 2


# --- promises that others break -------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F"])
def test_fit_leaves_its_inputs_untouched_to_the_bit(method, data, dtype, order):
    X = np.array(data.X, dtype=dtype, order=order)
    y, domain = data.known.copy(), data.domain.copy()
    before = [values.tobytes() for values in (X, y, domain)]
    model = method.estimator().fit(X, y, sample_domain=domain)
    answer(method, model, X, sample_domain=domain)
    assert [values.tobytes() for values in (X, y, domain)] == before


def test_fit_leaves_labels_that_are_objects_untouched(method, data):
    objects = np.where(data.known < 0, None, data.known)
    before = objects.tolist()
    fit(method, data, y=objects)
    assert objects.tolist() == before


def test_fit_leaves_a_sparse_matrix_untouched_to_the_bit(method, data):
    X = sparse.csr_array(np.where(data.X > 1, data.X, 0))
    parts = [X.data.tobytes(), X.indices.tobytes(), X.indptr.tobytes()]
    if get_tags(method.estimator()).input_tags.sparse:
        answer(method, fit(method, data, X=X), X)
    else:
        with pytest.raises(TypeError, match=r"[Ss]parse"):
            fit(method, data, X=X)
    assert [X.data.tobytes(), X.indices.tobytes(), X.indptr.tobytes()] == parts


def test_what_was_learnt_does_not_follow_later_changes_of_the_inputs(method, data):
    X, y, domain = data.X.copy(), data.known.copy(), data.domain.copy()
    model = method.estimator().fit(X, y, sample_domain=domain)
    expected = answer(method, model, data.X_new)
    X[:], y[:], domain[:] = 0, 0, domain[0]
    assert_same_bits(answer(method, model, data.X_new), expected)


def test_read_only_samples_are_fine(method, data, fitted):
    assert not data.X.flags.writeable
    assert len(answer(method, fitted, data.X)) == len(data.X)


def test_the_order_of_the_samples_does_not_matter(method, data, fitted):
    other = fit(method, data, **shuffled(data))
    assert_same(answer(method, other, data.X_new), answer(method, fitted, data.X_new))
    assert_same(answer(method, other, data.X), answer(method, fitted, data.X))


def test_the_order_of_many_samples_does_not_matter(method, many, fitted_to_many):
    other = fit(method, many, **shuffled(many))
    actual = answer(method, other, many.X_new)
    expected = answer(method, fitted_to_many, many.X_new)
    # Close eigenvalues may mix within the solver's tolerance; inner products do not see it.
    if method.kind == "features":
        actual, expected = actual @ actual.T, expected @ expected.T
    assert_same(actual, expected, 1e-5)


def shuffled(data):
    mixed = np.random.default_rng(1).permutation(len(data.X))
    return {"X": data.X[mixed], "y": data.known[mixed], "sample_domain": data.domain[mixed]}


def test_the_answer_moves_with_its_row(method, data, fitted):
    mixed = np.random.default_rng(3).permutation(len(data.X))
    assert_same(answer(method, fitted, data.X[mixed]), answer(method, fitted, data.X)[mixed], 1e-12)


def test_the_answer_for_a_sample_does_not_depend_on_its_neighbours(method, data, fitted):
    together = answer(method, fitted, data.X)
    alone = np.concatenate([answer(method, fitted, data.X[i : i + 1]) for i in range(len(data.X))])
    assert_same(alone, together, 1e-12)


def test_many_samples_are_answered_as_few_are(method, data, fitted):
    many = answer(method, fitted, np.tile(data.X_new, (800, 1)))
    once = answer(method, fitted, data.X_new)
    assert_same(many, np.concatenate([once] * 800), 1e-12)


@pytest.mark.parametrize("size", ["few", "many"])
def test_two_runs_give_identical_bits(method, data, many, size, request):
    data = data if size == "few" else many
    model = request.getfixturevalue("fitted" if size == "few" else "fitted_to_many")
    expected = answer(method, model, data.X)
    again = clone(model)
    np.random.seed(2)  # noqa: NPY002 - the global state is what must not matter
    for _ in range(1 if size == "many" else 2):
        again.fit(data.X, data.known, sample_domain=data.domain)
        assert_same_bits(answer(method, again, data.X), expected)


def test_fit_leaves_the_global_random_state_alone(method, data):
    np.random.seed(0)  # noqa: NPY002
    answer(method, fit(method, data), data.X)
    drawn = np.random.random_sample()  # noqa: NPY002
    np.random.seed(0)  # noqa: NPY002
    assert drawn == np.random.random_sample()  # noqa: NPY002


def test_a_second_fit_forgets_the_first(method, data, make_problem):
    other = fit_for(method, make_problem(3, n_classes=2, n=20, seed=5))
    model = fit(method, data)
    model.fit(other.X, other.known, sample_domain=other.domain)
    expected = answer(method, fit(method, other), other.X_new)
    assert_same_bits(answer(method, model, other.X_new), expected)


# --- bad input ------------------------------------------------------------------------------------

MANY = 150_000
"""Rows whose Gram matrix would take 168 GiB: an error that comes, comes before heavy work."""


@pytest.fixture(scope="module")
def large():
    X = np.random.default_rng(0).normal(size=(MANY, 2))
    y = np.arange(MANY) % 3
    y[-MANY // 4 :] = -1  # all needs are met: two sources, and some labels in the target
    return X, y, np.repeat([1, 3, -2, -2], MANY // 4)


def takes(method, value):
    """Whether a value that is not finite may be among the samples: missing ones, where said."""
    return np.isnan(value) and get_tags(method.estimator()).input_tags.allow_nan


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_is_refused_before_heavy_work(method, large, value):
    if takes(method, value):
        return
    X, y, domain = large
    X = X.copy()
    X[-1, -1] = value
    with pytest.raises(ValueError, match="NaN" if np.isnan(value) else "infinity"):
        method.estimator().fit(X, y, sample_domain=domain)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_new_value_that_is_not_finite_is_refused(method, data, fitted, value):
    X_new = data.X_new.copy()
    X_new[0, 0] = value
    if takes(method, value):
        assert np.isfinite(answer(method, fitted, X_new).astype(float)).all()
        return
    with pytest.raises(ValueError, match="NaN" if np.isnan(value) else "infinity"):
        answer(method, fitted, X_new)


@pytest.mark.parametrize("short", ["y", "sample_domain", "labelled"])
def test_lengths_that_differ_are_refused_before_heavy_work(method, large, short):
    X, y, domain = large
    given = {"y": y, "sample_domain": domain, "labelled": y >= 0}
    given[short] = given[short][:-1]
    expected = f"X has {MANY}.*{short} has {MANY - 1}"
    with pytest.raises(ValueError, match=expected):
        method.estimator().fit(X, **given)


def test_a_domain_without_an_id_is_refused_before_heavy_work(method, large):
    X, y, domain = large
    domain = domain.astype(object)
    domain[17] = None
    with pytest.raises(ValueError, match="sample_domain has no id at row 17"):
        method.estimator().fit(X, y, sample_domain=domain)


def test_an_unknown_value_of_a_parameter_is_refused_before_heavy_work(method, large):
    X, y, domain = large
    with pytest.raises(ValueError, match="Invalid parameter 'magic'"):
        method.estimator().set_params(magic=1)
    params = method.estimator().get_params()
    for name in (name for name, value in params.items() if isinstance(value, str)):
        model = method.estimator().set_params(**{name: "no such thing"})
        with pytest.raises(ValueError, match=f"{name} must be .*'no such thing'"):
            model.fit(X, y, sample_domain=domain)


def test_a_rival_declares_the_rules_of_all_its_parameters(method):
    if issubclass(method.estimator, Rival):
        assert set(rules_of(method.estimator)) == set(method.estimator().get_params(deep=False))


@pytest.mark.parametrize(
    ("value", "error"), [(0, ValueError), (-3, ValueError), (1.5, TypeError), ("two", TypeError)]
)
def test_a_number_of_components_that_is_none_is_refused(method, large, value, error):
    if "n_components" not in method.estimator().get_params():
        assert "n_components" not in method.grid
        return
    X, y, domain = large
    with pytest.raises(error, match=r"n_components must be .*" + re.escape(repr(value))):
        method.estimator().set_params(n_components=value).fit(X, y, sample_domain=domain)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.array([["a", "b"], ["c", "d"]], dtype=object), "not a number"),
        (np.ones((4, 2)) * 1j, "Complex data not supported"),
        (np.ones(4), "2D array"),
        (np.ones((4, 2, 2)), "dim 3"),
    ],
    ids=["text", "complex", "one dimension", "three dimensions"],
)
def test_samples_that_are_no_table_of_numbers_are_refused(method, bad, message):
    with pytest.raises(ValueError, match=message):
        method.estimator().fit(bad, [0, 1, 0, 1][: len(bad)])


def test_new_samples_of_another_width_are_refused(method, data, fitted):
    with pytest.raises(ValueError, match=r"3 features.*expecting 5 features"):
        answer(method, fitted, data.X_new[:, :3])


def test_an_unfitted_method_says_so(method, data):
    with pytest.raises(NotFittedError):
        answer(method, method.estimator(), data.X)


# --- what a method needs --------------------------------------------------------------------------


def test_a_missing_target_is_named(method, three_domains):
    if "one target" not in method.needs:
        return
    for domain in (three_domains.domain, np.abs(signed(three_domains).domain)):
        with pytest.raises(ValueError, match=r"needs a target domain.*negative integer"):
            fit(method, three_domains, y=three_domains.y, sample_domain=domain)


def test_a_missing_source_is_named(method, data):
    if "one target" not in method.needs:
        return
    with pytest.raises(ValueError, match=r"source domain|requires y"):
        fit(method, data, y=data.y, sample_domain=np.full(len(data.y), -2))


def test_more_than_one_target_is_refused_where_the_method_takes_one(method, make_problem):
    data = fit_for(method, make_problem(4))
    domain = np.where(signed(data).domain == 1, -7, signed(data).domain)
    if "one target" not in method.needs:
        assert len(answer(method, fit(method, data, sample_domain=domain), data.X_new))
        return
    with pytest.raises(ValueError, match=r"takes one target domain, got 2 \(-7, -\d\)"):
        fit(method, data, sample_domain=domain)


def test_missing_target_labels_are_named(method, three_domains):
    if "target labels" not in method.needs:
        return
    for problem in (three_domains, signed(three_domains)):
        with pytest.raises(ValueError, match="labelled samples in the target domain"):
            fit(method, problem)


def test_without_names_of_domains_a_method_that_needs_a_target_says_that_it_sees_none(method, data):
    if "one target" not in method.needs:
        return
    with pytest.warns(UserWarning, match="sees no target"):
        fit(method, data, y=data.y, sample_domain=None)


def test_without_names_of_domains_a_method_that_needs_several_sources_says_so(method, data):
    if "several sources" not in method.needs:
        return
    with pytest.warns(UserWarning, match="sees one source domain: sample_domain is None"):
        fit(method, data, y=data.y, sample_domain=None)


def test_a_single_source_is_refused_where_several_are_needed(method, two_domains):
    data = fit_for(method, two_domains)
    if "several sources" not in method.needs:
        assert len(answer(method, fit(method, data), data.X_new))
        return
    with pytest.raises(ValueError, match=r"two source domains or more, got 1 \(amsterdam\)"):
        fit(method, data)


def test_a_method_that_generalises_learns_nothing_from_a_target(method, data, fitted):
    if not issubclass(method.estimator, Generalizer) or "one target" in method.uses:
        return
    nonsense = np.where(data.unlabelled[:, None], 1e3, data.X)
    absent = {
        "X": data.X[~data.unlabelled],
        "y": data.y[~data.unlabelled],
        "sample_domain": data.domain[~data.unlabelled],
    }
    expected = answer(method, fitted, data.X_new)
    for changes in ({"X": nonsense}, absent):
        assert_same_bits(answer(method, fit(method, data, **changes), data.X_new), expected)


def test_a_single_sample_of_a_new_domain_is_refused_where_a_set_is_needed(method, data, fitted):
    alone = {"X": data.X_new[:1], "sample_domain": ["zagreb"]}
    if "a set of new samples" not in method.needs:
        assert len(answer(method, fitted, **alone)) == 1
        return
    with pytest.raises(ValueError, match=r"a set of samples.*zagreb.*1 sample"):
        answer(method, fitted, **alone)


def test_weights_are_of_the_source_and_not_negative(method, data, fitted):
    if method.kind != "weights":
        return
    weights = fitted.weights_
    assert weights.shape == (len(data.X),)
    assert (weights >= 0).all()
    assert (weights[data.unlabelled] == 0).all()
    assert weights.sum() > 0


# --- iterative methods ----------------------------------------------------------------------------


def iterative(method):
    return {"max_iter", "tol", "verbose"} <= set(method.estimator().get_params())


def test_an_iterative_method_reports_its_objective(method, fitted):
    if not iterative(method):
        assert "max_iter" not in method.estimator().get_params()
        return
    assert np.isfinite(fitted.objective_).all()
    assert len(fitted.objective_) == fitted.n_iter_ >= 1


def test_an_iterative_method_says_that_it_did_not_converge(method, data):
    if not iterative(method):
        return
    given = {"y": data.known, "sample_domain": data.domain}
    with pytest.warns(ConvergenceWarning, match=r"did not converge in max_iter=1\b"):
        method.estimator().set_params(max_iter=1, tol=1e-12).fit(data.X, **given)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = method.estimator().set_params(max_iter=2, tol=0).fit(data.X, **given)
    assert model.n_iter_ == 2


def test_an_iterative_method_shows_its_progress_when_asked(method, data, capsys):
    if not iterative(method):
        return
    model = method.estimator().set_params(max_iter=2, tol=0)
    model.fit(data.X, data.known, sample_domain=data.domain)
    assert capsys.readouterr().out == ""
    model.set_params(verbose=1).fit(data.X, data.known, sample_domain=data.domain)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert re.match(r"\[\w+\] iteration 2 of at most 2: objective ", lines[1])


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("max_iter", 0, ValueError),
        ("max_iter", 1.5, TypeError),
        ("tol", -1.0, ValueError),
        ("tol", "small", TypeError),
    ],
)
def test_limits_of_iteration_are_checked(method, large, name, value, error):
    if not iterative(method):
        return
    X, y, domain = large
    with pytest.raises(error, match=rf"{name} must .*{value!r}"):
        method.estimator().set_params(**{name: value}).fit(X, y, sample_domain=domain)


# --- degenerate input that must work --------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:n_components")
@pytest.mark.parametrize(
    "degrade",
    [
        lambda X: np.vstack([X[: len(X) // 2]] * 2),
        lambda X: np.hstack([X, np.full((len(X), 3), 7.0)]),
        lambda X: np.hstack([X, np.random.default_rng(0).normal(size=(len(X), 200))]),
        lambda X: X * 1e-6,
        lambda X: X + 1e6,
    ],
    ids=["duplicates", "constant features", "more features than samples", "tiny", "far away"],
)
def test_degenerate_samples_have_finite_answers(method, data, degrade):
    X = degrade(data.X)
    out = answer(method, fit(method, data, X=X), X)
    assert np.isfinite(out.astype(float)).all()
    assert len(np.unique(out.round(12), axis=0)) > 1


def test_a_class_seen_once_is_fine(method, data):
    known = data.known.copy()
    twos = np.flatnonzero(known == 2)
    known[twos[1:]] = -1
    out = answer(method, fit(method, data, y=known), data.X_new)
    assert np.isfinite(out.astype(float)).all()


def test_a_class_may_be_absent_from_a_source(method, data):
    first = data.domain == data.domain[~data.unlabelled][0]
    known = np.where(first & (data.known == 2), -1, data.known)
    out = answer(method, fit(method, data, y=known), data.X_new)
    assert np.isfinite(out.astype(float)).all()


def test_one_labelled_sample_of_each_class_and_domain_is_enough(method, data):
    groups = np.stack([data.known, np.unique(data.domain, return_inverse=True)[1]])
    _, firsts = np.unique(groups, axis=1, return_index=True)
    known = np.full(len(data.y), -1)
    known[firsts] = data.known[firsts]
    out = answer(method, fit(method, data, y=known), data.X_new)
    assert np.isfinite(out.astype(float)).all()


# --- the registry ---------------------------------------------------------------------------------


def test_the_registry_knows_a_method_by_its_name():
    assert METHODS
    for name, entry in METHODS.items():
        assert get_method(name) is entry
        assert entry.name == name == name.lower().strip()


def test_every_estimator_can_be_imported_from_one_place(method):
    name = method.estimator.__name__
    rival = method.estimator.__module__.startswith("skatter.methods.")
    place = skatter.methods if rival else skatter
    assert getattr(place, name) is method.estimator
    assert name in place.__all__


def test_an_unknown_name_is_answered_with_the_known_ones():
    listed = re.escape(", ".join(METHODS))
    with pytest.raises(ValueError, match=f"one of {listed}, got 'magic'"):
        get_method("magic")


def test_an_entry_is_complete(method):
    assert method.kind in get_args(Kind)
    assert set(method.needs) | set(method.uses) <= set(get_args(Need))
    assert not set(method.needs) & set(method.uses)
    for line in (method.summary, method.when):
        assert 10 < len(line) < 80
        assert "\n" not in line
    assert method.cost.strip()
    assert re.search(r"\b(19|20)\d\d\.$", method.citation), "a citation ends with its year"
    assert ":" in method.citation, "a citation is authors: title."


def test_an_entry_is_of_its_kind(method):
    model = method.estimator()
    assert hasattr(model, ANSWERS[method.kind])
    assert (get_tags(model).estimator_type == "classifier") == (method.kind != "features")


def test_the_class_is_documented(method):
    text = getdoc(method.estimator)
    for section in ("Parameters", "Attributes", "Examples"):
        assert f"{section}\n{'-' * len(section)}" in text
    for name in method.estimator().get_params(deep=False):
        assert re.search(rf"^\s*([\w, ]+, )?{name}\b", text, re.MULTILINE), name


def test_the_grid_holds_parameters_of_the_method(method):
    assert set(method.grid) <= set(method.estimator().get_params())
    for name, values in method.grid.items():
        assert len(values) == len(set(values)) > 1, name


@pytest.mark.filterwarnings("ignore:n_components")
def test_every_value_of_the_grid_can_be_fitted(method, data):
    tried, refused = 0, {}
    for name, values in method.grid.items():
        for value in values:
            model = method.estimator().set_params(**{name: value})
            tried += 1
            try:
                model.fit(data.X, data.known, sample_domain=data.domain)
            except ValueError as error:
                refused[f"{name}={value}"] = str(error)
                continue
            assert np.isfinite(answer(method, model, data.X_new).astype(float)).all()
    for setting, message in refused.items():
        assert re.search(rf"{setting} .* at most \d+", message)
    assert tried == sum(map(len, method.grid.values()))
