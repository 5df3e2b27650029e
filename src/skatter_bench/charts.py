"""Charts: ranks, accuracy against time, the paper's two figures, and all of them as inline SVG.

:func:`drawings_of` says which charts show a suite. As in :mod:`skatter.plots`, figures are made
without pyplot, and matplotlib is imported when a chart is drawn, never before.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from skatter._pages import page_colour
from skatter.plots._canvas import MARKERS, PALETTE, QUIET, add_note, new_figure, open_frame
from skatter_bench.contestants import CLASSIFIER_NAMES, RAW, Contestant
from skatter_bench.protocols import PROTOCOLS, TARGET, TARGET_ORACLE, split
from skatter_bench.published import Published, published
from skatter_bench.ranks import Ranking, rank
from skatter_bench.results import Outcome
from skatter_bench.scoring import seen_labels
from skatter_bench.suites import Suite
from skatter_bench.tasks import load_problem
from skatter_bench.views import AVERAGE, accuracy_matrix, accuracy_table, by_group, is_collection

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox

Averages = dict[tuple[str, str], float]  # by contestant and classifier
HIGHLIGHT = ("sca", "sca-printed")  # contestants that are written in colour
FIGURE2_CLASSIFIERS = ("svm", "dam")
_ACCENT = PALETTE[2]


# --- which charts show a suite ------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Drawing:
    """A figure, a short name fit for a file, and the words that stand over and under it."""

    name: str
    title: str
    caption: str
    figure: Figure


def figures_of(
    suite: Suite, outcomes: Sequence[Outcome], rows: Sequence[Contestant], data_home: str | None
) -> dict[str, Figure]:
    """Return the figures of a suite by name, for outcomes of one protocol; none where too few."""
    if suite.kind == "synthetic":
        panels = list(panels_of(suite, outcomes, rows, data_home))
        return {"panels": draw_figure1(panels)} if panels else {}
    return {drawing.name: drawing.figure for drawing in drawings_of(suite, outcomes)}


def drawings_of(suite: Suite, outcomes: Sequence[Outcome]) -> Iterator[Drawing]:
    """Draw ranks, accuracy against time and gains (figure 2), for outcomes of one protocol."""
    if suite.kind != "accuracy" or not outcomes:
        return
    # Dollar signs in names are not to be read as formulas.
    plain = [
        replace(each, label=each.label.replace("$", r"\$"), group=each.group.replace("$", r"\$"))
        for each in outcomes
    ]
    shown = [each for each in plain if each.classifier in FIGURE2_CLASSIFIERS]
    raw = {(each.group, each.classifier) for each in shown if each.contestant == RAW}
    if suite.published == "table4" and raw and raw == {(o.group, o.classifier) for o in shown}:
        words = "What features gain over raw samples with the same classifier, in points of "
        yield Drawing("gains", "Gains over raw samples", f"{words}accuracy.", draw_figure2(shown))
    if is_collection(plain):
        yield from _ranks(plain, "ranks", " Each set counts once.")
        return
    groups = by_group(plain)
    for i, (group, own) in enumerate(groups.items(), start=1):
        of, mark = (f" {group}.", f"-{i}") if len(groups) > 1 else ("", "")
        yield from _ranks(own, f"ranks{mark}", of)
        yield from _times(own, f"time{mark}", of)


def _ranks(outcomes: Sequence[Outcome], name: str, of: str) -> Iterator[Drawing]:
    accuracies, labels = accuracy_matrix(outcomes)
    complete = ~np.isnan(accuracies).any(axis=0)
    if len(accuracies) < 2 or complete.sum() < 3:
        return  # nothing to rank by, or nobody to rank
    words = f"Mean ranks over the tasks.{of} Methods under one bar do not differ by more than luck."
    marked = _highlighted(outcomes)
    figure = critical_difference_diagram(rank(accuracies, labels), highlight=marked)
    yield Drawing(name, "Mean ranks", words, figure)


def _times(outcomes: Sequence[Outcome], name: str, of: str) -> Iterator[Drawing]:
    timed = [each for each in outcomes if each.error or math.isfinite(each.seconds)]
    if timed and not np.isnan(accuracy_matrix(timed)[0]).any(axis=0).all():
        words = (
            f"Average accuracy against CPU seconds of all folds and settings.{of} Nothing beats "
            "the line in both."
        )
        figure = accuracy_against_time(timed, highlight=_highlighted(timed))
        yield Drawing(name, "Accuracy against time", words, figure)


def _highlighted(outcomes: Sequence[Outcome]) -> list[str]:
    return list(dict.fromkeys(o.label for o in outcomes if o.contestant in HIGHLIGHT))


def panels_of(
    suite: Suite, outcomes: Sequence[Outcome], rows: Sequence[Contestant], data_home: str | None
) -> Iterator[Panel]:
    """Fit every contestant of a synthetic suite once more, with its chosen setting, to draw it."""
    problem = load_problem(suite.tasks[0], data_home)
    known = {row.label: row for row in rows}
    order = suite.methods or tuple(row.name for row in rows)
    drawn = (each for each in outcomes if each.classifier == "1nn" and not each.error)
    for outcome in sorted(drawn, key=lambda each: order.index(each.contestant)):
        name, Z = "Raw", problem.X
        if outcome.contestant != RAW:
            name, model = outcome.contestant.upper(), known[outcome.label]
            y = seen_labels(problem, split(problem, TARGET, outcome.seed))
            fitted = model.build(outcome.setting, outcome.seed)
            Z = fitted.fit_transform(problem.X, y, sample_domain=problem.domain)
        yield Panel(name, np.asarray(Z), problem.y, problem.domain, outcome.accuracy)


# --- ranks --------------------------------------------------------------------------------------


def critical_difference_diagram(ranking: Ranking, *, highlight: Sequence[str] = ()) -> Figure:
    """Draw mean ranks on a line; methods under one bar do not differ by more than luck."""
    n, bars = len(ranking.methods), _bars(ranking)
    top = _BAR_TOP + _BAR_STEP * (1 + max((level for *_, level in bars), default=-1))
    depth = top + (n + 1) // 2
    figure = new_figure(figsize=(8, 1.1 + 0.27 * depth))
    ax = figure.subplots()
    ax.set(xlim=(0.7, n + 0.3), ylim=(depth - 0.4, -2.1))
    _draw_rank_axis(ax, ranking)
    for start, end, level in bars:
        y = _BAR_TOP + _BAR_STEP * level
        ax.plot([start, end], [y, y], color="0.15", lw=3.5, solid_capstyle="projecting")
    _draw_ranked_names(ax, ranking, top, highlight)
    friedman = "" if math.isnan(ranking.p_value) else f";  Friedman p = {ranking.p_value:.2g}"
    words = [
        f"mean rank over {ranking.n_tasks} tasks (1 is best){friedman};  bars: no difference at "
        f"{ranking.alpha:g} (Nemenyi)"
    ]
    if ranking.left_out:
        words.append(f"without {', '.join(ranking.left_out)}: not on every task")
    add_note(figure, *words)
    return figure


_BAR_TOP, _BAR_STEP = 0.75, 0.55
"""Where bars start below the line of ranks, and how far they lie apart, in lines of names."""


def _draw_ranked_names(ax: Axes, ranking: Ranking, top: float, highlight: Sequence[str]) -> None:
    """Write the better half on the left, from the best down, and the rest on the right."""
    n = len(ranking.methods)
    for i, (name, place) in enumerate(zip(ranking.methods, ranking.mean_ranks, strict=True)):
        left = i < (n + 1) // 2
        y = top + (i if left else n - 1 - i)
        edge = 0.75 if left else n + 0.25
        colour = _ACCENT if name in highlight else "0.1"
        ax.plot([place, place, edge], [0, y, y], color=colour, lw=0.9, zorder=1)
        words = f"{name}  {place:.2f}" if left else f"{place:.2f}  {name}"
        side = -4 if left else 4
        look: dict[str, Any] = {"color": colour, "ha": "right" if left else "left", "va": "center"}
        look |= {"weight": "bold" if name in highlight else "normal", "annotation_clip": False}
        ax.annotate(words, (edge, y), xytext=(side, 0), textcoords="offset points", **look)


def _draw_rank_axis(ax: Axes, ranking: Ranking) -> None:
    """Draw the line of ranks at 0, and above it a bar as long as the critical difference."""
    n, difference = len(ranking.methods), ranking.critical_difference
    ax.plot([1, n], [0, 0], color="0.1", lw=1)
    for tick in range(1, n + 1):
        ax.plot([tick, tick], [0, -0.25], color="0.1", lw=1)
    for tick in range(1, n + 1, 1 + n // 16):  # more numbers than this would run together
        ax.annotate(str(tick), (tick, -0.35), ha="center", va="bottom", fontsize="small")
    y, wide = -1.35, difference > n - 1
    style = {"arrowstyle": "|-|,widthA=.25,widthB=.25", "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", (1, y), xytext=(n if wide else 1 + difference, y), arrowprops=style)
    words = f"critical difference {difference:.2f}{', more than fits' if wide else ''}"
    ax.annotate(words, (1, y - 0.3), va="bottom", fontsize="small")
    ax.set_axis_off()


def _bars(ranking: Ranking) -> list[tuple[float, float, int]]:
    """Return where every clique's bar starts and ends, and its level: the lowest that is free."""
    places = dict(zip(ranking.methods, ranking.mean_ranks, strict=True))
    ends: list[float] = []
    bars = []
    for clique in ranking.cliques:
        start, end = places[clique[0]], places[clique[-1]]
        level = next((i for i, last in enumerate(ends) if start - last > 0.2), len(ends))
        ends[level : level + 1] = [end]
        bars.append((start, end, level))
    return bars


