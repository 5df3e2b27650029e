"""What linear and kernel classifiers should see of components: class means, in the target's unit.

Components of SCA pull the members of a labelled class together, and leave unlabelled samples where
they are. So the labelled samples of a class are nearly a point, the leading components often hold
what varies in the target alone, and differences that are tiny in the target look certain in the
source. The nearest neighbour and the nearest class mean do not mind. A classifier with a penalty,
or with a bandwidth taken from its training samples, does.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from skatter._checks import check_samples
from skatter._solve.small import column_signs
from skatter._tensors import Array
from skatter.domains import Domains, read_domains, require_labels

__all__ = ["ClassSpan"]


class ClassSpan(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Keep the span of the class means, in the unit of the target; for use behind SCA.

        z  →  Vᵀ (z − m) / s        V: orthonormal axes of the differences of class means
                                    s² = mean over axes of the target's variance

    Nothing is lost for the nearest class mean, but for the factor s². What is left out are
    directions in which no two classes differ. All axes are divided by one number, so that the
    penalty of a linear classifier weighs against the spread of the samples that it will predict.

    Behind it use ``SVC(gamma="auto")``: ``gamma="scale"`` takes the bandwidth from the labelled
    samples, which are nearly points; ``"auto"`` is 1 over the number of axes, and so the target's.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        V, transposed; the axis along which class means differ most comes first.
    mean_ : ndarray of shape (n_features,)
        m, the mean of all samples.
    unit_ : float
        s; of all samples where there is no target.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skatter import SCA, make_domain_pipeline
    >>> from skatter.class_span import ClassSpan
    >>> rng = np.random.default_rng(0)
    >>> y, site = np.tile([0, 1, 2], 40), np.repeat(["here", "there"], 60)
    >>> X = rng.normal(size=(120, 5)) + 3 * np.eye(3, 5)[y] + (site == "there")[:, None]
    >>> known = np.where(site == "here", y, -1)
    >>> model = make_domain_pipeline(SCA(), ClassSpan(), LogisticRegression())
    >>> bool(model.fit(X, known, sample_domain=site).score(X[60:], y[60:]) > 0.8)
    True
    """

    __metadata_request__fit: ClassVar = {"sample_domain": True, "labelled": True}

    def fit(
        self, X: Any, y: Any = None, *, sample_domain: Any = None, labelled: Any = None
    ) -> ClassSpan:
        """Learn the axes from labelled samples, and the unit from the target's.

        Takes what :meth:`skatter.SCA.fit` takes, with components for ``X``.
        """
        X = check_samples(self, X, reset=True, sparse=False)
        domains = read_domains(y, sample_domain, labelled=labelled, n_samples=len(X))
        require_labels(self, domains)
        self.mean_ = X.mean(axis=0)
        self.components_ = _axes(X, domains)
        rows = domains.target if domains.target.any() else np.ones(len(X), dtype=bool)
        variance = float(np.mean(np.var(X[rows] @ self.components_.T, axis=0)))
        self.unit_ = float(np.sqrt(variance)) if variance > 0 else 1.0
        return self

    def transform(self, X: Any) -> Array:
        """Return samples on the axes of the class means, in the target's unit."""
        check_is_fitted(self)
        X = check_samples(self, X, reset=False, sparse=False)
        return np.asarray((X - self.mean_) @ self.components_.T / self.unit_)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _axes(X: Array, domains: Domains) -> Array:
    """Return orthonormal axes of the differences of class means, as rows."""
    present = np.flatnonzero(domains.class_counts)
    if len(present) < 2:
        raise ValueError("ClassSpan needs labelled samples of two classes or more.")
    means = np.stack([X[domains.label == c].mean(axis=0) for c in present])
    _, size, axes = np.linalg.svd(means - means.mean(axis=0), full_matrices=False)
    # Means that coincide, but for rounding, span nothing.
    rounding = 100 * np.finfo(X.dtype).eps * np.abs(X).max()
    kept = axes[: max(1, min(len(present) - 1, int(np.count_nonzero(size > rounding))))]
    return np.asarray(kept * column_signs(kept.T)[:, None])
