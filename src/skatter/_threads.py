"""Independent pieces of work, side by side in threads that share all arrays.

As many threads as the BLAS may use: whoever limits it, by ``OPENBLAS_NUM_THREADS`` or
``threadpoolctl``, limits these too. While they run every one of them has a BLAS of one thread,
so that cores are not asked for twice; and what a piece splits further runs one after the other.
Results come in the order of the pieces and do not depend on the number of threads.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, TypeVar

from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import ThreadpoolController

Result = TypeVar("Result")
_ALLOWED: ContextVar[int | None] = ContextVar("allowed", default=None)


def allowed_threads() -> int:
    allowed = _ALLOWED.get()
    if allowed is not None:
        return allowed
    pools = _pools(len(sys.modules)).info()
    return max((pool["num_threads"] for pool in pools if pool["user_api"] == "blas"), default=1)


def one_thread(user_api: str | None = None) -> AbstractContextManager[Any]:
    """Limit the pools of ``"blas"`` or ``"openmp"``, or of both, to one thread."""
    return _pools(len(sys.modules)).limit(limits=1, user_api=user_api)


@lru_cache(maxsize=1)
def _pools(n_modules: int) -> ThreadpoolController:
    """Return the thread pools of all libraries; those to come are loaded by a further module.

    The search takes milliseconds, and a fit on few samples would spend its time on it.
    """
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit the BLAS to one thread, and leave :func:`in_threads` as many as there were."""
    token = _ALLOWED.set(allowed_threads())
    try:
        with one_thread():
            yield
    finally:
        _ALLOWED.reset(token)


def in_threads(pieces: Iterable[Callable[[], Result]]) -> list[Result]:
    """Return what each piece returns.

    Examples
    --------
    >>> in_threads([lambda: 1, lambda: 2])
    [1, 2]
    """
    pieces = list(pieces)
    n_threads = min(allowed_threads(), len(pieces))
    if n_threads < 2:
        return [piece() for piece in pieces]
    # Filters of warnings are shared by all threads: whatever these leave is undone.
    with one_blas_thread(), warnings.catch_warnings():
        run = Parallel(n_jobs=n_threads, require="sharedmem", batch_size=1)
        return list(run(delayed(_alone)(piece) for piece in pieces))


def in_brief_threads(pieces: Iterable[Callable[[], Result]]) -> list[Result]:
    """Return what each piece returns: :func:`in_threads` for pieces of a millisecond or less.

    Threads that start in a tenth of the time know nothing of scikit-learn's configuration and
    share the filters of warnings: pieces are to be plain arithmetic.
    """
    pieces = list(pieces)
    n_threads = min(allowed_threads(), len(pieces))
    if n_threads < 2:
        return [piece() for piece in pieces]
    with one_blas_thread(), ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(lambda piece: piece(), pieces))


def _alone(piece: Callable[[], Result]) -> Result:
    # OpenMP counts its threads for every thread that calls it.
    with one_thread("openmp"):
        return piece()
