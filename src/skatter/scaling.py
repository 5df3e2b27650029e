"""Features on one scale in every domain.

Many shifts are a change of origin and unit: another camera, another lab, other counts of words.
Means and standard deviations of each domain undo such a shift without a label. They also undo a
difference that is real, such as other shares of the classes; so this is a choice, not a default.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from skatter._checks import check_samples
from skatter._tensors import Tall, host_dtype, is_tensor, like, moments_of_columns, take
from skatter.domains import which_domain
from skatter.labels import read_marked

__all__ = ["DomainScaler"]


class DomainScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Give every feature mean zero and standard deviation one inside each domain.

    Samples of a domain that was not seen in ``fit``, and samples without one, are taken for the
    target's: they are scaled by all target samples together, or by all samples where there was no
    target.

    Attributes
    ----------
    domain_ids_ : ndarray of shape (n_domains,)
        Domains seen in ``fit``.
    means_, scales_ : ndarray of shape (n_domains + 1, n_features)
        Mean and standard deviation of each domain; the last row is for samples of any other one.
        A feature that is constant in a domain is not divided.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter import DomainScaler
    >>> X, site = [[1.0], [3.0], [10.0], [30.0]], ["a", "a", "b", "b"]
    >>> scaler = DomainScaler().fit(X, sample_domain=site)
    >>> scaler.transform(X, sample_domain=site).ravel()
    array([-1.,  1., -1.,  1.])
    """

    __metadata_request__fit: ClassVar = {"sample_domain": True, "labelled": True}
    __metadata_request__transform: ClassVar = {"sample_domain": True}

    def fit(
        self, X: Any, y: Any = None, *, sample_domain: Any = None, labelled: Any = None
    ) -> DomainScaler:
        """Learn the mean and the standard deviation of every feature in every domain.

        Takes what :meth:`skatter.SCA.fit` takes, but for sparse samples. Labels, be they classes
        or numbers, say which domains are targets, and nothing else.
        """
        X = check_samples(self, X, reset=True, sparse=False, tensors=True)
        if y is None and sample_domain is None:
            sample_domain = np.zeros(len(X), dtype=int)
        domains = read_marked(y, sample_domain, labelled=labelled, n_samples=len(X))
        others = domains.target if domains.target.any() else np.ones(len(X), dtype=bool)
        groups = [*(domains.domain == d for d in range(domains.n_domains)), others]
        self.domain_ids_ = np.array(domains.domain_ids)
        dtype = host_dtype(X)
        if is_tensor(X):
            found = [moments_of_columns(take(X, np.flatnonzero(rows))) for rows in groups]
            self.means_ = np.stack([mean for mean, _ in found]).astype(dtype)
            scales = np.sqrt([variance for _, variance in found])
        else:
            self.means_ = np.stack([X[rows].mean(axis=0) for rows in groups])
            scales = np.stack([X[rows].std(axis=0) for rows in groups])
        # A constant feature has the standard deviation that rounding left.
        rounding = 10 * np.finfo(dtype).eps * np.abs(self.means_)
        self.scales_ = np.where(scales > rounding, scales, 1).astype(dtype)
        return self

    def fit_transform(
        self, X: Any, y: Any = None, *, sample_domain: Any = None, labelled: Any = None
    ) -> Tall:
        """Learn, and scale ``X``; takes what :meth:`fit` takes."""
        self.fit(X, y, sample_domain=sample_domain, labelled=labelled)
        X = check_samples(self, X, reset=False, sparse=False, tensors=True)
        if sample_domain is None and y is not None:
            return self._scaled(X, read_marked(y, labelled=labelled, n_samples=len(X)).domain)
        return self.transform(X, sample_domain=sample_domain)

    def transform(self, X: Any, *, sample_domain: Any = None) -> Tall:
        """Scale samples, seen before or not, each as its domain asks.

        Parameters
        ----------
        X : array-like or Tensor of shape (n_samples, n_features)
            Samples.
        sample_domain : array-like of shape (n_samples,) or None
            Their domains; None: the target.
        """
        check_is_fitted(self)
        X = check_samples(self, X, reset=False, sparse=False, tensors=True)
        if sample_domain is None:
            return self._scaled(X, np.full(len(X), -1))
        return self._scaled(X, which_domain(sample_domain, self.domain_ids_, n_samples=len(X)))

    def _scaled(self, X: Any, domain: Any) -> Tall:
        """Scale rows by their domain's code; -1 is the last row of the statistics."""
        if is_tensor(X):
            means, scales = (take(like(table, X), domain) for table in (self.means_, self.scales_))
            return (X - means).div_(scales)
        return np.asarray((X - self.means_[domain]) / self.scales_[domain])
