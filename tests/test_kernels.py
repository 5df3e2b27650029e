"""From samples to a Gram matrix: bandwidth, kernels, centring and memory, one claim each."""

import sys
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import pdist
from sklearn.metrics.pairwise import kernel_metrics, pairwise_kernels
from sklearn.preprocessing import KernelCenterer

from skatter import kernels
from skatter.kernels import (
    MEDIAN_SAMPLE,
    Kernel,
    available_memory,
    centre,
    check_gram,
    gram,
    median_distance,
    resolve_kernel,
)

some = settings(deadline=None, max_examples=25)

NAMES = sorted(kernel_metrics())
NO_SPARSE = ("chi2", "additive_chi2")
DISTANCES = {
    "rbf": lambda a, b: sum((s - t) ** 2 for s, t in zip(a, b, strict=True)),
    "laplacian": lambda a, b: sum(abs(s - t) for s, t in zip(a, b, strict=True)),
    "chi2": lambda a, b: sum((s - t) ** 2 / (s + t) for s, t in zip(a, b, strict=True) if s + t),
}


def brute_median(X, kernel="rbf"):
    """Median over all pairs i < j, zeros dropped, written as it is said."""
    rows = np.asarray(X, float).tolist()
    values = [DISTANCES[kernel](a, b) for i, a in enumerate(rows) for b in rows[:i]]
    values = sorted(v for v in values if v > 0)
    if not values:
        return 1.0
    half = len(values) // 2
    return values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2


def rotation(rng, p):
    return np.linalg.qr(rng.normal(size=(p, p)))[0]


def positive(n, p, seed=0):
    return np.random.default_rng(seed).gamma(2.0, size=(n, p))


# --- the median heuristic -----------------------------------------------------------------------


@some
@given(
    st.sampled_from(sorted(DISTANCES)),
    arrays(np.float64, st.tuples(st.integers(1, 9), st.integers(1, 3)), elements=st.integers(0, 4)),
)
def test_the_median_is_that_of_distinct_pairs_with_zeros_dropped(kernel, X):
    assert median_distance(X, kernel) == pytest.approx(brute_median(X, kernel), rel=1e-12)


@pytest.mark.parametrize("kernel", sorted(DISTANCES))
def test_gamma_is_one_over_the_median_distance(kernel):
    X = positive(23, 4)
    assert resolve_kernel(X, kernel).params["gamma"] == pytest.approx(1 / brute_median(X, kernel))


@pytest.mark.parametrize("kernel", sorted(DISTANCES))
def test_the_printed_gamma_is_one_over_the_median_squared(kernel):
    X = positive(23, 4)
    gamma = resolve_kernel(X, kernel, gamma="printed").params["gamma"]
    assert gamma == pytest.approx(1 / brute_median(X, kernel) ** 2)


@pytest.mark.parametrize(
    ("kernel", "power"), [("rbf", 2), ("laplacian", 1), ("chi2", 1)], ids=lambda v: str(v)
)
def test_the_median_kernel_ignores_units_and_the_printed_one_does_not(kernel, power):
    X = positive(15, 3)
    for units in (1e-3, 10.0):
        scaled = units * X
        assert median_distance(scaled, kernel) == pytest.approx(
            units**power * median_distance(X, kernel)
        )
        K, K_scaled = (gram(A, resolve_kernel(A, kernel)) for A in (X, scaled))
        np.testing.assert_allclose(K_scaled, K, rtol=1e-10)
        P, P_scaled = (gram(A, resolve_kernel(A, kernel, gamma="printed")) for A in (X, scaled))
        assert np.abs(P - P_scaled).max() > 0.1


@pytest.mark.parametrize("kernel", sorted(DISTANCES))
def test_the_kernel_of_a_pair_at_the_median_distance_is_one_over_e(kernel):
    X = np.array([[1.0, 2.0], [3.0, 5.0]])
    assert resolve_kernel(X, kernel)(X)[0, 1] == pytest.approx(np.exp(-1), rel=1e-12)


def test_samples_that_are_all_alike_have_median_one():
    assert median_distance(np.full((5, 3), 0.1)) == 1.0
    assert median_distance(np.full((1, 3), 0.1)) == 1.0


