"""Hedge and champion for numbers: weights and intervals by hand, and what must not change them."""

from __future__ import annotations

import json
from importlib.resources import files

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.exceptions import NotFittedError
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeCV
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from skatter import ChampionRegressor, HedgedRegressor
from skatter.domains import read_domains
from skatter.hedging._error import expected_error, half_width, shrunken_shift
from skatter.hedging._expectation import fitted_numbers
from skatter.hedging._number_champion import ALPHAS, HeldOut, KernelRidgeCV
from skatter.hedging._number_weights import doubt_in_pooled
from skatter.saving import load_model, save_model

pytestmark = pytest.mark.usefixtures("few_trees")


def two_places(n=80, n_columns=4, seed=0):
    """A line and a bend; labels are known in the first place."""
    rng = np.random.default_rng(seed)
    site = np.repeat(["here", "there"], n)
    X = rng.normal(size=(2 * n, n_columns)) + 0.5 * (site == "there")[:, None]
    y = 3 * X[:, 0] + np.abs(X[:, 1]) + 0.3 * rng.normal(size=2 * n)
    return X, np.where(site == "here", y, np.nan), site, y


def two_instruments(n=60, n_columns=40):
    """The same samples in another instrument: an offset and a gain of each column."""
    rng = np.random.default_rng(1)
    factors, waves = rng.normal(size=(2 * n, 3)), rng.normal(size=(3, n_columns))
    X = factors @ waves + 0.1 * rng.normal(size=(2 * n, n_columns))
    X[n:] = X[n:] * rng.uniform(0.5, 2, n_columns) + 5 * rng.normal(size=n_columns)
    y = factors[:, 0] + 0.05 * rng.normal(size=2 * n)
    return X, np.where(np.arange(2 * n) < n, y, np.nan), np.repeat(["m5", "mp5"], n), y


@pytest.fixture(scope="module")
def problem():
    return two_places()


@pytest.fixture(scope="module")
def fitted(problem):
    X, known, site, _ = problem
    return HedgedRegressor().fit(X, known, sample_domain=site)


@pytest.fixture(scope="module")
def there(problem):
    X, _, site, y = problem
    return X[site == "there"], site[site == "there"], y[site == "there"]


# --- the champion ---------------------------------------------------------------------------------


def test_kernel_ridge_is_that_of_scikit_learn_with_the_best_leave_one_out_error():
    X, _, _, y = two_places(n=20)
    model = KernelRidgeCV()
    left_out = model.fit_with_oob(X, y)
    gamma = model.kernel_.params["gamma"] * model.power_
    theirs = KernelRidge(alpha=model.alpha_, kernel="rbf", gamma=gamma)
    expected = theirs.fit(X, y - y.mean()).predict(X[:5]) + y.mean()
    np.testing.assert_allclose(model.predict(X[:5]), expected)
    slow = cross_val_predict(theirs, X, y - y.mean(), cv=LeaveOneOut()) + y.mean()
    np.testing.assert_allclose(left_out, slow)


def test_the_champion_has_the_best_score_on_held_out_labels(problem):
    X, known, site, y = problem
    model = ChampionRegressor().fit(X, known, sample_domain=site)
    assert list(model.scores_) == ["ridge", "forest", "boosting"]
    assert model.scores_[model.champion_] == max(model.scores_.values())
    Z = StandardScaler().fit(X).transform(X)
    ridge = RidgeCV(ALPHAS).fit(Z[site == "here"], known[site == "here"])
    np.testing.assert_allclose(
        model.contender("ridge").estimator.predict(Z), ridge.predict(Z), rtol=1e-9
    )
    assert model.score(X, known) == pytest.approx(model.score(X[site == "here"], y[site == "here"]))


