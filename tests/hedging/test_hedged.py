"""The hedge: members, weights and probabilities by hand, and what must not change them."""

from __future__ import annotations

import numpy as np
import pytest
from places import two_places
from scipy import sparse
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.preprocessing import StandardScaler

from skatter import ChampionClassifier, HedgedClassifier
from skatter.hedging._expectation import Signs, expected_accuracy
from skatter.hedging._transfer import Transfer
from skatter.hedging._weights import (
    CONSISTENT,
    CONTRADICTORY,
    EVENING,
    SHARPNESS,
    SMALL,
    TRUST_IN_FREQUENCIES,
    doubt,
    hold_vote,
    residual_scatter,
    shift_weight,
)
from skatter.saving import load_model, save_model

pytestmark = pytest.mark.usefixtures("few_trees")


@pytest.fixture(scope="module")
def problem():
    return two_places(n_classes=3)


@pytest.fixture(scope="module")
def fitted(problem):
    X, known, site, _ = problem
    return HedgedClassifier().fit(X, known, sample_domain=site)


@pytest.fixture(scope="module")
def there(problem):
    X, _, site, y = problem
    return X[site == "there"], site[site == "there"], y[site == "there"]


def fit(problem, model=None, **changes):
    X, known, site, _ = problem
    given = {"X": X, "y": known, "sample_domain": site, **changes}
    return (model or HedgedClassifier()).fit(given.pop("X"), **given)


# --- members and their weights --------------------------------------------------------------------


def test_plain_members_are_there_pooled_and_scaled_in_each_domain(fitted):
    names = [(each.name, each.scaling, each.adapts) for each in fitted.members_]
    plain = ["logistic", "svm", "forest"]
    assert names == [
        *((name, "pooled", False) for name in (*plain, "boosting")),
        *((name, "domain", False) for name in plain),
        ("SCA", "pooled", True),
        ("SCA", "domain", True),
        ("SCAClassifier", "pooled", True),
    ]


def test_a_member_scaled_in_each_domain_sees_standardised_domains(fitted, problem, there):
    X, known, site, _ = problem
    X = StandardScaler().fit_transform(X)
    here = StandardScaler().fit_transform(X[site == "here"])
    model = LogisticRegression(max_iter=500).fit(here, known[site == "here"])
    expected = model.predict_proba(StandardScaler().fit_transform(X[site == "there"]))
    found = fitted.member_probabilities(there[0], sample_domain=there[1])
    place = [(each.name, each.scaling) for each in fitted.members_].index(("logistic", "domain"))
    np.testing.assert_allclose(found[place], expected, rtol=1e-6)


def weigh_by_hand(model, shares):
    """Weigh members by agreement with the others and by source labels, in a loop over pairs."""
    labels, members = shares.argmax(axis=2), model.members_
    agreement = [
        np.mean([np.mean(a == b) for j, b in enumerate(labels) if i != j])
        for i, a in enumerate(labels)
    ]
    caution = np.exp(100 * min(max(model.residual_scatter_, 0), 0.02))
    voices = np.array([0.6 / caution if m.scaling == "domain" else 1.0 for m in members])
    if model.transfer_ is not None:
        apart, n = model.transfer_.scaled - model.transfer_.pooled, len(model.transfer_.scores)
        scaled = [m.scaling == "domain" for m in members]
        voices[scaled] *= np.exp(40 * apart * (n - 1) / (n + 3))
    voices[-1] = (len(model.classes_) - 1) / caution
    best = [m.name for m in members].index(model.champion_.champion_)
    voices[best] += 2 * caution / (len(model.classes_) - 1)
    measured = [m.source_score for m in members if m.source_score is not None]
    behind = [max(measured) - (m.source_score or max(measured)) for m in members]
    weights = voices * np.array(agreement) ** SHARPNESS * np.exp(-10 * np.array(behind))
    weights /= weights.sum()
    confirmed = []
    for scaling in ("pooled", "domain"):
        group = [
            labels[place]
            for place, each in enumerate(members)
            if each.scaling == scaling and each.name in ("logistic", "svm", "forest")
        ]
        pairs = [np.mean(group[i] == group[j]) for i, j in ((0, 1), (0, 2), (1, 2))]
        confirmed.append(np.mean(pairs))
    score = np.mean([model.champion_.scores_[name] for name in ("logistic", "svm", "forest")])
    consistency = max(confirmed) / score
    moved = min(max((CONSISTENT - consistency) / (CONSISTENT - CONTRADICTORY), 0), 1)
    weights *= 1 - moved
    weights[-1] += moved
    return np.array(agreement), weights, consistency


