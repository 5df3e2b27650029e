"""Who teaches and who is to be predicted: sources and targets of a table.

A domain without labels is a target, and one with labels in every row a source. Between the two,
a domain of which most rows have no label is a target that knows some of its own labels. Estimators
tell it by a negative id (:mod:`skatter.domains`); only then do numbers replace names of domains.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skatter._tensors import Array
from skatter.domains import Domains, read_domains
from skatter.hedging._members import draw_both_sides
from skatter.labels import Task, marks
from skatter.tables import Samples, TableError

MOSTLY = 0.5  # share of labelled rows below which a domain is a target
FEWEST_NUMBERS = 10  # labelled rows of the sources without which numbers cannot be learnt


@dataclass(frozen=True, eq=False)
class Roles:
    domains: Domains
    sample_domain: Array | None
    numbers: Mapping[str, int]
    sources: tuple[str, ...]
    targets: tuple[str, ...]
    task: Task = "classes"

    @property
    def target_knows_labels(self) -> bool:
        return bool((self.domains.target & self.domains.labelled).any())


def assign_roles(samples: Samples, task: Task = "classes") -> Roles:
    if samples.sample_domain is None:
        domains = read_domains(_known(samples, task), labelled=samples.labelled)
        _check_sides(samples, domains, task)
        return Roles(domains, None, {}, ("labelled rows",), ("unlabelled rows",), task)
    names, codes = np.unique(np.asarray(samples.sample_domain).astype(str), return_inverse=True)
    n_labelled = np.bincount(codes[samples.labelled], minlength=len(names))
    is_target = tell_targets(str(samples.domain), names, np.bincount(codes), n_labelled)
    ids, numbers = names[codes], dict[str, int]()
    if n_labelled[is_target].any():
        ids, numbers = _signed(names, codes, is_target)
    domains = read_domains(_known(samples, task), ids, labelled=samples.labelled)
    sources, targets = (tuple(names[rows].tolist()) for rows in (~is_target, is_target))
    _check_sides(samples, domains, task)
    return Roles(domains, ids, numbers, sources, targets, task)


def keep_roles(samples: Samples, roles: Roles) -> Roles:
    ids, numbers = roles.sample_domain, roles.numbers
    if ids is None:
        ids = np.where(roles.domains.target, -2, 1)
    elif not numbers:
        names, codes = np.unique(ids, return_inverse=True)
        ids, numbers = _signed(names, codes, np.isin(names, roles.targets))
    domains = read_domains(_known(samples, roles.task), ids, labelled=samples.labelled)
    return replace(roles, domains=domains, sample_domain=ids, numbers=numbers)


def _known(samples: Samples, task: Task) -> Array:
    y = np.asarray(samples.y)
    return y if task == "classes" else marks(y)


def _signed(names: Array, codes: Array, is_target: Array) -> tuple[Array, dict[str, int]]:
    signed = np.where(is_target, -1, 1) * np.arange(1, len(names) + 1)
    return signed[codes], dict(zip(names.tolist(), signed.tolist(), strict=True))


def tell_targets(column: str, names: Array, n_rows: Array, n_labelled: Array) -> Array:
    """Tell which domains of a column are targets, by their rows and those with a label."""
    share = n_labelled / n_rows
    if len(names) == 1:
        raise TableError(
            f"column {column!r} holds one domain only, {names[0]!s}: there is nothing to "
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
            f"every domain of column {column!r} has the same share of labels, so that none "
            "is a target. Leave the domain out to adapt from labelled to unlabelled rows."
        )
    return np.asarray(target)


def _check_sides(samples: Samples, domains: Domains, task: Task) -> None:
    taught = domains.label[domains.source & domains.labelled]
    if task == "numbers" and len(taught) < FEWEST_NUMBERS:
        raise TableError(
            f"column {samples.label!r} holds {len(taught)} numbers in the domains that teach, and "
            f"{FEWEST_NUMBERS} are the least: label more rows there."
        )
    if task == "classes" and len(np.unique(taught)) < 2:
        raise TableError(
            f"column {samples.label!r} holds fewer than two classes in the domains that teach: "
            "label rows of another class there."
        )
    if np.sum(domains.target & ~domains.labelled) < 2:
        raise TableError(
            f"column {samples.label!r} is empty in a single row of the target, and to adapt takes "
            "two or more: add rows without a label."
        )


@dataclass(frozen=True, eq=False)
class Prepared:
    """Numbers, labels and domains, as estimators take them."""

    X: Array
    y: Array
    domains: Domains
    sample_domain: Array | None
    task: Task = "classes"

    @classmethod
    def of(cls, X: Array, samples: Samples, roles: Roles) -> Prepared:
        return cls(X, np.asarray(samples.y), roles.domains, roles.sample_domain, roles.task)

    @property
    def given(self) -> dict[str, Any]:
        return {
            "y": self.y,
            "sample_domain": self.sample_domain,
            "labelled": np.array(self.domains.labelled),
        }

    def draw(self, n_rows: int, random_state: int) -> Prepared:
        """Return about ``n_rows`` rows, half of them labelled ones of sources, half targets'."""
        if len(self.X) <= n_rows:
            return self
        return self.take(draw_both_sides(self.domains, n_rows, random_state))

    def take(self, rows: Array) -> Prepared:
        ids = None if self.sample_domain is None else self.sample_domain[rows]
        return Prepared(self.X[rows], self.y[rows], self.domains.take(rows), ids, self.task)

    def hide(self, rows: Array) -> Prepared:
        return replace(self, domains=self.domains.hide(rows))
