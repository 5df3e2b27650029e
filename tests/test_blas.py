"""Large matrices times few columns: right, however they lie, on any number of threads."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from threadpoolctl import threadpool_limits

from skatter import SCA, USCA
from skatter._solve.blas import LARGE, large_dot


@pytest.fixture(scope="module")
def matrix():
    """More entries than one thread takes, and a last strip that is shorter."""
    A = np.random.default_rng(0).normal(size=(1100, 1050))
    assert A[:, :1000].size >= LARGE
    return A


LIES = {
    "rows together": lambda A: A,
    "columns together": np.asfortranarray,
    "a part of the rows of another": lambda A: A[:, 50:],
    "a part, transposed": lambda A: A[70:].T,
    "small": lambda A: A[:60, 30:130],
    "no columns": lambda A: A[:, :0],
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("lies", LIES.values(), ids=LIES)
@pytest.mark.parametrize("width", [0, 1, 16])
def test_a_large_product_is_the_product(matrix, lies, width, dtype):
    A = lies(matrix.astype(dtype))
    W = np.random.default_rng(1).normal(size=(A.shape[1], width)).astype(dtype)
    found = large_dot(A, W)
    assert found.dtype == dtype
    assert found.flags.f_contiguous
    reference = np.einsum("ij,jk->ik", A.astype(float), W.astype(float))
    assert_allclose(found, reference, atol=1e4 * np.finfo(dtype).eps)


def test_a_large_product_is_the_same_on_any_number_of_threads(matrix):
    W = np.random.default_rng(1).normal(size=(1050, 16))
    found = []
    for n_threads in (1, 2, 3):
        with threadpool_limits(n_threads):
            found.append(large_dot(matrix, W))
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


@pytest.mark.parametrize("model", [SCA(20, beta=0.5), SCA(beta=1.0), USCA(20)], ids=repr)
def test_a_fit_is_the_same_on_any_number_of_threads_but_for_rounding(model):
    rng = np.random.default_rng(0)
    label, domain = rng.integers(4, size=1200), np.repeat([0, 1], 600)
    X = rng.normal(size=(1200, 20)) + 2 * rng.normal(size=(4, 20))[label] + domain[:, None] / 2
    y = np.where(domain == 1, -1, label)
    found = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads):
            found.append(model.fit_transform(X, y, sample_domain=domain))
    # Far below the tolerance: all of the search takes the same way.
    assert_allclose(found[1], found[0], atol=1e-10 * np.abs(found[0]).max())
