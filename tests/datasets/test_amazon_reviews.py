"""Reviews: shares in dense files, counts in sparse ones and in text; files here are tiny ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.io import savemat
from tiny_files import known

from skatter.datasets import _amazon_reviews as amazon_reviews
from skatter.datasets import load_amazon_reviews
from skatter.datasets._amazon_reviews import DOMAINS

N_TRAIN, N_TEST, WORDS = 4, 6, 5000


def shares(domain):
    rng = np.random.default_rng(DOMAINS.index(domain))
    return {
        "fts": rng.random((5, 3)),
        "labels": rng.integers(0, 2, size=(5, 1), dtype=np.uint8),
    }


def counts(domain):
    """Dense counts of both parts, and signs; the first row is empty."""
    rng = np.random.default_rng(DOMAINS.index(domain))
    X = rng.poisson(0.01, size=(N_TRAIN + N_TEST, WORDS)).astype(np.uint8)
    X[0] = 0  # a review without any known word
    return X, rng.choice([-1, 1], size=N_TRAIN + N_TEST).astype(np.int8)


def packed(domain):
    X, signs = counts(domain)
    content = {}
    for which, rows in (("train", slice(N_TRAIN)), ("test", slice(N_TRAIN, None))):
        block = sparse.csr_matrix(X[rows])
        content |= {
            f"{which}_data": block.data,
            f"{which}_indices": block.indices.astype(np.uint16),
            f"{which}_indptr": block.indptr,
            f"{which}_y": signs[rows],
        }
    return content


def as_text(domain, which):
    """The lines of a file in svmlight format, made without a library."""
    X, signs = counts(domain)
    rows = range(N_TRAIN) if which == "train" else range(N_TRAIN, N_TRAIN + N_TEST)
    lines = []
    for i in rows:
        found = " ".join(f"{j}:{X[i, j]}" for j in range(WORDS) if X[i, j])
        lines.append(f"{signs[i]} {found}\n")
    return "".join(lines)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Write files into a data home, and let the loader know them as they are."""

    def write(kind, changes=None):
        source = getattr(amazon_reviews, kind)
        folder = tmp_path / source.folder
        folder.mkdir(exist_ok=True)
        files = {}
        for key, file in source.files.items():
            path = folder / file.name
            if kind == "SHARES":
                savemat(path, shares(key) | (changes or {}))
            elif kind == "PACKED":
                np.savez(path, **(packed(key) | (changes or {})))
            else:
                path.write_text(as_text(*key.split("_")) + (changes or ""), encoding="ascii")
            files[key] = known(path)
        monkeypatch.setattr(amazon_reviews, kind, replace(source, files=files))
        return tmp_path

    return write


KINDS = {"SHARES": "400", "PACKED": "5000", "COUNTS": "5000"}
"""Kinds of files, and the features that they hold."""


def test_shares_are_those_of_the_files(home):
    data = load_amazon_reviews(data_home=home("SHARES"))
    np.testing.assert_array_equal(data.X, np.vstack([shares(name)["fts"] for name in DOMAINS]))
    expected = np.concatenate([shares(name)["labels"][:, 0] for name in DOMAINS])
    assert data.y.tolist() == expected.tolist()
    assert data.y.dtype == np.int64
    assert data.part is None
    assert data.name == "amazon_400"


