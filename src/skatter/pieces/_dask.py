"""Dask: models fitted on blocks, and fitted models applied to blocks when they are asked for.

What comes out of an array is an array with the same blocks of rows; what comes out of a DataFrame
has its index and divisions. The model goes into the graph once, as it is now: learning something
else later does not change a result that has not been computed yet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from skatter._checks import check_length
from skatter._out_of_core import Backend, Place, register_backend
from skatter.pieces import _blocks as blocks
from skatter.pieces._learning import Plan, snapshot
from skatter.pieces._survey import Piece


def fit(
    model: Any, X: Any, y: Any = None, *, sample_domain: Any = None, labelled: Any = None
) -> Any:
    plan = Plan.of(model)
    plan.fit(blocks.read_blocks(X, y=y, sample_domain=sample_domain, labelled=labelled).surveyed())
    return model


def apply(model: Any, method: str, X: Any, *, sample_domain: Any = None) -> Any:
    """Call a method of a fitted model on every block, lazily.

    Other features than the model's are refused at once; what is wrong inside a block names it.
    """
    check_is_fitted(model)
    X, model = blocks.in_rows(X), snapshot(model)
    example = _example(model, method, X)
    if hasattr(example, "columns") and not isinstance(model, Pipeline):
        raise ValueError(
            "set_output asks for frames in memory, and scikit-learn would gather all samples for "
            "one: call set_output(transform='default'). From a Dask DataFrame comes one anyway."
        )
    names = _names(model, method, example)
    example = example if sparse.issparse(example) else np.asarray(example)
    call = MethodCall(model, method, example, names, blocks.places_of(blocks.block_sizes(X)))
    domains = []
    if sample_domain is not None:
        domains.append(blocks.column_like(X, "sample_domain", sample_domain))
    return (_apply_to_frame if blocks.is_frame(X) else _apply_to_array)(call, X, domains)


def total(call: Callable[..., Any], model: Any, X: Any, **columns: Any) -> tuple[float, ...]:
    found = blocks.read_blocks(X, **columns)
    return found.joined(numbers_of_block, add_numbers, call, snapshot(model))


for package in blocks.PACKAGES:
    register_backend(package, Backend(fit, apply, total))


@dataclass(frozen=True, eq=False)
class MethodCall:
    model: Any
    method: str
    example: Any
    names: Any
    places: Sequence[Place]

    def of(self, piece: Piece) -> Any:
        """Return what the method makes of a block; nothing, of the right kind, of no rows."""
        with piece.place.named(piece.X):
            check_columns(piece)
            if not piece.n_rows:
                return self.example[:0]
            out = getattr(self.model, self.method)(piece.samples(), **piece.columns)
            return out if sparse.issparse(out) else np.asarray(out)

    def framed(self, out: Any, index: Any) -> Any:
        import pandas

        if out.ndim == 1:
            return pandas.Series(out, index=index)
        dense = out.toarray() if sparse.issparse(out) else out
        return pandas.DataFrame(dense, columns=self.names, index=index)


def call_on_array(X: Any, *sample_domain: Any, call: MethodCall, block_id: Any = None) -> Any:
    columns = {"sample_domain": sample_domain[0].ravel()} if sample_domain else {}
    out = call.of(Piece(call.places[block_id[0]], X, columns))
    return out if out.ndim == 2 else out[:, None]


def call_on_frame(X: Any, *sample_domain: Any, call: MethodCall, partition_info: Any = None) -> Any:
    place = Place("Block", partition_info["number"], None, None)
    columns = {"sample_domain": sample_domain[0]} if sample_domain else {}
    return call.framed(call.of(Piece(place, X, columns)), X.index)


def numbers_of_block(piece: Piece, call: Callable[..., Any], model: Any) -> tuple[float, ...]:
    check_columns(piece)
    return call(model, piece.samples(), **piece.columns) if piece.n_rows else ()


def add_numbers(parts: list[tuple[float, ...]]) -> tuple[float, ...]:
    return tuple(map(sum, zip(*filter(None, parts), strict=True)))


def check_columns(piece: Piece) -> None:
    for name, values in piece.columns.items():
        check_length(name, len(values), piece.n_rows)


def _apply_to_array(call: MethodCall, X: Any, domains: list[Any]) -> Any:
    arrays = [each.to_dask_array() if blocks.is_frame(each) else each for each in domains]
    example = call.example
    out = X.map_blocks(
        call_on_array,
        *(array[:, None] for array in arrays),
        call=blocks.once(call),
        dtype=example.dtype,
        chunks=(X.chunks[0], example.shape[1:] or (1,)),
        meta=np.empty((0, 0), dtype=example.dtype),
    )
    return out[:, 0] if example.ndim == 1 else out


def _apply_to_frame(call: MethodCall, X: Any, domains: list[Any]) -> Any:
    import pandas

    index = pandas.Index([], dtype=X.index.dtype, name=X.index.name)
    return X.map_partitions(
        call_on_frame,
        *(each if blocks.is_frame(each) else each.to_dask_dataframe() for each in domains),
        call=blocks.once(call),
        meta=call.framed(call.example[:0], index),
        align_dataframes=False,
    )


def _names(model: Any, method: str, example: Any) -> Any:
    """Return the names of the columns that a method makes: of features, of classes, or numbers."""
    if example.ndim == 1:
        return None
    names = getattr(model, "classes_", None)
    if method == "transform":
        names = getattr(example, "columns", None)
        if names is None:
            with suppress(AttributeError):  # a step does not say what its features are called
                names = model.get_feature_names_out()
    width = example.shape[1]
    return names if names is not None and len(names) == width else np.arange(width)


def _example(model: Any, method: str, X: Any) -> Any:
    """Return one row of what a method makes, to tell its type and width without a sample.

    Classes have the type of ``classes_``. Anything else is tried on a row of ones.
    """
    if method == "predict" and hasattr(model, "classes_"):
        return np.empty(1, dtype=model.classes_.dtype)
    try:
        ones = _frame_of_ones(X) if blocks.is_frame(X) else np.ones((1, X.shape[1]), dtype=X.dtype)
        return getattr(model, method)(ones)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"{error} (A row of ones was tried, to tell what {method} returns. Where real samples "
            f"pass and ones do not, call {method} on the blocks yourself, by map_blocks or "
            "map_partitions.)"
        ) from error


def _frame_of_ones(X: Any) -> Any:
    import pandas

    number = pandas.api.types.is_numeric_dtype
    values = {name: [1 if number(dtype) else "1"] for name, dtype in X.dtypes.items()}
    return pandas.DataFrame(values).astype(dict(X.dtypes))
