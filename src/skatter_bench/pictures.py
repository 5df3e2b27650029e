"""Which figures show a suite, with a caption each; and the same as SVG for the report's page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from skatter_bench.figures import accuracy_against_time, critical_difference_diagram, draw_figure2
from skatter_bench.ranks import rank
from skatter_bench.results import Outcome
from skatter_bench.sheets import by_group
from skatter_bench.suite import Suite
from skatter_bench.svg import inline_svg
from skatter_bench.tables import accuracy_matrix, is_collection

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HIGHLIGHT = ("sca", "sca-printed")
"""Contestants that are written in colour."""


@dataclass(frozen=True, eq=False)
class Drawing:
    """A figure, a short name fit for a file, and the words that stand over and under it."""

    name: str
    title: str
    caption: str
    figure: Figure


@dataclass(frozen=True)
class Picture:
    """A figure inside the page: ``svg`` is markup, the rest is text."""

    title: str
    caption: str
    svg: str


def drawings_of(suite: Suite, outcomes: Sequence[Outcome]) -> Iterator[Drawing]:
    """Draw what is worth a look: ranks, accuracy against time, and the gains of figure 2.

    Parameters
    ----------
    suite : Suite
        What the outcomes are of. Seconds and single domains have no pictures.
    outcomes : sequence of Outcome
        Of one protocol.
    """
    if suite.kind != "accuracy" or not outcomes:
        return
    plain = [_without_maths(outcome) for outcome in outcomes]
    if suite.published == "table4" and _has_gains(plain):
        yield Drawing(
            "gains",
            "Gains over raw samples",
            "What features gain over raw samples with the same classifier, in points of accuracy.",
            draw_figure2(plain),
        )
    if is_collection(plain):
        yield from _ranks(plain, "ranks", " Each set counts once.")
        return
    groups = by_group(plain)
    for i, (group, own) in enumerate(groups.items()):
        several = len(groups) > 1
        of, mark = (f" {group}.", f"-{i + 1}") if several else ("", "")
        yield from _ranks(own, f"ranks{mark}", of)
        yield from _times(own, f"time{mark}", of)


def pictures_of(suite: Suite, outcomes: Sequence[Outcome], name: str) -> Iterator[Picture]:
    """Return the drawings of a suite as markup.

    Parameters
    ----------
    suite, outcomes
        As in :func:`drawings_of`.
    name : str
        Unique in the page; identifiers inside the pictures start with it.
    """
    for drawing in drawings_of(suite, outcomes):
        svg = inline_svg(drawing.figure, name=f"{name}-{drawing.name}", title=drawing.title)
        yield Picture(drawing.title, drawing.caption, svg)


def picture_of(figure: Figure, *, name: str, title: str) -> Picture:
    """Return a figure that was drawn elsewhere as a picture of the page."""
    return Picture(title, f"{title}.", inline_svg(figure, name=name, title=title))


def _ranks(outcomes: Sequence[Outcome], name: str, of: str) -> Iterator[Drawing]:
    accuracies, labels = accuracy_matrix(outcomes)
    complete = ~np.isnan(accuracies).any(axis=0)
    if len(accuracies) < 2 or complete.sum() < 3:
        return  # nothing to rank by, or nobody to rank
    ranking = rank(accuracies, labels)
    yield Drawing(
        name,
        "Mean ranks",
        f"Mean ranks over the tasks.{of} Methods under one bar do not differ by more than luck.",
        critical_difference_diagram(ranking, highlight=_highlighted(outcomes)),
    )


def _times(outcomes: Sequence[Outcome], name: str, of: str) -> Iterator[Drawing]:
    accuracies, _ = accuracy_matrix(outcomes)
    if not (~np.isnan(accuracies).any(axis=0)).any() or not _all_timed(outcomes):
        return
    yield Drawing(
        name,
        "Accuracy against time",
        f"Average accuracy against CPU seconds of all folds and settings.{of} Nothing beats the "
        "line in both.",
        accuracy_against_time(outcomes, highlight=_highlighted(outcomes)),
    )


def _all_timed(outcomes: Sequence[Outcome]) -> bool:
    return all(each.error or math.isfinite(each.seconds) for each in outcomes)


def _highlighted(outcomes: Sequence[Outcome]) -> list[str]:
    return list(dict.fromkeys(o.label for o in outcomes if o.contestant in HIGHLIGHT))


def _has_gains(outcomes: Sequence[Outcome]) -> bool:
    """Whether raw samples are there with every classifier and in every group."""
    places = {(each.group, each.classifier) for each in outcomes}
    raw = {(each.group, each.classifier) for each in outcomes if each.contestant == "raw"}
    return places == raw


def _without_maths(outcome: Outcome) -> Outcome:
    """Keep dollar signs of names from being read as formulas."""
    return replace(
        outcome,
        label=outcome.label.replace("$", r"\$"),
        group=outcome.group.replace("$", r"\$"),
    )
