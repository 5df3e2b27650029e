"""Matrix products through one BLAS, or on the device of a tensor.

The wheels of NumPy and SciPy each bring their own OpenBLAS, and the threads of one spin while the
other works: a loop that mixes ``@`` with SciPy's triangular solves ran three times slower on two
cores (``benchmarks/one_blas.py``). The solvers need SciPy's LAPACK, so their inner loops multiply
with SciPy's BLAS as well. The exception is :func:`large_dot`, where nearly all the time goes: it
takes the quicker one, in threads of its own that have a BLAS of one thread each.

:func:`dot` and its kin take arrays of one kind. Where tall arrays, which may be tensors, meet
small ones, which never are (see :mod:`skatter._tensors`), the words are

    inner(A, B)                    AᵀB    of tall A and B, small: it comes to the host
    combine(A, C)                  A C    of tall A and small C, tall
    subtract_combination(W, A, C)  W − A C, in place
    project_off(W, A)              W − A AᵀW, in place, without a way through the host
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import get_blas_funcs, get_lapack_funcs, qr
from sklearn.utils import gen_batches

from skatter._tensors import (
    Array,
    Tall,
    TiledCholesky,
    host,
    hstack,
    is_tensor,
    like,
    multiply,
    orthonormalised,
    subtract_product,
)
from skatter._threads import in_brief_threads

STRIP = 256  # rows of a large matrix that one product takes
LARGE = 2**20  # entries from which a matrix is worth several threads
NARROW = 8  # a matrix is narrow where the other one is this many times as large, both ways


def dot(A: Tall, B: Tall) -> Tall:
    """Return A B in Fortran order; a large contiguous operand of either order is not copied."""
    if is_tensor(A):
        return multiply(A, B)
    if not (A.size and B.size):
        return np.zeros((A.shape[0], B.shape[1]), dtype=A.dtype, order="F")
    gemm = get_blas_funcs("gemm", dtype=A.dtype)
    a, trans_a = _fortran(A)
    if trans_a and B.ndim == 2 and NARROW * B.shape[1] <= min(A.shape):
        # As Bᵀ Aᵀ, the large operand is read the way it lies and shared between threads.
        return np.asfortranarray(gemm(1.0, np.asfortranarray(B.T), a).T)
    b, trans_b = _fortran(B)
    return gemm(1.0, a, b, trans_a=trans_a, trans_b=trans_b)


def large_dot(A: Tall, W: Tall) -> Tall:
    """Return A W in Fortran order for a large A, however it lies, and few columns W.

    NumPy's wheels bring the newer OpenBLAS, which takes a sixth less time for such a product. The
    strips, and so the result, are the same for any number of threads.
    """
    if is_tensor(A):
        return multiply(A, W)
    left = np.ascontiguousarray(W.T)
    out = np.empty((len(left), len(A)), dtype=A.dtype)

    def fill(rows: slice) -> None:
        np.matmul(left, A[rows].T, out=out[:, rows])

    in_brief_threads(partial(fill, rows) for rows in gen_batches(len(A), _strip(A)))
    return out.T


def _strip(A: Array) -> int:
    return STRIP if A.size >= LARGE else max(len(A), 1)


def subtract_dot(C: Tall, A: Tall, B: Tall) -> Tall:
    """Return C - A B, overwriting ``C`` where it is in Fortran order or a tensor."""
    if is_tensor(C):
        return subtract_product(C, A, B)
    if not (A.size and B.size):
        return C
    gemm = get_blas_funcs("gemm", dtype=A.dtype)
    a, trans_a = _fortran(A)
    b, trans_b = _fortran(B)
    return gemm(-1.0, a, b, 1.0, C, trans_a=trans_a, trans_b=trans_b, overwrite_c=True)


def inner(A: Tall, B: Tall) -> Array:
    """Return AᵀB of tall arrays as a small one."""
    return host(multiply(A.T, B)) if is_tensor(A) else dot(A.T, B)


def combine(A: Tall, C: Array) -> Tall:
    """Return A C: columns of a tall array, combined as a small one says."""
    return multiply(A, like(C, A)) if is_tensor(A) else dot(A, C)


def subtract_combination(W: Tall, A: Tall, C: Array) -> Tall:
    """Return W - A C, tall less a combination of tall columns, overwriting ``W``."""
    return subtract_dot(W, A, like(C, A))


def project_off(W: Tall, A: Tall) -> Tall:
    """Return W - A Aᵀ W, overwriting ``W``: what is off the orthonormal columns of A."""
    return subtract_dot(W, A, dot(A.T, W))


def subtract_symmetric(C: Tall, A: Tall, B: Tall) -> Tall:
    """Return C - A Bᵀ - B Aᵀ in the lower triangle, overwriting ``C`` (Fortran order).

    A tensor is overwritten in both triangles.
    """
    if is_tensor(C):
        return subtract_product(C, hstack([A, B]), hstack([B, A]).T)
    syr2k = get_blas_funcs("syr2k", dtype=C.dtype)
    return syr2k(-1.0, A, B, beta=1.0, c=C, lower=True, overwrite_c=True)


def pivoted_qr(W: Tall) -> tuple[Tall, Array, Array]:
    """Return tall Q, small R and the order of the columns in W[:, order] = Q R, |R_ii| falling."""
    if not is_tensor(W):
        return qr(W, mode="economic", pivoting=True, check_finite=False)
    Q, R = orthonormalised(W)
    turn, R, order = qr(R, mode="economic", pivoting=True, check_finite=False)
    return combine(Q, turn), R, order


def plain_qr(W: Tall) -> tuple[Tall, Array]:
    return orthonormalised(W) if is_tensor(W) else qr(W, mode="economic", check_finite=False)


def cholesky_in_place(A: Tall) -> Any:
    """Return the lower Cholesky factor in the lower triangle of ``A``; the rest is left as it is.

    That of a tensor is in tiles, see :class:`skatter._tensors.TiledCholesky`.

    Raises
    ------
    numpy.linalg.LinAlgError
        If A is not positive definite.
    """
    if is_tensor(A):
        return TiledCholesky.of(A)
    potrf = get_lapack_funcs("potrf", dtype=A.dtype)
    factor, info = potrf(A, lower=True, overwrite_a=True, clean=False)
    if info:
        raise np.linalg.LinAlgError(f"leading minor {info} is not positive")
    return factor


def cholesky_solve(factor: Any, B: Tall) -> Tall:
    """Solve A X = B from the factor of :func:`cholesky_in_place`, overwriting ``B``."""
    if isinstance(factor, TiledCholesky):
        return factor.solve(B)
    # OpenBLAS's own potrs stalls on several threads where there are few right-hand sides.
    trsm = get_blas_funcs("trsm", dtype=factor.dtype)
    half = trsm(1.0, factor, B, lower=True, overwrite_b=True)
    return trsm(1.0, factor, half, lower=True, trans_a=True, overwrite_b=True)


def is_rough(factor: Any) -> bool:
    """Say whether a solution by this factor should be refined once."""
    return isinstance(factor, TiledCholesky) and factor.rough


def _fortran(A: Array) -> tuple[Array, bool]:
    """Return A in Fortran order, or its transpose and True, without a copy where possible."""
    if A.flags.f_contiguous:
        return A, False
    return (A.T, True) if A.flags.c_contiguous else (np.asfortranarray(A), False)
