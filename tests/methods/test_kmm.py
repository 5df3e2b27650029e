"""Kernel mean matching: the weights of the printed problem, and a classifier trained with them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.optimize import LinearConstraint, minimize
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from skatter.kernels import median_distance
from skatter.methods._kmm import KMM
from skatter.scatter import mmd


@pytest.fixture
def shifted():
    """Samples of two places, in no order; a negative id is the target."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(40, 2)), rng.normal([1.0, 0.5], 0.6, size=(25, 2))])
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    site = np.repeat([1, -2], [40, 25])
    mixed = rng.permutation(65)
    X, y, site = X[mixed], y[mixed], site[mixed]
    return X, np.where(site > 0, y, -1), site


def fit(model, problem):
    X, y, site = problem
    return model.fit(X, y, sample_domain=site)


def parts(problem):
    X, _, site = problem
    return X[site > 0], X[site < 0]


def printed(problem, gamma=None):
    """K and κ by their definitions, sample by sample."""
    Xs, Xt = parts(problem)
    gamma = 1 / median_distance(problem[0]) if gamma is None else gamma

    def k(a, b):
        return np.exp(-gamma * np.sum((a - b) ** 2))

    K = np.array([[k(a, b) for b in Xs] for a in Xs])
    kappa = np.array([len(Xs) / len(Xt) * sum(k(a, b) for b in Xt) for a in Xs])
    return K, kappa


def source_weights(model, problem):
    return model.weights_[problem[2] > 0]


def test_the_objective_is_the_distance_of_the_means_but_for_a_constant(shifted):
    """½ bᵀKb − κᵀb = n_s²/2 (‖mean_b − μ_t‖² − ‖μ_t‖²), for weights that are no optimum too."""
    Xs, Xt = parts(shifted)
    gamma = 1 / median_distance(shifted[0])
    K, kappa = printed(shifted)
    b = np.random.default_rng(1).uniform(0, 3, size=len(Xs))
    Kst, Ktt = rbf_kernel(Xs, Xt, gamma=gamma), rbf_kernel(Xt, gamma=gamma)
    n, m = Kst.shape
    distance = b @ K @ b / n**2 - 2 * b @ Kst.sum(axis=1) / (n * m) + Ktt.sum() / m**2
    assert_allclose(
        (b @ K @ b / 2 - kappa @ b) / n**2, (distance - Ktt.sum() / m**2) / 2, atol=1e-15
    )
    with pytest.warns(ConvergenceWarning):
        start = fit(KMM(max_iter=1, tol=1e-15), shifted)
    b = source_weights(start, shifted)
    assert_allclose(start.objective_[-1], b @ K @ b / 2 - kappa @ b, rtol=1e-12)


def test_the_weighted_discrepancy_is_smaller_than_the_unweighted_one(shifted):
    Xs, Xt = parts(shifted)
    gamma = 1 / median_distance(shifted[0])
    before = mmd(Xs, Xt, gamma=gamma).value
    model = fit(KMM(), shifted)
    n, constant = len(Xs), rbf_kernel(Xt, gamma=gamma).mean()
    after = 2 * model.objective_[-1] / n**2 + constant
    assert 0 <= after < 0.02 * before


@pytest.mark.parametrize("eps", [None, 0.3, 0.0])
@pytest.mark.parametrize("max_weight", [1.5, 1000.0])
def test_the_weights_solve_the_printed_problem_as_scipys_general_solver_does(
    shifted, eps, max_weight
):
    K, kappa = printed(shifted, gamma=2.0)
    n = len(K)
    width = (np.sqrt(n) - 1) / np.sqrt(n) if eps is None else eps
    expected = minimize(
        lambda b: b @ K @ b / 2 - kappa @ b,
        np.ones(n),
        jac=lambda b: K @ b - kappa,
        bounds=[(0, max_weight)] * n,
        constraints=LinearConstraint(np.ones(n), n * (1 - width), n * (1 + width)),
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 1000},
    )
    model = fit(KMM(gamma=2.0, eps=eps, max_weight=max_weight), shifted)
    b = source_weights(model, shifted)
    assert model.objective_[-1] == pytest.approx(expected.fun, rel=1e-6)
    assert_allclose(b, expected.x, atol=0.05 * expected.x.max())
    assert (b >= 0).all()
    assert (b <= max_weight).all()
    assert abs(b.sum() - n) <= n * width + 1e-9


def test_identical_samples_have_weight_one():
    X = np.random.default_rng(0).normal(size=(50, 3))
    y = np.r_[(X[:, 0] > 0).astype(int), np.full(50, -1)]
    model = KMM().fit(np.vstack([X, X]), y, sample_domain=np.repeat([1, -2], 50))
    assert_allclose(model.weights_[:50], 1, atol=1e-9)
    assert model.n_iter_ == 1


