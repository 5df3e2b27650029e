"""``adapt``: a table in, predictions, a model and an honest comparison out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from skatter.adaptation.compare import Comparison, compare, judge_by_labels
from skatter.adaptation.draw import Table
from skatter.adaptation.fit import Fitted, fit_models
from skatter.adaptation.model import Answer, Ship, TableModel
from skatter.adaptation.outcome import add_answers
from skatter.adaptation.plan import AUTO, MethodError, make_plan
from skatter.adaptation.roles import Roles, assign_roles
from skatter.adaptation.words import tell
from skatter.checks import check_integer
from skatter.hedging import HedgedClassifier, Judgement
from skatter.hedging.champion import Metric
from skatter.pipeline import DomainPipeline
from skatter.selection import LabelVerdict
from skatter.tables import (
    ColumnPlan,
    Samples,
    align_columns,
    describe_columns,
    make_preprocessor,
    read_columns,
)

if TYPE_CHECKING:
    import pandas as pd

Progress = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Adaptation:
    """What :func:`adapt` found.

    Attributes
    ----------
    predictions : DataFrame
        The table with its columns, rows and their order, and beside them ``predicted_<label>``,
        ``confidence``, ``model`` (the one that is shipped), and what each of the two models says:
        ``adapted_<label>``, ``adapted_confidence``, ``plain_<label>``, ``plain_confidence``. Rows
        that have a label are empty there: the model has seen it. A name that the table has already
        gets a number behind it.
    model : TableModel
        Both fitted models, preprocessing first; takes data frames with the columns of the table.
    judgement : Judgement
        The comparison of adapting and not adapting, without a target label.
    by_labels : LabelVerdict or None
        The same by labels of the target, where it has ten or more.
    ship : "adapted" or "plain"
        Which model fills ``predicted_<label>``.
    words : tuple of str
        What was done and found, in plain sentences.
    samples : Samples
        The table as it was read.
    settings : mapping
        Method, parameters and everything else that is needed to do it again; ready for JSON.
    seconds : float
        Time that it took.
    answer : Answer
        What the shipped model says of the rows without a label, in their order.
    columns : tuple of ColumnPlan
        What the preprocessing does to each column, and why.
    """

    predictions: pd.DataFrame
    model: TableModel
    judgement: Judgement
    by_labels: LabelVerdict | None
    ship: Ship
    words: tuple[str, ...]
    samples: Samples
    settings: Mapping[str, Any]
    seconds: float
    answer: Answer
    columns: tuple[ColumnPlan, ...]

    def __str__(self) -> str:
        return "\n".join(self.words)


def adapt(
    frame: pd.DataFrame,
    *,
    label: str,
    domain: str | None = None,
    method: str = AUTO,
    tune: bool = False,
    plain: Any = None,
    metric: Metric = "accuracy",
    class_frequencies: Mapping[Any, float] | None = None,
    features: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    random_state: int = 0,
    progress: Progress | None = None,
) -> Adaptation:
    """Predict the labels that a table lacks, from those that it has in other domains.

    Parameters
    ----------
    frame : DataFrame
        Rows of all domains. Numbers, categories and missing values are prepared by
        :func:`skatter.tables.make_preprocessor`.
    label : str
        Column of classes; empty where the row is to be predicted.
    domain : str or None
        Column that says where a row comes from. A domain without labels is a target; so is one
        of which most rows have none. None: labelled rows are the source, unlabelled ones the
        target.
    method : str
        A name of the registry (``skatter methods`` lists them); ``"auto"`` is the hedge, a vote of
        plain and adapted classifiers (:class:`~skatter.HedgedClassifier`).
    tune : bool
        Choose the settings of the method by a criterion that needs no target label. The hedge has
        none.
    plain : classifier or None
        The model that does not adapt, with ``predict_proba``; None is the best of four standard
        ones on held-out source labels (:class:`~skatter.ChampionClassifier`).
    metric : {"accuracy", "balanced accuracy"}
        What counts.
    class_frequencies : mapping of class to float, or None
        How frequent the classes are in the target, where that is known.
    features : sequence of str or None
        Columns to learn from; None is all others.
    ignore : sequence of str
        Columns to leave out.
    random_state : int
        Seed of everything that is random.
    progress : callable or None
        Told the name of each step before it starts.

    Returns
    -------
    Adaptation
        Predictions, the model, the comparison with not adapting, and what to say about them.

    Raises
    ------
    TableError
        Where the table lacks something; the message names the column.
    MethodError
        Where the method cannot be used on this table.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from skatter import adapt
    >>> rng = np.random.default_rng(0)
    >>> kind, site = np.tile(["low", "high"], 60), np.repeat(["here", "there"], 60)
    >>> X = rng.normal(size=(120, 3)) + 3 * (kind == "high")[:, None]
    >>> X[site == "there"] += 2
    >>> frame = pd.DataFrame(X, columns=["a", "b", "c"])
    >>> frame["site"], frame["kind"] = site, np.where(site == "here", kind, None)
    >>> result = adapt(frame, label="kind", domain="site")
    >>> result.ship
    'adapted'
    >>> new = result.predictions[site == "there"]
    >>> bool(np.mean(new["predicted_kind"] == kind[site == "there"]) > 0.9)
    True
    """
    start = perf_counter()
    say = progress or _quiet
    seed = check_integer("random_state", random_state, low=0)
    say("reading the columns")
    samples = read_columns(frame, label=label, domain=domain, features=features, ignore=ignore)
    roles = assign_roles(samples)
    plan = make_plan(method, roles, random_state=seed)
    if tune and plan.hedges:
        raise MethodError("the method auto has nothing to tune: leave tune out, or name a method.")
    say("preparing the columns")
    columns = describe_columns(samples.X)
    prepare, prepared = _prepare(samples, columns)
    table = Table.of(prepared, samples, roles)

    def fit(some: Table, say: Progress = _quiet) -> Fitted:
        hedge = HedgedClassifier(
            plain, metric=metric, class_frequencies=class_frequencies, random_state=seed
        )
        return fit_models(plan, some, hedge, random_state=seed, tuned=tune, say=say)

    fitted = fit(table, say)
    say("comparing with not adapting")
    comparison = Comparison(
        compare(fitted, table, random_state=seed),
        judge_by_labels(fit, table, random_state=seed),
        plan.hedges,
    )
    settings = {"random_state": seed, **fitted.settings, **_read(samples, roles, columns)}
    model = _assemble(prepare, fitted, comparison, samples, roles, settings)
    say("predicting")
    rows = np.flatnonzero(~samples.labelled)
    answers = model.answers(frame.iloc[rows])
    return Adaptation(
        add_answers(frame, answers, model.ship, label, rows=rows),
        model,
        comparison.judgement,
        comparison.by_labels,
        model.ship,
        tell(fitted, comparison, roles, samples, answers),
        samples,
        settings,
        perf_counter() - start,
        answers[model.ship],
        tuple(columns),
    )


def _quiet(step: str) -> None:
    """Say nothing."""


def _prepare(samples: Samples, columns: list[ColumnPlan]) -> tuple[Any, Any]:
    """Return the fitted preprocessing of the columns that are used, and what it gives."""
    # Where none is used, the preprocessing says why.
    used = [plan for plan in columns if plan.used] or columns
    X = samples.X[[plan.name for plan in used]]
    prepare = make_preprocessor(X, used)
    return prepare, prepare.fit_transform(align_columns(X, prepare))


def _assemble(
    prepare: Any,
    fitted: Fitted,
    comparison: Comparison,
    samples: Samples,
    roles: Roles,
    settings: dict[str, Any],
) -> TableModel:
    """Put the preprocessing before both models."""
    adapted, plain = (
        DomainPipeline([("prepare", prepare), *model.steps])
        for model in (fitted.adapted, fitted.plain)
    )
    return TableModel(
        adapted,
        plain,
        comparison.ship,
        str(samples.label),
        samples.domain,
        dict(roles.numbers),
        settings,
    )


def _read(samples: Samples, roles: Roles, columns: list[ColumnPlan]) -> dict[str, Any]:
    """Return what was read of the table."""
    return {
        "label": samples.label,
        "domain": samples.domain,
        "columns": [str(plan) for plan in columns],
        "sources": list(roles.sources),
        "targets": list(roles.targets),
        "n_rows": len(samples.X),
        "n_labelled": int(samples.labelled.sum()),
    }
