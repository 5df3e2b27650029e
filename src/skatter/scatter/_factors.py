"""Thin factors that express a scatter and know nothing of the kernel.

A factor U has one row for each row of the domains, and UᵀZ are differences of means. Where a row
stands for all samples of one domain and class, its coefficients are the sums of theirs, and Z holds
their means: the same UᵀZ from a few rows.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import helmert

from skatter._tensors import Array
from skatter.domains import Codes, Domains

ROUNDING = 1e-10  # share of the largest singular value below which groups span nothing


def indicator_means(groups: Codes, n_groups: int, counts: Array | None = None) -> Array:
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
    """Orthonormal Q of shape (n, C), column k is 1_k/√n_k: S = I_lab − Q Qᵀ.

    Where classes belong to groups, Q is an orthonormal basis of what these span.
    """
    if domains.memberships is not None:
        root = np.sqrt(domains.counts)[:, None]
        basis, size, _ = np.linalg.svd(root * class_shares(domains), full_matrices=False)
        return np.asarray(root * basis[:, size > ROUNDING * size.max(initial=0)])
    counts = domains.class_counts
    means = indicator_means(domains.label, len(counts), domains.count)
    return (means * np.sqrt(counts))[:, counts > 0]


def class_shares(domains: Domains) -> Array:
    """Matrix of shape (n, C): how much of a row belongs to each class, or group, with a label."""
    table = domains.memberships
    table = np.eye(len(domains.classes)) if table is None else table
    if not domains.n_labelled:
        return np.zeros((domains.n_rows, 0))
    shares = table[domains.label] * domains.labelled[:, None]
    return np.asarray(shares[:, shares.any(axis=0)])


def domain_factor(domains: Domains) -> Array:
    """Factor U_d of shape (n, m-1) with U_d U_dᵀ = L, the paper's domain coefficients.

    L_ij = (m-1)/(m² n_a²) within domain a and -1/(m² n_a n_b) between a and b: eq. (9).
    """
    counted = np.flatnonzero(domains.domain_counts)
    means = indicator_means(domains.domain, domains.n_domains, domains.count)
    return scatter_of_means(means[:, counted])


def class_factor(domains: Domains) -> Array:
    """Orthonormal factor F of shape (n, C-1) with F Fᵀ = R, the between-class projection.

    R = Σ_k n_k v_k v_kᵀ, v_k = 1_k/n_k − 1_lab/n_l: class means around the labelled mean.
    """
    Q = class_indicators(domains)
    if Q.shape[1] < 2:
        return Q[:, :0]
    # Columns that complete the constant, a unit vector of this span, to an orthonormal basis.
    q = Q.sum(axis=0) / np.sqrt(domains.n_labelled)
    complement = np.linalg.qr(np.column_stack([q, np.eye(len(q))[:, 1:]]))[0][:, 1:]
    return np.asarray(Q @ complement)


def conditional_factor(domains: Domains) -> Array:
    """Factor U_c: for every class, the scatter factor of its means over the domains it is in."""
    parts = factors_of_classes(domains)
    nothing = np.zeros((domains.n_rows, 0))
    return np.hstack([nothing, *(part / np.sqrt(len(parts)) for part in parts)])


def factors_of_classes(domains: Domains) -> list[Array]:
    """For every class that is there, the scatter factor of its means over the domains it is in."""
    parts = []
    for share in class_shares(domains).T:
        own = np.where(share > 0, domains.domain, -1)
        means = indicator_means(own, domains.n_domains, share * domains.counts)
        parts.append(scatter_of_means(means[:, means.any(axis=0)]))
    return parts


def balanced_domain_factor(domains: Domains) -> Array:
    """Factor of the scatter of domain means in which all classes weigh the same.

    The mean of a domain is the mean of the means of the classes it has; unlabelled samples do not
    count. So domains that differ in nothing but how frequent each class is have the same mean.
    """
    means = []
    for d in np.unique(domains.domain[domains.labelled]):
        own = np.where(domains.domain == d, domains.label, -1)
        of_classes = indicator_means(own, len(domains.classes), domains.count)
        means.append(of_classes[:, of_classes.any(axis=0)].mean(axis=1))
    return scatter_of_means(np.column_stack([np.zeros((domains.n_rows, 0)), *means]))


def scatter_of_means(E: Array) -> Array:
    """Factor of the scatter of a set of m means, (1/m) E (I − 11ᵀ/m) Eᵀ; no column for m < 2."""
    m = E.shape[1]
    return E @ helmert(m).T / np.sqrt(m) if m > 1 else E[:, :0]


def matching_factor(
    e: Array,
    source: Codes,
    target: Codes,
    n_classes: int,
    weights: tuple[float, float],
    *,
    share_ratio: bool = False,
) -> Array:
    """Factor E of the squared distances of means, of two domains and of their classes.

    E Eᵀ = c₀ e eᵀ + c₁ Σ_c e_c e_cᵀ with ``weights`` c₀ and c₁: e holds 1/n_s on source and -1/n_t
    on target samples, e_c the same for those of class c, by the codes of ``source`` and ``target``,
    -1 for other samples. Without any code of the target, classes have no column. With
    ``share_ratio``, target means of classes are multiplied by the ratio of the two shares.
    """
    c0, c1 = np.sqrt(weights)
    columns = [c0 * e.astype(np.float64)[:, None]]
    if (target >= 0).any():
        of_source, of_target = (indicator_means(part, n_classes) for part in (source, target))
        if share_ratio:
            counts = [np.bincount(c[c >= 0], minlength=n_classes) for c in (target, source)]
            shares = [count / count.sum() for count in counts]
            of_target *= shares[0] / np.where(shares[1] > 0, shares[1], 1)
        columns.append(c1 * (of_source - of_target))
    return np.asfortranarray(np.hstack(columns))


def normalised(E: Array) -> Array:
    """Return E in the unit in which E Eᵀ has a Frobenius norm of one."""
    size = float(np.linalg.norm(E.T @ E))
    return E / np.sqrt(size) if size > 0 else E
