"""The solvers against dense matrices built from their definitions and scipy's eigensolver."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.linalg import eigh, helmert, subspace_angles
from sklearn.metrics.pairwise import pairwise_kernels

from skatter._objective import Coefficients, Objective, sca
from skatter._solve import (
    DualOperator,
    DualPath,
    PrimalPath,
    canonical_order,
    solve_dual,
)
from skatter._solve import dual as duals
from skatter._solve import path as paths
from skatter._solve.blas import (
    cholesky_in_place,
    cholesky_solve,
    dot,
    subtract_dot,
    subtract_symmetric,
)
from skatter._solve.padded import JITTER, PaddedPath, PaddedSolution
from skatter._solve.solution import Solution, numerical_rank, relative_residuals
from skatter.domains import read_domains
from skatter.kernels import centre
from skatter.moments import collect_moments

some = settings(deadline=None, max_examples=25)

KERNELS = ("rbf", "linear", "poly", "laplacian", "cosine")
NUGGET = 0.05
BETAS, DELTAS = (0.0, 0.1, 0.5, 1.0), (0.0, 1.0, 100.0)


# --- the slow, obviously right computation ------------------------------------------------------


def scatter_of_means(columns):
    """(1/m) Σ (μ_g − μ̄)(μ_g − μ̄)ᵀ for coefficient columns of m means."""
    means = np.column_stack(columns)
    away = means - means.mean(axis=1, keepdims=True)
    return away @ away.T / means.shape[1]


def dense(label, domain):
    """H, R, S, L and L_c from their definitions."""
    n, known = len(label), label >= 0
    L = scatter_of_means([(domain == a) / np.sum(domain == a) for a in np.unique(domain)])
    R, S, Lc = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    classes = np.unique(label[known])
    for k in classes:
        own = label == k
        v = own / own.sum() - known / known.sum()
        R += own.sum() * np.outer(v, v)
        S += np.diag(own.astype(float)) - np.outer(own, own) / own.sum()
        groups = [own & (domain == a) for a in np.unique(domain[own])]
        Lc += scatter_of_means([group / group.sum() for group in groups]) / len(classes)
    return np.eye(n) - 1 / n, R, S, L, Lc


def pencil(K0, label, domain, objective):
    """K, A = K N K and C = ρ K + K M K."""
    H, R, S, L, Lc = dense(label, domain)
    n_labelled = max(np.sum(label >= 0), 1)
    K = H @ K0 @ H
    N = objective.total * H / len(K0) + objective.between_class * R / n_labelled
    M = (
        objective.within_class * S / n_labelled
        + objective.domain * L
        + objective.conditional_domain * Lc
    )
    return K, K @ N @ K, objective.ridge * K + K @ M @ K


def reference(K0, label, domain, objective, top=None):
    """All eigenpairs of A b = λ C b on the complement of the constant vector, largest first."""
    K, A, C = pencil(K0, label, domain, objective)
    Q = helmert(len(K0)).T
    chosen = None if top is None else [len(K0) - 1 - top, len(K0) - 2]
    left, right = Q.T @ A @ Q, Q.T @ C @ Q
    eigenvalues, W = eigh((left + left.T) / 2, (right + right.T) / 2, subset_by_index=chosen)
    B = Q @ W[:, ::-1]
    return SimpleNamespace(K=K, A=A, C=C, eigenvalues=eigenvalues[::-1], B=B, Z=K @ B)


# --- problems -----------------------------------------------------------------------------------


def problem(seed, n_domains, n_classes, n=70, kernel="rbf", p=6, nugget=NUGGET):
    """Samples of shifted domains; the last is unlabelled or, for odd seeds, partly labelled."""
    rng = np.random.default_rng(seed)
    domain = np.r_[np.arange(n_domains), rng.integers(n_domains, size=n - n_domains)]
    label = np.r_[np.arange(n_classes), rng.integers(n_classes, size=n - n_classes)]
    X = rng.normal(size=(n, p))
    X += (
        1.5 * rng.normal(size=(n_classes, p))[label] + 0.7 * rng.normal(size=(n_domains, p))[domain]
    )
    known = domain < n_domains - 1
    known[:n_classes] = True
    if seed % 2:
        known |= rng.uniform(size=n) < 0.2
    K0 = pairwise_kernels(X, metric=kernel) + nugget * np.eye(n)
    return SimpleNamespace(X=X, K0=K0, label=np.where(known, label, -1), domain=domain)


def view(case):
    return read_domains(case.label, case.domain, labelled=case.label >= 0)


def weights(case, beta, delta, *, normalize):
    """What the estimator chooses: a ridge of 1e-3 of the total scatter, or the paper's one."""
    total = float(np.trace(case.K0) / len(case.K0) - case.K0.mean())
    ridge = 1e-3 * total if normalize else 1.0
    n_labelled = int(np.sum(case.label >= 0))
    return sca(beta, delta, ridge=ridge, normalize=normalize, n_labelled=n_labelled)


def centred(K0):
    H = np.eye(len(K0)) - 1 / len(K0)
    return H @ K0 @ H


def solve(case, objective, k, *, tol=1e-6, solver="dense", dtype=np.float64, place=lambda K: K):
    """solve_dual with rows in the order of the case again, on the host."""
    domains = view(case)
    order = canonical_order(domains)
    K = place(centred(case.K0)[np.ix_(order, order)].astype(dtype))
    found = solve_dual(K, domains.take(order), objective, k, tol=tol, solver=solver)
    back = np.argsort(order)
    return found._replace(
        coefficients=np.asarray(found.coefficients)[back],
        projections=np.asarray(found.projections)[back],
    )