# --- accuracy against time ------------------------------------------------------------------------


def accuracy_against_time(
    outcomes: Iterable[Outcome], *, title: str = "", highlight: Sequence[str] = ()
) -> Figure:
    """Draw average accuracy over CPU seconds; a line joins what nothing beats in both.

    Seconds are those of all folds and settings, what it takes to get the accuracy. Outcomes are of
    one suite, one group and one protocol; a method with a gap is left out and named.
    """
    every = list(outcomes)
    accuracies, methods = _accuracies(every), by_group(every, "label")
    seconds = {name: float(np.mean([o.seconds for o in own])) for name, own in methods.items()}
    known = [name for name, own in accuracies.items() if own == own and seconds[name] > 0]
    if not known:
        raise ValueError("no method has an accuracy and a time on every task.")
    points = np.array([(seconds[name], accuracies[name]) for name in known])
    x, y = points.T
    front = pareto(x, y)
    figure = new_figure(figsize=(8, 5))
    ax = figure.subplots()
    # Hollow dots, those of the front filled and joined by steps.
    ax.plot(x[front], y[front], color=PALETTE[0], lw=1.5, drawstyle="steps-post", zorder=2)
    ax.scatter(x, y, s=38, c="white", edgecolors=QUIET, linewidths=1.2, zorder=3)
    ax.scatter(x[front], y[front], s=45, c=PALETTE[0], zorder=3)
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter("{x:g}")
    ax.margins(x=0.12, y=0.1)
    ax.set_xlabel("CPU seconds of all folds and settings, mean over tasks (log scale)")
    ax.set_ylabel("average accuracy, percent")
    open_frame(ax, grid="both")
    ax.set_title(title, loc="left", fontsize="medium")
    notes = [
        PROTOCOLS.get(every[0].protocol, every[0].protocol),
        "line: nothing is both faster and more accurate; "
        "features are followed by 1NN where no classifier is named",
    ]
    left_out = [name for name in accuracies if name not in known]
    if left_out:
        notes.append(f"left out, for want of a task: {', '.join(left_out)}")
    add_note(figure, *notes)
    # Features are followed by 1NN unless said otherwise: more names fit into the picture.
    names = [name.removesuffix(" + 1NN") for name in known]
    figure.draw_without_rendering()  # settles the layout, so that sizes in pixels hold
    _label_points(ax, names, points, front, [name in highlight for name in known])
    return figure


