"""Tables of results beside the published ones: rows of entries, before they are text.

A :class:`Table` knows numbers, marks and notes, and nothing of how they look;
:mod:`skatter_bench.render` writes it to a terminal, as Markdown, LaTeX or HTML. All numbers of a
table come from one protocol: settings tuned in different ways do not compare.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from skatter_bench.protocols import PROTOCOLS, TARGET_ORACLE
from skatter_bench.published import ROUNDING, Mark, Published
from skatter_bench.published import published as published_table
from skatter_bench.ranks import mean_ranks

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

    from skatter_bench.results import Outcome

Kind = Literal["percent", "rank", "seconds", "times"]
Method = tuple[str, str]
"""A contestant and its classifier."""
Place = tuple[str, str]
"""A group and one of its tasks."""

ORACLE = (
    "Oracle: tuned on the target, by the very labels that the numbers are scored on. "
    "They are an upper bound, not a result."
)
FAILED, ABSENT = "failed", "n/a"
AVERAGE, MEAN_RANK = "average", "mean rank"
SELF, OTHERS, DROP = "self", "mean others", "percent drop"
_ERROR_LENGTH = 160

MANY_GROUPS = 12
"""More groups than this are a collection: each counts once in its average and mean rank."""


@dataclass(frozen=True)
class Column:
    """Heading of a column, and what its numbers are."""

    name: str
    kind: Kind = "percent"


@dataclass(frozen=True)
class Entry:
    """One number of a table.

    Attributes
    ----------
    value : float
        Ours; nan where there is none.
    published : float or None
        The paper's.
    mark : "best", "second" or ""
        Its place in the column, by our numbers.
    spread : float or None
        Standard deviation over runs; None where there is one run.
    note : str
        What to print instead of a missing value.
    """

    value: float = math.nan
    published: float | None = None
    mark: Mark = ""
    spread: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Row:
    """A label and one entry for every column."""

    label: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Table:
    """What a table says, before it is text.

    Attributes
    ----------
    title : str
        Over the table.
    corner : str
        Heading of the labels.
    columns : tuple of Column
        Headings of the entries.
    rows : tuple of Row
        Each with as many entries as there are columns.
    notes : tuple of str
        Sentences under the table.
    """

    title: str
    corner: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()

    def column(self, name: str) -> dict[str, Entry]:
        """Return the entries of a column by the labels of their rows."""
        place = [column.name for column in self.columns].index(name)
        return {row.label: row.entries[place] for row in self.rows}

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Let ``console.print(table)`` fit the table to the terminal."""
        from skatter_bench.render import to_terminal

        plain = console.color_system is None
        yield to_terminal(self, width=options.max_width, plain=plain)


# --- accuracies -------------------------------------------------------------------------------


def accuracy_table(
    outcomes: Iterable[Outcome], *, published: str | None = None, title: str = ""
) -> Table:
    """Lay out one suite: methods in rows, tasks in columns, then the average and the mean rank.

    A suite of several groups of tasks has a column for the average of each group instead; where
    there are many, their average comes first, and ranks are those of groups. Numbers
    tuned on the target stand beside published ones that were, and beside no others.

    Parameters
    ----------
    outcomes : iterable of Outcome
        Of one suite and one protocol. Several seeds or draws of a task are averaged.
    published : str or None
        Key of the paper's table to compare with; see :func:`skatter_bench.published.published`.
    title : str
        What the table is about; the name of the suite where empty.

    Returns
    -------
    Table

    Raises
    ------
    ValueError
        If outcomes are missing, come twice, or are of several suites or protocols.

    Examples
    --------
    >>> from skatter_bench.results import Outcome
    >>> def outcome(task, method, accuracy):
    ...     label = f"{method} + 1NN"
    ...     return Outcome("table2", task, "surf", method, "1nn", label, "source-cv",
    ...                    0, 0, accuracy, 295, {}, None, 1.0, 1.0, None)
    >>> table = accuracy_table(
    ...     [outcome("A->W", "raw", 29.83), outcome("A->W", "sca", 33.9)], published="table2")
    >>> table.column("A->W")["sca + 1NN"]
    Entry(value=33.9, published=33.9, mark='best', spread=None, note='')
    """
    results = _Results(outcomes)
    suite, protocol = results.only("suite"), results.only("protocol")
    paper = _beside(published, protocol)
    spans = results.spans()
    entries = [
        [_accuracy_entry(results, row, name, places, paper) for name, places in spans.items()]
        for row in results.rows
    ]
    columns = [Column(name) for name in spans]
    if is_collection(results.outcomes):
        columns = [Column(AVERAGE), *columns]
        entries = [[_mean_entry(line), *line] for line in entries]
    if len(results.places) > 1 and _add_ranks(results, entries):
        columns.append(Column(MEAN_RANK, "rank"))
    rows = _rows(list(results.rows.values()), _mark_columns(entries, columns))
    return Table(
        title=f"{title or suite}, {protocol}",
        corner="method",
        columns=tuple(columns),
        rows=rows,
        notes=(
            *_protocol_notes(protocol),
            *_spread_notes(results, rows),
            *_paper_notes(results, paper),
            *_withheld_notes(published, paper),
            *results.failures(),
        ),
    )


