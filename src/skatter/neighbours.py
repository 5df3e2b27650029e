"""The paper's classifier, for arrays of every kind and for streams: the nearest neighbour.

scikit-learn's :class:`~sklearn.neighbors.KNeighborsClassifier` knows neither tensors nor
``partial_fit``. On NumPy arrays both give the same answers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from skatter import _tensors as tensors
from skatter._accuracy import share, tally
from skatter._checks import TakesSparse, check_labels, check_samples, seeded
from skatter._parameters import COUNT, Declared, declared, optional, parameter, random_state
from skatter._tensors import Array
from skatter.domains import Codes

__all__ = ["NearestNeighbour"]


def nearest_rows(X: Any, others: Any) -> Codes:
    """Return which of some other samples lies nearest to each of ``X``; of several, the first."""
    if tensors.is_tensor(X):
        return tensors.nearest_rows(X, others)
    return np.asarray(pairwise_distances_argmin(X, others))


@declared
class NearestNeighbour(TakesSparse, Declared, ClassifierMixin, BaseEstimator):
    """Predict the class of the training sample that lies nearest.

    Parameters
    ----------
    max_samples : int or None
        Training samples to keep at most, drawn at random from all that were seen, each as likely as
        the others; None keeps all. It bounds the memory of a stream and the time of a prediction.
    random_state : int, RandomState instance or None
        Draws them; None is a fixed seed.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes that were seen.
    X_fit_ : array or tensor of shape (n_kept, n_features)
        Training samples.
    n_samples_seen_ : int
        How many came along.

    Examples
    --------
    >>> from skatter import NearestNeighbour
    >>> model = NearestNeighbour().fit([[0.0], [4.0]], ["low", "high"])
    >>> model.predict([[1.0], [3.0]])
    array(['low', 'high'], dtype='<U4')
    """

    max_samples: int | None = parameter(optional(COUNT), default=None, kw_only=False)
    random_state: Any = parameter(random_state, default=None)

    def fit(self, X: Any, y: Any) -> NearestNeighbour:
        """Remember samples, which may be a sparse matrix or a tensor, and their classes."""
        for name in ("X_fit_", "classes_"):
            self.__dict__.pop(name, None)
        return self.partial_fit(X, y)

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> NearestNeighbour:
        """Remember more samples; takes what :meth:`fit` takes, and the classes that may come."""
        first = "X_fit_" not in vars(self)
        self.check_parameters()
        X = check_samples(self, X, reset=first, tensors=True, least=1)
        names = check_labels(self, y, X.shape[0])
        check_classification_targets(names)
        if first:
            self._random = seeded(self.random_state)
            self.X_fit_, self.classes_, self.n_samples_seen_ = X[:0], names[:0], 0
            self._codes, self._keys = np.empty(0, dtype=np.intp), np.empty(0)
        tensors.require_same_place(X, self.X_fit_, "X")
        more = names if classes is None else np.concatenate([names, np.asarray(classes)])
        known = np.unique(np.concatenate([self.classes_, more]))
        before = np.searchsorted(known, self.classes_)[self._codes]
        self._codes = np.concatenate([before, np.searchsorted(known, names)])
        self.classes_ = known
        # A copy: what is kept must not change when the caller's samples do.
        together = sparse.vstack if sparse.issparse(X) else tensors.vstack
        self.X_fit_ = together([self.X_fit_, X])
        self._keys = np.concatenate([self._keys, self._random.uniform(size=len(names))])
        self.n_samples_seen_ += len(names)
        if self.max_samples is not None and len(self._keys) > self.max_samples:
            # The samples with the smallest random keys stay, in the order they came.
            kept = np.sort(np.argpartition(self._keys, self.max_samples)[: self.max_samples])
            self.X_fit_ = tensors.take(self.X_fit_, kept)
            self._codes, self._keys = self._codes[kept], self._keys[kept]
        return self

    def predict(self, X: Any) -> Array:
        """Return the class of the nearest training sample, of several the first, on the host."""
        check_is_fitted(self)
        X = check_samples(self, X, reset=False, tensors=True)
        tensors.require_same_place(X, self.X_fit_, "X")
        return np.asarray(self.classes_[self._codes[nearest_rows(X, self.X_fit_)]])

    def predict_proba(self, X: Any) -> Array:
        """Return 1 for the class that is predicted and 0 for all others."""
        return np.asarray(self.predict(X)[:, None] == self.classes_, dtype=np.float64)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy over the samples whose label is known.

        Samples with -1, NaN, None or blank text in ``y`` are left out, unless it is a class.
        """
        return share(tally(self.predict(X), y, self.classes_, sample_weight))

    def to(self, place: str) -> NearestNeighbour:
        """Return a copy that works on ``"numpy"``, or on a device of torch such as ``"cuda:0"``."""
        check_is_fitted(self)
        return tensors.moved(self, ("X_fit_",), place)
