"""The methods, behind one interface and in one registry."""

from skatter.methods.registry import METHODS, Method, get_method

__all__ = ["METHODS", "Method", "get_method"]
