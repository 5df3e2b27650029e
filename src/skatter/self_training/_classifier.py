"""SCA and a classifier that trains itself on the target: :class:`SCAClassifier`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import product
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.neighbors import KNeighborsRegressor
from sklearn.utils.validation import check_is_fitted

from skatter._accuracy import ScoresLabelled
from skatter._checks import TakesSparse, check_choice, check_samples, warn_of_units
from skatter._components import project_alike
from skatter._formatting import percent
from skatter._notebook import Section, ShowsLearnt, listed_with_counts
from skatter._parameters import (
    BOOLEAN,
    COUNT,
    POSITIVE,
    Declared,
    Rule,
    choice,
    declared,
    integer,
    parameter,
    real,
)
from skatter._principal import PrincipalMap
from skatter._tensors import Array, Tall, host, is_tensor
from skatter.domains import Domains, read_domains, require_labels
from skatter.kernels import KERNEL_PARAMETERS
from skatter.maps import explicit_features, fitted_map
from skatter.sca import SCA, check_sca
from skatter.scaling import DomainRanks, DomainScaler
from skatter.self_training._panel import consensus, train_together
from skatter.self_training._rounds import Beliefs, Round, Trainer, side_by_side, unit_length
from skatter.self_training._structured import Structured
from skatter.self_training._voters import VOTERS

SCALINGS: Mapping[str, tuple[str, type[DomainScaler] | type[DomainRanks] | None]] = {
    "none": ("as they are", None),
    "domain": ("scaled in each domain", DomainScaler),
    "ranks": ("ranks in each domain", DomainRanks),
}
"""Scalings of samples by name: in words, and by what."""
STANDARDISE = (
    "Standardise first, e.g. make_domain_pipeline(StandardScaler(), SCAClassifier()), or use "
    "HedgedClassifier, which does so itself."
)
NEAR = 5  # samples of ``fit`` that a new one is predicted from


@dataclass(frozen=True)
class Candidate:
    """One way to train, and what the others thought of it.

    Attributes
    ----------
    scaling : "none", "domain" or "ranks"
        How samples were scaled.
    ridge : float
        Ridge of SCA.
    agreement : float
        Mean share of the other candidates that predict the same.
    weight : float
        Of its votes.
    rounds : tuple of Round
        What happened in each.
    """

    scaling: str
    ridge: float
    agreement: float
    weight: float
    rounds: tuple[Round, ...]

    @property
    def kept(self) -> Round | None:
        """The round that was kept: the last of those that are trusted most; None without any."""
        return max(self.rounds, key=lambda each: (each.trust, each.number), default=None)


def _check_estimator(name: str, value: Any) -> None:
    check_sca(name, value)
    if value is not None:
        value.check_parameters()


def _several(rule: Rule) -> Rule:
    def check(name: str, values: Any) -> None:
        if isinstance(values, str) or np.ndim(values) != 1 or not len(values):
            raise ValueError(f"{name} must name one candidate or more, as a list; got {values!r}.")
        for value in values:
            rule(name, value)

    return check


@declared
class SCAClassifier(TakesSparse, Declared, ScoresLabelled, ShowsLearnt):
    """SCA and a classifier that trains itself on unlabelled samples, with nothing to tune.

    Five simple classifiers predict the unlabelled samples from the components, and vote. What
    they agree on enters the class scatters and the conditional domain scatter, SCA is solved
    again, and so on until the predictions settle; the round that the scatter criterion
    (:func:`skatter.selection.scatter_criterion`) trusts most is kept. This is done apart for a few
    scalings and ridges, since none is the best everywhere. No label of the target is there to
    choose by; so all of them vote, each weighed by its agreement with the others
    (:mod:`skatter.self_training._panel`). A candidate whose predictions fall into one class has no
    vote. In a few more rounds, those with the smallest ridge learn together from what all voted
    for; the mean of what was believed before and after is the result. Where neighbours share their
    class, a structured classifier of the samples has half of the voices before these rounds, and
    the last word after them (:mod:`skatter.self_training._structured`).

    Parameters
    ----------
    estimator : SCA or None
        Kernel, number of components and weights of the scatters; None is
        ``SCA(delta=0, conditional_delta=1)``: predictions take the place of labels, so that
        conditional domain scatter says what domain scatter would, without minding that classes
        are not as frequent in each domain. Its ridge is not used.
    ridges : sequence of float
        Ridges of SCA.
    scalings : sequence of {"none", "domain", "ranks"}
        Scalings of the samples: as they are; or standardised in each domain
        (:class:`~skatter.DomainScaler`), or their ranks there
        (:class:`~skatter.scaling.DomainRanks`), and of unit length. Sparse samples are taken as
        they are.
    voters : sequence of str
        Who votes: ``"nearest"``, ``"means"``, ``"clusters"``, ``"spreading"`` and
        ``"balanced spreading"`` (:mod:`skatter.self_training._voters`).
    n_rounds : int
        Rounds in which each candidate trains apart, at most; fewer where the predictions settle.
    n_rounds_together : int
        Rounds after these in which they learn together, at most; 0: none.
    structured : bool
        Whether a structured classifier is asked where neighbours share their class: where they
        predict held-out labels, of which there are 100 or more to a class, and where those without
        labels are predicted alike. Sparse samples and precomputed kernels go without.
    confidence : float in (0, 1]
        Share of the votes that a prediction needs to be learnt from.
    n_basis : int
        Leading kernel principal components that SCA works on, unless ``estimator`` has a
        ``feature_map``.
    class_frequencies : array-like of shape (n_classes,), mapping, "source" or None
        How frequent the classes are among the unlabelled samples: in the order of ``classes_``, or
        a mapping from class to share. ``"source"``: as frequent as in the sources. None: all alike.
        Voters that balance classes go by them.
    random_state : int, RandomState instance or None
        Seeds the basis of large samples. None is a fixed seed.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    transduction_ : ndarray of shape (n_samples,)
        The class of every sample of ``fit``: given, or predicted.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        Share of the votes of each class; a given label has all.
    candidates_ : tuple of Candidate
        What was trained, with each round, its agreement with the others and its weight.
    rounds_together_ : tuple of Round
        What happened in the rounds in which the candidates learnt together.
    structured_ : bool
        Whether the structured classifier was asked.
    paths_ : list
        How each candidate goes from samples to shares of the classes.

    Notes
    -----
    The scaling ``"none"`` takes columns in the units they come in: with three columns or more, of
    which one holds more than half of the variance, ``fit`` warns. Standardise such samples first.

    Without unlabelled samples there is nothing to train itself on: one candidate, the first, is
    fitted, and predicts by the nearest labelled samples. To choose for domains that nobody has
    seen, use :class:`~skatter.DomainGeneralizer`.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter import SCAClassifier
    >>> rng = np.random.default_rng(0)
    >>> y, site = np.tile([0, 1], 60), np.repeat(["here", "there"], 60)
    >>> X = rng.normal(size=(120, 5)) + 2 * y[:, None] + 3 * (site == "there")[:, None]
    >>> known = np.where(site == "here", y, -1)
    >>> model = SCAClassifier().fit(X, known, sample_domain=site)
    >>> bool(np.mean(model.predict(X[60:]) == y[60:]) > 0.9)
    True
    """

    __metadata_request__fit: ClassVar = {"sample_domain": True, "labelled": True}
    __metadata_request__predict: ClassVar = {"sample_domain": True}
    __metadata_request__predict_proba: ClassVar = {"sample_domain": True}

    estimator: SCA | None = parameter(_check_estimator, default=None, kw_only=False)
    ridges: Sequence[float] = parameter(_several(POSITIVE), default=(1e-3, 3e-3, 1e-2))
    scalings: Sequence[str] = parameter(_several(choice(*SCALINGS)), default=("domain", "ranks"))
    voters: Sequence[str] = parameter(_several(choice(*VOTERS)), default=tuple(VOTERS))
    n_rounds: int = parameter(COUNT, default=2)
    n_rounds_together: int = parameter(integer(0), default=3)
    structured: bool = parameter(BOOLEAN, default=True)
    confidence: float = parameter(real(0, 1, open_low=True), default=0.5)
    n_basis: int = parameter(COUNT, default=300)
    class_frequencies: Any = None
    random_state: Any = None

    def fit(
        self, X: Any, y: Any = None, *, sample_domain: Any = None, labelled: Any = None
    ) -> SCAClassifier:
        """Train on labelled and unlabelled samples.

        Parameters
        ----------
        X : array-like, sparse matrix or Tensor of shape (n_samples, n_features)
            All samples, labelled or not. Torch tensors are worked on where they are.
        y : array-like of shape (n_samples,)
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
        self.check_parameters()
        standard = SCA(delta=0.0, conditional_delta=1.0)
        template = standard if self.estimator is None else clone(self.estimator)
        X = check_samples(self, X, reset=True, tensors=True)
        domains = read_domains(y, sample_domain, labelled=labelled, n_samples=X.shape[0])
        require_labels(self, domains, "; without any label, use USCA or KPCA")
        template.check_domains(domains)
        by_samples = template.feature_map is None and template.kernel != "precomputed"
        if by_samples and "none" in self.scalings:
            warn_of_units(X, getattr(self, "feature_names_in_", None), STANDARDISE)
        self.classes_ = np.array(domains.classes)
        structured = self._structured(X, domains, template)
        views = self._views(X, domains, template)
        if domains.labelled.all():
            self.structured_ = False
            self._keep([_Trained(views[0], self.ridges[0])], Beliefs(domains), [1.0], [1.0], [])
        else:
            frequencies = read_frequencies(self.class_frequencies, domains)
            side_by_side((partial(getattr, view, "features") for view in views), X)
            options = {"confidence": self.confidence, "voters": self.voters}
            candidates = (
                partial(_Trained, view, ridge, self.n_rounds, frequencies=frequencies, **options)
                for view, ridge in product(views, self.ridges)
            )
            self._train_together(side_by_side(candidates, X), structured)
        return self

    def predict_proba(self, X: Any, *, sample_domain: Any = None) -> Array:
        """Return the share of each class, from the votes on the nearest samples of ``fit``.

        Takes what :meth:`predict` takes, which may be tensors; returns an array of shape
        (n_samples, n_classes). Domains matter where samples are scaled in each.
        """
        check_is_fitted(self)
        X = check_samples(self, X, reset=False, tensors=True)
        shares: list[Array] = []
        weights: list[float] = []
        for scaling in dict.fromkeys(each.scaling for each in self.candidates_):
            # Candidates of one scaling differ by their ridge, and share kernel and samples.
            alike = [i for i, each in enumerate(self.candidates_) if each.scaling == scaling]
            paths = [self.paths_[i] for i in alike]
            samples = paths[0].samples(X, sample_domain)
            projected = project_alike([path.components for path in paths], samples)
            shares += [path.vote(Z) for path, Z in zip(paths, projected, strict=True)]
            weights += [self.candidates_[i].weight for i in alike]
        return np.average(shares, axis=0, weights=weights)

    def to(self, place: str) -> SCAClassifier:
        """Return a copy that predicts elsewhere: ``"numpy"``, or a device such as ``"cuda:0"``."""
        check_is_fitted(self)
        there = copy(self)
        there.paths_ = [replace(path, components=path.components.to(place)) for path in self.paths_]
        return there

    @property
    def leading(self) -> int:
        """Place of the candidate with the most weight."""
        return int(np.argmax([candidate.weight for candidate in self.candidates_]))

    def _views(self, X: Any, domains: Domains, template: SCA) -> list[_View]:
        scalings = ("none",) if sparse.issparse(X) else tuple(dict.fromkeys(self.scalings))
        feature_map = template.feature_map
        if feature_map is None:
            options = {name: getattr(template, name) for name in KERNEL_PARAMETERS}
            feature_map = PrincipalMap(self.n_basis, random_state=self.random_state, **options)
        explicit = template.set_params(kernel="linear", feature_map=None, solver="primal")
        return [_View(scaling, X, domains, feature_map, explicit) for scaling in scalings]

    def _structured(self, X: Any, domains: Domains, template: SCA) -> Structured | None:
        """Return what may be asked beside the candidates, or None where there is no reason to."""
        matched = domains.target.any() and domains.labelled[domains.source].any()
        by_samples = template.kernel != "precomputed" and not sparse.issparse(X)
        if not (self.structured and matched and by_samples):
            return None
        return Structured(host(X), domains, self.random_state)

    def _train_together(self, trained: list[_Trained], structured: Structured | None) -> None:
        beliefs, agreements, weights = consensus([each.beliefs for each in trained])
        asked = structured if structured and structured.is_trusted(beliefs.predicted) else None
        if asked:
            beliefs = beliefs.beside(asked.shares())
        # The more labels are believed, the less ridge is needed.
        teachers = [each.trainer for each in trained if each.ridge == min(self.ridges)]
        beliefs, history = train_together(teachers, beliefs, self.n_rounds_together)
        if asked:
            beliefs = replace(beliefs, shares=asked.shares(beliefs.predicted, n_rounds=1))
        self.structured_ = asked is not None
        self._keep(trained, beliefs, agreements, weights, history)

    def _keep(
        self,
        trained: list[_Trained],
        beliefs: Beliefs,
        agreements: Iterable[float],
        weights: Iterable[float],
        together: Iterable[Round],
    ) -> None:
        """Set what users read and what predictions are made from."""
        self.rounds_together_ = tuple(together)
        self.candidates_ = tuple(
            Candidate(each.view.scaling, each.ridge, float(a), float(w), tuple(each.history))
            for each, a, w in zip(trained, agreements, weights, strict=True)
        )
        self.label_distributions_ = beliefs.soft
        self.transduction_ = self.classes_[beliefs.soft.argmax(axis=1)]
        self.paths_ = [each.path(beliefs) for each in trained]

    def learnt(self) -> list[Section]:
        """Return what a notebook shows: the candidates, their rounds and agreement."""
        if not hasattr(self, "candidates_"):
            return []
        names, counts = np.unique(self.transduction_, return_counts=True)
        facts = (
            ("samples", f"{len(self.transduction_):,}"),
            ("classes, given or predicted", listed_with_counts(names, counts)),
            ("rounds together, after those below", str(len(self.rounds_together_))),
            ("structured classifier", "asked" if self.structured_ else "not asked"),
        )
        heads = ("samples", "ridge", "rounds", "kept", "criterion", "agreement", "weight")
        lines = tuple(
            (
                SCALINGS[each.scaling][0],
                f"{each.ridge:g}",
                str(len(each.rounds)),
                "–" if each.kept is None else f"round {each.kept.number}",
                "–" if each.kept is None else f"{each.kept.trust:.3g}",
                percent(each.agreement),
                percent(each.weight),
            )
            for each in self.candidates_
        )
        return [Section(type(self).__name__, facts, heads, lines)]


