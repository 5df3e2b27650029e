"""The store: what is there is whole, whatever happens to those who write."""

from __future__ import annotations

import errno
import hashlib
import json
import lzma
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from skatter_bench import store as module
from skatter_bench.store import PackedStore, Store, StoreError, open_store, pack

KEY = hashlib.sha256(b"one").hexdigest()
OTHER = hashlib.sha256(b"two").hexdigest()


def record(score: int = 1, **changes) -> dict:
    plain = {"cell": {"seed": 0}, "status": "done", "scores": [{"setting": {}, "correct": score}]}
    return {**plain, "error": None, "seconds": 0.5, **changes}


def path_of(store: Store, key: str = KEY) -> Path:
    return store.folder / "cells" / key[:2] / f"{key}.json"


def leftovers(store: Store) -> list[str]:
    return [path.name for path in store.folder.rglob("*") if path.suffix in (".part", ".lock")]


def start(code: str, *args: object) -> subprocess.Popen:
    imports = "import sys, os, time, json; from pathlib import Path; import test_store as ours\n"
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path]),
    }
    command = [sys.executable, "-c", imports + code, *map(str, args)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(tmp_path / "store")


# --- records --------------------------------------------------------------------------------------


def test_record_comes_back_as_it_was_put_with_its_key(store):
    text = 'quote " newline \n umlaut ü lone surrogate \udc80'
    kept = record(error={"type": "E", "message": text}, status="failed")
    store.put(KEY, kept)
    assert Store(store.folder).get(KEY) == {"key": KEY, **kept}
    assert KEY in store
    assert OTHER not in store
    assert store.get(OTHER) is None


def test_record_is_one_json_file_below_the_first_two_digits(store):
    store.put(KEY, record())
    assert json.loads(path_of(store).read_text())["scores"] == [{"setting": {}, "correct": 1}]
    assert [path for path in store.folder.rglob("*") if path.is_file()] == [path_of(store)]


def test_last_record_of_a_key_counts_and_iteration_is_in_the_order_of_keys(store):
    keys = sorted(hashlib.sha256(bytes([n])).hexdigest() for n in range(20))
    for number, key in reversed(list(enumerate(keys))):
        store.put(key, record(-1))
        store.put(key, record(number))
    assert [each["key"] for each in store] == keys
    assert [each["scores"][0]["correct"] for each in store] == list(range(20))


def test_nothing_is_made_before_the_first_write(store):
    assert list(store) == []
    assert store.get(KEY) is None
    assert not store.folder.exists()


@pytest.mark.parametrize("key", ["", "../../x", KEY[:-1], KEY.upper(), KEY + "\n"], ids=repr)
def test_key_that_is_none_is_refused(store, key):
    for call in (store.get, store.claim, lambda key: store.put(key, record())):
        with pytest.raises(ValueError, match="key must be 64 hexadecimal digits"):
            call(key)


@pytest.mark.parametrize(
    "bad",
    [{}, {"status": "done"}, record(status="new"), record(status="failed"), record(scores=None)],
    ids=["empty", "bare", "status", "no-error", "no-scores"],
)
def test_what_is_no_record_is_refused_and_leaves_the_old_one(store, bad):
    store.put(KEY, record(5))
    with pytest.raises(ValueError, match="record must have"):
        store.put(KEY, bad)
    assert store.get(KEY)["scores"] == [{"setting": {}, "correct": 5}]


def test_number_that_json_does_not_know_is_refused(store):
    with pytest.raises(ValueError, match="JSON"):
        store.put(KEY, record(scores=[{"setting": {}, "x": float("nan")}]))
    assert not store.folder.exists()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b'{"key": "',
        b"\xff\xfe\x00",
        b"[]",
        json.dumps({"key": OTHER, **record()}).encode(),
        json.dumps({"key": KEY, **record(status="half")}).encode(),
    ],
    ids=["empty", "cut", "binary", "list", "another-key", "status"],
)
def test_damaged_record_counts_as_missing_and_the_warning_names_the_file(store, content):
    store.put(KEY, record())
    store.put(OTHER, record())
    path_of(store).write_bytes(content)
    with pytest.warns(UserWarning, match=f"{KEY}.json does not hold the record of its cell"):
        assert store.get(KEY) is None
    with pytest.warns(UserWarning, match="counts as missing"):
        assert [each["key"] for each in store] == [OTHER]
    store.put(KEY, record(2))
    assert store.get(KEY)["scores"] == [{"setting": {}, "correct": 2}]


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace('"correct": 1', '"correct": 7'),
        lambda text: text.replace('"sha256"', '"sha255"'),
        lambda text: text.replace('"correct": 1', '"correct": "\\u001b[2J"'),
    ],
    ids=["digit", "checksum", "text"],
)
def test_a_record_that_was_changed_counts_as_missing(store, change):
    store.put(KEY, record(1))
    path = path_of(store)
    changed = change(path.read_text())
    assert changed != path.read_text()
    path.write_text(changed)
    with pytest.warns(UserWarning, match="counts as missing"):
        assert store.get(KEY) is None


