"""What the rest of the project knows of a method."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["features", "classifier", "weights", "regressor"]
Need = Literal[
    "source labels", "one target", "target labels", "several sources", "a set of new samples"
]


@dataclass(frozen=True)
class Tuning:
    """What is tuned of a method, and what is fixed.

    Attributes
    ----------
    grid : mapping
        Values of each parameter that is tuned; ``"C"`` and ``"C-1"`` stand for the number of
        classes and one less.
    fixed : mapping
        Parameters that differ from the default and are not tuned.
    why : str
        Where the values come from.
    """

    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    why: str = ""


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
    cost : str
        Leading cost of a fit.
    uses : tuple of str
        What it learns from where it is there, beyond what it needs.
    idle_without : tuple of str
        What it can be fitted without, but has no effect then.
    citation : str
        Where it comes from; where empty, the first reference of the estimator's docstring.
    grid : mapping
        Values worth trying, per parameter.
    coarse : Tuning or None
        What the benchmark tunes by default; None is all of ``grid``.
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
    uses: tuple[Need, ...] = ()
    idle_without: tuple[Need, ...] = ()
    citation: str = ""
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    coarse: Tuning | None = None
    extra: str = ""
    linear: bool = False
    nested: bool = False

    def __post_init__(self) -> None:
        if not self.citation:
            object.__setattr__(self, "citation", _first_reference(self.estimator))


def _first_reference(estimator: type[Any]) -> str:
    """Return the first paragraph of the section "References" of a docstring."""
    text = inspect.cleandoc(estimator.__doc__ or "")
    found = re.search(r"^References\n-+\n(.+?)(?:\n\n|\Z)", text, re.MULTILINE | re.DOTALL)
    return " ".join(found[1].split()) if found else ""


COMPONENTS = (2, 5, 10, 15, 20, 30, 40, 60)
"""Numbers of kernel components worth trying."""

KERNEL_COMPONENTS = (2, 5, "C-1", "C", 12, 15, 20, 30, 40, 60)
"""The same for the benchmark, C being the number of classes."""

SUBSPACES = (5, 10, 20, 30, 50, 80, 100)
"""Dimensions of a subspace worth trying."""