def test_with_several_sources_whole_sources_are_held_out():
    X, known, site, y = two_places()
    names = np.where(site == "here", np.where(np.arange(len(y)) % 3 > 0, "a", "b"), "there")
    model = ChampionRegressor({"line": LinearRegression()})
    model.fit(X, known, sample_domain=names)
    off = []
    for name, other in (("a", "b"), ("b", "a")):
        line = LinearRegression().fit(X[names == other], y[names == other])
        off.extend(line.predict(X[names == name]) - y[names == name])
    here = y[site == "here"]
    expected = 1 - np.mean(np.square(off)) / here.var()
    assert model.scores_["line"] == pytest.approx(expected)


# --- members and their weights --------------------------------------------------------------------


def test_members_are_there_pooled_and_scaled_in_each_domain(fitted):
    assert [(each.name, each.scaling) for each in fitted.members_] == [
        *((name, "pooled") for name in ("ridge", "forest", "boosting", "kernel ridge")),
        *((name, "domain") for name in ("ridge", "forest", "kernel ridge")),
    ]
    assert sum(each.weight for each in fitted.members_) == pytest.approx(1)


def test_weights_follow_from_held_out_errors_and_distances(fitted, problem, there):
    y = problem[1][problem[2] == "here"]
    predictions = fitted.member_predictions(there[0], sample_domain=there[1])
    own = [place for place, each in enumerate(fitted.members_) if each.scaling == "pooled"]
    expected = []
    for place in own:
        sigma = np.sqrt((1 - fitted.members_[place].source_score) * y.var())
        middle = np.median([predictions[other] for other in own], axis=0)
        far = np.mean((predictions[place] - middle) ** 2) / sigma**2
        expected.append(1 / sigma**6 / (1 + far))
    expected = np.array(expected) / np.sum(expected) * (1 - fitted.doubt_)
    found = [fitted.members_[place].weight for place in own]
    np.testing.assert_allclose(found, expected, rtol=1e-2)


def test_predictions_are_the_weighted_mean_within_the_range_of_labels(fitted, problem, there):
    far = np.vstack([there[0], 100 * there[0]])
    members = fitted.member_predictions(far)
    y = problem[1][problem[2] == "here"]
    margin = 0.05 * np.ptp(y)
    assert members.min() >= y.min() - margin - 1e-9
    assert members.max() <= y.max() + margin + 1e-9
    expected = sum(m.weight * row for m, row in zip(fitted.members_, members, strict=True))
    np.testing.assert_allclose(fitted.predict(far), expected)


def test_where_nothing_has_changed_the_hedge_is_no_worse_than_the_best_member():
    rng = np.random.default_rng(2)
    X, site = rng.normal(size=(400, 5)), np.repeat(["here", "there"], 200)
    y = np.sin(3 * X[:, 0]) + (X[:, 1] > 0) * 3 + 0.1 * rng.normal(size=400)
    model = HedgedRegressor().fit(X, y, sample_domain=site, labelled=site == "here")
    off = model.predict(X[200:]) - y[200:]
    best = model.champion_.predict(X[200:]) - y[200:]
    assert np.linalg.norm(off) < 1.05 * np.linalg.norm(best)


def test_another_instrument_moves_all_weight_to_members_scaled_in_each_domain(fitted):
    X, known, site, y = two_instruments()
    model = HedgedRegressor().fit(X, known, sample_domain=site)
    assert model.doubt_ == 1
    assert fitted.doubt_ == 0
    assert model.score(X[60:], y[60:], sample_domain=site[60:]) > 0.8
    assert model.champion_.score(X[60:], y[60:]) < 0.6
    assert model.judgement_.verdict == "adapt"
    assert doubt_in_pooled(1.1, 1.0) == pytest.approx(0.5)


def test_transfer_between_sources_moves_weight_as_well():
    X, _, site, y = two_instruments()
    X = np.vstack([X, X[:60] * 3 - 7])
    y, site = np.append(y, y[:60]), np.append(site, np.repeat("mp6", 60))
    model = HedgedRegressor().fit(X, y, sample_domain=site, labelled=site != "mp6")
    assert model.doubt_ == 1


