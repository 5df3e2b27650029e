"""``skatter adapt`` on a table of 200,000 rows and 50 columns: seconds and peak memory.

    python benchmarks/adapt_table.py [--rows N] [--out FOLDER]

The table is synthetic: five classes, two domains of equal size, one of them without labels and
shifted; 44 columns of numbers with a few empty cells, five of categories, one of booleans. The
command runs as a child process, once from CSV and once from Parquet, writes the predictions as
Parquet and saves the model; then ``skatter predict`` answers for all rows with the saved model.
Memory is the peak of each process as the system counts it, libraries included. Accuracy is counted
on the hidden labels.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np
import pandas as pd

from problems import machine

CLASSES, NUMBERS, CATEGORIES = 5, 44, 5
LABEL, DOMAIN = "kind", "site"
RESULTS = Path(__file__).parent / "results"


def make_table(n_rows: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the table, and the class of every row."""
    rng = np.random.default_rng(0)
    truth = rng.integers(CLASSES, size=n_rows)
    away = np.repeat([False, True], [n_rows // 2, n_rows - n_rows // 2])
    decay = np.arange(1, NUMBERS + 1) ** -0.5
    centres, shift = (rng.normal(size=(n, NUMBERS)) * decay for n in (CLASSES, 1))
    X = (
        rng.normal(size=(n_rows, NUMBERS)) * decay
        + 0.4 * centres[truth]
        + 1.5 * away[:, None] * shift
    )
    X[rng.uniform(size=X.shape) < 0.01] = np.nan
    frame = pd.DataFrame(X, columns=[f"x{place:02d}" for place in range(NUMBERS)])
    letters = np.array(list("abcdefgh"))
    for place in range(CATEGORIES):
        frame[f"c{place}"] = letters[(truth + rng.integers(8, size=n_rows)) % 8]
    frame["old"] = rng.uniform(size=n_rows) < 0.3 + 0.1 * truth
    frame[DOMAIN] = np.where(away, "there", "here")
    frame[LABEL] = np.where(away, None, np.array(list("ABCDE"))[truth])
    mixed = rng.permutation(n_rows)
    return frame.iloc[mixed].reset_index(drop=True), np.array(list("ABCDE"))[truth][mixed]


def run(*arguments: object) -> tuple[float, float, float, str]:
    """Run a command; return its seconds, those of the processors, its peak in MiB, and its words.

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
    return seconds, float(processor), int(peak) * scale / 2**20, done.stdout


def accuracy(path: Path, frame: pd.DataFrame, truth: np.ndarray, column: str) -> float:
    found = pd.read_parquet(path, columns=[column])[column].to_numpy(dtype=object)
    hidden = frame[LABEL].isna().to_numpy()
    return float(np.mean(found[hidden] == truth[hidden]))


def measure(folder: Path, n_rows: int) -> tuple[list[str], str]:
    """Return the rows of the result, and what the command says."""
    frame, truth = make_table(n_rows)
    frame.to_csv(folder / "table.csv", index=False)
    frame.to_parquet(folder / "table.parquet", index=False)
    out, model = folder / "out.parquet", folder / "model.skatter"
    lines, said = [], ""
    for ending in ("csv", "parquet"):
        table = folder / f"table.{ending}"
        columns = ("--label", LABEL, "--domain", DOMAIN)
        *cost, said = run("adapt", table, *columns, "--out", out, "--model", model, "--force")
        lines.append(_line(f"adapt, {ending.upper()} in", table, *cost))
    shares = [accuracy(out, frame, truth, f"{name}_{LABEL}") for name in ("adapted", "plain")]
    *cost, _ = run("predict", model, folder / "table.parquet", "--out", out, "--force")
    lines.append(_line("predict, all rows", model, *cost))
    hidden = f"Hidden labels predicted right: {shares[0]:.1%} adapted, {shares[1]:.1%} plain."
    return lines, f"{hidden}\n\nWhat the command says:\n\n```\n{said.strip()}\n```"


def _line(name: str, file: Path, seconds: float, processor: float, peak: float) -> str:
    size = file.stat().st_size / 2**20
    return f"| {name} | {seconds:.0f} | {processor:.0f} | {peak:,.0f} | {size:.1f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    load = os.getloadavg()[0]
    with TemporaryDirectory() as folder:
        lines, said = measure(Path(folder), arguments.rows)
    page = [
        "# Adapting a large table",
        "",
        f"`python benchmarks/adapt_table.py`: {arguments.rows:,} rows and 50 columns, half of the "
        "rows without a label, two domains; everything included, from reading the file to writing "
        "the predictions and the model. The limits that we set ourselves are 120 seconds and "
        "2,048 MiB on two cores.",
        "",
        "| command | seconds | seconds of the processors | peak MiB | file in, MiB |",
        "| :--- | ---: | ---: | ---: | ---: |",
        *lines,
        "",
        said,
        "",
        f"{machine()}. Load of the machine when it began: {load:.1f}.",
        "",
    ]
    (arguments.out / "adapt_table.md").write_text("\n".join(page))
    print("\n".join(page))


if __name__ == "__main__":
    main()
