"""The numbers below the words, as grids."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from skatter._formatting import count, percent, printable, shorten
from skatter._notebook import Section
from skatter.diagnosis._labels import LabelShift, NumberShift
from skatter.diagnosis._significance import say_p

if TYPE_CHECKING:
    from skatter.diagnosis._record import Diagnosis

Columns = list[tuple[str, Callable[[Any], str]]]  # headings, and what of an item stands below each
SHOWN = 10  # rows of a grid that could have thousands
MANY_DOMAINS = 15  # domains that are listed one by one
NAME_WIDTH = 26  # cells that are left to the name of a domain and its labels beside the classes
CLASS_WIDTH = 14  # characters that the name of a class may take


def tables_of(found: Diagnosis, width: int) -> list[Section]:
    grids = [_domains(found), _pairs(found), *_map(found, width), _features(found)]
    grids += [*_missing(found), *_labels(found, width), *_transfer(found), _variance(found)]
    return grids


def _more(n: int, what: str, which: str = "") -> str:
    """Count the items of a table that are not shown; ``which`` says more of them."""
    return f"{count(n, what)}{which} {'is' if n == 1 else 'are'} not shown." if n > 0 else ""


def _grid(
    title: str, columns: Columns, items: Iterable[Any], *, names: int = 1, note: str = ""
) -> Section:
    rows = tuple(tuple(show(item) for _, show in columns) for item in items)
    heads = tuple(heading for heading, _ in columns)
    return Section(title, (), heads, rows, names=names, note=note)


def _domains(found: Diagnosis) -> Section:
    shown = sorted(found.domains, key=lambda d: -d.n_samples)[:MANY_DOMAINS]
    order = {domain.name: i for i, domain in enumerate(found.domains)}
    columns: Columns = [
        ("domain", lambda d: printable(d.name)),
        ("samples", lambda d: f"{d.n_samples:,}"),
        ("labelled", lambda d: f"{d.n_labelled:,}"),
        ("compared", lambda d: f"{d.n_drawn:,}"),
    ]
    if found.missing:
        columns.append(("missing", lambda d: percent(d.missing)))
    hidden = len(found.domains) - len(shown)
    note = f"{hidden:,} more domains, none larger, are not shown." if hidden else ""
    return _grid("Domains", columns, sorted(shown, key=lambda d: order[d.name]), note=note)


def _pairs(found: Diagnosis) -> Section:
    ranked = sorted(found.pairs, key=lambda pair: (-pair.auc, -pair.mmd))
    columns: Columns = [
        ("domain", lambda p: printable(p.first)),
        ("and", lambda p: printable(p.second)),
        ("MMD²", lambda p: f"{p.mmd:.4f}"),
        ("p", lambda p: say_p(p.mmd_p_corrected, found.floor_corrected)),
        ("AUC", lambda p: f"{p.auc:.2f}"),
        ("accuracy", lambda p: percent(p.accuracy)),
        ("p", lambda p: say_p(p.auc_p_corrected)),
    ]
    note = "MMD²: 0 on average where domains are alike. AUC: 0.5 is guessing, 1 is certain. "
    note += _more(len(ranked) - SHOWN, "more pair", ", of lower AUC,")
    return _grid("Which domains differ", columns, ranked[:SHOWN], names=2, note=note)


def _map(found: Diagnosis, width: int) -> Iterator[Section]:
    names, letters = found.compared, string.ascii_letters
    if not 3 < len(names) <= len(letters):
        return
    of_pair = {frozenset((pair.first, pair.second)): pair for pair in found.pairs}
    gap = " " if 2 * len(names) + 20 <= width else ""

    def cell(a: str, b: str) -> str:
        pair = of_pair.get(frozenset((a, b)))
        if pair is None:
            return "\\"
        return str(min(int(max(20 * pair.auc - 10, 0)), 9)) if pair.differ else "."

    yield Section(
        "All pairs at a glance",
        (),
        ("domain", gap.join(letters[: len(names)])),
        tuple(
            (f"{letter} {printable(a)}", gap.join(cell(a, b) for b in names))
            for letter, a in zip(letters, names, strict=False)
        ),
        note="0 to 9: how well a classifier tells the two apart (2 AUC - 1, in tenths); . no "
        "difference found.",
    )


def _features(found: Diagnosis) -> Section:
    columns: Columns = [
        ("feature", lambda f: printable(f.name)),
        ("between", lambda f: f"{printable(f.first)} / {printable(f.second)}"),
        ("distance", lambda f: f"{f.distance:.2f}"),
        ("mean", lambda f: f"{f.mean_difference:+.2f}"),
        ("spread", lambda f: "-" if f.spread_ratio is None else f"{f.spread_ratio:.2f}"),
        ("share", lambda f: percent(f.scatter_share)),
        ("p", lambda f: say_p(f.p_corrected)),
    ]
    note = (
        "Distance: largest gap between distribution functions, 0 to 1, for the two domains that "
        "differ most; mean: of the second less the first, in standard deviations; spread: "
        "standard deviation of the second over the first; share: of the domain scatter. "
    ) + _more(len(found.features) - SHOWN, "more feature")
    return _grid("Which features carry it", columns, found.features[:SHOWN], names=2, note=note)


def _missing(found: Diagnosis) -> Iterator[Section]:
    columns: Columns = [
        ("feature", lambda m: printable(m.name)),
        ("least / most in", lambda m: f"{printable(m.first)} / {printable(m.second)}"),
        ("least", lambda m: percent(m.lowest)),
        ("most", lambda m: percent(m.highest)),
    ]
    if found.missing:
        note = _more(len(found.missing) - SHOWN, "more feature", " with missing values")
        yield _grid("Missing values", columns, found.missing[:SHOWN], names=2, note=note)


def _labels(found: Diagnosis, width: int) -> Iterator[Section]:
    labels = found.labels
    if labels is None:
        return
    if isinstance(labels, NumberShift):
        title, counts, columns = "Labels", list(labels.counts), _figures(labels)
        test = f"Same labels in all labelled domains: p {say_p(labels.p_value)} (ranks), largest "
        test += f"distance of two {labels.distance or 0:.2f}."
    else:
        title, counts = "Class balance", [sum(own) for own in labels.counts]
        columns = _shares(labels, width - NAME_WIDTH)
        p = say_p(labels.p_value, labels.floor)
        test = f"Same balance in all labelled domains: p {p} ({labels.test}), Cramér's V "
        test += f"{labels.strength or 0:.2f}."
    columns = [
        ("domain", lambda d: printable(labels.domains[d])),
        ("labelled", lambda d: f"{counts[d]:,}"),
        *columns,
    ]
    shown = sorted(sorted(range(len(counts)), key=lambda d: -counts[d])[:MANY_DOMAINS])
    hidden = _more(len(counts) - len(shown), "domain", " with fewer labels")
    notes = [hidden, "" if labels.p_value is None else test]
    yield _grid(title, columns, shown, note=" ".join(filter(None, notes)))


def _figures(labels: NumberShift) -> Columns:
    def figure(of_domains: tuple[float, ...]) -> Callable[[int], str]:
        return lambda d: f"{of_domains[d]:.4g}" if labels.counts[d] else "?"

    return [("mean", figure(labels.means)), ("std", figure(labels.spreads))]


def _shares(labels: LabelShift, width: int) -> Columns:
    """Return shares of as many classes as fit in a line, the most frequent, in their own order."""
    totals = [sum(column) for column in zip(*labels.counts, strict=True)]
    takes = [max(len(shorten(name, CLASS_WIDTH)), len("100 %")) + 2 for name in labels.classes]
    kept = list(range(len(totals)))
    if sum(takes) > width:
        frequent = sorted(kept, key=lambda k: -totals[k])
        room = width - len("1,000 others") - np.cumsum([takes[k] for k in frequent])
        kept = sorted(frequent[: int(np.sum(room >= 0))])

    def share(classes: list[int]) -> Callable[[int], str]:
        def of_domain(d: int) -> str:
            counts = labels.counts[d]
            return percent(sum(counts[k] for k in classes) / sum(counts)) if sum(counts) else "?"

        return of_domain

    columns = [(shorten(labels.classes[k], CLASS_WIDTH), share([k])) for k in kept]
    others = [k for k in range(len(totals)) if k not in kept]
    return [*columns, (f"{len(others):,} others", share(others))] if others else columns


def _transfer(found: Diagnosis) -> Iterator[Section]:
    transfer = found.transfer
    if transfer is None or not transfer.pairs:
        return
    ranked = sorted(transfer.pairs, key=lambda pair: pair.across - pair.within)
    columns: Columns = [
        ("trained in", lambda p: printable(p.trained)),
        ("tested in", lambda p: printable(p.tested)),
        ("own", lambda p: percent(p.within)),
        ("across", lambda p: percent(p.across)),
        ("p", lambda p: say_p(p.p_corrected)),
        ("rescaled", lambda p: percent(p.across_standardised)),
        ("p", lambda p: say_p(p.p_standardised)),
    ]
    note = (
        f"Accuracy of a linear classifier, {transfer.n_per_domain:,} labelled samples a domain and "
        "all classes counted the same, in the domain tested in: when trained there (own), when "
        "trained in the other (across), and that with each domain standardised on its own "
        "(rescaled). P: not worse than own. "
    ) + _more(len(ranked) - SHOWN, "more pair", ", of a smaller loss,")
    title = "Trained in one domain, tested in another"
    yield _grid(title, columns, ranked[:SHOWN], names=2, note=note)


def _variance(found: Diagnosis) -> Section:
    v = found.variance
    rows: list[tuple[str, float, float | None, float | None]] = [
        ("domain", v.domain, v.domain_share, v.domain_chance),
        ("inside domains", v.total - v.domain, 1 - v.domain_share, None),
    ]
    if v.between_class is not None and v.within_class is not None and v.class_share is not None:
        rows.append(("between classes", v.between_class, v.class_share, v.class_chance))
        rows.append(("within classes", v.within_class, 1 - v.class_share, None))
    if v.conditional_domain is not None:
        rows.append(("domain, same class", v.conditional_domain, None, None))
    columns: Columns = [
        ("scatter", lambda row: row[0]),
        ("value", lambda row: f"{row[1]:.3g}"),
        ("share", lambda row: "" if row[2] is None else percent(row[2])),
        ("by chance", lambda row: "" if row[3] is None else percent(row[3])),
    ]
    note = "Standardised features, every domain counted the same"
    note += "." if v.class_share is None else "; classes among labelled samples."
    return _grid("Where the variance is", columns, rows, note=note)
