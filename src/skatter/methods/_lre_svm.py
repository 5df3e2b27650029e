"""Low-rank exemplar classifiers: domains that nobody named show in how exemplars agree.

Samples of one latent domain look alike to its exemplars (:mod:`skatter.methods._exemplars`), so
that their likelihoods G(W) should have low rank, about the number of latent domains. Alternately,

    F <- U diag(max(σ − λ₁/(2λ₂), 0)) Vᵀ    for    G(W) = U diag(σ) Vᵀ,
    W <- the exemplars' own problems, each tied to its row of F,

neither of which raises the objective.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh, svd
from scipy.special import expit
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import gen_batches

from skatter._components import BATCH
from skatter._parameters import BOOLEAN, COUNT, NON_NEGATIVE, POSITIVE, declared, parameter
from skatter._tensors import Array
from skatter.domains import Mask
from skatter.methods._base import RivalClassifier, Transfer, in_columns, one_against_rest
from skatter.methods._exemplars import Exemplars, common_start, solve
from skatter.methods._generalization import Generalizer
from skatter.methods._iteration import Iterations, Iterative
from skatter.methods._machines import Expansion, TargetRegression, canonical
from skatter.methods._record import Tuning, method, tried
from skatter.methods._subspaces import in_span

GAIN = 1e-5  # share of its objective that an exemplar may still gain when a round leaves it
STEPS = 50  # of an exemplar's search in one round; it takes a handful
REGRESSION_TOL = 1e-3  # how far the conditions of optimality of the regressors may be violated
SQUARES = 1e-6  # share of the norm above which singular values may be found through their squares


@declared
class _ExemplarLearner(Iterative, RivalClassifier):
    """What generalization and adaptation share: the exemplars, and what they say of new samples.

    Parameters
    ----------
    C_positive, C_negative : float > 0
        C₊ and C₋, cost of the one positive sample of an exemplar and of each negative one.
    rank_weight : float >= 0
        λ₁, what rank costs. 0: the exemplars of a class are independent, F = G.
    tie_weight : float >= 0
        λ₂, how closely the likelihoods follow F. Singular values of G below λ₁/(2λ₂) vanish in F.
        0: the exemplars are independent, F = 0.
    n_best : int
        K, how many exemplars of a class have a say about a sample; all, where it has fewer.
    normalize : bool
        True: samples are centred and divided by the root of their total scatter, so that the
        costs do not depend on origin and units of the features. False: samples as they are.

    Attributes
    ----------
    exemplars_ : ndarray of shape (n_exemplars,)
        Which training samples have a classifier: all labelled ones of the sources, by class.
    exemplar_class_ : ndarray of shape (n_exemplars,)
        Their classes, as indices into ``classes_``.
    exemplar_coef_, exemplar_intercept_ : ndarrays of n_exemplars rows
        Their classifiers, for samples as they are given.
    ranks_ : ndarray of shape (n_classes,)
        Rank of F for each class.
    objective_ : list of float
        Of the exemplars, after each round: the sum over classes.
    """

    C_positive: float = tried(POSITIVE, 0.1, 1.0, 10.0, default=10.0)
    C_negative: float = tried(POSITIVE, 0.1, 1.0, 10.0, default=1.0)
    rank_weight: float = tried(NON_NEGATIVE, 0.1, 1.0, 10.0, default=10.0)
    tie_weight: float = tried(NON_NEGATIVE, 0.1, 1.0, 10.0, default=10.0)
    n_best: int = parameter(COUNT, default=5)
    normalize: bool = parameter(BOOLEAN, default=True)
    max_iter: int = 30

    def _learn_exemplars(self, X: Array, label: Array, rows: Array) -> Array:
        """Learn one classifier for each sample, and return their order, class by class."""
        frame = Frame.of(X) if self.normalize else Frame(np.zeros(X.shape[1]), 1.0)
        Z, basis = in_span(frame(X))
        members = [np.flatnonzero(label == code) for code in np.unique(label)]
        W = np.vstack(self._alternate(Z, members))
        order = np.concatenate(members)
        self.exemplars_, self.exemplar_class_ = rows[order], np.array(label[order])
        W = W if basis is None else W @ basis.T
        self.exemplar_coef_, self.exemplar_intercept_ = frame.undo(W)
        return order

    def _alternate(self, Z: Array, members: list[Array]) -> list[Array]:
        W = [_independent(self._problem(Z, own, tie=0.0)) for own in members]
        rounds = Iterations.of(self)
        ratio = self.rank_weight / (2 * self.tie_weight) if self.tie_weight else np.inf
        threshold = ratio if self.rank_weight else 0.0
        self.ranks_ = np.zeros(len(members), dtype=int)
        for _ in rounds:
            objective = 0.0
            for k, own in enumerate(members):
                problem = self._problem(Z, own, tie=self.tie_weight)
                F, nuclear_norm, self.ranks_[k] = shrink(problem.likelihoods(W[k]), threshold)
                W[k], values = solve(problem, W[k], F, tol=GAIN, max_iter=STEPS)
                objective += float(values.sum()) + self.rank_weight * nuclear_norm
            rounds.record(objective, note=f"rank {self.ranks_.mean():.1f} on average")
        return W

    def _problem(self, Z: Array, own: Array, *, tie: float) -> Exemplars:
        samples = np.vstack([Z[own], np.delete(Z, own, axis=0)])
        return Exemplars(samples, len(own), self.C_positive, self.C_negative, tie)

    def _class_scores(self, X: Array, weights: Array) -> Array:
        """Return the opinion of the best exemplars of each class; 0 of a class without any."""
        X = X.astype(np.float64, copy=False)
        scores = np.zeros((len(X), len(self.classes_)))
        for code in np.unique(self.exemplar_class_):
            own = self.exemplar_class_ == code
            coef, intercept = self.exemplar_coef_[own].T, self.exemplar_intercept_[own]
            for batch in gen_batches(len(X), BATCH):
                likelihood = expit(X[batch] @ coef + intercept)
                scores[batch, code] = best_average(likelihood, weights[own], self.n_best)
        return scores


@method(
    "lre-svm",
    when="unseen domains, and sources that are mixtures of unnamed domains",
    cost="n² p per iteration of all n exemplars, + P³ per class of P samples",
    coarse=Tuning({}, why="Xu et al. 2014 fix all"),
)
class LRESVM(Generalizer, _ExemplarLearner):
    """Low-rank exemplar SVMs: one classifier per sample, tied by likelihoods of low rank.

        minimise  Σ_i [ ‖w_i‖² + C₊ log(1 + exp(−w_iᵀx_i)) + C₋ Σ_j log(1 + exp(w_iᵀx_j⁻)) ]
                  + λ₁ ‖F‖_* + λ₂ ‖F − G(W)‖²,    G(W)_il = s(w_iᵀx_l)

    for each class: one logistic classifier w_i for each of its samples x_i, against the samples
    x_j⁻ of all other classes, such that the likelihoods G which the exemplars give each other are
    near a matrix F of low rank. The score of a class at a new sample is the mean of the ``n_best``
    largest likelihoods s(w_iᵀx) of its exemplars. Sources are pooled, since the method looks for
    latent domains. The classifiers are linear; for a kernel, let its features come first, e.g.
    ``make_pipeline(KernelPCA(kernel="rbf"), LRESVM())``, which is exact.

    Notes
    -----
    As published, a constant 1 is appended to the samples, so that ‖w‖² holds the intercept too.
    The published form is ``normalize=False``. What is learnt takes as much memory as the training
    samples.

    References
    ----------
    Z. Xu, W. Li, L. Niu, D. Xu: Exploiting Low-Rank Structure from Latent Domains for Domain
    Generalization. ECCV, 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.svm import LinearSVC
    >>> from skatter.methods import LRESVM
    >>> rng = np.random.default_rng(0)
    >>> y, site = np.tile([0, 1], 60), np.repeat([0, 1, 2], 40)
    >>> X = rng.normal(size=(120, 2)) + 6 * np.eye(3, 2)[site]  # latent or not: three places
    >>> X[:, 0] += np.where(site == 1, -3, 3) * y  # one class lies left of the other, or right
    >>> model = LRESVM().fit(X, y, sample_domain=site)
    >>> LinearSVC().fit(X, y).score(X, y) < model.score(X, y)
    True
    """

    def _fit(self, transfer: Transfer) -> None:
        transfer = canonical(transfer, precomputed=False)
        X = transfer.X.astype(np.float64, copy=False)
        self._learn_exemplars(X, transfer.label, transfer.rows)

    def _decide(self, X: Any, from_source: Mask) -> Array:
        return in_columns(self._class_scores(X, np.ones(len(self.exemplars_))))


@method(
    "lre-svm-da",
    when="sources that are mixtures, some of it like the target",
    uses=("target labels",),
    cost="that of lre-svm + C regressions on the target",
    coarse=Tuning({}, why="Xu et al. 2014 fix all"),
)
class LRESVMAdaptation(_ExemplarLearner, TargetRegression):
    """LRE-SVM for domain adaptation: exemplars near the target teach a regressor on the target.

        v_i = exp(−β ‖mean of source samples near x_i − mean of target samples near x_i‖²)
        ỹ_c(x) = 2 q_c(x) / Σ_c' q_c'(x) − 1,    q_c(x) = Σ_best v_i s(w_iᵀx) / Σ_best v_i
        minimise  ½ ‖w‖² + C Σ_x |wᵀφ(x) + b − f_x|_ε + θ/2 Σ_x (f_x − ỹ(x))²

    for each class c, over w, b and the values f_x at the target samples x. The exemplars w_i of
    the sources are those of :class:`LRESVM`; the best of a class at x are those ``n_best`` with
    the largest v_i s(w_iᵀx). The regression is that of :class:`DAM`, with exemplars in the place
    of source classifiers; where the label of a target sample is known, +1 or -1 takes the place
    of ỹ. Of two classes, one regressor tells the second from the first. Sources are pooled. A class
    that only the target has is learnt from the target's labels.

    Parameters
    ----------
    beta : float >= 0
        β, how fast an exemplar's weight falls with distance from the target; 0 weighs all alike.
    n_neighbors : int
        How many source samples, the exemplar itself included, and how many target samples are
        near; all, where there are fewer.
    normalize : bool
        True: samples are centred and divided by the root of their total scatter for the
        exemplars, and the kernel by the target's scatter in its feature space for the regression,
        so that costs do not depend on origin and units of the features. False: as they are.
    kernel : str or callable
        Of the regressor, as in :class:`~skatter.SCA` but not ``"precomputed"``. A linear one cannot
        say all that several exemplars say.

    Attributes
    ----------
    exemplar_weights_ : ndarray of shape (n_exemplars,)
        v_i, up to a factor: 1 for the nearest exemplar of each class.

    References
    ----------
    Z. Xu, W. Li, L. Niu, D. Xu: Exploiting Low-Rank Structure from Latent Domains for Domain
    Generalization. ECCV, 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter.methods import LRESVMAdaptation
    >>> rng = np.random.default_rng(0)
    >>> y, site = np.tile([0, 1], 60), np.repeat(["far", "near", "target"], 40)
    >>> X = rng.normal(size=(120, 5)) + 2 * y[:, None]
    >>> X[:, -1] += 6 * (site == "far") + (site == "target")
    >>> target = site == "target"
    >>> model = LRESVMAdaptation().fit(X, np.where(target, -1, y), sample_domain=site)
    >>> model.score(X[target], y[target])
    0.975
    """

    C: float = parameter(POSITIVE, default=10.0, kw_only=False)
    theta: float = 10.0
    epsilon: float = 0.01
    beta: float = tried(NON_NEGATIVE, 0.0, 1.0, 10.0, default=1.0)
    n_neighbors: int = parameter(COUNT, default=5)
    _takes_sparse = False

    def _check_together(self) -> None:
        if self._precomputed:
            raise ValueError(
                f"{type(self).__name__} needs features, of which exemplars are linear functions: "
                "kernel must not be 'precomputed'. Give samples, and a function as kernel."
            )

    def _learn(self, transfer: Transfer) -> Expansion:
        self._source_classes(transfer)
        X = transfer.X.astype(np.float64, copy=False)
        rows = np.flatnonzero(transfer.source & transfer.labelled)
        order = self._learn_exemplars(X[rows], transfer.label[rows], transfer.rows[rows])
        target = np.flatnonzero(transfer.target)
        self.exemplar_weights_ = self._weights(X[rows[order]], X[transfer.source], X[target])
        opinions = self._virtual_labels(X[target], transfer.label[target])
        K = self._gram(X, target)
        unit = self._scatter(K) if self.normalize else 1.0
        coef, intercept = self._regress(K / unit, opinions, tol=REGRESSION_TOL)
        return target, coef / unit, intercept

    def _weights(self, exemplars: Array, X_source: Array, X_target: Array) -> Array:
        """Return v_i of all exemplars, with the largest of each class set to one."""
        distance = distances_to_target(exemplars, X_source, X_target, self.n_neighbors)
        unit = Frame.of(X_source).unit ** 2 if self.normalize else 1.0
        log_weights = -self.beta * distance / unit
        for code in np.unique(self.exemplar_class_):
            own = self.exemplar_class_ == code
            log_weights[own] -= log_weights[own].max()
        return np.asarray(np.exp(log_weights))

    def _virtual_labels(self, X: Array, label: Array) -> Array:
        """Return ỹ of target samples: labels where known, opinions of exemplars elsewhere."""
        share = shares(self._class_scores(X, self.exemplar_weights_))
        opinions = in_columns(share) if share.shape[1] == 2 else 2 * share - 1
        labels = one_against_rest(label, len(self.classes_))
        return np.where((label >= 0)[:, None], labels, opinions)


class Frame(NamedTuple):
    """Origin and unit of the features, and a constant 1 beside them."""

    origin: Array
    unit: float

    @classmethod
    def of(cls, X: Array) -> Frame:
        """Take the mean, and the root of the mean squared distance from it; 1 where it is zero."""
        origin = X.mean(axis=0, dtype=np.float64)
        scatter = float(((X - origin) ** 2).sum(axis=1).mean())
        return cls(origin, np.sqrt(scatter) if scatter > 0 else 1.0)

    def __call__(self, X: Array) -> Array:
        """Return ((x − origin)/unit, 1) for each sample."""
        Z = np.ones((X.shape[0], X.shape[1] + 1))
        np.divide(X - self.origin, self.unit, out=Z[:, :-1])
        return Z

    def undo(self, W: Array) -> tuple[Array, Array]:
        """Return coefficients and intercepts, for samples as they are, of classifiers in rows."""
        coef = W[:, :-1] / self.unit
        return coef, W[:, -1] - coef @ self.origin


def _independent(problem: Exemplars) -> Array:
    P = problem.n_positives
    start = np.tile(common_start(problem), (P, 1))
    return solve(problem, start, np.zeros((P, P)), tol=GAIN, max_iter=STEPS)[0]


def shrink(G: Array, threshold: float) -> tuple[Array, float, int]:
    """Minimise t ‖F‖_* + ½ ‖F − G‖² over F: all singular values lose t, down to 0."""
    size = float(np.linalg.norm(G))
    if threshold >= size:
        return np.zeros_like(G), 0.0, 0
    if threshold > SQUARES * size:
        # The few that stay are found among the eigenvalues of GᵀG.
        squares, V = eigh(G.T @ G, subset_by_value=(threshold**2, np.inf))
        sigma = np.sqrt(squares)
        F = G @ (V * (1 - threshold / sigma)) @ V.T
    else:
        U, sigma, Vt = svd(G, full_matrices=False)
        sigma = sigma[sigma > threshold]
        F = (U[:, : len(sigma)] * (sigma - threshold)) @ Vt[: len(sigma)] if threshold else G
    return F, float((sigma - threshold).sum()), len(sigma)


def best_average(likelihood: Array, weights: Array, n_best: int) -> Array:
    """Return Σ v_i p_i / Σ v_i over the few exemplars whose v_i p_i are largest, by sample."""
    n = len(weights)
    if n_best >= n:
        return np.asarray(likelihood @ (weights / weights.sum()))
    weighted = likelihood * weights
    best = np.argpartition(weighted, n - n_best, axis=1)[:, n - n_best :]
    total = np.take_along_axis(weighted, best, axis=1).sum(axis=1)
    return np.asarray(total / np.maximum(weights[best].sum(axis=1), np.finfo(float).tiny))


def distances_to_target(
    exemplars: Array, X_source: Array, X_target: Array, n_neighbors: int
) -> Array:
    """Return ‖m_s − m_t‖² with the means of each exemplar's nearest source and target samples.

    Between all of the source and all of the target, the discrepancy would be small for whatever
    lies in the middle, between the classes.
    """

    def mean_of_nearest(X: Array) -> Array:
        search = NearestNeighbors(n_neighbors=min(n_neighbors, len(X))).fit(X)
        found = search.kneighbors(exemplars, return_distance=False)
        return np.vstack([X[near].mean(axis=0) for near in found])

    gap = mean_of_nearest(X_source) - mean_of_nearest(X_target)
    return np.asarray(np.einsum("if,if->i", gap, gap))


def shares(scores: Array) -> Array:
    """Return scores that sum to one for each sample; equal ones where all are zero."""
    scores = scores + np.finfo(float).tiny
    return np.asarray(scores / scores.sum(axis=1, keepdims=True))
