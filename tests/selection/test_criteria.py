"""Criteria judge a model for a target whose labels they never see."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KernelDensity, KNeighborsClassifier
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from skatter import SCA, make_domain_pipeline
from skatter.domains import read_domains
from skatter.scatter import between_class_scatter, conditional_domain_scatter, total_scatter
from skatter.selection.criteria import (
    CRITERIA,
    Criterion,
    choose,
    class_scatter,
    deep_embedded_validation,
    effective_sample_size,
    importance_weighted_accuracy,
    importance_weights,
    is_collapsed,
    judge,
    mutual_information,
    nearest_class_probabilities,
    prediction_entropy,
    register_criterion,
    scatter_criterion,
    soft_neighbourhood_density,
)
from skatter.selection.criteria import (
    _registry as registry,
)
from skatter.selection.criteria._evidence import Evidence

pytestmark = pytest.mark.usefixtures("few_trees")

some = settings(deadline=None, max_examples=25)

WITH_ONE_SOURCE = sorted(set(CRITERIA) - {"leave one domain out"})

distributions = arrays(float, (6, 3), elements=st.floats(0.01, 1)).map(
    lambda P: P / P.sum(axis=1, keepdims=True)
)


def nearest():
    return make_domain_pipeline(SCA(n_components=2), KNeighborsClassifier(1))


# --- predictions --------------------------------------------------------------------------------


@some
@given(distributions)
def test_entropy_and_information_follow_their_definitions(P):
    entropies = [-sum(p * np.log(p) for p in row) for row in P]
    mean = P.mean(axis=0)
    assert prediction_entropy(P) == pytest.approx(-np.mean(entropies))
    overall = -sum(p * np.log(p) for p in mean)
    assert mutual_information(P) == pytest.approx(overall - np.mean(entropies))


def test_neighbourhood_density_follows_its_definition():
    P = np.random.default_rng(0).dirichlet(np.ones(4), size=9)
    unit = P / np.sqrt(np.sum(P**2, axis=1, keepdims=True))
    entropies = []
    for i in range(9):
        closeness = np.array([np.exp(unit[i] @ unit[j] / 0.2) for j in range(9) if j != i])
        q = closeness / closeness.sum()
        entropies.append(-np.sum(q * np.log(q)))
    assert soft_neighbourhood_density(P, temperature=0.2) == pytest.approx(np.mean(entropies))


def test_neighbourhood_density_is_the_same_in_strips(monkeypatch):
    P = np.random.default_rng(0).dirichlet(np.ones(4), size=9)
    whole = soft_neighbourhood_density(P)
    monkeypatch.setattr("skatter.selection.criteria._predictions.STRIP", 2)
    assert soft_neighbourhood_density(P) == pytest.approx(whole)


def test_decision_values_are_refused_as_probabilities():
    with pytest.raises(ValueError, match="output of predict_proba"):
        prediction_entropy([[-1.0, 2.0]])


@pytest.mark.parametrize(
    ("shares", "known", "collapsed"),
    [
        ([100, 0], [50, 50], True),
        ([97, 3], [50, 50], False),
        ([99, 1], [99, 1], False),
        ([100, 0], [99, 1], True),
        ([97, 3, 0, 0, 0, 0, 0, 0, 0, 0], [10] * 10, True),
        ([80, 20, 0, 0, 0, 0, 0, 0, 0, 0], [10] * 10, False),
    ],
    ids=["constant", "rare", "as rare as known", "rare class lost", "one of ten", "two of ten"],
)
def test_collapse_is_measured_against_the_known_classes(shares, known, collapsed):
    predicted, labels = (np.repeat(range(len(n)), n) for n in (shares, known))
    assert is_collapsed(predicted, labels) is collapsed


@some
@given(st.floats(1e-3, 1e3))
def test_soft_labels_do_not_change_with_the_scale_and_name_the_nearest_class(factor):
    rng = np.random.default_rng(0)
    train, new, label = rng.normal(size=(20, 3)), rng.normal(size=(8, 3)), np.arange(20) % 4
    P = nearest_class_probabilities(train, label, new)
    np.testing.assert_allclose(nearest_class_probabilities(factor * train, label, factor * new), P)
    predicted = KNeighborsClassifier(1).fit(train, label).predict(new)
    np.testing.assert_array_equal(P.argmax(axis=1), predicted)
    d = [min(np.linalg.norm(new[0] - t) for t in train[label == c]) for c in range(4)]
    np.testing.assert_allclose(P[0], np.power(d, -2.0) / np.power(d, -2.0).sum())


def test_a_sample_that_is_known_has_its_class_and_an_absent_class_has_none():
    P = nearest_class_probabilities([[0.0], [1.0]], np.array([0, 2]), [[1.0]], 4)
    assert P.tolist() == [[0.0, 0.0, 1.0, 0.0]]


# --- weights ------------------------------------------------------------------------------------


def test_weights_estimate_the_ratio_of_densities():
    rng = np.random.default_rng(0)
    source, target = rng.normal(size=(4000, 1)), rng.normal(0.5, size=(2000, 1))
    exact = np.exp(0.5 * source[:, 0] - 0.125)
    weights = importance_weights(source, target)
    assert np.corrcoef(weights, exact)[0, 1] > 0.99
    assert weights.mean() == pytest.approx(1, abs=0.05)


def test_no_sample_weighs_itself():
    rng = np.random.default_rng(0)
    # More features than samples: a classifier that knew a sample would be sure of its domain.
    source, target = rng.normal(size=(30, 200)), rng.normal(size=(30, 200))
    unseen = effective_sample_size(importance_weights(source, target))
    seen = np.median(importance_weights(source, target, at=source))
    assert seen < 0.1
    assert np.median(importance_weights(source, target)) > 0.3
    assert unseen > 3


def test_no_weight_exceeds_the_cut():
    rng = np.random.default_rng(0)
    source, target = rng.normal(size=(100, 1)), rng.normal(4.0, size=(100, 1))
    source[0] = 9
    model = LogisticRegression(max_iter=500)
    scaler = StandardScaler().fit(np.vstack([source, target]))
    model.fit(scaler.transform(np.vstack([source, target])), np.repeat([0, 1], 100))
    share = model.predict_proba(scaler.transform(source))[:, 1]
    raw = share / (1 - share)
    cut = importance_weights(source, target, at=source)
    np.testing.assert_allclose(cut, np.minimum(raw, 10 * raw.mean()), rtol=1e-6)
    assert raw.max() > cut.max()


def test_sparse_features_are_weighed_like_dense_ones():
    rng = np.random.default_rng(0)
    source, target = rng.poisson(1.0, (80, 4)) * 1.0, rng.poisson(1.5, (60, 4)) * 1.0
    dense = importance_weights(source, target)
    thin = importance_weights(sparse.csr_matrix(source), sparse.csr_matrix(target))
    # The intercept, which is not shrunk, does what centring does.
    np.testing.assert_allclose(thin, dense, rtol=2e-2)


def test_the_control_variate_changes_the_variance_and_not_the_mean():
    rng = np.random.default_rng(0)
    plain, controlled = [], []
    for _ in range(400):
        x = rng.normal(size=200)
        weights, losses = np.exp(0.5 * x - 0.125), (x > -1).astype(float)
        plain.append(-np.mean(weights * losses))
        controlled.append(deep_embedded_validation(losses, weights))
    # Under the target, x ~ N(0.5, 1): P(x > -1) = Phi(1.5)
    assert np.mean(controlled) == pytest.approx(-0.9332, abs=0.01)
    assert np.std(controlled) < 0.5 * np.std(plain)


# --- scatter ------------------------------------------------------------------------------------


def slow_criterion(X, y, predicted, source):
    """Standardise each domain, take class means, and multiply: the formulas of the module."""
    Z = np.array(X, dtype=float)
    for rows in (source, ~source):
        Z[rows] = (Z[rows] - Z[rows].mean(axis=0)) / Z[rows].std(axis=0)
    shared = own = 0.0
    for c in np.unique(y[source]):
        here, there = Z[source & (y == c)], Z[~source & (predicted == c)]
        if len(there):
            share, a, b = len(there) / np.sum(~source), here.mean(axis=0), there.mean(axis=0)
            shared, own = shared + share * a @ b, own + share * b @ b
    p = X.shape[1]
    return shared / p * np.sqrt(own / p)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_scatter_criterion_follows_its_definition(two_domains, kind):
    problem = two_domains
    predicted = np.random.default_rng(0).permuted(problem.y)
    source = ~problem.unlabelled
    for guess in (problem.y, predicted):
        value = scatter_criterion(
            kind(problem.X), problem.known, guess, sample_domain=problem.domain
        )
        assert value == pytest.approx(slow_criterion(problem.X, problem.y, guess, source))


def test_shared_scatter_is_between_class_less_conditional_domain_scatter(two_domains):
    problem = two_domains
    Z = np.array(problem.X)
    for rows in (problem.unlabelled, ~problem.unlabelled):
        Z[rows] = StandardScaler().fit_transform(Z[rows])
    # All classes are equally frequent in both domains, so class means are means of two means.
    expected = between_class_scatter(Z, problem.y) - conditional_domain_scatter(
        Z, problem.y, problem.domain
    )
    view = read_domains(problem.known, problem.domain)
    found = class_scatter(np.array(problem.X), view, problem.y)
    assert found.shared == pytest.approx(expected / total_scatter(Z))
    target = problem.unlabelled
    share = between_class_scatter(Z[target], problem.y[target]) / total_scatter(Z[target])
    assert found.own == pytest.approx(share)


@some
@given(
    arrays(float, 5, elements=st.floats(0.1, 10)),
    arrays(float, (2, 5), elements=st.floats(-10, 10)),
)
def test_units_and_shifts_of_a_domain_do_not_change_the_scatter_criterion(units, shifts):
    rng = np.random.default_rng(0)
    y, place = np.tile([0, 1, 2], 20), np.repeat([0, 1], 30)
    X = rng.normal(size=(60, 5)) + 2 * np.eye(3, 5)[y]
    known = np.where(place == 1, -1, y)
    value = scatter_criterion(X, known, y, sample_domain=place)
    moved = scatter_criterion(X * units + shifts[place], known, y, sample_domain=place)
    assert moved == pytest.approx(value, rel=1e-6)


def test_constant_and_swapped_predictions_never_beat_right_ones(two_domains):
    def value(predicted):
        return scatter_criterion(
            two_domains.X, two_domains.known, predicted, sample_domain=two_domains.domain
        )

    constants = [value(np.full_like(two_domains.y, c)) for c in range(3)]
    np.testing.assert_allclose(constants, 0, atol=1e-12)
    assert value(two_domains.y) > 0.1
    assert value((two_domains.y + 1) % 3) < 0


def test_several_domains_are_each_standardised_on_their_own(three_domains):
    problem = three_domains
    Z = np.array(problem.X)
    for name in np.unique(problem.domain):
        Z[problem.domain == name] = StandardScaler().fit_transform(Z[problem.domain == name])
    merged = np.where(problem.unlabelled, "target", "source")
    expected = slow_criterion(Z, problem.y, problem.y, merged == "source")
    value = scatter_criterion(problem.X, problem.known, problem.y, sample_domain=problem.domain)
    assert value == pytest.approx(expected)


def test_target_samples_with_a_label_keep_it(two_domains):
    problem = two_domains
    signed = np.where(problem.unlabelled, -2, 1)
    known = np.array(problem.known)
    few = np.flatnonzero(problem.unlabelled)[:6]
    known[few] = problem.y[few]
    predicted = (problem.y + 1) % 3
    value = scatter_criterion(problem.X, known, predicted, sample_domain=signed)
    predicted[few] = problem.y[few]
    assert value == pytest.approx(slow_criterion(problem.X, problem.y, predicted, signed > 0))


def test_a_prediction_that_is_no_class_is_named(two_domains):
    with pytest.raises(ValueError, match="predicted holds 7, which is no class of y"):
        scatter_criterion(
            two_domains.X,
            two_domains.known,
            np.full_like(two_domains.y, 7),
            sample_domain=two_domains.domain,
        )


# --- judging models -----------------------------------------------------------------------------


class Oracle(ClassifierMixin, BaseEstimator):
    """Predicts what it is told, whatever it learns; rows are known by their first feature."""

    def __init__(self, answers=None):
        self.answers = answers

    def fit(self, X, y, sample_domain=None):
        self.classes_ = np.unique(list(self.answers.values()))
        return self

    def predict(self, X):
        return np.array([self.answers[float(x)] for x in X[:, 0]])


def oracle(problem, labels):
    return Oracle(dict(zip(problem.X[:, 0].tolist(), labels.tolist(), strict=True)))


def test_a_constant_classifier_never_wins_by_any_criterion(two_domains):
    models = {"constant": DummyClassifier(), "nearest": KNeighborsClassifier(1)}
    for name in WITH_ONE_SOURCE:
        choice = choose(
            models,
            two_domains.X,
            two_domains.known,
            sample_domain=two_domains.domain,
            criteria=name,
        )
        assert choice.best == "nearest"
        assert choice.scores["constant"][name] == -np.inf


def test_target_labels_do_not_touch_a_score(two_domains):
    problem = two_domains
    hidden = np.array(problem.y)
    hidden[problem.unlabelled] = np.random.default_rng(1).permutation(hidden[problem.unlabelled])
    scores = [
        judge(
            nearest(),
            problem.X,
            y,
            sample_domain=problem.domain,
            labelled=~problem.unlabelled,
            criteria=WITH_ONE_SOURCE,
        )
        for y in (problem.y, hidden)
    ]
    assert scores[0] == scores[1]
    assert scores[0] == judge(
        nearest(), problem.X, problem.known, sample_domain=problem.domain, criteria=WITH_ONE_SOURCE
    )


@pytest.mark.parametrize("names", [None, ["cat", "dog", "eel"], [-1, 0, 1]], ids=str)
def test_names_of_classes_and_domains_do_not_matter(three_domains, names):
    problem = three_domains
    y = problem.y if names is None else np.array(names)[problem.y]
    signed = np.where(problem.unlabelled, -5, np.unique(problem.domain, return_inverse=True)[1])
    given = {"criteria": list(CRITERIA), "labelled": ~problem.unlabelled}
    renamed = judge(nearest(), problem.X, y, sample_domain=signed, **given)
    plain = judge(nearest(), problem.X, problem.y, sample_domain=problem.domain, **given)
    assert renamed == pytest.approx(plain)


def test_the_order_of_samples_does_not_matter_where_there_are_no_folds(two_domains):
    problem = two_domains
    mixed = np.random.default_rng(0).permutation(len(problem.y))
    # The hedge behind the expected accuracy draws folds of its own.
    names = [
        c.name
        for c in CRITERIA.values()
        if c.fits in ("one", "two") and c.name != "expected accuracy"
    ]
    scores = [
        judge(
            nearest(),
            problem.X[rows],
            problem.known[rows],
            sample_domain=problem.domain[rows],
            criteria=names,
        )
        for rows in (slice(None), mixed)
    ]
    assert scores[1] == pytest.approx(scores[0])


def test_a_criterion_is_a_function_and_a_line_in_the_registry(two_domains, monkeypatch):
    problem = two_domains
    given = {"sample_domain": problem.domain, "criteria": ["mean confidence"]}
    with pytest.raises(ValueError, match="mean confidence"):
        judge(nearest(), problem.X, problem.known, **given)
    monkeypatch.setitem(registry._BY_NAME, "mean confidence", None)  # gone after the test
    register_criterion(
        Criterion(
            "mean confidence",
            "mean probability of the class that is predicted",
            lambda evidence: evidence.probabilities.max(axis=1).mean(),
            probabilities=True,
        )
    )
    models = {
        f"{k} neighbours": make_domain_pipeline(SCA(n_components=2), KNeighborsClassifier(k))
        for k in (20, 3)
    }
    found = choose(models, problem.X, problem.known, **given)
    for name, model in models.items():
        model.fit(problem.X, problem.known, sample_domain=problem.domain)
        shares = model.predict_proba(problem.X[problem.unlabelled])
        assert found.scores[name]["mean confidence"] == pytest.approx(shares.max(axis=1).mean())
    assert found.best == "3 neighbours"


def test_folds_hide_labels_and_keep_samples(two_domains):
    problem = two_domains
    seen = []

    class Watch(KNeighborsClassifier):
        def fit(self, X, y, sample_domain=None):
            seen.append((len(X), np.sum(np.asarray(y) == -1), len(np.unique(sample_domain))))
            return super().fit(X[y != -1], y[y != -1])

    judge(
        Watch(1), problem.X, problem.known, sample_domain=problem.domain, criteria="source accuracy"
    )
    n, n_target = len(problem.y), int(problem.unlabelled.sum())
    assert seen[0] == (n, n_target, 2)
    assert len(seen) == 6
    assert all(samples == n and domains == 2 for samples, _, domains in seen)
    assert sum(unknown - n_target for _, unknown, _ in seen[1:]) == n - n_target


def test_leave_one_domain_out_is_the_mean_over_domains_that_were_not_seen(three_domains):
    problem = three_domains
    score = judge(
        KNeighborsClassifier(1),
        problem.X,
        problem.known,
        sample_domain=problem.domain,
        criteria="leave one domain out",
    )["leave one domain out"]
    first, second = problem.domain == "amsterdam", problem.domain == "basel"
    expected = [
        KNeighborsClassifier(1).fit(problem.X[a], problem.y[a]).score(problem.X[b], problem.y[b])
        for a, b in ((first, second), (second, first))
    ]
    assert score == pytest.approx(np.mean(expected))


def test_importance_weights_are_taken_in_the_features_of_the_model(two_domains):
    problem = two_domains
    # The first transformer drops the feature that tells the domains apart.
    blind = FunctionTransformer(np.delete, kw_args={"obj": -1, "axis": 1})
    sizes = [
        effective_sample_size(
            Evidence(
                make_domain_pipeline(step, KNeighborsClassifier(1)),
                problem.X,
                problem.known,
                sample_domain=problem.domain,
            ).held_out.weights
        )
        for step in (blind, "passthrough")
    ]
    assert sizes[0] > 1.5 * sizes[1]


@pytest.mark.parametrize("name", ["scatter", "expected accuracy"])
def test_models_are_ranked_by_their_accuracy(two_domains, name):
    problem = two_domains
    rng = np.random.default_rng(0)
    values = []
    for wrong in (0.0, 0.2, 0.4, 0.6):
        labels = np.array(problem.y)
        flipped = rng.random(len(labels)) < wrong
        labels[flipped] = rng.integers(3, size=flipped.sum())
        values.append(oracle(problem, labels))
    models = {str(place): model for place, model in enumerate(values)}
    choice = choose(models, problem.X, problem.known, sample_domain=problem.domain, criteria=name)
    scores = [choice.scores[place][name] for place in models]
    assert scores == sorted(scores, reverse=True)


def test_several_criteria_vote_by_mean_rank(two_domains):
    problem = two_domains
    swapped = np.where(problem.unlabelled, (problem.y + 1) % 3, problem.y)
    models = {"wrong": oracle(problem, swapped), "right": oracle(problem, problem.y)}
    given = {"sample_domain": problem.domain, "criteria": ["scatter", "source accuracy"]}
    choice = choose(models, problem.X, problem.known, **given)
    assert choice.best == "right"
    assert choice.ranks == {"wrong": 1.75, "right": 1.25}


def test_models_are_judged_on_the_same_folds_whatever_the_random_state(two_domains):
    problem = two_domains
    models = {"one": KNeighborsClassifier(1), "again": KNeighborsClassifier(1)}
    choice = choose(
        models,
        problem.X,
        problem.known,
        sample_domain=problem.domain,
        criteria="importance weighted",
        random_state=np.random.RandomState(3),
    )
    assert choice.scores["one"] == choice.scores["again"]


def test_models_that_all_collapse_are_refused(two_domains):
    with pytest.raises(ValueError, match="Every model predicts one class"):
        choose(
            {"constant": DummyClassifier()},
            two_domains.X,
            two_domains.known,
            sample_domain=two_domains.domain,
        )


def test_bad_input_is_named_before_any_fit(two_domains):
    class Never(KNeighborsClassifier):
        def fit(self, X, y):
            raise AssertionError("fitted")

    X, known, domain = two_domains.X, two_domains.known, two_domains.domain
    with pytest.raises(ValueError, match="Did you mean 'scatter'"):
        judge(Never(), X, known, sample_domain=domain, criteria="scater")
    with pytest.raises(ValueError, match="no unlabelled target sample"):
        judge(Never(), X, two_domains.y, sample_domain=domain)
    with pytest.raises(ValueError, match="two classes or more"):
        judge(Never(), X, np.where(known == -1, None, "one"), sample_domain=domain)
    with pytest.raises(ValueError, match="models is empty"):
        choose({}, X, known, sample_domain=domain)


# --- beside scikit-adaptation -------------------------------------------------------------------


@pytest.fixture
def routing():
    """Metadata routing, which scikit-adaptation's pipelines and scorers need."""
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture
def signed(two_domains):
    """The problem under scikit-adaptation's conventions."""
    return two_domains, np.where(two_domains.unlabelled, -2, 1)


