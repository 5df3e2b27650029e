"""A figure as SVG that can stand inside a page.

Matplotlib writes SVG for a file of its own. Inside a page, identifiers of two figures must not
meet, a strict content security policy forbids style attributes, and the dark colours of a page
need figures that follow. So identifiers get a prefix, styles become attributes, and black, white
and greys become shades of the page's own ink.
"""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from skatter.pages import page_colour

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SVG = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"
_NO_METADATA = dict.fromkeys(("Date", "Creator", "Format", "Type"))
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_HEX = re.compile(r"#[0-9a-fA-F]{6}")
_SHORTHAND = re.compile(r"(?P<words>.*?)(?P<size>[\d.]+)px")
_INHERITED = {"stroke-linejoin": "round", "stroke-linecap": "butt"}


def inline_svg(figure: Figure, *, name: str, title: str) -> str:
    """Return a figure as an ``svg`` element; the same figure gives the same text.

    Parameters
    ----------
    figure : matplotlib Figure
        What to draw. It is not changed.
    name : str
        Unique in the page, fit for an identifier.
    title : str
        What a screen reader says in place of the picture.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> text = inline_svg(Figure(figsize=(1, 1)), name="empty", title="Nothing & more")
    >>> text[:5], "Nothing &amp; more" in text, "style" in text
    ('<svg ', True, False)
    """
    root = ElementTree.fromstring(_draw(figure, name))
    used = _used_names(root)
    for parent in root.iter():
        for child in [each for each in parent if each.tag in (f"{_SVG}style", f"{_SVG}metadata")]:
            parent.remove(child)
        _style_to_attributes(parent)
        _rename(parent, used, name)
        _follow_page(parent)
    width = float(root.attrib.pop("width").removesuffix("pt")) * 4 / 3
    del root.attrib["height"]
    root.attrib |= {"width": f"{width:.0f}", "role": "img", "aria-label": title, **_INHERITED}
    ElementTree.register_namespace("", _SVG.strip("{}"))
    return ElementTree.tostring(root, encoding="unicode")


def _draw(figure: Figure, name: str) -> str:
    from matplotlib import rc_context

    text = io.StringIO()
    # Text stays text: it is smaller, can be searched and takes the page's own fonts.
    with rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        figure.savefig(text, format="svg", metadata=_NO_METADATA)
    return text.getvalue()


def _used_names(root: ElementTree.Element) -> set[str]:
    """Return identifiers that something refers to."""
    values = " ".join(value for each in root.iter() for value in each.attrib.values())
    links = {each.attrib.get(_LINK, "").removeprefix("#") for each in root.iter()}
    return set(_REFERENCE.findall(values)) | links


def _style_to_attributes(element: ElementTree.Element) -> None:
    for declaration in element.attrib.pop("style", "").split(";"):
        key, _, value = (part.strip() for part in declaration.partition(":"))
        if key == "font":
            element.attrib |= _font(value)
        elif key and key != "font-family":
            element.set(key, value)


def _font(shorthand: str) -> dict[str, str]:
    """Split what older Matplotlib writes: style, weight, size and family in one.

    Examples
    --------
    >>> _font("italic 700 12px 'DejaVu Sans', sans-serif")
    {'font-size': '12px', 'font-style': 'italic', 'font-weight': '700'}
    """
    found = _SHORTHAND.match(shorthand)
    if found is None:
        return {}
    font = {"font-size": f"{found['size']}px"}
    for word in found["words"].split():
        if word in ("italic", "oblique"):
            font["font-style"] = word
        elif word.isdigit() or word in ("bold", "bolder", "lighter"):
            font["font-weight"] = word
    return font


def _rename(element: ElementTree.Element, used: set[str], prefix: str) -> None:
    own = element.attrib.pop("id", None)
    if own in used:
        element.set("id", f"{prefix}-{own}")
    link = element.attrib.pop(_LINK, None)
    if link is not None:
        element.set("href", f"#{prefix}-{link[1:]}" if link.startswith("#") else link)
    for key, value in element.attrib.items():
        element.set(key, _REFERENCE.sub(rf"url(#{prefix}-\1)", value))


def _follow_page(element: ElementTree.Element) -> None:
    """Give black, white, greys and dark colours a counterpart on a dark page."""
    if element.tag == f"{_SVG}text" and "fill" not in element.attrib:
        element.set("fill", "currentColor")
    for key in ("fill", "stroke"):
        colour = element.get(key, "")
        if _HEX.fullmatch(colour):
            element.set(key, page_colour(colour))
