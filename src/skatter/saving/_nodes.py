"""A model as JSON and arrays, and back: no code, no calls, every object checked before it is built.

Numbers, strings, bools and None stand for themselves, and lists are lists. All else is an object
with one key::

    {"tuple": [..]}  {"set": [..]}  {"dict": [[key, value], ..]}  {"slice": [start, stop, step]}
    {"array": 3}     {"masked": [array, mask]}    {"strings": [shape, [..]]}   an array of objects
    {"scalar": ["<f8", 1.5]}    {"dtype": "<f8"}    {"type": "float64"}   {"random": [key, ..]}
    {"part": 7}      an object, the seventh of the list

An object refers only to objects before it in the list: there are no cycles, each is read once, and
how much a model unfolds to is known before it is built.
"""

from __future__ import annotations

from collections import UserList
from hashlib import sha256
from typing import Any

import numpy as np

from skatter._files import EMPTY
from skatter._tensors import Array
from skatter.saving._schemas import (
    FUNCTION,
    REMEDIES,
    UNKNOWN,
    check_model,
    check_part,
    known_types,
    name_of,
)
from skatter.saving._specs import Part, Refused, class_of, parts_in

Node = Any

MAX_NUMBERS = 10_000  # keys of a set or dict that are not all text
DEPTH = 32  # containers in containers, and objects in objects
UNFOLDED = 10_000  # objects of a model, each counted as often as it is used
_BITS = (8, 16, 32, 64)
SCALARS = (
    "bool",
    *(f"{kind}{bits}" for kind in ("int", "uint") for bits in _BITS),
    *(f"float{bits}" for bits in _BITS[1:]),
)
SCALAR_TYPES = {name: np.dtype(name).type for name in SCALARS}  # scalar types of NumPy by name
DTYPES = {np.dtype(name).str: np.dtype(name) for name in (*SCALARS, "object")}
LEFT_OUT = ("n_jobs", "memory")  # they belong to a machine and not to a model: saved as None
_PLAIN = (type(None), bool, int, float, str)


class Writer:
    """Turns a model into nodes, arrays and parts; what is shared is written once."""

    def __init__(self) -> None:
        self.arrays: list[Array] = []
        self.parts: list[dict[str, Node]] = []
        self._written: dict[int, tuple[Any, Node]] = {}
        self._places: dict[tuple[Any, ...], int] = {}
        self._open: set[int] = set()

    def node(self, value: Any, depth: int = 0) -> Node:
        if depth > DEPTH:
            raise Refused("it is nested too deeply, or holds itself")
        kind = type(value)
        if kind in _PLAIN:
            return value
        if kind is list or issubclass(kind, UserList):  # of scikit-learn 1.6
            return [self.node(each, depth + 1) for each in value]
        if kind is dict:
            return {
                "dict": [[self.node(k, DEPTH), self.node(v, depth + 1)] for k, v in value.items()]
            }
        if kind in (tuple, set):
            return {kind.__name__: [self.node(each, depth + 1) for each in value]}
        if id(value) not in self._written:
            # The value is kept: its id may not become another's.
            self._written[id(value)] = value, self._single(value, depth)
        return self._written[id(value)][1]

    def _single(self, value: Any, depth: int) -> Node:
        """Return the node of something that is not a container."""
        if isinstance(value, np.ma.MaskedArray):
            mask = np.ma.getmaskarray(value)
            return {"masked": [self._array(value.data), self._array(mask)]}
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, np.str_):
            return str(value)
        if isinstance(value, np.generic) and value.dtype.str in DTYPES:
            return {"scalar": [value.dtype.str, value.item()]}
        if isinstance(value, slice):
            return {"slice": [self.node(each) for each in (value.start, value.stop, value.step)]}
        if isinstance(value, np.dtype) and value.str in DTYPES:
            return {"dtype": value.str}
        if isinstance(value, type) and value in SCALAR_TYPES.values():
            return {"type": np.dtype(value).name}
        if isinstance(value, np.random.RandomState):
            state: Any = value.get_state()
            return {"random": [self._array(state[1]), *state[2:]]}
        return self._part(value, depth)

    def _array(self, value: Array) -> Node:
        value = np.asarray(value)
        if value.dtype.kind == "O":
            items = value.ravel().tolist()
            if not all(type(each) in _PLAIN for each in items):
                raise Refused("it holds an array of objects that are neither text nor numbers")
            return {"strings": [list(value.shape), items]}
        narrow = 0 < value.dtype.itemsize <= 8
        if value.dtype.kind not in "biufU" or not (narrow or value.dtype.kind == "U"):
            raise Refused(f"it holds an array of {value.dtype}")
        # Equal arrays are written once; their order in memory may change the last bit of a product.
        form = value.dtype.str, value.shape, np.isfortran(value)
        content = *form, sha256(value.tobytes()).digest()
        place = self._places.setdefault(content, len(self.arrays))
        if place == len(self.arrays):
            self.arrays.append(value)
        return {"array": place}

    def _part(self, value: Any, depth: int) -> Node:
        kind = type(value)
        name = name_of(kind)
        if name is None:
            label = value if isinstance(value, type) or hasattr(value, "__qualname__") else kind
            where = getattr(label, "__module__", None) or "builtins"
            called = getattr(label, "__qualname__", kind.__qualname__)
            otherwise = FUNCTION if callable(value) else UNKNOWN
            remedy = REMEDIES.get(kind.__name__, otherwise)
            raise Refused(f"it holds {f'{where}.{called}'!r}; {remedy}")
        if id(value) in self._open:
            raise Refused("it holds itself")
        self._open.add(id(value))
        state = value._asdict() if hasattr(kind, "_fields") else vars(value)
        nodes = {
            key: None if key in LEFT_OUT else self.node(each, depth + 1)
            for key, each in state.items()
        }
        self._open.discard(id(value))
        self.parts.append({"type": name, "state": nodes})
        return {"part": len(self.parts) - 1}