def accuracy_matrix(outcomes: Sequence[Outcome]) -> tuple[NDArray[np.float64], list[str]]:
    """Return accuracies, tasks by methods, and the methods; nan where there is none."""
    table = accuracy_table(outcomes)
    tasks = [j for j, c in enumerate(table.columns) if c.name not in (AVERAGE, MEAN_RANK)]
    rows = [[row.entries[j].value for j in tasks] for row in table.rows]
    return np.array(rows).T, [row.label for row in table.rows]


def summary_table(
    outcomes: Iterable[Outcome], *, published: Mapping[str, str | None], title: str = "Averages"
) -> Table:
    """Lay out the averages of several suites: methods in rows, suites in columns.

    Parameters
    ----------
    outcomes : iterable of Outcome
        Of one protocol.
    published : mapping of str to str or None
        Key of the paper's table by name of the suite.
    title : str
        What the table is about.

    Returns
    -------
    Table
    """
    results = _Results(outcomes)
    protocol = results.only("protocol")
    papers = {suite: _beside(published.get(suite), protocol) for suite in results.suites()}
    parts = {suite: results.of_suite(suite) for suite in papers}
    entries = [
        [
            _accuracy_entry(parts[suite], row, suite, parts[suite].places, papers[suite])
            for suite in papers
        ]
        for row in results.rows
    ]
    columns = [Column(suite) for suite in papers]
    return Table(
        title=f"{title}, {protocol}",
        corner="method",
        columns=tuple(columns),
        rows=_rows(list(results.rows.values()), _mark_columns(entries, columns)),
        notes=(
            *_protocol_notes(protocol),
            "Mean over the tasks of a suite; no mean where a task is missing or failed.",
            *_citation_notes([paper for paper in papers.values() if paper is not None]),
        ),
    )


def _accuracy_entry(
    results: _Results, row: Method, name: str, places: Sequence[Place], paper: Published | None
) -> Entry:
    entry = results.entry(row, places, "accuracy")
    return replace(entry, published=_printed(paper, row, name, places))


def is_collection(outcomes: Iterable[Outcome]) -> bool:
    """Whether there are so many groups of tasks that each counts as one."""
    return len({each.group for each in outcomes}) > MANY_GROUPS


def _mean_entry(line: Sequence[Entry]) -> Entry:
    """Return the mean over groups; one gap leaves no mean."""
    note = next((entry.note for entry in line if entry.note), "")
    return Entry(float(np.mean([entry.value for entry in line])), note=note)


