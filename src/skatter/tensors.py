"""Arrays on torch, on the processor or on a GPU: the only file that knows torch.

There are two kinds of arrays. *Tall* ones have a row for every sample and live where the samples
live: NumPy arrays, or torch tensors on any device. *Small* ones, with a row for every component or
class, are NumPy arrays on the host. The algebra is written once, in words that take both kinds; the
ones here make, move, check and multiply tall arrays, :mod:`skatter.solve.blas` has the rest.

torch is never imported before the user has imported it. Products of float32 tensors are computed
in float32 whatever short mode the user allows the matrix units elsewhere: eigenvectors live on
differences that ten bits do not show.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

if TYPE_CHECKING:
    import torch
else:

    class _Lazy:
        """torch, imported when one of its names is first asked for."""

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):  # asked by tools that look into modules
                raise AttributeError(name)
            return getattr(import_module("torch"), name)

    torch = _Lazy()

Array = NDArray[Any]
Tall: TypeAlias = "NDArray[Any] | torch.Tensor"

STRIP_BYTES = 2**28
"""Bytes of the rows of a tall tensor that are worked on at a time."""

GRAM_ROWS = 2048
"""Rows of a kernel matrix that are worked on at a time, at most. Of a symmetric one in many strips
only half has to be computed."""

CHOLESKY_TILE = 2048
"""Rows of a tile of :class:`TiledCholesky`."""


# --- where an array lives -----------------------------------------------------------------------


def is_tensor(x: Any) -> TypeGuard[torch.Tensor]:
    """Tell a torch tensor from anything else, without importing torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, getattr(torch, "Tensor", ()))


def is_double(x: Any) -> TypeGuard[Array]:
    """Tell a NumPy array in double precision from anything else."""
    return isinstance(x, np.ndarray) and x.dtype == np.float64


def host(x: Tall) -> Array:
    """Return a NumPy array of the same values; NumPy arrays are returned as they are."""
    return x.detach().cpu().numpy() if is_tensor(x) else np.asarray(x)


def host_dtype(tall: Tall) -> np.dtype[Any]:
    """Return the NumPy type of small arrays beside ``tall``."""
    return np.dtype(str(tall.dtype).removeprefix("torch."))


def device_of(tall: Tall) -> Any:
    """Return the torch device of a tensor, and None for a NumPy array."""
    return tall.device if is_tensor(tall) else None


def to_device(array: Array, device: Any) -> Tall:
    """Return a copy of a host array on a torch device; the array itself where that is None."""
    if device is None:
        return array
    # A copy of its own: torch takes no reversed arrays, and must not write to the host's.
    return torch.from_numpy(np.array(array)).to(device)


def like(array: Tall, tall: Tall) -> Tall:
    """Return ``array`` in the floating type of ``tall`` and at its place."""
    if is_tensor(array):
        if is_tensor(tall):
            return array.to(tall)
        array = host(array)
    return to_device(np.asarray(array, dtype=host_dtype(tall)), device_of(tall))


def take(tall: Tall, rows: Array) -> Tall:
    """Return these rows, in this order; row numbers are on the host."""
    return tall[to_device(rows, device_of(tall))]


def hstack(arrays: Sequence[Tall]) -> Tall:
    """Put tall arrays of one kind side by side."""
    if not is_tensor(arrays[0]):
        return np.hstack(arrays)
    return torch.cat(list(arrays), dim=1)


def vstack(arrays: Sequence[Tall]) -> Tall:
    """Put the rows of one array below those of another, as :func:`hstack` does with columns."""
    if not is_tensor(arrays[0]):
        return np.vstack(arrays)
    return torch.cat(list(arrays))


def empty_columns(rows: int, columns: int, beside: Tall) -> Tall:
    """Return room for columns, each of which lies together, of the kind of ``beside``."""
    if not is_tensor(beside):
        return np.empty((rows, columns), dtype=beside.dtype, order="F")
    return beside.new_empty((columns, rows)).T


def identity(K: Tall) -> Tall:
    """Return the identity of the size and kind of a square matrix."""
    if not is_tensor(K):
        return np.eye(len(K), dtype=K.dtype, order="F")
    return torch.eye(len(K), dtype=K.dtype, device=K.device)


def fortran(W: Tall) -> Tall:
    """Return a NumPy array in Fortran order, as BLAS wants it; tensors may lie in any."""
    return W if is_tensor(W) else np.asfortranarray(W)


def copied(W: Tall) -> Tall:
    """Return a copy that may be overwritten, a NumPy one in Fortran order."""
    return W.clone() if is_tensor(W) else np.array(W, order="F")


def copied_rows(X: Any) -> Any:
    """Return a copy of samples of any kind, sparse ones included."""
    return X.clone() if is_tensor(X) else X.copy()


