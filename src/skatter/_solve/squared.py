"""K (I − h hᵀ) K w = λ (μ I + K E Eᵀ K) w from one Krylov space of K, a product with K a step.

The way of :func:`~skatter._solve.symmetric.solve_pencil` would be a Krylov space of an operator
that holds K twice. But both sides are K², up to a few columns: let V be a basis of the Krylov space
of K whose first block contains h and E, and V₋ all of it but its last block. Then K V₋ = V J₋
exactly, with J₋ the first columns of J = Vᵀ K V, so that on V₋

    left   = J₋ᵀ (I − η ηᵀ) J₋            η the coordinates of h in V
    right  = μ I + J₋ᵀ ε εᵀ J₋            ε the coordinates of E in V

without error, and the residual of w = V₋ y is known from the last block alone. A Krylov space of
degree 2m in K holds one of degree m in K² and more, so that it is found with fewer products.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from skatter._checks import seeded
from skatter._solve.blas import dot, inner, subtract_dot
from skatter._solve.convergence import Pace, excess, widest_cluster, with_enough_directions
from skatter._solve.lanczos import BLOCK, DENSE, Krylov, Operator, lanczos, orthonormal
from skatter._solve.small import leading, pad_rows
from skatter._solve.symmetric import DiagonalPlusThin, Eigenpairs, within_rank
from skatter._tensors import (
    Array,
    Tall,
    device_of,
    fortran,
    host,
    hstack,
    like,
    random_columns,
    to_device,
)


def solve_squared(
    product: Operator,
    h: Tall,
    E: Tall,
    mu: float,
    k: int,
    *,
    tol: float,
    random_state: Any = None,
) -> Eigenpairs:
    """Return the ``k`` largest eigenpairs of K (I − h hᵀ) K w = λ (μ I + K E Eᵀ K) w.

    ``product`` is W -> K W in double precision, and h, 1/√n to centre, is not longer than one.
    Where these are tensors, so are the vectors.
    """
    n = len(E)
    if n <= DENSE or 10 * k > n:
        K = host(product(to_device(np.eye(n, order="F"), device_of(E))))
        found = _solve_in_basis(K, host(h), host(E), mu, k, device_of(E))
        pairs = within_rank(*found, np.zeros(k))
        return pairs._replace(vectors=like(pairs.vectors, E))
    rng = seeded(random_state)

    def draw(count: int) -> Tall:
        return fortran(random_columns(rng, count, E))

    thin = orthonormal(hstack([h, E]))

    def find(n_random: int) -> tuple[Eigenpairs, int, bool]:
        first = orthonormal(hstack([thin, draw(n_random)]))
        search = _Search(first, h, E, mu, k, tol)
        krylov = lanczos(product, first, search, draw, E[:, :0])
        pairs = search.lift(krylov)
        return pairs, widest_cluster(pairs.values, 10 * tol), len(krylov.matrix) == n

    n_random = max(BLOCK - thin.shape[1], BLOCK // 4)
    return with_enough_directions(find, n_random, n - thin.shape[1])


def _solve_in_basis(
    J: Array, h: Array, E: Array, mu: float, k: int, device: Any
) -> tuple[Array, Array]:
    """Return leading values and vectors y, J being K from some coordinates into more of them."""
    # I − h hᵀ is the square of I − c h hᵀ; a difference of squares would lose digits.
    square = float(np.vdot(h, h))
    beyond = 1 - square if 1 - square > 1e-12 else 0.0
    c = (1 - np.sqrt(beyond)) / square if square else 0.0
    centred = subtract_dot(np.array(J, order="F"), c * h, dot(h.T, J))
    root = DiagonalPlusThin(np.full(J.shape[1], mu), dot(J.T, E))
    half = root.transposed_times(np.asfortranarray(centred.T))
    values, v = leading(dot(half, half.T), k, device)
    rounding = (10 * np.finfo(J.dtype).eps) ** 2 / mu * float(np.vdot(J, J))
    return np.where(values > rounding, values, 0.0), root.times(v)


class _Search:
    """Solve the small problem in a Krylov space as it grows; see the module."""

    def __init__(self, first: Tall, h: Tall, E: Tall, mu: float, k: int, tol: float) -> None:
        self._h = inner(first, fortran(h))
        self._E = inner(first, fortran(E))
        self._mu, self._k, self._tol, self._device = mu, k, tol, device_of(E)
        self._pace = Pace(first_look=2)

    def __call__(self, krylov: Krylov) -> bool:
        if not self._pace.step() or _inside(krylov) <= 2 * self._k:
            return False
        pairs = self._solve(krylov)
        over = excess(pairs.values, pairs.residuals * pairs.values, self._tol)
        if over > 1:
            self._pace.plan(over)
        return over <= 1

    def _solve(self, krylov: Krylov) -> Eigenpairs:
        J = np.asfortranarray(krylov.matrix)
        h, e = (pad_rows(thin, len(J)) for thin in (self._h, self._E))
        J_inner = J[:, : _inside(krylov)]
        values, y = _solve_in_basis(J_inner, h, e, self._mu, self._k, self._device)
        # K (K w − h hᵀ K w − λ E Eᵀ K w) − λ μ w in the basis and beyond it
        Ky = dot(J_inner, y)
        z = Ky - dot(h, dot(h.T, Ky)) - values * dot(e, dot(e.T, Ky))
        inside = dot(J, z) - values * self._mu * pad_rows(y, len(J))
        size = np.hypot(np.linalg.norm(inside, axis=0), krylov.residual_norms(z))
        return within_rank(values, y, size / np.sqrt(self._mu))

    def lift(self, krylov: Krylov) -> Eigenpairs:
        """Return the pairs of the space as it is, in coordinates of the samples."""
        pairs = self._solve(krylov)
        return pairs._replace(vectors=krylov.lift(pad_rows(pairs.vectors, len(krylov.matrix))))


def _inside(krylov: Krylov) -> int:
    """Columns of V₋: all but the last block, or all where nothing is left beyond it."""
    beyond, last = krylov.coupling.shape
    return len(krylov.matrix) - (last if beyond else 0)
