"""DIP and DIP-CC: the projection in which source and target look most alike.

Both terms are functions of the projections Z = X W alone, with derivatives by Z

    ∂MMD²/∂z_i = −(4/σ) e_i ((K e)_i z_i − Σ_j K_ij e_j z_j)
    ∂spread/∂z_i = 2 (z_i − mean of its class)

so that the derivative by W is Xᵀ∂/∂Z and an evaluation costs n²d + npd; the kernel is met in
blocks of rows and never held. Neither value changes when the basis W is rotated: the search is
over subspaces (:mod:`skatter.methods._grassmann`). Every gradient is a combination of samples, so a
search that starts from principal axes never leaves their span and is run in its coordinates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import gen_batches

from skatter._parameters import BOOLEAN, NON_NEGATIVE, POSITIVE, parameter
from skatter._solve.symmetric import principal_axes
from skatter._tensors import Array
from skatter.domains import UNLABELLED, Mask
from skatter.kernels import median_distance
from skatter.methods._base import RivalTransformer, Transfer, WithComponents
from skatter.methods._grassmann import minimise
from skatter.methods._iteration import Iterations, Iterative
from skatter.methods._record import SUBSPACES, Tuning, method
from skatter.methods._subspaces import turned

DEFAULT_COMPONENTS = 20  # dimension of the subspace where none is given and the samples allow it
BLOCK = 256  # rows of the kernel at a time: large enough for BLAS, small enough for the cache

_STOPS = (1e-3, 1e-2)


class Discrepancy:
    """MMD² of projections and its derivative by them."""

    def __init__(self, e: Array, sigma: float) -> None:
        self._e, self._sigma = e[:, None], sigma

    def __call__(self, Z: Array) -> tuple[float, Array]:
        sums = self._kernel_times(Z, self._e * np.hstack([np.ones((len(Z), 1)), Z]))
        witness, moments = sums[:, :1], sums[:, 1:]
        value = float(np.vdot(self._e, witness))
        return value, -4 / self._sigma * self._e * (witness * Z - moments)

    def _kernel_times(self, Z: Array, M: Array) -> Array:
        """Return K M; the kernel is symmetric, so that blocks below the diagonal are free."""
        half_norms = np.einsum("ij,ij->i", Z, Z)[:, None] / 2
        ones = np.ones_like(half_norms)
        # One product gives all of −‖z_i − z_j‖²/σ.
        left = np.hstack([Z, -half_norms, -ones]) * (2 / self._sigma)
        right = np.hstack([Z, ones, half_norms]).T
        out = np.zeros_like(M)
        for rows in gen_batches(len(Z), BLOCK):
            K = left[rows] @ right[:, rows.start :]
            np.exp(np.minimum(K, 0, out=K), out=K)
            out[rows] += K @ M[rows.start :]
            out[rows.stop :] += K[:, BLOCK:].T @ M[rows]
        return out


class ClassSpread:
    """Squared distances of labelled projections to the means of their classes, and derivative."""

    def __init__(self, label: Array, weight: float) -> None:
        self._rows = np.flatnonzero(label >= 0)
        present = np.unique(label[self._rows])
        self._member = (label[self._rows, None] == present).astype(np.float64)
        self._average = self._member.T / self._member.sum(axis=0)[:, None]
        self._weight = weight

    def __call__(self, Z: Array) -> tuple[float, Array]:
        known = Z[self._rows]
        residuals = known - self._member @ (self._average @ known)
        derivative = np.zeros_like(Z)
        derivative[self._rows] = 2 * self._weight * residuals
        return self._weight * float(np.vdot(residuals, residuals)), derivative


Term = Callable[[Array], tuple[float, Array]]  # Z -> a value and its derivative by Z


def _check_bandwidth(name: str, value: Any) -> None:
    if not isinstance(value, str):
        POSITIVE(name, value)
    elif value != "median":
        raise ValueError(f"{name} must be 'median' or a number, got {value!r}.")


@method(
    "dip",
    when="a few directions carry the shift and can be given up",
    cost="iterations × (n²d + nrd), r = min(n, p)",
    grid={"n_components": SUBSPACES, "tol": _STOPS},
    coarse=Tuning({"n_components": (10, 20, 50, 100)}, why="subspace dimensions of GFK and SA"),
)
class DIP(WithComponents, Iterative, RivalTransformer):
    """Domain invariant projection (DIP): the subspace in which source and target look most alike.

    Finds a subspace in which the squared maximum mean discrepancy of source and target is small:

        minimise  eᵀK e,  K_ij = exp(−‖Wᵀ(x_i − x_j)‖²/σ),  over W with WᵀW = I

    by conjugate gradient on the Grassmann manifold, from the first principal axes on. The problem
    is not convex and what is found is a minimum nearby. No label is looked at.

    Two samples are never quite alike, even of one distribution, and directions of little variance
    hide the rest. With many features the objective therefore goes on falling, at the price of what
    told the classes apart: an early stop (a larger ``tol``) is often better than a late one.

    Parameters
    ----------
    n_components : int or None
        Dimension of the subspace. None: 20, or fewer where the samples allow no more. One less
        than their rank is allowed at most, for the whole space leaves nothing to choose.
    sigma : "median" or float > 0
        Bandwidth of the kernel. ``"median"``: the median squared distance of projections on the
        first principal axes; it stays while W moves.
    tol : float >= 0
        Stop when the objective falls by less than this share of its first value; 0 runs all.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Wᵀ: orthonormal rows, turned to the principal axes of the projections, most variance
        first; the largest entry of each is positive.
    mean_ : ndarray of shape (n_features,)
        Mean of all samples.
    sigma_ : float
        Bandwidth that was used.

    Notes
    -----
    On Office+Caltech SURF, twelve tasks with the nearest neighbour, the defaults give 42.18 % on
    z-scores (``benchmarks/results/surf.md``); each domain has the same mean there already, and what
    is left to gain by the discrepancy alone is small.

    References
    ----------
    M. Baktashmotlagh, M. T. Harandi, B. C. Lovell, M. Salzmann: Unsupervised Domain Adaptation by
    Domain Invariant Projection. ICCV, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter.methods import DIP
    >>> rng = np.random.default_rng(0)
    >>> site = np.repeat([1, -2], 60)
    >>> X = rng.normal(size=(120, 4)) * [3, 2, 1, 1]
    >>> X[site < 0, 0] += 6
    >>> dip = DIP(n_components=2).fit(X, sample_domain=site)
    >>> bool(np.abs(dip.components_[:, 0]).max() < 0.1)
    True
    """

    sigma: float | str = parameter(_check_bandwidth, default="median")

    def _fit(self, transfer: Transfer) -> Array:
        given = transfer.X
        transfer = replace(transfer, X=given.astype(np.float64))
        axes = principal_axes(transfer.X, min(given.shape[0] - 1, given.shape[1]))
        if not axes.variances.size:
            raise ValueError(
                "All samples coincide, so that there is no direction to project on. Check X."
            )
        X = (transfer.X - axes.mean) @ axes.directions
        rank = X.shape[1]
        most = max(rank - 1, 1)
        reason = f"one less than their rank {rank}, since the whole space leaves nothing to choose"
        self._check_dimension(most, reason)
        self.n_components_ = d = int(self.n_components or min(DEFAULT_COMPONENTS, most))
        self.sigma_ = median_distance(X[:, :d]) if self.sigma == "median" else float(self.sigma)
        terms = self._terms(transfer)

        def objective(W: Array) -> tuple[float, Array]:
            Z = X @ W
            values, derivatives = zip(*(term(Z) for term in terms), strict=True)
            return sum(values), X.T @ sum(derivatives)

        W = minimise(objective, np.eye(rank, d), Iterations.of(self))
        self.mean_, self.components_ = axes.mean, turned(axes.directions @ W, X @ W).T
        return self._transform(given, transfer.source)

    def _terms(self, transfer: Transfer) -> list[Term]:
        return [Discrepancy(transfer.mean_difference, self.sigma_)]

    def _transform(self, X: Array, from_source: Mask) -> Array:
        return np.asarray((X - self.mean_) @ self.components_.T, dtype=X.dtype)


@method(
    "dip-cc",
    when="as dip, and the labels of the source can be trusted",
    cost="iterations × (n²d + nrd), r = min(n, p)",
    grid={"n_components": SUBSPACES, "lam": (0.1, 1.0, 10.0), "tol": _STOPS},
    coarse=Tuning(
        {"n_components": (20, 100), "lam": (1.0,)}, why="subspace dimensions of GFK and SA"
    ),
)
class DIPCC(DIP):
    """DIP with class clustering: source and target alike, source classes compact.

    As :class:`DIP`, and the source samples of a class shall lie together:

        minimise  eᵀK e + λ/(n_l σ) Σ_c Σ_{i in c} ‖Wᵀ(x_i − m_c)‖²  over W with WᵀW = I

    with m_c the mean of the labelled source samples of class c, n_l of them in all classes. Both
    terms are free of units and do not grow with the number of samples.

    Parameters
    ----------
    lam : float >= 0
        Weight λ of the spread within classes; 0 is :class:`DIP`.
    normalize : bool
        False: the spread is the plain sum of squares of the paper, not divided by n_l σ.

    References
    ----------
    M. Baktashmotlagh, M. T. Harandi, B. C. Lovell, M. Salzmann: Unsupervised Domain Adaptation by
    Domain Invariant Projection. ICCV, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter.methods import DIPCC
    >>> rng = np.random.default_rng(0)
    >>> y, site = np.tile([0, 1], 60), np.repeat(["here", "there"], 60)
    >>> X = rng.normal(size=(120, 4)) * [4, 1, 3, 2]
    >>> X[:, 1] += 6 * y
    >>> known = np.where(site == "here", y, -1)
    >>> dipcc = DIPCC(n_components=1).fit(X, known, sample_domain=site)
    >>> int(np.abs(dipcc.components_[0]).argmax())
    1
    """

    lam: float = parameter(NON_NEGATIVE, default=1.0)
    normalize: bool = parameter(BOOLEAN, default=True)
    needs = ("source labels", "one target")

    def _terms(self, transfer: Transfer) -> list[Term]:
        label = np.where(transfer.source, transfer.label, UNLABELLED)
        unit = np.count_nonzero(label != UNLABELLED) * self.sigma_ if self.normalize else 1.0
        return [*super()._terms(transfer), ClassSpread(label, self.lam / unit)]