@dataclass(frozen=True, eq=False)
class _View:
    """Samples under one scaling, and their explicit features."""

    scaling: str
    X: Any
    domains: Domains
    feature_map: Any
    template: SCA

    @cached_property
    def scaler(self) -> DomainScaler | DomainRanks | None:
        _, kind = SCALINGS[self.scaling]
        if kind is None:
            return None
        ids = self.domains.domain_ids[self.domains.domain]
        return kind().fit(
            self.X, self.domains.label, sample_domain=ids, labelled=self.domains.labelled
        )

    @cached_property
    def samples(self) -> Any:
        if self.scaler is None:
            return self.X
        ids = self.domains.domain_ids[self.domains.domain]
        return unit_length(self.scaler.transform(self.X, sample_domain=ids))

    @cached_property
    def _mapped(self) -> tuple[Any, Tall]:
        if is_tensor(self.samples) and not isinstance(self.feature_map, PrincipalMap):
            feature_map = fitted_map(self.feature_map, self.samples)
            return feature_map, explicit_features(feature_map, self.samples)
        feature_map = clone(self.feature_map)
        features = feature_map.fit_transform(self.samples)
        return feature_map, features if is_tensor(features) else np.asarray(features)

    @property
    def fitted_map(self) -> Any:
        return self._mapped[0]

    @property
    def features(self) -> Tall:
        return self._mapped[1]


