"""How many landmarks are enough: explicit maps beside the exact route.

    SKATTER_DATA=FOLDER python benchmarks/maps.py [--out FOLDER] [--docs FOLDER] [--data NAME ..]

One domain after the other is the unlabelled target, the others are labelled sources, all samples
are seen; SCA with 20 components, defaults else, and 1NN. Landmarks of every kind and scikit-learn's
random features, D of them, stand in for the same kernel. Every map solves the same problem as the
exact route: the ridge, which SCA takes as a share of the total scatter, is given as the number that
it is there, since a map loses some of that scatter.

*accuracy*: percent of the target's samples that are predicted right.
*eigenvalue error*: mean of |λ − λ_exact| / λ_exact over the 20 leading ones; one that a map does
not have counts as zero.
*angle*: the largest principal angle, in degrees, between the C-1 leading components.
*lost*: mean of k(x, x) − ‖φ(x)‖², the share of a sample that lies outside the span of the
landmarks; random features have no such span.

All are means over the targets, and over three draws where D < 1,024. ``--out`` gets
maps.json, to which a run adds the data it was asked for, and maps.md; ``--docs`` gets the table and
the picture of landmarks.md. ``--data`` with no name draws what is in maps.json already.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import subspace_angles
from sklearn.kernel_approximation import RBFSampler
from sklearn.neighbors import KNeighborsClassifier
from threadpoolctl import threadpool_limits

from paper import put
from problems import machine
from skatter import SCA
from skatter.datasets import Dataset, load_office_caltech, load_pacs, load_rotated_mnist
from skatter.kernels import resolve_kernel
from skatter.maps import LandmarkMap
from skatter.plots import MARKERS, PALETTE

CASES: dict[str, Callable[[], Dataset]] = {
    "rotated MNIST": load_rotated_mnist,
    "PACS EfficientNet": load_pacs,
    "Office+Caltech EfficientNet": lambda: load_office_caltech("effnet"),
    "Office+Caltech SURF": lambda: load_office_caltech("surf"),
}
MAPS = ("kmeans++", "leverage", "uniform", "RBFSampler")
SIZES = tuple(2**i for i in range(4, 12))
DRAWS = 3
"""Seeds, below ``STEADY`` landmarks; from there on one will do."""
STEADY = 1024
COMPONENTS = 20
RIDGE = 1e-3
"""SCA's default, a share of the total scatter of the exact route."""

Cell = dict[str, float]
Results = dict[str, dict[str, Any]]


# --- one fit ----------------------------------------------------------------------------------


def known_labels(data: Dataset, target: str) -> Any:
    return np.where(data.domain == target, -1, data.y)


def accuracy(Z: Any, data: Dataset, target: str) -> float:
    """Percent of the target that the nearest source sample predicts right."""
    there = data.domain == target
    judge = KNeighborsClassifier(1).fit(Z[~there], data.y[~there])
    return 100 * float(np.mean(judge.predict(Z[there]) == data.y[there]))


def fit(features: Any, data: Dataset, target: str, **options: Any) -> tuple[SCA, Any]:
    """Return SCA and projections of the samples."""
    model = SCA(COMPONENTS, **options)
    with warnings.catch_warnings():
        # Fewer features than components.
        warnings.simplefilter("ignore", UserWarning)
        Z = model.fit_transform(features, known_labels(data, target), sample_domain=data.domain)
    return model, Z


def exact_routes(data: Dataset) -> dict[str, tuple[SCA, Any]]:
    """Return the exact solution for every target; they share one Gram matrix."""
    K = resolve_kernel(data.X)(data.X)
    return {target: fit(K, data, target, kernel="precomputed") for target in np.unique(data.domain)}


def total_scatter(features: Any) -> float:
    return float(np.var(features, axis=0).sum())


