"""Every step of a domain pipeline sees what it should, and scikit-learn's tools work on it."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone, is_classifier
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectFromModel, SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils import estimator_html_repr
from sklearn.utils.estimator_checks import check_estimator

from skatter import SCA, SCACV, USCA, DomainPipeline, make_domain_pipeline


@pytest.fixture(params=[False, True], ids=["routing off", "routing on"])
def routing(request):
    """Metadata routing of scikit-learn, off and on."""
    with sklearn.config_context(enable_metadata_routing=request.param):
        yield request.param


class Spy(TransformerMixin, BaseEstimator):
    """A transformer that changes nothing and remembers what it was fitted on."""

    def fit(self, X, y=None):
        self.X_, self.y_ = X, y
        return self

    def transform(self, X):
        return X


class DomainSpy(Spy):
    """A spy that asks for domains, in ``fit`` and in ``transform``."""

    def fit(self, X, y=None, *, sample_domain=None):
        self.sample_domain_ = sample_domain
        return super().fit(X, y)

    def fit_transform(self, X, y=None, *, sample_domain=None):
        return self.fit(X, y, sample_domain=sample_domain).transform(X, sample_domain="in fit")

    def transform(self, X, *, sample_domain=None):
        self.told_ = sample_domain
        return X


class LabelSpy(Spy):
    """A spy that says that it learns from labels."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class Judge(ClassifierMixin, BaseEstimator):
    """A classifier that remembers what it was fitted on and always says its first class."""

    def fit(self, X, y):
        self.X_, self.y_ = X, y
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.repeat(self.classes_[:1], len(X))


def model(*steps):
    """The pipeline of most tests."""
    return make_domain_pipeline(*(steps or (StandardScaler(), SCA(), LogisticRegression())))


def fitted(pipeline, data, y=None):
    return pipeline.fit(data.X, data.known if y is None else y, sample_domain=data.domain)


# --- who sees what --------------------------------------------------------------------------------


def test_a_plain_transformer_sees_all_samples_and_no_labels(three_domains, routing):
    pipeline = fitted(model(Spy(), KNeighborsClassifier(1)), three_domains)
    np.testing.assert_array_equal(pipeline[0].X_, three_domains.X)
    assert pipeline[0].y_ is None


def test_a_step_that_takes_domains_sees_all_samples_labels_and_domains(three_domains, routing):
    data = three_domains
    pipeline = fitted(model(DomainSpy(), KNeighborsClassifier(1)), data)
    np.testing.assert_array_equal(pipeline[0].X_, data.X)
    np.testing.assert_array_equal(pipeline[0].y_, data.known)
    np.testing.assert_array_equal(pipeline[0].sample_domain_, data.domain)
    assert pipeline[0].told_ == "in fit"


def test_the_final_classifier_sees_labelled_samples_only(three_domains, routing):
    data = three_domains
    judge = fitted(model(Spy(), Judge()), data)[-1]
    np.testing.assert_array_equal(judge.X_, data.X[~data.unlabelled])
    np.testing.assert_array_equal(judge.y_, data.y[~data.unlabelled])


def test_a_transformer_that_needs_labels_sees_labelled_samples_and_transforms_all(three_domains):
    data = three_domains
    pipeline = fitted(model(LabelSpy(), Spy(), KNeighborsClassifier(1)), data)
    np.testing.assert_array_equal(pipeline[0].X_, data.X[~data.unlabelled])
    np.testing.assert_array_equal(pipeline[0].y_, data.y[~data.unlabelled])
    np.testing.assert_array_equal(pipeline[1].X_, data.X)


@pytest.mark.parametrize(
    "supervised",
    [
        SelectKBest(k=3),
        SelectFromModel(LogisticRegression()),
        LinearDiscriminantAnalysis(),
        NeighborhoodComponentsAnalysis(n_components=2, random_state=0, max_iter=20),
        make_pipeline(StandardScaler(), SelectKBest(k=3)),
    ],
    ids=lambda step: type(step).__name__,
)
def test_supervised_transformers_are_fitted_on_labelled_samples(three_domains, supervised, routing):
    data = three_domains
    pipeline = fitted(model(clone(supervised), Spy(), KNeighborsClassifier(1)), data)
    alone = clone(supervised).fit(data.X[~data.unlabelled], data.y[~data.unlabelled])
    np.testing.assert_allclose(pipeline[1].X_, alone.transform(data.X), rtol=1e-12)


