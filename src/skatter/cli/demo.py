"""``skatter demo``: does adapting help on real digits? A table, a sentence, two pictures, a CSV.

Computing (:func:`compare`), words (:func:`verdict`, :func:`table`) and files
(:func:`write_picture`) are apart; :func:`demo` only puts them together.
"""

from __future__ import annotations

import csv
import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn.neighbors import KNeighborsClassifier

from skatter import KPCA, SCA
from skatter.cli.console import announced, said_in_one_line
from skatter.cli.files import prepare_folder
from skatter.cli.options import Seed
from skatter.datasets import Dataset, load_digits_pair
from skatter.domains import UNLABELLED, read_domains
from skatter.files import write_atomically
from skatter.formatting import percent
from skatter.plots import plot_before_after
from skatter.scatter import Geometry, Scatters, measure

Factory = Callable[[int], Any]

RAW, BEFORE, AFTER = "raw features", "kernel PCA", "SCA"

METHODS: tuple[tuple[str, Factory | None], ...] = (
    (RAW, None),
    (BEFORE, lambda seed: KPCA(random_state=seed)),
    (AFTER, lambda seed: SCA(random_state=seed)),
)
"""Name and factory (of a seed) of every representation; no factory: the samples as they are."""

DIRECTIONS = (("uci", "mnist"), ("mnist", "uci"))

N_PER_DOMAIN = 1500
"""Samples of each domain in the CSV file at most."""


@dataclass(frozen=True)
class Row:
    """What one method reached in one direction."""

    method: str
    accuracy: float
    share_before: float
    share_after: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Direction:
    """All methods on one pair of domains; ``views`` holds the two columns to draw of each."""

    data: Dataset
    source: str
    target: str
    rows: tuple[Row, ...]
    views: dict[str, NDArray[Any]]


# --- computing --------------------------------------------------------------------------------


def compare(
    data: Dataset,
    *,
    seed: int = 0,
    n_per_domain: int | None = None,
    announce: Callable[[str], None] = lambda step: None,
) -> list[Direction]:
    """Run every method in both directions, the labels of the target hidden."""
    if n_per_domain is not None:
        data = _draw_samples(data, n_per_domain, seed)
    directions = []
    for source, target in DIRECTIONS:
        rows, views = [], {}
        for method, factory in METHODS:
            announce(f"{source} -> {target}: {method}")
            row, Z = evaluate(method, factory, data, source, seed)
            rows.append(row)
            views[method] = Z[:, :2]
        directions.append(Direction(data, source, target, tuple(rows), views))
    return directions


def evaluate(
    method: str, factory: Factory | None, data: Dataset, source: str, seed: int
) -> tuple[Row, NDArray[Any]]:
    """Fit one method with the labels of the source alone; return its row and its features."""
    in_source = data.domain == source
    y = np.where(in_source, data.y, UNLABELLED)
    if factory is None:
        Z, seconds = data.X, 0.0
        before = after = measure(Geometry.of_features(Z), read_domains(y, data.domain))
    else:
        model = factory(seed)
        start = time.perf_counter()
        model.fit(data.X, y, sample_domain=data.domain)
        seconds = time.perf_counter() - start
        Z = model.transform(data.X)
        before, after = model.scatter_["before"], model.scatter_["after"]
    nearest = KNeighborsClassifier(n_neighbors=1).fit(Z[in_source], y[in_source])
    # The only use of a target label: scoring.
    accuracy = float(nearest.score(Z[~in_source], data.y[~in_source]))
    return Row(method, accuracy, _domain_share(before), _domain_share(after), seconds), Z


def _domain_share(scatters: Scatters) -> float:
    return scatters.domain / scatters.total


def _draw_samples(data: Dataset, n_per_domain: int, seed: int) -> Dataset:
    rng = np.random.default_rng(seed)
    domains = [np.flatnonzero(data.domain == name) for name in np.unique(data.domain)]
    rows = np.concatenate(
        [rng.choice(own, min(n_per_domain, len(own)), replace=False) for own in domains]
    )
    return replace(data, X=data.X[rows], y=data.y[rows], domain=data.domain[rows])


# --- words ------------------------------------------------------------------------------------


def table(direction: Direction) -> Table:
    """Lay out the rows of one direction; the best accuracy is bold."""
    domain = direction.data.domain
    title = (
        f"{direction.source} -> {direction.target}: "
        f"{np.sum(domain == direction.source):,} labelled digits, "
        f"{np.sum(domain == direction.target):,} to predict"
    )
    out = Table(title=title, title_justify="left", title_style="bold")
    out.add_column("Representation")
    out.add_column("1NN accuracy\non the target", justify="right")
    out.add_column("Domain / total scatter,\nbefore -> after", justify="right")
    out.add_column("Seconds\nto fit", justify="right")
    best = max(row.accuracy for row in direction.rows)
    for row in direction.rows:
        out.add_row(
            row.method,
            percent(row.accuracy, 1),
            _shares(row),
            f"{row.seconds:.1f}" if row.seconds else "-",
            style="bold" if row.accuracy == best else "",
        )
    return out


