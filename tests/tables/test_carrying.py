"""Columns that nobody asked to change come back as they were: the same text, the same type."""

import csv
import io
import os
import time
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.io

from skatter.tables import (
    TableError,
    open_table,
    read_columns,
    read_table,
    write_table,
)
from skatter.tables import (
    _carrying as carrying,
)
from skatter.tables import (
    _parquet as parquet,
)

CELLS = [
    ["id", "flag", "name", "big", "x"],
    ["00001", "TRUE", "NA", "9007199254740993", "1.50"],
    ["00002", "false", "null", "", "1e3"],
    ["00003", "", 'say "yes", or no', "9007199254740995", "-0"],
]


def written(path, delimiter=","):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=delimiter).writerows(CELLS)
    return path


def cells(path, delimiter=","):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file, delimiter=delimiter))


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_cells_of_csv_are_copied_to_the_letter(tmp_path, delimiter):
    source, target = written(tmp_path / "in.csv", delimiter), tmp_path / "out.csv"
    with open_table(source) as table:
        table.write_with(pd.DataFrame({"sure": [0.5, np.nan, 1.0]}), target)
    found = cells(target, delimiter)
    assert [row[:-1] for row in found] == CELLS
    assert [row[-1] for row in found] == ["sure", "0.5", "", "1.0"]


def test_another_kind_has_its_own_delimiter_and_packing(tmp_path):
    source, target = written(tmp_path / "in.csv", ";"), tmp_path / "out.tsv.gz"
    with open_table(source) as table:
        table.write_with(pd.DataFrame({"new": ["a", "b", "c"]}), target)
    frame = pd.read_csv(target, sep="\t", dtype=str, keep_default_na=False)
    assert frame.columns.tolist() == [*CELLS[0], "new"]
    assert frame.iloc[:, :-1].to_numpy().tolist() == CELLS[1:]


def test_decimal_commas_stay_and_new_numbers_have_them(tmp_path):
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("place;dose\nbasel;1,50\ncairo;2,25\n")
    with open_table(source) as table:
        assert table.frame["dose"].tolist() == [1.5, 2.25]
        table.write_with(pd.DataFrame({"low": [0.5, 0.75]}), target)
    assert target.read_text() == "place;dose;low\nbasel;1,50;0,5\ncairo;2,25;0,75\n"


def test_columns_of_parquet_keep_their_types(tmp_path):
    source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
    own = pa.table(
        {
            "id": pa.array([9007199254740993, None], pa.int64()),
            "price": pa.array([Decimal("1.10"), None]),
            "x": pa.array([1.0, 2.0], pa.float32()),
        }
    )
    pq.write_table(own, source)
    with open_table(source) as table:
        table.write_with(pd.DataFrame({"new": [1, 2]}), target)
        table.write_with(pd.DataFrame({"new": [1, 2]}), tmp_path / "out.csv")
    found = pq.read_table(target)
    assert found.select(own.column_names).equals(own)
    assert found.column("new").to_pylist() == [1, 2]
    assert cells(tmp_path / "out.csv")[1:] == [
        ["9007199254740993", "1.10", "1.0", "1"],
        ["", "", "2.0", "2"],
    ]


def test_arrays_of_npz_keep_their_types_and_digits(tmp_path):
    arrays = {
        "id": np.array([9007199254740993, 9007199254740995]),
        "code": np.array(["00001", "NA"]),
        "flag": np.array([True, False]),
        "few": np.array([1, 2], dtype=np.int8),
    }
    np.savez(tmp_path / "in.npz", **arrays)
    with open_table(tmp_path / "in.npz") as table:
        table.write_with(pd.DataFrame({"new": [1, 2]}), tmp_path / "out.parquet")
        table.write_with(pd.DataFrame({"new": [1, 2]}), tmp_path / "out.csv")
    found = pq.read_table(tmp_path / "out.parquet")
    for name, values in arrays.items():
        assert found.column(name).to_pylist() == values.tolist()
    assert [found.schema.field(name).type for name in ("id", "flag", "few")] == [
        pa.int64(),
        pa.bool_(),
        pa.int8(),
    ]
    assert cells(tmp_path / "out.csv")[1:] == [
        ["9007199254740993", "00001", "True", "1", "1"],
        ["9007199254740995", "NA", "False", "2", "2"],
    ]


