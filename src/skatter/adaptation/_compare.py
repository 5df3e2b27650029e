"""Adapted or plain: which model to ship, told without target labels, or by the few there are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.model_selection import KFold

from skatter.adaptation._job import Fitted, Job
from skatter.adaptation._model import Ship
from skatter.adaptation._roles import Prepared
from skatter.adaptation._sheet import Checked
from skatter.hedging import Judgement, NumberJudgement
from skatter.selection import LabelVerdict, NumberVerdict

if TYPE_CHECKING:
    import pandas as pd

MAX_ROWS = 5_000  # rows that two models are compared on; of more as many are drawn
FEWEST_LABELS = 10  # labelled rows of the target from which on they judge
N_FOLDS = 3  # in which labelled rows of the target are hidden and predicted
TARGET_LABELS, CHECKED_ROWS = "labels of the target", "checked rows"  # what decides
ADAPTED: Ship = "adapted"
PLAIN: Ship = "plain"


@dataclass(frozen=True)
class Comparison:
    judgement: Judgement | NumberJudgement
    by_labels: LabelVerdict | NumberVerdict | None
    hedged: bool
    evidence: str = TARGET_LABELS

    @property
    def ship(self) -> Ship:
        """Which model to ship: what labels decide, else what is expected to be better.

        In doubt it is the hedge, which did more good than harm; another method must show its help.
        """
        if self.by_labels is not None and self.by_labels.verdict == "decided":
            return ADAPTED if self.by_labels.best == ADAPTED else PLAIN
        if self.judgement.verdict == "cannot tell":
            return ADAPTED if self.hedged else PLAIN
        return ADAPTED if self.judgement.verdict == "adapt" else PLAIN


def compare(job: Job, fitted: Fitted, frame: pd.DataFrame, sheet: Checked | None) -> Comparison:
    seed, hedged = job.random_state, job.plan.hedges
    judgement = _judge(fitted, job.table, seed)
    if sheet is None:
        return Comparison(judgement, judge_by_labels(job.fit, job.table, random_state=seed), hedged)
    answers = job.model(fitted, ADAPTED, {}).answers(frame.iloc[sheet.rows])
    predicted = {name: answer.label for name, answer in answers.items()}
    return Comparison(judgement, sheet.judge(predicted, random_state=seed), hedged, CHECKED_ROWS)


def _judge(fitted: Fitted, table: Prepared, random_state: int) -> Judgement | NumberJudgement:
    """Judge both models by the hedge, as they are: what is judged is what would be shipped."""
    if fitted.plan.hedges:
        assert fitted.hedge.judgement_ is not None  # a table without unlabelled rows is refused
        return fitted.hedge.judgement_
    rows = np.flatnonzero(~table.domains.labelled)
    rows = np.sort(np.random.default_rng(random_state).permutation(rows)[:MAX_ROWS])
    some = table.take(rows)
    given = {"sample_domain": some.sample_domain}
    said = (model.predict(some.X, **given) for model in (fitted.adapted, fitted.plain))
    return fitted.hedge.judge(some.X, *said, **given)


def judge_by_labels(
    refit: Callable[[Prepared], Fitted], table: Prepared, *, random_state: int
) -> LabelVerdict | NumberVerdict | None:
    """Judge by the target's own labels: each is predicted by models that have not seen it."""
    rows = np.flatnonzero(table.domains.target & table.domains.labelled)
    if len(rows) < FEWEST_LABELS:
        return None
    predicted = {ADAPTED: np.empty(len(rows), object), PLAIN: np.empty(len(rows), object)}
    for _, fold in KFold(N_FOLDS, shuffle=True, random_state=random_state).split(rows):
        fitted, hidden = refit(table.hide(rows[fold])), table.take(rows[fold])
        for name, model in ((ADAPTED, fitted.adapted), (PLAIN, fitted.plain)):
            predicted[name][fold] = model.predict(hidden.X, sample_domain=hidden.sample_domain)
    filled, stratum = np.ones(len(rows), dtype=bool), np.zeros(len(rows), dtype=np.intp)
    strata, sizes = ("labelled rows of the target",), (int(table.domains.target.sum()),)
    classes = table.domains.classes if table.task == "classes" else np.empty(0)
    known = Checked(rows, table.y[rows], filled, stratum, strata, sizes, classes)
    return known.judge(predicted, random_state=random_state)
