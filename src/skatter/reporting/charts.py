"""Small charts of the report, worked out as the numbers that stand in their SVG."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from skatter.self_training import Candidate, Round

_WIDE, _FLOOR, _ROOF = 640, 166, 150
_MOST_BARS = 200


class Bar(NamedTuple):
    """One eigenvalue as a rectangle."""

    number: int
    value: float
    x: float
    y: float
    width: float
    height: float
    tick: bool

    @property
    def fine(self) -> bool:
        """Whether its number is left out where the chart is small."""
        return self.number % 5 != 0

    @property
    def middle(self) -> float:
        """Where its number stands."""
        return round(self.x + self.width / 2, 2)


class Spectrum(NamedTuple):
    """Eigenvalues as rectangles."""

    width: int
    bars: list[Bar]


def spectrum(eigenvalues: list[float]) -> Spectrum:
    """Return eigenvalues as rectangles, the largest as high as the picture.

    Examples
    --------
    >>> [bar.height for bar in spectrum([2.0, 1.0]).bars]
    [150.0, 75.0]
    """
    shown = eigenvalues[:_MOST_BARS]
    step = min(_WIDE / len(shown), 60.0)
    every = -(-len(shown) // 20)
    highest = max(shown) or 1.0
    bars = []
    for i, value in enumerate(shown):
        height = round(_ROOF * max(value, 0.0) / highest, 2)
        tick = (i + 1) % every == 0 or i == 0
        place = round(i * step + 0.1 * step, 2), round(_FLOOR - height, 2)
        bars.append(Bar(i + 1, value, *place, round(0.8 * step, 2), height, tick))
    return Spectrum(round(step * len(shown)), bars)


class Tick(NamedTuple):
    """A number under the chart."""

    x: float
    number: int


class Height(NamedTuple):
    """A line across the chart, and what it means."""

    y: float
    words: str


class Line(NamedTuple):
    """The rounds of a candidate."""

    points: str
    marks: list[tuple[float, float, bool]]
    leading: bool


class RoundRow(NamedTuple):
    """A round of a candidate, as a line of the table."""

    candidate: str
    weight: float
    round: Round
    kept: bool


@dataclass(frozen=True, eq=False)
class Training:
    """Rounds of self-training as lines and as a table."""

    lines: list[Line]
    ticks: list[Tick]
    heights: list[Height]
    rows: list[RoundRow]


def training(candidates: tuple[Candidate, ...]) -> Training | None:
    """Return the rounds of all candidates; None where there were none."""
    trained = [each for each in candidates if each.rounds]
    if not trained:
        return None
    trust = [each.trust for candidate in trained for each in candidate.rounds]
    low, high = min(trust), max(trust)
    n_rounds = max(len(candidate.rounds) for candidate in trained)
    weights = [candidate.weight for candidate in trained]

    def x(number: int) -> float:
        return round(60 + 556 * (number - 1) / max(n_rounds - 1, 1), 2)

    def y(value: float) -> float:
        return round(180 - 160 * (value - low) / ((high - low) or 1.0), 2)

    lines = []
    for i, candidate in enumerate(trained):
        kept = kept_round(candidate)
        marks = [(x(each.number), y(each.trust), each is kept) for each in candidate.rounds]
        points = " ".join(f"{a},{b}" for a, b, _ in marks)
        lines.append(Line(points, marks, i == int(np.argmax(weights))))
    lines.sort(key=lambda line: line.leading)  # the leading one is drawn over the others
    heights = [Height(y(value), f"{value:.3f}") for value in np.linspace(low, high, 4).tolist()]
    ticks = [Tick(x(number), number) for number in range(1, n_rounds + 1)]
    return Training(lines, ticks, heights, list(_rows(trained)))


def kept_round(candidate: Candidate) -> Round:
    """Return the round that was kept: the last of those that were trusted most."""
    best = max(each.trust for each in candidate.rounds)
    return next(each for each in reversed(candidate.rounds) if each.trust == best)


def _rows(candidates: list[Candidate]) -> Iterator[RoundRow]:
    for candidate in candidates:
        name = f"scaling {candidate.scaling}, ridge {candidate.ridge:g}"
        kept = kept_round(candidate)
        for each in candidate.rounds:
            yield RoundRow(name, candidate.weight, each, each is kept)
