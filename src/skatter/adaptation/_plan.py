"""Which method suits a table, with which classifier behind it, and why.

``"auto"`` hedges: plain and adapted classifiers vote, so that none has to be chosen. Every method
of the registry may be asked for instead; one that holds a matrix of rows × rows is refused for
large tables, and kernels of large tables are replaced by an explicit map of landmarks.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from skatter.adaptation._roles import Roles
from skatter.maps import LandmarkMap
from skatter.methods import Method, get_method
from skatter.methods._entries import HEDGED_REGRESSOR
from skatter.pipeline import DomainPipeline

AUTO = "auto"
HEDGED = "hedged"  # the method of ``"auto"``, for classes
EXACT_ROWS = 10_000  # rows up to which a method may hold a matrix of rows × rows: 0.8 GB
N_LANDMARKS = 1_000  # of an explicit map; docs/landmarks.md says how many are enough
N_NEIGHBOURS = 15  # as accurate as 5 in our trials, with finer shares to say how sure it is
MAX_ITER = 500  # of logistic regression


class MethodError(ValueError):
    """A method that cannot be used on a table; one line says why."""


@dataclass(frozen=True, eq=False)
class Plan:
    method: Method
    steps: tuple[tuple[str, Any], ...]
    why: str

    @property
    def model(self) -> DomainPipeline:
        return DomainPipeline(list(self.steps))

    @property
    def hedges(self) -> bool:
        return self.method.name in (HEDGED, HEDGED_REGRESSOR.name)


def make_plan(name: str, roles: Roles, *, random_state: int) -> Plan:
    n_rows = roles.domains.n_samples
    auto, numbers = name == AUTO, roles.task == "numbers"
    kind = "regressor" if numbers else "classifier"
    why = f"nobody knows beforehand which {kind} suits a table" if auto else "it was asked for"
    method = get_method(HEDGED if auto else name)
    if numbers:
        if not auto:
            raise MethodError(f"method {name} is for classes, and labels are numbers: use auto.")
        method = HEDGED_REGRESSOR
    _check_needs(method, roles)
    estimator = method.estimator()
    known = estimator.get_params(deep=False)
    explicit = n_rows > EXACT_ROWS
    if explicit and "feature_map" not in known and not method.linear:
        raise MethodError(
            f"method {method.name} holds a matrix of rows × rows, and the table has {n_rows:,} "
            f"rows: {EXACT_ROWS:,} at most. Use the method auto, or a part of the rows."
        )
    given: dict[str, Any] = {"random_state": random_state} if "random_state" in known else {}
    if explicit and "feature_map" in known:
        given["feature_map"] = LandmarkMap(N_LANDMARKS, random_state=random_state)
    if method.kind == "weights":
        given["estimator"] = LogisticRegression(max_iter=MAX_ITER)
    steps = [(method.name, estimator.set_params(**given))]
    if method.kind == "features":
        # Shares of classes among near rows; no tree, for a tree in a file cannot be checked.
        n_neighbours = min(N_NEIGHBOURS, roles.domains.n_labelled)
        nearest = KNeighborsClassifier(n_neighbours, weights="distance", algorithm="brute")
        steps.append(("nearest", nearest))
    return Plan(method, tuple(steps), why)


def _check_needs(method: Method, roles: Roles) -> None:
    name, needs = method.name, method.needs
    if method.extra and find_spec(method.extra) is None:
        raise MethodError(
            f'method {name} needs {method.extra}: pip install "skatter[{method.extra}]"'
        )
    if "a set of new samples" in needs:
        raise MethodError(
            f"method {name} predicts sets of rows and not single ones; use it from Python."
        )
    if "target labels" in (*needs, *method.wants) and not roles.target_knows_labels:
        raise MethodError(
            f"method {name} learns from a few labels of the target, and the table has none there. "
            "Label some rows of it, or use the method auto."
        )
    if "several sources" in needs and len(roles.sources) < 2:
        raise MethodError(
            f"method {name} needs two domains with labels or more, and the table has "
            f"{len(roles.sources)}. Use the method auto."
        )
    if "one target" in needs and len(roles.targets) > 1:
        raise MethodError(
            f"method {name} takes one domain to predict, and the table has {len(roles.targets)} "
            f"({', '.join(roles.targets)}). Adapt to one at a time, or use the method auto."
        )
