"""Methods from elsewhere: those that installed packages announce, and those a user names.

A package announces a method in its ``pyproject.toml``::

    [project.entry-points."skatter.methods"]
    mine = "my_package:Mine"

where ``Mine`` is an estimator, or a :class:`~skatter.methods.Method` that says more about it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.metadata import entry_points
from inspect import getdoc
from typing import Any

from skatter.methods._record import Method
from skatter.methods._registry import METHODS

GROUP = "skatter.methods"  # the group of entry points that announce methods


def all_methods(named: Sequence[str] = ()) -> Mapping[str, Method]:
    """Return the registry, what installed packages announce, and what is named here."""
    found = dict(METHODS)
    announced = sorted(entry_points(group=GROUP), key=lambda entry: entry.name)
    for path in (*(entry.value for entry in announced), *named):
        method = describe(load_object(path), path)
        taken = found.get(method.name)
        if taken is not None and taken.estimator is not method.estimator:
            raise ValueError(
                f"method {path!r} is called {method.name!r}, a name that is taken. Rename the "
                "class, or hand over a Method with another name."
            )
        found[method.name] = method
    return found


def load_object(path: str) -> Any:
    """Return what ``"module:Name"`` names."""
    module, _, name = path.partition(":")
    if not module or not name:
        raise ValueError(f"method must be written as module:Class, got {path!r}.")
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        raise ValueError(
            f"method {path!r}: there is no module {error.name!r}. Install it, or put its folder "
            "on PYTHONPATH."
        ) from None
    except AttributeError:
        raise ValueError(f"method {path!r}: the module has no {name!r}.") from None


def describe(found: Any, path: str) -> Method:
    """Return what is known of a method: all that it says itself, or what its class tells."""
    if isinstance(found, Method):
        return found
    if not (isinstance(found, type) and hasattr(found, "fit")):
        raise ValueError(f"method {path!r} must be an estimator class or a Method.")
    if not (hasattr(found, "transform") or hasattr(found, "predict")):
        raise ValueError(f"method {path!r} must have transform or predict.")
    return Method(
        name=found.__name__.lower(),
        estimator=found,
        summary=(getdoc(found) or path).splitlines()[0].rstrip("."),
        when="you brought it",
        needs=(),
        cost="unknown",
        citation="none",
    )
