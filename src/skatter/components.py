"""What the estimators of the family share: validate, choose a route, keep the solution."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils import gen_batches
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from skatter.checks import check_choice, check_integer, check_real, check_samples
from skatter.domains import Domains, read_domains
from skatter.kernels import Kernel, centre, check_gram, gram, require_memory, resolve_kernel
from skatter.objective import SCA_FACTORS, Coefficients, Factors, Objective
from skatter.scatter import Geometry, Scatters, measure
from skatter.solve import (
    INDEFINITE,
    PrimalPath,
    Solution,
    canonical_order,
    solve_dual,
    solve_padded,
)
from skatter.solve.small import column_signs

Array = NDArray[Any]

SCALES = ("eigenvalue", "denominator", "numerator", "coefficients")
SOLVERS = ("auto", "lanczos", "dense", "primal")
UNSUPERVISED_COMPONENTS = 20
"""Components of a method that knows no classes."""
BATCH = 4096
"""New samples mapped at a time: bounds the memory of ``transform``."""


@dataclass(frozen=True)
class _MappedLinear:
    """The linear kernel of an explicit map, for when there are more features than samples."""

    feature_map: Any

    def __call__(self, X: Any, Y: Any) -> Array:
        features = (explicit_features(self.feature_map, X), explicit_features(self.feature_map, Y))
        return safe_sparse_dot(features[0], features[1].T, dense_output=True)


def explicit_features(feature_map: Any, X: Any) -> Any:
    """Explicit features in the floating type of X; X itself where there is no map."""
    if feature_map is None:
        return X
    features = feature_map.transform(X)
    if sparse.issparse(features):
        return features.tocsr().astype(X.dtype)
    return np.asarray(features, dtype=X.dtype)


class _Route(NamedTuple):
    """A solution, the mean that it subtracts (of features, or of kernel columns), its setting."""

    solution: Solution
    mean: Array
    before: Scatters
    weights: Objective


def _without_rounding(route: _Route) -> _Route:
    """Drop components that stand on nothing but rounding: β = 1 and class means that coincide."""
    solution, before = route.solution, route.before
    rounding = 100 * np.finfo(solution.projections.dtype).eps * before.total
    if not route.weights.between_only or before.between_class > rounding:
        return route
    return route._replace(
        solution=Solution(
            solution.eigenvalues[:0],
            solution.coefficients[:, :0],
            solution.projections[:, :0],
            solution.residuals[:0],
        )
    )


def _at_least_one(solution: Solution) -> Solution:
    """Return a component of zeros where nothing was found: downstream steps need a column."""
    if len(solution.eigenvalues):
        return solution
    dtype = solution.projections.dtype
    return Solution(
        np.zeros(1, dtype),
        np.zeros((len(solution.coefficients), 1), dtype),
        np.zeros((len(solution.projections), 1), dtype),
        np.zeros(1, dtype),
    )


def scale_factors(scale: str, eigenvalues: Array, norms: Callable[[], Array]) -> Array:
    """Return factors on components that come with unit denominator; see ``scale`` of SCA.

    Parameters
    ----------
    scale : str
        One of ``SCALES``.
    eigenvalues : ndarray of shape (k,)
        λ.
    norms : callable
        Gives ‖b‖ of each component, where it is needed.
    """
    root = np.sqrt(eigenvalues)
    if scale == "denominator":
        return np.ones_like(root)
    if scale == "eigenvalue":
        return root
    whitening = 1 / np.where(root > 0, root, 1)
    if scale == "numerator":
        return whitening
    length = norms()
    return whitening / np.where(length > 0, length, 1)


def dual_coefficients(
    eigenvalues: Array, Z: Array, coefficients: Coefficients, weights: Objective
) -> Array:
    """Return B with K B = Z from the projections: b = (N z/λ − M z)/ρ."""
    numerator = coefficients.numerator(weights, Z) / np.where(eigenvalues > 0, eigenvalues, 1)
    return np.asarray((numerator - coefficients.denominator(weights, Z)) / weights.ridge)


def ordered_gram(X: Any, kernel: Kernel, order: Any) -> Array:
    """Gram matrix with rows and columns in a given order, in memory of its own."""
    if kernel.precomputed:
        check_gram(X)
        require_memory(len(X), X.dtype.itemsize)
        return X[np.ix_(order, order)]
    return gram(X[order], kernel)


class ScatterComponents(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of the family; a preset says which objective it solves.

    It implements ``_objective`` and, where it has them, checks of its own parameters and labels.
    """

    __metadata_request__fit: ClassVar = {"sample_domain": True, "labelled": True}
    __metadata_request__transform: ClassVar = {"sample_domain": True}

    # A preset that does not offer one of these as a parameter has this value.
    feature_map: Any = None
    class_rows: str = "all"
    normalize: bool = True
    scale: str = "denominator"

    def fit(self, X: Any, y: Any = None, *, sample_domain: Any = None, labelled: Any = None) -> Any:
        """Learn the components.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            All samples, labelled or not; a Gram matrix with ``kernel="precomputed"``.
        y : array-like of shape (n_samples,) or None
            Classes; -1, NaN or None where unknown.
        sample_domain : array-like of shape (n_samples,) or None
            Domain of each sample, integers or strings. None: labelled samples are one domain and
            unlabelled ones another.
        labelled : array-like of bool of shape (n_samples,) or None
            Which labels to use; wins over the marks in ``y``.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._fit(X, y, sample_domain, labelled)
        return self

    def fit_transform(
        self, X: Any, y: Any = None, *, sample_domain: Any = None, labelled: Any = None
    ) -> Array:
        """Learn the components and return the projections of ``X``, computed on the way.

        Takes what :meth:`fit` takes, and returns an array of shape (n_samples, n_components_).
        """
        return self._fit(X, y, sample_domain, labelled)

    def transform(self, X: Any, *, sample_domain: Any = None) -> Array:
        """Project samples, seen before or not, of any domain.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples; their kernel with the training samples when ``kernel="precomputed"``.
        sample_domain : ignored
            The components are the same for all domains.

        Returns
        -------
        ndarray of shape (n_samples, n_components_)
            Projections.
        """
        check_is_fitted(self)
        X = check_samples(self, X, reset=False, precomputed=self._precomputed)
        batches = [self._project(X[rows]) for rows in gen_batches(X.shape[0], BATCH)]
        return batches[0] if len(batches) == 1 else np.vstack(batches)

    def _project(self, X: Any) -> Array:
        if hasattr(self, "dual_coef_"):
            return self.kernel_(X, self.X_fit_) @ self.dual_coef_ - self.offset_
        features = explicit_features(self.feature_map_, X)
        return safe_sparse_dot(features, self.components_.T, dense_output=True) - self.offset_

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    @property
    def _needs_gram(self) -> bool:
        """Whether the equation is one in the coefficients of samples, and in nothing else."""
        return self.class_rows == "labelled"

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        tags.input_tags.sparse = not self._precomputed
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # --- what a preset decides ------------------------------------------------------------------

    def _objective(self, domains: Domains, total: float) -> Objective:
        """Return the weights, given the total scatter in feature space."""
        raise NotImplementedError

    def _factors(self) -> Factors:
        """Return whose means the thin scatters compare."""
        return SCA_FACTORS

    def _check_domains(self, domains: Domains) -> None:
        """Raise where this preset cannot work with these labels."""

    def _default_n_components(self, domains: Domains) -> int:
        """Return the number of components when the user names none."""
        return UNSUPERVISED_COMPONENTS

    # --- one fit path ---------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        if self.n_components is not None:
            check_integer("n_components", self.n_components, low=1)
        check_choice("scale", self.scale, SCALES)
        check_choice("solver", self.solver, SOLVERS)
        check_choice("class_rows", self.class_rows, ("all", "labelled"))
        check_choice("normalize", self.normalize, (True, False))
        check_real("tol", self.tol, low=0, open_low=True)
        explicit = self.feature_map is not None or self.kernel == "linear"
        if self.solver == "primal" and not explicit:
            raise ValueError("solver='primal' needs kernel='linear' or a feature_map.")
        if self.class_rows == "labelled" and (
            self.feature_map is not None or self.solver != "auto"
        ):
            raise ValueError("class_rows='labelled' needs solver='auto' and no feature_map.")

    def _fit(self, X: Any, y: Any, sample_domain: Any, labelled: Any) -> Array:
        X, domains = self._read(X, y, sample_domain, labelled)
        wanted = self.n_components or min(self._default_n_components(domains), X.shape[0] - 1)
        kernel, features = self._feature_space(X)
        if features is None:
            route = self._dual(X, kernel, domains, wanted)
        else:
            route = self._primal(features, domains, wanted)
        route = self._scaled(_without_rounding(route), domains)
        self._warn_of_rank(route.solution)
        self._keep_map(X, kernel, route, primal=features is not None)
        return self._keep(route, domains)

    def _read(self, X: Any, y: Any, sample_domain: Any, labelled: Any) -> tuple[Any, Domains]:
        """Check everything the user gave before any heavy work."""
        self._check_parameters()
        X = check_samples(self, X, reset=True, precomputed=self._precomputed)
        n_samples = X.shape[0]
        if y is None and sample_domain is None:
            sample_domain = np.zeros(n_samples, dtype=int)
        domains = read_domains(y, sample_domain, labelled=labelled, n_samples=n_samples)
        self._check_domains(domains)
        return X, domains

    def _feature_space(self, X: Any) -> tuple[Kernel, Any]:
        """Return the kernel and, where the primal route is the one to take, explicit features."""
        self.feature_map_ = None if self.feature_map is None else clone(self.feature_map).fit(X)
        if self.feature_map is None:
            kernel = resolve_kernel(
                X,
                self.kernel,
                gamma=self.gamma,
                degree=self.degree,
                coef0=self.coef0,
                kernel_params=self.kernel_params,
                random_state=self.random_state,
            )
        else:
            kernel = Kernel(_MappedLinear(self.feature_map_))
        if kernel.linear and isinstance(X, np.ndarray):
            # Centred, the linear kernel is blind to a shift, but not to the digits it costs.
            kernel = replace(kernel, origin=X.mean(axis=0))
        explicit = kernel.linear or self.feature_map is not None
        if not explicit or self._needs_gram or self.solver in ("lanczos", "dense"):
            return kernel, None
        features = explicit_features(self.feature_map_, X)
        if self.solver == "auto" and features.shape[1] >= features.shape[0]:
            return kernel, None
        return kernel, features

    def _primal(self, features: Any, domains: Domains, k: int) -> _Route:
        before = measure(Geometry.of_features(features), domains)
        weights = self._objective(domains, before.total)
        path = PrimalPath(features, domains, self._factors())
        return _Route(path.solve(weights, k), path.moments.mean, before, weights)

    def _dual(self, X: Any, kernel: Kernel, domains: Domains, k: int) -> _Route:
        order = canonical_order(domains)
        ordered, back = domains.take(order), np.argsort(order)
        K = ordered_gram(X, kernel, order)
        means = centre(K)
        if np.trace(K) < 0:
            raise ValueError(INDEFINITE)
        before = measure(Geometry.of_gram(K), ordered)
        weights = self._objective(domains, before.total)
        k = min(k, len(K) - 1)
        solution = self._solve(K, ordered, weights, k)
        solution = solution._replace(
            coefficients=solution.coefficients[back], projections=solution.projections[back]
        )
        return _Route(solution, means[back], before, weights)

    def _solve(self, K: Array, domains: Domains, weights: Objective, k: int) -> Solution:
        """Solve on the centred Gram matrix, rows in canonical order."""
        if self.class_rows == "labelled":
            return solve_padded(K, domains, weights, k)
        return solve_dual(
            K,
            domains,
            weights,
            k,
            tol=self.tol,
            solver=self.solver,
            random_state=self.random_state,
            factors=self._factors(),
        )

    def _scaled(self, route: _Route, domains: Domains) -> _Route:
        """Apply ``scale`` and fix the signs: the largest entry of a component is positive."""
        solution = _at_least_one(route.solution)
        eigenvalues, B, Z = solution.eigenvalues, solution.coefficients, solution.projections

        def norms() -> Array:
            if self._needs_gram:
                return np.linalg.norm(B, axis=0)
            coefficients = Coefficients(domains, Z.dtype, self._factors())
            return np.linalg.norm(
                dual_coefficients(eigenvalues, Z, coefficients, route.weights), axis=0
            )

        factor = scale_factors(self.scale, eigenvalues, norms)
        factor = factor * column_signs(Z)
        factor = factor.astype(Z.dtype)
        solution = solution._replace(coefficients=B * factor, projections=Z * factor)
        return route._replace(solution=solution)

    def _warn_of_rank(self, solution: Solution) -> None:
        found = len(solution.eigenvalues)
        if solution.eigenvalues[0] == 0:
            warnings.warn(
                "No direction has any scatter to keep: all samples, or all class means where "
                "beta=1, coincide. One component of zeros is returned.",
                stacklevel=4,
            )
        elif self.n_components is not None and found < self.n_components:
            warnings.warn(
                f"n_components={self.n_components} exceeds the rank of the problem; {found} "
                "components are returned.",
                stacklevel=4,
            )

    def _keep_map(self, X: Any, kernel: Kernel, route: _Route, *, primal: bool) -> None:
        """Set what ``transform`` reads, and forget what an earlier fit left."""
        for name in ("components_", "dual_coef_", "X_fit_"):
            if hasattr(self, name):
                delattr(self, name)
        coefficients = route.solution.coefficients
        self.kernel_ = kernel
        self.offset_ = route.mean @ coefficients
        if primal:
            self.components_ = coefficients.T
        else:
            self.dual_coef_ = coefficients
            self.X_fit_ = None if kernel.precomputed else X.copy()

    def _keep(self, route: _Route, domains: Domains) -> Array:
        """Set what users read, and return the projections of the training samples."""
        solution = route.solution
        self.eigenvalues_ = solution.eigenvalues
        self.residuals_ = solution.residuals
        self.n_components_ = len(solution.eigenvalues)
        self.classes_ = np.array(domains.classes)
        self.domain_ids_ = np.array(domains.domain_ids)
        after = measure(Geometry.of_features(solution.projections), domains)
        self.scatter_ = {"before": route.before, "after": after}
        return solution.projections


class LabelledComponents(ScatterComponents):
    """Base of presets that learn from labels."""

    def _two_classes(self) -> tuple[str, str] | None:
        """Return what needs two classes and what to do without; None where one class will do.

        Such a preset has a numerator of rank C-1: no total scatter.
        """
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _check_domains(self, domains: Domains) -> None:
        if not domains.n_labelled:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None or has "
                "no labelled sample. Mark only unknown labels as -1, NaN or None; without any "
                "label, use USCA."
            )
        needed = self._two_classes()
        if needed is not None and np.count_nonzero(domains.class_counts) < 2:
            what, remedy = needed
            raise ValueError(f"{what} needs labelled samples of two classes or more; {remedy}.")

    def _default_n_components(self, domains: Domains) -> int:
        between = int(np.count_nonzero(domains.class_counts)) - 1
        return max(2 * between if self._two_classes() is None else between, 1)
