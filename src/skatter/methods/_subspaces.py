"""What linear methods share: bases of the two domains, and centred products."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import qr

from skatter._parameters import COUNT, declared, optional
from skatter._solve import principal_axes
from skatter._solve.small import column_signs
from skatter._solve.symmetric import PrincipalAxes
from skatter._tensors import Array
from skatter.methods._base import Transfer, WithComponents
from skatter.methods._geodesic import Geodesic, geodesic
from skatter.methods._record import SUBSPACES, tried

DIMENSION = 20  # dimension of a subspace unless told

EXACT = 1e-9  # tolerance of principal axes unless told


@declared
class OnSubspaces(WithComponents):
    """The parameter of methods that compare the principal subspaces of source and target.

    Parameters
    ----------
    n_components : int or None
        Dimension d of the subspaces. None is 20, or fewer where the rank of a domain is lower.
    """

    n_components: int | None = tried(optional(COUNT), *SUBSPACES, default=None, kw_only=False)

    def _axes(
        self, transfer: Transfer, default: int = DIMENSION, *, tol: float = EXACT
    ) -> list[PrincipalAxes]:
        """Return equally many principal axes of the source and of the target."""
        domains = transfer.X_source, transfer.X_target
        bound = min(*(X.shape[0] - 1 for X in domains), transfer.X.shape[1])
        # What sizes alone rule out is refused before any work.
        self._check_rank(bound)
        wanted = min(self.n_components or default, bound)
        found = [principal_axes(X, wanted, tol=tol) for X in domains]
        common = min(map(_rank, found))
        self._check_rank(common)
        return [PrincipalAxes(m, s[:common], directions[:, :common]) for m, s, directions in found]

    def _check_rank(self, rank: int) -> None:
        if not rank:
            raise ValueError(
                "The samples of the source or those of the target all coincide, and span no "
                "subspace. Give at least two different samples of each."
            )
        self._check_dimension(rank, "the smaller rank of source and target, each centred")

    def _geodesic(self, transfer: Transfer) -> Geodesic:
        return geodesic(*(axes.directions for axes in self._axes(transfer)))


def _rank(axes: PrincipalAxes) -> int:
    """Count the axes along which more than the rounding of the mean is left."""
    rounding = 10 * np.finfo(axes.mean.dtype).eps * np.linalg.norm(axes.mean)
    return int(np.sum(axes.variances > rounding**2))


def in_span(X: Array) -> tuple[Array, Array | None]:
    """Return samples in coordinates of their span, and its basis, where that is smaller.

    With Xᵀ = QR, the samples Rᵀ have the same inner products, and w = Q w' for linear functions.
    """
    if X.shape[0] >= X.shape[1]:
        return X, None
    basis, triangle = qr(X.T, mode="economic", check_finite=False)
    return np.ascontiguousarray(triangle.T), basis


def feature_mean(X: Any) -> Array:
    """Return the mean sample, in the precision of the samples."""
    return np.asarray(X.mean(axis=0), dtype=X.dtype).ravel()


def centred_times(X: Any, mean: Array, W: Array) -> Array:
    """Return (X − mean) W; a sparse ``X`` is not filled."""
    return X @ W - mean @ W if sparse.issparse(X) else (X - mean) @ W


def turned(W: Array, Z: Array) -> Array:
    """Return W turned so that the features Z = X W are uncorrelated, largest variance first."""
    W = W @ np.linalg.eigh(Z.T @ Z)[1][:, ::-1]
    return W * column_signs(W)
