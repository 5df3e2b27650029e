"""Versions of what the numbers depend on."""

from __future__ import annotations

import platform
from importlib.metadata import version


def versions() -> dict[str, str]:
    """Return the version of Python, of skatter and of the libraries that it computes with."""
    names = ("numpy", "scipy", "scikit-learn", "skatter")
    return {"python": platform.python_version(), **{name: version(name) for name in names}}
