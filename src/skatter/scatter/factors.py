"""Thin factors that express a scatter and know nothing of the kernel.

A factor U has one row for each row of the domains, and UᵀZ are differences of means. Where a row
stands for all samples of one domain and class, its coefficients are the sums of theirs, and Z holds
their means: the same UᵀZ from a few rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import helmert

from skatter.domains import Codes, Domains

Array = NDArray[Any]


def indicator_means(groups: Codes, n_groups: int, counts: Codes | None = None) -> Array:
    """Matrix E whose column g is 1_g/n_g: ``E.T @ Z`` are the group means; code -1 is left out.

    An empty group gives a column of zeros. Where a row stands for many samples, ``counts`` says for
    how many, and Z holds their means.
    """
    rows = np.flatnonzero(groups >= 0)
    weights = np.ones(len(rows)) if counts is None else counts[rows].astype(np.float64)
    sizes = np.bincount(groups[rows], weights, minlength=n_groups)
    E = np.zeros((len(groups), n_groups))
    E[rows, groups[rows]] = weights / sizes[groups[rows]]
    return E


def class_indicators(domains: Domains) -> Array:
    """Orthonormal Q of shape (n, C), column k is 1_k/√n_k: S = I_lab − Q Qᵀ."""
    counts = domains.class_counts
    means = indicator_means(domains.label, len(counts), domains.count)
    return (means * np.sqrt(counts))[:, counts > 0]


def domain_factor(domains: Domains) -> Array:
    """Factor U_d of shape (n, m-1) with U_d U_dᵀ = L, the paper's domain coefficients.

    L_ij = (m-1)/(m² n_a²) within domain a and -1/(m² n_a n_b) between a and b: eq. (8).
    """
    counted = np.flatnonzero(domains.domain_counts)
    means = indicator_means(domains.domain, domains.n_domains, domains.count)
    return scatter_of_means(means[:, counted])


def class_factor(domains: Domains) -> Array:
    """Orthonormal factor F of shape (n, C-1) with F Fᵀ = R, the between-class projection.

    R = Σ_k n_k v_k v_kᵀ, v_k = 1_k/n_k − 1_lab/n_l: class means around the labelled mean.
    """
    counts = domains.class_counts
    present = np.flatnonzero(counts)
    if len(present) < 2:
        return np.zeros((domains.n_rows, 0))
    # Columns that complete the unit vector q_k = sqrt(n_k/n_l) to an orthonormal basis.
    q = np.sqrt(counts[present] / counts.sum())
    complement = np.linalg.qr(np.column_stack([q, np.eye(len(q))[:, 1:]]))[0][:, 1:]
    return class_indicators(domains) @ complement


def conditional_factor(domains: Domains) -> Array:
    """Factor U_c: for every class, the scatter factor of its means over the domains it is in."""
    parts = factors_of_classes(domains)
    nothing = np.zeros((domains.n_rows, 0))
    return np.hstack([nothing, *(part / np.sqrt(len(parts)) for part in parts)])


def factors_of_classes(domains: Domains) -> list[Array]:
    """For every class that is there, the scatter factor of its means over the domains it is in."""
    parts = []
    for k in np.flatnonzero(domains.class_counts):
        own = np.where(domains.label == k, domains.domain, -1)
        means = indicator_means(own, domains.n_domains, domains.count)
        parts.append(scatter_of_means(means[:, means.any(axis=0)]))
    return parts


def balanced_domain_factor(domains: Domains) -> Array:
    """Factor of the scatter of domain means in which all classes weigh the same.

    The mean of a domain is the mean of the means of the classes it has; unlabelled samples do not
    count. So domains that differ in nothing but how frequent each class is have the same mean.
    """
    means = [
        _mean_of_class_means(domains, d)
        for d in range(domains.n_domains)
        if (domains.labelled & (domains.domain == d)).any()
    ]
    return scatter_of_means(np.column_stack([np.zeros((domains.n_rows, 0)), *means]))


def _mean_of_class_means(domains: Domains, domain: int) -> Array:
    own = np.where(domains.domain == domain, domains.label, -1)
    means = indicator_means(own, len(domains.classes), domains.count)
    return np.asarray(means[:, means.any(axis=0)].mean(axis=1))


def scatter_of_means(E: Array) -> Array:
    """Factor of the scatter of a set of m means, (1/m) E (I − 11ᵀ/m) Eᵀ; no column for m < 2."""
    m = E.shape[1]
    return E @ helmert(m).T / np.sqrt(m) if m > 1 else E[:, :0]
