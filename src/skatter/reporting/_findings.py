"""Everything that the report found out, ready to be shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from skatter._checks import check_table, take_rows
from skatter._tensors import Array
from skatter.domains import UNLABELLED, Codes
from skatter.reporting import _measures as measures
from skatter.reporting import _predictions as predictions
from skatter.reporting import _views as views
from skatter.reporting._charts import spectrum, training
from skatter.reporting._explorer import SLIDERS, explore
from skatter.reporting._model_parts import ModelParts, Space
from skatter.reporting._predictions import Predictions, Score
from skatter.reporting._samples import (
    MAX_DRAWN,
    MAX_MEASURED,
    SHOWN_FEATURES,
    Asked,
    Samples,
    draw_rows,
)
from skatter.reporting._views import Colouring
from skatter.scatter import Geometry, measure

FIGURE_NAMES: Mapping[str, str] = {
    "accuracy": "1NN accuracy",
    "criterion": "Scatter criterion",
    "domain": "Domain share",
    "between_class": "Between-class share",
    "within_class": "Within-class share",
    "conditional_domain": "Conditional domain share",
    "total": "Total scatter",
}
PRECOMPUTED = (
    "model works on rows of a Gram matrix (kernel='precomputed'), and a report needs the samples: "
    "fit it with the kernel itself, or with a function of two arrays."
)


@dataclass(frozen=True, eq=False)
class Findings:
    parts: ModelParts
    samples: Samples
    drawn: Codes
    n_measured: int
    before: Array
    after: Array | None
    colourings: list[Colouring]
    predictions: Predictions | None
    scatters: list[measures.ScatterLine]
    distances: measures.Distances | None
    explorer: dict[str, Any] | str

    @cached_property
    def score(self) -> Score | None:
        """On all labels that the fit did not see."""
        made, hidden = self.predictions, self.samples.hidden
        return None if made is None else predictions.score(self.samples, made, hidden[made.rows])

    def shown(self) -> dict[str, Any]:
        samples, made, family = self.samples, self.predictions, self.parts.components
        scores = [] if made is None else predictions.score_domains(samples, made)
        path = None if isinstance(self.explorer, str) else self.explorer
        eigenvalues = [] if family is None else np.asarray(family.eigenvalues_, float).tolist()
        components = {} if family is None else {"components": f"{family.n_components_:,}"}
        return {
            "scores": scores if any(each.hidden or each.seen for each in scores) else [],
            "places": views.places(self.colourings[:2], self.before, self.after),
            "path": path,
            "figures": [] if path is None else self._figures(path["figures"]),
            "eigenvalues": eigenvalues,
            "spectrum": spectrum(eigenvalues) if eigenvalues else None,
            "training": training(getattr(self.parts.learner, "candidates_", ())),
            "words": self._words(),
            "facts": {
                "rows": f"{samples.n:,}",
                "with a label in the fit": f"{samples.domains.n_labelled:,}",
                "domains": f"{len(samples.domain_names):,}",
                "classes": f"{len(samples.domains.classes):,}",
                "features": f"{samples.X.shape[1]:,}",
                **components,
            },
        }

    def _figures(self, measured: dict[str, Any]) -> list[tuple[str, str]]:
        """Return keys and names of the path's figures, without those that are not there."""
        there = {key for key, values in measured.items() if values[0][0] is not None}
        lines = zip(measures.NAMES, self.scatters, strict=True)
        there -= {key for key, line in lines if line.missing}
        return [(key, name) for key, name in FIGURE_NAMES.items() if key in there]

    def _words(self) -> dict[str, str]:
        """Say what the pictures show, and how many rows are drawn, measured and predicted."""
        n, by_kernel = self.samples.n, self.parts.components is not None
        predicted = n if self.predictions is None else len(self.predictions.rows)
        what = "kernel principal" if by_kernel else "principal"
        space = "feature space of the kernel" if by_kernel else "features that the model was given"

        def few(number: int, words: str) -> str:
            return "" if number == n else words.format(f"{number:,} of {n:,} rows")

        return {
            "drawn": few(len(self.drawn), "{} are drawn, chosen at random."),
            "measured": few(self.n_measured, "Measured on {}, drawn at random."),
            "predicted": few(predicted, "{} were predicted."),
            "before": f"Two {what} components of what {self.parts.name} was given.",
            "space": f"in the {space}",
            "after": self._after_words(),
        }

    def _after_words(self) -> str:
        family, candidate = self.parts.components, self.parts.candidate
        if family is None:
            return f"Two principal axes of what {self.parts.name} makes of it."
        words = f"Two principal axes of its {family.n_components_} components"
        if candidate is not None:
            words += f", of the candidate that weighs most: scaling {candidate.scaling}, ridge "
            words += f"{candidate.ridge:g}"
        if self.parts.hedge is not None:
            n_members = len(self.parts.hedge.members_)
            words += f". SCAClassifier is one of the {n_members} classifiers that vote"
        return f"{words}."

    def to_dict(self) -> dict[str, Any]:
        path = None if isinstance(self.explorer, str) else self.explorer
        return {
            "rows": self._rows(),
            "features": self.samples.columns[:SHOWN_FEATURES],
            "classes": self.samples.class_names,
            "domains": self.samples.domain_names,
            "colourings": [colouring.to_dict() for colouring in self.colourings],
            "before": views.pack_view(self.before),
            "after": None if self.after is None else views.pack_view(self.after),
            "explorer": path and {name: path[name] for name in SLIDERS},
        }

    def _rows(self) -> dict[str, Any]:
        samples, drawn, made = self.samples, self.drawn, self.predictions
        predicted, confidence = np.full(samples.n, UNLABELLED), np.full(samples.n, np.nan)
        if made is not None:
            predicted[made.rows] = made.predicted
            if made.confidence is not None:
                confidence[made.rows] = made.confidence
        sure = np.round(confidence[drawn], 4)
        return {
            "number": (drawn + 1).tolist(),
            "domain": samples.domains.domain[drawn].tolist(),
            "class": samples.truth[drawn].tolist(),
            "seen": samples.domains.labelled[drawn].astype(int).tolist(),
            "predicted": predicted[drawn].tolist(),
            "confidence": [None if np.isnan(each) else each for each in sure.tolist()],
            "values": samples.values(drawn),
        }


