"""What a run tells while it goes on, and at its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Kind = Literal["found", "started", "done", "failed"]


@dataclass(frozen=True)
class Event:
    """What just happened, for a display of the progress.

    ``done`` counts cells that are settled, failed ones included; ``seconds_left`` is None while
    there is nothing to base an estimate on.
    """

    kind: Kind
    label: str
    done: int
    total: int
    seconds_left: float | None


@dataclass(frozen=True)
class Failure:
    """A cell that failed; ``found`` where an earlier run, or another one, recorded it."""

    label: str
    error: str
    found: bool


@dataclass(frozen=True)
class Summary:
    """What a run came to. The three numbers add up to the number of cells.

    ``n_found`` were in the store or came from another run at the same time; ``n_failed`` count
    those of earlier runs that were not to be tried again. ``seconds`` are by the clock.
    """

    n_done: int
    n_found: int
    n_failed: int
    failed: tuple[Failure, ...]
    seconds: float


class Estimate:
    """How long the cells that are left will take.

    A cell is taken to need the mean time of the finished ones of its group, or of all finished
    ones where its group has none.
    """

    def __init__(self, groups: Iterable[str]) -> None:
        self._left = Counter(groups)
        self._finished: Counter[str] = Counter()
        self._seconds: dict[str, float] = {}

    def settle(self, group: str, seconds: float) -> None:
        """Count a cell as finished."""
        self._left[group] -= 1
        self._finished[group] += 1
        self._seconds[group] = self._seconds.get(group, 0.0) + seconds

    def seconds_left(self, n_workers: int) -> float | None:
        """Return the estimate for this many workers; None while no cell has finished."""
        if not self._seconds:
            return None
        overall = sum(self._seconds.values()) / self._finished.total()
        means = {group: total / self._finished[group] for group, total in self._seconds.items()}
        work = sum(n * means.get(group, overall) for group, n in self._left.items())
        return work / n_workers
