"""Algorithm 1 as printed: class terms over the labelled rows of the kernel before it is centred.

With K0 the kernel, K = H K0 H, l the labelled rows, and P and Q padded with zeros,

    A = (1-β)/n K K + β P        P_ll = Σ_k n_k (m_k − m)(m_k − m)ᵀ = D Dᵀ
    C = ρ K + K L K + Q + ε I    Q_ll = K0_ll S K0_ll

where m_k is the mean of the columns of K0_ll in class k, and m the mean of all n columns of K0 over
the rows l. Then tr BᵀPB is the scatter of K0_ll B_l and not of the projections Z = K B, so that
:mod:`skatter.solve.dual` does not apply. But G Gᵀ = ρ K + Q + ε I is factorised once, and with
x = Gᵀ b, all β, δ and k come from one Krylov space of M, whose first block holds d and v:

    (a M + β d dᵀ) x = λ (I + δ v vᵀ) x        M = G⁻¹ K K G⁻ᵀ,   d = G⁻¹ D,   v = G⁻¹ K U
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from skatter.objective import Coefficients, Objective
from skatter.solve.blas import dot, subtract_dot
from skatter.solve.lanczos import Krylov
from skatter.solve.operator import INDEFINITE
from skatter.solve.path import KrylovPath, Setting
from skatter.solve.small import leading, pad_rows
from skatter.solve.solution import Solution, relative_residuals
from skatter.solve.symmetric import CholeskyRoot, DiagonalPlusThin

Array = NDArray[Any]

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
        """Return d and v."""
        return self._thin

    @cached_property
    def _thin(self) -> tuple[Array, Array]:
        KU = dot(self.K, np.hstack(self._coefficients.nuisance))
        return self._root.transposed_times(self._D), self._root.transposed_times(KU)

    def apply(self, W: Array) -> Array:
        """Return M W."""
        image = dot(self.K, dot(self.K, self._root.times(W)))
        return np.asfortranarray(self._root.transposed_times(image))

    def reduced(self, krylov: Krylov, objective: Objective, k: int) -> Setting:
        """Solve the small problem in the coordinates of the basis."""
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

    def solutions(self, settings: Sequence[Objective], k: int) -> Iterator[tuple[Solution, Array]]:
        """Yield the components of every setting, and ‖b‖ before b is centred."""
        for objective, setting in zip(settings, self.solve(list(settings), k), strict=True):
            x = self.krylov.lift(setting.roots)
            B = self._root.times(x)
            Z = dot(self.K, np.asfortranarray(B))
            left, right = self._sides(objective, x, B, Z)
            residuals = relative_residuals(left, right * setting.eigenvalues)
            found = Solution(setting.eigenvalues, B - B.mean(axis=0), Z, residuals)
            yield found, np.linalg.norm(B, axis=0)

    def _sides(self, objective: Objective, x: Array, B: Array, Z: Array) -> tuple[Array, Array]:
        """Return A B and C B."""
        a, b = self._coefficients.numerator_weights(objective)
        thin = Objective(domain=objective.domain, conditional_domain=objective.conditional_domain)
        nuisance = self._coefficients.denominator(thin, Z)
        left = a * dot(self.K, Z) + b * dot(self._D, dot(self._D.T, B))
        return left, self._root.inverse_transposed_times(x) + dot(self.K, nuisance)
