"""Sums over rows, columns and the diagonal: norms, means, variances."""

from __future__ import annotations

import numpy as np

from skatter._tensors.places import Array, Tall, host, is_tensor, strips, torch


def column_norms(W: Tall) -> Array:
    """Return the Euclidean norm of every column, as a small array."""
    if not is_tensor(W):
        return np.linalg.norm(W, axis=0)
    return host(torch.linalg.vector_norm(W, dim=0))


def column_dots(A: Tall, B: Tall) -> Array:
    """Return ⟨a, b⟩ for every column of A and the one of B below it, as a small array."""
    return host((A * B).sum(0))


def column_means(X: torch.Tensor) -> torch.Tensor:
    """Return the mean of every column in float64, a strip of rows at a time."""
    sums = torch.zeros(X.shape[1], dtype=torch.float64, device=X.device)
    # To sum in float64, torch casts all that it is given.
    for rows in strips(len(X), 8 * X.shape[1]):
        sums += X[rows].sum(dim=0, dtype=torch.float64)
    return sums / len(X)


def moments_of_columns(X: Tall) -> tuple[Array, Array]:
    """Return means and variances of columns, in float64 on the host."""
    if not is_tensor(X):
        return X.mean(axis=0, dtype=np.float64), X.var(axis=0, dtype=np.float64)
    mean = column_means(X)
    sums = torch.zeros_like(mean)
    for rows in strips(len(X), 8 * X.shape[1]):
        sums += (X[rows] - mean).square_().sum(dim=0)
    return host(mean), host(sums / len(X))


def squared_norms(X: torch.Tensor) -> torch.Tensor:
    return torch.linalg.vector_norm(X, dim=1).square_()


def unit_rows(X: torch.Tensor) -> torch.Tensor:
    """Return rows of length one; a row of zeros stays."""
    norms = squared_norms(X).sqrt_()
    return X / norms.masked_fill_(norms == 0, 1)[:, None]


def squared_distances_to_mean(X: torch.Tensor) -> torch.Tensor:
    """Return the squared distance of every row to the mean row, in float64."""
    mean = column_means(X)
    parts = [
        torch.linalg.vector_norm(X[rows] - mean, dim=1) for rows in strips(len(X), 8 * X.shape[1])
    ]
    return torch.cat(parts).square_()


def trace(K: Tall) -> float:
    return float(K.diagonal().sum())


def add_to_diagonal(K: Tall, value: float) -> None:
    """Add a number to every entry of the diagonal, in place."""
    if is_tensor(K):
        K.diagonal().add_(value)
    else:
        K[np.diag_indices_from(K)] += value
