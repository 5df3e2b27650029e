"""What a model does to an unlabelled target: fits that criteria share, each made when asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state

from skatter._checks import check_table, n_rows, take_rows
from skatter._tensors import Array
from skatter.domains import UNLABELLED, Codes, Domains, Mask, read_domains
from skatter.pipeline import call_step, fit_on_domains
from skatter.selection._splitters import LeaveOneDomainOut
from skatter.selection.criteria._predictions import is_collapsed, nearest_class_probabilities
from skatter.selection.criteria._scatters import unknown_target
from skatter.selection.criteria._weights import importance_weights

N_FOLDS = 5
Judge = Callable[[Codes], float]
"""Class codes predicted for the unlabelled samples of the target, to a score."""
MakeJudge = Callable[[Any, Domains, int], Judge]
"""Samples, what is known of them, and a seed, to a judge."""


class HeldOut(NamedTuple):
    """Whether models predict source samples right whose labels they did not see, and weights.

    The weights are importance weights in the features of those models.
    """

    correct: Mask
    weights: Array


class Evidence:
    """A model, the samples it is judged on, and the fits that criteria share."""

    def __init__(
        self,
        model: Any,
        X: Any,
        y: Any,
        *,
        sample_domain: Any = None,
        labelled: Any = None,
        random_state: Any = None,
        judges: dict[MakeJudge, Judge] | None = None,
    ) -> None:
        self._judges = {} if judges is None else judges
        self._model = model
        self._X = X if hasattr(X, "shape") else np.asarray(X)
        self.domains = read_domains(y, sample_domain, labelled=labelled, n_samples=n_rows(X))
        self._seed = seed_of(random_state)
        self.target = unknown_target(self.domains)
        self.source = np.flatnonzero(self.domains.labelled & self.domains.source)
        if len(np.unique(self.domains.label[self.source])) < 2:
            raise ValueError("y must hold two classes or more among the samples of the sources.")

    # --- one fit on everything ------------------------------------------------------------------

    @cached_property
    def fitted(self) -> Any:
        return self._fit(self.domains)

    @cached_property
    def predicted(self) -> Codes:
        return self._codes(self.fitted, self.target)

    @cached_property
    def features(self) -> Any:
        """What the classifier inside the model sees of all samples."""
        return self._features(self.fitted)

    @cached_property
    def probabilities(self) -> Array:
        """Class probabilities of the target, of distances where the model itself has none.

        A model that is always sure, such as 1-nearest-neighbour, says nothing by being so. Then
        :func:`nearest_class_probabilities` of the features stand in.
        """
        label, classes = self.domains.label, self.domains.classes
        if hasattr(self.fitted, "predict_proba"):
            given = self._predict(self.fitted, "predict_proba", self.target)
            names = np.asarray(self.fitted.classes_).astype(classes.dtype)
            P = np.zeros((len(given), len(classes)))
            P[:, np.searchsorted(classes, names)] = given
            if np.any((P > 0) & (P < 1)):
                return P
        known = np.flatnonzero(self.domains.labelled)
        return nearest_class_probabilities(
            self.features[known], label[known], self.features[self.target], len(classes)
        )

    @cached_property
    def collapsed(self) -> bool:
        return is_collapsed(self.predicted, self.domains.label[self.source])

    def score_by(self, make_judge: MakeJudge) -> float:
        if make_judge not in self._judges:
            self._judges[make_judge] = make_judge(self._X, self.domains, self._seed)
        return self._judges[make_judge](self.predicted)

    # --- more fits ------------------------------------------------------------------------------

    @cached_property
    def held_out(self) -> HeldOut:
        """Labelled source samples in folds: they stay in their domain and lose their label."""
        label = self.domains.label[self.source]
        n_splits = min(N_FOLDS, int(np.bincount(label).max()))
        if n_splits < 2:
            raise ValueError("y needs a class with two labelled samples in the sources for folds.")
        folds = StratifiedKFold(n_splits, shuffle=True, random_state=self._seed)
        correct = np.zeros(len(self.source), dtype=bool)
        weights = np.zeros(len(self.source))
        for _, fold in folds.split(self.source, label):
            held = self.source[fold]
            fitted = self._fit(self.domains.hide(held))
            correct[fold] = self._codes(fitted, held) == self.domains.label[held]
            features = self._features(fitted)
            weights[fold] = importance_weights(
                features[np.setdiff1d(self.source, held)], features[self.target], at=features[held]
            )
        return HeldOut(correct, weights)

    @cached_property
    def left_out(self) -> list[float]:
        """Accuracy on each source domain, by a model that saw nothing of it."""
        y = np.where(self.domains.labelled & self.domains.source, self.domains.label, UNLABELLED)
        accuracies = []
        # Codes carry no sign: a target is told by its missing labels.
        for learn, held in LeaveOneDomainOut().split(self._X, y, self.domains.domain):
            fitted = self._fit(self.domains.take(learn), take_rows(self._X, learn))
            right = self._codes(fitted, held) == self.domains.label[held]
            accuracies.append(float(right.mean()))
        return accuracies

    @cached_property
    def circular(self) -> float:
        """Accuracy on the source of a model that learns from the target's predictions alone."""
        truth = self.domains.label[self.source]
        if len(np.unique(self.predicted)) == 1:
            return float(np.mean(truth == self.predicted[0]))
        label = np.full_like(self.domains.label, UNLABELLED)
        label[self.target] = self.predicted
        # Domain codes carry no sign: the sources, unlabelled now, are the target of the way back.
        codes = np.arange(self.domains.n_domains)
        back = replace(self.domains, label=label, domain_ids=codes)
        return float(np.mean(self._codes(self._fit(back), self.source, codes) == truth))

    # --- steps ----------------------------------------------------------------------------------

    def _fit(self, domains: Domains, X: Any = None) -> Any:
        X = self._X if X is None else X
        return fit_on_domains(self._model, X, _masked(domains), domains)

    def _predict(self, fitted: Any, method: str, rows: Codes, ids: Array | None = None) -> Array:
        ids = (self.domains.domain_ids if ids is None else ids)[self.domains.domain[rows]]
        return np.asarray(call_step(getattr(fitted, method), take_rows(self._X, rows), ids))

    def _codes(self, fitted: Any, rows: Codes, ids: Array | None = None) -> Codes:
        classes = self.domains.classes
        names = self._predict(fitted, "predict", rows, ids).astype(classes.dtype)
        return np.searchsorted(classes, names)

    def _features(self, fitted: Any) -> Any:
        """Output of the last transformer of a model, or the samples themselves."""
        ids = self.domains.domain_ids[self.domains.domain]
        in_steps = isinstance(fitted, Pipeline) and len(fitted) > 1
        for model in (fitted, fitted[:-1]) if in_steps else (fitted,):
            if hasattr(model, "transform"):
                return check_table(call_step(model.transform, self._X, ids), "the features of X")
        return check_table(self._X, "X")


def seed_of(random_state: Any) -> int:
    """Return one seed for all models, so that they are judged on the same folds; None is 0."""
    if random_state is None or isinstance(random_state, Integral):
        return int(random_state or 0)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def _masked(domains: Domains) -> Array:
    """Return labels under the user's names, marked where they are unknown as users mark them."""
    plain = domains.classes.dtype.kind in "iu" and UNLABELLED not in domains.classes
    names: list[Any] = [*domains.classes.tolist(), UNLABELLED if plain else None]
    # Code -1, an unlabelled sample, takes the last name.
    return np.array(names, dtype=int if plain else object)[domains.label]