@pytest.mark.parametrize(
    "final",
    [
        make_pipeline(StandardScaler(), LogisticRegression()),
        GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=3),
        LinearDiscriminantAnalysis(),
        SVC(),
    ],
    ids=lambda step: type(step).__name__,
)
def test_composite_classifiers_at_the_end_learn_from_labelled_samples(
    three_domains, final, routing
):
    data = three_domains
    pipeline = fitted(model(StandardScaler(), clone(final)), data)
    Xt = StandardScaler().fit_transform(data.X)
    alone = clone(final).fit(Xt[~data.unlabelled], data.y[~data.unlabelled])
    np.testing.assert_array_equal(pipeline.predict(data.X), alone.predict(Xt))


@pytest.mark.parametrize("steps", [(), (SCA(),), (StandardScaler(), USCA(n_components=5))])
def test_a_final_discriminant_never_learns_unlabelled_as_a_class(three_domains, steps):
    data = three_domains
    pipeline = fitted(model(*map(clone, steps), LinearDiscriminantAnalysis()), data)
    assert pipeline.classes_.tolist() == [0, 1, 2]
    assert set(pipeline.predict(data.X)) <= {0, 1, 2}
    assert pipeline.score(data.X[data.unlabelled], data.y[data.unlabelled]) > 0.9


def test_an_explicit_mask_wins_over_the_marks(three_domains, routing):
    data = three_domains
    lies = np.where(data.unlabelled, 77, data.y)
    pipeline = model().fit(data.X, lies, sample_domain=data.domain, labelled=~data.unlabelled)
    expected = fitted(model(), data)
    np.testing.assert_array_equal(pipeline.classes_, [0, 1, 2])
    np.testing.assert_array_equal(
        pipeline.decision_function(data.X_new), expected.decision_function(data.X_new)
    )


def test_without_domains_the_unlabelled_samples_are_the_target(two_domains):
    data = two_domains
    told = fitted(model(), data)
    untold = model().fit(data.X, data.known)
    assert untold["sca"].domain_ids_.tolist() == ["labelled", "unlabelled"]
    np.testing.assert_allclose(untold.predict_proba(data.X), told.predict_proba(data.X), atol=1e-8)


def test_domains_reach_the_components(three_domains, routing):
    data = three_domains
    pipeline = fitted(model(), data)
    assert pipeline["sca"].domain_ids_.tolist() == ["amsterdam", "basel", "cairo"]
    Xt = StandardScaler().fit_transform(data.X)
    alone = SCA().fit(Xt, data.known, sample_domain=data.domain)
    np.testing.assert_array_equal(pipeline["sca"].eigenvalues_, alone.eigenvalues_)


@pytest.mark.parametrize("ask", ["transform", "predict"])
def test_domains_of_new_samples_reach_the_steps_that_ask(two_domains, routing, ask):
    data = two_domains
    last = KNeighborsClassifier(1) if ask == "predict" else Spy()
    pipeline = fitted(model(Spy(), DomainSpy(), last), data)
    where = np.full(len(data.X_new), "zagreb")
    getattr(pipeline, ask)(data.X_new, sample_domain=where)
    assert pipeline[1].told_ is where
    getattr(pipeline, ask)(data.X_new)
    assert pipeline[1].told_ is None


def test_adapting_by_hand_gives_the_same_predictions(three_domains):
    data = three_domains
    pipeline = fitted(model(StandardScaler(), SCA(), KNeighborsClassifier(1)), data)
    Xt = StandardScaler().fit_transform(data.X)
    Z = SCA().fit_transform(Xt, data.known, sample_domain=data.domain)
    judge = KNeighborsClassifier(1).fit(Z[~data.unlabelled], data.y[~data.unlabelled])
    np.testing.assert_array_equal(pipeline.predict(data.X), judge.predict(Z))


# --- labels of all kinds --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "names",
    [
        np.array(["ant", "bee", "cow"]),
        np.array([10, 20, 30]),
        np.array(["a", "bb", "a longer name"]),
    ],
    ids=["strings", "integers", "strings of any length"],
)
def test_predictions_carry_the_names_of_the_labels(three_domains, names, routing):
    data = three_domains
    known = np.where(data.unlabelled, None, names[data.y])
    named = fitted(model(), data, known)
    expected = fitted(model(), data)
    assert named.classes_.tolist() == sorted(names.tolist())
    order = np.argsort(names)
    np.testing.assert_allclose(
        named.predict_proba(data.X_new), expected.predict_proba(data.X_new)[:, order], atol=1e-6
    )
    assert named.score(data.X, names[data.y]) == expected.score(data.X, data.y)


