"""Reporting: a fitted model and its samples as one HTML file to look at, print and send on."""

from skatter.reporting._page import report

__all__ = ["report"]
