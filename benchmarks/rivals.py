"""How fast are the rivals? Beside scikit-adaptation and ADAPT, and beside SCA, in one process.

    SKATTER_DATA=FOLDER python benchmarks/rivals.py [--out FOLDER] [--cases CASE ...]
        [--methods NAME ...]

Side by side, all get the same kernel (RBF, scikit-learn's bandwidth), number of components and
number of iterations; a library that is not installed is left out. Seconds are the processor's.
``--methods`` leaves out all but some of the methods side by side. Real digits, whose Gram matrix
has few large eigenvalues, and Gaussian clouds, whose flat spectrum is the hard case. ADAPT needs
TensorFlow: ``pip install adapt tensorflow-cpu`` beside ``skatter[test]``. Then every method of the
registry with its defaults, as a multiple of SCA with its defaults.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from problems import Problem, gaussian, machine, mnist_usps
from skatter import SCA
from skatter.methods import CORAL, METHODS, TCA, TJM, SubspaceAlignment

K = 50
ITERATIONS = 3
ROUNDS = 3
N_TARGET_LABELS = 100
PROBLEMS: dict[str, Callable[[], Problem]] = {
    "mnist-usps-3800": mnist_usps,
    "gaussian-3800": lambda: gaussian(1800, 2000, 256, 10),
    "gaussian-7500": lambda: gaussian(5000, 2500, 4096, 5),
}

Call = Callable[[], Any]


def signed(problem: Problem) -> np.ndarray:
    """Domains as scikit-adaptation has them: the target is negative."""
    return np.where(problem.y >= 0, 1, -2)


def ours(problem: Problem, n_iter: int) -> dict[str, Call]:
    given = {"y": problem.y, "sample_domain": signed(problem)}
    shared = {"kernel": "rbf", "gamma": 1 / problem.X.shape[1]}
    models = {
        "TCA": TCA(K, mu=0.1, **shared),
        f"TJM, {n_iter} iterations": TJM(K, penalty=0.01, max_iter=n_iter, tol=0, **shared),
        "subspace alignment": SubspaceAlignment(K),
        "CORAL": CORAL(),
    }
    return {name: lambda m=model: m.fit(problem.X, **given) for name, model in models.items()}


def skada(problem: Problem, n_iter: int) -> dict[str, Call]:
    """Scikit-adaptation's; a negative tolerance makes its TJM run all iterations."""
    library = load("skada")
    if library is None:
        return {}
    models = {
        "TCA": library.TransferComponentAnalysisAdapter(n_components=K, mu=0.1),
        f"TJM, {n_iter} iterations": library.TransferJointMatchingAdapter(
            n_components=K, tradeoff=0.01, max_iter=n_iter, tol=-1.0
        ),
        "subspace alignment": library.SubspaceAlignmentAdapter(n_components=K),
        "CORAL": library.CORALAdapter(reg=0.1),
    }
    domain = signed(problem)
    return {
        name: lambda m=model: m.fit(problem.X, problem.y.copy(), sample_domain=domain)
        for name, model in models.items()
    }


def adapt(problem: Problem) -> dict[str, Call]:
    library = load("adapt.feature_based")
    if library is None:
        return {}
    source = problem.y >= 0
    model = library.TCA(
        n_components=K, mu=0.1, kernel="rbf", gamma=1 / problem.X.shape[1], verbose=0
    )
    return {"TCA": lambda: model.fit_transform(problem.X[source], problem.X[~source])}


def load(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        print(f"{name} is not installed and is left out")
        return None


def seconds(call: Call) -> float:
    """Seconds of the processor: what else runs on the machine does not count."""
    start = process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call()
    return process_time() - start


def median_seconds(call: Call) -> float:
    return float(np.median([seconds(call) for _ in range(ROUNDS)]))


def side_by_side(problem: Problem, n_iter: int, wanted: list[str]) -> list[str]:
    lines = [
        "| method | skatter, seconds | scikit-adaptation takes | ADAPT takes |",
        "| --- | ---: | ---: | ---: |",
    ]
    peers = (skada(problem, n_iter), adapt(problem))
    for name, call in ours(problem, n_iter).items():
        if wanted and name not in wanted:
            continue
        own = median_seconds(call)
        cells = []
        for peer in peers:
            # Fast ones deserve a median too; a run of minutes is its own average.
            first = seconds(peer[name]) if name in peer else None
            if first is not None and first < 20:
                first = median_seconds(peer[name])
            cells.append("" if first is None else f"{first / own:.1f} x ({first:.2f} s)")
        lines.append(f"| {name} | {own:.2f} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return lines


def beside_sca(problem: Problem) -> list[str]:
    """Every registered method with its defaults; some target labels where they are needed."""
    domain = signed(problem)
    some = problem.y.copy()
    target = np.flatnonzero(domain < 0)[:N_TARGET_LABELS]
    some[target] = np.arange(N_TARGET_LABELS) % (problem.y.max() + 1)
    unit = median_seconds(lambda: SCA().fit(problem.X, problem.y, sample_domain=domain))
    lines = ["| method | seconds | x SCA |", "| --- | ---: | ---: |"]
    for name, method in METHODS.items():
        y = some if "target labels" in method.needs else problem.y
        own = seconds(lambda m=method, y=y: m.estimator().fit(problem.X, y, sample_domain=domain))
        lines.append(f"| {name} | {own:.2f} | {own / unit:.1f} |")
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="folder for rivals.md")
    parser.add_argument("--cases", nargs="+", choices=list(PROBLEMS), default=list(PROBLEMS))
    parser.add_argument("--methods", nargs="+", metavar="NAME", default=[])
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    lines = [
        "# Speed of the rivals\n",
        f"Made by `benchmarks/rivals.py`: k = {K}, seconds of the processor, medians of {ROUNDS} "
        f"runs (one run where it takes more than 20 seconds, and for the methods with their "
        f"defaults), "
        f"{arguments.threads} BLAS thread{'s' if arguments.threads > 1 else ''}. {machine()}.",
    ]
    with threadpool_limits(arguments.threads):
        for case in arguments.cases:
            try:
                problem = PROBLEMS[case]()
            except FileNotFoundError as error:
                print(f"{case} is left out: {error}")
                continue
            small = len(problem.X) < 5000
            lines += [f"\n## {problem.name}\n", "### Side by side\n"]
            print("\n".join(lines[-2:]), flush=True)
            lines += side_by_side(problem, ITERATIONS if small else 1, arguments.methods)
            if small and not arguments.methods:
                lines += ["\n### All methods with their defaults\n", *beside_sca(problem)]
    if arguments.out:
        arguments.out.mkdir(parents=True, exist_ok=True)
        (arguments.out / "rivals.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
