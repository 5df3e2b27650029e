"""Streams of chunks against one fit on everything, in memory that does not grow with them."""

from __future__ import annotations

import io
import pickle
import re
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import Normalizer, StandardScaler

from skatter import KPCA, SCA, USCA, KernelFisher, make_domain_pipeline
from skatter.domains import read_domains
from skatter.methods import CORAL
from skatter.moments import Moments, collect_moments, merge_moments
from skatter.pieces import (
    ArrayChunks,
    Chunk,
    TableChunks,
    fit_chunks,
    moments_of_chunks,
    predict_chunks,
)
from skatter.pieces import (
    _streaming as streaming,
)
from skatter.tables import read_table
from skatter_bench.measure import measure

PAGE = Path(__file__).parents[2] / "docs" / "streaming.md"
N, P = 120, 4


def samples(n=N, seed=0):
    """Three classes at two labelled sites and one that is not, sorted by class, then by site."""
    rng = np.random.default_rng(seed)
    y = np.sort(rng.integers(0, 3, n))
    site = np.array(["a", "b", "c"])[np.arange(n) % 3]
    order = np.lexsort((site, y))
    y, site = y[order], site[order]
    X = rng.normal(size=(n, P)) + 3 * np.eye(3, P)[y]
    X[:, -1] += np.where(site == "c", 2, 0)
    return X, np.where(site == "c", -1, y), site


def frozen_map(n_components=20):
    return FrozenEstimator(
        RBFSampler(gamma=0.1, n_components=n_components, random_state=0).fit(np.zeros((1, P)))
    )


def assert_same_fit(found, expected, X):
    for name in ("components_", "eigenvalues_", "offset_"):
        assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-9, atol=1e-9)
    for when in ("before", "after"):
        assert_allclose(found.scatter_[when], expected.scatter_[when], rtol=1e-9, atol=1e-12)
    assert_array_equal(found.classes_, expected.classes_)
    assert found.classes_.dtype == expected.classes_.dtype
    assert_array_equal(found.domain_ids_, expected.domain_ids_)
    assert_allclose(found.transform(X), expected.transform(X), rtol=1e-9, atol=1e-9)


class Untouched:
    """A source that must not be read."""

    def __iter__(self):
        raise AssertionError("a row was read")


# --- the result is that of one fit ----------------------------------------------------------------


def conventions():
    _, y, site = samples()
    two = np.where(y == -1, -1, y % 2)
    names = np.array(["ape", "bee", "cat"])
    words = np.where(y == -1, None, names[np.maximum(y, 0)])
    return {
        "minus-one-marks": (y, site, None),
        "minus-one-is-a-class": (np.where(np.arange(N) % 3, 1, -1), site, None),
        "minus-one-is-a-class-without-domains": (np.where(y > 0, 1, -1), None, None),
        "nan-marks": (np.where(y == -1, np.nan, y), site, None),
        "nan-marks-and-minus-one-is-a-class": (np.where(y == -1, np.nan, y - 1.0), site, None),
        "none-marks": (words, site, None),
        "blank-text-marks": (np.where(y == -1, "", names[np.maximum(y, 0)]), site, None),
        "list-of-words": (words.tolist(), site.tolist(), None),
        "booleans": (y > 0, site, None),
        "small-integers": (y.astype(np.int8), site, None),
        "mask": (np.where(y == -1, 7, y), site, y != -1),
        "mask-of-all-over-minus-one": (y, site, np.ones(N, dtype=bool)),
        "mask-over-nan": (np.where(y == -1, np.nan, y), site, y == 1),
        "no-domains": (y, None, None),
        "signed-domains": (y, np.where(site == "c", -3, 1), None),
        "signed-domains-and-minus-one-is-a-class": (
            np.where(two == 0, -1, 1),
            np.where(site == "c", -3, 1),
            None,
        ),
        "integer-domains": (y, np.where(site == "c", 2, 1), None),
    }


@pytest.mark.parametrize("rows", [7, 1000])
@pytest.mark.parametrize("name", conventions())
def test_a_fit_by_chunks_is_the_fit_on_all_rows_for_every_way_to_mark_labels(name, rows):
    X, (y, site, labelled) = samples()[0], conventions()[name]
    expected = SCA(2, feature_map=frozen_map()).fit(X, y, sample_domain=site, labelled=labelled)
    found = SCA(2, feature_map=frozen_map())
    assert fit_chunks(found, ArrayChunks(X, y, site, labelled, rows=rows)) is found
    assert_same_fit(found, expected, X)


@pytest.mark.parametrize("model", [USCA(2), KPCA(2), KernelFisher(), SCA(2)], ids=lambda m: str(m))
@pytest.mark.parametrize("form", ["dense", "float32", "sparse"])
def test_every_preset_streams_with_the_linear_kernel(model, form):
    X, y, site = samples()
    given = {"dense": X, "float32": X.astype(np.float32), "sparse": sparse.csr_array(X)}[form]
    model = clone(model).set_params(kernel="linear")
    expected = clone(model).fit(given, y, sample_domain=site)
    fit_chunks(model, ArrayChunks(given, y, site, rows=11))
    assert model.components_.dtype == expected.components_.dtype
    tolerance = 1e-4 if form == "float32" else 1e-9
    assert_allclose(model.components_, expected.components_, rtol=tolerance, atol=tolerance)
    assert_allclose(model.eigenvalues_, expected.eigenvalues_, rtol=tolerance)


def test_samples_without_labels_and_domains_are_one_domain():
    X = samples()[0]
    expected = USCA(2, kernel="linear").fit(X)
    found = fit_chunks(USCA(2, kernel="linear"), ArrayChunks(X, rows=50))
    assert_same_fit(found, expected, X)


def test_later_chunks_may_bring_classes_and_domains_that_the_first_have_not():
    X, y, site = samples()
    chunks = ArrayChunks(X, y, site, rows=1)
    first = next(iter(chunks))
    assert len(first.y) == 1
    found = fit_chunks(SCA(2, feature_map=frozen_map()), chunks)
    assert_same_fit(found, SCA(2, feature_map=frozen_map()).fit(X, y, sample_domain=site), X)


