"""Self-training: voters, rounds, the panel, and the classifier made of them."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading

from skatter import SCA, LandmarkMap, SCAClassifier, make_domain_pipeline
from skatter._checks import dominant_column
from skatter.domains import read_domains
from skatter.selection import scatter_criterion
from skatter.self_training._nearest import nearest_points
from skatter.self_training._panel import agreement, consensus, train_together, weigh
from skatter.self_training._rounds import Beliefs, Trainer, unit_length
from skatter.self_training._voters import (
    VOTERS,
    Electorate,
    balanced_spreading,
    clusters,
    indicators,
    means,
    nearest,
    spreading,
    vote,
)


def blobs(seed=0, n=120, n_classes=3, shift=1.5, spread=1.0):
    """Classes on a circle in the first plane; the target is moved along the third axis and more."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    angle = 2 * np.pi * y / n_classes
    X = rng.normal(scale=spread, size=(n, 5))
    X[:, :2] += 5 * np.column_stack([np.cos(angle), np.sin(angle)])
    site = np.where(np.arange(n) < n // 2, "here", "there")
    X[site == "there", :3] += shift
    return X, y, np.where(site == "here", y, -1), site


@pytest.fixture
def electorate():
    X, _, known, _ = blobs()
    return Electorate(unit_length(X), known, known, 3)


@pytest.fixture(scope="module")
def fitted():
    X, y, known, site = blobs()
    return SCAClassifier().fit(X, known, sample_domain=site), X, y, known, site


# --- voters -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", VOTERS)
def test_every_voter_shares_out_one_vote_for_each_unlabelled_sample(electorate, name):
    shares = VOTERS[name](electorate)
    assert shares.shape == (60, 3)
    assert_allclose(shares.sum(axis=1), 1)
    assert shares.min() >= 0


@pytest.mark.parametrize("name", VOTERS)
def test_every_voter_is_right_where_classes_are_far_apart(name):
    X, y, known, _ = blobs(shift=0.0, spread=0.2)
    shares = VOTERS[name](Electorate(unit_length(X), known, known, 3))
    assert_array_equal(shares.argmax(axis=1), y[known < 0])


@pytest.mark.parametrize("name", VOTERS)
def test_a_class_without_a_label_gets_no_vote(name):
    X, _, known, _ = blobs()
    shares = VOTERS[name](Electorate(unit_length(X), known, known, 4))
    assert_array_equal(shares[:, 3], 0)


@pytest.mark.parametrize("name", VOTERS)
def test_the_order_of_the_samples_does_not_matter_to_a_voter(electorate, name):
    order = np.random.default_rng(1).permutation(len(electorate.Z))
    moved = Electorate(electorate.Z[order], electorate.label[order], electorate.believed[order], 3)
    place = np.argsort(np.flatnonzero(electorate.unlabelled))
    expected = np.zeros((len(order), 3))
    expected[np.flatnonzero(electorate.unlabelled)[place]] = VOTERS[name](electorate)
    actual = np.zeros((len(order), 3))
    actual[order[moved.unlabelled]] = VOTERS[name](moved)
    assert_allclose(actual, expected, atol=1e-9)


def test_the_nearest_voter_is_the_nearest_neighbour(electorate):
    known = ~electorate.unlabelled
    model = KNeighborsClassifier(1).fit(electorate.Z[known], electorate.label[known])
    expected = model.predict(electorate.Z[~known])
    assert_array_equal(nearest(electorate).argmax(axis=1), expected)


def test_the_voter_by_means_names_the_nearest_mean_of_what_is_believed(electorate):
    believed = np.where(np.arange(120) % 7 == 0, 2, electorate.believed)
    voters = Electorate(electorate.Z, electorate.label, believed, 3)
    centres = np.stack([voters.Z[believed == c].mean(axis=0) for c in range(3)])
    distance = euclidean_distances(voters.Z[voters.unlabelled], centres)
    assert_array_equal(means(voters).argmax(axis=1), distance.argmin(axis=1))


def test_clusters_follow_a_target_that_moved_as_a_whole():
    X, y, known, _ = blobs(shift=0.0, spread=0.3)
    turn = np.array([[np.cos(0.9), -np.sin(0.9)], [np.sin(0.9), np.cos(0.9)]])
    X[known < 0, :2] = X[known < 0, :2] @ turn
    voters = Electorate(unit_length(X), known, known, 3)
    assert_array_equal(clusters(voters).argmax(axis=1), y[known < 0])


def slow_graph(Z, k=10):
    d = euclidean_distances(Z)
    np.fill_diagonal(d, np.inf)
    W, farthest = np.zeros_like(d), []
    for i, row in enumerate(d):
        near = np.argsort(row)[:k]
        W[i, near] = row[near] ** 2
        farthest.append(row[near].max() ** 2)
    W = np.where(W > 0, np.exp(-W / np.mean(farthest)), 0)
    W = np.maximum(W, W.T)
    root = 1 / np.sqrt(W.sum(axis=1))
    return W * np.outer(root, root)


def test_spreading_solves_the_equation_of_label_spreading(electorate):
    S = slow_graph(electorate.Z)
    assert_allclose(electorate.graph.toarray(), S, atol=1e-12)
    limit = np.linalg.solve(np.eye(120) - 0.9 * S, electorate.given)[electorate.unlabelled]
    limit /= limit.sum(axis=1, keepdims=True)
    # Forty steps leave 0.9^40 of what was there in the beginning.
    assert_allclose(spreading(electorate), limit, atol=0.02)
    kernel = LabelSpreading(lambda A, B: slow_graph(electorate.Z), alpha=0.9, max_iter=1000)
    theirs = kernel.fit(electorate.Z, electorate.label).label_distributions_
    assert_array_equal(limit.argmax(axis=1), theirs[electorate.unlabelled].argmax(axis=1))


def test_balanced_spreading_gives_every_class_the_same_mass():
    X, _, known, _ = blobs(spread=2.5)
    keep = ~((known == 0) & (np.arange(120) > 12))
    voters = Electorate(unit_length(X)[keep], known[keep], known[keep], 3)
    plain, balanced = spreading(voters), balanced_spreading(voters)
    count = [np.bincount(s.argmax(axis=1), minlength=3)[0] for s in (plain, balanced)]
    assert count[1] > count[0]


def test_a_vote_goes_to_the_class_that_most_voters_name(electorate):
    names = np.stack([voter(electorate).argmax(axis=1) for voter in VOTERS.values()])
    counts = np.stack([(names == c).sum(axis=0) for c in range(3)], axis=1)
    winner = vote(electorate).argmax(axis=1)
    assert_array_equal(counts[np.arange(60), winner], counts.max(axis=1))


# --- rounds -------------------------------------------------------------------------------------


def trainer(X, known, site, **options):
    domains = read_domains(known, site)
    template = SCA(kernel="linear", delta=0, conditional_delta=1, solver="primal", **options)
    return Trainer(template, X, domains, samples=X, confidence=0.5)


def test_what_too_few_voters_name_is_not_believed():
    _, _, known, site = blobs()
    domains = read_domains(known, site)
    shares = np.full((60, 3), [0.4, 0.35, 0.25])
    shares[:5] = [0.1, 0.8, 0.1]
    beliefs = Beliefs(domains, shares, confidence=0.5)
    assert_array_equal(beliefs.predicted[60:], np.r_[np.ones(5), np.zeros(55)])
    assert_array_equal(beliefs.believed[60:], np.r_[np.ones(5), -np.ones(55)])
    assert_array_equal(beliefs.believed[:60], known[:60])
    assert_array_equal(beliefs.soft[:60], indicators(known[:60], 3))


def test_the_first_round_learns_from_given_labels_alone_and_the_second_from_what_was_believed():
    X, _, known, site = blobs(spread=2.0)
    model = trainer(X, known, site)
    first, history = model.rounds(1)
    one_shot = SCA(kernel="linear", delta=0, conditional_delta=1).fit(X, known, sample_domain=site)
    Z = unit_length(one_shot.transform(X))
    assert_allclose(first.shares, vote(Electorate(Z, known, known, 3)), atol=1e-6)
    assert [round_.number for round_ in history] == [1]
    again = SCA(kernel="linear", delta=0, conditional_delta=1)
    again.fit(X, first.believed, sample_domain=site)
    Z = unit_length(again.transform(X))
    second = vote(Electorate(Z, known, first.believed, 3)).argmax(axis=1)
    changed = np.mean(second != first.predicted[60:])
    assert_allclose(model.rounds(2)[1][1].changed, changed)


def test_rounds_stop_where_predictions_settle():
    X, _, known, site = blobs(spread=0.3)
    _, history = trainer(X, known, site).rounds(10)
    assert len(history) < 10
    assert history[-1].changed <= 0.002


def test_the_round_that_the_criterion_trusts_most_is_kept():
    X, _, known, site = blobs(seed=3, spread=4.0)
    model = trainer(X, known, site)
    kept, history = model.rounds(6)
    trust = scatter_criterion(X, known, kept.predicted, sample_domain=site)
    assert len(history) > 2
    assert trust == max(round_.trust for round_ in history)


# --- the panel ----------------------------------------------------------------------------------


def test_agreement_is_the_mean_share_of_others_that_say_the_same():
    rng = np.random.default_rng(0)
    said = [rng.integers(0, 3, 40) for _ in range(4)]
    for i, found in enumerate(agreement(said)):
        others = [np.mean(said[i] == said[j]) for j in range(4) if j != i]
        assert_allclose(found, np.mean(others))


def test_candidates_that_are_right_outweigh_those_that_are_wrong_in_different_ways():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 5, 300)
    said = [np.where(rng.random(300) < p, truth, rng.integers(0, 5, 300)) for p in (0.8, 0.7, 0.1)]
    _, weights = weigh(said, [False] * 3)
    assert weights[:2].min() > 3 * weights[2]
    assert_allclose(weights.sum(), 1)


