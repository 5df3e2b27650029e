"""Unbiased metric learning: the loss by loops over triplets, and what the metric is made to see."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import check_grad
from sklearn.decomposition import PCA
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from skatter.domains import read_domains
from skatter.methods import UML
from skatter.methods._uml import (
    TripletLoss,
    nearest_impostors,
    rounded_hinge,
    target_neighbours,
    target_weights,
    union,
)


def problem(seed=0, n_sets=3, n_classes=3, n=12, p=5):
    """Classes along the first features; class 2 is absent from data set 1."""
    rng = np.random.default_rng(seed)
    site = np.repeat(np.arange(n_sets), n)
    y = rng.integers(n_classes, size=len(site))
    y[(site == 1) & (y == 2)] = 0
    X = rng.normal(size=(len(site), p)) + 1.5 * rng.normal(size=(n_classes, p))[y]
    X[:, -1] += 2 * site
    return X, y, site


def fit(model, case):
    X, y, site = case
    return model.fit(X, y, sample_domain=site)


def hinge(u):
    return 0 if u <= 0 else u**2 / 2 if u <= 1 else u - 0.5


def triplets(case, k, J, own_weight, M):
    """All (w, d(q, i), d(q, j)) by sorting distances, sample by sample."""
    X, y, site = case
    sets = np.unique(site)
    input_space = euclidean_distances(X, squared=True)
    learnt = np.array([[(a - b) @ M @ (a - b) for b in X] for a in X])
    found = []
    for q in range(len(X)):
        impostors = sorted(learnt[q, j] for j in range(len(X)) if y[j] != y[q])[:J]
        for d in sets:
            if len(sets) == 1:
                weight = 1
            else:
                weight = own_weight if d == site[q] else (1 - own_weight) / (len(sets) - 1)
            same = [i for i in range(len(X)) if i != q and y[i] == y[q] and site[i] == d]
            for i in sorted(same, key=lambda i: input_space[q, i])[:k]:
                found += [(weight, learnt[q, i], away) for away in impostors]
    return found


def slow_loss(*args):
    found = triplets(*args)
    return sum(w * hinge(1 + i - j) for w, i, j in found) / sum(w for w, _, _ in found)


def parts(case, k, own_weight):
    X, y, site = case
    domains = read_domains(y, site)
    rows = target_neighbours(X, domains, k)
    return rows, target_weights(rows, domains.domain, domains.n_domains, own_weight)


def metric(model):
    return model.components_.T @ model.components_


# --- the loss -------------------------------------------------------------------------------------


@pytest.mark.parametrize("own_weight", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("J", [2, 100])
def test_the_loss_is_the_mean_over_triplets_of_all_data_sets(own_weight, J):
    case = problem()
    X, y, _ = case
    A = 0.5 * np.random.default_rng(1).normal(size=(3, 5))
    near = nearest_impostors(X @ A.T, y, J)
    value, _ = TripletLoss(X, parts(case, 2, own_weight), near, J, reg=0.0)(A)
    assert_allclose(value, slow_loss(case, 2, J, own_weight, A.T @ A), rtol=1e-12)


def test_with_one_data_set_the_loss_is_the_push_of_lmnn_and_a_trace():
    """Weinberger and Saul's ε_push, with a rounded hinge, for the k target neighbours."""
    X, y, _ = problem(2)
    k, J, reg = 3, 4, 0.7
    A = 0.4 * np.random.default_rng(1).normal(size=(2, 5))
    Z = X @ A.T
    losses = []
    for q in range(len(X)):
        same = np.flatnonzero((y == y[q]) & (np.arange(len(X)) != q))
        targets = same[np.argsort(np.sum((X[same] - X[q]) ** 2, axis=1))[:k]]
        away = np.sort(np.sum((Z[y != y[q]] - Z[q]) ** 2, axis=1))[:J]
        losses += [hinge(1 + np.sum((Z[i] - Z[q]) ** 2) - d) for i in targets for d in away]
    everyone = (X, y, np.zeros(len(X), dtype=int))
    for own_weight in (0.0, 1.0):
        loss = TripletLoss(X, parts(everyone, k, own_weight), nearest_impostors(Z, y, J), J, reg)
        value, _ = loss(A)
        assert_allclose(value, np.mean(losses) + reg * np.trace(A.T @ A) / 2, rtol=1e-12)