def test_named_classes_say_whether_minus_one_is_a_label():
    X, y, site = samples()
    y = np.where(y > 0, 1, -1)
    source = ArrayChunks(X, y, site, rows=30)
    both = fit_chunks(SCA(2, kernel="linear"), source, classes=[-1, 1])
    one = fit_chunks(SCA(2, kernel="linear"), source, classes=[1, 2])
    everyone = np.ones(len(y), dtype=bool)
    expected = SCA(2, kernel="linear").fit(X, y, sample_domain=site, labelled=everyone)
    assert_same_fit(both, expected, X)
    assert both.classes_.tolist() == [-1, 1]
    assert one.classes_.tolist() == [1]
    expected = SCA(2, kernel="linear").fit(X, y, sample_domain=site, labelled=y == 1)
    assert_same_fit(one, expected, X)


def test_an_ambiguous_minus_one_is_refused_as_in_one_fit():
    X, y, site = samples()
    y = np.where(y > 0, 1, -1)
    for fit in (
        lambda: fit_chunks(SCA(2, kernel="linear"), ArrayChunks(X, y, site, rows=30)),
        lambda: SCA(2, kernel="linear").fit(X, y, sample_domain=site),
    ):
        with pytest.raises(ValueError, match=r"y holds -1 and 1, .*Pass labelled="):
            fit()


def test_a_stream_can_go_on_after_its_chunks():
    X, y, site = samples()
    found = fit_chunks(SCA(2, feature_map=frozen_map()), ArrayChunks(X[:80], y[:80], site[:80]))
    found.partial_fit(X[80:], y[80:], sample_domain=site[80:])
    assert_same_fit(found, SCA(2, feature_map=frozen_map()).fit(X, y, sample_domain=site), X)


# --- the sample that a map is fitted on -----------------------------------------------------------


def test_a_map_is_fitted_on_all_rows_of_a_short_stream():
    X, y, site = samples()
    model = SCA(2, feature_map=Nystroem(gamma=0.1, n_components=15, random_state=3))
    expected = clone(model).fit(X, y, sample_domain=site)
    assert_same_fit(fit_chunks(model, ArrayChunks(X, y, site, rows=13)), expected, X)


@pytest.mark.parametrize("rows", [3, 40, 1000])
def test_the_sample_is_the_rows_that_drew_the_smallest_numbers_however_they_are_cut(rows):
    X = np.arange(200.0)[:, None]
    drawn = np.random.RandomState(5).random_sample(200)
    expected = np.sort(np.argsort(drawn)[:30])
    reservoir = streaming.Reservoir(30, random_state=5)
    for chunk in ArrayChunks(X, sample_domain=np.arange(200), rows=rows):
        reservoir.add(chunk)
    found = reservoir.drawn()
    assert_array_equal(found.rows, expected)
    assert_array_equal(found.X[:, 0], expected)
    assert_array_equal(found.sample_domain, expected)


def test_every_row_is_as_likely_to_be_drawn():
    counts = np.zeros(30)
    for seed in range(400):
        reservoir = streaming.Reservoir(10, random_state=seed)
        for chunk in ArrayChunks(np.zeros((30, 1)), rows=7):
            reservoir.add(chunk)
        counts[reservoir.drawn().rows] += 1
    # A third of 400 draws each, with a standard deviation of 9.4
    assert counts.sum() == 4000
    assert np.all(np.abs(counts - 400 / 3) < 5 * 9.5)


def test_a_map_is_fitted_on_a_bounded_sample_of_a_long_stream(monkeypatch):
    monkeypatch.setattr("skatter.pieces._learning.SAMPLE_ROWS", 25)
    X, y, site = samples()
    chunks = ArrayChunks(X, y, site, rows=10)
    models = [
        SCA(2, feature_map=Nystroem(gamma=0.1, n_components=25), random_state=seed)
        for seed in (1, 1, 2)
    ]
    bases = [fit_chunks(model, chunks).feature_map_.components_ for model in models]
    drawn = np.sort(np.argsort(np.random.RandomState(1).random_sample(N))[:25])
    assert_array_equal(np.unique(bases[0], axis=0), np.unique(X[drawn], axis=0))
    assert_array_equal(np.unique(bases[0], axis=0), np.unique(bases[1], axis=0))
    assert not np.array_equal(np.unique(bases[0], axis=0), np.unique(bases[2], axis=0))


def test_wide_rows_make_a_smaller_sample(monkeypatch):
    monkeypatch.setattr(streaming, "SAMPLE_VALUES", 50)
    reservoir = streaming.Reservoir(100)
    for chunk in ArrayChunks(np.zeros((40, 10)), rows=15):
        reservoir.add(chunk)
    assert len(reservoir.drawn().rows) == 5


# --- pipelines ------------------------------------------------------------------------------------


def pipeline(*, scaler=None, classifier=None):
    return make_domain_pipeline(
        scaler or StandardScaler(),
        Normalizer(),
        SCA(2, feature_map=Nystroem(gamma=1.0, n_components=15, random_state=0)),
        classifier or GaussianNB(),
    )


def test_a_pipeline_by_chunks_is_the_pipeline_fitted_on_all_rows():
    X, y, site = samples()
    expected = pipeline().fit(X, y, sample_domain=site)
    found = fit_chunks(pipeline(), ArrayChunks(X, y, site, rows=17))
    assert_allclose(found[0].mean_, expected[0].mean_, rtol=1e-12)
    assert_allclose(found[0].var_, expected[0].var_, rtol=1e-12)
    assert_allclose(found[2].eigenvalues_, expected[2].eigenvalues_, rtol=1e-9)
    assert_allclose(found[3].theta_, expected[3].theta_, rtol=1e-6, atol=1e-9)
    assert_array_equal(found.predict(X), expected.predict(X))
    assert_array_equal(found.classes_, [0, 1, 2])


def test_a_classifier_sees_the_labelled_rows_of_every_chunk_and_all_classes_from_the_first():
    X, y, site = samples()
    classifier = SGDClassifier(random_state=0)
    found = fit_chunks(pipeline(classifier=classifier), ArrayChunks(X, y, site, rows=20))
    expected = SGDClassifier(random_state=0)
    for start in range(0, N, 20):
        rows = np.arange(start, start + 20)
        rows = rows[y[rows] != -1]
        expected.partial_fit(found[:-1].transform(X[rows]), y[rows], classes=[0, 1, 2])
    assert_allclose(found[-1].coef_, expected.coef_, rtol=1e-12)
    assert found[-1] is classifier


