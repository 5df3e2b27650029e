"""What a piece of work costs, and where that was measured.

Seconds by the clock, seconds of the processor, and the growth of the peak of this process's
memory. The peak is read from ``/proc`` and known on Linux alone.
"""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

T = TypeVar("T")


class Cost(NamedTuple):
    """What a call took.

    Seconds of the processor are those of all threads; ``peak_bytes`` is how far the peak of memory
    lay above the memory before the call, None where it cannot be measured.
    """

    seconds: float
    cpu_seconds: float
    peak_bytes: int | None


def measure(call: Callable[[], T]) -> tuple[T, Cost]:
    """Make a call; return what it returned, and its cost."""
    before = peak_bytes() if forget_peak() else None
    cpu, start = time.process_time(), time.perf_counter()
    result = call()
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu
    after = peak_bytes()
    growth = None if before is None or after is None else after - before
    return result, Cost(seconds, cpu_seconds, growth)


def forget_peak() -> bool:
    """Start to measure the peak of this process's memory anew; return whether that can be done."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def peak_bytes() -> int | None:
    """Return the peak of this process's memory since it was forgotten; None but on Linux."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return None
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) * 1024 if found else None


def machine() -> str:
    """Return the processor of this machine and its number of cores, in one line."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        text = ""
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    name = found[1].strip() if found else platform.processor() or platform.machine()
    return f"{name}, {os.cpu_count()} cores"
