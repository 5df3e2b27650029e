"""How far off will it be there? Errors and intervals of numbers, without a target label.

The hedge h is off by σ on held-out source labels. In the target its members disagree by S times as
much as on held-out source samples, and its root mean squared error is expected to be

    E = c σ √S,

for a sample on which members disagree by s, its label is expected in

    h ± q √(σ² + s²) √S,

and any other model f is expected to have the mean squared error E² + k mean((f − h)²). The numbers
c, q (for some coverages) and k were fitted by ``benchmarks/hedged_numbers.py``, lie in
``error.json``, and are averages over many tables; docs/numbers.md says how far off they were. Where
whole sources were held out, σ knows of transfer, and is multiplied by a number below one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from skatter._formatting import percent
from skatter._tensors import Array
from skatter.hedging._expectation import Verdict, decide, fitted_numbers
from skatter.selection._asking import Estimate

SHIFT_PRIOR = 2.0  # labels of the target that its shift must outweigh
PRIOR_LABELS = 4.0  # labels of the target that the expected error is worth
NO_LABELS: Array = np.empty(0)


def widening(spread: float, *, by_source: bool) -> float:
    """Return √S, times what makes errors on whole sources left out comparable."""
    return float(np.sqrt(spread)) * (fitted_numbers("error")["several_sources"] if by_source else 1)


def expected_error(source_error: float, residuals: Array) -> Estimate:
    """Return the root mean squared error to expect in the target, with a 90 % interval.

    ``source_error`` is that on held-out source labels times :func:`widening`, ``residuals`` are
    errors on labelled samples of the target that were held out, if there are any.
    """
    numbers = fitted_numbers("error")["error"]
    value = _with_labels(numbers["factor"] * source_error, residuals)
    narrower = np.sqrt(PRIOR_LABELS / (PRIOR_LABELS + len(residuals)))
    low, high = (value * numbers[end] ** narrower for end in ("low", "high"))
    return Estimate(value, float(low), float(high))


def _with_labels(expected: float, residuals: Array) -> float:
    """Return an expected error after errors on labels were seen."""
    squares = PRIOR_LABELS * expected**2 + float(residuals @ residuals)
    return float(np.sqrt(squares / (PRIOR_LABELS + len(residuals))))


def shrunken_shift(residuals: Array) -> tuple[float, Array]:
    """Return the mean error on labels of the target, shrunken, and each error without its own part.

    With n labels the shift is their sum of errors divided by n + 2; an error is corrected by the
    shift of the others.
    """
    n, total = len(residuals), float(residuals.sum())
    return total / (n + SHIFT_PRIOR), residuals - (total - residuals) / (n - 1 + SHIFT_PRIOR)


def half_width(coverage: float) -> float:
    """Return q, interpolated between the coverages that were fitted."""
    levels = fitted_numbers("error")["half_width"]
    known = np.array([float(level) for level in levels])
    if not known[0] <= coverage <= known[-1]:
        raise ValueError(
            f"coverage must lie in [{known[0]:g}, {known[-1]:g}], where intervals were tried; got "
            f"{coverage!r}."
        )
    return float(np.interp(coverage, known, list(levels.values())))


@dataclass(frozen=True)
class NumberJudgement:
    """Two models for numbers compared without a target label, or with some.

    Attributes
    ----------
    verdict : "adapt", "do not adapt" or "cannot tell"
        The answer.
    reason : str
        Why, in plain words.
    error : Estimate
        Root mean squared error to expect of the adapted model, with a 90 % interval.
    plain_error : float
        The same of the plain model.
    gain : Estimate
        Share of the plain model's error that the adapted one saves, with a 90 % interval.
    n_target : int
        Target samples that were looked at.
    n_labelled : int
        Labelled samples of the target.
    shift : float
        What is added to predictions for the target, from its labels.
    """

    verdict: Verdict
    reason: str
    error: Estimate
    plain_error: float
    gain: Estimate
    n_target: int
    n_labelled: int = 0
    shift: float = 0.0

    @property
    def summary(self) -> str:
        """The answer and the figures behind it, in a few plain sentences."""
        return "\n".join(
            [
                self.reason,
                f"Expected root mean squared error in the target: {self.error:.3g} adapted, "
                f"{self.plain_error:.3g} plain.",
                f"Expected saving: {self.gain}.",
                self.about_mean,
            ]
        )

    @property
    def about_mean(self) -> str:
        """What is known of a change of the labels' mean."""
        if self.n_labelled:
            return f"Its {self.n_labelled:,} labels move predictions by {self.shift:+.3g}."
        return (
            "A change of the labels' mean that the samples do not show cannot be seen without "
            "labels of the target; some ten of them would show it."
        )

    def __str__(self) -> str:
        return self.summary


def judge_numbers(
    hedge: Array,
    adapted: Array,
    plain: Array,
    error: Estimate,
    *,
    plain_residuals: Array = NO_LABELS,
    shift: float = 0.0,
) -> NumberJudgement:
    """Judge two models by what they and the hedge predict for the target."""
    numbers = fitted_numbers("error")["gain"]
    ours, theirs = (
        np.sqrt(error.value**2 + numbers["distance"] * float(np.mean((each - hedge) ** 2)))
        for each in (adapted, plain)
    )
    theirs = _with_labels(float(theirs), plain_residuals)
    gain = 1 - ours / max(theirs, 1e-300)
    apart = float(np.mean((adapted - plain) ** 2))
    scale = float(np.sqrt(apart / max(apart + ours**2, 1e-300)))
    interval = Estimate(
        float(gain),
        float(gain + numbers["low"] * scale),
        float(min(gain + numbers["high"] * scale, 1.0)),
    )
    larger = ours / max(error.value, 1e-300)
    expected = Estimate(float(ours), float(error.low * larger), float(error.high * larger))
    verdict, reason = decide(float(gain), len(hedge), numbers, _reasons(float(gain)))
    return NumberJudgement(
        verdict, reason, expected, theirs, interval, len(hedge), len(plain_residuals), shift
    )


def _reasons(gain: float) -> Mapping[Verdict, str]:
    saved = f"{percent(gain, 1)} of the error"
    return {
        "adapt": f"Adapt: it is expected to save {saved}.",
        "do not adapt": f"Adapting does not help here: it is expected to save {saved}.",
        "cannot tell": f"Cannot tell whether adapting helps: it is expected to save {saved}, and "
        "with so little we were wrong too often.",
    }
