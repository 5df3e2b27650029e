"""SCACV: the paper's search, equal to an exhaustive one, and true to scikit-learn's forms."""

import pickle
import warnings
from collections import Counter
from itertools import product
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import KFold, LeaveOneGroupOut, ShuffleSplit, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import check_estimator

from skatter import SCA, SCACV, USCA, HedgedClassifier
from skatter.selection import BETAS, DELTAS, nearest_labels, scatter_criterion
from skatter.selection import _folds as folds_module

pytestmark = pytest.mark.usefixtures("few_trees")

some = settings(deadline=None, max_examples=25)

KS, SOME_BETAS, SOME_DELTAS = [1, 2, 4], [0.0, 0.3, 1.0], [0.0, 10.0]
GRID = {
    "n_components": KS,
    "betas": SOME_BETAS,
    "deltas": SOME_DELTAS,
}


def problem(seed=0, n=60, p=5, n_classes=3, *, target_labels=False):
    """Two sources and a target; overlapping classes, so that settings differ."""
    rng = np.random.default_rng(seed)
    site = np.repeat([1, 2, -3], [n // 3, n // 3, n - 2 * (n // 3)])
    truth = rng.integers(n_classes, size=n)
    X = rng.normal(size=(n, p))
    X += rng.normal(size=(n_classes, p))[truth] + 0.5 * site[:, None]
    y = np.where(site < 0, -1, truth)
    if target_labels:
        some_rows = np.flatnonzero(site < 0)[::4]
        y[some_rows] = truth[some_rows]
    return SimpleNamespace(X=X, y=y, site=site, truth=truth, new=rng.normal(size=(7, p)))


@pytest.fixture
def data():
    return problem()


def fit(search, case, X=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return search.fit(case.X if X is None else X, case.y, sample_domain=case.site)


def exhaustive(case, folds, template, ks, betas, deltas, *, X=None, judge=None):
    """One SCA fit per setting and fold, with the fold's labels hidden; scores by setting."""
    X = case.X if X is None else X
    judge = KNeighborsClassifier(1) if judge is None else judge
    table = {}
    for k, delta, beta in product(ks, deltas, betas):
        scores = []
        for held in folds:
            y = case.y.copy()
            y[held] = -1
            model = clone(template).set_params(n_components=k, beta=beta, delta=delta)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                Z = model.fit_transform(X, y, sample_domain=case.site, labelled=y >= 0)
            fitted = clone(judge).fit(Z[y >= 0], y[y >= 0])
            scores.append(np.mean(fitted.predict(Z[held]) == case.y[held]))
        table[k, delta, beta] = scores
    return table


def source_folds(case, splitter):
    """Held-out rows of the labelled source samples."""
    rows = np.flatnonzero((case.y >= 0) & (case.site >= 0))
    groups = case.site[rows] if isinstance(splitter, LeaveOneGroupOut) else None
    return [rows[held] for _, held in splitter.split(rows, case.y[rows], groups)]


THREE, FIVE = (StratifiedKFold(n, shuffle=True, random_state=0) for n in (3, 5))


def fold_scores(search):
    """Fold scores by setting, read from cv_results_."""
    results = search.cv_results_
    n_folds = sum(key.startswith("split") for key in results)
    return {
        (p["n_components"], p["delta"], p["beta"]): [
            results[f"split{f}_test_score"][i] for f in range(n_folds)
        ]
        for i, p in enumerate(results["params"])
    }


def assert_same_search(search, table):
    """All fold scores, and the point that is picked: most accurate, then smallest k, δ, β."""
    found = fold_scores(search)
    assert list(found) == list(table)
    assert_allclose(list(found.values()), list(table.values()), atol=1e-12)
    best = min(table, key=lambda point: (-round(np.mean(table[point]), 10), point))
    assert search.best_params_ == dict(zip(("n_components", "delta", "beta"), best, strict=True))
    assert search.best_score_ == pytest.approx(np.mean(table[best]), abs=1e-12)
    # The table must be able to tell a right search from a wrong one.
    assert len({round(np.mean(scores), 10) for scores in table.values()}) > 3


# --- the same point as an exhaustive search -----------------------------------------------------


@pytest.mark.parametrize("scale", ["eigenvalue", "denominator", "numerator", "coefficients"])
def test_it_equals_an_exhaustive_search(data, scale):
    template = SCA(scale=scale)
    search = fit(SCACV(template, cv=5, **GRID), data)
    table = exhaustive(data, source_folds(data, FIVE), template, KS, SOME_BETAS, SOME_DELTAS)
    assert_same_search(search, table)


@pytest.mark.parametrize(
    "template",
    [
        SCA(normalize=False),
        SCA(kernel="linear"),
        SCA(kernel="linear", normalize=False, scale="denominator"),
        SCA(kernel="poly", ridge=0.1),
        SCA(feature_map=Nystroem(n_components=20, random_state=0)),
        SCA(solver="lanczos", tol=1e-9),
    ],
    ids=str,
)
def test_it_equals_an_exhaustive_search_on_every_route(data, template):
    search = fit(SCACV(template, cv=3, **GRID), data)
    folds = source_folds(data, THREE)
    table = exhaustive(data, folds, template, KS, SOME_BETAS, SOME_DELTAS)
    assert_same_search(search, table)


def test_it_equals_an_exhaustive_search_where_lanczos_iterates():
    case = problem(2, n=560, p=12, n_classes=4)
    grid = {"n_components": [3, 8], "betas": [0.1, 1.0], "deltas": [1.0, 10.0]}
    search = fit(SCACV(cv=2, **grid), case)
    folds = source_folds(case, StratifiedKFold(2, shuffle=True, random_state=0))
    table = exhaustive(case, folds, SCA(), [3, 8], [0.1, 1.0], [1.0, 10.0])
    assert_same_search(search, table)


@pytest.fixture
def types(monkeypatch):
    """Types of the projections that searches predict from."""
    found, predict = [], SCACV._predict

    def watched(self, Z, *given):
        found.append(Z.dtype)
        return predict(self, Z, *given)

    monkeypatch.setattr(SCACV, "_predict", watched)
    return found


def test_single_precision_of_many_samples_moves_a_score_by_a_sample_at_most(types, monkeypatch):
    case = problem(4, n=1050, p=12, n_classes=4)
    grid = {"n_components": [3, 8, 20], "betas": [0.0, 0.3, 1.0], "deltas": [0.1, 10.0]}
    single = fit(SCACV(cv=2, refit=False, **grid), case)
    assert set(types) == {np.dtype(np.float32)}
    monkeypatch.setattr(folds_module, "FEWEST", 10_000)
    double = fit(SCACV(cv=2, refit=False, **grid), case)
    assert types[-1] == np.float64
    held = min(len(rows) for rows in source_folds(case, StratifiedKFold(2)))
    found, expected = (np.array(list(fold_scores(each).values())) for each in (single, double))
    assert np.ptp(expected) > 0.1
    assert_allclose(found, expected, atol=1.01 / held)
    assert np.mean(found == expected) > 0.9


@pytest.mark.parametrize(
    "changes",
    [
        {"estimator": SCA(scale="denominator")},
        {"estimator": SCA(normalize=False)},
        {"estimator": SCA(ridge=1e-6)},
        {"estimator": SCA(feature_map=Nystroem(n_components=20, random_state=0))},
        {"classifier": KNeighborsClassifier(1)},
    ],
    ids=str,
)
def test_where_digits_may_count_folds_of_many_samples_are_in_double_precision(changes, types):
    search = SCACV(cv=2, refit=False, n_components=[2], betas=[0.3], deltas=[1.0], **changes)
    fit(search, problem(4, n=1050, p=12, n_classes=4))
    assert set(types) == {np.dtype(np.float64)}


def test_it_equals_an_exhaustive_search_with_some_target_labels():
    case = problem(3, target_labels=True)
    search = fit(SCACV(cv=3, **GRID), case)
    table = exhaustive(case, source_folds(case, THREE), SCA(), KS, SOME_BETAS, SOME_DELTAS)
    assert_same_search(search, table)


def test_it_equals_an_exhaustive_search_with_a_precomputed_kernel(data):
    K0 = rbf_kernel(data.X, gamma=0.1)
    template = SCA(kernel="precomputed")
    search = fit(SCACV(template, cv=3, **GRID), data, K0)
    folds = source_folds(data, THREE)
    table = exhaustive(data, folds, template, KS, SOME_BETAS, SOME_DELTAS, X=K0)
    assert_same_search(search, table)
    new = rbf_kernel(data.new, data.X, gamma=0.1)
    assert search.transform(new).shape == (7, search.best_estimator_.n_components_)


@pytest.mark.parametrize(
    "judge", [KNeighborsClassifier(3), GaussianNB(), KNeighborsClassifier(1)], ids=str
)
def test_it_equals_an_exhaustive_search_with_any_classifier(data, judge):
    search = fit(SCACV(classifier=judge, cv=3, **GRID), data)
    folds = source_folds(data, THREE)
    table = exhaustive(data, folds, SCA(), KS, SOME_BETAS, SOME_DELTAS, judge=judge)
    assert_same_search(search, table)
    assert not hasattr(judge, "classes_")


@pytest.mark.parametrize(
    "cv",
    [LeaveOneGroupOut(), KFold(4), ShuffleSplit(3, test_size=0.3, random_state=0)],
    ids=str,
)
def test_it_equals_an_exhaustive_search_with_any_splitter(data, cv):
    search = fit(SCACV(cv=cv, **GRID), data)
    table = exhaustive(data, source_folds(data, cv), SCA(), KS, SOME_BETAS, SOME_DELTAS)
    assert_same_search(search, table)
    if isinstance(cv, LeaveOneGroupOut):
        assert "split1_test_score" in search.cv_results_
        assert "split2_test_score" not in search.cv_results_


def test_folds_may_be_given_as_indices_into_the_labelled_source_samples(data):
    splits = [(np.arange(10, 40), np.arange(10)), (np.arange(30), np.arange(30, 40))]
    search = fit(SCACV(cv=splits, **GRID), data)
    table = exhaustive(data, [np.arange(10), np.arange(30, 40)], SCA(), KS, SOME_BETAS, SOME_DELTAS)
    assert_same_search(search, table)


@pytest.mark.parametrize("cv", [3, KFold(3), LeaveOneGroupOut()], ids=str)
def test_a_splitter_is_given_the_domains_without_a_warning(data, cv):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search = SCACV(cv=cv, n_components=[2], betas=[0.1], deltas=[1.0])
        search.fit(data.X, data.y, sample_domain=data.site)
    assert 0 < search.best_score_ <= 1


def test_rows_in_any_order_may_be_labelled_sources():
    # Folds are over labelled source samples wherever they stand.
    case = problem(5)
    rows = np.random.default_rng(0).permutation(60)
    shuffled = SimpleNamespace(X=case.X[rows], y=case.y[rows], site=case.site[rows])
    search = fit(SCACV(cv=3, **GRID), shuffled)
    table = exhaustive(shuffled, source_folds(shuffled, THREE), SCA(), KS, SOME_BETAS, SOME_DELTAS)
    assert_same_search(search, table)


# --- what takes part ----------------------------------------------------------------------------


class Watching(KNeighborsClassifier):
    """Remembers how many samples it was trained on and asked about."""

    seen: ClassVar[list] = []

    def fit(self, X, y):
        self.seen.append(("fit", len(X)))
        return super().fit(X, y)

    def predict(self, X):
        self.seen.append(("predict", len(X)))
        return super().predict(X)


def test_target_labels_train_and_are_never_held_out():
    case = problem(3, target_labels=True)
    Watching.seen.clear()
    judge = Watching(n_neighbors=1)
    fit(SCACV(classifier=judge, cv=5, n_components=[2], betas=[0.1], deltas=[1.0]), case)
    trained = [count for what, count in Watching.seen if what == "fit"]
    asked = [count for what, count in Watching.seen if what == "predict"]
    assert trained == [32 + 5] * 5  # of 40 source labels and 5 target labels
    assert asked == [8] * 5


def test_wrong_target_labels_change_the_components_but_no_fold():
    case = problem(3, target_labels=True)
    splits = []

    class Spy(KFold):
        def split(self, X, y=None, groups=None):
            splits.append((len(X), np.array(y), np.array(groups)))
            return super().split(X, y, groups)

    fit(SCACV(cv=Spy(2), n_components=[2], betas=[0.1], deltas=[1.0]), case)
    (n, y, groups) = splits[0]
    assert n == 40
    assert np.array_equal(y, case.truth[:40])
    assert np.array_equal(groups, np.repeat([1, 2], 20))


def test_values_of_y_on_unlabelled_rows_do_not_matter(data):
    expected = fit(SCACV(**GRID), data)
    labelled = data.y >= 0
    noise = np.where(labelled, data.y, 1)
    search = SCACV(**GRID).fit(data.X, noise, sample_domain=data.site, labelled=labelled)
    assert fold_scores(search) == fold_scores(expected)
    assert np.array_equal(search.transform(data.new), expected.transform(data.new))


def test_with_an_unlabelled_target_the_scatter_criterion_chooses(data):
    search = fit(SCACV(**GRID), data)
    assert search.criterion_ == "scatter"
    unknown = data.y < 0
    for params, score in zip(
        search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
    ):
        Z = fit(SCA(**params), data).transform(data.X)
        guess = KNeighborsClassifier(1).fit(Z[~unknown], data.y[~unknown]).predict(Z)
        expected = scatter_criterion(data.X, data.y, guess, sample_domain=data.site)
        assert abs(score - expected) < 1e-6
    assert search.best_score_ == search.cv_results_["mean_test_score"].max()


def test_asked_for_it_chooses_by_the_accuracy_to_expect(data):
    search = fit(SCACV(**{**GRID, "criterion": "expected accuracy"}), data)
    assert search.criterion_ == "expected accuracy"
    unknown = data.y < 0
    hedge = HedgedClassifier().fit(data.X, data.y, sample_domain=data.site)
    shares = hedge.predict_proba(data.X[unknown], sample_domain=data.site[unknown])
    for params, score in zip(
        search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
    ):
        Z = fit(SCA(**params), data).transform(data.X)
        guess = KNeighborsClassifier(1).fit(Z[~unknown], data.y[~unknown]).predict(Z[unknown])
        expected = shares[np.arange(len(guess)), np.searchsorted(hedge.classes_, guess)].mean()
        assert abs(score - expected) < 1e-6


def test_without_an_unlabelled_target_held_out_labels_choose(data):
    search = SCACV(**GRID).fit(data.X, data.truth, sample_domain=np.abs(data.site))
    assert search.criterion_ == "accuracy"
    folds = [name for name in search.cv_results_ if name.startswith("split")]
    assert len(folds) == 5


def test_labels_may_be_strings_in_data_frames(data):
    expected = fit(SCACV(cv=5, **GRID), data)
    frame = pd.DataFrame(data.X, columns=list("abcde"))
    y = pd.Series([None if k < 0 else f"class {k}" for k in data.y])
    site = pd.Series(data.site)
    before = frame.copy(), y.copy(), site.copy()
    search = SCACV(cv=5, **GRID).fit(frame, y, sample_domain=site)
    assert fold_scores(search) == fold_scores(expected)
    assert search.feature_names_in_.tolist() == list("abcde")
    assert search.best_estimator_.classes_.tolist() == ["class 0", "class 1", "class 2"]
    for now, then in zip((frame, y, site), before, strict=True):
        assert now.equals(then)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "precomputed"])
def test_fit_leaves_its_inputs_untouched_to_the_bit(data, kernel):
    X = data.X @ data.X.T if kernel == "precomputed" else data.X
    before = [array.tobytes() for array in (X, data.y, data.site)]
    for array in (X, data.y, data.site):
        array.flags.writeable = False
    fit(SCACV(SCA(kernel=kernel), n_components=[2], betas=[0.1], deltas=[1.0]), data, X)
    assert before == [array.tobytes() for array in (X, data.y, data.site)]


def test_two_runs_give_the_same_scores_and_bits(data):
    first, second = fit(SCACV(**GRID), data), fit(SCACV(**GRID), data)
    assert fold_scores(first) == fold_scores(second)
    assert np.array_equal(first.transform(data.new), second.transform(data.new))


def test_single_precision_stays_single(data):
    X = data.X.astype(np.float32)
    for kernel in ("rbf", "linear"):
        search = fit(SCACV(SCA(kernel=kernel), **GRID), data, X)
        assert search.transform(X).dtype == np.float32


# --- ties ---------------------------------------------------------------------------------------


def test_ties_go_to_the_smaller_k_then_delta_then_beta():
    # Classes that no setting can confuse: everything scores one.
    rng = np.random.default_rng(0)
    y = np.tile([0, 1, 2], 20)
    X = 100 * np.eye(3)[y] + rng.normal(size=(60, 3))
    search = SCACV(n_components=[5, 2, 4], betas=[0.5, 0.2], deltas=[10.0, 1.0]).fit(X, y)
    assert (search.cv_results_["mean_test_score"] == 1).all()
    assert search.best_params_ == {"n_components": 2, "beta": 0.2, "delta": 1.0}
    assert search.best_index_ == 0
    assert (search.cv_results_["rank_test_score"] == 1).all()


def test_settings_come_in_the_order_of_the_tie_rule(data):
    search = fit(SCACV(n_components=[6, 1, 3], betas=[1.0, 0.0], deltas=[5.0, 0.5]), data)
    points = [(p["n_components"], p["delta"], p["beta"]) for p in search.cv_results_["params"]]
    assert points == list(product([1, 3, 6], [0.5, 5.0], [0.0, 1.0]))


class Scripted(KNeighborsClassifier):
    """Hits as many of a fold of ten as the script says, by the number of components."""

    truth = np.tile([0, 1], 15).reshape(3, 10)
    hits: ClassVar[dict] = {1: [3, 2, 1], 2: [1, 2, 3]}
    asked: ClassVar[Counter] = Counter()

    def predict(self, X):
        fold = self.asked[X.shape[1]]
        self.asked[X.shape[1]] += 1
        guess = 1 - self.truth[fold]
        right = self.hits[X.shape[1]][fold]
        guess[:right] = self.truth[fold][:right]
        return guess


def test_equal_hits_in_other_folds_are_a_tie():
    # 0.3 + 0.2 + 0.1 and 0.1 + 0.2 + 0.3 differ in the last bit.
    X = np.random.default_rng(0).normal(size=(30, 4))
    Scripted.asked.clear()
    search = SCACV(
        classifier=Scripted(1), cv=KFold(3), n_components=[1, 2], betas=[0.1], deltas=[1.0]
    )
    results = search.fit(X, Scripted.truth.ravel()).cv_results_
    assert results["mean_test_score"][0] < results["mean_test_score"][1]
    assert search.best_index_ == 0
    assert results["rank_test_score"].tolist() == [1, 1]


# --- the form of the results --------------------------------------------------------------------


def test_results_have_the_form_of_a_grid_search(data):
    search = fit(SCACV(cv=3, **GRID), data)
    results, n = search.cv_results_, len(KS) * 6
    keys = {"mean_fit_time", "std_fit_time", "mean_score_time", "std_score_time", "params"}
    keys |= {"param_n_components", "param_beta", "param_delta"}
    keys |= {f"split{f}_test_score" for f in range(3)}
    keys |= {"mean_test_score", "std_test_score", "rank_test_score"}
    assert set(results) == keys
    assert all(len(column) == n for column in results.values())
    splits = np.column_stack([results[f"split{f}_test_score"] for f in range(3)])
    assert_allclose(results["mean_test_score"], splits.mean(axis=1))
    assert_allclose(results["std_test_score"], splits.std(axis=1))
    ranks = rankdata(-np.round(splits.mean(axis=1), 10), method="min")
    assert results["rank_test_score"].dtype == np.int32
    assert results["rank_test_score"].tolist() == ranks.tolist()
    assert results["rank_test_score"][search.best_index_] == 1
    assert results["params"][search.best_index_] == search.best_params_
    assert results["mean_test_score"][search.best_index_] == search.best_score_
    assert (results["mean_fit_time"] > 0).all()
    for name in ("n_components", "beta", "delta"):
        column = results[f"param_{name}"]
        assert isinstance(column, np.ma.MaskedArray)
        assert column.tolist() == [point[name] for point in results["params"]]
    assert len(pd.DataFrame(results)) == n


def test_the_best_estimator_is_a_fit_with_all_labels(data):
    search = fit(SCACV(**GRID), data)
    alone = SCA(**search.best_params_).fit(data.X, data.y, sample_domain=data.site)
    assert np.array_equal(search.transform(data.new), alone.transform(data.new))
    assert search.best_estimator_.get_params() == alone.get_params()


def test_the_template_is_neither_fitted_nor_changed(data):
    template = SCA(kernel="poly", ridge=0.5, n_components=7)
    search = fit(SCACV(template, cv=5, **GRID), data)
    assert not hasattr(template, "eigenvalues_")
    assert template.n_components == 7
    assert search.best_estimator_.kernel == "poly"
    assert search.best_estimator_.ridge == 0.5
    assert search.estimator is template


# --- the grids ----------------------------------------------------------------------------------


def candidates(search):
    params = search.cv_results_["params"]
    return tuple(sorted({p[name] for p in params}) for name in ("n_components", "beta", "delta"))


def test_adaptation_searches_k_and_beta_at_the_delta_of_the_template(data):
    _, betas, deltas = candidates(fit(SCACV(SCA(delta=7.0), tune="adaptation"), data))
    assert betas == list(BETAS) == [0, 0.1, 0.3, 0.5, 0.7, 0.9, 1]
    assert deltas == [7.0]


def test_generalization_searches_k_and_delta_with_beta_one():
    case = problem(4)
    case.y, case.site = case.truth, np.abs(case.site)
    ks, betas, deltas = candidates(fit(SCACV(tune="generalization"), case))
    assert betas == [1.0]
    assert deltas == list(DELTAS)
    assert len(ks) > 3


def test_all_searches_everything(data):
    ks, betas, deltas = candidates(fit(SCACV(cv=2), data))
    assert (betas, deltas) == (list(BETAS), list(DELTAS))
    # 2, 5, C-1, C, 12, 15, 20, 30, 40 and 60, below the number of samples
    assert ks == [2, 3, 5, 12, 15, 20, 30, 40]


def test_default_candidates_for_k_stay_below_the_number_of_samples():
    case = problem(1, n=18)
    ks, _, _ = candidates(fit(SCACV(cv=2, betas=[0.1], deltas=[1.0]), case))
    assert ks == [2, 3, 5, 12, 15]


def test_given_candidates_win_over_the_table(data):
    search = fit(SCACV(tune="generalization", betas=[0.2], n_components=(2, 2, 4), cv=2), data)
    assert candidates(search) == ([2, 4], [0.2], list(DELTAS))
    array = fit(SCACV(n_components=np.array([2]), betas=np.array([0.5]), deltas=(3,), cv=2), data)
    assert array.best_params_ == {"n_components": 2, "beta": 0.5, "delta": 3.0}


def test_a_single_number_is_a_single_candidate(data):
    search = fit(SCACV(n_components=3, betas=0.2, deltas=5, cv=2), data)
    assert search.best_params_ == {"n_components": 3, "beta": 0.2, "delta": 5.0}


def test_more_components_than_the_rank_score_as_all_of_them(data):
    search = fit(SCACV(n_components=[2, 50], betas=[1.0], deltas=[1.0]), data)
    scores = search.cv_results_["mean_test_score"]
    assert scores[0] == scores[1]
    assert search.best_params_["n_components"] == 2


# --- use ----------------------------------------------------------------------------------------


def test_scikit_learn_finds_nothing_to_object_to():
    """In the whole grid; with and without routing a small one is among the contract's tests."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(SCACV(), on_fail=None, on_skip=None)
    objections = {r["check_name"]: r["exception"] for r in results if r["status"] != "passed"}
    assert set(objections) <= {"check_array_api_input"}, objections
    assert len(results) > 40


def test_progress_is_shown_when_asked(data, capsys):
    fit(SCACV(n_components=[1, 2], betas=[0.1], deltas=[1.0], cv=2), data)
    assert capsys.readouterr().out == ""
    search = fit(SCACV(n_components=[1, 2], betas=[0.1], deltas=[1.0], cv=2, verbose=1), data)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    for f, line in enumerate(lines):
        best = search.cv_results_[f"split{f}_test_score"].max()
        assert line.startswith(f"[SCACV] fold {f + 1} of 2: 2 settings, best accuracy {best:.3f}")


def test_without_refit_there_are_results_and_no_components(data):
    search = fit(SCACV(refit=False, **GRID), data)
    assert search.best_params_ == fit(SCACV(**GRID), data).best_params_
    assert not hasattr(search, "best_estimator_")
    with pytest.raises((NotFittedError, AttributeError), match=r"SCACV|refit"):
        search.transform(data.new)


def test_refitting_forgets_the_earlier_fit(data):
    frame = pd.DataFrame(data.X, columns=list("abcde"))
    search = SCACV(**GRID).fit(frame, data.y, sample_domain=data.site)
    fit(search, data, data.X[:, :4])
    assert not hasattr(search, "feature_names_in_")
    assert search.n_features_in_ == 4
    assert search.transform(data.new[:, :4]).shape[0] == 7
    fit(search.set_params(refit=False), data)
    with pytest.raises((NotFittedError, AttributeError), match=r"SCACV|refit"):
        search.transform(data.new)


def test_an_unfitted_search_says_so(data):
    with pytest.raises(NotFittedError, match="SCACV"):
        SCACV().transform(data.X)


def test_output_can_be_pandas_with_names(data):
    search = fit(SCACV(**GRID).set_output(transform="pandas"), data)
    Z = search.transform(data.new)
    names = [f"scacv{j}" for j in range(search.best_estimator_.n_components_)]
    assert Z.columns.tolist() == search.get_feature_names_out().tolist() == names
    assert_allclose(Z.to_numpy(), search.best_estimator_.transform(data.new))


def test_parameters_are_stored_cloned_and_nested():
    search = SCACV(SCA(kernel="poly"), tune="adaptation", cv=3, verbose=1)
    again = clone(search)
    assert again.estimator is not search.estimator
    assert again.get_params()["estimator__kernel"] == "poly"
    assert again.get_params(deep=False).keys() == search.get_params(deep=False).keys()
    assert again.set_params(estimator__ridge=0.5).estimator.ridge == 0.5


def test_a_fitted_search_survives_pickling(data):
    search = fit(SCACV(**GRID), data)
    again = pickle.loads(pickle.dumps(search))
    assert np.array_equal(again.transform(data.new), search.transform(data.new))
    assert again.best_params_ == search.best_params_


def test_domains_are_routed_by_default():
    with sklearn.config_context(enable_metadata_routing=True):
        requests = SCACV().get_metadata_routing()
        assert requests.fit.requests == {"sample_domain": True, "labelled": True}
        assert requests.transform.requests == {"sample_domain": True}


def test_tags_are_those_of_the_estimator():
    tags = SCACV(SCA(kernel="precomputed")).__sklearn_tags__()
    assert tags.input_tags.pairwise
    assert not tags.input_tags.sparse
    assert SCACV().__sklearn_tags__().target_tags.required


# --- bad input: a clear error before heavy work -------------------------------------------------


def never(A, B):
    """A kernel that must not be reached."""
    raise AssertionError("heavy work was begun")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tune": "everything"}, "tune must be one of"),
        ({"betas": [0.5, 1.5]}, "betas must lie in"),
        ({"betas": [-0.1]}, "betas must lie in"),
        ({"betas": []}, "betas must name at least one"),
        ({"betas": ["much"]}, "betas must be a number"),
        ({"deltas": [-1.0]}, "deltas must lie in"),
        ({"deltas": [np.nan]}, "deltas must lie in"),
        ({"deltas": ()}, "deltas must name at least one"),
        ({"n_components": [0]}, "n_components must be at least 1"),
        ({"n_components": [2.5]}, "n_components must be an integer"),
        ({"n_components": [True]}, "n_components must be an integer"),
        ({"n_components": []}, "n_components must name at least one"),
        ({"cv": 1}, "cv must be at least 2"),
        ({"cv": []}, "cv has no fold"),
        ({"cv": 50}, "cv=50 folds need a class with 50 labelled source samples"),
    ],
    ids=str,
)
def test_parameters_are_checked_by_name_before_the_kernel(data, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        fit(SCACV(SCA(kernel=never), **options), data)


@pytest.mark.parametrize("estimator", [USCA(), KNeighborsClassifier(), "sca"], ids=str)
def test_only_an_sca_can_be_tuned(data, estimator):
    with pytest.raises(TypeError, match="estimator must be an SCA"):
        fit(SCACV(estimator), data)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"ridge": 0}, "ridge must"), ({"scale": "paper"}, "scale must"), ({"tol": -1}, "tol must")],
    ids=str,
)
def test_parameters_of_the_template_are_checked(data, options, message):
    with pytest.raises(ValueError, match=message):
        fit(SCACV(SCA(kernel=never, **options)), data)


def test_a_search_needs_labels_in_a_source_domain(data):
    with pytest.raises(ValueError, match="no labelled sample"):
        SCACV(SCA(kernel=never)).fit(data.X, np.full(60, -1), sample_domain=data.site)
    only_target = np.where(data.site < 0, data.truth, -1)
    with pytest.raises(ValueError, match="no labelled sample in a source domain"):
        SCACV(SCA(kernel=never)).fit(data.X, only_target, sample_domain=data.site)


def test_a_single_class_cannot_judge_a_setting(data):
    with pytest.raises(ValueError, match="class"):
        SCACV(SCA(kernel=never), tune="generalization").fit(
            data.X, np.zeros(60, int), sample_domain=data.site
        )


def test_bad_samples_are_refused_by_name(data):
    X = data.X.copy()
    X[0, 0] = np.nan
    with pytest.raises(ValueError, match="X contains NaN"):
        fit(SCACV(SCA(kernel=never)), data, X)
    with pytest.raises(ValueError, match="Lengths differ: X has 59, y has 60"):
        fit(SCACV(SCA(kernel=never)), data, data.X[1:])


def test_a_gram_matrix_that_cannot_fit_is_refused(data, monkeypatch):
    monkeypatch.setattr("skatter.kernels.available_memory", lambda: 1000)
    with pytest.raises(MemoryError, match="feature_map"):
        fit(SCACV(SCA(kernel=never)), data)
    assert fit(SCACV(SCA(kernel="linear"), cv=2, **GRID), data).best_score_ > 0


# --- degenerate input that must work ------------------------------------------------------------


@pytest.mark.parametrize("classifier", [None, LogisticRegression()], ids=str)
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_identical_samples_can_be_searched(classifier, kernel):
    X, y = np.full((20, 3), 0.5), np.tile([0, 1], 10)
    search = SCACV(SCA(kernel=kernel), classifier=classifier, n_components=[1, 2], cv=2)
    with pytest.warns(UserWarning, match="No direction has any scatter"):
        search.fit(X, y)
    assert search.best_score_ == 0.5
    assert search.best_params_ == {"n_components": 1, "beta": 0.0, "delta": 0.0}


@pytest.mark.parametrize("classifier", [None, KNeighborsClassifier(1)], ids=str)
def test_a_fold_that_leaves_one_class_can_be_searched(classifier):
    # Each source holds one class: leaving it out hides all the others' rivals.
    rng = np.random.default_rng(0)
    y, site = np.repeat([0, 1], 20), np.repeat([1, 2], 20)
    X = rng.normal(size=(40, 3)) + y[:, None]
    search = SCACV(cv=LeaveOneGroupOut(), classifier=classifier, n_components=[1, 2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(X, y, sample_domain=site)
    assert search.best_score_ == 0
    assert search.best_params_ == {"n_components": 1, "beta": 0.0, "delta": 0.0}


def test_more_features_than_samples_can_be_searched():
    case = problem(1, n=48, p=90)
    for kernel in ("rbf", "linear"):
        search = fit(SCACV(SCA(kernel=kernel), cv=3, **GRID), case)
        folds = source_folds(case, THREE)
        table = exhaustive(case, folds, SCA(kernel=kernel), KS, SOME_BETAS, SOME_DELTAS)
        assert_same_search(search, table)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_sparse_samples_are_searched_as_dense_ones(data, kernel):
    X = np.where(np.abs(data.X) > 0.5, data.X, 0)
    full = fit(SCACV(SCA(kernel=kernel), cv=3, **GRID), data, X)
    thin = fit(SCACV(SCA(kernel=kernel), cv=3, **GRID), data, sparse.csr_array(X))
    assert fold_scores(thin) == fold_scores(full)
    assert_allclose(thin.transform(sparse.csr_array(X)), full.transform(X), atol=1e-6)


# --- the nearest neighbour for all k in one pass ------------------------------------------------


@some
@given(
    seed=st.integers(0, 10**6),
    n_train=st.integers(1, 30),
    n_new=st.integers(1, 20),
    width=st.integers(1, 8),
    ks=st.lists(st.integers(1, 12), min_size=1, max_size=5, unique=True),
)
def test_nearest_labels_are_those_of_scikit_learn_for_every_k(seed, n_train, n_new, width, ks):
    rng = np.random.default_rng(seed)
    train, new = rng.normal(size=(n_train, width)), rng.normal(size=(n_new, width))
    label = rng.integers(4, size=n_train)
    ks = sorted(ks)
    found = list(nearest_labels(train, label, new, ks))
    assert len(found) == len(ks)
    for k, guess in zip(ks, found, strict=True):
        judge = KNeighborsClassifier(1).fit(train[:, :k], label)
        assert np.array_equal(guess, judge.predict(new[:, :k]))


def test_equally_near_neighbours_go_to_the_first():
    train, label = np.array([[1.0], [-1.0], [1.0]]), np.array([7, 5, 6])
    (guess,) = nearest_labels(train, label, np.array([[0.0], [1.0]]), [1])
    assert guess.tolist() == [7, 7]
