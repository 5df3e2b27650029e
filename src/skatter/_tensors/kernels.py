"""Kernel matrices of tensors, filled tile by tile; Gram matrices centred and checked in place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from skatter._tensors.halves import TOP_OF_HALVES, halves, products_of_halves_pay, scale_of_halves
from skatter._tensors.places import host, on_card, strips, torch
from skatter._tensors.products import full_precision
from skatter._tensors.sums import squared_norms, unit_rows

GRAM_TILE = 2048
"""Rows and columns of a tile of a kernel matrix; of a symmetric one half of them are computed."""

CROSS_TILE = 2**15
"""The same between two sets of samples: a large product is done soonest in one piece."""

SEGMENT = 64  # float32 entries of a Gram matrix that are added up before float64 takes over


def _products(
    out: torch.Tensor, X: torch.Tensor, Y: torch.Tensor, weight: float = 1.0
) -> torch.Tensor:
    if X.dtype == out.dtype:
        return torch.addmm(out, X, Y.T, beta=0, alpha=weight, out=out)
    return torch.addmm(out, X, Y.T, out_dtype=out.dtype, beta=0, alpha=weight, out=out)


def _rbf(out: torch.Tensor, X: torch.Tensor, Y: torch.Tensor, gamma: float, **_: Any) -> None:
    """Fill with exp(γ ⟨x, y⟩) for rows that :func:`_with_norms` made."""
    _products(out, X, Y, gamma).exp_().clamp_(max=1)


def _with_norms(
    X: torch.Tensor, Y: torch.Tensor | None, gamma: float
) -> tuple[torch.Tensor, torch.Tensor, float]:
    """Return rows x', y' and a factor c with c ⟨x', y'⟩ = −γ ‖x − y‖²: norms are columns, too."""
    both = [W for W in (X, Y) if W is not None]
    norms = [squared_norms(W) for W in both]
    if not products_of_halves_pay(X):
        halved = [norm[:, None] / -2 for norm in norms]
        ones = [torch.ones_like(norm) for norm in halved]
        left = torch.cat([X, halved[0], ones[0]], dim=1)
        return left, torch.cat([both[-1], ones[-1], halved[-1]], dim=1), 2 * gamma
    scale = scale_of_halves(torch.stack([norm.max() for norm in norms]).max().sqrt())
    top = 2.0**TOP_OF_HALVES
    rows = []
    for W, norm in zip(both, norms, strict=True):
        # −s² ‖x‖²/2 = top · (three numbers of eleven bits)
        rest, thirds = norm * (scale**2 / (-2 * top)), list[torch.Tensor]()
        for _ in range(3):
            thirds.append(rest.half()[:, None])
            rest = rest - thirds[-1][:, 0]
        tops = [torch.full_like(thirds[0], top)] * 3
        rows.append(halves(W, scale, [*thirds, *tops], [*tops, *thirds]))
    return rows[0][0], rows[-1][1], 2 * gamma / scale**2


def _polynomial(
    out: torch.Tensor, X: torch.Tensor, Y: torch.Tensor, gamma: float, degree: float, coef0: float
) -> None:
    _products(out, X, Y).mul_(gamma).add_(coef0).pow_(degree)


_FORMULAS: Mapping[str, Callable[..., Any]] = {
    "cosine": lambda out, X, Y, **_: _products(out, X, Y),
    "laplacian": lambda out, X, Y, gamma, **_: (
        out.copy_(torch.cdist(X, Y, p=1)).mul_(-gamma).exp_()
    ),
    "linear": lambda out, X, Y, **_: _products(out, X, Y),
    "poly": _polynomial,
    "polynomial": _polynomial,
    "rbf": _rbf,
    "sigmoid": lambda out, X, Y, gamma, coef0, **_: (
        _products(out, X, Y).mul_(gamma).add_(coef0).tanh_()
    ),
}
"""Kernels by the names of scikit-learn; each fills a matrix in place. Rows of cosine are units."""


def check_kernel(name: str) -> None:
    """Raise ValueError where a kernel of scikit-learn cannot be had on tensors."""
    if name not in _FORMULAS:
        raise ValueError(
            f"On tensors kernel must be one of {', '.join(_FORMULAS)}, precomputed, or a callable "
            f"that takes and returns tensors; got {name!r}. Move the samples to NumPy for it: "
            "X.numpy(force=True)."
        )


def kernel_matrix(
    name: str, params: Mapping[str, Any], X: torch.Tensor, Y: torch.Tensor | None = None
) -> torch.Tensor:
    """Return a kernel of scikit-learn between rows, filled tile by tile in one matrix.

    Without ``Y`` it is that of ``X`` with itself, and symmetric to the bit.
    """
    check_kernel(name)
    fill, symmetric = _FORMULAS[name], Y is None
    gamma = params["gamma"] if params.get("gamma") is not None else 1 / X.shape[1]
    out = X.new_empty((len(X), len(X if Y is None else Y)))
    with full_precision():
        if name == "cosine":
            X, Y = unit_rows(X), None if Y is None else unit_rows(Y)
        elif name == "rbf":
            X, Y, gamma = _with_norms(X, Y, gamma)
        shape = {"gamma": gamma, "degree": params.get("degree", 3), "coef0": params.get("coef0", 1)}
        side = GRAM_TILE if symmetric else CROSS_TILE
        for rows in strips(out.shape[0], 1, side):
            for columns in strips(rows.stop if symmetric else out.shape[1], 1, side):
                tile = out[rows, columns]
                fill(tile, X[rows], (X if Y is None else Y)[columns], **shape)
                if symmetric and rows == columns:
                    tile.copy_(tile.tril() + tile.tril(-1).T)
                elif symmetric:
                    # What lies left of the diagonal is copied to the other side of it.
                    out[columns, rows] = tile.T
        if name == "rbf" and symmetric:
            out.fill_diagonal_(1)
    return out


def centre_gram(K: torch.Tensor) -> torch.Tensor:
    """Centre a Gram matrix in place, as :func:`skatter.kernels.centre` does, and keep it symmetric.

    Means are taken in float64; K_ij − (h_i + h_j) with h = means − half the grand mean.
    """
    size = K.diagonal().abs().sum(dtype=torch.float64)
    means = _means_of_many(K)
    half = (means - means.mean() / 2).to(K.dtype)
    if on_card(K.device):
        # One pass. A processor may add the two up in an order that is not symmetric.
        with full_precision():
            ones = torch.ones_like(half)
            K.addmm_(torch.stack([half, ones], dim=1), torch.stack([ones, half]), alpha=-1)
    else:
        for rows in strips(len(K), len(K) * K.element_size()):
            K[rows] -= half[rows, None] + half
    rounding = 100 * torch.finfo(K.dtype).eps * size
    if K.diagonal().sum(dtype=torch.float64).abs() <= rounding:
        K.zero_()
    return means.to(K.dtype)


def _means_of_many(K: torch.Tensor) -> torch.Tensor:
    """Return the means of columns in float64, of which float32 has added up short segments.

    Over many segments, what rounding did to each of them is far below that of a single entry.
    """
    sums = torch.zeros(K.shape[1], dtype=torch.float64, device=K.device)
    for rows in strips(len(K), K.shape[1] * K.element_size()):
        whole = (rows.stop - rows.start) // SEGMENT * SEGMENT
        segments = K[rows][:whole].unflatten(0, (whole // SEGMENT, SEGMENT))
        sums += segments.sum(dim=1).sum(dim=0, dtype=torch.float64)
        sums += K[rows][whole:].sum(dim=0, dtype=torch.float64)
    return sums / len(K)


def asymmetry(K: torch.Tensor) -> tuple[float, float]:
    """Return the largest |K_ij − K_ji| and the largest |K_ij|."""
    worst = [
        (K[rows] - K[:, rows].T).abs().max()
        for rows in strips(len(K), len(K) * K.element_size(), GRAM_TILE)
    ]
    least, most = K.aminmax()
    difference, size = host(torch.stack([torch.stack(worst).max(), torch.maximum(-least, most)]))
    return float(difference), float(size)
