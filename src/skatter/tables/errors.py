"""The one error of files and columns, and how strings of a file are shown in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

SHOWN = 60
"""Characters of a user's string that a message shows."""


class TableError(ValueError):
    r"""A table that cannot be read, written or used: one line with what, where and the remedy.

    Characters that a terminal would obey instead of print are escaped, whatever a file holds.

    Examples
    --------
    >>> print(TableError("there is no column 'a\nb'"))
    there is no column 'a\nb'
    """

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


def printable(text: str) -> str:
    r"""Escape what is not printable: line ends, control characters, marks that turn text around.

    Examples
    --------
    >>> print(printable("red: \x1b[31m, é"))
    red: \x1b[31m, é
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def quoted(value: object) -> str:
    """Quote a user's value on one line, cut where it is long.

    Examples
    --------
    >>> print(quoted("dose"), quoted("x" * 100))
    'dose' 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…'
    """
    text = str(value)
    return f"'{printable(text if len(text) <= SHOWN else text[:SHOWN] + '…')}'"


def listed(values: Iterable[object], most: int = 5) -> str:
    """Name the first few of some values.

    Examples
    --------
    >>> print(listed(["a", "b", "c"], most=2))
    'a', 'b' and 1 more
    """
    values = list(values)
    names = ", ".join(quoted(value) for value in values[:most])
    return names if len(values) <= most else f"{names} and {len(values) - most:,} more"


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


def load(module: str, need: str) -> Any:
    """Import an optional module, or say which extra brings it."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(f'{need} need {package}: pip install "skatter[table]"') from error
