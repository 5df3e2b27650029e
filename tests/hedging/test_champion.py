"""The champion: the best of some classifiers on held-out labels, by the book."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator

from skatter import ChampionClassifier
from skatter.hedging._champion import (
    CalibratedSVC,
    draw_rows,
    fit_held_out,
    recall_of,
    source_folds,
    standard_classifiers,
)

FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)


def overlapping(n=120, n_classes=3, seed=0):
    """Classes that overlap, so that no classifier gets all of them right."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    return rng.normal(size=(n, 4)) + 1.5 * np.eye(n_classes, 4)[y], y


@pytest.fixture(scope="module")
def problem():
    X, y = overlapping()
    known = np.where(np.arange(len(y)) < 90, y, -1)
    return X, known


@pytest.fixture(scope="module")
def fitted(problem):
    return ChampionClassifier().fit(*problem)


# --- the scores -----------------------------------------------------------------------------------


def by_hand(Z, y):
    """Score the four on held-out labels, slowly."""
    machine = SVC(decision_function_shape="ovr")
    decisions = cross_val_predict(machine, Z, y, cv=FOLDS, method="decision_function")
    link = LogisticRegression(max_iter=500).fit(decisions, y)
    forest = RandomForestClassifier(150, oob_score=True, max_samples=len(y), random_state=0)
    boosting = HistGradientBoostingClassifier(max_leaf_nodes=15, early_stopping=False)
    logistic = LogisticRegression(max_iter=500)
    return {
        "logistic": np.mean(cross_val_predict(logistic, Z, y, cv=FOLDS) == y),
        "svm": np.mean(link.predict(decisions) == y),
        "forest": np.mean(forest.fit(Z, y).oob_decision_function_.argmax(axis=1) == y),
        "boosting": np.mean(cross_val_predict(boosting, Z, y, cv=FOLDS) == y),
    }


def test_candidates_are_scored_on_labels_that_they_have_not_seen(fitted, problem):
    X, known = problem
    labelled = known >= 0
    Z = StandardScaler().fit(X).transform(X[labelled])
    expected = by_hand(Z, known[labelled])
    assert fitted.scores_ == pytest.approx(expected)
    assert len(set(expected.values())) > 1


def test_the_champion_is_the_best_and_predicts_as_it_does_alone(fitted, problem):
    X, known = problem
    assert fitted.scores_[fitted.champion_] == max(fitted.scores_.values())
    labelled = known >= 0
    scaler = StandardScaler().fit(X)
    for name, alone in standard_classifiers(X, 3, metric="accuracy", random_state=0).items():
        alone.fit(scaler.transform(X[labelled]), known[labelled])
        expected = alone.predict_proba(scaler.transform(X))
        found = fitted.contender(name).estimator.predict_proba(fitted.scaler_.transform(X))
        np.testing.assert_allclose(found, expected, rtol=1e-9)
        if name == fitted.champion_:
            np.testing.assert_allclose(fitted.predict_proba(X), expected, rtol=1e-9)
            assert fitted.predict(X).tolist() == expected.argmax(axis=1).tolist()


def test_where_two_are_equally_good_the_first_is_champion(problem):
    same = {"b": GaussianNB(), "a": GaussianNB()}
    assert ChampionClassifier(same).fit(*problem).champion_ == "b"


# --- balanced accuracy ----------------------------------------------------------------------------


def test_for_balanced_accuracy_classes_weigh_the_same():
    rng = np.random.default_rng(1)
    y = (np.arange(150) % 10 == 0).astype(int)
    X = rng.normal(size=(150, 3)) + 1.2 * y[:, None]
    plain, balanced = (
        ChampionClassifier(metric=metric).fit(X, y) for metric in ("accuracy", "balanced accuracy")
    )
    for each in balanced.contenders_:
        assert each.estimator.class_weight == "balanced"
        assert plain.contender(each.name).estimator.class_weight is None
    logistic = LogisticRegression(class_weight="balanced", max_iter=500)
    held = cross_val_predict(logistic, StandardScaler().fit_transform(X), y, cv=FOLDS)
    assert balanced.scores_["logistic"] == pytest.approx(balanced_accuracy_score(y, held))
    assert np.sum(balanced.predict(X) == 1) > np.sum(plain.predict(X) == 1)


