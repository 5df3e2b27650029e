"""Products in tiles and the iterative route, against dense matrices and the dual route."""

import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.linalg import eigh, helmert, subspace_angles
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import pairwise_kernels

from skatter import _tiles as tiles
from skatter._objective import Coefficients, Factors, Objective, sca
from skatter._solve import canonical_order, iterative, solve_dual
from skatter._solve.iterative import solve_iterative
from skatter._tiles import TiledGram
from skatter.domains import read_domains
from skatter.kernels import Kernel, resolve_kernel
from skatter.scatter import (
    Geometry,
    balanced_domain_factor,
    class_factor,
    conditional_factor,
    measure,
)

pytestmark = pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")

BETAS, DELTAS = (0.0, 0.1, 1.0), (0.0, 1.0, 100.0)


# --- problems and the slow, obviously right computation -----------------------------------------


def problem(seed=0, n=240, n_domains=3, n_classes=4, p=8, labelled="some"):
    """Samples of shifted domains; all, some (not those of the last domain) or none labelled."""
    rng = np.random.default_rng(seed)
    domain = np.r_[np.arange(n_domains), rng.integers(n_domains, size=n - n_domains)]
    label = np.r_[np.arange(n_classes), rng.integers(n_classes, size=n - n_classes)]
    X = rng.normal(size=(n, p))
    X += 1.5 * rng.normal(size=(n_classes, p))[label]
    X += 0.7 * rng.normal(size=(n_domains, p))[domain]
    known = {"all": domain >= 0, "some": domain < n_domains - 1, "none": domain < 0}[labelled]
    domains = read_domains(label, domain, labelled=known)
    return SimpleNamespace(X=X, domains=domains)


def centred(K0):
    H = np.eye(len(K0)) - 1 / len(K0)
    return H @ K0 @ H


def dense_gram(case, kernel="rbf"):
    return centred(resolve_kernel(case.X, kernel)(case.X))


def weights(case, K, beta, delta, *, normalize=True):
    """What the estimator chooses: a ridge of 1e-3 of the total scatter, or the paper's one."""
    ridge = 1e-3 * float(np.trace(K)) / len(K) if normalize else 1.0
    n_labelled = case.domains.n_labelled
    return sca(beta, delta, ridge=ridge, normalize=normalize, n_labelled=n_labelled)


def scatter_of_means(groups):
    """(1/m) Σ (μ_g − μ̄)(μ_g − μ̄)ᵀ in coefficients, for boolean masks of m groups."""
    means = np.column_stack([group / group.sum() for group in groups])
    away = means - means.mean(axis=1, keepdims=True)
    return away @ away.T / means.shape[1]


def pencil(K, domains, objective):
    """A = K N K and C = ρ K + K M K from the definitions of H, R, S and L."""
    n, n_labelled = len(K), max(domains.n_labelled, 1)
    N = objective.total * (np.eye(n) - 1 / n) / n
    groups = [domains.domain == a for a in np.unique(domains.domain)]
    M = objective.domain * scatter_of_means(groups)
    for k in np.unique(domains.label[domains.labelled]):
        own = domains.label == k
        v = own / own.sum() - domains.labelled / n_labelled
        N += objective.between_class * own.sum() * np.outer(v, v) / n_labelled
        S = np.diag(own.astype(float)) - np.outer(own, own) / own.sum()
        M += objective.within_class * S / n_labelled
    return K @ N @ K, objective.ridge * K + K @ M @ K


def reference(K, domains, objective):
    """All eigenvalues of A b = λ C b on the complement of the constant vector, largest first."""
    A, C = pencil(K, domains, objective)
    Q = helmert(len(K)).T
    left, right = Q.T @ A @ Q, Q.T @ C @ Q
    values, W = eigh((left + left.T) / 2, (right + right.T) / 2)
    return values[::-1], K @ Q @ W[:, ::-1]


def dual(case, K, objective, k):
    """solve_dual with rows in the order of the case again."""
    order = canonical_order(case.domains)
    back = np.argsort(order)
    found = solve_dual(
        K[np.ix_(order, order)], case.domains.take(order), objective, k, tol=1e-10, solver="dense"
    )
    return found._replace(
        coefficients=found.coefficients[back], projections=found.projections[back]
    )


