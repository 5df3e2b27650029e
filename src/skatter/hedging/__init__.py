"""Hedging: classifiers that vote, weighed without a target label instead of chosen."""

from skatter.hedging.benefit import does_it_help
from skatter.hedging.champion import ChampionClassifier
from skatter.hedging.classifier import HedgedClassifier, Member
from skatter.hedging.expectation import Judgement
from skatter.hedging.generalizer import DomainGeneralizer

__all__ = [
    "ChampionClassifier",
    "DomainGeneralizer",
    "HedgedClassifier",
    "Judgement",
    "Member",
    "does_it_help",
]
