"""Labels that are numbers: cut into classes for the scatters, as they are for a regressor."""

from __future__ import annotations

import pickle
from dataclasses import dataclass

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, RegressorMixin, clone, is_regressor
from sklearn.compose import TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge, SGDRegressor
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from skatter import SCA, SCACV, USCA, LandmarkMap, LeaveOneDomainOut, make_domain_pipeline
from skatter.chunks import ArrayChunks, fit_chunks
from skatter.labels import bin_labels, is_continuous, read_numbers
from skatter.methods import CORAL, TCA


@dataclass(frozen=True)
class Numbers:
    """Samples whose label is a number; ``known`` is NaN in the target."""

    X: np.ndarray
    y: np.ndarray
    known: np.ndarray
    domain: np.ndarray
    X_new: np.ndarray

    @property
    def labelled(self):
        return ~np.isnan(self.known)


@pytest.fixture(scope="module")
def numbers():
    """Two sources and a target; labels bend the samples, domains move them."""
    rng = np.random.default_rng(0)
    y = rng.uniform(-5, 5, size=180)
    domain = np.tile(["amsterdam", "basel", "cairo"], 60)
    X = 0.2 * rng.normal(size=(180, 5))
    X[:, 0] += np.sin(0.3 * y)
    X[:, 1] += 0.2 * y
    X[:, 4] += 3.0 * (domain == "basel") + 6.0 * (domain == "cairo")
    known = np.where(domain == "cairo", np.nan, y)
    problem = Numbers(X, y, known, domain, rng.normal(size=(7, 5)))
    for array in vars(problem).values():
        array.flags.writeable = False
    return problem


class Spy(RegressorMixin, BaseEstimator):
    """A regressor that predicts zero and remembers what it was fitted on."""

    def fit(self, X, y):
        self.X_, self.y_ = X, y
        return self

    def predict(self, X):
        return np.zeros(len(X))


# --- bins -----------------------------------------------------------------------------------------


@given(
    y=st.lists(st.integers(-4, 30), min_size=2, max_size=60),
    n_bins=st.integers(2, 12),
)
@settings(max_examples=200, deadline=None)
def test_bins_keep_order_and_ties_and_lose_no_sample(y, n_bins):
    y = np.array(y, dtype=float)
    if len(np.unique(y)) == 1:
        return
    bins = bin_labels(y, n_bins)
    assert set(bins) == set(range(bins.max() + 1))
    assert 2 <= bins.max() + 1 <= min(n_bins, len(np.unique(y)))
    for a, b in zip(y, bins, strict=True):
        assert len(set(bins[y == a])) == 1
        assert (bins[y > a] >= b).all()


@pytest.mark.parametrize(("n", "n_bins"), [(60, 5), (61, 5), (64, 5), (7, 3), (1000, 30)])
def test_bins_of_distinct_labels_have_equal_counts(n, n_bins):
    y = np.random.default_rng(n).permutation(n) + 0.5
    counts = np.bincount(bin_labels(y, n_bins))
    assert len(counts) == n_bins
    assert counts.max() - counts.min() <= 1


def test_a_frequent_label_fills_a_bin_and_leaves_the_others_to_the_rest():
    y = np.array([0.0] * 60 + list(np.arange(1.0, 41.0)))
    bins = bin_labels(y, 5)
    assert set(bins[:60]) == {0}
    assert np.bincount(bins).tolist() == [60, 20, 20]


def test_fewer_labels_than_bins_are_a_bin_each_however_rare():
    y = np.array([3.0] * 97 + [1.0, 2.0, 2.0])
    assert np.bincount(bin_labels(y, 10)).tolist() == [1, 2, 97]


@pytest.mark.parametrize("change", [np.exp, np.arctan, lambda y: 1e6 * y - 3])
def test_an_increasing_transformation_of_the_labels_changes_no_bin(change, numbers):
    assert_array_equal(bin_labels(change(numbers.y), 7), bin_labels(numbers.y, 7))


def test_edges_cut_above_them():
    y, edges = np.array([-2.0, -1.0, -0.999, 0.0, 3.0, 3.5, np.nan]), [-1.0, 3.0]
    slow = [-1 if np.isnan(v) else sum(v > edge for edge in edges) for v in y]
    assert bin_labels(y, edges).tolist() == slow == [0, 0, 1, 1, 1, 2, -1]


