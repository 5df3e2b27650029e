"""The registry: every method once, for the contract tests, the benchmark, the docs and the CLI.

A new method is one file beside this one, whose class :func:`~skatter.methods._record.method`
registers, and one name below.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from skatter.methods import _entries as entries
from skatter.methods._record import Method, registered_in

_FILES = (
    "adaptive_svm", "artl", "bda", "cidg", "coral", "dam", "dica", "dip", "easy_adapt",
    "easy_tl", "gfk", "hfa", "jda", "jgsa", "kliep", "kmm", "landmarks", "lre_svm",
    "marginal_kernel", "mda", "meda", "mtae", "optimal_transport", "sgf", "spl", "sstca",
    "subspace_alignment", "tca", "tjm", "tsc", "uml", "undo_bias",
)  # fmt: skip

_MODULES = [import_module(f"skatter.methods._{name}") for name in _FILES]
_OWN = [entry for module in _MODULES for entry in registered_in(module.__name__)]
METHODS: Mapping[str, Method] = {entry.name: entry for entry in (*entries.METHODS, *_OWN)}
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
