"""The zero-padded form, as printed in the paper: only for imitation.

The paper prints P = [P_s 0; 0 0] and Q likewise, with rows over the labelled samples alone. Then
tr BᵀPB is the scatter of K_ll B_l and not of the projections Z = K B, and the fast route does not
apply. The two n × n matrices are built and handed to a dense generalised eigensolver.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skatter.domains import Domains
from skatter.objective import Coefficients, Objective
from skatter.solve.small import leading_generalised
from skatter.solve.solution import Solution, numerical_rank, relative_residuals

Array = NDArray[Any]

JITTER = 1e-5
"""The paper's ε·I, relative to the mean of the diagonal."""


def solve_padded(K: Array, domains: Domains, objective: Objective, k: int) -> Solution:
    """Return the ``k`` leading components with class scatters over labelled rows alone.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Centred Gram matrix, rows in the order of ``domains``.
    domains, objective, k
        As in :func:`skatter.solve.dual.solve_dual`.
    """
    A, C = padded_pencil(K, Coefficients(domains, K.dtype), objective)
    eigenvalues, B = leading_generalised(A, C, k)
    rank = numerical_rank(eigenvalues)
    eigenvalues, B = eigenvalues[:rank], B[:, :rank]
    residuals = relative_residuals(A @ B, (C @ B) * eigenvalues)
    B -= B.mean(axis=0)
    return Solution(eigenvalues, B, K @ B, residuals, np.linalg.norm(B, axis=0))


def padded_pencil(
    K: Array, coefficients: Coefficients, objective: Objective
) -> tuple[Array, Array]:
    """Return A and C + ε I of the printed problem."""
    labelled = coefficients.domains.labelled
    inside = np.where(np.outer(labelled, labelled), K, 0)
    a, b = coefficients.numerator_weights(objective)
    domain_terms = _without_classes(objective)
    class_sums = inside @ coefficients.between
    A = a * (K @ K) + b * (class_sums @ class_sums.T)
    within = coefficients.denominator(_only_within(objective), inside)
    C = objective.ridge * K + K @ coefficients.denominator(domain_terms, K) + inside @ within
    C[np.diag_indices_from(C)] += JITTER * np.trace(C) / len(C)
    return (A + A.T) / 2, (C + C.T) / 2


def _without_classes(objective: Objective) -> Objective:
    return Objective(domain=objective.domain, conditional_domain=objective.conditional_domain)


def _only_within(objective: Objective) -> Objective:
    return Objective(within_class=objective.within_class)
