"""Numbers and dates as people write them: ``45%``, ``$1,234.00``, ``1.234,5 €``, ``31.12.2024``.

Which mark divides the fraction is told by the whole column, and kept: ``1.234`` is one number in a
column of points and another in a column of commas.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from skatter.tables.errors import load

if TYPE_CHECKING:
    from pandas import Series

POINT, COMMA = ".", ","
LOOKED_AT = 200
"""Different texts after which a column without a number is taken for text."""

_MONEY = r"[$€£¥₹₽₩₺₪₫₴฿]|USD|EUR|GBP|CHF|JPY|CNY|INR|AUD|CAD|SEK|NOK|DKK|PLN|CZK|kr|zł|Fr\.?"


def _pattern(decimal: str, groups: str) -> re.Pattern[str]:
    digits = rf"\d{{1,3}}(?:[{groups}]\d{{3}})++|\d++"
    number = rf"(?:(?:{digits})(?:\{decimal}\d*+)?|\{decimal}\d++)(?:[eE][+-]?\d++)?"
    return re.compile(
        rf"\s*+(?P<sign>[+−-]?)\s*+(?P<before>{_MONEY})?\s*+(?P<minus>-?)(?P<number>{number})"
        rf"\s*+(?P<after>%|{_MONEY})?\s*+"
    )


_SPACES = " \u00a0\u202f'’"
PATTERNS = {POINT: _pattern(POINT, "," + _SPACES), COMMA: _pattern(COMMA, "." + _SPACES)}

ISO_DATE = re.compile(r"\s*+\d{4}-\d{2}-\d{2}(?:[T ].*+)?")
DOTTED_DATE = re.compile(r"\s*+\d{1,2}\.\d{1,2}\.\d{4}\s*+")
SLASHED_DATE = re.compile(r"\s*+\d{1,2}/\d{1,2}/\d{2,4}(?: .*+)?")


def read_number(cell: str, decimal: str) -> tuple[float, str]:
    """Return the number in a cell and its unit; NaN where it is none.

    Examples
    --------
    >>> read_number("$1,234.50", "."), read_number("45 %", "."), read_number("-1.234,5 €", ",")
    ((1234.5, '$'), (45.0, '%'), (-1234.5, '€'))
    """
    found = PATTERNS[decimal].fullmatch(cell)
    if found is None:
        return np.nan, ""
    digits = re.sub(f"[^0-9eE+{decimal}-]", "", found["number"]).replace(decimal, ".")
    sign = -1.0 if found["sign"] in ("-", "−") or found["minus"] else 1.0
    return sign * float(digits), found["before"] or found["after"] or ""


def numbers_in(text: Series, decimal: str) -> Series:
    """Return the numbers in the cells of a column, NaN where there is none."""
    pandas = load("pandas", "Tables")
    if decimal == POINT:
        numbers = pandas.to_numeric(text, errors="coerce")
        text = text[text.notna() & numbers.isna()]
        if not len(text):
            return numbers
    else:
        numbers = pandas.Series(np.nan, index=text.index, name=text.name)
    known = {cell: read_number(cell, decimal)[0] for cell in text.dropna().unique()}
    found = text.map(known)
    return numbers.astype(np.float64).where(~numbers.index.isin(text.index), found)


def number_style(distinct: list[str]) -> tuple[str, bool] | None:
    """Tell how the numbers among some texts are written, and whether they have units or groups.

    None: they are no numbers, or of several units, which nobody should add up.
    """
    some = list(islice(distinct, LOOKED_AT))
    best = max(PATTERNS, key=lambda mark: sum(map(bool, map(PATTERNS[mark].fullmatch, some))))
    if not any(map(PATTERNS[best].fullmatch, some)):
        return None
    units = [read_number(cell, best)[1] for cell in distinct if PATTERNS[best].fullmatch(cell)]
    named = {unit for unit in units if unit}
    if len(named) > 1 or (named == {"%"} and "" in units):
        return None
    plain = best == POINT and not named and not any(set(cell) & set("," + _SPACES) for cell in some)
    return best, not plain


def days_in(column: Series) -> Series:
    """Return dates, or texts of them, as days since 1970; NaN where there is none."""
    pandas = load("pandas", "Tables")
    if not pandas.api.types.is_datetime64_any_dtype(column.dtype):
        text = column.astype("string").str.strip()
        iso = pandas.to_datetime(text, format="ISO8601", errors="coerce", utc=True)
        dotted = pandas.to_datetime(text, format="%d.%m.%Y", errors="coerce", utc=True)
        column = iso.fillna(dotted)
    if column.dt.tz is not None:
        column = column.dt.tz_convert(None)
    seconds = column.to_numpy("datetime64[s]")
    days = np.where(np.isnat(seconds), np.nan, seconds.astype(np.int64) / 86_400)
    return pandas.Series(days, index=column.index, name=column.name)
