"""Text of users inside a page: it stays text, wherever it stands and whatever it holds.

Jinja escapes what goes into markup. Two things are left: data inside a ``script`` element, which
ends at the first ``</script`` whatever JSON says; and characters that are not seen, but change how
their neighbours are shown.
"""

from __future__ import annotations

import json
import re
from typing import Any

_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_MARKUP = re.compile("[" + "".join(_UNSAFE) + "]")
_CONTROLS = re.compile("[\x00-\x1f\x7f]")
# C1 controls, bidirectional marks, embeddings, overrides and isolates, breaks of lines, lone
# surrogates, which no file can hold, and what marks the order of bytes.
_UNSEEN = re.compile(
    "[\x80-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufff9-\ufffb]"
)
_PICTURES = 0x2400
_DELETE = 0x7F


def json_island(value: Any) -> str:
    r"""Return JSON that can stand inside a ``script`` element as it is.

    Parameters
    ----------
    value : object
        What :mod:`json` takes; NaN and infinity are refused, for browsers refuse them too.

    Examples
    --------
    >>> json_island({"name": "</script>"})
    '{"name":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _MARKUP.sub(lambda found: _UNSAFE[found[0]], text)


def visible(text: Any) -> str:
    r"""Return text in which every character can be seen, and none moves another one.

    Control characters become their pictures; marks that change the direction of what follows, and
    all others that cannot be seen, become their number.

    Examples
    --------
    >>> visible("tab\there"), visible("a\u202eb")
    ('tab␉here', 'a⟨U+202E⟩b')
    """
    pictured = _CONTROLS.sub(_picture, str(text))
    return _UNSEEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", pictured)


def _picture(found: re.Match[str]) -> str:
    code = ord(found[0])
    return chr(_PICTURES + (0x21 if code == _DELETE else code))
