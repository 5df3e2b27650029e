"""Labels that are numbers: a kernel of labels in the scatters, as they are for a regressor."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import eigh
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, RegressorMixin, clone, is_regressor
from sklearn.compose import TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.linear_model import Ridge, SGDRegressor
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from skatter import SCA, SCACV, USCA, LeaveOneDomainOut, make_domain_pipeline
from skatter.labels import bin_labels, is_continuous, read_numbers, spline_memberships
from skatter.methods import CORAL, TCA
from skatter.pieces import ArrayChunks, fit_chunks
from skatter.saving import load_model, save_model

DOMAINS = ("amsterdam", "basel", "cairo")
OPTIONS = {
    "defaults": {},
    "beta=1": {"beta": 1.0},
    "conditional": {"conditional_delta": 2.0},
    "linear": {"kernel": "linear", "conditional_delta": 1.0},
    "sums": {"normalize": False},
    "printed": {"reading": "printed", "n_components": 2},
    "iterative": {"solver": "iterative"},
}


@dataclass(frozen=True)
class Numbers:
    """Samples whose label is a number; ``known`` is NaN in the target."""

    X: np.ndarray
    y: np.ndarray
    known: np.ndarray
    domain: np.ndarray
    X_new: np.ndarray

    @property
    def labelled(self):
        return ~np.isnan(self.known)


@pytest.fixture(scope="module")
def numbers():
    """Two sources and a target; labels bend the samples, domains move them."""
    rng = np.random.default_rng(0)
    y = rng.uniform(-5, 5, size=180)
    domain = np.tile(DOMAINS, 60)
    X = 0.2 * rng.normal(size=(180, 5))
    X[:, 0] += np.sin(0.3 * y)
    X[:, 1] += 0.2 * y
    X[:, 4] += 3.0 * (domain == "basel") + 6.0 * (domain == "cairo")
    known = np.where(domain == "cairo", np.nan, y)
    problem = Numbers(X, y, known, domain, rng.normal(size=(7, 5)))
    for array in vars(problem).values():
        array.flags.writeable = False
    return problem


class Spy(RegressorMixin, BaseEstimator):
    """A regressor that predicts zero and remembers what it was fitted on."""

    def fit(self, X, y):
        self.X_, self.y_ = X, y
        return self

    def predict(self, X):
        return np.zeros(len(X))


# --- bins -----------------------------------------------------------------------------------------


@given(
    y=st.lists(st.integers(-4, 30), min_size=2, max_size=60),
    n_bins=st.integers(2, 12),
)
@settings(max_examples=200, deadline=None)
def test_bins_keep_order_and_ties_and_lose_no_sample(y, n_bins):
    y = np.array(y, dtype=float)
    if len(np.unique(y)) == 1:
        return
    bins = bin_labels(y, n_bins)
    assert set(bins) == set(range(bins.max() + 1))
    assert 2 <= bins.max() + 1 <= min(n_bins, len(np.unique(y)))
    for a, b in zip(y, bins, strict=True):
        assert len(set(bins[y == a])) == 1
        assert (bins[y > a] >= b).all()


@pytest.mark.parametrize(("n", "n_bins"), [(60, 5), (61, 5), (64, 5), (7, 3), (1000, 30)])
def test_bins_of_distinct_labels_have_equal_counts(n, n_bins):
    y = np.random.default_rng(n).permutation(n) + 0.5
    counts = np.bincount(bin_labels(y, n_bins))
    assert len(counts) == n_bins
    assert counts.max() - counts.min() <= 1


def test_a_frequent_label_fills_a_bin_and_leaves_the_others_to_the_rest():
    y = np.array([0.0] * 60 + list(np.arange(1.0, 41.0)))
    bins = bin_labels(y, 5)
    assert set(bins[:60]) == {0}
    assert np.bincount(bins).tolist() == [60, 20, 20]


def test_fewer_labels_than_bins_are_a_bin_each_however_rare():
    y = np.array([3.0] * 97 + [1.0, 2.0, 2.0])
    assert np.bincount(bin_labels(y, 10)).tolist() == [1, 2, 97]


@pytest.mark.parametrize("change", [np.exp, np.arctan, lambda y: 1e6 * y - 3])
def test_an_increasing_transformation_of_the_labels_changes_no_bin(change, numbers):
    assert_array_equal(bin_labels(change(numbers.y), 7), bin_labels(numbers.y, 7))


def test_edges_cut_above_them():
    y, edges = np.array([-2.0, -1.0, -0.999, 0.0, 3.0, 3.5, np.nan]), [-1.0, 3.0]
    slow = [-1 if np.isnan(v) else sum(v > edge for edge in edges) for v in y]
    assert bin_labels(y, edges).tolist() == slow == [0, 0, 1, 1, 1, 2, -1]


# --- the kernel of labels -------------------------------------------------------------------------


def slow_splines(y, n_splines):
    """B-splines of the mid-ranks by Cox and de Boor's recursion, a column each."""
    degree = min(3, n_splines - 1)
    u = (rankdata(y) - 0.5) / len(y)
    t = np.r_[[0.0] * degree, np.linspace(0, 1, n_splines - degree + 1), [1.0] * degree]

    def b(j, d):
        if d == 0:
            return ((t[j] <= u) & (u < t[j + 1])).astype(float)
        below, above = t[j + d] - t[j], t[j + d + 1] - t[j + 1]
        rising = (u - t[j]) / below * b(j, d - 1) if below else 0
        return rising + ((t[j + d + 1] - u) / above * b(j + 1, d - 1) if above else 0)

    return np.column_stack([b(j, degree) for j in range(n_splines)])


