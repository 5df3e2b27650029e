"""What the estimators of the family share: validate, choose a route, keep the solution."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils import gen_batches
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from skatter.checks import check_choice, check_integer, check_real, check_samples, n_rows
from skatter.domains import Domains, read_domains, read_part
from skatter.kernels import Kernel, centre, check_gram, gram, kernel_of, require_memory
from skatter.labels import NOT_IN_PARTS
from skatter.maps import explicit_features, fitted_map
from skatter.moments import Moments, collect_moments, fingerprint, merge_moments
from skatter.objective import SCA_FACTORS, Coefficients, Factors, Objective
from skatter.out_of_core import Place, backend_of
from skatter.scatter import Geometry, Scatters, measure
from skatter.solve import (
    INDEFINITE,
    PrimalPath,
    Solution,
    canonical_order,
    solve_dual,
    solve_iterative,
    solve_padded,
)
from skatter.solve.small import column_signs
from skatter.summaries import Section, ShowsLearnt, learnt_components
from skatter.tensors import (
    column_norms,
    copied_rows,
    device_of,
    free_memory,
    host_dtype,
    is_tensor,
    like,
    moved,
    multiply,
    require_same_place,
    take,
    trace,
    vstack,
)
from skatter.tiles import TiledGram

Array = NDArray[Any]

SCALES = ("eigenvalue", "denominator", "numerator", "coefficients")
SOLVERS = ("auto", "lanczos", "dense", "primal", "iterative")
UNSUPERVISED_COMPONENTS = 20
"""Components of a method that knows no classes."""
FEWEST_COMPONENTS = 10
"""Components of a method that knows classes, however few: with two classes, two say too little."""
SOLVED = (
    "eigenvalues_",
    "residuals_",
    "n_components_",
    "classes_",
    "class_counts_",
    "domain_ids_",
    "domain_counts_",
    "scatter_",
    "components_",
    "offset_",
)
"""Attributes that follow from moments, and are worked out when they are asked for."""
STREAMED = ("moments_", "n_chunks_seen_", "stream_classes_", "_beside", "_fingerprint")
"""Attributes that a stream leaves."""
POOR_RESIDUAL = 1e-3
"""Above this residual a component in single precision is not what it should be."""
BATCH = 4096
"""New samples mapped at a time: bounds the memory of ``transform``."""


@dataclass(frozen=True)
class _MappedLinear:
    """The linear kernel of an explicit map, for when there are more features than samples."""

    feature_map: Any

    def __call__(self, X: Any, Y: Any) -> Any:
        features = (explicit_features(self.feature_map, X), explicit_features(self.feature_map, Y))
        return _product(features[0], features[1].T)


def _product(X: Any, W: Any) -> Any:
    """Return X W as a dense array of the kind of X."""
    return multiply(X, W) if is_tensor(X) else safe_sparse_dot(X, W, dense_output=True)


class _Route(NamedTuple):
    """What a route found, with a denominator of one, and what it subtracts from new samples.

    Attributes
    ----------
    eigenvalues, coefficients, residuals : ndarray
        As in :class:`~skatter.solve.Solution`; coefficients on samples or on features.
    projections : ndarray or None
        Of the training samples, where the route has them.
    mean : ndarray
        Mean of the features, or of the kernel's columns.
    before : Scatters
        Of the feature space.
    after : callable
        From coefficients and projections to the scatters of the latter.
    weights : Objective
        What was solved.
    norms : callable
        Gives the norm of the coefficients on samples.
    directions : callable
        Gives what the signs are read from: components in explicit features, or projections.
    """

    eigenvalues: Array
    coefficients: Any
    residuals: Array
    projections: Any
    mean: Any
    before: Scatters
    after: Callable[[Any, Any], Scatters]
    weights: Objective
    norms: Callable[[], Array]
    directions: Callable[[], Any]

    def within_rounding(self, dtype: Any) -> bool:
        """Whether the components stand on nothing: β = 1 and class means that coincide."""
        rounding = 100 * np.finfo(dtype).eps * self.before.total
        return self.weights.between_only and self.before.between_class <= rounding

    def or_nothing(self, dtype: Any) -> _Route:
        """Return a component of zeros where nothing was found: downstream steps need a column."""
        if len(self.eigenvalues) and not self.within_rounding(dtype):
            return self
        nothing, Z = np.zeros(1, dtype), self.projections
        return self._replace(
            eigenvalues=nothing,
            coefficients=like(np.zeros((self.coefficients.shape[0], 1)), self.coefficients),
            residuals=nothing,
            projections=None if Z is None else like(np.zeros((Z.shape[0], 1)), Z),
        )

    def times(self, factor: Array) -> _Route:
        """Return the components times one number each."""
        Z = self.projections
        return self._replace(
            coefficients=self.coefficients * like(factor, self.coefficients),
            projections=None if Z is None else Z * like(factor, Z),
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
    eigenvalues: Array, Z: Any, coefficients: Coefficients, weights: Objective
) -> Any:
    """Return B with K B = Z from the projections: b = (N z/λ − M z)/ρ."""
    size = like(np.where(eigenvalues > 0, eigenvalues, 1), Z)
    numerator = coefficients.numerator(weights, Z) / size
    return (numerator - coefficients.denominator(weights, Z)) / weights.ridge


def ordered_gram(X: Any, kernel: Kernel, order: Any) -> Any:
    """Gram matrix with rows and columns in a given order, in memory of its own."""
    if kernel.precomputed:
        check_gram(X)
        require_memory(len(X), X.dtype.itemsize, device_of(X))
        return take(take(X, order).T, order).T if is_tensor(X) else X[np.ix_(order, order)]
    return gram(take(X, order), kernel)


def _read_part(X: Any, y: Any, sample_domain: Any, labelled: Any, classes: Any) -> Domains:
    return read_part(y, sample_domain, labelled=labelled, classes=classes, n_samples=n_rows(X))


def _moments_suffice(estimator: ScatterComponents) -> bool:
    """Whether an estimator learns from moments; the reason why not otherwise."""
    reason = estimator.why_not_moments()
    if reason is not None:
        raise AttributeError(reason)
    return True


class ScatterComponents(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ShowsLearnt):
    """Base of the family; a preset says which objective it solves.

    It implements ``_objective`` and, where it has them, checks of its own parameters and labels.
    """

    __metadata_request__fit: ClassVar = {"sample_domain": True, "labelled": True}
    __metadata_request__transform: ClassVar = {"sample_domain": True}

    # A preset that does not offer one of these as a parameter has this value.
    feature_map: Any = None
    label_splines: Any = None
    class_rows: str = "all"
    normalize: bool = True
    scale: str = "denominator"

    def fit(self, X: Any, y: Any = None, *, sample_domain: Any = None, labelled: Any = None) -> Any:
        """Learn the components.

        Parameters
        ----------
        X : array-like, sparse matrix, Tensor or Dask collection of shape (n_samples, n_features)
            All samples, labelled or not; a Gram matrix with ``kernel="precomputed"``. Torch tensors
            are worked on where they are; Dask arrays and DataFrames, with explicit features, block
            by block on the workers.
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
        if backend := backend_of(X):
            return backend.fit(self, X, y, sample_domain=sample_domain, labelled=labelled)
        self._fit(X, y, sample_domain, labelled)
        return self

    def fit_transform(
        self, X: Any, y: Any = None, *, sample_domain: Any = None, labelled: Any = None
    ) -> Array:
        """Learn the components and return the projections of ``X``.

        Takes what :meth:`fit` takes, and returns an array of shape (n_samples, n_components_).
        """
        if backend_of(X):
            return self.fit(X, y, sample_domain=sample_domain, labelled=labelled).transform(X)
        Z = self._fit(X, y, sample_domain, labelled)
        return self.transform(X) if Z is None else Z

    @available_if(_moments_suffice)
    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_domain: Any = None,
        labelled: Any = None,
        classes: Any = None,
    ) -> Any:
        """Learn from one more chunk of a stream; the result is that of one fit on all chunks.

        What is kept of the chunks does not grow with their number. The feature map is fitted on
        the first one, unless it is a :class:`sklearn.frozen.FrozenEstimator`. Components are solved
        for when they are asked for. Where a chunk is refused, all is as it was before it.

        Parameters
        ----------
        X, y, sample_domain, labelled
            As in :meth:`fit`; a chunk may hold new classes and new domains. -1 marks unlabelled
            samples, unless ``classes`` names it.
        classes : array-like or None
            All classes of the stream, in the first call; None where they are not known ahead.

        Returns
        -------
        self
            The estimator.
        """
        if backend_of(X):
            raise TypeError("X is a Dask collection, which is in chunks already: give it to fit.")
        number, done = self._chunks_seen()
        with Place("Chunk", number, done, n_rows(X)).named(X):
            known = self.stream_classes_ if number else classes
            domains = _read_part(X, y, sample_domain, labelled, known)
            if not number:
                self.begin_stream(X, classes)
            part = self.moments_of(X, domains)
            merged = merge_moments([self.moments_, part]) if number else part
        self._keep_moments(merged, number + 1)
        return self

    @available_if(_moments_suffice)
    def merge(self, *others: Any) -> Any:
        """Join what other estimators learnt, in other places, from streams of their own.

        Parameters
        ----------
        *others : estimators
            Of the same type and with the same feature map, after :meth:`partial_fit`.

        Returns
        -------
        self
            As if it had seen all chunks itself.
        """
        for estimator in (self, *others):
            if type(estimator) is not type(self) or "moments_" not in vars(estimator):
                raise ValueError(
                    f"merge joins {type(self).__name__} estimators after partial_fit; got a "
                    f"{type(estimator).__name__} without moments."
                )
        merged = merge_moments([self.moments_, *(other.moments_ for other in others)])
        self._keep_moments(
            merged, self.n_chunks_seen_ + sum(other.n_chunks_seen_ for other in others)
        )
        return self

    @available_if(_moments_suffice)
    def fit_moments(self, moments: Moments) -> Any:
        """Learn from moments alone: samples may stay where they are.

        Parameters
        ----------
        moments : Moments
            Of all samples, of the features that ``feature_map`` makes. The map must come fitted,
            as a :class:`sklearn.frozen.FrozenEstimator`.

        Returns
        -------
        self
            The fitted estimator.
        """
        self.check_parameters()
        self._forget()
        self.feature_map_ = None if self.feature_map is None else clone(self.feature_map)
        n_features = getattr(self.feature_map_, "n_features_in_", moments.n_features)
        if moments.feature_map != fingerprint(self.feature_map_, n_features):
            raise ValueError(
                "moments were collected with another feature map; give the same one, fitted, as "
                "feature_map=FrozenEstimator(...)."
            )
        self.n_features_in_, self.stream_classes_ = n_features, None
        self._beside = np.empty((0, n_features), dtype=moments.dtype)
        self._fingerprint = moments.feature_map
        self._keep_moments(moments, 1)
        return self

    # --- learning from moments, for those who bring samples in parts -----------------------------

    def why_not_moments(self) -> str | None:
        """Return why moments of explicit features do not suffice; None where they do."""
        if self.label_splines is not None:
            return NOT_IN_PARTS
        name = type(self).__name__
        if not self._is_explicit:
            return (
                f"{name} learns from a stream through explicit features, for the Gram matrix has "
                "as many rows as there are samples: give it feature_map=..., such as "
                "skatter.maps.LandmarkMap(1000), or kernel='linear'."
            )
        if self._needs_gram:
            return (
                f"{name} needs the Gram matrix (class_rows='labelled', nugget > 0), which samples "
                "in parts have none of: use class_rows='all' and nugget=0."
            )
        if self.solver not in ("auto", "primal"):
            return (
                f"solver={self.solver!r} needs the Gram matrix, which samples in parts have none "
                "of: use solver='auto'."
            )
        return None

    def check_parameters(self) -> None:
        """Raise where a parameter is out of range, before any sample is read."""
        self._check_parameters()

    def check_domains(self, domains: Domains) -> None:
        """Raise where there is nothing to learn from these labels and domains."""

    def begin_stream(self, X: Any, classes: Any = None) -> None:
        """Forget everything, and fit the feature map on some samples.

        Parameters
        ----------
        X : array-like, sparse matrix or Tensor of shape (n_samples, n_features)
            As many as the map needs; one will do where there is no map to fit.
        classes : array-like or None
            All classes that parts may hold, where they are known.
        """
        self.check_parameters()
        X = check_samples(self, X, reset=True, tensors=True, least=1)
        self._forget()
        self.stream_classes_ = classes
        self.feature_map_ = fitted_map(self.feature_map, X)
        self._fingerprint = fingerprint(self.feature_map_, X.shape[1])
        self._beside = X[:0]

    def moments_of(self, X: Any, domains: Domains) -> Moments:
        """Return the moments of some samples, after :meth:`begin_stream`; nothing is learnt.

        Moments of parts are joined by :func:`skatter.moments.merge_moments`.
        """
        X = check_samples(self, X, reset=False, tensors=True)
        require_same_place(X, self._beside, "X")
        return self._collect(X, domains, self._fingerprint)

    def learn_moments(self, moments: Moments, n_chunks: int = 1) -> Any:
        """Learn from the moments of all parts of a stream, and solve for the components.

        Parameters
        ----------
        moments : Moments
            Of :meth:`moments_of`, joined.
        n_chunks : int
            Number of parts; more may follow by :meth:`partial_fit`.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._keep_moments(moments, n_chunks)
        self._solve_moments(moments)
        return self

    def transform(self, X: Any, *, sample_domain: Any = None) -> Array:
        """Project samples, seen before or not, of any domain.

        Parameters
        ----------
        X : array-like, sparse matrix, Tensor or Dask collection of shape (n_samples, n_features)
            Samples; their kernel with the training samples when ``kernel="precomputed"``.
        sample_domain : ignored
            The components are the same for all domains.

        Returns
        -------
        ndarray, Tensor or Dask collection of shape (n_samples, n_components_)
            Projections, of the kind of ``X``; lazy where that is a Dask collection.
        """
        if backend := backend_of(X):
            return backend.apply(self, "transform", X)
        check_is_fitted(self)
        X = check_samples(self, X, reset=False, precomputed=self._precomputed, tensors=True)
        require_same_place(X, self.offset_, "X")
        batches = [self._project(X[rows]) for rows in gen_batches(X.shape[0], BATCH)]
        return batches[0] if len(batches) == 1 else vstack(batches)

    def to(self, place: str) -> Any:
        """Return a copy that works elsewhere: fit on a graphics card, predict without one.

        Parameters
        ----------
        place : str
            ``"numpy"``, or a device of torch such as ``"cpu"`` or ``"cuda:0"``.
        """
        check_is_fitted(self)
        return moved(self, ("X_fit_", "dual_coef_", "components_", "offset_", "_beside"), place)

    def _project(self, X: Any) -> Any:
        if hasattr(self, "dual_coef_"):
            return multiply(self.kernel_(X, self.X_fit_), self.dual_coef_) - self.offset_
        features = explicit_features(self.feature_map_, X)
        return _product(features, self.components_.T) - self.offset_

    def __getattr__(self, name: str) -> Any:
        """Solve for the components of a stream when they are asked for."""
        if name in SOLVED and "moments_" in vars(self) and "components_" not in vars(self):
            self._solve_moments(self.moments_)
            return getattr(self, name)
        # Whoever refused it first says why.
        return super().__getattribute__(name)

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    @property
    def _is_explicit(self) -> bool:
        """Whether the feature space is that of explicit features."""
        return self.feature_map is not None or (
            isinstance(self.kernel, str) and self.kernel == "linear"
        )

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
        if self.solver == "primal" and not self._is_explicit:
            raise ValueError("solver='primal' needs kernel='linear' or a feature_map.")
        if self.class_rows == "labelled" and (
            self.feature_map is not None or self.solver != "auto"
        ):
            raise ValueError("class_rows='labelled' needs solver='auto' and no feature_map.")

    def _fit(self, X: Any, y: Any, sample_domain: Any, labelled: Any) -> Any:
        """Fit, and return projections of the samples where they come with the solution."""
        X, domains = self._read(X, y, sample_domain, labelled)
        self._forget()
        self.kernel_, explicit = self._feature_space(X)
        if explicit:
            self._beside = X[:0]
            self._solve_moments(self._collect(X, domains))
            return None
        self.X_fit_ = None if self.kernel_.precomputed else copied_rows(X)
        route = self._in_tiles if self._needs_tiles(X) else self._dual
        found = self._scaled(route(X, self.kernel_, domains), host_dtype(X))
        self.dual_coef_ = found.coefficients
        self._keep(found, domains)
        self.offset_ = multiply(found.mean, found.coefficients)
        return found.projections

    def _read(self, X: Any, y: Any, sample_domain: Any, labelled: Any) -> tuple[Any, Domains]:
        """Check everything the user gave before any heavy work."""
        self.check_parameters()
        X = check_samples(self, X, reset=True, precomputed=self._precomputed, tensors=True)
        n_samples = X.shape[0]
        if y is None and sample_domain is None:
            sample_domain = np.zeros(n_samples, dtype=int)
        domains = read_domains(y, sample_domain, labelled=labelled, n_samples=n_samples)
        self.check_domains(domains)
        return X, domains

    def _forget(self) -> None:
        """Drop what an earlier fit left."""
        for name in (*SOLVED, *STREAMED, "dual_coef_", "X_fit_"):
            self.__dict__.pop(name, None)

    def _feature_space(self, X: Any) -> tuple[Kernel, bool]:
        """Return the kernel, and whether to work on explicit features."""
        self.feature_map_ = fitted_map(self.feature_map, X)
        if self.feature_map is None:
            kernel = kernel_of(self, X)
        else:
            kernel = Kernel(_MappedLinear(self.feature_map_))
        if kernel.linear and not sparse.issparse(X):
            # Centred, the linear kernel is blind to a shift, but not to the digits it costs.
            kernel = replace(kernel, origin=X.mean(axis=0))
        if not self._is_explicit or self._needs_gram or self.solver not in ("auto", "primal"):
            return kernel, False
        n_features = explicit_features(self.feature_map_, X[:1]).shape[1]
        return kernel, self.solver == "primal" or n_features < X.shape[0]

    def _wanted(self, domains: Domains) -> int:
        default = min(self._default_n_components(domains), domains.n_samples - 1)
        return self.n_components or max(default, 1)

    # --- explicit features ----------------------------------------------------------------------

    def _collect(self, X: Any, domains: Domains, feature_map: str = "") -> Moments:
        """Return the moments of samples, under the fingerprint of the map that made them."""
        features = partial(explicit_features, self.feature_map_)
        return collect_moments(X, domains, features, feature_map=feature_map)

    def _chunks_seen(self) -> tuple[int, int]:
        """Count the chunks and samples of the stream so far."""
        if "moments_" not in vars(self):
            return 0, 0
        return self.n_chunks_seen_, self.moments_.n_samples

    def _keep_moments(self, moments: Moments, n_chunks: int) -> None:
        for name in SOLVED:
            self.__dict__.pop(name, None)
        self.moments_, self.n_chunks_seen_ = moments, n_chunks

    def _solve_moments(self, moments: Moments) -> None:
        """Solve for the components of explicit features, given their moments."""
        domains = moments.cells
        self.check_domains(domains)
        before = moments.scatters()
        weights = self._objective(domains, before.total)
        path = PrimalPath(moments, self._factors())
        found = path.solve(weights, self._wanted(domains))
        route = _Route(
            found.values,
            found.vectors,
            found.residuals,
            projections=None,
            mean=moments.mean,
            before=before,
            after=lambda W, _: moments.scatters(W),
            weights=weights,
            norms=lambda: path.coefficient_norms(weights, found),
            directions=lambda: found.vectors,
        )
        route = self._scaled(route, moments.dtype)
        self.components_ = like(route.coefficients.T, self._beside)
        self._keep(route, domains)
        self.offset_ = like(route.mean @ route.coefficients, self._beside)

    # --- the Gram matrix ------------------------------------------------------------------------

    def _dual(self, X: Any, kernel: Kernel, domains: Domains) -> _Route:
        order = canonical_order(domains)
        ordered, back = domains.take(order), np.argsort(order)
        K = ordered_gram(X, kernel, order)
        means = centre(K)
        if trace(K) < 0:
            raise ValueError(INDEFINITE)
        before = measure(Geometry.of_gram(K), ordered)
        weights = self._objective(domains, before.total)
        k = min(self._wanted(domains), len(K) - 1)
        solution = self._solve(K, ordered, weights, k)
        solution = solution._replace(
            coefficients=take(solution.coefficients, back),
            projections=take(solution.projections, back),
        )
        return self._on_samples(X, domains, solution, take(means, back), before, weights)

    def _needs_tiles(self, X: Any) -> bool:
        """Whether to compute the Gram matrix in tiles and never store it.

        A graphics card has less memory than its host; what does not fit there is not refused.
        """
        if self.solver != "auto" or self._needs_gram or free_memory(device_of(X)) is None:
            return self.solver == "iterative"
        try:
            require_memory(X.shape[0], host_dtype(X).itemsize, device_of(X))
        except MemoryError as error:
            message = str(error).split(" Use ")[0]
            warnings.warn(f"{message} It is recomputed in tiles: solver='iterative'.", stacklevel=4)
            return True
        return False

    def _in_tiles(self, X: Any, kernel: Kernel, domains: Domains) -> _Route:
        tiles = TiledGram(X, kernel)
        before = measure(tiles.geometry, domains)
        weights = self._objective(domains, before.total)
        solution = solve_iterative(
            tiles,
            domains,
            weights,
            min(self._wanted(domains), tiles.n - 1),
            tol=self.tol,
            random_state=self.random_state,
            factors=self._factors(),
        )
        return self._on_samples(X, domains, solution, like(tiles.means, X), before, weights)

    def _on_samples(
        self,
        X: Any,
        domains: Domains,
        solution: Solution,
        means: Any,
        before: Scatters,
        weights: Objective,
    ) -> _Route:
        """Return a solution with coefficients on the samples, given the means of the kernel."""
        B, Z = solution.coefficients, solution.projections

        def norms() -> Array:
            if self._needs_gram:
                return column_norms(B)
            coefficients = Coefficients.like(Z, domains, self._factors())
            return column_norms(dual_coefficients(solution.eigenvalues, Z, coefficients, weights))

        return _Route(
            solution.eigenvalues,
            B,
            solution.residuals,
            projections=Z,
            mean=means,
            before=before,
            after=lambda _, Z: measure(Geometry.of_features(Z), domains),
            weights=weights,
            norms=norms,
            directions=lambda: Z if not self._is_explicit else self._in_features(X, B),
        )

    def _in_features(self, X: Any, B: Any) -> Any:
        """Return the components in explicit features, so that signs are those of that route."""
        return _product(explicit_features(self.feature_map_, X).T, B)

    def _solve(self, K: Any, domains: Domains, weights: Objective, k: int) -> Solution:
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

    # --- what both share ------------------------------------------------------------------------

    def _scaled(self, route: _Route, dtype: Any) -> _Route:
        """Apply ``scale`` and fix the signs: the largest entry of a component is positive."""
        found = route.or_nothing(dtype)
        factor = scale_factors(self.scale, found.eigenvalues, found.norms)
        if found is route:
            factor = factor * column_signs(route.directions())
        found = found.times(factor)
        self._warn_of_rank(found.eigenvalues)
        self._warn_of_precision(found.residuals, dtype)
        return found

    def _warn_of_rank(self, eigenvalues: Array) -> None:
        if eigenvalues[0] == 0:
            warnings.warn(
                "No direction has any scatter to keep: all samples, or all class means where "
                "beta=1, coincide. One component of zeros is returned.",
                stacklevel=5,
            )
        elif self.n_components is not None and len(eigenvalues) < self.n_components:
            warnings.warn(
                f"n_components={self.n_components} exceeds the rank of the problem; "
                f"{len(eigenvalues)} components are returned.",
                stacklevel=5,
            )

    def _warn_of_precision(self, residuals: Array, dtype: Any) -> None:
        """Say so where single precision is not enough for the components that were asked for."""
        poor = np.flatnonzero(residuals > max(POOR_RESIDUAL, self.tol))
        if dtype == np.float32 and len(poor):
            warnings.warn(
                f"float32 is not enough for {len(poor)} of {len(residuals)} components: component "
                f"{poor[0]} solves its equation to {residuals[poor[0]]:.0e} only (residuals_). "
                "Give X in float64, or ask for fewer components.",
                stacklevel=5,
            )

    def _keep(self, route: _Route, domains: Domains) -> None:
        """Set what users read."""
        self.eigenvalues_ = route.eigenvalues
        self.residuals_ = route.residuals
        self.n_components_ = len(route.eigenvalues)
        self.classes_ = np.array(domains.classes)
        self.class_counts_ = np.array(domains.class_counts)
        self.domain_ids_ = np.array(domains.domain_ids)
        self.domain_counts_ = np.array(domains.domain_counts)
        after = route.after(route.coefficients, route.projections)
        self.scatter_ = {"before": route.before, "after": after}

    def _learnt(self) -> list[Section]:
        return learnt_components(self)


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

    def check_domains(self, domains: Domains) -> None:
        """Raise where there is no label, or a single class where two are needed."""
        if not domains.n_labelled:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None or has "
                "no labelled sample. Mark only unknown labels as -1, NaN or None; without any "
                "label, use USCA."
            )
        needed = self._two_classes()
        if needed is not None and domains.n_groups < 2:
            what, remedy = needed
            raise ValueError(f"{what} needs labelled samples of two classes or more; {remedy}.")

    def _default_n_components(self, domains: Domains) -> int:
        between = domains.n_groups - 1
        return between if self._two_classes() else max(2 * between, FEWEST_COMPONENTS)
