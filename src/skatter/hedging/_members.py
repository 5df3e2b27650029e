"""Members of a hedge, and the samples as each of them sees them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse

from skatter.domains import Codes, Domains
from skatter.scaling import DomainScaler

Scaling = Literal["pooled", "domain"]
SCALINGS: tuple[Scaling, ...] = ("pooled", "domain")


@dataclass(frozen=True, eq=False)
class Member:
    """One classifier or regressor of a hedge, fitted; a classifier knows codes of the classes.

    ``scaling`` says whether its samples are standardised over all domains, or in each; ``adapts``
    whether it learns from the target's samples, beyond their scale. ``source_score`` is the metric
    on held-out source labels, R² for numbers, where it was measured; ``agreement`` the mean share
    of the other members that predict the same for the target, or how near it is to their numbers
    (:mod:`skatter.hedging._number_weights`). Weights sum to one.
    """

    name: str
    scaling: Scaling
    adapts: bool
    estimator: Any
    source_score: float | None = None
    agreement: float = np.nan
    weight: float = np.nan

    @property
    def title(self) -> str:
        """What it is called in tables."""
        return self.name if self.scaling == "pooled" else f"{self.name}, scaled in each domain"


class Views:
    """Samples under both scalings, each computed when asked for."""

    def __init__(self, pooled: Any, scaler: DomainScaler | None, ids: Any) -> None:
        self.pooled, self.scaler, self.ids = pooled, scaler, ids
        self._domain: Any = None

    def of(self, scaling: Scaling) -> Any:
        if scaling == "pooled" or self.scaler is None:
            return self.pooled
        if self._domain is None:
            self._domain = self.scaler.transform(self.pooled, sample_domain=self.ids)
        return self._domain

    def take(self, rows: Codes) -> Views:
        ids = None if self.ids is None else np.asarray(self.ids)[rows]
        return Views(self.pooled[rows], self.scaler, ids)


def scale_domains(pooled: Any, domains: Domains) -> DomainScaler | None:
    """Fit the scaling in each domain; None where there is one domain, or samples are sparse."""
    if sparse.issparse(pooled) or domains.n_domains < 2:
        return None
    ids = domains.domain_ids[domains.domain]
    # A target is one, whatever labels it has.
    known = domains.labelled & domains.source
    return DomainScaler().fit(
        pooled, np.maximum(domains.label, 0), sample_domain=ids, labelled=known
    )