def slow_matrices(problem, n_splines):
    """H, R, S, L and L_c of the objective, written out; R and S by projections on the splines."""
    n, rows = len(problem.y), np.flatnonzero(problem.labelled)
    splines = np.zeros((n, n_splines))
    splines[rows] = slow_splines(problem.known[rows], n_splines)
    one = problem.labelled / np.sqrt(len(rows))
    fitted = splines @ np.linalg.pinv(splines)
    of_domains = np.array([(problem.domain == d) / np.sum(problem.domain == d) for d in DOMAINS])
    conditional = []
    for column in splines.T:
        weights = np.array([column * (problem.domain == d) for d in DOMAINS])
        weights = weights[weights.any(axis=1)]
        weights /= weights.sum(axis=1, keepdims=True)
        conditional.append(np.cov(weights.T, bias=True))
    return {
        "total": (np.eye(n) - 1 / n) / n,
        "between": (fitted - np.outer(one, one)) / len(rows),
        "within": (np.diag(problem.labelled.astype(float)) - fitted) / len(rows),
        "domain": np.cov(of_domains.T, bias=True),
        "conditional": np.mean(conditional, axis=0),
    }


@pytest.mark.parametrize("n_splines", [2, 3, 5, 8])
def test_splines_are_those_of_the_recursion_and_sum_to_one(n_splines, numbers):
    y = np.round(numbers.y, 1)
    values, place, counts = np.unique(y, return_inverse=True, return_counts=True)
    splines = spline_memberships(counts, n_splines)
    assert len(splines) == len(values) < len(y)
    assert_allclose(splines[place], slow_splines(y, n_splines), atol=1e-12)
    assert_allclose(splines.sum(axis=1), 1)


