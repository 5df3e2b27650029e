"""New rows held against those of the fit: what a model has not seen before, in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from skatter._formatting import count, join, quoted, shorten
from skatter.tables import as_text, columns_by_kind, to_numbers, units_in

if TYPE_CHECKING:
    import pandas as pd

FAR = 2.0  # standard deviations of the fit by which the mean of a column may move without a word
FEWEST = 5  # rows without which a mean says nothing
MAX_ROWS = 20_000  # rows whose units and means are compared; of more, every so many-th


def find_drift(
    frame: pd.DataFrame, prepare: Any, units: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    """Yield what is new; ``units`` holds those of the fit, of the columns that had some."""
    kinds = columns_by_kind(prepare)
    empty = [name for names in kinds.values() for name in names if _is_empty(frame[name])]
    if empty:
        columns = join([quoted(name) for name in empty], 5)
        yield (
            f"Empty in every row, and not in the fit: {columns}. Predictions fill in what was "
            "usual there."
        )
    yield from _new_categories(frame, prepare, kinds.get("categories", []))
    numbers = {name for kind in kinds if kind.startswith("numbers") for name in kinds[kind]}
    rows = frame.iloc[:: max(1, -(-len(frame) // MAX_ROWS))]
    yield from _other_units(rows, prepare, numbers - {*empty}, units)
    yield from _far_away(rows, prepare, numbers - {*empty})


def _is_empty(column: pd.Series) -> bool:
    return bool((as_text(column) if column.dtype == object else column).isna().all())


def _new_categories(frame: pd.DataFrame, prepare: Any, names: list[str]) -> Iterator[str]:
    known = prepare.named_transformers_["categories"][-1].categories_ if names else []
    for name, seen in zip(names, known, strict=True):
        text = as_text(frame[name])
        new = text[text.notna() & ~text.isin(seen.tolist())]
        if len(new):
            values = new.unique()
            yield (
                f"Column {quoted(name)} holds {count(len(values), 'value')} that the fit has not "
                f"seen, {_examples(values, 4)}, in {count(len(new), 'row')}: such cells tell the "
                "model nothing."
            )


def _other_units(
    frame: pd.DataFrame, prepare: Any, names: set[str], known: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    for name, found in units_in(frame, prepare).items():
        before = set(known.get(name, [""]))
        if name in names and found - before:
            now, then = _with_unit(max(found - before)), _with_unit(max(before))
            yield (
                f"Column {quoted(name)} is written {now}, and {then} in the fit: numbers are taken "
                "as they are."
            )


def _with_unit(unit: str) -> str:
    return f"with {shorten(unit)}" if unit else "without a unit"


def _far_away(frame: pd.DataFrame, prepare: Any, names: set[str]) -> Iterator[str]:
    if len(frame) < FEWEST:
        return
    numbers, behind = to_numbers(frame, prepare)
    means = {
        name: float(np.nanmean(column))
        for name, column in zip(behind, numbers.T, strict=True)
        if name in names and not np.isnan(column).all()
    }
    far = sorted((name for name in means if abs(means[name]) > FAR), key=lambda n: -abs(means[n]))
    if far:
        moved = [f"{quoted(name)} ({means[name]:+.1f})" for name in far]
        yield (
            f"Far from the fit, by their mean in standard deviations: {join(moved, 5)}. If new "
            "rows stay like this, adapt again with them."
        )


def find_new_domains(frame: pd.DataFrame, domain: str | None, known: set[str]) -> Iterator[str]:
    if domain is None:
        return
    if domain not in frame.columns:
        yield f"There is no column {domain}: all rows are taken for rows of the target."
        return
    new = sorted(set(frame[domain].astype(str)) - known)
    if new:
        yield (
            f"{domain} holds {count(len(new), 'new value')}, {_examples(new, 1)}: such rows are "
            "taken for rows of the target. If they differ from it, adapt again."
        )


def _examples(values: Sequence[Any], most: int) -> str:
    named = join([quoted(value) for value in values[:most]], most)
    return f"such as {named}" if len(values) > most else named
