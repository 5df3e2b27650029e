"""The dual route on torch tensors: one algebra, wherever the samples live."""

import inspect
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.linalg import solve as dense_solve
from sklearn.cluster import kmeans_plusplus
from sklearn.metrics.pairwise import pairwise_kernels

from skatter import SCA, kernels
from skatter import _tensors as tensors
from skatter._objective import Coefficients, Objective, sca
from skatter._solve import DualOperator, DualPath, canonical_order, solve_dual
from skatter._solve.blas import (
    cholesky_in_place,
    cholesky_solve,
    combine,
    dot,
    inner,
    pivoted_qr,
    plain_qr,
    project_off,
    subtract_combination,
    subtract_dot,
    subtract_symmetric,
)
from skatter._solve.small import column_signs, leading_generalised, reduced
from skatter._tensors import (
    TiledCholesky,
    check_tensor,
    cholesky,
    free_memory,
    full_precision,
    halves,
    host,
    hstack,
    identity,
    is_tensor,
    like,
    neighbours,
    places,
    products,
    require_same_place,
    take,
    vstack,
)
from skatter.domains import read_domains
from skatter.kernels import MEDIAN_SAMPLE, centre, check_gram, gram, median_distance, resolve_kernel
from skatter.scatter import Geometry, measure

NAMES = ("cosine", "laplacian", "linear", "poly", "polynomial", "rbf", "sigmoid")
TYPES = ("float32", "float64")
DIGITS = {"float32": 1e-5, "float64": 1e-12}


@pytest.fixture(scope="module")
def torch(require):
    return require("torch", "torch")


@pytest.fixture(scope="module")
def tensor(torch):
    """Make a tensor of its own memory."""

    def make(array, dtype="float64"):
        return torch.from_numpy(np.array(array, dtype=dtype))

    return make


def test_small_helpers_say_of_arrays_and_tensors_what_numpy_says(tensor, monkeypatch):
    A, B = np.random.default_rng(0).normal(size=(2, 5, 3))
    for make in (np.array, tensor):
        assert tensors.host_dtype(make(A)) == A.dtype
        assert_allclose(tensors.column_norms(make(A)), np.sqrt((A**2).sum(axis=0)))
        assert_allclose(tensors.column_dots(make(A), make(B)), np.diag(A.T @ B))
        K = make(A[:3])
        tensors.add_to_diagonal(K, 2.0)
        assert_allclose(host(K), A[:3] + 2 * np.eye(3))
        assert tensors.trace(K) == pytest.approx(np.trace(A[:3]) + 6)
    monkeypatch.setattr(places, "STRIP_BYTES", 16)
    assert list(tensors.strips(5, 8)) == [slice(0, 2), slice(2, 4), slice(4, 5)]


@pytest.mark.parametrize("n_cells", [1, 7, 60])
@pytest.mark.parametrize("lies", [np.ascontiguousarray, np.asfortranarray])
def test_a_product_with_rows_that_repeat_is_the_product(n_cells, lies):
    rng = np.random.default_rng(0)
    K = rng.normal(size=(60, 60))
    cell, table = rng.permutation(np.arange(60) % n_cells), rng.normal(size=(n_cells, 3))
    found = tensors.multiply_by_cell(lies(K + K.T), table, cell)
    assert_allclose(found, (K + K.T) @ table[cell], atol=1e-12)


@pytest.fixture
def small_tiles(monkeypatch):
    """Tiles and strips of which every problem here has several."""
    monkeypatch.setattr(cholesky, "CHOLESKY_TILE", 64)
    monkeypatch.setattr(cholesky, "SOLVE_TILE", 64)
    monkeypatch.setattr(cholesky, "UPDATE_ROWS", 64)
    monkeypatch.setattr(tensors.kernels, "GRAM_TILE", 40)
    monkeypatch.setattr(places, "STRIP_BYTES", 2**14)
    monkeypatch.setattr(neighbours, "STRIP_BYTES", 2**14)


def samples(n, p=7, seed=0):
    return np.random.default_rng(seed).normal(size=(n, p))


# --- where an array lives -----------------------------------------------------------------------