def iterate(case, objective, k, kernel="rbf", *, tol=1e-6, tile=70, landmarks=40, **options):
    gram = TiledGram(case.X, resolve_kernel(case.X, kernel), tile=tile)
    return solve_iterative(
        gram, case.domains, objective, k, tol=tol, landmarks=landmarks, **options
    )


def aligned(Z, target):
    """Z with the signs of the columns of another."""
    return Z * np.sign(np.sum(Z * target, axis=0))


def honest_residuals(K, domains, objective, found):
    A, C = pencil(K, domains, objective)
    B = found.coefficients
    left = A @ B
    return np.linalg.norm(left - C @ B * found.eigenvalues, axis=0) / np.linalg.norm(left, axis=0)


@pytest.fixture
def lean(monkeypatch):
    """A narrow search, so that a few hundred samples are not exhausted by the first block."""
    monkeypatch.setattr(iterative, "FIRST", 8)
    monkeypatch.setattr(iterative, "GUARD", 4)


# --- products in tiles --------------------------------------------------------------------------


def squared_cosine(X, Y):
    return pairwise_kernels(X, Y, metric="cosine") ** 2


@pytest.mark.parametrize("tile", [7, 64, 90, 500])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "laplacian", squared_cosine])
def test_products_means_and_trace_are_those_of_the_dense_matrix(kernel, tile):
    case = problem(n=90)
    resolved = resolve_kernel(case.X, kernel)
    K0 = resolved(case.X)
    gram = TiledGram(case.X, resolved, tile=tile)
    W = np.random.default_rng(0).normal(size=(90, 5)) + 3
    assert_allclose(gram.product(W), centred(K0) @ W, atol=1e-10 * np.abs(K0).max() * 90)
    assert_allclose(gram.means, K0.mean(axis=0), rtol=1e-10, atol=1e-12 * np.abs(K0).max())
    assert_allclose(gram.diagonal, np.diagonal(K0), rtol=1e-10)
    assert_allclose(gram.trace, np.trace(centred(K0)), rtol=1e-10)
    assert_allclose(gram.columns(np.array([3, 88])), K0[:, [3, 88]], rtol=1e-10, atol=1e-12)
    assert (gram.n, gram.dtype) == (90, np.float64)


def test_a_gram_matrix_on_disk_is_read_in_tiles(tmp_path):
    K0 = resolve_kernel(problem(n=60).X)(problem(n=60).X)
    np.save(tmp_path / "gram.npy", K0)
    gram = TiledGram(np.load(tmp_path / "gram.npy", mmap_mode="r"), Kernel("precomputed"), tile=13)
    W = np.random.default_rng(0).normal(size=(60, 2))
    assert_allclose(gram.product(W), centred(K0) @ W, atol=1e-11)
    assert_allclose(gram.columns(np.array([59, 0])), K0[:, [59, 0]])
    assert_allclose(gram.diagonal, np.diagonal(K0))


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csr_matrix])
def test_sparse_samples_have_the_products_of_dense_ones(form):
    X = np.where(np.abs(problem(n=50).X) > 1, problem(n=50).X, 0)
    W = np.random.default_rng(0).normal(size=(50, 3))
    K = centred(pairwise_kernels(X, metric="rbf", gamma=0.1))
    gram = TiledGram(form(X), resolve_kernel(form(X), gamma=0.1), tile=16)
    assert_allclose(gram.product(W), K @ W, atol=1e-11)


def test_products_stay_in_single_precision():
    case = problem(n=200)
    X = case.X.astype(np.float32)
    gram = TiledGram(X, resolve_kernel(X, gamma=0.1), tile=64)
    W = np.random.default_rng(0).normal(size=(200, 3)).astype(np.float32)
    K = centred(pairwise_kernels(X.astype(float), metric="rbf", gamma=0.1))
    out = gram.product(W)
    assert out.dtype == gram.dtype == gram.means.dtype == np.float32
    assert_allclose(out, K @ W, atol=1e-6 * np.abs(K @ W).max())


