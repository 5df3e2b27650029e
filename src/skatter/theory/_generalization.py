"""Several domains: how far one that nobody has seen may lie from them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from skatter._parameters import POSITIVE
from skatter.domains import read_domains
from skatter.scatter import domain_scatter
from skatter.theory._samples import check_alpha, check_table, single_gram


class GeneralizationBound(NamedTuple):
    """What the scatter of the sources says of an unseen domain; see :func:`generalization_bound`.

    ``domain_scatter`` and ``domain_scatter_squared_kernel`` are Ψ({μ_1, …, μ_m}) with the kernels k
    and k²; ``expected_discrepancy`` is the bound; ``printed_rate`` what the cited theorem
    multiplies the size of the representation with.
    """

    n_domains: int
    n_samples: int
    domain_scatter: float
    domain_scatter_squared_kernel: float
    expected_discrepancy: float
    printed_rate: float
    radius: float
    alpha: float


def generalization_bound(
    X: Any,
    sample_domain: Any,
    *,
    kernel: Any = "rbf",
    gamma: Any = "median",
    radius: float = 1.0,
    alpha: float = 0.05,
) -> GeneralizationBound:
    r"""Bound the discrepancy to expect between the sources and a domain that nobody has seen.

    Let the m sources P_1, …, P_m and the unseen Q be drawn from one distribution of domains. Then
    the mean map of Q lies, in the mean square, (m + 1)/(m − 1) times as far from the mean of the
    sources as domain scatter says that they lie from it themselves, and by
    :func:`discrepancy_bound`::

        E disc(P^, Q) ≤ 4 Λ² √((m + 1)/(m − 1) · E Ψ_{k²}({μ_1^, …, μ_m^}))

    with P^ the sources' samples, each domain weighing the same. ``expected_discrepancy`` is the
    right side with the scatter of these samples in the place of its mean.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples of the sources, or their Gram matrix with ``kernel="precomputed"``.
    sample_domain : array-like of shape (n_samples,)
        Domain of each sample, at least two.
    kernel, gamma, radius
        As in :func:`discrepancy`.
    alpha : float in (0, 1)
        Probability with which the cited theorem may fail; for ``printed_rate`` alone.

    Notes
    -----
    The paper cites the bound of Muandet et al., for features of a map B, with probability 1 − α::

        (error on an unseen domain − error on the sources)² ≤
            c_1 · distributional variance + tr(BᵀKB) · (c_2 m (log(1/α) + 2 log m)/n
                                                        + c_3 log(1/α)/m + c_4/m)

    Its distributional variance is domain scatter. The constants are not given, so it is no number:
    ``printed_rate`` is the last factor with all constants one.

    References
    ----------
    K. Muandet, D. Balduzzi, B. Schölkopf: Domain Generalization via Invariant Feature
    Representation. ICML, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter.theory import generalization_bound
    >>> rng = np.random.default_rng(0)
    >>> site = np.repeat([0, 1, 2], 50)
    >>> X = rng.normal(size=(150, 2))
    >>> near, far = X + 0.2 * site[:, None], X + 2 * site[:, None]
    >>> bounds = [generalization_bound(each, site, gamma=0.5) for each in (near, far)]
    >>> [round(bound.expected_discrepancy, 2) for bound in bounds]
    [0.47, 1.88]
    """
    alpha, radius = check_alpha(alpha), POSITIVE("radius", radius)
    X = check_table(X, "X", least=2)
    m, n = read_domains(None, sample_domain, n_samples=len(X)).n_domains, len(X)
    if m < 2:
        raise ValueError(
            "sample_domain must name at least two domains: from one, nothing is known of how "
            "domains differ."
        )
    K = single_gram(X, kernel, gamma)[1]
    of_k, of_square = (
        max(domain_scatter(each, sample_domain, kernel="precomputed"), 0.0)
        for each in (K, np.square(K))
    )
    return GeneralizationBound(
        n_domains=m,
        n_samples=n,
        domain_scatter=of_k,
        domain_scatter_squared_kernel=of_square,
        expected_discrepancy=4 * radius**2 * float(np.sqrt((m + 1) / (m - 1) * of_square)),
        printed_rate=float(
            m * (np.log(1 / alpha) + 2 * np.log(m)) / n + (np.log(1 / alpha) + 1) / m
        ),
        radius=radius,
        alpha=alpha,
    )
