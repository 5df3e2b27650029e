"""The tasks of a study: one file each while it runs, one small file that is committed, means."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from problems import processor

Parts = list[list[Any]]


def pack_tasks(work: Path, target: Path, parts: Sequence[str]) -> None:
    """Put all tasks into one file; a part that a task lacks is empty."""
    records, arrays = [], []
    for path in sorted(work.glob("*.npz")):
        with np.load(path, allow_pickle=False) as found:
            records.append(json.loads(str(found["record"])))
            arrays.append([found[part] if part in found else np.empty(0) for part in parts])
    save_tasks(target, records, arrays, parts, processor())


def save_tasks(
    target: Path,
    records: Sequence[dict[str, Any]],
    arrays: Sequence[Sequence[Any]],
    parts: Sequence[str],
    machine: str,
) -> None:
    """Write the records of tasks, and the parts of each."""
    named = {
        f"{part}{place}": array
        for place, own in enumerate(arrays)
        for part, array in zip(parts, own, strict=True)
    }
    np.savez_compressed(target, records=json.dumps(records), machine=machine, **named)
    print(f"{len(records)} tasks, {target.stat().st_size / 2**20:.1f} MB")


def unpack_tasks(path: Path, parts: Sequence[str]) -> tuple[list[dict[str, Any]], Parts, str]:
    """Return the records, the parts of each, and the machine that they were made on."""
    with np.load(path, allow_pickle=False) as found:
        records = json.loads(str(found["records"]))
        arrays = [[found[f"{part}{i}"] for part in parts] for i in range(len(records))]
        return records, arrays, str(found["machine"])


def set_means(tasks: Iterable[Any], value: Callable[[Any], float]) -> Any:
    """Return the mean over the tasks of each set."""
    found: dict[str, list[float]] = {}
    for each in tasks:
        found.setdefault(each.record["set"], []).append(value(each))
    return np.array([np.mean(values) for values in found.values()])


def over_sets(tasks: Iterable[Any], value: Callable[[Any], float]) -> float:
    """Return the mean over sets of the mean over their tasks."""
    return float(np.mean(set_means(tasks, value)))
