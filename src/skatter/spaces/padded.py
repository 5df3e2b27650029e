"""Samples by their Gram matrix, where class terms see labelled rows alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from skatter.objective import Objective
from skatter.solve import Solution, solve_padded
from skatter.spaces.gram import GramSpace


class PaddedSpace(GramSpace):
    """Samples by their Gram matrix, with the class terms as printed in the paper."""

    def _solutions(self, objectives: Sequence[Objective], k: int) -> Iterator[Solution]:
        return (solve_padded(self.K, self.ordered, objective, k) for objective in objectives)
