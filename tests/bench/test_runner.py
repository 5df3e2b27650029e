"""The runner, with real processes that are really killed."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from threadpoolctl import threadpool_info, threadpool_limits
from toy_cells import Piece, do, read_log, read_workers

from skatter_bench import store as store_module
from skatter_bench.runner import Estimate, Event, Failure, run
from skatter_bench.store import Store, StoreError

N_PIECES = 40
SECONDS = 0.05
FIELDS = {
    *("key", "cell", "status", "scores", "error", "warnings", "seconds", "cpu_seconds"),
    *("peak_bytes", "finished", "versions", "machine", "host"),
}


@pytest.fixture
def log(tmp_path) -> Path:
    return tmp_path / "log"


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture
def make(log):
    """Make pieces that write to the log."""

    def pieces(*actions: str, **changes) -> list[Piece]:
        return [Piece(number, str(log), action, **changes) for number, action in enumerate(actions)]

    return pieces


def start(folder: Path, *, n_jobs: int = 2, n_pieces: int = N_PIECES, seconds: float = SECONDS):
    """Start a process that runs pieces; it has a process group of its own, as in a terminal."""
    code = f"import toy_cells; toy_cells.main({str(folder)!r}, {n_pieces}, {n_jobs}, {seconds})"
    child = subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert child.stdout.readline() == "ready\n"
    return child


def let_go(child: subprocess.Popen) -> None:
    child.stdin.write("\n")
    child.stdin.flush()


def wait_until(reached, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)


def is_alive(process: int) -> bool:
    """Tell whether a process runs; one that nobody has asked about since its end has no command."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes() != b""
    except OSError:
        return False


def leftovers(store: Store) -> list[str]:
    return [path.name for path in store.folder.rglob("*") if path.suffix in (".part", ".lock")]


def scores(store: Store) -> dict[int, int]:
    return {each["cell"]["number"]: each["scores"][0]["correct"] for each in store}


ALL_RIGHT = {number: number for number in range(N_PIECES)}


# --- what is done, and what is kept ---------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_every_cell_is_done_once_and_not_again(make, store, log, n_jobs):
    pieces = make(*["sleep"] * 6)
    first = run(pieces, store, do, n_jobs=n_jobs)
    again = run(pieces, store, do, n_jobs=n_jobs)
    assert (first.n_done, first.n_found, first.n_failed) == (6, 0, 0)
    assert (again.n_done, again.n_found, again.n_failed) == (0, 6, 0)
    assert sorted(read_log(log)) == list(range(6))
    assert (os.getpid() in read_workers(log)) == (n_jobs == 1)
    assert leftovers(store) == []
    for record, piece in zip(store, sorted(pieces, key=lambda each: each.key), strict=True):
        assert set(record) == FIELDS
        assert record["cell"] == piece.spec()
        assert record["status"] == "done"
        assert record["error"] is None
        assert record["scores"] == do(replace(piece, log=os.devnull))


def test_cells_of_one_key_are_done_once(make, store, log):
    summary = run(make("sleep") * 3, store, do, n_jobs=1)
    assert (summary.n_done, summary.n_found) == (1, 0)
    assert read_log(log) == [0]


def test_no_cells_need_no_workers_and_no_folder(store):
    assert run([], store, do).n_done == 0
    assert not store.folder.exists()


def test_cost_and_distinct_warnings_are_recorded(make, store):
    run(make("warn", seconds=0.2), store, do, n_jobs=1)
    (record,) = store
    assert record["warnings"] == ["RuntimeWarning: slow", "RuntimeWarning: vague"]
    assert record["seconds"] >= 0.2 > record["cpu_seconds"]


def test_warnings_are_recorded_for_each_cell_that_gave_them(make, store):
    run(make("warn", "warn", "sleep"), store, do, n_jobs=1)
    assert {each["cell"]["number"]: len(each["warnings"]) for each in store} == {0: 2, 1: 2, 2: 0}


