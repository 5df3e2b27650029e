"""DomainGeneralizer: scores are those of leaving domains out by hand, and equals vote."""

from __future__ import annotations

import pickle
import warnings
from typing import ClassVar

import numpy as np
import pytest
import sklearn
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold, LeaveOneGroupOut, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

from skatter import SCA, LeaveOneDomainOut, make_domain_pipeline
from skatter.domains import read_domains
from skatter.selection.generalize import (
    DomainGeneralizer,
    draw_alike,
    equally_good,
    generalization_candidates,
)

PLAIN = [
    ("linear", LogisticRegression()),
    ("nearest", KNeighborsClassifier(1)),
    ("smooth", SVC(C=10)),
]


@pytest.fixture(scope="module")
def rings():
    """Classes are rings around one point, so that no line parts them; the last site is scored."""
    rng = np.random.default_rng(0)
    site, y = np.repeat(["a", "b", "c", "d"], 60), np.tile([0, 1, 2], 80)
    angle = rng.uniform(0, 2 * np.pi, size=240)
    radius = 1 + 2 * y + 0.3 * rng.normal(size=240)
    X = radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return X, y, site


class Witness(ClassifierMixin, BaseEstimator):
    """Remembers what every fit was shown, and always answers with the first class."""

    shown: ClassVar[list] = []

    def fit(self, X, y, *, sample_domain=None, labelled=None):
        self.classes_ = np.unique(y[labelled])
        Witness.shown.append((X, y, np.asarray(sample_domain), labelled))
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


@pytest.fixture
def shown():
    Witness.shown.clear()
    return Witness.shown


def fit(problem, candidates=PLAIN, **given):
    y = given.pop("y", problem.known)
    domain = given.pop("sample_domain", problem.domain)
    labelled = given.pop("labelled", None)
    model = DomainGeneralizer(candidates, **given)
    return model.fit(problem.X, y, sample_domain=domain, labelled=labelled)


def split_scores(model):
    results = model.cv_results_
    return np.stack([results[f"split{f}_test_score"] for f in range(len(model.held_out_))], axis=1)


# --- the judgement --------------------------------------------------------------------------------


def test_scores_are_those_of_scikit_learn_leaving_one_group_out(make_problem):
    data = make_problem(4, n=10, seed=3)
    X = data.X + 2 * np.random.default_rng(0).normal(size=data.X.shape)  # so that not all is right
    model = DomainGeneralizer(PLAIN).fit(X, data.y, sample_domain=data.domain)
    expected = [
        cross_val_score(candidate, X, data.y, cv=LeaveOneGroupOut(), groups=data.domain)
        for _, candidate in PLAIN
    ]
    assert len(np.unique(expected)) > 3
    assert_array_equal(split_scores(model), expected)
    assert_allclose(model.cv_results_["mean_test_score"], np.mean(expected, axis=1))
    assert_allclose(model.cv_results_["std_test_score"], np.std(expected, axis=1))
    assert model.cv_results_["candidate"].tolist() == ["linear", "nearest", "smooth"]


def test_scores_of_a_pipeline_with_sca_are_those_of_fits_by_hand(make_problem):
    data = make_problem(4, n=8, seed=1)
    candidate = make_domain_pipeline(SCA(n_components=2), KNeighborsClassifier(1))
    model = fit(data, [("sca", candidate)])
    for left_out, score in zip(model.held_out_, split_scores(model)[0], strict=True):
        own = data.domain == left_out
        by_hand = clone(candidate).fit(
            data.X[~own], data.known[~own], sample_domain=data.domain[~own]
        )
        assert score == np.mean(by_hand.predict(data.X[own]) == data.y[own])


def test_nothing_is_learnt_from_the_domain_left_out_its_unlabelled_samples_included(
    three_domains, shown
):
    known = three_domains.known.copy()
    some = np.flatnonzero(three_domains.domain == "amsterdam")[::2]
    known[some] = -1
    fit(three_domains, [("witness", Witness())], y=known)
    *judged, last = shown
    assert [sorted(set(domain)) for _, _, domain, _ in judged] == [
        ["basel", "cairo"],
        ["amsterdam", "cairo"],
    ]
    assert_array_equal(last[0], three_domains.X)


def test_labels_that_are_hidden_reach_no_candidate(three_domains, shown):
    lies = np.where(three_domains.unlabelled, 7, three_domains.y)
    fit(three_domains, [("witness", Witness())], y=lies, labelled=~three_domains.unlabelled)
    for _, y, domain, labelled in shown:
        assert_array_equal(labelled, domain != "cairo")
        assert 7 not in y[labelled]


