"""Does what is learnt in one domain hold in another? Trained here, tested there.

Every labelled domain gives the same number of samples, in folds. Fold k of a domain is predicted by
a linear classifier learnt from the other folds of the same domain (within) and by one learnt from
the same number of samples of another domain, its folds but k (across). Sizes are equal and classes
weigh the same in training, so neither the size of a domain nor its class balance makes the
difference. What is left may come from features that moved or from a relation of features to labels
that changed. So all is done twice, the second time with every domain standardised on its own, which
takes away the plainest moves: a loss that stays is a hint, never a proof, of the second kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np
from scipy.stats import norm
from sklearn.linear_model import Ridge
from sklearn.model_selection import StratifiedKFold

from skatter._tensors import Array
from skatter.diagnosis._samples import Samples, standardise
from skatter.diagnosis._significance import holm
from skatter.domains import UNLABELLED, Codes

N_FOLDS = 5
MIN_LABELLED = 20  # a domain with fewer labelled samples is not trained in
FEW = 10  # samples that only one of two classifiers gets right; fewer show no loss
WORTH_SAYING = 0.03  # a loss of accuracy below this is no news, whatever its p-value


@dataclass(frozen=True)
class TransferPair:
    """A classifier trained in one domain and tested in another.

    Attributes
    ----------
    trained, tested : str
        The two domains.
    within : float
        Accuracy in ``tested`` of a classifier trained there, cross-validated, all classes alike.
    across, across_standardised : float
        That of one trained in ``trained``, and so after each domain was standardised on its own.
    chance : float
        Accuracy of guessing.
    p_corrected, p_standardised : float
        One-sided test of the loss, from the samples that one classifier gets right and the other
        does not, corrected for all pairs; the second is of the standardised features.
    n_samples : int
        Samples tested: those of classes that both domains have.
    """

    trained: str
    tested: str
    within: float
    across: float
    across_standardised: float
    chance: float
    p_corrected: float
    p_standardised: float
    n_samples: int


@dataclass(frozen=True)
class Transfer:
    """All pairs of labelled domains.

    Attributes
    ----------
    pairs : tuple of TransferPair
        Both directions of every pair; empty where nothing can be told.
    n_per_domain : int
        Samples of each domain, of which four fifths train a classifier.
    why_not : str
        Why nothing can be told; empty otherwise.
    """

    pairs: tuple[TransferPair, ...]
    n_per_domain: int = 0
    why_not: str = ""


def compare_transfer(samples: Samples, names: tuple[str, ...], *, seed: int) -> Transfer:
    chosen = _choose_rows(samples, np.random.default_rng(seed))
    if len(chosen) < 2:
        return Transfer(
            (),
            why_not=f"it takes two domains with {MIN_LABELLED} labelled samples of two classes, "
            f"each of {N_FOLDS} at least, among the samples drawn",
        )
    label, folds = samples.domains.label, _assign_folds(samples, chosen, seed)
    pooled = _scores(samples.X, samples, chosen, folds)
    apart = _scores(_standardise_apart(samples), samples, chosen, folds)
    n_per_domain = min(len(rows) for rows in chosen.values())
    found = []
    for a, b in permutations(chosen, 2):
        classes = np.intersect1d(label[chosen[a]], label[chosen[b]])
        rows = chosen[b][np.isin(label[chosen[b]], classes)]
        if len(classes) < 2:
            continue
        truth = label[rows]
        raw, own = (_right(scores, a, b, rows, classes, truth) for scores in (pooled, apart))
        accuracies = [_accuracy(right, truth) for right in (*raw, own[1])]
        tests = _test(raw, truth), _test(own, truth)
        found.append((names[a], names[b], *accuracies, 1 / len(classes), *tests, len(rows)))
    if not found:
        return Transfer((), n_per_domain, "no two labelled domains share two classes")
    *figures, raw_p, own_p, sizes = zip(*found, strict=True)
    corrected = (holm(np.array(p)).tolist() for p in (raw_p, own_p))
    return Transfer(tuple(map(TransferPair, *figures, *corrected, sizes)), n_per_domain)


def _accuracy(right: Array, label: Codes) -> float:
    return float(np.mean([right[label == k].mean() for k in np.unique(label)]))


def _choose_rows(samples: Samples, rng: np.random.Generator) -> dict[int, Codes]:
    domains = samples.domains
    found = {}
    for d in range(domains.n_domains):
        labelled = np.flatnonzero(domains.labelled & (domains.domain == d))
        rows = _of_frequent_classes(domains.label, labelled)
        if len(rows) >= MIN_LABELLED:
            found[d] = rows
    least = min((len(rows) for rows in found.values()), default=0)
    drawn = {
        d: _of_frequent_classes(domains.label, np.sort(rng.choice(rows, least, replace=False)))
        for d, rows in found.items()
    }
    return {d: rows for d, rows in drawn.items() if len(np.unique(domains.label[rows])) > 1}


def _of_frequent_classes(label: Codes, rows: Codes) -> Codes:
    return rows[np.bincount(label[rows], minlength=1)[label[rows]] >= N_FOLDS]


def _assign_folds(samples: Samples, chosen: dict[int, Codes], seed: int) -> Codes:
    fold = np.full(len(samples.X), UNLABELLED, dtype=np.intp)
    cut = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
    for rows in chosen.values():
        for k, (_, held) in enumerate(cut.split(rows, samples.domains.label[rows])):
            fold[rows[held]] = k
    return fold


def _standardise_apart(samples: Samples) -> Array:
    X = np.empty_like(samples.X)
    for d in range(samples.domains.n_domains):
        own = samples.domains.domain == d
        X[own] = standardise(samples.X[own])[0]
    return X


def _scores(X: Array, samples: Samples, chosen: dict[int, Codes], fold: Codes) -> dict[int, Array]:
    """For each domain trained in, the class scores that it gives to fold k of all domains."""
    label, n_classes = samples.domains.label, len(samples.domains.classes)
    scores = {d: np.zeros((len(X), n_classes)) for d in chosen}
    for d, rows in chosen.items():
        for k in range(N_FOLDS):
            train, test = rows[fold[rows] != k], np.flatnonzero(fold == k)
            targets = np.eye(n_classes)[label[train]]
            # Every class weighs the same; a penalty as large as the norm of a sample is mild.
            weight = len(train) / np.bincount(label[train])[label[train]]
            model = Ridge(alpha=X.shape[1]).fit(X[train], targets, sample_weight=weight)
            scores[d][test] = model.predict(X[test])
    return scores


def _right(
    scores: dict[int, Array], a: int, b: int, rows: Codes, classes: Codes, label: Codes
) -> tuple[Array, Array]:
    at = np.ix_(rows, classes)
    own, other = (classes[scores[d][at].argmax(axis=1)] == label for d in (b, a))
    return own, other


def _test(right: tuple[Array, Array], label: Codes) -> float:
    """P-value, one-sided, of the loss of accuracy, all classes counted the same.

    A sample that only the domain's own classifier gets right speaks for a loss, with the weight of
    its class, one that only the other gets right against it. Alike, they give random signs.
    """
    within, across = right
    loss = (within.astype(float) - across) / np.bincount(label)[label]
    if np.count_nonzero(loss) < FEW:
        return 1.0
    return float(norm.sf(loss.sum() / np.sqrt(np.sum(loss**2))))
