"""Pipelines that know domains.

Steps see what they should: a step that takes ``sample_domain`` gets all samples with their
domains; a step that needs labels is fitted on the labelled samples alone, so that "unlabelled" is
never learnt as a class; every other step is fitted on all samples without labels.

Before a regressor labels are numbers: NaN marks unlabelled samples, and -1 does not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from inspect import signature
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from skatter._accuracy import SCORE_REQUEST, Tally, explained, share, tally
from skatter._checks import n_rows, take_rows
from skatter._formatting import duration
from skatter._notebook import Section, ShowsLearnt
from skatter._out_of_core import backend_of
from skatter._tensors import Array
from skatter.domains import Domains, read_domains
from skatter.labels import marks, read_numbers

__all__ = ["DomainPipeline", "make_domain_pipeline"]

_ROUTED = {"sample_domain": True}


def _final_has(name: str) -> Callable[[DomainPipeline], bool]:
    return lambda pipeline: hasattr(pipeline.steps[-1][1], name)


def _final_transforms(pipeline: DomainPipeline) -> bool:
    last = pipeline.steps[-1][1]
    return passes_through(last) or hasattr(last, "transform")


def passes_through(step: Any) -> bool:
    """Whether a step does nothing."""
    return step is None or (isinstance(step, str) and step == "passthrough")


class DomainPipeline(ShowsLearnt, Pipeline):
    """Transformers, then a transformer, classifier or regressor; domains routed without ceremony.

    Build it with :func:`make_domain_pipeline`. It is a scikit-learn pipeline: ``named_steps``,
    indexing, nested parameters, :func:`~sklearn.base.clone`, grid searches and cross-validation
    work as they do there. Samples may be a Dask array or DataFrame: ``fit`` and ``score`` work on
    its blocks, and all other methods return a Dask collection, which is computed when it is asked
    for.

    Parameters
    ----------
    steps : list of (str, estimator)
        Names and steps, or ``"passthrough"``.
    verbose : bool
        Print the seconds that each step took.

    Attributes
    ----------
    classes_ : ndarray
        Classes that the last step predicts.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from skatter import SCA, DomainPipeline
    >>> pipeline = DomainPipeline([("sca", SCA()), ("nearest", KNeighborsClassifier(1))])
    >>> pipeline.set_params(sca__beta=0.5)["sca"].beta
    0.5
    """

    __metadata_request__fit: ClassVar = {"sample_domain": True, "labelled": True}
    __metadata_request__transform: ClassVar = _ROUTED
    __metadata_request__predict: ClassVar = _ROUTED
    __metadata_request__predict_proba: ClassVar = {**_ROUTED, "allow_source": True}
    __metadata_request__predict_log_proba: ClassVar = _ROUTED
    __metadata_request__decision_function: ClassVar = _ROUTED
    __metadata_request__score: ClassVar = SCORE_REQUEST

    def __init__(self, steps: list[tuple[str, Any]], *, verbose: bool = False) -> None:
        super().__init__(steps, verbose=verbose)

    def __getitem__(self, index: Any) -> Any:
        """Return a step by position or name, or a shorter pipeline for a slice."""
        if not isinstance(index, slice):
            return super().__getitem__(index)
        return type(self)(self.steps[index], verbose=self.verbose)

    def get_metadata_routing(self) -> Any:
        """Return what this pipeline consumes: it hands ``sample_domain`` to its steps itself."""
        return super(Pipeline, self).get_metadata_routing()

    def fit(
        self, X: Any, y: Any = None, *, sample_domain: Any = None, labelled: Any = None
    ) -> DomainPipeline:
        """Fit every step on what it should see.

        Parameters
        ----------
        X : array-like, Dask array or Dask DataFrame of shape (n_samples, n_features)
            All samples, labelled or not. From a Dask collection steps learn block by block, on the
            workers; one that cannot is named before any work.
        y : array-like of shape (n_samples,) or None
            Classes; -1, NaN or None where unknown. Numbers where the last step is a regressor;
            NaN or None where unknown.
        sample_domain : array-like of shape (n_samples,) or None
            Domain of each sample.
        labelled : array-like of bool of shape (n_samples,) or None
            Which labels to use; wins over the marks in ``y``.
        """
        if backend := backend_of(X):
            return backend.fit(self, X, y, sample_domain=sample_domain, labelled=labelled)
        Xt, seen = self._fit_transformers(X, y, sample_domain, labelled)
        last = self.steps[-1][1]
        if not passes_through(last):
            timed(self, len(self.steps) - 1, seen.fit, last, Xt)
        return self

    @available_if(_final_transforms)
    def fit_transform(
        self, X: Any, y: Any = None, *, sample_domain: Any = None, labelled: Any = None
    ) -> Any:
        """Fit every step and return what the last one makes of ``X``; takes what ``fit`` takes."""
        if backend_of(X):
            self.fit(X, y, sample_domain=sample_domain, labelled=labelled)
            return self.transform(X, sample_domain=sample_domain)
        Xt, seen = self._fit_transformers(X, y, sample_domain, labelled)
        last = self.steps[-1][1]
        if passes_through(last):
            return Xt
        return timed(self, len(self.steps) - 1, seen.fit_transform, last, Xt)

    @available_if(_final_transforms)
    def transform(self, X: Any, *, sample_domain: Any = None) -> Any:
        """Send samples through all steps."""
        if backend := backend_of(X):
            return backend.apply(self, "transform", X, sample_domain=sample_domain)
        return self._forward(X, sample_domain, self.steps)

    @available_if(_final_has("predict"))
    def predict(self, X: Any, *, sample_domain: Any = None) -> Array:
        """Predict the class, or the number, of samples, new or not, of any domain."""
        return self._call("predict", X, sample_domain)

    @available_if(_final_has("predict_proba"))
    def predict_proba(
        self, X: Any, *, sample_domain: Any = None, allow_source: bool = True
    ) -> Array:
        """Probability of each class in ``classes_``.

        Samples may come from any domain: ``allow_source``, which scorers of scikit-adaptation
        pass, is ignored.
        """
        return self._call("predict_proba", X, sample_domain)

    @available_if(_final_has("predict_log_proba"))
    def predict_log_proba(self, X: Any, *, sample_domain: Any = None) -> Array:
        """Logarithm of the probability of each class in ``classes_``."""
        return self._call("predict_log_proba", X, sample_domain)

    @available_if(_final_has("decision_function"))
    def decision_function(self, X: Any, *, sample_domain: Any = None) -> Array:
        """Decision values of the last step."""
        return self._call("decision_function", X, sample_domain)

    @available_if(_final_has("predict"))
    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        sample_domain: Any = None,
        allow_source: bool = True,
    ) -> float:
        """Accuracy over the samples whose label is known; unlabelled ones are left out.

        Of a regressor it is R², the share of the labels' variance that is explained.
        ``allow_source`` is ignored, as in ``predict_proba``.
        """
        if labels_are_numbers(self):
            # Of a Dask collection, one label and one prediction a sample are gathered.
            predicted = np.asarray(self.predict(X, sample_domain=sample_domain)).reshape(-1)
            return explained(predicted, np.asarray(y) if backend_of(y) else y, sample_weight)
        check_is_fitted(self)
        given = {"y": y, "sample_domain": sample_domain, "sample_weight": sample_weight}
        if backend := backend_of(X):
            return share(backend.total(_tally, self, X, **given))
        return share(_tally(self, X, **given))

    def learnt(self) -> list[Section]:
        """Return what a notebook shows: what the steps learnt that have something to say."""
        return [
            replace(section, title=f"Step {name}: {section.title}")
            for name, step in self.steps
            if isinstance(step, ShowsLearnt)
            for section in step.learnt()
        ]

    def check_steps(self) -> None:
        """Raise where the steps do not make a pipeline."""
        if not self.steps:
            raise ValueError("The pipeline is empty; give it at least one step.")
        self._validate_steps()

    def _fit_transformers(
        self, X: Any, y: Any, sample_domain: Any, labelled: Any
    ) -> tuple[Any, _Seen]:
        self.check_steps()
        seen = _Seen.of(X, y, sample_domain, labelled, numbers=labels_are_numbers(self))
        for index, (_, step) in enumerate(self.steps[:-1]):
            if not passes_through(step):
                X = timed(self, index, seen.fit_transform, step, X)
        return X, seen

    def _forward(self, X: Any, sample_domain: Any, steps: list[tuple[str, Any]]) -> Any:
        check_is_fitted(self)
        for _, step in steps:
            if not passes_through(step):
                X = call_step(step.transform, X, sample_domain)
        return X

    def _call(self, method: str, X: Any, sample_domain: Any) -> Any:
        if backend := backend_of(X):
            return backend.apply(self, method, X, sample_domain=sample_domain)
        Xt = self._forward(X, sample_domain, self.steps[:-1])
        return call_step(getattr(self.steps[-1][1], method), Xt, sample_domain)


def _tally(
    pipeline: DomainPipeline, X: Any, y: Any, sample_domain: Any = None, sample_weight: Any = None
) -> Tally:
    """Return how much of some samples is predicted right."""
    predicted = pipeline.predict(X, sample_domain=sample_domain)
    return tally(predicted, y, pipeline.classes_, sample_weight)


def timed(model: Any, number: int, call: Callable[..., Any], *arguments: Any) -> Any:
    """Make a call for a step, and print the seconds it took where a pipeline is verbose."""
    start = perf_counter()
    result = call(*arguments)
    if getattr(model, "verbose", False):
        name, seconds = model.steps[number][0], perf_counter() - start
        print(
            f"[DomainPipeline] step {number + 1} of {len(model.steps)}: {name}, {duration(seconds)}"
        )
    return result


def call_step(call: Callable[..., Any], X: Any, sample_domain: Any) -> Any:
    """Pass ``sample_domain`` to a method that takes it."""
    takes = sample_domain is not None and "sample_domain" in signature(call).parameters
    return call(X, sample_domain=sample_domain) if takes else call(X)


def learns_from_labels(step: Any) -> bool:
    """Whether a step, or an estimator inside it, is fitted to y.

    Tags say so for most estimators; univariate selection says it by its score function. A frozen
    one learns nothing any more.
    """
    if isinstance(step, FrozenEstimator):
        return False
    tags = get_tags(step)
    if tags.target_tags.required or tags.estimator_type in ("classifier", "regressor"):
        return True
    score = getattr(step, "score_func", None)
    if callable(score):
        y = signature(score).parameters.get("y")
        return y is not None and y.default is y.empty
    return any(learns_from_labels(part) for part in _parts(step))


def _parts(step: Any) -> list[Any]:
    values = step.get_params(deep=True).values() if hasattr(step, "get_params") else []
    return [value for value in values if hasattr(value, "fit") and not isinstance(value, type)]


def _takes_domains(step: Any) -> bool:
    """Whether a step wants domains in fit; refuse one that hides another which does."""
    if isinstance(step, FrozenEstimator):
        return False
    if has_fit_parameter(step, "sample_domain"):
        return True
    for part in _parts(step):
        if has_fit_parameter(part, "sample_domain"):
            raise TypeError(
                f"{type(step).__name__} cannot pass sample_domain on to the "
                f"{type(part).__name__} inside it; chain its steps with make_domain_pipeline."
            )
    return False


def labels_are_numbers(pipeline: DomainPipeline) -> bool:
    """Whether labels are numbers: for a regressor, or to be cut with no classifier behind."""
    last = pipeline.steps[-1][1]
    if passes_through(last) or not (is_regressor(last) or is_classifier(last)):
        return any(_takes_numbers(step) for _, step in pipeline.steps)
    return is_regressor(last)


def _takes_numbers(step: Any) -> bool:
    """Whether a step, or an estimator inside it, has a kernel of labels that are numbers."""
    given = step.get_params(deep=True) if hasattr(step, "get_params") else {}
    return any(
        name.split("__")[-1] == "label_splines" and value is not None
        for name, value in given.items()
    )


def sees_labelled_only(step: Any) -> bool:
    """Whether a step is fitted on the labelled samples alone."""
    return not _takes_domains(step) and learns_from_labels(step)


@dataclass(frozen=True)
class _Seen:
    """Labels and domains of one fit, and which of them a step is shown.

    Where labels are ``numbers``, the domains know who is labelled, and no classes.
    """

    y: Any
    sample_domain: Any
    domains: Domains | None
    numbers: Array | None = None

    @classmethod
    def of(cls, X: Any, y: Any, sample_domain: Any, labelled: Any, *, numbers: bool) -> _Seen:
        if y is None and sample_domain is None and labelled is None:
            return cls(None, None, None)
        n_samples = n_rows(X)
        if y is None or not numbers:
            domains = read_domains(y, sample_domain, labelled=labelled, n_samples=n_samples)
            return cls(y, sample_domain, domains)
        values = read_numbers(y, labelled=labelled, n_samples=n_samples)
        return cls(y, sample_domain, read_domains(marks(values), sample_domain), values)

    def fit(self, step: Any, X: Any) -> Any:
        """Fit a step on what it should see; a frozen one stays as it is."""
        if isinstance(step, FrozenEstimator):
            return step
        samples_and_labels, domains = self._shown(step, X)
        return step.fit(*samples_and_labels, **domains)

    def fit_transform(self, step: Any, X: Any) -> Any:
        """Fit a step on what it should see, and transform all samples."""
        if not hasattr(step, "fit_transform") or sees_labelled_only(step):
            return call_step(self.fit(step, X).transform, X, self.sample_domain)
        samples_and_labels, domains = self._shown(step, X)
        return step.fit_transform(*samples_and_labels, **domains)

    def _shown(self, step: Any, X: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return samples and labels for a step, and domains where it takes them."""
        if _takes_domains(step):
            domains = {"sample_domain": self.sample_domain}
            if self.domains is not None and has_fit_parameter(step, "labelled"):
                domains["labelled"] = self.domains.labelled
            if self.numbers is None or learns_from_labels(step):
                return (X, self.y), domains
            # Numbers are no classes: a step that does not learn from them is told who has one.
            return (X, marks(self.numbers)), domains
        if not learns_from_labels(step):
            return (X,), {}
        if self.domains is None or not self.domains.n_labelled:
            raise ValueError(
                "requires y to be passed, but the target y is None or has no labelled sample: a "
                "step of the pipeline learns from labels."
            )
        rows = np.flatnonzero(self.domains.labelled)
        names = self.domains.names() if self.numbers is None else self.numbers[rows]
        return (take_rows(X, rows), names), {}


