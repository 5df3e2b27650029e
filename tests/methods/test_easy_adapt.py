"""EasyAdapt: the map and its kernel, and what unlabelled samples add in EA++."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.svm import SVC, LinearSVC

from skatter import make_domain_pipeline
from skatter.methods._easy_adapt import EasyAdapt, EasyAdaptSVM, copied

EXACT = {"kernel": "linear", "tol": 1e-5}


def problem(seed=0, n_sources=2, n_classes=3, n=20, n_known=8, p=3):
    """Sources 1, 2 .. and the target -9, of whose samples the first few have a label."""
    rng = np.random.default_rng(seed)
    site = np.repeat([*range(1, n_sources + 1), -9], n)
    y = rng.integers(n_classes, size=len(site))
    X = rng.normal(size=(len(site), p)) + 2 * rng.normal(size=(n_classes, p))[y]
    X[site < 0] += 0.5 * rng.normal(size=p)
    known = (site > 0) | (np.cumsum(site < 0) <= n_known)
    mixed = rng.permutation(len(site))
    return X[mixed], np.where(known, y, -1)[mixed], site[mixed]


def fit(model, case):
    X, y, site = case
    return model.fit(X, y, sample_domain=site)


def by_hand(X, site, sources, a=1.0):
    """The copies of one sample after the other: shared, the target's, the sources'."""
    rows = []
    for x, s in zip(X, site, strict=True):
        private = [x if s == other else 0 * x for other in (-9, *sources)]
        rows.append(np.concatenate([np.sqrt(a) * x, *private]))
    return np.array(rows)


# --- the map --------------------------------------------------------------------------------------


@pytest.mark.parametrize("a", [1.0, 0.3])
@pytest.mark.parametrize("n_sources", [1, 3])
def test_features_are_a_shared_and_a_private_copy(n_sources, a):
    X, y, site = problem(n_sources=n_sources)
    model = EasyAdapt(shared_weight=a)
    sources = range(1, n_sources + 1)
    expected = by_hand(X, site, sources, a)
    assert_allclose(model.fit_transform(X, y, sample_domain=site), expected, rtol=1e-15)
    assert_array_equal(model.copy_ids_, [-9, *sources])
    assert model.n_components_ == expected.shape[1]
    new = X[:5] + 1
    places = [sources[-1], -9, -9, 1, 77]
    actual = model.transform(new, sample_domain=places)
    assert_allclose(actual, by_hand(new, places, sources, a), rtol=1e-15)
    assert_array_equal(model.transform(new), model.transform(new, sample_domain=[-9] * 5))


def test_a_sample_of_a_new_domain_has_the_shared_copy_only():
    model = fit(EasyAdapt(), problem())
    x = np.ones((1, 3))
    actual = model.transform(x, sample_domain=["elsewhere"])
    assert_array_equal(actual, [[1, 1, 1] + 9 * [0]])


def test_domains_may_have_names():
    X, y, site = problem()
    names = np.array([{1: "berne", 2: "athens", -9: "cairo"}[s] for s in site])
    known = np.where(names == "cairo", -1, y)
    model = EasyAdapt().fit(X, known, sample_domain=names)
    assert_array_equal(model.copy_ids_, ["cairo", "athens", "berne"])
    actual = model.transform(X[:1], sample_domain=["athens"])
    assert_array_equal(actual, by_hand(X[:1], [2], (2, 1)))


def test_without_any_domain_there_is_one_private_copy():
    X, y, _ = problem()
    with pytest.warns(UserWarning, match="sees no target"):
        Z = EasyAdapt().fit_transform(X, np.abs(y))
    assert_array_equal(Z, np.hstack([X, X]))


def test_inner_products_are_the_kernel_of_the_same_domain_and_of_others():
    """k~ = (a + [same domain]) k."""
    X, y, site = problem(1)
    Z = EasyAdapt(shared_weight=0.7).fit_transform(X, y, sample_domain=site)
    expected = (0.7 + (site[:, None] == site)) * (X @ X.T)
    assert_allclose(Z @ Z.T, expected, atol=1e-13)


def test_a_zero_of_a_copy_is_never_negative():
    Z = fit(EasyAdapt(), problem()).transform(-np.ones((1, 3)))
    assert not np.signbit(Z[Z == 0]).any()


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array])
def test_sparse_samples_give_sparse_features(make):
    X, y, site = problem(2)
    X = np.where(np.abs(X) > 1, X, 0).astype(np.float32)
    model = EasyAdapt(shared_weight=2.0)
    Z = model.fit_transform(make(X), y, sample_domain=site)
    assert sparse.issparse(Z)
    assert Z.dtype == np.float32
    assert Z.nnz == 2 * np.count_nonzero(X)
    expected = EasyAdapt(shared_weight=2.0).fit_transform(X, y, sample_domain=site)
    assert_array_equal(Z.toarray(), expected)
    places = np.where(np.arange(len(X)) % 2, 1, 55)
    actual = model.transform(make(X), sample_domain=places)
    assert_array_equal(actual.toarray(), model.transform(X, sample_domain=places))


def test_copies_may_have_any_coefficients():
    rng = np.random.default_rng(0)
    X, c = rng.normal(size=(6, 3)), rng.normal(size=(6, 4))
    c[2] = 0
    expected = np.array([np.kron(coefficients, x) for coefficients, x in zip(c, X, strict=True)])
    assert_allclose(copied(X, c), expected, rtol=1e-15)
    assert_allclose(copied(sparse.csr_array(X), c).toarray(), expected, rtol=1e-15)


def test_a_linear_classifier_learns_where_source_and_target_differ():
    """The second feature means the opposite in the target; pooled, it means nothing."""
    rng = np.random.default_rng(3)
    y = np.tile([0, 1], 150)
    site = np.repeat([1, -2], [200, 100])
    sign = 2.0 * y - 1
    X = np.column_stack([sign, np.where(site > 0, sign, -sign)]) + 0.8 * rng.normal(size=(300, 2))
    known = np.where((site > 0) | (np.arange(300) >= 260), y, -1)
    target = (site < 0) & (known < 0)
    adapted = make_domain_pipeline(EasyAdapt(), LinearSVC(random_state=0))
    adapted.fit(X, known, sample_domain=site)
    pooled = LinearSVC(random_state=0).fit(X[known >= 0], known[known >= 0])
    gain = adapted.score(X[target], y[target]) - pooled.score(X[target], y[target])
    assert gain > 0.1
    assert adapted.score(X[site > 0], y[site > 0], sample_domain=site[site > 0]) > 0.9


# --- the machine ----------------------------------------------------------------------------------


def machines(Z, y, classes, Z_new, weight=None, C=1.0):
    """Decision values of scikit-learn's linear machines, one against the rest."""
    columns = []
    for k in classes:
        machine = SVC(kernel="linear", C=C, tol=1e-5)
        machine.fit(Z, y[k] if isinstance(y, list) else y == k, sample_weight=weight)
        columns.append(machine.decision_function(Z_new))
    return np.column_stack(columns)


