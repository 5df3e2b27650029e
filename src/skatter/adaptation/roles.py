"""Who teaches and who is to be predicted: sources and targets of a table.

A domain without labels is a target, and one with labels in every row a source. Between the two,
a domain of which most rows have no label is a target that knows some of its own labels. The
estimators tell such a target by a negative id (:mod:`skatter.domains`); only then are the names of
the domains replaced by numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skatter.domains import Domains, read_domains
from skatter.tables import Samples, TableError

Array = NDArray[Any]

MOSTLY = 0.5
"""Share of labelled rows below which a domain is a target."""

MAX_CLASSES = 50
"""Classes beyond which a label column of mostly different values holds numbers or names."""


@dataclass(frozen=True, eq=False)
class Roles:
    """What the estimators are told of a table's domains.

    Attributes
    ----------
    domains : Domains
        Labels, classes and domains, validated.
    sample_domain : ndarray of shape (n_samples,) or None
        Ids for ``fit``: the names of the table, or numbers where a target knows labels.
    numbers : mapping of str to int
        Name to number of every domain, where numbers are used; else empty.
    sources, targets : tuple of str
        Names of the domains.
    """

    domains: Domains
    sample_domain: Array | None
    numbers: Mapping[str, int]
    sources: tuple[str, ...]
    targets: tuple[str, ...]

    @property
    def target_knows_labels(self) -> bool:
        """Whether some rows of a target have a label."""
        return bool((self.domains.target & self.domains.labelled).any())


def assign_roles(samples: Samples) -> Roles:
    """Tell sources from targets, or say what the table lacks.

    Parameters
    ----------
    samples : Samples
        A table with a label column.

    Raises
    ------
    TableError
        Where nothing is labelled, nothing is to be predicted, there are no two classes, or labels
        are numbers.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from skatter.tables import read_columns
    >>> frame = pd.DataFrame({
    ...     "x": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
    ...     "label": ["a", "b", "a", None, None, "b"],
    ...     "site": ["here", "here", "here", "there", "there", "there"],
    ... })
    >>> roles = assign_roles(read_columns(frame, label="label", domain="site"))
    >>> roles.sources, roles.targets, dict(roles.numbers)
    (('here',), ('there',), {'here': 1, 'there': -2})
    """
    _check_labels(samples)
    if samples.sample_domain is None:
        domains = read_domains(samples.y, labelled=samples.labelled)
        _check_sides(samples, domains)
        return Roles(domains, None, {}, ("labelled rows",), ("unlabelled rows",))
    names, codes = np.unique(np.asarray(samples.sample_domain).astype(str), return_inverse=True)
    is_target = _targets(samples, names, codes)
    counts = np.bincount(codes[samples.labelled], minlength=len(names))
    ids, numbers = names[codes], dict[str, int]()
    if counts[is_target].any():
        ids, numbers = _signed(names, codes, is_target)
    domains = read_domains(samples.y, ids, labelled=samples.labelled)
    sources, targets = (tuple(names[rows].tolist()) for rows in (~is_target, is_target))
    _check_sides(samples, domains)
    return Roles(domains, ids, numbers, sources, targets)


def keep_roles(samples: Samples, roles: Roles) -> Roles:
    """Return the same sources and targets, of a table in which more rows have a label.

    Parameters
    ----------
    samples : Samples
        The table with its new labels.
    roles : Roles
        Of the table without them.
    """
    ids, numbers = roles.sample_domain, roles.numbers
    if ids is None:
        ids = np.where(roles.domains.target, -2, 1)
    elif not numbers:
        names, codes = np.unique(ids, return_inverse=True)
        ids, numbers = _signed(names, codes, np.isin(names, roles.targets))
    domains = read_domains(samples.y, ids, labelled=samples.labelled)
    return Roles(domains, ids, numbers, roles.sources, roles.targets)


def _signed(names: Array, codes: Array, is_target: Array) -> tuple[Array, dict[str, int]]:
    """Return numbers for names of domains, negative ones for targets."""
    signed = np.where(is_target, -1, 1) * np.arange(1, len(names) + 1)
    return signed[codes], dict(zip(names.tolist(), signed.tolist(), strict=True))


def _targets(samples: Samples, names: Array, codes: Array) -> Array:
    """Tell which domains are targets."""
    rows = np.bincount(codes, minlength=len(names))
    share = np.bincount(codes[samples.labelled], minlength=len(names)) / rows
    if len(names) == 1:
        raise TableError(
            f"column {samples.domain!r} holds one domain only, {names[0]!r}: there is nothing to "
            "adapt between. Leave the domain out to adapt from labelled to unlabelled rows."
        )
    target = share < MOSTLY
    if not target.any():
        target = share < 1
    if target.all():
        # No domain is well known: the one that is known best teaches the others.
        target = share < share.max()
    if not target.any():
        raise TableError(
            f"every domain of column {samples.domain!r} has the same share of labels, so that none "
            "is a target. Leave the domain out to adapt from labelled to unlabelled rows."
        )
    return np.asarray(target)


def _check_labels(samples: Samples) -> None:
    column, labelled = repr(samples.label), samples.labelled
    if samples.y is None or not labelled.any():
        raise TableError(
            f"column {column} has no label at all: fill in the rows whose label is known."
        )
    if labelled.all():
        raise TableError(
            f"column {column} has a label in every row: there is nothing to predict. Leave its "
            "cells empty in the rows to be predicted."
        )
    _check_classes(samples.y[labelled], column)


def _check_classes(known: Array, column: str) -> None:
    values = np.unique(np.asarray(known.tolist()))
    if len(values) == 1:
        raise TableError(
            f"column {column} holds a single class, {values[0]!s}: a model needs two or more to "
            "tell apart."
        )
    fraction = values.dtype.kind == "f" and bool((values != np.floor(values)).any())
    if fraction or len(values) > max(MAX_CLASSES, len(known) / 2):
        kind = "fractions such as" if fraction else f"{len(values):,} different values such as"
        raise TableError(
            f"column {column} holds {kind} {values[0]!s}, and classes are predicted here. Cut "
            "numbers into a few ranges first; for regression use skatter.SCA(label_splines=8) from "
            "Python."
        )


def _check_sides(samples: Samples, domains: Domains) -> None:
    """Refuse sides that are too small to be compared."""
    taught = np.unique(domains.label[domains.source & domains.labelled])
    if len(taught) < 2:
        raise TableError(
            f"column {samples.label!r} holds fewer than two classes in the domains that teach: "
            "label rows of another class there."
        )
    if np.sum(domains.target & ~domains.labelled) < 2:
        raise TableError(
            f"column {samples.label!r} is empty in a single row of the target, and to adapt takes "
            "two or more: add rows without a label."
        )
