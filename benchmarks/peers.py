"""How many samples can one fit take? SCA beside what a user would pick instead.

    python benchmarks/peers.py [--out FOLDER] [--image FILE] [--seconds 300] [--gib 16]

Every contender is given more and more samples of the same kind, doubling each time, until it takes
longer than ``--seconds``, needs more than ``--gib`` of memory or fails; one that would take half as
long again, if the last doubling is a guide, is not tried. A fit runs in a process of its own,
because that is the only way to stop it, started by the same interpreter, with as many threads as
there are cores; its time does not include the import. Contenders that are not installed are left
out: ``pip install skada adapt tensorflow-cpu pykale`` beside ``skatter[test]``.

Samples: ten Gaussian classes in 64 dimensions, a labelled source and an unlabelled target that is
shifted; 20 components, an RBF kernel wherever there is one.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from time import monotonic, perf_counter, sleep
from typing import Any

import numpy as np

from problems import gaussian, machine

K, P, CLASSES = 20, 64, 10
FIRST, LAST = 2_000, 1_024_000


def kernel_pca(X: Any, y: Any, domain: Any) -> Any:
    from sklearn.decomposition import KernelPCA

    return KernelPCA(K, kernel="rbf", eigen_solver="arpack", random_state=0).fit(X)


def nystroem_lda(X: Any, y: Any, domain: Any) -> Any:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.kernel_approximation import Nystroem
    from sklearn.pipeline import make_pipeline

    labelled = y >= 0
    model = make_pipeline(
        Nystroem(gamma=1 / P, n_components=1024, random_state=0), LinearDiscriminantAnalysis()
    )
    return model.fit(X[labelled], y[labelled])


def skada_tca(X: Any, y: Any, domain: Any) -> Any:
    from skada import TransferComponentAnalysisAdapter

    sample_domain = np.where(domain == "source", 1, -2)
    return TransferComponentAnalysisAdapter(n_components=K).fit_transform(
        X, y, sample_domain=sample_domain
    )


def adapt_tca(X: Any, y: Any, domain: Any) -> Any:
    from adapt.feature_based import TCA

    source = domain == "source"
    model = TCA(Xt=X[~source], n_components=K, mu=0.1, kernel="rbf", gamma=1 / P, verbose=0)
    return model.fit_transform(X[source], X[~source])


def pykale_mida(X: Any, y: Any, domain: Any) -> Any:
    from kale.embed.factorization import MIDA

    group = (domain == "source").astype(int)[:, None]
    model = MIDA(K, kernel="rbf", gamma=1 / P, eigen_solver="arpack", random_state=0)
    return model.fit(X, y=y, group_labels=group)


def skatter_exact(X: Any, y: Any, domain: Any) -> Any:
    from skatter import SCA

    return SCA(K).fit(X, y, sample_domain=domain)


def skatter_iterative(X: Any, y: Any, domain: Any) -> Any:
    from skatter import SCA

    return SCA(K, solver="iterative").fit(X, y, sample_domain=domain)


def skatter_landmarks(X: Any, y: Any, domain: Any) -> Any:
    from skatter import SCA
    from skatter.maps import LandmarkMap

    return SCA(K, feature_map=LandmarkMap(1024)).fit(X, y, sample_domain=domain)


CONTENDERS: dict[str, tuple[str, Callable[..., Any]]] = {
    "SCA, exact": ("skatter", skatter_exact),
    "SCA, iterative": ("skatter", skatter_iterative),
    "SCA, 1,024 landmarks": ("skatter", skatter_landmarks),
    "KernelPCA (scikit-learn)": ("sklearn", kernel_pca),
    "Nystroem 1,024 + LDA (scikit-learn)": ("sklearn", nystroem_lda),
    "TCA (scikit-adaptation)": ("skada", skada_tca),
    "TCA (ADAPT)": ("adapt", adapt_tca),
    "MIDA (PyKale)": ("kale", pykale_mida),
}


def run_one(name: str, n: int) -> None:
    """Fit once and print the seconds: what the child does."""
    problem = gaussian(n // 2, n - n // 2, P, CLASSES)
    _, fit = CONTENDERS[name]
    few = np.r_[: 30 * CLASSES, n // 2 : n // 2 + 300]
    fit(problem.X[few], problem.y[few], problem.domain[few])
    start = perf_counter()
    fit(problem.X, problem.y, problem.domain)
    print(f"seconds {perf_counter() - start}")


def memory_of(pid: int) -> float:
    """Peak memory of a process in GiB."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    lines = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(lines[0].split()[1]) / 2**20 if lines else 0.0


