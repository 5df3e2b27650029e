"""What methods share that match the means of domains and of their classes, the latter guessed.

    M = c₀ e eᵀ + c₁ Σ_c e_c e_cᵀ

with e holding 1/n_s on source and -1/n_t on target samples, and e_c the same for samples of class c
and target samples that are taken for it: zᵀM z is the squared distance of a feature's means.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from skatter._parameters import declared
from skatter._tensors import Array, Tall, take
from skatter.domains import Codes
from skatter.methods._base import Transfer
from skatter.methods._iteration import Iterations, Iterative
from skatter.neighbours import nearest_rows
from skatter.scatter import matching_factor


def mean_differences(
    transfer: Transfer, guess: Codes, c0: float, c1: float = 1.0, *, share_ratio: bool = False
) -> Array:
    """Return E with M = E Eᵀ; see :func:`skatter.scatter.matching_factor`."""
    source = np.where(transfer.source & transfer.labelled, transfer.label, -1)
    target = np.where(transfer.target, guess, -1)
    return matching_factor(
        transfer.mean_difference,
        source,
        target,
        len(transfer.classes),
        (c0, c1),
        share_ratio=share_ratio,
    )


@declared
class Guessing(Iterative):
    """Parameters and attributes of methods that guess the classes of the target, round by round.

    Parameters
    ----------
    tol : float >= 0
        Stop when at most this share of the guessed labels changed, or when all are as they were
        after an earlier round, since rounds would then repeat; 0 runs all of ``max_iter``.

    Attributes
    ----------
    objective_ : ndarray of shape (n_iter_,)
        What is optimised, after each round, for the classes that the round was given.
    pseudo_labels_ : ndarray of shape (n_target,)
        Classes of the target samples after the last round, in their order in ``X``.
    """


class Guesses:
    """Rounds that guess the classes of the target, until they settle; set what a model learns.

    The first guess is the nearest labelled one of ``samples``, or none without them.
    """

    def __init__(self, model: Any, transfer: Transfer, samples: Any = None) -> None:
        self._model, self._transfer, self.rounds = model, transfer, Iterations.of(model)
        self._seen: set[bytes] = set()
        self.last = transfer.label if samples is None else self.nearest(samples)

    def nearest(self, Z: Tall) -> Codes:
        """Return the classes of all samples, unlabelled ones from their nearest labelled one."""
        guess = self._transfer.label.copy()
        new, old = np.flatnonzero(guess < 0), np.flatnonzero(guess >= 0)
        if len(new):
            guess[new] = guess[old[nearest_rows(take(Z, new), take(Z, old))]]
        return guess

    def record(self, objective: float, guess: Codes) -> None:
        model, target = self._model, self._transfer.target
        changed = float(np.mean(guess[target] != self.last[target]))
        settled = bool(self._seen) and (changed <= model.tol or guess.tobytes() in self._seen)
        self._seen.add(guess.tobytes())
        self.last = guess
        note = f"{changed:.1%} of the target changed class"
        self.rounds.record(objective, settled=settled, note=note)
        model.pseudo_labels_ = self._transfer.classes[guess[target]]
        model.objective_ = np.array(self.rounds.objective)
