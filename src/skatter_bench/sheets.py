"""Sheets: tables as a page shows them, with texts to read, values to sort by, and reasons.

Numbers, averages and marks come from :mod:`skatter_bench.tables`; nothing is computed twice. A
sheet adds what only a page has: averages before the tasks, names over groups of columns, which
rows are the paper's, and why a number is missing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from statistics import median
from typing import Any, Literal

from skatter_bench.published import published
from skatter_bench.render import number
from skatter_bench.results import Outcome, SuiteResults
from skatter_bench.show import table_of
from skatter_bench.suite import Suite
from skatter_bench.tables import AVERAGE, FAILED, MEAN_RANK, Column, Entry, Row, Table

Direction = Literal["ascending", "descending"]
Reason = Callable[[str, str], str]

METHOD = "Method"
"""Corner of a sheet whose lines are methods."""

_OVERALL = (AVERAGE, MEAN_RANK)


@dataclass(frozen=True)
class Cell:
    """One entry of a sheet.

    Attributes
    ----------
    text : str
        What is read.
    value : float, str or None
        What is sorted by; None comes last, whichever way.
    kind : "number", "words", "setting", "error", "failed" or "absent"
        How it looks.
    mark : "best", "second" or ""
        Its place in the column.
    spread, printed : str
        Standard deviation over runs; the published number.
    reason : str
        Why there is no number.
    """

    text: str
    value: float | str | None = None
    kind: str = "number"
    mark: str = ""
    spread: str = ""
    printed: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Head:
    """Heading of a column.

    Attributes
    ----------
    name, hint : str
        What it says, and more quietly below.
    group : str
        What stands over it and its neighbours.
    first : "ascending" or "descending"
        Which way the column is sorted first.
    overall : bool
        Whether the column sums up others.
    words : bool
        Whether it holds text.
    """

    name: str
    hint: str = ""
    group: str = ""
    first: Direction = "descending"
    overall: bool = False
    words: bool = False


@dataclass(frozen=True)
class Line:
    """A label and its cells; ``paper`` where the paper has such a row."""

    label: str
    cells: tuple[Cell, ...]
    paper: bool = False


@dataclass(frozen=True)
class Sheet:
    """Lines under headings; ``corner`` is the heading of the labels, notes stand below."""

    corner: str
    heads: tuple[Head, ...]
    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()

    @property
    def groups(self) -> list[tuple[str, int]]:
        """Names over the columns and their widths; none where there is nothing to tell apart."""
        names = (head.group for head in self.heads)
        widths = [(name, sum(1 for _ in own)) for name, own in groupby(names)]
        return widths if len(widths) > 1 else []

    def has(self, what: Literal["mark", "spread", "printed"]) -> bool:
        """Whether any cell has a mark, a spread or a published number."""
        return any(getattr(cell, what) for line in self.lines for cell in line.cells)

    @property
    def mixes_paper(self) -> bool:
        """Whether some lines are the paper's and others are not."""
        return len({line.paper for line in self.lines}) > 1


# --- results --------------------------------------------------------------------------------------


def results_sheet(results: SuiteResults, protocol: str) -> Sheet:
    """Lay out one suite under one protocol as its kind asks for.

    Parameters
    ----------
    results : SuiteResults
        The suite and its outcomes.
    protocol : str
        Which of them; at least one.
    """
    outcomes = of_protocol(results, protocol)
    suite, groups = results.suite, by_group(outcomes)
    paper = paper_labels(suite, outcomes)
    table = table_of(suite, outcomes)
    if suite.kind not in ("accuracy", "synthetic") or len(groups) == 1:
        return _sheet(table, _reasons(outcomes), paper)
    # The table of several groups has their averages alone: a page has room for the tasks as well.
    whole = _sheet(table, _reasons(outcomes), paper, "Averages")
    heads = tuple(replace(head, overall=True) for head in whole.heads)
    tasks = (
        _tasks_alone(_sheet(table_of(suite, own), _reasons(own), paper, group))
        for group, own in groups.items()
    )
    return _side_by_side([replace(whole, heads=heads), *tasks])


def _tasks_alone(sheet: Sheet) -> Sheet:
    """Leave out the columns that sum up others."""
    own = [j for j, head in enumerate(sheet.heads) if not head.overall]
    return replace(
        sheet,
        heads=tuple(sheet.heads[j] for j in own),
        lines=tuple(replace(ln, cells=tuple(ln.cells[j] for j in own)) for ln in sheet.lines),
    )


def of_protocol(results: SuiteResults, protocol: str) -> list[Outcome]:
    """Return the outcomes of one protocol."""
    return [outcome for outcome in results.outcomes if outcome.protocol == protocol]


