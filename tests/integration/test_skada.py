"""The estimators inside scikit-adaptation (skada): its pipelines, scorers, splitters, searches.

``fit`` and ``transform`` both declare ``sample_domain`` as requested: skada asks that the two
agree, since it routes through ``fit_transform``. Neither takes ``allow_source``, which is handed to
those alone that declare it; ``score`` does, and ``predict_proba`` of our pipelines, since scorers
hand it to whatever they score.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.neighbors import KernelDensity, KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from skatter import (
    SCA,
    SCACV,
    USCA,
    DomainGeneralizer,
    DomainScaler,
    SCAClassifier,
    make_domain_pipeline,
)
from skatter.methods import CORAL, DAM, JGSA, KMM, METHODS, TCA, SubspaceAlignment
from skatter.methods._generalization import Generalizer

SCORERS = (
    "SupervisedScorer",
    "ImportanceWeightedScorer",
    "PredictionEntropyScorer",
    "SoftNeighborhoodDensity",
    "DeepEmbeddedValidation",
    "CircularValidation",
    "MixValScorer",
    "MaNoScorer",
)
SPLITTERS = ("SourceTargetShuffleSplit", "DomainShuffleSplit", "StratifiedDomainShuffleSplit")
TRANSFORMERS = [
    method.estimator
    for method in METHODS.values()
    if method.kind == "features" and not issubclass(method.estimator, Generalizer)
]
"""Features that adapt; what learns nothing from a target has no reason to do well there."""


@pytest.fixture(autouse=True)
def skada(require):
    """skada, whose import switches on metadata routing for the whole process: put it back."""
    with sklearn.config_context(enable_metadata_routing=True):
        yield require("skada")


@pytest.fixture
def data(make_problem):
    return make_problem(2, n=20, seed=4)


@pytest.fixture
def place(data):
    """Ids in skada's convention: a negative one is a target."""
    return np.where(data.unlabelled, -2, 1)


def known(data):
    """Labels that skada may write to: it masks those of the target in place."""
    return data.known.copy()


def pipeline(skada, step=None):
    # The importance-weighted scorer hands its weights to the last step's score.
    last = LogisticRegression().set_score_request(sample_weight=True)
    return skada.make_da_pipeline(StandardScaler(), SCA() if step is None else step, last)


def quietly(call, *args, **options):
    """skada and a scorer's tiny folds warn of their own concerns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(*args, error_score="raise", **options)


def inner(fitted, name):
    """The estimator inside skada's selector."""
    return fitted.named_steps[name].base_estimator_


# --- pipelines ------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", TRANSFORMERS)
@pytest.mark.parametrize("last", [LogisticRegression, KNeighborsClassifier])
def test_a_skada_pipeline_predicts_what_ours_predicts(skada, data, place, step, last):
    theirs = skada.make_da_pipeline(StandardScaler(), step(), last())
    theirs.fit(data.X, known(data), sample_domain=place)
    ours = make_domain_pipeline(StandardScaler(), step(), last())
    ours.fit(data.X, data.known, sample_domain=place)
    target = data.unlabelled
    expected = ours.predict_proba(data.X[target])
    actual = theirs.predict_proba(data.X[target], sample_domain=place[target])
    np.testing.assert_allclose(actual, expected, atol=1e-10)
    np.testing.assert_array_equal(theirs.predict(data.X_new), ours.predict(data.X_new))
    accuracy = theirs.score(data.X[target], data.y[target], sample_domain=place[target])
    assert accuracy == ours.score(data.X[target], data.y[target])
    # JGSA has no intercept, and wants samples of unit length in standardised domains.
    assert accuracy > (0.6 if step is JGSA else 0.9)


def test_the_components_see_all_samples_and_both_domains(skada, data, place):
    fitted = pipeline(skada).fit(data.X, known(data), sample_domain=place)
    sca = inner(fitted, "sca")
    assert sca.domain_ids_.tolist() == [-2, 1]
    assert sca.classes_.tolist() == [0, 1, 2]
    assert len(sca.X_fit_) == len(data.X)


