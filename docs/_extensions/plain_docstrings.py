"""Docstrings are plain text that people read in a terminal; here they become reStructuredText.

Three habits of plain text mean something else there: names that end in an underscore, bars around
a number, and formulas that are set off by their indentation.
"""

from __future__ import annotations

import re

QUOTED = re.compile(r"(``.*?``|`.*?`_{0,2})")
NAMING = ("Parameters", "Attributes", "Other Parameters")
"""Sections whose lines begin with a name, which numpydoc escapes by itself."""


def setup(app):
    """Mend docstrings before numpydoc reads them."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", mend_docstring, priority=100)
    return {"parallel_read_safe": True}


def mend_docstring(app, what, name, obj, options, lines):
    """Escape what is text, and mark what is a formula."""
    mended, listing, literal = [], False, None
    for number, line in enumerate(lines):
        depth = len(line) - len(line.lstrip())
        if literal is not None and line.strip() and depth < literal:
            literal = None
        if literal is None and is_set_off(lines, number):
            literal = depth
            mended += [" " * depth_before(lines, number) + "::", ""]
        if number and set(line) == {"-"}:
            listing = lines[number - 1] in NAMING
        plain = literal is None and not line.lstrip().startswith((">>>", "...", ".."))
        mended.append(escape(line, names=listing and depth == 0) if plain else line)
    lines[:] = mended


def is_set_off(lines, number):
    """Tell whether a block that is indented deeper than the text before it begins at this line."""
    before = [line for line in lines[:number] if line.strip()]
    if not before or not lines[number].strip() or lines[number - 1].strip():
        return False
    depth = len(lines[number]) - len(lines[number].lstrip())
    leads = before[-1].lstrip().startswith((">>>", "..", "- ", "* ")) or before[-1].endswith("::")
    return not leads and depth_before(lines, number) < depth


def depth_before(lines, number):
    """Return the indentation of the last line of text before this one."""
    before = [line for line in lines[:number] if line.strip()]
    return len(before[-1]) - len(before[-1].lstrip())


def escape(line, *, names):
    """Escape underscores at the end of words and bars, but not in quotes nor in a name."""
    head, colon, tail = line.partition(" : ") if names else ("", "", line)
    if names and not colon:
        return line
    parts = QUOTED.split(tail)
    parts[::2] = [re.sub(r"(?<=\w)_(?!\w)|\|", r"\\\g<0>", part) for part in parts[::2]]
    return head + colon + "".join(parts)
