"""Every sample twice: the linear algebra of a machine that domains share and bend.

First copies are judged by wᵀφ, second ones by (w + D_d)ᵀφ, d the domain of the sample. With
coefficients β of the first and γ of the second copies,

    w = Σ_i (β_i + γ_i) φ_i,     D_d = Σ_{i in d} γ_i φ_i / λ.

An interior-point method (:mod:`skatter.methods._hinge_dual`) asks for such values, and for the
solution of a linear system in which nothing but a diagonal matrix T changes from one iteration to
the next. What ties the domains together is w alone: given its change, each domain's is found apart.
So the system has the size of w, the number of features or of samples, and never that of all copies.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.linalg import get_blas_funcs, get_lapack_funcs, solve_triangular
from sklearn.utils import gen_batches

from skatter._solve.blas import cholesky_in_place, cholesky_solve, dot
from skatter._tensors import Array
from skatter.methods._quadratic import times

# Changes of coefficients and intercepts; see :meth:`Copies.factored`.
Solver = Callable[[Array, Array], tuple[Array, Array]]

NEGLIGIBLE = 1e-2  # curvature, in the regulariser's, that the samples left out of a step may have
JITTER = 1e-15  # share of itself that is added to the diagonal of a matrix before it is factored
BATCH = 512  # samples whose outer products are summed at a time: what is copied stays in the cache


class Copies:
    """Vectors over copies: the first copies of all samples, then second ones, domain by domain."""

    def __init__(self, n: int, parts: list[slice], bias_weight: float, size: float) -> None:
        self.parts, self.bias_weight, self.size = parts, bias_weight, size
        self._counts = [n, *(part.stop - part.start for part in parts)]

    def split(self, values: Array) -> list[Array]:
        """Return the first copies' part of a vector or matrix over copies, and each domain's."""
        return np.split(values, np.cumsum(self._counts)[:-1])

    def sums(self, values: Array) -> Array:
        """Return the sum over the first copies and over the second ones of each domain."""
        return np.array([own.sum(axis=0) for own in self.split(values)])

    def spread(self, intercepts: Array) -> Array:
        """Return the intercept of each copy: b, or b + b_d."""
        return np.repeat(intercepts, self._counts)

    def values(self, coef: Array) -> Array:
        """Return wᵀφ of first copies and (w + D_d)ᵀφ of second ones."""
        raise NotImplementedError

    def factored(self, T: Array) -> Solver:
        """Return the solver of a step, from h and e to changes of coefficients and intercepts.

        They fulfil dβγ = T (h − values(dβγ) − spread(db)) and sums(dβγ) = −e.
        """
        raise NotImplementedError


class FeatureCopies(Copies):
    """Copies of samples given by features.

    The change of w and of u_d = w + D_d, the intercepts being weights of a constant feature, solves

        [ (1 + mλ)R + X~ᵀT₁X~     −λR       −λR    .. ]
        [ −λR                  λR + S_1               ],     S_d = X~_dᵀ T₂ X~_d
        [ −λR                            λR + S_2     ]
        [ ..                                       .. ]

    with R = diag(1, .., 1, 0), m domains with second copies, and X~ = (φ, 1).
    """

    def __init__(self, features: Array, parts: list[slice], bias_weight: float) -> None:
        norms = np.einsum("ij,ij->i", features, features)
        super().__init__(len(features), parts, bias_weight, float(norms.mean()) - 1)
        all_parts = [slice(None), *parts]
        self._blocks = [features[part] for part in all_parts]
        self._norms = [norms[part] for part in all_parts]
        self._regulariser = np.ones(features.shape[1])
        self._regulariser[-1] = 0

    def values(self, coef: Array) -> Array:
        sums = self._transposed(coef) * self._regulariser
        w = sums.sum(axis=0)
        return self._scores([w, *(w + own / self.bias_weight for own in sums[1:])])

    def factored(self, T: Array) -> Solver:
        pull = self.bias_weight * self._regulariser
        blocks = zip(self._blocks, self.split(T), self._norms, strict=True)
        first, *others = (self._weighted_gram(*block) for block in blocks)
        first[np.diag_indices_from(first)] += self._regulariser + len(others) * pull
        factors = []
        for M in others:
            M[np.diag_indices_from(M)] += pull
            factors.append(_factor(M))
            rest = _inverse(factors[-1])
            rest *= pull
            rest *= pull[:, None]
            first -= rest
        factor = _factor(first)

        def solve(h: Array, excess: Array) -> tuple[Array, Array]:
            g = self._transposed(T * h)
            g[:, -1] += excess
            alone = [_solve(L, own) for L, own in zip(factors, g[1:], strict=True)]
            w = _solve(factor, g[0] + pull * np.sum(alone, axis=0))
            u = [a + _solve(L, pull * w) for L, a in zip(factors, alone, strict=True)]
            return T * (h - self._scores([w, *u])), np.array([block[-1] for block in (w, *u)])

        return solve

    def _scores(self, weights: list[Array]) -> Array:
        pairs = zip(self._blocks, weights, strict=True)
        return np.concatenate([times(X, u) for X, u in pairs])

    def _transposed(self, coef: Array) -> Array:
        pairs = zip(self._blocks, self.split(coef), strict=True)
        return np.array([times(X.T, own) for X, own in pairs])

    def _weighted_gram(self, X: Array, t: Array, norms: Array) -> Array:
        """Return the lower triangle of Σ t x xᵀ over the samples that matter.

        Without those that do not, beside the regulariser and to the intercept, a step is a little
        less exact, and not what it leads to.
        """
        least = NEGLIGIBLE * min(1.0, self.bias_weight) / len(t)
        used = np.flatnonzero((t * norms > least) | (t > NEGLIGIBLE * t.mean()))
        syrk = get_blas_funcs("syrk", dtype=X.dtype)
        total = np.zeros((X.shape[1], X.shape[1]), order="F")
        for batch in gen_batches(len(used), BATCH):
            rows = used[batch]
            scaled = np.sqrt(t[rows])[:, None] * X[rows]
            total = syrk(1.0, scaled.T, beta=1.0, c=total, lower=True, overwrite_c=True)
        return total


class GramCopies(Copies):
    """Copies of samples given by a Gram matrix.

    Given the change f = K v of wᵀφ, with v = dβ + dγ, each domain's coefficients are

        dβ = T₁ (h₁ − f),   dγ = V (h₂ − f),   V = (T₂⁻¹ + K_d/λ)⁻¹,

    so that v = q − G f with q = T₁ h₁ + V h₂ and the block-diagonal G = T₁ + V = L Lᵀ, and

        v = L (I + LᵀKL)⁻¹ L⁻¹ q.
    """

    def __init__(self, K: Array, parts: list[slice], bias_weight: float) -> None:
        super().__init__(len(K), parts, bias_weight, float(np.trace(K)) / len(K))
        self._K = K

    def values(self, coef: Array) -> Array:
        first, *second = self.split(coef)
        total = first.copy()
        for part, own in zip(self.parts, second, strict=True):
            total[part] += own
        f = times(self._K, total)
        pairs = zip(self.parts, second, strict=True)
        bent = [f[p] + times(self._K[p, p], own) / self.bias_weight for p, own in pairs]
        return np.concatenate([f, *bent])

    def factored(self, T: Array) -> Solver:
        first, *second = self.split(T)
        V = [self._own(part, t) for part, t in zip(self.parts, second, strict=True)]
        L = [_root(first[part], own) for part, own in zip(self.parts, V, strict=True)]
        root = np.sqrt(first)
        single = np.ones(len(first), dtype=bool)
        for part in self.parts:
            single[part] = False

        def blockwise(act: Callable[[Array, Array], Array], x: Array, alone: Array) -> Array:
            """Let the blocks of L act on ``x`` in place; ``alone`` is for samples without one."""
            for part, block in zip(self.parts, L, strict=True):
                x[part] = act(block, x[part])
            x[single] *= alone[single, None]
            return x

        def times_transposed(block: Array, x: Array) -> Array:
            return dot(block.T, x)

        inner = blockwise(times_transposed, self._K.copy(), root).T
        inner = blockwise(times_transposed, inner, root)
        inner[np.diag_indices_from(inner)] += 1
        factor = _factor(np.asfortranarray(inner))
        lower_solve = partial(solve_triangular, lower=True, check_finite=False)

        def respond(h: Array) -> Array:
            h_first, *h_second = self.split(h)
            q = first[:, None] * h_first
            for part, own, rest in zip(self.parts, V, h_second, strict=True):
                q[part] += dot(own, rest)
            solved = cholesky_solve(factor, np.asfortranarray(blockwise(lower_solve, q, 1 / root)))
            f = dot(self._K, blockwise(dot, solved, root))
            triples = zip(self.parts, V, h_second, strict=True)
            bent = [dot(own, rest - f[part]) for part, own, rest in triples]
            return np.concatenate([first[:, None] * (h_first - f), *bent])

        of_constants = respond(np.eye(len(self._counts)).repeat(self._counts, axis=0))
        schur = self.sums(of_constants)

        def solve(h: Array, excess: Array) -> tuple[Array, Array]:
            free = respond(h[:, None])[:, 0]
            intercepts = np.linalg.solve(schur, self.sums(free) + excess)
            return free - of_constants @ intercepts, intercepts

        return solve

    def _own(self, part: slice, t: Array) -> Array:
        """Return V = √T₂ (I + √T₂ K_d √T₂ / λ)⁻¹ √T₂."""
        root = np.sqrt(t)
        M = np.asfortranarray(self._K[part, part] * (np.outer(root, root) / self.bias_weight))
        M[np.diag_indices_from(M)] += 1
        lower = np.tril(_inverse(_factor(M)))
        return (lower + np.tril(lower, -1).T) * np.outer(root, root)


def _root(t: Array, own: Array) -> Array:
    """Return the Cholesky factor of T₁ + V."""
    G = np.array(own, order="F")
    G[np.diag_indices_from(G)] += t
    return np.asfortranarray(np.tril(_factor(G)))


def _inverse(factor: Array) -> Array:
    """Return the lower triangle of the inverse, from the lower Cholesky factor."""
    return get_lapack_funcs("potri", dtype=factor.dtype)(factor, lower=True)[0]


def _factor(M: Array) -> Array:
    """Return the lower Cholesky factor, of a matrix that is singular up to rounding as well.

    What is added to the diagonal costs a step some digits, which refinement brings back.
    """
    M[np.diag_indices_from(M)] *= 1 + JITTER
    return cholesky_in_place(M)


def _solve(factor: Array, b: Array) -> Array:
    return cholesky_solve(factor, b[:, None].copy(order="F"))[:, 0]
