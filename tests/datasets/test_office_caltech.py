"""The loader reads its files as its docstring says; the files here are tiny ones of its format."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.io import savemat
from tiny_files import known

from skatter.datasets import load_office_caltech
from skatter.datasets._home import KnownFile, Source
from skatter.datasets._office_caltech import FEATURES, OTHER_NAMES

CLASSES = FEATURES["surf"].facts.class_names
SIZES = {"amazon": 7, "caltech": 9, "dslr": 4, "webcam": 5}


def draw(domain):
    """Counts and classes 1 to 10 of a domain; one of the features is constant."""
    rng = np.random.default_rng(list(SIZES).index(domain))
    counts = rng.integers(1, 200, size=(SIZES[domain], 6), dtype=np.uint8)
    counts[:, 2] = 0
    return counts, rng.integers(1, 11, size=(SIZES[domain], 1), dtype=np.uint8)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A data home with tiny files, which the table of feature sets knows."""
    source = FEATURES["surf"].source
    folder = tmp_path / source.folder
    folder.mkdir()
    for domain, file in source.files.items():
        counts, labels = draw(domain)
        savemat(folder / file.name, {"fts": counts, "labels": labels})
    know(monkeypatch, folder)
    return tmp_path


def know(monkeypatch, folder, features="surf"):
    """Let the table know the files of a folder as they are."""
    chosen = FEATURES[features]
    files = {key: known(folder / file.name) for key, file in chosen.source.files.items()}
    source = replace(chosen.source, files=files)
    monkeypatch.setitem(FEATURES, features, replace(chosen, source=source))


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
    assert data.name == "office_surf"


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


def test_a_feature_set_may_have_labels_in_a_row_and_nothing_to_prepare(home, monkeypatch):
    surf = FEATURES["surf"]
    path = home / surf.source.folder / "deep.mat"
    savemat(path, {"deep": np.eye(3, dtype=np.float32), "classes": np.array([[3, 1, 2]])})
    source = replace(surf.source, files={"dslr": known(path)})
    deep = replace(surf, source=source, samples="deep", labels="classes", prepare=None)
    monkeypatch.setitem(FEATURES, "deep", deep)
    data = load_office_caltech("deep", data_home=home)
    np.testing.assert_array_equal(data.X, np.eye(3))
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
    source = FEATURES["effnet"].source
    path = tmp_path / source.folder / source.files["all"].name
    path.parent.mkdir()
    labels = np.array([10, 1, 2, 3, 4], dtype=np.uint8)
    np.savez(path, X=DEEP, y=labels, domain=np.array(CALLED), class_names=np.array(CLASSES))
    know(monkeypatch, path.parent, "effnet")
    return tmp_path


def test_domains_of_one_file_are_those_of_its_rows_by_their_usual_names(deep_home):
    data = load_office_caltech("effnet", data_home=deep_home)
    assert data.domain.tolist() == ["dslr", "amazon", "caltech", "amazon", "webcam"]
    assert data.y.tolist() == [9, 0, 1, 2, 3]
    assert data.class_names == CLASSES
    assert data.name == "office_effnet"
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
    source = FEATURES["effnet"].source
    path = deep_home / source.folder / source.files["all"].name
    path.write_bytes(path.read_bytes()[:-1] + b"\xff")
    with pytest.raises(ValueError, match=r"effnetlite0\.npz is not the file .* SHA-256"):
        load_office_caltech("effnet", data_home=deep_home)


def test_an_archive_without_domains_is_refused(deep_home, monkeypatch):
    source = FEATURES["effnet"].source
    path = deep_home / source.folder / source.files["all"].name
    np.savez(path, X=DEEP, y=np.ones(5))
    know(monkeypatch, path.parent, "effnet")
    with pytest.raises(ValueError, match=r"holds no variable domain\. It holds X, y"):
        load_office_caltech("effnet", data_home=deep_home)


# --- some domains only ----------------------------------------------------------------------------


def test_some_domains_come_as_they_come_among_all(home, deep_home):
    assert home == deep_home
    for features in ("surf", "effnet"):
        every = load_office_caltech(features, data_home=home)
        some = load_office_caltech(features, domains=["webcam", "amazon"], data_home=home)
        rows = np.isin(every.domain, ["amazon", "webcam"])
        np.testing.assert_array_equal(some.X, every.X[rows])
        np.testing.assert_array_equal(some.y, every.y[rows])
        assert some.domain.tolist() == every.domain[rows].tolist()


def test_files_of_other_domains_need_not_be_there(home):
    (home / "office_caltech10_surf" / "amazon_SURF_L10.mat").unlink()
    data = load_office_caltech(domains=("dslr", "webcam"), data_home=home)
    assert set(data.domain.tolist()) == {"dslr", "webcam"}
    with pytest.raises(FileNotFoundError, match="the other domains only, name them by domains"):
        load_office_caltech(data_home=home)


