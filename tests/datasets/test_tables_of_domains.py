"""VLCS and IXMAS: one table per domain, its label at the end; the files here are tiny ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.io import savemat

from skatter.datasets import _ixmas as ixmas
from skatter.datasets import _vlcs as vlcs
from skatter.datasets import load_ixmas, load_vlcs
from skatter.datasets._home import KnownFile
from skatter.datasets._vlcs import draw_parts

SIZES = {"voc2007": 20, "labelme": 10, "caltech101": 7, "sun09": 13}
CAMERAS = ("cam0", "cam1", "cam2", "cam3", "cam4")


def table(n_samples, n_features, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, size=(n_samples, n_features)).astype(float)
    return np.column_stack([X, rng.integers(1, 6, size=n_samples)])


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A data home with a table of six features for each domain of VLCS."""
    names = {domain: file.name for domain, file in vlcs.SOURCE.files.items()}
    files = {domain: KnownFile(names[domain], shape=(n, 6)) for domain, n in SIZES.items()}
    monkeypatch.setattr(vlcs, "SOURCE", replace(vlcs.SOURCE, files=files))
    folder = tmp_path / "vlcs_decaf6"
    folder.mkdir()
    for seed, (domain, n) in enumerate(SIZES.items()):
        savemat(folder / names[domain], {"data": table(n, 6, seed)})
    return tmp_path


# --- VLCS -----------------------------------------------------------------------------------------


def test_samples_come_domain_after_domain_in_the_order_of_the_files(home):
    data = load_vlcs(data_home=home)
    every = np.vstack([table(n, 6, seed) for seed, n in enumerate(SIZES.values())])
    np.testing.assert_array_equal(data.X, every[:, :6])
    np.testing.assert_array_equal(data.y, every[:, 6] - 1)
    assert data.y.dtype == np.int64
    assert data.domain.tolist() == [name for name, n in SIZES.items() for _ in range(n)]
    assert data.class_names == ("bird", "car", "chair", "dog", "person")
    assert [name in data.citation for name in ("Fang", "Torralba", "Donahue")] == [True] * 3


def test_the_files_have_the_names_and_shapes_that_people_share():
    found = {file.name: file.shape for file in vlcs.SOURCE.files.values()}
    assert found == {
        "VOC2007.mat": (3376, 4096),
        "LabelMe.mat": (2656, 4096),
        "Caltech101.mat": (1415, 4096),
        "SUN09.mat": (3282, 4096),
    }


@pytest.mark.parametrize(("n", "n_test"), [(3376, 1013), (2656, 797), (1415, 424), (3282, 985)])
def test_test_parts_have_the_sizes_of_the_paper(n, n_test):
    part = draw_parts(n, np.random.default_rng(0))
    assert np.sum(part == "test") == n_test
    assert np.sum(part == "train") == n - n_test


def test_thirty_percent_of_every_domain_are_for_testing(home):
    data = load_vlcs(data_home=home)
    tests = [np.sum(data.part[data.domain == name] == "test") for name in SIZES]
    assert tests == [6, 3, 2, 4]
    assert set(data.part.tolist()) == {"train", "test"}


def test_the_draw_depends_on_the_seed_alone(home):
    first, again, other = (load_vlcs(random_state=k, data_home=home).part for k in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    generator = load_vlcs(random_state=np.random.default_rng(3), data_home=home).part
    np.testing.assert_array_equal(generator, first)


def test_the_draw_of_a_domain_does_not_depend_on_the_others(home):
    every = load_vlcs(random_state=1, data_home=home)
    some = load_vlcs(domains=["sun09", "labelme"], random_state=1, data_home=home)
    rows = np.isin(every.domain, ["sun09", "labelme"])
    np.testing.assert_array_equal(some.part, every.part[rows])
    np.testing.assert_array_equal(some.X, every.X[rows])


def test_every_sample_is_as_likely_to_be_tested():
    rng = np.random.default_rng(0)
    counts = np.sum([draw_parts(10, rng) == "test" for _ in range(4000)], axis=0)
    # a share of 0.3 over 4,000 draws has a standard deviation of 29
    assert np.abs(counts - 1200).max() < 5 * 29


def test_files_of_other_domains_need_not_be_there(home):
    (home / "vlcs_decaf6" / "VOC2007.mat").unlink()
    assert set(load_vlcs(domains=["sun09"], data_home=home).domain.tolist()) == {"sun09"}
    with pytest.raises(FileNotFoundError, match="name them by domains") as caught:
        load_vlcs(data_home=home)
    assert f"Put it at {home / 'vlcs_decaf6' / 'VOC2007.mat'}" in str(caught.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"features": table(7, 6, 0)}, "holds no variable data. It holds features"),
        ({"data": table(7, 5, 0)}, "must have 7 columns"),
        ({"data": table(8, 6, 0)}, "must hold 7 samples, found 8"),
        ({"data": table(7, 6, 0) + 5}, "must hold labels 1 to 5, found"),
        ({"data": {"X": table(7, 6, 0)}}, "must be an array of real numbers"),
    ],
    ids=["name", "columns", "samples", "labels", "struct"],
)
def test_another_file_than_the_expected_one_is_refused(home, content, words):
    savemat(home / "vlcs_decaf6" / "Caltech101.mat", content)
    with pytest.raises(ValueError, match=rf"Caltech101\.mat {words}"):
        load_vlcs(data_home=home)


# --- IXMAS ----------------------------------------------------------------------------------------


@pytest.fixture
def films(tmp_path):
    """A data home with three films by each camera; the table of the last one is sparse."""
    (tmp_path / "ixmas").mkdir()
    for seed, camera in enumerate(CAMERAS):
        content = table(3, 5000, seed)
        stored = sparse.csc_matrix(content) if camera == "cam4" else content
        savemat(tmp_path / "ixmas" / f"{camera}.mat", {"data": stored})
    return tmp_path


def test_cameras_are_the_domains(films):
    data = load_ixmas(data_home=films)
    every = np.vstack([table(3, 5000, seed) for seed in range(5)])
    np.testing.assert_array_equal(data.X, every[:, :5000])
    np.testing.assert_array_equal(data.y, every[:, 5000] - 1)
    assert data.domain.tolist() == [camera for camera in CAMERAS for _ in range(3)]
    assert data.class_names == ("check watch", "cross arms", "scratch head", "sit down", "get up")
    assert data.part is None
    assert "Weinland" in data.citation


def test_some_cameras_need_only_their_files(films):
    (films / "ixmas" / "cam0.mat").unlink()
    data = load_ixmas(domains=["cam4", "cam2"], data_home=films)
    assert data.domain.tolist() == ["cam2"] * 3 + ["cam4"] * 3
    with pytest.raises(FileNotFoundError, match="name them by domains"):
        load_ixmas(data_home=films)


def test_another_number_of_words_is_refused(films):
    savemat(films / "ixmas" / "cam3.mat", {"data": table(3, 4000, 0)})
    with pytest.raises(ValueError, match=r"cam3\.mat must have 5001 columns"):
        load_ixmas(data_home=films)


def test_something_else_under_the_name_is_refused(films):
    (films / "ixmas" / "cam3.mat").write_text("<html>not found</html>")
    with pytest.raises(ValueError, match=r"cam3\.mat cannot be read as a \.mat file"):
        load_ixmas(data_home=films)
    assert ixmas.SOURCE.files["cam3"].sha256 is None
