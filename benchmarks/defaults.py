"""Choose SCA's defaults on all data sets but one, and see what they are worth on that one.

    SKATTER_DATA=FOLDER python benchmarks/defaults.py [--out FOLDER] [--docs PAGE]

SCA and the nearest neighbour, in every combination of β, δ, ridge, number of components, length of
the components, bandwidth and scaling of the samples, on the tasks of benchmarks/criteria.py: at
most 400 samples of each domain, six tasks of each data set at most. A setting is worth what it
gains over the nearest neighbour on the samples, the mean over tasks and then over data sets, so
that a data set with many tasks counts no more than one with two. What was measured is kept beside
the table: a run goes on where it was stopped.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler, normalize
from threadpoolctl import threadpool_limits

from criteria import Samples, draw, insert, nearest, suites
from problems import machine
from skatter import SCA, DomainScaler
from skatter._files import write_atomically
from skatter.kernels import median_distance
from skatter.selection._folds import FoldSolver, nearest_labels
from skatter_bench.tasks import Task

Array = NDArray[Any]
MOST = 6

GRID: Mapping[str, tuple[Any, ...]] = {
    "samples": ("as they are", "standardised", "standardised in each domain", "and of unit length"),
    "bandwidth": (0.5, 1.0, 2.0),
    "ridge": (1e-4, 1e-3, 1e-2, 1e-1),
    "scale": ("eigenvalue", "denominator"),
    "beta": (0.0, 0.1, 0.3, 0.5, 0.9),
    "delta": (0.0, 0.1, 1.0, 10.0),
    "components": ("C-1", "2(C-1)", "2(C-1), at least 10", "20", "40"),
}
"""What is tried. The bandwidth is a multiple of the median heuristic's gamma."""

DEFAULTS = ("as they are", 1.0, 1e-3, "eigenvalue", 0.1, 1.0, "2(C-1), at least 10")
"""What SCA() does, and nothing done to the samples."""

SHAPE = tuple(len(values) for values in GRID.values())


class Measured(NamedTuple):
    """Percent right on one task: of the samples as they are, and of every setting."""

    raw: float
    settings: Array


# --- measuring ------------------------------------------------------------------------------------


def scalings(samples: Samples) -> Iterator[Array]:
    """Yield the samples in every scaling of the grid, in its order."""
    X, domains = samples.X, samples.domains
    site = domains.domain_ids[domains.domain]
    alone = DomainScaler().fit(X, sample_domain=site).transform(X, sample_domain=site)
    yield from (X, StandardScaler().fit_transform(X), alone, normalize(alone))


def counts(samples: Samples) -> list[int]:
    """Return the numbers of components of the grid, in its order."""
    rank = max(len(samples.domains.classes) - 1, 1)
    return [rank, 2 * rank, max(2 * rank, 10), 20, 40]


def accuracies(samples: Samples, Z: Array) -> Array:
    """Percent right of the nearest neighbour, for each number of components."""
    ks = counts(samples)
    order = np.argsort(ks, kind="stable")
    train, new = Z[samples.source], Z[samples.target]
    found = np.empty(len(ks))
    guesses = nearest_labels(train, samples.label, new, [ks[i] for i in order])
    for i, guess in zip(order, guesses, strict=True):
        found[i] = 100 * np.mean(guess == samples.truth)
    return found


def study(task: Task) -> Measured:
    """Measure every setting of the grid on one task."""
    samples = draw(task)
    settings = list(product(GRID["beta"], GRID["delta"]))
    found = []
    for X in scalings(samples):
        median = 1 / median_distance(X)
        for bandwidth, ridge, scale in product(GRID["bandwidth"], GRID["ridge"], GRID["scale"]):
            template = SCA(gamma=bandwidth * median, ridge=ridge, scale=scale)
            solver = FoldSolver(template, X, samples.domains)
            solved = solver.solve(samples.domains, settings, max(counts(samples)))
            found += [accuracies(samples, Z) for Z, _ in solved]
    guess = nearest(samples.X[samples.source], samples.label, samples.X[samples.target])
    raw = 100 * float(np.mean(guess == samples.truth))
    return Measured(raw, np.reshape(found, SHAPE))