class Watched:
    """A kernel that remembers how much it was asked for."""

    def __init__(self, largest):
        self.largest, self.values = largest, 0

    def __call__(self, X, Y):
        assert len(X) * len(Y) <= self.largest
        self.values += len(X) * len(Y)
        return pairwise_kernels(X, Y, metric="rbf", gamma=0.1)


def test_a_product_computes_each_pair_of_samples_once():
    case = problem(n=200)
    kernel = Watched(50 * 50)
    gram = TiledGram(case.X, Kernel(kernel), tile=50)
    gram.product(np.ones((200, 30)))
    # Pairs of 4 x 4 tiles, of which those above the diagonal serve for those below.
    assert kernel.values == 10 * 50 * 50
    assert gram.products == 1


def test_all_scatters_and_the_means_come_from_one_product():
    case = problem()
    kernel = resolve_kernel(case.X)
    gram = TiledGram(case.X, kernel, tile=70)
    found = measure(gram.geometry, case.domains)
    assert gram.products == 1
    assert_allclose(gram.means, kernel(case.X).mean(axis=0))
    assert_allclose(gram.trace / gram.n, found.total)
    assert gram.products == 1
    expected = measure(Geometry.of_gram(dense_gram(case)), case.domains)
    assert_allclose(found, expected, rtol=1e-9)


def test_a_sample_is_as_close_to_itself_as_can_be():
    X = 1e4 * np.random.default_rng(0).normal(size=(50, 20))
    gram = TiledGram(X, resolve_kernel(X, gamma=1.0), tile=20)
    assert (gram.diagonal == 1).all()
    assert np.array_equal(gram.columns(np.arange(50)) > 0.5, np.eye(50, dtype=bool))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_default_tile_fits_into_its_bytes(dtype, monkeypatch):
    monkeypatch.setattr(tiles, "HOST_TILE_BYTES", 10_000)
    tile = TiledGram(np.zeros((5, 1), dtype), Kernel("linear")).tile
    size = np.dtype(dtype).itemsize
    assert tile**2 * size <= 10_000 < (tile + 1) ** 2 * size


@pytest.mark.parametrize("tile", [0, -3, 2.5])
def test_a_tile_that_is_no_number_of_rows_is_refused(tile):
    with pytest.raises((TypeError, ValueError), match="tile"):
        TiledGram(np.zeros((5, 1)), Kernel("linear"), tile=tile)


# --- the iterative route is exact ---------------------------------------------------------------


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("labelled", ["some", "all"])
@pytest.mark.usefixtures("lean")
def test_it_solves_the_generalised_eigenproblem(labelled, beta, delta, normalize):
    case = problem(labelled=labelled)
    K = dense_gram(case)
    objective = weights(case, K, beta, delta, normalize=normalize)
    k = 3 if beta == 1 else 7
    found = iterate(case, objective, k, tol=1e-7)
    values, Z = reference(K, case.domains, objective)
    assert_allclose(found.eigenvalues, values[:k], rtol=1e-6)
    assert_allclose(
        found.projections, aligned(Z[:, :k], found.projections), atol=1e-4 * np.abs(Z).max()
    )
    _, C = pencil(K, case.domains, objective)
    B = found.coefficients
    assert_allclose(B.T @ C @ B, np.eye(k), atol=1e-6)
    assert_allclose(K @ B, found.projections, atol=1e-9 * np.abs(Z).max())
    assert_allclose(B.sum(axis=0), 0, atol=1e-9 * np.abs(B).sum(axis=0).max())
    residuals = honest_residuals(K, case.domains, objective, found)
    assert residuals.max() < 2e-7
    assert_allclose(found.residuals, residuals, atol=1e-8)


