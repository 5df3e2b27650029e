"""Many settings of an objective from one Krylov space.

Settings differ in the weights of thin terms, F and U, and of total scatter. A Krylov space whose
first block holds F and U contains the Krylov space of every setting: Lanczos compresses the large
problem once, and each setting is a small dense one in these coordinates.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
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

SINGLE_TOL = 3e-7  # tolerance that components found in single precision nearly meet

EXACT_BLOCKS = 4
"""Rounding in the image of a block counts as much as the block does in the components: the first
ones, which do most, are in double precision."""


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
        return self.apply(W)

    @property
    def has_single_precision(self) -> bool:
        """Whether there is an operator in single precision that saves time."""
        return False

    def apply_roughly(self, W: Tall) -> Tall:
        """Return the image of a block in single precision."""
        raise NotImplementedError

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

        def find(n_random: int) -> tuple[list[Setting], int, bool]:
            first = self._begin_with(orthonormal(hstack([thin, self._draw(n_random)])))
            may_be_rough = (
                self.has_single_precision and len(settings) == 1 and self.tol >= SINGLE_TOL
            )
            search = _Search(self, settings, k, may_be_rough)
            self._krylov = self._lanczos(search.apply, first, search)
            if search.rough:
                roots = search.finish(self._krylov)[0].roots
                found = self._krylov.lift(pad_rows(roots, self._size))
                self._krylov = None
                first = self._begin_with(orthonormal(hstack([thin, found])))
                search = _Search(self, settings, k)
                self._krylov = self._lanczos(self.apply, first, search)
            solved = [setting.within_rank(self._size) for setting in search.finish(self._krylov)]
            widest = max(widest_cluster(setting.eigenvalues, 10 * self.tol) for setting in solved)
            return solved, widest, self._size == most

        # A card reads the Gram matrix from its memory once a block, however wide: twice as wide is
        # worth it there.
        width = 2 * BLOCK if is_tensor(self.K) else BLOCK
        n_random = max(width - thin.shape[1], BLOCK // 4)
        return with_enough_directions(find, n_random, most - thin.shape[1])

    def _lanczos(self, apply: Operator, first: Tall, enough: Callable[[Krylov], bool]) -> Krylov:
        n, columns = len(self.K), int(self.removes_constants)
        outside = like(np.full((n, columns), n**-0.5), first)
        return lanczos(apply, first, enough, self._draw, outside)

    def _draw(self, count: int) -> Tall:
        """Draw on the host, so that components are the same on every card."""
        W = random_columns(self._random, count, self.K)
        if self.removes_constants:
            W = W - W.mean(axis=0)
        return fortran(W)


class _Search:
    """Solve settings one after another as the Krylov space grows large enough for each.

    A setting that has converged stays solved: coordinates in a smaller space are coordinates in
    a larger one, with zeros behind them.

    With ``may_be_rough``, images come in single precision once it is known that the space must
    grow and that rounding leaves its components alone. What is found is then where to start.
    """

    def __init__(
        self, path: KrylovPath, settings: list[Objective], k: int, may_be_rough: bool = False
    ) -> None:
        self._path, self._settings, self._k = path, settings, k
        self._may_be_rough, self.rough = may_be_rough, False
        self._solved: list[Setting] = []
        self._pace = Pace(first_look=1)

    def apply(self, W: Tall) -> Tall:
        """Return the image of a block, as exactly as it has to be."""
        return self._path.apply_roughly(W) if self.rough else self._path.apply(W)

    def __call__(self, krylov: Krylov) -> bool:
        if not self._pace.step() or len(krylov.matrix) <= self._k:
            return False
        while len(self._solved) < len(self._settings):
            setting = self._solve_next(krylov)
            over = self._excess(setting)
            if over > 1:
                self._pace.plan(over)
                if self._may_be_rough and self._pace.blocks >= EXACT_BLOCKS:
                    self.rough = self.rough or self._suits_single_precision(setting)
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

    def _suits_single_precision(self, setting: Setting) -> bool:
        # Rounding tears equal eigenvalues apart, and each of them has then to be found.
        apart = widest_cluster(setting.eigenvalues, 10 * self._path.tol) < BLOCK // 4
        return apart and bool(self._large(setting).all())

    def _large(self, setting: Setting) -> Any:
        return setting.eigenvalues > SINGLE_RANGE * setting.size

    def _excess(self, setting: Setting) -> float:
        if not self.rough:
            return excess(setting.eigenvalues, setting.residuals, self._path.tol)
        known = self._large(setting)
        # What rounding adds to the residuals is about as much again.
        return excess(setting.eigenvalues[known], setting.residuals[known], self._path.tol / 2)