class Reader:
    """Turns nodes back into values; objects stay parts until all of them are checked."""

    def __init__(self, arrays: list[Array], parts: list[Any]) -> None:
        self._arrays = arrays
        self._parts: list[Part] = []
        self._sizes: dict[Part, tuple[int, int]] = {}
        for each in parts:
            part = self._part(each)
            check_part(part)
            self._measure(part)
            self._parts.append(part)

    def model(self, place: Any) -> Part:
        """Return the object that is the model."""
        found = self._parts[_index(place, len(self._parts))]
        check_model(found)
        return found

    def _part(self, found: Any) -> Part:
        if not (isinstance(found, dict) and found.keys() == {"type", "state"}):
            raise Refused("an object has no type and state")
        name, state = found["type"], found["state"]
        if not isinstance(name, str) or name not in known_types():
            raise Refused(f"it holds {str(name)[:100]!r}, which is not on the list of types")
        if not isinstance(state, dict):
            raise Refused("an object has no attributes")
        return Part(name, {key: self.value(each) for key, each in state.items()})

    def _measure(self, part: Part) -> None:
        inside = [self._sizes[each] for each in parts_in(part.state)]
        size = 1 + sum(size for size, _ in inside)
        depth = 1 + max((depth for _, depth in inside), default=0)
        if size > UNFOLDED or depth > DEPTH:
            raise Refused("its objects are nested too deeply, or too many")
        self._sizes[part] = size, depth

    def value(self, node: Node, depth: int = 0) -> Any:
        if depth > DEPTH:
            raise Refused("it is nested too deeply")
        kind = type(node)
        if kind is str:
            node.encode()  # no half characters
        if kind is int and not -(2**63) <= node < 2**64:
            raise Refused("a number is too large")
        if kind in _PLAIN:
            return node
        if kind is list:
            return self._values(node, depth)
        if kind is not dict or len(node) != 1:
            raise Refused("a node is of no known kind")
        ((key, content),) = node.items()
        match key:
            case "tuple":
                return tuple(self._values(content, depth))
            case "set":
                return set(_keys(self._values(content, depth)))
            case "dict":
                pairs = [_listed(each, 2) for each in _listed(content)]
                keys = _keys(self._values([key for key, _ in pairs], depth))
                values = self._values([each for _, each in pairs], depth)
                return dict(zip(keys, values, strict=True))
            case "slice":
                ends = _listed(content, 3)
                if not all(each is None or type(each) is int for each in ends):
                    raise Refused("a slice has other ends than integers")
                return slice(*ends)
            case "array":
                return self._arrays[_index(content, len(self._arrays))]
            case "masked":
                data, mask = self._values(_listed(content, 2), depth)
                for each in (data, mask):
                    if not isinstance(each, np.ndarray) or each.shape != data.shape:
                        raise Refused("a masked array has another shape than its mask")
                return np.ma.MaskedArray(data, mask.astype(bool))
            case "strings":
                return self._strings(content, depth)
            case "scalar":
                name, item = _listed(content, 2)
                dtype = _known(name, DTYPES, "a dtype")
                if type(item) is not {"b": bool, "i": int, "u": int, "f": float}.get(dtype.kind):
                    raise Refused("a number is not of the type that it says")
                return dtype.type(item)
            case "dtype":
                return _known(content, DTYPES, "a dtype")
            case "type":
                return _known(content, SCALAR_TYPES, "a scalar type")
            case "random":
                return self._random(content, depth)
            case "part":
                return self._parts[_index(content, len(self._parts))]
        raise Refused(f"a node is of no known kind, {key[:100]!r}")

    def _values(self, nodes: Any, depth: int) -> list[Any]:
        return [self.value(each, depth + 1) for each in _listed(nodes)]

    def _strings(self, content: Any, depth: int) -> Any:
        shape, items = _listed(content, 2)
        shape = [_index(each, EMPTY) for each in _listed(shape)]
        out = np.empty(len(_listed(items)), dtype=object)
        if np.prod(shape, dtype=object) != len(items) or any(type(x) not in _PLAIN for x in items):
            raise Refused("an array of text has another shape than it says")
        for place, each in enumerate(items):
            out[place] = self.value(each, depth + 1)
        return out.reshape(shape)

    def _random(self, content: Any, depth: int) -> Any:
        """Check what NumPy does not: a bad place crashes, and a key of zeros never ends."""
        key, place, more, last = self._values(_listed(content, 4), depth)
        whole = isinstance(key, np.ndarray) and key.shape == (624,) and key.dtype == np.uint32
        inside = type(place) is int and 0 <= place <= 624
        rest = more in (0, 1) and type(last) is float and np.isfinite(last)
        if not (whole and key[1:].any() and inside and rest):
            raise Refused("a random state is not as it should be")
        found = np.random.RandomState(0)
        found.set_state(("MT19937", key, place, more, last))
        return found


