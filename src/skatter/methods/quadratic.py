"""Convex quadratic programs over a box with bounds on a few sums.

    minimise    ½ xᵀQx − qᵀx
    subject to  lower ≤ x ≤ upper,   low ≤ G x ≤ high,   E x = E x₀

with a Gram matrix Q, so that samples are weighted to match a mean in feature space. Gram matrices
are nearly singular: the condition number that gradient steps suffer from does not matter to the
primal-dual interior-point method (Mehrotra's predictor and corrector), whose iterations, each one
Cholesky factorisation, number a dozen or two. Every iterate is feasible, and comes with a bound
on how far its objective is from the smallest one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from skatter.methods.iteration import Iterations
from skatter.solve.blas import cholesky_in_place, cholesky_solve, dot
from skatter.tensors import Array

# Share of the mean diagonal that is added to the matrix of each step, never to the objective.
JITTER = 1e-8

# Duality gap, as a share of the objective's scale, below which a step brings nothing.
ROUNDING = 100 * np.finfo(np.float64).eps

BOUNDARY = 0.995  # share of the way to the boundary that a step may go


@dataclass(frozen=True, eq=False)
class Region:
    """{x : lower ≤ x ≤ upper, low ≤ G x ≤ high}, within which E x stays what it is."""

    lower: Array
    upper: Array
    G: Array
    low: Array
    high: Array
    E: Array

    def slacks(self, x: Array) -> Array:
        """Return the distances of x to all bounds, s = T x + t."""
        sums = self.G @ x
        return np.concatenate([x - self.lower, self.upper - x, sums - self.low, self.high - sums])

    def split(self, z: Array) -> tuple[Array, Array]:
        """Return what values at the bounds amount to in each coordinate and in each sum."""
        of_x, of_sums = self._by_bound(z)
        return of_x[0] - of_x[1], of_sums[0] - of_sums[1]

    def force(self, z: Array) -> Array:
        """Return Tᵀ z."""
        of_x, of_sums = self.split(z)
        return of_x + of_sums @ self.G

    def curvature(self, weights: Array) -> tuple[Array, Array]:
        """Return d and w with Tᵀ diag(weights) T = diag(d) + Gᵀ diag(w) G."""
        of_x, of_sums = self._by_bound(weights)
        return of_x.sum(axis=0), of_sums.sum(axis=0)

    def _by_bound(self, values: Array) -> tuple[Array, Array]:
        of_x, of_sums = np.split(values, [2 * len(self.lower)])
        return of_x.reshape(2, -1), of_sums.reshape(2, len(self.low))


def box(
    lower: Array,
    upper: Array,
    *,
    G: Array | None = None,
    low: Any = (),
    high: Any = (),
    E: Array | None = None,
) -> Region:
    """Return a region, without bounded or constant sums unless they are given."""
    none = np.empty((0, len(lower)))
    parts = (lower, upper, none if G is None else G, low, high, none if E is None else E)
    return Region(*(np.asarray(part, dtype=float) for part in parts))


class _Point(NamedTuple):
    """An iterate: x with the distances s to its bounds, and multipliers of bounds and of E."""

    x: Array
    s: Array
    z: Array
    y: Array

    def moved(self, step: float, direction: _Point) -> _Point:
        return _Point(*(value + step * d for value, d in zip(self, direction, strict=True)))


def minimise(
    Q: Array, q: Array, region: Region, start: Array, iterations: Iterations, *, tol: float
) -> Array:
    """Return the minimiser of ½ xᵀQx − qᵀx over a region."""
    scale = 0.5 * float(np.abs(start) @ np.sqrt(np.maximum(np.diagonal(Q), 0))) ** 2
    point = _first_point(Q, q, region, start)
    gradient = _gradient(Q, q, point.x)
    gap = _duality_gap(region, point, gradient)
    for _ in iterations:
        if gap > max(tol, ROUNDING) * scale:
            point = _improve(Q, gradient, region, point)
            gradient = _gradient(Q, q, point.x)
            gap = _duality_gap(region, point, gradient)
        objective = 0.5 * float(point.x @ (gradient - q))
        iterations.record(objective, settled=gap <= tol * scale, note=f"duality gap {gap:.1e}")
    return np.clip(point.x, region.lower, region.upper)


def _gradient(Q: Array, q: Array, x: Array) -> Array:
    return dot(Q, x[:, None])[:, 0] - q


def _first_point(Q: Array, q: Array, region: Region, start: Array) -> _Point:
    """Begin with multipliers of the size of the gradient, which they have to balance."""
    s = region.slacks(start)
    size = float(np.abs(_gradient(Q, q, start)).max())
    return _Point(start, s, np.full_like(s, size), np.zeros(len(region.E)))


def _duality_gap(region: Region, point: _Point, gradient: Array) -> float:
    """Bound on f(x) − min f, for any multipliers: a convex f lies above its tangent.

    With ν for the bounded sums and r = ∇f + Eᵀy − Gᵀν, every feasible x' has
    f(x') ≥ f(x) + rᵀ(x' − x) + νᵀ(G x' − G x), and each term is smallest at a bound.
    """
    nu = region.split(point.z)[1]
    r = gradient + point.y @ region.E - nu @ region.G
    return _largest_gain(r, point.x, region.lower, region.upper) + _largest_gain(
        nu, region.G @ point.x, region.low, region.high
    )


def _largest_gain(slope: Array, at: Array, low: Array, high: Array) -> float:
    return float(np.maximum(slope * (at - low), slope * (at - high)).sum())


def _improve(Q: Array, gradient: Array, region: Region, point: _Point) -> _Point:
    """One step of Mehrotra's method.

    The predictor aims at complementarity z_i s_i = 0; how far it gets says how much of the mean
    complementarity the corrector, which knows the predictor's curvature, should keep.
    """
    toward = _newton(Q, gradient, region, point)
    s, z = point.s, point.z
    mean = float(s @ z) / len(s)
    if mean == 0:
        return point
    predictor = toward(np.zeros_like(s))
    ahead = point.moved(_step(point, predictor), predictor)
    centring = (float(ahead.s @ ahead.z) / len(s) / mean) ** 3
    corrector = toward(centring * mean - predictor.s * predictor.z)
    return point.moved(BOUNDARY * _step(point, corrector), corrector)


def _newton(Q: Array, gradient: Array, region: Region, point: _Point) -> Callable[[Array], _Point]:
    """Return the map from wanted values of z_i s_i to the direction that leads there.

    Linearised, the conditions of optimality ∇f − Tᵀz + Eᵀy = 0, s = T x + t, z_i s_i = wanted and
    E x constant are

        (Q + Tᵀ diag(z/s) T) dx + Eᵀ dy = −(∇f − Tᵀz + Eᵀy) + Tᵀ(wanted/s − z),   E dx = 0.

    A sum at its bound has a curvature w beyond all measure, which would drown Q. So it is kept
    out of the matrix that is factored: u = w (G dx) is an unknown beside dy.
    """
    _, s, z, y = point
    of_x, of_sums = region.curvature(z / s)
    M = np.array(Q, dtype=float, order="F")
    M[np.diag_indices_from(M)] += of_x + JITTER * np.trace(Q) / len(Q)
    factor = cholesky_in_place(M)
    sums = np.vstack([region.E, region.G])
    image = cholesky_solve(factor, np.array(sums.T, order="F"))
    schur = sums @ image
    np.einsum("ii->i", schur)[len(region.E) :] += 1 / of_sums
    residual = gradient - region.force(z) + y @ region.E

    def toward(wanted: Array) -> _Point:
        pull = wanted / s - z
        rhs = region.force(pull) - residual
        free = cholesky_solve(factor, np.array(rhs[:, None], order="F"))[:, 0]
        forces = np.linalg.solve(schur, sums @ free)
        dx = free - image @ forces
        # G dx itself, as a small difference of large numbers, would not have the digits.
        along_sums = forces[len(region.E) :] / of_sums
        ds = np.concatenate([dx, -dx, along_sums, -along_sums])
        return _Point(dx, ds, pull - z / s * ds, forces[: len(region.E)])

    return toward


def _step(point: _Point, direction: _Point) -> float:
    """Return the largest step of at most 1 that keeps s and z from becoming negative."""
    share = max(float((-direction.s / point.s).max()), float((-direction.z / point.z).max()))
    return 1 / max(share, 1.0)
