"""Multi-task autoencoder: its objective, its steps, who is paired with whom, where torch ends."""

import doctest
import pickle
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from skatter.domains import read_domains
from skatter.methods import _mtae as mtae
from skatter.methods._mtae import MTAE, Network, draw_pairs, first_weights, pairs_by_order


@pytest.fixture
def torch(require):
    return require("torch", extra="torch")


def views(n=30, n_domains=3, p=4, seed=0):
    """Objects seen in several domains, object by object: each domain mixes the features anew."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    Z = rng.normal(size=(n, p)) + 2 * y[:, None]
    X = np.stack([Z @ rng.normal(size=(p, p)) for _ in range(n_domains)], axis=1)
    site = np.tile([f"site {d}" for d in range(n_domains)], n)
    return X.reshape(n * n_domains, p), np.repeat(y, n_domains), site


def fit(model, case):
    X, y, site = case
    return model.fit(X, y, sample_domain=site)


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


def scaled(X):
    return (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))


def random_network(p, h, m, seed=0):
    rng = np.random.default_rng(seed)
    return Network(*(rng.normal(size=s) for s in [(h, p), (h,), (m, p, h), (m, p)]))


# --- the objective --------------------------------------------------------------------------------


def slow_objective(network, corrupted, views, seen, weight_decay):
    """The printed formula, sum by sum."""
    W, b, V, c = network
    n, m, p = views.shape
    total, n_inputs = 0.0, 0
    for i in range(n):
        for s in range(m):
            if not seen[i, s]:
                continue
            n_inputs += 1
            h = sigmoid(W @ corrupted[i, s] + b)
            for t in range(m):
                if seen[i, t]:
                    total += np.sum((sigmoid(V[t] @ h + c[t]) - views[i, t]) ** 2)
    decay = sum(np.sum(W**2) + np.sum(V[t] ** 2) for t in range(m))
    return total / (n_inputs * p) + weight_decay * decay


@pytest.mark.parametrize("absent", [0.0, 0.4])
@pytest.mark.parametrize("n_domains", [1, 3])
def test_the_objective_is_the_printed_sum_over_objects_and_pairs_of_domains(
    torch, n_domains, absent
):
    rng = np.random.default_rng(1)
    n, p, h = 7, 5, 4
    X = rng.uniform(size=(n, n_domains, p))
    corrupted = X * (rng.uniform(size=X.shape) > 0.3)
    seen = rng.uniform(size=(n, n_domains)) >= absent
    seen[:, 0] = True
    network = random_network(p, h, n_domains)
    tensors = [torch.from_numpy(a) for a in (corrupted, X, seen)]
    actual = mtae.objective(Network(*map(torch.from_numpy, network)), *tensors, 0.01)
    assert_allclose(actual, slow_objective(network, corrupted, X, seen, 0.01), rtol=1e-12)


def test_what_an_absent_view_holds_does_not_matter(torch):
    rng = np.random.default_rng(2)
    X, seen = rng.uniform(size=(6, 2, 3)), np.arange(12).reshape(6, 2) % 3 > 0
    other = np.where(seen[:, :, None], X, 17.0)
    network = Network(*map(torch.from_numpy, random_network(3, 4, 2)))
    values = [
        mtae.objective(network, *map(torch.from_numpy, (A, A, seen)), 0.1) for A in (X, other)
    ]
    assert_allclose(*values, rtol=1e-14)


def gradient(network, X, weight_decay):
    """By the chain rule, written out; no corruption, all views there."""
    W, b, V, c = network
    n, m, p = X.shape
    dW, db, dV, dc = (np.zeros_like(a) for a in network)
    for s in range(m):
        H = sigmoid(X[:, s] @ W.T + b)
        dH = np.zeros_like(H)
        for t in range(m):
            F = sigmoid(H @ V[t].T + c[t])
            dF = 2 * (F - X[:, t]) * F * (1 - F) / (n * m * p)
            dV[t] += dF.T @ H
            dc[t] += dF.sum(axis=0)
            dH += dF @ V[t]
        dA = dH * H * (1 - H)
        dW += dA.T @ X[:, s]
        db += dA.sum(axis=0)
    return dW + 2 * weight_decay * m * W, db, dV + 2 * weight_decay * V, dc


def adam(network, X, *, steps, learning_rate, weight_decay):
    """Kingma and Ba (2015), algorithm 1."""
    mean = [np.zeros_like(a) for a in network]
    square = [np.zeros_like(a) for a in network]
    for k in range(1, steps + 1):
        moved = []
        for j, (w, g) in enumerate(zip(network, gradient(network, X, weight_decay), strict=True)):
            mean[j] = 0.9 * mean[j] + 0.1 * g
            square[j] = 0.999 * square[j] + 0.001 * g**2
            step = mean[j] / (1 - 0.9**k) / (np.sqrt(square[j] / (1 - 0.999**k)) + 1e-8)
            moved.append(w - learning_rate * step)
        network = Network(*moved)
    return network


@pytest.mark.parametrize("n_domains", [1, 2, 3])
def test_training_is_adam_on_the_objective_and_one_domain_is_a_plain_autoencoder(torch, n_domains):
    """Gradients by hand: one encoder, as many decoders as domains, and for one domain x -> x."""
    X, y, site = views(n_domains=n_domains)
    order = np.argsort([first_place(X, site, name) for name in np.unique(site)])
    first = first_weights(4, 6, n_domains, np.random.RandomState(0))
    objects = scaled(X).reshape(-1, n_domains, 4)[:, order]
    expected = adam(first, objects, steps=20, learning_rate=0.01, weight_decay=1e-3)
    model = MTAE(
        6,
        pairs="order",
        corruption=0.0,
        weight_decay=1e-3,
        learning_rate=0.01,
        batch_size=1000,
        max_iter=20,
    )
    fit(model, (X, y, site))
    assert model.decoder_coef_.shape == (n_domains, 4, 6)
    assert_allclose(model.coef_, expected.W, atol=1e-4)
    assert_allclose(model.intercept_, expected.b, atol=1e-4)
    assert_allclose(model.decoder_coef_[order], expected.V, atol=1e-4)
    assert_allclose(model.decoder_intercept_[order], expected.c, atol=1e-4)
    seen = np.ones(objects.shape[:2], dtype=bool)
    start = slow_objective(first, objects, objects, seen, 1e-3)
    assert_allclose(model.objective_[0], start, rtol=1e-5)


def first_place(X, site, name):
    """Where a domain turns up when rows are sorted by their values."""
    return next(
        k for k, (_, s) in enumerate(sorted(zip(X.tolist(), site, strict=True))) if s == name
    )


@pytest.mark.parametrize("pairs", ["class", "order"])
def test_the_objective_falls(torch, pairs):
    values = fit(MTAE(pairs=pairs, max_iter=200, learning_rate=0.01), views()).objective_
    means = np.reshape(values, (5, 40)).mean(axis=1)
    assert (np.diff(means) < 0).all()
    assert means[-1] < 0.8 * means[0]


# --- what it is for -------------------------------------------------------------------------------


def mirrored(n=200, p=6, seed=0):
    """Each object in two domains: the features one way round, and the other."""
    rng = np.random.default_rng(seed)
    Z = rng.uniform(size=(n, 2)) @ rng.uniform(size=(2, p)) ** 3
    return np.vstack([Z, Z[:, ::-1]]), np.zeros(2 * n, int), np.repeat(["left", "right"], n)


def test_every_view_is_drawn_in_every_domain(torch):
    X, y, site = mirrored()
    model = MTAE(20, pairs="order", corruption=0.0, learning_rate=0.03, max_iter=60)
    H = fit(model, (X, y, site)).transform(X)
    left, right = (
        sigmoid(H @ V.T + c) * model.range_ + model.minimum_
        for V, c in zip(model.decoder_coef_, model.decoder_intercept_, strict=True)
    )
    n, spread = len(X) // 2, X[: len(X) // 2].std()
    for drawn, truth in ((left, X[:n]), (right, X[n:])):
        assert np.abs(drawn[:n] - truth).mean() < 0.3 * spread
        assert np.abs(drawn[n:] - truth).mean() < 0.3 * spread
        assert np.abs(truth - truth[:, ::-1]).mean() > 0.9 * spread  # no draw would do for both


def test_views_of_an_object_are_nearer_to_each_other_than_with_a_plain_autoencoder(torch):
    X, y, site = mirrored()
    options = {"corruption": 0.0, "learning_rate": 0.03, "max_iter": 60}
    gaps = []
    for where, pairs in ((site, "order"), (None, "class")):
        H = MTAE(20, pairs=pairs, **options).fit(X, y, sample_domain=where).transform(X)
        gaps.append(np.sum((H[:200] - H[200:]) ** 2) / np.sum((H - H.mean(axis=0)) ** 2))
    assert gaps[0] < 0.7 * gaps[1]


# --- features -------------------------------------------------------------------------------------


def test_features_are_the_hidden_units_of_scaled_samples(torch):
    X, y, site = views()
    model = fit(MTAE(6), (X, y, site))
    X_new = 3 * X[:5] - 1  # beyond the range of the sources
    minimum, span = X.min(axis=0), X.max(axis=0) - X.min(axis=0)
    expected = sigmoid((X_new - minimum) / span @ model.coef_.T + model.intercept_)
    assert_allclose(model.transform(X_new), expected, rtol=1e-12)
    assert model.transform(X).shape == (len(X), 6)


def test_the_units_of_the_features_do_not_matter(torch):
    X, y, site = views()
    scale, shift = np.array([1e-3, 1.0, 10.0, 1e4]), np.array([5.0, 0.0, -3.0, 1e4])
    model, other = fit(MTAE(6), (X, y, site)), fit(MTAE(6), (X * scale + shift, y, site))
    assert_allclose(other.transform(X * scale + shift), model.transform(X), atol=1e-4)


def test_a_feature_that_is_constant_in_the_sources_is_left_out(torch):
    X, y, site = views()
    X = np.insert(X, 2, 7.0, axis=1)
    model = fit(MTAE(6), (X, y, site))
    X_new = X.copy()
    X_new[:, 2] = np.arange(len(X))
    assert_array_equal(model.transform(X_new), model.transform(X))


@pytest.mark.parametrize(("n_features", "expected"), [(3, 6), (300, 500)])
def test_hidden_units_are_twice_the_features_and_500_at_most(torch, n_features, expected):
    X = np.random.default_rng(0).normal(size=(6, n_features))
    assert MTAE(max_iter=1).fit(X, [0, 1] * 3).n_components_ == expected


def test_there_may_be_more_hidden_units_than_samples(torch):
    assert fit(MTAE(200, max_iter=2), views(n=5)).transform(np.zeros((1, 4))).shape == (1, 200)


# --- pairs ----------------------------------------------------------------------------------------


def unequal(seed=0):
    """Classes 0 to 3 in domains 0 to 2, as often as the table says."""
    counts = np.array([[5, 3, 4], [2, 6, 2], [4, 0, 1], [0, 3, 0]])
    classes, sites = np.indices(counts.shape)
    label, domain = (np.repeat(codes.ravel(), counts.ravel()) for codes in (classes, sites))
    mixed = np.random.default_rng(seed).permutation(len(label))
    return counts, label[mixed], domain[mixed]


def test_an_object_has_samples_of_one_class_and_of_each_domain_that_has_it():
    counts, label, domain = unequal()
    for seed in range(20):
        pairs = draw_pairs(label, domain, np.random.RandomState(seed))
        drawn = pairs[pairs >= 0]
        assert len(np.unique(drawn)) == len(drawn)  # none twice
        found = np.zeros_like(counts)
        for row in pairs:
            rows = row[row >= 0]
            assert_array_equal(domain[rows], np.flatnonzero(row >= 0))
            assert len(np.unique(label[rows])) == 1
            found[label[rows[0]], domain[rows]] += 1
        # Equally many in all domains that have the class: as many as the poorest of them has.
        assert_array_equal(found, [[3, 3, 3], [2, 2, 2], [1, 0, 1], [0, 3, 0]])


def test_all_samples_and_all_pairs_of_a_class_have_their_turn():
    label, domain = np.zeros(5, int), np.array([0, 0, 1, 1, 1])
    rng = np.random.RandomState(0)
    drawn = {tuple(row) for _ in range(100) for row in draw_pairs(label, domain, rng)}
    assert drawn == {(i, j) for i in (0, 1) for j in (2, 3, 4)}


def test_all_samples_of_a_single_domain_are_objects():
    label = np.array([0, 1, 1, 0, 2])
    pairs = draw_pairs(label, np.zeros(5, int), np.random.RandomState(0))
    assert_array_equal(np.sort(pairs, axis=0), np.arange(5)[:, None])


def test_classes_in_a_single_domain_each_leave_nothing_to_pair(torch):
    X, y, site = views(n_domains=2)
    y = np.where(site == "site 0", "cat", "dog")
    model = fit(MTAE(6), (X, y, site))
    assert np.isfinite(model.objective_).all()
    assert model.objective_[-1] < model.objective_[0]


def test_pairs_by_order_follow_the_rows_of_each_domain():
    site = ["b", "a", "a", "b", "b", "a"]
    pairs = pairs_by_order(read_domains([0, 0, 1, 1, 1, 1], site))
    assert_array_equal(pairs, [[1, 0], [2, 3], [5, 4]])


@pytest.mark.parametrize("pairs", ["class", "order"])
def test_shuffling_objects_and_interleaving_domains_changes_nothing(torch, pairs):
    X, y, site = views()
    rng = np.random.default_rng(3)
    objects = np.arange(len(X)).reshape(-1, 3)[rng.permutation(30)]
    by_domain = objects.T.ravel()
    model = fit(MTAE(6, pairs=pairs), (X, y, site))
    other = fit(MTAE(6, pairs=pairs), (X[by_domain], y[by_domain], site[by_domain]))
    assert_array_equal(other.transform(X), model.transform(X))


def test_who_is_paired_with_whom_matters(torch):
    X, y, site = views()
    expected = fit(MTAE(6, pairs="order"), (X, y, site)).transform(X)
    swapped = np.arange(len(X))
    swapped[[0, 6]] = [6, 0]  # two samples of one class and domain
    assert y[0] == y[6]
    assert site[0] == site[6]
    moved = fit(MTAE(6, pairs="order"), (X[swapped], y, site)).transform(X)
    assert np.abs(moved - expected).max() > 1e-6
    assert np.abs(fit(MTAE(6), (X, y, site)).transform(X) - expected).max() > 1e-3


def test_decoders_are_in_the_order_of_the_domains_whatever_their_names(torch):
    X, y, site = views()
    names = {"site 0": "zurich", "site 1": "site 1", "site 2": "amsterdam"}
    renamed = np.array([names[name] for name in site])
    model, other = (fit(MTAE(6), (X, y, where)) for where in (site, renamed))
    assert other.source_ids_.tolist() == ["amsterdam", "site 1", "zurich"]
    assert_array_equal(other.decoder_coef_[::-1], model.decoder_coef_)
    assert_array_equal(other.decoder_intercept_[::-1], model.decoder_intercept_)
    assert np.abs(model.decoder_coef_[0] - model.decoder_coef_[2]).max() > 0.01


def test_pairs_by_order_need_equally_many_samples(torch):
    X, y, site = views()
    with pytest.raises(
        ValueError, match=r"equally many .* site 0 has 30, .* site 2 has 29\. Leave"
    ):
        fit(MTAE(pairs="order"), (X[:-1], y[:-1], site[:-1]))


def test_pairs_by_order_need_equal_classes(torch):
    X, y, site = views()
    y = np.array(["cat", "dog"])[y]
    y[7] = "dog"  # object 2, domain 1
    with pytest.raises(ValueError, match=r"sample 2 of site 0 is cat and that of site 1 is dog"):
        fit(MTAE(pairs="order"), (X, y, site))


# --- parameters -----------------------------------------------------------------------------------


def test_weight_decay_shrinks_the_weights(torch):
    sizes = [
        np.linalg.norm(fit(MTAE(6, weight_decay=decay), views()).coef_) for decay in (0, 1e-2, 1)
    ]
    assert sizes[0] > sizes[1] > sizes[2]


def test_corruption_makes_the_task_harder(torch):
    last = [fit(MTAE(corruption=share), views()).objective_[-1] for share in (0.0, 0.3, 0.9)]
    assert last[0] < last[1] < last[2]


def test_a_seed_draws_its_own_weights(torch):
    case = views()
    none, zero, one = (fit(MTAE(6, random_state=r), case).coef_ for r in (None, 0, 1))
    assert_array_equal(none, zero)
    assert np.abs(one - zero).max() > 0.1


def test_training_stops_once_the_objective_stands_still(torch):
    model = fit(MTAE(6, max_iter=2000, tol=0.05), views())
    values, n = np.array(model.objective_), model.n_iter_
    assert 10 <= n < 2000
    falls = [values[k - 10 : k - 5].mean() / values[k - 5 : k].mean() - 1 for k in range(10, n + 1)]
    assert falls[-1] < 0.05
    assert all(fall >= 0.05 for fall in falls[:-1])


def test_training_says_that_the_objective_still_falls(torch):
    with pytest.warns(ConvergenceWarning, match="max_iter=12"):
        fit(MTAE(6, max_iter=12, tol=1e-6), views())


def test_small_batches_make_more_steps(torch):
    case = views()
    few, many = (fit(MTAE(6, batch_size=size, max_iter=10), case) for size in (1000, 2))
    first = first_weights(4, 6, 3, np.random.RandomState(0)).W
    assert np.linalg.norm(many.coef_ - first) > 2 * np.linalg.norm(few.coef_ - first)


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("pairs", "random", ValueError),
        ("pairs", None, ValueError),
        ("corruption", 1.0, ValueError),
        ("corruption", -0.1, ValueError),
        ("weight_decay", -1.0, ValueError),
        ("learning_rate", 0.0, ValueError),
        ("learning_rate", "fast", TypeError),
        ("batch_size", 0, ValueError),
        ("batch_size", 1.5, TypeError),
    ],
)
def test_parameters_are_checked(name, value, error):
    with pytest.raises(error, match=f"{name} must .*{value!r}"):
        fit(MTAE(**{name: value}), views())


# --- torch comes late and leaves no trace ---------------------------------------------------------


def test_without_torch_there_is_a_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r'PyTorch.*pip install "skatter\[torch\]"'):
        fit(MTAE(), views())
    with pytest.raises(ValueError, match="corruption"):  # what can be said without it comes first
        fit(MTAE(corruption=2.0), views())


def test_importing_the_methods_does_not_import_torch(modules_of_rooms):
    assert "skatter.methods" in modules_of_rooms
    assert "torch" not in modules_of_rooms


def test_what_was_learnt_needs_no_torch(torch, monkeypatch):
    X, y, site = views()
    model = fit(MTAE(6), (X, y, site))
    saved, expected = pickle.dumps(model), model.transform(X)
    assert b"torch" not in saved
    monkeypatch.setitem(sys.modules, "torch", None)
    assert_array_equal(pickle.loads(saved).transform(X), expected)


def test_settings_and_random_numbers_of_torch_are_left_alone(torch):
    state, threads = torch.random.get_rng_state(), torch.get_num_threads()
    fit(MTAE(6), views())
    assert torch.equal(torch.random.get_rng_state(), state)
    assert torch.get_num_threads() == threads
    assert torch.is_grad_enabled()


def test_settings_and_random_numbers_of_torch_make_no_difference(torch):
    expected = fit(MTAE(6), views()).coef_
    state = torch.random.get_rng_state()
    torch.manual_seed(5)
    torch.set_default_dtype(torch.float64)
    try:
        with torch.no_grad():
            actual = fit(MTAE(6), views()).coef_
    finally:
        torch.set_default_dtype(torch.float32)
        torch.random.set_rng_state(state)
    assert_array_equal(actual, expected)


def test_the_example_of_the_class_is_right(torch):
    text = MTAE.__doc__.replace("# doctest: +SKIP", "")
    example = doctest.DocTestParser().get_doctest(text, {}, "MTAE", None, None)
    assert len(example.examples) > 5
    assert doctest.DocTestRunner(verbose=False).run(example).failed == 0
