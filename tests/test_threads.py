"""Threads: the same results in the same order, and nothing global is left changed."""

from __future__ import annotations

import sys
import threading
import warnings
from types import ModuleType

import pytest
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

import skatter._threads
from skatter._threads import allowed_threads, in_brief_threads, in_threads, one_blas_thread


def blas_threads() -> list[int]:
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.fixture
def two():
    """Two threads, on any machine."""
    with threadpool_limits(2, user_api="blas"):
        yield


both = pytest.mark.parametrize("run", [in_threads, in_brief_threads])


@both
def test_pieces_run_at_the_same_time_and_come_in_order(run, two):
    meeting = threading.Barrier(2, timeout=20)
    assert run([lambda: (meeting.wait(), 1)[1], lambda: (meeting.wait(), 2)[1]]) == [1, 2]


@both
def test_every_thread_has_a_blas_of_its_own_and_splits_no_further(run, two):
    before = blas_threads()
    seen = run([lambda: (max(blas_threads()), allowed_threads())] * 4)
    assert seen == [(1, 1)] * 4
    assert blas_threads() == before


@both
def test_a_limit_of_the_user_holds(run):
    with threadpool_limits(1):
        assert run([threading.get_ident] * 2) == [threading.get_ident()] * 2


def test_one_blas_thread_leaves_threads_to_pieces(two):
    with one_blas_thread():
        assert max(blas_threads()) == 1
        assert allowed_threads() == 2


def test_filters_of_warnings_are_as_before_and_errors_come_through(two):
    before = list(warnings.filters)

    def noisy():
        warnings.simplefilter("ignore")
        raise ValueError("of a piece")

    with pytest.raises(ValueError, match="of a piece"):
        in_threads([noisy, noisy])
    assert warnings.filters == before


def test_errors_of_brief_pieces_come_through(two):
    with pytest.raises(ZeroDivisionError):
        in_brief_threads([lambda: 1, lambda: 1 // 0])


def test_libraries_are_searched_for_pools_again_after_an_import_and_only_then(monkeypatch):
    searches = []
    monkeypatch.setattr(
        skatter._threads,
        "ThreadpoolController",
        lambda: searches.append(len(sys.modules)) or ThreadpoolController(),
    )
    for name in ("first_of_its_kind", "second_of_its_kind"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
        before = allowed_threads()
        assert allowed_threads() == before
    assert searches == [len(sys.modules) - 1, len(sys.modules)]
