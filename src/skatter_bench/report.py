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
from typing import TYPE_CHECKING

from skatter.datasets.registry import DATASETS
from skatter.pages import check_path, read_part, render_page, write_page
from skatter_bench.measure import versions as installed_versions
from skatter_bench.pictures import Picture, picture_of, pictures_of
from skatter_bench.protocols import PROTOCOLS, TARGET_ORACLE
from skatter_bench.published import published
from skatter_bench.results import Outcome, SuiteResults
from skatter_bench.sheets import (
    METHOD,
    Sheet,
    costs_sheet,
    cpu_seconds,
    duration,
    failures_sheet,
    of_protocol,
    paper_labels,
    results_sheet,
    settings_sheet,
    summary_sheet,
)

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
class Extra:
    """A sheet that is closed until somebody wants to see it; ``count`` says how much there is."""

    title: str
    count: str
    sheet: Sheet


@dataclass(frozen=True)
class Panel:
    """One protocol of one part of the page.

    Attributes
    ----------
    id : str
        Unique in the page.
    protocol : str
        How settings were chosen.
    sheet : Sheet
        The numbers.
    pictures, extras : tuple
        What stands below them.
    paper : frozenset of str
        Labels of the paper's methods.
    """

    id: str
    protocol: str
    sheet: Sheet
    pictures: tuple[Picture, ...] = ()
    extras: tuple[Extra, ...] = ()
    paper: frozenset[str] = frozenset()

    @property
    def title(self) -> str:
        """Name of the protocol."""
        return TITLES.get(self.protocol, self.protocol)

    @property
    def words(self) -> str:
        """What the protocol does."""
        words = PROTOCOLS.get(self.protocol, "")
        return f"{words[0].upper()}{words[1:]}." if words else ""

    @property
    def oracle(self) -> bool:
        """Whether target labels chose the settings."""
        return self.protocol == TARGET_ORACLE

    @property
    def caption(self) -> str:
        """What to say of a table besides what is in it."""
        bound = " Tuned on target labels: an upper bound." if self.oracle else ""
        return f"Protocol: {self.title}.{bound}"


@dataclass(frozen=True)
class Part:
    """A section of the page; its panels show one protocol each."""

    id: str
    title: str
    panels: tuple[Panel, ...]
    note: str = ""

    @property
    def of_methods(self) -> bool:
        """Whether its lines are methods, which can be looked for by name."""
        return all(panel.sheet.corner == METHOD for panel in self.panels)

    @property
    def mixes_paper(self) -> bool:
        """Whether it makes sense to ask for the paper's methods alone."""
        return any(panel.sheet.mixes_paper for panel in self.panels)

    @property
    def has_printed(self) -> bool:
        """Whether there are published numbers to hide."""
        return any(panel.sheet.has("printed") for panel in self.panels)


def write_report(
    path: str | os.PathLike[str],
    results: Sequence[SuiteResults],
    *,
    title: str,
    machine: str,
    command: str,
    versions: Mapping[str, str] | None = None,
    date: str = "",
    figures: Mapping[str, Figure] | None = None,
    force: bool = False,
) -> Path:
    """Write the report of some suites into one HTML file.

    Parameters
    ----------
    path : path
        The file to write. It appears whole or not at all.
    results : sequence of SuiteResults
        What to report, in the order of the page.
    title : str
        Heading of the page.
    machine : str
        Where the numbers were computed.
    command : str
        What to type to compute them again.
    versions : mapping of str to str or None
        Version by name of the software that computed them; None for what is installed here.
    date : str
        When the last number was computed; not shown where empty. No clock is read here, so that the
        same results give the same file.
    figures : mapping of str to matplotlib Figure or None
        Figures that need more than outcomes, by name of the suite that they belong to.
    force : bool
        Replace a file that is there.

    Returns
    -------
    Path
        Of the file.

    Raises
    ------
    FileExistsError
        If there is a file and ``force`` is not set.
    ValueError
        If there are no results, or a suite comes twice.
    ImportError
        If jinja2 or matplotlib is not installed.
    OSError
        If the file cannot be written; what was there stays as it was.
    """
    target = check_path(path, force=force)
    page = render_report(
        results,
        title=title,
        machine=machine,
        command=command,
        versions=versions,
        date=date,
        figures=figures,
    )
    write_page(target, page, force=force)
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
    """Return the page as text; parameters as in :func:`write_report`."""
    shown = _check_results(results)
    software = {"skatter": "unknown", **(installed_versions() if versions is None else versions)}
    drawn = dict(figures or {})
    parts = [
        _part(each, f"suite-{i}", drawn.get(each.suite.name)) for i, each in enumerate(shown, 1)
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
            "facts": _facts(shown),
            "summary": _summary(shown),
            "parts": parts,
            "sources": list(_sources(shown)),
        },
    )


