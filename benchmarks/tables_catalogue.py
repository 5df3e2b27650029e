"""Make the catalogue of everyday tables, and the copies that this repository may hold.

    python benchmarks/tables_catalogue.py FOLDER

FOLDER holds ``manifest.json`` and the tables. Writes
``src/skatter/datasets/everyday_tables.json`` and fills ``benchmarks/data/tables`` with the tables
whose licence is CC0, CC BY or the public domain in all its parts, and with their attribution.

Which tasks a table gives. Domains with at least 50 rows are put in a random order, a ring. *Pairs*
go from each domain to the next, in the order of the ring, and at most four are kept. *Targets* are
domains in the same order, with all others as sources where there are at least two, and at most
three are kept, for tables with classes. Rows are drawn for each task in turn by one random
generator, whether it is kept or not: at most 800 a side for pairs, 1,500 of the sources and 800 of
the target otherwise. With classes, a task is kept where, without classes of fewer than five source
rows, at least two classes are left in the sources and in the target, and nine in ten of the
target's rows; and where any source can be left out and two classes remain.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from skatter_bench.suites import PAIR, SOURCES_AND_TARGET
from skatter_bench.tasks import Sample

ROOT = Path(__file__).parents[1]
CATALOGUE = ROOT / "src" / "skatter" / "datasets" / "everyday_tables.json"
COPIES = ROOT / "benchmarks" / "data" / "tables"

LEAST_ROWS = 50
MOST_PAIRS = 4
MOST_TARGETS = 3
KEPT = ("name", "field", "task", "shift", "grade", "class_names", "missing", "source", "licence")
KEPT += ("citation", "note", "bytes", "sha256")
FREE = re.compile(r"(CC0|CC BY \d|public domain|US government work, public domain)")
"""How each part of a licence begins that allows a copy here."""

Array = Any
Drawn = tuple[list[str], str, list[int]]
"""Sources, target, and the permutations that were drawn before."""


def entry(row: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return what the catalogue says of one table."""
    with np.load(folder / f"{row['name']}.npz", allow_pickle=False) as file:
        names = json.loads(str(file["domains"]))
        domain, X = file["domain"], file["X"]
        y = file["y"].astype(np.int64 if row["class_names"] else np.float64)
    sizes = np.bincount(domain, minlength=len(names)).tolist()
    return {
        **{key: row[key] for key in KEPT},
        "in_repository": may_be_copied(row["licence"]),
        "columns": X.shape[1],
        "domains": dict(zip(names, sizes, strict=True)),
        "pairs": list(pairs(y, domain, names))[:MOST_PAIRS],
        "targets": list(targets(y, domain, names))[:MOST_TARGETS],
    }


def may_be_copied(licence: str) -> bool:
    """Whether every part of a licence allows a copy; "raw data" says that features are not meant.

    Examples
    --------
    >>> may_be_copied("CC BY 4.0 (UCI 2)"), may_be_copied("GPL (package); public domain")
    (True, False)
    """
    parts = [part.strip() for part in licence.split(";")]
    return all(FREE.match(part) for part in parts) and "raw data" not in licence


# --- tasks ----------------------------------------------------------------------------------------


def ring(domain: Array) -> Array:
    """Return the codes of domains that are large enough, in random order."""
    codes, counts = np.unique(domain, return_counts=True)
    return np.random.default_rng(0).permutation(codes[counts >= LEAST_ROWS])


def pairs(y: Array, domain: Array, names: list[str]) -> Iterator[Drawn]:
    """Yield the valid tasks from one domain to the next."""
    order = ring(domain)
    drawn = [([code], following) for code, following in zip(order, np.roll(order, -1), strict=True)]
    yield from valid(drawn, PAIR, y, domain, names)


def targets(y: Array, domain: Array, names: list[str]) -> Iterator[Drawn]:
    """Yield the valid tasks from all other domains to one."""
    order = ring(domain)
    if len(order) > 2 and y.dtype.kind != "f":
        drawn = [(sorted(set(order) - {code}), code) for code in order]
        yield from valid(drawn, SOURCES_AND_TARGET, y, domain, names)


def valid(
    tasks: list[tuple[list[int], int]], most: Sample, y: Array, domain: Array, names: list[str]
) -> Iterator[Drawn]:
    """Draw the rows of each task in turn, and yield the tasks that can be learnt."""
    before = [len(ring(domain))]
    for sources, target in tasks:
        rows = np.flatnonzero(np.isin(domain, sources)), np.flatnonzero(domain == target)
        sample = Sample(most.sources, most.targets, tuple(before))
        learnt, tested = sample.draw(*rows, y)
        whole = min(len(rows[1]), most.targets)
        if y.dtype.kind == "f" or can_be_learnt(y, domain, learnt, tested, whole):
            yield [names[code] for code in sources], names[target], list(before)
        before += [len(rows[0]), len(rows[1])]


def can_be_learnt(y: Array, domain: Array, learnt: Array, tested: Array, whole: int) -> bool:
    """Whether enough classes are left on both sides, and enough rows of the target."""
    if len(np.unique(y[tested])) < 2 or len(tested) < 0.9 * whole:
        return False
    sources = np.unique(domain[learnt])
    rests = [learnt] if len(sources) == 1 else [learnt[domain[learnt] != s] for s in sources]
    return all(len(np.unique(y[rest])) > 1 for rest in rests)


# --- files ----------------------------------------------------------------------------------------


def write_catalogue(entries: list[dict[str, Any]]) -> None:
    """Write one table a line."""
    lines = [json.dumps(each, ensure_ascii=False, separators=(",", ":")) for each in entries]
    CATALOGUE.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def copy_tables(entries: list[dict[str, Any]], folder: Path) -> None:
    """Copy what may be copied, with its attribution."""
    COPIES.mkdir(parents=True, exist_ok=True)
    for each in entries:
        shutil.copyfile(folder / f"{each['name']}.npz", COPIES / f"{each['name']}.npz")
    (COPIES / "ATTRIBUTION.md").write_text(attribution(entries), encoding="utf-8")


def attribution(entries: list[dict[str, Any]]) -> str:
    """Return the page that names sources and licences."""
    lines = [
        "# Everyday tables: sources and licences",
        "",
        f"{len(entries)} tables whose licence allows a copy: CC0, "
        "[CC BY 4.0](https://creativecommons.org/licenses/by/4.0/) or the public domain. They were "
        "changed: columns were chosen, text became codes, and large sets were cut to some thousand "
        "rows. The others of the collection are not here. `SKATTER_DATA=benchmarks/data` makes "
        "skatter read them. Made by `benchmarks/tables_catalogue.py`.",
        "",
        "| table | source | licence | citation |",
        "| :--- | :--- | :--- | :--- |",
    ]
    for each in entries:
        cells = (f"`{each['name']}`", each["source"], each["licence"], each["citation"])
        lines.append(f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="holds manifest.json and the tables")
    folder = parser.parse_args().folder
    entries = [entry(row, folder) for row in json.loads((folder / "manifest.json").read_text())]
    write_catalogue(entries)
    free = [each for each in entries if each["in_repository"]]
    copy_tables(free, folder)
    size = sum(each["bytes"] for each in free)
    print(f"{len(entries)} tables, {len(free)} of them copied, {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