@pytest.mark.parametrize(
    "objective",
    [Objective(domain=0.0, ridge=0.3), Objective(domain=5.0, ridge=0.3)],
    ids=["0", "5"],
)
@pytest.mark.usefixtures("lean")
def test_without_labels_it_is_unsupervised_sca_and_kernel_pca(objective):
    case = problem(labelled="none")
    K = dense_gram(case)
    found = iterate(case, objective, 6, tol=1e-7)
    assert_allclose(found.eigenvalues, reference(K, case.domains, objective)[0][:6], rtol=1e-7)
    if not objective.domain:
        kpca = np.linalg.eigvalsh(K)[::-1][:6] / len(K) / 0.3
        assert_allclose(found.eigenvalues, kpca, rtol=1e-7)


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("labelled", ["some", "all"])
@pytest.mark.usefixtures("lean")
def test_it_equals_the_dual_route_in_eigenvalues_projections_and_scatters(labelled, beta):
    case = problem(1, labelled=labelled)
    K = dense_gram(case)
    objective = weights(case, K, beta, 1.0)
    k = 3 if beta == 1 else 6
    found, exact = iterate(case, objective, k), dual(case, K, objective, k)
    assert_allclose(found.eigenvalues, exact.eigenvalues, rtol=1e-6)
    Z = aligned(exact.projections, found.projections)
    assert_allclose(found.projections, Z, atol=1e-4 * np.abs(Z).max())
    assert_allclose(
        measure(Geometry.of_features(found.projections), case.domains),
        measure(Geometry.of_features(Z), case.domains),
        rtol=1e-4,
        atol=1e-8,
    )


@pytest.mark.usefixtures("lean")
def test_conditional_scatter_and_factors_of_a_relative_are_solved_too():
    case = problem(2, labelled="all")
    K = dense_gram(case)
    objective = Objective(0.7, 0.3, 1.0, 0.5, 7.0, ridge=0.02)
    factors = Factors(class_factor, balanced_domain_factor, conditional_factor)
    order = canonical_order(case.domains)
    exact = solve_dual(
        K[np.ix_(order, order)],
        case.domains.take(order),
        objective,
        6,
        tol=1e-10,
        factors=factors,
    )
    found = iterate(case, objective, 6, factors=factors)
    assert_allclose(found.eigenvalues, exact.eigenvalues, rtol=1e-6)


@pytest.mark.parametrize("kernel", ["linear", "poly", "laplacian", squared_cosine])
@pytest.mark.usefixtures("lean")
def test_any_positive_kernel_will_do(kernel):
    case = problem(3)
    K = dense_gram(case, kernel)
    objective = weights(case, K, 0.3, 1.0)
    found = iterate(case, objective, 5, kernel)
    assert_allclose(found.eigenvalues, dual(case, K, objective, 5).eigenvalues, rtol=1e-6)


@pytest.mark.usefixtures("lean")
def test_the_order_of_the_rows_changes_nothing_but_the_draws():
    case = problem()
    objective = weights(case, dense_gram(case), 0.1, 1.0)
    mixed = np.random.default_rng(0).permutation(len(case.X))
    other = SimpleNamespace(X=case.X[mixed], domains=case.domains.take(mixed))
    found, again = iterate(case, objective, 5, tol=1e-8), iterate(other, objective, 5, tol=1e-8)
    assert_allclose(again.eigenvalues, found.eigenvalues, rtol=1e-8)
    Z = aligned(again.projections, found.projections[mixed])
    assert_allclose(Z, found.projections[mixed], atol=1e-5 * np.abs(Z).max())


@pytest.mark.parametrize("n", [2, 3, 5, 20])
def test_a_handful_of_samples_is_enough(n):
    case = problem(n=n, n_domains=2, n_classes=2, labelled="all")
    K = dense_gram(case)
    objective = weights(case, K, 0.5, 1.0)
    found = iterate(case, objective, n - 1)
    assert_allclose(
        found.eigenvalues, reference(K, case.domains, objective)[0], rtol=1e-6, atol=1e-9
    )


# --- hard spectra -------------------------------------------------------------------------------


TAIL = 1 / (1 + np.arange(300))
SPECTRA = {
    "identity": np.ones(299),
    "low rank": np.r_[np.arange(5, 0, -1), np.zeros(294)],
    "one value, low rank": np.r_[np.ones(40), np.zeros(259)],
    "pairs": np.repeat(0.9 ** np.arange(150), 2)[:299],
    "steps": np.repeat([4.0, 3.0, 2.0, 1.0], 75)[:299],
    "fast decay": 0.5 ** np.arange(299),
    "one huge": np.r_[1e8, TAIL[:298]],
    "a wide cluster": np.r_[np.full(40, 10.0), TAIL[:259]],
    "two wide clusters": np.r_[np.full(20, 10.0), np.full(30, 2.0), TAIL[:249]],
}


