"""G = K (ρ I + w S K)⁻¹, applied at the price of a product with K.

A = (w/ρ) S K S is the class-centred labelled block; I + A has eigenvalues of at least one and is
factored without any jitter. On the range of S, w G = A (I + A)⁻¹ = I − (I + A)⁻¹. Hence with l
the labelled and u the unlabelled rows, one application of G is

    v        = (I + A)⁻¹ ((w/ρ) S K_lu x_u − S x_l)
    S (Gx)_l = (S x_l + v)/w
    (Gx)_u   = (K_uu x_u − K_ul v)/ρ                                                            (1)

which costs exactly the 2n² flops of one product with K. The class indicators Q, the only
directions that S removes, are few: G Q is computed once.

K may be a tensor: then all here are, and one application waits for nothing on the host.
"""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import Any

import numpy as np

from skatter._objective import Coefficients, Objective
from skatter._solve.blas import (
    cholesky_in_place,
    cholesky_solve,
    dot,
    is_rough,
    large_dot,
    project_off,
    subtract_dot,
    subtract_symmetric,
)
from skatter._tensors import (
    Tall,
    add_to_diagonal,
    copied,
    fortran,
    is_double,
    is_tensor,
    multiply_by_cell,
    trace,
)
from skatter.domains import Codes, Domains

INDEFINITE = (
    "The kernel is not positive semi-definite on these samples: the denominator, ridge included, "
    "has a negative direction. Choose another kernel (rbf, linear, polynomial with coef0 >= 0) "
    "or a larger ridge."
)


def canonical_order(domains: Domains) -> Codes:
    """Rows sorted so that labelled samples come first, class by class: blocks become slices."""
    return np.lexsort((domains.domain, domains.label, ~domains.labelled))


class DualOperator:
    """G = K (ρ I + w S K)⁻¹ for one Gram matrix, one set of labels and one ridge; eq. (1).

    Rows are in :func:`canonical_order`; of the objective, ``within_class`` and ``ridge`` matter.
    """

    def __init__(self, K: Tall, coefficients: Coefficients, objective: Objective) -> None:
        self.K = K
        self.coefficients = coefficients
        self.ridge = objective.ridge
        self.within = coefficients.within_weight(objective)
        self.n_labelled = coefficients.domains.n_labelled if self.within else 0
        self._classes = coefficients.classes
        # Where the kernel is weak beside the ridge, the difference in eq. (1) would cost digits.
        strength = trace(K[: self.n_labelled, : self.n_labelled])
        self._weak = self.within / self.ridge * strength < 1e-2
        if self.n_labelled:
            self._factor = self._factorise()

    def in_single_precision(self) -> DualOperator:
        """Return the same operator on float32 arrays, all of them made in double precision."""
        if self.n_labelled and not self._weak:
            _ = self._among_classes
        arrays = ((name, value) for name, value in vars(self).items() if is_double(value))
        other = copy(self)
        vars(other).update({name: value.astype(np.float32) for name, value in arrays})
        return other

    @cached_property
    def _labelled_classes(self) -> Tall:
        return fortran(self._classes[: self.n_labelled])

    def _labelled_block(self) -> Tall:
        block, weight = self.K[: self.n_labelled, : self.n_labelled], self.within / self.ridge
        if is_tensor(block):
            return block * weight
        # K is its own transpose, and a copy along its rows is several times as fast.
        block = copied(block.T if block.strides[0] > block.strides[1] else block)
        block *= weight
        return block

    def _factorise(self) -> Any:
        """Cholesky factor of I + (w/ρ) S K S, in place."""
        block = self._labelled_block()
        Q = self._labelled_classes
        KQ = dot(block, Q)
        # S K S = K − Q Xᵀ − X Qᵀ with X = K Q − Q (Qᵀ K Q)/2
        block = subtract_symmetric(block, Q, subtract_dot(KQ, Q, dot(Q.T, KQ) / 2))
        add_to_diagonal(block, 1)
        try:
            return cholesky_in_place(block)
        except np.linalg.LinAlgError as error:
            raise ValueError(INDEFINITE) from error

    def _centre(self, W: Tall) -> Tall:
        return project_off(W, self._labelled_classes)

    def _solve(self, V: Tall) -> Tall:
        """Return (I + A)⁻¹ V for V = S V, overwriting V; a rough factor is refined once."""
        if not is_rough(self._factor):
            return self._centre(cholesky_solve(self._factor, V))
        X = self._centre(cholesky_solve(self._factor, copied(V)))
        image = self._centre(dot(self.K[: self.n_labelled, : self.n_labelled], X))
        V -= X
        V -= image * (self.within / self.ridge)
        X += self._centre(cholesky_solve(self._factor, V))
        return X

    def direct(self, W: Tall) -> Tall:
        """Return G W by the Woodbury formula: for few columns."""
        return self._from_product(large_dot(self.K, W))

    def of_thin(self, W: Tall) -> Tall:
        """Return G W for columns that are the same on all samples of a domain and class."""
        if not is_double(self.K):
            return self.direct(W)
        _, cell = self.coefficients.domains.cells()
        _, first = np.unique(cell, return_index=True)
        return self._from_product(multiply_by_cell(self.K, W[first], cell))

    def _from_product(self, out: Tall) -> Tall:
        """Return G W from K W, overwriting it."""
        if self.n_labelled:
            inner = self._centre(copied(out[: self.n_labelled]))
            inner = self._solve(inner)
            inner *= self.within / self.ridge
            out = subtract_dot(out, self.K[: self.n_labelled].T, inner)
        out /= self.ridge
        return out

    @cached_property
    def _image_of_classes(self) -> Tall:
        return self.of_thin(self._classes)

    @cached_property
    def _among_classes(self) -> Tall:
        """Qᵀ G Q."""
        return dot(self._classes.T, self._image_of_classes)

    def __call__(self, W: Tall) -> Tall:
        """Return G W with the flops of one product with K; eq. (1)."""
        if self._weak:
            return self.direct(W)
        Q = self._classes
        GQ = self._image_of_classes
        along = dot(Q.T, W)
        across = dot(GQ.T, W) - dot(self._among_classes, along)
        out = self._off_classes(subtract_dot(copied(W), Q, along))
        out = subtract_dot(out, GQ, -along)
        return subtract_dot(out, Q, -across)

    def _off_classes(self, W: Tall) -> Tall:
        """P G P W for W = P W, P = I − Q Qᵀ."""
        n_labelled = self.n_labelled
        own, rest = W[:n_labelled], fortran(W[n_labelled:])
        # K_lu x_u above K_uu x_u, from rows of K that lie together
        image = large_dot(self.K[n_labelled:].T, rest)
        v = self._centre(copied(image[:n_labelled]))
        v *= self.within / self.ridge
        v -= own
        v = self._solve(v)
        image[:n_labelled] = (own + v) / self.within
        if len(rest):
            image[n_labelled:] -= large_dot(self.K[:n_labelled, n_labelled:].T, v)
            image[n_labelled:] /= self.ridge
        return image
