"""Distances between rows, and what lies near: nearest rows, their graph, rows spread out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from skatter._tensors.places import STRIP_BYTES, Array, host, strips, to_device, torch
from skatter._tensors.products import full_precision
from skatter._tensors.sums import squared_norms


def squared_distances(X: torch.Tensor, Y: torch.Tensor) -> torch.Tensor:
    """Return the squared distances of all rows of X to all of Y."""
    with full_precision():
        return torch.addmm(squared_norms(X)[:, None] + squared_norms(Y), X, Y.T, alpha=-2).clamp_(
            min=0
        )


def median_squared_distance(X: torch.Tensor) -> float | None:
    """Return the median squared distance of distinct pairs of rows; None where there are none.

    What rounding alone gives to a pair of equal rows is no distance.
    """
    X = X.double()
    X = X - X.median(dim=0).values
    norms = squared_norms(X)
    together = norms[:, None] + norms
    with full_precision():
        distances = torch.addmm(together, X, X.T, alpha=-2).triu_(1)
    slack = torch.finfo(torch.float64).eps * X.shape[1] * together
    found = distances[distances > slack].sort().values
    if not len(found):
        return None
    return float(found[(len(found) - 1) // 2] + found[len(found) // 2]) / 2


def nearest_rows(X: torch.Tensor, Y: torch.Tensor) -> Array:
    """Return, for every row of ``X``, the number of the nearest row of ``Y``; the first of several.

    Distances are taken strip by strip, and from the mean of ``Y``, so that no digits are lost where
    both lie far from zero.
    """
    found = [distances.argmin(dim=1) for _, distances in _strips_of_distances(X, Y)]
    return host(torch.cat(found))


def nearest_neighbours(
    X: torch.Tensor, Y: torch.Tensor, k: int, *, apart: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return squared distances of the ``k`` nearest rows of ``Y`` and their numbers.

    ``apart`` says that X is Y, and no row is a neighbour of its own.
    """
    found = []
    for rows, distances in _strips_of_distances(X, Y):
        if apart:
            distances[:, rows].fill_diagonal_(torch.inf)
        found.append(distances.topk(k, dim=1, largest=False).indices)
    index = torch.cat(found)
    squared = [(X[:, None] - Y[column]).square_().sum(dim=2) for column in index.T[:, :, None]]
    return torch.cat(squared, dim=1), index


def _strips_of_distances(X: torch.Tensor, Y: torch.Tensor) -> Iterator[tuple[slice, torch.Tensor]]:
    """Yield rows of X and their squared distances to all of Y, less what a row has in common."""
    centre = Y.mean(dim=0)
    Y = Y - centre
    norms = squared_norms(Y)[None]
    for rows in strips(len(X), len(Y) * Y.element_size()):
        with full_precision():
            yield rows, torch.addmm(norms, X[rows] - centre, Y.T, alpha=-2)


@dataclass(frozen=True, eq=False)
class NeighbourGraph:
    """A symmetric graph of nearest neighbours, weights of each row one after the other."""

    weights: torch.Tensor
    columns: torch.Tensor
    ends: torch.Tensor

    @classmethod
    def of(cls, weights: torch.Tensor, index: torch.Tensor) -> NeighbourGraph:
        """Join each row with its neighbours, both ways, weights normalised by both degrees."""
        n = len(index)
        own = torch.arange(n, device=index.device)[:, None].expand_as(index)
        pairs = torch.cat([own * n + index, index * n + own]).ravel()
        # An edge that is found from both ends has one weight.
        code, place = torch.unique(pairs, return_inverse=True)
        both = weights.new_empty(len(code))
        both[place] = weights.ravel().repeat(2)
        rows, columns = code // n, code % n
        ends = torch.searchsorted(rows, torch.arange(n + 1, device=rows.device))
        root = torch.segment_reduce(both, "sum", offsets=ends, axis=0).rsqrt_()
        return cls(both * root[rows] * root[columns], columns, ends)

    def spread(self, shares: torch.Tensor, kept: float, steps: int) -> torch.Tensor:
        """Let every row take most of its shares from its neighbours, again and again."""
        given, weights = (1 - kept) * shares, kept * self.weights[:, None]
        for _ in range(steps):
            taken = weights * shares[self.columns]
            shares = torch.segment_reduce(taken, "sum", offsets=self.ends, axis=0) + given
        return shares


def spread_rows(X: torch.Tensor, count: int, random: Any) -> Array:
    """Return rows drawn by k-means++, those that :func:`sklearn.cluster.kmeans_plusplus` draws.

    Nothing is asked of the device before the end.
    """
    trials = 2 + int(np.log(count))
    small = len(X) ** 2 * X.element_size() <= STRIP_BYTES
    table = squared_distances(X, X) if small else None

    def distances(rows: torch.Tensor) -> torch.Tensor:
        if table is None:
            return squared_distances(X.index_select(0, rows), X)
        return table.index_select(0, rows)

    first = random.choice(len(X), p=np.full(len(X), 1 / len(X)))
    draws: Any = to_device(random.uniform(size=(count - 1, trials)), X.device)
    chosen = [to_device(np.array([first]), X.device)]
    nearest = distances(chosen[0])
    potential = nearest.sum(dim=1)
    for draw in draws.unbind():
        reach = nearest[0].cumsum(dim=0)
        tried = torch.searchsorted(reach, draw * potential).clamp_(max=len(X) - 1)
        closer = torch.minimum(distances(tried), nearest)
        potentials = closer.sum(dim=1)
        best = potentials.argmin(dim=0, keepdim=True)
        nearest, potential = closer.index_select(0, best), potentials.index_select(0, best)
        chosen.append(tried.index_select(0, best))
    return host(torch.cat(chosen))
