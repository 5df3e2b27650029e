"""Kernel mean matching: a quadratic program in the weights b of the source samples x_i.

The squared distance of the means is, but for a factor and a constant, ½ bᵀK b − κᵀb with the Gram
matrix K of the source, κ_i = (n_s/n_t) Σ_j k(x_i, t_j) and the target samples t_j.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import gen_batches

from skatter._components import BATCH
from skatter._parameters import NON_NEGATIVE, optional, real
from skatter._tensors import Array
from skatter.kernels import Kernel, gram
from skatter.methods._base import semidefinite_on
from skatter.methods._iteration import Iterations, Iterative
from skatter.methods._quadratic import Region, minimise
from skatter.methods._record import Tuning, method, tried
from skatter.methods._weighting import WeightedClassifier


@method(
    "kmm",
    kind="weights",
    when="the domains overlap and differ in where samples lie, not in their classes",
    cost="n_s² p + n_s n_t p + 20 n_s³/3",
    coarse=Tuning({}, why="Huang et al. 2007: weights up to 1000"),
)
class KMM(Iterative, WeightedClassifier):
    """Kernel mean matching: source samples weighted to match the target's mean in feature space.

        minimise    ‖(1/n_s) Σ b_i φ(x_i) − (1/n_t) Σ φ(t_j)‖²
        subject to  0 ≤ b_i ≤ max_weight,   |mean(b) − 1| ≤ eps

    It corrects covariate shift: source and target differ in where samples lie, not in which
    class a sample at a given place has. Sources are pooled. Unlabelled source samples have
    weights as well, for the means, but are not trained on; labels of the target are not used.

    Parameters
    ----------
    max_weight : float > 1
        The largest weight, B.
    eps : float >= 0 or None
        How far the mean weight may be from 1. None: (√n_s − 1)/√n_s, as the authors have it.
    kernel : str or callable
        A positive semi-definite one, as in :class:`~skatter.SCA` but not ``"precomputed"``. A
        narrow kernel trusts weights less: it sees no source sample near a target sample.
    tol : float >= 0
        The squared distance of the means is found up to this share of the mean of k(x, x);
        0 runs all iterations.

    References
    ----------
    J. Huang, A. Smola, A. Gretton, K. Borgwardt, B. Schölkopf: Correcting Sample Selection Bias by
    Unlabeled Data. NIPS 2006.

    A. Gretton, A. Smola, J. Huang, M. Schmittfull, K. Borgwardt, B. Schölkopf: Covariate Shift by
    Kernel Mean Matching. Dataset Shift in Machine Learning, MIT Press 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skatter.methods import KMM
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.uniform(-3, 3, size=(60, 1)), rng.uniform(1, 3, size=(40, 1))])
    >>> y = (np.abs(X[:, 0]) > 2).astype(int)
    >>> site = np.repeat([1, -2], [60, 40])  # a negative id is the target
    >>> model = KMM().fit(X, np.where(site > 0, y, -1), sample_domain=site)
    >>> weights, inside = model.weights_[:60], X[:60, 0] > 1
    >>> print(f"{inside.sum()} of 60 samples have {weights[inside].sum() / weights.sum():.0%}")
    21 of 60 samples have 100%
    >>> unweighted = LogisticRegression().fit(X[:60], y[:60])
    >>> bool(model.score(X[60:], y[60:]) > unweighted.score(X[60:], y[60:]))
    True
    """

    max_weight: float = tried(real(1, open_low=True), 2.0, 5.0, 10.0, 100.0, 1000.0, default=1000.0)
    eps: float | None = tried(optional(NON_NEGATIVE), 0.01, 0.1, 0.5, 1.0, default=None)
    tol: float = 1e-8

    def _weigh(self, kernel: Kernel, source: Any, target: Any) -> Array:
        K, n = gram(source, kernel), source.shape[0]
        K += K.T  # twice the symmetric part, which is all that the objective sees
        K /= 2
        means = [kernel(source[rows], target).mean(axis=1) for rows in gen_batches(n, BATCH)]
        kappa = n * np.concatenate(means)
        with semidefinite_on("source samples"):
            return minimise(K, kappa, self._region(n), np.ones(n), Iterations.of(self))

    def _region(self, n: int) -> Region:
        """Return 0 ≤ b ≤ B with a mean within ε of 1; no weight exceeds the largest sum."""
        eps = (np.sqrt(n) - 1) / np.sqrt(n) if self.eps is None else self.eps
        upper = np.full(n, min(self.max_weight, max(n * (1 + eps), 2)))
        ones = np.ones((1, n))
        if eps == 0:
            return Region(upper, E=ones)
        return Region(upper, G=ones, low=[n * (1 - eps)], high=[n * (1 + eps)])
