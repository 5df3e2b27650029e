"""Our own criterion: how much class scatter the target's predictions share with the sources.

Every domain is standardised on its own, so that shifts and units do not count. Let m_c be the mean
of class c over the labelled source samples, m'_c its mean over the target samples that are
predicted to be c, π_c their share, and Ψ, Ψ' the scatter of a standardised source and target. Then

    shared    = Σ_c π_c ⟨m_c, m'_c⟩ / √(Ψ Ψ')
    own       = Σ_c π_c ‖m'_c‖² / Ψ'
    criterion = shared · √own

``own`` is the between-class share of the target's scatter: predicted classes should be groups that
are there. ``shared`` asks that they be the same groups as in the sources: ⟨m, m'⟩ = ‖(m + m')/2‖² −
‖(m − m')/2‖², between-class scatter less conditional domain scatter.

It is measured on the samples that all models are given, never on the features of the model that is
judged: a model can give features in which its own predictions look perfect.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from skatter import _tensors as tensors
from skatter._checks import check_table
from skatter._tensors import Array
from skatter.domains import Codes, Domains, Mask, read_domains
from skatter.scatter import indicator_means


class ClassScatter(NamedTuple):
    """Between-class scatter of the predictions for a target.

    Attributes
    ----------
    shared : float
        With the sources: from −1 to 1, 0 where predictions say nothing.
    own : float
        Of the target alone: the share of its scatter, from 0 to 1.
    """

    shared: float
    own: float

    @property
    def criterion(self) -> float:
        """``shared · √own``; larger is better."""
        return self.shared * float(np.sqrt(self.own))


def scatter_criterion(
    X: Any, y: Any, predicted: Any, *, sample_domain: Any = None, labelled: Any = None
) -> float:
    """Class scatter of the predictions for a target that the sources share; larger is better.

    It is 0 for a constant prediction, and negative where classes are mistaken for one another.

    Parameters
    ----------
    X, y, sample_domain, labelled
        As in :meth:`skatter.SCA.fit`; ``X`` as the model is given it.
    predicted : array-like of shape (n_samples,)
        Predicted classes. Only those of unlabelled target samples are looked at.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y, site = np.tile([0, 1], 50), np.repeat(["here", "there"], 50)
    >>> X = rng.normal(size=(100, 3)) + 3 * y[:, None] + 7 * (site == "there")[:, None]
    >>> known = np.where(site == "here", y, -1)
    >>> score = [scatter_criterion(X, known, guess, sample_domain=site) for guess in (y, 1 - y)]
    >>> score[0] > 0.5, score[1] < 0
    (True, True)
    """
    X = check_table(X, "X")
    domains = read_domains(y, sample_domain, labelled=labelled, n_samples=X.shape[0])
    return class_scatter(X, domains, codes_of(predicted, domains)).criterion


def codes_of(predicted: Any, domains: Domains) -> Codes:
    """Return predicted classes as indices into ``domains.classes``, or name a stranger."""
    names = np.asarray(predicted)
    if names.shape != (domains.n_rows,):
        raise ValueError(
            f"predicted must hold one class for each of the {domains.n_rows} samples, got shape "
            f"{names.shape}."
        )
    place = {name: code for code, name in enumerate(domains.classes.tolist())}
    rows = unknown_target(domains)
    codes = np.array(domains.label)
    for row, name in zip(rows, names[rows].tolist(), strict=True):
        if name not in place:
            raise ValueError(f"predicted holds {name!r}, which is no class of y.")
        codes[row] = place[name]
    return codes


def unknown_target(domains: Domains) -> Codes:
    """Rows of target samples whose class is not known, of which there must be some."""
    rows = np.flatnonzero(domains.target & ~domains.labelled)
    if not len(rows):
        raise ValueError(
            "There is no unlabelled target sample to judge by: leave a domain without labels, "
            "or give it a negative id in sample_domain."
        )
    return rows


def class_scatter(X: Any, domains: Domains, label: Codes) -> ClassScatter:
    """Measure the class scatter of predictions; see the head of this module.

    ``label`` holds class codes, known or predicted, of all target samples.
    """
    return ScatterJudge(X, domains)(label)


class ScatterJudge:
    """Measure the class scatter of many predictions for the same samples."""

    def __init__(self, X: Any, domains: Domains) -> None:
        known = domains.labelled & domains.source
        if not known.any():
            raise ValueError(
                "y has no labelled sample in a source domain; there is nothing to share."
            )
        self._X, self._domains = X, domains
        self._scalers = [_scaler_of(X, domains.domain == d) for d in range(domains.n_domains)]
        self._means, _, self._scatter = self._classes(domains.label, known)

    def __call__(self, label: Codes) -> ClassScatter:
        """Measure predictions; ``label`` holds class codes, known or predicted, of the target."""
        means, shares, scatter = self._classes(label, self._domains.target)
        if not (self._scatter and scatter):
            return ClassScatter(0.0, 0.0)
        shared = np.sum(shares * np.sum(self._means * means, axis=1))
        own = np.sum(shares * np.sum(np.square(means), axis=1))
        return ClassScatter(float(shared / np.sqrt(self._scatter * scatter)), float(own / scatter))

    def _classes(self, label: Codes, rows: Mask) -> tuple[Array, Array, float]:
        """Return class means, class shares and the scatter of some rows, all standardised."""
        n_classes = len(self._domains.classes)
        counts = np.bincount(label[rows], minlength=n_classes)
        sums, scatter = np.zeros((n_classes, self._X.shape[1])), 0.0
        for d, scaler in enumerate(self._scalers):
            own = np.where(rows & (self._domains.domain == d), label, -1)
            sizes = np.bincount(own[own >= 0], minlength=n_classes)[:, None]
            means = self._sums(indicator_means(own, n_classes)).T
            sums += sizes * (means - scaler.mean_) / scaler.scale_
            # A standardised feature that varies has variance one.
            scatter += sizes.sum() / counts.sum() * np.sum(scaler.var_ / np.square(scaler.scale_))
        return sums / np.maximum(counts, 1)[:, None], counts / counts.sum(), scatter

    def _sums(self, weights: Array) -> Array:
        if tensors.is_tensor(self._X):
            return tensors.host(tensors.multiply(self._X.T, tensors.like(weights, self._X)))
        return self._X.T @ weights.astype(self._X.dtype)


def judge_by_scatter(X: Any, domains: Domains, seed: int) -> Callable[[Codes], float]:
    """Return a function that scores predictions of the unlabelled target; nothing is random."""
    judge, target = ScatterJudge(check_table(X, "X"), domains), unknown_target(domains)

    def score(predicted: Codes) -> float:
        label = np.array(domains.label)
        label[target] = predicted
        return judge(label).criterion

    return score


def _scaler_of(X: Any, rows: Mask) -> StandardScaler:
    if not tensors.is_tensor(X):
        # Sparse samples stay sparse.
        return StandardScaler(with_mean=not sparse.issparse(X)).fit(X[rows])
    found, own = StandardScaler(), tensors.take(X, np.flatnonzero(rows))
    found.mean_, found.var_ = tensors.moments_of_columns(own)
    # What rounding makes of a feature that is constant, as scikit-learn tells it.
    eps = np.finfo(tensors.host_dtype(X)).eps
    constant = found.var_ <= len(own) * eps * found.var_ + np.square(len(own) * found.mean_ * eps)
    found.scale_ = np.where(constant, 1.0, np.sqrt(found.var_))
    return found
