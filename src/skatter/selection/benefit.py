"""Does adapting help? Adapting and not adapting, compared without a target label.

Three questions are asked in turn, and each is answered from samples alone:

1. Do the domains differ at all? A forest of random trees tries to tell source from target; where
   it does no better than chance, there is nothing to adapt to. Trees see differences that means
   do not show: domains that were standardised one by one have equal means and may differ widely.
2. Does a model collapse, that is, predict one class for all but the whole target?
3. Which predictions share more class scatter with the sources
   (:mod:`skatter.selection.criteria.scatters`)? There is a verdict if one has clearly more, or if
   of the samples on which the models disagree a significant majority resembles the class that it
   names; and none if the two point in opposite directions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest, mannwhitneyu
from sklearn.base import clone, is_classifier
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.validation import has_fit_parameter

from skatter.checks import check_real
from skatter.domains import Codes
from skatter.pipeline import make_domain_pipeline
from skatter.sca import SCA
from skatter.scatter.reading import check_table
from skatter.selection.criteria.evidence import Evidence, seed_of
from skatter.selection.criteria.scatters import resemblance
from skatter.selection.criteria.weights import effective_sample_size, importance_weights

Array = NDArray[Any]
Verdict = Literal["adapt", "do not adapt", "cannot tell"]

CLEARLY = 0.1
"""Share by which the better model must exceed the other to be clearly better."""

REASONS: Mapping[Verdict, str] = {
    "adapt": "Adapt: the adapted model's classes look more like those of the sources.",
    "do not adapt": "Adapting does not help here: the plain model's classes look more like those "
    "of the sources.",
    "cannot tell": "Cannot tell: neither model is clearly better without target labels.",
}

N_TREES = 100
MAX_GROWN = 2000
"""Samples that a tree is grown on; all others judge it."""


@dataclass(frozen=True)
class DomainGap:
    """How far source and target differ.

    Attributes
    ----------
    auc : float
        Chance that a domain classifier finds the target sample in a pair of one source and one
        target sample that it has not seen: 0.5 where it cannot tell them apart.
    p_value : float
        Mann-Whitney test of it, one-sided.
    effective_sample_size : float
        Labelled source samples that speak for the target once they are weighted by importance.
    """

    auc: float
    p_value: float
    effective_sample_size: float


@dataclass(frozen=True)
class Benefit:
    """The answer to "does it help?".

    Attributes
    ----------
    verdict : "adapt", "do not adapt" or "cannot tell"
        The answer.
    reason : str
        Why, in plain words.
    gap : DomainGap
        How far the domains differ.
    adapted, plain : float
        Class scatter that each model's predictions share with the sources; larger is better.
    adapted_collapsed, plain_collapsed : bool
        Whether each all but predicts one class for the whole target.
    n_target : int
        Unlabelled target samples.
    n_source : int
        Labelled source samples.
    n_differ : int
        Target samples on which the models disagree.
    n_for_adapted : int
        Those among them that resemble the class that the adapted model names more than the other.
    p_value : float
        Sign test of ``n_for_adapted``, two-sided.
    """

    verdict: Verdict
    reason: str
    gap: DomainGap
    adapted: float
    plain: float
    adapted_collapsed: bool
    plain_collapsed: bool
    n_target: int
    n_source: int
    n_differ: int
    n_for_adapted: int
    p_value: float

    @property
    def summary(self) -> str:
        """The answer and the figures behind it, in a few plain sentences."""
        size = self.gap.effective_sample_size
        lines = [
            self.reason,
            f"A domain classifier tells source from target with AUC {self.gap.auc:.2f} "
            "(0.5 is chance).",
            f"Weighted to look like the target, the {self.n_source} labelled source samples count "
            f"as {size:.0f}.",
            f"The models disagree on {self.n_differ} of {self.n_target} target samples; "
            f"{self.n_for_adapted} of these resemble the adapted model's class more.",
            f"Class scatter shared with the sources: {self.adapted:.3f} adapted, "
            f"{self.plain:.3f} plain.",
        ]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary


def does_it_help(
    X: Any,
    y: Any,
    *,
    sample_domain: Any = None,
    labelled: Any = None,
    adapted: Any = None,
    plain: Any = None,
    level: float = 0.05,
    random_state: Any = None,
) -> Benefit:
    """Compare adapting with not adapting, without a target label.

    Costs one fit of each model, two domain classifiers.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Numbers: samples of all domains.
    y : array-like of shape (n_samples,)
        Classes; -1, NaN or None where unknown.
    sample_domain : array-like of shape (n_samples,) or None
        Domain of each sample.
    labelled : array-like of bool of shape (n_samples,) or None
        Which labels to use; wins over the marks in ``y``.
    adapted : classifier or None
        Model that adapts, not fitted; None is ``SCA()`` and 1-nearest-neighbour.
    plain : classifier or None
        Model that does not; None is ``adapted`` without the steps that take domains, with
        1-nearest-neighbour at the end where no classifier is left.
    level : float in [0, 1]
        Level of both tests.
    random_state : int, RandomState instance or None
        Grows the trees and shuffles folds; None is a fixed seed.

    Returns
    -------
    Benefit
        Its ``verdict``, and a ``summary`` to print.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y, site = np.tile([0, 1], 100), np.repeat(["here", "there"], 100)
    >>> X = rng.normal(size=(200, 5)) + 2 * y[:, None]
    >>> known = np.where(site == "here", y, -1)
    >>> does_it_help(X, known, sample_domain=site).reason
    'Adapting does not help here: the domains are alike.'
    """
    level = check_real("level", level, low=0, high=1)
    seed = seed_of(random_state)
    given = {"sample_domain": sample_domain, "labelled": labelled, "random_state": seed}
    adapted = make_domain_pipeline(SCA(), KNeighborsClassifier(1)) if adapted is None else adapted
    plain = _without_domains(adapted) if plain is None else plain
    ours, theirs = Evidence(adapted, X, y, **given), Evidence(plain, X, y, **given)
    samples = check_table(X, "X")
    gap = _measure_gap(samples, ours.source, ours.target, seed)
    n_differ, n_for = _disagreement(samples, ours, theirs)
    p_value = float(binomtest(n_for, n_differ).pvalue) if n_differ else 1.0
    verdict, reason = _decide(ours, theirs, gap, 2 * n_for - n_differ, p_value, level)
    return Benefit(
        verdict,
        reason,
        gap,
        adapted=ours.class_scatter.criterion,
        plain=theirs.class_scatter.criterion,
        adapted_collapsed=ours.collapsed,
        plain_collapsed=theirs.collapsed,
        n_target=len(ours.target),
        n_source=len(ours.source),
        n_differ=n_differ,
        n_for_adapted=n_for,
        p_value=p_value,
    )


def _without_domains(adapted: Any) -> Any:
    """Return the steps of a pipeline that know nothing of domains, a classifier at the end."""
    steps = [step for _, step in getattr(adapted, "steps", []) if hasattr(step, "fit")]
    kept = [clone(step) for step in steps if not has_fit_parameter(step, "sample_domain")]
    if not (kept and is_classifier(kept[-1])):
        kept.append(KNeighborsClassifier(1))
    return make_domain_pipeline(*kept)


def _measure_gap(X: Any, source: Codes, target: Codes, seed: int) -> DomainGap:
    both = np.concatenate([source, target])
    is_target = np.repeat([False, True], [len(source), len(target)])
    forest = ExtraTreesClassifier(
        N_TREES,
        bootstrap=True,
        max_samples=min(MAX_GROWN, len(both)),
        oob_score=True,
        random_state=seed,
    ).fit(X[both], is_target)
    # Each sample is judged by the trees that were grown without it.
    share = forest.oob_decision_function_[:, 1]
    test = mannwhitneyu(share[is_target], share[~is_target], alternative="greater")
    weights = importance_weights(X[source], X[target], random_state=seed)
    return DomainGap(
        auc=float(test.statistic / (len(source) * len(target))),
        p_value=float(test.pvalue),
        effective_sample_size=effective_sample_size(weights),
    )


def _disagreement(X: Any, ours: Evidence, theirs: Evidence) -> tuple[int, int]:
    """Count samples on which two models differ, and those that speak for the first."""
    differ = np.flatnonzero(ours.predicted != theirs.predicted)
    if not len(differ):
        return 0, 0
    near = resemblance(X, ours.domains, ours.target[differ])
    every = np.arange(len(differ))
    gain = near[every, ours.predicted[differ]] - near[every, theirs.predicted[differ]]
    return len(differ), int(np.sum(gain > 0))


def _decide(
    ours: Evidence, theirs: Evidence, gap: DomainGap, majority: int, p_value: float, level: float
) -> tuple[Verdict, str]:
    """Return the verdict and its reason; ``majority`` is positive where samples speak for ours."""
    if gap.p_value > level:
        return "do not adapt", "Adapting does not help here: the domains are alike."
    if ours.collapsed and theirs.collapsed:
        return "cannot tell", "Both models predict a single class for the target: trust neither."
    if ours.collapsed:
        return "do not adapt", (
            "Do not adapt this way: the adapted model predicts a single class for the target."
        )
    if theirs.collapsed:
        return "adapt", "Adapt: without it the model predicts a single class for the target."
    votes = int(np.sign(majority)) if p_value < level else 0
    verdict = weigh(ours.class_scatter.criterion, theirs.class_scatter.criterion, votes)
    return verdict, REASONS[verdict]


def weigh(adapted: float, plain: float, votes: int) -> Verdict:
    """Weigh the criterion of two models, and the side that the samples in dispute take.

    Parameters
    ----------
    adapted, plain : float
        Shared class scatter of each.
    votes : {-1, 0, 1}
        Side of a significant majority: 1 is for adapting, 0 is undecided.

    Examples
    --------
    >>> weigh(0.30, 0.20, 0), weigh(0.21, 0.20, 0), weigh(0.21, 0.20, 1), weigh(0.30, 0.20, -1)
    ('adapt', 'cannot tell', 'adapt', 'cannot tell')
    """
    side = np.sign(adapted - plain)
    clear = abs(adapted - plain) > CLEARLY * max(abs(adapted), abs(plain)) or votes == side
    if not clear or votes == -side:
        return "cannot tell"
    return "adapt" if side > 0 else "do not adapt"
