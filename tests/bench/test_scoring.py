"""Sharing work changes no score, and hidden labels play no part."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from skatter.methods import DAM, METHODS, UndoBias
from skatter.methods._undo_bias import set_accuracy
from skatter_bench.contestants import Contestant, contestants
from skatter_bench.protocols import split
from skatter_bench.scoring import score_settings
from skatter_bench.tasks import Problem, Task

pytestmark = pytest.mark.usefixtures("few_trees")

ADAPTATION = Task("a->b", "digits", ("a",), ("b",), "adaptation", 3, "toy")
GENERALIZATION = Task("a,b->c", "digits", ("a", "b"), ("c",), "generalization", 3, "toy")
FOLDS = ("source-0", "target")


def problem_of(task: Task, n: int = 40, seed: int = 0) -> Problem:
    """Three classes in every domain, and domains that are shifted."""
    rng = np.random.default_rng(seed)
    names = (*task.sources, *task.targets)
    domain = np.repeat(names, n)
    y = np.tile(np.arange(n) % 3, len(names))
    X = rng.normal(size=(len(y), 6)) + 1.5 * np.eye(6)[y]
    X += 0.7 * (domain == task.targets[0])[:, None]
    source = np.isin(domain, task.sources)
    seen = source | (task.setting == "adaptation")
    return Problem(
        X, y, domain, np.flatnonzero(seen), np.flatnonzero(source), np.flatnonzero(~source)
    )


def rows(task: Task) -> list[Contestant]:
    return contestants(task.setting, classifiers=("1nn", "svm"))


def scores(contestant: Contestant, settings, problem: Problem, fold: str) -> list[int]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = score_settings(contestant, settings, problem, split(problem, fold, 0), 0)
    return [score.get("correct", -1) for score in found]


def sharing(task: Task) -> list[Contestant]:
    return [row for row in rows(task) if row.shares_gram and row.classifier == "1nn"]


@pytest.mark.parametrize("fold", FOLDS)
@pytest.mark.parametrize(
    ("task", "row"),
    [(task, row) for task in (ADAPTATION, GENERALIZATION) for row in sharing(task)],
    ids=lambda value: value.name,
)
def test_a_gram_matrix_that_is_handed_over_changes_no_score(task, row, fold):
    problem = problem_of(task)
    settings = row.settings(task)[::7]
    own_kernel = replace(row, shares_gram=False)
    assert scores(row, settings, problem, fold) == scores(own_kernel, settings, problem, fold)


@pytest.mark.parametrize("fold", FOLDS)
@pytest.mark.parametrize(
    "row", [row for row in rows(ADAPTATION) if row.nested], ids=lambda row: row.label
)
def test_settings_scored_together_score_as_alone(row, fold):
    problem = problem_of(ADAPTATION)
    settings = [
        setting for setting in row.settings(ADAPTATION) if setting.get("n_components", 1) <= 12
    ][::5]
    alone = [scores(row, [setting], problem, fold)[0] for setting in settings]
    assert scores(row, settings, problem, fold) == alone


@pytest.mark.parametrize("fold", FOLDS)
def test_the_path_of_sca_scores_as_one_fit_for_each_setting(fold):
    problem = problem_of(ADAPTATION)
    fold_rows = split(problem, fold, 0)
    sca = next(row for row in rows(ADAPTATION) if row.label == "sca + 1NN")
    settings = [{"n_components": k, "beta": beta} for k in (2, 4) for beta in (0.0, 0.5, 1.0)]
    seen = np.full(len(problem.y), -1)
    seen[fold_rows.labelled] = problem.y[fold_rows.labelled]
    expected = []
    for setting in settings:
        Z = sca.build(setting, 0).fit_transform(problem.X, seen, sample_domain=problem.domain)
        nearest = KNeighborsClassifier(1).fit(Z[fold_rows.labelled], problem.y[fold_rows.labelled])
        guess = nearest.predict(Z[fold_rows.score])
        expected.append(int(np.sum(guess == problem.y[fold_rows.score])))
    assert scores(sca, settings, problem, fold) == expected


def plain(name: str, C: float):
    return {
        "svm": SVC(kernel="linear", C=C),
        "logistic": LogisticRegression(C=C, max_iter=500),
    }[name]


@pytest.mark.parametrize("fold", FOLDS)
@pytest.mark.parametrize("classifier", ["svm", "logistic"])
def test_plain_classifiers_on_raw_samples_are_those_of_scikit_learn(classifier, fold):
    problem = problem_of(ADAPTATION)
    _, labelled, score = split(problem, fold, 0)
    row = Contestant("raw", classifier)
    settings = [{"classifier__C": C} for C in (10.0, 0.01, 1.0)]
    expected = [
        int(
            np.sum(
                plain(classifier, setting["classifier__C"])
                .fit(problem.X[labelled], problem.y[labelled])
                .predict(problem.X[score])
                == problem.y[score]
            )
        )
        for setting in settings
    ]
    assert scores(row, settings, problem, fold) == expected


def test_dam_behind_raw_samples_sees_the_target():
    problem = problem_of(ADAPTATION)
    seen = np.where(problem.domain == "a", problem.y, -1)
    model = DAM(C=0.1).fit(problem.X, seen, sample_domain=problem.domain)
    there = problem.domain == "b"
    expected = int(np.sum(model.predict(problem.X[there]) == problem.y[there]))
    row = Contestant("raw", "dam")
    assert scores(row, [{"classifier__C": 0.1}], problem, "target") == [expected]


def test_undo_bias_in_sets_is_right_where_the_machine_of_the_true_class_is_positive():
    own, in_sets = contestants("generalization", classifiers=("sets",), names=["undo-bias"])
    assert (own.classifier, in_sets.label) == ("own", "undo-bias + sets")
    problem = problem_of(GENERALIZATION)
    there = problem.domain == "c"
    seen = {"y": problem.y[~there], "sample_domain": problem.domain[~there]}
    model = UndoBias().fit(problem.X[~there], **seen)
    sets = model.predict_set(problem.X[there])
    share = set_accuracy(problem.y[there], sets, model.classes_)
    assert scores(in_sets, [{}], problem, "target") == [round(share * there.sum())]
    argmax = np.sum(model.predict(problem.X[there]) == problem.y[there])
    assert scores(own, [{}], problem, "target") == [argmax] != [round(share * there.sum())]


@pytest.mark.parametrize("task", [ADAPTATION, GENERALIZATION], ids=lambda task: task.name)
def test_labels_that_are_hidden_change_no_score_in_the_folds_that_choose(task):
    problem = problem_of(task)
    wrong = problem.y.copy()
    wrong[problem.test] = (wrong[problem.test] + 1) % 3
    other = replace(problem, y=wrong)
    for row in rows(task):
        if METHODS.get(row.name) is not None and METHODS[row.name].extra:
            continue
        setting = row.settings(task)[:1]
        assert scores(row, setting, problem, "source-1") == scores(row, setting, other, "source-1")


def test_too_many_components_are_noted_and_the_rest_is_scored():
    problem = problem_of(ADAPTATION)
    sa = next(row for row in rows(ADAPTATION) if row.label == "sa + 1NN")
    found = score_settings(
        sa, [{"n_components": 2}, {"n_components": 50}], problem, split(problem, "target", 0), 0
    )
    assert found[0]["total"] == 40
    assert "n_components=50" in found[1]["error"]
    assert "correct" not in found[1]


def test_a_nested_method_is_scored_with_as_many_components_as_there_are():
    problem = problem_of(ADAPTATION)
    tca = next(row for row in rows(ADAPTATION) if row.label == "tca + 1NN")
    settings = [{"n_components": k, "mu": 1.0} for k in (2, 500, 5, 79)]
    found = scores(tca, settings, problem, "target")
    assert found[1] == found[3]
    assert found[::2] == [scores(tca, [settings[i]], problem, "target")[0] for i in (0, 2)]
