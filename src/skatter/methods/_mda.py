"""Multidomain discriminant analysis: classes apart, and each class one whatever the domain.

With n_sj samples of class j among the n_s of domain s, μ_sj their mean, and

    u_j = Σ_s (n_sj/n_s) μ_sj / q_j,     q_j = Σ_s n_sj/n_s,     ū = Σ_j (q_j/m) u_j,

four measures, each a mean, make the objective:

    class discrepancy     F   mean of ‖u_j − u_j'‖² over pairs of classes
    between-class         P   (1/n) Σ_j n_j ‖u_j − ū‖²
    domain discrepancy    G   mean of ‖μ_sj − μ_s'j‖² over pairs of domains and over the classes
    within-class          Q   (1/n) Σ_i ‖φ(x_i) − u_{y_i}‖²

F, P and G are thin. Q is SCA's within-class scatter and, since u_j is not the mean of class j
where domains are of different size, the thin (1/n) Σ_j n_j ‖u_j − mean of class j‖². So SCA's
solver solves it, with right-hand sides as few as classes and domains.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from skatter._components import LabelledComponents, RidgedComponents
from skatter._objective import Factors, Objective
from skatter._parameters import NON_NEGATIVE, SHARE
from skatter._tensors import Array
from skatter.domains import Domains
from skatter.methods._record import Tuning, method, tried
from skatter.sca import ridge_weight
from skatter.scatter import factors_of_classes, indicator_means


def class_means(domains: Domains) -> tuple[Array, Array]:
    """Return coefficients of u_j, one column for each class that is there, and the shares q_j/m."""
    counts = np.where(domains.labelled, domains.counts, 0)
    sizes = np.bincount(domains.domain, counts, minlength=domains.n_domains)
    weight = counts / np.maximum(sizes, 1)[domains.domain]
    members = domains.label[:, None] == np.arange(len(domains.classes))
    weights = np.where(members, weight[:, None], 0)
    weights = weights[:, weights.any(axis=0)]
    q = weights.sum(axis=0)
    return weights / q, q / np.count_nonzero(sizes)


def between_factor(domains: Domains, beta: float) -> Array:
    """Return a factor of n (β F + (1-β) P), n the number of labelled samples."""
    means, shares = class_means(domains)
    counts = domains.class_counts[domains.class_counts > 0]
    pairs = np.sqrt(2 / (len(counts) - 1)) * (means - means.mean(axis=1, keepdims=True))
    spread = np.sqrt(counts / counts.sum()) * (means - (means @ shares)[:, None])
    both = np.hstack([np.sqrt(beta) * pairs, np.sqrt(1 - beta) * spread])
    return np.asarray(np.sqrt(counts.sum()) * both)


def nuisance_factor(domains: Domains, gamma: float, alpha: float) -> Array:
    """Return a factor of γ G and of what α Q has beyond within-class scatter."""
    means, _ = class_means(domains)
    there = domains.class_counts > 0
    counts = domains.class_counts[there]
    own = indicator_means(domains.label, len(domains.classes), domains.count)[:, there]
    away = np.sqrt(alpha * counts / counts.sum()) * (own - means)
    return np.hstack([away, np.sqrt(gamma) * discrepancy_factor(domains)])


def discrepancy_factor(domains: Domains) -> Array:
    """Return a factor of G: pairs of domains that have the class, averaged, then the classes."""
    parts = factors_of_classes(domains)
    # Of m means, the mean squared distance over pairs is 2m/(m-1) times the scatter, and a factor
    # has m-1 columns; where there is one mean, there is no pair.
    weights = [2 * (1 + 1 / max(part.shape[1], 1)) / len(parts) for part in parts]
    return np.hstack([part * np.sqrt(w) for part, w in zip(parts, weights, strict=True)])


@method(
    "mda",
    when="several labelled sources of very different size",
    needs=("source labels",),
    uses=("target labels", "several sources"),
    cost="n²p + n_l³/3 + m C n²",
    nested=True,
    wants=("several sources",),
    coarse=Tuning({"domain_weight": (0.1, 1.0, 10.0)}, why="Hu et al. 2019, fewer values"),
)
class MDA(RidgedComponents, LabelledComponents):
    """Multidomain discriminant analysis: class means apart, all domains weighing the same.

        maximise    β class discrepancy + (1-β) between-class scatter
        subject to  γ domain discrepancy + α within-class scatter + ridge · ‖W‖² = 1

    *Class discrepancy* is the mean squared distance between two class means, *domain discrepancy*
    that between the means of one class in two domains, averaged over the classes. Class means are
    taken with all domains weighing the same, whatever their size. There are at most C-1 components
    for C classes. Unlabelled samples count in the kernel's mean alone.

    Parameters
    ----------
    n_components : int or None
        Components to keep; None is C-1 for C classes, the rank of the problem.
    beta : float in [0, 1]
        β, share of class discrepancy, in which all classes weigh the same, against between-class
        scatter, in which frequent ones weigh more.
    domain_weight : float >= 0
        γ, weight of domain discrepancy.
    within_weight : float >= 0
        α, weight of within-class scatter.

    Notes
    -----
    As published, ``normalize=False`` with a ridge of 1; the authors' program has
    ``scale="coefficients"``. It adds 1e-5 I to the denominator, solves a problem that is not
    symmetric and centres the kernel of new samples by their own mean; here there is no such term,
    and training statistics centre. A class that only some domains have is compared over these.

    References
    ----------
    S. Hu, K. Zhang, Z. Chen, L. Chan: Domain Generalization via Multidomain Discriminant Analysis.
    UAI, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter.methods import MDA
    >>> rng = np.random.default_rng(0)
    >>> y, site = np.tile([0, 1, 2], 40), np.repeat([1, 2, 3], 40)
    >>> X = rng.normal(size=(120, 5)) + 3 * np.eye(3, 5)[y] + site[:, None]
    >>> MDA().fit(X, y, sample_domain=site).transform(X[:4]).shape
    (4, 2)
    """

    beta: float = tried(SHARE, 0.1, 0.3, 0.5, 0.7, 0.9, default=0.5)
    domain_weight: float = tried(NON_NEGATIVE, 0.01, 0.1, 1.0, 10.0, 100.0, default=1.0)
    within_weight: float = tried(NON_NEGATIVE, 0.01, 0.1, 1.0, 10.0, 100.0, default=1.0)

    def _two_classes(self) -> tuple[str, str] | None:
        return "MDA", "use USCA, which needs no labels"

    def _factors(self) -> Factors:
        gamma, alpha = float(self.domain_weight), float(self.within_weight)
        between = partial(between_factor, beta=float(self.beta))
        nuisance = partial(nuisance_factor, gamma=gamma, alpha=alpha)
        return Factors(between=between, conditional_domain=nuisance)

    def objective(self, domains: Domains, total: float) -> Objective:
        return Objective(
            total=0.0,
            between_class=1.0,
            within_class=float(self.within_weight),
            conditional_domain=1.0,
            ridge=ridge_weight(self.ridge, self.normalize, total),
        )
