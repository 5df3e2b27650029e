"""Sparse codes of all samples at once, where samples pull at each other.

With the dictionary B fixed and one row of S for each sample, transfer sparse coding asks for

    min_S  ‖X − S Bᵀ‖² + tr(Sᵀ T S) + λ Σ|S|,    T = μ e eᵀ + diag(h) − A,

whose half is, up to ½‖X‖², the convex function

    φ(S) = ½⟨S, S G + T S⟩ − ⟨S, C⟩ + ½λ Σ|S|,    G = BᵀB,  C = X B.

It is minimised by accelerated proximal gradient steps in the metric diag(d) + μ e eᵀ, where
d_i = λ_max(G) + 2 h_i bounds all of the curvature but that of the domain means, and the means,
which are stiff, are solved for exactly: one scalar for each atom. A step costs one product with G
and one with A for all samples together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from skatter._tensors import Array

ADVANCE = 10  # proximal steps before each Newton move
NEWTON = 200  # conjugate gradient steps for one Newton move, at most


@dataclass(frozen=True, eq=False)
class Coupling:
    """T = μ e eᵀ + diag(h) − A: how the codes of samples pull at each other."""

    degree: Array
    adjacency: Any = None
    contrast: Array | None = None
    mmd: float = 0.0

    @property
    def free(self) -> bool:
        """Whether every sample stands alone."""
        return self.adjacency is None and self.contrast is None

    def times(self, S: Array) -> Array:
        out = self.degree[:, None] * S
        if self.adjacency is not None:
            out -= self.adjacency @ S
        if self.contrast is not None:
            out += np.outer(self.contrast, self.mmd * (self.contrast @ S))
        return out


class CodeProblem:
    """φ(S) = ½⟨S, S G + T S⟩ − ⟨S, C⟩ + ½λ Σ|S|, to be minimised over S."""

    def __init__(self, G: Array, C: Array, coupling: Coupling, sparsity: float) -> None:
        self._G, self._C, self._T = G, C, coupling
        self._threshold = sparsity / 2
        curvature = np.linalg.eigvalsh(G)[-1]
        neighbours = coupling.degree if coupling.adjacency is not None else 0.0
        # Never zero: a dictionary of zeros, and no pull, is a problem too.
        self._d = np.maximum(curvature + coupling.degree + neighbours, 1e-300)
        # What the metric diag(d) leaves of all but the means: diag(d − h) + A.
        self._rest = sparse.diags_array(self._d - coupling.degree, format="csr")
        if coupling.adjacency is not None:
            self._rest += coupling.adjacency
        # Each sample has a scale of its own where none depends on the others.
        largest = np.abs(C).max(axis=1)
        scale = largest if coupling.free else largest.max(keepdims=True)
        self._scale = np.maximum(scale, 1e-300)

    def gradient(self, S: Array) -> Array:
        """Return S G + T S − C, half the gradient of what is smooth in the objective."""
        out = self._T.times(S)
        out += S @ self._G
        out -= self._C
        return out

    def value(self, S: Array) -> float:
        return float(self._values(S).sum())

    def violation(self, S: Array) -> float:
        """Return by how much the optimality conditions fail, at worst, as a share of max|C|."""
        g = self.gradient(S)
        # g + ½λ sign(s) = 0 where s ≠ 0, and |g| ≤ ½λ elsewhere
        on = np.abs(g + np.copysign(self._threshold, S))
        off = np.maximum(np.abs(g) - self._threshold, 0.0)
        return float((np.where(S != 0, on, off).max(axis=1) / self._scale).max())

    def descend(self, S: Array, steps: int) -> tuple[Array, float]:
        """Return codes after some proximal steps, and their φ, which is no larger than before."""
        new = self._advance(S, steps)
        value, before = self.value(new), self.value(S)
        if value > before:
            new = self._advance(S, steps, momentum=False)
            value = self.value(new)
        return new, value

    def solve(self, S: Array, *, tol: float, steps: int) -> tuple[Array, bool]:
        """Return the best codes, from a start, and whether they are as good as the tolerance asks.

        Proximal steps find out which codes are zero, Newton moves solve for the others.
        """
        while steps > 0:
            S = self._advance(S, ADVANCE)
            steps -= ADVANCE
            violation = self.violation(S)
            if violation <= tol:
                return S, True
            whole = False
            while steps > 0 and not whole:
                move, taken = self._newton_move(S, max(tol / 2, violation / 100))
                S, whole = self._go(S, move)
                steps -= taken
        return S, False

    def _sums(self, terms: Array) -> Array:
        """Add up over samples, unless each stands alone: then none must depend on the others."""
        return terms if self._T.free else terms.sum(keepdims=True)

    def _dot(self, U: Array, V: Array) -> Array:
        return self._sums(np.einsum("ij,ij->i", U, V))

    def _values(self, S: Array) -> Array:
        smooth = self.gradient(S)
        smooth -= self._C
        return self._dot(S, smooth) / 2 + self._threshold * self._sums(np.abs(S).sum(axis=1))

    def _advance(self, S: Array, steps: int, *, momentum: bool = True) -> Array:
        """Take proximal steps; plain ones, without momentum, never increase φ."""
        # Few large arrays, used again and again: fresh memory costs more than the arithmetic.
        S, Y = S.copy(), S.copy()
        new, work = np.empty_like(S), np.empty_like(S)
        pace = np.ones(1)
        shift = None if self._T.contrast is None else self._T.contrast @ S
        for _ in range(steps):
            shift = self._proximal_step(Y, shift, new, work)
            Y -= new
            S -= new
            if momentum:
                pace, push = self._pace(pace, Y, S)
                np.multiply(S, -push[:, None], out=Y)
                Y += new
            else:
                Y[...] = new
            S, new = new, S
        return S

    def _pace(self, pace: Array, overshot: Array, back: Array) -> tuple[Array, Array]:
        """Nesterov's momentum, from scratch wherever the last push went uphill."""
        downhill = self._sums(self._d * np.einsum("ij,ij->i", overshot, back))
        pace = np.where(downhill < 0, 1.0, pace)
        faster = (1 + np.sqrt(1 + 4 * pace**2)) / 2
        return faster, (pace - 1) / faster

    def _newton_move(self, S: Array, tol: float) -> tuple[Array, int]:
        """Return the way to the minimum over codes that are not zero, and the steps it took.

        By conjugate gradients in the metric of the proximal steps, as if signs did not matter.
        """
        support = (S != 0).astype(S.dtype)
        precondition = self._preconditioner(support)
        residual = -support * (self.gradient(S) + np.copysign(self._threshold, S))
        move = np.zeros_like(S)
        direction = precondition(residual)
        size = self._dot(residual, direction)
        taken = 0
        while taken < NEWTON and (np.abs(residual).max(axis=1) > tol * self._scale).any():
            curved = self._T.times(direction)
            curved += direction @ self._G
            curved *= support
            stride = _ratio(size, self._dot(direction, curved))[:, None]
            move += stride * direction
            residual -= stride * curved
            steepest = precondition(residual)
            size, last = self._dot(residual, steepest), size
            direction *= _ratio(size, last)[:, None]
            direction += steepest
            taken += 1
        return move, max(taken, 1)

    def _go(self, S: Array, move: Array) -> tuple[Array, bool]:
        """Go along ``move`` as far as φ falls; codes that would change their sign stay at zero.

        φ falls up to the first such change at least. Also return False where a part of the move
        is left: then some codes have become zero, and the others have a new way to go.
        """
        value = self._values(S)
        new, whole = self._try(S, move, value)
        if whole.all():
            return new, True
        turn = np.divide(-S, move, out=np.full_like(S, np.inf), where=S * move < 0)
        first = turn.min(axis=1) if self._T.free else turn.min(keepdims=True)[0]
        better, stride = whole, np.ones_like(value)
        for least in (1 / 4, 1 / 16, 0.0):
            stride = np.where(better, stride, np.clip(first, least, 1.0))
            new, better = self._try(S, stride[:, None] * move, value)
            if better.all():
                break
        return np.where(better[:, None], new, S), not (better & ~whole).any()

    def _try(self, S: Array, move: Array, value: Array) -> tuple[Array, Array]:
        new = S + move
        new[new * S <= 1e-12 * S**2] = 0
        return new, self._values(new) <= value + 1e-14 * np.abs(value)

    def _preconditioner(self, support: Array) -> Callable[[Array], Array]:
        """Return the inverse of diag(d) + μ e eᵀ on the support, by Sherman and Morrison."""
        inverse = support / self._d[:, None]
        if self._T.contrast is None:
            return lambda R: inverse * R
        e, mmd = self._T.contrast, self._T.mmd
        thin = e[:, None] * inverse
        scale = mmd / (1 + mmd * (e @ thin))
        return lambda R: inverse * R - thin * (scale * (thin * R).sum(axis=0))

    def _proximal_step(
        self, Y: Array, shift: Array | None, out: Array, work: Array
    ) -> Array | None:
        """Minimise a model of φ at Y: all but λ and μ linear, plus the metric diag(d)."""
        Z = self._rest @ Y
        Z += self._C
        np.matmul(Y, self._G, out=work)
        Z -= work
        if shift is None:
            _soften(Z, self._threshold, out=out, work=work)
        else:
            shift = self._match_means(Z, shift, out, work)
        out *= (1 / self._d)[:, None]
        return shift

    def _match_means(self, Z: Array, shift: Array, out: Array, work: Array) -> Array:
        """Minimise ½⟨S, d S⟩ − ⟨S, Z⟩ + ½μ‖Sᵀe‖² + ½λ Σ|S|; put d S in ``out``, return Sᵀe.

        For each atom, S = soft(Z − μ t e)/d with t = eᵀS: the root of an increasing, piecewise
        linear function of t with slopes of at least one. Newton's method finds it, within a
        bracket, and is done once it stays on one piece.
        """
        e, mmd = self._T.contrast, self._T.mmd
        assert e is not None
        pull, curvature = e / self._d, mmd * e**2 / self._d
        low, high = np.full_like(shift, -np.inf), np.full_like(shift, np.inf)
        last_slope = np.zeros_like(shift)
        while True:
            np.multiply(e[:, None], mmd * shift, out=work)
            np.subtract(Z, work, out=out)
            _soften(out, self._threshold, out=out, work=work)
            miss = shift - pull @ out
            np.not_equal(out, 0, out=work)
            slope = 1 + curvature @ work
            ahead = shift - miss / slope
            settled = (slope == last_slope) | (ahead == shift)
            if settled.all():
                return shift
            last_slope = slope
            high = np.where(miss > 0, shift, high)
            low = np.where(miss < 0, shift, low)
            inside = (low < ahead) & (ahead < high)
            with np.errstate(invalid="ignore"):  # both ends are finite where one is passed
                middle = (low + high) / 2
            shift = np.where(settled, shift, np.where(inside, ahead, middle))


def _soften(Z: Array, threshold: float, *, out: Array, work: Array) -> None:
    np.clip(Z, -threshold, threshold, out=work)
    np.subtract(Z, work, out=out)


def _ratio(a: Array, b: Array) -> Array:
    """Return a/b, and zero where nothing is left to divide."""
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)
