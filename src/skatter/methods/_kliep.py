"""Kullback-Leibler importance estimation: weights of the source that make the target likely.

With b_l the mean of k(·, c_l) over the source and β_l = α_l b_l, which sum to one, w is a mixture
of k(·, c_l)/b_l: the maximum is that of mixture proportions, and expectation maximisation, which
needs no step size, finds it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from skatter._parameters import COUNT, parameter
from skatter._tensors import Array
from skatter.kernels import Kernel
from skatter.methods._iteration import Iterations, Iterative
from skatter.methods._record import method
from skatter.methods._subspaces import feature_mean
from skatter.methods._weighting import WeightedClassifier


@method(
    "kliep",
    kind="weights",
    when="as kmm, with many source samples",
    cost="n p b + n_t b per iteration, b centres",
    grid={"gamma": (0.01, 0.1, 1.0, 10.0), "n_centres": (50, 100, 200)},
)
class KLIEP(Iterative, WeightedClassifier):
    """KL importance estimation (KLIEP): source samples weighted by an estimated density ratio.

        w(x) = Σ_l α_l k(x, c_l)
        maximise    Σ_target log w(t_j)    over α ≥ 0 with a mean of w over the source of 1

    w estimates the density of the target over that of the source, and corrects covariate shift.
    Unlike those of :class:`KMM`, the weights are a function of the sample. Sources are pooled.
    Unlabelled source samples count in the mean alone; labels of the target are not used.

    Parameters
    ----------
    n_centres : int
        Target samples that are centres of the kernel, at most: spread evenly over the ranks of
        their distance from the mean.
    kernel : str or callable
        A kernel without negative values, as in :class:`~skatter.SCA` but not ``"precomputed"``.
    tol : float >= 0
        Stop when the mean log-likelihood rises by less; 0 runs all of ``max_iter``.

    References
    ----------
    M. Sugiyama, T. Suzuki, S. Nakajima, H. Kashima, P. von Bünau, M. Kawanabe: Direct Importance
    Estimation for Covariate Shift Adaptation. AISM 60, 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter.methods import KLIEP
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.uniform(-3, 3, size=(60, 1)), rng.uniform(1, 3, size=(40, 1))])
    >>> y = (np.abs(X[:, 0]) > 2).astype(int)
    >>> site = np.repeat([1, -2], [60, 40])  # a negative id is the target
    >>> model = KLIEP(gamma=5.0).fit(X, np.where(site > 0, y, -1), sample_domain=site)
    >>> weights, inside = model.weights_[:60], X[:60, 0] > 1
    >>> share = weights[inside].sum() / weights.sum()
    >>> print(f"{inside.sum()} of 60 samples have {share:.0%} of the weight")
    21 of 60 samples have 99% of the weight
    """

    n_centres: int = parameter(COUNT, default=100)
    max_iter: int = 5000
    tol: float = 1e-6

    def _weigh(self, kernel: Kernel, source: Any, target: Any) -> Array:
        centres = target[spread_rows(target, self.n_centres)]
        here, there = kernel(source, centres), kernel(target, centres)
        if min(here.min(), there.min()) < 0:
            raise ValueError(
                "kernel must have no negative values, since weights are sums of it. Choose "
                "another one, such as rbf or laplacian."
            )
        # The common factor keeps numbers away from zero where source and target are far apart.
        sizes = np.maximum(here.mean(axis=0), np.finfo(float).tiny)
        proportions = mixture_proportions(there / sizes, Iterations.of(self))
        return np.asarray((here / sizes) @ proportions)


def mixture_proportions(ratios: Array, iterations: Iterations) -> Array:
    """Return β ≥ 0 with sum one that maximises the mean of log (R β), for positive ratios R."""
    beta = np.full(ratios.shape[1], 1 / ratios.shape[1])
    mixture = np.maximum(ratios @ beta, np.finfo(float).tiny)
    last = -np.inf
    for _ in iterations:
        beta = beta * (ratios / mixture[:, None]).mean(axis=0)
        beta /= beta.sum()
        mixture = np.maximum(ratios @ beta, np.finfo(float).tiny)
        value = float(np.log(mixture).mean())
        iterations.record(value, settled=value - last <= iterations.tol)
        last = value
    return beta


def spread_rows(X: Any, k: int) -> Array:
    """Return ``k`` rows at most, evenly over the ranks of their distance from the mean."""
    n = X.shape[0]
    if n <= k:
        return np.arange(n)
    mean = feature_mean(X)
    squares = X.multiply(X).sum(axis=1) if hasattr(X, "multiply") else np.sum(X * X, axis=1)
    order = np.argsort(np.asarray(squares).ravel() - 2 * (X @ mean), kind="stable")
    return np.sort(order[np.linspace(0, n - 1, k).astype(int)])