@pytest.mark.usefixtures("routing")
def test_scikit_adaptation_agrees_on_entropy_and_density(signed, require):
    metrics = require("skada.metrics")
    problem, sites = signed
    model = make_domain_pipeline(SCA(n_components=2), LogisticRegression())
    model.fit(problem.X, problem.known, sample_domain=sites)
    ours = judge(
        model,
        problem.X,
        problem.known,
        sample_domain=sites,
        criteria=["entropy", "neighbourhood density"],
    )
    given = (model, problem.X, problem.known)
    # They take the mean over samples and classes, we over samples.
    theirs = 3 * metrics.PredictionEntropyScorer()(*given, sample_domain=sites)
    assert ours["entropy"] == pytest.approx(theirs)
    theirs = metrics.SoftNeighborhoodDensity()(*given, sample_domain=sites)
    assert ours["neighbourhood density"] == pytest.approx(theirs, rel=1e-6)


@pytest.mark.usefixtures("routing")
def test_scikit_adaptation_agrees_on_circular_validation(signed, require):
    metrics = require("skada.metrics")
    problem, sites = signed
    model = nearest().fit(problem.X, problem.known, sample_domain=sites)
    scorer = metrics.CircularValidation(source_scorer=accuracy_score)
    theirs = scorer(model, problem.X, problem.known, sample_domain=sites)
    ours = judge(model, problem.X, problem.known, sample_domain=sites, criteria="circular")
    assert ours["circular"] == pytest.approx(theirs)


