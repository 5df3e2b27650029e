"""SKADA-Bench: the peers' own benchmark, as far as its data can be had."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from skatter_bench.suite import Suite
from skatter_bench.tasks import Task

SEEDS = range(5)
"""Of the splits, and of the draws of the simulated shifts."""

_NOTE = (
    "Source and target are parted 80 to 20 percent by five seeds: the target's training part is "
    "seen without labels, its test part is scored. Concept drift is their name for a shift of each "
    "class. Simulated samples are drawn anew by each seed. Digits are the 2,000 and 1,800 of Long "
    "et al., as pixels; theirs are 3,000 of each collection in 50 whitened principal components. "
    "Their numbers come from other classifiers behind the features, column by column, and tuned "
    "methods: benchmarks/results/skada_bench.md has them beside ours with those classifiers."
)

Build = Callable[[], Any]


BASES: Mapping[str, Build] = {
    "covariate shift": SVC,
    "target shift": SVC,
    "concept drift": SVC,
    "subspace": SVC,
    "Digits": SVC,
    "Mushrooms": partial(LogisticRegression, max_iter=1000),
    "Phishing": partial(HistGradientBoostingClassifier, random_state=0),
}
"""The classifier behind every method, by column. Theirs for Phishing is XGBoost; ours is
scikit-learn's gradient boosting with histograms, the same kind of model."""

_DATA: Mapping[str, tuple[str, int, tuple[tuple[str, str], ...]]] = {
    "covariate shift": ("covariate_shift", 2, (("source", "target"),)),
    "target shift": ("target_shift", 2, (("source", "target"),)),
    "concept drift": ("conditional_shift", 2, (("source", "target"),)),
    "subspace": ("subspace_shift", 2, (("source", "target"),)),
    "Digits": ("mnist_usps_parts", 10, (("mnist", "usps"), ("usps", "mnist"))),
    "Mushrooms": ("mushrooms", 2, (("enlarging", "tapering"), ("tapering", "enlarging"))),
    "Phishing": ("phishing", 2, (("no_ip", "ip"), ("ip", "no_ip"))),
}
"""Data set, number of classes and directions of every column."""


def _task(seed: int, column: str, source: str, target: str) -> Task:
    dataset, n_classes, _ = _DATA[column]
    name = column if source == "source" else f"{source}->{target}"
    return Task(name, dataset, (source,), (target,), "adaptation", n_classes, column, draw=seed)


_TASKS = tuple(
    _task(seed, column, *pair) for seed in SEEDS for column in _DATA for pair in _DATA[column][2]
)

SKADA_BENCH = Suite(
    "skada-bench",
    "Adaptation, SKADA-Bench: simulated shifts, digits, mushrooms and phishing",
    _TASKS,
    classifiers=("1nn", "logistic"),
    note=_NOTE,
)
"""The suite, in which our methods have the classifiers of our other suites."""
