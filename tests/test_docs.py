"""Code in the docs runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

DOCS = Path(__file__).parents[1] / "docs"
PAGES = {
    "gpu": "torch",
    "scale": None,
    "landmarks": None,
    "regression": None,
    "choosing": None,
    "self-training": None,
}


def data():
    """What the pages call X, y and site."""
    rng = np.random.default_rng(0)
    y, site = np.tile([0, 1, 2], 300), np.repeat(["north", "south", "east"], 300)
    X = rng.normal(size=(900, 5)) + 3 * np.eye(3, 5)[y] + (site == "east")[:, None]
    known = np.where(site == "east", -1, y)
    parts = {"X_new": X[:5], "X_some": X, "parts": [(X, known, site)]}
    return {"X": X, "y": known, "site": site, **parts}


@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_a_page_runs(page, require):
    if PAGES[page]:
        require(PAGES[page], PAGES[page])
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / f"{page}.md").read_text(), re.DOTALL)
    assert blocks, f"docs/{page}.md shows no code"
    names = data()
    for block in blocks:
        exec(compile(block, f"docs/{page}.md", "exec"), names)


def test_every_link_between_pages_leads_somewhere():
    link = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
    missing = [
        f"{page.name}: {target}"
        for page in [DOCS.parent / "README.md", *DOCS.glob("*.md")]
        for target in link.findall(page.read_text())
        if not (page.parent / target).exists()
    ]
    assert not missing
