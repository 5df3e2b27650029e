"""Heterogeneous feature augmentation, solved in closed form.

Source samples x become (P x, x, 0) and target samples t become (Q t, 0, t), and one support vector
machine, whose slacks cost C_s in the source and C_t in the target, is trained on both while P and
Q are learnt with ‖P‖² + ‖Q‖² ≤ λ. With K = blockdiag(K_s, K_t), the dual problem is

    min_H max_α  Σ α_i − ½ (α∘y)ᵀ K^½ (H + I) K^½ (α∘y)      over H ⪰ 0, tr H ≤ λ
                                                             and 0 ≤ α ≤ C, αᵀy = 0.

The authors solve it by cutting planes, H = Σ d_r h_r h_rᵀ with a multiple kernel learner in each
round. There is no need to. The problem is linear in H and concave in α, so min and max change
places; for given α and v = K^½(α∘y), the best H is λ v vᵀ/‖v‖², for which

    vᵀ(H + I) v = (1 + λ) ‖v‖² = (1 + λ) (α∘y)ᵀ K (α∘y):

what is left is one support vector machine with the kernel (1 + λ) K or, which is the same, with
the kernel K and costs (1 + λ) C. Its decision function K^½(H + I)v + b = (1 + λ) K(α∘y) + b is
that of the saddle point, to which the cutting planes converge.

K has no entries between source and target, so the two have weight vectors of their own. All that
the source tells the target is where the common intercept lies.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import block_diag

from skatter._parameters import NON_NEGATIVE, POSITIVE, parameter
from skatter._tensors import Array
from skatter.domains import Mask
from skatter.kernels import Kernel, WithKernel, check_gram, kernel_of, require_memory
from skatter.methods._base import RivalClassifier, Transfer, one_against_rest
from skatter.methods._machines import support_vector_machines
from skatter.methods._record import method, tried


class _Side(NamedTuple):
    """The labelled samples of source or target, with the kernel of that side."""

    kernel: Kernel
    rows: Array
    samples: Any

    def similarity(self, X: Any) -> Array:
        if self.kernel.precomputed:
            return np.asarray(X[:, self.rows], dtype=np.float64)
        return self.kernel(X, self.samples).astype(np.float64, copy=False)


@method(
    "hfa",
    when="a few labels in the target, whose features mean something else",
    cost="n_l² p + C support vector machines of n_l samples",
)
class HFA(WithKernel, RivalClassifier):
    """Heterogeneous feature augmentation: SVMs of source and target with a common intercept.

        minimise    ½ ‖w_s‖² + ½ ‖w_t‖² + (1 + λ) (C_s Σ_source ξ_i + C_t Σ_target ξ_i)
        subject to  y_i (w_sᵀφ_s(x_i) + b) ≥ 1 − ξ_i  in the source, w_t and φ_t in the target

    It needs labels in source and target, and learns from labelled samples alone; others help to
    find the bandwidths. Several classes are told apart one against the rest.

    Source and target have bandwidths of their own, and their features need not mean the same.
    Where they differ in number, fill the missing columns with zeros, or give a Gram matrix with
    ``kernel="precomputed"``; values between source and target are not looked at. The authors
    scale samples to unit length first.

    Parameters
    ----------
    lam : float >= 0
        λ, the allowed size of the map to the common space. At the optimum it multiplies the
        costs; with 0 there is no map.
    C_source, C_target : float > 0
        Cost of a source and of a target sample on the wrong side of the margin.
    tol : float > 0
        How far the conditions of optimality may be violated.

    Attributes
    ----------
    source_coef_, target_coef_ : ndarray of shape (n_labelled, n_machines)
        (1 + λ) α∘y for the labelled samples of source and target, in their order; one machine for
        each class, or one for two classes.
    intercept_ : ndarray of shape (n_machines,)
        b.

    Notes
    -----
    The authors learn a common space of source and target by cutting planes and multiple kernel
    learning. The minimum of their problem has the closed form above, derived at the head of the
    module and checked against their algorithm in the tests: one support vector machine for each
    domain, with an intercept in common. Do not expect the source to help much.

    References
    ----------
    W. Li, L. Duan, D. Xu, I. W. Tsang: Learning with Augmented Features for Supervised and
    Semi-Supervised Heterogeneous Domain Adaptation. IEEE TPAMI 36(6), 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter.methods import HFA
    >>> rng = np.random.default_rng(0)
    >>> y, site = np.tile([0, 1], 50), np.repeat([1, -2], 50)  # a negative id is the target
    >>> signs = np.where(site > 0, 1, -1)  # features that mean the opposite over there
    >>> X = rng.normal(size=(100, 3)) + 2 * (signs * (2 * y - 1))[:, None]
    >>> known = np.where((site > 0) | (np.arange(100) >= 94), y, -1)
    >>> HFA().fit(X, known, sample_domain=site).score(X[site < 0], y[site < 0])
    1.0
    """

    lam: float = tried(NON_NEGATIVE, 1.0, 10.0, 100.0, 1000.0, default=100.0)
    C_source: float = tried(POSITIVE, 0.01, 0.1, 1.0, 10.0, default=1.0)
    C_target: float = tried(POSITIVE, 0.1, 1.0, 10.0, default=1.0)
    tol: float = parameter(POSITIVE, default=1e-3)
    needs = ("source labels", "one target", "target labels")
    _takes_sparse = True

    def _fit(self, transfer: Transfer) -> None:
        source, target = (self._side(transfer, part) for part in (transfer.source, transfer.target))
        sizes = [len(source.rows), len(target.rows)]
        require_memory(sum(sizes), np.dtype(np.float64).itemsize)
        K = block_diag(*(side.similarity(transfer.X[side.rows]) for side in (source, target)))
        label = transfer.label[np.concatenate([source.rows, target.rows])]
        signs = one_against_rest(label, len(transfer.classes))
        costs = np.repeat([self.C_source, self.C_target], sizes)
        # K and (1 + λ) C in place of (1 + λ) K and C
        coef, self.intercept_ = support_vector_machines(K, signs, 1 + self.lam, self.tol, costs)
        self.source_coef_, self.target_coef_ = np.split(coef, sizes[:1])
        self._source, self._target = source, target

    def _side(self, transfer: Transfer, part: Mask) -> _Side:
        kernel, rows = kernel_of(self, transfer.X[part]), np.flatnonzero(part & transfer.labelled)
        if kernel.precomputed:
            check_gram(transfer.X)
        return _Side(kernel, rows, None if kernel.precomputed else transfer.X[rows])

    def _decide(self, X: Any, from_source: Mask) -> Array:
        values = np.empty((X.shape[0], len(self.intercept_)))
        source = self._source, self.source_coef_, from_source
        for side, coef, here in (source, (self._target, self.target_coef_, ~from_source)):
            if here.any():
                values[here] = side.similarity(X[here]) @ coef
        return values + self.intercept_
