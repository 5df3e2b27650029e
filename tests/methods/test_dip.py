"""DIP and DIP-CC: the objective and its gradient, the minimum, and what follows from them."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import subspace_angles
from scipy.spatial.distance import cdist, pdist
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from skatter.methods._dip import BLOCK, DIP, DIPCC, ClassSpread, Discrepancy
from skatter.scatter import mmd

BOTH = pytest.mark.parametrize("estimator", [DIP, DIPCC])
TIGHT = {"tol": 1e-15, "max_iter": 3000}


class Shifted:
    """Classes and a shift in random directions; one source (1) and one target (-2)."""

    def __init__(self, seed=0, n=60, p=6, shift=1.5):
        rng = np.random.default_rng(seed)
        self.truth = np.arange(n) % 3
        self.domain = np.where(rng.uniform(size=n) < 0.6, 1, -2)
        self.X = rng.normal(size=(n, p)) * np.linspace(2, 1, p)
        self.X += 2 * rng.normal(size=(3, p))[self.truth]
        self.X[self.domain < 0] += shift * rng.normal(size=p)
        self.y = np.where(self.domain > 0, self.truth, -1)
        self.new = rng.normal(size=(5, p))

    @property
    def e(self):
        source = self.domain > 0
        return source / source.sum() - ~source / np.sum(~source)

    def fit(self, model, **changes):
        given = {"X": self.X, "y": self.y, "sample_domain": self.domain, **changes}
        return model.fit(given.pop("X"), given.pop("y"), **given)


@pytest.fixture
def data():
    return Shifted()


def value(W, case, sigma, weight=0.0):
    """The objective as it is printed, term by term."""
    Z = case.X @ W
    K = np.exp(-cdist(Z, Z, "sqeuclidean") / sigma)
    spread = sum(
        np.sum((Z[case.y == c] - Z[case.y == c].mean(axis=0)) ** 2)
        for c in np.unique(case.y[case.y >= 0])
    )
    return case.e @ K @ case.e + weight * spread


def gradient(W, case, sigma, weight=0.0):
    """4 Xᵀ(diag(A1) − A) X W + 2 λ S_w W with A_ij = −K_ij e_i e_j/σ."""
    Z = case.X @ W
    A = -np.exp(-cdist(Z, Z, "sqeuclidean") / sigma) * np.outer(case.e, case.e) / sigma
    S = np.zeros((case.X.shape[1],) * 2)
    for c in np.unique(case.y[case.y >= 0]):
        own = case.X[case.y == c]
        S += np.cov(own.T, bias=True) * len(own)
    return 4 * case.X.T @ (np.diag(A.sum(axis=1)) - A) @ Z + 2 * weight * S @ W


def slow_descent(case, d, sigma, weight=0.0):
    """Steepest descent with Armijo's rule, retracted by QR, from the first principal axes."""
    W, step = PCA(d).fit(case.X).components_.T, 1.0
    for _ in range(20000):
        here, g = value(W, case, sigma, weight), gradient(W, case, sigma, weight)
        g -= W @ (W.T @ g)
        if np.linalg.norm(g) < 1e-9:
            break
        step *= 2
        while value(np.linalg.qr(W - step * g)[0], case, sigma, weight) > here - (
            0.3 * step * np.vdot(g, g)
        ):
            step /= 2
            if step < 1e-12:
                return W
        W = np.linalg.qr(W - step * g)[0]
    return W


def weight_of(model, case):
    """The factor of the plain sum of squares in what a model minimises."""
    lam = getattr(model, "lam", 0.0)
    return lam / (np.sum(case.y >= 0) * model.sigma_)


def central_difference(f, Z, h=1e-5):
    out = np.zeros_like(Z)
    for index in np.ndindex(Z.shape):
        step = np.zeros_like(Z)
        step[index] = h
        out[index] = (f(Z + step) - f(Z - step)) / (2 * h)
    return out


# --- objective and gradient ---------------------------------------------------------------------


def test_the_derivative_of_the_discrepancy_is_that_of_finite_differences(data):
    Z = data.X[:, :3]
    term = Discrepancy(data.e, 7.0)
    assert_allclose(term(Z)[1], central_difference(lambda Z: term(Z)[0], Z), atol=1e-10)


def test_the_derivative_of_the_class_spread_is_that_of_finite_differences(data):
    Z = data.X[:, :3]
    term = ClassSpread(data.y, 0.3)
    assert_allclose(term(Z)[1], central_difference(lambda Z: term(Z)[0], Z), atol=1e-8)