# --- the components -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [{}, {"beta": 1.0}, {"conditional_delta": 2.0}, {"kernel": "linear"}, {"normalize": False}],
    ids=["defaults", "beta=1", "conditional", "linear", "sums"],
)
def test_sca_with_bins_is_sca_on_classes_of_equal_counts(options, numbers):
    rows = np.flatnonzero(numbers.labelled)
    classes = np.full(len(numbers.y), -1)
    for c, part in enumerate(np.array_split(rows[np.argsort(numbers.known[rows])], 6)):
        classes[part] = c
    ours = SCA(label_bins=6, **options).fit(numbers.X, numbers.known, sample_domain=numbers.domain)
    theirs = SCA(**options).fit(numbers.X, classes, sample_domain=numbers.domain)
    assert_array_equal(ours.transform(numbers.X_new), theirs.transform(numbers.X_new))
    assert_array_equal(ours.classes_, np.arange(6))
    ends = [numbers.known[classes == c].max() for c in range(5)]
    assert_array_equal(ours.label_edges_, ends)


def test_the_edges_of_a_fit_give_the_same_fit(numbers):
    first = SCA(label_bins=6).fit(numbers.X, numbers.known, sample_domain=numbers.domain)
    again = SCA(label_bins=first.label_edges_).fit(
        numbers.X, numbers.known, sample_domain=numbers.domain
    )
    assert_array_equal(first.transform(numbers.X_new), again.transform(numbers.X_new))
    assert again.label_edges_ is not again.label_bins


def test_without_domains_labelled_and_unlabelled_samples_are_two(numbers):
    model = SCA(label_bins=6).fit(numbers.X, numbers.known)
    assert model.domain_ids_.tolist() == ["labelled", "unlabelled"]


def test_edges_that_no_label_lies_beyond_leave_no_class(numbers):
    model = SCA(label_bins=[-100.0, 0.0, 100.0]).fit(numbers.X, numbers.known)
    assert model.classes_.tolist() == [1, 2]


def test_an_unlabelled_sample_is_no_class_where_edges_leave_a_single_one(numbers):
    model = SCA(label_bins=[100.0]).fit(numbers.X, numbers.known, sample_domain=numbers.domain)
    assert model.classes_.tolist() == [0]


def test_whole_numbers_are_numbers_and_minus_one_is_one_of_them(numbers):
    whole = np.where(numbers.labelled, np.round(numbers.y), np.nan)
    assert (whole == -1).any()
    model = SCA(label_bins=20).fit(numbers.X, whole, sample_domain=numbers.domain)
    assert_array_equal(model.label_edges_, np.unique(whole[numbers.labelled])[:-1])
    everyone = np.round(numbers.y)  # no NaN, and -1.0 still is no mark
    assert_array_equal(read_numbers(everyone), everyone)


def test_a_mask_wins_over_what_is_in_y(numbers):
    filled = np.where(numbers.labelled, numbers.y, 99.0)
    given = {"sample_domain": numbers.domain}
    masked = SCA(label_bins=5).fit(numbers.X, filled, labelled=numbers.labelled, **given)
    marked = SCA(label_bins=5).fit(numbers.X, numbers.known, **given)
    assert_array_equal(masked.dual_coef_, marked.dual_coef_)


def test_integers_with_minus_one_are_refused_unless_a_mask_tells(numbers):
    y = np.round(numbers.y).astype(int)
    with pytest.raises(ValueError, match=r"y holds integers and -1 among them.*labelled="):
        SCA(label_bins=5).fit(numbers.X, y)
    told = SCA(label_bins=5).fit(numbers.X, y, labelled=np.ones(len(y), bool))
    assert_array_equal(
        told.dual_coef_, SCA(label_bins=5).fit(numbers.X, y.astype(float)).dual_coef_
    )
    assert len(SCA(label_bins=5).fit(numbers.X, y + 10).classes_) == 5


@pytest.mark.parametrize("container", ["list", "objects", "pandas", "nullable", "torch", "float32"])
def test_numbers_come_in_any_container(container, require):
    plain = [0.5, None, -1.0, 2.0]
    if container == "torch":
        y = require("torch", "torch").tensor([0.5, float("nan"), -1.0, 2.0])
    elif container in ("pandas", "nullable"):
        series = require("pandas").Series
        y = series(plain, dtype="Float64" if container == "nullable" else float)
    else:
        y = {
            "list": plain,
            "objects": np.array(plain, dtype=object),
            "float32": np.array(plain, dtype=np.float32),
        }[container]
    assert_array_equal(read_numbers(y), [0.5, np.nan, -1.0, 2.0])
    assert is_continuous(y)


def test_a_fit_on_classes_forgets_the_edges_of_an_earlier_one(numbers):
    model = SCA(label_bins=4).fit(numbers.X, numbers.known)
    model.set_params(label_bins=None).fit(numbers.X, bin_labels(numbers.known, 3))
    assert not hasattr(model, "label_edges_")


