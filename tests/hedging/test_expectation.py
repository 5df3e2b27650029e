"""What to expect without a target label: accuracy, calibration and verdicts, by hand."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from skatter.hedging._champion import METRICS
from skatter.hedging._expectation import (
    FEWEST,
    POWERS,
    SPREAD,
    SURE,
    Signs,
    calibration_power,
    expected_accuracy,
    fitted_numbers,
    judge_models,
    sharpened,
    votes_of,
)
from skatter.selection._asking import Estimate

pytestmark = pytest.mark.usefixtures("few_trees")


@pytest.fixture(scope="module")
def shares():
    """Probabilities of three classes for 40 samples."""
    raw = np.random.default_rng(0).uniform(0.05, 1, size=(40, 3)) ** 3
    return raw / raw.sum(axis=1, keepdims=True)


# --- the numbers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", METRICS)
def test_the_fitted_numbers_are_complete_finite_and_of_the_right_sign(metric):
    fitted = fitted_numbers("expectation")[metric]
    names = {"intercept", "slope", "apart", "half_width"}
    assert set(fitted) == {"accuracy", "gain"}
    assert set(fitted["accuracy"]) == names
    assert set(fitted["gain"]) == {"floor", "low", "high", "adapt_above", "plain_below"}
    for group in fitted.values():
        assert np.isfinite(list(group.values())).all()
    gain = fitted["gain"]
    assert fitted["accuracy"]["half_width"] > 0
    assert gain["floor"] >= 0
    assert gain["low"] < 0 < gain["high"]
    assert gain["plain_below"] <= gain["adapt_above"]


@pytest.mark.parametrize("metric", METRICS)
def test_the_expected_accuracy_grows_with_agreement_and_the_way_back_as_the_formula_says(metric):
    fitted = fitted_numbers("expectation")[metric]["accuracy"]
    value = fitted["intercept"] + (0.8 * 0.85 + 0.7) / 2 * fitted["slope"]
    found = expected_accuracy(Signs(0.8, 0.85, 0.7), 2, metric)
    half = fitted["half_width"] * (SPREAD - 0.85)
    assert 0.5 < value < 1 - half
    assert found == Estimate(
        pytest.approx(value), pytest.approx(value - half), pytest.approx(value + half)
    )


def test_nothing_below_guessing_and_no_certainty_is_expected():
    worst = expected_accuracy(Signs(0.9, 0.0, 0.0), 4, "accuracy")
    best = expected_accuracy(Signs(1.0, 1.0, 1.0), 4, "accuracy")
    assert worst.value == 0.25
    assert best.value <= SURE
    assert worst.low >= 0
    assert best.high <= 1


def test_the_more_members_agree_the_narrower_the_interval():
    few, many = (expected_accuracy(Signs(0.7, g, 0.7), 2, "accuracy") for g in (0.7, 0.9))
    assert few.high - few.low > many.high - many.low


@pytest.mark.parametrize("metric", METRICS)
def test_the_further_apart_scaled_domains_are_the_less_is_expected(metric):
    near, far = (Signs(0.8, 0.85, 0.7, residual) for residual in (-0.01, 0.04))
    expected = [expected_accuracy(each, 2, metric).value for each in (near, far)]
    apart = fitted_numbers("expectation")[metric]["accuracy"]["apart"]
    assert expected[1] - expected[0] == pytest.approx(0.2 * apart)
    assert expected[1] < expected[0]


# --- calibration ----------------------------------------------------------------------------------


@pytest.mark.parametrize("accuracy", [0.5, 0.7, 0.95])
def test_the_power_makes_the_mean_confidence_the_expected_accuracy(shares, accuracy):
    power = calibration_power(shares, accuracy)
    found = sharpened(shares, power)
    np.testing.assert_allclose(found, shares**power / np.sum(shares**power, axis=1)[:, None])
    assert found.max(axis=1).mean() == pytest.approx(accuracy, abs=1e-5)
    assert found.argmax(axis=1).tolist() == shares.argmax(axis=1).tolist()


def test_the_power_has_limits(shares):
    assert calibration_power(shares, 0.01) == POWERS[0]
    assert calibration_power(np.array([[0.5, 0.5]]), 0.9) == POWERS[1]


def test_tiny_shares_do_not_vanish():
    found = sharpened(np.array([[1e-200, 3e-200], [1.0, 0.0]]), 10)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert found[0].argmax() == 1


# --- the verdict ----------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", METRICS)
def test_the_gain_is_the_mean_difference_of_probabilities(shares, metric):
    adapted, plain = shares.argmax(axis=1), shares.argmin(axis=1)
    plain[:25] = adapted[:25]
    found = judge_models(shares, shares, adapted, plain, Estimate(0.8, 0.7, 0.9), metric)
    gain = sum(shares[i, adapted[i]] - shares[i, plain[i]] for i in range(40)) / 40
    accuracy = sum(shares[i, adapted[i]] for i in range(40)) / 40
    assert found.gain.value == pytest.approx(gain)
    assert found.accuracy.value == pytest.approx(accuracy)
    assert found.plain_accuracy == pytest.approx(accuracy - gain)
    # The interval of the accuracy moves with it; that of the gain grows with what differs.
    assert found.accuracy.low == pytest.approx(0.7 + accuracy - 0.8)
    assert found.accuracy.high == pytest.approx(0.9 + accuracy - 0.8)
    fitted = fitted_numbers("expectation")[metric]["gain"]
    scale = np.sqrt(15 / 40 + fitted["floor"])
    assert found.gain.low == pytest.approx(max(-15 / 40, gain + fitted["low"] * scale))
    assert found.gain.high == pytest.approx(min(15 / 40, gain + fitted["high"] * scale))
    assert (found.n_target, found.n_differ, found.metric) == (40, 15, metric)


def judged(gain, n=100):
    """Judge two models of which the first has a gain of probability and of votes."""
    sure = np.tile([0.5 + gain / 2, 0.5 - gain / 2], (n, 1))
    every = np.zeros(n, dtype=int)
    return judge_models(sure, sure, every, every + 1, Estimate(0.8, 0.7, 0.9), "accuracy")


def test_votes_are_shares_of_members_and_decide_whatever_the_gain():
    shares = np.array([[[0.9, 0.1]] * 30, [[0.55, 0.45]] * 30, [[0.2, 0.8]] * 30])
    votes = votes_of(shares)
    np.testing.assert_allclose(votes, [[2 / 3, 1 / 3]] * 30)
    zero, even = np.zeros(30, dtype=int), np.full((30, 2), 0.5)
    found = judge_models(even, votes, zero, zero + 1, Estimate(0.8, 0.7, 0.9), "accuracy")
    assert (found.verdict, found.gain.value) == ("adapt", 0)
    turned = judge_models(even, votes, zero + 1, zero, Estimate(0.8, 0.7, 0.9), "accuracy")
    assert turned.verdict == "do not adapt"


def test_the_verdict_follows_the_support_of_the_members():
    fitted = fitted_numbers("expectation")["accuracy"]["gain"]
    above, below = fitted["adapt_above"] + 0.01, fitted["plain_below"] - 0.01
    between = (fitted["adapt_above"] + fitted["plain_below"]) / 2
    assert judged(above).verdict == "adapt"
    assert judged(below).verdict == "do not adapt"
    assert judged(-0.5).verdict == "do not adapt"
    assert judged(between).verdict == "cannot tell"
    for gain in (above, below, between):
        assert f"{100 * gain:+.1f} points" in judged(gain).reason


def test_models_that_are_the_same_gain_nothing():
    shares = np.tile([0.9, 0.1], (30, 1))
    same = np.zeros(30, dtype=int)
    found = judge_models(shares, shares, same, same, Estimate(0.9, 0.8, 1.0), "accuracy")
    assert found.verdict == "do not adapt"
    assert (found.gain.low, found.gain.value, found.gain.high) == (0, 0, 0)


def test_too_few_target_samples_tell_nothing():
    few = judged(0.9, FEWEST - 1)
    assert few.verdict == "cannot tell"
    assert f"{FEWEST - 1} target samples are too few" in few.reason
    assert judged(0.9, FEWEST).verdict == "adapt"


def test_a_judgement_prints_its_figures_and_cannot_be_changed():
    found = judged(0.2)
    assert str(found) == found.summary
    for figure in ("60.0 %", "40.0 % plain", "+20.0 points", "100 of 100 target samples"):
        assert figure in found.summary
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.verdict = "adapt"
