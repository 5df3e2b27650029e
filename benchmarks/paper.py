"""Write what ``skatter bench`` found into the docs and the README.

    skatter bench run table1 table2 --protocol source-cv,target-oracle --store FOLDER
    python benchmarks/paper.py FOLDER

Makes ``docs/results.md`` and its pictures, the two tables of ``docs/benchmark.md`` (they need no
store) and the summary in ``README.md``. Suites without a finished row are left out.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from skatter.bench.contestants import RAW, Contestant, contestants
from skatter.bench.grids import CLASSIFIERS, VARIANTS, tuning
from skatter.bench.protocols import (
    DEFAULTS,
    LEAVE_ONE_DOMAIN_OUT,
    PROTOCOLS,
    SOURCE_CV,
    TARGET_ORACLE,
)
from skatter.bench.render import to_markdown
from skatter.bench.results import Outcome, outcomes, stamps
from skatter.bench.show import figures_of, table_of
from skatter.bench.store import Store
from skatter.bench.suites import SUITES, Suite
from skatter.bench.tables import summary_table
from skatter.datasets import DATASETS
from skatter.methods import METHODS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"

SECTIONS = {
    "table1": (SOURCE_CV, TARGET_ORACLE),
    "table2": (SOURCE_CV, TARGET_ORACLE),
    "table3": (SOURCE_CV, TARGET_ORACLE),
    "figure1": (TARGET_ORACLE,),
    "figure2": (SOURCE_CV,),
    "table5": (DEFAULTS,),
    "office-effnet": (SOURCE_CV,),
    "office-googlenet": (SOURCE_CV,),
    "amazon-400": (SOURCE_CV,),
    "amazon-5000": (SOURCE_CV,),
    "digits": (SOURCE_CV,),
    "dg-office-surf": (SOURCE_CV, TARGET_ORACLE),
    "dg-office-effnet": (SOURCE_CV, TARGET_ORACLE),
    "dg-rotated-mnist": (LEAVE_ONE_DOMAIN_OUT, TARGET_ORACLE),
    "dg-pacs": (LEAVE_ONE_DOMAIN_OUT, TARGET_ORACLE),
}
"""What the page of results shows, and under which protocols."""


@dataclass(frozen=True)
class Section:
    """A suite under one protocol, and what was found."""

    suite: Suite
    protocol: str
    outcomes: list[Outcome]


def sections(store: Store) -> Iterator[Section]:
    """Yield what is finished, without tasks that nobody has finished."""
    for name, protocols in SECTIONS.items():
        for protocol in protocols:
            suite = SUITES[name]
            found = outcomes(suite, rows(suite, protocol), protocol, store)
            if found:
                run = {outcome.task for outcome in found}
                tasks = tuple(task for task in suite.tasks if task.name in run)
                yield Section(replace(suite, tasks=tasks), protocol, complete(found))


def rows(suite: Suite, protocol: str) -> list[Contestant]:
    return contestants(
        suite.setting,
        classifiers=suite.classifiers,
        grid="none" if protocol == DEFAULTS else "coarse",
        names=suite.methods,
        tunings=suite.tunings,
        sparse=suite.sparse,
    )


def complete(found: Sequence[Outcome]) -> list[Outcome]:
    """Leave out contestants that lack a task that others have."""
    tasks = {(outcome.group, outcome.task, outcome.draw) for outcome in found}
    own = defaultdict(set)
    for outcome in found:
        own[outcome.label].add((outcome.group, outcome.task, outcome.draw))
    return [outcome for outcome in found if own[outcome.label] == tasks]


# --- the page of results --------------------------------------------------------------------------


def results_page(found: Sequence[Section], store: Store) -> str:
    stamp = stamps(store)
    versions = ", ".join(f"{name} {number}" for name, number in stamp.versions.items())
    lines = [
        "<!-- Made by `python benchmarks/paper.py FOLDER`: run the benchmark, do not edit. -->",
        "# Results",
        "What `skatter bench` found; [how it works](benchmark.md). The number in brackets is the "
        "paper's. Accuracies are percent of the target's test samples.",
        f"Machine: {stamp.machine}, one BLAS thread a process. {versions}. Last piece finished "
        f"{stamp.finished[:10]}.",
    ]
    seen = None
    for section in found:
        if section.suite.name != seen:
            lines += [f"## {section.suite.title}", section.suite.note]
            lines.append(f"`skatter bench run {section.suite.name}`")
        seen = section.suite.name
        lines.append(f"### {section.protocol}: {PROTOCOLS[section.protocol]}")
        lines.append(to_markdown(table_of(section.suite, section.outcomes)))
        lines += pictures(section)
        lines.append(seconds(section))
    return "\n\n".join(line.strip() for line in lines if line.strip()) + "\n"


def pictures(section: Section) -> Iterator[str]:
    """Draw, but for the oracle, whose ranks nobody should use."""
    if section.protocol == TARGET_ORACLE and section.suite.kind != "synthetic":
        return
    everyone = rows(section.suite, section.protocol)
    for name, figure in figures_of(section.suite, section.outcomes, everyone, None).items():
        path = DOCS / "images" / f"bench-{section.suite.name}-{name}.png"
        figure.savefig(path, dpi=130)
        yield f"![{section.suite.title}: {name}](images/{path.name})"


def seconds(section: Section) -> str:
    """Say what each contestant took, in CPU seconds over all tasks, folds and settings."""
    if section.protocol == TARGET_ORACLE or section.suite.kind != "accuracy":
        return ""
    total: dict[str, float] = defaultdict(float)
    for outcome in section.outcomes:
        total[outcome.label] += outcome.seconds
    words = ", ".join(f"{label} {value:,.0f}" for label, value in total.items())
    return (
        f"CPU seconds over all tasks, folds and settings: {words}; together "
        f"{sum(total.values()):,.0f}."
    )


# --- the README -----------------------------------------------------------------------------------


def summary(found: Sequence[Section]) -> str:
    """Averages under the first protocol of every suite, for adaptation and generalization."""
    parts = []
    for setting, words in (
        ("adaptation", "The target is seen, its labels are not"),
        ("generalization", "Nothing is seen of the target"),
    ):
        chosen = [
            section
            for section in found
            if section.suite.kind == "accuracy"
            and section.suite.setting == setting
            and section.protocol in (SOURCE_CV, LEAVE_ONE_DOMAIN_OUT)
            and section.suite.name not in ("figure2", "table3")
        ]
        for protocol in dict.fromkeys(section.protocol for section in chosen):
            own = [section for section in chosen if section.protocol == protocol]
            every = [outcome for section in own for outcome in section.outcomes]
            published = {section.suite.name: section.suite.published for section in own}
            parts.append(to_markdown(summary_table(every, published=published, title=words)))
    return "\n".join(parts)


# --- the tables of docs/benchmark.md --------------------------------------------------------------


def grids_table() -> str:
    """Return what is tried of every contestant, once where both settings agree."""
    lines = ["| contestant | what is tried | why |", "| :--- | :--- | :--- |"]
    found: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for setting in ("adaptation", "generalization"):
        for row in contestants(setting):
            if row.name == RAW:
                continue
            method = METHODS[VARIANTS[row.name][0] if row.name in VARIANTS else row.name]
            tuned = tuning(row.name, method, setting, "coarse")
            found[row.name, said(tuned.grid, tuned.fixed), tuned.why].append(setting)
    twice = Counter(name for name, _, _ in found)
    for (name, tried, why), settings in found.items():
        where = f" ({settings[0]})" if twice[name] > 1 else ""
        lines.append(f"| {name}{where} | {tried} | {why} |")
    lines += [f"| classifier {name} | {said(grid, {})} | |" for name, grid in CLASSIFIERS.items()]
    return "\n".join(lines)


def said(grid, fixed) -> str:
    tried = [
        f"`{name}` {', '.join(f'{value}' for value in values)}" for name, values in grid.items()
    ]
    held = [f"`{name}` = {value}" for name, value in fixed.items()]
    return "; ".join([*tried, *held]) or "defaults"


def datasets_table() -> str:
    lines = [
        "| name | what it is | samples | features | files |",
        "| :--- | :--- | ---: | ---: | :--- |",
    ]
    for info in DATASETS.values():
        files = "none needed" if info.source is None else f"`{info.source.folder}`"
        if info.downloadable:
            files += ", download offered"
        size = f"{sum(info.sizes):,} | {info.n_features:,}"
        lines.append(f"| `{info.name}` | {info.summary} | {size} | {files} |")
    return "\n".join(lines)


def put(path: Path, mark: str, text: str) -> None:
    """Replace what stands between two marks of a file."""
    pattern = re.compile(rf"(<!-- {mark}: .*? -->\n).*?(<!-- end of {mark} -->)", re.DOTALL)
    page, n = pattern.subn(lambda match: f"{match[1]}\n{text}\n\n{match[2]}", path.read_text())
    if n != 1:
        raise SystemExit(f"{path} has no place for {mark}.")
    path.write_text(page)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store", type=Path, nargs="?", help="folder of finished results")
    arguments = parser.parse_args()
    put(DOCS / "benchmark.md", "grids", grids_table())
    put(DOCS / "benchmark.md", "datasets", datasets_table())
    if arguments.store is not None:
        store = Store(arguments.store)
        found = list(sections(store))
        (DOCS / "results.md").write_text(results_page(found, store))
        put(ROOT / "README.md", "results", summary(found))


if __name__ == "__main__":
    main()
