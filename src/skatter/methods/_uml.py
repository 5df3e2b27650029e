"""Unbiased metric learning: neighbours of a class in the other data sets count as one's own.

In the objective of :class:`UML`,

    i    are the k nearest samples of q's class in each data set, found once in input space,
    j    the J nearest samples of other classes, of any data set, under the metric M itself,
    h    is the hinge, rounded off: 0, then u²/2 from 0 to 1, then u − ½,
    W    the sum of all w_qi over the triplets, so that F is a weighted mean,
    M₀   the projection on the first r principal axes, times the factor that makes d_M₀(q, i) one on
         average; it is where the search starts.

A hinge falls with d_M(q, j), so the J nearest j are those with the largest hinges,
and F is the maximum over all choices of J impostors for each q: one function of M, and a convex
one. The J nearest among the impostors known so far give a lower bound of F. A round lowers the
bound by some steps of L-BFGS over A; then those nearest under the new metric become known too, and
the bound is exact there. With P_qi = ∂F/∂d(q, i), sparse and signed, and L the Laplacian of the
graph P + Pᵀ, the derivative is ∂F/∂A = 2 A XᵀL X + 2 (reg / tr M₀) A.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import minimize
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import gen_batches

from skatter._parameters import COUNT, NON_NEGATIVE, SHARE, parameter
from skatter._solve import principal_axes
from skatter._solve.symmetric import PrincipalAxes
from skatter._tensors import Array
from skatter.domains import Domains, Mask
from skatter.methods._base import Transfer, WithComponents
from skatter.methods._generalization import GeneralizingTransformer
from skatter.methods._iteration import Iterations, Iterative
from skatter.methods._machines import canonical
from skatter.methods._record import Tuning, method, tried
from skatter.methods._subspaces import centred_times, in_span, turned

DEFAULT_COMPONENTS = 100  # rank of the metric where none is given and the samples allow it
STEPS = 20  # of L-BFGS in a round
NOTHING = 1e-6  # trace of a metric, as a share of that at the start, that is none
BATCH = 2**17  # numbers held at once where pairs of samples are compared: what a cache holds


@method(
    "uml",
    when="nearest neighbours shall not rely on what is peculiar to a source",
    uses=("several sources",),
    cost="n²p for neighbours, then rounds × (n²r + steps × npr)",
    coarse=Tuning({"own_weight": (0.3, 0.7)}, why="Fang et al. 2013, fewer values"),
)
class UML(WithComponents, Iterative, GeneralizingTransformer):
    """Unbiased metric learning: a metric with neighbours of one class in all data sets (surrogate).

        minimise  Σ_q Σ_i w_qi Σ_j h(1 + d(q, i) − d(q, j)) / W + reg tr M / tr M₀

    over metrics d(x, x') = ‖A(x − x')‖², M = AᵀA. Of every sample q, the nearest samples i of its
    class in each data set are to be nearer than the nearest samples j of other classes, by a
    margin. Neighbours in the own data set weigh w = ``own_weight``, those in each of the m − 1
    others (1 − ``own_weight``)/(m − 1): the smaller the weight, the less the metric may rely on
    what tells the data sets apart. A hinge h, rounded off at its corner, is the loss; W makes the
    sum a weighted mean.

    Features are z = A(x − mean), so that Euclidean distances between them are the learnt ones:
    ``make_domain_pipeline(UML(), KNeighborsClassifier(1))``. Units do not matter: the margin is
    one where neighbours i are one apart, on average, at the start. With a single data set
    ``own_weight`` counts as 1, and it is large-margin nearest neighbours with a penalty on the
    trace. Sparse samples are not filled, but A is dense, and so are some twenty of its size.

    Parameters
    ----------
    n_components : int or None
        Rank r of the metric at most, and number of features. None: 100, or what the samples allow.
    n_neighbors : int
        k, neighbours of the same class that each sample has in every data set.
    own_weight : float in [0, 1]
        ω, weight of neighbours in the own data set; the others share the rest.
    reg : float >= 0
        Weight of the trace of M, which is divided by its value at the start. Where it is so large
        that no metric at all is cheapest, a warning says so.
    n_impostors : int
        J, nearest samples of other classes that each sample is to be kept away from. Where classes
        overlap, the few nearest ones are nearer than the neighbours of the own class under any
        metric, and to have none is cheapest; more of them give it something to hold on to.
    max_iter : int
        Rounds at most, each of up to 20 steps of L-BFGS.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        A, turned so that the features of the training samples are uncorrelated, those of the
        largest variance first; the entry of largest magnitude of each row is positive.
    mean_ : ndarray of shape (n_features,)
        Mean of the training samples.
    objective_ : list of float
        Value after each round, with the impostors that are nearest then. It falls as a rule, and
        may rise where new impostors come near; the metric of the lowest value is kept.

    Notes
    -----
    A surrogate, not the published algorithm. The same: relevant samples are drawn from the own
    and from the other data sets, against irrelevant ones of any; a trace regularises. Different:
    the published method ranks all samples with structural metric learning to rank (McFee and
    Lanckriet, ICML 2010), margin rescaling and a cutting-plane solver; here near samples form
    triplets. It learns several metrics and selects one by weakly labelled web images; here
    ``own_weight`` and the rest are chosen on the sources, for instance by leaving one of them out.

    References
    ----------
    C. Fang, Y. Xu, D. N. Rockmore: Unbiased Metric Learning: On the Utilization of Multiple
    Datasets and Web Images for Softening Bias. ICCV, 2013.

    K. Q. Weinberger, L. K. Saul: Distance Metric Learning for Large Margin Nearest Neighbor
    Classification. Journal of Machine Learning Research 10, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter.methods import UML
    >>> rng = np.random.default_rng(0)
    >>> y, site = np.tile([0, 1], 90), np.repeat(["amsterdam", "basel", "cairo"], 60)
    >>> X = rng.normal(size=(180, 6))
    >>> X[:, 0] += 3 * y
    >>> X[:, 1] += 2 * np.repeat([0, 1, 2], 60)  # the site, and nothing else
    >>> uml = UML(n_components=1).fit(X, y, sample_domain=site)
    >>> int(np.abs(uml.components_[0]).argmax())
    0
    """

    n_neighbors: int = tried(COUNT, 3, 5, default=3)
    own_weight: float = tried(SHARE, 0.0, 0.3, 0.5, 0.7, 1.0, default=0.5)
    reg: float = tried(NON_NEGATIVE, 1e-3, 1e-2, 0.1, 1.0, default=0.1)
    n_impostors: int = parameter(COUNT, default=30)
    max_iter: int = 30
    tol: float = 1e-2
    _needs_two_classes = True
    _takes_sparse = True

    def _fit(self, transfer: Transfer) -> None:
        transfer = canonical(transfer, precomputed=False)
        axes = self._leading_axes(transfer.X)
        X, start, basis = transfer.X.astype(np.float64), axes.directions.T, None
        if not sparse.issparse(X):
            # Gradients are combinations of samples: where these are few, their span is enough.
            X, basis = in_span(np.ascontiguousarray(X - axes.mean))
            start = start if basis is None else start @ basis
        targets = self._targets(X, transfer.domains)
        Z = _features(X, start)
        # The unit is the mean of d(q, i), or of all distances where these are zero.
        nearby = float(np.average(_distances(Z, targets[0]), weights=targets[1]))
        unit = float(np.sqrt(nearby if nearby > 0 else 2 * float(Z.var(axis=0).sum())))
        X = X / unit
        A = self._search(X, start, targets, transfer.label)
        if np.vdot(A, A) < NOTHING * len(A):
            warnings.warn(
                f"UML: with reg={self.reg:g} and n_impostors={self.n_impostors} it is cheapest to "
                "have no metric at all, and features are next to constant. Choose a smaller reg, "
                "or more impostors where classes overlap.",
                stacklevel=3,
            )
        Z = _features(X, A)
        A = (A if basis is None else A @ basis.T) / unit
        self.components_ = turned(A.T, Z - Z.mean(axis=0)).T
        self.mean_, self.n_components_ = axes.mean, len(A)

    def _leading_axes(self, X: Any) -> PrincipalAxes:
        reason = "the rank of the labelled source samples, centred"
        bound = min(X.shape[0] - 1, X.shape[1])
        # What sizes alone rule out is refused before any work.
        self._check_dimension(bound, reason)
        wanted = min(self.n_components or DEFAULT_COMPONENTS, bound)
        axes = principal_axes(X.astype(np.float64, copy=False), wanted)
        self._check_dimension(len(axes.variances), reason)
        if not len(axes.variances):
            raise ValueError("All samples coincide, so that no metric can be learnt. Check X.")
        return axes

    def _targets(self, X: Any, domains: Domains) -> tuple[Array, Array]:
        """Return who shall be near whom, and the weights; a sample's own number is for nobody."""
        rows = np.sort(target_neighbours(X, domains, self.n_neighbors), axis=1)
        weights = target_weights(rows, domains.domain, domains.n_domains, self.own_weight)
        if not weights.any():
            raise ValueError(
                "UML finds no two labelled samples of a class that it might draw together with "
                f"own_weight={self.own_weight:g}. Give more than one of a class: in different data "
                "sets, or in one of them with own_weight > 0."
            )
        return rows, weights

    def _search(self, X: Any, start: Array, targets: tuple[Array, Array], label: Array) -> Array:
        """Return the A of the round that ends with the lowest objective."""
        A = best = start
        lowest = np.inf
        known = nearest_impostors(_features(X, A), label, self.n_impostors)
        iterations = Iterations.of(self)
        for _ in iterations:
            A = _lower(TripletLoss(X, targets, known, self.n_impostors, self.reg), A)
            nearest = nearest_impostors(_features(X, A), label, self.n_impostors)
            value, _ = TripletLoss(X, targets, nearest, self.n_impostors, self.reg)(A)
            if value < lowest:
                best, lowest = A, value
            known = union(known, nearest)
            iterations.record(value)
        return best

    def _transform(self, X: Any, from_source: Mask) -> Array:
        return np.asarray(centred_times(X, self.mean_, self.components_.T), dtype=X.dtype)


