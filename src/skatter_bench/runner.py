"""Do cells in parallel, and keep each result the moment it is there.

One loop in one thread gives cells to a pool of workers, and writes the record of each that comes
back. A cell is claimed before it is given away, so that several runs on one store share the work.
A cell that fails, or that takes its process down, is recorded as failed; the others go on.
"""

from __future__ import annotations

import json
import time
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from skatter_bench.cells import Cell
from skatter_bench.measure import Cost
from skatter_bench.store import Claim, Record, Store
from skatter_bench.workers import Pool, Work, attempt, failure, open_pool, signature

if TYPE_CHECKING:
    from distributed import Client

Kind = Literal["found", "started", "done", "failed"]  # what happens to a cell
PAUSE = 0.5  # seconds between two looks at cells that another run works on


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


Listener = Callable[[Event], None]


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
    """How long what is left will take, by the mean time of finished cells of a group, or of all."""

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
        return sum(n * means.get(group, overall) for group, n in self._left.items()) / n_workers


def run(
    cells: Sequence[Cell],
    store: Store,
    work: Work,
    *,
    n_jobs: int = 2,
    dask: str | Client | None = None,
    retry_failed: bool = False,
    on_event: Listener | None = None,
) -> Summary:
    """Do the cells that are not in the store yet, and put them there.

    May be stopped at any moment, even by ``kill -9``, and called again: what was finished is kept.
    May be called by several processes for one store at a time: they share the cells. ``work`` does
    one cell and returns its scores; it runs in another process, so it is a function of a module or
    a partial of one. ``on_event`` is called in this thread.
    """
    start = time.perf_counter()
    book = _Book(cells, store, on_event)
    waiting = book.look_up(retry_failed)
    if waiting:
        store.prepare()
        with open_pool(n_jobs, dask) as pool, warnings.catch_warnings():
            # A worker that keeps samples for its next cell looks to loky as if it leaked memory.
            warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
            _Loop(waiting, book, work, pool).go()
    done, found, failed = book.counts["done"], book.counts["found"], tuple(book.failed)
    return Summary(done, found, len(failed), failed, time.perf_counter() - start)


class _Book:
    def __init__(self, cells: Sequence[Cell], store: Store, on_event: Listener | None) -> None:
        self.store = store
        self.n_workers = 1
        self._cells = {cell.key: cell for cell in cells}
        self._on_event = on_event
        self._estimate = Estimate(_contestant(cell) for cell in self._cells.values())
        self._stale: dict[str, Record] = {}
        self.counts: Counter[str] = Counter()
        self.failed: list[Failure] = []

    def look_up(self, retry_failed: bool) -> list[Cell]:
        """Settle the cells that are in the store; return the others."""
        if retry_failed:
            records = ((key, self.store.get(key)) for key in self._cells)
            self._stale = {key: each for key, each in records if each and _has_failed(each)}
        return [cell for cell in self._cells.values() if not self.find(cell)]

    def find(self, cell: Cell) -> bool:
        """Settle a cell if it is in the store, and not as a failure that is to be tried again."""
        record = self.store.get(cell.key)
        if record is None or record == self._stale.get(cell.key):
            return False
        self._settle(cell, record, "found")
        return True

    def keep(self, cell: Cell, result: dict[str, Any]) -> None:
        record = {"cell": cell.spec(), **result}
        self.store.put(cell.key, record)
        self._settle(cell, record, "failed" if _has_failed(record) else "done")

    def _settle(self, cell: Cell, record: Record, kind: Kind) -> None:
        if not _has_failed(record):
            self.counts[kind] += 1
        else:
            error = record["error"]
            why = f"{error['type']}: {error['message']}" if error else record["scores"][0]["error"]
            self.failed.append(Failure(cell.label, why, found=kind == "found"))
        self._estimate.settle(_contestant(cell), record["seconds"])
        self.tell(kind, cell)

    def tell(self, kind: Kind, cell: Cell) -> None:
        if self._on_event is not None:
            done = self.counts.total() + len(self.failed)
            left = self._estimate.seconds_left(self.n_workers)
            self._on_event(Event(kind, cell.label, done, len(self._cells), left))