# --- cells that fail ------------------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_cell_that_raises_is_recorded_and_the_rest_goes_on(make, store, n_jobs):
    pieces = make("sleep", "raise", "sleep", "infinite")
    summary = run(pieces, store, do, n_jobs=n_jobs)
    assert (summary.n_done, summary.n_failed) == (2, 2)
    assert Failure("piece 1", "ValueError: piece 1 is bad", found=False) in summary.failed
    record = store.get(pieces[1].key)
    assert (record["status"], record["scores"]) == ("failed", [])
    assert record["error"]["type"] == "ValueError"
    assert record["error"]["message"] == "piece 1 is bad"
    assert 'raise ValueError(f"piece' in record["error"]["traceback"]
    assert "JSON" in store.get(pieces[3].key)["error"]["message"]


def test_failed_cell_is_tried_again_only_when_asked(make, store, log):
    run(make("raise", "sleep"), store, do, n_jobs=1)
    mended = make("sleep", "sleep")
    left = run(mended, store, do, n_jobs=1)
    assert (left.n_done, left.n_found, left.n_failed) == (0, 1, 1)
    assert left.failed == (Failure("piece 0", "ValueError: piece 0 is bad", found=True),)
    retried = run(mended, store, do, n_jobs=1, retry_failed=True)
    assert (retried.n_done, retried.n_found, retried.n_failed) == (1, 1, 0)
    assert read_log(log) == [0, 1, 0]
    assert store.get(mended[0].key)["status"] == "done"


def test_worker_that_dies_costs_its_own_cell_alone(make, store, log):
    pieces = make(*["sleep"] * 3, "die", *["sleep"] * 4, seconds=0.05)
    summary = run(pieces, store, do, n_jobs=2)
    assert (summary.n_done, summary.n_failed) == (7, 1)
    assert [each.label for each in summary.failed] == ["piece 3"]
    assert store.get(pieces[3].key)["error"]["type"] == "TerminatedWorkerError"
    begun = Counter(read_log(log))
    assert begun[3] == 2
    assert sum(begun.values()) <= len(pieces) + 2  # the culprit, and what was under way with it
    assert set(store.get(pieces[3].key)) == FIELDS
    assert leftovers(store) == []


# --- before any work ------------------------------------------------------------------------------


def test_store_that_cannot_be_written_is_an_error_before_any_work(make, tmp_path, log):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StoreError, match="cannot write to the folder"):
        run(make("sleep"), Store(tmp_path / "file" / "below"), do, n_jobs=1)
    assert read_log(log) == []


@pytest.mark.parametrize("n_jobs", [0, 1.5, "two"])
def test_number_of_processes_that_is_none_is_an_error_before_any_work(make, store, log, n_jobs):
    with pytest.raises(ValueError, match="n_jobs must be a number of processes"):
        run(make("sleep"), store, do, n_jobs=n_jobs)
    assert read_log(log) == []


