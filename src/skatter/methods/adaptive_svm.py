"""Adaptive support vector machine: a small correction to the classifiers of the sources.

    f(x) = f^a(x) + wᵀφ(x),   f^a(x) = Σ_s t_s f_s(x),   Σ_s t_s = 1

with one support vector machine f_s for each source s. Labelled target samples decide about w:

    minimise    ½ ‖w‖² + C Σ_i ξ_i
    subject to  y_i (f^a(x_i) + wᵀφ(x_i)) ≥ 1 − ξ_i,   ξ_i ≥ 0

so that f stays as close to f^a as the target allows. There is no intercept, hence no equality in
the dual, a quadratic program over a box:

    maximise    Σ_i a_i (1 − y_i f^a(x_i)) − ½ aᵀQa    over    0 ≤ a_i ≤ C,
                Q_ij = y_i y_j k(x_i, x_j),   w = Σ_i a_i y_i φ(x_i).

f^a and the correction are both sums of kernel functions, and so is f. What other machines of this
package share with this one is here too: kernel expansions, and machines one against the rest.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.svm import SVC
from sklearn.utils import gen_batches

from skatter.checks import check_choice, check_real
from skatter.components import BATCH, ordered_gram
from skatter.domains import Domains, Mask
from skatter.kernels import Kernel, centre
from skatter.methods.base import RivalClassifier, Transfer, kernel_of, one_against_rest
from skatter.methods.iteration import Iterations
from skatter.methods.quadratic import box, minimise
from skatter.methods.record import Method

Array = NDArray[Any]

ITERATIONS = 200
"""Of the interior-point method, which takes one or two dozen."""


# --- what kernel machines share -------------------------------------------------------------------


class KernelMachine(RivalClassifier):
    """Base of classifiers f(x) = Σ_i α_i k(x_i, x) + b, with a column of α for each class.

    One sets ``kernel_`` in its ``_fit``, then calls ``_gram`` and ``_keep``.
    """

    _takes_sparse: ClassVar[bool] = True
    kernel_: Kernel

    def _gram(self, X: Any, rows: Array) -> Array:
        """Return a fresh Gram matrix of some samples, in double precision."""
        return ordered_gram(X.astype(np.float64, copy=False), self.kernel_, rows)

    def _keep(self, X: Any, rows: Array, coef: Array, intercept: Array) -> None:
        """Set what ``_expand`` reads: the samples whose coefficients are not zero, one at least."""
        used = np.flatnonzero(coef.reshape(len(coef), -1).any(axis=1))
        used = used if len(used) else np.array([0])
        self.support_ = rows[used]
        self.X_fit_ = None if self.kernel_.precomputed else X[self.support_].astype(np.float64)
        self.dual_coef_ = coef[used]
        self.intercept_ = intercept

    def _expand(self, X: Any, coef: Array) -> Array:
        """Return Σ_i α_i k(x_i, x) for new samples, a batch at a time to save memory."""
        X = X.astype(np.float64, copy=False)
        if self.X_fit_ is None:
            return np.asarray(X[:, self.support_] @ coef)
        batches = gen_batches(X.shape[0], BATCH)
        return np.vstack([self.kernel_(X[rows], self.X_fit_) @ coef for rows in batches])


def support_vector_machines(
    K: Array, signs: Array, *, C: float, tol: float, sample_weight: Array | None = None
) -> tuple[Array, Array]:
    """Return the machines that tell the signs in each column apart.

    Where all signs are the same, the machine of smallest norm without loss is f = that sign.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Gram matrix; it is overwritten.
    signs : ndarray of shape (n, n_columns)
        +1 and -1.
    C : float
        Cost of the wrong side of the margin.
    tol : float
        How far the conditions of optimality may be violated.
    sample_weight : ndarray of shape (n,) or None
        Factors of C.

    Returns
    -------
    coef : ndarray of shape (n, n_columns)
        α∘y.
    intercept : ndarray of shape (n_columns,)
        b.

    Examples
    --------
    >>> X = np.array([[-1.0], [1.0], [3.0]])
    >>> signs = np.array([[-1.0, 1.0], [1.0, 1.0], [1.0, 1.0]])
    >>> coef, intercept = support_vector_machines(X @ X.T, signs, C=10.0, tol=1e-6)
    >>> (X @ X.T @ coef + intercept).round(3)
    array([[-1.,  1.],
           [ 1.,  1.],
           [ 3.,  1.]])
    """
    # The intercept makes the machine blind to the origin of feature space. Centred values are
    # small, which matters because the solver keeps them in single precision.
    means = centre(K)
    coef, intercept = np.zeros(signs.shape), signs[0].copy()
    for column in np.flatnonzero((signs != signs[0]).any(axis=0)):
        machine = SVC(kernel="precomputed", C=C, tol=tol, random_state=0)
        machine.fit(K, signs[:, column], sample_weight=sample_weight)
        coef[machine.support_, column] = machine.dual_coef_[0]
        intercept[column] = machine.intercept_[0] - means @ coef[:, column]
    return coef, intercept


def average_of_sources(
    K: Array, domains: Domains, log_weights: Array, *, C: float, tol: float
) -> tuple[Array, Array]:
    """Return Σ_s t_s f_s, a machine for each source, as one kernel expansion.

    A source whose labelled samples are all, or none, of a class has no say about that class: the
    others share its weight. Only where no source can tell does each say what it sees, +1 or -1.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Gram matrix of all samples.
    domains : Domains
        Their labels and domains.
    log_weights : ndarray of shape (n_sources,)
        Logarithms of t_s, up to a constant.
    C, tol : float
        As in :func:`support_vector_machines`.

    Returns
    -------
    coef : ndarray of shape (n, n_columns)
        Coefficients of all samples; one column for each class, one for two classes.
    intercept : ndarray of shape (n_columns,)
        Intercepts.
    """
    signs = one_against_rest(domains.label, len(domains.classes))
    sources = np.flatnonzero(~domains.is_target)
    rows = [np.flatnonzero((domains.domain == s) & domains.labelled) for s in sources]
    coef, intercept = np.zeros(signs.shape), np.zeros(signs.shape[1])
    for own, share in zip(rows, _shares([signs[own] for own in rows], log_weights), strict=True):
        if len(own):
            machines = support_vector_machines(K[np.ix_(own, own)], signs[own], C=C, tol=tol)
            coef[own] = share * machines[0]
            intercept += share * machines[1]
    return coef, intercept


def _shares(signs: list[Array], log_weights: Array) -> Array:
    """Return t_s for each source and column, which add up to one over the sources."""
    sees = np.array([len(own) > 0 for own in signs])[:, None]
    tells = np.array([(own != own[:1]).any(axis=0) for own in signs])
    speaks = np.where(tells.any(axis=0), tells, sees)
    return softmax(np.where(speaks, log_weights[:, None], -np.inf), axis=0)


def check_source_weights(value: Any, rules: tuple[str, ...]) -> None:
    """Check ``source_weights``: the name of a rule, or positive numbers."""
    if isinstance(value, str):
        check_choice("source_weights", value, rules)
        return
    weights = np.asarray(value)
    if weights.ndim != 1 or weights.dtype.kind not in "iuf":
        listed = ", ".join(repr(rule) for rule in rules)
        raise TypeError(
            f"source_weights must be {listed} or one number for each source, got {value!r}."
        )
    if not (np.isfinite(weights) & (weights > 0)).all():
        raise ValueError(
            f"source_weights must be positive and finite, got {value!r}. Leave the samples of a "
            "source out of fit to give it no weight."
        )


def read_log_weights(value: Any, source_ids: Array) -> Array:
    """Return the logarithms of the weights that a user gave; zeros where ``value`` is a rule."""
    if isinstance(value, str):
        return np.zeros(len(source_ids))
    weights = np.asarray(value, dtype=float)
    if len(weights) != len(source_ids):
        listed = ", ".join(str(i) for i in source_ids[:5])
        raise ValueError(
            f"source_weights has {len(weights)} values for {len(source_ids)} sources ({listed}). "
            "Give one for each, in the sorted order of their ids."
        )
    return np.log(weights)


# --- the adaptive machine -------------------------------------------------------------------------


class AdaptiveSVM(KernelMachine):
    """Adaptive support vector machine (A-SVM): source classifiers, corrected by a few labels.

        f(x) = Σ_s t_s f_s(x) + wᵀφ(x)
        minimise  ½ ‖w‖² + C Σ_i max(0, 1 − y_i f(x_i))    over labelled target samples x_i

    Each source s has a support vector machine f_s of its own, with the same kernel. The
    correction has no intercept and is as small as the labelled target samples allow; where there
    is nothing to correct, f is the average of the source classifiers. Unlabelled target samples
    are not used. Several classes are told apart one against the rest. A source that has not seen
    a class, or nothing else, has no say about it.

    Parameters
    ----------
    C : float > 0
        Cost of a labelled target sample on the wrong side of the margin: how much the target may
        change. Towards 0, nothing changes.
    C_source : float > 0
        Cost of a source sample on the wrong side of the margin of its source's classifier.
    source_weights : "uniform" or array-like of shape (n_sources,)
        t_s, positive, in the sorted order of the sources' ids; normalised to sum to one.
    kernel : str or callable
        Any kernel of :mod:`sklearn.metrics.pairwise`, ``"precomputed"``, or a function of two
        arrays that returns the matrix of kernel values. With ``"linear"``, centre the features
        first: without an intercept, the correction depends on where the origin is.
    gamma : "median", "printed", float or None
        Bandwidth; see :func:`skatter.kernels.resolve_kernel`.
    degree, coef0 : float
        For the polynomial and sigmoid kernels.
    kernel_params : dict or None
        Extra arguments of a callable kernel.
    tol : float > 0
        How far the conditions of optimality of the source classifiers may be violated, and how
        far, relative to the cost C of one sample, the mean loss of the correction may be from the
        smallest.
    random_state : int, RandomState instance or None
        For large samples, seeds the median heuristic. None is a fixed seed.

    Attributes
    ----------
    source_weights_ : ndarray of shape (n_sources,)
        t_s.
    support_ : ndarray of shape (n_support,)
        Which training samples f is made of.
    dual_coef_ : ndarray of shape (n_support, n_machines)
        Their coefficients, of source classifiers and correction together; one machine for each
        class, or one for two classes.
    intercept_ : ndarray of shape (n_machines,)
        Averaged intercepts of the source classifiers.
    classes_, domain_ids_, source_ids_ : ndarray
        Classes, domains and sources seen in ``fit``.

    References
    ----------
    J. Yang, R. Yan, A. G. Hauptmann: Cross-Domain Video Concept Detection Using Adaptive SVMs.
    ACM Multimedia, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter.methods.adaptive_svm import AdaptiveSVM
    >>> rng = np.random.default_rng(0)
    >>> y = np.tile([0, 1], 50)
    >>> site = np.repeat([1, -2], 50)  # a negative id is the target
    >>> X = rng.normal(size=(100, 2)) + 4 * y[:, None] + 3 * (site < 0)[:, None]
    >>> known = np.where((site > 0) | (np.arange(100) >= 94), y, -1)
    >>> model = AdaptiveSVM().fit(X, known, sample_domain=site)
    >>> hardly = AdaptiveSVM(C=1e-3).fit(X, known, sample_domain=site)
    >>> target = site < 0
    >>> hardly.score(X[target], y[target]), model.score(X[target], y[target])
    (0.5, 0.88)
    """

    _needs_target_labels: ClassVar[bool] = True

    def __init__(
        self,
        C: float = 1.0,
        *,
        C_source: float = 1.0,
        source_weights: Any = "uniform",
        kernel: Any = "rbf",
        gamma: Any = "median",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        tol: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.C_source = C_source
        self.source_weights = source_weights
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.tol = tol
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_real("C", self.C, low=0, open_low=True)
        check_real("C_source", self.C_source, low=0, open_low=True)
        check_real("tol", self.tol, low=0, open_low=True)
        check_source_weights(self.source_weights, ("uniform",))

    def _fit(self, transfer: Transfer) -> None:
        log_weights = read_log_weights(self.source_weights, self.source_ids_)
        self.kernel_ = kernel_of(self, transfer.X)
        rows = np.flatnonzero(transfer.labelled)
        K, domains = self._gram(transfer.X, rows), transfer.domains.take(rows)
        coef, intercept = average_of_sources(K, domains, log_weights, C=self.C_source, tol=self.tol)
        here = np.flatnonzero(transfer.target[rows])
        signs = one_against_rest(domains.label[here], len(domains.classes))
        average = K[here] @ coef + intercept
        coef[here] += self._correction(K[np.ix_(here, here)], signs, average)
        self.source_weights_ = softmax(log_weights)
        self._keep(transfer.X, rows, coef, intercept)

    def _correction(self, K: Array, signs: Array, average: Array) -> Array:
        """Return a∘y, one column for each machine."""
        columns = zip(signs.T, average.T, strict=True)
        return np.column_stack([y * correction_dual(K, y, f, self.C, self.tol) for y, f in columns])

    def _decide(self, X: Any, from_source: Mask) -> Array:
        return self._expand(X, self.dual_coef_) + self.intercept_


def correction_dual(K: Array, y: Array, average: Array, C: float, tol: float) -> Array:
    """Maximise Σ a_i (1 − y_i f^a(x_i)) − ½ aᵀQa over 0 ≤ a_i ≤ C, to within ``tol`` · n C.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Gram matrix.
    y : ndarray of shape (n,)
        +1 and -1.
    average : ndarray of shape (n,)
        f^a at the samples.
    C : float
        Upper bound.
    tol : float
        Gap between primal and dual objective, relative to n C.

    Returns
    -------
    ndarray of shape (n,)
        a.

    Raises
    ------
    ValueError
        If the kernel is not positive semi-definite.

    Examples
    --------
    >>> K, y = np.eye(3), np.array([1.0, 1.0, -1.0])
    >>> correction_dual(K, y, np.array([0.5, 3.0, 4.0]), 2.0, 1e-9).round(6)
    array([0.5, 0. , 2. ])
    """
    n = len(y)
    start = np.full(n, C / 2)
    # The solver takes its tolerance relative to the quadratic term at the start alone, which
    # says nothing where K is small; the loss of one sample is the unit here.
    unit = 0.5 * float(start @ np.sqrt(np.maximum(np.diagonal(K), 0))) ** 2
    tol = tol * n * C / max(unit, np.finfo(float).tiny)
    search = Iterations("AdaptiveSVM", max_iter=ITERATIONS, tol=tol)
    region = box(np.zeros(n), np.full(n, C))
    try:
        return minimise(K * np.outer(y, y), 1 - y * average, region, start, search, tol=tol)
    except np.linalg.LinAlgError as error:
        raise ValueError(
            "The kernel is not positive semi-definite on the labelled target samples. Choose "
            "another one (rbf, linear, polynomial with coef0 >= 0)."
        ) from error


METHODS = (
    Method(
        name="a-svm",
        estimator=AdaptiveSVM,
        kind="classifier",
        summary="source classifiers with a small correction from target labels",
        when="a few labels in the target, and sources that are nearly right",
        needs=("source labels", "one target", "target labels"),
        cost="n_l² p + C support vector machines per source + C t³, t target labels",
        citation=(
            "J. Yang, R. Yan, A. G. Hauptmann: Cross-Domain Video Concept Detection Using "
            "Adaptive SVMs. ACM Multimedia, 2007."
        ),
        grid={
            "C": (0.01, 0.1, 1.0, 10.0, 100.0),
            "C_source": (0.1, 1.0, 10.0),
        },
    ),
)
