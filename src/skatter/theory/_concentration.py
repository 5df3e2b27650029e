"""One sample: how far its scatter, its mean map and its hypotheses may mislead."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from skatter._checks import check_integer, check_real
from skatter._parameters import POSITIVE
from skatter._tensors import Array
from skatter.kernels import Kernel
from skatter.scatter import scatter
from skatter.theory._samples import check_alpha, check_table, kernel_bound, root, single_gram


class ScatterBound(NamedTuple):
    """The scatter of a distribution, estimated from a sample, and how far off it may be."""

    estimate: float
    half_width: float
    printed_half_width: float
    n: int
    B0: float
    alpha: float


def scatter_bound(
    X: Any,
    *,
    kernel: Any = "rbf",
    gamma: Any = "median",
    alpha: float = 0.05,
    bound: float | None = None,
) -> ScatterBound:
    """Confidence interval for the scatter Ψ(P) of the distribution behind a sample (Theorem 1).

    With probability at least 1 − α, ``|Ψ(P) − Ψ^| ≤ 2 B0 √(2 log(2/α)/n)``, where
    ``Ψ^ = n/(n−1) · tr(H K)/n`` is unbiased and B0 = sup k(x, x).

    The paper prints half of this width, around the biased estimate. One sample can change Ψ^ by
    4 B0/n (linear kernel on [−1, 1]), which gives the width above; the printed one needs a
    kernel that is never negative, such as ``"rbf"``, where the change is at most 2 B0/n.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The sample, or its Gram matrix with ``kernel="precomputed"``.
    kernel, gamma : str or callable, "median", "printed", float or None
        Feature space, as in :func:`skatter.kernels.resolve_kernel`.
    alpha : float in (0, 1)
        Probability with which the bound may fail.
    bound : float or None
        B0, the largest k(x, x) that any sample of the distribution can have. None takes the
        largest one in ``X``: exact for kernels with a constant diagonal (rbf, laplacian, chi2,
        cosine), but only an estimate, from below, for unbounded kernels (linear, poly).

    Examples
    --------
    >>> from skatter.theory import scatter_bound
    >>> result = scatter_bound([[-1.0], [1.0], [1.0], [-1.0]], kernel="linear", bound=1.0)
    >>> round(result.estimate, 4), round(result.half_width, 4)
    (1.3333, 2.7162)
    """
    alpha = check_alpha(alpha)
    X = check_table(X, "X", least=2)
    resolved, K = single_gram(X, kernel, gamma)
    return sample_scatter_bound(X, K, resolved, kernel_bound(K, bound), alpha)


def sample_scatter_bound(
    X: Array, K: Array, kernel: Kernel, B0: float, alpha: float
) -> ScatterBound:
    """:func:`scatter_bound` of a sample whose Gram matrix is at hand."""
    n = len(K)
    # In input space, scatter() centres first: means far from zero would cost digits in K.
    biased = scatter(X, kernel="linear") if kernel.linear else scatter(K, kernel="precomputed")
    printed = B0 * float(np.sqrt(2 * np.log(2 / alpha) / n))
    return ScatterBound(n / (n - 1) * biased, 2 * printed, printed, n, B0, alpha)


def mean_map_bound(n: int, B0: float, alpha: float = 0.05) -> float:
    """Distance between a mean map and its estimate, ‖μ_P − μ_P^‖ ≤ √(B0/n) (1 + √(2 log(1/α))).

    Holds with probability at least 1 − α. For the squared kernel k², pass B0².

    Parameters
    ----------
    n : int
        Number of samples.
    B0 : float
        sup k(x, x); 1 for the RBF kernel.
    alpha : float in (0, 1)
        Probability with which the bound may fail.

    Examples
    --------
    >>> from skatter.theory import mean_map_bound
    >>> round(mean_map_bound(100, 1.0, 0.05), 4)
    0.3448
    """
    n = check_integer("n", n, low=1)
    B0 = check_real("B0", B0, low=0)
    return float(np.sqrt(B0 / n) * (1 + np.sqrt(2 * np.log(1 / check_alpha(alpha)))))


class RademacherComplexity(NamedTuple):
    """Empirical Rademacher complexity of a ball: its Monte-Carlo estimate and an upper bound."""

    monte_carlo: float
    bound: float


def rademacher_complexity(
    X: Any,
    *,
    kernel: Any = "rbf",
    gamma: Any = "median",
    radius: float = 1.0,
    n_draws: int = 1000,
    random_state: Any = None,
) -> RademacherComplexity:
    """Empirical Rademacher complexity of the ball {‖f‖_H ≤ Λ} on a sample.

    ``(Λ/n) E √(sᵀ K s)`` over random signs s, by Monte Carlo, and ``(Λ/n) √(tr K)``, which is
    never smaller than the expectation and is Λ/√n for kernels with k(x, x) = 1.

    Parameters
    ----------
    X, kernel, gamma
        As in :func:`scatter_bound`.
    radius : float
        Λ, the radius of the ball of hypotheses.
    n_draws : int
        Sign vectors drawn.
    random_state : int, RandomState instance or None
        Draws the signs.

    Examples
    --------
    >>> from skatter.theory import rademacher_complexity
    >>> result = rademacher_complexity([[0.0], [9.0]], gamma=1.0, random_state=0)
    >>> round(result.monte_carlo, 4), round(result.bound, 4)
    (0.7071, 0.7071)
    """
    radius = POSITIVE("radius", radius)
    n_draws = check_integer("n_draws", n_draws, low=1)
    _, K = single_gram(check_table(X, "X"), kernel, gamma)
    n = len(K)
    signs = 2.0 * check_random_state(random_state).randint(2, size=(n_draws, n)) - 1
    norms = root(np.einsum("di,di->d", signs @ K, signs), n**2 * np.abs(np.diagonal(K)).max())
    trace = root(np.trace(K), n * np.abs(np.diagonal(K)).max())
    return RademacherComplexity(radius / n * float(norms.mean()), radius / n * float(trace))
