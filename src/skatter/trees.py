"""Forests and boosting that can be saved: trees as plain NumPy arrays, checked before use.

scikit-learn evaluates a tree in compiled code that trusts its numbers: a wrong one, read from a
forged file, crashes the interpreter. Here scikit-learn grows the trees, and their numbers are
copied into a :class:`TreeEnsemble`, which checks them before it predicts. The predictions are those
of scikit-learn.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from skatter._checks import check_labels
from skatter._parameters import COUNT, Declared, declared, optional, parameter
from skatter._tensors import Array
from skatter._threads import allowed_threads, one_thread

__all__ = [
    "BoostingClassifier",
    "BoostingRegressor",
    "ForestClassifier",
    "ForestRegressor",
    "TreeEnsemble",
]

ROWS = 8192
"""Rows evaluated together, so that they and the nodes of one tree stay in the processor's cache."""
WALKERS = 32768  # pairs of a row and a tree that go down together: few rows take many trees at once


@dataclass(frozen=True, eq=False)
class TreeEnsemble:
    """Trees as arrays; the prediction is the baseline plus one leaf of each tree.

    A row goes left at a split where ``x[feature] <= threshold``. Only splits are numbered, each
    before its children; a child or root that is negative is a leaf, and ``~child`` is its row in
    ``value``. Leaves of equal values share a row. Arrays that make no trees are refused.

    Parameters
    ----------
    feature : ndarray of int32, shape (n_splits,)
        Column that a split looks at.
    threshold : ndarray of float32 or float64, shape (n_splits,)
        Largest value that goes left. Samples are compared in this precision.
    left, right : ndarray of int32, shape (n_splits,)
        The children.
    missing_left : ndarray of bool, shape (n_splits,)
        Whether missing values (NaN) go left.
    value : ndarray of float64, shape (n_leaves, width)
        What leaves add.
    roots : ndarray of int32, shape (n_trees,)
        Where each tree starts.
    output : ndarray of int32, shape (n_trees,)
        First of the ``width`` outputs that a tree adds to.
    baseline : ndarray of float64, shape (n_outputs,)
        What the outputs are before any tree.
    n_features : int
        Columns of the samples.

    Examples
    --------
    One tree with one split: a row of at most 0.5 adds 1, any other 2.

    >>> import numpy as np
    >>> from skatter.trees import TreeEnsemble
    >>> whole = lambda *numbers: np.array(numbers, dtype=np.int32)
    >>> tree = TreeEnsemble(
    ...     feature=whole(0), threshold=np.array([0.5]), left=whole(~0), right=whole(~1),
    ...     missing_left=np.array([True]), value=np.array([[1.0], [2.0]]), roots=whole(0),
    ...     output=whole(0), baseline=np.zeros(1), n_features=1,
    ... )
    >>> tree.predict(np.array([[0.0], [1.0], [np.nan]])).ravel()
    array([1., 2., 1.])
    """

    feature: Array
    threshold: Array
    left: Array
    right: Array
    missing_left: Array
    value: Array
    roots: Array
    output: Array
    baseline: Array
    n_features: int

    def __post_init__(self) -> None:
        self.check()

    @classmethod
    def from_forest(cls, forest: Any) -> TreeEnsemble:
        """Copy a fitted forest; the sum over trees, not the mean."""
        trees = [each.tree_ for each in forest.estimators_]
        value = np.concatenate([tree.value[:, 0, :] for tree in trees])
        return cls(
            **_numbered(
                lefts=[tree.children_left for tree in trees],
                rights=[tree.children_right for tree in trees],
                feature=np.concatenate([tree.feature for tree in trees]),
                threshold=_round_down(np.concatenate([tree.threshold for tree in trees])),
                missing_left=np.concatenate([tree.missing_go_to_left for tree in trees]),
                value=value,
            ),
            output=np.zeros(len(trees), dtype=np.int32),
            baseline=np.zeros(value.shape[1]),
            n_features=int(forest.n_features_in_),
        )

    @classmethod
    def from_boosting(cls, boosting: Any) -> TreeEnsemble:
        """Copy fitted histogram gradient boosting; raw scores, before any sigmoid or softmax."""
        # scikit-learn has no public name for the trees and the baseline of its boosting.
        rounds = boosting._predictors
        trees = [tree.nodes for each in rounds for tree in each]
        nodes = np.concatenate(trees)
        if nodes["is_categorical"].any():
            raise ValueError("Trees with categorical splits cannot be copied; encode them first.")
        return cls(
            **_numbered(
                lefts=[np.where(tree["is_leaf"], -1, tree["left"].astype(int)) for tree in trees],
                rights=[tree["right"] for tree in trees],
                feature=nodes["feature_idx"],
                threshold=_bounded(nodes["num_threshold"]),
                missing_left=nodes["missing_go_to_left"],
                value=nodes["value"][:, None],
            ),
            output=np.array([k for each in rounds for k in range(len(each))], dtype=np.int32),
            baseline=np.array(boosting._baseline_prediction, dtype=np.float64).ravel(),
            n_features=int(boosting.n_features_in_),
        )

    @property
    def n_trees(self) -> int:
        """How many trees there are."""
        return len(self.roots)

    def check(self) -> None:
        """Raise a ValueError unless every walk down a tree ends at a leaf that is there.

        A loaded object was never constructed, so :meth:`predict` calls this as well.
        """
        for name, (kinds, n_dims) in _LAYOUT.items():
            array: Any = getattr(self, name, None)
            plain = type(array) in (np.ndarray, np.memmap)
            if not plain or array.dtype not in kinds or array.ndim != n_dims:
                named = " or ".join(kind.__name__ for kind in kinds)
                raise ValueError(f"{name} of the trees must be a {n_dims}-d array of {named}.")
        n_features = getattr(self, "n_features", None)
        if not isinstance(n_features, int) or n_features < 1:
            raise ValueError("n_features of the trees must be a positive integer.")
        self._check_lengths()
        self._check_numbers()

    def predict(self, X: Any) -> Array:
        """Return the baseline plus what all trees add, of shape (n_samples, n_outputs).

        Samples may be a CSR matrix; NaN is missing.
        """
        self.check()
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(
                f"X has shape {X.shape}, and the trees were grown on {self.n_features} columns."
            )
        total = np.tile(self.baseline, (X.shape[0], 1))
        walk = _Walk(self)
        width = self.value.shape[1]
        for start in range(0, X.shape[0], ROWS):
            block = total[start : start + ROWS]
            rows = X[start : start + ROWS]
            rows = rows.toarray() if sparse.issparse(rows) else rows
            leaves = walk.leaves(np.ascontiguousarray(rows, dtype=self.threshold.dtype))
            # Trees are added one by one: a row's sum does not depend on the rows beside it.
            for output, leaf in zip(self.output.tolist(), leaves, strict=True):
                block[:, output : output + width] += self.value[leaf]
        if not np.isfinite(total).all():
            raise ValueError("The trees add up to a number that is not finite.")
        return total

    def _check_lengths(self) -> None:
        if len({len(getattr(self, name)) for name in _PER_SPLIT}) > 1:
            raise ValueError(f"The arrays {', '.join(_PER_SPLIT)} must be of equal length.")
        if not len(self.baseline):
            raise ValueError("The array baseline of the trees must not be empty.")
        if self.value.shape[1] not in (1, len(self.baseline)):
            raise ValueError("The array value of the trees must have a column for each output.")
        if len(self.roots) != len(self.output):
            raise ValueError("The arrays roots and output of the trees must be of equal length.")

    def _check_numbers(self) -> None:
        for name in ("threshold", "value", "baseline"):
            if not np.isfinite(getattr(self, name)).all():
                raise ValueError(
                    f"The array {name} of the trees holds a number that is not finite."
                )
        n_leaves, width = self.value.shape
        n_splits, n_outputs = len(self.left), len(self.baseline)
        ranges = {"feature": (0, self.n_features), "output": (0, n_outputs - width + 1)}
        ranges |= dict.fromkeys(("roots", "left", "right"), (-n_leaves, n_splits))
        for name, (low, high) in ranges.items():
            numbers = getattr(self, name)
            if len(numbers) and (numbers.min() < low or numbers.max() >= high):
                raise ValueError(
                    f"The array {name} of the trees holds a number outside [{low}, {high - 1}]."
                )
        if len(self.output) and len(np.unique(self.output)) * width != n_outputs:
            raise ValueError("The trees must add to every output of the array baseline.")
        # Numbers that only grow on the way down cannot go round in a circle.
        for name in ("left", "right"):
            links = getattr(self, name)
            if ((links >= 0) & (links <= np.arange(n_splits))).any():
                raise ValueError(f"The array {name} of the trees leads back: no tree has a cycle.")


