"""What the rest of the project knows of a method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["features", "classifier", "weights", "regressor"]
Need = Literal[
    "source labels", "one target", "target labels", "several sources", "a set of new samples"
]


@dataclass(frozen=True)
class Method:
    """One entry of the registry.

    Attributes
    ----------
    name : str
        As users type it.
    estimator : type
        Built without arguments, it has sensible defaults.
    kind : "features", "classifier", "weights" or "regressor"
        What it gives: ``transform``, classes, weights on source samples (``weights_``) with which
        it trains any classifier, or numbers.
    summary : str
        What it does, in one line.
    when : str
        When to reach for it, in one line.
    needs : tuple of str
        What must be there at fit, or when new samples come.
    uses : tuple of str
        What it learns from where it is there, beyond what it needs.
    cost : str
        Leading cost of a fit.
    citation : str
        Where it comes from.
    grid : mapping
        Values worth trying, per parameter.
    extra : str
        The extra of the package that must be installed, named after the module it brings; none
        where empty.
    linear : bool
        Whether a fit holds no matrix of samples × samples, whatever it is given.
    nested : bool
        Whether ``n_components=k`` gives the first k features of any fit with more.
    """

    name: str
    estimator: type[Any]
    kind: Kind
    summary: str
    when: str
    needs: tuple[Need, ...]
    cost: str
    citation: str
    uses: tuple[Need, ...] = ()
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    extra: str = ""
    linear: bool = False
    nested: bool = False


COMPONENTS = (2, 5, 10, 15, 20, 30, 40, 60)
"""Numbers of kernel components worth trying."""

SUBSPACES = (5, 10, 20, 30, 50, 80, 100)
"""Dimensions of a subspace worth trying."""
