"""Is there a shift, where, and in what? Domains, features and labels compared, in plain words.

:func:`diagnose` asks in turn which domains differ (:mod:`~skatter.diagnosis.pairs`), which features
carry the shift (:mod:`~skatter.diagnosis.features`), whether labels shift too
(:mod:`~skatter.diagnosis.labels`), whether what is learnt in one domain holds in another
(:mod:`~skatter.diagnosis.transfer`) and how much of the variance is domain or class
(:mod:`~skatter.diagnosis.variance`). A :class:`Diagnosis` says it.
"""

from skatter.diagnosis.examine import diagnose
from skatter.diagnosis.features import FeatureShift
from skatter.diagnosis.labels import LabelShift, NumberShift
from skatter.diagnosis.pairs import PairShift
from skatter.diagnosis.record import Diagnosis, DomainFacts, MissingShift
from skatter.diagnosis.transfer import Transfer, TransferPair
from skatter.diagnosis.variance import VarianceShares

__all__ = [
    "Diagnosis",
    "DomainFacts",
    "FeatureShift",
    "LabelShift",
    "MissingShift",
    "NumberShift",
    "PairShift",
    "Transfer",
    "TransferPair",
    "VarianceShares",
    "diagnose",
]