def test_torch_is_not_imported_unless_the_user_has_imported_it():
    code = """
import sys
import numpy as np
from skatter import SCA
from skatter._tensors import is_tensor
X = np.random.default_rng(0).normal(size=(12, 3))
SCA(2).fit(X, np.arange(12) % 2)
assert not is_tensor(X) and not is_tensor(None)
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_tensor_is_told_from_arrays_lists_and_nothing(tensor):
    assert is_tensor(tensor([1.0]))
    assert not any(is_tensor(x) for x in (np.zeros(2), [1.0], None, "torch.Tensor"))


@pytest.mark.parametrize("dtype", TYPES)
def test_host_arrays_come_to_the_place_and_type_of_a_tensor_and_back(torch, tensor, dtype):
    tall = tensor(samples(3), dtype)
    array = np.arange(6.0).reshape(2, 3)
    for there in (array, array[::-1], np.asfortranarray(array), array.astype(np.float32)):
        moved = like(there, tall)
        assert (moved.dtype, moved.device) == (tall.dtype, tall.device)
        assert_array_equal(host(moved), there)
        assert host(moved).dtype == dtype
    assert like(tensor(array, "float32"), tall).dtype == tall.dtype


def test_a_moved_array_can_be_written_to_without_harm_to_the_hosts(tensor):
    array = np.ones((2, 2))
    array.flags.writeable = False
    like(array, tensor([[1.0]])).mul_(5)
    assert_array_equal(array, 1)


def test_rows_are_taken_and_arrays_are_stacked_as_numpy_does(tensor):
    X, rows = samples(6), np.array([4, 0, 0, 5])
    assert_array_equal(host(take(tensor(X), rows)), X[rows])
    assert_array_equal(host(hstack([tensor(X), tensor(X[:, :2])])), np.hstack([X, X[:, :2]]))
    assert_array_equal(host(vstack([tensor(X), tensor(X[:2])])), np.vstack([X, X[:2]]))


# --- what a tensor must be ----------------------------------------------------------------------


def test_good_samples_pass_unchanged_in_the_same_memory_and_without_gradient(tensor):
    X = tensor(samples(5)).requires_grad_()
    checked = check_tensor(X, "X")
    assert checked.data_ptr() == X.data_ptr()
    assert not checked.requires_grad
    assert_array_equal(host(checked), samples(5))


@pytest.mark.parametrize(
    ("spoil", "error", "message"),
    [
        (lambda X: X.long(), TypeError, r"new is a tensor of torch.int64.*new\.float\(\)"),
        (lambda X: X.half(), TypeError, r"torch.float16.*new\.double\(\)"),
        (lambda X: X.to_sparse(), TypeError, r"new\.to_dense\(\)"),
        (lambda X: X[0], ValueError, r"two dimensions.*shape \(7,\)"),
        (lambda X: X[:, :, None], ValueError, r"shape \(50, 7, 1\).*flatten"),
        (lambda X: X[:0], ValueError, r"new is empty.*\(0, 7\)"),
        (lambda X: X[:, :0], ValueError, r"new is empty.*\(50, 0\)"),
    ],
    ids=["integers", "half", "sparse", "vector", "cube", "no-rows", "no-columns"],
)
def test_wrong_samples_are_refused_by_name_with_a_remedy(tensor, spoil, error, message):
    with pytest.raises(error, match=message):
        check_tensor(spoil(tensor(samples(50))), "new")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("rows", [(0,), (37, 41), (49,)], ids=str)
def test_the_first_row_with_a_value_that_is_not_finite_is_named(small_tiles, tensor, value, rows):
    X = samples(50)
    X[rows, 3] = value
    with pytest.raises(
        ValueError, match=rf"X has a value that is NaN or infinite in row {rows[0]}\."
    ):
        check_tensor(tensor(X, "float32"), "X")


def test_values_whose_sum_overflows_are_finite_all_the_same(small_tiles, tensor):
    X = np.full((50, 7), 3e38)
    check_tensor(tensor(X, "float32"), "X")
    X[44, 2] = np.nan
    with pytest.raises(ValueError, match=r"row 44\."):
        check_tensor(tensor(X, "float32"), "X")


def test_new_samples_must_be_where_the_fitted_ones_are(torch, tensor):
    X = samples(3)
    require_same_place(X, X.astype(np.float32), "X")
    require_same_place(tensor(X), tensor(X), "X")
    elsewhere = torch.empty((3, 2), dtype=torch.float64, device="meta")
    refused = [
        (
            X,
            tensor(X),
            r"X is a NumPy array, but .* a tensor of torch.float64 on cpu: pass torch.as",
        ),
        (
            tensor(X),
            X,
            r"X is a tensor of torch.float64 on cpu, but .*: pass X\.numpy\(force=True\)",
        ),
        (tensor(X), elsewhere, r"on meta: pass X\.to\('meta', torch.float64\)"),
        (tensor(X, "float32"), tensor(X), r"pass X\.to\('cpu', torch.float64\), or fit again"),
    ]
    for new, fitted, message in refused:
        with pytest.raises(TypeError, match=message):
            require_same_place(new, fitted, "X")


# --- precision ----------------------------------------------------------------------------------


def allowed(torch):
    """What the user allows products in float32, under all the names it has."""
    new = hasattr(torch.backends.cuda.matmul, "fp32_precision")
    modes = (torch.backends.cuda.matmul, torch.backends.mkldnn.matmul) if new else ()
    state = [mode.fp32_precision for mode in modes]
    try:
        return [*state, torch.get_float32_matmul_precision(), torch.backends.cuda.matmul.allow_tf32]
    except RuntimeError:  # torch does not answer by the old names after the new ones were used
        return state


@pytest.fixture(params=["untouched", "high", "medium", "tf32", "new tf32"])
def setting(request, torch):
    """What a user may have allowed; put back afterwards."""
    if request.param in ("high", "medium"):
        torch.set_float32_matmul_precision(request.param)
    elif request.param == "tf32":
        torch.backends.cuda.matmul.allow_tf32 = True
    elif request.param == "new tf32" and hasattr(torch.backends.cuda.matmul, "fp32_precision"):
        torch.backends.cuda.matmul.fp32_precision = "tf32"
    yield request.param
    torch.set_float32_matmul_precision("highest")


def test_products_are_in_full_precision_and_the_users_setting_comes_back(setting, torch, tensor):
    before = allowed(torch)
    with full_precision():
        inside = allowed(torch)
    with pytest.raises(KeyError), full_precision():
        raise KeyError
    X = tensor(samples(20), "float32")
    K = gram(X, resolve_kernel(X))
    centre(K)
    solve_dual(K, read_domains(np.arange(20) % 2), Objective(), 2, tol=1e-3)
    assert allowed(torch) == before
    assert {"ieee", "highest"} & set(inside)
    assert not {"tf32", "bf16", "high", "medium"} & set(inside)


def test_products_are_in_full_precision_under_an_older_torch_too(torch, monkeypatch):
    # torch before 2.9 has one setting for all, and not the names that later ones have.
    torch.set_float32_matmul_precision("high")
    with monkeypatch.context() as older:
        older.setattr(torch.backends.cuda, "matmul", SimpleNamespace())
        with full_precision():
            inside = torch.get_float32_matmul_precision()
    after = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    assert (inside, after) == ("highest", "high")


# --- products -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", TYPES)
def test_the_words_of_the_algebra_mean_the_same_on_tensors(tensor, dtype):
    rng = np.random.default_rng(0)
    W, A, B = (rng.normal(size=(30, k)) for k in (3, 4, 3))
    C = rng.normal(size=(4, 3)).astype(dtype)
    w, a, b = (tensor(M, dtype) for M in (W, A, B))
    close = {"rtol": 10 * DIGITS[dtype], "atol": 10 * DIGITS[dtype]}
    small = inner(a, b)
    assert type(small) is np.ndarray
    assert small.dtype == dtype
    assert_allclose(small, A.T @ B, **close)
    assert_allclose(host(combine(a, C)), A @ C, **close)
    assert_allclose(host(dot(a.T, b)), A.T @ B, **close)
    for result, expected in (
        (subtract_combination(w.clone(), a, C), W - A @ C),
        (subtract_dot(w.clone(), a, like(C, a)), W - A @ C),
        (project_off(w.clone(), a), W - A @ A.T @ W),
    ):
        assert is_tensor(result)
        assert_allclose(host(result), expected, **close)
    S = rng.normal(size=(30, 30))
    lower = np.tril(host(subtract_symmetric(tensor(S, dtype), w, b)))
    assert_allclose(lower, np.tril(S - W @ B.T - B @ W.T), **close)


def test_products_that_say_so_are_in_place(tensor):
    W, A = tensor(samples(9, 3)), tensor(samples(9, 2, seed=1))
    for result in (
        subtract_combination(W, A, np.ones((2, 3))),
        project_off(W, A),
        subtract_dot(W, A, tensor(np.ones((2, 3)))),
    ):
        assert result.data_ptr() == W.data_ptr()


def test_a_tall_tensor_is_orthonormalised_with_its_longest_column_first(tensor):
    W = samples(40, 5) * np.array([1.0, 5.0, 0.1, 20.0, 2.0])
    Q, R, order = pivoted_qr(tensor(W))
    assert_allclose(host(Q).T @ host(Q), np.eye(5), atol=1e-14)
    assert_allclose(host(Q) @ R, W[:, order], atol=1e-13)
    assert order[0] == 3
    assert np.all(np.diff(np.abs(np.diagonal(R))) <= 0)
    Q, R = plain_qr(tensor(W))
    assert_allclose(host(Q) @ R, W, atol=1e-13)
    assert_allclose(R, np.triu(R))


def test_signs_are_those_of_the_largest_entries(tensor):
    W = samples(11, 6)
    assert_array_equal(column_signs(tensor(W)), column_signs(W))


# --- the factorisation --------------------------------------------------------------------------


def positive_definite(n, seed=0, condition=1e4):
    Q = np.linalg.qr(np.random.default_rng(seed).normal(size=(n, n)))[0]
    A = (Q * np.geomspace(1, condition, n)) @ Q.T
    return (A + A.T) / 2


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", [1, 63, 64, 65, 200])
def test_the_tiled_factorisation_solves_as_well_as_lapack(small_tiles, tensor, n, dtype):
    A, B = positive_definite(n), samples(n, 5)
    expected = dense_solve(A, B, assume_a="pos")
    solved = cholesky_solve(cholesky_in_place(tensor(A, dtype)), tensor(B, dtype))
    assert_allclose(host(solved), expected, atol=(1e-2 if dtype == "float32" else 1e-11))
    assert_allclose(A @ host(solved), B, atol=1e4 * np.finfo(dtype).eps * np.abs(expected).max())


def test_one_tile_is_enough_where_the_matrix_is_small(tensor):
    A, B = positive_definite(40), samples(40, 2)
    solved = cholesky_solve(cholesky_in_place(tensor(A)), tensor(B))
    assert_allclose(host(solved), dense_solve(A, B, assume_a="pos"), atol=1e-11)


def test_the_factor_lies_where_the_matrix_lay_and_reads_its_lower_triangle_only(
    small_tiles, tensor
):
    A = positive_definite(150)
    lower = np.tril(A)
    lower[np.triu_indices(150, k=1)] = np.nan
    whole, half = tensor(A), tensor(lower)
    factor = TiledCholesky.of(half)
    assert factor.factor.data_ptr() == half.data_ptr()
    B = samples(150, 3)
    assert_allclose(
        host(factor.solve(tensor(B))), host(TiledCholesky.of(whole).solve(tensor(B))), atol=1e-13
    )


def test_tiles_hold_the_factor_and_on_the_diagonal_its_inverse(small_tiles, tensor):
    A = positive_definite(150)
    L = np.linalg.cholesky(A)
    tiles = host(TiledCholesky.of(tensor(A)).factor)
    assert_allclose(tiles[64:128, :64], L[64:128, :64], atol=1e-10)
    assert_allclose(tiles[128:, 64:128], L[128:, 64:128], atol=1e-10)
    for start in (0, 64, 128):
        own = slice(start, start + 64)
        assert_allclose(tiles[own, own] @ L[own, own], np.eye(len(L[own])), atol=1e-11)


def test_a_solution_overwrites_the_right_hand_side_in_any_memory_order(small_tiles, torch, tensor):
    A, B = positive_definite(100), samples(100, 4)
    expected = dense_solve(A, B, assume_a="pos")
    factor = TiledCholesky.of(tensor(A))
    columns = torch.empty((4, 130), dtype=torch.float64).T[:100]
    columns.copy_(tensor(B))
    rows = tensor(B)
    for right in (columns, rows):
        assert factor.solve(right).data_ptr() == right.data_ptr()
        assert_allclose(host(right), expected, atol=1e-11)


@pytest.mark.parametrize("minor", [1, 64, 65, 130])
def test_a_negative_direction_is_found_in_every_tile(small_tiles, tensor, minor):
    A = np.diag(np.where(np.arange(150) == minor - 1, -1.0, 1.0))
    with pytest.raises(np.linalg.LinAlgError, match=f"leading minor {minor} is not positive"):
        cholesky_in_place(tensor(A))


# --- kernels ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("gamma", ["median", None, 0.3], ids=str)
def test_kernels_of_tensors_are_those_of_scikit_learn(small_tiles, tensor, name, gamma, dtype):
    X, Y = samples(80), samples(30, seed=1)
    X[5] = 0  # no direction, where cosine wants one
    kernel = resolve_kernel(tensor(X, dtype), name, gamma=gamma)
    params = {**kernel.params}
    with_y = pairwise_kernels(Y, X, metric=name, filter_params=True, **params)
    own = pairwise_kernels(X, metric=name, filter_params=True, **params)
    close = {"rtol": 3 * DIGITS[dtype], "atol": 3 * DIGITS[dtype]}
    K = kernel(tensor(Y, dtype), tensor(X, dtype))
    assert str(K.dtype) == f"torch.{dtype}"
    assert_allclose(host(K), with_y, **close)
    assert_allclose(host(kernel(tensor(X, dtype))), own, **close)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", NAMES)
def test_the_gram_matrix_of_tensors_is_symmetric_to_the_bit(
    torch, tensor, monkeypatch, name, dtype
):
    X = tensor(samples(90), dtype)
    kernel = resolve_kernel(X, name)
    whole = gram(X, kernel)
    for rows in (1, 7, 40):
        monkeypatch.setattr(tensors.kernels, "GRAM_TILE", rows)
        K = gram(X, kernel)
        assert torch.equal(K, K.T)
        assert_allclose(host(K), host(whole), rtol=50 * DIGITS[dtype])
        if name in ("rbf", "laplacian"):
            assert torch.all(K.diagonal() == 1)


def test_no_rbf_kernel_of_near_copies_exceeds_one(tensor):
    # Rounding alone would make squared distances of nearly equal samples negative.
    X = tensor(np.repeat(50 * samples(20, 64), 20, axis=0), "float32")
    near = X + 1e-6 * tensor(samples(400, 64, seed=1), "float32")
    kernel = resolve_kernel(X, gamma=1.0)
    assert kernel(near, X).max() <= 1
    assert gram(near, kernel).max() <= 1


def test_the_gram_matrix_is_filled_in_tiles_of_which_half_are_computed(tensor, monkeypatch):
    filled = []
    rbf = tensors.kernels._FORMULAS["rbf"]

    def watch(out, X, Y, **shape):
        filled.append((len(out), out.shape[1], out.untyped_storage().data_ptr()))
        rbf(out, X, Y, **shape)

    monkeypatch.setattr(tensors.kernels, "_FORMULAS", {"rbf": watch})
    monkeypatch.setattr(tensors.kernels, "GRAM_TILE", 60)
    X = tensor(samples(100))
    K = gram(X, resolve_kernel(X, gamma=1.0))
    memory = K.untyped_storage().data_ptr()
    assert filled == [(60, 60, memory), (40, 60, memory), (40, 40, memory)]
    filled.clear()
    monkeypatch.setattr(tensors.kernels, "CROSS_TILE", 60)
    resolve_kernel(X, gamma=1.0)(X, X[:70])
    assert [shape for *shape, _ in filled] == [[60, 60], [60, 10], [40, 60], [40, 10]]


def test_a_kernel_leaves_tensors_untouched_to_the_bit(torch, tensor):
    X, Y = tensor(samples(20)), tensor(samples(9, seed=1))
    before = X.clone(), Y.clone()
    for name in NAMES:
        kernel = resolve_kernel(X, name)
        kernel(X), kernel(Y, X), gram(X, kernel)
    assert torch.equal(X, before[0])
    assert torch.equal(Y, before[1])


def test_the_rbf_kernel_far_from_the_origin_loses_no_digits(tensor):
    X = samples(40)
    near = resolve_kernel(X)(X)
    far = tensor(X + 1e6)
    assert_allclose(host(gram(far, resolve_kernel(far))), near, atol=1e-8)


@pytest.mark.parametrize("name", ["rbf", "laplacian"])
@pytest.mark.parametrize("n", [30, 3 * MEDIAN_SAMPLE])
def test_the_bandwidth_of_tensors_is_that_of_arrays(small_tiles, tensor, name, n):
    X = samples(n, 3)
    expected = median_distance(X, name, random_state=3)
    assert median_distance(tensor(X), name, random_state=3) == pytest.approx(expected, rel=1e-12)
    single = median_distance(tensor(X, "float32"), name, random_state=3)
    assert single == pytest.approx(expected, rel=1e-2)


def test_the_median_heuristic_brings_no_sample_to_the_host(tensor, monkeypatch):
    moved = []
    original = tensors.host

    def watch(x):
        moved.append(tuple(x.shape))
        return original(x)

    for module in (tensors, *filter(inspect.ismodule, vars(tensors).values())):
        if hasattr(module, "host"):
            monkeypatch.setattr(module, "host", watch)
    median_distance(tensor(samples(3 * MEDIAN_SAMPLE, 4)))
    assert moved == [(3 * MEDIAN_SAMPLE,)]


@pytest.mark.parametrize("name", ["chi2", "additive_chi2"])
def test_kernels_that_tensors_do_not_have_are_refused_with_a_remedy(tensor, name):
    X = tensor(np.abs(samples(9)))
    with pytest.raises(ValueError, match=r"cosine, laplacian, linear.*rbf.*numpy\(force=True\)"):
        resolve_kernel(X, name)
    with pytest.raises(ValueError, match="On tensors kernel must be one of"):
        resolve_kernel(host(X), name)(X)


def test_a_callable_kernel_gets_tensors_and_gives_one(torch, tensor):
    X, Y = tensor(samples(9), "float32"), tensor(samples(4, seed=1), "float32")
    kernel = resolve_kernel(
        X, lambda A, B, power: (A @ B.T).double() ** power, kernel_params={"power": 2}
    )
    K = kernel(Y, X)
    assert K.dtype == torch.float32
    assert_allclose(host(K), (host(Y) @ host(X).T) ** 2, rtol=1e-5)


def test_what_a_callable_returns_is_copied_before_anything_is_done_to_it(torch, tensor):
    X = tensor(samples(9))
    kept = X @ X.T
    before = kept.clone()
    centre(gram(X, resolve_kernel(X, lambda A, B: kept)))
    centre(gram(kept, resolve_kernel(kept, "precomputed")))
    assert torch.equal(kept, before)


def test_a_callable_that_does_not_know_tensors_is_refused_with_a_remedy(tensor):
    X = tensor(samples(9))
    with pytest.raises(TypeError, match=r"returned ndarray for tensors.*numpy\(force=True\)"):
        resolve_kernel(X, lambda A, B: host(A @ B.T))(X)
    with pytest.raises(ValueError, match=r"returned shape \(9,\) for 9 and 9 samples"):
        resolve_kernel(X, lambda A, B: A[:, 0])(X)


def test_means_of_float32_rows_are_taken_in_float64(tensor):
    X = (1e4 + samples(30_000, 2)).astype(np.float32)
    means = host(tensors.column_means(tensor(X, "float32")))
    assert_allclose(means, X.astype(np.float64).mean(axis=0), rtol=1e-13)


# --- Gram matrices ------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", TYPES)
def test_centring_a_tensor_is_centring_the_array_and_keeps_its_symmetry(
    small_tiles, torch, tensor, dtype
):
    A = np.random.default_rng(0).uniform(size=(150, 150))
    K = tensor(A + A.T, dtype)
    expected = (A + A.T).astype(dtype).astype(np.float64)
    H = np.eye(150) - 1 / 150
    means = centre(K)
    assert means.dtype == K.dtype
    close = 8 * np.finfo(dtype).eps
    assert_allclose(host(means), expected.mean(axis=0), atol=close)
    assert_allclose(host(K), H @ expected @ H, atol=close)
    assert torch.equal(K, K.T)


def test_samples_that_coincide_have_a_centred_tensor_of_zeros(tensor):
    K = tensor(np.full((60, 60), 0.1), "float32")
    K += 1e-9 * tensor(samples(60, 60), "float32")
    centre(K)
    assert not K.any()


def test_a_precomputed_tensor_must_be_square_and_symmetric(small_tiles, tensor):
    X = samples(70)
    K = tensor(X @ X.T)
    assert check_gram(K) is K
    K[3, 4] *= 1 + 1e-14
    assert check_gram(K) is K
    for i, j in ((0, 69), (69, 0), (35, 34)):
        wrong = K.clone()
        wrong[i, j] += 1e-3
        with pytest.raises(ValueError, match="symmetric Gram matrix"):
            check_gram(wrong)
    with pytest.raises(ValueError, match=r"square Gram matrix.*\(70, 7\)"):
        check_gram(tensor(X))


# --- memory -------------------------------------------------------------------------------------


def test_a_gram_matrix_that_a_card_cannot_hold_is_refused_with_its_name_and_remedies(
    tensor, monkeypatch
):
    monkeypatch.setattr(tensors, "free_memory", lambda device: 2**30)
    X = tensor(np.zeros((50_000, 1)))
    with pytest.raises(MemoryError) as caught:
        gram(X, resolve_kernel(X, gamma=1.0))
    message = str(caught.value)
    for said in ("50,000", "18.6 GiB", "1.0 GiB are free on cpu", "float32", "feature_map"):
        assert said in message
    assert "solver='iterative'" in message


def test_the_memory_of_tensors_on_the_processor_is_the_hosts(tensor, monkeypatch):
    monkeypatch.setattr(kernels, "available_memory", lambda: 2**30)
    X = tensor(np.zeros((50_000, 1)), "float32")
    with pytest.raises(MemoryError, match=r"9\.3 GiB.*1\.0 GiB are free\. Use"):
        gram(X, resolve_kernel(X, gamma=1.0))


def test_free_memory_of_a_card_is_what_it_has_and_what_torch_keeps(torch, monkeypatch):
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (100, 1000))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: 50)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: 20)
    assert free_memory(SimpleNamespace(type="cuda")) == 130
    assert free_memory(SimpleNamespace(type="cpu")) is None
    assert free_memory(None) is None


# --- scatters and coefficients ------------------------------------------------------------------


def shifted(n, labelled="some", *, seed=0, p=8, n_classes=4):
    """Samples of three domains in canonical order, with their view."""
    rng = np.random.default_rng(seed)
    label, domain = rng.integers(n_classes, size=n), rng.integers(3, size=n)
    X = rng.normal(size=(n, p)) + 1.5 * rng.normal(size=(n_classes, p))[label]
    X += 0.7 * rng.normal(size=(3, p))[domain]
    known = {"all": domain >= 0, "none": domain < 0, "some": domain < 2}[labelled]
    view = read_domains(np.where(known, label, -1), domain, labelled=known)
    order = canonical_order(view)
    return X[order], view.take(order)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("labelled", ["all", "none", "some"])
def test_scatters_of_tensors_are_those_of_arrays(small_tiles, tensor, labelled, dtype):
    X, view = shifted(120, labelled)
    X = X.astype(dtype) + 100
    K = pairwise_kernels(X.astype(np.float64), metric="rbf", gamma=0.05)
    close = 1e-10 if dtype == "float64" else 1e-4
    rows = measure(Geometry.of_features(tensor(X, dtype)), view)
    assert all(type(value) is float for value in rows)
    assert_allclose(rows, measure(Geometry.of_features(X.astype(np.float64)), view), rtol=1e-6)
    assert_allclose(
        measure(Geometry.of_gram(tensor(K, dtype)), view),
        measure(Geometry.of_gram(K), view),
        rtol=close,
    )


@pytest.mark.parametrize("labelled", ["all", "none", "some"])
def test_coefficients_act_on_tensors_as_on_arrays(tensor, labelled):
    X, view = shifted(60, labelled)
    objective = Objective(0.3, 0.7, 2.0, 3.0, 0.5)
    here, there = Coefficients(view), Coefficients.like(tensor(X), view)
    assert_allclose(host(there.numerator(objective, tensor(X))), here.numerator(objective, X))
    assert_allclose(
        host(there.denominator(objective, tensor(X))), here.denominator(objective, X), atol=1e-14
    )
    found = Coefficients.like(tensor(X), view).centre_classes(tensor(X))
    assert_allclose(host(found), Coefficients(view).centre_classes(X), atol=1e-14)


def test_coefficients_take_the_type_of_what_they_are_made_for_and_move_once(torch, tensor):
    X, view = shifted(60)
    coefficients = Coefficients.like(tensor(X, "float32"), view)
    assert coefficients.between.dtype == coefficients.nuisance[0].dtype == torch.float32
    assert coefficients.between is coefficients.between
    assert Coefficients.like(X, view).device is None


# --- the dual route -----------------------------------------------------------------------------


def centred_gram(X):
    K = pairwise_kernels(X, metric="rbf", gamma=0.04) + 0.01 * np.eye(len(X))
    centre(K)
    return K


def oriented(Z):
    return Z * column_signs(Z)


def assert_same(found, expected, close):
    """Eigenvalues, coefficients and projections; signs are the largest entry's."""
    assert type(found.eigenvalues) is type(found.residuals) is np.ndarray
    assert is_tensor(found.coefficients)
    assert is_tensor(found.projections)
    assert len(found.eigenvalues) == len(expected.eigenvalues) > 0
    assert_allclose(found.eigenvalues, expected.eigenvalues, rtol=close)
    for tensors_, arrays in (
        (found.projections, expected.projections),
        (found.coefficients, expected.coefficients),
    ):
        size = np.abs(arrays).max()
        assert_allclose(oriented(host(tensors_)), oriented(arrays), atol=close * size)