@pytest.mark.parametrize("n", [60, BLOCK, BLOCK + 1, 2 * BLOCK + 37])
def test_value_and_gradient_are_the_printed_ones_however_many_blocks_there_are(n):
    case = Shifted(1, n=n)
    W = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 2)))[0]
    Z = case.X @ W
    (mmd2, by_mmd), (spread, by_spread) = Discrepancy(case.e, 9.0)(Z), ClassSpread(case.y, 0.2)(Z)
    assert_allclose(mmd2, value(W, case, 9.0), rtol=1e-10)
    assert_allclose(spread, value(W, case, 9.0, 0.2) - value(W, case, 9.0), rtol=1e-10)
    expected = gradient(W, case, 9.0, 0.2)
    assert_allclose(case.X.T @ (by_mmd + by_spread), expected, atol=1e-10 * np.abs(expected).max())


def test_rounding_makes_no_kernel_value_larger_than_one():
    Z = 1e3 * np.random.default_rng(0).normal(size=(40, 3))
    weights = np.random.default_rng(1).normal(size=40)
    assert Discrepancy(weights, 1e-9)(Z)[0] <= np.sum(weights**2) * (1 + 1e-15)


def test_a_class_seen_once_and_samples_without_a_class_have_no_spread():
    Z = np.array([[0.0], [4.0], [1.0], [3.0], [50.0]])
    total, derivative = ClassSpread(np.array([0, 1, 2, 2, -1]), 1.0)(Z)
    assert total == 2.0
    assert_array_equal(derivative.ravel(), [0, 0, -2, 2, 0])


@BOTH
def test_the_last_objective_is_that_of_what_was_learnt(estimator, data):
    model = data.fit(estimator(3))
    actual = value(model.components_.T, data, model.sigma_, weight_of(model, data))
    assert_allclose(model.objective_[-1], actual, rtol=1e-10)


def test_the_objective_of_dip_is_the_discrepancy_of_the_features(data):
    model = data.fit(DIP(3))
    Z = model.transform(data.X)
    result = mmd(Z[data.domain > 0], Z[data.domain < 0], gamma=1 / model.sigma_)
    assert_allclose(model.objective_[-1], result.value, rtol=1e-10)


# --- the minimum --------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("seed", range(3))
def test_a_slow_descent_comes_to_the_same_subspace(estimator, seed):
    case = Shifted(seed, n=40, p=5)
    model = case.fit(estimator(2, **TIGHT))
    W = slow_descent(case, 2, model.sigma_, weight_of(model, case))
    assert_allclose(
        model.objective_[-1], value(W, case, model.sigma_, weight_of(model, case)), rtol=1e-8
    )
    assert subspace_angles(W, model.components_.T).max() < 1e-4


@BOTH
def test_no_direction_leads_further_down(estimator, data):
    model = data.fit(estimator(2, **TIGHT))
    W = model.components_.T
    g = gradient(W, data, model.sigma_, weight_of(model, data))
    start = gradient(PCA(2).fit(data.X).components_.T, data, model.sigma_, weight_of(model, data))
    assert np.linalg.norm(g - W @ (W.T @ g)) < 1e-5 * np.linalg.norm(start)


@BOTH
def test_the_objective_never_rises_and_ends_below_that_of_the_principal_axes(estimator, data):
    model = data.fit(estimator(3, tol=0, max_iter=60))
    assert len(model.objective_) == model.n_iter_ == 60
    assert np.diff(model.objective_).max() <= 0
    first = value(PCA(3).fit(data.X).components_.T, data, model.sigma_, weight_of(model, data))
    assert model.objective_[0] < first
    assert model.objective_[-1] < 0.5 * first


@BOTH
@pytest.mark.parametrize("p", [6, 150])
def test_directions_are_orthonormal_uncorrelated_and_sorted_by_variance(estimator, p):
    case = Shifted(2, p=p)
    model = case.fit(estimator(4))
    assert_allclose(model.components_ @ model.components_.T, np.eye(4), atol=1e-12)
    Z = model.transform(case.X)
    covariance = np.cov(Z.T)
    assert_allclose(covariance, np.diag(np.diag(covariance)), atol=1e-10 * covariance[0, 0])
    assert np.diff(np.diag(covariance)).max() <= 0
    largest = np.abs(model.components_).argmax(axis=1)
    assert (model.components_[np.arange(4), largest] > 0).all()
    assert_allclose(Z, (case.X - case.X.mean(axis=0)) @ model.components_.T, atol=1e-12)


@BOTH
def test_a_tight_tolerance_is_met_after_more_iterations_and_lower(estimator, data):
    early, late = (data.fit(estimator(2, tol=tol, max_iter=500)) for tol in (1e-1, 1e-6))
    assert early.n_iter_ < late.n_iter_ < 500
    assert late.objective_[-1] < early.objective_[-1]
    assert_array_equal(late.objective_[: early.n_iter_], early.objective_)


