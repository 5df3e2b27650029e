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
from concurrent.futures import Future
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import joblib
from joblib.externals.loky import ProcessPoolExecutor
from joblib.externals.loky.process_executor import TerminatedWorkerError
from threadpoolctl import threadpool_limits

from skatter.versions import versions
from skatter_bench.measure import machine, measure

if TYPE_CHECKING:
    from distributed import Client

Work = Callable[[Any], list[dict[str, Any]]]
"""Does one cell and returns its scores."""

_LIBRARIES = ("OMP_NUM", "OPENBLAS_NUM", "MKL_NUM", "BLIS_NUM", "VECLIB_MAXIMUM", "NUMEXPR_NUM")
ONE_THREAD = {f"{library}_THREADS": "1" for library in _LIBRARIES}
"""Environment of a worker process, for libraries that it loads later than it limits them."""

CONNECT_SECONDS = 10
"""How long a Dask scheduler may take to answer."""

WORKER_SECONDS = 60
"""How long a cluster without workers may take to find one."""

_ALONE = threading.Lock()
"""Held while a cell is done: memory, processor time and warnings belong to a whole process."""


def attempt(work: Work, cell: Any) -> dict[str, Any]:
    """Do one cell on one thread, and return its record but for what the cell is.

    Whatever the work raises goes into the record: a cell that fails is a result like others.
    """
    with _ALONE, threadpool_limits(limits=1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        outcome, cost = measure(partial(_try, work, cell))
    texts = (f"{each.category.__name__}: {each.message}" for each in caught)
    return {
        **outcome,
        "warnings": list(dict.fromkeys(texts)),
        "seconds": cost.seconds,
        "cpu_seconds": cost.cpu_seconds,
        "peak_bytes": cost.peak_bytes,
        **signature(),
    }


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


class Pool:
    """Where calls are made: in the process that asks, so that a debugger works; or in others.

    ``deaths`` are what a future raises where its process died; ``one_for_all`` says that one death
    takes along everything that the pool was given, so that nobody knows whose fault it was.
    """

    deaths: tuple[type[BaseException], ...] = ()
    one_for_all = False

    @property
    def size(self) -> int:
        """How many calls are made at the same time."""
        return 1

    def submit(self, call: Callable[[], Any]) -> Future[Any]:
        """Have a call made."""
        future: Future[Any] = Future()
        future.set_result(call())
        return future

    def restart(self) -> None:
        """Make the pool usable again after a death."""

    def close(self) -> None:
        """End the pool, with everything that is under way."""


class Processes(Pool):
    """Processes on this machine, by loky."""

    deaths = (TerminatedWorkerError,)
    one_for_all = True

    def __init__(self, n_jobs: int) -> None:
        self._n_jobs = n_jobs
        self._executor = self._start()

    @property
    def size(self) -> int:
        """Number of processes."""
        return self._n_jobs

    def _start(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(
            self.size, env=ONE_THREAD, initializer=_start_worker, initargs=(os.getpid(),)
        )

    def submit(self, call: Callable[[], Any]) -> Future[Any]:
        """Have a call made by the next free process."""
        return self._executor.submit(call)

    def restart(self) -> None:
        """Start new processes."""
        self.close()
        self._executor = self._start()

    def close(self) -> None:
        """End the processes."""
        self._executor.shutdown(wait=True, kill_workers=True)


class Cluster(Pool):
    """The workers of a Dask cluster, one call at a time on each.

    Dask itself starts a worker again that died, and gives a call up after several deaths.
    """

    def __init__(self, client: Client) -> None:
        from distributed import KilledWorker

        self.deaths = (KilledWorker,)
        self._client = client
        self._executor = client.get_executor(pure=False)
        try:
            client.wait_for_workers(1, timeout=WORKER_SECONDS)
        except TimeoutError as error:
            raise ConnectionError(
                f"the Dask scheduler at {client.scheduler.address} has no workers. Start some with "
                "`dask worker --nthreads 1`."
            ) from error

    @property
    def size(self) -> int:
        """Number of workers at this moment, at least one."""
        return max(1, len(self._client.nthreads()))

    def submit(self, call: Callable[[], Any]) -> Future[Any]:
        """Have a call made by a worker."""
        return self._executor.submit(call)

    def close(self) -> None:
        """Cancel what is under way."""
        self._executor.shutdown(wait=False)


@contextmanager
def open_pool(n_jobs: int, dask: str | Client | None) -> Iterator[Pool]:
    """Open the pool that a user asked for; close it at the end."""
    if dask is None:
        if not isinstance(n_jobs, int) or n_jobs == 0:
            raise ValueError(
                f"n_jobs must be a number of processes, or negative to count back from the number "
                f"of cores, got {n_jobs!r}."
            )
        n_jobs = joblib.effective_n_jobs(n_jobs)
        with closing(Pool() if n_jobs == 1 else Processes(n_jobs)) as pool:
            yield pool
    else:
        with _connect(dask) as client, closing(Cluster(client)) as cluster:
            yield cluster


@contextmanager
def _connect(dask: str | Client) -> Iterator[Client]:
    try:
        from distributed import Client
    except ImportError as error:
        raise ImportError('dask needs distributed: pip install "skatter[dask]"') from error
    if not isinstance(dask, str):
        yield dask
        return
    try:
        client = Client(dask, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ConnectionError(
            f"no Dask scheduler answers at {dask!r}: {error}. Start one with `dask scheduler`, and "
            "workers with `dask worker --nthreads 1`."
        ) from error
    with client:
        yield client
