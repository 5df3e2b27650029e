"""Checks of parameters and samples: every error names its argument and a remedy."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import column_or_1d, validate_data

from skatter._tensors import Array, check_tensor, is_tensor, moments_of_columns

FLOATS = (np.float64, np.float32)
LARGEST = {"float64": 1e100, "float32": 1e17}
"""Size of a number that samples may hold: its square, summed over all, must not overflow."""
MOST_OF_VARIANCE = 0.5  # share of the total variance above which one column decides alone
FEWEST_COLUMNS = 3  # with two columns, one always holds half of the variance or more


def check_integer(name: str, value: Any, *, low: int) -> int:
    """Return ``value`` as an int, or say why it is not an integer of at least ``low``."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer, got {value!r}.")
    if int(value) < low:
        raise ValueError(f"{name} must be at least {low}, got {value!r}.")
    return int(value)


def check_real(
    name: str, value: Any, *, low: float = -np.inf, high: float = np.inf, open_low: bool = False
) -> float:
    """Return ``value`` as a float, or say why it is no finite number in its range."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r}.")
    number = float(value)
    inside = (low < number if open_low else low <= number) and number <= high
    if not (inside and np.isfinite(number)):
        left, right = "(" if open_low else "[", "]" if np.isfinite(high) else ")"
        raise ValueError(f"{name} must lie in {left}{low:g}, {high:g}{right}, got {value!r}.")
    return number


def check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> Any:
    """Return ``value`` if it is one of ``choices``, or list them."""
    if not any(value is c or (type(value) is type(c) and value == c) for c in choices):
        listed = ", ".join(repr(c) for c in choices)
        raise ValueError(f"{name} must be one of {listed}, got {value!r}.")
    return value


def seeded(random_state: Any) -> np.random.RandomState:
    """Return a generator of random numbers; None is a fixed seed, so that answers come again."""
    return check_random_state(0 if random_state is None else random_state)


def check_length(name: str, length: int, expected: int) -> None:
    if length != expected:
        raise ValueError(
            f"Lengths differ: X has {expected}, {name} has {length}. Give one value per row of X."
        )


def check_labels(estimator: Any, y: Any, n_samples: int) -> Array:
    """Return labels as an array, one for each sample, or say that there are none."""
    if y is None:
        name = type(estimator).__name__
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")
    labels = np.asarray(column_or_1d(y, warn=True))
    check_length("y", len(labels), n_samples)
    return labels


class TakesSparse:
    """Mixin of estimators that say of themselves that they take sparse samples."""

    def __sklearn_tags__(self) -> Any:
        """Return the tags of the estimator."""
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        return tags


def n_rows(X: Any) -> int:
    """Count the samples in an array, sparse matrix, tensor, data frame or list."""
    return int(X.shape[0] if hasattr(X, "shape") else np.asarray(X).shape[0])


def take_rows(X: Any, rows: Any) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X[rows] if hasattr(X, "shape") else np.asarray(X)[rows]


def check_samples(
    estimator: Any,
    X: Any,
    *,
    reset: bool,
    precomputed: bool = False,
    sparse: bool = True,
    tensors: bool = False,
    least: int | None = None,
) -> Any:
    """Validate ``X`` through scikit-learn: finite real numbers, dense or CSR, floats kept.

    ``precomputed`` is a Gram matrix, which must be dense; ``least`` samples are 2 in ``fit`` and 1
    elsewhere.
    """
    least = (2 if reset else 1) if least is None else least
    if is_tensor(X):
        return _check_tensor(estimator, X, reset=reset, tensors=tensors, least=least)
    try:
        X = validate_data(
            estimator,
            X,
            reset=reset,
            accept_sparse="csr" if sparse and not precomputed else False,
            dtype=list(FLOATS),
            ensure_min_samples=least,
        )
    except (TypeError, ValueError) as error:
        if "could not convert" in str(error) or "argument must be" in str(error):
            raise type(error)(
                f"X holds a value that is not a number ({error}). Encode text and categories "
                "first, e.g. with sklearn.preprocessing.OneHotEncoder."
            ) from error
        raise
    _check_magnitude(X)
    return X


def check_table(X: Any, name: str) -> Any:
    """Check one table of finite numbers, dense or sparse, that is no estimator's ``X``."""
    return check_array(X, accept_sparse="csr", dtype=list(FLOATS), input_name=name)


def check_alike(**tables: Any) -> None:
    """Raise where two tables have not the same number of columns."""
    (name, X), (other, Y) = tables.items()
    if X.shape[1] != Y.shape[1]:
        raise ValueError(
            f"{name} has {X.shape[1]} features and {other} has {Y.shape[1]}; give the same ones."
        )


def _check_magnitude(X: Any) -> None:
    """Refuse numbers whose squares, added up, are none any more."""
    values = X.data if issparse(X) else X
    largest = max(-values.min(initial=0), values.max(initial=0))
    limit = LARGEST[values.dtype.name]
    if largest > limit:
        raise ValueError(
            f"X holds a number of size {largest:.3g}; distances overflow above {limit:g} in "
            f"{values.dtype}. Divide the column by a power of ten, or look for a wrong value."
        )


class DominantColumn(NamedTuple):
    """A column, counted from 0, that holds most of the variance, and its share of it."""

    position: int
    share: float


def dominant_column(X: Any) -> DominantColumn | None:
    """Return the column whose share of the total variance, s_j²/Σ s_i², is above one half.

    None where there is none, with fewer than three columns, and for sparse samples, which are
    counts or indicators more often than measurements in units of their own.
    """
    if issparse(X) or X.shape[1] < FEWEST_COLUMNS:
        return None
    _, variance = moments_of_columns(X)
    total, position = float(variance.sum()), int(variance.argmax())
    if not total > 0 or variance[position] <= MOST_OF_VARIANCE * total:
        return None
    return DominantColumn(position, float(variance[position]) / total)


def warn_of_units(X: Any, names: Any, remedy: str, *, stacklevel: int = 3) -> None:
    """Warn where one column of the samples holds most of their variance."""
    found = dominant_column(X)
    if found is None:
        return
    column = f"{found.position} (counted from 0)" if names is None else repr(names[found.position])
    warnings.warn(
        f"Column {column} holds {found.share:.0%} of the variance of X and all but decides alone "
        f"which samples are alike. {remedy}",
        UserWarning,
        stacklevel=stacklevel,
    )


def _check_tensor(estimator: Any, X: Any, *, reset: bool, tensors: bool, least: int) -> Any:
    name = type(estimator).__name__
    if not tensors:
        raise TypeError(f"{name} works on NumPy arrays: pass X.numpy(force=True).")
    X = check_tensor(X, "X")
    if X.shape[0] < least:
        raise ValueError(f"X has {X.shape[0]} sample(s), and {name} needs {least} at least.")
    if reset:
        estimator.n_features_in_ = X.shape[1]
        estimator.__dict__.pop("feature_names_in_", None)
    elif X.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but {name} is expecting {estimator.n_features_in_} "
            "features as input."
        )
    return X