def test_steps_stay_the_objects_that_the_user_made():
    X, y, site = samples()
    feature_map = RBFSampler(random_state=0)
    sca = SCA(4, feature_map=feature_map)
    model = make_domain_pipeline(StandardScaler(), "passthrough", sca)
    fit_chunks(model, ArrayChunks(X, y, site, rows=50))
    assert model[2] is sca
    assert sca.feature_map is feature_map
    assert not hasattr(feature_map, "random_weights_")
    assert model.transform(X).shape == (N, 4)


def test_a_step_that_was_fitted_before_stays_as_it_is():
    X, y, site = samples()
    scaler = StandardScaler().fit(X[:30])
    found = fit_chunks(pipeline(scaler=FrozenEstimator(scaler)), ArrayChunks(X, y, site, rows=50))
    assert found[0].estimator is scaler
    assert_array_equal(scaler.mean_, StandardScaler().fit(X[:30]).mean_)


def test_a_step_that_writes_in_place_spoils_neither_the_samples_nor_the_result():
    X, y, site = samples()
    before = X.copy()
    found = fit_chunks(
        pipeline(scaler=StandardScaler(copy=False)), ArrayChunks(X, y, site, rows=30)
    )
    assert_array_equal(X, before)
    expected = fit_chunks(pipeline(), ArrayChunks(X, y, site, rows=30))
    assert_array_equal(found[2].components_, expected[2].components_)


class Shift(TransformerMixin, BaseEstimator):
    """Moves site c; has nothing to learn."""

    def fit(self, X, y=None):
        return self

    def transform(self, X, *, sample_domain):
        return X + (np.asarray(sample_domain) == "c")[:, None]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


def test_a_step_that_asks_for_domains_gets_them():
    X, y, site = samples()
    sca = SCA(2, feature_map=Nystroem(gamma=0.1, n_components=15, random_state=0))
    model = make_domain_pipeline(Shift(), clone(sca), GaussianNB())
    fit_chunks(model, ArrayChunks(X, y, site, rows=30))
    expected = sca.fit(X + (site == "c")[:, None], y, sample_domain=site)
    assert_allclose(model[1].eigenvalues_, expected.eigenvalues_, rtol=1e-9)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            lambda: pipeline(classifier=KNeighborsClassifier(1)),
            "'kneighborsclassifier': KNeighborsClassifier learns from all samples at once",
        ),
        (
            lambda: pipeline(scaler=PCA(2)),
            "'pca': PCA learns from all samples at once.*IncrementalPCA.*FrozenEstim",
        ),
        (
            lambda: make_domain_pipeline(CORAL()),
            "'coral': CORAL learns from all samples at once.*FrozenEstim",
        ),
        (lambda: make_domain_pipeline(SCA()), "'sca': SCA learns from a stream through explicit"),
        (lambda: SCA(), "give it feature_map="),
        (lambda: SCA(kernel="linear", reading="printed"), "needs the Gram matrix .reading"),
        (lambda: GaussianNB(), "make_domain_pipeline"),
    ],
    ids=["knn", "pca", "coral", "sca-in-a-pipeline", "sca", "padded", "classifier"],
)
def test_what_cannot_learn_from_a_stream_is_refused_before_a_row_is_read(model, message):
    with pytest.raises(TypeError, match=message):
        fit_chunks(model(), Untouched())


def test_wrong_parameters_are_refused_before_a_row_is_read():
    with pytest.raises(ValueError, match="beta must lie in"):
        fit_chunks(SCA(kernel="linear", beta=2), Untouched())
    with pytest.raises(ValueError, match="no step"):
        fit_chunks(make_domain_pipeline("passthrough"), Untouched())
    with pytest.raises(ValueError, match="progress must be one of"):
        fit_chunks(SCA(kernel="linear"), Untouched(), progress="yes")


def test_a_pipeline_that_needs_labels_says_so_where_there_are_none():
    X = samples()[0]
    scaler = Recorder()
    model = make_domain_pipeline(scaler, GaussianNB())
    with pytest.raises(ValueError, match="'gaussiannb' learns from labels"):
        fit_chunks(model, ArrayChunks(X, np.full(N, -1)))
    with pytest.raises(ValueError, match="SCA requires y"):
        fit_chunks(make_domain_pipeline(scaler, SCA(kernel="linear")), ArrayChunks(X))
    assert not Recorder.seen


class Recorder(StandardScaler):
    """Tells that it was asked to learn."""

    seen: list[int] = []  # noqa: RUF012

    def partial_fit(self, X, y=None, sample_weight=None):
        self.seen.append(len(X))
        return super().partial_fit(X, y, sample_weight)


# --- what is wrong names its chunk, and changes nothing -------------------------------------------


def state(estimator):
    return {name: id(value) for name, value in vars(estimator).items()}


