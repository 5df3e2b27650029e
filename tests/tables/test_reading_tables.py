"""What is read is what was written: values, types, order and names, whatever the file format."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import os
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.io import loadmat, savemat

from skatter.tables import TableError, read_table, write_table

WORDS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=8
).filter(str.strip)


@pytest.fixture(scope="module", autouse=True)
def pandas(require):
    return require("pandas", "table")


def read(content, **options):
    return read_table(
        io.BytesIO(content.encode() if isinstance(content, str) else content), **options
    )


@pytest.fixture
def frame(pandas):
    rng = np.random.default_rng(0)
    return pandas.DataFrame(
        {
            "site": ["basel", "cairo", "a,b", 'say "hi"', "two\nlines", "é"],
            "x": rng.normal(size=6),
            "n": np.arange(6) - 2,
            "hole": [1.5, None, 2.5, None, None, 0.1 + 0.2],
            "ill": [True, False, True, True, False, False],
        }
    )


@pytest.mark.parametrize(
    "ending", [".csv", ".tsv", ".csv.gz", ".csv.bz2", ".tsv.xz", ".parquet", ".pq"]
)
def test_a_table_that_is_written_is_read_again(ending, frame, tmp_path, require, pandas):
    if ending in (".parquet", ".pq"):
        require("pyarrow", "table")
    path = tmp_path / f"table{ending}"
    write_table(frame, path)
    pandas.testing.assert_frame_equal(read_table(path), frame, rtol=1e-15, atol=0)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(WORDS, min_size=3, max_size=3), min_size=1, max_size=6),
    st.sampled_from(",;\t|"),
)
def test_text_comes_back_as_the_csv_module_wrote_it(rows, delimiter):
    names = ["first name", "second", "third"]
    file = io.StringIO()
    # A letter in each cell: no cell is a number or a mark of a missing value.
    cells = [[f"z{cell}" for cell in row] for row in rows]
    csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows([names, *cells])
    frame = read(file.getvalue())
    assert list(frame) == names
    assert frame.to_numpy().tolist() == cells


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(delimiter):
    text = "site,dose,note\nbasel,1.5,x y\ncairo,2,z\n".replace(",", delimiter)
    assert read(text).to_dict("list") == {
        "site": ["basel", "cairo"],
        "dose": [1.5, 2.0],
        "note": ["x y", "z"],
    }


def test_decimal_commas_are_numbers_where_commas_divide_no_cells():
    assert read("a;b\n1,5;2\n-0,25;3\n").to_numpy().tolist() == [[1.5, 2], [-0.25, 3]]
    mixed = read("a;b\n1,5;2.5\n2,5;3.5\n")
    assert mixed["a"].tolist() == ["1,5", "2,5"]
    assert mixed["b"].tolist() == [2.5, 3.5]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a,b\n1,2\nx,\xe9\n", "byte 0xe9 at position 10 (line 3) is not UTF-8"),
        (b"a,b\n1,2\n\n3,\0\n", "NUL byte at position 11 (line 4)"),
        ("a,b\n1,2\n\n1,2,3\n", "line 4 has 3 cells and the header 2"),
        ('a,b\n"1\n1",2\n1\n', "line 4 has 1 cells and the header 2"),
        ('a,b\n1,2\n3,"4\n', "the row at line 3 cannot be divided"),
        ("a,b,a,b,c\n1,2,3,4,5\n", "column names come twice: 'a', 'b';"),
        (",b\n1,2\n", "column 1 has no name"),
        ("1.5,2\n3,4\n", "line 1 holds numbers ('1.5,2')"),
        (b"\xff\xfea\0", "is UTF-16"),
        (b"", "is empty"),
    ],
)
def test_an_error_says_where(content, said):
    with pytest.raises(TableError) as caught:
        read(content)
    assert said in str(caught.value)


@pytest.mark.parametrize("position", [0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3_000_000])
def test_the_position_of_a_bad_byte_is_right_wherever_blocks_end(position):
    content = bytearray(("é" * 10 + "\n").encode() * 170_000)
    content[position] = 0xFF
    expected = bytes(content).index(b"\xff")
    line = content.count(b"\n", 0, expected) + 1
    with pytest.raises(TableError, match=rf"line {line:,}\) is not UTF-8") as caught:
        read(bytes(content))
    # In the middle of a character, its first byte is the one that does not fit.
    assert any(f"position {expected - back:,} " in str(caught.value) for back in (0, 1))


def test_arrays_of_npz_and_mat_are_columns_side_by_side(tmp_path):
    X, y, site = np.arange(6.0).reshape(3, 2), np.array([1, 0, 1]), np.array(["a", "b", "c"])
    np.savez(tmp_path / "table.npz", X=X, y=y, site=site, one=X[:, :1])
    savemat(tmp_path / "table.mat", {"X": X, "y": y, "site": site, "one": X[:, :1]})
    for name in ("table.npz", "table.mat"):
        frame = read_table(tmp_path / name)
        assert list(frame) == ["X0", "X1", "y", "site", "one"]
        assert (frame[["X0", "X1"]].to_numpy() == X).all()
        assert frame["y"].tolist() == [1, 0, 1]
        assert frame["site"].tolist() == ["a", "b", "c"]
        assert frame["one"].tolist() == [0, 2, 4]


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["f4", "f8", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]),
    st.integers(2, 6),
    st.integers(2, 5),
    st.lists(st.text("abé 中", max_size=4), min_size=2, max_size=6),
    st.booleans(),
)
def test_matlab_files_are_read_as_scipy_reads_them(dtype, n_rows, n_columns, words, packed):
    numbers = np.random.default_rng(n_rows).integers(0, 100, (n_rows, n_columns)).astype(dtype)
    words = (words * n_rows)[:n_rows]
    column = np.empty((n_rows, 1), dtype=object)
    column[:, 0] = words
    file = io.BytesIO()
    savemat(file, {"X": numbers, "word": column}, do_compression=packed)
    frame = read_table(file, kind="mat")
    theirs = loadmat(file)
    assert (frame.drop(columns="word").to_numpy() == theirs["X"]).all()
    said = [cell.item() if cell.size else "" for cell in theirs["word"][:, 0]]
    assert frame["word"].tolist() == [text.rstrip() for text in said]


def test_an_evil_pickle_in_an_npz_file_is_not_run(tmp_path, monkeypatch):
    from bad_npz import evil_array

    monkeypatch.chdir(tmp_path)
    (tmp_path / "evil.npz").write_bytes(evil_array())
    with pytest.raises(TableError, match="may run code"):
        read_table("evil.npz")
    assert os.listdir(tmp_path) == ["evil.npz"]


def test_dictionary_columns_of_parquet_are_categories(require):
    require("pyarrow", "table")
    from bad_parquet import typed

    column = read(typed("dictionary", ["a", "b", None]), kind="parquet")["x"]
    assert column.dtype == "category"
    assert column.tolist()[:2] == ["a", "b"]
    assert column.isna().tolist() == [False, False, True]


class Once(io.RawIOBase):
    """Bytes that come once, as through a pipe."""

    def __init__(self, content):
        self.rest = io.BytesIO(content)

    def readable(self):
        return True

    def readinto(self, buffer):
        return self.rest.readinto(buffer)


@pytest.mark.parametrize("kind", ["csv", "npz", "mat", "parquet"])
def test_standard_input_is_told_by_its_first_bytes(kind, require, monkeypatch):
    if kind == "parquet":
        require("pyarrow", "table")
    from bad_files import GOOD

    content = GOOD[f".{kind}"]()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Once(content))))
    assert read_table("-").equals(read(content, kind=kind))


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_packed_files_are_unpacked_whatever_their_name(pack, tmp_path):
    (tmp_path / "table.csv").write_bytes(pack(b"a,b\n1,2\n"))
    assert read_table(tmp_path / "table.csv").to_dict("list") == {"a": [1], "b": [2]}


def test_an_open_file_stays_open(tmp_path):
    for content in (b"a,b\n1,2\n", b'a,b\n"1",2\n', b"a,b\n1\n", b'a,b\n"1"\n'):
        file = io.BytesIO(content)
        try:
            read_table(file)
        except TableError as error:
            assert "line 2" in str(error)  # noqa: PT017
        assert not file.closed


def test_devices_and_files_of_other_formats_are_refused_with_a_remedy(tmp_path):
    with pytest.raises(TableError, match="is a device"):
        read_table("/dev/zero")
    for name, remedy in (
        ("a.ods", "as .xlsx or CSV"),
        ("a.pkl", "can run code"),
        ("a.npy", "savez"),
    ):
        (tmp_path / name).write_bytes(b"anything")
        with pytest.raises(TableError, match=remedy):
            read_table(tmp_path / name)


def test_a_kind_that_is_unknown_is_named():
    with pytest.raises(ValueError, match="kind must be one of csv, tsv, parquet, npz, mat"):
        read("a,b\n1,2\n", kind="xml")


def test_a_column_of_numbers_and_late_text_is_text_throughout(pandas):
    column = ["1"] * 300_000 + ["x"]
    frame = read("a,b\n" + "".join(f"{cell},0\n" for cell in column))
    assert frame["a"].tolist() == column
