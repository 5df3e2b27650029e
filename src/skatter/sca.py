"""SCA and its family: presets of one objective, shaped for scikit-learn."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils import gen_batches
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from skatter import objective as objectives
from skatter.checks import check_choice, check_integer, check_real, check_samples
from skatter.domains import Domains, read_domains
from skatter.kernels import Kernel, centre, check_gram, gram, require_memory, resolve_kernel
from skatter.objective import Coefficients, Objective
from skatter.scatter import Geometry, Scatters, measure
from skatter.solve import Solution, canonical_order, solve_dual, solve_padded, solve_primal

Array = NDArray[Any]

SCALES = ("eigenvalue", "denominator", "numerator", "coefficients")
SOLVERS = ("auto", "lanczos", "dense", "primal")
DEFAULT_RIDGE = 1e-2
"""Share of the total scatter, where scatters are means."""
UNSUPERVISED_COMPONENTS = 20
"""Components of a method that knows no classes."""
BATCH = 4096
"""New samples mapped at a time: bounds the memory of ``transform``."""


@dataclass(frozen=True)
class _MappedLinear:
    """The linear kernel of an explicit map, for when there are more features than samples."""

    feature_map: Any

    def __call__(self, X: Any, Y: Any) -> Array:
        features = (_map(self.feature_map, X), _map(self.feature_map, Y))
        return safe_sparse_dot(features[0], features[1].T, dense_output=True)


def _map(feature_map: Any, X: Any) -> Any:
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


def _at_least_one(solution: Solution) -> Solution:
    """A component of zeros where nothing was found: downstream steps need a column."""
    if len(solution.eigenvalues):
        return solution
    dtype = solution.projections.dtype
    return Solution(
        np.zeros(1, dtype),
        np.zeros((len(solution.coefficients), 1), dtype),
        np.zeros((len(solution.projections), 1), dtype),
        np.zeros(1, dtype),
    )


def _scale_factors(scale: str, solution: Solution, domains: Domains, weights: Objective) -> Array:
    """Factors on components that come with unit denominator; see the ``scale`` parameter."""
    root = np.sqrt(solution.eigenvalues)
    if scale == "denominator":
        return np.ones_like(root)
    if scale == "eigenvalue":
        return root
    inverse = 1 / np.where(root > 0, root, 1)
    if scale == "numerator":
        return inverse
    Z = solution.projections
    coefficients = Coefficients(domains, Z.dtype)
    numerator = coefficients.numerator(weights, Z) * inverse**2
    B = (numerator - coefficients.denominator(weights, Z)) / weights.ridge
    norms = np.linalg.norm(B, axis=0)
    return inverse / np.where(norms > 0, norms, 1)


def _ordered_gram(X: Any, kernel: Kernel, order: Any) -> Array:
    """Gram matrix with rows and columns in a given order, in memory of its own."""
    if kernel.precomputed:
        check_gram(X)
        require_memory(len(X), X.dtype.itemsize)
        return X[np.ix_(order, order)]
    return gram(X[order], kernel)


class _ScatterComponents(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Shared by the family: validate, choose a route, keep the solution."""

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
        features = _map(self.feature_map_, X)
        return safe_sparse_dot(features, self.components_.T, dense_output=True) - self.offset_

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

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
        self._check_parameters()
        X = check_samples(self, X, reset=True, precomputed=self._precomputed)
        n_samples = X.shape[0]
        if y is None and sample_domain is None:
            sample_domain = np.zeros(n_samples, dtype=int)
        domains = read_domains(y, sample_domain, labelled=labelled, n_samples=n_samples)
        self._check_domains(domains)
        wanted = self.n_components or min(self._default_n_components(domains), n_samples - 1)
        kernel, features = self._feature_space(X)
        if features is None:
            route = self._dual(X, kernel, domains, wanted)
        else:
            route = self._primal(features, domains, wanted)
        route = self._scaled(route, domains)
        self._warn_of_rank(route.solution)
        self._keep_map(X, kernel, route, primal=features is not None)
        return self._keep(route, domains)

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
        explicit = kernel.linear or self.feature_map is not None
        if not explicit or self.class_rows == "labelled" or self.solver in ("lanczos", "dense"):
            return kernel, None
        features = _map(self.feature_map_, X)
        if self.solver == "auto" and features.shape[1] >= features.shape[0]:
            return kernel, None
        return kernel, features

    def _primal(self, features: Any, domains: Domains, k: int) -> _Route:
        before = measure(Geometry.of_features(features), domains)
        weights = self._objective(domains, before.total)
        solution, mean = solve_primal(features, domains, weights, k)
        return _Route(solution, mean, before, weights)

    def _dual(self, X: Any, kernel: Kernel, domains: Domains, k: int) -> _Route:
        order = canonical_order(domains)
        ordered, back = domains.take(order), np.argsort(order)
        K = _ordered_gram(X, kernel, order)
        means = centre(K)
        before = measure(Geometry.of_gram(K), ordered)
        weights = self._objective(domains, before.total)
        k = min(k, len(K) - 1)
        if self.class_rows == "labelled":
            solution = solve_padded(K, ordered, weights, k)
        else:
            solution = solve_dual(
                K,
                ordered,
                weights,
                k,
                tol=self.tol,
                solver=self.solver,
                random_state=self.random_state,
            )
        solution = solution._replace(
            coefficients=solution.coefficients[back], projections=solution.projections[back]
        )
        return _Route(solution, means[back], before, weights)

    def _scaled(self, route: _Route, domains: Domains) -> _Route:
        """Apply ``scale`` and fix the signs: the largest entry of a component is positive."""
        solution = _at_least_one(route.solution)
        Z = solution.projections
        factor = _scale_factors(self.scale, solution, domains, route.weights)
        factor = factor * np.where(Z[np.abs(Z).argmax(axis=0), np.arange(Z.shape[1])] < 0, -1, 1)
        factor = factor.astype(Z.dtype)
        solution = solution._replace(
            coefficients=solution.coefficients * factor, projections=Z * factor
        )
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