def test_components_that_tune_themselves_are_a_step(skada, data, place):
    search = SCACV(n_components=[1, 2], betas=[0.1, 0.9], deltas=[1.0], cv=2)
    fitted = pipeline(skada, search).fit(data.X, known(data), sample_domain=place)
    Xt = StandardScaler().fit_transform(data.X)
    alone = SCACV(n_components=[1, 2], betas=[0.1, 0.9], deltas=[1.0], cv=2)
    alone.fit(Xt, data.known, sample_domain=place)
    assert inner(fitted, "scacv").best_params_ == alone.best_params_


def test_two_components_in_one_pipeline(skada, data, place):
    chain = skada.make_da_pipeline(USCA(n_components=5), SCA(), KNeighborsClassifier(1))
    chain.fit(data.X, known(data), sample_domain=place)
    assert inner(chain, "usca").n_components_ == 5
    assert inner(chain, "sca").n_features_in_ == 5
    assert set(chain.predict(data.X_new)) <= {0, 1, 2}


@pytest.mark.parametrize("step", [SCA, USCA])
def test_target_labels_are_never_used(skada, data, place, step):
    target = data.unlabelled
    lies = np.where(target, (data.y + 1) % 3, data.y)
    expected = None
    for labels in (known(data), data.y.copy(), lies):
        fitted = pipeline(skada, step()).fit(data.X, labels, sample_domain=place)
        out = fitted.predict_proba(data.X[target], sample_domain=place[target])
        expected = out if expected is None else expected
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("step", [SCA, USCA])
def test_the_order_of_the_rows_does_not_matter(skada, data, place, step):
    mixed = np.random.default_rng(0).permutation(len(data.X))
    straight = pipeline(skada, step()).fit(data.X, known(data), sample_domain=place)
    shuffled = pipeline(skada, step()).fit(
        data.X[mixed], known(data)[mixed], sample_domain=place[mixed]
    )
    expected = straight[:-1].transform(data.X, sample_domain=place)
    actual = shuffled[:-1].transform(data.X[mixed], sample_domain=place[mixed])
    np.testing.assert_allclose(actual, expected[mixed], atol=1e-7 * np.abs(expected).max())


def test_several_sources_and_targets(skada, make_problem):
    data = make_problem(4, seed=6)
    _, code = np.unique(data.domain, return_inverse=True)
    place = np.array([1, 2, -3, -4])[code]
    labels = np.where(place < 0, -1, data.y)
    fitted = pipeline(skada).fit(data.X, labels, sample_domain=place)
    assert inner(fitted, "sca").domain_ids_.tolist() == [-4, -3, 1, 2]
    target = place < 0
    assert fitted.score(data.X[target], data.y[target], sample_domain=place[target]) > 0.8


# --- scorers --------------------------------------------------------------------------------------


def scorer(skada, name):
    options = {"random_state": 0} if name in ("DeepEmbeddedValidation", "MixValScorer") else {}
    return getattr(skada.metrics, name)(**options)


def metadata(name, data, place):
    extra = {"target_labels": data.y} if name == "SupervisedScorer" else {}
    return {"sample_domain": place, **extra}


@pytest.mark.parametrize("step", [SCA, USCA])
@pytest.mark.parametrize("name", SCORERS)
def test_all_scorers_score(skada, data, place, name, step):
    splitter = skada.model_selection.SourceTargetShuffleSplit(2, test_size=0.3, random_state=0)
    results = quietly(
        cross_validate,
        pipeline(skada, step()),
        data.X,
        known(data),
        cv=splitter,
        params=metadata(name, data, place),
        scoring=scorer(skada, name),
    )
    assert results["test_score"].shape == (2,)
    assert np.isfinite(results["test_score"]).all()


def test_the_supervised_scorer_gives_the_accuracy_on_the_target_of_the_fold(skada, data, place):
    splitter = skada.model_selection.SourceTargetShuffleSplit(2, test_size=0.3, random_state=0)
    results = quietly(
        cross_validate,
        pipeline(skada),
        data.X,
        known(data),
        cv=splitter,
        params=metadata("SupervisedScorer", data, place),
        scoring=scorer(skada, "SupervisedScorer"),
        return_indices=True,
    )
    for fold, score in enumerate(results["test_score"]):
        train, test = results["indices"]["train"][fold], results["indices"]["test"][fold]
        ours = make_domain_pipeline(StandardScaler(), SCA(), LogisticRegression())
        ours.fit(data.X[train], data.known[train], sample_domain=place[train])
        held = test[data.unlabelled[test]]
        assert score == np.mean(ours.predict(data.X[held]) == data.y[held])


