"""Minimise a function of a subspace: conjugate gradient on the Grassmann manifold.

A subspace of dimension d is held as a basis W of shape (p, d) with WᵀW = I; a function of it
does not tell W from W Q for any rotation Q. With ∂ the matrix of its partial derivatives at W:

    gradient          G = ∂ − W Wᵀ∂, a tangent: WᵀG = 0
    next direction    D₊ = −G₊ + β D(t),  β = max(0, ⟨G₊ − τG, G₊⟩ / ⟨G, G⟩)   (Polak-Ribière+)

with the velocity D(t) of the geodesic along D and parallel transport τ
(:mod:`skatter.methods._geodesic`). A step ends where the strong Wolfe conditions hold along the
geodesic, so that the value never rises.

References
----------
A. Edelman, T. A. Arias, S. T. Smith: The Geometry of Algorithms with Orthogonality Constraints.
SIAM Journal on Matrix Analysis and Applications 20(2), 1998.
J. Nocedal, S. J. Wright: Numerical Optimization, chapters 3 and 5. Springer, 2006.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from skatter._tensors import Array
from skatter.methods._geodesic import Geodesic
from skatter.methods._iteration import Iterations

# W -> f(W) and the matrix of partial derivatives ∂f/∂W; f(W Q) = f(W) for rotations Q.
ValueAndGradient = Callable[[Array], tuple[float, Array]]

# Wolfe conditions: the value falls by a share of what the slope says, and the slope flattens.
DECREASE, CURVATURE = 1e-4, 0.3
ANGLE = np.pi / 8  # by how much a step may turn the subspace at most
TRIALS = 20  # steps tried at most in one line search
ROUNDING = 1e-13  # length of a gradient, relative to the value or to 1, that is not told from zero


class Point(NamedTuple):
    """A function at a subspace, and its slope along the geodesic that led there."""

    step: float
    value: float
    slope: float
    W: Array
    gradient: Array


def reach(geodesic: Geodesic) -> float:
    """Return the longest step to take: by ``ANGLE``, so that no valley nearby is jumped over."""
    return float(ANGLE / geodesic.angles[0])


def minimise(function: ValueAndGradient, W: Array, iterations: Iterations) -> Array:
    value, partial = function(W)
    here = Point(0.0, value, 0.0, W, _tangent(W, partial))
    direction, gain, enough = -here.gradient, 0.0, iterations.tol * abs(value)
    for _ in iterations:
        if np.linalg.norm(here.gradient) <= ROUNDING * max(1.0, abs(here.value)):
            iterations.record(here.value, settled=True)
            continue
        slope = _inner(direction, here.gradient)
        if slope >= 0:
            direction, slope = -here.gradient, -_inner(here.gradient, here.gradient)
        geodesic = Geodesic.along(here.W, direction)
        # A parabola with this slope that falls as far as the last step did is lowest here.
        first = -2 * gain / slope if gain > 0 else reach(geodesic) / 4
        there = line_search(function, geodesic, here._replace(step=0.0, slope=slope), first)
        # −G₊ + β D(t) is tangent at the new basis up to rounding, which is taken out.
        change = there.gradient - geodesic.transport(here.gradient, there.step)
        beta = max(0.0, _inner(change, there.gradient) / _inner(here.gradient, here.gradient))
        direction = _tangent(there.W, beta * geodesic.velocity(there.step) - there.gradient)
        gain, here = here.value - there.value, there
        # On a plateau steps are as long as they may be and gain little: that is not the end.
        iterations.record(here.value, settled=gain <= enough and there.step < reach(geodesic))
    return here.W


def line_search(
    function: ValueAndGradient, geodesic: Geodesic, start: Point, first: float
) -> Point:
    """Return a point of the geodesic where the strong Wolfe conditions hold.

    ``low`` is the best point that falls enough; the minimum lies between it and ``high``, if any.
    """
    low, high, longest = start, None, reach(geodesic)
    step = min(first, longest)
    for _ in range(TRIALS):
        W = geodesic.at(step)
        value, partial = function(W)
        gradient = _tangent(W, partial)
        trial = Point(step, value, _inner(gradient, geodesic.velocity(step)), W, gradient)
        line = start.value + DECREASE * step * start.slope
        if trial.value > line or trial.value >= low.value:
            high = trial
        else:
            if abs(trial.slope) <= -CURVATURE * start.slope:
                return trial
            onward = 1.0 if high is None else high.step - low.step
            if trial.slope * onward >= 0:
                high = low
            low = trial
        if high is None and low.step >= longest:
            return low
        step = min(2 * step, longest) if high is None else _lowest_between(low, high)
    return low


def _lowest_between(low: Point, high: Point) -> float:
    """Where the cubic with the values and slopes of two points is lowest, away from both.

    In u from 0 at ``low`` to 1 at ``high``: value + a u + b u² + c u³, with a < 0.
    """
    width = high.step - low.step
    rise, a, end = high.value - low.value, low.slope * width, high.slope * width
    b, c = 3 * rise - 2 * a - end, a + end - 2 * rise
    # The root (−b + √(b² − 3ac)) / 3c of the derivative, in the form that survives c = 0.
    divisor = b + float(np.sqrt(max(b**2 - 3 * a * c, 0.0)))
    share = -a / divisor if divisor > -a else 0.5
    return low.step + width * min(max(share, 0.1), 0.9)


def _tangent(W: Array, partial: Array) -> Array:
    return partial - W @ (W.T @ partial)


def _inner(A: Array, B: Array) -> float:
    return float(np.vdot(A, B))
