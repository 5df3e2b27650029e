"""The registry: every method once, for the contract tests, the benchmark, the docs and the CLI."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from skatter.sca import KPCA, SCA, USCA, KernelFisher
from skatter.selection import BETAS, DELTAS

Kind = Literal["features", "classifier", "weights"]
Need = Literal["source labels", "target samples", "target labels", "several sources"]

_SCA = (
    "M. Ghifary, D. Balduzzi, W. B. Kleijn, M. Zhang: Scatter Component Analysis. "
    "IEEE TPAMI 39(7), 2017."
)


@dataclass(frozen=True)
class Method:
    """What the rest of the project knows of a method.

    Attributes
    ----------
    name : str
        As users type it.
    estimator : type
        Built without arguments, it has sensible defaults.
    kind : "features", "classifier" or "weights"
        What it gives: ``transform``, ``predict``, or sample weights.
    summary : str
        One line for the table of methods.
    needs : tuple of str
        What must be there at fit; what is missing from it is optional.
    cost : str
        Leading cost of a fit.
    citation : str
        Where it comes from.
    grid : mapping
        Values worth trying, per parameter.
    """

    name: str
    estimator: type[Any]
    kind: Kind
    summary: str
    needs: tuple[Need, ...]
    cost: str
    citation: str
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)


COMPONENTS = (2, 5, 10, 15, 20, 30, 40, 60)

METHODS: Mapping[str, Method] = {
    method.name: method
    for method in (
        Method(
            name="sca",
            estimator=SCA,
            kind="features",
            summary="classes apart, domains together",
            needs=("source labels",),
            cost="n²p + n_l³/3 + k n²",
            citation=_SCA,
            grid={
                "n_components": COMPONENTS,
                "beta": BETAS,
                "delta": DELTAS,
            },
        ),
        Method(
            name="usca",
            estimator=USCA,
            kind="features",
            summary="domains together, without labels",
            needs=(),
            cost="n²p + k n²",
            citation=_SCA,
            grid={"n_components": COMPONENTS, "delta": (0.1, 1.0, 10.0, 100.0)},
        ),
        Method(
            name="kfd",
            estimator=KernelFisher,
            kind="features",
            summary="classes apart, domains pooled",
            needs=("source labels",),
            cost="n²p + n_l³/3",
            citation=(
                "S. Mika, G. Rätsch, J. Weston, B. Schölkopf, K.-R. Müller: Fisher Discriminant "
                "Analysis with Kernels. NNSP 1999."
            ),
            grid={"ridge": (1e-3, 1e-2, 1e-1, 1.0)},
        ),
        Method(
            name="kpca",
            estimator=KPCA,
            kind="features",
            summary="largest variance, domains pooled",
            needs=(),
            cost="n²p + k n²",
            citation=(
                "B. Schölkopf, A. Smola, K.-R. Müller: Nonlinear Component Analysis as a Kernel "
                "Eigenvalue Problem. Neural Computation 10(5), 1998."
            ),
            grid={"n_components": COMPONENTS},
        ),
    )
}
"""Methods by name; a new one is one file beside this and one entry here."""


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
