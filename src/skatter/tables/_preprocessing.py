"""The visible step between a table and numbers: scikit-learn's own classes, and nothing hidden.

:func:`make_preprocessor` puts them together; :func:`align_columns` brings any table to their shape.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skatter._formatting import listed, quoted
from skatter._tensors import Array
from skatter.tables._dates import PARTS, DateParts
from skatter.tables._errors import TableError, check_names, load, missing_column
from skatter.tables._plans import (
    BOOLEAN,
    CATEGORY,
    COMMA_NUMBER,
    DATES,
    LARGEST,
    MAX_CATEGORIES,
    NUMBER,
    ColumnPlan,
    as_text,
    check_magnitude,
    describe_columns,
    row_numbers,
)
from skatter.tables._values import COMMA, POINT, days_in, numbers_in, read_number

if TYPE_CHECKING:
    from pandas import DataFrame, Series

MISSING = "missing"  # the category of empty cells
WIDE = 2000
"""Columns of a step from which on they are given by place, not by name: scikit-learn's search for
the places of names takes time that grows with their square."""

STEPS = {
    NUMBER: "numbers",
    COMMA_NUMBER: "numbers with decimal commas",
    BOOLEAN: "booleans",
    **{kind: kind.replace("date", "dates") for kind in DATES},
    CATEGORY: "categories",
}
"""Names of the parts of the transformer, by the kind of their columns."""

DECIMALS = {STEPS[NUMBER]: POINT, STEPS[COMMA_NUMBER]: COMMA}  # marks of the fraction
DATE_ORDERS = {STEPS[kind]: order for kind, order in DATES.items()}  # day or month first


def make_preprocessor(X: DataFrame, plans: list[ColumnPlan] | None = None) -> ColumnTransformer:
    """Make the transformer that turns these columns into numbers; it is not fitted yet.

    Numbers: the median where missing, then standardised. Booleans: 0 or 1. Dates: year, month,
    weekday and days, as numbers. Categories: one feature each, rare ones pooled; an empty cell is
    the category "missing", and one that was never seen is none of them. No feature says where
    numbers were missing: it would tell places apart, which differ in what they write down.

    Parameters
    ----------
    X : DataFrame
        The columns that are features.
    plans : list of ColumnPlan or None
        What :func:`describe_columns` said of ``X``; None: it is asked.

    Returns
    -------
    ColumnTransformer
        Fit it to all columns of ``X``. Later tables may have them in any order, and others.

    Raises
    ------
    TableError
        If no column can be used.

    Examples
    --------
    >>> import pandas as pd
    >>> from skatter.tables import align_columns, make_preprocessor
    >>> X = pd.DataFrame({"dose": [1.0, None, 3.0], "ward": ["a", None, "a"]})
    >>> step = make_preprocessor(X)
    >>> step.fit_transform(align_columns(X, step)).round(2).tolist()
    [[-1.22, 1.0, 0.0], [0.0, 0.0, 1.0], [1.22, 1.0, 0.0]]
    >>> step.get_feature_names_out().tolist()
    ['dose', 'ward_a', 'ward_missing']
    """
    plans = describe_columns(X) if plans is None else plans
    columns = {kind: [p.name for p in plans if p.used and p.kind == kind] for kind in STEPS}
    if not any(columns.values()):
        first = plans[0]
        raise TableError(
            f"no column can be used; the first, {quoted(first.name)}, is left out: {first.why}."
        )
    steps = []
    for kind, names in columns.items():
        if names:
            wide = len(names) >= WIDE
            places = X.columns.get_indexer(names).tolist() if wide else names
            steps.append((STEPS[kind], _step(kind), places))
    collide = _collide(X, columns)
    return ColumnTransformer(steps, sparse_threshold=0, verbose_feature_names_out=collide)


def _step(kind: str) -> Any:
    if kind == CATEGORY:
        rare = {"handle_unknown": "ignore", "max_categories": MAX_CATEGORIES}
        fill = SimpleImputer(strategy="constant", fill_value=MISSING)
        return Pipeline([("impute", fill), ("encode", OneHotEncoder(**rare, sparse_output=False))])
    fill = SimpleImputer(strategy="median")
    if kind == BOOLEAN:
        return fill
    parts = [("parts", DateParts())] if kind in DATES else []
    return Pipeline([("impute", fill), *parts, ("standardise", StandardScaler())])


def _collide(X: DataFrame, columns: dict[str, list[str]]) -> bool:
    """Tell whether two features would get one name: column ``a_b``, and ``b`` of column ``a``."""
    names = Counter(columns[NUMBER] + columns[COMMA_NUMBER] + columns[BOOLEAN])
    names.update(f"{name}_{part}" for kind in DATES for name in columns[kind] for part in PARTS)
    for name in columns[CATEGORY]:
        categories = {*as_text(X[name]).dropna(), MISSING, "infrequent_sklearn"}
        names.update(f"{name}_{category}" for category in categories)
    return any(times > 1 for times in names.values())


def align_columns(frame: DataFrame, preprocessor: ColumnTransformer) -> DataFrame:
    """Bring a table into the shape that a preprocessor takes: its columns, numbers and text.

    A file of other rows may be read otherwise: a column of categories "1", "2" and "x" holds
    integers where no row has an "x". Here every column becomes what it was in the beginning.

    Parameters
    ----------
    frame : DataFrame
        A table with the columns of the preprocessor, in any order, and others.
    preprocessor : ColumnTransformer
        As of :func:`make_preprocessor`, fitted or not.

    Returns
    -------
    DataFrame
        Numbers, booleans and days as float64, categories as text; rows, their index, the order of
        the columns and those that the preprocessor does not use are as they were.

    Raises
    ------
    TableError
        If a column is missing, or holds something else than numbers where it should.

    Examples
    --------
    >>> import pandas as pd
    >>> from skatter.tables import align_columns, make_preprocessor
    >>> step = make_preprocessor(pd.DataFrame({"dose": [1.0, 2.0], "ward": ["1", "x"]}))
    >>> align_columns(pd.DataFrame({"ward": [1, 2], "dose": ["7", None]}), step).values.tolist()
    [['1', 7.0], ['2', nan]]
    """
    pandas = load("pandas", "Tables")
    check_names(list(frame.columns), "the table")
    steps = _columns_by_step(preprocessor, frame.columns)
    used, there = list(chain(*steps.values())), set(frame.columns)
    missing = [name for name in used if name not in there]
    if len(missing) > 1:
        raise TableError(
            f"there are no columns {listed(missing, most=20)}, and the model has learnt from them."
        )
    if missing:
        raise TableError(missing_column(missing[0], list(frame.columns)))
    parts = [frame.drop(columns=used)]
    for step, names in steps.items():
        if step == STEPS[CATEGORY]:
            parts.append(pandas.DataFrame({name: as_text(frame[name]) for name in names}))
        elif step in DATE_ORDERS:
            order = DATE_ORDERS[step]
            parts.append(pandas.DataFrame({n: _read_dates(frame[n], order) for n in names}))
        else:
            parts.append(_all_numbers(frame[names], DECIMALS.get(step, POINT)))
    return pandas.concat(parts, axis=1)[list(frame.columns)]


def to_numbers(X: DataFrame, preprocessor: ColumnTransformer) -> tuple[Array, list[str]]:
    """Return the numbers that a table becomes, and the column that each of them comes from.

    Missing numbers stay missing.

    Parameters
    ----------
    X : DataFrame
        A table with the columns of the preprocessor.
    preprocessor : ColumnTransformer
        As of :func:`make_preprocessor`, fitted.

    Examples
    --------
    >>> import pandas as pd
    >>> from skatter.tables import align_columns, make_preprocessor, to_numbers
    >>> X = pd.DataFrame({"ward": ["a", "b", "a"], "dose": [1.0, None, 3.0]})
    >>> step = make_preprocessor(X)
    >>> to_numbers(X, step.fit(align_columns(X, step)))[1]
    ['dose', 'ward', 'ward']
    """
    aligned = align_columns(X, preprocessor)[list(preprocessor.feature_names_in_)]
    numbers = np.array(preprocessor.transform(aligned), dtype=np.float64)
    behind: list[str] = []
    for step, columns in _columns_by_step(preprocessor, aligned.columns).items():
        if step == STEPS[CATEGORY]:
            # Numbers stand in for the columns, whose own names may hold anything.
            encoder = preprocessor.named_transformers_[step][-1]
            made = encoder.get_feature_names_out([f"{j}" for j in range(len(columns))])
            behind += [columns[int(name.partition("_")[0])] for name in made]
        else:
            times = len(PARTS) if step in DATE_ORDERS else 1
            own = slice(len(behind), len(behind) + times * len(columns))
            missing = np.repeat(aligned[columns].isna().to_numpy(), times, axis=1)
            numbers[:, own] = np.where(missing, np.nan, numbers[:, own])
            behind += [name for name in columns for _ in range(times)]
    return numbers, behind


def units_in(X: DataFrame, preprocessor: ColumnTransformer) -> dict[str, set[str]]:
    """Return the units that the numbers of each column are written with; "" is none.

    Parameters
    ----------
    X : DataFrame
        A table with the columns of the preprocessor.
    preprocessor : ColumnTransformer
        As of :func:`make_preprocessor`, fitted.

    Examples
    --------
    >>> import pandas as pd
    >>> from skatter.tables import align_columns, make_preprocessor, units_in
    >>> X = pd.DataFrame({"dose": [1.0, 3.0], "weight": ["70 kg", "81.5 kg"]})
    >>> step = make_preprocessor(X)
    >>> units_in(X, step.fit(align_columns(X, step)))
    {'dose': {''}, 'weight': {'kg'}}
    """
    kinds = load("pandas", "Tables").api.types
    found = {}
    for step, names in columns_by_kind(preprocessor).items():
        if step in DECIMALS:
            for name in names:
                plain = kinds.is_numeric_dtype(X[name].dtype)
                cells = [] if plain else as_text(X[name]).dropna().unique()
                found[name] = {read_number(cell, DECIMALS[step])[1] for cell in cells} or {""}
    return found


def columns_by_kind(preprocessor: ColumnTransformer) -> dict[str, list[str]]:
    """Return the names of the columns of each step of a fitted preprocessor."""
    return _columns_by_step(preprocessor, preprocessor.feature_names_in_)


def _columns_by_step(preprocessor: ColumnTransformer, there: Any) -> dict[str, list[str]]:
    """Return the names of the columns of each step; places are those of the table of the fit."""
    names = np.asarray(getattr(preprocessor, "feature_names_in_", there), dtype=object)
    return {
        step: list(columns) if isinstance(columns[0], str) else names[columns].tolist()
        for step, _, columns in preprocessor.transformers
    }


def _all_numbers(columns: DataFrame, decimal: str) -> DataFrame:
    kinds = load("pandas", "Tables").api.types
    text = [name for name, dtype in columns.dtypes.items() if not kinds.is_numeric_dtype(dtype)]
    if text:
        columns = columns.assign(**{name: _read_numbers(columns[name], decimal) for name in text})
    numbers = columns.astype(np.float64)
    low, high = numbers.min().to_numpy(), numbers.max().to_numpy()
    for place in np.flatnonzero((low < -LARGEST) | (high > LARGEST)):
        check_magnitude(numbers.iloc[:, place])
    return numbers


def _read_numbers(column: Series, decimal: str) -> Series:
    if load("pandas", "Tables").api.types.infer_dtype(column, skipna=True) == "boolean":
        return column.map({True: 1.0, False: 0.0}).astype(np.float64)
    text = as_text(column)
    return _complete(text, numbers_in(text, decimal), "number")


def _read_dates(column: Series, order: str) -> Series:
    if not load("pandas", "Tables").api.types.is_datetime64_any_dtype(column.dtype):
        column = as_text(column)
    return _complete(column, days_in(column, order), "date")


def _complete(cells: Series, numbers: Series, what: str) -> Series:
    foreign = np.flatnonzero(cells.notna() & numbers.isna())
    if len(foreign):
        raise TableError(
            f"column {quoted(cells.name)}: {quoted(cells.iloc[foreign[0]])} in row "
            f"{row_numbers(cells)[foreign[0]]:,} is no {what}; mend the cell, or leave it empty."
        )
    return numbers