def _contestant(cell: Cell) -> str:
    return json.dumps(cell.spec().get("contestant"), sort_keys=True)


def _has_failed(record: Record) -> bool:
    """Whether a cell broke off, or no setting of it could be scored."""
    scores = record["scores"]
    unscored = bool(scores) and all("error" in score for score in scores)
    return unscored or record["status"] == "failed"


@dataclass(frozen=True)
class _Job:
    """A cell that this run has claimed; ``alone`` if nothing else may be under way with it."""

    cell: Cell
    claim: Claim
    start: float = 0.0
    alone: bool = False


class _Loop:
    def __init__(self, waiting: Iterable[Cell], book: _Book, work: Work, pool: Pool) -> None:
        self._waiting = deque(waiting)
        self._elsewhere: list[Cell] = []
        self._suspects: deque[_Job] = deque()
        self._under_way: dict[Future[dict[str, Any]], _Job] = {}
        self._book = book
        self._work = work
        self._pool = pool

    def go(self) -> None:
        """Run to the end. An interrupt keeps what has finished."""
        try:
            while self._waiting or self._elsewhere or self._suspects or self._under_way:
                self._hand_out()
                self._take_in()
        except KeyboardInterrupt:
            for future in list(self._under_way):
                if future.done() and not future.cancelled() and future.exception() is None:
                    self._settle(future)
            raise
        finally:
            for job in (*self._under_way.values(), *self._suspects):
                job.claim.close()

    def _hand_out(self) -> None:
        """Fill the pool, but give it cells that may have killed a worker one by one."""
        self._book.n_workers = size = self._pool.size()
        if not self._suspects:
            while len(self._under_way) < size and (job := self._claim_next()):
                self._submit(job)
        elif not self._under_way:
            self._submit(self._suspects.popleft())

    def _claim_next(self) -> _Job | None:
        while self._waiting:
            cell = self._waiting.popleft()
            claim = self._book.store.claim(cell.key)
            if claim is None:
                self._elsewhere.append(cell)
            elif self._book.find(cell):
                claim.close()
            else:
                return _Job(cell, claim)
        return None

    def _submit(self, job: _Job) -> None:
        future: Future[dict[str, Any]]
        try:
            self._book.tell("started", job.cell)
            job = replace(job, start=time.perf_counter())
            try:
                future = self._pool.executor.submit(partial(attempt, self._work, job.cell))
            except self._pool.deaths as error:
                # A worker died while nobody looked: the same to us as a moment later.
                future = Future()
                future.set_exception(error)
            self._under_way[future] = job
        except BaseException:
            job.claim.close()
            raise

    def _take_in(self) -> None:
        """Keep what has finished; look again at what other runs do once there is time for it."""
        pause = PAUSE if self._elsewhere else None
        if not self._under_way and pause:
            time.sleep(pause)
        finished = wait(self._under_way, timeout=pause, return_when=FIRST_COMPLETED).done
        if not self._waiting:
            self._waiting.extend(self._elsewhere)
            self._elsewhere.clear()
        died = any(self._death(future) for future in finished)
        if died and self._pool.start is not None:
            finished = wait(self._under_way).done
        for future in finished:
            self._settle(future)
        if died:
            self._pool.restart()

    def _settle(self, future: Future[dict[str, Any]]) -> None:
        job, death = self._under_way[future], self._death(future)
        if death and self._pool.start is not None and not job.alone:
            del self._under_way[future]
            self._suspects.append(replace(job, alone=True))
            return
        if death:  # what it could have told
            cost = Cost(time.perf_counter() - job.start, 0.0, None)
            result = {**failure(death), "warnings": [], **cost._asdict(), **signature()}
        else:
            result = future.result()
        self._book.keep(job.cell, result)
        del self._under_way[future]
        job.claim.close()

    def _death(self, future: Future[dict[str, Any]]) -> BaseException | None:
        """Return what says that the worker died; what else goes wrong outside a cell is raised."""
        try:
            error = future.exception()
        except CancelledError as cancelled:
            raise ConnectionError(
                "the Dask cluster was lost. Start it and run again: what was finished is kept."
            ) from cancelled
        if error is not None and not isinstance(error, self._pool.deaths):
            raise error
        return error
