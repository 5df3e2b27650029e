"""Code in the docs runs as it stands: every block of every page that is not marked."""

from __future__ import annotations

import importlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import chdir
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("few_trees")

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = {page.stem: page for page in sorted(DOCS.glob("*.md"))}

ELSEWHERE = {
    "streaming": "tests/pieces/test_chunks.py",
    "cluster": "tests/pieces/test_dask.py",
}
"""Pages that need files or workers of their own, and who runs them."""

NEEDS = {
    "class-imbalance": ("pandas", "table"),
    "command-line": ("pandas", "table"),
    "few-labels": ("pandas", "table"),
    "gpu": ("torch", "torch"),
    "index": ("pandas", "table"),
    "pandas": ("pandas", "table"),
    "quickstart": ("pandas", "table"),
    "scale": ("pyarrow", "table"),
}
"""The optional module of a page, and the extra that brings it."""

REASONS = ("needs a cluster", "needs the data sets")
"""Why a block may be marked as not run."""

NOT_HERE = ("pip install ", "skatter demo")
"""Commands that are left out: they install, or are run by tests of their own."""

LANGUAGES = ("python", "bash", "toml", "text", "{image}", "{toctree}")
FENCE = re.compile(
    r"^(?:<!-- not run: (.*?) -->\n)?```(\S*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
SHELL = re.compile(r"^    (skatter|pip|make|dask|export|python) ", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """What stands between two fences; ``reason`` is why it is not run."""

    language: str
    text: str
    reason: str | None


def blocks_of(page: str) -> list[Block]:
    found = FENCE.findall(PAGES[page].read_text(encoding="utf-8"))
    return [Block(language, text, reason or None) for reason, language, text in found]


def runnable(page: str, language: str) -> list[str]:
    blocks = [each for each in blocks_of(page) if each.language == language]
    return [each.text for each in blocks if each.reason is None]


def commands_of(page: str) -> list[str]:
    """Return the commands of a page, each on one line, less those that are not for tests."""
    lines = re.sub(r"\\\n|(?<=\|)\n", " ", "".join(runnable(page, "bash"))).splitlines()
    commands = [" ".join(line.split()) for line in lines]
    return [each for each in commands if each and not each.startswith(NOT_HERE)]


WITH_PYTHON = [page for page in PAGES if page not in ELSEWHERE and runnable(page, "python")]
WITH_COMMANDS = [page for page in PAGES if commands_of(page)]


def data():
    """What the pages call X, y and site."""
    rng = np.random.default_rng(0)
    y, site = np.tile([0, 1, 2], 100), np.repeat(["north", "south", "east"], 100)
    X = rng.normal(size=(300, 5)) + 3 * np.eye(3, 5)[y] + (site == "east")[:, None]
    known = np.where(site == "east", -1, y)
    parts = {"X_new": X[:5], "X_some": X, "parts": [(X, known, site)]}
    return {"X": X, "y": known, "site": site, **parts}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def few_digits(digits, require, tmp_path_factory):
    """The table of digits that ``skatter demo`` writes, thinned to 60 of each collection."""
    require("typer", "cli")
    from skatter.cli._demo import write_samples

    rng = np.random.default_rng(0)
    own = [np.flatnonzero(digits.domain == name) for name in ("mnist", "uci")]
    few = digits.take(np.concatenate([rng.choice(each, 60, replace=False) for each in own]))
    return write_samples(few, tmp_path_factory.mktemp("digits"), labelled="mnist", seed=0)


@pytest.fixture
def demo(folder, few_digits):
    """A folder with what ``skatter demo`` leaves there."""
    (folder / "demo").mkdir()
    shutil.copy(few_digits, folder / "demo")
    return folder


# --- pages --------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", WITH_PYTHON)
def test_the_python_code_of_a_page_runs(page, require, request):
    request.getfixturevalue("demo" if page == "quickstart" else "folder")
    if page in NEEDS:
        require(*NEEDS[page])
    names = data()
    for block in runnable(page, "python"):
        exec(compile(block, f"docs/{page}.md", "exec"), names)


@pytest.fixture(scope="module")
def run_command(few_digits, tmp_path_factory):
    """Run a command beside what ``skatter demo`` leaves there, once for all pages that show it."""
    folder = tmp_path_factory.mktemp("commands")
    (folder / "demo").mkdir()
    shutil.copy(few_digits, folder / "demo")

    @cache
    def run(command: str) -> str:
        with chdir(folder):
            return in_a_shell(command) if "|" in command else in_this_process(command)

    return run


def in_this_process(command: str) -> str:
    """Run a command whose words are all that a shell does for it; saves the imports."""
    from typer.testing import CliRunner

    from skatter.cli import build_app

    program, *words = shlex.split(command)
    assert program == "skatter"
    done = CliRunner().invoke(build_app(), words, catch_exceptions=False)
    assert done.exit_code == 0, f"{command}\n{done.output}"
    return done.stdout


def in_a_shell(command: str) -> str:
    tools = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        env={**os.environ, "PATH": tools, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("page", WITH_COMMANDS)
def test_the_commands_of_a_page_run(page, run_command, require):
    require(*NEEDS[page])
    said = "\n".join(map(run_command, commands_of(page)))
    for shown in runnable(page, "text"):
        assert shown.splitlines()[0] in said


@pytest.mark.parametrize("page", PAGES)
def test_no_code_of_a_page_escapes_the_tests(page):
    text = PAGES[page].read_text(encoding="utf-8")
    outside = FENCE.sub("", text)
    assert SHELL.findall(outside) == [], "commands belong between fences that say bash"
    assert text.count("<!-- not run") == sum(each.reason is not None for each in blocks_of(page))
    for block in blocks_of(page):
        assert block.language in LANGUAGES, f"what is {block.language!r}? one of {LANGUAGES}"
        assert block.reason is None or (block.reason in REASONS and block.language == "bash")


def test_pages_that_others_run_are_run_there():
    for page, file in ELSEWHERE.items():
        assert f"{page}.md" in (ROOT / file).read_text(encoding="utf-8")


def test_every_link_between_pages_leads_somewhere():
    link = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
    missing = [
        f"{page.name}: {target}"
        for page in [ROOT / "README.md", *PAGES.values()]
        for target in link.findall(page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    ]
    assert not missing


@pytest.mark.parametrize("page", ["which-method", "printed"])
def test_figures_of_a_guide_are_those_of_the_results(page):
    results = [DOCS / "results.md", *(ROOT / "benchmarks" / "results").glob("*.md")]
    known = "\n".join(path.read_text(encoding="utf-8") for path in results)
    figures = set(
        re.findall(r"(?<![\d.])\d\d\.\d\d(?!\d)", PAGES[page].read_text(encoding="utf-8"))
    )
    assert len(figures) >= 5
    assert {figure for figure in figures if not re.search(rf"\b{figure}\b", known)} == set()


def test_every_name_that_the_pages_give_in_full_exists():
    pages = "\n".join(page.read_text(encoding="utf-8") for page in PAGES.values())
    names = set(re.findall(r"`(skatter(?:\.\w+)+)`", pages))
    assert len(names) > 30
    assert sorted(name for name in names if not is_there(name)) == []


def is_there(name: str) -> bool:
    """Tell whether a dotted name is a module, or what one holds."""
    room, _, last = name.rpartition(".")
    try:
        return hasattr(importlib.import_module(room), last) or bool(importlib.import_module(name))
    except ImportError:
        return False
