"""Blocks: the samples of a Dask collection, each block with the labels and domains of its rows.

A block is a task that has not run, and nothing here looks at a sample. What is to be known of all
blocks comes from a tree of tasks, each of which joins the results of a few others: the client sees
one small result and no block.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from uuid import uuid4

import numpy as np

FAN_IN = 8
"""Results that one task of a tree joins."""
WINDOW = 32
"""Blocks that wait in the memory of the workers for a model that visits them in turn."""

Columns = Mapping[str, Any]
"""What is known of the rows of a block: those of y, sample_domain ... that were given."""


@dataclass(frozen=True)
class Place:
    """Where a block stands among the rows of a collection, as far as that is known.

    Attributes
    ----------
    number : int
        Blocks before it.
    start, size : int or None
        Rows before it and in it; None where Dask does not know.

    Examples
    --------
    >>> print(Place(2, 200, 100))
    Block 2 (rows 200 to 299, counted from 0)
    >>> print(Place(2, None, None))
    Block 2
    """

    number: int
    start: int | None
    size: int | None

    def __str__(self) -> str:
        if self.start is None or not self.size:
            return f"Block {self.number}"
        last = self.start + self.size - 1
        return f"Block {self.number} (rows {self.start:,} to {last:,}, counted from 0)"

    @contextmanager
    def named(self) -> Iterator[None]:
        """Have every error about values say in which block they are."""
        try:
            yield
        except (TypeError, ValueError) as error:
            raise retold(error, f"{self}: {error}") from error


def retold(error: TypeError | ValueError, text: str) -> TypeError | ValueError:
    """Return an error of the same kind with another text; it can travel between processes."""
    return TypeError(text) if isinstance(error, TypeError) else ValueError(text)


def places_of(sizes: Sequence[int | None]) -> tuple[Place, ...]:
    """Return the places of blocks of some sizes, one after the other.

    Examples
    --------
    >>> [place.start for place in places_of([3, 2, None, 4])]
    [0, 3, 5, None]
    """
    places: list[Place] = []
    start: int | None = 0
    for number, size in enumerate(sizes):
        places.append(Place(number, start, size))
        start = None if start is None or size is None else start + size
    return tuple(places)


# --- collections ----------------------------------------------------------------------------------


def is_dask(X: Any) -> bool:
    """Tell whether ``X`` is a collection of Dask, without importing Dask.

    Examples
    --------
    >>> is_dask([[0.0]])
    False
    """
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


def is_frame(X: Any) -> bool:
    """Tell whether a Dask collection is a DataFrame or a Series."""
    return type(X).__name__ in ("DataFrame", "Series")


def in_rows(X: Any) -> Any:
    """Return a Dask array or DataFrame whose blocks hold whole rows.

    Raises
    ------
    TypeError
        Where ``X`` is another collection.
    ValueError
        Where ``X`` is not a table.
    """
    _check_kind("X", X, "a Dask array or DataFrame")
    if X.ndim != 2:
        raise ValueError(f"X must be two-dimensional, samples in rows; got {X.ndim} dimensions.")
    return X.rechunk({1: -1}) if not is_frame(X) and X.numblocks[1] > 1 else X


def block_sizes(X: Any) -> list[Any]:
    """Return the rows of each block; None where Dask does not know.

    A DataFrame never knows them; an array may have lost them.
    """
    if is_frame(X):
        return [None] * X.npartitions
    return [None if math.isnan(size) else int(size) for size in X.chunks[0]]


def column_like(X: Any, name: str, values: Any) -> Any:
    """Return one value for each row of ``X``, as a Dask array or Series in the blocks of ``X``.

    Parameters
    ----------
    X : dask.array.Array or dask.dataframe.DataFrame
        From :func:`in_rows`.
    name : str
        What errors call the values.
    values : Dask array or Series, or array-like
        What is in memory is cut like ``X``, which must know the sizes of its blocks.

    Raises
    ------
    TypeError, ValueError
        Where the values do not fit.
    """
    sizes = block_sizes(X)
    if is_dask(values):
        _check_kind(name, values, "a Dask array or Series, or in memory")
        _check_one_dimensional(name, values)
        theirs = block_sizes(values)
        if None not in sizes and None not in theirs:
            check_length(name, sum(theirs), sum(sizes))
            return values.rechunk((tuple(sizes),))
        if len(theirs) != len(sizes):
            raise ValueError(
                f"X has {len(sizes)} blocks and {name} has {len(theirs)}, and not all their sizes "
                f"are known; give {name} in the blocks of X, such as a column of the same frame."
            )
        return values
    # A list is read value by value: NumPy alone would turn ["a", nan] into two strings.
    array = np.asarray(values, dtype=None if hasattr(values, "dtype") else object)
    _check_one_dimensional(name, array)
    if None in sizes:
        raise ValueError(
            f"{name} is in memory and cannot be cut like X, whose blocks are of unknown sizes. "
            f"Give {name} as a Dask array or Series in the blocks of X, such as a column of the "
            "same frame; or, where X is an array, call X.compute_chunk_sizes() first."
        )
    check_length(name, len(array), sum(sizes))
    import dask.array

    return dask.array.from_array(array, chunks=(tuple(sizes),))


def check_length(name: str, length: int, expected: int) -> None:
    """Raise where a column has more or fewer values than X has rows."""
    if length != expected:
        raise ValueError(
            f"Lengths differ: X has {expected}, {name} has {length}. Give one value per row of X."
        )


def _check_kind(name: str, values: Any, wanted: str) -> None:
    if not is_frame(values) and type(values).__name__ != "Array":
        raise TypeError(
            f"{name} must be {wanted}; got a Dask {type(values).__name__}. "
            "dask.array.from_delayed and dask.dataframe.from_delayed make one of other pieces."
        )


def _check_one_dimensional(name: str, values: Any) -> None:
    if values.ndim != 1:
        raise ValueError(
            f"{name} must be one-dimensional, one value per sample; got {values.ndim} dimensions. "
            "Take one column of it."
        )


# --- blocks ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Blocks:
    """The blocks of a collection as tasks that have not run.

    Build it with :func:`read_blocks`. A call on a block is ``call(place, samples, columns, before,
    *shared)``; it runs on a worker, and so does what joins the results.

    Attributes
    ----------
    graph : dict
        The tasks that blocks come from, by key.
    samples : tuple of keys
        Rows of ``X``: an array, a sparse matrix or a pandas DataFrame each.
    columns : dict of tuples of keys
        What goes with these rows, by name.
    places : tuple of Place
        Where each block stands.
    before : estimator or None
        A fitted model whose ``transform`` the samples pass first, inside the task that uses them.
    """

    graph: Mapping[Any, Any]
    samples: tuple[Any, ...]
    columns: Mapping[str, tuple[Any, ...]]
    places: tuple[Place, ...]
    before: Any = None

    def __len__(self) -> int:
        return len(self.places)

    @property
    def n_rows(self) -> int:
        """Rows of all blocks, as far as they are known."""
        return sum(place.size or 0 for place in self.places)

    def take(self, numbers: Sequence[int]) -> Blocks:
        """Return some of the blocks, each in the place that it had."""
        return replace(
            self,
            samples=tuple(self.samples[number] for number in numbers),
            columns={
                name: tuple(keys[number] for number in numbers)
                for name, keys in self.columns.items()
            },
            places=tuple(self.places[number] for number in numbers),
        )

    def placed(self, sizes: Sequence[int]) -> Blocks:
        """Return the same blocks, now that their sizes are known."""
        return replace(self, places=places_of(sizes))

    def after(self, model: Any) -> Blocks:
        """Return the same blocks behind a fitted model."""
        return replace(self, before=model)

    def without_samples(self) -> Blocks:
        """Return the same blocks with their columns alone; a call is given None for the rows."""
        return replace(self, samples=(None,) * len(self))

    def gathered(self, call: Callable[..., Any], *shared: Any) -> list[Any]:
        """Compute a call on each block, and return all results."""
        work = _Work(self.graph)
        return work.computed(list, work.on_blocks(self, call, shared))

    def joined(
        self, call: Callable[..., Any], join: Callable[[list[Any]], Any], *shared: Any
    ) -> Any:
        """Compute a call on each block, join results ``FAN_IN`` at a time, and return the last.

        Which results are joined depends on nothing but the number of blocks.
        """
        work = _Work(self.graph)
        keys = work.on_blocks(self, call, shared)
        while len(keys) > FAN_IN:
            starts = range(0, len(keys), FAN_IN)
            keys = [work.add(join, keys[start : start + FAN_IN]) for start in starts]
        return work.computed(join, keys)

    def in_turn(self, call: Callable[..., Any], state: Any, *shared: Any) -> Any:
        """Compute ``call(place, samples, columns, before, state, *shared)`` on block after block.

        Each is given what the one before returned. The state comes to the client after every
        ``WINDOW`` blocks: without that, all of them would wait in memory for their turn.
        """
        for start in range(0, len(self), WINDOW):
            work = _Work(self.graph)
            before, key, *rest = (work.once(value) for value in (self.before, state, *shared))
            for number in range(start, min(start + WINDOW, len(self))):
                key = work.on_block(self, number, call, before, key, *rest)
            state = work.computed(_first, [key])
        return state


def read_blocks(X: Any, **columns: Any) -> Blocks:
    """Cut samples, and what goes with them, into blocks.

    Parameters
    ----------
    X : dask.array.Array or dask.dataframe.DataFrame
        Samples in rows.
    **columns : Dask array or Series, array-like or None
        One value for each row of ``X``; see :func:`column_like`.

    Returns
    -------
    Blocks
        Nothing of it is computed.
    """
    X = in_rows(X)
    graph: dict[Any, Any] = {}
    return Blocks(
        graph,
        _keys(X, graph),
        {
            name: _keys(column_like(X, name, values), graph)
            for name, values in columns.items()
            if values is not None
        },
        places_of(block_sizes(X)),
    )


def _keys(collection: Any, graph: dict[Any, Any]) -> tuple[Any, ...]:
    """Put the tasks of a collection into a graph, and return the keys of its blocks in order."""
    tasks = np.ravel(np.array(collection.to_delayed(), dtype=object))
    if is_frame(collection) and len(tasks) != collection.npartitions:
        # Asked for a few columns, Dask reads several files at once: these are not the blocks of X.
        tasks = np.array(collection.to_delayed(optimize_graph=False), dtype=object)
    # Tasks of one collection share one graph.
    graphs = {id(shared): shared for shared in (task.__dask_graph__() for task in tasks)}
    for shared in graphs.values():
        graph.update(shared)
    return tuple(task.key for task in tasks)


class _Work:
    """A graph of tasks on blocks, grown task by task.

    It is Dask's plain dictionary of keys and tuples. The same by ``dask.delayed`` takes time that
    grows with the square of the number of blocks: minutes for a few thousand.
    """

    def __init__(self, graph: Mapping[Any, Any]) -> None:
        self._graph = dict(graph)

    def once(self, value: Any) -> Any:
        """Put a value into the graph, and return its key."""
        if value is None:
            return None
        task = once(value)
        self._graph.update(task.__dask_graph__())
        return task.key

    def add(self, call: Callable[..., Any], *arguments: Any, name: str | None = None) -> Any:
        """Put a call into the graph, and return its key; keys among the arguments are results."""
        key = f"{name or call.__name__}-{uuid4().hex}"
        self._graph[key] = (call, *arguments)
        return key

    def on_block(self, blocks: Blocks, number: int, call: Callable[..., Any], *keys: Any) -> Any:
        """Put a call on one block into the graph, and return its key."""
        return self.add(
            partial(_call_on_block, call, tuple(blocks.columns)),
            blocks.places[number],
            blocks.samples[number],
            [column[number] for column in blocks.columns.values()],
            *keys,
            name=call.__name__,
        )

    def on_blocks(
        self, blocks: Blocks, call: Callable[..., Any], shared: Sequence[Any]
    ) -> list[Any]:
        """Put a call on every block into the graph, and return their keys."""
        keys = [self.once(value) for value in (blocks.before, *shared)]
        return [self.on_block(blocks, number, call, *keys) for number in range(len(blocks))]

    def computed(self, join: Callable[[list[Any]], Any], keys: list[Any]) -> Any:
        """Compute, by the scheduler that Dask would use, what joins some results."""
        import dask
        from dask.delayed import Delayed

        return dask.compute(Delayed(self.add(join, keys), self._graph))[0]


def _call_on_block(
    call: Callable[..., Any],
    names: tuple[str, ...],
    place: Place,
    X: Any,
    values: list[Any],
    *shared: Any,
) -> Any:
    return call(place, X, dict(zip(names, values, strict=True)), *shared)


def _first(results: list[Any]) -> Any:
    return results[0]


def once(value: Any) -> Any:
    """Return a value as a task, so that a graph holds it once however many tasks need it."""
    import dask

    return dask.delayed(value, pure=False, traverse=False)


# --- inside a block -------------------------------------------------------------------------------


def own_copy(X: Any) -> Any:
    """Return a copy of a block for steps that work in place: other tasks will read the block."""
    return X.copy()


def forward(before: Any, X: Any, columns: Columns) -> Any:
    """Send a block through the steps before, if any."""
    if before is None:
        return X
    return before.transform(own_copy(X), sample_domain=columns.get("sample_domain"))