def test_weights_follow_from_agreement_and_source_labels(fitted, there):
    shares = fitted.member_probabilities(there[0], sample_domain=there[1])
    agreement, weights, consistency = weigh_by_hand(fitted, shares)
    np.testing.assert_allclose([each.agreement for each in fitted.members_], agreement)
    np.testing.assert_allclose([each.weight for each in fitted.members_], weights)
    assert fitted.consistency_ == pytest.approx(consistency)
    assert sum(each.weight for each in fitted.members_) == pytest.approx(1)


def median_kernel(A, B):
    """RBF kernel of all samples, one over the median squared distance its bandwidth."""
    both = np.concatenate([A, B])
    apart = [np.sum((a - b) ** 2) for i, a in enumerate(both) for b in both[:i]]
    scale = np.median(apart)
    return np.array([[np.exp(-np.sum((a - b) ** 2) / scale) for b in both] for a in both])


def test_residual_scatter_is_the_share_of_scatter_between_both_sides():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(30, 2)), rng.normal(size=(25, 2)) * [1.0, 2.0]
    K, n = median_kernel(A, B), len(A)
    off = K - np.eye(55)
    inside = off[:n, :n].sum() / (30 * 29) + off[n:, n:].sum() / (25 * 24)
    expected = (inside - 2 * K[:n, n:].mean()) / 4 / (1 - K.mean())
    assert residual_scatter(A, B) == pytest.approx(expected, rel=1e-6)
    assert residual_scatter(A[:19], B) == 0


def test_a_shift_is_scaled_away_and_a_mirror_image_is_not():
    """Mirrored, the second column says the opposite; no scaling of columns can know."""
    rng = np.random.default_rng(0)
    y, site = np.tile([0, 1], 200), np.repeat(["here", "there"], 200)
    X = rng.normal(size=(400, 2)) * 0.4 + 2 * y[:, None]
    known = np.where(site == "here", y, -1)
    shifted, mirrored = X + 3.0 * (site == "there")[:, None], X.copy()
    mirrored[200:, 1] *= -1
    left = [
        HedgedClassifier().fit(each, known, sample_domain=site).residual_scatter_
        for each in (shifted, mirrored)
    ]
    assert abs(left[0]) < 0.003
    assert left[1] > 0.02


def test_what_scaling_leaves_between_domains_moves_voices_to_the_champion(fitted, there):
    shares = fitted.member_probabilities(there[0], sample_domain=there[1])
    name, prior = fitted.champion_.champion_, fitted.prior_

    def weights(residual, metric="accuracy"):
        members = fitted.members_
        return hold_vote(members, shares, name, prior, metric, residual=residual).weights

    np.testing.assert_array_equal(weights(-0.01), weights(0.0))
    np.testing.assert_array_equal(weights(0.3), weights(0.02))
    np.testing.assert_array_equal(
        weights(0.3, "balanced accuracy"), weights(0, "balanced accuracy")
    )
    names = [each.name for each in fitted.members_]
    best = names.index(name)
    other = next(i for i, each in enumerate(names[:4]) if i != best)
    moved = weights(0.01) / weights(0.0)
    moved /= moved[other]
    expected = [1 / np.e if m.scaling == "domain" else 1.0 for m in fitted.members_]
    expected[-1] = 1 / np.e
    expected[best] = (1 + np.e) / 2  # three classes: one voice more
    np.testing.assert_allclose(moved, expected)


def test_weight_moves_to_the_member_that_trains_itself_as_others_contradict_each_other():
    weights = np.array([0.5, 0.3, 0.2])
    halfway = (CONSISTENT + CONTRADICTORY) / 2
    np.testing.assert_allclose(shift_weight(weights, doubt(halfway), 2), [0.25, 0.15, 0.6])
    np.testing.assert_allclose(shift_weight(weights, doubt(CONSISTENT), 2), weights)
    np.testing.assert_allclose(
        shift_weight(weights, doubt(CONTRADICTORY), 2), [0, 0, 1], atol=1e-12
    )


