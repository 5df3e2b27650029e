"""What the report measures: scatters and distances, before and after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from skatter._tensors import Array
from skatter.domains import Codes, Domains
from skatter.plots import domain_distances
from skatter.plots._scatters import absent_scatters
from skatter.scatter import Scatters

MAX_DOMAINS = 12  # domains of the heat map at most: the largest ones
NAMES: Mapping[str, tuple[str, str]] = {
    "total": ("Total scatter", "How far samples lie from their common mean."),
    "domain": ("Domain scatter", "How far the means of the domains lie apart: the shift."),
    "between_class": ("Between-class scatter", "How far the means of the classes lie apart."),
    "within_class": ("Within-class scatter", "How far samples lie from the mean of their class."),
    "conditional_domain": (
        "Conditional domain scatter",
        "How far the means of one class lie apart between the domains that have labels of it.",
    ),
}
"""The five scatters, as the report names and explains them."""


class ScatterLine(NamedTuple):
    """One scatter before and after; shares are of the total; ``missing`` says why it is none."""

    name: str
    words: str
    before: float
    after: float | None
    share_before: float
    share_after: float | None
    missing: str = ""

    @property
    def change(self) -> float | None:
        """Share after over share before; None where there is nothing to compare."""
        if self.share_after is None or not self.share_before:
            return None
        return self.share_after / self.share_before


def scatter_lines(before: Scatters, after: Scatters | None, domains: Domains) -> list[ScatterLine]:
    """Put scatters before and after side by side; those that cannot be measured say why."""
    missing = absent_scatters(domains)
    lines = []
    for name, (title, words) in NAMES.items():
        was, was_share = _size(before, name)
        now, now_share = (None, None) if after is None else _size(after, name)
        found = (was, now, was_share, now_share)
        lines.append(ScatterLine(title, words, *found, missing.get(name, "")))
    return lines


def _size(scatters: Scatters, name: str) -> tuple[float, float]:
    return getattr(scatters, name), scatters.share(name)


@dataclass(frozen=True, eq=False)
class Distances:
    """Distances between domains before and after; ``left_out`` counts those that are not shown."""

    names: list[str]
    before: Array
    after: Array | None
    left_out: int

    @property
    def highest(self) -> float:
        tables = [self.before] if self.after is None else [self.before, self.after]
        return max(float(table.max()) for table in tables) or 1.0

    @property
    def means(self) -> tuple[float, float | None]:
        pairs = np.triu_indices(len(self.names), 1)
        after = None if self.after is None else float(self.after[pairs].mean())
        return float(self.before[pairs].mean()), after

    @property
    def words(self) -> str:
        before, after = self.means
        went = f"is {before:.3f}" if after is None else f"went from {before:.3f} to {after:.3f}"
        return f"The mean distance {went}."


def measure_distances(
    before: Any, after: Array | None, domain: Codes, names: list[str]
) -> Distances | None:
    """Measure the maximum mean discrepancy of every two domains; None for fewer than two."""
    counts = np.bincount(domain, minlength=len(names))
    several = np.flatnonzero(counts > 1)
    shown = np.sort(several[np.argsort(-counts[several], kind="stable")][:MAX_DOMAINS])
    if len(shown) < 2:
        return None
    rows = np.flatnonzero(np.isin(domain, shown))
    was = domain_distances(before[rows], domain[rows])[1]
    now = None if after is None else domain_distances(after[rows], domain[rows])[1]
    left_out = int(np.count_nonzero(counts)) - len(shown)
    return Distances([names[d] for d in shown], was, now, left_out)
