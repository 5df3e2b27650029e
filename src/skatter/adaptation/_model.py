"""The model of a table: two pipelines that were fitted on it, and which one answers."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.base import is_regressor
from sklearn.utils import gen_batches

from skatter._formatting import shorten
from skatter._tensors import Array
from skatter._threads import in_threads
from skatter.adaptation._drift import find_drift, find_new_domains
from skatter.hedging import HedgedClassifier
from skatter.labels import Task
from skatter.pipeline import DomainPipeline
from skatter.tables import TableError, align_columns, mark_missing
from skatter.tables._columns import read_labels

if TYPE_CHECKING:
    import pandas as pd

Ship = Literal["adapted", "plain"]
CHUNK = 4_096  # rows that are predicted together, beside others in further threads
ELSEWHERE = 0  # number of a domain that is new to the model; others are signed from 1


@dataclass(frozen=True, eq=False)
class Answer:
    label: Array
    confidence: Array
    interval: Array | None = None


@dataclass(frozen=True, eq=False)
class TableModel:
    """An adapted and a plain model of one table; takes data frames with the table's columns.

    Attributes
    ----------
    adapted : DomainPipeline
        Preprocessing, the method, and a classifier where the method is none.
    plain : DomainPipeline
        The same preprocessing, and a classifier that knows nothing of domains.
    ship : "adapted" or "plain"
        Which of the two answers.
    label : str
        Column that is predicted.
    domain : str or None
        Column that says where a row comes from; rows of a frame without it are the target's.
    numbers : mapping of str to int
        Numbers of the domains, where the pipelines know them by numbers.
    settings : mapping
        What the models were made with.

    Examples
    --------
    >>> from skatter import adapt
    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> kind, site = np.tile([0, 1], 60), np.repeat(["here", "there"], 60)
    >>> frame = pd.DataFrame(rng.normal(size=(120, 3)) + 3 * kind[:, None], columns=list("abc"))
    >>> frame["kind"] = pd.array(np.where(site == "here", kind, -1), dtype="Int64")
    >>> frame.loc[site == "there", "kind"] = pd.NA
    >>> model = adapt(frame, label="kind").model
    >>> float(np.mean(model.predict(frame[["a", "b", "c"]]) == kind)) > 0.9
    True
    """

    adapted: DomainPipeline
    plain: DomainPipeline
    ship: Ship
    label: str
    domain: str | None = None
    numbers: Mapping[str, int] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def columns(self) -> list[str]:
        """Feature columns that a frame must have."""
        return [str(name) for name in self.adapted[0].feature_names_in_]

    @property
    def na_values(self) -> tuple[str, ...]:
        """What stood for a missing cell in the table, beside NA and the like."""
        return tuple(self.settings.get("na_values", ()))

    @property
    def unit(self) -> str:
        """What the numbers that are predicted were written with, such as ``"%"``; often empty."""
        return shorten(str(self.settings.get("unit", "")))

    @property
    def heading(self) -> str:
        """The label, with its unit."""
        return f"{self.label} ({self.unit})" if self.unit else self.label

    @property
    def task(self) -> Task:
        """Whether classes or numbers are predicted."""
        return "numbers" if is_regressor(self.adapted) else "classes"

    @property
    def calibrated(self) -> bool:
        """Whether the confidences of the shipped model are calibrated, as those of the hedge."""
        return self.ship == "adapted" and isinstance(self.adapted[-1], HedgedClassifier)

    @property
    def classes_(self) -> Array:
        """Classes that are predicted; none where it is numbers."""
        if self.task == "numbers":
            return np.empty(0)
        return np.asarray(getattr(self, self.ship).classes_)

    def predict(self, frame: pd.DataFrame) -> Array:
        """Predict the label of every row with the model that is shipped; warns of drift."""
        label = self.answers(frame)[self.ship].label
        for sentence in self.drift(frame):
            warnings.warn(sentence, stacklevel=2)
        return label

    def drift(self, frame: pd.DataFrame) -> list[str]:
        """Say what is new in these rows against those of the fit.

        New categories, columns that are empty throughout, other units, columns whose mean is far
        away, new domains. An empty list: nothing was found.

        Parameters
        ----------
        frame : DataFrame
            Rows to predict, as in :meth:`predict`.

        Returns
        -------
        list of str
            Plain sentences.
        """
        frame = mark_missing(frame, self.na_values)
        known = {*self.settings.get("sources", ()), *self.settings.get("targets", ())}
        return [
            *find_new_domains(frame, self.domain, known),
            *find_drift(frame, self.adapted[0], self.settings.get("units", {})),
        ]

    def answers(self, frame: pd.DataFrame) -> dict[Ship, Answer]:
        """Return what both models say of every row, computed in chunks.

        Parameters
        ----------
        frame : DataFrame
            Rows with the feature columns, in any order; others are not looked at. What stood for
            missing in the fit (``na_values``) does so here.

        Raises
        ------
        TableError
            Where there are no rows, a column is missing, or text stands where numbers should.
        """
        if not len(frame):
            raise TableError("the table has no rows to predict.")
        frame = mark_missing(frame, self.na_values)
        ids = None
        if self.domain in frame.columns:
            ids = self.ids(read_labels(frame[self.domain])[0])
        parts = in_threads(
            partial(self._answer, frame.iloc[rows], None if ids is None else ids[rows])
            for rows in gen_batches(len(frame), CHUNK)
        )
        return {ship: _joined([part[ship] for part in parts]) for ship in parts[0]}

    def no_answers(self) -> dict[Ship, Answer]:
        """Return what both models say of no rows."""
        if self.task == "numbers":
            nothing = Answer(np.empty(0), np.empty(0), np.empty((0, 2)))
        else:
            nothing = Answer(self.classes_[:0], np.empty(0))
        return {"adapted": nothing, "plain": nothing}

    def aligned(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the feature columns of a frame, as the pipelines take them."""
        return align_columns(frame, self.adapted[0])[self.columns]

    def describe(self) -> dict[str, Any]:
        """Return what is worth knowing about the model, ready for JSON."""
        return {
            "columns": self.columns,
            "label": self.label,
            "domain": self.domain,
            "task": self.task,
            "classes": self.classes_.tolist(),
            "ship": self.ship,
            "settings": dict(self.settings),
        }

    def ids(self, names: Array | None) -> Array | None:
        """Return domains of a table as the pipelines know them."""
        ids = None if names is None else np.asarray(names).astype(str)
        if ids is None or not self.numbers:
            return ids
        return np.array([self.numbers.get(name, ELSEWHERE) for name in ids.tolist()])

    def _answer(self, frame: pd.DataFrame, ids: Array | None) -> dict[Ship, Answer]:
        try:
            prepared = self.adapted[0].transform(self.aligned(frame))
            if self.task == "numbers":
                return _ask_numbers(self.adapted[1:], self.plain[1:], prepared, ids)
            return {
                "adapted": _ask(self.adapted[1:], prepared, ids),
                "plain": _ask(self.plain[1:], prepared, ids),
            }
        except (TableError, MemoryError):
            raise
        except Exception as error:
            reason = shorten(" ".join(str(error).split()), 200)
            raise TableError(
                f"the model cannot predict, its parts do not fit together: {reason}"
            ) from error