def test_without_own_weight_neighbours_of_the_own_data_set_do_not_count():
    X, y, site = case = problem(3)
    rows, weights = parts(case, 2, 0.0)
    own = site[rows] == site[:, None]
    assert (weights[own] == 0).all()
    assert (weights[~own] == 0.5).all()
    A = np.eye(5)
    near = nearest_impostors(X, y, 4)
    across, _ = TripletLoss(X, (np.where(own, rows[::-1], rows), weights), near, 4, 0.0)(A)
    value, _ = TripletLoss(X, (rows, weights), near, 4, 0.0)(A)
    assert value == across > 0


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_the_derivative_agrees_with_finite_differences(make):
    case = problem(4)
    X, y, _ = case
    rng = np.random.default_rng(0)
    targets, candidates = parts(case, 2, 0.3), nearest_impostors(X, y, 12)
    loss = TripletLoss(make(X), targets, candidates, 5, reg=0.3)
    for scale in (0.1, 0.5):
        A = scale * rng.normal(size=(3, 5))
        error = check_grad(
            lambda a: loss(a.reshape(3, 5))[0],
            lambda a: loss(a.reshape(3, 5))[1].ravel(),
            A.ravel(),
            epsilon=1e-7,
        )
        assert error < 1e-6 * np.linalg.norm(loss(A)[1])


def test_the_slope_of_the_hinge_is_its_derivative_and_has_no_jump():
    u = np.linspace(-1, 3, 401)
    value, slope = rounded_hinge(u)
    assert_allclose(value, [hinge(v) for v in u], atol=1e-15)
    assert_allclose(slope[1:-1], (value[2:] - value[:-2]) / 0.02, atol=3e-3)
    assert np.abs(np.diff(slope)).max() < 0.0101


def test_the_nearest_impostors_are_those_of_the_largest_loss():
    """The objective is a maximum over choices: no list of candidates gives more."""
    case = problem(5)
    X, y, _ = case
    A, J = np.eye(5) / 2, 3
    targets = parts(case, 2, 0.5)
    nearest = nearest_impostors(X @ A.T, y, J)
    everyone = nearest_impostors(X, y, len(X))
    highest, _ = TripletLoss(X, targets, nearest, J, 0.0)(A)
    assert_allclose(TripletLoss(X, targets, everyone, J, 0.0)(A)[0], highest, rtol=1e-14)
    rng = np.random.default_rng(0)
    for _ in range(5):
        chosen = np.array([rng.choice(np.flatnonzero(y != label), J, replace=False) for label in y])
        assert TripletLoss(X, targets, chosen, J, 0.0)(A)[0] < highest
        more = union(nearest, chosen)
        assert_allclose(TripletLoss(X, targets, more, J, 0.0)(A)[0], highest, rtol=1e-14)


def test_a_union_has_every_row_number_once():
    rng = np.random.default_rng(0)
    a, b = rng.integers(9, size=(2, 9, 4))
    for q, row in enumerate(union(a, b)):
        expected = set(a[q]) | set(b[q])
        assert set(row) - {q} == expected - {q}
        others = row[row != q]
        assert len(others) == len(set(others))


# --- the fitted metric ----------------------------------------------------------------------------