DEEP: list = []
for _ in range(900):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    "forged",
    [
        {"scores": [{"setting": {}, "correct": 1, "total": 0}]},
        {"scores": [{"setting": {}, "correct": 10**400, "total": 1}]},
        {"scores": [{"setting": {}, "correct": True, "total": 1}]},
        {"scores": [{"setting": {"k": [1]}, "correct": 1, "total": 1}]},
        {"scores": [{"setting": {"k": {}}, "correct": 1, "total": 1}]},
        {"seconds": float("inf")},
        {"cpu_seconds": "long"},
        {"peak_bytes": [1]},
        {"versions": {"numpy": 2}},
        {"warnings": "one"},
        {"machine": None},
        {"cell": DEEP},
    ],
    ids=lambda forged: str(forged)[:60],
)
def test_a_forged_record_with_a_right_checksum_counts_as_missing(store, forged):
    store.put(KEY, record())
    content = {**json.loads(path_of(store).read_text()), **forged}
    del content["sha256"]
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    content["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    path_of(store).write_text(json.dumps(content))
    with pytest.warns(UserWarning, match="counts as missing"):
        assert store.get(KEY) is None


def test_a_record_without_end_counts_as_missing_and_a_pipe_is_not_waited_for(store):
    store.put(KEY, record())
    path_of(store).write_text("[" * 100_000)
    with pytest.warns(UserWarning, match="counts as missing"):
        assert store.get(KEY) is None
    path_of(store).unlink()
    os.mkfifo(path_of(store))
    with pytest.raises(StoreError, match="no regular file"):
        store.get(KEY)


def test_a_packed_store_unpacks_to_no_more_than_a_store_holds(tmp_path):
    path = tmp_path / "packed.xz"
    path.write_bytes(lzma.compress(bytes(1 << 28), preset=1))
    assert path.stat().st_size < 1 << 20
    with pytest.raises(StoreError, match="unpacks to more than"):
        PackedStore(path)


# --- folders that cannot be written ---------------------------------------------------------------


def test_file_in_the_place_of_the_folder_is_named(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StoreError, match="file exists and is not a folder; choose another path"):
        Store(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"


def test_folder_that_cannot_be_made_is_an_error_that_names_it(tmp_path):
    (tmp_path / "file").write_text("mine")
    for call in (
        Store.prepare,
        lambda store: store.claim(KEY),
        lambda store: store.put(KEY, record()),
    ):
        with pytest.raises(StoreError, match=r"cannot write .*below"):
            call(Store(tmp_path / "file" / "below"))


@contextmanager
def as_somebody() -> Iterator[None]:
    """Give up the powers of root, to whom no folder is closed."""
    user = os.geteuid()
    os.seteuid(65534 if user == 0 else user)
    try:
        yield
    finally:
        os.seteuid(user)


def test_folder_without_permission_is_an_error_that_names_it(tmp_path):
    tmp_path.chmod(0o000)
    with as_somebody():
        store = Store(tmp_path / "store")
        with pytest.raises(StoreError, match=f"cannot write to the folder {store.folder}: Perm"):
            store.prepare()
        with pytest.raises(StoreError, match=rf"cannot read .*{KEY}.json: Permission denied"):
            store.get(KEY)
    tmp_path.chmod(0o755)
    assert list(tmp_path.iterdir()) == []


def test_preparing_leaves_no_file(store):
    store.prepare()
    store.prepare()
    assert [path for path in store.folder.rglob("*") if path.is_file()] == []


# --- full disks -----------------------------------------------------------------------------------


def fill_up(folder: str) -> None:
    """Put a record that is longer than a file may be in this process."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
    store = Store(folder)
    store.put(OTHER, record(7))
    for key in (KEY, OTHER):
        with pytest.raises(StoreError, match=rf"cannot write .*{key}.json: File too large"):
            store.put(key, record(scores=[{"setting": {"x": "long" * 2000}}]))


def test_file_that_cannot_be_written_to_its_end_leaves_the_store_as_it_was(store):
    child = start("ours.fill_up(sys.argv[1])", store.folder)
    assert child.wait() == 0
    assert [each["key"] for each in store] == [OTHER]
    assert store.get(OTHER)["scores"] == [{"setting": {}, "correct": 7}]
    assert leftovers(store) == []


@pytest.mark.parametrize("name", ["fsync", "replace"])
def test_full_disk_leaves_the_store_as_it_was_and_says_what_to_do(store, monkeypatch, name):
    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    store.put(KEY, record(7))
    with monkeypatch.context() as patch:
        patch.setattr(module.os, name, full)
        with pytest.raises(StoreError, match=r"No space left on device\. Make room on the disk"):
            store.put(KEY, record(8))
    assert store.get(KEY)["scores"] == [{"setting": {}, "correct": 7}]
    assert leftovers(store) == []
    store.put(KEY, record(9))
    assert store.get(KEY)["scores"] == [{"setting": {}, "correct": 9}]


# --- kills ----------------------------------------------------------------------------------------


def stop_while_writing(folder: str, step: str) -> None:
    """Put a record, and stop for ever in one step of it."""

    def stop(*args: object) -> None:
        print("here", flush=True)
        time.sleep(60)

    setattr(os, step, stop)
    Store(folder).put(KEY, record(8))


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_process_that_is_killed_while_it_writes_leaves_the_old_record_and_no_lock(store, step):
    store.put(KEY, record(7))
    child = start("ours.stop_while_writing(*sys.argv[1:])", store.folder, step)
    assert child.stdout.readline() == "here\n"
    assert store.get(KEY)["scores"] == [{"setting": {}, "correct": 7}]
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert store.get(KEY)["scores"] == [{"setting": {}, "correct": 7}]
    assert len(list(store)) == 1
    store.put(KEY, record(9))
    assert store.get(KEY)["scores"] == [{"setting": {}, "correct": 9}]
    assert leftovers(store) == []


def leave_behind(folder: str, key: str) -> None:
    """Make what a process leaves that is killed while it writes."""
    store = Store(folder)
    store.claim(key)
    path_of(store, key).with_name(".skatter-0123.part").write_text('{"key": "half')


def test_what_a_killed_process_left_is_no_record_and_is_cleaned_up(store):
    leave_behind(store.folder, KEY)
    child = start("ours.leave_behind(sys.argv[1], ours.OTHER)", store.folder)
    assert child.wait() == 0
    assert list(store) == []
    assert len(leftovers(store)) == 4
    store.prepare()  # this process holds its lock, the other one is gone
    assert sorted(leftovers(store)) == [f"{KEY}.lock"]


# --- claims ---------------------------------------------------------------------------------------


def test_cell_is_claimed_once_until_it_is_released(store):
    other = Store(store.folder)
    claim = store.claim(KEY)
    assert other.claim(KEY) is None
    assert store.claim(KEY) is None
    assert other.claim(OTHER) is not None
    claim.close()
    claim.close()
    with other.claim(KEY) as again:
        assert again is not None
        assert store.claim(KEY) is None
    assert store.claim(KEY) is not None


def test_holder_of_a_claim_writes_and_the_lock_file_goes_with_the_claim(store):
    with store.claim(KEY):
        store.put(KEY, record())
        assert leftovers(store) == [f"{KEY}.lock"]
    assert leftovers(store) == []
    assert KEY in store


def claim_and_wait(folder: str) -> None:
    claim = Store(folder).claim(KEY)
    print(claim is not None, flush=True)
    time.sleep(60)


def test_claim_dies_with_its_process(store):
    child = start("ours.claim_and_wait(sys.argv[1])", store.folder)
    assert child.stdout.readline() == "True\n"
    assert store.claim(KEY) is None
    child.send_signal(signal.SIGKILL)
    child.wait()
    with store.claim(KEY) as claim:
        assert claim is not None
    assert leftovers(store) == []


def test_lock_on_a_file_that_its_holder_removed_in_that_moment_is_no_claim(store, monkeypatch):
    """One opens the file, the holder removes it, a third makes a new one; then the first locks."""
    lock, holder, late, third = module.fcntl.flock, store.claim(KEY), Store(store.folder), []

    def lock_late(descriptor, operation):
        monkeypatch.undo()
        holder.close()
        third.append(Store(store.folder).claim(KEY))
        lock(descriptor, operation)

    monkeypatch.setattr(module.fcntl, "flock", lock_late)
    assert late.claim(KEY) is None
    third[0].close()
    assert late.claim(KEY) is not None


def test_file_system_without_locks_grants_every_claim_with_a_warning(store, monkeypatch):
    def unknown(*args):
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(module.fcntl, "flock", unknown)
    for each in (store, Store(store.folder)):
        with pytest.warns(UserWarning, match=f"file system of {store.folder} knows no locks"):
            assert each.claim(KEY) is not None
    store.put(KEY, record())
    assert KEY in store


def test_system_without_locks_grants_every_claim(store, monkeypatch):
    monkeypatch.setattr(module, "fcntl", None)
    with store.claim(KEY) as first, Store(store.folder).claim(KEY) as second:
        assert first is not None
        assert second is not None
        store.put(KEY, record())
    assert KEY in store
    assert leftovers(store) == []


# --- in one file ----------------------------------------------------------------------------------


def test_a_packed_store_has_the_records_of_all_stores_and_the_later_one_counts(store, tmp_path):
    store.put(KEY, record(1, host="here"))
    other = Store(tmp_path / "other")
    other.put(KEY, record(2))
    other.put(OTHER, record(3))
    assert pack([store, other], tmp_path / "packed.xz") == 2
    packed = PackedStore(tmp_path / "packed.xz")
    assert list(packed) == list(other)
    assert packed.get(KEY) == other.get(KEY)
    assert packed.get("0" * 64) is None


def test_packing_leaves_out_the_host_and_gives_the_same_bytes_again(store, tmp_path):
    store.put(KEY, record(host="a name that is nobody's business"))
    pack([store], tmp_path / "one.xz")
    pack([PackedStore(tmp_path / "one.xz")], tmp_path / "two.xz")
    assert (tmp_path / "one.xz").read_bytes() == (tmp_path / "two.xz").read_bytes()
    assert "host" not in PackedStore(tmp_path / "one.xz").get(KEY)


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace('"correct":1', '"correct":2'),
        lambda text: text[:-10],
        lambda text: "[]\n",
    ],
    ids=["changed", "cut", "other"],
)
def test_a_packed_store_that_was_changed_is_refused(store, tmp_path, damage):
    path = tmp_path / "packed.xz"
    store.put(KEY, record())
    pack([store], path)
    text = lzma.decompress(path.read_bytes()).decode()
    path.write_bytes(lzma.compress(damage(text).encode()))
    with pytest.raises(StoreError, match=r"packed\.xz is"):
        PackedStore(path)


def test_a_file_that_is_no_packed_store_is_named(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text("mine")
    with pytest.raises(StoreError, match=r"mine\.txt is not a packed store"):
        open_store(path)
