"""The paragraph for somebody who has a minute, and no wish to read a formula."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from skatter.formatting import count, join, percent
from skatter.reporting.measures import Distances, ScatterLine
from skatter.reporting.predictions import Score
from skatter.reporting.samples import Samples

_CLEARLY = 0.9
"""Share of the shift that is left, below which it is called smaller."""
_ALIKE = 0.05
"""Distance, and share of domain scatter, up to which domains are called alike."""
_ANSWERS = {"adapt": "Yes.", "do not adapt": "No."}


def default_title(name: str, samples: Samples) -> str:
    """Say what was done, from where to where."""
    sources, targets = _sides(samples)
    if not (sources and targets):
        return f"{name} on {count(len(samples.domain_names), 'domain')}"
    return f"{name}: from {join(sources)} to {join(targets)}"


def summary(
    name: str,
    samples: Samples,
    shift: ScatterLine,
    distances: Distances | None,
    score: Score | None,
    benefit: Any,
) -> list[tuple[str, str]]:
    """Answer the questions of a manager, each in a sentence or two."""
    return [
        ("What was done?", _done(name, samples)),
        ("Is the shift smaller now?", _shift(shift, distances)),
        ("Would we ship it?", " ".join(_ship(samples, score, benefit))),
        ("What can nobody know from this?", _unknown(samples, score)),
    ]


def _done(name: str, samples: Samples) -> str:
    sources, targets = _sides(samples)
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


def _shift(shift: ScatterLine, distances: Distances | None) -> str:
    """Compare what separates the domains before and after: their means, and all of their shape."""
    if distances is None:
        return "There are no two domains to compare, so there is no shift to speak of."
    if shift.share_after is None or distances.mean_after is None:
        return (
            f"Before, {percent(shift.share_before)} of all spread lies between the means of the "
            "domains. This model makes no features of its own, so there is no after."
        )
    means = shift.share_after < _CLEARLY * shift.share_before
    shapes = distances.mean_after < _CLEARLY * distances.mean_before
    share = (
        f"{percent(shift.share_before)} of all spread before, {percent(shift.share_after)} after"
    )
    apart = f"{distances.mean_before:.2f} before, {distances.mean_after:.2f} after"
    if distances.mean_before < _ALIKE and shift.share_before < _ALIKE:
        return (
            f"There was next to none. The means of the domains make up {share}, and the distance "
            f"of their distributions is {apart}."
        )
    if means and shapes:
        return (
            f"Yes. The domains differ less: their means make up {share}, and the distance of their "
            f"distributions is {apart}."
        )
    if means or shapes:
        closer, other = ("means", "distributions") if means else ("distributions", "means")
        figures = (share, apart) if means else (apart, share)
        before, after = distances.mean_before, distances.mean_after
        if not means:
            before, after = shift.share_before, shift.share_after
        what = "lie further apart" if after > before else "hardly do"
        return (
            f"In part. The {closer} of the domains lie closer ({figures[0]}), but their {other} "
            f"{what} ({figures[1]})."
        )
    return f"No. The means of the domains make up {share}; their distance is {apart}."


def _ship(samples: Samples, score: Score | None, benefit: Any) -> Iterator[str]:
    if benefit is not None:
        yield _verdict(benefit)
    elif score is None:
        yield (
            "That was not asked: skatter.does_it_help compares this model with one that does not "
            "adapt, without target labels."
        )
    if score is None:
        return
    yield (
        f"On {score.n:,} rows whose labels were kept from the model it is right in "
        f"{100 * score.share:.1f} of 100 cases"
        + (
            "."
            if score.plain is None
            else f"; without adapting, the nearest neighbour is right in {100 * score.plain:.1f}."
        )
    )
    if benefit is None and score.plain is not None:
        gain = score.share - score.plain
        yield (
            ("That speaks for it." if gain > 0 else "That speaks against it.")
            if gain
            else "That speaks for neither."
        )


def _verdict(benefit: Any) -> str:
    """Answer yes, no, or neither, say why, and how well it will do."""
    reason = benefit.reason
    if benefit.verdict == "cannot tell":
        answer = f"{reason} In doubt a vote of all classifiers is the safer choice."
    elif reason.startswith("Adapt: "):
        answer = f"Yes: {reason.removeprefix('Adapt: ')}"
    else:
        answer = f"{_ANSWERS[benefit.verdict]} {reason}"
    return f"{answer} Expected {benefit.metric} there: {benefit.accuracy}."


def _unknown(samples: Samples, score: Score | None) -> str:
    _, targets = _sides(samples)
    if score is not None:
        return (
            "Whether rows that come later look like these. Labels that were kept from the model "
            "say how it did here, and nothing of another place or another year."
        )
    if targets:
        return (
            f"How often predictions for {join(targets)} are right: there is no label to count "
            "by. Domains that lie closer together are a good sign, not a proof. Let 'skatter ask' "
            "pick some forty rows to label, and count."
        )
    return "How the model does in a domain that it has not seen."


def _sides(samples: Samples) -> tuple[list[str], list[str]]:
    is_target = samples.domains.is_target
    named = list(zip(samples.domain_names, is_target.tolist(), strict=True))
    return [n for n, target in named if not target], [n for n, target in named if target]
