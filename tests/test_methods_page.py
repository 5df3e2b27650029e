"""The page of all methods says what the registry holds, and the one in docs/ is up to date."""

from __future__ import annotations

import re
import runpy
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from skatter import SCA
from skatter.methods import METHODS
from skatter.methods._record import say_needs

DOCS = Path(__file__).parents[1] / "docs"
sys.path.insert(0, str(DOCS))

import methods_page  # noqa: E402
from methods_page import methods_table, page, read_notes  # noqa: E402

SCA_ENTRY = METHODS["sca"]


def rows(text):
    """Cells of every row of every table, by the method's name."""
    lines = re.findall(r"^\| `(.*)\|$", text, re.MULTILINE)
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)] for line in lines]
    return {re.match(r"([^`]+)`", row[0])[1]: row for row in cells}


def use(monkeypatch, *methods):
    monkeypatch.setattr(methods_page, "METHODS", {method.name: method for method in methods})


# --- the page in docs -----------------------------------------------------------------------------


def test_the_page_in_docs_is_what_the_registry_gives():
    found = (DOCS / "methods.md").read_text(encoding="utf-8")
    remedy = "run: python docs/methods_page.py > docs/methods.md"
    assert found == page(), f"docs/methods.md is not what the registry gives; {remedy}"


def test_the_module_prints_the_page_and_nothing_else(capfd):
    runpy.run_path(str(DOCS / "methods_page.py"), run_name="__main__")
    assert capfd.readouterr() == (page(), "")


def test_every_link_of_the_page_leads_somewhere():
    links = re.findall(r"\]\(([^)]+)\)", page())
    files = {link for link in links if not link.startswith("#")}
    assert "../src/skatter/sca.py" in files
    assert [link for link in files if not (DOCS / link).is_file()] == []
    headings = set(re.findall(r"^#+ (.*)$", page(), re.MULTILINE))
    assert {link[1:] for link in links if link.startswith("#")} <= headings


def test_the_example_of_the_page_runs(three_domains):
    (code,) = re.findall(r"```python\n(.*?)```", page(), re.DOTALL)
    assert len(code.split("\n\n")[1].splitlines()) == 3
    given = {
        "X": three_domains.X,
        "y": three_domains.known,
        "site": three_domains.domain,
        "X_new": three_domains.X[three_domains.unlabelled],
    }
    exec(code, given)
    found = given["model"].predict(given["X_new"])
    assert np.mean(found == three_domains.y[three_domains.unlabelled]) > 0.8


# --- the table ------------------------------------------------------------------------------------


def test_every_method_has_one_row_with_all_that_is_known_of_it():
    assert methods_table().startswith("### Features\n")
    found = rows(methods_table())
    assert sorted(found) == sorted(METHODS)
    for name, cells in found.items():
        method = METHODS[name]
        assert len(cells) == 6
        assert f"[{method.estimator.__name__}](" in cells[0]
        plain = [re.sub(r"\\(.)", r"\1", cell) for cell in cells[1:]]
        assert plain == [
            method.summary,
            method.when,
            say_needs(method),
            method.cost,
            method.citation,
        ]


def test_kinds_are_grouped_and_an_empty_group_is_left_out(monkeypatch):
    use(
        monkeypatch,
        replace(SCA_ENTRY, name="a", kind="weights"),
        replace(SCA_ENTRY, name="b", kind="features"),
        replace(SCA_ENTRY, name="c", kind="weights"),
    )
    parts = re.split(r"^### (\w+)$", methods_table(), flags=re.MULTILINE)[1:]
    assert parts[::2] == ["Features", "Weights"]
    assert [list(rows(part)) for part in parts[1::2]] == [["b"], ["a", "c"]]


def test_what_markdown_would_read_as_its_own_is_escaped(monkeypatch):
    use(monkeypatch, replace(SCA_ENTRY, cost="|Z| * k * n <n>", summary="one\n  line"))
    (cells,) = rows(methods_table()).values()
    assert cells[4] == r"\|Z\| \* k \* n \<n>"
    assert cells[1] == "one line"


@pytest.mark.parametrize(
    ("needs", "uses", "words"),
    [
        ((), (), "nothing"),
        (("source labels", "one target"), (), "source labels, one target"),
        ((), ("target labels",), "nothing; target labels if there"),
        (
            ("one target",),
            ("source labels", "several sources"),
            "one target; source labels, several sources if there",
        ),
    ],
)
def test_needs_are_told_in_words(needs, uses, words):
    assert say_needs(replace(SCA_ENTRY, needs=needs, uses=uses)) == words


# --- advice ---------------------------------------------------------------------------------------


def advice(text):
    """Names of the methods for each situation."""
    found = re.findall(r"^- \*\*(.*):\*\* (`.*`)\.$", text, re.MULTILINE)
    return {situation: re.findall(r"`([^`]+)`", names) for situation, names in found}


def test_advice_follows_from_what_methods_need_and_use(monkeypatch):
    use(
        monkeypatch,
        replace(SCA_ENTRY, name="free", needs=(), uses=()),
        replace(SCA_ENTRY, name="supervised", needs=("source labels",), uses=("target labels",)),
        replace(SCA_ENTRY, name="adapts", needs=("one target",), uses=()),
        replace(SCA_ENTRY, name="few", needs=("source labels", "target labels"), uses=()),
        replace(SCA_ENTRY, name="many", needs=("source labels", "several sources"), uses=()),
    )
    assert list(advice(page()).values()) == [
        ["free", "supervised", "many"],
        ["free", "adapts"],
        ["supervised", "few"],
        ["many"],
    ]


def test_a_situation_without_a_method_is_left_out(monkeypatch):
    use(monkeypatch, replace(SCA_ENTRY, needs=("source labels", "one target"), uses=()))
    assert advice(page()) == {}


# --- notes ----------------------------------------------------------------------------------------


class Noted(SCA):
    """A method.

    Parameters
    ----------
    None.

    Notes
    -----
    Unlike :class:`~skatter.sca.SCA` and :func:`skatter.scatter.mmd`, ``x`` is

        x = 1

    and 3 is not reached.

    References
    ----------
    Nobody.
    """


class LastNoted(SCA):
    """A method.

    Notes
    -----
    The end.
    """


class NotNoted(SCA):
    """A method. Notes are not here."""


def test_notes_are_read_from_the_docstring():
    assert read_notes(replace(SCA_ENTRY, estimator=Noted)) == (
        "Unlike `SCA` and `skatter.scatter.mmd`, ``x`` is\n\n    x = 1\n\nand 3 is not reached."
    )
    assert read_notes(replace(SCA_ENTRY, estimator=LastNoted)) == "The end."
    assert read_notes(replace(SCA_ENTRY, estimator=NotNoted)) == ""


def test_notes_follow_the_table_and_are_linked_from_it(monkeypatch):
    use(
        monkeypatch,
        replace(SCA_ENTRY, name="plain", estimator=NotNoted),
        replace(SCA_ENTRY, name="noted", estimator=LastNoted),
    )
    assert page().endswith("\n\n### noted\n\nThe end.\n")
    found = rows(page())
    assert "[note](#noted)" in found["noted"][0]
    assert "note" not in found["plain"][0]


def test_a_page_without_notes_ends_with_the_table(monkeypatch):
    use(monkeypatch, replace(SCA_ENTRY, estimator=NotNoted))
    assert "## Notes" not in page()
    assert page().endswith(" |\n")
