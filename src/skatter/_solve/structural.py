"""Regularised least squares, smooth on a graph and with the same means everywhere.

With S = 1 on labelled samples, L the Laplacian of a graph, M = E Eᵀ for means that should agree
(:func:`skatter.scatter.matching_factor`), and f = Σ_i β_i k(x_i, ·),

    ((S + M + L) K + η I) β = S Y.

Only E, of one column more than there are classes, changes: the rest is factored once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import lu_factor, lu_solve

from skatter._tensors import Array


class StructuralRisk:
    """What is minimised, for one E after another, in the precision of ``K``.

    Rows of zeros in ``wanted``, Y, have no label.
    """

    def __init__(self, K: Array, wanted: Array, graph: Any, shrinkage: float) -> None:
        self._K, self._wanted, self._graph, self._shrinkage = K, wanted, graph, shrinkage
        self._labelled = wanted.sum(axis=1)
        system = (sparse.diags_array(self._labelled) + graph) @ K
        system[np.diag_indices_from(K)] += shrinkage
        self._factor = lu_factor(system, overwrite_a=True, check_finite=False)
        self._without = lu_solve(self._factor, wanted, check_finite=False)

    def minimise(self, E: Array) -> tuple[Array, Array, float]:
        """Return β, F = K β and the objective; (B + E EᵀK)⁻¹ Y comes from B⁻¹ Y and B⁻¹ E."""
        KE, image = self._K @ E, lu_solve(self._factor, E, check_finite=False)
        inner = np.eye(E.shape[1], dtype=E.dtype) + KE.T @ image
        beta = self._without - image @ np.linalg.solve(inner, KE.T @ self._without)
        F = self._K @ beta
        loss = float(self._labelled @ np.sum((self._wanted - F) ** 2, axis=1))
        penalty = self._shrinkage * np.vdot(beta, F) + np.vdot(F, self._graph @ F)
        return beta, F, loss + float(penalty + np.sum((E.T @ F) ** 2))


def cosines(U: Array, near: Any) -> Any:
    """Return the cosines of neighbours; ``U`` are rows of unit length, ``near`` says who are."""
    rows, columns = near.nonzero()
    cosine = np.einsum("ij,ij->i", U[rows], U[columns])
    return sparse.csr_array((cosine, (rows, columns)), near.shape)


def cosine_laplacian(cosine: Any) -> Any:
    """Return I − D^(-½) W D^(-½), W the cosine of neighbours, of a sample with itself 1.

    ``cosine`` holds them in a symmetric matrix; negative ones count as zero.
    """
    own = sparse.eye_array(cosine.shape[0], dtype=cosine.dtype)
    W = cosine.maximum(0) + own
    root = sparse.diags_array(1 / np.sqrt(W.sum(axis=1)))
    return (own - root @ W @ root).tocsr()
