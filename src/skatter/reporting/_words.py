"""The four questions of the report, answered in a few sentences each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from skatter._formatting import count, join, percent
from skatter.hedging import Judgement
from skatter.reporting._findings import Findings
from skatter.reporting._measures import Distances, ScatterLine
from skatter.reporting._predictions import Score
from skatter.reporting._row_lists import RowLists
from skatter.reporting._samples import Samples
from skatter.reporting._shift import Shift
from skatter.selection import LabelVerdict, NumberVerdict

_CLEARLY = 0.9  # share of the shift that is left, below which it is called smaller
_ALIKE = 0.05  # distance, and share of domain scatter, up to which domains are called alike
LABELS = 40  # rows to ask for: in our trials they settled most cases
QUESTIONS = (
    "Is there a shift, and where?",
    "How well will it do there?",
    "Which rows should I look at?",
    "What would settle it?",
)


def default_title(name: str, samples: Samples) -> str:
    sources, targets = sides(samples)
    if sources and targets:
        return f"{name}: from {join(sources)} to {join(targets)}"
    return f"{name} on {count(len(samples.domain_names), 'domain')}"


def four_questions(
    found: Findings,
    shift: Shift,
    rows: RowLists | None,
    benefit: Any,
    by_labels: Any,
    of_table: bool,
) -> tuple[list[tuple[str, str]], list[str]]:
    samples = found.samples
    moved = [shift.answer, _closer(found.scatters[1], found.distances)]
    # Anything else that was given is no verdict.
    verdict = by_labels if isinstance(by_labels, LabelVerdict | NumberVerdict) else None
    n_hidden = int(np.count_nonzero(samples.hidden))
    settled = list(say_settled(sides(samples)[1], verdict, n_hidden, of_table))
    well = _how_well(found.score, benefit, verdict)
    look = "There are no predictions to look at." if rows is None else rows.answer
    answers = (" ".join(filter(None, moved)), " ".join(well), look, " ".join(settled))
    return list(zip(QUESTIONS, answers, strict=True)), settled


def say_expected(benefit: Any, by_labels: Any) -> Iterator[tuple[str, str, str]]:
    """Yield accuracies of the adapted and the plain model, by what they rest on."""
    if isinstance(benefit, Judgement):
        basis = f"Expected {benefit.metric}, without a label of the target"
        yield basis, str(benefit.accuracy), percent(benefit.plain_accuracy, 1)
    if isinstance(by_labels, LabelVerdict):
        n = count(by_labels.n_answered, "label")
        basis = f"By {n} of the target that the models had not seen"
        yield basis, str(by_labels.accuracy["adapted"]), str(by_labels.accuracy["plain"])


def say_done(name: str, samples: Samples) -> str:
    sources, targets = sides(samples)
    rows = f"{samples.n:,} rows from {count(len(samples.domain_names), 'domain')}"
    n_labelled = samples.domains.n_labelled
    if not n_labelled:
        return f"{name} learnt from {rows}, without a label."
    classes = count(len(samples.domains.classes), "class")
    if not targets:
        return f"{name} learnt from {rows}; {n_labelled:,} of them have a label, of {classes}."
    unlabelled = int(np.count_nonzero(samples.domains.target & ~samples.domains.labelled))
    without = "whose labels it was not shown" if samples.hidden.any() else "that have none"
    return (
        f"{name} learnt from {rows}. It was shown the labels of {n_labelled:,} rows, of {classes}, "
        f"and carries them from {join(sources) or 'these'} to {unlabelled:,} rows of "
        f"{join(targets)} {without}."
    )


def _closer(shift: ScatterLine, distances: Distances | None) -> str:
    """Compare what separates the domains before and after: their means, and all of their shape."""
    if distances is None:
        return "There are no two domains to compare, so there is no shift to speak of."
    before, after = distances.means
    if shift.share_after is None or after is None:
        return (
            f"Before, {percent(shift.share_before)} of all spread lies between the means of the "
            "domains. This model makes no features of its own, so there is no after."
        )
    share = f"{percent(shift.share_before)} of all spread before and {percent(shift.share_after)}"
    apart = f"{before:.2f} before, {after:.2f} after"
    figures = (
        f"the means of the domains make up {share} after, and the distance of their distributions "
        f"is {apart}."
    )
    closer = [shift.share_after < _CLEARLY * shift.share_before, after < _CLEARLY * before]
    if before < _ALIKE and shift.share_before < _ALIKE:
        return f"As a whole the domains are alike: {figures}"
    smaller = "smaller" if all(closer) else "smaller in part" if any(closer) else "no smaller"
    return f"The model makes it {smaller}: {figures}"


def _how_well(score: Score | None, benefit: Any, by_labels: Any) -> Iterator[str]:
    if by_labels is not None and by_labels.verdict == "decided":
        yield f"Ship the {by_labels.best} model: {by_labels.accuracy[by_labels.best]} are right."
    if benefit is not None:
        doubt = "In doubt a vote of all classifiers is the safer choice. "
        safer = doubt if benefit.verdict == "cannot tell" else ""
        yield f"{benefit.reason} {safer}Expected {benefit.metric} there: {benefit.accuracy}."
    elif score is None:
        yield (
            "That was not asked: skatter.does_it_help compares this model with one that does not "
            "adapt, without target labels."
        )
    if score is None:
        return
    plain = "" if score.plain is None else f"; without adapting, {percent(score.plain, 1)}"
    yield (
        f"Of {count(score.n, 'row')} whose labels were kept from the model, "
        f"{percent(score.share, 1)} are predicted right{plain}."
    )
    if benefit is None and score.plain is not None:
        gain = score.share - score.plain
        yield f"That speaks {'for it' if gain > 0 else 'against it' if gain else 'for neither'}."


def sides(samples: Samples) -> tuple[list[str], list[str]]:
    names, is_target = np.array(samples.domain_names, dtype=object), samples.domains.is_target
    return names[~is_target].tolist(), names[is_target].tolist()


def say_settled(
    targets: list[str],
    by_labels: LabelVerdict | NumberVerdict | None,
    n_hidden: int,
    of_table: bool,
    numbers: bool = False,
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
    errors, rights = "measure how large the errors are", "count how often predictions are right"
    yield (
        f"Labels of {join(targets)}. Some {LABELS} of them are enough in most cases, if they are "
        f"of the right rows: {how} Without any, nobody can {errors if numbers else rights}."
    )