def test_a_collapsed_candidate_has_no_weight_unless_all_collapsed():
    constant, other = np.zeros(9, int), np.arange(9) % 3
    assert weigh([constant, constant, other], [True, True, False])[1].tolist() == [0, 0, 1]
    assert_allclose(weigh([constant, constant], [True, True])[1], 0.5)


def test_after_a_round_together_the_candidates_mean_vote_has_half_of_the_say():
    X, _, known, site = blobs(spread=2.0)
    views = [X, X * [1, 1, 3, 1, 1]]
    trainers = [trainer(view, known, site) for view in views]
    beliefs, *_ = consensus([each.rounds(1)[0] for each in trainers])
    votes = []
    for view in views:
        model = SCA(kernel="linear", delta=0, conditional_delta=1)
        Z = unit_length(model.fit_transform(view, beliefs.believed, sample_domain=site))
        votes.append(vote(Electorate(Z, known, beliefs.believed, 3)))
    found, history = train_together(trainers, beliefs, 1)
    together = np.mean(votes, axis=0)
    assert_allclose(found.shares, (beliefs.shares + together) / 2, atol=1e-6)
    changed = np.mean(together.argmax(axis=1) != beliefs.predicted[60:])
    assert_allclose(history[0].changed, changed)


def test_rounds_together_stop_where_predictions_settle():
    X, _, known, site = blobs(spread=0.3)
    one = trainer(X, known, site)
    _, history = train_together([one], one.rounds(1)[0], 10)
    assert len(history) < 10
    assert history[-1].changed <= 0.002


