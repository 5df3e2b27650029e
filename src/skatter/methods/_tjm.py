"""Transfer joint matching: TCA that also weighs down source samples unlike the target.

Iteratively reweighted: with G = diag, 1 on target rows and ω/‖a_i‖ on source rows, the next A is
the leading eigenvectors of K H K a = ν (K L K + λ G) a. The matrix on the right is a diagonal plus
one column, so that each iteration takes products alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from skatter import _tensors as tensors
from skatter._parameters import POSITIVE, parameter
from skatter._solve import DiagonalPlusThin, Eigenpairs
from skatter._solve.blas import inner
from skatter._tensors import like
from skatter.methods._base import Transfer
from skatter.methods._iteration import Iterations, Iterative
from skatter.methods._record import COMPONENTS, Tuning, method
from skatter.methods._tca import EIGEN_TOL, GramProduct, TransferComponents


@method(
    "tjm",
    when="part of the source looks nothing like the target",
    cost="n²p + 2k n² per iteration",
    grid={"n_components": (*COMPONENTS, 80, 100), "penalty": (0.01, 0.1, 1.0, 10.0)},
    coarse=Tuning(
        {"n_components": (10, 20, 40, 100), "penalty": (1.0,)},
        why="Long et al. 2014: penalty 1 on images",
    ),
)
class TJM(Iterative, TransferComponents):
    """Transfer joint matching: TCA that weighs down source samples unlike the target.

        minimise    ‖mean_s(Z) − mean_t(Z)‖² + λ (Σ_source ‖a_i‖ + Σ_target ‖a_i‖²)
        subject to  scatter of Z = K A is I

    Sources are pooled. Labels are not used. With ``max_iter=1`` it is :class:`TCA`. The defaults
    are those of the authors' release, made for samples scaled to unit length
    (:class:`sklearn.preprocessing.Normalizer`). Torch tensors are worked on where they are.

    Parameters
    ----------
    penalty : float > 0
        λ, the weight of the size of the coefficients.
    source_weight : float > 0
        ω in the weight ω/‖a_i‖ of a source sample: 1 is the release's, 0.5 the printed one.
    scale : {"unit", "constraint"}
        Length of the coefficients, in the features and in the weights ω/‖a_i‖. ``"unit"``: each
        column of A has length one, as in the release and as the published results need.
        ``"constraint"``: as the problem has it; the objective then never rises (with
        ``source_weight=0.5``).

    Attributes
    ----------
    objective_ : ndarray of shape (n_iter_,)
        The objective above after each iteration, at the constraint's scale.
    row_norms_ : ndarray of shape (n_samples,)
        ‖a_i‖: how much each sample matters.

    References
    ----------
    M. Long, J. Wang, G. Ding, J. Sun, P. S. Yu: Transfer Joint Matching for Unsupervised Domain
    Adaptation. CVPR 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter.methods import TJM
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(size=(40, 5)), rng.normal(size=(30, 5)) + [3, 0, 0, 0, 0]])
    >>> tjm = TJM(n_components=2).fit(X, sample_domain=np.repeat([1, -2], [40, 30]))
    >>> tjm.transform(X[:3]).shape
    (3, 2)
    """

    _takes_tensors = True
    penalty: float = parameter(POSITIVE, default=1.0)
    source_weight: float = parameter(POSITIVE, default=1.0)
    kernel: Any = "linear"
    normalize_mmd: bool = True
    _default_n_components = 20

    def _solve(self, transfer: Transfer, product: GramProduct, k: int) -> Eigenpairs:
        means = product(product.like(self._mean_difference(transfer)))
        only_source = transfer.source & ~transfer.target
        weights = np.ones(product.n)
        iterations = Iterations.of(self)
        for _ in iterations:
            root = DiagonalPlusThin(self.penalty * weights, means)
            found = self._pencil(product, root, k, tol=EIGEN_TOL)
            pairs = self._scaled(found)
            self.row_norms_ = tensors.column_norms(pairs.vectors.T)
            # Rows that have gone to zero stay there, by a weight that is large but finite.
            size = np.sqrt(self.row_norms_**2 + np.finfo(np.float64).eps)
            weights = np.where(only_source, self.source_weight / size, 1.0)
            # The objective, at coefficients that meet the constraint.
            A = found.vectors / like(np.sqrt(found.values), found.vectors)
            rows = tensors.column_norms(A.T)
            sizes = 2 * self.source_weight * rows[only_source].sum()
            sizes += np.square(rows[~only_source]).sum()
            iterations.record(float(np.square(inner(means, A)).sum() + self.penalty * sizes))
        self.objective_ = np.array(iterations.objective)
        return pairs
