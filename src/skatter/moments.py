"""Moments: what SCA needs to know of explicit features, and nothing that grows with the samples.

For every pair of domain and class (a *cell*; unlabelled samples of a domain are one more) it keeps
the count n_c, the mean μ_c and the second moment about that mean, Σ_c = Σ (φ − μ_c)(φ − μ_c)ᵀ.
Moments of two sets of samples add up to those of both together (Chan, Golub, LeVeque 1983):

    n = n₁ + n₂,    μ = (n₁ μ₁ + n₂ μ₂)/n,    Σ = Σ₁ + Σ₂ + Σᵢ nᵢ (μᵢ − μ)(μᵢ − μ)ᵀ          (1)

No square of a mean is ever taken from a sum of squares, so that nothing is lost where means lie
far from zero. All five scatters, every objective and so every preset follow from them:

    total         Σ_c + n_c (μ_c − μ)(μ_c − μ)ᵀ        summed over all cells
    within-class  Σ_c + n_c (μ_c − μ_k)(μ_c − μ_k)ᵀ    summed over labelled cells, k their class
    the others    differences of the means μ_c alone

Only two sums of the Σ_c are used, over labelled and over unlabelled cells. ``second="pooled"``
keeps no more than these; ``second="cell"`` keeps each.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches

from skatter import _tensors as tensors
from skatter import scatter
from skatter._checks import check_choice
from skatter._files import open_archive, read_npy, read_regular, write_atomically
from skatter._tensors import Array
from skatter.domains import UNLABELLED, Codes, Domains, concatenate_domains

__all__ = ["Moments", "collect_moments", "merge_moments"]

SECOND = ("pooled", "cell")
MAX_BYTES = 2**34  # size of a file of moments
BATCH_VALUES = 2**23  # features computed at a time: bounds the memory that collecting moments takes
DEVICE_BATCH_VALUES = 2**30
"""The same on a graphics card, where small batches would wait for the host."""
_OF_CELLS = ("label", "classes", "domain", "domain_ids", "is_target", "counts")
"""What a file of moments holds of the cells, in the order of the fields of :class:`Domains`."""
DEVICE_SHARE = 2**6  # bytes of its free memory for each of them, at least


@dataclass(frozen=True, eq=False)
class Moments:
    """Counts, means and second moments of features, per domain and class.

    Make them with :func:`collect_moments`, join them with :func:`merge_moments`.

    Attributes
    ----------
    cells : Domains
        One row for each pair of domain and class; its ``counts`` are the numbers of samples.
    means : ndarray of shape (n_cells, n_features)
        Mean of each cell.
    second : ndarray of shape (2 or n_cells, n_features, n_features)
        Second moments about the means of the cells: those of the labelled and of the unlabelled
        cells, each summed, or one for each cell.
    kept : {"pooled", "cell"}
        Which of the two.
    dtype : dtype
        Floating type of the features; the moments themselves are in double precision.
    feature_map : str
        Fingerprint of the map that made the features; see :func:`fingerprint`.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter.domains import read_domains
    >>> from skatter.moments import collect_moments, merge_moments
    >>> X, view = np.arange(8.0).reshape(4, 2), read_domains([0, 1, 0, -1], ["a", "a", "b", "b"])
    >>> whole = collect_moments(X, view)
    >>> parts = [collect_moments(X[[i]], view.take([i])) for i in range(4)]
    >>> bool(np.allclose(merge_moments(parts).total(), whole.total()))
    True
    """

    cells: Domains
    means: Array
    second: Array
    kept: str
    dtype: Any
    feature_map: str

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.means.shape[1])

    @property
    def n_samples(self) -> int:
        """Number of samples that went in."""
        return self.cells.n_samples

    @property
    def mean(self) -> Array:
        """Mean of all samples."""
        return np.asarray(self.cells.counts @ self.means / self.n_samples)

    @property
    def centred_means(self) -> Array:
        """Means of the cells, less the mean of all samples."""
        return self.means - self.mean

    @property
    def class_offsets(self) -> Array:
        """Means of the labelled cells, less the mean of their class; zero for unlabelled ones."""
        cells, means = self.cells, self.centred_means
        Q = scatter.class_indicators(cells)
        return np.asarray(
            cells.labelled[:, None] * means - Q @ (Q.T @ means) / cells.counts[:, None]
        )

    def inside(self, labelled: bool) -> Array:
        """Sum of the second moments of the labelled, or of the unlabelled, cells."""
        if self.kept == "pooled":
            return np.asarray(self.second[0 if labelled else 1])
        return np.asarray(self.second[self.cells.labelled == labelled].sum(axis=0))

    def total(self) -> Array:
        """Φᵀ H Φ: second moment of all samples about their mean."""
        spread = self.centred_means * np.sqrt(self.cells.counts)[:, None]
        return np.asarray(self.inside(True) + self.inside(False) + spread.T @ spread)

    def within(self) -> Array:
        """Φᵀ S Φ: second moment of the labelled samples about the means of their classes."""
        spread = self.class_offsets * np.sqrt(self.cells.counts)[:, None]
        return np.asarray(self.inside(True) + spread.T @ spread)

    def scatters(self, W: Array | None = None) -> scatter.Scatters:
        """Return the five scatters of the features, or of their projections on columns ``W``."""
        inside = [_trace(self.inside(labelled), W) for labelled in (True, False)]
        means, offsets = self.centred_means, self.class_offsets
        if W is not None:
            means, offsets = means @ W, offsets @ W
        cells, n_labelled = self.cells, max(self.cells.n_labelled, 1)

        def energy(factor: Array) -> float:
            return float(np.sum(np.square(factor.T @ means)))

        def spread(rows: Array) -> float:
            return float(cells.counts @ np.sum(np.square(rows), axis=1))

        return scatter.Scatters(
            total=(sum(inside) + spread(means)) / self.n_samples,
            domain=energy(scatter.domain_factor(cells)),
            between_class=energy(scatter.class_factor(cells)) / n_labelled,
            within_class=(inside[0] + spread(offsets)) / n_labelled,
            conditional_domain=energy(scatter.conditional_factor(cells)),
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the moments to an ``.npz`` file, whole or not at all; no pickle is involved."""
        arrays = {
            "means": self.means,
            "second": self.second,
            "kept": self.kept,
            "dtype": str(np.dtype(self.dtype)),
            "feature_map": self.feature_map,
            **{name: getattr(self.cells, name) for name in _OF_CELLS},
        }

        def write(part: Path) -> None:
            with part.open("wb") as file:
                np.savez(file, **arrays)

        write_atomically(path, write)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Moments:
        """Read moments that :meth:`save` wrote; a file that holds anything else is refused."""
        try:
            with open_archive(read_regular(path, MAX_BYTES)) as file:
                names = file.namelist()
                return _from_arrays({name[:-4]: read_npy(file.read(name)) for name in names})
        except (LookupError, TypeError, ValueError, EOFError, zipfile.BadZipFile) as error:
            raise ValueError(
                f"{os.fspath(path)} holds no moments ({error}); write them with Moments.save."
            ) from error


