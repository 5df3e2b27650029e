"""Self-training with one setting: predict the target, learn from the predictions, again.

In each round SCA is solved with the labels that are believed, the voters predict the unlabelled
samples from the projections, and what at least half of them agree on is believed in the next
round: it enters the class scatters and, since a class is then in several domains, the conditional
domain scatter. Of all rounds the one is kept that the criterion ``"scatter"`` of
:mod:`skatter.selection.criteria` trusts most: it looks at the samples that were given, and so is
not taken in by projections in which the predictions look ever better.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.preprocessing import normalize

from skatter._tensors import Array, Tall, is_tensor, unit_rows
from skatter._threads import in_threads
from skatter.domains import Codes, Domains, read_domains
from skatter.sca import SCA, beta_of
from skatter.selection._folds import FoldSolver
from skatter.selection.criteria import ScatterJudge
from skatter.self_training._voters import (
    VOTERS,
    Electorate,
    indicators,
    rows_sum_to_one,
    vote,
    votes_of,
)

Result = TypeVar("Result")

SETTLED = 0.002  # share of changed predictions at which another round would change nothing


@dataclass(frozen=True)
class Round:
    """What happened in a round.

    Attributes
    ----------
    number : int
        Counted from 1.
    agreement : float
        Mean share of the votes that the winning class had.
    believed : float
        Share of the unlabelled samples that enter the next round with a label.
    changed : float
        Share of the predictions that differ from the round before; 1 in the first.
    class_shares : tuple of float
        Share of the predictions that each class has.
    trust : float
        The criterion, larger is better.
    """

    number: int
    agreement: float
    believed: float
    changed: float
    class_shares: tuple[float, ...]
    trust: float


@dataclass(frozen=True, eq=False)
class Beliefs:
    domains: Domains
    shares: Array | None = None
    confidence: float = 0.5

    @cached_property
    def predicted(self) -> Codes:
        """Codes of all samples: given, or voted for; -1 before any vote."""
        label = np.array(self.domains.label)
        if self.shares is not None:
            label[label < 0] = self.shares.argmax(axis=1)
        return label

    @cached_property
    def believed(self) -> Codes:
        """Codes of all samples: given, or voted for by enough voters; -1 for others."""
        label = np.array(self.predicted)
        if self.shares is not None:
            unlabelled = np.flatnonzero(self.domains.label < 0)
            label[unlabelled[self.shares.max(axis=1) < self.confidence]] = -1
        return label

    @cached_property
    def soft(self) -> Array:
        """Shares of the classes for all samples: one for a given label, votes for others."""
        out = indicators(self.domains.label, len(self.domains.classes))
        if self.shares is not None:
            out[self.domains.label < 0] = self.shares
        return out

    def beside(self, shares: Array) -> Beliefs:
        """Return the mean of this and of the whole votes of somebody else."""
        assert self.shares is not None
        return replace(self, shares=(self.shares + rows_sum_to_one(votes_of(shares))) / 2)

    def after(self, number: int, before: Beliefs, trust: float) -> Round:
        """Describe the round that led here."""
        assert self.shares is not None
        rows = self.domains.label < 0
        counts = np.bincount(self.predicted[rows], minlength=len(self.domains.classes))
        return Round(
            number,
            agreement=float(self.shares.max(axis=1).mean()),
            believed=float(np.mean(self.believed[rows] >= 0)),
            changed=float(np.mean(self.predicted[rows] != before.predicted[rows])),
            class_shares=tuple((counts / counts.sum()).tolist()),
            trust=trust,
        )


@dataclass(eq=False)
class Trainer:
    """Solve SCA on explicit features for one belief after another.

    Rounds are judged by the ``samples`` as they were given; ``frequencies`` are those of the
    classes among unlabelled samples, None: all alike.
    """

    template: SCA
    features: Tall
    domains: Domains
    _: KW_ONLY
    samples: Any
    confidence: float = 0.5
    voters: Sequence[str] = tuple(VOTERS)
    frequencies: Array | None = None

    def rounds(self, n_rounds: int) -> tuple[Beliefs, list[Round]]:
        """Return what is believed after the round that is trusted most, and all that happened."""
        beliefs, kept, history = Beliefs(self.domains), Beliefs(self.domains), list[Round]()
        for number in range(1, n_rounds + 1):
            before, beliefs = beliefs, self.next(beliefs)
            trust = self.trust(beliefs)
            if trust >= max((past.trust for past in history), default=-np.inf):
                kept = beliefs
            history.append(beliefs.after(number, before, trust))
            if has_settled(history):
                break
        return kept, history

    def trust(self, beliefs: Beliefs) -> float:
        """Return the scatter criterion; without a target, the votes of the winning classes."""
        if not (self.domains.target.any() and self.domains.labelled[self.domains.source].any()):
            assert beliefs.shares is not None
            return float(beliefs.shares.max(axis=1).mean())
        return self._judge(beliefs.predicted).criterion

    @cached_property
    def _judge(self) -> ScatterJudge:
        return ScatterJudge(self.samples, self.domains)

    def components(self, label: Codes) -> SCA:
        known = {"sample_domain": self.domains.domain, "labelled": label >= 0}
        return clone(self.template).fit(self.features, np.maximum(label, 0), **known)

    def projections(self, model: SCA) -> Tall:
        """Return projections of unit length."""
        return unit_length(model.transform(self.features))

    @cached_property
    def _solver(self) -> FoldSolver:
        return FoldSolver(self.template, self.features, self.domains)

    def _projections_with(self, label: Codes) -> Tall:
        """Return what :meth:`components` would project to, but for signs, without an estimator."""
        domains = read_domains(np.maximum(label, 0), self.domains.domain, labelled=label >= 0)
        template = self.template
        setting, k = (beta_of(template), template.delta), template.n_wanted(domains)
        ((Z, _),) = self._solver.solve(domains, [setting], k)
        return unit_length(Z)

    def next(self, before: Beliefs) -> Beliefs:
        Z = self._projections_with(before.believed)
        label, n_classes = self.domains.label, len(self.domains.classes)
        electorate = Electorate(Z, label, before.believed, n_classes, self.frequencies)
        return Beliefs(self.domains, vote(electorate, self.voters), self.confidence)


def has_settled(history: Sequence[Round]) -> bool:
    """Say whether the last round changed so little that another would change nothing."""
    return history[-1].changed <= SETTLED


def unit_length(Z: Tall) -> Tall:
    """Return rows of length one; a row of zeros stays."""
    return unit_rows(Z) if is_tensor(Z) else np.asarray(normalize(Z))


def side_by_side(pieces: Iterable[Callable[[], Result]], tall: Any) -> list[Result]:
    """Return what each piece returns; a device does one after the other, a host all at once."""
    return [piece() for piece in pieces] if is_tensor(tall) else in_threads(pieces)
