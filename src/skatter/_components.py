"""What the estimators of the family share: read, choose a space, keep what is solved there."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils import gen_batches
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from skatter import _tensors as tensors
from skatter._checks import check_choice, check_samples, n_rows
from skatter._formatting import count, number, percent
from skatter._notebook import Section, ShowsLearnt, listed_with_counts
from skatter._objective import SCA_FACTORS, Factors, Objective
from skatter._out_of_core import Place, backend_of
from skatter._parameters import BOOLEAN, COUNT, POSITIVE, choice, declared, optional, parameter
from skatter._principal import PrincipalMap
from skatter._spaces import SCALES, SOLVERS, MakeSpace, MomentSpace, Problem, Space
from skatter._spaces import product as dense_product
from skatter._tensors import Array
from skatter.domains import Domains, read_domains, read_part, require_labels
from skatter.kernels import KERNEL_PARAMETERS, Kernel, WithKernel, kernel_of
from skatter.maps import MappedLinear, explicit_features, fitted_map
from skatter.moments import Moments, collect_moments, fingerprint, merge_moments
from skatter.scatter import Scatters

UNSUPERVISED_COMPONENTS = 20  # components of a method that knows no classes
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
POOR_RESIDUAL = 1e-3  # above this residual a component in single precision is not what it should be
BATCH = 1024
"""New samples mapped at a time: bounds the memory of ``transform``, and stays near the cache."""


def _moments_suffice(estimator: ScatterComponents) -> bool:
    """Whether an estimator learns from moments; the reason why not otherwise."""
    reason = estimator.why_not_moments()
    if reason is not None:
        raise AttributeError(reason)
    return True


@declared
class ScatterComponents(WithKernel, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ShowsLearnt):
    """Base of the family; a preset says which objective it solves.

    It implements ``objective`` and, where it has them, checks of its own parameters and labels.

    Parameters
    ----------
    feature_map : transformer or None
        An explicit map, such as :class:`sklearn.kernel_approximation.Nystroem`, that replaces the
        kernel; work and memory are then linear in the number of samples.
    solver : {"auto", "lanczos", "dense", "primal", "iterative"}
        ``"primal"`` works on explicit features (linear kernel or ``feature_map``), the others on
        the Gram matrix; ``"iterative"`` recomputes it in tiles and never stores it, for samples
        whose Gram matrix does not fit into memory. All give the same components.
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
    class_counts_, domain_counts_ : ndarray of int
        Labelled samples of each class, and samples of each domain.
    """

    __metadata_request__fit: ClassVar = {"sample_domain": True, "labelled": True}
    __metadata_request__transform: ClassVar = {"sample_domain": True}

    n_components: int | None = parameter(optional(COUNT), default=None, kw_only=False)
    feature_map: Any = None
    solver: str = parameter(
        lambda name, value: check_choice(name, value, tuple(SOLVERS)), default="auto"
    )
    tol: float = parameter(POSITIVE, default=1e-6)

    # A preset that does not offer one of these as a parameter has this value.
    normalize = True
    scale = "denominator"

    _own_equation = ""  # what asks for a space of its own, as users write it

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
        """
        if backend_of(X):
            raise TypeError("X is a Dask collection, which is in chunks already: give it to fit.")
        begun, size = "moments_" in vars(self), n_rows(X)
        number, done = (self.n_chunks_seen_, self.moments_.n_samples) if begun else (0, 0)
        with Place("Chunk", number, done, size).named(X):
            known = self.stream_classes_ if number else classes
            domains = read_part(y, sample_domain, labelled=labelled, classes=known, n_samples=size)
            if not number:
                self.begin_stream(X, classes)
            part = self.moments_of(X, domains)
            merged = merge_moments([self.moments_, part]) if number else part
        self._keep_moments(merged, number + 1)
        return self

    @available_if(_moments_suffice)
    def merge(self, *others: Any) -> Any:
        """Join what others learnt from streams of their own, as if this one had seen all chunks.

        The others are of the same type and have the same feature map, after :meth:`partial_fit`.
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

        Moments are those of all samples, of the features that ``feature_map`` makes, which must
        come fitted, as a :class:`sklearn.frozen.FrozenEstimator`.
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
        name = type(self).__name__
        if not self._is_explicit:
            return (
                f"{name} learns from a stream through explicit features, for the Gram matrix has "
                "as many rows as there are samples: give it feature_map=..., such as "
                "skatter.maps.LandmarkMap(1000), or kernel='linear'."
            )
        if self._needs_gram:
            return (
                f"{name} needs the Gram matrix (reading='printed', nugget > 0), which samples in "
                "parts have none of: use reading='full' and nugget=0."
            )
        if self.solver not in ("auto", "primal"):
            return (
                f"solver={self.solver!r} needs the Gram matrix, which samples in parts have none "
                "of: use solver='auto'."
            )
        return None

    def check_domains(self, domains: Domains) -> None:
        """Raise where there is nothing to learn from these labels and domains."""

    def begin_stream(self, X: Any, classes: Any = None) -> None:
        """Forget everything, and fit the feature map on some samples.

        They are as many as the map needs; one will do where there is no map to fit. ``classes`` are
        all that parts may hold, where they are known.
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
        tensors.require_same_place(X, self._beside, "X")
        features = partial(explicit_features, self.feature_map_)
        return collect_moments(X, domains, features, feature_map=self._fingerprint)

    def learn_moments(self, moments: Moments, n_chunks: int = 1) -> Any:
        """Learn from the joined moments of all parts of a stream, and solve for the components.

        More parts may follow by :meth:`partial_fit`; so far there were ``n_chunks``.
        """
        self._keep_moments(moments, n_chunks)
        self._solve_moments(moments)
        return self

    def transform(self, X: Any, *, sample_domain: Any = None) -> Array:
        """Project samples, seen before or not, of any domain: ``sample_domain`` is ignored.

        Parameters
        ----------
        X : array-like, sparse matrix, Tensor or Dask collection of shape (n_samples, n_features)
            Samples; their kernel with the training samples when ``kernel="precomputed"``.
            Projections are of the same kind; lazy where it is a Dask collection.
        """
        if backend := backend_of(X):
            return backend.apply(self, "transform", X)
        check_is_fitted(self)
        X = check_samples(self, X, reset=False, precomputed=self._precomputed, tensors=True)
        tensors.require_same_place(X, self.offset_, "X")
        batches = [self._project(X[rows]) for rows in gen_batches(X.shape[0], BATCH)]
        return batches[0] if len(batches) == 1 else tensors.vstack(batches)

    def to(self, place: str) -> Any:
        """Return a copy that works elsewhere: fit on a graphics card, predict without one.

        Parameters
        ----------
        place : str
            ``"numpy"``, or a device of torch such as ``"cpu"`` or ``"cuda:0"``.
        """
        check_is_fitted(self)
        return tensors.moved(
            self, ("X_fit_", "dual_coef_", "components_", "offset_", "_beside"), place
        )

    def before_map(self, feature_map: Any) -> Any:
        """Return a copy that takes samples, for components that were learnt from their features.

        Of a :class:`~skatter._principal.PrincipalMap` it keeps the samples alone, each with a
        coefficient for every component instead of hundreds for the map.

        Parameters
        ----------
        feature_map : transformer
            Fitted; it made the features that ``fit`` was given, explicit ones of the linear kernel.
        """
        found = clone(self).set_params(solver="auto")
        for name in SOLVED:
            setattr(found, name, getattr(self, name))
        found.n_features_in_ = feature_map.n_features_in_
        if not isinstance(feature_map, PrincipalMap):
            found.set_params(feature_map=feature_map)
            found.kernel_, found.feature_map_ = Kernel(MappedLinear(feature_map)), feature_map
            return found
        found.set_params(**{name: getattr(feature_map, name) for name in KERNEL_PARAMETERS})
        found.kernel_, found.X_fit_ = feature_map.kernel_, feature_map.X_fit_
        found.feature_map_ = None
        found.dual_coef_ = tensors.multiply(feature_map.dual_coef_, self.components_.T)
        found.offset_ = tensors.multiply(feature_map.offset_, self.components_.T) + self.offset_
        del found.components_
        return found

    def _project(self, X: Any) -> Any:
        if hasattr(self, "dual_coef_"):
            return tensors.multiply(self.kernel_(X, self.X_fit_), self.dual_coef_) - self.offset_
        features = explicit_features(self.feature_map_, X)
        return dense_product(features, self.components_.T) - self.offset_

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
        return self.feature_map is not None or (
            isinstance(self.kernel, str) and self.kernel == "linear"
        )

    @property
    def _needs_gram(self) -> bool:
        """Whether the equation is one in the coefficients of samples, and in nothing else."""
        return self._own_space() is not None

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

    def objective(self, domains: Domains, total: float) -> Objective:
        """Return the weights of the scatters, given the total scatter in feature space."""
        raise NotImplementedError

    def _own_space(self) -> MakeSpace | None:
        """Return what makes the space of an equation that not every solver takes; None if all."""
        return None

    def _factors(self) -> Factors:
        return SCA_FACTORS

    def _default_n_components(self, domains: Domains) -> int:
        return UNSUPERVISED_COMPONENTS

    # --- one fit path ---------------------------------------------------------------------------

    def _check_together(self) -> None:
        super()._check_together()
        if self.solver == "primal" and not self._is_explicit:
            raise ValueError("solver='primal' needs kernel='linear' or a feature_map.")
        if self._needs_gram and (self.feature_map is not None or self.solver != "auto"):
            raise ValueError(f"{self._own_equation} needs solver='auto' and no feature_map.")

    def _fit(self, X: Any, y: Any, sample_domain: Any, labelled: Any) -> Any:
        """Fit, and return projections of the samples where they come with the solution."""
        X, domains = self.read(X, y, sample_domain, labelled)
        self._forget()
        space = self.space(X, domains)
        self.kernel_, self.feature_map_ = space.problem.kernel, space.problem.feature_map
        if space.on_features:
            self._beside = X[:0]
        else:
            self.X_fit_ = None if self.kernel_.precomputed else tensors.copied_rows(X)
        return self._learn(space)

    def read(self, X: Any, y: Any, sample_domain: Any, labelled: Any) -> tuple[Any, Domains]:
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
        for name in (*SOLVED, *STREAMED, "dual_coef_", "X_fit_"):
            self.__dict__.pop(name, None)

    def space(self, X: Any, domains: Domains) -> Space:
        """Return samples that were read as the feature space of this estimator shows them."""
        return (self._own_space() or SOLVERS[self.solver])(self._problem(X), domains)

    def _problem(self, X: Any) -> Problem:
        feature_map = fitted_map(self.feature_map, X)
        kernel = kernel_of(self, X) if feature_map is None else Kernel(MappedLinear(feature_map))
        if kernel.linear and not sparse.issparse(X):
            # Centred, the linear kernel is blind to a shift, but not to the digits it costs.
            kernel = replace(kernel, origin=X.mean(axis=0))
        return Problem(
            X, kernel, feature_map, self._is_explicit, self._factors(), self.tol, self.random_state
        )

    def n_wanted(self, domains: Domains) -> int:
        """Return how many components to look for."""
        default = min(self._default_n_components(domains), domains.n_samples - 1)
        return self.n_components or max(default, 1)

    # --- explicit features ----------------------------------------------------------------------

    def _keep_moments(self, moments: Moments, n_chunks: int) -> None:
        for name in SOLVED:
            self.__dict__.pop(name, None)
        self.moments_, self.n_chunks_seen_ = moments, n_chunks

    def _solve_moments(self, moments: Moments) -> None:
        self.check_domains(moments.cells)
        problem = Problem(self._beside, Kernel("linear"), self.feature_map_, True, self._factors())
        self._learn(MomentSpace(problem, moments.cells, moments=moments))

    # --- what all spaces share ------------------------------------------------------------------

    def _learn(self, space: Space) -> Any:
        """Solve, keep the components, and return projections of the samples where they come along.

        Components are scaled, and signed so that the largest entry of each is positive.
        """
        objective = self.objective(space.domains, space.scatters.total)
        (solved,) = space.solve([objective], self.n_wanted(space.domains))
        B, Z = solved.coefficients, None if space.on_features else solved.projections
        if solved.nothing:
            # A component of zeros: downstream steps need a column.
            values = residuals = np.zeros(1, space.dtype)
            B, after = tensors.like(np.zeros((B.shape[0], 1)), B), Scatters(*[0.0] * 5)
            Z = None if Z is None else tensors.like(np.zeros((Z.shape[0], 1)), Z)
        else:
            values, residuals = solved.eigenvalues, solved.residuals
            factor = solved.scale(self.scale) * solved.signs()
            B, after = B * tensors.like(factor, B), solved.scatters(factor)
            Z = None if Z is None else Z * tensors.like(factor, Z)
        self._warn_of_rank(values)
        self._warn_of_precision(residuals, space.dtype)
        if space.on_features:
            self.components_ = tensors.like(B.T, self._beside)
            self.offset_ = tensors.like(space.mean @ B, self._beside)
        else:
            self.dual_coef_, self.offset_ = B, tensors.multiply(space.mean, B)
        self.eigenvalues_, self.residuals_, self.n_components_ = values, residuals, len(values)
        domains = space.domains
        self.classes_ = np.array(domains.classes)
        self.class_counts_ = np.array(domains.class_counts)
        self.domain_ids_ = np.array(domains.domain_ids)
        self.domain_counts_ = np.array(domains.domain_counts)
        self.scatter_ = {"before": space.scatters, "after": after}
        return Z

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

    def learnt(self) -> list[Section]:
        """Return what a notebook shows; a stream is not solved for this, and says so."""
        own, title = vars(self), type(self).__name__
        if "eigenvalues_" in own:
            return [Section(title, self._learnt_facts(dict(own)), *_scatter_lines(own["scatter_"]))]
        if "moments_" not in own:
            return []
        cells = own["moments_"].cells
        stream = f"{count(own['n_chunks_seen_'], 'chunk')}, {count(cells.n_samples, 'sample')}"
        facts = (
            ("components", "solved for when they are asked for"),
            ("stream", stream),
            ("domains", listed_with_counts(cells.domain_ids, cells.domain_counts)),
            ("classes", listed_with_counts(cells.classes, cells.class_counts)),
        )
        return [Section(title, facts)]

    def _learnt_facts(self, own: dict[str, Any]) -> tuple[tuple[str, str], ...]:
        values, solver = own["eigenvalues_"], f"solver {self.solver}"
        spectrum = f"eigenvalues {number(values[0])} to {number(values[-1])}"
        if "dual_coef_" in own:
            route = f"Gram matrix of {count(own['dual_coef_'].shape[0], 'sample')}, {solver}"
        else:
            n_features = own["components_"].shape[1]
            route = f"moments of {count(n_features, 'explicit feature')}, {solver}"
        labels = ("classes", listed_with_counts(own["classes_"], own.get("class_counts_")))
        if own.get("label_splines") is not None:
            labels = ("labels", f"numbers, {own['label_splines']} splines")
        return (
            ("components", f"{len(values)}, {spectrum}, solved to {np.max(own['residuals_']):.0e}"),
            ("route", route),
            ("domains", listed_with_counts(own["domain_ids_"], own.get("domain_counts_"))),
            labels,
        )


