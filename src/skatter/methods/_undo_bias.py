"""Undoing the damage of data set bias: a machine of the visual world, and what each domain adds.

It is one support vector machine in which every sample is there twice, first as (φ, 0, .., 0) at the
cost C₁ and second as (φ, 0, .., φ/√λ, .., 0) at the cost C₂, with the parameter (w, √λ D_1, ..):

    k~ = k (1 + [both are second copies, of the same domain] / λ).

Its dual, with β = a∘y over first and γ = c∘y over second copies, has one equality for each
intercept, since none of them is regularised:

    maximise  Σ a_i + Σ c_i − ½ ‖w‖² − λ/2 Σ_d ‖D_d‖²    over  0 ≤ a ≤ C₁,  0 ≤ c ≤ C₂,
              Σ_i β_i = 0,   Σ_{i in d} γ_i = 0.

An interior-point method solves it (:mod:`skatter.methods._hinge_dual`), with steps of the size of w
and never of all copies (:mod:`skatter.methods._copies`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import safe_sparse_dot

from skatter._parameters import NON_NEGATIVE, POSITIVE
from skatter._tensors import Array
from skatter.domains import Codes, Mask, which_domain
from skatter.kernels import centre
from skatter.methods._base import Transfer, one_against_rest, semidefinite_on
from skatter.methods._copies import Copies, FeatureCopies, GramCopies
from skatter.methods._generalization import Generalizer
from skatter.methods._hinge_dual import maximise_dual, next_to
from skatter.methods._machines import Expansion, KernelMachine
from skatter.methods._record import Tuning, method, tried
from skatter.methods._subspaces import feature_mean


@method(
    "undo-bias",
    when="several labelled sources with habits of their own, and a linear machine",
    cost="C classes times 20 n p² for p features, or 20 n³ where p > n/2",
    coarse=Tuning({}, why="defaults: a fit is slow"),
)
class UndoBias(Generalizer, KernelMachine):
    """Undo-Bias: a machine for the visual world, and what each domain adds to it.

        minimise  ½ ‖w‖² + λ/2 Σ_d ‖D_d‖² + C₁ Σ_i h(y_i (wᵀφ_i + b))
                                          + C₂ Σ_i h(y_i ((w + D_d)ᵀφ_i + b + b_d))

    with h(t) = max(0, 1 − t) and d the domain of sample i. The vectors D_d take up what is
    peculiar to a domain, so that w need not. Samples of unseen domains, and samples without
    ``sample_domain``, are judged by wᵀφ(x) + b, samples of a source by its own
    (w + D_d)ᵀφ(x) + b + b_d. Several classes are told apart one against the rest.

    Parameters
    ----------
    C_shared : float > 0
        C₁, the cost of a sample on the wrong side of the shared machine's margin.
    C_domain : float >= 0
        C₂, the cost of a sample on the wrong side of its domain's own margin. 0 is a plain
        support vector machine on the pooled sources.
    bias_weight : float > 0
        λ, how much domains are kept together. Large, they share one machine; towards 0, each
        domain has a machine of its own, and w is left with the first loss.
    kernel : str or callable
        As in :class:`~skatter.SCA`; ``"linear"`` is the published method.
    tol : float > 0
        Accuracy of decision values.

    Attributes
    ----------
    coef_ : ndarray of shape (n_machines, n_features)
        w, one row for each class, or one for two classes; for the linear kernel alone.
    domain_coef_ : ndarray of shape (n_sources, n_machines, n_features)
        D_d, in the order of ``source_ids_``; for the linear kernel alone.
    domain_intercept_ : ndarray of shape (n_sources, n_machines)
        b_d.
    dual_coef_ : ndarray of shape (n_support, 1 + n_sources, n_machines)
        Their coefficients in w and in D_d of each source.
    objective_ : ndarray of shape (n_machines,)
        The smallest value of what is minimised.

    Notes
    -----
    No intercept is regularised, neither b nor b_d, as in the authors' program; here they are
    exact, by equalities in the dual. Of all b that are equally good, the middle one is taken, and
    of all b_d the one nearest to 0. A domain without any sample of a class, or without any other,
    has D_d = 0 in that class's machine.

    The authors' program uses the value that is passed as C₂ as a divisor: the second loss has the
    weight C₁/C₂ there. Here C₂ is the weight, as in the paper.

    The paper on scatter component analysis counts a sample as right if the machine of its class is
    positive, whatever the others say. To compare with its tables, see :meth:`predict_set` and
    :func:`set_accuracy`; the prediction here is the class whose machine has the largest value.

    References
    ----------
    A. Khosla, T. Zhou, T. Malisiewicz, A. A. Efros, A. Torralba: Undoing the Damage of Dataset
    Bias. ECCV, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter.methods import UndoBias
    >>> rng = np.random.default_rng(0)
    >>> y, site = np.tile([0, 1], 90), np.repeat([1, 2, 3], 60)
    >>> X = rng.normal(size=(180, 3))
    >>> X[:, 0] += 1.5 * y  # the same everywhere
    >>> X[:, 1] += np.array([4, -2, -4])[site - 1] * y  # another way in each domain
    >>> seen = site < 3
    >>> models = (UndoBias(C_domain=C) for C in (0, 1))  # 0 is a plain support vector machine
    >>> fitted = [model.fit(X[seen], y[seen], sample_domain=site[seen]) for model in models]
    >>> [round(model.score(X[~seen], y[~seen]), 2) for model in fitted]
    [0.73, 0.77]
    """

    C_shared: float = tried(POSITIVE, 0.1, 1.0, 10.0, 100.0, default=1.0, kw_only=False)
    C_domain: float = tried(NON_NEGATIVE, 0.1, 1.0, 10.0, 100.0, default=1.0, kw_only=False)
    bias_weight: float = tried(POSITIVE, 0.01, 0.1, 1.0, 10.0, default=1.0, kw_only=False)
    kernel: Any = "linear"
    needs = ("source labels", "several sources")

    def _fit(self, transfer: Transfer) -> None:
        super()._fit(transfer)
        if self._weights is not None:
            del self.X_fit_  # weights of the features say all that the samples could

    def _learn(self, transfer: Transfer) -> Expansion:
        # Samples of a domain stand together, so that a part of an array is a view of it.
        rows = np.argsort(transfer.domains.domain, kind="stable")
        domains = transfer.domains.take(rows)
        edges = np.cumsum(domains.domain_counts)
        parts = [slice(a, b) for a, b in zip([0, *edges[:-1]], edges, strict=True)]
        signs = one_against_rest(domains.label, len(domains.classes))
        samples, mean, copies = self._centred(transfer.X, rows)
        machines = [self._machine(copies, parts, y) for y in signs.T]
        stacked = (np.stack(each, axis=-1) for each in zip(*machines, strict=True))
        coef, intercepts, self.objective_ = stacked
        self._weights = None
        if samples is None:
            intercepts -= np.tensordot(mean, coef, axes=1)
        else:
            weights = safe_sparse_dot(samples.T, coef.reshape(len(coef), -1))
            self._weights = np.ascontiguousarray(weights.T).reshape(*coef.shape[1:], -1)
            intercepts -= self._weights @ mean
        self.domain_intercept_ = intercepts[1:]
        return rows, coef, intercepts[0]

    def _centred(self, X: Any, rows: Codes) -> tuple[Any, Array, Callable[..., Copies]]:
        """Return samples around their mean, if these are features, the mean, and their copies.

        The copies are those of features where these are few, else of a Gram matrix.
        """
        if not self.kernel_.linear:
            K = self._gram(X, rows)
            return None, centre(K), partial(GramCopies, K)
        X = X[rows].astype(np.float64)
        few, mean = 2 * X.shape[1] <= X.shape[0], feature_mean(X)
        if few or not sparse.issparse(X):
            X = np.asarray(X - mean)
        if few:
            return X, mean, partial(FeatureCopies, np.hstack([X, np.ones((len(X), 1))]))
        K = self._gram(X, np.arange(X.shape[0]))
        centre(K)
        return X, mean, partial(GramCopies, K)

    def _machine(
        self, copies_of: Callable[..., Copies], parts: list[slice], signs: Array
    ) -> tuple[Array, Array, float]:
        # Without the second loss, or with samples of one sign and an intercept of their own that
        # takes them all beyond the margin, there is nothing that D_d could do.
        useful = [self.C_domain > 0 and len(np.unique(signs[part])) > 1 for part in parts]
        bent = np.flatnonzero(useful)
        copies = copies_of([parts[d] for d in bent], float(self.bias_weight))
        y = np.concatenate([signs, *(signs[parts[d]] for d in bent)])
        costs = np.full(len(y), float(self.C_domain))
        costs[: len(signs)] = self.C_shared
        with semidefinite_on("training samples"):
            optimum = maximise_dual(copies, y, costs, float(self.tol))
        shared, *own = copies.split(optimum.alpha * y)
        coef = np.zeros((len(signs), 1 + len(parts)))
        coef[:, 0] = shared
        for d, gamma in zip(bent, own, strict=True):
            coef[parts[d], 0] += gamma
            coef[parts[d], 1 + d] = gamma / self.bias_weight
        b, *intercepts = optimum.intercepts
        scores = copies.values(optimum.alpha * y)[: len(signs)]
        # b + b_d of domains with D_d = 0, then that of the others
        plain = (next_to(b, signs[p], scores[p]) if self.C_domain else b for p in parts)
        of_domains = np.fromiter(plain, float)
        of_domains[bent] = intercepts
        return coef, np.array([b, *(of_domains - b)]), optimum.objective

    @property
    def coef_(self) -> Array:
        """Weights of the features, w, for the linear kernel."""
        return self._of_features()[0]

    @property
    def domain_coef_(self) -> Array:
        """Weights of the features in each source, D_d, for the linear kernel."""
        return self._of_features()[1:]

    def _of_features(self) -> Array:
        weights = getattr(self, "_weights", None)
        if weights is None:
            raise AttributeError("coef_ and domain_coef_ are there after fit with kernel='linear'.")
        return weights

    def _values(self, X: Any, sample_domain: Any) -> Array:
        if self._weights is None:
            by_block = self._expand(X)
        else:
            *blocks, n_features = self._weights.shape
            flat = safe_sparse_dot(X, self._weights.reshape(-1, n_features).T)
            by_block = flat.reshape(-1, *blocks)
        values = by_block[:, 0] + self.intercept_
        if sample_domain is not None:
            source = which_domain(sample_domain, self.source_ids_, n_samples=len(values))
            own = np.flatnonzero(source >= 0)
            values[own] += by_block[own, 1 + source[own]] + self.domain_intercept_[source[own]]
        return values

    def predict_set(self, X: Any, *, sample_domain: Any = None) -> Mask:
        """Return whether the machine of each class is positive, as the paper on SCA scores it.

        Takes what :meth:`decision_function` takes, and returns an array of shape (n_samples,
        n_classes). A set may be empty or have several classes; see :func:`set_accuracy`.
        """
        values = self.decision_function(X, sample_domain=sample_domain)
        return (np.column_stack([-values, values]) if values.ndim == 1 else values) > 0


def set_accuracy(y_true: Any, sets: Any, classes: Any) -> float:
    """Return the share of samples whose class is among those predicted for them.

    The more machines say yes, the larger it is: a second class that is positive as well costs
    nothing here, and no single prediction is behind it. It is for comparison with the tables of
    the paper on scatter component analysis alone; elsewhere, use accuracy.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Classes of the samples.
    sets : array-like of bool of shape (n_samples, n_classes)
        Which classes are predicted; see :meth:`UndoBias.predict_set`.
    classes : array-like of shape (n_classes,)
        Which column is which class, as in ``classes_``.

    Examples
    --------
    >>> sets = [[True, True], [False, True], [False, False]]
    >>> round(set_accuracy(["cat", "cat", "dog"], sets, ["cat", "dog"]), 3)
    0.333
    """
    y_true, sets, classes = np.asarray(y_true), np.asarray(sets), np.asarray(classes)
    if sets.dtype != bool:
        raise TypeError(
            f"sets must be a boolean array, got dtype {sets.dtype}. Pass what predict_set returns."
        )
    if y_true.ndim != 1 or len(y_true) == 0 or classes.ndim != 1:
        raise ValueError(
            "y_true and classes must be one-dimensional, and y_true not empty; got shapes "
            f"{y_true.shape} and {classes.shape}."
        )
    if sets.shape != (len(y_true), len(classes)):
        raise ValueError(
            f"sets must have one row for each of {len(y_true)} samples and one column for each of "
            f"{len(classes)} classes, got shape {sets.shape}."
        )
    matches = y_true[:, None] == classes
    unknown = ~matches.any(axis=1)
    if unknown.any():
        raise ValueError(
            f"y_true has a class that classes does not name: {y_true[unknown][0]!r}. Give the "
            "classes of all columns, and leave out samples of others."
        )
    return float(np.mean((sets & matches).any(axis=1)))
