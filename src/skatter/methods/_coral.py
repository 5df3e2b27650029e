"""CORAL: correlation alignment.

The source is whitened and then given the covariance of the target:

    A = C_s^-½ C_t^½,    C = cov + ridge · I,    so that AᵀC_sA = C_t,

with symmetric roots. Where a domain has fewer samples than features, no p × p matrix is needed:
with centred samples X̄ and X̄X̄ᵀ/(n−1) = V diag(s) Vᵀ, a function of C is

    f(C) = f(ridge) · I + X̄ᵀ H X̄,    H = V diag(f[ridge, ridge + s]/(n−1)) Vᵀ,

with the divided difference f[a, b] = (f(b) − f(a))/(b − a), for both roots without cancellation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from skatter._parameters import NON_NEGATIVE, choice, parameter
from skatter._tensors import Array
from skatter.domains import Mask
from skatter.methods._base import RivalTransformer, Transfer
from skatter.methods._record import method, tried
from skatter.methods._subspaces import feature_mean


@method(
    "coral",
    when="features are standardised and all of them shall be kept",
    cost="n p m + m³, m = min(n, p)",
    linear=True,
)
class CORAL(RivalTransformer):
    """Correlation alignment (CORAL): gives the source the covariance of the target.

    Whitens the source and colours it with the covariance of the target; the target stays as it is:

        source:  (x − mean_s) C_s^-½ C_t^½ + mean_s,        target:  x,

    with C = cov + ridge · I. The published method aligns covariances and not means, since it
    takes domains that are standardised each for itself; for others see ``align_means``. Train on
    the source features and predict on the target's, for example with a linear SVM. New samples are
    the target's unless ``sample_domain`` names a source.

    Parameters
    ----------
    ridge : float >= 0
        Added to the diagonal of both covariances. The authors' 1 suits standardised features;
        multiply it by the variance of others. 0: directions in which the source does not vary
        are dropped, as the pseudo-inverse does it.
    align_means : bool
        Whether to move the mean of the source onto that of the target as well.

    Attributes
    ----------
    source_mean_, target_mean_ : ndarray of shape (n_features_in_,)
        Means of the two domains.
    whitening_, colouring_ : FullPower or ThinPower
        C_s^-½ and C_t^½; ``whitening_.after(X)`` is X C_s^-½. The matrix itself is there, as
        ``whitening_.matrix``, where the domain has at least as many samples as features.

    Notes
    -----
    The authors train a linear SVM on the aligned features. With the nearest neighbour, as in the
    tables of the SCA paper, CORAL does little on Office+Caltech SURF: 35.71 % on z-scores against
    31.37 % without it, and 41.00 % against 40.93 % on samples of unit length
    (``benchmarks/results/surf.md``).

    References
    ----------
    B. Sun, J. Feng, K. Saenko: Return of Frustratingly Easy Domain Adaptation. AAAI 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter.methods import CORAL
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 2)) * np.repeat([[1, 3], [2, 1]], 200, axis=0)
    >>> site = np.repeat([1, -2], 200)
    >>> Z = CORAL(ridge=1e-6).fit_transform(X, sample_domain=site)
    >>> np.allclose(np.cov(Z[:200].T), np.cov(X[200:].T), atol=1e-4)
    True
    """

    ridge: float = tried(NON_NEGATIVE, 0.01, 0.1, 1.0, 10.0, 100.0, default=1.0, kw_only=False)
    align_means: bool = parameter(choice(False, True), default=False)
    _takes_sparse = True

    def _fit(self, transfer: Transfer) -> None:
        self.source_mean_ = feature_mean(transfer.X_source)
        self.target_mean_ = feature_mean(transfer.X_target)
        self.whitening_ = covariance_power(transfer.X_source, self.source_mean_, -0.5, self.ridge)
        self.colouring_ = covariance_power(transfer.X_target, self.target_mean_, 0.5, self.ridge)
        self.n_components_ = transfer.X.shape[1]

    def _transform(self, X: Any, from_source: Mask) -> Array:
        Z = X.toarray() if sparse.issparse(X) else np.array(X)
        moved_to = self.target_mean_ if self.align_means else self.source_mean_
        centred = Z[from_source] - self.source_mean_
        Z[from_source] = self.colouring_.after(self.whitening_.after(centred)) + moved_to
        return Z


@dataclass(frozen=True, eq=False)
class FullPower:
    """A power of a covariance as a matrix."""

    matrix: Array

    def after(self, X: Array) -> Array:
        return X @ self.matrix


@dataclass(frozen=True, eq=False)
class ThinPower:
    """A power of the covariance of few samples: multiple · I + Xᵀ H X."""

    multiple: float
    X: Any
    H: Array

    def after(self, X: Array) -> Array:
        return self.multiple * X + ((X @ self.X.T) @ self.H) @ self.X


def covariance_power(X: Any, mean: Array, power: float, ridge: float) -> FullPower | ThinPower:
    """Return (cov + ridge · I)^power."""
    n, p = X.shape
    divisor = max(n - 1, 1)
    rounding = max(n, p) * np.finfo(X.dtype).eps
    if not sparse.issparse(X):
        X = X - mean
    if p <= n:
        scatter = X.T @ X
        if sparse.issparse(X):
            scatter = scatter.toarray() - n * np.outer(mean, mean)
        s, U = _spectrum(scatter, divisor, rounding)
        return FullPower(_compose(U, _power(ridge + s, power), X.dtype))
    gram = _double_centred((X @ X.T).toarray()) if sparse.issparse(X) else X @ X.T
    s, V = _spectrum(gram, divisor, rounding)
    H = _compose(V, _divided_difference(s, ridge, power) / divisor, X.dtype)
    return ThinPower(ridge**power if ridge else 0.0, X, _double_centred(H))


def _double_centred(K: Array) -> Array:
    K = K - K.mean(axis=0)
    return K - K.mean(axis=1, keepdims=True)


def _spectrum(S: Array, divisor: int, rounding: float) -> tuple[Array, Array]:
    s, V = np.linalg.eigh(S.astype(np.float64, copy=False))
    # What rounding has made of zeros would be blown up by an inverse.
    return np.where(s > rounding * s[-1], s, 0.0) / divisor, V


def _compose(V: Array, values: Array, dtype: Any) -> Array:
    """Return V diag(values) Vᵀ for values of one sign."""
    half = V * np.sqrt(np.abs(values))
    return (half @ half.T * np.sign(values.sum())).astype(dtype)


def _power(values: Array, power: float) -> Array:
    """Return values^power, and zero for zero."""
    return np.where(values > 0, values, 1) ** power * (values > 0)


def _divided_difference(s: Array, ridge: float, power: float) -> Array:
    """Return ((ridge + s)^power − ridge^power) / s without cancellation, 0^power being zero.

    It is zero for s = 0: combinations of samples that vanish have no say.
    """
    if not ridge:
        return _power(s, power - 1)
    low, high = np.sqrt(ridge), np.sqrt(ridge + s)
    of_root = (s > 0) / (low + high)
    return of_root if power > 0 else -of_root / (low * high)
