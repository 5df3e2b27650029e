"""ARTL, MEDA, BDA, JGSA and EasyTL: their equations, transcribed densely and sample by sample."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import eigh
from scipy.optimize import linprog
from scipy.spatial.distance import cdist

from skatter.methods import ARTL, BDA, CORAL, GFK, JDA, JGSA, MEDA, TCA, EasyTL
from skatter.methods._easy_tl import cheapest_classes
from skatter.methods._meda import a_distance


@pytest.fixture(scope="module")
def problem(make_problem):
    return make_problem(2, n=15, seed=3)


def fitted(model, problem):
    return model.fit(problem.X, problem.known, sample_domain=problem.domain)


def unit(Z):
    return Z / np.linalg.norm(Z, axis=1, keepdims=True)


def mmd_matrix(problem, guess, marginal, conditional):
    """c₀ e eᵀ + c₁ Σ_c e_c e_cᵀ."""
    source, target = ~problem.unlabelled, problem.unlabelled
    e = source / source.sum() - target / target.sum()
    M = marginal * np.outer(e, e)
    for c in np.unique(problem.y):
        here, there = source & (problem.y == c), target & (guess == c)
        e = here / here.sum() - there / max(there.sum(), 1)
        M += conditional * np.outer(e, e)
    return M


def nearest(Z, problem):
    """The class of every sample, unlabelled ones from the nearest source sample."""
    distances = cdist(Z, Z[~problem.unlabelled])
    return np.where(
        problem.unlabelled, problem.y[~problem.unlabelled][distances.argmin(1)], problem.y
    )


def cosine_laplacian(U, k):
    n = len(U)
    cosine, W = U @ U.T, np.eye(n)
    for i in range(n):
        others = [j for j in np.argsort(-cosine[i]) if j != i][:k]
        for j in others:
            W[i, j] = W[j, i] = max(cosine[i, j], 0)
    degree = W.sum(axis=1)
    return np.eye(n) - W / np.sqrt(np.outer(degree, degree))


def structural_risk(problem, Z, balance, *, rounds, mmd=10.0, smoothness=1.0, shrinkage=0.1, k=10):
    """Rounds of ((S + λ M + ρ L) K + η I) β = S Y, and the objective after each."""
    U = unit(Z)
    K = np.exp(-cdist(U, U, "sqeuclidean") / 2)
    S = np.diag((~problem.unlabelled).astype(float))
    L, Y = cosine_laplacian(U, k), np.eye(3)[problem.y]
    guess, objectives = nearest(U, problem), []
    for _ in range(rounds):
        M = mmd_matrix(problem, guess, *balance(guess))
        M /= np.linalg.norm(M)
        left = (S + mmd * M + smoothness * L) @ K + shrinkage * np.eye(len(K))
        beta = np.linalg.solve(left, S @ Y)
        F = K @ beta
        guess = np.where(problem.unlabelled, F.argmax(axis=1), problem.y)
        penalty = F.T @ (mmd * M + smoothness * L) @ F
        loss = np.sum((S @ (Y - F)) ** 2)
        objectives.append(loss + shrinkage * np.trace(beta.T @ F) + np.trace(penalty))
    return beta, objectives


def test_artl_solves_its_equations_round_by_round(problem):
    model = fitted(ARTL(max_iter=3), problem)
    Z = problem.X - problem.X.mean(axis=0)
    beta, objectives = structural_risk(problem, Z, lambda guess: (3, 1), rounds=3)
    assert_allclose(model.dual_coef_, beta, atol=1e-9)
    assert_allclose(model.objective_, objectives, rtol=1e-9)


def test_artl_minimises_its_objective(problem):
    model = fitted(ARTL(max_iter=1, mmd=0.0), problem)
    U = unit(problem.X - problem.X.mean(axis=0))
    K, L = np.exp(-cdist(U, U, "sqeuclidean") / 2), cosine_laplacian(U, 10)
    S, Y = (~problem.unlabelled).astype(float), np.eye(3)[problem.y]

    def objective(beta):
        F = K @ beta
        loss = np.sum(S[:, None] * (Y - F) ** 2)
        return loss + 0.1 * np.vdot(beta, F) + np.trace(F.T @ L @ F)

    rng, best = np.random.default_rng(0), objective(model.dual_coef_)
    assert best == pytest.approx(model.objective_[0])
    for _ in range(20):
        step = 1e-3 * rng.normal(size=model.dual_coef_.shape)
        assert objective(model.dual_coef_ + step) > best


def test_meda_is_artl_in_the_features_of_the_geodesic_flow(problem):
    Z = GFK(n_components=2).fit_transform(problem.X, sample_domain=signed(problem))

    def balance(guess):
        share = measured_share(Z, problem, guess)
        return 3 * (1 - share), share

    model = fitted(MEDA(n_components=2, max_iter=3), problem)
    beta, objectives = structural_risk(problem, Z, balance, rounds=3)
    assert_allclose(model.dual_coef_, beta, atol=1e-8)
    assert_allclose(model.objective_, objectives, rtol=1e-8)
    assert 0 < model.mu_ < 1


def signed(problem):
    return np.where(problem.unlabelled, -1, 1)


def measured_share(Z, problem, guess):
    source, target = ~problem.unlabelled, problem.unlabelled
    of_classes = [
        a_distance(Z[source & (problem.y == c)], Z[target & (guess == c)]) for c in range(3)
    ]
    whole = a_distance(Z[source], Z[target])
    return np.mean(of_classes) / (np.mean(of_classes) + whole)


def test_meda_takes_a_share_that_is_given(problem):
    assert fitted(MEDA(mu=0.25), problem).mu_ == 0.25
    with pytest.raises(ValueError, match=r"mu must lie in \[0, 1\], got 2"):
        fitted(MEDA(mu=2), problem)
    with pytest.raises(ValueError, match="mu must be one of 'adaptive', got 'some'"):
        fitted(MEDA(mu="some"), problem)


def test_a_distance_of_nothing_is_the_largest():
    assert a_distance(np.ones((3, 1)), np.ones((0, 1))) == 2


@pytest.mark.parametrize("model", [ARTL, MEDA])
def test_a_gram_matrix_is_refused_by_methods_that_need_neighbours(model, problem):
    with pytest.raises(ValueError, match="kernel must be a name or a callable"):
        fitted(model(kernel="precomputed"), problem)


def test_balanced_adaptation_is_jda_in_the_middle_and_tca_at_one_end(problem):
    bda = fitted(BDA(3, mu=0.5, penalty=1.0, max_iter=4, tol=0), problem)
    jda = fitted(JDA(3, penalty=1.0, max_iter=4, tol=0), problem)
    assert_allclose(bda.transform(problem.X), jda.transform(problem.X), atol=1e-8)
    bda = fitted(BDA(3, mu=0.0, unit_samples=False, max_iter=2, tol=0), problem)
    tca = TCA(3, mu=0.1, kernel="linear", normalize_mmd=True)
    expected = tca.fit(problem.X, sample_domain=signed(problem)).transform(problem.X)
    assert_allclose(bda.transform(problem.X), expected, atol=1e-7)


def test_weighted_adaptation_multiplies_the_means_of_classes_by_their_shares(make_problem):
    problem = make_problem(2, n=10, seed=1)
    rows = np.flatnonzero(~((problem.y == 2) & ~problem.unlabelled & (np.arange(60) % 3 > 0)))
    X, y, known = problem.X[rows], problem.y[rows], problem.known[rows]
    model = BDA(2, mu=1.0, weighted=True, unit_samples=False, max_iter=2, tol=0, penalty=0.3)
    model.fit(X, known)
    source = known >= 0
    K = X @ X.T
    n = len(X)
    H = np.eye(n) - 1 / n
    e = source / source.sum() - ~source / (~source).sum()
    M = 0.0 * np.outer(e, e)
    for _ in range(2):
        M = M / (np.linalg.norm(M) or 1)
        _, W = eigh(K @ H @ K, K @ M @ K + 0.3 * np.eye(n), subset_by_index=[n - 2, n - 1])
        Z = K @ (W / np.linalg.norm(W, axis=0))
        guess = np.where(source, y, y[source][cdist(Z, Z[source]).argmin(axis=1)])
        M = np.zeros((n, n))
        for c in range(3):
            here, there = source & (y == c), ~source & (guess == c)
            ratio = there.sum() / (~source).sum() * source.sum() / here.sum()
            e = here / here.sum() - ratio * there / max(there.sum(), 1)
            M += np.outer(e, e)
    actual = np.abs(model.transform(X))
    assert_allclose(actual, np.abs(Z[:, ::-1]), rtol=1e-5, atol=1e-6)


def test_jgsa_solves_its_equations_round_by_round(problem):
    X = problem.X
    source, target = ~problem.unlabelled, problem.unlabelled
    p, guess = X.shape[1], nearest(X, problem)
    Sw, Sb = np.zeros((p, p)), np.zeros((p, p))
    for c in range(3):
        own = X[source & (problem.y == c)]
        Sw += (own - own.mean(axis=0)).T @ (own - own.mean(axis=0))
        away = own.mean(axis=0) - X[source].mean(axis=0)
        Sb += len(own) * np.outer(away, away)
    there = X[target] - X[target].mean(axis=0)
    zero, one = np.zeros((p, p)), np.eye(p)
    alpha, beta, mu = 1.5, 0.2, 0.7
    for _ in range(3):
        M = mmd_matrix(problem, guess, 3, 1) / np.linalg.norm(mmd_matrix(problem, guess, 3, 0))
        Xs, Xt = np.where(source[:, None], X, 0), np.where(target[:, None], X, 0)
        largest = np.block([[beta * Sb, zero], [zero, mu * there.T @ there]])
        smallest = np.block(
            [
                [Xs.T @ M @ Xs + alpha * one + beta * Sw, Xs.T @ M @ Xt - alpha * one],
                [Xt.T @ M @ Xs - alpha * one, Xt.T @ M @ Xt + (alpha + mu) * one],
            ]
        )
        values, W = eigh(largest, smallest)
        W /= np.linalg.norm(W, axis=0)
        A, B = W[:p, :-4:-1], W[p:, :-4:-1]
        Z = np.where(target[:, None], X @ B, X @ A)
        guess = nearest(Z, problem)
    model = JGSA(3, agreement=alpha, discrimination=beta, target_variance=mu, max_iter=3, tol=0)
    actual = model.fit_transform(problem.X, problem.known, sample_domain=problem.domain)
    assert_allclose(model.eigenvalues_, values[:-4:-1], rtol=1e-6)
    assert_allclose(np.abs(actual), np.abs(Z), atol=1e-5)
    assert (model.pseudo_labels_ == guess[target]).all()


def test_jgsa_finds_the_same_in_the_span_of_few_samples(problem):
    rng = np.random.default_rng(0)
    turned = np.linalg.qr(rng.normal(size=(200, 5)))[0]
    wide = problem.X @ turned.T
    given = {"y": problem.known, "sample_domain": problem.domain}
    few, many = (JGSA(3).fit_transform(X, **given) for X in (problem.X, wide))
    assert_allclose(np.abs(many), np.abs(few), atol=1e-6)


def test_easy_transfer_gives_every_class_a_sample_at_the_least_cost():
    rng = np.random.default_rng(0)
    for _ in range(10):
        distances = rng.uniform(size=(7, 4)) + np.array([0, 0.2, 0.6, 0.9])
        n, C = distances.shape
        each = np.kron(np.eye(n), np.ones(C))
        every = -np.kron(np.ones(n), np.eye(C))
        best = linprog(distances.ravel(), every, -np.ones(C), each, np.ones(n), bounds=(0, 1))
        guess = cheapest_classes(distances)
        assert distances[np.arange(n), guess].sum() == pytest.approx(best.fun)
        assert set(guess) == set(range(C))


def test_easy_transfer_is_the_nearest_mean_of_the_aligned_source(problem):
    model = fitted(EasyTL(), problem)
    Z = CORAL(ridge=1.0).fit_transform(problem.X, sample_domain=signed(problem))
    source = ~problem.unlabelled
    centres = np.array([Z[source & (problem.y == c)].mean(axis=0) for c in range(3)])
    assert_allclose(model.centres_, centres, atol=1e-10)
    expected = cdist(Z, centres).argmin(axis=1)
    assert (model.predict(problem.X, sample_domain=problem.domain) == expected).all()
    raw = fitted(EasyTL(align=False), problem)
    plain = np.array([problem.X[source & (problem.y == c)].mean(axis=0) for c in range(3)])
    assert_allclose(raw.centres_, plain, atol=1e-12)
