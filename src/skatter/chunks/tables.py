"""Chunks of tables: CSV and Parquet files, however large, read some rows at a time.

A column may hold the labels, another one the domains; the others are the features. pandas reads
CSV, pyarrow reads Parquet; each is loaded when a file of its kind is opened.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skatter.chunks.sources import Chunk, chunk_rows, numbered

Array = NDArray[Any]
Columns = dict[str, Array]
"""Values of some rows by the name of their column."""

CSV = (".csv", ".csv.gz", ".csv.bz2", ".csv.xz")
PARQUET = (".parquet", ".pq")
NAMELESS = ("Unnamed: ", "__index_level_")
"""How pandas calls columns that have no name, in CSV and in Parquet."""


class TableChunks:
    r"""Rows of CSV and Parquet files, some at a time.

    A chunk never holds rows of two files. Files are looked at when the source is made: their
    columns must be there and be the same in all.

    Parameters
    ----------
    paths : path, or sequence of paths
        Files, folders (every CSV and Parquet file in it) or patterns such as ``"visits-*.csv"``;
        files of a folder or a pattern come in the order of their names.
    label, domain : str or None
        Columns of the labels and of the domains. An empty cell is an unlabelled sample.
    features : sequence of str or None
        Columns of ``X``, in this order; None: all but the label and the domain, in the order of the
        first file. All must hold numbers.
    text : sequence of str
        Of ``label`` and ``domain``, those to read as text whatever they hold. CSV has no types: a
        column in which all rows seen so far are numbers is read as numbers.
    rows : int or None
        Rows of a chunk. None: as many as make four million numbers, 65,536 at most.

    Attributes
    ----------
    files : list of Path
        The files, in the order in which they are read.
    features : list of str
        Names of the columns of ``X``.
    dtype : dtype
        float32 where all features of all files are float32, otherwise float64.
    n_rows : int or None
        Number of rows where the files tell (Parquet), otherwise None.
    rows : int
        Rows of a chunk; the last one of a file may have fewer.

    Raises
    ------
    ValueError
        Where a file cannot be read, is empty, lacks a column or has others than the first, and
        when rows are read that hold text in a column of numbers. The error names file, row (counted
        from 0, the header left out) and column.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from skatter.chunks import TableChunks
    >>> table = "site,age,dose,outcome\nnorth,61,2.5,well\nsouth,47,1.0,\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "visits.csv").write_text(table)
    ...     chunks = TableChunks(folder, label="outcome", domain="site")
    ...     first = next(iter(chunks))
    >>> chunks.features
    ['age', 'dose']
    >>> first.X.tolist(), list(first.sample_domain)
    ([[61.0, 2.5], [47.0, 1.0]], ['north', 'south'])
    """

    def __init__(
        self,
        paths: Any,
        *,
        label: str | None = None,
        domain: str | None = None,
        features: Sequence[str] | None = None,
        text: Sequence[str] = (),
        rows: int | None = None,
    ) -> None:
        self.files = _find_files(paths)
        headers = {path: _look_at(path) for path in self.files}
        first = headers[self.files[0]]
        self.label, self.domain, self.text = label, domain, _listed("text", text)
        if features is None:
            self.features = self._remaining(first)
        else:
            self.features = _listed("features", features)
        self._check_names()
        for path, header in headers.items():
            self._check_columns(path, header)
            if features is None:
                _check_same(self.files[0], first, path, header)
        self.dtype = _common_dtype(headers.values(), self.features)
        counts = [header.n_rows for header in headers.values()]
        self.n_rows = None if None in counts else sum(count for count in counts if count)
        self.rows = chunk_rows(rows, len(self.features))

    def __iter__(self) -> Iterator[Chunk]:
        """Yield the chunks, from the first row of the first file on."""
        return numbered(self._read())

    def _read(self) -> Iterator[Chunk]:
        columns = [*self.features, *self._names]
        kinds = {name: _Kind(name) for name in self._names}
        for path in self.files:
            first_row = 0
            for values in _format_of(path).read(path, columns, self.rows, self.text):
                X = _numbers(path, first_row, values, self.features, self.dtype)
                for name, kind in kinds.items():
                    kind.check(path, first_row, values[name])
                y, domain = (None if name is None else values[name] for name in self._pair)
                yield Chunk(X, y, domain)
                first_row += len(X)

    @property
    def _pair(self) -> tuple[str | None, str | None]:
        return self.label, self.domain

    @property
    def _names(self) -> list[str]:
        """Columns that are there and hold no features."""
        return [name for name in self._pair if name is not None]

    def _remaining(self, header: _Header) -> list[str]:
        """Return the columns that are neither label nor domain."""
        names = [name for name in header.columns if name not in self._pair]
        for name in (name for name in names if name.startswith(NAMELESS)):
            raise ValueError(
                f"{self.files[0]} has a column without a name ({name!r}), as the index of a data "
                "frame is written; name the columns of X in features."
            )
        return names

    def _check_names(self) -> None:
        """Raise where one column is to be two things."""
        if self.label is not None and self.label == self.domain:
            raise ValueError(f"label and domain are both {self.label!r}; name two columns.")
        if not self.features:
            raise ValueError(f"{self.files[0]} has no column left for X; name some in features.")
        for name in (name for name in self._names if name in self.features):
            raise ValueError(
                f"features names {name!r}, which is the label or domain; leave it out."
            )
        for name in (name for name in self.text if name not in self._names):
            raise ValueError(f"text names {name!r}, which is neither label nor domain.")
        if len(set(self.features)) < len(self.features):
            raise ValueError("features names a column twice.")

    def _check_columns(self, path: Path, header: _Header) -> None:
        for name in (*self.features, *self._names):
            if name not in header.columns:
                near = get_close_matches(name, header.columns, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"it has {_some(header.columns)}."
                raise ValueError(f"{path} has no column {name!r}; {hint}")
        for name in self.features:
            if header.columns[name] == "other":
                raise ValueError(
                    f"{path}: column {name!r} holds no numbers; leave it out of X by naming the "
                    "columns of numbers in features."
                )


class _Header(NamedTuple):
    """What a file says about itself before its rows are read.

    Attributes
    ----------
    columns : dict
        Type of each column: "float32", "float64" for all other numbers, "other", or None where the
        file does not say.
    n_rows : int or None
        Number of rows; None where the file does not say.
    """

    columns: dict[str, str | None]
    n_rows: int | None


class _Format(NamedTuple):
    """How files of one kind are looked at, and read in batches of rows."""

    look: Callable[[Path], _Header]
    read: Callable[[Path, list[str], int, list[str]], Iterator[Columns]]


# --- values -------------------------------------------------------------------------------------


def _numbers(path: Path, first_row: int, values: Columns, features: list[str], dtype: Any) -> Array:
    """Put columns of numbers side by side."""
    X = np.empty((len(values[features[0]]), len(features)), dtype=dtype)
    for place, name in enumerate(features):
        column = values[name]
        if _kind_of(column) == "text":
            row = _first_text(column)
            raise ValueError(
                f"{path}: column {name!r} holds text ({column[row]!r}) in row "
                f"{first_row + row:,} (counted from 0, the header left out). Correct it, or leave "
                "the column out of X by naming those of numbers in features."
            )
        X[:, place] = column
    return X


def _kind_of(values: Array) -> str | None:
    """Return "text" or "numbers"; None where all values are missing.

    The values of one batch are of one kind: a column of text is read as text throughout.
    """
    if values.dtype.kind != "O":
        return None if values.dtype.kind == "f" and np.isnan(values).all() else "numbers"
    present = (value for value in values if isinstance(value, str) or not _is_missing(value))
    first = next(present, None)
    if first is None:
        return None
    return "text" if isinstance(first, str) else "numbers"


def _is_missing(value: Any) -> bool:
    return value is None or bool(value != value)


def _first_text(values: Array) -> int:
    """Return the row of the first text that is no number."""
    texts = (row for row, value in enumerate(values) if isinstance(value, str))
    return next((row for row in texts if not _is_number(values[row])), 0)


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


@dataclass
class _Kind:
    """Whether a column of labels or domains holds text; it must not change its mind."""

    column: str
    kind: str | None = None

    def check(self, path: Path, first_row: int, values: Array) -> None:
        """Raise where a column that held numbers so far holds text now, or the other way round."""
        found = _kind_of(values)
        if found is not None and self.kind not in (None, found):
            row = _first_text(values) if found == "text" else 0
            raise ValueError(
                f"{path}: column {self.column!r} holds {found} ({values.tolist()[row]!r}) in row "
                f"{first_row + row:,} (counted from 0, the header left out), and {self.kind} in "
                f"earlier rows. Read all of it as text: text=[{self.column!r}]."
            )
        self.kind = found or self.kind


def _common_dtype(headers: Iterable[_Header], features: list[str]) -> Any:
    types = {header.columns[name] for header in headers for name in features}
    return np.dtype(np.float32 if types == {"float32"} else np.float64)


# --- files --------------------------------------------------------------------------------------


def _find_files(paths: Any) -> list[Path]:
    listed = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    files = [file for path in listed for file in _files_at(Path(path))]
    if not files:
        raise ValueError("paths names no file; give a CSV or Parquet file, a folder or a pattern.")
    if len({file.resolve() for file in files}) < len(files):
        raise ValueError("paths names a file twice; its samples would count twice.")
    for file in files:
        _format_of(file)
    return files


def _files_at(path: Path) -> list[Path]:
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.name.endswith(CSV + PARQUET))
        if not files:
            raise FileNotFoundError(f"The folder {path} holds no CSV or Parquet file.")
        return files
    if path.exists():
        return [path]
    files = [Path(found) for found in sorted(glob.glob(str(path), recursive=True))]
    if not files:
        raise FileNotFoundError(
            f"{path} is no file, no folder, and no pattern that matches a file."
        )
    return files


def _format_of(path: Path) -> _Format:
    if path.name.endswith(CSV):
        return _Format(_look_at_csv, _read_csv)
    if path.name.endswith(PARQUET):
        return _Format(_look_at_parquet, _read_parquet)
    raise ValueError(f"{path} is no table that can be read; names end in {_some(CSV + PARQUET)}")


def _look_at(path: Path) -> _Header:
    if not path.stat().st_size:
        raise ValueError(f"{path} is empty; get it again, or leave it out.")
    with _reading(path):
        header = _format_of(path).look(path)
    if header.n_rows == 0:
        raise ValueError(f"{path} has a header and no rows; leave it out.")
    return header


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Let an error say which file could not be read."""
    try:
        yield
    except ImportError:
        raise
    except Exception as error:  # parsers of foreign bytes raise whatever they stumble over
        raise ValueError(f"{path} cannot be read as a table: {str(error).strip()}") from error


