"""What methods share that weigh source samples: a classifier of the user's, trained with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import has_fit_parameter

from skatter._parameters import declared, optional, parameter
from skatter._tensors import Array
from skatter.kernels import Kernel, WithKernel, kernel_of
from skatter.methods._base import SourceClassifier, Transfer


def takes_weights(name: str, value: Any) -> None:
    last = value
    while isinstance(last, Pipeline):
        last = last.steps[-1][1]
    if not (hasattr(last, "predict") and has_fit_parameter(last, "sample_weight")):
        raise TypeError(
            f"{name} must be a classifier whose fit takes sample_weight, got {value!r}. Use "
            "e.g. LogisticRegression, SVC or RandomForestClassifier."
        )


def _estimator_has(name: str) -> Callable[[WeightedClassifier], bool]:
    def check(model: WeightedClassifier) -> bool:
        chosen = LogisticRegression if model.estimator is None else model.estimator
        return hasattr(getattr(model, "estimator_", chosen), name)

    return check


@declared
class WeightedClassifier(WithKernel, SourceClassifier):
    """Base of methods that weigh the source samples; one of them implements ``_weigh``.

    Parameters
    ----------
    estimator : classifier or None
        Trained on the labelled source samples with ``sample_weight``, which the last step of a
        pipeline receives. None is :class:`~sklearn.linear_model.LogisticRegression` on
        standardised features. Nearest neighbours cannot use weights.

    Attributes
    ----------
    weights_ : ndarray of shape (n_samples,)
        In the order of the samples; 0 for the target.
    estimator_ : classifier
        Trained on the weighted source.
    """

    __metadata_request__predict_proba: ClassVar = {"sample_domain": True}
    __metadata_request__predict_log_proba: ClassVar = {"sample_domain": True}
    _takes_sparse = True
    estimator: Any = parameter(optional(takes_weights), default=None, kw_only=False)

    def _check_together(self) -> None:
        self._refuse_precomputed("the classifier needs the samples themselves")

    def _weigh(self, kernel: Kernel, source: Any, target: Any) -> Array:
        raise NotImplementedError

    def _fit(self, transfer: Transfer) -> None:
        self.weights_ = np.zeros(len(transfer.source))
        # Single precision would leave a kernel with negative eigenvalues.
        sides = transfer.X_source, transfer.X_target
        source, target = (X.astype(np.float64, copy=False) for X in sides)
        self.weights_[transfer.source] = self._weigh(kernel_of(self, transfer.X), source, target)
        train = transfer.source & transfer.labelled
        if not self.weights_[train].any():
            raise ValueError(
                "All labelled source samples have a weight of zero: to this kernel, none of them "
                "is near the target. Choose a smaller gamma, or None."
            )
        X, y = transfer.X[train], transfer.classes[transfer.label[train]]
        # Sparse samples cannot be centred; the intercept, which has no penalty, makes up for it.
        scaler = StandardScaler(with_mean=not sparse.issparse(X))
        default = make_pipeline(scaler, LogisticRegression(max_iter=1000))
        estimator = default if self.estimator is None else clone(self.estimator)
        self.estimator_ = _fit_weighted(estimator, X, y, self.weights_[train])
        self._source_labels(transfer)

    def _ask(self, method: str, X: Any) -> Array:
        X = self._checked(X)
        return getattr(self.estimator_, method)(X)

    def predict(self, X: Any, *, sample_domain: Any = None) -> Array:
        """Return the class of each sample; all are treated alike, whatever ``sample_domain``."""
        return self._ask("predict", X)

    @available_if(_estimator_has("decision_function"))
    def decision_function(self, X: Any, *, sample_domain: Any = None) -> Array:
        """Return the decision values of ``estimator_``; takes what :meth:`predict` takes."""
        return self._ask("decision_function", X)

    @available_if(_estimator_has("predict_proba"))
    def predict_proba(self, X: Any, *, sample_domain: Any = None) -> Array:
        """Return the probability of each class; takes what :meth:`predict` takes."""
        return self._ask("predict_proba", X)

    @available_if(_estimator_has("predict_log_proba"))
    def predict_log_proba(self, X: Any, *, sample_domain: Any = None) -> Array:
        """Return the logarithm of the probabilities; takes what :meth:`predict` takes."""
        return self._ask("predict_log_proba", X)


def _fit_weighted(estimator: Any, X: Any, y: Array, weights: Array) -> Any:
    if not isinstance(estimator, Pipeline):
        return estimator.fit(X, y, sample_weight=weights)
    if len(estimator) > 1:
        X = estimator[:-1].fit_transform(X, y)
    _fit_weighted(estimator.steps[-1][1], X, y, weights)
    return estimator
