"""The loader reads its files as its docstring says; the files here are tiny ones of its format."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import pytest
from scipy.io import savemat

from skatter.datasets import load_office_caltech
from skatter.datasets.home import KnownFile
from skatter.datasets.office_caltech import CLASSES, FEATURES, OTHER_NAMES

SIZES = {"amazon": 7, "caltech": 9, "dslr": 4, "webcam": 5}


def draw(domain):
    """Counts and classes 1 to 10 of a domain; one of the features is constant."""
    rng = np.random.default_rng(list(SIZES).index(domain))
    counts = rng.integers(1, 200, size=(SIZES[domain], 6), dtype=np.uint8)
    counts[:, 2] = 0
    return counts, rng.integers(1, 11, size=(SIZES[domain], 1), dtype=np.uint8)


def known(path):
    content = path.read_bytes()
    return KnownFile(path.name, len(content), hashlib.sha256(content).hexdigest())


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A data home with tiny files, which the table of feature sets knows."""
    surf = FEATURES["surf"]
    folder = tmp_path / surf.folder
    folder.mkdir()
    for domain, file in surf.files.items():
        counts, labels = draw(domain)
        savemat(folder / file.name, {"fts": counts, "labels": labels})
    know(monkeypatch, folder)
    return tmp_path


def know(monkeypatch, folder):
    """Let the table know the files of a folder as they are."""
    surf = FEATURES["surf"]
    files = {domain: known(folder / file.name) for domain, file in surf.files.items()}
    monkeypatch.setitem(FEATURES, "surf", replace(surf, files=files))


def test_raw_counts_are_those_of_the_files(home):
    data = load_office_caltech(preprocess=False, data_home=home)
    assert data.X.dtype == np.float64
    assert data.X.flags.c_contiguous
    assert data.preprocessing == "None."
    np.testing.assert_array_equal(data.X, np.vstack([draw(domain)[0] for domain in SIZES]))


def test_samples_come_domain_after_domain(home):
    data = load_office_caltech(data_home=home)
    expected = [domain for domain, size in SIZES.items() for _ in range(size)]
    assert data.domain.tolist() == expected
    assert data.name == "office_caltech_surf"


def test_classes_are_counted_from_zero_and_have_names(home):
    data = load_office_caltech(data_home=home)
    expected = np.concatenate([draw(domain)[1][:, 0] for domain in SIZES]).astype(int) - 1
    assert data.y.dtype == np.int64
    np.testing.assert_array_equal(data.y, expected)
    assert data.class_names == CLASSES
    assert len(set(CLASSES)) == 10
    assert (CLASSES[0], CLASSES[9]) == ("backpack", "projector")


def test_rows_become_shares_and_features_z_scores_inside_each_domain(home):
    data = load_office_caltech(data_home=home)
    for domain in SIZES:
        counts = draw(domain)[0].astype(float)
        shares = np.array([row / sum(row) for row in counts])
        for j in range(counts.shape[1]):
            column = shares[:, j]
            mean = sum(column) / len(column)
            deviation = np.sqrt(sum((column - mean) ** 2) / len(column)) if j != 2 else 1
            np.testing.assert_allclose(
                data.X[data.domain == domain][:, j], (column - mean) / deviation, atol=1e-12
            )
    assert "divided by its sum" in data.preprocessing
    assert data.X.flags.c_contiguous


def test_the_environment_names_the_data_home(home, monkeypatch):
    monkeypatch.setenv("SKATTER_DATA", str(home))
    np.testing.assert_array_equal(load_office_caltech().X, load_office_caltech(data_home=home).X)


def test_a_feature_set_may_have_fewer_domains_and_labels_in_a_row(home, monkeypatch):
    surf = FEATURES["surf"]
    path = home / surf.folder / "deep.mat"
    savemat(path, {"deep": np.eye(3, dtype=np.float32), "classes": np.array([[3, 1, 2]])})
    deep = replace(
        surf,
        files={"dslr": known(path)},
        samples="deep",
        labels="classes",
        prepare=lambda X: 2 * X,
    )
    monkeypatch.setitem(FEATURES, "deep", deep)
    data = load_office_caltech("deep", data_home=home)
    np.testing.assert_array_equal(data.X, 2 * np.eye(3))
    assert data.X.dtype == np.float64
    assert data.y.tolist() == [2, 0, 1]
    assert data.domain.tolist() == ["dslr"] * 3


def test_the_citation_names_features_and_images(home):
    citation = load_office_caltech(data_home=home).citation
    assert [name in citation for name in ("Gong", "Saenko", "Griffin")] == [True] * 3


# --- one file for all domains ---------------------------------------------------------------------

CALLED = ["dslr", "amazon", "caltech10", "amazon", "webcam"]
DEEP = np.array([[3, 4, 0], [0, 0, 2], [6, 0, 8], [0, 0, 0], [1, 2, 2]], dtype=np.float16)


