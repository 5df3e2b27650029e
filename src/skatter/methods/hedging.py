"""Entries of what votes or competes, whose estimators are in :mod:`skatter.hedging`."""

from __future__ import annotations

from skatter.hedging import ChampionClassifier, DomainGeneralizer, HedgedClassifier, HedgedRegressor
from skatter.methods.record import Method, Tuning

_CITATION = "skatter developers: docs/trust.md, 2026."

METHODS = (
    Method(
        name="hedged",
        estimator=HedgedClassifier,
        summary="plain and adapted classifiers vote, weighed by their agreement",
        when="the target is at hand without labels, and a wrong choice would cost",
        needs=("source labels",),
        uses=("target labels", "several sources"),
        cost="10 classifiers; beyond 4,000 samples linear",
        citation=_CITATION,
        linear=True,
        wants=("one target",),
        coarse=Tuning({}, why="it weighs its members by itself, without a label of the target"),
    ),
    Method(
        name="champion",
        estimator=ChampionClassifier,
        summary="the best of four standard classifiers on held-out source labels; does not adapt",
        when="to know what adapting must beat",
        needs=("source labels",),
        uses=("target labels",),
        cost="4 classifiers × 6 fits",
        citation=_CITATION,
        linear=True,
        coarse=Tuning({}, why="it chooses by itself, on held-out source labels"),
    ),
    Method(
        name="domain-generalizer",
        estimator=DomainGeneralizer,
        summary="plain classifiers and SCA vote, weighed by source domains left out",
        when="the target cannot be seen yet",
        needs=("source labels",),
        uses=("target labels", "several sources"),
        cost="8 classifiers × at most 6 fits; beyond 4,000 samples linear",
        citation="skatter developers: docs/generalization.md, 2026.",
        grid={"criterion": ("mean", "worst")},
        linear=True,
        coarse=Tuning({}, why="it chooses by itself, by leaving sources out"),
    ),
)

HEDGED_REGRESSOR = Method(
    name="hedged-regressor",
    estimator=HedgedRegressor,
    kind="regressor",
    summary="plain and adapted regressors, averaged with weights that need no target label",
    when="labels are numbers",
    needs=("source labels",),
    uses=("target labels", "several sources"),
    cost="10 regressors; beyond 4,000 samples linear",
    citation="skatter developers: docs/numbers.md, 2026.",
    linear=True,
)
"""For numbers; methods of the registry are for classes."""
