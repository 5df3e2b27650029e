"""The methods, behind one interface and in one registry."""

from skatter.methods._adaptive_svm import AdaptiveSVM
from skatter.methods._artl import ARTL
from skatter.methods._bda import BDA
from skatter.methods._cidg import CIDG
from skatter.methods._coral import CORAL
from skatter.methods._dam import DAM
from skatter.methods._dica import DICA, UDICA
from skatter.methods._dip import DIP, DIPCC
from skatter.methods._easy_adapt import EasyAdapt, EasyAdaptSVM
from skatter.methods._easy_tl import EasyTL
from skatter.methods._gfk import GFK, subspace_disagreement
from skatter.methods._hfa import HFA
from skatter.methods._jda import JDA
from skatter.methods._jgsa import JGSA
from skatter.methods._kliep import KLIEP
from skatter.methods._kmm import KMM
from skatter.methods._landmarks import Landmarks
from skatter.methods._lre_svm import LRESVM, LRESVMAdaptation
from skatter.methods._marginal_kernel import MarginalKernelSVM
from skatter.methods._mda import MDA
from skatter.methods._meda import MEDA
from skatter.methods._mtae import MTAE
from skatter.methods._optimal_transport import LinearTransport, OptimalTransport
from skatter.methods._record import Method
from skatter.methods._registry import METHODS, get_method
from skatter.methods._sgf import SGF
from skatter.methods._spl import SPL
from skatter.methods._sstca import SSTCA
from skatter.methods._subspace_alignment import SubspaceAlignment, max_dimension_by_bound
from skatter.methods._tca import TCA
from skatter.methods._tjm import TJM
from skatter.methods._tsc import TSC
from skatter.methods._uml import UML
from skatter.methods._undo_bias import UndoBias, set_accuracy

__all__ = [
    "ARTL", "BDA", "CIDG", "CORAL", "DAM", "DICA", "DIP", "DIPCC", "GFK", "HFA", "JDA", "JGSA",
    "KLIEP", "KMM", "LRESVM", "MDA", "MEDA", "METHODS", "MTAE", "SGF", "SPL", "SSTCA", "TCA",
    "TJM", "TSC", "UDICA", "UML", "AdaptiveSVM", "EasyAdapt", "EasyAdaptSVM", "EasyTL",
    "LRESVMAdaptation", "Landmarks", "LinearTransport", "MarginalKernelSVM", "Method",
    "OptimalTransport", "SubspaceAlignment", "UndoBias", "get_method", "max_dimension_by_bound",
    "set_accuracy", "subspace_disagreement",
]  # fmt: skip
