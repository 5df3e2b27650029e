"""The runner on a real Dask cluster of two worker processes on this machine."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from toy_cells import Piece, do, read_log, read_workers

from skatter_bench import workers
from skatter_bench.runner import Event, run
from skatter_bench.store import Store

COSTS = ("seconds", "cpu_seconds", "peak_bytes", "finished")
"""What differs from one run to the next."""


@pytest.fixture(scope="module")
def cluster(require) -> Iterator[Any]:
    require("distributed", "dask")
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
    ) as started:
        yield started


@pytest.fixture
def log(tmp_path) -> Path:
    return tmp_path / "log"


def pieces(log: Path, *actions: str) -> list[Piece]:
    return [Piece(number, str(log), action) for number, action in enumerate(actions)]


def comparable(store: Store) -> list[dict[str, Any]]:
    return [{name: each[name] for name in each if name not in COSTS} for each in store]


def test_cluster_gives_the_records_of_processes_on_this_machine(cluster, tmp_path, log):
    cells = pieces(log, "sleep", "warn", "raise", "sleep", "threads", "infinite")
    here, there = Store(tmp_path / "here"), Store(tmp_path / "there")
    run(cells, here, do, n_jobs=2)
    on_this_machine = read_workers(log)
    summary = run(cells, there, do, dask=cluster.scheduler_address)
    assert (summary.n_done, summary.n_failed) == (4, 2)
    assert comparable(there) == comparable(here)
    assert sorted(read_log(log)) == sorted(2 * list(range(6)))
    processes = {worker.pid for worker in cluster.workers.values()}
    assert read_workers(log) - on_this_machine <= processes


def test_worker_of_a_cluster_that_dies_costs_its_own_cell_alone(cluster, tmp_path, log):
    from distributed import Client

    cells = pieces(log, "sleep", "die", "sleep", "sleep", "sleep")
    store = Store(tmp_path / "store")
    with Client(cluster) as client:
        summary = run(cells, store, do, dask=client)
        assert client.status == "running"  # a client that was given is not closed
    assert (summary.n_done, summary.n_failed) == (4, 1)
    assert store.get(cells[1].key)["error"]["type"] == "KilledWorker"


def test_address_where_nobody_answers_is_an_error_before_any_work(
    require, tmp_path, log, monkeypatch
):
    require("distributed", "dask")
    monkeypatch.setattr(workers, "CONNECT_SECONDS", 0.5)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{closed.getsockname()[1]}"
        with pytest.raises(ConnectionError, match=f"no Dask scheduler answers at '{address}'"):
            run(pieces(log, "sleep"), Store(tmp_path / "store"), do, dask=address)
    assert read_log(log) == []


def test_cluster_without_workers_is_an_error_and_not_a_wait_for_ever(
    require, tmp_path, log, monkeypatch
):
    require("distributed", "dask")
    from distributed import LocalCluster

    monkeypatch.setattr(workers, "WORKER_SECONDS", 0.2)
    with (
        LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=50) as empty,
        pytest.raises(ConnectionError, match="has no workers"),
    ):
        run(pieces(log, "sleep"), Store(tmp_path / "store"), do, dask=empty.scheduler_address)


def test_scheduler_that_dies_ends_the_run_and_keeps_what_was_finished(require, tmp_path, log):
    require("distributed", "dask")
    from distributed import Client

    code = (
        "from distributed import LocalCluster\n"
        "if __name__ == '__main__':\n"
        "    cluster = LocalCluster(1, processes=False, protocol='tcp', dashboard_address=':0')\n"
        "    print(cluster.scheduler_address, flush=True)\n"
        "    input()\n"
    )
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path]),
    }
    with subprocess.Popen(
        [sys.executable, "-c", code],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        address = child.stdout.readline().strip()

        def kill(event: Event) -> None:
            if event.done == 3 and event.kind == "started":
                child.kill()

        store = Store(tmp_path / "store")
        with (
            Client(address, set_as_default=False) as client,
            pytest.raises(ConnectionError, match="Dask cluster was lost"),
        ):
            run(pieces(log, *["sleep"] * 6), store, do, dask=client, on_event=kill)
    assert len(list(store)) == 3


def test_missing_dask_names_the_extra(tmp_path, log, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r'pip install "skatter\[dask\]"'):
        run(pieces(log, "sleep"), Store(tmp_path / "store"), do, dask="tcp://127.0.0.1:1")
