"""Entries of the hedge and of the champion, whose estimators are in :mod:`skatter.hedging`."""

from __future__ import annotations

from skatter.hedging import ChampionClassifier, HedgedClassifier
from skatter.methods.record import Method

_CITATION = "skatter developers: docs/trust.md, 2026."

METHODS = (
    Method(
        name="hedged",
        estimator=HedgedClassifier,
        kind="classifier",
        summary="plain and adapted classifiers vote, weighed by their agreement",
        when="the target is at hand without labels, and a wrong choice would cost",
        needs=("source labels",),
        uses=("target labels", "several sources"),
        cost="10 classifiers; beyond 4,000 samples linear",
        citation=_CITATION,
        linear=True,
    ),
    Method(
        name="champion",
        estimator=ChampionClassifier,
        kind="classifier",
        summary="the best of four standard classifiers on held-out source labels; does not adapt",
        when="to know what adapting must beat",
        needs=("source labels",),
        uses=("target labels",),
        cost="4 classifiers × 6 fits",
        citation=_CITATION,
        linear=True,
    ),
)
