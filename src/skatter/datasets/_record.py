"""One small record for every data set, and what is known of it before a file is read.

The latter stands in ``facts.json``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skatter.datasets._home import KnownFile, Source


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples with a label and a domain each, and where they come from.

    Attributes
    ----------
    name : str
        Its name in the registry, fit for a file name.
    X : ndarray or scipy.sparse.csr_matrix of shape (n_samples, n_features)
        The samples, float64; NaN where a value is missing, in everyday tables alone.
    y : ndarray of shape (n_samples,)
        Every class, an index into ``class_names``, or float64 number. Nothing is hidden here.
    domain : ndarray of shape (n_samples,)
        The domain of every sample, a string.
    class_names : tuple of str
        One name per class; empty where ``y`` holds numbers.
    citation : str
        Whom to cite.
    preprocessing : str
        What was done to the original samples.
    part : ndarray of shape (n_samples,) or None
        ``"train"`` or ``"test"`` for every sample, where the set comes with such a split.
    columns : tuple of str
        One name per feature, where features have names.
    categorical : tuple of int
        Features that hold codes of categories, in which order and distance mean nothing.

    Examples
    --------
    >>> from skatter.datasets import make_figure1
    >>> data = make_figure1(n_per_cluster=5)
    >>> data.of(["target"]).X.shape
    (15, 2)
    """

    name: str
    X: Any
    y: NDArray[Any]
    domain: NDArray[Any]
    class_names: tuple[str, ...]
    citation: str
    preprocessing: str
    part: NDArray[Any] | None = None
    columns: tuple[str, ...] = ()
    categorical: tuple[int, ...] = ()

    def take(self, rows: NDArray[Any]) -> Dataset:
        """Return the same data set with these rows alone: a boolean mask, or indices."""
        part = None if self.part is None else self.part[rows]
        return replace(self, X=self.X[rows], y=self.y[rows], domain=self.domain[rows], part=part)

    def of(self, domains: Iterable[str]) -> Dataset:
        """Return the same data set with the samples of these domains alone, in their order here."""
        chosen = choose_domains(domains, tuple(dict.fromkeys(self.domain.tolist())))
        return self.take(np.isin(self.domain, chosen))


def choose_domains(domains: Iterable[str] | None, known: Sequence[str]) -> tuple[str, ...]:
    """Return the asked-for domains in the order of the known ones; all of them for None."""
    if domains is None:
        return tuple(known)
    if isinstance(domains, str):
        raise TypeError(f"domains must be a list of names, got the text {domains!r}.")
    asked = tuple(domains)
    if not asked or len(set(asked)) < len(asked) or not set(asked) <= set(known):
        raise ValueError(
            f"domains must be some of {', '.join(known)}, each once, got {list(asked)!r}."
        )
    return tuple(name for name in known if name in asked)


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
