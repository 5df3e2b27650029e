"""Checks of parameters and samples: every error names its argument and a remedy."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from skatter.tensors import check_tensor, is_tensor

FLOATS = (np.float64, np.float32)


def check_integer(name: str, value: Any, *, low: int) -> int:
    """Return ``value`` as an int, or say why it is not an integer of at least ``low``."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer, got {value!r}.")
    if int(value) < low:
        raise ValueError(f"{name} must be at least {low}, got {value!r}.")
    return int(value)


def check_real(
    name: str,
    value: Any,
    *,
    low: float = -np.inf,
    high: float = np.inf,
    open_low: bool = False,
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


def n_rows(X: Any) -> int:
    """Count the samples in an array, sparse matrix, tensor, data frame or list.

    Examples
    --------
    >>> n_rows([[0.0], [1.0]])
    2
    """
    return int(X.shape[0] if hasattr(X, "shape") else np.asarray(X).shape[0])


def take_rows(X: Any, rows: Any) -> Any:
    """Return rows of an array, sparse matrix, data frame or list.

    Examples
    --------
    >>> take_rows([[0.0], [1.0], [2.0]], [2, 0])
    array([[2.],
           [0.]])
    """
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

    Parameters
    ----------
    estimator : estimator
        Remembers the number and names of the features when ``reset``.
    X : array-like or sparse matrix
        Samples in rows, or a Gram matrix when ``precomputed``.
    reset : bool
        True in ``fit``; False where new samples must match the fitted ones.
    precomputed : bool
        A Gram matrix is used as it is, so it must be dense.
    sparse : bool
        Whether the method can work on sparse samples.
    tensors : bool
        Whether the method can work on torch tensors.
    least : int or None
        Samples at least; None is 2 in ``fit`` and 1 elsewhere.
    """
    least = (2 if reset else 1) if least is None else least
    if is_tensor(X):
        return _check_tensor(estimator, X, reset=reset, tensors=tensors, least=least)
    try:
        return validate_data(
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


def _check_tensor(estimator: Any, X: Any, *, reset: bool, tensors: bool, least: int) -> Any:
    """Do for a tensor what scikit-learn does for an array."""
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
