"""Where an array lives, and how it gets elsewhere; torch itself, which is imported late."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from copy import copy
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

if TYPE_CHECKING:
    import torch as torch  # the alias says that the files beside this one may import it
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

STRIP_BYTES = 2**28  # bytes of the rows of a tall tensor that are worked on at a time


def is_tensor(x: Any) -> TypeGuard[torch.Tensor]:
    """Tell a torch tensor from anything else, without importing torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, getattr(torch, "Tensor", ()))


def is_double(x: Any) -> TypeGuard[Array]:
    """Tell a NumPy array in double precision from anything else."""
    return isinstance(x, np.ndarray) and x.dtype == np.float64


def single(x: Tall) -> Tall:
    """Return an array in single precision; one that is so already is not copied."""
    return x.float() if is_tensor(x) else x.astype(np.float32, copy=False)


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


def where(condition: Array, A: Tall, B: Tall) -> Tall:
    if not is_tensor(A):
        return np.where(condition, A, B)
    return torch.where(to_device(condition, A.device), A, B)


def ascending(values: Tall) -> Array:
    """Return the places of the entries from the least on, equal ones in their order."""
    if not is_tensor(values):
        return np.argsort(values, kind="stable")
    return host(torch.argsort(values, stable=True))


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


def free_memory(device: Any) -> int | None:
    """Bytes that a GPU can still give, or None where the memory is the host's."""
    if not on_card(device):
        return None
    free, _ = torch.cuda.mem_get_info(device)
    # torch keeps what it has freed, and gives that first.
    kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(free + kept)


def strips(rows: int, row_bytes: int, most: int | None = None) -> Iterator[slice]:
    """Cut rows into slices of at most ``STRIP_BYTES``, and of at most so many rows."""
    step = max(1, min(STRIP_BYTES // max(row_bytes, 1), most or rows))
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))
