"""The registry: every method once, for the contract tests, the benchmark, the docs and the CLI.

A new method is one file beside this one, which ends with its entry, and one line below.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from skatter.methods.record import Method

_FILES = (
    "hedging",
    "family",
    "adaptive_svm",
    "artl",
    "bda",
    "cidg",
    "coral",
    "dam",
    "dica",
    "dip",
    "easy_adapt",
    "easy_tl",
    "gfk",
    "hfa",
    "jda",
    "jgsa",
    "kliep",
    "kmm",
    "landmarks",
    "lre_svm",
    "marginal_kernel",
    "mda",
    "meda",
    "mtae",
    "optimal_transport",
    "sgf",
    "spl",
    "sstca",
    "subspace_alignment",
    "tca",
    "tjm",
    "tsc",
    "uml",
    "undo_bias",
)

METHODS: Mapping[str, Method] = {
    method.name: method
    for file in _FILES
    for method in import_module(f"skatter.methods.{file}").METHODS
}
"""Methods by name."""


def get_method(name: str) -> Method:
    """Return a registered method, or list the names.

    Examples
    --------
    >>> get_method("sca").kind
    'features'
    """
    try:
        return METHODS[name]
    except KeyError:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {name!r}.") from None
