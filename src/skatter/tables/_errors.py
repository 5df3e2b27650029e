"""The one error of files and columns, and what is wrong with the names of columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

from skatter._extras import need
from skatter._formatting import listed, printable, quoted


class TableError(ValueError):
    """A table that cannot be read, written or used: one line with what, where and the remedy.

    Characters that a terminal would obey instead of print are escaped, whatever a file holds.
    """

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


@contextmanager
def blaming(name: str, what: str) -> Iterator[None]:
    """Turn whatever a parser raises on foreign bytes into a :class:`TableError` with the file."""
    try:
        yield
    except (TableError, ImportError):
        raise
    except MemoryError as error:
        raise TableError(f"{name}: does not fit into memory; give a smaller table.") from error
    # Parsers of foreign bytes raise whatever they stumble over.
    except Exception as error:
        said = printable(" ".join(str(error).split()))[:200] or type(error).__name__
        raise TableError(
            f"{name}: cannot be read as {what}, damaged or of another format: {said}"
        ) from error


def load(module: str, what: str) -> Any:
    return need(module, f'{what} need {module.partition(".")[0]}: pip install "skatter[table]"')


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
    """Return words that differ in their case alone; single letters may be names of their own."""
    spelt: dict[str, set[str]] = {}
    for name in names:
        spelt.setdefault(name.casefold(), set()).add(name)
    alike = (sorted(each) for key, each in spelt.items() if len(each) > 1 < len(key))
    return min(alike, default=[])


def missing_column(name: str, names: Sequence[str], what: str = "column") -> str:
    close = [other for other in names if other.strip().lower() == name.strip().lower()]
    close = close or get_close_matches(name, names, n=3)
    hint = f"did you mean {listed(close)}?" if close else f"there are {listed(names, most=8)}."
    return f"there is no {what} {quoted(name)}; {hint}"
