"""The methods, behind one interface and in one registry."""

from skatter.methods.adaptive_svm import AdaptiveSVM
from skatter.methods.artl import ARTL
from skatter.methods.bda import BDA
from skatter.methods.cidg import CIDG
from skatter.methods.coral import CORAL
from skatter.methods.dam import DAM
from skatter.methods.dica import DICA, UDICA
from skatter.methods.dip import DIP, DIPCC
from skatter.methods.easy_adapt import EasyAdapt, EasyAdaptSVM
from skatter.methods.easy_tl import EasyTL
from skatter.methods.gfk import GFK, subspace_disagreement
from skatter.methods.hfa import HFA
from skatter.methods.jda import JDA
from skatter.methods.jgsa import JGSA
from skatter.methods.kliep import KLIEP
from skatter.methods.kmm import KMM
from skatter.methods.landmarks import Landmarks
from skatter.methods.lre_svm import LRESVM, LRESVMAdaptation
from skatter.methods.marginal_kernel import MarginalKernelSVM
from skatter.methods.mda import MDA
from skatter.methods.meda import MEDA
from skatter.methods.mtae import MTAE
from skatter.methods.optimal_transport import LinearTransport, OptimalTransport
from skatter.methods.record import Method
from skatter.methods.registry import METHODS, get_method
from skatter.methods.sgf import SGF
from skatter.methods.spl import SPL
from skatter.methods.sstca import SSTCA
from skatter.methods.subspace_alignment import SubspaceAlignment, max_dimension_by_bound
from skatter.methods.tca import TCA
from skatter.methods.tjm import TJM
from skatter.methods.tsc import TSC
from skatter.methods.uml import UML
from skatter.methods.undo_bias import UndoBias, set_accuracy

__all__ = [
    "ARTL", "BDA", "CIDG", "CORAL", "DAM", "DICA", "DIP", "DIPCC", "GFK", "HFA", "JDA", "JGSA",
    "KLIEP", "KMM", "LRESVM", "MDA", "MEDA", "METHODS", "MTAE", "SGF", "SPL", "SSTCA", "TCA",
    "TJM", "TSC", "UDICA", "UML", "AdaptiveSVM", "EasyAdapt", "EasyAdaptSVM", "EasyTL",
    "LRESVMAdaptation", "Landmarks", "LinearTransport", "MarginalKernelSVM", "Method",
    "OptimalTransport", "SubspaceAlignment", "UndoBias", "get_method", "max_dimension_by_bound",
    "set_accuracy", "subspace_disagreement",
]  # fmt: skip
