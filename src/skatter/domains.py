"""Domains: one validated, immutable view of labels and of where each sample came from.

Everything downstream reads integer codes from :class:`Domains` and never looks at the user's
``y`` or ``sample_domain`` again. The rules for *unlabelled*, *source* and *target* are here and
nowhere else.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning

from skatter._tensors import host, is_tensor

__all__ = ["Domains", "read_domains"]

UNLABELLED = -1
"""The integer that marks an unlabelled sample, in ``y`` and in :attr:`Domains.label`."""
FEW = 8  # names that are picked out one by one rather than sorted
Codes = NDArray[np.intp]
Mask = NDArray[np.bool_]


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


@dataclass(frozen=True, eq=False)
class Domains:
    """Who is labelled, with which class, in which domain: integer codes and their names.

    Build it with :func:`read_domains`.

    Attributes
    ----------
    label : ndarray of shape (n_samples,)
        Index into ``classes``, or -1 where the sample is unlabelled.
    classes : ndarray of shape (n_classes,)
        The classes that were seen, sorted.
    domain : ndarray of shape (n_samples,)
        Index into ``domain_ids``.
    domain_ids : ndarray of shape (n_domains,)
        The domains that were seen, sorted.
    is_target : ndarray of shape (n_domains,)
        True where the domain is a target: a negative integer id, or no label at all.
    count : ndarray of shape (n_rows,) or None
        How many samples of one domain and class a row stands for; None: a row is a sample.
    memberships : ndarray of shape (n_classes, n_groups) or None
        How much of each class belongs to which of a few overlapping groups, rows that sum to one:
        class scatters compare these groups. None: every class is a group of its own.

    Examples
    --------
    >>> from skatter.domains import read_domains
    >>> view = read_domains(["cat", "dog", None], ["home", "home", "zoo"])
    >>> view.label.tolist(), view.classes.tolist()
    ([0, 1, -1], ['cat', 'dog'])
    >>> view.target.tolist()
    [False, False, True]
    """

    label: Codes
    classes: NDArray[Any]
    domain: Codes
    domain_ids: NDArray[Any]
    is_target: Mask
    count: Codes | None = None
    memberships: NDArray[Any] | None = None

    def __post_init__(self) -> None:
        for array in (self.label, self.classes, self.domain, self.domain_ids, self.is_target):
            _frozen(array)
        if self.memberships is not None:
            _frozen(self.memberships)

    @property
    def n_rows(self) -> int:
        """Number of rows: of samples, or of cells that stand for many."""
        return len(self.label)

    @cached_property
    def counts(self) -> Codes:
        """How many samples each row stands for."""
        return _frozen(np.ones(self.n_rows, dtype=np.intp) if self.count is None else self.count)

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return self.n_rows if self.count is None else int(self.count.sum())

    @property
    def n_domains(self) -> int:
        """Number of domains."""
        return len(self.domain_ids)

    @cached_property
    def labelled(self) -> Mask:
        """True where the sample has a label."""
        return _frozen(np.asarray(self.label != UNLABELLED))

    @property
    def n_labelled(self) -> int:
        """Number of labelled samples."""
        return int(self.counts[self.labelled].sum())

    @cached_property
    def target(self) -> Mask:
        """True where the sample belongs to a target domain."""
        return _frozen(self.is_target[self.domain])

    @property
    def source(self) -> Mask:
        """True where the sample belongs to a source domain."""
        return ~self.target

    @cached_property
    def class_counts(self) -> Codes:
        """Labelled samples per class; 0 for a class whose labels are all hidden."""
        return self._sizes(self.label, len(self.classes))

    @property
    def n_groups(self) -> int:
        """Number of groups that class scatters compare: the classes with a label, or fewer."""
        present = int(np.count_nonzero(self.class_counts))
        return present if self.memberships is None else min(present, self.memberships.shape[1])

    @cached_property
    def domain_counts(self) -> Codes:
        """Samples per domain."""
        return self._sizes(self.domain, self.n_domains)

    def _sizes(self, codes: Codes, n_codes: int) -> Codes:
        """Count the samples of each code; code -1 is left out."""
        rows = codes >= 0
        sizes = np.bincount(codes[rows], self.counts[rows], minlength=n_codes)
        return _frozen(sizes.astype(np.intp))

    def take(self, rows: Codes | slice) -> Domains:
        """Return the view of these rows, in this order; class and domain codes stay."""
        count = None if self.count is None else self.count[rows]
        return replace(self, label=self.label[rows], domain=self.domain[rows], count=count)

    def cells(self) -> tuple[Domains, Codes]:
        """Return one row for each pair of domain and class, and the cell of every row.

        Unlabelled samples of a domain are a cell of their own. Cells are sorted by class, labelled
        ones first, then by domain.

        Examples
        --------
        >>> view = read_domains(["cat", "cat", None], ["home", "home", "zoo"])
        >>> cells, cell = view.cells()
        >>> cells.counts.tolist(), cell.tolist()
        ([2, 1], [0, 0, 1])
        """
        # Code of the class, unlabelled last, then of the domain
        label = np.where(self.labelled, self.label, len(self.classes))
        codes, cell = coded(label * self.n_domains + self.domain)
        label = codes // self.n_domains
        cells = replace(
            self,
            label=np.where(label == len(self.classes), UNLABELLED, label),
            domain=codes % self.n_domains,
            count=self._sizes(cell, len(codes)),
        )
        return cells, cell

    def restrict(self, rows: Codes | Mask) -> Domains:
        """Return the view of these rows alone: classes and domains that none of them has are gone.

        Examples
        --------
        >>> view = read_domains(["cat", "dog", None], ["home", "zoo", "zoo"])
        >>> view.restrict([1]).classes.tolist(), view.restrict([1]).domain_ids.tolist()
        (['dog'], ['zoo'])
        """
        domains, domain = np.unique(self.domain[rows], return_inverse=True)
        label = np.array(self.label[rows])
        classes, codes = np.unique(label[label != UNLABELLED], return_inverse=True)
        label[label != UNLABELLED] = codes
        return Domains(
            label,
            self.classes[classes],
            domain.astype(np.intp),
            self.domain_ids[domains],
            self.is_target[domains],
            memberships=None if self.memberships is None else self.memberships[classes],
        )

    def hide(self, rows: Codes | Mask) -> Domains:
        """Return a view in which these rows keep their domain and lose their label."""
        label = self.label.copy()
        label[rows] = UNLABELLED
        return replace(self, label=label)

    def names(self) -> NDArray[Any]:
        """Return the labels under the user's own names (labelled samples only)."""
        return self.classes[self.label[self.labelled]]


