"""DomainGeneralizer: members are judged as by leaving domains out by hand, and vote."""

from __future__ import annotations

import pickle
import warnings
from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skatter import SCA, DomainGeneralizer, make_domain_pipeline
from skatter.hedging._expectation import fitted_numbers
from skatter.hedging._generalizer import (
    FEWEST_OF_A_BATCH,
    LEAST_WEIGHT,
    POWERS,
    SHARPNESS,
    SMOOTHING,
    member_weights,
)
from skatter.hedging._transfer import expect_unseen

pytestmark = pytest.mark.usefixtures("few_trees")

PLAIN = {"linear": LogisticRegression(), "nearest": KNeighborsClassifier(5)}


@pytest.fixture(scope="module")
def rings():
    """Classes are rings around one point, so that no line parts them; the last site is scored."""
    rng = np.random.default_rng(0)
    site, y = np.repeat(["a", "b", "c", "d"], 60), np.tile([0, 1, 2], 80)
    angle = rng.uniform(0, 2 * np.pi, size=240)
    radius = 1 + 2 * y + 0.3 * rng.normal(size=240)
    X = radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return X, y, site


@pytest.fixture(scope="module")
def moved():
    """Every site has its own origin, far from all others; classes lie alike around it."""
    rng = np.random.default_rng(1)
    place, y = np.repeat(np.arange(4), 60), np.tile([0, 1], 120)
    X = rng.normal(size=(240, 2)) + 2 * y[:, None] + np.array([0, 9, -9, 18])[place][:, None]
    return X, y, np.array(["a", "b", "c", "d"])[place]


class Witness(ClassifierMixin, BaseEstimator):
    """Remembers what every fit was shown, and finds all classes alike."""

    shown: ClassVar[list] = []

    def fit(self, X, y, *, sample_domain=None, labelled=None):
        self.classes_ = np.unique(y[labelled])
        Witness.shown.append((X, y, np.asarray(sample_domain), labelled))
        return self

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


class Modest(KNeighborsClassifier):
    """Nearest neighbours whose probabilities are raised to a power."""

    def __init__(self, power=1.0):
        super().__init__(15)
        self.power = power

    def predict_proba(self, X):
        raised = np.maximum(super().predict_proba(X), 1e-3) ** self.power
        return raised / raised.sum(axis=1, keepdims=True)


@pytest.fixture
def shown():
    Witness.shown.clear()
    return Witness.shown


# --- the judgement --------------------------------------------------------------------------------


def test_scores_and_losses_are_those_of_leaving_one_group_out_by_hand(make_problem):
    data = make_problem(4, n=10, seed=3)
    X = data.X + 2 * np.random.default_rng(0).normal(size=data.X.shape)  # so that not all is right
    model = DomainGeneralizer(PLAIN).fit(X, data.y, sample_domain=data.domain)
    for name, candidate in PLAIN.items():
        losses = {}
        for held, score in zip(model.held_out_, model.scores_[name], strict=True):
            own = data.domain == held
            fitted = make_pipeline(StandardScaler(), clone(candidate)).fit(X[~own], data.y[~own])
            seen = np.clip(X[own], X[~own].min(axis=0), X[~own].max(axis=0))
            shares = fitted.predict_proba(seen)
            assert score == pytest.approx(np.mean(shares.argmax(axis=1) == data.y[own]))
            for power in POWERS:
                raised = np.maximum(shares, 1e-6) ** power
                right = raised[np.arange(own.sum()), data.y[own]] / raised.sum(axis=1)
                losses.setdefault(power, []).append(
                    -np.mean(np.log((1 - SMOOTHING) * right + SMOOTHING / shares.shape[1]))
                )
        best = min(POWERS, key=lambda power: np.mean(losses[power]))
        assert model.powers_[name] == best
        assert_allclose(model.losses_[name], losses[best])


def test_the_weights_follow_the_formula_and_tiny_ones_vanish():
    loss = np.array([[0.5, 0.7, 0.6], [0.6, 0.8, 0.6], [3.0, 3.0, 3.0]])
    every = np.ones(3, dtype=bool)
    raw = np.exp(-SHARPNESS * loss.mean(axis=1) * 2 / 6)
    assert raw[2] < LEAST_WEIGHT * raw[0]
    assert_allclose(member_weights(loss, every, 99), [*raw[:2] / raw[:2].sum(), 0])
    raw = np.exp(-SHARPNESS * loss.max(axis=1) * 2 / 6)
    assert_allclose(member_weights(loss, every, 99, "worst"), [*raw[:2] / raw[:2].sum(), 0])
    # Half a voice for those that need a batch; and who can do without one keeps its own.
    raw = np.exp(-SHARPNESS * loss.mean(axis=1) * 2 / 6) * [1, 0.5, 1]
    found = member_weights(loss, np.array([True, False, True]), 99)
    assert_allclose(found, [*raw[:2] / raw[:2].sum(), 0])
    assert member_weights(loss, np.array([False, False, True]), 99)[2] > 0


