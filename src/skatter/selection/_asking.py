r"""A few labels settle it: which rows to label, and what their labels say about the models.

On rows where two models agree, both are right or both are wrong: labels settle which is better if
they are asked for where the models disagree. :func:`pick_rows_to_label` draws rows at random from
strata (the models disagree; they agree and are less sure; they agree and are surer), and
:func:`judge_answers` estimates how accurate each model is on *all* rows. With N_h rows in stratum
h, n_h of them labelled, and r̄_h the share of those that a model gets right, its accuracy is
estimated without bias by the stratified mean ::

    accuracy = Σ_h (N_h / N) r̄_h

so that a labelled row speaks for N_h / n_h rows, its *weight*. A fixed share of the labels, the
``focus``, goes to the rows on which the models disagree. The others are allocated as Neyman does,
to minimise the variance of the accuracy, Σ_h N_h² σ_h² (1/n_h - 1/N_h), with the variance σ_h² in
one row as confidences let expect it.

Intervals are those of a finite population in a Bayesian view. Each row has one of a few outcomes
(with two models: both right, one or the other right, none). Their shares in a stratum have a
Dirichlet posterior, with Jeffreys' half a count for every outcome that is possible, and the
outcomes of its N_h - n_h unlabelled rows are drawn from it, so that a stratum that is labelled to
the last row leaves no doubt.

References
----------
W. G. Cochran, *Sampling Techniques*, 3rd edition, Wiley 1977, chapter 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from skatter._checks import check_integer, check_real
from skatter._formatting import percent
from skatter._tensors import Array
from skatter.domains import is_unlabelled
from skatter.selection.criteria._evidence import seed_of

Codes = NDArray[np.intp]
Draws = NDArray[np.float64]
Verdict = Literal["decided", "undecided", "equal"]
DISAGREE = "models disagree"
AGREE = "models agree"
LESS_SURE, SURER = f"{AGREE}, less sure", f"{AGREE}, surer"
N_DRAWS = 10_000  # draws from the posterior
PRIOR_COUNT = 0.5  # Jeffreys' prior: what each possible outcome counts before any label is seen
SURE, UNSURE = 0.9, 0.5
"""Models are too sure of a shifted target: confidences are cut to this range for the allocation."""
UNKNOWN_CONFIDENCE = 0.8
MUCH = 1e100  # more than any label can gain


@dataclass(frozen=True, eq=False)
class LabelSheet:
    """Rows to label, in order: stop anywhere, and what is answered so far is a valid sample.

    Attributes
    ----------
    rows : ndarray of shape (n_asked,)
        Positions of the rows to label.
    stratum : ndarray of shape (n_asked,)
        Stratum of each, an index into ``strata``.
    strata : tuple of str
        Names of the strata.
    sizes : tuple of int
        Number of rows in each, labelled or not.
    predictions : dict of str to ndarray of shape (n_asked,)
        What each model says of these rows.
    classes : ndarray
        Classes that any model names for any row.
    """

    rows: Codes
    stratum: Codes
    strata: tuple[str, ...]
    sizes: tuple[int, ...]
    predictions: Mapping[str, Array]
    classes: Array

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models."""
        return tuple(self.predictions)

    @property
    def n_rows(self) -> int:
        """Number of rows that the models predicted."""
        return sum(self.sizes)

    @property
    def weights(self) -> Draws:
        """Inverse inclusion probability N_h / n_h: the number of rows that each row speaks for."""
        asked = np.bincount(self.stratum, minlength=len(self.strata))
        return (np.array(self.sizes) / np.maximum(asked, 1))[self.stratum]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, for JSON; ``"rows"`` is a table with one entry for each row."""
        said = zip(*(values.tolist() for values in self.predictions.values()), strict=True)
        rows = zip(self.rows.tolist(), self.stratum, self.weights.tolist(), said, strict=True)
        return {
            "strata": dict(zip(self.strata, self.sizes, strict=True)),
            "classes": self.classes.tolist(),
            "models": list(self.models),
            "rows": [
                {
                    "row": row,
                    "stratum": self.strata[code],
                    "weight": weight,
                    "predictions": dict(zip(self.models, names, strict=True)),
                }
                for row, code, weight, names in rows
            ],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> LabelSheet:
        """Return the sheet that :meth:`to_dict` described."""
        strata, rows, classes = tuple(data["strata"]), data["rows"], np.array(data["classes"])
        return cls(
            rows=np.array([each["row"] for each in rows], dtype=np.intp),
            stratum=np.array([strata.index(each["stratum"]) for each in rows], dtype=np.intp),
            strata=strata,
            sizes=tuple(int(size) for size in data["strata"].values()),
            predictions={
                name: np.array([each["predictions"][name] for each in rows], dtype=classes.dtype)
                for name in data["models"]
            },
            classes=classes,
        )


@dataclass(frozen=True)
class Estimate:
    """An estimate and its interval.

    Attributes
    ----------
    value, low, high : float
        Estimate, and the ends of the interval.

    Examples
    --------
    >>> estimate = Estimate(0.5, 0.25, 0.75)
    >>> f"{estimate}", f"{estimate:.3g}"
    ('50.0 % (25.0 % to 75.0 %)', '0.5 (0.25 to 0.75)')
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{percent(self.value, 1)} ({percent(self.low, 1)} to {percent(self.high, 1)})"

    def __format__(self, spec: str) -> str:
        """Write each number in a format; without one in percent, as ``str`` does."""
        if not spec:
            return str(self)
        return f"{self.value:{spec}} ({self.low:{spec}} to {self.high:{spec}})"


