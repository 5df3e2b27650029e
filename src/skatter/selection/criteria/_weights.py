"""Judging by source labels, with source samples weighted as if they came from the target.

A domain classifier tells source from target: with q(x) its probability of the target, the ratio
of densities is

    w(x) = p_T(x)/p_S(x) = (n_S/n_T) · q(x)/(1 − q(x)),

and the mean of w·loss over held-out source samples estimates the loss on the target. It does so
where the class of a sample depends on its features in the same way in both domains (covariate
shift), and only if few samples do not carry all the weight: see :func:`effective_sample_size`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skatter._checks import check_alike, check_integer, check_table
from skatter._tensors import Array

SURE = 1e-6
"""The domain classifier is never surer than this, so that weights are finite and positive."""


def importance_weights(
    source: Any, target: Any, *, at: Any = None, cv: int = 5, random_state: Any = None
) -> Array:
    """Ratio of the densities of target and source, at the source samples.

    The domain classifier is a logistic regression on standardised features. Each source sample is
    weighed by one that was fitted without it, as a classifier that knows a sample is too sure of
    it. Weights are positive, and about one in the mean; above √n times their mean they are cut down
    to that, which bounds the variance at the price of a bias that vanishes with n.

    Parameters
    ----------
    source, target : array-like of shapes (n_source, n_features) and (n_target, n_features)
        Features of both sides.
    at : array-like of shape (n_new, n_features) or None
        Weigh these samples of the source's distribution instead, by one classifier that was
        fitted on all of ``source`` and ``target``.
    cv : int
        Folds; fewer where a side has fewer samples.
    random_state : int, RandomState instance or None
        Shuffles the folds; None is a fixed seed.

    References
    ----------
    S. Bickel, M. Brückner, T. Scheffer: Discriminative Learning for Differing Training and Test
    Distributions. ICML 2007. E. Ionides: Truncated Importance Sampling. JCGS 17(2), 2008.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> near, far = rng.normal(size=(200, 1)), rng.normal(1.0, size=(200, 1))
    >>> weights = importance_weights(near, far)
    >>> bool(weights[near[:, 0] > 0].mean() > weights[near[:, 0] < 0].mean())
    True
    """
    source, target = check_table(source, "source"), check_table(target, "target")
    check_alike(source=source, target=target)
    n_source, n_target = source.shape[0], target.shape[0]
    is_sparse = sparse.issparse(source)
    both = (sparse.vstack if is_sparse else np.vstack)([source, target])
    is_target = np.repeat([0, 1], [n_source, n_target])
    # Sparse features are not centred.
    model = make_pipeline(StandardScaler(with_mean=not is_sparse), LogisticRegression(max_iter=500))
    if at is None:
        n_splits = min(check_integer("cv", cv, low=2), n_source, n_target)
        if n_splits < 2:
            raise ValueError("source and target need two samples each for a domain classifier.")
        seed = 0 if random_state is None else random_state
        folds = StratifiedKFold(n_splits, shuffle=True, random_state=seed)
        unseen = cross_val_predict(model, both, is_target, cv=folds, method="predict_proba")
        share = unseen[:n_source, 1]
    else:
        share = model.fit(both, is_target).predict_proba(check_table(at, "at"))[:, 1]
    share = np.clip(share, SURE, 1 - SURE)
    weights = n_source / n_target * share / (1 - share)
    return np.minimum(weights, np.sqrt(len(weights)) * weights.mean())


def effective_sample_size(weights: Any) -> float:
    """Return the number of equally weighted samples that say as much, (Σw)²/Σw².

    Examples
    --------
    >>> effective_sample_size([1.0, 1.0, 1.0, 1.0]), effective_sample_size([9.0, 0.0, 0.0])
    (4.0, 1.0)
    """
    w = _read(weights)
    return float(w.sum() ** 2 / np.square(w).sum())


def importance_weighted_accuracy(correct: Any, weights: Any) -> float:
    """Share of the weight on right predictions, Σ w·correct/Σ w: accuracy to expect of the target.

    Parameters
    ----------
    correct : array-like of shape (n_samples,)
        Whether each held-out source sample is predicted right.
    weights : array-like of shape (n_samples,)
        Their :func:`importance_weights`.

    References
    ----------
    M. Sugiyama, M. Krauledat, K.-R. Müller: Covariate Shift Adaptation by Importance Weighted
    Cross Validation. JMLR 8, 2007.

    Examples
    --------
    >>> importance_weighted_accuracy([True, False], [3.0, 1.0])
    0.75
    """
    w = _read(weights)
    return float(np.average(_beside(w, "correct", correct), weights=w))


def deep_embedded_validation(losses: Any, weights: Any) -> float:
    """Minus the importance-weighted risk, with the weights themselves as a control variate.

    The risk mean(w·l) varies with the weights that were drawn. Their mean is known to be one, so
    ``mean(w·l) + η·mean(w) − η`` estimates the same, and η = −Cov(w·l, w)/Var(w) leaves it the
    least variance. It is not bounded by the losses.

    Parameters
    ----------
    losses : array-like of shape (n_samples,)
        Loss of each held-out source sample.
    weights : array-like of shape (n_samples,)
        Their :func:`importance_weights`, measured on the features that the classifier sees.

    References
    ----------
    K. You, X. Wang, M. Long, M. Jordan: Towards Accurate Model Selection in Deep Unsupervised
    Domain Adaptation. ICML 2019.

    Examples
    --------
    >>> deep_embedded_validation([1.0, 0.0], [1.0, 1.0])
    -0.5
    """
    w = _read(weights)
    weighted = w * _beside(w, "losses", losses)
    spread = np.var(w, ddof=1) if len(w) > 1 else 0.0
    eta = -np.cov(weighted, w)[0, 1] / spread if spread > 0 else 0.0
    return -float(weighted.mean() + eta * w.mean() - eta)


def _read(weights: Any) -> Array:
    w = np.asarray(weights, dtype=np.float64)
    if w.ndim != 1 or not (np.all(w >= 0) and 0 < w.sum() < np.inf):
        raise ValueError("weights must be a list of finite, non-negative numbers, not all zero.")
    return w


def _beside(weights: Array, name: str, values: Any) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != weights.shape:
        raise ValueError(
            f"{name} must hold one number for each of the {len(weights)} weights, got shape "
            f"{array.shape}."
        )
    return array
