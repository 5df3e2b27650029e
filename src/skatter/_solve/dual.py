"""The dual route: exact SCA on the Gram matrix, at the cost of kernel PCA.

With G = K (ρ I + w S K)⁻¹, symmetric and positive semi-definite, the problem of
:mod:`skatter._objective` has the same non-zero eigenvalues as

    T = N^½ G_U N^½,      G_U = G − G U (I + Uᵀ G U)⁻¹ Uᵀ G,      U Uᵀ = δ L + …          (1)

and its solutions are Z = G_U N^½ V Λ^-½ and B = (N^½ V Λ^-½ − M Z)/ρ, so that K B = Z. Three
facts make (1) cheap.

*G costs no more than K.* One Cholesky factorisation, then the flops of one product with K each
time; see :mod:`skatter._solve.operator`.

*One Krylov space for every β, δ and k.* N = a H + b F Fᵀ and G_U differ from a multiple of the
identity and from G by matrices whose range lies in span(F, U) and its image under G. A Krylov
space of G whose first block holds F and U therefore contains the Krylov space of T for **every**
weight on total, between-class, domain and conditional domain scatter. Lanczos compresses
(G, F, U) to (J, f, u) once; each setting is then a small dense problem.

*β = 1.* N has rank C−1 and F is in the first block: one block is exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np
from scipy.linalg import solve

from skatter._objective import SCA_FACTORS, Coefficients, Factors, Objective
from skatter._solve.blas import dot, large_dot, subtract_dot
from skatter._solve.lanczos import Krylov
from skatter._solve.operator import INDEFINITE, DualOperator
from skatter._solve.path import KrylovPath, Setting, resolved
from skatter._solve.small import leading, pad_rows
from skatter._solve.solution import Solution
from skatter._tensors import Array, Tall, column_norms, hstack, is_double, is_tensor, like
from skatter._threads import one_blas_thread
from skatter.domains import Domains

SINGLE = range(1_000, 12_000)
"""Numbers of samples with which single precision saves time, and its copies are small."""

FEW = 200  # samples whose kernel with one another shows whether single precision will do


class DualPath(KrylovPath):
    """Solve many settings of the objective that share labels, kernel and ridge.

    In a :class:`Setting`, ``roots`` is N^½ V, and ``inner`` (I − U (I + UᵀGU)⁻¹ UᵀG) N^½ V, whose
    image under G is Z Λ^½.
    """

    def __init__(self, operator: DualOperator, *, tol: float, random_state: Any = None) -> None:
        super().__init__(operator.K, tol=tol, random_state=random_state)
        self.operator = operator

    def thin(self) -> tuple[Tall, Tall]:
        coefficients = self.operator.coefficients
        return coefficients.between, hstack(coefficients.nuisance)

    def apply(self, W: Tall) -> Tall:
        return self.operator(W)

    def apply_once(self, W: Tall) -> Tall:
        return self.operator.of_thin(W)

    def blas(self) -> AbstractContextManager[None]:
        """Leave the cores to threads of large products: those of BLAS would spin beside them."""
        return nullcontext() if is_tensor(self.K) else one_blas_thread()

    def suits_single_precision(self, k: int) -> bool:
        """Say so by the spectrum that a few samples show."""
        if not (is_double(self.K) and len(self.K) in SINGLE):
            return False
        few = np.linspace(0, len(self.K) - 1, FEW).astype(np.intp)
        eigenvalues, _ = leading(self.K[np.ix_(few, few)], min(k, FEW // 4))
        return resolved(eigenvalues, eigenvalues[0], 10 * self.tol)

    def apply_roughly(self, W: Array) -> Array:
        return self._single(W)

    @cached_property
    def _single(self) -> DualOperator:
        return self.operator.in_single_precision()

    def measure_image(self, W: Tall) -> Tall:
        """Return K W for columns whose length alone matters, to a few digits."""
        if "_single" in vars(self):
            return large_dot(self._single.K, W.astype(np.float32))
        return large_dot(self.operator.K, W)

    def solutions(
        self, settings: Sequence[Objective], k: int, *, solver: str = "auto"
    ) -> Iterator[DualSolution]:
        """Yield the components of every setting in terms of samples."""
        solved = self.solve(list(settings), k, solver=solver)
        return (DualSolution(self, *pair) for pair in zip(settings, solved, strict=True))

    def projections(self, setting: Setting) -> Tall:
        """Return Z, normalised to a denominator of one."""
        return self.krylov.image(setting.inner / np.sqrt(setting.eigenvalues))

    def roots(self, setting: Setting) -> Tall:
        """Return N^½ V Λ^-½, from which B is made."""
        return self.krylov.lift(setting.roots / np.sqrt(setting.eigenvalues))

    def reduced(self, krylov: Krylov, objective: Objective, k: int) -> Setting:
        """Solve eq. (1) in the coordinates of the basis."""
        coefficients = self.operator.coefficients
        J = np.asfortranarray(krylov.matrix)
        f = pad_rows(self.f, len(J))
        u = pad_rows(self.u * coefficients.nuisance_weights(objective), len(J))
        Ju = dot(J, u)
        gain = _positive_solve(np.eye(u.shape[1], dtype=J.dtype) + dot(u.T, Ju), Ju.T)
        Jf = dot(J, f) - dot(Ju, dot(gain, f))
        fJf = dot(f.T, Jf)
        a, b = coefficients.numerator_weights(objective)
        if a == 0:
            eigenvalues, s = leading(b * fJf, k, self.device)
            roots = sqrt(b) * dot(f, s)
        else:
            # (I + c f fᵀ) J_U (I + c f fᵀ), the thin corrections gathered in one product
            c = sqrt(1 + b / a) - 1
            X = Jf + (c / 2) * dot(f, fJf)
            T = subtract_dot(
                J.copy(order="F"), np.hstack([Ju, f, X]), np.vstack([gain, -c * X.T, -c * f.T])
            )
            eigenvalues, s = leading(a * (T + T.T) / 2, k, self.device)
            roots = sqrt(a) * (s + c * dot(f, dot(f.T, s)))
        inner = roots - dot(u, dot(gain, roots))
        residuals = sqrt(a) * krylov.residual_norms(inner)
        size = a * float(np.linalg.norm(J, axis=0).max())
        return Setting(eigenvalues, roots, inner, residuals, size)


class DualSolution:
    """A setting in terms of samples, as :class:`Solution` is; coefficients come when asked for."""

    def __init__(self, path: DualPath, objective: Objective, setting: Setting) -> None:
        self._path, self._objective, self._setting = path, objective, setting
        self.eigenvalues = setting.eigenvalues

    @cached_property
    def projections(self) -> Tall:
        return self._path.projections(self._setting)

    @cached_property
    def _nuisance(self) -> Tall:
        return self._path.operator.coefficients.denominator(self._objective, self.projections)

    @cached_property
    def coefficients(self) -> Tall:
        """B = (N^½ V Λ^-½ − M Z)/ρ."""
        B = (self._path.roots(self._setting) - self._nuisance) / self._objective.ridge
        # K B = Z holds for any B up to a constant; the constant is rounding.
        B -= B.mean(axis=0)
        return B

    @cached_property
    def residuals(self) -> Array:
        """‖A b − λ C b‖/‖A b‖ from K alone: K (N z − λ (ρ b + M z)) and K N z."""
        path, Z, k = self._path, self.projections, len(self.eigenvalues)
        signal = path.operator.coefficients.numerator(self._objective, Z)
        right = self._objective.ridge * self.coefficients + self._nuisance
        rest = signal - right * like(self.eigenvalues, Z)
        size = column_norms(path.measure_image(hstack([signal, rest])))
        return size[k:] / np.where(size[:k] > 0, size[:k], 1).astype(self.eigenvalues.dtype)


def solve_dual(
    K: Tall,
    domains: Domains,
    objective: Objective,
    k: int,
    *,
    tol: float,
    solver: str = "auto",
    random_state: Any = None,
    factors: Factors = SCA_FACTORS,
) -> Solution:
    """Return the ``k`` leading components of one setting, or fewer where the rank is lower.

    K is the centred Gram matrix, rows in :func:`canonical_order` of ``domains``.
    """
    operator = DualOperator(K, Coefficients.like(K, domains, factors), objective)
    path = DualPath(operator, tol=tol, random_state=random_state)
    found = next(path.solutions([objective], k, solver=solver))
    return Solution(found.eigenvalues, found.coefficients, found.projections, found.residuals)


def _positive_solve(A: Array, B: Array) -> Array:
    if not len(A):
        return B
    try:
        return solve(A, B, assume_a="pos", check_finite=False)
    except np.linalg.LinAlgError as error:
        raise ValueError(INDEFINITE) from error
