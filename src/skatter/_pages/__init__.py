"""Pages: what the HTML files of this project share.

A page is one file that needs nothing but a browser. Style and script are inside it, and its content
security policy allows these and no request at all. It is light or dark as the reader wants, can
be read without the script, and prints. Whatever comes from data is text in it, never markup.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from skatter._extras import need
from skatter._files import write_atomically

__all__ = [
    "check_path",
    "json_island",
    "page_colour",
    "read_part",
    "render_page",
    "require_engine",
    "write_page",
]

SHELL = "page.html.j2"  # what every template extends

_TOO_DARK = 0.2
_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_MARKUP = re.compile("[" + "".join(_UNSAFE) + "]")


def render_page(
    package: str, template: str, *, style: str, script: str, content: Mapping[str, Any]
) -> str:
    """Fill in a template that extends ``page.html.j2``.

    What the template does not mark as markup is escaped; a name that it uses and ``content`` lacks
    is an error.
    """
    require_engine()
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(lambda name: read_part(__name__ if name == SHELL else package, name)),
    )
    # An arrow as one sign, which no line break can split.
    environment.filters["arrows"] = lambda text: text.replace("->", "→")
    environment.filters |= {"sha256": _policy_hash, "markup": Markup}
    return environment.get_template(template).render(
        **content,
        style=read_part(__name__, "page.css") + style,
        script=read_part(__name__, "page.js") + script,
    )


def require_engine() -> None:
    """Say what to install if templates cannot be filled in; call it before any work."""
    need("jinja2", 'A report needs jinja2: pip install "skatter[report]".')


def read_part(package: str, name: str) -> str:
    """Return a text file of a package: a template, a style or a script."""
    return files(package).joinpath(name).read_text(encoding="utf-8")


def _policy_hash(text: str) -> str:
    """Return what a content security policy calls an inline style or script."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def check_path(path: str | os.PathLike[str], *, force: bool) -> Path:
    """Say what is wrong with a path before any work is done."""
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"path must be a file, got the folder {target}.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"path {target}: there is no folder {target.parent}.")
    if target.exists() and not force:
        raise FileExistsError(f"{target} exists; force=True replaces it.")
    return target


def write_page(path: Path, page: str, *, force: bool) -> None:
    """Write a page as a whole or not at all."""
    check_path(path, force=force)  # somebody else may have written it in the meantime
    write_atomically(path, lambda part: part.write_bytes(page.encode("utf-8")))


def json_island(value: Any) -> str:
    r"""Return JSON that can stand inside a ``script`` element as it is.

    Such an element ends at the first ``</script``, whatever JSON says. NaN and infinity are
    refused, because browsers refuse them too.

    Examples
    --------
    >>> json_island({"name": "</script>"})
    '{"name":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _MARKUP.sub(lambda found: _UNSAFE[found[0]], text)


def page_colour(colour: str) -> str:
    """Return greys as shades of the page's ink, and dark colours lighter where the page is dark.

    Examples
    --------
    >>> page_colour("#000000")
    'color-mix(in srgb, currentColor 100%, var(--card))'
    >>> page_colour("#bd1f01")
    'light-dark(#bd1f01, color-mix(in oklab, #bd1f01 55%, white))'
    >>> page_colour("#ffa90e")
    '#ffa90e'
    """
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    if red == green == blue:
        return f"color-mix(in srgb, currentColor {100 * (1 - red):.0f}%, var(--card))"
    brightness = 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2
    if brightness > _TOO_DARK:
        return colour
    return f"light-dark({colour}, color-mix(in oklab, {colour} 55%, white))"
