"""A domain that nobody has seen: the vote of ``DomainGeneralizer`` against the champion.

    python benchmarks/unseen.py run --work FOLDER [--suites tables-unseen ..] [--every N]
    python benchmarks/unseen.py pack --work FOLDER      # into benchmarks/results/unseen.npz
    python benchmarks/unseen.py fit                     # src/skatter/hedging/unseen.json
    python benchmarks/unseen.py report [--docs PAGE]    # benchmarks/results/unseen.md

Only ``run`` needs data; it keeps one file a task, and can be stopped and taken up again. The rule
and its numbers were chosen on tables that ``trust.KEPT_APART`` does not name; how sharply members
are weighed is also chosen anew for each collection, on the others.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from skatter import ChampionClassifier, DomainGeneralizer, LeaveOneDomainOut
from skatter.bench.suites import get_suite
from skatter.bench.tasks import Task, load_problem
from skatter.hedging import generalizer
from skatter.hedging.champion import probabilities

Array = NDArray[Any]
RESULTS = Path(__file__).parent / "results"
NUMBERS = Path(generalizer.__file__).with_name("unseen.json")

TABLES = "tables-unseen"
IMAGES = {"dg-office-surf": "SURF", "dg-office-effnet": "EfficientNet", "dg-pacs": "PACS"}
"""Suites whose columns share one unit: they are not standardised."""

MOST = 1500
"""Rows of the sources."""

PLAIN = ("logistic", "svm", "forest", "boosting")

SHARPNESS = (2.5, 5.0, 10.0, 20.0, 40.0, 80.0)
"""Values that are compared."""


# --- run ------------------------------------------------------------------------------------------


def run_task(suite: str, task: Task, path: Path) -> str:
    """Fit the vote and its opponents on one task, and keep what all members say."""
    problem = load_problem(task)
    rows = problem.labelled
    rows = np.sort(np.random.default_rng(0).permutation(rows)[:MOST])
    X, y, domain = problem.X[rows], problem.y[rows], problem.domain[rows]
    new, batch = problem.X[problem.test], problem.domain[problem.test]
    standardize = suite not in IMAGES
    start = process_time()
    model = DomainGeneralizer(standardize=standardize).fit(X, y, sample_domain=domain)
    seconds = process_time() - start
    arrays: dict[str, Any] = {
        "members": model.member_probabilities(new, sample_domain=batch),
        "truth": np.searchsorted(model.classes_, problem.y[problem.test]).astype(np.uint8),
        "loss": np.stack([model.losses_[name(each)] for each in model.members_]),
        "scores": np.stack([model.scores_[name(each)] for each in model.members_]),
    }
    arrays["members"] = np.round(255 * arrays["members"]).astype(np.uint8)
    record = {
        "suite": suite,
        "set": task.dataset,
        "task": task.name,
        "names": [name(each) for each in model.members_],
        "vote": model.held_out_scores_.tolist(),
        "seconds": round(seconds, 2),
        "rows": len(rows),
        "columns": X.shape[1],
    }
    if standardize:
        champion = ChampionClassifier().fit(X, y)
        record["champion"] = champion.champion_
        said = [
            probabilities(each.estimator, champion.scaler_.transform(new), len(model.classes_))
            for each in champion.contenders_
        ]
        arrays["plain"] = np.round(255 * np.stack(said)).astype(np.uint8)
        record["plain"] = [each.name for each in champion.contenders_]
    else:
        record["tuned"] = tuned_logistic(X, y, domain).score(new, problem.y[problem.test])
    np.savez_compressed(path, record=json.dumps(record), **arrays)
    return f"{suite} {task.dataset} {task.name}: {seconds:.1f} s"


def name(member: Any) -> str:
    return member.name if member.scaling == "pooled" else f"{member.name}, scaled in each domain"


def tuned_logistic(X: Any, y: Array, domain: Array) -> GridSearchCV:
    """Choose the cost and the scaling of a logistic regression by leaving domains out."""
    pipeline = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    cost = "logisticregression__C"
    grid = [
        {cost: [1e-4, 0.001, 0.01, 0.1]},
        {cost: [1, 10, 100, 1000], "standardscaler": ["passthrough"]},
    ]
    return GridSearchCV(pipeline, grid, cv=LeaveOneDomainOut()).fit(X, y, groups=domain)


def run(work: Path, suites: list[str], every: int) -> None:
    """Run the first task of every set, then the second of each, and so on."""
    work.mkdir(parents=True, exist_ok=True)
    generalizer.LEAST_WEIGHT = 0.0  # all members are fitted, so that rules can be compared
    jobs = [(s, n, t) for s in suites for n, t in enumerate(get_suite(s).tasks)]
    for suite, place, task in sorted(jobs, key=lambda job: (job[1] % every, job[1])):
        path = work / f"{suite}-{place:03d}.npz"
        if not path.exists():
            with threadpool_limits(1), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                print(run_task(suite, task, path), flush=True)