def by_group(outcomes: Iterable[Outcome]) -> dict[str, list[Outcome]]:
    """Return the outcomes of every group of tasks."""
    groups: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault(outcome.group, []).append(outcome)
    return groups


def _sheet(table: Table, reason: Reason, paper: frozenset[str], group: str = "") -> Sheet:
    """Turn a table into a sheet: the average and the mean rank come before what they sum up."""
    names = [column.name for column in table.columns]
    order = sorted(range(len(names)), key=lambda j: AVERAGE in names and names[j] not in _OVERALL)
    return Sheet(
        corner=f"{table.corner[0].upper()}{table.corner[1:]}",
        heads=tuple(_head(table.columns[j], group) for j in order),
        lines=tuple(_line(table, row, order, reason, row.label in paper) for row in table.rows),
        notes=table.notes,
    )


def _head(column: Column, group: str) -> Head:
    return Head(
        column.name.capitalize() if column.name in _OVERALL else column.name,
        hint="seconds" if column.kind == "seconds" else "",
        group=group,
        first="descending" if column.kind == "percent" else "ascending",
        overall=column.name in _OVERALL,
    )


def _line(table: Table, row: Row, order: Sequence[int], reason: Reason, paper: bool) -> Line:
    cells = (
        _cell(row.entries[j], table.columns[j], reason(row.label, table.columns[j].name))
        for j in order
    )
    return Line(row.label, tuple(cells), paper)


def _cell(entry: Entry, column: Column, reason: str) -> Cell:
    printed = "" if entry.published is None else number(entry.published, column.kind)
    if math.isnan(entry.value):
        kind = "failed" if entry.note == FAILED else "absent"
        return Cell(entry.note, kind=kind, printed=printed, reason=reason)
    return Cell(
        number(entry.value, column.kind),
        entry.value,
        mark=entry.mark,
        spread="" if entry.spread is None else number(entry.spread),
        printed=printed,
    )


def _reasons(outcomes: Iterable[Outcome]) -> Reason:
    """Return a function that says why a method has no number in a column."""
    errors: dict[tuple[str, str], str] = {}
    failed: dict[str, dict[str, None]] = {}
    for each in outcomes:
        if each.error or not math.isfinite(each.accuracy):
            why = each.error or "no reason given"
            errors.setdefault((each.label, each.task), why)
            errors.setdefault((each.label, each.group), f"{each.task}: {why}")
            failed.setdefault(each.label, {})[each.task] = None

    def reason(label: str, column: str) -> str:
        if (label, column) in errors:
            return errors[label, column]
        if column in _OVERALL and label in failed:
            return f"Failed on {', '.join(failed[label])}: no average over all tasks."
        return "Not run on every task." if column in _OVERALL else "Not run."

    return reason


def paper_labels(suite: Suite, outcomes: Iterable[Outcome]) -> frozenset[str]:
    """Return the methods that the paper has in its table."""
    if suite.published is None:
        return frozenset()
    table = published(suite.published)
    return frozenset(
        each.label for each in outcomes if table.name_of(each.contestant, each.classifier)
    )


def _side_by_side(sheets: Sequence[Sheet]) -> Sheet:
    """Join sheets of the same methods; a method that one lacks was not run there."""
    labels = dict.fromkeys(line.label for sheet in sheets for line in sheet.lines)
    found = [{line.label: line for line in sheet.lines} for sheet in sheets]
    return Sheet(
        corner=sheets[0].corner,
        heads=tuple(head for sheet in sheets for head in sheet.heads),
        lines=tuple(
            Line(
                label,
                tuple(
                    cell
                    for sheet, lines in zip(sheets, found, strict=True)
                    for cell in _cells_or_absent(lines.get(label), len(sheet.heads))
                ),
                any(lines[label].paper for lines in found if label in lines),
            )
            for label in labels
        ),
        notes=tuple(dict.fromkeys(note for sheet in sheets for note in sheet.notes)),
    )


def _cells_or_absent(line: Line | None, width: int) -> tuple[Cell, ...]:
    return (Cell("–", kind="absent", reason="Not run."),) * width if line is None else line.cells


def summary_sheet(results: Sequence[SuiteResults], protocol: str) -> Sheet | None:
    """Put the averages of all suites beside each other; None where no suite has any.

    Only suites of accuracies take part: seconds and single domains have no average worth a look.
    """
    averages = []
    for each in results:
        if each.suite.kind in ("accuracy", "synthetic") and of_protocol(each, protocol):
            averages += _averages(each, results_sheet(each, protocol))
    return _side_by_side(averages) if averages else None


