"""Every method that needs no target, on real domains that it has not seen."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import Normalizer, StandardScaler

from skatter import SCACV, LeaveOneDomainOut, make_domain_pipeline
from skatter.methods import METHODS

GENERALIZING = [
    name
    for name, method in METHODS.items()
    if not {"one target", "target labels"} & set(method.needs)
]

SETS = {
    "rotated_mnist": (Normalizer(),),
    "surf": (StandardScaler(), Normalizer()),
    "office_effnet": (Normalizer(),),
    "pacs": (Normalizer(),),
}
"""Data sets, and what is done to samples: nothing is learnt from the domain left out."""

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"


def some_of(data, per_group=8):
    """A few samples of every class and domain, always the same ones."""
    rng = np.random.default_rng(0)
    rows = [
        rng.permutation(np.flatnonzero((data.domain == site) & (data.y == k)))[:per_group]
        for site in np.unique(data.domain)
        for k in range(len(data.class_names))
    ]
    rows = np.concatenate(rows)
    return data.X[rows], data.y[rows], data.domain[rows]


@pytest.mark.parametrize("name", GENERALIZING)
@pytest.mark.parametrize("data", SETS)
def test_with_defaults_a_domain_nobody_has_seen_is_predicted_far_above_chance(
    name, data, request, require
):
    method = METHODS[name]
    if method.extra:
        require(method.extra, extra=method.extra)
    X, y, site = some_of(request.getfixturevalue(data))
    judge = [KNeighborsClassifier(1)] if method.kind == "features" else []
    learn, predict = next(LeaveOneDomainOut().split(X, y, site))
    model = make_domain_pipeline(*SETS[data], method.estimator(), *judge)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model.fit(X[learn], y[learn], sample_domain=site[learn])
    accuracy = np.mean(model.predict(X[predict]) == y[predict])
    assert accuracy > 2 / len(np.unique(y))


STUDIED_APART = {"champion", "domain-generalizer"}
"""They have studies of their own: benchmarks/trust.py and benchmarks/unseen.py."""


@pytest.mark.parametrize("part", ["accuracy", "speed"])
def test_every_method_has_a_row_in_the_benchmark(part):
    text = (RESULTS / f"generalization_{part}.md").read_text()
    tables = text.split("\n## ")[1:] if part == "accuracy" else [text]
    assert len(tables) == (len(SETS) if part == "accuracy" else 1)
    for table in tables:
        rows = re.findall(r"^\| ([^|]+) \| \d", table, re.MULTILINE)
        useful = {name for name in GENERALIZING if not METHODS[name].wants}
        assert useful - STUDIED_APART <= set(rows)


def test_a_search_that_leaves_domains_out_chooses_as_well_as_one_that_does_not(pacs):
    """Settings chosen by domains left out predict another one at least as well, within noise."""
    X, y, site = some_of(pacs, per_group=25)
    X = Normalizer().transform(X)
    scores = {"folds": [], "domains": []}
    for target in np.unique(site):
        learn, predict = site != target, site == target
        for name, cv in (("folds", 5), ("domains", LeaveOneDomainOut())):
            search = SCACV(cv=cv, n_components=[2, 6, 12], betas=[0.1, 0.5, 1.0])
            model = make_domain_pipeline(search, KNeighborsClassifier(1))
            model.fit(X[learn], y[learn], sample_domain=site[learn])
            scores[name].append(np.mean(model.predict(X[predict]) == y[predict]))
    assert np.mean(scores["domains"]) > np.mean(scores["folds"]) - 0.02
