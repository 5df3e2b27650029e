"""Features on one scale in every domain."""

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose
from scipy.stats import norm, rankdata
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from skatter import DomainScaler, HedgedRegressor, make_domain_pipeline
from skatter.scaling import DomainRanks


@pytest.fixture
def samples():
    rng = np.random.default_rng(0)
    site = np.array(["lab", "field", "field", "lab", "ship"])[rng.integers(0, 5, 90)]
    X = (
        rng.normal(size=(90, 3)) * np.where(site == "lab", 5, 1)[:, None]
        + (site == "ship")[:, None]
    )
    y = np.where(site == "ship", -1, rng.integers(0, 2, 90))
    return X, y, site


def test_every_domain_is_scaled_as_scikit_learn_would_scale_it_alone(samples):
    X, y, site = samples
    scaled = DomainScaler().fit_transform(X, y, sample_domain=site)
    for name in np.unique(site):
        alone = StandardScaler().fit_transform(X[site == name])
        assert_allclose(scaled[site == name], alone, atol=1e-12)


def test_samples_of_no_domain_and_of_a_new_one_are_taken_for_the_targets(samples):
    X, y, site = samples
    scaler = DomainScaler().fit(X, y, sample_domain=site)
    target = StandardScaler().fit(X[site == "ship"]).transform(X[:7])
    assert_allclose(scaler.transform(X[:7]), target, atol=1e-12)
    assert_allclose(scaler.transform(X[:7], sample_domain=["moon"] * 7), target, atol=1e-12)


def test_without_a_target_new_samples_are_scaled_by_all(samples):
    X, y, site = samples
    scaler = DomainScaler().fit(X, np.abs(y), sample_domain=site)
    assert_allclose(scaler.transform(X[:7]), StandardScaler().fit(X).transform(X[:7]), atol=1e-12)


def test_without_names_labelled_and_unlabelled_samples_are_two_domains(samples):
    X, y, _ = samples
    scaled = DomainScaler().fit_transform(X, y)
    for rows in (y < 0, y >= 0):
        assert_allclose(scaled[rows].mean(axis=0), 0, atol=1e-12)
        assert_allclose(scaled[rows].std(axis=0), 1, atol=1e-12)


def test_a_shift_and_a_unit_of_one_domain_change_nothing(samples):
    X, y, site = samples
    moved = np.where(site[:, None] == "field", 100 * X - 7, X)
    assert_allclose(
        DomainScaler().fit_transform(moved, y, sample_domain=site),
        DomainScaler().fit_transform(X, y, sample_domain=site),
        atol=1e-9,
    )


def test_a_feature_that_is_constant_in_a_domain_becomes_zero_there(samples):
    X, y, site = samples
    X = np.column_stack([X, np.where(site == "lab", 0.1, X[:, 0])])
    scaled = DomainScaler().fit_transform(X, y, sample_domain=site)
    assert_allclose(scaled[site == "lab", 3], 0, atol=1e-12)


def test_numbers_say_who_is_the_target_as_classes_do(samples):
    X, y, site = samples
    numbers = np.where(y < 0, np.nan, y + 0.25)
    expected = DomainScaler().fit(X, y, sample_domain=site).transform(X)
    assert_allclose(DomainScaler().fit(X, numbers, sample_domain=site).transform(X), expected)
    assert_allclose(
        DomainScaler().fit_transform(X, y + 0.25, labelled=y >= 0),
        DomainScaler().fit_transform(X, y),
    )


@pytest.mark.parametrize("regressor", [Ridge(), HedgedRegressor()], ids=["ridge", "hedge"])
def test_a_pipeline_scales_each_domain_before_a_regressor(regressor):
    rng = np.random.default_rng(0)
    site, X = np.repeat(["lab", "ship"], 60), rng.normal(size=(120, 3))
    y = 2 * X[:, 0] - X[:, 1] + 0.5
    X[60:] = 4 * X[60:] + 7  # another unit and another origin
    known = np.where(site == "lab", y, np.nan)
    model = make_domain_pipeline(DomainScaler(), regressor).fit(X, known, sample_domain=site)
    assert model.score(X[60:], y[60:], sample_domain=site[60:]) > 0.8


