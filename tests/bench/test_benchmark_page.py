"""The page about the benchmark says what the code does."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from skatter_bench.protocols import PROTOCOLS
from skatter_bench.suites import SUITES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "benchmark.md").read_text()


@pytest.fixture
def paper(monkeypatch):
    """The script that makes the tables."""
    pytest.importorskip("matplotlib", reason='pip install "skatter[plot]"')
    spec = importlib.util.spec_from_file_location("paper", ROOT / "benchmarks" / "paper.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "paper", module)
    spec.loader.exec_module(module)
    return module


def test_grids_and_data_sets_of_the_page_are_those_of_the_code(paper):
    assert paper.grids_table() in PAGE
    assert paper.datasets_table() in PAGE


def test_every_protocol_is_explained():
    assert all(f"| `{name}` |" in PAGE for name in PROTOCOLS)


def test_the_page_of_results_is_made_of_suites_and_their_protocols(paper):
    for name, protocols in paper.SECTIONS.items():
        assert set(protocols) <= set(SUITES[name].protocols)