def find(parts: ModelParts, samples: Samples, asked: Asked) -> Findings:
    """Measure everything, on a draw of the rows where there are many."""
    if parts.precomputed:
        raise ValueError(PRECOMPUTED)
    sample_domain, tell, given = asked.sample_domain, asked.tell, asked.predictions
    made = None if given is None else predictions.read_predictions(samples, given)
    order = draw_rows(samples.domains, asked.random_state)
    drawn, few = np.sort(order[:MAX_DRAWN]), np.sort(order[:MAX_MEASURED])
    measured = np.searchsorted(drawn, few)
    tell("computing embeddings")
    ids = None if sample_domain is None else np.asarray(sample_domain)[drawn]
    both = _View.of(parts, take_rows(samples.X, drawn), ids)
    before, after = views.view(both.space, measured), None
    if both.features is not None:
        after = views.view(Space(both.features, None), measured)
    tell("predicting")
    found = made or predictions.predict(parts, samples, drawn, ids, both.prepared, both.features)
    tell("measuring scatters and distances")
    domains, near = samples.domains.take(few), both.take(measured)
    features = near.features
    spread = None if features is None else measure(Geometry.of_features(features), domains)
    scatters = measures.scatter_lines(measure(near.space.geometry(), domains), spread, domains)
    names, own = samples.domain_names, domains.domain
    distances = measures.measure_distances(near.prepared, features, own, names)
    tell("computing the path over β, δ and k")
    path = explore(parts, near.space, near.prepared, domains, samples.truth[few])
    if not isinstance(path, str):
        path["rows"] = measured[path["rows"]].tolist()
    views_of_rows = (drawn, len(few), before, after, _colourings(samples, drawn, found))
    return Findings(parts, samples, *views_of_rows, found, scatters, distances, path)


class _View(NamedTuple):
    """Some rows before and after: as they reach the model, in its feature space, made by it."""

    prepared: Any
    space: Space
    features: Array | None

    @classmethod
    def of(cls, parts: ModelParts, X: Any, sample_domain: Any) -> _View:
        given = parts.prepare(X, sample_domain)
        features = parts.transform(given, sample_domain)
        prepared = check_table(given, "X")
        return cls(prepared, parts.space(prepared, sample_domain), features)

    def take(self, rows: Codes) -> _View:
        features = None if self.features is None else self.features[rows]
        return _View(self.prepared[rows], self.space.take(rows), features)


def _colourings(samples: Samples, drawn: Codes, found: Predictions | None) -> list[Colouring]:
    domain, names = samples.domains.domain[drawn], samples.class_names
    ways = [views.colour_by("domain", "Domain", samples.domain_names, domain)]
    if names:
        ways.append(views.colour_by("class", "Class", names, samples.truth[drawn], "no label"))
    if found is not None:
        label = np.full(samples.n, UNLABELLED)
        label[found.rows] = found.predicted
        label = np.where(samples.domains.labelled, samples.domains.label, label)[drawn]
        ways.append(views.colour_by("predicted", "Prediction", names, label, "not predicted"))
    return ways
