"""One HTML file that tells the whole benchmark, and needs nothing but a browser.

Style, script and figures are inside the file; its content security policy allows these and no
request at all. Every name in it is text, never markup. Tables can be sorted and filtered, and
read as they are without the script. The same results give the same bytes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skatter.datasets.registry import DATASETS
from skatter.formatting import count, duration
from skatter.pages import check_path, read_part, render_page, write_page
from skatter.versions import versions as installed_versions
from skatter_bench import views
from skatter_bench.charts import drawings_of, inline_svg
from skatter_bench.protocols import TARGET_ORACLE, say_protocol
from skatter_bench.published import published
from skatter_bench.results import Outcome, SuiteResults
from skatter_bench.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLES: Mapping[str, str] = {
    "source-cv": "Source labels, 5 folds",
    "leave-one-domain-out": "Leave one domain out",
    "defaults": "Default settings",
    "target-oracle": "Target oracle",
}
"""Protocols as tabs name them."""


@dataclass(frozen=True)
class Picture:
    """A figure inside the page: ``svg`` is markup, the rest is text."""

    title: str
    caption: str
    svg: str


@dataclass(frozen=True)
class Panel:
    """One protocol of one part of the page: its numbers, and what stands below them.

    Extras are tables that are closed until somebody wants to see them, each with a count of its
    rows in words; ``paper`` holds the labels of the paper's methods.
    """

    id: str
    protocol: str
    table: Table
    pictures: tuple[Picture, ...] = ()
    extras: tuple[tuple[Table, str], ...] = ()
    paper: frozenset[str] = frozenset()

    @property
    def title(self) -> str:
        """Name of the protocol."""
        return TITLES.get(self.protocol, self.protocol)

    @property
    def words(self) -> str:
        """What the protocol does."""
        return say_protocol(self.protocol)

    @property
    def oracle(self) -> bool:
        """Whether target labels chose the settings."""
        return self.protocol == TARGET_ORACLE

    @property
    def caption(self) -> str:
        """What to say of a table besides what is in it."""
        bound = " Tuned on target labels: an upper bound." if self.oracle else ""
        return f"Protocol: {self.title}.{bound}"

    @property
    def mixes_paper(self) -> bool:
        """Whether some rows are the paper's and others are not."""
        return len({row.label in self.paper for row in self.table.rows}) > 1

    @property
    def has_published(self) -> bool:
        """Whether there are published numbers to hide."""
        return self.table.has("published")


@dataclass(frozen=True)
class Part:
    """A section of the page; its panels show one protocol each."""

    id: str
    title: str
    panels: tuple[Panel, ...]
    note: str = ""

    @property
    def of_methods(self) -> bool:
        """Whether its rows are methods, which can be looked for by name."""
        return all(panel.table.corner == views.METHOD for panel in self.panels)


def write_report(
    path: str | os.PathLike[str],
    results: Sequence[SuiteResults],
    *,
    force: bool = False,
    **about: Any,
) -> Path:
    """Write the report of some suites into one HTML file, whole or not at all.

    A file that is there is replaced where ``force`` is set; ``about`` is that of
    :func:`render_report`.
    """
    target = check_path(path, force=force)
    write_page(target, render_report(results, **about), force=force)
    return target


def render_report(
    results: Sequence[SuiteResults],
    *,
    title: str,
    machine: str,
    command: str,
    versions: Mapping[str, str] | None = None,
    date: str = "",
    figures: Mapping[str, Figure] | None = None,
) -> str:
    """Return the page as text.

    ``versions`` are those that computed the numbers, None for what is installed here; no clock is
    read, ``date`` is when the last number was computed. ``figures`` need more than outcomes and are
    given by name of their suite.
    """
    names = [each.suite.name for each in results]
    if not names:
        raise ValueError("results are empty: there is nothing to report. Run a suite first.")
    if len(set(names)) < len(names):
        raise ValueError(f"results must hold every suite once, got {', '.join(names)}.")
    software = {"skatter": "unknown", **(installed_versions() if versions is None else versions)}
    drawn = figures or {}
    parts = [
        _part(each, f"suite-{i}", drawn.get(each.suite.name)) for i, each in enumerate(results, 1)
    ]
    return render_page(
        "skatter_bench",
        "report.html.j2",
        style=read_part("skatter_bench", "report.css"),
        script=read_part("skatter_bench", "report.js"),
        content={
            "title": title,
            "machine": machine,
            "command": command,
            "version": software["skatter"],
            "versions": software,
            "date": date,
            "facts": _facts(results),
            "summary": _summary(results),
            "parts": parts,
            "sources": list(_sources(results)),
        },
    )


