"""Mutate tables, stores and moments: ``python mutations.py FOLDER SEED CASES``.

``FOLDER`` is empty. Each case changes some bytes of a good file, of what is packed in it, or values
of a record under a new checksum, and reads it. It must be read, or refused by the error of its
reader in one line; it must not hang, take memory or fail otherwise. A record whose bytes were
changed must count as missing. Prints one line of JSON with what came of the cases: of every six,
five are tables.
"""

from __future__ import annotations

import copy
import faulthandler
import gzip
import hashlib
import io
import json
import lzma
import random
import resource
import sys
import time
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from forgeries import BYTES, HANG, SECONDS, VALUES, memory, places
from scipy.io import savemat

from skatter.domains import read_domains
from skatter.moments import Moments, collect_moments
from skatter.tables import TableError, describe_columns, open_table, read_columns
from skatter_bench.results import stamps, tidy
from skatter_bench.store import Store, StoreError, open_store, pack

KEY = "5" * 64
SCORES = [{"setting": {"k": 2}, "correct": 3, "total": 4, "seconds": 0.25}]
RECORD = {
    "cell": {
        "task": {
            **{"dataset": "d", "name": "t", "sources": ["s"], "targets": ["t"], "setting": "da"},
            **{"prepare": "none", "draw": 0},
        },
        "contestant": {"name": "c", "classifier": "1nn", "estimator": "sca", "fixed": {"beta": 1}},
        "fold": "target",
        "seed": 0,
    },
    "status": "done",
    "scores": SCORES,
    "error": None,
    "warnings": ["one"],
    "seconds": 0.5,
    "cpu_seconds": 0.5,
    "peak_bytes": 4096,
    "finished": "2026-01-01T00:00:00+00:00",
    "machine": "m",
    "versions": {"numpy": "2.0"},
}
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
    store.put(KEY, RECORD)
    pack([store], folder / "good.packed.xz")
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


def repacked(kind: str, content: bytes, draw: random.Random) -> bytes:
    """Change what a packed file holds, so that its own checksums are right."""
    if kind.endswith("gz"):
        return gzip.compress(mutate(gzip.decompress(content), draw), 1)
    if kind.endswith("xz"):
        return lzma.compress(b"".join(map(forged_record, [draw] * draw.choice([1, 2]))))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {each.filename: archive.read(each) for each in archive.infolist()}
        packing = archive.infolist()[0].compress_type
    name = draw.choice(sorted(members))
    members[name] = mutate(members[name], draw)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", packing) as archive:
        for each, data in members.items():
            archive.writestr(each, data)
    return out.getvalue()


def forged_record(draw: random.Random) -> bytes:
    """Return a record with one value changed, and the checksum that belongs to it."""
    record = copy.deepcopy({"key": KEY, **RECORD})
    container, key = draw.choice(places(record))
    if draw.random() < 0.25:
        del container[key]
    else:
        container[key] = copy.deepcopy(draw.choice(VALUES))
    text = json.dumps(record, sort_keys=True, separators=(",", ":"))
    record["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    return json.dumps(record).encode() + b"\n"


def in_one_line(error: Exception) -> str:
    """Return that a file is refused, and see that the reason is one line."""
    assert "\n" not in str(error), "more than one line"
    return "refused"


def read_as_table(path: Path) -> str:
    try:
        with open_table(path) as table:
            pieces = pd.concat(list(table.pieces()))
            frame = table.frame
            assert len(pieces) == len(frame) == table.n_rows, "pieces lose rows"
            read_columns(frame, label=frame.columns[-1], domain=None)
            describe_columns(frame)
            new = pd.DataFrame({"new": [1.5] * len(frame)})
            table.write_with(new, path.with_name("out.csv"), force=True)
            if table.kind == "parquet":
                table.write_with(new, path.with_name("out.parquet"), force=True)
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
    assert found == {"key": KEY, **RECORD}, "changed unseen"
    return "read"


def read_as_store(path: Path) -> str:
    try:
        store = open_store(path if path.suffix == ".xz" else path.parents[2])
        stamps(store)
        return "read" if tidy(store) else "refused"
    except StoreError as error:
        return in_one_line(error)


READERS: dict[str, Callable[[Path], str]] = {
    "record": read_as_record,
    "forged record": read_as_store,
    "packed.xz": read_as_store,
    "moments.npz": read_as_moments,
}
"""What reads a kind of file; all others are tables."""


def changed(kind: str, content: bytes, draw: random.Random) -> bytes:
    """Return a bad file of a kind."""
    if kind == "forged record":
        return forged_record(draw)
    packed = kind.endswith(("gz", "xz", "npz", "xlsx"))
    return (repacked if packed and draw.random() < 0.7 else _mutated)(kind, content, draw)


def _mutated(kind: str, content: bytes, draw: random.Random) -> bytes:
    return mutate(content, draw)


def main(folder: Path, seed: int, cases: int) -> None:
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    good = good_files(folder)
    contents = {kind: path.read_bytes() for kind, path in good.items()}
    for kind, path in good.items():
        assert READERS.get(kind, read_as_table)(path) == "read", f"a good {kind} is refused"
    good["forged record"], contents["forged record"] = good["record"], contents["record"]
    resource.setrlimit(resource.RLIMIT_AS, (memory() + BYTES, -1))
    outcomes: Counter[str] = Counter()
    for case in range(cases):
        draw = random.Random(f"{seed} {case}")
        kind = draw.choice(sorted(good.keys() - READERS if case % 6 else READERS.keys()))
        path = good[kind] if "record" in kind else folder / f"bad.{kind}"
        path.write_bytes(changed(kind, contents[kind], draw))
        faulthandler.dump_traceback_later(HANG, exit=True)
        start = time.process_time()
        try:
            outcomes[f"{kind}: {READERS.get(kind, read_as_table)(path)}"] += 1
            assert time.process_time() - start < SECONDS, "took too long"
        except Exception as error:
            raise SystemExit(f"seed {seed}, case {case}, {kind}: {error!r}") from error
    faulthandler.cancel_dump_traceback_later()
    print(json.dumps(outcomes))


if __name__ == "__main__":
    faulthandler.enable()
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
