"""Labels that are numbers: read them, cut them into classes, and give them a kernel.

Class scatters ask which samples belong together. Numbers say it by how near they are: with
B-splines b_1, …, b_r of their ranks u, each number belongs to a few neighbouring groups, and

    k(y, y') = Σ_j b_j(u) b_j(u')

is a kernel of labels of rank r. Splines of degree zero are classes. Ranks alone decide, so an
increasing transformation of the labels changes nothing.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy.interpolate import BSpline

from skatter._checks import check_integer
from skatter._tensors import Array, host, is_tensor
from skatter.domains import UNLABELLED, Codes, Domains, is_unlabelled, plain_column, read_domains

__all__ = ["bin_labels"]

Task = Literal["classes", "numbers"]  # what labels are

NOT_IN_PARTS = (
    "label_splines ranks y where all labels are at hand, and here they come in parts: give "
    "classes, y=skatter.labels.bin_labels(y, edges) for each part, with label_splines=None."
)
"""Why an estimator with ``label_splines`` does not learn from chunks or blocks."""

MOST_LEVELS = 256
"""Different labels that are told apart: more of them are cut into so many parts of equal counts."""
DEGREE = 3  # of the splines; lower where there are few


def bin_labels(y: Any, bins: Any, *, labelled: Any = None) -> Codes:
    """Cut labels that are numbers into classes.

    Classes count from 0 upwards; -1 is unlabelled. For methods that take classes; with edges for
    streams, whose parts do not know what the others hold.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Numbers; NaN or None where unknown.
    bins : int or array-like
        Number of classes of equal counts; equal numbers stay together, so there may be fewer. Or
        increasing edges, m for m+1 classes, which run up to and including their upper edge.
    labelled : array-like of bool of shape (n_samples,) or None
        Which numbers to use.

    Examples
    --------
    >>> bin_labels([0.5, 3.0, 0.1, float("nan"), 9.0], 2).tolist()
    [0, 1, 0, -1, 1]
    >>> bin_labels([0.5, 3.0, 0.1, float("nan"), 9.0], [0.1, 3.0]).tolist()
    [1, 1, 0, -1, 2]
    """
    numbers = read_numbers(y, labelled=labelled)
    if np.ndim(bins) == 0:
        return classes_of(numbers, edges_of(numbers, check_integer("bins", bins, low=2)))
    return classes_of(numbers, _check_edges(bins))


def read_numbers(y: Any, *, labelled: Any = None, n_samples: int | None = None) -> Array:
    """Validate labels that are numbers.

    NaN and None mark unlabelled samples. -1 is a number like any other. Among integers, which have
    no NaN, it might be meant as the mark that it is among classes: that is refused, unless
    ``labelled`` or a None tells who is unlabelled.
    """
    column = np.asarray(host(y) if is_tensor(y) else y, dtype=object)
    if column.ndim != 1 and column.shape[1:] != (1,):
        raise ValueError(
            f"y must be one-dimensional, one number per sample; got shape {column.shape}."
        )
    # Beside classes that are text, nothing but a missing value is unlabelled.
    column, missing = column.reshape(-1), is_unlabelled(y, np.empty(0, dtype=str))
    known = np.where(missing, np.nan, 0.0)
    rows = np.flatnonzero(read_domains(known, labelled=labelled, n_samples=n_samples).labelled)
    values = np.array(column[rows].tolist()) if len(rows) else np.empty(0)
    _check_values(values, rows, told=labelled is not None or bool(missing.any()))
    numbers = np.full(len(column), np.nan)
    numbers[rows] = values
    return numbers


def _check_values(values: Array, rows: Codes, *, told: bool) -> None:
    """Raise where labels are no finite numbers, or do not tell who is unlabelled."""
    if values.dtype.kind not in "biuf":
        raise TypeError(
            f"y must hold numbers for regression, got values such as {values.flat[0]!r}; mark "
            "unlabelled samples as NaN."
        )
    infinite = np.flatnonzero(~np.isfinite(values))
    if len(infinite):
        raise ValueError(
            f"y is {values[infinite[0]]} at row {rows[infinite[0]]}; give finite numbers, and NaN "
            "where the label is unknown."
        )
    if values.dtype.kind == "i" and not told and (values == UNLABELLED).any():
        raise ValueError(
            "y holds integers and -1 among them, which may be a number or the mark of an "
            "unlabelled sample. Give y as floats, NaN where the label is unknown, or say which "
            "labels to use: labelled=...."
        )


def is_continuous(y: Any) -> bool:
    """Whether labels are floats that are not all whole, and so no classes."""
    column = plain_column(y)
    if column.dtype.kind == "O":
        floats = [value for value in column if isinstance(value, float | np.floating)]
        column = np.array(floats, dtype=float)
    return bool(column.dtype.kind == "f" and (np.floor(column) < column).any())


def marks(numbers: Array) -> Array:
    """Return labels that tell who has one and nothing else: 0 for a number, NaN for none."""
    return np.where(np.isnan(numbers), np.nan, 0.0)


def read_marked(
    y: Any, sample_domain: Any = None, *, labelled: Any = None, n_samples: int | None = None
) -> Domains:
    """Read who is labelled and where, for what has no use for labels themselves.

    Takes classes as :func:`skatter.domains.read_domains` does, and numbers where one of them is
    not whole.
    """
    if y is not None and is_continuous(y):
        y, labelled = marks(read_numbers(y, labelled=labelled, n_samples=n_samples)), None
    return read_domains(y, sample_domain, labelled=labelled, n_samples=n_samples)


def _check_edges(bins: Any) -> Array:
    try:
        edges = np.array(bins, dtype=float)
    except (TypeError, ValueError):
        edges = np.empty(0)
    increasing = edges.ndim == 1 and len(edges) and (np.diff(edges) > 0).all()
    if not increasing or not np.isfinite(edges).all():
        raise ValueError(
            f"bins must be a number of bins, 2 or more, or a list of increasing finite edges; "
            f"got {bins!r}."
        )
    return edges


def edges_of(numbers: Array, bins: int) -> Array:
    """Return the edges that cut labels into parts of equal counts.

    A part ends at the largest of its own labels, so that no rounding moves a label over an edge.
    """
    values, counts = np.unique(numbers[~np.isnan(numbers)], return_counts=True)
    if len(values) == 1:
        raise ValueError(
            f"All labels in y are {values[0]:g}, which leaves nothing to tell apart. Give labels "
            "that differ; without them, use USCA."
        )
    if len(values) <= bins:
        return values[:-1]
    # Twice the middle rank of each value: tied samples fall on the same side of every edge
    rank = 2 * np.cumsum(counts) - counts
    part = bins * rank // (2 * counts.sum())
    return values[np.flatnonzero(np.diff(part))]


def classes_of(numbers: Array, edges: Array) -> Codes:
    """Return the class of each label, -1 for NaN."""
    return np.where(np.isnan(numbers), UNLABELLED, np.searchsorted(edges, numbers))


def spline_memberships(counts: Codes, n_splines: int) -> Array:
    """Return the B-splines of the mid-ranks of increasing labels; they sum to one.

    ``counts`` says how often each label occurs, the smallest first; where there are no more labels
    than splines, each is a class.
    """
    if len(counts) <= n_splines:
        return np.eye(len(counts))
    degree = min(DEGREE, n_splines - 1)
    inner = np.linspace(0, 1, n_splines - degree + 1)
    knots = np.concatenate([np.zeros(degree), inner, np.ones(degree)])
    ranks = (np.cumsum(counts) - counts / 2) / counts.sum()
    return BSpline.design_matrix(ranks, knots, degree).toarray()
