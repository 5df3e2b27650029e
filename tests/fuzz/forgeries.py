"""Forge model files and see what happens: ``python forgeries.py FOLDER SEED CASES``.

``FOLDER`` holds signed models, their ``key`` and ``samples.npz``. Each case takes a model, changes
nodes of its JSON or arrays at random, writes the checksum that then belongs to it, and loads and
predicts. It may be refused, in one line, or predict; it must not crash, call, hang, take memory or
fail in any other way. With the key it must be refused. Where no more than the shape of an array was
changed, what it predicts must be what it predicted before. Prints one line of JSON with what came
of the cases; errors while predicting are among them, with the case and their cause.
"""

from __future__ import annotations

import copy
import faulthandler
import hashlib
import io
import json
import os
import random
import re
import resource
import sys
import time
import traceback
import warnings
import zipfile
from collections import Counter
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pandas
from sklearn.exceptions import NotFittedError

from skatter.saving import ModelFileError, load_model

SECONDS, BYTES = 5.0, 2**30
"""Time of the processor and memory that one case may take."""

WIDEST = 10**6
"""Columns of samples beyond which nobody could ask a model anything."""

HANG = 120.0
"""Seconds after which a case is ended, however busy the machine is."""

VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 7, 2**31, 2**63 - 1, 10**30, 0.5, -1.5, 1e300, 1e-300),
    *(float("nan"), float("inf"), "", "x", "linear", "precomputed", "predict", "tofile", "\ud800"),
    *([], [1], ["a"], {}, {"tuple": []}, {"dict": []}, {"set": [1]}, {"part": 0}, {"array": 0}),
    *({"array": 1}, {"part": 10**6}, {"strings": [[1], ["a"]]}, {"scalar": ["<f8", 1.5]}),
    *({"slice": [0, 5, None]}, {"dtype": "|O"}, {"type": "float32"}, {"random": [1, 2, 3, 4]}),
]


def places(node: Any) -> list[tuple[Any, Any]]:
    """Return all containers in JSON with all their keys."""
    found, waiting = [], [node]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict | list):
            keys = list(each) if isinstance(each, dict) else range(len(each))
            found.extend((each, key) for key in keys)
            waiting.extend(each[key] for key in keys)
    return found


def change_json(content: dict[str, Any], draw: random.Random) -> None:
    """Put a foreign value, another node, another object or a near number somewhere."""
    if draw.random() < 0.01:
        content["model"] = draw.randrange(len(content["parts"]) or 1)
        return
    spots = places(content["parts"])
    how = draw.choice(["value", "value", "node", "refer", "refer", "number", "delete", "rename"])
    kinds = {"refer": _refers, "number": lambda node: isinstance(node, int | float)}
    if how in kinds:
        spots = [spot for spot in spots if kinds[how](spot[0][spot[1]])]
    if not spots:
        return
    container, key = draw.choice(spots)
    if how == "value":
        container[key] = copy.deepcopy(draw.choice(VALUES))
    elif how in ("node", "refer"):
        other, place = draw.choice(spots)
        container[key] = copy.deepcopy(other[place])
    elif how == "number":
        number = container[key]
        ways = [number + 1, number - 1, -number, 1000 * number, 0.5 * number, float(number)]
        container[key] = draw.choice(ways)
    elif how == "delete" or isinstance(container, list):
        del container[key]
    else:
        container[f"{key}{draw.choice('_x')}"] = container.pop(key)


def _refers(node: Any) -> bool:
    return isinstance(node, dict) and (node.keys() == {"part"} or node.keys() == {"array"})


def change_array(data: bytes, draw: random.Random) -> bytes:
    array = np.load(io.BytesIO(data))
    how = draw.randrange(10)
    if how == 0 and array.ndim:
        array = array[:-1]
    elif how == 1 and array.ndim:
        array = np.concatenate([array, array])
    elif how == 2:
        array = array.T
    elif how == 3:
        array = array[..., None]
    elif how == 4 and array.dtype.kind in "fi":
        array = array.astype(draw.choice([np.float32, np.float64, np.int32, np.int64, np.bool_]))
    elif how == 5 and array.dtype.kind in "fiu" and array.size:
        wild = [-1, 0, 10**6, 2**31 - 1, -(2**31), np.nan, np.inf, 1e308]
        wild = wild[: 8 if array.dtype.kind == "f" else 5]
        flat = array.ravel()
        flat[draw.randrange(array.size)] = np.array(draw.choice(wild)).astype(array.dtype)
        array = flat.reshape(array.shape)
    elif how == 6 and array.dtype.kind == "f":
        array = array * draw.choice([np.nan, np.inf, 1e300, 0.0, -1.0])
    elif how == 7 and array.ndim:
        array = array[::-1]
    elif how == 8:
        array = np.full_like(array, array.ravel()[0]) if array.size else array
    elif how == 9:
        raw = bytearray(data)
        raw[draw.randrange(len(raw))] = draw.randrange(256)
        return bytes(raw)
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def change_shape(data: bytes, draw: random.Random) -> bytes:
    """Make an array disagree with the others."""
    array = np.load(io.BytesIO(data))
    ways = [array[None], array[..., None], array.ravel()]
    for axis, size in enumerate(array.shape):
        some = [0] if size else []
        ways.extend(np.take(array, rows, axis) for rows in (range(size - 1), some, range(1, size)))
        ways.append(np.concatenate([array, array], axis))
    ways = [each for each in ways if each.shape != array.shape]
    out = io.BytesIO()
    np.save(out, draw.choice(ways) if ways else array)
    return out.getvalue()


