"""Rotated MNIST, one angle left out: what a decoder for each angle adds to an autoencoder."""

from __future__ import annotations

import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from skatter.methods import MTAE

pytestmark = pytest.mark.long

UNSEEN = "0"
"""The angle that is left out: an end, which lies outside of what was seen."""

SIZE = {"n_components": 200, "max_iter": 20}
"""Less than the defaults, for time."""


@pytest.fixture(scope="module")
def accuracy(rotated_mnist, require):
    """Percent correct of a linear machine on the angle left out."""
    require("torch", extra="torch")
    X, y, angle = rotated_mnist.X, rotated_mnist.y, rotated_mnist.domain
    seen = angle != UNSEEN

    def of(model, *, pooled):
        model.fit(X[seen], y[seen], sample_domain=None if pooled else angle[seen])
        Z, Z_new = model.transform(X[seen]), model.transform(X[~seen])
        machine = make_pipeline(StandardScaler(), LinearSVC(dual=False)).fit(Z, y[seen])
        return 100 * machine.score(Z_new, y[~seen])

    # An object comes in five views, so five times as many pooled samples make as many steps.
    models = {
        "same digit": (MTAE(pairs="order", **SIZE), False),
        "same class": (MTAE(pairs="class", **SIZE), False),
        "plain": (MTAE(batch_size=5 * MTAE().batch_size, **SIZE), True),
    }
    return {name: of(model, pooled=pooled) for name, (model, pooled) in models.items()}


def test_a_decoder_for_each_angle_beats_a_plain_autoencoder_of_the_same_size(accuracy):
    assert accuracy["same digit"] > accuracy["plain"] + 1


def test_the_same_digit_at_another_angle_teaches_more_than_another_digit_of_its_class(accuracy):
    assert accuracy["same digit"] > accuracy["same class"] + 3


def test_features_generalise_better_than_pixels(accuracy, rotated_mnist):
    X, y, seen = rotated_mnist.X, rotated_mnist.y, rotated_mnist.domain != UNSEEN
    machine = LinearSVC(dual=False).fit(X[seen], y[seen])
    pixels = 100 * machine.score(X[~seen], y[~seen])
    assert accuracy["same digit"] > pixels + 15
    assert accuracy["same class"] > pixels + 10
