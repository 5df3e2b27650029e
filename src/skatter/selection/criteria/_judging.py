"""Judging one model, and choosing among several, without a target label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata

from skatter._formatting import did_you_mean
from skatter.selection.criteria._evidence import Evidence, Judge, MakeJudge, seed_of
from skatter.selection.criteria._registry import BEST, CRITERIA, Criterion


def judge(
    model: Any,
    X: Any,
    y: Any,
    *,
    sample_domain: Any = None,
    labelled: Any = None,
    criteria: str | Sequence[str] = BEST,
    random_state: Any = None,
) -> dict[str, float]:
    """Judge a model for an unlabelled target by criteria that need no label of it.

    The fits are made once for all criteria. Each criterion has a value, larger for the better. A
    model that all but predicts one class for the whole target gets −inf from every criterion,
    however good it looks.

    Parameters
    ----------
    model : classifier
        Not fitted: a :class:`~skatter.DomainPipeline`, a classifier whose ``fit`` takes
        ``sample_domain``, or any other, which is then fitted on the labelled samples.
    X, y, sample_domain, labelled
        As in :meth:`skatter.SCA.fit`.
    criteria : str or sequence of str
        Names in :data:`CRITERIA`.
    random_state : int, RandomState instance or None
        Shuffles folds; None is a fixed seed.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from skatter import SCA, make_domain_pipeline
    >>> from skatter.selection.criteria import judge
    >>> rng = np.random.default_rng(0)
    >>> y, site = np.tile([0, 1], 40), np.repeat(["here", "there"], 40)
    >>> X = rng.normal(size=(80, 5)) + 2 * y[:, None]
    >>> X[site == "there", 0] += 4
    >>> known = np.where(site == "here", y, -1)
    >>> model = make_domain_pipeline(SCA(2), KNeighborsClassifier(1))
    >>> scores = judge(model, X, known, sample_domain=site, criteria=["scatter", "circular"])
    >>> {name: round(score, 2) for name, score in scores.items()}
    {'scatter': 0.35, 'circular': 0.8}
    """
    asked = named_criteria(criteria)
    evidence = Evidence(
        model, X, y, sample_domain=sample_domain, labelled=labelled, random_state=random_state
    )
    return score_evidence(evidence, asked)


@dataclass(frozen=True)
class Choice:
    """The model that was chosen, and what every criterion said of all.

    Attributes
    ----------
    best : str
        Name of the model.
    scores : dict of str to dict of str to float
        Model and criterion to value; −inf where a model collapsed.
    ranks : dict of str to float
        Model to its mean rank over the criteria; 1 is the best.
    """

    best: str
    scores: dict[str, dict[str, float]]
    ranks: dict[str, float]


def choose(
    models: Mapping[str, Any],
    X: Any,
    y: Any,
    *,
    sample_domain: Any = None,
    labelled: Any = None,
    criteria: str | Sequence[str] = BEST,
    random_state: Any = None,
) -> Choice:
    """Choose among models for an unlabelled target; several criteria vote by their mean rank.

    Where every model collapses there is nothing to choose from, which is an error.

    Parameters
    ----------
    models : mapping of str to classifier
        Candidates by name, not fitted. Of equally good ones the first wins.
    X, y, sample_domain, labelled, criteria, random_state
        As in :func:`judge`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.dummy import DummyClassifier
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from skatter.selection.criteria import choose
    >>> rng = np.random.default_rng(0)
    >>> y, site = np.tile([0, 1], 40), np.repeat(["here", "there"], 40)
    >>> X = rng.normal(size=(80, 5)) + 2 * y[:, None]
    >>> X[site == "there", 0] += 4
    >>> known = np.where(site == "here", y, -1)
    >>> models = {"constant": DummyClassifier(), "nearest": KNeighborsClassifier(1)}
    >>> choose(models, X, known, sample_domain=site, criteria="entropy").best
    'nearest'
    """
    if not models:
        raise ValueError("models is empty; name at least one candidate.")
    asked, seed = named_criteria(criteria), seed_of(random_state)
    given = {"sample_domain": sample_domain, "labelled": labelled, "random_state": seed}
    judges: dict[MakeJudge, Judge] = {}
    scores = {
        name: score_evidence(Evidence(model, X, y, **given, judges=judges), asked)
        for name, model in models.items()
    }
    table = np.array([list(row.values()) for row in scores.values()])
    if np.isneginf(table).all():
        raise ValueError(
            "Every model predicts one class for all but the whole target, so none can be chosen. "
            "Look at the scaling of the features in each domain, or give other candidates."
        )
    ranks = rankdata(-table, axis=0).mean(axis=1)
    names = list(scores)
    return Choice(
        names[int(np.argmin(ranks))], scores, dict(zip(names, ranks.tolist(), strict=True))
    )


def score_evidence(evidence: Evidence, criteria: list[Criterion]) -> dict[str, float]:
    """Return what each criterion says; −inf where the predictions fell into one class."""
    if evidence.collapsed:
        return {criterion.name: -np.inf for criterion in criteria}
    return {criterion.name: float(criterion.score(evidence)) for criterion in criteria}


def named_criteria(criteria: str | Sequence[str]) -> list[Criterion]:
    names = [criteria] if isinstance(criteria, str) else list(criteria)
    if not names:
        raise ValueError(f"criteria is empty; name at least one of {', '.join(CRITERIA)}.")
    for name in names:
        if name not in CRITERIA:
            guess, listed = did_you_mean(name, CRITERIA), ", ".join(repr(each) for each in CRITERIA)
            raise ValueError(f"There is no criterion {name!r}.{guess} There are {listed}.")
    return [CRITERIA[name] for name in names]
