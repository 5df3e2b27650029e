"""What share of the variance is domain, and what share is class.

Scatters of standardised features. Every domain counts the same, so that total scatter is domain
scatter plus the mean scatter inside domains, and the share of domains lies between 0 and 1. Classes
are measured on the labelled samples, whose scatter is between-class plus within-class scatter.

Means of a few samples scatter even where all come from one distribution. With u the columns of the
coefficients of a scatter, which sum to zero, and n samples of total scatter t, a random assignment
gives Σ‖u‖² t n/(n-1) on average: this is what shares are to be compared with.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from skatter.diagnosis._samples import Samples
from skatter.domains import Domains
from skatter.scatter import Geometry, domain_factor, measure, total_scatter


@dataclass(frozen=True)
class VarianceShares:
    """Scatters of standardised features, and the shares of domain and class.

    Attributes
    ----------
    total, domain : float
        Scatter of all samples, every domain counted the same, and of the domain means.
    domain_share, domain_chance : float
        Domain over total scatter, and what a random assignment to domains would give.
    between_class, within_class : float or None
        Scatter of class means, and inside classes; None where fewer than two classes are labelled.
    class_share, class_chance : float or None
        Between-class scatter over the scatter of labelled samples, and the same by chance.
    conditional_domain : float or None
        Scatter of a class's means over domains, averaged; None where no class is in two domains.
    """

    total: float
    domain: float
    domain_share: float
    domain_chance: float
    between_class: float | None = None
    within_class: float | None = None
    class_share: float | None = None
    class_chance: float | None = None
    conditional_domain: float | None = None


def share_variance(samples: Samples) -> VarianceShares:
    domains = samples.domains
    scatters = measure(Geometry.of_features(samples.X), domains)
    total = total_scatter(samples.X, domains.domain)
    # Sums of squared coefficients, times the variance of a sample
    variance = scatters.total * domains.n_samples / (domains.n_samples - 1)
    by_chance = float(np.sum(domain_factor(domains) ** 2)) * variance
    share, chance = _ratio(scatters.domain, total), min(_ratio(by_chance, total), 1.0)
    found = VarianceShares(total, scatters.domain, share, chance)
    n_classes = int(np.count_nonzero(domains.class_counts))
    if n_classes < 2:
        return found
    between, within = scatters.between_class, scatters.within_class
    return replace(
        found,
        between_class=between,
        within_class=within,
        class_share=_ratio(between, between + within),
        class_chance=min((n_classes - 1) / (domains.n_labelled - 1), 1.0),
        conditional_domain=scatters.conditional_domain if in_two_domains(domains) else None,
    )


def in_two_domains(domains: Domains) -> bool:
    """Tell whether a class is labelled in two domains."""
    known = domains.labelled
    pairs = np.unique(np.column_stack([domains.label[known], domains.domain[known]]), axis=0)
    return len(pairs) > len(np.unique(pairs[:, 0]))


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0