def compare(features: Any, data: Dataset, exact: dict[str, tuple[SCA, Any]]) -> Iterator[Cell]:
    """Yield what a map reaches, target by target.

    The linear kernel of its features is what ``SCA(feature_map=...)`` solves.
    """
    lost = 1 - float(np.mean(np.sum(np.square(features), axis=1)))
    shared = RIDGE / total_scatter(features)
    leading = len(data.class_names) - 1
    for target, (truth, Z_exact) in exact.items():
        ridge = shared * truth.scatter_["before"].total
        model, Z = fit(features, data, target, kernel="linear", solver="primal", ridge=ridge)
        found = np.zeros(COMPONENTS)
        found[: len(model.eigenvalues_)] = model.eigenvalues_
        angles = subspace_angles(Z_exact[:, :leading], Z[:, :leading])
        yield {
            "accuracy": accuracy(Z, data, target),
            "eigenvalue error": float(np.mean(np.abs(found / truth.eigenvalues_ - 1))),
            "angle": float(np.degrees(angles.max())),
            "lost": lost,
        }


def features_of(name: str, size: int, seed: int, X: Any) -> Any:
    if name == "RBFSampler":
        gamma = resolve_kernel(X).params["gamma"]
        return RBFSampler(gamma=gamma, n_components=size, random_state=seed).fit_transform(X)
    return LandmarkMap(size, landmarks=name, random_state=seed).fit_transform(X)


def run(name: str) -> dict[str, Any]:
    """Measure one data set, and print rows as they come."""
    data = CASES[name]()
    exact = exact_routes(data)
    found: dict[str, Any] = {
        "n_samples": len(data.y),
        "n_features": data.X.shape[1],
        "targets": list(exact),
        "machine": machine(),
        "exact": float(np.mean([accuracy(Z, data, target) for target, (_, Z) in exact.items()])),
        "maps": {kind: {} for kind in MAPS},
    }
    print(name, f"exact {found['exact']:.2f}", flush=True)
    for size in SIZES:
        for kind in MAPS:
            cells = [
                cell
                for seed in range(DRAWS if size < STEADY else 1)
                for cell in compare(features_of(kind, size, seed, data.X), data, exact)
            ]
            mean = {key: float(np.mean([cell[key] for cell in cells])) for key in cells[0]}
            found["maps"][kind][str(size)] = mean
            print(name, kind, size, {k: round(v, 4) for k, v in mean.items()}, flush=True)
    return found


# --- tables and the picture ---------------------------------------------------------------------


LANDMARKS = MAPS[:3]
WORDS = {
    "accuracy": ("Accuracy, percent", "{:.2f}"),
    "eigenvalue error": ("Relative error of the 20 leading eigenvalues", "{:.3f}"),
    "angle": ("Largest principal angle of the C-1 leading components, degrees", "{:.1f}"),
    "lost": ("Share of a sample outside the span of the landmarks", "{:.3f}"),
}


def table(case: dict[str, Any], key: str) -> Iterator[str]:
    yield f"| map | {' | '.join(f'D = {size:,}' for size in SIZES)} |"
    yield f"| --- | {' | '.join('---:' for _ in SIZES)} |"
    for kind in LANDMARKS if key == "lost" else MAPS:
        cells = [WORDS[key][1].format(case["maps"][kind][str(size)][key]) for size in SIZES]
        yield f"| {kind} | {' | '.join(cells)} |"


def report(results: Results) -> Iterator[str]:
    yield "# Explicit maps beside the exact route\n"
    yield (
        "Made by `benchmarks/maps.py`, which says what is measured: SCA with 20 components and 1NN "
        f"on D landmarks or random features; means over all targets, and over {DRAWS} draws where "
        f"D < {STEADY:,}."
    )
    for name, case in results.items():
        yield f"\n## {name}; n = {case['n_samples']:,}, p = {case['n_features']:,}\n"
        yield f"Targets {', '.join(case['targets'])}. Exact route: {case['exact']:.2f} percent."
        yield f"{case['machine']}."
        for key, (words, _) in WORDS.items():
            yield f"\n{words}\n"
            yield from table(case, key)


SHOWN = (64, 256, 1024, 2048)