def _look_at_csv(path: Path) -> _Header:
    pandas = _load("pandas", "CSV")
    head = pandas.read_csv(path, nrows=1, dtype=str)
    if not isinstance(head.index, pandas.RangeIndex):
        raise ValueError("its rows hold more values than the header has names")
    return _Header(dict.fromkeys(head.columns), None if len(head) else 0)


def _read_csv(path: Path, columns: list[str], rows: int, text: list[str]) -> Iterator[Columns]:
    pandas = _load("pandas", "CSV")
    # All columns are read: where some are picked, pandas lets rows pass that hold too many values.
    types = dict.fromkeys(text, str)
    with (
        _reading(path),
        pandas.read_csv(path, dtype=types, chunksize=rows, low_memory=False) as reader,
    ):
        for frame in reader:
            yield {name: frame[name].to_numpy() for name in columns}


def _look_at_parquet(path: Path) -> _Header:
    with _load("pyarrow.parquet", "Parquet").ParquetFile(path) as file:
        columns: dict[str, str | None] = {
            field.name: _type_of(field.type) for field in file.schema_arrow
        }
        return _Header(columns, file.metadata.num_rows)


def _type_of(arrow: Any) -> str:
    types = _load("pyarrow.types", "Parquet")
    if types.is_float16(arrow) or types.is_float32(arrow):
        return "float32"
    numeric = (types.is_floating, types.is_integer, types.is_boolean)
    return "float64" if any(test(arrow) for test in numeric) else "other"


