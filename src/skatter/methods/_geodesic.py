"""The geodesic between two subspaces, and the metric that averages over it.

Between the spans of two orthonormal bases P_s and P_t (p × d), with the thin decomposition
P_sᵀP_t = U diag(cos θ) Vᵀ, principal angles θ and

    A = P_s U,    B = (P_t V − A diag(cos θ)) diag(1/sin θ),

the geodesic of the Grassmann manifold is

    Φ(t) = A diag(cos tθ) + B diag(sin tθ),    Φ(0) = P_s U,    Φ(1) = P_t V.

The average of the projections on all its subspaces is the metric G of the geodesic flow kernel:

    G = ∫₀¹ Φ(t)Φ(t)ᵀ dt = A D₁ Aᵀ + A D₂ Bᵀ + B D₂ Aᵀ + B D₃ Bᵀ,
    D₁ = ½(1 + sin 2θ/2θ),    D₂ = (1 − cos 2θ)/4θ,    D₃ = ½(1 − sin 2θ/2θ).

For one angle the block [[D₁, D₂], [D₂, D₃]] is ½(I + sin θ/θ · [[cos θ, sin θ], [sin θ, −cos θ]]),
a multiple of the unit matrix plus a reflection, so that its eigenvectors point along the middle of
the geodesic and across it:

    G = Φ(½) diag(½ + sin θ/2θ) Φ(½)ᵀ + Ψ(½) diag(½ − sin θ/2θ) Ψ(½)ᵀ,
    Ψ(t) = −A diag(sin tθ) + B diag(cos tθ).

Nothing here needs the orthogonal complement of P_s, and 2d may exceed p.

Where a basis W and a velocity D, with WᵀD = 0 and the thin SVD D = B diag(θ) Vᵀ, are given instead,
A is W V, and the basis that starts at W and does not turn on the way is

    W(t) = Φ(t) Vᵀ,    with velocity  Ψ(t) diag(θ) Vᵀ    and Δ carried along as  Δ + (Ψ(t) − B) BᵀΔ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import svd

from skatter._tensors import Array

COINCIDE = 1e-14  # sine of an angle that rounding may have made: such directions count as shared
SMALL = 0.02  # angle below which ½ − sin θ/2θ loses digits and its series does not


@dataclass(frozen=True, eq=False)
class Geodesic:
    """The shortest path from one d-dimensional subspace to another."""

    A: Array
    Bq: Array
    angles: Array
    rotation: Array

    @classmethod
    def along(cls, W: Array, direction: Array) -> Geodesic:
        """Return the path that starts at a basis with a velocity."""
        U, speeds, Vt = np.linalg.svd(direction, full_matrices=False)
        return cls(W @ Vt.T, U, speeds, Vt.T)

    @property
    def dimension(self) -> int:
        return len(self.angles)

    def point(self, t: float) -> Array:
        """Return Φ(t), an orthonormal basis of the subspace at ``t``."""
        return self.A * np.cos(t * self.angles) + self.Bq * np.sin(t * self.angles)

    def across(self, t: float) -> Array:
        """Return Ψ(t), the directions at ``t`` in which the path moves: dΦ/dt = Ψ diag(θ)."""
        return self.Bq * np.cos(t * self.angles) - self.A * np.sin(t * self.angles)

    def at(self, t: float) -> Array:
        """Return the basis at ``t`` that does not turn on the way."""
        return self.point(t) @ self.rotation.T

    def velocity(self, t: float) -> Array:
        return (self.across(t) * self.angles) @ self.rotation.T

    def transport(self, tangent: Array, t: float) -> Array:
        """Return a tangent at the start, moved in parallel to ``t``."""
        angles = t * self.angles
        turned = self.Bq * (np.cos(angles) - 1) - self.A * np.sin(angles)  # Ψ(t) − B
        return tangent + turned @ (self.Bq.T @ tangent)

    @property
    def weights(self) -> tuple[Array, Array]:
        """Weights ½ ± sin θ/2θ in G of the middle of the path and of the directions across it."""
        along = (1 + np.sinc(self.angles / np.pi)) / 2
        square = self.angles**2
        series = square / 12 * (1 - square / 20 * (1 - square / 42))
        return along, np.where(self.angles < SMALL, series, 1 - along)

    def factor(self) -> Array:
        """Return R of shape (n_features, 2d) with R Rᵀ = G: the middle of the path, then across."""
        along, across = self.weights
        # Where a direction is shared, Bq is zero and Ψ(½) has nothing left but rounding.
        return np.hstack([self.point(0.5) * np.sqrt(along), self.across(0.5) * np.sqrt(across)])


def geodesic(P_source: Array, P_target: Array) -> Geodesic:
    P_source, P_target = P_source.astype(np.float64), P_target.astype(np.float64)
    U, cosine, Vt = svd(P_source.T @ P_target, check_finite=False)
    A = P_source @ U
    leaving = P_target @ Vt.T - A * cosine
    # The length of what leaves the first subspace is the sine; arccos would lose small angles.
    sine = np.linalg.norm(leaving, axis=0)
    shared = sine < COINCIDE
    Bq = leaving / np.where(shared, np.inf, sine)
    return Geodesic(A, Bq, np.where(shared, 0.0, np.arctan2(sine, cosine)), U)
