"""Solve: from an objective to components, one file a route."""

from skatter.solve.dual import DualOperator, DualPath, canonical_order, solve_dual, truncate
from skatter.solve.padded import solve_padded
from skatter.solve.primal import solve_primal
from skatter.solve.solution import Solution

__all__ = [
    "DualOperator",
    "DualPath",
    "Solution",
    "canonical_order",
    "solve_dual",
    "solve_padded",
    "solve_primal",
    "truncate",
]