def test_minus_one_and_plus_one_are_labels_where_nothing_else_is(make_problem, routing):
    data = make_problem(2, n_classes=2, seed=3)
    signs = np.array([-1, 1])[data.y]
    pipeline = model().fit(data.X, signs, sample_domain=data.domain)
    assert pipeline.classes_.tolist() == [-1, 1]
    zero_one = fitted(model(), data, data.y)
    np.testing.assert_array_equal(
        pipeline.predict(data.X), np.array([-1, 1])[zero_one.predict(data.X)]
    )
    assert pipeline.score(data.X, signs) == zero_one.score(data.X, data.y)


@pytest.mark.parametrize("signed", [True, False], ids=["signed", "named"])
def test_minus_one_that_may_be_a_class_or_a_mark_is_refused_unless_labelled_tells(
    make_problem, signed
):
    data = make_problem(2, n_classes=2, seed=3)
    signs = np.array([-1, 1])[data.y]
    domain = np.where(data.unlabelled, -2, 1) if signed else data.domain
    known = np.where(data.unlabelled, -1, signs)
    with pytest.raises(ValueError, match=r"y holds -1 and 1, .*Pass labelled="):
        model().fit(data.X, known, sample_domain=domain)
    told = model().fit(data.X, known, sample_domain=domain, labelled=~data.unlabelled)
    assert told.classes_.tolist() == [-1, 1]
    zero_one = model().fit(data.X, data.known, sample_domain=domain)
    np.testing.assert_array_equal(told.predict(data.X), 2 * zero_one.predict(data.X) - 1)


def test_booleans_and_floats_with_nan_are_labels(make_problem):
    data = make_problem(2, n_classes=2, seed=3)
    expected = fitted(model(), data).predict(data.X)
    floats = np.where(data.unlabelled, np.nan, data.y)
    np.testing.assert_array_equal(fitted(model(), data, floats).predict(data.X), expected)
    booleans = [
        None if hidden else bool(y) for hidden, y in zip(data.unlabelled, data.y, strict=True)
    ]
    np.testing.assert_array_equal(fitted(model(), data, booleans).predict(data.X), expected == 1)


# --- what comes out -------------------------------------------------------------------------------


def test_probabilities_and_decisions_are_those_of_the_last_step(three_domains, routing):
    data = three_domains
    pipeline = fitted(model(), data)
    Z = pipeline["sca"].transform(pipeline["standardscaler"].transform(data.X_new))
    last = pipeline["logisticregression"]
    for ask in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        np.testing.assert_array_equal(
            getattr(pipeline, ask)(data.X_new), getattr(last, ask)(Z), err_msg=ask
        )


def test_only_what_the_last_step_can_do_is_offered(three_domains):
    by_distance = model(StandardScaler(), SVC())
    assert hasattr(by_distance, "decision_function")
    assert not hasattr(by_distance, "predict_proba")
    assert not hasattr(by_distance, "transform")
    assert not hasattr(by_distance, "fit_transform")
    features = model(StandardScaler(), SCA())
    assert hasattr(features, "transform")
    assert not hasattr(features, "predict")
    assert not hasattr(features, "score")


def test_score_is_the_accuracy_over_labelled_samples(three_domains, routing):
    data = three_domains
    pipeline = fitted(model(), data)
    right = pipeline.predict(data.X) == data.y
    assert pipeline.score(data.X, data.y) == pytest.approx(right.mean())
    assert pipeline.score(data.X, data.known) == pytest.approx(right[~data.unlabelled].mean())
    weight = np.linspace(0.5, 1.5, len(data.X))
    known = ~data.unlabelled
    assert pipeline.score(data.X, data.known, sample_weight=weight) == pytest.approx(
        np.average(right[known], weights=weight[known])
    )


@pytest.mark.parametrize("missing", [None, np.nan, ""])
def test_score_leaves_out_unlabelled_strings(three_domains, missing):
    data = three_domains
    names = np.array(["ant", "bee", "cow"])[data.y]
    known = np.where(data.unlabelled, None, names)
    pipeline = fitted(model(), data, known)
    right = (pipeline.predict(data.X) == names)[~data.unlabelled]
    asked = known.copy()
    asked[data.unlabelled] = missing
    assert pipeline.score(data.X, asked) == pytest.approx(right.mean())