def test_a_refused_fit_leaves_the_edges_of_the_one_before(numbers):
    model = SCA(label_bins=4).fit(numbers.X, numbers.known)
    edges = model.label_edges_
    with pytest.raises(ValueError, match="sample_domain"):
        model.set_params(label_bins=9).fit(
            numbers.X, numbers.known, sample_domain=numbers.domain[:3]
        )
    assert model.label_edges_ is edges


@pytest.mark.parametrize("bins", [5, [-2.0, 0.0, 2.0]], ids=["bins", "edges"])
def test_models_are_cloned_and_pickled(bins, numbers):
    model = SCA(label_bins=bins)
    fitted = clone(model).fit(numbers.X, numbers.known)
    again = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(again.transform(numbers.X_new), fitted.transform(numbers.X_new))
    assert_array_equal(again.label_edges_, fitted.label_edges_)


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bins",
    [
        1,
        0,
        -3,
        True,
        2.5,
        "ten",
        [],
        [1.0, 1.0],
        [2.0, 1.0],
        [0.0, np.nan],
        [[0.0, 1.0]],
        ["a", "b"],
    ],
    ids=repr,
)
def test_bins_that_cut_nothing_are_refused(bins, numbers):
    with pytest.raises((TypeError, ValueError), match="label_bins must be"):
        SCA(label_bins=bins).fit(numbers.X, numbers.known)
    with pytest.raises((TypeError, ValueError), match=r"^bins must be"):
        bin_labels(numbers.known, bins)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda y: np.where(np.isnan(y), np.nan, 3.25), r"All labels in y are 3\.25.*USCA"),
        (lambda y: np.full_like(y, np.nan), "requires y to be passed"),
        (lambda y: np.where(y > 4, np.inf, y), r"y is inf at row \d+; give finite numbers"),
        (lambda y: y[:-1], "Lengths differ"),
        (lambda y: np.column_stack([y, y]), "y must be one-dimensional"),
        (lambda y: np.where(y > 0, "high", "low"), "y must hold numbers for regression.*NaN"),
        (lambda y: y + 1j, "y must hold numbers for regression"),
    ],
    ids=["equal", "no label", "infinite", "length", "columns", "text", "complex"],
)
def test_labels_that_are_no_numbers_are_refused(change, message, numbers):
    with pytest.raises((TypeError, ValueError), match=message):
        SCA(label_bins=5).fit(numbers.X, change(numbers.known))
    with pytest.raises((TypeError, ValueError)):
        make_domain_pipeline(SCA(label_bins=5), Ridge()).fit(numbers.X, change(numbers.known))


def test_an_infinite_label_is_named_by_its_row(numbers):
    y = numbers.known.copy()
    y[4] = -np.inf
    with pytest.raises(ValueError, match="y is -inf at row 4"):
        SCA(label_bins=5).fit(numbers.X, y)


def test_numbers_without_bins_are_refused_and_the_parameter_is_named(numbers):
    for model in (SCA(), make_domain_pipeline(SCA(), Ridge())):
        with pytest.raises(ValueError, match=r"y must hold classes.*label_bins"):
            model.fit(numbers.X, numbers.known, sample_domain=numbers.domain)


# --- pipelines ------------------------------------------------------------------------------------


def test_a_pipeline_with_a_regressor_is_its_steps_by_hand(numbers):
    model = make_domain_pipeline(StandardScaler(), SCA(label_bins=10), Ridge())
    model.fit(numbers.X, numbers.known, sample_domain=numbers.domain)
    scaler = StandardScaler().fit(numbers.X)
    sca = SCA(label_bins=10).fit(
        scaler.transform(numbers.X), numbers.known, sample_domain=numbers.domain
    )
    Z = sca.transform(scaler.transform(numbers.X))
    ridge = Ridge().fit(Z[numbers.labelled], numbers.y[numbers.labelled])
    assert is_regressor(model)
    expected = ridge.predict(sca.transform(scaler.transform(numbers.X_new)))
    assert_allclose(model.predict(numbers.X_new), expected, rtol=1e-10)
    target = ~numbers.labelled
    assert_allclose(
        model.score(numbers.X[target], numbers.y[target]),
        r2_score(numbers.y[target], ridge.predict(Z[target])),
        rtol=1e-10,
    )


