"""What attributes may hold, in short words: kinds of values, dtypes, and shapes that agree.

The words of a specification, with alternatives separated by ``|``:

========================  =========================================================================
``any``                   whatever a model file can hold
``none bool str num``     None; a bool; a string; a number that is finite
``int``, ``int p``        an integer from 0; one that is the size p
``= a b``                 one of these strings
``dtype``, ``type``       a dtype; a scalar type of NumPy
``f n p``                 an array of n rows and p columns: ``f`` finite floats, ``g`` any floats,
                          ``d`` finite float64, ``i`` integers from 0, ``w`` int32 from 0,
                          ``l`` labels, ``o`` strings, ``b`` bools, ``x`` anything
``d 0``                   an array of this very length
``i n <c``                an array with numbers below c
``@``, ``@Name``          an object of the list; one of this class
``@Name p``               one that takes p features
``[...]``, ``{...}``      a list or tuple of these; a dict from strings to these
========================  =========================================================================

A letter is one size in all attributes of an object; ``*`` is any size, ``c-1`` and ``d+1`` are one
less and one more, ``out`` is the number of outputs for c classes (1 for two) and ``pairs``
that of their pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Sizes = list[tuple[str, int, str]]

KINDS = {
    "f": "f",
    "g": "f",
    "d": "f",
    "i": "iu",
    "w": "i",
    "l": "biufUO",
    "o": "OU",
    "b": "b",
    "x": "biufUO",
}
"""Kinds of dtypes that a letter stands for."""

DERIVED: dict[str, Callable[[Mapping[str, int]], int]] = {
    "out": lambda sizes: 1 if sizes["c"] == 2 else sizes["c"],
    "pairs": lambda sizes: sizes["c"] * (sizes["c"] - 1) // 2,
    "c-1": lambda sizes: sizes["c"] - 1,
    "d+1": lambda sizes: sizes["d"] + 1,
    "e+1": lambda sizes: sizes["e"] + 1,
    "s+1": lambda sizes: sizes["s"] + 1,
}


class Refused(ValueError):
    """Something in a model that a file may not hold."""


@dataclass(frozen=True, eq=False)
class Part:
    """An object of a model before it is built: its type, by name, and its attributes."""

    name: str
    state: dict[str, Any]

    @property
    def kind(self) -> str:
        """The name of its class."""
        return self.name.rpartition(".")[2]

    @property
    def gives(self) -> int | None:
        """Features that it makes, where that can be seen."""
        if self.kind == "FrozenEstimator" and isinstance(self.state.get("estimator"), Part):
            return self.state["estimator"].gives
        for name in ("n_features_out_", "_n_features_out", "n_components_"):
            if isinstance(self.state.get(name), int):
                return int(self.state[name])
        for name, axis in (("dual_coef_", -1), ("components_", 0)):
            found = self.state.get(name)
            if isinstance(found, np.ndarray) and found.ndim:
                return int(found.shape[axis])
        return None

    @property
    def width(self) -> int | None:
        """Features that it takes, where that can be seen."""
        state = self.state
        for name in ("n_features_in_", "n_features"):
            if isinstance(state.get(name), int):
                return int(state[name])
        for name in ("origin", "matrix", "ids", "samples", "vectors", "X", "_samples"):
            if isinstance(state.get(name), np.ndarray):
                return int(state[name].shape[-1])
        return None


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
    sizes: Sizes = []
    limits: Sizes = []
    for name, spec in specs.items():
        if name in part.state and not any(
            _fits(part.state[name], each.split(), name, sizes, limits) for each in spec.split(" | ")
        ):
            raise Refused(f"{name} of {part.kind} is not as it should be ({spec})")
    known = _agree(part, sizes)
    for token, largest, name in limits:
        if largest >= known.get(token, 0):
            raise Refused(f"{name} of {part.kind} holds a number that is too large")


def _agree(part: Part, sizes: Sizes) -> dict[str, int]:
    known: dict[str, tuple[int, str]] = {}
    for token, size, name in sizes:
        if token not in DERIVED and known.setdefault(token, (size, name))[0] != size:
            raise Refused(f"{known[token][1]} and {name} of {part.kind} disagree in their sizes")
    found = {token: size for token, (size, _) in known.items()}
    for token, size, name in sizes:
        if token in DERIVED:
            try:
                right = DERIVED[token](found) == size
            except KeyError:
                right = False
            if not right:
                raise Refused(f"{name} of {part.kind} has the wrong size ({token})")
    return found


def _fits(value: Any, words: list[str], name: str, sizes: Sizes, limits: Sizes) -> bool:
    """Tell whether a value is of the kind that the words say, and note its sizes."""
    word, rest = words[0], words[1:]
    if word in _SIMPLE:
        if word == "int" and rest and _SIMPLE[word](value):
            sizes.append((rest[0], int(value), name))
        return _SIMPLE[word](value)
    if word == "=":
        return isinstance(value, str) and value in rest
    if word[0] == "@":
        return _fits_part(value, word[1:], rest, name, sizes)
    if word[0] in "[{":
        inner = [word[1:], *rest]
        inner[-1] = inner[-1][:-1]
        of = _members(value, word[0])
        return of is not None and all(_fits(each, inner, name, sizes, limits) for each in of)
    return _fits_array(value, word, rest, name, sizes, limits)


def _members(value: Any, bracket: str) -> list[Any] | None:
    if bracket == "[":
        return list(value) if isinstance(value, list | tuple) else None
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return list(value.values())
    return None


def _fits_part(value: Any, kind: str, rest: list[str], name: str, sizes: Sizes) -> bool:
    if not isinstance(value, Part) or (kind and value.kind != kind):
        return False
    if rest and value.width is not None:
        sizes.append((rest[0], value.width, name))
    return True


def _fits_array(
    value: Any, letter: str, dims: list[str], name: str, sizes: Sizes, limits: Sizes
) -> bool:
    if not isinstance(value, np.ndarray) or value.dtype.kind not in KINDS[letter]:
        return False
    limit = dims[-1][1:] if dims and dims[-1][0] == "<" else None
    dims = dims if limit is None else dims[:-1]
    exact = {"d": np.float64, "w": np.int32}.get(letter)
    if value.ndim != len(dims) or (exact is not None and value.dtype != exact):
        return False
    named = [pair for pair in zip(dims, value.shape, strict=True) if pair[0] != "*"]
    if any(dim.isdigit() and int(dim) != size for dim, size in named):
        return False
    if letter in "fdl" and value.dtype.kind == "f" and not np.isfinite(value).all():
        return False
    if letter in "iw" and value.dtype.kind == "i" and value.size and value.min() < 0:
        return False
    if letter in "lo" and not all(isinstance(each, str) for each in _objects(value)):
        return False
    sizes.extend((dim, size, name) for dim, size in named if not dim.isdigit())
    if limit is not None and value.size:
        limits.append((limit, int(value.max()), name))
    return True


def _objects(array: Array) -> Iterator[Any]:
    return iter(array.ravel().tolist() if array.dtype.kind == "O" else ())


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
