"""The champion: what a good practitioner would use instead, chosen on held-out source labels."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, balanced_accuracy_score, recall_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from skatter._accuracy import ScoresLabelled
from skatter._checks import FLOATS, TakesSparse, check_samples
from skatter._parameters import (
    BOOLEAN,
    Declared,
    Rule,
    choice,
    declared,
    integer,
    optional,
    parameter,
)
from skatter._support_vectors import SupportVectors
from skatter._tensors import Array
from skatter._threads import in_threads
from skatter.domains import Codes, Domains, read_domains, require_labels
from skatter.trees import BoostingClassifier, ForestClassifier

Metric = Literal["accuracy", "balanced accuracy"]
METRICS = ("accuracy", "balanced accuracy")
N_FOLDS = 5
MAX_ITER = 500  # of logistic regression
MAX_ROWS = 4_000  # rows that folds see; of more as many are drawn
MAX_MACHINE = 2_500  # rows that a support vector machine is trained on: its cost is quadratic
MAX_GROWN = 5_000  # rows that a tree of the forest is grown on
WEIGHED_LEAF = 5  # samples of a leaf where classes weigh the same; a pure one has no use for it
LARGEST_ROUND = 200  # trees × (20 + columns) beyond which boosting takes longer than all others
OWN = "own"  # name of a classifier that the user gave


def is_a(kind: str, fits: Callable[[Any], bool]) -> Rule:
    def check(name: str, value: Any) -> None:
        if not fits(value):
            raise TypeError(f"{name} must be a {kind}, got {type(value).__name__}.")

    return check


def named(rule: Rule) -> Rule:
    """Return the rule of a mapping from names to estimators that each follow a rule, or None."""

    def check(name: str, value: Any) -> None:
        if not isinstance(value, Mapping) or not value:
            raise ValueError(
                f"{name} must map names to estimators, one at least, or be None for the standard "
                f"ones; got {value!r}."
            )
        for key, each in value.items():
            rule(f"{name}[{key!r}]", each)

    return optional(check)


VOTER = is_a(
    "classifier with predict_proba",
    lambda model: is_classifier(model) and hasattr(model, "predict_proba"),
)


@declared
class CalibratedSVC(TakesSparse, Declared, ClassifierMixin, BaseEstimator):
    """A support vector machine with probabilities, by logistic regression on held-out decisions.

    Of more than ``max_rows`` rows as many are drawn.
    """

    class_weight: Any = None
    max_rows: int = MAX_MACHINE
    random_state: int = 0

    def fit(self, X: Any, y: Any) -> CalibratedSVC:
        self.fit_with_oob(X, y)
        return self

    def fit_with_oob(self, X: Any, y: Any) -> Array:
        """Train, and return a probability of each class for every sample, from held-out decisions.

        Samples beyond ``max_rows`` have rows of NaN, and those that cannot be held out, since no
        other of their class is there, the class frequencies.
        """
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=list(FLOATS))
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y must hold two classes or more, got one class: {y[0]!r}.")
        rows = draw_rows(codes, self.max_rows, self.random_state)
        some, label = X[rows], codes[rows]
        self.machine_ = SupportVectors.train(some, label, class_weight=self.class_weight)
        # Those that no fold tests have the decisions of the fitted machine.
        held = _decisions(self.machine_, some, len(self.classes_))
        tested = np.zeros(len(rows), dtype=bool)
        for learn, test in source_folds(label, self.random_state):
            fitted = SupportVectors.train(some[learn], label[learn], class_weight=self.class_weight)
            held[test], tested[test] = _decisions(fitted, some[test], len(self.classes_)), True
        self.link_ = LogisticRegression(max_iter=MAX_ITER, class_weight=self.class_weight)
        self.link_.fit(held, label)
        out = np.full((X.shape[0], len(self.classes_)), np.nan)
        shares = self.link_.predict_proba(held)
        shares[~tested] = frequencies(label, len(self.classes_))
        out[rows] = shares
        return out

    def predict_proba(self, X: Any) -> Array:
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=list(FLOATS))
        return self.link_.predict_proba(_decisions(self.machine_, X, len(self.classes_)))

    def predict(self, X: Any) -> Array:
        shares = self.predict_proba(X)
        return self.classes_[shares.argmax(axis=1)]


def _decisions(machine: SupportVectors, X: Any, n_classes: int) -> Array:
    """Return one decision value per class; a class that the machine has not seen has the lowest."""
    values = machine.decide(X)
    out = np.full((len(values), n_classes), values.min() - 1)
    out[:, machine.classes] = values
    return out


@declared
class LearnsFromDomains(TakesSparse, Declared):
    """Base of models of models: they learn from the samples of all domains.

    Parameters
    ----------
    standardize : bool
        Standardise the columns first, so that their units do not matter. False where all columns
        share one unit, as pixels, counts and embeddings do.
    random_state : int
        Seed of everything that is random.
    """

    __metadata_request__fit: ClassVar = {"sample_domain": True, "labelled": True}
    __metadata_request__predict: ClassVar = {"sample_domain": True}

    standardize: bool = parameter(BOOLEAN, default=True)
    random_state: int = parameter(integer(0), default=0)

    def fit(
        self, X: Any, y: Any = None, *, sample_domain: Any = None, labelled: Any = None
    ) -> Self:
        """Fit all models inside, and judge them by labels that they have not seen.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples of all domains, labelled or not; NaN where a value is missing.
        y : array-like of shape (n_samples,)
            Classes; -1, NaN or None where unknown. Numbers for a regressor; NaN or None where
            unknown.
        sample_domain : array-like of shape (n_samples,) or None
            Domain of each sample, integers or strings. None: labelled samples are one domain and
            unlabelled ones another.
        labelled : array-like of bool of shape (n_samples,) or None
            Which labels to use; wins over the marks in ``y``.
        """
        self.check_parameters()
        X = check_with_gaps(self, X, reset=True)
        self._fit(X, y, sample_domain, labelled, int(self.random_state))
        return self

    def _fit(self, X: Any, y: Any, sample_domain: Any, labelled: Any, seed: int) -> None:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags


@dataclass(frozen=True, eq=False)
class Contender:
    """A classifier or regressor that competed, fitted on all labelled samples.

    Its score is the metric on held-out labels; R² where labels are numbers. ``recall`` is the share
    of each class that it found there, None for numbers.
    """

    name: str
    estimator: Any
    score: float
    recall: Any = None


@declared
class Contest(LearnsFromDomains, BaseEstimator):
    """What champions for classes and for numbers share: who competes, and who is best.

    Attributes
    ----------
    champion_ : str
        Name of the candidate that predicts.
    scores_ : dict of str to float
        The metric, or R² of numbers, of each candidate on held-out labels.
    scaler_ : Pipeline
        Fills gaps and standardises.
    """

    def contender(self, name: str) -> Contender:
        """Return a candidate by its name."""
        return next(each for each in self.contenders_ if each.name == name)

    def _settle(self, contenders: Iterable[Contender]) -> None:
        self.contenders_ = tuple(contenders)
        self.scores_ = {each.name: each.score for each in self.contenders_}
        self.champion_ = max(self.scores_, key=lambda name: self.scores_[name])

    def _scaled(self, X: Any) -> Any:
        check_is_fitted(self)
        return self.scaler_.transform(check_with_gaps(self, X, reset=False))

    def _competing(self, standard: dict[str, Any]) -> dict[str, Any]:
        if self.candidates is None:
            return standard
        return {name: clone(each) for name, each in self.candidates.items()}


@declared
class ChampionClassifier(ScoresLabelled, Contest):
    """The best of four standard classifiers, chosen by cross-validation on the labelled samples.

    Missing values become the median of their column, and columns are standardised, over all
    samples. It does not adapt: it is what adapting must beat.

    Parameters
    ----------
    candidates : mapping of str to classifier, or None
        Who competes; None: logistic regression, a support vector machine with an RBF kernel, a
        random forest, and histogram gradient boosting (left out where columns and classes are
        many).
    metric : {"accuracy", "balanced accuracy"}
        What counts. For balanced accuracy the candidates weigh classes equally.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter import ChampionClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = np.tile([0, 1], 60)
    >>> X = rng.normal(size=(120, 3)) + 2 * y[:, None]
    >>> model = ChampionClassifier().fit(X[:80], y[:80])
    >>> sorted(model.scores_)
    ['boosting', 'forest', 'logistic', 'svm']
    >>> bool(np.mean(model.predict(X[80:]) == y[80:]) > 0.8)
    True
    """

    __metadata_request__predict_proba: ClassVar = {"sample_domain": True}

    candidates: Mapping[str, Any] | None = parameter(named(VOTER), default=None, kw_only=False)
    metric: Metric = parameter(choice(*METRICS), default="accuracy")

    def _fit(self, X: Any, y: Any, sample_domain: Any, labelled: Any, seed: int) -> None:
        domains = read_labels(self, y, sample_domain, labelled, X.shape[0])
        known = np.flatnonzero(domains.labelled)
        self.classes_ = np.array(domains.classes)
        self.scaler_ = make_scaler(sparse.issparse(X), self.standardize).fit(X)
        standard = standard_classifiers(
            X, len(self.classes_), metric=self.metric, random_state=seed
        )
        candidates = self._competing(standard)
        samples, label = self.scaler_.transform(X)[known], domains.label[known]
        with warnings.catch_warnings():
            # A class may have too few samples to hold out.
            warnings.simplefilter("ignore", UserWarning)
            self._settle(
                in_threads(
                    partial(self._compete, name, candidate, samples, label, seed)
                    for name, candidate in candidates.items()
                )
            )

    def predict_proba(self, X: Any, *, sample_domain: Any = None) -> Array:
        """Probability of each class in ``classes_``, by the champion; domains are of no account."""
        X = self._scaled(X)
        return probabilities(self.contender(self.champion_).estimator, X, len(self.classes_))

    def _compete(self, name: str, candidate: Any, X: Any, label: Codes, seed: int) -> Contender:
        estimator, held_out, rows = fit_held_out(candidate, X, label, len(self.classes_), seed)
        score = score_of(self.metric, label[rows], held_out)
        return Contender(name, estimator, score, recall_of(label[rows], held_out))


def read_labels(
    estimator: Any, y: Any, sample_domain: Any, labelled: Any, n_samples: int
) -> Domains:
    """Read labels and domains; two classes at least must have a label."""
    if y is None and sample_domain is None:
        sample_domain = np.zeros(n_samples, dtype=int)
    domains = read_domains(y, sample_domain, labelled=labelled, n_samples=n_samples)
    require_labels(estimator, domains)
    if len(np.unique(domains.label[domains.labelled])) < 2:
        raise ValueError("y must hold two classes or more among the labelled samples.")
    return domains


def standard_classifiers(
    X: Any, n_classes: int, *, metric: Metric, random_state: int
) -> dict[str, Any]:
    """Return the classifiers that a good practitioner tries first, not fitted.

    The samples say whether boosting can take part; for balanced accuracy classes weigh the same.
    """
    weight: dict[str, Any] = {"class_weight": None if metric == "accuracy" else "balanced"}
    found = {
        "logistic": LogisticRegression(max_iter=MAX_ITER, **weight),
        "svm": CalibratedSVC(random_state=random_state, **weight),
        "forest": ForestClassifier(
            max_rows=MAX_GROWN,
            min_samples_leaf=1 if metric == "accuracy" else WEIGHED_LEAF,
            random_state=random_state,
            **weight,
        ),
    }
    n_trees = n_classes if n_classes > 2 else 1
    if not sparse.issparse(X) and n_trees * (20 + X.shape[1]) <= LARGEST_ROUND:
        found["boosting"] = BoostingClassifier(random_state=random_state, **weight)
    return found


def fit_held_out(
    estimator: Any, X: Any, label: Codes, n_classes: int, seed: int
) -> tuple[Any, Array, Codes]:
    """Fit a classifier on codes of classes, and predict samples by fits that did not see them.

    Returns the fitted estimator, probabilities of held-out samples, and which samples these are.
    """
    if hasattr(estimator, "fit_with_oob"):
        held_out = in_columns(estimator.fit_with_oob(X, label), estimator.classes_, n_classes)
        rows = np.flatnonzero(~np.isnan(held_out).any(axis=1))
        rows = rows[draw_rows(label[rows], MAX_ROWS, seed)]
        return estimator, held_out[rows], rows
    rows = draw_rows(label, MAX_ROWS, seed)
    some, known = X[rows], label[rows]
    held_out = np.tile(frequencies(known, n_classes), (len(rows), 1))
    with warnings.catch_warnings():
        # A fold may lack a class of which there is a single sample.
        warnings.simplefilter("ignore", UserWarning)
        # A logistic regression that has not converged in time predicts as well.
        for learn, test in source_folds(known, seed):
            fitted = clone(estimator).fit(some[learn], known[learn])
            held_out[test] = probabilities(fitted, some[test], n_classes)
        return estimator.fit(X, label), held_out, rows


def frequencies(label: Codes, n_classes: int) -> Array:
    """Return the share of each class, which is what is known of a sample without a model."""
    return np.bincount(label, minlength=n_classes) / len(label)


def probabilities(estimator: Any, X: Any, n_classes: int) -> Array:
    """Return a probability for each code of a class, zero for those not seen in the fit."""
    return in_columns(estimator.predict_proba(X), estimator.classes_, n_classes)


def in_columns(given: Array, classes: Codes, n_classes: int) -> Array:
    """Put columns of some classes where all classes have one; the others are zero."""
    out = np.zeros((len(given), n_classes))
    out[:, classes] = given
    return out


def source_folds(label: Codes, seed: int) -> list[tuple[Codes, Codes]]:
    """Return folds that learn and test on labelled samples, each class in every fold if it can.

    None where every class has a single sample: nothing can be held out then.
    """
    if np.bincount(label).max() < 2:
        return []
    n_folds = int(np.clip(np.bincount(label).min(initial=N_FOLDS), 2, N_FOLDS))
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = list(folds.split(label, label))
    # What is learnt from needs two classes.
    return [(learn, test) for learn, test in found if len(np.unique(label[learn])) > 1]


def draw_rows(label: Codes, n_rows: int, seed: int) -> Codes:
    """Draw samples, a few of every class at least; all of them where there are no more."""
    if len(label) <= n_rows:
        return np.arange(len(label))
    mixed = np.random.default_rng(seed).permutation(len(label))
    place = np.empty(len(label), dtype=np.intp)
    for code in np.unique(label):
        own = np.flatnonzero(label[mixed] == code)
        place[own] = np.arange(len(own))
    # One of every class comes first, then a second one, and after a few all others as they come.
    order = np.lexsort((np.arange(len(label)), np.minimum(place, FEW)))
    return np.sort(mixed[order[:n_rows]])


FEW = 5  # samples of every class that a draw keeps


def score_of(metric: Metric, truth: Codes, shares: Array) -> float:
    score = accuracy_score if metric == "accuracy" else balanced_accuracy_score
    return float(score(truth, shares.argmax(axis=1)))


def recall_of(truth: Codes, shares: Array) -> Array:
    """Return the share of each class that was found; of all, where a class has no sample."""
    predicted, codes = shares.argmax(axis=1), np.arange(shares.shape[1])
    found = recall_score(truth, predicted, labels=codes, average=None, zero_division=np.nan)
    return np.where(np.isnan(found), accuracy_score(truth, predicted), found)


def score_with(frequencies: Array, score: float, recall: Array, metric: Metric) -> float:
    """Return a held-out score as it would be with other class frequencies.

    Balanced accuracy does not depend on them.
    """
    return float(frequencies @ recall) if metric == "accuracy" else score


def make_scaler(is_sparse: bool, standardize: bool) -> Pipeline:
    """Return what fills gaps by medians and standardises; sparse samples keep their zeros."""
    scale = StandardScaler(with_mean=not is_sparse) if standardize else "passthrough"
    fill = SimpleImputer(strategy="median", keep_empty_features=True)
    return make_pipeline("passthrough" if is_sparse else fill, scale)


def check_with_gaps(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Validate samples in which values may be missing (NaN), but not infinite."""
    try:
        return validate_data(
            estimator,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=list(FLOATS),
            ensure_all_finite="allow-nan",
            ensure_min_samples=2 if reset else 1,
        )
    except (TypeError, ValueError) as error:
        if "could not convert" in str(error):
            check_samples(estimator, X, reset=reset)  # it names the remedy for text
        raise