# --- the classifier -----------------------------------------------------------------------------


def test_training_on_the_target_beats_the_nearest_neighbour_where_classes_moved():
    X, y, known, site = blobs(n=240, shift=3.0, spread=1.5)
    plain = KNeighborsClassifier(1).fit(X[known >= 0], y[known >= 0]).predict(X[known < 0])
    model = SCAClassifier().fit(X, known, sample_domain=site)
    ours = model.predict(X[known < 0])
    assert np.mean(ours == y[known < 0]) > np.mean(plain == y[known < 0]) + 0.1


def test_samples_of_fit_are_predicted_as_they_were_labelled_in_fit(fitted):
    model, X, _, known, site = fitted
    assert_array_equal(model.predict(X, sample_domain=site), model.transduction_)
    assert_array_equal(model.transduction_[known >= 0], known[known >= 0])
    shares = model.predict_proba(X, sample_domain=site)
    assert_allclose(shares, model.label_distributions_, atol=1e-6)


def test_samples_without_a_domain_are_the_targets(fitted):
    model, X, _, known, site = fitted
    rows = known < 0
    expected = model.predict_proba(X[rows], sample_domain=site[rows])
    assert_allclose(model.predict_proba(X[rows]), expected)


def test_the_word_of_the_panel_is_the_weighted_mean_of_its_members(fitted):
    model, *_ = fitted
    weights = [candidate.weight for candidate in model.candidates_]
    assert_allclose(sum(weights), 1)
    settings = {(candidate.scaling, candidate.ridge) for candidate in model.candidates_}
    assert settings == {(s, r) for s in ("domain", "ranks") for r in (1e-3, 3e-3, 1e-2)}
    assert all(candidate.rounds for candidate in model.candidates_)


