"""What hedges of classes and of numbers share: members, and the samples as each sees them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from skatter._notebook import Section, ShowsLearnt
from skatter._parameters import declared
from skatter._tensors import Array
from skatter.domains import Codes, Domains, Mask
from skatter.hedging._champion import OWN, LearnsFromDomains, check_with_gaps, draw_rows
from skatter.scaling import DomainScaler

Scaling = Literal["pooled", "domain"]
SCALINGS: tuple[Scaling, ...] = ("pooled", "domain")
MAX_JUDGED = 5_000  # target samples that members are compared on; of more as many are drawn


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

    @property
    def scalings(self) -> tuple[Scaling, ...]:
        return SCALINGS[:1] if self.scaler is None else SCALINGS

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


@declared
class Hedge(LearnsFromDomains, ShowsLearnt):
    """Base of hedges; one fits its members, and weighs them."""

    _figure: ClassVar[tuple[str, str]]  # of a member: its name in a notebook, and its attribute

    def _candidates(self, standard: dict[str, Any]) -> dict[str, Any] | None:
        """Return who competes with the champion that was asked for, if one was."""
        return None if self.champion is None else {OWN: self.champion, **standard}

    def _require_target(self) -> None:
        if self.judgement_ is None:
            raise ValueError("all samples of fit had a label: there was no target to judge by.")

    def _settle(self, X: Any, domains: Domains) -> Views:
        """Take the champion that was asked for, and return samples as members see them."""
        if self.champion is not None:
            self.champion_.champion_ = OWN  # whatever the scores are
        pooled = self.champion_.scaler_.transform(X)
        self.domain_scaler_ = scale_domains(pooled, domains)
        return Views(pooled, self.domain_scaler_, domains.domain_ids[domains.domain])

    def _contenders(self) -> list[Member]:
        """Return what the champion was chosen from, as members."""
        found = self.champion_.contenders_
        return [Member(each.name, "pooled", False, each.estimator, each.score) for each in found]

    def _weighed(self, members: list[Member], agreement: Iterable[float], weights: Array) -> None:
        self.members_ = tuple(
            replace(each, agreement=float(a), weight=float(w))
            for each, a, w in zip(members, agreement, weights, strict=True)
        )

    @property
    def _weights(self) -> Array:
        return np.array([each.weight for each in self.members_])

    def _new(self, X: Any, sample_domain: Any) -> Views:
        """Return new samples as members see them."""
        check_is_fitted(self)
        X = self.champion_.scaler_.transform(check_with_gaps(self, X, reset=False))
        return Views(X, self.domain_scaler_, sample_domain)

    def learnt(self) -> list[Section]:
        """Return what a notebook shows: who votes, and how much each counts."""
        if not hasattr(self, "members_"):
            return []
        head, attribute = self._figure
        lines = tuple(
            (f"{m.name}, {m.scaling}", f"{m.weight:.2f}", f"{getattr(m, attribute):.2f}")
            for m in self.members_
        )
        return [Section("Members", (), ("member", "weight", head), lines)]


def draw_unlabelled(domains: Domains, seed: int) -> Codes:
    """Return the unlabelled samples that members are compared on."""
    rows = np.flatnonzero(~domains.labelled)
    return rows[np.sort(np.random.default_rng(seed).permutation(len(rows))[:MAX_JUDGED])]


def draw_both_sides(domains: Domains, n_rows: int, random_state: int) -> Codes:
    """Return about ``n_rows`` samples, half of them labelled ones of sources, half targets'.

    All samples where there are no more than that. Where a side has fewer than its half, the other
    takes what is left. A few samples of every class are kept: a rare class must not vanish.
    """
    if domains.n_samples <= n_rows:
        return np.arange(domains.n_samples)
    teach = domains.labelled & domains.source
    return draw_from_sides(domains.label, teach, domains.target, n_rows, random_state)


def draw_from_sides(
    label: Codes, teach: Mask, target: Mask, n_rows: int, random_state: int
) -> Codes:
    """Do the same for samples of which it is known which teach and which are of targets."""
    teachers, others = np.flatnonzero(teach), np.flatnonzero(target)
    n_teach = min(len(teachers), max(n_rows // 2, n_rows - len(others)))
    drawn = teachers[draw_rows(label[teachers], n_teach, random_state)]
    mixed = np.random.default_rng(random_state).permutation(others)
    return np.sort(np.concatenate([drawn, mixed[: n_rows - n_teach]]))
