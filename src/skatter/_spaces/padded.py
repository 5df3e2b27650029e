"""Samples by their Gram matrix, with class terms as printed: over labelled rows alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from skatter._objective import Coefficients, Objective
from skatter._solve import Found, PaddedPath
from skatter._spaces.base import Problem
from skatter._spaces.gram import GramSpace
from skatter._tensors import Array, is_tensor
from skatter.domains import Domains


class PaddedSpace(GramSpace):
    """Samples by their Gram matrix, as Algorithm 1 of the paper has it to the letter."""

    def __init__(self, problem: Problem, domains: Domains, **options: Any) -> None:
        if is_tensor(problem.X):
            raise TypeError("reading='printed' takes NumPy arrays: pass X.numpy(force=True).")
        super().__init__(problem, domains, **options)

    def _solutions(self, objectives: Sequence[Objective], k: int) -> Iterator[tuple[Found, Array]]:
        problem = self.problem
        coefficients = Coefficients(self.ordered, np.float64, problem.factors)
        options = {"tol": problem.tol, "random_state": problem.random_state}
        path = PaddedPath(self.K, self._means, coefficients, objectives[0], **options)
        for found in path.solutions(objectives, k):
            yield found, found.norms