def test_copies_are_dropped_although_rounding_leaves_them_apart():
    X = np.random.default_rng(0).normal(size=(6, 40))
    copies = np.vstack([X] * 8)
    assert median_distance(copies) == pytest.approx(brute_median(copies), rel=1e-10)
    assert median_distance(np.vstack([X[:1]] * 9 + [X[1:2]])) == pytest.approx(
        DISTANCES["rbf"](X[0], X[1])
    )


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("outlier", [1e4, 1e8])
def test_one_outlier_hardly_moves_the_median(kernel, outlier):
    X = np.vstack([np.random.default_rng(0).normal(size=(40, 5)), np.full((1, 5), outlier)])
    assert median_distance(X, kernel) == pytest.approx(brute_median(X, kernel), rel=1e-2)
    assert median_distance(X, kernel) < 20


def test_the_median_of_wide_sparse_float32_samples_is_that_of_their_pairs():
    # 6 samples with one 1 each, in columns of their own: every squared distance is 2.
    X = sp.csr_matrix((np.ones(6, np.float32), (range(6), range(6))), shape=(6, 2**24))
    assert median_distance(X) == pytest.approx(2.0)


def test_the_median_of_float32_and_sparse_samples_is_that_of_dense_float64():
    X = positive(30, 4)
    expected = brute_median(X)
    assert median_distance(X.astype(np.float32)) == pytest.approx(expected, rel=1e-5)
    assert median_distance(sp.csr_matrix(X)) == pytest.approx(expected, rel=1e-10)
    assert median_distance(sp.csr_array(X), "laplacian") == pytest.approx(
        brute_median(X, "laplacian"), rel=1e-10
    )


def test_the_median_far_from_the_origin_loses_no_digits():
    X = np.random.default_rng(0).normal(size=(30, 3))
    assert median_distance(X + 1e6) == pytest.approx(brute_median(X), rel=1e-8)


# --- the subsample ------------------------------------------------------------------------------

LARGE = 3 * MEDIAN_SAMPLE


@pytest.fixture(scope="module")
def large():
    return np.random.default_rng(0).normal(size=(LARGE, 3))


@pytest.fixture(scope="module")
def full_median(large):
    return float(np.median(pdist(large, "sqeuclidean")))


def test_the_full_median_is_used_up_to_the_size_of_the_subsample(large):
    X = large[:MEDIAN_SAMPLE]
    expected = np.median(pdist(X, "sqeuclidean"))
    assert median_distance(X, random_state=0) == pytest.approx(expected)
    assert median_distance(X, random_state=1) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(6))
def test_the_subsample_is_within_two_percent_of_the_full_median(large, full_median, seed):
    assert median_distance(large, random_state=seed) == pytest.approx(full_median, rel=0.02)


def test_the_subsample_is_seeded(large):
    first = [median_distance(large, random_state=seed) for seed in (0, 1)]
    again = [median_distance(large, random_state=seed) for seed in (0, 1)]
    assert first == again
    assert first[0] != first[1]


def test_a_seed_leaves_the_global_random_state_alone(large):
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    median_distance(large, random_state=0)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


@settings(deadline=None, max_examples=5)
@given(st.integers(0, 2**32 - 1))
def test_the_subsample_ignores_the_order_of_the_rows_and_rigid_motions(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(MEDIAN_SAMPLE + 200, 4)) * [1, 2, 3, 4]
    expected = median_distance(X, random_state=seed)
    shuffled = X[rng.permutation(len(X))]
    moved = X @ rotation(rng, 4) + rng.normal(size=4)
    assert median_distance(shuffled, random_state=seed) == pytest.approx(expected, rel=1e-9)
    assert median_distance(moved, random_state=seed) == pytest.approx(expected, rel=1e-9)


def test_the_subsample_of_sparse_samples_is_that_of_dense_ones(large):
    dense = median_distance(large, random_state=3)
    assert median_distance(sp.csr_matrix(large), random_state=3) == pytest.approx(dense)


# --- the kernels --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_kernel_of_scikit_learn_is_its_pairwise_kernel(name):
    X, Y = positive(9, 4), positive(5, 4, seed=1)
    given_ = {"gamma": 0.3, "degree": 2, "coef0": 0.5}
    kernel = resolve_kernel(X, name, **given_)
    for other in (None, Y):
        expected = pairwise_kernels(X, other, metric=name, filter_params=True, **given_)
        np.testing.assert_allclose(kernel(X, other), expected, rtol=1e-12)
    np.testing.assert_allclose(gram(X, kernel), kernel(X), rtol=0)