def forge(members: dict[str, bytes], signed: bytes, draw: random.Random, *, shape: bool) -> bytes:
    """Return a model file with one to three changes, the old signature and a new checksum."""
    members = dict(members)
    arrays = [name for name in members if name.endswith(".npy")]
    if shape:
        # Which domains are sources is said nowhere else: fewer of them disagree with nothing.
        alone = re.findall(r'"source_ids_": {"array": (\d+)}', members["model.json"].decode())
        name = draw.choice([name for name in arrays if name[:-4] not in alone])
        members[name] = change_shape(members[name], draw)
    for _ in range(0 if shape else draw.choice([1, 1, 1, 2, 3])):
        if draw.random() < 0.6:
            content = json.loads(members["model.json"])
            change_json(content, draw)
            members["model.json"] = json.dumps(content).encode()
        else:
            name = draw.choice(arrays)
            try:
                members[name] = change_array(members[name], draw)
            except Exception:  # changed before, and no array any more
                members[name] = members[name][: draw.randrange(len(members[name]))]
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        archive.comment = signed + b"0" * 64
    whole = data.getvalue()[:-64]
    return whole + hashlib.sha256(whole).hexdigest().encode()


def predict(model: Any, samples: dict[str, Any]) -> Any:
    """Return what a model says of the samples, as many of their columns as it takes."""
    if hasattr(model, "answers"):
        frame = pandas.DataFrame({name: samples[name] for name in samples["names"].tolist()})
        found = model.answers(frame)
        list(model.drift(frame))
        return [found[ship].label.tolist() for ship in ("adapted", "plain")]
    X, ids = samples["X"], samples["ids"]
    X = X[:, np.arange(width(model, X.shape[1])) % X.shape[1]]
    act = model.predict if hasattr(model, "predict") else model.transform
    takes = "sample_domain" in signature(act).parameters
    # One number for each sample is a prediction of one, and of a row of one.
    return np.ravel(act(X, sample_domain=ids) if takes else act(X)).tolist()


def width(model: Any, default: int) -> int:
    """Return how many columns a model takes: those of its first step that does anything."""
    steps = [step for _, step in getattr(model, "steps", [("", model)])]
    first = next((step for step in steps if step not in (None, "passthrough")), None)
    return int(getattr(first, "n_features_in_", default))


def is_fitted(model: Any) -> bool:
    """Tell whether an estimator, or any step of a pipeline, has learnt something."""
    steps = [step for _, step in getattr(model, "steps", [("", model)])]
    return any(name.endswith("_") for step in steps for name in getattr(step, "__dict__", ()))


def forbid(event: str, args: Any) -> None:
    """End the process if a forged model runs a program, writes a file or leaves the machine."""
    bad = event in ("os.system", "subprocess.Popen", "os.exec", "os.fork", "socket.connect")
    writes = event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+")
    if bad or (writes and str(args[0]) != str(FORGED)):
        sys.stderr.write(f"forbidden: {event} {args}\n")
        os._exit(99)


FORGED = Path()


def run(name: str, content: bytes, key: bytes, samples: dict[str, Any], before: Any) -> str:
    """Say what comes of one forged file; ``before`` is what it must predict, where it is known."""
    FORGED.write_bytes(content)
    assert load(key) is None, f"{name} is taken for signed"
    model = load()
    if model is None:
        return "refused"
    if width(model, 0) > WIDEST:
        return "asks for more"
    try:
        after = predict(model, samples)
    except NotFittedError:
        # The estimators that a model was made from are in its file, as they were before the fit.
        assert not is_fitted(model), f"{name} holds what is not fitted"
        return "not fitted"
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        reason = f"{type(error).__name__}, {' '.join(str(error).split())[:200]}"
        return f"error: {name}, {reason}, {Path(where.filename).name}:{where.lineno}"
    assert before is None or after == before, f"{name} predicts otherwise"
    return "predicts"


def load(key: bytes | None = None) -> Any:
    """Return the forged model, or None where it is refused in one line."""
    try:
        return load_model(FORGED, key=key)
    except ModelFileError as error:
        said = str(error)
    assert "\n" not in said, "more than one line"
    return None


def main(folder: Path, seed: int, cases: int) -> None:
    global FORGED
    FORGED = folder / f"forged-{seed}"
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    key = (folder / "key").read_bytes()
    samples = dict(np.load(folder / "samples.npz", allow_pickle=False))
    models = {}
    for path in sorted(folder.glob("*.skatter")):
        with zipfile.ZipFile(path) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
            signed = archive.comment[:64]
        models[path.name] = members, signed, predict(load_model(path, key=key), samples)
    resource.setrlimit(resource.RLIMIT_AS, (memory() + BYTES, -1))
    sys.addaudithook(forbid)
    outcomes: Counter[str] = Counter()
    for case in range(cases):
        draw = random.Random(f"{seed} {case}")
        name = draw.choice(sorted(models))
        members, signed, before = models[name]
        shape = case % 2 == 0
        content = forge(members, signed, draw, shape=shape)
        faulthandler.dump_traceback_later(HANG, exit=True)
        start = time.process_time()
        try:
            outcome = run(name, content, key, samples, before if shape else None)
            assert time.process_time() - start < SECONDS, f"{name} took too long"
        except AssertionError as error:
            raise SystemExit(f"seed {seed}, case {case}: {error}") from error
        outcomes[f"{outcome}, case {case}" if outcome.startswith("error") else outcome] += 1
    faulthandler.cancel_dump_traceback_later()
    print(json.dumps(outcomes))


def memory() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


if __name__ == "__main__":
    faulthandler.enable()
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
