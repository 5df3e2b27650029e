"""What was done and found, in plain sentences: predictions first, then the reasons."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from skatter._formatting import count, join, percent
from skatter._notebook import Section, say_cell
from skatter._tensors import Array
from skatter.adaptation._compare import CHECKED_ROWS, Comparison
from skatter.adaptation._job import Fitted
from skatter.adaptation._model import Answer, Ship
from skatter.adaptation._plan import N_LANDMARKS
from skatter.adaptation._roles import Roles
from skatter.adaptation._sample import TableSample
from skatter.hedging import ChampionClassifier, ChampionRegressor, Judgement
from skatter.hedging._champion import OWN
from skatter.hedging._expectation import FEWEST
from skatter.methods._generalization import Generalizer
from skatter.selection import LabelVerdict, NumberVerdict
from skatter.selection.criteria import is_collapsed
from skatter.tables import Samples

if TYPE_CHECKING:
    import pandas as pd

UNSURE = 0.5  # confidence below which a prediction is called unsure
RMSE = "root mean squared error"

QUANTILES = {
    0.0: "lowest",
    0.1: "one in ten is below",
    0.5: "half are below",
    0.9: "nine in ten are below",
    1.0: "highest",
}
"""Of predicted numbers, which are shown."""

SCALED = {"pooled": "over all rows", "domain": "in each domain"}
"""How the rows of a member are standardised."""
MAX_LISTED = 12  # classes that are listed one by one
NAMED = 5  # names that a sentence lists


def tell(
    fitted: Fitted,
    comparison: Comparison,
    roles: Roles,
    samples: Samples,
    answers: Mapping[Ship, Answer],
    sample: TableSample | None = None,
) -> tuple[str, ...]:
    shipped = answers[comparison.ship]
    sentences = [
        *_predicted(roles, samples, sample),
        *_shipped(comparison),
        *_expected(comparison),
        *unit_words(str(samples.label), samples.unit),
        *confidence_words(shipped, calibrated=comparison.hedged and comparison.ship == "adapted"),
        *_warnings(shipped, roles, samples),
        _agreement(answers),
        *_method(fitted),
    ]
    if roles.target_knows_labels:
        sentences.append(
            f"{join(roles.targets, NAMED)}: most rows have no {samples.label}, so this is what is "
            "predicted; the labels that are there are learnt from."
        )
    if comparison.evidence == CHECKED_ROWS:
        sentences.append(
            "The checked rows judged models that had not seen them; then both models were fitted "
            "again with them, and may be more accurate than that."
        )
    judged = comparison.judgement.n_target
    if judged < len(shipped.label):
        sentences.append(
            f"The models were compared on {judged:,} of {count(len(shipped.label), 'row')} without "
            f"{samples.label}, drawn at random."
        )
    return tuple(sentences)


def _predicted(roles: Roles, samples: Samples, sample: TableSample | None) -> list[str]:
    n_rows, n_labelled = len(samples.X), int(samples.labelled.sum())
    told = []
    if sample is not None:
        told = [
            f"Fitted on a sample of {n_rows:,} of {count(sample.n_rows, 'row')}, {n_labelled:,} of "
            f"them with {samples.label}; the figures below are of this sample."
        ]
        n_rows, n_labelled = sample.n_rows, sample.n_labelled
    sentence = (
        f"{samples.label} was predicted for {count(n_rows - n_labelled, 'row')} without it, "
        f"from {count(n_labelled, 'row')} with it"
    )
    if samples.domain is None:
        return [f"{sentence}.", *told]
    sources, targets = (join(names, NAMED) for names in (roles.sources, roles.targets))
    return [f"{sentence} ({samples.domain}: {sources} to {targets}).", *told]


def _shipped(comparison: Comparison) -> list[str]:
    judgement, labels, ship = comparison.judgement, comparison.by_labels, comparison.ship
    model = f"The {ship} model is the one to ship"
    if labels is not None and labels.verdict == "decided":
        return [
            f"Decided by {labels.n_answered:,} {comparison.evidence}: ship the {ship} model, "
            f"{_metric(labels)} {_figure(labels, ship)}."
        ]
    if judgement.verdict != "cannot tell":
        sentence = f"{model}. {judgement.reason}"
    elif comparison.hedged:
        sentence = f"{judgement.reason} {model}: in doubt a vote of all is safer."
    else:
        sentence = f"{judgement.reason} {model}: in doubt a method must not do harm."
    if labels is None:
        return [sentence]
    return [_undecided(labels, comparison.evidence), sentence]


def _undecided(labels: LabelVerdict | NumberVerdict, evidence: str) -> str:
    adapted, plain = (_figure(labels, name) for name in ("adapted", "plain"))
    figures = f"{_metric(labels)} {adapted} adapted, {plain} plain"
    told = f"by {labels.n_answered:,} {evidence}"
    if labels.verdict == "equal":
        return f"The models are equally good {told}: {figures}."
    more = f"about {labels.n_more:,} more labels would decide it; " if labels.n_more else ""
    return f"Undecided {told}: {more}{figures}."


def _metric(labels: LabelVerdict | NumberVerdict) -> str:
    return "accuracy" if isinstance(labels, LabelVerdict) else RMSE


def _figure(labels: LabelVerdict | NumberVerdict, name: str) -> str:
    if isinstance(labels, LabelVerdict):
        return str(labels.accuracy[name])
    return f"{labels.error[name]:.3g}"


def _expected(comparison: Comparison) -> list[str]:
    judgement = comparison.judgement
    if comparison.by_labels is not None or judgement.n_target < FEWEST:
        return []
    if isinstance(judgement, Judgement):
        return [
            f"Expected {judgement.metric} there, without a label: {judgement.accuracy} adapted, "
            f"{percent(judgement.plain_accuracy, 1)} plain."
        ]
    return [
        f"Expected {RMSE} there: {judgement.error:.3g} adapted, {judgement.plain_error:.3g} plain.",
        judgement.about_mean,
    ]


def unit_words(label: str, unit: str) -> list[str]:
    if not unit:
        return []
    meaning = ": 45 means 45 %" if unit == "%" else ""
    return [f"{label} and its errors are in {unit}{meaning}."]


def confidence_words(
    answer: Answer, *, calibrated: bool = False, new_rows: bool = False
) -> list[str]:
    """Say how sure a model is, and what that is worth; less of rows that the fit has not seen."""
    if answer.interval is not None:
        half = float(np.mean(np.ptp(answer.interval, axis=1)) / 2)
        return [
            f"Intervals (low, high) are ±{half:.3g} on average, and held nine labels in ten over "
            "many other tables."
        ]
    if not len(answer.label) or np.isnan(answer.confidence).all():
        return ["The method has no probabilities: the column confidence is empty."]
    unsure = float(np.mean(answer.confidence < UNSURE))
    worth = (
        "It is calibrated on other tables: its mean is the accuracy to expect"
        + (" for rows like those of the fit." if new_rows else ".")
        if calibrated
        else "It is not calibrated: under a shift, models are surer than they should be."
    )
    below = f", and below {UNSURE} in {percent(unsure)} of the rows" if unsure else ""
    return [f"Its confidence is {np.mean(answer.confidence):.2f} on average{below}. {worth}"]


Counts = list[tuple[Any, int, float]]  # classes, their rows and mean confidence


def class_counts(answer: Answer) -> Counts:
    names, codes, counts = np.unique(answer.label, return_inverse=True, return_counts=True)
    sure = np.bincount(codes, weights=answer.confidence) / counts
    return _most_frequent(zip(names.tolist(), counts.tolist(), sure.tolist(), strict=True))


def count_added(added: pd.DataFrame) -> Counts:
    """Return the counts of a piece from the columns that were added to it; none of numbers."""
    if not str(added.columns[1]).startswith("confidence"):
        return []
    told = added[added.iloc[:, 0].notna()].iloc[:, :2]
    labels, sure = (told.iloc[:, place].to_numpy() for place in (0, 1))
    return class_counts(Answer(labels, sure))


def join_counts(parts: Iterable[Counts]) -> Counts:
    rows: Counter[Any] = Counter()
    sure: defaultdict[Any, float] = defaultdict(float)
    for name, n, mean in chain.from_iterable(parts):
        rows[name] += n
        sure[name] += n * mean
    return _most_frequent((name, n, sure[name] / n) for name, n in rows.items())


def _most_frequent(counts: Iterable[tuple[Any, int, float]]) -> Counts:
    return sorted(counts, key=lambda each: (-each[1], each[0]))


def predicted_rows(answer: Answer, counts: Counts | None = None) -> list[tuple[Any, ...]]:
    """Return classes with their rows and confidence, or how predicted numbers are spread."""
    if answer.interval is None:
        return list(counts or class_counts(answer))
    return [(name, *values.tolist()) for name, values in quantiles(answer)]


def predicted_section(answer: Answer, label: str, counts: Counts | None = None) -> Section:
    heads: tuple[str, ...] = ("rows", label, "low", "high")
    rows = predicted_rows(answer, counts)
    if answer.interval is None:
        heads = (label, "rows", "mean confidence")
        rows = [(str(name), n, f"{sure:.2f}") for name, n, sure in rows]
    lines = [tuple(say_cell(value) for value in row) for row in rows[:MAX_LISTED]]
    if len(rows) > MAX_LISTED:
        left = rows[MAX_LISTED:]
        lines.append((f"{len(left):,} others", f"{sum(row[1] for row in left):,}", ""))
    return Section("Predicted", heads=heads, lines=tuple(lines))


def quantiles(answer: Answer) -> Iterator[tuple[str, Array]]:
    """Yield rows that stand for others: what they are, their prediction, and its interval."""
    columns = np.column_stack([answer.label, np.asarray(answer.interval)])
    order = np.argsort(answer.label, kind="stable")
    for share, name in QUANTILES.items():
        yield name, columns[order[round(share * (len(order) - 1))]]


def _warnings(answer: Answer, roles: Roles, samples: Samples) -> list[str]:
    domains = roles.domains
    if answer.interval is not None:
        known = np.asarray(samples.y)[domains.source & domains.labelled]
        outside = float(np.mean((answer.label < known.min()) | (answer.label > known.max())))
        if not outside:
            return []
        return [
            f"{percent(outside)} of the predictions lie outside the labels of the sources "
            f"({known.min():.3g} to {known.max():.3g})."
        ]
    given = domains.label[domains.source & domains.labelled]
    codes = np.searchsorted(domains.classes, answer.label.astype(domains.classes.dtype))
    found = np.unique(codes)
    if len(found) == 1:
        return [f"Warning: every row is predicted to be {answer.label[0]}; do not trust this."]
    if is_collapsed(codes, given):
        return ["Warning: all but a few rows are predicted to be one class; do not trust this."]
    missing = np.setdiff1d(np.unique(given), found)
    if len(missing):
        names = join([str(name) for name in domains.classes[missing]], NAMED)
        return [f"Never predicted: {names}."]
    return []


def _agreement(answers: Mapping[Ship, Answer]) -> str:
    if answers["plain"].interval is not None:
        apart = np.abs(answers["adapted"].label - answers["plain"].label)
        return (
            f"The adapted and the plain model differ by {np.mean(apart):.3g} on average, and by "
            f"{np.max(apart):.3g} at most."
        )
    differ = int(np.sum(answers["adapted"].label != answers["plain"].label))
    if not differ:
        return "The adapted and the plain model predict the same for every row."
    share = percent(differ / len(answers["plain"].label))
    return (
        f"The adapted and the plain model differ on {differ:,} of the predicted rows ({share}); "
        "look at those first."
    )


def _method(fitted: Fitted) -> list[str]:
    plan, tuned = fitted.plan, fitted.tuned
    sentences = [
        f"Method: {plan.method.name} ({plan.method.summary}), because {plan.why}.",
        _plain_words(fitted.hedge.champion_),
    ]
    if fitted.outside is not None:
        sentences.append(
            f"Its kernel is replaced by an explicit map of {N_LANDMARKS:,} landmarks; "
            f"{percent(fitted.outside)} of a row lies outside their span."
        )
    if issubclass(plan.method.estimator, Generalizer):
        sentences.append("This method learns nothing from the rows that it predicts.")
    if tuned is not None:
        chosen = ", ".join(f"{name}={value}" for name, value in tuned.params.items())
        drawn = "" if tuned.n_tried == tuned.n_settings else f" drawn from {tuned.n_settings:,}"
        sentences.append(
            f"Settings: {chosen}, the best of {tuned.n_tried:,}{drawn}, judged on "
            f"{tuned.n_rows:,} rows by the accuracy to expect; no label "
            "of the target was used."
        )
    return sentences


def _plain_words(champion: ChampionClassifier | ChampionRegressor) -> str:
    name, scores = champion.champion_, champion.scores_
    share = isinstance(champion, ChampionClassifier)
    score = percent(scores[name], 1) if share else f"R² = {scores[name]:.2f}"
    which = "your own" if name == OWN else f"{name}, the best of {len(scores)}"
    return f"The plain model is {which} ({score} on held-out labels of the sources)."