@pytest.mark.parametrize(
    ("learnt", "asked"),
    [(["a", "b"], ["ab", "b"]), (["a", "b"], ["c", "b"]), ([0, 1], [5, 1])],
    ids=["a longer name", "another name", "another number"],
)
def test_a_label_that_was_never_learnt_is_scored_as_wrong(learnt, asked):
    pipeline = make_domain_pipeline(KNeighborsClassifier(1)).fit([[0.0], [1.0]], learnt)
    assert pipeline.score([[0.0], [1.0]], asked) == 0.5


def test_score_without_any_label_is_an_error(three_domains):
    data = three_domains
    pipeline = fitted(model(), data)
    with pytest.raises(ValueError, match="no labelled sample to score"):
        pipeline.score(data.X[data.unlabelled], data.known[data.unlabelled])


def test_new_samples_are_answered_one_by_one_as_together(three_domains):
    data = three_domains
    pipeline = fitted(model(), data)
    one_by_one = np.concatenate([pipeline.predict_proba(row[None]) for row in data.X_new])
    np.testing.assert_allclose(one_by_one, pipeline.predict_proba(data.X_new), atol=1e-12)


# --- pipelines that end in a transformer ----------------------------------------------------------


def test_a_pipeline_of_transformers_transforms(three_domains, routing):
    data = three_domains
    at_once = model(StandardScaler(), SCA()).fit_transform(
        data.X, data.known, sample_domain=data.domain
    )
    pipeline = fitted(model(StandardScaler(), SCA()), data)
    assert at_once.shape == (len(data.X), pipeline["sca"].n_components_)
    np.testing.assert_allclose(pipeline.transform(data.X), at_once, atol=1e-7 * np.ptp(at_once))
    names = [f"sca{i}" for i in range(at_once.shape[1])]
    assert pipeline.get_feature_names_out().tolist() == names


def test_a_last_transformer_that_needs_labels_transforms_all_samples(three_domains):
    data = three_domains
    pipeline = model(StandardScaler(), LinearDiscriminantAnalysis())
    Z = pipeline.fit_transform(data.X, data.known, sample_domain=data.domain)
    assert Z.shape == (len(data.X), 2)
    np.testing.assert_array_equal(Z, pipeline.transform(data.X))


def test_an_unsupervised_pipeline_needs_no_labels(three_domains):
    data = three_domains
    pipeline = model(StandardScaler(), USCA(n_components=3))
    assert pipeline.fit(data.X, sample_domain=data.domain).transform(data.X).shape[1] == 3
    assert pipeline["usca"].domain_ids_.tolist() == ["amsterdam", "basel", "cairo"]
    assert pipeline.fit_transform(data.X).shape == (len(data.X), 3)


def test_frames_come_out_when_asked(three_domains, require):
    pd = require("pandas")
    data = three_domains
    frame = pd.DataFrame(data.X, columns=list("abcde"))
    pipeline = model(StandardScaler(), SCA()).set_output(transform="pandas")
    out = pipeline.fit_transform(frame, data.known, sample_domain=data.domain)
    assert isinstance(out, pd.DataFrame)
    assert out.columns.tolist() == pipeline.get_feature_names_out().tolist()
    assert out.index.equals(frame.index)


def test_a_step_may_be_passed_through(three_domains, routing):
    data = three_domains
    expected = fitted(model(SCA(), KNeighborsClassifier(1)), data).predict(data.X_new)
    for steps in [
        ("passthrough", SCA(), KNeighborsClassifier(1)),
        (SCA(), "passthrough", KNeighborsClassifier(1)),
    ]:
        np.testing.assert_array_equal(fitted(model(*steps), data).predict(data.X_new), expected)
    features = fitted(model(SCA(), "passthrough"), data)
    np.testing.assert_array_equal(features.transform(data.X), features[0].transform(data.X))
    at_once = model(SCA(), "passthrough").fit_transform(
        data.X, data.known, sample_domain=data.domain
    )
    assert at_once.shape == features.transform(data.X).shape


def test_a_step_may_be_switched_off(three_domains):
    data = three_domains
    pipeline = model(StandardScaler(), SCA(), KNeighborsClassifier(1))
    pipeline.set_params(sca="passthrough")
    without = fitted(model(StandardScaler(), KNeighborsClassifier(1)), data)
    np.testing.assert_array_equal(fitted(pipeline, data).predict(data.X), without.predict(data.X))


