"""The nearest neighbour against scikit-learn's, on arrays of every kind and in streams."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import check_estimator

from skatter import SCA, NearestNeighbour, make_domain_pipeline


def samples(n=200, p=4, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return rng.normal(size=(n, p)) + np.eye(3, p)[y], np.array(["ash", "elm", "oak"])[y]


def test_it_passes_the_checks_of_scikit_learn():
    check_estimator(NearestNeighbour())


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_predictions_are_those_of_scikit_learn(form):
    X, y = samples()
    new = form(samples(seed=1)[0])
    ours = NearestNeighbour().fit(form(X), y)
    theirs = KNeighborsClassifier(1).fit(form(X), y)
    assert_array_equal(ours.predict(new), theirs.predict(new))
    assert_array_equal(ours.predict_proba(new), theirs.predict_proba(new))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("shift", [0.0, 1e3])
def test_tensors_give_what_arrays_give(dtype, shift, monkeypatch, require):
    torch = require("torch", "torch")
    monkeypatch.setattr("skatter._tensors.places.STRIP_BYTES", 2000)
    X, y = samples()
    new = samples(seed=1)[0]
    X, new = (X + shift).astype(dtype), (new + shift).astype(dtype)
    model = NearestNeighbour().fit(torch.from_numpy(X), y)
    found = model.predict(torch.from_numpy(new))
    exact = KNeighborsClassifier(1).fit(X.astype(float), y).predict(new.astype(float))
    assert isinstance(found, np.ndarray)
    # Far from zero, single precision cannot tell neighbours that lie equally near.
    assert np.mean(found == exact) >= (1 if dtype == "float64" else 0.98)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_stream_remembers_all_that_one_fit_does(form):
    X, y = samples()
    new = form(samples(seed=1)[0])
    whole = NearestNeighbour().fit(form(X), y)
    stream = NearestNeighbour()
    for rows in np.array_split(np.arange(len(X)), 7):
        stream.partial_fit(form(X[rows]), y[rows])
    assert_array_equal(stream.predict(new), whole.predict(new))
    assert stream.n_samples_seen_ == len(X)


def test_a_bounded_memory_keeps_each_sample_with_the_same_chance():
    kept = np.zeros(40)
    X = np.arange(40.0)[:, None]
    for seed in range(400):
        model = NearestNeighbour(max_samples=10, random_state=seed)
        for rows in np.split(np.arange(40), [1, 15, 16]):
            model.partial_fit(X[rows], rows % 2, classes=[0, 1])
        assert len(model.X_fit_) == 10
        kept[model.X_fit_.ravel().astype(int)] += 1
    # Each is kept in a quarter of the runs: 100 of 400, with a standard deviation of 8.7.
    assert kept.sum() == 4000
    assert np.abs(kept - 100).max() < 5 * 8.7


def test_the_same_seed_keeps_the_same_samples():
    X, y = samples()
    one, two = (NearestNeighbour(max_samples=20).fit(X, y) for _ in range(2))
    assert_array_equal(one.X_fit_, two.X_fit_)
    assert_array_equal(one.predict(X), two.predict(X))


def test_samples_of_another_kind_are_refused(require):
    torch = require("torch", "torch")
    X, y = samples()
    on_torch = NearestNeighbour().fit(torch.from_numpy(X), y)
    with pytest.raises(TypeError, match=r"NumPy array, but the fit was on .*torch.as_tensor"):
        on_torch.predict(X)
    with pytest.raises(TypeError, match=r"torch.float32.*X.to\('cpu', torch.float64\)"):
        on_torch.predict(torch.from_numpy(X).float())
    with pytest.raises(TypeError, match=r"X.numpy\(force=True\)"):
        NearestNeighbour().fit(X, y).predict(torch.from_numpy(X))
    with pytest.raises(ValueError, match="Lengths differ"):
        NearestNeighbour().fit(torch.from_numpy(X), y[:-1])


def test_a_pipeline_stays_on_tensors_from_samples_to_classes(require):
    torch = require("torch", "torch")
    X, y = samples()
    site = np.repeat(["here", "there"], 100)
    known = np.where(site == "here", y, None)
    arrays = make_domain_pipeline(SCA(3), NearestNeighbour()).fit(X, known, sample_domain=site)
    tensors = make_domain_pipeline(SCA(3), NearestNeighbour())
    tensors.fit(torch.from_numpy(X), known, sample_domain=site)
    assert torch.is_tensor(tensors[-1].X_fit_)
    assert_array_equal(tensors.predict(torch.from_numpy(X)), arrays.predict(X))