def test_worse_than_guessing_is_all_one():
    loss = np.array([[0.9, 5.0], [3.0, 3.0], [0.8, 0.7]])
    every = np.ones(3, dtype=bool)
    assert_allclose(member_weights(loss[:2], every[:2], 2), [0.5, 0.5])
    assert member_weights(loss, every, 2, sharpness=1.0)[2] == pytest.approx(1 / 3)
    assert member_weights(loss, every, 4, sharpness=1.0)[2] > 1 / 3


def test_the_vote_is_the_weighted_mean_of_fits_on_all_sources(rings):
    X, y, site = rings
    model = DomainGeneralizer(PLAIN).fit(X, y, sample_domain=site)
    scaler, expected = StandardScaler().fit(X), 0
    seen = scaler.transform(np.clip(X + 0.4, X.min(axis=0), X.max(axis=0)))
    for each in model.members_:
        shares = clone(PLAIN[each.name]).fit(scaler.transform(X), y).predict_proba(seen)
        raised = np.maximum(shares, 1e-6) ** model.powers_[each.name]
        expected = expected + each.weight * raised / raised.sum(axis=1, keepdims=True)
    assert_allclose(model.predict_proba(X + 0.4), expected, atol=1e-12)
    assert_array_equal(model.predict(X + 0.4), expected.argmax(axis=1))
    assert sum(each.weight for each in model.members_) == pytest.approx(1)


def test_beyond_what_was_seen_nobody_extrapolates(rings):
    X, y, site = rings
    model = DomainGeneralizer().fit(X, y, sample_domain=site)
    edge, beyond = X[[np.argmax(X[:, 0])]], X[[np.argmax(X[:, 0])]] + [50, 0]
    assert_allclose(model.predict_proba(beyond), model.predict_proba(edge))


def test_a_member_is_not_weighed_by_how_modest_it_is(rings):
    """Squared or square-rooted probabilities say the same, and count the same."""
    X, y, site = rings
    X = X + np.random.default_rng(0).normal(size=X.shape)  # so that nobody can be sure
    modest = DomainGeneralizer({"b": Modest(1.0), "m": Modest(0.5)}).fit(X, y, sample_domain=site)
    first, second = modest.members_
    assert first.weight == pytest.approx(second.weight)
    assert modest.powers_["m"] == 2 * modest.powers_["b"]


def test_a_candidate_that_cannot_win_is_not_fitted_again(rings, shown):
    X, y, site = rings
    model = DomainGeneralizer({**PLAIN, "w": Witness()}).fit(X, y, sample_domain=site)
    assert [each.name for each in model.members_] == ["nearest"]  # no line parts the rings
    assert len(shown) == 4
    assert set(model.scores_) == {"linear", "nearest", "w"}


def test_nothing_is_learnt_from_the_domain_left_out(three_domains, shown):
    model = DomainGeneralizer({"w": Witness()})
    model.fit(three_domains.X, three_domains.y, sample_domain=three_domains.domain)
    assert model.held_out_ == ["amsterdam", "basel", "cairo"]
    *judged, last = shown
    missing = [({0, 1, 2} - set(domain)).pop() for _, _, domain, _ in judged]
    assert sorted(missing) == [0, 1, 2]
    for (X, *_), code in zip(judged, missing, strict=True):
        rest = three_domains.X[three_domains.domain != model.held_out_[code]]
        assert_allclose(X, StandardScaler().fit_transform(rest))
    assert len(last[0]) == len(three_domains.X)


def test_unlabelled_samples_and_hidden_labels_change_nothing(three_domains):
    known = ~three_domains.unlabelled
    lies = np.where(known, three_domains.y, 7)
    given = {"sample_domain": three_domains.domain, "labelled": known}
    model = DomainGeneralizer(PLAIN).fit(three_domains.X, lies, **given)
    other = DomainGeneralizer(PLAIN).fit(
        three_domains.X[known], three_domains.y[known], sample_domain=three_domains.domain[known]
    )
    assert_array_equal(
        model.predict_proba(three_domains.X_new), other.predict_proba(three_domains.X_new)
    )


def test_a_target_with_labels_is_learnt_from_and_never_left_out(three_domains, shown):
    number = {"amsterdam": 1, "basel": 2, "cairo": -3}
    domain = np.array([number[name] for name in three_domains.domain])
    model = DomainGeneralizer({"w": Witness()})
    model.fit(three_domains.X, three_domains.y, sample_domain=domain)
    assert model.held_out_ == [1, 2]
    assert all(len(np.unique(seen)) >= 2 for _, _, seen, _ in shown)


