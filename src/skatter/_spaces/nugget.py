"""Samples by their Gram matrix, where coefficients themselves are kept small, too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from skatter._objective import Coefficients, Objective
from skatter._solve import Found, NuggetPencil, solve_not_symmetric, solve_nugget
from skatter._spaces.base import Problem
from skatter._spaces.gram import GramSpace
from skatter._tensors import Array
from skatter.domains import Domains


class NuggetSpace(GramSpace):
    """Samples by their Gram matrix, with r ‖b‖² in the denominator; see the solver."""

    def __init__(
        self,
        problem: Problem,
        domains: Domains,
        *,
        nugget: float,
        symmetric: bool = True,
        gram: Any = None,
    ) -> None:
        super().__init__(problem, domains, gram=gram)
        self._options = {"nugget": nugget, "symmetric": symmetric}

    def _solutions(self, objectives: Sequence[Objective], k: int) -> Iterator[tuple[Found, Array]]:
        problem = self.problem
        coefficients = Coefficients(self.ordered, self.K.dtype, problem.factors)
        for objective in objectives:
            pencil = NuggetPencil(self.K, coefficients, objective, self._options["nugget"])
            if self._options["symmetric"]:
                options = {"tol": problem.tol, "random_state": problem.random_state}
                found = solve_nugget(pencil, k, **options)
            else:
                found = solve_not_symmetric(pencil, k)
            yield found, np.linalg.norm(found.coefficients, axis=0)
