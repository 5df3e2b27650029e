"""What would settle it: labels that were given, or which to ask for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from skatter.formatting import count, join
from skatter.selection import LabelVerdict, NumberVerdict

LABELS = 40
"""Rows to ask for: in our trials they settled most cases."""


def say_settled(
    targets: list[str],
    by_labels: LabelVerdict | NumberVerdict | None,
    n_hidden: int,
    of_table: bool,
) -> Iterator[str]:
    """Yield what is settled by labels, and what to do where nothing is."""
    if by_labels is not None:
        yield by_labels.summary.split("\n")[0]
        if by_labels.verdict != "undecided":
            return
    if n_hidden:
        yield (
            f"The labels of {count(n_hidden, 'row')} were kept from the model and say how it does "
            "on them; nothing of another place or another year."
        )
        return
    if not targets:
        yield (
            "Rows of a domain that the model has not seen: leave one domain out after the other "
            "(skatter.LeaveOneDomainOut), or let skatter.DomainGeneralizer do so."
        )
        return
    how = (
        f"'skatter ask --labels {LABELS}' (skatter.ask) draws them, and 'skatter adapt --checked' "
        "reads them back."
        if of_table
        else "skatter.selection.pick_rows_to_label draws them, and judge_answers reads them back."
    )
    yield (
        f"Labels of {join(targets)}. Some {LABELS} of them are enough in most cases, if they are "
        f"of the right rows: {how} Without any, nobody can count how often predictions are right."
    )


def verdict_of(given: Any) -> LabelVerdict | NumberVerdict | None:
    """Return a verdict by labels; anything else that was given is none."""
    return given if isinstance(given, LabelVerdict | NumberVerdict) else None
