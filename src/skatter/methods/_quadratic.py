"""Convex quadratic programs over a box with bounds on a few sums.

    minimise    ½ xᵀQx − qᵀx
    subject to  0 ≤ x ≤ upper,   low ≤ G x ≤ high,   E x = E x₀

with a Gram matrix Q, so that samples are weighted to match a mean in feature space. Gram matrices
are nearly singular: the condition number that gradient steps suffer from does not matter to the
primal-dual interior-point method (Mehrotra's predictor and corrector), whose iterations, each one
Cholesky factorisation, number a dozen or two. Every iterate is feasible, and comes with a bound
on how far its objective is from the smallest one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from skatter._solve.blas import cholesky_in_place, cholesky_solve, dot
from skatter._tensors import Array
from skatter.methods._iteration import Iterations

JITTER = 1e-8  # share of the mean diagonal that is added to a step's matrix, never to the objective
# Duality gap, as a share of the objective's scale, below which a step brings nothing.
ROUNDING = 100 * np.finfo(np.float64).eps
BOUNDARY = 0.995  # share of the way to the boundary that a step may go


class Region:
    """{x : 0 ≤ x ≤ upper, low ≤ G x ≤ high}, within which E x stays what it is.

    Sums are bounded, or constant, only where they are given. Values at the bounds come in two rows,
    of lower and of upper bounds, with columns for x and then for G x.
    """

    def __init__(
        self, upper: Array, *, G: Any = (), low: Any = (), high: Any = (), E: Any = ()
    ) -> None:
        self.upper = upper
        self.low, self.high = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
        self.G, self.E = (np.reshape(rows, (-1, len(upper))) for rows in (G, E))

    def slacks(self, x: Array) -> Array:
        """Return the distances of x to all bounds, s = T x + t."""
        sums = self.G @ x
        below, above = (x, sums - self.low), (self.upper - x, self.high - sums)
        return np.array([np.concatenate(below), np.concatenate(above)])

    def net(self, z: Array) -> tuple[Array, Array]:
        """Return what values at the bounds amount to in each coordinate and in each sum."""
        of_x, of_sums = np.split(z[0] - z[1], [len(self.upper)])
        return of_x, of_sums

    def force(self, z: Array) -> Array:
        of_x, of_sums = self.net(z)
        return of_x + of_sums @ self.G


class Point(NamedTuple):
    """An iterate: x with the distances s to its bounds, and multipliers of bounds and of sums."""

    x: Array
    s: Array
    z: Array
    y: Array

    def moved(self, step: float, direction: Point) -> Point:
        return Point(*(value + step * d for value, d in zip(self, direction, strict=True)))

    def longest_step(self, direction: Point) -> float:
        """Return the largest step of at most 1 that keeps s and z from becoming negative."""
        shares = float((-direction.s / self.s).max()), float((-direction.z / self.z).max())
        return 1 / max(1.0, *shares)


def minimise(Q: Array, q: Array, region: Region, start: Array, iterations: Iterations) -> Array:
    scale = 0.5 * float(np.abs(start) @ np.sqrt(np.maximum(np.diagonal(Q), 0))) ** 2
    gradient, s = times(Q, start) - q, region.slacks(start)
    # Multipliers are of the size of the gradient, which they have to balance.
    point = Point(start, s, np.full_like(s, np.abs(gradient).max()), np.zeros(len(region.E)))
    gap = _duality_gap(region, point, gradient)
    for _ in iterations:
        if gap > max(iterations.tol, ROUNDING) * scale and np.vdot(point.s, point.z) > 0:
            _, _, corrector = aim(point, _newton(Q, gradient, region, point))
            point = point.moved(BOUNDARY * point.longest_step(corrector), corrector)
            gradient = times(Q, point.x) - q
            gap = _duality_gap(region, point, gradient)
        objective = 0.5 * float(point.x @ (gradient - q))
        iterations.record(
            objective, settled=gap <= iterations.tol * scale, note=f"duality gap {gap:.1e}"
        )
    return np.clip(point.x, 0, region.upper)


def times(Q: Array, x: Array) -> Array:
    """Return Q x, by the product that is fastest for columns."""
    return dot(Q, x[:, None])[:, 0]


def _duality_gap(region: Region, point: Point, gradient: Array) -> float:
    """Bound on f(x) − min f, for any multipliers: a convex f lies above its tangent.

    With ν for the bounded sums and r = ∇f + Eᵀy − Gᵀν, every feasible x' has
    f(x') ≥ f(x) + rᵀ(x' − x) + νᵀ(G x' − G x), and each term is smallest at a bound.
    """
    nu = region.net(point.z)[1]
    slope = np.concatenate([gradient + point.y @ region.E - nu @ region.G, nu])
    below, above = region.slacks(point.x)
    return float(np.maximum(slope * below, -slope * above).sum())


def aim(point: Point, toward: Callable[[Array], Point]) -> tuple[Array, float, Point]:
    """Return the z_i s_i to aim at, their mean and the direction there, by Mehrotra's method.

    The predictor aims at complementarity z_i s_i = 0; how far it gets says how much of the mean
    complementarity the corrector, which knows the predictor's curvature, should keep.
    """
    mean = float((point.s * point.z).mean())
    predictor = toward(np.zeros_like(point.s))
    ahead = point.moved(point.longest_step(predictor), predictor)
    kept = ((ahead.s * ahead.z).mean() / mean) ** 3 * mean
    wanted = kept - predictor.s * predictor.z
    return wanted, kept, toward(wanted)


def _newton(Q: Array, gradient: Array, region: Region, point: Point) -> Callable[[Array], Point]:
    """Return the map from wanted values of z_i s_i to the direction that leads there.

    Linearised, the conditions ∇f − Tᵀz + Eᵀy = 0, s = T x + t, z_i s_i = wanted, E x constant are

        (Q + Tᵀ diag(z/s) T) dx + Eᵀ dy = −(∇f − Tᵀz + Eᵀy) + Tᵀ(wanted/s − z),   E dx = 0.

    A sum at its bound has a curvature w beyond all measure, which would drown Q. So it is kept
    out of the matrix that is factored: u = w (G dx) is an unknown beside dy.
    """
    _, s, z, y = point
    of_x, of_sums = np.split((z / s).sum(axis=0), [len(Q)])
    M = np.array(Q, dtype=float, order="F")
    M[np.diag_indices_from(M)] += of_x + JITTER * np.trace(Q) / len(Q)
    factor = cholesky_in_place(M)
    sums = np.vstack([region.E, region.G])
    image = cholesky_solve(factor, np.array(sums.T, order="F"))
    schur = sums @ image
    np.einsum("ii->i", schur)[len(region.E) :] += 1 / of_sums
    residual = gradient - region.force(z) + y @ region.E

    def toward(wanted: Array) -> Point:
        pull = wanted / s - z
        rhs = region.force(pull) - residual
        free = cholesky_solve(factor, np.array(rhs[:, None], order="F"))[:, 0]
        forces = np.linalg.solve(schur, sums @ free)
        dx = free - image @ forces
        # G dx itself, as a small difference of large numbers, would not have the digits.
        ahead = np.concatenate([dx, forces[len(region.E) :] / of_sums])
        ds = np.array([ahead, -ahead])
        return Point(dx, ds, pull - z / s * ds, forces[: len(region.E)])

    return toward
