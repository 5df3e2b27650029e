"""The first sheet of an Excel workbook as CSV, so that the one reader of cells reads it too.

A workbook is a zip archive of XML. Before openpyxl sees it, its members are unpacked once to be
counted, and XML with definitions of its own is refused: entities unfold without end.
"""

from __future__ import annotations

import csv
import io
import warnings
from datetime import datetime
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO, cast
from zipfile import BadZipFile, ZipFile

from skatter._formatting import listed, quoted
from skatter.tables._budget import BLOCK
from skatter.tables._errors import TableError, load
from skatter.tables._opening import IN_MEMORY, Data

WORKBOOK = "xlsx"
SHEETS, PICTURES = "xl/workbook.xml", "xl/media/"
DEFINITIONS = [
    word.encode(code)
    for word in ("<!DOCTYPE", "<!ENTITY")
    for code in ("utf-8", "utf-16-le", "utf-16-be")
]


def is_workbook(data: Data) -> bool:
    try:
        data.file.seek(0)
        return SHEETS in ZipFile(data.file).namelist()
    except (BadZipFile, OSError, ValueError, NotImplementedError):
        return False


def stack_cells(data: Data) -> BinaryIO:
    openpyxl = load("openpyxl", "Workbooks")
    _check_members(data)
    data.file.seek(0)
    book = openpyxl.load_workbook(data.file, read_only=True, data_only=True, keep_links=False)
    found: Any = SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 (whoever reads it closes it)
    text = io.TextIOWrapper(found, encoding="utf-8", newline="", write_through=True)
    writer, n_cells, width = csv.writer(text, lineterminator="\n"), 0, None
    sheet, *others = book.worksheets
    if others:
        warnings.warn(
            f"{data.name}: only its first sheet is read, {quoted(sheet.title)}, and not "
            f"{listed([other.title for other in others])}; save another as a file of its own.",
            stacklevel=2,
        )
    sheet.reset_dimensions()  # what the file says of its size is not to be trusted
    for row in sheet.iter_rows(values_only=True):
        n_cells += len(row) + 1
        data.budget.check_cells(n_cells, 1)
        data.budget.check_time(data.size)
        cells = [_text_of(value) for value in row]
        while cells and not cells[-1]:
            cells.pop()
        if cells:
            width = width or len(cells)
            writer.writerow(cells + [""] * (width - len(cells)))
    text.detach()
    if width is None:
        raise TableError(f"{data.name}: its first sheet is empty.")
    found.seek(0)
    return cast(BinaryIO, found)


def _check_members(data: Data) -> None:
    data.file.seek(0)
    total = 0
    with ZipFile(data.file) as archive:
        for member in archive.infolist():
            end, is_xml = b"", not member.filename.startswith(PICTURES)
            with archive.open(member) as file:
                while block := file.read(BLOCK):
                    total += len(block)
                    data.budget.check_bytes(total, data.size)
                    data.budget.check_time(total)
                    if is_xml and any(word in end + block for word in DEFINITIONS):
                        raise TableError(f"{data.name}: has XML that no workbook has.")
                    end = block[-20:]


def _text_of(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.isoformat(sep=" ").removesuffix(" 00:00:00")
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value)
