"""Which tables show outcomes: accuracies, averages, seconds, matrices, settings, failures, costs.

All numbers of a table come from one protocol: settings tuned in different ways do not compare.
Published numbers stand beside ours where they were tuned alike.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
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
from skatter_bench.table import ABSENT, FAILED, Column, Entry, Mark, Table, side_by_side

Method = tuple[str, str]  # a contestant and its classifier
Place = tuple[str, str]  # a group and one of its tasks
ORACLE = (
    "Oracle: tuned on the target, by the very labels that the numbers are scored on. "
    "They are an upper bound, not a result."
)
METHOD = "method"  # corner of a table whose rows are methods
AVERAGE, MEAN_RANK = "average", "mean rank"
SELF, OTHERS, DROP = "self", "mean others", "percent drop"
ALPHA = 0.05  # a difference is called one where luck alone would make it more rarely
LEAST_TASKS = 6  # with fewer, no difference between two methods can be told from luck at 0.05
MANY_GROUPS = 12
"""More groups than this are a collection: each counts once in its average and mean rank."""
_NOT_RUN = Entry(note=ABSENT, reason="Not run.")
_NOT_EVERYWHERE = Entry(note=ABSENT, reason="Not run on every task.")
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
    table, groups = table_of(suite, outcomes), by_group(outcomes)
    if not has_averages(suite) or len(groups) == 1:
        if AVERAGE not in {column.name for column in table.columns}:
            return table
        return replace(table, columns=sorted(table.columns, key=lambda each: not each.overall))
    averages = [replace(each, group="Averages", overall=True) for each in table.columns]
    parts = [replace(table, columns=averages)]
    for group, own in groups.items():
        part = table_of(suite, own)
        columns = [replace(each, group=group) for each in part.columns if not each.overall]
        parts.append(replace(part, columns=columns))
    return side_by_side(parts)


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
    table = None if suite.published is None else published_table(suite.published)
    return frozenset(
        each.label for each in outcomes if table and table.name_of(each.contestant, each.classifier)
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
    results = _Results(outcomes, published)
    columns = [
        Column(name, overall=name == AVERAGE, entries=results.entries(places, name))
        for name, places in results.spans().items()
    ]
    if is_collection(results.outcomes):
        lines = zip(*(column.entries for column in columns), strict=True)
        columns.insert(0, Column(AVERAGE, overall=True, entries=[*map(_mean_entry, lines)]))
    if len(results.places) > 1 and (ranks := _rank_entries(results)):
        columns.append(Column(MEAN_RANK, "rank", overall=True, entries=ranks))
    notes = results.notes(results.spread_note(columns), *results.paper_notes())
    return results.table(title or results.only("suite"), map(_marked, columns), notes)


def accuracy_matrix(outcomes: Sequence[Outcome]) -> tuple[NDArray[np.float64], list[str]]:
    """Return accuracies, tasks by methods, and the methods; nan where there is none."""
    table = accuracy_table(outcomes)
    tasks = (column.entries for column in table.columns if not column.overall)
    return np.array([[entry.value for entry in own] for own in tasks]), list(table.labels)


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
    papers, columns = [], []
    for suite, found in by_group(results.outcomes, "suite").items():
        own = _Results(found, published.get(suite))
        own.rows = results.rows  # also those that were not run here
        papers.append(own.paper)
        groups = own.groups()
        for group, places in groups.items():
            hint = group if len(groups) > 1 else (titles or {}).get(suite, "")
            name = group if len(groups) > 1 else AVERAGE if len(places) > 1 else places[0][1]
            columns.append(Column(suite, hint=hint, entries=own.entries(places, name)))
    means = "Mean over the tasks of a suite; no mean where a task is missing or failed."
    notes = results.notes(means, *_citation_notes(*papers), failures=False)
    return results.table(title, map(_marked, columns), notes)


def is_collection(outcomes: Iterable[Outcome]) -> bool:
    """Whether there are so many groups of tasks that each counts as one."""
    return len({each.group for each in outcomes}) > MANY_GROUPS


def _mean_entry(line: Sequence[Entry]) -> Entry:
    gap = next((entry for entry in line if entry.missing), None)
    if gap is not None:
        return Entry(note=gap.note, reason=gap.reason)
    return Entry(float(np.mean([entry.value for entry in line])))


def _rank_entries(results: _Results) -> list[Entry]:
    """Return mean ranks of the rows that have all tasks; none where there are not two of them."""
    ranked: Iterable[Sequence[Place]] = [[place] for place in results.places]
    if is_collection(results.outcomes):
        ranked = results.groups().values()
    found = (results.entries(places) for places in ranked)
    values = np.array([[entry.value for entry in column] for column in found], dtype=float)
    whole = ~np.isnan(values).any(axis=0)
    if whole.sum() < 2:
        return []
    ranks = iter(mean_ranks(values[:, whole]))
    return [Entry(float(next(ranks))) if complete else _NOT_EVERYWHERE for complete in whole]


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
    results = _Results(outcomes, published)
    units = [i for i, (contestant, _) in enumerate(results.rows) if contestant == reference]
    columns = []
    for group, places in results.groups().items():
        found = results.entries(places, group, "fit_seconds")
        seconds = [replace(entry, spread=None) for entry in found]
        columns.append(Column(group, "seconds", hint="seconds", entries=seconds))
        if units:
            times = [_multiple(entry, seconds[units[0]]) for entry in seconds]
            columns.append(Column(f"{group}, × {reference}", "times", entries=times))
    notes = results.notes(
        "Time to learn with the chosen setting and to predict the target, mean over tasks.",
        "" if units else f"No multiples: {reference} is not among the methods.",
        *_citation_notes(results.paper),
    )
    return results.table(title, columns, notes)


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
    results = _Results(outcomes, published)
    suite, (row, *others) = results.only("suite"), results.rows
    if others:
        names = ", ".join(results.rows.values())
        raise ValueError(f"outcomes must be of one method, got {names}; make a table for each.")
    pairs = [task.split("->") for _, task in results.places]
    if any(len(pair) != 2 for pair in pairs):
        tasks = ", ".join(task for _, task in results.places)
        raise ValueError(f"tasks must be named train->test, got {tasks}.")
    domains = list(dict.fromkeys(domain for pair in pairs for domain in pair))
    ours = {place[1]: results.entries([place])[0] for place in results.places}
    values = _with_margins(domains, {task: float(entry.value) for task, entry in ours.items()})
    theirs = _with_margins(domains, results.printed_row(row))

    def entry(train: str, test: str) -> Entry:
        value, other = values[train, test], theirs[train, test]
        # The matrix itself, inside its margins, knows spreads and failures.
        own = ours.get(f"{train}->{test}", _NOT_RUN if math.isnan(value) else Entry(value))
        return replace(own, published=None if math.isnan(other) else other)

    trains, tests = [*domains, OTHERS], [*domains, SELF, OTHERS, DROP]
    columns = [Column(test, entries=[entry(train, test) for train in trains]) for test in tests]
    margins = _margin_notes(results.paper, theirs) if results.paper else []
    notes = results.notes(results.spread_note(columns), *results.paper_notes(), *margins)
    heading = f"{title or suite}: {results.rows[row]}, {results.protocol}"
    return Table(heading, "train \\ test", trains, columns, notes)


def _with_margins(
    domains: Sequence[str], values: Mapping[str, float]
) -> dict[tuple[str, str], float]:
    """Return the matrix with its margins on the right and below; nan where something is missing."""
    square = np.array([[values.get(f"{a}->{b}", math.nan) for b in domains] for a in domains])
    own = np.diag(square)
    right, below = ((square.sum(axis=i) - own) / max(len(domains) - 1, 1) for i in (1, 0))
    body = np.column_stack([square, own, right, 100 * (own - right) / own])
    drop = 100 * (own.mean() - right.mean()) / own.mean()
    whole = np.vstack([body, [*below, own.mean(), right.mean(), drop]])
    names = product([*domains, OTHERS], [*domains, SELF, OTHERS, DROP])
    return dict(zip(names, whole.ravel().tolist(), strict=True))


def _margin_notes(paper: Published, margins: Mapping[tuple[str, str], float]) -> list[str]:
    slips = ", ".join(
        f"{printed:.2f} as {name} of {row} ({margins[row, name]:.2f})"
        for row, own in paper.summary.items()
        for name, printed in own.items()
        if not isinstance(printed, str)
        and abs(margins.get((row, name), math.nan) - printed) > ROUNDING
    )
    return [f"Margins are recomputed from the matrix; the paper prints {slips}."] if slips else []


# --- settings, failures, costs ------------------------------------------------------------------


def settings_table(outcomes: Sequence[Outcome]) -> Table:
    """List what was chosen for every method and task, and how it did in the folds."""
    chosen = [each for each in outcomes if not each.error and each.setting]
    settings = [Entry(setting_words(each.setting)) for each in chosen]
    columns = [Column("Chosen setting", "setting", entries=settings)]
    for name, what in (("In the folds", "selection_score"), ("On the target", "accuracy")):
        entries = [_measured(getattr(each, what)) for each in chosen]
        columns.append(Column(name, hint="percent", entries=entries))
    return _list_of("Chosen settings", chosen, *columns)


def failures_table(outcomes: Sequence[Outcome]) -> Table:
    """List what failed, and why."""
    failed = [each for each in outcomes if each.error]
    errors = [Entry(each.error) for each in failed]
    return _list_of("Failures", failed, Column("Error", "error", entries=errors))


def _list_of(title: str, outcomes: Sequence[Outcome], *columns: Column) -> Table:
    which = [Column("Task", "words", entries=[Entry(each.task) for each in outcomes])]
    if len({_run(each) for each in outcomes}) > 1:
        runs = [Entry(f"{each.seed}, {each.draw}") for each in outcomes]
        which.append(Column("Run", "words", hint="seed, draw", entries=runs))
    return Table(title, METHOD, [each.label for each in outcomes], [*which, *columns])


def costs_table(outcomes: Sequence[Outcome]) -> Table:
    """Say what every method cost: all of its work, one fit, and memory."""
    methods = by_group(outcomes, "label")
    lines = []
    for own in methods.values():
        times = [each.fit_seconds for each in own if math.isfinite(each.fit_seconds)]
        sizes = (each.peak_bytes for each in own if each.peak_bytes is not None)
        fit = median(times) if times else None
        lines.append([*map(_measured, (cpu_seconds(own), fit, max(sizes, default=None)))])
    work, fits, peaks = zip(*lines, strict=True) if lines else ((), (), ())
    columns = (
        Column("CPU time", "duration", "all folds and settings", entries=work),
        Column("One fit", "duration", "median over tasks", entries=fits),
        Column("Memory", "memory", "largest growth", entries=peaks),
    )
    return Table("Time and memory", METHOD, list(methods), columns)


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
    """Outcomes of one protocol by method and place, beside the paper where that compares.

    A place is a task of a group: two groups may have tasks of the same name.
    """

    def __init__(self, outcomes: Iterable[Outcome], published: str | None = None) -> None:
        self.outcomes = list(outcomes)
        if not self.outcomes:
            raise ValueError("outcomes are empty: there is nothing to put into a table.")
        self.rows: dict[Method, str] = {}
        self._runs: dict[tuple[Method, Place], list[Outcome]] = {}
        counts: Counter[tuple[Any, ...]] = Counter()
        for each in self.outcomes:
            row, place = (each.contestant, each.classifier), (each.group, each.task)
            self.rows[row] = each.label
            self._runs.setdefault((row, place), []).append(each)
            counts[each.suite, each.protocol, each.group, each.label, each.task, *_run(each)] += 1
        self.places = list(dict.fromkeys(place for _, place in self._runs))
        (*_, label, task, seed, draw), count = counts.most_common(1)[0]
        if count > 1:
            raise ValueError(
                f"outcomes hold {label} on {task} with seed {seed} and draw {draw} "
                f"{count} times; give each run once."
            )
        self.protocol = self.only("protocol")
        paper = None if published is None else published_table(published)
        # An upper bound compares with upper bounds alone.
        alike = paper is not None and paper.tuned_on_target == (self.protocol == TARGET_ORACLE)
        self.paper = paper if alike else None
        self._withheld = None if alike else paper

    def only(self, attribute: Literal["suite", "protocol"]) -> str:
        values = list(dict.fromkeys(getattr(each, attribute) for each in self.outcomes))
        if len(values) > 1:
            raise ValueError(
                f"outcomes must share one {attribute}, got {', '.join(values)}: "
                "their numbers do not compare. Make a table for each."
            )
        return str(values[0])

    def groups(self) -> dict[str, list[Place]]:
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

    def table(self, title: str, columns: Iterable[Column], notes: Sequence[str]) -> Table:
        labels = list(self.rows.values())
        return Table(f"{title}, {self.protocol}", METHOD, labels, list(columns), notes)

    # Numbers, ours and theirs.

    def entries(
        self,
        places: Sequence[Place],
        name: str = "",
        what: Literal["accuracy", "fit_seconds"] = "accuracy",
    ) -> list[Entry]:
        """Return the means over places of the means over runs, of all methods."""
        return [
            replace(self._mean(row, places, what), published=self._printed(row, name, places))
            for row in self.rows
        ]

    def _mean(self, row: Method, places: Sequence[Place], what: str) -> Entry:
        """Return the mean of one method; one gap leaves none."""
        runs = [self._runs.get((row, place), []) for place in places]
        failed = {each.task: each for own in runs for each in own if _failed(each)}
        if failed:
            why = f"Failed on {', '.join(failed)}: no average over all tasks."
            if len(places) == 1:
                why = next(iter(failed.values())).error or "no reason given"
            return Entry(note=FAILED, reason=why)
        if not all(runs):
            return _NOT_EVERYWHERE if len(places) > 1 else _NOT_RUN
        values = [{_run(each): getattr(each, what) for each in own} for own in runs]
        mean = float(np.mean([np.mean([*own.values()]) for own in values]))
        return Entry(mean, spread=_spread(values))

    def printed_row(self, row: Method) -> Mapping[str, float]:
        method = self.paper and self.paper.name_of(*row)
        return self.paper.values[method] if self.paper and method else {}

    def _printed(self, row: Method, name: str, places: Sequence[Place]) -> float | None:
        """Return the published number of a column, or the mean of those of its tasks."""
        values = self.printed_row(row)
        if name in values:
            return values[name]
        known = [values[task] for _, task in places if task in values]
        return float(np.mean(known)) if len(known) == len(places) else None

    # Notes.

    def notes(self, *between: str, failures: bool = True) -> list[str]:
        first = ORACLE if self.protocol == TARGET_ORACLE else say_protocol(self.protocol)
        return [*filter(None, (first, *between)), *(self._failures() if failures else ())]

    def _failures(self) -> Iterator[str]:
        for (row, (_, task)), runs in self._runs.items():
            broken = [each for each in runs if _failed(each)]
            if broken:
                often = f" in {len(broken)} of {len(runs)} runs" if len(runs) > 1 else ""
                why = " ".join((broken[0].error or "no reason given").split())
                short = why if len(why) <= _ERROR_LENGTH else f"{why[:_ERROR_LENGTH]} ..."
                yield f"{self.rows[row]} failed on {task}{often}: {short}"

    def spread_note(self, columns: Sequence[Column]) -> str:
        if all(entry.spread is None for column in columns for entry in column.entries):
            return ""
        n_runs = max(len(runs) for runs in self._runs.values())
        return f"Mean ± standard deviation over up to {n_runs} runs (seeds and draws)."

    def paper_notes(self) -> Iterator[str]:
        """Cite the paper, and say where its averages or its test sets are not what they seem."""
        if self._withheld is not None:
            how = "target" if self._withheld.tuned_on_target else "source"
            key = _said(self._withheld.key)
            yield f"The paper chose the settings of its {key} by {how} labels: no comparison."
        if self.paper is None:
            return
        yield from _citation_notes(self.paper)
        shown = {self.paper.name_of(*row) for row in self.rows}
        wrong = {n: pair for n, pair in self.paper.misprinted_averages().items() if n in shown}
        if wrong and set(self.paper.tasks) == {task for _, task in self.places}:
            slips = (f"{printed:.2f} for {n} ({own:.2f})" for n, (printed, own) in wrong.items())
            yield f"Averages are recomputed from the rows; the paper prints {', '.join(slips)}."
        n_test = self.paper.n_test
        sizes = {each.task: each.n_test for each in self.outcomes if not _failed(each)}
        other = ", ".join(
            f"{task} {size:,} (paper {n_test[task]:,})"
            for task, size in sizes.items()
            if n_test.get(task, size) != size
        )
        if other:
            yield f"Test samples differ from the paper's: {other}."


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


def _citation_notes(*papers: Published | None) -> Iterator[str]:
    known = [paper for paper in papers if paper is not None]
    if known:
        names = ", ".join(dict.fromkeys(_said(paper.key) for paper in known))
        caption = f" ({known[0].caption})" if len(known) == 1 else ""
        yield f"In brackets: {names}{caption} of {known[0].citation}."


def _said(key: str) -> str:
    word = key.rstrip("0123456789")
    return f"{word} {key[len(word) :]}"


def _test_notes(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Compare everybody with the best by Wilcoxon's signed ranks; not what is an upper bound."""
    several = len({outcome.group for outcome in outcomes}) > 1 and not is_collection(outcomes)
    if several or any(outcome.protocol == TARGET_ORACLE for outcome in outcomes):
        return
    accuracy, labels = accuracy_matrix(outcomes)
    if len(accuracy) < LEAST_TASKS or np.sum(~np.isnan(accuracy).any(axis=0)) < 2:
        return
    found = duels(accuracy, labels)
    alike = ", ".join(duel.method for duel in found if duel.adjusted >= ALPHA)
    verdict = f"no difference at {ALPHA} to {alike}" if alike else f"all others differ at {ALPHA}"
    yield (
        f"Wilcoxon's signed-rank test against the best mean rank, {found[0].reference}, corrected "
        f"after Holm: {verdict}."
    )


def _marked(column: Column) -> Column:
    """Mark the best entry of a column and the second; the smallest rank is the best."""
    sign = -1 if column.kind == "rank" else 1
    marks = mark([sign * float(entry.value) for entry in column.entries])
    marked = zip(column.entries, marks, strict=True)
    return replace(column, entries=[replace(entry, mark=place) for entry, place in marked])


def mark(values: Sequence[float]) -> list[Mark]:
    """Mark the largest value and the second largest; equal ones, as printed, share a mark.

    Nothing is marked where there is nothing to compare.
    """
    shown = [round(value, 2) for value in values]
    known = [value for value in shown if not math.isnan(value)]
    places = sorted(set(known), reverse=True) if len(known) > 1 else []
    marks: dict[float, Mark] = dict(zip(places, ("best", "second"), strict=False))
    return [marks.get(value, "") for value in shown]