def pareto(cost: Any, gain: Any) -> NDArray[np.intp]:
    """Return the points that no other beats in both: cheapest first, each gaining on the last."""
    costs, gains = np.asarray(cost, dtype=float), np.asarray(gain, dtype=float)
    front: list[int] = []
    for i in np.lexsort((-gains, costs)):
        if not front or gains[i] > gains[front[-1]]:
            front.append(int(i))
    return np.array(front, dtype=np.intp)


def _accuracies(outcomes: list[Outcome]) -> dict[str, float]:
    groups = {each.group for each in outcomes}
    if len(groups) > 1:
        raise ValueError(
            f"outcomes must be of one group of tasks, got {', '.join(sorted(groups))}; "
            "draw a picture for each."
        )
    table = accuracy_table(outcomes)
    names = [column.name for column in table.columns]
    column = table.column(AVERAGE if AVERAGE in names else names[0])
    return {label: float(entry.value) for label, entry in column.items()}


_SPOTS = (
    *((7, 0), (-7, 0), (0, 7), (0, -7)),
    *((s * x, t * y) for x, y in ((6, 6), (18, 14), (30, 26)) for s in (1, -1) for t in (1, -1)),
)
"""Where a label may stand, in points from its dot; nearest first."""
_SIDES = {1: ("left", "bottom"), 0: ("center", "center"), -1: ("right", "top")}
"""How it is justified to the right of its dot or above it, level with it, to the left or below."""
_NEAR = 15  # a label further away than this gets a line to its dot


