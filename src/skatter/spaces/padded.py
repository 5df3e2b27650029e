"""Samples by their Gram matrix, with class terms as printed: over labelled rows alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from skatter.objective import Coefficients, Objective
from skatter.solve import PaddedPath, Solution
from skatter.spaces.gram import GramSpace


class PaddedSpace(GramSpace):
    """Samples by their Gram matrix, as Algorithm 1 of the paper has it to the letter."""

    def _solutions(self, objectives: Sequence[Objective], k: int) -> Iterator[Solution]:
        problem = self.problem
        # Single precision would not resolve the paper's ε.
        K, means = (np.asarray(part, dtype=np.float64) for part in (self.K, self._means))
        coefficients = Coefficients(self.ordered, np.float64, problem.factors)
        options = {"tol": problem.tol, "random_state": problem.random_state}
        path = PaddedPath(K, means, coefficients, objectives[0], **options)
        for found in path.solutions(objectives, k):
            yield Solution(*(np.asarray(part, dtype=self.dtype) for part in found))