@dataclass(frozen=True)
class LabelVerdict:
    """What the labels say about the models.

    Attributes
    ----------
    verdict : "decided", "undecided" or "equal"
        Whether the best model is best with a probability of ``level`` at least. "equal" if all
        rows on which the models disagree are labelled, and none is better.
    best, runner_up : str
        Names of the two models that are most probably best.
    probability : float
        Posterior probability that ``best`` is best, on all rows.
    accuracy : dict of str to Estimate
        Accuracy of each model on all rows.
    difference : Estimate
        Accuracy of ``best`` minus that of ``runner_up``.
    n_answered : int
        Labels used.
    n_more : int
        About how many more rows on which the models disagree must be labelled to decide: 0 if it is
        decided, and never more than there are.
    unanswered : tuple of str
        Strata without a single label: what is said of their rows is a guess, and intervals are
        wide.
    level, coverage : float
        Probability from which the matter is decided, and coverage of the intervals.
    """

    verdict: Verdict
    best: str
    runner_up: str
    probability: float
    accuracy: Mapping[str, Estimate]
    difference: Estimate
    n_answered: int
    n_more: int
    unanswered: tuple[str, ...]
    level: float
    coverage: float

    @property
    def summary(self) -> str:
        """The verdict and the figures behind it, in a few plain sentences."""
        lines = [self._headline()]
        lines += [f"Accuracy of {name}: {value}." for name, value in self.accuracy.items()]
        lines.append(f"Difference, {self.best} minus {self.runner_up}: {self.difference}.")
        lines.append(f"{self.n_answered} labels; intervals cover {percent(self.coverage)}.")
        if self.unanswered:
            lines.append(f"No label at all where: {'; '.join(self.unanswered)}.")
        return "\n".join(lines)

    def _headline(self) -> str:
        if self.verdict == "equal":
            return f"{self.best} and {self.runner_up} are equally accurate."
        claim = f"{self.best} is {'better' if len(self.accuracy) == 2 else 'best'}"
        if self.verdict == "decided":
            return f"{claim} (probability {percent(self.probability, 1)})."
        return (
            f"Undecided: {claim} with a probability of only {percent(self.probability, 1)}. "
            f"About {self.n_more} more labels of rows on which the models disagree would decide it."
        )

    def __str__(self) -> str:
        return self.summary


# --- which rows to label --------------------------------------------------------------------------