def read_domains(
    y: Any = None, sample_domain: Any = None, *, labelled: Any = None, n_samples: int | None = None
) -> Domains:
    """Validate ``y`` and ``sample_domain`` into one view.

    It is an error where nobody can tell a class from a mark: -1 stands beside a single other value,
    and is all that some domain holds.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or None
        Classes: integers, strings, booleans or whole floats. Unlabelled is -1 among integers, NaN
        among floats, None/NaN/NA and blank text among strings and objects. Where -1 stands beside
        a single other value, both are classes (labels {-1, +1}). None: nothing is labelled.
    sample_domain : array-like of shape (n_samples,) or None
        One integer or string per sample. Where integers carry signs, a negative id is a target
        and a non-negative one a source. None: labelled samples are one domain and unlabelled
        ones another.
    labelled : array-like of bool of shape (n_samples,) or None
        An explicit mask wins over every mark inside ``y``.
    n_samples : int or None
        The number of rows of ``X``, to compare lengths with.

    Examples
    --------
    >>> read_domains([0, 1, -1, -1]).n_labelled
    2
    >>> read_domains([-1, 1, 1, -1]).classes.tolist()
    [-1, 1]
    >>> known = [True, True, False, False]
    >>> view = read_domains([-1, 1, -1, -1], ["a", "a", "b", "b"], labelled=known)
    >>> view.classes.tolist(), view.target.tolist()
    ([-1, 1], [False, False, True, True])
    """
    n = _common_length(n_samples, y=y, sample_domain=sample_domain, labelled=labelled)
    named = None if sample_domain is None else _read_ids(sample_domain)
    mask = None if labelled is None else host(labelled)
    if mask is not None and mask.dtype != bool:
        raise TypeError(f"labelled must be a boolean mask, got dtype {mask.dtype}.")
    classes, label = _read_labels(y, n, mask, named)
    if named is None:
        # One domain of labelled and one of unlabelled samples, whichever exist.
        present, domain = np.unique(label == UNLABELLED, return_inverse=True)
        ids = np.where(present, "unlabelled", "labelled")
        return Domains(label, classes, domain.astype(np.intp), ids, present.copy())
    ids, domain = named
    return Domains(label, classes, domain, ids, _targets(ids, domain[label != UNLABELLED]))


