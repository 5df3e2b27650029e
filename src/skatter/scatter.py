"""Scatter: one geometric quantity that measures everything that matters.

The scatter of a distribution is the mean squared distance from its centroid in the feature space
of a kernel, Ψ(P) = E‖μ_P − φ(x)‖². Every scatter here is a mean, estimated from a sample as
``tr(Wᵀ K W)`` for a few columns W of coefficients that know nothing of the kernel:

=====================  =========================================================================
total                  tr(H K)/n, H the centring matrix
domain                 tr(U_dᵀ K U_d), scatter of the set of domain means
between-class          tr(Fᵀ K F)/n_l, scatter of the class means, each counted n_k times
within-class           tr(S K)/n_l, S centres every class on its own mean
conditional domain     tr(U_cᵀ K U_c), scatter of one class's means over the domains, averaged
                       over the classes
=====================  =========================================================================

The factors U_d, F, U_c and the projection S are the ones that the objective uses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import helmert
from sklearn.utils import check_array, check_random_state
from sklearn.utils.extmath import row_norms

from skatter.checks import FLOATS, check_integer
from skatter.domains import Codes, Domains, read_domains
from skatter.kernels import Kernel, check_gram, gram, resolve_kernel

Array = NDArray[Any]
Projection = Callable[[Any], Array]


class Scatters(NamedTuple):
    """The five scatters of one labelled, multi-domain sample, each a mean."""

    total: float
    domain: float
    between_class: float
    within_class: float
    conditional_domain: float


# --- the coefficients: matrices that express a scatter and know nothing of the kernel -----------


def indicator_means(groups: Codes, n_groups: int) -> Array:
    """Matrix E whose column g is 1_g/n_g: ``E.T @ Z`` are the group means; code -1 is left out.

    An empty group gives a column of zeros.
    """
    rows = np.flatnonzero(groups >= 0)
    counts = np.bincount(groups[rows], minlength=n_groups)
    E = np.zeros((len(groups), n_groups))
    E[rows, groups[rows]] = 1 / counts[groups[rows]]
    return E


def domain_factor(domains: Domains) -> Array:
    """Factor U_d of shape (n, m-1) with U_d U_dᵀ = L, the paper's domain coefficients.

    L_ij = (m-1)/(m² n_a²) within domain a and -1/(m² n_a n_b) between a and b: eq. (8).
    """
    counted = np.flatnonzero(domains.domain_counts)
    return _scatter_of_means(indicator_means(domains.domain, domains.n_domains)[:, counted])


def class_factor(domains: Domains) -> Array:
    """Orthonormal factor F of shape (n, C-1) with F Fᵀ = R, the between-class projection.

    R = Σ_k n_k v_k v_kᵀ, v_k = 1_k/n_k − 1_lab/n_l: class means around the labelled mean.
    """
    counts = domains.class_counts
    present = np.flatnonzero(counts)
    if len(present) < 2:
        return np.zeros((domains.n_samples, 0))
    sizes = counts[present]
    unit = indicator_means(domains.label, len(counts))[:, present] * np.sqrt(sizes)
    # Columns that complete the unit vector q_k = sqrt(n_k/n_l) to an orthonormal basis.
    q = np.sqrt(sizes / sizes.sum())
    complement = np.linalg.qr(np.column_stack([q, np.eye(len(q))[:, 1:]]))[0][:, 1:]
    return unit @ complement


def conditional_factor(domains: Domains) -> Array:
    """Factor U_c: for every class, the scatter factor of its means over the domains it is in."""
    present = np.flatnonzero(domains.class_counts)
    parts = [np.zeros((domains.n_samples, 0))]
    for k in present:
        own = np.where(domains.label == k, domains.domain, -1)
        means = indicator_means(own, domains.n_domains)
        parts.append(_scatter_of_means(means[:, means.any(axis=0)]) / np.sqrt(len(present)))
    return np.hstack(parts)


def _scatter_of_means(E: Array) -> Array:
    """Factor of the scatter of a set of m means, (1/m) E (I − 11ᵀ/m) Eᵀ; no column for m = 1."""
    m = E.shape[1]
    return E @ helmert(m).T / np.sqrt(m) if m > 1 else E[:, :0]


def centre_classes(W: Array, domains: Domains) -> Array:
    """Apply S: subtract from each labelled row its class mean; unlabelled rows become zero."""
    means = indicator_means(domains.label, len(domains.classes)).astype(W.dtype).T @ W
    out = np.zeros_like(W)
    lab = domains.labelled
    out[lab] = W[lab] - means[domains.label[lab]]
    return out


# --- the measures ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Geometry:
    """What a scatter needs of a feature space: squared norms, and wᵀ K w for few columns w.

    Attributes
    ----------
    squared_norms : ndarray of shape (n_samples,)
        The diagonal of K.
    energies : callable
        W -> wᵀ K w for each column of W.
    """

    squared_norms: Array
    energies: Callable[[Array], Array]

    @classmethod
    def of_features(cls, Z: Any) -> Geometry:
        """Feature space given explicitly, one row per sample."""
        if isinstance(Z, np.ndarray):
            # Scatters ignore a shift; without one, means far from zero would cost digits.
            Z = Z - Z.mean(axis=0, dtype=np.float64)
        return cls(
            row_norms(Z, squared=True).astype(np.float64),
            lambda W: np.sum(np.square(Z.T @ W), axis=0),
        )

    @classmethod
    def of_gram(cls, K: Array) -> Geometry:
        """Feature space of a Gram matrix, centred or not."""
        return cls(
            np.diagonal(K).astype(np.float64),
            lambda W: np.sum(W * (K @ W.astype(K.dtype)), axis=0),
        )

    def energy(self, W: Array) -> float:
        """Return tr(Wᵀ K W)."""
        return float(np.sum(self.energies(W)))


def measure(geometry: Geometry, domains: Domains) -> Scatters:
    """Return all five scatters of a sample in one feature space."""
    n_labelled = max(domains.n_labelled, 1)
    norms = geometry.squared_norms
    means = indicator_means(domains.label, len(domains.classes)) * np.sqrt(domains.class_counts)
    factors = {
        "pooled": np.full((len(norms), 1), 1 / len(norms)),
        "domain": domain_factor(domains),
        "between": class_factor(domains),
        "classes": means,
        "conditional": conditional_factor(domains),
    }
    # One pass over the Gram matrix serves all factors.
    energies = geometry.energies(np.hstack(list(factors.values())))
    ends = np.cumsum([factor.shape[1] for factor in factors.values()])[:-1]
    energy = {
        name: float(part.sum())
        for name, part in zip(factors, np.split(energies, ends), strict=True)
    }
    within = float(norms[domains.labelled].sum()) - energy["classes"]
    return Scatters(
        total=max(float(norms.mean()) - energy["pooled"], 0.0),
        domain=energy["domain"],
        between_class=energy["between"] / n_labelled,
        within_class=max(within, 0.0) / n_labelled,
        conditional_domain=energy["conditional"],
    )


def _pooled(geometry: Geometry, weights: Array) -> float:
    """Scatter of a weighted sample: Σ w_i ‖φ_i‖² − ‖Σ w_i φ_i‖², weights summing to one."""
    spread = float(weights @ geometry.squared_norms) - geometry.energy(weights[:, None])
    return max(spread, 0.0)


def scatter(
    X: Any,
    *,
    sample_weight: Any = None,
    kernel: Any = "linear",
    gamma: Any = "median",
    projection: Projection | None = None,
) -> float:
    """Scatter of one sample, Ψ = E‖μ − φ(x)‖²: mean squared distance from the centroid.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The sample, or its Gram matrix with ``kernel="precomputed"``.
    sample_weight : array-like of shape (n_samples,) or None
        Weights, scaled to sum to one; None for equal ones.
    kernel : str or callable
        ``"linear"`` measures in input space, any other kernel in its feature space.
    gamma : "median", "printed", float or None
        Bandwidth, as in :func:`skatter.kernels.resolve_kernel`.
    projection : callable or None
        Maps X first, e.g. ``fitted_sca.transform``.

    Returns
    -------
    float
        The scatter; with the linear kernel, the trace of the covariance matrix (1/n).

    Examples
    --------
    >>> from skatter.scatter import scatter
    >>> scatter([[0.0], [2.0]])
    1.0
    """
    if sample_weight is None:
        X, geometry = _geometry(X, kernel, gamma, projection)
        return _pooled(geometry, np.full(X.shape[0], 1 / X.shape[0]))
    X = _check(X, "X") if projection is None else _check(projection(X), "the projection of X")
    weights = _check_weights(sample_weight, X.shape[0])
    counted = np.flatnonzero(weights)
    X = X[np.ix_(counted, counted)] if kernel == "precomputed" else X[counted]
    _, geometry = _geometry(X, kernel, gamma, None)
    return _pooled(geometry, weights[counted])


def _check_weights(sample_weight: Any, n_samples: int) -> Array:
    """Return weights that sum to one."""
    try:
        weights = np.asarray(sample_weight, float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight must hold numbers ({error}).") from error
    if weights.shape != (n_samples,):
        raise ValueError(
            f"sample_weight must hold one weight per row of X ({n_samples}), got shape "
            f"{weights.shape}."
        )
    if not (np.all(weights >= 0) and 0 < weights.sum() < np.inf):
        raise ValueError("sample_weight must be finite, non-negative and not all zero.")
    return weights / weights.sum()


def total_scatter(
    X: Any,
    sample_domain: Any = None,
    *,
    kernel: Any = "linear",
    gamma: Any = "median",
    projection: Projection | None = None,
) -> float:
    """Scatter of all domains together.

    Without ``sample_domain`` the samples are pooled, as in the paper's estimate; with it every
    domain counts the same whatever its size, as in the paper's definition.

    Examples
    --------
    >>> from skatter.scatter import total_scatter
    >>> total_scatter([[0.0], [0.0], [3.0]])
    2.0
    >>> total_scatter([[0.0], [0.0], [3.0]], ["a", "a", "b"])
    2.25
    """
    X, geometry = _geometry(X, kernel, gamma, projection)
    if sample_domain is None:
        return _pooled(geometry, np.full(X.shape[0], 1 / X.shape[0]))
    domains = read_domains(None, sample_domain, n_samples=X.shape[0])
    return _pooled(geometry, indicator_means(domains.domain, domains.n_domains).mean(axis=1))


def domain_scatter(
    X: Any,
    sample_domain: Any,
    *,
    kernel: Any = "linear",
    gamma: Any = "median",
    projection: Projection | None = None,
) -> float:
    """Scatter of the domain means, Ψ({μ_1, …, μ_m}), every domain counted once.

    For two domains it is a quarter of the squared maximum mean discrepancy.

    Examples
    --------
    >>> from skatter.scatter import domain_scatter
    >>> round(domain_scatter([[0.0], [0.0], [3.0]], ["a", "a", "b"]), 6)
    2.25
    """
    X, geometry = _geometry(X, kernel, gamma, projection)
    domains = read_domains(None, sample_domain, n_samples=X.shape[0])
    return geometry.energy(domain_factor(domains))


def between_class_scatter(
    X: Any,
    y: Any,
    *,
    kernel: Any = "linear",
    gamma: Any = "median",
    projection: Projection | None = None,
) -> float:
    """Scatter of the class means, each counted as often as the class has samples.

    Unlabelled samples are left out.

    Examples
    --------
    >>> from skatter.scatter import between_class_scatter
    >>> round(between_class_scatter([[0.0], [2.0], [4.0]], ["a", "a", "b"]), 6)
    2.0
    """
    X, geometry = _geometry(X, kernel, gamma, projection)
    return measure(geometry, _labelled_view(y, X.shape[0])).between_class


def within_class_scatter(
    X: Any,
    y: Any,
    *,
    kernel: Any = "linear",
    gamma: Any = "median",
    projection: Projection | None = None,
) -> float:
    """Mean squared distance of a labelled sample from its class mean.

    With :func:`between_class_scatter` it adds up to the scatter of the labelled samples.

    Examples
    --------
    >>> from skatter.scatter import within_class_scatter
    >>> round(within_class_scatter([[0.0], [2.0], [4.0]], ["a", "a", "b"]), 6)
    0.666667
    """
    X, geometry = _geometry(X, kernel, gamma, projection)
    return measure(geometry, _labelled_view(y, X.shape[0])).within_class


def conditional_domain_scatter(
    X: Any,
    y: Any,
    sample_domain: Any,
    *,
    kernel: Any = "linear",
    gamma: Any = "median",
    projection: Projection | None = None,
) -> float:
    """Scatter of one class's means over the domains it is labelled in, averaged over classes.

    Zero where every class looks the same in every domain, even if the class shares differ.

    Examples
    --------
    >>> from skatter.scatter import conditional_domain_scatter
    >>> samples, site = [[0.0], [2.0], [9.0]], ["s", "t", "t"]
    >>> round(conditional_domain_scatter(samples, ["a", "a", "b"], site), 6)
    0.5
    """
    X, geometry = _geometry(X, kernel, gamma, projection)
    domains = read_domains(y, sample_domain, n_samples=X.shape[0])
    return geometry.energy(conditional_factor(domains))


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
    projection: Projection | None = None,
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
        Random relabellings for the p-value of "both samples come from one distribution"; 0 for
        none. The p-value counts the observed split, so it is never below
        1/(n_permutations + 1).
    projection : callable or None
        Maps both samples first.
    random_state : int, RandomState instance or None
        Draws the permutations.

    Returns
    -------
    MMD
        ``value`` and ``p_value`` (None without permutations).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> near, far = rng.normal(size=(50, 2)), rng.normal(2.0, size=(40, 2))
    >>> result = mmd(near, far, n_permutations=199, random_state=0)
    >>> result.value > 0.5, result.p_value
    (True, 0.005)
    """
    X, Y = _check(X, "X"), _check(Y, "Y")
    if sparse.issparse(X) != sparse.issparse(Y):
        raise ValueError("X and Y must both be dense or both be sparse.")
    if X.shape[1] != Y.shape[1]:
        raise ValueError(f"X has {X.shape[1]} features and Y has {Y.shape[1]}; give the same ones.")
    n_permutations = check_integer("n_permutations", n_permutations, low=0)
    n_x, n = X.shape[0], X.shape[0] + Y.shape[0]
    if unbiased and min(n_x, n - n_x) < 2:
        raise ValueError("unbiased=True needs at least two samples in X and in Y.")
    both = sparse.vstack([X, Y], format="csr") if sparse.issparse(X) else np.vstack([X, Y])
    if projection is not None:
        both = _check(projection(both), "the projection of X and Y")
    resolved = resolve_kernel(both, kernel, gamma=gamma)
    if resolved.precomputed:
        check_gram(both)
    if resolved.linear and not sparse.issparse(both):
        # A shift changes nothing but the digits that are lost far from the origin.
        both = both - both.mean(axis=0)
    K = gram(both, resolved).astype(np.float64, copy=False)
    observed = _mmd_of_splits(K, np.arange(n)[None, :n_x], unbiased)[0]
    if n_permutations == 0:
        return MMD(float(observed), None)
    rng = check_random_state(random_state)
    splits = np.array([rng.permutation(n)[:n_x] for _ in range(n_permutations)])
    shuffled = _mmd_of_splits(K, splits, unbiased)
    # Splits that only swap equal samples tie with the observed one up to rounding.
    at_least = np.sum(shuffled >= observed - 1e-12 * np.abs(K).max())
    return MMD(float(observed), float((1 + at_least) / (1 + n_permutations)))