def scores_of(skada, model, data, place, name, **options):
    return quietly(
        cross_validate,
        model,
        data.X,
        known(data),
        cv=skada.model_selection.SourceTargetShuffleSplit(2, test_size=0.3, random_state=0),
        params=metadata(name, data, place),
        scoring=scorer(skada, name),
        **options,
    )


def test_these_are_all_scorers(skada):
    base = skada.metrics._BaseDomainAwareScorer
    every = {name for name, each in vars(skada.metrics).items() if is_kind_of(each, base)}
    assert every == {*SCORERS, base.__name__}


def is_kind_of(each, base):
    return isinstance(each, type) and issubclass(each, base)


CLASSIFIERS = {
    "SCAClassifier": lambda: SCAClassifier(n_rounds=2, ridges=[1e-2], scalings=["none"]),
    "DomainGeneralizer": lambda: DomainGeneralizer({"logistic": LogisticRegression()}),
    "KMM": lambda: KMM(LogisticRegression()),
}
"""They predict by themselves."""

PIPELINES = {
    "SCA": lambda: make_domain_pipeline(StandardScaler(), SCA(), LogisticRegression()),
    "SCA, nearest": lambda: make_domain_pipeline(SCA(), KNeighborsClassifier(1)),
    "DomainScaler": lambda: make_domain_pipeline(DomainScaler(), LogisticRegression()),
    "TCA": lambda: make_domain_pipeline(TCA(), LogisticRegression()),
    "CORAL": lambda: make_domain_pipeline(CORAL(), LogisticRegression()),
    "subspace alignment": lambda: make_domain_pipeline(SubspaceAlignment(), LogisticRegression()),
}

FOR_NETWORKS = ("DeepEmbeddedValidation", "MaNoScorer")
"""Scorers that take every estimator that is no pipeline for a neural network."""

FROM_PROBABILITIES = ("PredictionEntropyScorer", "SoftNeighborhoodDensity", *FOR_NETWORKS)


@pytest.mark.parametrize("model", PIPELINES)
@pytest.mark.parametrize("name", SCORERS)
def test_all_scorers_score_our_pipelines(skada, data, place, name, model):
    results = scores_of(skada, PIPELINES[model](), data, place, name)
    assert np.isfinite(results["test_score"]).all()


@pytest.mark.parametrize("inside", ["our pipeline", "their pipeline", "no pipeline"])
@pytest.mark.parametrize("model", CLASSIFIERS)
@pytest.mark.parametrize("name", SCORERS)
def test_all_scorers_score_our_classifiers(skada, data, place, name, model, inside):
    classifier = CLASSIFIERS[model]()
    if inside == "no pipeline" and name in FOR_NETWORKS:
        with pytest.raises(AttributeError, match=rf"make_domain_pipeline\({model}\("):
            scores_of(skada, classifier, data, place, name)
        return
    if inside == "our pipeline":
        classifier = make_domain_pipeline(classifier)
    elif inside == "their pipeline":
        classifier = skada.make_da_pipeline(classifier)
    results = scores_of(skada, classifier, data, place, name)
    assert np.isfinite(results["test_score"]).all()


@pytest.mark.parametrize("name", SCORERS)
def test_machines_have_no_probabilities_to_score(skada, data, place, name):
    if name in FROM_PROBABILITIES:
        with pytest.raises(AttributeError, match="should have a 'predict_proba' method"):
            scores_of(skada, DAM(), data, place, name)
    else:
        assert np.isfinite(scores_of(skada, DAM(), data, place, name)["test_score"]).all()


@pytest.mark.parametrize("model", [CLASSIFIERS["SCAClassifier"], PIPELINES["SCA"]])
def test_the_importance_weighted_score_is_the_weighted_accuracy_on_the_source(
    skada, data, place, model
):
    name = "ImportanceWeightedScorer"
    results = scores_of(
        skada, model(), data, place, name, return_indices=True, return_estimator=True
    )
    for fold, score in enumerate(results["test_score"]):
        test = results["indices"]["test"][fold]
        source, target = (test[place[test] * sign > 0] for sign in (1, -1))
        log_ratio = [
            KernelDensity().fit(data.X[rows]).score_samples(data.X[source])
            for rows in (target, source)
        ]
        weight = np.exp(log_ratio[0] - log_ratio[1])
        right = results["estimator"][fold].predict(data.X[source]) == data.y[source]
        assert score == pytest.approx(np.average(right, weights=weight))