@pytest.mark.parametrize("k", [5, 25])
@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.usefixtures("lean")
def test_the_largest_eigenvalues_are_found_with_their_multiplicity(name, k, with_spectrum):
    spectrum = SPECTRA[name]
    K, domains = with_spectrum(spectrum)
    gram = TiledGram(K, Kernel("precomputed"), tile=128)
    found = solve_iterative(gram, domains, Objective(), k, tol=1e-6, landmarks=20)
    there = int(np.sum(spectrum[:k] > 1e-10 * spectrum[0]))
    assert len(found.eigenvalues) == there
    assert_allclose(
        found.eigenvalues * len(K), spectrum[:there], rtol=1e-7, atol=1e-13 * spectrum[0]
    )
    B = found.coefficients
    assert_allclose(B.T @ K @ B, np.eye(there), atol=1e-6)


@pytest.mark.usefixtures("lean")
def test_exact_pairs_that_are_too_few_are_not_the_end(with_spectrum):
    # Every direction is a component: the first ones have no residual to follow.
    K, domains = with_spectrum(np.ones(299))
    gram = TiledGram(K, Kernel("precomputed"))
    found = solve_iterative(gram, domains, Objective(), 60, tol=1e-6, landmarks=1)
    assert_allclose(found.eigenvalues * 300, np.ones(60), rtol=1e-10)


@pytest.mark.parametrize(("distance", "size"), [(1e-4, 50), (1e-11, 30)])
def test_the_basis_is_orthonormal_and_takes_nothing_that_is_rounding(distance, size, with_spectrum):
    K, domains = with_spectrum(np.r_[1e6, TAIL[:298]])
    setup = iterative._Problem(
        TiledGram(K, Kernel("precomputed")), Coefficients(domains), Objective()
    )
    space = iterative._Space(setup, 200, kept=10)
    rng = np.random.default_rng(0)
    first = centred(np.eye(300)) @ rng.normal(size=(300, 30))
    assert space.extend(first)
    nearly_known = first @ rng.normal(size=(30, 20)) + distance * rng.normal(size=(300, 20))
    assert space.extend(nearly_known) == (size > 30)
    V, Z = space._basis
    assert V.shape[1] == size
    # Rounding is that of the products, 1e-16 of the largest eigenvalue.
    assert_allclose(K @ V, Z, atol=1e-9)
    assert_allclose(V.T @ Z, np.eye(size), atol=1e-8)


@pytest.mark.parametrize("beta", [0.1, 1.0])
@pytest.mark.usefixtures("lean")
def test_a_kernel_of_low_rank_gives_as_many_components_as_there_are(beta):
    case = problem(p=5)
    case.X = np.repeat(case.X[:120], 2, axis=0)
    K = dense_gram(case, "linear")
    objective = weights(case, K, beta, 1.0)
    found = iterate(case, objective, 12, "linear")
    rank = 3 if beta == 1 else 5
    assert len(found.eigenvalues) == rank
    assert_allclose(found.eigenvalues, dual(case, K, objective, 12).eigenvalues, rtol=1e-6)


def test_samples_that_coincide_have_no_component():
    case = problem(n=50)
    case.X = np.ones_like(case.X)
    gram = TiledGram(case.X, resolve_kernel(case.X), tile=20)
    assert gram.trace == 0
    found = solve_iterative(gram, case.domains, Objective(domain=1.0), 4, tol=1e-6)
    assert [array.shape for array in found] == [(0,), (50, 0), (50, 0), (0,)]


@pytest.mark.usefixtures("lean")
def test_samples_far_from_all_landmarks_are_not_missed():
    # A tight cluster of its own: one eigenvalue, of which the landmarks know nothing.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    X[-30:] = 50 + 0.01 * X[-30:]
    domains = read_domains(None, np.zeros(300, int))
    kernel = resolve_kernel(X, gamma=0.5)
    expected = np.linalg.eigvalsh(centred(kernel(X)))[::-1][:4] / 300

    class Near(np.random.RandomState):
        def choice(self, n, size, replace):
            return super().choice(270, size, replace=replace)

    found = solve_iterative(
        TiledGram(X, kernel, tile=100),
        domains,
        Objective(),
        4,
        tol=1e-6,
        landmarks=10,
        random_state=Near(0),
    )
    assert_allclose(found.eigenvalues, expected, rtol=1e-7)


