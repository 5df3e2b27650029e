"""Hedging: plain and adapted models, weighed without a target label instead of chosen."""

from skatter.hedging.benefit import does_it_help
from skatter.hedging.champion import ChampionClassifier
from skatter.hedging.classifier import HedgedClassifier
from skatter.hedging.error import NumberJudgement
from skatter.hedging.expectation import Judgement
from skatter.hedging.generalizer import DomainGeneralizer
from skatter.hedging.members import Member
from skatter.hedging.number_champion import ChampionRegressor
from skatter.hedging.regressor import HedgedRegressor

__all__ = [
    "ChampionClassifier",
    "ChampionRegressor",
    "DomainGeneralizer",
    "HedgedClassifier",
    "HedgedRegressor",
    "Judgement",
    "Member",
    "NumberJudgement",
    "does_it_help",
]