def _add_ranks(results: _Results, entries: list[list[Entry]]) -> bool:
    """Append mean ranks over all tasks to the rows that have them all; say if there are any."""
    ranked = [[place] for place in results.places]
    if is_collection(results.outcomes):
        ranked = list(results.groups().values())
    table = [
        [results.entry(row, places, "accuracy").value for places in ranked] for row in results.rows
    ]
    complete = [not any(map(math.isnan, line)) for line in table]
    if sum(complete) < 2:
        return False
    whole = [line for line, known in zip(table, complete, strict=True) if known]
    ranks = iter(mean_ranks(np.transpose(whole)))
    for line, known in zip(entries, complete, strict=True):
        line.append(Entry(float(next(ranks))) if known else Entry(note=ABSENT))
    return True


# --- times ------------------------------------------------------------------------------------


def runtime_table(
    outcomes: Iterable[Outcome],
    *,
    published: str | None = None,
    reference: str = "sca",
    title: str = "Seconds",
) -> Table:
    """Lay out times: methods in rows, for every group of tasks seconds and multiples of SCA's.

    Machines differ, so that only multiples compare with the published ones.

    Parameters
    ----------
    outcomes : iterable of Outcome
        Of one protocol. Times are ``fit_seconds``, averaged over the tasks of a group.
    published : str or None
        Key of the paper's table to compare with.
    reference : str
        Contestant whose time is 1.
    title : str
        What the table is about.

    Returns
    -------
    Table
    """
    results = _Results(outcomes)
    protocol = results.only("protocol")
    paper = None if published is None else published_table(published)
    unit = next((row for row in results.rows if row[0] == reference), None)
    columns: list[Column] = []
    entries: list[list[Entry]] = [[] for _ in results.rows]
    for group, places in results.groups().items():
        seconds = {row: _seconds_entry(results, row, group, places, paper) for row in results.rows}
        columns.append(Column(group, "seconds"))
        if unit is not None:
            columns.append(Column(f"{group}, × {reference}", "times"))
        for row, line in zip(results.rows, entries, strict=True):
            line.append(seconds[row])
            if unit is not None:
                line.append(_multiple(seconds[row], seconds[unit]))
    missing = f"No multiples: {reference} is not among the methods."
    return Table(
        title=f"{title}, {protocol}",
        corner="method",
        columns=tuple(columns),
        rows=_rows(list(results.rows.values()), entries),
        notes=(
            *_protocol_notes(protocol),
            "Time to learn with the chosen setting and to predict the target, mean over tasks.",
            *((missing,) if unit is None else ()),
            *_citation_notes([] if paper is None else [paper]),
            *results.failures(),
        ),
    )


def _seconds_entry(
    results: _Results, row: Method, group: str, places: Sequence[Place], paper: Published | None
) -> Entry:
    entry = results.entry(row, places, "fit_seconds")
    return replace(entry, published=_printed(paper, row, group, places), spread=None)


def _multiple(entry: Entry, unit: Entry) -> Entry:
    printed = None
    if entry.published is not None and unit.published is not None:
        printed = entry.published / unit.published
    if math.isnan(entry.value) or math.isnan(unit.value) or unit.value == 0:
        return Entry(published=printed, note=entry.note or ABSENT)
    return Entry(entry.value / unit.value, printed)


# --- the bias of a data set: from each domain to each -------------------------------------------


def matrix_table(
    outcomes: Iterable[Outcome], *, published: str | None = None, title: str = ""
) -> Table:
    r"""Lay out one method from every domain to every domain, as the paper's table 6.

    The percent drop is :math:`100\,(\text{self} - \text{mean others}) / \text{self}`; the last row
    holds means over the other domains to learn from, and means of the margins.

    Parameters
    ----------
    outcomes : iterable of Outcome
        Of one suite, one protocol and one method; tasks are named ``"train->test"``.
    published : str or None
        Key of the paper's table to compare with.
    title : str
        What the table is about; the name of the suite where empty.

    Returns
    -------
    Table
    """
    results = _Results(outcomes)
    suite, protocol = results.only("suite"), results.only("protocol")
    row, *others = results.rows
    if others:
        names = ", ".join(results.rows.values())
        raise ValueError(f"outcomes must be of one method, got {names}; make a table for each.")
    paper = _beside(published, protocol)
    domains = _domains([task for _, task in results.places])
    ours = {place[1]: results.entry(row, [place], "accuracy") for place in results.places}
    name = None if paper is None else paper.name_of(*row)
    printed = paper.values[name] if paper is not None and name is not None else {}
    rows = _rows([*domains, OTHERS], _matrix_entries(domains, ours, printed))
    return Table(
        title=f"{title or suite}: {results.rows[row]}, {protocol}",
        corner="train \\ test",
        columns=tuple(Column(name) for name in (*domains, SELF, OTHERS, DROP)),
        rows=rows,
        notes=(
            *_protocol_notes(protocol),
            *_spread_notes(results, rows),
            *_paper_notes(results, paper),
            *(_margin_notes(paper, rows) if paper is not None else ()),
            *results.failures(),
        ),
    )