def test_without_rounds_together_the_weighted_votes_of_the_candidates_decide():
    X, _, known, site = blobs(spread=3.0)
    model = SCAClassifier(n_rounds_together=0).fit(X, known, sample_domain=site)
    assert model.rounds_together_ == ()
    expected = np.zeros((120, 3))
    for each in model.candidates_:
        alone = SCAClassifier(ridges=[each.ridge], scalings=[each.scaling], n_rounds_together=0)
        alone.fit(X, known, sample_domain=site)
        expected += each.weight * alone.label_distributions_
    assert_allclose(model.label_distributions_, expected, atol=1e-9)


def test_a_domain_measured_in_other_units_is_no_obstacle():
    X, y, known, site = blobs(n=240, spread=0.8)
    X = np.where(site[:, None] == "there", 40 * X + 1000, X)
    model = SCAClassifier(scalings=["domain"]).fit(X, known, sample_domain=site)
    assert np.mean(model.predict(X[known < 0]) == y[known < 0]) > 0.95


def test_true_labels_of_the_target_are_never_looked_at():
    X, y, _, site = blobs(spread=2.0)
    labelled = site == "here"
    one = SCAClassifier().fit(X, y, sample_domain=site, labelled=labelled)
    wrong = np.where(labelled, y, (y + 1) % 3)
    other = SCAClassifier().fit(X, wrong, sample_domain=site, labelled=labelled)
    assert_array_equal(one.label_distributions_, other.label_distributions_)


def test_given_labels_of_some_target_samples_are_kept():
    X, y, known, site = blobs(spread=2.0)
    some = np.where(np.arange(120) % 10 == 9, y, known)
    number = np.where(site == "here", 1, -2)
    model = SCAClassifier().fit(X, some, sample_domain=number)
    assert_array_equal(model.transduction_[some >= 0], some[some >= 0])


def test_without_unlabelled_samples_it_is_one_fit_and_no_rounds():
    X, y, _, site = blobs()
    model = SCAClassifier().fit(X, y, sample_domain=site)
    assert len(model.candidates_) == 1
    assert model.candidates_[0].rounds == ()
    assert np.mean(model.predict(X + 0.01) == y) > 0.95