@BOTH
def test_directions_are_orthonormal_where_variances_differ_by_many_orders(estimator):
    case = Shifted(2, n=30, p=80)
    model = case.fit(estimator(20), X=case.X * np.geomspace(1, 1e-12, 80))
    assert_allclose(model.components_ @ model.components_.T, np.eye(20), atol=1e-12)


# --- what it does -------------------------------------------------------------------------------


def test_the_direction_of_the_shift_is_projected_away():
    rng = np.random.default_rng(0)
    domain = np.repeat([1, -2], 200)
    X = rng.normal(size=(400, 8)) * [4, 3, 3, 2, 2, 1, 1, 1]
    shift = np.linalg.qr(rng.normal(size=(8, 1)))[0].ravel()
    X[domain < 0] += 8 * shift
    model = DIP(4).fit(X, sample_domain=domain)
    assert np.linalg.norm(PCA(4).fit(X).components_ @ shift) > 0.8
    assert np.linalg.norm(model.components_ @ shift) < 0.05


def test_class_clustering_shrinks_the_spread_within_classes(data):
    def spread(model):
        return ClassSpread(data.y, 1.0)(data.fit(model).transform(data.X))[0]

    values = [spread(DIP(2))] + [spread(DIPCC(2, lam=lam)) for lam in (0.1, 1.0, 10.0)]
    assert np.diff(values).max() < 0


def test_the_largest_weight_leaves_the_directions_of_least_spread(data):
    model = data.fit(DIPCC(2, lam=1e9, **TIGHT))
    S = sum(np.cov(data.X[data.y == c].T, bias=True) * np.sum(data.y == c) for c in range(3))
    least = np.linalg.eigh(S)[1][:, :2]
    assert subspace_angles(model.components_.T, least).max() < 1e-5


def test_no_weight_is_dip_to_the_bit(data):
    assert_array_equal(data.fit(DIPCC(3, lam=0.0)).components_, data.fit(DIP(3)).components_)


def test_the_sum_of_the_paper_is_the_mean_in_other_units(data):
    mean = data.fit(DIPCC(2, lam=0.7))
    total = data.fit(DIPCC(2, lam=weight_of(mean, data), normalize=False))
    assert_allclose(total.components_, mean.components_, atol=1e-9)
    assert_allclose(total.objective_, mean.objective_)


def test_labels_do_not_matter_to_dip(data):
    unnamed = data.fit(DIP(2), y=None)
    assert_array_equal(unnamed.components_, data.fit(DIP(2)).components_)


def test_labels_of_the_target_do_not_matter_to_the_classes(data):
    model = data.fit(DIPCC(2), y=data.truth)
    assert_array_equal(model.components_, data.fit(DIPCC(2)).components_)


def test_unlabelled_samples_of_a_source_count_in_the_discrepancy_alone(data):
    known = data.y.copy()
    hidden = np.flatnonzero(known >= 0)[:10]
    known[hidden] = -1
    model = data.fit(DIPCC(2), y=known)
    case = Shifted()
    case.y = known
    actual = value(model.components_.T, case, model.sigma_, weight_of(model, case))
    assert_allclose(model.objective_[-1], actual, rtol=1e-10)


@BOTH
def test_several_sources_are_pooled(estimator, data):
    several = np.where(data.domain < 0, -2, np.arange(len(data.y)) % 3)
    split = data.fit(estimator(3), sample_domain=several)
    assert_array_equal(split.components_, data.fit(estimator(3)).components_)
    assert_array_equal(split.source_ids_, [0, 1, 2])


# --- invariances --------------------------------------------------------------------------------


@BOTH
def test_every_sample_twice_changes_nothing(estimator, data):
    once = data.fit(estimator(3))
    given = {"y": np.tile(data.y, 2), "sample_domain": np.tile(data.domain, 2)}
    twice = estimator(3).fit(np.tile(data.X, (2, 1)), **given)
    assert_allclose(twice.sigma_, once.sigma_)
    assert_allclose(twice.objective_, once.objective_, rtol=1e-8)
    assert_allclose(twice.components_, once.components_, atol=1e-8)


@BOTH
def test_units_do_not_matter(estimator, data):
    model, other = data.fit(estimator(3)), data.fit(estimator(3), X=1e4 * data.X)
    assert_allclose(other.objective_, model.objective_, rtol=1e-8)
    assert_allclose(other.components_, model.components_, atol=1e-8)


