"""One HTML file that tells the whole benchmark, and needs nothing but a browser.

Style, script and figures are inside the file; its content security policy allows these and no
request at all. Every name in it is text, never markup. Tables can be sorted and filtered, and
read as they are without the script. The same results give the same bytes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skatter._formatting import count, duration
from skatter._pages import check_path, read_part, render_page, write_page
from skatter._versions import versions as installed_versions
from skatter.datasets._registry import DATASETS
from skatter_bench import views
from skatter_bench.charts import Drawing, drawings_of, inline_svg
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
Content = dict[str, Any]  # what a template shows
EXTRAS: Mapping[str, Callable[[Sequence[Outcome]], Table]] = {
    "method": views.costs_table,
    "setting": views.settings_table,
    "failure": views.failures_table,
}
"""Tables that are closed until somebody wants to see them, by what their rows are."""


def write_report(
    path: str | os.PathLike[str],
    results: Sequence[SuiteResults],
    *,
    force: bool = False,
    **about: Any,
) -> Path:
    """Write the page of :func:`render_report` into a file, whole or not at all."""
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
    parts = [_summary(results)]
    for i, each in enumerate(results, start=1):
        parts.append(_suite_part(each, f"suite-{i}", drawn.get(each.suite.name)))
    contents = [*((part["id"], part["title"]) for part in parts), ("about", "About this run")]
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
            "contents": contents,
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


def _summary(results: Sequence[SuiteResults]) -> Content:
    labels = (views.paper_labels(each.suite, each.outcomes) for each in results)
    paper = frozenset().union(*labels)
    panels = [
        _panel(f"summary-{protocol}", protocol, table, paper)
        for protocol in TITLES
        if (table := summary_of(results, protocol)) is not None
    ]
    return _part(
        "summary",
        "Summary",
        panels,
        "Average accuracy in percent over the tasks of a suite. A method that failed on a task, or "
        "was not run on it, has no average there.",
        shown="Average accuracies",
        empty="No suite has accuracies to average.",
        with_notes=False,
    )


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


def _suite_part(results: SuiteResults, name: str, figure: Figure | None) -> Content:
    """Return the section of a suite; a figure drawn elsewhere stands under its first protocol."""
    suite = results.suite
    drawn = [] if figure is None else [Drawing("drawn", suite.title, f"{suite.title}.", figure)]
    panels = []
    ran = dict.fromkeys(outcome.protocol for outcome in results.outcomes)
    order = [name for name in dict.fromkeys((*suite.protocols, *ran)) if name in ran]
    for protocol in sorted(order, key=TARGET_ORACLE.__eq__):  # an upper bound last
        outcomes = views.of_protocol(results, protocol)
        table, paper = views.page_table(suite, outcomes), views.paper_labels(suite, outcomes)
        pictures = [*drawn, *drawings_of(suite, outcomes)]
        tables = [(make(outcomes), what) for what, make in EXTRAS.items()]
        extras = [(each, count(len(each.labels), what)) for each, what in tables if each.labels]
        panels.append(_panel(f"{name}-{protocol}", protocol, table, paper, pictures, extras))
        drawn = []
    return _part(name, suite.title, panels, suite.note)


def _part(name: str, title: str, panels: list[Content], note: str, **changes: Any) -> Content:
    """Return a section of the page; methods can be looked for where rows are methods."""
    return {
        "id": name,
        "title": title,
        "shown": title,
        "panels": panels,
        "note": note,
        "of_methods": all(panel["table"].corner == views.METHOD for panel in panels),
        "empty": "Nothing of this suite has been run yet.",
        "with_notes": True,
        **changes,
    }


def _panel(
    name: str,
    protocol: str,
    table: Table,
    paper: frozenset[str],
    pictures: Sequence[Drawing] = (),
    extras: Sequence[tuple[Table, str]] = (),
) -> Content:
    """Return one protocol of a section; ``paper`` holds the labels of the paper's methods."""
    title, oracle = TITLES.get(protocol, protocol), protocol == TARGET_ORACLE
    bound = " Tuned on target labels: an upper bound." if oracle else ""
    drawn = (inline_svg(p.figure, name=f"{name}-{p.name}", title=p.title) for p in pictures)
    return {
        "id": name,
        "title": title,
        "words": say_protocol(protocol),
        "oracle": oracle,
        "caption": f"Protocol: {title}.{bound}",
        "table": table,
        "paper": paper,
        "mixes_paper": len({label in paper for label in table.labels}) > 1,
        "has_published": table.has("published"),
        "pictures": list(zip(pictures, drawn, strict=True)),
        "extras": extras,
    }


def _sources(results: Sequence[SuiteResults]) -> Iterator[dict[str, str]]:
    keys = dict.fromkeys(each.suite.published for each in results if each.suite.published)
    for citation in dict.fromkeys(published(key).citation for key in keys):
        yield {"name": "Published numbers", "words": f"{citation}."}
    for name in dict.fromkeys(task.dataset for each in results for task in each.suite.tasks):
        words, info = "", DATASETS.get(name)
        if info is not None:
            files = f" Files: {info.source.origin.rstrip('.')}." if info.source else ""
            words = f"{info.summary} {info.citation}{files}"
        yield {"name": name, "words": words}