def test_unlabelled_samples_inside_a_labelled_domain_are_learnt_from():
    X, y, _, _ = blobs(shift=0.0)
    known = np.where(np.arange(120) % 4 == 0, y, -1)
    model = SCAClassifier().fit(X, known, sample_domain=np.zeros(120, int))
    assert np.mean(model.transduction_ == y) > 0.95


def test_an_explicit_map_takes_the_place_of_the_basis():
    X, y, known, site = blobs()
    sca = SCA(feature_map=LandmarkMap(40), delta=0, conditional_delta=1)
    model = SCAClassifier(sca).fit(X, known, sample_domain=site)
    assert np.mean(model.predict(X[known < 0]) == y[known < 0]) > 0.9


def test_sparse_samples_are_taken_as_they_are():
    X, _, known, site = blobs()
    X = np.where(np.abs(X) > 0.5, X, 0)
    thin = SCAClassifier().fit(sparse.csr_matrix(X), known, sample_domain=site)
    dense = SCAClassifier(scalings=["none"]).fit(X, known, sample_domain=site)
    assert_allclose(thin.label_distributions_, dense.label_distributions_, atol=1e-6)


def test_a_pickled_model_predicts_the_same_bits(fitted):
    model, X, *_ = fitted
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_it_ends_a_pipeline():
    X, y, known, site = blobs()
    model = make_domain_pipeline(SCAClassifier()).fit(X, known, sample_domain=site)
    assert np.mean(model.predict(X[known < 0]) == y[known < 0]) > 0.9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ridges": []}, "ridges must name one candidate or more"),
        ({"ridges": [0.0]}, "ridges"),
        ({"scalings": "domain"}, "scalings must name one candidate or more"),
        ({"scalings": ["rows"]}, "scalings"),
        ({"voters": ["oracle"]}, "voters"),
        ({"n_rounds": 0}, "n_rounds"),
        ({"n_rounds_together": -1}, "n_rounds_together"),
        ({"confidence": 0}, "confidence"),
        ({"n_basis": 0}, "n_basis"),
        ({"estimator": SCA(kernel="precomputed")}, "precomputed"),
        ({"estimator": SCA(beta=2)}, "beta"),
    ],
)
def test_bad_parameters_are_named(options, message):
    X, _, known, site = blobs()
    with pytest.raises(ValueError, match=message):
        SCAClassifier(**options).fit(X, known, sample_domain=site)


def test_another_estimator_is_refused():
    X, _, known, site = blobs()
    with pytest.raises(TypeError, match="estimator must be an SCA"):
        SCAClassifier(KNeighborsClassifier()).fit(X, known, sample_domain=site)


# --- units --------------------------------------------------------------------------------------


def small(**options):
    return SCAClassifier(ridges=(1e-3,), n_rounds=1, **options)


def in_cents(column=2):
    """Samples whose column is written in another unit than the rest."""
    X, _, known, site = blobs(n=60)
    return X * np.where(np.arange(5) == column, 100, 1), known, site


def test_a_column_in_another_unit_is_named_with_its_share_and_a_remedy():
    X, known, site = in_cents()
    share = X[:, 2].var() / X.var(axis=0).sum()
    with pytest.warns(UserWarning, match=r"Column 2 \(counted from 0\)") as caught:
        small(scalings=["none"]).fit(X, known, sample_domain=site)
    message = str(caught[0].message)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert f"{share:.0%} of the variance" in message
    assert "make_domain_pipeline(StandardScaler(), SCAClassifier())" in message
    assert "HedgedClassifier" in message


def test_a_column_with_a_name_is_named_by_it():
    X, known, site = in_cents(column=4)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d", "price"])
    with pytest.warns(UserWarning, match="Column 'price' holds"):
        small(scalings=["none"]).fit(frame, known, sample_domain=site)


def silent(model, X, known, site):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, known, sample_domain=site)