def test_arrays_of_npz_are_written_as_they_were_with_new_ones_beside(tmp_path):
    arrays = {
        "X": np.arange(6, dtype=np.float32).reshape(2, 3),
        "id": np.array([9007199254740993, 9007199254740995]),
        "code": np.array(["00001", "NA"]),
    }
    np.savez(tmp_path / "in.npz", **arrays)
    new = pd.DataFrame({"kind": ["oak", None], "confidence": [0.5, 1.0]})
    with open_table(tmp_path / "in.npz") as table:
        table.write_with(new, tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz", allow_pickle=False) as found:
        assert list(found) == [*arrays, "kind", "confidence"]
        for name, array in arrays.items():
            assert found[name].dtype == array.dtype
            np.testing.assert_array_equal(found[name], array)
        assert found["kind"].tolist() == ["oak", ""]
        assert found["confidence"].tolist() == [0.5, 1.0]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_cells_of_other_files_go_into_npz_without_losing_a_digit(tmp_path, kind):
    ids = ["9007199254740993", "", "9007199254740995"]
    if kind == "csv":
        (tmp_path / "in.csv").write_text("id,code\n" + "".join(f"{each},007\n" for each in ids))
    else:
        whole = pa.array([int(each) if each else None for each in ids], pa.int64())
        pq.write_table(pa.table({"id": whole, "code": ["007"] * 3}), tmp_path / "in.parquet")
    with open_table(tmp_path / f"in.{kind}") as table:
        table.write_with(pd.DataFrame({"new": [1, 2, 3]}), tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz", allow_pickle=False) as found:
        assert found["id"].tolist() == ids
        assert found["code"].tolist() == ["007"] * 3
        assert found["new"].tolist() == [1, 2, 3]


def test_a_name_that_no_array_can_have_is_refused_before_a_file_is_written(tmp_path):
    (tmp_path / "in.csv").write_text("a/b\n1\n2\n")
    with open_table(tmp_path / "in.csv") as table, pytest.raises(TableError, match="'a/b' cannot"):
        table.write_with(pd.DataFrame({"new": [1, 2]}), tmp_path / "out.npz")
    assert not (tmp_path / "out.npz").exists()


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_cells_of_csv_are_text_in_parquet_to_the_letter(tmp_path, delimiter):
    source, target = written(tmp_path / "in.csv", delimiter), tmp_path / "out.parquet"
    with open_table(source) as table:
        table.write_with(pd.DataFrame({"sure": [0.5, np.nan, 1.0]}), target)
    found = pq.read_table(target)
    assert found.column("sure").type == pa.float64()
    own = found.drop_columns("sure")
    assert all(kind == pa.string() for kind in own.schema.types)
    rows = [[cell or "" for cell in row.values()] for row in own.to_pylist()]
    assert [own.column_names, *rows] == CELLS
    assert own.column("big").null_count == 1  # an empty cell


@pytest.mark.parametrize("cell", ["=1+1", "+SUM(A1)", "-cmd|' /C calc'!A0", "@SUM(A1)", "\t=1"])
def test_a_text_that_a_spreadsheet_would_run_is_kept_with_a_warning(tmp_path, cell):
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    pd.DataFrame({"a": ["fine", cell], "x": [-1.5, 2]}).to_csv(source, index=False)
    with open_table(source) as table:
        with pytest.warns(UserWarning, match="may run them as formulas"):
            table.write_with(pd.DataFrame({"new": [1, 2]}), target)
        with pytest.warns(UserWarning, match="may run them as formulas"):
            write_table(table.frame, tmp_path / "again.csv")
    assert cells(target)[2] == [cell, "2.0", "2"]


def test_numbers_and_dashes_are_no_formulas(tmp_path, recwarn):
    source = tmp_path / "in.csv"
    source.write_text("a,b,c\n-1.5,-,+3\n+2e5,-,\n")
    with open_table(source) as table:
        table.write_with(pd.DataFrame({"low": [-0.5, -1e-9]}), tmp_path / "out.csv")
        table.write_with(pd.DataFrame({"low": [-0.5, -1e-9]}), tmp_path / "out.parquet")
        write_table(table.frame, tmp_path / "again.csv")
    assert not recwarn.list


# --- piece by piece -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["csv", "parquet", "npz"])
def test_pieces_are_the_table_cut(tmp_path, monkeypatch, kind):
    for module in (carrying, parquet):
        monkeypatch.setattr(module, "PIECE_ROWS", 4)
    path = tmp_path / f"in.{kind}"
    frame = pd.DataFrame({"name": list("abcdefghij"), "x": np.arange(10.0), "n": range(10)})
    write_table(frame, path)
    with open_table(path, na_values=["3"]) as table:
        assert (table.n_rows, table.columns) == (10, ["name", "x", "n"])
        whole, pieces = table.frame, list(table.pieces())
        assert [piece.index.tolist() for piece in pieces] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
        pd.testing.assert_frame_equal(pd.concat(pieces), whole, check_dtype=False)
        assert [list(piece) for piece in table.pieces(["x", "name"])] == 3 * [["x", "name"]]
        some = table.take(np.array([0, 3, 9]))
        pd.testing.assert_frame_equal(
            some, whole.loc[[0, 3, 9]], check_names=False, check_dtype=False
        )


def test_rows_that_are_taken_have_the_types_of_the_whole_table(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "PIECE_ROWS", 2)
    frame = pd.DataFrame({"dose": ["1.5", "?", "2", "3", "4", "?"]})
    frame.to_parquet(tmp_path / "in.parquet")
    with open_table(tmp_path / "in.parquet", na_values=["?"]) as table:
        taken = table.take(np.array([0, 1, 2, 3]))  # no piece of the second two has a gap
    np.testing.assert_array_equal(taken["dose"], [1.5, np.nan, 2, 3])


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_new_columns_are_made_piece_by_piece(tmp_path, monkeypatch, kind):
    for module in (carrying, parquet):
        monkeypatch.setattr(module, "PIECE_ROWS", 4)
    frame = pd.DataFrame({"name": list("abcdefghij"), "x": np.arange(10.0)})
    write_table(frame, tmp_path / f"in.{kind}")

    def add(piece):
        assert len(piece) <= 4
        # No value of the first piece says which type the column has.
        new = pd.Series(piece["name"].where(piece.index > 5), dtype="string")
        return pd.DataFrame({"new": new, "twice": 2 * piece["x"]})

    with open_table(tmp_path / f"in.{kind}") as table:
        table.write_with(add, tmp_path / f"out.{kind}")
    found = read_table(tmp_path / f"out.{kind}")
    assert found["new"].isna().tolist() == [True] * 6 + [False] * 4
    assert found["twice"].tolist() == (2 * frame["x"]).tolist()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_who_works_on_a_piece_takes_no_time_from_the_reader(tmp_path, kind):
    write_table(pd.DataFrame({"name": list("abc"), "x": np.arange(3.0)}), tmp_path / f"in.{kind}")

    def work(piece):
        end = time.thread_time() + 0.3
        while time.thread_time() < end:
            pass
        return pd.DataFrame({"new": piece["x"]})

    with open_table(tmp_path / f"in.{kind}") as table:
        table.frame  # noqa: B018
        table.data.budget.seconds = 0.25
        table.write_with(work, tmp_path / "out.parquet")
        for piece in table.pieces():
            work(piece)


def test_two_ids_never_become_one(tmp_path):
    frame = read_table(written(tmp_path / "in.csv"))
    assert frame["big"].dropna().tolist() == [9007199254740993, 9007199254740995]


def test_a_file_appears_whole_or_not_at_all(tmp_path):
    source, target = written(tmp_path / "in.csv"), tmp_path / "out.csv"
    with open_table(source) as table:
        with pytest.raises(ValueError, match="added has 1 rows, and the table 3"):
            table.write_with(pd.DataFrame({"new": [1]}), target)  # a row too few
        assert not target.exists()
        target.write_text("mine")
        with pytest.raises(TableError, match="is there already"):
            table.write_with(pd.DataFrame({"new": [1, 2, 3]}), target)
    assert target.read_text() == "mine"


# --- files that are made to do harm ---------------------------------------------------------------


@pytest.mark.parametrize("kind", ["csv", "tsv.gz", "parquet", "npz", "mat"])
def test_every_reader_looks_at_the_clock(tmp_path, monkeypatch, kind):
    path = tmp_path / f"a.{kind}"
    X = np.random.default_rng(0).normal(size=(40_000, 5))
    frame = pd.DataFrame(X, columns=list("abcde"))
    if kind == "parquet":
        frame.to_parquet(path)
    elif kind == "npz":
        np.savez(path, X=X)
    elif kind == "mat":
        scipy.io.savemat(path, {"X": X})
    else:
        frame.to_csv(path, index=False, sep="\t" if "tsv" in kind else ",")
    read_table(path)
    ticks = iter(range(0, 10**9, 1000))
    monkeypatch.setattr("skatter.tables._budget.time.thread_time", lambda: float(next(ticks)))
    with pytest.raises(TableError, match="s to read; give a smaller table"):
        read_table(path)


@pytest.mark.parametrize("kind", ["csv", "quoted.csv", "parquet", "npz", "mat"])
def test_no_reader_takes_a_cell_as_long_as_a_document(tmp_path, kind):
    path, long = tmp_path / f"a.{kind}", "x" * 2_500_000
    frame = pd.DataFrame({"a": ["b", long], "x": [1, 2]})
    if kind == "parquet":
        frame.to_parquet(path)
    elif kind == "npz":
        np.savez(path, a=frame["a"].to_numpy(dtype=str))
    elif kind == "mat":
        scipy.io.savemat(path, {"a": np.array([["b"], [long]], dtype=object)})
    else:
        frame.to_csv(path, index=False, quoting=1 if "quoted" in kind else 0)
    with pytest.raises(TableError, match=r"(131072|2,097,152)"):
        read_table(path)


def test_a_long_cell_of_digits_is_read_in_no_time(tmp_path):
    path = tmp_path / "digits.csv"
    path.write_text("a,b\n" + "\n".join("1" * 19_000 + "x,2" for _ in range(50)))
    assert read_table(path).shape == (50, 2)


def test_a_pipe_is_not_waited_for(tmp_path):
    path = tmp_path / "pipe.csv"
    os.mkfifo(path)
    with pytest.raises(TableError, match="is a device or a pipe"):
        read_table(path)


def test_cells_without_bytes_are_no_cells(tmp_path):
    header = io.BytesIO()
    claim = {"descr": "<U0", "fortran_order": False, "shape": (300_000_000,)}
    np.lib.format.write_array_header_1_0(header, claim)
    path = tmp_path / "empty.npz"
    import zipfile

    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.npy", header.getvalue())
    with pytest.raises(TableError, match="which no table holds"):
        read_table(path)


def test_a_text_that_is_repeated_in_parquet_is_counted_as_it_unpacks(tmp_path):
    path = tmp_path / "repeated.parquet"
    with pq.ParquetWriter(path, pa.schema([("s", pa.string())])) as writer:
        for _ in range(4):
            writer.write_table(pa.table({"s": ["x" * 20_000] * 5_000}))
    with pytest.raises(TableError, match="unpacks to more than 200 times"):
        read_table(path)


def test_a_long_name_of_a_domain_makes_no_wide_array():
    frame = pd.DataFrame({"x": range(40), "d": ["a"] * 39 + ["b" * 20_000], "y": [0, 1] * 20})
    with pytest.raises(TableError, match="holds a text of 20,000 characters"):
        read_columns(frame, label="y", domain="d")
