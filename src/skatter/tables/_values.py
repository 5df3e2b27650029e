"""Numbers and dates as people write them: ``45%``, ``($1,234.00)``, ``1.234,5 €``, ``3 May 2024``.

Which mark divides the fraction is told by the whole column, and kept: ``1.234`` is one number in a
column of points and another in a column of commas. So is whether the day or the month comes first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skatter.tables._errors import load

if TYPE_CHECKING:
    from pandas import Series

POINT, COMMA = ".", ","
LOOKED_AT = 200  # different texts after which a column without a number is taken for text
_MONEY = r"[$€£¥₹₽₩₺₪₫₴฿]|USD|EUR|GBP|CHF|JPY|CNY|INR|AUD|CAD|SEK|NOK|DKK|PLN|CZK|kr|zł|Fr\.?"
# Behind a blank a unit may be any word; right behind the digits, 12A is rather a code.
_UNIT = r"%|(?:(?<=\s)[^\W\d_]|[a-zµ°])[^\W\d_]*+(?:[/²³][^\W\d_]*+)*+"


def _pattern(decimal: str, groups: str) -> re.Pattern[str]:
    digits = rf"\d{{1,3}}(?:[{groups}]\d{{3}})++|\d++"
    number = rf"(?:(?:{digits})(?:\{decimal}\d*+)?|\{decimal}\d++)(?:[eE][+-]?\d++)?"
    return re.compile(
        rf"\s*+(?P<bracket>\()?(?P<sign>[+−-]?)\s*+(?P<before>{_MONEY})?\s*+(?P<minus>-?)"
        rf"(?P<number>{number})\s*+(?P<after>{_MONEY}|{_UNIT})?(?(bracket)\))\s*+"
    )


_SPACES = " \u00a0\u202f'’"
PATTERNS = {POINT: _pattern(POINT, "," + _SPACES), COMMA: _pattern(COMMA, "." + _SPACES)}


class NumberStyle(NamedTuple):
    """How the numbers of a column are written; dressed: with units, groups or brackets."""

    decimal: str
    dressed: bool
    unit: str


def read_number(cell: str, decimal: str) -> tuple[float, str]:
    """Return the number in a cell and its unit; NaN where it is none."""
    found = PATTERNS[decimal].fullmatch(cell)
    if found is None:
        return np.nan, ""
    digits = re.sub(f"[^0-9eE+{decimal}-]", "", found["number"]).replace(decimal, ".")
    negative = found["bracket"] or found["sign"] in ("-", "−") or found["minus"]
    return (-1.0 if negative else 1.0) * float(digits), found["before"] or found["after"] or ""


def looks_like_number(cell: str) -> bool:
    return any(pattern.fullmatch(cell) for pattern in PATTERNS.values())


def numbers_in(text: Series, decimal: str) -> Series:
    pandas = load("pandas", "Tables")
    if decimal == POINT:
        numbers = pandas.to_numeric(text, errors="coerce").astype(np.float64)
    else:
        numbers = pandas.Series(np.nan, index=text.index)
    return _read_rest(numbers, text, lambda cell: read_number(cell, decimal)[0])


def _read_rest(numbers: Series, text: Series, read: Callable[[str], float]) -> Series:
    """Fill in the cells that are still missing, each different text read once."""
    rest = (numbers.isna() & text.notna()).to_numpy(dtype=bool)
    known = {cell: read(cell) for cell in text[rest].unique()}
    values = numbers.to_numpy(np.float64, copy=True)
    values[rest] = [known[cell] for cell in text[rest]]
    return load("pandas", "Tables").Series(values, index=text.index, name=text.name)


def number_style(distinct: Sequence[str]) -> NumberStyle | None:
    """Tell how numbers are written; None where there is none, or several units that do not add."""
    some = distinct[:LOOKED_AT]
    best = max(PATTERNS, key=lambda mark: sum(map(bool, map(PATTERNS[mark].fullmatch, some))))
    if not any(map(PATTERNS[best].fullmatch, some)):
        return None
    units = {read_number(cell, best)[1] for cell in distinct if PATTERNS[best].fullmatch(cell)}
    named = units - {""}
    if len(named) > 1 or (len(units) == 2 and not re.fullmatch(_MONEY, max(named))):
        return None
    plain = best == POINT and not any(set(cell) & set(",(" + _SPACES) for cell in some)
    return NumberStyle(best, bool(named or not plain), max(units))


DAY_FIRST, MONTH_FIRST = "day first", "month first"
ORDERS = (DAY_FIRST, MONTH_FIRST)

_MONTHS = [
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
]
_CLOCK = (
    r"(?:,?+[T ]\s*+(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.\d++)?+)?+"
    r"(?:\s?+(?P<half>[AaPp])[Mm])?+)?+"
)
_DAY, _MONTH, _YEAR = r"(?P<day>\d{1,2})", r"(?P<month>\d{1,2})", r"(?P<year>\d{4})"
_NAME = r"(?P<name>[A-Za-z]{3,9})\.?+"
_SURE = [
    re.compile(rf"\s*+{date}{_CLOCK}\s*+")
    for date in (
        rf"{_YEAR}[-/]{_MONTH}[-/]{_DAY}",
        rf"{_DAY}\.{_MONTH}\.{_YEAR}",
        rf"{_DAY}[ -]{_NAME},?+[ -]{_YEAR}",
        rf"{_NAME} {_DAY},?+ {_YEAR}",
    )
]
_SLASHED = {
    DAY_FIRST: re.compile(rf"\s*+{_DAY}(?P<mark>[/-]){_MONTH}(?P=mark){_YEAR}{_CLOCK}\s*+"),
    MONTH_FIRST: re.compile(rf"\s*+{_MONTH}(?P<mark>[/-]){_DAY}(?P=mark){_YEAR}{_CLOCK}\s*+"),
}
_ISO = re.compile(r"\s*+\d{4}-\d{2}-\d{2}(?:[T ].*+)?")
_SHORT_YEAR = re.compile(r"\s*+\d{1,2}/\d{1,2}/\d{2}(?: .*+)?")


def looks_like_date(cell: str) -> bool:
    """Tell whether a text has the form of a date that can be read in one way only."""
    return bool(_ISO.fullmatch(cell) or any(form.fullmatch(cell) for form in _SURE))


def looks_slashed(cell: str) -> bool:
    """Tell whether a text is a date such as 01/02/2024, of which the order must be known."""
    read = any(not np.isnan(read_day(cell, order)) for order in ORDERS)
    return read or bool(_SHORT_YEAR.fullmatch(cell))


def date_order(cells: Sequence[str]) -> str | None:
    """Tell which comes first in dates such as 13/01/2024; None where that is open."""
    fits = [order for order in ORDERS if not any(np.isnan(read_day(c, order)) for c in cells)]
    return fits[0] if len(fits) == 1 else None


def read_day(cell: str, order: str = "") -> float:
    forms = [*_SURE, *([_SLASHED[order]] if order else ())]
    found = next(filter(None, (form.fullmatch(cell) for form in forms)), None)
    if found is None:
        return np.nan
    parts = found.groupdict()
    month = parts.get("month")
    if month is None:  # an English name, which may be cut short; 0 where it is none
        named = [each.startswith(parts["name"].lower()) for each in _MONTHS]
        month = named.index(True) + 1 if any(named) else 0
    hour = int(parts["hour"] or 0)
    if parts["half"]:
        hour = hour % 12 + 12 * (parts["half"] in "Pp")
    clock = (hour, int(parts["minute"] or 0), int(parts["second"] or 0))
    try:
        when = datetime(int(parts["year"]), int(month), int(parts["day"]), *clock)
    except ValueError:
        return np.nan
    return (when - datetime(1970, 1, 1)) / timedelta(days=1)


def days_in(column: Series, order: str = "") -> Series:
    pandas = load("pandas", "Tables")
    if not pandas.api.types.is_datetime64_any_dtype(column.dtype):
        text = column.astype("string").str.strip()
        days = days_in(pandas.to_datetime(text, format="ISO8601", errors="coerce", utc=True))
        return _read_rest(days, text, lambda cell: read_day(cell, order))
    if column.dt.tz is not None:
        column = column.dt.tz_convert(None)
    seconds = column.to_numpy("datetime64[s]")
    days = np.where(np.isnat(seconds), np.nan, seconds.astype(np.int64) / 86_400)
    return pandas.Series(days, index=column.index, name=column.name)
