"""Selective pseudo-labelling: the target teaches itself, the surest samples of each class first.

Samples, and the features of the projection, are of unit length. Of each class, the likeliest share
k/T of its samples is learnt from in round k = 1 .. T.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.special import softmax
from sklearn.cluster import KMeans
from sklearn.preprocessing import normalize

from skatter._parameters import BOOLEAN, COUNT, parameter
from skatter._solve import principal_axes
from skatter._tensors import Array
from skatter.domains import Codes, Mask
from skatter.methods._base import SourceClassifier, Transfer, in_columns
from skatter.methods._record import SUBSPACES, Tuning, method, tried
from skatter.scatter import indicator_means


@method(
    "spl",
    when="deep features, and a target whose classes form clusters",
    uses=("target labels",),
    cost="n p d + T (n d² + d³), d axes, T rounds",
    linear=True,
    coarse=Tuning({}, why="Wang and Breckon 2020 fix all"),
)
class SPL(SourceClassifier):
    """Selective pseudo-labelling: a projection that learns from the surest guesses of each class.

        maximise    Σ_i n_{c(i)} ‖Pᵀx_i‖²    over    Σ_i n_{c(i)} ‖Pᵀ(x_i − m_{c(i)})‖² + ‖P‖²

    over samples with a label, true or guessed. Target samples are likely to be of the class whose
    mean in the source, or whose cluster in the target, is near; of each class, the likeliest are
    learnt from, in every round more. Sources are pooled; labels of the target are kept.

    Parameters
    ----------
    n_components : int
        Features of the projection, at most.
    n_axes : int
        Principal axes that samples are reduced to first, at most.
    structured : bool
        Whether clusters of the target have a say; False is close to the authors' earlier CAPLS.
    n_rounds : int
        T, the rounds after which all target samples are learnt from.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features_in_,)
        Mean of all training samples.
    axes_ : ndarray of shape (n_features_in_, n_axes)
        Principal axes.
    projection_ : ndarray of shape (n_axes, n_components)
        P.
    prototypes_, clusters_ : ndarray of shape (n_classes, n_components)
        Means of the source classes, and centres of the clusters matched with them, or None.
    pseudo_labels_ : ndarray of shape (n_target,)
        Classes of the target samples after the last round, in their order in ``X``.

    References
    ----------
    Q. Wang, T. P. Breckon: Unsupervised Domain Adaptation via Structured Prediction Based Selective
    Pseudo-Labeling. AAAI, 2020.

    Q. Wang, P. Bu, T. P. Breckon: Unifying Unsupervised Domain Adaptation and Zero-Shot Visual
    Recognition. IJCNN, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter.methods import SPL
    >>> rng = np.random.default_rng(0)
    >>> y = np.tile([0, 1, 2], 40)
    >>> X = rng.normal(size=(120, 5)) + 4 * np.eye(3, 5)[y]
    >>> X[60:, 3] += 3
    >>> model = SPL().fit(X, np.where(np.arange(120) < 60, y, -1))
    >>> bool(model.score(X[60:], y[60:]) > 0.9)
    True
    """

    n_components: int = tried(COUNT, *SUBSPACES, default=128, kw_only=False)
    n_axes: int = parameter(COUNT, default=512)
    structured: bool = tried(BOOLEAN, True, False, default=True)
    n_rounds: int = parameter(COUNT, default=10)

    def _fit(self, transfer: Transfer) -> None:
        X = transfer.X.astype(np.float64)
        axes = principal_axes(X, min(self.n_axes, X.shape[0] - 1, X.shape[1]))
        self.mean_, self.axes_ = axes.mean, axes.directions
        label = self._source_labels(transfer)
        known = label >= 0
        source, new = known & transfer.source, np.flatnonzero(transfer.target & ~known)
        U = self._unit(X)
        taught = label
        for round_ in range(self.n_rounds + 1):
            self._learn(U, taught, label, source, transfer.target)
            likely = self._likelihoods(U)
            guess = np.where(known, label, likely.argmax(axis=1))
            taught = label.copy()
            rows = surest(likely[new], (round_ + 1) / self.n_rounds)
            taught[new[rows]] = guess[new[rows]]
        self.pseudo_labels_ = self.classes_[guess[transfer.target]]

    def _unit(self, X: Array) -> Array:
        return np.asarray(normalize((X - self.mean_) @ self.axes_))

    def _learn(self, U: Array, taught: Codes, label: Codes, source: Mask, target: Mask) -> None:
        rows = np.flatnonzero(taught >= 0)
        found = locality_projection(U[rows], taught[rows], self.n_components)
        # As it lies in a file: another order in memory may change the last bit of a product.
        self.projection_ = np.ascontiguousarray(found)
        self._origin = (U @ self.projection_).mean(axis=0)
        Z = self._features(U)
        n_classes = len(self.classes_)
        self.prototypes_ = indicator_means(label[source], n_classes).T @ Z[source]
        self.clusters_ = None
        if self.structured and np.count_nonzero(target) >= n_classes:
            self.clusters_ = matched_clusters(Z[target], self.prototypes_)

    def _features(self, U: Array) -> Array:
        return np.asarray(normalize(U @ self.projection_ - self._origin))

    def _likelihoods(self, U: Array) -> Array:
        Z = self._features(U)
        likely = softmax(-cdist(Z, self.prototypes_), axis=1)
        if self.clusters_ is None:
            return np.asarray(likely)
        return np.maximum(likely, softmax(-cdist(Z, self.clusters_), axis=1))

    def _decide(self, X: Any, from_source: Mask) -> Array:
        return in_columns(self._likelihoods(self._unit(X.astype(np.float64))))


def locality_projection(X: Array, label: Codes, k: int) -> Array:
    """Return P with the largest Σ n_c ‖Pᵀx‖² for Σ n_c ‖Pᵀ(x − m_c)‖² + ‖P‖² = 1 in each column."""
    counts = np.bincount(label)
    root = np.sqrt(counts)[label][:, None]
    within = root * (X - (indicator_means(label, len(counts)).T @ X)[label])
    total = root * X
    p = X.shape[1]
    right = within.T @ within + np.eye(p)
    _, P = eigh(total.T @ total, right, subset_by_index=[max(p - k, 0), p - 1])
    return np.asarray(P[:, ::-1])


def matched_clusters(Z: Array, prototypes: Array) -> Array:
    """Return the centres of clusters of Z, in the order of the prototypes they are matched with."""
    clusters = KMeans(len(prototypes), init=prototypes, n_init=1).fit(Z).cluster_centers_
    _, order = linear_sum_assignment(cdist(prototypes, clusters))
    return np.asarray(clusters[order])


def surest(likely: Array, share: float) -> Codes:
    """Return the rows of the likeliest share of each class, by the class that is likeliest."""
    guess, size = likely.argmax(axis=1), likely.max(axis=1, initial=0)
    rows = []
    for code in np.unique(guess):
        own = np.flatnonzero(guess == code)
        wanted = int(len(own) * min(share, 1.0))
        rows.append(own[np.argsort(-size[own], kind="stable")[:wanted]])
    return np.sort(np.concatenate(rows)) if rows else np.arange(0)
