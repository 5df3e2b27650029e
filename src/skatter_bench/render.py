"""How a table looks: on a terminal, as Markdown, as LaTeX and as HTML.

All four print the same texts in the same places: our number, its spread, and the published number
in brackets; the best of a column bold, the second underlined or in italics.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from skatter_bench.tables import Column, Entry, Kind, Table

if TYPE_CHECKING:
    from rich.console import Group, RenderableType
    from rich.table import Table as Lines
    from rich.text import Text

_GAP = 2
_PLAIN_MARKS = {"best": "*", "second": "+", "": " "}
_STYLES = {"best": "bold", "second": "underline", "": ""}


# --- numbers ------------------------------------------------------------------------------------


def number(value: float, kind: Kind = "percent") -> str:
    """Write a number as tables do: two decimals, and small times with two digits that count.

    Examples
    --------
    >>> number(33.9), number(0.00123, "seconds"), number(6.3, "times")
    ('33.90', '0.0012', '×6.30')
    """
    digits = 2
    if kind in ("seconds", "times") and 0 < value < 0.995:
        digits = min(6, 1 - math.floor(math.log10(value)))
    return f"{'×' if kind == 'times' else ''}{value:.{digits}f}"


def _ours(entry: Entry, column: Column) -> str:
    """Write our number and its spread, or why there is none."""
    if math.isnan(entry.value):
        return entry.note
    text = number(entry.value, column.kind)
    return text if entry.spread is None else f"{text} ± {number(entry.spread)}"


def _theirs(entry: Entry, column: Column) -> str:
    return "" if entry.published is None else f"({number(entry.published, column.kind)})"


def _has_marks(table: Table) -> bool:
    return any(entry.mark for row in table.rows for entry in row.entries)


# --- terminal -----------------------------------------------------------------------------------


def to_terminal(table: Table, *, width: int = 80, plain: bool = False) -> Group:
    """Lay out a table for a terminal; columns that do not fit go into further blocks below.

    ``console.print(table)`` does this with the width and the abilities of the console.

    Parameters
    ----------
    table : Table
        What to show.
    width : int
        Characters in a line.
    plain : bool
        Mark by characters instead of bold and underlined digits, for files and pipes.

    Returns
    -------
    rich Group
        To be printed by a console of that width.
    """
    from rich.console import Group
    from rich.text import Text

    columns = [_column(table, j, plain) for j in range(len(table.columns))]
    pieces: list[RenderableType] = [Text(table.title, style="bold")]
    for part in _parts(_label_width(table), columns, width):
        pieces += [Text(), _block(table, part, plain)]
    notes = [*_legend(table, plain), *table.notes]
    if notes:
        pieces += [Text(), *(Text(note, style="" if plain else "dim") for note in notes)]
    return Group(*pieces)


def to_text(table: Table, *, width: int = 80) -> str:
    """Return the table as plain text for a terminal or a file.

    Parameters
    ----------
    table : Table
        What to show.
    width : int
        Characters in a line.

    Examples
    --------
    >>> from skatter_bench.tables import Row
    >>> table = Table("Accuracy", "method", (Column("A->W"),), (Row("sca", (Entry(33.9, 33.9),)),))
    >>> print(to_text(table))
    Accuracy
    <BLANKLINE>
    method           A->W
    ─────────────────────
    sca     33.90 (33.90)
    <BLANKLINE>
    """
    from io import StringIO

    from rich.console import Console

    console = Console(file=StringIO(), width=width, color_system=None, force_terminal=False)
    with console.capture() as captured:
        console.print(to_terminal(table, width=width, plain=True))
    return "\n".join(line.rstrip() for line in captured.get().split("\n"))


def _legend(table: Table, plain: bool) -> list[str]:
    if not _has_marks(table):
        return []
    return ["* best, + second." if plain else "Bold: best; underlined: second."]


def _column(table: Table, j: int, plain: bool) -> list[Text]:
    """Return the heading and the entries of a column, all of one width, their parts aligned."""
    from rich.text import Text

    column, entries = table.columns[j], [row.entries[j] for row in table.rows]
    mark = _PLAIN_MARKS if plain and _has_marks(table) else dict.fromkeys(_PLAIN_MARKS, "")
    ours = [_ours(entry, column) + mark[entry.mark] for entry in entries]
    theirs = [_theirs(entry, column) for entry in entries]
    room, behind = max(map(len, ours)), max(map(len, theirs))
    texts = [Text(column.name)]
    for entry, own, printed in zip(entries, ours, theirs, strict=True):
        text = Text(" " * (room - len(own)))
        text.append(own, style="" if plain else _STYLES[entry.mark])
        if behind:
            text.append(f" {printed:>{behind}}", style="" if plain else "dim")
        texts.append(text)
    width = max(text.cell_len for text in texts)
    for text in texts:
        text.pad_left(width - text.cell_len)
    return texts


def _label_width(table: Table) -> int:
    return max(len(text) for text in (table.corner, *(row.label for row in table.rows)))


def _parts(label: int, columns: Sequence[list[Text]], width: int) -> list[list[list[Text]]]:
    """Deal the columns out into blocks that fit, in their order; one column at least in each."""
    parts: list[list[list[Text]]] = []
    used = width
    for column in columns:
        need = _GAP + column[0].cell_len
        if used + need > width:
            parts.append([])
            used = label
        parts[-1].append(column)
        used += need
    return parts


def _block(table: Table, part: Sequence[list[Text]], plain: bool) -> Lines:
    from rich import box
    from rich.table import Table as Lines
    from rich.text import Text

    # A column is followed by a blank and by the box's own blank divider: a gap of two.
    lines = Lines(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        header_style="" if plain else "bold",
    )
    for heading in (Text(table.corner), *(column[0] for column in part)):
        lines.add_column(heading, overflow="fold")
    for i, row in enumerate(table.rows, start=1):
        lines.add_row(Text(row.label), *(column[i] for column in part))
    return lines


# --- Markdown -----------------------------------------------------------------------------------


def to_markdown(table: Table) -> str:
    """Return the table as GitHub's Markdown, with its title above and its notes below.

    Examples
    --------
    >>> from skatter_bench.tables import Row
    >>> row = Row("sca", (Entry(33.9, 33.9, "best"),))
    >>> print(to_markdown(Table("Accuracy", "method", (Column("A->W"),), (row,))))
    **Accuracy**
    <BLANKLINE>
    | method | A->W |
    | :--- | ---: |
    | sca | **33.90** (33.90) |
    <BLANKLINE>
    Bold: best; italics: second.
    <BLANKLINE>
    """
    heads = [_markdown(text) for text in (table.corner, *(c.name for c in table.columns))]
    lines = [_markdown_row(heads), _markdown_row([":---", *["---:"] * len(table.columns)])]
    for row in table.rows:
        pairs = zip(row.entries, table.columns, strict=True)
        cells = [_markdown_entry(entry, column) for entry, column in pairs]
        lines.append(_markdown_row([_markdown(row.label), *cells]))
    legend = ["Bold: best; italics: second."] if _has_marks(table) else []
    notes = [_markdown(note) for note in table.notes]
    return "\n\n".join([f"**{_markdown(table.title)}**", "\n".join(lines), *legend, *notes]) + "\n"


def _markdown(text: str) -> str:
    """Escape what Markdown or HTML inside it would read as something else than text."""
    one_line = " ".join(text.split())
    entities = one_line.replace("&", "&amp;").replace("<", "&lt;")
    return re.sub(r"([\\`*_\[\]|~]|^[>#+-])", r"\\\1", entities)


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _markdown_entry(entry: Entry, column: Column) -> str:
    sign = {"best": "**", "second": "*", "": ""}[entry.mark]
    ours = f"{sign}{_markdown(_ours(entry, column))}{sign}"
    return f"{ours} {_theirs(entry, column)}".strip()


# --- LaTeX --------------------------------------------------------------------------------------

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "±": r"$\pm$",
    "×": r"$\times$",
    "→": r"$\to$",
}


def to_latex(table: Table, *, label: str = "") -> str:
    r"""Return the table as a LaTeX float, shrunk to the width of the text.

    The document needs the packages ``booktabs`` and ``graphicx``, and ``fontenc`` with T1.

    Parameters
    ----------
    table : Table
        What to show.
    label : str
        For ``\ref``; letters, digits and ``:.-`` only, no label where empty.

    Raises
    ------
    ValueError
        If the label has other characters.
    """
    if not re.fullmatch(r"[A-Za-z0-9:.\-]*", label):
        raise ValueError(f"label must have letters, digits and :.- only, got {label!r}.")
    heads = [_latex(text) for text in (table.corner, *(c.name for c in table.columns))]
    body = []
    for row in table.rows:
        pairs = zip(row.entries, table.columns, strict=True)
        cells = [_latex_entry(entry, column) for entry, column in pairs]
        body.append(_latex_row([_latex(row.label), *cells]))
    legend = ["Bold: best; underlined: second."] if _has_marks(table) else []
    notes = [_latex(note) for note in (*legend, *table.notes)]
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{_latex(table.title)}}}",
            *([rf"\label{{{label}}}"] if label else []),
            r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
            rf"\begin{{tabular}}{{l{'r' * len(table.columns)}}}",
            r"\toprule",
            _latex_row(heads),
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}%",
            r"}",
            *(rf"\par\smallskip{{\footnotesize {note}\par}}" for note in notes),
            r"\end{table}",
            "",
        ]
    )


def _latex(text: str) -> str:
    arrows = " ".join(text.split()).replace("->", "→")
    return "".join(_LATEX.get(character, character) for character in arrows)


def _latex_row(cells: Sequence[str]) -> str:
    return rf"{' & '.join(cells)} \\"


def _latex_entry(entry: Entry, column: Column) -> str:
    command = {"best": r"\textbf{", "second": r"\underline{", "": "{"}[entry.mark]
    ours = _latex(_ours(entry, column))
    ours = f"{command}{ours}}}" if entry.mark else ours
    theirs = _latex(_theirs(entry, column))
    return rf"{ours} {{\scriptsize {theirs}}}" if theirs else ours


# --- HTML ---------------------------------------------------------------------------------------


def to_html(table: Table) -> str:
    """Return the table as a fragment of HTML; ``data-value`` holds what to sort a column by.

    Missing values have an empty one. A column whose smallest value is the best has
    ``data-order="ascending"``.

    Examples
    --------
    >>> from skatter_bench.tables import Row
    >>> row = Row("<b>", (Entry(33.9, 33.9, "best"),))
    >>> fragment = to_html(Table("Accuracy", "method", (Column("A->W"),), (row,)))
    >>> print(fragment.splitlines()[6])
    <tr><th scope="row" data-value="&lt;b&gt;">&lt;b&gt;</th><td data-value="33.9" \