# --- frames and sparse matrices -------------------------------------------------------------------


def test_frames_go_in_and_their_column_names_are_kept(three_domains, require, routing):
    pd = require("pandas")
    data = three_domains
    frame = pd.DataFrame(data.X, columns=list("abcde"), index=np.arange(len(data.X))[::-1])
    y, place = pd.Series(data.known, index=frame.index), pd.Series(data.domain, index=frame.index)
    pipeline = model(Spy(), LabelSpy(), StandardScaler(), SCA(), LogisticRegression())
    pipeline.fit(frame, y, sample_domain=place)
    assert pipeline[0].X_ is frame
    assert pipeline[1].X_.columns.tolist() == list("abcde")
    np.testing.assert_array_equal(pipeline[1].X_.to_numpy(), data.X[~data.unlabelled])
    assert pipeline[2].feature_names_in_.tolist() == list("abcde")
    expected = fitted(model(), data).predict(data.X_new)
    new = pd.DataFrame(data.X_new, columns=list("abcde"))
    np.testing.assert_array_equal(pipeline.predict(new), expected)
    assert fitted(model(), data, y).n_features_in_ == 5
    with pytest.raises(ValueError, match="feature names"):
        pipeline.predict(new.rename(columns={"a": "z"}))


def test_the_pipeline_knows_its_columns(three_domains, require):
    pd = require("pandas")
    data = three_domains
    frame = pd.DataFrame(data.X, columns=list("abcde"))
    pipeline = model().fit(frame, data.known, sample_domain=data.domain)
    assert pipeline.feature_names_in_.tolist() == list("abcde")
    assert pipeline.n_features_in_ == 5


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csr_matrix])
def test_sparse_samples_give_what_dense_ones_give(three_domains, make):
    data = three_domains
    X = np.where(np.abs(data.X) > 0.5, data.X, 0)
    steps = (StandardScaler(with_mean=False), SCA(), KNeighborsClassifier(1))
    pipeline = model(*map(clone, steps)).fit(make(X), data.known, sample_domain=data.domain)
    dense = model(*map(clone, steps)).fit(X, data.known, sample_domain=data.domain)
    np.testing.assert_array_equal(pipeline.predict(make(X)), dense.predict(X))


def test_lists_are_samples(three_domains):
    data = three_domains
    pipeline = model().fit(data.X.tolist(), data.known.tolist(), sample_domain=data.domain.tolist())
    expected = fitted(model(), data).predict_proba(data.X_new)
    np.testing.assert_array_equal(pipeline.predict_proba(data.X_new.tolist()), expected)


# --- parameters, copies, pictures -----------------------------------------------------------------


def test_steps_are_named_after_their_classes():
    pipeline = model(StandardScaler(), PCA(), PCA(), "passthrough", SCA())
    assert list(pipeline.named_steps) == ["standardscaler", "pca-1", "pca-2", "passthrough", "sca"]
    assert pipeline.named_steps["sca"] is pipeline["sca"] is pipeline[-1]
    assert len(pipeline) == 5


def test_parameters_of_steps_are_read_and_set():
    pipeline = model()
    assert pipeline.get_params()["sca__beta"] == SCA().beta
    assert pipeline.set_params(sca__beta=0.7, logisticregression__C=3) is pipeline
    assert pipeline["sca"].beta == 0.7
    assert pipeline["logisticregression"].C == 3
    with pytest.raises(ValueError, match="Invalid parameter 'gravity'"):
        pipeline.set_params(sca__gravity=1)


def test_a_clone_is_unfitted_and_leaves_the_original_alone(three_domains):
    data = three_domains
    pipeline = fitted(model(), data)
    copy = clone(pipeline)
    assert isinstance(copy, DomainPipeline)
    assert copy["sca"] is not pipeline["sca"]
    with pytest.raises(NotFittedError):
        copy.predict(data.X)
    expected = pipeline.predict_proba(data.X_new)
    np.testing.assert_array_equal(fitted(copy, data).predict_proba(data.X_new), expected)


def test_pickling_keeps_the_predictions(three_domains):
    pipeline = fitted(model(), three_domains)
    copy = pickle.loads(pickle.dumps(pipeline))
    np.testing.assert_array_equal(
        copy.predict_proba(three_domains.X_new), pipeline.predict_proba(three_domains.X_new)
    )


