"""Joint distribution adaptation: TCA that also brings together the classes of source and target.

    minimise    tr Aᵀ K M K A + λ tr Aᵀ A      subject to    Aᵀ K H K A = I
    M = c₀ e eᵀ + Σ_c e_c e_cᵀ

with e as in TCA, and e_c holding 1/n_s^c on the source samples of class c and -1/n_t^c on the
target samples that are taken for class c. The first round knows no target classes; each round
predicts them by the nearest labelled neighbour in its features, and the next one uses them. M is
made of a few columns, so that each round is Lanczos with products alone.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

from skatter.domains import Codes
from skatter.methods.base import Transfer
from skatter.methods.iteration import ITERATIVE, Iterations
from skatter.methods.matching import Guesses, mean_differences, nearest_classes
from skatter.methods.record import SUBSPACES, Method, Tuning
from skatter.methods.transfer_components import (
    EIGEN_TOL,
    GramProduct,
    TransferComponents,
)
from skatter.parameters import BOOLEAN, NON_NEGATIVE, POSITIVE, optional
from skatter.solve import Eigenpairs

Array = NDArray[Any]


class JointMatching(TransferComponents):
    """Base of JDA and BDA, which implement ``_differences``: rounds of features and guesses."""

    _needs_labels: ClassVar[bool] = True
    _default_n_components: ClassVar[int] = 100
    _parameters: ClassVar = {**ITERATIVE, "penalty": POSITIVE, "unit_samples": BOOLEAN}

    penalty: float
    normalize_mmd: bool
    unit_samples: bool
    max_iter: int
    tol: float
    verbose: int

    def _differences(self, transfer: Transfer, guess: Codes) -> Array:
        """Return E with M = E Eᵀ, given the classes that target samples are taken for."""
        raise NotImplementedError

    def _solve(self, transfer: Transfer, product: GramProduct, k: int) -> Eigenpairs:
        guesses = Guesses(transfer.label, transfer.target)
        iterations = Iterations.of(self)
        for _ in iterations:
            E = self._differences(transfer, guesses.last)
            found = self._match_means(product, E, self.penalty, k, tol=EIGEN_TOL)
            pairs = self._scaled(found)
            Z = self._finish(product(np.asfortranarray(pairs.vectors)))
            changed, settled = guesses.update(nearest_classes(Z, transfer), self.tol)
            iterations.record(
                float(np.sum(1 / found.values)),
                settled=settled,
                note=f"{changed:.1%} of the target changed class",
            )
        self.pseudo_labels_ = transfer.classes[guesses.last[transfer.target]]
        self.objective_ = np.array(iterations.objective)
        self.n_iter_ = len(self.objective_)
        return pairs

    def _finish(self, Z: Array) -> Array:
        return normalize(Z) if self.unit_samples else Z


class JDA(JointMatching):
    """Joint distribution adaptation: one mean for the domains, and one for each of their classes.

        minimise    c₀ ‖mean_s(Z) − mean_t(Z)‖² + Σ_c ‖mean_s^c(Z) − mean_t^c(Z)‖² + λ ‖A‖²
        subject to  scatter of Z = K A is I

    Target classes are guessed by the nearest labelled neighbour, round by round; there is no
    guarantee that they settle. Sources are pooled. Labels of target samples, where there are some,
    are kept. The defaults are those of the authors' release, made for samples scaled to unit
    length (:class:`sklearn.preprocessing.Normalizer`).

    Parameters
    ----------
    n_components : int or None
        Components to keep; None is 100, or fewer where the rank is lower.
    penalty : float > 0
        λ, the weight of the size of the coefficients.
    marginal_weight : float >= 0 or None
        c₀, the weight of the domains' means; None is the number of classes, as in the release.
        The paper prints 1.
    kernel, gamma, degree, coef0, kernel_params
        The kernel, as in :class:`~skatter.SCA`. It is not centred.
    scale : {"unit", "constraint"}
        Length of the coefficients, as in :class:`TCA`.
    normalize_mmd : bool
        Divide M by its Frobenius norm, as the release does.
    unit_samples : bool
        Scale the features of every sample to unit length, as the release does.
    max_iter : int
        Rounds at most.
    tol : float >= 0
        Stop when at most this share of the guessed labels changed, or when all are as they were
        after an earlier round, since rounds would then repeat; 0 runs all of ``max_iter``.
    verbose : int
        Print a line for every round where positive.
    random_state : int, RandomState instance or None
        Seeds Lanczos and, for large samples, the median heuristic. None is a fixed seed.

    Attributes
    ----------
    objective_ : ndarray of shape (n_iter_,)
        The objective above after each round, for the classes that the round was given.
    n_iter_ : int
        Number of rounds.
    pseudo_labels_ : ndarray of shape (n_target,)
        Classes of the target samples after the last round, in their order in ``X``.
    eigenvalues_, dual_coef_, components_, residuals_, n_components_
        As in :class:`TCA`.
    source_ids_, domain_ids_, classes_ : ndarray
        As in :class:`TCA`.

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

    _parameters: ClassVar = {"marginal_weight": optional(NON_NEGATIVE)}

    def __init__(
        self,
        n_components: int | None = None,
        *,
        penalty: float = 1.0,
        marginal_weight: float | None = None,
        kernel: Any = "linear",
        gamma: Any = "median",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        scale: str = "unit",
        normalize_mmd: bool = True,
        unit_samples: bool = True,
        max_iter: int = 50,
        tol: float = 0.01,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.penalty = penalty
        self.marginal_weight = marginal_weight
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.scale = scale
        self.normalize_mmd = normalize_mmd
        self.unit_samples = unit_samples
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state

    def _differences(self, transfer: Transfer, guess: Codes) -> Array:
        weight = len(transfer.classes) if self.marginal_weight is None else self.marginal_weight
        return mean_differences(transfer, guess, marginal=weight, normalize=self.normalize_mmd)


METHODS = (
    Method(
        name="jda",
        estimator=JDA,
        kind="features",
        summary="means of domains and of their classes together, classes guessed",
        when="classes are balanced alike in both domains and a first guess is fair",
        needs=("source labels", "one target"),
        uses=("target labels",),
        cost="n²p + k n² per round",
        grid={"n_components": SUBSPACES, "penalty": (0.01, 0.1, 1.0, 10.0)},
        coarse=Tuning(
            {"n_components": (20, 100), "penalty": (0.1, 1.0)},
            {"max_iter": 10},
            why="Long et al. 2013: 100 bases, 10 iterations",
        ),
    ),
)
