"""Nothing that a file holds may end in more than one line: no traceback, no hang, no flood."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest
from bad_files import BAD_FILES

from skatter.tables import (
    TableError,
    align_columns,
    describe_columns,
    make_preprocessor,
    read_columns,
    read_table,
)

SECONDS = 20
"""Of the processor's time, which does not grow on a busy machine: more than any file takes."""

SMALL = [bad for bad in BAD_FILES if not bad.bomb]
BOMBS = [bad for bad in BAD_FILES if bad.bomb]

READ_WITHIN = """
import resource, sys, time
import numpy, pandas, pyarrow.parquet, scipy.io
from skatter.tables import TableError, read_table
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
limit = used + (280 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
for path in sys.argv[1:]:
    start = time.process_time()
    try:
        read_table(path)
        said = "read"
    except TableError as error:
        said = str(error)
    print(f"{time.process_time() - start:.1f}", said, sep="\\t")
"""


def ids(files):
    return [f"{bad.suffix[1:]}-{bad.name}" for bad in files]


def read(path):
    """Return the table, or the error."""
    try:
        return read_table(path), None
    except TableError as error:
        return None, error


def use(frame):
    """Walk through the whole room with every column as feature, then with the usual ones."""
    roles = [{"label": None, "domain": None}]
    if {"site", "ill"} <= set(frame.columns):
        roles.append({"label": "ill", "domain": "site"})
    for role in roles:
        try:
            samples = read_columns(frame, **role)
            plans = describe_columns(samples.X)
            assert [plan.name for plan in plans] == list(samples.X)
            step = make_preprocessor(samples.X)
            Z = step.fit_transform(align_columns(samples.X, step))
        except TableError as error:
            assert_one_line(error)
            continue
        assert Z.shape[0] == len(frame)
        assert (abs(Z) < 1e6).all()
        assert len(set(step.get_feature_names_out())) == Z.shape[1]


def assert_one_line(error):
    assert str(error).isprintable()
    assert 10 < len(str(error)) < 700


def test_there_are_two_hundred_bad_files_of_different_names():
    assert len(SMALL) >= 200
    assert len(set(ids(BAD_FILES))) == len(BAD_FILES)


@pytest.mark.parametrize("bad", SMALL, ids=ids(SMALL))
def test_a_bad_file_ends_in_a_table_or_in_one_line_that_names_it(bad, tmp_path, require):
    require("pandas", "table")
    if bad.suffix == ".parquet":
        require("pyarrow", "table")
    path = bad.write(tmp_path)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frame, error = read(path)
        if frame is not None:
            assert list(frame.index) == list(range(len(frame)))
            assert all(isinstance(name, str) and name.strip() for name in frame)
            assert frame.columns.is_unique
            use(frame)
    assert bad.ends in ("either", "error" if frame is None else "table"), error
    if frame is None:
        assert_one_line(error)
        assert str(error).startswith(str(path))
    assert time.process_time() - start < SECONDS
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="limits of memory need Linux")
def test_a_bomb_is_refused_within_seconds_and_little_memory(tmp_path, require):
    require("pyarrow", "table")
    paths = [bad.write(tmp_path) for bad in BOMBS]
    assert all(path.stat().st_size < 20 << 20 for path in paths)
    done = subprocess.run(
        [sys.executable, "-c", READ_WITHIN, *map(str, paths)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stderr == ""
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    assert len(lines) == len(paths)
    for path, (seconds, said) in zip(paths, lines, strict=True):
        assert said.startswith(str(path))
        assert "unpack" in said or "more than" in said or "damaged" in said
        assert "memory" not in said
        assert float(seconds) < SECONDS


@pytest.mark.parametrize("name", ["no\0name", "x" * 5000, "", "no-such.csv", "."])
def test_what_is_no_file_is_refused_in_one_line(name, tmp_path, monkeypatch, require):
    require("pandas", "table")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TableError) as caught:
        read_table(name)
    assert str(caught.value).isprintable()
