"""The report of a model that predicts numbers: one page, read from the top."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from skatter._checks import n_rows
from skatter._formatting import count, join, printable, shorten
from skatter._pages import read_part, render_page
from skatter._tensors import Array
from skatter.adaptation._model import Answer, Ship, TableModel
from skatter.adaptation._outcome import read_numbers_told
from skatter.adaptation._words import quantiles
from skatter.diagnosis._samples import MIN_SAMPLES
from skatter.domains import Codes, Domains, Mask, read_domains
from skatter.hedging import HedgedRegressor
from skatter.labels import marks, read_numbers
from skatter.reporting._about import about, who_voted
from skatter.reporting._charts import histogram, points
from skatter.reporting._model_parts import take_apart
from skatter.reporting._samples import MAX_DRAWN, Asked
from skatter.reporting._shift import TARGET, Shift, find_shift, sides_of
from skatter.reporting._words import QUESTIONS, say_settled
from skatter.selection import Estimate, NumberVerdict
from skatter.tables import to_numbers

HERE = "skatter.reporting"
CONTENTS = {
    "shift": "Shift",
    "error": "How well",
    "predictions": "Predictions",
    "rows": "Rows to look at",
    "settle": "What would settle it",
    "members": "Who voted",
    "about": "Settings",
    "cite": "How to cite",
}
MAX_POINTS = 800  # points of the picture of both models
N_LISTED = 10  # rows and columns that are listed


class Told:
    """What both models say of some rows, and what is known of these; ``places`` are of all rows.

    ``taught`` are labels of the sources that the fit saw, ``truth`` those of the predicted rows
    that were kept from it (NaN where none is known), ``apart`` is how far the models differ.
    """

    def __init__(
        self,
        model: TableModel,
        numbers: Array,
        domains: Domains,
        places: Array,
        rows: Codes,
        answers: Mapping[Ship, Answer],
    ) -> None:
        self.model, self.domains, self.places = model, domains, places
        self.rows, self.answers = rows, answers
        self.hedge: HedgedRegressor = model.adapted[-1]
        self.shipped = answers[model.ship]
        self.other: Ship = "plain" if model.ship == "adapted" else "adapted"
        self.apart = np.abs(answers["adapted"].label - answers["plain"].label)
        self.taught = numbers[domains.source & domains.labelled]
        self.truth = numbers[rows]
        self.hidden = ~np.isnan(self.truth)

    @property
    def say_apart(self) -> list[str]:
        return [self.say(float(figure(self.apart))) for figure in (np.mean, np.max)]

    def say(self, value: float) -> str:
        """Write a number with as many decimals as the spread of the labels asks for."""
        size = np.log10(max(float(np.std(self.taught)), 1e-300))
        decimals = max(0, 2 - int(np.floor(size)))
        return f"{value:,.{decimals}f}" if -7 < size < 9 else f"{value:.4g}"

    def estimate(self, found: Estimate) -> str:
        return f"{self.say(found.value)} ({self.say(found.low)} to {self.say(found.high)})"


def number_page(model: TableModel, asked: Asked) -> str:
    X, sample_domain, tell = asked.X, asked.sample_domain, asked.tell
    rng = check_random_state(asked.random_state)
    domains, numbers = _read(model, asked)
    tell("predicting")
    rows, answers = _answers(model, asked, domains, rng)
    places = sides_of(domains)
    there = places == TARGET
    if sample_domain is not None:
        places = np.asarray(sample_domain).astype(str)
    told = Told(model, numbers, domains, places, rows, answers)
    tell("looking for a shift")
    seen = np.where(domains.labelled, numbers, np.nan)
    shift = find_shift(*to_numbers(X, model.adapted[0]), seen, domains, "numbers", asked.diagnosis)
    tell("writing the page")
    return render_page(
        HERE,
        "numbers.html.j2",
        style=read_part(HERE, "report.css"),
        script="",
        content=_content(told, asked, shift, there, rng)
        | about(take_apart(model.adapted), asked.settings),
    )


def _read(model: TableModel, asked: Asked) -> tuple[Domains, Array]:
    X, y, sample_domain, labelled, *_ = asked
    if not hasattr(X, "iloc"):
        raise TypeError(f"X must be a DataFrame with the table's columns, got {type(X).__name__}.")
    if y is None:
        raise ValueError("y must hold the numbers that the fit saw; NaN where there was none.")
    n = n_rows(X)
    numbers = read_numbers(y, n_samples=n)
    seen = numbers if labelled is None else read_numbers(numbers, labelled=labelled, n_samples=n)
    domains = read_domains(marks(seen), model.ids(sample_domain), n_samples=n)
    if domains.labelled.all() or not domains.labelled.any():
        raise ValueError(
            "y must hold labels that the fit saw and rows without one: NaN in y, or False in "
            "labelled, marks the rows that were predicted."
        )
    return domains, numbers


def _answers(
    model: TableModel, asked: Asked, domains: Domains, rng: Any
) -> tuple[Codes, Mapping[Ship, Answer]]:
    given, n = asked.predictions, len(asked.X)
    if given is not None:
        if len(given) != n:
            raise ValueError(f"predictions has {len(given)} rows, and X has {n}: give one a row.")
        return read_numbers_told(given, model.label)
    rows = np.sort(rng.permutation(np.flatnonzero(~domains.labelled))[:MAX_DRAWN])
    frame = asked.X.iloc[rows]
    if model.domain is not None and asked.sample_domain is not None:
        frame = frame.assign(**{model.domain: np.asarray(asked.sample_domain)[rows]})
    return rows, model.answers(frame)


def _content(told: Told, asked: Asked, shift: Shift, there: Mask, rng: Any) -> dict[str, Any]:
    """Return what the template shows; ``there`` are the rows of the target, or the unlabelled."""
    model, by_labels, title = told.model, asked.by_labels, asked.title
    drawn = np.sort(rng.permutation(len(told.rows))[:MAX_POINTS])
    adapted, plain = (told.answers[ship].label for ship in ("adapted", "plain"))
    interval = np.asarray(told.shipped.interval)
    widest = np.argsort(-np.ptp(interval, axis=1), kind="stable")
    inside = ((interval[:, 0] <= told.truth) & (told.truth <= interval[:, 1]))[told.hidden]
    names = [np.unique(told.places[rows]).tolist() for rows in (~there, there)]
    sources, targets = ([shorten(name) for name in own] for own in names)
    n_hidden = int(told.hidden.sum())
    settled = list(say_settled(targets, by_labels, n_hidden, of_table=True, numbers=True))
    default = f"{shorten(model.label)}: from {join(sources)} to {join(targets)}"
    return {
        "title": default if title is None else printable(title),
        "contents": CONTENTS.items(),
        "lead": f"{model.label} of {count(len(told.rows), 'row')} was predicted, from "
        f"{count(len(told.taught), 'label')} of the sources. The {model.ship} model is shipped."
        f"{asked.drawn}",
        "label": shorten(model.heading),
        "ship": model.ship,
        "other": told.other,
        "summary": _summary(told, shift, settled),
        "shift": shift,
        "settled": settled,
        "facts": {
            "rows": f"{len(asked.X):,}",
            "with a label in the fit": f"{told.domains.n_labelled:,}",
            "predicted": f"{len(told.rows):,}",
            "columns": f"{len(model.columns):,}",
            "regressors that vote": f"{len(told.hedge.members_):,}",
        },
        "errors": list(_errors(told, by_labels)),
        "spread": told.say(float(np.std(told.taught))),
        "covered": float(np.mean(inside)) if n_hidden else None,
        "histogram": histogram([told.taught, told.shipped.label]),
        "in_words": [_in_words(told, each) for each in (told.taught, told.shipped.label)],
        "points": points(plain[drawn], adapted[drawn]),
        "n_points": len(drawn),
        "apart": told.say_apart,
        "quantiles": [(name, [*map(told.say, own)]) for name, own in quantiles(told.shipped)],
        "lists": [
            ("The models differ most", _rows(told, np.argsort(-told.apart, kind="stable"))),
            ("Their interval is widest", _rows(told, widest)),
        ],
        "hidden": bool(n_hidden),
        "domain": None if model.domain is None else shorten(model.domain),
        "members": who_voted(told.hedge, "{:.2f}".format),
    }


def _summary(told: Told, shift: Shift, settled: list[str]) -> list[tuple[str, str]]:
    judgement, well = told.hedge.judgement_, list[str]()
    if judgement is not None:
        error, plain = told.estimate(judgement.error), told.say(judgement.plain_error)
        well = [
            f"Expected root mean squared error: {error} adapted, {plain} plain. Adapting is "
            f"expected to save {judgement.gain} of the error. In brackets are 90 % intervals.",
            judgement.reason,
        ]
        settled = [*settled, judgement.about_mean]
    mean, most = told.say_apart
    rows = (
        f"The models differ by {mean} on average and by {most} at most: look first at the rows "
        "where they differ most, and at those whose interval is widest."
    )
    moved = shift.answer or f"Sources or target have fewer than {MIN_SAMPLES} rows: too few."
    answers = (moved, " ".join(well), rows, " ".join(settled))
    return list(zip(QUESTIONS, answers, strict=True))


def _errors(told: Told, by_labels: NumberVerdict | None) -> Iterator[list[str]]:
    """Yield root mean squared errors of the adapted and the plain model, by what they rest on."""
    judgement, hidden = told.hedge.judgement_, told.hidden
    both: tuple[Ship, Ship] = ("adapted", "plain")
    if judgement is not None:
        n = judgement.n_labelled
        basis = f"with {n:,} labels of the target" if n else "without a label of the target"
        error, plain = told.estimate(judgement.error), told.say(judgement.plain_error)
        yield [f"Expected there, {basis}", error, plain]
    if by_labels is not None:
        basis = f"By {by_labels.n_answered:,} labels of the target that the models had not seen"
        yield [basis, *(told.estimate(by_labels.error[ship]) for ship in both)]
    if hidden.any():
        off = [(told.answers[ship].label - told.truth)[hidden] for ship in both]
        basis = f"On {hidden.sum():,} labels that were kept from the model"
        yield [basis, *(told.say(float(np.sqrt(np.mean(each**2)))) for each in off)]
    yield ["On held-out labels of the sources", told.say(told.hedge.source_error_), "·"]


def _in_words(told: Told, numbers: Array) -> str:
    low, middle, high = (told.say(each) for each in np.quantile(numbers, [0.25, 0.5, 0.75]))
    return f"median {middle}, half lie between {low} and {high}"


def _rows(told: Told, order: Codes) -> list[tuple[int, str, list[str]]]:
    interval, other = np.asarray(told.shipped.interval).T, told.answers[told.other].label
    columns = [told.shipped.label, *interval, other, told.apart]
    columns += [told.truth] if told.hidden.any() else []
    rows = []
    for place, figures in zip(order, np.column_stack(columns)[order[:N_LISTED]], strict=False):
        row = told.rows[place]
        shown = ["·" if np.isnan(each) else told.say(each) for each in figures.tolist()]
        rows.append((int(row) + 1, shorten(told.places[row]), shown))
    return rows
