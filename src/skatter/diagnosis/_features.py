"""Which features carry the shift: every feature on its own, all at once.

The test is of Lepage's kind, for any number of domains. Ranks r of a feature over all samples give
two scores a sample, place r - (n+1)/2 and spread |r - (n+1)/2|; with T their covariance and B the
scatter of their domain means, ::

    H = tr(T⁻¹ B)   ~   χ² with 2(m-1) degrees of freedom

where the m domains are alike. It sees features that moved and features that widened, and no
outlier or change of units moves it. The effect is the largest Kolmogorov-Smirnov distance between
two domains, the largest gap between their distribution functions: 0 alike, 1 without overlap.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2, rankdata
from sklearn.utils import gen_batches

from skatter._tensors import Array
from skatter.diagnosis._samples import Samples
from skatter.diagnosis._significance import FAMILIES, holm
from skatter.domains import Codes
from skatter.scatter import indicator_means

BATCH = 5_000_000  # numbers that are held at a time: samples x domains x columns
FLAT = 1e-8  # share of the standard deviation up to which a feature is constant in a domain
SINGULAR = 1e-10  # where place tells spread up to this share, one of them counts


@dataclass(frozen=True)
class FeatureShift:
    """How far a feature differs between domains.

    Attributes
    ----------
    name : str
        The feature.
    distance : float
        Kolmogorov-Smirnov distance of the two domains that differ most in it, 0 to 1.
    first, second : str
        These two.
    mean_difference : float
        Mean in the second less mean in the first, in standard deviations of all samples.
    spread_ratio : float or None
        Standard deviation in the second over that in the first; None where it is constant in one.
    p_value, p_corrected : float
        Rank test of place and spread over all domains, and the same corrected for all features.
    scatter_share : float
        Its share of the domain scatter of all standardised features.
    moved : bool
        Whether the corrected p-value is at or below the level.
    """

    name: str
    distance: float
    first: str
    second: str
    mean_difference: float
    spread_ratio: float | None
    p_value: float
    p_corrected: float
    scatter_share: float
    moved: bool


def compare_features(
    samples: Samples, columns: tuple[str, ...], names: tuple[str, ...], *, level: float
) -> tuple[FeatureShift, ...]:
    """Return the features, those that differ most first.

    Columns of one name, such as those of an encoded category, are one feature: it differs as much
    as the one of them that differs most, and has the scatter of all.
    """
    X, domain = samples.X, samples.domains.domain
    n_domains = len(names)
    means = indicator_means(domain, n_domains).T @ X
    spreads = np.stack([X[domain == d].std(axis=0) for d in range(n_domains)])
    distance, first, second = largest_distances(X, domain, n_domains)
    p_value = rank_test(X, domain, n_domains)
    corrected = holm(p_value, families=FAMILIES)
    scatter = means.var(axis=0)
    share = scatter / max(scatter.sum(), np.finfo(float).tiny)
    shifts = []
    by_name: dict[str, list[int]] = {}
    for j, name in enumerate(columns):
        by_name.setdefault(name, []).append(j)
    for name, own in by_name.items():
        j = own[np.argmax(distance[own])]
        a, b = first[j], second[j]
        both = min(spreads[a, j], spreads[b, j]) > FLAT
        least = float(corrected[own].min())
        shifts.append(
            FeatureShift(
                name,
                distance=float(distance[j]),
                first=names[a],
                second=names[b],
                mean_difference=float(means[b, j] - means[a, j]),
                spread_ratio=float(spreads[b, j] / spreads[a, j]) if both else None,
                p_value=float(p_value[own].min()),
                p_corrected=least,
                scatter_share=float(share[own].sum()),
                moved=least <= level,
            )
        )
    return tuple(sorted(shifts, key=lambda shift: (-shift.distance, shift.p_value)))


def rank_test(X: Array, domain: Codes, n_domains: int) -> Array:
    sizes = np.bincount(domain, minlength=n_domains)
    E = indicator_means(domain, n_domains)
    p_value = np.ones(X.shape[1])
    for part in _batches(X, 4):
        place = rankdata(X[:, part], axis=0) - (len(X) + 1) / 2
        spread = np.abs(place)
        spread -= spread.mean(axis=0)
        total = _products(place, spread, np.full(len(X), 1 / (len(X) - 1)))
        between = _products(E.T @ place, E.T @ spread, sizes)
        p_value[part] = _p_value(total, between, n_domains - 1)
    return p_value


def _products(u: Array, v: Array, weights: Array) -> tuple[Array, Array, Array]:
    """Weighted sums of u², uv and v² over the rows."""
    return weights @ (u * u), weights @ (u * v), weights @ (v * v)


def _p_value(total: tuple[Array, ...], between: tuple[Array, ...], df: int) -> Array:
    (tuu, tuv, tvv), (buu, buv, bvv) = total, between
    determinant = tuu * tvv - tuv * tuv
    regular = determinant > SINGULAR * tuu * tuu
    varies = tuu > 0
    trace = buu * tvv - 2 * buv * tuv + bvv * tuu
    both = np.divide(trace, determinant, out=np.zeros_like(tuu), where=regular)
    place = np.divide(buu, tuu, out=np.zeros_like(tuu), where=varies)
    return np.where(regular, chi2.sf(both, 2 * df), np.where(varies, chi2.sf(place, df), 1.0))


def largest_distances(X: Array, domain: Codes, n_domains: int) -> tuple[Array, Codes, Codes]:
    parts = [_distances(X[:, part], domain, n_domains) for part in _batches(X, n_domains)]
    distance, first, second = (np.concatenate(figures) for figures in zip(*parts, strict=True))
    return distance, first, second


def _distances(X: Array, domain: Codes, n_domains: int) -> tuple[Array, Codes, Codes]:
    # One column after the other in memory, as sorting likes it
    X = np.ascontiguousarray(X.T)
    order = np.argsort(X, axis=1)
    ascending, of = np.take_along_axis(X, order, axis=1), domain[order]
    sizes = np.bincount(domain, minlength=n_domains)
    F = np.stack([np.cumsum(of == d, axis=1) / sizes[d] for d in range(n_domains)])
    gap = F.max(axis=0) - F.min(axis=0)
    # Distribution functions are compared where a run of equal values ends.
    gap[:, :-1][ascending[:, :-1] == ascending[:, 1:]] = 0.0
    columns = np.arange(len(X))
    at = gap.argmax(axis=1)
    there = F[:, columns, at]
    first, second = np.sort([there.argmin(axis=0), there.argmax(axis=0)], axis=0)
    # Where all are alike, the first two stand for them.
    return gap[columns, at], first, np.where(first == second, first + 1, second)


def _batches(X: Array, copies: int) -> Iterator[slice]:
    n, p = X.shape
    batches: Iterator[slice] = gen_batches(p, max(BATCH // (n * copies), 1))
    return batches
