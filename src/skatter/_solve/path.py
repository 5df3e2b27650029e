"""Many settings of an objective from one Krylov space.

Settings differ in the weights of thin terms, F and U, and of total scatter. A Krylov space whose
first block holds F and U contains the Krylov space of every setting: Lanczos compresses the large
problem once, and each setting is a small dense one in these coordinates.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from skatter._checks import seeded
from skatter._objective import Objective
from skatter._solve.blas import inner
from skatter._solve.convergence import Pace, excess, widest_cluster, with_enough_directions
from skatter._solve.lanczos import BLOCK, DENSE, Krylov, Operator, lanczos, orthonormal
from skatter._solve.small import pad_rows
from skatter._solve.solution import numerical_rank
from skatter._tensors import (
    Array,
    Tall,
    device_of,
    fortran,
    host,
    hstack,
    identity,
    is_tensor,
    like,
    random_columns,
)

SINGLE_RANGE = 1e-4
"""Share of the size of an operator below which its eigenvalues drown in single precision."""

NEIGHBOURS = 8
"""Components beyond the wanted ones that single precision finds: of what its rounding mixes into
the last wanted ones, most is from these."""

SINGLE_TOL = 3e-7  # tolerance that components found in single precision nearly meet


@dataclass(frozen=True)
class Setting:
    """One setting (weights, k) solved in a Krylov space.

    ``roots`` and ``inner`` are coordinates of what a path makes components from, one column for
    each; ``residuals`` are ‖T v − λ v‖, from the coupling alone. ``size`` is that of what rounding
    in the operator is relative to.
    """

    eigenvalues: Array
    roots: Array
    inner: Array
    residuals: Array
    size: float = 0.0

    def within_rank(self, rows: int) -> Setting:
        """Keep the components above the numerical rank, in a space of ``rows`` dimensions."""
        rank = numerical_rank(self.eigenvalues)
        return Setting(
            self.eigenvalues[:rank],
            pad_rows(self.roots[:, :rank], rows),
            pad_rows(self.inner[:, :rank], rows),
            self.residuals[:rank],
            self.size,
        )


class KrylovPath(ABC):
    """Solve many settings that share a factorisation.

    K says of what kind and where the space is. ``random_state`` draws the random part of the first
    block; None is a fixed seed.
    """

    removes_constants: ClassVar[bool] = True
    """Whether the operator maps constants to zero."""

    def __init__(self, K: Tall, *, tol: float, random_state: Any = None) -> None:
        self.K, self.tol, self.device = K, tol, device_of(K)
        self._random = seeded(random_state)
        self._krylov: Krylov | None = None
        # Coordinates of F and U in the first block; all later ones are zero.
        self.f = np.empty((0, 0))
        self.u = np.empty((0, 0))

    @abstractmethod
    def thin(self) -> tuple[Tall, Tall]:
        """Return F and U, without the weights of a setting."""

    @abstractmethod
    def apply(self, W: Tall) -> Tall:
        """Return the image of a block."""

    def apply_once(self, W: Tall) -> Tall:
        """Return the image of thin columns, F and U or a basis of them."""
        return self.apply(W)

    def suits_single_precision(self, k: int) -> bool:
        """Whether it is worth trying to find ``k`` components in single precision."""
        return False

    def apply_roughly(self, W: Array) -> Array:
        """Return the image of a block in single precision."""
        raise NotImplementedError

    def blas(self) -> AbstractContextManager[None]:
        """Return a limit of the threads of BLAS while a space grows."""
        return nullcontext()

    @abstractmethod
    def reduced(self, krylov: Krylov, objective: Objective, k: int) -> Setting:
        """Solve a setting in the coordinates of the basis."""

    def solve(self, settings: list[Objective], k: int, *, solver: str = "auto") -> list[Setting]:
        """Return the ``k`` leading components of every setting, from one Krylov space."""
        n = len(self.K)
        if solver == "dense" or (solver == "auto" and (n <= DENSE or 4 * k > n)):
            self._krylov = self._whole_space()
        elif all(setting.between_only for setting in settings):
            self._krylov = self._one_block()
        else:
            return self._grow(settings, k)
        return [self.reduced(self.krylov, each, k).within_rank(self._size) for each in settings]

    @property
    def krylov(self) -> Krylov:
        assert self._krylov is not None
        return self._krylov

    @property
    def _size(self) -> int:
        return len(self.krylov.matrix)

    def _begin_with(self, first: Tall) -> Tall:
        self.f, self.u = (inner(first, fortran(part)) for part in self.thin())
        return first

    def _whole_space(self) -> Krylov:
        first = self._begin_with(identity(self.K))
        matrix = host(self.apply(first))
        matrix = (matrix + matrix.T) / 2
        return Krylov(first, matrix, np.zeros((0, len(matrix)), dtype=matrix.dtype))

    def _one_block(self) -> Krylov:
        first = self._begin_with(orthonormal(hstack(self.thin())))
        return self._lanczos(self.apply_once, first, lambda _: True)

    def _grow(self, settings: list[Objective], k: int) -> list[Setting]:
        """Let Lanczos find the components, with as many random directions as they need."""
        thin = orthonormal(hstack(self.thin()))
        most = len(self.K) - self.removes_constants
        may_be_rough = (
            len(settings) == 1 and self.tol >= SINGLE_TOL and self.suits_single_precision(k)
        )

        def find(n_random: int) -> tuple[list[Setting], int, bool]:
            first = orthonormal(hstack([thin, self._draw(n_random)]))
            found = self._find_roughly(first, settings[0], k) if may_be_rough else None
            if found is None:
                search = _Search(self, settings, k)
            else:
                first = orthonormal(hstack([thin, found]))
                search = _Refinement(self, settings, k)
            self._krylov = self._lanczos(search.apply, self._begin_with(first), search)
            solved = [setting.within_rank(self._size) for setting in search.finish(self._krylov)]
            widest = max(widest_cluster(setting.eigenvalues, 10 * self.tol) for setting in solved)
            return solved, widest, self._size == most

        # A card reads the Gram matrix from its memory once a block, however wide: twice as wide is
        # worth it there.
        width = 2 * BLOCK if is_tensor(self.K) else BLOCK
        n_random = max(width - thin.shape[1], BLOCK // 4)
        with self.blas():
            return with_enough_directions(find, n_random, most - thin.shape[1])

    def _find_roughly(self, first: Array, setting: Objective, k: int) -> Array | None:
        """Find a setting's components in single precision, or None if it does not resolve them."""
        search = _RoughSearch(self, setting, k)
        start = self._begin_with(first).astype(np.float32)
        krylov = self._lanczos(search.apply, start, search)
        (found,) = search.finish(krylov)
        if not search.suits:
            return None
        roots = pad_rows(found.roots, len(krylov.matrix))
        return self._off_constants(krylov.lift(roots.astype(np.float32)).astype(np.float64))

    def _lanczos(self, apply: Operator, first: Tall, enough: Callable[[Krylov], bool]) -> Krylov:
        n, columns = len(self.K), int(self.removes_constants)
        outside = like(np.full((n, columns), n**-0.5), first)

        def draw(count: int) -> Tall:
            return like(self._draw(count), first)

        return lanczos(apply, first, enough, draw, outside)

    def _draw(self, count: int) -> Tall:
        """Draw on the host, so that components are the same on every card."""
        return fortran(self._off_constants(random_columns(self._random, count, self.K)))

    def _off_constants(self, W: Tall) -> Tall:
        """Return W off what the operator removes: none of it must be in a first block."""
        return W - W.mean(axis=0) if self.removes_constants else W


