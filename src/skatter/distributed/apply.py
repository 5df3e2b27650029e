"""A fitted model on blocks: nothing is computed before the result is asked for.

What comes out of an array is an array with the same blocks of rows; what comes out of a DataFrame
has its index and divisions. The model goes into the graph once, as it is now: learning something
else later does not change a result that has not been computed yet.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skatter.checks import n_rows
from skatter.distributed.blocks import (
    Columns,
    Place,
    block_sizes,
    check_length,
    column_like,
    in_rows,
    is_frame,
    once,
    own_copy,
    places_of,
    read_blocks,
    retold,
)


def transform_dask(estimator: Any, X: Any) -> Any:
    """Project the samples of a Dask collection with a fitted estimator of the family, lazily.

    Parameters
    ----------
    estimator : SCA or another preset
        Fitted, on a cluster or not.
    X : dask.array.Array or dask.dataframe.DataFrame
        Samples in rows.

    Returns
    -------
    dask.array.Array or dask.dataframe.DataFrame
        Projections, of the kind of ``X``.
    """
    check_is_fitted(estimator)
    if hasattr(_example(estimator, "transform", in_rows(X)), "columns"):
        raise ValueError(
            "set_output asks for frames in memory, and scikit-learn would gather all samples for "
            "one: call set_output(transform='default'). From a Dask DataFrame comes one anyway."
        )
    return apply_blocks(estimator, "transform", X)


def apply_blocks(model: Any, method: str, X: Any, *, sample_domain: Any = None) -> Any:
    """Call a method of a fitted model on every block, lazily.

    Parameters
    ----------
    model : estimator
        Fitted.
    method : str
        ``"transform"``, ``"predict"``, ``"predict_proba"`` ...
    X : dask.array.Array or dask.dataframe.DataFrame
        Samples in rows.
    sample_domain : Dask array or Series, array-like or None
        Domain of each sample, for a model that asks for it.

    Returns
    -------
    dask.array.Array, dask.dataframe.DataFrame or dask.dataframe.Series
        Of the kind of ``X``; from a DataFrame comes a Series where there is one value per sample.

    Raises
    ------
    ValueError, TypeError
        At once where the samples have other features than the model; what is wrong inside a block
        names the block when that is computed.
    """
    X, model = in_rows(X), snapshot(model)
    example = _example(model, method, X)
    names = _names(model, method, example)
    example = example if sparse.issparse(example) else np.asarray(example)
    if is_frame(X):
        return _apply_to_frame(model, method, X, sample_domain, example, names)
    return _apply_to_array(model, method, X, sample_domain, example)


def sum_blocks(model: Any, method: str, X: Any, **columns: Any) -> Any:
    """Compute the sum over blocks of what a method of a model says of each, in a tuple of numbers.

    Takes ``X`` and columns of :func:`~skatter.distributed.blocks.read_blocks`; the method takes
    the same of one block.
    """
    blocks = read_blocks(X, **columns)
    return blocks.joined(numbers_of_block, add_numbers, snapshot(model), method)


def snapshot(model: Any) -> Any:
    """Return a copy of a fitted model that later fits do not touch, without what it needs no more.

    Components that follow from moments are solved for here, once, and not on every worker.
    """
    for part in _parts(model):
        if "moments_" in vars(part):
            check_is_fitted(part, "components_")
    taken = copy.deepcopy(model)
    for part in _parts(taken):
        vars(part).pop("moments_", None)
    return taken


def _parts(model: Any) -> list[Any]:
    """Return a model and the estimators inside it."""
    inside = model.get_params(deep=True).values()
    return [model, *(part for part in inside if isinstance(part, BaseEstimator))]


# --- on the workers -------------------------------------------------------------------------------


def call_on_block(
    place: Place, X: Any, columns: Columns, model: Any, method: str, example: Any
) -> Any:
    """Return what a method of a model makes of a block; nothing, of the right kind, of no rows."""
    with place.named():
        check_columns(X, columns)
        if not n_rows(X):
            return example[:0]
        out = getattr(model, method)(own_copy(X), **columns)
        return out if sparse.issparse(out) else np.asarray(out)


def call_on_array(
    X: Any,
    *sample_domain: Any,
    model: Any,
    method: str,
    example: Any,
    places: Sequence[Place],
    block_id: Any = None,
) -> Any:
    """Return what a method makes of a block of an array, in columns."""
    columns = {"sample_domain": sample_domain[0].ravel()} if sample_domain else {}
    out = call_on_block(places[block_id[0]], X, columns, model, method, example)
    return out if out.ndim == 2 else out[:, None]


def call_on_frame(
    X: Any,
    *sample_domain: Any,
    model: Any,
    method: str,
    example: Any,
    names: Any,
    partition_info: Any = None,
) -> Any:
    """Return what a method makes of a block of a frame, as a frame."""
    place = Place(partition_info["number"], None, None)
    columns = {"sample_domain": sample_domain[0]} if sample_domain else {}
    return _framed(call_on_block(place, X, columns, model, method, example), names, X.index)


def numbers_of_block(
    place: Place, X: Any, columns: Columns, before: Any, model: Any, method: str
) -> tuple[float, ...]:
    """Return the numbers that a method says of a block; none of no rows."""
    with place.named():
        check_columns(X, columns)
        return getattr(model, method)(own_copy(X), **columns) if n_rows(X) else ()


def add_numbers(parts: list[tuple[float, ...]]) -> tuple[float, ...]:
    """Add tuples, number by number."""
    return tuple(map(sum, zip(*filter(None, parts), strict=True)))


def check_columns(X: Any, columns: Columns) -> None:
    """Raise where a block has more or fewer values than rows."""
    for name, values in columns.items():
        check_length(name, len(values), n_rows(X))


# --- arrays and frames ----------------------------------------------------------------------------


def _apply_to_array(model: Any, method: str, X: Any, sample_domain: Any, example: Any) -> Any:
    domains = []
    if sample_domain is not None:
        column = column_like(X, "sample_domain", sample_domain)
        domains = [(column.to_dask_array() if is_frame(column) else column)[:, None]]
    width = 1 if example.ndim == 1 else example.shape[1]
    out = X.map_blocks(
        call_on_array,
        *domains,
        model=once(model),
        method=method,
        example=once(example),
        places=once(places_of(block_sizes(X))),
        dtype=example.dtype,
        chunks=(X.chunks[0], (width,)),
        meta=np.empty((0, 0), dtype=example.dtype),
    )
    return out[:, 0] if example.ndim == 1 else out


def _apply_to_frame(
    model: Any, method: str, X: Any, sample_domain: Any, example: Any, names: Any
) -> Any:
    import pandas

    domains = []
    if sample_domain is not None:
        column = column_like(X, "sample_domain", sample_domain)
        domains = [column if is_frame(column) else column.to_dask_dataframe()]
    index = pandas.Index([], dtype=X.index.dtype, name=X.index.name)
    return X.map_partitions(
        call_on_frame,
        *domains,
        model=once(model),
        method=method,
        example=once(example),
        names=once(names),
        meta=_framed(example[:0], names, index),
        align_dataframes=False,
    )


def _framed(out: Any, names: Any, index: Any) -> Any:
    import pandas

    if out.ndim == 1:
        return pandas.Series(out, index=index)
    dense = out.toarray() if sparse.issparse(out) else out
    return pandas.DataFrame(dense, columns=names, index=index)


def _names(model: Any, method: str, example: Any) -> Any:
    """Return the names of the columns that a method makes: of features, of classes, or numbers."""
    if example.ndim == 1:
        return None
    width = example.shape[1]
    if method == "transform":
        names = _feature_names(model, example)
    else:
        names = getattr(model, "classes_", None)
    return names if names is not None and len(names) == width else np.arange(width)


def _feature_names(model: Any, example: Any) -> Any:
    if hasattr(example, "columns"):
        return example.columns
    try:
        return model.get_feature_names_out()
    except AttributeError:
        # A step does not say what its features are called.
        return None


def _example(model: Any, method: str, X: Any) -> Any:
    """Return one row of what a method makes, to tell its type and width without a sample.

    Classes have the type of ``classes_``. Anything else is tried on a row of ones.
    """
    if method == "predict" and hasattr(model, "classes_"):
        return np.empty(1, dtype=model.classes_.dtype)
    try:
        ones = _frame_of_ones(X) if is_frame(X) else np.ones((1, X.shape[1]), dtype=X.dtype)
        return getattr(model, method)(ones)
    except (TypeError, ValueError) as error:
        raise retold(
            error,
            f"{error} (A row of ones was tried, to tell what {method} returns. Where real samples "
            f"pass and ones do not, call {method} on the blocks yourself, by map_blocks or "
            "map_partitions.)",
        ) from error


def _frame_of_ones(X: Any) -> Any:
    import pandas

    number = pandas.api.types.is_numeric_dtype
    return pandas.DataFrame(
        {
            name: pandas.Series([1 if number(dtype) else "1"]).astype(dtype)
            for name, dtype in X.dtypes.items()
        }
    )
