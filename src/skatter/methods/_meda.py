"""Manifold embedded distribution alignment: ARTL in the features of the geodesic flow kernel.

The share μ = d_c / (d_c + d_m) compares the A-distance d_m of source and target with d_c, the mean
of those of their classes, the latter guessed: 2 (1 − 2 error) of a linear classifier that tells the
two apart. So μ is large where classes differ more than the domains as a whole.
"""

from __future__ import annotations

import numpy as np
from sklearn.svm import LinearSVC

from skatter._parameters import SHARE, named_or, parameter
from skatter._tensors import Array
from skatter.domains import Codes
from skatter.methods._artl import ARTL
from skatter.methods._base import Transfer
from skatter.methods._record import SUBSPACES, Tuning, method
from skatter.methods._subspaces import OnSubspaces

SMALLEST = 1e-3  # a smaller share of the class means counts as none, as in the authors' program


@method(
    "meda",
    when="one target of the source's classes, and accuracy matters more than time",
    uses=("target labels",),
    cost="n²d + 2n³/3 + C n² per round",
    grid={"n_components": SUBSPACES},
    coarse=Tuning({}, why="Wang et al. 2018 fix all"),
)
class MEDA(OnSubspaces, ARTL):
    """Manifold embedded distribution alignment (MEDA): ARTL along the geodesic flow.

        minimise over f    Σ_labelled ‖y_i − f(z_i)‖² + η ‖f‖² + λ tr FᵀM F + ρ tr FᵀL F
        M = (1 − μ) C e eᵀ + μ Σ_c e_c e_cᵀ

    Samples z are seen through the geodesic flow kernel of source and target, as by :class:`GFK`,
    and scaled to unit length; all else is as in :class:`ARTL`, but for μ, which weighs the means of
    the domains against those of their classes, and is measured in every round. Standardise each
    domain first, as the authors do.

    Parameters
    ----------
    mu : "adaptive" or float in [0, 1]
        μ, the share of the class means; ``"adaptive"`` compares A-distances.

    Attributes
    ----------
    mu_ : float
        μ of the last round.
    metric_factor_ : ndarray of shape (n_features_in_, 2d)
        R with R Rᵀ = G, the metric of the geodesic flow kernel.

    Notes
    -----
    A-distances come from linear support vector machines with squared hinge loss, solved exactly;
    the authors' program has stochastic gradients of the hinge loss. Negative cosines of neighbours
    count as zero.

    References
    ----------
    J. Wang, W. Feng, Y. Chen, H. Yu, M. Huang, P. S. Yu: Visual Domain Adaptation with Manifold
    Embedded Distribution Alignment. ACM Multimedia, 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter.methods import MEDA
    >>> rng = np.random.default_rng(0)
    >>> y = np.tile([0, 1, 2], 40)
    >>> X = rng.normal(size=(120, 5)) + 4 * np.eye(3, 5)[y]
    >>> X[60:, 3] += 3
    >>> known = np.where(np.arange(120) < 60, y, -1)
    >>> MEDA(n_components=2).fit(X, known).score(X[60:], y[60:])
    1.0
    """

    mu: float | str = parameter(named_or(SHARE, "adaptive"), default="adaptive")

    def _learn_map(self, transfer: Transfer) -> None:
        super()._learn_map(transfer)
        self.metric_factor_ = self._geodesic(transfer).factor()

    def _map(self, X: Array) -> Array:
        return np.asarray(super()._map(X) @ self.metric_factor_)

    def _balance(self, Z: Array, transfer: Transfer, guess: Codes) -> tuple[float, float]:
        if isinstance(self.mu, str):
            source = np.where(transfer.source & transfer.labelled, transfer.label, -1)
            self.mu_ = class_share(Z, source, np.where(transfer.target, guess, -1), transfer.source)
        else:
            self.mu_ = float(self.mu)
        return (1 - self.mu_) * len(transfer.classes), self.mu_


def class_share(Z: Array, source: Codes, target: Codes, is_source: Array) -> float:
    """Return μ = d_c / (d_c + d_m), given the classes of source and target samples, -1 for none."""
    codes = np.unique(source[source >= 0])
    of_classes = np.mean([a_distance(Z[source == c], Z[target == c]) for c in codes])
    of_domains = a_distance(Z[is_source], Z[target >= 0])
    share = of_classes / (of_classes + of_domains) if of_classes else 0.0
    return float(share) if share > SMALLEST else 0.0


def a_distance(A: Array, B: Array) -> float:
    """Return 2 (1 − 2 error) on the samples that taught a linear classifier to tell them apart.

    As in the authors' program; :func:`skatter.theory.a_distance` judges samples that were held out.
    2 where there are none.
    """
    if not (len(A) and len(B)):
        return 2.0
    X, side = np.vstack([A, B]), np.repeat([0, 1], [len(A), len(B)])
    error = 1 - LinearSVC(dual=False, random_state=0).fit(X, side).score(X, side)
    return max(2 * (1 - 2 * float(error)), 0.0)
