"""What the rest of the project knows of a method."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, dataclass_transform

from skatter._parameters import Rule, declared, parameter

Kind = Literal["features", "classifier", "weights", "regressor"]
Need = Literal[
    "source labels", "one target", "target labels", "several sources", "a set of new samples"
]
Estimator = TypeVar("Estimator", bound=type)


@dataclass(frozen=True)
class Tuning:
    """What an experiment tries: values by parameter, parameters that are fixed, and the reason."""

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
        it trains any classifier, or numbers. Without a ``transform``, "features" becomes
        "classifier".
    summary : str
        What it does, in one line.
    when : str
        When to reach for it, in one line.
    needs : tuple of str
        What must be there at fit, or when new samples come.
    uses : tuple of str
        What it learns from where it is there, beyond what it needs.
    wants : tuple of str
        What it can be fitted without, and is of no use without.
    cost : str
        Leading cost of a fit.
    citation : str
        Where it comes from; where empty, the first reference of the estimator's docstring.
    grid : mapping
        Values worth trying, per parameter.
    coarse, unseen : Tuning or None
        What the published tables of the benchmark try of it, so that slow methods finish, and what
        instead where no target is seen. None is ``grid``, and None is ``coarse``.
    extra : str
        The extra of the package that must be installed, named after the module it brings.
    linear : bool
        Whether a fit holds no matrix of samples × samples, whatever it is given.
    nested : bool
        Whether ``n_components=k`` gives the first k features of any fit with more.
    """

    name: str
    estimator: type[Any]
    summary: str
    when: str
    needs: tuple[Need, ...]
    cost: str
    kind: Kind = "features"
    uses: tuple[Need, ...] = ()
    wants: tuple[Need, ...] = ()
    citation: str = ""
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    extra: str = ""
    linear: bool = False
    nested: bool = False
    coarse: Tuning | None = None
    unseen: Tuning | None = None

    def __post_init__(self) -> None:
        if not self.citation:
            object.__setattr__(self, "citation", _first_reference(self.estimator))
        if self.kind == "features" and not hasattr(self.estimator, "transform"):
            object.__setattr__(self, "kind", "classifier")


def say_needs(method: Method) -> str:
    extra = (f"the extra {method.extra}",) if method.extra else ()
    needs = ", ".join(method.needs + extra) or "nothing"
    return f"{needs}; {', '.join(method.uses)} if there" if method.uses else needs


def _first_reference(estimator: type[Any]) -> str:
    """Return the first paragraph of the section "References" of a docstring."""
    text = inspect.cleandoc(estimator.__doc__ or "")
    found = re.search(r"^References\n-+\n(.+?)(?:\n\n|\Z)", text, re.MULTILINE | re.DOTALL)
    return " ".join(found[1].split()) if found else ""


_REGISTERED: list[Method] = []


def tried(rule: Rule, *values: Any, default: Any, kw_only: bool = True) -> Any:
    """Declare a parameter as :func:`parameter` does, and the values worth trying."""
    return field(default=default, kw_only=kw_only, metadata={"rule": rule, "values": values})


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(parameter, tried))
def method(
    name: str, *, needs: tuple[Need, ...] | None = None, **facts: Any
) -> Callable[[Estimator], Estimator]:
    """Declare the parameters of an estimator, and register it by facts that :class:`Method` lists.

    Its summary is what the first line of its docstring says after the name; unless told, it needs
    what its class says. Values in ``grid`` come before those that it, or a base, declares.
    """

    def register(estimator: Estimator) -> Estimator:
        known: Any = declared(estimator)
        summary = (known.__doc__ or "").partition("\n")[0].partition(": ")[2].rstrip(".")
        facts["needs"] = known.needs if needs is None else needs
        grid = dict(facts.pop("grid", {}))
        for base in reversed(known.__mro__):
            for each in vars(base).get("__dataclass_fields__", {}).values():
                if "values" in each.metadata:
                    grid.setdefault(each.name, each.metadata["values"])
        entry = Method(name=name, estimator=estimator, summary=summary, grid=grid, **facts)
        _REGISTERED.append(entry)
        return estimator

    return register


def registered_in(module: str) -> list[Method]:
    return [each for each in _REGISTERED if each.estimator.__module__ == module]


COMPONENTS = (2, 5, 10, 15, 20, 30, 40, 60)  # numbers of kernel components worth trying
# The same in the benchmark, which knows the number of classes, C.
CLASS_COMPONENTS = (2, 5, "C-1", "C", 12, 15, 20, 30, 40, 60)

SUBSPACES = (5, 10, 20, 30, 50, 80, 100)  # dimensions of a subspace worth trying