@pytest.mark.parametrize("feature_map", [RBFSampler(random_state=0), None], ids=["map", "linear"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_bad_value_in_chunk_57_of_60_names_it_and_leaves_the_model_alone(feature_map, bad):
    X, y, site = samples()
    kernel = "rbf" if feature_map else "linear"
    model = SCA(2, kernel=kernel, feature_map=feature_map).fit(X, y, sample_domain=site)
    before, expected = state(model), model.transform(X)
    spoilt = X.copy()
    spoilt[115, 2] = bad
    chunks = ArrayChunks(spoilt, y, site, rows=2)
    assert len(chunks) == 60
    with pytest.raises(ValueError, match=r"Chunk 57.* 115\b.*contains (NaN|infinity)"):
        fit_chunks(model, chunks)
    assert state(model) == before
    assert_array_equal(model.transform(X), expected)


def test_a_pipeline_is_as_it_was_where_a_late_pass_fails():
    X, y, site = samples()
    model = pipeline().fit(X, y, sample_domain=site)
    before, expected = [state(step) for step in model], model.predict(X)
    spoilt = X.copy()
    spoilt[70, 0] = np.nan
    # The scaler lets NaN pass, so that the next step meets it
    with pytest.raises(ValueError, match=r"Chunk 3 \(rows 60 to 79, .*\), row 70: .*contains NaN"):
        fit_chunks(model, ArrayChunks(spoilt, y, site, rows=20))
    assert [state(step) for step in model] == before
    assert_array_equal(model.predict(X), expected)


class Listed:
    """A source of some chunks; those of the second reading may be others."""

    def __init__(self, *readings):
        self.readings = list(readings)

    def __iter__(self):
        return iter(self.readings.pop(0) if len(self.readings) > 1 else self.readings[0])


def three_chunks(**second):
    X, y, site = samples()
    cut = [slice(0, 40), slice(40, 80), slice(80, N)]
    chunks = [Chunk(X[rows], y[rows], site[rows]) for rows in cut]
    chunks[1] = chunks[1]._replace(**second)
    return chunks


def test_a_source_of_ones_own_needs_iter_alone_and_chunks_without_rows_do_not_matter():
    X, y, site = samples()
    chunks = three_chunks()
    chunks.insert(1, Chunk(np.empty((0, P))))
    found = fit_chunks(SCA(2, feature_map=frozen_map()), Listed(chunks))
    assert_same_fit(found, SCA(2, feature_map=frozen_map()).fit(X, y, sample_domain=site), X)
    assert found.n_chunks_seen_ == 3


def test_chunks_may_hold_lists_and_data_frames(require):
    pandas = require("pandas")
    X, y, site = samples()
    chunks = three_chunks()
    chunks[0] = chunks[0]._replace(X=X[:40].tolist(), sample_domain=site[:40].tolist())
    frame = pandas.DataFrame(X[40:80], columns=list("pqrs")).assign(y=y[40:80], site=site[40:80])
    chunks[1] = Chunk(frame[list("pqrs")], frame["y"], frame["site"])
    found = fit_chunks(pipeline(), Listed(chunks))
    assert_array_equal(found.predict(X), pipeline().fit(X, y, sample_domain=site).predict(X))
    (part,) = predict_chunks(found, chunks[1:2])
    assert_array_equal(part, found.predict(X[40:80]))


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ({"X": np.zeros((40, P + 1))}, "X has 5 features, the first chunk has 4"),
        ({"y": np.zeros(39)}, "Lengths differ"),
        ({"y": None}, "y is None here, unlike in the first chunk"),
        ({"labelled": np.ones(40, dtype=bool)}, "labelled is given here"),
        ({"y": np.full(40, "dog")}, "y mixes values of type int, str"),
        ({"y": np.linspace(0, 1, 40)}, "y must hold classes"),
        ({"sample_domain": [None] * 40}, "sample_domain has no id at row 0"),
    ],
    ids=["features", "length", "no-y", "mask", "text", "regression", "domain"],
)
def test_a_chunk_that_does_not_fit_the_others_is_named(second, message):
    with pytest.raises((TypeError, ValueError)) as caught:
        fit_chunks(SCA(kernel="linear"), Listed(three_chunks(**second)))
    assert str(caught.value).startswith("Chunk 1 (rows 40 to ")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "again",
    [
        three_chunks()[:2],
        [three_chunks()[0], *three_chunks()[:2]],
        [*three_chunks(), three_chunks()[0]],
        three_chunks(y=np.full(40, 9)),
    ],
    ids=["fewer", "others", "more", "labels"],
)
def test_a_stream_that_changes_while_it_is_read_is_refused(again):
    model = SCA(kernel="linear")
    with pytest.raises(ValueError, match="not what it was when it was first read"):
        fit_chunks(model, Listed(three_chunks(), again))
    assert "components_" not in vars(model)


def test_what_an_earlier_fit_left_is_gone():
    X, y, site = samples()
    model = SCA(2).fit(X, y, sample_domain=site)
    model.set_params(feature_map=frozen_map())
    fit_chunks(model, ArrayChunks(X, y, site, rows=50))
    expected = SCA(2, feature_map=frozen_map()).fit(X, y, sample_domain=site)
    assert not hasattr(model, "dual_coef_")
    assert_same_fit(model, expected, X)


def test_chunks_that_can_be_read_once_only_are_refused():
    with pytest.raises(TypeError, match="generator can be read once only"):
        fit_chunks(SCA(kernel="linear"), (chunk for chunk in three_chunks()))
    with pytest.raises(TypeError, match="must be an iterable of Chunk"):
        fit_chunks(SCA(kernel="linear"), None)
    with pytest.raises(TypeError, match=r"must yield skatter\.pieces\.Chunk.*got tuple"):
        fit_chunks(SCA(kernel="linear"), [(np.zeros((2, 2)), [0, 1])])


@pytest.mark.parametrize("n", [0, 1])
def test_a_stream_of_fewer_than_two_rows_is_refused(n):
    with pytest.raises(ValueError, match=f"X holds {n} samples"):
        fit_chunks(USCA(kernel="linear"), ArrayChunks(np.zeros((n, 2))))


# --- predictions ----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["predict", "predict_proba"])
def test_predictions_by_chunks_are_the_predictions(method):
    X, y, site = samples()
    model = pipeline().fit(X, y, sample_domain=site)
    found = list(predict_chunks(model, ArrayChunks(X, sample_domain=site, rows=50), method))
    assert [len(part) for part in found] == [50, 50, 20]
    assert_allclose(np.concatenate(found), getattr(model, method)(X), rtol=1e-9)


def test_predictions_pass_domains_on_and_take_a_stream_that_is_read_once():
    X, _, site = samples()
    chunks = ArrayChunks(X, sample_domain=site, rows=50)
    found = predict_chunks(Shift(), (chunk for chunk in chunks), "transform")
    assert_array_equal(np.vstack(list(found)), X + (site == "c")[:, None])


def test_predictions_that_cannot_be_made_are_refused_at_once_or_name_their_chunk():
    X, y, site = samples()
    with pytest.raises(ValueError, match="SCA has no method 'predict'"):
        predict_chunks(SCA(), Untouched())
    with pytest.raises(ValueError, match="not fitted"):
        predict_chunks(SCA(), Untouched(), "transform")
    model = SCA(kernel="linear").fit(X, y, sample_domain=site)
    spoilt = np.array(X)
    spoilt[90] = np.nan
    parts = predict_chunks(model, ArrayChunks(spoilt, rows=40), "transform")
    assert_allclose(next(parts), model.transform(X[:40]))
    next(parts)
    with pytest.raises(
        ValueError, match=r"Chunk 2 \(rows 80 to 119, counted from 0\), row 90: Input X c"
    ):
        next(parts)


