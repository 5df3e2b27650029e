"""Hinge losses of samples that are there twice, by an interior-point method.

    maximise  Σ a − ½ aᵀQa    over    0 ≤ a ≤ C,    sums of a∘y over each group of copies zero

is the dual of a support vector machine with an intercept for each group; Q is that of
:mod:`skatter.methods._copies`. Primal and dual objective bound the optimum from both sides, so that
their gap says how good an answer is.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skatter._tensors import Array
from skatter.methods._copies import Copies
from skatter.methods._quadratic import BOUNDARY, Point, aim

ITERATIONS = 100  # of the interior-point method, which takes two dozen
CORRECTIONS = 3  # of a direction, at most: each is cheap beside the factorisation that they share
REFINEMENTS = 2  # of a solution, for the digits that its factors, or samples left out, have cost it
SMALLEST_START = 0.01  # share of its cost that a coefficient of the smaller class begins with
ROUNDING = 1e-6  # share of the objective below which a duality gap that no longer falls will do
PATIENCE = 3  # iterations without a smaller gap after which it is taken for rounding
# Shares by which a coefficient may miss a bound and count as being there, the largest that does
# no harm.
NEAR = (1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10)


class Optimum(NamedTuple):
    alpha: Array
    intercepts: Array
    objective: float
    gap: float


def maximise_dual(copies: Copies, signs: Array, costs: Array, tol: float) -> Optimum:
    point = _first_point(copies, signs, costs)
    best = _optimum(copies, signs, costs, point.x)
    waited, unit = 0, 0.5 / copies.size if copies.size > 0 else np.inf
    for _ in range(ITERATIONS):
        point = _improve(copies, signs, point)
        found = _optimum(copies, signs, costs, point.x)
        best, waited = (found, 0) if found.gap < best.gap else (best, waited + 1)
        enough = tol**2 * min(best.objective, unit)
        if waited >= PATIENCE:
            enough = max(enough, ROUNDING * best.objective)
        if best.gap <= enough:
            break
    else:
        warnings.warn(
            f"UndoBias is within {best.gap / best.objective:.0e} of the smallest objective, and "
            "rounding lets it get no closer. Raise tol, lower C_shared and C_domain, or scale the "
            "features down.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return _at_bounds(copies, signs, costs, best, max(enough, best.gap))


def _at_bounds(
    copies: Copies, signs: Array, costs: Array, inside: Optimum, enough: float
) -> Optimum:
    """Put as many coefficients on their bounds, which the method never reaches, as may be."""
    for share in NEAR:
        low, high = inside.alpha < share * inside.alpha.max(), inside.alpha > (1 - share) * costs
        alpha = np.where(low, 0.0, np.where(high, costs, inside.alpha))
        found = _optimum(copies, signs, costs, alpha)
        # Sums that are no longer zero may flatter the gap, but not the objective.
        if max(found.gap, found.objective - inside.objective) <= enough:
            return found
    return inside


def _first_point(copies: Copies, signs: Array, costs: Array) -> Point:
    """Begin between the bounds, with sums of zero and multipliers that balance the gradient."""
    positive = copies.spread(copies.sums(signs > 0) / copies.sums(np.ones_like(signs)))
    alpha = costs * np.where(signs > 0, 1 - positive, positive)
    # Of all multiples that stay away from the bounds, the one with the largest dual objective.
    coef = alpha * signs
    square = float(coef @ copies.values(coef))
    best = float(alpha.sum()) / square if square > 0 else np.inf
    alpha *= min(max(best, SMALLEST_START), 0.5)
    intercepts = _optimum(copies, signs, costs, alpha).intercepts
    gradient = signs * (copies.values(alpha * signs) + copies.spread(intercepts)) - 1
    z = np.maximum([gradient, -gradient], 0) + np.abs(gradient).mean()
    return Point(alpha, np.array([alpha, costs - alpha]), z, intercepts)


def _optimum(copies: Copies, signs: Array, costs: Array, alpha: Array) -> Optimum:
    """Return the machine of dual coefficients, with the best intercepts it can have."""
    values = copies.values(alpha * signs)
    square = float((alpha * signs) @ values)
    (y, f), *own = zip(copies.split(signs), copies.split(values), strict=True)
    b = float(np.mean(best_intercepts(y, f)))
    intercepts = np.array([b, *(next_to(b, y, f) for y, f in own)])
    loss = float(costs @ np.maximum(0, 1 - signs * (values + copies.spread(intercepts))))
    return Optimum(alpha, intercepts, square / 2 + loss, square + loss - float(alpha.sum()))


def best_intercepts(signs: Array, scores: Array) -> tuple[float, float]:
    """Return the ends of the interval of all b with the smallest Σ max(0, 1 − y (f + b)).

    The slope in b is minus the number of positives for small b, and one more past each y − f.
    """
    passed = np.concatenate([[-np.inf], np.sort(signs - scores), [np.inf]])
    positive = np.count_nonzero(signs > 0)
    return float(passed[positive]), float(passed[positive + 1])


def next_to(b: float, signs: Array, scores: Array) -> float:
    return float(np.clip(b, *best_intercepts(signs, scores)))


def _improve(copies: Copies, signs: Array, point: Point) -> Point:
    """One step of Mehrotra's method, with Gondzio's corrections.

    These mend the products that a longer step would leave far from what the corrector keeps, as
    long as the step becomes longer by it.
    """
    toward = _newton(copies, signs, point)
    wanted, kept, direction = aim(point, toward)
    step = point.longest_step(direction)
    for _ in range(CORRECTIONS):
        trial = point.moved(min(1.0, 2 * step + 0.1), direction)
        products = trial.s * trial.z
        change = np.clip(products, 0.1 * kept, 10 * kept) - products
        corrected = wanted + np.maximum(change, -10 * kept)
        direction = toward(corrected)
        longer = point.longest_step(direction)
        if longer < step + 0.01:
            break
        wanted, step = corrected, longer
    direction = toward(wanted, refinements=REFINEMENTS)
    return point.moved(BOUNDARY * point.longest_step(direction), direction)


def _newton(copies: Copies, signs: Array, point: Point) -> Callable[..., Point]:
    """Return the map from wanted products to the direction that leads there.

    With multipliers z and v, the conditions of optimality are y f − 1 = z − v, sums of β and γ of
    zero, and a z and (C − a) v as wanted. Linearised, f includes the intercepts,

        y da = T (h − df),   T = 1 / (z/a + v/(C − a)),
        h = y (wanted_z / a − wanted_v / (C − a) − (y f − 1)).
    """
    alpha, s, z, intercepts = point
    coef = alpha * signs
    gradient = signs * (copies.values(coef) + copies.spread(intercepts)) - 1
    excess = copies.sums(coef)
    T = 1 / (z / s).sum(axis=0)
    solve = copies.factored(T)

    def toward(wanted: Array, *, refinements: int = 0) -> Point:
        pull = wanted / s
        h = signs * (pull[0] - pull[1] - gradient)
        change, of_intercepts = solve(h, excess)
        for _ in range(refinements):
            rest = h - change / T - copies.values(change) - copies.spread(of_intercepts)
            mended = solve(rest, excess + copies.sums(change))
            change, of_intercepts = change + mended[0], of_intercepts + mended[1]
        d = signs * change
        ds = np.array([d, -d])
        return Point(d, ds, (wanted - z * ds) / s - z, of_intercepts)

    return toward
