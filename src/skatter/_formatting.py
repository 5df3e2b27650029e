"""How numbers, names and lists are written in sentences, tables and messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from math import isfinite
from typing import Any

LONGEST = 60  # characters of a user's text that a message shows


def public_name(kind: type) -> str:
    """Write where a class is found by those who use it: no module that is internal."""
    path = f"{kind.__module__}.{kind.__qualname__}"
    return ".".join(word for word in path.split(".") if not word.startswith("_"))


def percent(share: float, digits: int | None = None) -> str:
    """Write a share in percent: with these decimals, or with two digits that count."""
    value = 100 * float(share)
    if digits is not None or abs(value) >= 9.95:
        return f"{value:.{digits or 0}f} %"
    return "<0.01 %" if 0 < value < 0.005 else f"{round(value, 2):.2g} %"


def number(value: float) -> str:
    """Write three digits that count, without powers of ten where there is no need."""
    return f"{value:,.0f}" if 999.5 <= abs(value) < 1e7 else f"{value:.3g}"


def count(n: int, what: str) -> str:
    """Write how many there are of something."""
    if n == 1:
        return f"1 {what}"
    if what.endswith("y"):
        return f"{n:,} {what[:-1]}ies"
    return f"{n:,} {what}{'es' if what.endswith('s') else 's'}"


def duration(seconds: float) -> str:
    """Write a time as people say it."""
    if seconds < 120:
        digits = 3 if seconds < 1 else 1 if seconds < 59.95 else 0
        return f"{seconds:.{digits}f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours:,} h {minutes} min"


def join(names: Sequence[str], most: int = 3) -> str:
    """Name a few things and count the rest."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most:,} more"
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def printable(text: Any) -> str:
    """Escape what cannot be seen: line ends, control characters, marks that turn text around."""
    text = str(text)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def shorten(text: Any, most: int = LONGEST) -> str:
    """Write text on one printable line, cut where it is long."""
    line = printable(text)
    return line if len(line) <= most else f"{line[: most - 1]}…"


def quoted(value: object) -> str:
    """Quote a user's value on one line, cut where it is long."""
    return f"'{shorten(value, LONGEST + 1)}'"


def listed(values: Iterable[object], most: int = 5) -> str:
    """Quote the first few of some values."""
    values = list(values)
    names = ", ".join(quoted(value) for value in values[:most])
    return names if len(values) <= most else f"{names} and {len(values) - most:,} more"


def did_you_mean(name: object, names: Iterable[str]) -> str:
    """Return a sentence that names the nearest of some names, after a space; none if none is."""
    near = get_close_matches(str(name), list(names), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def json_ready(value: Any) -> Any:
    """Turn mappings and tuples to dicts and lists, and numbers that JSON does not know to None."""
    if isinstance(value, Mapping):
        return {str(key): json_ready(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [json_ready(entry) for entry in value]
    if hasattr(value, "tolist"):
        return json_ready(value.tolist())
    return None if isinstance(value, float) and not isfinite(value) else value
