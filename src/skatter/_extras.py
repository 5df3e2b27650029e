"""Libraries that come with an extra, and what is said where one is missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def need(module: str, words: str) -> Any:
    """Import a module, or say in these words who needs it and how to get it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(words) from error
