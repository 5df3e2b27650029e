"""Solve: from an objective to components, one file a route."""

from skatter._solve.dual import DualPath, solve_dual
from skatter._solve.iterative import solve_iterative
from skatter._solve.nugget import NuggetPencil, solve_not_symmetric, solve_nugget
from skatter._solve.operator import INDEFINITE, DualOperator, canonical_order
from skatter._solve.padded import PaddedPath
from skatter._solve.primal import PrimalPath
from skatter._solve.solution import Found, Solution
from skatter._solve.squared import solve_squared
from skatter._solve.structural import StructuralRisk, cosine_laplacian, cosines
from skatter._solve.symmetric import (
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
    "StructuralRisk",
    "canonical_order",
    "cosine_laplacian",
    "cosines",
    "leading_pairs",
    "principal_axes",
    "solve_dual",
    "solve_iterative",
    "solve_not_symmetric",
    "solve_nugget",
    "solve_pencil",
    "solve_squared",
]
