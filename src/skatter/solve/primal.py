"""The primal route: explicit features, moments and one small eigenproblem.

With Φ the centred features (n × D) and w = Φᵀ b, the problem of :mod:`skatter.objective` becomes

    Φᵀ N Φ w = λ (ρ I + Φᵀ M Φ) w,      Z = Φ w

of size D, the same for every kernel that an explicit map expresses: the linear kernel, Nystroem,
random features. It costs O(n D² + D³) and has the same eigenvalues and projections as the dual
route with K = Φ Φᵀ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skatter.domains import Domains
from skatter.objective import SCA_FACTORS, Coefficients, Factors, Objective
from skatter.scatter import centre_classes, class_indicators
from skatter.solve.small import leading_generalised
from skatter.solve.solution import Solution, numerical_rank, relative_residuals

Array = NDArray[Any]


@dataclass(frozen=True)
class Moments:
    """Second moments of centred features that express every scatter.

    Attributes
    ----------
    mean : ndarray of shape (D,)
        Mean of all samples.
    total : ndarray of shape (D, D)
        Φᵀ H Φ.
    within : ndarray of shape (D, D)
        Φᵀ S Φ.
    between : ndarray of shape (C-1, D)
        Fᵀ Φ.
    nuisance : ndarray of shape (r, D)
        Uᵀ Φ.
    """

    mean: Array
    total: Array
    within: Array
    between: Array
    nuisance: Array


def moments(features: Any, coefficients: Coefficients) -> Moments:
    """Collect the moments of dense or sparse features."""
    mean = np.asarray(features.mean(axis=0)).ravel().astype(features.dtype)
    domains = coefficients.domains
    size = sparse.linalg.norm(features) if sparse.issparse(features) else np.linalg.norm(features)
    if sparse.issparse(features):
        labelled = features[domains.labelled]
        total = _gram(features) - len(domains.label) * np.outer(mean, mean)
        sums = np.asarray(features.T @ class_indicators(domains).astype(features.dtype))
        within = _gram(labelled) - sums @ sums.T
    else:
        features = features - mean
        total = features.T @ features
        own = centre_classes(features, domains)
        within = own.T @ own
    # Where all samples coincide, what is left is rounding.
    spread = np.trace(total) > (100 * np.finfo(total.dtype).eps * size) ** 2
    return Moments(
        mean,
        total * spread,
        within * spread,
        np.asarray(features.T @ coefficients.between).T * spread,
        np.asarray(features.T @ np.hstack(coefficients.nuisance)).T * spread,
    )


def _gram(features: Any) -> Array:
    return (features.T @ features).toarray()


class PrimalPath:
    """Solve many settings of the objective that share features and labels: moments are shared.

    Parameters
    ----------
    features : ndarray or CSR matrix of shape (n, D)
        Explicit features, not centred.
    domains : Domains
        Labels and domains.
    factors : Factors
        How the thin scatters are made.
    """

    def __init__(self, features: Any, domains: Domains, factors: Factors = SCA_FACTORS) -> None:
        self.features = features
        self.coefficients = Coefficients(domains, features.dtype, factors)
        self.moments = moments(features, self.coefficients)

    def solve(self, objective: Objective, k: int) -> Solution:
        """Return the ``k`` leading components, or fewer where the rank is lower."""
        A, C = self._pencil(objective)
        eigenvalues, W = leading_generalised(A, C, k)
        rank = numerical_rank(eigenvalues)
        eigenvalues, W = eigenvalues[:rank], W[:, :rank]
        Z = np.asarray(self.features @ W) - self.moments.mean @ W
        return Solution(eigenvalues, W, Z, relative_residuals(A @ W, (C @ W) * eigenvalues))

    def _pencil(self, objective: Objective) -> tuple[Array, Array]:
        a, b = self.coefficients.numerator_weights(objective)
        moment = self.moments
        nuisance = moment.nuisance.T * self.coefficients.nuisance_weights(objective)
        A = a * moment.total + b * (moment.between.T @ moment.between)
        C = self.coefficients.within_weight(objective) * moment.within + nuisance @ nuisance.T
        C[np.diag_indices_from(C)] += objective.ridge
        return A, C
