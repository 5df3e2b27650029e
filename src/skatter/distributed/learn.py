"""Learning from blocks: the family by moments, steps of a pipeline in turn; all or nothing.

The family (SCA and the presets like it) needs one pass: a worker turns a block of n_b rows into
moments, D × D whatever n_b is, and a tree of tasks adds them up. With w workers, n rows and D
features that costs n D² / w operations and D² numbers for each join; the client solves the D × D
problem once.

Another step of a pipeline learns by its ``partial_fit``, block after block in their order: the
model travels from worker to worker, the samples stay. The result is that of a loop over the blocks
on one machine.

Learning happens on a clone. The estimator that was given takes over its state at the very end, so
that an error anywhere leaves it as it was.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import partial
from inspect import signature
from itertools import accumulate, pairwise
from typing import Any, Protocol

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import has_fit_parameter

from skatter.checks import check_samples, n_rows, take_rows
from skatter.distributed.blocks import Blocks, Columns, Place, forward, read_blocks
from skatter.distributed.labels import Labels, survey
from skatter.domains import Domains
from skatter.moments import Moments, merge_moments

SAMPLE_ROWS = 20_000
"""Rows, at most, that a feature map is fitted on; they are gathered on the client."""


class Learner(Protocol):
    """Learns from blocks."""

    def __call__(self, step: Any, blocks: Blocks, labels: Labels) -> Any:
        """Return a fitted clone of a step."""


def fit_dask(
    estimator: Any, X: Any, y: Any = None, *, sample_domain: Any = None, labelled: Any = None
) -> Any:
    """Fit an estimator of the family on a Dask collection.

    Parameters
    ----------
    estimator : SCA or another preset
        With explicit features: ``kernel="linear"`` or a ``feature_map``. A map that is not frozen
        is fitted on at most ``SAMPLE_ROWS`` rows, drawn from all blocks.
    X : dask.array.Array or dask.dataframe.DataFrame
        Samples in rows.
    y, sample_domain, labelled : Dask array or Series, array-like or None
        As in ``fit`` of the estimator, one value per row of ``X``.

    Returns
    -------
    estimator
        Fitted, with ``moments_``; as it was where an error is raised.

    Raises
    ------
    ValueError, TypeError
        What is wrong inside a block names the block and its rows.
    """
    reason = estimator.why_not_moments()
    if reason:
        raise ValueError(reason)
    estimator.check_parameters()
    blocks, labels = survey(read_blocks(X, y=y, sample_domain=sample_domain, labelled=labelled))
    adopt(estimator, fit_by_moments(estimator, blocks, labels))
    return estimator


def adopt(estimator: Any, fitted: Any) -> None:
    """Give an estimator what its fitted clone has learnt; its parameters stay the same objects."""
    if fitted is estimator:
        return
    parameters = estimator.get_params(deep=False)
    for name in set(vars(estimator)) - set(parameters):
        delattr(estimator, name)
    learnt = {name: value for name, value in vars(fitted).items() if name not in parameters}
    vars(estimator).update(learnt)


# --- the family -----------------------------------------------------------------------------------


def fit_by_moments(step: Any, blocks: Blocks, labels: Labels) -> Any:
    """Return a fitted clone of an estimator of the family."""
    fitted = clone(step)
    fitted.check_domains(labels.view)
    if blocks.n_rows < 2:
        raise ValueError("Found 1 sample in X, while a minimum of 2 is required.")
    ready = step.feature_map is None or isinstance(step.feature_map, FrozenEstimator)
    n_wanted = 1 if ready else SAMPLE_ROWS
    fitted.begin_stream(draw_sample(blocks, n_wanted, step.random_state, clone(step)))
    moments = blocks.joined(moments_of_block, join_moments, fitted, labels)
    return fitted.learn_moments(moments, sum(bool(place.size) for place in blocks.places))


def moments_of_block(
    place: Place, X: Any, columns: Columns, before: Any, estimator: Any, labels: Labels
) -> Moments | None:
    """Return the moments of one block; None where it is empty."""
    with place.named():
        domains = _read_block(place, X, columns, labels)
        if not domains.n_samples:
            return None
        return estimator.moments_of(forward(before, X, columns), domains)


def join_moments(parts: list[Moments | None]) -> Moments | None:
    """Return the moments of several blocks together."""
    found = [part for part in parts if part is not None]
    return merge_moments(found) if found else None


# --- a sample -------------------------------------------------------------------------------------


def draw_sample(blocks: Blocks, n_wanted: int, random_state: Any = None, model: Any = None) -> Any:
    """Gather rows from all blocks, from each in proportion to its size, in the order of the rows.

    Parameters
    ----------
    blocks : Blocks
        With known sizes.
    n_wanted : int
        Rows, at most; all rows where there are no more.
    random_state : int, RandomState instance or None
        None is a fixed seed.
    model : estimator or None
        Of the family, not fitted: rows that it would refuse are refused on the worker, where the
        block has a name.

    Returns
    -------
    ndarray, sparse matrix or DataFrame
        On the client.
    """
    quotas = shares([place.size or 0 for place in blocks.places], n_wanted)
    seed = int(check_random_state(0 if random_state is None else random_state).randint(2**31 - 1))
    chosen = blocks.take([number for number, quota in enumerate(quotas) if quota])
    drawn = chosen.gathered(rows_of_block, quotas, seed, model)
    if hasattr(drawn[0], "iloc"):
        import pandas

        return pandas.concat(drawn)
    return (
        sparse.vstack(drawn, format="csr") if sparse.issparse(drawn[0]) else np.concatenate(drawn)
    )


def shares(sizes: Sequence[int], n_wanted: int) -> list[int]:
    """Return how many rows to take from blocks of some sizes, in proportion to these.

    Examples
    --------
    >>> shares([10, 0, 30, 20], 6)
    [1, 0, 3, 2]
    >>> shares([1, 2], 6)
    [1, 2]
    """
    total = sum(sizes)
    wanted = min(n_wanted, total)
    reached = [wanted * end // total for end in accumulate(sizes, initial=0)]
    return [after - before for before, after in pairwise(reached)]


def rows_of_block(
    place: Place,
    X: Any,
    columns: Columns,
    before: Any,
    quotas: Sequence[int],
    seed: int,
    model: Any,
) -> Any:
    """Return some rows of one block, always the same for a seed."""
    with place.named():
        _check_size(place, X)
        rng = np.random.default_rng([seed, place.number])
        rows = np.sort(rng.choice(n_rows(X), quotas[place.number], replace=False))
        own = {name: take_rows(values, rows) for name, values in columns.items()}
        drawn = forward(before, take_rows(X, rows), own)
        if model is not None:
            check_samples(copy.copy(model), drawn, reset=True, least=1)
        return drawn


# --- steps of a pipeline --------------------------------------------------------------------------


def learner_of(name: str, step: Any, *, from_labels: bool) -> Learner:
    """Return how a step of a pipeline learns from blocks.

    Parameters
    ----------
    name : str
        What the pipeline calls it.
    step : estimator
        Not fitted yet, or frozen.
    from_labels : bool
        Whether it learns from labelled samples alone, and their labels.

    Raises
    ------
    TypeError
        Where it can learn only from all samples at once.
    """
    if isinstance(step, FrozenEstimator):
        return _as_it_is
    if hasattr(type(step), "fit_moments"):
        reason = step.why_not_moments()
        if reason:
            raise TypeError(f"Step {name!r}: {reason}")
        step.check_parameters()
        return fit_by_moments
    if not get_tags(step).requires_fit:
        return fit_on_one_row
    if hasattr(step, "partial_fit") and not has_fit_parameter(step, "sample_domain"):
        return partial(fit_in_turn, from_labels=from_labels)
    instead = "SGDClassifier or GaussianNB" if from_labels else "StandardScaler or IncrementalPCA"
    raise TypeError(
        f"Step {name!r}: {type(step).__name__} learns from all samples at once, and a Dask "
        f"collection comes in blocks. Take a step with partial_fit, such as {instead}, or fit it "
        "on a part that fits in memory and put it here as sklearn.frozen.FrozenEstimator(...)."
    )


def _as_it_is(step: Any, blocks: Blocks, labels: Labels) -> Any:
    """Return a frozen step."""
    return step


def fit_on_one_row(step: Any, blocks: Blocks, labels: Labels) -> Any:
    """Return a fitted clone of a step that learns nothing but the names of the features."""
    return clone(step).fit(draw_sample(blocks, 1))


def fit_in_turn(step: Any, blocks: Blocks, labels: Labels, *, from_labels: bool) -> Any:
    """Return a clone of a step after ``partial_fit`` on one block after the other."""
    return blocks.in_turn(learn_block, clone(step), labels, from_labels)


def learn_block(
    place: Place,
    X: Any,
    columns: Columns,
    before: Any,
    state: Any,
    labels: Labels,
    from_labels: bool,
) -> Any:
    """Return what a step is after one more block."""
    with place.named():
        domains = _read_block(place, X, columns, labels)
        if not (domains.n_labelled if from_labels else domains.n_samples):
            return state
        Xt = forward(before, X, columns)
        # The state before belongs to the task that made it, which may be asked for it again.
        state = copy.deepcopy(state)
        if not from_labels:
            return state.partial_fit(Xt)
        takes = "classes" in signature(state.partial_fit).parameters
        classes = {"classes": labels.view.classes} if takes else {}
        rows = np.flatnonzero(domains.labelled)
        return state.partial_fit(take_rows(Xt, rows), domains.names(), **classes)


def _read_block(place: Place, X: Any, columns: Columns, labels: Labels) -> Domains:
    _check_size(place, X)
    return labels.read(columns, n_rows(X))


def _check_size(place: Place, X: Any) -> None:
    if n_rows(X) != place.size:
        raise ValueError(
            f"Lengths differ: X has {n_rows(X)} rows in this block, where {place.size} were "
            "expected. Give one value of y and sample_domain per row of X, in the same blocks."
        )