@pytest.fixture
def deep_home(tmp_path, monkeypatch):
    """A data home with one archive, whose rows are not sorted by domain."""
    effnet = FEATURES["effnet"]
    path = tmp_path / effnet.folder / effnet.files["all"].name
    path.parent.mkdir()
    labels = np.array([10, 1, 2, 3, 4], dtype=np.uint8)
    np.savez(path, X=DEEP, y=labels, domain=np.array(CALLED), class_names=np.array(CLASSES))
    monkeypatch.setitem(FEATURES, "effnet", replace(effnet, files={"all": known(path)}))
    return tmp_path


def test_domains_of_one_file_are_those_of_its_rows_by_their_usual_names(deep_home):
    data = load_office_caltech("effnet", data_home=deep_home)
    assert data.domain.tolist() == ["dslr", "amazon", "caltech", "amazon", "webcam"]
    assert data.y.tolist() == [9, 0, 1, 2, 3]
    assert data.class_names == CLASSES
    assert data.name == "office_caltech_effnet"
    assert OTHER_NAMES == {"caltech10": "caltech"}


def test_rows_of_the_deep_network_get_unit_length(deep_home):
    data = load_office_caltech("effnet", data_home=deep_home)
    expected = [[0.6, 0.8, 0], [0, 0, 1], [0.6, 0, 0.8], [0, 0, 0], [1 / 3, 2 / 3, 2 / 3]]
    np.testing.assert_allclose(data.X, expected, atol=1e-15)
    assert data.X.dtype == np.float64
    assert "Euclidean norm" in data.preprocessing


def test_raw_features_are_those_of_the_archive(deep_home):
    data = load_office_caltech("effnet", preprocess=False, data_home=deep_home)
    np.testing.assert_array_equal(data.X, DEEP)
    assert data.X.dtype == np.float64
    assert data.preprocessing == "None."


def test_the_deep_features_have_their_own_citation(deep_home):
    citation = load_office_caltech("effnet", data_home=deep_home).citation
    assert [name in citation for name in ("Tan", "Saenko", "Griffin", "Gong")] == [
        True,
        True,
        True,
        False,
    ]


def test_a_missing_archive_says_where_it_belongs_and_comes_from(tmp_path):
    with pytest.raises(FileNotFoundError, match="LeoGautheron") as caught:
        load_office_caltech("effnet", data_home=tmp_path)
    path = tmp_path / "office_caltech10_effnetlite0" / "office_caltech10_effnetlite0.npz"
    assert f"Put it at {path}" in str(caught.value)


def test_a_changed_archive_is_refused(deep_home):
    effnet = FEATURES["effnet"]
    path = deep_home / effnet.folder / effnet.files["all"].name
    path.write_bytes(path.read_bytes()[:-1] + b"\xff")
    with pytest.raises(ValueError, match=r"effnetlite0\.npz is not the file .* SHA-256"):
        load_office_caltech("effnet", data_home=deep_home)


def test_an_archive_without_domains_is_refused(deep_home, monkeypatch):
    effnet = FEATURES["effnet"]
    path = deep_home / effnet.folder / "other.npz"
    np.savez(path, X=DEEP, y=np.ones(5))
    monkeypatch.setitem(FEATURES, "effnet", replace(effnet, files={"all": known(path)}))
    with pytest.raises(ValueError, match="holds no variable domain"):
        load_office_caltech("effnet", data_home=deep_home)


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("features", ["SURF", None, "decaf"])
def test_unknown_features_are_refused_before_any_file_is_looked_for(tmp_path, features):
    known_ones = "features must be one of 'surf', 'effnet'"
    with pytest.raises(ValueError, match=f"{known_ones}, got {features!r}"):
        load_office_caltech(features, data_home=tmp_path)


@pytest.mark.parametrize("domain", SIZES)
def test_a_missing_file_is_named(home, domain):
    path = home / FEATURES["surf"].folder / FEATURES["surf"].files[domain].name
    path.unlink()
    with pytest.raises(FileNotFoundError, match="domain-adaptation-toolbox") as caught:
        load_office_caltech(data_home=home)
    assert f"Put it at {path}" in str(caught.value)


def test_a_changed_file_is_refused(home):
    path = home / FEATURES["surf"].folder / FEATURES["surf"].files["dslr"].name
    path.write_bytes(path.read_bytes()[:-1] + b"\xff")
    with pytest.raises(ValueError, match=r"dslr_SURF_L10\.mat is not the file .* SHA-256"):
        load_office_caltech(data_home=home)


def test_a_file_without_labels_is_refused(home, monkeypatch):
    folder = home / FEATURES["surf"].folder
    savemat(folder / FEATURES["surf"].files["webcam"].name, {"fts": np.ones((2, 6))})
    know(monkeypatch, folder)
    with pytest.raises(ValueError, match=r"webcam_SURF_L10\.mat holds no variable labels"):
        load_office_caltech(data_home=home)
