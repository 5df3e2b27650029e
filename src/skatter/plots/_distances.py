"""How far domains lie apart: a heat map of maximum mean discrepancies."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from skatter._checks import check_integer, check_table
from skatter._tensors import Array
from skatter.domains import Codes, Domains, read_domains
from skatter.kernels import check_gram, gram, resolve_kernel
from skatter.plots._canvas import QUIET, new_figure, quieten, short_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


MAX_SAMPLES = 3_000
_NUMBERED = 20  # domains up to which a cell has room for its number
_TURNED: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
_DARK = 0.55  # lightness below which white text is read best


def domain_distances(
    X: Any,
    sample_domain: Any,
    *,
    kernel: Any = "rbf",
    gamma: Any = "median",
    max_samples: int | None = MAX_SAMPLES,
) -> tuple[Array, Array]:
    """Return how far the domains lie apart: the maximum mean discrepancy of every two.

    It is the distance of the domains' means in the feature space of the kernel. Its square is
    estimated without bias, so that two samples of one distribution have a distance near zero
    however small they are; what falls below zero is taken for zero. One kernel, with one
    bandwidth, serves all domains.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Samples of two domains or more, at least two of each.
    sample_domain : array-like of shape (n_samples,)
        The domain of every sample.
    kernel, gamma : str or callable, "median", "printed", float or None
        Feature space; see :func:`skatter.kernels.resolve_kernel`.
    max_samples : int or None
        Measure on at most this many samples, shared out evenly between the domains and drawn in
        the same way on every call. None: on all of them.

    Returns
    -------
    domain_ids : ndarray of shape (n_domains,)
        The domains, sorted.
    distances : ndarray of shape (n_domains, n_domains)
        Their distances; symmetric, zero on the diagonal. With the Gaussian kernel they lie between
        0 and √2.

    Examples
    --------
    >>> from skatter.datasets import make_figure1
    >>> from skatter.plots import domain_distances
    >>> data = make_figure1()
    >>> ids, distances = domain_distances(data.X, data.domain)
    >>> ids.tolist(), distances.shape
    (['source', 'target'], (2, 2))
    """
    X = check_table(X, "X")
    domains = _check_domains(sample_domain, X.shape[0])
    rows = _draw(domains, max_samples)
    K = _gram(X, rows, kernel, gamma)
    return domains.domain_ids, _distances(np.asarray(K, dtype=float), domains.take(rows))


def plot_domain_distances(
    X: Any,
    sample_domain: Any,
    *,
    after: Any = None,
    distances: bool = False,
    names: tuple[str, str] = ("Before", "After"),
    kernel: Any = "rbf",
    gamma: Any = "median",
    max_samples: int | None = MAX_SAMPLES,
    title: str | None = None,
) -> Figure:
    """Draw how far the domains lie apart, as a heat map with the numbers in its cells.

    Distances are maximum mean discrepancies (:func:`domain_distances`). Where two representations
    are given, both maps share one scale of colours, and paler is nearer. The Gaussian kernel looks
    at whole distributions and not only at means: labelled samples, which SCA draws together around
    the means of their classes, may end up further from unlabelled ones although the means of the
    domains came together. ``plot_scatters`` shows the latter.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features) or (n_domains, n_domains)
        Samples; with ``distances=True`` the distances themselves.
    sample_domain : array-like of shape (n_samples,) or (n_domains,)
        The domain of every row of ``X``.
    after : array-like or None
        A second representation of the same samples, or a second table of distances.
    distances : bool
        Whether ``X`` and ``after`` are distances.
    names : tuple of two str
        What the two maps show.
    kernel, gamma, max_samples
        As in :func:`domain_distances`; bandwidths are chosen for each representation.
    title : str or None
        Title of the whole figure.

    Returns
    -------
    matplotlib Figure
        One map, or two side by side.

    Examples
    --------
    >>> from skatter import SCA
    >>> from skatter.datasets import make_figure1
    >>> from skatter.plots import plot_domain_distances
    >>> data = make_figure1()
    >>> Z = SCA(n_components=2).fit_transform(data.X, data.y, sample_domain=data.domain)
    >>> figure = plot_domain_distances(data.X, data.domain, after=Z)
    >>> [panel.get_title() for panel in figure.axes[:2]]
    ['Before', 'After']
    """
    options = {"kernel": kernel, "gamma": gamma, "max_samples": max_samples}
    ids, maps = np.asarray(sample_domain), []
    for table in [X] if after is None else [X, after]:
        if distances:
            maps.append(_check_distances(table, len(ids)))
        else:
            ids, found = domain_distances(table, sample_domain, **options)
            maps.append(found)
    side = min(max(0.52 * len(ids), 2.2), 8.0)  # cells can hold a number
    figure = new_figure(figsize=(len(maps) * side + 2.6, side + 1.6))
    axes = figure.subplots(1, len(maps), squeeze=False, sharey=True)[0]
    highest = max(float(table.max()) for table in maps) or 1.0
    for ax, table, name in zip(axes, maps, names, strict=False):
        _draw_map(ax, table, short_names(ids), highest)
        ax.set_title(name if after is not None else "")
    bar = figure.colorbar(axes[0].images[0], ax=list(axes), shrink=0.8, aspect=30, pad=0.02)
    bar.set_label("maximum mean discrepancy", fontsize="small", color=QUIET)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize="small", colors=QUIET)
    if title is not None:
        figure.suptitle(title)
    return figure


def _check_domains(sample_domain: Any, n_samples: int) -> Domains:
    domains = read_domains(None, sample_domain, n_samples=n_samples)
    if domains.n_domains < 2:
        raise ValueError("sample_domain holds one domain; distances need two or more.")
    few = np.flatnonzero(domains.domain_counts < 2)
    if len(few):
        raise ValueError(
            f"sample_domain has one sample of domain {domains.domain_ids[few[0]]!s}; every domain "
            "needs two or more."
        )
    return domains


def _check_distances(table: Any, n_domains: int) -> Array:
    found = np.asarray(table, dtype=float)
    if found.shape != (n_domains, n_domains) or n_domains < 2:
        raise ValueError(
            f"With distances=True X and after must have a row and a column for each of the "
            f"{n_domains} domains, two at least; got shape {found.shape}."
        )
    if not (np.isfinite(found).all() and (found >= 0).all() and np.allclose(found, found.T)):
        raise ValueError("Distances must be finite, not negative and symmetric.")
    return found


def _draw(domains: Domains, max_samples: int | None) -> Codes:
    if max_samples is None:
        return np.arange(domains.n_samples)
    most = check_integer("max_samples", max_samples, low=2 * domains.n_domains)
    mixed = np.random.default_rng(0).permutation(domains.n_samples)
    parts = [mixed[domains.domain[mixed] == d] for d in range(domains.n_domains)]
    return np.sort(np.concatenate([part[: most // domains.n_domains] for part in parts]))


def _gram(X: Any, rows: Codes, kernel: Any, gamma: Any) -> Any:
    if isinstance(kernel, str) and kernel == "precomputed":
        return check_gram(X)[np.ix_(rows, rows)]
    X = X[rows]
    resolved = resolve_kernel(X, kernel, gamma=gamma)
    if resolved.linear and not sparse.issparse(X):
        # A shift changes nothing but the digits that are lost far from the origin.
        X = X - X.mean(axis=0)
    return gram(X, resolved)


def _distances(K: Array, domains: Domains) -> Array:
    """Return ‖μ_a − μ_b‖ for every two domains, the square estimated without the diagonal of K."""
    member = np.eye(domains.n_domains)[domains.domain]
    sizes = domains.domain_counts.astype(float)
    sums = member.T @ K @ member
    inside = (np.diagonal(sums) - np.diagonal(K) @ member) / (sizes * (sizes - 1))
    squared = inside[:, None] + inside[None, :] - 2 * sums / np.outer(sizes, sizes)
    np.fill_diagonal(squared, 0.0)
    return np.sqrt(np.maximum(squared, 0.0))


def _draw_map(ax: Axes, table: Array, names: list[str], highest: float) -> None:
    n = len(table)
    shown = np.ma.masked_array(table, mask=np.eye(n, dtype=bool))
    image = ax.imshow(shown, cmap="Blues", vmin=0.0, vmax=highest)  # grey print keeps the order
    ax.set_facecolor("0.95")
    upright = max(map(len, names)) <= 60 // n
    ax.set_xticks(range(n), names, **({} if upright else _TURNED))
    ax.set_yticks(range(n), names)
    quieten(ax)
    ax.tick_params(length=0, colors="0.15")
    ax.spines[:].set_visible(False)
    # White lines between the cells.
    ax.set_xticks(np.arange(n - 1) + 0.5, minor=True)
    ax.set_yticks(np.arange(n - 1) + 0.5, minor=True)
    ax.grid(which="minor", color="white", linewidth=1.5)
    ax.tick_params(which="minor", length=0)
    size = "medium" if n <= 6 else "small" if n <= 12 else "x-small"
    for a, b in permutations(range(n), 2) if n <= _NUMBERED else ():
        red, green, blue, _ = image.cmap(image.norm(table[a, b]))
        dark = 0.299 * red + 0.587 * green + 0.114 * blue < _DARK
        colour = "white" if dark else "0.1"
        ax.text(b, a, f"{table[a, b]:.2f}", ha="center", va="center", fontsize=size, color=colour)
