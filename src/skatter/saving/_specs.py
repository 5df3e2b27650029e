"""What attributes may hold, in short words: kinds of values, dtypes, and shapes that agree.

The words of a specification, with alternatives separated by ``|``:

========================  =========================================================================
``any``                   whatever a model file can hold
``none bool str num``     None; a bool; a string; a number that is finite
``int``, ``int p``        an integer from 0; one that is the size p
``= a b``                 one of these strings
``dtype``, ``type``       a dtype; a scalar type of NumPy
``f n p``                 an array of n rows and p columns: ``f`` floats as large as samples may be,
                          ``d`` such float64, ``h`` such floats or NaN, ``v`` finite floats, ``g``
                          any floats, ``i`` integers from 0, ``w`` int32 from 0, ``l`` labels,
                          all different, ``o`` strings, ``b`` bools, ``x`` anything
``d 0``, ``[num] 2``      an array, or a list, of this very length
``i n <c``, ``int <c``    an array with numbers below c, one at least; one such number
``@Name``, ``@predict``   an object of this class; an estimator with this method, fitted
``@Name p``               one that takes p features
``[...]``, ``[...] m``    a list or tuple of these; one of m of them
``{...}``                 a dict from strings to these
========================  =========================================================================

A letter is one size in all attributes of an object, and in those of objects inside it, which are
named with a dot (``machine_.classes``); ``*`` is any size, ``c-1`` and ``d+1`` are one less and one
more, ``out`` is the number of outputs for c classes (1 for two), ``pairs`` that of their pairs, and
``copies`` that of p features for all and for each of e.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from skatter._checks import LARGEST
from skatter._tensors import Array
from skatter.tables._dates import PARTS

KINDS = {**dict.fromkeys("fdhvg", "f"), **dict.fromkeys("lx", "biufUO")}
KINDS |= {"i": "iu", "w": "i", "o": "OU", "b": "b"}
"""Kinds of dtypes that a letter stands for."""

DERIVED: dict[str, Callable[[Mapping[str, int]], int]] = {
    "out": lambda sizes: 1 if sizes["c"] == 2 else sizes["c"],
    "pairs": lambda sizes: sizes["c"] * (sizes["c"] - 1) // 2,
    "copies": lambda sizes: sizes["p"] * (sizes["e"] + 1),
    "c-1": lambda sizes: sizes["c"] - 1,
    "d+1": lambda sizes: sizes["d"] + 1,
    "e+1": lambda sizes: sizes["e"] + 1,
    "s+1": lambda sizes: sizes["s"] + 1,
}


class Refused(ValueError):
    """Something in a model that a file may not hold."""


@cache
def class_of(name: str) -> type:
    """Return a class of the list; the name is never that of a file, but the list's own."""
    module, _, kind = name.rpartition(".")
    found: type = getattr(import_module(module), kind)
    return found


PIPELINES = {"Pipeline", "DomainPipeline"}
WRAPPERS = {"FrozenEstimator": "estimator", "SCACV": "best_estimator_"}
"""Estimators that do what another one does, and the attribute that holds it."""

