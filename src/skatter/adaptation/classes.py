"""Classes by the names that people write: in a sheet, or on the command line."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from skatter.tables import TableError
from skatter.tables.naming import missing_column

Array = NDArray[Any]


def class_code(written: Any, classes: Array, where: str) -> int:
    """Return the code of a class that somebody wrote down; ``where`` starts the message.

    Numbers are compared as numbers: 1, 1.0 and 01 are one class, unless the table has them apart.

    Examples
    --------
    >>> import numpy as np
    >>> trees = np.array(["ash", "elm"])
    >>> class_code(" elm", trees, "row 3"), class_code("2.0", np.array([1, 2]), "row 3")
    (1, 1)
    >>> class_code("Elm", trees, "row 3")
    Traceback (most recent call last):
        ...
    skatter.tables.errors.TableError: row 3: there is no class 'Elm'; did you mean 'elm'?
    """
    names = [str(name) for name in classes.tolist()]
    if str(written) in names:
        return names.index(str(written))
    found = [code for code, name in enumerate(names) if _alike(name, str(written))]
    if len(found) == 1:
        return found[0]
    raise TableError(f"{where}: {missing_column(str(written), names, what='class')}")


def _alike(name: str, written: str) -> bool:
    """Whether two names are the same text but for blanks, or the same number."""
    if name.strip() == written.strip():
        return True
    try:
        return float(name) == float(written)
    except ValueError:
        return False
