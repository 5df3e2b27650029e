"""SCAClassifier on the digits of Long et al., nothing tuned and no label of the target seen."""

import numpy as np
import pytest

from skatter import SCAClassifier

# What MEDA has on these files, by its paper.


@pytest.mark.parametrize(("source", "least"), [("usps", 0.721), ("mnist", 0.895)])
def test_the_classifier_is_ahead_of_the_best_published_successor(mnist_usps, source, least):
    known = np.where(mnist_usps.domain == source, mnist_usps.y, -1)
    model = SCAClassifier().fit(mnist_usps.X, known, sample_domain=mnist_usps.domain)
    assert np.mean(model.transduction_[known < 0] == mnist_usps.y[known < 0]) > least