def pick_rows_to_label(
    predictions: Mapping[str, Any],
    n_labels: int = 40,
    *,
    confidence: Any = None,
    focus: float = 0.6,
    after: LabelSheet | None = None,
    random_state: Any = None,
) -> LabelSheet:
    """Draw the rows whose labels tell models apart.

    Rows are drawn from strata (see :mod:`skatter.selection._asking`), without replacement and each
    with the same probability within its stratum. A longer sheet with the same ``random_state``
    begins with the rows of the shorter one.

    Parameters
    ----------
    predictions : dict of str to array-like of shape (n_rows,)
        Predicted classes of each model, two models at least, by the model's name.
    n_labels : int
        Number of rows to draw; all of them where there are fewer.
    confidence : array-like of shape (n_rows,), dict of these, or None
        How sure the models are, from 0 to 1, e.g. the largest predicted probability; the mean over
        models where it is a dict. None: rows on which the models agree are one stratum.
    focus : float in [0, 1]
        Share of the labels that goes to rows on which the models disagree, at least and as far as
        there are so many: 1 is to find the best model, and 0 to measure accuracies.
    after : LabelSheet or None
        An earlier sheet of the same predictions: its rows come first, and ``n_labels`` rows follow.
    random_state : int, RandomState instance or None
        Draws the rows; None is a fixed seed.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.tile([0, 1], 500)
    >>> rng = np.random.default_rng(0)
    >>> plain = np.where(rng.random(1000) < 0.3, 1 - y, y)
    >>> adapted = np.where(rng.random(1000) < 0.1, 1 - y, y)
    >>> sheet = pick_rows_to_label({"plain": plain, "adapted": adapted})
    >>> len(sheet.rows), dict(zip(sheet.strata, sheet.sizes))
    (40, {'models disagree': 338, 'models agree': 662})
    >>> print(judge_answers(sheet, y[sheet.rows]).best)
    adapted
    """
    n_labels = check_integer("n_labels", n_labels, low=1)
    focus = check_real("focus", focus, low=0, high=1)
    table, classes = _read_predictions(predictions)
    sure = _read_confidence(confidence, table.shape[1])
    strata = _strata(table, sure)
    if after is None and n_labels < len(strata):
        raise ValueError(f"n_labels must be at least {len(strata)}, one for each stratum.")
    if after is not None:
        _check_after(after, strata)
    variances = {
        name: 0.25
        if name == DISAGREE
        else _row_variance(UNKNOWN_CONFIDENCE if sure is None else sure[rows].mean())
        for name, rows in strata.items()
    }
    return draw_sheet(
        dict(zip(predictions, table, strict=True)),
        strata,
        variances,
        n_labels,
        focus=focus,
        classes=classes,
        earlier=None if after is None else after.rows,
        seed=seed_of(random_state),
    )


def draw_sheet(
    predictions: Mapping[str, Array],
    strata: Mapping[str, Codes],
    variances: Mapping[str, float],
    n_labels: int,
    *,
    focus: float,
    classes: Array,
    seed: int,
    earlier: Codes | None = None,
) -> LabelSheet:
    """Draw rows from strata, after earlier ones, by the variance in one row of each stratum."""
    earlier = np.empty(0, dtype=np.intp) if earlier is None else earlier
    sizes = np.array([len(rows) for rows in strata.values()])
    of_row = np.empty(sizes.sum(), dtype=np.intp)
    for code, own in enumerate(strata.values()):
        of_row[own] = code
    asked = np.bincount(of_row[earlier], minlength=len(strata))
    shares = np.array([focus if name == DISAGREE else 0.0 for name in strata])
    turns = _allocate(sizes, np.array(list(variances.values())), asked, shares, n_labels)
    queues = [
        iter(np.random.default_rng([seed, code]).permutation(np.setdiff1d(own, earlier)))
        for code, own in enumerate(strata.values())
    ]
    new = np.array([next(queues[turn]) for turn in turns], dtype=np.intp)
    rows = np.concatenate([earlier, new])
    return LabelSheet(
        rows=rows,
        stratum=of_row[rows],
        strata=tuple(strata),
        sizes=tuple(sizes.tolist()),
        predictions={name: column[rows] for name, column in predictions.items()},
        classes=classes,
    )


def _read_predictions(predictions: Mapping[str, Any]) -> tuple[Array, Array]:
    if len(predictions) < 2:
        raise ValueError(f"predictions must hold two models at least, got {len(predictions)}.")
    columns = [np.array(np.asarray(column).tolist()) for column in predictions.values()]
    if any(column.ndim != 1 for column in columns) or len({len(c) for c in columns}) > 1:
        shapes = {name: np.shape(column) for name, column in predictions.items()}
        raise ValueError(f"predictions must have one class for each row, got shapes {shapes}.")
    if len(columns[0]) == 0:
        raise ValueError("predictions hold no row.")
    if len({column.dtype.kind in "biuf" for column in columns}) > 1:
        raise TypeError("predictions mix numbers and text: give all models the same classes.")
    table = np.array(columns)
    return table, np.unique(table)


