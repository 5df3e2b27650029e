"""Marginal kernel machine: the product kernel, its limits, and whose distribution is meant."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import minimize
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from skatter.methods._marginal_kernel import MarginalKernelSVM

EXACT = {"gamma": 0.2, "tol": 1e-6}
SIZES = {1: 14, 2: 25, 3: 40}


def problem(seed=0, n_classes=3, sizes=SIZES, p=3):
    """Sources of unequal sizes, each somewhere else, whose rows come in no order."""
    rng = np.random.default_rng(seed)
    site = rng.permutation(np.repeat(list(sizes), list(sizes.values())))
    y = rng.integers(n_classes, size=len(site))
    X = rng.normal(size=(len(site), p)) + 1.5 * np.eye(n_classes, p)[y]
    X[:, -1] += 0.7 * site
    return X, y, site


def new_set(seed=9, n=11, p=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)) + np.array([0.5, 0.0, 1.0])


def fit(model, case):
    X, y, site = case
    return model.fit(X, y, sample_domain=site)


def with_target(case, X_target, name=-7):
    """The same problem with an unlabelled target."""
    X, y, site = case
    return (
        np.vstack([X, X_target]),
        np.concatenate([y, np.full(len(X_target), -1)]),
        np.concatenate([site, np.full(len(X_target), name)]),
    )


def slow_distance(A, B, gamma):
    """‖μ_A − μ_B‖² by a double loop over samples."""

    def inner(P, Q):
        return np.mean([[np.exp(-gamma * np.sum((a - b) ** 2)) for b in Q] for a in P])

    return inner(A, A) + inner(B, B) - 2 * inner(A, B)


def slow_kernel(X, site, Y, site_of_y, marginal_gamma, embedding_gamma, gamma):
    """The kernel of pairs, entry by entry; the domains of both are made of the rows given."""
    K = np.empty((len(X), len(Y)))
    for d in np.unique(site):
        for e in np.unique(site_of_y):
            own, other = np.flatnonzero(site == d), np.flatnonzero(site_of_y == e)
            distance = slow_distance(X[own], Y[other], embedding_gamma)
            for i in own:
                for j in other:
                    alike = np.exp(-gamma * np.sum((X[i] - Y[j]) ** 2))
                    K[i, j] = np.exp(-marginal_gamma * distance) * alike
    return K


def weights_of(site):
    """n/(S n_d) for each sample."""
    sizes = {d: np.sum(site == d) for d in np.unique(site)}
    return np.array([len(site) / len(sizes) / sizes[d] for d in site])


# --- the machine ----------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_is_a_weighted_machine_on_the_kernel_of_pairs(n_classes):
    case = X, y, site = problem(1, n_classes)
    marginal, embedding, gamma = 3.0, 0.4, 0.2
    model = fit(
        MarginalKernelSVM(2.0, marginal_gamma=marginal, embedding_gamma=embedding, **EXACT), case
    )
    K = slow_kernel(X, site, X, site, marginal, embedding, gamma)
    new = np.vstack([new_set(8), new_set(9) + 1])
    place = np.repeat(["x", "y"], 11)
    K_new = slow_kernel(new, place, X, site, marginal, embedding, gamma)
    columns = range(n_classes) if n_classes > 2 else [1]
    expected = []
    for k in columns:
        machine = SVC(kernel="precomputed", C=2.0, tol=1e-6)
        machine.fit(K, np.where(y == k, 1, -1), sample_weight=weights_of(site))
        expected.append(machine.decision_function(K_new))
    actual = model.decision_function(new, sample_domain=place)
    assert_allclose(actual.reshape(len(new), -1), np.column_stack(expected), atol=1e-4)


def test_distances_are_those_of_mean_embeddings():
    case = X, _, site = problem(2)
    target = new_set()
    model = fit(MarginalKernelSVM(embedding_gamma=0.3), with_target(case, target))
    sets = [X[site == 1], X[site == 2], X[site == 3], target]
    expected = [[slow_distance(A, B, 0.3) for B in sets[:3]] for A in sets]
    assert model.marginal_ids_.tolist() == [1, 2, 3, -7]
    assert_allclose(model.marginal_distances_, expected, atol=1e-14)


def test_bandwidths_are_medians_over_samples_and_over_pairs_of_sources():
    case = X, _, site = problem(3)
    pairs = np.triu_indices(len(X), 1)
    squared = np.array([np.sum((X[i] - X[j]) ** 2) for i, j in zip(*pairs, strict=True)])
    embedding = 1 / np.median(squared)
    between = [
        slow_distance(X[site == d], X[site == e], embedding) for d, e in ((1, 2), (1, 3), (2, 3))
    ]
    model = fit(MarginalKernelSVM(), case)
    assert_allclose(model.marginal_gamma_, 0.5 / np.median(between), rtol=1e-10)


def test_every_source_counts_the_same_whatever_its_size():
    """A source whose samples are all there twice counts as if they were there once."""
    X, y, site = problem(4)
    again = np.concatenate([np.arange(len(y)), np.flatnonzero(site == 2)])
    common = {"marginal_gamma": 2.0, "embedding_gamma": 0.3, **EXACT}
    once = MarginalKernelSVM(1.0, **common).fit(X, y, sample_domain=site)
    # The loss is n times the mean over sources of the mean over samples.
    twice = MarginalKernelSVM(len(y) / len(again), **common)
    twice.fit(X[again], y[again], sample_domain=site[again])
    new = new_set()
    assert_allclose(twice.decision_function(new), once.decision_function(new), atol=1e-4)


def test_with_sources_of_a_size_c_is_that_of_a_plain_machine():
    X, y, site = problem(5, n_classes=2, sizes={1: 20, 2: 20})
    model = fit(MarginalKernelSVM(0.7, marginal_gamma=0, **EXACT), (X, y, site))
    plain = SVC(C=0.7, **EXACT).fit(X, y)
    new = new_set()
    assert_allclose(model.decision_function(new), plain.decision_function(new), atol=1e-5)


# --- limits ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_without_marginals_it_is_the_pooled_weighted_machine(kernel):
    case = X, y, site = problem(6)
    model = fit(MarginalKernelSVM(marginal_gamma=0, kernel=kernel, **EXACT), case)
    for name in (None, np.full(11, 2), np.full(11, "nowhere")):
        values = model.decision_function(new_set(), sample_domain=name)
        for k in range(3):
            plain = SVC(kernel=kernel, **EXACT)
            plain.fit(X, np.where(y == k, 1, -1), sample_weight=weights_of(site))
            assert_allclose(values[:, k], plain.decision_function(new_set()), atol=1e-4)


def test_in_the_limit_sources_share_an_intercept_and_nothing_else():
    """Given b, f of a source is the optimum over its own samples alone."""
    C, gamma = 1.5, 0.2
    case = X, y, site = problem(7, n_classes=2)
    model = fit(MarginalKernelSVM(C, marginal_gamma=1e6, gamma=gamma, tol=1e-7), case)
    b, new = model.intercept_[0], new_set()
    for d in SIZES:
        own = site == d
        K, signs = rbf_kernel(X[own], gamma=gamma), np.where(y[own] == 1, 1.0, -1.0)
        cost = C * weights_of(site)[own]

        def dual(a, K=K, signs=signs):
            v = a * signs
            return v @ K @ v / 2 - a @ (1 - signs * b), signs * (K @ v) - (1 - signs * b)

        found = minimize(
            dual,
            cost / 2,
            jac=True,
            method="L-BFGS-B",
            bounds=[(0, c) for c in cost],
            options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 10_000},
        )
        expected = rbf_kernel(new, X[own], gamma=gamma) @ (found.x * signs) + b
        actual = model.decision_function(new, sample_domain=np.full(len(new), d))
        assert_allclose(actual, expected, atol=1e-4)


def test_in_the_limit_a_new_domain_is_told_nothing_but_the_intercept():
    case = problem(8)
    values = fit(MarginalKernelSVM(marginal_gamma=1e6), case).decision_function(new_set())
    assert (values == values[0]).all()


def test_a_domain_like_a_source_is_answered_for_as_that_source_is():
    case = X, _, site = problem(9)
    model = fit(MarginalKernelSVM(marginal_gamma=50.0), case)
    own = X[site == 3]
    as_new = model.decision_function(own, sample_domain=np.full(len(own), 12))
    as_source = model.decision_function(own, sample_domain=np.full(len(own), 3))
    assert_allclose(as_new, as_source, atol=1e-12)


def test_the_marginal_tells_what_pooled_sources_cannot():
    """The threshold of a domain is where the domain is."""
    rng = np.random.default_rng(0)
    town = np.repeat(np.arange(9), 40)
    X = rng.normal(size=(360, 1)) + town[:, None] / 2
    y = (X[:, 0] > town / 2).astype(int)
    seen = town != 4
    pooled, model = (
        MarginalKernelSVM(marginal_gamma=g).fit(X[seen], y[seen], sample_domain=town[seen])
        for g in (0, "median")
    )
    assert pooled.score(X[~seen], y[~seen]) < 0.6
    assert model.score(X[~seen], y[~seen]) > 0.85


# --- whose marginal -------------------------------------------------------------------------------


def test_a_target_in_fit_changes_nothing_but_its_own_marginal():
    case, target = problem(10), new_set(3, 20) + 3
    model, other = (
        fit(MarginalKernelSVM(), case),
        fit(MarginalKernelSVM(), with_target(case, target)),
    )
    assert_array_equal(other.dual_coef_, model.dual_coef_)
    assert_array_equal(other.intercept_, model.intercept_)
    assert_array_equal(other.support_, model.support_)
    assert other.marginal_gamma_ == model.marginal_gamma_
    for name in (2, 99):
        here = np.full(11, name)
        expected = model.decision_function(new_set(), sample_domain=here)
        assert_array_equal(other.decision_function(new_set(), sample_domain=here), expected)
    assert_allclose(other.decision_function(target), model.decision_function(target), atol=1e-12)


def test_without_names_samples_are_the_one_targets_of_fit():
    case, target = problem(11), new_set(4, 20)
    model = fit(MarginalKernelSVM(), with_target(case, target))
    together = model.decision_function(target)
    alone = np.vstack([model.decision_function(row[None]) for row in target])
    named = model.decision_function(target[:1], sample_domain=[-7])
    assert_allclose(alone, together, atol=1e-12)
    assert_allclose(named, together[:1], atol=1e-12)


def test_labels_of_a_target_are_not_learnt_from():
    case = X, y, site = with_target(problem(12), new_set(5, 20))
    some = np.where((site == -7) & (np.arange(len(y)) % 2 == 0), 1, y)
    model, other = fit(MarginalKernelSVM(), case), fit(MarginalKernelSVM(), (X, some, site))
    assert_array_equal(other.decision_function(X), model.decision_function(X))


def test_with_two_targets_each_has_its_marginal_and_samples_without_names_are_a_new_domain():
    case = problem(13)
    first, second = new_set(6, 15), new_set(7, 18) + 1
    model = fit(MarginalKernelSVM(), with_target(with_target(case, first), second, name=-8))
    plain = fit(MarginalKernelSVM(), case)
    assert model.marginal_ids_.tolist() == [1, 2, 3, -8, -7]
    for name, own in ((-7, first), (-8, second)):
        one = model.decision_function(own[:1], sample_domain=[name])
        assert_allclose(one, plain.decision_function(own)[:1], atol=1e-12)
    assert_allclose(model.decision_function(first), plain.decision_function(first), atol=1e-12)


def test_a_target_of_one_sample_has_no_marginal():
    model = fit(MarginalKernelSVM(), with_target(problem(14), new_set(n=1)))
    assert model.marginal_ids_.tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="the new domain has 1 sample"):
        model.predict(new_set(n=1))


def test_samples_are_grouped_by_their_domains():
    model = fit(MarginalKernelSVM(), problem(15))
    first, second, source = new_set(1, 6), new_set(2, 9) + 1, new_set(3, 4)
    X = np.vstack([first, second, source])
    site = np.repeat([40, 50, 2], [6, 9, 4])
    mixed = np.random.default_rng(0).permutation(len(X))
    together = model.decision_function(X[mixed], sample_domain=site[mixed])
    apart = np.vstack(
        [
            model.decision_function(first),
            model.decision_function(second),
            model.decision_function(source, sample_domain=[2] * 4),
        ]
    )
    assert_allclose(together, apart[mixed], atol=1e-12)


def test_a_source_is_known_from_fit_one_sample_at_a_time():
    case = X, _, site = problem(16)
    model = fit(MarginalKernelSVM(), case)
    together = model.decision_function(X, sample_domain=site)
    alone = [
        model.decision_function(row[None], sample_domain=[name])[0]
        for row, name in zip(X, site, strict=True)
    ]
    assert_allclose(alone, together, atol=1e-12)


def test_without_any_names_in_fit_new_samples_are_of_that_one_domain():
    X, y, _ = problem(17)
    with pytest.warns(UserWarning, match="sees one source domain"):
        model = MarginalKernelSVM(**EXACT).fit(X, y)
    values = np.vstack([model.decision_function(row[None]) for row in new_set()])
    for k in range(3):
        plain = SVC(**EXACT).fit(X, np.where(y == k, 1, -1))
        assert_allclose(values[:, k], plain.decision_function(new_set()), atol=1e-4)


def test_without_any_names_unlabelled_samples_are_the_target():
    X, y, _ = problem(18)
    known = np.where(np.arange(len(y)) < 60, y, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MarginalKernelSVM(embedding_gamma=0.3).fit(X, known)
    assert model.marginal_ids_.tolist() == ["labelled", "unlabelled"]
    assert_allclose(model.marginal_distances_[1], slow_distance(X[:60], X[60:], 0.3), atol=1e-14)
    assert len(model.predict(X[:1])) == 1


def test_unlabelled_samples_of_a_source_are_left_out():
    X, y, site = problem(19)
    hidden = np.arange(len(y)) % 5 == 0
    model = fit(MarginalKernelSVM(), (X, np.where(hidden, -1, y), site))
    expected = fit(MarginalKernelSVM(), (X[~hidden], y[~hidden], site[~hidden]))
    assert_array_equal(model.decision_function(new_set()), expected.decision_function(new_set()))


# --- input ----------------------------------------------------------------------------------------


def test_more_samples_than_a_batch_have_the_same_mean(monkeypatch):
    case = problem(20)
    expected = fit(MarginalKernelSVM(), case).decision_function(new_set())
    monkeypatch.setattr("skatter.methods._marginal_kernel.BATCH", 4)
    assert_allclose(
        fit(MarginalKernelSVM(), case).decision_function(new_set()), expected, atol=1e-10
    )


def test_sparse_samples_give_what_dense_ones_give():
    X, y, site = problem(21)
    X, new = np.where(np.abs(X) > 0.7, X, 0), np.where(np.abs(new_set()) > 0.7, new_set(), 0)
    dense = fit(MarginalKernelSVM(tol=1e-6), (X, y, site))
    thin = fit(MarginalKernelSVM(tol=1e-6), (sparse.csr_array(X), y, site))
    assert_allclose(
        thin.decision_function(sparse.csr_array(new)), dense.decision_function(new), atol=1e-5
    )


def test_a_precomputed_kernel_is_that_of_samples_and_of_marginals():
    X, y, site = with_target(problem(22), new_set(5, 20))
    mixed = np.random.default_rng(1).permutation(len(y))
    X, y, site = X[mixed], y[mixed], site[mixed]
    given = fit(
        MarginalKernelSVM(kernel="precomputed", tol=1e-6), (rbf_kernel(X, gamma=0.2), y, site)
    )
    expected = fit(MarginalKernelSVM(embedding_gamma=0.2, **EXACT), (X, y, site))
    K_new = rbf_kernel(new_set(), X, gamma=0.2)
    assert_allclose(given.marginal_distances_, expected.marginal_distances_, atol=1e-13)
    for name in (None, [1] * 11):
        actual = given.decision_function(K_new, sample_domain=name)
        assert_allclose(
            actual, expected.decision_function(new_set(), sample_domain=name), atol=1e-4
        )
    with pytest.raises(ValueError, match=r"new domain \(rome\).*precomputed.*to fit, as a target"):
        given.predict(K_new, sample_domain=["rome"] * 11)


def test_sources_that_do_not_differ_are_pooled_whatever_the_bandwidth():
    X, y, _ = problem(23, sizes={1: 30})
    twice = np.vstack([X, X]), np.concatenate([y, y]), np.repeat([1, 2], 30)
    median, pooled = (fit(MarginalKernelSVM(marginal_gamma=g), twice) for g in ("median", 0))
    assert median.marginal_gamma_ == 1
    assert_array_equal(median.marginal_distances_, np.zeros((2, 2)))
    assert_array_equal(median.dual_coef_, pooled.dual_coef_)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sample_domain": ["rome"]}, "a set of samples .* rome has 1 sample"),
        ({"sample_domain": [2.0]}, None),
        ({}, "a set of samples .* the new domain has 1 sample"),
    ],
    ids=["a new name", "a source", "no name"],
)
def test_one_sample_does_not_tell_what_a_new_domain_is_like(given, message):
    model = fit(MarginalKernelSVM(), problem(24))
    if message is None:
        assert len(model.predict(new_set(n=1), **given)) == 1
        return
    with pytest.raises(ValueError, match=message) as caught:
        model.predict(new_set(n=1), **given)
    assert "more samples of it at once" in str(caught.value)
    assert "name a domain of fit" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("C", 0, ValueError),
        ("tol", 0.0, ValueError),
        ("marginal_gamma", -1.0, ValueError),
        ("marginal_gamma", "mean", ValueError),
        ("marginal_gamma", None, TypeError),
        ("embedding_gamma", 0.0, ValueError),
        ("embedding_gamma", "printed", ValueError),
    ],
)
def test_parameters_are_checked(name, value, error):
    with pytest.raises(error, match=rf"^{name} must .*{value!r}"):
        fit(MarginalKernelSVM(**{name: value}), problem(25))


def test_domains_of_another_length_are_refused():
    model = fit(MarginalKernelSVM(), problem(26))
    with pytest.raises(ValueError, match="X has 11, sample_domain has 3"):
        model.predict(new_set(), sample_domain=[1, 2, 3])


def test_a_second_fit_without_a_target_forgets_the_target():
    case = problem(27)
    model = fit(MarginalKernelSVM(), with_target(case, new_set(5, 20)))
    fit(model, case)
    assert model.marginal_ids_.tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="a set of samples"):
        model.predict(new_set(n=1))