def _domains(tasks: Sequence[str]) -> list[str]:
    pairs = [task.split("->") for task in tasks]
    if any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"tasks must be named train->test, got {', '.join(tasks)}.")
    return list(dict.fromkeys(domain for pair in pairs for domain in pair))


def _matrix_entries(
    domains: Sequence[str], ours: Mapping[str, Entry], printed: Mapping[str, float]
) -> list[list[Entry]]:
    values = _with_margins(domains, {task: entry.value for task, entry in ours.items()})
    theirs = _with_margins(domains, printed)
    entries = [
        [
            Entry(value, _known(other), note=ABSENT if math.isnan(value) else "")
            for value, other in zip(line, other_line, strict=True)
        ]
        for line, other_line in zip(values, theirs, strict=True)
    ]
    # The matrix itself, inside its margins, knows spreads and failures.
    for i, train in enumerate(domains):
        for j, test in enumerate(domains):
            own = ours.get(f"{train}->{test}", Entry(note=ABSENT))
            entries[i][j] = replace(own, published=entries[i][j].published)
    return entries


def _with_margins(domains: Sequence[str], values: Mapping[str, float]) -> list[list[float]]:
    """Return the matrix with its margins on the right and below; nan where something is missing."""
    square = np.array([[values.get(f"{a}->{b}", math.nan) for b in domains] for a in domains])
    own = np.diag(square)
    n_others = max(len(domains) - 1, 1)
    others = (square.sum(axis=1) - own) / n_others
    body = np.column_stack([square, own, others, 100 * (own - others) / own])
    below = (square.sum(axis=0) - own) / n_others
    drop = 100 * (own.mean() - others.mean()) / own.mean()
    return np.vstack([body, [*below, own.mean(), others.mean(), drop]]).tolist()


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _margin_notes(paper: Published, rows: Sequence[Row]) -> list[str]:
    """Say where the paper prints other margins than its own matrix gives."""
    domains = [row.label for row in rows[:-1]]
    slips = []
    for row in rows:
        computed = dict(zip((*domains, SELF, OTHERS, DROP), row.entries, strict=True))
        for name, printed in paper.summary.get(row.label, {}).items():
            entry = computed.get(name)
            if entry is None or entry.published is None or isinstance(printed, str):
                continue
            if abs(entry.published - printed) > ROUNDING:
                slips.append(f"{printed:.2f} as {name} of {row.label} ({entry.published:.2f})")
    if not slips:
        return []
    return [f"Margins are recomputed from the matrix; the paper prints {', '.join(slips)}."]


# --- what all tables share ----------------------------------------------------------------------