def read_part(
    y: Any = None,
    sample_domain: Any = None,
    *,
    labelled: Any = None,
    classes: Any = None,
    n_samples: int,
) -> Domains:
    """Validate one part of a longer stream; takes what :func:`read_domains` takes, and classes.

    A part does not know what the rest holds. So -1 marks an unlabelled sample whatever else is in
    ``y``, unless ``classes`` names it; and samples without ``sample_domain`` belong to the domain
    ``"labelled"`` or ``"unlabelled"``.
    """
    known = None if classes is None else _of_one_kind("classes", plain_column(classes))
    if y is not None and labelled is None:
        labelled = ~is_unlabelled(y, np.empty(0, dtype=int) if known is None else known)
    if y is None and sample_domain is None:
        sample_domain = np.full(n_samples, "unlabelled")
    part = read_domains(y, sample_domain, labelled=labelled, n_samples=n_samples)
    if known is not None:
        foreign = [name for name in part.classes.tolist() if name not in known.tolist()]
        if foreign:
            raise ValueError(
                f"y holds {foreign[0]!r}, which classes does not name; add it to classes, or mark "
                "the sample as unlabelled (-1, NaN or None)."
            )
    return part


def concatenate_domains(parts: Sequence[Domains]) -> Domains:
    """Return one view over the rows of several, which may differ in classes and domains.

    Where classes belong to groups, all parts must have the same classes.
    """
    classes, labels = _common_codes("y", [(part.classes, part.label) for part in parts])
    ids, domain = _common_codes("sample_domain", [(part.domain_ids, part.domain) for part in parts])
    is_target = _targets(ids, domain[labels != UNLABELLED])
    counted = any(part.count is not None for part in parts)
    count = np.concatenate([part.counts for part in parts]) if counted else None
    return Domains(labels, classes, domain, ids, is_target, count, parts[0].memberships)


def _common_codes(
    name: str, parts: Sequence[tuple[NDArray[Any], Codes]]
) -> tuple[NDArray[Any], Codes]:
    """Return the names of all parts, sorted, and the codes of all rows among them."""
    named = [names for names, _ in parts if len(names)]
    if len({names.dtype.kind in "US" for names in named}) > 1:
        raise TypeError(
            f"{name} holds text in one part and numbers in another; use one kind throughout."
        )
    if not named:
        return parts[0][0], np.concatenate([codes for _, codes in parts])
    common = np.unique(np.concatenate(named))
    recoded = []
    for names, codes in parts:
        # Code -1, an unlabelled sample, stays what it is.
        place = np.append(np.searchsorted(common, names.astype(common.dtype)), UNLABELLED)
        recoded.append(place[codes])
    return common, np.concatenate(recoded).astype(np.intp)


def require_labels(estimator: Any, domains: Domains, remedy: str = "") -> None:
    """Raise where no sample has a label."""
    if not domains.n_labelled:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None or has "
            f"no labelled sample. Mark only unknown labels as -1, NaN or None{remedy}."
        )


def which_domain(sample_domain: Any, ids: NDArray[Any], *, n_samples: int) -> Codes:
    """Tell which of some domains each sample belongs to; -1: none of them."""
    _common_length(n_samples, sample_domain=sample_domain)
    given, codes = _read_ids(sample_domain)
    if (given.dtype.kind in "US") != (ids.dtype.kind in "US"):
        return np.full(n_samples, -1, dtype=np.intp)
    number = np.full(len(given), -1, dtype=np.intp)
    common = np.result_type(given, ids)
    found, theirs = np.nonzero(given.astype(common)[:, None] == ids.astype(common))
    number[found] = theirs
    return number[codes]