def _label_points(
    ax: Axes, names: list[str], points: NDArray[Any], front: NDArray[np.intp], marked: list[bool]
) -> None:
    """Write every name in the first spot near its dot that covers no name, no dot, no line."""
    from matplotlib.transforms import Bbox

    dots = ax.transData.transform(points)
    radius = 4 * ax.figure.dpi / 72
    taken = [Bbox.from_extents(*(dot - radius), *(dot + radius)) for dot in dots]
    for start, end in pairwise(dots[front]):
        corner = end[0], start[1]
        taken += [Bbox([start - 1, np.add(corner, 1)]), Bbox([np.subtract(corner, 1), end + 1])]
    for i in np.lexsort((points[:, 0], -points[:, 1])):
        style = {"color": _ACCENT, "weight": "bold"} if marked[i] else {"color": "0.1"}
        others = taken[:i] + taken[i + 1 :]
        taken.append(_label_point(ax, names[i], tuple(points[i]), others, style))


def _label_point(
    ax: Axes, name: str, point: tuple[float, float], taken: Sequence[Bbox], style: dict[str, Any]
) -> Bbox:
    """Write one name; where every spot covers something, take the one that covers least."""
    style |= {"textcoords": "offset points", "fontsize": "small", "zorder": 4}
    text = ax.annotate(name, point, xytext=(0, 0), **style)

    def cover(spot: tuple[int, int]) -> float:
        (ha, _), (_, va) = (_SIDES[int(np.sign(offset))] for offset in spot)
        text.set(position=spot, ha=ha, va=va)
        return _cover(text.get_window_extent(), taken, ax.get_window_extent())

    best = next((spot for spot in _SPOTS if cover(spot) == 0), None) or min(_SPOTS, key=cover)
    cover(best)
    if math.hypot(*best) > _NEAR:
        line = {"arrowstyle": "-", "color": QUIET, "lw": 0.6, "shrinkA": 0, "shrinkB": 4}
        ax.annotate("", point, xytext=best, textcoords="offset points", arrowprops=line)
    return text.get_window_extent()


def _cover(box: Bbox, taken: Sequence[Bbox], frame: Bbox) -> float:
    shared = [box.intersection(box, other) for other in taken]
    inside = box.intersection(box, frame)
    outside = box.width * box.height - (0 if inside is None else inside.width * inside.height)
    return float(round(outside + sum(each.width * each.height for each in shared if each), 3))


# --- figure 1 -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Panel:
    """One representation of the synthetic data.

    ``name`` is as the paper writes it, so that its accuracy is found; the first two columns of
    ``Z`` are drawn; ``accuracy`` is that on the target.
    """

    name: str
    Z: NDArray[Any]
    y: NDArray[Any]
    domain: NDArray[Any]
    accuracy: float