class _Trained:
    """A candidate that has trained itself on the unlabelled samples, for some rounds."""

    def __init__(self, view: _View, ridge: float, n_rounds: int = 0, **options: Any) -> None:
        self.view, self.ridge = view, ridge
        template = clone(view.template).set_params(ridge=ridge)
        self.trainer = Trainer(template, view.features, view.domains, samples=view.X, **options)
        self.beliefs, self.history = self.trainer.rounds(n_rounds)

    def path(self, beliefs: Beliefs) -> _Path:
        """Return the way from samples to shares, given what is believed of those of ``fit``."""
        components = self.trainer.components(beliefs.believed)
        Z = host(self.trainer.projections(components))
        # No tree: its nodes cannot be checked when a saved model is loaded.
        neighbours = KNeighborsRegressor(
            min(NEAR, len(Z)), weights="distance", algorithm="brute"
        ).fit(Z, beliefs.soft)
        on_samples = components.before_map(self.view.fitted_map)
        return _Path(self.view.scaler, on_samples, neighbours)


@dataclass(frozen=True, eq=False)
class _Path:
    scaler: DomainScaler | DomainRanks | None
    components: SCA
    neighbours: KNeighborsRegressor

    def samples(self, X: Any, sample_domain: Any) -> Any:
        if self.scaler is None:
            return X
        return unit_length(self.scaler.transform(X, sample_domain=sample_domain))

    def embedding(self, X: Any, sample_domain: Any) -> Tall:
        return unit_length(self.components.transform(self.samples(X, sample_domain)))

    def vote(self, projections: Array) -> Array:
        Z = unit_length(projections)
        shares = np.asarray(self.neighbours.predict(Z)).reshape(len(Z), -1)
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def read_frequencies(given: Any, domains: Domains) -> Array | None:
    """Return class frequencies that sum to one, as users give them; None stays.

    Examples
    --------
    >>> from skatter.domains import read_domains
    >>> domains = read_domains(["a", "b", "b", None])
    >>> read_frequencies("source", domains).round(2).tolist()
    [0.33, 0.67]
    >>> read_frequencies([1, 3], domains).tolist()
    [0.25, 0.75]
    """
    if given is None:
        return None
    n_classes = len(domains.classes)
    if isinstance(given, str):
        check_choice("class_frequencies", given, ("source",))
        known = domains.label[domains.source & domains.labelled]
        counts = np.bincount(known, minlength=n_classes).astype(float)
    elif isinstance(given, Mapping):
        names = domains.classes.tolist()
        if set(given) != set(names):
            raise ValueError(
                f"class_frequencies names {_listed(given)}, and the classes are {_listed(names)}: "
                "give a share for each of them."
            )
        counts = np.array([given[name] for name in names], dtype=float)
    else:
        counts = np.asarray(given, dtype=float)
    if counts.shape != (n_classes,) or not np.isfinite(counts).all() or (counts < 0).any():
        raise ValueError(
            f"class_frequencies must be {n_classes} numbers from 0 on, one for each of the "
            f"classes {_listed(domains.classes.tolist())}."
        )
    if not counts.sum() > 0:
        raise ValueError("class_frequencies are all zero; give each class its share.")
    return np.asarray(counts / counts.sum())


def _listed(names: Iterable[Any]) -> str:
    return ", ".join(map(str, names))