def _mmd_of_splits(K: Array, splits: Array, unbiased: bool) -> Array:
    """Squared MMD for many choices of the first sample, given as rows of indices."""
    n, n_x = len(K), splits.shape[1]
    n_y = n - n_x
    member = np.zeros((len(splits), n))
    np.put_along_axis(member, splits, 1.0, axis=1)
    own = np.einsum("si,si->s", member @ K, member)
    sums = member @ K.sum(axis=1)
    inside_x, across, inside_y = own, sums - own, K.sum() - 2 * sums + own
    if not unbiased:
        biased = inside_x / n_x**2 - 2 * across / (n_x * n_y) + inside_y / n_y**2
        return np.maximum(biased, 0.0)
    diagonal = np.diagonal(K)
    inside_x = inside_x - member @ diagonal
    inside_y = inside_y - (1 - member) @ diagonal
    return np.asarray(
        inside_x / (n_x * (n_x - 1)) - 2 * across / (n_x * n_y) + inside_y / (n_y * (n_y - 1))
    )


# --- reading what the user gives ----------------------------------------------------------------


def _check(X: Any, name: str) -> Any:
    return check_array(X, accept_sparse="csr", dtype=list(FLOATS), input_name=name)


def _geometry(
    X: Any, kernel: Any, gamma: Any, projection: Projection | None
) -> tuple[Any, Geometry]:
    X = _check(X, "X") if projection is None else _check(projection(X), "the projection of X")
    resolved: Kernel = resolve_kernel(X, kernel, gamma=gamma)
    if resolved.linear:
        return X, Geometry.of_features(X)
    if resolved.precomputed:
        return X, Geometry.of_gram(check_gram(X))
    return X, Geometry.of_gram(gram(X, resolved))


def _labelled_view(y: Any, n_samples: int) -> Domains:
    domains = read_domains(y, n_samples=n_samples)
    if not domains.n_labelled:
        raise ValueError("y has no labelled sample; a class scatter needs at least one.")
    return domains
