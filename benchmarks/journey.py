"""Profile the journey of a user: where the seconds go, and what is computed twice.

    python benchmarks/journey.py [CASE ...] [--out FOLDER]

The cases are `skatter.adapt` on real tables, the estimators behind it, a search, and a small run of
the benchmark. A thread looks at the stack of the main one every few milliseconds, and gives the
time since it last looked to the innermost function of skatter (what scikit-learn, SciPy and NumPy
do counts for who called them) and to every function of skatter above it. Then the heavy functions
are wrapped, the case is run again, and calls are counted whose arrays an earlier call of the same
function was given already.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import numpy as np
import scipy.linalg
from threadpoolctl import threadpool_limits

import skatter
from problems import digits, machine
from skatter import (
    SCACV,
    DomainGeneralizer,
    HedgedClassifier,
    SCAClassifier,
    adapt,
    kernels,
    trees,
)
from skatter import (
    _support_vectors as support_vectors,
)
from skatter._solve import operator
from skatter.datasets import load_everyday_table
from skatter.hedging._champion import LogisticRegression
from skatter_bench.cli import app

HOME = str(Path(skatter.__file__).parent)
INTERVAL = 0.003
SHOWN = 14
TABLE = "hotel_cancellation"


# --- cases ------------------------------------------------------------------------------------


def drawn(n_rows: int, n_domains: int | None = None) -> tuple[Any, Any, Any, Any]:
    """Return some rows of a real table: samples, classes, domains, and which domain is last."""
    data = load_everyday_table(TABLE)
    names = np.unique(data.domain)[:n_domains]
    rows = np.flatnonzero(np.isin(data.domain, names))
    rows = np.sort(np.random.default_rng(0).permutation(rows)[:n_rows])
    return data.X[rows], data.y[rows], data.domain[rows], data.domain[rows] == names[-1]


def adapt_rows(n_rows: int) -> Callable[[], Any]:
    import pandas as pd

    X, y, domain, target = drawn(n_rows)
    frame = pd.DataFrame(X, columns=[f"x{place}" for place in range(X.shape[1])])
    frame["site"], frame["kind"] = domain, np.where(target, None, y.astype(str))
    return lambda: adapt(frame, label="kind", domain="site", task="classes")


def hedged() -> Callable[[], Any]:
    X, y, domain, target = drawn(1600)
    known = np.where(target, -1, y)
    return lambda: HedgedClassifier().fit(X, known, sample_domain=domain)


def generalizer() -> Callable[[], Any]:
    X, y, domain, _ = drawn(1500, 3)
    return lambda: DomainGeneralizer().fit(X, y, sample_domain=domain)


def classifier() -> Callable[[], Any]:
    problem = digits(2000)
    return lambda: SCAClassifier().fit(problem.X, problem.y, sample_domain=problem.domain)


def search() -> Callable[[], Any]:
    problem = digits(2000)
    grid = {"betas": np.linspace(0, 1, 25), "deltas": np.logspace(-3, 3, 20), "n_components": KS}
    model = SCACV(cv=5, refit=False, **grid)
    return lambda: model.fit(problem.X, problem.y, sample_domain=problem.domain)


KS = (2, 5, 9, 10, 12, 15, 20)


def bench() -> Callable[[], Any]:
    def run() -> None:
        with TemporaryDirectory() as folder:
            asked = ["run", "digits", "--store", folder, "--jobs", "1", "--methods", METHODS]
            app(asked, standalone_mode=False)

    return run


METHODS = "raw,sca,tca,coral,sa,gfk"

CASES: dict[str, tuple[str, Callable[[], Callable[[], Any]]]] = {
    "adapt-1600": (f"`adapt`, 1,600 rows × 22 columns of {TABLE}", lambda: adapt_rows(1600)),
    "adapt-8000": (f"`adapt`, 8,000 rows × 22 columns of {TABLE}", lambda: adapt_rows(8000)),
    "hedged": (f"`HedgedClassifier`, 1,600 rows of {TABLE}", hedged),
    "generalizer": (f"`DomainGeneralizer`, 1,500 rows of three domains of {TABLE}", generalizer),
    "classifier": ("`SCAClassifier`, 3,797 digits", classifier),
    "search": ("`SCACV`, 3,797 digits, 3,500 settings, 5 folds", search),
    "bench": (f"`skatter bench run digits --methods {METHODS}`", bench),
}


# --- where the seconds go ---------------------------------------------------------------------


class Sampler(threading.Thread):
    """Looks at the stack of the thread that made it."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.own: Counter[str] = Counter()
        self.whole: Counter[str] = Counter()
        self._watched, self._done = threading.get_ident(), threading.Event()

    def run(self) -> None:
        """Look until stopped."""
        last = perf_counter()
        while not self._done.wait(INTERVAL):
            steps = list(self._steps(sys._current_frames().get(self._watched)))  # noqa: SLF001
            now = perf_counter()
            self.own[steps[0] if steps else "outside skatter"] += now - last
            for step in set(steps):
                self.whole[step] += now - last
            last = now

    def stop(self) -> None:
        """Look no more."""
        self._done.set()
        self.join()

    @staticmethod
    def _steps(frame: Any) -> Iterator[str]:
        """Yield the functions of skatter on a stack, the innermost first."""
        while frame is not None:
            code = frame.f_code
            if code.co_filename.startswith(HOME):
                room = code.co_filename[len(HOME) + 1 : -3]
                yield f"{room}: {code.co_qualname}"
            frame = frame.f_back


