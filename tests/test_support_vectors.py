"""A machine taken apart decides as scikit-learn's does."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC

from skatter._support_vectors import SupportVectors


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_decisions_are_those_of_scikit_learn(n_classes, class_weight, form):
    rng = np.random.default_rng(n_classes)
    label = rng.integers(n_classes, size=200)
    X = form(rng.normal(size=(200, 4)) + 0.7 * label[:, None])
    expected = SVC(class_weight=class_weight).fit(X, label).decision_function(X)
    if n_classes == 2:
        expected = np.column_stack([-expected, expected]) / 2
    found = SupportVectors.train(X, label, class_weight=class_weight).decide(X)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_samples_that_are_all_alike_are_no_division_by_zero():
    machine = SupportVectors.train(np.zeros((4, 2)), np.array([0, 0, 1, 1]))
    assert np.isfinite(machine.decide(np.zeros((1, 2)))).all()