def project_alike(models: Sequence[ScatterComponents], X: Any) -> list[Array]:
    """Project samples by models that differ in their components alone, to the host.

    What they share, kernel values or explicit features, is computed once.
    """
    joined = copy(models[0])
    if hasattr(joined, "dual_coef_"):
        joined.dual_coef_ = tensors.hstack([each.dual_coef_ for each in models])
    else:
        joined.components_ = tensors.vstack([each.components_ for each in models])
    joined.offset_ = tensors.hstack([each.offset_[None] for each in models])[0]
    ends = np.cumsum([each.n_components_ for each in models])
    return np.split(tensors.host(joined.transform(X)), ends[:-1], axis=1)


@declared
class RidgedComponents(ScatterComponents):
    """Base of presets whose ridge has a default, in units that the user chooses.

    Parameters
    ----------
    ridge : float > 0 or None
        Weight of ‖W‖². With ``normalize=True`` in units of the total scatter; None is 1e-3. With
        ``normalize=False`` as it is; None is 1.
    normalize : bool
        Units of ``ridge``; all scatters are means in any case.
    scale : {"eigenvalue", "denominator", "numerator", "coefficients"}
        Length of the components. ``"denominator"``: the denominator of each is one, Z = K B with
        BᵀCB = I. ``"eigenvalue"``: times Λ^½, so that leading components weigh more.
        ``"numerator"``: times Λ^-½, the printed rule: the numerator of each is one.
        ``"coefficients"``: unit-norm b times Λ^-½, as in public code.
    """

    ridge: float | None = parameter(optional(POSITIVE), default=None)
    normalize: bool = parameter(BOOLEAN, default=True)
    scale: str = parameter(choice(*SCALES), default="eigenvalue")


class LabelledComponents(ScatterComponents):
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
        require_labels(self, domains, "; without any label, use USCA")
        needed = self._two_classes()
        if needed is not None and domains.n_groups < 2:
            what, remedy = needed
            raise ValueError(f"{what} needs labelled samples of two classes or more; {remedy}.")

    def _default_n_components(self, domains: Domains) -> int:
        between = domains.n_groups - 1
        return between if self._two_classes() else max(2 * between, FEWEST_COMPONENTS)


def _scatter_lines(
    scatter: dict[str, Scatters],
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return the scatters before and after, those that there are, and their shares of the total."""
    lines = []
    for name in ("total", "domain", "conditional_domain", "between_class", "within_class"):
        pair = [(getattr(scatters, name), scatters.share(name)) for scatters in scatter.values()]
        if any(value > 0 for value, _ in pair):
            shares = [(number(value), percent(share)) for value, share in pair]
            words = name.replace("_class", "-class").replace("_", " ")
            lines.append((words, *shares[0], *shares[1]))
    return ("scatter", "before", "of total", "after", "of total"), tuple(lines)
