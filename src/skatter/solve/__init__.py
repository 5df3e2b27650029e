"""Solve: from an objective to components, one file a route."""

from skatter.solve.dual import DualPath, solve_dual
from skatter.solve.operator import INDEFINITE, DualOperator, canonical_order
from skatter.solve.padded import solve_padded
from skatter.solve.primal import PrimalPath
from skatter.solve.solution import Solution

__all__ = [
    "INDEFINITE",
    "DualOperator",
    "DualPath",
    "PrimalPath",
    "Solution",
    "canonical_order",
    "solve_dual",
    "solve_padded",
]
