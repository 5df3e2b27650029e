"""Hedging: plain and adapted classifiers, weighed without a target label instead of chosen."""

from skatter.hedging.benefit import does_it_help
from skatter.hedging.champion import ChampionClassifier
from skatter.hedging.classifier import HedgedClassifier
from skatter.hedging.expectation import Judgement
from skatter.hedging.members import Member

__all__ = ["ChampionClassifier", "HedgedClassifier", "Judgement", "Member", "does_it_help"]
