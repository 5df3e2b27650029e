"""Grids of text for two readers: a terminal of some width, and a web page.

Cells hold what users named, so everything is escaped on its way to a web page; what could command a
terminal is escaped where the cells are made (:mod:`skatter.diagnosis.grids`).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from textwrap import fill

GAP = "  "
KEPT = "\N{NO-BREAK SPACE}"
SHORTEST = 6
"""To which a column may be cut where the line is too short."""


@dataclass(frozen=True)
class Grid:
    """One table of a diagnosis."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    names: int = 1
    note: str = ""


def prose(text: str, width: int, *, bullet: str = "") -> str:
    """Break a sentence into lines; a number is never parted from its percent sign.

    Examples
    --------
    >>> print(prose("Domains make up 12 % of it.", 19))
    Domains make up
    12 % of it.
    """
    indent = " " * len(bullet)
    kept = text.replace(" %", KEPT + "%")
    return fill(kept, width, initial_indent=bullet, subsequent_indent=indent).replace(KEPT, " ")


def clip(text: str, width: int) -> str:
    """Cut a text that is longer than ``width`` cells, with an ellipsis at its end.

    Examples
    --------
    >>> clip("temperature", 8), clip("heat", 8)
    ('tempera…', 'heat')
    """
    if cells(text) <= width:
        return text
    kept = ""
    for character in text:
        if cells(kept + character) > width - 1:
            break
        kept += character
    return kept + "…"


def cells(text: str) -> int:
    """Count the cells that a text takes in a terminal: wide characters take two, marks none.

    Examples
    --------
    >>> cells("abc"), cells("脈拍")
    (3, 4)
    """
    return sum(
        0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF")
        for c in text
    )


def grid_as_text(grid: Grid, width: int) -> str:
    """Lay out a grid for a terminal, names to the left and figures to the right."""
    table = [grid.headings, *grid.rows]
    widths = [max(cells(row[j]) for row in table) for j in range(len(grid.headings))]
    spare = width - sum(widths) - len(GAP) * (len(widths) - 1)
    while spare < 0:
        j = max(range(grid.names), key=lambda j: widths[j])
        if widths[j] <= SHORTEST:
            break
        widths[j], spare = widths[j] - 1, spare + 1
    lines = [_line(row, widths, grid.names) for row in table]
    lines.insert(1, GAP.join("-" * w for w in widths))
    return "\n".join([*lines, prose(grid.note, width)] if grid.note else lines)


def _line(row: Sequence[str], widths: Sequence[int], names: int) -> str:
    parts = []
    for j, (cell, width) in enumerate(zip(row, widths, strict=True)):
        text = clip(cell, width)
        space = " " * (width - cells(text))
        parts.append(text + space if j < names else space + text)
    return GAP.join(parts).rstrip()


def grid_as_html(grid: Grid) -> str:
    """Lay out a grid for a web page; every cell is escaped."""
    head = "".join(_cell("th", j, cell, grid) for j, cell in enumerate(grid.headings))
    body = "".join(
        f"<tr>{''.join(_cell('td', j, cell, grid) for j, cell in enumerate(row))}</tr>"
        for row in grid.rows
    )
    note = f"<p>{escape(grid.note)}</p>" if grid.note else ""
    # In letters of one width, a map of single characters lines up.
    return (
        f"<details><summary>{escape(grid.title)}</summary>"
        '<table style="font-family:monospace;border-spacing:1em 0">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}</details>"
    )


def _cell(tag: str, j: int, text: str, grid: Grid) -> str:
    side = "left" if j < grid.names else "right"
    name = tag if tag == "th" or j else "th"
    scope = ' scope="col"' if tag == "th" else ' scope="row"' if not j else ""
    return f'<{name}{scope} style="text-align:{side};white-space:nowrap">{escape(text)}</{name}>'
