"""Published accuracies of subspace methods on Office + Caltech10, SURF, to two decimals.

Whole domains, nearest neighbour, the preprocessing of the GFK release.
"""

from __future__ import annotations

import numpy as np
import pytest

from skatter.methods._gfk import GFK
from skatter.methods._subspace_alignment import SubspaceAlignment

NAMES = {"A": "amazon", "C": "caltech", "D": "dslr", "W": "webcam"}

GFK_DIMENSIONS = {"DW": 10, "AD": 20, "AW": 10, "CW": 20, "CD": 10, "AC": 20}
"""Dimensions of the subspaces that the authors of GFK used."""

GFK_PUBLISHED = {
    "C>A": 41.02, "C>W": 40.68, "C>D": 38.85, "A>C": 40.25, "A>W": 38.98, "A>D": 36.31,
    "W>C": 30.72, "W>A": 29.75, "W>D": 80.89, "D>C": 30.28, "D>A": 32.05, "D>W": 75.59,
}  # fmt: skip
"""GFK with principal axes, as in Long et al., ICCV 2013 (the paper of JDA)."""

GFK_50 = {
    "A>W": 39.32, "A>D": 28.66, "A>C": 39.27, "W>A": 34.03, "W>D": 84.71, "W>C": 28.76,
    "D>A": 32.25, "D>W": 80.34, "D>C": 29.12, "C>A": 41.75, "C>W": 36.61, "C>D": 40.13,
}  # fmt: skip
"""GFK as in Ghifary et al., table 2; the values are those of 50 dimensions."""

SA_30 = {"W>D": 80.89, "D>W": 82.37, "D>C": 31.17, "C>A": 41.34}
SA_80 = {"A>W": 37.63, "W>A": 34.34, "W>C": 28.76, "D>A": 34.24, "C>W": 32.20}
"""SA as in Ghifary et al., table 2, by the dimension that gives the value.

The other three, A>D 34.49, A>C 37.80 and C>D 42.86, belong to dimensions that are not known.
"""


@pytest.fixture(scope="module")
def accuracy(surf, nearest_accuracy):
    """Percent correct in the target of a task, by the nearest source sample."""

    def measure(model, task):
        source, target = (surf.domain == NAMES[letter] for letter in task.split(">"))
        rows = source | target
        y, here = surf.y[rows], source[rows]
        known = np.where(here, y, -1)
        Z = model.fit_transform(surf.X[rows], known, sample_domain=surf.domain[rows])
        return nearest_accuracy(Z[here], y[here], Z[~here], y[~here])

    return measure


@pytest.mark.parametrize("task", GFK_PUBLISHED)
def test_gfk_with_the_dimensions_of_its_authors_is_as_good_as_published(accuracy, task):
    dimension = GFK_DIMENSIONS["".join(sorted(task.replace(">", "")))]
    assert accuracy(GFK(dimension), task) == GFK_PUBLISHED[task]


def test_gfk_with_50_dimensions_gives_nine_of_the_twelve_values_and_the_others_to_two_samples(
    accuracy, surf
):
    off = {}
    for task, published in GFK_50.items():
        n_target = np.sum(surf.domain == NAMES[task[-1]])
        off[task] = round((accuracy(GFK(50), task) - published) * n_target / 100)
    assert sum(samples == 0 for samples in off.values()) >= 9
    assert max(map(abs, off.values())) <= 2


@pytest.mark.parametrize(
    ("task", "dimension", "published"),
    [(task, 30, value) for task, value in SA_30.items()]
    + [(task, 80, value) for task, value in SA_80.items()],
)
def test_sa_is_as_good_as_published(accuracy, task, dimension, published):
    assert accuracy(SubspaceAlignment(dimension), task) == published
