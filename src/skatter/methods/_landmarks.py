"""Landmarks: source samples that could be the target's, and the tasks they make easier.

At a scale r, the kernel is K = exp(−r D/m), with D the squared distances of the geodesic flow
kernel of the domains and m their median; weights of a class sum to n_c/n_s, or half that at least.

Each scale gives an auxiliary task, and that task a geodesic flow with a metric G_r. The kernel is
Σ_r w_r xᵀG_r z / tr_r, where tr_r is its trace on the training samples. The authors find the w by
multiple kernel learning; here they are those with which the kernel is best aligned with the
classes. Since every G_r = R_r R_rᵀ has a rank of 2d, all is computed from features x R_r, and the
classifier is linear in x.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import nnls
from sklearn.metrics.pairwise import euclidean_distances

from skatter._parameters import POSITIVE, choice, optional, parameter, several
from skatter._solve import principal_axes
from skatter._tensors import Array
from skatter.domains import Mask
from skatter.kernels import median_distance, require_memory
from skatter.methods._base import SourceClassifier, Transfer, one_against_rest
from skatter.methods._geodesic import Geodesic, geodesic
from skatter.methods._iteration import Iterations
from skatter.methods._machines import support_vector_machines
from skatter.methods._quadratic import Region, minimise
from skatter.methods._record import Tuning, method, tried
from skatter.methods._subspaces import OnSubspaces, centred_times, feature_mean

SCALES = tuple(2.0**q for q in range(-6, 7))  # scales r that are looked at unless others are named
# Share of its mean diagonal that is added to the matrix whose minimum is sought. It makes the
# weights unique where many of them match the means to the last digit.
RIDGE = 1e-6
WEIGHT = 1e-8  # a landmark has more weight than this
MOST = 2 / 3  # a scale at which a larger share of the source has weight is left out
LEAST = 1 / 3  # share of each class that is made landmarks
# Share of their scale up to which squared distances of means are found. Weights that should be
# zero are then far below ``WEIGHT``, and all others far above.
TOL = 1e-12
_SCALES = several(POSITIVE, "one scale at least")
MAX_ITER = 100  # iterations of the interior-point method at most; two dozen are many


@method(
    "landmarks",
    when="part of the source resembles the target, and the rest misleads",
    cost="13 (n_s (n_s + n_t) + 20 n_s³/3) + n p d",
    coarse=Tuning({}, why="Gong et al. 2013 tune nothing"),
)
class Landmarks(OnSubspaces, SourceClassifier):
    """Landmarks: trains on source samples that could be the target's, at several scales.

    At each of several scales, the landmarks are the source samples that have weight where the
    weighted mean of the source is nearest to the mean of the target,

        minimise    ‖Σ β_i φ(x_i) − (1/n_t) Σ φ(t_j)‖²    over β ≥ 0, Σ β = 1, classes balanced.

    From the source without landmarks to the target with them runs a geodesic flow for each scale,
    of fewer dimensions where samples are few. A support vector machine on the landmarks of all
    scales uses the kernels of these flows together, Σ w_r xᵀG_r z. Sources are pooled. Unlabelled
    source samples are in the flows, but are no landmarks; labels of the target are not used.
    Standardise each domain first, as the authors do.

    Where no scale tells landmarks from the rest, since more than two thirds of the source would
    be some, a warning says so, and all labelled source samples are landmarks with the kernel of
    the flow from source to target, as they are at an infinite scale.

    Parameters
    ----------
    C : float > 0
        Cost of a sample on the wrong side of the margin. Kernels have a trace of one.
    scales : sequence of float > 0, or None
        Scales r of the kernel exp(−r D/median) that finds the landmarks: wide where r is small.
        None: 2⁻⁶, 2⁻⁵, … 2⁶.
    balance : {"half", "exact"}
        ``"exact"``: each class has the share of the weight that it has of the samples, as in the
        paper. ``"half"``: half of that at least, as in the authors' code.
    mixing : {"alignment", "uniform"}
        Weights of the kernels: those with which their sum is best aligned with the classes of the
        landmarks, in place of the authors' multiple kernel learning; or all the same.

    Attributes
    ----------
    landmarks_ : ndarray of bool of shape (n_samples, n_scales)
        Which samples are landmarks at each of ``scales_``.
    scales_ : ndarray of shape (n_scales,)
        Scales that tell landmarks from other samples; infinity alone where none does.
    kernel_weights_ : ndarray of shape (n_scales,)
        w, which sum to one.
    dimension_ : int
        Dimension of the subspaces of source and target.
    coef_ : ndarray of shape (n_machines, n_features_in_)
        Weights of the features, one machine for each class or one for two classes.
    intercept_ : ndarray of shape (n_machines,)
        Intercepts, for samples less ``mean_``.
    mean_ : ndarray of shape (n_features_in_,)
        Mean of all training samples.

    References
    ----------
    B. Gong, K. Grauman, F. Sha: Connecting the Dots with Landmarks: Discriminatively Learning
    Domain-Invariant Features for Unsupervised Domain Adaptation. ICML 2013.

    C. Cortes, M. Mohri, A. Rostamizadeh: Algorithms for Learning Kernels Based on Centered
    Alignment. JMLR 13, 2012.

    Examples
    --------
    Half of the source lies where the target is, and half of it elsewhere.

    >>> import numpy as np
    >>> from skatter.methods import Landmarks
    >>> rng = np.random.default_rng(0)
    >>> y = np.tile([0, 1], 60)
    >>> X = rng.normal(size=(120, 4)) + 3 * y[:, None] * [1, 1, 0, 0]
    >>> X[:40, 3] += 6
    >>> site = np.repeat([1, -2], [80, 40])  # a negative id is the target
    >>> model = Landmarks(n_components=3, scales=[0.25])
    >>> model = model.fit(X, np.where(site > 0, y, -1), sample_domain=site)
    >>> int(model.landmarks_[40:80].sum()), int(model.landmarks_[:40].sum())
    (27, 1)
    """

    C: float = tried(POSITIVE, 2.0**4, 2.0**7, 2.0**10, 2.0**13, default=2.0**10)
    scales: Sequence[float] | None = parameter(optional(_SCALES), default=None)
    balance: str = tried(choice("half", "exact"), "half", "exact", default="half")
    mixing: str = tried(choice("alignment", "uniform"), "alignment", "uniform", default="alignment")
    _takes_sparse = True

    def _fit(self, transfer: Transfer) -> None:
        # Which samples are landmarks is all or nothing: single precision would choose others.
        transfer = replace(transfer, X=transfer.X.astype(np.float64, copy=False))
        candidates = np.flatnonzero(transfer.source & transfer.labelled)
        require_memory(len(candidates) + int(np.count_nonzero(transfer.target)), 8)
        label = self._source_labels(transfer)[candidates]
        flow = self._geodesic(transfer)
        self.mean_, self.dimension_ = feature_mean(transfer.X), flow.dimension
        tasks = self._tasks(transfer, candidates, label, flow)
        self.scales_ = np.array([scale for scale, _, _ in tasks])
        self.landmarks_ = np.column_stack([landmarks for _, landmarks, _ in tasks])
        rows = self.landmarks_[candidates].any(axis=1)
        self._train(transfer.X[candidates[rows]], label[rows], [factor for *_, factor in tasks])

    def _tasks(
        self, transfer: Transfer, candidates: Array, label: Array, flow: Geodesic
    ) -> list[tuple[float, Mask, Array]]:
        """Return scale, landmarks and R, R Rᵀ = G, of the auxiliary tasks, one at least."""
        Z = centred_times(transfer.X, self.mean_, flow.factor())
        source, target = Z[candidates], Z[transfer.target]
        median = median_distance(np.vstack([source, target]))
        within, across, beyond = (
            euclidean_distances(A, B, squared=True) / median
            for A, B in ((source, source), (source, target), (target, target))
        )
        tasks = []
        for scale in map(float, np.ravel(SCALES if self.scales is None else self.scales)):
            delta = discrepancy(within, across, beyond, scale)
            weights, slope = match_means(delta, label, balance=self.balance)
            chosen = choose_landmarks(weights, slope, label)
            if chosen is not None:
                landmarks = np.isin(np.arange(len(transfer.source)), candidates[chosen])
                factor = _flow_to_target(transfer, landmarks, flow.dimension)
                if factor is not None:
                    tasks.append((scale, landmarks, factor))
        if tasks:
            return tasks
        warnings.warn(
            "No scale tells landmarks from the other source samples: at each, more than two thirds "
            "of them match the target, or too few are left over. All labelled source samples are "
            "trained on, with the geodesic flow kernel of source and target. Smaller scales choose "
            "fewer.",
            stacklevel=4,
        )
        return [(np.inf, np.isin(np.arange(len(transfer.source)), candidates), flow.factor())]

    def _train(self, X: Any, label: Array, factors: list[Array]) -> None:
        factors = [R / np.sqrt(np.sum(centred_times(X, self.mean_, R) ** 2)) for R in factors]
        self.kernel_weights_ = np.full(len(factors), 1 / len(factors))
        if self.mixing == "alignment":
            features = [centred_times(X, self.mean_, R) for R in factors]
            self.kernel_weights_ = aligned_weights(features, label)
        R = np.hstack([np.sqrt(w) * R for w, R in zip(self.kernel_weights_, factors, strict=True)])
        Z = centred_times(X, self.mean_, R)
        signs = one_against_rest(label, len(self.classes_))
        coef, self.intercept_ = support_vector_machines(Z @ Z.T, signs, self.C, 1e-3)
        self.coef_ = (R @ (Z.T @ coef)).T

    def _decide(self, X: Any, from_source: Mask) -> Array:
        return centred_times(X, self.mean_, self.coef_.T) + self.intercept_


def discrepancy(D_source: Array, D_across: Array, D_target: Array, scale: float) -> Array:
    """Return Δ, for which βᵀΔβ is the squared distance of the means where Σ β = 1.

    Δ holds k(x, x') − mean_t k(x, t) − mean_t k(t, x') + mean_tt' k(t, t') for the kernel
    k = exp(−r D). With exp(−r D) − 1 in place of it, no digits are lost at small scales.
    """
    towards = np.expm1(-scale * D_across).mean(axis=1)
    delta = np.expm1(-scale * D_source)
    delta -= towards
    delta -= towards[:, None]
    delta += np.expm1(-scale * D_target).mean()
    return delta


def match_means(delta: Array, label: Array, *, balance: str) -> tuple[Array, Array]:
    """Minimise βᵀΔβ, with a small ridge, over balanced weights; return them and the slope there."""
    n = len(label)
    members = (label == np.unique(label)[:, None]).astype(float)
    # What is bounded from above by two never comes near it: all weights sum to one.
    upper, most = np.full(n, 2.0), np.full(len(members), 2.0)
    if balance == "exact":
        region = Region(upper, E=members)
    else:
        least = members.sum(axis=1) / n / 2
        region = Region(upper, G=members, low=least, high=most, E=np.ones((1, n)))
    ridged = delta.copy()
    ridged[np.diag_indices(n)] += RIDGE * np.trace(delta) / n
    iterations = Iterations("Landmarks", max_iter=MAX_ITER, tol=TOL)
    beta = minimise(ridged, np.zeros(n), region, np.full(n, 1 / n), iterations)
    return beta, ridged @ beta


def choose_landmarks(weights: Array, slope: Array, label: Array) -> Mask | None:
    """Return who is a landmark, at least a third of each class; None where too many are."""
    chosen = weights > WEIGHT
    if np.count_nonzero(chosen) > MOST * len(chosen):
        return None
    for code in np.unique(label):
        members = np.flatnonzero(label == code)
        missing = int(np.ceil(LEAST * len(members))) - np.count_nonzero(chosen[members])
        if missing > 0:  # the others that are nearest to having weight
            others = members[~chosen[members]]
            chosen[others[np.argsort(slope[others])[:missing]]] = True
    return chosen


def _flow_to_target(transfer: Transfer, landmarks: Mask, dimension: int) -> Array | None:
    """Return R of the flow from the rest to the target with landmarks; None without a rest."""
    rest, near = transfer.source & ~landmarks, transfer.target | landmarks
    if np.count_nonzero(rest) < 2:
        return None
    bases = [principal_axes(transfer.X[part], dimension).directions for part in (rest, near)]
    common = min(basis.shape[1] for basis in bases)
    return geodesic(*(basis[:, :common] for basis in bases)).factor() if common else None


def aligned_weights(features: list[Array], label: Array) -> Array:
    """Return weights w ≥ 0 of linear kernels with which their sum is best aligned with classes.

    With centred kernels K_r = Z_r Z_rᵀ and class indicators Y, the alignment is
    ⟨Σ w_r K_r, Y Yᵀ⟩/‖Σ w_r K_r‖, which is largest at the minimum over w ≥ 0 of
    ‖Σ w_r K_r‖² − 2 ⟨Σ w_r K_r, Y Yᵀ⟩, a least-squares problem.
    """
    indicators = (label[:, None] == np.unique(label)).astype(float)
    Y, *centred = (Z - Z.mean(axis=0) for Z in (indicators, *features))
    products = np.array([[np.sum((Z.T @ W) ** 2) for W in centred] for Z in centred])
    with_classes = np.array([np.sum((Z.T @ Y) ** 2) for Z in centred])
    values, V = eigh(products)
    sound = values > len(values) * np.finfo(float).eps * values[-1]
    root = np.sqrt(values[sound])
    weights, _ = nnls(root[:, None] * V[:, sound].T, V[:, sound].T @ with_classes / root)
    total = weights.sum()
    return weights / total if total > 0 else np.full(len(features), 1 / len(features))