def test_probabilities_are_the_weighted_mean_corrected_and_sharpened(fitted, problem, there):
    shares = fitted.member_probabilities(there[0], sample_domain=there[1])
    mean = sum(m.weight * each for m, each in zip(fitted.members_, shares, strict=True))
    expected = mean.mean(axis=0)
    np.testing.assert_allclose(fitted.class_frequencies_, expected)
    known = problem[1]
    prior = np.array([np.mean(known[known >= 0] == code) for code in range(3)])
    odds = ((expected + SMALL) / (prior + SMALL)) ** TRUST_IN_FREQUENCIES
    corrected = [each * odds / (each * odds).sum(axis=1, keepdims=True) for each in shares]
    mean = sum(m.weight * each for m, each in zip(fitted.members_, corrected, strict=True))
    raised = mean**fitted.power_
    raised /= raised.sum(axis=1, keepdims=True)
    found = fitted.predict_proba(there[0], sample_domain=there[1])
    np.testing.assert_allclose(found, raised, rtol=1e-9)
    assert found.max(axis=1).mean() == pytest.approx(fitted.expected_accuracy_.value, abs=1e-4)
    assert fitted.predict(there[0], sample_domain=there[1]).tolist() == (
        found.argmax(axis=1).tolist()
    )


def test_the_champion_inside_is_the_champion_alone(fitted, problem, there):
    alone = fit(problem, ChampionClassifier())
    assert fitted.champion_.scores_ == alone.scores_
    expected = alone.predict_proba(there[0])
    np.testing.assert_array_equal(fitted.champion_.predict_proba(there[0]), expected)


def test_the_judgement_is_of_the_hedge_against_the_champion(fitted, there):
    adapted = fitted.predict(there[0], sample_domain=there[1])
    plain = fitted.champion_.predict(there[0])
    again = fitted.judge(there[0], adapted, plain, sample_domain=there[1])
    assert again == fitted.judgement_
    assert again.n_target == len(there[0])
    assert again.n_differ == np.sum(adapted != plain)


# --- what must not change the answer --------------------------------------------------------------


def test_units_of_columns_do_not_matter(fitted, problem, there):
    moved = fit(problem, X=1000 * problem[0] + 70)
    assert moved.champion_.champion_ == fitted.champion_.champion_
    found = moved.predict_proba(1000 * there[0] + 70, sample_domain=there[1])
    expected = fitted.predict_proba(there[0], sample_domain=there[1])
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_two_fits_give_the_same_bits_and_leave_their_inputs_alone(fitted, problem, there):
    X, known, site = (np.array(each) for each in problem[:3])
    again = HedgedClassifier().fit(X, known, sample_domain=site)
    for now, before in zip((X, known, site), problem[:3], strict=True):
        np.testing.assert_array_equal(now, before)
    found = again.predict_proba(there[0], sample_domain=there[1])
    np.testing.assert_array_equal(found, fitted.predict_proba(there[0], sample_domain=there[1]))
    assert again.judgement_ == fitted.judgement_


def test_names_of_classes_and_domains_are_of_no_account(fitted, problem, there):
    names = np.array(["ant", "bee", "cow"])
    known = np.where(problem[1] < 0, None, names[problem[1]])
    site = np.where(problem[2] == "here", 4, -9)
    model = fit(problem, y=known, sample_domain=site)
    found = model.predict(there[0], sample_domain=np.full(len(there[0]), -9))
    expected = fitted.predict(there[0], sample_domain=there[1])
    assert found.tolist() == names[expected].tolist()


# --- samples of all kinds -------------------------------------------------------------------------


def test_new_samples_and_domains_that_nobody_has_seen_are_the_targets(fitted, there):
    new = there[0][:9] + 0.01
    expected = fitted.predict_proba(new, sample_domain=there[1][:9])
    np.testing.assert_array_equal(fitted.predict_proba(new), expected)
    unheard = fitted.predict_proba(new, sample_domain=np.full(9, "mars"))
    np.testing.assert_array_equal(unheard, expected)


def test_several_sources_and_targets_are_predicted():
    rng = np.random.default_rng(3)
    y, site = np.tile([0, 1], 60), np.repeat(["a", "b", "c", "d"], 30)
    X = rng.normal(size=(120, 3)) + 2.5 * y[:, None] * np.eye(1, 3)
    X[:, 2] += np.repeat([0.0, 1.0, 2.0, 3.0], 30)
    seen = np.isin(site, ["a", "b"])
    model = HedgedClassifier().fit(X, y, sample_domain=site, labelled=seen)
    assert model.judgement_.n_target == 60
    found = model.predict(X[~seen], sample_domain=site[~seen])
    assert np.mean(found == y[~seen]) > 0.8


