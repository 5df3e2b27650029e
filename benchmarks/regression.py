"""Regression with SCA: labels that are numbers, and domains left out.

    SKATTER_DATA=FOLDER python benchmarks/regression.py [--out FOLDER] [--docs FOLDER]
                                                        [--data NAME ..] [--protocol NAME ..]

*motor*, *total*: the two clinical scores of Parkinson's telemonitoring from 16 measures of the
voice; 42 subjects, 24 recordings of each drawn at random. Every subject is a domain. Subjects are
dealt into six groups, and each group is the target once.
*shifted*: a synthetic problem whose samples lie along a curve, by their label, and are moved by
their domain; eight domains, in four groups. Here the shift is the one that SCA assumes.

*adaptation*: samples of the target are seen, without labels. *generalization*: they are not.

A contender is features and a regressor behind them. Its settings are chosen for each target by the
mean absolute error on three groups of source domains, each held out as the target is; labels of the
target choose nothing. SCA works on 200 landmarks of its rbf kernel.

*SCA, 8 splines*: ``label_splines=8``, with domain scatter.
*SCA, 8 splines, conditional*: with conditional domain scatter in its place.
*SCA, 10 bins*: labels cut into ten classes, with domain scatter.
*mean*: the mean of the source labels, whatever the sample.

*error*: mean absolute error over the samples of all targets. *R²*: the share of their variance that
is explained, less than nothing where the error is larger than that of the best constant.

``--out`` gets regression.json, to which a run adds the data it was asked for, and regression.md;
``--docs`` gets the table of regression.md. ``--data`` with no name writes what is in
regression.json already.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge
from sklearn.metrics import mean_absolute_error, r2_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from threadpoolctl import threadpool_limits

from paper import put
from problems import machine
from skatter import SCA, LandmarkMap
from skatter.datasets import load_parkinsons
from skatter.labels import bin_labels

PER_SUBJECT = 24
INNER = 3
"""Groups of source domains that settings are chosen on."""
COMPONENTS = (2, 10)
WEIGHTS = tuple(product((0.0, 1.0, 10.0), (1e-3, 3e-2)))
"""Weight of domain scatter, and ridge."""
REGRESSORS: dict[str, tuple[Any, ...]] = {
    "ridge": (Ridge(1.0), Ridge(100.0)),
    "neighbours": (KNeighborsRegressor(20), KNeighborsRegressor(60)),
    "support vectors": (SVR(C=1.0),),
}
PROTOCOLS = ("adaptation", "generalization")

Array = Any
Maps = Iterator[tuple[str, Array, Array]]
"""Settings, and the features of labelled and of new samples under them."""
Results = dict[str, dict[str, Any]]


# --- data ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Problem:
    """Samples with a number each, and groups of domains that are targets in turn."""

    X: Array
    y: Array
    domain: Array
    n_groups: int

    def groups(self) -> list[Array]:
        """Masks of the samples of each group."""
        return dealt(self.domain, self.n_groups, seed=0)


def dealt(domain: Array, n_groups: int, seed: int) -> list[Array]:
    """Deal domains into groups at random, and return the samples of each as a mask."""
    names = np.random.default_rng(seed).permutation(np.unique(domain))
    return [np.isin(domain, group) for group in np.array_split(names, n_groups)]


def parkinsons(score: str) -> Problem:
    data = load_parkinsons(score)
    rng = np.random.default_rng(0)
    of_subject = [np.flatnonzero(data.domain == subject) for subject in np.unique(data.domain)]
    rows = np.concatenate([rng.choice(own, PER_SUBJECT, replace=False) for own in of_subject])
    return Problem(data.X[rows], data.y[rows], data.domain[rows], n_groups=6)


def shifted() -> Problem:
    """Make a curve in ten features along which labels grow, moved by domains in three of them."""
    rng = np.random.default_rng(0)
    domain = np.repeat(np.arange(8), 100)
    y = 10 * rng.beta(2, 1 + domain % 4 / 2)
    curve = np.column_stack([np.cos(0.3 * y), np.sin(0.3 * y), 0.1 * y])
    X = 0.25 * rng.normal(size=(len(y), 10))
    X[:, :3] += curve
    X[:, 3:6] += 1.5 * rng.normal(size=(8, 3))[domain]
    mixing = np.linalg.qr(rng.normal(size=(10, 10)))[0]
    return Problem(X @ mixing, y, domain, n_groups=4)


CASES: dict[str, Callable[[], Problem]] = {
    "motor": partial(parkinsons, "motor"),
    "total": partial(parkinsons, "total"),
    "shifted": shifted,
}


# --- contenders: features, given samples with labels (NaN where unknown) and new samples ---------


def raw(X: Array, y: Array, domain: Array, new: Array) -> Maps:
    scaler = StandardScaler().fit(X)
    yield "", scaler.transform(X[~np.isnan(y)]), scaler.transform(new)


def principal(X: Array, y: Array, domain: Array, new: Array) -> Maps:
    scaler = StandardScaler().fit(X)
    model = PCA(COMPONENTS[-1]).fit(scaler.transform(X))
    Z, Z_new = (model.transform(scaler.transform(part)) for part in (X[~np.isnan(y)], new))
    for k in COMPONENTS:
        yield f"k={k}", Z[:, :k], Z_new[:, :k]


def landmarks(X: Array, new: Array) -> tuple[Array, Array]:
    scaler = StandardScaler().fit(X)
    feature_map = LandmarkMap(200, random_state=0).fit(scaler.transform(X))
    features, of_new = (feature_map.transform(scaler.transform(part)) for part in (X, new))
    return features, of_new


def components(
    X: Array, y: Array, domain: Array, new: Array, *, betas: tuple[float, ...], **options: Any
) -> Maps:
    """SCA; ``weight`` is what keeps domains together, ``bins`` cuts labels into classes."""
    weight, bins = options.pop("weight", "delta"), options.pop("bins", None)
    labels = y if bins is None else bin_labels(y, bins)
    features, of_new = landmarks(X, new)
    for beta, (delta, ridge) in product(betas, WEIGHTS):
        weights = {"delta": 0.0, weight: delta}
        k = COMPONENTS[-1] if beta < 1 else None
        model = SCA(k, beta=beta, ridge=ridge, kernel="linear", **weights, **options)
        model.fit(features, labels, sample_domain=domain)
        Z, Z_new = model.transform(features[~np.isnan(y)]), model.transform(of_new)
        for k in COMPONENTS:
            yield f"beta={beta} {weight}={delta} ridge={ridge} k={k}", Z[:, :k], Z_new[:, :k]


CONTENDERS: dict[str, Callable[..., Maps]] = {
    "raw": raw,
    "PCA": principal,
    "SCA, 10 bins": partial(components, betas=(0.1, 0.5), bins=10),
    "SCA, 8 splines": partial(components, betas=(0.5, 1.0), label_splines=8),
    "SCA, 8 splines, conditional": partial(
        components, betas=(0.5, 1.0), label_splines=8, weight="conditional_delta"
    ),
}


# --- one target -----------------------------------------------------------------------------------


def predictions(
    make: Callable[..., Maps], problem: Problem, hidden: Array, asked: Array, protocol: str
) -> Iterator[tuple[str, str, Array]]:
    """Yield regressor, settings and predictions of the samples asked for.

    Hidden samples are without label in adaptation, and not there at all in generalization.
    """
    seen = np.ones_like(hidden) if protocol == "adaptation" else ~hidden
    y = np.where(hidden, np.nan, problem.y)
    known = y[~hidden]
    for settings, Z, Z_new in make(
        problem.X[seen], y[seen], problem.domain[seen], problem.X[asked]
    ):
        size = Z.std()
        for name, candidates in REGRESSORS.items():
            for candidate in candidates:
                model = clone(candidate).fit(Z / size, (known - known.mean()) / known.std())
                guess = known.mean() + known.std() * model.predict(Z_new / size)
                yield name, f"{settings} {candidate}".strip(), guess


def adapt(
    make: Callable[..., Maps], problem: Problem, target: Array, protocol: str, seed: int
) -> dict[str, tuple[str, Array]]:
    """Return, for each regressor, the settings that source domains choose, and predictions."""
    errors: dict[tuple[str, str], list[float]] = {}
    sources = np.flatnonzero(~target)
    for held in dealt(problem.domain[sources], INNER, seed):
        asked = np.isin(np.arange(len(target)), sources[held])
        for name, settings, guess in predictions(make, problem, target | asked, asked, protocol):
            error = mean_absolute_error(problem.y[asked], guess)
            errors.setdefault((name, settings), []).append(error)
    best: dict[str, tuple[str, Array]] = {}
    for name in REGRESSORS:
        mean = {key: np.mean(values) for key, values in errors.items() if key[0] == name}
        best[name] = min(mean, key=mean.__getitem__)[1], None
    for name, settings, guess in predictions(make, problem, target, target, protocol):
        if best[name][0] == settings:
            best[name] = settings, guess
    return best


def measure(problem: Problem, make: Callable[..., Maps], protocol: str) -> dict[str, Any]:
    """Return the errors of a contender behind each regressor, over all targets."""
    guesses = {name: np.empty(len(problem.y)) for name in REGRESSORS}
    chosen: dict[str, list[str]] = {name: [] for name in REGRESSORS}
    for number, target in enumerate(problem.groups()):
        for name, (settings, guess) in adapt(make, problem, target, protocol, number).items():
            guesses[name][target] = guess
            chosen[name].append(settings)
    return {
        name: {**judged(problem.y, guess), "chosen": chosen[name]}
        for name, guess in guesses.items()
    }


def judged(y: Array, guess: Array) -> dict[str, float]:
    return {
        "error": float(mean_absolute_error(y, guess)),
        "r2": float(r2_score(y, guess)),
    }


def mean_of_sources(problem: Problem) -> dict[str, float]:
    guess = np.empty(len(problem.y))
    for target in problem.groups():
        guess[target] = problem.y[~target].mean()
    return judged(problem.y, guess)


def run(name: str, protocols: list[str]) -> dict[str, Any]:
    """Measure one problem, and print rows as they come."""
    problem = CASES[name]()
    found: dict[str, Any] = {
        "n_samples": len(problem.y),
        "n_domains": len(np.unique(problem.domain)),
        "n_groups": problem.n_groups,
        "machine": machine(),
        "mean": mean_of_sources(problem),
        **{protocol: {} for protocol in protocols},
    }
    print(name, "mean", found["mean"], flush=True)
    for protocol, (contender, make) in product(protocols, CONTENDERS.items()):
        found[protocol][contender] = measure(problem, make, protocol)
        said = {k: round(v["error"], 3) for k, v in found[protocol][contender].items()}
        print(name, protocol, contender, said, flush=True)
    return found


# --- tables -------------------------------------------------------------------------------------


def complete(results: Results) -> Results:
    """Leave out what was not measured under both protocols."""
    return {name: case for name, case in results.items() if {*PROTOCOLS} <= {*case}}


def table(case: dict[str, Any], key: str) -> Iterator[str]:
    heads = [f"{protocol}: {name}" for protocol in PROTOCOLS for name in REGRESSORS]
    yield f"| features | {' | '.join(heads)} |"
    yield f"| :--- | {' | '.join('---:' for _ in heads)} |"
    constant = f"{case['mean'][key]:.2f}"
    yield f"| mean | {' | '.join(constant for _ in heads)} |"
    for contender in CONTENDERS:
        cells = [case[p][contender][name][key] for p in PROTOCOLS for name in REGRESSORS]
        yield f"| {contender} | {' | '.join(f'{cell:.2f}' for cell in cells)} |"


def report(results: Results) -> Iterator[str]:
    yield "# Regression, domains left out\n"
    yield "Made by `benchmarks/regression.py`, which says what is measured."
    for name, case in complete(results).items():
        yield f"\n## {name}; n = {case['n_samples']:,}, {case['n_domains']} domains\n"
        yield f"Targets: {case['n_groups']} groups of domains, each once. {case['machine']}."
        for key, words in (("error", "Mean absolute error"), ("r2", "R²")):
            yield f"\n{words}\n"
            yield from table(case, key)


WORDS = {
    "motor": "Parkinson's, motor score",
    "total": "Parkinson's, total score",
    "shifted": "synthetic, shifted",
}


def summary(results: Results) -> str:
    """Return the table of the docs: errors of all regressors behind each kind of features."""
    lines = []
    for name, case in complete(results).items():
        lines += [f"{WORDS[name]}: mean absolute error\n", *table(case, "error"), ""]
    return "\n".join(lines).strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="folder for regression.json and regression.md")
    parser.add_argument("--docs", type=Path, help="folder of regression.md")
    parser.add_argument("--data", nargs="*", choices=list(CASES), default=list(CASES))
    parser.add_argument("--protocol", nargs="*", choices=PROTOCOLS, default=list(PROTOCOLS))
    arguments = parser.parse_args()
    path = arguments.out and arguments.out / "regression.json"
    results = json.loads(path.read_text()) if path and path.exists() else {}
    for name in arguments.data:
        with threadpool_limits(1):
            results[name] = results.get(name, {}) | run(name, arguments.protocol)
        results = {name: results[name] for name in CASES if name in results}
        if path:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(results, indent=1) + "\n")
    if path:
        path.with_suffix(".md").write_text("\n".join(report(results)) + "\n")
    if arguments.docs:
        put(arguments.docs / "regression.md", "regression", summary(results))


if __name__ == "__main__":
    main()
