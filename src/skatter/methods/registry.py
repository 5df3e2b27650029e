"""The registry: every method once, for the contract tests, the benchmark, the docs and the CLI.

A new method is one file beside this one, which ends with its entry, and one line below.
"""

from __future__ import annotations

from collections.abc import Mapping

from skatter.methods import (
    adaptive_svm,
    cidg,
    coral,
    dam,
    dica,
    dip,
    easy_adapt,
    family,
    gfk,
    hedging,
    hfa,
    jda,
    kmm,
    landmarks,
    lre_svm,
    marginal_kernel,
    mda,
    mtae,
    sgf,
    sstca,
    subspace_alignment,
    tca,
    tjm,
    tsc,
    uml,
    undo_bias,
)
from skatter.methods.record import Method

_MODULES = (
    hedging,
    family,
    adaptive_svm,
    cidg,
    coral,
    dam,
    dica,
    dip,
    easy_adapt,
    gfk,
    hfa,
    jda,
    kmm,
    landmarks,
    lre_svm,
    marginal_kernel,
    mda,
    mtae,
    sgf,
    sstca,
    subspace_alignment,
    tca,
    tjm,
    tsc,
    uml,
    undo_bias,
)

METHODS: Mapping[str, Method] = {
    method.name: method for module in _MODULES for method in module.METHODS
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