@pytest.mark.parametrize("n_sets", [1, 3])
def test_the_lowest_objective_is_that_of_the_metric_that_is_kept(n_sets):
    """In the user's own units, with M₀ the scaled projection on principal axes."""
    case = X, _, _ = problem(6, n_sets=n_sets, n=30 // n_sets)
    setting = {"n_neighbors": 2, "n_impostors": 4, "own_weight": 0.3}
    model = fit(UML(2, reg=0.05, **setting), case)
    axes = PCA(2).fit(X).components_
    projection = axes.T @ axes
    start = triplets(case, 2, 1, 0.3, projection)
    unit = sum(w * i for w, i, _ in start) / sum(w for w, _, _ in start)
    penalty = 0.05 * np.trace(metric(model)) / (np.trace(projection) / unit)
    expected = slow_loss(case, 2, 4, 0.3, metric(model)) + penalty
    assert_allclose(min(model.objective_), expected, rtol=1e-9)
    assert expected < slow_loss(case, 2, 4, 0.3, projection / unit) + 0.05


FEW = {"n_impostors": 3, "reg": 0.01, "tol": 0}


def overlapping():
    X, y, site = problem(2, n=20)
    return X + 2 * np.eye(3, 5)[y] * [1, 1, 0, 0, 0], y, site


def test_impostors_that_were_met_once_are_remembered_so_that_rounds_settle(monkeypatch):
    remembered = fit(UML(2, max_iter=6, **FEW), overlapping()).objective_
    assert (np.diff(remembered) < 1e-9).all()
    assert_allclose(remembered[-1], remembered[-2], rtol=1e-3)
    monkeypatch.setattr("skatter.methods._uml.union", lambda known, nearest: nearest)
    assert min(fit(UML(2, max_iter=6, **FEW), overlapping()).objective_) > 1.2 * remembered[-1]


def test_the_metric_of_the_best_round_is_kept_where_the_objective_rises(monkeypatch):
    monkeypatch.setattr("skatter.methods._uml.union", lambda known, nearest: nearest)
    model = fit(UML(2, max_iter=6, **FEW), overlapping())
    best = int(np.argmin(model.objective_))
    assert best < 5
    stopped = fit(UML(2, max_iter=best + 1, **FEW), overlapping())
    assert_array_equal(model.components_, stopped.components_)


def test_euclidean_distances_of_features_are_the_learnt_ones():
    case = X, _, _ = problem(7)
    model = fit(UML(3), case)
    M = metric(model)
    expected = [[(a - b) @ M @ (a - b) for b in X] for a in X]
    actual = euclidean_distances(model.transform(X), squared=True)
    assert_allclose(actual, expected, rtol=1e-9, atol=1e-10)


def test_features_are_uncorrelated_and_those_of_most_variance_come_first():
    case = X, _, _ = problem(8)
    model = fit(UML(), case)
    covariance = np.cov(model.transform(X).T)
    variances = np.diag(covariance)
    assert_allclose(covariance, np.diag(variances), atol=1e-10 * variances[0])
    assert (np.diff(variances) <= 0).all()
    largest = np.abs(model.components_).argmax(axis=1)
    assert (model.components_[np.arange(model.n_components_), largest] > 0).all()
    assert_allclose(model.transform(X).mean(axis=0), 0, atol=1e-12)


@pytest.mark.parametrize("own_weight", [0.0, 1.0])
def test_with_one_data_set_the_own_weight_counts_as_one(own_weight):
    X, y, _ = problem(9)
    alone = np.zeros(len(X), dtype=int)
    expected = UML().fit(X, y, sample_domain=alone).transform(X)
    model = UML(own_weight=own_weight).fit(X, y, sample_domain=alone)
    assert_array_equal(model.transform(X), expected)


def test_with_one_data_set_nearest_neighbours_stop_looking_at_noise():
    rng = np.random.default_rng(0)
    y = np.arange(150) % 3
    X = np.hstack([rng.normal(size=(150, 2)), 3 * rng.normal(size=(150, 8))])
    X[:, :2] += 4 * np.array([[0, 0], [1, 0], [0, 1]])[y]
    train, new = np.arange(150) < 100, np.arange(150) >= 100
    model = UML(2).fit(X[train], y[train], sample_domain=np.zeros(100, dtype=int))
    classifier = KNeighborsClassifier(1)
    before = classifier.fit(X[train], y[train]).score(X[new], y[new])
    Z = model.transform(X)
    after = classifier.fit(Z[train], y[train]).score(Z[new], y[new])
    assert after > before + 0.1
    assert np.abs(model.components_[:, :2]).max() > 5 * np.abs(model.components_[:, 2:]).max()


def shifted(seed=0, n=40):
    """Feature 0 tells the classes apart, feature 1 does so too, but moves with the data set."""
    rng = np.random.default_rng(seed)
    site, y = np.repeat([0, 1, 2], n), np.arange(3 * n) % 2
    X = rng.normal(size=(3 * n, 4))
    X[:, 0] += 2 * y
    X[:, 1] += 3 * y + 3 * site
    return X, y, site


def test_the_smaller_the_own_weight_the_less_the_shift_between_data_sets_is_seen():
    shares = []
    for own_weight in (0.0, 0.5, 1.0):
        M = metric(fit(UML(own_weight=own_weight), shifted()))
        shares.append(M[1, 1] / np.trace(M))
    assert shares[0] < shares[1] < shares[2]
    assert shares[0] < 0.3 * shares[2]


def test_a_metric_that_looks_across_data_sets_serves_a_new_one_better():
    X, y, site = shifted(1)
    rng = np.random.default_rng(2)
    new_y = np.arange(100) % 2
    new = rng.normal(size=(100, 4))
    new[:, 0] += 2 * new_y
    new[:, 1] += 3 * new_y - 4.5
    accuracy = {}
    for own_weight in (0.0, 1.0):
        model = UML(own_weight=own_weight).fit(X, y, sample_domain=site)
        classifier = KNeighborsClassifier(5).fit(model.transform(X), y)
        accuracy[own_weight] = classifier.score(model.transform(new), new_y)
    assert accuracy[0.0] > accuracy[1.0] + 0.1


def test_a_larger_penalty_makes_the_trace_smaller():
    case = problem(10, n=20)
    traces = [np.trace(metric(fit(UML(reg=reg), case))) for reg in (0.01, 0.1, 1.0)]
    assert traces[0] > 1.2 * traces[1]
    assert traces[1] > 1.2 * traces[2] > 0


def test_a_penalty_that_leaves_no_metric_is_named():
    case = problem(10)
    with pytest.warns(UserWarning, match=r"reg=50 .* no metric at all.*smaller reg"):
        fit(UML(reg=50.0), case)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit(UML(), case)


def test_where_classes_overlap_a_metric_needs_more_than_the_nearest_impostors():
    rng = np.random.default_rng(0)
    y, site = np.arange(240) % 3, np.repeat([0, 1, 2], 80)
    X = rng.normal(size=(240, 3))
    X[:, 0] += y
    with pytest.warns(UserWarning, match=r"n_impostors=1 .* more impostors"):
        nothing = UML(n_impostors=1).fit(X, y, sample_domain=site)
    assert np.trace(metric(nothing)) < 1e-6
    assert np.trace(metric(UML().fit(X, y, sample_domain=site))) > 0.1


def test_a_class_of_one_data_set_has_no_targets_elsewhere_and_is_an_impostor_everywhere():
    X, y, site = problem(11)
    y = np.where(site == 0, y, np.minimum(y, 1))
    _, weights = parts((X, y, site), 3, 0.0)
    assert not weights[y == 2].any()
    moved = X + 0.5 * (y == 2)[:, None]
    models = [UML(own_weight=0.0).fit(Z, y, sample_domain=site) for Z in (X, moved)]
    assert not np.allclose(metric(models[0]), metric(models[1]), rtol=1e-2)


# --- invariances ----------------------------------------------------------------------------------


def test_units_and_origin_do_not_matter():
    case = X, y, site = problem(12)
    expected = fit(UML(), case).transform(X)
    for change in (lambda X: 1e-6 * X, lambda X: 1e4 * X, lambda X: X + 100):
        actual = UML().fit(change(X), y, sample_domain=site).transform(change(X))
        assert_allclose(actual, expected, atol=1e-5 * np.abs(expected).max())


def test_a_rotation_of_the_features_does_not_matter():
    case = X, y, site = problem(13)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))[0]
    expected = euclidean_distances(fit(UML(3), case).transform(X))
    turned = euclidean_distances(UML(3).fit(X @ turn, y, sample_domain=site).transform(X @ turn))
    assert_allclose(turned, expected, atol=1e-5 * expected.max())