def moved(estimator: Any, names: Sequence[str], place: str) -> Any:
    """Return a copy of a fitted estimator whose arrays of these names live elsewhere."""
    found = {name: vars(estimator)[name] for name in names if vars(estimator).get(name) is not None}
    if any(issparse(array) for array in found.values()) and place != "numpy":
        raise TypeError("A model fitted to sparse samples stays on NumPy: tensors are dense here.")
    there = copy(estimator)
    for name, array in found.items():
        setattr(there, name, _at(array, place))
    return there


def _at(array: Any, place: str) -> Any:
    if place == "numpy":
        return array if issparse(array) else host(array)
    device = torch.device(place)
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(
            f"There is no GPU that torch can use, and {place!r} was asked for; choose "
            "'cpu' or 'numpy'."
        )
    return array.to(device) if is_tensor(array) else to_device(array, device)


# --- what a tensor must be ----------------------------------------------------------------------


def check_tensor(X: torch.Tensor, name: str) -> torch.Tensor:
    """Check samples that came as a tensor; return the same memory, without gradient."""
    if X.layout != torch.strided:
        raise TypeError(f"{name} is a tensor of layout {X.layout}; pass {name}.to_dense().")
    if X.dtype not in (torch.float32, torch.float64):
        raise TypeError(
            f"{name} is a tensor of {X.dtype}, and must be one of torch.float32 or torch.float64: "
            f"pass {name}.float() or {name}.double()."
        )
    if X.ndim != 2:
        raise ValueError(
            f"{name} must have two dimensions, a row for every sample; got shape {tuple(X.shape)}. "
            f"Reshape it, e.g. {name}.flatten(1) for images or {name}[:, None] for one feature."
        )
    if not X.numel():
        raise ValueError(f"{name} is empty: it has shape {tuple(X.shape)}.")
    X = X.detach()
    row = _first_row_not_finite(X)
    if row is not None:
        raise ValueError(
            f"{name} has a value that is NaN or infinite in row {row}. Fill in or leave out what "
            f"is missing, e.g. {name}[torch.isfinite({name}).all(dim=1)]."
        )
    return X


def _first_row_not_finite(X: torch.Tensor) -> int | None:
    # A sum is finite only where all its terms are, but finite terms may overflow together.
    suspects = torch.isfinite(X.sum(dim=1)).logical_not_().nonzero().ravel()
    for part in strips(len(suspects), X.shape[1] * X.element_size()):
        finite = torch.isfinite(X[suspects[part]]).all(dim=1)
        if not finite.all():
            return int(suspects[part][~finite][0])
    return None


def require_same_place(X: Tall, fitted: Tall, name: str) -> None:
    """Raise where new samples are of another kind or device, or tensors of another type."""
    if not (is_tensor(X) or is_tensor(fitted)):
        return
    if is_tensor(X) and is_tensor(fitted) and (X.device, X.dtype) == (fitted.device, fitted.dtype):
        return
    if not is_tensor(fitted):
        remedy = f"{name}.numpy(force=True)"
    elif not is_tensor(X):
        remedy = f"torch.as_tensor({name}, dtype={fitted.dtype}, device='{fitted.device}')"
    else:
        remedy = f"{name}.to('{fitted.device}', {fitted.dtype})"
    raise TypeError(
        f"{name} is {_place(X)}, but the fit was on {_place(fitted)}: pass {remedy}, or fit again."
    )


def _place(x: Tall) -> str:
    return f"a tensor of {x.dtype} on {x.device}" if is_tensor(x) else "a NumPy array"


def free_memory(device: Any) -> int | None:
    """Bytes that a GPU can still give, or None where the memory is the host's."""
    if device is None or device.type != "cuda":
        return None
    free, _ = torch.cuda.mem_get_info(device)
    # torch keeps what it has freed, and gives that first.
    kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(free + kept)


# --- products -----------------------------------------------------------------------------------


@contextmanager
def full_precision() -> Iterator[None]:
    """Compute float32 products of tensors in float32, and record no gradient.

    What the user allows the matrix units is as it was afterwards.
    """
    with torch.no_grad():
        if hasattr(torch.backends.cuda.matmul, "fp32_precision"):
            # Whoever has used these names must not be asked by the older one, which raises.
            modes = (torch.backends.cuda.matmul, torch.backends.mkldnn.matmul)
            allowed = [mode.fp32_precision for mode in modes]
            try:
                for mode in modes:
                    mode.fp32_precision = "ieee"
                yield
            finally:
                for mode, before in zip(modes, allowed, strict=True):
                    mode.fp32_precision = before
        else:
            precision = torch.get_float32_matmul_precision()
            try:
                torch.set_float32_matmul_precision("highest")
                yield
            finally:
                torch.set_float32_matmul_precision(precision)


def multiply(A: Tall, B: Tall) -> Tall:
    """Return A B for arrays of one kind."""
    if not is_tensor(A):
        return A @ B
    with full_precision():
        return A @ B


