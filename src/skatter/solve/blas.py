"""Matrix products through one BLAS.

The wheels of NumPy and SciPy each bring their own OpenBLAS, and the threads of one spin while the
other works: a loop that mixes ``@`` with SciPy's triangular solves ran three times slower on two
cores (``benchmarks/one_blas.py``). The solvers need SciPy's LAPACK, so their inner loops multiply
with SciPy's BLAS as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_blas_funcs, get_lapack_funcs

Array = NDArray[Any]


def dot(A: Array, B: Array) -> Array:
    """Return A B in Fortran order; a contiguous operand of either order is not copied.

    Examples
    --------
    >>> import numpy as np
    >>> dot(np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]]))
    array([[11.]])
    """
    if not (A.size and B.size):
        return np.zeros((A.shape[0], B.shape[1]), dtype=A.dtype, order="F")
    gemm = get_blas_funcs("gemm", dtype=A.dtype)
    a, trans_a = _fortran(A)
    b, trans_b = _fortran(B)
    return gemm(1.0, a, b, trans_a=trans_a, trans_b=trans_b)


def subtract_dot(C: Array, A: Array, B: Array) -> Array:
    """Return C - A B, overwriting ``C`` where it is in Fortran order."""
    if not (A.size and B.size):
        return C
    gemm = get_blas_funcs("gemm", dtype=A.dtype)
    a, trans_a = _fortran(A)
    b, trans_b = _fortran(B)
    return gemm(-1.0, a, b, 1.0, C, trans_a=trans_a, trans_b=trans_b, overwrite_c=True)


def subtract_symmetric(C: Array, A: Array, B: Array) -> Array:
    """Return C - A Bᵀ - B Aᵀ in the lower triangle, overwriting ``C`` (Fortran order)."""
    syr2k = get_blas_funcs("syr2k", dtype=C.dtype)
    return syr2k(-1.0, A, B, beta=1.0, c=C, lower=True, overwrite_c=True)


def cholesky_in_place(A: Array) -> Array:
    """Return the lower Cholesky factor in the lower triangle of ``A``; the rest is left as it is.

    Raises
    ------
    numpy.linalg.LinAlgError
        If A is not positive definite.
    """
    potrf = get_lapack_funcs("potrf", dtype=A.dtype)
    factor, info = potrf(A, lower=True, overwrite_a=True, clean=False)
    if info:
        raise np.linalg.LinAlgError(f"leading minor {info} is not positive")
    return factor


def cholesky_solve(factor: Array, B: Array) -> Array:
    """Solve A X = B from the factor of :func:`cholesky_in_place`, overwriting ``B``."""
    potrs = get_lapack_funcs("potrs", dtype=factor.dtype)
    return potrs(factor, B, lower=True, overwrite_b=True)[0]


def _fortran(A: Array) -> tuple[Array, bool]:
    """Return A in Fortran order, or its transpose and True, without a copy where possible."""
    if A.flags.f_contiguous:
        return A, False
    return (A.T, True) if A.flags.c_contiguous else (np.asfortranarray(A), False)
