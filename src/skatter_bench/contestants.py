"""Contestants: the rows of a table, each a method and the classifier that judges its features."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from itertools import product
from typing import Any

from sklearn.linear_model import LogisticRegression
from sklearn.utils import get_tags

from skatter._components import ScatterComponents
from skatter._formatting import did_you_mean
from skatter.methods import METHODS, TCA, Method
from skatter.methods._generalization import Generalizer
from skatter.methods._plugins import load_object
from skatter.methods._record import Kind, Tuning
from skatter_bench.grids import CLASSIFIERS, NUMBERS, REGRESSORS, VARIANTS, tuning
from skatter_bench.tasks import Task

RAW, OWN, SETS = "raw", "own", "sets"
JUDGE = "classifier__"  # begins the names of a classifier's parameters
MAX_ITER = 500  # of logistic regression
CLASSIFIER_NAMES: Mapping[str, str] = {
    "1nn": "1NN",
    "svm": "linear SVM",
    "logistic": "logistic regression",
    "dam": "DAM",
    "sets": "sets",
    "ridge": "ridge regression",
    "forest": "random forest",
    "boosting": "gradient boosting",
}

Values = dict[str, Any]
Names = Sequence[str] | None  # contestants that were asked for; None is all


@dataclass(frozen=True)
class Contestant:
    """A method, the classifier behind it, and the settings to try.

    ``name`` is ``"raw"`` for the samples as they are, ``classifier`` is ``"own"`` where the method
    predicts by itself, and ``"sets"`` where it predicts several classes and one of them has to be
    right, ``estimator`` is ``"module:Class"``. ``fixed`` parameters are not tuned,
    those of ``grid`` are; ``classifier__C`` and the like are the classifier's. ``nested``: the
    first k features of a larger fit are those of a fit with k. ``shares_gram``: it is a function of
    an RBF Gram matrix that others use as well.
    """

    name: str
    classifier: str
    estimator: str = ""
    kind: Kind = "features"
    fixed: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    nested: bool = False
    shares_gram: bool = False

    @property
    def label(self) -> str:
        """As people read it."""
        if self.classifier == OWN:
            return self.name
        return f"{self.name} + {CLASSIFIER_NAMES[self.classifier]}"

    def settings(self, task: Task) -> list[Values]:
        """Return all settings, those to be preferred among equals first."""
        tried = product(*(_candidates(values, task.n_classes) for values in self.grid.values()))
        return [dict(zip(self.grid, values, strict=True)) for values in tried]

    def build(self, values: Mapping[str, Any], seed: int) -> Any:
        """Return the estimator with some settings, ready to fit."""
        estimator = load_object(self.estimator)()
        own = {name: value for name, value in values.items() if not name.startswith(JUDGE)}
        chosen = {**self.fixed, **own}
        if "random_state" in estimator.get_params(deep=False):
            chosen.setdefault("random_state", seed)
        if self.kind == "weights":
            C = values.get(f"{JUDGE}C", 1.0)
            chosen["estimator"] = LogisticRegression(C=C, max_iter=MAX_ITER)
        return estimator.set_params(**chosen)


def _candidates(values: Sequence[Any], n_classes: int) -> list[Any]:
    """Put in the number of classes, C; numbers in increasing order, each once."""
    symbols = {"C": n_classes, "C-1": n_classes - 1}
    known = [symbols.get(value, value) for value in values]
    return known if any(isinstance(value, str) for value in known) else sorted(set(known))


def contestants(
    setting: str,
    *,
    classifiers: Sequence[str] = ("1nn",),
    grid: str = "coarse",
    names: Names = None,
    methods: Mapping[str, Method] = METHODS,
    tunings: Mapping[str, Tuning] | None = None,
    sparse: bool = False,
) -> list[Contestant]:
    """Return the rows of a table.

    Raw samples with every plain classifier come first: they are what a user would pick instead.
    Methods that cannot work in the setting, or on sparse samples, are left out; ``tunings`` say
    what is tuned instead, by name of the contestant. With ``"sets"`` among the classifiers, methods
    that predict sets of classes take part twice.
    """
    fit = {
        name: method
        for name, method in _with_variants(methods)
        if _fits(method, setting) and (not sparse or get_tags(method.estimator()).input_tags.sparse)
    }
    judges = [name for name in classifiers if name != SETS]
    rows = _raw_rows(("1nn", "svm", "logistic", *judges), grid, names)
    for name, method in _chosen(names, fit, setting).items():
        in_sets = SETS in classifiers and hasattr(method.estimator, "predict_set")
        alone = (OWN, SETS) if in_sets else (OWN,)
        behind = {"features": tuple(judges), "weights": ("logistic",)}.get(method.kind, alone)
        tuned = tuning(name, method, setting, grid)
        if tunings is not None and grid != "none":
            tuned = tunings.get(name, tuned)
        rows += [_contestant(name, method, each, tuned, grid) for each in behind]
    return rows


def regressors(
    *, grid: str = "coarse", names: Names = None, methods: Mapping[str, Method]
) -> list[Contestant]:
    """Return the rows of a table where labels are numbers."""
    rows = _raw_rows(REGRESSORS, grid, names)
    fit = {name: methods[name] for name in NUMBERS}
    for name, method in _chosen(names, fit, "regression").items():
        tuned = Tuning(fixed=NUMBERS[name].fixed) if grid == "none" else NUMBERS[name]
        rows.append(_contestant(name, method, "ridge", tuned, grid))
    return rows


def _with_variants(methods: Mapping[str, Method]) -> Iterator[tuple[str, Method]]:
    for name, method in methods.items():
        yield name, method
        yield from ((own, method) for own, variant in VARIANTS.items() if variant.method == name)


def _fits(method: Method, setting: str) -> bool:
    """Whether a method has something to learn from, and all that it needs to be of use."""
    asks = (*method.needs, *method.wants)
    if "target labels" in asks:
        return False
    if setting == "generalization":
        return "one target" not in asks
    return "several sources" not in asks and not issubclass(method.estimator, Generalizer)


def _chosen(names: Names, known: Mapping[str, Method], setting: str) -> dict[str, Method]:
    for name in names or ():
        if name != RAW and name not in known:
            hint = did_you_mean(name, [RAW, *known]) or f" Known: {', '.join(known)}."
            raise ValueError(f"no method {name!r} for {setting}.{hint}")
    return {name: known[name] for name in known if names is None or name in names}


def _raw_rows(classifiers: Iterable[str], grid: str, names: Names) -> list[Contestant]:
    if names is not None and RAW not in names:
        return []
    plain = dict.fromkeys(classifiers)
    return [Contestant(RAW, each, grid=_classifier_grid(each, grid)) for each in plain]


def _contestant(name: str, method: Method, classifier: str, tuned: Tuning, grid: str) -> Contestant:
    fixed = {**VARIANTS[name].parameters, **tuned.fixed} if name in VARIANTS else tuned.fixed
    own_kernel = grid == "none" or {"kernel", "gamma"} & {*tuned.grid, *fixed}
    shares = not own_kernel and _shares_gram(method.estimator)
    tried = {**tuned.grid, **_classifier_grid(classifier, grid)}
    path = _public_path(method.estimator)
    return Contestant(name, classifier, path, method.kind, fixed, tried, method.nested, shares)


def _public_path(estimator: type[Any]) -> str:
    """Return where a user imports an estimator: records outlast the names of internal modules."""
    name, module = estimator.__qualname__, estimator.__module__
    room = module.partition("._")[0]
    found = getattr(import_module(room), name, None)
    return f"{room if found is estimator else module}:{name}"


def _shares_gram(estimator: type[Any]) -> bool:
    """Whether samples count through their RBF Gram matrix alone, and that may be handed over."""
    if not (issubclass(estimator, ScatterComponents) or estimator is TCA):
        return False
    defaults = estimator().get_params(deep=False)
    return defaults["kernel"] == "rbf" and defaults["gamma"] == "median"


def _classifier_grid(classifier: str, grid: str) -> dict[str, tuple[Any, ...]]:
    if grid == "none":
        return {}
    values = {**CLASSIFIERS, **REGRESSORS}.get(classifier, {})
    return {f"{JUDGE}{parameter}": tried for parameter, tried in values.items()}