def test_score_is_r2_over_the_labels_that_are_known(numbers):
    model = make_domain_pipeline(SCA(label_bins=10), Ridge())
    model.fit(numbers.X, numbers.known, sample_domain=numbers.domain)
    weight = np.linspace(0, 1, len(numbers.y))
    rows = numbers.labelled
    expected = r2_score(numbers.y[rows], model.predict(numbers.X[rows]), sample_weight=weight[rows])
    assert_allclose(model.score(numbers.X, numbers.known, sample_weight=weight), expected)
    with pytest.raises(ValueError, match="y has no labelled sample to score"):
        model.score(numbers.X, np.full(len(numbers.y), np.nan))


def test_the_regressor_sees_every_number_and_no_unlabelled_sample(numbers):
    whole = np.where(numbers.labelled, np.round(numbers.y), np.nan)
    for features in (SCA(label_bins=5), PCA(2), USCA(2)):
        model = make_domain_pipeline(features, Spy())
        model.fit(numbers.X, whole, sample_domain=numbers.domain)
        assert_array_equal(model[-1].y_, whole[numbers.labelled])
        everyone = np.round(numbers.y)
        model.fit(numbers.X, everyone, sample_domain=numbers.domain)
        assert_array_equal(model[-1].y_, everyone)


def test_a_mask_tells_a_pipeline_which_integers_to_learn_from(numbers):
    y = np.round(numbers.y).astype(int)
    model = make_domain_pipeline(SCA(label_bins=5), Spy())
    with pytest.raises(ValueError, match="y holds integers and -1 among them"):
        model.fit(numbers.X, y)
    model.fit(numbers.X, y, labelled=numbers.labelled)
    assert_array_equal(model[-1].y_, y[numbers.labelled])


@pytest.mark.parametrize("features", [USCA(2), TCA(2), CORAL()], ids=lambda f: type(f).__name__)
def test_features_that_need_no_labels_are_told_who_has_one(features, numbers):
    model = make_domain_pipeline(features, Ridge())
    model.fit(numbers.X, numbers.known, sample_domain=numbers.domain)
    by_hand = clone(features).fit(
        numbers.X, np.where(numbers.labelled, 0.0, np.nan), sample_domain=numbers.domain
    )
    assert_array_equal(model[0].transform(numbers.X), by_hand.transform(numbers.X))


def test_steps_that_learn_from_labels_see_numbers(numbers):
    model = make_domain_pipeline(
        SelectKBest(f_regression, k=2), SCA(label_bins=5), TransformedTargetRegressor(Ridge())
    )
    model.fit(numbers.X, numbers.known, sample_domain=numbers.domain)
    rows = numbers.labelled
    chosen = SelectKBest(f_regression, k=2).fit(numbers.X[rows], numbers.y[rows]).get_support()
    assert_array_equal(model[0].get_support(), chosen)


def test_a_classifier_behind_bins_still_sees_classes(numbers):
    stage = np.where(numbers.labelled, np.digitize(numbers.y, [-3, -1, 1, 3]), -1)
    model = make_domain_pipeline(SCA(label_bins=3), KNeighborsClassifier(1))
    model.fit(numbers.X, stage, sample_domain=numbers.domain)
    assert model.classes_.tolist() == [0, 1, 2, 3, 4]
    assert model[0].classes_.tolist() == [0, 1, 2]


def test_a_pipeline_that_ends_in_components_reads_numbers(numbers):
    model = make_domain_pipeline(StandardScaler(), SCACV(SCA(label_bins=4), cv=3))
    Z = model.fit_transform(numbers.X, numbers.known, sample_domain=numbers.domain)
    assert Z.shape == (len(numbers.y), model[-1].best_params_["n_components"])


def test_one_component_finds_a_label_that_the_largest_variance_and_the_domains_hide():
    rng = np.random.default_rng(0)
    y, domain = rng.normal(size=200), np.repeat(["here", "there"], 100)
    X = rng.normal(size=(200, 6)) * [0.1, 5, 5, 5, 5, 5]
    X[:, 0] += 0.5 * y
    X[:, 1] += 30.0 * (domain == "there")
    known = np.where(domain == "here", y, np.nan)
    found = SCA(1, beta=1.0, ridge=1e-6, label_bins=10, kernel="linear")
    found.fit(X, known, sample_domain=domain)
    Z, hidden = found.transform(X)[:, 0], domain == "there"
    assert abs(np.corrcoef(Z[hidden], y[hidden])[0, 1]) > 0.9
    assert abs(Z[hidden].mean() - Z[~hidden].mean()) < 0.2 * Z.std()
    widest = PCA(1).fit_transform(X)[:, 0]
    assert abs(np.corrcoef(widest[hidden], y[hidden])[0, 1]) < 0.2


# --- choosing -------------------------------------------------------------------------------------


