"""Names of columns: none empty, no two the same; and what was meant by one that is not there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any

from skatter.formatting import listed, quoted
from skatter.tables.errors import TableError


def check_names(names: Sequence[Any], table: str) -> None:
    """Refuse column names that are empty, twice there or no text; ``table`` starts the message."""
    for place, name in enumerate(names, 1):
        if not isinstance(name, str):
            raise TableError(
                f"{table}: column {place:,} is called {name!r}, which is no text; turn all names "
                "into text, such as by frame.columns.astype(str)."
            )
        if not name.strip():
            raise TableError(
                f"{table}: column {place:,} has no name; name it, or leave it out (pandas writes "
                "no index with index=False)."
            )
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise TableError(f"{table}: column names come twice: {listed(twice)}; rename them.")


def alike_but_for_case(names: Iterable[str]) -> list[str]:
    """Return words that differ in their case alone; single letters may be names of their own.

    Examples
    --------
    >>> alike_but_for_case(["yes", "no", "YES", "a", "A"])
    ['YES', 'yes']
    """
    spelt: dict[str, set[str]] = {}
    for name in names:
        spelt.setdefault(name.casefold(), set()).add(name)
    return min(
        (sorted(each) for key, each in spelt.items() if len(each) > 1 < len(key)), default=[]
    )


def missing_column(name: str, names: Sequence[str], what: str = "column") -> str:
    """Say that a column, or something else with a name, is not there, and what is close to it."""
    close = [other for other in names if other.strip().lower() == name.strip().lower()]
    close = close or get_close_matches(name, names, n=3)
    hint = f"did you mean {listed(close)}?" if close else f"there are {listed(names, most=8)}."
    return f"there is no {what} {quoted(name)}; {hint}"