def _ask(model: DomainPipeline, X: Any, ids: Array | None) -> Answer:
    if not hasattr(model, "predict_proba"):
        label = np.asarray(model.predict(X, sample_domain=ids))
        return Answer(label, np.full(len(label), np.nan))
    shares = np.asarray(model.predict_proba(X, sample_domain=ids))
    best = shares.argmax(axis=1)
    return Answer(np.asarray(model.classes_)[best], shares[np.arange(len(best)), best])


def _ask_numbers(
    adapted: DomainPipeline, plain: DomainPipeline, X: Any, ids: Array | None
) -> dict[Ship, Answer]:
    """Ask for numbers; the hedge has intervals, and those of the plain model hold them."""
    interval = np.asarray(adapted[-1].predict_interval(X, sample_domain=ids))
    found, other = interval.mean(axis=1), np.asarray(plain.predict(X, sample_domain=ids))
    half = np.abs(interval - other[:, None]).max(axis=1)
    unknown = np.full(len(found), np.nan)
    return {
        "adapted": Answer(found, unknown, interval),
        "plain": Answer(other, unknown, np.column_stack([other - half, other + half])),
    }


def _joined(parts: list[Answer]) -> Answer:
    label, confidence = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("label", "confidence")
    )
    intervals = [part.interval for part in parts if part.interval is not None]
    return Answer(label, confidence, np.concatenate(intervals) if intervals else None)