def distinct(eigenvalues, k):
    """The largest number up to k at which the spectrum has a clear gap."""
    return next(j for j in range(k, 0, -1) if eigenvalues[j] < (1 - 1e-3) * eigenvalues[j - 1])


def assert_solves(found, truth, k):
    """Eigenvalues, span, normalisation, K B = Z, 1ᵀB = 0 and residuals, all from dense matrices."""
    assert len(found.eigenvalues) == k
    assert_allclose(found.eigenvalues, truth.eigenvalues[:k], rtol=1e-7)
    B, Z = found.coefficients, found.projections
    same = distinct(truth.eigenvalues, k)
    assert subspace_angles(Z[:, :same], truth.Z[:, :same]).max() < 1e-5
    assert_allclose(B.T @ truth.C @ B, np.eye(k), atol=1e-6)
    assert_allclose(truth.K @ B, Z, atol=1e-8 * np.abs(Z).max())
    assert_allclose(B.sum(axis=0), 0, atol=1e-9 * np.abs(B).sum(axis=0).max())
    residuals = truth.A @ B - truth.C @ B * found.eigenvalues
    residuals = np.linalg.norm(residuals, axis=0) / np.linalg.norm(truth.A @ B, axis=0)
    assert residuals.max() < 1e-5
    # Forming A squares the condition number: below this the dense matrices cannot say.
    assert_allclose(found.residuals, residuals, atol=1e-5)


SHAPES = [
    (seed, 2 + seed % 5, 2 + (3 * seed) % 11, KERNELS[seed % len(KERNELS)]) for seed in range(11)
]


# --- the dual route is exact --------------------------------------------------------------------


def test_the_shapes_cover_what_is_promised():
    assert {m for _, m, _, _ in SHAPES} == set(range(2, 7))
    assert {c for _, _, c, _ in SHAPES} == set(range(2, 13))
    assert {kernel for *_, kernel in SHAPES} == set(KERNELS)


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize(("seed", "n_domains", "n_classes", "kernel"), SHAPES)
def test_dense_and_lanczos_solve_the_generalised_eigenproblem(
    seed, n_domains, n_classes, kernel, beta, normalize
):
    case = problem(seed, n_domains, n_classes, kernel=kernel)
    k = n_classes - 1 if beta == 1 else 9
    for delta in DELTAS:
        objective = weights(case, beta, delta, normalize=normalize)
        truth = reference(case.K0, case.label, case.domain, objective)
        for solver in ("dense", "lanczos"):
            assert_solves(solve(case, objective, k, tol=1e-9, solver=solver), truth, k)


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize(("seed", "n_domains", "n_classes", "kernel"), SHAPES[:3])
def test_tensors_solve_the_generalised_eigenproblem_too(
    require, seed, n_domains, n_classes, kernel, beta, normalize
):
    place = require("torch", "torch").from_numpy
    case = problem(seed, n_domains, n_classes, kernel=kernel)
    k = n_classes - 1 if beta == 1 else 9
    for delta, solver in product(DELTAS[1:], ("dense", "lanczos")):
        objective = weights(case, beta, delta, normalize=normalize)
        truth = reference(case.K0, case.label, case.domain, objective)
        assert_solves(solve(case, objective, k, tol=1e-9, solver=solver, place=place), truth, k)


@pytest.mark.parametrize("solver", ["dense", "lanczos"])
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize(("seed", "n_domains", "n_classes", "kernel"), SHAPES[:5])
def test_unsupervised_sca_is_solved_exactly(seed, n_domains, n_classes, kernel, delta, solver):
    case = problem(seed, n_domains, n_classes, kernel=kernel)
    objective = Objective(domain=delta, ridge=0.3)
    truth = reference(case.K0, case.label, case.domain, objective)
    assert_solves(solve(case, objective, 9, tol=1e-9, solver=solver), truth, 9)


@pytest.mark.parametrize("solver", ["dense", "lanczos"])
@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize(("seed", "n_domains", "n_classes", "kernel"), SHAPES[1:4])
def test_conditional_domain_scatter_is_solved_exactly(
    seed, n_domains, n_classes, kernel, beta, solver
):
    case = problem(seed, n_domains, n_classes, kernel=kernel)
    objective = Objective(1 - beta, beta, 1.0, 0.5, 7.0, ridge=0.02)
    truth = reference(case.K0, case.label, case.domain, objective)
    k = n_classes - 1 if beta == 1 else 9
    assert_solves(solve(case, objective, k, tol=1e-9, solver=solver), truth, k)


@some
@given(
    seed=st.integers(0, 10**6),
    n_domains=st.integers(1, 6),
    n_classes=st.integers(2, 12),
    scatters=st.tuples(*[st.sampled_from([0.0, 0.01, 1.0, 30.0])] * 4),
    ridge=st.sampled_from([1e-3, 0.1, 1.0, 10.0]),
)
def test_any_five_weights_are_solved_exactly(seed, n_domains, n_classes, scatters, ridge):
    case = problem(seed, n_domains, n_classes, n=50)
    objective = Objective(1.0, *scatters, ridge=ridge)
    truth = reference(case.K0, case.label, case.domain, objective)
    assert_solves(solve(case, objective, 6, tol=1e-9, solver="lanczos"), truth, 6)


def test_everything_labelled_and_nothing_but_two_domains():
    case = problem(3, 2, 3)
    case.label = np.where(case.label < 0, 0, case.label)
    for beta, solver in product(BETAS, ("dense", "lanczos")):
        objective = weights(case, beta, 1.0, normalize=True)
        truth = reference(case.K0, case.label, case.domain, objective)
        k = 2 if beta == 1 else 9
        assert_solves(solve(case, objective, k, tol=1e-9, solver=solver), truth, k)


