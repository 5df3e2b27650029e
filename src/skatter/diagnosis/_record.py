"""The answer of a diagnosis: plain words first, numbers below."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skatter._formatting import json_ready, printable
from skatter._notebook import Section, text_and_tables
from skatter.diagnosis._features import FeatureShift
from skatter.diagnosis._labels import LabelShift, NumberShift
from skatter.diagnosis._layout import prose, section_as_text
from skatter.diagnosis._pairs import PairShift
from skatter.diagnosis._tables import tables_of
from skatter.diagnosis._transfer import Transfer
from skatter.diagnosis._variance import VarianceShares
from skatter.diagnosis._words import say_notes, say_words

WIDTH = 80
WIDEST = 110  # lines of prose longer than this are hard to read


@dataclass(frozen=True)
class DomainFacts:
    """One domain: how many samples it has, and what was made of them.

    Attributes
    ----------
    name : str
        Its id.
    n_samples, n_labelled : int
        Samples, and those with a label.
    n_drawn : int
        Samples that were compared; 0 where the domain is too small.
    missing : float
        Share of its values that are missing.
    """

    name: str
    n_samples: int
    n_labelled: int
    n_drawn: int
    missing: float


@dataclass(frozen=True)
class MissingShift:
    """A feature whose values are missing more often in one domain than in another.

    Attributes
    ----------
    name : str
        The feature.
    lowest, highest : float
        Share of missing values in the domain that has fewest, and most.
    first, second : str
        These two.
    """

    name: str
    lowest: float
    highest: float
    first: str
    second: str


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis:
    """Is there a shift, where, and in what? What :func:`skatter.diagnosis.diagnose` found.

    Print it: words first, numbers below. Notebooks show the same as HTML.

    Attributes
    ----------
    domains : tuple of DomainFacts
        The domains, sorted by id.
    pairs : tuple of PairShift
        Every pair of domains that were compared.
    features : tuple of FeatureShift
        Every feature, those that differ most first.
    labels : LabelShift, NumberShift or None
        Class balance, or mean and spread of numbers; None where nothing is labelled.
    transfer : Transfer or None
        Classifiers trained in one domain and tested in another; None where no class is labelled.
    variance : VarianceShares
        Shares of domain and class in the variance.
    missing : tuple of MissingShift
        Features with missing values, those whose rates differ most first.
    constant : tuple of str
        Features that are the same in all samples.
    n_samples, n_drawn, n_permutations : int
        Samples, those that were compared, and random splits behind each permutation p-value.
    level : float
        Largest chance of any false alarm among all pairs and features.
    floor, floor_corrected : float
        Smallest p-value that the permutations can give, and the same corrected for all pairs.
    random_state : int
        Seed of everything that was drawn.
    left_out : mapping of str to str
        Columns of a table that were not compared, and why.
    """

    domains: tuple[DomainFacts, ...]
    pairs: tuple[PairShift, ...]
    features: tuple[FeatureShift, ...]
    labels: LabelShift | NumberShift | None
    transfer: Transfer | None
    variance: VarianceShares
    missing: tuple[MissingShift, ...] = ()
    constant: tuple[str, ...] = ()
    n_samples: int = 0
    n_drawn: int = 0
    n_permutations: int = 0
    level: float = 0.05
    floor: float = 0.0
    floor_corrected: float = 0.0
    random_state: int = 0
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def shift(self) -> bool:
        """Whether a pair of domains differs, or a feature does."""
        return any(pair.differ for pair in self.pairs) or any(f.moved for f in self.features)

    @property
    def words(self) -> str:
        """The answer in plain sentences, one a line."""
        return "\n".join(say_words(self))

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done to the samples, and what the numbers do not say."""
        return tuple(say_notes(self))

    @property
    def compared(self) -> tuple[str, ...]:
        """The domains that were compared."""
        return tuple(domain.name for domain in self.domains if domain.n_drawn)

    @property
    def distances(self) -> NDArray[np.float64]:
        """MMD² of the domains in :attr:`compared` from one another, as a symmetric matrix."""
        place = {name: i for i, name in enumerate(self.compared)}
        matrix = np.zeros((len(place), len(place)))
        for pair in self.pairs:
            i, j = place[pair.first], place[pair.second]
            matrix[i, j] = matrix[j, i] = pair.mmd
        return matrix

    def to_dict(self) -> dict[str, Any]:
        """Return everything as lists, dicts, text and finite numbers, ready for JSON."""
        return {
            "shift": self.shift,
            "words": self.words.splitlines(),
            "notes": list(self.notes),
            **json_ready(asdict(self)),
        }

    def sections(self, width: int = WIDTH) -> list[tuple[str, str]]:
        """Return titles and texts for a terminal of this width."""
        line = min(width, WIDEST)
        words = "\n".join(prose(printable(sentence), line) for sentence in say_words(self))
        tables = [(each.title, section_as_text(each, width)) for each in tables_of(self, width)]
        notes = "\n".join(prose(printable(note), line, bullet="- ") for note in self.notes)
        return [("Is there a shift?", words), *tables, ("Notes", notes)]

    def __str__(self) -> str:
        return "\n\n".join(f"{title}\n{text}" for title, text in self.sections())

    def __repr__(self) -> str:
        found = "shift found" if self.shift else "no shift found"
        return f"<Diagnosis: {found}, {len(self.domains)} domains, {len(self.features)} features>"

    def _repr_html_(self) -> str:
        notes = Section("Notes", (), ("note",), tuple((note,) for note in self.notes))
        return text_and_tables(say_words(self), [*tables_of(self, WIDTH), notes], folded=True)
