"""The one table model of the experiments: rows of entries under columns, and how they are written.

A :class:`Table` knows numbers, marks, reasons and notes. It is written to a terminal, as Markdown,
LaTeX, HTML and CSV, and the report's template reads it directly. All of them print the same texts:
our number, its spread, and the published number in brackets; the best of a column bold, the second
underlined or in italics.
"""

from __future__ import annotations

import csv
import html
import io
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from skatter._formatting import duration

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
    from rich.table import Table as Lines
    from rich.text import Text

Kind = Literal[
    "percent", "rank", "seconds", "times", "duration", "memory", "words", "setting", "error"
]
Mark = Literal["best", "second", ""]
FAILED, ABSENT = "failed", "n/a"
_GAP = 2


@dataclass(frozen=True)
class Entry:
    """One value of a table, with the published one, its spread over runs and its mark.

    ``note`` is printed instead of a missing value (nan), and ``reason`` says why it is missing.
    """

    value: float | str = math.nan
    published: float | None = None
    mark: Mark = ""
    spread: float | None = None
    note: str = ""
    reason: str = ""

    @property
    def missing(self) -> bool:
        """Whether there is no value."""
        return isinstance(self.value, float) and math.isnan(self.value)


@dataclass(frozen=True)
class Column:
    """A heading, what stands under it, and what that is; ``overall`` columns sum up others."""

    name: str
    kind: Kind = "percent"
    hint: str = ""
    group: str = ""
    overall: bool = False
    entries: Sequence[Entry] = ()

    @property
    def words(self) -> bool:
        """Whether it holds text."""
        return self.kind in ("words", "setting", "error")

    @property
    def order(self) -> str:
        """Which way it is sorted first: the best on top, and text from A to Z."""
        return "descending" if self.kind == "percent" else "ascending"

    def ours(self, entry: Entry) -> str:
        """Write our value, or what stands in its place."""
        if isinstance(entry.value, str):
            return entry.value
        return entry.note if entry.missing else number(entry.value, self.kind)

    def printed(self, entry: Entry) -> str:
        """Write the published number; empty where there is none."""
        return "" if entry.published is None else number(entry.published, self.kind)

    def texts(self, entry: Entry) -> tuple[str, str]:
        """Return our number with its spread, and the published one in brackets."""
        spread = "" if entry.spread is None else f" ± {number(entry.spread)}"
        printed = self.printed(entry)
        return self.ours(entry) + spread, f"({printed})" if printed else ""


class Row(NamedTuple):
    """A label and one entry for every column."""

    label: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Table:
    """What a table says, before it is text: ``corner`` heads the labels, notes stand below."""

    title: str
    corner: str
    labels: Sequence[str]
    columns: Sequence[Column]
    notes: Sequence[str] = ()

    @property
    def rows(self) -> list[Row]:
        """The same, row by row."""
        entries = zip(*(column.entries for column in self.columns), strict=True)
        return [Row(*row) for row in zip(self.labels, entries, strict=True)]

    def column(self, name: str, group: str = "") -> dict[str, Entry]:
        """Return the entries of a column by the labels of their rows."""
        columns = {(column.name, column.group): column for column in self.columns}
        return dict(zip(self.labels, columns[name, group].entries, strict=True))

    @property
    def groups(self) -> list[tuple[str, int]]:
        """Names over the columns and their widths; none where there is nothing to tell apart."""
        names = (column.group for column in self.columns)
        widths = [(name, sum(1 for _ in own)) for name, own in groupby(names)]
        return widths if len(widths) > 1 else []

    def has(self, what: Literal["mark", "spread", "published"]) -> bool:
        """Whether any entry has a mark, a spread or a published number."""
        entries = chain.from_iterable(column.entries for column in self.columns)
        return any(getattr(entry, what) not in ("", None) for entry in entries)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield to_terminal(self, width=options.max_width, plain=console.color_system is None)


def side_by_side(tables: Sequence[Table]) -> Table:
    """Join tables with the same kind of rows; a row that one lacks was not run there."""
    labels = dict.fromkeys(chain.from_iterable(table.labels for table in tables))
    absent = Entry(note=ABSENT, reason="Not run.")
    columns = []
    for table in tables:
        for column in table.columns:
            found = dict(zip(table.labels, column.entries, strict=True))
            columns.append(replace(column, entries=[found.get(label, absent) for label in labels]))
    notes = dict.fromkeys(chain.from_iterable(table.notes for table in tables))
    return replace(tables[0], labels=list(labels), columns=columns, notes=list(notes))


