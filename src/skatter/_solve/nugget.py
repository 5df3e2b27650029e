"""The route of a pencil with a nugget: coefficients themselves are kept small, too.

    K N K b = λ (ρ K + K M K + r I) b,      r > 0

Other than in :mod:`skatter._solve.dual`, the last term is not a function of the projection: it asks
for small coefficients on the samples. The matrix on the right is positive definite whatever the
kernel, and one Cholesky factorisation L Lᵀ of it makes the problem an ordinary one.

Where N = F Fᵀ is thin, so is the problem: with T = L⁻¹ K F, the eigenvectors of TᵀT are all that
it takes. So it is for the problem that is not symmetric,

    N K² b = λ (ρ K + K M K + r I) b,

whose solutions are b = (..)⁻¹ F c with (Fᵀ K² (..)⁻¹ F) c = λ c.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eig

from skatter._objective import Coefficients, Objective
from skatter._solve.blas import dot
from skatter._solve.small import leading
from skatter._solve.solution import Solution, numerical_rank, relative_residuals
from skatter._solve.symmetric import CholeskyRoot, solve_pencil
from skatter._tensors import Array


@dataclass(frozen=True, eq=False)
class NuggetPencil:
    """Both sides of the problem; within-class scatter has no weight, and ``nugget`` is r > 0."""

    K: Array
    coefficients: Coefficients
    objective: Objective
    nugget: float

    def root(self) -> CholeskyRoot:
        weights = self.coefficients.nuisance_weights(self.objective)
        KU = self._times_gram(np.hstack(self.coefficients.nuisance) * weights)
        C = np.array(dot(KU, KU.T), order="F")
        C += self.objective.ridge * self.K
        C[np.diag_indices_from(C)] += self.nugget
        return CholeskyRoot(C)

    def right(self, B: Array) -> Array:
        Z = self._times_gram(B)
        nuisance = self.coefficients.denominator(self.objective, Z)
        return self.objective.ridge * Z + self._times_gram(nuisance) + self.nugget * B

    def left(self, B: Array) -> Array:
        return self._times_gram(self.coefficients.numerator(self.objective, self._times_gram(B)))

    def left_not_symmetric(self, B: Array) -> Array:
        image = self._times_gram(self._times_gram(B))
        return self.coefficients.numerator(self.objective, image)

    def thin(self) -> tuple[Array, float]:
        """Return F and b of N = b F Fᵀ, where total scatter has no weight."""
        return self.coefficients.between, self.coefficients.numerator_weights(self.objective)[1]

    def solution(self, eigenvalues: Array, B: Array, left: Array) -> Solution:
        residuals = relative_residuals(left, self.right(B) * eigenvalues)
        # Both sides are orthogonal to a constant; what is left of one is rounding.
        B = B - B.mean(axis=0)
        return Solution(eigenvalues, B, self._times_gram(B), residuals)

    def _times_gram(self, W: Array) -> Array:
        return dot(self.K, np.asfortranarray(W))


def solve_nugget(pencil: NuggetPencil, k: int, *, tol: float, random_state: Any = None) -> Solution:
    """Return the ``k`` leading components of the symmetric problem, or fewer."""
    root = pencil.root()
    if pencil.objective.between_only:
        F, weight = pencil.thin()
        T = root.transposed_times(dot(pencil.K, F))
        eigenvalues, V = leading(weight * dot(T.T, T), k)
        eigenvalues = eigenvalues[: numerical_rank(eigenvalues)]
        V = V[:, : len(eigenvalues)] * np.sqrt(weight / eigenvalues)
        B = root.times(dot(T, np.asfortranarray(V)))
    else:
        size, dtype = len(pencil.K), pencil.K.dtype
        eigenvalues, B, _ = solve_pencil(
            pencil.left, root, size, k, tol=tol, dtype=dtype, random_state=random_state
        )
    return pencil.solution(eigenvalues, B, pencil.left(B))


def solve_not_symmetric(pencil: NuggetPencil, k: int) -> Solution:
    """Return real parts of the ``k`` leading components of the problem that is not symmetric.

    Total scatter must have no weight. Residuals are those of the real parts, and large where a
    solution is complex.
    """
    root = pencil.root()
    F, weight = pencil.thin()
    inverse = root.times(root.transposed_times(F))
    values, vectors = eig(weight * dot(dot(pencil.K, F).T, dot(pencil.K, inverse)))
    order = np.argsort(-values.real, kind="stable")[:k]
    order = order[: numerical_rank(values.real[order])]
    B = dot(inverse, np.asfortranarray(vectors.real[:, order]))
    B /= np.sqrt(np.sum(B * pencil.right(B), axis=0))
    return pencil.solution(values.real[order], B, pencil.left_not_symmetric(B))