def test_the_champion_inside_is_the_champion_alone(fitted, problem, there):
    X, known, site, _ = problem
    alone = ChampionRegressor().fit(X, known, sample_domain=site)
    assert fitted.champion_.scores_ == alone.scores_
    np.testing.assert_array_equal(fitted.champion_.predict(there[0]), alone.predict(there[0]))


def test_a_champion_of_ones_own_is_compared_with_and_takes_part(problem, there):
    X, known, site, _ = problem
    model = HedgedRegressor(DummyRegressor()).fit(X, known, sample_domain=site)
    assert model.champion_.champion_ == "own"
    np.testing.assert_allclose(model.champion_.predict(there[0]), np.nanmean(known))
    assert model.judgement_.verdict == "adapt"
    weights = {each.name: each.weight for each in model.members_ if each.scaling == "pooled"}
    assert weights["own"] == min(weights.values())


# --- labels of the target -------------------------------------------------------------------------


def test_a_shift_is_the_shrunken_mean_of_errors_and_each_is_corrected_by_the_others():
    shift, left_out = shrunken_shift(np.array([3.0, 5.0, 4.0]))
    assert shift == pytest.approx(12 / 5)
    np.testing.assert_allclose(left_out, [3 - 9 / 4, 5 - 7 / 4, 4 - 8 / 4])


@pytest.mark.parametrize("named", [True, False])
def test_a_few_labels_correct_a_change_of_the_mean(problem, fitted, named):
    X, known, site, y = problem
    moved = y + 4 * (site == "there")
    some = (site == "there") & (np.arange(len(y)) % 8 == 0)
    ids = site if named else np.where(site == "here", 1, -2)
    model = HedgedRegressor().fit(X, np.where(some, moved, known), sample_domain=ids)
    rest = (site == "there") & ~some
    assert model.judgement_.n_labelled == some.sum()
    assert "10 labels move predictions" in str(model.judgement_)
    before = moved[rest] - fitted.predict(X[rest], sample_domain=site[rest])
    after = moved[rest] - model.predict(X[rest], sample_domain=ids[rest])
    assert np.mean(after**2) < 0.3 * np.mean(before**2)
    here = site == "here"
    np.testing.assert_array_equal(
        model.shifts_[: len(model.domain_ids_)] != 0, [named < 0.5, named]
    )
    assert abs(np.mean(y[here] - model.predict(X[here], sample_domain=ids[here]))) < 1


def test_without_labels_the_judgement_says_what_nothing_can_see(fitted):
    assert "cannot be seen without labels" in fitted.judgement_.summary
    assert fitted.judgement_.n_labelled == 0
    assert fitted.shift_ == 0


# --- intervals and expectations -------------------------------------------------------------------


def test_intervals_are_as_wide_as_the_formula_says(fitted, problem, there):
    X, site, y = there
    members = fitted.member_predictions(X, sample_domain=site)
    weights = np.array([each.weight for each in fitted.members_])
    centre = weights @ members
    s = np.sqrt(weights @ (members - centre) ** 2)
    q = fitted_numbers("error")["half_width"]["0.9"]
    half = q * fitted.widening_ * np.sqrt(fitted.source_error_**2 + s**2)
    found = fitted.predict_interval(X, sample_domain=site)
    np.testing.assert_allclose(found, np.column_stack([centre - half, centre + half]))
    assert np.mean((found[:, 0] <= y) & (y <= found[:, 1])) > 0.85
    narrow = fitted.predict_interval(X, 0.5, sample_domain=site)
    assert (np.diff(narrow) < np.diff(found)).all()


def test_coverages_lie_between_those_that_were_tried():
    levels = [float(each) for each in fitted_numbers("error")["half_width"]]
    widths = [half_width(each) for each in np.linspace(levels[0], levels[-1], 9)]
    assert widths == sorted(widths)
    with pytest.raises(ValueError, match="coverage must lie in"):
        half_width(0.99)


