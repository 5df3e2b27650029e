"""What happens to each column before anything is learnt from it, and why.

A column is a number, a boolean, a date or a category; an id or text that differs in almost every
row is left out with its reason, and so is a column that says nothing. Numbers are looked at all at
once, so that a hundred thousand columns take seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skatter._formatting import quoted
from skatter._tensors import Array
from skatter.tables import _values as written
from skatter.tables._errors import TableError, check_names, load, missing_column

if TYPE_CHECKING:
    from pandas import DataFrame, Series

MAX_CATEGORIES = 20  # categories of a column that get a feature each; rarer ones share one
MOSTLY = 0.95  # share of the cells from which on a column of text is meant to hold numbers or dates
LARGEST = 1e100  # numbers beyond it overflow when they are squared and summed
COUNTER_ROWS = 20  # rows from which on whole numbers without gap or repetition count them
ROW = "row of the table"  # name of an index that says which rows were drawn
COLUMNS_AT_ONCE = 1000  # columns of numbers that are copied at a time
NUMBER, COMMA_NUMBER, BOOLEAN = "number", "number with decimal comma", "boolean"
DATE, CATEGORY = "date", "category"
DATES = {DATE: "", **{f"{DATE} with {order}": order for order in written.ORDERS}}
"""Kinds of dates, and what comes first in those with slashes."""
_FILLED = "median where missing, then standardised"
ACTIONS = {
    **dict.fromkeys((NUMBER, COMMA_NUMBER), _FILLED),
    BOOLEAN: "0 or 1, median where missing",
    **dict.fromkeys(DATES, f"year, month, weekday and days, {_FILLED}"),
    CATEGORY: "one feature per category",
}
LEFT_OUT = "left out"


@dataclass(frozen=True)
class ColumnPlan:
    """What happens to one column.

    Attributes
    ----------
    name : str
        The column.
    kind : str
        "number", "number with decimal comma", "boolean", "date", "date with day first", "date with
        month first", "category"; if left out "empty", "constant", "counter", "date" or "text".
    action : str
        What is done, in words; "left out" where nothing is.
    why : str
        The reason, in words.
    n_missing : int
        Rows in which the cell is empty.

    Examples
    --------
    >>> print(ColumnPlan("dose", "number", "standardised", "numbers", 0))
    dose: number, standardised (numbers)
    """

    name: str
    kind: str
    action: str
    why: str
    n_missing: int

    @property
    def used(self) -> bool:
        """Whether anything is learnt from the column."""
        return self.action != LEFT_OUT

    def __str__(self) -> str:
        missing = f", {self.n_missing:,} missing" if self.n_missing else ""
        return f"{self.name}: {self.kind}, {self.action} ({self.why}{missing})"


def describe_columns(X: DataFrame, *, categorical: Collection[str] = ()) -> list[ColumnPlan]:
    """Say what :func:`make_preprocessor` does to each column, and why.

    Parameters
    ----------
    X : DataFrame
        The columns that are features.
    categorical : collection of str
        Columns that are categories, whatever they hold: numbers that are codes.

    Returns
    -------
    list of ColumnPlan
        One per column, in their order.

    Raises
    ------
    TableError
        If a column has infinite or monstrous numbers, or holds numbers but for a few cells; the
        message names the column, the row and the remedy.

    Examples
    --------
    >>> import pandas as pd
    >>> from skatter.tables import describe_columns
    >>> X = pd.DataFrame({"dose": [1.0, None, 2.0], "ward": ["a", "b", "a"], "unit": 7})
    >>> for plan in describe_columns(X):
    ...     print(plan)
    dose: number, median where missing, then standardised (numbers, 1 missing)
    ward: category, one feature per category (2 different texts)
    unit: constant, left out (7 in every row)
    """
    check_names(list(X.columns), "the table")
    for name in categorical:
        if name not in X.columns:
            raise TableError(f"categorical: {missing_column(name, list(X.columns))}")
    codes, is_number = set(categorical), {dtype: _is_number(dtype) for dtype in X.dtypes.unique()}
    numeric = [name for name, kind in X.dtypes.items() if is_number[kind] and name not in codes]
    plans = {plan.name: plan for plan in _describe_numbers(X, numeric)}
    return [plans.get(name) or _describe_other(X[name], given=name in codes) for name in X.columns]


def _is_number(dtype: Any) -> bool:
    kinds = load("pandas", "Tables").api.types
    numeric = kinds.is_numeric_dtype(dtype) and not kinds.is_bool_dtype(dtype)
    return bool(numeric and getattr(dtype, "kind", "f") != "c")


def _empty(name: str, n_missing: int) -> ColumnPlan:
    return ColumnPlan(name, "empty", LEFT_OUT, "no cell holds anything", n_missing)


def _constant(name: str, value: str, n_missing: int) -> ColumnPlan:
    where = "every row that is not empty" if n_missing else "every row"
    return ColumnPlan(name, "constant", LEFT_OUT, f"{value} in {where}", n_missing)


def _describe_numbers(X: DataFrame, names: list[str]) -> Iterator[ColumnPlan]:
    for start in range(0, len(names), COLUMNS_AT_ONCE):
        some = names[start : start + COLUMNS_AT_ONCE]
        values = X[some].to_numpy(dtype=float, na_value=np.nan)
        missing = np.isnan(values).sum(axis=0)
        # fmin and fmax pass over NaN, without a copy; NumPy warns of some kinds of NaN.
        with np.errstate(invalid="ignore"):
            low, high = np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)
        for place, name in enumerate(some):
            if low[place] < -LARGEST or high[place] > LARGEST:
                check_magnitude(X[name])
            n_missing = int(missing[place])
            if n_missing == len(values):
                yield _empty(name, n_missing)
            elif low[place] == high[place]:
                yield _constant(name, f"{low[place]:g}", n_missing)
            elif _counts_rows(values[:, place], low[place], high[place]):
                why = "counts the rows, and says nothing else"
                yield ColumnPlan(name, "counter", LEFT_OUT, why, n_missing)
            else:
                yield ColumnPlan(name, NUMBER, ACTIONS[NUMBER], "numbers", n_missing)


def _counts_rows(values: Array, low: float, high: float) -> bool:
    n_rows = len(values)
    may_count = high - low == n_rows - 1 and n_rows >= COUNTER_ROWS
    return may_count and bool((np.sort(values) == low + np.arange(n_rows)).all())


def check_magnitude(column: Series) -> None:
    values = column.to_numpy(dtype=float, na_value=np.nan)
    places = np.flatnonzero(np.abs(values) > LARGEST)
    if len(places):
        raise TableError(
            f"column {quoted(column.name)}: {values[places[0]]:g} in row "
            f"{row_numbers(column)[places[0]]:,} is too large to compute with; mend the cell, or "
            "leave it empty."
        )


def row_numbers(rows: DataFrame | Series) -> NDArray[np.intp]:
    """Return numbers of rows: from 1 on, and in a part of a table as in the whole."""
    whole = isinstance(rows.index, load("pandas", "Tables").RangeIndex) or rows.index.name == ROW
    return np.asarray(rows.index if whole else np.arange(len(rows)), dtype=np.intp) + 1


def _describe_other(column: Series, *, given: bool) -> ColumnPlan:
    kinds = load("pandas", "Tables").api.types
    name, n_missing = str(column.name), int(column.isna().sum())
    if n_missing == len(column):
        return _empty(name, n_missing)
    if given:
        return _describe_text(name, as_text(column), given=True)
    if kinds.is_datetime64_any_dtype(column.dtype):
        return _describe_date(column, DATE, n_missing)
    if kinds.is_timedelta64_dtype(column.dtype):
        why = "durations; turn them into numbers, such as hours"
        return ColumnPlan(name, DATE, LEFT_OUT, why, n_missing)
    if kinds.infer_dtype(column, skipna=True) == "boolean":
        seen = column.dropna().astype(bool)
        if seen.nunique() == 1:
            return _constant(name, f"{seen.iloc[0]}", n_missing)
        return ColumnPlan(name, BOOLEAN, ACTIONS[BOOLEAN], "true or false", n_missing)
    return _describe_text(name, as_text(column), given=False)


def _describe_date(column: Series, kind: str, n_missing: int) -> ColumnPlan:
    name, days = str(column.name), written.days_in(column, DATES[kind])
    _refuse_foreign(column, days, "dates")
    if days.nunique() == 1:
        return ColumnPlan(name, "constant", LEFT_OUT, "one date in every row", n_missing)
    return ColumnPlan(name, kind, ACTIONS[kind], "dates", n_missing)


def _describe_text(name: str, text: Series, *, given: bool) -> ColumnPlan:
    distinct = list(text.value_counts(sort=False).index)
    n_missing, n_distinct = int(text.isna().sum()), len(distinct)
    n_known = len(text) - n_missing
    if not n_distinct:
        return _empty(name, n_missing)
    if n_distinct == 1 and not n_missing:
        return _constant(name, quoted(distinct[0]), n_missing)
    found = None if given else _describe_written(name, text, distinct, n_missing)
    if found is not None:
        return found
    if n_distinct > max(MAX_CATEGORIES, n_known / 2) and not given:
        return ColumnPlan(name, "text", LEFT_OUT, _why_text(distinct, n_known), n_missing)
    why = "given as categorical" if given else f"{n_distinct:,} different texts"
    action = ACTIONS[CATEGORY]
    if n_distinct + (n_missing > 0) > MAX_CATEGORIES:
        most = MAX_CATEGORIES - 1
        action = f"one feature for each of the {most} most frequent categories, one for the others"
    return ColumnPlan(name, CATEGORY, action, why, n_missing)


def _why_text(distinct: list[str], n_known: int) -> str:
    words = [cell for cell in distinct if not written.looks_like_number(cell)]
    if len(words) > len(distinct) / 2:
        return f"{len(distinct):,} different texts in {n_known:,} rows: an id or free text"
    if words:
        return f"numbers among texts such as {quoted(words[0])}; name what stands for missing"
    return f"numbers of several units, such as {quoted(distinct[0])}; write all in one"


def _describe_written(
    name: str, text: Series, distinct: list[str], n_missing: int
) -> ColumnPlan | None:
    if _mostly(written.looks_like_date, distinct):
        return _describe_date(text, DATE, n_missing)
    if _mostly(written.looks_slashed, distinct):
        order = written.date_order([cell for cell in distinct if written.looks_slashed(cell)])
        if order is not None:
            return _describe_date(text, f"{DATE} with {order}", n_missing)
        why = "dates that can be read in more than one way; write them as 2024-12-31"
        return ColumnPlan(name, DATE, LEFT_OUT, why, n_missing)
    style = written.number_style(distinct)
    # Few plain numbers that are stored as text are meant to be categories.
    if style is None or not (style.dressed or len(distinct) > MAX_CATEGORIES):
        return None
    numbers = written.numbers_in(text, style.decimal)
    if not _refuse_foreign(text, numbers, "numbers"):
        return None
    check_magnitude(numbers)
    kind = NUMBER if style.decimal == written.POINT else COMMA_NUMBER
    if numbers.nunique() == 1:
        why = f"{quoted(distinct[0])} in every row"
        return ColumnPlan(name, "constant", LEFT_OUT, why, n_missing)
    why = f"numbers such as {quoted(distinct[0])}" if style.dressed else "numbers, stored as text"
    return ColumnPlan(name, kind, ACTIONS[kind], why, n_missing)


def _mostly(looks: Callable[[str], bool], distinct: list[str]) -> bool:
    """Tell whether texts look like something, but for a few; the first ones decide for most."""
    first, others = distinct[: written.LOOKED_AT], distinct[written.LOOKED_AT :]
    found = sum(map(looks, first))
    mostly = found >= MOSTLY * len(first)
    return mostly and found + sum(map(looks, others)) >= MOSTLY * len(distinct)


def _refuse_foreign(cells: Series, read: Series, what: str) -> bool:
    """Tell whether every cell could be read; refuse to guess where all could but for a few."""
    foreign = cells.notna() & read.isna()
    if not foreign.any():
        return True
    if foreign.sum() <= (1 - MOSTLY) * cells.notna().sum() or what == "dates":
        place = np.flatnonzero(foreign)[0]
        raise TableError(
            f"column {quoted(cells.name)}: holds {what} but for {foreign.sum():,} of "
            f"{len(cells):,} cells, the first {quoted(cells.iloc[place])} in row "
            f"{row_numbers(cells)[place]:,}; leave these cells empty, name what stands for missing "
            "(na_values, --na-values), or ignore the column."
        )
    return False


def leave_out_unseen(
    plans: list[ColumnPlan], X: DataFrame, y: Any, labelled: Any
) -> list[ColumnPlan]:
    """Leave out columns that are empty, or dates from another time, in all rows to predict."""
    if labelled.all() or not labelled.any():
        return plans
    found = []
    for plan in plans:
        why = _why_unseen(plan, X[plan.name], y, labelled) if plan.used else ""
        found.append(replace(plan, action=LEFT_OUT, why=why) if why else plan)
    return found


def _why_unseen(plan: ColumnPlan, column: Series, y: Any, labelled: Any) -> str:
    if plan.kind in DATES:
        days = written.days_in(column, DATES[plan.kind]).to_numpy()
        known, asked = days[labelled & ~np.isnan(days)], days[~labelled & ~np.isnan(days)]
        if len(known) and len(asked) and (known.max() < asked.min() or asked.max() < known.min()):
            return "no row to predict is of the time of the labelled ones"
    if not plan.n_missing or not as_text(column[~labelled]).isna().all():
        return ""
    away = gives_label_away(as_text(column[labelled]), np.asarray(y)[labelled])
    told = ", and gives the label away in the others" if away else ""
    return f"empty in every row to predict{told}"


def gives_label_away(text: Series, labels: Array) -> bool:
    """Tell whether each value stands beside one label only, and not all beside the same."""
    known = text.notna().to_numpy()
    pairs = set(zip(text[known], labels[known].tolist(), strict=True))
    n_values, n_labels = (len(set(each)) for each in zip(*pairs, strict=True)) if pairs else (0, 0)
    return n_labels > 1 and len(pairs) == n_values


def as_text(column: Series) -> Series:
    """Return cells as text without blanks around it, NaN where none is left; 1.0 is 1."""
    pandas = load("pandas", "Tables")
    text = np.full(len(column), np.nan, dtype=object)
    known = column.notna().to_numpy(dtype=bool)
    text[known] = [_text_of(value) for value in column[known].tolist()]
    return pandas.Series(text, index=column.index, name=column.name, dtype=object)


def _text_of(value: object) -> object:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip() or np.nan
