"""The dictionary of sparse codes, by the Lagrange dual of Lee, Battle, Raina and Ng (2007).

With the codes S fixed, one row for each sample, the atoms are the columns of B in

    min_B  ‖X − S Bᵀ‖²    subject to  ‖b_j‖² ≤ 1.

With multipliers θ ≥ 0 the best dictionary is B(θ) = XᵀS M⁻¹, M = SᵀS + diag(θ), and θ maximises

    D(θ) = ‖X‖² − tr(XᵀS M⁻¹ SᵀX) − Σθ,    ∂D/∂θ_j = ‖b_j(θ)‖² − 1,

concave and no larger than the number of atoms: a few Newton steps, each one Cholesky factor of M.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skatter._solve.blas import cholesky_in_place, cholesky_solve
from skatter._tensors import Array

NEWTON = 100  # Newton steps at most; a handful is usual
TOLERANCE = 1e-9  # on the squared lengths of the atoms


class Dictionary(NamedTuple):
    """Atoms and the multipliers of the bounds on their lengths."""

    atoms: Array
    multipliers: Array


def update_dictionary(dictionary: Dictionary, SS: Array, XS: Array) -> Dictionary:
    used = np.diagonal(SS) > 0
    if not used.any():
        return dictionary
    P, Q = SS[np.ix_(used, used)], XS[:, used]
    theta, inverse = _maximise_dual(P, Q.T @ Q, dictionary.multipliers[used])
    best = Q @ inverse
    best /= np.maximum(np.linalg.norm(best, axis=0), 1.0)  # what rounding has left above one
    if _misfit(best, P, Q) > _misfit(dictionary.atoms[:, used], P, Q):
        return dictionary
    atoms, multipliers = dictionary.atoms.copy(), dictionary.multipliers.copy()
    atoms[:, used], multipliers[used] = best, theta
    return Dictionary(atoms, multipliers)


def _misfit(B: Array, P: Array, Q: Array) -> float:
    """‖X − S Bᵀ‖² − ‖X‖²."""
    return float(np.vdot(B @ P, B) - 2 * np.vdot(B, Q))


def _maximise_dual(P: Array, R: Array, theta: Array) -> tuple[Array, Array]:
    """Return θ and M⁻¹; P = SᵀS, and R = SᵀX XᵀS."""
    # Codes may be linearly dependent; where θ is zero, M must be invertible all the same.
    ridge = 1e-12 * np.trace(P) / len(P)

    def at(theta: Array) -> tuple[float, Array, Array]:
        M = np.asfortranarray(P + np.diag(theta + ridge))
        inverse = cholesky_solve(cholesky_in_place(M), np.eye(len(P), order="F"))
        half = inverse @ R
        return float(np.trace(half) + theta.sum()), inverse, half @ inverse

    # A bound that does not bind is a guess; where atoms do not overlap, this one is exact.
    alone = np.sqrt(np.diagonal(R)) - np.diagonal(P)
    theta = np.where(theta > 0, theta, np.maximum(alone, 0.0))
    cost, inverse, lengths = at(theta)
    for _ in range(NEWTON):
        slope = np.diagonal(lengths) - 1.0
        active = np.flatnonzero((theta > 0) | (slope > 0))
        if np.abs(slope[active]).max(initial=0.0) <= TOLERANCE:
            break
        curvature = 2 * (lengths * inverse)[np.ix_(active, active)]
        curvature[np.diag_indices(len(active))] += 1e-14 * np.trace(curvature)
        step = np.zeros_like(theta)
        step[active] = np.linalg.solve(curvature, slope[active])
        # The step, its half, its quarter ... until −D falls enough.
        for share in 0.5 ** np.arange(30):
            new = np.maximum(theta + share * step, 0.0)
            found = at(new)
            if found[0] <= cost - 1e-4 * (slope @ (new - theta)) + 1e-13 * abs(cost):
                break
        else:
            break
        theta, (cost, inverse, lengths) = new, found
    return theta, inverse
