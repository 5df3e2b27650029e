"""Accuracy of SCA's successors on Office+Caltech SURF, with their authors' settings.

    SKATTER_DATA=FOLDER python benchmarks/successors.py [--out FOLDER] [--only NAME ..]

Twelve tasks: one of four domains is the source, another the target, whose labels serve for scoring
alone. Samples are z-scores inside each domain; JGSA and BDA see them scaled to unit length, as in
their authors' programs. Features are judged by the nearest source neighbour. For BDA, whose authors
choose μ for every task without saying how, there is a row for a few values.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.preprocessing import normalize

from problems import machine
from skatter.datasets import Dataset, load_office_caltech
from skatter.methods import BDA, JGSA, MEDA, EasyTL

TASKS = [
    (source, target)
    for source in ("caltech", "amazon", "webcam", "dslr")
    for target in ("caltech", "amazon", "webcam", "dslr")
    if source != target
]


class Row(NamedTuple):
    """A method with its authors' settings, and the average that they print."""

    make: Callable[[], Any]
    unit: bool
    published: float | None


ROWS = {
    "meda": Row(lambda: MEDA(20), False, 52.7),
    "jgsa": Row(lambda: JGSA(30), True, 50.04),
    "easytl": Row(EasyTL, False, 50.5),
    "easytl, not aligned": Row(lambda: EasyTL(align=False), False, 45.4),
    **{
        f"bda, mu = {mu}": Row(lambda mu=mu: BDA(100, mu=mu, max_iter=10, tol=0), True, None)
        for mu in (0.2, 0.5, 0.8, 1.0)
    },
    "bda, weighted": Row(lambda: BDA(100, mu=1.0, weighted=True, max_iter=10, tol=0), True, None),
}
"""Published: MEDA of Wang et al. 2018, JGSA (primal) of Zhang et al. 2017, EasyTL of Wang et al.
2019."""


def accuracy(row: Row, data: Dataset, source: str, target: str) -> float:
    """Percent of the target samples that are predicted right."""
    rows = np.flatnonzero(np.isin(data.domain, [source, target]))
    X, y, domain = data.X[rows], data.y[rows], data.domain[rows]
    X = normalize(X) if row.unit else X
    here, there = domain == source, domain == target
    model = row.make()
    known = np.where(here, y, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if hasattr(model, "transform"):
            Z = model.fit_transform(X, known, sample_domain=domain)
            predicted = y[here][cdist(Z[there], Z[here], "sqeuclidean").argmin(axis=1)]
        else:
            predicted = model.fit(X, known, sample_domain=domain).predict(X[there])
    return 100 * float(np.mean(predicted == y[there]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", nargs="*", default=list(ROWS))
    options = parser.parse_args()
    data = load_office_caltech()
    names = [f"{source[0].upper()}→{target[0].upper()}" for source, target in TASKS]
    head = ["method", *names, "mean", "published"]
    lines = [f"| {' | '.join(head)} |", f"| --- |{' ---: |' * (len(head) - 1)}"]
    for name in options.only:
        scores = [accuracy(ROWS[name], data, *task) for task in TASKS]
        published = ROWS[name].published
        cells = [f"{score:.1f}" for score in scores]
        cells += [f"**{np.mean(scores):.2f}**", "" if published is None else str(published)]
        lines.append(f"| {name} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    if options.out:
        text = "\n".join(["# Successors on Office+Caltech SURF", "", machine(), "", *lines, ""])
        (options.out / "successors.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
