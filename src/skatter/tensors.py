"""Arrays on torch, on the processor or on a GPU: the only file that knows torch.

There are two kinds of arrays. *Tall* ones have a row for every sample and live where the samples
live: NumPy arrays, or torch tensors on any device. *Small* ones, with a row for every component or
class, are NumPy arrays on the host. The algebra is written once, in words that take both kinds; the
ones here make, move, check and multiply tall arrays, :mod:`skatter.solve.blas` has the rest.

torch is never imported before the user has imported it. Products of float32 tensors are computed
in float32 whatever short mode the user allows the matrix units elsewhere: eigenvectors live on
differences that ten bits do not show. Where matrix units pay, the largest products are sums of
three products of float16 halves, which hold 22 bits together (:func:`_halves`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from math import frexp
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

GRAM_TILE = 2048
"""Rows and columns of a tile of a kernel matrix; of a symmetric one half of them are computed."""

CROSS_TILE = 2**15
"""The same between two sets of samples: a large product is done soonest in one piece."""

CHOLESKY_TILE = 1024
"""Rows of a tile of :class:`TiledCholesky` as it is made."""
SOLVE_TILE = 4096
"""Rows of its tiles once it is done: the fewer, the fewer steps a solve takes."""
UPDATE_ROWS = 1024
"""Rows up to which a triangle that :class:`TiledCholesky` updates is taken for a square."""
ALIGNED = 32
"""What the rows of parts of a matrix are a multiple of: matrix units like that."""

SQUARED_ROWS = 2**17
"""Rows whose products are added up in their own floating type."""

NARROW_QR = 64
"""Columns up to which a card does a QR by inner products."""
INDEPENDENT = 1e-5
"""Share of a column that lies beside those before it, at least, for a QR by inner products."""

TOP_OF_HALVES = 15
"""Float16 numbers are scaled to at most two to this power."""
HALVES_PAY = frozenset({(7, 0), (7, 5), (8, 0), (9, 0), (10, 0), (10, 3)})
"""Compute capabilities of cards that multiply float16 matrices more than three times as fast as
float32 ones."""
SEGMENT = 64
"""Float32 entries of a Gram matrix that are added up before float64 takes over."""


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


def on_card(device: Any) -> bool:
    """Tell a graphics card from the host, whose arrays have the device None or ``cpu``."""
    return device is not None and bool(device.type == "cuda")


def to_device(array: Tall, device: Any) -> Tall:
    """Return a copy of a host array on a torch device; the array itself where that is None.

    A tensor is there already.
    """
    if device is None or is_tensor(array):
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


def split_rows(tall: Tall, sizes: Array) -> list[Tall]:
    """Cut rows into parts of these sizes, in the same memory."""
    if not is_tensor(tall):
        return np.split(tall, np.cumsum(sizes)[:-1])
    return list(torch.split(tall, sizes.tolist()))


def empty_columns(rows: int, columns: int, beside: Tall) -> Tall:
    """Return room for columns, each of which lies together, of the kind of ``beside``."""
    if not is_tensor(beside):
        return np.empty((rows, columns), dtype=beside.dtype, order="F")
    return beside.new_empty((columns, rows)).T


def random_columns(random: np.random.RandomState, count: int, beside: Tall) -> Tall:
    """Return random columns, of the kind and length of ``beside``.

    Those of tensors are uniform numbers of a quick generator on the host, which ``random`` seeds.
    """
    shape = (count, len(beside))
    if not is_tensor(beside):
        return random.standard_normal(shape).astype(beside.dtype).T
    quick = np.random.Generator(np.random.SFC64(random.randint(2**31)))
    return torch.from_numpy(quick.random(shape, np.float32)).to(beside).sub_(0.5).T


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
    if not on_card(device):
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


def second_moment(X: Tall) -> Array:
    """Return XᵀX on the host; many rows of a tensor add up in float64."""
    if not is_tensor(X):
        return X.T @ X
    with full_precision():
        parts = [part.T @ part for part in torch.split(X, SQUARED_ROWS)]
    return host(sum(part.double() for part in parts))


def subtract_product(C: torch.Tensor, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
    """Return C - A B for tensors, overwriting ``C``."""
    with full_precision():
        return C.addmm_(A, B, alpha=-1)


def orthonormalised(W: torch.Tensor) -> tuple[torch.Tensor, Array]:
    """Return Q and R of W = Q R: Q tall with orthonormal columns, R small."""
    with full_precision():
        narrow = on_card(W.device) and W.shape[1] <= NARROW_QR
        found = _by_inner_products(W) if narrow else None
        if found is not None:
            return found
        Q, R = torch.linalg.qr(W)
    return Q, host(R)


def _by_inner_products(W: torch.Tensor) -> tuple[torch.Tensor, Array] | None:
    """Return Q and R from two Cholesky factors of inner products, which on a card is quicker.

    None where columns depend on each other too much for it (G. Stathopoulos, K. Wu, 2002).
    """
    Q, R = W.double(), np.eye(W.shape[1])
    for _ in range(2):
        G = host(Q.T @ Q)
        lengths = np.sqrt(np.diagonal(G))
        if not lengths.all():
            return None
        try:
            L = np.linalg.cholesky(G / lengths / lengths[:, None])
        except np.linalg.LinAlgError:
            return None
        if not np.diagonal(L).min() > INDEPENDENT:
            return None
        own = L.T * lengths
        Q, R = Q @ to_device(np.linalg.inv(own), W.device), own @ R
        if np.diagonal(L).min() > 0.1:
            break
    return Q.to(W.dtype), R.astype(host_dtype(W))


def where(condition: Array, A: Tall, B: Tall) -> Tall:
    """Return entries of A where a small host array says so, and of B elsewhere."""
    if not is_tensor(A):
        return np.where(condition, A, B)
    return torch.where(to_device(condition, A.device), A, B)


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


def squared_distances_to_mean(X: torch.Tensor) -> torch.Tensor:
    """Return the squared distance of every row to the mean row, in float64."""
    mean = column_means(X)
    parts = [
        torch.linalg.vector_norm(X[rows] - mean, dim=1) for rows in strips(len(X), 8 * X.shape[1])
    ]
    return torch.cat(parts).square_()


def moments_of_columns(X: Tall) -> tuple[Array, Array]:
    """Return means and variances of columns, in float64 on the host."""
    if not is_tensor(X):
        return X.mean(axis=0, dtype=np.float64), X.var(axis=0, dtype=np.float64)
    mean = column_means(X)
    sums = torch.zeros_like(mean)
    for rows in strips(len(X), 8 * X.shape[1]):
        sums += (X[rows] - mean).square_().sum(dim=0)
    return host(mean), host(sums / len(X))


def unit_rows(X: torch.Tensor) -> torch.Tensor:
    """Return rows of length one; a row of zeros stays."""
    norms = _squared_norms(X).sqrt_()
    return X / norms.masked_fill_(norms == 0, 1)[:, None]


def projections_on(X: torch.Tensor, direction: Array) -> torch.Tensor:
    """Return the product of every row with a vector, in float64."""
    there = to_device(direction, X.device)
    with full_precision():
        parts = [X[rows].double() @ there for rows in strips(len(X), 8 * X.shape[1])]
    return torch.cat(parts)


def ascending(values: Tall) -> Array:
    """Return the places of the entries from the least on, equal ones in their order."""
    if not is_tensor(values):
        return np.argsort(values, kind="stable")
    return host(torch.argsort(values, stable=True))


def median_squared_distance(X: torch.Tensor) -> float | None:
    """Return the median squared distance of distinct pairs of rows; None where there are none.

    What rounding alone gives to a pair of equal rows is no distance.
    """
    X = X.double()
    X = X - X.median(dim=0).values
    norms = _squared_norms(X)
    together = norms[:, None] + norms
    with full_precision():
        distances = torch.addmm(together, X, X.T, alpha=-2).triu_(1)
    slack = torch.finfo(torch.float64).eps * X.shape[1] * together
    found = distances[distances > slack].sort().values
    if not len(found):
        return None
    return float(found[(len(found) - 1) // 2] + found[len(found) // 2]) / 2


def spread_rows(X: torch.Tensor, count: int, random: Any) -> Array:
    """Return rows drawn by k-means++, those that :func:`sklearn.cluster.kmeans_plusplus` draws.

    Nothing is asked of the device before the end.
    """
    trials = 2 + int(np.log(count))
    small = len(X) ** 2 * X.element_size() <= STRIP_BYTES
    table = squared_distances(X, X) if small else None

    def distances(rows: torch.Tensor) -> torch.Tensor:
        if table is None:
            return squared_distances(X.index_select(0, rows), X)
        return table.index_select(0, rows)

    first = random.choice(len(X), p=np.full(len(X), 1 / len(X)))
    draws: Any = to_device(random.uniform(size=(count - 1, trials)), X.device)
    chosen = [to_device(np.array([first]), X.device)]
    nearest = distances(chosen[0])
    potential = nearest.sum(dim=1)
    for draw in draws.unbind():
        reach = nearest[0].cumsum(dim=0)
        tried = torch.searchsorted(reach, draw * potential).clamp_(max=len(X) - 1)
        closer = torch.minimum(distances(tried), nearest)
        potentials = closer.sum(dim=1)
        best = potentials.argmin(dim=0, keepdim=True)
        nearest, potential = closer.index_select(0, best), potentials.index_select(0, best)
        chosen.append(tried.index_select(0, best))
    return host(torch.cat(chosen))


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
    rough: bool = False
    """Whether its products were of halves, which cut off a little of every sum."""

    @classmethod
    def of(cls, A: torch.Tensor) -> TiledCholesky:
        """Factorise ``A`` in place, reading its lower triangle.

        The next column of tiles is factorised while products update what is right of it. Nothing
        is asked of the device before the end: a pivot that is not positive spoils what comes after
        it, and is found then.
        """
        halves, tile = products_of_halves_pay(A), CHOLESKY_TILE
        # What is not a product takes its time: wider panels where products take more.
        width = tile if halves else 2 * tile
        scale = _scale_of_halves(A.diagonal().max().sqrt()) if halves else 1.0
        beside, infos = _Beside(A.device), list[torch.Tensor]()
        with full_precision():
            for start in range(0, len(A), width):
                own, below = _own_and_below(A, start, width)
                if not start:
                    infos += _factorise_panel(A, own, tile)
                P = A[below, own]
                left, right = _halves(P, scale) if halves else (P, P)
                ahead, rest = _own_and_below(A, own.stop, width)
                if ahead.start < ahead.stop:
                    _subtract_product(A[below, ahead], left, right[:width], scale)
                    infos += beside.run(partial(_factorise_panel, A, ahead, tile))
                    _subtract_outer(A[rest, rest], left[width:], right[width:], scale)
                beside.join()
        failed = host(torch.stack(infos)) if infos else np.zeros(0, int)
        if failed.any():
            first = int(np.flatnonzero(failed)[0])
            minor = first * tile + int(failed[first])
            raise np.linalg.LinAlgError(f"leading minor {minor} is not positive")
        with full_precision():
            return cls(A, _merged(A, tile), halves)

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


def _factorise_panel(A: torch.Tensor, panel: slice, tile: int) -> list[torch.Tensor]:
    """Factorise some columns of tiles, one after the other; return what LAPACK says of each."""
    infos = []
    for start in range(panel.start, panel.stop, tile):
        own, below = _own_and_below(A, start, tile)
        infos.append(_factorise_column(A, own, below))
        right = slice(own.stop, panel.stop)
        if right.start < right.stop:
            A[below, right].addmm_(A[below, own], A[right, own].mT, alpha=-1)
    return infos


def _factorise_column(A: torch.Tensor, own: slice, below: slice) -> torch.Tensor:
    """Factorise a tile on the diagonal and those below it; return what LAPACK says of it."""
    L, info = torch.linalg.cholesky_ex(A[own, own])
    identity = torch.eye(len(L), dtype=A.dtype, device=A.device)
    inverse = torch.linalg.solve_triangular(L, identity, upper=False)
    A[own, own] = inverse
    # Half of the inverse is zeros: from the last columns on, each needs those before it.
    step = max(len(L) // 2, 1)
    for begin in reversed(range(0, len(L), step)):
        end = min(begin + step, len(L))
        before = A[below, own.start : own.start + end]
        A[below, own.start + begin : own.start + end] = before @ inverse[begin:end, :end].mT
    return info


def _merged(A: torch.Tensor, tile: int) -> int:
    """Join tiles of inverses on the diagonal, two and two, up to ``SOLVE_TILE`` rows."""
    while tile < min(SOLVE_TILE, len(A)):
        for start in range(0, len(A) - tile, 2 * tile):
            first, _ = _own_and_below(A, start, tile)
            second, _ = _own_and_below(A, start + tile, tile)
            A[second, first] = -(A[second, second] @ (A[second, first] @ A[first, first]))
            A[first, second] = 0
        tile *= 2
    return tile


def _subtract_outer(C: torch.Tensor, left: torch.Tensor, right: torch.Tensor, scale: float) -> None:
    """Subtract P Qᵀ from the lower triangle of a square matrix, in squares as large as fit."""
    if len(C) <= UPDATE_ROWS:
        _subtract_product(C, left, right, scale)
        return
    half = len(C) // 2 // ALIGNED * ALIGNED
    _subtract_outer(C[:half, :half], left[:half], right[:half], scale)
    _subtract_product(C[half:, :half], left[half:], right[:half], scale)
    _subtract_outer(C[half:, half:], left[half:], right[half:], scale)


def _subtract_product(
    C: torch.Tensor, left: torch.Tensor, right: torch.Tensor, scale: float
) -> None:
    """Subtract P Qᵀ from ``C``, P and Q as they are or as scaled halves."""
    if left.dtype == C.dtype:
        C.addmm_(left, right.mT, alpha=-1)
    else:
        torch.addmm(C, left, right.mT, out_dtype=C.dtype, alpha=-(scale**-2), out=C)


class _Beside:
    """Work beside what a card is busy with; on a processor, work that is done at once."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._stream = torch.cuda.Stream(device, priority=-1) if on_card(device) else None

    def run(self, work: Callable[[], list[torch.Tensor]]) -> list[torch.Tensor]:
        """Start once all that was asked for is done."""
        if self._stream is None:
            return work()
        self._stream.wait_stream(torch.cuda.current_stream(self._device))
        with torch.cuda.stream(self._stream):
            return work()

    def join(self) -> None:
        """Let what is asked for from now on wait for the work."""
        if self._stream is not None:
            torch.cuda.current_stream(self._device).wait_stream(self._stream)


