"""Which tables show outcomes: accuracies, averages, seconds, matrices, settings, failures, costs.

All numbers of a table come from one protocol: settings tuned in different ways do not compare.
Published numbers stand beside ours where they were tuned alike.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from skatter_bench.protocols import TARGET_ORACLE, say_protocol
from skatter_bench.published import ROUNDING, Published
from skatter_bench.published import published as published_table
from skatter_bench.ranks import duels, mean_ranks
from skatter_bench.results import Outcome, SuiteResults
from skatter_bench.suites import Suite
from skatter_bench.table import ABSENT, FAILED, Column, Entry, Mark, Row, Table, side_by_side

Method = tuple[str, str]
"""A contestant and its classifier."""
Place = tuple[str, str]
"""A group and one of its tasks."""

ORACLE = (
    "Oracle: tuned on the target, by the very labels that the numbers are scored on. "
    "They are an upper bound, not a result."
)
METHOD = "method"
"""Corner of a table whose rows are methods."""
AVERAGE, MEAN_RANK = "average", "mean rank"
SELF, OTHERS, DROP = "self", "mean others", "percent drop"

ALPHA = 0.05
"""A difference is called one where luck alone would make it more rarely."""

LEAST_TASKS = 6
"""With fewer, no difference between two methods can be told from luck at 0.05."""

MANY_GROUPS = 12
"""More groups than this are a collection: each counts once in its average and mean rank."""

_ERROR_LENGTH = 160


# --- a suite as its kind asks for ---------------------------------------------------------------


def table_of(suite: Suite, outcomes: Sequence[Outcome]) -> Table:
    """Return the table of a suite, for outcomes of one protocol; its notes hold a test."""
    if suite.kind == "runtime":
        return runtime_table(outcomes, published=suite.published, title=suite.title)
    if suite.kind == "matrix":
        nearest = [outcome for outcome in outcomes if outcome.classifier == "1nn"]
        return matrix_table(nearest, published=suite.published, title=suite.title)
    table = accuracy_table(outcomes, published=suite.published, title=suite.title)
    return replace(table, notes=(*table.notes, *_test_notes(outcomes)))


def page_table(suite: Suite, outcomes: Sequence[Outcome]) -> Table:
    """Return the table of a suite for a page, which has room for all tasks of several groups.

    Columns that sum up others come first.
    """
    table = table_of(suite, outcomes)
    groups = by_group(outcomes)
    if not has_averages(suite) or len(groups) == 1:
        if AVERAGE not in {column.name for column in table.columns}:
            return table
        places = range(len(table.columns))
        return table.select(sorted(places, key=lambda j: not table.columns[j].overall))
    averages = (replace(each, group="Averages", overall=True) for each in table.columns)
    parts = [replace(table, columns=tuple(averages))]
    for group, own in groups.items():
        tasks = _without_overall(table_of(suite, own))
        columns = tuple(replace(each, group=group) for each in tasks.columns)
        parts.append(replace(tasks, columns=columns))
    return side_by_side(parts)


def _without_overall(table: Table) -> Table:
    """Leave out columns that sum up others."""
    return table.select([j for j, column in enumerate(table.columns) if not column.overall])


def has_averages(suite: Suite) -> bool:
    """Whether averages over its tasks are worth a look: not of seconds or single domains."""
    return suite.kind in ("accuracy", "synthetic")


def by_group(
    outcomes: Iterable[Outcome], what: Literal["group", "label", "suite"] = "group"
) -> dict[str, list[Outcome]]:
    """Return the outcomes of every group of tasks, of every method, or of every suite."""
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        groups[getattr(outcome, what)].append(outcome)
    return groups


def of_protocol(results: SuiteResults, protocol: str) -> list[Outcome]:
    """Return the outcomes of one protocol."""
    return [outcome for outcome in results.outcomes if outcome.protocol == protocol]


def paper_labels(suite: Suite, outcomes: Iterable[Outcome]) -> frozenset[str]:
    """Return the labels of the methods that the paper has in its table."""
    if suite.published is None:
        return frozenset()
    table = published_table(suite.published)
    return frozenset(
        each.label for each in outcomes if table.name_of(each.contestant, each.classifier)
    )


# --- accuracies -------------------------------------------------------------------------------


def accuracy_table(
    outcomes: Iterable[Outcome], *, published: str | None = None, title: str = ""
) -> Table:
    """Lay out one suite: methods in rows, tasks in columns, then the average and the mean rank.

    A suite of several groups of tasks has a column for the average of each group instead; where
    there are many, their average comes first, and ranks are those of groups. Several seeds or
    draws of a task are averaged.
    """
    results = _Results(outcomes)
    suite, protocol = results.only("suite"), results.only("protocol")
    paper = _beside(published, protocol)
    spans = results.spans()
    columns = [Column(name, overall=name == AVERAGE) for name in spans]
    entries = [
        [results.accuracy(row, name, places, paper) for name, places in spans.items()]
        for row in results.rows
    ]
    if is_collection(results.outcomes):
        columns = [Column(AVERAGE, overall=True), *columns]
        entries = [[_mean_entry(line), *line] for line in entries]
    if len(results.places) > 1 and _add_ranks(results, entries):
        columns.append(Column(MEAN_RANK, "rank", overall=True))
    rows = _rows(results.rows.values(), _mark_columns(entries, columns))
    notes = (
        *_protocol_notes(protocol),
        *_spread_notes(results, rows),
        *_paper_notes(results, paper),
        *_withheld_notes(published, paper),
        *results.failures(),
    )
    return Table(f"{title or suite}, {protocol}", METHOD, tuple(columns), rows, notes)


def accuracy_matrix(outcomes: Sequence[Outcome]) -> tuple[NDArray[np.float64], list[str]]:
    """Return accuracies, tasks by methods, and the methods; nan where there is none."""
    table = _without_overall(accuracy_table(outcomes))
    rows = [[entry.value for entry in row.entries] for row in table.rows]
    return np.array(rows).T, [row.label for row in table.rows]


def summary_table(
    outcomes: Iterable[Outcome],
    *,
    published: Mapping[str, str | None],
    titles: Mapping[str, str] | None = None,
    title: str = "Averages",
) -> Table:
    """Lay out the averages of several suites: methods in rows, suites and their groups in columns.

    ``published`` has the key of the paper's table by name of the suite, ``titles`` its title.
    """
    results = _Results(outcomes)
    protocol = results.only("protocol")
    papers, columns, parts = [], [], []
    for suite, found in by_group(results.outcomes, "suite").items():
        own, paper = _Results(found), _beside(published.get(suite), protocol)
        papers += [] if paper is None else [paper]
        groups = own.groups()
        for group, places in groups.items():
            hint = group if len(groups) > 1 else (titles or {}).get(suite, "")
            columns.append(Column(suite, hint=hint))
            name = group if len(groups) > 1 else AVERAGE if len(places) > 1 else places[0][1]
            parts.append((own, name, places, paper))
    entries = [
        [own.accuracy(row, name, places, paper) for own, name, places, paper in parts]
        for row in results.rows
    ]
    rows = _rows(results.rows.values(), _mark_columns(entries, columns))
    notes = (
        *_protocol_notes(protocol),
        "Mean over the tasks of a suite; no mean where a task is missing or failed.",
        *_citation_notes(papers),
    )
    return Table(f"{title}, {protocol}", METHOD, tuple(columns), rows, notes)


def is_collection(outcomes: Iterable[Outcome]) -> bool:
    """Whether there are so many groups of tasks that each counts as one."""
    return len({each.group for each in outcomes}) > MANY_GROUPS


def _mean_entry(line: Sequence[Entry]) -> Entry:
    """Return the mean over groups; one gap leaves no mean."""
    for entry in line:
        if entry.missing:
            return Entry(note=entry.note, reason=entry.reason)
    return Entry(float(np.mean([entry.value for entry in line])))


def _add_ranks(results: _Results, entries: list[list[Entry]]) -> bool:
    """Append mean ranks over all tasks to the rows that have them all; say if there are any."""
    ranked = [[place] for place in results.places]
    if is_collection(results.outcomes):
        ranked = list(results.groups().values())
    found = [[results.entry(row, places, "accuracy") for places in ranked] for row in results.rows]
    whole = [[entry.value for entry in line] for line in found if not any(e.missing for e in line)]
    if len(whole) < 2:
        return False
    ranks = iter(mean_ranks(np.transpose(whole)))
    for line, own in zip(entries, found, strict=True):
        gaps = any(entry.missing for entry in own)
        absent = Entry(note=ABSENT, reason="Not run on every task.")
        line.append(absent if gaps else Entry(float(next(ranks))))
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

    Machines differ, so that only multiples compare with the published ones. Times are
    ``fit_seconds``, averaged over the tasks of a group.
    """
    results = _Results(outcomes)
    protocol = results.only("protocol")
    paper = None if published is None else published_table(published)
    unit = next((row for row in results.rows if row[0] == reference), None)
    columns: list[Column] = []
    entries: list[list[Entry]] = [[] for _ in results.rows]
    for group, places in results.groups().items():
        seconds = {
            row: replace(
                results.entry(row, places, "fit_seconds"),
                published=_printed(paper, row, group, places),
                spread=None,
            )
            for row in results.rows
        }
        columns.append(Column(group, "seconds", hint="seconds"))
        if unit is not None:
            columns.append(Column(f"{group}, × {reference}", "times"))
        for row, line in zip(results.rows, entries, strict=True):
            line.append(seconds[row])
            if unit is not None:
                line.append(_multiple(seconds[row], seconds[unit]))
    missing = [f"No multiples: {reference} is not among the methods."] if unit is None else []
    notes = (
        *_protocol_notes(protocol),
        "Time to learn with the chosen setting and to predict the target, mean over tasks.",
        *missing,
        *_citation_notes([] if paper is None else [paper]),
        *results.failures(),
    )
    rows = _rows(results.rows.values(), entries)
    return Table(f"{title}, {protocol}", METHOD, tuple(columns), rows, notes)


