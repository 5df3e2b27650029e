"""Scores of many settings on one fold, with as little work as they can share.

Settings that differ in the number of components alone share a fit where components are nested;
settings that differ in the classifier share its features; SCA solves all β and δ from one
factorisation; and methods that see samples through one Gram matrix are given it ready.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import r2_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from skatter._tensors import Array
from skatter.domains import UNLABELLED, Codes, read_domains
from skatter.methods import DAM
from skatter.methods._plugins import load_object
from skatter.pipeline import make_domain_pipeline
from skatter.sca import SCA, beta_of
from skatter.selection._folds import FoldSolver, nearest_labels
from skatter_bench.contestants import JUDGE, MAX_ITER, RAW, SETS, Contestant
from skatter_bench.protocols import Split
from skatter_bench.tasks import Problem

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
    groups: dict[tuple[Any, ...], list[int]] = {}
    for i, values in enumerate(settings):
        groups.setdefault(fit_of(contestant, values), []).append(i)
    fold = _Fold(contestant, problem, split, seed)
    found: dict[int, Score] = {}
    for group in groups.values():
        scores = _score_group(fold, [settings[i] for i in group])
        found |= zip(group, scores, strict=True)
    return [found[i] for i in range(len(settings))]


class _Fold(NamedTuple):
    """Who is scored on which samples, what of them is learnt from, and the seed of the method."""

    contestant: Contestant
    problem: Problem
    split: Split
    seed: int

    def seen(self) -> dict[str, Any]:
        domain = self.problem.domain[self.split.learn]
        return {"y": seen_labels(self.problem, self.split), "sample_domain": domain}

    def on_samples(self, values: Values) -> tuple[Any, Any]:
        """Return the estimator, and the samples or the rows of a Gram matrix that it is given."""
        estimator = self.contestant.build(values, self.seed)
        if not self.contestant.shares_gram:
            return estimator, self.problem.X
        return estimator.set_params(kernel="precomputed"), self.problem.gram(self.split.learn)

    def position(self) -> Codes | None:
        """Return where the scored samples are among those learnt from; None where some are not."""
        learn, _, score = self.split
        return np.searchsorted(learn, score) if np.isin(score, learn).all() else None


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


def _score_group(fold: _Fold, settings: list[Values]) -> list[Score]:
    # Seconds of the processor: what else the machine does makes no method slower.
    start = process_time()
    try:
        if fold.contestant.kind != "features":
            predicted = [_predict(fold, values) for values in settings]
        else:
            predicted = _judge_features(fold, settings)
    except ValueError as error:
        return _without_largest(fold, settings, error)
    seconds = (process_time() - start) / len(settings)
    truth = fold.problem.y[fold.split.score]
    scores = []
    for values, guess in zip(settings, predicted, strict=True):
        if fold.problem.has_classes:
            right: Score = {"correct": int(np.sum(guess == truth))}
        else:
            right = {"r2": float(r2_score(truth, guess))}
        scores.append({"setting": dict(values), **right, "total": len(truth), "seconds": seconds})
    return scores


def share(score: Mapping[str, Any]) -> float:
    """Return the share of correct predictions, or R²; nan where there is neither."""
    if "correct" in score:
        return float(score["correct"] / score["total"])
    return float(score.get("r2", np.nan))


def _without_largest(fold: _Fold, settings: list[Values], error: ValueError) -> list[Score]:
    """Note the error for the largest number of components, and try the others without it."""
    largest = max(values.get(K, 0) for values in settings)
    rest = [values for values in settings if values.get(K, 0) != largest]
    scores = iter(_score_group(fold, rest) if rest else ())
    said = f"{type(error).__name__}: {error}"
    return [
        {"setting": dict(values), "error": said} if values.get(K, 0) == largest else next(scores)
        for values in settings
    ]


def _predict(fold: _Fold, values: Values) -> Array:
    problem, score = fold.problem, fold.split.score
    model = make_domain_pipeline(fold.contestant.build(values, fold.seed))
    model.fit(problem.X[fold.split.learn], **fold.seen())
    if fold.contestant.classifier == SETS:
        sets = model[-1].predict_set(problem.X[score], sample_domain=problem.domain[score])
        truth = problem.y[score]
        # The true class where it is among those predicted, and no class elsewhere.
        right = (sets & (truth[:, None] == model[-1].classes_)).any(axis=1)
        return np.where(right, truth, UNLABELLED)
    return model.predict(problem.X[score], sample_domain=problem.domain[score])


def seen_labels(problem: Problem, split: Split) -> Array:
    """Return the labels of the samples learnt from, with all hidden that are not to be seen."""
    y = np.full(len(problem.y), UNLABELLED if problem.has_classes else np.nan)
    y[split.labelled] = problem.y[split.labelled]
    return y[split.learn]


def _judge_features(fold: _Fold, settings: list[Values]) -> list[Array]:
    judge = JUDGES[fold.contestant.classifier]
    predicted: dict[int, Array] = {}
    for indices, features in _features(fold, settings):
        guesses = judge(Features(*features, fold), [settings[i] for i in indices])
        predicted |= zip(indices, guesses, strict=True)
    return [predicted[i] for i in range(len(settings))]


def _features(fold: _Fold, settings: list[Values]) -> Iterator[tuple[list[int], tuple[Any, Any]]]:
    """Yield which settings use which features, of samples learnt from and of samples to score."""
    everyone, problem = list(range(len(settings))), fold.problem
    learn, _, score = fold.split
    if fold.contestant.name == RAW:
        yield everyone, (problem.X[learn], problem.X[score])
        return
    if is_path(fold.contestant):
        yield from _path(fold, settings)
        return
    values = dict(settings[0])
    if K in values:
        values[K] = max(each[K] for each in settings)
    estimator, X = fold.on_samples(values)
    model = make_domain_pipeline(estimator)
    Z = model.fit_transform(X[learn], **fold.seen())
    where = fold.position()
    if where is None:
        yield everyone, (Z, model.transform(X[score], sample_domain=problem.domain[score]))
    else:
        yield everyone, (Z, Z[where])


def _path(fold: _Fold, settings: list[Values]) -> Iterator[tuple[list[int], tuple[Array, Array]]]:
    """Solve SCA for all β and δ at once, with as many components as any setting asks for."""
    template, X = fold.on_samples({})
    learn, _, score = fold.split
    points: dict[tuple[float, float], list[int]] = {}
    for i, values in enumerate(settings):
        point = (values.get("beta", beta_of(template)), values.get("delta", template.delta))
        points.setdefault(point, []).append(i)
    domains, where = read_domains(**fold.seen()), fold.position()
    k = max(values[K] for values in settings)
    X_new = X[score] if where is None else None
    solved = FoldSolver(template, X[learn], domains).solve(domains, list(points), k, X_new)
    for indices, (Z, Z_new) in zip(points.values(), solved, strict=True):
        yield indices, (Z, Z_new if where is None else Z[where])


class Features(NamedTuple):
    """Features of a fold: of the samples learnt from, and of the samples to score."""

    learn: Any
    score: Any
    fold: _Fold

    @property
    def train(self) -> Codes:
        """Where the labelled samples are among those learnt from."""
        return np.searchsorted(self.fold.split.learn, self.fold.split.labelled)

    @property
    def label(self) -> Array:
        """Classes of the labelled samples."""
        return self.fold.problem.y[self.fold.split.labelled]

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


STEPS = 1_000_000  # of a support vector machine, which may not end on samples that no plane parts


def _dense(matrix: Any) -> Array:
    return np.asarray(matrix.toarray() if issparse(matrix) else matrix)


def _logistic(features: Features, settings: list[Values]) -> list[Array]:
    """Return what logistic regression predicts, from the smallest cost to the largest."""
    guesses: list[Array] = [np.empty(0)] * len(settings)
    models: dict[Any, LogisticRegression] = {}
    costs = [values.get(f"{JUDGE}C", 1.0) for values in settings]
    for i in np.argsort(costs, kind="stable"):
        k = settings[i].get(K)
        leading = features.leading(k)
        model = models.setdefault(k, LogisticRegression(warm_start=True, max_iter=MAX_ITER))
        model.set_params(C=costs[i]).fit(leading.learn[features.train], features.label)
        guesses[i] = model.predict(leading.score)
    return guesses


def _adaptation_machine(features: Features, settings: list[Values]) -> list[Array]:
    fold, guesses = features.fold, []
    domain = fold.problem.domain[fold.split.score]
    for values in settings:
        leading = features.leading(values.get(K))
        model = DAM(C=values.get(f"{JUDGE}C", 1.0)).fit(leading.learn, **fold.seen())
        guesses.append(model.predict(leading.score, sample_domain=domain))
    return guesses


def _regress(make: Callable[..., Any], features: Features, settings: list[Values]) -> list[Array]:
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