def _facts(results: Sequence[SuiteResults]) -> dict[str, str]:
    outcomes = [outcome for each in results for outcome in each.outcomes]
    return {
        "suites": f"{len(results):,}",
        "tasks": f"{len({(o.suite, o.group, o.task) for o in outcomes}):,}",
        "methods": f"{len({o.label for o in outcomes}):,}",
        "results": f"{sum(not o.error for o in outcomes):,}",
        "failed": f"{sum(bool(o.error) for o in outcomes):,}",
        "CPU time": duration(views.cpu_seconds(outcomes)),
    }


def _summary(results: Sequence[SuiteResults]) -> Part:
    labels = (views.paper_labels(each.suite, each.outcomes) for each in results)
    paper = frozenset().union(*labels)
    panels = tuple(
        Panel(f"summary-{protocol}", protocol, table, paper=paper)
        for protocol in TITLES
        if (table := summary_of(results, protocol)) is not None
    )
    return Part("summary", "Summary", panels)


def summary_of(results: Sequence[SuiteResults], protocol: str) -> Table | None:
    """Put the averages of all suites beside each other; None where no suite has any."""
    chosen = [each for each in results if views.has_averages(each.suite)]
    outcomes = [outcome for each in chosen for outcome in views.of_protocol(each, protocol)]
    if not outcomes:
        return None
    return views.summary_table(
        outcomes,
        published={each.suite.name: each.suite.published for each in chosen},
        titles={each.suite.name: each.suite.title for each in chosen},
    )


def _part(results: SuiteResults, name: str, figure: Figure | None) -> Part:
    """Return the section of a suite; a figure drawn elsewhere stands under its first protocol."""
    title = results.suite.title
    drawn = () if figure is None else (_picture(figure, f"{name}-drawn", title, f"{title}."),)
    panels = tuple(
        _panel(results, protocol, f"{name}-{protocol}", () if i else drawn)
        for i, protocol in enumerate(_protocols(results))
    )
    return Part(name, title, panels, results.suite.note)


def _picture(figure: Figure, name: str, title: str, caption: str) -> Picture:
    return Picture(title, caption, inline_svg(figure, name=name, title=title))


def _protocols(results: SuiteResults) -> list[str]:
    """Return the protocols that were run: the suite's own order, an upper bound last."""
    ran = dict.fromkeys(outcome.protocol for outcome in results.outcomes)
    order = dict.fromkeys((*results.suite.protocols, *ran))
    return sorted((name for name in order if name in ran), key=TARGET_ORACLE.__eq__)


def _panel(results: SuiteResults, protocol: str, name: str, drawn: tuple[Picture, ...]) -> Panel:
    outcomes = views.of_protocol(results, protocol)
    pictures = (
        _picture(each.figure, f"{name}-{each.name}", each.title, each.caption)
        for each in drawings_of(results.suite, outcomes)
    )
    return Panel(
        name,
        protocol,
        views.page_table(results.suite, outcomes),
        pictures=(*drawn, *pictures),
        extras=tuple(_extras(outcomes)),
        paper=views.paper_labels(results.suite, outcomes),
    )


def _extras(outcomes: Sequence[Outcome]) -> Iterator[tuple[Table, str]]:
    for make, what in (
        (views.costs_table, "method"),
        (views.settings_table, "setting"),
        (views.failures_table, "failure"),
    ):
        table = make(outcomes)
        if table.rows:
            yield table, count(len(table.rows), what)


def _sources(results: Sequence[SuiteResults]) -> Iterator[dict[str, str]]:
    """Say where the data and the published numbers come from."""
    keys = dict.fromkeys(each.suite.published for each in results if each.suite.published)
    for citation in dict.fromkeys(published(key).citation for key in keys):
        yield {"name": "Published numbers", "words": f"{citation}."}
    for name in dict.fromkeys(task.dataset for each in results for task in each.suite.tasks):
        info = DATASETS.get(name)
        known = [] if info is None else [info.summary, info.citation]
        if info is not None and info.source is not None:
            known.append(f"Files: {info.source.origin.rstrip('.')}.")
        yield {"name": name, "words": " ".join(known)}
