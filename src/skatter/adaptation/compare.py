"""Adapted or plain: which of two fitted models to ship, told without a target label."""

from __future__ import annotations

from dataclasses import dataclass

from sklearn.frozen import FrozenEstimator

from skatter.adaptation.draw import Table
from skatter.adaptation.fit import Fitted
from skatter.adaptation.model import Ship
from skatter.selection import Benefit, does_it_help

MAX_ROWS = 10_000
"""Rows that two models are compared on; of more as many are drawn."""


@dataclass(frozen=True)
class Comparison:
    """Two models compared.

    Attributes
    ----------
    benefit : Benefit
        What was found.
    n_rows : int
        Rows that they were compared on.
    """

    benefit: Benefit
    n_rows: int

    @property
    def ship(self) -> Ship:
        """The plain model where adapting does not help, else the adapted one.

        Where nothing can be told the adapted model is shipped: on most tasks of this kind in
        docs/choosing.md it was the better one.
        """
        return "plain" if self.benefit.verdict == "do not adapt" else "adapted"


def compare(fitted: Fitted, table: Table, *, random_state: int) -> Comparison:
    """Compare both models on the rows of a table.

    They are not fitted again: what is compared is what would be shipped.

    Parameters
    ----------
    fitted : Fitted
        The models.
    table : Table
        The prepared samples; a draw of :data:`MAX_ROWS` is used.
    random_state : int
        Draws rows and grows the trees that tell domains apart.
    """
    some = table.draw(MAX_ROWS, random_state)
    benefit = does_it_help(
        some.X,
        **some.given,
        adapted=FrozenEstimator(fitted.adapted),
        plain=FrozenEstimator(fitted.plain),
        random_state=random_state,
    )
    return Comparison(benefit, len(some.X))
