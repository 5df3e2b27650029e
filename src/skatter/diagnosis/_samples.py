"""What a diagnosis looks at: samples drawn alike from the domains, imputed and standardised.

Tests of domains cost the square of the samples, and a domain with a million samples tells no more
of another one with a hundred. So at most a given number is drawn, the same from every domain that
has as many, and what was done to the samples on the way is written down in plain words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from skatter._checks import FLOATS
from skatter._tensors import Array
from skatter.domains import Codes, Domains
from skatter.scatter import indicator_means

MIN_SAMPLES = 5  # a domain with fewer samples is not compared with others
MAX_DOMAINS = 100  # more make thousands of pairs, each tested beside all others
MAX_CELLS = 40_000_000  # numbers that are compared: of many columns, fewer samples are drawn
ROUNDING = 1e-13  # share of the largest value below which a deviation is none


@dataclass(frozen=True, eq=False)
class Samples:
    X: Array
    domains: Domains
    rows: Codes


def check_numbers(X: Any) -> Array:
    try:
        floats = {"dtype": list(FLOATS), "ensure_all_finite": "allow-nan"}
        return np.asarray(check_array(X, **floats, input_name="X"))
    except (TypeError, ValueError) as error:
        if "could not convert" in str(error) or "must be a string or a real number" in str(error):
            raise ValueError(
                f"X holds a value that is not a number ({error}). Encode text and categories "
                "first, e.g. with skatter.tables.make_preprocessor."
            ) from error
        raise


def check_names(feature_names: Any, X: Any, n_columns: int) -> tuple[str, ...]:
    if feature_names is None:
        feature_names = getattr(X, "columns", [f"x{j}" for j in range(n_columns)])
    names = tuple(str(name) for name in feature_names)
    if len(names) != n_columns:
        raise ValueError(
            f"feature_names has {len(names)} names, and X has {n_columns} columns; give one each."
        )
    return names


def comparable(domains: Domains) -> Codes:
    if domains.n_domains < 2:
        raise ValueError(
            f"sample_domain holds one domain only ({domains.domain_ids[0]}), so there is nothing "
            "to compare. Give samples of two domains at least, or another column."
        )
    large = np.flatnonzero(domains.domain_counts >= MIN_SAMPLES)
    if len(large) < 2:
        raise ValueError(
            f"sample_domain has {len(large)} domain(s) with {MIN_SAMPLES} samples or more, and "
            "two are needed to compare. Give more samples, or a column with fewer domains."
        )
    if len(large) > MAX_DOMAINS:
        raise ValueError(
            f"sample_domain has {len(large)} domains of {MIN_SAMPLES} samples or more, and at "
            f"most {MAX_DOMAINS} can be compared. Give a coarser column, or fewer domains."
        )
    return large


def draw(domains: Domains, compared: Codes, max_samples: int, rng: np.random.Generator) -> Codes:
    most = quota(domains.domain_counts[compared], max_samples)
    drawn = []
    for d in compared:
        own = np.flatnonzero(domains.domain == d)
        drawn.append(own if len(own) <= most else rng.choice(own, most, replace=False))
    return np.sort(np.concatenate(drawn))


def quota(counts: Codes, budget: int) -> int:
    """Return how many samples a domain may give so that all together give ``budget`` at most."""
    most, left, ascending = 0, budget, np.sort(counts)
    for i, count in enumerate(ascending):
        most = left // (len(ascending) - i)
        if count > most:
            break
        left, most = left - int(count), int(count)
    return max(most, MIN_SAMPLES)


def standardise(X: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Impute medians and scale columns to mean 0, deviation 1; return also which are constant."""
    X = X.astype(np.float64)
    missing = np.isnan(X)
    X[:, missing.all(axis=0)] = 0.0
    if missing.any():
        X = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)
    # Values near the largest floats would overflow when they are squared.
    peak = np.abs(X).max(axis=0)
    X /= np.where(peak > 0, peak, 1.0)
    X -= X.mean(axis=0)
    deviation = X.std(axis=0)
    constant = deviation < ROUNDING
    X /= np.where(constant, 1.0, deviation)
    X[:, constant] = 0.0
    return X, constant


def missing_rates(missing: NDArray[np.bool_], domains: Domains) -> Array:
    some = np.flatnonzero(missing.any(axis=0))
    rates = np.zeros((domains.n_domains, missing.shape[1]))
    means = indicator_means(domains.domain, domains.n_domains)
    rates[:, some] = means.T @ missing[:, some].astype(np.float64)
    return rates
