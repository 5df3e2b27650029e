"""What is known of the data sets before a file is read; it stands in ``facts.json``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from skatter.datasets._home import KnownFile, Source
from skatter.datasets._record import Dataset


@dataclass(frozen=True)
class Facts:
    """What a data set holds, how many samples each domain has, and whom to cite.

    ``preprocessed`` and ``as_loaded`` say what was done to the samples where a loader prepares
    them, and where it does not; ``extra`` is the extra of skatter that the loader needs, and
    ``collection`` the name of those that are listed together.
    """

    name: str
    summary: str
    domains: Mapping[str, int]
    n_features: int
    class_names: tuple[str, ...]
    citation: str
    preprocessed: str
    as_loaded: str = "None."
    extra: str = ""
    collection: str = ""

    @property
    def n_classes(self) -> int:
        return len(self.class_names)

    def dataset(
        self, X: Any, y: Any, domain: Any, *, preprocess: bool = True, part: Any = None
    ) -> Dataset:
        words = self.preprocessed if preprocess else self.as_loaded
        return Dataset(self.name, X, y, domain, self.class_names, self.citation, words, part)


def _with_tuples(known: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(each) if isinstance(each, list) else each for key, each in known.items()}


_TEXT = files("skatter.datasets").joinpath("facts.json").read_text(encoding="utf-8")
_CONTENT = json.loads(_TEXT, object_hook=_with_tuples)

FACTS: Mapping[str, Facts] = {
    name: Facts(name, **{**known, "citation": _CONTENT["citations"][known["citation"]]})
    for name, known in _CONTENT["datasets"].items()
}
"""Facts by data set."""

SOURCES: Mapping[str, Source] = {
    key: Source(**{**known, "files": {name: KnownFile(**f) for name, f in known["files"].items()}})
    for key, known in _CONTENT["sources"].items()
}
"""Files by data set, or by one of several ways to describe its samples."""