def _read_parquet(path: Path, columns: list[str], rows: int, text: list[str]) -> Iterator[Columns]:
    parquet = _load("pyarrow.parquet", "Parquet")
    with _reading(path), parquet.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=rows, columns=columns):
            named = dict(zip(batch.schema.names, batch.columns, strict=True))
            for name in text:
                named[name] = named[name].cast("string")
            yield {name: _plain(column) for name, column in named.items()}


def _plain(column: Any) -> Array:
    """Return an Arrow column as an array; nulls are NaN among numbers and None among text."""
    # Not every version of pyarrow keeps nulls where to_numpy decodes by itself.
    if hasattr(column, "dictionary_decode"):
        column = column.dictionary_decode()
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _load(module: str, kind: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        package = module.split(".")[0]
        raise ImportError(f'{kind} files need {package}: pip install "skatter[report]"') from error


# --- names --------------------------------------------------------------------------------------


def _listed(name: str, values: Sequence[str]) -> list[str]:
    if isinstance(values, str):
        raise TypeError(f"{name} must be a list of column names, got the text {values!r}.")
    return list(values)


def _check_same(first_path: Path, first: _Header, path: Path, header: _Header) -> None:
    """Raise where a file has columns that the first one lacks."""
    extra = [name for name in header.columns if name not in first.columns]
    if extra:
        raise ValueError(
            f"{path} has the column {extra[0]!r}, which {first_path} lacks; all files must have "
            "the same columns, or name those of X in features."
        )


def _some(names: Iterable[str]) -> str:
    """List a few names."""
    listed = list(names)
    return ", ".join(listed[:8]) + (", ..." if len(listed) > 8 else "")