def test_dica_with_balanced_classes_is_sca_without_the_within_class_term():
    # T6: K Om K b = λ' (K L K + K) b, Om = Ky (Ky + n ε I)⁻¹; λ' (1 + C ε) = λ
    case = problem(0, 3, 4, n=80)
    case.label = np.arange(80) % 4
    H, _, _, L, _ = dense(case.label, case.domain)
    eps = 0.2
    Ky = H @ (case.label[:, None] == case.label).astype(float) @ H
    omega = Ky @ np.linalg.inv(Ky + 80 * eps * np.eye(80))
    K = centred(case.K0)
    Q = helmert(80).T
    left, right = Q.T @ K @ omega @ K @ Q, Q.T @ (K @ L @ K + K) @ Q
    dica = eigh((left + left.T) / 2, (right + right.T) / 2, eigvals_only=True)[::-1][:3]
    found = solve(case, Objective(total=0, between_class=80, domain=1.0), 3)
    assert_allclose(found.eigenvalues, dica * (1 + 4 * eps), rtol=1e-9)


# --- Lanczos on a problem that it does not exhaust ----------------------------------------------


@pytest.fixture(scope="module")
def large():
    """n = 800 with a spectrum that decays slowly; all reference eigenvalues that tests look at."""
    case = problem(1, 3, 6, n=800, p=40)
    case.objective = weights(case, 0.1, 10.0, normalize=True)
    case.truth = reference(case.K0, case.label, case.domain, case.objective, top=25)
    return case


@pytest.fixture
def spaces(monkeypatch):
    """Every Krylov space that the dual route grows."""
    grown = []

    def remember(*arguments):
        grown.append(dual_lanczos(*arguments))
        return grown[-1]

    dual_lanczos = paths.lanczos
    monkeypatch.setattr(paths, "lanczos", remember)
    return grown


def test_a_large_problem_is_solved_exactly_in_a_part_of_the_space(large, spaces):
    found = solve(large, large.objective, 20, solver="auto")
    (space,) = spaces
    assert 3 * paths.BLOCK <= len(space.matrix) < 500
    assert_solves(found, large.truth, 20)


@pytest.fixture
def rough_blocks(monkeypatch):
    """Types of the blocks that single precision is given; it is used for any number of samples."""
    seen = []

    def remember(path, W):
        seen.append(W.dtype)
        return apply_roughly(path, W)

    apply_roughly = duals.DualPath.apply_roughly
    monkeypatch.setattr(duals, "SINGLE", range(10_000))
    monkeypatch.setattr(duals.DualPath, "apply_roughly", remember)
    return seen


def test_single_precision_finds_where_to_start_and_double_precision_ends(
    large, spaces, rough_blocks
):
    found = solve(large, large.objective, 20, solver="lanczos")
    assert rough_blocks
    rough, last = spaces
    assert len(last.matrix) < len(rough.matrix) / 2
    assert_solves(found, large.truth, 20)
    assert found.residuals.max() < 1e-6
    assert_allclose(found.eigenvalues, large.truth.eigenvalues[:20], rtol=1e-10)


def test_what_starts_in_single_precision_is_the_same_every_time(large, rough_blocks):
    one, two = (solve(large, large.objective, 20, solver="lanczos") for _ in range(2))
    assert rough_blocks
    assert np.array_equal(one.coefficients, two.coefficients)


@pytest.mark.parametrize(
    ("kernel", "tol"),
    [
        (lambda x: np.exp(-((x[:, None] - x) ** 2)), 1e-6),  # falls below what it resolves
        (lambda x: np.eye(len(x)), 1e-6),  # all eigenvalues are equal
        (lambda x: np.minimum(x[:, None], x) + 10, 1e-9),  # asked for more than it can give
    ],
    ids=["small eigenvalues", "equal eigenvalues", "tight tolerance"],
)
def test_single_precision_is_left_alone_where_it_would_cost_time(kernel, tol, rough_blocks):
    x = np.linspace(0, 3, 600)
    K = kernel(x)
    centre(K)
    domains = read_domains(None, np.zeros(600, dtype=int))
    found = solve_dual(K, domains, Objective(), 40, tol=tol, solver="lanczos")
    assert not rough_blocks
    assert found.eigenvalues[0] == pytest.approx(np.linalg.eigvalsh(K)[-1] / 600, rel=1e-9)


def test_a_tighter_tolerance_gives_smaller_residuals_for_more_work(large, spaces):
    loose = solve(large, large.objective, 20, tol=1e-2, solver="lanczos")
    tight = solve(large, large.objective, 20, tol=1e-9, solver="lanczos")
    assert len(spaces[0].matrix) < len(spaces[1].matrix)
    assert tight.residuals.max() < 1e-7 < loose.residuals.max()
    assert_allclose(tight.eigenvalues, large.truth.eigenvalues[:20], rtol=1e-9)


def test_residuals_say_how_wrong_an_unfinished_solution_is(large):
    found = solve(large, large.objective, 20, tol=1e-2, solver="lanczos")
    left = large.truth.A @ found.coefficients
    right = large.truth.C @ found.coefficients * found.eigenvalues
    honest = np.linalg.norm(left - right, axis=0) / np.linalg.norm(left, axis=0)
    assert honest.max() > 1e-6
    assert_allclose(found.residuals, honest, rtol=1e-3, atol=1e-10)


def test_identities_hold_even_where_the_solution_is_unfinished(large):
    # K B = Z does not wait for convergence: new samples are mapped as the training samples are.
    found = solve(large, large.objective, 20, tol=1e-1, solver="lanczos")
    Z = found.projections
    assert_allclose(large.truth.K @ found.coefficients, Z, atol=1e-9 * np.abs(Z).max())


