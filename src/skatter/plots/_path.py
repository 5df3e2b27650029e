"""The path of SCA along β and δ: embeddings as small multiples, and lines of the scatters.

One Gram matrix, one factorisation and one Krylov space serve all settings
(:class:`skatter.selection._folds.FoldSolver`), so that a path costs little more than one fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from skatter._checks import check_choice, check_real
from skatter._tensors import Array
from skatter.domains import Domains
from skatter.plots import _canvas as canvas
from skatter.plots._embedding import Colouring, add_legend, draw_points, rows_to_draw, thinning_note
from skatter.plots._scatters import MEASURES
from skatter.sca import SCA, beta_of
from skatter.scatter import Geometry, Scatters, measure
from skatter.selection._folds import FoldSolver

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure


BETAS = (0.0, 0.1, 0.3, 0.6, 1.0)
DELTAS = (0.0, 0.01, 0.1, 1.0)
MAX_POINTS = 1_500
_MOST = 8  # settings of one kind that a figure has room for
_SIDE = 1.75  # inches of a small panel
_LINES = tuple(canvas.PALETTE[k] for k in (2, 1, 0, 9))  # far apart in lightness too


@dataclass(frozen=True, eq=False)
class Path:
    """SCA solved for every pair of β and δ.

    Attributes
    ----------
    betas, deltas : tuple of float
        The settings, increasing.
    n_components : int
        Components that the scatters are measured in.
    embeddings : dict from (β, δ) to ndarray of shape (n_samples, 2)
        First two components; the second is zero where there is one only. The sign of each is that
        with which it follows the setting beside it.
    scatters : dict from (β, δ) to Scatters
        Of the projections.
    domains : Domains
        Domains and labels of the samples.
    """

    betas: tuple[float, ...]
    deltas: tuple[float, ...]
    n_components: int
    embeddings: dict[tuple[float, float], Array]
    scatters: dict[tuple[float, float], Scatters]
    domains: Domains

    def shares(self, name: str, settings: Sequence[tuple[float, float]]) -> list[float]:
        """Return a scatter over the total one along some settings; NaN where that is zero."""
        found = [self.scatters[setting] for setting in settings]
        return [s.share(name) if s.total > 0 else np.nan for s in found]


def solve_path(
    X: Any,
    y: Any,
    sample_domain: Any = None,
    *,
    labelled: Any = None,
    estimator: SCA | None = None,
    betas: Sequence[float] = BETAS,
    deltas: Sequence[float] = DELTAS,
) -> Path:
    """Solve SCA for every pair of β and δ, from one Gram matrix and one Krylov space.

    Takes what :func:`plot_path` takes.

    Returns
    -------
    Path
        Embeddings and scatters of all settings.

    Examples
    --------
    >>> from skatter.datasets import make_figure1
    >>> from skatter.plots import solve_path
    >>> data = make_figure1()
    >>> path = solve_path(data.X, data.y, data.domain, betas=[0.1, 0.5], deltas=[0, 1])
    >>> path.embeddings[0.5, 1.0].shape, sorted(path.scatters)
    ((300, 2), [(0.1, 0.0), (0.1, 1.0), (0.5, 0.0), (0.5, 1.0)])
    """
    if not (estimator is None or type(estimator) is SCA):
        raise TypeError(f"estimator must be an SCA, got {type(estimator).__name__}.")
    template = SCA() if estimator is None else clone(estimator)
    checked = _values("betas", betas, high=1.0), _values("deltas", deltas)
    X, domains = template.read(X, y, sample_domain, labelled)
    k = min(template.n_wanted(domains), domains.n_samples - 1)
    settings = list(product(*checked))
    solved = FoldSolver(template, X, domains).solve(domains, settings, max(k, 2))
    embeddings, scatters = {}, {}
    for setting, (Z, _) in zip(settings, solved, strict=True):
        embeddings[setting] = np.column_stack([Z, np.zeros(len(Z))])[:, :2]
        scatters[setting] = measure(Geometry.of_features(Z[:, :k]), domains)
    _follow(embeddings, *checked)
    return Path(*checked, k, embeddings, scatters, domains)


def plot_path(
    X: Any,
    y: Any,
    sample_domain: Any = None,
    *,
    labelled: Any = None,
    estimator: SCA | None = None,
    betas: Sequence[float] = BETAS,
    deltas: Sequence[float] = DELTAS,
    colour_by: str = "domain",
    max_points: int = MAX_POINTS,
    title: str | None = None,
) -> Figure:
    """Draw how the components of SCA change with β and δ.

    Small panels show the first two components of each setting, β from left to right and δ from top
    to bottom, each on a scale of its own. Below them lines show the scatters of all components as
    shares of the total scatter: along β for one δ, and along δ for one β, those of ``estimator``
    where they are among the settings. The panel of that setting has a dark frame.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        All samples, labelled or not.
    y : array-like of shape (n_samples,)
        Classes; -1, NaN or None where unknown.
    sample_domain : array-like of shape (n_samples,) or None
        Domain of each sample. None: labelled samples are one domain and unlabelled ones another.
    labelled : array-like of bool of shape (n_samples,) or None
        Which labels to use; wins over the marks in ``y``.
    estimator : SCA or None
        Everything but β and δ; None is ``SCA()``. It need not be fitted, and stays as it is.
    betas, deltas : sequence of float
        Settings, at most eight of each.
    colour_by : "domain" or "class"
        What the points are coloured by.
    max_points : int
        Draw at most this many points, the same ones in every panel; a note says so.
    title : str or None
        Title of the whole figure.

    Returns
    -------
    matplotlib Figure
        The small panels first, row by row, then the two panels of lines.

    Examples
    --------
    >>> from skatter.datasets import make_figure1
    >>> from skatter.plots import plot_path
    >>> data = make_figure1()
    >>> figure = plot_path(data.X, data.y, data.domain, betas=[0, 0.1, 1], deltas=[0, 1])
    >>> len(figure.axes)
    8
    """
    check_choice("colour_by", colour_by, ("domain", "class"))
    template = SCA() if estimator is None else estimator
    path = solve_path(
        X, y, sample_domain, labelled=labelled, estimator=template, betas=betas, deltas=deltas
    )
    groups = path.domains
    colouring = (
        Colouring.of("sample_domain", groups.domain_ids, groups.domain)
        if colour_by == "domain"
        else Colouring.of("y", groups.classes, groups.label)
    )
    own = _own_setting(path, template)
    shown = rows_to_draw(groups.n_samples, max_points)
    side = _SIDE * max(1.0, 3 / len(path.betas))
    heights = [side * len(path.deltas) + 0.6, 2.9]
    width = side * len(path.betas) + 0.6 + max(canvas.legend_width(colouring.names), 1.5)
    figure = canvas.new_figure(figsize=(max(width, 7.5), sum(heights)))
    grid = figure.add_gridspec(2, 1, height_ratios=heights)
    above = figure.add_subfigure(grid[0])
    _draw_grid(above, path, own, colouring, shown)
    _draw_lines(figure.add_subfigure(grid[1]), path, own)
    if title is not None:
        figure.suptitle(title)
    note = "First two components, every panel on a scale of its own"
    if len(shown) < groups.n_samples:
        note += f"; {thinning_note(len(shown), groups.n_samples)}, the same ones in every panel"
    canvas.add_note(above, note)
    return figure


def _values(name: str, values: Sequence[float], high: float = np.inf) -> tuple[float, ...]:
    if np.ndim(values) != 1 or not 1 <= len(values) <= _MOST:
        raise ValueError(f"{name} must be a list of one to {_MOST} numbers, got {values!r}.")
    return tuple(sorted({check_real(name, value, low=0, high=high) for value in values}))


def _follow(
    embeddings: dict[tuple[float, float], Array], betas: Sequence[float], deltas: Sequence[float]
) -> None:
    """Turn components that point the other way than in the setting before; signs mean nothing."""
    for (d, delta), (b, beta) in product(enumerate(deltas), enumerate(betas)):
        if b or d:
            before = embeddings[(betas[b - 1], delta) if b else (beta, deltas[d - 1])]
            along = np.sum(before * embeddings[beta, delta], axis=0)
            embeddings[beta, delta] *= np.where(along < 0, -1, 1)


def _own_setting(path: Path, estimator: SCA) -> tuple[float, float]:
    """Return the estimator's β and δ, or the middle ones where the path does not pass there."""
    beta = beta_of(estimator)
    beta = beta if beta in path.betas else path.betas[len(path.betas) // 2]
    middle = path.deltas[len(path.deltas) // 2]
    return beta, estimator.delta if estimator.delta in path.deltas else middle


def _draw_grid(
    figure: SubFigure, path: Path, own: tuple[float, float], colouring: Colouring, shown: Any
) -> None:
    axes = figure.subplots(len(path.deltas), len(path.betas), squeeze=False)
    for (d, delta), (b, beta) in product(enumerate(path.deltas), enumerate(path.betas)):
        ax, Z = axes[d, b], path.embeddings[beta, delta]
        draw_points(ax, Z, colouring, shown)
        ax.set(xlabel="", ylabel="", xticks=[], yticks=[])
        if (beta, delta) == own:
            ax.spines[:].set(color="0.15", linewidth=1.6)
        if d == 0:
            ax.set_title(f"β = {beta:g}", fontsize="medium")
        if b == 0:
            ax.set_ylabel(f"δ = {delta:g}", fontsize="medium")
    add_legend(figure, colouring)


def _draw_lines(figure: SubFigure, path: Path, own: tuple[float, float]) -> None:
    """Draw a line for each scatter that these samples have; settings stand at equal distances."""
    axes = figure.subplots(1, 2, sharey=True)
    beta, delta = own
    found = path.scatters.values()
    there = [each for each in MEASURES if any(getattr(s, each.name) > 0 for s in found)]
    along_beta, along_delta = [(b, delta) for b in path.betas], [(beta, d) for d in path.deltas]
    for ax, settings, values, value in (
        (axes[0], along_beta, path.betas, beta),
        (axes[1], along_delta, path.deltas, delta),
    ):
        for each in there:
            k = MEASURES.index(each)
            shares = path.shares(each.name, settings)
            ax.plot(shares, color=_LINES[k], marker=canvas.MARKERS[k], markersize=5, linewidth=1.8)
        ax.set_xticks(range(len(values)), [f"{value:g}" for value in values])
        canvas.count_in_percent(ax.yaxis)
        canvas.open_frame(ax, grid="y")
        place = values.index(value)
        ax.axvline(place, color=canvas.AFTER_COLOUR, linewidth=6, alpha=0.12, zorder=0)
        ax.set_xlim(-0.3, len(values) - 0.7)
    axes[0].set(xlabel=f"β, with δ = {delta:g}", ylabel="share of the total scatter")
    axes[1].set(xlabel=f"δ, with β = {beta:g}")
    names = [each.words for each in there]
    canvas.legend_beside(figure, axes[1].lines[: len(names)], names, title="scatter")
