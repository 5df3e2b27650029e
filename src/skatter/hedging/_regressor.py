"""``HedgedRegressor``: plain and adapted regressors are averaged; none is chosen."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import column_or_1d

from skatter._accuracy import ScoresNumbers
from skatter._checks import check_real
from skatter._parameters import declared, integer, optional, parameter
from skatter._tensors import Array
from skatter._threads import one_blas_thread
from skatter.domains import Domains, which_domain
from skatter.hedging._error import (
    NO_LABELS,
    NumberJudgement,
    expected_error,
    half_width,
    judge_numbers,
    shrunken_shift,
    widening,
)
from skatter.hedging._members import Hedge, Member, Views, draw_both_sides, draw_unlabelled
from skatter.hedging._number_champion import (
    REGRESSOR,
    ChampionRegressor,
    HeldOut,
    KernelRidgeCV,
    read_labelled_numbers,
    standard_regressors,
)
from skatter.hedging._number_weights import (
    MARGIN,
    POOLED_POWER,
    SCALED_POWER,
    contradiction,
    distances,
    doubt_by_transfer,
    doubt_in_pooled,
    number_weights,
    separation,
)

KERNEL = "kernel ridge"
ALIKE = ("ridge", "forest", KERNEL)  # members that are there under both scalings


@declared
class HedgedRegressor(ScoresNumbers, Hedge):
    """Plain and adapted regressors that are averaged, weighed without a label of the target.

    The members are standard regressors (:class:`ChampionRegressor`), kernel ridge regression, and
    ridge, forest and kernel ridge on samples scaled in each domain. Each counts by its error on
    held-out source labels and by how near it is to the others on the target
    (:mod:`skatter.hedging._number_weights`). A change of the labels' mean that samples do not show
    is beyond any model without labels; a few labels of the target correct it: a domain with few
    labels is a target.

    Parameters
    ----------
    champion : regressor or None
        The plain model to compare with; it becomes a member as well. None: the best of the
        standard regressors on held-out source labels.
    max_rows : int
        Samples by which domains are told apart; of more as many are drawn.

    Attributes
    ----------
    members_ : tuple of Member
        Who is averaged, with what each thought and weighs.
    champion_ : ChampionRegressor
        The plain model, fitted.
    contradiction_, separation_, doubt_ : float
        κ, s, and the weight of the members that are scaled in each domain.
    source_error_ : float
        Root mean squared error on held-out source labels.
    by_source_ : bool
        Whether whole sources were held out.
    shift_ : float
        What labels of the target add to predictions for it.
    judgement_ : NumberJudgement or None
        The error to expect in the target, and the saving against the champion; see
        :mod:`skatter.hedging._error`. None where all samples are labelled.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter import HedgedRegressor
    >>> rng = np.random.default_rng(0)
    >>> X, site = rng.normal(size=(200, 3)), np.repeat(["here", "there"], 100)
    >>> y = 2 * X[:, 0] + X[:, 1] + 0.1 * rng.normal(size=200)
    >>> known = np.where(site == "here", y, np.nan)
    >>> model = HedgedRegressor().fit(X, known, sample_domain=site)
    >>> bool(model.score(X[100:], y[100:], sample_domain=site[100:]) > 0.9)
    True
    >>> low, high = model.predict_interval(X[100:], coverage=0.9).T
    >>> bool(np.mean((low <= y[100:]) & (y[100:] <= high)) > 0.85)
    True
    """

    _figure: ClassVar = ("R², source", "source_score")

    champion: Any = parameter(optional(REGRESSOR), default=None, kw_only=False)
    max_rows: int = parameter(integer(10), default=4_000)

    def _fit(self, X: Any, y: Any, sample_domain: Any, labelled: Any, seed: int) -> None:
        numbers, domains = read_labelled_numbers(self, y, sample_domain, labelled, X.shape[0])
        known = numbers[domains.labelled]
        margin = MARGIN * np.ptp(known)
        self.range_ = (float(known.min() - margin), float(known.max() + margin))
        # Members learn from some thousand samples: one thread is sooner done than several.
        with one_blas_thread():
            self._fit_members(X, numbers, domains, seed)

    def predict(self, X: Any, *, sample_domain: Any = None) -> Array:
        """Predict the numbers of samples, seen before or not.

        Without ``sample_domain``, and for ids that ``fit`` has not seen, they are of the target.
        """
        return self._combine(X, sample_domain)[0]

    def predict_interval(
        self, X: Any, coverage: float = 0.9, *, sample_domain: Any = None
    ) -> Array:
        """Return the interval in which each label is expected, of shape (n_samples, 2).

        A share ``coverage``, from 0.5 to 0.95, of the labels shall lie in it: on average over many
        tables, and not on each; see :mod:`skatter.hedging._error`. Intervals are wider where
        members disagree.
        """
        factor = half_width(check_real("coverage", coverage)) * self.widening_
        centre, spread = self._combine(X, sample_domain)
        half = factor * np.sqrt(self.source_error_**2 + spread**2)
        return np.column_stack([centre - half, centre + half])

    def member_predictions(self, X: Any, *, sample_domain: Any = None) -> Array:
        """Return what each member predicts, an array of shape (n_members, n_samples)."""
        views = self._new(X, sample_domain)
        return self._ask(self.members_, views)

    def judge(
        self, X: Any, adapted: Any, plain: Any, *, sample_domain: Any = None
    ) -> NumberJudgement:
        """Judge what two other models predict for target samples, without their labels."""
        hedge = self.predict(X, sample_domain=sample_domain)
        self._require_target()
        ours, theirs = (np.asarray(column_or_1d(each), dtype=float) for each in (adapted, plain))
        return judge_numbers(hedge, ours, theirs, self.expected_error_, shift=self.shift_)

    # --- members ----------------------------------------------------------------------------------

    def _fit_members(self, X: Any, numbers: Array, domains: Domains, seed: int) -> None:
        candidates = self._candidates(standard_regressors(X, random_state=seed))
        self.champion_ = ChampionRegressor(
            candidates, standardize=self.standardize, random_state=seed
        )
        held_out = self.champion_.fit_held_out(X, numbers, domains)
        self.domain_ids_ = np.array(domains.domain_ids)
        views = self._settle(X, domains)
        members = self._contenders()
        for scaling in views.scalings:
            standard = standard_regressors(views.pooled, random_state=seed)
            standard[KERNEL] = KernelRidgeCV(random_state=seed)
            for name in (KERNEL,) if scaling == "pooled" else ALIKE:
                fitted, score = held_out.fit(standard[name], views.of(scaling))
                members.append(Member(name, scaling, False, fitted, score))
        self._weigh(members, views, held_out, domains, seed)

    def _ask(self, members: Any, views: Views) -> Array:
        found = [each.estimator.predict(views.of(each.scaling)) for each in members]
        return np.clip(np.stack(found), *self.range_)

    # --- weights ----------------------------------------------------------------------------------

    def _weigh(
        self, members: list[Member], views: Views, held_out: HeldOut, domains: Domains, seed: int
    ) -> None:
        """Weigh the members by held-out labels and by what they say of the unlabelled samples."""
        here = np.clip(np.stack(held_out.predictions), *self.range_)
        errors = np.sqrt(np.mean((here - held_out.truth) ** 2, axis=1)) + TINY * np.ptp(self.range_)
        rows = draw_unlabelled(domains, seed)
        there = self._ask(members, views.take(rows)) if len(rows) else here
        scaled = np.array([each.scaling == "domain" for each in members])
        weights, distance = np.zeros(len(members)), np.zeros(len(members))
        for group, power in ((~scaled, POOLED_POWER), (scaled, SCALED_POWER)):
            if group.any():
                distance[group] = distances(there[group], errors[group])
                weights[group] = number_weights(distance[group], errors[group], power)
        self.contradiction_, self.separation_, self.doubt_ = 1.0, 0.0, 0.0
        if scaled.any() and len(rows):
            alike = np.array([each.name in ALIKE for each in members])
            both = (alike & ~scaled, alike & scaled)
            self.contradiction_ = contradiction([there[g] for g in both], [here[g] for g in both])
            drawn = draw_both_sides(domains, self.max_rows, seed)
            self.separation_ = separation(views.pooled[drawn], domains.target[drawn], seed)
            self.doubt_ = doubt_in_pooled(self.contradiction_, self.separation_)
            if held_out.by_source:
                means = (weights[group] @ here[group] for group in (~scaled, scaled))
                off = [float(np.sqrt(np.mean((each - held_out.truth) ** 2))) for each in means]
                self.doubt_ = max(self.doubt_, doubt_by_transfer(*off))
        weights *= np.where(scaled, self.doubt_, 1 - self.doubt_)
        self._weighed(members, (1 / (1 + d**2) for d in distance), weights)
        self._expect(weights, here, there, held_out, domains)
        self.judgement_: NumberJudgement | None = None
        if len(rows):
            ours = weights @ there + self.shifts_[domains.domain[rows]]
            self.judgement_ = self._judge(ours, views.pooled[rows], held_out, domains)

    def _judge(
        self, ours: Array, pooled: Any, held_out: HeldOut, domains: Domains
    ) -> NumberJudgement:
        names = [each.name for each in self.champion_.contenders_]
        best = names.index(self.champion_.champion_)
        off = held_out.predictions[best] - held_out.truth
        plain = self.champion_.contenders_[best].estimator.predict(pooled)
        residuals = off[domains.target[held_out.rows]]
        return judge_numbers(
            ours, ours, plain, self.expected_error_, plain_residuals=residuals, shift=self.shift_
        )

    def _expect(
        self, weights: Array, here: Array, there: Array, held_out: HeldOut, domains: Domains
    ) -> None:
        """Learn the shift of each target from its labels, and how large errors will be."""
        residuals = held_out.truth - weights @ here
        domain, target = domains.domain[held_out.rows], domains.target[held_out.rows]
        own = residuals[~target] if (~target).any() else residuals
        self.source_error_ = float(np.sqrt(np.mean(own**2)))
        self.shift_, left_out = shrunken_shift(residuals[target])
        # The last one is of samples whose domain is not known.
        self.shifts_ = np.append(np.where(domains.is_target, self.shift_, 0.0), self.shift_)
        for code in np.unique(domain[target]):
            self.shifts_[code], left_out[domain[target] == code] = shrunken_shift(
                residuals[domain == code]
            )
        spreads = [np.mean(_spread(weights, each)[1] ** 2) for each in (there, here)]
        ratio = float(np.clip(np.sqrt(spreads[0] / max(spreads[1], 1e-300)), *SPREADS))
        self.by_source_ = held_out.by_source
        wider = widening(ratio, by_source=self.by_source_)
        self.expected_error_ = expected_error(wider * self.source_error_, left_out)
        blind = expected_error(wider * self.source_error_, NO_LABELS).value
        self.widening_ = wider * self.expected_error_.value / max(blind, 1e-300)

    def _combine(self, X: Any, sample_domain: Any) -> tuple[Array, Array]:
        """Return predictions, and how far members disagree on each."""
        found = self.member_predictions(X, sample_domain=sample_domain)
        mean, spread = _spread(self._weights, found)
        codes: Any = -1
        if sample_domain is not None:
            codes = which_domain(sample_domain, self.domain_ids_, n_samples=len(mean))
        return mean + self.shifts_[codes], spread


SPREADS = (0.25, 10.0)  # least and largest disagreement in the target, in units of that on sources
TINY = 1e-6  # of the range of labels: no error is smaller


def _spread(weights: Array, predictions: Array) -> tuple[Array, Array]:
    """Return the weighted mean of the members, and their standard deviation around it."""
    mean = weights @ predictions
    return mean, np.sqrt(weights @ (predictions - mean) ** 2)
