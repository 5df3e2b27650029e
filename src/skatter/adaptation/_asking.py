"""``ask``: which rows to label, so that the labels tell which model to ship."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from skatter._checks import check_integer
from skatter._formatting import count, percent
from skatter.adaptation._job import Progress, quiet, take_job
from skatter.adaptation._model import Answer, Ship
from skatter.adaptation._sheet import FEWEST_LEFT, make_sheet
from skatter.hedging._champion import Metric
from skatter.labels import Task
from skatter.selection import LabelSheet, pick_numbers_to_label, pick_rows_to_label
from skatter.selection._asking import DISAGREE
from skatter.tables import TableError, mark_missing, read_columns

if TYPE_CHECKING:
    import pandas as pd

FEWEST = 3  # rows to ask for: one for each stratum


@dataclass(frozen=True, eq=False)
class Questions:
    """Rows to label.

    Attributes
    ----------
    sheet : DataFrame
        One line for each row to label, in the order of labelling: ``row``, its number in the table,
        from 1 on; the column of the label, empty; ``stratum`` and ``weight``, to be left as they
        are; then the other columns. A name that the table has already gets a number behind it.
    strata : mapping of str to int
        Rows without a label, by what the models say of them.
    words : tuple of str
        What to do, in plain sentences.
    """

    sheet: pd.DataFrame
    strata: Mapping[str, int]
    words: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.words)


def ask(
    frame: pd.DataFrame,
    *,
    label: str,
    domain: str | None = None,
    task: Task | None = None,
    n_labels: int = 40,
    plain: Any = None,
    metric: Metric = "accuracy",
    class_frequencies: Mapping[Any, float] | None = None,
    features: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    categorical: Collection[str] = (),
    na_values: Collection[str] = (),
    random_state: int = 0,
    progress: Progress | None = None,
) -> Questions:
    """Draw the rows whose labels tell whether to adapt.

    Models are fitted as :func:`skatter.adapt` does, and rows are drawn at random from those on
    which they disagree and from those on which they agree; see :mod:`skatter.selection._asking`.
    Fill in the labels, from the top of the sheet down, and give it to ``adapt`` as ``checked``. A
    longer sheet with the same ``random_state`` begins with the rows of the shorter one.

    Parameters
    ----------
    frame : DataFrame
        Rows of all domains.
    label : str
        Column of classes or numbers; empty where the row is to be predicted.
    domain : str or None
        Column that says where a row comes from.
    n_labels : int
        Rows to draw, 3 or more.
    task, plain, metric, class_frequencies, features, ignore, categorical, na_values
        As in :func:`skatter.adapt`; give both functions the same.
    random_state, progress
        As in :func:`skatter.adapt`.

    Returns
    -------
    Questions
        The sheet, and what to do with it.

    Raises
    ------
    TableError
        Where the table lacks something, or has too few rows without a label.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from skatter import adapt, ask
    >>> rng = np.random.default_rng(0)
    >>> kind, site = np.tile(["low", "high"], 60), np.repeat(["here", "there"], 60)
    >>> X = rng.normal(size=(120, 3)) + 2 * (kind == "high")[:, None]
    >>> X[site == "there"] += [3, 0, 0]
    >>> frame = pd.DataFrame(X, columns=["a", "b", "c"])
    >>> frame["site"], frame["kind"] = site, np.where(site == "here", kind, None)
    >>> sheet = ask(frame, label="kind", domain="site", n_labels=20).sheet
    >>> sheet["kind"] = kind[sheet["row"] - 1]  # ask somebody who knows
    >>> result = adapt(frame, label="kind", domain="site", checked=sheet)
    >>> result.ship, result.by_labels.n_answered
    ('adapted', 20)
    """
    say = progress or quiet
    n_labels = check_integer("n_labels", n_labels, low=FEWEST)
    frame = mark_missing(frame, na_values)
    say("reading the columns")
    job = take_job(
        read_columns(frame, label=label, domain=domain, features=features, ignore=ignore),
        task=task,
        plain=plain,
        metric=metric,
        class_frequencies=class_frequencies,
        categorical=categorical,
        random_state=random_state,
        say=say,
    )
    rows = job.unlabelled
    if len(rows) < n_labels + FEWEST_LEFT:
        raise TableError(
            f"n_labels: {n_labels:,} labels are asked for, and {len(rows):,} rows have no {label}; "
            "ask for fewer, or label all of them."
        )
    fitted = job.fit(job.table, say)
    say("predicting")
    predicted = job.model(fitted, "adapted", {}).answers(frame.iloc[rows])
    say("drawing the rows to label")
    drawn = _draw(predicted, n_labels, job.roles.task, job.random_state)
    strata = dict(zip(drawn.strata, drawn.sizes, strict=True))
    words = _tell(drawn, label, job.roles.task)
    return Questions(make_sheet(frame, label, rows, drawn), strata, words)


def _draw(predicted: Mapping[Ship, Answer], n_labels: int, task: Task, seed: int) -> LabelSheet:
    labels: dict[str, Any] = {name: answer.label for name, answer in predicted.items()}
    if task == "numbers":
        return pick_numbers_to_label(labels, n_labels, random_state=seed)
    confidence = {name: answer.confidence for name, answer in predicted.items()}
    sure = None if any(np.isnan(each).any() for each in confidence.values()) else confidence
    return pick_rows_to_label(labels, n_labels, confidence=sure, random_state=seed)


def _tell(drawn: LabelSheet, label: str, task: Task) -> tuple[str, ...]:
    return (
        f"{count(len(drawn.rows), 'row')} to label, of {drawn.n_rows:,} without {label}: fill in "
        f"the column {label} of the sheet, from the top down.",
        "Skip no row because it is hard: rows that are passed over make both models look better "
        "than they are. Stop wherever you like; rows below stay empty.",
        _dispute(drawn, task),
        "Leave all other columns, and the table, as they are. Then adapt with the same settings "
        "and the sheet as checked.",
    )


def _dispute(drawn: LabelSheet, task: Task) -> str:
    sizes = dict(zip(drawn.strata, drawn.sizes, strict=True))
    if DISAGREE not in sizes:
        what = "accurate they are" if task == "classes" else "large their errors are"
        return (
            "The adapted and the plain model predict the same for every row: labels will tell how "
            f"{what}, and not which to ship."
        )
    n_asked = int(np.sum(drawn.stratum == drawn.strata.index(DISAGREE)))
    rows, sheet = count(sizes[DISAGREE], "row"), f"and {n_asked:,} of these are on the sheet"
    if task == "classes":
        share = percent(sizes[DISAGREE] / drawn.n_rows)
        return (
            f"The adapted and the plain model differ on {rows} ({share}), {sheet}: they tell which "
            "model is better."
        )
    return (
        f"Half of what the models differ by lies in {rows}, {sheet}: they tell which model is "
        "better, and all of them whether the target lies higher or lower than the sources."
    )
