"""Suites of everyday tables: 72 data sets with natural domains, each a group of its own.

Tables come in all sizes, so the rows of a task are drawn at random, once and for all. Which
domains a task has, and where its rows begin in the draw, stands in the catalogue of
:mod:`skatter.datasets.everyday_tables`; the rule behind it is in
``benchmarks/tables_catalogue.py``.
"""

from __future__ import annotations

from collections.abc import Iterator

from skatter.datasets.everyday_tables import EVERYDAY_TABLES, DrawnTask, EverydayTable
from skatter_bench.protocols import DEFAULTS, LEAVE_ONE_DOMAIN_OUT, SOURCE_CV, TARGET_ORACLE
from skatter_bench.suite import Suite
from skatter_bench.tasks import Sample, Setting, Task

PAIR = Sample(800, 800)
"""Most rows of one source and of one target."""

SOURCES_AND_TARGET = Sample(1500, 800)
"""Most rows of several sources together and of one target."""

_NOTE = "A table is a column, and the average is over tables. Rows are drawn at random, "
_FEW, _MORE = "at most 800 a side.", "at most 1,500 of the sources and 800 of the target."


def _pairs(kind: str) -> Iterator[Task]:
    """Yield the tasks from one domain to another."""
    for table in EVERYDAY_TABLES.values():
        if table.task == kind:
            for each in table.pairs:
                name = f"{each.sources[0]}->{each.target}"
                yield _task(name, table, each, PAIR, "adaptation")


def _others(setting: Setting) -> Iterator[Task]:
    """Yield the tasks from all other domains to one."""
    for table in EVERYDAY_TABLES.values():
        if table.task == "classification":
            for each in table.targets:
                yield _task(f"others->{each.target}", table, each, SOURCES_AND_TARGET, setting)


def _task(
    name: str, table: EverydayTable, drawn: DrawnTask, most: Sample, setting: Setting
) -> Task:
    return Task(
        name,
        table.name,
        drawn.sources,
        (drawn.target,),
        setting,
        n_classes=len(table.class_names),
        group=table.name,
        prepare="table",
        sample=Sample(most.sources, most.targets, drawn.before),
    )


TABLE_SUITES = (
    Suite(
        "tables",
        "Adaptation, everyday tables, one source and one target",
        tuple(_pairs("classification")),
        protocols=(DEFAULTS, SOURCE_CV, TARGET_ORACLE),
        note=_NOTE + _FEW,
    ),
    Suite(
        "tables-sources",
        "Adaptation, everyday tables, all other domains are sources",
        tuple(_others("adaptation")),
        protocols=(DEFAULTS, SOURCE_CV, LEAVE_ONE_DOMAIN_OUT, TARGET_ORACLE),
        note=_NOTE + _MORE,
    ),
    Suite(
        "tables-unseen",
        "Generalization, everyday tables, one domain after the other is the target",
        tuple(_others("generalization")),
        protocols=(DEFAULTS, LEAVE_ONE_DOMAIN_OUT, SOURCE_CV, TARGET_ORACLE),
        note=_NOTE + _MORE,
    ),
    Suite(
        "tables-numbers",
        "Adaptation, everyday tables with numbers as labels, one source and one target: R²",
        tuple(_pairs("regression")),
        protocols=(DEFAULTS, SOURCE_CV, TARGET_ORACLE),
        note=f"{_NOTE}{_FEW} Numbers are R² in percent: 0 is the mean of the target's labels, and "
        "below 0 is worse than that. One bad table rules an average: look at ranks.",
    ),
)
"""All of them."""
