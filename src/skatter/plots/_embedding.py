"""Pictures of a representation: the first two components, coloured by domain or by class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from skatter._checks import check_integer
from skatter.domains import UNLABELLED, Codes, read_domains
from skatter.plots import _canvas as canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

MAX_POINTS = 5_000
_MOST_NAMES = 20  # categories whose names are written among the points
_LONGEST_NAME = 12  # letters of such a name


def plot_embedding(
    Z: Any,
    *,
    colour_by: Any,
    ax: Axes | None = None,
    title: str | None = None,
    max_points: int = MAX_POINTS,
    legend: bool = True,
) -> Axes:
    """Draw the first two columns of ``Z``, one colour per category.

    Points are drawn in a fixed shuffled order, so that no category covers the others only because
    it comes last.

    Parameters
    ----------
    Z : array-like of shape (n_samples, n_components)
        A representation with two columns or more.
    colour_by : array-like of shape (n_samples,)
        One category per sample: domains or classes, at most 40 different ones.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.
    title : str or None
        Title of the panel.
    max_points : int
        Draw at most this many points, chosen at random in the same way on every call; a note in
        the panel says so.
    legend : bool
        List the categories on the right of the panel.

    Returns
    -------
    matplotlib Axes
        The panel; ``ax.figure`` is its figure.

    Examples
    --------
    >>> from skatter.datasets import make_figure1
    >>> data = make_figure1()
    >>> ax = plot_embedding(data.X, colour_by=data.domain, title="two domains")
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['source', 'target']
    """
    Z = _check_points("Z", Z)
    colouring = _categories(colour_by, len(Z))
    shown = rows_to_draw(len(Z), max_points)
    if ax is None:
        beside = canvas.legend_width(colouring.names) if legend else 0.0
        ax = canvas.new_figure(figsize=(max(4.6 + beside, 6), 4.5)).subplots()
    draw_points(ax, Z, colouring, shown)
    ax.set_title(title or "")
    if legend:
        add_legend(ax, colouring)
    if len(shown) < len(Z):
        note = thinning_note(len(shown), len(Z))
        look: dict[str, Any] = {"ha": "right", "va": "bottom", "fontsize": "x-small"}
        ax.text(0.995, 0.005, note, transform=ax.transAxes, color=canvas.QUIET, **look)
    return ax


def plot_before_after(
    before: Any,
    after: Any,
    *,
    domain: Any,
    label: Any,
    title: str | None = None,
    names: tuple[str, str] = ("Before", "After"),
    max_points: int = MAX_POINTS,
) -> Figure:
    """Draw two representations of the same samples side by side, by domain and by class.

    A good adaptation mixes the domains (upper row) and keeps the classes apart (lower row).

    Parameters
    ----------
    before, after : array-like of shape (n_samples, n_components)
        Two representations, two columns or more each; their first two are drawn.
    domain : array-like of shape (n_samples,)
        The domain of every sample.
    label : array-like of shape (n_samples,)
        The class of every sample; unlabelled ones, marked as in ``fit``, are drawn in grey.
    title : str or None
        Title of the whole figure.
    names : tuple of two str
        What the two columns show.
    max_points : int
        Draw at most this many points, the same ones in every panel; a note says so.

    Returns
    -------
    matplotlib Figure
        Four panels: ``before`` and ``after`` in columns, domain and class in rows.

    Examples
    --------
    >>> from skatter.datasets import make_figure1
    >>> data = make_figure1()
    >>> figure = plot_before_after(data.X, -data.X, domain=data.domain, label=data.y)
    >>> [panel.get_title() for panel in figure.axes[:2]]
    ['Before, by domain', 'After, by domain']
    """
    views = [_check_points("before", before), _check_points("after", after)]
    n = len(views[0])
    if len(views[1]) != n:
        raise ValueError(
            f"before has {n} rows and after has {len(views[1])}; give the same samples."
        )
    groups = read_domains(label, domain, n_samples=n)
    colourings = {
        "domain": Colouring.of("domain", groups.domain_ids, groups.domain),
        "class": Colouring.of("label", groups.classes, groups.label),
    }
    shown = rows_to_draw(n, max_points)
    beside = max(canvas.legend_width(colouring.names) for colouring in colourings.values())
    figure = canvas.new_figure(figsize=(max(8.2 + beside, 9.5), 8))
    for row, (what, colouring) in zip(figure.subplots(2, 2), colourings.items(), strict=True):
        for ax, Z, name in zip(row, views, names, strict=True):
            draw_points(ax, Z, colouring, shown)
            ax.set_title(f"{name}, by {what}")
            if what == "class":
                _write_names(ax, Z, colouring)
        # Both panels of a row share their colours and the name of their second axis.
        add_legend(row[1], colouring, title=what)
        row[1].set_ylabel("")
    if title is not None:
        figure.suptitle(title)
    if len(shown) < n:
        canvas.add_note(figure, f"{thinning_note(len(shown), n)}, the same ones in every panel")
    return figure


class Colouring(NamedTuple):
    """Names of the categories, and each sample's index into them, -1 where it has none."""

    names: list[str]
    codes: Codes

    @classmethod
    def of(cls, argument: str, ids: NDArray[Any], codes: NDArray[Any]) -> Colouring:
        """Name the categories, or say that there are too many to tell apart."""
        limit = len(canvas.PALETTE) * len(canvas.MARKERS)
        if len(ids) > limit:
            raise ValueError(
                f"{argument} has {len(ids)} different values, and a picture can tell {limit} "
                "apart. Colour by something coarser."
            )
        return cls([str(i) for i in ids], codes.astype(np.intp))

    def style(self, k: int) -> tuple[str, str]:
        """Colour and marker of one category: a new marker on every round through the colours."""
        if k == UNLABELLED:
            return canvas.UNLABELLED_COLOUR, canvas.MARKERS[0]
        return canvas.PALETTE[k % len(canvas.PALETTE)], canvas.MARKERS[k // len(canvas.PALETTE)]


def _categories(colour_by: Any, n: int) -> Colouring:
    values = np.asarray(colour_by)
    if values.shape != (n,):
        raise ValueError(
            f"colour_by must hold one category per row of Z ({n}), got shape {values.shape}."
        )
    if values.dtype == object:  # may mix types, which do not sort; their names do
        values = values.astype(str)
    return Colouring.of("colour_by", *np.unique(values, return_inverse=True))


def _check_points(name: str, Z: Any) -> NDArray[Any]:
    points: NDArray[Any] = check_array(Z, ensure_min_features=2, input_name=name)
    return points[:, :2]


def rows_to_draw(n: int, max_points: int) -> Codes:
    """Rows to draw, in the order to draw them: the same for the same n, whatever the data."""
    size = check_integer("max_points", max_points, low=1)
    return np.random.default_rng(0).permutation(n)[:size].astype(np.intp)


def thinning_note(n_shown: int, n: int) -> str:
    return f"{n_shown:,} of {n:,} points drawn"


def draw_points(ax: Axes, Z: NDArray[Any], colouring: Colouring, shown: Codes) -> None:
    styles = [colouring.style(int(k)) for k in colouring.codes[shown]]
    # One collection per marker and not per category: categories of one marker interleave.
    for marker in sorted({marker for _, marker in styles}):
        own = [i for i, style in enumerate(styles) if style[1] == marker]
        colours = [styles[i][0] for i in own]
        x, y = Z[shown[own]].T
        ax.scatter(x, y, c=colours, marker=marker, s=8, alpha=0.7, linewidths=0)
    ax.set(xlabel="component 1", ylabel="component 2")
    canvas.quieten(ax)


def _write_names(ax: Axes, Z: NDArray[Any], colouring: Colouring) -> None:
    """Write every category's name at the median of its points: colours alone are hard to tell.

    Names that are many or long would hide the points; the legend has them.
    """
    from matplotlib.patheffects import withStroke

    names = canvas.short_names(colouring.names)
    if len(names) > _MOST_NAMES or max(map(len, names), default=0) > _LONGEST_NAME:
        return
    for k, name in enumerate(names):
        x, y = np.median(Z[colouring.codes == k], axis=0)
        text = ax.text(x, y, name, weight="bold", ha="center", va="center")
        text.set_path_effects([withStroke(linewidth=3, foreground="white")])


def add_legend(place: Axes | SubFigure, colouring: Colouring, title: str | None = None) -> None:
    from matplotlib.lines import Line2D

    listed = list(enumerate(colouring.names))
    if (colouring.codes == UNLABELLED).any():
        listed.append((UNLABELLED, "unlabelled"))
    looks = (colouring.style(k) for k, _ in listed)
    handles = [Line2D([], [], linestyle="", color=c, marker=marker) for c, marker in looks]
    canvas.legend_beside(place, handles, [name for _, name in listed], title)
