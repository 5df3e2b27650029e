"""SA: subspace alignment, X_SᵀX_T being the M with the smallest ‖X_S M − X_T‖."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import row_norms

from skatter._checks import check_real
from skatter._solve import principal_axes
from skatter._tensors import Array
from skatter.domains import Mask
from skatter.methods._base import RivalTransformer, Transfer
from skatter.methods._record import method
from skatter.methods._subspaces import OnSubspaces, centred_times

TOL = 0.02
"""Share of its variance to which an axis must be one: 5,000 Gaussian samples know the variance
along it no better, whose relative standard error is √(2/n)."""


@method(
    "sa",
    when="a quick first try without labels, one number to choose",
    cost="n p d",
    linear=True,
)
class SubspaceAlignment(OnSubspaces, RivalTransformer):
    """Subspace alignment: turns the principal axes of the source towards the target's.

    Gives the coordinates of target samples along their principal axes X_T, and those of source
    samples along the source's axes X_S brought as close to X_T as a linear map can:

        source:  (x − mean_s) X_S X_SᵀX_T,        target:  (x − mean_t) X_T.

    Each domain is centred at its own mean, so that with domains that are standardised each for
    itself, as the authors do it, this is the published map to the letter. New samples are the
    target's unless ``sample_domain`` names a source. The authors' bound on the dimension is
    :func:`max_dimension_by_bound`.

    A domain with more than 1,500 samples and more than 1,500 features has axes v that are checked
    to be ones to a fiftieth of their variance λ: ‖C v − λ v‖ ≤ 0.02 λ for its covariance C. All
    others are exact.

    Attributes
    ----------
    alignment_ : ndarray of shape (n_components_, n_components_)
        M = X_SᵀX_T.
    source_map_ : ndarray of shape (n_features_in_, n_components_)
        X_S M.
    target_map_ : ndarray of shape (n_features_in_, n_components_)
        X_T.
    source_mean_, target_mean_ : ndarray of shape (n_features_in_,)
        Means of the two domains.

    References
    ----------
    B. Fernando, A. Habrard, M. Sebban, T. Tuytelaars: Unsupervised Visual Domain Adaptation Using
    Subspace Alignment. ICCV 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter.methods import SubspaceAlignment
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 6)) * [3, 2, 1, 1, 1, 1]
    >>> X[40:] += 5
    >>> site = np.repeat([1, -2], 40)
    >>> sa = SubspaceAlignment(n_components=2).fit(X, sample_domain=site)
    >>> Z = sa.transform(X, sample_domain=site)
    >>> np.abs(Z[:40].mean(axis=0) - Z[40:].mean(axis=0)).round(6)
    array([0., 0.])
    """

    _takes_sparse = True

    def _fit(self, transfer: Transfer) -> None:
        source, target = self._axes(transfer, tol=TOL)
        self.alignment_ = source.directions.T @ target.directions
        self.source_map_ = source.directions @ self.alignment_
        self.target_map_ = target.directions
        self.source_mean_, self.target_mean_ = source.mean, target.mean
        self.n_components_ = len(self.alignment_)

    def _transform(self, X: Any, from_source: Mask) -> Array:
        Z = np.empty((X.shape[0], self.n_components_), dtype=self.target_map_.dtype)
        Z[from_source] = centred_times(X[from_source], self.source_mean_, self.source_map_)
        Z[~from_source] = centred_times(X[~from_source], self.target_mean_, self.target_map_)
        return Z


def max_dimension_by_bound(
    X_source: Any, X_target: Any, *, gamma: float = 1e6, alpha: float = 0.1
) -> int:
    """Return the largest dimension at which the alignment is stable, by the authors' bound.

    With probability 1 − ``alpha`` the alignment learnt from the samples deviates from that of the
    distributions by less than ``gamma`` as long as

        g(d) ≥ (1 + √(ln(2/α)/2)) · 16 d^(3/2) B / (γ √min(n_s, n_t)),

    where g(d) is the smaller gap l_d − l_{d+1} of the two domains' covariance eigenvalues and B
    the largest squared distance of a sample from its domain's mean. The constants are so large
    that ``gamma`` has no meaning of its own; 1e5 to 1e6 suit standardised data. Search among the
    dimensions up to the bound, on source labels.

    Parameters
    ----------
    X_source, X_target : ndarray or sparse matrix of shape (n_samples, n_features)
        Samples of the two domains.
    gamma : float > 0
        Deviation that is tolerated.
    alpha : float in (0, 1]
        Probability with which the bound may fail.

    Returns
    -------
    int
        The largest d that fulfils the inequality; 0 where none does.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter.methods import max_dimension_by_bound
    >>> rng = np.random.default_rng(0)
    >>> source, target = rng.normal(size=(2, 200, 6)) * [5, 4, 3, 1, 1, 1]
    >>> max_dimension_by_bound(source, target, gamma=1e4)
    3
    """
    check_real("gamma", gamma, low=0, open_low=True)
    check_real("alpha", alpha, low=0, high=1, open_low=True)
    smallest = min(X_source.shape[0], X_target.shape[0])
    gaps, radius = [], 0.0
    for X in (X_source, X_target):
        axes = principal_axes(X, min(X.shape))
        gaps.append(-np.diff(axes.variances, append=0.0))
        if sparse.issparse(X):  # not to be filled
            squares = row_norms(X, squared=True) + axes.mean @ axes.mean - 2 * (X @ axes.mean)
        else:
            squares = row_norms(X - axes.mean, squared=True)
        radius = max(radius, float(squares.max()))
    dimensions = np.arange(1, min(map(len, gaps)) + 1)
    needed = (1 + np.sqrt(np.log(2 / alpha) / 2)) * 16 * dimensions**1.5 * radius
    gap = np.minimum(*(own[: len(dimensions)] for own in gaps))
    return int(dimensions[gap >= needed / (gamma * smallest**0.5)].max(initial=0))
