"""How fast is SCA beside kernel PCA and beside the dense way? Side by side, in one process.

    python benchmarks/speed.py [--out FOLDER] [--quick]

Every contender gets the same kernel, bandwidth, number of components and tolerance. Rounds are
interleaved, so that a busy neighbour on the machine slows all contenders alike; medians are
reported as ratios. Memory is the growth of the peak of a fresh process during one fit.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from scipy.linalg import eigh
from sklearn.decomposition import KernelPCA
from threadpoolctl import threadpool_limits

from problems import Problem, digits, forget_peak, gaussian, machine, peak_bytes
from skatter import SCA, USCA
from skatter._objective import Coefficients, sca
from skatter.domains import read_domains
from skatter.kernels import centre, gram, resolve_kernel

K = 50
TOL = 1e-6
PROBLEMS: dict[str, Callable[[], Problem]] = {
    "gaussian-3800": lambda: gaussian(1800, 2000, 256, 10),
    "digits-3797": lambda: digits(2000),
    "gaussian-7500": lambda: gaussian(5000, 2500, 4096, 5),
}


def contenders(problem: Problem) -> dict[str, Callable[[], Any]]:
    gamma = problem.gamma
    common = {"gamma": gamma, "tol": TOL}

    def fit(estimator: Any) -> Callable[[], Any]:
        return lambda: estimator.fit(problem.X, problem.y, sample_domain=problem.domain)

    kpca = KernelPCA(K, kernel="rbf", gamma=gamma, eigen_solver="arpack", tol=TOL, random_state=0)
    return {
        "KernelPCA (scikit-learn, arpack)": lambda: kpca.fit(problem.X),
        "SCA, beta = 0.5": fit(SCA(K, beta=0.5, **common)),
        "SCA, beta = 0.5, paper's scaling": fit(SCA(K, beta=0.5, normalize=False, **common)),
        "SCA, beta = 1": fit(SCA(beta=1.0, **common)),
        "USCA": fit(USCA(K, **common)),
    }


def dense_sca(problem: Problem, beta: float) -> None:
    """Solve the direct way: two n × n matrices and a dense generalised eigensolver."""
    domains = read_domains(problem.y, problem.domain)
    gram_matrix = gram(problem.X, resolve_kernel(problem.X, gamma=problem.gamma))
    centre(gram_matrix)
    objective = sca(beta, 1.0, ridge=1.0, normalize=False, n_labelled=domains.n_labelled)
    coefficients = Coefficients(domains)
    n = len(gram_matrix)
    A = gram_matrix @ coefficients.numerator(objective, gram_matrix)
    C = gram_matrix + gram_matrix @ coefficients.denominator(objective, gram_matrix)
    C[np.diag_indices(n)] += 1e-5 * np.trace(C) / n
    wanted = K if beta < 1 else len(domains.classes) - 1
    eigh(A, C, subset_by_index=[n - wanted, n - 1], overwrite_a=True, overwrite_b=True)


def seconds(call: Callable[[], Any]) -> float:
    start = perf_counter()
    call()
    return perf_counter() - start


def race(problem: Problem, rounds: int) -> dict[str, float]:
    """Median seconds of each contender, rounds interleaved."""
    calls = contenders(problem)
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(seconds(call))
    return {name: float(np.median(values)) for name, values in times.items()}


def peak_in_grams(case: str, which: str) -> float:
    """Growth of the peak memory of a fresh process during one fit, in Gram matrices."""
    done = subprocess.run(
        [sys.executable, __file__, "--memory", case, which],
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


def measure_memory(case: str, which: str) -> None:
    problem = PROBLEMS[case]()
    # A warm-up on few samples loads every library that the fit will load.
    few = np.random.default_rng(0).permutation(len(problem.X))[:600]
    small = Problem("small", problem.X[few], problem.y[few], problem.domain[few])
    contenders(small)[which]()
    call = contenders(problem)[which]
    forget_peak()
    before = peak_bytes()
    call()
    print((peak_bytes() - before) / (len(problem.X) ** 2 * 8))


def report(case: str, rounds: int, n_threads: int) -> list[str]:
    problem = PROBLEMS[case]()
    with threadpool_limits(n_threads):
        times = race(problem, rounds)
        half, one = (seconds(lambda beta=beta: dense_sca(problem, beta)) for beta in (0.5, 1.0))
    kpca = times["KernelPCA (scikit-learn, arpack)"]
    direct = {
        "SCA, beta = 0.5": half,
        "SCA, beta = 0.5, paper's scaling": half,
        "SCA, beta = 1": one,
    }
    lines = [
        f"\n### {problem.name}; {n_threads} BLAS thread{'s' if n_threads > 1 else ''}\n",
        "| contender | seconds | x kernel PCA | dense way takes | peak memory, Gram matrices |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for name, value in times.items():
        ratio = f"{direct[name] / value:.0f} x" if name in direct else ""
        memory = f"{peak_in_grams(case, name):.1f}" if n_threads == 1 else ""
        lines.append(f"| {name} | {value:.2f} | {value / kpca:.2f} | {ratio} | {memory} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="folder for speed.md")
    parser.add_argument("--quick", action="store_true", help="the two smaller problems only")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--memory", nargs=2, metavar=("CASE", "CONTENDER"))
    arguments = parser.parse_args()
    if arguments.memory:
        measure_memory(*arguments.memory)
        return
    lines = [
        "# Speed of a fit\n",
        f"Made by `benchmarks/speed.py`: medians of {arguments.rounds} interleaved rounds, "
        f"k = {K}, tolerance {TOL:g}, one RBF kernel for all (the dense way: one run). "
        f"{machine()}.",
    ]
    print("\n".join(lines), flush=True)
    for case in list(PROBLEMS)[: 2 if arguments.quick else None]:
        for n_threads in arguments.threads:
            part = report(case, arguments.rounds, n_threads)
            print("\n".join(part), flush=True)
            lines += part
    if arguments.out:
        arguments.out.mkdir(parents=True, exist_ok=True)
        (arguments.out / "speed.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