def fit_on_domains(model: Any, X: Any, y: Any, domains: Domains) -> Any:
    """Fit a clone of a model; one that knows nothing of domains sees the labelled samples."""
    model = clone(model)
    if not has_fit_parameter(model, "sample_domain"):
        model = make_domain_pipeline(model)
    given = {"sample_domain": domains.domain_ids[domains.domain]}
    if has_fit_parameter(model, "labelled"):
        given["labelled"] = domains.labelled
    return model.fit(X, y, **given)


def make_domain_pipeline(*steps: Any, verbose: bool = False) -> DomainPipeline:
    """Chain steps into a :class:`DomainPipeline`; names are the lower-cased class names.

    Parameters
    ----------
    *steps : estimators
        Transformers, then a transformer, classifier or regressor.
    verbose : bool
        Print the seconds that each step took.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skatter import SCA, make_domain_pipeline
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["cat", "dog", "cat", "dog"], 20)
    >>> site = np.repeat(["here", "there"], 40)
    >>> X = rng.normal(size=(80, 5)) + 3 * (y == "dog")[:, None] + (site == "there")[:, None]
    >>> known = np.where(site == "here", y, None)
    >>> model = make_domain_pipeline(StandardScaler(), SCA(), KNeighborsClassifier(1))
    >>> model.fit(X, known, sample_domain=site).predict(X[-2:])
    array(['dog', 'dog'], dtype='<U3')
    """
    return DomainPipeline(make_pipeline(*steps).steps, verbose=verbose)
