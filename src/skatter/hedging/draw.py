"""A draw of samples that is fair to both sides: half labelled ones of sources, half targets'."""

from __future__ import annotations

import numpy as np

from skatter.domains import Codes, Domains
from skatter.hedging.champion import draw_rows


def draw_both_sides(domains: Domains, n_rows: int, random_state: int) -> Codes:
    """Return about ``n_rows`` samples, half of them labelled ones of sources, half targets'.

    All samples where there are no more than that. Where a side has fewer than its half, the other
    takes what is left. A few samples of every class are kept: a rare class must not vanish.
    """
    if domains.n_samples <= n_rows:
        return np.arange(domains.n_samples)
    teach = np.flatnonzero(domains.labelled & domains.source)
    target = np.flatnonzero(domains.target)
    n_teach = min(len(teach), max(n_rows // 2, n_rows - len(target)))
    drawn = teach[draw_rows(domains.label[teach], n_teach, random_state)]
    mixed = np.random.default_rng(random_state).permutation(target)
    return np.sort(np.concatenate([drawn, mixed[: n_rows - n_teach]]))