# --- moments of sites -----------------------------------------------------------------------------


def test_sites_that_exchange_moments_alone_get_the_components_of_one_fit(tmp_path):
    X, y, site = samples()
    model = SCA(2, feature_map=frozen_map())
    before = state(model)
    for name in "abc":
        own = site == name
        chunks = ArrayChunks(X[own], y[own], name, rows=9)
        moments_of_chunks(model, chunks).save(tmp_path / f"{name}.npz")
    assert state(model) == before
    together = merge_moments(Moments.load(tmp_path / f"{name}.npz") for name in "abc")
    expected = SCA(2, feature_map=frozen_map()).fit(X, y, sample_domain=site)
    assert_same_fit(model.fit_moments(together), expected, X)


def test_moments_of_chunks_are_those_of_all_rows():
    X, y, site = samples()
    found = moments_of_chunks(SCA(kernel="linear"), ArrayChunks(X, y, site, rows=25))
    expected = collect_moments(X, read_domains(y, site))
    assert_array_equal(found.cells.counts, expected.cells.counts)
    assert_allclose(found.means, expected.means, rtol=1e-12, atol=1e-12)
    assert_allclose(found.second, expected.second, rtol=1e-12, atol=1e-12)


def test_a_site_with_one_class_does_not_take_its_unlabelled_samples_for_another():
    X = samples()[0][:20]
    chunks = ArrayChunks(X, np.repeat([1, -1], 10), "here", rows=6)
    assert moments_of_chunks(SCA(kernel="linear"), chunks).cells.classes.tolist() == [1]
    both = moments_of_chunks(SCA(kernel="linear"), chunks, classes=[-1, 1])
    assert both.cells.classes.tolist() == [-1, 1]
    with pytest.raises(ValueError, match=r"Chunk 0 .*y holds 1, which classes does not name"):
        moments_of_chunks(SCA(kernel="linear"), chunks, classes=[0, 2])


def test_a_site_of_one_row_without_labels_and_domains_has_moments():
    found = moments_of_chunks(USCA(kernel="linear"), ArrayChunks(np.array([[1.0, 2.0]])))
    assert_array_equal(found.means, [[1, 2]])
    assert found.cells.domain_ids.tolist() == ["unlabelled"]


def test_moments_need_one_map_for_all_sites():
    with pytest.raises(TypeError, match=r"one map alone.*FrozenEstimator"):
        moments_of_chunks(SCA(feature_map=RBFSampler(random_state=0)), Untouched())
    with pytest.raises(TypeError, match="estimator of the SCA family, got DomainPipeline"):
        moments_of_chunks(make_domain_pipeline(StandardScaler()), Untouched())


# --- arrays and .npy files ------------------------------------------------------------------------


def test_arrays_are_cut_in_order_and_read_again_from_the_start():
    X, y, site = samples()
    chunks = ArrayChunks(X, y, site, y >= 0, rows=50)
    for _ in range(2):
        read = list(chunks)
        assert [(c.number, c.first_row, c.n_rows) for c in read] == [
            (0, 0, 50),
            (1, 50, 50),
            (2, 100, 20),
        ]
        assert_array_equal(np.vstack([c.X for c in read]), X)
        assert_array_equal(np.concatenate([c.sample_domain for c in read]), site)
        assert_array_equal(np.concatenate([c.labelled for c in read]), y >= 0)
    assert len(chunks) == 3
    assert np.shares_memory(read[0].X, X)


def test_files_and_arrays_are_the_same(tmp_path):
    X, y, site = samples()
    for name, values in {"X": X, "y": y, "site": site, "mask": y == 1}.items():
        np.save(tmp_path / f"{name}.npy", values)
    paths = [tmp_path / "X.npy", str(tmp_path / "y.npy"), tmp_path / "site.npy"]
    found = fit_chunks(SCA(2, kernel="linear"), ArrayChunks(*paths, rows=33))
    assert_same_fit(found, SCA(2, kernel="linear").fit(X, y, sample_domain=site), X)
    masked = ArrayChunks(*paths, tmp_path / "mask.npy")
    assert fit_chunks(SCA(2, kernel="linear"), masked).classes_.tolist() == [1]


@pytest.mark.parametrize(
    ("columns", "rows", "expected"),
    [(64, None, 65_536), (4096, None, 1024), (2**23, None, 1), (3, None, 65_536), (3, 10, 10)],
)
def test_chunks_hold_four_million_numbers_where_no_size_is_asked_for(columns, rows, expected):
    X = np.broadcast_to(np.float32(0), (100_000, columns))
    assert ArrayChunks(X, rows=rows).rows == expected


def test_sparse_chunks_are_sized_by_what_they_hold():
    X = sparse.csc_array((np.ones(10), (np.arange(10), np.arange(10))), shape=(10, 10**7))
    assert ArrayChunks(X).rows == 65_536
    assert next(iter(ArrayChunks(X))).X.format == "csr"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, 2.0],), "X must have two dimensions"),
        ((np.zeros((3, 2)), [0, 1]), r"y must hold one value for each of the 3 rows.*\(2,\)"),
        ((np.zeros((3, 2)), None, np.zeros(4)), "sample_domain must hold one value"),
        ((np.zeros((3, 2)), None, None, [True]), "labelled must hold one value"),
        (("table.csv",), "'table.csv'; ArrayChunks reads .npy files, TableChunks CSV"),
        ((Path("table.csv"),), "ArrayChunks reads .npy files"),
    ],
    ids=["dimensions", "y", "sample_domain", "labelled", "csv", "csv-path"],
)
def test_arrays_that_do_not_fit_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        ArrayChunks(*arguments)


@pytest.mark.parametrize("rows", [0, -3])
def test_chunks_have_a_row_at_least(rows):
    with pytest.raises(ValueError, match="rows must be at least 1"):
        ArrayChunks(np.zeros((3, 2)), rows=rows)


