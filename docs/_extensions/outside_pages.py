"""Pages that live outside docs/, and links that hold on the site as they do among the files.

Pages link to one another as files do: ``[criteria](../benchmarks/results/criteria.md)``. Here the
files outside docs/ become pages in ``generated/``, and a link to one of them leads to its page; so
does a link to a program of the gallery. A link to a source file leads to the documented class whose
name it carries, and so does a public name in backticks.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import skatter
import skatter.methods

NAME = re.compile(r"(?<![`\[\w}])`(skatter(?:\.\w+)+|\w+)`(?!`)")
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s#:]+)(#[^)\s]*)?\)")


def setup(app):
    """Write the pages before anything is read, then mend the links of each that is read."""
    app.connect("builder-inited", write_pages, priority=100)
    app.connect("source-read", mend_links)
    return {"parallel_read_safe": True}


def outside(docs):
    """Return the name of a page for every file that lies outside docs/."""
    root = docs.parent
    results = sorted((root / "benchmarks" / "results").glob("*.md"))
    pages = {root / "README.md": "index"}
    included = ("CHANGELOG", "CONTRIBUTING")
    pages |= {root / f"{name}.md": f"generated/{name.lower()}" for name in included}
    return pages | {path: f"generated/results/{path.stem}" for path in results}


def write_pages(app):
    """Copy outside files into generated/, and list the pages of figures."""
    docs = Path(app.srcdir)
    for path, name in outside(docs).items():
        if name != "index":
            write(docs / f"{name}.md", path.read_text(encoding="utf-8"))
    figures = [name for name in outside(docs).values() if name.startswith("generated/results/")]
    listed = "\n".join(Path(name).name for name in figures)
    head = "# Figures behind the pages\n\nWhat the scripts in `benchmarks/` wrote, as it is.\n\n"
    write(docs / "generated/results/index.md", f"{head}```{{toctree}}\n{listed}\n```\n")


def write(path, text):
    """Write a file, unless it holds this text already: what is unchanged is not built again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not (path.exists() and path.read_text(encoding="utf-8") == text):
        path.write_text(text, encoding="utf-8")


def mend_links(app, docname, source):
    """Turn links between files into links between pages."""
    docs = Path(app.srcdir)
    page = docs / f"{docname}.md"
    if not page.exists():
        return
    pages = outside(docs)
    home = {name: path for path, name in pages.items()}.get(docname, page)
    if docname == "index":
        home = page

    def mend(link):
        text, target, anchor = link.groups()
        path = (home.parent / target).resolve()
        if path.parent == docs.parent / "examples":
            path = docs / "auto_examples" / f"{path.stem}.rst"
        elif docs.parent / "src" in path.parents:
            return f"{{py:class}}`{text} <{documented(text)}>`"
        elif path in pages:
            path = docs / f"{pages[path]}.md"
        elif home == page or docs not in path.parents:
            return link[0]
        return f"[{text}]({Path(os.path.relpath(path, page.parent)).as_posix()}{anchor or ''})"

    source[0] = NAME.sub(name_to_role, LINK.sub(mend, source[0]))


def name_to_role(code):
    """Turn a public name in backticks into a reference to its page, where it has one."""
    name = code[1]
    if "." not in name and name not in skatter.__all__:
        return code[0]
    return f"{{py:obj}}`{name} <{name if '.' in name else f'skatter.{name}'}>`"


def documented(name):
    """Return the public name under which a class is documented."""
    return f"skatter.{name}" if hasattr(skatter, name) else f"skatter.methods.{name}"
