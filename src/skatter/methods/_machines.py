"""What kernel machines share: sums of kernel functions, and machines one against the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import softmax
from sklearn.svm import SVC, SVR
from sklearn.utils import gen_batches

from skatter._components import BATCH
from skatter._parameters import NON_NEGATIVE, POSITIVE, declared, named_or, parameter
from skatter._spaces import ordered_gram
from skatter._tensors import Array
from skatter.domains import Domains, Mask
from skatter.kernels import WithKernel, centre, kernel_of
from skatter.methods._base import RivalClassifier, Transfer, one_against_rest

# Of the decomposition method, which changes two coefficients in a step. Its kernel values are in
# single precision, so that a tolerance may be out of reach: it would go on for ever.
STEPS = 1_000_000

Expansion = tuple[Array, Array, Array]  # training samples, their coefficients, and intercepts


@declared
class KernelMachine(WithKernel, RivalClassifier):
    """Base of classifiers f(x) = Σ_i α_i k(x_i, x) + b, with a column of α for each class.

    One implements ``_learn``, to which samples come in canonical order, with ``kernel_`` set;
    where α has a column for each domain too, also ``_values``.

    Parameters
    ----------
    tol : float > 0
        How far the conditions of optimality may be violated, as in :class:`sklearn.svm.SVC`.

    Attributes
    ----------
    support_ : ndarray of shape (n_support,)
        Which training samples the machines are made of.
    dual_coef_ : ndarray of shape (n_support, n_machines)
        Their coefficients; one machine for each class, or one for two classes.
    intercept_ : ndarray of shape (n_machines,)
        b.
    """

    tol: float = parameter(POSITIVE, default=1e-3)
    _takes_sparse = True

    def _learn(self, transfer: Transfer) -> Expansion:
        raise NotImplementedError

    def _fit(self, transfer: Transfer) -> None:
        transfer = canonical(transfer, precomputed=self._precomputed)
        self.kernel_ = kernel_of(self, transfer.X)
        rows, coef, self.intercept_ = self._learn(transfer)
        used = np.flatnonzero(coef.reshape(len(coef), -1).any(axis=1))
        if not len(used):
            used = np.array([0])
        self.support_ = transfer.rows[rows[used]]
        self.dual_coef_ = coef[used]
        self.X_fit_ = None if self._precomputed else transfer.X[rows[used]].astype(np.float64)

    def _gram(self, X: Any, rows: Array) -> Array:
        """Return a fresh Gram matrix of some samples, in double precision."""
        return ordered_gram(X.astype(np.float64, copy=False), self.kernel_, rows)

    def _expand(self, X: Any) -> Array:
        """Return Σ_i α_i k(x_i, x) for new samples, a batch at a time to save memory."""
        X = X.astype(np.float64, copy=False)
        if self.X_fit_ is None:
            return np.tensordot(X[:, self.support_], self.dual_coef_, axes=1)
        batches = (self.kernel_(X[rows], self.X_fit_) for rows in gen_batches(X.shape[0], BATCH))
        return np.vstack([np.tensordot(K, self.dual_coef_, axes=1) for K in batches])

    def _decide(self, X: Any, from_source: Mask) -> Array:
        return self._expand(X) + self.intercept_


def canonical(transfer: Transfer, *, precomputed: bool) -> Transfer:
    """Return the same samples in an order that is their own.

    The path of a decomposition solver, and with it what its tolerance leaves open, depends on the
    order of the samples; so the answer would depend on it.
    """
    X, domains = transfer.X, transfer.domains
    if sparse.issparse(X):
        parts = zip(X.indptr[:-1], X.indptr[1:], strict=True)
        rows = [X.indices[a:b].tobytes() + X.data[a:b].tobytes() for a, b in parts]
    else:
        rows = [row.tobytes() for row in (np.sort(X, axis=1) if precomputed else X)]
    marks = np.column_stack([domains.domain, domains.label])
    keys = [row + mark.tobytes() for row, mark in zip(rows, marks, strict=True)]
    order = np.array(sorted(range(len(keys)), key=keys.__getitem__))
    masks = transfer.source[order], transfer.target[order]
    X = X[np.ix_(order, order) if precomputed else order]
    return Transfer(X, domains.take(order), *masks, transfer.rows[order])


def support_vector_machines(
    K: Array, signs: Array, C: float, tol: float, sample_weight: Array | None = None
) -> tuple[Array, Array]:
    """Return the machines that tell the signs in each column apart.

    Where all signs are the same, the machine of smallest norm without loss is f = that sign.
    """
    # The intercept makes the machine blind to the origin of feature space. Centred values are
    # small, which matters because the solver keeps them in single precision.
    means, machine = centre(K), SVC(kernel="precomputed", C=C, tol=tol, random_state=0)
    told = (signs != signs[0]).any(axis=0)
    coef, intercept = np.zeros(signs.shape), signs[0].copy()
    coef[:, told], intercept[told] = fit_columns(machine, K, means, signs[:, told], sample_weight)
    return coef, intercept


def fit_columns(
    machine: Any, K: Array, means: Array, wanted: Array, sample_weight: Array | None = None
) -> tuple[Array, Array]:
    coef, intercept = np.zeros(wanted.shape), np.zeros(wanted.shape[1])
    machine.set_params(max_iter=STEPS)
    for column, values in enumerate(wanted.T):
        machine.fit(K, values, sample_weight=sample_weight)
        coef[machine.support_, column] = machine.dual_coef_[0]
        intercept[column] = machine.intercept_[0] - means @ coef[:, column]
    return coef, intercept


def source_weights(name: str, value: Any) -> None:
    """Refuse what is not one positive number for each source."""
    weights = np.asarray(value)
    if weights.ndim != 1 or weights.dtype.kind not in "iuf":
        raise TypeError(
            f"{name} must be the name of a rule or one number for each source, got {value!r}."
        )
    if not (np.isfinite(weights) & (weights > 0)).all():
        raise ValueError(
            f"{name} must be positive and finite, got {value!r}. Leave the samples of a "
            "source out of fit to give it no weight."
        )


@declared
class SourceMachines(KernelMachine):
    """Base of what learns from a machine for each source, averaged by ``source_weights``.

    Parameters
    ----------
    C_source : float > 0
        Cost of a source sample on the wrong side of the margin of its source's classifier.
    source_weights : "uniform" or array-like of shape (n_sources,)
        t_s, positive, in the sorted order of the sources' ids; normalised to sum to one.

    Attributes
    ----------
    source_weights_ : ndarray of shape (n_sources,)
        t_s.
    """

    C_source: float = parameter(POSITIVE, default=1.0)
    source_weights: Any = parameter(named_or(source_weights, "uniform"), default="uniform")

    def _given_log_weights(self) -> Array:
        """Return the logarithms of the weights of the sources, zeros where a rule is named."""
        if isinstance(self.source_weights, str):
            return np.zeros(len(self.source_ids_))
        weights = np.asarray(self.source_weights, dtype=float)
        if len(weights) != len(self.source_ids_):
            listed = ", ".join(str(i) for i in self.source_ids_[:5])
            raise ValueError(
                f"source_weights has {len(weights)} values for {len(self.source_ids_)} sources "
                f"({listed}). Give one for each, in the sorted order of their ids."
            )
        return np.log(weights)

    def _average(self, K: Array, domains: Domains, log_weights: Array) -> tuple[Array, Array]:
        """Return Σ_s t_s f_s, a machine for each source, as one kernel expansion.

        A source whose labelled samples are all, or none, of a class has no say about that class:
        the others share its weight. Only where no source can tell does each say what it sees, +1
        or -1.
        """
        self.source_weights_ = softmax(log_weights)
        signs = one_against_rest(domains.label, len(domains.classes))
        sources = np.flatnonzero(~domains.is_target)
        rows = [np.flatnonzero((domains.domain == s) & domains.labelled) for s in sources]
        sees = np.array([len(own) > 0 for own in rows])[:, None]
        tells = np.array([(signs[own] != signs[own[:1]]).any(axis=0) for own in rows])
        speaks = np.where(tells.any(axis=0), tells, sees)
        shares = softmax(np.where(speaks, log_weights[:, None], -np.inf), axis=0)
        coef, intercept = np.zeros(signs.shape), np.zeros(signs.shape[1])
        for own, share in zip(rows, shares, strict=True):
            if len(own):
                own_K = K[np.ix_(own, own)]
                machine = support_vector_machines(own_K, signs[own], self.C_source, self.tol)
                coef[own] = share * machine[0]
                intercept += share * machine[1]
        return coef, intercept


@declared
class TargetRegression(KernelMachine):
    """Base of what regresses on the target: support vectors on virtual labels ỹ, as in DAM.

    Parameters
    ----------
    C : float > 0
        Cost of an error of the regression beyond ``epsilon``.
    theta : float > 0
        θ, the trust in what the sources say and in target labels.
    epsilon : float >= 0
        Errors of the regression up to this one cost nothing.
    """

    C: float = parameter(POSITIVE, default=1.0, kw_only=False)
    theta: float = parameter(POSITIVE, default=1.0)
    epsilon: float = parameter(NON_NEGATIVE, default=0.1)

    def _regress(self, K: Array, virtual: Array, *, tol: float) -> tuple[Array, Array]:
        """Fit one regressor to each column of virtual labels, with the kernel K + I/θ."""
        means = centre(K)  # the same regressors, in smaller numbers
        K[np.diag_indices_from(K)] += 1 / self.theta
        machine = SVR(kernel="precomputed", C=self.C, epsilon=self.epsilon, tol=tol)
        machine.random_state = 0  # no parameter; None draws from the global random state
        return fit_columns(machine, K, means, virtual)

    @staticmethod
    def _scatter(K: Array) -> float:
        """Return the mean squared distance from the mean in feature space; 1 where it is zero."""
        scatter = float(np.trace(K)) / len(K) - float(K.mean())
        return scatter if scatter > 0 else 1.0
