"""The one error of files and columns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from skatter.formatting import printable


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


def load(module: str, need: str) -> Any:
    """Import an optional module, or say which extra brings it."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(f'{need} need {package}: pip install "skatter[table]"') from error