def weights(view, beta, delta, *, normalize=True):
    if not view.n_labelled:
        return Objective(domain=delta, ridge=1e-3)
    ridge = 1e-3 if normalize else 1.0
    return sca(beta, delta, ridge=ridge, normalize=normalize, n_labelled=view.n_labelled)


@pytest.mark.parametrize("n", [90, 620])
@pytest.mark.parametrize("delta", [0.0, 1.0])
@pytest.mark.parametrize(
    ("labelled", "beta"),
    [("none", 0.0), ("some", 0.0), ("some", 0.3), ("some", 1.0), ("all", 0.3), ("all", 1.0)],
)
def test_tensors_have_the_components_of_arrays(small_tiles, tensor, labelled, beta, delta, n):
    X, view = shifted(n, labelled)
    K = centred_gram(X)
    objective = weights(view, beta, delta)
    k = 3 if beta == 1 else 6
    expected = solve_dual(K, view, objective, k, tol=1e-10)
    assert_same(solve_dual(tensor(K), view, objective, k, tol=1e-10), expected, 1e-8)


@pytest.mark.parametrize("solver", ["dense", "lanczos"])
def test_both_solvers_work_on_tensors_whatever_the_size(tensor, solver):
    for n in (60, 560):
        X, view = shifted(n)
        K = centred_gram(X)
        objective = weights(view, 0.3, 1.0, normalize=False)
        expected = solve_dual(K, view, objective, 5, tol=1e-10, solver="dense")
        found = solve_dual(tensor(K), view, objective, 5, tol=1e-10, solver=solver)
        assert_same(found, expected, 1e-8)
        assert found.residuals.max() < 1e-7