def _listed(found: Any, length: int | None = None) -> list[Any]:
    if not isinstance(found, list) or len(found) != (len(found) if length is None else length):
        raise Refused("a node does not hold what it should")
    return found


def _known(name: Any, table: dict[str, Any], what: str) -> Any:
    if not isinstance(name, str) or name not in table:
        raise Refused(f"{what} is not known")
    return table[name]


def _index(found: Any, limit: int) -> int:
    if type(found) is not int or not 0 <= found < limit:
        raise Refused("a node refers to something that is not there, or not before it")
    return found


def _keys(values: list[Any]) -> list[Any]:
    """Check keys; of numbers only some, which can be chosen so that their hashes collide."""
    if not all(isinstance(each, (*_PLAIN, np.generic)) for each in values):
        raise Refused("a set or dict has a key that is neither text nor a number")
    if len(values) > MAX_NUMBERS and not all(isinstance(each, str) for each in values):
        raise Refused("a set or dict has too many keys")
    return values


def build(model: Part) -> Any:
    """Make objects of parts that are checked: attributes are set, and nothing is called."""
    built: dict[Part, Any] = {}

    def made_of(value: Any) -> Any:
        kind = type(value)
        if kind in (list, tuple):
            return kind(map(made_of, value))
        if kind is dict:
            return {key: made_of(each) for key, each in value.items()}
        if kind is Part and value not in built:
            built[value] = make(class_of(value.name), made_of(value.state))
        return built[value] if kind is Part else value

    def make(kind: Any, state: dict[str, Any]) -> Any:
        if hasattr(kind, "_fields"):
            return kind(**state)
        made = object.__new__(kind)
        vars(made).update(state)
        return made

    return made_of(model)
