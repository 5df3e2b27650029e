"""The adaptation bound, as an empirical report of its terms."""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import numpy as np

from skatter._checks import check_integer, check_real
from skatter._parameters import POSITIVE
from skatter.theory._concentration import (
    RademacherComplexity,
    ScatterBound,
    mean_map_bound,
    rademacher_complexity,
    sample_scatter_bound,
)
from skatter.theory._discrepancy import (
    covariance_gap,
    pair_domain_scatter,
    printed_discrepancy,
    signed_mmd,
)
from skatter.theory._samples import Pair, check_alpha, kernel_bound, read_pair

NOTE = "diagnostic, not a certificate"  # how every :class:`AdaptationBound` is to be read


@dataclass(frozen=True)
class AdaptationBound:
    """Every term of the adaptation bound; print it for a table. Built by :func:`adaptation_bound`.

    Attributes
    ----------
    n_source, n_target, alpha, radius, B0
        Sizes of the samples, and what was given: the probability with which each bound may fail, Λ,
        and sup k(x, x), if not given the largest value in the samples.
    source_loss, assumed_target_rmse : float
        L_P^(h, h') on the source samples, and RMSE_Q(h', f), an assumption that no sample can
        check.
    mmd, mmd_squared_kernel, domain_scatter : float
        MMD_k, MMD_{k²}, and Ψ({μ_P, μ_Q}) = MMD_k²/4.
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
        The same by a shorter route, with the deviation of the target alone, at α. Never larger.
    trivial_total : float
        2 r + RMSE_Q(h', f): what holds without looking at any sample.
    printed_discrepancy : float
        8 Λ r √Ψ, the printed lemma scaled to the ball of radius Λ. Not valid.
    printed_slack : float
        2 q Rad + 3 B √(log(2/α)/(2 n_t)), with n_t as printed.
    printed_total : float
        Their sum with ``source_loss``: the observable part of the printed bound on the excess
        squared loss. Not valid, and not in the units of ``total``.
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
        headline = (
            f"Adaptation bound: {self.note}\n"
            f"{self.n_source} source and {self.n_target} target samples, radius {self.radius:g}, "
            f"sup k(x, x) = {self.B0:g}, alpha = {self.alpha:g}"
        )
        tables = [
            "\n".join([title, *(f"  {name:<46}{attrgetter(at)(self):>10.4f}" for name, at in rows)])
            for title, rows in _TABLES.items()
        ]
        verdict = (
            "The bound says nothing here: as much holds without any sample. More samples or a\n"
            "smaller radius would help."
            if self.vacuous
            else "The shorter route says more than what holds without any sample."
        )
        reading = (
            "The target RMSE of h' is an assumption: that some hypothesis h' is good on the\n"
            f"target. Without target labels no sample can check it.\n{verdict}"
        )
        return "\n\n".join([headline, *tables, reading])


_TABLES = {
    "Measured": (
        ("MMD of source and target, kernel k", "mmd"),
        ("domain scatter, MMD²/4", "domain_scatter"),
        ("MMD of source and target, kernel k²", "mmd_squared_kernel"),
        ("discrepancy, exact", "discrepancy"),
        ("discrepancy, bound by the MMD of k²", "discrepancy_bound"),
        ("Rademacher complexity, Monte Carlo", "rademacher.monte_carlo"),
        ("Rademacher complexity, bound", "rademacher.bound"),
        ("scatter of the source", "source_scatter.estimate"),
        ("    half-width, safe", "source_scatter.half_width"),
        ("    half-width, printed", "source_scatter.printed_half_width"),
        ("scatter of the target", "target_scatter.estimate"),
        ("    half-width, safe", "target_scatter.half_width"),
        ("    half-width, printed", "target_scatter.printed_half_width"),
    ),
    "Bound on the target RMSE of h": (
        ("under the root: source loss of h against h'", "source_loss"),
        ("under the root: discrepancy, exact", "discrepancy"),
        ("under the root: concentration slack", "slack"),
        ("    source sample to source, loss", "generalisation_slack"),
        ("    source sample to source, discrepancy", "source_deviation"),
        ("    target sample to target, discrepancy", "target_deviation"),
        ("beside the root: target RMSE of h' (ASSUMED)", "assumed_target_rmse"),
        ("total", "total"),
        ("total by the shorter route", "direct_total"),
        ("    its concentration slack", "direct_slack"),
        ("what holds without any sample", "trivial_total"),
    ),
    "As printed in the paper (not valid; squared loss)": (
        ("source loss of h", "source_loss"),
        ("discrepancy, printed lemma", "printed_discrepancy"),
        ("concentration slack, printed", "printed_slack"),
        ("sum without the part nobody can observe", "printed_total"),
    ),
}
"""What a bound shows of itself: titles, names and attributes."""


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

    For h in the ball {‖f‖_H ≤ Λ}, any h' in it that was fixed before the samples were seen, and any
    target function f, with probability at least 1 − α::

        RMSE_Q(h, f) ≤ √(L_P^(h, h') + disc(P^, Q^) + slack) + RMSE_Q(h', f)

        slack = 2 q Rad + 3 B √(log(2/a)/(2 n_s))                   L_P^ to L_P
              + 4 Λ² B0 (1/√n_s + 1/√n_t) (1 + √(2 log(1/a)))       disc of samples to disc

    with a = α/3, r = Λ √B0, B = 4 r² and q = 4 r. Rad enters by its closed upper bound, because a
    Monte-Carlo estimate may be too small. Since disc obeys the triangle inequality, going from the
    source sample straight to the target needs the deviation of the target sample alone:
    ``direct_total`` is never larger, and holds for every h', chosen by the data or not.

    Parameters
    ----------
    X_source, X_target : array-like of shapes (n_s, n_features) and (n_t, n_features)
        The samples of both domains, without labels, as in :func:`discrepancy`.
    source_loss : float or None
        L_P^(h, h'), the mean squared difference of h and h' over the source samples. Where h' gives
        the source labels, it is the training error of h. None counts as 0: the report then shows
        what the shift alone may cost.
    assumed_target_rmse : float
        RMSE_Q(h', f), as you are ready to assume it: that some h' is good on the target.
    kernel, gamma, radius
        As in :func:`discrepancy`.
    bound, alpha
        As in :func:`scatter_bound`; the samples are those of both domains.
    n_draws, random_state
        As in :func:`rademacher_complexity`.

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
    alpha, radius = check_alpha(alpha), POSITIVE("radius", radius)
    n_draws = check_integer("n_draws", n_draws, low=1)
    pair = read_pair(X_source, X_target, kernel, gamma, names=("X_source", "X_target"), least=2)
    B0 = kernel_bound(pair.K, bound)
    loss = check_real("source_loss", 0.0 if source_loss is None else source_loss, low=0)
    if loss > 4 * radius**2 * B0:
        raise ValueError(
            f"source_loss is {loss:g}, but two hypotheses in the ball differ by at most "
            f"4 radius² B0 = {4 * radius**2 * B0:g}. Give a larger radius, one that holds both h "
            "and h'."
        )
    assumed = check_real("assumed_target_rmse", assumed_target_rmse, low=0)
    source, target = slice(pair.n_source), slice(pair.n_source, None)
    rademacher = rademacher_complexity(
        pair.K[source, source],
        kernel="precomputed",
        radius=radius,
        n_draws=n_draws,
        random_state=random_state,
    )
    source_scatter, target_scatter = (
        sample_scatter_bound(pair.samples[own], pair.K[own, own], pair.kernel, B0, alpha)
        for own in (source, target)
    )
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
        source_scatter=source_scatter,
        target_scatter=target_scatter,
        total=float(np.sqrt(under_root + slacks["slack"])) + assumed,
        direct_total=float(np.sqrt(under_root + slacks["direct_slack"])) + assumed,
        trivial_total=2 * radius * float(np.sqrt(B0)) + assumed,
        printed_total=loss + slacks["printed_slack"] + shift["printed_discrepancy"],
        **shift,
        **slacks,
    )


def _shift(pair: Pair, radius: float, B0: float) -> dict[str, float]:
    """How far apart the samples are, in every measure of the report."""
    psi = pair_domain_scatter(pair)
    mmd_squared_kernel = signed_mmd(np.square(pair.K), pair.weights)
    return {
        "mmd": 2 * float(np.sqrt(psi)),
        "domain_scatter": psi,
        "mmd_squared_kernel": mmd_squared_kernel,
        "discrepancy": 4 * radius**2 * covariance_gap(pair),
        "discrepancy_bound": 4 * radius**2 * mmd_squared_kernel,
        # By homogeneity, the ball of radius Λ and range r is Λ² times the one of range r/Λ.
        "printed_discrepancy": radius**2 * printed_discrepancy(psi, float(np.sqrt(B0))),
    }


def _slacks(pair: Pair, rad: float, radius: float, B0: float, alpha: float) -> dict[str, float]:
    """Concentration terms: from samples to distributions."""
    n_s, n_t, r = pair.n_source, pair.n_target, radius * float(np.sqrt(B0))

    def of_loss(n: int, alpha: float) -> float:
        """2 q Rad + 3 B √(log(2/α)/(2 n)), q = 4 r and B = 4 r² for squared loss with |f| ≤ r."""
        return 2 * (4 * r) * rad + 3 * (4 * r**2) * float(np.sqrt(np.log(2 / alpha) / (2 * n)))

    def of_discrepancy(n: int, alpha: float) -> float:
        """disc(P, P^) ≤ 4 Λ² ‖μ_P − μ_P^‖ in the feature space of k², whose sup is B0²."""
        return 4 * radius**2 * mean_map_bound(n, B0**2, alpha)

    # Three events may fail: the loss on the source, and the mean map of k² in each domain.
    terms = {
        "generalisation_slack": of_loss(n_s, alpha / 3),
        "source_deviation": of_discrepancy(n_s, alpha / 3),
        "target_deviation": of_discrepancy(n_t, alpha / 3),
    }
    return {
        **terms,
        "slack": sum(terms.values()),
        "direct_slack": of_discrepancy(n_t, alpha),
        "printed_slack": of_loss(n_t, alpha),
    }