# --- several sources ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def three_sources():
    """Another offset and unit of the first column in each place, so that scaling there helps."""
    rng = np.random.default_rng(1)
    y, site = np.tile([0, 1], 100), np.repeat(["a", "b", "c", "d"], 50)
    X = rng.normal(size=(200, 2)) + 3 * y[:, None] * np.eye(1, 2)
    X[:, 0] = X[:, 0] * np.repeat([1, 3, 0.5, 2], 50) + np.repeat([0.0, 9.0, -5.0, 20.0], 50)
    return X, np.where(site == "d", -1, y), site


@pytest.fixture(scope="module")
def rehearsed(three_sources):
    X, known, site = three_sources
    return HedgedClassifier().fit(X, known, sample_domain=site)


def test_a_rehearsal_leaves_each_source_out_and_says_which_scaling_transfers(
    rehearsed, three_sources
):
    found = rehearsed.transfer_
    assert found.scores.shape == (3,)
    assert found.scaled > found.pooled + 0.1
    shares = rehearsed.member_probabilities(three_sources[0][150:], sample_domain=["d"] * 50)
    _, weights, _ = weigh_by_hand(rehearsed, shares)
    np.testing.assert_allclose([each.weight for each in rehearsed.members_], weights)
    scaled = [each.weight for each in rehearsed.members_ if each.scaling == "domain"]
    assert sum(scaled) > 0.5


def test_members_of_a_rehearsal_have_not_seen_the_source_that_they_predict(three_sources):
    """With labels that are swapped in one source, that source alone is predicted wrong."""
    X, known, site = three_sources
    swapped = np.where((site == "b") & (known >= 0), 1 - known, known)
    model = HedgedClassifier().fit(X, swapped, sample_domain=site)
    assert model.transfer_.scores[1] < 0.5


def test_with_several_sources_the_rehearsal_counts_half_of_what_is_expected(rehearsed):
    champion = rehearsed.champion_
    recall = champion.contender(champion.champion_).recall
    signs = Signs(
        float(np.sum(rehearsed.class_frequencies_ * recall)),
        rehearsed.agreement_,
        rehearsed.transfer_.scores.mean(),
        rehearsed.residual_scatter_,
    )
    assert rehearsed.expected_accuracy_ == expected_accuracy(signs, 2, "accuracy")


def test_a_rehearsed_hedge_is_saved_and_loaded(rehearsed, three_sources, tmp_path):
    save_model(rehearsed, tmp_path / "model.skatter")
    again = load_model(tmp_path / "model.skatter")
    X = three_sources[0]
    np.testing.assert_array_equal(again.predict_proba(X), rehearsed.predict_proba(X))
    np.testing.assert_array_equal(again.transfer_.scores, rehearsed.transfer_.scores)


def test_one_source_and_sources_of_a_few_rows_are_not_rehearsed(fitted, problem):
    assert fitted.transfer_ is None
    X, known, site, _ = problem
    few = np.where(np.arange(len(site)) < 15, "elsewhere", site)
    assert HedgedClassifier().fit(X, known, sample_domain=few).transfer_ is None


def test_only_the_difference_of_both_scalings_moves_the_vote(fitted, there):
    shares = fitted.member_probabilities(there[0], sample_domain=there[1])

    def weights(transfer):
        name, prior = fitted.champion_.champion_, fitted.prior_
        vote = hold_vote(fitted.members_, shares, name, prior, "accuracy", transfer=transfer)
        return vote.weights

    alike = Transfer(np.array([0.3, 0.9]), 0.6, 0.6)
    np.testing.assert_array_equal(weights(alike), weights(None))
    scaled = np.array([each.scaling == "domain" for each in fitted.members_])
    better = weights(Transfer(np.array([0.3, 0.9]), 0.5, 0.6))
    assert better[scaled].sum() > weights(None)[scaled].sum()


