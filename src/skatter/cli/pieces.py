"""A table that is too large for memory, predicted piece by piece."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING

from skatter.adaptation.words import Counts, count_added, join_counts
from skatter.formatting import percent

if TYPE_CHECKING:
    import pandas as pd


class PieceByPiece:
    """Makes the columns that are added to each piece; says how far it is, and counts classes."""

    def __init__(
        self,
        add: Callable[[pd.DataFrame], pd.DataFrame],
        n_rows: int,
        say: Callable[[str], None],
    ) -> None:
        self._add, self._n_rows, self._say = add, n_rows, say
        self._counts: list[Counts] = []
        self._start = perf_counter()

    def __call__(self, piece: pd.DataFrame) -> pd.DataFrame:
        """Return the columns to add to a piece."""
        self._say(f"predicting all rows: {percent(piece.index[0] / self._n_rows)} done")
        added = self._add(piece)
        self._counts.append(count_added(added))
        return added

    @property
    def counts(self) -> Counts | None:
        """What was predicted for how many rows, where it is classes."""
        return join_counts(self._counts) or None

    @property
    def seconds(self) -> float:
        """Time that it has taken."""
        return perf_counter() - self._start
