"""Hedging: plain and adapted classifiers, weighed without a target label instead of chosen."""

from skatter.hedging.champion import ChampionClassifier
from skatter.hedging.classifier import HedgedClassifier, Member

__all__ = ["ChampionClassifier", "HedgedClassifier", "Member"]