def draw_figure1(panels: Sequence[Panel]) -> Figure:
    """Redraw the paper's figure 1: where every method puts domains, and below, classes."""
    if not panels:
        raise ValueError("panels are empty: there is nothing to draw.")
    paper = published("figure1")
    figure = new_figure(figsize=(2.1 * len(panels) + 1.1, 4.6))
    axes = figure.subplots(2, len(panels), squeeze=False)
    for (above, below), panel in zip(axes.T, panels, strict=True):
        _draw_panel(above, panel.Z, panel.domain, PALETTE[:2])
        _draw_panel(below, panel.Z, panel.y, (_ACCENT, PALETTE[3], PALETTE[8]))
        printed = paper.value(panel.name, paper.tasks[0])
        beside = "" if printed is None else f" (paper {printed:.0f} %)"
        above.set_title(f"{panel.name}\n{panel.accuracy:.2f} %{beside}", fontsize="medium")
    for ax, word in zip(axes[:, 0], ("domains", "classes"), strict=True):
        ax.set_ylabel(word)
    for ax in axes[:, -1]:
        ax.legend(loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False, fontsize="small")
    return figure


def _draw_panel(ax: Axes, Z: NDArray[Any], groups: NDArray[Any], colours: Sequence[str]) -> None:
    for i, group in enumerate(np.unique(groups)):
        x, y = Z[groups == group, :2].T
        colour, marker = colours[i % len(colours)], MARKERS[i % len(MARKERS)]
        look: dict[str, Any] = {"facecolors": "none", "edgecolors": colour, "marker": marker}
        ax.scatter(x, y, s=14, lw=0.9, alpha=0.85, label=str(group), **look)
    ax.set(xticks=[], yticks=[])
    ax.margins(0.08)
    ax.spines[:].set_color("0.8")


# --- figure 2 -------------------------------------------------------------------------------------


def draw_figure2(outcomes: Iterable[Outcome]) -> Figure:
    """Redraw the paper's figure 2: what features gain over raw samples, classifier by classifier.

    A panel for each group of tasks, a bar for each method and classifier, in points of accuracy
    above or below raw samples with the same classifier. The paper gives its bars as a picture
    alone; of its raw lines, table 4, the title of a panel has ours and, in brackets, theirs, but
    not beside an upper bound. Outcomes are of one suite and one protocol.
    """
    every = [each for each in outcomes if each.classifier in FIGURE2_CLASSIFIERS]
    protocols = {each.protocol for each in every}
    if len(protocols) != 1:
        raise ValueError(
            f"outcomes must be of one protocol, with the classifiers svm or dam; got "
            f"{', '.join(sorted(protocols)) or 'none'}."
        )
    (protocol,) = protocols
    paper = None if protocol == TARGET_ORACLE else published("table4")
    groups = by_group(every)
    methods = list(dict.fromkeys(each.contestant for each in every if each.contestant != RAW))
    classifiers = [name for name in FIGURE2_CLASSIFIERS if name in {e.classifier for e in every}]
    figure = new_figure(figsize=(3.2 * len(groups) + 0.6, 3.6))
    axes = np.atleast_1d(figure.subplots(1, len(groups), sharey=True))
    for ax, (group, own) in zip(axes, groups.items(), strict=True):
        known = _accuracies(own)
        averages = {(each.contestant, each.classifier): known[each.label] for each in own}
        _draw_gains(ax, averages, methods, classifiers)
        ax.set_title(_raw_words(group, averages, classifiers, paper), fontsize="small")
    axes[0].set_ylabel("points above raw samples")
    axes[0].legend(frameon=False, fontsize="small", loc="best")
    add_note(figure, f"{PROTOCOLS.get(protocol, protocol)}; in brackets: table 4 of the paper")
    return figure


def _draw_gains(ax: Axes, averages: Averages, methods: list[str], classifiers: list[str]) -> None:
    width = 0.8 / len(classifiers)
    for i, classifier in enumerate(classifiers):
        raw = averages.get((RAW, classifier))
        if raw is None:
            raise ValueError(f"outcomes lack raw samples with {classifier}, the line of figure 2.")
        gains = [averages.get((method, classifier), math.nan) - raw for method in methods]
        places = np.arange(len(methods)) + (i - (len(classifiers) - 1) / 2) * width
        name = CLASSIFIER_NAMES[classifier]
        bars = ax.bar(places, gains, width * 0.94, color=PALETTE[i], label=name)
        labels = ["" if math.isnan(gain) else f"{gain:+.1f}" for gain in gains]
        ax.bar_label(bars, labels, fontsize="xx-small", padding=1, color="0.2")
    ax.axhline(0, color="0.1", lw=1)
    ax.set_xticks(range(len(methods)), methods, rotation=30, ha="right", fontsize="small")
    open_frame(ax, grid="y")
    ax.margins(y=0.12)