@pytest.mark.parametrize("name", NAMES)
def test_no_gamma_means_the_default_of_scikit_learn(name):
    X, Y = positive(9, 4), positive(5, 4, seed=1)
    expected = pairwise_kernels(X, Y, metric=name)
    np.testing.assert_allclose(resolve_kernel(X, name, gamma=None)(X, Y), expected, rtol=1e-12)


@pytest.mark.parametrize("name", [n for n in NAMES if n not in DISTANCES])
def test_kernels_without_a_distance_take_the_default_of_scikit_learn_for_the_median(name):
    X, Y = positive(9, 4), positive(5, 4, seed=1)
    for gamma in ("median", "printed"):
        K = resolve_kernel(X, name, gamma=gamma)(X, Y)
        np.testing.assert_allclose(K, pairwise_kernels(X, Y, metric=name), rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "formula"),
    [
        ("linear", lambda a, b: a @ b),
        ("rbf", lambda a, b: np.exp(-0.3 * np.sum((a - b) ** 2))),
        ("laplacian", lambda a, b: np.exp(-0.3 * np.sum(np.abs(a - b)))),
        ("chi2", lambda a, b: np.exp(-0.3 * np.sum((a - b) ** 2 / (a + b)))),
        ("poly", lambda a, b: (0.3 * (a @ b) + 0.5) ** 2),
        ("sigmoid", lambda a, b: np.tanh(0.3 * (a @ b) + 0.5)),
        ("cosine", lambda a, b: a @ b / np.sqrt((a @ a) * (b @ b))),
    ],
)
def test_a_kernel_is_its_formula(name, formula):
    X, Y = positive(6, 3), positive(4, 3, seed=1)
    K = resolve_kernel(X, name, gamma=0.3, degree=2, coef0=0.5)(X, Y)
    np.testing.assert_allclose(K, [[formula(a, b) for b in Y] for a in X], rtol=1e-10)


def test_the_bandwidth_comes_from_the_fitted_samples_and_not_from_later_ones():
    X, Y = positive(9, 4), 100 * positive(5, 4, seed=1)
    kernel = resolve_kernel(X)
    gamma = kernel.params["gamma"]
    kernel(X, Y)
    assert kernel.params["gamma"] == gamma == pytest.approx(1 / brute_median(X))


@pytest.mark.parametrize("name", [n for n in NAMES if n not in NO_SPARSE])
@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csr_array])
def test_sparse_samples_have_the_kernel_of_dense_ones(name, make):
    X = positive(12, 6)
    X[X < 1.5] = 0
    X[:, 0] += 0.1
    Y = X[::2]
    dense, sparse = resolve_kernel(X, name), resolve_kernel(make(X), name)
    np.testing.assert_allclose(gram(make(X), sparse), gram(X, dense), rtol=1e-9, atol=1e-12)
    K = sparse(make(X), make(Y))
    assert isinstance(K, np.ndarray)
    np.testing.assert_allclose(K, dense(X, Y), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_float32_stays_float32_and_agrees_with_float64(name):
    X = positive(9, 4)
    X32 = X.astype(np.float32)
    K32, K = gram(X32, resolve_kernel(X32, name)), gram(X, resolve_kernel(X, name))
    assert (K32.dtype, K.dtype) == (np.float32, np.float64)
    np.testing.assert_allclose(K32, K, rtol=1e-4, atol=1e-5)


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 2**32 - 1))
def test_the_rbf_gram_matrix_ignores_rigid_motions_and_follows_the_rows(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 3))
    moved, order = X @ rotation(rng, 3) + rng.normal(size=3), rng.permutation(12)
    K = gram(X, resolve_kernel(X))
    np.testing.assert_allclose(gram(moved, resolve_kernel(moved)), K, atol=1e-10)
    shuffled = gram(X[order], resolve_kernel(X[order]))
    np.testing.assert_allclose(shuffled, K[np.ix_(order, order)], atol=1e-12)


def test_a_kernel_leaves_the_samples_untouched_to_the_bit():
    X = positive(9, 4)
    before = X.tobytes()
    for name in NAMES:
        gram(X, resolve_kernel(X, name))
    assert X.tobytes() == before


