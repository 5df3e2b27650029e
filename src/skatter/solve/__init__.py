"""Solve: from an objective to components, one file a route."""

from skatter.solve.dual import DualPath, solve_dual
from skatter.solve.iterative import solve_iterative
from skatter.solve.nugget import NuggetPencil, solve_not_symmetric, solve_nugget
from skatter.solve.operator import INDEFINITE, DualOperator, canonical_order
from skatter.solve.padded import PaddedPath
from skatter.solve.primal import PrimalPath
from skatter.solve.solution import Found, Solution
from skatter.solve.squared import solve_squared
from skatter.solve.symmetric import (
    CholeskyRoot,
    DiagonalPlusThin,
    Eigenpairs,
    leading_pairs,
    principal_axes,
    solve_pencil,
)

__all__ = [
    "INDEFINITE",
    "CholeskyRoot",
    "DiagonalPlusThin",
    "DualOperator",
    "DualPath",
    "Eigenpairs",
    "Found",
    "NuggetPencil",
    "PaddedPath",
    "PrimalPath",
    "Solution",
    "canonical_order",
    "leading_pairs",
    "principal_axes",
    "solve_dual",
    "solve_iterative",
    "solve_not_symmetric",
    "solve_nugget",
    "solve_pencil",
    "solve_squared",
]
