"""Does adapting help? The plain answers, each on a problem made for it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import binomtest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from skatter import SCA, make_domain_pipeline
from skatter.selection.benefit import does_it_help, weigh


class Centred(ClassifierMixin, BaseEstimator):
    """Nearest neighbour after every domain is moved to the origin, or away from it."""

    def __init__(self, offset=0.0):
        self.offset = offset

    def fit(self, X, y, sample_domain=None):
        source = np.asarray(y) != -1
        self.target_ = np.unique(sample_domain[~source])
        self.means_ = X[source].mean(axis=0), X[~source].mean(axis=0) + self.offset
        self.nearest_ = KNeighborsClassifier(1).fit(X[source] - self.means_[0], y[source])
        self.classes_ = self.nearest_.classes_
        return self

    def predict(self, X, sample_domain=None):
        there = np.isin(sample_domain, self.target_)[:, None]
        return self.nearest_.predict(X - np.where(there, self.means_[1], self.means_[0]))


def problem(shift=0.0, aside=0.0, n=90, seed=0):
    """Three classes on a line; the target is shifted along it, and aside."""
    rng = np.random.default_rng(seed)
    y, site = np.tile([0, 1, 2], 2 * n // 3), np.repeat(["here", "there"], n)
    X = rng.normal(size=(2 * n, 4)) + 4 * y[:, None] * np.eye(1, 4)
    X[site == "there", 0] += shift
    X[site == "there", 3] += aside
    return X, np.where(site == "here", y, -1), site


def test_domains_that_are_alike_need_no_adapting():
    X, known, site = problem()
    answer = does_it_help(X, known, sample_domain=site)
    assert answer.verdict == "do not adapt"
    assert answer.summary.startswith("Adapting does not help here: the domains are alike.")
    assert abs(answer.gap.auc - 0.5) < 0.1
    assert answer.gap.effective_sample_size > 60


def test_a_gap_is_seldom_seen_where_there_is_none():
    alarms = 0
    for seed in range(10):
        X, known, site = problem(seed=seed, n=60)
        found = does_it_help(X, known, sample_domain=site, adapted=Centred(), random_state=seed)
        alarms += found.gap.p_value <= 0.05
    # More than three of ten has probability 0.1 % at the level of 5 %.
    assert alarms <= 3


def test_a_gap_that_means_do_not_show_is_found():
    rng = np.random.default_rng(0)
    y, site = np.tile([0, 1], 100), np.repeat(["here", "there"], 100)
    X = np.where(site == "here", rng.normal(size=200), rng.choice([-1.0, 1.0], 200))[:, None]
    X = np.hstack([X, rng.normal(size=(200, 1)) + 3 * y[:, None]])
    for name in ("here", "there"):
        X[site == name] = StandardScaler().fit_transform(X[site == name])
    answer = does_it_help(X, np.where(site == "here", y, -1), sample_domain=site)
    assert answer.gap.auc > 0.8
    assert answer.gap.p_value < 1e-6


def test_adapting_that_undoes_the_shift_is_advised():
    X, known, site = problem(shift=4.0)
    answer = does_it_help(X, known, sample_domain=site, adapted=Centred())
    assert answer.verdict == "adapt"
    assert answer.adapted > answer.plain
    assert answer.gap.p_value < 0.01
    assert answer.gap.effective_sample_size < 45


def test_adapting_that_makes_matters_worse_is_advised_against():
    X, known, site = problem(aside=2.0)
    answer = does_it_help(X, known, sample_domain=site, adapted=Centred(offset=6.0))
    assert answer.verdict == "do not adapt"
    assert "plain model's classes" in answer.reason


def test_models_that_agree_leave_nothing_to_tell():
    X, known, site = problem(aside=2.0)
    nearest = KNeighborsClassifier(1)
    answer = does_it_help(X, known, sample_domain=site, adapted=nearest, plain=nearest)
    assert answer.verdict == "cannot tell"
    assert (answer.n_differ, answer.n_for_adapted, answer.p_value) == (0, 0, 1.0)


@pytest.mark.parametrize(
    ("adapted", "plain", "verdict"),
    [
        (DummyClassifier(), KNeighborsClassifier(1), "do not adapt"),
        (KNeighborsClassifier(1), DummyClassifier(), "adapt"),
        (DummyClassifier(), DummyClassifier(), "cannot tell"),
    ],
    ids=["adapted", "plain", "both"],
)
def test_a_constant_classifier_never_wins(adapted, plain, verdict):
    X, known, site = problem(shift=1.5)
    answer = does_it_help(X, known, sample_domain=site, adapted=adapted, plain=plain)
    assert answer.verdict == verdict
    assert "single class" in answer.reason


@pytest.mark.parametrize("votes", [-1, 0, 1])
@pytest.mark.parametrize("plain", [0.5, 0.95, 1.0, 1.06, 2.0, -1.0])
def test_there_is_a_verdict_where_one_sign_is_clear_and_none_contradicts_it(plain, votes):
    larger, clearly = np.sign(1.0 - plain), abs(1.0 - plain) > 0.1 * max(1.0, abs(plain))
    if larger == 0 or votes == -larger or not (clearly or votes):
        expected = "cannot tell"
    else:
        expected = "adapt" if larger > 0 else "do not adapt"
    assert weigh(1.0, plain, votes) == expected


def test_the_sign_test_counts_the_samples_on_which_models_differ():
    X, known, site = problem(shift=4.0)
    there = site == "there"
    models = Centred(), KNeighborsClassifier(1)
    answer = does_it_help(X, known, sample_domain=site, adapted=models[0], plain=models[1])
    ours = models[0].fit(X, known, sample_domain=site).predict(X[there], site[there])
    theirs = models[1].fit(X[~there], known[~there]).predict(X[there])
    Z = np.vstack([StandardScaler().fit_transform(X[rows]) for rows in (~there, there)])
    means = np.array([Z[:90][known[:90] == c].mean(axis=0) for c in range(3)])
    near = Z[90:] @ means.T
    differ = np.flatnonzero(ours != theirs)
    gain = near[differ, ours[differ]] - near[differ, theirs[differ]]
    assert (answer.n_differ, answer.n_for_adapted) == (len(differ), np.sum(gain > 0))
    assert answer.p_value == pytest.approx(binomtest(int(np.sum(gain > 0)), len(differ)).pvalue)


def test_without_a_plain_model_the_steps_that_know_domains_are_left_out():
    X, known, site = problem(shift=1.0)
    adapted = make_domain_pipeline(StandardScaler(), "passthrough", SCA(), LogisticRegression())
    plain = make_domain_pipeline(StandardScaler(), LogisticRegression())
    given = {"sample_domain": site, "adapted": adapted}
    assert does_it_help(X, known, **given) == does_it_help(X, known, plain=plain, **given)


def test_the_answer_is_the_same_twice_and_for_sparse_samples():
    X, known, site = problem(shift=1.0)
    answers = [
        does_it_help(samples, known, sample_domain=site, adapted=KNeighborsClassifier(3))
        for samples in (X, X, sparse.csr_matrix(X))
    ]
    assert answers[0] == answers[1]
    assert answers[2].gap.auc == pytest.approx(answers[0].gap.auc)
    assert answers[2].verdict == answers[0].verdict
    assert answers[2].adapted == pytest.approx(answers[0].adapted)


def test_the_answer_prints_its_figures_and_cannot_be_changed():
    X, known, site = problem(shift=1.0)
    answer = does_it_help(X, known, sample_domain=site)
    assert str(answer) == answer.summary
    for figure in (f"{answer.gap.auc:.2f}", f"{answer.n_differ} of {answer.n_target}"):
        assert figure in str(answer)
    with pytest.raises(dataclasses.FrozenInstanceError):
        answer.verdict = "adapt"
