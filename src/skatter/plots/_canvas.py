"""What all pictures share: colours, figures without pyplot, quiet axes, names that fit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal

from skatter._extras import need
from skatter._formatting import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure, SubFigure

# Ten colours that stay apart under colour-vision deficiencies: M. A. Petroff, Accessible Color
# Sequences for Data Visualization, arXiv:2107.02270, with black for the lighter of its two greys.
PALETTE = (
    "#3f90da",
    "#ffa90e",
    "#bd1f01",
    "#832db6",
    "#92dadd",
    "#a96b59",
    "#e76300",
    "#b9ac70",
    "#717581",
    "#1a1a1a",
)
MARKERS = "o^sD"
UNLABELLED_COLOUR = "#cccccc"
BEFORE_COLOUR = "#c3c9d3"
AFTER_COLOUR = "#1f5c99"
"""Of what was before and what is after: far apart in lightness, so that print keeps them apart."""
QUIET = "0.4"  # grey for what must be there and not catch the eye
FRAME = "0.8"  # grey for lines around and behind what is drawn
LONGEST_NAME = 24  # letters of a name that a picture has room for
_ROWS = 20  # of a legend, before it takes another column


def new_figure(figsize: tuple[float, float]) -> Figure:
    """Return a figure that lays itself out and that no session keeps."""
    need("matplotlib.figure", 'Pictures need matplotlib: pip install "skatter[plot]"')
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    return Figure(figsize=figsize, layout=ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.1))


def quieten(ax: Axes) -> None:
    """Put ticks and frame in grey: the data speak."""
    ax.tick_params(labelsize="small", colors=QUIET)
    ax.spines[:].set_color(FRAME)


def open_frame(ax: Axes, *, grid: Literal["x", "y", "both"] | None = None) -> None:
    """Leave away the frame where nothing is read off it; draw quiet lines where values are."""
    quieten(ax)
    ax.spines[["top", "right"]].set_visible(False)
    if grid is not None:
        ax.grid(axis=grid, color=FRAME, linewidth=0.5)
        ax.set_axisbelow(True)


def count_in_percent(axis: Axis) -> None:
    from matplotlib.ticker import FuncFormatter

    axis.set_major_formatter(FuncFormatter(lambda share, _: f"{round(100 * share, 6):g} %"))


def count_in_integers(axis: Axis) -> None:
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))


def write_title(ax: Axes, title: str, note: str = "") -> None:
    ax.set_title(title, loc="left", pad=22 if note else 8, fontsize="large")
    if note:
        look: dict[str, Any] = {"fontsize": "small", "color": QUIET}
        above: dict[str, Any] = {"xytext": (0, 6), "textcoords": "offset points"}
        ax.annotate(note, (0, 1), xycoords="axes fraction", **above, **look)


def add_note(figure: Figure | SubFigure, *notes: str) -> None:
    letters = int(14 * figure.bbox.width / figure.dpi)
    lines = [fill(note, letters, break_long_words=False) for note in notes]
    figure.supxlabel("\n".join(lines), fontsize="small", color=QUIET)


def legend_beside(
    place: Axes | SubFigure, handles: Sequence[Any], names: Sequence[str], title: str | None = None
) -> None:
    beside: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
    if not hasattr(place, "spines"):
        beside = {"loc": "outside right center"}
    look: dict[str, Any] = {"fontsize": "small", "title_fontsize": "small", "handletextpad": 0.4}
    look |= {"alignment": "left", "frameon": False, "ncols": _columns(names)}
    numbers = [str(k) for k in range(len(names))]
    legend = place.legend(handles, numbers, title=title, **look, **beside)
    # Names come second: a legend leaves out whoever starts with an underscore.
    for text, name in zip(legend.get_texts(), short_names(names), strict=True):
        text.set_text(name)


def legend_width(names: Sequence[str]) -> float:
    return _columns(names) * (0.35 + 0.085 * max(map(len, short_names(names)), default=0))


def _columns(names: Sequence[str]) -> int:
    return -(-len(names) // _ROWS)


def short_names(names: Iterable[Any], most: int = LONGEST_NAME) -> list[str]:
    """Return names of so many letters at most, as text that matplotlib takes for nothing else.

    Of long names that part is left out without which they still differ: the end, else the middle,
    else the beginning.
    """
    lines = [" ".join(str(name).split()) for name in names]
    half = (most - 1) // 2
    cuts = (slice(most - 1, None), slice(half, -half), slice(None, 1 - most))
    tried = [[_cut(line, cut, most) for line in lines] for cut in cuts]
    best = max(tried, key=lambda shortened: len(set(shortened)))
    return [printable(line).replace("$", r"\$") for line in best]


def _cut(line: str, cut: slice, most: int) -> str:
    if len(line) <= most:
        return line
    start, stop, _ = cut.indices(len(line))
    return f"{line[:start].rstrip()}…{line[stop:].lstrip()}"
