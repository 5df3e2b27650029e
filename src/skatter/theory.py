"""Theory made computable: what the paper's bounds say about one sample, and what they cannot say.

Notation: P and Q are the source and the target distribution, P^ and Q^ their samples, K the raw
(not centred) Gram matrix of both, w the signed weights 1/n_s on source and −1/n_t on target
samples, Hyp = {‖f‖_H ≤ Λ} the hypotheses, B0 = sup k(x, x), so that |f| ≤ r = Λ √B0.

=====================  =========================================================================
scatter bound          |Ψ(P) − Ψ^| ≤ 2 B0 √(2 log(2/α)/n), Ψ^ unbiased
mean map bound         ‖μ_P − μ_P^‖ ≤ √(B0/n) (1 + √(2 log(1/α)))
discrepancy            4 Λ² ‖Cov_P − Cov_Q‖_op ≤ 4 Λ² MMD_{k²}(P, Q)
Rademacher complexity  (Λ/n) E √(sᵀ K s) ≤ (Λ/n) √(tr K), s random signs
adaptation bound       RMSE_Q(h, f) ≤ √(L_P^(h, h') + disc(P^, Q^) + slack) + RMSE_Q(h', f)
=====================  =========================================================================

Every probability is for a kernel that was fixed before the samples were seen. A bandwidth set by
the median of the same samples is the usual practice and a small breach of that.

Where the paper prints something else, the printed form stands beside, marked as printed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, check_random_state

from skatter.checks import check_integer, check_real
from skatter.kernels import Kernel, check_gram, gram, resolve_kernel
from skatter.scatter import scatter

Array = NDArray[Any]

NOTE = "diagnostic, not a certificate"
"""How every :class:`AdaptationBound` is to be read."""


# --- one sample: scatter, mean map, Rademacher complexity ---------------------------------------


class ScatterBound(NamedTuple):
    """The scatter of a distribution, estimated from a sample, and how far off it may be."""

    estimate: float
    half_width: float
    printed_half_width: float
    n: int
    B0: float
    alpha: float


def scatter_bound(
    X: Any,
    *,
    kernel: Any = "rbf",
    gamma: Any = "median",
    alpha: float = 0.05,
    bound: float | None = None,
) -> ScatterBound:
    """Confidence interval for the scatter Ψ(P) of the distribution behind a sample (Theorem 1).

    With probability at least 1 − α, ``|Ψ(P) − Ψ^| ≤ 2 B0 √(2 log(2/α)/n)``, where
    ``Ψ^ = n/(n−1) · tr(H K)/n`` is unbiased and B0 = sup k(x, x).

    The paper prints half of this width, around the biased estimate. One sample can change Ψ^ by
    4 B0/n (linear kernel on [−1, 1]), which gives the width above; the printed one needs a
    kernel that is never negative, such as ``"rbf"``, where the change is at most 2 B0/n.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The sample, or its Gram matrix with ``kernel="precomputed"``.
    kernel, gamma : str or callable, "median", "printed", float or None
        Feature space, as in :func:`skatter.kernels.resolve_kernel`.
    alpha : float in (0, 1)
        Probability with which the bound may fail.
    bound : float or None
        B0, the largest k(x, x) that any sample of the distribution can have. None takes the
        largest one in ``X``: exact for kernels with a constant diagonal (rbf, laplacian, chi2,
        cosine), but only an estimate, from below, for unbounded kernels (linear, poly).

    Returns
    -------
    ScatterBound
        ``estimate``, ``half_width``, ``printed_half_width``, ``n``, ``B0``, ``alpha``.

    Examples
    --------
    >>> from skatter.theory import scatter_bound
    >>> result = scatter_bound([[-1.0], [1.0], [1.0], [-1.0]], kernel="linear", bound=1.0)
    >>> round(result.estimate, 4), round(result.half_width, 4)
    (1.3333, 2.7162)
    """
    alpha = _check_alpha(alpha)
    X = _check(X, "X", least=2)
    resolved, K = _single(X, kernel, gamma)
    return _scatter_bound(X, K, resolved, _kernel_bound(K, bound), alpha)


def _scatter_bound(X: Array, K: Array, kernel: Kernel, B0: float, alpha: float) -> ScatterBound:
    n = len(K)
    # In input space, scatter() centres first: means far from zero would cost digits in K.
    biased = scatter(X, kernel="linear") if kernel.linear else scatter(K, kernel="precomputed")
    printed = B0 * float(np.sqrt(2 * np.log(2 / alpha) / n))
    return ScatterBound(n / (n - 1) * biased, 2 * printed, printed, n, B0, alpha)


def mean_map_bound(n: int, B0: float, alpha: float = 0.05) -> float:
    """Distance between a mean map and its estimate, ‖μ_P − μ_P^‖ ≤ √(B0/n) (1 + √(2 log(1/α))).

    Holds with probability at least 1 − α. For the squared kernel k², pass B0².

    Parameters
    ----------
    n : int
        Number of samples.
    B0 : float
        sup k(x, x); 1 for the RBF kernel.
    alpha : float in (0, 1)
        Probability with which the bound may fail.

    Returns
    -------
    float
        The bound.

    Examples
    --------
    >>> from skatter.theory import mean_map_bound
    >>> round(mean_map_bound(100, 1.0, 0.05), 4)
    0.3448
    """
    n = check_integer("n", n, low=1)
    B0 = check_real("B0", B0, low=0)
    return float(np.sqrt(B0 / n) * (1 + np.sqrt(2 * np.log(1 / _check_alpha(alpha)))))


class RademacherComplexity(NamedTuple):
    """Empirical Rademacher complexity of a ball: its Monte-Carlo estimate and an upper bound."""

    monte_carlo: float
    bound: float


def rademacher_complexity(
    X: Any,
    *,
    kernel: Any = "rbf",
    gamma: Any = "median",
    radius: float = 1.0,
    n_draws: int = 1000,
    random_state: Any = None,
) -> RademacherComplexity:
    """Empirical Rademacher complexity of the ball {‖f‖_H ≤ Λ} on a sample.

    ``(Λ/n) E √(sᵀ K s)`` over random signs s, by Monte Carlo, and ``(Λ/n) √(tr K)``, which is
    never smaller than the expectation and is Λ/√n for kernels with k(x, x) = 1.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The sample, or its Gram matrix with ``kernel="precomputed"``.
    kernel, gamma : str or callable, "median", "printed", float or None
        Feature space, as in :func:`skatter.kernels.resolve_kernel`.
    radius : float
        Λ, the radius of the ball of hypotheses.
    n_draws : int
        Sign vectors drawn.
    random_state : int, RandomState instance or None
        Draws the signs.

    Returns
    -------
    RademacherComplexity
        ``monte_carlo`` and ``bound``.

    Examples
    --------
    >>> from skatter.theory import rademacher_complexity
    >>> result = rademacher_complexity([[0.0], [9.0]], gamma=1.0, random_state=0)
    >>> round(result.monte_carlo, 4), round(result.bound, 4)
    (0.7071, 0.7071)
    """
    radius = _check_radius(radius)
    n_draws = check_integer("n_draws", n_draws, low=1)
    _, K = _single(_check(X, "X"), kernel, gamma)
    return _rademacher(K, radius, n_draws, random_state)


def _rademacher(K: Array, radius: float, n_draws: int, random_state: Any) -> RademacherComplexity:
    n = len(K)
    signs = 2.0 * check_random_state(random_state).randint(2, size=(n_draws, n)) - 1
    norms = _root(np.einsum("di,di->d", signs @ K, signs), n**2 * np.abs(np.diagonal(K)).max())
    trace = _root(np.trace(K), n * np.abs(np.diagonal(K)).max())
    return RademacherComplexity(radius / n * float(norms.mean()), radius / n * float(trace))


# --- two samples: discrepancy -------------------------------------------------------------------


def discrepancy(
    X: Any,
    Y: Any,
    *,
    kernel: Any = "rbf",
    gamma: Any = "median",
    radius: float = 1.0,
) -> float:
    """Exact discrepancy of two samples under squared loss, over the ball {‖f‖_H ≤ Λ}.

    ``disc(P^, Q^) = sup_{h, h'} |L_P^(h, h') − L_Q^(h, h')| = 4 Λ² ‖Cov_P^ − Cov_Q^‖_op``, with
    L(h, h') = E (h − h')² and uncentred covariance operators. It is 4 Λ² max |eig(Fᵀ diag(w) F)|
    for any factor K = F Fᵀ; these are the eigenvalues of diag(w) K, found symmetrically.

    Parameters
    ----------
    X, Y : array-like of shapes (n_x, n_features) and (n_y, n_features)
        Two samples. With ``kernel="precomputed"``, the rows of their joint Gram matrix that
        belong to each: ``K[:n_x]`` and ``K[n_x:]``.
    kernel, gamma : str or callable, "median", "printed", float or None
        Feature space; the median is taken over both samples.
    radius : float
        Λ, the radius of the ball of hypotheses.

    Returns
    -------
    float
        The discrepancy. Costs O(n³), or O(n p²) for the linear kernel with p < n features.

    Examples
    --------
    >>> from skatter.theory import discrepancy
    >>> round(discrepancy([[-0.1], [0.1]], [[0.0]], gamma=1.0), 5)
    0.10758
    """
    radius = _check_radius(radius)
    return 4 * radius**2 * _covariance_gap(_pair(X, Y, kernel, gamma))


def discrepancy_bound(
    X: Any,
    Y: Any,
    *,
    kernel: Any = "rbf",
    gamma: Any = "median",
    radius: float = 1.0,
) -> float:
    """Upper bound 4 Λ² MMD_{k²} of the discrepancy, with the squared kernel k².

    ``MMD_{k²}² = wᵀ (K ∘ K) w``. It bounds :func:`discrepancy` because (h − h')(x)² is an inner
    product with φ(x) ⊗ φ(x), and it costs O(n²) only. It replaces the paper's lemma, for which
    see :func:`printed_discrepancy_bound`.

    Parameters
    ----------
    X, Y, kernel, gamma, radius
        As in :func:`discrepancy`.

    Returns
    -------
    float
        The bound, equal to 8 Λ² √Ψ of the two mean maps in the feature space of k².

    Examples
    --------
    >>> from skatter.theory import discrepancy_bound
    >>> round(discrepancy_bound([[-0.1], [0.1]], [[0.0]], gamma=1.0), 5)
    0.13628
    """
    radius = _check_radius(radius)
    pair = _pair(X, Y, kernel, gamma)
    return 4 * radius**2 * _mmd(np.square(pair.K), pair.weights)


def printed_discrepancy_bound(
    X: Any,
    Y: Any,
    *,
    kernel: Any = "rbf",
    gamma: Any = "median",
    range_bound: float = 1.0,
) -> float:
    """Discrepancy bound exactly as printed, 8 r √Ψ({μ_P, μ_Q}) = 4 r MMD_k; it is NOT valid.

    The paper states it for hypotheses with ‖f‖_H ≤ 1 and |f| ≤ r. Its proof takes
    ‖g h‖_H ≤ ‖g‖_∞ ‖h‖_H, which is false: for the Gaussian kernel, h = k(·, a) lies in H and h²
    does not. A counterexample with r = 1: kernel exp(−(x − x')²), P uniform on {−0.1, 0.1}, Q a
    point mass at 0. The exact discrepancy is 0.10758, the printed bound 0.06871.

    Use :func:`discrepancy` or :func:`discrepancy_bound` instead.

    Parameters
    ----------
    X, Y, kernel, gamma
        As in :func:`discrepancy`.
    range_bound : float
        r, the largest absolute value of a hypothesis.

    Returns
    -------
    float
        The printed value.

    Examples
    --------
    >>> from skatter.theory import printed_discrepancy_bound
    >>> round(printed_discrepancy_bound([[-0.1], [0.1]], [[0.0]], gamma=1.0), 5)
    0.06871
    """
    range_bound = check_real("range_bound", range_bound, low=0, open_low=True)
    pair = _pair(X, Y, kernel, gamma)
    return _printed_discrepancy(_domain_scatter(pair), range_bound)


def _printed_discrepancy(psi: float, range_bound: float) -> float:
    return 8 * range_bound * float(np.sqrt(psi))


@dataclass(frozen=True, eq=False)
class _Pair:
    """Two samples, one below the other, under one kernel."""

    samples: Array
    n_source: int
    kernel: Kernel

    @cached_property
    def K(self) -> Array:
        """Raw Gram matrix of both samples."""
        K = gram(self.samples, self.kernel)
        return check_gram(K) if self.kernel.precomputed else K

    @property
    def n_target(self) -> int:
        """Samples in the second sample."""
        return len(self.samples) - self.n_source

    @property
    def source_block(self) -> Array:
        """Gram matrix of the first sample."""
        return self.K[: self.n_source, : self.n_source]

    @property
    def weights(self) -> Array:
        """Signed weights: 1/n_s on the first sample, −1/n_t on the second."""
        return np.repeat([1 / self.n_source, -1 / self.n_target], [self.n_source, self.n_target])


def _mmd(K: Array, w: Array) -> float:
    """Maximum mean discrepancy √(wᵀ K w)."""
    return float(_root(w @ K @ w, 4 * np.abs(np.diagonal(K)).max()))


def _domain_scatter(pair: _Pair) -> float:
    """Ψ({μ_P, μ_Q}) = MMD²/4: scatter of the set of the two mean maps."""
    return _mmd(pair.K, pair.weights) ** 2 / 4


def _covariance_gap(pair: _Pair) -> float:
    """‖Cov_P^ − Cov_Q^‖_op = max |eig(Fᵀ diag(w) F)|, K = F Fᵀ."""
    F = _factor(pair)
    values = np.linalg.eigvalsh(F.T @ (pair.weights[:, None] * F))
    return float(np.abs(values).max(initial=0.0))


def _factor(pair: _Pair) -> Array:
    """F with F Fᵀ = K and no more columns than K has rank."""
    n, n_features = pair.samples.shape
    if pair.kernel.linear and n_features < n:
        return pair.samples
    values, vectors = np.linalg.eigh(pair.K)
    largest = np.abs(values).max()
    roots = _root(values, largest)
    # Directions of the size of rounding change no result and make the second eigenproblem bigger.
    kept = values > n * np.finfo(np.float64).eps * largest
    return np.asarray(vectors[:, kept] * roots[kept])


# --- the adaptation bound -----------------------------------------------------------------------


@dataclass(frozen=True)
class AdaptationBound:
    """Every term of the adaptation bound; print it for a table. Built by :func:`adaptation_bound`.

    Attributes
    ----------
    n_source, n_target : int
        Samples of each domain.
    alpha : float
        Probability with which each of the bounds may fail.
    radius : float
        Λ, the radius of the ball of hypotheses.
    B0 : float
        sup k(x, x): given, or the largest value in the samples.
    source_loss : float
        L_P^(h, h'), mean squared difference of h and h' on the source samples.
    assumed_target_rmse : float
        RMSE_Q(h', f): the summand that is an assumption and that no sample can check.
    mmd, domain_scatter : float
        MMD_k, and Ψ({μ_P, μ_Q}) = MMD_k²/4.
    mmd_squared_kernel : float
        MMD_{k²}.
    discrepancy, discrepancy_bound : float
        Exact empirical discrepancy, and its upper bound 4 Λ² MMD_{k²}.
    rademacher : RademacherComplexity
        Of the ball, on the source samples.
    source_scatter, target_scatter : ScatterBound
        Scatter of each domain with its half-widths.
    generalisation_slack : float
        2 q Rad + 3 B √(log(2/a)/(2 n_s)): from the source sample to the source, a = α/3.
    source_deviation, target_deviation : float
        4 Λ² times :func:`mean_map_bound` of k² at α/3, for each domain.
    slack, total : float
        Sum of the three terms before, and the rigorous bound on RMSE_Q(h, f).
    direct_slack, direct_total : float
        The same bound by a shorter route: 4 Λ² times :func:`mean_map_bound` of k² at α for the
        target alone. Never larger than ``slack`` and ``total``.
    trivial_total : float
        2 r + RMSE_Q(h', f): what holds without looking at any sample.
    printed_discrepancy : float
        8 Λ r √Ψ, the printed lemma scaled to the ball of radius Λ. Not valid.
    printed_slack : float
        2 q Rad + 3 B √(log(2/α)/(2 n_t)), with n_t as printed.
    printed_total : float
        ``source_loss + printed_slack + printed_discrepancy``: the observable part of the printed
        bound on the excess squared loss. Not valid, and not in the units of ``total``.
    note : str
        ``"diagnostic, not a certificate"``.
    """

    n_source: int
    n_target: int
    alpha: float
    radius: float
    B0: float
    source_loss: float
    assumed_target_rmse: float
    mmd: float
    domain_scatter: float
    mmd_squared_kernel: float
    discrepancy: float
    discrepancy_bound: float
    rademacher: RademacherComplexity
    source_scatter: ScatterBound
    target_scatter: ScatterBound
    generalisation_slack: float
    source_deviation: float
    target_deviation: float
    slack: float
    total: float
    direct_slack: float
    direct_total: float
    trivial_total: float
    printed_discrepancy: float
    printed_slack: float
    printed_total: float
    note: str = field(default=NOTE, init=False)

    @property
    def vacuous(self) -> bool:
        """Whether even ``direct_total`` says no more than ``trivial_total``."""
        return self.direct_total >= self.trivial_total

    def __str__(self) -> str:
        sections = (
            self._headline(),
            _section("Measured", self._measured()),
            _section("Bound on the target RMSE of h", self._rigorous()),
            _section("As printed in the paper (not valid; squared loss)", self._printed()),
            self._reading(),
        )
        return "\n\n".join(sections)

    def _headline(self) -> str:
        return (
            f"Adaptation bound: {self.note}\n"
            f"{self.n_source} source and {self.n_target} target samples, radius {self.radius:g}, "
            f"sup k(x, x) = {self.B0:g}, alpha = {self.alpha:g}"
        )

    def _measured(self) -> list[tuple[str, float]]:
        return [
            ("MMD of source and target, kernel k", self.mmd),
            ("domain scatter, MMD²/4", self.domain_scatter),
            ("MMD of source and target, kernel k²", self.mmd_squared_kernel),
            ("discrepancy, exact", self.discrepancy),
            ("discrepancy, bound by the MMD of k²", self.discrepancy_bound),
            ("Rademacher complexity, Monte Carlo", self.rademacher.monte_carlo),
            ("Rademacher complexity, bound", self.rademacher.bound),
            ("scatter of the source", self.source_scatter.estimate),
            ("    half-width, safe", self.source_scatter.half_width),
            ("    half-width, printed", self.source_scatter.printed_half_width),
            ("scatter of the target", self.target_scatter.estimate),
            ("    half-width, safe", self.target_scatter.half_width),
            ("    half-width, printed", self.target_scatter.printed_half_width),
        ]

    def _rigorous(self) -> list[tuple[str, float]]:
        return [
            ("under the root: source loss of h against h'", self.source_loss),
            ("under the root: discrepancy, exact", self.discrepancy),
            ("under the root: concentration slack", self.slack),
            ("    source sample to source, loss", self.generalisation_slack),
            ("    source sample to source, discrepancy", self.source_deviation),
            ("    target sample to target, discrepancy", self.target_deviation),
            ("beside the root: target RMSE of h' (ASSUMED)", self.assumed_target_rmse),
            ("total", self.total),
            ("total by the shorter route", self.direct_total),
            ("    its concentration slack", self.direct_slack),
            ("what holds without any sample", self.trivial_total),
        ]

    def _printed(self) -> list[tuple[str, float]]:
        return [
            ("source loss of h", self.source_loss),
            ("discrepancy, printed lemma", self.printed_discrepancy),
            ("concentration slack, printed", self.printed_slack),
            ("sum without the part nobody can observe", self.printed_total),
        ]

    def _reading(self) -> str:
        verdict = (
            "The bound says nothing here: as much holds without any sample. More samples or a\n"
            "smaller radius would help."
            if self.vacuous
            else "The shorter route says more than what holds without any sample."
        )
        return (
            "The target RMSE of h' is an assumption: that some hypothesis h' is good on the\n"
            f"target. Without target labels no sample can check it.\n{verdict}"
        )


def _section(title: str, rows: list[tuple[str, float]]) -> str:
    return "\n".join([title, *(f"  {name:<46}{value:>10.4f}" for name, value in rows)])


def adaptation_bound(
    X_source: Any,
    X_target: Any,
    *,
    source_loss: float | None = None,
    assumed_target_rmse: float = 0.0,
    kernel: Any = "rbf",
    gamma: Any = "median",
    bound: float | None = None,
    radius: float = 1.0,
    alpha: float = 0.05,
    n_draws: int = 1000,
    random_state: Any = None,
) -> AdaptationBound:
    """Bound the error on the target of a hypothesis learnt on the source, term by term.

    For h in the ball {‖f‖_H ≤ Λ}, any h' in it that was fixed before the samples were seen, and
    any target function f, with probability at least 1 − α::

        RMSE_Q(h, f) ≤ √(L_P^(h, h') + disc(P^, Q^) + slack) + RMSE_Q(h', f)

        slack = 2 q Rad + 3 B √(log(2/a)/(2 n_s))                   L_P^ to L_P
              + 4 Λ² B0 (1/√n_s + 1/√n_t) (1 + √(2 log(1/a)))       disc of samples to disc

    with a = α/3, r = Λ √B0, B = 4 r² and q = 4 r. Rad enters by its closed upper bound, because a
    Monte-Carlo estimate may be too small. Since disc obeys the triangle inequality, going from
    the source sample straight to the target needs the deviation of the target sample alone; that
    ``direct_total`` is never larger, and holds for every h' as well, chosen by the data or not.

    RMSE_Q(h', f) is an assumption: that some hypothesis h' is good on the target.

    Parameters
    ----------
    X_source, X_target : array-like of shapes (n_s, n_features) and (n_t, n_features)
        The samples of both domains, without labels. With ``kernel="precomputed"``, the rows of
        their joint Gram matrix that belong to each.
    source_loss : float or None
        L_P^(h, h'), the mean squared difference of h and h' over the source samples. Where h'
        gives the source labels, it is the training error of h. None counts as 0: the report then
        shows what the shift alone may cost.
    assumed_target_rmse : float
        RMSE_Q(h', f), as you are ready to assume it.
    kernel, gamma : str or callable, "median", "printed", float or None
        Feature space; the median is taken over both samples.
    bound : float or None
        B0, the largest k(x, x) that any sample can have. None takes the largest one seen, which
        is only an estimate for unbounded kernels; see :func:`scatter_bound`.
    radius : float
        Λ, the radius of the ball of hypotheses.
    alpha : float in (0, 1)
        Probability with which the bound may fail.
    n_draws : int
        Sign vectors drawn for the Rademacher complexity.
    random_state : int, RandomState instance or None
        Draws the signs.

    Returns
    -------
    AdaptationBound
        All terms, rigorous and printed; ``print`` shows them as a table.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter.theory import adaptation_bound
    >>> rng = np.random.default_rng(0)
    >>> here, there = rng.normal(size=(200, 2)), rng.normal(0.5, size=(300, 2))
    >>> report = adaptation_bound(here, there, source_loss=0.1, random_state=0)
    >>> report.discrepancy <= report.discrepancy_bound, report.vacuous
    (True, False)
    >>> print(str(report).splitlines()[0])
    Adaptation bound: diagnostic, not a certificate
    """
    alpha, radius = _check_alpha(alpha), _check_radius(radius)
    n_draws = check_integer("n_draws", n_draws, low=1)
    pair = _pair(X_source, X_target, kernel, gamma, names=("X_source", "X_target"), least=2)
    B0 = _kernel_bound(pair.K, bound)
    loss = _check_source_loss(source_loss, 4 * radius**2 * B0)
    assumed = check_real("assumed_target_rmse", assumed_target_rmse, low=0)
    rademacher = _rademacher(pair.source_block, radius, n_draws, random_state)
    shift = _shift(pair, radius, B0)
    slacks = _slacks(pair, rademacher.bound, radius, B0, alpha)
    under_root = loss + shift["discrepancy"]
    return AdaptationBound(
        n_source=pair.n_source,
        n_target=pair.n_target,
        alpha=alpha,
        radius=radius,
        B0=B0,
        source_loss=loss,
        assumed_target_rmse=assumed,
        rademacher=rademacher,
        source_scatter=_block_scatter_bound(pair, slice(pair.n_source), B0, alpha),
        target_scatter=_block_scatter_bound(pair, slice(pair.n_source, None), B0, alpha),
        total=float(np.sqrt(under_root + slacks["slack"])) + assumed,
        direct_total=float(np.sqrt(under_root + slacks["direct_slack"])) + assumed,
        trivial_total=2 * radius * float(np.sqrt(B0)) + assumed,
        printed_total=loss + slacks["printed_slack"] + shift["printed_discrepancy"],
        **shift,
        **slacks,
    )


def _shift(pair: _Pair, radius: float, B0: float) -> dict[str, float]:
    """How far apart the samples are, in every measure of the report."""
    psi = _domain_scatter(pair)
    mmd_squared_kernel = _mmd(np.square(pair.K), pair.weights)
    return {
        "mmd": 2 * float(np.sqrt(psi)),
        "domain_scatter": psi,
        "mmd_squared_kernel": mmd_squared_kernel,
        "discrepancy": 4 * radius**2 * _covariance_gap(pair),
        "discrepancy_bound": 4 * radius**2 * mmd_squared_kernel,
        # By homogeneity, the ball of radius Λ and range r is Λ² times the one of range r/Λ.
        "printed_discrepancy": radius**2 * _printed_discrepancy(psi, float(np.sqrt(B0))),
    }


def _slacks(pair: _Pair, rad: float, radius: float, B0: float, alpha: float) -> dict[str, float]:
    """Concentration terms: from samples to distributions."""
    n_s, n_t = pair.n_source, pair.n_target
    # Three events may fail: the loss on the source, and the mean map of k² in each domain.
    each = alpha / 3
    terms = {
        "generalisation_slack": _generalisation_slack(rad, radius, B0, n_s, each),
        "source_deviation": _deviation(n_s, radius, B0, each),
        "target_deviation": _deviation(n_t, radius, B0, each),
    }
    return {
        **terms,
        "slack": sum(terms.values()),
        "direct_slack": _deviation(n_t, radius, B0, alpha),
        "printed_slack": _generalisation_slack(rad, radius, B0, n_t, alpha),
    }


def _generalisation_slack(rad: float, radius: float, B0: float, n: int, alpha: float) -> float:
    """2 q Rad + 3 B √(log(2/α)/(2 n)), q = 4 r and B = 4 r² for squared loss with |f| ≤ r."""
    r = radius * float(np.sqrt(B0))
    return 2 * (4 * r) * rad + 3 * (4 * r**2) * float(np.sqrt(np.log(2 / alpha) / (2 * n)))


def _deviation(n: int, radius: float, B0: float, alpha: float) -> float:
    """disc(P, P^) ≤ 4 Λ² ‖μ_P − μ_P^‖ in the feature space of k², whose sup is B0²."""
    return 4 * radius**2 * mean_map_bound(n, B0**2, alpha)


def _block_scatter_bound(pair: _Pair, rows: slice, B0: float, alpha: float) -> ScatterBound:
    return _scatter_bound(pair.samples[rows], pair.K[rows, rows], pair.kernel, B0, alpha)


# --- reading what the user gives ----------------------------------------------------------------


def _check(X: Any, name: str, *, least: int = 1) -> Array:
    """Dense finite float64 samples: bounds are differences of means, which float32 would blur."""
    try:
        checked: Array = check_array(X, dtype=np.float64, ensure_min_samples=least, input_name=name)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"{name} must be a dense table of numbers with at least {least} sample(s), one per "
            f"row: {error}"
        ) from error
    return checked


def _single(X: Array, kernel: Any, gamma: Any) -> tuple[Kernel, Array]:
    resolved = _resolve(X, kernel, gamma)
    K = gram(X, resolved)
    return resolved, check_gram(K) if resolved.precomputed else K


def _pair(
    X: Any,
    Y: Any,
    kernel: Any,
    gamma: Any,
    *,
    names: tuple[str, str] = ("X", "Y"),
    least: int = 1,
) -> _Pair:
    X, Y = _check(X, names[0], least=least), _check(Y, names[1], least=least)
    if X.shape[1] != Y.shape[1]:
        raise ValueError(
            f"{names[0]} has {X.shape[1]} features and {names[1]} has {Y.shape[1]}; give the same "
            "ones."
        )
    both = np.vstack([X, Y])
    resolved = _resolve(both, kernel, gamma)
    if resolved.precomputed and both.shape[0] != both.shape[1]:
        raise ValueError(
            f"{names[0]} and {names[1]} must be the rows of one square Gram matrix of both "
            f"samples when kernel='precomputed'; together they have shape {both.shape}. Rows of "
            "features need another kernel."
        )
    return _Pair(both, len(X), resolved)


def _resolve(X: Array, kernel: Any, gamma: Any) -> Kernel:
    # A fixed seed for the median's subsample: all terms are measured in one feature space.
    return resolve_kernel(X, kernel, gamma=gamma, random_state=0)


def _kernel_bound(K: Array, bound: float | None) -> float:
    """B0 = sup k(x, x): given, or the largest in the sample."""
    largest = float(np.diagonal(K).max())
    if bound is None:
        return max(largest, 0.0)
    bound = check_real("bound", bound, low=0, open_low=True)
    # A diagonal of ones may come out as 1 + eps.
    if largest > bound * (1 + 1e-12):
        raise ValueError(
            f"bound must be at least the largest k(x, x) of the samples, {largest:g}, got "
            f"{bound:g}. Give the supremum over all samples that can occur, or None."
        )
    return bound


def _root(values: Any, scale: float) -> Array:
    """Square root of values that are non-negative but for rounding; ``scale`` is their size."""
    values = np.asarray(values)
    if np.any(values < -np.sqrt(np.finfo(np.float64).eps) * scale):
        raise ValueError(
            "kernel is not positive semi-definite on these samples, so it has no feature space. "
            "Use another kernel, such as 'rbf' or 'linear'."
        )
    return np.asarray(np.sqrt(np.maximum(values, 0.0)))


def _check_alpha(alpha: Any) -> float:
    alpha = check_real("alpha", alpha)
    if not 0 < alpha < 1:
        raise ValueError(
            f"alpha must lie in (0, 1), got {alpha!r}. It is the probability that the bound "
            "fails: 0.05 for 95 % confidence."
        )
    return alpha


def _check_radius(radius: Any) -> float:
    return check_real("radius", radius, low=0, open_low=True)


def _check_source_loss(source_loss: Any, largest: float) -> float:
    """Refuse a loss that no two hypotheses of the ball can have."""
    loss = check_real("source_loss", 0.0 if source_loss is None else source_loss, low=0)
    if loss > largest:
        raise ValueError(
            f"source_loss is {loss:g}, but two hypotheses in the ball differ by at most "
            f"4 radius² B0 = {largest:g}. Give a larger radius, one that holds both h and h'."
        )
    return loss
