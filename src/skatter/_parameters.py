"""Parameters of estimators, declared: name, default and the values that each may take.

A rule is a function of a parameter's name and value that raises where the value is out of range.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from inspect import cleandoc
from typing import Any, TypeVar, dataclass_transform

import numpy as np
from sklearn.utils import check_random_state

from skatter._checks import check_choice, check_integer, check_real

Rule = Callable[[str, Any], Any]
Kind = TypeVar("Kind", bound=type)


def integer(low: int) -> Rule:
    return lambda name, value: check_integer(name, value, low=low)


def real(low: float = -np.inf, high: float = np.inf, *, open_low: bool = False) -> Rule:
    """Return the rule of finite numbers in [low, high], or (low, high] where ``open_low``."""
    return lambda name, value: check_real(name, value, low=low, high=high, open_low=open_low)


def choice(*options: Any) -> Rule:
    return lambda name, value: check_choice(name, value, options)


def optional(rule: Rule) -> Rule:
    return lambda name, value: None if value is None else rule(name, value)


def named_or(rule: Rule, *names: str) -> Rule:
    """Return a rule that also takes some strings, and lists them where another one is given."""
    return lambda name, value: (
        check_choice(name, value, names) if isinstance(value, str) else rule(name, value)
    )


def several(rule: Rule, words: str = "at least one candidate") -> Rule:
    """Return a rule that takes one value or more, and returns them sorted, each once."""

    def check(name: str, values: Any) -> list[Any]:
        listed = (values,) if np.ndim(values) == 0 else values
        checked = sorted({rule(name, value) for value in listed})
        if not checked:
            raise ValueError(f"{name} must name {words}, got none.")
        return checked

    return check


def random_state(name: str, value: Any) -> None:
    try:
        check_random_state(value)
    except ValueError:
        raise ValueError(
            f"{name} must be None, an integer or a numpy RandomState, got {value!r}."
        ) from None


def verbosity(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        check_integer(name, value, low=0)


POSITIVE = real(0, open_low=True)
NON_NEGATIVE = real(0)
SHARE = real(0, 1)
COUNT = integer(1)
BOOLEAN = choice(True, False)


def parameter(rule: Rule, *, default: Any, kw_only: bool = True) -> Any:
    """Declare a parameter by its rule and its default; see :class:`Declared`."""
    return field(default=default, kw_only=kw_only, metadata={"rule": rule})


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(parameter,))
def declared(estimator: Kind) -> Kind:
    """Make the constructor of a class, and complete its docstring from those of its bases."""
    dataclass(eq=False, repr=False, kw_only=True)(estimator)
    if estimator.__doc__:
        _inherit_documentation(estimator)
    return estimator


class Declared:
    """Mixin of estimators that declare their parameters, each with a default and a rule.

    The decorator :func:`declared` makes the constructor of them. A class inherits the parameters of
    its bases, and what their docstrings say of parameters and attributes; it may give a parameter
    another default, and another rule; one without a rule takes any value. What depends on several
    parameters at once is checked in ``_check_together``.

    Examples
    --------
    >>> @declared
    ... class Shrinking(Declared):
    ...     share: float = parameter(SHARE, default=0.5)
    >>> Shrinking(share=2).check_parameters()
    Traceback (most recent call last):
    ValueError: share must lie in [0, 1], got 2.
    """

    def check_parameters(self) -> None:
        """Raise where a parameter is out of its range; ``fit`` does this before all else."""
        for name, rule in rules_of(type(self)).items():
            rule(name, getattr(self, name))
        self._check_together()

    def _check_together(self) -> None:
        """Raise where parameters that are fine one by one do not go together."""


def rules_of(estimator: type) -> dict[str, Rule]:
    rules: dict[str, Rule] = {}
    for base in reversed(estimator.__mro__):
        own = vars(base).get("__dataclass_fields__", {}).values()
        rules.update({each.name: each.metadata["rule"] for each in own if each.metadata})
    return rules


def _inherit_documentation(estimator: type) -> None:
    """Append the entries of its bases to the sections on parameters and attributes."""
    sections = _sections(estimator)
    taken = {each.name for each in fields(estimator)}
    for title in ("Parameters", "Attributes"):
        entries = _entries(sections.get(title, ""))
        for base in (base for base in estimator.__mro__[1:] if issubclass(base, Declared)):
            known = set().union(*entries)
            for names, text in _entries(_sections(base).get(title, "")).items():
                if known.isdisjoint(names) and (title == "Attributes" or taken & set(names)):
                    entries[names] = text
        if entries:
            sections[title] = "\n".join(entries.values()) + "\n\n"
    order = dict.fromkeys(["", "Parameters", "Attributes", *sections])
    titles = [title for title in order if title in sections]
    headings = [f"{title}\n{'-' * len(title)}\n" if title else "" for title in titles]
    estimator.__doc__ = "".join(
        heading + sections[title] for heading, title in zip(headings, titles, strict=True)
    )


def _sections(estimator: type) -> dict[str, str]:
    """Return the sections of a docstring by title, what stands above them without one."""
    text = cleandoc(estimator.__doc__ or "") + "\n"
    parts = re.split(r"^(\w[\w ]*)\n-{3,}\n", text, flags=re.MULTILINE)
    return dict(zip(["", *parts[1::2]], parts[::2], strict=True))


def _entries(section: str) -> dict[tuple[str, ...], str]:
    """Return the entries of a section by the names that each is about."""
    texts = re.split(r"\n+(?=\S)", section.strip("\n")) if section else []
    heads = [text.partition("\n")[0].partition(" : ")[0] for text in texts]
    return {tuple(head.split(", ")): text for head, text in zip(heads, texts, strict=True)}