def test_a_target_with_labels_is_learnt_from_and_never_held_out(three_domains, shown):
    number = {"amsterdam": 1, "basel": 2, "cairo": -3}
    domain = np.array([number[name] for name in three_domains.domain])
    model = fit(three_domains, [("w", Witness())], y=three_domains.y, sample_domain=domain)
    assert model.held_out_ == [1, 2]
    for _, _, seen, labelled in shown:
        assert labelled[seen == -3].all()
        assert (seen == -3).any()


def test_labels_of_the_left_out_domains_decide_and_no_others(rings):
    X, y, site = rings
    target = site == "d"
    wrong = np.where(target, 0, y)
    known = np.where(target, -1, y)
    model = DomainGeneralizer(PLAIN).fit(X, known, sample_domain=site)
    other = DomainGeneralizer(PLAIN).fit(X, wrong, sample_domain=site, labelled=~target)
    assert_array_equal(split_scores(model), split_scores(other))
    assert model.voters_ == other.voters_


# --- the choice -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("errors", "expected"), [(0, [2]), (1, [2, 3]), (8, [0, 2, 3])])
def test_candidates_within_some_standard_errors_of_the_best_are_equally_good(errors, expected):
    scores = np.array([[0.4, 0.6, 0.7], [0.69, 0.79, 0.89], [0.7, 0.8, 0.9], [0.9, 0.7, 0.7]])
    by_hand = []
    for c, candidate in enumerate(scores):
        loss = [float(best - own) for best, own in zip(scores[2], candidate, strict=True)]
        mean = sum(loss) / 3
        error = (sum((each - mean) ** 2 for each in loss) / 2 / 3) ** 0.5
        if mean <= errors * error + 1e-12:
            by_hand.append(c)
    assert equally_good(scores, errors) == expected == by_hand


def test_one_split_leaves_the_best_alone_and_ties_are_equals():
    assert equally_good(np.array([[0.5], [0.9], [0.8], [0.9]]), 1.0) == [1, 3]


def test_voters_are_fitted_on_all_samples_and_their_probabilities_averaged(rings):
    X, y, site = rings
    candidates = [*PLAIN, ("few", KNeighborsClassifier(5))]
    model = DomainGeneralizer(candidates, standard_errors=9).fit(X, y, sample_domain=site)
    assert model.voters_ == ["nearest", "smooth", "few"]  # no line parts the rings
    near, smooth, few = (clone(candidate).fit(X, y) for _, candidate in candidates[1:])
    new = X + 0.4
    whole = np.eye(3)[smooth.predict(new)]  # it has no probabilities, and gives its whole vote
    expected = (near.predict_proba(new) + whole + few.predict_proba(new)) / 3
    assert_allclose(model.predict_proba(new), expected, atol=1e-15)
    assert_array_equal(model.predict(new), expected.argmax(axis=1))
    assert_array_equal(model.decision_function(new), model.predict_proba(new))
    assert len(np.unique(expected)) > 3


def test_of_two_classes_the_decision_is_for_the_second(rings):
    X, y, site = rings
    two = y < 2
    model = DomainGeneralizer(PLAIN).fit(X[two], y[two], sample_domain=site[two])
    first, second = model.predict_proba(X).T
    assert_allclose(model.decision_function(X), second - first)


def test_the_best_voter_is_told(rings):
    X, y, site = rings
    model = DomainGeneralizer(PLAIN, standard_errors=99).fit(X, y, sample_domain=site)
    mean = split_scores(model).mean(axis=1)
    assert model.best_index_ == np.argmax(mean) > 0
    assert model.best_score_ == mean.max()
    assert model.best_name_ == PLAIN[model.best_index_][0]
    assert model.best_estimator_ is model.estimators_[model.best_index_]


def test_without_a_vote_the_first_of_equals_predicts_alone(rings):
    X, y, site = rings
    alone = DomainGeneralizer(PLAIN, standard_errors=9, vote=False).fit(X, y, sample_domain=site)
    assert alone.voters_ == ["nearest"] == [alone.best_name_]
    assert_array_equal(alone.predict(X + 0.4), KNeighborsClassifier(1).fit(X, y).predict(X + 0.4))
    anyone = DomainGeneralizer(PLAIN, standard_errors=99, vote=False).fit(X, y, sample_domain=site)
    assert anyone.voters_ == ["linear"]


@pytest.mark.parametrize("seed", range(3))
def test_the_portfolio_follows_the_shape_of_the_classes(rings, make_problem, seed):
    X, y, site = rings
    X = np.hstack([X, 0.1 * np.random.default_rng(seed).normal(size=(len(X), 2))])
    source = site != "d"
    curved = DomainGeneralizer().fit(X[source], y[source], sample_domain=site[source])
    assert curved.score(X[~source], y[~source]) > 0.9
    assert not [name for name in curved.voters_ if "RBF" not in name]
    data = make_problem(4, n=20, seed=seed)
    straight = DomainGeneralizer().fit(data.X, data.known, sample_domain=data.domain)
    assert any("logistic regression" in name for name in straight.voters_)
    assert straight.score(data.X[data.unlabelled], data.y[data.unlabelled]) > 0.9