def test_unknown_kernels_are_refused_with_the_names_of_the_known_ones():
    for wrong in ("gaussian", None, 3):
        with pytest.raises(ValueError, match="kernel must be one of") as caught:
            resolve_kernel(positive(3, 2), wrong)
        message = str(caught.value)
        assert repr(wrong) in message
        assert all(name in message for name in (*NAMES, "precomputed", "callable"))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"gamma": "scale"}, ValueError, r"gamma .*'median', 'printed'.*'scale'"),
        ({"gamma": 0}, ValueError, r"gamma must lie in \(0, inf\)"),
        ({"gamma": -1.0}, ValueError, "gamma must lie in"),
        ({"gamma": np.inf}, ValueError, "gamma must lie in"),
        ({"gamma": np.nan}, ValueError, "gamma must lie in"),
        ({"gamma": True}, TypeError, "gamma must be a number"),
        ({"gamma": [1.0]}, TypeError, "gamma must be a number"),
        ({"degree": 0}, ValueError, "degree must lie in"),
        ({"degree": "3"}, TypeError, "degree must be a number"),
        ({"coef0": np.nan}, ValueError, "coef0 must lie in"),
        ({"coef0": None}, TypeError, "coef0 must be a number"),
        ({"kernel_params": {"alpha": 1}}, ValueError, "kernel_params .*callable.* gamma, degree"),
    ],
)
def test_wrong_parameters_are_refused_by_name(arguments, error, message):
    with pytest.raises(error, match=message):
        resolve_kernel(positive(4, 2), "rbf", **arguments)


# --- callables and precomputed matrices ---------------------------------------------------------


def test_a_callable_kernel_is_called_with_its_parameters():
    def shifted(A, B, offset=0.0):
        return A @ B.T + offset

    X, Y = positive(5, 3), positive(4, 3, seed=1)
    np.testing.assert_allclose(resolve_kernel(X, shifted)(X), X @ X.T)
    kernel = resolve_kernel(X, shifted, kernel_params={"offset": 2.0})
    np.testing.assert_allclose(kernel(X, Y), X @ Y.T + 2)
    np.testing.assert_allclose(gram(X, kernel), X @ X.T + 2)
    assert not kernel.linear
    assert not kernel.precomputed


@pytest.mark.parametrize("wrong", [lambda A, B: np.sum(A * B[: len(A)]), lambda A, B: A])
def test_a_callable_of_the_wrong_shape_is_refused_with_a_remedy(wrong):
    X = positive(5, 3)
    with pytest.raises(ValueError, match="callable kernel returned shape") as caught:
        resolve_kernel(X, wrong)(X)
    assert "for 5 and 5 samples" in str(caught.value)
    assert "pairwise_kernels" in str(caught.value)


def test_a_callable_keeps_the_floating_type_of_the_samples():
    X = positive(5, 3).astype(np.float32)
    K = resolve_kernel(X, lambda A, B: (A @ B.T).astype(np.float64))(X)
    assert K.dtype == np.float32


def test_a_precomputed_gram_matrix_is_copied_before_anything_is_done_to_it():
    X = positive(6, 3)
    K = X @ X.T
    kernel = resolve_kernel(K, "precomputed")
    assert kernel.precomputed
    fresh = gram(K, kernel)
    np.testing.assert_array_equal(fresh, K)
    centre(fresh)
    np.testing.assert_array_equal(K, X @ X.T)


def test_precomputed_rows_of_new_samples_pass_through():
    rows = positive(2, 6)
    np.testing.assert_array_equal(Kernel("precomputed")(rows), rows)


def test_a_gram_matrix_that_is_not_square_is_refused():
    with pytest.raises(ValueError, match=r"square Gram matrix .*precomputed.*\(4, 3\)"):
        check_gram(np.ones((4, 3)))


def test_a_gram_matrix_that_is_not_symmetric_is_refused_wherever_it_differs():
    X = positive(1100, 2)
    K = X @ X.T
    assert check_gram(K) is K
    for i, j in ((0, 1), (1099, 0), (600, 1098)):
        wrong = K.copy()
        wrong[i, j] += 1e-3 * np.abs(K).max()
        with pytest.raises(ValueError, match=r"symmetric Gram matrix .*precomputed"):
            check_gram(wrong)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_gram_matrix_that_differs_by_rounding_is_accepted(dtype):
    X = positive(20, 3)
    K = (X @ X.T).astype(dtype)
    K[3, 4] *= 1 + 4 * np.finfo(dtype).eps
    assert check_gram(K) is K


