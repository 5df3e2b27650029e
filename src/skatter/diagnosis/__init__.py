"""Is there a shift, where, and in what? Domains, features and labels compared, in plain words.

:func:`diagnose` asks in turn which domains differ, which features carry the shift, whether labels
shift too, whether what is learnt in one domain holds in another and how much of the variance is
domain or class. A :class:`Diagnosis` says it.
"""

from skatter.diagnosis._examine import diagnose
from skatter.diagnosis._features import FeatureShift
from skatter.diagnosis._labels import LabelShift, NumberShift
from skatter.diagnosis._pairs import PairShift
from skatter.diagnosis._record import Diagnosis, DomainFacts, MissingShift
from skatter.diagnosis._transfer import Transfer, TransferPair
from skatter.diagnosis._variance import VarianceShares

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
