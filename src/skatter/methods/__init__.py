"""The methods, behind one interface and in one registry."""

from skatter.methods.record import Method
from skatter.methods.registry import METHODS, get_method

__all__ = ["METHODS", "Method", "get_method"]