@BOTH
def test_a_rotation_and_a_shift_of_the_inputs_do_not_matter(estimator, data):
    rng = np.random.default_rng(1)
    Q, _ = np.linalg.qr(rng.normal(size=(6, 6)))
    Z = data.fit(estimator(3)).transform(data.X)
    moved = data.X @ Q + 10
    Y = data.fit(estimator(3), X=moved).transform(moved)
    assert_allclose(Y * np.sign(np.sum(Y * Z, axis=0)), Z, atol=1e-8)


@BOTH
def test_with_more_features_than_samples_the_directions_are_in_the_span_of_the_samples(estimator):
    case = Shifted(3, n=30, p=80)
    model = case.fit(estimator(4))
    span = np.linalg.svd(case.X - case.X.mean(axis=0))[2][:29].T
    inside = model.components_ @ span
    assert_allclose(np.linalg.norm(inside, axis=1), 1, rtol=1e-10)
    few = (case.X - case.X.mean(axis=0)) @ span
    Z, Y = model.transform(case.X), case.fit(estimator(4), X=few).transform(few)
    assert_allclose(Y * np.sign(np.sum(Y * Z, axis=0)), Z, atol=1e-7)


# --- no shift -----------------------------------------------------------------------------------


def test_two_equal_domains_leave_the_principal_axes_and_stop_at_once(data):
    X, domain = np.vstack([data.X, data.X]), np.repeat([1, -2], len(data.X))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = DIP(3).fit(X, sample_domain=domain)
    assert model.n_iter_ == 1
    assert abs(model.objective_[0]) < 1e-15
    assert_allclose(np.abs(model.components_), np.abs(PCA(3).fit(X).components_), atol=1e-9)


def test_a_sample_without_domains_leaves_the_principal_axes(data):
    with pytest.warns(UserWarning, match="sees no target"):
        model = DIP(3).fit(data.X, data.truth)
    assert model.objective_ == [0.0]
    assert_allclose(np.abs(model.components_), np.abs(PCA(3).fit(data.X).components_), atol=1e-9)


# --- parameters ---------------------------------------------------------------------------------


def test_the_bandwidth_is_the_median_of_the_first_principal_components(data):
    Z = PCA(3).fit_transform(data.X)
    assert_allclose(data.fit(DIP(3)).sigma_, np.median(pdist(Z, "sqeuclidean")), rtol=1e-10)


def test_a_given_bandwidth_is_used(data):
    model = data.fit(DIP(3, sigma=2))
    assert model.sigma_ == 2.0
    assert_allclose(model.objective_[-1], value(model.components_.T, data, 2.0), rtol=1e-10)


@BOTH
def test_the_default_dimension_is_twenty_or_one_less_than_the_rank(estimator):
    for n, p, expected in [(60, 40, 20), (60, 6, 5), (12, 40, 10), (60, 1, 1)]:
        assert Shifted(n=n, p=p).fit(estimator()).n_components_ == expected


@BOTH
def test_a_dimension_that_leaves_no_choice_is_refused(estimator, data):
    X = np.hstack([data.X, data.X[:, :1] + data.X[:, 1:2], np.ones((60, 1))])
    message = r"n_components=6 exceeds .* at most 5 here .*rank 6.*Choose fewer"
    with pytest.raises(ValueError, match=message):
        data.fit(estimator(6), X=X)
    assert data.fit(estimator(5), X=X).n_components_ == 5


@BOTH
def test_samples_that_all_coincide_are_refused(estimator, data):
    with pytest.raises(ValueError, match="All samples coincide"):
        data.fit(estimator(), X=np.full_like(data.X, 3.0))


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"sigma": 0}, ValueError, r"sigma must lie in \(0"),
        ({"sigma": None}, TypeError, "sigma must be a number, got None"),
        ({"sigma": "mean"}, ValueError, "sigma must be 'median' or a number, got 'mean'"),
        ({"lam": -1.0}, ValueError, r"lam must lie in \[0"),
        ({"lam": "much"}, TypeError, "lam must be a number, got 'much'"),
        ({"normalize": "yes"}, ValueError, "normalize must be one of True, False, got 'yes'"),
        ({"verbose": -1}, ValueError, "verbose must be at least 0"),
    ],
)
def test_parameters_out_of_range_are_named(data, params, error, message):
    with pytest.raises(error, match=message):
        data.fit(DIPCC(2, **params))


def test_class_clustering_needs_labels_in_a_source(data):
    with pytest.raises(ValueError, match="DIPCC needs labels in a source domain"):
        data.fit(DIPCC(2), y=np.where(data.domain < 0, data.truth, -1))


@BOTH
def test_too_few_iterations_are_reported(estimator, data):
    with pytest.warns(ConvergenceWarning, match=f"{estimator.__name__} did not converge"):
        data.fit(estimator(2, max_iter=2, tol=1e-9))
