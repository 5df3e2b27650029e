"""``skatter adapt`` on large tables: how seconds and memory grow, up to ten million rows.

    python benchmarks/large.py [--rows N ...] [--data FOLDER] [--out FOLDER] [--docs PAGE]

The tables are synthetic: five classes, two domains of equal size in no order, one of them without
labels and shifted; 44 columns of numbers with a few empty cells, five of categories, one of
booleans. They are written as Parquet in row groups of 250,000 rows. ``skatter adapt`` runs as a
child process, writes its predictions for all rows as Parquet and saves the model. A table of
100,000 rows is read from CSV too, and the saved model predicts it by ``skatter predict``. Memory is
the peak of the process as the system counts it, libraries included. Accuracy is counted on the
hidden labels.

Sizes may be run one by one: each takes the place of what is known of it in ``large.json``. The page
of the docs shows how cost grows, here and in ``peers.json``: the exponent is that of the line
through the two largest sizes, on logarithmic scales, and 1 is linear.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from criteria import insert
from problems import machine

CLASSES, NUMBERS, CATEGORIES = 5, 44, 5
LABEL, DOMAIN, TRUTH = "kind", "site", "truth"
ROWS = (100_000, 1_000_000, 10_000_000)
SMALL = 100_000
"""Rows of the table that is read from CSV as well."""

GROUP = 250_000
"""Rows that are made, and written, at a time."""

LIMIT_SECONDS, LIMIT_MIB = 900, 3072
RESULTS = Path(__file__).parent / "results"


Run = dict[str, Any]


# --- tables -----------------------------------------------------------------------------------


def make_rows(n_rows: int, seed: int) -> pd.DataFrame:
    """Return some rows; the class of each is in the column of the truth."""
    fixed, rng = np.random.default_rng(0), np.random.default_rng([1, seed])
    decay = np.arange(1, NUMBERS + 1) ** -0.5
    centres, shift = (fixed.normal(size=(n, NUMBERS)) * decay for n in (CLASSES, 1))
    truth, away = rng.integers(CLASSES, size=n_rows), rng.uniform(size=n_rows) < 0.5
    noise = rng.normal(size=(n_rows, NUMBERS)) * decay
    X = noise + 0.4 * centres[truth] + 1.5 * away[:, None] * shift
    X[rng.uniform(size=X.shape) < 0.01] = np.nan
    frame = pd.DataFrame(X, columns=[f"x{place:02d}" for place in range(NUMBERS)])
    letters = np.array(list("abcdefgh"), dtype=object)
    for place in range(CATEGORIES):
        frame[f"c{place}"] = letters[(truth + rng.integers(8, size=n_rows)) % 8]
    frame["old"] = rng.uniform(size=n_rows) < 0.3 + 0.1 * truth
    frame[DOMAIN] = np.where(away, "there", "here")
    frame[TRUTH] = np.array(list("ABCDE"), dtype=object)[truth]
    frame[LABEL] = frame[TRUTH].where(~away)
    return frame


def write_tables(n_rows: int, path: Path) -> None:
    """Write a table, and beside it the classes, one row group after the other."""
    writers: dict[Path, pq.ParquetWriter] = {}
    for number, start in enumerate(range(0, n_rows, GROUP)):
        rows = pa.Table.from_pandas(
            make_rows(min(GROUP, n_rows - start), number), preserve_index=False
        )
        for file, part in ((path, rows.drop_columns(TRUTH)), (beside(path), rows.select([TRUTH]))):
            if file not in writers:
                writers[file] = pq.ParquetWriter(file, part.schema)
            writers[file].write_table(part)
    for writer in writers.values():
        writer.close()


def beside(path: Path) -> Path:
    return path.with_name(f"{path.stem}-truth.parquet")


# --- commands ---------------------------------------------------------------------------------


def run(name: str, n_rows: int, table: Path, *arguments: object) -> Run:
    """Run a command on a table; return what it costs and says.

    The peak is that of the largest child so far, so every command needs a process of its own.
    """
    code = (
        "import subprocess, resource, sys; done = subprocess.run(sys.argv[1:]); "
        "used = resource.getrusage(resource.RUSAGE_CHILDREN); "
        "print(used.ru_utime + used.ru_stime, used.ru_maxrss, file=sys.stderr); "
        "sys.exit(done.returncode)"
    )
    skatter = [sys.executable, "-c", "from skatter.cli import main; main()"]
    command = [sys.executable, "-c", code, *skatter, *map(str, arguments)]
    load, start = os.getloadavg()[0], perf_counter()
    done = subprocess.run(command, capture_output=True, text=True)
    seconds = perf_counter() - start
    if done.returncode:
        raise SystemExit(done.stderr)
    processor, peak = done.stderr.splitlines()[-1].split()
    return {
        "command": name,
        "rows": n_rows,
        "kind": table.suffix.removeprefix("."),
        "mib": table.stat().st_size / 2**20,
        "seconds": seconds,
        "processor": float(processor),
        "peak_mib": int(peak) * (1 if sys.platform == "darwin" else 2**10) / 2**20,
        "load": load,
        "machine": machine(),
        "said": done.stdout.strip().replace(f"{table.parent}{os.sep}", ""),
    }


def accuracy(out: Path, table: Path) -> list[float]:
    """Return which share of the hidden labels the adapted and the plain model predict right."""
    truth = pq.read_table(beside(table)).column(TRUTH).to_numpy()
    hidden = pq.read_table(table, columns=[LABEL]).column(LABEL).is_null().to_numpy()
    shares = []
    for name in ("adapted", "plain"):
        column = f"{name}_{LABEL}"
        found = pq.read_table(out, columns=[column]).column(column).to_numpy()
        shares.append(float(np.mean(found[hidden] == truth[hidden])))
    return shares


def measure(folder: Path, n_rows: int) -> Iterator[Run]:
    table = folder / f"table-{n_rows}.parquet"
    if not table.exists():
        write_tables(n_rows, table)
    out, model = folder / "out.parquet", folder / "model.skatter"
    given = ("--label", LABEL, "--domain", DOMAIN, "--out", out, "--model", model, "--force")
    found = run("adapt", n_rows, table, "adapt", table, *given)
    yield {**found, "right": accuracy(out, table)}
    if n_rows == SMALL:
        text = table.with_suffix(".csv")
        pd.read_parquet(table).to_csv(text, index=False)
        found = run("adapt", n_rows, text, "adapt", text, *given)
        yield {**found, "right": accuracy(out, table)}
        asked = ("predict", model, table, "--out", out, "--force")
        yield run("predict, every row", n_rows, table, *asked)


# --- pages ------------------------------------------------------------------------------------


def page(runs: list[Run]) -> Iterator[str]:
    yield "# Adapting large tables\n"
    yield (
        "Made by `benchmarks/large.py`: 50 columns and a label, half of the rows without one, two "
        "domains; everything included, from reading the file to writing the predictions of all "
        "rows and the model. The limits that we set ourselves for ten million rows are "
        f"{LIMIT_SECONDS} seconds and {LIMIT_MIB:,} MiB on two cores. Load: of the machine, when "
        "the command began. Right: share of the hidden labels, in percent.\n"
    )
    heads = ("command", "rows", "file", "seconds", "of the processors", "peak MiB", "load")
    yield "| " + " | ".join((*heads, "right", "plain, right")) + " |"
    yield "| :--- | ---: | ---: |" + " ---: |" * 6
    for each in runs:
        cost = f"{each['seconds']:,.0f} | {each['processor']:,.0f} | {each['peak_mib']:,.0f}"
        shares = [f"{100 * share:.1f}" for share in each.get("right", ())] or ["", ""]
        yield (
            f"| {each['command']} | {each['rows']:,} | {each['kind']}, {each['mib']:,.0f} MiB | "
            f"{cost} | {each['load']:.1f} | {' | '.join(shares)} |"
        )
    largest = max(runs, key=lambda each: each["rows"])
    yield f"\nWhat the command says of {largest['rows']:,} rows:\n"
    yield f"```\n{largest['said']}\n```\n"
    yield f"{largest['machine']}."


def growth(runs: list[Run], peers: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    """Yield the table of exponents."""
    yield "| | from | to | seconds there | seconds grow as n to the | memory as n to the |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    yield _growth(
        "`skatter adapt`, Parquet",
        [
            (each["rows"], each["seconds"], each["peak_mib"])
            for each in runs
            if each["command"] == "adapt" and each["kind"] == "parquet"
        ],
    )
    for name, rows in peers.items():
        if name.startswith("SCA"):
            yield _growth(
                f"`SCA`,{name.removeprefix('SCA,')}",
                [(row["n"], row["seconds"], row["gib"]) for row in rows if row["seconds"]],
            )


def _growth(name: str, costs: list[tuple[int, float, float]]) -> str:
    (n, *less), (m, *more) = sorted(costs)[-2:]
    seconds, memory = np.log(np.divide(more, less)) / np.log(m / n)
    return f"| {name} | {n:,} | {m:,} | {more[0]:,.0f} | {seconds:.2f} | {memory:.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=list(ROWS))
    parser.add_argument("--data", type=Path, help="folder that keeps the tables; 9 GiB")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--docs", type=Path, help="page that shows how cost grows")
    arguments = parser.parse_args()
    kept = arguments.out / "large.json"
    runs: list[Run] = json.loads(kept.read_text()) if kept.exists() else []
    with TemporaryDirectory() as temporary:
        folder = arguments.data or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for n_rows in sorted(arguments.rows):
            new = list(measure(folder, n_rows))
            runs = sorted([each for each in runs if each["rows"] != n_rows] + new, key=_order)
            kept.write_text(json.dumps(runs, indent=1) + "\n")
            print(*page(runs), sep="\n", flush=True)
    (arguments.out / "large.md").write_text("\n".join(page(runs)) + "\n")
    if arguments.docs:
        peers = json.loads((RESULTS / "peers.json").read_text())
        insert(arguments.docs, "growth", list(growth(runs, peers)), "large")


def _order(each: Run) -> tuple[int, str, str]:
    return each["rows"], each["command"], each["kind"]


if __name__ == "__main__":
    main()