def _averages(results: SuiteResults, sheet: Sheet) -> list[Sheet]:
    """Return one sheet of one column for every average; a single task is its own."""
    suite = results.suite
    columns = [j for j, h in enumerate(sheet.heads) if h.overall and h.first == "descending"] or [0]
    several = len(columns) > 1
    return [
        Sheet(
            corner=sheet.corner,
            heads=(Head(suite.name, hint=sheet.heads[j].name if several else suite.title),),
            lines=tuple(Line(ln.label, (ln.cells[j],), ln.paper) for ln in sheet.lines),
        )
        for j in columns
    ]


# --- settings, failures, costs --------------------------------------------------------------------


def settings_sheet(outcomes: Sequence[Outcome]) -> Sheet:
    """List what was chosen for every method and task, and how it did in the folds."""
    chosen = [each for each in outcomes if not each.error and each.setting]
    return _list_of(
        chosen,
        (
            Head("Chosen setting", first="ascending", words=True),
            Head("In the folds", hint="percent"),
            Head("On the target", hint="percent"),
        ),
        lambda each: (
            _words(setting_words(each.setting), "setting"),
            _number(each.selection_score, number),
            _number(each.accuracy, number),
        ),
    )


def failures_sheet(outcomes: Sequence[Outcome]) -> Sheet:
    """List what failed, and why."""
    return _list_of(
        [each for each in outcomes if each.error],
        (Head("Error", first="ascending", words=True),),
        lambda each: (_words(each.error, "error"),),
    )


def _list_of(
    outcomes: Sequence[Outcome],
    heads: tuple[Head, ...],
    cells: Callable[[Outcome], tuple[Cell, ...]],
) -> Sheet:
    """Lay out one line for each outcome: its task, its run where there are several, its cells."""
    repeated = len({(each.seed, each.draw) for each in outcomes}) > 1
    which = (Head("Run", hint="seed, draw", first="ascending", words=True),) if repeated else ()
    return Sheet(
        METHOD,
        (Head("Task", first="ascending", words=True), *which, *heads),
        tuple(
            Line(
                each.label,
                (
                    _words(each.task),
                    *((_words(f"{each.seed}, {each.draw}"),) if repeated else ()),
                    *cells(each),
                ),
            )
            for each in outcomes
        ),
    )


def costs_sheet(outcomes: Sequence[Outcome]) -> Sheet:
    """Say what every method cost: all of its work, one fit, and memory."""
    methods: dict[str, list[Outcome]] = {}
    for each in outcomes:
        methods.setdefault(each.label, []).append(each)
    return Sheet(
        METHOD,
        (
            Head("CPU time", hint="all folds and settings", first="ascending"),
            Head("One fit", hint="median over tasks", first="ascending"),
            Head("Memory", hint="largest growth", first="ascending"),
        ),
        tuple(_cost_line(label, own) for label, own in methods.items()),
    )


def _cost_line(label: str, own: Sequence[Outcome]) -> Line:
    fits = [each.fit_seconds for each in own if math.isfinite(each.fit_seconds)]
    peaks = [each.peak_bytes for each in own if each.peak_bytes is not None]
    return Line(
        label,
        (
            _number(cpu_seconds(own), duration),
            _number(median(fits) if fits else None, duration),
            _number(max(peaks) if peaks else None, memory),
        ),
    )


def cpu_seconds(outcomes: Iterable[Outcome]) -> float:
    """Return the seconds of all the work behind some outcomes, as far as they were measured."""
    return math.fsum(each.seconds for each in outcomes if math.isfinite(each.seconds))


def _words(text: str, kind: str = "words") -> Cell:
    return Cell(text, text, kind=kind)


def _number(value: float | None, show: Callable[[float], str]) -> Cell:
    if value is None or not math.isfinite(value):
        return Cell("–", kind="absent", reason="Not measured.")
    return Cell(show(value), value)


# --- words ----------------------------------------------------------------------------------------


def duration(seconds: float) -> str:
    """Write seconds for people.

    Examples
    --------
    >>> [duration(each) for each in (0.01234, 3.14159, 59.96, 754, 9000)]
    ['0.012 s', '3.1 s', '60 s', '12 min 34 s', '2 h 30 min']
    """
    if seconds < 1:
        return f"{seconds:.3f} s"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours:,} h {minutes} min"


def memory(size: float) -> str:
    """Write bytes for people.

    Examples
    --------
    >>> [memory(each) for each in (51_200, 3_400_000, 2_500_000_000)]
    ['0.1 MB', '3.4 MB', '2.50 GB']
    """
    return f"{size / 1e9:.2f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"


def setting_words(setting: Mapping[str, Any]) -> str:
    """Write a setting.

    Examples
    --------
    >>> setting_words({"beta": 0.30000000000000004, "n_components": 20, "scale": None})
    'beta = 0.3, n_components = 20, scale = None'
    """
    return ", ".join(f"{name} = {_short(value)}" for name, value in setting.items())


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