def _read_confidence(confidence: Any, n: int) -> Draws | None:
    if confidence is None:
        return None
    given = list(confidence.values()) if isinstance(confidence, Mapping) else [confidence]
    if any(np.shape(each) != (n,) for each in given):
        shapes = [np.shape(each) for each in given]
        raise ValueError(f"confidence must have one number for each of {n} rows, got {shapes}.")
    values = np.mean(np.array(given, dtype=np.float64), axis=0)
    if not np.all((values >= 0) & (values <= 1)):
        raise ValueError("confidence must lie in [0, 1]: give probabilities.")
    return np.asarray(values)


def _strata(table: Array, sure: Draws | None) -> dict[str, Codes]:
    agree = np.all(table == table[0], axis=0)
    found = {DISAGREE: ~agree}
    if sure is None or not agree.any():
        found[AGREE] = agree
    else:
        # Rows that are less sure hold half of the standard deviation to expect.
        ordered = np.sort(sure[agree])
        spread = np.cumsum(np.sqrt(_row_variance(ordered)))
        surer = sure > ordered[np.searchsorted(spread, spread[-1] / 2)]
        found |= {LESS_SURE: agree & ~surer, SURER: agree & surer}
    return {name: np.flatnonzero(mask) for name, mask in found.items() if mask.any()}


def _row_variance(sure: Any) -> Any:
    """Return the variance of the accuracy in one row, as its confidence lets expect it."""
    cut = np.clip(sure, UNSURE, SURE)
    return cut * (1 - cut)


def _check_after(after: LabelSheet, strata: Mapping[str, Codes]) -> None:
    sizes = {name: len(rows) for name, rows in strata.items()}
    same = dict(zip(after.strata, after.sizes, strict=True)) == sizes
    if not same or not all(
        np.isin(after.rows[after.stratum == code], strata[name]).all()
        for code, name in enumerate(after.strata)
    ):
        raise ValueError("after is a sheet of other predictions: pass those it was made from.")


def _allocate(
    sizes: Codes, variances: Draws, asked: Codes, shares: Draws, n_labels: int
) -> list[int]:
    """Return the stratum of each label in turn.

    Two labels for each come first, then strata that have less than their share, and then the one
    whose next label lowers the variance most: the n-th changes N² σ² / n by N² σ² / (n (n + 1)).
    """
    count = asked.copy()
    turns = []
    for _ in range(min(n_labels, int(np.sum(sizes - asked)))):
        gain = sizes**2 * variances / np.maximum(count * (count + 1), 1)
        gain = np.where(count < shares * (count.sum() + 1), MUCH, gain)
        gain = np.where(count < 2, (3 - count) * MUCH, gain)
        turn = int(np.argmax(np.where(count < sizes, gain, -1)))
        count[turn] += 1
        turns.append(turn)
    return turns


# --- what the labels say --------------------------------------------------------------------------