class Trap:
    """Would write a file if it were unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def damage(tmp_path, how):
    """A file that is no array."""
    path = tmp_path / "X.npy"
    np.save(path, np.zeros((100, 3)))
    if how == "truncated":
        path.write_bytes(path.read_bytes()[:-50])
    elif how == "header":
        path.write_bytes(path.read_bytes()[:20])
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "binary":
        path.write_bytes(bytes(range(256)) * 4)
    elif how == "pickle":
        path.write_bytes(pickle.dumps(Trap(tmp_path / "sprung")))
    elif how == "objects":
        np.save(path, np.array([[Trap(tmp_path / "sprung")]]), allow_pickle=True)
    elif how == "archive":
        with path.open("wb") as file:
            np.savez(file, X=np.zeros((3, 2)))
    return path


@pytest.mark.parametrize(
    "how", ["truncated", "header", "empty", "binary", "pickle", "objects", "archive"]
)
def test_a_file_that_is_no_array_is_refused_and_never_unpickled(tmp_path, how):
    path = damage(tmp_path, how)
    with pytest.raises(ValueError, match=re.escape(str(path))):
        ArrayChunks(path)
    assert not (tmp_path / "sprung").exists()


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.npy"):
        ArrayChunks(tmp_path / "nowhere.npy")


# --- memory ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A file of 98 MiB, and labels and domains of its rows."""
    path = tmp_path_factory.mktemp("large") / "X.npy"
    n, p = 200_000, 128
    X = np.lib.format.open_memmap(path, "w+", np.float32, (n, p))
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n)
    for start in range(0, n, 50_000):
        rows = slice(start, start + 50_000)
        X[rows] = rng.standard_normal((50_000, p), dtype=np.float32) + y[rows, None]
    X.flush()
    return path, y, rng.integers(0, 2, n)


def test_a_memory_map_is_never_copied_by_a_fit_with_a_map(large):
    path, y, site = large
    X = np.load(path, mmap_mode="r")
    model = SCA(2, feature_map=RBFSampler(gamma=0.01, n_components=16, random_state=0))
    tracemalloc.start()
    model.fit(X, y, sample_domain=site)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < X.nbytes / 2
    assert model.n_components_ == 2


def test_a_file_read_by_chunks_is_never_held_whole(large):
    path, y, site = large
    model = SCA(2, feature_map=RBFSampler(gamma=0.01, n_components=16, random_state=0))
    few = ArrayChunks(path, y, site, rows=10_000)
    # Loads every library that the fit will load
    fit_chunks(clone(model), ArrayChunks(np.eye(128, dtype=np.float32), np.arange(128) % 2))
    _, cost = measure(lambda: fit_chunks(model, few))
    if cost.peak_bytes is None:
        pytest.skip("the peak of memory is known on Linux alone")
    # Resident memory counts the pages of a mapped file as well
    assert cost.peak_bytes < path.stat().st_size / 2


# --- tables ---------------------------------------------------------------------------------------


@pytest.fixture
def tables(require, tmp_path):
    """Write a table in two files of every format; return its folder, samples, labels and sites."""
    pandas = require("pandas")
    require("pyarrow")

    def write(dtype=np.float64, labels=None, n_digits=3):
        X, y, site = samples()
        X = np.round(X, n_digits).astype(dtype)
        y = y if labels is None else labels(y)
        frame = pandas.DataFrame(X, columns=list("pqrs"))
        frame.insert(0, "site", site)
        frame["outcome"] = y
        for name, rows in {"0-early": slice(0, 70), "1-late": slice(70, None)}.items():
            part = frame.iloc[rows]
            part.to_csv(tmp_path / f"{name}.csv", index=False)
            part.to_csv(tmp_path / f"{name}.csv.gz", index=False)
            part.to_parquet(tmp_path / f"{name}.parquet", index=False)
        return X, y, site

    return write


LABELS = {
    "integers": None,
    "missing": lambda y: np.where(y == -1, np.nan, y),
    "words": lambda y: np.where(y == -1, None, np.array(["ape", "bee", "cat"])[y]),
    "minus-one-is-a-class": lambda y: np.where(np.arange(len(y)) % 3, 1, -1),
    "booleans": lambda y: y > 0,
}


@pytest.mark.parametrize("name", LABELS)
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
def test_csv_and_parquet_files_fit_as_the_arrays_do(tables, tmp_path, suffix, name):
    X, y, site = tables(labels=LABELS[name])
    chunks = TableChunks(f"{tmp_path}/*{suffix}", label="outcome", domain="site", rows=40)
    read = list(chunks)
    assert [chunk.n_rows for chunk in read] == [40, 30, 40, 10]
    assert [chunk.first_row for chunk in read] == [0, 40, 70, 110]
    assert_array_equal(np.vstack([chunk.X for chunk in read]), X)
    found = fit_chunks(SCA(2, feature_map=frozen_map()), chunks)
    assert_same_fit(found, SCA(2, feature_map=frozen_map()).fit(X, y, sample_domain=site), X)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("decimal", [".", ","])
def test_csv_is_read_in_chunks_as_whole_tables_are(require, tmp_path, delimiter, decimal):
    pandas = require("pandas")
    X, y, site = samples()
    frame = pandas.DataFrame(np.round(X, 2), columns=list("pqrs")).assign(site=site, outcome=y)
    if decimal == delimiter:
        frame = frame.round(0).astype(dict.fromkeys("pqrs", int))
    for suffix in (".csv", ".csv.gz"):
        path = tmp_path / f"t{suffix}"
        frame.to_csv(path, sep=delimiter, decimal=decimal, index=False)
        whole = read_table(path)
        read = list(TableChunks(path, label="outcome", domain="site", rows=50))
        assert_array_equal(np.vstack([chunk.X for chunk in read]), whole[list("pqrs")])
        assert_array_equal(whole[list("pqrs")], frame[list("pqrs")])
        assert_array_equal(np.concatenate([chunk.y for chunk in read]), y)
        assert_array_equal(np.concatenate([chunk.sample_domain for chunk in read]), site)


def test_a_column_without_a_name_is_left_out_where_features_are_named(require, tmp_path):
    require("pandas")
    path = tmp_path / "t.csv"
    path.write_text(",age,outcome\n0,61,1\n1,47,0\n")
    (chunk,) = TableChunks(path, label="outcome", features=["age"])
    assert_array_equal(chunk.X, [[61], [47]])


