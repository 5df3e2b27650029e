"""A draw of samples that is fair to both sides: half labelled ones of sources, half targets'."""

from __future__ import annotations

import numpy as np

from skatter.domains import Codes, Domains, Mask
from skatter.hedging._champion import draw_rows


def draw_both_sides(domains: Domains, n_rows: int, random_state: int) -> Codes:
    """Return about ``n_rows`` samples, half of them labelled ones of sources, half targets'.

    All samples where there are no more than that. Where a side has fewer than its half, the other
    takes what is left. A few samples of every class are kept: a rare class must not vanish.
    """
    if domains.n_samples <= n_rows:
        return np.arange(domains.n_samples)
    teach = domains.labelled & domains.source
    return draw_from_sides(domains.label, teach, domains.target, n_rows, random_state)


def draw_from_sides(
    label: Codes, teach: Mask, target: Mask, n_rows: int, random_state: int
) -> Codes:
    """Do the same for samples of which it is known which teach and which are of targets."""
    teachers, others = np.flatnonzero(teach), np.flatnonzero(target)
    n_teach = min(len(teachers), max(n_rows // 2, n_rows - len(others)))
    drawn = teachers[draw_rows(label[teachers], n_teach, random_state)]
    mixed = np.random.default_rng(random_state).permutation(others)
    return np.sort(np.concatenate([drawn, mixed[: n_rows - n_teach]]))
