"""Costs of calls against calls whose cost is known."""

from __future__ import annotations

import os
import sys
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

from skatter._versions import versions
from skatter_bench import measure as module
from skatter_bench.measure import machine, measure


def busy(cpu_seconds: float) -> None:
    start = time.process_time()
    while time.process_time() - start < cpu_seconds:
        pass


def test_sleep_takes_time_by_the_clock_and_none_of_the_processor():
    result, cost = measure(lambda: time.sleep(0.2))
    assert result is None
    assert cost.seconds >= 0.2
    assert cost.cpu_seconds < 0.1


def test_work_takes_time_of_the_processor():
    _, cost = measure(lambda: busy(0.1))
    assert 0.1 <= cost.cpu_seconds <= cost.seconds + 0.05


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is known on Linux alone")
def test_growth_of_the_peak_is_the_memory_that_was_held_for_a_while():
    n_bytes = 80 * 2**20
    for _ in range(2):  # the second peak is no higher than the first, and grows as much
        total, cost = measure(lambda: float(np.ones(n_bytes // 8).sum()))
        assert total == n_bytes / 8
        assert cost.peak_bytes == pytest.approx(n_bytes, rel=0.1)


def test_peak_is_none_where_the_system_does_not_tell(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "Path", lambda place: tmp_path / "missing")
    result, cost = measure(lambda: 3)
    assert (result, cost.peak_bytes) == (3, None)


def test_error_of_the_call_is_the_callers():
    with pytest.raises(ZeroDivisionError):
        measure(lambda: 1 / 0)


def test_versions_are_those_that_are_installed():
    found = versions()
    assert found.pop("python") == ".".join(map(str, sys.version_info[:3]))
    assert found == {name: version(name) for name in ("numpy", "scipy", "scikit-learn", "skatter")}


def test_machine_names_a_processor_and_the_number_of_cores():
    model, cores = machine().rsplit(", ", 1)
    assert model
    assert cores == f"{os.cpu_count()} cores"
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists() and "model name" in cpuinfo.read_text():
        assert model in cpuinfo.read_text()