class="best"><strong>33.90</strong> <small>(33.90)</small></td></tr>
    """
    heads = [f'<th scope="col">{html.escape(table.corner)}</th>']
    heads += [_html_head(column) for column in table.columns]
    lines = [
        '<table class="results">',
        f"<caption>{html.escape(table.title)}</caption>",
        "<thead>",
        f"<tr>{''.join(heads)}</tr>",
        "</thead>",
        "<tbody>",
    ]
    for row in table.rows:
        pairs = zip(row.entries, table.columns, strict=True)
        cells = "".join(_html_entry(entry, column) for entry, column in pairs)
        name = html.escape(row.label)
        lines.append(f'<tr><th scope="row" data-value="{name}">{name}</th>{cells}</tr>')
    lines += ["</tbody>", "</table>"]
    legend = ["Bold: best; underlined: second."] if _has_marks(table) else []
    notes = [f"<li>{html.escape(note)}</li>" for note in (*legend, *table.notes)]
    if notes:
        lines += ['<ul class="notes">', *notes, "</ul>"]
    return "\n".join(lines) + "\n"


def _html_head(column: Column) -> str:
    order = "descending" if column.kind == "percent" else "ascending"
    return f'<th scope="col" data-order="{order}">{html.escape(column.name)}</th>'


def _html_entry(entry: Entry, column: Column) -> str:
    ours = html.escape(_ours(entry, column))
    if entry.mark:
        tag = "strong" if entry.mark == "best" else "u"
        ours = f"<{tag}>{ours}</{tag}>"
    theirs = html.escape(_theirs(entry, column))
    text = f"{ours} <small>{theirs}</small>" if theirs else ours
    value = "" if math.isnan(entry.value) else repr(float(entry.value))
    style = f' class="{entry.mark}"' if entry.mark else ""
    return f'<td data-value="{value}"{style}>{text}</td>'
