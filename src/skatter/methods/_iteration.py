"""What iterative methods share: the objective of every iteration, when to stop, a word about it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from skatter._parameters import COUNT, NON_NEGATIVE, Declared, declared, parameter, verbosity


@declared
class Iterative(Declared):
    """Parameters and attributes that iterative methods share.

    Parameters
    ----------
    max_iter : int
        Iterations at most.
    tol : float >= 0
        Stop when the objective changes by less than this share of itself; 0 runs all iterations.
    verbose : int
        Print a line for every iteration where positive.

    Attributes
    ----------
    objective_ : list of float
        What is optimised, after each iteration.
    n_iter_ : int
        Number of iterations.
    """

    max_iter: int = parameter(COUNT, default=100)
    tol: float = parameter(NON_NEGATIVE, default=1e-3)
    verbose: int = parameter(verbosity, default=0)


class Iterations:
    """Count iterations, keep their objectives, and stop once they change too little."""

    def __init__(
        self, name: str, *, max_iter: int, tol: float, verbose: int = 0, model: Any = None
    ) -> None:
        self.objective: list[float] = []
        self._name, self._max_iter, self.tol, self._verbose = name, max_iter, tol, verbose
        self._settled, self._model = False, model

    @classmethod
    def of(cls, model: Any) -> Iterations:
        """Return the iterations of an :class:`Iterative` estimator, whose attributes they set."""
        limits = {"max_iter": model.max_iter, "tol": model.tol, "verbose": model.verbose}
        return cls(type(model).__name__, model=model, **limits)

    def __iter__(self) -> Iterator[int]:
        for iteration in range(self._max_iter):
            yield iteration
            if self._settled:
                return
        if self.tol > 0:
            warnings.warn(
                f"{self._name} did not converge in max_iter={self._max_iter} iterations. Raise "
                "max_iter or tol; tol=0 runs all iterations without this warning.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def record(self, objective: float, *, settled: bool | None = None, note: str = "") -> None:
        """Keep the objective of this iteration; ``settled`` overrules the test of its change."""
        self.objective.append(objective)
        if self._model is not None:
            self._model.objective_, self._model.n_iter_ = self.objective, len(self.objective)
        if settled is None:
            settled = len(self.objective) > 1 and (
                abs(self.objective[-2] - objective) < self.tol * max(abs(objective), 1e-300)
            )
        self._settled = settled and self.tol > 0
        if self._verbose:
            print(
                f"[{self._name}] iteration {len(self.objective)} of at most {self._max_iter}: "
                f"objective {objective:.6g}{', ' if note else ''}{note}",
                flush=True,
            )