# --- what the page says -----------------------------------------------------------------------


def _check_results(results: Sequence[SuiteResults]) -> list[SuiteResults]:
    shown = list(results)
    names = [each.suite.name for each in shown]
    if not names:
        raise ValueError("results are empty: there is nothing to report. Run a suite first.")
    if len(set(names)) < len(names):
        raise ValueError(f"results must hold every suite once, got {', '.join(names)}.")
    return shown


def _facts(results: Sequence[SuiteResults]) -> dict[str, str]:
    """Count what the page is about."""
    outcomes = [outcome for each in results for outcome in each.outcomes]
    return {
        "suites": f"{len(results):,}",
        "tasks": f"{len({(o.suite, o.group, o.task) for o in outcomes}):,}",
        "methods": f"{len({o.label for o in outcomes}):,}",
        "results": f"{sum(not o.error for o in outcomes):,}",
        "failed": f"{sum(bool(o.error) for o in outcomes):,}",
        "CPU time": duration(cpu_seconds(outcomes)),
    }


def _summary(results: Sequence[SuiteResults]) -> Part:
    sheets = {protocol: summary_sheet(results, protocol) for protocol in TITLES}
    panels = tuple(
        Panel(f"summary-{protocol}", protocol, sheet)
        for protocol, sheet in sheets.items()
        if sheet is not None
    )
    return Part("summary", "Summary", panels)


def _part(results: SuiteResults, name: str, figure: Figure | None) -> Part:
    """Return the section of a suite; a figure drawn elsewhere stands under its first protocol."""
    title = results.suite.title
    drawn = [] if figure is None else [picture_of(figure, name=f"{name}-drawn", title=title)]
    panels = tuple(
        _panel(results, protocol, f"{name}-{protocol}", () if i else drawn)
        for i, protocol in enumerate(_protocols(results))
    )
    return Part(name, title, panels, results.suite.note)


def _protocols(results: SuiteResults) -> list[str]:
    """Return the protocols that were run: the suite's own order, an upper bound last."""
    ran = dict.fromkeys(outcome.protocol for outcome in results.outcomes)
    order = dict.fromkeys((*results.suite.protocols, *ran))
    return sorted((name for name in order if name in ran), key=TARGET_ORACLE.__eq__)


def _panel(results: SuiteResults, protocol: str, name: str, drawn: Sequence[Picture] = ()) -> Panel:
    outcomes = of_protocol(results, protocol)
    return Panel(
        name,
        protocol,
        results_sheet(results, protocol),
        pictures=(*drawn, *pictures_of(results.suite, outcomes, name)),
        extras=tuple(_extras(outcomes)),
        paper=paper_labels(results.suite, outcomes),
    )


def _extras(outcomes: Sequence[Outcome]) -> Iterator[Extra]:
    costs, settings, failures = (
        costs_sheet(outcomes),
        settings_sheet(outcomes),
        failures_sheet(outcomes),
    )
    yield Extra("Time and memory", _counted(costs, "method"), costs)
    if settings.lines:
        yield Extra("Chosen settings", _counted(settings, "setting"), settings)
    if failures.lines:
        yield Extra("Failures", _counted(failures, "failure"), failures)


def _counted(sheet: Sheet, what: str) -> str:
    """Count the lines of a sheet in words."""
    n = len(sheet.lines)
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def _sources(results: Sequence[SuiteResults]) -> Iterator[dict[str, str]]:
    """Say where the data and the published numbers come from."""
    keys = dict.fromkeys(each.suite.published for each in results if each.suite.published)
    for citation in dict.fromkeys(published(key).citation for key in keys):
        yield {"name": "Published numbers", "words": f"{citation}."}
    for name in dict.fromkeys(task.dataset for each in results for task in each.suite.tasks):
        yield {"name": name, "words": " ".join(_known_of(name))}


def _known_of(dataset: str) -> Iterator[str]:
    info = DATASETS.get(dataset)
    if info is None:
        return
    yield info.summary
    yield info.citation
    if info.source is not None:
        yield f"Files: {info.source.origin.rstrip('.')}."
