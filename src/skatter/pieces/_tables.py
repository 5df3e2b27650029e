"""Chunks of tables: CSV and Parquet files, however large, read some rows at a time.

A column may hold the labels, another one the domains; the others are the features. CSV is read by
the rules of :func:`skatter.tables.read_table`: its delimiter and decimal mark are found, and the
length of every row is checked before the first one is parsed.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from skatter._formatting import listed
from skatter._tensors import Array
from skatter.pieces._chunks import Chunk, chunk_rows, numbered
from skatter.tables import _text as csv_text
from skatter.tables._budget import BLOCK, Budget
from skatter.tables._errors import blaming, check_names, load, missing_column
from skatter.tables._opening import PACKED, Data

Types = dict[str, str | None]  # of columns: "float32", "float64" or "other"
Columns = dict[str, Array]  # values of some rows by the name of their column
CSV = (".csv", ".csv.gz", ".csv.bz2", ".csv.xz")
PARQUET = (".parquet", ".pq")
NAMELESS = ("Unnamed: ", "__index_level_")  # how pandas names the nameless


class TableChunks:
    r"""Rows of CSV and Parquet files, some at a time.

    A chunk never holds rows of two files, which must have the same columns. CSV may be divided by
    commas, semicolons, tabs or bars, and have decimal commas.

    Parameters
    ----------
    paths : path, or sequence of paths
        Files, folders (every CSV and Parquet file in it) or patterns such as ``"visits-*.csv"``;
        files of a folder or a pattern come in the order of their names.
    label, domain : str or None
        Columns of the labels and of the domains. An empty cell is an unlabelled sample.
    features : sequence of str or None
        Columns of ``X``, all of numbers, in this order; None: all but the label and the domain.
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

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from skatter.pieces import TableChunks
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
        self._checked: set[Path] = set()
        headers = {path: _look_at(path) for path in self.files}
        first_path, (first, _) = next(iter(headers.items()))
        self.label, self.domain, self.text = label, domain, _listed("text", text)
        self._names = [name for name in (label, domain) if name is not None]
        if features is None:
            self.features = [name for name in first if name not in self._names]
            for name in (name for name in self.features if name.startswith(NAMELESS)):
                raise ValueError(
                    f"{first_path} has a column without a name ({name!r}), as the index of a data "
                    "frame is written; name the columns of X in features."
                )
        else:
            self.features = _listed("features", features)
        self._check_names()
        for path, (types, _) in headers.items():
            self._check_columns(path, types)
            extra = [name for name in types if name not in first]
            if extra and features is None:
                raise ValueError(
                    f"{path} has the column {extra[0]!r}, which {first_path} lacks; all files must "
                    "have the same columns, or name those of X in features."
                )
        found = {types[name] for types, _ in headers.values() for name in self.features}
        self.dtype = np.dtype(np.float32 if found == {"float32"} else np.float64)
        counts = [n_rows for _, n_rows in headers.values()]
        self.n_rows = None if None in counts else sum(count for count in counts if count)
        self.rows = chunk_rows(rows, len(self.features))

    def __iter__(self) -> Iterator[Chunk]:
        return numbered(self._read())

    def _read(self) -> Iterator[Chunk]:
        columns = [*self.features, *self._names]
        kinds: dict[str, str | None] = {}
        for path in self.files:
            first_row = 0
            read = _read_csv if path.name.endswith(CSV) else _read_parquet
            if read is _read_csv and path not in self._checked:
                with _opened(path) as data:
                    plain = csv_text.check_characters(data)
                    csv_text.check_rows(data, _layout(data), plain=plain)
                self._checked.add(path)
            for values in read(path, columns, self.rows, self.text):
                X = _numbers(path, first_row, values, self.features, self.dtype)
                for name in self._names:
                    kinds[name] = _kind_so_far(path, first_row, name, values[name], kinds.get(name))
                pair = (self.label, self.domain)
                y, domain = (None if name is None else values[name] for name in pair)
                yield Chunk(X, y, domain)
                first_row += len(X)

    def _check_names(self) -> None:
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

    def _check_columns(self, path: Path, types: Types) -> None:
        for name in (*self.features, *self._names):
            if name not in types:
                raise ValueError(f"{path}: {missing_column(name, list(types))}")
        for name in self.features:
            if types[name] == "other":
                raise ValueError(
                    f"{path}: column {name!r} holds no numbers; leave it out of X by naming the "
                    "columns of numbers in features."
                )


def _numbers(path: Path, first_row: int, values: Columns, features: list[str], dtype: Any) -> Array:
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
    """Return "text" or "numbers", for a batch holds one kind; None where all values are missing."""
    if values.dtype.kind != "O":
        return None if values.dtype.kind == "f" and np.isnan(values).all() else "numbers"
    present = (value for value in values if isinstance(value, str) or not _is_missing(value))
    first = next(present, None)
    return None if first is None else "text" if isinstance(first, str) else "numbers"


def _is_missing(value: Any) -> bool:
    return value is None or bool(value != value)


def _first_text(values: Array) -> int:
    texts = (row for row, value in enumerate(values) if isinstance(value, str))
    return next((row for row in texts if not csv_text.NUMBER.fullmatch(values[row])), 0)


