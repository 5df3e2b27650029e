"""Scores over the samples whose label is known: one rule for all estimators.

A sample without a label is neither right nor wrong. What marks it, and what is a class, is told by
:func:`skatter.domains.is_unlabelled` from the classes that were learnt.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_consistent_length, column_or_1d

from skatter.domains import is_unlabelled
from skatter.labels import is_continuous, read_numbers
from skatter.tensors import host, is_tensor

Array = NDArray[Any]
Tally = tuple[float, float, int]
"""Weight of the right predictions, weight of all, and number of labelled samples."""

SCORE_REQUEST = {"sample_domain": True, "sample_weight": True, "allow_source": True}
"""What ``score`` asks to be given where metadata are routed."""

NOTHING_TO_SCORE = "y has no labelled sample to score; give the true labels."


def tally(predicted: Any, y: Any, classes: Array, sample_weight: Any = None) -> Tally:
    """Compare predictions with labels, without the unlabelled; tallies of parts add up.

    Examples
    --------
    >>> tally([0, 1, 1, 0], [0, 0, -1, 7], np.array([0, 1]))
    (1.0, 3.0, 3)
    """
    column = column_or_1d(np.asarray(host(y) if is_tensor(y) else y, dtype=object))
    check_consistent_length(predicted, column, sample_weight)
    known = ~is_unlabelled(column, classes)
    labels = np.array(column[known].tolist())
    _check_kind(labels, classes)
    right = labels == np.asarray(predicted)[known]
    weight = np.ones(len(column)) if sample_weight is None else np.asarray(sample_weight)
    return float(weight[known] @ right), float(weight[known].sum()), len(labels)


def share(counted: Tally) -> float:
    """Return the accuracy that a tally amounts to, or say that it counted nothing.

    Examples
    --------
    >>> share((1.0, 4.0, 4))
    0.25
    """
    right, weight, n_labelled = counted
    if not n_labelled:
        raise ValueError(NOTHING_TO_SCORE)
    return right / weight


def explained(predicted: Array, y: Any, sample_weight: Any = None) -> float:
    """Return R², the share of the variance of the known labels that is explained.

    Examples
    --------
    >>> explained(np.array([1.0, 2.0, 5.0]), [1.0, 2.0, np.nan])
    1.0
    """
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


class ScoresLabelled(ClassifierMixin):
    """A classifier that takes domains and is scored on labelled samples alone."""

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
        """Return the accuracy over the samples whose label is known.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            True classes; samples with -1, NaN, None or blank text are left out.
        sample_weight : array-like of shape (n_samples,) or None
            Weights; None: all alike.
        sample_domain : array-like of shape (n_samples,) or None
            Their domains, as in ``predict``.
        allow_source : bool
            Ignored: samples may come from any domain. Scorers of scikit-adaptation pass it.

        Returns
        -------
        float
            Share of right predictions.

        Raises
        ------
        ValueError
            Where no sample has a label.
        """
        predicted = self.predict(X, sample_domain=sample_domain)
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


class ScoresNumbers(RegressorMixin):
    """A regressor that takes domains and is scored on labelled samples alone."""

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
        """Return R² over the samples whose label is known.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            True numbers; samples with NaN or None are left out.
        sample_weight, sample_domain, allow_source
            As in :meth:`ScoresLabelled.score`.

        Raises
        ------
        ValueError
            Where no sample has a label.
        """
        return explained(self.predict(X, sample_domain=sample_domain), y, sample_weight)
