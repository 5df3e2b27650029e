"""Small cells for the tests of the runner, in a module that worker processes can import.

A worker needs no runner, so that it is imported where one is started.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Piece:
    """A cell that writes its number and its process to a log, and then does ``action``."""

    number: int
    log: str
    action: str = "sleep"
    seconds: float = 0.0
    contestant: str = "plain"

    @property
    def key(self) -> str:
        return hashlib.sha256(f"{self.number}".encode()).hexdigest()

    @property
    def label(self) -> str:
        return f"piece {self.number}"

    def spec(self) -> dict[str, Any]:
        spec = asdict(self)
        return {"contestant": {"name": spec.pop("contestant")}, **spec}


def do(piece: Piece) -> list[dict[str, Any]]:
    """Do a piece; its score can be told from its number."""
    log = os.open(piece.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(log, f"{piece.number} {os.getpid()}\n".encode())
    os.close(log)
    time.sleep(piece.seconds)
    match piece.action:
        case "raise":
            raise ValueError(f"piece {piece.number} is bad")
        case "die":
            os._exit(3)
        case "warn":
            for text in ("slow", "slow", "vague"):
                warnings.warn(text, RuntimeWarning, stacklevel=1)
        case "infinite":
            return [{"setting": {}, "score": float("inf")}]
        case "threads":
            from threadpoolctl import threadpool_info

            found = [pool["num_threads"] for pool in threadpool_info()]
            return [
                {"setting": {}, "threads": found, "environment": os.environ.get("OMP_NUM_THREADS")}
            ]
    return [{"setting": {"k": piece.number}, "correct": piece.number, "total": 100}]


def read_log(path: Path) -> list[int]:
    """Return the numbers of the pieces in the order in which they were begun."""
    return [int(line.split()[0]) for line in _lines(path)]


def read_workers(path: Path) -> set[int]:
    """Return the processes that worked."""
    return {int(line.split()[1]) for line in _lines(path)}


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def main(folder: str, n_pieces: int, n_jobs: int, seconds: float) -> None:
    """Run pieces in a process of their own: says when it is ready, and waits for a line."""
    from skatter_bench.runner import run
    from skatter_bench.store import Store

    pieces = [Piece(number, f"{folder}/log", seconds=seconds) for number in range(n_pieces)]
    store = Store(f"{folder}/store")
    print("ready", flush=True)
    sys.stdin.readline()
    summary = run(pieces, store, do, n_jobs=n_jobs)
    print(json.dumps(asdict(summary)), flush=True)
