"""Criteria without target labels as scikit-learn scorers."""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import UNUSED

from skatter.selection.criteria._evidence import Evidence
from skatter.selection.criteria._judging import named_criteria, score_evidence


class DomainScorer(BaseEstimator):
    __metadata_request__score: ClassVar[dict[str, Any]] = {
        "sample_domain": True,
        "estimator": UNUSED,
    }

    def __init__(self, criterion: str = "expected accuracy", random_state: Any = 0) -> None:
        self.criterion = criterion
        self.random_state = random_state

    # scikit-learn routes metadata to a method of this name alone.
    def score(self, estimator: Any, X: Any, y: Any, sample_domain: Any = None) -> float:
        """Score a fitted estimator by its predictions for the unlabelled samples of ``X``."""
        evidence = Evidence(
            estimator, X, y, sample_domain=sample_domain, random_state=self.random_state
        )
        evidence.fitted = estimator
        return score_evidence(evidence, named_criteria(self.criterion))[self.criterion]

    __call__ = score


def make_domain_scorer(
    criterion: str = "expected accuracy", *, random_state: Any = 0
) -> DomainScorer:
    """Make a scikit-learn scorer of a criterion that needs no label of the target.

    Give it to ``GridSearchCV``, ``RandomizedSearchCV`` or ``cross_val_score`` as ``scoring``, with
    any classifier or pipeline. Larger is better. A model that all but predicts one class for the
    whole target scores −inf. Where metadata are routed
    (``sklearn.set_config(enable_metadata_routing=True)``) it asks for ``sample_domain``; where they
    are not, labelled samples are the source and unlabelled ones the target.

    Parameters
    ----------
    criterion : str
        A name in :data:`~skatter.selection.CRITERIA`. Those that need further fits make them on the
        samples that are scored.
    random_state : int, RandomState instance or None
        Shuffles folds where the criterion has some.

    Notes
    -----
    Nothing is held out: the model is judged on the unlabelled samples that it was fitted with. So
    give the search one split in which all samples are on both sides, as below. Text labels need a
    mark that scikit-learn's own splitters can sort: the empty text ``""``, and not None.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from skatter import SCA, make_domain_pipeline, make_domain_scorer
    >>> rng = np.random.default_rng(0)
    >>> y, site = np.tile([0, 1], 40), np.repeat(["here", "there"], 40)
    >>> X = rng.normal(size=(80, 5)) + 2 * y[:, None]
    >>> X[site == "there", 0] += 4
    >>> known, rows = np.where(site == "here", y, -1), np.arange(80)
    >>> model = make_domain_pipeline(SCA(2), KNeighborsClassifier(1))
    >>> grid = {"kneighborsclassifier__n_neighbors": [1, 15]}
    >>> search = GridSearchCV(model, grid, scoring=make_domain_scorer(), cv=[(rows, rows)])
    >>> search.fit(X, known, sample_domain=site).best_params_
    {'kneighborsclassifier__n_neighbors': 15}
    """
    named_criteria(criterion)
    return DomainScorer(criterion, random_state)