@pytest.mark.parametrize("n_splines", [2, 5])
@pytest.mark.parametrize(
    ("beta", "conditional_delta"), [(0.3, 0.0), (1.0, 0.0), (0.9, 2.0)], ids=str
)
def test_components_solve_the_eigenproblem_written_out(n_splines, beta, conditional_delta, numbers):
    weights = {"beta": beta, "conditional_delta": conditional_delta}
    k = 3 if beta < 1 else min(3, n_splines - 1)
    model = SCA(k, label_splines=n_splines, scale="denominator", ridge=1e-3, **weights)
    Z = model.fit_transform(numbers.X, numbers.known, sample_domain=numbers.domain)
    H = np.eye(len(Z)) - 1 / len(Z)
    K = H @ model.kernel_(numbers.X, numbers.X) @ H
    part = slow_matrices(numbers, n_splines)
    A = K @ ((1 - beta) * part["total"] + beta * part["between"]) @ K
    M = part["within"] + part["domain"] + conditional_delta * part["conditional"]
    C = 1e-3 * np.trace(K) / len(K) * K + K @ M @ K
    C += 1e-12 * np.trace(C) / len(C) * np.eye(len(C))
    values = eigh(A, C, eigvals_only=True)[::-1][:k]
    assert_allclose(model.eigenvalues_, values, rtol=1e-5)
    B = model.dual_coef_
    assert_allclose(A @ B, (C @ B) * model.eigenvalues_, atol=1e-6 * np.abs(A @ B).max())
    after = model.scatter_["after"]
    assert_allclose(after.between_class, np.trace(Z.T @ part["between"] @ Z))
    assert_allclose(after.within_class, np.trace(Z.T @ part["within"] @ Z))
    assert_allclose(after.conditional_domain, np.trace(Z.T @ part["conditional"] @ Z))


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_groups_that_are_classes_are_the_classes(options, numbers):
    """Six classes, of which two each belong to one group, are three classes."""
    six = np.where(numbers.labelled, np.digitize(numbers.y, [-3, -1, 0, 2, 4]), -1)
    three = np.where(numbers.labelled, six // 2, -1)

    class Grouped(SCA):
        def read(self, *given):
            X, domains = super().read(*given)
            return X, replace(domains, memberships=np.repeat(np.eye(3), 2, axis=0))

    given = {"sample_domain": numbers.domain}
    ours = Grouped(**options).fit(numbers.X, six, **given)
    theirs = SCA(**options).fit(numbers.X, three, **given)
    assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-9)
    assert_allclose(ours.transform(numbers.X_new), theirs.transform(numbers.X_new), atol=1e-8)
    assert_allclose(ours.scatter_["after"], theirs.scatter_["after"], rtol=1e-8)
    assert max(ours.residuals_.max(), theirs.residuals_.max()) < 1e-6


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_no_more_labels_than_splines_are_a_class_each(options, numbers):
    stage = np.where(numbers.labelled, np.digitize(numbers.y, [-3, 0, 2]), np.nan)
    given, options = {"sample_domain": numbers.domain}, {"beta": 0.1, "ridge": 1e-3, **options}
    ours = SCA(label_splines=4, **options).fit(numbers.X, 0.5 * stage, **given)
    theirs = SCA(**options).fit(numbers.X, stage, **given)
    assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-9)
    assert_allclose(ours.transform(numbers.X_new), theirs.transform(numbers.X_new), atol=1e-8)


@pytest.mark.parametrize("solver", ["primal", "lanczos", "dense", "iterative"])
def test_all_solvers_agree(solver, numbers):
    options = {"label_splines": 5, "conditional_delta": 1.0, "kernel": "linear"}
    given = {"sample_domain": numbers.domain}
    one = SCA(**options).fit(numbers.X, numbers.known, **given)
    other = SCA(solver=solver, **options).fit(numbers.X, numbers.known, **given)
    assert_allclose(other.transform(numbers.X_new), one.transform(numbers.X_new), atol=1e-6)
    assert_allclose(other.scatter_["after"], one.scatter_["after"], rtol=1e-6)


@pytest.mark.parametrize("change", [np.exp, np.arctan, lambda y: 1e6 * y - 3])
def test_an_increasing_transformation_of_the_labels_changes_no_component(change, numbers):
    first, again = (
        SCA(label_splines=5).fit(numbers.X, y, sample_domain=numbers.domain)
        for y in (numbers.known, change(numbers.known))
    )
    assert_array_equal(first.transform(numbers.X_new), again.transform(numbers.X_new))


def test_a_mirrored_label_changes_no_component(numbers):
    first, again = (
        SCA(label_splines=5).fit(numbers.X, y, sample_domain=numbers.domain)
        for y in (numbers.known, -numbers.known)
    )
    assert_allclose(first.transform(numbers.X_new), again.transform(numbers.X_new), atol=1e-8)


