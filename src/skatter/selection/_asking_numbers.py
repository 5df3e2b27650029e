r"""A few labels settle it, where labels are numbers: which rows to label, and what they say.

Let a and p be the predictions of two models for a row and y its label. The squared errors differ by
(p - y)² - (a - y)² = (a - p)(2y - a - p), so that rows on which the predictions are far apart tell
most. :func:`pick_numbers_to_label` draws rows at random from two strata, which share the sum of
|a - p| evenly, and :func:`judge_number_answers` estimates each mean squared error without bias by
the stratified mean Σ_h (N_h / N) ē_h over N_h rows in stratum h. Intervals come from the Bayesian
bootstrap (Rubin 1981) in each stratum, narrower as more of its rows are labelled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm

from skatter._checks import check_integer
from skatter._formatting import percent
from skatter._tensors import Array
from skatter.selection._asking import (
    AGREE,
    DISAGREE,
    N_DRAWS,
    Estimate,
    LabelSheet,
    Verdict,
    draw_sheet,
)
from skatter.selection.criteria._evidence import seed_of

FOCUS = 0.6  # share of the labels that goes to rows on which the predictions are far apart
LEVEL, COVERAGE = 0.95, 0.9
"""Probability from which the matter is decided, and coverage of the intervals."""
FEWEST = 5  # labels without which nothing is decided: fewer say nothing of how errors vary


@dataclass(frozen=True)
class NumberVerdict:
    """What labels say about two models that predict numbers.

    Attributes
    ----------
    verdict : "decided", "undecided" or "equal"
        Whether the better model is better with a probability of 95 % at least.
    best, runner_up : str
        Names of the models.
    probability : float
        Probability that ``best`` has the smaller error on all rows.
    error : dict of str to Estimate
        Root mean squared error of each model on all rows, with a 90 % interval.
    n_answered : int
        Labels used.
    n_more : int
        About how many more labels would decide it; 0 where it is decided.
    """

    verdict: Verdict
    best: str
    runner_up: str
    probability: float
    error: Mapping[str, Estimate]
    n_answered: int
    n_more: int

    @property
    def summary(self) -> str:
        """The verdict in one sentence."""
        told = f"by {self.n_answered:,} labels"
        if self.verdict == "equal":
            return f"Both models are equally good {told}."
        better = f"{told}: the {self.best} model is better with a probability of"
        if self.verdict == "decided":
            return f"Decided {better} {percent(self.probability, 1)}."
        return (
            f"Undecided {better} only {percent(self.probability, 1)}; about {self.n_more:,} more "
            "labels would decide it."
        )


def pick_numbers_to_label(
    predictions: Mapping[str, Any], n_labels: int = 40, *, random_state: Any = None
) -> LabelSheet:
    """Draw the rows whose labels tell two models apart.

    Parameters
    ----------
    predictions : dict of str to array-like of shape (n_rows,)
        Numbers that two models predict, by the model's name.
    n_labels, random_state
        As in :func:`pick_rows_to_label`.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.linspace(0, 1, 200)
    >>> sheet = pick_numbers_to_label({"plain": y + y**2, "adapted": y + 0.1})
    >>> dict(zip(sheet.strata, sheet.sizes))
    {'models disagree': 39, 'models agree': 161}
    >>> judge_number_answers(sheet, y[sheet.rows]).best
    'adapted'
    """
    n_labels = check_integer("n_labels", n_labels, low=2)
    if len(predictions) != 2:
        raise ValueError(f"predictions must hold two models, got {len(predictions)}.")
    table = np.array([np.asarray(each, dtype=float) for each in predictions.values()])
    strata = _strata(np.abs(table[0] - table[1]))
    return draw_sheet(
        dict(zip(predictions, table, strict=True)),
        strata,
        {name: 1.0 if name == DISAGREE else 0.25 for name in strata},
        n_labels,
        focus=FOCUS,
        classes=np.empty(0),
        seed=seed_of(random_state),
    )


def _strata(apart: Array) -> dict[str, Array]:
    """Return the rows that hold the larger half of all disagreement, and the others."""
    order = np.argsort(-apart, kind="stable")
    total = np.cumsum(apart[order])
    n_far = int(np.searchsorted(total, total[-1] / 2)) + 1 if total[-1] > 0 else 0
    found = {DISAGREE: np.sort(order[:n_far]), AGREE: np.sort(order[n_far:])}
    return {name: rows for name, rows in found.items() if len(rows)}


def judge_number_answers(
    sheet: LabelSheet, answers: Any, *, random_state: Any = None
) -> NumberVerdict:
    """Estimate from labels how large the error of each model is on all rows, and which is smaller.

    Parameters
    ----------
    sheet : LabelSheet
        Rows that were asked for.
    answers : array-like of shape (n_asked,)
        Their labels, in the order of the sheet; NaN where a row is not answered.
    random_state : int, RandomState instance or None
        Draws the intervals; None is a fixed seed.
    """
    truth = np.asarray(answers, dtype=float)
    answered = np.flatnonzero(~np.isnan(truth))
    if not len(answered):
        raise ValueError("answers hold no label: label some rows of the sheet first.")
    table = np.array([sheet.predictions[name] for name in sheet.models])
    squares = (table[:, answered] - truth[answered]) ** 2
    means, draws = _mean_squares(sheet, squares, sheet.stratum[answered], seed_of(random_state))
    gap = draws[0] - draws[1]
    better = float(np.mean(gap < 0) + np.mean(gap == 0) / 2)
    chance = np.array([better, 1 - better])
    best = int(np.lexsort((means, -chance))[0])
    equal = bool(np.all(squares[0] == squares[1]))
    decided = not equal and chance[best] >= LEVEL and len(answered) >= FEWEST
    ends = np.quantile(draws, [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2], axis=1)
    return NumberVerdict(
        "equal" if equal else "decided" if decided else "undecided",
        sheet.models[best],
        sheet.models[1 - best],
        float(chance[best]),
        {
            name: Estimate(*(float(np.sqrt(v)) for v in (m, min(low, m), max(high, m))))
            for name, m, low, high in zip(sheet.models, means, *ends, strict=True)
        },
        len(answered),
        0 if equal or decided else _n_more(gap, len(answered), sheet.n_rows),
    )


def _mean_squares(
    sheet: LabelSheet, squares: Array, stratum: Array, seed: int
) -> tuple[Array, Array]:
    """Return mean squared errors on all rows, and draws of them, one line for each model."""
    rng = np.random.default_rng(seed)
    means, draws, n_seen = np.zeros(2), np.zeros((2, N_DRAWS)), 0
    for code, size in enumerate(sheet.sizes):
        own = squares[:, stratum == code]
        n = own.shape[1]
        if not n:
            continue  # others stand in for it
        shares = rng.dirichlet(np.ones(n), size=N_DRAWS)
        mean = own.mean(axis=1)
        # A stratum that is labelled to the last row leaves no doubt.
        left = np.sqrt(1 - n / size) if size > n else 0.0
        means += size * mean
        draws += size * (mean[:, None] + left * (own @ shares.T - mean[:, None]))
        n_seen += size
    return means / n_seen, np.maximum(draws / n_seen, 0)


def _n_more(gap: Array, n: int, n_rows: int) -> int:
    sure = abs(float(gap.mean())) / max(float(gap.std()), 1e-300)
    needed = n * (float(norm.ppf(LEVEL)) / max(sure, 1e-9)) ** 2
    return int(np.clip(np.ceil(max(needed, FEWEST) - n), 1, max(n_rows - n, 1)))
