"""Adaptive support vector machine: a small correction to the classifiers of the sources.

The correction has no intercept, hence no equality in its dual, a quadratic program over a box:

    maximise    Σ_i a_i (1 − y_i f^a(x_i)) − ½ aᵀQa    over    0 ≤ a_i ≤ C,
                Q_ij = y_i y_j k(x_i, x_j),   w = Σ_i a_i y_i φ(x_i),   f^a = Σ_s t_s f_s.
"""

from __future__ import annotations

import numpy as np

from skatter._parameters import POSITIVE, parameter
from skatter._tensors import Array
from skatter.methods._base import Transfer, one_against_rest, semidefinite_on
from skatter.methods._iteration import Iterations
from skatter.methods._machines import Expansion, SourceMachines
from skatter.methods._quadratic import Region, minimise
from skatter.methods._record import method

ITERATIONS = 200  # of the interior-point method, which takes one or two dozen


@method(
    "a-svm",
    when="a few labels in the target, and sources that are nearly right",
    uses=("several sources",),
    cost="n_l² p + C support vector machines per source + C t³, t target labels",
    grid={"C": (0.01, 0.1, 1.0, 10.0, 100.0), "C_source": (0.1, 1.0, 10.0)},
)
class AdaptiveSVM(SourceMachines):
    """Adaptive SVM (A-SVM): source classifiers with a small correction from target labels.

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
    kernel : str or callable
        As in :class:`~skatter.SCA`. With ``"linear"``, centre the features first: without an
        intercept, the correction depends on where the origin is.
    tol : float > 0
        About the accuracy of decision values: how far the conditions of optimality of the source
        classifiers may be violated, as in :class:`sklearn.svm.SVC`, and the root of how far the
        mean loss of the correction, in units of ``C``, may be from the smallest.

    References
    ----------
    J. Yang, R. Yan, A. G. Hauptmann: Cross-Domain Video Concept Detection Using Adaptive SVMs.
    ACM Multimedia, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter.methods import AdaptiveSVM
    >>> rng = np.random.default_rng(0)
    >>> y, site = np.tile([0, 1], 50), np.repeat([1, -2], 50)  # a negative id is the target
    >>> X = rng.normal(size=(100, 2)) + 4 * y[:, None] + 3 * (site < 0)[:, None]
    >>> known = np.where((site > 0) | (np.arange(100) >= 94), y, -1)
    >>> model = AdaptiveSVM().fit(X, known, sample_domain=site)
    >>> hardly = AdaptiveSVM(C=1e-3).fit(X, known, sample_domain=site)
    >>> target = site < 0
    >>> hardly.score(X[target], y[target]), model.score(X[target], y[target])
    (0.5, 0.88)
    """

    C: float = parameter(POSITIVE, default=1.0, kw_only=False)
    needs = ("source labels", "one target", "target labels")

    def _learn(self, transfer: Transfer) -> Expansion:
        log_weights = self._given_log_weights()
        rows = np.flatnonzero(transfer.labelled)
        K, domains = self._gram(transfer.X, rows), transfer.domains.take(rows)
        coef, intercept = self._average(K, domains, log_weights)
        here = np.flatnonzero(transfer.target[rows])
        signs = one_against_rest(domains.label[here], len(domains.classes))
        average = K[here] @ coef + intercept
        K_here = K[np.ix_(here, here)]
        for column, (y, f) in enumerate(zip(signs.T, average.T, strict=True)):
            coef[here, column] += y * correction_dual(K_here, y, f, self.C, self.tol)
        return rows, coef, intercept


def correction_dual(K: Array, y: Array, average: Array, C: float, tol: float) -> Array:
    """Maximise Σ a_i (1 − y_i f^a(x_i)) − ½ aᵀQa over 0 ≤ a_i ≤ C, to within ``tol``² n C.

    Since ½ ‖w − w*‖² is at most the gap between primal and dual objective, ``tol`` is about the
    accuracy of decision values.
    """
    n = len(y)
    start = np.full(n, C / 2)
    # The solver takes its tolerance relative to the quadratic term at the start alone, which
    # says nothing where K is small; the loss of one sample is the unit here.
    unit = 0.5 * float(start @ np.sqrt(np.maximum(np.diagonal(K), 0))) ** 2
    if unit == 0:
        return np.where(y * average < 1, C, 0.0)
    search = Iterations("AdaptiveSVM", max_iter=ITERATIONS, tol=tol**2 * n * C / unit)
    region = Region(np.full(n, C))
    with semidefinite_on("labelled target samples"):
        return minimise(K * np.outer(y, y), 1 - y * average, region, start, search)
