"""Everyday tables are what their catalogue says, and the repository holds those that it may."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import numpy as np
import pytest

from skatter.datasets import DATASETS, load_everyday_table
from skatter.datasets._everyday_tables import EVERYDAY_TABLES, EverydayTable
from skatter.datasets._home import data_home

ROOT = Path(__file__).parents[2]
COPIES = ROOT / "benchmarks" / "data" / "tables"
FREE = [table for table in EVERYDAY_TABLES.values() if table.in_repository]
OTHERS = [table for table in EVERYDAY_TABLES.values() if not table.in_repository]


@pytest.fixture(scope="module")
def script():
    """The script that makes the catalogue."""
    path = ROOT / "benchmarks" / "tables_catalogue.py"
    spec = importlib.util.spec_from_file_location("tables_catalogue", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def check(table: EverydayTable, home: Path | None) -> None:
    """Compare a file with the catalogue, array by array."""
    data = load_everyday_table(table.name, data_home=home)
    assert data.X.dtype == np.float64
    assert (
        data.X.shape == (sum(table.domains.values()), table.columns) == (len(data.y), table.columns)
    )
    assert len(data.columns) == len(set(data.columns)) == table.columns
    assert np.isnan(data.X).mean() == pytest.approx(table.missing, abs=1e-4)
    names, sizes = np.unique(data.domain, return_counts=True)
    assert dict(zip(names, sizes, strict=True)) == dict(table.domains)
    if table.class_names:
        assert data.y.dtype == np.int64
        assert np.unique(data.y).tolist() == list(range(len(table.class_names)))
    else:
        assert np.isfinite(data.y).all()
    codes = data.X[:, list(data.categorical)]
    known = codes[~np.isnan(codes)]
    assert (known == known.round()).all()
    assert (known >= 0).all()


@pytest.mark.parametrize("table", FREE, ids=lambda table: table.name)
def test_a_copy_in_the_repository_is_what_the_catalogue_says(table):
    check(table, COPIES.parent)


@pytest.mark.parametrize("table", OTHERS, ids=lambda table: table.name)
def test_a_table_in_the_data_home_is_what_the_catalogue_says(table):
    if not (data_home() / "tables").is_dir():
        pytest.skip("set SKATTER_DATA to the folder that holds the folder tables")
    check(table, None)


def test_there_are_52_tables_with_classes_and_20_with_numbers():
    tables = EVERYDAY_TABLES.values()
    tasks = [table.task for table in tables]
    assert (tasks.count("classification"), tasks.count("regression")) == (52, 20)
    assert all(
        bool(t.class_names) == (t.task == "classification") for t in EVERYDAY_TABLES.values()
    )


def test_the_repository_holds_these_tables_with_their_attribution_and_no_others():
    held = {path.stem for path in COPIES.glob("*.npz")}
    assert held == {table.name for table in FREE}
    page = (COPIES / "ATTRIBUTION.md").read_text()
    for table in FREE:
        assert f"| `{table.name}` | {table.source} | {table.licence} | {table.citation} |" in page
    assert sum(table.bytes for table in FREE) < 5e6


@pytest.mark.parametrize(
    ("licence", "free"),
    [
        ("CC0 (BTS data)", True),
        ("CC BY 4.0 (UCI 2)", True),
        ("US government work, public domain (NASA)", True),
        ("CC BY-NC-SA 4.0 (CrowdFlower)", False),
        ("CC BY 4.0 (UCI 481, raw data)", False),
        ("CC BY 4.0 (UCI); TfL open data", False),
        ("GPL (package); US CDC public domain", False),
        ("public (NYC TLC)", False),
    ],
)
def test_a_licence_must_allow_a_copy_in_all_its_parts(script, licence, free):
    assert script.may_be_copied(licence) == free


@pytest.mark.parametrize("name", ["penguins_sex", "youtube_spam", "gapminder_continents"])
def test_the_script_makes_this_catalogue(script, name):
    catalogue = json.loads(script.CATALOGUE.read_text(encoding="utf-8"))
    row = next(each for each in catalogue if each["name"] == name)
    made = json.loads(json.dumps(script.entry(row, COPIES)))
    assert made == row


def test_categories_are_named_and_missing_values_are_kept():
    data = load_everyday_table("adult_age", data_home=COPIES.parent)
    assert [data.columns[j] for j in data.categorical][:2] == ["marital", "occupation"]
    assert np.isnan(data.X).any()
    some = data.of(["17-25"])
    assert (some.columns, some.categorical) == (data.columns, data.categorical)


def test_a_changed_file_is_refused(tmp_path):
    (tmp_path / "tables").mkdir()
    bytes_ = bytearray((COPIES / "penguins_sex.npz").read_bytes())
    bytes_[-1] ^= 1
    (tmp_path / "tables" / "penguins_sex.npz").write_bytes(bytes_)
    with pytest.raises(ValueError, match="SHA-256 expected"):
        load_everyday_table("penguins_sex", data_home=tmp_path)


def test_a_missing_copy_is_pointed_to_in_the_repository(tmp_path):
    with pytest.raises(FileNotFoundError, match=re.escape("benchmarks/data")):
        DATASETS["penguins_sex"].load(data_home=tmp_path)
    with pytest.raises(FileNotFoundError, match="carData") as caught:
        DATASETS["titanic_class"].load(data_home=tmp_path)
    assert "benchmarks/data" not in str(caught.value)


def test_an_unknown_table_gives_the_nearest_name_or_all():
    with pytest.raises(ValueError, match="Did you mean 'wine_quality'"):
        load_everyday_table("wine_qualities")
    with pytest.raises(ValueError, match="There are acs_wage_states, adult_age"):
        load_everyday_table("xyzzy")
