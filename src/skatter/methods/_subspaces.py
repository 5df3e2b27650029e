"""What linear methods share: bases of the two domains, and centred products."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import qr
from sklearn.cross_decomposition import PLSRegression

from skatter._parameters import declared
from skatter._solve import principal_axes
from skatter._solve.small import column_signs
from skatter._solve.symmetric import PrincipalAxes
from skatter._tensors import Array
from skatter.methods._base import Transfer, WithComponents, check_dimension
from skatter.methods._geodesic import Geodesic, geodesic

DIMENSION = 20  # dimension of a subspace unless told


@declared
class OnSubspaces(WithComponents):
    """The parameter of methods that compare the principal subspaces of source and target.

    Parameters
    ----------
    n_components : int or None
        Dimension d of the subspaces. None is 20, or fewer where the rank of a domain is lower.
    """


def domain_geodesic(transfer: Transfer, n_components: int | None) -> Geodesic:
    source, target = domain_axes(transfer, n_components)
    return geodesic(source.directions, target.directions)


def domain_axes(
    transfer: Transfer, n_components: int | None, default: int = DIMENSION
) -> tuple[PrincipalAxes, PrincipalAxes]:
    """Return equally many principal axes of the source and of the target."""
    domains = transfer.X_source, transfer.X_target
    bound = min(*(X.shape[0] - 1 for X in domains), transfer.X.shape[1])
    # What sizes alone rule out is refused before any work.
    _check_dimension(n_components, bound)
    wanted = default if n_components is None else n_components
    source, target = (principal_axes(X, min(wanted, bound)) for X in domains)
    common = min(_rank(source), _rank(target))
    _check_dimension(n_components, common)
    source, target = (
        PrincipalAxes(axes.mean, axes.variances[:common], axes.directions[:, :common])
        for axes in (source, target)
    )
    return source, target


def _rank(axes: PrincipalAxes) -> int:
    """Count the axes along which more than the rounding of the mean is left."""
    rounding = 10 * np.finfo(axes.mean.dtype).eps * np.linalg.norm(axes.mean)
    return int(np.sum(axes.variances > rounding**2))


def _check_dimension(n_components: int | None, available: int) -> None:
    if not available:
        raise ValueError(
            "The samples of the source or those of the target all coincide, and span no "
            "subspace. Give at least two different samples of each."
        )
    check_dimension(n_components, available, "the smaller rank of source and target, each centred")


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


def require_classes(transfer: Transfer, name: str) -> None:
    n_classes = len(np.unique(transfer.label[transfer.source & transfer.labelled]))
    if n_classes < 2:
        raise ValueError(
            f"{name} needs labels of at least two classes in the source, got {n_classes}. Give y, "
            "or go without."
        )


def partial_least_squares(
    X: Array, transfer: Transfer, n_components: int, name: str
) -> PLSRegression:
    """Regress the classes, one column each, on labelled source samples by partial least squares."""
    label = transfer.label[transfer.source]
    known = label >= 0
    Y = np.eye(len(transfer.classes))[label[known]]
    available = min(len(Y) - 1, X.shape[1])
    if n_components <= available:
        with warnings.catch_warnings():
            # Directions have run out: said below, with a remedy.
            warnings.filterwarnings("ignore", "[yY] residual is constant")
            pls = PLSRegression(n_components, scale=False).fit(X[known], Y)
        # Beyond the rank the weights are zero or repeat themselves.
        available = int(np.linalg.matrix_rank(pls.x_weights_))
    if n_components > available:
        raise ValueError(
            f"{name}: {n_components} directions exceed what the labelled source samples allow: "
            f"at most {available} here. Choose fewer."
        )
    return pls
