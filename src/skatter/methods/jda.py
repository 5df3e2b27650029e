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
from sklearn.utils import gen_batches

from skatter.checks import check_choice, check_integer, check_real
from skatter.methods.base import Transfer
from skatter.methods.iteration import Iterations
from skatter.methods.record import SUBSPACES, Method, Tuning
from skatter.methods.transfer_components import (
    EIGEN_TOL,
    GramProduct,
    TransferComponents,
    check_weight,
)
from skatter.scatter import indicator_means
from skatter.selection import nearest_labels
from skatter.solve import Eigenpairs

Array = NDArray[Any]

BATCH = 2**25
"""Distances between labelled and unlabelled samples that are held at once."""


class JDA(TransferComponents):
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
    kernel : str or callable
        Any kernel of :mod:`sklearn.metrics.pairwise`, ``"precomputed"``, or a function of two
        arrays that returns the matrix of kernel values. It is not centred.
    gamma : "median", "printed", float or None
        Bandwidth; see :func:`skatter.kernels.resolve_kernel`.
    degree, coef0 : float
        For the polynomial and sigmoid kernels.
    kernel_params : dict or None
        Extra arguments of a callable kernel.
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

    _needs_labels: ClassVar[bool] = True
    _default_n_components: ClassVar[int] = 100

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

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_weight("penalty", self.penalty)
        if self.marginal_weight is not None:
            check_real("marginal_weight", self.marginal_weight, low=0)
        check_choice("normalize_mmd", self.normalize_mmd, (True, False))
        check_choice("unit_samples", self.unit_samples, (True, False))
        check_integer("max_iter", self.max_iter, low=1)
        check_real("tol", self.tol, low=0)

    def _solve(self, transfer: Transfer, product: GramProduct, k: int) -> Eigenpairs:
        guess = transfer.label
        seen: set[bytes] = set()
        iterations = Iterations(
            type(self).__name__, max_iter=self.max_iter, tol=self.tol, verbose=self.verbose
        )
        for _ in iterations:
            E = self._differences(transfer, guess)
            found = self._match_means(product, E, self.penalty, k, tol=EIGEN_TOL)
            pairs = self._scaled(found)
            previous, guess = guess, self._guess(transfer, product, pairs)
            changed = float(np.mean(guess[transfer.target] != previous[transfer.target]))
            iterations.record(
                float(np.sum(1 / found.values)),
                settled=changed <= self.tol or guess.tobytes() in seen,
                note=f"{changed:.1%} of the target changed class",
            )
            seen.add(guess.tobytes())
        self.pseudo_labels_ = transfer.classes[guess[transfer.target]]
        self.objective_ = np.array(iterations.objective)
        self.n_iter_ = len(self.objective_)
        return pairs

    def _differences(self, transfer: Transfer, guess: Array) -> Array:
        """Return E with M = E Eᵀ: a column for the domains, and one for each class."""
        n_classes = len(transfer.classes)
        weight = n_classes if self.marginal_weight is None else self.marginal_weight
        columns = [np.sqrt(weight) * transfer.mean_difference.astype(np.float64)[:, None]]
        if (guess[transfer.target] >= 0).any():
            source = np.where(transfer.source & transfer.labelled, transfer.label, -1)
            target = np.where(transfer.target, guess, -1)
            columns.append(indicator_means(source, n_classes) - indicator_means(target, n_classes))
        E = np.asfortranarray(np.hstack(columns))
        size = float(np.linalg.norm(E.T @ E))
        return E / np.sqrt(size) if self.normalize_mmd and size > 0 else E

    def _guess(self, transfer: Transfer, product: GramProduct, pairs: Eigenpairs) -> Array:
        """Return the classes of all samples, unlabelled ones from their nearest labelled one."""
        Z = self._finish(product(np.asfortranarray(pairs.vectors)))
        known = transfer.labelled
        guess = transfer.label.copy()
        if not known.all():
            new = np.flatnonzero(~known)
            # Distances between all labelled samples and some others: as many as fit.
            for rows in gen_batches(len(new), max(BATCH // int(known.sum()), 1)):
                found = nearest_labels(Z[known], guess[known], Z[new[rows]], [Z.shape[1]])
                guess[new[rows]] = next(found)
        return guess

    def _finish(self, Z: Array) -> Array:
        return normalize(Z) if self.unit_samples else Z


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
        citation=(
            "M. Long, J. Wang, G. Ding, J. Sun, P. S. Yu: Transfer Feature Learning with Joint "
            "Distribution Adaptation. ICCV 2013."
        ),
        grid={"n_components": SUBSPACES, "penalty": (0.01, 0.1, 1.0, 10.0)},
        coarse=Tuning(
            {"n_components": (20, 100), "penalty": (0.1, 1.0)},
            {"max_iter": 10},
            why="Long et al. 2013: 100 bases, 10 iterations",
        ),
    ),
)