def test_many_labels_are_levels_of_equal_counts_and_hardly_anything_changes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 4))
    y = np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=2000)
    model = SCA(2, beta=1.0, label_splines=5, kernel="linear").fit(X, y)
    assert len(model.classes_) == 256
    assert set(model.class_counts_) <= {7, 8}
    splines = slow_splines(y, 5)
    centred, fitted = X - X.mean(axis=0), splines @ np.linalg.lstsq(splines, X, rcond=None)[0]
    between = np.cov(fitted.T, bias=True)
    within = np.cov(X.T, bias=True) - between + 1e-3 * np.var(X, axis=0).sum() * np.eye(4)
    best = centred @ eigh(between, within)[1][:, -1]
    assert abs(np.corrcoef(best, model.transform(X)[:, 0])[0, 1]) > 0.99999


def test_for_numbers_beta_is_one_and_the_ridge_larger(numbers):
    given = {"sample_domain": numbers.domain}
    ours = SCA(label_splines=5).fit(numbers.X, numbers.known, **given)
    told = SCA(4, label_splines=5, beta=1.0, ridge=1e-2).fit(numbers.X, numbers.known, **given)
    assert_array_equal(ours.transform(numbers.X_new), told.transform(numbers.X_new))
    assert "numbers, 5 splines" in ours._repr_html_()


def test_without_domains_labelled_and_unlabelled_samples_are_two(numbers):
    model = SCA(label_splines=5).fit(numbers.X, numbers.known)
    assert model.domain_ids_.tolist() == ["labelled", "unlabelled"]


def test_whole_numbers_are_numbers_and_minus_one_is_one_of_them(numbers):
    whole = np.where(numbers.labelled, np.round(numbers.y), np.nan)
    assert (whole == -1).any()
    model = SCA(label_splines=5).fit(numbers.X, whole, sample_domain=numbers.domain)
    assert_array_equal(
        model.class_counts_, np.unique(whole[numbers.labelled], return_counts=True)[1]
    )
    everyone = np.round(numbers.y)  # no NaN, and -1.0 still is no mark
    assert_array_equal(read_numbers(everyone), everyone)


def test_a_mask_wins_over_what_is_in_y(numbers):
    filled = np.where(numbers.labelled, numbers.y, 99.0)
    given = {"sample_domain": numbers.domain}
    masked = SCA(label_splines=5).fit(numbers.X, filled, labelled=numbers.labelled, **given)
    marked = SCA(label_splines=5).fit(numbers.X, numbers.known, **given)
    assert_array_equal(masked.dual_coef_, marked.dual_coef_)


def test_integers_with_minus_one_are_refused_unless_a_mask_tells(numbers):
    y = np.round(numbers.y).astype(int)
    with pytest.raises(ValueError, match=r"y holds integers and -1 among them.*labelled="):
        SCA(label_splines=5).fit(numbers.X, y)
    told = SCA(label_splines=5).fit(numbers.X, y, labelled=np.ones(len(y), bool))
    assert_array_equal(
        told.dual_coef_, SCA(label_splines=5).fit(numbers.X, y.astype(float)).dual_coef_
    )


@pytest.mark.parametrize("container", ["list", "objects", "pandas", "nullable", "torch", "float32"])
def test_numbers_come_in_any_container(container, require):
    plain = [0.5, None, -1.0, 2.0]
    if container == "torch":
        y = require("torch", "torch").tensor([0.5, float("nan"), -1.0, 2.0])
    elif container in ("pandas", "nullable"):
        series = require("pandas").Series
        y = series(plain, dtype="Float64" if container == "nullable" else float)
    else:
        y = {
            "list": plain,
            "objects": np.array(plain, dtype=object),
            "float32": np.array(plain, dtype=np.float32),
        }[container]
    assert_array_equal(read_numbers(y), [0.5, np.nan, -1.0, 2.0])
    assert is_continuous(y)


