"""Maximum mean discrepancy: four times the domain scatter of two domains, with a test."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from skatter._checks import check_alike, check_integer, check_table
from skatter._tensors import Array
from skatter.kernels import gram, resolve_kernel
from skatter.scatter._measures import Projection


class MMD(NamedTuple):
    """Squared maximum mean discrepancy of two samples, and its permutation p-value."""

    value: float
    p_value: float | None


def mmd(
    X: Any,
    Y: Any,
    *,
    kernel: Any = "rbf",
    gamma: Any = "median",
    unbiased: bool = False,
    n_permutations: int = 0,
    projection: Projection = None,
    random_state: Any = None,
) -> MMD:
    """Squared maximum mean discrepancy ‖μ_X − μ_Y‖² between two samples.

    Parameters
    ----------
    X, Y : array-like of shapes (n_x, n_features) and (n_y, n_features)
        Two samples.
    kernel, gamma : str or callable, "median", "printed", float or None
        Feature space; the median is taken over both samples.
    unbiased : bool
        Leave out the diagonal (U-statistic): may be negative. Otherwise the V-statistic, which is
        4 × :func:`domain_scatter` of the two samples.
    n_permutations : int
        Random relabellings for the p-value of "both samples come from one distribution", which is
        None without any. The p-value counts the observed split, so it is never below
        1/(n_permutations + 1).
    projection : callable or None
        Maps both samples first.
    random_state : int, RandomState instance or None
        Draws the permutations.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> near, far = rng.normal(size=(50, 2)), rng.normal(2.0, size=(40, 2))
    >>> result = mmd(near, far, n_permutations=199, random_state=0)
    >>> result.value > 0.5, result.p_value
    (True, 0.005)
    """
    X, Y = check_table(X, "X"), check_table(Y, "Y")
    if sparse.issparse(X) != sparse.issparse(Y):
        raise ValueError("X and Y must both be dense or both be sparse.")
    check_alike(X=X, Y=Y)
    n_permutations = check_integer("n_permutations", n_permutations, low=0)
    n_x, n = X.shape[0], X.shape[0] + Y.shape[0]
    if unbiased and min(n_x, n - n_x) < 2:
        raise ValueError("unbiased=True needs at least two samples in X and in Y.")
    both = sparse.vstack([X, Y], format="csr") if sparse.issparse(X) else np.vstack([X, Y])
    if projection is not None:
        both = check_table(projection(both), "the projection of X and Y")
    resolved = resolve_kernel(both, kernel, gamma=gamma)
    if resolved.linear and not sparse.issparse(both):
        # A shift changes nothing but the digits that are lost far from the origin.
        both = both - both.mean(axis=0)
    K = gram(both, resolved).astype(np.float64, copy=False)
    member = (np.arange(n) < n_x).astype(np.float64)
    observed = mmd_of_splits(K, member[None], unbiased=unbiased)[0]
    if n_permutations == 0:
        return MMD(float(observed), None)
    rng = check_random_state(random_state)
    splits = np.zeros((n_permutations, n))
    for split in splits:
        split[rng.permutation(n)[:n_x]] = 1
    shuffled = mmd_of_splits(K, splits, unbiased=unbiased)
    # Splits that only swap equal samples tie with the observed one up to rounding.
    at_least = np.sum(shuffled >= observed - 1e-12 * np.abs(K).max())
    return MMD(float(observed), float((1 + at_least) / (1 + n_permutations)))


def mmd_of_splits(K: Array, member: Array, *, unbiased: bool = True) -> Array:
    """Squared MMD of many splits of samples in two, each a row of members of the first, 0 or 1."""
    n, n_a = len(K), int(member[0].sum())
    n_b = n - n_a
    # Without its diagonal, sums over K are sums over pairs of different samples. Products of mixed
    # precision are many times slower.
    K = (K - np.diag(np.diagonal(K)) if unbiased else K).astype(member.dtype, copy=False)
    sums = member @ K.sum(axis=1)
    inside_a = np.einsum("si,si->s", member @ K, member, dtype=np.float64)
    across = sums - inside_a
    inside_b = K.sum(dtype=np.float64) - inside_a - 2 * across
    pairs_a, pairs_b = n_a * (n_a - unbiased), n_b * (n_b - unbiased)
    found = inside_a / pairs_a - 2 * across / (n_a * n_b) + inside_b / pairs_b
    return np.asarray(found if unbiased else np.maximum(found, 0.0))
