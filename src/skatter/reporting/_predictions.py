"""Predictions: given, or made here for the rows that are drawn; and how many of them are right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances_argmin

from skatter._checks import take_rows
from skatter._tensors import Array
from skatter.domains import UNLABELLED, Codes
from skatter.pipeline import call_step
from skatter.reporting._model_parts import ModelParts
from skatter.reporting._samples import Samples
from skatter.self_training import SCAClassifier


class Score(NamedTuple):
    """Right answers among some rows; ``plain`` is the share of a model that does not adapt."""

    n: int
    share: float
    plain: float | None


class DomainScores(NamedTuple):
    name: str
    target: bool
    n_rows: int
    n_labelled: int
    hidden: Score | None
    seen: Score | None


@dataclass(frozen=True, eq=False)
class Predictions:
    rows: Codes
    predicted: Codes
    confidence: Array | None
    plain: Codes | None
    by: str
    plain_by: str = "1-nearest-neighbour on the samples before"
    adapted: Codes | None = None

    @property
    def other(self) -> Codes | None:
        """What the other model says: the plain one, or the adapted one where that is shipped."""
        if self.adapted is None or self.plain is None:
            return self.plain
        return self.adapted if np.array_equal(self.predicted, self.plain) else self.plain

    @property
    def other_by(self) -> str:
        return self.plain_by if self.other is self.plain else "the adapted model"


def score_domains(samples: Samples, found: Predictions) -> list[DomainScores]:
    """Count right answers in each domain, apart for labels that the fit saw."""
    domains = samples.domains
    scores = []
    for d, name in enumerate(samples.domain_names):
        own = domains.domain[found.rows] == d
        hidden, seen = (
            score(samples, found, own & mask[found.rows])
            for mask in (samples.hidden, domains.labelled)
        )
        n_labelled = int(np.count_nonzero(domains.labelled & (domains.domain == d)))
        is_target, n_rows = bool(domains.is_target[d]), int(domains.domain_counts[d])
        scores.append(DomainScores(name, is_target, n_rows, n_labelled, hidden, seen))
    return scores


def score(samples: Samples, found: Predictions, where: NDArray[np.bool_]) -> Score | None:
    if not where.any():
        return None
    truth = samples.truth[found.rows][where]
    plain = None if found.plain is None else float(np.mean(found.plain[where] == truth))
    return Score(int(where.sum()), float(np.mean(found.predicted[where] == truth)), plain)


def predict(
    parts: ModelParts,
    samples: Samples,
    rows: Codes,
    sample_domain: Any,
    prepared: Any,
    features: Array | None,
) -> Predictions | None:
    """Predict some rows with the model; by the nearest neighbour where it only makes features."""
    model, predicts = parts.model, hasattr(parts.model, "predict")
    if not (samples.domains.labelled[rows].any() and (predicts or features is not None)):
        return None
    label = samples.domains.label[rows]
    plain = nearest(prepared, label)
    if not predicts:
        by = "1-nearest-neighbour on the components"
        return Predictions(rows, nearest(features, label), None, plain, by)
    given, confidence = take_rows(samples.X, rows), None
    if hasattr(model, "predict_proba"):
        shares = np.asarray(call_step(model.predict_proba, given, sample_domain))
        confidence = shares.max(axis=1)
    if confidence is not None and isinstance(parts.learner, SCAClassifier):
        # Its predictions are the largest shares, and asking it again would cost as much again.
        told = model.classes_[shares.argmax(axis=1)]
    else:
        told = call_step(model.predict, given, sample_domain)
    return Predictions(rows, samples.codes(told), confidence, plain, type(model).__name__)


def nearest(Z: Any, label: Codes) -> Codes:
    known = label != UNLABELLED
    return label[known][pairwise_distances_argmin(Z, Z[known])]


def read_predictions(samples: Samples, predictions: Any) -> Predictions:
    if not (isinstance(predictions, Mapping) or hasattr(predictions, "columns")):
        raise TypeError("predictions must be a mapping or a DataFrame with a column 'predicted'.")
    columns = [str(name) for name in getattr(predictions, "columns", predictions)]
    names = {key: _last(columns, key) for key in ("predicted", "confidence", "plain", "adapted")}
    if names["predicted"] is None:
        raise ValueError(
            f"predictions has no column 'predicted'; it has {', '.join(columns[:10])}."
        )
    values = {key: predictions[name] for key, name in names.items() if name is not None}
    for key, column in values.items():
        if len(column) != samples.n:
            raise ValueError(
                f"predictions has {len(column)} entries in {names[key]!r}, and X has {samples.n} "
                "rows; give one entry a row."
            )
    codes = samples.codes(values["predicted"])
    rows = np.flatnonzero(codes != UNLABELLED)
    sure = values.get("confidence")
    confidence = None if sure is None else np.asarray(sure, dtype=float)[rows]
    plain, adapted = (
        samples.codes(values[key])[rows] if key in values else None for key in ("plain", "adapted")
    )
    by = ("the predictions given", "the plain model")
    return Predictions(rows, codes[rows], confidence, plain, *by, adapted)


def _last(columns: list[str], key: str) -> str | None:
    """Return the last column of that name, or with more behind it: tables grow to the right."""
    begun = [name for name in columns if name == key or name.startswith(f"{key}_")]
    begun = [name for name in begun if not name.startswith(("plain_conf", "adapted_conf"))]
    return begun[-1] if begun else None