def test_models_are_cloned_pickled_and_saved(numbers, tmp_path):
    fitted = clone(SCA(label_splines=5)).fit(numbers.X, numbers.known)
    expected = fitted.transform(numbers.X_new)
    assert_array_equal(pickle.loads(pickle.dumps(fitted)).transform(numbers.X_new), expected)
    save_model(fitted, tmp_path / "model.skatter")
    assert_array_equal(load_model(tmp_path / "model.skatter").transform(numbers.X_new), expected)


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bins",
    [
        1,
        0,
        -3,
        True,
        2.5,
        "ten",
        [],
        [1.0, 1.0],
        [2.0, 1.0],
        [0.0, np.nan],
        [[0.0, 1.0]],
        ["a", "b"],
    ],
    ids=repr,
)
def test_bins_that_cut_nothing_are_refused(bins, numbers):
    with pytest.raises((TypeError, ValueError), match=r"^bins must be"):
        bin_labels(numbers.known, bins)


@pytest.mark.parametrize("splines", [1, 0, -3, True, 2.5, "five", [1.0, 2.0]], ids=repr)
def test_what_is_no_number_of_splines_is_refused(splines, numbers):
    with pytest.raises((TypeError, ValueError), match="label_splines must be"):
        SCA(label_splines=splines).fit(numbers.X, numbers.known)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda y: np.where(np.isnan(y), np.nan, 3.25), r"All labels in y are 3\.25.*USCA"),
        (lambda y: np.full_like(y, np.nan), "requires y to be passed"),
        (lambda y: np.where(y > 4, np.inf, y), r"y is inf at row \d+; give finite numbers"),
        (lambda y: y[:-1], "Lengths differ"),
        (lambda y: np.column_stack([y, y]), "y must be one-dimensional"),
        (lambda y: np.where(y > 0, "high", "low"), "y must hold numbers for regression.*NaN"),
        (lambda y: y + 1j, "y must hold numbers for regression"),
    ],
    ids=["equal", "no label", "infinite", "length", "columns", "text", "complex"],
)
def test_labels_that_are_no_numbers_are_refused(change, message, numbers):
    with pytest.raises((TypeError, ValueError), match=message):
        SCA(label_splines=5).fit(numbers.X, change(numbers.known))
    with pytest.raises((TypeError, ValueError)):
        make_domain_pipeline(SCA(label_splines=5), Ridge()).fit(numbers.X, change(numbers.known))


def test_an_infinite_label_is_named_by_its_row(numbers):
    y = numbers.known.copy()
    y[4] = -np.inf
    with pytest.raises(ValueError, match="y is -inf at row 4"):
        SCA(label_splines=5).fit(numbers.X, y)


def test_numbers_without_splines_are_refused_and_the_parameter_is_named(numbers):
    for model in (SCA(), make_domain_pipeline(SCA(), Ridge())):
        with pytest.raises(ValueError, match=r"y must hold classes.*label_splines"):
            model.fit(numbers.X, numbers.known, sample_domain=numbers.domain)


# --- pipelines ------------------------------------------------------------------------------------


def test_a_pipeline_with_a_regressor_is_its_steps_by_hand(numbers):
    model = make_domain_pipeline(StandardScaler(), SCA(label_splines=5), Ridge())
    model.fit(numbers.X, numbers.known, sample_domain=numbers.domain)
    scaler = StandardScaler().fit(numbers.X)
    sca = SCA(label_splines=5).fit(
        scaler.transform(numbers.X), numbers.known, sample_domain=numbers.domain
    )
    Z = sca.transform(scaler.transform(numbers.X))
    ridge = Ridge().fit(Z[numbers.labelled], numbers.y[numbers.labelled])
    assert is_regressor(model)
    expected = ridge.predict(sca.transform(scaler.transform(numbers.X_new)))
    assert_allclose(model.predict(numbers.X_new), expected, rtol=1e-10)
    target = ~numbers.labelled
    assert_allclose(
        model.score(numbers.X[target], numbers.y[target]),
        r2_score(numbers.y[target], ridge.predict(Z[target])),
        rtol=1e-10,
    )


