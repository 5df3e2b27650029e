"""Exemplar classifiers: one logistic classifier for each positive sample, all solved at once.

Positives x_1 .. x_P of a class share the negatives x⁻ of all others. Exemplar i minimises

    ‖w‖² + C₊ log(1 + exp(−wᵀx_i)) + C₋ Σ_j log(1 + exp(wᵀx_j⁻)) + λ₂ Σ_l (s(wᵀx_l) − F_il)²

with the logistic function s; the last sum is over all positives. Exemplars are rows of W, and rows
of the margins A = W Xᵀ and of the likelihoods s(A). With the derivative R of the losses in A,

    gradient = 2W + R X,

so that an iteration for all exemplars is two matrix products, X times the directions and R times X;
along a direction, margins are A + t D Xᵀ, and a line search costs no product at all.

The Hessians differ in the weights of the samples alone. One matrix stands for all of them,

    M = 2I + Xᵀ diag(h) X,    h = curvature of the losses, averaged over exemplars,

and a limited-memory quasi-Newton method for each exemplar, in the metric of M, learns how its own
differs. The tie to F is not convex; its share in h is that of Gauss and Newton, never negative.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.utils import gen_batches

from skatter._tensors import Array

BLOCK = 2048  # exemplars solved at a time: bounds what is kept for every exemplar and sample
MEMORY = 6  # past steps from which an exemplar learns its curvature
DECREASE = 1e-4  # share of what the slope promises that makes a step good enough (Armijo)
HALVINGS = 30  # of a step that does not decrease the objective, before it counts as none
START_ITERATIONS = 100  # for the common start, which need not be accurate


@dataclass(frozen=True, eq=False)
class Exemplars:
    """The exemplar problems of one class."""

    X: Array
    n_positives: int
    C_positive: float
    C_negative: float
    tie: float = 0.0

    def likelihoods(self, W: Array) -> Array:
        return np.asarray(expit(W @ self.X[: self.n_positives].T))

    def losses(self, A: Array, own: Array, F: Array) -> Array:
        """Return the objective of exemplars without ‖w‖²."""
        P = self.n_positives
        values = self.C_positive * _softplus(-A[np.arange(len(A)), own])
        values += self.C_negative * _softplus(A[:, P:]).sum(axis=1)
        if self.tie:
            values += self.tie * ((expit(A[:, :P]) - F) ** 2).sum(axis=1)
        return np.asarray(values)

    def slopes(self, A: Array, own: Array, F: Array) -> Array:
        """Return the derivatives R of the losses in the margins; takes what ``losses`` takes."""
        P, rows = self.n_positives, np.arange(len(A))
        R = expit(A)
        at_own = self.C_positive * (R[rows, own] - 1)
        R[:, P:] *= self.C_negative
        s = R[:, :P]
        R[:, :P] = 2 * self.tie * (s - F) * s * (1 - s) if self.tie else 0
        R[rows, own] += at_own
        return np.asarray(R)

    def curvature(self, A: Array) -> Array:
        """Return h, the curvature of the losses in the margins, averaged over exemplars.

        What an exemplar's own sample adds is left out: it is the one thing that all do not share.
        """
        P = self.n_positives
        s = expit(A)
        h = (s * (1 - s)).mean(axis=0)
        h[P:] *= self.C_negative
        h[:P] = 2 * self.tie * ((s[:, :P] * (1 - s[:, :P])) ** 2).mean(axis=0)
        return np.asarray(h)


def _softplus(a: Array) -> Array:
    return np.asarray(np.maximum(a, 0) + np.log1p(np.exp(-np.abs(a))))


def common_start(problem: Exemplars) -> Array:
    """Return one vector near all exemplars: that of the loss averaged over the positives."""
    X, P = problem.X, problem.n_positives
    signs = np.where(np.arange(len(X)) < P, 1.0, -1.0)
    cost = np.where(signs > 0, problem.C_positive / P, problem.C_negative)

    def objective(w: Array) -> tuple[float, Array]:
        margins = signs * (X @ w)
        slopes = -cost * signs * expit(-margins)
        return float(w @ w + cost @ _softplus(-margins)), 2 * w + slopes @ X

    start, options = np.zeros(X.shape[1]), {"maxiter": START_ITERATIONS}
    return np.asarray(minimize(objective, start, jac=True, method="L-BFGS-B", options=options).x)


def solve(
    problem: Exemplars, W: Array, F: Array, *, tol: float, max_iter: int
) -> tuple[Array, Array]:
    solved, values = np.empty_like(W), np.empty(len(W))
    for rows in gen_batches(len(W), BLOCK):
        search = _Search(problem, np.arange(rows.start, rows.stop), W[rows], F[rows])
        for own, found, reached in search.run(tol, max_iter):
            solved[own], values[own] = found, reached
    return solved, values


class _Search:
    """A quasi-Newton search for several exemplars at a time; those that are solved leave it."""

    def __init__(self, problem: Exemplars, own: Array, W: Array, F: Array) -> None:
        self.problem, self.own, self.W, self.F = problem, own, W, F
        self.A = W @ problem.X.T
        self.values = _squared(W) + problem.losses(self.A, own, F)
        self.gradient = 2 * W + problem.slopes(self.A, own, F) @ problem.X
        self.steps: list[tuple[Array, Array, Array]] = []
        scaled = problem.X * np.sqrt(problem.curvature(self.A))[:, None]
        M = scaled.T @ scaled
        M[np.diag_indices_from(M)] += 2
        self.factor = cho_factor(M)

    def run(self, tol: float, max_iter: int) -> Iterator[tuple[Array, Array, Array]]:
        """Iterate, and give exemplars away as they are solved: who, their w and their values."""
        for _ in range(max_iter):
            direction = self._direction()
            slope = np.einsum("if,if->i", self.gradient, direction)
            # Half the decrease that the slope promises: what a quadratic function has left.
            far = -slope > 2 * tol * self.values
            if not far.all():
                yield self._leave(~far)
                if not len(self.own):
                    return
                direction, slope = direction[far], slope[far]
            moved = self._move(direction, slope)
            if not moved.all():
                yield self._leave(~moved)
                if not len(self.own):
                    return
        yield self._leave(np.ones(len(self.own), dtype=bool))

    def _direction(self) -> Array:
        """Return −H g, with H from the past steps and M (the two-loop recursion)."""
        q = self.gradient.copy()
        shares = []
        for s, y, rho in reversed(self.steps):
            share = rho * np.einsum("if,if->i", s, q)
            q -= share[:, None] * y
            shares.append(share)
        q = cho_solve(self.factor, q.T, overwrite_b=True).T
        for (s, y, rho), share in zip(self.steps, reversed(shares), strict=True):
            q += (share - rho * np.einsum("if,if->i", y, q))[:, None] * s
        return -q

    def _move(self, direction: Array, slope: Array) -> Array:
        """Take a step along the directions, and tell which exemplars it has lowered."""
        along = direction @ self.problem.X.T
        t, self.values = self._line_search(direction, along, slope)
        step = t[:, None] * direction
        self.W = self.W + step
        along *= t[:, None]
        self.A += along
        gradient = 2 * self.W + self.problem.slopes(self.A, self.own, self.F) @ self.problem.X
        change = gradient - self.gradient
        product = np.einsum("if,if->i", step, change)
        # Where the objective is not convex along the step, there is nothing to learn from it.
        usable = product > 1e-12 * np.einsum("if,if->i", step, step)
        rho = np.divide(1.0, product, out=np.zeros_like(product), where=usable)
        self.steps = [*self.steps[1 - MEMORY :], (step, change, rho)]
        self.gradient = gradient
        return np.asarray(t > 0)

    def _line_search(self, direction: Array, along: Array, slope: Array) -> tuple[Array, Array]:
        """Halve steps until they decrease the objective enough; 0 where none does."""
        t, values = np.ones(len(slope)), self.values.copy()
        pending = np.arange(len(slope))
        rows: Any = slice(None)  # all, and no copy of them
        for _ in range(HALVINGS):
            w = self.W[rows] + t[rows, None] * direction[rows]
            A = self.A[rows] + t[rows, None] * along[rows]
            trial = _squared(w) + self.problem.losses(A, self.own[rows], self.F[rows])
            good = trial < self.values[rows] + DECREASE * t[rows] * slope[rows]
            values[pending[good]] = trial[good]
            pending = rows = pending[~good]
            if not len(pending):
                return t, values
            t[pending] /= 2
        t[pending] = 0
        return t, values

    def _leave(self, done: Array) -> tuple[Array, Array, Array]:
        left = self.own[done], self.W[done], self.values[done]
        keep = ~done
        self.own, self.W, self.F = self.own[keep], self.W[keep], self.F[keep]
        self.A, self.values, self.gradient = self.A[keep], self.values[keep], self.gradient[keep]
        self.steps = [(s[keep], y[keep], rho[keep]) for s, y, rho in self.steps]
        return left


def _squared(W: Array) -> Array:
    return np.asarray(np.einsum("if,if->i", W, W))