def test_the_expected_error_follows_the_labels_that_there_are():
    blind = expected_error(2.0, np.empty(0))
    assert blind.value == pytest.approx(2 * fitted_numbers("error")["error"]["factor"])
    seen = expected_error(2.0, np.full(400, 0.1))
    assert seen.value < 0.3
    assert seen.low < seen.value < seen.high


def test_the_judgement_is_of_the_hedge_against_the_champion(fitted, there):
    adapted = fitted.predict(there[0], sample_domain=there[1])
    plain = fitted.champion_.predict(there[0])
    assert fitted.judge(there[0], adapted, plain, sample_domain=there[1]) == fitted.judgement_
    worse = fitted.judge(there[0], plain + 9, adapted, sample_domain=there[1])
    assert worse.verdict == "do not adapt"
    few = fitted.judge(there[0][:5], adapted[:5], plain[:5], sample_domain=there[1][:5])
    assert few.verdict == "cannot tell"


def test_fitted_numbers_are_few_and_sensible():
    text = files("skatter.hedging").joinpath("error.json").read_text(encoding="utf-8")
    found = json.loads(text)
    assert found["error"]["low"] < 1 < found["error"]["high"]
    assert found["gain"]["low"] < 0 < found["gain"]["high"]
    assert 0 <= found["gain"]["distance"] <= 1


# --- what must not change the answer --------------------------------------------------------------


def test_units_of_columns_and_of_labels_do_not_matter(fitted, problem, there):
    X, known, site, _ = problem
    # Powers of two leave no rounding by which a tree could break a tie in another way.
    moved = HedgedRegressor().fit(1024 * X, 4 * known, sample_domain=site)
    found = moved.predict(1024 * there[0], sample_domain=there[1])
    np.testing.assert_allclose(found, 4 * fitted.predict(there[0], sample_domain=there[1]))
    assert moved.judgement_.error.value == pytest.approx(4 * fitted.judgement_.error.value)


def test_two_fits_give_the_same_bits_and_leave_their_inputs_alone(fitted, problem, there):
    X, known, site = (np.array(each) for each in problem[:3])
    again = HedgedRegressor().fit(X, known, sample_domain=site)
    for now, before in zip((X, known, site), problem[:3], strict=True):
        np.testing.assert_array_equal(now, before)
    np.testing.assert_array_equal(again.predict(there[0]), fitted.predict(there[0]))
    assert again.judgement_ == fitted.judgement_


def test_a_mask_wins_over_the_numbers(fitted, problem, there):
    X, _, site, y = problem
    model = HedgedRegressor().fit(X, y, sample_domain=site, labelled=site == "here")
    np.testing.assert_array_equal(model.predict(there[0]), fitted.predict(there[0]))


# --- samples of all kinds -------------------------------------------------------------------------


def test_new_samples_and_domains_that_nobody_has_seen_are_the_targets(fitted, there):
    new = there[0][:9] + 0.01
    expected = fitted.predict(new, sample_domain=there[1][:9])
    np.testing.assert_array_equal(fitted.predict(new), expected)
    np.testing.assert_array_equal(fitted.predict(new, sample_domain=np.full(9, "mars")), expected)


def test_where_all_samples_are_labelled_there_is_nothing_to_judge(problem):
    X, _, site, y = problem
    model = HedgedRegressor().fit(X, y, sample_domain=site)
    assert model.judgement_ is None
    assert model.score(X, y, sample_domain=site) > 0.8
    with pytest.raises(ValueError, match="no target to judge by"):
        model.judge(X, y, y, sample_domain=site)


def test_sparse_samples_have_no_scaling_in_each_domain(problem):
    X, known, site, y = two_places()
    X = np.where(np.abs(X) > 0.3, X, 0)
    model = HedgedRegressor().fit(sparse.csr_array(X), known, sample_domain=site)
    assert {each.scaling for each in model.members_} == {"pooled"}
    assert model.score(sparse.csr_array(X[80:]), y[80:]) > 0.7


