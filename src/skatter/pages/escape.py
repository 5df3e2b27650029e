"""Data inside a ``script`` element, which ends at the first ``</script`` whatever JSON says."""

from __future__ import annotations

import json
import re
from typing import Any

_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_MARKUP = re.compile("[" + "".join(_UNSAFE) + "]")


def json_island(value: Any) -> str:
    r"""Return JSON that can stand inside a ``script`` element as it is.

    NaN and infinity are refused, for browsers refuse them too.

    Examples
    --------
    >>> json_island({"name": "</script>"})
    '{"name":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _MARKUP.sub(lambda found: _UNSAFE[found[0]], text)
