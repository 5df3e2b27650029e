"""Train where you have labels, predict where you don't.

Domain adaptation and domain generalization by Scatter Component Analysis, the scikit-learn way.
"""

from importlib.metadata import version

from skatter.maps import LandmarkMap
from skatter.neighbours import NearestNeighbour
from skatter.pipeline import DomainPipeline, make_domain_pipeline
from skatter.sca import KPCA, SCA, USCA, KernelFisher
from skatter.scaling import DomainScaler
from skatter.selection import SCACV, DomainGeneralizer, LeaveOneDomainOut, does_it_help
from skatter.self_training import SCAClassifier

__version__ = version("skatter")

__all__ = [
    "KPCA",
    "SCA",
    "SCACV",
    "USCA",
    "DomainGeneralizer",
    "DomainPipeline",
    "DomainScaler",
    "KernelFisher",
    "LandmarkMap",
    "LeaveOneDomainOut",
    "NearestNeighbour",
    "SCAClassifier",
    "__version__",
    "does_it_help",
    "make_domain_pipeline",
]
