"""A data frame as a diagnosis takes it: numbers, labels, domains, and what is left out and why."""

from __future__ import annotations

from collections.abc import Sequence
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
    to_numbers,
)
from skatter.tables._task import tell_task

if TYPE_CHECKING:
    import pandas as pd

LIKE_A_LABEL = "; if it is the label, say so"  # why a column is left out where no label is named


def read_features(
    samples: Samples, task: Task | None, categorical: Sequence[str]
) -> tuple[Samples, Array, list[str], Task | None, pd.DataFrame, dict[str, str]]:
    """Return numbers, the columns they come from, empty cells, and what is left out and why.

    A column that looks like a label is left out where none is named.
    """
    missing = samples.X.apply(lambda column: as_text(column).isna())
    plans = describe_columns(samples.X, categorical=categorical)
    left_out = {plan.name: plan.why for plan in plans if not plan.used}
    if samples.label is None:
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
    return samples, X, names, task, missing, left_out


def _like_labels(missing: pd.DataFrame, sample_domain: Any) -> dict[str, str]:
    empty = missing.groupby(np.asarray(sample_domain)).all()
    found = empty.columns[empty.any() & ~empty.all()]
    return {
        str(name): f"empty in all rows of {join([str(d) for d in empty.index[empty[name]]])}"
        f"{LIKE_A_LABEL} (--label, label={quoted(name)})"
        for name in found
    }