def test_recall_is_of_held_out_labels_and_adds_up_to_the_metric(problem):
    X, known = problem
    y = known[known >= 0]
    model = ChampionClassifier().fit(X[known >= 0], y)
    for each in model.contenders_:
        assert np.mean(each.recall[y]) == pytest.approx(each.score)
    assert recall_of(np.array([0, 0, 2]), np.eye(3)[[0, 1, 2]]).tolist() == [0.5, 2 / 3, 1.0]


# --- own candidates -------------------------------------------------------------------------------


def test_own_candidates_compete_and_stay_unfitted(problem):
    X, known = problem
    own = {"bayes": GaussianNB(), "near": KNeighborsClassifier(3)}
    model = ChampionClassifier(own).fit(X, known)
    labelled = known >= 0
    Z = StandardScaler().fit(X).transform(X[labelled])
    for name, candidate in own.items():
        held = cross_val_predict(candidate, Z, known[labelled], cv=FOLDS)
        assert model.scores_[name] == pytest.approx(np.mean(held == known[labelled]))
        assert not hasattr(candidate, "classes_")
    assert model.champion_ == max(model.scores_, key=model.scores_.get)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"candidates": {}}, ValueError, "candidates must map names"),
        ({"candidates": {"p": Perceptron()}}, TypeError, r"candidates\['p'\] .*predict_proba"),
        ({"candidates": {"s": StandardScaler()}}, TypeError, r"candidates\['s'\].*StandardScaler"),
        ({"metric": "f1"}, ValueError, r"metric must .*'f1'"),
        ({"random_state": -1}, ValueError, "random_state must"),
    ],
    ids=["none", "no probabilities", "no classifier", "metric", "seed"],
)
def test_errors_name_the_argument(problem, given, error, words):
    with pytest.raises(error, match=words):
        ChampionClassifier(**given).fit(*problem)


def test_a_single_class_is_refused(problem):
    with pytest.raises(ValueError, match="y must hold two classes or more"):
        ChampionClassifier().fit(problem[0], np.where(problem[1] == 0, 0, None))


# --- samples of all kinds -------------------------------------------------------------------------


def test_missing_values_are_medians_of_their_column(problem):
    X, known = np.array(problem[0]), problem[1]
    X[::5, 1] = np.nan
    filled = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)
    model, expected = (ChampionClassifier().fit(samples, known) for samples in (X, filled))
    assert model.scores_ == expected.scores_
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(filled))


def test_sparse_samples_are_judged_without_boosting(problem):
    X, known = np.where(problem[0] > 0.5, problem[0], 0), problem[1]
    model = ChampionClassifier().fit(sparse.csr_array(X), known)
    assert sorted(model.scores_) == ["forest", "logistic", "svm"]
    assert np.mean(model.predict(sparse.csr_array(X[:90])) == known[:90]) > 0.6


def test_many_columns_and_classes_leave_boosting_out():
    X = np.zeros((1, 80))
    given = {"metric": "accuracy", "random_state": 0}
    assert "boosting" in standard_classifiers(X, 2, **given)
    assert "boosting" not in standard_classifiers(X, 3, **given)


def test_units_of_columns_do_not_matter(fitted, problem):
    X, known = problem
    units, start = np.array([1e-3, 1.0, 60.0, 1e4]), np.array([0.0, 5.0, -300.0, 1e4])
    other = ChampionClassifier().fit(units * X + start, known)
    assert other.scores_ == fitted.scores_
    found = other.predict_proba(units * X + start)
    np.testing.assert_allclose(found, fitted.predict_proba(X), atol=1e-6)