def summary(results: Results) -> str:
    """Return the table of the docs: accuracy, and in brackets what is lost, by D, k-means++."""
    lines = [
        f"| data | n | exact | {' | '.join(f'D = {size:,}' for size in SHOWN)} |",
        f"| :--- | ---: | ---: | {' | '.join('---:' for _ in SHOWN)} |",
    ]
    for name, case in results.items():
        cells = [case["maps"]["kmeans++"][str(size)] for size in SHOWN]
        said = [f"{cell['accuracy']:.1f} ({100 * cell['lost']:.0f} %)" for cell in cells]
        head = f"{name} | {case['n_samples']:,} | {case['exact']:.1f}"
        lines.append(f"| {head} | {' | '.join(said)} |")
    return "\n".join(lines)


def draw(results: Results) -> Any:
    """Draw accuracy, eigenvalue error and angle against D, one column a data set."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.1 * len(results), 7.6), layout="constrained")
    axes = figure.subplots(3, len(results), sharex=True, squeeze=False)
    for (name, case), column in zip(results.items(), axes.T, strict=True):
        column[0].axhline(case["exact"], color="0.3", lw=1, label="exact route")
        column[0].axhspan(
            case["exact"] - 1, case["exact"], color="0.88", lw=0, label="less by up to one point"
        )
        column[0].set_title(f"{name}\nn = {case['n_samples']:,}", fontsize="medium")
        draw_lines(column, case)
        scale_axes(column, case)
    for ax, words in zip(
        axes[:, 0],
        ("accuracy on the target, %", "error of eigenvalues, %", "largest angle, degrees"),
        strict=True,
    ):
        ax.set_ylabel(words)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return figure


def draw_lines(column: Any, case: dict[str, Any]) -> None:
    for i, kind in enumerate(MAPS):
        cells = [case["maps"][kind][str(size)] for size in SIZES]
        style = {"color": PALETTE[i], "marker": MARKERS[i], "ms": 4, "lw": 1.4, "label": kind}
        style["zorder"] = 10 - i  # the first is on top
        column[0].plot(SIZES, [cell["accuracy"] for cell in cells], **style)
        column[1].plot(SIZES, [100 * cell["eigenvalue error"] for cell in cells], **style)
        column[2].plot(SIZES, [cell["angle"] for cell in cells], **style)


def scale_axes(column: Any, case: dict[str, Any]) -> None:
    """Let landmarks fill the panel of accuracies; random features come in from below."""
    above, middle, below = column
    least = min(case["maps"][kind][str(SIZES[0])]["accuracy"] for kind in LANDMARKS)
    room = (case["exact"] - least) / 10
    above.set_ylim(least - room, case["exact"] + room)
    middle.set(yscale="log", ylim=(0.8, 100))
    middle.set_yticks((1, 3, 10, 30, 100), ("1", "3", "10", "30", "100"))
    below.set(ylim=(0, 90), yticks=(0, 30, 60, 90), xlabel="D, landmarks or random features")
    below.set_xscale("log", base=2)
    below.set_xticks(SIZES[::2], [f"{size:,}" for size in SIZES[::2]])
    for ax in column:
        ax.minorticks_off()
        ax.spines[["top", "right"]].set_visible(False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="folder for maps.json and maps.md")
    parser.add_argument("--docs", type=Path, help="folder of landmarks.md and images")
    parser.add_argument("--data", nargs="*", choices=list(CASES), default=list(CASES))
    arguments = parser.parse_args()
    path = arguments.out and arguments.out / "maps.json"
    results = json.loads(path.read_text()) if path and path.exists() else {}
    for name in arguments.data:
        with threadpool_limits(1):
            results[name] = run(name)
        results = {name: results[name] for name in CASES if name in results}
        if path:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(results, indent=1) + "\n")
    if path:
        path.with_suffix(".md").write_text("\n".join(report(results)) + "\n")
    if arguments.docs:
        put(arguments.docs / "landmarks.md", "landmarks", summary(results))
        draw(results).savefig(arguments.docs / "images" / "landmarks.png", dpi=130)


if __name__ == "__main__":
    main()