@pytest.mark.parametrize("routing", [False, True])
def test_scikit_learn_finds_no_fault_with_the_scaler(routing):
    with sklearn.config_context(enable_metadata_routing=routing):
        check_estimator(DomainScaler())


@pytest.mark.parametrize("kind", [DomainScaler, DomainRanks])
def test_tensors_are_scaled_as_arrays_are(require, samples, kind):
    torch = require("torch", "torch")
    X, y, site = samples
    X = np.column_stack([X, np.full(len(X), 7.0)])
    there = torch.from_numpy(X)
    arrays, model = kind(), kind()
    scaled = model.fit_transform(there, y, sample_domain=site)
    assert isinstance(scaled, torch.Tensor)
    assert_allclose(scaled, arrays.fit_transform(X, y, sample_domain=site), atol=1e-12)
    assert_allclose(model.transform(there[:5]), arrays.transform(X[:5]), atol=1e-12)
    assert_allclose(model.transform(X[:5]), arrays.transform(X[:5]), atol=1e-12)


# --- ranks --------------------------------------------------------------------------------------


def test_ranks_are_the_standardised_normal_scores_of_each_domain_alone(samples):
    X, y, site = samples
    X = np.round(X)  # some values are equal
    found = DomainRanks().fit_transform(X, y, sample_domain=site)
    for name in np.unique(site):
        own = X[site == name]
        scores = norm.ppf((rankdata(own, axis=0) - 0.5) / len(own))
        assert_allclose(found[site == name], StandardScaler().fit_transform(scores), atol=1e-9)


def test_ranks_undo_any_rising_change_of_a_domain(samples):
    X, y, site = samples
    moved = np.where((site == "ship")[:, None], np.exp(X) + 7, X)
    before, after = (
        DomainRanks().fit_transform(each, y, sample_domain=site) for each in (X, moved)
    )
    assert_allclose(after, before, atol=1e-9)


def test_new_samples_get_the_ranks_that_they_would_have_had_in_the_targets(samples):
    X, y, site = samples
    model = DomainRanks().fit(X, y, sample_domain=site)
    target = np.sort(X[site == "ship"], axis=0)
    middle = (target[3:4] + target[4:5]) / 2
    low, high = (model.transform(target[i : i + 1]) for i in (3, 4))
    found = model.transform(middle, sample_domain=["moon"])
    assert ((low < found) & (found < high)).all()
    assert_allclose(model.transform(target[:1] - 100), model.transform(target[:1]))


def test_quantiles_of_many_samples_are_as_good_as_their_ranks():
    X = np.random.default_rng(0).gamma(2.0, size=(3000, 2))
    found, scores = DomainRanks().fit_transform(X), norm.ppf((rankdata(X, axis=0) - 0.5) / 3000)
    assert len(DomainRanks().fit(X).quantiles_[0]) == 1000
    assert np.abs(found - scores)[np.abs(scores) < 3].max() < 0.05


def test_a_feature_that_is_constant_in_a_domain_is_zero_there():
    X = np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 1.0], [4.0, 2.0]])
    found = DomainRanks().fit_transform(X, sample_domain=["a", "a", "b", "b"])
    assert_allclose(found[:2, 1], 0, atol=1e-12)
    for n in range(2, 60):
        assert_allclose(DomainRanks().fit_transform(np.full((n, 2), 0.1)), 0, atol=1e-9)


@pytest.mark.parametrize("routing", [False, True])
def test_scikit_learn_finds_no_fault_with_ranks(routing):
    with sklearn.config_context(enable_metadata_routing=routing):
        check_estimator(DomainRanks())
