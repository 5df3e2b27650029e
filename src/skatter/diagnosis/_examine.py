"""``diagnose``: every question in turn, one view of the samples for all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from skatter._checks import check_integer, check_real
from skatter._tensors import Array
from skatter.diagnosis._features import compare_features
from skatter.diagnosis._labels import LabelShift, compare_labels, compare_numbers
from skatter.diagnosis._pairs import compare_pairs
from skatter.diagnosis._record import Diagnosis, DomainFacts, MissingShift
from skatter.diagnosis._samples import (
    MAX_CELLS,
    Samples,
    check_names,
    check_numbers,
    comparable,
    draw,
    missing_rates,
    standardise,
)
from skatter.diagnosis._table import read_features
from skatter.diagnosis._transfer import compare_transfer
from skatter.diagnosis._variance import share_variance
from skatter.domains import Domains, read_domains
from skatter.labels import Task, is_continuous, marks, read_numbers
from skatter.selection.criteria._evidence import seed_of
from skatter.tables import read_columns


def diagnose(
    X: Any,
    y: Any = None,
    *,
    sample_domain: Any = None,
    labelled: Any = None,
    label: str | None = None,
    domain: str | None = None,
    task: Task | None = None,
    features: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    categorical: Sequence[str] = (),
    feature_names: Any = None,
    n_permutations: int = 200,
    level: float = 0.05,
    max_samples: int = 2000,
    random_state: Any = 0,
    progress: Callable[[str], None] | None = None,
) -> Diagnosis:
    """Find out whether domains differ: which of them, in which features, and in labels too.

    It takes a table as :func:`skatter.adapt` does, ``diagnose(frame, label="ill", domain="site")``,
    or samples as estimators do, ``diagnose(X, y, sample_domain=site)``.

    Parameters
    ----------
    X : DataFrame, or array-like of shape (n_samples, n_features)
        A table with a column ``domain``; or numbers, NaN where a value is missing.
    y : array-like of shape (n_samples,) or None
        Classes; -1, NaN, None or blank text where unknown. Or numbers; NaN or None where unknown.
    sample_domain : array-like of shape (n_samples,) or None
        Domain of each sample.
    labelled : array-like of bool of shape (n_samples,) or None
        Which labels to use; wins over the marks in ``y``.
    label, domain : str or None
        Columns of a table: classes or numbers, empty where unknown, and where a row comes from.
    task : "classes", "numbers" or None
        What the labels are. Of numbers mean and spread are compared, and nothing is said of
        classes. None: they are numbers where one of them is not whole.
    features, ignore, categorical : sequence of str
        Columns of a table to look at, None for all, and to leave out.
    feature_names : sequence of str or None
        One per column of ``X``; None takes those of a data frame. Columns of one name are one
        feature, such as the columns of an encoded category.
    n_permutations : int
        Random splits behind a permutation p-value, at least; more where many pairs of domains
        would leave none of them a p-value below the level.
    level : float in (0, 1)
        Largest chance of any false alarm among all pairs of domains and all features.
    max_samples : int
        Samples that are compared, drawn alike from the domains where there are more.
    random_state : int, RandomState instance or None
        Draws samples and splits, grows trees, cuts folds; None is a fixed seed.
    progress : callable or None
        Told the name of every step before it starts.

    Returns
    -------
    Diagnosis
        Its ``words``, and the numbers behind them.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter import diagnose
    >>> rng = np.random.default_rng(0)
    >>> X, site = rng.normal(size=(200, 3)), np.repeat(["here", "there"], 100)
    >>> X[site == "there", 1] += 2
    >>> found = diagnose(X, sample_domain=site, feature_names=["age", "dose", "pulse"])
    >>> found.shift, found.features[0].name
    (True, 'dose')
    >>> print(found.words.splitlines()[0])
    Yes, there is a shift: here and there differ.
    """
    announce = progress or (lambda step: None)
    if (sample_domain is None) == (domain is None):
        raise TypeError(
            "Give sample_domain, the domain of each sample, or domain, a column of the table X."
        )
    n_permutations = check_integer("n_permutations", n_permutations, low=19)
    max_samples = check_integer("max_samples", max_samples, low=20)
    level = check_real("level", level, low=0, high=0.5, open_low=True)
    seed = seed_of(random_state)
    announce("reading samples")
    left_out: Mapping[str, str] = {}
    missing = None
    if domain is not None:
        read = read_columns(X, label=label, domain=domain, features=features, ignore=ignore)
        read, X, feature_names, task, missing, left_out = read_features(read, task, categorical)
        y, sample_domain = read.y, read.sample_domain
        labelled = None if y is None else read.labelled
    table = check_numbers(X)
    columns = check_names(feature_names, X, table.shape[1])
    given: dict[str, Any] = {"labelled": labelled, "n_samples": len(table)}
    numbers = y is not None and (is_continuous(y) if task is None else task == "numbers")
    if numbers:
        y = read_numbers(y, **given)
        given["labelled"] = None
    view = read_domains(marks(y) if numbers else y, sample_domain, **given)
    compared = comparable(view)
    rates = missing_rates(np.isnan(table) if missing is None else missing.to_numpy(), view)
    budget = min(max_samples, MAX_CELLS // table.shape[1])
    rows = draw(view, compared, budget, np.random.default_rng(seed))
    standardised, constant = standardise(table[rows])
    samples = Samples(standardised, view.restrict(rows), rows)
    # Of an encoded category, some columns may be constant and others not.
    varying = {columns[j] for j in np.flatnonzero(~constant)}
    names = tuple(str(name) for name in view.domain_ids)
    own = tuple(names[d] for d in compared)
    announce("features, one by one")
    moved = compare_features(samples, columns, own, level=level)
    pairs, n_permutations, floor_corrected = compare_pairs(
        samples, own, n_permutations=n_permutations, level=level, seed=seed, announce=announce
    )
    announce("labels and scatters")
    labels = (
        compare_numbers(y, view.domain, names, level=level)
        if numbers
        else compare_labels(view, names, n_permutations=n_permutations, level=level, seed=seed)
    )
    classes = isinstance(labels, LabelShift)
    transfer = compare_transfer(samples, own, seed=seed) if classes else None
    return Diagnosis(
        _facts(view, names, samples, rates.mean(axis=1)),
        pairs,
        moved,
        labels,
        transfer,
        share_variance(samples),
        missing=_missing(rates, columns if missing is None else tuple(missing), names),
        constant=tuple(name for name in dict.fromkeys(columns) if name not in varying),
        n_samples=view.n_samples,
        n_drawn=len(samples.rows),
        n_permutations=n_permutations,
        level=level,
        floor=1 / (n_permutations + 1),
        floor_corrected=floor_corrected,
        random_state=seed,
        left_out=left_out,
    )


def _facts(
    view: Domains, names: tuple[str, ...], samples: Samples, missing: Array
) -> tuple[DomainFacts, ...]:
    drawn = np.bincount(view.domain[samples.rows], minlength=view.n_domains)
    known = np.bincount(view.domain[view.labelled], minlength=view.n_domains)
    figures = (view.domain_counts, known, drawn, missing)
    return tuple(map(DomainFacts, names, *(each.tolist() for each in figures)))


def _missing(
    rates: Array, columns: tuple[str, ...], names: tuple[str, ...]
) -> tuple[MissingShift, ...]:
    low, high = rates.argmin(axis=0), rates.argmax(axis=0)
    # A column without any value is left out, and said to be.
    some = np.flatnonzero(rates.any(axis=0) & (rates.min(axis=0) < 1))
    found = [
        MissingShift(columns[j], float(rates[a, j]), float(rates[b, j]), names[a], names[b])
        for j, a, b in zip(some, low[some], high[some], strict=True)
    ]
    return tuple(sorted(found, key=lambda shift: shift.lowest - shift.highest))