def _common_length(n_samples: int | None, **arrays: Any) -> int:
    lengths = {} if n_samples is None else {"X": n_samples}
    for name, values in arrays.items():
        if values is None:
            continue
        shape = _shape(values)
        if not (len(shape) == 1 or (name == "y" and len(shape) == 2 and shape[1] == 1)):
            raise ValueError(
                f"{name} must be one-dimensional, one value per sample; got shape {shape}."
            )
        lengths[name] = shape[0]
    if not lengths:
        raise ValueError("y or sample_domain must be given.")
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise ValueError(f"Lengths differ: {listed}. Give one value per row of X.")
    return next(iter(lengths.values()))


def _shape(values: Any) -> tuple[int, ...]:
    """Shape of a container that may speak no more than ``__array__``."""
    return tuple(values.shape) if hasattr(values, "shape") else np.asarray(values, object).shape


def plain_column(values: Any) -> NDArray[Any]:
    """Turn a list, array, tensor, pandas or polars column into a one-dimensional NumPy array.

    A list is read value by value: NumPy alone would turn ``["a", nan]`` into two strings.
    """
    values = host(values) if is_tensor(values) else values
    array = np.asarray(values, dtype=None if hasattr(values, "dtype") else object)
    if array.dtype.kind not in "biufcUSO":
        array = np.asarray(values, dtype=object)
    return array.reshape(-1)


