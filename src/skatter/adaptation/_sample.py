"""A sample of a large table: models learn from it, and every row of the table is predicted.

Labels and domains of all rows are read first, and nothing else of them. They say who teaches and
who is to be predicted, and rows are drawn that are fair to both; then these rows are read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skatter._checks import check_integer
from skatter.adaptation._roles import tell_targets
from skatter.domains import UNLABELLED, Codes, Mask
from skatter.hedging._members import draw_from_sides
from skatter.tables import OpenTable, TableError, read_labels
from skatter.tables._columns import read_domain_names
from skatter.tables._errors import missing_column

if TYPE_CHECKING:
    import pandas as pd

SAMPLE_ROWS = 200_000  # rows up to which a table is fitted on as a whole; of more as many are drawn
MAX_CLASSES = 1_000  # labels beyond which they are numbers, and a draw has no regard to them


@dataclass(frozen=True, eq=False)
class TableSample:
    """Rows of a large table, of which the index says which they are, and counts of all rows."""

    frame: pd.DataFrame
    n_rows: int
    n_labelled: int


def draw_sample(
    table: OpenTable, *, label: str, domain: str | None = None, random_state: int = 0
) -> TableSample | None:
    """Draw the rows of a large table that models are fitted on; None where all of them are.

    Half of the rows have a label and are of sources, the others are of targets; where a side has
    fewer, the other takes what is left. A few rows of every class are among them.
    """
    if table.n_rows <= SAMPLE_ROWS:
        return None
    seed = check_integer("random_state", random_state, low=0)
    for role, name in (("label", label), ("domain", domain)):
        if name is not None and name not in table.columns:
            raise TableError(f"{role}: {missing_column(name, table.columns)}")
    y, is_target = _read_sides(table, label, domain)
    labelled = y != UNLABELLED
    rows = draw_from_sides(y, labelled & ~is_target, is_target, SAMPLE_ROWS, seed)
    return TableSample(table.take(rows), table.n_rows, int(labelled.sum()))


def spread_rows(table: OpenTable) -> pd.DataFrame:
    """Return all rows of a table; of a large one some that lie evenly spread over it."""
    if table.n_rows <= SAMPLE_ROWS:
        return table.frame
    return table.take(np.linspace(0, table.n_rows - 1, SAMPLE_ROWS).astype(np.intp))


def _read_sides(table: OpenTable, label: str, domain: str | None) -> tuple[Codes, Mask]:
    """Return a number for the label of each row, -1 without one, and which rows are of targets."""
    classes, places = _Numbers(MAX_CLASSES), _Numbers()
    labels: list[Codes] = []
    where: list[Codes] = []
    for piece in table.pieces([name for name in (label, domain) if name is not None]):
        labels.append(classes.of(*read_labels(piece[label])))
        if domain is not None:
            names = read_domain_names(piece[domain])
            where.append(places.of(names, np.ones(len(names), dtype=bool)))
    y = np.concatenate(labels)
    if classes.too_many:
        np.minimum(y, 0, out=y)
    if domain is None:
        return y, y == UNLABELLED
    place, names = np.concatenate(where), np.array([str(name) for name in places.known])
    n_labelled = np.bincount(place[y != UNLABELLED], minlength=len(names))
    return y, tell_targets(domain, names, np.bincount(place), n_labelled)[place]


class _Numbers:
    """Numbers for the different values of a column that comes piece by piece."""

    def __init__(self, most: float = np.inf) -> None:
        self._most = most
        self.known: dict[Any, int] = {}

    @property
    def too_many(self) -> bool:
        return len(self.known) > self._most

    def of(self, values: NDArray[Any], known: Mask) -> Codes:
        import pandas as pd

        codes, found = pd.factorize(values[known])
        for value in () if self.too_many else found.tolist():
            self.known.setdefault(value, len(self.known))
        numbers = np.full(len(values), UNLABELLED)
        numbers[known] = np.array([self.known.get(value, 0) for value in found.tolist()])[codes]
        return numbers