@pytest.mark.usefixtures("routing")
def test_scikit_adaptation_agrees_on_the_weighted_accuracy_and_the_control_variate(require):
    skada, metrics = require("skada"), require("skada.metrics")
    rng = np.random.default_rng(0)
    y, sites = rng.integers(2, size=200), np.repeat([1, -2], 100)
    X = rng.normal(size=(200, 3)) + y[:, None] + 0.5 * (sites < 0)[:, None]
    known, source = np.where(sites < 0, -1, y), sites > 0
    model = skada.make_da_pipeline(LogisticRegression().set_score_request(sample_weight=True))
    model.fit(X, known, sample_domain=sites)

    here, there = (
        KernelDensity().fit(X[rows]).score_samples(X[source]) for rows in (source, ~source)
    )
    right = model.predict(X[source], sample_domain=sites[source], allow_source=True) == y[source]
    theirs = metrics.ImportanceWeightedScorer()(model, X, known, sample_domain=sites)
    assert importance_weighted_accuracy(right, np.exp(there - here)) == pytest.approx(theirs)

    def wrong(truth, P):
        return (P.argmax(axis=1) != truth).astype(float)[:, None]

    theirs = metrics.DeepEmbeddedValidation(loss_func=wrong, random_state=0)(
        model, X, known, sample_domain=sites
    )
    learn, held = train_test_split(
        np.flatnonzero(source), test_size=0.33, random_state=np.random.RandomState(0)
    )
    judge_of_domains = LogisticRegression().fit(
        np.vstack([X[learn], X[~source]]), np.repeat([0, 1], [len(learn), 100])
    )
    share = judge_of_domains.predict_proba(X[held])[:, 1]
    P = model.predict_proba(X[held], sample_domain=sites[held], allow_source=True)
    ours = deep_embedded_validation(wrong(y[held], P)[:, 0], len(learn) / 100 * share / (1 - share))
    assert ours == pytest.approx(theirs)
