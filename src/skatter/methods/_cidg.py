"""Conditional invariant domain generalization: each class in one place, whatever the domain.

With μ_sj the mean of class j in domain s, the two scatters of domains are

    conditional   (1/C) Σ_j (1/m_j) Σ_s ‖μ_sj − μ̄_j‖²,   μ̄_j the mean of the μ_sj
    prior         (1/m) Σ_s ‖ν_s − ν̄‖²,                   ν_s = mean of the μ_sj over the classes j

Both are thin, so that SCA's solver solves the problem.
"""

from __future__ import annotations

from skatter._components import LabelledComponents, RidgedComponents
from skatter._objective import Factors, Objective
from skatter._parameters import NON_NEGATIVE, SHARE, parameter
from skatter.domains import Domains
from skatter.methods._record import Tuning, method, tried
from skatter.sca import ridge_weight
from skatter.scatter import balanced_domain_factor


@method(
    "cidg",
    when="classes are rare in some sources and frequent in others",
    needs=("source labels",),
    uses=("target labels", "several sources"),
    cost="n²p + n_l³/3 + m C n²",
    nested=True,
    wants=("several sources",),
    coarse=Tuning({"conditional_weight": (0.1, 1.0, 10.0)}, why="Li et al. 2018, fewer values"),
)
class CIDG(RidgedComponents, LabelledComponents):
    """Conditional invariant domain generalization: each class together, over all the domains.

        maximise    (1-β) total scatter + β between-class scatter
        subject to  w within-class + c conditional + p prior + ridge · ‖W‖² = 1

    *Conditional* is the scatter of the means of one class over the domains, averaged over the
    classes. *Prior* is the scatter of domain means in which all classes weigh the same. So a
    domain in which a class is rare is not taken for one that looks different, as SCA's domain
    scatter takes it. Unlabelled samples count in total scatter alone.

    Parameters
    ----------
    n_components : int or None
        Components to keep. None: C-1 for C classes where ``beta=1``, the rank of the problem, and
        2(C-1) but at least 10 else.
    beta : float in [0, 1]
        Share of between-class scatter in the numerator.
    within_weight : float >= 0
        w, weight of within-class scatter.
    conditional_weight : float >= 0
        c, weight of the scatter of class means over the domains.
    prior_weight : float >= 0
        p, weight of the scatter of domain means with equal classes.

    Notes
    -----
    The two scatters are those of the publication. Weights are named after what they weigh, every
    scatter is a mean, and total scatter may stand beside between-class scatter, as in SCA. A class
    that a domain does not have is left out of that domain's means.

    References
    ----------
    Y. Li, M. Gong, X. Tian, T. Liu, D. Tao: Domain Generalization via Conditional Invariant
    Representations. AAAI, 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter.methods import CIDG
    >>> rng = np.random.default_rng(0)
    >>> y, site = np.tile([0, 1, 2], 40), np.repeat([1, 2, 3], 40)
    >>> X = rng.normal(size=(120, 5)) + 3 * np.eye(3, 5)[y] + site[:, None]
    >>> cidg = CIDG().fit(X, y, sample_domain=site)
    >>> before, after = cidg.scatter_["before"], cidg.scatter_["after"]
    >>> before.share("conditional_domain") > 10 * after.share("conditional_domain")
    True
    """

    beta: float = parameter(SHARE, default=1.0)
    within_weight: float = tried(NON_NEGATIVE, 0.01, 0.1, 1.0, 10.0, 100.0, default=1.0)
    conditional_weight: float = tried(NON_NEGATIVE, 0.01, 0.1, 1.0, 10.0, 100.0, default=1.0)
    prior_weight: float = tried(NON_NEGATIVE, 0.0, 0.1, 1.0, 10.0, 100.0, default=1.0)

    def _two_classes(self) -> tuple[str, str] | None:
        return ("beta=1", "choose beta < 1") if self.beta == 1 else None

    def _factors(self) -> Factors:
        return Factors(domain=balanced_domain_factor)

    def objective(self, domains: Domains, total: float) -> Objective:
        return Objective(
            total=1 - self.beta,
            between_class=self.beta,
            within_class=self.within_weight,
            domain=self.prior_weight,
            conditional_domain=self.conditional_weight,
            ridge=ridge_weight(self.ridge, self.normalize, total),
        )
