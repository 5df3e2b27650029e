"""TSC: its two halves against slow solvers, and its codes against the problem that defines them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import minimize
from sklearn.decomposition import sparse_encode
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso
from sklearn.neighbors import kneighbors_graph
from sklearn.preprocessing import normalize

from skatter.methods import TSC
from skatter.methods._dictionary import Dictionary, update_dictionary
from skatter.methods._neighbourhood import Neighbourhood
from skatter.methods._sparse_codes import CodeProblem, Coupling

MMD, SMOOTHNESS, SPARSITY = 1e5, 1.0, 0.2
"""The defaults, which the definitions below repeat."""


def fitted(model, problem, X=None):
    X = problem.X if X is None else X
    return model.fit(X, problem.known, sample_domain=problem.domain)


def contrast(problem):
    source = ~problem.unlabelled
    return np.where(source, 1 / source.sum(), -1 / (~source).sum())


def neighbours(X, k=5):
    """Adjacency of the symmetric graph, by definition: no ties here."""
    W = kneighbors_graph(X, k).toarray()
    return np.maximum(W, W.T)


def laplacian(W):
    return np.diag(W.sum(axis=1)) - W


def objective(X, B, S, T, sparsity=SPARSITY):
    """‖X − S Bᵀ‖² + tr(Sᵀ T S) + λ Σ|S|; atoms are columns of B."""
    return np.sum((X - S @ B.T) ** 2) + np.trace(S.T @ T @ S) + sparsity * np.abs(S).sum()


def one_code(x, B, h, v, sparsity=SPARSITY):
    """Minimise ‖x − B s‖² + h s's + 2 s'v + λ‖s‖₁: a lasso on an extended table."""
    p, r = B.shape
    A = np.vstack([B, np.sqrt(h) * np.eye(r)])
    b = np.concatenate([x, -v / np.sqrt(h)])
    lasso = Lasso(sparsity / (2 * (p + r)), fit_intercept=False, tol=1e-15, max_iter=100_000)
    return lasso.fit(A, b).coef_


def worst_condition(S, gradient, sparsity=SPARSITY):
    """How far g + λ sign(s) = 0 on the support, and |g| ≤ λ elsewhere, are from being true."""
    on = np.abs(gradient + sparsity * np.sign(S))
    off = np.maximum(np.abs(gradient) - sparsity, 0)
    return np.where(S != 0, on, off).max()


# --- the dictionary -------------------------------------------------------------------------------


def fit_of(X, S, B):
    return np.sum((X - S @ B.T) ** 2)


def updated(X, S, B=None):
    """The best dictionary, from a start at B or at samples."""
    r = S.shape[1]
    B = normalize(X[:r]).T if B is None else B
    return update_dictionary(Dictionary(B, np.zeros(r)), S.T @ S, X.T @ S)


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0], ids=["all bind", "some bind", "none binds"])
def test_the_dictionary_satisfies_its_optimality_conditions(scale):
    rng = np.random.default_rng(0)
    X, S = rng.normal(size=(40, 6)), scale * rng.normal(size=(40, 9))
    B, theta = updated(X, S)
    lengths = np.linalg.norm(B, axis=0)
    assert (theta >= 0).all()
    assert (lengths <= 1 + 1e-12).all()
    assert_allclose(theta * (1 - lengths), 0, atol=1e-7 * max(theta.max(), 1))
    stationary = B @ (S.T @ S) - X.T @ S + B * theta
    assert_allclose(stationary, 0, atol=1e-7 * np.abs(X.T @ S).max())
    assert {0.1: 9, 10.0: 0}.get(scale, np.sum(theta > 0)) == np.sum(theta > 0)


def test_no_feasible_dictionary_fits_better():
    rng = np.random.default_rng(1)
    X, S = rng.normal(size=(20, 3)), 0.5 * rng.normal(size=(20, 4))

    def cost(flat):
        B = flat.reshape(3, 4)
        return fit_of(X, S, B), (2 * (B @ S.T - X.T) @ S).ravel()

    lengths = {"type": "ineq", "fun": lambda flat: 1 - np.sum(flat.reshape(3, 4) ** 2, axis=0)}
    slow = minimize(
        cost, np.zeros(12) + 0.1, jac=True, method="SLSQP", constraints=lengths, tol=1e-12
    )
    assert_allclose(updated(X, S).atoms, slow.x.reshape(3, 4), atol=1e-5)


def test_bounds_that_do_not_bind_give_least_squares():
    rng = np.random.default_rng(2)
    X, S = rng.normal(size=(30, 5)), 10 * rng.normal(size=(30, 4))
    assert_allclose(updated(X, S).atoms.T, np.linalg.lstsq(S, X, rcond=None)[0], atol=1e-8)


def test_an_atom_that_no_code_uses_stays():
    rng = np.random.default_rng(3)
    X, S = rng.normal(size=(30, 5)), rng.normal(size=(30, 4))
    S[:, 2] = 0
    start = normalize(rng.normal(size=(4, 5))).T
    new = updated(X, S, start)
    assert_array_equal(new.atoms[:, 2], start[:, 2])
    others = [0, 1, 3]
    assert_allclose(new.atoms[:, others], updated(X, S[:, others]).atoms, atol=1e-8)
    assert_array_equal(updated(X, np.zeros((30, 4)), start).atoms, start)


def test_codes_that_depend_on_each_other_have_a_dictionary():
    rng = np.random.default_rng(4)
    X, S = rng.normal(size=(30, 5)), rng.normal(size=(30, 4))
    twins = np.hstack([S, S[:, :2], S[:, :1] + S[:, 1:2]])
    B = updated(X, twins).atoms
    assert (np.linalg.norm(B, axis=0) <= 1 + 1e-12).all()
    assert fit_of(X, twins, B) <= fit_of(X, S, updated(X, S).atoms) * (1 + 1e-8)


# --- the codes ------------------------------------------------------------------------------------


def code_problem(seed=0, *, mmd=10.0, smoothness=1.0, n=14, p=6, r=5):
    """Random samples, atoms and graph, and the matrix T by its definition."""
    rng = np.random.default_rng(seed)
    X, B = normalize(rng.normal(size=(n, p))), normalize(rng.normal(size=(r, p))).T
    e = np.where(np.arange(n) < n // 3, 1 / (n // 3), -1 / (n - n // 3))
    W = smoothness * neighbours(X, 3)
    coupling = Coupling(W.sum(axis=1), sparse.csr_array(W), e, mmd)
    problem = CodeProblem(B.T @ B, X @ B, coupling, SPARSITY)
    return problem, X, B, mmd * np.outer(e, e) + laplacian(W)


def test_the_value_is_half_of_the_objective():
    problem, X, B, T = code_problem()
    S = np.random.default_rng(1).normal(size=(14, 5))
    assert_allclose(2 * problem.value(S) + np.sum(X**2), objective(X, B, S, T))


def test_codes_equal_those_found_sample_by_sample():
    problem, X, B, T = code_problem(mmd=1.0)
    slow = np.zeros((14, 5))
    for _ in range(80):
        for i in range(14):
            v = T[i] @ slow - T[i, i] * slow[i]
            slow[i] = one_code(X[i], B, T[i, i], v)
    fast, converged = problem.solve(np.zeros((14, 5)), tol=1e-12, steps=1000)
    assert converged
    assert_allclose(fast, slow, atol=1e-9)
    assert 0 < np.mean(fast == 0) < 1


@pytest.mark.parametrize("mmd", [0.0, 1.0, 1e3, 1e7])
@pytest.mark.parametrize("smoothness", [0.01, 1.0, 100.0])
def test_codes_satisfy_their_optimality_conditions_however_stiff(mmd, smoothness):
    problem, X, B, T = code_problem(3, mmd=mmd, smoothness=smoothness, n=60, r=9)
    S, converged = problem.solve(np.zeros((60, 9)), tol=1e-10, steps=3000)
    assert converged
    gradient = 2 * ((S @ B.T - X) @ B + T @ S)
    assert worst_condition(S, gradient) < 1e-8
    assert problem.violation(S) <= 1e-10


def test_codes_of_collinear_atoms_are_found_too():
    rng = np.random.default_rng(0)
    X = normalize(rng.normal(size=(40, 3)) + 100)
    B = normalize(X[:6] + 1e-3 * rng.normal(size=(6, 3))).T
    W = neighbours(X)
    coupling = Coupling(W.sum(axis=1), sparse.csr_array(W))
    problem = CodeProblem(B.T @ B, X @ B, coupling, SPARSITY)
    S, converged = problem.solve(np.zeros((40, 6)), tol=1e-9, steps=20_000)
    assert converged
    assert worst_condition(S, 2 * ((S @ B.T - X) @ B + laplacian(W) @ S)) < 1e-8


@pytest.mark.parametrize("seed", range(5))
def test_neither_half_step_increases_the_objective(seed):
    problem, X, B, T = code_problem(seed, mmd=1e4, n=50, r=12)
    e = np.where(np.arange(50) < 16, 1 / 16, -1 / 34)
    W = neighbours(X, 3)
    coupling = Coupling(W.sum(axis=1), sparse.csr_array(W), e, 1e4)
    dictionary, S = Dictionary(B, np.zeros(12)), np.zeros((50, 12))
    last = np.inf
    for _ in range(25):
        B = dictionary.atoms
        problem = CodeProblem(B.T @ B, X @ B, coupling, SPARSITY)
        S, value = problem.descend(S, 3)
        after_codes = objective(X, B, S, T)
        assert_allclose(2 * value + np.sum(X**2), after_codes)
        assert after_codes <= last * (1 + 1e-12)
        dictionary = update_dictionary(dictionary, S.T @ S, X.T @ S)
        last = objective(X, dictionary.atoms, S, T)
        assert last <= after_codes * (1 + 1e-12)


def test_plain_steps_are_taken_where_momentum_would_go_uphill(monkeypatch):
    problem, *_ = code_problem()
    S, _ = problem.solve(np.zeros((14, 5)), tol=1e-12, steps=1000)
    honest = problem._advance

    def astray(S, steps, *, momentum=True):
        return S + 1 if momentum else honest(S, steps, momentum=False)

    monkeypatch.setattr(problem, "_advance", astray)
    start = np.zeros((14, 5))
    new, value = problem.descend(start, 4)
    assert problem.value(S) <= value == problem.value(new) < problem.value(start)


# --- the graph ------------------------------------------------------------------------------------


def test_the_graph_joins_nearest_neighbours_of_either_side(two_domains):
    X = two_domains.X
    assert_array_equal(Neighbourhood(X, 4).graph(X).toarray(), neighbours(X, 4))


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_a_training_sample_has_the_edges_it_had_and_one_to_itself(two_domains, make, monkeypatch):
    X = make(np.vstack([two_domains.X, two_domains.X[:9], two_domains.X[:5]]))
    expected = None
    for batch in (2**22, 200):  # all samples at once, and two at a time
        monkeypatch.setattr("skatter.methods._neighbourhood.BATCH", batch)
        near = Neighbourhood(X, 5)
        graph = near.graph(X).toarray()
        assert_array_equal(graph, graph.T)
        assert_array_equal(near.edges(X).toarray(), graph + np.eye(len(graph)))
        assert expected is None or np.array_equal(graph, expected)
        expected = graph


def test_neighbours_at_the_same_distance_are_all_joined():
    X = np.array([[0.0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]])
    near = Neighbourhood(X, 1)
    assert_array_equal(near.graph(X).toarray()[0], [0, 1, 1, 1, 1])


def test_a_new_sample_is_joined_to_those_whose_neighbour_it_would_be():
    X = np.array([[0.0], [1.0], [2.0], [9.0]])
    near = Neighbourhood(X, 1)
    near.graph(X)
    # The two nearest are at 1 and 2; the one at 9 has its own neighbour 7 away, and is 5.5 away.
    assert_array_equal(near.edges(np.array([[3.5]])).toarray(), [[0, 1, 1, 1]])
    assert_array_equal(near.edges(np.array([[1.4]])).toarray(), [[0, 1, 1, 0]])


# --- the estimator --------------------------------------------------------------------------------


def test_codes_solve_the_joint_problem_that_defines_them(two_domains):
    model = fitted(TSC(), two_domains)
    X, B, S = normalize(two_domains.X), model.components_.T, model.codes_
    e = contrast(two_domains)
    T = MMD * np.outer(e, e) + SMOOTHNESS * laplacian(neighbours(X))
    assert worst_condition(S, 2 * ((S @ B.T - X) @ B + T @ S)) < 1e-7
    assert objective(X, B, S, T) <= model.objective_[-1]
    assert (np.linalg.norm(B, axis=0) <= 1 + 1e-12).all()


def test_the_objective_never_increases(three_domains):
    model = fitted(TSC(max_iter=60, tol=0), three_domains)
    assert model.n_iter_ == len(model.objective_) == 60
    assert (np.diff(model.objective_) <= 1e-12 * model.objective_[0]).all()
    assert model.objective_[-1] < 0.97 * model.objective_[0]


def test_without_means_and_graph_it_is_plain_sparse_coding(two_domains):
    model = fitted(TSC(n_components=4, mmd=0, smoothness=0), two_domains)
    for X in (normalize(two_domains.X), normalize(two_domains.X_new)):
        S = model.transform(X)
        alike = sparse_encode(X, model.components_, algorithm="lasso_cd", alpha=SPARSITY / 2)
        assert_allclose(S, alike, atol=1e-3)
        gradient = 2 * (S @ model.components_ - X) @ model.components_.T
        assert worst_condition(S, gradient) < 1e-10


@pytest.mark.parametrize("place", ["source", "target"])
def test_a_new_sample_has_the_code_that_solves_its_own_problem(two_domains, place):
    model = fitted(TSC(), two_domains)
    X, x_new = normalize(two_domains.X), normalize(two_domains.X_new)
    S, B, e = model.codes_, model.components_.T, contrast(two_domains)
    distances = np.linalg.norm(X - X[:, None], axis=2)
    reach = np.sort(distances, axis=1)[:, 5]
    names = {"source": "amsterdam", "target": "basel"}
    actual = model.transform(two_domains.X_new, sample_domain=[names[place]] * 7)
    for x, code in zip(x_new, actual, strict=True):
        away = np.linalg.norm(X - x, axis=1)
        joined = (away <= np.sort(away)[5]) | (away <= reach)
        pull = MMD * (e.max() if place == "source" else e.min()) * (e @ S)
        v = pull - SMOOTHNESS * S[joined].sum(axis=0)
        assert_allclose(code, one_code(x, B, SMOOTHNESS * joined.sum(), v), atol=1e-6)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"mmd": 0.0},
        {"smoothness": 0.0, "n_components": 4},
        {"n_neighbors": 2},
        {"n_neighbors": 200},
        {"unit_norm": False},
        {"max_iter": 1, "tol": 0},
    ],
    ids=str,
)
def test_a_training_sample_gets_back_its_code(three_domains, options):
    """Even if others equal it, in its domain or elsewhere, and far from the origin."""
    data = three_domains
    rows = np.r_[np.arange(len(data.X)), :20]
    domain = np.r_[data.domain, np.roll(data.domain[:20], 1)]
    y = np.where(domain == "cairo", -1, data.y[rows])
    for X in (data.X[rows], data.X[rows] + 1e3):
        model = TSC(**options)
        Z = model.fit_transform(X, y, sample_domain=domain)
        assert_array_equal(Z, model.codes_)
        assert_allclose(model.transform(X, sample_domain=domain), Z, atol=1e-9)


@pytest.mark.parametrize("smoothness", [0.0, 1e-3, 1.0])
def test_a_code_does_not_depend_on_the_company_of_its_sample(two_domains, smoothness):
    model = fitted(TSC(smoothness=smoothness), two_domains)
    together = model.transform(two_domains.X)
    alone = np.vstack([model.transform(x[None]) for x in two_domains.X])
    assert_allclose(alone, together, atol=1e-10)


def test_equal_samples_of_one_domain_have_equal_codes(three_domains):
    data = three_domains
    rows = np.r_[np.arange(len(data.X)), :30]
    model = TSC().fit(data.X[rows], data.known[rows], sample_domain=data.domain[rows])
    assert_allclose(model.codes_[-30:], model.codes_[:30], atol=1e-9)


def test_the_order_of_the_samples_changes_no_bit(three_domains):
    data = three_domains
    rows = np.r_[np.arange(len(data.X)), :20]
    mixed = np.random.default_rng(0).permutation(len(rows))
    first = TSC().fit(data.X[rows], data.known[rows], sample_domain=data.domain[rows])
    other = TSC().fit(
        np.asfortranarray(data.X[rows][mixed]),
        data.known[rows][mixed],
        sample_domain=data.domain[rows][mixed],
    )
    assert_array_equal(other.components_, first.components_)
    assert_array_equal(other.codes_, first.codes_[mixed])


def test_sparse_samples_have_the_codes_of_dense_ones(two_domains):
    X = np.where(np.abs(two_domains.X) > 0.7, two_domains.X, 0)
    dense, thin = fitted(TSC(), two_domains, X), fitted(TSC(), two_domains, sparse.csr_matrix(X))
    assert_allclose(thin.codes_, dense.codes_, atol=1e-8)
    assert_allclose(thin.components_, dense.components_, atol=1e-8)


def test_sources_are_pooled(three_domains):
    pooled = np.where(three_domains.domain == "cairo", "cairo", "elsewhere")
    one = TSC().fit(three_domains.X, three_domains.known, sample_domain=pooled)
    assert_array_equal(one.codes_, fitted(TSC(), three_domains).codes_)


def test_labels_are_not_used(two_domains):
    known = np.where(two_domains.unlabelled, -1, two_domains.y[::-1])
    model = TSC().fit(two_domains.X, known, sample_domain=two_domains.domain)
    assert_array_equal(model.codes_, fitted(TSC(), two_domains).codes_)


def test_where_there_is_no_shift_the_means_pull_nowhere(two_domains):
    with pytest.warns(UserWarning, match="sees no target"):
        model = TSC().fit(two_domains.X, two_domains.y)
    with pytest.warns(UserWarning, match="sees no target"):
        free = TSC(mmd=0).fit(two_domains.X, two_domains.y)
    assert_array_equal(model.codes_, free.codes_)


# --- what the parameters do -----------------------------------------------------------------------


def gap(problem, S):
    """Distance of the mean codes, relative to the mean length of a code."""
    source = ~problem.unlabelled
    difference = S[source].mean(axis=0) - S[~source].mean(axis=0)
    return np.linalg.norm(difference) / np.linalg.norm(S, axis=1).mean()


def test_mmd_brings_the_means_together(two_domains):
    gaps = [gap(two_domains, fitted(TSC(mmd=mmd), two_domains).codes_) for mmd in (0, 1e3, 1e5)]
    assert gaps[0] > 3 * gaps[1] > 9 * gaps[2]


def test_smoothness_brings_neighbours_together(two_domains):
    L = laplacian(neighbours(normalize(two_domains.X)))
    roughness = []
    for smoothness in (0.01, 0.1, 1.0, 10.0):
        S = fitted(TSC(smoothness=smoothness, mmd=0), two_domains).codes_
        roughness.append(np.trace(S.T @ L @ S) / np.sum(S**2))
    assert (np.diff(roughness) < 0).all()


def test_sparsity_makes_codes_zero(two_domains):
    shares = [
        np.mean(fitted(TSC(sparsity=sparsity, smoothness=0.1), two_domains).codes_ == 0)
        for sparsity in (0.01, 0.2, 0.5)
    ]
    assert 0 <= shares[0] < shares[1] < shares[2] < 1


def test_too_much_sparsity_is_told(two_domains):
    with pytest.warns(UserWarning, match=r"All codes are zero: sparsity=5.* Lower it"):
        model = fitted(TSC(sparsity=5), two_domains)
    assert not model.codes_.any()
    assert not model.transform(two_domains.X_new).any()


def test_with_unit_norm_the_length_of_samples_is_of_no_matter(two_domains):
    X = two_domains.X
    lengths = 2.0 ** np.random.default_rng(0).integers(-9, 9, size=(len(X), 1))
    expected = fitted(TSC(), two_domains).codes_
    assert_array_equal(fitted(TSC(), two_domains, X * lengths).codes_, expected)
    scaled = fitted(TSC(unit_norm=False), two_domains, normalize(X))
    assert_array_equal(scaled.codes_, expected)
    assert not np.allclose(fitted(TSC(unit_norm=False), two_domains).codes_, expected)


def test_samples_of_zeros_are_samples(two_domains):
    X = two_domains.X.copy()
    X[:20] = 0
    model = fitted(TSC(n_components=50), two_domains, X)
    assert_allclose(np.linalg.norm(model.components_, axis=1).max(), 1)
    assert np.isfinite(model.codes_).all()
    assert model.codes_.any()
    with pytest.warns(UserWarning, match="All codes are zero"):
        nothing = TSC().fit(np.zeros((6, 3)), sample_domain=[1, 1, 1, -2, -2, -2])
    assert not nothing.transform(np.zeros((2, 3))).any()


def test_the_seed_chooses_the_dictionary(two_domains):
    fixed = fitted(TSC(), two_domains).components_
    assert_array_equal(fitted(TSC(random_state=0), two_domains).components_, fixed)
    other = fitted(TSC(random_state=1), two_domains)
    assert not np.allclose(other.components_, fixed)
    # Another local minimum, about as good.
    assert_allclose(other.objective_[-1], fitted(TSC(), two_domains).objective_[-1], rtol=0.1)


@pytest.mark.parametrize(("shape", "expected"), [((40, 3), 6), ((40, 90), 20), ((400, 90), 128)])
def test_the_default_number_of_atoms_follows_the_data(shape, expected):
    X = np.random.default_rng(0).normal(size=shape)
    domain = np.where(np.arange(len(X)) % 2, 1, -2)
    model = TSC(max_iter=1, tol=0).fit(X, sample_domain=domain)
    assert model.n_components_ == expected
    assert model.components_.shape == (expected, shape[1])
    assert model.transform(X[:2]).shape == (2, expected)


def test_more_atoms_than_samples_are_refused(two_domains):
    n = len(two_domains.X)
    assert fitted(TSC(n, max_iter=2, tol=0), two_domains).n_components_ == n
    with pytest.raises(ValueError, match=rf"n_components={n + 1} exceeds .* at most {n} here"):
        fitted(TSC(n + 1), two_domains)


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("mmd", -1.0, ValueError),
        ("mmd", np.inf, ValueError),
        ("mmd", "big", TypeError),
        ("smoothness", -0.1, ValueError),
        ("smoothness", None, TypeError),
        ("sparsity", 0.0, ValueError),
        ("sparsity", np.nan, ValueError),
        ("n_neighbors", 0, ValueError),
        ("n_neighbors", 2.0, TypeError),
        ("unit_norm", "yes", ValueError),
    ],
)
def test_parameters_are_checked_by_name(two_domains, name, value, error):
    with pytest.raises(error, match=f"{name} must"):
        fitted(TSC(**{name: value}), two_domains)


def test_codes_that_are_not_exact_are_told(two_domains, monkeypatch):
    model = fitted(TSC(), two_domains)
    monkeypatch.setattr("skatter.methods._tsc.STEPS_ALONE", 1)
    with pytest.warns(ConvergenceWarning, match=r"codes of TSC are exact to .* only"):
        model.transform(two_domains.X_new)
