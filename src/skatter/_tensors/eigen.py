"""Small problems that a card solves: eigenpairs, Cholesky factors and their inverses."""

from __future__ import annotations

from typing import Any

import numpy as np

from skatter._tensors.places import Array, host, identity, to_device, torch


def leading_on_card(T: Array, k: int, device: Any) -> tuple[Array, Array]:
    """Return the largest ``k`` eigenpairs of a symmetric host array, found on a card.

    A card's own float32 solver is right to three digits: it works in float64 here.
    """
    values, vectors = torch.linalg.eigh(to_device(T.astype(np.float64), device))
    leading = host(values[-k:].flip(0)), host(vectors[:, -k:].flip(1))
    return leading[0].astype(T.dtype), leading[1].astype(T.dtype)


def generalised_on_card(A: Array, C: Array, k: int, device: Any) -> tuple[Array, Array]:
    """Return the largest ``k`` eigenpairs of A w = λ C w of host arrays, found on a card."""
    L, T = _reduced(to_device(A, device), to_device(C, device))
    values, V = torch.linalg.eigh(T)
    W = torch.linalg.solve_triangular(L.mT, V[:, -k:].flip(1), upper=True)
    return host(values[-k:].flip(0)), host(W)


def reduced_on_card(A: Array, C: Array, device: Any) -> tuple[Array, Array]:
    """Return L of C = L Lᵀ and L⁻¹ A L⁻ᵀ, made symmetric, of host arrays, found on a card."""
    L, T = _reduced(to_device(A, device), to_device(C, device))
    return host(L), host(T)


def lower_on_card(C: Array, device: Any) -> Array:
    """Return L of C = L Lᵀ of a host array, found on a card."""
    return host(_lower(to_device(C, device)))


def inverse_of_lower(L: Array, beside: torch.Tensor) -> torch.Tensor:
    """Return L⁻¹ of a host array, found in its own precision, in the type of ``beside``."""
    there = to_device(L, beside.device)
    return torch.linalg.solve_triangular(there, identity(there), upper=False).to(beside.dtype)


def _reduced(A: torch.Tensor, C: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    L = _lower(C)
    half = torch.linalg.solve_triangular(L, A, upper=False)
    T = torch.linalg.solve_triangular(L, half.mT, upper=False)
    return L, (T + T.mT) / 2


def _lower(C: torch.Tensor) -> torch.Tensor:
    L, info = torch.linalg.cholesky_ex(C)
    if int(info):
        raise np.linalg.LinAlgError(f"leading minor {int(info)} is not positive")
    return L
