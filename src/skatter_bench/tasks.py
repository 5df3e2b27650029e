"""A task: learn from some domains of a data set, predict others; and its samples, ready to use."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import Normalizer, OneHotEncoder, StandardScaler

from skatter._tensors import Array
from skatter.datasets import Dataset
from skatter.datasets._registry import get_dataset
from skatter.domains import Codes
from skatter.kernels import gram, resolve_kernel

Setting = Literal["adaptation", "generalization"]
LEAST_OF_A_CLASS = 5  # rows among the drawn rows of the sources, so that every fold has one


def prepare_table(data: Dataset) -> Pipeline:
    """Return the preparation of a table with categories and gaps.

    Categories become indicators, one column where there are two of them, and rare ones are pooled
    where there are more than 20; a missing value is a category, and a category that is new to the
    preparation is none. Missing numbers become the median, and numbers are standardised. Constant
    columns are left out.
    """
    numeric = [j for j in range(data.X.shape[1]) if j not in data.categorical]
    indicators = OneHotEncoder(
        max_categories=20,
        handle_unknown="infrequent_if_exist",
        drop="if_binary",
        sparse_output=False,
    )
    medians = SimpleImputer(strategy="median", keep_empty_features=True)
    columns = ColumnTransformer(
        [
            ("categories", indicators, list(data.categorical)),
            ("n", make_pipeline(medians, StandardScaler()), numeric),
        ]
    )
    return make_pipeline(columns, VarianceThreshold())


PREPARATIONS: Mapping[str, Callable[[Dataset], Pipeline | None]] = {
    "as loaded": lambda data: None,
    "unit rows": lambda data: make_pipeline(Normalizer()),
    "shares, z-scores, unit rows": lambda data: make_pipeline(
        Normalizer("l1"), StandardScaler(), Normalizer()
    ),
    "table": prepare_table,
}
"""What is done to samples, learnt from those that a method may learn from and from no others."""


@dataclass(frozen=True)
class Sample:
    """A random draw of rows, for tables that are larger than a task should be.

    At most ``sources`` and ``targets`` rows of all sources and all targets together, without
    classes that have fewer than five drawn rows of the sources. ``before`` are lengths of
    permutations that the same generator (seed 0) made before, so that tasks whose rows were drawn
    one after the other can be drawn alone.
    """

    sources: int
    targets: int
    before: tuple[int, ...] = ()

    def draw(self, sources: Codes, targets: Codes, y: Array) -> tuple[Codes, Codes]:
        """Return the drawn rows of the sources and of the targets, in increasing order."""
        rng = np.random.default_rng(0)
        for length in self.before:
            rng.permutation(length)
        sources = np.sort(rng.permutation(sources)[: self.sources])
        targets = np.sort(rng.permutation(targets)[: self.targets])
        if y.dtype.kind == "f":
            return sources, targets
        classes, counts = np.unique(y[sources], return_counts=True)
        kept = np.isin(y, classes[counts >= LEAST_OF_A_CLASS])
        return sources[kept[sources]], targets[kept[targets]]


@dataclass(frozen=True)
class Task:
    """Sources with labels and targets without, taken from one data set.

    ``name`` is as tables print it, ``"A->W"``; ``n_classes`` is 0 where labels are numbers; tasks
    of one ``group`` are averaged together; ``prepare`` is a name in :data:`PREPARATIONS`;
    ``preprocess`` loads samples as they are usually prepared; ``draw`` numbers the random draw.
    """

    name: str
    dataset: str
    sources: tuple[str, ...]
    targets: tuple[str, ...]
    setting: Setting
    n_classes: int
    group: str
    prepare: str = "as loaded"
    preprocess: bool = True
    draw: int = 0
    sample: Sample | None = None


@dataclass(frozen=True, eq=False)
class Problem:
    """The samples of a task, and what they are for.

    A method learns from the rows ``learn``, sees the labels of ``labelled`` among them, and is
    scored on ``test``. ``y`` are integers for classes and floats for numbers.
    """

    X: Any
    y: Array
    domain: Array
    learn: Codes
    labelled: Codes
    test: Codes
    _grams: dict[bytes, Array] = field(default_factory=dict, repr=False)

    @property
    def has_classes(self) -> bool:
        """Whether labels are classes, not numbers."""
        return self.y.dtype.kind != "f"

    def gram(self, learn: Codes) -> Array:
        """Return the RBF kernel (median bandwidth of ``learn``) of all samples with ``learn``.

        The last one is kept: methods and folds that learn from the same samples share it.
        """
        key = np.asarray(learn).tobytes()
        if key not in self._grams:
            self._grams.clear()
            known = self.X[learn]
            kernel = resolve_kernel(known, "rbf")
            out = np.empty((self.X.shape[0], len(learn)))
            out[learn] = gram(known, kernel)
            others = np.setdiff1d(np.arange(self.X.shape[0]), learn)
            if len(others):
                out[others] = kernel(self.X[others], known)
            out.flags.writeable = False
            self._grams[key] = out
        return self._grams[key]


def load_data(task: Task, data_home: str | None = None) -> Dataset:
    """Load the domains of a task; data sets are kept, so that tasks share them."""
    info = get_dataset(task.dataset)
    used = tuple(name for name in info.domains if name in (*task.sources, *task.targets))
    return _load(task.dataset, used, task.preprocess, task.draw, data_home)


@lru_cache(maxsize=2)
def _load(
    dataset: str, domains: tuple[str, ...], preprocess: bool, draw: int, data_home: str | None
) -> Dataset:
    info = get_dataset(dataset)
    options: dict[str, Any] = {"random_state": draw} if info.seeded else {}
    if not preprocess:
        options["preprocess"] = False
    return info.load(domains=domains, data_home=data_home, **options)


@lru_cache(maxsize=1)
def load_problem(task: Task, data_home: str | None = None) -> Problem:
    """Load the samples of a task; the last problem is kept, so that its cells share it."""
    data = load_data(task, data_home)
    part = np.full(len(data.y), "") if data.part is None else data.part
    from_source = np.isin(data.domain, task.sources) & (part != "test")
    from_target = np.isin(data.domain, task.targets)
    if task.sample is not None:
        drawn = task.sample.draw(np.flatnonzero(from_source), np.flatnonzero(from_target), data.y)
        every = np.arange(len(data.y))
        from_source, from_target = (np.isin(every, rows) for rows in drawn)
    learn = from_source | (from_target & (part != "test") & (task.setting == "adaptation"))
    test = from_target & (part != "train")
    rows = np.flatnonzero(learn | test)
    X = data.X[rows]
    steps = PREPARATIONS[task.prepare](data)
    if steps is not None:
        with warnings.catch_warnings():
            # A category that no source has is no surprise where the target is not seen.
            warnings.filterwarnings("ignore", message="Found unknown categories")
            X = steps.fit(data.X[learn]).transform(X)
    return Problem(
        X,
        data.y[rows],
        data.domain[rows],
        learn=np.flatnonzero(learn[rows]),
        labelled=np.flatnonzero(from_source[rows]),
        test=np.flatnonzero(test[rows]),
    )