def test_damaged_record_is_done_again(make, store, log):
    pieces = make("sleep", "sleep")
    run(pieces, store, do, n_jobs=1)
    path = next(store.folder.rglob(f"{pieces[1].key}.json"))
    whole = path.read_text()
    path.write_text(whole[: len(whole) // 2])
    with pytest.warns(UserWarning, match="does not hold the record of its cell"):
        summary = run(pieces, store, do, n_jobs=1)
    assert (summary.n_done, summary.n_found) == (1, 1)
    assert read_log(log) == [0, 1, 1]
    assert store.get(pieces[1].key)["scores"] == json.loads(whole)["scores"]


# --- interruptions --------------------------------------------------------------------------------


def test_full_disk_stops_the_run_and_keeps_what_was_there(make, store, monkeypatch):
    def full(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def fill_up(event: Event) -> None:
        if event.done == 3:
            monkeypatch.setattr(store_module.os, "replace", full)

    with pytest.raises(StoreError, match="No space left on device"):
        run(make(*["sleep"] * 6), store, do, n_jobs=1, on_event=fill_up)
    assert scores(store) == {0: 0, 1: 1, 2: 2}
    assert leftovers(store) == []


def test_killed_run_keeps_its_records_and_the_next_one_does_the_rest(store, log, tmp_path):
    before: dict[str, dict] = {}
    for reached in (2, 24):
        child = start(tmp_path)
        let_go(child)
        wait_until(lambda n=reached: len(read_log(log)) >= n)
        child.send_signal(signal.SIGKILL)
        child.communicate()
        begun = Counter(read_log(log))
        kept = {each["key"]: each for each in store}
        assert kept.items() >= before.items()
        wait_until(lambda: not any(map(is_alive, read_workers(log))), seconds=10)
        assert Counter(read_log(log)) == begun
        before = kept
    child = start(tmp_path)
    out, _ = child.communicate("\n")
    summary = json.loads(out)
    assert summary["n_found"] == len(before)
    assert summary["n_done"] == N_PIECES - len(before)
    assert scores(store) == ALL_RIGHT
    assert leftovers(store) == []
    # Two cells were under way at each kill, and nothing else was begun twice.
    assert sum(Counter(read_log(log)).values()) <= N_PIECES + 2 * 2
    assert {each["key"]: each for each in store}.items() >= before.items()


def test_interrupt_from_the_keyboard_keeps_what_has_finished(store, log, tmp_path):
    n_pieces = 20 * N_PIECES  # more than a busy machine can do before it is interrupted
    child = start(tmp_path, n_pieces=n_pieces)
    let_go(child)
    wait_until(lambda: len(read_log(log)) >= 4)
    for worker in read_workers(log):
        os.kill(worker, signal.SIGINT)  # the workers leave it to the run, which goes on
    wait_until(lambda: len(read_log(log)) >= 10)
    os.killpg(child.pid, signal.SIGINT)  # as a terminal does: to the workers as well
    _, error = child.communicate(timeout=60)
    assert child.returncode != 0
    assert error.rstrip().endswith("KeyboardInterrupt")
    assert error.count("Traceback") == 1  # of the run; its workers say nothing
    begun = read_log(log)
    assert len(begun) < n_pieces
    assert len(begun) == len(set(begun))
    assert len(begun) - 2 <= len(scores(store)) <= len(begun)
    assert all(each["status"] == "done" for each in store)
    assert leftovers(store) == []
    wait_until(lambda: not any(map(is_alive, read_workers(log))), seconds=10)


def test_result_that_came_just_before_an_interrupt_is_kept(make, store, log):
    events: list[Event] = []

    def interrupt(event: Event) -> None:
        events.append(event)
        if [each.kind for each in events].count("done") == 1:
            wait_until(lambda: len(read_log(log)) == 2)
            time.sleep(1)  # the second piece ends, and nobody has asked for it
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(make("sleep", "sleep", "sleep"), store, do, n_jobs=2, on_event=interrupt)
    assert scores(store) == {0: 0, 1: 1}
    assert leftovers(store) == []


def test_interrupt_in_this_process_gives_claims_back(make, store):
    def interrupt(event: Event) -> None:
        if event.done == 2 and event.kind == "started":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(make(*["sleep"] * 4), store, do, n_jobs=1, on_event=interrupt)
    assert scores(store) == {0: 0, 1: 1}
    assert leftovers(store) == []


# --- two runs on one store ------------------------------------------------------------------------


def test_two_runs_at_once_share_the_cells(store, log, tmp_path):
    children = [start(tmp_path, n_jobs=1) for _ in range(2)]
    for child in children:
        let_go(child)
    summaries = [json.loads(child.communicate()[0]) for child in children]
    assert sorted(read_log(log)) == list(range(N_PIECES))
    assert scores(store) == ALL_RIGHT
    assert leftovers(store) == []
    assert sum(each["n_done"] for each in summaries) == N_PIECES
    for each in summaries:
        assert each["n_done"] > 0
        assert each["n_done"] + each["n_found"] == N_PIECES


def test_cell_of_another_run_is_done_when_that_run_dies(make, store, log, tmp_path):
    other = start(tmp_path, n_jobs=1, n_pieces=1, seconds=60)
    let_go(other)
    wait_until(lambda: read_log(log) == [0])
    killer = threading.Timer(0.3, other.kill)
    killer.start()
    begun = time.monotonic()
    summary = run(make("sleep"), store, do, n_jobs=1)
    assert time.monotonic() - begun > 0.25
    other.communicate()
    assert summary.n_done == 1
    assert read_log(log) == [0, 0]
    assert leftovers(store) == []


def test_cell_that_another_run_finishes_is_found_and_not_done(make, store, log, tmp_path):
    other = start(tmp_path, n_jobs=1, n_pieces=1, seconds=0.5)
    let_go(other)
    wait_until(lambda: read_log(log) == [0])
    summary = run(make("sleep"), store, do, n_jobs=1)
    other.communicate()
    assert (summary.n_done, summary.n_found) == (0, 1)
    assert read_log(log) == [0]


# --- threads --------------------------------------------------------------------------------------


def test_a_cell_without_a_single_score_has_failed(make, store):
    def fails(piece):
        return [{"setting": {}, "error": "ValueError: \x1b[31mno"}] * 2

    summary = run(make("right"), store, fails)
    assert (summary.n_done, summary.n_failed) == (0, len(summary.failed))
    assert {failure.error for failure in summary.failed} == {"ValueError: \x1b[31mno"}


def test_worker_processes_use_one_thread(make, store, monkeypatch):
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(name, "2")
    run(make("threads"), store, do, n_jobs=2)
    ((score,),) = (each["scores"] for each in store)
    assert set(score["threads"]) == {1}
    assert score["environment"] == "1"  # for libraries that are loaded later


def test_this_process_uses_one_thread_for_the_cell_and_its_own_number_after_it(make, store):
    with threadpool_limits(limits=2):
        before = [pool["num_threads"] for pool in threadpool_info()]
        run(make("threads"), store, do, n_jobs=1)
        after = [pool["num_threads"] for pool in threadpool_info()]
    assert max(before) == 2
    assert after == before
    ((score,),) = (each["scores"] for each in store)
    assert set(score["threads"]) == {1}


# --- progress -------------------------------------------------------------------------------------


def test_events_tell_of_every_cell_and_count_to_the_end(make, store):
    events: list[Event] = []
    run(make("sleep"), store, do, n_jobs=1)
    run(make("sleep", "raise", "sleep"), store, do, n_jobs=1, on_event=events.append)
    told = [(event.kind, event.label, event.done) for event in events]
    assert told == [
        ("found", "piece 0", 1),
        ("started", "piece 1", 1),
        ("failed", "piece 1", 2),
        ("started", "piece 2", 2),
        ("done", "piece 2", 3),
    ]
    assert {event.total for event in events} == {3}
    assert events[-1].seconds_left == 0


def test_estimate_takes_the_mean_of_the_contestant_or_else_of_all():
    estimate = Estimate(["a"] * 4 + ["b"] * 3 + ["c"] * 2)
    assert estimate.seconds_left(1) is None
    estimate.settle("a", 2.0)
    estimate.settle("a", 4.0)
    estimate.settle("b", 9.0)
    # Left are two of a at 3 seconds, two of b at 9, and two of c at the mean of all, 5.
    assert estimate.seconds_left(1) == pytest.approx(2 * 3 + 2 * 9 + 2 * 5)
    assert estimate.seconds_left(4) == pytest.approx(34 / 4)
    for group, n in (("a", 2), ("b", 2), ("c", 2)):
        for _ in range(n):
            estimate.settle(group, 1.0)
    assert estimate.seconds_left(1) == 0


def test_run_estimates_by_contestant(make, store, monkeypatch):
    pieces = [
        replace(piece, contestant=name, seconds=seconds)
        for piece, (name, seconds) in zip(
            make(*["sleep"] * 4),
            [("slow", 0.3), ("quick", 0.0), ("slow", 0.3), ("quick", 0.0)],
            strict=True,
        )
    ]
    events: list[Event] = []
    run(pieces, store, do, n_jobs=1, on_event=events.append)
    left = {event.done: event.seconds_left for event in events if event.kind == "done"}
    assert left[1] == pytest.approx(0.9, abs=0.1)  # nothing quick is known yet
    assert left[2] == pytest.approx(0.3, abs=0.1)
    assert left[3] == pytest.approx(0.0, abs=0.1)
