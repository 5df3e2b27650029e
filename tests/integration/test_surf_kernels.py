"""Published accuracies on Office+Caltech SURF, to the second decimal."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.preprocessing import normalize

from skatter.methods import JDA, TJM

TJM_PAPER = {
    ("caltech", "amazon"): 46.76,
    ("caltech", "webcam"): 38.98,
    ("caltech", "dslr"): 44.59,
    ("amazon", "caltech"): 39.45,
    ("amazon", "webcam"): 42.03,
    ("amazon", "dslr"): 45.22,
    ("webcam", "caltech"): 30.19,
    ("webcam", "amazon"): 29.96,
    ("webcam", "dslr"): 89.17,
    ("dslr", "caltech"): 31.43,
    ("dslr", "amazon"): 32.78,
    ("dslr", "webcam"): 85.42,
}
"""M. Long et al., CVPR 2014: k = 20, λ = 1, ten iterations, linear kernel."""

JDA_PAPER = {
    ("caltech", "amazon"): 44.78,
    ("caltech", "webcam"): 41.69,
    ("caltech", "dslr"): 45.22,
    ("amazon", "caltech"): 39.36,
    ("amazon", "webcam"): 37.97,
    ("amazon", "dslr"): 39.49,
    ("webcam", "caltech"): 31.17,
    ("webcam", "amazon"): 32.78,
    ("webcam", "dslr"): 89.17,
    ("dslr", "caltech"): 31.52,
    ("dslr", "amazon"): 33.09,
    ("dslr", "webcam"): 89.49,
}
"""M. Long et al., ICCV 2013: k = 100, λ = 1, ten rounds, linear kernel."""


@pytest.fixture
def adapted_accuracy(surf, nearest_accuracy):
    """Accuracy of the nearest source neighbour in the features of a model, in percent."""

    def measure(model, source, target):
        rows = np.flatnonzero(np.isin(surf.domain, [source, target]))
        y, domain = surf.y[rows], surf.domain[rows]
        known = np.where(domain == source, y, -1)
        Z = model.fit_transform(normalize(surf.X[rows]), known, sample_domain=domain)
        here, there = domain == source, domain == target
        return nearest_accuracy(Z[here], y[here], Z[there], y[there])

    return measure


@pytest.mark.parametrize(
    ("pair", "published"),
    TJM_PAPER.items(),
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else "",
)
def test_tjm_gives_the_published_accuracy(adapted_accuracy, pair, published):
    assert adapted_accuracy(TJM(20, max_iter=10, tol=0), *pair) == published


@pytest.mark.parametrize(
    ("pair", "published"),
    JDA_PAPER.items(),
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else "",
)
def test_jda_gives_the_published_accuracy(adapted_accuracy, pair, published):
    assert adapted_accuracy(JDA(100, max_iter=10, tol=0), *pair) == published