def test_score_is_r2_over_the_labels_that_are_known(numbers):
    model = make_domain_pipeline(SCA(label_splines=5), Ridge())
    model.fit(numbers.X, numbers.known, sample_domain=numbers.domain)
    weight = np.linspace(0, 1, len(numbers.y))
    rows = numbers.labelled
    expected = r2_score(numbers.y[rows], model.predict(numbers.X[rows]), sample_weight=weight[rows])
    assert_allclose(model.score(numbers.X, numbers.known, sample_weight=weight), expected)
    with pytest.raises(ValueError, match="y has no labelled sample to score"):
        model.score(numbers.X, np.full(len(numbers.y), np.nan))


def test_the_regressor_sees_every_number_and_no_unlabelled_sample(numbers):
    whole = np.where(numbers.labelled, np.round(numbers.y), np.nan)
    for features in (SCA(label_splines=5), PCA(2), USCA(2)):
        model = make_domain_pipeline(features, Spy())
        model.fit(numbers.X, whole, sample_domain=numbers.domain)
        assert_array_equal(model[-1].y_, whole[numbers.labelled])
        everyone = np.round(numbers.y)
        model.fit(numbers.X, everyone, sample_domain=numbers.domain)
        assert_array_equal(model[-1].y_, everyone)


def test_a_mask_tells_a_pipeline_which_integers_to_learn_from(numbers):
    y = np.round(numbers.y).astype(int)
    model = make_domain_pipeline(SCA(label_splines=5), Spy())
    with pytest.raises(ValueError, match="y holds integers and -1 among them"):
        model.fit(numbers.X, y)
    model.fit(numbers.X, y, labelled=numbers.labelled)
    assert_array_equal(model[-1].y_, y[numbers.labelled])


@pytest.mark.parametrize("features", [USCA(2), TCA(2), CORAL()], ids=lambda f: type(f).__name__)
def test_features_that_need_no_labels_are_told_who_has_one(features, numbers):
    model = make_domain_pipeline(features, Ridge())
    model.fit(numbers.X, numbers.known, sample_domain=numbers.domain)
    by_hand = clone(features).fit(
        numbers.X, np.where(numbers.labelled, 0.0, np.nan), sample_domain=numbers.domain
    )
    assert_array_equal(model[0].transform(numbers.X), by_hand.transform(numbers.X))


def test_steps_that_learn_from_labels_see_numbers(numbers):
    model = make_domain_pipeline(
        SelectKBest(f_regression, k=2), SCA(label_splines=5), TransformedTargetRegressor(Ridge())
    )
    model.fit(numbers.X, numbers.known, sample_domain=numbers.domain)
    rows = numbers.labelled
    chosen = SelectKBest(f_regression, k=2).fit(numbers.X[rows], numbers.y[rows]).get_support()
    assert_array_equal(model[0].get_support(), chosen)


def test_a_classifier_behind_splines_still_sees_classes(numbers):
    stage = np.where(numbers.labelled, np.digitize(numbers.y, [-3, -1, 1, 3]), -1)
    model = make_domain_pipeline(SCA(label_splines=3), KNeighborsClassifier(1))
    model.fit(numbers.X, stage, sample_domain=numbers.domain)
    assert model.classes_.tolist() == [0, 1, 2, 3, 4]


def test_a_pipeline_that_ends_in_components_reads_numbers(numbers):
    model = make_domain_pipeline(StandardScaler(), SCA(3, label_splines=4))
    Z = model.fit_transform(numbers.X, numbers.known, sample_domain=numbers.domain)
    assert Z.shape == (len(numbers.y), 3)


