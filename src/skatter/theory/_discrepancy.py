"""Two samples: the discrepancy of a ball of hypotheses, exact, bounded, and as printed."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.svm import LinearSVC

from skatter._checks import check_integer
from skatter._parameters import POSITIVE
from skatter._tensors import Array
from skatter.theory._samples import Pair, read_pair, root


def discrepancy(
    X: Any, Y: Any, *, kernel: Any = "rbf", gamma: Any = "median", radius: float = 1.0
) -> float:
    """Exact discrepancy of two samples under squared loss, over the ball {‖f‖_H ≤ Λ}.

    ``disc(P^, Q^) = sup_{h, h'} |L_P^(h, h') − L_Q^(h, h')| = 4 Λ² ‖Cov_P^ − Cov_Q^‖_op``, with
    L(h, h') = E (h − h')² and uncentred covariance operators. It is 4 Λ² max |eig(Fᵀ diag(w) F)|
    for any factor K = F Fᵀ; these are the eigenvalues of diag(w) K, found symmetrically in O(n³),
    or O(n p²) for the linear kernel with p < n features.

    Parameters
    ----------
    X, Y : array-like of shapes (n_x, n_features) and (n_y, n_features)
        Two samples. With ``kernel="precomputed"``, the rows of their joint Gram matrix that
        belong to each: ``K[:n_x]`` and ``K[n_x:]``.
    kernel, gamma : str or callable, "median", "printed", float or None
        Feature space; the median is taken over both samples.
    radius : float
        Λ, the radius of the ball of hypotheses.

    Examples
    --------
    >>> from skatter.theory import discrepancy
    >>> round(discrepancy([[-0.1], [0.1]], [[0.0]], gamma=1.0), 5)
    0.10758
    """
    radius = POSITIVE("radius", radius)
    return 4 * radius**2 * covariance_gap(read_pair(X, Y, kernel, gamma))


def discrepancy_bound(
    X: Any, Y: Any, *, kernel: Any = "rbf", gamma: Any = "median", radius: float = 1.0
) -> float:
    """Upper bound 4 Λ² MMD_{k²} of the discrepancy, with the squared kernel k².

    ``MMD_{k²}² = wᵀ (K ∘ K) w``. It bounds :func:`discrepancy` because (h − h')(x)² is an inner
    product with φ(x) ⊗ φ(x), costs O(n²) only, and equals 8 Λ² √Ψ of the two mean maps in the
    feature space of k². It replaces the paper's lemma, :func:`printed_discrepancy_bound`.

    Parameters
    ----------
    X, Y, kernel, gamma, radius
        As in :func:`discrepancy`.

    Examples
    --------
    >>> from skatter.theory import discrepancy_bound
    >>> round(discrepancy_bound([[-0.1], [0.1]], [[0.0]], gamma=1.0), 5)
    0.13628
    """
    radius = POSITIVE("radius", radius)
    pair = read_pair(X, Y, kernel, gamma)
    return 4 * radius**2 * signed_mmd(np.square(pair.K), pair.weights)


def printed_discrepancy_bound(
    X: Any, Y: Any, *, kernel: Any = "rbf", gamma: Any = "median", range_bound: float = 1.0
) -> float:
    """Discrepancy bound exactly as printed, 8 r √Ψ({μ_P, μ_Q}) = 4 r MMD_k; it is NOT valid.

    The paper states it for hypotheses with ‖f‖_H ≤ 1 and |f| ≤ r. Its proof takes
    ‖g h‖_H ≤ ‖g‖_∞ ‖h‖_H, which is false: for the Gaussian kernel, h = k(·, a) lies in H and h²
    does not. The example below is a counterexample: :func:`discrepancy` is 0.10758 there. Use it,
    or :func:`discrepancy_bound`, instead.

    Parameters
    ----------
    X, Y, kernel, gamma
        As in :func:`discrepancy`.
    range_bound : float
        r, the largest absolute value of a hypothesis.

    Examples
    --------
    >>> from skatter.theory import printed_discrepancy_bound
    >>> round(printed_discrepancy_bound([[-0.1], [0.1]], [[0.0]], gamma=1.0), 5)
    0.06871
    """
    range_bound = POSITIVE("range_bound", range_bound)
    return printed_discrepancy(pair_domain_scatter(read_pair(X, Y, kernel, gamma)), range_bound)


def a_distance(X: Any, Y: Any, *, C: float = 1.0, n_folds: int = 5) -> float:
    """A-distance of two samples, by the error of a classifier that tells them apart.

    ``d_A = 2 (1 − 2 ε)``: 0 where a linear support vector machine cannot tell whether a sample it
    has not seen comes from X or from Y, 2 where it always can. ε is the mean of its errors on both,
    so that unequal sizes are no difference.

    Parameters
    ----------
    X, Y : array-like of shapes (n_x, n_features) and (n_y, n_features)
        Two samples, features on one scale.
    C : float > 0
        Cost of an error of the machine.
    n_folds : int >= 2
        Folds of the samples, each judged by a machine that learnt from the others.

    References
    ----------
    S. Ben-David, J. Blitzer, K. Crammer, F. Pereira: Analysis of Representations for Domain
    Adaptation. NIPS, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter.theory import a_distance
    >>> rng = np.random.default_rng(0)
    >>> here, like, away = rng.normal(size=(3, 100, 2)) + [[[0, 0]], [[0, 0]], [[5, 0]]]
    >>> round(a_distance(here, like), 2), round(a_distance(here, away), 2)
    (0.06, 1.98)
    """
    C = POSITIVE("C", C)
    n_folds = check_integer("n_folds", n_folds, low=2)
    pair = read_pair(X, Y, "linear", None, least=n_folds)
    side = np.repeat([0, 1], [pair.n_source, pair.n_target])
    machine = LinearSVC(C=C, class_weight="balanced", dual=False)
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=0)
    wrong = cross_val_predict(machine, pair.samples, side, cv=folds) != side
    error = (wrong[side == 0].mean() + wrong[side == 1].mean()) / 2
    return float(max(2 * (1 - 2 * error), 0.0))


def printed_discrepancy(psi: float, range_bound: float) -> float:
    return 8 * range_bound * float(np.sqrt(psi))


def signed_mmd(K: Array, w: Array) -> float:
    """Maximum mean discrepancy √(wᵀ K w)."""
    return float(root(w @ K @ w, 4 * np.abs(np.diagonal(K)).max()))


def pair_domain_scatter(pair: Pair) -> float:
    """Ψ({μ_P, μ_Q}) = MMD²/4: scatter of the set of the two mean maps."""
    return signed_mmd(pair.K, pair.weights) ** 2 / 4


def covariance_gap(pair: Pair) -> float:
    """‖Cov_P^ − Cov_Q^‖_op = max |eig(Fᵀ diag(w) F)|, K = F Fᵀ."""
    F = _factor(pair)
    values = np.linalg.eigvalsh(F.T @ (pair.weights[:, None] * F))
    return float(np.abs(values).max(initial=0.0))


def _factor(pair: Pair) -> Array:
    """F with F Fᵀ = K and no more columns than K has rank."""
    n, n_features = pair.samples.shape
    if pair.kernel.linear and n_features < n:
        return pair.samples
    values, vectors = np.linalg.eigh(pair.K)
    largest = np.abs(values).max()
    roots = root(values, largest)
    # Directions of the size of rounding change no result and make the second eigenproblem bigger.
    kept = values > n * np.finfo(np.float64).eps * largest
    return np.asarray(vectors[:, kept] * roots[kept])