@pytest.mark.parametrize("n", [90, 620])
@pytest.mark.parametrize(
    ("labelled", "beta"), [("none", 0.0), ("some", 0.3), ("all", 0.3), ("some", 1.0)]
)
def test_single_precision_stays_single_and_is_right_to_its_digits(
    small_tiles, torch, tensor, labelled, beta, n
):
    X, view = shifted(n, labelled)
    K = centred_gram(X)
    objective = weights(view, beta, 1.0)
    k = 3 if beta == 1 else 4
    expected = solve_dual(K, view, objective, k, tol=1e-9)
    found = solve_dual(tensor(K, "float32"), view, objective, k, tol=1e-4)
    assert found.coefficients.dtype == found.projections.dtype == torch.float32
    assert found.eigenvalues.dtype == found.residuals.dtype == np.float32
    assert_allclose(found.eigenvalues, expected.eigenvalues, rtol=1e-4)
    size = np.abs(expected.projections).max()
    assert_allclose(
        oriented(host(found.projections)), oriented(expected.projections), atol=1e-2 * size
    )
    assert found.residuals.max() < 1e-3


@pytest.mark.parametrize("beta", [0.3, 1.0])
def test_the_tensor_is_read_and_never_written(small_tiles, torch, tensor, beta):
    X, view = shifted(560)
    K = tensor(centred_gram(X))
    before = K.clone()
    solve_dual(K, view, weights(view, beta, 1.0), 3, tol=1e-6)
    assert torch.equal(K, before)


