"""Joint geometrical and statistical alignment: one map for the source, a near one for the target.

Scatters are sums over samples, and MMD(A, B) = ‖Eᵀ[X_s A; X_t B]‖² compares the means of domains
and of their classes (:mod:`skatter.methods._matching`). With W = [A; B] it is a symmetric pencil of
twice as many rows as features, whose right-hand side is factored once a round; all else takes
products alone. Where samples are fewer than features, both maps lie in their span.
"""

from __future__ import annotations

import numpy as np

from skatter._parameters import NON_NEGATIVE, POSITIVE, parameter
from skatter._solve import CholeskyRoot, solve_pencil
from skatter._solve.small import column_signs
from skatter._tensors import Array
from skatter.domains import Codes, Mask
from skatter.methods._base import RivalTransformer, Seeded, Transfer, WithComponents
from skatter.methods._matching import Guesses, Guessing, mean_differences
from skatter.methods._record import SUBSPACES, Tuning, method, tried
from skatter.methods._subspaces import in_span
from skatter.methods._tca import EIGEN_TOL
from skatter.scatter import indicator_means

COMPONENTS = 30  # features where none are named and the samples allow it
JITTER = 1e-9  # added to the diagonal of the right-hand side, as in the authors' program


@method(
    "jgsa",
    when="the domains need maps of their own, and classes are shared",
    uses=("target labels",),
    cost="n p² + (8p³/3 + k p²) per round",
    linear=True,
    grid={"n_components": SUBSPACES},
    coarse=Tuning({"n_components": (20, 30, 100)}, why="Zhang et al. 2017: 30 on objects"),
)
class JGSA(WithComponents, Seeded, Guessing, RivalTransformer):
    """Joint geometrical and statistical alignment: near maps, same means, compact source classes.

        maximise    tr(μ Bᵀ S_t B + β Aᵀ S_b A)
        subject to  MMD(A, B) + α ‖A − B‖² + β tr Aᵀ S_w A + μ ‖B‖² = 1

    Source samples are mapped by A, target samples by B. The variance of the target and the
    distances of the source's classes are large; the means of the domains and of their classes
    agree, source classes are compact, and the two maps lie near each other. Target classes are
    guessed by the nearest labelled neighbour, round by round. Sources are pooled; labels of the
    target are kept. Which map a new sample takes depends on its domain: ``transform`` takes samples
    for the target's unless ``sample_domain`` names a source. For a kernel, let its features come
    first, e.g. those of :class:`sklearn.decomposition.KernelPCA`.

    Parameters
    ----------
    n_components : int or None
        Features; None is 30, or fewer where the rank is lower.
    target_variance : float > 0
        μ, weight of the target's variance.
    discrimination : float >= 0
        β, weight of the scatters of the source's classes.
    agreement : float > 0
        α, weight of the distance of the two maps.

    Attributes
    ----------
    source_map_, target_map_ : ndarray of shape (n_features_in_, n_components_)
        A and B, each column of the two together of unit length.
    eigenvalues_ : ndarray of shape (n_components_,)
        Of the pencil, largest first.

    Notes
    -----
    This is the form that the authors call primal. The length of the columns is not given; unit
    length is the one with which the published accuracies are found. The maps have no intercept, so
    that it matters where the origin is: standardise each domain and scale samples to unit length
    (:class:`sklearn.preprocessing.Normalizer`), as the authors do.

    References
    ----------
    J. Zhang, W. Li, P. Ogunbona: Joint Geometrical and Statistical Alignment for Visual Domain
    Adaptation. CVPR, 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter.methods import JGSA
    >>> rng = np.random.default_rng(0)
    >>> y = np.tile([0, 1, 2], 40)
    >>> X = rng.normal(size=(120, 5)) + 4 * np.eye(3, 5)[y]
    >>> X[60:, 3] += 3
    >>> jgsa = JGSA(n_components=3).fit(X, np.where(np.arange(120) < 60, y, -1))
    >>> bool(np.mean(jgsa.pseudo_labels_ == y[60:]) > 0.9)
    True
    """

    needs = ("source labels", "one target")
    discrimination: float = tried(NON_NEGATIVE, 0.01, 0.1, 1.0, default=0.1)
    target_variance: float = tried(POSITIVE, 0.1, 1.0, 10.0, default=1.0)
    agreement: float = parameter(POSITIVE, default=1.0)
    max_iter: int = 10
    tol: float = 0.0

    def _fit(self, transfer: Transfer) -> Array:
        dtype = transfer.X.dtype
        X, basis = in_span(transfer.X.astype(np.float64))
        sides, constant = self._pencil(X, transfer)

        def times(W: Array) -> Array:
            halves = zip(sides, np.vsplit(W, 2), strict=True)
            return np.asfortranarray(np.vstack([side.T @ (side @ half) for side, half in halves]))

        guesses = Guesses(self, transfer, X)
        n, k = len(constant), min(self.n_components or COMPONENTS, len(constant))
        for _ in guesses.rounds:
            V = self._differences(X, transfer, guesses.last)
            root = CholeskyRoot(np.asfortranarray(constant + V @ V.T))
            pairs = solve_pencil(times, root, n, k, tol=EIGEN_TOL, random_state=self.random_state)
            W = pairs.vectors / np.linalg.norm(pairs.vectors, axis=0)
            A, B = np.vsplit(W, 2)
            Z = np.where(transfer.target[:, None], X @ B, X @ A)
            guesses.record(float(pairs.values.sum()), guesses.nearest(Z))
        self._warn_of_rank(len(pairs.values), stacklevel=4)
        signs = column_signs(Z)
        A, B = (signs * (M if basis is None else basis @ M) for M in (A, B))
        self.source_map_, self.target_map_ = A.astype(dtype), B.astype(dtype)
        self.eigenvalues_, self.n_components_ = pairs.values, len(pairs.values)
        return np.asarray(signs * Z, dtype=dtype)

    def _pencil(self, X: Array, transfer: Transfer) -> tuple[tuple[Array, Array], Array]:
        """Return roots of the left side, for A and B, and what stays of the right in all rounds."""
        mu, beta, alpha = self.target_variance, self.discrimination, self.agreement
        target = X[transfer.target]
        known = transfer.source & transfer.labelled
        label = transfer.label[known]
        Q = indicator_means(label, len(transfer.classes))
        means, counts = Q.T @ X[known], np.bincount(label, minlength=Q.shape[1])
        within = X[known] - means[label]
        between = np.sqrt(beta * counts)[:, None] * (means - X[known].mean(axis=0))
        spread = np.sqrt(mu) * (target - target.mean(axis=0))
        unit = np.eye(X.shape[1])
        source, both = beta * (within.T @ within) + (alpha + JITTER) * unit, -alpha * unit
        constant = np.block([[source, both], [both, (alpha + mu + JITTER) * unit]])
        return (between, spread), constant

    def _differences(self, X: Array, transfer: Transfer, guess: Codes) -> Array:
        """Return V with V Vᵀ = [X_s; X_t]ᵀ E Eᵀ [X_s; X_t], for the classes guessed."""
        n_classes = len(transfer.classes)
        E = mean_differences(transfer, guess, n_classes)
        # In units of the means of the domains alone, as in the authors' program.
        E /= np.sqrt(n_classes) * (np.linalg.norm(transfer.mean_difference) or 1.0)
        parts = transfer.source & ~transfer.target, transfer.target
        return np.vstack([X[part].T @ E[part] for part in parts])

    def _transform(self, X: Array, from_source: Mask) -> Array:
        Z = np.where(from_source[:, None], X @ self.source_map_, X @ self.target_map_)
        return np.asarray(Z, dtype=X.dtype)