def test_without_standardising_samples_are_taken_as_they_are(problem):
    X, known = problem
    model = ChampionClassifier({"near": KNeighborsClassifier(5)}, standardize=False)
    model.fit(X * [100, 1, 1, 1], known)
    expected = KNeighborsClassifier(5).fit((X * [100, 1, 1, 1])[:90], known[:90])
    found = model.predict(X * [100, 1, 1, 1])
    assert found.tolist() == expected.predict(X * [100, 1, 1, 1]).tolist()


def test_names_of_classes_and_domains_are_of_no_account(fitted, problem):
    X, known = problem
    names = np.where(known < 0, None, np.array(["ant", "bee", "cow"])[known])
    site = np.where(known < 0, "there", "here")
    model = ChampionClassifier().fit(X, names, sample_domain=site)
    assert model.scores_ == fitted.scores_
    expected = np.array(["ant", "bee", "cow"])[fitted.predict(X)]
    assert model.predict(X, sample_domain=site).tolist() == expected.tolist()


# --- few and many samples -------------------------------------------------------------------------


def test_a_class_of_one_sample_has_a_probability(problem):
    X, y = overlapping(61)
    y[0], y[1:] = 3, y[1:] % 2
    model = ChampionClassifier().fit(X, y)
    assert model.predict_proba(X).shape == (61, 3)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


def test_folds_never_learn_from_a_single_class():
    assert source_folds(np.array([0, 1, 2]), 0) == []
    for label in (np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1]), np.arange(40) % 3):
        assert source_folds(label, 0)
        for learn, test in source_folds(label, 0):
            assert len(np.unique(label[learn])) > 1
            assert not set(learn) & set(test)


def test_a_draw_keeps_every_class_and_all_rows_where_there_are_few():
    label = np.where(np.arange(2000) % 500 == 0, 1, 0)
    drawn = draw_rows(label, 50, 3)
    assert len(drawn) == len(set(drawn)) == 50
    assert np.sum(label[drawn] == 1) == 4
    assert drawn.tolist() == draw_rows(label, 50, 3).tolist() == sorted(drawn)
    assert draw_rows(label, 2000, 0).tolist() == list(range(2000))


@pytest.mark.parametrize("model", [LogisticRegression(), CalibratedSVC()], ids=["logistic", "svm"])
def test_what_cannot_be_held_out_has_the_class_frequencies(model):
    X, y = np.arange(4.0)[:, None] ** 2, np.arange(4)
    fitted, held_out, _ = fit_held_out(model, X, y, 4, 0)
    np.testing.assert_allclose(held_out, 0.25)
    assert fitted.predict(X).tolist() == y.tolist()


def test_rows_beyond_the_most_are_not_held_out():
    X, y = overlapping(100)
    machine = CalibratedSVC(max_rows=40)
    _, held_out, rows = fit_held_out(machine, X, y, 3, 0)
    assert len(held_out) == len(rows) == 40
    assert 0 < len(machine.machine_.vectors) <= 40


# --- the machine with probabilities ---------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_of_the_machine_are_logistic_in_held_out_decisions(n_classes):
    X, y = overlapping(n_classes=n_classes)
    machine = SVC(decision_function_shape="ovr")
    held = cross_val_predict(machine, X, y, cv=FOLDS, method="decision_function")
    new = machine.fit(X, y).decision_function(X[:9] + 0.1)
    if n_classes == 2:
        held, new = (np.column_stack([-values, values]) / 2 for values in (held, new))
    expected = LogisticRegression(max_iter=500).fit(held, y).predict_proba(new)
    found = CalibratedSVC().fit(X, y).predict_proba(X[:9] + 0.1)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize(
    "model",
    [CalibratedSVC(), ChampionClassifier({"logistic": LogisticRegression()})],
    ids=["svm", "champion"],
)
def test_scikit_learn_finds_no_fault(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(model, on_fail=None, on_skip=None)
    faults = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert faults == {}