class SCA(_ScatterComponents):
    """Scatter Component Analysis.

    Finds directions in a kernel's feature space in which samples and classes are spread while
    domains and the members of one class lie together:

        maximise    (1-β) total scatter + β between-class scatter
        subject to  within-class scatter + δ domain scatter + ridge · ‖W‖² = 1

    Give it the samples of all domains, labelled or not, and it serves domain adaptation
    (an unlabelled target at fit), domain generalization (no target at fit) and everything
    between; several sources, several targets and targets with some labels need nothing special.

    Parameters
    ----------
    n_components : int or None
        Components to keep. None: 2(C-1) for C classes, and C-1 where ``beta=1``, the rank of the
        problem; see ``n_components_``.
    beta : float in [0, 1]
        Share of between-class scatter in the numerator.
    delta : float >= 0
        Weight of domain scatter.
    kernel : str or callable
        Any kernel of :mod:`sklearn.metrics.pairwise`, ``"precomputed"``, or a function of two
        arrays that returns the matrix of kernel values.
    gamma : "median", "printed", float or None
        Bandwidth; see :func:`skatter.kernels.resolve_kernel`.
    degree, coef0 : float
        For the polynomial and sigmoid kernels.
    kernel_params : dict or None
        Extra arguments of a callable kernel.
    feature_map : transformer or None
        An explicit map, such as :class:`sklearn.kernel_approximation.Nystroem`, that replaces the
        kernel; work and memory are then linear in the number of samples.
    ridge : float > 0 or None
        Weight of the size of the projection, ‖W‖². With ``normalize=True`` in units of the total
        scatter, so that the scale of the kernel does not matter; None is 1e-2. With
        ``normalize=False`` as it is; None is the paper's 1.
    normalize : bool
        True: every scatter is a mean, so that ``beta`` and ``delta`` mean the same at any sample
        size. False: the paper's own scaling, where class scatters are sums.
    scale : {"eigenvalue", "denominator", "numerator", "coefficients"}
        Length of the components. ``"denominator"``: the denominator of each is one, Z = K B with
        BᵀCB = I. ``"eigenvalue"``: times Λ^½, so that leading components weigh more.
        ``"numerator"``: times Λ^-½, the printed rule: the numerator of each is one.
        ``"coefficients"``: unit-norm b times Λ^-½, as in public code.
    class_rows : {"all", "labelled"}
        ``"labelled"`` is the zero-padded form printed in the paper, for imitation only: dense and
        slow.
    solver : {"auto", "lanczos", "dense", "primal"}
        ``"primal"`` works on explicit features (linear kernel or ``feature_map``), the others on
        the Gram matrix. All give the same components.
    tol : float > 0
        Residual of each component relative to its own eigenvalue at which Lanczos stops.
    random_state : int, RandomState instance or None
        Seeds Lanczos and, for large samples, the median heuristic. None is a fixed seed.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components_,)
        λ of A b = λ C b, largest first.
    n_components_ : int
        Number of components.
    dual_coef_ : ndarray of shape (n_samples, n_components_)
        Coefficients on the training samples (dual routes).
    components_ : ndarray of shape (n_components_, n_features)
        Directions in explicit feature space (primal route).
    residuals_ : ndarray of shape (n_components_,)
        ‖A b − λ C b‖ / ‖A b‖: how exactly each component solves its equation.
    scatter_ : dict
        ``"before"`` and ``"after"``: the five :class:`~skatter.scatter.Scatters`, in feature
        space and of the projections.
    classes_, domain_ids_ : ndarray
        Classes and domains seen in ``fit``.

    References
    ----------
    M. Ghifary, D. Balduzzi, W. B. Kleijn, M. Zhang: Scatter Component Analysis: A Unified
    Framework for Domain Adaptation and Domain Generalization. IEEE TPAMI 39(7), 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter import SCA
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1, 0, 1], 20)
    >>> site = np.repeat(["here", "there"], 40)
    >>> X = rng.normal(size=(80, 5)) + 2 * y[:, None] + np.where(site == "there", 1, 0)[:, None]
    >>> known = np.where(site == "here", y, -1)
    >>> sca = SCA(n_components=2).fit(X, known, sample_domain=site)
    >>> sca.transform(X[:3]).shape
    (3, 2)
    >>> before, after = sca.scatter_["before"], sca.scatter_["after"]
    >>> bool(after.domain / after.total < before.domain / before.total)
    True
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        beta: float = 0.1,
        delta: float = 1.0,
        kernel: Any = "rbf",
        gamma: Any = "median",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        feature_map: Any = None,
        ridge: float | None = None,
        normalize: bool = True,
        scale: str = "eigenvalue",
        class_rows: str = "all",
        solver: str = "auto",
        tol: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.beta = beta
        self.delta = delta
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.feature_map = feature_map
        self.ridge = ridge
        self.normalize = normalize
        self.scale = scale
        self.class_rows = class_rows
        self.solver = solver
        self.tol = tol
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_real("beta", self.beta, low=0, high=1)
        check_real("delta", self.delta, low=0)
        _check_ridge(self.ridge)

    def _check_domains(self, domains: Domains) -> None:
        _require_labels(self, domains)
        if self.beta == 1:
            _require_two_classes(domains, "beta=1", "choose beta < 1")

    def _default_n_components(self, domains: Domains) -> int:
        between = int(np.count_nonzero(domains.class_counts)) - 1
        return max(between if self.beta == 1 else 2 * between, 1)

    def _objective(self, domains: Domains, total: float) -> Objective:
        return objectives.sca(
            self.beta,
            self.delta,
            ridge=_ridge(self.ridge, self.normalize, total),
            normalize=self.normalize,
            n_labelled=domains.n_labelled,
        )


class USCA(_ScatterComponents):
    """Unsupervised SCA: total scatter large, domain scatter small; labels are not used.

        maximise    total scatter
        subject to  δ domain scatter + ridge · ‖W‖² = 1

    Parameters
    ----------
    n_components : int or None
        Components to keep; None is 20, or fewer where the rank is lower.
    delta : float >= 0
        Weight of domain scatter; 0 is kernel PCA.
    kernel, gamma, degree, coef0, kernel_params, feature_map
        Feature space, as in :class:`SCA`.
    ridge, normalize, scale, solver, tol, random_state
        As in :class:`SCA`.

    Attributes
    ----------
    eigenvalues_, n_components_, dual_coef_, components_, residuals_, scatter_, classes_, domain_ids_
        As in :class:`SCA`.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter import USCA
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(size=(30, 4)), rng.normal(1.0, size=(30, 4))])
    >>> usca = USCA(n_components=2).fit(X, sample_domain=np.repeat([1, -2], 30))
    >>> usca.transform(X).shape
    (60, 2)
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        delta: float = 1.0,
        kernel: Any = "rbf",
        gamma: Any = "median",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        feature_map: Any = None,
        ridge: float | None = None,
        normalize: bool = True,
        scale: str = "eigenvalue",
        solver: str = "auto",
        tol: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.delta = delta
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.feature_map = feature_map
        self.ridge = ridge
        self.normalize = normalize
        self.scale = scale
        self.solver = solver
        self.tol = tol
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_real("delta", self.delta, low=0)
        _check_ridge(self.ridge)

    def _objective(self, domains: Domains, total: float) -> Objective:
        return objectives.usca(self.delta, ridge=_ridge(self.ridge, self.normalize, total))