@pytest.mark.parametrize("kind", ["COUNTS", "PACKED"])
def test_counts_are_those_of_the_files_those_to_train_on_first(home, kind):
    data = load_amazon_reviews("5000", data_home=home(kind))
    assert sparse.issparse(data.X)
    assert data.X.format == "csr"
    assert data.X.dtype == np.float64
    np.testing.assert_array_equal(data.X.toarray(), np.vstack([counts(k)[0] for k in DOMAINS]))
    signs = np.concatenate([counts(k)[1] for k in DOMAINS])
    np.testing.assert_array_equal(data.y, (signs + 1) // 2)
    assert data.y.dtype == np.int64
    assert data.part.tolist() == (["train"] * N_TRAIN + ["test"] * N_TEST) * 4
    assert data.name == "amazon_5000"


@pytest.mark.parametrize("kind", KINDS)
def test_domains_classes_and_origin_are_named(home, kind):
    data = load_amazon_reviews(KINDS[kind], data_home=home(kind))
    assert tuple(dict.fromkeys(data.domain.tolist())) == DOMAINS
    assert data.class_names == ("negative", "positive")
    assert [name in data.citation for name in ("Blitzer", "Weinberger")] == [True] * 2


@pytest.mark.parametrize("kind", KINDS)
def test_some_domains_need_only_their_files(home, kind):
    folder = home(kind)
    every = load_amazon_reviews(KINDS[kind], data_home=folder)
    for path in folder.glob("*/dvd*"):
        path.unlink()
    some = load_amazon_reviews(KINDS[kind], domains=["kitchen", "books"], data_home=folder)
    rows = np.isin(every.domain, ["books", "kitchen"])
    np.testing.assert_array_equal(some.y, every.y[rows])
    assert some.domain.tolist() == every.domain[rows].tolist()
    with pytest.raises(FileNotFoundError, match="name them by domains"):
        load_amazon_reviews(KINDS[kind], data_home=folder)


def test_text_may_be_downloaded_and_shares_may_not(tmp_path):
    offer = "download_if_missing=True downloads it from https://"
    with pytest.raises(FileNotFoundError, match=rf"books_train\.svmlight is not in .*{offer}"):
        load_amazon_reviews("5000", data_home=tmp_path)
    with pytest.raises(FileNotFoundError, match=r"books_400\.mat is not in") as caught:
        load_amazon_reviews("400", data_home=tmp_path, download_if_missing=True)
    assert "downloads it" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_unknown_features_are_refused_before_any_file_is_looked_for(tmp_path):
    with pytest.raises(ValueError, match="features must be one of '400', '5000', got 400"):
        load_amazon_reviews(400, data_home=tmp_path)


@pytest.mark.parametrize(
    ("kind", "changes", "words"),
    [
        (
            "SHARES",
            {"labels": np.full((5, 1), 2)},
            r"books_400\.mat must hold labels 0 to 1",
        ),
        (
            "PACKED",
            {"train_y": np.full(N_TRAIN, 2)},
            r"books\.npz must hold labels -1 and 1",
        ),
        ("COUNTS", "3 1:1\n", r"books_train\.svmlight must hold labels -1 and 1, found"),
    ],
    ids=list(KINDS),
)
def test_other_labels_are_refused(home, kind, changes, words):
    with pytest.raises(ValueError, match=words):
        load_amazon_reviews(KINDS[kind], data_home=home(kind, changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"test_indices": np.full(np.sum(counts("books")[0][N_TRAIN:] > 0), 5000)},
        {"test_indptr": np.arange(3)},
        {"test_data": np.ones(1)},
    ],
    ids=["word out of range", "rows", "values"],
)
def test_rows_that_do_not_fit_together_are_refused(home, changes):
    with pytest.raises(ValueError, match=r"books\.npz holds no sparse rows as test: "):
        load_amazon_reviews("5000", data_home=home("PACKED", changes))


@pytest.mark.parametrize("line", ["1 word:1\n", "1 5000:1\n", "<html>\n"])
def test_text_that_is_something_else_is_refused(home, line):
    with pytest.raises(ValueError, match=r"books_train\.svmlight is no svmlight file: "):
        load_amazon_reviews("5000", data_home=home("COUNTS", line))


def test_a_changed_text_is_refused(home):
    folder = home("COUNTS")
    path = folder / "amazon_reviews_5000" / "kitchen_test.svmlight"
    path.write_bytes(path.read_bytes()[:-1] + b" ")
    with pytest.raises(ValueError, match=r"kitchen_test\.svmlight is not the file .* SHA-256"):
        load_amazon_reviews("5000", data_home=folder)
