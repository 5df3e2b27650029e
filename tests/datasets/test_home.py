"""Data files are looked for where the user says, and checked byte by byte."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from skatter.datasets._home import KnownFile, Source, data_home

BYTES = b"ten bytes!"
FILE = KnownFile("part.mat", 10, hashlib.sha256(BYTES).hexdigest())
ORIGIN = "example.org/data"


def find(home, file=FILE):
    return Source("set", {"part": file}, ORIGIN).find("part", home)


@pytest.fixture
def home(tmp_path):
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "part.mat").write_bytes(BYTES)
    return tmp_path


# --- where ----------------------------------------------------------------------------------------


def test_the_argument_wins_over_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("SKATTER_DATA", "elsewhere")
    assert data_home(tmp_path) == tmp_path
    assert data_home(str(tmp_path)) == tmp_path


def test_the_environment_wins_over_the_default(monkeypatch, tmp_path):
    monkeypatch.setenv("SKATTER_DATA", str(tmp_path))
    assert data_home() == tmp_path


@pytest.mark.parametrize("value", [None, ""])
def test_the_default_is_a_folder_in_the_users_own(monkeypatch, value):
    monkeypatch.delenv("SKATTER_DATA", raising=False)
    if value is not None:
        monkeypatch.setenv("SKATTER_DATA", value)
    assert data_home() == Path.home() / "skatter_data"


def test_a_tilde_is_the_users_folder_wherever_it_is_given(monkeypatch):
    monkeypatch.setenv("SKATTER_DATA", "~/environment")
    assert data_home() == Path.home() / "environment"
    assert data_home("~/argument") == Path.home() / "argument"


def test_no_folder_is_made(tmp_path):
    missing = data_home(tmp_path / "new")
    with pytest.raises(FileNotFoundError):
        find(missing)
    assert list(tmp_path.iterdir()) == []


# --- the right bytes ------------------------------------------------------------------------------


def test_a_file_with_the_right_bytes_is_found(home):
    assert find(home) == home / "set" / "part.mat"


@pytest.mark.parametrize("name", ["other.mat", "folder"], ids=["missing", "a folder"])
def test_a_missing_file_says_what_to_put_where_and_where_it_comes_from(home, name):
    (home / "set" / "folder").mkdir()
    with pytest.raises(FileNotFoundError) as caught:
        find(home, replace(FILE, name=name))
    words, relative = str(caught.value), f"set/{name}"
    assert words.startswith(f"{relative} is not in {home}. Put it at {home / relative}, ")
    assert "data_home" in words
    assert "SKATTER_DATA" in words
    assert words.endswith("It comes from example.org/data.")


def test_another_size_is_refused_with_both_sizes(home):
    with pytest.raises(ValueError, match=r"size in bytes expected 11, found 10.*example\.org") as e:
        find(home, replace(FILE, size=11))
    assert str(home / "set" / "part.mat") in str(e.value)


def test_one_flipped_bit_is_refused_with_both_checksums(home):
    path = home / "set" / "part.mat"
    path.write_bytes(BYTES[:-1] + b" ")
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(ValueError, match=f"SHA-256 expected {FILE.sha256}, found {found}") as e:
        find(home)
    assert str(path) in str(e.value)


def test_a_file_that_nobody_has_seen_is_found_whatever_its_bytes(home):
    (home / "set" / "part.mat").write_bytes(b"anything")
    assert find(home, KnownFile("part.mat")).is_file()


# --- a source of files ----------------------------------------------------------------------------


def test_a_source_finds_its_files_by_their_keys(home):
    source = Source("set", {"a": FILE, "b": KnownFile("other.mat")}, ORIGIN)
    assert source.find("a", home) == home / "set" / "part.mat"
    with pytest.raises(FileNotFoundError, match=r"^set/other\.mat is not in"):
        source.find("b", home)


def test_a_source_says_what_else_can_be_done(tmp_path):
    source = Source("set", {"a": FILE}, ORIGIN, hint="Do without.")
    with pytest.raises(FileNotFoundError, match=r"SKATTER_DATA\. Do without\. It comes from"):
        source.find("a", tmp_path)


def test_only_a_file_with_an_address_is_offered_for_download(tmp_path):
    address = replace(FILE, url="https://example.org/part.mat")
    source = Source("set", {"yes": address, "no": FILE}, ORIGIN)
    offer = "download_if_missing=True downloads it from https://example.org/part.mat."
    with pytest.raises(FileNotFoundError) as caught:
        source.find("yes", tmp_path)
    assert offer in str(caught.value)
    with pytest.raises(FileNotFoundError) as caught:
        source.find("no", tmp_path, download_if_missing=True)
    assert "download" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []
