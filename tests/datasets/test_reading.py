"""Files are read as arrays of numbers or text, checked, and never unpickled."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from scipy.io import savemat

from skatter.datasets._reading import check_labelled, read_arrays, read_table


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
    write(path, {"X": np.ones((2, 2)), "other": np.ones((1, 1))})
    with pytest.raises(ValueError, match=r"part\.\w+ holds no variable y, z\. It holds X, other\."):
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


def test_sparse_matrices_are_filled_up_where_they_are_allowed(tmp_path):
    X = np.array([[0, 2.5, 0], [1, 0, 0]])
    path = write(tmp_path / "part.mat", {"X": sparse.csc_matrix(X), "y": np.ones((2, 1))})
    found, y = read_arrays(path, ("X", "y"), dense=False)
    np.testing.assert_array_equal(found, X)
    assert type(found) is np.ndarray
    assert y.tolist() == [[1], [1]]


@pytest.mark.parametrize(
    "surprise",
    [{"field": np.ones(3)}, np.array(["text"]), sparse.csc_matrix(np.eye(2) * 1j)],
    ids=["struct", "text", "sparse complex"],
)
def test_surprises_are_refused_where_sparse_matrices_are_allowed(tmp_path, surprise):
    path = write(tmp_path / "part.mat", {"X": surprise})
    with pytest.raises(ValueError, match=r"X in .*part\.mat must be an array of real numbers"):
        read_arrays(path, ("X",), dense=False)


# --- what is no data file at all ------------------------------------------------------------------


@pytest.mark.parametrize(
    "content", [b"", b"no data", b"<html>404</html>" * 100], ids=["empty", "short", "page"]
)
def test_something_else_under_the_name_is_refused(path, content):
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"part\.\w+ cannot be read as a \.\w+ file") as caught:
        read_arrays(path, ("X",))
    assert "Get the file again" in str(caught.value)


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_a_file_that_is_cut_off_is_refused(path, share):
    X = np.random.default_rng(0).random((40, 30))
    write(path, {"X": X, "y": np.arange(40.0)})
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ValueError, match=r"part\.\w+ (cannot be read|holds no variable)"):
        read_arrays(path, ("X", "y"))


def test_a_compressed_matlab_file_that_is_cut_off_is_refused(tmp_path):
    path = tmp_path / "part.mat"
    savemat(path, {"X": np.random.default_rng(0).random((40, 30))}, do_compression=True)
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(ValueError, match=r"part\.mat cannot be read"):
        read_arrays(path, ("X",))


def test_a_pickle_or_a_single_array_under_the_name_of_an_archive_is_refused(tmp_path):
    sprung = tmp_path / "sprung"
    path = tmp_path / "part.npz"
    with path.open("wb") as file:
        np.save(file, np.array([Trap(sprung)], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"part\.npz cannot be read"):
        read_arrays(path, ("X",))
    with path.open("wb") as file:
        np.save(file, np.ones(3))
    with pytest.raises(ValueError, match=r"part\.npz cannot be read"):
        read_arrays(path, ("X",))
    assert not sprung.exists()


# --- samples and labels ---------------------------------------------------------------------------

PLACE = Path("set", "part.mat")


def test_samples_become_float64_in_rows_and_classes_count_from_0():
    X = np.asfortranarray(np.array([[1, 2], [3, 4], [5, 6]], dtype=np.float16))
    found, y = check_labelled(PLACE, X, np.array([[3], [1], [2]], dtype=np.uint8), n_classes=3)
    assert found.dtype == np.float64
    assert found.flags.c_contiguous
    np.testing.assert_array_equal(found, X)
    assert y.tolist() == [2, 0, 1]
    assert y.dtype == np.int64


@pytest.mark.parametrize("first", [0, 1, -1])
def test_the_first_class_may_have_any_number(first):
    labels = np.array([first, first + 1])
    assert check_labelled(PLACE, np.eye(2), labels, first=first, n_classes=2)[1].tolist() == [0, 1]


@pytest.mark.parametrize("wrong", [0, 4, 1.5, np.nan, np.inf])
def test_labels_out_of_range_are_refused_and_shown(wrong):
    with pytest.raises(ValueError, match=r"part\.mat must hold labels 1 to 3, found \[") as caught:
        check_labelled(PLACE, np.eye(2), np.array([2, wrong]), n_classes=3)
    assert str(wrong) in str(caught.value)


def test_unsigned_labels_below_the_first_class_do_not_wrap_around():
    with pytest.raises(ValueError, match="labels 1 to 256"):
        check_labelled(PLACE, np.eye(2), np.array([0, 1], dtype=np.uint8), n_classes=256)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_are_refused(value):
    with pytest.raises(ValueError, match=r"part\.mat holds samples .* not finite"):
        check_labelled(PLACE, np.array([[0, value]]), np.array([1]), n_classes=1)


@pytest.mark.parametrize(
    ("X", "labels"), [(np.eye(3), np.ones(2)), (np.ones(3), np.ones(3))], ids=["number", "flat"]
)
def test_another_number_of_labels_than_of_samples_is_refused(X, labels):
    with pytest.raises(ValueError, match="one row and one label per sample"):
        check_labelled(PLACE, X, labels, n_classes=1)


@pytest.mark.parametrize(
    ("shape", "words"), [((4, 2), "4 samples, found 3"), ((3, 5), "5 features, found 2")]
)
def test_another_shape_than_the_known_one_is_refused(shape, words):
    with pytest.raises(ValueError, match=rf"part\.mat must hold {words}"):
        check_labelled(PLACE, np.ones((3, 2)), np.ones(3), n_classes=1, shape=shape)


@pytest.mark.parametrize("as_stored", [np.asarray, sparse.csc_matrix], ids=["dense", "sparse"])
def test_a_table_has_its_labels_in_the_last_column(tmp_path, as_stored):
    table = np.array([[0.5, 0, 2], [0, 7, 1], [1, 1, 2]])
    path = write(tmp_path / "part.mat", {"data": as_stored(table)})
    X, y = read_table(path, "data", n_classes=2, shape=(None, 2))
    np.testing.assert_array_equal(X, table[:, :2])
    assert X.flags.c_contiguous
    assert y.tolist() == [1, 0, 1]


def test_a_table_with_another_number_of_columns_is_refused(tmp_path):
    path = write(tmp_path / "part.mat", {"data": np.ones((3, 4))})
    with pytest.raises(
        ValueError, match=r"data in .* must have 6 columns, .* found shape \(3, 4\)"
    ):
        read_table(path, "data", n_classes=2, shape=(None, 5))
