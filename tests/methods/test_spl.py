"""Selective pseudo-labelling: its projection from graph matrices, its choice sample by sample."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import eigh

from skatter.methods import SPL
from skatter.methods._spl import locality_projection, matched_clusters, surest


@pytest.fixture(scope="module")
def problem(make_problem):
    return make_problem(2, n=15, seed=3)


def test_the_projection_is_that_of_the_graph_of_classes():
    rng = np.random.default_rng(0)
    X, label = rng.normal(size=(30, 6)), rng.choice(3, size=30, p=[0.5, 0.3, 0.2])
    W = (label[:, None] == label).astype(float)
    D = np.diag(W.sum(axis=1))
    _, P = eigh(X.T @ D @ X, X.T @ (D - W) @ X + np.eye(6))
    actual = locality_projection(X, label, 4)
    assert_allclose(np.abs(actual), np.abs(P[:, :-5:-1]), atol=1e-8)


def test_the_surest_share_of_each_class_is_chosen():
    rng = np.random.default_rng(1)
    likely = rng.dirichlet(np.ones(3), size=40)
    guess, size = likely.argmax(axis=1), likely.max(axis=1)
    chosen = np.isin(np.arange(40), surest(likely, 0.3))
    for c in range(3):
        own = guess == c
        assert chosen[own].sum() == int(0.3 * own.sum())
        assert size[own & chosen].min() >= size[own & ~chosen].max()
    assert surest(likely, 1.0).tolist() == list(range(40))
    assert len(surest(np.empty((0, 3)), 0.5)) == 0


def test_clusters_are_matched_with_the_nearest_prototypes():
    rng = np.random.default_rng(0)
    places = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]])
    Z = np.vstack([place + rng.normal(size=(20, 2)) * 0.3 for place in places])
    clusters = matched_clusters(Z, places[[2, 0, 1]] + 1)
    assert_allclose(clusters, places[[2, 0, 1]], atol=0.3)


def test_the_last_round_learns_from_all_target_samples(problem):
    model = SPL(n_components=3).fit(problem.X, problem.known, sample_domain=problem.domain)
    U = (problem.X - problem.X.mean(axis=0)) @ model.axes_
    U /= np.linalg.norm(U, axis=1, keepdims=True)
    taught = problem.y.copy()
    taught[problem.unlabelled] = model.pseudo_labels_
    assert_allclose(np.abs(model.projection_), np.abs(locality_projection(U, taught, 3)), atol=1e-8)


def test_one_round_without_clusters_is_the_nearest_prototype(problem):
    model = SPL(n_components=3, structured=False)
    model.fit(problem.X, problem.known, sample_domain=problem.domain)
    assert model.clusters_ is None
    assert np.mean(model.pseudo_labels_ == problem.y[problem.unlabelled]) > 0.9
