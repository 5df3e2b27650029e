"""Train where you have labels, predict where you don't.

Domain adaptation and domain generalization by Scatter Component Analysis, the scikit-learn way.
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from skatter.class_span import ClassSpan
from skatter.hedging import (
    ChampionClassifier,
    ChampionRegressor,
    DomainGeneralizer,
    HedgedClassifier,
    HedgedRegressor,
    does_it_help,
)
from skatter.maps import LandmarkMap
from skatter.neighbours import NearestNeighbour
from skatter.pieces import _dask as _dask
from skatter.pipeline import DomainPipeline, make_domain_pipeline
from skatter.sca import KPCA, SCA, USCA, KernelFisher
from skatter.scaling import DomainScaler
from skatter.selection import SCACV, LeaveOneDomainOut, make_domain_scorer
from skatter.self_training import SCAClassifier

if TYPE_CHECKING:
    from skatter.adaptation import adapt, ask
    from skatter.diagnosis import diagnose
    from skatter.reporting import report

__version__ = version("skatter")

__all__ = [
    "KPCA",
    "SCA",
    "SCACV",
    "USCA",
    "ChampionClassifier",
    "ChampionRegressor",
    "ClassSpan",
    "DomainGeneralizer",
    "DomainPipeline",
    "DomainScaler",
    "HedgedClassifier",
    "HedgedRegressor",
    "KernelFisher",
    "LandmarkMap",
    "LeaveOneDomainOut",
    "NearestNeighbour",
    "SCAClassifier",
    "__version__",
    "adapt",
    "ask",
    "diagnose",
    "does_it_help",
    "make_domain_pipeline",
    "make_domain_scorer",
    "report",
]

LATER = {
    "adapt": "skatter.adaptation",
    "ask": "skatter.adaptation",
    "diagnose": "skatter.diagnosis",
    "report": "skatter.reporting",
}
"""Names for tables and pages, and their rooms: who wants an estimator does not wait for them."""


def __getattr__(name: str) -> Any:
    if name not in LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(LATER[name]), name)
