"""Choosing whole models for a domain nobody has seen.

A model that will meet a new domain is judged as it will be used: each source domain is left out in
turn and predicted by what the others taught. Let a(c, d) be the accuracy of candidate c on the
source d left out, b the candidate with the best mean, and g(c, d) = a(b, d) - a(c, d) what c loses
against it. A handful of domains tells good candidates from bad ones, and not the good ones from
each other: the winner owes some of its lead to chance. So all that are within one standard error,

    V = { c : mean_d g(c, d) <= sd_d g(c, d) / sqrt(m) }   for m source domains,

are taken for equally good, and vote by the mean of their probabilities, P = mean_{c in V} P_c. A
loss that is small but the same in every domain counts; one that changes its sign does not. Plain
linear classifiers are among the candidates: where nothing beats them on the sources they vote, and
where they fail they do not. No label of a target takes part, and nothing is learnt from the domain
that is left out.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.stats import rankdata
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted

from skatter.accuracy import ScoresLabelled
from skatter.checks import check_integer, check_real, check_samples
from skatter.domains import Codes, Domains, read_domains
from skatter.pipeline import call_step, make_domain_pipeline
from skatter.sca import SCA
from skatter.selection.splitters import LeaveOneDomainOut
from skatter.summaries import Section, ShowsLearnt, learnt_portfolio

Array = NDArray[Any]
Candidates = Sequence[tuple[str, Any]]
Fold = tuple[Codes, Codes]
"""Rows to learn from, and labelled rows to predict."""

N_FOLDS = 5
"""Stratified folds where there is a single source domain."""

N_COMPONENTS = 60
"""Components of SCA in the portfolio, or all there are."""

MAX_ITER = 500
"""Of logistic regression."""


class DomainGeneralizer(ScoresLabelled, ShowsLearnt):
    """A classifier for new domains: the models that predict left-out source domains best vote.

    Parameters
    ----------
    candidates : list of (str, classifier) or None
        Names and models, from simple to elaborate. A model that takes ``sample_domain`` is given
        all samples and their domains; any other is fitted on the labelled samples. None is
        :func:`generalization_candidates`.
    cv : None, int or splitter
        Which labelled samples of source domains to hold out. None leaves out one domain at a time;
        where a single domain has labels, or what remains would hold one class only, it is five
        stratified folds, and ``validation_`` says so. An integer is that many stratified folds. A
        splitter is given the domains as groups. Unlabelled samples of a domain that is left out
        are left out with it.
    standard_errors : float >= 0
        How far a candidate may lie behind the best one and still count as equally good: so many
        standard errors of the mean of their difference over what was held out. 0: the best alone.
    vote : bool
        True: all of these vote by the mean of their probabilities; one that has none gives its
        whole vote to the class it predicts. False: the first of them, the simplest, predicts.
    max_samples : int or None
        Most labelled samples, and most unlabelled ones, that a candidate learns from while it is
        judged, drawn alike from all domains and classes; voters are fitted on all. None: no limit.
    n_jobs : int or None
        Processes for the search, as in joblib; None is one.
    random_state : int, RandomState instance or None
        Seeds draws and stratified folds. None is a fixed seed.

    Attributes
    ----------
    estimators_ : list of classifiers
        The voters, fitted on all samples.
    voters_ : list of str
        Their names.
    best_estimator_ : classifier
        The voter with the best mean accuracy on what was held out; the only voter where
        ``vote=False``.
    best_name_, best_index_, best_score_ : str, int, float
        Its name, its place among the candidates, its mean accuracy.
    cv_results_ : dict of ndarray
        One entry for each candidate: ``"candidate"``, ``"split0_test_score"`` and so on,
        ``"mean_test_score"``, ``"std_test_score"``, ``"rank_test_score"``, and ``"mean_fit_time"``,
        the seconds of a fit and its predictions.
    held_out_ : list
        What each split held out: the id of a domain, or the number of a fold.
    validation_ : str
        ``"leave-one-domain-out"``, ``"stratified folds"`` or ``"as given"``.
    classes_ : ndarray
        Classes seen in ``fit``.

    See Also
    --------
    LeaveOneDomainOut : The splits alone, for scikit-learn's own searches.
    SCACV : SCA alone, with many settings.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from skatter.selection.generalize import DomainGeneralizer
    >>> rng = np.random.default_rng(0)
    >>> site, y = np.repeat(["a", "b", "c"], 40), np.tile([0, 1], 60)
    >>> angle = rng.uniform(0, 2 * np.pi, size=120)
    >>> X = (1 + 2 * y)[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    >>> model = DomainGeneralizer(
    ...     [("linear", LogisticRegression()), ("nearest", KNeighborsClassifier(1))]
    ... ).fit(X, y, sample_domain=site)
    >>> model.voters_, model.held_out_
    (['nearest'], ['a', 'b', 'c'])
    >>> model.predict([[0.0, 1.1], [0.0, 2.9]])
    array([0, 1])
    """

    __metadata_request__fit: ClassVar = {"sample_domain": True, "labelled": True}
    __metadata_request__predict: ClassVar = {"sample_domain": True}
    __metadata_request__predict_proba: ClassVar = {"sample_domain": True}
    __metadata_request__decision_function: ClassVar = {"sample_domain": True}

    def __init__(
        self,
        candidates: Candidates | None = None,
        *,
        cv: Any = None,
        standard_errors: float = 1.0,
        vote: bool = True,
        max_samples: int | None = 3000,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.candidates = candidates
        self.cv = cv
        self.standard_errors = standard_errors
        self.vote = vote
        self.max_samples = max_samples
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any = None, *, sample_domain: Any = None, labelled: Any = None
    ) -> DomainGeneralizer:
        """Judge all candidates on the sources, and fit those that vote on everything.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples of all domains, in any order.
        y : array-like of shape (n_samples,)
            Classes; -1, NaN or None where unknown.
        sample_domain : array-like of shape (n_samples,) or None
            Domain of each sample. A domain without labels, or with a negative id where integers
            carry signs, is a target: it is never held out.
        labelled : array-like of bool of shape (n_samples,) or None
            Which labels to use; wins over the marks in ``y``.

        Returns
        -------
        self
            The fitted estimator.
        """
        names, models = self._checked(centre=not issparse(X))
        X = check_samples(self, X, reset=True)
        domains = _read(y, sample_domain, labelled, n_samples=X.shape[0])
        random_state = 0 if self.random_state is None else self.random_state
        folds = [
            (draw_alike(domains, learn, self.max_samples, random_state), held)
            for learn, held in self._folds(domains, random_state)
        ]
        scored = Parallel(n_jobs=self.n_jobs)(
            delayed(_judge)(name, model, X, domains, fold)
            for name, model in zip(names, models, strict=True)
            for fold in folds
        )
        scores, seconds = np.moveaxis(np.reshape(scored, (len(models), len(folds), 2)), -1, 0)
        voters = self._report(names, scores, seconds)
        self.estimators_ = [
            _fit_all(models[c], X, y, sample_domain, labelled, name=names[c]) for c in voters
        ]
        self.best_estimator_ = self.estimators_[voters.index(self.best_index_)]
        self.classes_ = np.array(domains.classes)
        return self

    def predict(self, X: Any, *, sample_domain: Any = None) -> Array:
        """Predict the class of samples of any domain.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        sample_domain : array-like of shape (n_samples,) or None
            Their domains, for voters that take them.

        Returns
        -------
        ndarray of shape (n_samples,)
            Classes.
        """
        X = self._new_samples(X)
        if len(self.estimators_) == 1:
            return call_step(self.best_estimator_.predict, X, sample_domain)
        return self.classes_[self._votes(X, sample_domain).argmax(axis=1)]

    def predict_proba(self, X: Any, *, sample_domain: Any = None) -> Array:
        """Return the mean of the voters' probabilities; takes what :meth:`predict` takes.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            One column for each class in ``classes_``.
        """
        return self._votes(self._new_samples(X), sample_domain)

    def decision_function(self, X: Any, *, sample_domain: Any = None) -> Array:
        """Return how much of the vote each class has; takes what :meth:`predict` takes.

        Returns
        -------
        ndarray of shape (n_samples, n_classes) or (n_samples,)
            For two classes one value, the share of the second less that of the first.
        """
        votes = self._votes(self._new_samples(X), sample_domain)
        return votes[:, 1] - votes[:, 0] if votes.shape[1] == 2 else votes

    def _new_samples(self, X: Any) -> Any:
        check_is_fitted(self, "estimators_")
        return check_samples(self, X, reset=False)

    def _votes(self, X: Any, sample_domain: Any) -> Array:
        votes = [_vote(model, X, sample_domain, self.classes_) for model in self.estimators_]
        return np.mean(votes, axis=0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        portfolio = self._portfolio(centre=False)
        tags.input_tags.sparse = all(get_tags(model).input_tags.sparse for _, model in portfolio)
        return tags

    def _learnt(self) -> list[Section]:
        return learnt_portfolio(self)

    # --- candidates -----------------------------------------------------------------------------

    def _portfolio(self, *, centre: bool) -> Candidates:
        if self.candidates is None:
            return generalization_candidates(centre=centre)
        return self.candidates

    def _checked(self, *, centre: bool) -> tuple[list[str], list[Any]]:
        """Return names and models, or say what is wrong with them or with a parameter."""
        check_real("standard_errors", self.standard_errors, low=0)
        if self.max_samples is not None:
            check_integer("max_samples", self.max_samples, low=2)
        portfolio = self._portfolio(centre=centre)
        try:
            names, models = map(list, zip(*portfolio, strict=True))
        except (TypeError, ValueError):
            raise ValueError(
                "candidates must be a list of (name, classifier) pairs, one at least, "
                f"got {self.candidates!r}."
            ) from None
        if len(set(names)) < len(names):
            raise ValueError(f"candidates must have different names, got {', '.join(names)}.")
        for name, model in zip(names, models, strict=True):
            if not is_classifier(model):
                raise TypeError(
                    f"candidate {name!r} must be a classifier or a pipeline that ends with one, "
                    f"got {type(model).__name__}."
                )
        return names, models

    # --- folds ----------------------------------------------------------------------------------

    def _folds(self, domains: Domains, random_state: Any) -> list[Fold]:
        """Return what to learn from and what to hold out, and remember what that was."""
        rows = np.flatnonzero(domains.labelled & domains.source)
        if not len(rows):
            raise ValueError(
                "y has no labelled sample in a source domain to hold out. Under the sign "
                "convention sources have non-negative ids."
            )
        by_domain = self.cv is None or isinstance(self.cv, LeaveOneDomainOut)
        parts = _by_domain(domains, rows) if by_domain else self._parts(domains, rows, random_state)
        folds = _usable(domains, parts)
        self.validation_ = "leave-one-domain-out" if by_domain else "as given"
        if self.cv is None and not folds:
            folds = _usable(domains, _stratified(domains, rows, N_FOLDS, random_state))
            self.validation_, by_domain = "stratified folds", False
        if not folds:
            raise ValueError(
                "cv leaves no fold with two classes to learn from and a sample to predict; give "
                "more labelled samples or source domains, or cv=None."
            )
        held_domains = [domains.domain_ids[domains.domain[held[0]]] for _, held in folds]
        self.held_out_ = [d.item() for d in held_domains] if by_domain else [*range(len(folds))]
        return folds

    def _parts(self, domains: Domains, rows: Codes, random_state: Any) -> list[Codes]:
        """Return the rows to hold out, part by part, as ``cv`` says."""
        if isinstance(self.cv, int | np.integer):
            n_splits = check_integer("cv", self.cv, low=2)
            return _stratified(domains, rows, n_splits, random_state)
        splitter = check_cv(self.cv, domains.label[rows], classifier=True)
        with warnings.catch_warnings():
            # Splitters that take no groups say so each time.
            warnings.filterwarnings("ignore", message="The groups parameter is ignored")
            splits = list(splitter.split(rows, domains.label[rows], domains.domain[rows]))
        return [rows[held] for _, held in splits]

    # --- the choice -----------------------------------------------------------------------------

    def _report(self, names: list[str], scores: Array, seconds: Array) -> list[int]:
        """Remember all scores, and return which candidates vote."""
        mean = scores.mean(axis=1)
        voters = equally_good(scores, self.standard_errors)
        # Equal counts of hits may differ in the last bit of their mean.
        rounded = np.round(mean, 12)
        if not self.vote:
            voters = voters[:1]
        self.best_index_ = max(voters, key=lambda c: rounded[c])
        self.best_name_ = names[self.best_index_]
        self.best_score_ = float(mean[self.best_index_])
        self.voters_ = [names[c] for c in voters]
        results: dict[str, Any] = {
            "candidate": np.array(names, dtype=object),
            "mean_fit_time": seconds.mean(axis=1),
        }
        for f in range(scores.shape[1]):
            results[f"split{f}_test_score"] = scores[:, f]
        results["mean_test_score"] = mean
        results["std_test_score"] = scores.std(axis=1)
        results["rank_test_score"] = rankdata(-rounded, method="min").astype(np.int32)
        self.cv_results_ = results
        return voters


def equally_good(scores: Array, standard_errors: float) -> list[int]:
    """Return the candidates that the splits cannot tell from the best one.

    Parameters
    ----------
    scores : ndarray of shape (n_candidates, n_splits)
        Accuracies.
    standard_errors : float
        How many standard errors of the mean difference a candidate may lose.

    Examples
    --------
    The second loses less than the third, yet it does so on every split:

    >>> import numpy as np
    >>> scores = np.array([[0.80, 0.70, 0.90], [0.78, 0.68, 0.88], [0.90, 0.50, 0.91]])
    >>> equally_good(scores, standard_errors=1)
    [0, 2]
    """
    # Equal counts of hits may differ in the last bit of their mean.
    best = int(np.argmax(np.round(scores.mean(axis=1), 12)))
    loss = scores[best] - scores
    n_splits = scores.shape[1]
    error = loss.std(axis=1, ddof=1) / np.sqrt(n_splits) if n_splits > 1 else 0.0
    return np.flatnonzero(np.round(loss.mean(axis=1) - standard_errors * error, 12) <= 0).tolist()


def _read(y: Any, sample_domain: Any, labelled: Any, *, n_samples: int) -> Domains:
    """Validate labels and domains; two classes at least."""
    given = np.zeros(n_samples, dtype=int) if y is None and sample_domain is None else sample_domain
    domains = read_domains(y, given, labelled=labelled, n_samples=n_samples)
    if not domains.n_labelled:
        raise ValueError(
            "DomainGeneralizer requires y to be passed, but the target y is None or has no "
            "labelled sample. Mark only unknown labels as -1, NaN or None."
        )
    if len(domains.classes) < 2:
        raise ValueError(
            "DomainGeneralizer needs samples of at least two classes, got 1 class "
            f"({domains.classes[0]}). Give labelled samples of another one."
        )
    return domains


def _by_domain(domains: Domains, rows: Codes) -> list[Codes]:
    """Return the labelled rows of each source domain."""
    return [rows[domains.domain[rows] == d] for d in np.unique(domains.domain[rows])]


def _stratified(domains: Domains, rows: Codes, n_splits: int, random_state: Any) -> list[Codes]:
    """Return labelled rows in parts with equal shares of the classes; fewer where they are few."""
    label = domains.label[rows]
    n_splits = min(n_splits, int(np.bincount(label).max()))
    if n_splits < 2:
        return []
    splitter = StratifiedKFold(n_splits, shuffle=True, random_state=random_state)
    with warnings.catch_warnings():
        # A class with fewer members than parts is in some of them only.
        warnings.filterwarnings("ignore", message="The least populated class")
        return [rows[held] for _, held in splitter.split(rows, label)]


def _usable(domains: Domains, parts: list[Codes]) -> list[Fold]:
    """Turn parts to be held out into folds; without those that leave one class to learn from."""
    folds = []
    for held in parts:
        kept = np.ones(domains.n_samples, dtype=bool)
        kept[held] = False
        # Unlabelled samples go with the rest of their domain.
        labels_left = np.bincount(
            domains.domain[kept & domains.labelled], minlength=domains.n_domains
        )
        gone = np.setdiff1d(domains.domain[held], np.flatnonzero(labels_left))
        learn = np.flatnonzero(kept & ~np.isin(domains.domain, gone))
        if len(held) and len(np.unique(domains.label[learn[domains.labelled[learn]]])) > 1:
            folds.append((learn, held))
    return folds


def draw_alike(domains: Domains, rows: Codes, most: int | None, random_state: Any) -> Codes:
    """Draw rows, with the same share of every class of every domain.

    Parameters
    ----------
    domains : Domains
        Labels and domains of all rows.
    rows : ndarray of int
        Rows to draw from.
    most : int or None
        Number of labelled rows, and of unlabelled ones, to draw; a few more where a class of a
        domain would have none. None, or at least as many as there are: all of them.
    random_state : int or RandomState instance
        Seeds the draw.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter.domains import read_domains
    >>> domains = read_domains([0] * 60 + [1] * 20, ["a"] * 80)
    >>> drawn = draw_alike(domains, np.arange(80), 8, 0)
    >>> np.bincount(domains.label[drawn]).tolist()
    [6, 2]
    """
    mixed = check_random_state(random_state).permutation(rows)
    group = domains.domain[mixed] * (len(domains.classes) + 1) + domains.label[mixed]
    order = np.argsort(group, kind="stable")
    mixed, group = mixed[order], group[order]
    drawn = []
    for some in (domains.labelled[mixed], ~domains.labelled[mixed]):
        own, kind = mixed[some], group[some]
        number = len(own) if most is None else min(most, len(own))
        # Evenly spaced among rows in groups: each group gives its share.
        places = ((np.arange(number) + 0.5) * len(own) / max(number, 1)).astype(np.intp)
        kinds, first = np.unique(kind, return_index=True)
        drawn += [own[places], own[first[~np.isin(kinds, kind[places])]]]
    return np.sort(np.concatenate(drawn))


def _judge(name: str, model: Any, X: Any, domains: Domains, fold: Fold) -> tuple[float, float]:
    """Return the accuracy of a candidate on held-out rows, and its seconds."""
    learn, held = fold
    start = perf_counter()
    with warnings.catch_warnings():
        # A voter says once, in its last fit, what all say in every fold.
        warnings.simplefilter("ignore")
        judged = _fit_all(
            model,
            X[learn],
            domains.label[learn],
            domains.domain_ids[domains.domain[learn]],
            domains.labelled[learn],
            name=name,
        )
        guess = judged.predict(X[held])
    return float(np.mean(guess == domains.label[held])), perf_counter() - start


def _fit_all(model: Any, X: Any, y: Any, sample_domain: Any, labelled: Any, *, name: str) -> Any:
    """Fit a copy of a candidate on what it should see; an error says whose it is."""
    fitted = make_domain_pipeline(clone(model))
    try:
        with warnings.catch_warnings():
            # The portfolio asks for so many components, or as many as there are.
            warnings.filterwarnings("ignore", message="n_components=.* exceeds the rank")
            fitted.fit(X, y, sample_domain=sample_domain, labelled=labelled)
    except Exception as error:
        error.add_note(f"This was candidate {name!r} of DomainGeneralizer.")
        raise
    return fitted.steps[-1][1]


def _vote(model: Any, X: Any, sample_domain: Any, classes: Array) -> Array:
    """Return a voter's probabilities, or all of its vote for the class it predicts."""
    if hasattr(model, "predict_proba"):
        return call_step(model.predict_proba, X, sample_domain)
    guess = call_step(model.predict, X, sample_domain)
    return np.asarray(guess[:, None] == classes, dtype=float)


def generalization_candidates(*, centre: bool = True) -> list[tuple[str, Any]]:
    """Return the portfolio of :class:`DomainGeneralizer`, from simple to elaborate.

    Logistic regression with several costs, then SCA with the linear and the RBF kernel before
    logistic regression, then before the nearest neighbour. Samples are taken both as they are and
    standardised, since neither is better everywhere: tables and histograms gain by it, pixels and
    embeddings lose. Domain terms are in one of them: they seldom help where the target is not seen.

    Parameters
    ----------
    centre : bool
        Whether standardised samples are centred; False for sparse ones.

    Returns
    -------
    list of (str, classifier)
        Names and models, not fitted.

    Examples
    --------
    >>> from skatter.selection.generalize import generalization_candidates
    >>> for name, _ in generalization_candidates()[:2]:
    ...     print(name)
    logistic regression, C = 1
    logistic regression, C = 10
    """

    def standardised(*steps: Any) -> Any:
        return make_domain_pipeline(StandardScaler(with_mean=centre), *steps)

    def logistic(C: float) -> LogisticRegression:
        return LogisticRegression(C=C, max_iter=MAX_ITER)

    def sca(kernel: str, ridge: float, delta: float = 0.0) -> SCA:
        weights = {"delta": delta, "conditional_delta": delta}
        return SCA(N_COMPONENTS, kernel=kernel, ridge=ridge).set_params(**weights)

    plain = make_domain_pipeline
    costs = [(f"logistic regression, C = {C:g}", plain(logistic(C))) for C in (1, 10, 100)]
    scaled = [
        (f"standardised, logistic regression, C = {C:g}", standardised(logistic(C)))
        for C in (0.001, 0.01, 0.1)
    ]
    return [
        *costs,
        *scaled,
        ("linear SCA", plain(sca("linear", 1e-3), logistic(0.1))),
        ("standardised, linear SCA", standardised(sca("linear", 1e-2), logistic(0.1))),
        (
            "standardised, linear SCA with domain terms",
            standardised(sca("linear", 1e-2, delta=1.0), logistic(0.1)),
        ),
        ("RBF SCA", plain(sca("rbf", 1e-3), logistic(0.1))),
        ("standardised, RBF SCA", standardised(sca("rbf", 1e-3), logistic(0.1))),
        ("RBF SCA, nearest neighbour", plain(sca("rbf", 1e-3), KNeighborsClassifier(1))),
    ]
