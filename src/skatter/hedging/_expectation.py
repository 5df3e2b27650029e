"""How well will it do there? An estimate of target accuracy that needs no target label.

The accuracy to expect of the hedge is

    a + b (s g + t) / 2 + c √ρ,

s the champion's accuracy on held-out source labels, if classes were as frequent there as in the
target; g the mean share of target samples on which two members agree; t the accuracy on sources
left out (:mod:`skatter.hedging._transfer`) or, of one source, that of reverse validation
(:mod:`skatter.hedging._reverse`); ρ the share of the total scatter between sources and target when
each domain is scaled (:mod:`skatter.hedging._weights`). The numbers were fitted by
``benchmarks/trust.py`` and lie in ``expectation.json``; docs/trust.md says how far off it was.

Probabilities of the hedge are raised to the power that makes their mean confidence that estimate.
The expected accuracy of *any* model f is then the mean of p(f(x) | x) over the target. The interval
of a gain grows with the root of the share of samples on which two models differ.

Verdicts go by votes: the support of a model is the mean share of members that predict as it does.
Counted heads were right more often than expected gains, which inherit every error of the estimate.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import numpy as np
from scipy.optimize import brentq

from skatter._formatting import percent
from skatter._tensors import Array
from skatter.domains import Codes
from skatter.selection._asking import Estimate

Verdict = Literal["adapt", "do not adapt", "cannot tell"]

FEWEST = 20  # target samples below which nothing is said
POWERS = (0.1, 10.0)  # least and largest power of the probabilities
SURE = 0.995  # largest accuracy that is ever expected
SPREAD = 1.2  # intervals are as wide as members disagree: proportional to this less their agreement


@cache
def fitted_numbers(name: str) -> Mapping[str, Any]:
    """Return what was fitted by benchmarks: ``expectation``, ``error`` or ``unseen``."""
    text = files("skatter.hedging").joinpath(f"{name}.json").read_text(encoding="utf-8")
    return json.loads(text)


@dataclass(frozen=True)
class Signs:
    """What the estimate goes by: s, g, t and ρ."""

    source_score: float
    agreement: float
    transfer: float
    residual: float = 0.0

    @property
    def terms(self) -> tuple[float, float]:
        """(s g + t) / 2 and √ρ, which an unbiased measure may put below zero."""
        kept = (self.source_score * self.agreement + self.transfer) / 2
        return kept, float(np.sqrt(max(self.residual, 0.0)))


def expected_accuracy(signs: Signs, n_classes: int, metric: str) -> Estimate:
    fitted = fitted_numbers("expectation")[metric]["accuracy"]
    kept, apart = signs.terms
    value = fitted["intercept"] + fitted["slope"] * kept + fitted["apart"] * apart
    value = float(np.clip(value, 1 / n_classes, SURE))
    half = fitted["half_width"] * (SPREAD - signs.agreement)
    return Estimate(value, max(0.0, value - half), min(1.0, value + half))


def calibration_power(shares: Array, accuracy: float) -> float:
    """Return the power that makes the mean confidence of shares equal to an accuracy."""

    def gap(power: float) -> float:
        return float(sharpened(shares, power).max(axis=1).mean()) - accuracy

    low, high = POWERS
    if gap(low) >= 0 or gap(high) <= 0:
        return low if gap(low) >= 0 else high
    return float(brentq(gap, low, high, xtol=1e-6))


def sharpened(shares: Array, power: float) -> Array:
    # The largest of a row is 1 before it is raised, so that no row vanishes.
    raised = (shares / shares.max(axis=1, keepdims=True)) ** power
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class Judgement:
    """Two models compared without a target label, or with some.

    Attributes
    ----------
    verdict : "adapt", "do not adapt" or "cannot tell"
        The answer.
    reason : str
        Why, in plain words.
    accuracy : Estimate
        Accuracy to expect of the adapted model, with a 90 % interval.
    plain_accuracy : float
        Accuracy to expect of the plain model.
    gain : Estimate
        Accuracy of the adapted model less that of the plain one, with a 90 % interval.
    n_target : int
        Target samples that were looked at.
    n_differ : int
        Those for which the models predict different classes.
    metric : {"accuracy", "balanced accuracy"}
        What was estimated.
    """

    verdict: Verdict
    reason: str
    accuracy: Estimate
    plain_accuracy: float
    gain: Estimate
    n_target: int
    n_differ: int
    metric: str = "accuracy"

    @property
    def summary(self) -> str:
        """The answer and the figures behind it, in a few plain sentences."""
        return "\n".join(
            [
                self.reason,
                f"Expected {self.metric} in the target: {self.accuracy} adapted, "
                f"{percent(self.plain_accuracy, 1)} plain.",
                f"Expected gain: {100 * self.gain.value:+.1f} points "
                f"({100 * self.gain.low:+.1f} to {100 * self.gain.high:+.1f}).",
                f"The models differ on {self.n_differ:,} of {self.n_target:,} target samples.",
            ]
        )

    def __str__(self) -> str:
        return self.summary


def votes_of(shares: Array) -> Array:
    """Return the share of members that predict each class, of (n_members, n_samples, n_classes)."""
    return np.eye(shares.shape[2])[shares.argmax(axis=2)].mean(axis=0)


def judge_models(
    shares: Array, votes: Array, adapted: Codes, plain: Codes, accuracy: Estimate, metric: str
) -> Judgement:
    """Judge two models by calibrated probabilities of the target's classes, and by votes.

    ``accuracy`` is what to expect of the hedge; the interval of the adapted model is as wide.
    """
    every = np.arange(len(shares))
    p_adapted, p_plain = shares[every, adapted], shares[every, plain]
    gain = float(np.mean(p_adapted - p_plain))
    differ, n_differ = float(np.mean(adapted != plain)), int(np.sum(adapted != plain))
    fitted = fitted_numbers("expectation")[metric]["gain"]
    scale = np.sqrt(differ + fitted["floor"])
    estimate = Estimate(
        gain, max(-differ, gain + fitted["low"] * scale), min(differ, gain + fitted["high"] * scale)
    )
    value, plain_value = float(p_adapted.mean()), float(p_plain.mean())
    moved = value - accuracy.value
    expected = Estimate(value, max(0.0, accuracy.low + moved), min(1.0, accuracy.high + moved))
    support = float(np.mean(votes[every, adapted] - votes[every, plain]))
    verdict, reason = decide(support, len(shares), fitted, _reasons(gain))
    return Judgement(
        verdict, reason, expected, plain_value, estimate, len(shares), n_differ, metric
    )


def _reasons(gain: float) -> Mapping[Verdict, str]:
    points = f"{100 * gain:+.1f} points"
    return {
        "adapt": f"Adapt: {points} are expected of it, and the classifiers side with it.",
        "do not adapt": f"Adapting does not help here: {points} are expected of it.",
        "cannot tell": f"Cannot tell whether adapting helps: {points} are expected of it, but too "
        "few of the classifiers side with it to be sure.",
    }


def decide(
    sign: float, n_target: int, fitted: Mapping[str, float], reasons: Mapping[Verdict, str]
) -> tuple[Verdict, str]:
    if n_target < FEWEST:
        return "cannot tell", (
            f"Cannot tell: {n_target} target samples are too few, and {FEWEST} are the least."
        )
    verdict: Verdict = "cannot tell"
    if sign > fitted["adapt_above"]:
        verdict = "adapt"
    elif sign < fitted["plain_below"]:
        verdict = "do not adapt"
    return verdict, reasons[verdict]
