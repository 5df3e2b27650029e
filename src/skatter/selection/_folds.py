"""One fold of a search: projections of its samples for many settings, and the nearest label."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeGuard

import numpy as np
from sklearn.base import clone

from skatter._solve.blas import subtract_dot
from skatter._spaces.base import Space
from skatter._spaces.gram import GramSpace
from skatter._tensors import Array, Tall, device_of, is_tensor, like, to_device
from skatter.domains import Codes, Domains
from skatter.sca import SCA

FEWEST = 1_000  # samples with which single precision saves time
LEAST_RIDGE = 1e-4  # share of the scatter below which rounding may drown what is solved for


class FoldSolver:
    """Projections for many settings of SCA that share samples; labels may change.

    ``template`` says everything but β, δ and k. With ``nearest`` projections are to tell which
    sample is nearest, and nothing else: those of many samples are then in single precision, which
    takes less than half the time. Components that it knows to few digits have small eigenvalues,
    and where these are their squared lengths, they hardly count.
    """

    def __init__(self, template: SCA, X: Any, domains: Domains, *, nearest: bool = False) -> None:
        self._template = clone(template)
        self._space = template.space(X, domains)
        self._total = self._space.scatters.total
        if nearest and _suits_single_precision(self._space, template):
            self._space = self._space.in_single_precision()

    def solve(
        self, domains: Domains, settings: Sequence[tuple[float, float]], k: int, new: Any = None
    ) -> Iterator[tuple[Tall, Tall]]:
        """Yield Z of the samples and of new ones, if there are some, for each (β, δ).

        In ``domains`` some labels may be hidden. Nothing is learnt from ``new`` samples.
        """
        space = self._space.relabelled(domains)
        cross = None if new is None else space.cross(new)
        n_new = 0 if new is None else new.shape[0]
        template = clone(self._template)  # other threads may solve other folds
        objectives = [
            template.set_params(beta=beta, delta=delta).objective(domains, self._total)
            for beta, delta in settings
        ]
        for solved in space.solve(objectives, k):
            if solved.nothing:
                nothing = np.zeros((domains.n_samples, 1)), np.zeros((n_new, 1))
                device = device_of(space.problem.X)
                yield to_device(nothing[0], device), to_device(nothing[1], device)
                continue
            scale, Z = solved.scale(template.scale), solved.projections
            scale = like(scale, Z) if is_tensor(Z) else scale
            yield Z * scale, Z[:0] if cross is None else solved.project(cross) * scale


def _suits_single_precision(space: Space, template: SCA) -> TypeGuard[GramSpace]:
    if type(space) is not GramSpace or space.dtype != np.float64 or is_tensor(space.K):
        return False
    in_range = 1e-30 < space.scatters.total < 1e30
    ridge_counts = template.normalize and (template.ridge is None or template.ridge >= LEAST_RIDGE)
    return len(space.K) >= FEWEST and in_range and ridge_counts and template.scale == "eigenvalue"


def nearest_labels(train: Array, label: Codes, new: Array, ks: Sequence[int]) -> Iterator[Codes]:
    """1-nearest-neighbour labels from the first k columns, for each k in increasing order.

    Distances are built up column by column, so all k cost little more than the largest one.

    Examples
    --------
    >>> import numpy as np
    >>> train, new = np.array([[0.0, 0.0], [1.0, 9.0]]), np.array([[0.9, 0.0]])
    >>> [list(map(int, guess)) for guess in nearest_labels(train, np.array([5, 7]), new, [1, 2])]
    [[7], [5]]
    """
    # ‖a − b‖² less ‖a‖², which is the same for every b; one column for each new sample
    distance = np.zeros((len(train), len(new)), dtype=train.dtype, order="F")
    done = 0
    for k in ks:
        a, b = new[:, done:k], train[:, done:k]
        if b.shape[1]:
            left = np.hstack([2 * b, -np.sum(np.square(b), axis=1, keepdims=True)])
            right = np.hstack([a, np.ones((len(a), 1), dtype=a.dtype)])
            distance = subtract_dot(distance, left, right.T)
        done = max(done, min(k, train.shape[1]))
        yield label[np.argmin(distance, axis=0)]
