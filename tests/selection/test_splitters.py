"""Leaving whole domains out: no domain on both sides, wherever scikit-learn takes a splitter."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics import accuracy_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import (
    GridSearchCV,
    LeaveOneGroupOut,
    cross_val_predict,
    cross_validate,
)
from sklearn.neighbors import KNeighborsClassifier

from skatter import SCA, SCACV, LeaveOneDomainOut, make_domain_pipeline


@pytest.fixture(scope="module")
def four(make_problem):
    """Three sources and an unlabelled target."""
    return make_problem(4, n=10)


@pytest.fixture(scope="module")
def sources(four):
    """The three sources alone."""
    rows = np.flatnonzero(~four.unlabelled)
    parts = {name: getattr(four, name)[rows] for name in ("X", "y", "known", "domain")}
    return replace(four, **parts)


def splits(problem, y=None, **given):
    y = problem.known if y is None else y
    return list(LeaveOneDomainOut().split(problem.X, y, **given))


def test_every_source_is_left_out_once_and_no_domain_is_on_both_sides(four):
    left_out = []
    for learn, predict in splits(four, groups=four.domain):
        assert not set(four.domain[learn]) & set(four.domain[predict])
        left_out.append(set(four.domain[predict]))
    assert left_out == [{"amsterdam"}, {"basel"}, {"cairo"}]


def test_an_unlabelled_target_is_always_learnt_from_and_never_predicted(four):
    target = set(np.flatnonzero(four.unlabelled))
    for learn, predict in splits(four, groups=four.domain):
        assert target <= set(learn)
        assert not target & set(predict)


def test_unlabelled_samples_of_the_domain_left_out_are_on_neither_side(four):
    y = four.known.copy()
    y[np.flatnonzero(four.domain == "basel")[:4]] = -1
    learn, predict = splits(four, y, groups=four.domain)[1]
    assert len(predict) == np.sum(four.domain == "basel") - 4
    assert not np.isin(four.domain[learn], "basel").any()


def test_labels_of_a_target_are_never_held_out(four):
    numbers = np.unique(four.domain, return_inverse=True)[1]
    signed = np.where(numbers == 3, -4, numbers)
    for learn, predict in splits(four, four.y, groups=signed):
        assert (signed[predict] >= 0).all()
        assert set(np.flatnonzero(signed < 0)) <= set(learn)


def test_without_labels_it_is_scikit_learns_leave_one_group_out(four):
    ours = LeaveOneDomainOut().split(four.X, None, four.domain)
    theirs = LeaveOneGroupOut().split(four.X, None, four.domain)
    for (learn, predict), (train, test) in zip(ours, theirs, strict=True):
        assert_array_equal(learn, train)
        assert_array_equal(predict, test)


def test_the_number_of_splits_is_that_of_the_sources(four):
    assert LeaveOneDomainOut().get_n_splits(four.X, four.known, four.domain) == 3
    assert LeaveOneDomainOut().get_n_splits(groups=four.domain) == 4


def test_what_is_missing_is_named(four):
    with pytest.raises(ValueError, match=r"needs the domain of each sample: pass groups="):
        splits(four)
    with pytest.raises(ValueError, match=r"two source domains or more, got 1\. Give more domains"):
        splits(four, four.y, groups=np.full(len(four.y), "here"))
    with pytest.raises(ValueError, match=r"y has 120, sample_domain has 119"):
        splits(four, groups=four.domain[:-1])


# --- in scikit-learn ------------------------------------------------------------------------------


def model():
    return make_domain_pipeline(SCA(n_components=2), KNeighborsClassifier(1))


def slow_scores(problem, make=model):
    """Fit on the other domains, predict the one left out: written out."""
    scores = []
    for site in np.unique(problem.domain[~problem.unlabelled]):
        own = problem.domain == site
        fitted = make().fit(
            problem.X[~own], problem.known[~own], sample_domain=problem.domain[~own]
        )
        scores.append(accuracy_score(problem.known[own], fitted.predict(problem.X[own])))
    return scores


def test_cross_validate_takes_it_with_groups(four):
    result = cross_validate(
        model(),
        four.X,
        four.known,
        cv=LeaveOneDomainOut(),
        groups=four.domain,
        params={"sample_domain": four.domain},
    )
    assert_allclose(result["test_score"], slow_scores(four))


def test_cross_validate_takes_it_with_routed_domains(four):
    with sklearn.config_context(enable_metadata_routing=True):
        result = cross_validate(
            model(),
            four.X,
            four.known,
            cv=LeaveOneDomainOut(),
            params={"sample_domain": four.domain},
        )
    assert_allclose(result["test_score"], slow_scores(four))


def test_a_grid_search_takes_it(sources):
    grid = {"sca__delta": [0.0, 1.0, 100.0]}
    search = GridSearchCV(model(), grid, cv=LeaveOneDomainOut(), error_score="raise")
    search.fit(sources.X, sources.y, groups=sources.domain, sample_domain=sources.domain)
    for number, delta in enumerate(grid["sca__delta"]):
        expected = slow_scores(sources, lambda delta=delta: model().set_params(sca__delta=delta))
        found = [search.cv_results_[f"split{i}_test_score"][number] for i in range(3)]
        assert_allclose(found, expected)


def test_every_sample_is_predicted_by_a_model_that_has_not_seen_its_domain(sources):
    X, y, site = sources.X, sources.y, sources.domain
    predicted = cross_val_predict(
        model(), X, y, cv=LeaveOneDomainOut(), groups=site, params={"sample_domain": site}
    )
    own = site == "basel"
    fitted = model().fit(X[~own], y[~own], sample_domain=site[~own])
    assert_array_equal(predicted[own], fitted.predict(X[own]))


# --- in the search of SCA -------------------------------------------------------------------------

GRID = {"n_components": [1, 2, 4], "betas": [0.3, 1.0], "deltas": [0.0, 1.0]}


def search_scores(search, problem):
    """Scores of a slow search: one fit of SCA for each setting and domain left out."""
    scores = np.empty((len(search.cv_results_["params"]), 3))
    sites = np.unique(problem.domain[~problem.unlabelled])
    for row, params in enumerate(search.cv_results_["params"]):
        for column, site in enumerate(sites):
            own = problem.domain == site
            sca = sklearn.base.clone(search.estimator).set_params(**params)
            known = problem.known[~own]
            Z = sca.fit_transform(problem.X[~own], known, sample_domain=problem.domain[~own])
            judge = KNeighborsClassifier(1).fit(Z[known >= 0], known[known >= 0])
            guess = judge.predict(sca.transform(problem.X[own]))
            scores[row, column] = np.mean(guess == problem.known[own])
    return scores


@pytest.mark.filterwarnings("ignore:n_components")
@pytest.mark.parametrize(
    "estimator",
    [
        SCA(),
        SCA(gamma=0.02, scale="coefficients"),
        SCA(kernel="linear"),
        SCA(feature_map=Nystroem(gamma=0.02, n_components=15, random_state=0)),
        SCA(kernel="poly", solver="lanczos"),
    ],
    ids=["median", "unit coefficients", "linear", "explicit map", "lanczos"],
)
def test_the_search_fits_the_other_domains_and_projects_the_one_left_out(four, estimator):
    search = SCACV(estimator, cv=LeaveOneDomainOut(), **GRID)
    search.fit(four.X, four.known, sample_domain=four.domain)
    found = np.column_stack([search.cv_results_[f"split{i}_test_score"] for i in range(3)])
    assert_allclose(found, search_scores(search, four), atol=1e-12)


def test_the_search_learns_nothing_from_the_domain_left_out(four):
    """With nonsense in one domain, the other folds change and its own only in what is predicted."""
    seen = []

    class Spy(KNeighborsClassifier):
        def fit(self, X, y):
            seen.append(np.array(X))
            return super().fit(X, y)

    own = four.domain == "basel"
    for X in (four.X, np.where(own[:, None], 1e3 * four.X, four.X)):
        search = SCACV(classifier=Spy(1), cv=LeaveOneDomainOut(), n_components=2, refit=False)
        search.set_params(betas=[0.3], deltas=[1.0])
        search.fit(X, four.known, sample_domain=four.domain)
    first, second = seen[:3], seen[3:]
    assert_array_equal(first[1], second[1])
    assert np.abs(first[0] - second[0]).max() > 1e-3


def test_the_search_takes_a_precomputed_kernel(four):
    given = {"cv": LeaveOneDomainOut(), **GRID}
    known = {"y": four.known, "sample_domain": four.domain}
    K = rbf_kernel(four.X, gamma=0.02)
    ready = SCACV(SCA(kernel="precomputed"), **given).fit(K, **known)
    made = SCACV(SCA(gamma=0.02), **given).fit(four.X, **known)
    assert_allclose(ready.cv_results_["mean_test_score"], made.cv_results_["mean_test_score"])
    assert ready.best_params_ == made.best_params_


def test_the_search_refuses_a_single_source(make_problem):
    two = make_problem(2)
    with pytest.raises(ValueError, match="two source domains or more, got 1"):
        SCACV(cv=LeaveOneDomainOut()).fit(two.X, two.known, sample_domain=two.domain)
