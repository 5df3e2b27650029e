"""A page from a template: style and script inside, and a policy that allows these two alone."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

SHELL = "page.html.j2"
"""What every template extends."""

_HERE = "skatter.pages"


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
        loader=FunctionLoader(lambda name: read_part(_HERE if name == SHELL else package, name)),
    )
    environment.filters |= {"sha256": _policy_hash, "arrows": _arrows, "markup": Markup}
    return environment.get_template(template).render(
        **content,
        style="".join([read_part(_HERE, "page.css"), style]),
        script="".join([read_part(_HERE, "page.js"), script]),
    )


def require_engine() -> None:
    """Say what to install where templates cannot be filled in; call it before any work."""
    try:
        import jinja2  # noqa: F401
    except ImportError as error:
        raise ImportError('A report needs jinja2: pip install "skatter[report]".') from error


def read_part(package: str, name: str) -> str:
    """Return a text file of a package: a template, a style or a script."""
    return files(package).joinpath(name).read_text(encoding="utf-8")


def _policy_hash(text: str) -> str:
    """Return what a content security policy calls an inline style or script."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def _arrows(text: str) -> str:
    """Write the arrow of a task as one sign, which no line break can split."""
    return text.replace("->", "→")