# --- numbers ------------------------------------------------------------------------------------


def number(value: float, kind: Kind = "percent") -> str:
    """Write a number as tables do: two decimals, and small times with two digits that count."""
    if kind == "duration":
        return duration(value)
    if kind == "memory":
        return f"{value / 1e9:.2f} GB" if value >= 1e9 else f"{value / 1e6:.1f} MB"
    digits = 2
    if kind in ("seconds", "times") and 0 < value < 0.995:
        digits = min(6, 1 - math.floor(math.log10(value)))
    return f"{'×' if kind == 'times' else ''}{value:.{digits}f}"


def _notes(table: Table, legend: str = "Bold: best; underlined: second.") -> list[str]:
    return [*([legend] if table.has("mark") else []), *table.notes]


# --- terminal -----------------------------------------------------------------------------------

_PLAIN_MARKS: Mapping[Mark, str] = {"best": "*", "second": "+", "": " "}
_STYLES: Mapping[Mark, str] = {"best": "bold", "second": "underline", "": ""}


def to_terminal(table: Table, *, width: int = 80, plain: bool = False) -> Group:
    """Lay out a table for a rich console; columns that do not fit go into further blocks below.

    ``plain`` marks by characters instead of bold and underlined digits, for files and pipes.
    """
    from rich.console import Group
    from rich.text import Text

    marks = _PLAIN_MARKS if plain and table.has("mark") else dict.fromkeys(_PLAIN_MARKS, "")
    blocks: list[list[list[Text]]] = []
    used = width
    for column in table.columns:
        lines = _lines_of(column, marks, plain)
        need = _GAP + lines[0].cell_len
        if used + need > width:
            blocks.append([])
            used = max(map(len, (table.corner, *table.labels)))
        blocks[-1].append(lines)
        used += need
    pieces: list[RenderableType] = [Text(table.title, style="bold")]
    for block in blocks:
        pieces += [Text(), _block(table.corner, table.labels, block, plain)]
    notes = _notes(table, "* best, + second.") if plain else _notes(table)
    if notes:
        pieces += [Text(), *(Text(note, style="" if plain else "dim") for note in notes)]
    return Group(*pieces)


def _lines_of(column: Column, marks: Mapping[Mark, str], plain: bool) -> list[Text]:
    """Return the heading and the entries of a column, all of one width, their parts aligned."""
    from rich.text import Text

    values, theirs = zip(*map(column.texts, column.entries), strict=True)
    ours = [own + marks[entry.mark] for own, entry in zip(values, column.entries, strict=True)]
    room, behind = (max(map(len, side)) for side in (ours, theirs))
    texts = [Text(column.name)]
    for entry, own, printed in zip(column.entries, ours, theirs, strict=True):
        text = Text(" " * (room - len(own)))
        text.append(own, style="" if plain else _STYLES[entry.mark])
        if behind:
            text.append(f" {printed:>{behind}}", style="" if plain else "dim")
        texts.append(text)
    width = max(text.cell_len for text in texts)
    for text in texts:
        text.pad_left(width - text.cell_len)
    return texts


def _block(corner: str, labels: Sequence[str], columns: Sequence[list[Text]], plain: bool) -> Lines:
    from rich import box
    from rich.table import Table as Lines
    from rich.text import Text

    # A column is followed by a blank and by the box's own blank divider: a gap of two.
    look: dict[str, Any] = {"box": box.SIMPLE_HEAD, "show_edge": False, "pad_edge": False}
    lines = Lines(padding=(0, 1, 0, 0), header_style="" if plain else "bold", **look)
    for heading in (Text(corner), *(column[0] for column in columns)):
        lines.add_column(heading, overflow="fold")
    for i, label in enumerate(labels, start=1):
        lines.add_row(Text(label), *(column[i] for column in columns))
    return lines


# --- Markdown, LaTeX, HTML, CSV -----------------------------------------------------------------


def _filled(
    table: Table, escape: Callable[[str], str], marks: Mapping[Mark, str], beside: str
) -> list[list[str]]:
    """Return headings and rows as texts: ours marked, the published number ``beside`` it."""

    def write(column: Column, entry: Entry) -> str:
        ours, theirs = map(escape, column.texts(entry))
        marked = marks[entry.mark].format(ours)
        return beside.format(marked, theirs) if theirs else marked

    heads = [escape(text) for text in (table.corner, *(column.name for column in table.columns))]
    rows = ([escape(label), *map(write, table.columns, own)] for label, own in table.rows)
    return [heads, *rows]