@pytest.mark.parametrize("domains", [[], ["dslr", "dslr"], ["dlsr"]])
def test_odd_domains_are_refused_before_any_file_is_looked_for(tmp_path, domains):
    known_ones = "domains must be some of amazon, caltech, dslr, webcam, each once"
    with pytest.raises(ValueError, match=known_ones):
        load_office_caltech(domains=domains, data_home=tmp_path)


def test_one_name_in_place_of_a_list_is_refused(tmp_path):
    with pytest.raises(TypeError, match="domains must be a list of names, got the text 'dslr'"):
        load_office_caltech(domains="dslr", data_home=tmp_path)


# --- files whose bytes nobody here has seen -------------------------------------------------------


@pytest.fixture
def unseen(tmp_path, monkeypatch):
    """A data home with a file of DeCAF6 that is known by its shape alone."""
    decaf = FEATURES["decaf6"]
    files = {"amazon": KnownFile("amazon_decaf.mat", shape=(3, 4))}
    source = Source("decaf", files, "example.org")
    monkeypatch.setitem(FEATURES, "decaf6", replace(decaf, source=source))
    (tmp_path / "decaf").mkdir()

    def write(**content):
        savemat(tmp_path / "decaf" / "amazon_decaf.mat", content)
        return load_office_caltech("decaf6", domains=["amazon"], data_home=tmp_path)

    return write


SAMPLES = np.arange(12.0).reshape(3, 4)
LABELS = np.array([[1], [10], [2]], dtype=np.uint8)


def test_activations_of_decaf_are_left_as_they_are(unseen):
    data = unseen(feas=SAMPLES, labels=LABELS)
    np.testing.assert_array_equal(data.X, SAMPLES)
    assert data.y.tolist() == [0, 9, 1]
    assert data.name == "office_decaf6"
    assert [name in data.citation for name in ("Donahue", "Saenko", "Griffin")] == [True] * 3
    assert "nothing else" in data.preprocessing


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"fts": SAMPLES, "labels": LABELS}, "holds no variable feas. It holds fts, labels"),
        ({"feas": SAMPLES[:2], "labels": LABELS[:2]}, "must hold 3 samples, found 2"),
        ({"feas": SAMPLES[:, :3], "labels": LABELS}, "must hold 4 features, found 3"),
        ({"feas": SAMPLES, "labels": LABELS + 1}, "must hold labels 1 to 10, found"),
        ({"feas": SAMPLES, "labels": LABELS[:2]}, "must hold one row and one label per sample"),
    ],
    ids=["names", "samples", "features", "labels", "lengths"],
)
def test_another_file_than_the_expected_one_is_refused(unseen, content, words):
    with pytest.raises(ValueError, match=rf"amazon_decaf\.mat {words}"):
        unseen(**content)


def test_the_unseen_files_have_the_shapes_of_the_set():
    shapes = {
        (features, domain): file.shape
        for features, chosen in FEATURES.items()
        for domain, file in chosen.source.files.items()
        if file.sha256 is None
    }
    assert shapes == {
        ("decaf6", "amazon"): (958, 4096),
        ("decaf6", "caltech"): (1123, 4096),
        ("googlenet", "caltech"): (1123, 1024),
    }


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("features", ["SURF", None, "decaf"])
def test_unknown_features_are_refused_before_any_file_is_looked_for(tmp_path, features):
    known_ones = "features must be one of 'surf', 'decaf6', 'googlenet', 'effnet'"
    with pytest.raises(ValueError, match=f"{known_ones}, got {features!r}"):
        load_office_caltech(features, data_home=tmp_path)


@pytest.mark.parametrize("domain", SIZES)
def test_a_missing_file_is_named(home, domain):
    path = home / FEATURES["surf"].source.folder / FEATURES["surf"].source.files[domain].name
    path.unlink()
    with pytest.raises(FileNotFoundError, match="domain-adaptation-toolbox") as caught:
        load_office_caltech(data_home=home)
    assert f"Put it at {path}" in str(caught.value)


def test_a_changed_file_is_refused(home):
    path = home / "office_caltech10_surf" / "dslr_SURF_L10.mat"
    path.write_bytes(path.read_bytes()[:-1] + b"\xff")
    with pytest.raises(ValueError, match=r"dslr_SURF_L10\.mat is not the file .* SHA-256"):
        load_office_caltech(data_home=home)


def test_a_file_without_labels_is_refused(home, monkeypatch):
    folder = home / "office_caltech10_surf"
    savemat(folder / "webcam_SURF_L10.mat", {"fts": np.ones((2, 6))})
    know(monkeypatch, folder)
    with pytest.raises(ValueError, match=r"webcam_SURF_L10\.mat holds no variable labels"):
        load_office_caltech(data_home=home)
