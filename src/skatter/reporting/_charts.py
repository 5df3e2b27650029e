"""Small charts of the report, worked out as the numbers that stand in their SVG."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from skatter._tensors import Array
from skatter.self_training import Candidate

_WIDE, _FLOOR, _ROOF = 640, 166, 150
_MOST_BARS, _MOST_MARKS, _N_BINS = 200, 6, 24
_EDGE, _SIDE = 60, 332  # of a square chart: what is left of it, and how long its axes are


def spectrum(eigenvalues: list[float]) -> dict[str, Any]:
    """Return eigenvalues as rectangles; ``tick`` says whether a number stands under one."""
    shown = eigenvalues[:_MOST_BARS]
    step = min(_WIDE / len(shown), 60.0)
    every, highest = -(-len(shown) // 20), max(shown) or 1.0
    bars = []
    for i, value in enumerate(shown):
        height = round(_ROOF * max(value, 0.0) / highest, 2)
        box = {"x": round(i * step + 0.1 * step, 2), "y": round(_FLOOR - height, 2)}
        box |= {"width": round(0.8 * step, 2), "height": height}
        bars.append({"number": i + 1, "value": value, "tick": (i + 1) % every == 0 or i == 0} | box)
    return {"width": round(step * len(shown)), "bars": bars}


class Mark(NamedTuple):
    """A number along an axis of a square chart: where it is to the right, and upwards."""

    x: float
    y: float
    words: str


class Histogram(NamedTuple):
    """Shares of groups of numbers: bars as x, y, width and height, and marks of both axes."""

    bars: list[list[tuple[float, float, float, float]]]
    marks: list[Mark]
    heights: list[Mark]


class Points(NamedTuple):
    places: list[tuple[float, float]]
    marks: list[Mark]


def training(candidates: tuple[Candidate, ...]) -> dict[str, list[Any]] | None:
    """Return the rounds of all candidates as lines and as a table; None where there were none.

    Lines are the places of their points with who was kept, and whether they are the leading one.
    Ticks are places and numbers under the chart, heights lines across it and what they mean. Rows
    are a candidate's name and weight, one of its rounds, and whether that was kept.
    """
    trained = [each for each in candidates if each.rounds]
    if not trained:
        return None
    trust = [each.trust for candidate in trained for each in candidate.rounds]
    low, high = min(trust), max(trust)
    n_rounds = max(len(candidate.rounds) for candidate in trained)
    leading = max(trained, key=lambda each: each.weight)

    def x(number: int) -> float:
        return round(60 + 556 * (number - 1) / max(n_rounds - 1, 1), 2)

    def y(value: float) -> float:
        return round(180 - 160 * (value - low) / ((high - low) or 1.0), 2)

    lines, rows = [], []
    for one in trained:
        marks = [(x(each.number), y(each.trust), each is one.kept) for each in one.rounds]
        lines.append((marks, one is leading))
        name = f"scaling {one.scaling}, ridge {one.ridge:g}"
        rows += [(name, one.weight, each, each is one.kept) for each in one.rounds]
    lines.sort(key=lambda line: line[1])  # the leading one is drawn over the others
    heights = [(y(value), f"{value:.2g}") for value in np.linspace(low, high, 4).tolist()]
    ticks = [(x(number), number) for number in range(1, n_rounds + 1)]
    return {"lines": lines, "ticks": ticks, "heights": heights, "rows": rows}


def histogram(groups: list[Array]) -> Histogram:
    together = np.concatenate(groups)
    low, high = float(together.min()), float(together.max())
    shares = [np.histogram(own, _N_BINS, (low, high))[0] / len(own) for own in groups]
    highest = max(float(own.max()) for own in shares)
    step, wide = _SIDE / _N_BINS, 0.9 * _SIDE / _N_BINS / len(groups)
    bars = [
        [
            (round(_EDGE + (i + 0.05) * step + g * wide, 2), round(_SIDE - h, 2), round(wide, 2), h)
            for i, h in enumerate(np.round(_SIDE * own / highest, 2).tolist())
        ]
        for g, own in enumerate(shares)
    ]
    return Histogram(bars, _marks(low, high), _marks(0, 100 * highest))


def points(x: Array, y: Array) -> Points:
    both = np.concatenate([x, y])
    room = 0.03 * float(np.ptp(both)) or 1.0
    low, high = float(both.min()) - room, float(both.max()) + room
    right, up = (np.round(_SIDE * (each - low) / (high - low), 1).tolist() for each in (x, y))
    places = [(round(_EDGE + a, 1), round(_SIDE - b, 1)) for a, b in zip(right, up, strict=True)]
    return Points(places, _marks(low, high))


def round_numbers(low: float, high: float) -> list[float]:
    span = (high - low) or 1.0
    unit = 10.0 ** np.floor(np.log10(span / 3))
    step = next(unit * size for size in (1, 2, 5, 10) if span / (unit * size) <= _MOST_MARKS)
    numbers = np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step
    return [float(f"{number:.10g}") + 0.0 for number in numbers]  # no minus zero


def _marks(low: float, high: float) -> list[Mark]:
    marks = []
    for number in round_numbers(low, high):
        at = round(_SIDE * (number - low) / ((high - low) or 1.0), 1)
        marks.append(Mark(round(_EDGE + at, 1), round(_SIDE - at, 1), f"{number:,.6g}"))
    return marks
