"""Scores of many settings on one fold, with as little work as they can share.

Settings that differ in the number of components alone share a fit where components are nested;
settings that differ in the classifier share its features; SCA solves all β and δ from one
factorisation; and methods that see samples through one Gram matrix are given it ready.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import r2_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from skatter.domains import UNLABELLED, Codes, read_domains
from skatter.methods import DAM
from skatter.methods.plugins import load_object
from skatter.pipeline import make_domain_pipeline
from skatter.sca import SCA, beta_of
from skatter.selection.folds import FoldSolver, nearest_labels
from skatter_bench.contestants import JUDGE, MAX_ITER, RAW, Contestant
from skatter_bench.protocols import Split
from skatter_bench.tasks import Problem

Array = NDArray[Any]
Values = Mapping[str, Any]
Score = dict[str, Any]
"""A setting with its ``correct``, ``total`` and ``seconds``, or with the ``error`` it met.

Where labels are numbers, ``r2`` takes the place of ``correct``.
"""

K = "n_components"


def score_settings(
    contestant: Contestant, settings: Sequence[Values], problem: Problem, split: Split, seed: int
) -> list[Score]:
    """Score a contestant with every setting on one fold, in their order; see :data:`Score`."""
    found: list[Score | None] = [None] * len(settings)
    for group in _groups(contestant, settings):
        chosen = [settings[i] for i in group]
        for i, score in zip(
            group, _score_group(contestant, chosen, problem, split, seed), strict=True
        ):
            found[i] = score
    return [score for score in found if score is not None]


def _groups(contestant: Contestant, settings: Sequence[Values]) -> list[list[int]]:
    """Put together settings that share a fit."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for i, values in enumerate(settings):
        groups.setdefault(fit_of(contestant, values), []).append(i)
    return list(groups.values())


def fit_of(contestant: Contestant, values: Values) -> tuple[tuple[str, Any], ...]:
    """Return what tells the fit of a setting from other fits: equal for settings that share one."""
    return tuple(item for item in values.items() if not _shared(contestant, item[0]))


def _shared(contestant: Contestant, parameter: str) -> bool:
    """Whether settings that differ in this parameter alone share a fit."""
    if parameter.startswith(JUDGE):
        return contestant.kind == "features"
    if parameter == K:
        return contestant.nested
    return is_path(contestant) and parameter in ("beta", "delta")


def is_path(contestant: Contestant) -> bool:
    """Whether all β and δ come from one factorisation: SCA, where nothing else is tuned."""
    tuned = {name for name in contestant.grid if not name.startswith(JUDGE)}
    if K not in tuned or not tuned <= {K, "beta", "delta"} or "label_splines" in contestant.fixed:
        return False
    return load_object(contestant.estimator) is SCA


def _score_group(
    contestant: Contestant, settings: list[Values], problem: Problem, split: Split, seed: int
) -> list[Score]:
    start = perf_counter()
    try:
        if contestant.kind != "features":
            predicted = [_predict(contestant, values, problem, split, seed) for values in settings]
        else:
            predicted = _judge_features(contestant, settings, problem, split, seed)
    except ValueError as error:
        return _without_largest(contestant, settings, problem, split, seed, error)
    seconds = (perf_counter() - start) / len(settings)
    truth = problem.y[split.score]
    return [
        {
            "setting": dict(values),
            **_compare(guess, truth, problem.has_classes),
            "total": len(truth),
            "seconds": seconds,
        }
        for values, guess in zip(settings, predicted, strict=True)
    ]


def _compare(guess: Array, truth: Array, has_classes: bool) -> dict[str, float]:
    if has_classes:
        return {"correct": int(np.sum(guess == truth))}
    return {"r2": float(r2_score(truth, guess))}


def share(score: Mapping[str, Any]) -> float:
    """Return the share of correct predictions, or R²; nan where there is neither.

    Examples
    --------
    >>> share({"correct": 3, "total": 4}), share({"r2": -0.5, "total": 4})
    (0.75, -0.5)
    """
    if "correct" in score:
        return float(score["correct"] / score["total"])
    return float(score.get("r2", np.nan))