def _features(X: Any, A: Array) -> Array:
    return np.ascontiguousarray(X @ A.T)


def target_neighbours(X: Any, domains: Domains, k: int) -> Array:
    found = np.repeat(np.arange(domains.n_samples)[:, None], domains.n_domains * k, axis=1)
    for code in range(len(domains.classes)):
        of_class = domains.label == code
        for d in range(domains.n_domains):
            in_set = domains.domain == d
            here, there = (np.flatnonzero(of_class & where) for where in (in_set, ~in_set))
            columns = slice(d * k, (d + 1) * k)
            _fill_nearest(found[:, columns], X, None, here)
            _fill_nearest(found[:, columns], X, there, here)
    return found


def target_weights(rows: Array, domain: Array, n_domains: int, own_weight: float) -> Array:
    """Return w_qi: ω in the own data set, (1 − ω)/(m − 1) in each of the others."""
    own, other = (1.0, 0.0) if n_domains == 1 else (own_weight, (1 - own_weight) / (n_domains - 1))
    weights = np.where(domain[rows] == domain[:, None], own, other)
    weights[rows == np.arange(len(rows))[:, None]] = 0
    return weights


def nearest_impostors(Z: Array, label: Array, k: int) -> Array:
    found = np.repeat(np.arange(len(Z))[:, None], k, axis=1)
    for code in np.unique(label):
        members = label == code
        _fill_nearest(found, Z, np.flatnonzero(members), np.flatnonzero(~members))
    return found