def test_a_target_that_is_part_of_the_source_has_all_the_weight():
    rng = np.random.default_rng(0)
    near, far = rng.normal(size=(20, 2)), rng.normal(8, 1, size=(20, 2))
    X = np.vstack([near, far, near])
    y = np.r_[np.tile([0, 1], 20), np.full(20, -1)]
    weights = KMM(gamma=2.0).fit(X, y, sample_domain=np.repeat([1, -2], [40, 20])).weights_
    assert_allclose(weights[:20], 2, atol=1e-3)
    assert_allclose(weights[20:], 0, atol=1e-3)


def test_samples_that_coincide_have_the_same_weight(shifted):
    X, y, site = shifted
    twice = np.flatnonzero(site > 0)[:5]
    X, y, site = (np.concatenate([part, part[twice]]) for part in (X, y, site))
    weights = KMM().fit(X, y, sample_domain=site).weights_
    assert_allclose(weights[-5:], weights[twice], rtol=1e-5)


def test_a_tight_bound_binds(shifted):
    loose, tight = (fit(KMM(max_weight=B), shifted) for B in (1000.0, 1.2))
    assert source_weights(loose, shifted).max() > 2
    assert source_weights(tight, shifted).max() == pytest.approx(1.2, abs=1e-3)
    assert tight.objective_[-1] > loose.objective_[-1]


def test_eps_bounds_the_mean_weight(shifted):
    model = fit(KMM(gamma=20.0, eps=0.05), shifted)
    assert source_weights(model, shifted).mean() == pytest.approx(0.95, abs=1e-5)
    exact = fit(KMM(gamma=20.0, eps=0.0), shifted)
    assert source_weights(exact, shifted).mean() == pytest.approx(1, abs=1e-12)


def test_weighting_corrects_covariate_shift():
    """The example of the paper: a cubic whose linear fit depends on where the samples are."""
    rng = np.random.default_rng(0)
    right = []
    for _ in range(5):
        x = np.r_[rng.normal(0.5, 0.5, size=150), rng.normal(0.0, 0.3, size=150)]
        score = x**3 - x + 1
        y = (score + rng.normal(0, 0.1, size=300) > 1).astype(int)
        site = np.repeat([1, -2], 150)
        model = KMM().fit(x[:, None], np.where(site > 0, y, -1), sample_domain=site)
        plain = LogisticRegression().fit(x[:150, None], y[:150])
        right.append((model.score(x[150:, None], y[150:]), plain.score(x[150:, None], y[150:])))
    weighted, unweighted = np.mean(right, axis=0)
    assert weighted > unweighted + 0.05


def test_sources_are_pooled(shifted):
    X, y, site = shifted
    split = np.where((site > 0) & (X[:, 0] > 0), 7, site)
    model = KMM().fit(X, y, sample_domain=split)
    np.testing.assert_array_equal(model.weights_, fit(KMM(), shifted).weights_)
    assert model.source_ids_.tolist() == [1, 7]


def test_unlabelled_source_samples_are_weighted_but_not_trained_on(shifted):
    X, y, site = shifted
    hidden = np.flatnonzero(site > 0)[:15]
    known = y.copy()
    known[hidden] = -1
    model = KMM(LogisticRegression()).fit(X, known, sample_domain=site)
    np.testing.assert_array_equal(model.weights_, fit(KMM(), shifted).weights_)
    train = (site > 0) & (known >= 0)
    expected = LogisticRegression().fit(X[train], y[train], sample_weight=model.weights_[train])
    np.testing.assert_array_equal(model.estimator_.coef_, expected.coef_)


@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(C=0.1),
        SVC(),
        GaussianNB(),
        RidgeClassifier(),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_any_classifier_that_takes_weights_is_trained_with_them(shifted, estimator):
    X, y, site = shifted
    model = fit(KMM(estimator), shifted)
    source = site > 0
    expected = estimator.fit(X[source], y[source], sample_weight=model.weights_[source])
    assert model.estimator_ is not estimator
    for name in ("predict", "decision_function", "predict_proba", "predict_log_proba"):
        assert hasattr(model, name) == hasattr(KMM(estimator), name) == hasattr(estimator, name)
        if hasattr(estimator, name):
            np.testing.assert_array_equal(getattr(model, name)(X), getattr(expected, name)(X))


def test_the_last_step_of_a_pipeline_receives_the_weights(shifted):
    X, y, site = shifted
    inner = make_pipeline(SVC(kernel="linear"))
    model = fit(KMM(make_pipeline(StandardScaler(), inner)), shifted)
    source = site > 0
    scaler = StandardScaler().fit(X[source])
    expected = SVC(kernel="linear").fit(
        scaler.transform(X[source]), y[source], sample_weight=model.weights_[source]
    )
    actual = model.decision_function(X)
    np.testing.assert_array_equal(actual, expected.decision_function(scaler.transform(X)))