def _shares(row: Row) -> str:
    after = percent(row.share_after, 2)
    return after if row.method == RAW else f"{percent(row.share_before, 2)} -> {after}"


def verdict(direction: Direction) -> str:
    """Say in plain words which representation won, whichever it is.

    Examples
    --------
    >>> from skatter.datasets import make_figure1
    >>> rows = (Row("raw features", 0.5, 0.1, 0.1, 0.0), Row("SCA", 0.4, 0.1, 0.0, 1.0))
    >>> verdict(Direction(make_figure1(), "source", "target", rows, {}))
    'source -> target: raw features won with 50.0 %, 10.0 points above SCA.'
    """
    ranked = sorted(direction.rows, key=lambda row: -row.accuracy)
    best = ranked[0].accuracy
    winners = [row.method for row in ranked if row.accuracy == best]
    won = f"{' and '.join(winners)} {'won with' if len(winners) == 1 else 'tie at'}"
    gaps = [
        f"{100 * (best - row.accuracy):.1f} points above {row.method}"
        for row in ranked[len(winners) :]
    ]
    sentence = f"{direction.source} -> {direction.target}: {won} {percent(best, 1)}"
    return f"{sentence}, {' and '.join(gaps)}." if gaps else f"{sentence}."


# --- files ------------------------------------------------------------------------------------


def write_picture(direction: Direction, folder: Path) -> Path:
    """Draw kernel PCA beside SCA, by domain and by class, into a PNG file; return its path."""
    data, source, target = direction.data, direction.source, direction.target
    figure = plot_before_after(
        direction.views[BEFORE],
        direction.views[AFTER],
        domain=data.domain,
        label=data.y,
        names=(f"Before ({BEFORE})", f"After ({AFTER})"),
        title=f"{source} -> {target}: labels of {target} are drawn here, but hidden from the fit",
    )
    path = folder / f"{data.name}-{source}-to-{target}.png"
    write_atomically(path, lambda part: figure.savefig(part, format="png", dpi=150))
    return path


def write_samples(data: Dataset, folder: Path, *, labelled: str, seed: int) -> Path:
    """Write samples as people have them: a CSV file, labels of one domain alone filled in."""
    some = _draw_samples(data, N_PER_DOMAIN, seed)
    pixels = [f"p{i:02d}" for i in range(some.X.shape[1])]
    path = folder / f"{data.name}.csv"

    def write(part: Path) -> None:
        with part.open("w", newline="", encoding="utf-8") as file:
            lines = csv.writer(file, lineterminator="\n")
            lines.writerow(["collection", "digit", *pixels])
            for x, label, domain in zip(some.X, some.y, some.domain, strict=True):
                known = label if domain == labelled else ""
                lines.writerow([domain, known, *(f"{value:.4g}" for value in x)])

    write_atomically(path, write)
    return path


# --- the command --------------------------------------------------------------------------------


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the pictures; made if missing.")] = Path(
        "demo"
    ),
    seed: Seed = 0,
) -> None:
    """Adapt between two sets of real handwritten digits and show whether it helped.

    Raw features, kernel PCA and SCA with default settings, each followed by a nearest-neighbour
    classifier, from UCI digits to MNIST digits and back. Less than a minute.
    """
    _require_extras()
    folder = prepare_folder(out)
    n_steps = 2 + len(DIRECTIONS) * (len(METHODS) + 1)
    with said_in_one_line("demo"), announced(n_steps) as announce:
        announce("loading digits")
        data = load_digits_pair()
        directions = compare(data, seed=seed, announce=announce)
        paths = []
        for direction in directions:
            announce(f"{direction.source} -> {direction.target}: picture")
            paths.append(write_picture(direction, folder))
        announce("table of samples")
        samples = write_samples(data, folder, labelled=DIRECTIONS[-1][0], seed=seed)
    console = Console(highlight=False)
    _show(console, directions, paths)
    _show_next(console, samples)


def _require_extras() -> None:
    missing = [name for name in ("matplotlib", "mlxtend") if find_spec(name) is None]
    if missing:
        message = f'skatter demo needs {" and ".join(missing)}: pip install "skatter[table]"'
        typer.echo(message, err=True)
        raise typer.Exit(1)


def _show(console: Console, directions: list[Direction], paths: list[Path]) -> None:
    for direction in directions:
        console.print(table(direction))
        console.print()
    for direction in directions:
        console.print(verdict(direction))
    console.print("Target labels were hidden from every fit and used only to score.")
    for path in paths:
        console.print(f"Picture: {path}", soft_wrap=True, markup=False)


def _show_next(console: Console, samples: Path) -> None:
    """Say what to type next, in lines that can be copied whole."""
    file, out, page = (
        shlex.quote(str(samples.with_name(name)))
        for name in (samples.name, "predictions.csv", "report.html")
    )
    columns = "--domain collection --label digit"
    console.print(
        f"Table, labels of one collection filled in: {file}", soft_wrap=True, markup=False
    )
    console.print("Go on with it:")
    for command in (
        f"skatter diagnose {file} {columns}",
        f"skatter adapt {file} {columns} --out {out} --report {page}",
    ):
        console.print(f"  {command}", soft_wrap=True, markup=False)