@pytest.mark.parametrize("a", [1.0, 0.3])
def test_without_unlabelled_samples_it_is_a_machine_on_the_copied_features(a):
    X, y, site = case = problem(4)
    model = fit(EasyAdaptSVM(0.5, unlabelled_weight=0.0, shared_weight=a, **EXACT), case)
    known = y >= 0
    places = np.where(np.arange(len(X)) % 3 == 0, 77, site)  # some in a new domain
    Z, Z_new = (by_hand(X, where, (1, 2), a) for where in (site, places))
    expected = machines(Z[known], y[known], range(3), Z_new, C=0.5)
    actual = model.decision_function(X, sample_domain=places)
    assert_allclose(actual, expected, atol=1e-3)
    in_target = machines(Z[known], y[known], range(3), by_hand(X, [-9] * len(X), (1, 2), a), C=0.5)
    assert_allclose(model.decision_function(X), in_target, atol=1e-3)


@pytest.mark.parametrize("n_sources", [1, 2])
def test_unlabelled_samples_are_differences_of_copies_with_both_labels(n_sources):
    """Explicit features: shared copy, target's, sources'; (0, -u, .., u, ..) twice for each u."""
    X, y, site = case = problem(5, n_sources=n_sources)
    model = fit(EasyAdaptSVM(0.5, unlabelled_weight=0.2, **EXACT), case)
    sources = range(1, n_sources + 1)
    known, U = y >= 0, X[y < 0]
    Z = by_hand(X, site, sources)
    differences = []
    for s in sources:
        blocks = [0 * U, -U, *(U if other == s else 0 * U for other in sources)]
        differences.append(np.hstack(blocks))
    D = np.vstack(differences)
    both = np.repeat([True, False], len(D))
    weight = np.repeat([1.0, 0.2], [known.sum(), 2 * len(D)])
    labels = [np.concatenate([y[known] == k, both]) for k in range(3)]
    expected = machines(np.vstack([Z[known], D, D]), labels, range(3), Z, weight, C=0.5)
    assert_allclose(model.decision_function(X, sample_domain=site), expected, atol=1e-3)


def test_any_kernel_takes_the_place_of_the_inner_product():
    """A polynomial kernel of degree two has features that can be written down."""
    X, y, site = case = problem(6, p=2)
    root = np.sqrt(2)
    squares = np.column_stack([np.ones(len(X)), root * X, X**2, root * X[:, 0] * X[:, 1]])
    expected = fit(EasyAdaptSVM(0.1, **EXACT), (squares, y, site)).decision_function(squares)
    polynomial = {"kernel": "poly", "degree": 2, "gamma": 1.0, "coef0": 1, "tol": 1e-5}
    actual = fit(EasyAdaptSVM(0.1, **polynomial), case).decision_function(X)
    assert_allclose(actual, expected, atol=1e-3)
    K, K_new = (polynomial_kernel(A, X, degree=2, gamma=1.0) for A in (X, X[:7]))
    given = EasyAdaptSVM(0.1, kernel="precomputed", tol=1e-5).fit(K, y, sample_domain=site)
    assert_allclose(given.decision_function(K_new), expected[:7], atol=1e-3)