def _fill_nearest(found: Array, X: Any, of: Array | None, among: Array) -> None:
    """Write down the samples ``among`` that are nearest to those in ``of``; None: to each other."""
    k = min(found.shape[1], len(among) - (of is None))
    if k < 1 or (of is not None and not len(of)):
        return
    search = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(X[among])
    near = search.kneighbors(None if of is None else X[of], return_distance=False)
    found[among if of is None else of, :k] = among[near]


def union(rows: Array, others: Array) -> Array:
    """Return the row numbers that one of two tables has, each once; then a sample's own."""
    n = len(rows)
    joined = np.sort(np.hstack([rows, others]), axis=1)
    joined[:, 1:][joined[:, 1:] == joined[:, :-1]] = n
    joined.sort(axis=1)
    joined = joined[:, : np.count_nonzero(joined < n, axis=1).max()]
    return np.where(joined < n, joined, np.arange(n)[:, None])


class TripletLoss:
    """F as a function of A, with impostors from a list of candidates, and its derivative."""

    def __init__(
        self, X: Any, targets: tuple[Array, Array], candidates: Array, n_impostors: int, reg: float
    ) -> None:
        self._X, self._reg = X, reg
        self._targets, weights = targets
        self._candidates = candidates
        self._absent = candidates == np.arange(len(candidates))[:, None]
        self._n_impostors = min(n_impostors, candidates.shape[1])
        present = np.count_nonzero(~self._absent, axis=1)
        self._weights = weights / (weights.sum(axis=1) @ np.minimum(present, n_impostors))

    def __call__(self, A: Array) -> tuple[float, Array]:
        Z = _features(self._X, A)
        impostors, away = self._nearest(Z)
        loss, pull, push = _hinges(_distances(Z, self._targets), away, self._weights)
        rows, weights = np.hstack([self._targets, impostors]), np.hstack([pull, -push])
        n, k = rows.shape
        P = sparse.csr_array((weights.ravel(), rows.ravel(), np.arange(0, n * k + 1, k)), (n, n))
        penalty = self._reg / len(A)
        derivative = np.asarray(self._X.T @ laplacian_times(P, Z)).T
        return loss + penalty * float(np.vdot(A, A)), 2 * (derivative + penalty * A)

    def _nearest(self, Z: Array) -> tuple[Array, Array]:
        """Return the impostors that count, and their distances; infinite for nobody."""
        distances = _distances(Z, self._candidates)
        distances[self._absent] = np.inf
        order = np.argpartition(distances, self._n_impostors - 1, axis=1)[:, : self._n_impostors]
        rows = np.take_along_axis(self._candidates, order, axis=1)
        return rows, np.take_along_axis(distances, order, axis=1)


