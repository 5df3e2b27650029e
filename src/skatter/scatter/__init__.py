"""Scatter: one geometric quantity that measures everything that matters.

The scatter of a distribution is the mean squared distance from its centroid in the feature space
of a kernel, Ψ(P) = E‖μ_P − φ(x)‖². Every scatter here is a mean, estimated from a sample as
``tr(Wᵀ K W)`` for a few columns W of coefficients that know nothing of the kernel:

=====================  =========================================================================
total                  tr(H K)/n, H the centring matrix
domain                 tr(U_dᵀ K U_d), scatter of the set of domain means
between-class          tr(Fᵀ K F)/n_l, scatter of the class means, each counted n_k times
within-class           tr(S K)/n_l, S centres every class on its own mean
conditional domain     tr(U_cᵀ K U_c), scatter of one class's means over the domains, averaged
                       over the classes
=====================  =========================================================================

The factors U_d, F, U_c and the projection S are the ones that the objective uses.
"""

from skatter.scatter._factors import (
    balanced_domain_factor,
    class_factor,
    class_indicators,
    conditional_factor,
    domain_factor,
    factors_of_classes,
    indicator_means,
    matching_factor,
    normalised,
)
from skatter.scatter._geometry import Geometry, Scatters, measure
from skatter.scatter._measures import (
    between_class_scatter,
    conditional_domain_scatter,
    domain_scatter,
    scatter,
    total_scatter,
    within_class_scatter,
)
from skatter.scatter._mmd import MMD, mmd

__all__ = [
    "MMD",
    "Geometry",
    "Scatters",
    "balanced_domain_factor",
    "between_class_scatter",
    "class_factor",
    "class_indicators",
    "conditional_domain_scatter",
    "conditional_factor",
    "domain_factor",
    "domain_scatter",
    "factors_of_classes",
    "indicator_means",
    "matching_factor",
    "measure",
    "mmd",
    "normalised",
    "scatter",
    "total_scatter",
    "within_class_scatter",
]
