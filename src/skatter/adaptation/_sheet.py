"""The sheet: rows that a person is to label, as a table, and what it says when it comes back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from skatter._formatting import listed, quoted
from skatter._tensors import Array
from skatter.adaptation._outcome import free_name
from skatter.adaptation._roles import Roles
from skatter.domains import UNLABELLED, Codes, Mask
from skatter.selection import (
    LabelSheet,
    LabelVerdict,
    NumberVerdict,
    judge_answers,
    judge_number_answers,
)
from skatter.selection._asking import AGREE, DISAGREE, LESS_SURE, SURER
from skatter.tables import Samples, TableError, read_labels
from skatter.tables._errors import check_names, missing_column
from skatter.tables._plans import row_numbers
from skatter.tables._task import written_numbers

if TYPE_CHECKING:
    import pandas as pd

STRATA = (DISAGREE, AGREE, LESS_SURE, SURER)
SAME = 1e-9  # relative difference below which two numbers are the same, written and read
FEWEST_LEFT = 2  # rows that must be left to predict


def own_columns(frame: pd.DataFrame) -> list[str]:
    taken = [str(name) for name in frame.columns]
    return [free_name(name, taken) for name in ("row", "stratum", "weight")]


def make_sheet(frame: pd.DataFrame, label: str, rows: Codes, drawn: LabelSheet) -> pd.DataFrame:
    """Lay out the rows to label; what the models say of them stays secret, for it would bias."""
    import pandas as pd

    (row, stratum, weight), asked = own_columns(frame), rows[drawn.rows]
    own = {
        row: row_numbers(frame)[asked],
        label: np.full(len(asked), None, dtype=object),
        stratum: np.array(drawn.strata, dtype=object)[drawn.stratum],
        weight: drawn.weights,
    }
    others = frame.drop(columns=label).iloc[asked].reset_index(drop=True)
    return pd.concat([pd.DataFrame(own), others], axis=1)


@dataclass(frozen=True, eq=False)
class Checked:
    """Labels that judge models which have not seen them: of a sheet that has come back."""

    rows: Codes
    labels: Array
    filled: Mask
    stratum: Codes
    strata: tuple[str, ...]
    sizes: tuple[int, ...]
    classes: Array

    @property
    def answered(self) -> Codes:
        return self.rows[self.filled]

    @property
    def answers(self) -> Array:
        return self.labels[self.filled]

    def judge(
        self, predicted: Mapping[Any, Array], *, random_state: int
    ) -> LabelVerdict | NumberVerdict:
        coded = {name: self._coded(labels) for name, labels in predicted.items()}
        classes = np.arange(len(self.classes))
        sheet = LabelSheet(self.rows, self.stratum, self.strata, self.sizes, coded, classes)
        if not len(self.classes):
            truth = np.where(self.filled, self.labels, np.nan)
            return judge_number_answers(sheet, truth, random_state=random_state)
        answers = np.full(len(self.rows), UNLABELLED)
        answers[self.filled] = self._coded(self.answers)
        return judge_answers(sheet, answers, random_state=random_state)

    def _coded(self, labels: Array) -> Array:
        if not len(self.classes):
            return labels.astype(np.float64)
        return np.searchsorted(self.classes, labels.astype(self.classes.dtype))


def read_sheet(sheet: Any, frame: pd.DataFrame, samples: Samples, roles: Roles) -> Checked:
    if not hasattr(sheet, "columns"):
        raise TypeError(f"checked must be a pandas DataFrame, got {type(sheet).__name__}.")
    label, own = str(samples.label), own_columns(frame)
    there = list(sheet.columns)
    check_names(there, "checked")
    for name in (*own, label):
        if name not in there:
            raise TableError(
                f"checked: {missing_column(name, there)} Give the sheet that skatter ask wrote."
            )
    sheet = sheet.dropna(how="all")
    row, stratum, weight = (sheet[name] for name in own)
    rows = _read_rows(row, row_numbers(frame))
    numbers = row_numbers(frame)[rows]
    _check_cells(sheet, frame.drop(columns=label).iloc[rows], numbers)
    known = np.flatnonzero(samples.labelled[rows])
    if len(known):
        raise TableError(
            f"checked: row {numbers[known[0]]:,} has a {label} in the table already; give the "
            "table that the sheet was made from."
        )
    codes, strata = _read_strata(stratum)
    sizes = _read_sizes(weight, codes, samples)
    classes = roles.domains.classes if roles.task == "classes" else np.empty(0)
    labels, filled = _read_answers(sheet[label], classes, numbers)
    left = int(np.sum(~samples.labelled)) - int(filled.sum())
    if left < FEWEST_LEFT:
        raise TableError(
            f"checked: no more than {left} of the rows without {label} would be left to predict; "
            "answer fewer rows, or write the labels into the table."
        )
    return Checked(rows, labels, filled, codes, strata, sizes, classes)


def _read_rows(column: pd.Series, known: Codes) -> Codes:
    import pandas as pd

    rows = pd.Index(known).get_indexer(_as_numbers(column))
    if (rows < 0).any():
        raise TableError(
            f"checked: the table has no row {quoted(column.iloc[np.argmin(rows)])}; the sheet is "
            "of another table."
        )
    numbers, times = np.unique(known[rows], return_counts=True)
    if len(numbers) < len(rows):
        twice = numbers[np.argmax(times > 1)]
        raise TableError(f"checked: row {twice:,} is on the sheet twice; take one of them out.")
    return rows


def _check_cells(sheet: pd.DataFrame, table: pd.DataFrame, numbers: Codes) -> None:
    """Refuse a sheet whose cells are not those of the table; an empty cell says nothing."""
    for name in table.columns:
        if name not in sheet.columns:
            continue
        theirs, ours = sheet[name].reset_index(drop=True), table[name].reset_index(drop=True)
        differ = np.flatnonzero(~_same(theirs, ours))
        if len(differ):
            place = int(differ[0])
            raise TableError(
                f"checked: row {numbers[place]:,} has {quoted(theirs[place])} in column "
                f"{quoted(name)} and the table has {quoted(ours[place])}: the sheet is of another "
                "table, or a program has changed the column; then take it out of the sheet."
            )


def _same(theirs: pd.Series, ours: pd.Series) -> Array:
    import pandas as pd

    if pd.api.types.is_datetime64_any_dtype(ours.dtype):
        theirs = pd.to_datetime(theirs, errors="coerce", utc=ours.dt.tz is not None)
    numbers = np.isclose(_as_numbers(theirs), _as_numbers(ours), rtol=SAME, atol=0)
    written, text = (column.astype("string").fillna("").str.strip() for column in (theirs, ours))
    return np.asarray(numbers | (written == text) | (written == ""), dtype=bool)


def _as_numbers(column: pd.Series) -> Array:
    import pandas as pd

    text = column if pd.api.types.is_numeric_dtype(column.dtype) else column.astype("string")
    return np.asarray(pd.to_numeric(text, errors="coerce").to_numpy(dtype=float, na_value=np.nan))


def _read_strata(column: pd.Series) -> tuple[Codes, tuple[str, ...]]:
    written = column.astype("string").fillna("").str.strip().tolist()
    unknown = [name for name in written if name not in STRATA]
    if unknown:
        raise TableError(
            f"checked: there is no stratum {quoted(unknown[0])}, there are {listed(STRATA)}; leave "
            "the column as it was written."
        )
    strata = tuple(name for name in STRATA if name in written)
    return np.array([strata.index(name) for name in written], dtype=np.intp), strata


def _read_sizes(column: pd.Series, stratum: Codes, samples: Samples) -> tuple[int, ...]:
    """Return the number of rows in each stratum: the weights of all its rows on the sheet."""
    weights = _as_numbers(column)
    if not (weights >= 1 - SAME).all():
        raise TableError("checked: weights are numbers from 1 on; leave them as they were written.")
    sizes = np.rint(np.bincount(stratum, weights=weights)).astype(int)
    unlabelled = int(np.sum(~samples.labelled))
    if sizes.sum() != unlabelled:
        raise TableError(
            f"checked: the weights of the sheet add up to {sizes.sum():,} rows, and the table has "
            f"{unlabelled:,} without {samples.label}. Keep all rows of the sheet, empty where not "
            "answered, and the table as it was."
        )
    return tuple(sizes.tolist())


def _read_answers(column: pd.Series, classes: Array, numbers: Codes) -> tuple[Array, Mask]:
    written, answered = read_labels(column)
    if not answered.any():
        raise TableError(
            f"checked: column {quoted(column.name)} of the sheet is empty; label some rows first."
        )
    if len(classes):
        labels = np.full(len(written), classes[0], dtype=classes.dtype)
        for place in np.flatnonzero(answered):
            where = f"checked: row {numbers[place]:,}"
            labels[place] = classes[class_code(written[place], classes, where)]
        return labels, answered
    labels = np.full(len(written), np.nan)
    labels[answered] = written_numbers(written[answered])[0]
    bad = np.flatnonzero(answered & np.isnan(labels))
    if len(bad):
        raise TableError(
            f"checked: row {numbers[bad[0]]:,}: {quoted(written[bad[0]])} is no number; write one, "
            "or leave it empty."
        )
    return labels, answered


def class_code(written: Any, classes: Array, where: str) -> int:
    """Return the code of a class that somebody wrote down; ``where`` starts the message.

    Numbers are compared as numbers: 1, 1.0 and 01 are one class, unless the table has them apart.
    """
    names = [str(name) for name in classes.tolist()]
    if str(written) in names:
        return names.index(str(written))
    found = [code for code, name in enumerate(names) if _alike(name, str(written))]
    if len(found) == 1:
        return found[0]
    raise TableError(f"{where}: {missing_column(str(written), names, what='class')}")


def _alike(name: str, written: str) -> bool:
    """Tell whether two names are the same text but for blanks, or the same number."""
    if name.strip() == written.strip():
        return True
    try:
        return float(name) == float(written)
    except ValueError:
        return False
