"""Explicit features by their moments: every setting is one small problem."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, ClassVar

from skatter._objective import Objective
from skatter._solve import Eigenpairs, PrimalPath
from skatter._spaces.base import Problem, Solved, Space, product
from skatter._tensors import Array, device_of, like
from skatter.domains import Domains
from skatter.moments import Moments, collect_moments, regroup_moments
from skatter.scatter import Scatters


class MomentSpace(Space):
    """Explicit features by their moments; samples may be elsewhere, or gone."""

    on_features: ClassVar[bool] = True

    def __init__(
        self, problem: Problem, domains: Domains, *, moments: Moments | None = None
    ) -> None:
        self.problem, self.domains = problem, domains
        if moments is None:
            moments = collect_moments(problem.X, domains, problem.features)
        self.moments, self.dtype = moments, moments.dtype

    @cached_property
    def mean(self) -> Any:
        return self.moments.mean

    @cached_property
    def features(self) -> Any:
        """Features of the samples, for whoever projects these many times."""
        return self.problem.features(self.problem.X)

    @cached_property
    def scatters(self) -> Scatters:
        return self.moments.scatters()

    @cached_property
    def _total(self) -> Array:
        """Second moment of all samples about their mean, which no label changes."""
        return self.moments.total()

    def _with(self, domains: Domains) -> Space:
        moments = regroup_moments(self.features, domains, self._total)
        other = MomentSpace(self.problem, domains, moments=moments)
        vars(other)["features"] = self.features
        return other

    def solve(self, objectives: Sequence[Objective], k: int) -> Iterator[Solved]:
        path = PrimalPath(self.moments, self.problem.factors, device_of(self.problem.X))
        for objective in objectives:
            yield _OnFeatures(self, objective, path, path.solve(objective, k))

    def cross(self, X: Any) -> Any:
        return self.problem.features(X)


class _OnFeatures(Solved):
    """Components as directions in explicit features."""

    space: MomentSpace

    def __init__(
        self, space: MomentSpace, objective: Objective, path: PrimalPath, found: Eigenpairs
    ) -> None:
        super().__init__(space, objective, found.values)
        self._path, self._found = path, found

    @property
    def coefficients(self) -> Any:
        return self._found.vectors

    @property
    def residuals(self) -> Array:
        return self._found.residuals

    @cached_property
    def projections(self) -> Any:
        """Z = Φ W, less its mean."""
        return self.project(self.space.features)

    def project(self, cross: Any) -> Any:
        W = self.coefficients
        return product(cross, like(W, cross)) - like(self.space.mean @ W, cross)

    def norms(self) -> Array:
        return self._path.coefficient_norms(self.objective, self._found)

    def directions(self) -> Any:
        return self.coefficients

    def scatters(self, factor: Array) -> Scatters:
        return self.space.moments.scatters(self.coefficients * factor)
