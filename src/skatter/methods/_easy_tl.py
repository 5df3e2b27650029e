"""Easy transfer learning: the nearest class mean of an aligned source, and no class without sample.

The program has an integral solution: every sample belongs to its nearest mean, but for at most one
sample for each class that would have none. Which ones costs the least is an assignment problem in
D_cj − min_c' D_c'j, solved exactly.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from skatter._parameters import BOOLEAN, NON_NEGATIVE
from skatter._tensors import Array
from skatter.domains import Codes, Mask
from skatter.methods._base import SourceClassifier, Transfer, in_columns
from skatter.methods._coral import CORAL
from skatter.methods._record import Tuning, method, tried
from skatter.scatter import indicator_means


@method(
    "easytl",
    when="a fast classifier with nothing to tune, on standardised domains",
    cost="n p m + m³, m = min(n, p)",
    linear=True,
    coarse=Tuning({}, why="Wang et al. 2019 tune nothing"),
)
class EasyTL(SourceClassifier):
    """Easy transfer learning: nearest class means, after the source got the target's covariance.

        minimise    Σ_cj D_cj M_cj      over  0 ≤ M_cj ≤ 1,   Σ_c M_cj = 1,   Σ_j M_cj ≥ 1

    with D_cj the distance of target sample j from the mean of source class c: every class has a
    sample in the target (``pseudo_labels_``). A new sample belongs to the nearest mean. There is
    next to nothing to tune. Sources are pooled; labels of the target are not used. Standardise each
    domain first, as the authors do.

    Parameters
    ----------
    align : bool
        Whether the source is given the covariance of the target first, by :class:`CORAL`.
    ridge : float >= 0
        Added to the diagonals of the covariances; 1 is the published value.

    Attributes
    ----------
    centres_ : ndarray of shape (n_classes, n_features_in_)
        Means of the aligned source classes.
    pseudo_labels_ : ndarray of shape (n_target,)
        Classes of the target samples, in their order in ``X``, each class at least once.
    alignment_ : CORAL or None
        The map of the source.

    References
    ----------
    J. Wang, Y. Chen, H. Yu, M. Huang, Q. Yang: Easy Transfer Learning by Exploiting Intra-Domain
    Structures. ICME, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter.methods import EasyTL
    >>> rng = np.random.default_rng(0)
    >>> y = np.tile([0, 1, 2], 40)
    >>> X = rng.normal(size=(120, 5)) + 4 * np.eye(3, 5)[y]
    >>> X[60:] *= [1, 1, 1, 5, 5]
    >>> model = EasyTL().fit(X, np.where(np.arange(120) < 60, y, -1))
    >>> round(model.score(X[60:], y[60:]), 2)
    0.98
    """

    align: bool = tried(BOOLEAN, True, False, default=True)
    ridge: float = tried(NON_NEGATIVE, 0.01, 0.1, 1.0, 10.0, default=1.0)

    def _fit(self, transfer: Transfer) -> None:
        X, self.alignment_ = transfer.X.astype(np.float64), None
        if self.align and not (transfer.source & transfer.target).any():
            self.alignment_ = CORAL(ridge=self.ridge)
            X = self.alignment_.fit_transform(X, sample_domain=np.where(transfer.source, 1, -1))
        known = transfer.source & transfer.labelled
        label = self._source_labels(transfer)[known]
        self.centres_ = indicator_means(label, len(self.classes_)).T @ X[known]
        distances = cdist(X[transfer.target], self.centres_)
        self.pseudo_labels_ = self.classes_[cheapest_classes(distances)]

    def _decide(self, X: Any, from_source: Mask) -> Array:
        X = X.astype(np.float64)
        if self.alignment_ is not None:
            X = self.alignment_.transform(X, sample_domain=np.where(from_source, 1, -1))
        return in_columns(-cdist(X, self.centres_))


def cheapest_classes(distances: Array) -> Codes:
    """Return the class of each sample, nearest but for what gives every class a sample.

    Where there are fewer samples than classes, each is nearest.
    """
    guess = distances.argmin(axis=1)
    if len(distances) >= distances.shape[1]:
        regret = distances - distances.min(axis=1, keepdims=True)
        codes, rows = linear_sum_assignment(regret.T)
        guess[rows] = np.where(regret[rows, codes] > 0, codes, guess[rows])
    return guess