def _hinges(near: Array, away: Array, weights: Array) -> tuple[float, Array, Array]:
    """Return Σ_qij w_qi h(1 + near_qi − away_qj), how it grows with near and falls with away."""
    loss, pull, push = 0.0, np.empty_like(near), np.empty_like(away)
    for part in gen_batches(len(near), max(BATCH // (near.shape[1] * away.shape[1]), 1)):
        value, slope = rounded_hinge(1 + near[part, :, None] - away[part, None, :])
        loss += float(np.einsum("qi,qij->", weights[part], value))
        slope *= weights[part, :, None]
        pull[part], push[part] = slope.sum(axis=2), slope.sum(axis=1)
    return loss, pull, push


def rounded_hinge(u: Array) -> tuple[Array, Array]:
    """Return h(u) and its slope: 0 below zero, u²/2 up to one, then u − ½."""
    slope = np.clip(u, 0, 1)
    return slope * (np.maximum(u, 0) - slope / 2), slope


def _distances(Z: Array, rows: Array) -> Array:
    out = np.empty(rows.shape)
    for part in gen_batches(len(Z), max(BATCH // (rows.shape[1] * Z.shape[1]), 1)):
        difference = Z[rows[part]] - Z[part, None]
        out[part] = np.einsum("qir,qir->qi", difference, difference)
    return out


def laplacian_times(P: Any, Z: Array) -> Array:
    """Return L Z for the Laplacian L of the graph P + Pᵀ: half of ∂/∂Z Σ_qi P_qi ‖z_q − z_i‖²."""
    degrees = P.sum(axis=1) + P.sum(axis=0)
    return np.asarray(degrees).reshape(-1, 1) * Z - P @ Z - P.T @ Z


def _lower(loss: TripletLoss, A: Array) -> Array:
    def flat(a: Array) -> tuple[float, Array]:
        value, derivative = loss(a.reshape(A.shape))
        return value, derivative.ravel()

    found = minimize(flat, A.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": STEPS})
    return np.asarray(found.x).reshape(A.shape)