def attempt(name: str, n: int, seconds: float, gib: float) -> dict[str, Any]:
    """Run one fit in a process of its own, and stop it where it goes too far."""
    command = [sys.executable, __file__, "--child", name, str(n)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    start, peak, end = monotonic(), 0.0, ""
    # Drawing the samples and importing is not counted.
    while child.poll() is None:
        peak = max(peak, memory_of(child.pid))
        if peak > gib:
            end = f"more than {gib:g} GiB"
        elif monotonic() - start > seconds + 60:
            end = f"more than {seconds:g} s"
        if end:
            child.kill()
            break
        sleep(0.02)
    out, err = child.communicate()
    took = [float(line.split()[1]) for line in out.splitlines() if line.startswith("seconds ")]
    if not end and not took:
        end = first_sentence((err.strip().splitlines() or ["killed"])[-1])
    elif took and took[0] > seconds:
        end = f"more than {seconds:g} s"
    return {"n": n, "seconds": took[0] if took else None, "gib": peak, "end": end}


def first_sentence(message: str) -> str:
    """Return what went wrong, without the advice that follows."""
    return message.split(". ")[0].removesuffix(".")


def climb(name: str, seconds: float, gib: float) -> list[dict[str, Any]]:
    """Double the samples until a fit does not finish."""
    found, n = [], FIRST
    while n <= LAST:
        expected = guess(found)
        if expected > 1.5 * seconds:
            end = f"more than {seconds:g} s (not tried: {expected:,.0f} s expected)"
            found.append({"n": n, "seconds": None, "gib": None, "end": end})
        else:
            found.append(attempt(name, n, seconds, gib))
        print(name, json.dumps(found[-1]), flush=True)
        if found[-1]["end"]:
            break
        n *= 2
    return found


def guess(found: list[dict[str, Any]]) -> float:
    """Seconds of the next fit, if it takes as many times the last one as that took the one before.

    Short fits tell nothing.
    """
    if len(found) < 2 or found[-2]["seconds"] < 1:
        return 0.0
    return float(found[-1]["seconds"] ** 2 / found[-2]["seconds"])


def report(found: dict[str, list[dict[str, Any]]], seconds: float, gib: float) -> list[str]:
    lines = [
        "# The largest sample that a fit can take\n",
        f"Made by `benchmarks/peers.py`: samples doubled until a fit took more than {seconds:g} s "
        f"or {gib:g} GiB; p = {P}, {CLASSES} classes, two domains, {K} components. {machine()}.\n",
        "| contender | largest n | its seconds | its peak memory, GiB | twice as many |",
        "| --- | ---: | ---: | ---: | --- |",
    ]
    for name, steps in found.items():
        done = [step for step in steps if not step["end"]]
        if not done:
            lines.append(f"| {name} | none | | | {steps[0]['end']} |")
            continue
        best = done[-1]
        after = steps[-1]["end"] or "not tried"
        lines.append(
            f"| {name} | {best['n']:,} | {best['seconds']:.1f} | {best['gib']:.1f} | {after} |"
        )
    return lines


def draw(found: dict[str, list[dict[str, Any]]], path: Path) -> None:
    """Seconds against samples, one line for each contender, on logarithmic axes."""
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.6), layout="constrained")
    axes = figure.subplots()
    colours = colormaps["tab10"].colors
    for colour, (name, steps) in zip(colours, found.items(), strict=False):
        done = [step for step in steps if not step["end"]]
        ours = name.startswith("SCA")
        axes.plot(
            [step["n"] for step in done],
            [step["seconds"] for step in done],
            marker="o" if ours else "s",
            markersize=4,
            linewidth=2.2 if ours else 1.2,
            linestyle="-" if ours else "--",
            color=colour,
            label=name,
        )
    axes.set(xscale="log", yscale="log", xlabel="samples", ylabel="seconds of a fit")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="folder for peers.md and peers.json")
    parser.add_argument("--image", type=Path, help="file for the plot")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--gib", type=float, default=16)
    parser.add_argument("--only", nargs="+", choices=list(CONTENDERS), default=list(CONTENDERS))
    parser.add_argument("--child", nargs=2, metavar=("NAME", "N"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        run_one(arguments.child[0], int(arguments.child[1]))
        return
    names = [name for name in arguments.only if find_spec(CONTENDERS[name][0])]
    found = {name: climb(name, arguments.seconds, arguments.gib) for name in names}
    lines = report(found, arguments.seconds, arguments.gib)
    print("\n".join(lines))
    if arguments.out:
        arguments.out.mkdir(parents=True, exist_ok=True)
        (arguments.out / "peers.md").write_text("\n".join(lines) + "\n")
        (arguments.out / "peers.json").write_text(json.dumps(found, indent=1))
    if arguments.image:
        draw(found, arguments.image)


if __name__ == "__main__":
    main()