@pytest.mark.parametrize("routing", [False, True], ids=["routing off", "routing on"])
def test_cross_validation_leaves_domains_out(routing, numbers):
    model = make_domain_pipeline(StandardScaler(), SCA(label_bins=10), Ridge())
    with sklearn.config_context(enable_metadata_routing=routing):
        given = {} if routing else {"groups": numbers.domain}
        found = cross_validate(
            model,
            numbers.X,
            numbers.known,
            cv=LeaveOneDomainOut(),
            params={"sample_domain": numbers.domain},
            **given,
        )
    by_hand = []
    for place in ("amsterdam", "basel"):
        own = numbers.domain == place
        fitted = clone(model).fit(
            numbers.X[~own], numbers.known[~own], sample_domain=numbers.domain[~own]
        )
        by_hand.append(r2_score(numbers.y[own], fitted.predict(numbers.X[own])))
    assert_allclose(found["test_score"], by_hand)


def test_a_grid_search_chooses_bins_by_r2(numbers):
    model = make_domain_pipeline(SCA(), Ridge())
    search = GridSearchCV(
        model, {"sca__label_bins": [2, 8], "sca__beta": [0.1, 1.0]}, cv=LeaveOneDomainOut()
    )
    search.fit(numbers.X, numbers.known, groups=numbers.domain, sample_domain=numbers.domain)
    scores = search.cv_results_["mean_test_score"]
    assert np.isfinite(scores).all()
    assert search.best_score_ == scores.max()


@pytest.mark.parametrize("cv", [3, LeaveOneDomainOut()], ids=["folds", "domains"])
def test_scacv_with_bins_is_scacv_on_their_classes(cv, numbers):
    grid = {"n_components": [1, 3], "betas": [0.1, 1.0], "deltas": [0.0, 1.0], "cv": cv}
    given = {"sample_domain": numbers.domain}
    ours = SCACV(SCA(label_bins=5), **grid).fit(numbers.X, numbers.known, **given)
    theirs = SCACV(SCA(), **grid).fit(numbers.X, bin_labels(numbers.known, 5), **given)
    assert_array_equal(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])
    assert_array_equal(ours.transform(numbers.X_new), theirs.transform(numbers.X_new))
    assert len(ours.best_estimator_.label_edges_) == 4


# --- streams and clusters -------------------------------------------------------------------------


@pytest.mark.parametrize("whole", [False, True], ids=["continuous", "whole"])
def test_bins_do_not_stream_and_the_error_says_what_to_do(whole, numbers):
    y = np.round(numbers.known) if whole else numbers.known
    model = SCA(kernel="linear", label_bins=5)
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError) as error:
        model.partial_fit(numbers.X, y)
    assert "label_bins" in str(error.value.__cause__)
    with pytest.raises(TypeError, match=r"label_bins.*bin_labels"):
        fit_chunks(model, ArrayChunks(numbers.X, y, numbers.domain))


def test_classes_cut_at_edges_stream(numbers):
    edges = [-2.0, 0.0, 2.0]
    feature_map = FrozenEstimator(LandmarkMap(40, random_state=0).fit(numbers.X))
    stream = SCA(feature_map=feature_map)
    for rows in np.array_split(np.arange(len(numbers.y)), 4):
        stream.partial_fit(
            numbers.X[rows],
            bin_labels(numbers.known[rows], edges),
            sample_domain=numbers.domain[rows],
        )
    whole = SCA(feature_map=feature_map, label_bins=edges)
    whole.fit(numbers.X, numbers.known, sample_domain=numbers.domain)
    assert_allclose(stream.transform(numbers.X_new), whole.transform(numbers.X_new), atol=1e-8)


def test_dask_collections_refuse_bins_and_regressors_and_take_predictions(numbers, require):
    array = require("dask.array", "dask")
    X, y = array.from_array(numbers.X, chunks=(50, 5)), array.from_array(numbers.known, chunks=50)
    for model in (
        SCA(kernel="linear", label_bins=5),
        make_domain_pipeline(SCA(kernel="linear", label_bins=5)),
    ):
        with pytest.raises((TypeError, ValueError), match=r"label_bins.*bin_labels"):
            model.fit(X, y)
    model = make_domain_pipeline(SCA(label_bins=5), Ridge())
    with pytest.raises(TypeError, match="label_bins"):
        model.fit(X, y)
    with pytest.raises(TypeError, match="the last step is a regressor"):
        make_domain_pipeline(StandardScaler(), SGDRegressor()).fit(X, y)
    model.fit(numbers.X, numbers.known, sample_domain=numbers.domain)
    assert_allclose(model.predict(X).compute(), model.predict(numbers.X))
    assert_allclose(model.score(X, y), model.score(numbers.X, numbers.known))
