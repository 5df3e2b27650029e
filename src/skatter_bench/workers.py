"""Who does the cells: this process, processes on this machine, or the workers of a Dask cluster.

The three have one interface, :class:`Pool`, in terms of ``concurrent.futures``. A pool does what it
is told; order, claims and records are the business of :mod:`skatter_bench.runner`.

The pools stand on loky, which joblib brings, and on Dask's own futures rather than on
``joblib.Parallel``. That stops at the first worker that dies, drops results that are there but not
read yet, and waits for ever where the worker was one of Dask.
"""

from __future__ import annotations

import json
import os
import platform
import signal
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import joblib
from joblib.externals.loky import ProcessPoolExecutor
from joblib.externals.loky.process_executor import TerminatedWorkerError
from threadpoolctl import threadpool_limits

from skatter._extras import need
from skatter._versions import versions
from skatter_bench.measure import machine, measure

if TYPE_CHECKING:
    from distributed import Client

Work = Callable[[Any], list[dict[str, Any]]]  # does one cell and returns its scores
_LIBRARIES = ("OMP_NUM", "OPENBLAS_NUM", "MKL_NUM", "BLIS_NUM", "VECLIB_MAXIMUM", "NUMEXPR_NUM")
ONE_THREAD = {f"{library}_THREADS": "1" for library in _LIBRARIES}
"""Environment of a worker process, for libraries that it loads later than it limits them."""
CONNECT_SECONDS = 10  # how long a Dask scheduler may take to answer
WORKER_SECONDS = 60  # how long a cluster without workers may take to find one
_ALONE = threading.Lock()
"""Held while a cell is done: memory, processor time and warnings belong to a whole process."""


def attempt(work: Work, cell: Any) -> dict[str, Any]:
    """Do one cell on one thread, and return its record but for what the cell is.

    Whatever the work raises goes into the record: a cell that fails is a result like others.
    """
    with _ALONE, threadpool_limits(limits=1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        outcome, cost = measure(partial(_try, work, cell))
    said = dict.fromkeys(f"{each.category.__name__}: {each.message}" for each in caught)
    return {**outcome, "warnings": list(said), **cost._asdict(), **signature()}


def _try(work: Work, cell: Any) -> dict[str, Any]:
    try:
        # To JSON and back: scores that cannot be kept are an error of this cell.
        scores = json.loads(json.dumps(work(cell), allow_nan=False))
        if not isinstance(scores, list):
            raise TypeError(f"work must return a list of scores, got {type(scores).__name__}.")
    except Exception as error:
        return failure(error)
    return {"status": "done", "scores": scores, "error": None}


def failure(error: BaseException) -> dict[str, Any]:
    """Return the part of a record that says how a cell failed."""
    return {
        "status": "failed",
        "scores": [],
        "error": {
            "type": type(error).__name__,
            "message": str(error),
            "traceback": "".join(traceback.format_exception(error)),
        },
    }


def signature() -> dict[str, Any]:
    """Return the part of a record that says where and when it was made."""
    return {
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "machine": machine(),
        "host": platform.node(),
    }


def _start_worker(parent: int) -> None:
    """Leave interrupts to the parent, and end when it is gone.

    An interrupt from the keyboard reaches all processes of a terminal; the parent decides what to
    do about it. A parent that was killed cannot stop its workers, and loky's would stay for ever.
    """

    def end_with_parent() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end_with_parent, daemon=True).start()


@dataclass
class Pool:
    """Where calls are made: an executor, how many calls at a time, and what ends it.

    ``deaths`` are what a future raises where its process died; ``start`` makes the executor anew
    where one death takes along everything that it was given, so that nobody knows whose fault it
    was.
    """

    executor: Executor
    size: Callable[[], int]
    close: Callable[[Executor], None]
    deaths: tuple[type[BaseException], ...] = ()
    start: Callable[[], Executor] | None = None

    def restart(self) -> None:
        """Make the pool usable again after a death; Dask starts a worker again that died."""
        if self.start is not None:
            self.close(self.executor)
            self.executor = self.start()


class _Here(Executor):
    """The process that asks, so that a debugger works."""

    def submit(self, call: Callable[..., Any], /, *args: Any, **options: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(call(*args, **options))
        return future


def _local(n_jobs: int) -> Pool:
    if not isinstance(n_jobs, int) or n_jobs == 0:
        raise ValueError(
            f"n_jobs must be a number of processes, or negative to count back from the number "
            f"of cores, got {n_jobs!r}."
        )
    n_jobs = joblib.effective_n_jobs(n_jobs)
    if n_jobs == 1:
        return Pool(_Here(), lambda: 1, _Here.shutdown)

    options = {"env": ONE_THREAD, "initializer": _start_worker, "initargs": (os.getpid(),)}
    start = partial(ProcessPoolExecutor, n_jobs, **options)
    end = partial(ProcessPoolExecutor.shutdown, wait=True, kill_workers=True)
    return Pool(start(), lambda: n_jobs, end, (TerminatedWorkerError,), start)


def _cluster(client: Client) -> Pool:
    from distributed import KilledWorker

    try:
        client.wait_for_workers(1, timeout=WORKER_SECONDS)
    except TimeoutError as error:
        raise ConnectionError(
            f"the Dask scheduler at {client.scheduler.address} has no workers. Start some with "
            "`dask worker --nthreads 1`."
        ) from error
    return Pool(
        client.get_executor(pure=False),
        lambda: max(1, len(client.nthreads())),
        lambda executor: executor.shutdown(wait=False),
        (KilledWorker,),
    )


@contextmanager
def open_pool(n_jobs: int, dask: str | Client | None) -> Iterator[Pool]:
    """Open the pool that a user asked for; close it at the end."""
    with nullcontext() if dask is None else _connect(dask) as client:
        pool = _local(n_jobs) if client is None else _cluster(client)
        try:
            yield pool
        finally:
            pool.close(pool.executor)


@contextmanager
def _connect(dask: str | Client) -> Iterator[Client]:
    distributed = need("distributed", 'dask needs distributed: pip install "skatter[dask]"')
    if not isinstance(dask, str):
        yield dask
        return
    try:
        client = distributed.Client(dask, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ConnectionError(
            f"no Dask scheduler answers at {dask!r}: {error}. Start one with `dask scheduler`, and "
            "workers with `dask worker --nthreads 1`."
        ) from error
    with client:
        yield client
