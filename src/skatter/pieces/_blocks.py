"""Blocks: the samples of a Dask collection, each block with the labels and domains of its rows.

A block is a task that has not run. What is to be known of all blocks comes from a tree of tasks,
each of which joins the results of a few others: the client sees one small result and no block. With
w workers, n rows and D features, moments cost n D² / w operations and D² numbers for each join.

Dask is imported where it is used and not before: whoever has a Dask collection has Dask.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, pairwise
from typing import Any
from uuid import uuid4

import numpy as np

from skatter._checks import check_length, seeded
from skatter._out_of_core import Place
from skatter.pieces._survey import Call, Labels, Piece, join_surveys, stacked, survey_piece

FAN_IN = 8  # results that one task of a tree joins
WINDOW = 32  # blocks that wait in the memory of the workers for a model that visits them in turn
PACKAGES = ("dask", "dask_expr")  # packages that define collections of Dask
CHANGED = (
    "y or sample_domain is no longer what it was a moment ago; persist() what is random or may "
    "change on disk."
)


def places_of(sizes: Sequence[int | None]) -> tuple[Place, ...]:
    places: list[Place] = []
    start: int | None = 0
    for number, size in enumerate(sizes):
        places.append(Place("Block", number, start, size))
        start = None if start is None or size is None else start + size
    return tuple(places)


def is_dask(X: Any) -> bool:
    """Tell whether ``X`` is a collection of Dask, without importing Dask."""
    return type(X).__module__.partition(".")[0] in PACKAGES


def is_frame(X: Any) -> bool:
    return type(X).__name__ in ("DataFrame", "Series")


def in_rows(X: Any) -> Any:
    _check_kind("X", X, "a Dask array or DataFrame")
    if X.ndim != 2:
        raise ValueError(f"X must be two-dimensional, samples in rows; got {X.ndim} dimensions.")
    return X.rechunk({1: -1}) if not is_frame(X) and X.numblocks[1] > 1 else X


def block_sizes(X: Any) -> list[Any]:
    """Return the rows of each block; None where Dask does not know, as of every DataFrame."""
    if is_frame(X):
        return [None] * X.npartitions
    return [None if math.isnan(size) else int(size) for size in X.chunks[0]]


def column_like(X: Any, name: str, values: Any) -> Any:
    """Return one value for each row of ``X``, as a Dask array or Series in the blocks of ``X``."""
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


@dataclass(frozen=True, eq=False)
class Blocks:
    """The blocks of a collection as tasks that have not run; from :func:`read_blocks`.

    A call on a block is ``call(piece, *shared)``; it runs on a worker, and so does what joins the
    results. ``rows`` and ``columns`` are keys of tasks in ``graph``; rows pass the ``transform`` of
    ``before`` in the task that uses them; ``known`` is what columns mean, after :meth:`surveyed`.
    """

    graph: Mapping[Any, Any]
    rows: tuple[Any, ...]
    columns: Mapping[str, tuple[Any, ...]]
    places: tuple[Place, ...]
    before: Any = None
    known: Labels | None = None

    def __len__(self) -> int:
        return len(self.places)

    @property
    def labels(self) -> Labels:
        assert self.known is not None
        return self.known

    @property
    def n_rows(self) -> int:
        return sum(place.size or 0 for place in self.places)

    @property
    def n_pieces(self) -> int:
        return sum(bool(place.size) for place in self.places)

    def surveyed(self) -> Blocks:
        """Return the same blocks with sizes and labels, for which samples are read at need."""
        told = self.columns or all(place.size is not None for place in self.places)
        asked = replace(self, rows=(None,) * len(self)) if told else self
        survey = asked.joined(survey_piece, join_surveys)
        if not sum(survey.sizes):
            raise ValueError("X holds 0 samples; a minimum of 2 is required.")
        return replace(self, places=places_of(survey.sizes), known=Labels.of(survey, CHANGED))

    def behind(self, model: Any, name: str) -> Blocks:
        return replace(self, before=model)

    def sample(self, n_wanted: int, random_state: Any, accept: Call) -> Any:
        """Gather rows in proportion to the sizes; bad ones are refused by the worker."""
        quotas = shares([place.size or 0 for place in self.places], n_wanted)
        drawn = seeded(random_state)
        seed, work = int(drawn.randint(2**31 - 1)), _Work(self)
        chosen = [number for number, quota in enumerate(quotas) if quota]
        keys = work.on_blocks(chosen, rows_of_block, quotas, seed, accept)
        return stacked(work.computed(list, keys))

    def joined(self, call: Call, join: Call, *shared: Any) -> Any:
        """Join results ``FAN_IN`` at a time; which ones depends on the number of blocks alone."""
        work = _Work(self)
        keys = work.on_blocks(range(len(self)), call, *shared)
        while len(keys) > FAN_IN:
            starts = range(0, len(keys), FAN_IN)
            keys = [work.add(join, keys[start : start + FAN_IN]) for start in starts]
        return work.computed(join, keys)

    def in_turn(self, call: Call, state: Any, *shared: Any) -> Any:
        """Compute ``call(piece, state, *shared)`` on block after block.

        Each is given what the one before returned. The state comes to the client after every
        ``WINDOW`` blocks: without that, all of them would wait in memory for their turn.
        """
        call = partial(_on_a_copy, call)
        for start in range(0, len(self), WINDOW):
            work = _Work(self)
            values = (self.before, self.known, state, *shared)
            before, known, key, *rest = map(work.once, values)
            for number in range(start, min(start + WINDOW, len(self))):
                key = work.on_block(number, call, before, known, key, *rest)
            state = work.computed(list, [key])[0]
        return state


def read_blocks(X: Any, **columns: Any) -> Blocks:
    X = in_rows(X)
    graph: dict[Any, Any] = {}
    rows = _keys(X, graph)
    given = {name: values for name, values in columns.items() if values is not None}
    keys = {name: _keys(column_like(X, name, each), graph) for name, each in given.items()}
    return Blocks(graph, rows, keys, places_of(block_sizes(X)))


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

    def __init__(self, blocks: Blocks) -> None:
        self._blocks, self._graph = blocks, dict(blocks.graph)

    def once(self, value: Any) -> Any:
        if value is None:
            return None
        task = once(value)
        self._graph.update(task.__dask_graph__())
        return task.key

    def add(self, call: Call, *arguments: Any, name: str | None = None) -> Any:
        """Put a call into the graph, and return its key; keys among the arguments are results."""
        key = f"{name or call.__name__}-{uuid4().hex}"
        self._graph[key] = (call, *arguments)
        return key

    def on_block(self, number: int, call: Call, *keys: Any) -> Any:
        blocks = self._blocks
        values = [column[number] for column in blocks.columns.values()]
        own = blocks.places[number], blocks.rows[number], values
        # What the dashboard of Dask calls the task.
        name = (call.args[0] if isinstance(call, partial) else call).__name__
        on_block = partial(_call_on_block, call, tuple(blocks.columns))
        return self.add(on_block, *own, *keys, name=name)

    def on_blocks(self, numbers: Iterable[int], call: Call, *shared: Any) -> list[Any]:
        keys = [self.once(each) for each in (self._blocks.before, self._blocks.known, *shared)]
        return [self.on_block(number, call, *keys) for number in numbers]

    def computed(self, join: Call, keys: list[Any]) -> Any:
        """Compute, by the scheduler that Dask would use, what joins some results."""
        import dask
        from dask.delayed import Delayed

        return dask.compute(Delayed(self.add(join, keys), self._graph))[0]


def _call_on_block(
    call: Call,
    names: tuple[str, ...],
    place: Place,
    X: Any,
    values: list[Any],
    before: Any,
    labels: Labels | None,
    *shared: Any,
) -> Any:
    piece = Piece(place, X, dict(zip(names, values, strict=True)), before)
    with place.named(X):
        return call(piece if labels is None else piece.read(labels), *shared)


def _on_a_copy(call: Call, piece: Piece, state: Any, *shared: Any) -> Any:
    """Leave the state alone: the task that made it may be asked for it again."""
    return call(piece, copy.deepcopy(state), *shared)


def once(value: Any) -> Any:
    """Return a value as a task, so that a graph holds it once however many tasks need it."""
    import dask

    return dask.delayed(value, pure=False, traverse=False)


def shares(sizes: Sequence[int], n_wanted: int) -> list[int]:
    total = sum(sizes)
    wanted = min(n_wanted, total)
    reached = [wanted * end // total for end in accumulate(sizes, initial=0)]
    return [after - before for before, after in pairwise(reached)]


def rows_of_block(piece: Piece, quotas: Sequence[int], seed: int, accept: Call) -> Any:
    number = piece.place.number
    rng = np.random.default_rng([seed, number])
    drawn = piece.samples(np.sort(rng.choice(piece.n_rows, quotas[number], replace=False)))
    accept(drawn)
    return drawn
