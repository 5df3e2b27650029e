"""What is known of the data sets: their files, and whom to cite; it stands in ``facts.json``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from skatter.datasets.home import KnownFile, Source

_FACTS = json.loads(files("skatter.datasets").joinpath("facts.json").read_text(encoding="utf-8"))


def _source(files: Mapping[str, Any], **others: str) -> Source:
    return Source(files={key: _file(**file) for key, file in files.items()}, **others)


def _file(shape: Any = None, **others: Any) -> KnownFile:
    return KnownFile(shape=shape and tuple(shape), **others)


SOURCES: Mapping[str, Source] = {key: _source(**facts) for key, facts in _FACTS["sources"].items()}
"""Files by data set, or by one of several ways to describe its samples."""

CITATIONS: Mapping[str, str] = _FACTS["citations"]
"""Whom to cite, by the same names."""