def judge_answers(
    sheet: LabelSheet,
    answers: Any,
    *,
    level: float = 0.95,
    coverage: float = 0.9,
    prior_gain: tuple[float, float] | None = None,
    random_state: Any = None,
) -> LabelVerdict:
    """Estimate from labels how accurate each model is on all rows, and which is best.

    Parameters
    ----------
    sheet : LabelSheet
        Rows that were asked for.
    answers : array-like of shape (n_asked,), or dict of int to label
        True class of each row of the sheet, in its order; or by position of the row. Rows may stay
        unanswered: -1, NaN, None or blank text, as in ``y``. Rows skipped because they are hard
        make the estimates optimistic; those at the end of the sheet can be left out freely.
    level : float in [0.5, 1]
        Probability of being best from which the matter is decided.
    coverage : float in [0, 1]
        Probability that an interval holds the true value.
    prior_gain : tuple of two floats or None
        Mean and standard deviation of an estimate, made without these labels, of the accuracy of
        the second of two models minus that of the first: posterior draws are weighted by the normal
        density.
    random_state : int, RandomState instance or None
        Draws from the posterior; None is a fixed seed.

    Examples
    --------
    >>> sheet = pick_rows_to_label({"plain": ["a"] * 90, "adapted": ["a"] * 60 + ["b"] * 30})
    >>> answers = ["b" if row >= 65 else "a" for row in sheet.rows]
    >>> verdict = judge_answers(sheet, answers)
    >>> verdict.verdict, verdict.best, round(verdict.difference.value, 2)
    ('decided', 'adapted', 0.22)
    """
    level = check_real("level", level, low=0.5, high=1)
    coverage = check_real("coverage", coverage, low=0, high=1)
    right, answered = _read_answers(sheet, answers)
    _check_prior_gain(prior_gain, sheet)
    estimates, draws = _accuracies(sheet, right, answered, seed_of(random_state))
    weights = np.ones(N_DRAWS)
    if prior_gain is not None:
        density = norm.logpdf(draws[:, 1] - draws[:, 0], *prior_gain)
        weights = np.exp(density - density.max())
        # Where the evidence has a prior, the posterior mean replaces the unbiased estimate.
        estimates = np.average(draws, axis=0, weights=weights)
    # In each draw one model is best, and equals share it.
    is_best = np.isclose(draws, draws.max(axis=1, keepdims=True), rtol=0, atol=1e-12)
    chance = np.average(is_best / is_best.sum(axis=1, keepdims=True), axis=0, weights=weights)
    order = np.lexsort((-estimates, -chance))
    best, runner_up = int(order[0]), int(order[1])
    gap = draws[:, best] - draws[:, runner_up]
    verdict: Verdict = "decided" if chance[best] >= level else "undecided"
    if np.all(np.abs(gap) < 1e-12):
        verdict = "equal"
    counts = np.bincount(sheet.stratum[answered], minlength=len(sheet.strata))
    return LabelVerdict(
        verdict=verdict,
        best=sheet.models[best],
        runner_up=sheet.models[runner_up],
        probability=float(chance[best]),
        accuracy={
            name: _estimate(estimates[i], draws[:, i], weights, coverage)
            for i, name in enumerate(sheet.models)
        },
        difference=_estimate(estimates[best] - estimates[runner_up], gap, weights, coverage),
        n_answered=int(answered.sum()),
        n_more=_n_more(sheet, counts, gap, weights, level) if verdict == "undecided" else 0,
        unanswered=tuple(np.array(sheet.strata)[counts == 0].tolist()),
        level=level,
        coverage=coverage,
    )


def _read_answers(sheet: LabelSheet, answers: Any) -> tuple[Array, Array]:
    """Return who is right in each row, of shape (n_asked, n_models), and which rows count."""
    column = np.array([None] * len(sheet.rows), dtype=object)
    column[:] = _in_order(sheet, answers)
    answered = ~is_unlabelled(column, sheet.classes)
    if not answered.any():
        raise ValueError("answers hold no label: label some rows of the sheet first.")
    numbers = sheet.classes.dtype.kind in "biuf"
    if any(isinstance(label, str) == numbers for label in column[answered]):
        kind = "numbers" if numbers else "text"
        raise TypeError(f"answers must be classes as the models predict them, here {kind}.")
    table = np.array([each.astype(object) for each in sheet.predictions.values()])
    return (table == column).T.astype(bool), answered


def _in_order(sheet: LabelSheet, answers: Any) -> Sequence[Any]:
    if not isinstance(answers, Mapping):
        values: list[Any] = np.asarray(answers, dtype=object).tolist()
        if len(values) != len(sheet.rows):
            raise ValueError(
                f"answers must have one entry for each of the {len(sheet.rows)} rows of the sheet, "
                f"got {len(values)}; leave None where a row is not answered."
            )
        return values
    unknown = set(answers) - set(sheet.rows.tolist())
    if unknown:
        raise ValueError(f"answers hold rows that are not on the sheet: {sorted(unknown)[:5]}.")
    return [answers.get(row) for row in sheet.rows.tolist()]


