"""Data larger than memory: a million samples in chunks from the disk, and how far from exact.

    python benchmarks/streaming.py [--out FOLDER] [--image FILE] [--data FOLDER] [--quick]

Samples are synthetic: ten classes, four domains, one of them without labels; variances decay as
those of real features do. They are written to ``.npy`` files and streamed from there with
``fit_chunks``: a first look at labels and domains, a feature map fitted on at most 20,000 rows,
moments, components.

*scaling*: seconds and peak memory from 10⁴ to 10⁶ samples of 64 features, D = 1,024, and the slope
of a line through the logarithms; 1 is linear.

*accuracy*: 368,104 samples of 100 features, whose n × n matrix would take 1,010 GiB. The embedding
of 4,000 of the samples is compared with that of exact ``SCA()`` fitted on these 4,000: the largest
principal angle between the C-1 leading components. Exact SCA fitted on 4,000 others says how much
of that is the sample's own doing.

Every fit has a process of its own. Memory is the peak of that process, libraries included.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
from scipy.linalg import subspace_angles
from sklearn.kernel_approximation import RBFSampler
from threadpoolctl import threadpool_limits

from problems import machine, peak_bytes
from skatter import SCA
from skatter.kernels import resolve_kernel
from skatter.maps import LandmarkMap
from skatter.pieces import ArrayChunks, fit_chunks
from skatter.plots import MARKERS, PALETTE

CLASSES, DOMAINS = 10, 4
MAPS = ("RBFSampler", "LandmarkMap")
SCALING = {"sizes": [10_000, 30_000, 100_000, 300_000, 1_000_000], "p": 64, "features": 1024}
ACCURACY = {"n": 368_104, "p": 100, "features": [256, 1024, 2048], "few": 4000}
QUICK_SCALING = {"sizes": [2000, 5000, 10_000], "p": 64, "features": 64}
QUICK_ACCURACY = {"n": 10_000, "p": 100, "features": [32, 128], "few": 500}
FILES = ("X.npy", "y.npy", "domain.npy")
AT_A_TIME = 50_000

Row = dict[str, Any]


# --- samples ----------------------------------------------------------------------------------


def write_samples(folder: Path, n: int, p: int) -> None:
    """Write samples, labels and domains to files; rows come in no order."""
    rng = np.random.default_rng(0)
    decay = np.arange(1, p + 1) ** -0.5
    centres = 1.5 * rng.normal(size=(CLASSES, p)) * decay
    shifts = rng.normal(size=(DOMAINS, p)) * decay
    label, domain = rng.integers(CLASSES, size=n), rng.integers(DOMAINS, size=n)
    X = np.lib.format.open_memmap(folder / "X.npy", "w+", np.float64, (n, p))
    for start in range(0, n, AT_A_TIME):
        rows = slice(start, min(start + AT_A_TIME, n))
        noise = rng.normal(size=(rows.stop - start, p)) * decay
        X[rows] = noise + centres[label[rows]] + shifts[domain[rows]]
    X.flush()
    np.save(folder / "y.npy", np.where(domain == DOMAINS - 1, -1, label))
    np.save(folder / "domain.npy", np.array(["a", "b", "c", "d"])[domain])


def first_rows(folder: Path, start: int, stop: int) -> tuple[Any, ...]:
    """Return some rows of each file, in memory."""
    return tuple(np.array(np.load(folder / name, mmap_mode="r")[start:stop]) for name in FILES)


# --- one fit in a process of its own ----------------------------------------------------------


def feature_map(name: str, n_features: int, gamma: float) -> Any:
    if name == "RBFSampler":
        return RBFSampler(gamma=gamma, n_components=n_features, random_state=0)
    return LandmarkMap(n_features, gamma=gamma, random_state=0)


def stream(folder: Path, name: str, n_features: int, gamma: float, few: int) -> None:
    """Fit, write the embedding of the first rows, and print what it cost."""
    model = SCA(feature_map=feature_map(name, n_features, gamma))
    start = perf_counter()
    fit_chunks(model, ArrayChunks(*(folder / file for file in FILES)))
    seconds = perf_counter() - start
    peak = peak_bytes()
    np.save(folder / "Z.npy", model.transform(first_rows(folder, 0, few)[0]))
    print(json.dumps({"seconds": seconds, "peak_mib": peak and peak / 2**20}))


def in_a_process(
    folder: Path, name: str, n_features: int, gamma: float, *, few: int, threads: int
) -> Row:
    arguments = [folder, name, n_features, gamma, few]
    command = [sys.executable, __file__, "--threads", threads, "--stream", *arguments]
    done = subprocess.run(map(str, command), stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def bandwidth(X: Any) -> float:
    """Return what SCA itself would take."""
    return float(resolve_kernel(X).params["gamma"])


# --- scaling ----------------------------------------------------------------------------------


def scaling(folder: Path, case: dict[str, Any], threads: int) -> Iterator[Row]:
    for n in case["sizes"]:
        write_samples(folder, n, case["p"])
        gamma = bandwidth(first_rows(folder, 0, 4000)[0])
        for name in MAPS:
            cost = in_a_process(folder, name, case["features"], gamma, few=10, threads=threads)
            yield {"map": name, "n": n, **cost}


def slope(rows: list[Row], name: str) -> float:
    """Return the exponent of n that fits the seconds best."""
    n, seconds = np.array([(row["n"], row["seconds"]) for row in rows if row["map"] == name]).T
    return float(np.polyfit(np.log(n), np.log(seconds), 1)[0])


# --- accuracy ---------------------------------------------------------------------------------


def largest_angle(Z: Any, exact: Any) -> float:
    """Return the largest principal angle of the C-1 leading components, in degrees."""
    leading = [part[:, : CLASSES - 1] - part[:, : CLASSES - 1].mean(axis=0) for part in (Z, exact)]
    return float(np.degrees(subspace_angles(*leading).max()))


def accuracy(folder: Path, case: dict[str, Any], threads: int) -> Iterator[Row]:
    few = case["few"]
    write_samples(folder, case["n"], case["p"])
    X, y, domain = first_rows(folder, 0, few)
    gamma = bandwidth(X)
    with threadpool_limits(threads):
        exact = SCA(gamma=gamma).fit(X, y, sample_domain=domain).transform(X)
        other_X, other_y, other_domain = first_rows(folder, few, 2 * few)
        other = SCA(gamma=gamma).fit(other_X, other_y, sample_domain=other_domain).transform(X)
    yield {"map": "exact, other samples", "angle": largest_angle(other, exact)}
    for name in MAPS:
        for n_features in case["features"]:
            cost = in_a_process(folder, name, n_features, gamma, few=few, threads=threads)
            angle = largest_angle(np.load(folder / "Z.npy"), exact)
            yield {"map": name, "features": n_features, "angle": angle, **cost}


# --- what is shown ----------------------------------------------------------------------------


def page(found: dict[str, Any]) -> Iterator[str]:
    scale, close = found["scaling"], found["accuracy"]
    yield "# Data larger than memory\n"
    yield (
        "Made by `benchmarks/streaming.py`: synthetic samples, ten classes, four domains, one of "
        "them without labels, streamed in chunks from `.npy` files on the disk. Every fit in a "
        f"process of its own, {found['threads']} BLAS threads; memory is the peak of that process, "
        f"libraries included. {found['machine']}.\n"
    )
    yield f"## Seconds and memory; p = {scale['p']}, D = {scale['features']:,}, double precision\n"
    yield "| samples | samples, MiB | " + " | ".join(f"{m}, s | peak, MiB" for m in MAPS) + " |"
    yield "| ---: | ---: |" + " ---: |" * 2 * len(MAPS)
    for n in scale["sizes"]:
        cells = [
            f"{row['seconds']:.1f} | {row['peak_mib']:,.0f}"
            for name in MAPS
            for row in scale["rows"]
            if (row["n"], row["map"]) == (n, name)
        ]
        yield f"| {n:,} | {n * scale['p'] / 2**17:,.0f} | {' | '.join(cells)} |"
    listed = ", ".join(f"{scale['slopes'][name]:.2f} ({name})" for name in MAPS)
    yield f"\nSeconds grow as n to the power of {listed}.\n"
    gram = close["n"] ** 2 * 8 / 2**30
    yield f"## How far from exact; n = {close['n']:,}, p = {close['p']}\n"
    yield (
        f"One n × n matrix would take {gram:,.0f} GiB. Angle: the largest principal angle between "
        f"the {CLASSES - 1} leading components and those of exact SCA fitted on {close['few']:,} "
        "of the samples, both on these; the same bandwidth for all.\n"
    )
    yield "| map | D | angle, degrees | seconds | peak, MiB |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for row in close["rows"]:
        if "features" in row:
            cost = f"{row['seconds']:.1f} | {row['peak_mib']:,.0f}"
            yield f"| {row['map']} | {row['features']:,} | {row['angle']:.1f} | {cost} |"
        else:
            yield f"| {row['map']} ({close['few']:,}) | | {row['angle']:.1f} | | |"


def draw(found: dict[str, Any], path: Path) -> None:
    from matplotlib.figure import Figure

    scale = found["scaling"]
    figure = Figure(figsize=(8, 3.4), layout="constrained")
    seconds, memory = figure.subplots(1, 2)
    for name, colour, marker in zip(MAPS, PALETTE, MARKERS, strict=False):
        rows = [row for row in scale["rows"] if row["map"] == name]
        n = [row["n"] for row in rows]
        label = f"{name}, n to the power of {scale['slopes'][name]:.2f}"
        seconds.plot(n, [row["seconds"] for row in rows], color=colour, marker=marker, label=label)
        memory.plot(n, [row["peak_mib"] for row in rows], color=colour, marker=marker, label=name)
    sizes = np.array(scale["sizes"])
    memory.plot(sizes, sizes * scale["p"] / 2**17, "--", color="0.5", label="the samples alone")
    memory.plot(sizes, sizes**2 / 2**17, ":", color="0.5", label="an n × n matrix")
    top = max(row["peak_mib"] for row in scale["rows"])
    memory.set_ylim(top / 100, top * 10)
    for axes, title in ((seconds, "seconds of a fit"), (memory, "peak memory, MiB")):
        axes.set(xscale="log", yscale="log", xlabel="samples n", title=title)
        axes.grid(color="0.9")
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def said(rows: Iterator[Row]) -> list[Row]:
    """Print rows as they come."""
    kept = []
    for row in rows:
        print(json.dumps(row), flush=True)
        kept.append(row)
    return kept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="folder for streaming.json and streaming.md")
    parser.add_argument("--image", type=Path, help="file for the picture")
    parser.add_argument("--data", type=Path, help="folder for the samples; 1 GiB, for the run only")
    parser.add_argument("--quick", action="store_true", help="small sizes, to try the script")
    parser.add_argument("--threads", type=int, default=2, help="BLAS threads")
    parser.add_argument("--stream", nargs=5, metavar=("FOLDER", "MAP", "D", "GAMMA", "FEW"))
    arguments = parser.parse_args()
    if arguments.stream:
        folder, name, n_features, gamma, few = arguments.stream
        with threadpool_limits(arguments.threads):
            stream(Path(folder), name, int(n_features), float(gamma), int(few))
        return
    scale = dict(QUICK_SCALING if arguments.quick else SCALING)
    close = dict(QUICK_ACCURACY if arguments.quick else ACCURACY)
    with TemporaryDirectory(dir=arguments.data) as folder:
        scale["rows"] = said(scaling(Path(folder), scale, arguments.threads))
        close["rows"] = said(accuracy(Path(folder), close, arguments.threads))
    scale["slopes"] = {name: slope(scale["rows"], name) for name in MAPS}
    found = {
        "machine": machine(),
        "threads": arguments.threads,
        "scaling": scale,
        "accuracy": close,
    }
    lines = list(page(found))
    print("\n".join(lines))
    if arguments.out:
        arguments.out.mkdir(parents=True, exist_ok=True)
        (arguments.out / "streaming.json").write_text(json.dumps(found, indent=1) + "\n")
        (arguments.out / "streaming.md").write_text("\n".join(lines) + "\n")
    if arguments.image:
        draw(found, arguments.image)


if __name__ == "__main__":
    main()