# --- the correction -----------------------------------------------------------------------------


def matrices(domains, objective):
    """N and M, applied to the identity."""
    coefficients, identity = Coefficients(domains), np.eye(domains.n_samples)
    return coefficients.numerator(objective, identity), coefficients.denominator(
        objective, identity
    )


@pytest.mark.parametrize("beta", BETAS)
def test_where_the_stand_in_is_exact_so_is_the_correction(beta):
    # (N K − λ (ρ I + M K)) t = −λ ρ r
    case = problem(n=80)
    kernel = resolve_kernel(case.X)
    K = centred(kernel(case.X))
    objective = weights(case, K, beta, 2.0)
    N, M = matrices(case.domains, objective)
    setup = iterative._Problem(TiledGram(case.X, kernel), Coefficients(case.domains), objective)
    stand_in = iterative._StandIn(setup, np.arange(80), 80)
    rng = np.random.default_rng(0)
    residuals = centred(np.eye(80)) @ rng.normal(size=(80, 2))
    values = np.linalg.eigvals(np.linalg.solve(objective.ridge * np.eye(80) + M @ K, N @ K)).real
    eigenvalues = np.array([1.7 * values.max(), 0.5 * values.max()])
    assert np.abs(eigenvalues / values[:, None] - 1).min() > 2 * iterative.NEAR
    found = stand_in.correct(SimpleNamespace(residuals=residuals, eigenvalues=eigenvalues))
    for t, r, value in zip(found.T, residuals.T, eigenvalues, strict=True):
        left = N @ K @ t - value * (objective.ridge * t + M @ K @ t)
        assert_allclose(left, -value * objective.ridge * r, atol=1e-6 * value * objective.ridge)


@pytest.mark.parametrize("beta", [0.1, 1.0])
def test_where_the_stand_in_is_exact_two_products_are_enough(beta):
    case = problem(n=150)
    objective = weights(case, dense_gram(case), beta, 1.0)
    gram = TiledGram(case.X, resolve_kernel(case.X))
    solve_iterative(gram, case.domains, objective, 3, tol=1e-6, landmarks=150)
    assert gram.products == 2


# --- what it costs ------------------------------------------------------------------------------


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("beta", [0.1, 1.0])
def test_ten_products_are_enough_for_a_flat_spectrum(beta, normalize):
    case = problem(n=1500, n_classes=8, p=100)
    gram = TiledGram(case.X, resolve_kernel(case.X))
    total = gram.trace / gram.n
    objective = sca(
        beta,
        1.0,
        ridge=1e-3 * total if normalize else 1.0,
        normalize=normalize,
        n_labelled=case.domains.n_labelled,
    )
    before = gram.products
    found = solve_iterative(gram, case.domains, objective, 10, tol=1e-6)
    assert gram.products - before <= 10
    assert found.residuals.max() <= 1e-6


@pytest.mark.usefixtures("lean")
def test_no_more_than_a_tile_of_the_gram_matrix_is_ever_there():
    n, tile, landmarks = 3000, 200, 30
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    domains = read_domains(rng.integers(3, size=n), rng.integers(2, size=n))
    gram = TiledGram(X, Kernel(Watched(tile * tile)), tile=tile)
    objective = sca(0.1, 1.0, ridge=1e-3, normalize=True, n_labelled=n)
    tracemalloc.start()
    solve_iterative(gram, domains, objective, 3, tol=1e-4, landmarks=landmarks)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < n * n * 8 / 4


@pytest.mark.usefixtures("lean")
def test_more_landmarks_take_fewer_products():
    case = problem(n=600, p=4)
    objective = weights(case, dense_gram(case), 0.1, 1.0)
    spent = []
    for landmarks in (5, 300):
        gram = TiledGram(case.X, resolve_kernel(case.X), tile=200)
        solve_iterative(gram, case.domains, objective, 5, tol=1e-6, landmarks=landmarks)
        spent.append(gram.products)
    assert spent[1] < spent[0]


