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
generalization bound   E disc(P^, Q) ≤ 4 Λ² √((m + 1)/(m − 1) · E Ψ_{k²}) for Q a further domain
A-distance             2 (1 − 2 ε), ε the error of a linear classifier that tells P^ from Q^
=====================  =========================================================================

Every probability is for a kernel that was fixed before the samples were seen. A bandwidth set by
the median of the same samples is the usual practice and a small breach of that.

Where the paper prints something else, the printed form stands beside, marked as printed.
"""

from __future__ import annotations

from skatter.theory._adaptation import NOTE, AdaptationBound, adaptation_bound
from skatter.theory._concentration import (
    RademacherComplexity,
    ScatterBound,
    mean_map_bound,
    rademacher_complexity,
    scatter_bound,
)
from skatter.theory._discrepancy import (
    a_distance,
    discrepancy,
    discrepancy_bound,
    printed_discrepancy_bound,
)
from skatter.theory._generalization import GeneralizationBound, generalization_bound

__all__ = [
    "NOTE",
    "AdaptationBound",
    "GeneralizationBound",
    "RademacherComplexity",
    "ScatterBound",
    "a_distance",
    "adaptation_bound",
    "discrepancy",
    "discrepancy_bound",
    "generalization_bound",
    "mean_map_bound",
    "printed_discrepancy_bound",
    "rademacher_complexity",
    "scatter_bound",
]
