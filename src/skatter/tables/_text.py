"""Tables from CSV: what the file is made of is found first, and every row is counted.

pandas parses fast and forgives much: it fills up short rows, renames columns that come twice and
takes a surplus cell for an index. So bytes, header and length of each row are checked before.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from skatter._formatting import quoted
from skatter.tables._budget import BLOCK
from skatter.tables._errors import TableError, check_names, load
from skatter.tables._opening import Data

if TYPE_CHECKING:
    from pandas import DataFrame

DELIMITERS = (",", ";", "\t", "|")
NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
SNIFFED_ROWS = 100
SNIFFED_CHARACTERS = 1 << 20
MANY_COLUMNS = 1000
EXACT_FLOAT = 2.0**53  # whole numbers from here on are not all floats

# Possessive: a long cell of digits is never tried a second time.
NUMBER = re.compile(r"\s*+[+-]?(?:\d++(?:[.,]\d*+)?|[.,]\d++)(?:[eE][+-]?\d++)?\s*+")
DECIMAL_COMMA = re.compile(r"\s*+[+-]?\d*+,\d++(?:[eE][+-]?\d++)?\s*+")
DECIMAL_POINT = re.compile(r"\s*+[+-]?\d*+\.\d++(?:[eE][+-]?\d++)?\s*+")
SPREADSHEET_ERRORS = ["#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!"]
"""What a formula that failed leaves in its cell, beside #N/A, which pandas knows."""
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
Row = list[str]
Widths = Generator[tuple[int, int], None, None]  # line of a row, and how many cells it has


@dataclass(frozen=True)
class Layout:
    delimiter: str
    decimal: str
    header: Row


def read_csv(data: Data, delimiters: tuple[str, ...] = DELIMITERS) -> DataFrame:
    plain = check_characters(data)
    layout = find_layout(data, delimiters)
    check_names(layout.header, data.name)
    check_header(layout, data.name)
    n_rows = check_rows(data, layout, plain=plain)
    data.budget.check_cells(n_rows, len(layout.header))
    frame = parse(data, layout)
    if len(frame) != n_rows:
        raise TableError(
            f"{data.name}: {n_rows:,} rows were counted and {len(frame):,} read; check its quotes."
        )
    _keep_digits(frame, data, layout)
    # pandas keeps each column apart, which makes everything slow where there are many.
    return frame.copy() if len(layout.header) > MANY_COLUMNS else frame


def parse(data: Data, layout: Layout, **options: Any) -> Any:
    data.file.seek(0)
    return load("pandas", "Tables").read_csv(
        data.file,
        sep=layout.delimiter,
        decimal=layout.decimal,
        header=0,
        names=layout.header,
        index_col=False,
        encoding="utf-8-sig",
        na_values=SPREADSHEET_ERRORS,
        low_memory=False,  # else a column of numbers and text would be half of each
        **options,
    )


def _keep_digits(frame: DataFrame, data: Data, layout: Layout) -> None:
    """Read whole numbers again that a gap made floats, where floats do not hold their digits."""
    floats = frame.select_dtypes("float")
    large = [
        name
        for name, highest, lowest in zip(floats, floats.max(), floats.min(), strict=True)
        if max(highest, -lowest) >= EXACT_FLOAT and (floats[name].dropna() % 1 == 0).all()
    ]
    if not large:
        return
    text = parse(data, layout, usecols=large, dtype="string")
    for name in large:
        digits = text[name].str.strip()
        if digits.str.fullmatch(r"[+-]?\d{1,18}").fillna(True).all():
            frame[name] = digits.astype("Int64")


def check_characters(data: Data) -> bool:
    """Refuse what is not UTF-8; tell whether lines are rows: no quotes, no lone carriage return."""
    start = data.head(2)
    if not data.size:
        raise TableError(f"{data.name}: is empty.")
    if start in UTF_16:
        raise TableError(f"{data.name}: is UTF-16; save it as UTF-8.")
    decoder = codecs.getincrementaldecoder("utf-8")()
    position, line, plain, last = 0, 1, True, b""
    while True:
        block = data.file.read(BLOCK)
        held = len(decoder.getstate()[0])
        try:
            decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            bad, lines = error.object[error.start], error.object.count(b"\n", 0, error.start)
            raise TableError(
                f"{data.name}: byte 0x{bad:02x} at position {position - held + error.start:,} "
                f"(line {line + lines:,}) is not UTF-8; save the file as UTF-8, such as by iconv "
                "-f CP1252 -t UTF-8."
            ) from error
        if (nul := block.find(b"\0")) >= 0:
            lines = block.count(b"\n", 0, nul)
            raise TableError(
                f"{data.name}: has a NUL byte at position {position + nul:,} (line "
                f"{line + lines:,}); it is damaged or no text."
            )
        # A return at the end of the block is looked at again, with the block that follows.
        seen = last + block
        lone = b"\r" in seen and re.search(rb"\r[^\n]", seen)
        plain = plain and b'"' not in block and not lone
        if not block:
            return plain
        position, line, last = position + len(block), line + block.count(b"\n"), block[-1:]


