"""What the rivals in domain generalization share: labelled sources, and no target at all.

They learn from the labelled samples of source domains. Whatever else is handed to ``fit``,
unlabelled samples and samples of a target, is left out before anything is computed, so that the
same table may be given to methods that adapt and to methods that generalise.
"""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np

from skatter._tensors import Array
from skatter.domains import Domains
from skatter.kernels import check_gram
from skatter.methods._base import Rival, RivalTransformer, Transfer
from skatter.methods._record import Need


class Generalizer(Rival):
    """Base of rivals that learn from labelled sources alone; first among the bases of a rival."""

    needs: ClassVar[tuple[Need, ...]] = ("source labels",)

    def _pair(self, X: Any, domains: Domains, *, unnamed: bool) -> Transfer:
        name = type(self).__name__
        kept = domains.source & domains.labelled
        if not kept.any():
            raise ValueError(
                f"{name} needs labels in a source domain, and only targets have some. Name "
                "sources by non-negative integers in sample_domain."
            )
        rows = np.flatnonzero(kept)
        sources = domains.restrict(rows)
        if "several sources" in self.needs and sources.n_domains == 1:
            if not unnamed:
                raise ValueError(
                    f"{name} needs labelled samples of two source domains or more, got 1 "
                    f"({sources.domain_ids[0]}). Give those of another one, or pool what you have "
                    "with a plain classifier."
                )
            warnings.warn(
                f"{name} sees one source domain: sample_domain is None. What differs between "
                "domains cannot be learnt from one.",
                stacklevel=4,
            )
        everyone = np.ones(len(rows), dtype=bool)
        chosen = check_gram(X)[np.ix_(rows, rows)] if self._precomputed else X[rows]
        return Transfer(chosen, sources, everyone, ~everyone, rows)


class GeneralizingTransformer(Generalizer, RivalTransformer):
    """Base of those that give features; ``_fit`` returns nothing."""

    def fit_transform(
        self, X: Any, y: Any = None, *, sample_domain: Any = None, labelled: Any = None
    ) -> Array:
        """Learn from the labelled sources, and return the features of all samples in ``X``."""
        self.fit(X, y, sample_domain=sample_domain, labelled=labelled)
        return self.transform(X, sample_domain=sample_domain)