def test_a_folder_is_read_in_the_order_of_names_and_columns_may_be_picked(tables, tmp_path):
    X, _, _ = tables()
    for path in tmp_path.glob("*.csv*"):
        path.unlink()
    chunks = TableChunks(tmp_path, features=["s", "p"])
    assert [path.name for path in chunks.files] == ["0-early.parquet", "1-late.parquet"]
    assert chunks.n_rows == N
    first, second = list(chunks)
    assert first.y is None
    assert first.sample_domain is None
    assert_array_equal(np.vstack([first.X, second.X]), X[:, [3, 0]])


def test_single_precision_is_kept_where_all_files_have_it(tables, tmp_path):
    tables(np.float32)
    given = {"label": "outcome", "domain": "site"}
    files = sorted(tmp_path.glob("*.parquet"))
    single = TableChunks(files, **given)
    assert single.dtype == np.float32
    assert {chunk.X.dtype for chunk in single} == {np.dtype(np.float32)}
    mixed = TableChunks([files[0], tmp_path / "1-late.csv"], **given)
    assert {chunk.X.dtype for chunk in mixed} == {np.dtype(np.float64)}
    assert mixed.n_rows is None


def test_categories_of_parquet_are_read_as_their_names(require, tmp_path):
    pandas = require("pandas")
    require("pyarrow")
    frame = pandas.DataFrame(
        {
            "a": [1, 2, 3],
            "site": pandas.Categorical(["x", "y", "x"]),
            "kind": pandas.Categorical(["cat", None, "ape"]),
        }
    )
    frame.to_parquet(tmp_path / "t.parquet")
    (chunk,) = TableChunks(tmp_path / "t.parquet", label="kind", domain="site")
    assert list(chunk.sample_domain) == ["x", "y", "x"]
    assert list(chunk.y) == ["cat", None, "ape"]
    assert_array_equal(chunk.X, [[1], [2], [3]])


def test_flags_with_gaps_are_numbers(require, tmp_path):
    pandas = require("pandas")
    require("pyarrow")
    frame = pandas.DataFrame({"a": [True, None, False]}, dtype=object)
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    for suffix in (".csv", ".parquet"):
        (chunk,) = TableChunks(tmp_path / f"t{suffix}")
        assert_array_equal(chunk.X, [[1], [np.nan], [0]])


def test_labels_that_turn_into_text_name_file_row_and_remedy(require, tmp_path):
    require("pandas")
    path = tmp_path / "t.csv"
    path.write_text("a,label\n" + "0.5,7\n" * 10 + "0.5,x7\n" + "0.5,8\n")
    with pytest.raises(ValueError, match=r"t\.csv: column 'label' holds text \('x7'\) in row 10 "):
        list(TableChunks(path, label="label", rows=4))
    chunks = list(TableChunks(path, label="label", rows=4, text=["label"]))
    assert [value for chunk in chunks for value in chunk.y] == ["7"] * 10 + ["x7", "8"]
    path.write_text("a,label\n" + "0.5,x7\n" * 10 + "0.5,8\n" * 3)
    with pytest.raises(ValueError, match=r"holds numbers \(8\) in row 10 .*text in earlier"):
        list(TableChunks(path, label="label", rows=10))


def test_rows_without_a_label_do_not_make_a_column_of_text_one_of_numbers(require, tmp_path):
    require("pandas")
    path = tmp_path / "t.csv"
    path.write_text("a,label\n" + "0.5,\n" * 4 + "0.5,x\n" * 4 + "0.5,\n" * 4)
    read = [chunk.y for chunk in TableChunks(path, label="label", rows=4)]
    assert list(read[1]) == ["x"] * 4
    path.write_text("a,label\n" + "0.5,x\n" * 4 + "0.5,\n" * 4 + "0.5,3\n" * 4)
    with pytest.raises(ValueError, match=r"holds numbers \(3\) in row 8 .*text in earlier"):
        list(TableChunks(path, label="label", rows=4))


