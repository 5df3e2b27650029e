"""The data of SKADA-Bench: tables that are read right, shifts as drawn there, parts by seed."""

from __future__ import annotations

import gzip
import sys
from dataclasses import replace

import numpy as np
import pytest
import sklearn
from tiny_files import known

from skatter.datasets import _skada_bench as skada_bench
from skatter.datasets._skada_bench import (
    SHIFTS,
    draw_parts,
    load_mushrooms,
    load_phishing,
    make_shift,
)

MUSHROOMS = "target,odor,stalk-shape\n" + "p,a,t\ne,b,e\np,c,e\ne,a,t\n" * 5
PHISHING = "f0,f1,label\n" + "1,0,1\n-1,1,-1\n-1,-1,1\n1,1,-1\n" * 5


@pytest.fixture
def put(tmp_path, monkeypatch):
    """Write the packed file of a source into a data home, and let the loader know it as it is."""

    def put(name, content):
        source = getattr(skada_bench, name)
        path = tmp_path / source.folder / source.files["all"].name
        path.parent.mkdir()
        path.write_bytes(gzip.compress(content.encode()))
        monkeypatch.setattr(skada_bench, name, replace(source, files={"all": known(path)}))
        return tmp_path

    return put


def test_mushrooms_are_one_hot_and_the_stalk_is_the_domain(put):
    data = load_mushrooms(data_home=put("MUSHROOMS", MUSHROOMS))
    assert data.domain.tolist() == ["enlarging"] * 10 + ["tapering"] * 10
    assert data.y[:2].tolist() == [0, 1]
    assert data.y[10:12].tolist() == [1, 0]
    # odor a, b, c, then stalk e, t
    np.testing.assert_array_equal(data.X[:2], [[0, 1, 0, 1, 0], [0, 0, 1, 1, 0]])
    np.testing.assert_array_equal(data.X[10:12], [[1, 0, 0, 0, 1], [1, 0, 0, 0, 1]])
    assert data.class_names == ("edible", "poisonous")


def test_sites_are_parted_by_their_first_column_which_stays_a_feature(put):
    data = load_phishing(data_home=put("PHISHING", PHISHING))
    assert data.domain.tolist() == ["no_ip"] * 10 + ["ip"] * 10
    np.testing.assert_array_equal(data.X[:2], [[-1, 1], [-1, -1]])
    assert data.y[:2].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("f0,f1\n1,1\n", r"holds no column label\. Its columns are f0, f1"),
        ("f0,f1,label\n1,1\n", "has rows of other lengths"),
        ("f0,f1,label\n1,1,2\n", "holds a label other than -1, 1"),
        ("f0,f1,label\n1,a,1\n", "is no table of numbers"),
    ],
)
def test_another_file_is_refused(put, content, words):
    with pytest.raises(ValueError, match=words):
        load_phishing(data_home=put("PHISHING", content))


def test_a_fifth_of_every_class_in_every_domain_is_for_testing():
    y, domain = np.tile([0, 0, 0, 1], 50), np.repeat(["a", "b"], 100)
    part = draw_parts(y, domain, random_state=3)
    for name in ("a", "b"):
        test = (part == "test") & (domain == name)
        assert np.bincount(y[test]).tolist() == [15, 5]
    assert set(part.tolist()) == {"train", "test"}


def test_seeds_part_differently_and_each_the_same_way_again():
    y, domain = np.tile([0, 1], 50), np.repeat(["a", "b"], 50)
    one, again, other = (draw_parts(y, domain, random_state=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()


@pytest.mark.parametrize("shift", SHIFTS)
def test_shifts_are_those_of_scikit_adaptation(require, shift):
    with sklearn.config_context():  # skada's import switches metadata routing on
        drawn = require("skada.datasets").make_shifted_datasets
        n, noise = {"subspace": (300, 0.4), "covariate_shift": (100, 0.6)}.get(shift, (100, 0.8))
        X, y, place = drawn(
            n, n, shift, noise=noise, label="binary", center_cov_shift=(-0.4, 3), random_state=2
        )
        data = make_shift(shift, random_state=2)
    source = data.domain == "source"
    np.testing.assert_array_equal(data.X[source], X[place > 0])
    np.testing.assert_array_equal(data.y[~source], y[place < 0])
    assert np.mean(data.part == "test") == pytest.approx(0.2)


def test_without_scikit_adaptation_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "skada.datasets", None)
    with pytest.raises(ImportError, match=r"drawn by scikit-adaptation, .* pip install skada"):
        make_shift("subspace")


def test_an_unknown_shift_is_refused():
    with pytest.raises(ValueError, match="shift must be one of"):
        make_shift("sideways")