def test_labels_of_the_target_are_learnt_from(problem, fitted):
    X, known, site, y = problem
    numbers = np.where(site == "here", 1, -2)
    some = (site == "there") & (np.arange(len(y)) % 3 == 0)
    wrong = np.where(some, (y + 1) % 3, known)
    model = fit(problem, y=wrong, sample_domain=numbers)
    hidden = wrong < 0
    assert model.judgement_.n_target == hidden.sum()
    # Wrong labels of the target mislead, but the frequencies of the sources are as they were.
    np.testing.assert_allclose(model.prior_, fitted.prior_)
    found = model.predict_proba(X[hidden], sample_domain=numbers[hidden])
    before = fitted.predict_proba(X[hidden], sample_domain=site[hidden])
    assert np.mean(found[np.arange(len(found)), y[hidden]]) < np.mean(
        before[np.arange(len(found)), y[hidden]]
    )


def test_where_all_samples_are_labelled_members_have_equal_weights(problem):
    X, _, site, y = problem
    model = HedgedClassifier().fit(X, y, sample_domain=site)
    assert model.judgement_ is None
    assert len({each.weight for each in model.members_}) == 1
    assert "SCAClassifier" not in [each.name for each in model.members_]
    shares = model.member_probabilities(X, sample_domain=site).mean(axis=0)
    np.testing.assert_allclose(model.predict_proba(X, sample_domain=site), shares)
    with pytest.raises(ValueError, match="no target to judge by"):
        model.judge(X, y, y, sample_domain=site)


def test_sparse_samples_have_no_scaling_in_each_domain(problem):
    X, known, site, y = two_places(n=40)
    X = np.where(X > 0.3, X, 0)
    model = HedgedClassifier().fit(sparse.csr_array(X), known, sample_domain=site)
    assert {each.scaling for each in model.members_} == {"pooled"}
    found = model.predict(sparse.csr_array(X[40:]), sample_domain=site[40:])
    assert np.mean(found == y[40:]) > 0.7


def test_gaps_are_medians_of_their_column():
    X, known, site, _ = two_places(n=40)
    X[::6, 1] = np.nan
    filled = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)
    model, expected = (
        HedgedClassifier().fit(samples, known, sample_domain=site) for samples in (X, filled)
    )
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(filled))


def test_more_rows_than_the_most_are_drawn_for_what_is_quadratic(problem, there):
    model = fit(problem, HedgedClassifier(max_rows=40))
    assert model.members_[-1].estimator.n_features_in_ == 4
    sca = next(each for each in model.members_ if each.name == "SCA").estimator
    assert len(sca["nearest"]._fit_X) == 20
    assert np.mean(model.predict(there[0], sample_domain=there[1]) == there[2]) > 0.6
    assert model.judgement_.n_target == 60


@pytest.mark.parametrize("frame", ["one domain", "a source that lacks some labels"])
def test_a_draw_without_any_unlabelled_row_is_fitted_all_the_same(frame):
    X, known, site, y = two_places(n=40)
    site = np.full(80, "here") if frame == "one domain" else site
    known = y.copy()
    known[:3] = -1
    model = HedgedClassifier(max_rows=30).fit(X, known, sample_domain=site)
    np.testing.assert_allclose(model.predict_proba(X[:3], sample_domain=site[:3]).sum(axis=1), 1)


def test_one_label_of_each_class_is_enough():
    X, known, site, _ = two_places(n=20)
    known[2:] = -1
    model = HedgedClassifier().fit(X, known, sample_domain=site)
    assert set(model.predict(X)) <= {0, 1}


# --- class frequencies and the metric -------------------------------------------------------------


@pytest.fixture(scope="module")
def given_frequencies(problem):
    return fit(problem, HedgedClassifier(class_frequencies=[0.8, 0.1, 0.1]))


def test_known_class_frequencies_correct_the_shares_as_bayes_says(given_frequencies, there):
    model = given_frequencies
    np.testing.assert_allclose(model.class_frequencies_, [0.8, 0.1, 0.1])
    shares = model.member_probabilities(there[0], sample_domain=there[1])
    posterior = shares * (np.array([0.8, 0.1, 0.1]) + SMALL) / (model.prior_ + SMALL)
    posterior /= posterior.sum(axis=2, keepdims=True)
    mean = np.average(posterior, axis=0, weights=[each.weight for each in model.members_])
    found = model.predict(there[0], sample_domain=there[1])
    assert found.tolist() == mean.argmax(axis=1).tolist()


def test_a_class_that_is_said_to_be_frequent_is_predicted_more_often(
    fitted, given_frequencies, there
):
    before, after = (
        np.sum(model.predict(there[0], sample_domain=there[1]) == 0)
        for model in (fitted, given_frequencies)
    )
    assert after > before


