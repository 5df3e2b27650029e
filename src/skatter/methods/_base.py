"""One interface for all rivals: read a source and a target, name what is missing, fit, answer.

Sources are pooled unless a method says otherwise; there is one target. New samples are taken for
the target's unless ``sample_domain`` says that they come from a source.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from skatter._accuracy import ScoresLabelled
from skatter._checks import check_samples, seeded
from skatter._parameters import COUNT, Declared, declared, optional, parameter, random_state
from skatter._tensors import Array, host_dtype
from skatter.domains import Codes, Domains, Mask, read_domains, require_labels, which_domain
from skatter.methods._record import Need


@dataclass(frozen=True, eq=False)
class Transfer:
    """What a rival learns from: samples, their labels, and who is source and who is target.

    Both masks are all samples where no domain was named and nothing is unlabelled: there is no
    shift to be seen then. ``rows`` says which of the samples given to ``fit`` these are.
    """

    X: Any
    domains: Domains
    source: Mask
    target: Mask
    rows: Codes

    @cached_property
    def X_source(self) -> Any:
        return self.X[self.source]

    @cached_property
    def X_target(self) -> Any:
        return self.X[self.target]

    @cached_property
    def mean_difference(self) -> Array:
        """Vector e with 1/n_s on source rows and -1/n_t on target rows: Zᵀe = mean_s − mean_t."""
        of_source, of_target = (part / part.sum() for part in (self.source, self.target))
        return np.asarray(of_source - of_target, dtype=host_dtype(self.X))

    @property
    def label(self) -> Array:
        """Class codes of all samples, -1 where unlabelled; indices into ``classes``."""
        return self.domains.label

    @property
    def labelled(self) -> Mask:
        return self.domains.labelled

    @property
    def classes(self) -> Array:
        return self.domains.classes


class Rival(Declared, BaseEstimator):
    """Base of all rivals: validation before any heavy work, and the words for what is missing.

    A rival says what it ``needs``, declares its parameters and implements ``_fit``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes seen in ``fit``.
    domain_ids_, source_ids_ : ndarray
        Domains and sources seen in ``fit``.
    """

    __metadata_request__fit: ClassVar = {"sample_domain": True, "labelled": True}
    needs: ClassVar[tuple[Need, ...]] = ("one target",)
    _needs_two_classes: ClassVar[bool] = False
    _takes_sparse: ClassVar[bool] = False
    _takes_tensors: ClassVar[bool] = False

    def fit(self, X: Any, y: Any = None, *, sample_domain: Any = None, labelled: Any = None) -> Any:
        """Learn from the samples of all domains.

        Takes what :meth:`skatter.SCA.fit` takes; few methods know tensors, and none Dask
        collections. A domain without any label is the target; where integers carry signs, a
        negative id is. A method of domain generalization leaves out all but the labelled samples of
        sources.
        """
        self._fit(self._read(X, y, sample_domain, labelled))
        return self

    def _fit(self, transfer: Transfer) -> Any:
        """Learn; return what ``fit_transform`` returns, or nothing."""
        raise NotImplementedError

    @property
    def _precomputed(self) -> bool:
        kernel = getattr(self, "kernel", None)
        return isinstance(kernel, str) and kernel == "precomputed"

    def _refuse_precomputed(self, reason: str) -> None:
        if self._precomputed:
            raise ValueError(
                f"kernel must be a name or a callable, got 'precomputed': {reason}. Give a "
                "callable that looks the kernel up."
            )

    def _read(self, X: Any, y: Any, sample_domain: Any, labelled: Any) -> Transfer:
        self.check_parameters()
        X = self._checked(X, reset=True)
        unnamed = sample_domain is None
        if y is None and unnamed:
            sample_domain = np.zeros(X.shape[0], dtype=int)
        domains = read_domains(y, sample_domain, labelled=labelled, n_samples=X.shape[0])
        if "source labels" in self.needs:
            require_labels(self, domains)
        transfer = self._pair(X, domains, unnamed=unnamed)
        self._check_labels(transfer)
        ids = transfer.domains.domain_ids
        self.classes_, self.domain_ids_ = np.array(transfer.classes), np.array(ids)
        self.source_ids_ = np.array(ids[~transfer.domains.is_target])
        return transfer

    def _pair(self, X: Any, domains: Domains, *, unnamed: bool) -> Transfer:
        name = type(self).__name__
        rows = np.arange(domains.n_samples)
        if unnamed and domains.n_domains == 1:
            warnings.warn(
                f"{name} sees no target: sample_domain is None and no sample is unlabelled. All "
                "samples serve as source and as target, so that nothing is adapted.",
                stacklevel=4,
            )
            everyone = np.ones(domains.n_samples, dtype=bool)
            return Transfer(X, domains, everyone, everyone, rows)
        source, target = domains.source, domains.target
        if not target.any():
            raise ValueError(
                f"{name} needs a target domain, and every domain here is a source. Give unlabelled "
                "samples in a domain of their own, or name the target by a negative integer in "
                "sample_domain."
            )
        if not source.any():
            raise ValueError(
                f"{name} needs a source domain, and no domain here has a label, so that all count "
                "as targets. Give y for the source, or name sources by non-negative and the "
                "target by negative integers in sample_domain."
            )
        targets = domains.domain_ids[domains.is_target]
        if len(targets) > 1:
            listed = ", ".join(str(i) for i in targets[:5])
            raise ValueError(
                f"{name} takes one target domain, got {len(targets)} ({listed}). Fit one model for "
                "each, or give them one id in sample_domain to pool them."
            )
        return Transfer(X, domains, source, target, rows)

    def _check_labels(self, transfer: Transfer) -> None:
        name = type(self).__name__
        if "source labels" in self.needs and not transfer.labelled[transfer.source].any():
            raise ValueError(
                f"{name} needs labels in a source domain, and only the target has some. Name the "
                "target by a negative and the sources by non-negative integers in sample_domain."
            )
        if "target labels" in self.needs and not transfer.labelled[transfer.target].any():
            raise ValueError(
                f"{name} needs some labelled samples in the target domain. Label a few, and name "
                "the target by a negative integer in sample_domain, since a domain with labels "
                "otherwise counts as a source."
            )
        if self._needs_two_classes:
            self._require_two_classes(transfer.classes)

    def _require_two_classes(self, classes: Array, samples: str = "samples") -> None:
        if len(classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs {samples} of at least two classes, got 1 class "
                f"({classes[0]}). Give labelled {samples} of another one."
            )

    def _source_classes(self, transfer: Transfer) -> Codes:
        """Return the codes of the classes that the source has labels of, two at least."""
        codes = np.unique(transfer.label[transfer.source & transfer.labelled])
        self._require_two_classes(transfer.classes[codes], "source samples")
        return codes

    def _from_source(self, sample_domain: Any, n_samples: int) -> Mask:
        """Which new samples belong to a source of ``fit``; all others are the target's."""
        if sample_domain is None:
            return np.zeros(n_samples, dtype=bool)
        return which_domain(sample_domain, self.source_ids_, n_samples=n_samples) >= 0

    def _checked(self, X: Any, *, reset: bool = False) -> Any:
        """Check samples: new ones, unless this is the first step of a fit."""
        if not reset:
            check_is_fitted(self)
        takes = {"sparse": self._takes_sparse, "tensors": self._takes_tensors}
        return check_samples(self, X, reset=reset, precomputed=self._precomputed, **takes)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = "source labels" in self.needs
        tags.input_tags.sparse = self._takes_sparse and not self._precomputed
        tags.input_tags.pairwise = self._precomputed
        return tags


class RivalTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Rival):
    """Base of rivals that give features; a fitted one implements ``_transform``.

    ``_fit`` returns the features of the training samples, or nothing where ``_transform`` does.

    Attributes
    ----------
    n_components_ : int
        Number of features.
    """

    __metadata_request__transform: ClassVar = {"sample_domain": True}

    def fit_transform(
        self, X: Any, y: Any = None, *, sample_domain: Any = None, labelled: Any = None
    ) -> Array:
        """Learn, and return the features of ``X``, each sample treated by its domain.

        Takes what :meth:`fit` takes, and returns an array of shape (n_samples, n_components_).
        """
        transfer = self._read(X, y, sample_domain, labelled)
        features = self._fit(transfer)
        if features is not None:
            return features
        # A domain that is both is treated as new samples are: as the target.
        return self._transform(transfer.X, transfer.source & ~transfer.target)

    def transform(self, X: Any, *, sample_domain: Any = None) -> Array:
        """Return the features of samples, seen before or not, of shape (n_samples, n_components_).

        ``sample_domain`` holds their domains, for methods that treat source and target differently.
        None, and ids that ``fit`` has not seen: the target.
        """
        return self._features(self._checked(X), sample_domain)

    def _features(self, X: Any, sample_domain: Any) -> Array:
        """Return the features of validated samples, for those that know several sources."""
        return self._transform(X, self._from_source(sample_domain, X.shape[0]))

    def _transform(self, X: Any, from_source: Mask) -> Array:
        raise NotImplementedError

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class RivalClassifier(ScoresLabelled, Rival):
    """Base of rivals that predict; a fitted one implements ``_decide``.

    ``_decide`` returns one column per class, or one for two, as :func:`one_against_rest` does.
    """

    __metadata_request__predict: ClassVar = {"sample_domain": True}
    __metadata_request__decision_function: ClassVar = {"sample_domain": True}
    needs: ClassVar[tuple[Need, ...]] = ("source labels", "one target")
    _needs_two_classes = True

    def decision_function(self, X: Any, *, sample_domain: Any = None) -> Array:
        """Return how much speaks for each class: one column per class, or one value for two.

        A value is positive for the second of two classes. ``sample_domain`` holds the domains of
        the samples, for methods that treat source and target differently; None, and ids that
        ``fit`` has not seen, are the target.
        """
        values = self._values(self._checked(X), sample_domain)
        return values[:, 0] if values.shape[1] == 1 else values

    def predict(self, X: Any, *, sample_domain: Any = None) -> Array:
        """Return the class of each sample, by what :meth:`decision_function` says."""
        values = self.decision_function(X, sample_domain=sample_domain)
        codes = (values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)
        return self.classes_[codes]

    def _values(self, X: Any, sample_domain: Any) -> Array:
        """Return decision values of validated samples, for those that know several sources."""
        return self._decide(X, self._from_source(sample_domain, X.shape[0]))

    def _decide(self, X: Any, from_source: Mask) -> Array:
        raise NotImplementedError