def _without_largest(
    contestant: Contestant,
    settings: list[Values],
    problem: Problem,
    split: Split,
    seed: int,
    error: ValueError,
) -> list[Score]:
    """Note the error for the largest number of components, and try the others without it."""
    largest = max((values.get(K, 0) for values in settings), default=0)
    failed = {
        i: {"setting": dict(values), "error": f"{type(error).__name__}: {error}"}
        for i, values in enumerate(settings)
        if values.get(K, 0) == largest
    }
    rest = [values for i, values in enumerate(settings) if i not in failed]
    scores = iter(_score_group(contestant, rest, problem, split, seed) if rest else ())
    return [failed[i] if i in failed else next(scores) for i in range(len(settings))]


# --- methods that predict -------------------------------------------------------------------------


def _predict(
    contestant: Contestant, values: Values, problem: Problem, split: Split, seed: int
) -> Array:
    model = make_domain_pipeline(contestant.build(values, seed))
    learn, score = split.learn, split.score
    model.fit(problem.X[learn], seen_labels(problem, split), sample_domain=problem.domain[learn])
    return model.predict(problem.X[score], sample_domain=problem.domain[score])


def seen_labels(problem: Problem, split: Split) -> Array:
    """Return the labels of the samples learnt from, with all hidden that are not to be seen."""
    y = np.full(len(problem.y), UNLABELLED if problem.has_classes else np.nan)
    y[split.labelled] = problem.y[split.labelled]
    return y[split.learn]


# --- methods that give features -------------------------------------------------------------------


def _judge_features(
    contestant: Contestant, settings: list[Values], problem: Problem, split: Split, seed: int
) -> list[Array]:
    """Return what the classifier predicts from the features, for each setting."""
    predicted: list[Array] = [np.empty(0)] * len(settings)
    for indices, features in _features(contestant, settings, problem, split, seed):
        judged = JUDGES[contestant.classifier](
            Features(*features, problem, split), [settings[i] for i in indices]
        )
        for i, guess in zip(indices, judged, strict=True):
            predicted[i] = guess
    return predicted


def _features(
    contestant: Contestant, settings: list[Values], problem: Problem, split: Split, seed: int
) -> Iterator[tuple[list[int], tuple[Any, Any]]]:
    """Yield which settings use which features, of samples learnt from and of samples to score."""
    everyone = list(range(len(settings)))
    if contestant.name == RAW:
        yield everyone, (problem.X[split.learn], problem.X[split.score])
    elif is_path(contestant):
        yield from _path(contestant, settings, problem, split, seed)
    else:
        values = dict(settings[0])
        if K in values:
            values[K] = max(each[K] for each in settings)
        yield everyone, _fit_features(contestant, values, problem, split, seed)


def _fit_features(
    contestant: Contestant, values: Values, problem: Problem, split: Split, seed: int
) -> tuple[Any, Any]:
    learn, score = split.learn, split.score
    estimator = contestant.build(values, seed)
    X_learn, X_score = problem.X[learn], problem.X[score]
    if contestant.shares_gram:
        estimator.set_params(kernel="precomputed")
        gram = problem.gram(learn)
        X_learn, X_score = gram[learn], gram[score]
    model = make_domain_pipeline(estimator)
    Z = model.fit_transform(
        X_learn, seen_labels(problem, split), sample_domain=problem.domain[learn]
    )
    where = _position(learn, score)
    if where is not None:
        return Z, Z[where]
    return Z, model.transform(X_score, sample_domain=problem.domain[score])


def _position(learn: Codes, score: Codes) -> Codes | None:
    """Return where the scored samples are among those learnt from; None where some are not."""
    if not np.isin(score, learn).all():
        return None
    return np.searchsorted(learn, score)


def _path(
    contestant: Contestant, settings: list[Values], problem: Problem, split: Split, seed: int
) -> Iterator[tuple[list[int], tuple[Array, Array]]]:
    """Solve SCA for all β and δ at once, with as many components as any setting asks for."""
    template = contestant.build({}, seed)
    learn, score = split.learn, split.score
    X = problem.X
    if contestant.shares_gram:
        template.set_params(kernel="precomputed")
        X = problem.gram(learn)
    points: dict[tuple[float, float], list[int]] = {}
    for i, values in enumerate(settings):
        point = (values.get("beta", beta_of(template)), values.get("delta", template.delta))
        points.setdefault(point, []).append(i)
    domains = read_domains(seen_labels(problem, split), problem.domain[learn])
    k = max(values[K] for values in settings)
    where = _position(learn, score)
    solver = FoldSolver(template, X[learn], domains)
    solved = solver.solve(domains, list(points), k, X[score] if where is None else None)
    for indices, (Z, Z_new) in zip(points.values(), solved, strict=True):
        yield indices, (Z, Z_new if where is None else Z[where])


