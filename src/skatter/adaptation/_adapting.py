"""``adapt``: a table in, predictions, a model and an honest comparison out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from skatter._formatting import count, json_ready, shorten
from skatter._notebook import Section, text_and_tables
from skatter.adaptation._compare import compare
from skatter.adaptation._job import Job, Progress, quiet, take_job
from skatter.adaptation._model import Answer, Ship, TableModel
from skatter.adaptation._outcome import added_to, fill_in, new_columns
from skatter.adaptation._plan import AUTO
from skatter.adaptation._sample import TableSample, draw_sample
from skatter.adaptation._sheet import Checked, read_sheet
from skatter.adaptation._words import Counts, predicted_rows, predicted_section, tell
from skatter.hedging import Judgement, NumberJudgement
from skatter.hedging._champion import Metric
from skatter.labels import Task
from skatter.selection import LabelVerdict, NumberVerdict
from skatter.tables import ColumnPlan, OpenTable, Samples, mark_missing, read_columns, read_labels

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Adaptation:
    """What :func:`adapt` found.

    Attributes
    ----------
    predictions : DataFrame
        The table with its columns, rows and their order, and beside them ``predicted_<label>``,
        ``confidence``, ``model`` (the one that is shipped), and what each of the two models says:
        ``adapted_<label>``, ``adapted_confidence``, ``plain_<label>``, ``plain_confidence``. Rows
        that have a label are empty there: the model has seen it. Rows that were checked have that
        label, confidence 1 and the model "checked". A name that the table has already gets a number
        behind it. Where labels are numbers, ``low`` and ``high`` stand in the place of
        ``confidence``: the interval that is expected to hold nine in ten of them.
    model : TableModel
        Both fitted models, preprocessing first; takes data frames with the columns of the table.
    judgement : Judgement or NumberJudgement
        The comparison of adapting and not adapting, without a target label.
    by_labels : LabelVerdict, NumberVerdict or None
        The same by rows that were checked, or by labels of the target where it has ten or more.
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
        What the shipped model says of the rows without a label that were not checked, in order.
    columns : tuple of ColumnPlan
        What the preprocessing does to each column, and why.
    sample : TableSample or None
        The rows that were drawn of an open table, where it is large: predictions, judgement and
        words are then of the sample, and :meth:`added_to` predicts the table.
    counts : list of (class, rows, mean confidence), or None
        What was predicted for all of such a table, where it has been; of classes.
    """

    predictions: pd.DataFrame
    model: TableModel
    judgement: Judgement | NumberJudgement
    by_labels: LabelVerdict | NumberVerdict | None
    ship: Ship
    words: tuple[str, ...]
    samples: Samples
    settings: Mapping[str, Any]
    seconds: float
    answer: Answer
    columns: tuple[ColumnPlan, ...]
    sample: TableSample | None = None
    counts: Counts | None = None

    @property
    def predicted(self) -> Section:
        """How many rows were predicted to be what."""
        return predicted_section(self.answer, self.model.heading, self.counts)

    def added_to(self, piece: pd.DataFrame) -> pd.DataFrame:
        """Return the columns that :attr:`predictions` adds, for any rows of the table.

        Parameters
        ----------
        piece : DataFrame
            Some rows, as of ``OpenTable.pieces``: numbered as in the table.
        """
        if self.sample is None:
            return self.predictions.iloc[np.asarray(piece.index), piece.shape[1] :]
        labels = mark_missing(piece[[self.model.label]], self.model.na_values)
        rows = np.flatnonzero(~read_labels(labels[self.model.label])[1])
        return added_to(piece, self.model, rows=rows)

    def to_dict(self) -> dict[str, Any]:
        """Return what was found, but for the table and the model, ready for JSON."""
        classes, numbers = ("label", "rows", "confidence"), ("rows", "label", "low", "high")
        names = classes if self.answer.interval is None else numbers
        rows = predicted_rows(self.answer, self.counts)
        return {
            "words": list(self.words),
            "ship": self.ship,
            "judgement": json_ready(asdict(self.judgement)),
            "by_labels": None if self.by_labels is None else json_ready(asdict(self.by_labels)),
            "predicted": json_ready([dict(zip(names, row, strict=True)) for row in rows]),
            "columns": [json_ready(asdict(plan)) for plan in self.columns],
            "settings": json_ready(self.settings),
            "seconds": round(self.seconds, 3),
        }

    def __str__(self) -> str:
        return "\n".join(self.words)

    def __repr__(self) -> str:
        rows = count(len(self.answer.label), "row")
        label = shorten(self.model.label)
        return f"<Adaptation: {label} predicted for {rows}, the {self.ship} model is shipped>"

    def _repr_html_(self) -> str:
        return text_and_tables(self.words, [self.predicted])


def adapt(
    frame: pd.DataFrame | OpenTable,
    *,
    label: str,
    domain: str | None = None,
    task: Task | None = None,
    method: str = AUTO,
    tune: bool = False,
    plain: Any = None,
    metric: Metric = "accuracy",
    class_frequencies: Mapping[Any, float] | None = None,
    features: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    categorical: Collection[str] = (),
    na_values: Collection[str] = (),
    checked: pd.DataFrame | None = None,
    random_state: int = 0,
    progress: Progress | None = None,
) -> Adaptation:
    """Predict the labels that a table lacks, from those that it has in other domains.

    Parameters
    ----------
    frame : DataFrame or OpenTable
        Rows of all domains. Numbers, categories and missing values are prepared by
        :func:`skatter.tables.make_preprocessor`. A file that was opened by
        :func:`skatter.tables.open_table` may be larger than memory: of more than 200,000 rows
        a sample is fitted on (:mod:`skatter.adaptation._sample`).
    label : str
        Column of classes or numbers; empty where the row is to be predicted.
    domain : str or None
        Column that says where a row comes from; a domain of which most rows have no label is a
        target. None: labelled rows are the source, unlabelled ones the target.
    task : "classes", "numbers" or None
        What the labels are. None: it is told by the labels, and asked where they could be either.
    method : str
        A name of the registry (``skatter methods`` lists them); ``"auto"`` is the hedge, a vote of
        plain and adapted models (:class:`~skatter.HedgedClassifier` and ``HedgedRegressor``).
    tune : bool
        Choose the settings of the method, without target labels. The hedge has none.
    plain : classifier, regressor or None
        The model that does not adapt; a classifier needs ``predict_proba``. None is the best of a
        few on held-out source labels (:class:`~skatter.ChampionClassifier`, ``ChampionRegressor``).
    metric : {"accuracy", "balanced accuracy"}
        What counts among classes.
    class_frequencies : mapping of class to float, or None
        How frequent the classes are in the target, where that is known.
    features : sequence of str or None
        Columns to learn from; None is all others.
    ignore : sequence of str
        Columns to leave out.
    categorical : collection of str
        Columns that are categories though they hold numbers.
    na_values : collection of str
        Texts and numbers that stand for missing, such as ``["?", "-99"]``, in new rows as well.
    checked : DataFrame or None
        The sheet of :func:`skatter.ask`, with labels filled in. They judge the models that are
        fitted without them, by accuracy; then both are fitted again with them.
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
    >>> X[site == "there"] += 1
    >>> frame = pd.DataFrame(X, columns=["a", "b", "c"])
    >>> frame["site"], frame["kind"] = site, np.where(site == "here", kind, None)
    >>> result = adapt(frame, label="kind", domain="site")
    >>> result.ship
    'adapted'
    >>> new = result.predictions[site == "there"]
    >>> bool(np.mean(new["predicted_kind"] == kind[site == "there"]) > 0.9)
    True
    """
    import pandas as pd

    start = perf_counter()
    say = progress or quiet
    sample = None
    if isinstance(frame, OpenTable):
        na_values = na_values or frame.na_values
        if checked is None:  # the rows of a sheet are those of the whole table
            sample = draw_sample(frame, label=label, domain=domain, random_state=random_state)
        frame = frame.frame if sample is None else sample.frame
    table = mark_missing(frame, na_values)
    say("reading the columns")
    job = take_job(
        read_columns(table, label=label, domain=domain, features=features, ignore=ignore),
        task=task,
        method=method,
        tune=tune,
        plain=plain,
        metric=metric,
        class_frequencies=class_frequencies,
        categorical=categorical,
        random_state=random_state,
        say=say,
    )
    sheet = None
    if checked is not None:
        sheet = read_sheet(mark_missing(checked, na_values), table, job.samples, job.roles)
    fitted = job.fit(job.table, say)
    say("comparing with not adapting")
    comparison = compare(job, fitted, table, sheet)
    last = job if sheet is None else job.with_labels(sheet.answered, sheet.answers)
    if sheet is not None:
        say("fitting again, with the checked rows")
        fitted = last.fit(last.table, say)
    settings = {
        "random_state": job.random_state,
        **fitted.settings,
        **_read(job, sheet, sample),
        "na_values": [str(value) for value in na_values],
    }
    model = last.model(fitted, comparison.ship, settings)
    say("predicting")
    rows = last.unlabelled
    answers = model.answers(table.iloc[rows])
    added = new_columns(frame, answers, model.ship, label, rows=rows)
    if sheet is not None:
        fill_in(added, sheet.answered, sheet.answers, job.roles.task)
    return Adaptation(
        pd.concat([frame, added], axis=1),
        model,
        comparison.judgement,
        comparison.by_labels,
        model.ship,
        tell(fitted, comparison, job.roles, last.samples, answers, sample),
        job.samples,
        settings,
        perf_counter() - start,
        answers[model.ship],
        job.columns,
        sample,
    )


def _read(job: Job, sheet: Checked | None, sample: TableSample | None) -> dict[str, Any]:
    return {
        "label": job.samples.label,
        "task": job.roles.task,
        "unit": job.samples.unit,
        "domain": job.samples.domain,
        "columns": [str(plan) for plan in job.columns],
        "units": {name: sorted(units) for name, units in job.units.items() if any(units)},
        "sources": list(job.roles.sources),
        "targets": list(job.roles.targets),
        "n_rows": len(job.samples.X),
        "n_labelled": int(job.samples.labelled.sum()),
        "n_checked": 0 if sheet is None else len(sheet.answered),
        "n_rows_of_table": len(job.samples.X) if sample is None else sample.n_rows,
    }