def test_few_samples_or_many_components_use_the_whole_space(large, spaces):
    solve(problem(0, 2, 3), weights(problem(0, 2, 3), 0.1, 1.0, normalize=True), 5, solver="auto")
    solve(large, large.objective, 250, solver="auto")
    assert spaces == []


def test_with_beta_one_a_single_block_is_exact(large, spaces):
    objective = weights(large, 1.0, 10.0, normalize=True)
    found = solve(large, objective, 5, solver="auto")
    (space,) = spaces
    # F, U_d, and U_c: every class but the hidden ones in every domain
    assert len(space.matrix) <= 5 + 2 + 6 * 2
    truth = reference(large.K0, large.label, large.domain, objective, top=8)
    assert_solves(found, truth, 5)


# --- hard spectra -------------------------------------------------------------------------------


TAIL = 1 / (1 + np.arange(600))
SPECTRA = {
    "identity": np.ones(599),
    "low rank": np.r_[np.arange(5, 0, -1), np.zeros(594)],
    "one value, low rank": np.r_[np.ones(40), np.zeros(559)],
    "pairs": np.repeat(0.9 ** np.arange(300), 2)[:599],
    "steps": np.repeat([4.0, 3.0, 2.0, 1.0], 150)[:599],
    "fast decay": 0.5 ** np.arange(599),
    "one huge": np.r_[1e8, TAIL[:598]],
    "a cluster as wide as a block": np.r_[np.full(paths.BLOCK, 10.0), TAIL[: 599 - paths.BLOCK]],
    "a cluster wider than a block": np.r_[np.full(40, 10.0), TAIL[:559]],
    "two wide clusters": np.r_[np.full(20, 10.0), np.full(30, 2.0), TAIL[:549]],
}


@pytest.mark.parametrize("solver", ["dense", "lanczos"])
@pytest.mark.parametrize("k", [5, 25, 50])
@pytest.mark.parametrize("name", SPECTRA)
def test_the_largest_eigenvalues_are_found_with_their_multiplicity(name, k, solver, with_spectrum):
    spectrum = SPECTRA[name]
    K, domains = with_spectrum(spectrum)
    found = solve_dual(K, domains, Objective(), k, tol=1e-6, solver=solver)
    there = int(np.sum(spectrum[:k] > 1e-10 * spectrum[0]))
    assert len(found.eigenvalues) == there
    assert_allclose(
        found.eigenvalues * len(K), spectrum[:there], rtol=1e-7, atol=1e-13 * spectrum[0]
    )
    B = found.coefficients
    assert_allclose(B.T @ K @ B, np.eye(there), atol=1e-6)


@pytest.mark.parametrize("k", [5, 25, 50])
@pytest.mark.parametrize("name", SPECTRA)
def test_a_start_in_single_precision_misses_no_eigenvalue(name, k, with_spectrum, rough_blocks):
    spectrum = SPECTRA[name]
    K, domains = with_spectrum(spectrum)
    found = solve_dual(K, domains, Objective(), k, tol=1e-6, solver="lanczos")
    there = int(np.sum(spectrum[:k] > 1e-10 * spectrum[0]))
    assert len(found.eigenvalues) == there
    assert_allclose(
        found.eigenvalues * len(K), spectrum[:there], rtol=1e-7, atol=1e-13 * spectrum[0]
    )


NEARLY_EQUAL = {
    "gaps of 1e-4": 1 - 1e-4 * np.arange(599),
    "pairs 1e-4 apart": np.repeat(0.95 ** np.arange(300), 2)[:599] * (1 - 1e-4 * np.arange(599)),
    "three digits in fifty": np.r_[10.0 ** -np.linspace(0, 3, 50), 1e-4 * TAIL[:549]],
}


@pytest.mark.parametrize("name", NEARLY_EQUAL)
def test_single_precision_tells_near_eigenvalues_apart(name, with_spectrum, rough_blocks, spaces):
    K, domains = with_spectrum(NEARLY_EQUAL[name])
    found = solve_dual(K, domains, Objective(), 50, tol=1e-6, solver="lanczos")
    assert rough_blocks
    values, vectors = eigh(K)
    assert_allclose(found.eigenvalues * len(K), values[::-1][:50], rtol=1e-10)
    Z = found.projections / np.linalg.norm(found.projections, axis=0)
    image = K @ Z
    errors = np.linalg.norm(image - Z * values[::-1][:50], axis=0) / values[::-1][:50]
    assert errors.max() < 2e-6
    assert found.residuals.max() < 2e-6
    # An error of 1e-6 turns an eigenvector by as much over the gap.
    assert subspace_angles(Z, vectors[:, ::-1][:, :50]).max() < 0.05


def test_what_single_precision_gets_wrong_is_mended_in_double(
    large, spaces, rough_blocks, monkeypatch
):
    # A start from another operator altogether: only the end is exact.
    apply_roughly = duals.DualPath.apply_roughly

    def wrong(path, W):
        image = apply_roughly(path, W)
        return image if spaces else image + 1e-3 * np.abs(image).max() * W

    monkeypatch.setattr(duals.DualPath, "apply_roughly", wrong)
    found = solve(large, large.objective, 20, solver="lanczos")
    assert len(spaces) == 2
    assert_solves(found, large.truth, 20)
    assert_allclose(found.eigenvalues, large.truth.eigenvalues[:20], rtol=1e-10)