def subtract_product(C: torch.Tensor, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
    """Return C - A B for tensors, overwriting ``C``."""
    with full_precision():
        return C.addmm_(A, B, alpha=-1)


def orthonormalised(W: torch.Tensor) -> tuple[torch.Tensor, Array]:
    """Return Q and R of W = Q R: Q tall with orthonormal columns, R small."""
    with torch.no_grad():
        Q, R = torch.linalg.qr(W)
    return Q, host(R)


def column_norms(W: Tall) -> Array:
    """Return the Euclidean norm of every column, as a small array."""
    if not is_tensor(W):
        return np.linalg.norm(W, axis=0)
    return host(torch.linalg.vector_norm(W, dim=0))


def column_dots(A: Tall, B: Tall) -> Array:
    """Return ⟨a, b⟩ for every column of A and the one of B below it, as a small array."""
    return host((A * B).sum(0))


def add_to_diagonal(K: Tall, value: float) -> None:
    """Add a number to every entry of the diagonal, in place."""
    if is_tensor(K):
        K.diagonal().add_(value)
    else:
        K[np.diag_indices_from(K)] += value


def column_means(X: torch.Tensor) -> torch.Tensor:
    """Return the mean of every column in float64, a strip of rows at a time."""
    sums = torch.zeros(X.shape[1], dtype=torch.float64, device=X.device)
    # To sum in float64, torch casts all that it is given.
    for rows in strips(len(X), 8 * X.shape[1]):
        sums += X[rows].sum(dim=0, dtype=torch.float64)
    return sums / len(X)


def squared_distances_to_mean(X: torch.Tensor) -> Array:
    """Return the squared distance of every row to the mean row, in float64 on the host."""
    mean = column_means(X)
    parts = [
        torch.linalg.vector_norm(X[rows] - mean, dim=1) for rows in strips(len(X), 8 * X.shape[1])
    ]
    return host(torch.cat(parts).square_())


def trace(K: Tall) -> float:
    """Return the sum of the diagonal."""
    return float(K.diagonal().sum())


def strips(rows: int, row_bytes: int, most: int | None = None) -> Iterator[slice]:
    """Cut rows into slices of at most ``STRIP_BYTES``, and of at most so many rows."""
    step = max(1, min(STRIP_BYTES // max(row_bytes, 1), most or rows))
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


# --- a factorisation in place -------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TiledCholesky:
    """L of A = L Lᵀ, in tiles that overwrite the lower triangle of A.

    A tile on the diagonal holds the inverse of its part of L, so that a solve with few right-hand
    sides is nothing but products, which read the factor once forward and once backward.
    """

    factor: torch.Tensor
    tile: int

    @classmethod
    def of(cls, A: torch.Tensor) -> TiledCholesky:
        """Factorise ``A`` in place, reading its lower triangle.

        Nothing is asked of the device before the end: a pivot that is not positive spoils what
        comes after it, and is found then.
        """
        failures = []
        with full_precision():
            for start in range(0, len(A), CHOLESKY_TILE):
                own, below = _own_and_below(A, start, CHOLESKY_TILE)
                L, info = torch.linalg.cholesky_ex(A[own, own])
                failures.append(info)
                A[below, own] = torch.linalg.solve_triangular(
                    L.mT, A[below, own], upper=True, left=False
                )
                _subtract_outer(A, own)
                identity = torch.eye(len(L), dtype=A.dtype, device=A.device)
                A[own, own] = torch.linalg.solve_triangular(L, identity, upper=False)
        infos = host(torch.stack(failures)) if failures else np.zeros(0, int)
        if infos.any():
            first = int(np.flatnonzero(infos)[0])
            minor = first * CHOLESKY_TILE + int(infos[first])
            raise np.linalg.LinAlgError(f"leading minor {minor} is not positive")
        return cls(A, CHOLESKY_TILE)

    def solve(self, B: torch.Tensor) -> torch.Tensor:
        """Solve A X = B, overwriting ``B``."""
        L = self.factor
        starts = range(0, len(L), self.tile)
        with full_precision():
            for start in starts:
                own, below = _own_and_below(L, start, self.tile)
                B[own] = L[own, own] @ B[own]
                B[below].addmm_(L[below, own], B[own], alpha=-1)
            for start in reversed(starts):
                own, _ = _own_and_below(L, start, self.tile)
                B[own] = L[own, own].mT @ B[own]
                B[:start].addmm_(L[own, :start].mT, B[own], alpha=-1)
        return B


def _own_and_below(A: torch.Tensor, start: int, tile: int) -> tuple[slice, slice]:
    stop = min(start + tile, len(A))
    return slice(start, stop), slice(stop, len(A))


def _subtract_outer(A: torch.Tensor, own: slice) -> None:
    """Subtract P Pᵀ from what lies below and right of a column of tiles P, lower triangle only."""
    for start in range(own.stop, len(A), CHOLESKY_TILE):
        rows, _ = _own_and_below(A, start, CHOLESKY_TILE)
        A[rows, own.stop : rows.stop].addmm_(
            A[rows, own], A[own.stop : rows.stop, own].mT, alpha=-1
        )


# --- kernels ------------------------------------------------------------------------------------


def _products(out: torch.Tensor, X: torch.Tensor, Y: torch.Tensor) -> torch.Tensor:
    return torch.mm(X, Y.T, out=out)


def _rbf(out: torch.Tensor, X: torch.Tensor, Y: torch.Tensor, gamma: float, **_: Any) -> None:
    """Fill with exp(−γ ‖x − y‖²) from one product and the squared norms."""
    torch.addmm(-gamma * _squared_norms(Y)[None], X, Y.T, alpha=2 * gamma, out=out)
    out.sub_(gamma * _squared_norms(X)[:, None]).clamp_(max=0).exp_()


def _polynomial(
    out: torch.Tensor, X: torch.Tensor, Y: torch.Tensor, gamma: float, degree: float, coef0: float
) -> None:
    _products(out, X, Y).mul_(gamma).add_(coef0).pow_(degree)


def _squared_norms(X: torch.Tensor) -> torch.Tensor:
    return torch.linalg.vector_norm(X, dim=1).square_()


def _unit_rows(X: torch.Tensor) -> torch.Tensor:
    norms = _squared_norms(X).sqrt_()
    return X / norms.masked_fill_(norms == 0, 1)[:, None]


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
    """Return a kernel of scikit-learn between rows, filled strip by strip in one matrix.

    Without ``Y`` it is that of ``X`` with itself, and symmetric to the bit.
    """
    check_kernel(name)
    fill = _FORMULAS[name]
    gamma = params["gamma"] if params.get("gamma") is not None else 1 / X.shape[1]
    shape = {"gamma": gamma, "degree": params.get("degree", 3), "coef0": params.get("coef0", 1)}
    if name == "cosine":
        X, Y = _unit_rows(X), None if Y is None else _unit_rows(Y)
    out = X.new_empty((len(X), len(X if Y is None else Y)))
    with full_precision():
        for rows in strips(len(X), out.shape[1] * out.element_size(), GRAM_ROWS):
            if Y is None:
                fill(out[rows, : rows.stop], X[rows], X[: rows.stop], **shape)
                # What lies left of the diagonal is copied to the other side of it.
                square = out[rows, rows]
                square.copy_(square.tril() + square.tril(-1).T)
                out[: rows.start, rows] = out[rows, : rows.start].T
            else:
                fill(out[rows], X[rows], Y, **shape)
        if name == "rbf" and Y is None:
            out.fill_diagonal_(1)
    return out


def nearest_rows(X: torch.Tensor, Y: torch.Tensor) -> Array:
    """Return, for every row of ``X``, the number of the nearest row of ``Y``; the first of several.

    Distances are taken strip by strip, and from the mean of ``Y``, so that no digits are lost where
    both lie far from zero.
    """
    centre = Y.mean(dim=0)
    Y = Y - centre
    norms = _squared_norms(Y)[None]
    with full_precision():
        found = [
            torch.addmm(norms, X[rows] - centre, Y.T, alpha=-2).argmin(dim=1)
            for rows in strips(len(X), len(Y) * Y.element_size())
        ]
    return host(torch.cat(found))


# --- Gram matrices ------------------------------------------------------------------------------


def centre_gram(K: torch.Tensor) -> torch.Tensor:
    """Centre a Gram matrix in place, as :func:`skatter.kernels.centre` does, and keep it symmetric.

    Means are taken in float64; K_ij − (h_i + h_j) with h = means − half the grand mean.
    """
    size = K.diagonal().abs().sum(dtype=torch.float64)
    means = column_means(K)
    half = (means - means.mean() / 2).to(K.dtype)
    for rows in strips(len(K), len(K) * K.element_size(), GRAM_ROWS):
        K[rows] -= half[rows, None] + half
    rounding = 100 * torch.finfo(K.dtype).eps * size
    if K.diagonal().sum(dtype=torch.float64).abs() <= rounding:
        K.zero_()
    return means.to(K.dtype)


def asymmetry(K: torch.Tensor) -> tuple[float, float]:
    """Return the largest |K_ij − K_ji| and the largest |K_ij|."""
    worst = [
        (K[rows] - K[:, rows].T).abs().max()
        for rows in strips(len(K), len(K) * K.element_size(), GRAM_ROWS)
    ]
    least, most = K.aminmax()
    difference, size = host(torch.stack([torch.stack(worst).max(), torch.maximum(-least, most)]))
    return float(difference), float(size)