@pytest.mark.parametrize("p", [5, 80])
def test_sparse_samples_and_many_features_are_searched_in_other_coordinates_for_the_same(p):
    """Dense samples with p > n are turned to their span, sparse ones are left as they are."""
    X, y, site = problem(14, p=p)
    X = np.where(np.abs(X) > 0.7, X, 0)
    dense = UML(4).fit(X, y, sample_domain=site)
    filled = UML(4).fit(sparse.csr_array(X), y, sample_domain=site)
    expected = dense.transform(X)
    tolerance = {"atol": 1e-5 * np.abs(expected).max()}
    assert_allclose(filled.transform(sparse.csr_array(X)), expected, **tolerance)
    assert_allclose(filled.objective_, dense.objective_, rtol=1e-6)


def test_ties_do_not_make_the_order_of_samples_matter():
    X, y, site = problem(15, n=20, p=3)
    X = np.round(X)
    assert len(np.unique(X, axis=0)) < len(X)
    mixed = np.random.default_rng(0).permutation(len(X))
    a = UML().fit(X, y, sample_domain=site)
    b = UML().fit(X[mixed], y[mixed], sample_domain=site[mixed])
    assert_array_equal(a.components_, b.components_)
    assert a.objective_ == b.objective_


def test_neighbours_that_coincide_leave_a_scale():
    X = np.repeat(np.random.default_rng(0).normal(size=(3, 4)), 8, axis=0)
    y = np.repeat([0, 1, 2], 8)
    model = UML(n_neighbors=2).fit(X, y, sample_domain=np.tile([0, 1], 12))
    Z = model.transform(X)
    assert np.isfinite(Z).all()
    assert cross_val_score(KNeighborsClassifier(1), Z, y, cv=4).min() == 1