@pytest.mark.parametrize("solver", ["dense", "lanczos"])
@pytest.mark.parametrize("n", [50, 200, 300])
@pytest.mark.parametrize("k", [3, 10, 30])
def test_samples_that_are_all_orthogonal_are_one_wide_cluster(n, k, solver):
    # What an RBF kernel with too small a bandwidth gives: K0 = I.
    K, domains = np.eye(n) - 1 / n, read_domains(None, np.zeros(n, int))
    found = solve_dual(K, domains, Objective(), k, tol=1e-6, solver=solver)
    assert_allclose(found.eigenvalues, np.full(k, 1 / n), rtol=1e-10)
    B = found.coefficients
    assert_allclose(B.T @ K @ B, np.eye(k), atol=1e-8)


def test_lanczos_sees_all_levels_of_a_balanced_design():
    # 30 x 3 x 8 combinations of categories: symmetry makes an eigenvalue of multiplicity 29.
    levels = np.array(list(product(range(30), range(3), range(8))))
    indicators = [levels[:, [j]] == np.arange(size) for j, size in enumerate((30, 3, 8))]
    X = np.hstack([*indicators, 0.05 * levels[:, 2:]])
    K = centred(pairwise_kernels(X, metric="rbf", gamma=0.3))
    domains = read_domains(None, np.zeros(len(X), int))
    for k in (20, 35, 60):
        found = solve_dual(K, domains, Objective(), k, tol=1e-6, solver="lanczos")
        expected = np.linalg.eigvalsh(K)[::-1][:k] / len(K)
        assert_allclose(found.eigenvalues, expected, rtol=1e-7, err_msg=f"k = {k}")


@pytest.mark.parametrize("k", [5, 20, 35])
@pytest.mark.parametrize("beta", [0.0, 0.5])
def test_lanczos_sees_all_levels_whatever_the_classes_and_domains(beta, k):
    levels = np.array(list(product(range(30), range(3), range(6))))
    X = np.hstack([levels[:, [j]] == np.arange(size) for j, size in enumerate((30, 3, 6))])
    rng = np.random.default_rng(0)
    case = SimpleNamespace(
        K0=pairwise_kernels(X.astype(float), metric="rbf", gamma=0.3),
        label=np.where(levels[:, 2] < 3, rng.integers(3, size=len(X)), -1),
        domain=(levels[:, 2] >= 3).astype(int),
    )
    objective = weights(case, beta, 1.0, normalize=True)
    found, expected = (
        solve(case, objective, k, solver=solver).eigenvalues for solver in ("lanczos", "dense")
    )
    assert_allclose(found, expected, rtol=1e-7)


@pytest.mark.parametrize("solver", ["dense", "lanczos"])
@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_a_handful_of_samples_is_enough(n, solver):
    case = problem(0, 2, 2, n=n)
    objective = weights(case, 0.5, 1.0, normalize=True)
    truth = reference(case.K0, case.label, case.domain, objective)
    found = solve(case, objective, n - 1, solver=solver)
    assert_allclose(found.eigenvalues, truth.eigenvalues, rtol=1e-7)
    assert_allclose(found.coefficients.T @ truth.C @ found.coefficients, np.eye(n - 1), atol=1e-7)


@pytest.mark.parametrize("solver", ["dense", "lanczos"])
def test_single_precision_stays_single_and_is_right_to_its_digits(large, solver):
    case = problem(1, 3, 4) if solver == "dense" else large
    objective = weights(case, 0.1, 10.0, normalize=True)
    truth = reference(case.K0, case.label, case.domain, objective, top=9)
    found = solve(case, objective, 8, tol=1e-4, solver=solver, dtype=np.float32)
    assert {array.dtype for array in found} == {np.dtype(np.float32)}
    assert_allclose(found.eigenvalues, truth.eigenvalues[:8], rtol=1e-4)
    same = distinct(truth.eigenvalues, 8)
    assert subspace_angles(found.projections[:, :same], truth.Z[:, :same]).max() < 1e-2
    assert found.residuals.max() < 1e-3