HEAD = "site,age,dose,outcome\n"
ROW = "north,61,2.5,1\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        (HEAD, "a header and no rows"),
        (HEAD.replace("outcome", "outcomes") + ROW, "no column 'outcome'; did you mean 'outcomes'"),
        ("a,b\n1,2\n", "there is no column 'outcome'; there are 'a', 'b'"),
        (HEAD + ROW + "south,3,4,1,9\n", "line 3 has 5 cells and the header 4"),
        (HEAD + "south,3,4,1,9\n", "line 2 has 5 cells and the header 4"),
        (HEAD + ROW * 9 + "south,forty,4,1\n", r"'age' holds text \('forty'\) in row 9 "),
        (HEAD + ROW + "south,1,2 000,1\n", r"'dose' holds text \('2 000'\) in row 1 "),
        (HEAD + "south,3,4\n", "line 2 has 3 cells and the header 4"),
        (HEAD.replace("dose", "age") + ROW, "column names come twice: 'age'"),
        ("7.5,1,2,3\n" + ROW, "line 1 holds numbers"),
        (",age,site,outcome\n0,1,north,1\n", "a column without a name"),
        (
            HEAD.replace("age", "agé").encode("latin-1") + ROW.encode(),
            "byte 0xe9 at .* not UTF-8",
        ),
        (bytes(range(256)) * 8, "bad.csv"),
    ],
    ids=[
        "empty",
        "header",
        "near",
        "missing",
        "long-row",
        "long-rows",
        "text",
        "late-text",
        "short-row",
        "twice",
        "no-header",
        "index",
        "encoding",
        "binary",
    ],
)
def test_a_csv_file_that_cannot_be_used_is_named_with_row_and_column(
    require, tmp_path, text, message
):
    require("pandas")
    path = tmp_path / "bad.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ValueError, match=message) as caught:
        list(TableChunks(path, label="outcome", domain="site", rows=5))
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("how", ["empty", "truncated", "binary", "text-column", "no-rows", "index"])
def test_a_parquet_file_that_cannot_be_used_is_named(require, tmp_path, how):
    pandas = require("pandas")
    require("pyarrow")
    path = tmp_path / "bad.parquet"
    frame = pandas.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "z"], "outcome": [0, 1, 0]})
    frame = frame.drop(columns=[] if how == "text-column" else "b")
    frame = frame.set_index(pandas.Index([5, 9, 2])) if how == "index" else frame
    frame.iloc[: 0 if how == "no-rows" else None].to_parquet(path)
    whole = path.read_bytes()
    if how == "empty":
        path.write_bytes(b"")
    elif how == "truncated":
        path.write_bytes(whole[: len(whole) // 2])
    elif how == "binary":
        path.write_bytes(bytes(range(256)))
    message = {
        "empty": "is empty",
        "text-column": "column 'b' holds no numbers",
        "no-rows": "no rows",
        "index": "without a name",
    }
    with pytest.raises(ValueError, match=message.get(how, "cannot be read as Parquet")) as caught:
        TableChunks(path, label="outcome")
    assert str(path) in str(caught.value)


def test_files_with_other_columns_are_named(require, tmp_path):
    require("pandas")
    first, second = tmp_path / "1.csv", tmp_path / "2.csv"
    first.write_text("a,b\n1,2\n")
    second.write_text("b,a,c\n2,1,3\n")
    with pytest.raises(ValueError, match=r"2\.csv has the column 'c', which .*1\.csv lacks"):
        TableChunks(tmp_path)
    assert [chunk.X.tolist() for chunk in TableChunks(tmp_path, features=["a", "b"])] == [
        [[1, 2]],
        [[1, 2]],
    ]
    with pytest.raises(ValueError, match=r"1\.csv: there is no column 'c'"):
        TableChunks([second, first])


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"paths": "nowhere.csv"}, FileNotFoundError, "nowhere.csv is no file"),
        ({"paths": "none-*.csv"}, FileNotFoundError, "no pattern that matches"),
        ({"paths": "folder"}, FileNotFoundError, "holds no CSV or Parquet file"),
        ({"paths": "t.txt"}, ValueError, "t.txt is no table that can be read"),
        ({"paths": []}, ValueError, "paths names no file"),
        ({"paths": ["t.csv", "./t.csv"]}, ValueError, "a file twice"),
        ({"label": "a", "domain": "a"}, ValueError, "both 'a'"),
        ({"label": "a", "features": ["a"]}, ValueError, "features names 'a', which is the label"),
        ({"features": []}, ValueError, "no column left for X"),
        ({"features": ["a", "a"]}, ValueError, "a column twice"),
        ({"features": "a"}, TypeError, "features must be a list of column names"),
        ({"text": ["a"]}, ValueError, "text names 'a', which is neither"),
        ({"rows": 0}, ValueError, "rows must be at least 1"),
    ],
    ids=[
        "missing",
        "pattern",
        "folder",
        "suffix",
        "nothing",
        "twice",
        "one-column",
        "leak",
        "no-features",
        "repeated",
        "one-name",
        "text",
        "rows",
    ],
)
def test_tables_that_make_no_sense_are_refused(
    require, tmp_path, monkeypatch, given, error, message
):
    require("pandas")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    for name in ("t.csv", "t.txt"):
        (tmp_path / name).write_text("a,b\n1,2\n")
    with pytest.raises(error, match=message):
        TableChunks(**{"paths": "t.csv"} | given)


def test_tables_say_what_to_install_where_a_reader_is_missing(tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text("a\n1\n")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r'CSV files need pandas: pip install "skatter\[table\]'):
        TableChunks(tmp_path / "t.csv")


# --- progress -------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self):
        return True


def fitted_with(progress):
    X, y, site = samples()
    return fit_chunks(pipeline(), ArrayChunks(X, y, site, rows=30), progress=progress)


@pytest.mark.parametrize("progress", [None, False])
def test_nothing_is_shown_where_the_output_is_piped(capsys, progress):
    fitted_with(progress)
    assert capsys.readouterr() == ("", "")


def test_a_line_for_each_pass_is_shown_where_it_is_asked_for_and_there_is_no_terminal(capsys):
    fitted_with(True)
    out, err = capsys.readouterr()
    assert out == ""
    names = ["labels and domains", "standardscaler", "sca", "gaussiannb"]
    for number, (name, line) in enumerate(zip(names, err.splitlines(), strict=True), start=1):
        assert re.fullmatch(
            rf"pass {number} of 4, {name}: 120 rows in [\d.]+ s \([\d,]+ rows/s\)", line
        )


@pytest.mark.parametrize(("progress", "shown"), [(None, True), (True, True), (False, False)])
def test_a_terminal_gets_bars(require, monkeypatch, progress, shown):
    require("rich")
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("COLUMNS", "120")
    fitted_with(progress)
    drawn = sys.stderr.getvalue()
    assert ("pass 4 of 4, gaussiannb" in drawn) == shown
    assert ("120 rows" in drawn) == shown
    assert ("rows/s" in drawn) == shown


def test_a_terminal_without_rich_gets_lines(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setitem(sys.modules, "rich.console", None)
    fitted_with(None)
    assert len(sys.stderr.getvalue().splitlines()) == 4


# --- the page -------------------------------------------------------------------------------------


def test_the_code_of_the_page_runs_and_sites_find_what_one_fit_finds(
    require, tmp_path, monkeypatch
):
    pandas = require("pandas")
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    site = np.array(["north", "south", "west"])[np.arange(600) % 3]
    X = rng.normal(size=(600, 5)) + 2 * y[:, None] + (site == "west")[:, None]
    known = np.where(site == "west", -1, y)
    for name, values in {"samples": X, "labels": known, "sites": site}.items():
        np.save(f"{name}.npy", values)
    for name in np.unique(site):
        np.save(f"{name}.npy", X[site == name])
        np.save(f"{name}-labels.npy", known[site == name])
    frame = pandas.DataFrame(X, columns=list("abcde"))
    frame.assign(outcome=known, site=site).to_csv("visits.csv", index=False)
    Path("days").mkdir()
    for day in ("monday", "tuesday"):
        np.save(f"days/{day}.npy", np.column_stack([known, site == "west", X]))
    names: dict[str, object] = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        exec(code, names)
    assert np.mean(names["predicted"] == y) > 0.85
    shared = names["shared"]
    expected = clone(shared).fit(X, known, sample_domain=site)
    assert_same_fit(shared, expected, X)
    assert names["visits"].features == list("abcde")