def _kind_so_far(
    path: Path, first_row: int, name: str, values: Array, kind: str | None
) -> str | None:
    """Return whether labels or domains are text, and refuse them where they change their mind."""
    found = _kind_of(values)
    if found is not None and kind not in (None, found):
        row = _first_text(values) if found == "text" else 0
        raise ValueError(
            f"{path}: column {name!r} holds {found} ({values.tolist()[row]!r}) in row "
            f"{first_row + row:,} (counted from 0, the header left out), and {kind} in "
            f"earlier rows. Read all of it as text: text=[{name!r}]."
        )
    return found or kind


def _find_files(paths: Any) -> list[Path]:
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    files = [file for path in given for file in _files_at(Path(path))]
    if not files:
        raise ValueError("paths names no file; give a CSV or Parquet file, a folder or a pattern.")
    if len({file.resolve() for file in files}) < len(files):
        raise ValueError("paths names a file twice; its samples would count twice.")
    for file in files:
        if not file.name.endswith(CSV + PARQUET):
            endings = listed(CSV + PARQUET, most=8)
            raise ValueError(f"{file} is no table that can be read; names end in {endings}.")
    return files


def _files_at(path: Path) -> list[Path]:
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.name.endswith(CSV + PARQUET))
        without = f"The folder {path} holds no CSV or Parquet file."
    elif path.exists():
        return [path]
    else:
        files = [Path(found) for found in sorted(glob.glob(str(path), recursive=True))]
        without = f"{path} is no file, no folder, and no pattern that matches a file."
    if not files:
        raise FileNotFoundError(without)
    return files


def _look_at(path: Path) -> tuple[Types, int | None]:
    """Return the type of each column and the number of rows; CSV says neither."""
    if not path.stat().st_size:
        raise ValueError(f"{path} is empty; get it again, or leave it out.")
    if path.name.endswith(CSV):
        with _opened(path) as data:
            layout = _layout(data)
            empty = next(islice(csv_text.read_cells(data, layout.delimiter), 1, 2), None) is None
            types: Types = dict.fromkeys(layout.header)
            n_rows = 0 if empty else None
    else:
        parquet = load("pyarrow.parquet", "Parquet files")
        with blaming(str(path), "Parquet"), parquet.ParquetFile(path) as file:
            types = {field.name: _type_of(field.type) for field in file.schema_arrow}
            n_rows = file.metadata.num_rows
    if n_rows == 0:
        raise ValueError(f"{path} has a header and no rows; leave it out.")
    return types, n_rows


@contextmanager
def _opened(path: Path) -> Iterator[Data]:
    """Open a CSV file; a packed one is unpacked as it is read, for no copy of it might fit."""
    load("pandas", "CSV files")
    with path.open("rb") as file, blaming(str(path), "CSV"):
        start = file.read(6)
        file.seek(0)
        packed = (unpack for magic, (_, unpack) in PACKED.items() if start.startswith(magic))
        unpack, name = next(packed, None), str(path)
        plain = unpack(file) if unpack else file
        yield Data(plain, name, ".csv", path.stat().st_size, Budget(name))


def _layout(data: Data) -> csv_text.Layout:
    try:
        layout = csv_text.find_layout(data)
    except UnicodeDecodeError:
        csv_text.check_characters(data)  # says where
        raise
    header = [name if name.strip() else f"Unnamed: {n}" for n, name in enumerate(layout.header)]
    layout = replace(layout, header=header)
    check_names(header, data.name)
    csv_text.check_header(layout, data.name)
    return layout


def _read_csv(path: Path, columns: list[str], rows: int, text: list[str]) -> Iterator[Columns]:
    types = dict.fromkeys(text, str)
    with _opened(path) as data:
        for frame in csv_text.parse(data, _layout(data), dtype=types, chunksize=rows):
            yield {name: frame[name].to_numpy() for name in columns}


def _type_of(arrow: Any) -> str:
    types = load("pyarrow.types", "Parquet files")
    if types.is_float16(arrow) or types.is_float32(arrow):
        return "float32"
    numeric = (types.is_floating, types.is_integer, types.is_boolean)
    return "float64" if any(test(arrow) for test in numeric) else "other"


def _read_parquet(path: Path, columns: list[str], rows: int, text: list[str]) -> Iterator[Columns]:
    parquet = load("pyarrow.parquet", "Parquet files")
    # Otherwise whole row groups are fetched, and all that were stay in memory until the end.
    options = {"buffer_size": BLOCK, "pre_buffer": False}
    with blaming(str(path), "Parquet"), parquet.ParquetFile(path, **options) as file:
        for batch in file.iter_batches(batch_size=rows, columns=columns):
            named = dict(zip(batch.schema.names, batch.columns, strict=True))
            for name in text:
                named[name] = named[name].cast("string")
            yield {name: _plain(column) for name, column in named.items()}


def _plain(column: Any) -> Array:
    # Not every version of pyarrow keeps nulls where to_numpy decodes by itself.
    if hasattr(column, "dictionary_decode"):
        column = column.dictionary_decode()
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _listed(name: str, values: Sequence[str]) -> list[str]:
    if isinstance(values, str):
        raise TypeError(f"{name} must be a list of column names, got the text {values!r}.")
    return list(values)