_PER_SPLIT = ("feature", "threshold", "left", "right", "missing_left")

_LAYOUT: dict[str, tuple[tuple[type, ...], int]] = {
    "feature": ((np.int32,), 1),
    "threshold": ((np.float32, np.float64), 1),
    "left": ((np.int32,), 1),
    "right": ((np.int32,), 1),
    "missing_left": ((np.bool_,), 1),
    "value": ((np.float64,), 2),
    "roots": ((np.int32,), 1),
    "output": ((np.int32,), 1),
    "baseline": ((np.float64,), 1),
}
"""Types and dimensions of the arrays."""


# --- down the trees -------------------------------------------------------------------------------


class _Walk:
    def __init__(self, trees: TreeEnsemble) -> None:
        # NumPy indexes by intp, and would convert anything else at every level.
        self.feature = trees.feature.astype(np.intp)
        self.children = np.stack([trees.left, trees.right], axis=1, dtype=np.intp).ravel()
        self.threshold, self.missing_left = trees.threshold, trees.missing_left
        self.roots = trees.roots.astype(np.intp)

    def leaves(self, X: Array) -> Iterator[Array]:
        """Yield for each tree the row of ``value`` where each row of ``X`` ends."""
        together = max(1, WALKERS // max(1, len(X)))
        starts = np.arange(len(X)) * X.shape[1]
        with_gaps = bool(np.isnan(X).any())
        for first in range(0, len(self.roots), together):
            roots = self.roots[first : first + together]
            ends = self._descend(X.ravel(), np.tile(starts, len(roots)), roots, with_gaps)
            yield from ends.reshape(len(roots), -1)

    def _descend(self, cells: Array, starts: Array, roots: Array, with_gaps: bool) -> Array:
        """Return leaves; ``starts`` says where in ``cells`` the row of each walker begins."""
        nodes = np.repeat(roots, len(starts) // len(roots))
        ends = ~nodes
        going = np.flatnonzero(nodes >= 0)
        nodes, starts = nodes[going], starts[going]
        while len(going):
            x = cells[starts + self.feature[nodes]]
            goes_right = ~(x <= self.threshold[nodes])
            if with_gaps:
                goes_right &= ~(np.isnan(x) & self.missing_left[nodes])
            nodes = self.children[2 * nodes + goes_right]
            on = nodes >= 0
            if not on.all():
                ends[going] = ~nodes
                going, starts, nodes = going[on], starts[on], nodes[on]
        return ends


# --- from scikit-learn ----------------------------------------------------------------------------


def _numbered(
    *,
    lefts: list[Array],
    rights: list[Array],
    feature: Array,
    threshold: Array,
    missing_left: Array,
    value: Array,
) -> dict[str, Array]:
    """Give splits and leaves of all trees numbers of their own, and keep of each what it uses.

    Children are numbered within their tree, and negative at a leaf; all else is of all nodes.
    """
    sizes = np.array([len(each) for each in lefts])
    roots = np.cumsum(sizes) - sizes
    left, right = (np.concatenate(sides).astype(np.int64) for sides in (lefts, rights))
    split, shift = left >= 0, np.repeat(roots, sizes)
    distinct, leaf = np.unique(value[~split], axis=0, return_inverse=True)
    names = np.empty(len(split), dtype=np.int32)
    names[split] = np.arange(split.sum(), dtype=np.int32)
    names[~split] = ~leaf.reshape(-1).astype(np.int32)
    return {
        "feature": feature[split].astype(np.int32),
        "threshold": threshold[split],
        "left": names[(left + shift)[split]],
        "right": names[(right + shift)[split]],
        "missing_left": missing_left[split].astype(np.bool_),
        "value": np.ascontiguousarray(distinct, dtype=np.float64),
        "roots": names[roots],
    }


def _bounded(threshold: Array) -> Array:
    """Replace infinity, which splits missing values from all others, by the largest number."""
    limit = np.finfo(threshold.dtype).max
    return np.clip(threshold, -limit, limit)


def _round_down(threshold: Array) -> Array:
    """Return the largest float32 that is not larger: no float32 lies between, so none changes side.

    Forests compare samples of float32 with thresholds of float64.
    """
    with np.errstate(over="ignore"):
        nearest = threshold.astype(np.float32)
    lower = np.nextafter(nearest, np.float32(-np.inf))
    return _bounded(np.where(nearest > threshold, lower, nearest))


# --- estimators -----------------------------------------------------------------------------------


@declared
class _TreeModel(Declared, BaseEstimator):
    """What all share: they check samples, and remember trees.

    Attributes
    ----------
    trees_ : TreeEnsemble
        The trees: of what they add, a forest predicts the mean, and boosting the sum.
    """

    random_state: Any = 0

    _kind: ClassVar[type]  # grows the trees
    _passed: ClassVar[tuple[str, ...]]  # parameters that it takes under the same name
    _copied: ClassVar[Any]  # copies what it grew
    _samples: ClassVar[dict[str, Any]]  # how samples are read

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Grow the trees on classes, or numbers.

        In ``X`` NaN is missing; forests take sparse matrices too. Samples may have weights.
        """
        self._grow(*self._check_training(X, y), sample_weight)
        return self

    def _options(self, n_rows: int) -> dict[str, Any]:
        """Return what grows the trees is told beside the parameters of the same name."""
        raise NotImplementedError

    def _grow(self, X: Any, labels: Array, weight: Any, **given: Any) -> Any:
        """Grow scikit-learn's trees, copy them, and return what grew them."""
        passed = {name: getattr(self, name) for name in (*self._passed, "random_state")}
        grown: Any = self._kind(**self._options(X.shape[0]), **passed, **given)
        # On a busy machine, threads of OpenMP spend their time waiting for each other.
        with warnings.catch_warnings(), one_thread("openmp"):
            warnings.filterwarnings("ignore", "Some inputs do not have OOB scores")
            grown.fit(X, labels, weight)
        self.trees_ = type(self)._copied(grown)
        return grown

    def _total(self, X: Any) -> Array:
        check_is_fitted(self)
        if not isinstance(self.trees_, TreeEnsemble):
            raise ValueError(f"trees_ of {type(self).__name__} must be a TreeEnsemble.")
        return self.trees_.predict(self._check_samples(X, reset=False))

    def _check_samples(self, X: Any, *, reset: bool) -> Any:
        finite = True if sparse.issparse(X) else "allow-nan"
        return validate_data(self, X, reset=reset, ensure_all_finite=finite, **self._samples)

    def _check_training(self, X: Any, y: Any) -> tuple[Any, Array]:
        self.check_parameters()
        X = self._check_samples(X, reset=True)
        return X, self._check_labels(check_labels(self, y, X.shape[0]))

    def _check_labels(self, labels: Array) -> Array:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = "accept_sparse" in self._samples
        return tags


@declared
class _Forest(_TreeModel):
    """A forest: of any kind of label.

    Parameters
    ----------
    n_trees : int
        Trees.
    max_rows : int or None
        Rows that a tree is grown on at most, drawn with replacement; None draws as many as there
        are. With many rows it bounds time and size.
    min_samples_leaf : int
        Rows of a leaf at least. Where classes are weighed, leaves of one row know nothing of it.
    random_state : int, RandomState instance or None
        Draws rows and columns.
    """

    _copied = TreeEnsemble.from_forest
    _samples: ClassVar[dict[str, Any]] = {"accept_sparse": "csr", "dtype": np.float32}

    n_trees: int = parameter(COUNT, default=150, kw_only=False)
    max_rows: int | None = parameter(optional(COUNT), default=None)
    min_samples_leaf: int = parameter(COUNT, default=1)

    def fit_with_oob(self, X: Any, y: Any, sample_weight: Any = None) -> Array:
        """Grow the forest, and predict each row by the trees that have not seen it.

        Takes what :meth:`fit` takes, and returns numbers, or probabilities of shape (n_samples,
        n_classes). A row that all trees have seen gets the class frequencies.
        """
        X, labels = self._check_training(X, y)
        return self._out_of_bag(self._grow(X, labels, sample_weight, oob_score=True), labels)

    def _out_of_bag(self, forest: Any, labels: Array) -> Array:
        return np.asarray(forest.oob_prediction_, dtype=np.float64)

    def _options(self, n_rows: int) -> dict[str, Any]:
        return {
            "n_estimators": int(self.n_trees),
            "max_samples": None if self.max_rows is None else min(n_rows, int(self.max_rows)),
            "n_jobs": allowed_threads(),  # they change no result
        }

    def _total(self, X: Any) -> Array:
        return super()._total(X) / max(1, self.trees_.n_trees)


@declared
class _Boosting(_TreeModel):
    """Boosting: of any kind of label.

    Parameters
    ----------
    n_rounds : int
        Rounds; each grows one tree, or one for each class where there are more than two.
    max_leaf_nodes : int or None
        Leaves of a tree at most.
    random_state : int, RandomState instance or None
        Draws the rows that bins are made from, where there are more than 200,000.
    """

    _copied = TreeEnsemble.from_boosting
    _samples: ClassVar[dict[str, Any]] = {"dtype": np.float64}

    n_rounds: int = parameter(COUNT, default=100, kw_only=False)
    max_leaf_nodes: int | None = 15

    def _options(self, n_rows: int) -> dict[str, Any]:
        return {
            "max_iter": int(self.n_rounds),
            "categorical_features": None,
            "early_stopping": False,
        }


class _Classifies(ClassifierMixin, _TreeModel):
    """Trees that tell classes apart.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    """

    def predict(self, X: Any) -> Array:
        """Return the most probable class of each row."""
        likeliest = np.argmax(self.predict_proba(X), axis=1)
        return np.asarray(self.classes_[likeliest])

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class in the order of ``classes_``."""
        found = self._probabilities(self._total(X))
        if found.shape[1] != len(self.classes_):
            raise ValueError(f"The trees predict {found.shape[1]} classes, not those of classes_.")
        return found

    def _probabilities(self, total: Array) -> Array:
        return total

    def _grow(self, X: Any, labels: Array, weight: Any, **given: Any) -> Any:
        grown = super()._grow(X, labels, weight, **given)
        self.classes_ = grown.classes_
        return grown

    def _check_labels(self, labels: Array) -> Array:
        check_classification_targets(labels)
        return labels


class _Regresses(RegressorMixin, _TreeModel):
    def predict(self, X: Any) -> Array:
        """Return the number to expect of each row."""
        total = self._total(X)
        if total.shape[1] != 1:
            raise ValueError(f"The trees predict {total.shape[1]} numbers, and one is asked for.")
        return total[:, 0]

    def _check_labels(self, labels: Array) -> Array:
        return np.asarray(check_array(labels, ensure_2d=False, dtype=np.float64, input_name="y"))


@declared
class ForestClassifier(_Classifies, _Forest):
    """A random forest that can be saved.

    The trees are those of scikit-learn's :class:`~sklearn.ensemble.RandomForestClassifier`, and so
    are the predictions.

    Parameters
    ----------
    class_weight : dict, "balanced", "balanced_subsample" or None
        As in scikit-learn.

    Examples
    --------
    >>> from skatter.trees import ForestClassifier
    >>> X, y = [[0.0], [1.0], [4.0], [5.0]], ["low", "low", "high", "high"]
    >>> ForestClassifier(20).fit(X, y).predict([[0.5], [6.0]])
    array(['low', 'high'], dtype='<U4')
    """

    _kind = RandomForestClassifier
    _passed = ("min_samples_leaf", "class_weight")

    class_weight: Any = None

    def _out_of_bag(self, forest: Any, labels: Array) -> Array:
        found = np.asarray(forest.oob_decision_function_, dtype=np.float64)
        # scikit-learn leaves zeros in the rows that no tree has left out.
        unseen = ~(found.sum(axis=1) > 0)
        found[unseen] = np.mean(labels[:, None] == self.classes_, axis=0)
        return found


@declared
class BoostingClassifier(_Classifies, _Boosting):
    """Gradient boosting that can be saved.

    The trees are those of scikit-learn's
    :class:`~sklearn.ensemble.HistGradientBoostingClassifier` without early stopping, and so are the
    predictions.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter.trees import BoostingClassifier
    >>> X = np.arange(100.0)[:, None]
    >>> model = BoostingClassifier(20).fit(X, np.where(X[:, 0] < 50, "low", "high"))
    >>> model.predict([[3.0], [80.0]])
    array(['low', 'high'], dtype='<U4')
    """

    _kind = HistGradientBoostingClassifier
    _passed = ("max_leaf_nodes", "class_weight")

    class_weight: Any = None

    def _check_labels(self, labels: Array) -> Array:
        if len(np.unique(super()._check_labels(labels))) < 2:
            raise ValueError("BoostingClassifier needs two classes at least, and y has one class.")
        return labels

    def _probabilities(self, total: Array) -> Array:
        if total.shape[1] > 1:
            return np.asarray(softmax(total, axis=1))
        second = expit(total[:, 0])
        return np.column_stack([1 - second, second])


@declared
class ForestRegressor(_Regresses, _Forest):
    """A random forest for numbers that can be saved.

    The trees are those of scikit-learn's :class:`~sklearn.ensemble.RandomForestRegressor`, and so
    are the predictions.

    Parameters
    ----------
    max_features : float
        Share of the columns that a split may look at.

    Examples
    --------
    >>> from skatter.trees import ForestRegressor
    >>> X, y = [[0.0], [1.0], [4.0], [5.0]], [1.0, 1.0, 3.0, 3.0]
    >>> ForestRegressor(50).fit(X, y).predict([[0.5], [6.0]]).round()
    array([1., 3.])
    """

    _kind = RandomForestRegressor
    _passed = ("min_samples_leaf", "max_features")

    n_trees: int = parameter(COUNT, default=100, kw_only=False)
    max_features: float = 1.0


@declared
class BoostingRegressor(_Regresses, _Boosting):
    """Gradient boosting for numbers that can be saved.

    The trees are those of scikit-learn's
    :class:`~sklearn.ensemble.HistGradientBoostingRegressor` without early stopping, and so are the
    predictions.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter.trees import BoostingRegressor
    >>> X = np.arange(100.0)[:, None]
    >>> BoostingRegressor(50).fit(X, X[:, 0] // 50).predict([[3.0], [80.0]]).round()
    array([0., 1.])
    """

    _kind = HistGradientBoostingRegressor
    _passed = ("max_leaf_nodes",)