def test_a_part_of_a_larger_tensor_is_solved_where_it_lies(small_tiles, tensor):
    X, view = shifted(200)
    K = centred_gram(X)
    large = tensor(np.full((230, 260), np.nan))
    part = large[10:210, 40:240]
    part.copy_(tensor(K))
    objective = weights(view, 0.3, 1.0)
    expected = solve_dual(K, view, objective, 5, tol=1e-10)
    assert_same(solve_dual(part, view, objective, 5, tol=1e-10), expected, 1e-8)
    assert_same(solve_dual(part.T, view, objective, 5, tol=1e-10), expected, 1e-8)


def test_two_solutions_on_tensors_have_identical_bits(torch, tensor):
    X, view = shifted(560)
    K = tensor(centred_gram(X))
    first, second = (solve_dual(K, view, weights(view, 0.3, 1.0), 6, tol=1e-8) for _ in range(2))
    assert_array_equal(first.eigenvalues, second.eigenvalues)
    assert torch.equal(first.projections, second.projections)
    assert torch.equal(first.coefficients, second.coefficients)


@pytest.mark.parametrize("solver", ["dense", "lanczos"])
def test_a_tensor_that_is_not_positive_semidefinite_is_refused_with_a_remedy(
    small_tiles, tensor, solver
):
    X, view = shifted(200)
    K = tensor(-centred_gram(X))
    with pytest.raises(ValueError, match=r"not positive semi-definite.*Choose another kernel"):
        solve_dual(K, view, weights(view, 0.3, 1.0), 3, tol=1e-6, solver=solver)
    with pytest.raises(ValueError, match="positive semi-definite"):
        solve_dual(K, view, Objective(domain=1e4, ridge=1e-3), 3, tol=1e-6, solver=solver)


