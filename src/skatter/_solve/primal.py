"""The primal route: moments of explicit features, and one small eigenproblem.

With Φ the centred features (n × D) and w = Φᵀ b, the problem of :mod:`skatter._objective` becomes

    Φᵀ N Φ w = λ (ρ I + Φᵀ M Φ) w,      Z = Φ w

of size D, the same for every kernel that an explicit map expresses: the linear kernel, Nystroem,
random features. Both sides come from :mod:`skatter.moments` alone, so that it costs O(n D² + D³)
and never needs two samples at the same time. It has the same eigenvalues and projections as the
dual route with K = Φ Φᵀ.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from skatter._objective import SCA_FACTORS, Coefficients, Factors, Objective
from skatter._solve.small import leading_generalised
from skatter._solve.solution import numerical_rank, relative_residuals
from skatter._solve.symmetric import Eigenpairs
from skatter._tensors import Array
from skatter.moments import Moments


class PrimalPath:
    """Solve many settings of the objective from the same moments; on ``device`` if it is a card."""

    def __init__(
        self, moments: Moments, factors: Factors = SCA_FACTORS, device: Any = None
    ) -> None:
        self.moments, self.device = moments, device
        self.coefficients = Coefficients(moments.cells, np.float64, factors)

    def solve(self, objective: Objective, k: int) -> Eigenpairs:
        A, C = self._pencil(objective)
        eigenvalues, W = leading_generalised(A, C, k, self.device)
        # Rounding is that of the features, whatever the precision of their moments.
        rank = numerical_rank(eigenvalues.astype(self.moments.dtype))
        eigenvalues, W = eigenvalues[:rank], W[:, :rank]
        return Eigenpairs(eigenvalues, W, relative_residuals(A @ W, (C @ W) * eigenvalues))

    def coefficient_norms(self, objective: Objective, found: Eigenpairs) -> Array:
        """Return ‖b‖ of the coefficients b = (N z/λ − M z)/ρ on the samples.

        Within a cell b is a multiple of z about its mean, one for labelled and one for unlabelled
        samples, so that moments are all it takes.
        """
        W, inverse = found.vectors, 1 / np.where(found.values > 0, found.values, 1)
        counts = self.moments.cells.counts[:, None]
        a, b = self.coefficients.numerator_weights(objective)
        within = self.coefficients.within_weight(objective)
        F, U = self._factors(objective)
        means = self.moments.centred_means @ W
        mean_of_cell = (
            inverse * (a * means + b * (F @ (F.T @ means)) / counts)
            - within * (self.moments.class_offsets @ W)
            - U @ (U.T @ means) / counts
        )
        square = np.sum(counts * np.square(mean_of_cell), axis=0)
        for labelled in (True, False):
            inside = np.sum(W * (self.moments.inside(labelled) @ W), axis=0)
            square += np.square(a * inverse - within * labelled) * inside
        return np.sqrt(square) / objective.ridge

    def _factors(self, objective: Objective) -> tuple[Array, Array]:
        """Return F and the weighted U, one row for each cell."""
        weights = self.coefficients.nuisance_weights(objective)
        return self.coefficients.between, np.hstack(self.coefficients.nuisance) * weights

    def _pencil(self, objective: Objective) -> tuple[Array, Array]:
        a, b = self.coefficients.numerator_weights(objective)
        F, U = self._factors(objective)
        between = self._means.T @ F
        nuisance = self._means.T @ U
        A = a * self._total + b * (between @ between.T)
        C = self.coefficients.within_weight(objective) * self._within + nuisance @ nuisance.T
        C[np.diag_indices_from(C)] += objective.ridge
        return A, C

    @cached_property
    def _spread(self) -> bool:
        moments = self.moments
        inside = np.trace(self.moments.total())
        size = inside + moments.n_samples * float(np.sum(np.square(moments.mean)))
        return bool(inside > (100 * np.finfo(moments.dtype).eps) ** 2 * size)

    @cached_property
    def _total(self) -> Array:
        return self.moments.total() * self._spread

    @cached_property
    def _within(self) -> Array:
        return self.moments.within() * self._spread

    @cached_property
    def _means(self) -> Array:
        return self.moments.centred_means * self._spread