@pytest.mark.parametrize("solver", ["dense", "lanczos"])
def test_two_solutions_have_identical_bits(large, solver):
    case = problem(1, 3, 4) if solver == "dense" else large
    objective = weights(case, 0.1, 10.0, normalize=True)
    first, second = (solve(case, objective, 8, solver=solver) for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def test_the_gram_matrix_is_read_and_never_written():
    case = problem(1, 3, 4)
    domains = view(case)
    order = canonical_order(domains)
    K = centred(case.K0)[np.ix_(order, order)]
    K.flags.writeable = False
    before = K.copy()
    for solver, beta in product(("dense", "lanczos"), (0.1, 1.0)):
        objective = weights(case, beta, 1.0, normalize=True)
        solve_dual(K, domains.take(order), objective, 3, tol=1e-6, solver=solver)
        assert np.array_equal(K, before)


# --- the operator -------------------------------------------------------------------------------


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize(("seed", "n_domains", "n_classes", "kernel"), SHAPES[:6])
def test_the_operator_is_its_definition(seed, n_domains, n_classes, kernel, normalize):
    # G = K (ρ I + w S K)⁻¹ by both ways of applying it
    case = problem(seed, n_domains, n_classes, kernel=kernel)
    objective = weights(case, 0.5, 1.0, normalize=normalize)
    domains = view(case)
    order = canonical_order(domains)
    K = centred(case.K0)[np.ix_(order, order)]
    _, _, S, _, _ = dense(case.label[order], case.domain[order])
    within = objective.within_class / np.sum(case.label >= 0)
    expected = K @ np.linalg.inv(objective.ridge * np.eye(len(K)) + within * S @ K)
    operator = DualOperator(K, Coefficients(domains.take(order)), objective)
    W = np.asfortranarray(np.random.default_rng(0).normal(size=(len(K), 4)))
    close = {"rtol": 1e-7, "atol": 1e-9 * np.abs(expected).max()}
    assert_allclose(operator(np.eye(len(K), order="F")), expected, **close)
    assert_allclose(operator(W), expected @ W, **close)
    assert_allclose(operator.direct(W), expected @ W, **close)
    thin = Coefficients(domains.take(order)).classes
    assert_allclose(operator.of_thin(thin), expected @ thin, **close)


def test_without_a_class_term_the_operator_is_the_kernel_over_the_ridge():
    case = problem(0, 2, 3)
    K = centred(case.K0)
    operator = DualOperator(K, Coefficients(view(case)), Objective(domain=1.0, ridge=0.25))
    W = np.asfortranarray(np.eye(len(K))[:, :3])
    assert_allclose(operator(W), 4 * K[:, :3], atol=1e-14)


def test_applying_the_operator_leaves_its_argument_alone():
    case = problem(0, 2, 3)
    domains = view(case)
    order = canonical_order(domains)
    K = centred(case.K0)[np.ix_(order, order)]
    operator = DualOperator(
        K, Coefficients(domains.take(order)), weights(case, 0.5, 1.0, normalize=True)
    )
    W = np.asfortranarray(np.random.default_rng(0).normal(size=(len(K), 3)))
    before = W.copy()
    operator(W), operator.direct(W)
    assert np.array_equal(W, before)


def test_a_kernel_that_is_not_positive_semidefinite_is_refused_with_a_remedy():
    case = problem(0, 2, 3)
    case.K0 = -case.K0
    objective = Objective(0.5, 0.5, 1.0, 1.0, ridge=1e-3)
    with pytest.raises(ValueError, match=r"not positive semi-definite.*Choose another kernel"):
        solve(case, objective, 3)


@pytest.mark.parametrize("solver", ["dense", "lanczos"])
def test_a_negative_kernel_is_refused_without_a_class_term_too(solver):
    case = problem(0, 2, 3)
    case.K0 = -case.K0
    with pytest.raises(ValueError, match="positive semi-definite"):
        solve(case, Objective(domain=1e4, ridge=1e-3), 3, solver=solver)


@some
@given(
    label=st.lists(st.integers(-1, 3), min_size=2, max_size=30).filter(lambda v: max(v) >= 0),
    seed=st.integers(0, 100),
)
def test_canonical_order_puts_labelled_samples_first_class_by_class(label, seed):
    label = np.array(label)
    domain = np.random.default_rng(seed).integers(3, size=len(label))
    domains = read_domains(label, domain, labelled=label >= 0)
    order = canonical_order(domains)
    assert sorted(order.tolist()) == list(range(len(label)))
    sorted_label = label[order]
    n_labelled = np.sum(label >= 0)
    assert (sorted_label[n_labelled:] == -1).all()
    assert (np.diff(sorted_label[:n_labelled]) >= 0).all()


# --- many settings for the price of one ---------------------------------------------------------


class Counting(DualOperator):
    """Counts the columns that it was applied to."""

    columns = 0

    def __call__(self, W):
        self.columns += W.shape[1]
        return super().__call__(W)


def path(case, tol=1e-6):
    domains = view(case)
    order = canonical_order(domains)
    K = centred(case.K0)[np.ix_(order, order)]
    objective = weights(case, 0.5, 1.0, normalize=True)
    operator = Counting(K, Coefficients(domains.take(order)), objective)
    return DualPath(operator, tol=tol), np.argsort(order)


def grid(case):
    return [weights(case, b, d, normalize=True) for d, b in product(DELTAS, BETAS)]


@pytest.mark.parametrize("solver", ["dense", "lanczos"])
def test_one_space_serves_a_whole_grid(solver):
    case = problem(3, 3, 5)
    together, back = path(case, tol=1e-9)
    objectives = grid(case)
    for objective, setting in zip(
        objectives, together.solve(objectives, 6, solver=solver), strict=True
    ):
        truth = reference(case.K0, case.label, case.domain, objective)
        k = min(6, 4 if objective.between_only else 6)
        assert_allclose(setting.eigenvalues, truth.eigenvalues[:k], rtol=1e-7)
        same = distinct(truth.eigenvalues, k)
        Z = together.projections(setting)[back]
        assert subspace_angles(Z[:, :same], truth.Z[:, :same]).max() < 1e-5


def test_a_grid_costs_no_more_products_than_its_hardest_setting(large):
    objectives = grid(large)
    together, _ = path(large)
    together.solve(objectives, 20)
    alone = []
    for objective in objectives[:2] + objectives[-2:-1]:
        single, _ = path(large)
        single.solve([objective], 20)
        alone.append(single.operator.columns)
    # Convergence is looked at after every second block.
    assert together.operator.columns <= max(alone) + 2 * paths.BLOCK + 20


def test_a_grid_on_a_large_problem_equals_single_solutions(large):
    objectives = grid(large)[5:8]
    together, back = path(large, tol=1e-9)
    for objective, setting in zip(objectives, together.solve(objectives, 10), strict=True):
        single = solve(large, objective, 10, tol=1e-9, solver="lanczos")
        k = len(single.eigenvalues)
        assert k == (5 if objective.between_only else 10)
        assert_allclose(setting.eigenvalues, single.eigenvalues, rtol=1e-9)
        Z = together.projections(setting)[back]
        assert_allclose(np.abs(Z), np.abs(single.projections), atol=1e-5 * np.abs(Z).max())


def test_components_are_nested():
    case = problem(2, 3, 4)
    objective = weights(case, 0.3, 1.0, normalize=True)
    many, few = (solve(case, objective, k) for k in (8, 3))
    assert_allclose(many.eigenvalues[:3], few.eigenvalues, rtol=1e-10)
    assert_allclose(
        np.abs(many.projections[:, :3]),
        np.abs(few.projections),
        atol=1e-8 * np.abs(few.projections).max(),
    )


# --- the primal route ---------------------------------------------------------------------------


def primal(features, domains):
    return PrimalPath(collect_moments(features, domains))


def features_of(case):
    return case.X @ np.diag([3.0, 1.0, 1.0, 0.5, 0.5, 0.1])


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("delta", DELTAS)
def test_primal_solves_the_problem_of_the_linear_kernel(beta, delta):
    case = problem(1, 3, 4)
    features = features_of(case)
    objective = Objective(1 - beta, beta, 1.0, delta, 0.3, ridge=0.05)
    # An independent primal problem: Φᵀ N Φ w = λ (ρ I + Φᵀ M Φ) w with centred Φ
    H, R, S, L, Lc = dense(case.label, case.domain)
    n_labelled = np.sum(case.label >= 0)
    phi = H @ features
    A = phi.T @ ((1 - beta) * H / len(H) + beta * R / n_labelled) @ phi
    C = 0.05 * np.eye(6) + phi.T @ (S / n_labelled + delta * L + 0.3 * Lc) @ phi
    k = 3 if beta == 1 else 6
    expected = eigh(A, C, eigvals_only=True)[::-1][:k]
    found = primal(features, view(case)).solve(objective, 6)
    W = found.vectors
    assert_allclose(found.values, expected, rtol=1e-9)
    assert_allclose(W.T @ C @ W, np.eye(k), atol=1e-10)
    assert np.abs(A @ W - C @ W * found.values).max() < 1e-10
    assert found.residuals.max() < 1e-9


@pytest.mark.parametrize("p", [6, 120])
@pytest.mark.parametrize("beta", BETAS)
def test_primal_equals_dual_whatever_the_number_of_features(beta, p):
    case = problem(1, 3, 4, p=p)
    case.K0 = case.X @ case.X.T
    objective = Objective(1 - beta, beta, 1.0, 2.0, ridge=0.5)
    k = 3 if beta == 1 else 5
    explicit = primal(case.X, view(case)).solve(objective, k)
    Z = (case.X - case.X.mean(axis=0)) @ explicit.vectors
    for solver in ("dense", "lanczos"):
        found = solve(case, objective, k, tol=1e-10, solver=solver)
        assert_allclose(explicit.values, found.eigenvalues, rtol=1e-8)
        assert_allclose(
            np.abs(Z),
            np.abs(found.projections),
            atol=1e-6 * np.abs(found.projections).max(),
        )


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csr_matrix])
def test_sparse_features_give_the_same_as_dense_ones(form):
    case = problem(1, 3, 4)
    features = np.where(np.abs(case.X) > 1, case.X, 0)
    for objective in (weights(case, 0.3, 10.0, normalize=True), Objective(domain=3.0, ridge=0.1)):
        full = primal(features, view(case)).solve(objective, 4)
        thin = primal(form(features), view(case)).solve(objective, 4)
        assert_allclose(thin.values, full.values, rtol=1e-10)
        assert_allclose(np.abs(thin.vectors), np.abs(full.vectors), atol=1e-8)