def test_the_operator_on_tensors_is_its_definition(small_tiles, tensor):
    X, view = shifted(150)
    K, objective = centred_gram(X), weights(view, 0.3, 1.0)
    within = objective.within_class / view.n_labelled
    S = Coefficients(view).centre_classes(np.eye(150))
    expected = K @ np.linalg.inv(objective.ridge * np.eye(150) + within * S @ K)
    Kt = tensor(K)
    operator = DualOperator(Kt, Coefficients.like(Kt, view), objective)
    W = samples(150, 4)
    kept = tensor(W)
    close = {"rtol": 1e-7, "atol": 1e-9 * np.abs(expected).max()}
    assert_allclose(host(operator(kept)), expected @ W, **close)
    assert_allclose(host(operator.direct(kept)), expected @ W, **close)
    assert_allclose(host(operator(identity(operator.K))), expected, **close)
    assert_array_equal(host(kept), W)


def test_solutions_by_a_rough_factor_are_refined(small_tiles, tensor, monkeypatch):
    X, view = shifted(150)
    K, objective = centred_gram(X), weights(view, 0.3, 1.0)
    W, factorise = tensor(samples(150, 4)), TiledCholesky.of
    operator = DualOperator(tensor(K), Coefficients.like(W, view), objective)

    def with_error(rough):
        def near(A):
            return TiledCholesky(factorise(A * (1 + 1e-5)).factor, 64, rough)

        monkeypatch.setattr(TiledCholesky, "of", near)
        other = DualOperator(tensor(K), Coefficients.like(W, view), objective)
        found = [np.abs(host(other.direct(W) - operator.direct(W))).max()]
        return [*found, np.abs(host(other(W) - operator(W))).max()]

    assert np.all(np.array(with_error(rough=True)) < 1e-4 * np.array(with_error(rough=False)))


