"""Plain sentences: is there a shift, between which domains, in what, and what to do next.

What was not found is not said to be absent, and what cannot be told is said to be so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import sqrt
from typing import TYPE_CHECKING

from skatter._formatting import count, join, percent
from skatter.diagnosis._labels import LabelShift, NumberShift
from skatter.diagnosis._samples import MIN_SAMPLES
from skatter.diagnosis._significance import say_p
from skatter.diagnosis._table import LIKE_A_LABEL
from skatter.diagnosis._transfer import WORTH_SAYING, TransferPair

if TYPE_CHECKING:
    from skatter.diagnosis._record import Diagnosis

TOP = 10  # features whose share of the domain scatter is said
TOO_NEAR = 0.1  # domain scatter below this share of what chance gives is no chance
MAX_LEFT_OUT = 10  # columns that were left out and are named
UNEQUAL = 0.1  # missing rates that differ by this much are worth a sentence


def say_words(found: Diagnosis) -> Iterator[str]:
    yield from _say_domains(found)
    yield _say_features(found)
    yield from _say_missing(found)
    yield from _say_labels(found)
    yield from _say_transfer(found)
    yield from _say_variance(found)
    yield "Next: " + _say_next(found)


def called(name: str) -> str:
    """Call a domain by its name, and a mere number a domain."""
    return name if any(character.isalpha() for character in name) else f"domain {name}"


def _say_domains(found: Diagnosis) -> Iterator[str]:
    names = [called(name) for name in found.compared]
    differ = [pair for pair in found.pairs if pair.differ]
    if not found.shift:
        least = min(domain.n_drawn for domain in found.domains if domain.n_drawn)
        yield (
            f"No shift was found between {join(names)}. This is no proof that they are alike: "
            f"with {least:,} samples in the smallest of them, small differences go unseen."
        )
        return
    if not differ:
        yield (
            f"Yes, there is a shift, but a narrow one: single features differ between "
            f"{join(names)}, while no two domains differ as a whole."
        )
        return
    far = max(differ, key=lambda pair: (pair.auc, pair.mmd))
    both = f"{called(far.first)} and {called(far.second)}"
    which = f"{len(differ):,} of {len(found.pairs):,} pairs of the {len(names)} domains differ"
    if len(differ) == len(found.pairs):
        which = f"all {len(names)} domains differ from one another"
    said = f"{which}, {both} most" if len(found.pairs) > 1 else f"{both} differ"
    yield f"Yes, there is a shift: {said}."
    yield (
        f"A classifier tells unseen samples of {both} apart with {percent(far.accuracy)} accuracy, "
        f"where guessing gives 50 % (AUC {far.auc:.2f})."
    )
    alike = [pair for pair in found.pairs if not pair.differ]
    if alike:
        near = min(alike, key=lambda pair: (pair.auc, pair.mmd))
        more = f", nor between {len(alike) - 1:,} more pairs" if len(alike) > 1 else ""
        yield (
            f"No difference was found between {called(near.first)} and {called(near.second)}{more}."
        )


def _say_features(found: Diagnosis) -> str:
    moved = [feature.name for feature in found.features if feature.moved]
    n = len(found.features)
    if not moved:
        together = " It lies in how features go together." if found.shift else ""
        return f"No single feature of {n:,} differs clearly between domains.{together}"
    if n == 1:
        return f"The only feature, {moved[0]}, differs between domains."
    carry = sum(feature.scatter_share for feature in found.features[:TOP])
    first = sum(feature.scatter_share for feature in found.features[:1])
    verb = "differs" if len(moved) == 1 else "differ"
    said = f"{len(moved):,} of {n:,} features {verb} between domains, most of all {join(moved)}"
    if n > TOP:
        return (
            f"{said}; the {TOP} that differ most, {percent(TOP / n)} of all, carry "
            f"{percent(carry)} of the domain scatter."
        )
    return f"{said}; {found.features[0].name} carries {percent(first)} of the domain scatter."


def _say_missing(found: Diagnosis) -> Iterator[str]:
    unequal = [m for m in found.missing if m.highest - m.lowest >= UNEQUAL]
    if unequal:
        worst = unequal[0]
        others = count(len(unequal) - 1, "other feature")
        more = f", and {others} likewise" if len(unequal) > 1 else ""
        yield (
            f"Values are missing unequally: {worst.name} in {percent(worst.highest)} of the "
            f"samples of {called(worst.second)} and {percent(worst.lowest)} of those of "
            f"{called(worst.first)}{more}."
        )


def _say_labels(found: Diagnosis) -> Iterator[str]:
    labels = found.labels
    if labels is None:
        yield "No label is known, so nothing can be said of labels."
        alike = [name for name, why in found.left_out.items() if LIKE_A_LABEL in why]
        if alike:
            yield f"Is {join(alike)} the label? It is empty in some domains; name it if so."
        return
    yield _say_shift(labels)
    without = [called(domain.name) for domain in found.domains if not domain.n_labelled]
    if without:
        whose = "its" if len(without) == 1 else "their"
        has = "has" if len(without) == 1 else "have"
        numbers = isinstance(labels, NumberShift)
        what = f"how large {whose} labels are" if numbers else f"{whose} class balance"
        yield f"{join(without)} {has} no labels: {what} cannot be told from labels."


def _say_shift(labels: LabelShift | NumberShift) -> str:
    if isinstance(labels, NumberShift):
        what, why, floor = "the labels", labels.why_not, 0.0
    else:
        what, why, floor = "class balance", labels.test, labels.floor
    if labels.p_value is None:
        return f"Whether labels shift cannot be told: {why}."
    p = _p(labels.p_value, floor)
    if not labels.shifted:
        return f"No difference in {what} was found between labelled domains ({p})."
    between = f"most between {called(str(labels.first))} and {called(str(labels.second))}"
    if isinstance(labels, LabelShift):
        return (
            f"Labels shift too: class balance differs between labelled domains ({p}), {between}, "
            f"where {percent(labels.gap or 0)} of the samples would have to be of another class."
        )
    a, b = (labels.domains.index(str(name)) for name in (labels.first, labels.second))
    return (
        f"Labels shift too ({p}), {between}: mean {labels.means[a]:.3g} and {labels.means[b]:.3g}, "
        f"standard deviation {labels.spreads[a]:.3g} and {labels.spreads[b]:.3g}."
    )


def _p(p_value: float, floor: float = 0.0) -> str:
    said = say_p(p_value, floor)
    return f"p {said}" if said.startswith(("<", "≤")) else f"p = {said}"


def _say_transfer(found: Diagnosis) -> Iterator[str]:
    if found.transfer is None or not found.transfer.pairs:
        return
    pairs = found.transfer.pairs
    errors = [sqrt(pair.chance * (1 - pair.chance) / pair.n_samples) for pair in pairs]
    lose = [
        pair
        for pair in pairs
        if pair.p_corrected <= found.level and pair.within - pair.across >= WORTH_SAYING
    ]
    if all(p.within <= p.chance + 2 * error for p, error in zip(pairs, errors, strict=True)):
        yield (
            "A linear classifier hardly predicts labels even where it was trained, so whether "
            "labels relate to features differently elsewhere cannot be told."
        )
        return
    if not lose:
        yield (
            "A linear classifier trained in one labelled domain did not do clearly worse in "
            "another than one trained there: no sign that labels relate to features differently."
        )
        return
    worst = max(lose, key=lambda pair: pair.within - pair.across)
    case = f"trained in {called(worst.trained)} gets {percent(worst.across)} right in "
    case += f"{called(worst.tested)}, one trained there {percent(worst.within)}"
    if len(lose) == 1:
        yield f"A linear classifier {case}."
    else:
        yield (
            f"Of {len(pairs):,} linear classifiers trained in one domain and tested "
            f"in another, {len(lose):,} do clearly worse than one trained there; at worst, one "
            f"{case}."
        )
    yield _say_remainder(found, lose)


def _say_remainder(found: Diagnosis, lose: Sequence[TransferPair]) -> str:
    stay = [pair for pair in lose if pair.p_standardised <= found.level]
    if not stay:
        return (
            "Such losses go away once each domain is standardised on its own: moved features "
            "explain them."
        )
    of = f" in {len(stay)} of {len(lose)} such cases" if len(lose) > 1 else ""
    return (
        f"Standardising each domain on its own does not make up for it{of}: labels may relate to "
        "features differently there, or features moved in a way that this does not undo."
    )


def _say_variance(found: Diagnosis) -> Iterator[str]:
    shares = found.variance
    said = (
        f"Domains make up {percent(shares.domain_share)} of the variance "
        f"({percent(shares.domain_chance)} by chance)"
    )
    if shares.class_share is None or shares.class_chance is None:
        yield f"{said}."
    else:
        yield (
            f"{said}, classes {percent(shares.class_share)} of that of labelled samples "
            f"({percent(shares.class_chance)} by chance)."
        )
    too_near = shares.domain_share < TOO_NEAR * shares.domain_chance
    if found.shift and too_near and len(found.features) >= TOP:
        yield (
            "Domain means agree better than chance allows, as if each domain had been "
            "standardised on its own; where it was, some of the shift was made by that."
        )


def _say_next(found: Diagnosis) -> str:
    if not found.shift and found.labels is not None and found.labels.shifted:
        what = "labels differ" if isinstance(found.labels, NumberShift) else "class balance differs"
        return f"train as usual, and mind that {what}; features show no shift."
    if not found.shift:
        return "train as usual on all labelled samples; adapting has nothing to correct that shows."
    labelled = [domain for domain in found.domains if domain.n_labelled]
    if not labelled:
        return "give labels of one domain at least, and adapting may be tried (skatter adapt)."
    if all(domain.n_labelled == domain.n_samples for domain in found.domains):
        return (
            "all samples are labelled. For domains that nobody has seen, try "
            "skatter.DomainGeneralizer; for unlabelled samples to come, skatter adapt."
        )
    return "adapting is worth a try: skatter adapt, which also tells whether it helps."


def say_notes(found: Diagnosis) -> Iterator[str]:
    small = [f"{called(d.name)} ({d.n_samples})" for d in found.domains if not d.n_drawn]
    if small:
        yield (f"Not compared, for having fewer than {MIN_SAMPLES} samples: {join(small, 5)}.")
    compared = sum(domain.n_samples for domain in found.domains if domain.n_drawn)
    if found.n_drawn < compared:
        yield (
            f"{found.n_drawn:,} of {compared:,} samples were drawn, alike from the domains; labels "
            "and missing rates are those of all samples."
        )
    if found.missing:
        yield "Missing numbers were replaced by the median of the feature before anything else."
    if found.constant:
        yield f"Constant, and so without a say: {join(found.constant, 5)}."
    if isinstance(found.labels, NumberShift):
        yield "Labels are numbers: class balance does not apply; mean and spread are compared."
    if found.transfer is not None and found.transfer.why_not:
        yield f"No classifier was trained across domains: {found.transfer.why_not}."
    yield (
        "P-values of pairs and of features are corrected for many tests (Holm): the chance of any "
        f"false alarm among them is at most {percent(found.level)}. They take samples as "
        "independent; repeated measurements of one subject make them too small."
    )
    yield (
        f"{found.n_permutations:,} permutations give no p-value of MMD² below "
        f"1/{found.n_permutations + 1:,}; corrected, that is {found.floor_corrected:.2g} at most."
    )
    if found.floor_corrected > found.level:
        yield (
            "That is above the level: with so many pairs, it takes the classifier of domains to "
            "show that one of them differs."
        )
    for name in list(found.left_out)[:MAX_LEFT_OUT]:
        yield f"Left out: {name}, {found.left_out[name]}."
    if len(found.left_out) > MAX_LEFT_OUT:
        yield f"Left out: {len(found.left_out) - MAX_LEFT_OUT:,} more columns."
