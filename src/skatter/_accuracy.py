"""Scores over the samples whose label is known: one rule for all estimators.

A sample without a label is neither right nor wrong. What marks it, and what is a class, is told by
:func:`skatter.domains.is_unlabelled` from the classes that were learnt.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_consistent_length, column_or_1d

from skatter._tensors import Array, host, is_tensor
from skatter.domains import is_unlabelled
from skatter.labels import is_continuous, read_numbers

Tally = tuple[float, float, int]
"""Weight of the right predictions, weight of all, and number of labelled samples."""
SCORE_REQUEST = {"sample_domain": True, "sample_weight": True, "allow_source": True}
"""What ``score`` asks to be given where metadata are routed."""
NOTHING_TO_SCORE = "y has no labelled sample to score; give the true labels."


def tally(predicted: Any, y: Any, classes: Array, sample_weight: Any = None) -> Tally:
    """Compare predictions with labels, without the unlabelled; tallies of parts add up."""
    column = column_or_1d(np.asarray(host(y) if is_tensor(y) else y, dtype=object))
    check_consistent_length(predicted, column, sample_weight)
    known = ~is_unlabelled(column, classes)
    labels = np.array(column[known].tolist())
    _check_kind(labels, classes)
    right = labels == np.asarray(predicted)[known]
    weight = np.ones(len(column)) if sample_weight is None else np.asarray(sample_weight)
    return float(weight[known] @ right), float(weight[known].sum()), len(labels)


def share(counted: Tally) -> float:
    """Return the accuracy that a tally amounts to, or say that it counted nothing."""
    right, weight, n_labelled = counted
    if not n_labelled:
        raise ValueError(NOTHING_TO_SCORE)
    return right / weight


def explained(predicted: Array, y: Any, sample_weight: Any = None) -> float:
    """Return R², the share of the variance of the known labels that is explained."""
    numbers = read_numbers(y, n_samples=len(predicted))
    known = ~np.isnan(numbers)
    if not known.any():
        raise ValueError(NOTHING_TO_SCORE)
    weight = None if sample_weight is None else np.asarray(sample_weight)[known]
    return float(r2_score(numbers[known], predicted[known], sample_weight=weight))


def _check_kind(labels: Array, classes: Array) -> None:
    """Raise where labels cannot be meant as the classes that were learnt."""
    text = [names.dtype.kind in "US" for names in (labels, classes)]
    if len(labels) and text[0] != text[1] and classes.dtype.kind != "O":
        raise TypeError(
            f"y holds labels such as {labels[0].item()!r}, and the model has learnt classes such "
            f"as {classes[0].item()!r}; give labels as in fit."
        )
    if is_continuous(labels):
        raise ValueError("y must hold classes to score a classifier, and has fractions.")


class _Scores:
    """An estimator that takes domains and is scored on labelled samples alone."""

    predict: Callable[..., Any]
    __metadata_request__score: ClassVar = SCORE_REQUEST

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        sample_domain: Any = None,
        allow_source: bool = True,
    ) -> float:
        """Return the accuracy, or R² of numbers, over the samples whose label is known.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            True classes, or numbers; samples with -1 (among classes), NaN, None or blank text are
            left out.
        sample_weight : array-like of shape (n_samples,) or None
            Weights; None: all alike.
        sample_domain : array-like of shape (n_samples,) or None
            Their domains, as in ``predict``.
        allow_source : bool
            Ignored: samples may come from any domain. Scorers of scikit-adaptation pass it.

        Returns
        -------
        float
            Share of right predictions, or of the variance that is explained.

        Raises
        ------
        ValueError
            Where no sample has a label.
        """
        return self._score(self.predict(X, sample_domain=sample_domain), y, sample_weight)

    def _score(self, predicted: Any, y: Any, sample_weight: Any) -> float:
        raise NotImplementedError


class ScoresLabelled(_Scores, ClassifierMixin):
    """A classifier that is scored so, and predicts the most probable class."""

    classes_: Any
    predict_proba: Callable[..., Any]

    def predict(self, X: Any, *, sample_domain: Any = None) -> Array:
        """Predict the classes of samples, seen before or not.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        sample_domain : array-like of shape (n_samples,) or None
            Their domains, where they matter. None, and ids that ``fit`` has not seen: the target.
        """
        shares = self.predict_proba(X, sample_domain=sample_domain)
        return self.classes_[shares.argmax(axis=1)]

    def _score(self, predicted: Any, y: Any, sample_weight: Any) -> float:
        return share(tally(predicted, y, self.classes_, sample_weight))

    @property
    def module_(self) -> Any:
        """Say what to do where scikit-adaptation takes this for a neural network.

        Two of its scorers, ``DeepEmbeddedValidation`` and ``MaNoScorer``, look for the network's
        module in every estimator that is no pipeline.
        """
        name = type(self).__name__
        raise AttributeError(
            f"{name} is no neural network, and has no module_. Where a scorer of scikit-adaptation "
            f"looks for one, give it a pipeline: make_domain_pipeline({name}(...))."
        )


class ScoresNumbers(_Scores, RegressorMixin):
    """A regressor that is scored so."""

    def _score(self, predicted: Any, y: Any, sample_weight: Any) -> float:
        return explained(predicted, y, sample_weight)