# --- what is computed twice -------------------------------------------------------------------

HEAVY: dict[str, tuple[Any, str]] = {
    "Gram matrix": (kernels.Kernel, "__call__"),
    "support vector machine": (support_vectors.SVC, "fit"),
    "forest": (trees.RandomForestClassifier, "fit"),
    "boosting": (trees.HistGradientBoostingClassifier, "fit"),
    "logistic regression": (LogisticRegression, "fit"),
    "Cholesky factor": (operator.DualOperator, "_factorise"),
    "trees asked": (trees.TreeEnsemble, "predict"),
    "machines asked": (support_vectors.SupportVectors, "decide"),
    "eigh": (scipy.linalg, "eigh"),
}


@contextmanager
def counted() -> Iterator[dict[str, list[float]]]:
    """Wrap the heavy functions; yield calls, calls seen before, seconds and seconds seen before."""
    tally: dict[str, list[float]] = {name: [0, 0, 0.0, 0.0] for name in HEAVY}
    before = {name: getattr(*place) for name, place in HEAVY.items()}

    def wrap(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        seen: set[bytes] = set()

        def wrapped(*given: Any, **named: Any) -> Any:
            key = fingerprint([*given, *named.values()])
            start = perf_counter()
            try:
                return function(*given, **named)
            finally:
                again = key in seen
                seen.add(key)
                took = perf_counter() - start
                for place, more in enumerate((1, again, took, again * took)):
                    tally[name][place] += more

        return wrapped

    for name, (owner, attribute) in HEAVY.items():
        setattr(owner, attribute, wrap(name, before[name]))
    try:
        yield tally
    finally:
        for name, (owner, attribute) in HEAVY.items():
            setattr(owner, attribute, before[name])


def fingerprint(given: list[Any]) -> bytes:
    """Return a hash of arrays and of the parameters of estimators."""
    digest = hashlib.blake2b(digest_size=16)
    for each in given:
        if isinstance(each, np.ndarray):
            digest.update(str(each.shape).encode() + np.ascontiguousarray(each).tobytes())
        elif hasattr(each, "get_params"):
            digest.update(repr(sorted(each.get_params().items(), key=str)).encode())
        elif hasattr(each, "__dict__"):
            arrays = [value for value in vars(each).values() if isinstance(value, np.ndarray)]
            digest.update(fingerprint(arrays))
        else:
            digest.update(repr(each).encode())
    return digest.digest()


# --- what is shown ----------------------------------------------------------------------------


def report(title: str, run: Callable[[], Any]) -> Iterator[str]:
    start, used = perf_counter(), process_time()
    run()
    took, used = perf_counter() - start, process_time() - used
    sampler = Sampler()
    sampler.start()
    run()
    sampler.stop()
    with counted() as tally:
        run()
    yield f"\n## {title}\n"
    yield f"{took:.2f} s, {used:.2f} s of the processors.\n"
    total = sum(sampler.own.values())
    for what, counts in (("its own", sampler.own), ("with what it calls", sampler.whole)):
        yield f"| step, {what} | share |\n| --- | ---: |"
        for step, value in counts.most_common(SHOWN):
            yield f"| `{step}` | {value / total:.0%} |"
        yield ""
    yield "| computed | calls | seconds | again | seconds again |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for name, (calls, again, spent, wasted) in tally.items():
        if calls:
            yield f"| {name} | {calls:.0f} | {spent:.2f} | {again:.0f} | {wasted:.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--out", type=Path, help="folder for journey.md")
    parser.add_argument("--threads", type=int, default=1, help="BLAS threads")
    arguments = parser.parse_args()
    lines = [
        "# Where the seconds go\n",
        f"Made by `benchmarks/journey.py`, {arguments.threads} BLAS thread(s). {machine()}.",
    ]
    print("\n".join(lines), flush=True)
    warnings.simplefilter("ignore")
    with threadpool_limits(arguments.threads):
        for case in arguments.cases or CASES:
            title, make = CASES[case]
            for line in report(title, make()):
                print(line, flush=True)
                lines.append(line)
    if arguments.out:
        arguments.out.mkdir(parents=True, exist_ok=True)
        (arguments.out / "journey.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
