"""Criteria as scorers: scikit-learn's searches choose what the criteria themselves choose."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skatter import SCA, make_domain_pipeline, make_domain_scorer
from skatter.selection import judge

pytestmark = pytest.mark.usefixtures("few_trees")

BETAS = [0.0, 0.3, 0.9]


def whole(problem):
    """One split: all samples on both sides."""
    rows = np.arange(len(problem.X))
    return [(rows, rows)]


@pytest.mark.parametrize("criterion", ["expected accuracy", "scatter", "mutual information"])
def test_a_search_scores_each_setting_as_the_criterion_does(two_domains, criterion):
    model = make_domain_pipeline(StandardScaler(), SCA(2), KNeighborsClassifier(3))
    search = GridSearchCV(
        model, {"sca__beta": BETAS}, scoring=make_domain_scorer(criterion), cv=whole(two_domains)
    )
    given = {"sample_domain": two_domains.domain}
    search.fit(two_domains.X, two_domains.known, **given)
    direct = [
        judge(
            model.set_params(sca__beta=beta), two_domains.X, two_domains.known, criteria=criterion
        )
        for beta in BETAS
    ]
    expected = [each[criterion] for each in direct]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], expected, rtol=1e-6)
    assert search.best_index_ == int(np.argmax(expected))


def test_domains_reach_the_scorer_where_metadata_are_routed(three_domains):
    seen = []

    class Spy(type(make_domain_scorer())):
        def __call__(self, estimator, X, y, sample_domain=None):
            seen.append(sample_domain)
            return super().__call__(estimator, X, y, sample_domain)

    with sklearn.config_context(enable_metadata_routing=True):
        model = make_domain_pipeline(StandardScaler(), SCA(2), KNeighborsClassifier(3))
        search = GridSearchCV(
            model, {"sca__beta": [0.1]}, scoring=Spy("scatter"), cv=whole(three_domains)
        )
        search.fit(three_domains.X, three_domains.known, sample_domain=three_domains.domain)
    np.testing.assert_array_equal(seen[0], three_domains.domain)
    direct = judge(
        model.set_params(sca__beta=0.1),
        three_domains.X,
        three_domains.known,
        sample_domain=three_domains.domain,
        criteria="scatter",
    )
    assert search.best_score_ == pytest.approx(direct["scatter"], rel=1e-6)


def test_a_pipeline_that_knows_nothing_of_domains_is_scored(two_domains):
    known = two_domains.known != -1
    model = make_pipeline(StandardScaler(), LogisticRegression())
    model.fit(two_domains.X[known], two_domains.known[known])
    score = make_domain_scorer("entropy")(model, two_domains.X, two_domains.known)
    shares = model.predict_proba(two_domains.X[~known])
    assert score == pytest.approx(np.mean(np.sum(shares * np.log(shares), axis=1)))


def test_blank_text_marks_unlabelled_samples_for_scikit_learns_own_splitters(two_domains):
    names = np.array(["ash", "elm", "oak"])
    text = np.where(two_domains.unlabelled, "", names[two_domains.known])
    model = make_domain_pipeline(StandardScaler(), SCA(2), KNeighborsClassifier(1))
    given = {"params": {"sample_domain": two_domains.domain}}
    scores = cross_val_score(model, two_domains.X, text, cv=3, **given)
    whole_numbers = cross_val_score(model, two_domains.X, two_domains.known, cv=3, **given)
    np.testing.assert_allclose(scores, whole_numbers)
    search = GridSearchCV(model, {"sca__beta": BETAS}, cv=3)
    search.fit(two_domains.X, text, sample_domain=two_domains.domain)
    assert set(search.predict(two_domains.X)) <= set(names)


def test_unknown_criteria_are_named_at_once():
    with pytest.raises(ValueError, match=r"no criterion 'entropi'. Did you mean 'entropy'"):
        make_domain_scorer("entropi")