# --- float32 products from float16 ones -----------------------------------------------------------


def products_of_halves_pay(A: torch.Tensor) -> bool:
    """Say whether float32 products are faster as sums of three float16 ones, here."""
    if A.dtype != torch.float32 or not on_card(A.device) or torch.version.cuda is None:
        return False
    release = tuple(int(part) for part in torch.version.__version__.split(".")[:2])
    return release >= (2, 8) and torch.cuda.get_device_capability(A.device) in HALVES_PAY


def _scale_of_halves(largest: torch.Tensor) -> float:
    """Return the power of two that brings the largest number to the top of the range."""
    value = float(largest)
    return 2.0 ** (TOP_OF_HALVES - frexp(value)[1]) if 1e-30 < value < 1e30 else 1.0


def _halves(
    A: torch.Tensor, scale: float, *beside: Sequence[torch.Tensor]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return float16 matrices L and R with L Rᵀ ≈ scale² A Aᵀ: rows of one meet rows of the other.

    With A scaled = high + low, each of eleven bits, the product of the low parts alone is left out.
    Small terms are added up before large ones, for matrix units cut off what they cannot hold.
    Columns of ``beside`` come last, on the left and on the right, and zeros that make their number
    one that these units like.
    """
    scaled = A * scale
    high = scaled.half()
    low = (scaled - high).half()
    columns = beside or ([], [])
    width = 3 * A.shape[1] + len(columns[0])
    room = high.new_zeros((len(A), -width % 8))
    left = torch.cat([low, high, high, *columns[0], room], dim=1)
    return left, torch.cat([high, low, high, *columns[1], room], dim=1)


# --- small problems -------------------------------------------------------------------------------


def leading_of_tensor(T: torch.Tensor, k: int) -> tuple[Array, torch.Tensor]:
    """Return the largest ``k`` eigenpairs of a symmetric tensor, in double precision."""
    values, vectors = torch.linalg.eigh(T.double())
    return host(values[-k:].flip(0)), vectors[:, -k:].flip(1)


def leading_on_card(T: Array, k: int, device: Any) -> tuple[Array, Array]:
    """Return the largest ``k`` eigenpairs of a symmetric host array, found on a card.

    A card's own float32 solver is right to three digits: it works in float64 here.
    """
    values, vectors = leading_of_tensor(to_device(T, device), k)
    return values.astype(T.dtype), host(vectors).astype(T.dtype)


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
    """Return L of C = L Lᵀ, or raise NumPy's LinAlgError."""
    L, info = torch.linalg.cholesky_ex(C)
    if int(info):
        raise np.linalg.LinAlgError(f"leading minor {int(info)} is not positive")
    return L


# --- kernels ------------------------------------------------------------------------------------


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
    norms = [_squared_norms(W) for W in both]
    if not products_of_halves_pay(X):
        halved = [norm[:, None] / -2 for norm in norms]
        ones = [torch.ones_like(norm) for norm in halved]
        left = torch.cat([X, halved[0], ones[0]], dim=1)
        return left, torch.cat([both[-1], ones[-1], halved[-1]], dim=1), 2 * gamma
    scale = _scale_of_halves(torch.stack([norm.max() for norm in norms]).max().sqrt())
    top = 2.0**TOP_OF_HALVES
    rows = []
    for W, norm in zip(both, norms, strict=True):
        # −s² ‖x‖²/2 = top · (three numbers of eleven bits)
        rest, thirds = norm * (scale**2 / (-2 * top)), list[torch.Tensor]()
        for _ in range(3):
            thirds.append(rest.half()[:, None])
            rest = rest - thirds[-1][:, 0]
        tops = [torch.full_like(thirds[0], top)] * 3
        rows.append(_halves(W, scale, [*thirds, *tops], [*tops, *thirds]))
    return rows[0][0], rows[-1][1], 2 * gamma / scale**2


def _polynomial(
    out: torch.Tensor, X: torch.Tensor, Y: torch.Tensor, gamma: float, degree: float, coef0: float
) -> None:
    _products(out, X, Y).mul_(gamma).add_(coef0).pow_(degree)


def _squared_norms(X: torch.Tensor) -> torch.Tensor:
    return torch.linalg.vector_norm(X, dim=1).square_()


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


def nearest_rows(X: torch.Tensor, Y: torch.Tensor) -> Array:
    """Return, for every row of ``X``, the number of the nearest row of ``Y``; the first of several.

    Distances are taken strip by strip, and from the mean of ``Y``, so that no digits are lost where
    both lie far from zero.
    """
    found = [distances.argmin(dim=1) for _, distances in _strips_of_distances(X, Y)]
    return host(torch.cat(found))


def squared_distances(X: torch.Tensor, Y: torch.Tensor) -> torch.Tensor:
    """Return the squared distances of all rows of X to all of Y."""
    with full_precision():
        return torch.addmm(_squared_norms(X)[:, None] + _squared_norms(Y), X, Y.T, alpha=-2).clamp_(
            min=0
        )


def nearest_neighbours(
    X: torch.Tensor, Y: torch.Tensor, k: int, *, apart: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return squared distances of the ``k`` nearest rows of ``Y`` and their numbers.

    ``apart`` says that X is Y, and no row is a neighbour of its own.
    """
    found = []
    for rows, distances in _strips_of_distances(X, Y):
        if apart:
            distances[:, rows].fill_diagonal_(torch.inf)
        found.append(distances.topk(k, dim=1, largest=False).indices)
    index = torch.cat(found)
    squared = [(X[:, None] - Y[column]).square_().sum(dim=2) for column in index.T[:, :, None]]
    return torch.cat(squared, dim=1), index


def _strips_of_distances(X: torch.Tensor, Y: torch.Tensor) -> Iterator[tuple[slice, torch.Tensor]]:
    """Yield rows of X and their squared distances to all of Y, less what a row has in common."""
    centre = Y.mean(dim=0)
    Y = Y - centre
    norms = _squared_norms(Y)[None]
    for rows in strips(len(X), len(Y) * Y.element_size()):
        with full_precision():
            yield rows, torch.addmm(norms, X[rows] - centre, Y.T, alpha=-2)


@dataclass(frozen=True, eq=False)
class NeighbourGraph:
    """A symmetric graph of nearest neighbours, weights of each row one after the other."""

    weights: torch.Tensor
    columns: torch.Tensor
    ends: torch.Tensor

    @classmethod
    def of(cls, weights: torch.Tensor, index: torch.Tensor) -> NeighbourGraph:
        """Join each row with its neighbours, both ways, weights normalised by both degrees."""
        n = len(index)
        own = torch.arange(n, device=index.device)[:, None].expand_as(index)
        pairs = torch.cat([own * n + index, index * n + own]).ravel()
        # An edge that is found from both ends has one weight.
        code, place = torch.unique(pairs, return_inverse=True)
        both = weights.new_empty(len(code))
        both[place] = weights.ravel().repeat(2)
        rows, columns = code // n, code % n
        ends = torch.searchsorted(rows, torch.arange(n + 1, device=rows.device))
        root = torch.segment_reduce(both, "sum", offsets=ends, axis=0).rsqrt_()
        return cls(both * root[rows] * root[columns], columns, ends)

    def spread(self, shares: torch.Tensor, kept: float, steps: int) -> torch.Tensor:
        """Let every row take most of its shares from its neighbours, again and again."""
        given, weights = (1 - kept) * shares, kept * self.weights[:, None]
        for _ in range(steps):
            taken = weights * shares[self.columns]
            shares = torch.segment_reduce(taken, "sum", offsets=self.ends, axis=0) + given
        return shares


# --- Gram matrices ------------------------------------------------------------------------------


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
