"""Samples by their Gram matrix, stored: every setting from one factorisation of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from skatter._objective import Coefficients, Objective
from skatter._solve import INDEFINITE, DualOperator, DualPath, Found, canonical_order
from skatter._spaces.base import OnSamples, Problem, Solved, Space
from skatter._tensors import Array, device_of, host_dtype, is_tensor, take, trace
from skatter.domains import Domains
from skatter.kernels import Kernel, centre, check_gram, gram, require_memory
from skatter.scatter import Geometry, Scatters, measure


class GramSpace(Space):
    """Samples by their Gram matrix, its rows sorted by class.

    ``basis`` is "lanczos", "dense" (the whole space), or "auto", which goes by the size. ``gram``
    is the centred matrix in that order with the means that its columns had, if it was made before.
    """

    def __init__(
        self,
        problem: Problem,
        domains: Domains,
        *,
        basis: str = "auto",
        gram: tuple[Any, Any] | None = None,
    ) -> None:
        self.problem, self.domains = problem, domains
        self._options: dict[str, Any] = {"basis": basis}
        self._order = canonical_order(domains)
        self._back = np.argsort(self._order)
        if gram is None:
            K = ordered_gram(problem.X, problem.kernel, self._order)
            gram = K, centre(K)
            if trace(K) < 0:
                raise ValueError(INDEFINITE)
        self.K, self._means = gram
        self.dtype = host_dtype(self.K)

    def _with(self, domains: Domains) -> Space:
        rows = self._back[canonical_order(domains)]
        K = self.K if np.array_equal(rows, np.arange(len(rows))) else permuted(self.K, rows)
        gram = K, take(self._means, rows)
        return type(self)(self.problem, domains, gram=gram, **self._options)

    def in_single_precision(self) -> GramSpace:
        """Return the same samples with a Gram matrix in single precision, made in double."""
        gram = self.K.astype(np.float32), self._means.astype(np.float32)
        return type(self)(self.problem, self.domains, gram=gram, **self._options)

    @property
    def mean(self) -> Any:
        return take(self._means, self._back)

    @cached_property
    def ordered(self) -> Domains:
        """Labels and domains in the order of the rows of K."""
        return self.domains.take(self._order)

    @cached_property
    def scatters(self) -> Scatters:
        return measure(Geometry.of_gram(self.K), self.ordered)

    def solve(self, objectives: Sequence[Objective], k: int) -> Iterator[Solved]:
        solutions = self._solutions(objectives, min(k, len(self.K) - 1))
        for objective, (solution, norms) in zip(objectives, solutions, strict=True):
            yield OnSamples(self, objective, solution, self._back, norms)

    def _solutions(
        self, objectives: Sequence[Objective], k: int
    ) -> Iterator[tuple[Found, Array | None]]:
        """Yield solutions in the order of the rows of K, and ‖b‖ where the equation fixes b."""
        problem = self.problem
        coefficients = Coefficients.like(self.K, self.ordered, problem.factors)
        operator = DualOperator(self.K, coefficients, objectives[0])
        path = DualPath(operator, tol=problem.tol, random_state=problem.random_state)
        for solution in path.solutions(objectives, k, solver=self._options["basis"]):
            yield solution, None

    def cross(self, X: Any) -> Any:
        return self.problem.kernel(X, self.problem.X)


def ordered_gram(X: Any, kernel: Kernel, order: Any) -> Any:
    """Gram matrix with rows and columns in a given order, in memory of its own."""
    if kernel.precomputed:
        check_gram(X)
        require_memory(len(X), X.dtype.itemsize, device_of(X))
        return permuted(X, order)
    return gram(take(X, order), kernel)


def permuted(K: Any, order: Any) -> Any:
    """Return a copy of a square matrix, its rows and columns in another order."""
    return take(take(K, order).T, order).T if is_tensor(K) else K[np.ix_(order, order)]