def to_markdown(table: Table) -> str:
    """Return the table as GitHub's Markdown, with its title above and its notes below."""
    marks: dict[Mark, str] = {"best": "**{}**", "second": "*{}*", "": "{}"}
    heads, *body = _filled(table, _markdown, marks, "{} {}")
    rule = [":---", *(":---" if column.words else "---:" for column in table.columns)]
    lines = "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, rule, *body))
    notes = map(_markdown, _notes(table, "Bold: best; italics: second."))
    return "\n\n".join([f"**{_markdown(table.title)}**", lines, *notes]) + "\n"


def _markdown(text: str) -> str:
    """Escape what Markdown or HTML inside it would read as something else than text."""
    entities = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;")
    return re.sub(r"([\\`*_\[\]|~]|^[>#+-])", r"\\\1", entities)


_LATEX = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "±": r"$\pm$",
    "×": r"$\times$",
    "→": r"$\to$",
    **{sign: rf"\{sign}" for sign in "{}$&#%_"},
}


def to_latex(table: Table, *, label: str = "") -> str:
    r"""Return the table as a LaTeX float, shrunk to the width of the text.

    The document needs the packages ``booktabs`` and ``graphicx``, and ``fontenc`` with T1. The
    label is for ``\ref``: letters, digits and ``:.-`` only, no label where empty.
    """
    if not re.fullmatch(r"[A-Za-z0-9:.\-]*", label):
        raise ValueError(f"label must have letters, digits and :.- only, got {label!r}.")
    marks: dict[Mark, str] = {"best": r"\textbf{{{}}}", "second": r"\underline{{{}}}", "": "{}"}
    filled = _filled(table, _latex, marks, r"{} {{\scriptsize {}}}")
    heads, *body = (rf"{' & '.join(cells)} \\" for cells in filled)
    notes = map(_latex, _notes(table))
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_latex(table.title)}}}",
        *([rf"\label{{{label}}}"] if label else []),
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{l{'r' * len(table.columns)}}}",
        r"\toprule",
        heads,
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}%",
        r"}",
        *(rf"\par\smallskip{{\footnotesize {note}\par}}" for note in notes),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _latex(text: str) -> str:
    arrows = " ".join(text.split()).replace("->", "→")
    return "".join(_LATEX.get(character, character) for character in arrows)


def to_html(table: Table) -> str:
    """Return the table as a fragment of HTML; ``data-value`` holds what to sort a column by.

    Missing values have an empty one. A column whose smallest value is the best has
    ``data-order="ascending"``.
    """
    marks: dict[Mark, str] = {"best": "<strong>{}</strong>", "second": "<u>{}</u>", "": "{}"}
    (corner, *heads), *body = _filled(table, html.escape, marks, "{} <small>{}</small>")
    titles = (
        f'<th scope="col" data-order="{column.order}">{head}</th>'
        for column, head in zip(table.columns, heads, strict=True)
    )
    rows = (
        f'<tr><th scope="row" data-value="{label}">{label}</th>'
        f"{''.join(map(_html_cell, row.entries, texts))}</tr>"
        for row, (label, *texts) in zip(table.rows, body, strict=True)
    )
    items = [f"<li>{html.escape(note)}</li>" for note in _notes(table)]
    lines = [
        '<table class="results">',
        f"<caption>{html.escape(table.title)}</caption>",
        "<thead>",
        f'<tr><th scope="col">{corner}</th>{"".join(titles)}</tr>',
        "</thead>",
        "<tbody>",
        *rows,
        "</tbody>",
        "</table>",
        *(['<ul class="notes">', *items, "</ul>"] if items else []),
    ]
    return "\n".join(lines) + "\n"


def _html_cell(entry: Entry, text: str) -> str:
    value = "" if entry.missing else html.escape(str(entry.value))
    style = f' class="{entry.mark}"' if entry.mark else ""
    return f'<td data-value="{value}"{style}>{text}</td>'


def to_csv(table: Table) -> str:
    """Return the table as CSV with all digits, and columns for spreads and published numbers."""
    columns = [(table.corner, table.labels)]
    for column in table.columns:
        for what in ("value", "spread", "published"):
            values = [getattr(entry, what) for entry in column.entries]
            if what == "value" or any(value is not None for value in values):
                name = column.name if what == "value" else f"{column.name} {what}"
                columns.append((name, ["" if value != value else value for value in values]))
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow([name for name, _ in columns])
    lines.writerows(zip(*(values for _, values in columns), strict=True))
    return out.getvalue()
