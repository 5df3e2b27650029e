"""A data frame as a diagnosis takes it: numbers, labels, domains, and what is left out and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from skatter._formatting import join, quoted
from skatter._tensors import Array
from skatter.labels import Task
from skatter.tables import (
    Samples,
    align_columns,
    as_text,
    describe_columns,
    make_preprocessor,
    read_columns,
    to_numbers,
)
from skatter.tables._task import tell_task

if TYPE_CHECKING:
    import pandas as pd


LIKE_A_LABEL = "; if it is the label, say so"  # why a column is left out where no label is named


@dataclass(frozen=True, eq=False)
class Frame:
    """A table that was read; ``missing`` tells the empty cells of all its feature columns."""

    samples: Samples
    X: Array
    names: list[str]
    task: Task | None
    missing: pd.DataFrame
    left_out: Mapping[str, str]


def read_frame(
    frame: pd.DataFrame,
    *,
    label: str | None,
    domain: str,
    task: Task | None,
    features: Sequence[str] | None,
    ignore: Sequence[str],
    categorical: Sequence[str],
) -> Frame:
    """Read the columns of a table; one that looks like a label is left out where none is named."""
    samples = read_columns(frame, label=label, domain=domain, features=features, ignore=ignore)
    missing = samples.X.apply(lambda column: as_text(column).isna())
    plans = describe_columns(samples.X, categorical=categorical)
    left_out = {plan.name: plan.why for plan in plans if not plan.used}
    if label is None:
        alike = _like_labels(missing, samples.sample_domain)
        used = [plan for plan in plans if plan.used and plan.name not in alike]
        if used:
            plans, left_out = used, {**left_out, **alike}
    used_names = [plan.name for plan in plans if plan.name not in left_out] or list(samples.X)
    columns = samples.X[used_names]
    prepare = make_preprocessor(columns, [plan for plan in plans if plan.name in used_names])
    X, names = to_numbers(columns, prepare.fit(align_columns(columns, prepare)))
    if samples.labelled.any():
        samples, task = tell_task(samples, task)
    return Frame(samples, X, names, task, missing, left_out)


def _like_labels(missing: pd.DataFrame, sample_domain: Any) -> dict[str, str]:
    """Return columns that are filled in some domains and empty in others, as labels are."""
    empty = missing.groupby(np.asarray(sample_domain)).all()
    found = empty.columns[empty.any() & ~empty.all()]
    return {
        str(name): f"empty in all rows of {join([str(d) for d in empty.index[empty[name]]])}"
        f"{LIKE_A_LABEL} (--label, label={quoted(name)})"
        for name in found
    }
