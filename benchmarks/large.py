"""``skatter adapt`` on large tables: how seconds and memory grow, up to ten million rows.

    python benchmarks/large.py [--rows N ...] [--data FOLDER] [--out FOLDER]

The tables are synthetic: five classes, two domains of equal size in no order, one of them without
labels and shifted; 44 columns of numbers with a few empty cells, five of categories, one of
booleans. They are written as Parquet in row groups of 250,000 rows. ``skatter adapt`` runs as a
child process, writes its predictions for all rows as Parquet and saves the model; the smallest
table is read from CSV too, and the saved model predicts it by ``skatter predict``. Memory is the
peak of the process as the system counts it, libraries included. Accuracy is counted on the hidden
labels. The exponent is that of the line through the two largest sizes, on logarithmic scales: 1 is
linear.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from problems import machine

CLASSES, NUMBERS, CATEGORIES = 5, 44, 5
LABEL, DOMAIN, TRUTH = "kind", "site", "truth"
ROWS = (100_000, 200_000, 1_000_000, 10_000_000)
GROUP = 250_000
"""Rows that are made, and written, at a time."""

LIMIT_SECONDS, LIMIT_MIB = 900, 3072
RESULTS = Path(__file__).parent / "results"


class Cost(NamedTuple):
    """Seconds, those of the processors, and peak memory of a command."""

    seconds: float
    processor: float
    peak_mib: float


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


def run(*arguments: object) -> tuple[Cost, str]:
    """Run a command; return what it costs and says.

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
    start = perf_counter()
    done = subprocess.run(command, capture_output=True, text=True)
    seconds = perf_counter() - start
    if done.returncode:
        raise SystemExit(done.stderr)
    scale = 1 if sys.platform == "darwin" else 2**10
    processor, peak = done.stderr.splitlines()[-1].split()
    return Cost(seconds, float(processor), int(peak) * scale / 2**20), done.stdout


def accuracy(out: Path, table: Path) -> tuple[float, float]:
    """Return which share of the hidden labels the adapted and the plain model predict right."""
    truth = pq.read_table(beside(table)).column(TRUTH).to_numpy()
    hidden = pq.read_table(table, columns=[LABEL]).column(LABEL).is_null().to_numpy()
    shares = []
    for name in ("adapted", "plain"):
        column = f"{name}_{LABEL}"
        found = pq.read_table(out, columns=[column]).column(column).to_numpy()
        shares.append(float(np.mean(found[hidden] == truth[hidden])))
    return shares[0], shares[1]


def measure(folder: Path, sizes: list[int]) -> tuple[list[str], dict[int, Cost], str]:
    """Return the lines of the table, what adapting costs at each size, and what was said last."""
    lines: list[str] = []
    costs: dict[int, Cost] = {}
    out, model, said = folder / "out.parquet", folder / "model.skatter", ""
    columns = ("--label", LABEL, "--domain", DOMAIN, "--out", out, "--model", model, "--force")
    for n_rows in sizes:
        table = folder / f"table-{n_rows}.parquet"
        if not table.exists():
            write_tables(n_rows, table)
        costs[n_rows], said = run("adapt", table, *columns)
        lines.append(line("adapt", n_rows, table, costs[n_rows], accuracy(out, table)))
        if n_rows == min(sizes):
            text = table.with_suffix(".csv")
            pd.read_parquet(table).to_csv(text, index=False)
            cost, _ = run("adapt", text, *columns)
            lines.append(line("adapt", n_rows, text, cost, accuracy(out, table)))
            cost, _ = run("predict", model, table, "--out", out, "--force")
            lines.append(line("predict, every row", n_rows, table, cost))
        print(lines[-1], flush=True)
    return lines, costs, said


def line(
    name: str, n_rows: int, table: Path, cost: Cost, right: tuple[float, float] | None = None
) -> str:
    size, kind = table.stat().st_size / 2**20, table.suffix.removeprefix(".")
    shares = " | ".join("" if right is None else f"{100 * share:.1f}" for share in right or (0, 0))
    figures = f"{cost.seconds:,.0f} | {cost.processor:,.0f} | {cost.peak_mib:,.0f}"
    return f"| {name} | {n_rows:,} | {kind}, {size:,.0f} MiB | {figures} | {shares} |"


def exponents(costs: dict[int, Cost]) -> str:
    """Say how seconds and memory grow between the two largest sizes."""
    if len(costs) < 2:
        return ""
    (n, less), (m, more) = sorted(costs.items())[-2:]
    seconds, memory = (
        np.log(getattr(more, name) / getattr(less, name)) / np.log(m / n)
        for name in ("seconds", "peak_mib")
    )
    return (
        f"From {n:,} to {m:,} rows, seconds grow as the number of rows to the power of "
        f"{seconds:.2f}, and peak memory to the power of {memory:.2f}."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=list(ROWS))
    parser.add_argument("--data", type=Path, help="folder that keeps the tables; 9 GiB")
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    load = os.getloadavg()[0]
    with TemporaryDirectory() as temporary:
        folder = arguments.data or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        lines, costs, said = measure(folder, sorted(arguments.rows))
    page = [
        "# Adapting large tables",
        "",
        "`python benchmarks/large.py`: 50 columns and a label, half of the rows without one, two "
        "domains; everything included, from reading the file to writing the predictions of all "
        "rows and the model. The limits that we set ourselves for ten million rows are "
        f"{LIMIT_SECONDS} seconds and {LIMIT_MIB:,} MiB on two cores. Right: share of the hidden "
        "labels, in percent.",
        "",
        "| command | rows | file | seconds | of the processors | peak MiB | right | plain, right |",
        "| :--- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        *lines,
        "",
        exponents(costs),
        "",
        f"What the command says of {max(costs):,} rows:",
        "",
        f"```\n{said.strip()}\n```",
        "",
        f"{machine()}. Load of the machine when it began: {load:.1f}.",
        "",
    ]
    (arguments.out / "large.md").write_text("\n".join(page))
    print("\n".join(page))


if __name__ == "__main__":
    main()
