"""Voters: simple classifiers that fail in different ways, and what they agree on.

Given the projections of labelled and unlabelled samples, each voter gives every unlabelled sample
a share in each class. Two look at single neighbours and means of what is labelled, one at clusters
of the target itself, two at the graph of nearest neighbours. No voter is right everywhere: means
fail on classes in several pieces, clusters where the target has none, spreading where one class
drowns another, its balanced form where classes are not equally frequent. Where most of them agree
there is no such reason for it, and a label can be trusted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.extmath import row_norms

from skatter._tensors import (
    Array,
    NeighbourGraph,
    Tall,
    host,
    is_tensor,
    like,
    multiply,
    squared_distances,
    take,
    where,
)
from skatter.domains import Codes
from skatter.self_training._nearest import nearest_points, symmetric_graph

N_NEIGHBOURS = 10  # neighbours of a sample in the graph
KEPT = 0.9  # share of its own label that a sample takes from its neighbours in each step
STEPS = 40  # steps of spreading: 0.9^40 is one in seventy
CLUSTER_STEPS = 15  # steps of Lloyd's algorithm at most


@dataclass(frozen=True, eq=False)
class Electorate:
    """Projections, what is known of their classes, and what was believed before."""

    Z: Tall
    label: Codes
    believed: Codes
    n_classes: int
    frequencies: Array | None = None

    @cached_property
    def unlabelled(self) -> NDArray[np.bool_]:
        return self.label < 0

    @cached_property
    def targets(self) -> Tall:
        """Projections of these."""
        return take(self.Z, np.flatnonzero(self.unlabelled))

    @cached_property
    def given(self) -> Array:
        """Indicators of the given labels, shape (n, n_classes)."""
        return indicators(self.label, self.n_classes)

    @cached_property
    def present(self) -> NDArray[np.bool_]:
        """Classes that some label names."""
        return np.asarray(self.given.any(axis=0))

    @cached_property
    def class_means(self) -> Tall:
        """Means of what is believed, shape (n_classes, k)."""
        members = indicators(self.believed, self.n_classes)
        sizes = np.maximum(members.sum(axis=0), 1)
        return multiply(self.beside(members.T), self.Z) / self.beside(sizes[:, None])

    def beside(self, array: Array) -> Tall:
        """Return an array where the projections are, in their type if these are tensors."""
        return like(array, self.Z) if is_tensor(self.Z) else array

    @cached_property
    def odds(self) -> Array:
        """How much more frequent each class is than if all were alike."""
        if self.frequencies is None:
            return np.ones(self.n_classes)
        return np.asarray(self.frequencies * self.n_classes)

    @cached_property
    def graph(self) -> Any:
        """Symmetrically normalised graph of nearest neighbours, weights exp(-d²/s²)."""
        squared, index = nearest_points(self.Z, self.Z, N_NEIGHBOURS, apart=True)
        if is_tensor(squared):
            farthest = squared.amax(dim=1).mean()
            return NeighbourGraph.of((-squared / farthest).nan_to_num_(0).exp_(), index)
        farthest = squared.max(axis=1).mean()
        weight = np.exp(-squared / farthest) if farthest > 0 else np.ones_like(squared)
        near = symmetric_graph(weight, index)
        degree = np.asarray(near.sum(axis=1)).ravel()
        root = sparse.diags(1 / np.sqrt(np.maximum(degree, np.finfo(float).tiny)))
        return (root @ near @ root).tocsr()

    @cached_property
    def spread(self) -> Array:
        """Given labels spread over the graph, for the unlabelled samples (Zhou et al. 2004)."""
        if is_tensor(self.Z):
            given = self.beside(self.given)
            return host(self.graph.spread(given, KEPT, STEPS))[self.unlabelled]
        shares, graph, given = self.given, KEPT * self.graph, (1 - KEPT) * self.given
        for _ in range(STEPS):
            shares = graph @ shares
            shares += given
        return shares[self.unlabelled]


def indicators(label: Codes, n_classes: int) -> Array:
    """Return one column per class, one where a sample belongs to it; -1 belongs to none."""
    out = np.zeros((len(label), n_classes))
    known = np.flatnonzero(label >= 0)
    out[known, label[known]] = 1
    return out


def nearest(voters: Electorate) -> Array:
    known = ~voters.unlabelled
    _, index = nearest_points(voters.targets, take(voters.Z, np.flatnonzero(known)), 1)
    return indicators(voters.label[known][host(index[:, 0])], voters.n_classes)


def means(voters: Electorate) -> Array:
    return _shares(_squared(voters, voters.class_means), voters)


def clusters(voters: Electorate) -> Array:
    """Let the means of the classes move to clusters of the unlabelled samples, one for each."""
    target, centres = voters.targets, voters.class_means
    before = np.empty(0, dtype=np.intp)
    for _ in range(CLUSTER_STEPS):
        distance = np.where(voters.present, _squared(voters, centres), np.inf)
        nearest_centre = distance.argmin(axis=1)
        if np.array_equal(nearest_centre, before):
            break
        before, members = nearest_centre, indicators(nearest_centre, voters.n_classes)
        sizes = members.sum(axis=0)[:, None]
        sums = multiply(voters.beside(members.T), target)
        centres = where(sizes > 0, sums / voters.beside(np.maximum(sizes, 1)), centres)
    return _shares(_squared(voters, centres), voters)


def spreading(voters: Electorate) -> Array:
    return _somewhere(voters, voters.spread)


def balanced_spreading(voters: Electorate) -> Array:
    """Spread labels, and give each class the mass that its frequency asks (Zhu et al. 2003)."""
    # Spreading is linear, class by class: less mass at the start is as much less at the end.
    mass = np.maximum(voters.given.sum(axis=0), 1)
    shares = _somewhere(voters, voters.spread / mass)
    total = shares.sum(axis=0)
    owed = voters.odds / np.maximum(total, 1e-300)
    return rows_sum_to_one(np.where(total > 0, shares * owed, 0.0))


VOTERS: Mapping[str, Callable[[Electorate], Array]] = {
    "nearest": nearest,
    "means": means,
    "clusters": clusters,
    "spreading": spreading,
    "balanced spreading": balanced_spreading,
}
"""The voters by name."""

TIE = 1e-3  # weight of soft shares beside a whole vote: they decide ties


def vote(voters: Electorate, names: Iterable[str] = tuple(VOTERS)) -> Array:
    total = np.zeros((int(voters.unlabelled.sum()), voters.n_classes))
    for name in names:
        total += votes_of(VOTERS[name](voters))
    return rows_sum_to_one(total)


def votes_of(shares: Array) -> Array:
    """Return a whole vote for the largest share in a row, and a little of each to decide ties."""
    return indicators(shares.argmax(axis=1), shares.shape[1]) + TIE * shares


def _squared(voters: Electorate, centres: Tall) -> Array:
    Z = voters.targets
    if is_tensor(Z):
        return host(squared_distances(Z, centres))
    squared = row_norms(Z, squared=True)[:, None] + row_norms(centres, squared=True)
    squared -= 2 * (Z @ centres.T)
    return np.maximum(squared, 0)


def _shares(squared: Array, voters: Electorate) -> Array:
    """Return a softmax of minus squared distances, in units of the usual lead of the nearest."""
    present = voters.present
    squared = np.where(present, squared, np.inf)
    least = squared.min(axis=1, keepdims=True)
    if np.count_nonzero(present) > 1:
        unit = np.median(np.partition(squared, 1, axis=1)[:, 1] - least[:, 0])
    else:
        unit = 1.0
    closeness = np.exp(-(squared - least) / max(float(unit), 1e-12))
    return rows_sum_to_one(closeness * voters.odds)


def _somewhere(voters: Electorate, spread: Array) -> Array:
    """Return rows that sum to one; far from every label, where nothing came, classes are alike."""
    return rows_sum_to_one(spread + 1e-15 * voters.present)


def rows_sum_to_one(shares: Array) -> Array:
    return np.asarray(shares / np.maximum(shares.sum(axis=1, keepdims=True), 1e-300))