class SourceClassifier(RivalClassifier):
    """Base of classifiers that know the classes of the source alone.

    Attributes
    ----------
    classes_ : ndarray
        Classes of the labelled source samples.
    """

    def _check_labels(self, transfer: Transfer) -> None:
        super()._check_labels(transfer)
        self._source_classes(transfer)

    def _source_labels(self, transfer: Transfer) -> Codes:
        """Set ``classes_``, and return labels as indices into it, -1 for none or another class."""
        codes = self._source_classes(transfer)
        self.classes_ = transfer.classes[codes]
        known = transfer.labelled & np.isin(transfer.label, codes)
        return np.where(known, np.searchsorted(codes, np.maximum(transfer.label, 0)), -1)


@declared
class WithComponents(Declared):
    """The parameter of methods that choose a number of features where none is given.

    Parameters
    ----------
    n_components : int or None
        Number of features; None lets the method choose.
    """

    n_components: int | None = parameter(optional(COUNT), default=None, kw_only=False)

    def _check_dimension(self, available: int, reason: str) -> None:
        if self.n_components is not None and self.n_components > available:
            raise ValueError(
                f"n_components={self.n_components} exceeds what the samples allow: at most "
                f"{available} here ({reason}). Choose fewer, or None."
            )

    def _warn_of_rank(self, found: int, *, stacklevel: int) -> None:
        if self.n_components is not None and found < self.n_components:
            warnings.warn(
                f"n_components={self.n_components} exceeds the rank of the problem; {found} "
                "components are returned.",
                stacklevel=stacklevel,
            )


@declared
class Seeded(Declared):
    """The parameter of methods that draw at random.

    Parameters
    ----------
    random_state : int, RandomState instance or None
        Seeds what is drawn. None is a fixed seed.
    """

    random_state: Any = parameter(random_state, default=None)

    def _rng(self) -> np.random.RandomState:
        return seeded(self.random_state)


@contextmanager
def semidefinite_on(samples: str) -> Iterator[None]:
    """Say which samples the kernel is not positive semi-definite on where a factorisation fails."""
    try:
        yield
    except np.linalg.LinAlgError as error:
        raise ValueError(
            f"The kernel is not positive semi-definite on the {samples}. Choose another one (rbf, "
            "linear, polynomial with coef0 >= 0)."
        ) from error


def one_against_rest(label: Array, n_classes: int) -> Array:
    """Return columns of +1 and -1, one for each class against the rest; one for two classes."""
    signs = np.where(label[:, None] == (np.arange(n_classes) if n_classes > 2 else 1), 1.0, -1.0)
    signs[label < 0] = 0
    return signs


def in_columns(scores: Array) -> Array:
    """Return scores of classes as decision values: one column for two classes."""
    return scores[:, 1:] - scores[:, :1] if scores.shape[1] == 2 else scores