def _check_prior_gain(prior_gain: tuple[float, float] | None, sheet: LabelSheet) -> None:
    if prior_gain is None:
        return
    if len(sheet.models) != 2:
        raise ValueError(f"prior_gain compares two models, and here are {len(sheet.models)}.")
    mean, deviation = prior_gain
    check_real("mean of prior_gain", mean, low=-1, high=1)
    check_real("standard deviation of prior_gain", deviation, low=0, open_low=True)


def _accuracies(sheet: LabelSheet, right: Array, answered: Array, seed: int) -> tuple[Draws, Draws]:
    """Return Σ_h (N_h / N) r̄_h for each model, and draws of its accuracy from the posterior.

    A draw is what is known, plus what is drawn for the other rows. Where a stratum has no answer,
    its prior mean stands in for r̄_h.
    """
    rng = np.random.default_rng(seed)
    total, draws = np.zeros(len(sheet.models)), np.zeros((N_DRAWS, len(sheet.models)))
    for code, size in enumerate(sheet.sizes):
        seen = right[answered & (sheet.stratum == code)]
        outcomes, prior = _outcomes(sheet, code)
        total += size * (seen.mean(axis=0) if len(seen) else prior @ outcomes / prior.sum())
        counts = np.array([np.all(seen == outcome, axis=1).sum() for outcome in outcomes])
        possible = counts + prior > 0
        shares = rng.dirichlet((counts + prior)[possible], size=N_DRAWS)
        rest = rng.multinomial(size - len(seen), shares)
        draws += (counts[possible] + rest) @ outcomes[possible]
    return total / sheet.n_rows, draws / sheet.n_rows


def _outcomes(sheet: LabelSheet, code: int) -> tuple[Array, Draws]:
    """Return the possible outcomes of a row in a stratum, who is right, and their prior counts.

    The models that name one class are right together, and where there are further classes all may
    be wrong. Each such outcome counts a half, averaged over the rows of the stratum. That all are
    wrong where every class is named counts nothing, until an answer is a class of its own.
    """
    table = np.array(list(sheet.predictions.values()))[:, sheet.stratum == code]
    codes = np.unique(table, return_inverse=True)[1].reshape(table.shape)
    all_wrong = (False,) * len(table)
    found: dict[tuple[bool, ...], float] = {}
    for column, count in zip(*np.unique(codes.T, axis=0, return_counts=True), strict=True):
        named = np.unique(column)
        groups = [tuple((column == name).tolist()) for name in named]
        if len(named) < max(len(sheet.classes), 2):
            groups.append(all_wrong)
        for group in groups:
            found[group] = found.get(group, 0.0) + PRIOR_COUNT * count / table.shape[1]
    found.setdefault(all_wrong, 0.0)
    return np.array(list(found), dtype=float), np.array(list(found.values()))


def _estimate(value: float, draws: Draws, weights: Draws, coverage: float) -> Estimate:
    """Return the equal-tailed interval of the posterior, with the estimate in it."""
    order = np.argsort(draws)
    below = np.cumsum(weights[order])
    tails = np.array([(1 - coverage) / 2, (1 + coverage) / 2])
    places = np.minimum(np.searchsorted(below, tails * below[-1]), len(draws) - 1)
    low, high = draws[order][places]
    return Estimate(float(value), float(min(low, value)), float(max(high, value)))


def _n_more(sheet: LabelSheet, counts: Codes, gap: Draws, weights: Draws, level: float) -> int:
    """Return how many more rows in dispute must be labelled, if the difference stays as it is.

    Its variance is proportional to 1/n - 1/N, and must shrink until the difference is as many
    standard deviations from zero as ``level`` asks for.
    """
    # Where rows in dispute are no stratum of their own, any row counts.
    where = np.array([name == DISAGREE or DISAGREE not in sheet.strata for name in sheet.strata])
    answered, size = int(counts[where].sum()), int(np.array(sheet.sizes)[where].sum())
    n = max(answered, 1)
    mean = float(np.average(gap, weights=weights))
    variance = float(np.average((gap - mean) ** 2, weights=weights))
    wanted = (mean / max(float(norm.ppf(level)), 1e-12)) ** 2
    inverse = 1 / size + min(wanted / variance, 1) * (1 / n - 1 / size)
    return int(min(max(np.ceil(1 / inverse) - n, 1), size - answered))
