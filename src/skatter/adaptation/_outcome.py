"""Predictions as columns beside the table they are for, its rows in their order."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from skatter._tensors import Array
from skatter.adaptation._model import Answer, Ship, TableModel
from skatter.labels import Task

if TYPE_CHECKING:
    import pandas as pd

CHECKED = "checked"  # who predicted a row that a person has labelled


def new_columns(
    frame: pd.DataFrame,
    answers: Mapping[Ship, Answer],
    ship: Ship,
    label: str,
    *,
    rows: Array | None = None,
) -> pd.DataFrame:
    import pandas as pd

    rows = np.arange(len(frame)) if rows is None else rows
    columns = {f"predicted_{label}": answers[ship].label, **_sure("", answers[ship])}
    columns["model"] = np.full(len(rows), ship, dtype=object)
    for each, answer in answers.items():
        columns |= {f"{each}_{label}": answer.label, **_sure(f"{each}_", answer)}
    taken = {str(name) for name in frame.columns}
    added: dict[str, Any] = {}
    for name, values in columns.items():
        added[free_name(name, {*taken, *added})] = _spread(values, rows, len(frame))
    return pd.DataFrame(added, index=frame.index)


def added_to(piece: pd.DataFrame, model: TableModel, *, rows: Array | None = None) -> pd.DataFrame:
    if rows is not None and not len(rows):
        answers = model.no_answers()
    else:
        answers = model.answers(piece if rows is None else piece.iloc[rows])
    return new_columns(piece, answers, model.ship, model.label, rows=rows)


def fill_in(added: pd.DataFrame, rows: Array, labels: Array, task: Task) -> None:
    values = labels.astype(object) if labels.dtype.kind in "US" else labels
    known = (values, 1.0, CHECKED) if task == "classes" else (values, values, values, CHECKED)
    for place, cells in enumerate(known):
        added.iloc[rows, place] = cells


def read_numbers_told(predictions: pd.DataFrame, label: str) -> tuple[Array, dict[Ship, Answer]]:
    """Read what :func:`new_columns` wrote where labels are numbers: rows, and what was said."""
    ships: tuple[Ship, ...] = ("adapted", "plain")
    wanted = [f"{ship}_{what}" for ship in ships for what in (label, "low", "high")]
    found = [str(name) for name in predictions.columns[-len(wanted) :]]
    if len(found) < len(wanted) or not all(map(str.startswith, found, wanted)):
        raise ValueError(
            "predictions must be the table of skatter.adapt, which ends in the columns "
            f"{', '.join(wanted)}; leave them out to have rows predicted here."
        )
    values = predictions.iloc[:, -len(wanted) :].to_numpy(dtype=float)
    rows = np.flatnonzero(~np.isnan(values).any(axis=1))
    unknown = np.full(len(rows), np.nan)
    return rows, {
        ship: Answer(values[rows, 3 * i], unknown, values[rows, 3 * i + 1 : 3 * i + 3])
        for i, ship in enumerate(ships)
    }


def _sure(before: str, answer: Answer) -> dict[str, Array]:
    if answer.interval is None:
        return {f"{before}confidence": answer.confidence}
    return dict(zip((f"{before}low", f"{before}high"), answer.interval.T, strict=True))


def free_name(name: str, taken: Collection[str]) -> str:
    free, number = name, 2
    while free in taken:
        free, number = f"{name}_{number}", number + 1
    return free


def _spread(values: Array, rows: Array, n_rows: int) -> Any:
    import pandas as pd

    values = np.asarray(values)
    if values.dtype.kind == "f":
        out = np.full(n_rows, np.nan)
        out[rows] = values
        return out
    kinds = {"i": "Int64", "u": "UInt64", "b": "boolean"}
    column = pd.array([pd.NA] * n_rows, dtype=kinds.get(values.dtype.kind, "string"))
    column[rows] = values if values.dtype.kind in kinds else values.astype(str).astype(object)
    return column
