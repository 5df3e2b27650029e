"""The champion where labels are numbers: the best standard regressor on held-out source labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin, clone, is_regressor
from sklearn.linear_model import RidgeCV
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from skatter._accuracy import ScoresNumbers
from skatter._checks import FLOATS, TakesSparse
from skatter._parameters import Declared, declared, parameter
from skatter._tensors import Array
from skatter.domains import Codes, Domains, read_domains
from skatter.hedging._champion import (
    LARGEST_ROUND,
    MAX_ROWS,
    N_FOLDS,
    Contender,
    Contest,
    draw_rows,
    is_a,
    make_scaler,
    named,
)
from skatter.kernels import gram, resolve_kernel
from skatter.labels import marks, read_numbers
from skatter.trees import BoostingRegressor, ForestRegressor

Folds = list[tuple[Codes, Codes]]
REGRESSOR = is_a("regressor", is_regressor)

ALPHAS = tuple(float(a) for a in np.logspace(-3, 5, 25))  # of ridge, on standardised columns
KERNEL_ALPHAS = np.logspace(-3, 2, 11)
KERNEL_POWERS = (0.25, 1.0, 4.0)  # of the RBF kernel; a power of it is one of another width
MAX_KERNEL = 1_000  # rows that kernel ridge regression learns from: its cost is cubic
MAX_GROWN_NUMBERS = 2_000  # rows that a tree is grown on: it looks at every column
MANY = 4  # labelled samples, in units of those held out, above which these are not learnt from
LARGEST_FOLD = 2 / 3  # share of the samples that whole sources may take out of a fold
LEAST_LABELLED = 10  # labelled samples without which nothing can be held out
MOST_UNLABELLED = 0.5  # share of labelled samples below which a domain is a target


@declared
class KernelRidgeCV(TakesSparse, Declared, RegressorMixin, BaseEstimator):
    """Kernel ridge regression with an RBF kernel; penalty and width by leave-one-out errors.

    With f = ȳ + K c, c = (K + αI)⁻¹ (y − ȳ), the error of a sample that is left out is
    c_i / [(K + αI)⁻¹]_ii, so that one eigendecomposition gives those of every α. Of more than
    ``max_rows`` rows as many are drawn. The kernel has the median distance of the samples, and
    ``power_`` of it is taken.
    """

    max_rows: int = MAX_KERNEL
    random_state: int = 0

    def fit(self, X: Any, y: Any) -> KernelRidgeCV:
        self._fit(X, y)
        return self

    def fit_with_oob(self, X: Any, y: Any) -> Array:
        """Learn, and predict each sample without itself; those beyond ``max_rows`` are NaN."""
        rows, left_out = self._fit(X, y)
        out = np.full(len(y), np.nan)
        out[rows] = left_out
        return out

    def _fit(self, X: Any, y: Any) -> tuple[Codes, Array]:
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=list(FLOATS), y_numeric=True,
            ensure_min_samples=2,
        )  # fmt: skip
        rows = draw_rows(np.zeros(len(y), dtype=np.intp), self.max_rows, self.random_state)
        self.samples_, some = X[rows], np.asarray(y[rows], dtype=np.float64)
        self.mean_ = float(some.mean())
        self.kernel_ = resolve_kernel(self.samples_, "rbf")
        K, best = np.asarray(gram(self.samples_, self.kernel_), dtype=np.float64), np.inf
        for power in KERNEL_POWERS:
            values, V = np.linalg.eigh(K**power)
            turned, squared = V.T @ (some - self.mean_), V**2
            for alpha in KERNEL_ALPHAS:
                inverse = 1 / (np.maximum(values, 0) + alpha)
                coefficients = V @ (inverse * turned)
                errors = coefficients / (squared @ inverse)
                if errors @ errors < best:
                    best, left_out = float(errors @ errors), some - errors
                    self.power_, self.alpha_ = power, float(alpha)
                    self.coefficients_ = coefficients
        return rows, left_out

    def predict(self, X: Any) -> Array:
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=list(FLOATS))
        out = np.empty(X.shape[0])
        for start in range(0, len(out), MAX_ROWS):
            K = self.kernel_(X[start : start + MAX_ROWS], self.samples_)
            out[start : start + MAX_ROWS] = K**self.power_ @ self.coefficients_
        return out + self.mean_


@declared
class ChampionRegressor(ScoresNumbers, Contest):
    """The best of standard regressors, chosen by cross-validation on the labelled samples.

    Ridge regression, a random forest and histogram gradient boosting compete. Where there are
    several sources, whole sources are held out. Missing values become the median of their column,
    and columns are standardised, over all samples. It does not adapt: it is what adapting must
    beat.

    Parameters
    ----------
    candidates : mapping of str to regressor, or None
        Who competes; None: the three (boosting is left out where columns are many, or samples
        sparse).

    Examples
    --------
    >>> import numpy as np
    >>> from skatter import ChampionRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(120, 3))
    >>> y = X[:, 0] + 0.1 * rng.normal(size=120)
    >>> model = ChampionRegressor().fit(X[:80], y[:80])
    >>> model.champion_, bool(model.score(X[80:], y[80:]) > 0.9)
    ('ridge', True)
    """

    candidates: Mapping[str, Any] | None = parameter(named(REGRESSOR), default=None, kw_only=False)

    def _fit(self, X: Any, y: Any, sample_domain: Any, labelled: Any, seed: int) -> None:
        numbers, domains = read_labelled_numbers(self, y, sample_domain, labelled, X.shape[0])
        self.fit_held_out(X, numbers, domains)

    def fit_held_out(self, X: Any, numbers: Array, domains: Domains) -> HeldOut:
        """Fit on checked samples, and return what candidates predict for held-out ones."""
        seed = int(self.random_state)
        self.scaler_ = make_scaler(sparse.issparse(X), self.standardize).fit(X)
        standard = standard_regressors(X, random_state=seed)
        candidates = self._competing(standard)
        held_out = HeldOut(numbers, domains, seed)
        samples = self.scaler_.transform(X)
        self.n_features_in_ = X.shape[1]
        self._settle(
            Contender(name, *held_out.fit(each, samples)) for name, each in candidates.items()
        )
        return held_out

    def predict(self, X: Any, *, sample_domain: Any = None) -> Array:
        """Predict numbers, by the champion; domains are of no account."""
        X = self._scaled(X)
        return np.asarray(self.contender(self.champion_).estimator.predict(X))


def read_labelled_numbers(
    estimator: Any, y: Any, sample_domain: Any, labelled: Any, n_samples: int
) -> tuple[Array, Domains]:
    name = type(estimator).__name__
    if y is None:
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")
    if len(getattr(y, "shape", ())) == 2:
        y = column_or_1d(y, warn=True)
    numbers = read_numbers(y, labelled=labelled, n_samples=n_samples)
    known = ~np.isnan(numbers)
    if known.sum() < LEAST_LABELLED:
        raise ValueError(
            f"y has {known.sum()} labelled samples of {n_samples}, and {name} needs a minimum of "
            f"{LEAST_LABELLED} samples with a label."
        )
    if np.ptp(numbers[known]) == 0:
        raise ValueError(
            f"All labels in y are {numbers[known][0]:g}: there is nothing to predict. Check which "
            "column holds the label."
        )
    domains = read_domains(marks(numbers), sample_domain, n_samples=n_samples)
    return numbers, _with_open_targets(domains)


def _with_open_targets(domains: Domains) -> Domains:
    """Count a domain with few labels as a target, where another one has labels to learn from."""
    shares = np.array(
        [domains.labelled[domains.domain == d].mean() for d in range(domains.n_domains)]
    )
    is_target = domains.is_target | (shares < MOST_UNLABELLED)
    if (domains.labelled & ~is_target[domains.domain]).any():
        return replace(domains, is_target=is_target)
    return domains


def standard_regressors(X: Any, *, random_state: int) -> dict[str, Any]:
    """Return the regressors that a good practitioner tries first, not fitted."""
    found: dict[str, Any] = {
        "ridge": RidgeCV(ALPHAS),
        "forest": ForestRegressor(max_rows=MAX_GROWN_NUMBERS, random_state=random_state),
    }
    if not sparse.issparse(X) and 20 + X.shape[1] <= LARGEST_ROUND:
        found["boosting"] = BoostingRegressor(random_state=random_state)
    return found


class HeldOut:
    """Labelled samples in folds, and what regressors predict for those that they have not seen.

    Where there are several sources, a fold holds whole sources; labelled samples of targets are
    spread over all folds.
    """

    def __init__(self, numbers: Array, domains: Domains, seed: int) -> None:
        self.known = np.flatnonzero(domains.labelled)
        self.numbers = numbers[self.known]
        # Labels of the target are few, and none of them is lost in the draw.
        sides = [np.flatnonzero(domains.target[self.known] == side) for side in (False, True)]
        drawn = [rows[draw_rows(np.zeros_like(rows), MAX_ROWS, seed)] for rows in sides]
        self.drawn = np.sort(np.concatenate(drawn))
        self.rows, self.truth = self.known[self.drawn], self.numbers[self.drawn]
        self.by_source, self.folds = _folds(domains.take(self.rows), seed)
        self.predictions: list[Array] = []

    def fit(self, estimator: Any, X: Any) -> tuple[Any, float]:
        if not self.by_source and len(self.known) > MANY * len(self.rows):
            # So many that those held out are not missed: the model that is judged is kept.
            rest = np.delete(np.arange(len(self.known)), self.drawn)
            estimator.fit(X[self.known[rest]], self.numbers[rest])
            held_out = estimator.predict(X[self.rows])
        elif hasattr(estimator, "fit_with_oob") and not self.by_source:
            held_out = estimator.fit_with_oob(X[self.known], self.numbers)[self.drawn]
            unseen = np.flatnonzero(np.isnan(held_out))
            if len(unseen):
                held_out[unseen] = estimator.predict(X[self.rows[unseen]])
        else:
            held_out = np.empty(len(self.rows))
            for learn, test in self.folds:
                part = clone(estimator).fit(X[self.rows[learn]], self.truth[learn])
                held_out[test] = part.predict(X[self.rows[test]])
            estimator.fit(X[self.known], self.numbers)
        self.predictions.append(held_out)
        return estimator, self.score(held_out)

    def score(self, predicted: Array) -> float:
        return 1 - float(np.mean((predicted - self.truth) ** 2) / max(self.truth.var(), 1e-300))


def _folds(domains: Domains, seed: int) -> tuple[bool, Folds]:
    """Return whether folds hold whole sources, and the rows that each learns from and tests."""
    fold = np.random.default_rng(seed).permutation(domains.n_rows) % N_FOLDS
    sources, codes = np.unique(domains.domain[domains.source], return_inverse=True)
    whole = fold % min(N_FOLDS, max(len(sources), 1))
    whole[domains.source] = codes % N_FOLDS
    # Where one source has most samples, too little would be left to learn from without it.
    largest = int(np.bincount(whole).max())
    by_source = len(sources) > 1 and largest <= LARGEST_FOLD * len(fold)
    fold = whole if by_source else fold
    return by_source, [
        (np.flatnonzero(fold != each), np.flatnonzero(fold == each)) for each in np.unique(fold)
    ]