def test_one_component_finds_a_label_that_the_largest_variance_and_the_domains_hide():
    rng = np.random.default_rng(0)
    y, domain = rng.normal(size=200), np.repeat(["here", "there"], 100)
    X = rng.normal(size=(200, 6)) * [0.1, 5, 5, 5, 5, 5]
    X[:, 0] += 0.5 * y
    X[:, 1] += 30.0 * (domain == "there")
    known = np.where(domain == "here", y, np.nan)
    found = SCA(1, beta=1.0, ridge=1e-6, label_splines=5, kernel="linear")
    found.fit(X, known, sample_domain=domain)
    Z, hidden = found.transform(X)[:, 0], domain == "there"
    assert abs(np.corrcoef(Z[hidden], y[hidden])[0, 1]) > 0.9
    assert abs(Z[hidden].mean() - Z[~hidden].mean()) < 0.2 * Z.std()
    widest = PCA(1).fit_transform(X)[:, 0]
    assert abs(np.corrcoef(widest[hidden], y[hidden])[0, 1]) < 0.2


# --- choosing -------------------------------------------------------------------------------------


@pytest.mark.parametrize("routing", [False, True], ids=["routing off", "routing on"])
def test_cross_validation_leaves_domains_out(routing, numbers):
    model = make_domain_pipeline(StandardScaler(), SCA(label_splines=5), Ridge())
    with sklearn.config_context(enable_metadata_routing=routing):
        given = {} if routing else {"groups": numbers.domain}
        found = cross_validate(
            model,
            numbers.X,
            numbers.known,
            cv=LeaveOneDomainOut(),
            params={"sample_domain": numbers.domain},
            **given,
        )
    by_hand = []
    for place in ("amsterdam", "basel"):
        own = numbers.domain == place
        fitted = clone(model).fit(
            numbers.X[~own], numbers.known[~own], sample_domain=numbers.domain[~own]
        )
        by_hand.append(r2_score(numbers.y[own], fitted.predict(numbers.X[own])))
    assert_allclose(found["test_score"], by_hand)


def test_a_grid_search_chooses_splines_by_r2(numbers):
    model = make_domain_pipeline(SCA(), Ridge())
    search = GridSearchCV(
        model, {"sca__label_splines": [2, 8], "sca__beta": [0.1, 1.0]}, cv=LeaveOneDomainOut()
    )
    search.fit(numbers.X, numbers.known, groups=numbers.domain, sample_domain=numbers.domain)
    scores = search.cv_results_["mean_test_score"]
    assert np.isfinite(scores).all()
    assert search.best_score_ == scores.max()


def test_scacv_says_how_to_choose_for_numbers(numbers):
    with pytest.raises(ValueError, match=r"label_splines.*GridSearchCV"):
        SCACV(SCA(label_splines=5)).fit(numbers.X, numbers.known)


# --- streams and clusters -------------------------------------------------------------------------


@pytest.mark.parametrize("whole", [False, True], ids=["continuous", "whole"])
def test_splines_do_not_stream_and_the_error_says_what_to_do(whole, numbers):
    y = np.round(numbers.known) if whole else numbers.known
    model = SCA(kernel="linear", label_splines=5)
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError) as error:
        model.partial_fit(numbers.X, y)
    assert "label_splines" in str(error.value.__cause__)
    with pytest.raises(TypeError, match=r"label_splines.*bin_labels"):
        fit_chunks(model, ArrayChunks(numbers.X, y, numbers.domain))


def test_dask_collections_refuse_splines_and_regressors_and_take_predictions(numbers, require):
    array = require("dask.array", "dask")
    X, y = array.from_array(numbers.X, chunks=(50, 5)), array.from_array(numbers.known, chunks=50)
    for model in (
        SCA(kernel="linear", label_splines=5),
        make_domain_pipeline(SCA(kernel="linear", label_splines=5)),
    ):
        with pytest.raises((TypeError, ValueError), match=r"label_splines.*bin_labels"):
            model.fit(X, y)
    model = make_domain_pipeline(SCA(label_splines=5), Ridge())
    with pytest.raises(TypeError, match="label_splines"):
        model.fit(X, y)
    with pytest.raises(TypeError, match="the last step is a regressor"):
        make_domain_pipeline(StandardScaler(), SGDRegressor()).fit(X, y)
    model.fit(numbers.X, numbers.known, sample_domain=numbers.domain)
    assert_allclose(model.predict(X).compute(), model.predict(numbers.X))
    assert_allclose(model.score(X, y), model.score(numbers.X, numbers.known))
