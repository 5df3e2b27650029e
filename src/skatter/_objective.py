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

from skatter import _tensors as tensors
from skatter.domains import Codes, Domains
from skatter.scatter import class_factor, class_indicators, conditional_factor, domain_factor


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


@dataclass(frozen=True)
class Factors:
    """Whose means the thin scatters compare: SCA's own, or those of a relative.

    Each is a function of the domains that returns a matrix U with n rows and few columns, whose
    scatter is ‖Uᵀ Z‖². That of ``between`` is orthonormal where total scatter is beside it.
    """

    between: Callable[[Domains], tensors.Array] = class_factor
    domain: Callable[[Domains], tensors.Array] = domain_factor
    conditional_domain: Callable[[Domains], tensors.Array] = conditional_factor


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
    def like(
        cls, tall: tensors.Tall, domains: Domains, factors: Factors = SCA_FACTORS
    ) -> Coefficients:
        """Coefficients in the floating type and at the place of a Gram matrix or of projections."""
        return cls(domains, tensors.host_dtype(tall), factors, tensors.device_of(tall))

    @cached_property
    def between(self) -> tensors.Tall:
        """F with R = F Fᵀ."""
        return self._rows(self.factors.between)

    @cached_property
    def nuisance(self) -> tuple[tensors.Tall, tensors.Tall]:
        """U_d and U_c, factors of the domain and the conditional domain scatter."""
        return self._rows(self.factors.domain), self._rows(self.factors.conditional_domain)

    @cached_property
    def classes(self) -> tensors.Tall:
        """Q, orthonormal: S = I_lab − Q Qᵀ."""
        return self._rows(class_indicators)

    @cached_property
    def _cells(self) -> tuple[Domains, Codes]:
        return self.domains.cells()

    def _rows(self, make: Callable[[Domains], tensors.Array]) -> tensors.Tall:
        """Make a factor of the few cells, and hand its rows to the samples of each."""
        cells, cell = self._cells
        of_sample = (make(cells) / cells.counts[:, None]).astype(self.dtype)
        rows = tensors.fortran(tensors.take(tensors.to_device(of_sample, self.device), cell))
        counts = self.domains.count
        return rows if counts is None else rows * counts[:, None]

    def nuisance_weights(self, objective: Objective) -> tensors.Array:
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

    def numerator(self, objective: Objective, Z: tensors.Tall) -> tensors.Tall:
        """Return N Z."""
        a, b = self.numerator_weights(objective)
        F = self.between
        return a * (Z - Z.mean(axis=0)) + b * tensors.multiply(F, tensors.multiply(F.T, Z))

    def denominator(self, objective: Objective, Z: tensors.Tall) -> tensors.Tall:
        """Return M Z."""
        U = tensors.hstack(self.nuisance)
        U = U * tensors.like(self.nuisance_weights(objective), U)
        within = self.within_weight(objective)
        out = tensors.multiply(U, tensors.multiply(U.T, Z))
        if within:
            out += within * self.centre_classes(Z)
        return out

    def centre_classes(self, Z: tensors.Tall) -> tensors.Tall:
        """Return S Z: from each labelled row its class mean is subtracted, others become zero."""
        Q = self.classes
        return self._labelled * Z - tensors.multiply(Q, tensors.multiply(Q.T, Z))

    @cached_property
    def _labelled(self) -> tensors.Tall:
        """A column of ones and zeros."""
        return tensors.to_device(self.domains.labelled[:, None].astype(self.dtype), self.device)
