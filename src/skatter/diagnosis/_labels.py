"""Do labels shift too? Class balance of every domain, or mean and spread of labels in numbers.

Where no label is known nothing is guessed. The test of numbers is that of a feature
(:mod:`skatter.diagnosis._features`): ranks of place and spread.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import chi2_contingency, random_table
from scipy.stats.contingency import association

from skatter._tensors import Array
from skatter.diagnosis._features import largest_distances, rank_test
from skatter.diagnosis._samples import MIN_SAMPLES
from skatter.domains import Codes, Domains

FEW = 5  # where fewer samples are expected in a cell, the χ² distribution does not hold


@dataclass(frozen=True)
class LabelShift:
    """Class balance by domain, and whether it differs between labelled domains.

    Attributes
    ----------
    classes, domains : tuple of str
        What columns and rows of ``counts`` are.
    counts : tuple of tuple of int
        Labelled samples of each domain and class.
    unlabelled : tuple of int
        Unlabelled samples of each domain.
    p_value : float or None
        Test of "all labelled domains have the same class balance"; None where there is none.
    test : str
        "chi-square"; "permutation" where counts are small; or why nothing can be tested.
    floor : float
        Smallest p-value that the test can give.
    strength : float or None
        Cramér's V: 0 no relation of class and domain, 1 the domain tells the class.
    gap : float or None
        Share of samples that must change class for the balance of the domain that differs most.
    first, second : str or None
        These two.
    shifted : bool or None
        Whether the p-value is at or below the level; None where it cannot be told.
    """

    classes: tuple[str, ...]
    domains: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    unlabelled: tuple[int, ...]
    p_value: float | None
    test: str
    floor: float
    strength: float | None = None
    gap: float | None = None
    first: str | None = None
    second: str | None = None
    shifted: bool | None = None


def compare_labels(
    domains: Domains, names: tuple[str, ...], *, n_permutations: int, level: float, seed: int
) -> LabelShift | None:
    """Compare the class balance of labelled domains; None where nothing is labelled."""
    if not domains.n_labelled:
        return None
    classes = tuple(str(name) for name in domains.classes)
    table = np.zeros((domains.n_domains, len(classes)), dtype=np.int64)
    np.add.at(table, (domains.domain[domains.labelled], domains.label[domains.labelled]), 1)
    known = np.flatnonzero(table.any(axis=1))
    counts = tuple(tuple(row) for row in table.tolist())
    unlabelled = tuple((domains.domain_counts - table.sum(axis=1)).tolist())
    tested = _test(table[known], n_permutations, seed)
    found = LabelShift(classes, names, counts, unlabelled, *tested)
    if found.p_value is None:
        return found
    strength, shifted = float(association(table[known], method="cramer")), found.p_value <= level
    gap, a, b = _largest_gap(table, known)
    return replace(
        found, strength=strength, gap=gap, first=names[a], second=names[b], shifted=shifted
    )


def _test(table: Array, n_permutations: int, seed: int) -> tuple[float | None, str, float]:
    if table.shape[0] < 2:
        return None, "only one domain is labelled", 0.0
    if table.shape[1] < 2:
        return None, "only one class is labelled", 0.0
    observed = chi2_contingency(table, correction=False)
    expected = observed.expected_freq
    if expected.min() >= FEW:
        return float(observed.pvalue), "chi-square", 0.0
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    tables = random_table(rows, columns).rvs(n_permutations, random_state=seed)
    statistics = np.sum((tables - expected) ** 2 / expected, axis=(1, 2))
    at_least = np.sum(statistics >= observed.statistic * (1 - 1e-9))
    return float((1 + at_least) / (1 + n_permutations)), "permutation", 1 / (1 + n_permutations)


def _largest_gap(table: Array, known: Codes) -> tuple[float, int, int]:
    """Total variation distance of the two class balances that differ most, and whose they are."""
    balance = table[known] / table[known].sum(axis=1, keepdims=True)
    gaps = np.abs(balance[:, None] - balance).sum(axis=2) / 2
    a, b = np.unravel_index(np.argmax(gaps), gaps.shape)
    return float(gaps[a, b]), int(known[a]), int(known[b])


@dataclass(frozen=True)
class NumberShift:
    """Labels by domain, and whether they differ between labelled domains.

    Attributes
    ----------
    domains : tuple of str
        The domains.
    counts : tuple of int
        Labelled samples of each.
    means, spreads : tuple of float
        Mean and standard deviation of the labels of each; NaN where it has none.
    p_value : float or None
        Rank test of "place and spread are the same in all labelled domains"; None where none is.
    why_not : str
        Why nothing can be tested; empty otherwise.
    distance : float or None
        Kolmogorov-Smirnov distance of the two domains that differ most, 0 to 1.
    first, second : str or None
        These two.
    shifted : bool or None
        Whether the p-value is at or below the level; None where it cannot be told.
    """

    domains: tuple[str, ...]
    counts: tuple[int, ...]
    means: tuple[float, ...]
    spreads: tuple[float, ...]
    p_value: float | None = None
    why_not: str = ""
    distance: float | None = None
    first: str | None = None
    second: str | None = None
    shifted: bool | None = None


def compare_numbers(
    numbers: Array, domain: Codes, names: tuple[str, ...], *, level: float
) -> NumberShift | None:
    """Compare the labels of domains that have enough; None where nothing is labelled."""
    known = ~np.isnan(numbers)
    if not known.any():
        return None
    own = [numbers[known & (domain == d)] for d in range(len(names))]
    counts = tuple(len(each) for each in own)
    means, spreads = (
        tuple(float(figure(each)) if len(each) else np.nan for each in own)
        for figure in (np.mean, np.std)
    )
    told = [d for d, n in enumerate(counts) if n >= MIN_SAMPLES]
    if len(told) < 2:
        why = f"fewer than two domains have {MIN_SAMPLES} labels or more"
        return NumberShift(names, counts, means, spreads, why_not=why)
    y = np.concatenate([own[d] for d in told])[:, None]
    of = np.repeat(np.arange(len(told)), [counts[d] for d in told])
    p_value = float(rank_test(y, of, len(told))[0])
    distance, first, second = (each[0] for each in largest_distances(y, of, len(told)))
    a, b, shifted = names[told[first]], names[told[second]], p_value <= level
    return NumberShift(names, counts, means, spreads, p_value, "", float(distance), a, b, shifted)
