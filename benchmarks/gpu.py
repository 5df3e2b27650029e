"""What one graphics card does: exact SCA, the iterative route, explicit maps, 1NN, methods.

    python benchmarks/gpu.py [--out FOLDER] [--quick]

Samples are drawn on the card: ten classes, two domains, one of them without labels, variances that
decay as those of deep features do. A fit begins with samples on the card and ends with components
there, bandwidth, Gram matrix, centring, factorisation and residuals included. The first fit of each
row warms up and is not counted; medians of the others are reported. Memory is the peak that torch
has allocated, samples included. Agreement with NumPy is measured on fewer samples in the same
process, before anything is timed.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import RBFSampler

from skatter import SCA, NearestNeighbour, SCAClassifier
from skatter.maps import LandmarkMap
from skatter.methods import JDA, TCA

K = 50
CLASSES = 10


def samples(
    n: int, p: int, dtype: torch.dtype, device: str, *, flat: bool = False, labelled: bool = False
) -> Any:
    """Return samples, labels and domains; the second half is a target, unlabelled or labelled."""
    draw = torch.Generator(device).manual_seed(0)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=draw, dtype=dtype, device=device)

    label = torch.randint(CLASSES, (n,), generator=draw, device=device)
    decay = torch.arange(1, p + 1, dtype=dtype, device=device) ** -0.5
    X = normal(n, p) + 0.3 * normal(CLASSES, p)[label]
    X[n // 2 :] += 0.5 * normal(p)
    if not flat:
        X *= decay
    domain = np.where(np.arange(n) < n // 2, "source", "target")
    known = (domain == "source") | labelled
    return X, np.where(known, label.cpu().numpy(), -1), domain


def timed(call: Callable[[], Any], rounds: int) -> tuple[float, float, Any]:
    """Return the median seconds, the peak memory in GiB and the last result."""
    call()
    torch.cuda.reset_peak_memory_stats()
    seconds = []
    for _ in range(rounds):
        torch.cuda.synchronize()
        start = perf_counter()
        result = call()
        torch.cuda.synchronize()
        seconds.append(perf_counter() - start)
    return float(np.median(seconds)), torch.cuda.max_memory_allocated() / 2**30, result


def fit_row(
    name: str,
    n: int,
    p: int,
    dtype: torch.dtype,
    rounds: int,
    flat: bool = False,
    labelled: bool = False,
    **options: Any,
) -> dict[str, Any]:
    """Time one fit, and the embedding and prediction of the target."""
    X, y, domain = samples(n, p, dtype, "cuda", flat=flat, labelled=labelled)
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        seconds, memory, model = timed(
            partial(SCA(K, **options).fit, X, y, sample_domain=domain), rounds
        )
    source, target = X[: n // 2], X[n // 2 :][:20_000]
    embed, _, Z = timed(partial(model.transform, target), 1)
    nearest = NearestNeighbour(max_samples=100_000).fit(model.transform(source), y[: n // 2])
    predict, _, _ = timed(partial(nearest.predict, Z), 1)
    row = {
        "name": name,
        "n": n,
        "p": p,
        "dtype": str(dtype).removeprefix("torch."),
        "seconds": seconds,
        "memory_gib": memory,
        "residual": float(model.residuals_.max()),
        "transform_seconds": embed,
        "predict_seconds": predict,
        "notes": sorted({str(note.message)[:200] for note in notes}),
    }
    print(json.dumps(row), flush=True)
    torch.cuda.empty_cache()
    return row


def classifier_row(n: int, p: int, dtype: torch.dtype, rounds: int, model: Any) -> dict[str, Any]:
    """Time a method on all samples, and its predictions or features of the target."""
    X, y, domain = samples(n, p, dtype, "cuda")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        seconds, memory, fitted = timed(partial(model.fit, X, y, sample_domain=domain), rounds)
    answer = getattr(fitted, "predict", None) or fitted.transform
    predict, _, _ = timed(partial(answer, X[n // 2 :]), 1)
    row = {
        "name": type(model).__name__,
        "n": n,
        "p": p,
        "dtype": str(dtype).removeprefix("torch."),
        "seconds": seconds,
        "memory_gib": memory,
        "predict_seconds": predict,
    }
    print(json.dumps(row), flush=True)
    torch.cuda.empty_cache()
    return row


def agreement(dtype: torch.dtype, n: int = 4000, p: int = 128, **options: Any) -> dict[str, Any]:
    """Largest difference between the card's projections and NumPy's, relative to the largest."""
    X, y, domain = samples(n, p, dtype, "cuda")
    ours = SCA(K, **options).fit(X, y, sample_domain=domain)
    theirs = SCA(K, **options).fit(X.cpu().numpy(), y, sample_domain=domain)
    Z = theirs.transform(X.cpu().numpy())
    signs = np.sign(np.sum(Z * ours.transform(X).cpu().numpy(), axis=0))
    difference = np.abs(ours.transform(X).cpu().numpy() * signs - Z).max(axis=0)
    row = {
        "dtype": str(dtype).removeprefix("torch."),
        "route": options.get("solver", "explicit map" if options else "exact"),
        "eigenvalues": float(np.abs(ours.eigenvalues_ / theirs.eigenvalues_ - 1).max()),
        "projections": float((difference / np.abs(Z).max(axis=0))[:20].max()),
    }
    print(json.dumps(row), flush=True)
    return row


def rows(rounds: int, quick: bool) -> list[dict[str, Any]]:
    double, single = torch.float64, torch.float32
    random = FrozenEstimator(
        RBFSampler(gamma=1 / 256, n_components=1024, random_state=0).fit(np.zeros((1, 64)))
    )
    plan: list[tuple[Any, ...]] = [
        ("exact", 20_000, 512, double, {}),
        ("exact", 50_000, 512, double, {}),
        ("exact, flat spectrum", 50_000, 512, double, {"flat": True}),
        ("exact, all labelled", 50_000, 512, double, {"labelled": True}),
        ("exact", 100_000, 512, single, {}),
        ("random features, D = 1,024", 1_000_000, 64, single, {"feature_map": random}),
        ("landmarks, D = 1,024", 1_000_000, 64, single, {"feature_map": LandmarkMap(1024)}),
        ("iterative", 100_000, 512, single, {"solver": "iterative"}),
        ("iterative", 300_000, 512, single, {"solver": "iterative"}),
    ]
    if quick:
        plan = [(name, n // 10, p, dtype, options) for name, n, p, dtype, options in plan]
    return [
        fit_row(name, n, p, dtype, rounds if n < 200_000 else 1, **options)
        for name, n, p, dtype, options in plan
    ]


def method_rows(rounds: int, quick: bool) -> list[dict[str, Any]]:
    n = 2_000 if quick else 20_000
    return [
        classifier_row(n, 512, dtype, rounds, model)
        for model, dtype in (
            (SCAClassifier(), torch.float64),
            (SCAClassifier(), torch.float32),
            (TCA(K), torch.float64),
            (JDA(K, kernel="rbf", max_iter=10), torch.float64),
        )
    ]


def report(
    found: list[dict[str, Any]], methods: list[dict[str, Any]], agree: list[dict[str, Any]]
) -> list[str]:
    lines = [
        "# On a graphics card\n",
        f"Made by `benchmarks/gpu.py` on one {torch.cuda.get_device_name()}, torch "
        f"{torch.__version__}; k = {K}, RBF kernel with the median bandwidth, default tolerance, "
        f"{CLASSES} classes, two domains, half of the samples labelled.\n",
        "| route | n | p | precision | fit, s | peak memory, GiB | largest residual "
        "| transform 20,000, s | 1NN of 20,000, s |",
        "| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {row['name']} | {row['n']:,} | {row['p']} | {row['dtype']} "
        f"| {row['seconds']:.2f} | {row['memory_gib']:.1f} | {row['residual']:.1e} "
        f"| {row['transform_seconds']:.3f} | {row['predict_seconds']:.3f} |"
        for row in found
    ]
    lines += [
        "\nMethods with their defaults, but for k and 10 rounds of JDA with the RBF kernel.\n",
        "| method | n | p | precision | fit, s | peak memory, GiB | answer for n/2, s |",
        "| --- | ---: | ---: | --- | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {row['name']} | {row['n']:,} | {row['p']} | {row['dtype']} | {row['seconds']:.2f} "
        f"| {row['memory_gib']:.1f} | {row['predict_seconds']:.2f} |"
        for row in methods
    ]
    lines += [
        "\nThe card and NumPy on the same 4,000 samples: largest relative difference of the "
        "eigenvalues, and of the first 20 components.\n",
        "| route | precision | eigenvalues | projections |",
        "| --- | --- | ---: | ---: |",
    ]
    lines += [
        f"| {row['route']} | {row['dtype']} | {row['eigenvalues']:.1e} | {row['projections']:.1e} |"
        for row in agree
    ]
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="folder for gpu.md and gpu.json")
    parser.add_argument("--quick", action="store_true", help="a tenth of the samples")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        parser.exit(1, "benchmarks/gpu.py needs a graphics card that torch can use.\n")
    agree = [
        agreement(torch.float64),
        agreement(torch.float32),
        agreement(torch.float64, feature_map=LandmarkMap(256)),
        agreement(torch.float64, solver="iterative"),
    ]
    found = rows(arguments.rounds, arguments.quick)
    methods = method_rows(arguments.rounds, arguments.quick)
    lines = report(found, methods, agree)
    print("\n".join(lines))
    if arguments.out:
        arguments.out.mkdir(parents=True, exist_ok=True)
        (arguments.out / "gpu.md").write_text("\n".join(lines) + "\n")
        (arguments.out / "gpu.json").write_text(
            json.dumps(
                {
                    "card": torch.cuda.get_device_name(),
                    "rows": found,
                    "methods": methods,
                    "agree": agree,
                }
            )
        )


if __name__ == "__main__":
    main()
