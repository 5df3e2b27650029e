"""Files are there whole or not at all, and never replaced unasked."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import pytest

from skatter._files import write_atomically
from skatter.tables import TableError, check_target, read_table, write_table


@pytest.fixture
def frame(require):
    return require("pandas", "table").DataFrame({"a": [1, 2], "b": ["x", "y"]})


def test_a_file_is_replaced_only_by_force(frame, tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("mine")
    with pytest.raises(TableError, match="is there already"):
        write_table(frame, path)
    assert path.read_text() == "mine"
    write_table(frame, path, force=True)
    assert path.read_text() == "a,b\n1,x\n2,y\n"


def test_whole_numbers_beside_gaps_are_written_as_they_were_read(tmp_path):
    text = "label,dose,large,empty\n1,0.5,1e+16,\n,1.0,,\n-3,,2e+16,\n"
    path = tmp_path / "in.csv"
    path.write_text(text)
    frame = read_table(path)
    write_table(frame, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == text
    assert frame["label"].dtype == float  # the table itself is left alone


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "out.txt"
    path.write_text("old")

    def fail(part):
        part.write_text("half")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_atomically(path, fail)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.txt"]


def test_a_process_that_is_killed_while_writing_leaves_the_old_file(tmp_path):
    path = tmp_path / "out.txt"
    path.write_text("old")
    code = (
        "import os, sys; from pathlib import Path; from skatter._files import write_atomically\n"
        "def write(part): part.write_text('half'); os.kill(os.getpid(), 9)\n"
        "write_atomically(Path(sys.argv[1]), write)"
    )
    assert subprocess.run([sys.executable, "-c", code, path], check=False).returncode == -9
    assert path.read_text() == "old"


def test_a_full_disk_is_one_line(tmp_path):
    def full(part):
        part.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match=r"out\.txt cannot be written: No space left on device\."):
        write_atomically(tmp_path / "out.txt", full)
    assert os.listdir(tmp_path) == []


def test_a_link_stays_a_link(frame, tmp_path):
    (tmp_path / "folder").mkdir()
    link, true = tmp_path / "link.csv", tmp_path / "folder" / "true.csv"
    true.write_text("old")
    link.symlink_to(true)
    write_table(frame, link, force=True)
    assert link.is_symlink()
    assert true.read_text() == "a,b\n1,x\n2,y\n"


def test_what_hinders_writing_is_said_before_work_starts(tmp_path):
    there = tmp_path / "there.csv"
    there.write_text("")
    os.mkfifo(tmp_path / "pipe.csv")
    hindrances = {
        tmp_path: "is a folder",
        tmp_path / "no" / "out.csv": "there is no folder",
        there / "out.csv": "there is no folder",
        there: "is there already",
        tmp_path / "pipe.csv": "is no regular file",
        tmp_path / ("x" * 300): "is no name of a file",
        "/dev/null": "is no regular file",
    }
    for path, said in hindrances.items():
        with pytest.raises(TableError, match=f"--out: .*{said}"):
            check_target(path, force=path != there, name="--out")
    assert check_target(there, force=True, name="--out") == there
    assert str(check_target("-", force=False, name="--out")) == "-"


def test_a_folder_that_is_not_writable_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write everywhere
    with pytest.raises(TableError, match="not writable"):
        check_target(tmp_path / "out.csv", force=False, name="--out")


def test_standard_output_gets_csv(frame, tmp_path):
    code = (
        "import pandas as pd; from skatter.tables import write_table\n"
        "write_table(pd.DataFrame({'a': [1, 2], 'b': ['x', 'y']}), '-')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout == b"a,b\n1,x\n2,y\n"
    assert done.stderr == b""


@pytest.mark.parametrize("cell", ["a\rb", "a\nb", 'a"b', "a,b", "\r\n", " a "])
def test_cells_with_line_ends_and_quotes_come_back(cell, require):
    pandas = require("pandas", "table")
    file = io.BytesIO()
    write_table(pandas.DataFrame({"a": [cell, "x"], "n": [1, 2]}), file)
    assert read_table(file)["a"].tolist() == [cell, "x"]


def test_an_ending_that_says_nothing_is_refused_before_writing(frame, tmp_path):
    with pytest.raises(TableError, match=r"\.parquet"):
        write_table(frame, tmp_path / "out.xlsx")
    assert os.listdir(tmp_path) == []
