"""The methods, behind one interface and in one registry."""

from skatter.methods.jda import JDA
from skatter.methods.record import Method
from skatter.methods.registry import METHODS, get_method
from skatter.methods.sstca import SSTCA
from skatter.methods.tca import TCA
from skatter.methods.tjm import TJM

__all__ = ["JDA", "METHODS", "SSTCA", "TCA", "TJM", "Method", "get_method"]
