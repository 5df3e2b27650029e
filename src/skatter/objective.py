"""The objective: weights on five scatters become a numerator and a denominator.

With K the centred Gram matrix, B the coefficients and Z = K B the projections::

    maximise  tr Bᵀ K N K B   subject to   Bᵀ (ρ K + K M K) B = I

    N = total · H/n + between_class · R/n_l
    M = within_class · S/n_l + domain · L + conditional_domain · L_c

This is eq. (18) of the paper with rows over all samples. Every scatter is a mean, so a weight
means the same at any sample size; the paper's own sums are a choice of weights
(:func:`sca` with ``normalize=False``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skatter.domains import Codes, Domains
from skatter.scatter import (
    class_factor,
    class_indicators,
    conditional_factor,
    domain_factor,
)
from skatter.tensors import (
    Tall,
    device_of,
    fortran,
    host_dtype,
    hstack,
    like,
    multiply,
    take,
    to_device,
)

Array = NDArray[Any]


@dataclass(frozen=True)
class Objective:
    """Weights of the five scatters, and of the size of the projection, tr BᵀKB (``ridge``)."""

    total: float = 1.0
    between_class: float = 0.0
    within_class: float = 0.0
    domain: float = 0.0
    conditional_domain: float = 0.0
    ridge: float = 1.0

    @property
    def between_only(self) -> bool:
        """Whether the numerator has rank C-1 (the paper's β = 1)."""
        return self.total == 0


def sca(
    beta: float,
    delta: float,
    *,
    conditional_delta: float = 0.0,
    ridge: float,
    normalize: bool,
    n_labelled: int,
) -> Objective:
    """Scatter Component Analysis.

    With ``normalize`` class scatters are means, as the others are; without it sums over labelled
    samples, as printed in eqs. (13) and (14).

    Examples
    --------
    >>> sca(0.5, 2.0, ridge=1.0, normalize=False, n_labelled=10).within_class
    10.0
    """
    count = 1.0 if normalize else float(n_labelled)
    return Objective(
        total=1 - beta,
        between_class=beta * count,
        within_class=count,
        domain=delta,
        conditional_domain=conditional_delta,
        ridge=ridge,
    )


def usca(delta: float, *, ridge: float) -> Objective:
    """Unsupervised SCA: total scatter against domain scatter; kernel PCA where ``delta`` is 0."""
    return Objective(domain=delta, ridge=ridge)


@dataclass(frozen=True)
class Factors:
    """Whose means the thin scatters compare: SCA's own, or those of a relative.

    Each is a function of the domains that returns a matrix U with n rows and few columns, whose
    scatter is ‖Uᵀ Z‖². That of ``between`` is orthonormal where total scatter is beside it.
    """

    between: Callable[[Domains], Array] = class_factor
    domain: Callable[[Domains], Array] = domain_factor
    conditional_domain: Callable[[Domains], Array] = conditional_factor


SCA_FACTORS = Factors()
"""Class means, domain means, and the means of each class over the domains, as in the paper."""


@dataclass(frozen=True, eq=False)
class Coefficients:
    """The matrices H, R, S, L and L_c of a sample, as thin factors that are never multiplied out.

    Without a ``device`` they are NumPy arrays of ``dtype``.
    """

    domains: Domains
    dtype: Any = np.float64
    factors: Factors = SCA_FACTORS
    device: Any = None

    @classmethod
    def like(cls, tall: Tall, domains: Domains, factors: Factors = SCA_FACTORS) -> Coefficients:
        """Coefficients in the floating type and at the place of a Gram matrix or of projections."""
        return cls(domains, host_dtype(tall), factors, device_of(tall))

    @cached_property
    def between(self) -> Tall:
        """F with R = F Fᵀ."""
        return self._rows(self.factors.between)

    @cached_property
    def nuisance(self) -> tuple[Tall, Tall]:
        """U_d and U_c, factors of the domain and the conditional domain scatter."""
        return (
            self._rows(self.factors.domain),
            self._rows(self.factors.conditional_domain),
        )

    @cached_property
    def classes(self) -> Tall:
        """Q, orthonormal: S = I_lab − Q Qᵀ."""
        return self._rows(class_indicators)

    @cached_property
    def _cells(self) -> tuple[Domains, Codes]:
        return self.domains.cells()

    def _rows(self, make: Callable[[Domains], Array]) -> Tall:
        """Make a factor of the few cells, and hand its rows to the samples of each."""
        cells, cell = self._cells
        of_sample = (make(cells) / cells.counts[:, None]).astype(self.dtype)
        rows = fortran(take(to_device(of_sample, self.device), cell))
        counts = self.domains.count
        return rows if counts is None else rows * counts[:, None]

    def nuisance_weights(self, objective: Objective) -> Array:
        """Square roots of the weights of the columns of ``hstack(nuisance)``."""
        weights = (objective.domain, objective.conditional_domain)
        sizes = [factor.shape[1] for factor in self.nuisance]
        return np.repeat(np.sqrt(weights), sizes).astype(self.dtype)

    def numerator_weights(self, objective: Objective) -> tuple[float, float]:
        """Return a and b in N = a H + b R."""
        return (
            objective.total / self.domains.n_samples,
            objective.between_class / max(self.domains.n_labelled, 1),
        )

    def within_weight(self, objective: Objective) -> float:
        """Return w in M = w S + U Uᵀ."""
        return objective.within_class / max(self.domains.n_labelled, 1)

    def numerator(self, objective: Objective, Z: Tall) -> Tall:
        """Return N Z."""
        a, b = self.numerator_weights(objective)
        F = self.between
        return a * (Z - Z.mean(axis=0)) + b * multiply(F, multiply(F.T, Z))

    def denominator(self, objective: Objective, Z: Tall) -> Tall:
        """Return M Z."""
        U = hstack(self.nuisance)
        U = U * like(self.nuisance_weights(objective), U)
        within = self.within_weight(objective)
        out = multiply(U, multiply(U.T, Z))
        if within:
            out += within * self.centre_classes(Z)
        return out

    def centre_classes(self, Z: Tall) -> Tall:
        """Return S Z: from each labelled row its class mean is subtracted, others become zero."""
        Q = self.classes
        return self._labelled * Z - multiply(Q, multiply(Q.T, Z))

    @cached_property
    def _labelled(self) -> Tall:
        """A column of ones and zeros."""
        return to_device(self.domains.labelled[:, None].astype(self.dtype), self.device)