@pytest.mark.parametrize("name", SCORERS)
def test_our_own_pipeline_is_scored_as_theirs(skada, data, place, name):
    splitter = skada.model_selection.SourceTargetShuffleSplit(2, test_size=0.3, random_state=0)
    ours = make_domain_pipeline(StandardScaler(), SCA(), LogisticRegression())
    scores = [
        quietly(
            cross_validate,
            model,
            data.X,
            known(data),
            cv=splitter,
            params=metadata(name, data, place),
            scoring=scorer(skada, name),
        )["test_score"]
        for model in (ours, pipeline(skada))
    ]
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-9)


# --- splitters and searches -----------------------------------------------------------------------


@pytest.mark.parametrize("name", SPLITTERS)
@pytest.mark.parametrize("ours", [True, False], ids=["our pipeline", "their pipeline"])
def test_all_splitters_split(skada, data, place, name, ours):
    splitter = getattr(skada.model_selection, name)(2, test_size=0.3, random_state=0)
    own = make_domain_pipeline(StandardScaler(), SCA(), LogisticRegression())
    results = quietly(
        cross_validate,
        own if ours else pipeline(skada),
        data.X,
        known(data),
        cv=splitter,
        params=metadata("SupervisedScorer", data, place),
        scoring=scorer(skada, "SupervisedScorer"),
    )
    assert len(results["test_score"]) == 2
    assert (results["test_score"] > 0.8).all()


@pytest.mark.parametrize("ours", [True, False], ids=["our pipeline", "their pipeline"])
def test_one_domain_after_the_other_is_the_target(skada, require, make_problem, ours):
    data = make_problem(3, seed=7)
    names = np.unique(data.domain)
    packed = require("skada.datasets").DomainAwareDataset(
        [(data.X[data.domain == name], data.y[data.domain == name], name) for name in names]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # skada calls its own deprecated parameter
        X, y, place = packed.pack_lodo()
    own = make_domain_pipeline(StandardScaler(), SCA(), LogisticRegression())
    results = quietly(
        cross_validate,
        own if ours else pipeline(skada),
        X,
        y,
        cv=skada.model_selection.LeaveOneDomainOut(test_size=0.3, random_state=0),
        params={"sample_domain": place},
        scoring=scorer(skada, "PredictionEntropyScorer"),
        return_estimator=True,
    )
    targets = set()
    for one in results["estimator"]:
        ids = (one["sca"] if ours else inner(one, "sca")).domain_ids_
        assert np.sort(np.abs(ids)).tolist() == [1, 2, 3]
        (target,) = ids[ids < 0]
        targets.add(int(target))
    assert targets == {-1, -2, -3}
    assert np.isfinite(results["test_score"]).all()


@pytest.mark.parametrize("name", ["SupervisedScorer", "PredictionEntropyScorer"])
def test_a_grid_search_tunes_the_components(skada, data, place, name):
    grid = {"sca__n_components": [1, 2], "sca__beta": [0.1, 0.9]}
    search = GridSearchCV(
        pipeline(skada),
        grid,
        cv=skada.model_selection.SourceTargetShuffleSplit(2, test_size=0.3, random_state=0),
        scoring=scorer(skada, name),
        error_score="raise",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(data.X, known(data), **metadata(name, data, place))
    assert len(search.cv_results_["params"]) == 4
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    best = inner(search.best_estimator_, "sca")
    assert best.n_components == search.best_params_["sca__n_components"]
    assert best.beta == search.best_params_["sca__beta"]
    target = data.unlabelled
    assert np.mean(search.predict(data.X[target]) == data.y[target]) > 0.6


def test_the_methods_need_no_skada_to_ask_for_domains():
    for step in TRANSFORMERS:
        request = step().get_metadata_routing()
        assert request.fit.requests["sample_domain"] is True
        assert request.transform.requests["sample_domain"] is True