def _raw_words(
    group: str, averages: Averages, classifiers: list[str], paper: Published | None
) -> str:
    lines = [group]
    for classifier in classifiers:
        name = paper and paper.name_of(RAW, classifier)
        printed = paper.value(name, group) if paper and name else None
        beside = "" if printed is None else f" ({printed:.2f})"
        raw = averages[RAW, classifier]
        lines.append(f"raw + {CLASSIFIER_NAMES[classifier]}: {raw:.2f}{beside}")
    return "\n".join(lines)


# --- inside a page --------------------------------------------------------------------------------

_SVG = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"
_NO_METADATA = dict.fromkeys(("Date", "Creator", "Format", "Type"))
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_HEX = re.compile(r"#[0-9a-fA-F]{6}")
_SHORTHAND = re.compile(r"(?P<words>.*?)(?P<size>[\d.]+)px")
_INHERITED = {"stroke-linejoin": "round", "stroke-linecap": "butt"}


def inline_svg(figure: Figure, *, name: str, title: str) -> str:
    """Return a figure as an ``svg`` element; the same figure gives the same text.

    Matplotlib writes SVG for a file of its own. Inside a page, identifiers of two figures must not
    meet, so they get ``name`` as a prefix; the content security policy forbids style attributes;
    and greys become shades of the page's own ink, which may be light or dark. Screen readers say
    ``title``.
    """
    from matplotlib import rc_context

    text = io.StringIO()
    # Text stays text: it is smaller, can be searched and takes the page's own fonts.
    with rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        figure.savefig(text, format="svg", metadata=_NO_METADATA)
    root = ElementTree.fromstring(text.getvalue())
    values = " ".join(value for each in root.iter() for value in each.attrib.values())
    links = {each.attrib.get(_LINK, "").removeprefix("#") for each in root.iter()}
    used = {*_REFERENCE.findall(values), *links}
    for element in root.iter():
        for child in [e for e in element if e.tag in (f"{_SVG}style", f"{_SVG}metadata")]:
            element.remove(child)
        _style_to_attributes(element)
        _rename(element, used, name)
        _follow_page(element)
    width = float(root.attrib.pop("width").removesuffix("pt")) * 4 / 3
    del root.attrib["height"]
    root.attrib |= {"width": f"{width:.0f}", "role": "img", "aria-label": title, **_INHERITED}
    ElementTree.register_namespace("", _SVG.strip("{}"))
    return ElementTree.tostring(root, encoding="unicode")


def _style_to_attributes(element: ElementTree.Element) -> None:
    for declaration in element.attrib.pop("style", "").split(";"):
        key, _, value = (part.strip() for part in declaration.partition(":"))
        if key == "font":
            element.attrib |= _font(value)
        elif key and key != "font-family":
            element.set(key, value)


def _font(shorthand: str) -> dict[str, str]:
    """Split what older Matplotlib writes: style, weight, size and family in one."""
    found = _SHORTHAND.match(shorthand)
    if found is None:
        return {}
    font = {"font-size": f"{found['size']}px"}
    for word in found["words"].split():
        if word in ("italic", "oblique"):
            font["font-style"] = word
        elif word.isdigit() or word in ("bold", "bolder", "lighter"):
            font["font-weight"] = word
    return font


def _rename(element: ElementTree.Element, used: set[str], prefix: str) -> None:
    own = element.attrib.pop("id", None)
    if own in used:
        element.set("id", f"{prefix}-{own}")
    link = element.attrib.pop(_LINK, None)
    if link is not None:
        element.set("href", f"#{prefix}-{link[1:]}" if link.startswith("#") else link)
    for key, value in element.attrib.items():
        element.set(key, _REFERENCE.sub(rf"url(#{prefix}-\1)", value))


def _follow_page(element: ElementTree.Element) -> None:
    """Give black, white, greys and dark colours a counterpart on a dark page."""
    if element.tag == f"{_SVG}text" and "fill" not in element.attrib:
        element.set("fill", "currentColor")
    for key in ("fill", "stroke"):
        colour = element.get(key, "")
        if _HEX.fullmatch(colour):
            element.set(key, page_colour(colour))
