"""A classifier of the samples themselves, with a voice where neighbours share their class.

Kernel least squares, smooth on the graph of nearest neighbours and with the same means of domains
and classes everywhere (adaptation regularisation: :mod:`skatter._solve.structural`), is far ahead
of the panel on some data, handwritten digits for one, and far behind it on others. Which they are
can be told without a label of the target: it needs many labelled samples of a class, neighbours
that have its class among the labelled samples, and neighbours in the target of which the panel
believes the same.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

from skatter._checks import seeded
from skatter._solve import StructuralRisk, cosine_laplacian
from skatter._tensors import Array
from skatter.domains import Codes, Domains
from skatter.scatter import matching_factor, normalised
from skatter.self_training._nearest import nearest_points, symmetric_graph
from skatter.self_training._rounds import SETTLED
from skatter.self_training._voters import N_NEIGHBOURS, indicators, rows_sum_to_one

MOST = 4000  # samples that it learns from: it costs n³
MATCHING, SMOOTHNESS, SHRINKAGE = 10.0, 1.0, 0.1  # λ, ρ and η of Long et al. (2014)
ROUNDS = 10
LEAST_OF_A_CLASS = 100  # labelled samples, on average, so that a neighbourhood is a small part
LEAST_SKILL, LEAST_HARMONY = 0.9, 0.7


class Structured:
    """Learn from samples of unit length, centred on their mean; at most 4,000, drawn at random."""

    def __init__(self, X: Array, domains: Domains, random_state: Any) -> None:
        U = normalize(np.asarray(X, dtype=np.float32))
        self._U, self._domains = normalize(U - U.mean(axis=0)), domains
        drawn = seeded(random_state).permutation(len(U))[:MOST]
        self._rows, self._n_classes = np.sort(drawn), len(domains.classes)
        self._label = domains.label[self._rows]

    def is_trusted(self, predicted: Codes) -> bool:
        """Tell whether neighbours share their class; ``predicted`` has a code for all samples."""
        labelled = int((self._label >= 0).sum())
        if labelled < LEAST_OF_A_CLASS * self._n_classes or self.skill < LEAST_SKILL:
            return False
        return self.harmony(predicted) >= LEAST_HARMONY

    @cached_property
    def skill(self) -> float:
        """How well neighbours predict held-out labels: 0 as the largest class does, 1 without fail.

        (a − s) / (1 − s), with a the share of the labelled samples that most of their nearest
        labelled neighbours are of one class with, and s the share of the largest class.
        """
        known = np.flatnonzero(self._label >= 0)
        U, label = self._U[self._rows[known]], self._label[known]
        largest = np.bincount(label).max() / len(label)
        if largest == 1:
            return 0.0
        _, index = nearest_points(U, U, N_NEIGHBOURS, apart=True)
        votes = indicators(label, self._n_classes)[index].sum(axis=1)
        return float((np.mean(votes.argmax(axis=1) == label) - largest) / (1 - largest))

    def harmony(self, predicted: Codes) -> float:
        """Return the share of neighbours without labels for which the same class is predicted."""
        rows, columns = self._near.nonzero()
        unlabelled = (self._label[rows] < 0) & (self._label[columns] < 0)
        own = predicted[self._rows]
        return float(np.mean((own[rows] == own[columns])[unlabelled])) if unlabelled.any() else 0.0

    def shares(self, guess: Codes | None = None, *, n_rounds: int = ROUNDS) -> Array:
        """Return the share of each class for unlabelled samples, starting from a guess for all.

        Without a guess, the first one is the nearest labelled sample.
        """
        U, label = self._U[self._rows], self._label
        guess = self._first_guess(U) if guess is None else guess[self._rows]
        for _ in range(n_rounds):
            before, (beta, F) = guess, self._learn(guess)
            guess = np.where(label >= 0, label, F.argmax(axis=1))
            if np.mean(guess != before) <= SETTLED * np.mean(label < 0):
                break
        unlabelled = self._domains.label < 0
        found = np.empty((len(self._U), self._n_classes))
        found[self._rows] = F
        others = np.setdiff1d(np.flatnonzero(unlabelled), self._rows)
        found[others] = _similarities(self._U[others], U) @ beta
        return rows_sum_to_one(np.maximum(found[unlabelled], 1e-9))

    def _first_guess(self, U: Array) -> Codes:
        guess, known = self._label.copy(), np.flatnonzero(self._label >= 0)
        new = np.flatnonzero(guess < 0)
        _, index = nearest_points(U[new], U[known], 1)
        guess[new] = guess[known[index[:, 0]]]
        return guess

    def _learn(self, guess: Codes) -> tuple[Array, Array]:
        """Return coefficients and decision values, for the classes guessed."""
        domains = self._domains
        source, target = domains.source[self._rows], domains.target[self._rows]
        e = source / max(source.sum(), 1) - target / max(target.sum(), 1)
        of_source = np.where(source, self._label, -1)
        of_target = np.where(target, guess, -1)
        weights = float(self._n_classes), 1.0
        E = normalised(matching_factor(e, of_source, of_target, self._n_classes, weights))
        beta, F, _ = self._risk.minimise((np.sqrt(MATCHING) * E).astype(np.float32))
        return beta, F

    @cached_property
    def _near(self) -> Any:
        """Cosines of neighbours; negative ones are as good as zero, and still there."""
        U = self._U[self._rows]
        squared, index = nearest_points(U, U, N_NEIGHBOURS, apart=True)
        cosine = np.maximum(1 - squared / 2, np.finfo(np.float32).tiny).astype(np.float32)
        return symmetric_graph(cosine, index)

    @cached_property
    def _risk(self) -> StructuralRisk:
        U = self._U[self._rows]
        graph = np.float32(SMOOTHNESS) * cosine_laplacian(self._near)
        wanted = indicators(self._label, self._n_classes).astype(np.float32)
        return StructuralRisk(_similarities(U, U), wanted, graph, SHRINKAGE)


def _similarities(A: Array, B: Array) -> NDArray[np.float32]:
    """RBF kernel of rows of unit length, exp(−‖a − b‖²/2)."""
    K = A @ B.T
    K -= 1
    return np.asarray(np.exp(K, out=K))
