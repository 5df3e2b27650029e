"""``HedgedClassifier``: plain and adapted classifiers vote; none is chosen."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from skatter.accuracy import ScoresLabelled
from skatter.checks import check_choice, check_integer
from skatter.domains import Codes, Domains
from skatter.hedging.champion import (
    METRICS,
    OWN,
    ChampionClassifier,
    Metric,
    check_with_gaps,
    draw_rows,
    fit_held_out,
    in_columns,
    probabilities,
    read_labels,
    score_of,
    standard_classifiers,
)
from skatter.hedging.draw import draw_both_sides
from skatter.hedging.expectation import (
    FEWEST,
    Judgement,
    calibration_power,
    expected_accuracy,
    judge_models,
    mean_estimate,
    votes_of,
)
from skatter.hedging.members import SCALINGS, Member, Scaling, Views, scale_domains
from skatter.hedging.transfer import Fold, Transfer, cheaper, domain_folds, expect_unseen
from skatter.hedging.weights import ALIKE, SELF_TRAINED, SMALL, hold_vote, pool
from skatter.notebook import Section, ShowsLearnt
from skatter.pipeline import DomainPipeline
from skatter.sca import SCA
from skatter.self_training import SCAClassifier, read_frequencies

Array = NDArray[Any]

MAX_JUDGED = 5_000
"""Target samples that members are compared on; of more as many are drawn."""

N_NEIGHBOURS = 15
"""Behind SCA."""

MAX_REHEARSED = 2_000
"""Labelled samples of the sources that a rehearsal learns from and predicts."""


class HedgedClassifier(ScoresLabelled, ShowsLearnt):
    """Plain and adapted classifiers that vote, weighed without a label of the target.

    No classifier is the best on every table, and no criterion that does without target labels
    finds the best one reliably. So none is chosen. The members are standard classifiers
    (:class:`ChampionClassifier`), the same on samples scaled in each domain, SCA with nearest
    neighbours under both scalings, and :class:`~skatter.SCAClassifier`, which trains itself on the
    target. The mean of their probabilities counts, each weighed by its agreement with the others
    and, where there are several sources, by a rehearsal on sources left out
    (:mod:`skatter.hedging.weights`). It is corrected for a change of the class frequencies.

    Parameters
    ----------
    champion : classifier or None
        The plain model to compare with, with ``predict_proba``; it becomes a member as well. None:
        the best of the standard classifiers on held-out source labels.
    metric : {"accuracy", "balanced accuracy"}
        What counts. For balanced accuracy, members weigh classes equally.
    class_frequencies : array-like of shape (n_classes,), mapping, "source" or None
        How frequent the classes are in the target, where that is known: in the order of
        ``classes_``, or a mapping from class to share. ``"source"``: as in the sources. None: they
        are estimated.
    standardize : bool
        Standardise the columns first, so that their units do not matter. False where all columns
        share one unit, as pixels, counts and embeddings do.
    max_rows : int
        Samples that members of quadratic cost learn from; of more as many are drawn.
    random_state : int
        Seed of everything that is random.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    members_ : tuple of Member
        Who votes, with what each thought and weighs.
    champion_ : ChampionClassifier
        The plain model, fitted.
    agreement_ : float
        Mean share of target samples on which two members predict the same.
    consistency_ : float
        How far plain members confirm one another; see :mod:`skatter.hedging.weights`.
    class_frequencies_ : ndarray of shape (n_classes,)
        Class frequencies of the target, given or estimated.
    transfer_ : Transfer or None
        How a rehearsal went in which each source was left out as if it were the target; see
        :mod:`skatter.hedging.transfer`. None where there is one source.
    judgement_ : Judgement or None
        The accuracy to expect in the target, and the gain over the champion, each with an
        interval; see :mod:`skatter.hedging.expectation`. None where all samples are labelled.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter import HedgedClassifier
    >>> rng = np.random.default_rng(0)
    >>> y, site = np.tile(["no", "yes"], 60), np.repeat(["here", "there"], 60)
    >>> X = rng.normal(size=(120, 4)) + 3 * (y == "yes")[:, None] + (site == "there")[:, None]
    >>> known = np.where(site == "here", y, None)
    >>> model = HedgedClassifier().fit(X, known, sample_domain=site)
    >>> bool(np.mean(model.predict(X[60:], sample_domain=site[60:]) == y[60:]) > 0.9)
    True
    """

    __metadata_request__fit: ClassVar = {"sample_domain": True, "labelled": True}
    __metadata_request__predict: ClassVar = {"sample_domain": True}
    __metadata_request__predict_proba: ClassVar = {"sample_domain": True}

    def __init__(
        self,
        champion: Any = None,
        *,
        metric: Metric = "accuracy",
        class_frequencies: Any = None,
        standardize: bool = True,
        max_rows: int = 4_000,
        random_state: int = 0,
    ) -> None:
        self.champion = champion
        self.metric = metric
        self.class_frequencies = class_frequencies
        self.standardize = standardize
        self.max_rows = max_rows
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any = None, *, sample_domain: Any = None, labelled: Any = None
    ) -> HedgedClassifier:
        """Fit all members and weigh them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples of all domains, labelled or not; NaN where a value is missing.
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
        seed = self._check_parameters()
        X = check_with_gaps(self, X, reset=True)
        domains = read_labels(self, y, sample_domain, labelled, X.shape[0])
        # Members learn from some thousand samples: one thread is sooner done than several.
        with threadpool_limits(1):
            self._fit_members(X, y, sample_domain, labelled, domains, seed)
        return self

    def predict(self, X: Any, *, sample_domain: Any = None) -> Array:
        """Predict the classes of samples, seen before or not.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        sample_domain : array-like of shape (n_samples,) or None
            Their domains. None, and ids that ``fit`` has not seen: the target.
        """
        shares = self.predict_proba(X, sample_domain=sample_domain)
        return self.classes_[shares.argmax(axis=1)]

    def predict_proba(self, X: Any, *, sample_domain: Any = None) -> Array:
        """Return the calibrated probability of each class; takes what :meth:`predict` takes."""
        return self._pool(self.member_probabilities(X, sample_domain=sample_domain))

    def member_probabilities(self, X: Any, *, sample_domain: Any = None) -> Array:
        """Return what each member says, an array of shape (n_members, n_samples, n_classes)."""
        check_is_fitted(self)
        X = self.champion_.scaler_.transform(check_with_gaps(self, X, reset=False))
        views = Views(X, self.domain_scaler_, sample_domain)
        return np.stack([self._ask(member, views) for member in self.members_])

    @property
    def self_trained_(self) -> SCAClassifier | None:
        """The member that trains itself on the target; None where there is no target."""
        found = [each.estimator for each in self.members_ if each.name == SELF_TRAINED]
        return found[0] if found else None

    def judge(self, X: Any, adapted: Any, plain: Any, *, sample_domain: Any = None) -> Judgement:
        """Judge the predictions of two other models for target samples, without their labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples of the target.
        adapted, plain : array-like of shape (n_samples,)
            Classes that the models predict.
        sample_domain : array-like of shape (n_samples,) or None
            Domains of the samples.

        Returns
        -------
        Judgement
            Expected accuracies and gain; see :mod:`skatter.hedging.expectation`.
        """
        shares = self.member_probabilities(X, sample_domain=sample_domain)
        if self.judgement_ is None:
            raise ValueError("all samples of fit had a label: there was no target to judge by.")
        ours, theirs = self._codes("adapted", adapted), self._codes("plain", plain)
        return self._compare(shares, ours, theirs)

    def _codes(self, name: str, labels: Any) -> Codes:
        labels = np.asarray(labels)
        unknown = np.setdiff1d(labels, self.classes_)
        if len(unknown):
            raise ValueError(f"{name} holds {unknown[0]}, which is none of the classes of fit.")
        return np.searchsorted(self.classes_, labels.astype(self.classes_.dtype))

    # --- parameters -------------------------------------------------------------------------------

    def _check_parameters(self) -> int:
        check_choice("metric", self.metric, METRICS)
        check_choice("standardize", self.standardize, (True, False))
        check_integer("max_rows", self.max_rows, low=10)
        own = self.champion
        if own is not None and not (is_classifier(own) and hasattr(own, "predict_proba")):
            raise TypeError(
                f"champion must be a classifier with predict_proba, got {type(own).__name__}."
            )
        return check_integer("random_state", self.random_state, low=0)

    def _champion(self, X: Any, domains: Domains, seed: int) -> ChampionClassifier:
        candidates = None
        if self.champion is not None:
            candidates = {OWN: self.champion, **self._standard(X, domains, seed)}
        return ChampionClassifier(
            candidates, metric=self.metric, standardize=self.standardize, random_state=seed
        )

    def _standard(self, X: Any, domains: Domains, seed: int) -> dict[str, Any]:
        return standard_classifiers(X, len(domains.classes), metric=self.metric, random_state=seed)

    # --- members ----------------------------------------------------------------------------------

    def _fit_members(
        self, X: Any, y: Any, sample_domain: Any, labelled: Any, domains: Domains, seed: int
    ) -> None:
        frequencies = read_frequencies(self.class_frequencies, domains)
        self.champion_ = self._champion(X, domains, seed).fit(
            X, y, sample_domain=sample_domain, labelled=labelled
        )
        if self.champion is not None:
            self.champion_.champion_ = OWN  # whatever the scores are: it was asked for
        self.classes_ = np.array(domains.classes)
        pooled = self.champion_.scaler_.transform(X)
        self.domain_scaler_ = scale_domains(pooled, domains)
        views = Views(pooled, self.domain_scaler_, domains.domain_ids[domains.domain])
        members = [
            *self._plain(views, domains, seed),
            *self._adapted(views, domains, frequencies, seed),
        ]
        self.transfer_ = self._rehearse(views, domains, seed)
        self._weigh(members, views, domains, frequencies, seed)

    def _plain(self, views: Views, domains: Domains, seed: int) -> Iterator[Member]:
        """Yield what the champion was chosen from, and the same scaled in each domain."""
        for each in self.champion_.contenders_:
            yield Member(each.name, "pooled", False, each.estimator, each.score)
        if views.scaler is None:
            return
        known = np.flatnonzero(domains.labelled)
        samples, label = views.of("domain")[known], domains.label[known]
        for name, estimator in self._standard(views.pooled, domains, seed).items():
            if name in ALIKE:
                fitted, held_out, rows = fit_held_out(
                    estimator, samples, label, len(domains.classes), seed
                )
                score = score_of(self.metric, label[rows], held_out)
                yield Member(name, "domain", False, fitted, score)

    def _adapted(
        self, views: Views, domains: Domains, frequencies: Array | None, seed: int
    ) -> Iterator[Member]:
        """Yield SCA under both scalings, and SCA that trains itself."""
        rows = draw_both_sides(domains, self.max_rows, seed)
        some = domains.take(rows)
        given = {
            "y": np.maximum(some.label, 0),
            "sample_domain": some.domain_ids[some.domain],
            "labelled": some.labelled,
        }
        scalings: tuple[Scaling, ...] = ("pooled",) if views.scaler is None else SCALINGS
        for scaling in scalings:
            model = _sca_and_neighbours(int(some.labelled.sum()))
            yield Member("SCA", scaling, True, model.fit(views.of(scaling)[rows], **given))
        if not domains.labelled.all():
            own = SCAClassifier(class_frequencies=frequencies, random_state=seed)
            own.fit(views.pooled[rows], **given)
            yield Member(SELF_TRAINED, "pooled", True, own)

    def _ask(self, member: Member, views: Views) -> Array:
        X = views.of(member.scaling)
        if member.name == SELF_TRAINED:
            shares = member.estimator.predict_proba(X, sample_domain=views.ids)
            return in_columns(shares, member.estimator.classes_, len(self.classes_))
        shares = probabilities(member.estimator, X, len(self.classes_))
        if member.adapts and self.metric == "balanced accuracy":
            # All other members weigh classes equally when they learn.
            shares = shares / np.maximum(self.prior_, SMALL)
            shares /= shares.sum(axis=1, keepdims=True)
        return shares

    # --- rehearsal --------------------------------------------------------------------------------

    def _rehearse(self, views: Views, domains: Domains, seed: int) -> Transfer | None:
        """Leave each source out in turn, as if it were the target, and let members predict it."""
        rows = np.flatnonzero(domains.labelled & domains.source)
        rows = rows[draw_rows(domains.label[rows], MAX_REHEARSED, seed)]
        folds = domain_folds(domains, rows, rows)
        held = np.concatenate([rows[:0], *(held for _, held in folds)])
        places = np.unique(domains.domain[held], return_counts=True)
        sources = [place for place, n in zip(*places, strict=True) if n >= FEWEST]
        if len(sources) < 2 or domains.labelled.all():
            return None
        label, place = domains.label[held], domains.domain[held]

        def scores(shares: Array) -> Array:
            mean = shares.mean(axis=0)
            own = (place == source for source in sources)
            return np.array([score_of(self.metric, label[each], mean[each]) for each in own])

        with warnings.catch_warnings():
            # A source may lack a class; a regression that is cut short predicts as well.
            warnings.simplefilter("ignore", UserWarning)
            shares = {
                scaling: np.concatenate(
                    [self._left_out(views.of(scaling), domains, fold, seed) for fold in folds],
                    axis=1,
                )
                for scaling in (SCALINGS if views.scaler is not None else SCALINGS[:1])
            }
            every = scores(np.concatenate(list(shares.values())))
            means = [float(scores(each).mean()) for each in shares.values()]
        return Transfer(every, means[0], means[-1])

    def _left_out(self, X: Any, domains: Domains, fold: Fold, seed: int) -> Array:
        """Return what plain members and SCA say of samples left out, taught by the others."""
        learn, held = fold
        n_classes = len(domains.classes)
        said = [
            probabilities(cheaper(each).fit(X[learn], domains.label[learn]), X[held], n_classes)
            for name, each in self._standard(X, domains, seed).items()
            if name in ALIKE
        ]
        both = np.concatenate([learn, held])
        sca = _sca_and_neighbours(len(learn)).fit(
            X[both],
            domains.label[both],
            sample_domain=domains.domain[both],
            labelled=np.arange(len(both)) < len(learn),
        )
        return np.stack([*said, probabilities(sca, X[held], n_classes)])

    # --- weights ----------------------------------------------------------------------------------

    def _weigh(
        self,
        members: list[Member],
        views: Views,
        domains: Domains,
        frequencies: Array | None,
        seed: int,
    ) -> None:
        """Weigh the members by what they say of the unlabelled samples."""
        known = domains.label[domains.labelled & domains.source]
        self.prior_ = np.bincount(known, minlength=len(self.classes_)) / len(known)
        self.odds_, self.power_, self.consistency_ = np.ones(len(self.prior_)), 1.0, 1.0
        self.class_frequencies_ = self.prior_
        self.judgement_: Judgement | None = None
        rows = np.flatnonzero(~domains.labelled)
        if not len(rows):
            self.members_ = tuple(replace(each, weight=1 / len(members)) for each in members)
            return
        rows = rows[np.sort(np.random.default_rng(seed).permutation(len(rows))[:MAX_JUDGED])]
        shares = np.stack([self._ask(member, views.take(rows)) for member in members])
        vote = hold_vote(
            members,
            shares,
            self.champion_.champion_,
            self.prior_,
            self.metric,
            frequencies=frequencies,
            transfer=self.transfer_,
        )
        self.odds_, self.class_frequencies_ = vote.odds, vote.frequencies
        self.agreement_, self.consistency_ = float(vote.agreement.mean()), vote.consistency
        self.members_ = tuple(
            replace(each, agreement=float(a), weight=float(w))
            for each, a, w in zip(members, vote.agreement, vote.weights, strict=True)
        )
        self._judge(shares)

    def _judge(self, shares: Array) -> None:
        """Estimate the accuracy in the target, and calibrate the probabilities by it."""
        best = self.champion_.contender(self.champion_.champion_)
        plain = shares[[each.name for each in self.members_].index(best.name)]
        n_classes = len(self.classes_)
        accuracy = expected_accuracy(best.score, self.agreement_, n_classes, self.metric)
        if self.transfer_ is not None:
            accuracy = mean_estimate(accuracy, expect_unseen(self.transfer_.scores, n_classes))
        pooled = self._pool(shares)
        self.power_, self.expected_accuracy_ = calibration_power(pooled, accuracy.value), accuracy
        self.judgement_ = self._compare(shares, pooled.argmax(axis=1), plain.argmax(axis=1))

    def _compare(self, shares: Array, adapted: Codes, plain: Codes) -> Judgement:
        calibrated, votes = self._pool(shares), votes_of(shares)
        expected = self.expected_accuracy_
        return judge_models(calibrated, votes, adapted, plain, expected, self.metric)

    def _pool(self, shares: Array) -> Array:
        weights = np.array([member.weight for member in self.members_])
        return pool(weights, shares, self.odds_, self.power_)

    def learnt(self) -> list[Section]:
        """Return what a notebook shows: who votes, and how much each counts."""
        if not hasattr(self, "members_"):
            return []
        lines = tuple(
            (f"{each.name}, {each.scaling}", f"{each.weight:.2f}", f"{each.agreement:.2f}")
            for each in self.members_
        )
        return [Section("Members", (), ("member", "weight", "agreement"), lines)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags


def _sca_and_neighbours(n_labelled: int) -> DomainPipeline:
    # No tree: its nodes cannot be checked when a saved model is loaded.
    nearest = KNeighborsClassifier(
        min(N_NEIGHBOURS, n_labelled), weights="distance", algorithm="brute"
    )
    return DomainPipeline([("sca", SCA()), ("nearest", nearest)])
