"""Parameters of estimators, declared: which values each may take, checked in one place.

A rule is a function of a parameter's name and value that raises where the value is out of range.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from skatter.checks import check_choice, check_integer, check_real

Rule = Callable[[str, Any], Any]
Rules = Mapping[str, Rule]


def integer(low: int) -> Rule:
    """Return the rule of integers of at least ``low``.

    Examples
    --------
    >>> integer(1)("n_components", 0)
    Traceback (most recent call last):
    ValueError: n_components must be at least 1, got 0.
    """
    return lambda name, value: check_integer(name, value, low=low)


def real(low: float = -np.inf, high: float = np.inf, *, open_low: bool = False) -> Rule:
    """Return the rule of finite numbers in [low, high], or (low, high] where ``open_low``."""
    return lambda name, value: check_real(name, value, low=low, high=high, open_low=open_low)


def choice(*options: Any) -> Rule:
    """Return the rule of values that are one of ``options``."""
    return lambda name, value: check_choice(name, value, options)


def optional(rule: Rule) -> Rule:
    """Return a rule that also takes None."""
    return lambda name, value: None if value is None else rule(name, value)


def named_or(rule: Rule, *names: str) -> Rule:
    """Return a rule that also takes some strings, and lists them where another one is given."""
    return lambda name, value: (
        check_choice(name, value, names) if isinstance(value, str) else rule(name, value)
    )


def random_state(name: str, value: Any) -> None:
    """Refuse what scikit-learn cannot make a random generator of."""
    try:
        check_random_state(value)
    except ValueError:
        raise ValueError(
            f"{name} must be None, an integer or a numpy RandomState, got {value!r}."
        ) from None


def verbosity(name: str, value: Any) -> None:
    """Refuse what is neither a truth value nor a level of at least 0."""
    if not isinstance(value, bool):
        check_integer(name, value, low=0)


POSITIVE = real(0, open_low=True)
NON_NEGATIVE = real(0)
SHARE = real(0, 1)
COUNT = integer(1)
BOOLEAN = choice(True, False)


class Declared:
    """Mixin of estimators that declare the rules of their parameters.

    ``_parameters`` holds the rules of a class's own parameters, on top of those of its bases, which
    it may replace. What depends on several parameters at once is checked in ``_check_together``.

    Examples
    --------
    >>> class Shrinking(Declared):
    ...     _parameters = {"share": SHARE}
    ...     share = 2
    >>> Shrinking().check_parameters()
    Traceback (most recent call last):
    ValueError: share must lie in [0, 1], got 2.
    """

    _parameters: ClassVar[Rules] = {}

    def check_parameters(self) -> None:
        """Raise where a parameter is out of its range; ``fit`` does this before all else."""
        for name, rule in rules_of(type(self)).items():
            rule(name, getattr(self, name))
        self._check_together()

    def _check_together(self) -> None:
        """Raise where parameters that are fine one by one do not go together."""


def rules_of(estimator: type) -> dict[str, Rule]:
    """Return the rules that a class and its bases declare, those of the bases first."""
    rules: dict[str, Rule] = {}
    for base in reversed(estimator.__mro__):
        rules.update(vars(base).get("_parameters", {}))
    return rules
