"""The structured classifier: what it solves, and where it has a voice."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from skatter import SCAClassifier
from skatter.domains import read_domains
from skatter.self_training import _structured
from skatter.self_training._structured import Structured

N_CLASSES = 3


def blobs(n=720, seed=0, shift=0.5):
    """Classes in three directions; the target is moved along another."""
    rng = np.random.default_rng(seed)
    y, site = np.arange(n) % N_CLASSES, np.repeat([0, 1], n // 2)
    X = rng.normal(scale=0.5, size=(n, 6)) + 3 * np.eye(N_CLASSES, 6)[y]
    X[site == 1, 4] += shift
    return X, y, np.where(site == 0, y, -1), site


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def samples_of(X):
    U = unit(X)
    return unit(U - U.mean(axis=0))


def structured(X, known, site):
    return Structured(X, read_domains(known, site, labelled=known >= 0), None)


def neighbours(U, k=10):
    """Indices of the k nearest other rows."""
    distances = cdist(U, U)
    np.fill_diagonal(distances, np.inf)
    return distances.argsort(axis=1)[:, :k]


def dense_shares(X, known, site, guess):
    """One round of ((S + λ M + ρ L) K + η I) β = S Y, every matrix written out."""
    U, n = samples_of(X), len(X)
    K = np.exp(-cdist(U, U, "sqeuclidean") / 2)
    W = np.eye(n)
    for i, near in enumerate(neighbours(U)):
        for j in near:
            W[i, j] = W[j, i] = max(U[i] @ U[j], 0)
    degree = W.sum(axis=1)
    L = np.eye(n) - W / np.sqrt(np.outer(degree, degree))

    def difference(source, target):
        e = source / source.sum() - target / target.sum()
        return np.outer(e, e)

    of_source, of_target = site == 0, site == 1
    M = N_CLASSES * difference(of_source, of_target)
    for c in range(N_CLASSES):
        M += difference(of_source & (known == c), of_target & (guess == c))
    S = np.diag((known >= 0).astype(float))
    Y = np.eye(N_CLASSES)[known] * (known >= 0)[:, None]
    left = (S + 10 * M / np.linalg.norm(M) + L) @ K + 0.1 * np.eye(n)
    F = np.maximum((K @ np.linalg.solve(left, S @ Y))[known < 0], 1e-9)
    return F / F.sum(axis=1, keepdims=True)


def test_its_shares_solve_the_equations_of_adaptation_regularisation():
    X, y, known, site = blobs(n=180)
    guess = np.where(known >= 0, known, (y + (np.arange(180) % 7 == 0)) % N_CLASSES)
    found = structured(X, known, site).shares(guess, n_rounds=1)
    assert_allclose(found, dense_shares(X, known, site, guess), atol=2e-4)


def test_without_a_guess_it_starts_from_the_nearest_labelled_sample():
    X, _, known, site = blobs(n=180)
    U = samples_of(X)
    nearest = known[known >= 0][cdist(U, U[known >= 0]).argmin(axis=1)]
    model = structured(X, known, site)
    assert_array_equal(model.shares(n_rounds=1), model.shares(nearest, n_rounds=1))


def test_its_skill_is_how_far_neighbours_are_above_the_largest_class():
    X, _, known, site = blobs(n=240)
    known[:60] = 0  # more of one class, and wrong labels among them
    U, label = samples_of(X)[known >= 0], known[known >= 0]
    votes = [np.bincount(label[near]).argmax() for near in neighbours(U)]
    right, largest = np.mean(votes == label), np.bincount(label).max() / len(label)
    assert structured(X, known, site).skill == pytest.approx((right - largest) / (1 - largest))


def test_its_harmony_is_the_share_of_target_neighbours_that_are_predicted_alike():
    X, y, known, site = blobs(n=240)
    predicted = np.where(np.arange(240) % 5 == 0, 0, y)
    edges = {(i, j) for i, near in enumerate(neighbours(samples_of(X))) for j in near}
    edges = {(i, j) for i, j in edges | {(j, i) for i, j in edges} if known[i] < 0 > known[j]}
    alike = np.mean([predicted[i] == predicted[j] for i, j in edges])
    assert structured(X, known, site).harmony(predicted) == pytest.approx(alike)


@pytest.mark.parametrize(
    ("spoil", "trusted"),
    [
        ("nothing", True),
        ("labels", False),  # neighbours do not have the same class
        ("predictions", False),  # nor are they predicted alike
        ("number", False),  # too few labels to tell
    ],
)
def test_it_has_a_voice_where_neighbours_share_their_class_and_nowhere_else(spoil, trusted):
    X, y, known, site = blobs()
    predicted, rng = y.copy(), np.random.default_rng(0)
    if spoil == "labels":
        known[known >= 0] = rng.permutation(known[known >= 0])
    if spoil == "predictions":
        predicted[known < 0] = rng.permutation(predicted[known < 0])
    if spoil == "number":
        known[:90] = -1
    assert structured(X, known, site).is_trusted(predicted) is trusted


def test_one_class_alone_is_no_skill():
    X, _, known, site = blobs(n=240)
    assert structured(X, np.minimum(known, 0), site).skill == 0


def test_samples_that_it_did_not_learn_from_are_predicted_too(monkeypatch):
    X, y, known, site = blobs()
    whole = structured(X, known, site).shares()
    monkeypatch.setattr(_structured, "MOST", 480)
    part = structured(X, known, site).shares()
    assert part.shape == whole.shape
    assert np.mean(part.argmax(axis=1) == y[known < 0]) > 0.98
    assert_array_equal(part, structured(X, known, site).shares())


@pytest.mark.parametrize("options", [{}, {"structured": False}])
def test_the_classifier_asks_it_unless_told_not_to(options):
    X, _, known, site = blobs()
    model = SCAClassifier(n_basis=30, ridges=[1e-3], **options).fit(X, known, sample_domain=site)
    assert model.structured_ is options.get("structured", True)


def test_the_classifier_goes_without_it_where_there_is_no_target():
    X, y, _, site = blobs()
    known = np.where(np.arange(len(y)) % 10 == 0, -1, y)
    model = SCAClassifier(n_basis=30, ridges=[1e-3]).fit(X, known, sample_domain=site)
    assert not model.structured_