def test_a_slice_is_a_pipeline_of_the_same_fitted_steps(three_domains, routing):
    data = three_domains
    pipeline = fitted(model(), data)
    front = pipeline[:-1]
    assert isinstance(front, DomainPipeline)
    assert front["sca"] is pipeline["sca"]
    np.testing.assert_array_equal(
        pipeline[-1].predict(front.transform(data.X_new)), pipeline.predict(data.X_new)
    )
    assert pipeline[1:].steps == pipeline.steps[1:]


def test_it_is_a_scikit_learn_pipeline_and_a_classifier_where_its_last_step_is_one():
    assert isinstance(model(), Pipeline)
    assert is_classifier(model())
    assert not is_classifier(model(StandardScaler(), SCA()))


def test_it_prints_and_draws_itself(routing):
    assert "SCA()" in repr(model())
    assert "LogisticRegression" in estimator_html_repr(model())


def test_a_verbose_pipeline_prints_a_line_for_each_step(two_domains, capsys):
    pipeline = make_domain_pipeline(StandardScaler(), SCA(), LogisticRegression(), verbose=True)
    assert pipeline.get_params()["verbose"] is True
    fitted(pipeline, two_domains)
    lines = capsys.readouterr().out.splitlines()
    for number, (line, name) in enumerate(zip(lines, pipeline.named_steps, strict=True), 1):
        assert f"step {number} of 3: {name}," in line
    fitted(model(), two_domains)
    assert capsys.readouterr().out == ""


# --- pipelines in pipelines -----------------------------------------------------------------------


def test_a_pipeline_in_a_pipeline_gives_what_a_flat_one_gives(three_domains, routing):
    data = three_domains
    expected = fitted(model(), data)
    nested = fitted(model(model(StandardScaler(), SCA()), LogisticRegression()), data)
    assert nested[0]["sca"].domain_ids_.tolist() == ["amsterdam", "basel", "cairo"]
    np.testing.assert_array_equal(
        nested.predict_proba(data.X_new), expected.predict_proba(data.X_new)
    )
    at_the_end = fitted(model(StandardScaler(), model(SCA(), LogisticRegression())), data)
    np.testing.assert_array_equal(
        at_the_end.predict_proba(data.X_new), expected.predict_proba(data.X_new)
    )
    assert at_the_end.score(data.X, data.known) == expected.score(data.X, data.known)


def test_parameters_reach_into_nested_pipelines():
    nested = model(model(StandardScaler(), SCA()), LogisticRegression())
    nested.set_params(domainpipeline__sca__delta=5.0)
    assert nested[0]["sca"].delta == 5.0


