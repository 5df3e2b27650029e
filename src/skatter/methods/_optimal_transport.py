"""Optimal transport: source samples are moved onto the target at the least cost.

The term of the classes, with s_cj = n_t Σ_{i in c} T_ij, keeps source samples of different classes
from going to the same target sample. It is concave: linearised at the last T it is one more cost,
and each round is a transport with entropy, solved by Sinkhorn's scaling of rows and columns. Its
logarithms, which no small ε can spoil, are kept in double precision; between two looks at them
sweeps on the scaled plan are over-relaxed (A. Thibault, L. Chizat, C. Dossal, N. Papadakis:
Overrelaxed Sinkhorn-Knopp Algorithm for Regularized Optimal Transport. Algorithms 14(5), 2021),
and in single precision while they have far to go.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from skatter._parameters import NON_NEGATIVE, POSITIVE
from skatter._tensors import Array
from skatter.domains import Mask
from skatter.kernels import require_memory
from skatter.methods._base import RivalTransformer, Transfer
from skatter.methods._iteration import Iterations, Iterative
from skatter.methods._record import method, tried
from skatter.methods._subspaces import in_span
from skatter.neighbours import nearest_rows

BLOCKS, SWEEPS = 100, 20  # of sweeps over rows and columns in a round, at most; sweeps in each
MARGINAL = 1e-7  # total deviation of the rows' sums at which sweeps end
SINGLE = 1e-5  # total deviation down to which single precision is enough
SLOWEST = 1 - 1e-5  # share that a plain sweep leaves of the deviation, at most, for relaxation
LESS = 1.2  # factor by which the distance of a relaxation from 2 grows where it was too large
LARGEST = 1e25  # factor of a row or column in a block: its products are within single precision
ROUNDING = 1e-11  # fall of the dual objective, relative to potentials, that is none
FLOOR = 1e-3  # added to shares of classes under the root, whose slope at zero is infinite


@method(
    "ot",
    when="each domain is a moved or bent copy of the other, of like size",
    uses=("source labels",),
    cost="n_s n_t p + n_s n_t per sweep",
)
class OptimalTransport(Iterative, RivalTransformer):
    """Optimal transport with entropy: source samples moved onto the target, classes kept apart.

        minimise    ⟨T, M⟩ + ε Σ_ij T_ij log T_ij + (η/n_t) Σ_cj √s_cj
        over T ≥ 0  with rows that sum to 1/n_s and columns that sum to 1/n_t

    with M the squared distances in units of their mean, and s_cj the share of class c in what
    target sample j receives. Features are the inputs: target samples stay where they are, and a
    source sample goes to the mean of the target samples that T sends it to. A new sample of a
    source moves as the nearest one of ``fit`` does. With ``class_weight=0`` it is plain entropic
    transport, which needs no labels. Sources are pooled; labels of the target are not used.

    Parameters
    ----------
    entropy : float > 0
        ε, in units of the mean squared distance. Small values send each sample to few others.
    class_weight : float >= 0
        η: how much it costs that source samples of several classes go to one target sample.
    max_iter : int
        Rounds at most; one is enough where ``class_weight=0``.

    Attributes
    ----------
    plan_ : ndarray of shape (n_source, n_target)
        T, for source and target samples in their order in ``X``.
    X_source_, moved_ : ndarray of shape (n_source, n_features_in_)
        Source samples, and where they go.

    References
    ----------
    N. Courty, R. Flamary, D. Tuia, A. Rakotomamonjy: Optimal Transport for Domain Adaptation. IEEE
    TPAMI 39(9), 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter.methods import OptimalTransport
    >>> rng = np.random.default_rng(0)
    >>> y = np.tile([0, 1], 40)
    >>> X = rng.normal(size=(80, 2)) + 6 * y[:, None]
    >>> X[40:] += [5, -5]
    >>> site = np.repeat([1, -2], 40)  # a negative id is the target
    >>> Z = OptimalTransport().fit_transform(X, np.where(site > 0, y, -1), sample_domain=site)
    >>> bool(np.abs(Z[:40].mean(axis=0) - Z[40:].mean(axis=0)).max() < 1e-6)
    True
    """

    entropy: float = tried(POSITIVE, 0.01, 0.05, 0.1, 0.5, default=0.05)
    class_weight: float = tried(NON_NEGATIVE, 0.0, 0.1, 1.0, default=0.1)
    max_iter: int = 20

    def _fit(self, transfer: Transfer) -> None:
        source, target = (X.astype(np.float64) for X in (transfer.X_source, transfer.X_target))
        require_memory(max(len(source), len(target)), 8)
        cost = cdist(source, target, "sqeuclidean")
        cost /= cost.mean() or 1.0
        label = transfer.label[transfer.source]
        members = (label == np.arange(len(transfer.classes))[:, None]).astype(float)
        iterations = Iterations.of(self)
        penalty, g = np.zeros(1), np.zeros(1)
        for _ in iterations:
            log_plan, g = log_transport(cost + self.class_weight * penalty, self.entropy, g)
            plan = np.exp(log_plan)
            roots = np.sqrt(len(target) * (members @ plan) + FLOOR)
            penalty = members.T @ (0.5 / roots)  # none for samples without a label
            value = float(np.vdot(plan, cost) + self.entropy * np.vdot(plan, log_plan))
            value += self.class_weight * float(roots.sum()) / len(target)
            iterations.record(value, settled=True if self.class_weight == 0 else None)
        self.plan_, self.X_source_ = plan, source
        self.moved_ = (plan / plan.sum(axis=1, keepdims=True)) @ target
        self.objective_ = np.array(iterations.objective)
        self.n_components_ = source.shape[1]

    def _transform(self, X: Array, from_source: Mask) -> Array:
        Z, rows = np.array(X, dtype=np.float64), np.flatnonzero(from_source)
        if len(rows):
            # Around their mean, distances lose no digits.
            origin = self.X_source_.mean(axis=0)
            near = nearest_rows(Z[rows] - origin, self.X_source_ - origin)
            Z[rows] += self.moved_[near] - self.X_source_[near]
        return Z.astype(X.dtype)


def log_transport(cost: Array, entropy: float, start: Array | float = 0.0) -> tuple[Array, Array]:
    """Return log T of the transport with entropy between uniform weights, and g for a next start.

    Where the columns of log T = f + g − cost/ε sum to what they should, mean f + mean g is the dual
    objective. If over-relaxed sweeps have lowered it, they are taken back and plain ones follow.
    """
    (n, m), log_kernel = cost.shape, cost / -entropy
    f = -np.log(n) - log_sums(log_kernel + start, axis=1)
    g = -np.log(m) - log_sums(log_kernel + f, axis=0)
    kept, best, omega, deviation = (f, g), -np.inf, 1.0, np.inf
    for _ in range(BLOCKS):
        plan = log_kernel + f
        plan += g
        np.exp(plan, out=plan)
        columns = m * plan.sum(axis=0, keepdims=True)
        g = g - np.log(columns)
        dual = float(f.mean() + g.mean())
        if dual < best - ROUNDING * (1 + np.abs(f).mean()):
            (f, g), omega, deviation = kept, 1.0, np.inf
            continue
        plan *= n / columns
        kept, best, last = (f, g), dual, deviation
        deviation = float(np.abs(plan.sum(axis=1) - 1).mean())
        if deviation < MARGINAL:
            break
        omega = relaxation(omega, (deviation / last) ** (1 / SWEEPS))
        log_u, log_v = sweep(plan.astype(np.float32) if deviation > SINGLE else plan, omega)
        f, g = f + log_u[:, None], g + log_v
    f, g = kept
    return np.asarray(log_kernel + f + g), np.asarray(g)


def log_sums(A: Array, axis: int) -> Array:
    """Return log Σ exp(A) along an axis, which overwrites A."""
    largest = A.max(axis=axis, keepdims=True)
    A -= largest
    return np.asarray(largest + np.log(np.exp(A, out=A).sum(axis=axis, keepdims=True)))


def sweep(plan: Array, omega: float) -> tuple[Array, Array]:
    """Return logarithms of u and v that bring sums of the rows and columns of u_i T_ij v_j to one.

    Here rows of T nearly sum to one; each sweep takes ``omega`` times the step of Sinkhorn.
    """
    n, m = plan.shape
    u, v = np.ones(n), np.ones(m)
    for _ in range(SWEEPS):
        rows = u * (plan @ v.astype(plan.dtype))
        u = np.clip(u * np.maximum(rows, 1 / LARGEST) ** -omega, 1 / LARGEST, LARGEST)
        columns = v * (u.astype(plan.dtype) @ plan) * (m / n)
        v = np.clip(v * np.maximum(columns, 1 / LARGEST) ** -omega, 1 / LARGEST, LARGEST)
    return np.log(u), np.log(v)


def relaxation(omega: float, share: float) -> float:
    """Return the best relaxation, given the share λ of the deviation that a sweep leaves.

    Young's theory of successive over-relaxation: (λ + ω − 1)² = λ ω² θ² with θ² what a plain sweep
    leaves, and ω = 2/(1 + √(1 − θ²)) is best. Beyond it, λ = ω − 1 tells that ω is too large.
    """
    if share >= 1:
        return omega  # deviations may rise before they fall
    if share <= omega - 1:
        return max(2 - LESS * (2 - omega), 1.0)
    plain = min((share + omega - 1) ** 2 / (share * omega**2), SLOWEST)
    return float(2 / (1 + np.sqrt(1 - plain)))


@method(
    "linear-ot",
    when="as coral, with means to be matched as well",
    cost="n p m + m³ + p² m, m = min(n, p)",
    linear=True,
)
class LinearTransport(RivalTransformer):
    """Linear transport: the linear map with the least motion that matches mean and covariance.

        source:  x -> (x − m_s) A + m_t,      A = C_s^(-½) (C_s^½ C_t C_s^½)^½ C_s^(-½)

    Source samples get the mean and the covariance of the target, as by :class:`CORAL` with
    ``align_means=True``, and move as little as they can on the way. Target samples stay where they
    are. Sources are pooled; labels are not used.

    Parameters
    ----------
    ridge : float >= 0
        Added to the diagonals of the covariances, in units of their mean.

    Attributes
    ----------
    map_ : ndarray of shape (n_features_in_, n_features_in_)
        A.
    source_mean_, target_mean_ : ndarray of shape (n_features_in_,)
        m_s and m_t.

    References
    ----------
    R. Flamary, K. Lounici, A. Ferrari: Concentration Bounds for Linear Monge Mapping Estimation
    and Optimal Transport Domain Adaptation. arXiv 1905.10155, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter.methods import LinearTransport
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 2))
    >>> X[40:] = X[40:] * [3, 1] + 7
    >>> Z = LinearTransport().fit_transform(X, sample_domain=np.repeat([1, -2], 40))
    >>> bool(np.abs(np.cov(Z[:40].T) - np.cov(Z[40:].T)).max() < 0.1)
    True
    """

    ridge: float = tried(NON_NEGATIVE, 1e-4, 1e-3, 1e-2, 0.1, default=1e-3)

    def _fit(self, transfer: Transfer) -> None:
        p, dtype = transfer.X.shape[1], transfer.X.dtype
        domains = transfer.X_source, transfer.X_target
        means = [X.mean(axis=0, dtype=np.float64) for X in domains]
        # Both covariances map the span of the samples to itself; outside it they are their ridges.
        Z, basis = in_span(np.vstack([X - mean for X, mean in zip(domains, means, strict=True)]))
        if basis is not None:
            Z = np.hstack([Z, np.zeros((len(Z), 1))])  # one direction for all outside the span
        n = len(transfer.X_source)
        source, target = self._covariance(Z[:n], p), self._covariance(Z[n:], p)
        root, inverse = roots(source)
        # Singular values of C_s^½ C_t^½ keep the digits that those of its square would lose.
        U, s, _ = np.linalg.svd(root @ roots(target)[0])
        A = inverse @ (U * s) @ U.T @ inverse
        if basis is not None:
            outside = A[-1, -1]
            A = basis @ (A[:-1, :-1] - outside * np.eye(len(A) - 1)) @ basis.T
            A[np.diag_indices(p)] += outside
        self.map_ = A.astype(dtype)
        self.source_mean_, self.target_mean_ = (mean.astype(dtype) for mean in means)
        self.n_components_ = p

    def _covariance(self, Z: Array, n_features: int) -> Array:
        C = Z.T @ Z / max(len(Z) - 1, 1)
        C[np.diag_indices_from(C)] += self.ridge * (np.trace(C) / n_features or 1.0)
        return C

    def _transform(self, X: Array, from_source: Mask) -> Array:
        moved = (X - self.source_mean_) @ self.map_ + self.target_mean_
        return np.asarray(np.where(from_source[:, None], moved, X), dtype=X.dtype)


def roots(C: Array) -> tuple[Array, Array]:
    """Return C^½ and C^-½ of a covariance; directions without variance stay without."""
    s, U = np.linalg.eigh((C + C.T) / 2)
    kept = s > len(s) * np.finfo(float).eps * max(s[-1], 0)
    U, s = U[:, kept], np.sqrt(s[kept])
    return (U * s) @ U.T, (U / s) @ U.T