def test_one_space_on_tensors_serves_a_whole_grid(small_tiles, tensor):
    X, view = shifted(560)
    K = centred_gram(X)
    settings = [weights(view, beta, delta) for beta in (0.0, 0.3) for delta in (0.0, 10.0)]
    Kt = tensor(K)
    operator = DualOperator(Kt, Coefficients.like(Kt, view), settings[0])
    path = DualPath(operator, tol=1e-9)
    for objective, found in zip(settings, path.solve(settings, 4), strict=True):
        expected = solve_dual(K, view, objective, 4, tol=1e-10)
        assert_allclose(found.eigenvalues, expected.eigenvalues, rtol=1e-8)
        size = np.abs(expected.projections).max()
        assert_allclose(
            oriented(host(path.projections(found))),
            oriented(expected.projections),
            atol=1e-6 * size,
        )


# --- models that move -----------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"kernel": "linear", "solver": "primal"}], ids=str)
def test_a_model_works_where_it_was_moved_to(torch, options):
    X, view = shifted(80)
    y = np.where(view.labelled, view.label, -1)
    on_torch = SCA(2, **options).fit(torch.from_numpy(X), y, sample_domain=view.domain)
    Z = host(on_torch.transform(torch.from_numpy(X)))
    on_numpy = on_torch.to("numpy")
    assert isinstance(on_numpy.transform(X), np.ndarray)
    assert_allclose(on_numpy.transform(X), Z, rtol=1e-12, atol=1e-12 * np.abs(Z).max())
    back = on_numpy.to("cpu")
    assert_allclose(host(back.transform(torch.from_numpy(X))), Z, rtol=1e-12, atol=1e-12)
    with pytest.raises(TypeError, match="NumPy array"):
        on_torch.transform(X)
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match=r"no GPU .* 'cpu' or 'numpy'"):
            on_numpy.to("cuda")


