"""Support vector machines as plain arrays: quick to evaluate, and safe to read from a file.

The machine of classes i < j decides by f_ij(x) = Σ_v w_v,ij k(v, x) + b_ij over support vectors
v, positive for i. LIBSVM sums one kernel value after the other; here a product of matrices does it
for all pairs and many samples, some ten times as fast.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC
from sklearn.utils import gen_batches

from skatter._tensors import Array
from skatter.domains import Codes

BATCH = 2_048  # samples whose kernel values are held at a time


@dataclass(frozen=True, eq=False)
class SupportVectors:
    """A support vector machine with an RBF kernel, one against one.

    ``coef`` says what each of the ``vectors`` counts for each pair of classes, and ``intercept``
    is added to the decisions of these; ``classes`` are the codes that it knows.
    """

    vectors: Any
    coef: Array
    intercept: Array
    gamma: float
    classes: Codes

    @classmethod
    def train(cls, X: Any, label: Codes, *, class_weight: Any = None) -> SupportVectors:
        gamma = _scale(X)
        # It draws nothing, but without a seed it would advance the global state.
        machine = SVC(gamma=gamma, class_weight=class_weight, random_state=0).fit(X, label)
        dual = machine.dual_coef_
        dual = dual.toarray() if sparse.issparse(dual) else dual
        ends = np.cumsum(machine.n_support_)
        own = [slice(end - n, end) for end, n in zip(ends, machine.n_support_, strict=True)]
        pairs = list(combinations(range(len(own)), 2))
        coef = np.zeros((dual.shape[1], len(pairs)))
        # Column v of dual_coef_ holds what v counts against every class but its own.
        for place, (i, j) in enumerate(pairs):
            coef[own[i], place] = dual[j - 1, own[i]]
            coef[own[j], place] = dual[i, own[j]]
        # scikit-learn turns the sign where there are two classes; here the first is positive.
        sign = -1 if len(own) == 2 else 1
        vectors, classes = machine.support_vectors_, machine.classes_.astype(np.intp)
        return cls(vectors, sign * coef, sign * machine.intercept_, gamma, classes)

    def decide(self, X: Any) -> Array:
        """Return one decision for each class: pairs won, and by how much in all.

        As ``decision_function`` of SVC with ``decision_function_shape="ovr"``; two classes have
        minus and plus half the decision.
        """
        found = [
            rbf_kernel(X[rows], self.vectors, gamma=self.gamma) @ self.coef + self.intercept
            for rows in gen_batches(X.shape[0], BATCH)
        ]
        pairs = np.vstack(found)
        if len(self.classes) == 2:
            return np.column_stack([pairs[:, 0], -pairs[:, 0]]) / 2
        won, margin = np.zeros((2, len(pairs), len(self.classes)))
        for place, (i, j) in enumerate(combinations(range(len(self.classes)), 2)):
            won[:, i] += pairs[:, place] > 0
            won[:, j] += pairs[:, place] <= 0
            margin[:, i] += pairs[:, place]
            margin[:, j] -= pairs[:, place]
        return np.asarray(won + margin / (3 * (np.abs(margin) + 1)))


def _scale(X: Any) -> float:
    """Return scikit-learn's ``gamma="scale"``: 1 / (number of columns × variance of all values)."""
    variance = X.multiply(X).mean() - X.mean() ** 2 if sparse.issparse(X) else np.var(X)
    return float(1 / (X.shape[1] * variance)) if variance > 0 else 1.0
