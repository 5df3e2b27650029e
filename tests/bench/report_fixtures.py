"""Outcomes that look like a benchmark's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from skatter_bench.contestants import Contestant
from skatter_bench.protocols import TARGET_ORACLE
from skatter_bench.published import published
from skatter_bench.results import Outcome, SuiteResults
from skatter_bench.suites import Suite, get_suite

PAPER = ("raw", "kpca", "tca", "sstca", "gfk", "tsc", "sa", "tjm", "usca", "sca-printed")
OURS = ("sca", "jda", "coral", "kmm", "mda", "dip", "sgf", "cidg", "landmarks", "mtae")


@pytest.fixture(scope="session")
def make_outcome() -> Callable[..., Outcome]:
    """One plausible outcome; name what matters to the test."""

    def make(**values: Any) -> Outcome:
        plausible = {
            "suite": "table2",
            "task": "A->W",
            "group": "Office+Caltech (SURF-BoW)",
            "contestant": "sca",
            "classifier": "1nn",
            "protocol": "source-cv",
            "seed": 0,
            "draw": 0,
            "accuracy": 44.29,
            "n_test": 295,
            "setting": {"beta": 0.5, "n_components": 20},
            "selection_score": 61.5,
            "seconds": 12.0,
            "fit_seconds": 0.25,
            "peak_bytes": 40_000_000,
            **values,
        }
        label = Contestant(plausible["contestant"], plausible["classifier"]).label
        return Outcome(**{"label": label, **plausible})

    return make


@pytest.fixture(scope="session")
def make_results(make_outcome: Callable[..., Outcome]) -> Callable[..., SuiteResults]:
    """Seeded results of a suite: the paper's methods near its numbers, ten more, some failures."""

    def make(
        name: str,
        protocols: tuple[str, ...] = ("source-cv", TARGET_ORACLE),
        *,
        contestants: tuple[tuple[str, str], ...] = tuple((m, "1nn") for m in PAPER + OURS),
        failures: int = 3,
    ) -> SuiteResults:
        suite = get_suite(name)
        rng = np.random.default_rng(sum(name.encode()))
        outcomes = []
        for protocol in protocols:
            for contestant, classifier in contestants:
                skill = rng.normal(0, 2) + 4 * (protocol == TARGET_ORACLE)
                seconds = float(10 ** rng.uniform(-2, 1.5))
                for task in suite.tasks:
                    near = _near(suite, contestant, classifier, task.name)
                    accuracy = float(np.clip(near + skill + rng.normal(0, 2), 5, 100))
                    outcomes.append(
                        make_outcome(
                            suite=name,
                            task=task.name,
                            group=task.group,
                            contestant=contestant,
                            classifier=classifier,
                            protocol=protocol,
                            draw=task.draw,
                            accuracy=round(accuracy, 2),
                            setting={} if contestant == "raw" else _setting(rng),
                            selection_score=None if contestant == "raw" else round(accuracy + 9, 2),
                            seconds=80 * seconds,
                            fit_seconds=seconds,
                            peak_bytes=int(10 ** rng.uniform(7, 9.3)),
                        )
                    )
        for place in rng.choice(len(outcomes), failures, replace=False):
            outcomes[place] = replace(
                outcomes[place],
                accuracy=float("nan"),
                seconds=float("nan"),
                fit_seconds=float("nan"),
                setting={},
                selection_score=None,
                error="LinAlgError: the leading minor of order 57 is not positive definite",
            )
        return SuiteResults(suite, outcomes)

    return make


def _near(suite: Suite, contestant: str, classifier: str, task: str) -> float:
    if suite.published is None:
        return 60.0
    table = published(suite.published)
    name = table.name_of(contestant, classifier)
    value = None if name is None else table.value(name, task)
    rows = [row[task] for row in table.values.values() if task in row]
    return value or float(np.mean(rows or [60.0]))


def _setting(rng: np.random.Generator) -> dict[str, Any]:
    return {"n_components": int(rng.choice([5, 10, 20, 40])), "beta": float(rng.choice([0.1, 0.5]))}