class _Results:
    """Outcomes by method and place, in the order in which they come.

    A place is a task of a group: two groups may have tasks of the same name.
    """

    def __init__(self, outcomes: Iterable[Outcome]) -> None:
        self.outcomes = list(outcomes)
        if not self.outcomes:
            raise ValueError("outcomes are empty: there is nothing to put into a table.")
        self.rows: dict[Method, str] = {}
        self._runs: dict[tuple[Method, Place], list[Outcome]] = {}
        for each in self.outcomes:
            row, place = (each.contestant, each.classifier), (each.group, each.task)
            self.rows[row] = each.label
            self._runs.setdefault((row, place), []).append(each)
        self.places = list(dict.fromkeys(place for _, place in self._runs))
        self._check_once()

    def _check_once(self) -> None:
        counts = Counter(
            (each.suite, each.protocol, each.group, each.label, each.task, *_run(each))
            for each in self.outcomes
        )
        (*_, label, task, seed, draw), count = counts.most_common(1)[0]
        if count > 1:
            raise ValueError(
                f"outcomes hold {label} on {task} with seed {seed} and draw {draw} "
                f"{count} times; give each run once."
            )

    def only(self, attribute: Literal["suite", "protocol"]) -> str:
        """Return the one suite or protocol of all outcomes."""
        values = list(dict.fromkeys(getattr(each, attribute) for each in self.outcomes))
        if len(values) > 1:
            raise ValueError(
                f"outcomes must share one {attribute}, got {', '.join(values)}: "
                "their numbers do not compare. Make a table for each."
            )
        return str(values[0])

    def suites(self) -> list[str]:
        """Return the names of all suites."""
        return list(dict.fromkeys(each.suite for each in self.outcomes))

    def of_suite(self, suite: str) -> _Results:
        """Return the outcomes of one suite."""
        return _Results(each for each in self.outcomes if each.suite == suite)

    def groups(self) -> dict[str, list[Place]]:
        """Return the places of every group."""
        groups: dict[str, list[Place]] = {}
        for place in self.places:
            groups.setdefault(place[0], []).append(place)
        return groups

    def spans(self) -> dict[str, list[Place]]:
        """Return what the columns of accuracies are about, by their headings.

        One group: its tasks, and the average of several. Several groups: the average of each.
        """
        groups = self.groups()
        if len(groups) > 1:
            return groups
        spans = {place[1]: [place] for place in self.places}
        return spans if len(spans) == 1 else {**spans, AVERAGE: self.places}

    def entry(
        self, row: Method, places: Sequence[Place], what: Literal["accuracy", "fit_seconds"]
    ) -> Entry:
        """Return the mean over places of the means over runs; one gap leaves no mean."""
        runs = [self._runs.get((row, place), []) for place in places]
        if any(_failed(each) for own in runs for each in own):
            return Entry(note=FAILED)
        if not all(runs):
            return Entry(note=ABSENT)
        values = [{_run(each): getattr(each, what) for each in own} for own in runs]
        return Entry(
            float(np.mean([np.mean([*own.values()]) for own in values])), spread=_spread(values)
        )

    def n_runs(self) -> int:
        """Return the largest number of runs behind a number."""
        return max(len(runs) for runs in self._runs.values())

    def failures(self) -> list[str]:
        """Say for every place that failed how often, and why the first time."""
        said = []
        for (row, (_, task)), runs in self._runs.items():
            broken = [each for each in runs if _failed(each)]
            if broken:
                often = f" in {len(broken)} of {len(runs)} runs" if len(runs) > 1 else ""
                why = " ".join((broken[0].error or "no reason given").split())
                short = why if len(why) <= _ERROR_LENGTH else f"{why[:_ERROR_LENGTH]} ..."
                said.append(f"{self.rows[row]} failed on {task}{often}: {short}")
        return said


def _run(outcome: Outcome) -> tuple[int, int]:
    return outcome.seed, outcome.draw


def _failed(outcome: Outcome) -> bool:
    return bool(outcome.error) or math.isnan(outcome.accuracy)


def _spread(values: Sequence[Mapping[tuple[int, int], float]]) -> float | None:
    """Return the deviation over runs of the mean over places.

    None where there is one run, or where places have different runs.
    """
    runs = values[0].keys()
    if len(runs) < 2 or any(own.keys() != runs for own in values):
        return None
    return float(np.std([np.mean([own[run] for own in values]) for run in runs], ddof=1))


def _beside(key: str | None, protocol: str) -> Published | None:
    """Return the paper's table where it compares: an upper bound with upper bounds alone."""
    if key is None:
        return None
    paper = published_table(key)
    return paper if paper.tuned_on_target == (protocol == TARGET_ORACLE) else None


