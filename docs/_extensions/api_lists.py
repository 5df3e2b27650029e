"""The API reference: one page a room, one page a name, read from what each room says is public."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from pathlib import Path

from outside_pages import write

ROOMS = (
    "skatter",
    "skatter.selection",
    "skatter.selection.criteria",
    "skatter.methods",
    "skatter.hedging",
    "skatter.self_training",
    "skatter.scatter",
    "skatter.theory",
    "skatter.tables",
    "skatter.diagnosis",
    "skatter.adaptation",
    "skatter.saving",
    "skatter.reporting",
    "skatter.plots",
    "skatter.datasets",
    "skatter.pieces",
    "skatter.trees",
    "skatter.maps",
    "skatter.moments",
    "skatter.labels",
    "skatter.domains",
    "skatter.kernels",
)


def setup(app):
    """Write the lists before autosummary reads them."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("builder-inited", write_lists, priority=200)
    app.connect("autodoc-skip-member", skip_what_others_document)
    return {"parallel_read_safe": True}


def skip_what_others_document(app, what, name, member, skip, options):
    """Leave out members that come from scikit-learn, which documents them."""
    return skip or str(getattr(member, "__module__", "")).startswith("sklearn")


def write_lists(app):
    """Write a page for every room that is there, and the page that lists them."""
    folder = Path(app.srcdir) / "generated" / "api"
    home = {}  # a name that several rooms share has one page, in the first of them
    rooms = [importlib.import_module(name) for name in ROOMS if importlib.util.find_spec(name)]
    for room in rooms:
        write(folder / f"{room.__name__}.rst", room_page(room, home))
    write(folder / "index.rst", index_page(rooms))
    app.env.find_files(app.config, app.builder)  # autosummary looks at pages that were found


def index_page(rooms):
    """List the rooms, each with the first sentence that it says of itself."""
    names = [room.__name__ for room in rooms]
    said = [inspect.getdoc(room).partition("\n")[0] for room in rooms]
    rows = "\n".join(
        f"   * - :doc:`{name}`\n     - {line}" for name, line in zip(names, said, strict=True)
    )
    tree = "\n".join(f"   {name}" for name in names)
    parts = [heading("API reference"), "Everything public, by room."]
    parts += [f".. list-table::\n   :widths: 30 70\n\n{rows}"]
    parts += [f".. toctree::\n   :hidden:\n\n{tree}\n"]
    return "\n\n".join(parts)


def room_page(room, home):
    """Describe a room: what it says of itself, then its classes, functions and constants."""
    kinds = {"Classes": [], "Functions": [], "Also here": [], "Constants": []}
    for name in public_names(room):
        value = getattr(room, name)
        if not callable(value):
            kinds["Constants"].append(f"``{name}``")
        elif value in home:
            kinds["Also here"].append(f":py:obj:`~{home[value]}`")
        else:
            home[value] = f"{room.__name__}.{name}"
            kinds["Classes" if inspect.isclass(value) else "Functions"].append(name)
    parts = [heading(room.__name__), f".. automodule:: {room.__name__}\n   :no-members:\n"]
    for kind, names in kinds.items():
        if names:
            parts.append(f".. rubric:: {kind}\n\n{listing(kind, names)}")
    return "\n".join(parts)


def listing(kind, names):
    """List names: those with pages of their own in a table, the others in a line."""
    if kind not in ("Classes", "Functions"):
        return ", ".join(names) + "\n"
    rows = "\n".join(f"   {name}" for name in names)
    return f".. autosummary::\n   :toctree: names\n   :nosignatures:\n\n{rows}\n"


def public_names(room):
    """Return the names in ``__all__``, or else those that the room defines itself."""
    if hasattr(room, "__all__"):
        return [name for name in room.__all__ if not name.startswith("_")]
    own = {
        name: value
        for name, value in vars(room).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == room.__name__
    }
    return sorted(name for name, value in own.items() if callable(value))


def heading(text):
    """Underline a heading."""
    return f"{text}\n{'=' * len(text)}\n"
