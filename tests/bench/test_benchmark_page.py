"""The page about the benchmark says what the code does."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from skatter_bench.protocols import PROTOCOLS
from skatter_bench.published import published
from skatter_bench.store import PackedStore, pack
from skatter_bench.suites import SUITES
from skatter_bench.table import to_markdown
from skatter_bench.views import table_of

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "benchmark.md").read_text()


@pytest.fixture(scope="module")
def paper():
    """The script that makes the tables."""
    pytest.importorskip("matplotlib", reason='pip install "skatter[plot]"')
    spec = importlib.util.spec_from_file_location("paper", ROOT / "benchmarks" / "paper.py")
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "paper", module)
        spec.loader.exec_module(module)
        yield module


@pytest.fixture(scope="module")
def store(paper):
    """The packed records."""
    return PackedStore(paper.STORE)


@pytest.fixture(scope="module")
def sections(paper, store):
    """What the page of results is made of."""
    return list(paper.sections(store))


def test_grids_and_data_sets_of_the_page_are_those_of_the_code(paper):
    assert paper.grids_table() in PAGE
    assert paper.datasets_table() in PAGE


def test_every_protocol_is_explained():
    assert all(f"| `{name}` |" in PAGE for name in PROTOCOLS)


def test_the_page_of_results_is_made_of_suites_and_their_protocols(paper):
    for name, protocols in paper.SECTIONS.items():
        assert set(protocols) <= set(SUITES[name].protocols)


def test_the_tables_of_the_page_of_results_are_those_of_the_packed_records(sections):
    page = (ROOT / "docs" / "results.md").read_text()
    assert {"table1", "table2", "table3", "figure1"} <= {each.suite.name for each in sections}
    for section in sections:
        assert to_markdown(table_of(section.suite, section.outcomes)).strip() in page


def test_what_was_not_run_is_named_for_every_suite(paper, sections):
    nothing = "\n".join(paper.missing([]))
    assert all(f"- `{name}`: all of it" in nothing for name in paper.SECTIONS)
    told = list(paper.missing(sections))
    for section in sections:
        name = section.suite.name
        line = "".join(line for line in told if line.startswith(f"- `{name}`"))
        shown = {outcome.label for outcome in section.outcomes}
        rows = section.suite.contestants(section.protocol)
        assert all(row.label in line for row in rows if row.label not in shown)


def test_without_records_there_is_no_section(paper, tmp_path):
    pack([], tmp_path / "empty.xz")
    assert not list(paper.sections(PackedStore(tmp_path / "empty.xz")))


def test_a_number_far_from_the_papers_has_a_reason_or_is_called_unexplained(paper, store, sections):
    (section,) = (
        each for each in sections if (each.suite.name, each.protocol) == ("table1", "source-cv")
    )
    text = "\n".join(paper.far_from_the_paper(section, store))
    printed = published("table1")
    for each in section.outcomes:
        name = printed.name_of(each.contestant, each.classifier)
        value = None if name is None else printed.value(name, each.task)
        if value is not None and abs(each.accuracy - value) > 3:
            (line,) = (
                x for x in text.splitlines() if x.startswith(f"| {each.label} |") and each.task in x
            )
            assert f"{each.task} {each.accuracy - value:+.1f}" in line
            assert line.split("|")[3].strip()


def test_the_page_names_the_files_that_nobody_has(paper):
    page = (ROOT / "docs" / "results.md").read_text()
    for folder in ("office_caltech10_decaf6", "vlcs_decaf6", "ixmas"):
        assert f"Missing in the folder `{folder}`" in page