def test_components_that_tune_themselves_are_a_step(three_domains, routing):
    data = three_domains
    search = SCACV(n_components=[1, 2, 3], betas=[0.1, 0.9], deltas=[0.0, 10.0], cv=3)
    pipeline = model(StandardScaler(), search, KNeighborsClassifier(1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted(pipeline, data)
    Xt = StandardScaler().fit_transform(data.X)
    alone = clone(search).fit(Xt, data.known, sample_domain=data.domain)
    assert pipeline["scacv"].best_params_ == alone.best_params_
    assert pipeline.score(data.X[data.unlabelled], data.y[data.unlabelled]) > 0.9


# --- searches and cross-validation ----------------------------------------------------------------


def labelled_accuracies(pipeline, data, y, splits):
    """Accuracy on the labelled rows of each fold, the slow way."""
    scores = []
    for train, test in splits:
        one = clone(pipeline).fit(data.X[train], y[train], sample_domain=data.domain[train])
        known = test[y[test] != -1]
        scores.append(np.mean(one.predict(data.X[known]) == y[known]))
    return scores


def test_a_grid_search_scores_labelled_rows_only(three_domains, routing):
    data = three_domains
    grid = {"sca__delta": [0.0, 100.0], "sca__n_components": [1, 2]}
    pipeline = model(StandardScaler(), SCA(), KNeighborsClassifier(1))
    search = GridSearchCV(pipeline, grid, cv=StratifiedKFold(3), error_score="raise")
    search.fit(data.X, data.known, sample_domain=data.domain)
    splits = list(StratifiedKFold(3).split(data.X, data.known))
    for params, actual in zip(
        search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
    ):
        setting = clone(pipeline).set_params(**params)
        expected = labelled_accuracies(setting, data, data.known, splits)
        assert actual == pytest.approx(np.mean(expected))
    assert isinstance(search.best_estimator_, DomainPipeline)
    assert search.best_estimator_["sca"].domain_ids_.tolist() == ["amsterdam", "basel", "cairo"]
    assert search.score(data.X, data.known) == search.best_estimator_.score(data.X, data.known)
    assert search.predict(data.X_new).shape == (len(data.X_new),)


def test_a_grid_search_may_exchange_whole_steps(three_domains, routing):
    data = three_domains
    grid = {"sca": [SCA(), USCA(n_components=3), "passthrough"]}
    search = GridSearchCV(model(), grid, cv=2, error_score="raise")
    search.fit(data.X, data.known, sample_domain=data.domain)
    assert len(search.cv_results_["params"]) == 3
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_cross_validation_gives_a_fold_its_own_domains(three_domains, routing):
    data = three_domains
    cv = StratifiedKFold(3)
    splits = list(cv.split(data.X, data.known))
    expected = labelled_accuracies(model(), data, data.known, splits)
    params = {"sample_domain": data.domain}
    scores = cross_val_score(model(), data.X, data.known, cv=cv, params=params, error_score="raise")
    np.testing.assert_allclose(scores, expected)
    results = cross_validate(
        model(), data.X, data.known, cv=cv, params=params, return_estimator=True
    )
    np.testing.assert_allclose(results["test_score"], expected)
    for one in results["estimator"]:
        assert one["sca"].domain_ids_.tolist() == ["amsterdam", "basel", "cairo"]


def test_cross_validation_takes_strings_with_missing_ones(three_domains, routing):
    data = three_domains
    names = np.where(data.unlabelled, None, np.array(["ant", "bee", "cow"])[data.y])
    params = {"sample_domain": data.domain}
    cv = KFold(3, shuffle=True, random_state=0)
    named = cross_val_score(model(), data.X, names, cv=cv, params=params, error_score="raise")
    numbered = cross_val_score(model(), data.X, data.known, cv=cv, params=params)
    np.testing.assert_allclose(named, numbered)


def test_leaving_one_domain_out_is_domain_generalization(three_domains, routing):
    data = three_domains
    params = {"sample_domain": data.domain}
    groups = {} if routing else {"groups": data.domain}
    results = cross_validate(
        model(),
        data.X,
        data.y,
        cv=LeaveOneGroupOut(),
        params=params | ({"groups": data.domain} if routing else {}),
        return_estimator=True,
        error_score="raise",
        **groups,
    )
    names = ["amsterdam", "basel", "cairo"]
    for left_out, one, score in zip(
        names, results["estimator"], results["test_score"], strict=True
    ):
        assert one["sca"].domain_ids_.tolist() == [name for name in names if name != left_out]
        there = data.domain == left_out
        assert score == np.mean(one.predict(data.X[there]) == data.y[there])
        assert score > 0.8


def test_a_grid_search_may_leave_domains_out(three_domains, routing):
    data = three_domains
    search = GridSearchCV(model(), {"sca__beta": [0.1, 1.0]}, cv=GroupKFold(3), error_score="raise")
    search.fit(data.X, data.y, groups=data.domain, sample_domain=data.domain)
    assert search.n_splits_ == 3
    assert search.best_score_ > 0.8


def test_predictions_by_cross_validation_cover_all_samples(three_domains, routing):
    data = three_domains
    out = cross_val_predict(
        model(), data.X, data.y, params={"sample_domain": data.domain}, method="predict_proba"
    )
    assert out.shape == (len(data.X), 3)
    assert np.mean(out.argmax(axis=1) == data.y) > 0.8


# --- promises that others break -------------------------------------------------------------------


def test_fit_and_predict_leave_their_inputs_untouched_to_the_bit(three_domains):
    data = three_domains
    X, y, domain = data.X.copy(), data.known.copy(), data.domain.copy()
    names = np.where(data.unlabelled, None, np.array(["ant", "bee", "cow"])[data.y])
    before = X.tobytes(), y.tobytes(), domain.tobytes(), names.tolist()
    for labels in (y, names):
        pipeline = model(StandardScaler(), SCA(), LinearDiscriminantAnalysis())
        pipeline.fit(X, labels, sample_domain=domain)
        pipeline.predict(X, sample_domain=domain)
        pipeline.score(X, labels, sample_domain=domain)
    assert (X.tobytes(), y.tobytes(), domain.tobytes(), names.tolist()) == before


def test_the_order_of_the_samples_does_not_matter(three_domains):
    data = three_domains
    mixed = np.random.default_rng(0).permutation(len(data.X))
    shuffled = model().fit(data.X[mixed], data.known[mixed], sample_domain=data.domain[mixed])
    np.testing.assert_allclose(
        shuffled.predict_proba(data.X), fitted(model(), data).predict_proba(data.X), atol=1e-6
    )


def test_two_runs_give_identical_bits(three_domains):
    data = three_domains
    first, second = (fitted(model(), data).predict_proba(data.X) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_no_target_label_is_used_that_is_hidden(three_domains):
    data = three_domains
    expected = fitted(model(), data).predict_proba(data.X_new)
    lies = np.where(data.unlabelled, (data.y + 1) % 3, data.y)
    masked = model().fit(data.X, lies, sample_domain=data.domain, labelled=~data.unlabelled)
    np.testing.assert_array_equal(masked.predict_proba(data.X_new), expected)


EXPECTED_TO_FAIL = {
    "check_estimators_overwrite_params": (
        "the steps are the fitted state, as in sklearn.pipeline.Pipeline"
    )
}


@pytest.mark.parametrize(
    "steps",
    [(StandardScaler(), SCA(), LogisticRegression()), (StandardScaler(), SCA())],
    ids=["classifier", "transformer"],
)
def test_scikit_learn_finds_no_fault(steps, routing):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks' own data are degenerate on purpose
        results = check_estimator(
            model(*steps),
            expected_failed_checks=EXPECTED_TO_FAIL,
            on_fail=None,
            on_skip=None,
        )
    by_status: dict[str, set[str]] = {}
    for result in results:
        by_status.setdefault(result["status"], set()).add(result["check_name"])
    assert by_status.pop("failed", set()) == set()
    assert by_status.pop("skipped", set()) <= {"check_array_api_input"}
    assert by_status.pop("xfail", set()) <= set(EXPECTED_TO_FAIL)
    assert len(by_status.pop("passed")) > 30
    assert not by_status


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("ask", ["predict", "predict_proba", "decision_function"])
def test_a_pipeline_that_was_not_fitted_says_so(two_domains, ask):
    with pytest.raises(NotFittedError, match="not fitted"):
        getattr(model(), ask)(two_domains.X)


def test_a_pipeline_of_transformers_that_was_not_fitted_says_so(two_domains):
    with pytest.raises(NotFittedError, match="not fitted"):
        model(StandardScaler(), SCA()).transform(two_domains.X)


@pytest.mark.parametrize("short", ["y", "sample_domain", "labelled"])
def test_lengths_that_differ_are_refused_before_any_step_is_fitted(three_domains, short):
    data = three_domains
    given = {"y": data.y, "sample_domain": data.domain, "labelled": ~data.unlabelled}
    given[short] = given[short][:-1]
    pipeline = model(Spy(), LogisticRegression())
    with pytest.raises(ValueError, match=rf"Lengths differ: X has 108.*{short} has 107"):
        pipeline.fit(data.X, **given)
    assert not hasattr(pipeline[0], "X_")


@pytest.mark.parametrize("y", [None, np.full(108, -1), [None] * 108])
def test_a_classifier_without_any_label_is_an_error(three_domains, y):
    data = three_domains
    pipeline = model(StandardScaler(), LogisticRegression())
    with pytest.raises(ValueError, match="no labelled sample"):
        pipeline.fit(data.X, y, sample_domain=data.domain)


def test_steps_that_cannot_stand_where_they_stand_are_refused(two_domains):
    data = two_domains
    with pytest.raises(TypeError, match="intermediate steps should be transformers"):
        model(LogisticRegression(), SCA()).fit(data.X, data.known)
    with pytest.raises(TypeError, match="should implement fit"):
        model(StandardScaler(), object()).fit(data.X, data.known)
    with pytest.raises(ValueError, match="not unique"):
        DomainPipeline([("a", StandardScaler()), ("a", SCA())]).fit(data.X, data.known)
    with pytest.raises(ValueError, match="empty"):
        make_domain_pipeline().fit(data.X, data.known)


def test_unknown_metadata_are_refused(two_domains, routing):
    with pytest.raises(TypeError, match="unexpected keyword argument 'domain'"):
        model().fit(two_domains.X, two_domains.known, domain=two_domains.domain)


def test_values_that_are_not_finite_are_refused(two_domains):
    data = two_domains
    X = data.X.copy()
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model(SCA(), LogisticRegression()).fit(X, data.known, sample_domain=data.domain)
