"""The five scatters as measures: functions of samples, labels and domains."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from skatter._checks import check_table
from skatter._tensors import Array
from skatter.domains import Domains, read_domains
from skatter.kernels import check_gram, gram, resolve_kernel
from skatter.scatter._factors import conditional_factor, domain_factor, indicator_means
from skatter.scatter._geometry import Geometry, measure

Projection = Callable[[Any], Array] | None


def scatter(
    X: Any,
    *,
    sample_weight: Any = None,
    kernel: Any = "linear",
    gamma: Any = "median",
    projection: Projection = None,
) -> float:
    """Scatter of one sample, Ψ = E‖μ − φ(x)‖²: mean squared distance from the centroid.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The sample, or its Gram matrix with ``kernel="precomputed"``.
    sample_weight : array-like of shape (n_samples,) or None
        Weights, scaled to sum to one; None for equal ones.
    kernel : str or callable
        ``"linear"`` measures in input space, where the scatter is the trace of the covariance
        matrix (1/n), any other kernel in its feature space.
    gamma : "median", "printed", float or None
        Bandwidth, as in :func:`skatter.kernels.resolve_kernel`.
    projection : callable or None
        Maps X first, e.g. ``fitted_sca.transform``.

    Examples
    --------
    >>> from skatter.scatter import scatter
    >>> scatter([[0.0], [2.0]])
    1.0
    """
    if sample_weight is None:
        X, geometry = _read_geometry(X, kernel, gamma, projection)
        return _pooled(geometry, np.full(X.shape[0], 1 / X.shape[0]))
    X = _read_samples(X, projection)
    weights = _check_weights(sample_weight, X.shape[0])
    counted = np.flatnonzero(weights)
    X = X[np.ix_(counted, counted)] if kernel == "precomputed" else X[counted]
    _, geometry = _read_geometry(X, kernel, gamma, None)
    return _pooled(geometry, weights[counted])


def total_scatter(
    X: Any,
    sample_domain: Any = None,
    *,
    kernel: Any = "linear",
    gamma: Any = "median",
    projection: Projection = None,
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
    X, geometry = _read_geometry(X, kernel, gamma, projection)
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
    projection: Projection = None,
) -> float:
    """Scatter of the domain means, Ψ({μ_1, …, μ_m}), every domain counted once.

    For two domains it is a quarter of the squared maximum mean discrepancy.

    Examples
    --------
    >>> from skatter.scatter import domain_scatter
    >>> round(domain_scatter([[0.0], [0.0], [3.0]], ["a", "a", "b"]), 6)
    2.25
    """
    X, geometry = _read_geometry(X, kernel, gamma, projection)
    domains = read_domains(None, sample_domain, n_samples=X.shape[0])
    return geometry.energy(domain_factor(domains))


def between_class_scatter(
    X: Any, y: Any, *, kernel: Any = "linear", gamma: Any = "median", projection: Projection = None
) -> float:
    """Scatter of the class means, each counted as often as the class has samples.

    Unlabelled samples are left out.

    Examples
    --------
    >>> from skatter.scatter import between_class_scatter
    >>> round(between_class_scatter([[0.0], [2.0], [4.0]], ["a", "a", "b"]), 6)
    2.0
    """
    X, geometry = _read_geometry(X, kernel, gamma, projection)
    return measure(geometry, _labelled_view(y, X.shape[0])).between_class


def within_class_scatter(
    X: Any, y: Any, *, kernel: Any = "linear", gamma: Any = "median", projection: Projection = None
) -> float:
    """Mean squared distance of a labelled sample from its class mean.

    With :func:`between_class_scatter` it adds up to the scatter of the labelled samples.

    Examples
    --------
    >>> from skatter.scatter import within_class_scatter
    >>> round(within_class_scatter([[0.0], [2.0], [4.0]], ["a", "a", "b"]), 6)
    0.666667
    """
    X, geometry = _read_geometry(X, kernel, gamma, projection)
    return measure(geometry, _labelled_view(y, X.shape[0])).within_class


def conditional_domain_scatter(
    X: Any,
    y: Any,
    sample_domain: Any,
    *,
    kernel: Any = "linear",
    gamma: Any = "median",
    projection: Projection = None,
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
    X, geometry = _read_geometry(X, kernel, gamma, projection)
    domains = read_domains(y, sample_domain, n_samples=X.shape[0])
    return geometry.energy(conditional_factor(domains))


def _pooled(geometry: Geometry, weights: Array) -> float:
    """Scatter of a weighted sample: Σ w_i ‖φ_i‖² − ‖Σ w_i φ_i‖², weights summing to one."""
    spread = float(weights @ geometry.squared_norms) - geometry.energy(weights[:, None])
    return max(spread, 0.0)


def _read_samples(X: Any, projection: Projection) -> Any:
    """Check samples, or what a projection makes of them."""
    if projection is None:
        return check_table(X, "X")
    return check_table(projection(X), "the projection of X")


def _read_geometry(X: Any, kernel: Any, gamma: Any, projection: Projection) -> tuple[Any, Geometry]:
    """Return the samples, projected where asked, and the geometry of their feature space."""
    X = _read_samples(X, projection)
    resolved = resolve_kernel(X, kernel, gamma=gamma)
    if resolved.linear:
        return X, Geometry.of_features(X)
    return X, Geometry.of_gram(check_gram(X) if resolved.precomputed else gram(X, resolved))


def _labelled_view(y: Any, n_samples: int) -> Domains:
    domains = read_domains(y, n_samples=n_samples)
    if not domains.n_labelled:
        raise ValueError("y has no labelled sample; a class scatter needs at least one.")
    return domains


def _check_weights(sample_weight: Any, n_samples: int) -> Array:
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
