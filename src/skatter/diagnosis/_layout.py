"""Tables of text for a terminal of some width."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from textwrap import fill

from skatter._notebook import Section

GAP = "  "
KEPT = "\N{NO-BREAK SPACE}"
SHORTEST = 6  # to which a column may be cut where the line is too short


def prose(text: str, width: int, *, bullet: str = "") -> str:
    """Break a sentence into lines; a number is never parted from its percent sign."""
    indent = " " * len(bullet)
    kept = text.replace(" %", KEPT + "%")
    return fill(kept, width, initial_indent=bullet, subsequent_indent=indent).replace(KEPT, " ")


def clip(text: str, width: int) -> str:
    if cells(text) <= width:
        return text
    kept = ""
    for character in text:
        if cells(kept + character) > width - 1:
            break
        kept += character
    return kept + "…"


def cells(text: str) -> int:
    """Count the cells that a text takes in a terminal: wide characters take two, marks none."""
    return sum(
        0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF")
        for c in text
    )


def section_as_text(section: Section, width: int) -> str:
    table = [section.heads, *section.lines]
    widths = [max(cells(row[j]) for row in table) for j in range(len(section.heads))]
    spare = width - sum(widths) - len(GAP) * (len(widths) - 1)
    while spare < 0:
        j = max(range(section.names), key=lambda j: widths[j])
        if widths[j] <= SHORTEST:
            break
        widths[j], spare = widths[j] - 1, spare + 1
    lines = [_line(row, widths, section.names) for row in table]
    lines.insert(1, GAP.join("-" * w for w in widths))
    return "\n".join([*lines, prose(section.note, width)] if section.note else lines)


def _line(row: Sequence[str], widths: Sequence[int], names: int) -> str:
    parts = []
    for j, (cell, width) in enumerate(zip(row, widths, strict=True)):
        text = clip(cell, width)
        space = " " * (width - cells(text))
        parts.append(text + space if j < names else space + text)
    return GAP.join(parts).rstrip()
