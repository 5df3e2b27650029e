"""Joint distribution adaptation: TCA that also brings together the classes of source and target.

With the M of :mod:`skatter.methods._matching`, A solves K H K a = ν (K M K + λ I) a. M is made of a
few columns, so that each round, of which the first knows no target classes, takes products alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.preprocessing import normalize

from skatter._parameters import BOOLEAN, NON_NEGATIVE, POSITIVE, declared, optional, parameter
from skatter._solve import Eigenpairs
from skatter._tensors import Array, Tall, fortran, is_tensor, unit_rows
from skatter.domains import Codes
from skatter.methods._base import Transfer
from skatter.methods._matching import Guesses, Guessing, mean_differences
from skatter.methods._record import SUBSPACES, Tuning, method
from skatter.methods._tca import EIGEN_TOL, GramProduct, TransferComponents
from skatter.scatter import normalised


@declared
class JointMatching(Guessing, TransferComponents):
    """Base of JDA and BDA, which implement ``_differences``: rounds of features and guesses.

    Parameters
    ----------
    penalty : float > 0
        λ, the weight of the size of the coefficients.
    unit_samples : bool
        Scale the features of every sample to unit length, as the release does.
    """

    needs = ("source labels", "one target")
    _takes_tensors = True
    _default_n_components = 100
    penalty: float = parameter(POSITIVE, default=1.0)
    unit_samples: bool = parameter(BOOLEAN, default=True)
    kernel: Any = "linear"
    normalize_mmd: bool = True
    max_iter: int = 50
    tol: float = 1e-2

    def _differences(self, transfer: Transfer, guess: Codes) -> Array:
        """Return E with M = E Eᵀ."""
        raise NotImplementedError

    def _solve(self, transfer: Transfer, product: GramProduct, k: int) -> Eigenpairs:
        guesses = Guesses(self, transfer)
        for _ in guesses.rounds:
            E = self._differences(transfer, guesses.last)
            E = normalised(E) if self.normalize_mmd else E
            pairs = self._scaled(self._match_means(product, E, self.penalty, k, tol=EIGEN_TOL))
            Z = self._finish(product(fortran(pairs.vectors)))
            guesses.record(float(np.sum(1 / pairs.values)), guesses.nearest(Z))
        return pairs

    def _finish(self, Z: Tall) -> Tall:
        if not self.unit_samples:
            return Z
        return unit_rows(Z) if is_tensor(Z) else normalize(Z)


@method(
    "jda",
    when="classes are balanced alike in both domains and a first guess is fair",
    uses=("target labels",),
    cost="n²p + k n² per round",
    grid={"n_components": SUBSPACES, "penalty": (0.01, 0.1, 1.0, 10.0)},
    coarse=Tuning(
        {"n_components": (20, 100), "penalty": (0.1, 1.0)},
        {"max_iter": 10},
        why="Long et al. 2013: 100 bases, 10 iterations",
    ),
)
class JDA(JointMatching):
    """Joint distribution adaptation: means of domains and of guessed classes together.

        minimise    c₀ ‖mean_s(Z) − mean_t(Z)‖² + Σ_c ‖mean_s^c(Z) − mean_t^c(Z)‖² + λ ‖A‖²
        subject to  scatter of Z = K A is I

    Target classes are guessed by the nearest labelled neighbour, round by round; there is no
    guarantee that they settle. Sources are pooled. Labels of target samples, where there are some,
    are kept. The defaults are those of the authors' release, made for samples scaled to unit
    length (:class:`sklearn.preprocessing.Normalizer`). Torch tensors are worked on where they are.

    Parameters
    ----------
    marginal_weight : float >= 0 or None
        c₀, the weight of the domains' means; None is the number of classes, as released. Paper: 1.

    References
    ----------
    M. Long, J. Wang, G. Ding, J. Sun, P. S. Yu: Transfer Feature Learning with Joint Distribution
    Adaptation. ICCV 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter.methods import JDA
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1, 0, 1], 20)
    >>> X = rng.normal(size=(80, 5)) + 4 * np.eye(5)[y]
    >>> X[40:] += [0, 0, 3, 0, 0]
    >>> jda = JDA(n_components=2).fit(X, np.where(np.arange(80) < 40, y, -1))
    >>> bool(np.mean(jda.pseudo_labels_ == y[40:]) > 0.9)
    True
    """

    marginal_weight: float | None = parameter(optional(NON_NEGATIVE), default=None)

    def _differences(self, transfer: Transfer, guess: Codes) -> Array:
        weight = len(transfer.classes) if self.marginal_weight is None else self.marginal_weight
        return mean_differences(transfer, guess, weight)
