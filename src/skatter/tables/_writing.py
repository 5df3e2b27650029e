"""Files that are written whole or not at all, and never over another one unasked."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO

from skatter._files import write_atomically
from skatter._formatting import quoted
from skatter.tables._arrays import array_of, write_arrays
from skatter.tables._errors import TableError, load
from skatter.tables._text import NUMBER

if TYPE_CHECKING:
    from pandas import DataFrame

WRITTEN = {"csv": ",", "tsv": "\t"}  # what divides cells that are written
PACKING: dict[str, Any] = {"": None, ".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
"""What packs a file, by the last ending of its name."""
KINDS = (*(text + packed for text in WRITTEN for packed in PACKING), "parquet", "npz")
"""What can be written: endings of names without their first point."""
FORMULA = frozenset("=+-@\t\r")  # first characters of what spreadsheets run
LARGEST_WHOLE = 2.0**53  # whole numbers below it are exact as floats
Target = str | Path | BinaryIO


def write_table(
    frame: DataFrame, target: Target, *, kind: str | None = None, force: bool = False
) -> None:
    """Write a table, without its index, as CSV, Parquet or NPZ.

    Parameters
    ----------
    frame : DataFrame
        The table.
    target : str, Path or binary file
        Where to; ``"-"`` is standard output. No reader ever sees half a file.
    kind : str or None
        "parquet", "npz", "csv" or "tsv", the latter two also packed, such as "csv.gz" (or ".bz2",
        ".xz").
        None: by the ending of the name, as in :func:`table_kind`; CSV where there is no name.
    force : bool
        Replace a file that is there.

    Raises
    ------
    TableError
        If the file is there already, or its name says nothing.
    OSError
        If it cannot be written.

    Examples
    --------
    >>> from io import BytesIO
    >>> import pandas as pd
    >>> from skatter.tables import write_table
    >>> file = BytesIO()
    >>> write_table(pd.DataFrame({"site": ["basel", "cairo"], "dose": [1.5, None]}), file)
    >>> print(file.getvalue().decode())
    site,dose
    basel,1.5
    cairo,
    <BLANKLINE>
    """
    if kind is not None and kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)} or None, got {kind!r}.")
    if kind is None:
        kind = table_kind(target) if isinstance(target, str | os.PathLike) else "csv"
    write_to(target, partial(_write, frame, kind=kind), force=force)


def write_to(target: Target, write: Callable[[Any], object], *, force: bool) -> None:
    if not isinstance(target, str | os.PathLike):
        write(target)
    elif str(target) == "-":
        write(sys.stdout.buffer)
        sys.stdout.buffer.flush()
    else:
        write_atomically(check_target(target, force=force), write)


def table_kind(path: str | Path) -> str:
    """Tell by the ending of its name how a table is to be written; "-" is CSV."""
    if str(path) == "-":
        return "csv"
    name = Path(path).name.lower()
    endings = {f".{kind}": kind for kind in KINDS} | {".pq": "parquet"}
    kind = next((kind for ending, kind in endings.items() if name.endswith(ending)), None)
    if kind is None:
        raise TableError(
            f"{path}: tables are written as .csv, .tsv (also with .gz, .bz2 or .xz), .parquet, "
            ".pq or .npz; give such an ending."
        )
    return kind


def check_target(path: str | Path, *, force: bool, name: str | None = None) -> Path:
    """Return the path, or say before any work is done why it could not be written in the end."""
    path = Path(path)
    if str(path) == "-":
        return path
    shell = name is not None and name.startswith("--")
    reason = _hindrance(path, force=force, overwrite="--force" if shell else "force=True")
    if reason:
        raise TableError(f"{name}: {reason}" if name else reason)
    return path


def _hindrance(path: Path, *, force: bool, overwrite: str) -> str | None:
    try:
        if path.is_dir():
            return f"{path} is a folder; give a file."
        # A device or a pipe would be replaced by the file.
        if path.exists() and not path.is_file():
            return f"{path} is no regular file; choose another path, or - for standard output."
        if (path.exists() or path.is_symlink()) and not force:
            return f"{path} is there already; choose another path, or say {overwrite}."
        folder = Path(os.path.realpath(path)).parent
        if not folder.is_dir():
            return f"there is no folder {path.parent}; make it first."
        if not os.access(folder, os.W_OK | os.X_OK):
            return f"the folder {path.parent} is not writable; choose another path."
    except (OSError, ValueError) as error:  # a name that is too long, or holds a NUL character
        said = getattr(error, "strerror", None) or str(error)
        return f"{str(path)[:200]} is no name of a file: {' '.join(said.split())}."
    return None


def _write(frame: DataFrame, target: IO[bytes] | Path, kind: str) -> None:
    if kind == "parquet":
        load("pyarrow", "Parquet files")
        frame.to_parquet(target, index=False)
        return
    if kind == "npz":
        write_arrays({str(name): array_of(frame[name]) for name in frame}, target)
        return
    columns = frame.select_dtypes(exclude=["number", "bool", "datetime"])
    cells = (columns[name].astype(str).str for name in columns)
    # A carriage return is not quoted by itself.
    has_return = any("\r" in str(name) for name in frame.columns) or any(
        texts.contains("\r", regex=False).any() for texts in cells
    )
    quoting = csv.QUOTE_NONNUMERIC if has_return else csv.QUOTE_MINIMAL
    form: dict[str, Any] = {"sep": WRITTEN[kind.partition(".")[0]], "lineterminator": "\n"}
    with open_packed(target, kind) as file:
        _whole_beside_gaps(frame).to_csv(file, index=False, quoting=quoting, **form)
    texts = (text for name in columns for text in map(str, columns[name].dropna()))
    warn_of_formula(find_formula([*map(str, frame.columns), *texts]))


@contextmanager
def open_packed(target: IO[bytes] | Path, kind: str) -> Iterator[IO[str]]:
    """Open a file for text, packed as its kind says; what was open stays open."""
    _, point, packed = kind.partition(".")
    pack = PACKING[point + packed]
    with ExitStack() as stack:
        raw = stack.enter_context(open(target, "wb")) if isinstance(target, Path) else target
        packer = stack.enter_context(pack(raw, "wb")) if pack else raw
        text = io.TextIOWrapper(packer, encoding="utf-8", newline="")
        yield text
        text.flush()
        text.detach()


def find_formula(cells: Iterable[Any]) -> str | None:
    """Return the first text that a spreadsheet would take for a formula; numbers are none."""
    for cell in cells:
        if cell[:1] in FORMULA and len(cell.strip()) > 1 and not NUMBER.fullmatch(cell):
            return str(cell)
    return None


def warn_of_formula(found: str | None) -> None:
    if found is not None:
        warnings.warn(
            f"cells such as {quoted(found)} were written as they are, and a spreadsheet may run "
            "them as formulas: import the file as text there, or write .parquet.",
            stacklevel=3,
        )


def _whole_beside_gaps(frame: DataFrame) -> DataFrame:
    """Return a table in which a gap makes no fractions of whole numbers: 1 was read as 1.0."""
    gaps = []
    for name, column in frame.select_dtypes("float").items():
        known = column.dropna()
        whole = (known.abs() < LARGEST_WHOLE).all() and (known % 1 == 0).all()
        if 0 < len(known) < len(column) and whole:
            gaps.append(name)
    return frame.astype(dict.fromkeys(gaps, "Int64")) if gaps else frame
