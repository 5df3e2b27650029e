"""A real browser for the report, and a problem whose report is quickly made."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from skatter import SCA
from skatter.reporting import report

CHROMIUM = Path("/usr/bin/chromium")
# Without a sandbox, for CI runs as root; without errands of its own, for there is no network.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@dataclass(frozen=True, eq=False)
class Story:
    """Samples of two domains, of which one has hidden labels, and a model that was fitted."""

    X: np.ndarray
    y: np.ndarray
    site: np.ndarray
    seen: np.ndarray
    model: SCA

    def page(self, **options: Any) -> str:
        return report(self.model, self.X, self.y, self.site, labelled=self.seen, **options)


@pytest.fixture(scope="module")
def story(require: Callable[..., ModuleType]) -> Story:
    """Three classes in two places, moved and stretched in one of them."""
    require("jinja2", "report")
    rng = np.random.default_rng(3)
    y, site = np.tile([0, 1, 2], 60), np.repeat(["north", "south"], 90)
    X = rng.normal(size=(180, 5)) + 3 * np.eye(5)[y]
    X[site == "south"] = 1.3 * X[site == "south"] + [0, 0, 0, 2, 1]
    seen = site == "north"
    model = SCA(beta=0.3, delta=1.0, n_components=4)
    return Story(X, y, site, seen, model.fit(X, y, sample_domain=site, labelled=seen))


@pytest.fixture(scope="module")
def chromium(require: Callable[..., ModuleType]) -> Iterator[Any]:
    """Debian's Chromium without a window; skips where there is none, but fails where CI is set."""
    playwright = require("playwright.sync_api")
    if not CHROMIUM.exists():
        reason = f"there is no {CHROMIUM}: apt-get install chromium"
        if os.environ.get("CI"):
            pytest.fail(f"CI must not skip a test: {reason}")
        pytest.skip(reason)
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=str(CHROMIUM), args=list(FLAGS))
        yield browser
        browser.close()


@dataclass
class Visit:
    """A page that was opened, and what it said and asked for."""

    page: Any
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)


@pytest.fixture
def open_page(chromium: Any) -> Iterator[Callable[..., Visit]]:
    """Open a file at some width, and listen to what it says."""
    contexts = []

    def visit(path: Path, width: int = 1280, height: int = 900, **options: Any) -> Visit:
        options = {"reduced_motion": "reduce", **options}
        context = chromium.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        seen = Visit(context.new_page())
        seen.page.on("console", lambda message: seen.complaints.append(message.text))
        seen.page.on("pageerror", lambda error: seen.complaints.append(str(error)))
        seen.page.on("request", lambda request: seen.requests.append(request.url))
        seen.page.on(
            "dialog", lambda dialog: (seen.dialogs.append(dialog.message), dialog.accept())
        )
        seen.page.goto(path.as_uri())
        return seen

    yield visit
    for context in contexts:
        context.close()
