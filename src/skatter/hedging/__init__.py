"""Hedging: plain and adapted classifiers, weighed without a target label instead of chosen."""

from skatter.hedging.benefit import does_it_help
from skatter.hedging.champion import ChampionClassifier
from skatter.hedging.classifier import HedgedClassifier, Member
from skatter.hedging.expectation import Judgement

__all__ = ["ChampionClassifier", "HedgedClassifier", "Judgement", "Member", "does_it_help"]