def test_primal_moments_serve_every_setting():
    case = problem(1, 3, 4)
    shared = primal(case.X, view(case))
    for objective in grid(case):
        alone = primal(case.X, view(case)).solve(objective, 3)
        found = shared.solve(objective, 3)
        assert all(np.array_equal(a, b) for a, b in zip(alone, found, strict=True))


@pytest.mark.parametrize("k", [1, 3, 30])
@pytest.mark.parametrize("p", [50, 100, 200])
def test_primal_finds_all_components_of_balanced_categories(k, p):
    # Every direction has the same variance: one eigenvalue of multiplicity p - 1.
    one_hot = np.tile(np.eye(p), (2, 1))
    found = primal(one_hot, read_domains(None, np.zeros(2 * p, int))).solve(Objective(), k)
    assert_allclose(found.values, np.full(k, 1 / p), rtol=1e-10)
    assert_allclose(found.vectors.T @ found.vectors, np.eye(k), atol=1e-10)


def test_primal_returns_fewer_components_where_features_repeat():
    case = problem(1, 3, 4)
    doubled = np.hstack([case.X[:, :3], case.X[:, :3]])
    found = primal(doubled, view(case)).solve(Objective(domain=1.0, ridge=0.1), 6)
    assert len(found.values) == 3


# --- the zero-padded form -----------------------------------------------------------------------


