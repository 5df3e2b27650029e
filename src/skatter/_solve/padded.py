"""Algorithm 1 as printed: class terms over the labelled rows of the kernel before it is centred.

With K0 the kernel, K = H K0 H, l the labelled rows, and P and Q padded with zeros,

    A = (1-β)/n K K + β P        P_ll = Σ_k n_k (m_k − m)(m_k − m)ᵀ = D Dᵀ
    C = ρ K + K L K + Q + ε I    Q_ll = K0_ll S K0_ll

where m_k is the mean of the columns of K0_ll in class k, and m the mean of all n columns of K0 over
the rows l. Then tr BᵀPB is the scatter of K0_ll B_l and not of the projections Z = K B, so that
:mod:`skatter._solve.dual` does not apply. But G Gᵀ = ρ K + Q + ε I is factorised once, and with
x = Gᵀ b, all β, δ and k come from one Krylov space of M, whose first block holds d and v:

    (a M + β d dᵀ) x = λ (I + δ v vᵀ) x        M = G⁻¹ K K G⁻ᵀ,   d = G⁻¹ D,   v = G⁻¹ K U
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from skatter._objective import Coefficients, Objective
from skatter._solve.blas import dot, subtract_dot
from skatter._solve.lanczos import Krylov
from skatter._solve.operator import INDEFINITE
from skatter._solve.path import KrylovPath, Setting
from skatter._solve.small import leading, pad_rows
from skatter._solve.solution import relative_residuals
from skatter._solve.symmetric import CholeskyRoot, DiagonalPlusThin
from skatter._tensors import Array

JITTER = 1e-5
"""The paper's ε, of which it says that it is small: relative to the mean of the diagonal."""


class PaddedPath(KrylovPath):
    """Solve many settings of the printed problem that share labels, kernel and ridge.

    K is the centred Gram matrix, labelled rows first, and ``means`` the column means that it had.
    """

    removes_constants: ClassVar[bool] = False

    def __init__(
        self,
        K: Array,
        means: Array,
        coefficients: Coefficients,
        objective: Objective,
        *,
        tol: float,
        random_state: Any = None,
    ) -> None:
        self.dtype = K.dtype
        # Single precision would not resolve the paper's ε.
        K, means = K.astype(np.float64, copy=False), means.astype(np.float64, copy=False)
        super().__init__(K, tol=tol, random_state=random_state)
        self._coefficients = coefficients
        own = slice(coefficients.domains.n_labelled)
        Q = np.asfortranarray(coefficients.classes[own])
        inside = K[own, own] + means[own, None] + means[own] - means.mean()
        image = dot(inside, Q)
        self._D = np.zeros((len(K), Q.shape[1]), order="F")
        self._D[own] = image - np.outer(means[own], Q.sum(axis=0))
        within = coefficients.within_weight(objective)
        C = np.asfortranarray(objective.ridge * K)
        if within:
            centred = subtract_dot(np.asfortranarray(inside), image, Q.T)
            C[own, own] += within * dot(centred, centred.T)
        C[np.diag_indices_from(C)] += JITTER * np.trace(C) / len(C)
        try:
            self._root = CholeskyRoot(C)
        except np.linalg.LinAlgError as error:
            raise ValueError(INDEFINITE) from error

    def thin(self) -> tuple[Array, Array]:
        return self._thin

    @cached_property
    def _thin(self) -> tuple[Array, Array]:
        KU = dot(self.K, np.hstack(self._coefficients.nuisance))
        return self._root.transposed_times(self._D), self._root.transposed_times(KU)

    def apply(self, W: Array) -> Array:
        image = dot(self.K, dot(self.K, self._root.times(W)))
        return np.asfortranarray(self._root.transposed_times(image))

    def reduced(self, krylov: Krylov, objective: Objective, k: int) -> Setting:
        J = np.asfortranarray(krylov.matrix)
        a, b = self._coefficients.numerator_weights(objective)
        f = pad_rows(self.f, len(J))
        u = pad_rows(self.u * self._coefficients.nuisance_weights(objective), len(J))
        root = DiagonalPlusThin(np.ones(len(J)), u)
        f = root.transposed_times(f)
        T = root.transposed_times(root.times(a * J).T)
        T = subtract_dot(np.asfortranarray((T + T.T) / 2), -b * f, f.T)
        eigenvalues, s = leading(T, k)
        y = root.times(s)
        return Setting(eigenvalues, y, y, a * krylov.residual_norms(y))

    def solutions(self, settings: Sequence[Objective], k: int) -> Iterator[PaddedSolution]:
        solved = self.solve(list(settings), k)
        return (PaddedSolution(self, *pair) for pair in zip(settings, solved, strict=True))

    def coefficients(self, setting: Setting) -> Array:
        return self._root.times(self.krylov.lift(setting.roots))

    def sides(self, objective: Objective, setting: Setting) -> tuple[Array, Array]:
        B = self.coefficients(setting)
        Z = dot(self.K, np.asfortranarray(B))
        a, b = self._coefficients.numerator_weights(objective)
        thin = replace(objective, within_class=0.0)
        nuisance = self._coefficients.denominator(thin, Z)
        left = a * dot(self.K, Z) + b * dot(self._D, dot(self._D.T, B))
        x = self.krylov.lift(setting.roots)
        return left, self._root.inverse_transposed_times(x) + dot(self.K, nuisance)


class PaddedSolution:
    """A setting in terms of samples, in the floating type of the kernel, computed as asked for."""

    def __init__(self, path: PaddedPath, objective: Objective, setting: Setting) -> None:
        self._path, self._objective, self._setting = path, objective, setting
        self.eigenvalues = self._cast(setting.eigenvalues)

    def _cast(self, array: Array) -> Array:
        return array.astype(self._path.dtype, copy=False)

    @cached_property
    def _B(self) -> Array:
        return self._path.coefficients(self._setting)

    @cached_property
    def projections(self) -> Array:
        return self._cast(dot(self._path.K, np.asfortranarray(self._B)))

    @cached_property
    def coefficients(self) -> Array:
        """B less what of it projects to zero, a constant."""
        return self._cast(self._B - self._B.mean(axis=0))

    @property
    def norms(self) -> Array:
        return np.linalg.norm(self._B, axis=0)

    @cached_property
    def residuals(self) -> Array:
        left, right = self._path.sides(self._objective, self._setting)
        return self._cast(relative_residuals(left, right * self._setting.eigenvalues))