def _is_missing(value: Any) -> bool:
    """None, NaN, blank text, or pandas' NA and NaT: by name, as pandas need not be installed."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, str | bytes):
        return not value.strip()
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def is_missing(values: NDArray[Any]) -> Mask:
    """Tell which values of a column are missing."""
    if values.dtype.kind == "f":
        return np.asarray(np.isnan(values))
    if values.dtype.kind == "O":
        return np.fromiter((_is_missing(v) for v in values), dtype=bool, count=len(values))
    if values.dtype.kind in "US":
        return np.asarray(np.char.strip(values) == values.dtype.type())
    return np.zeros(len(values), dtype=bool)


def _of_one_kind(name: str, values: NDArray[Any]) -> NDArray[Any]:
    """Give present values the dtype they deserve: bool, int, float or str; refuse mixtures."""
    if values.dtype.kind == "O":
        types = {type(v) for v in values}
        if all(issubclass(t, str) for t in types):
            values = values.astype(str)
        elif all(issubclass(t, int | float | np.number | np.bool_) for t in types):
            values = np.array(values.tolist())
        else:
            listed = ", ".join(sorted(t.__name__ for t in types))
            raise TypeError(
                f"{name} mixes values of type {listed}; use integers or strings throughout."
            )
    whole = values.dtype.kind == "f" and np.all(values == np.floor(values))
    if whole and values.size and np.all(np.abs(values) < 2**53):
        values = values.astype(np.int64)
    return values


def _read_ids(sample_domain: Any) -> tuple[NDArray[Any], Codes]:
    values = plain_column(sample_domain)
    if values.dtype.kind not in "US":
        _require_ids(values)
        values = _of_one_kind("sample_domain", values)
    if values.dtype.kind not in "biuUS":
        raise TypeError(f"sample_domain must hold integers or strings, got dtype {values.dtype}.")
    ids, codes = coded(values)
    if is_missing(ids).any():
        _require_ids(values)
    return ids, codes


def _require_ids(values: NDArray[Any]) -> None:
    missing = np.flatnonzero(is_missing(values))
    if len(missing):
        raise ValueError(
            f"sample_domain has no id at row {missing[0]}. Every sample belongs to a domain: give "
            "the unknown ones an id of their own."
        )


def coded(values: NDArray[Any]) -> tuple[NDArray[Any], Codes]:
    """Return what ``np.unique`` does with the inverse; without a sort where values are few.

    Integers of a small range are looked up in a table, a few names are picked one by one.
    """
    if values.dtype.kind in "iu" and values.size:
        least = values.min()
        if int(values.max()) - int(least) < max(len(values), FEW):
            wide = values if values.itemsize == 8 else values.astype(np.int64)
            places = (wide - wide.min()).astype(np.intp)
            present = np.bincount(places) > 0
            ids = np.flatnonzero(present).astype(values.dtype) + least
            return ids, (np.cumsum(present) - 1)[places]
    picked = _few_names(values) if values.dtype.kind in "US" else None
    ids, codes = np.unique(values if picked is None else picked[0], return_inverse=True)
    return ids, (codes if picked is None else codes[picked[1]]).astype(np.intp)


def _few_names(values: NDArray[Any]) -> tuple[NDArray[Any], Codes] | None:
    """Return the names in the order in which they come, and their codes; None where many do."""
    names, codes = list(values[:1]), np.zeros(len(values), dtype=np.intp)
    rest = np.flatnonzero(values != values[0]) if len(values) else codes
    while len(rest) and len(names) < FEW:
        # Whoever has the next name keeps its code; the others are next in turn.
        codes[rest] = len(names)
        names.append(values[rest[0]])
        rest = rest[values[rest] != names[-1]]
    return None if len(rest) else (np.array(names, dtype=values.dtype), codes)


def _targets(ids: NDArray[Any], of_labelled: Codes) -> Mask:
    """Tell which domains are targets, given the domain codes of the labelled samples."""
    if ids.dtype.kind == "i" and (ids < 0).any():
        return np.asarray(ids < 0)
    return np.bincount(of_labelled, minlength=len(ids)) == 0


def _read_labels(
    y: Any, n: int, mask: Mask | None, domains: tuple[NDArray[Any], Codes] | None
) -> tuple[NDArray[Any], Codes]:
    label = np.full(n, UNLABELLED, dtype=np.intp)
    if y is None:
        if mask is not None and mask.any():
            raise ValueError("labelled marks samples as labelled, but y is None; give their y.")
        return np.empty(0, dtype=np.int64), label
    if len(_shape(y)) == 2:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected.",
            DataConversionWarning,
            stacklevel=4,
        )
    values = plain_column(y)
    present = ~is_missing(values)
    if mask is not None:
        if (rows := np.flatnonzero(mask & ~present)).size:
            raise ValueError(f"labelled is True at row {rows[0]}, but y has no value there.")
        present = mask
    named = _of_one_kind("y", values[present])
    if mask is None and present.all() and named.dtype.kind == "i":
        present = _present_integers(named, domains)
        named = named[present]
    if named.dtype.kind == "c":
        raise ValueError("Complex data not supported: y must hold classes.")
    if named.size and named.dtype.kind not in "biuUS":
        raise ValueError(
            f"y must hold classes (integers, strings or booleans), got {named.dtype} values such "
            f"as {named[0]!r}. Unknown label type: for regression use SCA(label_splines=8), or cut "
            "them into classes with skatter.labels.bin_labels."
        )
    classes, codes = coded(named)
    label[present] = codes
    return classes, label


def _present_integers(values: NDArray[Any], domains: tuple[NDArray[Any], Codes] | None) -> Mask:
    """Tell labels from the mark -1 among integers, or say that nobody can."""
    marked = values == UNLABELLED
    others, _ = coded(values[~marked])
    if len(others) != 1 or not marked.any():
        return ~marked
    unclear = []
    if domains is not None:
        ids, domain = domains
        unclear = ids[np.setdiff1d(domain, domain[~marked])].tolist()
    if unclear:
        raise ValueError(
            f"y holds -1 and {others[0]}, and nothing but -1 in domain {unclear[0]!r}: -1 may be a "
            "class there or mark unlabelled samples. Pass labelled=, a boolean per sample, or mark "
            "unknown labels in another way: by None or NaN, or by -1 beside classes recoded as 0 "
            "and 1."
        )
    return np.ones(len(values), dtype=bool)


def is_unlabelled(y: Any, classes: NDArray[Any]) -> Mask:
    """Tell which values of ``y`` mark an unlabelled sample, given the classes that were learnt."""
    values = plain_column(y)
    unlabelled = is_missing(values)
    if classes.dtype.kind in "iu" and UNLABELLED not in classes:
        # A missing value need not know whether it equals another one.
        present = np.flatnonzero(~unlabelled)
        unlabelled[present] = np.asarray(values[present] == UNLABELLED, dtype=bool)
    return unlabelled
