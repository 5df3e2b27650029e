"""Data files are looked for where the user says, checked byte by byte, and never unpickled."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from scipy.io import savemat

from skatter.datasets.home import data_home, find_file, read_arrays

BYTES = b"ten bytes!"
RIGHT = {"size": 10, "sha256": hashlib.sha256(BYTES).hexdigest(), "origin": "example.org/data"}


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
        find_file(missing, "set/part.mat", **RIGHT)
    assert list(tmp_path.iterdir()) == []


# --- the right bytes ------------------------------------------------------------------------------


def test_a_file_with_the_right_bytes_is_found(home):
    assert find_file(home, "set/part.mat", **RIGHT) == home / "set" / "part.mat"


@pytest.mark.parametrize("relative", ["set/other.mat", "set"], ids=["missing", "a folder"])
def test_a_missing_file_says_what_to_put_where_and_where_it_comes_from(home, relative):
    with pytest.raises(FileNotFoundError) as caught:
        find_file(home, relative, **RIGHT)
    words = str(caught.value)
    assert words.startswith(f"{relative} is not in {home}. Put it at {home / relative}, ")
    assert "data_home" in words
    assert "SKATTER_DATA" in words
    assert words.endswith("It comes from example.org/data.")


def test_another_size_is_refused_with_both_sizes(home):
    with pytest.raises(ValueError, match=r"size in bytes expected 11, found 10.*example\.org") as e:
        find_file(home, "set/part.mat", **{**RIGHT, "size": 11})
    assert str(home / "set" / "part.mat") in str(e.value)


def test_one_flipped_bit_is_refused_with_both_checksums(home):
    path = home / "set" / "part.mat"
    path.write_bytes(BYTES[:-1] + b" ")
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(ValueError, match=f"SHA-256 expected {RIGHT['sha256']}, found {found}") as e:
        find_file(home, "set/part.mat", **RIGHT)
    assert str(path) in str(e.value)


# --- what is read ---------------------------------------------------------------------------------


def write(path, variables):
    (savemat if path.suffix == ".mat" else lambda path, found: np.savez(path, **found))(
        path, variables
    )
    return path


@pytest.fixture(params=["part.mat", "part.npz"])
def path(request, tmp_path):
    return tmp_path / request.param


def test_named_arrays_come_in_the_order_asked_for(path):
    X, y = np.arange(6.0).reshape(2, 3), np.array([[1, 2]], dtype=np.uint8)
    write(path, {"y": y, "other": np.ones((1, 1)), "X": X})
    found = read_arrays(path, ("X", "y"))
    np.testing.assert_array_equal(found[0], X)
    np.testing.assert_array_equal(found[1], y)
    assert found[1].dtype == np.uint8


def test_missing_variables_are_named(path):
    write(path, {"X": np.ones((2, 2))})
    with pytest.raises(ValueError, match=r"part\.\w+ holds no variable y, z\."):
        read_arrays(path, ("X", "y", "z"))


def test_text_is_no_array_of_numbers(path):
    write(path, {"X": np.array(["abc"])})
    with pytest.raises(ValueError, match=r"X in .* must be a dense array of real numbers"):
        read_arrays(path, ("X",))


def test_text_is_read_where_it_is_asked_for(path):
    names = np.array(["amazon", "dslr", "amazon"])
    write(path, {"X": np.ones((3, 2)), "domain": names})
    X, domain = read_arrays(path, ("X", "domain"), text=("domain",))
    assert X.tolist() == [[1, 1]] * 3
    assert [name.rstrip() for name in domain] == names.tolist()  # MATLAB pads with spaces
    assert domain.dtype.kind == "U"


@pytest.mark.parametrize("value", [np.ones(3), np.array([b"amazon"])], ids=["numbers", "bytes"])
def test_what_is_no_text_is_refused_where_text_is_asked_for(tmp_path, value):
    path = write(tmp_path / "part.npz", {"domain": value})
    with pytest.raises(ValueError, match=r"domain in .*part\.npz must be an array of text"):
        read_arrays(path, ("domain",), text=("domain",))


def test_complex_numbers_are_refused(path):
    write(path, {"X": np.array([[1j]])})
    with pytest.raises(ValueError, match="real numbers"):
        read_arrays(path, ("X",))


@pytest.mark.parametrize(
    "surprise",
    [
        {"field": np.ones(3)},
        np.array([np.ones(2), "cell"], dtype=object),
        sparse.csc_matrix(np.eye(3)),
    ],
    ids=["struct", "cell", "sparse"],
)
def test_surprises_in_a_matlab_file_are_refused(tmp_path, surprise):
    path = write(tmp_path / "part.mat", {"X": surprise})
    with pytest.raises(ValueError, match=r"X in .*part\.mat must be a dense array.*structs"):
        read_arrays(path, ("X",))


class Trap:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


@pytest.mark.parametrize("text", [(), ("X",)], ids=["for numbers", "for text"])
def test_a_pickle_in_an_archive_is_refused_and_never_runs(tmp_path, text):
    sprung = tmp_path / "sprung"
    path = write(tmp_path / "part.npz", {"X": np.array([Trap(sprung)], dtype=object)})
    with pytest.raises(ValueError, match=r"X in .*part\.npz must be .*objects"):
        read_arrays(path, ("X",), text=text)
    assert not sprung.exists()
    np.load(path, allow_pickle=True)["X"]
    assert sprung.exists()  # the trap does work