class KernelFisher(_ScatterComponents):
    """Kernel Fisher discriminant: between-class scatter large, within-class scatter small.

        maximise    between-class scatter
        subject to  within-class scatter + ridge · ‖W‖² = 1

    It is :class:`SCA` with β = 1 and δ = 0, and has at most C-1 components. With the linear kernel
    and a ridge that goes to zero it is linear discriminant analysis.

    Parameters
    ----------
    n_components : int or None
        Components to keep; None is C-1 for C classes.
    kernel, gamma, degree, coef0, kernel_params, feature_map
        Feature space, as in :class:`SCA`.
    ridge, normalize, scale, solver, tol, random_state
        As in :class:`SCA`.

    Attributes
    ----------
    eigenvalues_, n_components_, dual_coef_, components_, residuals_, scatter_, classes_, domain_ids_
        As in :class:`SCA`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skatter import KernelFisher
    >>> X, y = load_iris(return_X_y=True)
    >>> KernelFisher().fit(X, y).n_components_
    2
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: Any = "rbf",
        gamma: Any = "median",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        feature_map: Any = None,
        ridge: float | None = None,
        normalize: bool = True,
        scale: str = "eigenvalue",
        solver: str = "auto",
        tol: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.feature_map = feature_map
        self.ridge = ridge
        self.normalize = normalize
        self.scale = scale
        self.solver = solver
        self.tol = tol
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _check_parameters(self) -> None:
        super()._check_parameters()
        _check_ridge(self.ridge)

    def _check_domains(self, domains: Domains) -> None:
        _require_labels(self, domains)
        _require_two_classes(domains, "KernelFisher", "use USCA or SCA with beta < 1")

    def _default_n_components(self, domains: Domains) -> int:
        return int(np.count_nonzero(domains.class_counts)) - 1

    def _objective(self, domains: Domains, total: float) -> Objective:
        return objectives.sca(
            1.0,
            0.0,
            ridge=_ridge(self.ridge, self.normalize, total),
            normalize=self.normalize,
            n_labelled=domains.n_labelled,
        )


class KPCA(_ScatterComponents):
    """Kernel principal component analysis of all domains pooled; labels are not used.

    It is :class:`USCA` with δ = 0, and equals :class:`sklearn.decomposition.KernelPCA` up to
    signs. ``eigenvalues_`` are those of the objective, the eigenvalues of K over n.

    Parameters
    ----------
    n_components : int or None
        Components to keep; None is 20, or fewer where the rank is lower.
    kernel, gamma, degree, coef0, kernel_params, feature_map
        Feature space, as in :class:`SCA`.
    solver, tol, random_state
        As in :class:`SCA`.

    Attributes
    ----------
    eigenvalues_, n_components_, dual_coef_, components_, residuals_, scatter_, classes_, domain_ids_
        As in :class:`SCA`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skatter import KPCA
    >>> KPCA(n_components=2).fit_transform(load_iris().data).shape
    (150, 2)
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: Any = "rbf",
        gamma: Any = "median",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        feature_map: Any = None,
        solver: str = "auto",
        tol: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.feature_map = feature_map
        self.solver = solver
        self.tol = tol
        self.random_state = random_state

    def _objective(self, domains: Domains, total: float) -> Objective:
        return objectives.usca(0.0, ridge=1.0)


def _check_ridge(ridge: Any) -> None:
    if ridge is not None:
        check_real("ridge", ridge, low=0, open_low=True)


def _ridge(ridge: float | None, normalize: bool, total: float) -> float:
    """Return the weight ρ of ‖W‖²: in units of the total scatter, or the paper's."""
    if not normalize:
        return 1.0 if ridge is None else float(ridge)
    relative = DEFAULT_RIDGE if ridge is None else float(ridge)
    return relative * total if total > 0 else relative


def _require_labels(estimator: Any, domains: Domains) -> None:
    if not domains.n_labelled:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None or has "
            "no labelled sample. Mark only unknown labels as -1, NaN or None; without any label, "
            "use USCA."
        )


def _require_two_classes(domains: Domains, what: str, remedy: str) -> None:
    if np.count_nonzero(domains.class_counts) < 2:
        raise ValueError(f"{what} needs labelled samples of two classes or more; {remedy}.")