def find_layout(data: Data, delimiters: tuple[str, ...] = DELIMITERS) -> Layout:
    """Find delimiter, decimal mark and header from the first rows.

    A delimiter that gives all rows the same number of cells, two or more, wins; among those, the
    one that leaves more numbers (so that decimal commas divide no cells), then more cells.
    """
    lines = _first_lines(data)
    samples = {delimiter: _sample(lines, delimiter) for delimiter in delimiters}
    if not any(samples.values()):
        raise TableError(f"{data.name}: holds blank lines and nothing else.")
    best = max(delimiters, key=lambda delimiter: _merit(samples[delimiter]))
    header, *rows = samples[best]
    cells = [cell for row in rows for cell in row]
    commas, points = (any(map(m.fullmatch, cells)) for m in (DECIMAL_COMMA, DECIMAL_POINT))
    return Layout(best, "," if best != "," and commas and not points else ".", header)


def _merit(rows: list[Row]) -> tuple[bool, float, int]:
    if not rows:  # lines of tabs are blank to a delimiter that is none
        return False, 0.0, 0
    widths = [len(row) for row in rows]
    cells = [cell for row in rows[1:] for cell in row]
    numbers = sum(map(bool, map(NUMBER.fullmatch, cells))) / max(len(cells), 1)
    divided = len(set(widths)) == 1 and widths[0] > 1
    return divided, numbers if divided else 0.0, widths[0]


def _first_lines(data: Data) -> list[str]:
    lines: list[str] = []
    with _text(data) as text:
        for line in islice(text, SNIFFED_ROWS + 1):
            lines.append(line)
            if sum(map(len, lines)) > SNIFFED_CHARACTERS:
                break
    return lines


def _sample(lines: list[str], delimiter: str) -> list[Row]:
    try:
        rows = [row for row in csv.reader(lines, delimiter=delimiter) if not _blank(row)]
    except csv.Error:  # said where rows are checked, with the line
        rows = [lines[0].rstrip("\r\n").split(delimiter)]
    # The last of many lines may end within quotes.
    return rows[:-1] if len(rows) > SNIFFED_ROWS else rows


@contextmanager
def _text(data: Data) -> Iterator[Iterator[str]]:
    """Yield the lines of the file as text, with their ends; leave the file open."""
    data.file.seek(0)
    lines = io.TextIOWrapper(data.file, encoding="utf-8-sig", newline="")
    try:
        yield lines
    finally:
        lines.detach()


def _blank(row: Row) -> bool:
    return not row or (len(row) == 1 and not row[0].strip(" \t"))


def check_header(layout: Layout, name: str) -> None:
    """Refuse a first row of numbers alone, unless it counts as pandas does: 0, 1, 2."""
    counts = layout.header == [str(place) for place in range(len(layout.header))]
    if not counts and all(map(NUMBER.fullmatch, layout.header)):
        raise TableError(
            f"{name}: line 1 holds numbers ({quoted(layout.delimiter.join(layout.header))}), not "
            "the names of columns; add a line of names."
        )


def check_rows(data: Data, layout: Layout, *, plain: bool) -> int:
    expected, n_rows = len(layout.header), 0
    count = _count_cells if plain else _parse_cells
    with closing(count(data, layout.delimiter)) as widths:
        for line, width in islice(widths, 1, None):
            if width != expected:
                mark = NAMES[layout.delimiter]
                raise TableError(
                    f"{data.name}: line {line:,} has {width:,} cells and the header {expected:,}, "
                    f"divided by {mark}; mend the line, or quote cells that hold {mark}."
                )
            n_rows += 1
    return n_rows


def read_cells(data: Data, delimiter: str) -> Iterator[Row]:
    with _text(data) as text:
        yield from (row for row in csv.reader(text, delimiter=delimiter) if not _blank(row))


def _count_cells(data: Data, delimiter: str) -> Widths:
    data.file.seek(0)
    mark, longest = delimiter.encode(), data.budget.longest_cell
    for number, line in enumerate(data.file, 1):
        if len(line) > longest:
            data.budget.check_cell(max(map(len, line.split(mark))), f"line {number:,}")
        width = line.count(mark) + 1
        if width > 1 or line.strip(b" \t\r\n\xef\xbb\xbf"):
            yield number, width


def _parse_cells(data: Data, delimiter: str) -> Widths:
    """Yield line and number of cells of each row; a row starts after the end of the last one."""
    line = 1
    with _text(data) as text:
        rows = csv.reader(text, delimiter=delimiter, strict=True)
        try:
            for row in rows:
                if not _blank(row):
                    yield line, len(row)
                line = rows.line_num + 1
        except csv.Error as error:
            raise TableError(
                f"{data.name}: the row at line {line:,} cannot be divided into cells: {error}; "
                "check its quotes."
            ) from error