# --- centring -----------------------------------------------------------------------------------


@some
@given(
    arrays(
        np.float64,
        st.integers(1, 8).map(lambda n: (n, n)),
        elements=st.floats(-100, 100, allow_nan=False),
    )
)
def test_centring_is_h_k_h_in_place_and_returns_the_means(A):
    K0 = A + A.T
    n = len(K0)
    H = np.eye(n) - np.ones((n, n)) / n
    K = K0.copy()
    means = centre(K)
    np.testing.assert_allclose(K, H @ K0 @ H, atol=1e-10)
    np.testing.assert_allclose(means, [sum(row) / n for row in K0.tolist()], atol=1e-12)


def test_centring_is_that_of_scikit_learn_and_of_centred_samples():
    X = positive(12, 3)
    K0 = pairwise_kernels(X, metric="rbf")
    K = K0.copy()
    centre(K)
    np.testing.assert_allclose(K, KernelCenterer().fit_transform(K0), atol=1e-13)
    linear, Xc = X @ X.T, X - X.mean(axis=0)
    centre(linear)
    np.testing.assert_allclose(linear, Xc @ Xc.T, atol=1e-12)


def test_centring_twice_is_centring_once():
    X = positive(12, 3)
    K = pairwise_kernels(X, metric="rbf")
    centre(K)
    once = K.copy()
    np.testing.assert_allclose(centre(K), 0, atol=1e-15)
    np.testing.assert_allclose(K, once, atol=1e-15)


def test_centring_float32_keeps_its_type_and_all_its_digits():
    rng = np.random.default_rng(0)
    K = rng.uniform(0.5, 1.0, size=(2000, 2000)).astype(np.float32)
    K += K.T
    exact = K.astype(np.float64)
    centre(exact)
    means = centre(K)
    assert K.dtype == means.dtype == np.float32
    np.testing.assert_allclose(K, exact, atol=8 * np.finfo(np.float32).eps)


# --- memory -------------------------------------------------------------------------------------


def test_a_gram_matrix_that_does_not_fit_is_refused_before_it_is_allocated(monkeypatch):
    monkeypatch.setattr(kernels, "available_memory", lambda: 2**30)
    X = np.zeros((50_000, 1))
    tracemalloc.start()
    try:
        with pytest.raises(MemoryError) as caught:
            gram(X, resolve_kernel(X, "rbf", gamma=1.0))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2**20
    message = str(caught.value)
    for said in ("50,000 samples", "18.6 GiB", "1.0 GiB are free", "LandmarkMap", "float32"):
        assert said in message


def test_memory_is_checked_before_a_callable_kernel_is_called(monkeypatch):
    monkeypatch.setattr(kernels, "available_memory", lambda: 1)
    calls = []
    X = np.zeros((3, 1))
    with pytest.raises(MemoryError, match="3 samples"):
        gram(X, resolve_kernel(X, lambda A, B: calls.append(1)))
    assert not calls


def test_float32_is_no_remedy_for_float32(monkeypatch):
    monkeypatch.setattr(kernels, "available_memory", lambda: 1)
    X = np.zeros((3, 1), np.float32)
    with pytest.raises(MemoryError, match="LandmarkMap") as caught:
        gram(X, resolve_kernel(X, "rbf", gamma=1.0))
    assert "float32" not in str(caught.value)


def test_a_gram_matrix_fits_with_its_factor_beside_it_and_not_with_a_byte_less(monkeypatch):
    X = positive(10, 2)
    needed = 2 * 10 * 10 * 8
    monkeypatch.setattr(kernels, "available_memory", lambda: needed)
    assert gram(X, resolve_kernel(X)).shape == (10, 10)
    monkeypatch.setattr(kernels, "available_memory", lambda: needed - 1)
    with pytest.raises(MemoryError, match="10 samples"):
        gram(X, resolve_kernel(X))


def test_nothing_is_refused_where_the_system_does_not_say_what_is_free(monkeypatch):
    monkeypatch.setattr(kernels, "available_memory", lambda: None)
    X = positive(10, 2)
    assert gram(X, resolve_kernel(X)).shape == (10, 10)


@pytest.mark.skipif(sys.platform != "linux", reason="reads what Linux says")
def test_linux_says_how_much_memory_is_free():
    import os

    free = available_memory()
    assert isinstance(free, int)
    assert 0 < free <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
