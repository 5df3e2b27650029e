"""GFK: the geodesic flow kernel, with the G of :mod:`skatter.methods._geodesic`.

The dimension d* is the smallest at which the subspace disagreement reaches one: beyond it the
subspaces hold orthogonal directions, in which nothing can flow from source to target.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import svdvals
from sklearn.cross_decomposition import PLSRegression

from skatter._checks import check_integer
from skatter._parameters import choice, declared, parameter
from skatter._solve import principal_axes
from skatter._tensors import Array
from skatter.domains import Mask
from skatter.methods._base import RivalTransformer, Transfer
from skatter.methods._geodesic import geodesic
from skatter.methods._record import method
from skatter.methods._subspaces import OnSubspaces, centred_times, feature_mean, turned

DISAGREE = 0.99  # subspace disagreement that counts as one
FIRST_LOOK = 32  # dimensions looked at first; they are doubled until the subspaces disagree


@declared
class GeodesicFeatures(OnSubspaces, RivalTransformer):
    """Base of what sees samples in the subspaces between source and target.

    Attributes
    ----------
    dimension_ : int
        Dimension d of the subspaces.
    angles_ : ndarray of shape (dimension_,)
        Principal angles between the subspaces, smallest first.
    mean_ : ndarray of shape (n_features_in_,)
        Mean of all training samples.
    """

    _takes_sparse = True

    def _pls_parameter(self) -> str | None:
        """Return the name of what asks for partial least squares, if anything does."""
        raise NotImplementedError

    def _check_labels(self, transfer: Transfer) -> None:
        super()._check_labels(transfer)
        name = self._pls_parameter()
        n_classes = len(np.unique(transfer.label[transfer.source & transfer.labelled]))
        if name and n_classes < 2:
            raise ValueError(
                f"{name} needs labels of at least two classes in the source, got {n_classes}. "
                "Give y, or go without."
            )

    def _partial_least_squares(self, X: Array, transfer: Transfer, k: int) -> PLSRegression:
        """Regress the classes, one column each, on labelled source samples."""
        label = transfer.label[transfer.source]
        known = label >= 0
        Y = np.eye(len(transfer.classes))[label[known]]
        available = min(len(Y) - 1, X.shape[1])
        if k <= available:
            with warnings.catch_warnings():
                # Directions have run out: said below, with a remedy.
                warnings.filterwarnings("ignore", "[yY] residual is constant")
                pls = PLSRegression(k, scale=False).fit(X[known], Y)
            # Beyond the rank the weights are zero or repeat themselves.
            available = int(np.linalg.matrix_rank(pls.x_weights_))
        if k > available:
            raise ValueError(
                f"{self._pls_parameter()}: {k} directions exceed what the labelled source samples "
                f"allow: at most {available} here. Choose fewer."
            )
        return pls


@method(
    "gfk",
    when="the domains vary along different directions, and labels are few or none",
    cost="n p d",
    linear=True,
)
class GFK(GeodesicFeatures):
    """Geodesic flow kernel (GFK): compares samples in all subspaces between source and target.

    Compares samples in all the subspaces on the shortest path from the principal subspace of the
    source to that of the target:

        xᵀ G z,    G = ∫₀¹ Φ(t)Φ(t)ᵀ dt = R Rᵀ,

    and gives the features (x − mean) R, whose inner products and distances are those of G. Source
    and target are treated alike. Standardise each domain first, as the authors do; they classify
    by the nearest neighbour.

    Parameters
    ----------
    n_components : int or None
        Dimension d of the subspaces; there are 2d features. None: the smallest d at which
        :func:`subspace_disagreement` exceeds 0.99, at most half the number of features and the
        rank of either domain, and that limit where they never disagree.
    source_basis : {"pca", "pls"}
        Subspace of the source: its principal axes, or the directions of partial least squares on
        the classes of its labelled samples (dense samples only). The dimension of None is that
        of the principal axes in both cases.

    Attributes
    ----------
    n_components_ : int
        Number of features: 2d, or the number of input features where that is smaller.
    metric_factor_ : ndarray of shape (n_features_in_, n_components_)
        R with R Rᵀ = G. Its columns are turned so that the features of the training samples are
        uncorrelated, largest variance first.

    References
    ----------
    B. Gong, Y. Shi, F. Sha, K. Grauman: Geodesic Flow Kernel for Unsupervised Domain Adaptation.
    CVPR 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter.methods import GFK
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 6)) * [3, 2, 1, 1, 1, 1]
    >>> X[40:] = X[40:, [0, 2, 1, 3, 4, 5]]
    >>> gfk = GFK(n_components=2).fit(X, sample_domain=np.repeat([1, -2], 40))
    >>> gfk.transform(X).shape
    (80, 4)
    >>> gfk.angles_.round(1)
    array([0.1, 1.4])
    """

    source_basis: str = parameter(choice("pca", "pls"), default="pca")

    def metric(self) -> Array:
        """Return G, the matrix of shape (n_features_in_, n_features_in_) of the kernel xᵀ G z."""
        return self.metric_factor_ @ self.metric_factor_.T

    def _pls_parameter(self) -> str | None:
        return "source_basis='pls'" if self.source_basis == "pls" else None

    def _check_labels(self, transfer: Transfer) -> None:
        super()._check_labels(transfer)
        if self.source_basis == "pls" and sparse.issparse(transfer.X):
            raise TypeError(
                "source_basis='pls' takes no sparse samples, since partial least squares changes "
                "every entry. Give X.toarray(), or go without."
            )

    def _fit(self, transfer: Transfer) -> None:
        P_source, P_target = self._bases(transfer)
        if self.source_basis == "pls":
            pls = self._partial_least_squares(transfer.X_source, transfer, P_source.shape[1])
            # Its rotations span the same space and are not orthonormal.
            P_source = np.linalg.qr(pls.x_weights_)[0]
        path = geodesic(P_source, P_target)
        X, R, self.mean_ = transfer.X, path.factor(), feature_mean(transfer.X)
        # If not turned, equal angles, such as those of shared directions, would leave it to
        # rounding how the columns lie. At most p columns can differ from zero.
        Z = centred_times(X, self.mean_, R.astype(X.dtype)).astype(np.float64)
        self.metric_factor_ = turned(R, Z)[:, : len(R)].astype(X.dtype)
        self.angles_, self.dimension_ = path.angles, path.dimension
        self.n_components_ = self.metric_factor_.shape[1]

    def _bases(self, transfer: Transfer) -> tuple[Array, Array]:
        """Return principal axes, as many as the subspace disagreement says where not told."""
        largest = max(transfer.X.shape[1] // 2, 1)
        wanted = 0
        while True:
            wanted = min(max(2 * wanted, FIRST_LOOK), largest)
            source, target = (axes.directions for axes in self._axes(transfer, wanted))
            if self.n_components is not None:
                return source, target
            pooled = principal_axes(transfer.X, source.shape[1]).directions
            disagree = np.flatnonzero(_disagreement(source, target, pooled) > DISAGREE)
            if len(disagree) or source.shape[1] < wanted or wanted == largest:
                d = disagree[0] + 1 if len(disagree) else source.shape[1]
                return source[:, :d], target[:, :d]

    def _transform(self, X: Any, from_source: Mask) -> Array:
        return centred_times(X, self.mean_, self.metric_factor_)


def subspace_disagreement(X_source: Any, X_target: Any, max_dimension: int) -> Array:
    """Return D(d) = ½ (sin α_d + sin β_d) for d = 1, 2, … up to ``max_dimension``.

    α_d is the largest principal angle between the d leading principal axes of the source and those
    of the pooled sample, β_d the same for the target. One says that the subspaces have orthogonal
    directions; a good dimension for :class:`GFK` is the smallest at which D is one.

    Parameters
    ----------
    X_source, X_target : ndarray or sparse matrix of shape (n_samples, n_features)
        Samples of the two domains.
    max_dimension : int
        Largest d; the smaller rank of the two domains, where that is less.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter.methods import subspace_disagreement
    >>> source = np.array([[3.0, 0, 0], [-3, 0, 0], [0, 2, 0], [0, -2, 0]])
    >>> target = np.array([[3.0, 0, 0], [-3, 0, 0], [0, 0, 1], [0, 0, -1]])
    >>> subspace_disagreement(source, target, 2).round(2)
    array([0. , 0.5])
    """
    check_integer("max_dimension", max_dimension, low=1)
    stack = sparse.vstack if sparse.issparse(X_source) else np.vstack
    samples = (X_source, X_target, stack([X_source, X_target]))
    return _disagreement(*(principal_axes(X, max_dimension).directions for X in samples))


def _disagreement(P_source: Array, P_target: Array, P_pooled: Array) -> Array:
    both = P_source.T @ P_pooled, P_target.T @ P_pooled
    dimensions = range(1, min(*both[0].shape, *both[1].shape) + 1)
    # Not the last entries of the diagonals: the axes need not come in the same order.
    cosines = [svdvals(P[:d, :d], check_finite=False)[-1] for d in dimensions for P in both]
    return np.sqrt(np.maximum(1 - np.square(cosines), 0)).reshape(-1, 2).mean(axis=1)
