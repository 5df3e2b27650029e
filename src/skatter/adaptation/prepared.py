"""Prepared samples with their labels and domains, and a draw of them that is fair to both sides."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skatter.adaptation.roles import Roles
from skatter.domains import Domains
from skatter.hedging.draw import draw_both_sides
from skatter.labels import Task
from skatter.tables import Samples

Array = NDArray[Any]


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
        """Put prepared samples beside what is known of their rows."""
        return cls(X, np.asarray(samples.y), roles.domains, roles.sample_domain, roles.task)

    @property
    def given(self) -> dict[str, Any]:
        """Arguments of ``fit`` beside the samples."""
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
        """Return some of the rows."""
        ids = None if self.sample_domain is None else self.sample_domain[rows]
        return Prepared(self.X[rows], self.y[rows], self.domains.take(rows), ids, self.task)

    def hide(self, rows: Array) -> Prepared:
        """Return the same table, in which some rows have lost their label."""
        return replace(self, domains=self.domains.hide(rows))