@pytest.mark.usefixtures("lean")
def test_a_basis_with_little_room_is_restarted_and_still_exact(monkeypatch):
    monkeypatch.setattr(iterative, "BLOCKS", 3)
    case = problem(n=300, p=20)
    K = dense_gram(case)
    objective = weights(case, K, 0.1, 1.0)
    sizes = []
    make_room = iterative._Space._make_room

    def watch(space, count):
        make_room(space, count)
        sizes.append(space.size)

    monkeypatch.setattr(iterative._Space, "_make_room", watch)
    found = iterate(case, objective, 8, landmarks=20)
    assert (np.diff(sizes) < 0).any()
    assert_allclose(found.eigenvalues, dual(case, K, objective, 8).eigenvalues, rtol=1e-6)


@pytest.mark.usefixtures("lean")
def test_a_measurement_that_comes_too_early_is_not_the_end(monkeypatch):
    monkeypatch.setattr(iterative, "PESSIMISM", 1e-4)
    case = problem(n=300, p=20)
    K = dense_gram(case)
    objective = weights(case, K, 0.1, 1.0)
    found = iterate(case, objective, 8, landmarks=20)
    assert found.residuals.max() <= 1e-6
    assert_allclose(found.eigenvalues, dual(case, K, objective, 8).eigenvalues, rtol=1e-6)


@pytest.mark.usefixtures("lean")
def test_progress_counts_the_products_and_ends_with_the_measured_residual():
    case = problem()
    objective = weights(case, dense_gram(case), 0.1, 1.0)
    seen = []
    gram = TiledGram(case.X, resolve_kernel(case.X), tile=70)
    gram.product(np.ones((len(case.X), 1)))
    found = solve_iterative(
        gram,
        case.domains,
        objective,
        5,
        tol=1e-6,
        landmarks=20,
        progress=lambda *step: seen.append(step),
    )
    products, residuals = zip(*seen, strict=True)
    assert list(products) == list(range(1, gram.products))
    assert residuals[-1] == found.residuals.max() < 1e-3 * residuals[0]


# --- what cannot be reached ---------------------------------------------------------------------


@pytest.mark.usefixtures("lean")
def test_a_search_that_is_cut_short_warns_and_says_how_wrong_it_is():
    case = problem(n=400, p=40)
    K = dense_gram(case)
    objective = weights(case, K, 0.1, 1.0)
    with pytest.warns(ConvergenceWarning, match=r"after 4 products.*above tol=1e-06") as caught:
        found = iterate(case, objective, 8, landmarks=10, max_products=4)
    residuals = honest_residuals(K, case.domains, objective, found)
    assert residuals.max() > 1e-5
    assert_allclose(found.residuals, residuals, rtol=1e-6)
    assert f"{residuals.max():.1e}" in str(caught[0].message)
    assert caught[0].filename == __file__
    # What is unfinished still maps new samples as it maps the old ones.
    assert_allclose(K @ found.coefficients, found.projections, atol=1e-10)


def test_a_kernel_that_is_not_positive_semidefinite_is_refused_with_a_remedy():
    case = problem(n=100)
    gram = TiledGram(-dense_gram(case), Kernel("precomputed"), tile=40)
    with pytest.raises(ValueError, match=r"not positive semi-definite.*Choose another kernel"):
        solve_iterative(gram, case.domains, Objective(domain=1.0), 3, tol=1e-6)


def test_a_few_negative_directions_are_found_by_the_products(with_spectrum):
    # The landmarks see a positive kernel.
    spectrum = np.r_[np.full(20, 1.0), np.zeros(278), -0.9]
    K, domains = with_spectrum(spectrum)
    gram = TiledGram(K, Kernel("precomputed"), tile=128)
    with pytest.raises(ValueError, match="not positive semi-definite"):
        solve_iterative(gram, domains, Objective(), 25, tol=1e-6, landmarks=1)


@pytest.mark.usefixtures("lean")
def test_a_kernel_with_few_digits_is_no_obstacle():
    # Of two smooth features: most eigenvalues are below what rounding makes.
    case = problem(p=2)

    def coarse(X, Y):
        return pairwise_kernels(X, Y, metric="rbf", gamma=0.05).astype(np.float32).astype(float)

    K = centred(coarse(case.X, case.X))
    assert np.linalg.eigvalsh(K)[0] < -1e-8
    objective = weights(case, K, 0.1, 1.0)
    found = iterate(case, objective, 5, coarse, landmarks=150)
    assert_allclose(found.eigenvalues, dual(case, K, objective, 5).eigenvalues, rtol=1e-6)


