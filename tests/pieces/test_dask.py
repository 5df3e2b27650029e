"""Dask collections give what samples in memory give, wherever their blocks lie."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.decomposition import PCA, IncrementalPCA
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, Normalizer, StandardScaler

from skatter import KPCA, SCA, SCACV, USCA, KernelFisher, make_domain_pipeline
from skatter.methods import CIDG, DICA, MDA, UDICA
from skatter.pieces import _blocks as block_module
from skatter.pieces import _learning as learning
from skatter.pieces._blocks import is_dask
from skatter.pieces._dask import MethodCall

ROOT = Path(__file__).parents[2]
NAMES = list("abcde")
CHUNKS = (50, 1, 0, 40, 17)
"""Rows of the blocks of most tests: one of them is empty, one holds a single sample."""


@pytest.fixture(scope="module")
def da(require):
    return require("dask.array", "dask")


@pytest.fixture(scope="module")
def dd(require):
    require("pandas", "dask")
    return require("dask.dataframe", "dask")


@pytest.fixture(scope="module")
def data(make_problem):
    """Three domains of three classes; rows lie by domain and class, so that blocks differ."""
    problem = make_problem(3)
    order = np.lexsort((problem.y, problem.domain))
    return type(problem)(
        problem.X[order],
        problem.y[order],
        problem.known[order],
        problem.domain[order],
        problem.X_new,
    )


@pytest.fixture
def array(da, data):
    return da.from_array(data.X, chunks=(CHUNKS, (3, 2)))


@pytest.fixture
def frame(dd, data):
    """Samples, labels and sites in one frame of four partitions with an index of its own."""
    import pandas as pd

    table = pd.DataFrame(data.X, columns=NAMES, index=pd.Index(np.arange(len(data.X)) + 7))
    table["known"], table["site"] = data.known, data.domain
    return dd.from_pandas(table, npartitions=4)


@pytest.fixture
def no_work():
    """Let nothing be computed."""
    dask = pytest.importorskip("dask")

    def refuse(*args, **kwargs):
        raise AssertionError("something was computed")

    with dask.config.set(scheduler=refuse):
        yield


def linear(**parameters):
    return SCA(kernel="linear", n_components=3, **parameters)


def assert_same_solution(found, expected, rtol=1e-8):
    """All that a user may read of two fitted estimators is the same, signs included."""
    for name in ("components_", "eigenvalues_", "offset_"):
        given, wanted = getattr(found, name), getattr(expected, name)
        scale = max(np.abs(wanted).max(), 1e-3)
        np.testing.assert_allclose(given, wanted, rtol=0, atol=rtol * scale, err_msg=name)
    for when in ("before", "after"):
        np.testing.assert_allclose(
            found.scatter_[when], expected.scatter_[when], rtol=rtol, atol=1e-10
        )
    assert found.classes_.tolist() == expected.classes_.tolist()
    assert found.classes_.dtype == expected.classes_.dtype
    assert found.domain_ids_.tolist() == expected.domain_ids_.tolist()
    assert found.n_features_in_ == expected.n_features_in_


# --- the same components --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator",
    [
        linear(),
        SCA(2, kernel="linear", beta=1.0, scale="numerator"),
        linear(normalize=False),
        USCA(3, kernel="linear"),
        KernelFisher(kernel="linear"),
        KPCA(3, kernel="linear"),
        CIDG(2, kernel="linear"),
        MDA(2, kernel="linear"),
        DICA(2, kernel="linear"),
        UDICA(2, kernel="linear"),
    ],
    ids=["sca", "sca-beta-1", "sca-sums", "usca", "kfd", "kpca", "cidg", "mda", "dica", "udica"],
)
def test_blocks_give_the_components_of_samples_in_memory(estimator, array, data):
    found = clone(estimator).fit(array, data.known, sample_domain=data.domain)
    expected = clone(estimator).fit(data.X, data.known, sample_domain=data.domain)
    assert_same_solution(found, expected)
    Z = expected.transform(data.X)
    np.testing.assert_allclose(
        found.transform(array).compute(), Z, rtol=0, atol=1e-8 * np.abs(Z).max()
    )


def test_blocks_give_the_projections_of_the_gram_matrix(array, data):
    found = linear().fit_transform(array, data.known, sample_domain=data.domain).compute()
    gram = linear(solver="dense").fit(data.X, data.known, sample_domain=data.domain)
    expected = gram.transform(data.X)
    signs = np.sign(np.sum(found * expected, axis=0))
    np.testing.assert_allclose(found * signs, expected, rtol=0, atol=1e-8 * np.abs(expected).max())


def test_blocks_of_one_row_each_add_up(da, data):
    found = linear().fit(
        da.from_array(data.X, chunks=(1, 5)), data.known, sample_domain=data.domain
    )
    assert found.n_chunks_seen_ == len(data.X) > block_module.FAN_IN**2
    assert_same_solution(found, linear().fit(data.X, data.known, sample_domain=data.domain))


def test_a_map_is_fitted_on_all_rows_where_they_are_few(array, data):
    estimator = SCA(3, feature_map=Nystroem(n_components=20, gamma=0.1, random_state=0))
    found = clone(estimator).fit(array, data.known, sample_domain=data.domain)
    expected = clone(estimator).fit(data.X, data.known, sample_domain=data.domain)
    assert_same_solution(found, expected)


def test_a_frozen_map_is_used_as_it_is(array, data):
    frozen = FrozenEstimator(Nystroem(n_components=20, gamma=0.1, random_state=0).fit(data.X[::-2]))
    found = SCA(3, feature_map=frozen).fit(array, data.known, sample_domain=data.domain)
    expected = SCA(3, feature_map=frozen).fit(data.X, data.known, sample_domain=data.domain)
    assert_same_solution(found, expected)
    assert found.feature_map is frozen


class RememberingMap(TransformerMixin, BaseEstimator):
    """A map that changes nothing and remembers what it was fitted on."""

    def fit(self, X, y=None):
        self.seen_ = np.array(X)
        return self

    def transform(self, X):
        return np.asarray(X)


def seen_by_the_map(X, data, random_state=None):
    estimator = SCA(2, feature_map=RememberingMap(), random_state=random_state)
    return estimator.fit(X, data.known, sample_domain=data.domain).feature_map_.seen_


def test_a_map_is_fitted_on_a_bounded_sample_of_all_blocks(array, data, monkeypatch):
    monkeypatch.setattr(learning, "SAMPLE_ROWS", 27)
    seen = seen_by_the_map(array, data)
    rows = [int(np.flatnonzero((row == data.X).all(axis=1))[0]) for row in seen]
    assert len(set(rows)) == 27
    assert rows == sorted(rows)
    ends = np.cumsum(CHUNKS)
    taken = np.bincount(np.searchsorted(ends, rows, side="right"), minlength=len(CHUNKS))
    np.testing.assert_allclose(taken, 27 * np.array(CHUNKS) / sum(CHUNKS), atol=1)


def test_the_sample_depends_on_the_random_state_alone(array, data, monkeypatch):
    monkeypatch.setattr(learning, "SAMPLE_ROWS", 27)
    first, again, other = (seen_by_the_map(array, data, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_two_fits_give_identical_bits(array, data):
    first, second = (linear().fit(array, data.known, sample_domain=data.domain) for _ in range(2))
    np.testing.assert_array_equal(first.components_, second.components_)


def test_single_precision_stays(da, data):
    X = data.X.astype(np.float32)
    found = linear().fit(da.from_array(X, chunks=(30, 5)), data.known, sample_domain=data.domain)
    assert found.components_.dtype == np.float32
    Z = found.transform(da.from_array(X, chunks=(30, 5)))
    assert Z.dtype == np.float32
    assert Z.compute().dtype == np.float32


def test_sparse_blocks_give_what_dense_ones_give(array, data):
    thin = array.rechunk({1: -1}).map_blocks(sparse.csr_matrix)
    found = linear().fit(thin, data.known, sample_domain=data.domain)
    expected = linear().fit(data.X, data.known, sample_domain=data.domain)
    assert_same_solution(found, expected)
    np.testing.assert_allclose(
        found.transform(thin).compute(), expected.transform(data.X), atol=1e-7
    )


def test_a_stream_goes_on_where_the_cluster_stopped(da, data):
    half = len(data.X) // 2
    found = linear().fit(
        da.from_array(data.X[:half], chunks=(20, 5)),
        data.known[:half],
        sample_domain=data.domain[:half],
    )
    found.partial_fit(data.X[half:], data.known[half:], sample_domain=data.domain[half:])
    expected = linear().fit(data.X, data.known, sample_domain=data.domain)
    assert_same_solution(found, expected)


# --- labels and domains ---------------------------------------------------------------------------


def text(values, hidden):
    return np.where(hidden, None, np.array(["ant", "bee", "a long name"])[values])


CONVENTIONS = {
    "integers": lambda d: {"y": d.known, "sample_domain": d.domain},
    "small integers": lambda d: {"y": d.known.astype(np.int8), "sample_domain": d.domain},
    "text": lambda d: {"y": text(d.y, d.unlabelled), "sample_domain": d.domain},
    "text and nan": lambda d: {
        "y": np.where(d.unlabelled, np.nan, text(d.y, d.unlabelled)),
        "sample_domain": d.domain,
    },
    "blank text": lambda d: {
        "y": np.where(d.unlabelled, "", text(d.y, d.unlabelled)).astype(str),
        "sample_domain": d.domain,
    },
    "floats": lambda d: {"y": np.where(d.unlabelled, np.nan, d.y), "sample_domain": d.domain},
    "minus one is a class": lambda d: {"y": np.where(d.y > 0, 1, -1), "sample_domain": d.domain},
    "minus one is a class beside nan": lambda d: {
        "y": np.where(d.unlabelled, np.nan, d.y - 1.0),
        "sample_domain": d.domain,
    },
    "signs": lambda d: {
        "y": np.where(d.y > 0, 1, -1),
        "sample_domain": np.where(d.unlabelled, -2, 1),
    },
    "signs and labels in the target": lambda d: {
        "y": np.where(np.arange(len(d.y)) % 3, d.y, -1),
        "sample_domain": np.where(d.unlabelled, -2, 1),
    },
    "mask": lambda d: {
        "y": np.where(d.unlabelled, 77, d.y),
        "sample_domain": d.domain,
        "labelled": ~d.unlabelled,
    },
    "booleans": lambda d: {"y": d.y > 0, "sample_domain": d.domain},
    "no domains": lambda d: {"y": d.known},
    "no domains, all labelled": lambda d: {"y": d.y},
}


@pytest.mark.parametrize("kind", ["in memory", "dask"])
@pytest.mark.parametrize("convention", CONVENTIONS)
def test_labels_mean_what_they_mean_in_memory(convention, kind, array, da, data):
    given = CONVENTIONS[convention](data)
    expected = linear().fit(data.X, **given)
    if kind == "dask":
        given = {name: da.from_array(values, chunks=(CHUNKS,)) for name, values in given.items()}
    assert_same_solution(linear().fit(array, **given), expected)


def test_an_ambiguous_minus_one_is_refused_as_in_memory(array, data):
    y = np.where(data.unlabelled, -1, np.where(data.y > 0, 1, -1))
    for X in (array, data.X):
        with pytest.raises(ValueError, match=r"y holds -1 and 1, .*Pass labelled="):
            linear().fit(X, y, sample_domain=data.domain)


@pytest.mark.parametrize("domains", [True, False], ids=["domains", "no domains"])
def test_samples_without_labels_are_one_cell_of_each_domain(domains, array, data):
    given = {"sample_domain": data.domain} if domains else {}
    found = USCA(3, kernel="linear").fit(array, **given)
    assert_same_solution(found, USCA(3, kernel="linear").fit(data.X, **given))


@pytest.mark.parametrize("dtype", ["category", "string", "Int64", "object"])
def test_columns_of_pandas_types_are_labels(dtype, frame, data):
    import pandas as pd

    known = pd.Series(data.known).astype("Int64").where(~data.unlabelled)
    column = known if dtype == "Int64" else known.map({0: "ant", 1: "bee", 2: "cow"}).astype(dtype)
    expected = linear().fit(data.X, column, sample_domain=data.domain)
    table = frame.compute()
    table["known"] = column.to_numpy() if dtype == "object" else column.array
    dd = sys.modules["dask.dataframe"]
    given = dd.from_pandas(table, npartitions=5)
    found = linear().fit(given[NAMES], given["known"], sample_domain=given["site"])
    assert_same_solution(found, expected)


@pytest.mark.parametrize("make", [list, np.array, "pandas"], ids=["list", "array", "series"])
def test_labels_in_memory_may_be_of_any_kind(make, array, data, require):
    make = require("pandas").Series if make == "pandas" else make
    found = linear().fit(array, make(data.known), sample_domain=make(data.domain))
    assert_same_solution(found, linear().fit(data.X, data.known, sample_domain=data.domain))


def test_labels_in_other_blocks_are_cut_anew(array, da, data):
    y = da.from_array(data.known, chunks=11)
    domain = da.from_array(data.domain, chunks=-1)
    found = linear().fit(array, y, sample_domain=domain)
    assert_same_solution(found, linear().fit(data.X, data.known, sample_domain=data.domain))


def test_blocks_of_unknown_sizes_are_paired_by_their_number(array, da, data):
    y, domain = (da.from_array(values, chunks=(CHUNKS,)) for values in (data.known, data.domain))
    keep = array[:, 0] > np.median(data.X[:, 0])
    kept = data.X[:, 0] > np.median(data.X[:, 0])
    found = linear().fit(array[keep], y[keep], sample_domain=domain[keep])
    expected = linear().fit(data.X[kept], data.known[kept], sample_domain=data.domain[kept])
    assert_same_solution(found, expected)
    Z = found.transform(array[keep])
    assert np.isnan(Z.shape[0])
    np.testing.assert_allclose(Z.compute(), expected.transform(data.X[kept]), atol=1e-8)


def test_files_that_dask_would_read_together_stay_apart(dd, data, require, tmp_path):
    """Asked for one column of many, Dask joins partitions: labels would not go with samples."""
    pandas = require("pandas", "dask")
    require("pyarrow", "report")
    table = pandas.DataFrame(data.X, columns=NAMES)
    table["known"], table["site"] = data.known, data.domain
    for number, rows in enumerate(np.array_split(np.arange(len(table)), 7)):
        table.iloc[rows].to_parquet(tmp_path / f"part-{number}.parquet")
    frame = dd.read_parquet(tmp_path)
    found = linear().fit(frame[NAMES], frame["known"], sample_domain=frame["site"])
    expected = linear().fit(data.X, data.known, sample_domain=data.domain)
    assert_same_solution(found, expected)
    pipeline = make_domain_pipeline(LengthOfDomain()).fit(data.X, sample_domain=data.domain)
    moved = pipeline.transform(frame[NAMES], sample_domain=frame["site"])
    np.testing.assert_array_equal(
        moved.compute(), pipeline.transform(data.X, sample_domain=data.domain)
    )


def test_a_frame_alone_tells_its_sizes(frame, data):
    found = USCA(3, kernel="linear").fit(frame[NAMES])
    assert_same_solution(found, USCA(3, kernel="linear").fit(data.X))


# --- frames ---------------------------------------------------------------------------------------


def test_frames_give_what_arrays_give(frame, data):
    X = frame[NAMES]
    found = linear().fit(X, frame["known"], sample_domain=frame["site"])
    expected = linear().fit(data.X, data.known, sample_domain=data.domain)
    assert_same_solution(found, expected)
    assert found.feature_names_in_.tolist() == NAMES
    Z = found.transform(X)
    assert Z.columns.tolist() == ["sca0", "sca1", "sca2"]
    assert Z.divisions == X.divisions
    done = Z.compute()
    assert done.index.equals(X.compute().index)
    assert done.dtypes.tolist() == Z.dtypes.tolist()
    np.testing.assert_allclose(done.to_numpy(), expected.transform(data.X), atol=1e-8)


def test_an_empty_partition_stays_empty(frame, data):
    X = frame[NAMES]
    late = frame.index.to_series() > 40
    far = X[late]
    estimator = linear().fit(X, frame["known"], sample_domain=frame["site"])
    assert len(far.get_partition(0)) == 0
    done = estimator.transform(far).compute()
    assert done.index.tolist() == list(range(41, len(data.X) + 7))
    found = linear().fit(far, frame["known"][late])
    expected = linear().fit(data.X[34:], data.known[34:])
    assert_same_solution(found, expected)


def test_a_frame_with_other_columns_is_refused_at_once(frame, data, require):
    table = require("pandas").DataFrame(data.X, columns=NAMES)
    estimator = linear().fit(table, data.known, sample_domain=data.domain)
    with pytest.raises(ValueError, match="feature names"):
        estimator.transform(frame[NAMES].rename(columns={"a": "z"}))


# --- laziness -------------------------------------------------------------------------------------


@pytest.fixture
def fitted(data):
    return linear().fit(data.X, data.known, sample_domain=data.domain)


def test_transform_computes_nothing(fitted, array, frame, no_work):
    Z = fitted.transform(array)
    assert is_dask(Z)
    assert Z.chunks == (CHUNKS, (3,))
    assert Z.dtype == np.float64
    assert is_dask(fitted.transform(frame[NAMES]))
    with pytest.raises(AssertionError, match="something was computed"):
        Z.compute()


@pytest.mark.parametrize("kind", ["array", "frame"])
def test_a_graph_holds_the_model_once(kind, fitted, da, dd, data):
    cloudpickle = pytest.importorskip("cloudpickle")  # comes with Dask

    def size(n_blocks):
        X = da.zeros((n_blocks, 5), chunks=(1, 5))
        X = X if kind == "array" else dd.from_dask_array(X, columns=NAMES)
        return len(cloudpickle.dumps(dict(fitted.transform(X).__dask_graph__())))

    fitted.ballast_ = np.zeros(200_000)
    assert size(8) > fitted.ballast_.nbytes
    assert size(64) - size(8) < fitted.ballast_.nbytes


def test_a_later_fit_does_not_change_an_earlier_result(fitted, array, data):
    expected = fitted.transform(data.X)
    Z = fitted.transform(array)
    fitted.fit(data.X[:, ::-1] ** 3, data.known, sample_domain=data.domain)
    np.testing.assert_allclose(Z.compute(), expected, atol=1e-10)


def test_moments_do_not_travel_with_the_projections(array, data):
    estimator = linear().fit(array, data.known, sample_domain=data.domain)
    assert estimator.moments_.n_samples == len(data.X)
    graph = estimator.transform(array).__dask_graph__()
    values = [value_of(task) for task in dict(graph).values()]
    models = [value.model for value in values if isinstance(value, MethodCall)]
    assert [type(model) for model in models] == [SCA]
    assert "moments_" not in vars(models[0])
    assert not any(isinstance(value, SCA) for value in values)


def value_of(task):
    """The value of a task that is nothing but a value."""
    return getattr(task, "value", task)


def test_samples_of_a_gram_matrix_are_projected_too(array, data):
    estimator = SCA(3).fit(data.X, data.known, sample_domain=data.domain)
    np.testing.assert_allclose(
        estimator.transform(array).compute(), estimator.transform(data.X), atol=1e-8
    )


def test_frames_in_memory_are_not_made_of_dask_collections(fitted, array, no_work, require):
    require("pandas")
    with pytest.raises(ValueError, match=r"set_output\(transform='default'\)"):
        fitted.set_output(transform="pandas").transform(array)


@pytest.mark.parametrize("ask", ["transform", "fit"])
def test_only_arrays_and_frames_are_samples(ask, fitted, require, no_work):
    bag = require("dask.bag", "dask")
    with pytest.raises(TypeError, match="X must be a Dask array or DataFrame; got a Dask Bag"):
        getattr(fitted, ask)(bag.from_sequence([1, 2]))


def test_samples_of_another_width_are_refused_at_once(fitted, array, no_work):
    with pytest.raises(ValueError, match="X has 3 features, but SCA is expecting 5"):
        fitted.transform(array[:, :3])


def test_an_estimator_that_was_not_fitted_says_so(array):
    with pytest.raises(NotFittedError):
        linear().transform(array)


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "error", "message"),
    [
        (SCA(), TypeError, r"feature_map=\.\.\..*LandmarkMap\(1000\).*kernel='linear'"),
        (SCA(kernel=np.dot), TypeError, r"feature_map=\.\.\."),
        (linear(solver="lanczos"), TypeError, "use solver='auto'"),
        (linear(reading="printed"), TypeError, "use reading='full'"),
        (linear(beta=2.0), ValueError, "beta must lie in"),
    ],
    ids=["rbf", "callable", "solver", "reading", "parameter"],
)
def test_what_needs_all_samples_is_refused_before_any_work(
    estimator, error, message, array, data, no_work
):
    with pytest.raises(error, match=message):
        estimator.fit(array, data.known, sample_domain=data.domain)


def test_labels_in_memory_need_blocks_of_known_sizes(array, frame, data, no_work):
    unknown = array[array[:, 0] > 0]
    with pytest.raises(ValueError, match=r"y is in memory.*compute_chunk_sizes\(\)"):
        linear().fit(unknown, data.known)
    with pytest.raises(ValueError, match=r"sample_domain is in memory.*column of the same frame"):
        linear().fit(frame[NAMES], frame["known"], sample_domain=data.domain)


def test_other_numbers_of_blocks_are_refused(array, frame, no_work):
    with pytest.raises(ValueError, match="X has 5 blocks and y has 4"):
        linear().fit(array, frame["known"])


def test_columns_are_one_dimensional(array, frame, data, no_work):
    with pytest.raises(ValueError, match="y must be one-dimensional"):
        linear().fit(array, data.known[:, None])
    with pytest.raises(ValueError, match="y must be one-dimensional"):
        linear().fit(frame[NAMES], frame[["known"]])


@pytest.mark.parametrize("kind", ["in memory", "dask"])
def test_lengths_that_differ_are_refused_before_any_work(kind, array, da, data, no_work):
    y = data.known[:-1] if kind == "in memory" else da.from_array(data.known[:-1], chunks=30)
    with pytest.raises(ValueError, match="Lengths differ: X has 108, y has 107"):
        linear().fit(array, y)


def test_lengths_that_differ_inside_a_block_name_it(array, frame, data):
    short = frame["known"].map_partitions(lambda part: part.iloc[1:], meta=("known", int))
    with pytest.raises(ValueError, match=r"Block \d: Lengths differ: .*y has 26, sample_domain"):
        linear().fit(frame[NAMES], short, sample_domain=frame["site"])
    with pytest.raises(ValueError, match=r"Block \d \(rows .*Lengths differ: X has 27 rows"):
        linear().fit(frame[NAMES], short)


def spoilt(da, X, row, value):
    X = X.astype(object if isinstance(value, str) else float)
    X[row, 1] = value
    return da.from_array(X, chunks=(30, 5))


@pytest.mark.parametrize("value", [np.nan, np.inf, "seven"])
@pytest.mark.parametrize("map_", [None, Nystroem(n_components=5)], ids=["linear", "map"])
def test_a_value_that_is_no_number_names_its_block_and_rows(value, map_, da, data):
    estimator = SCA(2, kernel="linear", feature_map=map_)
    row = "" if isinstance(value, str) else ", row 71"
    with pytest.raises(ValueError, match=rf"Block 2 \(rows 60 to 89, counted from 0\){row}: .*X"):
        estimator.fit(spoilt(da, data.X, 71, value), data.known, sample_domain=data.domain)


def test_a_domain_without_an_id_names_its_block(array, da, data):
    domain = data.domain.astype(object)
    domain[52] = None
    with pytest.raises(ValueError, match=r"Block 3 \(rows 51 to 90.*sample_domain has no id at"):
        linear().fit(array, data.known, sample_domain=domain)


def test_labels_that_are_no_classes_name_their_block(array, data):
    y = data.known.astype(float)
    y[60] = 0.5
    with pytest.raises(ValueError, match=r"Block 3 .*y must hold classes"):
        linear().fit(array, y)


def test_labels_of_two_kinds_are_refused_though_no_block_holds_both(array, data):
    y = data.known.astype(object)
    y[60:] = "ant"
    with pytest.raises(TypeError, match="y mixes values"):
        linear().fit(array, y)


def test_no_label_at_all_is_refused(array, data):
    with pytest.raises(ValueError, match="SCA requires y to be passed"):
        linear().fit(array, sample_domain=data.domain)


@pytest.mark.parametrize(("n", "message"), [(0, "holds 0 samples"), (1, "minimum of 2")])
def test_one_sample_is_not_enough(n, message, da):
    with pytest.raises(ValueError, match=message):
        KPCA(kernel="linear").fit(da.zeros((n, 3), chunks=(1, 3)))


def test_labels_that_change_between_two_looks_are_refused(array, da, data, tmp_path):
    def different(part):
        (tmp_path / "looks").open("a").write("x")
        return part + 10 * (tmp_path / "looks").stat().st_size

    y = da.from_array(data.y, chunks=(CHUNKS,)).map_blocks(
        different, dtype=int, meta=np.zeros(0, int)
    )
    with pytest.raises(ValueError, match=r"Block .*no longer what it was.*persist\(\)"):
        linear().fit(array, y)


def test_an_error_leaves_the_estimator_as_it_was(fitted, da, data):
    before = pickle.dumps(vars(fitted))
    with pytest.raises(ValueError, match="Block 2"):
        fitted.fit(spoilt(da, data.X, 71, np.nan), data.known, sample_domain=data.domain)
    assert pickle.dumps(vars(fitted)) == before
    fresh = linear()
    with pytest.raises(ValueError, match="Block 2"):
        fresh.fit(spoilt(da, data.X, 71, np.nan), data.known, sample_domain=data.domain)
    assert vars(fresh) == vars(linear())


def test_a_bad_new_sample_names_its_block(fitted, da, data):
    Z = fitted.transform(spoilt(da, data.X, 71, np.nan))
    with pytest.raises(ValueError, match=r"Block 2 \(rows 60 to 89, .*\), row 71: .*NaN"):
        Z.compute()


def test_a_second_fit_forgets_the_first(array, data):
    estimator = SCA(3).fit(data.X, data.known)
    estimator.set_params(kernel="linear").fit(array, data.known, sample_domain=data.domain)
    assert not hasattr(estimator, "dual_coef_")
    assert_same_solution(estimator, linear().fit(data.X, data.known, sample_domain=data.domain))


# --- pipelines ------------------------------------------------------------------------------------


def scaled_components(last=None):
    steps = StandardScaler(), linear(), last if last is not None else GaussianNB()
    return make_domain_pipeline(*steps)


def in_blocks(*arrays):
    """Cut arrays as most tests cut their samples, without the empty block."""
    ends = np.cumsum(CHUNKS)
    for start, end in zip(ends - CHUNKS, ends, strict=True):
        if end > start:
            yield tuple(array[start:end] for array in arrays)


def test_a_pipeline_on_blocks_gives_the_answers_of_one_in_memory(array, data):
    found = scaled_components().fit(array, data.known, sample_domain=data.domain)
    expected = scaled_components().fit(data.X, data.known, sample_domain=data.domain)
    np.testing.assert_allclose(found[0].scale_, expected[0].scale_, rtol=1e-12)
    assert_same_solution(found[1], expected[1])
    assert found.classes_.tolist() == [0, 1, 2]
    predicted = found.predict(array)
    assert (predicted.chunks, predicted.dtype) == ((CHUNKS,), expected.predict(data.X).dtype)
    np.testing.assert_array_equal(predicted.compute(), expected.predict(data.X))
    for ask in ("predict_proba", "predict_log_proba"):
        np.testing.assert_allclose(
            getattr(found, ask)(array).compute(), getattr(expected, ask)(data.X), atol=1e-6
        )


def test_a_pipeline_on_frames_answers_in_frames(frame, data):
    X = frame[NAMES]
    found = scaled_components().fit(X, frame["known"], sample_domain=frame["site"])
    expected = scaled_components().fit(data.X, data.known, sample_domain=data.domain)
    index = X.compute().index
    predicted = found.predict(X)
    assert predicted.divisions == X.divisions
    assert predicted.compute().index.equals(index)
    np.testing.assert_array_equal(predicted.compute(), expected.predict(data.X))
    chances = found.predict_proba(X)
    assert chances.columns.tolist() == [0, 1, 2]
    np.testing.assert_allclose(chances.compute(), expected.predict_proba(data.X), atol=1e-6)
    assert X.assign(predicted=predicted).compute()["predicted"].index.equals(index)


def test_predictions_are_of_the_type_of_the_classes(array, frame, data):
    names = np.array(["ant", "bee", "a long name"])
    known = np.where(data.unlabelled, None, names[data.y])
    found = scaled_components().fit(array, known, sample_domain=data.domain)
    assert found.predict(array).dtype == found.predict(data.X).dtype
    assert found.predict(array).compute().tolist() == found.predict(data.X).tolist()
    series = found.predict(frame[NAMES])
    assert series.compute().dtype == series.dtype
    assert series.compute().tolist() == found.predict(data.X).tolist()


def test_steps_learn_from_one_block_after_the_other(array, data):
    """The reference is scikit-learn alone, in a loop over the blocks."""
    found = make_domain_pipeline(
        MinMaxScaler(), IncrementalPCA(1), SGDClassifier(random_state=0)
    ).fit(array, data.known, sample_domain=data.domain)
    scaler, pca, judge = MinMaxScaler(), IncrementalPCA(1), SGDClassifier(random_state=0)
    parts = list(in_blocks(data.X, data.known))
    for X, _ in parts:
        scaler.partial_fit(X)
    for X, _ in parts:
        pca.partial_fit(scaler.transform(X))
    for X, y in parts:
        if (y >= 0).any():
            Z = pca.transform(scaler.transform(X))
            judge.partial_fit(Z[y >= 0], y[y >= 0], classes=[0, 1, 2])
    np.testing.assert_allclose(found[1].components_, pca.components_, rtol=1e-12)
    np.testing.assert_allclose(found[2].coef_, judge.coef_, rtol=1e-12)


def test_a_chain_longer_than_the_window_learns_from_every_block(da, data, monkeypatch):
    monkeypatch.setattr(block_module, "WINDOW", 4)
    X = da.from_array(data.X, chunks=(5, 5))
    found = make_domain_pipeline(StandardScaler()).fit(X)
    assert found[0].n_samples_seen_ == len(data.X)
    np.testing.assert_allclose(found[0].mean_, data.X.mean(axis=0), rtol=1e-12)


def test_steps_that_learn_nothing_are_part_of_a_pipeline(array, data):
    steps = (
        "passthrough",
        Normalizer(),
        FunctionTransformer(np.tanh),
        FrozenEstimator(PCA(4).fit(data.X)),
        linear(),
        None,
        GaussianNB(),
    )
    found = make_domain_pipeline(*steps).fit(array, data.known, sample_domain=data.domain)
    steps = [step if isinstance(step, str | None) else clone(step) for step in steps]
    expected = make_domain_pipeline(*steps).fit(data.X, data.known, sample_domain=data.domain)
    assert_same_solution(found["sca"], expected["sca"])
    assert found["normalizer"].n_features_in_ == 5
    np.testing.assert_array_equal(found.predict(array).compute(), expected.predict(data.X))


def test_frozen_steps_need_no_labels_and_no_domains(array, data):
    components = SCA(3).fit(data.X, data.known, sample_domain=data.domain)
    judge = LogisticRegression().fit(components.transform(data.X), data.y)
    pipeline = make_domain_pipeline(FrozenEstimator(components), FrozenEstimator(judge))
    expected = judge.predict(components.transform(data.X))
    for X in (data.X, array):
        np.testing.assert_array_equal(pipeline.fit(X).predict(data.X), expected)
    np.testing.assert_array_equal(pipeline.predict(array).compute(), expected)


def test_a_pipeline_of_transformers_transforms_blocks(array, frame, data):
    pipeline = make_domain_pipeline(StandardScaler(), linear())
    Z = pipeline.fit_transform(array, data.known, sample_domain=data.domain)
    assert Z.chunks == (CHUNKS, (3,))
    np.testing.assert_array_equal(Z.compute(), pipeline.transform(array).compute())
    np.testing.assert_allclose(Z.compute(), pipeline.transform(data.X), atol=1e-10)
    table = pipeline.fit(frame[NAMES], frame["known"], sample_domain=frame["site"]).transform(
        frame[NAMES]
    )
    assert table.columns.tolist() == ["sca0", "sca1", "sca2"]
    np.testing.assert_allclose(table.compute(), Z.compute(), atol=1e-8)
    told = pipeline.set_output(transform="pandas").transform(frame[NAMES])
    assert told.columns.tolist() == ["sca0", "sca1", "sca2"]
    np.testing.assert_allclose(told.compute(), Z.compute(), atol=1e-8)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ((KNeighborsClassifier(),), "Step 'kneighborsclassifier': KNeighbors.*SGDClassifier"),
        ((PCA(), GaussianNB()), "Step 'pca': PCA.*IncrementalPCA.*FrozenEstimator"),
        ((StandardScaler(), SCA(), GaussianNB()), "Step 'sca': SCA learns.*feature_map"),
        ((SCACV(), GaussianNB()), "Step 'scacv': SCACV learns from all samples"),
        ((make_pipeline(StandardScaler()), GaussianNB()), "Step 'pipeline': Pipeline"),
        ((make_pipeline(linear()), GaussianNB()), "chain its steps with make_domain_pipeline"),
    ],
    ids=["classifier", "transformer", "kernel", "search", "pipeline", "hidden"],
)
def test_a_step_that_cannot_learn_from_blocks_is_named_before_any_work(
    steps, message, array, data, no_work
):
    with pytest.raises(TypeError, match=message):
        make_domain_pipeline(*steps).fit(array, data.known, sample_domain=data.domain)


def test_any_fitted_pipeline_answers_blocks(array, frame, data, require):
    pipeline = make_domain_pipeline(StandardScaler(), SCA(3), KNeighborsClassifier(1))
    pipeline.fit(data.X, data.known, sample_domain=data.domain)
    np.testing.assert_array_equal(pipeline.predict(array).compute(), pipeline.predict(data.X))
    judge = make_domain_pipeline(StandardScaler(), LogisticRegression())
    judge.fit(data.X, data.known, sample_domain=data.domain)
    np.testing.assert_allclose(
        judge.decision_function(array).compute(), judge.decision_function(data.X), atol=1e-10
    )
    table = judge.fit(frame.compute()[NAMES], data.known == 0).decision_function(frame[NAMES])
    assert table.ndim == 1
    np.testing.assert_allclose(table.compute(), judge.decision_function(data.X), atol=1e-10)


def test_predictions_compute_nothing(array, frame, data, no_work):
    pipeline = scaled_components().fit(data.X, data.known, sample_domain=data.domain)
    for ask in ("predict", "predict_proba", "predict_log_proba"):
        assert is_dask(getattr(pipeline, ask)(array))
        assert is_dask(getattr(pipeline, ask)(frame[NAMES]))


class LengthOfDomain(TransformerMixin, BaseEstimator):
    """Adds the length of the name of its domain to a sample."""

    def fit(self, X, y=None, *, sample_domain=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X, *, sample_domain=None):
        lengths = 0 if sample_domain is None else np.array([[len(name)] for name in sample_domain])
        return np.asarray(X) + lengths


def test_domains_reach_the_steps_that_ask(array, da, frame, data):
    frozen = FrozenEstimator(PCA(5).fit(data.X))
    pipeline = make_domain_pipeline(LengthOfDomain(), frozen)
    pipeline.fit(data.X, sample_domain=data.domain)
    expected = pipeline.transform(data.X, sample_domain=data.domain)
    for where in (data.domain, da.from_array(data.domain, chunks=(CHUNKS,))):
        found = pipeline.transform(array, sample_domain=where)
        np.testing.assert_allclose(found.compute(), expected, atol=1e-12)
    for where in (frame["site"], frame["site"].to_dask_array()):
        found = pipeline.transform(frame[NAMES], sample_domain=where)
        np.testing.assert_allclose(found.compute(), expected, atol=1e-12)


def test_score_is_the_share_of_right_answers_over_all_blocks(array, frame, da, data):
    pipeline = scaled_components().fit(array, data.known, sample_domain=data.domain)
    expected = np.mean(pipeline.predict(data.X) == data.y)
    assert pipeline.score(array, data.y) == pytest.approx(expected, abs=1e-15)
    known = ~data.unlabelled
    right = pipeline.predict(data.X) == data.y
    assert pipeline.score(array, data.known) == pytest.approx(right[known].mean(), abs=1e-15)
    assert pipeline.score(frame[NAMES], frame["known"]) == pytest.approx(right[known].mean())
    weight = np.linspace(0.5, 1.5, len(data.X))
    for given in (weight, da.from_array(weight, chunks=(CHUNKS,))):
        assert pipeline.score(array, data.known, sample_weight=given) == pytest.approx(
            np.average(right[known], weights=weight[known])
        )
    with pytest.raises(ValueError, match="no labelled sample to score"):
        pipeline.score(array, np.full(len(data.X), -1))


def test_a_step_that_learns_from_labels_needs_some(array, data):
    with pytest.raises(ValueError, match="SCA requires y to be passed"):
        scaled_components().fit(array, sample_domain=data.domain)
    with pytest.raises(ValueError, match="Step 'gaussiannb' learns from labels"):
        make_domain_pipeline(GaussianNB()).fit(array, sample_domain=data.domain)
    USCA_only = make_domain_pipeline(StandardScaler(), USCA(2, kernel="linear")).fit(array)
    assert USCA_only.transform(array).shape == (len(data.X), 2)


class Stubborn(ClassifierMixin, BaseEstimator):
    """A classifier that refuses its second block."""

    def fit(self, X, y):
        return self.partial_fit(X, y, classes=y)

    def partial_fit(self, X, y, classes=None):
        if hasattr(self, "classes_"):
            raise ValueError("I have seen enough")
        self.classes_ = np.unique(classes)
        return self

    def predict(self, X):
        return np.repeat(self.classes_[0], len(X))


def test_an_error_in_a_late_step_leaves_all_steps_as_they_were(array, data):
    pipeline = scaled_components(Stubborn())
    with pytest.raises(ValueError, match=r"Block 1 \(rows 50 to 50, .*\): I have seen enough"):
        pipeline.fit(array, data.known, sample_domain=data.domain)
    assert all(set(vars(step)) == set(step.get_params()) for _, step in pipeline.steps)


def test_steps_are_fitted_in_place(array, data):
    scaler, components = StandardScaler(), linear()
    make_domain_pipeline(scaler, components).fit(array, data.known)
    assert scaler.n_samples_seen_ == len(data.X)
    assert components.n_components_ == 3


def test_a_step_that_works_in_place_does_not_write_into_the_blocks(da, data):
    X = da.from_array(data.X, chunks=(20, 5)).persist()
    pipeline = make_domain_pipeline(StandardScaler(copy=False), linear(), GaussianNB())
    pipeline.fit(X, data.known, sample_domain=data.domain)
    pipeline.predict(X).compute()
    np.testing.assert_array_equal(X.compute(), data.X)


def test_the_seconds_of_each_step_are_told(array, data, capsys):
    pipeline = scaled_components().set_params(verbose=True)
    pipeline.fit(array, data.known, sample_domain=data.domain)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == [
        f"[DomainPipeline] step {number} of 3" for number in (1, 2, 3)
    ]


# --- schedulers -----------------------------------------------------------------------------------


@pytest.mark.parametrize("scheduler", ["synchronous", "threads", "processes"])
def test_every_scheduler_of_dask_does_the_work(scheduler, array, data, require):
    dask = require("dask")
    expected = scaled_components().fit(data.X, data.known, sample_domain=data.domain)
    with contextlib.ExitStack() as stack:
        settings = {"scheduler": scheduler}
        if scheduler == "processes":
            pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
            settings["pool"] = stack.enter_context(pool)
        stack.enter_context(dask.config.set(settings))
        found = scaled_components().fit(array, data.known, sample_domain=data.domain)
        predicted = found.predict(array).compute()
    assert_same_solution(found[1], expected[1])
    np.testing.assert_array_equal(predicted, expected.predict(data.X))


@pytest.fixture(scope="module")
def cluster(require):
    """Two worker processes, and a client that is nobody's default."""
    distributed = require("distributed", "dask")
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            silence_logs=50,
        ) as started,
        distributed.Client(started, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def client(cluster):
    with cluster.as_current():
        yield cluster


def noting(path, seconds=0.0):
    """Return a function that hands on a block a little later and notes who had it in a file.

    It is made here so that it travels by value: workers need not import this module.
    """

    def noted(block, block_id=(0,)):
        time.sleep(seconds)
        with open(path, "a") as file:
            file.write(f"{os.getpid()} {block_id[0]}\n")
        return block

    return noted


def who_and_what(path):
    """The process and the number of every block so far."""
    return [tuple(map(int, line.split())) for line in path.read_text().splitlines()]


def test_a_cluster_of_processes_gives_the_components_of_one(client, da, data, tmp_path):
    path = tmp_path / "log"
    X = da.from_array(data.X, chunks=(6, 5)).map_blocks(noting(path), dtype=float)
    y, domain = (da.from_array(values, chunks=6) for values in (data.known, data.domain))
    path.write_text("")  # Dask tries functions on nothing
    found = linear().fit(X, y, sample_domain=domain)
    expected = linear().fit(data.X, data.known, sample_domain=data.domain)
    assert_same_solution(found, expected)
    Z = found.transform(X)
    np.testing.assert_allclose(Z.compute(), expected.transform(data.X), atol=1e-8)
    workers = {who for who, _ in who_and_what(path)}
    assert len(workers) > 1
    assert workers <= set(client.run(os.getpid).values())


def test_a_pipeline_on_a_cluster_gives_the_answers_of_one_machine(client, frame, data):
    X = frame[NAMES]
    found = scaled_components().fit(X, frame["known"], sample_domain=frame["site"])
    table = X.compute()
    expected = scaled_components().fit(table, data.known, sample_domain=data.domain)
    assert_same_solution(found[1], expected[1])
    np.testing.assert_array_equal(found.predict(X).compute(), expected.predict(table))
    assert found.score(X, frame["known"]) == pytest.approx(expected.score(table, data.known))


def test_an_error_on_a_cluster_names_the_block(client, da, data):
    with pytest.raises(ValueError, match=r"Block 2 \(rows 60 to 89, .*\), row 71: .*NaN"):
        linear().fit(spoilt(da, data.X, 71, np.nan), data.known, sample_domain=data.domain)


def test_a_worker_that_is_killed_in_the_middle_of_a_fit_changes_nothing(
    cluster, da, data, tmp_path
):
    path = tmp_path / "log"
    X = da.from_array(data.X, chunks=(4, 5))
    X = X.map_blocks(noting(path, seconds=0.2), dtype=float)
    path.write_text("")  # Dask tries functions on nothing
    n_blocks = X.numblocks[0]

    def fit():
        with cluster.as_current():
            return linear().fit(X, data.known, sample_domain=data.domain)

    with ThreadPoolExecutor(1) as thread:
        fitting = thread.submit(fit)
        while len(who_and_what(path)) < n_blocks // 2:
            assert not fitting.done()
            time.sleep(0.01)
        victim, number = who_and_what(path)[-1]
        os.kill(victim, signal.SIGKILL)
        assert not fitting.done()
        found = fitting.result(timeout=60)
    by_others = [what for who, what in who_and_what(path) if who != victim]
    assert number in by_others  # what the worker held was computed again
    assert victim not in cluster.run(os.getpid).values()
    assert_same_solution(found, linear().fit(data.X, data.known, sample_domain=data.domain))


def test_a_grid_search_spreads_over_the_cluster(client, data, tmp_path):
    path = tmp_path / "log"
    # Fits that are over at once need no second worker.
    first = FunctionTransformer(noting(path, seconds=0.2))
    search = GridSearchCV(
        make_domain_pipeline(first, StandardScaler(), SCA(2), KNeighborsClassifier(1)),
        {"sca__beta": [0.1, 0.9], "sca__delta": [0.1, 10.0]},
        cv=StratifiedKFold(2),
        error_score="raise",
    )
    with joblib.parallel_config("dask"):
        spread = clone(search).fit(data.X, data.known, sample_domain=data.domain)
    workers = {who for who, _ in who_and_what(path)} - {os.getpid()}  # which fits the best again
    assert workers <= set(client.run(os.getpid).values())
    assert len(workers) > 1
    alone = clone(search).fit(data.X, data.known, sample_domain=data.domain)
    np.testing.assert_allclose(
        spread.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"]
    )
    assert spread.best_params_ == alone.best_params_


MEMORY = '''
import json, threading, time
import dask.array as da
import numpy as np
import psutil
from distributed import Client, LocalCluster
from skatter import SCA

N, D = 100_000, 512


class Peak(threading.Thread):
    """Growth of this process, the client and the scheduler, while something is done."""

    def __enter__(self):
        self.process, self.over = psutil.Process(), False
        self.before = self.peak = self.process.memory_info().rss
        self.start()
        return self

    def run(self):
        while not self.over:
            self.peak = max(self.peak, self.process.memory_info().rss)
            time.sleep(0.005)

    def __exit__(self, *error):
        self.over = True
        self.join()
        self.growth = self.peak - self.before


def samples(rows):
    few = np.random.default_rng(int(rows[0, 0])).random((100, D))
    out = np.tile(few, (len(rows) // 100, 1))
    out[:, 0] += rows[:, 0] % 3
    return out


def main():
    rows = da.arange(N, chunks=10_000)
    X = rows[:, None].map_blocks(
        samples, chunks=(rows.chunks[0], (D,)), dtype=float, meta=np.empty((0, 0))
    )
    y = da.where(rows % 2 == 0, rows % 3, -1)
    with LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=None, silence_logs=50
    ) as cluster, Client(cluster):
        (rows % 2).sum().compute()
        with Peak() as fitted:
            model = SCA(n_components=5, kernel="linear").fit(X, y, sample_domain=rows % 2)
            spread = model.transform(X).std(axis=0).compute()
        with Peak() as gathered:
            X[: N // 4].compute()
    assert model.moments_.n_samples == N and np.isfinite(spread).all()
    print(json.dumps({"fit": fitted.growth, "gather": gathered.growth}))


if __name__ == "__main__":
    main()
'''


def test_neither_the_client_nor_the_scheduler_holds_the_samples(require, tmp_path):
    require("distributed", "dask")
    script = tmp_path / "memory.py"
    script.write_text(MEMORY)
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    growth = json.loads(done.stdout.splitlines()[-1])
    everything = 100_000 * 512 * 8
    assert growth["gather"] > 0.9 * everything / 4  # a quarter of the samples would be seen
    assert growth["fit"] < 100e6 < everything / 4


# --- the page -------------------------------------------------------------------------------------


def test_the_code_of_the_page_runs(client, make_problem, require, tmp_path, monkeypatch):
    pandas = require("pandas", "dask")
    require("pyarrow", "report")
    monkeypatch.chdir(tmp_path)
    data = make_problem(3, n=50)
    table = pandas.DataFrame(data.X, columns=NAMES)
    table["label"], table["site"] = data.known, data.domain
    Path("readings").mkdir()
    for number, rows in enumerate(np.array_split(np.arange(len(table)), 3)):
        table.iloc[rows].to_parquet(f"readings/part-{number}.parquet")
    page = (ROOT / "docs" / "cluster.md").read_text()
    code = "\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL))
    assert code.count("tcp://scheduler:8786") == 1
    names = {}
    exec(code.replace("tcp://scheduler:8786", client.scheduler.address), names)
    names["client"].close()
    predicted = pandas.read_parquet("predictions")["predicted"]
    assert np.mean(predicted.to_numpy() == data.y) > 0.8
    assert names["best"]["sca"].moments_.n_samples == len(data.X)


def test_a_collection_is_not_a_chunk(da):
    with pytest.raises(TypeError, match="give it to fit"):
        SCA(kernel="linear").partial_fit(da.zeros((10, 3), chunks=(5, 3)), np.zeros(10))