def test_a_model_of_sparse_samples_stays_on_numpy(torch):
    X, view = shifted(80)
    y = np.where(view.labelled, view.label, -1)
    model = SCA(2).fit(sparse.csr_array(X), y, sample_domain=view.domain)
    with pytest.raises(TypeError, match="sparse"):
        model.to("cpu")


# --- what cards do in another way -----------------------------------------------------------------


def test_a_product_of_halves_is_right_to_22_bits(tensor):
    A = tensor(samples(60, 21) * np.geomspace(1, 1e-3, 60)[:, None], "float32")
    scale = halves.scale_of_halves(A.abs().max())
    assert 2**14 <= scale * A.abs().max() <= 2**15
    left, right = halves.halves(A, scale)
    assert str(left.dtype) == "torch.float16"
    assert left.shape[1] % 8 == 0
    product = host(left.double() @ right.double().T) / scale**2
    exact = host(A.double() @ A.double().T)
    sizes = np.sqrt(np.outer(np.diag(exact), np.diag(exact)))
    assert np.abs(product - exact).max() < 2.0**-20 * sizes.max()
    assert np.abs((product - exact) / sizes).max() < 2.0**-19


def test_squared_distances_from_halves_are_those_of_samples(tensor, monkeypatch):
    monkeypatch.setattr(tensors.kernels, "products_of_halves_pay", lambda A: True)
    X, Y = 3 * samples(40, 9), 3 * samples(25, 9, seed=1)
    left, right, factor = tensors.kernels._with_norms(
        tensor(X, "float32"), tensor(Y, "float32"), 0.25
    )
    found = factor * host(left.double() @ right.double().T)
    expected = -0.25 * np.square(X[:, None] - Y).sum(axis=2)
    assert_allclose(found, expected, atol=2e-6 * np.abs(expected).max())


def test_halves_are_for_float32_on_cards_that_multiply_them_faster(tensor):
    assert not halves.products_of_halves_pay(tensor(samples(3), "float32"))


@pytest.mark.parametrize("dtype", TYPES)
def test_columns_that_lie_apart_are_orthonormalised_by_inner_products(tensor, dtype):
    W = samples(80, 6) * np.array([1, 1e6, 1e-6, 1, 10, 1e3])
    Q, R = products._by_inner_products(tensor(W, dtype))
    assert_allclose(host(Q).T @ host(Q), np.eye(6), atol=20 * np.finfo(dtype).eps)
    assert_allclose(R, np.triu(R))
    assert_allclose(
        host(Q) @ R / np.linalg.norm(W, axis=0), W / np.linalg.norm(W, axis=0), atol=1e-6
    )


def test_columns_that_depend_on_each_other_are_left_to_householder(tensor):
    W = samples(50, 4)
    for column in (W[:, 1] + 1e-9 * W[:, 2], 0 * W[:, 1]):
        W[:, 3] = column
        assert products._by_inner_products(tensor(W)) is None


@pytest.mark.parametrize("n", [130, 250, 520])
def test_tiles_that_were_joined_solve_alike(small_tiles, tensor, monkeypatch, n):
    monkeypatch.setattr(cholesky, "SOLVE_TILE", 256)
    A, B = positive_definite(n), samples(n, 3)
    factor = cholesky_in_place(tensor(A))
    assert factor.tile > 64
    assert_allclose(A @ host(cholesky_solve(factor, tensor(B))), B, atol=1e-9)


def test_small_problems_have_the_solutions_of_lapack_wherever_they_are_solved(torch):
    A, C, here = samples(30, 30), positive_definite(30, condition=50), torch.device("cpu")
    A = A + A.T
    expected, _ = leading_generalised(A, C, 4)
    values, W = tensors.generalised_on_card(A, C, 4, here)
    assert_allclose(values, expected)
    assert_allclose(A @ W, C @ W * values, atol=1e-9)
    assert_allclose(W.T @ C @ W, np.eye(4), atol=1e-10)
    values, V = tensors.leading_on_card(A, 3, here)
    assert_allclose(values, np.linalg.eigvalsh(A)[::-1][:3])
    assert_allclose(A @ V, V * values, atol=1e-10)
    for found, expected in zip(tensors.reduced_on_card(A, C, here), reduced(A, C), strict=True):
        assert_allclose(found, expected, atol=1e-10)
    with pytest.raises(np.linalg.LinAlgError, match="leading minor 1"):
        tensors.lower_on_card(-C, here)


@pytest.mark.parametrize("table", [True, False])
def test_landmarks_on_tensors_are_drawn_as_scikit_learn_draws_them(tensor, monkeypatch, table):
    monkeypatch.setattr(neighbours, "STRIP_BYTES", 2**28 if table else 1)
    X = samples(300, 5)
    found = tensors.spread_rows(tensor(X), 40, np.random.RandomState(3))
    _, expected = kmeans_plusplus(X, 40, random_state=np.random.RandomState(3))
    assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", TYPES)
def test_moments_of_columns_are_those_of_numpy(small_tiles, tensor, dtype):
    X = (5 + samples(700, 3)).astype(dtype)
    for found, expected in zip(
        tensors.moments_of_columns(tensor(X, dtype)), tensors.moments_of_columns(X), strict=True
    ):
        assert_allclose(found, expected, rtol=1e-6 if dtype == "float32" else 1e-12)
