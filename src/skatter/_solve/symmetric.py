"""Leading eigenpairs of a symmetric positive semi-definite operator, and what is built on them.

:func:`leading_pairs` needs nothing but products; small problems are solved whole. On it stand

* :func:`solve_pencil`: A w = λ C w where C is a diagonal plus a few columns, or has a Cholesky
  factor, so that one knows R with R Rᵀ = C⁻¹ and looks at Rᵀ A R;
* :func:`principal_axes`: principal component analysis of dense or sparse samples, to a tolerance
  that is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import sparse
from scipy.linalg import get_blas_funcs, qr, solve_triangular
from sklearn.utils import gen_batches

from skatter._checks import seeded
from skatter._solve.blas import cholesky_in_place, dot, subtract_dot
from skatter._solve.convergence import Pace, excess, widest_cluster, with_enough_directions
from skatter._solve.lanczos import BLOCK, DENSE, Krylov, Operator, lanczos, orthonormal
from skatter._solve.small import column_signs, leading
from skatter._solve.solution import numerical_rank, relative_residuals
from skatter._tensors import (
    Array,
    Tall,
    copied,
    device_of,
    fortran,
    host,
    is_double,
    random_columns,
    to_device,
)

SMALL_GRAM, LARGE_GRAM = 1_500, 5_000
"""Features or samples up to which a matrix of that size is solved whole, and made at all."""


SINGLE_TOL = 1e-3  # tolerance of principal axes that single precision may meet

EQUAL = 1e-4  # relative gap below which no tolerance, however loose, tells eigenvalues apart

STRIP = 256
"""Samples that are multiplied at a time: they stay in the cache until their transpose is needed."""


class Eigenpairs(NamedTuple):
    """Largest eigenvalues of A w = λ C w, largest first, with vectors WᵀCW = I.

    ``residuals`` are ‖T v − λ v‖/λ for the symmetric operator T that was looked at, with unit v.
    """

    values: Array
    vectors: Tall
    residuals: Array


def leading_pairs(
    apply: Operator,
    size: int,
    k: int,
    *,
    tol: float,
    dtype: Any = np.float64,
    device: Any = None,
    random_state: Any = None,
) -> Eigenpairs:
    """Return the ``k`` largest eigenpairs of a positive semi-definite operator.

    On a torch ``device`` the operator takes tensors, and the vectors are one.
    """
    k = min(k, size)
    if size <= DENSE or 4 * k > size:
        T = host(apply(to_device(np.eye(size, dtype=dtype, order="F"), device)))
        values, vectors = leading((T + T.T) / 2, k, device)
        return within_rank(values, to_device(vectors, device), np.zeros_like(values))
    rng = seeded(random_state)
    outside = to_device(np.empty((size, 0), dtype=dtype), device)

    def draw(count: int) -> Tall:
        return fortran(random_columns(rng, count, outside))

    def find(n_random: int) -> tuple[Eigenpairs, int, bool]:
        first = orthonormal(draw(n_random))
        krylov = lanczos(apply, first, _Enough(k, tol, device), draw, outside)
        values, Y = leading(krylov.matrix, k, device)
        found = within_rank(values, krylov.lift(Y), krylov.residual_norms(Y))
        return found, widest_cluster(found.values, min(10 * tol, EQUAL)), len(krylov.matrix) == size

    return with_enough_directions(find, BLOCK, size)


def within_rank(values: Array, vectors: Tall, residuals: Array) -> Eigenpairs:
    """Keep the pairs above the numerical rank; residuals become relative."""
    rank = numerical_rank(values)
    return Eigenpairs(values[:rank], vectors[:, :rank], residuals[:rank] / values[:rank])


class _Enough:
    def __init__(self, k: int, tol: float, device: Any) -> None:
        self._k, self._tol, self._device = k, tol, device
        self._pace = Pace(first_look=1)

    def __call__(self, krylov: Krylov) -> bool:
        if not self._pace.step() or len(krylov.matrix) <= 2 * self._k:
            return False
        values, Y = leading(krylov.matrix, self._k, self._device)
        over = excess(values, krylov.residual_norms(Y), self._tol)
        if over > 1:
            self._pace.plan(over)
        return over <= 1


class Root(Protocol):
    """R with R Rᵀ = C⁻¹ for a symmetric positive definite C."""

    def times(self, W: Tall) -> Tall:
        """Return R W; may overwrite nothing of W."""

    def transposed_times(self, W: Tall) -> Tall:
        """Return Rᵀ W; may overwrite W."""


class DiagonalPlusThin:
    """R for C = diag(g) + U Uᵀ with few columns U: no factorisation of anything large.

    With V = diag(g)^-½ U = Q diag(s) Pᵀ, R = diag(g)^-½ (I − Q diag(c) Qᵀ), c = 1 − (1 + s²)^-½.
    It lives where U does; g is on the host.
    """

    def __init__(self, g: Array, U: Tall) -> None:
        device = device_of(U)
        scale = (1 / np.sqrt(g))[:, None]
        Q, s, _ = np.linalg.svd(scale * host(U), full_matrices=False)
        shrink = (1 - 1 / np.sqrt(1 + s**2))[:, None].astype(Q.dtype)
        self._scale, self._shrink = to_device(scale, device), to_device(shrink, device)
        self._Q = to_device(np.asfortranarray(Q), device)

    def times(self, W: Tall) -> Tall:
        out = copied(W)
        out = subtract_dot(out, self._Q, self._shrink * dot(self._Q.T, W))
        out *= self._scale
        return out

    def transposed_times(self, W: Tall) -> Tall:
        out = fortran(self._scale * W)
        return subtract_dot(out, self._Q, self._shrink * dot(self._Q.T, out))


class CholeskyRoot:
    """R = L⁻ᵀ for C = L Lᵀ; C is overwritten (Fortran order).

    Raises
    ------
    numpy.linalg.LinAlgError
        If C is not positive definite.
    """

    def __init__(self, C: Array) -> None:
        self._L = cholesky_in_place(C)

    def times(self, W: Array) -> Array:
        return solve_triangular(self._L, W, lower=True, trans="T", check_finite=False)

    def transposed_times(self, W: Array) -> Array:
        return solve_triangular(self._L, W, lower=True, check_finite=False)

    def inverse_transposed_times(self, W: Array) -> Array:
        trmm = get_blas_funcs("trmm", dtype=self._L.dtype)
        return trmm(1.0, self._L, W, lower=True)


def solve_pencil(
    numerator: Operator,
    root: Root,
    size: int,
    k: int,
    *,
    tol: float,
    dtype: Any = np.float64,
    device: Any = None,
    random_state: Any = None,
) -> Eigenpairs:
    """Return the ``k`` largest eigenpairs of A w = λ C w, on ``device``."""
    pairs = leading_pairs(
        lambda V: root.transposed_times(numerator(root.times(V))),
        size,
        k,
        tol=tol,
        dtype=dtype,
        device=device,
        random_state=random_state,
    )
    return pairs._replace(vectors=root.times(fortran(pairs.vectors)))


class PrincipalAxes(NamedTuple):
    """Mean, variances (over n) and directions, as columns, of a sample; largest variance first."""

    mean: Array
    variances: Array
    directions: Array


def principal_axes(X: Any, k: int, *, tol: float = 1e-9, random_state: Any = None) -> PrincipalAxes:
    """Return the ``k`` leading principal axes, or fewer where the rank is lower.

    ‖C v − λ v‖ ≤ ``tol`` λ for the covariance C, each axis v and its variance λ, as far as the
    precision of the samples goes. Where ``tol`` allows it, axes are sought in single precision and
    checked in double; if one fails, all are sought again. Of few samples or features they are
    exact to rounding.
    """
    size = min(X.shape)
    mean = np.asarray(X.mean(axis=0), dtype=X.dtype).ravel()
    if tol >= SINGLE_TOL and is_double(X) and size > max(SMALL_GRAM, 4 * k):
        # Rounding adds a little to the residuals that the search sees.
        basis = _rough_axes(X, mean, k, 0.9 * tol, random_state)
        axes, residuals = _checked(X, mean, basis)
        if len(residuals) == k and residuals.max() <= tol:
            return axes
    return _double_axes(X, mean, k, tol, random_state)


def _rough_axes(X: Array, mean: Array, k: int, tol: float, random_state: Any) -> Array:
    """Return an orthonormal basis of the leading axes, sought in single precision."""
    # Of length one as a whole, samples of any size are within its range.
    scale = 1 / (np.linalg.norm(X) or 1)
    rough = np.empty(X.shape, np.float32)
    for rows in gen_batches(len(X), STRIP):
        rough[rows] = (X[rows] - mean) * scale
    pairs = leading_pairs(
        lambda W: _scatter_times(rough, W),
        X.shape[1],
        k,
        tol=tol,
        dtype=np.float32,
        random_state=random_state,
    )
    return qr(pairs.vectors.astype(X.dtype), mode="economic", check_finite=False)[0]


def _checked(X: Array, mean: Array, basis: Array) -> tuple[PrincipalAxes, Array]:
    """Return the best axes in the span of a basis, and ‖C v − λ v‖/‖C v‖ of each."""
    image = _scatter_times(X, basis, mean)
    values, turn = leading(dot(basis.T, image), basis.shape[1])
    directions = dot(basis, turn)
    residuals = relative_residuals(dot(image, turn), directions * values)
    return PrincipalAxes(mean, values / len(X), directions * column_signs(directions)), residuals


def _scatter_times(X: Array, W: Array, mean: Any = None) -> Array:
    """Return XᵀX W for samples that are centred, or have their ``mean`` subtracted here."""
    W = np.asfortranarray(W.T)
    negative = np.zeros(W.shape, dtype=W.dtype, order="F")
    for rows in gen_batches(len(X), STRIP):
        strip = X[rows] if mean is None else X[rows] - mean
        negative = subtract_dot(negative, dot(W, strip.T), strip)
    return np.asfortranarray(-negative.T)


def _double_axes(X: Any, mean: Array, k: int, tol: float, random_state: Any) -> PrincipalAxes:
    """Find axes in the precision of the samples.

    Sparse samples are multiplied as they are, and never centred. Of dense ones the smaller of XᵀX
    and XXᵀ is made, unless it is very large: dozens of products with it take less time than those
    with X and Xᵀ.
    """
    n, p = X.shape
    X = X if sparse.issparse(X) else np.asarray(X - mean, order="C")
    centred, transposed = _centred_products(X, mean)
    size, gram = min(n, p), None
    if size <= LARGE_GRAM and not sparse.issparse(X):
        gram = X.T @ X if p <= n else X @ X.T
    if gram is not None and size <= SMALL_GRAM:
        values, vectors = leading(gram, k)
        pairs = within_rank(values, vectors, np.zeros_like(values))
    else:
        first, second = (centred, transposed) if p <= n else (transposed, centred)
        pairs = leading_pairs(
            lambda W: second(first(W)) if gram is None else dot(gram, W),
            size,
            k,
            tol=tol,
            dtype=X.dtype,
            random_state=random_state,
        )
    directions = pairs.vectors
    if p > n:
        # Small variances leave the images of orthonormal vectors orthogonal to few digits.
        images = transposed(np.asfortranarray(directions)) / np.sqrt(pairs.values)
        directions = qr(images, mode="economic", check_finite=False)[0]
    signs = column_signs(directions).astype(X.dtype)
    return PrincipalAxes(mean, pairs.values / n, directions * signs)


def _centred_products(
    X: Any, mean: Array
) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
    """Products with the centred samples and with their transpose; dense ones are centred."""
    if sparse.issparse(X):
        return (
            lambda W: np.asfortranarray(X @ W - mean @ W),
            lambda W: np.asfortranarray(X.T @ W - np.outer(mean, W.sum(axis=0))),
        )
    return lambda W: dot(X, W), lambda W: dot(X.T, W)