# --- limits ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("n_neighbors", 0, ValueError),
        ("n_neighbors", 2.5, TypeError),
        ("n_impostors", 0, ValueError),
        ("own_weight", -0.1, ValueError),
        ("own_weight", 1.1, ValueError),
        ("own_weight", "half", TypeError),
        ("reg", -1.0, ValueError),
        ("reg", np.nan, ValueError),
    ],
)
def test_parameters_out_of_range_are_named(name, value, error):
    with pytest.raises(error, match=rf"{name} must .*{value!r}"):
        fit(UML(**{name: value}), problem())


def test_more_components_than_dimensions_are_refused():
    X, y, site = problem()
    with pytest.raises(ValueError, match=r"n_components=6 exceeds .* at most 5 here"):
        UML(6).fit(X, y, sample_domain=site)
    flat = np.hstack([X[:, :2], X[:, :2] @ np.ones((2, 3))])
    with pytest.raises(ValueError, match=r"n_components=4 exceeds .* at most 2 here"):
        UML(4).fit(flat, y, sample_domain=site)
    assert UML().fit(flat, y, sample_domain=site).n_components_ == 2


def test_a_single_class_is_refused():
    X, _, site = problem()
    with pytest.raises(ValueError, match=r"at least two classes, got 1 class \(cat\)"):
        UML().fit(X, np.full(len(X), "cat"), sample_domain=site)


def test_samples_of_which_no_two_can_be_drawn_together_are_refused():
    X, y, site = np.eye(4), [0, 1, 0, 1], [0, 0, 1, 1]
    assert UML(own_weight=0.0).fit(X, y, sample_domain=site).n_components_ == 3
    with pytest.raises(ValueError, match=r"no two .* own_weight=1\b.*more than one of a class"):
        UML(own_weight=1.0).fit(X, y, sample_domain=site)


def test_samples_that_coincide_are_refused():
    with pytest.raises(ValueError, match="All samples coincide"):
        UML().fit(np.ones((6, 3)), np.arange(6) % 2, sample_domain=np.zeros(6, dtype=int))