def _multiple(entry: Entry, unit: Entry) -> Entry:
    printed = None
    if entry.published is not None and unit.published is not None:
        printed = entry.published / unit.published
    if entry.missing or unit.missing or unit.value == 0:
        return Entry(published=printed, note=entry.note or ABSENT, reason=entry.reason)
    return Entry(float(entry.value) / float(unit.value), printed)


# --- the bias of a data set: from each domain to each -------------------------------------------


def matrix_table(
    outcomes: Iterable[Outcome], *, published: str | None = None, title: str = ""
) -> Table:
    r"""Lay out one method from every domain to every domain, as the paper's table 6.

    Tasks are named ``"train->test"``. The percent drop is
    :math:`100\,(\text{self} - \text{mean others}) / \text{self}`; the last row holds means over the
    other domains to learn from, and means of the margins.
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
    notes = (
        *_protocol_notes(protocol),
        *_spread_notes(results, rows),
        *_paper_notes(results, paper),
        *(_margin_notes(paper, rows) if paper is not None else ()),
        *results.failures(),
    )
    columns = tuple(Column(name) for name in (*domains, SELF, OTHERS, DROP))
    heading = f"{title or suite}: {results.rows[row]}, {protocol}"
    return Table(heading, "train \\ test", columns, rows, notes)


def _domains(tasks: Sequence[str]) -> list[str]:
    pairs = [task.split("->") for task in tasks]
    if any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"tasks must be named train->test, got {', '.join(tasks)}.")
    return list(dict.fromkeys(domain for pair in pairs for domain in pair))


def _matrix_entries(
    domains: Sequence[str], ours: Mapping[str, Entry], printed: Mapping[str, float]
) -> list[list[Entry]]:
    absent = Entry(note=ABSENT, reason="Not run.")
    values = _with_margins(domains, {task: float(entry.value) for task, entry in ours.items()})
    theirs = _with_margins(domains, printed)

    def entry(value: float, other: float) -> Entry:
        own = absent if math.isnan(value) else Entry(value)
        return replace(own, published=None if math.isnan(other) else other)

    entries = [list(map(entry, *lines)) for lines in zip(values, theirs, strict=True)]
    # The matrix itself, inside its margins, knows spreads and failures.
    for i, train in enumerate(domains):
        for j, test in enumerate(domains):
            own = ours.get(f"{train}->{test}", absent)
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


# --- settings, failures, costs ------------------------------------------------------------------


def settings_table(outcomes: Sequence[Outcome]) -> Table:
    """List what was chosen for every method and task, and how it did in the folds."""
    columns = (
        Column("Chosen setting", "setting"),
        Column("In the folds", hint="percent"),
        Column("On the target", hint="percent"),
    )
    return _list_of(
        "Chosen settings",
        [each for each in outcomes if not each.error and each.setting],
        columns,
        lambda each: (
            Entry(setting_words(each.setting)),
            _measured(each.selection_score),
            _measured(each.accuracy),
        ),
    )


def failures_table(outcomes: Sequence[Outcome]) -> Table:
    """List what failed, and why."""
    return _list_of(
        "Failures",
        [each for each in outcomes if each.error],
        (Column("Error", "error"),),
        lambda each: (Entry(each.error),),
    )


def _list_of(
    title: str,
    outcomes: Sequence[Outcome],
    columns: tuple[Column, ...],
    entries: Callable[[Outcome], tuple[Entry, ...]],
) -> Table:
    """Lay out one row for each outcome: its task, its run where there are several, its entries."""
    repeated = len({_run(each) for each in outcomes}) > 1
    which = (Column("Run", "words", hint="seed, draw"),) if repeated else ()

    def row(each: Outcome) -> Row:
        run = (Entry(f"{each.seed}, {each.draw}"),) if repeated else ()
        return Row(each.label, (Entry(each.task), *run, *entries(each)))

    return Table(
        title, METHOD, (Column("Task", "words"), *which, *columns), tuple(map(row, outcomes))
    )


def costs_table(outcomes: Sequence[Outcome]) -> Table:
    """Say what every method cost: all of its work, one fit, and memory."""
    columns = (
        Column("CPU time", "duration", "all folds and settings"),
        Column("One fit", "duration", "median over tasks"),
        Column("Memory", "memory", "largest growth"),
    )
    rows = []
    for label, own in by_group(outcomes, "label").items():
        fits = [each.fit_seconds for each in own if math.isfinite(each.fit_seconds)]
        peaks = [each.peak_bytes for each in own if each.peak_bytes is not None]
        costs = cpu_seconds(own), median(fits) if fits else None, max(peaks, default=None)
        rows.append(Row(label, tuple(map(_measured, costs))))
    return Table("Time and memory", METHOD, columns, tuple(rows))


def cpu_seconds(outcomes: Iterable[Outcome]) -> float:
    """Return the seconds of all the work behind some outcomes, as far as they were measured."""
    return math.fsum(each.seconds for each in outcomes if math.isfinite(each.seconds))


def costs_of(outcomes: Iterable[Outcome]) -> str:
    """Say what each contestant took, in CPU seconds over all tasks, folds and settings."""
    methods = by_group(outcomes, "label")
    seconds = {label: sum(each.seconds for each in own) for label, own in methods.items()}
    words = ", ".join(f"{label} {total:,.0f}" for label, total in seconds.items())
    total = f"{sum(seconds.values()):,.0f}"
    return f"CPU seconds, all tasks, folds and settings: {words}; together {total}."


def _measured(value: float | None) -> Entry:
    if value is None or not math.isfinite(value):
        return Entry(note="–", reason="Not measured.")
    return Entry(float(value))


def setting_words(setting: Mapping[str, Any]) -> str:
    """Write a setting."""
    return ", ".join(
        f"{name} = {value:.6g}" if isinstance(value, float) else f"{name} = {value}"
        for name, value in setting.items()
    )


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
        self.n_runs = max(len(runs) for runs in self._runs.values())
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

    def groups(self) -> dict[str, list[Place]]:
        """Return the places of every group."""
        groups: dict[str, list[Place]] = defaultdict(list)
        for place in self.places:
            groups[place[0]].append(place)
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
        failed = {each.task: each for own in runs for each in own if _failed(each)}
        if failed:
            why = f"Failed on {', '.join(failed)}: no average over all tasks."
            if len(places) == 1:
                why = next(iter(failed.values())).error or "no reason given"
            return Entry(note=FAILED, reason=why)
        if not all(runs):
            several = len(places) > 1
            return Entry(note=ABSENT, reason="Not run on every task." if several else "Not run.")
        values = [{_run(each): getattr(each, what) for each in own} for own in runs]
        return Entry(
            float(np.mean([np.mean([*own.values()]) for own in values])), spread=_spread(values)
        )

    def accuracy(
        self, row: Method, name: str, places: Sequence[Place], paper: Published | None
    ) -> Entry:
        """Return our accuracy with the published one beside it."""
        printed = _printed(paper, row, name, places)
        return replace(self.entry(row, places, "accuracy"), published=printed)

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


def _rows(labels: Iterable[str], entries: Sequence[Sequence[Entry]]) -> tuple[Row, ...]:
    return tuple(Row(label, tuple(line)) for label, line in zip(labels, entries, strict=True))


def _mark_columns(entries: list[list[Entry]], columns: Sequence[Column]) -> list[list[Entry]]:
    for j, column in enumerate(columns):
        sign = -1 if column.kind == "rank" else 1
        marks = mark([sign * float(line[j].value) for line in entries])
        for line, place in zip(entries, marks, strict=True):
            line[j] = replace(line[j], mark=place)
    return entries


def mark(values: Sequence[float]) -> list[Mark]:
    """Mark the largest value and the second largest; equal ones, as printed, share a mark.

    Nothing is marked where there is nothing to compare.
    """
    shown = [round(value, 2) for value in values]
    known = [value for value in shown if not math.isnan(value)]
    places = sorted(set(known), reverse=True)
    if len(known) < 2:
        return [""] * len(shown)
    marks: dict[float, Mark] = dict(zip(places, ("best", "second"), strict=False))
    return [marks.get(value, "") for value in shown]


# --- notes --------------------------------------------------------------------------------------


def _test_notes(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Compare everybody with the best by Wilcoxon's signed ranks; not what is an upper bound."""
    several = len({outcome.group for outcome in outcomes}) > 1 and not is_collection(outcomes)
    if several or any(outcome.protocol == TARGET_ORACLE for outcome in outcomes):
        return
    accuracy, labels = accuracy_matrix(outcomes)
    n_complete = np.sum(~np.isnan(accuracy).any(axis=0))
    if len(accuracy) < LEAST_TASKS or n_complete < 2:
        return
    found = duels(accuracy, labels)
    alike = ", ".join(duel.method for duel in found if duel.adjusted >= ALPHA)
    verdict = f"no difference at {ALPHA} to {alike}" if alike else f"all others differ at {ALPHA}"
    yield (
        f"Wilcoxon's signed-rank test against the best mean rank, {found[0].reference}, corrected "
        f"after Holm: {verdict}."
    )


def _protocol_notes(protocol: str) -> list[str]:
    if protocol == TARGET_ORACLE:
        return [ORACLE]
    said = say_protocol(protocol)
    return [said] if said else []


def _spread_notes(results: _Results, rows: Sequence[Row]) -> list[str]:
    if all(entry.spread is None for row in rows for entry in row.entries):
        return []
    return [f"Mean ± standard deviation over up to {results.n_runs} runs (seeds and draws)."]


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
    """Write a key in words."""
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