def test_class_frequencies_may_be_named(problem, given_frequencies, there):
    named = fit(problem, HedgedClassifier(class_frequencies={2: 1, 0: 8, 1: 1}))
    np.testing.assert_array_equal(
        named.predict_proba(there[0], sample_domain=there[1]),
        given_frequencies.predict_proba(there[0], sample_domain=there[1]),
    )


def test_for_balanced_accuracy_rare_classes_are_predicted_more_often():
    rng = np.random.default_rng(5)
    site = np.repeat(["here", "there"], 80)
    y = (np.arange(160) % 8 == 0).astype(int)
    X = rng.normal(size=(160, 3)) + 1.3 * y[:, None]
    X[site == "there", 2] += 1
    known = np.where(site == "here", y, -1)
    plain, balanced = (
        HedgedClassifier(metric=metric).fit(X, known, sample_domain=site)
        for metric in ("accuracy", "balanced accuracy")
    )
    assert balanced.champion_.metric == balanced.judgement_.metric == "balanced accuracy"
    new = {"X": X[site == "there"], "sample_domain": site[site == "there"]}
    assert np.sum(balanced.predict(**new) == 1) > np.sum(plain.predict(**new) == 1)
    said = balanced.member_probabilities(**new).mean(axis=1)
    np.testing.assert_allclose(balanced.odds_, (said + SMALL) ** -EVENING)  # each evened by itself


# --- own champion, errors -------------------------------------------------------------------------


def test_an_own_champion_is_what_the_hedge_is_compared_with_however_good_it_is(there):
    X, known, site, _ = two_places(n=40)
    model = HedgedClassifier(DummyClassifier()).fit(X, known, sample_domain=site)
    assert model.champion_.champion_ == "own"
    assert model.champion_.scores_["own"] < max(model.champion_.scores_.values())
    assert model.members_[0].name == "own"
    plain = DummyClassifier().fit(X[:40], known[:40]).predict(X[40:])
    assert model.champion_.predict(X[40:]).tolist() == plain.tolist()
    ours = model.predict(X[40:], sample_domain=site[40:])
    assert model.judgement_.n_differ == np.sum(ours != plain)
    assert not hasattr(model.champion, "classes_")


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"champion": Perceptron()}, TypeError, "champion must be a classifier with predict_proba"),
        ({"champion": StandardScaler()}, TypeError, "champion must .*StandardScaler"),
        ({"metric": "f1"}, ValueError, r"metric must .*'f1'"),
        ({"standardize": "yes"}, ValueError, "standardize must"),
        ({"max_rows": 3}, ValueError, "max_rows must"),
        ({"random_state": -1}, ValueError, "random_state must"),
        ({"class_frequencies": [0.5, 0.5]}, ValueError, "class_frequencies must be 3 numbers"),
        ({"class_frequencies": {"x": 1}}, ValueError, "class_frequencies names x"),
        ({"class_frequencies": "target"}, ValueError, "class_frequencies must"),
    ],
    ids=lambda each: next(iter(each)) if isinstance(each, dict) else "",
)
def test_errors_name_the_argument_before_any_work(problem, given, error, words, monkeypatch):
    monkeypatch.setattr(ChampionClassifier, "fit", lambda *a, **k: pytest.fail("worked"))
    with pytest.raises(error, match=words):
        fit(problem, HedgedClassifier(**given))


def test_samples_labels_and_a_missing_fit_are_named(problem, fitted, there):
    X = np.array(problem[0])
    with pytest.raises(NotFittedError):
        HedgedClassifier().predict(X)
    with pytest.raises(ValueError, match=r"requires y .* no labelled sample"):
        fit(problem, y=np.full(len(X), -1))
    with pytest.raises(ValueError, match="two classes or more"):
        fit(problem, y=np.where(problem[1] == 2, 2, None))
    with pytest.raises(ValueError, match="plain holds 7, which is none of the classes"):
        fitted.judge(there[0], there[2], there[2] + 7)
    X[3, 1] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        fit(problem, X=X)


def test_a_clone_has_the_same_parameters_and_the_summary_lists_the_members(fitted):
    model = HedgedClassifier(max_rows=77, metric="balanced accuracy", class_frequencies="source")
    assert clone(model).get_params() == model.get_params()
    shown = fitted._repr_html_()
    for each in fitted.members_:
        assert f"{each.name}, {each.scaling}" in shown
