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
    """One classifier or regressor of a hedge.

    Attributes
    ----------
    name : str
        What it is called.
    scaling : "pooled" or "domain"
        Whether its samples are standardised over all domains, or in each.
    adapts : bool
        Whether it learns from the target's samples, beyond their scale.
    estimator : estimator
        Fitted, a classifier on codes of the classes.
    source_score : float or None
        The metric on held-out source labels, R² for numbers; None where it was not measured.
    agreement : float
        Mean share of the other members that predict the same for the target; for numbers, how
        near it is to the others, see :mod:`skatter.hedging.number_weights`.
    weight : float
        Of its predictions; all sum to one.
    """

    name: str
    scaling: Scaling
    adapts: bool
    estimator: Any
    source_score: float | None = None
    agreement: float = np.nan
    weight: float = np.nan


class Views:
    """Samples under both scalings, each computed when asked for."""

    def __init__(self, pooled: Any, scaler: DomainScaler | None, ids: Any) -> None:
        self.pooled, self.scaler, self.ids = pooled, scaler, ids
        self._domain: Any = None

    def of(self, scaling: Scaling) -> Any:
        """Return the samples under one scaling."""
        if scaling == "pooled" or self.scaler is None:
            return self.pooled
        if self._domain is None:
            self._domain = self.scaler.transform(self.pooled, sample_domain=self.ids)
        return self._domain

    def take(self, rows: Codes) -> Views:
        """Return some of the samples."""
        ids = None if self.ids is None else np.asarray(self.ids)[rows]
        return Views(self.pooled[rows], self.scaler, ids)


def scale_domains(pooled: Any, domains: Domains) -> DomainScaler | None:
    """Fit the scaling in each domain; None where there is one domain, or samples are sparse."""
    if sparse.issparse(pooled) or domains.n_domains < 2:
        return None
    ids = domains.domain_ids[domains.domain]
    return DomainScaler().fit(
        pooled, np.maximum(domains.label, 0), sample_domain=ids, labelled=domains.labelled
    )
