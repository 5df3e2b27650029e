"""The iterative route: exact SCA from products with the Gram matrix alone.

Where neither K nor a factorisation of it fits, one product K W is still within reach, and costs
nearly the same for one column as for a hundred (:mod:`skatter._tiles`). What counts is the number
of products; a block Davidson method needs few.

*A basis in feature space.* Coefficients V with Vᵀ K V = I are orthonormal directions, Z = K V the
projections on them. With Z for explicit features, the problem of :mod:`skatter._objective` is the
small one of the primal route:

    Zᵀ N Z y = λ (ρ I + Zᵀ M Z) y,      b = V y,   z = K b = Z y                                (1)

What is missing is the residual, known without another product since the leading K is left off:

    r = N z − λ (ρ b + M z),            A b − λ C b = K r                                       (2)

*New directions.* The exact correction solves (N K − λ (ρ I + M K)) t = −r. With a stand-in
K̃ = Φ Φᵀ of low rank (Nystroem) it is solved in closed form, for every λ from one factorisation.
With L Lᵀ = ρ I + Φᵀ M Φ and Q = Φ L⁻ᵀ, so that Q Qᵀ = K̃ (ρ I + M K̃)⁻¹,

    t = r + N s/λ − M s,                s = Q (I − T/λ)⁻¹ Qᵀ r,     T = Qᵀ N Q                   (3)

up to a factor. Directions join the basis after one product with all of them, and eq. (1) finds the
best combination of all directions so far. The first ones are the components of the stand-in.

*When to stop.* r is K-orthogonal to the basis, so that ‖K r‖ ≤ η ‖r‖ with η the part of K that
the basis does not hold, as seen by the newest directions; and ‖A b‖ ≥ ‖Zᵀ N z‖²/‖N z‖. Once this
says that all is well, one more product measures ‖K r‖/‖A b‖ itself. Where it says no, the search
goes on, and the product was not in vain: K r is known.

A Lanczos method would need conjugate gradients in each of its steps, each a product with K.

Samples, tiles and stand-in are in the floating type of the samples. The basis and all sums over its
rows are in double precision, which costs nothing beside the products: single precision would lose
the ridge beside the scatters, and residuals would stop falling at 1e-4.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any

import numpy as np
from scipy.linalg import cholesky, eigh, solve_triangular
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import gen_batches

from skatter._checks import check_integer, check_real, seeded
from skatter._objective import SCA_FACTORS, Coefficients, Factors, Objective
from skatter._solve.blas import combine, dot, inner, pivoted_qr, subtract_combination
from skatter._solve.lanczos import orthonormal
from skatter._solve.operator import INDEFINITE
from skatter._solve.small import leading, leading_generalised, reduced
from skatter._solve.solution import Solution, numerical_rank
from skatter._tensors import (
    Array,
    Tall,
    column_norms,
    copied,
    device_of,
    empty_columns,
    fortran,
    host,
    host_dtype,
    hstack,
    inverse_of_lower,
    is_tensor,
    like,
    lower_on_card,
    on_card,
    random_columns,
    take,
)
from skatter._tiles import TiledGram
from skatter.domains import Domains

Progress = Callable[[int, float], None]

MAX_PRODUCTS = 100  # products with K after which the search is given up
MAX_LANDMARKS = 2048
"""Landmarks of the stand-in at most: a small eigenproblem of this size is solved on the host."""
RANDOM_DIRECTIONS = 8  # random directions in the first block, for what the stand-in cannot see
AHEAD = 4  # components of the stand-in in the first block for each one that is wanted
FIRST = 128  # components of the stand-in in the first block, at least
GUARD = 16  # pairs that are sought beyond the wanted ones, at least
BLOCKS = 16  # blocks that the basis has room for beside the first one
NEAR = 0.05
"""Closer to λ than this share of it, an eigenvalue of the stand-in is taken for farther away."""
PESSIMISM = 2.0  # factor on the estimated residual before a product is spent on the measured one
ROW_BATCH = 2**14  # rows that are turned into double precision at a time
COLUMN_BATCH = 256  # features whose moments are collected at a time
NOT_POSITIVE = (
    "The kernel is not positive semi-definite on these samples, as the iterative route needs it. "
    "Choose another kernel (rbf, linear, polynomial with coef0 >= 0) or another solver."
)


def solve_iterative(
    gram: TiledGram,
    domains: Domains,
    objective: Objective,
    k: int,
    *,
    tol: float,
    random_state: Any = None,
    factors: Factors = SCA_FACTORS,
    landmarks: int | None = None,
    max_products: int = MAX_PRODUCTS,
    progress: Progress | None = None,
) -> Solution:
    """Return the ``k`` leading components, or fewer where the rank is lower.

    The stand-in is made of ``landmarks`` samples (None: 6 √n, and 4 for each component).
    ``progress`` is told the number of products so far and the worst residual. Where
    ``max_products`` are not enough, a ConvergenceWarning says so, and the residuals reached are
    measured and returned.
    """
    check_integer("k", k, low=1)
    check_integer("max_products", max_products, low=2)
    check_real("tol", tol, low=0, open_low=True)
    if landmarks is not None:
        check_integer("landmarks", landmarks, low=1)
    coefficients = Coefficients(domains, np.float64, factors, device_of(gram.X))
    problem = _Problem(gram, coefficients, objective)
    search = _Search(problem, k, tol, random_state, max_products, progress)
    try:
        return search.run(landmarks)
    except np.linalg.LinAlgError as error:
        raise ValueError(INDEFINITE) from error


@dataclass(frozen=True, eq=False)
class _Problem:
    gram: TiledGram
    coefficients: Coefficients
    objective: Objective

    @property
    def ridge(self) -> float:
        return self.objective.ridge

    @property
    def device(self) -> Any:
        return device_of(self.gram.X)

    @property
    def eps(self) -> float:
        return float(np.finfo(self.gram.dtype).eps)

    def signal(self, Z: Tall) -> Tall:
        return self.coefficients.numerator(self.objective, Z)

    def nuisance(self, Z: Tall) -> Tall:
        return self.coefficients.denominator(self.objective, Z)

    def thin(self) -> Tall:
        coefficients, objective = self.coefficients, self.objective
        classes = coefficients.between if objective.between_class else coefficients.between[:, :0]
        weighted = np.flatnonzero(coefficients.nuisance_weights(objective))
        return hstack([classes, _columns(hstack(coefficients.nuisance), weighted)])

    def image(self, W: Tall) -> Tall:
        return self.double(self.gram.product(like(W, self.gram.X)))

    def double(self, W: Tall) -> Tall:
        return like(W, self.coefficients.between)

    def pencil(self, Z: Tall, new: Tall) -> tuple[Array, Array]:
        A, C = np.empty((2, Z.shape[1], new.shape[1]))
        for columns in gen_batches(new.shape[1], COLUMN_BATCH):
            part = self.double(new[:, columns])
            A[:, columns] = self.inner(Z, self.signal(part))
            C[:, columns] = self.inner(Z, self.nuisance(part))
        return A, C

    def inner(self, A: Tall, B: Tall) -> Array:
        """Return AᵀB in double precision; A may be single, and is turned strip by strip."""
        if host_dtype(A) == np.float64:
            return inner(A, B)
        batches = gen_batches(len(A), ROW_BATCH)
        return host(sum(dot(self.double(A[rows]).T, B[rows]) for rows in batches))


class _StandIn:
    """K̃ = Φ Φᵀ of a few landmarks, its components, and the correction of eq. (3).

    Components beyond the first ``count`` are not told apart: their eigenvalues count as zero.
    """

    def __init__(self, problem: _Problem, landmarks: Array, count: int) -> None:
        self._problem = problem
        features = _nystroem(problem.gram, landmarks)
        A, C = problem.pencil(features, features)
        C[np.diag_indices_from(C)] += problem.ridge
        L, T = reduced(A, (C + C.T) / 2, problem.device)
        self._values, self._vectors = leading(T, count, problem.device)
        _rotate(features, L)
        self._basis = features

    def components(self) -> Tall:
        """Return the coefficients b = (N z/θ − M z)/ρ of the components."""
        rank = numerical_rank(self._values)
        Z = self._lift(self._vectors[:, :rank])
        inverse = like(1 / self._values[:rank], Z)
        return self._problem.signal(Z) * inverse - self._problem.nuisance(Z)

    def correct(self, pairs: _Ritz) -> Tall:
        residuals, eigenvalues = pairs.residuals, pairs.eigenvalues
        inside = inner(self._basis, like(residuals, self._basis))
        gap = eigenvalues - self._values[:, None]
        # A component of the stand-in that is this close is in the first block already.
        least = NEAR * eigenvalues
        gap = np.where(np.abs(gap) < least, np.copysign(least, gap), gap)
        known = (self._values[:, None] / gap) * (self._vectors.T @ inside)
        inside = inside + self._vectors @ known
        S = self._lift(inside)
        signal = self._problem.signal(S) * like(1 / eigenvalues, S)
        return residuals + signal - self._problem.nuisance(S)

    def _lift(self, Y: Array) -> Tall:
        return self._problem.double(combine(self._basis, Y.astype(self._problem.gram.dtype)))


def _nystroem(gram: TiledGram, landmarks: Array) -> Tall:
    """Return centred features Φ with Φ Φᵀ ≈ K, exact on the landmarks up to a jitter."""
    features = gram.columns(landmarks)
    own = host(take(features, landmarks)).astype(np.float64)
    jitter = 10 * float(np.finfo(gram.dtype).eps)
    _rotate(features, _jittered_cholesky(own, jitter, device_of(features)))
    features -= features.mean(axis=0)
    return features


def _jittered_cholesky(K: Array, jitter: float, device: Any) -> Array:
    """Return the factor of K with as much of its trace on the diagonal as makes it positive.

    A kernel that a user computes with few digits needs more than rounding.
    """
    size = max(float(np.abs(np.diagonal(K)).sum()), np.finfo(np.float64).tiny)
    while jitter < 1e-2:
        try:
            lifted = K + jitter * size * np.eye(len(K))
            if on_card(device):
                return lower_on_card(lifted, device)
            return cholesky(lifted, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            jitter *= 100
    raise ValueError(NOT_POSITIVE)


def _rotate(features: Tall, L: Array) -> None:
    """Overwrite Φ by Φ L⁻ᵀ, a strip of rows at a time."""
    if is_tensor(features):
        inverse = inverse_of_lower(L, features).T
    else:
        inverse = solve_triangular(L, np.eye(len(L)), lower=True, check_finite=False)
        inverse = np.asfortranarray(inverse.T, dtype=host_dtype(features))
    for rows in gen_batches(len(features), max(len(L), 1)):
        features[rows] = dot(features[rows], inverse)


@dataclass(frozen=True, eq=False)
class _Ritz:
    """Leading pairs of eq. (1), N z, residuals of eq. (2), and estimates of ‖K r‖/‖A b‖."""

    eigenvalues: Array
    coefficients: Tall
    projections: Tall
    signal: Tall
    residuals: Tall
    estimates: Array


class _Space:
    """The basis V, Z = K V with Vᵀ Z = I, and both sides of eq. (1) on it.

    Where there is no room for more, the span of the ``kept`` leading pairs stays.
    """

    def __init__(self, problem: _Problem, capacity: int, *, kept: int) -> None:
        self._problem, gram = problem, problem.gram
        self.size, self._capacity, self._kept = 0, capacity, kept
        self._V, self._Z = (
            empty_columns(gram.n, capacity, problem.coefficients.between) for _ in range(2)
        )
        self._A, self._C = (np.zeros((capacity, capacity)) for _ in range(2))
        # Energy that rounding alone can give to a unit vector of coefficients.
        energy = np.abs(gram.diagonal)
        self._noise = 30 * problem.eps * sqrt(float(energy.sum()) * float(energy.max()))
        self._largest = self._outside = 0.0

    @property
    def _basis(self) -> tuple[Tall, Tall]:
        return self._V[:, : self.size], self._Z[:, : self.size]

    def extend(self, W: Tall) -> bool:
        """Add directions with one product, and say whether any was new."""
        self._make_room(W.shape[1])
        W = self._independent(W)
        return bool(W.shape[1]) and self.absorb(W, self._problem.image(W))

    def _independent(self, W: Tall) -> Tall:
        """Return an orthonormal basis of the directions, K-orthogonal to what is there."""
        V, Z = self._basis
        W = fortran(W * _inverse_norms(W))
        # Scaled up, a short column shows what rounding left in it: off the basis once more.
        for least in (1e3 * np.finfo(np.float64).eps, 0.1):
            W = subtract_combination(W, V, inner(Z, W))
            Q, R, _ = pivoted_qr(W)
            W = fortran(Q[:, : int(np.sum(np.abs(np.diagonal(R)) > least))])
        return W

    def absorb(self, W: Tall, image: Tall) -> bool:
        """Add directions whose product with K is known, and say whether any was new."""
        self._make_room(W.shape[1])
        V, Z = self._basis
        scale = _inverse_norms(W)
        W, image = fortran(W * scale), fortran(image * scale)
        along = inner(Z, W)
        W, image = subtract_combination(W, V, along), subtract_combination(image, Z, along)
        energy = self._problem.inner(W, image)
        energies, turn = eigh((energy + energy.T) / 2, check_finite=False)
        self._largest = max(self._largest, float(energies[-1]))
        if energies[0] < -max(self._noise, 1e-4 * self._largest):
            raise ValueError(NOT_POSITIVE)
        new = energies > self._noise
        self._outside = float(energies[-1])
        if not new.any():
            return False
        turn = turn[:, new] / np.sqrt(energies[new])
        self._append(combine(W, turn), combine(image, turn))
        return True

    def _append(self, W: Tall, image: Tall) -> None:
        first, self.size = self.size, self.size + W.shape[1]
        own = slice(first, self.size)
        self._V[:, own], self._Z[:, own] = W, image
        V, Z = self._basis
        A, C = self._problem.pencil(Z, image)
        C += self._problem.ridge * self._problem.inner(V, image)
        for matrix, columns in ((self._A, A), (self._C, C)):
            matrix[: self.size, own] = columns
            matrix[own, : self.size] = columns.T
            matrix[own, own] = (columns[first:] + columns[first:].T) / 2

    def ritz(self, count: int) -> _Ritz:
        V, Z = self._basis
        eigenvalues, Y = self._leading(count)
        rank = numerical_rank(eigenvalues.astype(self._problem.gram.dtype))
        eigenvalues, Y = eigenvalues[:rank], Y[:, :rank]
        inside = np.linalg.norm(self._A[: self.size, : self.size] @ Y, axis=0)
        b, z = combine(V, Y), combine(Z, Y)
        signal = self._problem.signal(z)
        ridged = self._problem.ridge * b + self._problem.nuisance(z)
        residuals = signal - ridged * like(eigenvalues, z)
        estimates = self._outside * column_norms(residuals) * column_norms(signal) / inside**2
        return _Ritz(eigenvalues, b, z, signal, residuals, estimates)

    def beyond(self, W: Tall, image: Tall) -> Tall:
        """Return the part of K W that is not in the basis."""
        _, Z = self._basis
        return subtract_combination(copied(image), Z, inner(Z, W))

    def _leading(self, count: int) -> tuple[Array, Array]:
        if not self.size:
            return np.empty(0), np.empty((0, 0))
        own = slice(self.size)
        return leading_generalised(
            self._A[own, own], self._C[own, own], count, self._problem.device
        )

    def _make_room(self, count: int) -> None:
        """Keep the span of the leading pairs alone where there is no room: a thick restart."""
        if self.size + count <= self._capacity:
            return
        turn = orthonormal(self._leading(self._kept)[1])
        own, kept = slice(self.size), slice(turn.shape[1])
        for matrix in (self._A, self._C):
            matrix[kept, kept] = turn.T @ matrix[own, own] @ turn
        for tall in (self._V, self._Z):
            tall[:, kept] = combine(tall[:, own], turn)
        self.size = turn.shape[1]


class _Search:
    def __init__(
        self,
        problem: _Problem,
        k: int,
        tol: float,
        random_state: Any,
        max_products: int,
        progress: Progress | None,
    ) -> None:
        self._problem, self._tol, self._progress = problem, tol, progress
        self._random = seeded(random_state)
        self._max_products, self._before = max_products, problem.gram.products
        # A numerator of class means alone has no more components than F has columns.
        classes = problem.coefficients.between.shape[1]
        self._wanted = min(k, classes) if problem.objective.between_only else k
        # Pairs beyond the wanted ones keep those at the edge apart from what follows.
        self._width = self._wanted + max(self._wanted // 2, GUARD)
        self._ahead = max(AHEAD * self._wanted, FIRST)
        self._caution = PESSIMISM

    def run(self, landmarks: int | None) -> Solution:
        stand_in = _StandIn(self._problem, self._landmarks(landmarks), self._ahead)
        first = hstack([stand_in.components(), self._problem.thin(), self._draw(RANDOM_DIRECTIONS)])
        capacity = first.shape[1] + BLOCKS * self._width
        space = _Space(self._problem, capacity, kept=2 * self._width)
        grows = space.extend(first)
        while True:
            pairs = space.ritz(self._width)
            doubtful = self._doubtful(pairs)
            few = space.size < self._wanted
            # The last product is kept for the measurement.
            if grows and (few or len(doubtful)) and self._products + 1 < self._max_products:
                more = self._draw(self._wanted) if few else stand_in.correct(pairs)
                grows = space.extend(more)
                continue
            images, sizes = self._measure(pairs)
            residuals = pairs.residuals[:, : len(sizes)]
            # What rounding left of r inside the basis, no search can better.
            missing = column_norms(space.beyond(residuals, images)) / sizes
            failed = self._too_large(missing, pairs)
            given_up = not grows or self._products >= self._max_products
            if len(failed) and given_up:
                self._warn(missing[failed])
            if given_up or not len(failed):
                return self._solution(pairs, column_norms(images) / sizes)
            self._caution = float(np.max(missing[failed] / pairs.estimates[failed]))
            grows = space.absorb(_columns(residuals, failed), _columns(images, failed))

    @property
    def _products(self) -> int:
        return self._problem.gram.products - self._before

    def _landmarks(self, count: int | None) -> Array:
        n = self._problem.gram.n
        if count is None:
            count = min(max(ceil(6 * sqrt(n)), self._ahead), MAX_LANDMARKS)
        return np.sort(self._random.choice(n, min(count, n), replace=False))

    def _draw(self, count: int) -> Tall:
        W = random_columns(self._random, count, self._problem.coefficients.between)
        return W - W.mean(axis=0)

    def _doubtful(self, pairs: _Ritz) -> Array:
        """Return the wanted pairs whose residual seems too large."""
        estimates = self._caution * pairs.estimates[: self._wanted]
        self._report(estimates)
        return self._too_large(estimates, pairs)

    def _too_large(self, residuals: Array, pairs: _Ritz) -> Array:
        """Return the pairs above the tolerance; rounding is relative to the largest eigenvalue."""
        eigenvalues = pairs.eigenvalues[: len(residuals)]
        rounding = 20 * self._problem.eps * np.max(eigenvalues, initial=0) / eigenvalues
        return np.flatnonzero(residuals > np.maximum(self._tol, rounding))

    def _measure(self, pairs: _Ritz) -> tuple[Tall, Array]:
        """Return K r and ‖A b‖ of the wanted pairs, from one more product."""
        m = min(self._wanted, len(pairs.eigenvalues))
        images = self._problem.image(hstack([pairs.residuals[:, :m], pairs.signal[:, :m]]))
        sizes = column_norms(images[:, m:])
        self._report(column_norms(images[:, :m]) / sizes)
        return images[:, :m], sizes

    def _solution(self, pairs: _Ritz, residuals: Array) -> Solution:
        dtype, X, m = self._problem.gram.dtype, self._problem.gram.X, len(residuals)
        B = pairs.coefficients[:, :m]
        return Solution(
            pairs.eigenvalues[:m].astype(dtype),
            like(B - B.mean(axis=0), X),
            like(pairs.projections[:, :m], X),
            residuals.astype(dtype),
        )

    def _report(self, residuals: Array) -> None:
        if self._progress is not None:
            self._progress(self._products, float(np.max(residuals, initial=0.0)))

    def _warn(self, residuals: Array) -> None:
        warnings.warn(
            f"{len(residuals)} of {self._wanted} components have not converged after "
            f"{self._products} products with the Gram matrix: residuals are up to "
            f"{residuals.max():.1e}, above tol={self._tol:g}. Allow more products, give more "
            "landmarks, or choose a larger tol or double precision.",
            ConvergenceWarning,
            stacklevel=4,
        )


def _inverse_norms(W: Tall) -> Tall:
    norms = column_norms(W)
    return like(1 / np.where(norms > 0, norms, 1), W)


def _columns(W: Tall, chosen: Array) -> Tall:
    return take(W.T, chosen).T
