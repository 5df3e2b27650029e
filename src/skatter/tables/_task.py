"""Classes or numbers: what a column of labels holds."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any, get_args

import numpy as np

from skatter._checks import check_choice
from skatter._formatting import listed, quoted
from skatter._tensors import Array
from skatter.labels import Task
from skatter.tables._columns import Samples
from skatter.tables._errors import TableError
from skatter.tables._values import looks_like_date, number_style, read_number

TASKS: tuple[Task, ...] = get_args(Task)
FEW_VALUES = 20  # different whole numbers up to which they are classes
MANY_VALUES = 50  # whole numbers from which on they are numbers, if few rows share one
SAY_CLASSES = "Say so by task='classes' (--task classes in the shell)."

MISSING_MARKS = {
    *("?", "-", "--", "."),
    *("missing", "not known", "pending", "tbd", "unknown", "unlabelled"),
}
"""What people write for a label that they do not know."""

REPEATED = 5  # rows of each value from which on a few fractions look like classes


def read_task(samples: Samples, task: Task | None) -> tuple[Samples, Task]:
    """Tell classes from numbers, or ask where both are possible."""
    column, labelled = quoted(samples.label), samples.labelled
    if not labelled.any():
        raise TableError(
            f"column {column} has no label at all: fill in the rows whose label is known."
        )
    if labelled.all():
        frequent = Counter(np.asarray(samples.y).tolist()).most_common()
        raise TableError(
            f"column {column} has a label in every row: there is nothing to predict. It holds "
            f"{listed([label for label, _ in frequent], most=8)}; empty the cells of the rows to "
            "predict, or name the value that stands for missing (na_values, --na-values)."
        )
    rows = Counter(np.asarray(samples.y)[labelled].tolist())
    if len(rows) == 1:
        raise TableError(
            f"column {column} holds a single value, {next(iter(rows))!s}: there is nothing to tell "
            "apart."
        )
    read, found = tell_task(samples, task)
    alone = [label for label, times in rows.items() if times == 1]
    if alone and found == "classes":
        raise TableError(
            f"column {column} has a single row of {listed(alone)}, from which no class can be "
            "learnt: label more such rows, correct the label, or leave it empty."
        )
    return read, found


def tell_task(samples: Samples, task: Task | None) -> tuple[Samples, Task]:
    """Tell classes from numbers wherever there are labels, also in every row or all the same."""
    if task is not None:
        check_choice("task", task, TASKS)
    labelled, column = samples.labelled, quoted(samples.label)
    known = np.asarray(samples.y)[labelled]
    numbers, unit = written_numbers(known)
    values = np.unique(np.asarray(known.tolist()))
    if unit and len(values) > 1 and not np.isnan(numbers).any():
        found = _task_of_numbers(np.unique(numbers), len(known), column, task, unit)
    elif known.dtype.kind not in "biuf":
        _check_names(values, len(known), column)
        found = _task_of_text(samples, known, numbers, task)
    elif len(values) == 1:
        found = task or "classes"
    else:
        found = _task_of_numbers(values, len(known), column, task)
    if found == "classes":
        return _named(samples), found
    y = np.full(len(labelled), np.nan)
    y[labelled] = numbers
    return replace(samples, y=y, unit=unit), found


def missing_marks(samples: Samples) -> list[str]:
    """Return labels that often stand for a missing one, and are classes here."""
    known = set(np.asarray(samples.y)[samples.labelled].tolist())
    return sorted(label for label in known if str(label).casefold() in MISSING_MARKS)


def _named(samples: Samples) -> Samples:
    """Return samples whose classes have names that estimators take: fractions become text."""
    y = np.asarray(samples.y)
    if y.dtype.kind != "f":
        return samples
    names = np.full(len(y), None, dtype=object)
    names[samples.labelled] = [f"{value:g}" for value in y[samples.labelled]]
    return replace(samples, y=names)


def _task_of_text(samples: Samples, known: Array, numbers: Array, task: Task | None) -> Task:
    if task == "classes":
        return "classes"
    bad = np.flatnonzero(np.isnan(numbers))
    mostly = len(bad) < len(numbers) / 2 and len(np.unique(numbers)) > FEW_VALUES
    if not (task == "numbers" or mostly):
        return "classes"
    if not len(bad):
        return "numbers"
    row = np.flatnonzero(samples.labelled)[bad[0]]
    raise TableError(
        f"column {quoted(samples.label)} holds text among numbers, {quoted(known[bad[0]])} in row "
        f"{row + 1:,}: empty such cells or write numbers"
        + (", or leave the task out." if task else ", or say task='classes'.")
    )


def _task_of_numbers(values: Array, n: int, column: str, task: Task | None, unit: str = "") -> Task:
    """Few whole numbers are classes; those with a unit are numbers where both are possible."""
    fractions = bool((values != np.floor(values)).any())
    several = f"{len(values):,} different {'numbers' if fractions else 'whole numbers'}"
    if task == "numbers":
        if len(values) == 2:
            raise TableError(
                f"column {column} holds two values, {values[0]} and {values[1]}: these are "
                f"classes. {SAY_CLASSES}"
            )
        return "numbers"
    if task == "classes":
        if len(values) > max(FEW_VALUES if fractions else MANY_VALUES, 0 if fractions else n / 2):
            raise TableError(
                f"column {column} holds {several} such as {values[0]}, too many for classes. "
                "Leave the task out, or cut them into a few ranges."
            )
        return "classes"
    if fractions:
        sure = len(values) > 2 and (len(values) > FEW_VALUES or len(values) * REPEATED > n)
        found: Task = "numbers"
    else:
        sure = len(values) <= FEW_VALUES or len(values) > max(MANY_VALUES, n / 2)
        found = "classes" if len(values) <= FEW_VALUES else "numbers"
    if not (sure or unit):
        raise TableError(
            f"column {column} holds {several}, from {values[0]} to {values[-1]}: classes or "
            "numbers? Say so by task='classes' or task='numbers' (--task in the shell)."
        )
    return found


def _check_names(values: Array, n: int, column: str) -> None:
    if len(values) > 2 and all(map(looks_like_date, values.tolist())):
        raise TableError(
            f"column {column} holds dates such as {values[0]!s}: give a column of classes or "
            "numbers, such as the days since a first date."
        )
    if len(values) > max(MANY_VALUES, n / 2) and np.isnan(written_numbers(values)[0]).mean() > 0.5:
        raise TableError(
            f"column {column} holds {len(values):,} different values such as {values[0]!s}, and "
            "few rows share one: give a column of classes or numbers."
        )


def written_numbers(known: Array) -> tuple[Array, str]:
    numbers, unit = np.array([_plain_number(label) for label in known.tolist()]), ""
    texts = [label for label in known.tolist() if isinstance(label, str)]
    style = number_style(list(dict.fromkeys(texts))) if np.isnan(numbers).any() else None
    if style is not None and style.dressed:
        unit = style.unit
        numbers = np.array([read_number(str(label), style.decimal)[0] for label in known.tolist()])
    return np.where(np.isfinite(numbers), numbers, np.nan), unit


def _plain_number(label: Any) -> float:
    try:
        return float(label)
    except ValueError:
        return np.nan