def collect_moments(
    X: Any,
    domains: Domains,
    features: Callable[[Any], Any] | None = None,
    *,
    second: str = "pooled",
    feature_map: str = "",
) -> Moments:
    """Collect the moments of samples, batch by batch.

    Parameters
    ----------
    X : ndarray, CSR matrix or tensor of shape (n_samples, p)
        Samples; a memory map is read piece by piece.
    domains : Domains
        Their labels and domains.
    features : callable or None
        From some samples to their explicit features; None where ``X`` holds the features.
    second : {"pooled", "cell"}
        As ``kept`` of :class:`Moments`.
    feature_map : str
        Fingerprint of the map behind ``features``.
    """
    check_choice("second", second, SECOND)
    features = (lambda rows: rows) if features is None else features
    free = tensors.free_memory(tensors.device_of(X))
    n_values = BATCH_VALUES if free is None else min(DEVICE_BATCH_VALUES, free // DEVICE_SHARE)
    n_rows = max(n_values // max(features(X[:1]).shape[1], X.shape[1]), 1)
    parts = (
        _moments_of(features(X[rows]), domains.take(rows), second, feature_map)
        for rows in gen_batches(X.shape[0], n_rows)
    )
    return reduce(lambda whole, part: merge_moments([whole, part]), parts)


def regroup_moments(features: Any, domains: Domains, total: Array) -> Moments:
    """Collect the moments of explicit features of which ``total`` is known: :meth:`Moments.total`.

    The smaller of the labelled and the unlabelled part is looked at, and what it leaves of the
    total is the other one: labels may change many times at little cost.
    """
    if tensors.is_tensor(features) or sparse.issparse(features):
        return collect_moments(features, domains)
    cells, cell = domains.cells()
    each = np.arange(len(cell))
    means = sparse.csr_array((1 / cells.counts[cell], (cell, each))) @ features
    of_labelled = 2 * domains.n_labelled <= len(cell)
    rows = np.flatnonzero(domains.labelled == of_labelled)
    second = np.zeros((2, *total.shape))
    whole = Moments(cells, means, second, "pooled", tensors.host_dtype(features), "")
    small, large = (0, 1) if of_labelled else (1, 0)
    if len(rows):
        second[small] = collect_moments(features[rows], domains.take(rows)).inside(of_labelled)
    second[large] = total - whole.total()
    return whole


def merge_moments(parts: Iterable[Moments]) -> Moments:
    """Join moments of different samples into those of all of them; eq. (1) of the module.

    They are the same, up to rounding, in whatever order and grouping the parts come. These must be
    made by one map and keep the same second moments; their domains and classes may differ.
    """
    parts = list(parts)
    _check_alike(parts)
    view = concatenate_domains([part.cells for part in parts])
    cells, cell = view.cells()
    given = np.vstack([part.means for part in parts])
    shares = view.counts / cells.counts[cell]
    means = sparse.csr_array((shares, cell, np.arange(len(cell) + 1))).T @ given
    second = np.zeros((_n_second(cells, parts[0].kept), *parts[0].second.shape[1:]))
    start = 0
    for part in parts:
        end = start + part.cells.n_rows
        into = cell[start:end] if part.kept == "cell" else np.arange(2)
        for index, matrix in zip(into, part.second, strict=True):
            second[index] += matrix
        start = end
    moved = given - means[cell]
    for index, rows in _groups(cells, cell, parts[0].kept):
        weighted = moved[rows] * np.sqrt(view.counts[rows])[:, None]
        second[index] += weighted.T @ weighted
    dtype = np.result_type(*(part.dtype for part in parts))
    return Moments(cells, means, second, parts[0].kept, dtype, parts[0].feature_map)


def fingerprint(feature_map: Any, n_features: int) -> str:
    """Return a short text that is the same for equal maps, and for equal maps alone.

    It is a hash of the type, the parameters and the fitted attributes, arrays to the bit; None is
    the map of samples that are their own features.
    """
    digest = hashlib.sha256(f"{n_features} features".encode())
    for piece in _pieces(feature_map):
        digest.update(piece)
    return digest.hexdigest()[:32]


# --- one batch ----------------------------------------------------------------------------------


def _moments_of(features: Any, domains: Domains, second: str, feature_map: str) -> Moments:
    cells, cell = domains.cells()
    order = np.argsort(cell, kind="stable")
    features, cell, dtype = tensors.take(features, order), cell[order], tensors.host_dtype(features)
    near: Any = 0.0
    if sparse.issparse(features):
        # Sparse samples lie about zero and stay sparse.
        features = features.astype(np.float64)
    else:
        of_cells = tensors.split_rows(features, cells.counts)
        near = tensors.like(_cell_means(features, cells, cell), features)
        for own, mean in zip(of_cells, near, strict=True):
            own -= mean
        near = tensors.host(near).astype(np.float64)
    # What rounding left of the means, told from values near zero.
    left = _cell_means(features, cells, cell)
    matrices = np.zeros((_n_second(cells, second), left.shape[1], left.shape[1]))
    for index, rows in _groups(cells, cell, second):
        square: Any = tensors.second_moment(features[rows])
        matrices[index] = square.toarray() if sparse.issparse(square) else square
    for index, rows in _groups(cells, np.arange(cells.n_rows), second):
        weighted = left[rows] * np.sqrt(cells.counts[rows])[:, None]
        matrices[index] -= weighted.T @ weighted
    return Moments(cells, near + left, matrices, second, dtype, feature_map)


def _cell_means(features: Any, cells: Domains, cell: Codes) -> Array:
    """Return the means of the cells, on the host, of samples that are sorted by cell."""
    if sparse.issparse(features):
        sums = sparse.csr_array((np.ones(len(cell)), cell, np.arange(len(cell) + 1))).T @ features
        return np.asarray(sums.todense()) / cells.counts[:, None]
    of_cells: Any = tensors.split_rows(features, cells.counts)
    if tensors.is_tensor(features):
        means = tensors.vstack([own.mean(dim=0, keepdim=True) for own in of_cells])
        return tensors.host(means).astype(np.float64)
    return np.array([own.mean(axis=0, dtype=np.float64) for own in of_cells])


def _n_second(cells: Domains, second: str) -> int:
    return 2 if second == "pooled" else cells.n_rows


def _groups(cells: Domains, cell: Codes, second: str) -> Iterable[tuple[int, Any]]:
    """Yield which second moment some rows belong to, given the cell of every row."""
    groups = cell if second == "cell" else np.where(cells.labelled[cell], 0, 1)
    for index in np.unique(groups):
        rows = np.flatnonzero(groups == index)
        together = rows[-1] - rows[0] + 1 == len(rows)
        yield int(index), slice(rows[0], rows[-1] + 1) if together else rows


def _trace(matrix: Array, W: Array | None) -> float:
    return float(np.trace(matrix)) if W is None else float(np.sum(W * (matrix @ W)))


# --- merging, files, fingerprints ---------------------------------------------------------------


def _check_alike(parts: Sequence[Moments]) -> None:
    if not parts:
        raise ValueError("merge_moments needs the moments of one part at least.")
    for part in parts[1:]:
        if part.n_features != parts[0].n_features or part.feature_map != parts[0].feature_map:
            raise ValueError(
                "Moments of different feature maps cannot be merged: "
                f"{parts[0].n_features} and {part.n_features} features, maps "
                f"{parts[0].feature_map[:8] or 'unknown'} and {part.feature_map[:8] or 'unknown'}. "
                "Fit one map, and collect all parts with it (sklearn.frozen.FrozenEstimator "
                "keeps it as it is)."
            )
        if part.kept != parts[0].kept:
            raise ValueError(
                f"Moments with second={parts[0].kept!r} and second={part.kept!r} cannot be "
                "merged; collect all parts alike."
            )


def _from_arrays(arrays: dict[str, Array]) -> Moments:
    """Make moments of arrays from a file, or raise where these do not belong together."""
    cells = Domains(*(arrays[name] for name in _OF_CELLS))
    dtype = check_choice("dtype", str(arrays["dtype"]), ("float32", "float64"))
    kept = check_choice("kept", str(arrays["kept"]), SECOND)
    n, size = cells.n_rows, arrays["means"].shape[-1]
    expected = {
        "means": ("f", (n, size)),
        "second": ("f", (_n_second(cells, kept), size, size)),
        "label": ("i", (n,)),
        "domain": ("i", (n,)),
        "counts": ("i", (n,)),
        "is_target": ("b", (cells.n_domains,)),
        "classes": ("biufU", (cells.classes.size,)),
        "domain_ids": ("biufU", (cells.domain_ids.size,)),
    }
    for name, (kinds, shape) in expected.items():
        array = arrays[name]
        if array.shape != shape:
            raise ValueError(f"{name} has shape {array.shape}, expected {shape}")
        if array.dtype.kind not in kinds:
            raise ValueError(f"{name} is of {array.dtype}")
        if array.dtype.kind != "U" and not np.isfinite(array).all():
            raise ValueError(f"{name} holds a value that is not finite")
    if n and (
        cells.counts.min() < 1
        or cells.label.min() < UNLABELLED
        or cells.label.max() >= len(cells.classes)
        or cells.domain.min() < 0
        or cells.domain.max() >= cells.n_domains
    ):
        raise ValueError("counts, classes or domains are out of range")
    means, second = arrays["means"], arrays["second"]
    return Moments(cells, means, second, kept, np.dtype(dtype), str(arrays["feature_map"]))


def _pieces(value: Any) -> Iterable[bytes]:
    yield type(value).__name__.encode()
    if tensors.is_tensor(value):
        value = tensors.host(value)
    if hasattr(value, "get_params"):
        for name, parameter in sorted(value.get_params(deep=False).items()):
            yield name.encode()
            yield from _pieces(parameter)
        for name in sorted(key for key in vars(value) if key.endswith("_") and key[0] != "_"):
            yield name.encode()
            yield from _pieces(vars(value)[name])
    elif isinstance(value, np.ndarray) and value.dtype.kind != "O":
        yield f"{value.dtype}{value.shape}".encode()
        yield np.ascontiguousarray(value).tobytes()
    elif sparse.issparse(value):
        csr = value.tocsr()
        for array in (csr.data, csr.indices, csr.indptr):
            yield from _pieces(array)
    elif isinstance(value, dict):
        for key in sorted(value, key=str):
            yield str(key).encode()
            yield from _pieces(value[key])
    elif isinstance(value, list | tuple | np.ndarray):
        for item in value:
            yield from _pieces(item)
    elif isinstance(value, str | bool | int | float | np.generic) or value is None:
        yield repr(value).encode()
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            # The origin of a kernel saves digits and changes nothing else.
            if field.name != "origin":
                yield from _pieces(getattr(value, field.name))
    elif callable(value):
        yield getattr(value, "__qualname__", "").encode()
