"""Whole domains left out: what happened to them says what a new domain will bring.

The accuracies a_d on the m domains left out, corrected by what was seen on everyday tables
(``benchmarks/unseen.py``; the numbers lie in ``unseen.json``), give the accuracy to expect of the
next one that nobody has seen:

    value = mean a_d − optimism,    half width = z sqrt((1 + 1/m) s²),
    s² = (ν σ² + sum (a_d − mean)²) / (ν + m − 1),

where σ is how much domains of one table usually differ, and ν how many domains that knowledge is
worth.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GroupKFold

from skatter._tensors import Array
from skatter.domains import Codes, Domains
from skatter.hedging._expectation import SURE, fitted_numbers
from skatter.selection._asking import Estimate
from skatter.trees import ForestClassifier

Fold = tuple[Codes, Codes]  # rows to learn from, and rows to predict

N_FOLDS = 4  # parts of the sources that are left out in turn; of more sources each part has several


@dataclass(frozen=True, eq=False)
class Transfer:
    """How sources that were left out were predicted: the metric of members that vote alike.

    ``scores`` are of all members on each source, and ``pooled`` and ``scaled`` of the members under
    each scaling, in the mean over the sources.
    """

    scores: Array
    pooled: float
    scaled: float


def domain_folds(domains: Domains, sources: Codes, rows: Codes) -> list[Fold]:
    """Leave whole domains of some rows out in turn, and learn from all others of ``rows``.

    None where there is one domain.
    """
    domain = domains.domain[sources]
    n_domains = len(np.unique(domain))
    if n_domains < 2:
        return []
    splits = GroupKFold(min(n_domains, N_FOLDS)).split(sources, groups=domain)
    return list(usable_folds(domains.label, (sources[held] for _, held in splits), rows))


def usable_folds(label: Codes, parts: Iterable[Codes], rows: Codes) -> Iterator[Fold]:
    """Turn parts to be left out into folds; without those that leave one class to learn from."""
    for held in parts:
        learn = np.setdiff1d(rows, held)
        if len(np.unique(label[learn])) > 1:
            yield learn, held


def cheaper(estimator: Any) -> Any:
    """Return a classifier as it is judged: a third of the trees rank a forest as well."""
    model = clone(estimator)
    if isinstance(model, ForestClassifier):
        model.set_params(n_trees=model.n_trees // 3)
    return model


def expect_unseen(scores: Array, n_classes: int) -> Estimate:
    fitted, m = fitted_numbers("unseen"), len(scores)
    # Less than guessing is never expected.
    value = float(np.clip(scores.mean() - fitted["optimism"], 1 / n_classes, SURE))
    squares = float(np.sum((scores - scores.mean()) ** 2))
    prior = fitted["worth"]
    variance = (prior * fitted["spread"] ** 2 + squares) / (prior + m - 1)
    half = fitted["half_width"] * float(np.sqrt((1 + 1 / m) * variance))
    return Estimate(value, max(0.0, value - half), min(1.0, value + half))