def _printed(
    paper: Published | None, row: Method, name: str, places: Sequence[Place]
) -> float | None:
    """Return the published number of a column, or the mean of those of its tasks."""
    method = None if paper is None else paper.name_of(*row)
    if paper is None or method is None:
        return None
    value = paper.value(method, name)
    if value is not None:
        return value
    values = [paper.value(method, task) for _, task in places]
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if len(known) == len(values) else None


def _rows(labels: Sequence[str], entries: Sequence[Sequence[Entry]]) -> tuple[Row, ...]:
    return tuple(Row(label, tuple(line)) for label, line in zip(labels, entries, strict=True))


def _mark_columns(entries: list[list[Entry]], columns: Sequence[Column]) -> list[list[Entry]]:
    for j, column in enumerate(columns):
        sign = -1 if column.kind == "rank" else 1
        marks = mark([sign * line[j].value for line in entries])
        for line, place in zip(entries, marks, strict=True):
            line[j] = replace(line[j], mark=place)
    return entries


def mark(values: Sequence[float]) -> list[Mark]:
    """Mark the largest value and the second largest; equal ones, as printed, share a mark.

    Nothing is marked where there is nothing to compare.

    Examples
    --------
    >>> mark([1.0, 3.0, 2.0, 3.0, float("nan")])
    ['', 'best', 'second', 'best', '']
    """
    shown = [round(value, 2) for value in values]
    known = [value for value in shown if not math.isnan(value)]
    places = sorted(set(known), reverse=True)
    if len(known) < 2:
        return [""] * len(shown)
    marks: dict[float, Mark] = dict(zip(places, ("best", "second"), strict=False))
    return [marks.get(value, "") for value in shown]


# --- notes --------------------------------------------------------------------------------------


def _protocol_notes(protocol: str) -> list[str]:
    if protocol == TARGET_ORACLE:
        return [ORACLE]
    what = PROTOCOLS.get(protocol, "")
    return [f"{what[0].upper()}{what[1:]}."] if what else []


def _spread_notes(results: _Results, rows: Sequence[Row]) -> list[str]:
    if all(entry.spread is None for row in rows for entry in row.entries):
        return []
    return [f"Mean ± standard deviation over up to {results.n_runs()} runs (seeds and draws)."]


def _citation_notes(papers: Sequence[Published]) -> list[str]:
    if not papers:
        return []
    names = ", ".join(dict.fromkeys(_said(paper.key) for paper in papers))
    caption = f" ({papers[0].caption})" if len(papers) == 1 else ""
    return [f"In brackets: {names}{caption} of {papers[0].citation}."]


def _withheld_notes(key: str | None, shown: Published | None) -> list[str]:
    if key is None or shown is not None:
        return []
    how = "target" if published_table(key).tuned_on_target else "source"
    return [f"The paper chose the settings of its {_said(key)} by {how} labels: no comparison."]


def _said(key: str) -> str:
    """Write a key in words.

    Examples
    --------
    >>> _said("table10")
    'table 10'
    """
    word = key.rstrip("0123456789")
    return f"{word} {key[len(word) :]}"


def _paper_notes(results: _Results, paper: Published | None) -> list[str]:
    """Cite the paper, and say where its averages or its test sets are not what they seem."""
    if paper is None:
        return []
    notes = _citation_notes([paper])
    shown = {paper.name_of(*row) for row in results.rows}
    wrong = {n: pair for n, pair in paper.misprinted_averages().items() if n in shown}
    if wrong and set(paper.tasks) == {task for _, task in results.places}:
        slips = ", ".join(
            f"{printed:.2f} for {n} ({own:.2f})" for n, (printed, own) in wrong.items()
        )
        notes.append(f"Averages are recomputed from the rows; the paper prints {slips}.")
    sizes = {each.task: each.n_test for each in results.outcomes if not _failed(each)}
    other = [
        f"{task} {size:,} (paper {paper.n_test[task]:,})"
        for task, size in sizes.items()
        if paper.n_test.get(task, size) != size
    ]
    if other:
        notes.append(f"Test samples differ from the paper's: {', '.join(other)}.")
    return notes
