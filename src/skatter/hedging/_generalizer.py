"""``DomainGeneralizer``: classifiers for a domain nobody has seen, weighed by domains left out.

Each source domain d is left out and predicted by what the others taught. Let l(c, d) be the mean
log loss of member c there. It counts

    w_c ∝ v_c exp(−η L_c (m − 1) / (m + 3)),    L_c = min(log C, mean over m domains of l(c, d)),

(or the largest of them where ``criterion="worst"``): worse than guessing among C classes is all
one. Log loss tells members apart sooner than accuracy does, and punishes one that is sure and wrong
elsewhere. So that a member does not lose for being too modest, or win a vote by being too sure, its
probabilities are first raised to the power that left-out domains like best.

Trees never extrapolate, and lines do: values beyond those of the sources are cut off at these for
all members whose columns are not scaled in each domain. Those that are need a batch of the new
domain, and have half a voice v: they share one assumption, that classes are as frequent in every
domain. The accuracies of the vote on the domains left out say how well it will do
(:mod:`skatter.hedging._transfer`); docs/generalization.md, how well it did.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted

from skatter._accuracy import ScoresLabelled
from skatter._formatting import percent
from skatter._notebook import Section, ShowsLearnt, listed_with_counts
from skatter._parameters import choice, declared, integer, parameter
from skatter._tensors import Array
from skatter._threads import in_threads, one_blas_thread
from skatter.domains import Codes, Domains, read_domains
from skatter.hedging._champion import (
    MAX_ITER,
    VOTER,
    LearnsFromDomains,
    check_with_gaps,
    draw_rows,
    make_scaler,
    named,
    probabilities,
    read_labels,
    source_folds,
    standard_classifiers,
)
from skatter.hedging._members import Member, Scaling
from skatter.hedging._transfer import Fold, cheaper, domain_folds, expect_unseen, usable_folds
from skatter.pipeline import make_domain_pipeline
from skatter.sca import SCA
from skatter.scaling import DomainScaler

Criterion = Literal["mean", "worst"]
CRITERIA = ("mean", "worst")
BY_DOMAIN = "leave-one-domain-out"
Reach = tuple[Array, Array] | None  # least and largest value of each column

SHARPNESS = 45.0  # η: how much less a member counts that predicts left-out domains worse
DOMAIN_VOICE = 0.5  # v: of a member that is scaled in each domain
LEAST_WEIGHT = 0.02  # of the largest weight; members with less do not vote
SMOOTHING = 0.01  # share of guessing in probabilities before their logarithm is taken
POWERS = (0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0)  # below one a member is more modest
LEAST_SHARE = 1e-6  # probability that is raised to a power in place of none
N_COMPONENTS = 60  # of SCA, or all there are
IN_BATCHES = ("logistic", "svm", "SCA")  # also there on columns scaled in each domain
FEWEST_OF_A_BATCH = 30  # samples from which a domain's own mean and standard deviation are used


@declared
class DomainGeneralizer(ScoresLabelled, LearnsFromDomains, ShowsLearnt):
    """Classifiers that vote on domains nobody has seen, weighed by source domains left out.

    The members are the standard classifiers that :class:`ChampionClassifier` chooses from and SCA
    with a logistic regression; and, for a batch of the new domain, some of them on columns scaled
    in each domain. Only labelled samples are used. Those of a target are learnt from and never left
    out.

    Parameters
    ----------
    candidates : mapping of str to classifier, or None
        Who competes, with ``predict_proba``; one that takes ``sample_domain`` is given it. None:
        the members named above.
    criterion : {"mean", "worst"}
        What counts: the mean over the domains left out, or the worst of them.
    max_rows : int
        Samples that members learn from while they are judged, and SCA in the end; of more as many
        are drawn.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    members_ : tuple of Member
        Who votes, fitted on all labelled samples, with its weight and its mean accuracy on what was
        left out. Samples that come alone are voted on by members with the scaling ``"pooled"``.
    validation_ : str
        ``"leave-one-domain-out"``, or ``"stratified folds"`` where a single domain has labels.
    held_out_ : list
        What was left out in turn: domains, or the numbers of folds.
    scores_, losses_ : dict of str to ndarray
        Accuracy and log loss of each candidate on each of these, whether it votes or not.
    powers_ : dict of str to float
        What the probabilities of each candidate are raised to.
    held_out_scores_ : dict of str to ndarray
        Accuracy of the vote on each of these: ``"alone"`` of the members that can vote on a single
        sample, ``"batch"`` of all.
    expected_accuracy_ : dict of str to Estimate
        Accuracy to expect on the next unseen domain, with a 90 % interval, under the same names.

    See Also
    --------
    HedgedClassifier : Where samples of the new domain are there, without labels, to learn from.
    LeaveOneDomainOut : The splits alone, for scikit-learn's own searches.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter import DomainGeneralizer
    >>> rng = np.random.default_rng(0)
    >>> site, y = np.repeat(["a", "b", "c"], 40), np.tile([0, 1], 60)
    >>> X = rng.normal(size=(120, 3)) + 2 * y[:, None]
    >>> model = DomainGeneralizer().fit(X, y, sample_domain=site)
    >>> model.held_out_
    ['a', 'b', 'c']
    >>> model.predict([[0.0, 0.0, 0.0], [2.0, 2.0, 2.0]])
    array([0, 1])
    >>> batch = rng.normal(size=(40, 3)) + 5
    >>> model.predict(batch, sample_domain=np.full(40, "d")).shape  # its own scale is used too
    (40,)
    """

    __metadata_request__predict_proba: ClassVar = {"sample_domain": True}

    candidates: Mapping[str, Any] | None = parameter(named(VOTER), default=None, kw_only=False)
    criterion: Criterion = parameter(choice(*CRITERIA), default="mean")
    max_rows: int = parameter(integer(10), default=4_000)

    def _fit(self, X: Any, y: Any, sample_domain: Any, labelled: Any, seed: int) -> None:
        domains = read_labels(self, y, sample_domain, labelled, X.shape[0])
        known = np.flatnonzero(domains.labelled)
        with warnings.catch_warnings(), one_blas_thread():
            # So many components, or as many as there are; a regression that is cut short predicts
            # as well.
            warnings.filterwarnings("ignore", message="n_components=.* exceeds the rank")
            warnings.filterwarnings("ignore", message="float32 is not enough")
            warnings.simplefilter("ignore", ConvergenceWarning)
            self._fit_members(X[known], domains.take(known), seed)

    def predict_proba(self, X: Any, *, sample_domain: Any = None) -> Array:
        """Return the probability of each class; takes what :meth:`predict` takes.

        Domains of 30 samples or more are scaled by their own statistics, for the members that were
        judged so. Without ``sample_domain``, and for fewer samples, these members do not vote.
        """
        said = self.member_probabilities(X, sample_domain=sample_domain)
        weights = np.array([each.weight for each in self.members_])[:, None, None]
        votes = np.where(np.isnan(said), 0.0, weights)
        return np.asarray((votes * np.nan_to_num(said)).sum(axis=0) / votes.sum(axis=0))

    def member_probabilities(self, X: Any, *, sample_domain: Any = None) -> Array:
        """Return what each member says, an array of shape (n_members, n_samples, n_classes).

        Probabilities are raised to the power of ``powers_``. They are NaN where a member that needs
        a batch of the domain does not vote.
        """
        check_is_fitted(self)
        X = self.scaler_.transform(check_with_gaps(self, X, reset=False))
        out = np.full((len(self.members_), X.shape[0], len(self.classes_)), np.nan)
        batches, rows = X[:0], np.empty(0, dtype=np.intp)
        if sample_domain is not None and any(m.scaling == "domain" for m in self.members_):
            ids = read_domains(None, sample_domain, n_samples=X.shape[0]).domain
            rows = np.flatnonzero(np.bincount(ids)[ids] >= FEWEST_OF_A_BATCH)
            if len(rows):
                batches = DomainScaler().fit_transform(X[rows], sample_domain=ids[rows])
        X = _cut_off(X, self.reach_)
        for place, each in enumerate(self.members_):
            alone = each.scaling == "pooled"
            if alone or len(rows):
                said = probabilities(each.estimator, X if alone else batches, len(self.classes_))
                out[place, slice(None) if alone else rows] = temper(said, self.powers_[each.title])
        return out

    def _candidates(self, X: Any, domains: Domains, seed: int) -> list[Member]:
        """Return who competes, not fitted, the cheapest first."""
        if self.candidates is not None:
            return [Member(name, "pooled", False, each) for name, each in self.candidates.items()]
        n_classes = len(domains.classes)
        plain = standard_classifiers(X, n_classes, metric="accuracy", random_state=seed)
        sca = make_domain_pipeline(
            SCA(N_COMPONENTS).set_params(delta=0.0, conditional_delta=0.0),
            LogisticRegression(C=0.1, max_iter=MAX_ITER),
        )
        found = [Member(name, "pooled", False, each) for name, each in plain.items()]
        found.append(Member("SCA", "pooled", True, sca))
        if self.validation_ == BY_DOMAIN and not sparse.issparse(X):
            found += [replace(each, scaling="domain") for each in found if each.name in IN_BATCHES]
        return found

    # --- what is left out -------------------------------------------------------------------------

    def _folds(self, domains: Domains, seed: int) -> tuple[list[Fold], Codes]:
        """Return what to learn from and what to predict, and the unit that each row is scored in.

        Units are domains, and folds where a single domain has labels.
        """
        rows = np.flatnonzero(domains.source)
        if not len(rows):
            raise ValueError(
                "y has no labelled sample in a source domain to leave out. Under the sign "
                "convention sources have non-negative ids."
            )
        every = np.arange(len(domains.label))
        folds = domain_folds(domains, rows, every)
        self.validation_, unit = BY_DOMAIN, domains.domain
        if not folds:
            splits = source_folds(domains.label[rows], seed)
            parts = (rows[held] for _, held in splits)
            folds = list(usable_folds(domains.label, parts, every))
            self.validation_, unit = "stratified folds", np.zeros(len(unit), dtype=np.intp)
            for number, (_, held) in enumerate(folds):
                unit[held] = number
        if not folds:
            raise ValueError(
                "y has too few labelled samples to leave some out: two classes must remain. Give "
                "more labelled samples or source domains."
            )
        there = np.unique(np.concatenate([unit[held] for _, held in folds]))
        self.held_out_ = (domains.domain_ids[there] if unit is domains.domain else there).tolist()
        return folds, unit

    def _fit_members(self, X: Any, domains: Domains, seed: int) -> None:
        folds, unit = self._folds(domains, seed)
        candidates = self._candidates(X, domains, seed)
        self.classes_ = np.array(domains.classes)
        rows = np.concatenate([held for _, held in folds])
        label, unit = domains.label[rows], unit[rows]
        judged = [self._judge(candidates, X, domains, fold, seed) for fold in folds]
        shares = np.concatenate(judged, axis=1)
        powers = [best_power(each, label, unit) for each in shares]
        shares = np.stack([temper(each, p) for each, p in zip(shares, powers, strict=True)])
        right = np.stack([_means(each.argmax(axis=1) == label, unit) for each in shares])
        loss = np.stack([_means(log_loss(each, label), unit) for each in shares])
        alone = np.array([each.scaling == "pooled" for each in candidates])
        weights = member_weights(loss, alone, len(self.classes_), self.criterion)
        names = [each.title for each in candidates]
        self.scores_ = dict(zip(names, right, strict=True))
        self.losses_ = dict(zip(names, loss, strict=True))
        self.powers_ = dict(zip(names, powers, strict=True))
        self.held_out_scores_ = {
            kind: _means(np.tensordot(own, shares, axes=1).argmax(axis=1) == label, unit)
            for kind, own in (("alone", weights * alone), ("batch", weights))
        }
        self.expected_accuracy_ = {
            kind: expect_unseen(each, len(self.classes_))
            for kind, each in self.held_out_scores_.items()
        }
        self.scaler_ = make_scaler(sparse.issparse(X), self.standardize).fit(X)
        X = self.scaler_.transform(X)
        self.reach_ = _reach(X)
        voters = [
            replace(each, source_score=float(score.mean()), weight=float(weight))
            for each, score, weight in zip(candidates, right, weights, strict=True)
            if weight > 0
        ]
        views = _views(X, self.reach_, domains, voters)
        fitted = in_threads(partial(self._fit_one, each, views, domains, seed) for each in voters)
        self.members_ = tuple(
            replace(each, estimator=model) for each, model in zip(voters, fitted, strict=True)
        )

    def _judge(
        self, candidates: list[Member], X: Any, domains: Domains, fold: Fold, seed: int
    ) -> Array:
        """Return what each candidate says of left-out rows, taught by the others."""
        learn, held = fold
        learn = learn[draw_rows(domains.label[learn], self.max_rows, seed)]
        scaler = make_scaler(sparse.issparse(X), self.standardize).fit(X[learn])
        taught = domains.take(learn)
        X, left_out = scaler.transform(X[learn]), scaler.transform(X[held])
        reach = _reach(X)
        known = _views(X, reach, taught, candidates)
        new = _views(left_out, reach, domains.take(held), candidates)

        def answer(member: Member) -> Array:
            rival = replace(member, estimator=cheaper(member.estimator))
            model = self._fit_one(rival, known, taught, seed)
            return probabilities(model, new[member.scaling], len(domains.classes))

        return np.stack(in_threads(partial(answer, each) for each in candidates))

    def _fit_one(
        self, member: Member, views: Mapping[Scaling, Any], domains: Domains, seed: int
    ) -> Any:
        """Fit a copy of a member on samples as it likes them; an error says whose it is."""
        rows = np.arange(domains.n_rows)
        if member.adapts:  # it is of quadratic cost
            rows = draw_rows(domains.label, self.max_rows, seed)
        model = make_domain_pipeline(clone(member.estimator))
        known = {"sample_domain": domains.domain[rows], "labelled": np.ones(len(rows), dtype=bool)}
        try:
            return model.fit(views[member.scaling][rows], domains.label[rows], **known)
        except Exception as error:
            error.add_note(f"This was candidate {member.name!r} of DomainGeneralizer.")
            raise

    def learnt(self) -> list[Section]:
        """Return what a notebook shows: who votes, and how much each counts."""
        if not hasattr(self, "members_"):
            return []
        weights = {each.title: f"{each.weight:.2f}" for each in self.members_}
        expected = self.expected_accuracy_
        facts = (
            ("left out", f"{self.validation_}: {listed_with_counts(self.held_out_)}"),
            ("expected on the next unseen domain, in batches", str(expected["batch"])),
            ("expected of samples that come alone", str(expected["alone"])),
            ("classes", listed_with_counts(self.classes_)),
        )
        lines = tuple(
            (name, percent(score.mean()), percent(score.min()), weights.get(name, "–"))
            for name, score in self.scores_.items()
        )
        heads = ("candidate", "mean accuracy", "worst", "weight")
        return [Section(type(self).__name__, facts, heads, lines)]


def _reach(X: Any) -> Reach:
    return None if sparse.issparse(X) else (X.min(axis=0), X.max(axis=0))


def _views(X: Any, reach: Reach, domains: Domains, members: list[Member]) -> Mapping[Scaling, Any]:
    """Return samples cut off at what was seen, and scaled in each domain if a member asks."""
    views: dict[Scaling, Any] = {"pooled": _cut_off(X, reach)}
    if any(each.scaling == "domain" for each in members):
        views["domain"] = DomainScaler().fit_transform(X, sample_domain=domains.domain)
    return views


def _cut_off(X: Any, reach: Reach) -> Any:
    """Return samples without values beyond those that were seen; sparse ones as they are."""
    return X if reach is None else np.clip(X, *reach)


def temper(shares: Array, power: float) -> Array:
    raised = np.maximum(shares, LEAST_SHARE) ** power
    return np.asarray(raised / raised.sum(axis=-1, keepdims=True))


def best_power(shares: Array, label: Codes, unit: Codes) -> float:
    """Return the power of the least log loss, the mean over what was left out."""
    losses = [_means(log_loss(temper(shares, power), label), unit).mean() for power in POWERS]
    return POWERS[int(np.argmin(losses))]


def member_weights(
    loss: Array,
    alone: Array,
    n_classes: int,
    criterion: Criterion = "mean",
    sharpness: float = SHARPNESS,
) -> Array:
    """Return the weights of members by their loss on what was left out; they sum to one.

    Those with next to nothing get nothing, so that they need not be fitted again; one of those that
    can vote ``alone``, on a single sample, keeps its weight.
    """
    n_domains = loss.shape[1]
    counts = loss.mean(axis=1) if criterion == "mean" else loss.max(axis=1)
    counts = np.minimum(counts, np.log(n_classes))
    sharpness *= (n_domains - 1) / (n_domains + 3)
    weights = np.where(alone, 1, DOMAIN_VOICE) * np.exp(-sharpness * (counts - counts.min()))
    best = np.where(alone, weights[alone].max(), weights.max())
    weights[weights < LEAST_WEIGHT * best] = 0
    return weights / weights.sum()


def log_loss(shares: Array, label: Codes) -> Array:
    """Return the log loss of each sample; no probability counts as none at all."""
    own = shares[np.arange(len(label)), label]
    return -np.log((1 - SMOOTHING) * own + SMOOTHING / shares.shape[1])


def _means(values: Array, unit: Codes) -> Array:
    """Return the mean of the values of each unit that is there."""
    counts = np.bincount(unit)
    return (np.bincount(unit, weights=values) / np.maximum(counts, 1))[counts > 0]
