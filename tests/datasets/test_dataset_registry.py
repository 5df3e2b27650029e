"""The registry of data sets is the one source of truth, and the record keeps rows together."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest
from scipy import sparse

from skatter.datasets import DATASETS, Dataset, DatasetInfo, get_dataset, make_figure1
from skatter_bench.cells import cells, run_cell
from skatter_bench.contestants import contestants
from skatter_bench.tasks import Task

NAMES = (
    "digits figure1 mnist_usps mnist_usps_draw msrc_voc office_surf office_decaf6 office_googlenet "
    "office_effnet vlcs ixmas rotated_mnist pacs amazon_400 amazon_5000 parkinsons "
    "mushrooms phishing mnist_usps_parts covariate_shift target_shift conditional_shift "
    "subspace_shift"
)


def test_the_data_sets_are_these():
    assert " ".join(name for name, info in DATASETS.items() if not info.collection) == NAMES
    assert all(info.name == name for name, info in DATASETS.items())


@pytest.mark.parametrize("name", DATASETS)
def test_an_entry_is_complete(name):
    info = DATASETS[name]
    assert info.summary.endswith(".")
    assert "\n" not in info.summary
    assert len(info.domains) == len(set(info.domains)) == len(info.sizes) >= 2
    assert min(info.sizes) > 0
    assert info.n_features > 0
    assert info.n_classes != 1


@pytest.mark.parametrize("name", DATASETS)
def test_an_entry_knows_what_its_loader_takes(name):
    info = DATASETS[name]
    taken = inspect.signature(info.loader).parameters
    assert ("random_state" in taken) == info.seeded
    assert ("domains" in taken) == info.some
    assert ("data_home" in taken) == (info.source is not None)
    assert "download_if_missing" in taken or not info.downloadable


@pytest.mark.parametrize("name", [name for name in DATASETS if DATASETS[name].source])
def test_without_files_an_entry_says_what_to_put_where(name, tmp_path):
    with pytest.raises(FileNotFoundError, match=re.escape(f"Put it at {tmp_path}")):
        DATASETS[name].load(data_home=tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", [name for name in DATASETS if DATASETS[name].source])
def test_files_are_known_by_their_bytes_or_by_their_shape(name):
    for file in DATASETS[name].source.files.values():
        assert (file.size is None) == (file.sha256 is None) != (file.shape is None)
        assert file.sha256 is None or re.fullmatch("[0-9a-f]{64}", file.sha256)
        assert file.url == "" or (file.url.startswith("https://") and file.sha256)


def test_only_sets_with_a_licence_for_it_are_downloadable():
    assert {name for name in DATASETS if DATASETS[name].downloadable} == {
        "amazon_5000",
        "mnist_usps_draw",
        "parkinsons",
    }


def test_a_name_gives_its_entry():
    assert get_dataset("pacs") is DATASETS["pacs"]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("ofice_surf", "office_surf"), ("amazon-400", "amazon_400"), ("parkinson", "parkinsons")],
)
def test_a_typo_gives_the_nearest_name(typed, meant):
    with pytest.raises(ValueError, match=f"no data set '{typed}'. Did you mean '{meant}'?"):
        get_dataset(typed)


@pytest.mark.parametrize("typed", ["xyzzy", None])
def test_a_name_like_none_lists_all_but_collections(typed):
    with pytest.raises(ValueError, match=f"no data set {typed!r}") as caught:
        get_dataset(typed)
    assert "Did you mean" not in str(caught.value)
    assert NAMES.replace(" ", ", ") in str(caught.value)


def test_loading_hands_options_to_the_loader():
    np.testing.assert_array_equal(
        get_dataset("figure1").load(n_per_cluster=4, random_state=7, data_home="nowhere").X,
        make_figure1(4, random_state=7).X,
    )
    with pytest.raises(TypeError, match="preprocess"):
        get_dataset("figure1").load(preprocess=True)


def test_loading_some_domains_of_a_set_without_files():
    every, some = make_figure1(), get_dataset("figure1").load(domains=["target"])
    np.testing.assert_array_equal(some.X, every.X[every.domain == "target"])


def test_a_data_set_is_a_loader_and_a_line_in_the_registry(monkeypatch):
    def load_tiny():
        X, y = np.arange(40.0).reshape(20, 2), np.tile([0, 1], 10)
        domain = np.repeat(["here", "there"], 10)
        return Dataset("tiny", X, y, domain, ("even", "odd"), "Nobody.", "None.")

    with pytest.raises(ValueError, match="There is no data set 'tiny'"):
        get_dataset("tiny")
    entry = DatasetInfo(
        "tiny", load_tiny, "Two small domains.", ("here", "there"), (10, 10), 2, 2, "Nobody."
    )
    monkeypatch.setitem(DATASETS, "tiny", entry)
    assert get_dataset("tiny").load(domains=["there"]).X.shape == (10, 2)
    # The benchmark finds it by its name.
    task = Task("here->there", "tiny", ("here",), ("there",), "adaptation", 2, "toy")
    (raw,) = contestants("adaptation", names=["raw"])[:1]
    (score,) = run_cell(cells(task, raw, "target", seed=0)[0])
    assert score["total"] == 10


# --- the record -----------------------------------------------------------------------------------


@pytest.fixture(params=["dense", "sparse"])
def data(request):
    X = np.arange(12.0).reshape(6, 2)
    return Dataset(
        name="tiny",
        X=X if request.param == "dense" else sparse.csr_matrix(X),
        y=np.arange(6),
        domain=np.array(["b", "a", "b", "c", "a", "b"]),
        class_names=tuple("012345"),
        citation="Nobody.",
        preprocessing="None.",
        part=np.array(["train", "test"] * 3),
    )


def test_domains_are_kept_in_the_order_of_the_rows(data):
    some = data.of(["c", "b"])
    assert some.y.tolist() == [0, 2, 3, 5]
    assert some.domain.tolist() == ["b", "b", "c", "b"]
    assert some.part.tolist() == ["train", "train", "test", "test"]
    X = some.X.toarray() if sparse.issparse(some.X) else some.X
    np.testing.assert_array_equal(X, [[0, 1], [4, 5], [6, 7], [10, 11]])
    assert (some.name, some.class_names) == (data.name, data.class_names)


def test_rows_are_taken_by_index_or_mask(data):
    by_index = data.take(np.array([4, 1]))
    assert by_index.y.tolist() == [4, 1]
    by_mask = data.take(data.part == "test")
    assert by_mask.y.tolist() == [1, 3, 5]
    assert make_figure1(2).take(np.array([0])).part is None


@pytest.mark.parametrize("domains", [[], ["a", "a"], ["d"]])
def test_odd_domains_are_refused(data, domains):
    with pytest.raises(ValueError, match="domains must be some of b, a, c, each once"):
        data.of(domains)