def test_many_domains_are_left_out_in_few_parts_and_each_has_a_score(shown):
    rng = np.random.default_rng(0)
    y, site = np.tile([0, 1], 90), np.repeat(np.arange(9), 20)
    X = rng.normal(size=(180, 2)) + y[:, None]
    model = DomainGeneralizer({**PLAIN, "w": Witness()}).fit(X, y, sample_domain=site)
    assert model.held_out_ == list(range(9))
    assert all(len(score) == 9 for score in model.scores_.values())
    assert sum(len(X) < 180 for X, *_ in shown) == 4


def test_the_members_follow_the_shape_of_the_classes(rings, make_problem):
    X, y, site = rings
    source = site != "d"
    curved = DomainGeneralizer().fit(X[source], y[source], sample_domain=site[source])
    assert curved.score(X[~source], y[~source]) > 0.9
    weight = {(each.name, each.scaling): each.weight for each in curved.members_}
    assert weight.get(("logistic", "pooled"), 0) < 0.05
    data = make_problem(4, n=20)
    straight = DomainGeneralizer().fit(data.X, data.known, sample_domain=data.domain)
    assert straight.score(data.X[data.unlabelled], data.y[data.unlabelled]) > 0.9


def test_the_worst_domain_counts_where_it_is_asked_for(rings):
    X, y, site = rings
    worst = DomainGeneralizer(PLAIN, criterion="worst").fit(X, y, sample_domain=site)
    losses = np.array([worst.losses_[each.name] for each in worst.members_])
    raw = np.exp(-SHARPNESS * 3 / 7 * losses.max(axis=1))
    assert_allclose([each.weight for each in worst.members_], raw / raw.sum())


# --- batches --------------------------------------------------------------------------------------


def test_a_batch_is_scaled_by_its_own_statistics_and_single_samples_never(moved):
    X, y, site = moved
    new = site == "d"
    model = DomainGeneralizer().fit(X[~new], y[~new], sample_domain=site[~new])
    assert model.score(X[new], y[new], sample_domain=site[new]) > 0.85
    assert model.expected_accuracy_["batch"].value > model.expected_accuracy_["alone"].value
    alone = model.predict_proba(X[new])
    one_by_one = np.vstack([model.predict_proba(row[None]) for row in X[new][:5]])
    assert_allclose(one_by_one, alone[:5], atol=1e-12)
    few = slice(0, FEWEST_OF_A_BATCH - 1)
    assert_allclose(
        model.predict_proba(X[new][few], sample_domain=site[new][few]), alone[few], atol=1e-12
    )
    said = model.member_probabilities(X[new], sample_domain=site[new])
    assert not np.isnan(said).any()
    own = np.array([each.scaling == "domain" for each in model.members_])
    assert np.isnan(model.member_probabilities(X[new])[own]).all()


def test_a_batch_may_hold_several_domains_each_with_its_own_scale(moved):
    X, y, site = moved
    model = DomainGeneralizer().fit(X[:120], y[:120], sample_domain=site[:120])
    both = model.predict_proba(X[120:], sample_domain=site[120:])
    for name in ("c", "d"):
        own = site[120:] == name
        alone = model.predict_proba(X[120:][own], sample_domain=site[120:][own])
        assert_allclose(both[own], alone, atol=1e-12)


# --- folds ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("domain", [None, "one"], ids=["no domains", "one domain"])
def test_a_single_domain_is_split_into_stratified_folds(rings, domain):
    X, y, _ = rings
    given = None if domain is None else np.full(len(y), domain)
    model = DomainGeneralizer(PLAIN).fit(X, y, sample_domain=given)
    assert model.validation_ == "stratified folds"
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    scaled = make_pipeline(StandardScaler(), PLAIN["nearest"])
    assert_allclose(model.scores_["nearest"], cross_val_score(scaled, X, y, cv=folds))


def test_domains_of_one_class_each_are_split_into_stratified_folds(rings):
    X, y, _ = rings
    two = y < 2
    model = DomainGeneralizer(PLAIN).fit(X[two], y[two], sample_domain=y[two])
    assert model.validation_ == "stratified folds"


def test_more_samples_than_wanted_are_drawn_for_the_judgement(rings, shown):
    X, y, site = rings
    DomainGeneralizer({"w": Witness()}, max_rows=36).fit(X, y, sample_domain=site)
    assert [len(X) for X, *_ in shown] == [36] * 4 + [240]


# --- what to expect -------------------------------------------------------------------------------


