"""Files are written whole or not at all, by many at once, and no planted link is followed."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from skatter import _files as files
from skatter._files import open_archive, read_regular, write_atomically

WRITER = """
import os, sys, time
from pathlib import Path
from skatter._files import write_atomically

def write(part):
    part.write_text("half")
    print("here", flush=True)
    {}

write_atomically(Path(sys.argv[1]), write)
"""


def start(path: Path, then: str) -> subprocess.Popen[str]:
    """Start a process that stops in the middle of writing."""
    command = [sys.executable, "-c", WRITER.format(then), str(path)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "here\n"
    return child


def write_text(path: Path, text: str) -> None:
    write_atomically(path, lambda part: part.write_text(text))


def test_threads_never_mix_their_halves(tmp_path):
    path = tmp_path / "out.txt"
    texts = [letter * 50_000 for letter in "abcdefgh"]
    write_text(path, texts[0])
    stop = threading.Event()

    def look() -> int:
        seen = 0
        while not stop.is_set():
            assert path.read_text() in texts
            seen += 1
        return seen

    with ThreadPoolExecutor() as pool:
        reader = pool.submit(look)
        list(pool.map(lambda text: [write_text(path, text) for _ in range(10)], texts))
        stop.set()
        assert reader.result() > 0
    assert os.listdir(tmp_path) == ["out.txt"]


def test_processes_with_one_id_never_mix_their_halves(tmp_path, monkeypatch):
    """As in containers, where all of them are process 1."""
    monkeypatch.setattr(os, "getpid", lambda: 1)
    names = set()

    def note(part: Path) -> None:
        names.add(part.name)
        part.write_text("x")

    for _ in range(20):
        write_atomically(tmp_path / "out.txt", note)
    assert len(names) == 20


def test_no_link_that_lies_in_the_way_is_followed(tmp_path, monkeypatch):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    monkeypatch.setattr(files.secrets, "token_hex", lambda n: "0123")
    (tmp_path / ".skatter-0123.part").symlink_to(victim)
    with pytest.raises(OSError, match=r"out\.txt cannot be written: File exists"):
        write_text(tmp_path / "out.txt", "theirs")
    assert victim.read_text() == "mine"


def test_sigterm_in_the_middle_leaves_nothing(tmp_path):
    path = tmp_path / "out.txt"
    path.write_text("old")
    child = start(path, "time.sleep(60)")
    child.send_signal(signal.SIGTERM)
    assert child.wait(20) == 128 + signal.SIGTERM
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.txt"]


def test_what_a_killed_process_left_is_removed_and_what_a_living_one_writes_is_not(tmp_path):
    path = tmp_path / "out.txt"
    dead, alive = start(path, "time.sleep(60)"), start(path, "time.sleep(60)")
    dead.kill()
    dead.wait()
    assert len(list(tmp_path.glob(".skatter-*"))) == 2
    write_text(tmp_path / "other.txt", "whole")
    assert len(list(tmp_path.glob(".skatter-*"))) == 1
    alive.kill()
    alive.wait()
    write_text(tmp_path / "other.txt", "whole")
    assert os.listdir(tmp_path) == ["other.txt"]


def test_a_file_that_is_about_to_be_locked_is_left_alone(tmp_path):
    new, old = tmp_path / ".skatter-1.part", tmp_path / ".skatter-2.part"
    for path in (new, old):
        path.touch()
    os.utime(old, (time.time() - 100,) * 2)
    write_text(tmp_path / "out.txt", "whole")
    assert sorted(os.listdir(tmp_path)) == [".skatter-1.part", "out.txt"]


def test_a_new_file_has_the_rights_of_any_other(tmp_path):
    write_text(tmp_path / "ours", "x")
    (tmp_path / "theirs").write_text("x")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "theirs").stat().st_mode


def test_only_regular_files_of_a_bounded_size_are_read(tmp_path):
    (tmp_path / "some").write_bytes(b"12345")
    assert read_regular(tmp_path / "some", limit=5) == b"12345"
    with pytest.raises(ValueError, match="larger than 4 bytes"):
        read_regular(tmp_path / "some", limit=4)
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, "/dev/zero"):
        with pytest.raises(OSError, match=r"no regular file|directory"):
            read_regular(path, limit=5)


def zipped(content, packing):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", compression=packing) as archive:
        archive.writestr("member", content)
    return data.getvalue()


def test_an_archive_unpacks_into_no_more_than_it_may():
    text, zeros = os.urandom(3000).hex().encode(), bytes(10**5)
    packed = zipped(text, zipfile.ZIP_DEFLATED)
    with open_archive(packed, times=2) as archive:
        assert archive.read("member") == text
    with open_archive(zipped(zeros, zipfile.ZIP_STORED)) as archive:
        assert archive.read("member") == zeros
    for data, times, words in (
        (packed, 1, "not known"),
        (zipped(zeros, zipfile.ZIP_DEFLATED), 16, "too far"),
        (zipped(text, zipfile.ZIP_LZMA), 16, "not known"),
        (b"PK nothing", 16, "zip"),
    ):
        with pytest.raises(ValueError, match=words):
            open_archive(data, times=times)


def test_a_member_that_says_less_than_it_holds_is_not_unpacked_further():
    data = zipped(bytes(10**6), zipfile.ZIP_DEFLATED)
    small = data.replace((10**6).to_bytes(4, "little"), (10).to_bytes(4, "little"))
    assert small != data
    with open_archive(small, times=16) as archive, pytest.raises(zipfile.BadZipFile):
        archive.read("member")