def test_the_default_classifier_does_not_depend_on_units(shifted):
    X, y, site = shifted
    model = fit(KMM(), shifted)
    units = np.array([1e-5, 1e4])
    rescaled = KMM(kernel=lambda A, B: rbf_kernel(A / units, B / units, gamma=1.0))
    reference = KMM(gamma=1.0).fit(X, y, sample_domain=site)
    rescaled.fit(X * units, y, sample_domain=site)
    assert_allclose(rescaled.predict_proba(X * units), reference.predict_proba(X), rtol=1e-6)
    assert model.predict_proba(X).shape == (65, 2)


def test_classes_are_those_of_the_source_even_where_the_target_has_others(shifted):
    X, y, site = shifted
    y = y.copy()
    y[np.flatnonzero(site < 0)[0]] = 9
    model = KMM().fit(X, y, sample_domain=site)
    assert model.classes_.tolist() == [0, 1]
    assert model.predict_proba(X).shape == (65, 2)


def test_a_source_of_one_class_is_refused_even_where_the_target_has_another(shifted):
    X, _, site = shifted
    y = np.where(site > 0, "a", "b")
    with pytest.raises(ValueError, match=r"source samples of at least two classes.*\(a\)"):
        KMM().fit(X, y, sample_domain=site)


@pytest.mark.parametrize(
    "estimator",
    [
        KNeighborsClassifier(1),
        LinearDiscriminantAnalysis(),
        StandardScaler(),
        make_pipeline(StandardScaler(), KNeighborsClassifier(1)),
        "svm",
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_a_classifier_that_takes_no_weights_is_refused_before_heavy_work(estimator):
    X = np.random.default_rng(0).normal(size=(150_000, 2))
    y = np.where(np.arange(150_000) % 4 == 0, -1, np.arange(150_000) % 2)
    with pytest.raises(TypeError, match="estimator must be a classifier whose fit takes sample_w"):
        KMM(estimator).fit(X, y, sample_domain=np.repeat([1, -2], 75_000))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"max_weight": 1.0}, "max_weight must lie in"),
        ({"eps": -0.1}, "eps must lie in"),
        ({"kernel": "precomputed"}, "kernel must be a name or a callable, got 'precomputed'"),
        ({"gamma": -1.0}, "gamma must lie in"),
    ],
)
def test_parameters_out_of_range_are_refused(shifted, params, message):
    with pytest.raises(ValueError, match=message):
        fit(KMM(**params), shifted)


def test_a_kernel_that_is_not_positive_semi_definite_is_refused(shifted):
    with pytest.raises(ValueError, match="not positive semi-definite"):
        fit(KMM(kernel=lambda A, B: -((A @ B.T) ** 2)), shifted)


@pytest.mark.parametrize("kernel", ["linear", "poly", "laplacian", "cosine"])
def test_other_kernels_match_their_own_means(shifted, kernel):
    model = fit(KMM(kernel=kernel), shifted)
    Xs, Xt = parts(shifted)
    b = source_weights(model, shifted)
    if kernel == "linear":
        assert_allclose(b @ Xs / len(Xs), Xt.mean(axis=0), atol=1e-3)
    assert model.objective_[-1] < model.objective_[0]


def test_sparse_samples_have_the_weights_of_dense_ones(shifted):
    X, y, site = shifted
    X = np.where(np.abs(X) > 0.3, X, 0)
    dense = KMM().fit(X, y, sample_domain=site)
    model = KMM().fit(sparse.csr_array(X), y, sample_domain=site)
    assert_allclose(model.weights_, dense.weights_, atol=1e-6)
    assert_allclose(model.predict_proba(sparse.csr_array(X)), dense.predict_proba(X), atol=1e-3)


def test_single_precision_samples_have_nearly_the_same_weights(shifted):
    X, y, site = shifted
    single = KMM(gamma=2.0).fit(X.astype(np.float32), y, sample_domain=site)
    double = KMM(gamma=2.0).fit(X, y, sample_domain=site)
    assert_allclose(single.weights_, double.weights_, atol=1e-3 * double.weights_.max())


def test_the_order_of_the_samples_does_not_change_their_weights(shifted):
    X, y, site = shifted
    mixed = np.random.default_rng(5).permutation(len(X))
    model = KMM().fit(X[mixed], y[mixed], sample_domain=site[mixed])
    expected = fit(KMM(), shifted).weights_[mixed]
    assert_allclose(model.weights_, expected, atol=1e-7 * expected.max())