def test_the_expected_accuracy_is_the_mean_less_the_optimism_with_a_spread_that_is_shrunk():
    fitted = fitted_numbers("unseen")
    assert set(fitted) == {"optimism", "spread", "worth", "half_width"}
    scores = [0.7, 0.8, 0.75]
    found = expect_unseen(np.array(scores), 2)
    mean = sum(scores) / 3
    squares = sum((each - mean) ** 2 for each in scores)
    variance = (fitted["worth"] * fitted["spread"] ** 2 + squares) / (fitted["worth"] + 2)
    half = fitted["half_width"] * (variance * 4 / 3) ** 0.5
    assert found.value == pytest.approx(mean - fitted["optimism"])
    assert (found.low, found.high) == (
        pytest.approx(found.value - half),
        pytest.approx(min(1, found.value + half)),
    )


def test_less_than_guessing_is_never_expected():
    assert expect_unseen(np.array([0.1, 0.2]), 4).value == 0.25


# --- invariances ----------------------------------------------------------------------------------


def test_the_order_of_samples_and_the_names_of_domains_change_nothing(rings):
    X, y, site = rings
    mixed = np.random.default_rng(1).permutation(len(y))
    model = DomainGeneralizer(PLAIN).fit(X, y, sample_domain=site)
    renamed = np.array([{"a": 9, "b": 1, "c": 4, "d": 2}[name] for name in site])
    other = DomainGeneralizer(PLAIN).fit(X[mixed], y[mixed], sample_domain=renamed[mixed])
    assert_allclose(other.scores_["nearest"][[3, 0, 2, 1]], model.scores_["nearest"])
    assert_allclose(other.predict_proba(X), model.predict_proba(X), atol=1e-6)


def test_units_of_columns_do_not_matter_and_gaps_are_filled(rings):
    X, y, site = rings
    model = DomainGeneralizer(PLAIN).fit(X, y, sample_domain=site)
    other = DomainGeneralizer(PLAIN).fit(X * [1000, 1], y, sample_domain=site)
    assert_allclose(other.predict_proba(X * [1000, 1]), model.predict_proba(X), atol=1e-6)
    gaps = X.copy()
    gaps[::9, 0] = np.nan
    assert model.fit(gaps, y, sample_domain=site).predict(gaps).shape == y.shape


def test_candidates_may_be_domain_pipelines(rings):
    X, y, site = rings
    sca = make_domain_pipeline(SCA(), KNeighborsClassifier(5))
    model = DomainGeneralizer({"sca": sca}, standardize=False).fit(X, y, sample_domain=site)
    by_hand = clone(sca).fit(X, y, sample_domain=site)
    assert_allclose(model.predict(X), by_hand.predict(X))


def test_the_members_warn_of_nothing_that_a_user_could_mend(three_domains):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DomainGeneralizer().fit(
            three_domains.X, three_domains.known, sample_domain=three_domains.domain
        )


def test_names_of_classes_come_back_and_a_pickle_predicts_the_same(rings):
    X, y, site = rings
    names = np.array(["inner", "middle", "outer"])[y]
    known = np.where(site == "d", None, names)
    model = DomainGeneralizer(PLAIN).fit(X, known, sample_domain=site)
    assert model.classes_.tolist() == ["inner", "middle", "outer"]
    assert np.mean(model.predict(X[site == "d"]) == names[site == "d"]) > 0.9
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"candidates": {}}, ValueError, "candidates must map names"),
        ({"candidates": [("x", LogisticRegression())]}, ValueError, "candidates must map names"),
        ({"candidates": {"x": Ridge()}}, TypeError, r"candidates\['x'\] must be a classifier"),
        ({"criterion": "best"}, ValueError, "criterion must be"),
        ({"max_rows": 1}, ValueError, "max_rows must be at least 10"),
    ],
)
def test_a_wrong_parameter_is_named(rings, given, error, message):
    X, y, site = rings
    with pytest.raises(error, match=message):
        DomainGeneralizer(**given).fit(X, y, sample_domain=site)


def test_labels_that_are_missing_are_named(rings):
    X, y, site = rings
    model = DomainGeneralizer(PLAIN)
    for nothing in (None, np.full(len(y), -1)):
        with pytest.raises(ValueError, match=r"requires y .* no labelled sample"):
            model.fit(X, nothing, sample_domain=site)
    with pytest.raises(ValueError, match="two classes or more"):
        model.fit(X, np.ones(len(y), int), sample_domain=site)
    with pytest.raises(ValueError, match="no labelled sample in a source domain"):
        model.fit(X, y, sample_domain=np.full(len(y), -2))
    with pytest.raises(ValueError, match="too few labelled samples"):
        model.fit(X[:2], [0, 1])


def test_an_error_says_which_candidate_it_came_from(rings):
    X, y, site = rings
    model = DomainGeneralizer({"odd": LogisticRegression(C=-1)})
    with pytest.raises(ValueError, match="'C' parameter") as caught:
        model.fit(X, y, sample_domain=site)
    assert "candidate 'odd'" in "".join(caught.value.__notes__)