class _Search:
    """Solve settings one after another as the Krylov space grows large enough for each.

    A setting that has converged stays solved: coordinates in a smaller space are coordinates in
    a larger one, with zeros behind them.
    """

    def __init__(self, path: KrylovPath, settings: list[Objective], k: int) -> None:
        self._path, self._settings, self._k = path, settings, k
        self._solved: list[Setting] = []
        self._pace = Pace(first_look=1)

    def apply(self, W: Tall) -> Tall:
        """Return the image of a block, as exactly as it has to be."""
        return self._path.apply(W)

    def __call__(self, krylov: Krylov) -> bool:
        if not self._pace.step() or len(krylov.matrix) <= self._k:
            return False
        while len(self._solved) < len(self._settings):
            setting = self._solve_next(krylov)
            over = self._excess(setting)
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

    def _excess(self, setting: Setting) -> float:
        return excess(setting.eigenvalues, setting.residuals, self._path.tol)


class _RoughSearch(_Search):
    """Find the components of one setting in single precision: where to start in double.

    It gives up where rounding would hide or tear apart what is wanted.
    """

    def __init__(self, path: KrylovPath, setting: Objective, k: int) -> None:
        super().__init__(path, [setting], k + NEIGHBOURS)
        self._wanted, self.suits = slice(k), True

    def apply(self, W: Tall) -> Tall:
        return self._path.apply_roughly(W)

    def __call__(self, krylov: Krylov) -> bool:
        return super().__call__(krylov) or not self.suits

    def _solve_next(self, krylov: Krylov) -> Setting:
        matrix, coupling = (part.astype(np.float64) for part in (krylov.matrix, krylov.coupling))
        setting = super()._solve_next(Krylov(krylov.basis, matrix, coupling))
        wanted = setting.eigenvalues[self._wanted]
        self.suits = resolved(wanted, setting.size, 10 * self._path.tol)
        return setting

    def _excess(self, setting: Setting) -> float:
        eigenvalues, residuals = (
            part[self._wanted] for part in (setting.eigenvalues, setting.residuals)
        )
        # What rounding adds to the residuals is about as much again.
        return excess(eigenvalues, residuals, self._path.tol / 2)


class _Refinement(_Search):
    """Go on to the tolerance from a first block that holds components found before.

    Blocks are as wide as all that was found: a product costs more than a look.
    """

    def __init__(self, path: KrylovPath, settings: list[Objective], k: int) -> None:
        super().__init__(path, settings, k)
        self._pace = Pace(first_look=1, patience=1)


def resolved(eigenvalues: Array, size: float, gap: float) -> bool:
    """Whether single precision tells eigenvalues from its rounding, and from one another.

    It tears equal ones apart, and each of them has then to be found.
    """
    apart = widest_cluster(eigenvalues, gap) < BLOCK // 4
    return apart and bool(np.all(eigenvalues > SINGLE_RANGE * size))