@pytest.mark.parametrize(
    "model",
    [
        make_domain_pipeline(StandardScaler(), small()),
        small(scalings=("domain",)),
        small(estimator=SCA(feature_map=StandardScaler())),
    ],
    ids=["standardised", "scaled in each domain", "own feature map"],
)
def test_nothing_is_said_of_units_where_they_do_not_matter(model):
    silent(model, *in_cents())


def test_nothing_is_said_of_units_in_kernels_sparse_samples_and_two_columns():
    X, known, site = in_cents()
    with pytest.raises(ValueError, match="precomputed"):
        silent(small(estimator=SCA(kernel="precomputed")), X @ X.T, known, site)
    silent(small(), sparse.csr_matrix(X), known, site)
    silent(small(), X[:, [0, 2]], known, site)


def test_half_of_the_variance_is_not_most_of_it():
    X = np.outer([-1.0, 1.0, 1.0, -1.0], [1, 1, 2, 1, 1])
    assert dominant_column(X) is None
    found = dominant_column(X * [1, 1, 2, 1, 1])
    assert found.position == 2
    assert found.share == pytest.approx(16 / 20)
    assert dominant_column(np.ones((4, 3))) is None


def test_without_a_label_the_classifier_itself_says_what_it_lacks(two_domains):
    with pytest.raises(ValueError, match=r"^SCAClassifier requires y .* no labelled sample"):
        SCAClassifier().fit(two_domains.X, np.full(len(two_domains.X), -1))


@pytest.mark.parametrize("distance", [0.0, 50.0, 1e6], ids=["near zero", "far", "very far"])
def test_neighbours_are_those_of_all_pairs_wherever_the_points_lie(distance):
    rng = np.random.default_rng(0)
    A, B = distance + rng.normal(size=(600, 5)), distance + rng.normal(size=(400, 5))
    exact = np.square(A[:, None] - B).sum(axis=2)
    _, index = nearest_points(A, B, 4)
    assert_array_equal(np.sort(index), np.sort(exact.argsort(axis=1)[:, :4]))
    exact = np.square(B[:, None] - B).sum(axis=2) + np.diag(np.full(len(B), np.inf))
    _, index = nearest_points(B, B, 3, apart=True)
    assert_array_equal(np.sort(index), np.sort(exact.argsort(axis=1)[:, :3]))
    A[:40], B[:9] = A[0], B[0]  # some coincide
    squared, index = nearest_points(A, B, 4)
    exact = np.square(A[:, None] - B).sum(axis=2)
    assert_allclose(squared, np.sort(exact)[:, :4], rtol=1e-12)
    assert_allclose(squared, np.take_along_axis(exact, index, 1), rtol=1e-12)
    exact = np.square(B[:, None] - B).sum(axis=2) + np.diag(np.full(len(B), np.inf))
    squared, index = nearest_points(B, B, 3, apart=True)
    assert_allclose(squared, np.sort(exact)[:, :3], rtol=1e-12)
    assert not (index == np.arange(len(B))[:, None]).any()


def test_of_a_few_points_or_of_many_that_coincide_all_may_be_neighbours():
    few, alike = np.arange(4.0)[:, None], np.ones((500, 3))
    assert_array_equal(
        np.sort(nearest_points(few, few, 9, apart=True)[1]),
        [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]],
    )
    squared, index = nearest_points(alike, alike, 10, apart=True)
    assert not squared.any()
    assert not (index == np.arange(500)[:, None]).any()


# --- tensors --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def torch(require):
    return require("torch", "torch")


