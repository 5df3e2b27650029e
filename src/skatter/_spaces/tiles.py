"""Samples by a Gram matrix in tiles, recomputed and never stored; settings one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from functools import cached_property
from typing import Any

from skatter._objective import Objective
from skatter._solve import solve_iterative
from skatter._spaces.base import OnSamples, Problem, Solved, Space
from skatter._tensors import host_dtype, like
from skatter._tiles import TiledGram
from skatter.domains import Domains
from skatter.scatter import Scatters, measure


class TileSpace(Space):
    """Samples by products with their Gram matrix."""

    def __init__(self, problem: Problem, domains: Domains) -> None:
        self.problem, self.domains, self.dtype = problem, domains, host_dtype(problem.X)
        self._tiles = TiledGram(problem.X, problem.kernel)

    def _with(self, domains: Domains) -> Space:
        other = copy(self)
        vars(other).pop("scatters", None)
        other.domains = domains
        return other

    @cached_property
    def scatters(self) -> Scatters:
        return measure(self._tiles.geometry, self.domains)

    @property
    def mean(self) -> Any:
        return like(self._tiles.means, self.problem.X)

    def solve(self, objectives: Sequence[Objective], k: int) -> Iterator[Solved]:
        problem = self.problem
        for objective in objectives:
            solution = solve_iterative(
                self._tiles,
                self.domains,
                objective,
                min(k, self._tiles.n - 1),
                tol=problem.tol,
                random_state=problem.random_state,
                factors=problem.factors,
            )
            yield OnSamples(self, objective, solution)

    def cross(self, X: Any) -> Any:
        return self.problem.kernel(X, self.problem.X)
