"""The dual route: exact SCA on the Gram matrix, at the cost of kernel PCA.

With G = K (ρ I + w S K)⁻¹, symmetric and positive semi-definite, the problem of
:mod:`skatter.objective` has the same non-zero eigenvalues as

    T = N^½ G_U N^½,      G_U = G − G U (I + Uᵀ G U)⁻¹ Uᵀ G,      U Uᵀ = δ L + …          (1)

and its solutions are Z = G_U N^½ V Λ^-½ and B = (N^½ V Λ^-½ − M Z)/ρ, so that K B = Z. Three
facts make (1) cheap.

*G costs no more than K.* One Cholesky factorisation, then the flops of one product with K each
time; see :mod:`skatter.solve.operator`.

*One Krylov space for every β, δ and k.* N = a H + b F Fᵀ and G_U differ from a multiple of the
identity and from G by matrices whose range lies in span(F, U) and its image under G. A Krylov
space of G whose first block holds F and U therefore contains the Krylov space of T for **every**
weight on total, between-class, domain and conditional domain scatter. Lanczos compresses
(G, F, U) to (J, f, u) once; each setting is then a small dense problem.

*β = 1.* N has rank C−1 and F is in the first block: one block is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve
from sklearn.utils import check_random_state

from skatter.domains import Domains
from skatter.objective import SCA_FACTORS, Coefficients, Factors, Objective
from skatter.solve.blas import dot, inner, subtract_dot
from skatter.solve.convergence import (
    Pace,
    excess,
    widest_cluster,
    with_enough_directions,
)
from skatter.solve.lanczos import BLOCK, DENSE, Krylov, Operator, lanczos, orthonormal
from skatter.solve.operator import INDEFINITE, DualOperator
from skatter.solve.small import leading, pad_rows
from skatter.solve.solution import Solution, numerical_rank, relative_residuals
from skatter.tensors import (
    Tall,
    fortran,
    host,
    host_dtype,
    hstack,
    identity,
    is_tensor,
    like,
)

Array = NDArray[Any]


@dataclass(frozen=True)
class Setting:
    """One setting (weights, k) solved in a Krylov space.

    Attributes
    ----------
    eigenvalues : ndarray of shape (k,)
        Largest first.
    roots : ndarray of shape (q, k)
        Coordinates of N^½ V.
    inner : ndarray of shape (q, k)
        Coordinates of (I − U (I + UᵀGU)⁻¹ UᵀG) N^½ V, whose image under G is Z Λ^½.
    residuals : ndarray of shape (k,)
        ‖T v − λ v‖, from the coupling alone.
    """

    eigenvalues: Array
    roots: Array
    inner: Array
    residuals: Array

    def within_rank(self, rows: int) -> Setting:
        """Keep the components above the numerical rank, in a space of ``rows`` dimensions."""
        rank = numerical_rank(self.eigenvalues)
        return Setting(
            self.eigenvalues[:rank],
            pad_rows(self.roots[:, :rank], rows),
            pad_rows(self.inner[:, :rank], rows),
            self.residuals[:rank],
        )


class DualPath:
    """Solve many settings of the objective that share labels, kernel and ridge.

    Parameters
    ----------
    operator : DualOperator
        G with its factorisation.
    tol : float
        Residual of each component, relative to its own eigenvalue.
    random_state : int, RandomState instance or None
        Draws the random part of the first Lanczos block; None is a fixed seed.
    """

    def __init__(self, operator: DualOperator, *, tol: float, random_state: Any = None) -> None:
        self.operator = operator
        self.tol = tol
        self._random = check_random_state(0 if random_state is None else random_state)
        self._krylov: Krylov | None = None
        # Coordinates of F and U in the first block; all later ones are zero.
        self._between = np.empty((0, 0))
        self._nuisance = np.empty((0, 0))

    @property
    def _n(self) -> int:
        return len(self.operator.K)

    def solve(self, settings: list[Objective], k: int, *, solver: str = "auto") -> list[Setting]:
        """Return the ``k`` leading components of every setting, from one Krylov space."""
        if solver == "dense" or (solver == "auto" and (self._n <= DENSE or 4 * k > self._n)):
            self._krylov = self._whole_space()
        elif all(setting.between_only for setting in settings):
            self._krylov = self._one_block()
        else:
            return self._grow(settings, k)
        return [
            self.reduced(self._krylov, setting, k).within_rank(self._size) for setting in settings
        ]

    def solutions(
        self, settings: Sequence[Objective], k: int, *, solver: str = "auto"
    ) -> Iterator[DualSolution]:
        """Yield the components of every setting in terms of samples."""
        solved = self.solve(list(settings), k, solver=solver)
        return (DualSolution(self, *pair) for pair in zip(settings, solved, strict=True))

    @property
    def _size(self) -> int:
        """Dimension of the Krylov space."""
        assert self._krylov is not None
        return len(self._krylov.matrix)

    def projections(self, setting: Setting) -> Tall:
        """Return Z, normalised to a denominator of one."""
        assert self._krylov is not None
        return self._krylov.image(setting.inner / np.sqrt(setting.eigenvalues))

    def roots(self, setting: Setting) -> Tall:
        """Return N^½ V Λ^-½, from which B is made."""
        assert self._krylov is not None
        return self._krylov.lift(setting.roots / np.sqrt(setting.eigenvalues))

    def _thin_basis(self) -> Tall:
        coefficients = self.operator.coefficients
        return orthonormal(hstack([coefficients.between, *coefficients.nuisance]))

    def _begin_with(self, first: Tall) -> Tall:
        """Remember where F and U are in the first block."""
        coefficients = self.operator.coefficients
        self._between = inner(first, coefficients.between)
        self._nuisance = inner(first, fortran(hstack(coefficients.nuisance)))
        return first

    def _whole_space(self) -> Krylov:
        matrix = host(self.operator.dense())
        matrix = (matrix + matrix.T) / 2
        nothing = np.zeros((0, self._n), dtype=matrix.dtype)
        return Krylov(self._begin_with(identity(self.operator.K)), matrix, nothing)

    def _one_block(self) -> Krylov:
        first = self._begin_with(self._thin_basis())
        return self._lanczos(self.operator.direct, first, lambda _: True)

    def _grow(self, settings: list[Objective], k: int) -> list[Setting]:
        """Let Lanczos find the components, with as many random directions as they need."""
        thin = self._thin_basis()

        def find(n_random: int) -> tuple[list[Setting], int, bool]:
            first = orthonormal(hstack([thin, self._draw(n_random)]))
            search = _Search(self, settings, k)
            self._krylov = self._lanczos(self.operator, self._begin_with(first), search)
            solved = [setting.within_rank(self._size) for setting in search.finish(self._krylov)]
            widest = max(widest_cluster(setting.eigenvalues, 10 * self.tol) for setting in solved)
            return solved, widest, self._size == self._n - 1

        # A card reads the Gram matrix from its memory once a block, however wide: twice as wide is
        # worth it there.
        width = 2 * BLOCK if is_tensor(self.operator.K) else BLOCK
        n_random = max(width - thin.shape[1], BLOCK // 4)
        return with_enough_directions(find, n_random, self._n - 1 - thin.shape[1])

    def _lanczos(self, apply: Operator, first: Tall, enough: Callable[[Krylov], bool]) -> Krylov:
        """K is centred, so that G removes constants."""
        constant = like(np.full((self._n, 1), self._n**-0.5), first)
        return lanczos(apply, first, enough, self._draw, constant)

    def _draw(self, count: int) -> Tall:
        """Draw on the host, so that components are the same wherever K lives."""
        K = self.operator.K
        W = self._random.standard_normal((count, self._n)).astype(host_dtype(K)).T
        return like(np.asfortranarray(W - W.mean(axis=0)), K)

    def reduced(self, krylov: Krylov, objective: Objective, k: int) -> Setting:
        """Solve eq. (1) in the coordinates of the basis."""
        coefficients = self.operator.coefficients
        J = np.asfortranarray(krylov.matrix)
        f = pad_rows(self._between, len(J))
        u = pad_rows(self._nuisance * coefficients.nuisance_weights(objective), len(J))
        Ju = dot(J, u)
        gain = _positive_solve(np.eye(u.shape[1], dtype=J.dtype) + dot(u.T, Ju), Ju.T)
        Jf = dot(J, f) - dot(Ju, dot(gain, f))
        fJf = dot(f.T, Jf)
        a, b = coefficients.numerator_weights(objective)
        if a == 0:
            eigenvalues, s = leading(b * fJf, k)
            roots = sqrt(b) * dot(f, s)
        else:
            # (I + c f fᵀ) J_U (I + c f fᵀ), the thin corrections gathered in one product
            c = sqrt(1 + b / a) - 1
            X = Jf + (c / 2) * dot(f, fJf)
            T = subtract_dot(
                J.copy(order="F"), np.hstack([Ju, f, X]), np.vstack([gain, -c * X.T, -c * f.T])
            )
            eigenvalues, s = leading(a * (T + T.T) / 2, k)
            roots = sqrt(a) * (s + c * dot(f, dot(f.T, s)))
        residuals = sqrt(a) * krylov.residual_norms(roots)
        return Setting(eigenvalues, roots, roots - dot(u, dot(gain, roots)), residuals)


class _Search:
    """Solve settings one after another as the Krylov space grows large enough for each.

    A setting that has converged stays solved: coordinates in a smaller space are coordinates in
    a larger one, with zeros behind them.
    """

    def __init__(self, path: DualPath, settings: list[Objective], k: int) -> None:
        self._path, self._settings, self._k = path, settings, k
        self._solved: list[Setting] = []
        # The images of F and U must be inside before a setting can be solved.
        self._pace = Pace(first_look=2)

    def __call__(self, krylov: Krylov) -> bool:
        """Whether the space holds the wanted components of all settings to tolerance."""
        if not self._pace.step() or len(krylov.matrix) <= self._k:
            return False
        while len(self._solved) < len(self._settings):
            setting = self._solve_next(krylov)
            over = excess(setting.eigenvalues, setting.residuals, self._path.tol)
            if over > 1:
                self._pace.plan(over)
                return False
            self._solved.append(setting)
            self._pace.restart()
        return True

    def finish(self, krylov: Krylov) -> list[Setting]:
        """Solve what is left in a space that cannot grow, and return all settings."""
        while len(self._solved) < len(self._settings):
            self._solved.append(self._solve_next(krylov))
        return self._solved

    def _solve_next(self, krylov: Krylov) -> Setting:
        return self._path.reduced(krylov, self._settings[len(self._solved)], self._k)


class DualSolution:
    """A setting in terms of samples, as :class:`Solution` is; coefficients come when asked for."""

    def __init__(self, path: DualPath, objective: Objective, setting: Setting) -> None:
        self._path, self._objective, self._setting = path, objective, setting
        self.eigenvalues, self.norms = setting.eigenvalues, None

    @cached_property
    def projections(self) -> Tall:
        """Z, normalised to a denominator of one."""
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
        """‖A b − λ C b‖/‖A b‖ from K alone: A b = K (N z) and C b = ρ z + K (M z)."""
        operator, Z, k = self._path.operator, self.projections, len(self.eigenvalues)
        signal = operator.coefficients.numerator(self._objective, Z)
        images = dot(operator.K, fortran(hstack([signal, self._nuisance])))
        right = (self._objective.ridge * Z + images[:, k:]) * like(self.eigenvalues, Z)
        return relative_residuals(images[:, :k], right)


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