def test_the_portfolio_is_short_and_begins_with_plain_linear_classifiers():
    names, models = zip(*generalization_candidates(), strict=True)
    assert 3 <= len(names) == len(set(names)) <= 12
    assert isinstance(models[0].steps[-1][1], LogisticRegression)
    with_sca = ["sca" in model.named_steps for model in models]
    assert with_sca == sorted(with_sca)
    assert 0 < sum(with_sca) < len(models)


# --- folds ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("domain", [None, "one"], ids=["no domains", "one domain"])
def test_a_single_domain_is_split_into_stratified_folds(rings, domain):
    X, y, _ = rings
    given = None if domain is None else np.full(len(y), domain)
    model = DomainGeneralizer(PLAIN).fit(X, y, sample_domain=given)
    assert model.validation_ == "stratified folds"
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    expected = [cross_val_score(candidate, X, y, cv=folds) for _, candidate in PLAIN]
    assert_array_equal(split_scores(model), expected)


def test_domains_of_one_class_each_are_split_into_stratified_folds(rings):
    X, y, _ = rings
    two = y < 2
    model = DomainGeneralizer(PLAIN).fit(X[two], y[two], sample_domain=y[two])
    assert model.validation_ == "stratified folds"
    with pytest.raises(ValueError, match="cv leaves no fold with two classes"):
        DomainGeneralizer(PLAIN, cv=LeaveOneDomainOut()).fit(X[two], y[two], sample_domain=y[two])


def test_a_splitter_is_given_the_domains(rings):
    X, y, site = rings
    model = DomainGeneralizer(PLAIN, cv=GroupKFold(2)).fit(X, y, sample_domain=site)
    assert (model.validation_, model.held_out_) == ("as given", [0, 1])
    _, codes = np.unique(site, return_inverse=True)
    expected = [cross_val_score(m, X, y, cv=GroupKFold(2), groups=codes) for _, m in PLAIN]
    assert_array_equal(split_scores(model), expected)


def test_a_number_of_folds_splits_samples_and_not_domains(rings):
    X, y, site = rings
    model = DomainGeneralizer(PLAIN, cv=3).fit(X, y, sample_domain=site)
    assert (model.validation_, model.held_out_) == ("as given", [0, 1, 2])


def test_a_draw_keeps_the_shares_of_classes_and_domains(rings, shown):
    X, y, site = rings
    model = DomainGeneralizer([("w", Witness())], max_samples=36).fit(X, y, sample_domain=site)
    *judged, last = shown
    assert len(judged) == len(model.held_out_) == 4
    for drawn, labels, domains, _ in judged:
        assert_array_equal(np.unique(labels, return_counts=True)[1], [12, 12, 12])
        assert_array_equal(np.unique(domains, return_counts=True)[1], [12, 12, 12])
        assert len(np.unique(drawn, axis=0)) == 36
    assert len(last[0]) == len(X)


def test_all_rows_are_drawn_where_there_are_few_enough():
    domains, rows = read_domains([0, 1, 0, 1], ["a"] * 4), np.array([0, 1, 3])
    for most in (3, 99, None):
        assert draw_alike(domains, rows, most, 0).tolist() == [0, 1, 3]
    assert len(set(draw_alike(domains, rows, 2, 0))) == 2


def test_a_draw_keeps_rare_classes_and_labels_among_many_unlabelled_samples():
    y = np.array([0] * 500 + [1] * 3 + [-1] * 5000 + [2] * 2)
    domains = read_domains(y, np.array(["a"] * 5503 + ["b"] * 2))
    drawn = y[draw_alike(domains, np.arange(len(y)), 100, 0)]
    assert {0, 1, 2, -1} == set(drawn)
    assert 99 <= np.sum(drawn >= 0) <= 102
    assert np.sum(drawn < 0) == 100


# --- invariances ----------------------------------------------------------------------------------


def test_the_order_of_samples_and_the_names_of_domains_change_nothing(rings):
    X, y, site = rings
    mixed = np.random.default_rng(1).permutation(len(y))
    model = DomainGeneralizer(PLAIN).fit(X, y, sample_domain=site)
    renamed = np.array([{"a": 9, "b": 1, "c": 4, "d": 2}[name] for name in site])
    other = DomainGeneralizer(PLAIN).fit(X[mixed], y[mixed], sample_domain=renamed[mixed])
    assert model.voters_ == other.voters_
    assert_array_equal(split_scores(other)[:, [3, 0, 2, 1]], split_scores(model))
    assert_array_equal(other.predict(X), model.predict(X))