def solve_padded(case, K0, objective, k, solver):
    """PaddedPath with rows in the order of the case again."""
    order = canonical_order(view(case))
    K, means = centred(K0)[np.ix_(order, order)], K0.mean(axis=0)[order]
    coefficients = Coefficients(view(case).take(order))
    path = PaddedPath(K, means, coefficients, objective, tol=1e-10)
    (setting,) = path.solve([objective], k, solver=solver)
    found, back = PaddedSolution(path, objective, setting), np.argsort(order)
    return Solution(
        found.eigenvalues, found.coefficients[back], found.projections[back], found.residuals
    )


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize(("seed", "solver"), [(0, "dense"), (1, "dense"), (1, "lanczos")])
def test_the_padded_problem_is_the_printed_one(seed, solver, beta, delta):
    # P = [P_s 0; 0 0] and Q likewise, of the kernel before it is centred, about the mean of all
    case = problem(seed, 3, 4)
    known = np.flatnonzero(case.label >= 0)
    label = case.label[known]
    block, overall = case.K0[np.ix_(known, known)], case.K0[known].mean(axis=1)
    P, Q = np.zeros((70, 70)), np.zeros((70, 70))
    inside = np.ix_(known, known)
    for k in range(4):
        columns = block[:, label == k]
        mean = columns.mean(axis=1)
        P[inside] += columns.shape[1] * np.outer(mean - overall, mean - overall)
        Q[inside] += (columns - mean[:, None]) @ (columns - mean[:, None]).T
    K = centred(case.K0)
    _, _, _, L, _ = dense(case.label, case.domain)
    A = (1 - beta) * K @ K / 70 + beta * P
    C = delta * K @ L @ K + Q + K + JITTER * np.trace(K + Q) / 70 * np.eye(70)
    k = 3 if beta == 1 else 5
    eigenvalues, B = eigh(A, C)
    found = solve_padded(case, case.K0, weights(case, beta, delta, normalize=False), k, solver)
    assert_allclose(found.eigenvalues, eigenvalues[::-1][:k], rtol=1e-8)
    Z = K @ B[:, ::-1][:, :k]
    assert_allclose(np.abs(found.projections), np.abs(Z), atol=1e-6 * np.abs(Z).max())
    assert_allclose(K @ found.coefficients, found.projections, atol=1e-10 * np.abs(Z).max())
    assert found.residuals.max() < 1e-7


def test_with_all_labelled_and_a_centred_kernel_padding_pads_nothing():
    case = problem(0, 3, 4)
    case.label = np.where(case.label < 0, 1, case.label)
    objective = weights(case, 0.3, 1.0, normalize=False)
    K, A, C = pencil(case.K0, case.label, case.domain, objective)
    within = C - K @ dense(case.label, case.domain)[3] @ K
    expected = eigh(A, C + JITTER * np.trace(within) / 70 * np.eye(70), eigvals_only=True)
    found = solve_padded(case, centred(case.K0), objective, 5, "dense")
    assert_allclose(found.eigenvalues, expected[::-1][:5], rtol=1e-8)


# --- small things -------------------------------------------------------------------------------


def test_numerical_rank_counts_what_rounding_cannot_have_made():
    assert numerical_rank(np.array([1.0, 1e-9, 1e-11])) == 2
    assert numerical_rank(np.array([1.0, 1e-4, 1e-6], np.float32)) == 2
    assert numerical_rank(np.array([0.0, -1.0])) == 0
    assert numerical_rank(np.empty(0)) == 0


def test_relative_residuals_are_ratios_of_norms():
    left = np.array([[3.0, 0.0, 0.0], [4.0, 0.0, 2.0]])
    right = np.array([[3.0, 0.0, 0.0], [3.0, 0.0, 1.0]])
    assert_allclose(relative_residuals(left, right), [0.2, 0.0, 0.5])


@pytest.mark.parametrize("orders", ["CC", "CF", "FC", "FF"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_are_numpys_in_fortran_order(orders, dtype):
    rng = np.random.default_rng(0)
    A = np.array(rng.normal(size=(5, 4)), dtype, order=orders[0])
    B = np.array(rng.normal(size=(4, 3)), dtype, order=orders[1])
    C = np.array(rng.normal(size=(5, 3)), dtype, order="F")
    expected = C - A @ B
    close = {"rtol": 1e-5} if dtype == np.float32 else {"rtol": 1e-12}
    assert dot(A, B).flags.f_contiguous
    assert dot(A, B).dtype == dtype
    assert_allclose(dot(A, B), A @ B, **close)
    assert_allclose(dot(A[::2], B), (A @ B)[::2], **close)
    assert_allclose(subtract_dot(C, A, B), expected, **close)


@pytest.mark.parametrize("orders", ["CC", "CF", "FC", "FF"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_with_few_columns_are_numpys_too_and_leave_both_alone(orders, dtype):
    rng = np.random.default_rng(0)
    A = np.array(rng.normal(size=(60, 50)), dtype, order=orders[0])
    B = np.array(rng.normal(size=(50, 3)), dtype, order=orders[1])
    before = A.copy(), B.copy()
    product = dot(A, B)
    assert product.flags.f_contiguous
    assert product.dtype == dtype
    assert_allclose(product, A.astype(float) @ B, atol=1e-4 if dtype == np.float32 else 1e-12)
    assert np.array_equal(A, before[0])
    assert np.array_equal(B, before[1])


def test_products_with_nothing_are_zeros():
    assert_allclose(dot(np.ones((3, 0)), np.ones((0, 2))), np.zeros((3, 2)))
    C = np.ones((3, 2), order="F")
    assert_allclose(subtract_dot(C, np.ones((3, 0)), np.ones((0, 2))), 1)


def test_symmetric_update_and_cholesky_are_the_textbook_ones():
    rng = np.random.default_rng(0)
    A, B = (np.asfortranarray(rng.normal(size=(6, 2))) for _ in range(2))
    C = np.asfortranarray(100 * np.eye(6))
    expected = C - A @ B.T - B @ A.T
    updated = subtract_symmetric(C, A, B)
    assert_allclose(np.tril(updated), np.tril(expected), atol=1e-12)
    right = np.asfortranarray(rng.normal(size=(6, 2)))
    solution = np.linalg.solve(expected, right)
    factor = cholesky_in_place(updated)
    assert_allclose(np.tril(factor), np.linalg.cholesky(expected), atol=1e-12)
    assert_allclose(cholesky_solve(factor, right), solution, atol=1e-12)


def test_cholesky_refuses_a_negative_direction():
    with pytest.raises(np.linalg.LinAlgError, match="leading minor 2"):
        cholesky_in_place(np.asfortranarray(np.diag([1.0, -1.0])))
