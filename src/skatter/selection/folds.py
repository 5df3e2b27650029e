"""One fold of a search: projections of its samples for many settings, and the nearest label."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skatter.components import (
    dual_coefficients,
    ordered_gram,
    scale_factors,
)
from skatter.domains import Codes, Domains
from skatter.kernels import centre
from skatter.maps import explicit_features
from skatter.moments import collect_moments
from skatter.objective import Coefficients, Objective
from skatter.sca import SCA
from skatter.solve import DualOperator, DualPath, PrimalPath, canonical_order
from skatter.solve.blas import subtract_dot

Array = NDArray[Any]


class Projections(NamedTuple):
    """Components of one setting, with a denominator of one.

    Attributes
    ----------
    eigenvalues : ndarray of shape (k,)
        λ.
    samples : ndarray of shape (n, k)
        Z of the samples that were learnt from.
    new : ndarray of shape (n_new, k)
        Z of new samples.
    """

    eigenvalues: Array
    samples: Array
    new: Array


class FoldSolver:
    """Projections for many settings of SCA that share samples; labels may change.

    The Gram matrix, or the explicit features, are made once.

    Parameters
    ----------
    template : SCA
        Everything but β, δ and k.
    X : ndarray or CSR matrix of shape (n, p)
        Samples to learn from; a Gram matrix where the kernel is precomputed.
    domains : Domains
        Their labels and domains.
    """

    def __init__(self, template: SCA, X: Any, domains: Domains) -> None:
        if template.class_rows != "all":
            raise ValueError("SCACV searches with class_rows='all' only.")
        self._template, self._X = template, X
        self._kernel, explicit = template._feature_space(X)
        self._features = explicit_features(template.feature_map_, X) if explicit else None
        if self._features is None:
            self._K = ordered_gram(X, self._kernel, np.arange(X.shape[0]))
            self._means = centre(self._K)
            self._total = float(np.trace(self._K)) / len(self._K)
        else:
            self._total = collect_moments(self._features, domains).scatters().total

    def solve(
        self,
        domains: Domains,
        settings: Sequence[tuple[float, float]],
        k: int,
        new: Any = None,
    ) -> Iterator[tuple[Array, Array]]:
        """Yield Z of the samples and of new ones, if there are some, for each (β, δ).

        Parameters
        ----------
        domains : Domains
            Labels and domains of the samples; some labels may be hidden.
        settings : sequence of (float, float)
            β and δ.
        k : int
            Number of components.
        new : ndarray or CSR matrix or None
            Samples that nothing is learnt from; their kernel with the samples where the kernel is
            precomputed.
        """
        weights = [
            self._template._objective_at(beta, delta, domains, self._total)
            for beta, delta in settings
        ]
        solve = self._dual if self._features is None else self._primal
        for objective, found in zip(weights, solve(domains, weights, k, new), strict=True):
            if not len(found.eigenvalues):
                yield np.zeros((len(found.samples), 1)), np.zeros((len(found.new), 1))
                continue
            norms = partial(_norms, found, domains, objective)
            scale = scale_factors(self._template.scale, found.eigenvalues, norms)
            yield found.samples * scale, found.new * scale

    def _primal(
        self, domains: Domains, weights: list[Objective], k: int, new: Any
    ) -> Iterator[Projections]:
        assert self._features is not None
        path = PrimalPath(collect_moments(self._features, domains))
        features = None if new is None else explicit_features(self._template.feature_map_, new)
        for objective in weights:
            found = path.solve(objective, k)
            W = found.vectors.astype(self._features.dtype)
            offset = (path.moments.mean @ found.vectors).astype(W.dtype)
            Z_new = W[:0] if features is None else features @ W - offset
            Z = np.asarray(self._features @ W - offset)
            yield Projections(found.values, Z, np.asarray(Z_new))

    def _dual(
        self, domains: Domains, weights: list[Objective], k: int, new: Any
    ) -> Iterator[Projections]:
        order = canonical_order(domains)
        back = np.argsort(order)
        coefficients = Coefficients(domains.take(order), self._K.dtype)
        operator = DualOperator(self._K[np.ix_(order, order)], coefficients, weights[0])
        path = DualPath(operator, tol=self._template.tol, random_state=self._template.random_state)
        k = min(k, len(back) - 1)
        cross = None if new is None else self._kernel(new, self._X) - self._means
        solved = path.solve(weights, k, solver=self._template.solver)
        for objective, setting in zip(weights, solved, strict=True):
            Z = path.projections(setting)[back]
            found = Projections(setting.eigenvalues, Z, Z[:0])
            if cross is not None:
                B = _coefficients(found, domains, objective)
                found = found._replace(new=cross @ (B - B.mean(axis=0)))
            yield found


def _coefficients(found: Projections, domains: Domains, objective: Objective) -> Array:
    """Return B of the samples."""
    Z = found.samples
    return dual_coefficients(found.eigenvalues, Z, Coefficients(domains, Z.dtype), objective)


def _norms(found: Projections, domains: Domains, objective: Objective) -> Array:
    """Return ‖b‖ of each component."""
    return np.linalg.norm(_coefficients(found, domains, objective), axis=0)


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