@pytest.mark.parametrize(
    "wrong",
    [{"k": 0}, {"k": 2.5}, {"tol": 0.0}, {"landmarks": 0}, {"max_products": 1}],
    ids=lambda wrong: next(iter(wrong)),
)
def test_arguments_that_make_no_sense_are_named_before_any_work(wrong):
    case = problem(n=20)
    gram = TiledGram(case.X, resolve_kernel(case.X))
    arguments = {"k": 2, "tol": 1e-6, **wrong}
    with pytest.raises((TypeError, ValueError), match=next(iter(wrong))):
        solve_iterative(gram, case.domains, Objective(domain=1.0), **arguments)
    assert gram.products == 0


# --- the same wherever the samples are ----------------------------------------------------------


@pytest.mark.usefixtures("lean")
def test_two_solutions_have_identical_bits_and_a_seed_changes_them():
    case = problem()
    objective = weights(case, dense_gram(case), 0.1, 1.0)
    first, second, other = (iterate(case, objective, 5, random_state=seed) for seed in (None, 0, 1))
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
    assert not np.array_equal(first.projections, other.projections)
    assert_allclose(other.eigenvalues, first.eigenvalues, rtol=1e-9)


@pytest.mark.parametrize("beta", [0.1, 1.0])
@pytest.mark.usefixtures("lean")
def test_single_precision_stays_single_and_is_right_to_its_digits(beta):
    case = problem()
    case.X = case.X.astype(np.float32)
    wide = SimpleNamespace(X=case.X.astype(float), domains=case.domains)
    K = dense_gram(wide)
    objective = weights(case, K, beta, 1.0)
    k = 3 if beta == 1 else 6
    found = iterate(case, objective, k)
    assert {array.dtype for array in found} == {np.dtype(np.float32)}
    exact = dual(wide, K, objective, k)
    assert_allclose(found.eigenvalues, exact.eigenvalues, rtol=1e-5)
    assert subspace_angles(found.projections.astype(float), exact.projections).max() < 1e-3
    assert found.residuals.max() < 1e-4


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.usefixtures("lean")
def test_tensors_give_what_numpy_gives(beta, dtype, require):
    torch = require("torch", "torch")
    case = problem()
    case.X = case.X.astype(dtype)
    tensors = SimpleNamespace(X=torch.from_numpy(case.X.copy()), domains=case.domains)
    objective = weights(case, dense_gram(problem()), beta, 1.0)
    k = 3 if beta == 1 else 6
    expected, found = iterate(case, objective, k), iterate(tensors, objective, k)
    assert {type(found.coefficients), type(found.projections)} == {torch.Tensor}
    assert found.projections.dtype == found.coefficients.dtype == getattr(torch, dtype)
    assert found.eigenvalues.dtype == found.residuals.dtype == expected.eigenvalues.dtype
    digits = 1e-9 if dtype == "float64" else 1e-5
    assert_allclose(found.eigenvalues, expected.eigenvalues, rtol=digits)
    Z = aligned(found.projections.numpy(), expected.projections)
    assert_allclose(Z, expected.projections, atol=1e4 * digits * np.abs(Z).max())


def test_products_scatters_and_columns_of_tensors_are_numpys(require):
    torch = require("torch", "torch")
    case = problem(n=100)
    X = torch.from_numpy(case.X.copy())
    W = np.random.default_rng(0).normal(size=(100, 3))
    host, device = (TiledGram(samples, resolve_kernel(samples), tile=30) for samples in (case.X, X))
    assert_allclose(device.product(torch.from_numpy(W)).numpy(), host.product(W), atol=1e-12)
    assert_allclose(device.means, host.means)
    assert_allclose(device.trace, host.trace)
    assert_allclose(measure(device.geometry, case.domains), measure(host.geometry, case.domains))
    rows = np.array([5, 2])
    assert_allclose(device.columns(rows).numpy(), host.columns(rows))
