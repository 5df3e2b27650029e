"""Does adapting help? The plain answers, each on a problem made for it."""

from __future__ import annotations

import numpy as np
import pytest
from places import two_places
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from skatter import SCA, HedgedClassifier, does_it_help, make_domain_pipeline

pytestmark = pytest.mark.usefixtures("few_trees")


class Centred(ClassifierMixin, BaseEstimator):
    """Nearest neighbours after every domain is moved to the origin."""

    def fit(self, X, y, sample_domain=None):
        source = np.asarray(y) != -1
        self.target_ = np.unique(sample_domain[~source])
        self.means_ = X[source].mean(axis=0), X[~source].mean(axis=0)
        self.nearest_ = KNeighborsClassifier(5).fit(X[source] - self.means_[0], y[source])
        self.classes_ = self.nearest_.classes_
        return self

    def predict(self, X, sample_domain=None):
        there = np.isin(sample_domain, self.target_)[:, None]
        return self.nearest_.predict(X - np.where(there, self.means_[1], self.means_[0]))


@pytest.fixture(scope="module")
def moved():
    """Three classes that overlap; the target is moved, in part towards another class."""
    return two_places(n=69, n_classes=3, shift=1.5)[:3]


@pytest.fixture(scope="module")
def answer(moved):
    X, known, site = moved
    return does_it_help(X, known, sample_domain=site)


def test_domains_that_are_alike_need_no_adapting():
    X, known, site, _ = two_places(shift=0.0, gap=3.0)
    found = does_it_help(X, known, sample_domain=site)
    assert found.verdict != "adapt"
    assert found.n_differ < found.n_target / 10


def test_the_answer_is_that_of_a_hedge(answer, moved):
    X, known, site = moved
    hedge = HedgedClassifier().fit(X, known, sample_domain=site)
    assert answer == hedge.judgement_


def test_units_of_columns_do_not_matter(answer, moved):
    X, known, site = moved
    found = does_it_help(X * [1e-3, 1, 1e3, 7] + [5, 0, 900, 1], known, sample_domain=site)
    assert found.verdict == answer.verdict
    assert found.n_differ == answer.n_differ
    assert found.gain.value == pytest.approx(answer.gain.value, abs=1e-6)


def test_own_models_are_the_ones_that_are_compared(moved):
    X, known, site = moved
    there = site == "there"
    found = does_it_help(X, known, sample_domain=site, adapted=Centred(), plain=GaussianNB())
    ours = Centred().fit(X, known, sample_domain=site).predict(X[there], site[there])
    theirs = GaussianNB().fit(X[~there], known[~there]).predict(X[there])
    assert found.n_differ == np.sum(ours != theirs) > 0


def test_a_constant_classifier_never_wins(moved):
    X, known, site = moved
    given = {"sample_domain": site, "adapted": DummyClassifier(), "plain": GaussianNB()}
    found = does_it_help(X, known, **given)
    # It knows nothing of domains, and sees the labelled samples alone.
    there = site == "there"
    models = DummyClassifier(), GaussianNB()
    ours, theirs = (m.fit(X[~there], known[~there]).predict(X[there]) for m in models)
    assert found.n_differ == np.sum(ours != theirs)
    assert found.verdict == "do not adapt"
    assert does_it_help(X, known, sample_domain=site, plain=DummyClassifier()).verdict == "adapt"


def test_lists_masks_and_pipelines_are_taken(moved):
    X, known, site = moved
    adapted = make_domain_pipeline(SCA(), KNeighborsClassifier(5))
    given = {"sample_domain": site.tolist(), "labelled": site == "here", "adapted": adapted}
    lies = np.where(known < 0, 1, known)
    found = does_it_help(X.tolist(), lies.tolist(), **given)
    expected = does_it_help(X, known, sample_domain=site, adapted=adapted)
    assert found == expected


def test_balanced_accuracy_is_what_is_said_where_it_is_asked_for():
    X, known, site, _ = two_places(n=40)
    found = does_it_help(X, known, sample_domain=site, metric="balanced accuracy")
    assert found.metric == "balanced accuracy"
    assert "Expected balanced accuracy in the target" in found.summary


def test_a_target_of_few_samples_tells_nothing():
    X, known, site, _ = two_places(n=40)
    few = np.arange(80) < 52
    found = does_it_help(X[few], known[few], sample_domain=site[few])
    assert found.verdict == "cannot tell"
    assert "12 target samples are too few" in found.reason


def test_without_a_target_there_is_nothing_to_adapt_to():
    X, _, site, y = two_places(n=20)
    with pytest.raises(ValueError, match="no target to adapt to"):
        does_it_help(X, y, sample_domain=site)
