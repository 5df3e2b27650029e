"""Features on one scale in every domain.

Many shifts are a change of origin and unit: another camera, another lab, other counts of words.
Means and standard deviations of each domain undo such a shift without a label. They also undo a
difference that is real, such as other shares of the classes; so this is a choice, not a default.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import ndtri
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from skatter._checks import check_samples
from skatter._tensors import (
    Array,
    Tall,
    host,
    host_dtype,
    is_tensor,
    like,
    moments_of_columns,
    take,
)
from skatter.domains import Mask, which_domain
from skatter.labels import read_marked

__all__ = ["DomainRanks", "DomainScaler"]

MOST_QUANTILES = 1000  # of a domain, by which ranks are told
ROUNDING = 1e-9  # standard deviation of normal scores that rounding may leave


class _InEachDomain(OneToOneFeatureMixin, TransformerMixin, BaseEstimator, ABC):
    """Learn something from each domain, and from all that may stand for an unknown one."""

    __metadata_request__fit: ClassVar = {"sample_domain": True, "labelled": True}
    __metadata_request__transform: ClassVar = {"sample_domain": True}

    def fit(
        self, X: Any, y: Any = None, *, sample_domain: Any = None, labelled: Any = None
    ) -> Self:
        """Learn from the samples of every domain.

        Takes what :meth:`skatter.SCA.fit` takes, but for sparse samples. Labels, be they classes
        or numbers, say which domains are targets, and nothing else.
        """
        X = check_samples(self, X, reset=True, sparse=False, tensors=True)
        if y is None and sample_domain is None:
            sample_domain = np.zeros(len(X), dtype=int)
        domains = read_marked(y, sample_domain, labelled=labelled, n_samples=len(X))
        groups = [domains.domain == d for d in range(domains.n_domains)]
        targets = np.flatnonzero(domains.is_target)
        if len(targets) == 1:
            stands_for_others = int(targets[0])
        else:
            stands_for_others = len(groups)
            groups.append(domains.target if len(targets) else np.ones(len(X), dtype=bool))
        self.domain_ids_ = np.array(domains.domain_ids)
        self._learn(X, groups, [*range(domains.n_domains), stands_for_others])
        return self

    @abstractmethod
    def _learn(self, X: Any, groups: Sequence[Mask], of_domains: list[int]) -> None:
        """Set what is learnt from groups of rows.

        ``of_domains`` has the group of each domain, and of all that is in none of them.
        """

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

    @abstractmethod
    def _scaled(self, X: Any, domain: Any) -> Tall:
        """Scale rows by their domain's code; -1 is the last of what was learnt."""


class DomainScaler(_InEachDomain):
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

    def _learn(self, X: Any, groups: Sequence[Mask], of_domains: list[int]) -> None:
        dtype = host_dtype(X)
        if is_tensor(X):
            found = [moments_of_columns(take(X, np.flatnonzero(rows))) for rows in groups]
            means = np.stack([mean for mean, _ in found]).astype(dtype)
            scales = np.sqrt([variance for _, variance in found])
        else:
            means = np.stack([X[rows].mean(axis=0) for rows in groups])
            scales = np.stack([X[rows].std(axis=0) for rows in groups])
        self.means_, scales = means[of_domains], scales[of_domains]
        # A constant feature has the standard deviation that rounding left.
        rounding = 10 * np.finfo(dtype).eps * np.abs(self.means_)
        self.scales_ = np.where(scales > rounding, scales, 1).astype(dtype)

    def _scaled(self, X: Any, domain: Any) -> Tall:
        if is_tensor(X):
            means, scales = (take(like(table, X), domain) for table in (self.means_, self.scales_))
            return (X - means).div_(scales)
        return np.asarray((X - self.means_[domain]) / self.scales_[domain])


class DomainRanks(_InEachDomain):
    """Give every feature the ranks that its values have inside each domain, as normal scores.

    A value becomes the z-score of its rank, Φ⁻¹(share of the domain below it), of values that are
    equal the middle one; then all are standardised. So any rising change of a feature between
    domains is undone, not only one of origin and unit as by :class:`DomainScaler`, and no value is
    an outlier. Samples without a known domain are taken for the target's, as there.

    Attributes
    ----------
    domain_ids_ : ndarray of shape (n_domains,)
        Domains seen in ``fit``.
    quantiles_ : list of ndarray of shape (n_quantiles, n_features)
        Quantiles of each domain, at most 1,000; the last are for samples of any other one.
    means_, scales_ : ndarray of shape (n_domains + 1, n_features)
        Mean and standard deviation of the normal scores, which are not 0 and 1 where values are
        equal. A feature that is constant in a domain is not divided.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter.scaling import DomainRanks
    >>> X, site = [[1.0], [2.0], [4.0], [0.1], [0.2], [9.0]], ["a"] * 3 + ["b"] * 3
    >>> DomainRanks().fit_transform(X, sample_domain=site).ravel().round(2)
    array([-1.22,  0.  ,  1.22, -1.22,  0.  ,  1.22])
    """

    def _learn(self, X: Any, groups: Sequence[Mask], of_domains: list[int]) -> None:
        parts = [host(X)[rows] for rows in groups]
        quantiles = [_quantiles(part) for part in parts]
        scores = [_normal_scores(*each) for each in zip(parts, quantiles, strict=True)]
        self.quantiles_ = [quantiles[group] for group in of_domains]
        self.means_ = np.stack([each.mean(axis=0) for each in scores])[of_domains]
        scales = np.stack([each.std(axis=0) for each in scores])[of_domains]
        # A constant feature has the standard deviation that rounding left; others at least 1/n.
        self.scales_ = np.where(scales > ROUNDING, scales, 1)

    def _scaled(self, X: Any, domain: Any) -> Tall:
        values, out = host(X), np.empty(X.shape, dtype=self.means_.dtype)
        for code in np.unique(domain):
            rows = domain == code
            scores = _normal_scores(values[rows], self.quantiles_[code])
            out[rows] = (scores - self.means_[code]) / self.scales_[code]
        return like(out, X) if is_tensor(X) else out


def _levels(n: int) -> Array:
    return (np.arange(n) + 0.5) / n


def _quantiles(X: Array) -> Array:
    """Return values of every column in rising order: all, or some as far apart as can be."""
    places = _levels(min(MOST_QUANTILES, len(X))) * len(X)
    return np.asarray(np.sort(X, axis=0)[places.astype(int)])


def _normal_scores(X: Array, quantiles: Array) -> Array:
    """Return Φ⁻¹ of the share of a domain below each value, given its quantiles by column."""
    levels = _levels(len(quantiles))
    out = np.empty_like(X)
    for values, known, column in zip(X.T, quantiles.T, out.T, strict=True):
        # From below and from above: the middle of the ranks of equal values.
        rising = np.interp(values, known, levels)
        falling = np.interp(-values, -known[::-1], levels)
        column[:] = ndtri((rising + 1 - falling) / 2)
    return out
