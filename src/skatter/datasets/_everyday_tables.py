"""Everyday tables: 72 data sets with natural domains, small enough for a laptop.

The same columns and the same label, measured in different places, years, instruments, people or
populations. What is known of them stands in ``everyday_tables.json``, which is made by
``benchmarks/tables_catalogue.py``. Those whose licence allows it lie in ``benchmarks/data``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any, Literal

import numpy as np

from skatter._formatting import did_you_mean
from skatter.datasets._home import Home, KnownFile, Source
from skatter.datasets._reading import AGAIN, read_arrays
from skatter.datasets._record import Dataset, Facts

FOLDER = "tables"  # of the files, in the data home
COLLECTION = "everyday tables"  # as the registry calls all of them


@dataclass(frozen=True)
class DrawnTask:
    """A task of the benchmark: which domains, and where its rows begin in the random draw.

    ``before`` holds the lengths of the permutations that were drawn for the tasks before; see
    :class:`skatter_bench.tasks.Sample`.
    """

    sources: tuple[str, ...]
    target: str
    before: tuple[int, ...]


@dataclass(frozen=True)
class EverydayTable:
    """What the catalogue knows of a table.

    ``shift`` says what makes its domains differ, ``grade`` how much a plain model loses between
    them: A much, B some, C almost nothing. ``domains`` holds the rows of each, in the order of
    their codes; ``class_names`` is empty for regression; ``missing`` is the share of missing
    values. ``in_repository`` tells whether the licence allows a copy in ``benchmarks/data``.
    ``pairs`` are tasks from one domain to another, ``targets`` from all others to one.
    """

    name: str
    field: str
    task: Literal["classification", "regression"]
    shift: str
    grade: str
    domains: Mapping[str, int]
    columns: int
    class_names: tuple[str, ...]
    missing: float
    source: str
    licence: str
    citation: str
    note: str
    in_repository: bool
    bytes: int
    sha256: str
    pairs: tuple[DrawnTask, ...]
    targets: tuple[DrawnTask, ...]

    @property
    def facts(self) -> Facts:
        summary, size, classes = f"Everyday table: {self.field}.", self.columns, self.class_names
        described = (self.name, summary, self.domains, size, classes, self.citation, "None.")
        return Facts(*described, collection=COLLECTION)

    @property
    def files(self) -> Source:
        hint = "A clone of skatter holds it in benchmarks/data." if self.in_repository else ""
        file = KnownFile(f"{self.name}.npz", self.bytes, self.sha256)
        origin = f"the everyday tables of skatter, made from {self.source}"
        return Source(FOLDER, {"all": file}, origin, hint)


def _tasks(drawn: list[Any]) -> tuple[DrawnTask, ...]:
    return tuple(DrawnTask(tuple(names), target, tuple(before)) for names, target, before in drawn)


def _entry(class_names: Any, pairs: Any, targets: Any, **others: Any) -> EverydayTable:
    others |= {"pairs": _tasks(pairs), "targets": _tasks(targets)}
    return EverydayTable(class_names=tuple(class_names), **others)


_CATALOGUE = files("skatter.datasets").joinpath("everyday_tables.json").read_text(encoding="utf-8")

EVERYDAY_TABLES: Mapping[str, EverydayTable] = {
    entry["name"]: _entry(**entry) for entry in json.loads(_CATALOGUE)
}
"""The catalogue, by name."""


def load_everyday_table(name: str, *, data_home: Home = None) -> Dataset:
    """Load one of 72 tables with natural domains: 52 with classes, 20 with numbers as labels.

    Samples are as in the file, so prepare them: NaN is a missing value, and columns named by
    ``categorical`` hold codes. The files are not part of the package; those whose licence allows
    it lie in ``benchmarks/data`` of the repository.

    Parameters
    ----------
    name : str
        A name in ``skatter.datasets._everyday_tables.EVERYDAY_TABLES``.
    data_home : path or None
        Where ``tables`` lies; None is ``SKATTER_DATA``, or ``~/skatter_data``.

    Returns
    -------
    Dataset
        With ``columns`` and ``categorical``; ``y`` holds classes, or float64 numbers.

    Examples
    --------
    >>> from skatter.datasets import load_everyday_table
    >>> load_everyday_table("penguins_sex", data_home="downloads")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    FileNotFoundError: tables/penguins_sex.npz is not in downloads. Put it at ...
    >>> load_everyday_table("penguin_sex")
    Traceback (most recent call last):
    ValueError: There is no everyday table 'penguin_sex'. Did you mean 'penguins_sex'?
    """
    if name not in EVERYDAY_TABLES:
        guess = did_you_mean(name, EVERYDAY_TABLES) or f" There are {', '.join(EVERYDAY_TABLES)}."
        raise ValueError(f"There is no everyday table {name!r}.{guess}")
    table = EVERYDAY_TABLES[name]
    path = table.files.find("all", data_home)
    words = ("columns", "categories", "domains")
    X, y, domain, *texts = read_arrays(path, ("X", "y", "domain", *words), text=words)
    columns, categories, domains = (json.loads(str(text)) for text in texts)
    if X.shape != (sum(table.domains.values()), table.columns) or list(table.domains) != domains:
        raise ValueError(f"{path} does not hold what the catalogue says of {name}. {AGAIN}")
    data = table.facts.dataset(
        np.asarray(X, dtype=np.float64),
        np.asarray(y, dtype=np.int64 if table.class_names else np.float64),
        np.asarray(domains)[domain],
    )
    categorical = tuple(j for j, column in enumerate(columns) if column in categories)
    return replace(data, columns=tuple(columns), categorical=categorical)