AS_WIDE = {
    *("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "Normalizer"),
    *("FunctionTransformer", "KernelCenterer", "DomainRanks", "DomainScaler"),
    *("CORAL", "LinearTransport", "OptimalTransport"),
}
"""Transformers that make as many features as they take."""


@dataclass(frozen=True, eq=False)
class Part:
    """An object of a model before it is built: its type, by name, and its attributes."""

    name: str
    state: dict[str, Any]

    @property
    def kind(self) -> str:
        return self.name.rpartition(".")[2]

    @property
    def inner(self) -> list[Part]:
        """The estimators that samples go through, one after the other; itself where it is one."""
        if self.kind in PIPELINES:
            steps = [step for _, step in self.state["steps"] if isinstance(step, Part)]
            return [each for step in steps for each in step.inner]
        held = self.state.get(WRAPPERS.get(self.kind, ""))
        return held.inner if isinstance(held, Part) else [self]

    def can(self, method: str) -> bool:
        """Whether it is an estimator with a method; a pipeline has those of its last step."""
        if self.kind in PIPELINES:
            last = self.state["steps"][-1][1]
            return last.can(method) if isinstance(last, Part) else method == "transform"
        held = self.state.get(WRAPPERS.get(self.kind, ""))
        if isinstance(held, Part):
            return held.can(method)
        if self.kind == "SVC" and method == "predict_proba":
            return self.state["probability"] is True
        if self.kind == "LinearDiscriminantAnalysis" and method == "transform":
            return self.state["solver"] != "lsqr"
        kind = class_of(self.name)
        return issubclass(kind, BaseEstimator) and callable(getattr(kind, method, None))

    @property
    def gives(self) -> int | None:
        """Features that it makes, where that can be seen."""
        inner = self.inner
        return _features_of(inner[-1]) if inner else None

    @property
    def width(self) -> int | None:
        """Features that it takes, where that can be seen."""
        inner = self.inner
        state = inner[0].state if inner else {}
        for name in ("n_features_in_", "n_features"):
            if isinstance(state.get(name), int | np.integer):
                return int(state[name])
        for name in ("origin", "matrix", "ids", "samples", "vectors", "X", "_samples"):
            if isinstance(state.get(name), np.ndarray):
                return int(state[name].shape[-1])
        return None


def _features_of(part: Part) -> int | None:
    if part.kind in AS_WIDE:
        return part.width
    if part.kind in _MAKES:
        return _MAKES[part.kind](part)
    for name in ("n_features_out_", "_n_features_out", "n_components_"):
        if isinstance(part.state.get(name), int | np.integer):
            return int(part.state[name])
    for name, axis in (("dual_coef_", -1), ("components_", 0)):
        found = part.state.get(name)
        if isinstance(found, np.ndarray) and found.ndim:
            return int(found.shape[axis])
    return None


def _imputed(part: Part) -> int:
    """Return how many columns an imputer makes: those that were empty in the fit are dropped."""
    found = part.state["statistics_"]
    kept = part.state["strategy"] == "constant" or part.state["keep_empty_features"]
    empty = 0 if kept else sum(each != each for each in found.tolist())
    return len(found) - empty


def _discriminants(part: Part) -> int:
    """Return how many discriminant axes are used, of those that there are."""
    return min(part.state["scalings_"].shape[1], part.state["_max_components"])


def _put_together(part: Part) -> int | None:
    """Return how many columns a ColumnTransformer makes."""
    total = 0
    for _, way, columns in part.state["transformers_"]:
        made = way.gives if isinstance(way, Part) else len(columns) * (way == "passthrough")
        if made is None:
            return None
        total += made
    return total


_MAKES: dict[str, Callable[[Part], int | None]] = {
    "ColumnTransformer": _put_together,
    "DateParts": lambda part: part.state["n_features_in_"] * len(PARTS),
    "LinearDiscriminantAnalysis": _discriminants,
    "OneHotEncoder": lambda part: sum(part.state["_n_features_outs"]),
    "SimpleImputer": _imputed,
}
"""How many features transformers make that do not say so in an attribute."""


def parts_in(value: Any) -> Iterator[Part]:
    """Yield the objects in a value, one level down, however deep in its containers."""
    if isinstance(value, Part):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from parts_in(each)
    elif isinstance(value, list | tuple | set):
        for each in value:
            yield from parts_in(each)


def check_attributes(part: Part, specs: Mapping[str, str]) -> None:
    """Refuse a part whose attributes are not as specified, or whose sizes disagree."""
    checked = _Attributes()
    for name, spec in specs.items():
        *path, last = name.split(".")
        owner: Any = part
        for step in path:
            owner = owner.state.get(step) if isinstance(owner, Part) else None
        if isinstance(owner, Part) and last in owner.state:
            checked.name, ways = name, spec.split(" | ")
            if not any(checked.fits(owner.state[last], way.split()) for way in ways):
                raise Refused(f"{name} of {part.kind} is not as it should be ({spec})")
    checked.agree(part.kind)


class _Attributes:
    """Values held against words: notes sizes, and numbers that have a limit, by their letters."""

    def __init__(self) -> None:
        self.name = ""
        self._sizes: list[tuple[str, int, str]] = []
        self._limits: list[tuple[str, int, str]] = []

    def fits(self, value: Any, words: list[str]) -> bool:
        """Tell whether a value of the attribute ``name`` is of the kind that the words say."""
        word, rest = words[0], words[1:]
        if word in _SIMPLE:
            if not _SIMPLE[word](value):
                return False
            if rest and rest[0][0] == "<":
                self._limits.append((rest[0][1:], int(value), self.name))
                return True
            return not rest or self._has_shape([int(value)], rest)
        if word == "=":
            return isinstance(value, str) and value in rest
        if word[0] == "@":
            return self._fits_part(value, word[1:], rest)
        if word[0] in "[{":
            return self._fits_members(value, words)
        return self._fits_array(value, word, rest)

    def agree(self, kind: str) -> None:
        """Refuse sizes that are said to be two, and numbers beyond their limits."""
        known: dict[str, tuple[int, str]] = {}
        for token, size, name in self._sizes:
            if token not in DERIVED and known.setdefault(token, (size, name))[0] != size:
                raise Refused(f"{known[token][1]} and {name} of {kind} disagree in their sizes")
        found = {token: size for token, (size, _) in known.items()}
        for token, size, name in self._sizes:
            try:
                right = token not in DERIVED or DERIVED[token](found) == size
            except KeyError:
                right = False
            if not right:
                raise Refused(f"{name} of {kind} has the wrong size ({token})")
        for token, largest, name in self._limits:
            if largest >= found.get(token, 0):
                raise Refused(f"{name} of {kind} holds a number that is too large")

    def _has_shape(self, shape: Sequence[int], words: list[str]) -> bool:
        """Tell whether sizes are the numbers among the words, and note those with a letter."""
        named = [pair for pair in zip(words, shape, strict=True) if pair[0] != "*"]
        if any(word.isdigit() and int(word) != size for word, size in named):
            return False
        self._sizes += [(word, size, self.name) for word, size in named if not word.isdigit()]
        return True

    def _fits_part(self, value: Any, kind: str, width: list[str]) -> bool:
        if not isinstance(value, Part):
            return False
        if not (value.can(kind) if kind.islower() else value.kind == kind):
            return False
        return not width or value.width is None or self._has_shape([value.width], width)

    def _fits_members(self, value: Any, words: list[str]) -> bool:
        end = next(place for place, word in enumerate(words) if word[-1] in "]}") + 1
        inner, size = " ".join(words[:end])[1:-1].split(), words[end:]
        if not isinstance(value, dict if words[0][0] == "{" else list | tuple):
            return False
        if isinstance(value, dict) and not all(isinstance(key, str) for key in value):
            return False
        members = list(value.values()) if isinstance(value, dict) else value
        right = not size or self._has_shape([len(members)], size)
        return right and all(self.fits(each, inner) for each in members)

    def _fits_array(self, value: Any, letter: str, dims: list[str]) -> bool:
        if not isinstance(value, np.ndarray) or value.dtype.kind not in KINDS[letter]:
            return False
        limit = dims[-1][1:] if dims and dims[-1][0] == "<" else None
        dims = dims if limit is None else dims[:-1]
        exact = {"d": np.float64, "w": np.int32}.get(letter)
        if value.ndim != len(dims) or (exact is not None and value.dtype != exact):
            return False
        if letter in "fdhvl" and value.dtype.kind == "f" and not _in_range(value, letter):
            return False
        if letter in "iw" and value.dtype.kind == "i" and value.size and value.min() < 0:
            return False
        listed = value.ravel().tolist() if letter in "lo" else []
        if value.dtype.kind == "O" and not all(isinstance(each, str) for each in listed):
            return False
        if letter == "l" and len(set(listed)) < value.size:
            return False
        if limit is not None:
            if not value.size:
                return False
            self._limits.append((limit, int(value.max()), self.name))
        return self._has_shape(value.shape, dims)


def _in_range(value: Array, letter: str) -> bool:
    known = value[~np.isnan(value)] if letter == "h" else value
    limit = np.finfo(np.float64).max if letter in "vl" else LARGEST["float64"]
    return not known.size or -limit <= float(known.min()) <= float(known.max()) <= limit


def _is_number(value: Any) -> bool:
    plain = isinstance(value, int | float | np.integer | np.floating)
    return plain and not isinstance(value, bool) and bool(np.isfinite(value))


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= 0)


_SIMPLE: dict[str, Callable[[Any], bool]] = {
    "any": lambda value: True,
    "none": lambda value: value is None,
    "bool": lambda value: isinstance(value, bool | np.bool_),
    "false": lambda value: value is False,
    "str": lambda value: isinstance(value, str),
    "num": _is_number,
    "int": _is_whole,
    "dtype": lambda value: isinstance(value, np.dtype),
    "type": lambda value: isinstance(value, type),
}