def test_gaps_are_medians_of_their_column():
    X, known, site, _ = two_places(n=40)
    X[::6, 1] = np.nan
    filled = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)
    model, expected = (
        HedgedRegressor().fit(samples, known, sample_domain=site) for samples in (X, filled)
    )
    np.testing.assert_allclose(model.predict(X), expected.predict(filled))


def test_many_labels_are_drawn_from_and_those_of_the_target_are_kept():
    y = np.arange(9_000.0)
    site = np.where(np.arange(9_000) < 8_990, 1, -2)
    held_out = HeldOut(y, read_domains(np.zeros(9_000), site, labelled=np.ones(9_000, bool)), 0)
    assert len(held_out.rows) == 4_010
    assert held_out.rows[-10:].tolist() == list(range(8_990, 9_000))


def test_of_very_many_labels_those_held_out_are_not_learnt_from():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 2))
    y = X[:, 0] + rng.normal(size=20_000)
    model = ChampionRegressor({"line": LinearRegression()}, standardize=False).fit(X, y)
    held_out = HeldOut(y, read_domains(np.zeros(20_000)), 0)
    rest = np.delete(np.arange(20_000), held_out.rows)
    line = LinearRegression().fit(X[rest], y[rest])
    assert model.scores_["line"] == pytest.approx(line.score(X[held_out.rows], held_out.truth))
    np.testing.assert_allclose(model.predict(X[:3]), line.predict(X[:3]))


# --- contract -------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "model", [KernelRidgeCV(), ChampionRegressor({"line": LinearRegression()}), HedgedRegressor()]
)
def test_it_passes_the_checks_of_scikit_learn(model):
    check_estimator(model, on_skip=None)


def test_a_saved_hedge_predicts_the_same_bits(fitted, there, tmp_path):
    again = load_model(save_model(fitted, tmp_path / "model.skatter"))
    np.testing.assert_array_equal(again.predict(there[0]), fitted.predict(there[0]))
    np.testing.assert_array_equal(
        again.predict_interval(there[0]), fitted.predict_interval(there[0])
    )
    assert again.judgement_ == fitted.judgement_


@pytest.mark.parametrize(
    ("model", "changes", "error", "words"),
    [
        (HedgedRegressor(LogisticRegression()), {}, TypeError, "champion must be a regressor"),
        (HedgedRegressor(max_rows=2), {}, ValueError, "max_rows must be at least 10"),
        (HedgedRegressor(random_state=-1), {}, ValueError, "random_state must be at least 0"),
        (HedgedRegressor(), {"y": np.full(160, 3.0)}, ValueError, "All labels in y are 3"),
        (HedgedRegressor(), {"y": np.full(160, np.nan)}, ValueError, "has 0 labelled samples"),
        (HedgedRegressor(), {"y": np.full(160, np.inf)}, ValueError, "y is inf at row 0"),
        (HedgedRegressor(), {"y": np.full(160, "red")}, TypeError, "y must hold numbers"),
        (ChampionRegressor({}), {}, ValueError, "candidates must map names"),
        (ChampionRegressor({"a": LogisticRegression()}), {}, TypeError, "must be a regressor"),
    ],
)
def test_what_is_wrong_is_named(problem, model, changes, error, words):
    X, known, site, _ = problem
    with pytest.raises(error, match=words):
        clone(model).fit(X, **{"y": known, "sample_domain": site, **changes})


def test_it_must_be_fitted_first():
    for ask in (HedgedRegressor().predict, HedgedRegressor().predict_interval):
        with pytest.raises((NotFittedError, AttributeError)):
            ask([[0.0]])


def test_a_notebook_shows_members_and_weights(fitted):
    shown = fitted._repr_html_()
    assert "kernel ridge, pooled" in shown
