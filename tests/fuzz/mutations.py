"""Mutate tables, records of a store and moments: ``python mutations.py FOLDER SEED CASES``.

``FOLDER`` is empty. Each case changes some bytes of a good file and reads it. It must be read, or
refused by the error of its reader in one line; it must not hang, take memory or fail otherwise. A
record that was changed must count as missing. Prints one line of JSON with what came of the cases.
"""

from __future__ import annotations

import faulthandler
import json
import random
import resource
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from forgeries import BYTES, HANG, SECONDS, memory
from scipy.io import savemat

from skatter.domains import read_domains
from skatter.moments import Moments, collect_moments
from skatter.tables import TableError, read_columns, read_table
from skatter_bench.store import Store

KEY = "5" * 64
TOKENS = [
    b'"',
    b",",
    b";",
    b"\n",
    b"\r",
    b"\0",
    b"\xff",
    b"-1",
    b"1e999",
    b"NaN",
    b"9" * 4000,
    b"x",
]


def good_files(folder: Path) -> dict[str, Path]:
    """Write one good file of each kind."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 3)), columns=["a", "b", "c"])
    frame["site"], frame["kind"] = np.repeat(["here", "there"], 20), ["x, y", None] * 20
    frame.to_csv(folder / "good.csv", index=False)
    frame.to_csv(folder / "good.tsv", index=False, sep="\t")
    frame.to_csv(folder / "good.csv.gz", index=False)
    frame.to_parquet(folder / "good.parquet")
    frame.to_excel(folder / "good.xlsx", index=False)
    arrays = {"X": rng.normal(size=(40, 3)), "kind": np.repeat(["u", "v"], 20)}
    np.savez(folder / "good.npz", **arrays)
    savemat(folder / "good.mat", {"X": arrays["X"], "kind": np.arange(40.0)[:, None]})
    view = read_domains(np.arange(40) % 2, np.repeat(["a", "b"], 20))
    collect_moments(arrays["X"], view).save(folder / "good.moments.npz")
    store = Store(folder / "store")
    scores = [{"setting": {"k": 2}, "correct": 3, "total": 4}]
    store.put(KEY, {"status": "done", "scores": scores, "error": None, "seconds": 0.5})
    found = {path.name.removeprefix("good."): path for path in folder.glob("good.*")}
    return {**found, "record": next(folder.glob("store/cells/*/*.json"))}


def mutate(content: bytes, draw: random.Random) -> bytes:
    """Change, cut, double or insert some bytes."""
    changed = bytearray(content)
    for _ in range(draw.choice([1, 1, 2, 8])):
        place, length = draw.randrange(len(changed) + 1), draw.choice([1, 2, 8, 64, 500])
        how = draw.randrange(5)
        if how == 0 and changed:
            changed[place % len(changed)] ^= 1 << draw.randrange(8)
        elif how == 1:
            del changed[place : place + length]
        elif how == 2:
            changed[place:place] = changed[place : place + length] * draw.choice([1, 1, 50])
        elif how == 3:
            changed[place:place] = draw.choice(TOKENS)
        else:
            changed[place : place + 4] = draw.randbytes(4)
    return bytes(changed)


def in_one_line(error: Exception) -> str:
    """Return that a file is refused, and see that the reason is one line."""
    assert "\n" not in str(error), "more than one line"
    return "refused"


def read_as_table(path: Path) -> str:
    try:
        frame = read_table(path)
        read_columns(frame, label=frame.columns[-1], domain=None)
    except TableError as error:
        return in_one_line(error)
    return "read"


def read_as_moments(path: Path) -> str:
    try:
        Moments.load(path)
    except ValueError as error:
        return in_one_line(error)
    return "read"


def read_as_record(path: Path) -> str:
    found = Store(path.parents[2]).get(KEY)
    if found is None:
        return "refused"
    assert found["scores"] == [{"setting": {"k": 2}, "correct": 3, "total": 4}], "changed unseen"
    assert (found["status"], found["seconds"]) == ("done", 0.5), "changed unseen"
    return "read"


def reader_of(kind: str) -> Callable[[Path], str]:
    """Return what reads files of a kind."""
    if kind == "record":
        return read_as_record
    return read_as_moments if kind == "moments.npz" else read_as_table


def main(folder: Path, seed: int, cases: int) -> None:
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    good = good_files(folder)
    contents = {kind: path.read_bytes() for kind, path in good.items()}
    for kind, path in good.items():
        assert reader_of(kind)(path) == "read", f"a good {kind} is refused"
    resource.setrlimit(resource.RLIMIT_AS, (memory() + BYTES, -1))
    outcomes: Counter[str] = Counter()
    for case in range(cases):
        draw = random.Random(f"{seed} {case}")
        kind = draw.choice(sorted(good))
        path = good[kind] if kind == "record" else folder / f"bad.{kind}"
        path.write_bytes(mutate(contents[kind], draw))
        faulthandler.dump_traceback_later(HANG, exit=True)
        start = time.process_time()
        try:
            outcomes[f"{kind}: {reader_of(kind)(path)}"] += 1
            assert time.process_time() - start < SECONDS, "took too long"
        except Exception as error:
            raise SystemExit(f"seed {seed}, case {case}, {kind}: {error!r}") from error
    faulthandler.cancel_dump_traceback_later()
    print(json.dumps(outcomes))


if __name__ == "__main__":
    faulthandler.enable()
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
