"""Adaptation regularisation: a kernel classifier that is smooth and sees the same means everywhere.

The target's classes are as the last round guessed them; :mod:`skatter._solve.structural` has what a
round solves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.preprocessing import normalize
from sklearn.utils import gen_batches

from skatter._components import BATCH
from skatter._parameters import COUNT, NON_NEGATIVE, POSITIVE, parameter
from skatter._solve import StructuralRisk, cosine_laplacian, cosines
from skatter._tensors import Array
from skatter.domains import Codes, Mask
from skatter.kernels import WithKernel, gram, kernel_of
from skatter.methods._base import RivalClassifier, Transfer, in_columns
from skatter.methods._matching import Guesses, Guessing, mean_differences
from skatter.methods._neighbourhood import Neighbourhood
from skatter.methods._record import Tuning, method, tried
from skatter.methods._subspaces import feature_mean
from skatter.scatter import normalised


@method(
    "artl",
    when="classes form clusters, and a first guess of the target is fair",
    uses=("target labels",),
    cost="n²p + 2n³/3 + C n² per round",
    coarse=Tuning({}, why="Long et al. 2014 fix all"),
)
class ARTL(WithKernel, Guessing, RivalClassifier):
    """Adaptation regularisation (ARTL): means of domains and classes agree in the decision values.

        minimise over f    Σ_labelled ‖y_i − f(x_i)‖² + η ‖f‖² + λ tr FᵀM F + ρ tr FᵀL F

    The first penalty counts the distances of the means of source and target, and of their classes,
    in the decision values F; the second asks neighbours for similar values. Target classes are
    guessed, at first by the nearest labelled neighbour, then round by round by f. Sources are
    pooled; labels of the target are used. Samples are centred and scaled to unit length.

    Parameters
    ----------
    mmd : float >= 0
        λ, weight of the distances of the means.
    smoothness : float >= 0
        ρ, weight of the graph of neighbours.
    shrinkage : float > 0
        η, weight of the norm of f.
    n_neighbors : int
        Neighbours of each sample in the graph.
    kernel : str or callable
        Of samples of unit length, as in :class:`~skatter.SCA` but not ``"precomputed"``.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features_in_,)
        Mean of all training samples.
    dual_coef_ : ndarray of shape (n_samples, n_classes)
        β.

    Notes
    -----
    The authors' program does not centre; where domains are standardised, as there, it is the same.
    Negative cosines of neighbours count as zero.

    References
    ----------
    M. Long, J. Wang, G. Ding, S. J. Pan, P. S. Yu: Adaptation Regularization: A General Framework
    for Transfer Learning. IEEE TKDE 26(5), 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter.methods import ARTL
    >>> rng = np.random.default_rng(0)
    >>> y = np.tile([0, 1, 2], 40)
    >>> X = rng.normal(size=(120, 5)) + 4 * np.eye(3, 5)[y]
    >>> X[60:, 3] += 3
    >>> known = np.where(np.arange(120) < 60, y, -1)
    >>> ARTL().fit(X, known).score(X[60:], y[60:])
    1.0
    """

    mmd: float = tried(NON_NEGATIVE, 0.1, 1.0, 10.0, 100.0, default=10.0)
    smoothness: float = tried(NON_NEGATIVE, 0.0, 0.1, 1.0, 10.0, default=1.0)
    shrinkage: float = parameter(POSITIVE, default=0.1)
    n_neighbors: int = parameter(COUNT, default=10)
    gamma: Any = 0.5
    max_iter: int = 10
    tol: float = 0.0

    def _check_together(self) -> None:
        self._refuse_precomputed("the neighbours are those of the samples themselves")

    def _learn_map(self, transfer: Transfer) -> None:
        self.mean_ = feature_mean(transfer.X.astype(np.float64))

    def _map(self, X: Array) -> Array:
        return X.astype(np.float64) - self.mean_

    def _balance(self, Z: Array, transfer: Transfer, guess: Codes) -> tuple[float, float]:
        """Return the weights c₀ and c₁ of the means of domains and of classes in M."""
        return float(len(transfer.classes)), 1.0

    def _fit(self, transfer: Transfer) -> None:
        self._learn_map(transfer)
        Z = self._map(transfer.X)
        U = normalize(Z)
        self.kernel_ = kernel_of(self, U)
        wanted = (transfer.label[:, None] == np.arange(len(transfer.classes))).astype(float)
        near = Neighbourhood(U, self.n_neighbors).graph(U)
        graph = self.smoothness * cosine_laplacian(cosines(U, near))
        risk = StructuralRisk(gram(U, self.kernel_), wanted, graph, self.shrinkage)
        guesses = Guesses(self, transfer, U)
        for _ in guesses.rounds:
            balance = self._balance(Z, transfer, guesses.last)
            E = normalised(mean_differences(transfer, guesses.last, *balance))
            beta, F, objective = risk.minimise(np.sqrt(self.mmd) * E)
            guess = np.where(transfer.labelled, transfer.label, F.argmax(axis=1))
            guesses.record(objective, guess)
        self.X_fit_, self.dual_coef_ = U, beta

    def _decide(self, X: Any, from_source: Mask) -> Array:
        batches = (normalize(self._map(X[rows])) for rows in gen_batches(X.shape[0], BATCH))
        F = np.vstack([self.kernel_(U, self.X_fit_) @ self.dual_coef_ for U in batches])
        return in_columns(F)