# --- classifiers ----------------------------------------------------------------------------------


class Features(NamedTuple):
    """Features of a fold: of the samples learnt from, and of the samples to score."""

    learn: Any
    score: Any
    problem: Problem
    split: Split

    @property
    def train(self) -> Codes:
        """Where the labelled samples are among those learnt from."""
        return np.searchsorted(self.split.learn, self.split.labelled)

    @property
    def label(self) -> Array:
        """Classes of the labelled samples."""
        return self.problem.y[self.split.labelled]

    def leading(self, k: int | None) -> Features:
        """Return the first k features; None is all."""
        if k is None:
            return self
        return self._replace(learn=self.learn[:, :k], score=self.score[:, :k])


def _nearest(features: Features, settings: list[Values]) -> list[Array]:
    """Return the class of the nearest labelled sample, for each number of features."""
    Z, label = features.learn[features.train], features.label
    if K not in settings[0]:
        nearest = KNeighborsClassifier(1, algorithm="brute").fit(Z, label)
        return [nearest.predict(features.score)] * len(settings)
    order = np.argsort([values[K] for values in settings], kind="stable")
    ks = [settings[i][K] for i in order]
    guesses = list(nearest_labels(Z, label, features.score, ks))
    return [guesses[i] for i in np.argsort(order)]


def _linear_machines(features: Features, settings: list[Values]) -> list[Array]:
    """Return what linear support vector machines predict; those of equal k share products."""
    products: dict[Any, tuple[Array, Array]] = {}
    guesses = []
    for values in settings:
        k = values.get(K)
        if k not in products:
            leading = features.leading(k)
            Z = leading.learn[features.train]
            products[k] = _dense(Z @ Z.T), _dense(leading.score @ Z.T)
        inner, cross = products[k]
        machine = SVC(kernel="precomputed", C=values.get(f"{JUDGE}C", 1.0), max_iter=STEPS)
        guesses.append(machine.fit(inner, features.label).predict(cross))
    return guesses


STEPS = 1_000_000
"""Of a support vector machine, which may not end on samples that no plane parts."""


def _dense(matrix: Any) -> Array:
    return np.asarray(matrix.toarray() if issparse(matrix) else matrix)


def _logistic(features: Features, settings: list[Values]) -> list[Array]:
    """Return what logistic regression predicts, from the smallest cost to the largest."""
    guesses: list[Array] = [np.empty(0)] * len(settings)
    models: dict[Any, LogisticRegression] = {}
    for i in np.argsort([values.get(f"{JUDGE}C", 1.0) for values in settings], kind="stable"):
        k = settings[i].get(K)
        leading = features.leading(k)
        model = models.setdefault(k, LogisticRegression(warm_start=True, max_iter=MAX_ITER))
        model.set_params(C=settings[i].get(f"{JUDGE}C", 1.0))
        guesses[i] = model.fit(leading.learn[features.train], features.label).predict(leading.score)
    return guesses


def _adaptation_machine(features: Features, settings: list[Values]) -> list[Array]:
    """Return what domain adaptation machines predict."""
    problem, split = features.problem, features.split
    guesses = []
    for values in settings:
        leading = features.leading(values.get(K))
        model = DAM(C=values.get(f"{JUDGE}C", 1.0))
        model.fit(
            leading.learn, seen_labels(problem, split), sample_domain=problem.domain[split.learn]
        )
        guesses.append(model.predict(leading.score, sample_domain=problem.domain[split.score]))
    return guesses


def _regress(make: Callable[..., Any], features: Features, settings: list[Values]) -> list[Array]:
    """Return what a regressor of scikit-learn predicts."""
    guesses = []
    for values in settings:
        leading = features.leading(values.get(K))
        own = {name.removeprefix(JUDGE): v for name, v in values.items() if name.startswith(JUDGE)}
        model = make(**own).fit(leading.learn[features.train], features.label)
        guesses.append(model.predict(leading.score))
    return guesses


JUDGES: Mapping[str, Callable[[Features, list[Values]], list[Array]]] = {
    "1nn": _nearest,
    "svm": _linear_machines,
    "logistic": _logistic,
    "dam": _adaptation_machine,
    "ridge": partial(_regress, Ridge),
    "forest": partial(_regress, partial(RandomForestRegressor, random_state=0)),
    "boosting": partial(_regress, partial(HistGradientBoostingRegressor, random_state=0)),
}
"""Classifiers and regressors behind features, by name."""
