"""Hedging: plain and adapted models, weighed without a target label instead of chosen."""

from skatter.hedging._benefit import does_it_help
from skatter.hedging._champion import ChampionClassifier
from skatter.hedging._classifier import HedgedClassifier
from skatter.hedging._error import NumberJudgement
from skatter.hedging._expectation import Judgement
from skatter.hedging._generalizer import DomainGeneralizer
from skatter.hedging._members import Member
from skatter.hedging._number_champion import ChampionRegressor
from skatter.hedging._regressor import HedgedRegressor

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