def test_a_large_weight_makes_source_and_target_agree_on_unlabelled_samples():
    X, y, site = problem(7, n_sources=1, n_classes=2)
    y = np.where((site < 0) & (y >= 0), 1 - y, y)  # they contradict each other where they can
    case = X, y, site
    gaps = []
    for weight in (0.0, 100.0):
        model = fit(EasyAdaptSVM(10.0, unlabelled_weight=weight, gamma=0.5, tol=1e-4), case)
        U = X[y < 0]
        values = [model.decision_function(U, sample_domain=[s] * len(U)) for s in (1, -9)]
        gaps.append(np.abs(values[0] - values[1] + model.intercept_).max())
    assert gaps[0] > 1.3
    assert gaps[1] < 1 + 1e-3


def test_a_dominant_shared_copy_is_one_machine_for_all_domains():
    X, y, _ = case = problem(8)
    shared = {"shared_weight": 1e6, "unlabelled_weight": 0.0}
    model = fit(EasyAdaptSVM(1e-6, gamma=0.2, tol=1e-6, **shared), case)
    known = y >= 0
    for k, values in enumerate(model.decision_function(X).T):
        pooled = SVC(gamma=0.2, tol=1e-6).fit(X[known], y[known] == k)
        assert_allclose(values, pooled.decision_function(X), atol=1e-4)


def test_unlabelled_samples_do_not_matter_where_they_have_no_weight():
    X, y, site = case = problem(9)
    given = {"unlabelled_weight": 0.0, "gamma": 0.2, "tol": 1e-6}
    expected = fit(EasyAdaptSVM(**given), case).decision_function(X)
    moved = np.where((y < 0)[:, None], 50.0, X)
    actual = fit(EasyAdaptSVM(**given), (moved, y, site)).decision_function(X)
    assert_allclose(actual, expected, atol=1e-5)
    other = fit(EasyAdaptSVM(**{**given, "unlabelled_weight": 1.0}), case).decision_function(X)
    assert np.abs(other - expected).max() > 1e-2


def test_the_order_of_the_samples_does_not_matter_to_the_last_bit():
    X, y, site = case = problem(10)
    mixed = np.random.default_rng(0).permutation(len(X))
    for model in (EasyAdaptSVM(), EasyAdaptSVM(kernel="linear")):
        expected = fit(model, case).decision_function(X, sample_domain=site)
        other = fit(model, (X[mixed], y[mixed], site[mixed]))
        assert_array_equal(other.decision_function(X, sample_domain=site), expected)


def test_sparse_samples_give_the_same_decision_values():
    X, y, site = problem(11)
    X = np.where(np.abs(X) > 1, X, 0)
    given = {"gamma": 0.2, "tol": 1e-6}
    expected = fit(EasyAdaptSVM(**given), (X, y, site)).decision_function(X)
    actual = fit(EasyAdaptSVM(**given), (sparse.csr_array(X), y, site)).decision_function(X)
    assert_allclose(actual, expected, atol=1e-5)


def test_what_a_machine_is_made_of_can_be_read_off():
    X, _, site = case = problem(12)
    model = fit(EasyAdaptSVM(gamma=0.2), case)
    assert model.dual_coef_.shape == (len(model.support_), 4, 3)
    assert_array_equal(model.copy_ids_, [-9, 1, 2])
    K = rbf_kernel(X, X[model.support_], gamma=0.2)
    copies = {-9: 1, 1: 2, 2: 3}
    for s, copy in copies.items():
        own = site == s
        coef = model.dual_coef_[:, 0] + model.dual_coef_[:, copy]
        actual = model.decision_function(X[own], sample_domain=site[own])
        assert_allclose(actual, K[own] @ coef + model.intercept_, atol=1e-10)


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [EasyAdapt, EasyAdaptSVM])
@pytest.mark.parametrize(
    ("value", "error"), [(0, ValueError), (-1.0, ValueError), ("a", TypeError)]
)
def test_a_shared_copy_without_weight_is_refused(make, value, error):
    with pytest.raises(error, match="shared_weight must"):
        fit(make(shared_weight=value), problem())


@pytest.mark.parametrize("name", ["C", "unlabelled_weight", "tol"])
def test_a_negative_parameter_of_the_machine_is_refused(name):
    with pytest.raises(ValueError, match=f"{name} must lie in"):
        fit(EasyAdaptSVM(**{name: -1.0}), problem())