def wide(n=400, p=12):
    """Samples of many classes, domains and units, some of them unlabelled."""
    rng = np.random.default_rng(1)
    y, site = rng.integers(0, 4, n), np.repeat(["here", "there"], n // 2)
    X = rng.normal(size=(n, p)) * np.linspace(1.5, 0.5, p) + 2 * np.eye(4, p)[y]
    X[n // 2 :] = 1.5 * X[n // 2 :] + 1
    return X, y, np.where(site == "here", y, -1), site


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"scalings": ["none"], "class_frequencies": "source"},
        {"estimator": SCA(feature_map=LandmarkMap(60), delta=0, conditional_delta=1)},
    ],
    ids=["default", "frequencies", "landmarks"],
)
def test_a_classifier_learns_from_tensors_what_it_learns_from_arrays(torch, options):
    X, _, known, site = wide()
    arrays = SCAClassifier(**options).fit(X, known, sample_domain=site)
    model = SCAClassifier(**options).fit(torch.from_numpy(X), known, sample_domain=site)
    assert_allclose(model.label_distributions_, arrays.label_distributions_, atol=1e-6)
    assert_array_equal(model.transduction_, arrays.transduction_)
    for ours, theirs in zip(model.candidates_, arrays.candidates_, strict=True):
        assert_allclose(ours.weight, theirs.weight, atol=1e-9)
        assert_allclose(
            [each.trust for each in ours.rounds], [each.trust for each in theirs.rounds]
        )
    new = X[::7] + 0.01
    expected = arrays.predict_proba(new, sample_domain=site[::7])
    found = model.predict_proba(torch.from_numpy(new), sample_domain=site[::7])
    assert type(found) is np.ndarray
    assert_allclose(found, expected, atol=1e-6)
    moved = model.to("numpy")
    assert_allclose(moved.predict_proba(new, sample_domain=site[::7]), expected, atol=1e-6)
    with pytest.raises(TypeError, match="NumPy array"):
        model.predict(new)


def test_single_precision_is_enough_for_the_classifier(torch):
    X, _, known, site = wide()
    expected = SCAClassifier().fit(X, known, sample_domain=site)
    found = SCAClassifier().fit(torch.from_numpy(X).float(), known, sample_domain=site)
    assert np.mean(found.transduction_ == expected.transduction_) > 0.99


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_voter_says_of_tensors_what_it_says_of_arrays(torch, dtype):
    X, _, known, _ = wide()
    Z = unit_length(X)
    before = np.where(np.arange(len(X)) % 3 == 0, -1, np.maximum(known, 0))
    arrays = Electorate(Z, known, before, 4)
    model = Electorate(torch.from_numpy(Z.astype(dtype)), known, before, 4)
    for name, voter in VOTERS.items():
        found = voter(model)
        assert type(found) is np.ndarray, name
        assert_allclose(found, voter(arrays), atol=1e-9 if dtype == "float64" else 1e-3)


def test_neighbours_among_tensors_are_those_of_a_search_over_all_pairs(torch, monkeypatch):
    monkeypatch.setattr("skatter._tensors.places.STRIP_BYTES", 4000)
    rng = np.random.default_rng(0)
    A, B = 50 + rng.normal(size=(70, 5)), 50 + rng.normal(size=(40, 5))
    exact = np.square(A[:, None] - B).sum(axis=2)
    squared, index = nearest_points(torch.from_numpy(A), torch.from_numpy(B), 4)
    assert_array_equal(index, exact.argsort(axis=1)[:, :4])
    assert_allclose(squared, np.sort(exact)[:, :4])
    exact = np.square(B[:, None] - B).sum(axis=2) + np.diag(np.full(len(B), np.inf))
    _, index = nearest_points(torch.from_numpy(B), torch.from_numpy(B), 3, apart=True)
    assert_array_equal(index, exact.argsort(axis=1)[:, :3])


def test_points_that_coincide_are_a_graph_of_tensors_too(torch):
    Z, known = np.ones((30, 3)), np.where(np.arange(30) < 10, np.arange(30) % 2, -1)
    found = VOTERS["spreading"](Electorate(torch.from_numpy(Z), known, known, 2))
    assert np.isfinite(found).all()
    assert_allclose(found.sum(axis=1), 1)