def test_two_workers_find_what_one_finds(rings):
    X, y, site = rings
    one = DomainGeneralizer(PLAIN).fit(X, y, sample_domain=site)
    with parallel_config(backend="threading"):
        two = DomainGeneralizer(PLAIN, n_jobs=2).fit(X, y, sample_domain=site)
    assert_array_equal(split_scores(one), split_scores(two))


def test_sparse_samples_give_what_dense_ones_give(three_domains):
    X = np.where(three_domains.X > 0.5, three_domains.X, 0)
    given = {"y": three_domains.known, "sample_domain": three_domains.domain}
    dense = DomainGeneralizer().fit(X, **given)
    thin = DomainGeneralizer().fit(sparse.csr_array(X), **given)
    assert thin.voters_ == dense.voters_
    assert_array_equal(thin.predict(sparse.csr_array(X)), dense.predict(X))


def test_sparse_samples_are_refused_where_a_candidate_cannot_take_them():
    assert get_tags(DomainGeneralizer()).input_tags.sparse
    dense_only = [("z", make_pipeline(StandardScaler(), LogisticRegression()))]
    assert not get_tags(DomainGeneralizer(dense_only)).input_tags.sparse


# --- scikit-learn's forms -------------------------------------------------------------------------


@pytest.mark.parametrize("routing", [False, True], ids=["routing off", "routing on"])
def test_scikit_learn_finds_no_fault(routing):
    sca = make_domain_pipeline(SCA(), KNeighborsClassifier(1))
    model = DomainGeneralizer([("linear", LogisticRegression()), ("sca", sca)], cv=2)
    with sklearn.config_context(enable_metadata_routing=routing), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks' own data are degenerate on purpose
        results = check_estimator(model, on_fail=None, on_skip=None)
    faults = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert faults == {}
    assert sum(r["status"] == "passed" for r in results) > 40


def test_the_portfolio_warns_of_nothing_that_a_user_could_mend(three_domains):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit(three_domains, None)


def test_a_clone_is_unfitted_and_a_pickle_predicts_the_same(rings):
    X, y, site = rings
    model = DomainGeneralizer(PLAIN).fit(X, y, sample_domain=site)
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    with pytest.raises(NotFittedError):
        clone(model).predict(X)


def test_names_of_classes_come_back(rings):
    X, y, site = rings
    names = np.array(["inner", "middle", "outer"])[y]
    known = np.where(site == "d", None, names)
    model = DomainGeneralizer(PLAIN).fit(X, known, sample_domain=site)
    assert model.classes_.tolist() == ["inner", "middle", "outer"]
    assert np.mean(model.predict(X[site == "d"]) == names[site == "d"]) > 0.9


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"candidates": []}, ValueError, "candidates must be a list of"),
        ({"candidates": [LogisticRegression()]}, ValueError, "candidates must be a list of"),
        ({"candidates": [("x", Ridge())]}, TypeError, "candidate 'x' must be a classifier"),
        ({"candidates": [PLAIN[0], PLAIN[0]]}, ValueError, "different names, got linear, linear"),
        ({"standard_errors": -1}, ValueError, "standard_errors must lie"),
        ({"max_samples": 1}, ValueError, "max_samples must be at least 2"),
        ({"cv": 1}, ValueError, "cv must be at least 2"),
    ],
)
def test_a_wrong_parameter_is_named(rings, given, error, message):
    X, y, site = rings
    with pytest.raises(error, match=message):
        DomainGeneralizer(**{"candidates": PLAIN, **given}).fit(X, y, sample_domain=site)


def test_labels_that_are_missing_are_named(rings):
    X, y, site = rings
    model = DomainGeneralizer(PLAIN)
    for nothing in (None, np.full(len(y), -1)):
        with pytest.raises(ValueError, match=r"requires y .* no labelled sample"):
            model.fit(X, nothing, sample_domain=site)
    with pytest.raises(ValueError, match="at least two classes, got 1 class"):
        model.fit(X, np.ones(len(y), int), sample_domain=site)
    with pytest.raises(ValueError, match="no labelled sample in a source domain"):
        model.fit(X, y, sample_domain=np.full(len(y), -2))


def test_one_sample_of_each_class_in_one_domain_is_too_few():
    with pytest.raises(ValueError, match="no fold with two classes"):
        DomainGeneralizer(PLAIN).fit([[0.0], [1.0], [2.0]], [0, 1, 2])


def test_an_error_names_the_candidate_it_came_from(three_domains):
    hidden = make_pipeline(SCA(), DummyClassifier())
    with pytest.raises(TypeError, match="cannot pass sample_domain") as caught:
        fit(three_domains, [("hidden", hidden)])
    assert "candidate 'hidden'" in caught.value.__notes__[0]