def measure(store: Path | None) -> dict[str, dict[str, Measured]]:
    """Return what was measured by data set and task."""
    kept = dict(np.load(store)) if store is not None and store.exists() else {}
    for name, (_, tasks) in suites().items():
        for task in tasks[:MOST]:
            key = f"{name}: {task.name}"
            if key not in kept:
                measured = study(task)
                kept[key] = np.concatenate([[measured.raw], measured.settings.ravel()]).astype("f4")
                print(key, measured.raw, measured.settings[place(DEFAULTS)], flush=True)
                if store is not None:
                    keep(store, kept)
    return {
        name: {
            task.name: Measured(float(row[0]), row[1:].reshape(SHAPE))
            for task in tasks[:MOST]
            for row in [kept[f"{name}: {task.name}"]]
        }
        for name, (_, tasks) in suites().items()
    }


def keep(store: Path, kept: dict[str, Array]) -> None:
    """Write the file whole or not at all."""

    def write(part: Path) -> None:
        with part.open("wb") as file:
            np.savez_compressed(file, **kept)

    write_atomically(store, write)


# --- choosing -------------------------------------------------------------------------------------


def place(setting: tuple[Any, ...]) -> tuple[int, ...]:
    """Return where a setting stands in the grid."""
    return tuple(values.index(value) for values, value in zip(GRID.values(), setting, strict=True))


def setting_at(where: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(values[i] for values, i in zip(GRID.values(), where, strict=True))


def best(gains: list[Array]) -> tuple[Any, ...]:
    """Return the setting with the best mean gain."""
    mean = np.mean(gains, axis=0)
    return setting_at(np.unravel_index(int(np.argmax(mean)), SHAPE))


def words(setting: tuple[Any, ...]) -> str:
    samples, bandwidth, ridge, scale, beta, delta, k = setting
    scaled = f"standardised in each domain {samples}" if samples.startswith("and") else samples
    return (
        f"β {beta:g}, δ {delta:g}, ridge {ridge:g}, k {k}, {scale}, bandwidth {bandwidth:g}, "
        f"{scaled}"
    )


def left_out(found: dict[str, dict[str, Measured]]) -> list[str]:
    """Say, for every data set, what the others choose and what that is worth on it."""
    mean = {name: np.mean([m.settings for m in tasks.values()], 0) for name, tasks in found.items()}
    raw = {name: np.mean([m.raw for m in tasks.values()]) for name, tasks in found.items()}
    gain = {name: mean[name] - raw[name] for name in found}
    lines = [
        "| data set | raw 1NN | `SCA()` | chosen on the others | its best | chosen on the others |",
        "| :--- | ---: | ---: | ---: | ---: | :--- |",
    ]
    rows = []
    for name in found:
        chosen = best([gain[other] for other in found if other != name])
        row = (raw[name], mean[name][place(DEFAULTS)], mean[name][place(chosen)], mean[name].max())
        rows.append(row)
        title = suites()[name][0].removesuffix(" *")
        cells = " | ".join(f"{value:.2f}" for value in row)
        lines.append(f"| {title} | {cells} | {words(chosen)} |")
    cells = " | ".join(f"{value:.2f}" for value in np.mean(rows, axis=0))
    return [*lines, f"| mean | {cells} | all together: {words(best(list(gain.values())))} |"]


def one_at_a_time(found: dict[str, dict[str, Measured]]) -> list[str]:
    """Say what the mean over all data sets becomes when one default is changed."""
    mean = np.mean(
        [np.mean([m.settings for m in tasks.values()], 0) for tasks in found.values()], 0
    )
    base = mean[place(DEFAULTS)]
    lines = ["| changed alone | to | mean | change |", "| :--- | :--- | ---: | ---: |"]
    for i, (name, values) in enumerate(GRID.items()):
        for value in values:
            if value != DEFAULTS[i]:
                other = mean[place((*DEFAULTS[:i], value, *DEFAULTS[i + 1 :]))]
                shown = f"{value:g}" if isinstance(value, float) else value
                lines.append(f"| {name} | {shown} | {other:.2f} | {other - base:+.2f} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="folder of defaults.md and defaults.npz")
    parser.add_argument("--docs", type=Path, help="page that holds the tables")
    options = parser.parse_args()
    with threadpool_limits(1):
        found = measure(None if options.out is None else options.out / "defaults.npz")
    tables = {"left out": left_out(found), "one at a time": one_at_a_time(found)}
    text = [
        f"# SCA's defaults\n\nMade by `benchmarks/defaults.py`. {machine()}. At most 400 samples "
        "of each domain, the nearest neighbour at the end; percent right on the target.",
        *("\n".join(lines) for lines in tables.values()),
    ]
    print("\n\n".join(text))
    if options.out is not None:
        (options.out / "defaults.md").write_text("\n\n".join(text) + "\n")
    if options.docs is not None:
        for name, lines in tables.items():
            insert(options.docs, name, lines, "defaults")


if __name__ == "__main__":
    main()
