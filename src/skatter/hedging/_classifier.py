"""``HedgedClassifier``: plain and adapted classifiers vote; none is chosen."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any, ClassVar

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from skatter._accuracy import ScoresLabelled
from skatter._parameters import choice, declared, integer, optional, parameter
from skatter._tensors import Array
from skatter._threads import in_threads, one_blas_thread
from skatter.domains import Codes, Domains
from skatter.hedging._champion import (
    METRICS,
    VOTER,
    ChampionClassifier,
    Metric,
    draw_rows,
    fit_held_out,
    in_columns,
    probabilities,
    read_labels,
    score_of,
    score_with,
    standard_classifiers,
)
from skatter.hedging._expectation import (
    FEWEST,
    Judgement,
    Signs,
    calibration_power,
    expected_accuracy,
    judge_models,
    votes_of,
)
from skatter.hedging._members import (
    SCALINGS,
    Hedge,
    Member,
    Views,
    draw_both_sides,
    draw_unlabelled,
)
from skatter.hedging._reverse import reverse_score
from skatter.hedging._transfer import Fold, Transfer, cheaper, domain_folds
from skatter.hedging._weights import (
    ALIKE,
    SELF_TRAINED,
    SMALL,
    correct,
    hold_vote,
    pool,
    residual_scatter,
)
from skatter.pipeline import DomainPipeline
from skatter.sca import SCA
from skatter.self_training import SCAClassifier, read_frequencies

MAX_MEASURED = 500  # samples of either side that the scatter between them is measured on
N_NEIGHBOURS = 15  # behind SCA
SELF_TRAINING: Mapping[str, Any] = {
    "scalings": ("none", "domain"),
    "structured": False,
    "n_rounds": 3,
    "n_rounds_together": 5,
}
"""Of the member that trains itself, as it was when the weights of members were fitted."""
MAX_REHEARSED = 2_000  # labelled samples of the sources that a rehearsal learns from and predicts


@declared
class HedgedClassifier(ScoresLabelled, Hedge):
    """Plain and adapted classifiers that vote, weighed without a label of the target.

    No criterion that does without target labels finds the best classifier reliably. So none is
    chosen: the members are standard classifiers (:class:`ChampionClassifier`), the same on samples
    scaled in each domain, SCA with nearest neighbours under both scalings, and
    :class:`~skatter.SCAClassifier`. The mean of their probabilities counts, each weighed by its
    agreement with the others and, where there are several sources, by a rehearsal on sources left
    out (:mod:`skatter.hedging._weights`). It is corrected for a change of the class frequencies.

    Parameters
    ----------
    champion : classifier or None
        The plain model to compare with, with ``predict_proba``; it becomes a member as well. None:
        the best of the standard classifiers on held-out source labels.
    metric : {"accuracy", "balanced accuracy"}
        What counts. For balanced accuracy, members weigh classes equally.
    class_frequencies : array-like of shape (n_classes,), mapping, "source" or None
        How frequent the classes are in the target, in the order of ``classes_`` or by class.
        ``"source"``: as in the sources. None: they are estimated.
    max_rows : int
        Samples that members of quadratic cost learn from; of more as many are drawn.

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
        How far plain members confirm one another; see :mod:`skatter.hedging._weights`.
    residual_scatter_ : float
        Share of the total scatter between sources and target after each was scaled, or 0.
    class_frequencies_ : ndarray of shape (n_classes,)
        Class frequencies of the target, given or estimated.
    transfer_ : Transfer or None
        How each source was predicted as if it were the target; None where there is one source.
    transfer_score_ : float
        The metric on sources left out, in the mean; with one source, that of reverse validation.
    judgement_ : Judgement or None
        The accuracy to expect in the target, and the gain over the champion; see
        :mod:`skatter.hedging._expectation`. None where all samples are labelled.

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

    __metadata_request__predict_proba: ClassVar = {"sample_domain": True}
    _figure: ClassVar = ("agreement", "agreement")

    champion: Any = parameter(optional(VOTER), default=None, kw_only=False)
    metric: Metric = parameter(choice(*METRICS), default="accuracy")
    class_frequencies: Any = None
    max_rows: int = parameter(integer(10), default=4_000)

    def _fit(self, X: Any, y: Any, sample_domain: Any, labelled: Any, seed: int) -> None:
        domains = read_labels(self, y, sample_domain, labelled, X.shape[0])
        # Members learn from some thousand samples: threads are for members, not for products.
        with one_blas_thread():
            self._fit_members(X, y, sample_domain, labelled, domains, seed)

    def predict_proba(self, X: Any, *, sample_domain: Any = None) -> Array:
        """Return the calibrated probability of each class; takes what :meth:`predict` takes."""
        return self._pool(self.member_probabilities(X, sample_domain=sample_domain))

    def member_probabilities(self, X: Any, *, sample_domain: Any = None) -> Array:
        """Return what each member says, an array of shape (n_members, n_samples, n_classes)."""
        views = self._new(X, sample_domain)
        return self._ask_all(self.members_, views)

    @property
    def self_trained_(self) -> SCAClassifier | None:
        """The member that trains itself on the target; None where there is no target."""
        found = [each.estimator for each in self.members_ if each.name == SELF_TRAINED]
        return found[0] if found else None

    def judge(self, X: Any, adapted: Any, plain: Any, *, sample_domain: Any = None) -> Judgement:
        """Judge the classes that two other models predict for target samples, without their labels.

        What is expected of the models, and of the gain, is that of
        :mod:`skatter.hedging._expectation`.
        """
        shares = self.member_probabilities(X, sample_domain=sample_domain)
        self._require_target()
        ours, theirs = self._codes("adapted", adapted), self._codes("plain", plain)
        return self._compare(shares, ours, theirs)

    def _codes(self, name: str, labels: Any) -> Codes:
        labels = np.asarray(labels)
        unknown = np.setdiff1d(labels, self.classes_)
        if len(unknown):
            raise ValueError(f"{name} holds {unknown[0]}, which is none of the classes of fit.")
        return np.searchsorted(self.classes_, labels.astype(self.classes_.dtype))

    def _standard(self, X: Any, domains: Domains, seed: int) -> dict[str, Any]:
        return standard_classifiers(X, len(domains.classes), metric=self.metric, random_state=seed)

    # --- members ----------------------------------------------------------------------------------

    def _fit_members(
        self, X: Any, y: Any, sample_domain: Any, labelled: Any, domains: Domains, seed: int
    ) -> None:
        frequencies = read_frequencies(self.class_frequencies, domains)
        self.champion_ = ChampionClassifier(
            self._candidates(self._standard(X, domains, seed)),
            metric=self.metric,
            standardize=self.standardize,
            random_state=seed,
        ).fit(X, y, sample_domain=sample_domain, labelled=labelled)
        self.classes_ = np.array(domains.classes)
        views = self._settle(X, domains)
        members = self._contenders()
        if views.scaler is not None:
            members += self._scaled(views, domains, seed)
        members += self._adapted(views, domains, frequencies, seed)
        self.transfer_ = self._rehearse(views, domains, seed)
        self._weigh(members, views, domains, frequencies, seed)

    def _scaled(self, views: Views, domains: Domains, seed: int) -> list[Member]:
        """Return standard classifiers scaled in each domain."""
        known = np.flatnonzero(domains.labelled)
        samples, label = views.of("domain")[known], domains.label[known]
        n_classes = len(domains.classes)

        def learn(name: str, estimator: Any) -> Member:
            fitted, held_out, rows = fit_held_out(estimator, samples, label, n_classes, seed)
            score = score_of(self.metric, label[rows], held_out)
            return Member(name, "domain", False, fitted, score)

        standard = self._standard(views.pooled, domains, seed).items()
        return in_threads(partial(learn, *each) for each in standard if each[0] in ALIKE)

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
        models = in_threads(
            partial(
                _sca_and_neighbours(int(some.labelled.sum())).fit, views.of(scaling)[rows], **given
            )
            for scaling in views.scalings
        )
        for scaling, model in zip(views.scalings, models, strict=True):
            yield Member("SCA", scaling, True, model)
        if not domains.labelled.all():
            own = SCAClassifier(**SELF_TRAINING, class_frequencies=frequencies, random_state=seed)
            own.fit(views.pooled[rows], **given)
            yield Member(SELF_TRAINED, "pooled", True, own)

    def _ask_all(self, members: Sequence[Member], views: Views) -> Array:
        for scaling in SCALINGS:
            views.of(scaling)  # once, and not in every thread
        return np.stack(in_threads(partial(self._ask, member, views) for member in members))

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
            said = in_threads(
                partial(self._left_out, views.of(scaling), domains, fold, seed)
                for scaling, fold in product(views.scalings, folds)
            )
            shares = [
                np.concatenate(said[start : start + len(folds)], axis=1)
                for start in range(0, len(said), len(folds))
            ]
            every = scores(np.concatenate(shares))
            means = [float(scores(each).mean()) for each in shares]
        return Transfer(every, means[0], means[-1])

    def _left_out(self, X: Any, domains: Domains, fold: Fold, seed: int) -> Array:
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
        self.power_, self.consistency_, self.residual_scatter_ = 1.0, 1.0, 0.0
        self.odds_ = np.ones((len(members), len(self.prior_)))
        self.class_frequencies_ = self.prior_
        self.judgement_: Judgement | None = None
        rows = draw_unlabelled(domains, seed)
        if not len(rows):
            self.members_ = tuple(replace(each, weight=1 / len(members)) for each in members)
            return
        self.residual_scatter_ = self._residual(views, rows, domains, seed)
        shares = self._ask_all(members, views.take(rows))
        vote = hold_vote(
            members,
            shares,
            self.champion_.champion_,
            self.prior_,
            self.metric,
            frequencies=frequencies,
            transfer=self.transfer_,
            residual=self.residual_scatter_,
        )
        self.odds_, self.class_frequencies_ = vote.odds, vote.frequencies
        self.agreement_, self.consistency_ = float(vote.agreement.mean()), vote.consistency
        self._weighed(members, vote.agreement, vote.weights)
        self._judge(shares, views, rows, domains, seed)

    def _residual(self, views: Views, rows: Codes, domains: Domains, seed: int) -> float:
        """Return the scatter between sources and target where each domain is scaled, else 0."""
        if views.scaler is None:
            return 0.0
        X, known = views.of("domain"), np.flatnonzero(domains.labelled & domains.source)
        rng, most = np.random.default_rng(seed), min(MAX_MEASURED, self.max_rows // 2)
        return residual_scatter(*(X[rng.permutation(side)[:most]] for side in (known, rows)))

    def _judge(self, shares: Array, views: Views, rows: Codes, domains: Domains, seed: int) -> None:
        best = self.champion_.contender(self.champion_.champion_)
        plain = shares[[each.name for each in self.members_].index(best.name)]
        pooled = self._pool(shares)
        predicted = pooled.argmax(axis=1)
        if self.transfer_ is None:
            known = np.flatnonzero(domains.labelled & domains.source)
            X, label = views.of("domain"), domains.label[known]
            transfer = reverse_score(X[rows], predicted, X[known], label, self.metric, seed)
        else:
            transfer = float(self.transfer_.scores.mean())
        self.transfer_score_ = transfer
        source = score_with(self.class_frequencies_, best.score, best.recall, self.metric)
        signs = Signs(source, self.agreement_, transfer, self.residual_scatter_)
        self.expected_accuracy_ = expected_accuracy(signs, len(self.classes_), self.metric)
        self.power_ = calibration_power(pooled, self.expected_accuracy_.value)
        self.judgement_ = self._compare(shares, predicted, plain.argmax(axis=1))

    def _compare(self, shares: Array, adapted: Codes, plain: Codes) -> Judgement:
        calibrated, votes = self._pool(shares), votes_of(correct(shares, self.odds_))
        expected = self.expected_accuracy_
        return judge_models(calibrated, votes, adapted, plain, expected, self.metric)

    def _pool(self, shares: Array) -> Array:
        return pool(self._weights, shares, self.odds_, self.power_)


def _sca_and_neighbours(n_labelled: int) -> DomainPipeline:
    # No tree: its nodes cannot be checked when a saved model is loaded.
    nearest = KNeighborsClassifier(
        min(N_NEIGHBOURS, n_labelled), weights="distance", algorithm="brute"
    )
    return DomainPipeline([("sca", SCA()), ("nearest", nearest)])
