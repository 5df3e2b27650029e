"""The way back: a target with right labels teaches the sources, one with wrong labels does not."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import accuracy_score, balanced_accuracy_score

from skatter.hedging._champion import METRICS
from skatter.hedging._reverse import reverse_score
from skatter.trees import ForestClassifier


@pytest.fixture(scope="module")
def there_and_back():
    """A target, its classes, a source and its classes; a third of the samples is of class 1."""
    rng = np.random.default_rng(0)
    label = np.tile([0, 0, 1], 60)
    X = rng.normal(size=(180, 3)) + 2 * label[:, None]
    return X[:90], label[:90], X[90:], label[90:]


def test_the_way_back_is_a_forest_taught_by_the_target_and_scored_on_the_source(there_and_back):
    target, predicted, source, label = there_and_back
    forest = RandomForestClassifier(ForestClassifier().n_trees, random_state=0).fit(
        target, predicted
    )
    expected = accuracy_score(label, forest.predict(source))
    assert reverse_score(target, predicted, source, label, "accuracy", 0) == expected


@pytest.mark.parametrize("metric", METRICS)
def test_wrong_predictions_come_back_as_errors(there_and_back, metric):
    target, predicted, source, label = there_and_back
    right = reverse_score(target, predicted, source, label, metric, 0)
    swapped = reverse_score(target, 1 - predicted, source, label, metric, 0)
    assert right > 0.85
    assert swapped < 0.15


@pytest.mark.parametrize("metric", METRICS)
def test_a_target_of_one_class_teaches_that_class(there_and_back, metric):
    target, _, source, label = there_and_back
    only = np.zeros(len(target), dtype=int)
    score = {"accuracy": accuracy_score, "balanced accuracy": balanced_accuracy_score}[metric]
    expected = score(label, np.zeros(len(label)))
    assert reverse_score(target, only, source, label, metric, 0) == expected
